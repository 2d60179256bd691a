// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/net/make_byte_stream.hpp>
#include <cofferdam/network/egress_proxy.hpp>

#include "network/client_hello_text.hpp"
#include "network/egress_host.hpp"
#include "support/run.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

namespace {

using cofferdam::egress_policy;
using cofferdam::host_rule;
using cofferdam::network_event;
using cofferdam_test::client_hello_text;
using cofferdam_test::echo_server;
using cofferdam_test::egress_host;
using cofferdam_test::exchange_text;
using cofferdam_test::in_records;
using cofferdam_test::received_requests;
using cofferdam_test::sandboxed_client;
using namespace std::chrono_literals;
using namespace std::string_literals;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Sends back each byte that it receives, and ends when its client ends.
cofferdam::awaitable<void> echo_bytes(cofferdam::byte_stream stream, std::shared_ptr<received_requests> seen) {
  ++seen->connections;
  std::array<std::byte, 65536> room{};
  while (true) {
    const std::size_t count = co_await stream.read_some(room);
    if (count == 0) break;
    const cofferdam::bytes_view data = cofferdam::bytes_view(room).first(count);
    seen->add(std::string(cofferdam::as_text(data)));
    co_await stream.write(data);
  }
  co_await stream.shutdown_send();
}

/// Sends without end and reads nothing.
cofferdam::awaitable<void> flood(cofferdam::byte_stream stream, std::shared_ptr<std::atomic<std::size_t>> sent) {
  const std::string block(65536, 'f');
  while (true) {
    co_await stream.write(cofferdam::as_bytes(block));
    *sent += block.size();
  }
}

/// A proxy and a server that sends back what it receives, at "echo.example.org" on the ports 443, 80 and 7000.
class EgressTunnel : public ::testing::Test {
 protected:
  void start(egress_policy policy = egress_policy()) {
    server_ =
        host_.start([seen = seen_](cofferdam::byte_stream stream) { return echo_bytes(std::move(stream), seen); });
    policy.allow(host_rule("echo.example.org").at("127.0.0.1", server_));
    policy.allow(host_rule("echo.example.org:7000").at("127.0.0.1", server_));
    proxy_ = host_.serve(std::move(policy));
  }
  /// Opens a tunnel by CONNECT.
  sandboxed_client tunnel(const std::string& authority) const {
    sandboxed_client client(proxy_);
    client.send("CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n");
    EXPECT_TRUE(contains(client.receive("\r\n\r\n"), "HTTP/1.1 200 ")) << authority;
    return client;
  }

  std::shared_ptr<received_requests> seen_ = std::make_shared<received_requests>();
  egress_host host_;
  std::uint16_t server_ = 0;
  std::uint16_t proxy_ = 0;
};

TEST_F(EgressTunnel, bytes_pass_both_ways_and_the_end_is_passed_on) {
  start();
  const sandboxed_client client = tunnel("echo.example.org:7000");
  client.send(":hello\n");
  EXPECT_EQ(client.receive("\n"), ":hello\n");
  client.send("more");
  client.end_sending();
  EXPECT_EQ(client.receive(), "more");
  const std::vector<network_event> events = host_.events(1);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].rule(), "echo.example.org:7000");
  EXPECT_EQ(events[0].bytes_up(), 11U);
  EXPECT_EQ(events[0].bytes_down(), 11U);
  EXPECT_EQ(events[0].reason(), "");
}

TEST_F(EgressTunnel, socks_reaches_allowed_hosts_only) {
  start();
  const auto socks = [&](const std::string& request) {
    sandboxed_client client(proxy_);
    client.send("\x05\x01\x02\x01\x04job9\x02pw"s + request);
    return client.receive("\x07\xD0"s, 2);
  };
  const std::string allowed = socks("\x05\x01\x00\x03\x10"s + "echo.example.org"s + "\x1B\x58"s);
  EXPECT_EQ(allowed.substr(0, 8), "\x05\x02\x01\x00\x05\x00\x00\x01"s) << allowed;
  const std::string refused = "\x05\x02\x01\x00\x05\x02\x00\x01"s;
  EXPECT_EQ(socks("\x05\x01\x00\x03\x10"s + "evil.example.org"s + "\x1B\x58"s).substr(0, 8), refused);
  EXPECT_EQ(socks("\x05\x01\x00\x01\x7F\x00\x00\x01"s + std::string{char(server_ >> 8), char(server_)}).substr(0, 8),
            refused);
  EXPECT_EQ(socks("\x05\x01\x00\x04"s + std::string(10, '\0') + "\xFF\xFF\x7F\x00\x00\x01"s +
                  std::string{char(server_ >> 8), char(server_)})
                .substr(0, 8),
            refused);
  const std::string no_name = socks("\x05\x01\x00\x03\x06"s + "0x7f.1"s + "\x1B\x58"s);
  EXPECT_EQ(no_name.substr(0, 8), refused);
  EXPECT_EQ(seen_->connections, 1);
  EXPECT_TRUE(contains(host_.log(), "job9|evil.example.org|7000")) << host_.log();
}

TEST_F(EgressTunnel, NT_09_tls_must_name_the_host_of_the_tunnel) {
  start();
  const std::string fine = in_records(client_hello_text("echo.example.org"));
  for (const std::string& name : {"evil.example.org"s, ""s, "echo.example.org\0.evil.org"s}) {
    const sandboxed_client client = tunnel("echo.example.org:443");
    client.send(in_records(client_hello_text(name)) + "data");
    EXPECT_EQ(client.receive(), "\x15\x03\x03\x00\x02\x02\x70"s) << name;
  }
  EXPECT_EQ(seen_->count(), 0U) << "no byte has reached the server";
  // The control: the right name, also in parts.
  const sandboxed_client client = tunnel("echo.example.org:443");
  client.send(fine.substr(0, 10));
  std::this_thread::sleep_for(20ms);
  client.send(fine.substr(10));
  EXPECT_EQ(client.receive(fine.substr(fine.size() - 5)), fine);
  EXPECT_TRUE(contains(host_.log(), "names another server, evil.example.org")) << host_.log();
  EXPECT_TRUE(contains(host_.log(), "names no server")) << host_.log();
}

TEST_F(EgressTunnel, NT_09_port_443_takes_only_tls_and_port_80_only_tls_and_http) {
  start();
  const sandboxed_client http = tunnel("echo.example.org:443");
  http.send("GET / HTTP/1.1\r\nHost: echo.example.org\r\n\r\n");
  EXPECT_TRUE(contains(http.receive(), "must begin with TLS: use https."));
  for (const char* port : {":443", ":80"}) {
    const sandboxed_client other = tunnel("echo.example.org"s + port);
    other.send("SSH-2.0-x y\r\n");
    EXPECT_EQ(other.receive(), "") << port;
  }
  EXPECT_EQ(seen_->count(), 0U);
}

TEST_F(EgressTunnel, NT_09_http_in_a_tunnel_is_for_the_host_of_the_tunnel) {
  const std::shared_ptr<received_requests> web = std::make_shared<received_requests>();
  const std::uint16_t port = host_.start(echo_server(web));
  start(egress_policy(host_rule("web.example.org").at("127.0.0.1", port),
                      host_rule("web.example.org:7001").at("127.0.0.1", port)));
  for (const char* place : {"web.example.org:80", "web.example.org:7001"}) {
    for (const char* request :
         {"GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", "\r\nGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n",
          "CONNECT evil.org:80 HTTP/1.1\r\nHost: evil.org:80\r\n\r\n",
          "GET http://evil.org/ HTTP/1.1\r\nHost: evil.org\r\n\r\n",
          "GET http://evil.org/ HTTP/1.1\r\nHost: web.example.org\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: web.example.org\r\nHost: evil.org\r\n\r\n"}) {
      const sandboxed_client client = tunnel(place);
      client.send(request);
      EXPECT_TRUE(client.receive().starts_with("HTTP/1.1 400 ")) << request;
    }
  }
  EXPECT_EQ(web->count(), 0U) << web->joined();
  // The control: the same server by its own name; and the second request on the connection is read as well.
  const sandboxed_client client = tunnel("web.example.org:80");
  client.send("GET /ours HTTP/1.1\r\nHost: web.example.org\r\n\r\nGET /hidden HTTP/1.1\r\nHost: evil.org\r\n\r\n");
  const std::string answers = client.receive();
  EXPECT_TRUE(contains(answers, "GET /ours") && contains(answers, "400 Bad Request")) << answers;
  EXPECT_FALSE(contains(web->joined(), "hidden"));
}

TEST_F(EgressTunnel, a_server_that_speaks_first_is_heard_on_other_ports) {
  const std::uint16_t greets = host_.start(cofferdam_test::text_server("220 hello\r\n", false));
  start(egress_policy(host_rule("mail.example.org:7002").at("127.0.0.1", greets)));
  const sandboxed_client client = tunnel("mail.example.org:7002");
  EXPECT_EQ(client.receive("\n"), "220 hello\r\n");
  client.send("GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n");
  EXPECT_EQ(client.receive(), "") << "HTTP after the pause is refused";
}

TEST_F(EgressTunnel, NT_09_ports_and_hosts_that_no_rule_has_are_refused_before_a_tunnel_opens) {
  start();
  for (const char* place : {"echo.example.org:22", "evil.example.org:443", "127.0.0.1:443"}) {
    const std::string answer = exchange_text(proxy_, "CONNECT "s + place + " HTTP/1.1\r\nHost: " + place + "\r\n\r\n");
    EXPECT_TRUE(contains(answer, "HTTP/1.1 403 ")) << answer;
    EXPECT_TRUE(contains(answer, "The network policy refuses ")) << answer;
  }
  EXPECT_EQ(seen_->connections, 0);
}

TEST_F(EgressTunnel, a_host_that_cannot_be_reached_is_an_answer) {
  start(egress_policy(host_rule("closed.example.org").at("127.0.0.1", 1)));
  const std::string answer =
      exchange_text(proxy_, "CONNECT closed.example.org:443 HTTP/1.1\r\nHost: closed.example.org\r\n\r\n");
  EXPECT_TRUE(contains(answer, "HTTP/1.1 502 Bad Gateway")) << answer;
  const sandboxed_client client(proxy_);
  client.send("\x05\x01\x00\x05\x01\x00\x03\x12"s + "closed.example.org"s + "\x01\xBB"s);
  EXPECT_EQ(client.receive().substr(2, 2), "\x05\x05"s) << "connection refused";
}

TEST_F(EgressTunnel, limits_close_a_connection_and_are_named_in_its_event) {
  start(egress_policy().connection_bytes(1000).idle_time(400ms));
  const sandboxed_client large = tunnel("echo.example.org:7000");
  large.send(std::string(2000, ':') + "\n");
  EXPECT_EQ(large.receive(), "");
  const sandboxed_client idle = tunnel("echo.example.org:7000");
  idle.send(":x\n");
  EXPECT_EQ(idle.receive("\n"), ":x\n");
  EXPECT_EQ(idle.receive(), "");
  host_.events(2);
  EXPECT_TRUE(contains(host_.log(), "it has transferred more bytes than the limit")) << host_.log();
  EXPECT_TRUE(contains(host_.log(), "it was idle for longer than the limit")) << host_.log();
}

TEST_F(EgressTunnel, the_total_time_ends_a_busy_connection) {
  const auto sent = std::make_shared<std::atomic<std::size_t>>(0);
  const std::uint16_t floods =
      host_.start([sent](cofferdam::byte_stream stream) { return flood(std::move(stream), sent); });
  start(egress_policy(host_rule("flood.example.org:7003").at("127.0.0.1", floods)).total_time(700ms));
  const sandboxed_client client = tunnel("flood.example.org:7003");
  const auto begin = std::chrono::steady_clock::now();
  while (!client.receive("f", 3).empty() && std::chrono::steady_clock::now() - begin < 5s) continue;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
  host_.events(1);
  EXPECT_TRUE(contains(host_.log(), "it was open for longer than the limit")) << host_.log();
}

TEST_F(EgressTunnel, NT_15_a_stalled_reader_stops_its_server_and_nothing_is_buffered) {
  const auto sent = std::make_shared<std::atomic<std::size_t>>(0);
  const std::uint16_t floods =
      host_.start([sent](cofferdam::byte_stream stream) { return flood(std::move(stream), sent); });
  start(egress_policy(host_rule("flood.example.org:7003").at("127.0.0.1", floods)));
  const sandboxed_client stalled = tunnel("flood.example.org:7003");
  stalled.send(":x\n");
  std::size_t before = 1;
  while (before != *sent) {
    before = *sent;
    std::this_thread::sleep_for(300ms);
  }
  // The kernel's buffers of two connections hold some megabytes; the proxy itself holds 64 KiB.
  EXPECT_LT(*sent, 32U * 1024 * 1024);
  EXPECT_GT(*sent, 0U);
  // Others are served meanwhile.
  const sandboxed_client other = tunnel("echo.example.org:7000");
  other.send(":y\n");
  EXPECT_EQ(other.receive("\n"), ":y\n");
}

TEST_F(EgressTunnel, NT_18_two_hundred_connections_work_at_once_and_the_next_is_refused) {
  start(egress_policy().connections(200));
  std::vector<sandboxed_client> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(tunnel("echo.example.org:7000"));
  EXPECT_EQ(host_.open(), 200U);
  const std::string refused =
      exchange_text(proxy_, "CONNECT echo.example.org:7000 HTTP/1.1\r\nHost: echo.example.org\r\n\r\n");
  EXPECT_TRUE(contains(refused, "503 Service Unavailable")) << refused;
  EXPECT_TRUE(contains(refused, "allows 200 connections at the same time")) << refused;
  for (std::size_t i = 0; i < clients.size(); ++i) clients[i].send(":" + std::to_string(i) + "\n");
  for (std::size_t i = 0; i < clients.size(); ++i) EXPECT_EQ(clients[i].receive("\n"), ":" + std::to_string(i) + "\n");
  clients.clear();
  for (int i = 0; i < 100 && host_.open() != 0; ++i) std::this_thread::sleep_for(50ms);
  EXPECT_EQ(host_.open(), 0U) << "every place is given back";
  const sandboxed_client again = tunnel("echo.example.org:7000");
}

TEST_F(EgressTunnel, NT_18_a_thousand_slow_connections_keep_the_event_loop_free) {
  start(egress_policy().connections(256).opening_time(20s));
  std::vector<sandboxed_client> slow;
  for (int i = 0; i < 1000; ++i) {
    slow.emplace_back(proxy_);
    slow.back().send("GET http://echo.exa");
  }
  std::vector<std::chrono::microseconds> turns;
  for (int i = 0; i < 200; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_LE(host_.open(), 257U);
    turns.push_back(std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin));
    for (int k = 0; k < 5; ++k) slow[static_cast<std::size_t>((i * 5 + k) % 1000)].send("m");
  }
  std::sort(turns.begin(), turns.end());
  EXPECT_LT(turns[turns.size() / 2], 10ms) << "the median, because other work may run on this machine";
}

TEST_F(EgressTunnel, NT_15_cancellation_closes_both_sides) {
  start();
  const sandboxed_client one = tunnel("echo.example.org:7000");
  one.send(":x\n");
  EXPECT_EQ(one.receive("\n"), ":x\n");
  const sandboxed_client waiting(proxy_);
  while (host_.open() != 2) std::this_thread::sleep_for(5ms);
  host_.cancel_all();
  EXPECT_EQ(one.receive(), "");
  EXPECT_EQ(waiting.receive(), "");
  for (int i = 0; i < 100 && host_.open() != 0; ++i) std::this_thread::sleep_for(20ms);
  EXPECT_EQ(host_.open(), 0U);
}

TEST_F(EgressTunnel, NT_15_an_event_loop_that_is_destroyed_in_the_middle_leaves_nothing) {
  start();
  const sandboxed_client one = tunnel("echo.example.org:7000");
  const sandboxed_client two(proxy_);
  two.send("POST http://echo.example.org/ HTTP/1.1\r\nHost: echo.example.org\r\nContent-Length: 5\r\n\r\nab");
  while (host_.open() != 2) std::this_thread::sleep_for(5ms);
  host_.stop();  // the destructor of the fixture destroys the waiting coroutines
}

/// Makes a stream to a program that has sent a text and waits for the answer. The program's end is in `kept`.
cofferdam::byte_stream guest_that_sent(const asio::any_io_executor& executor, std::string_view text,
                                       std::vector<asio::posix::stream_descriptor>& kept) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair failed");
  kept.emplace_back(executor, ends[1]);
  if (::send(ends[1], text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("send failed");
  return cofferdam::make_byte_stream(asio::posix::stream_descriptor(executor, ends[0]),
                                     asio::posix::stream_descriptor(executor, ::dup(ends[0])), "the program");
}

/// Serves one connection whose program sends a text, and then waits.
cofferdam::awaitable<void> serve_text(cofferdam::egress_proxy proxy, std::string text) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  std::vector<asio::posix::stream_descriptor> kept;
  cofferdam::byte_stream guest = guest_that_sent(executor, text, kept);
  co_await proxy.serve(std::move(guest));
}

TEST_F(EgressTunnel, NT_15_a_cancellation_at_any_step_ends_the_connection) {
  start();
  const std::uint16_t web = host_.start(echo_server(seen_));
  const std::string to_web = "POST http://web.example.org/ HTTP/1.1\r\nHost: web.example.org\r\n";
  for (const std::string& text : {to_web + "Content-Length: 0\r\n\r\n", to_web + "Content-Length: 9\r\n\r\nabc",
                                  "CONNECT echo.example.org:7000 HTTP/1.1\r\nHost: echo.example.org\r\n\r\n:x\n"s,
                                  "CONNECT read.example.org:443 HTTP/1.1\r\nHost: read.example.org\r\n\r\n"s +
                                      in_records(client_hello_text("read.example.org")),
                                  "\x05\x01\x00\x05\x01\x00\x03\x10"s + "echo.example.org"s + "\x01\xBB"s +
                                      in_records(client_hello_text("x.example.org")),
                                  "CONNECT evil.example.org:443 HTTP/1.1\r\nHost: evil.example.org\r\n\r\n"s}) {
    const auto fresh = [&] {
      egress_policy policy(host_rule("web.example.org").at("127.0.0.1", web),
                           host_rule("echo.example.org:7000").at("127.0.0.1", server_),
                           host_rule("echo.example.org").at("127.0.0.1", server_),
                           host_rule("read.example.org").at("127.0.0.1", server_).methods({"GET"}));
      policy.idle_time(100ms).opening_time(100ms);
      return cofferdam::egress_proxy(std::move(policy));
    };
    bool ended = false;
    for (std::size_t step = 0; !ended && step < 300; ++step) {
      const cofferdam::egress_proxy proxy = fresh();
      std::exception_ptr failure;
      ended = cofferdam_test::cancel_after(
          step, [&] { return serve_text(proxy, text); }, failure);
      EXPECT_EQ(proxy.connections(), 0U);
      if (!failure) continue;
      try {
        std::rethrow_exception(failure);
      } catch (const std::system_error& thrown) {  // Asio's own code if the cancellation came before the first step
        const bool by_asio = step == 0 && thrown.code() == asio::error::operation_aborted;
        EXPECT_TRUE(by_asio || thrown.code() == cofferdam::exec_errc::cancelled) << thrown.what();
      }
    }
    EXPECT_TRUE(ended) << text;
    ended = false;
    for (std::size_t step = 0; !ended && step < 300; ++step) {
      const cofferdam::egress_proxy proxy = fresh();
      ended = cofferdam_test::destroy_after(step, [&] { return serve_text(proxy, text); });
      EXPECT_EQ(proxy.connections(), 0U);
    }
  }
}

}  // namespace
