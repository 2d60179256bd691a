// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/net/detail/http_date.hpp>

#include "net/http_server_support.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace {

using cofferdam::awaitable;
using cofferdam::exec_errc;
using cofferdam::http_call;
using cofferdam::http_reply;
using cofferdam::http_request;
using cofferdam::http_response;
using cofferdam::http_server_settings;
using cofferdam::detail::http_client;
using cofferdam::detail::http_server;
using cofferdam_test::comes_about;
using cofferdam_test::pause;
using cofferdam_test::raw_client;
using cofferdam_test::run;
using cofferdam_test::site;
using namespace std::chrono_literals;

using work = std::function<awaitable<void>(http_server&)>;

const std::string get_hello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
const std::string last_hello = "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}
std::string status_line(std::string_view text) { return std::string(text.substr(0, text.find("\r\n"))); }

class HttpServer : public ::testing::Test {
 protected:
  site site_;

  void with(const work& body, const http_server_settings& settings = http_server_settings()) {
    run([&] { return site_.open(site_.pages(), settings, body); });
  }
  void with_handler(site::handler each, const work& body,
                    const http_server_settings& settings = http_server_settings()) {
    run([&] { return site_.open(std::move(each), settings, body); });
  }
  /// Sends `text` over one connection, and returns everything that the server sends until it closes the connection.
  std::string talk(const std::string& text, const http_server_settings& settings = http_server_settings()) {
    std::string heard;
    const work body = [&](http_server&) -> awaitable<void> {
      raw_client client = co_await raw_client::connect(site_.there());
      co_await client.say(text);
      heard = co_await client.rest();
    };
    with(body, settings);
    return heard;
  }
  awaitable<std::string> talk_here(std::string text) {
    raw_client client = co_await raw_client::connect(site_.there());
    co_await client.say(std::move(text));
    std::string heard = co_await client.rest();
    co_return heard;
  }
};

TEST_F(HttpServer, our_client_is_served) {
  const work body = [&](http_server& server) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    http_client client(executor, site_.there());
    http_response answer = co_await client.request(http_request("GET", "/hello?x=1"));
    EXPECT_EQ(answer.status(), 200);
    EXPECT_EQ(answer.text(), "hello");
    EXPECT_TRUE(answer.field("Date"));
    answer = co_await client.request(http_request("GET", "/stream"));
    EXPECT_EQ(answer.text(), "one,two,three");
    answer = co_await client.request(http_request("GET", "/sized"));
    EXPECT_EQ(answer.text(), "one,two,");
    EXPECT_EQ(answer.field("Content-Length"), "8");
    answer = co_await client.request(http_request("HEAD", "/hello"));
    EXPECT_EQ(answer.text(), "");
    EXPECT_EQ(answer.field("Content-Length"), "5");
    answer = co_await client.request(http_request("HEAD", "/stream"));
    EXPECT_EQ(answer.text(), "");
    const std::string much(3'000'000, 'x');
    http_request upload("POST", "/echo");
    upload.content("text/plain", much);
    answer = co_await client.request(std::move(upload));
    EXPECT_EQ(answer.body().size(), much.size());
    answer = co_await client.request(http_request("GET", "/none"));
    EXPECT_EQ(answer.status(), 404);
    EXPECT_EQ(server.connections(), 1U) << "the connection was not kept";
    co_await client.close();
  };
  with(body);
  EXPECT_TRUE(site_.errors.empty());
}

TEST_F(HttpServer, every_cut_of_a_request_is_the_same_request) {
  const std::string text =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nSum: "
      "5\r\n\r\n";
  const work body = [&](http_server&) -> awaitable<void> {
    raw_client client = co_await raw_client::connect(site_.there());
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      co_await client.say(text.substr(0, cut));
      co_await asio::post(asio::use_awaitable);
      co_await client.say(text.substr(cut));
      const std::string heard = co_await client.hear("abcde");
      EXPECT_EQ(status_line(heard), "HTTP/1.1 200 OK") << cut;
      EXPECT_NE(heard.find("X-Sum: 5\r\n"), std::string::npos) << cut;
    }
    for (const char c : text) co_await client.say(std::string(1, c));
    const std::string heard = co_await client.hear("abcde");
    EXPECT_EQ(status_line(heard), "HTTP/1.1 200 OK");
  };
  with(body);
}

TEST_F(HttpServer, a_client_that_ends_at_any_cut_of_a_request_leaves_nothing) {
  const std::string text = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nabcde";
  const work body = [&](http_server& server) -> awaitable<void> {
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
      raw_client client = co_await raw_client::connect(site_.there());
      co_await client.say(text.substr(0, cut));
      client.close();
    }
    const std::function<bool()> gone = [&] { return server.connections() == 0; };
    const bool all_gone = co_await comes_about(gone);
    EXPECT_TRUE(all_gone);
  };
  with(body);
  EXPECT_TRUE(site_.errors.empty()) << site_.errors.front();
}

TEST_F(HttpServer, pipelined_requests_are_answered_in_order) {
  const std::string heard = talk(get_hello + "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc" +
                                 "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n" + last_hello);
  EXPECT_EQ(count(heard, "HTTP/1.1 200 OK"), 4U);
  EXPECT_LT(heard.find("hello"), heard.find("abc"));
  EXPECT_LT(heard.find("abc"), heard.find("one,"));
  EXPECT_LT(heard.find("three"), heard.rfind("hello"));
  EXPECT_EQ(count(heard, "Connection: close"), 1U);
}

TEST_F(HttpServer, a_client_of_http_1_0_is_served) {
  std::string heard = talk("GET /hello HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(status_line(heard), "HTTP/1.1 200 OK");
  EXPECT_TRUE(heard.ends_with("\r\n\r\nhello"));
  heard = talk("GET /stream HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(count(heard, "Transfer-Encoding"), 0U);
  EXPECT_TRUE(heard.ends_with("\r\n\r\none,two,three"));
  heard = talk("GET /hello HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n" + last_hello);
  EXPECT_EQ(count(heard, "200 OK"), 2U);
  EXPECT_EQ(count(heard, "Connection: keep-alive"), 1U);
  heard = talk("POST /echo HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(status_line(heard), "HTTP/1.1 411 Length Required");
}

TEST_F(HttpServer, bad_requests_have_the_status_that_is_due) {
  http_server_settings settings;
  cofferdam::http_parser_limits limits;
  limits.line = 200;
  limits.head = 600;
  limits.fields = 5;
  settings.parser(limits).body(10);
  const std::string host = "Host: localhost\r\n";
  const std::vector<std::pair<std::string, int>> cases{
      {"nonsense\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\n" + host + host + "\r\n", 400},
      {"GET /hello HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
      {"GET hello HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /hello HTTP/1.1\n" + host + "\r\n", 400},
      {"GET * HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET http://evil.test/hello HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /hello HTTP/2.0\r\n" + host + "\r\n", 505},
      {"GET /hello HTTP/0.9\r\n" + host + "\r\n", 505},
      {"CONNECT localhost:80 HTTP/1.1\r\n" + host + "\r\n", 501},
      {"POST /echo HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {"GET /" + std::string(300, 'x') + " HTTP/1.1\r\n" + host + "\r\n", 414},
      {"GET /hello HTTP/1.1\r\n" + host + "X: " + std::string(300, 'x') + "\r\n\r\n", 431},
      {"GET /hello HTTP/1.1\r\n" + host + "A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\nE: 1\r\n\r\n", 431},
      {"GET /hello HTTP/1.1\r\n" + host + "Expect: a-miracle\r\n\r\n", 417},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 11\r\n\r\nabcdefghijk", 413},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 11\r\nExpect: 100-continue\r\n\r\n", 413},
      {"POST /echo HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nb\r\nabcdefghijk\r\n0\r\n\r\n", 413},
      // Requests that two implementations could interpret differently, which would allow request smuggling.
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: +3\r\n\r\nabc", 400},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: abc\r\n\r\nabc", 400},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length:\r\n\r\nabc", 400},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length : 3\r\n\r\nabc", 400},
      {"POST /echo HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400},
      {"POST /echo HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n0\r\n\r\n", 400},
      {"POST /echo HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
  };
  const work body = [&](http_server&) -> awaitable<void> {
    for (const auto& [text, status] : cases) {
      const std::string heard = co_await talk_here(text + get_hello);
      EXPECT_EQ(heard.substr(0, 13), "HTTP/1.1 " + std::to_string(status) + " ") << text << "\n" << heard;
      EXPECT_EQ(count(heard, "HTTP/1.1"), 1U) << "the connection went on after: " << text << "\n" << heard;
      EXPECT_EQ(count(heard, "Connection: close"), 1U) << text;
    }
  };
  with(body, settings);
  EXPECT_TRUE(site_.errors.empty()) << site_.errors.front();
}

TEST_F(HttpServer, an_absolute_target_is_its_path) {
  const std::string heard =
      talk("GET http://localhost/target HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(heard.ends_with("\r\n\r\n/target")) << heard;
}

TEST_F(HttpServer, the_body_is_asked_for_when_the_handler_reads_it) {
  const work body = [&](http_server&) -> awaitable<void> {
    raw_client client = co_await raw_client::connect(site_.there());
    co_await client.say("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    std::string heard = co_await client.hear("\r\n\r\n");
    EXPECT_EQ(heard, "HTTP/1.1 100 Continue\r\n\r\n");
    co_await client.say("abc");
    heard = co_await client.hear("abc");
    EXPECT_EQ(status_line(heard), "HTTP/1.1 200 OK");
    co_await client.say("POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    heard = co_await client.rest();
    EXPECT_EQ(status_line(heard), "HTTP/1.1 404 Not Found");
    EXPECT_EQ(count(heard, "Connection: close"), 1U);
  };
  with(body);
}

TEST_F(HttpServer, a_body_that_nobody_read_is_drained_or_closes_the_connection) {
  const std::string head = "POST /hello HTTP/1.1\r\nHost: localhost\r\n";
  http_server_settings settings;
  settings.drained(1000);
  std::string heard = talk(head + "Content-Length: 1000\r\n\r\n" + std::string(1000, 'x') + last_hello, settings);
  EXPECT_EQ(count(heard, "200 OK"), 2U);
  heard = talk(head + "Content-Length: 1001\r\n\r\n" + std::string(1001, 'x') + last_hello, settings);
  EXPECT_EQ(count(heard, "200 OK"), 1U);
  EXPECT_EQ(count(heard, "Connection: close"), 1U);
  heard =
      talk(head + "Transfer-Encoding: chunked\r\n\r\n7d0\r\n" + std::string(2000, 'x') + "\r\n0\r\n\r\n" + last_hello,
           settings);
  EXPECT_EQ(count(heard, "200 OK"), 1U);
}

TEST_F(HttpServer, a_body_is_not_taken_faster_than_the_handler_reads_it) {
  constexpr std::size_t size = 60'000'000;
  bool may_read = false;
  bool sent = false;
  const site::handler slow = [&](http_call& call) -> awaitable<void> {
    ++site_.started;
    const std::function<bool()> allowed = [&] { return may_read; };
    const bool came = co_await comes_about(allowed);
    EXPECT_TRUE(came);
    call.body_limit(std::nullopt);
    std::vector<std::byte> room(100'000);
    std::size_t sum = 0;
    for (;;) {
      const std::size_t got = co_await call.read_some(room);
      if (got == 0) break;
      sum += got;
    }
    co_await call.reply(http_reply(200).content("text/plain", std::to_string(sum)));
  };
  const work body = [&](http_server&) -> awaitable<void> {
    raw_client client = co_await raw_client::connect(site_.there());
    std::string text = "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ";
    text += std::to_string(size) + "\r\n\r\n" + std::string(size, 'x');
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto done = [&](const std::exception_ptr& failure) { sent = !failure; };
    cofferdam_test::spawn(executor, client.say(std::move(text)), done);
    const std::function<bool()> started = [&] { return site_.started == 1; };
    const bool began = co_await comes_about(started);
    EXPECT_TRUE(began);
    co_await pause(50ms);
    EXPECT_FALSE(sent) << "the server keeps what nobody has read";
    may_read = true;
    const std::string heard = co_await client.rest();
    EXPECT_TRUE(sent);
    EXPECT_TRUE(heard.ends_with(std::to_string(size))) << heard;
  };
  with_handler(slow, body);
}

TEST_F(HttpServer, a_refusal_reaches_a_client_that_is_still_sending) {
  const work body = [&](http_server&) -> awaitable<void> {
    raw_client client = co_await raw_client::connect(site_.there());
    const std::string text = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n\r\n";
    co_await client.say(text + std::string(20'000'000, 'x'));
    const std::string heard = co_await client.rest();
    EXPECT_EQ(status_line(heard), "HTTP/1.1 413 Content Too Large");
    EXPECT_FALSE(client.was_reset());
  };
  with(body);
}

TEST_F(HttpServer, what_a_handler_throws_is_told_to_us_and_not_to_the_client) {
  std::string heard = talk("GET /throw HTTP/1.1\r\nHost: localhost\r\n\r\n" + last_hello);
  EXPECT_EQ(status_line(heard), "HTTP/1.1 500 Internal Server Error");
  EXPECT_EQ(count(heard, "HTTP/1.1 200 OK"), 1U) << "a failed handler is no reason to close";
  EXPECT_EQ(count(heard, "secret"), 0U);
  ASSERT_EQ(site_.errors.size(), 1U);
  EXPECT_EQ(site_.errors[0], "GET /throw: the secret reason");
  heard = talk("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n" + last_hello);
  EXPECT_EQ(status_line(heard), "HTTP/1.1 500 Internal Server Error");
  EXPECT_EQ(site_.errors.size(), 2U);
}

TEST_F(HttpServer, a_reply_that_fails_midway_is_cut_off) {
  for (const std::string path : {"/torn", "/short"}) {
    site_.errors.clear();
    const std::string heard = talk("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n" + last_hello);
    EXPECT_EQ(status_line(heard), "HTTP/1.1 200 OK");
    EXPECT_EQ(count(heard, "HTTP/1.1"), 1U);
    EXPECT_FALSE(heard.ends_with("0\r\n\r\n"));
    EXPECT_EQ(site_.errors.size(), 1U);
  }
}

TEST_F(HttpServer, a_slow_head_is_given_up_and_an_idle_connection_closed) {
  http_server_settings settings;
  settings.head_timeout(1s).idle_timeout(50ms).body_timeout(50ms);
  EXPECT_EQ(talk("", settings), "");
  EXPECT_EQ(status_line(talk("GET /hel", settings)), "HTTP/1.1 408 Request Timeout");
  EXPECT_EQ(count(talk(get_hello, settings), "HTTP/1.1"), 1U);
  const std::string slow_second = talk(get_hello + "GET /", settings);
  EXPECT_EQ(count(slow_second, "HTTP/1.1 408"), 1U);
  const std::string slow_body = talk("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab", settings);
  EXPECT_EQ(status_line(slow_body), "HTTP/1.1 408 Request Timeout");
}

TEST_F(HttpServer, a_drip_of_bytes_does_not_move_the_limit_of_the_head) {
  http_server_settings settings;
  settings.head_timeout(200ms);
  const work body = [&](http_server& server) -> awaitable<void> {
    raw_client client = co_await raw_client::connect(site_.there());
    co_await client.say("GET /hello HTTP/1.1\r\nX: ");
    bool refused = false;
    for (int i = 0; i < 4000 && !refused; ++i) {
      try {
        co_await client.say("x");
      } catch (const cofferdam::error&) {
        refused = true;
      }
      co_await pause(5ms);
      refused = refused || server.connections() == 0;
    }
    EXPECT_TRUE(refused);
  };
  with(body, settings);
  EXPECT_EQ(site_.started, 0);
}

TEST_F(HttpServer, a_client_that_takes_nothing_is_closed) {
  http_server_settings settings;
  settings.write_timeout(100ms);
  const site::handler endless = [&](http_call& call) -> awaitable<void> {
    ++site_.started;
    co_await call.begin(http_reply(200));
    const std::string piece(100'000, 'x');
    for (;;) co_await call.write(piece);
  };
  const work body = [&](http_server& server) -> awaitable<void> {
    raw_client client = co_await raw_client::connect(site_.there());
    co_await client.say(get_hello);
    const std::function<bool()> gone = [&] { return site_.started == 1 && server.connections() == 0; };
    const bool ended = co_await comes_about(gone);
    EXPECT_TRUE(ended);
  };
  with_handler(endless, body, settings);
}

TEST_F(HttpServer, a_client_that_leaves_cancels_its_handler) {
  for (const std::string path : {"/wait", "/silent"}) {
    site_.cancelled = 0;
    site_.started = 0;
    const work body = [&](http_server& server) -> awaitable<void> {
      raw_client client = co_await raw_client::connect(site_.there());
      co_await client.say("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
      const std::function<bool()> started = [&] { return site_.started == 1; };
      const bool began = co_await comes_about(started);
      EXPECT_TRUE(began);
      EXPECT_EQ(site_.cancelled, 0);
      client.close();
      const std::function<bool()> gone = [&] { return server.connections() == 0; };
      const bool ended = co_await comes_about(gone);
      EXPECT_TRUE(ended);
      EXPECT_EQ(site_.cancelled, 1);
    };
    with(body);
    EXPECT_TRUE(site_.errors.empty());
  }
}

TEST_F(HttpServer, work_that_is_to_outlive_its_client_does) {
  bool finished = false;
  const site::handler patient = [&](http_call& call) -> awaitable<void> {
    call.ignore_departure();
    const std::function<bool()> gone = [&] { return call.client_gone(); };
    finished = co_await comes_about(gone);
  };
  const work body = [&](http_server& server) -> awaitable<void> {
    raw_client client = co_await raw_client::connect(site_.there());
    co_await client.say(get_hello);
    const std::function<bool()> there = [&] { return server.connections() == 1; };
    const bool began = co_await comes_about(there);
    EXPECT_TRUE(began);
    co_await pause(20ms);
    client.close();
    const std::function<bool()> ended = [&] { return finished; };
    const bool done = co_await comes_about(ended);
    EXPECT_TRUE(done);
  };
  with_handler(patient, body);
}

TEST_F(HttpServer, work_that_ignores_its_client_is_ended_by_the_stop) {
  const site::handler patient = [&](http_call& call) -> awaitable<void> {
    call.ignore_departure();
    ++site_.started;
    co_await site_.wait_for_ever();
  };
  const work body = [&](http_server&) -> awaitable<void> {
    raw_client client = co_await raw_client::connect(site_.there());
    co_await client.say(get_hello);
    const std::function<bool()> started = [&] { return site_.started == 1; };
    const bool began = co_await comes_about(started);
    EXPECT_TRUE(began);
    client.close();
    co_await pause(20ms);
    EXPECT_EQ(site_.cancelled, 0);
  };
  with_handler(patient, body, http_server_settings().stop_timeout(20ms));
  EXPECT_EQ(site_.cancelled, 1);
}

TEST_F(HttpServer, a_handler_that_takes_too_long_is_cancelled) {
  const std::string heard = talk("GET /silent HTTP/1.1\r\nHost: localhost\r\n\r\n" + last_hello,
                                 http_server_settings().request_timeout(30ms));
  EXPECT_EQ(status_line(heard), "HTTP/1.1 503 Service Unavailable");
  EXPECT_EQ(count(heard, "HTTP/1.1"), 1U);
  EXPECT_EQ(site_.cancelled, 1);
}

TEST_F(HttpServer, too_many_connections_wait_and_idle_ones_make_room) {
  const work body = [&](http_server& server) -> awaitable<void> {
    raw_client first = co_await raw_client::connect(site_.there());
    co_await first.say("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
    co_await first.hear("begun");
    raw_client second = co_await raw_client::connect(site_.there());
    co_await second.say(get_hello);
    co_await second.hear("hello");
    EXPECT_EQ(server.connections(), 2U);
    raw_client third = co_await raw_client::connect(site_.there());
    co_await third.say("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
    co_await third.hear("begun");
    std::string heard = co_await second.rest();
    EXPECT_EQ(heard, "");
    raw_client fourth = co_await raw_client::connect(site_.there());
    co_await fourth.say(last_hello);
    co_await pause(30ms);
    EXPECT_EQ(server.connections(), 2U);
    EXPECT_EQ(site_.started, 3);
    first.close();
    heard = co_await fourth.rest();
    EXPECT_EQ(status_line(heard), "HTTP/1.1 200 OK");
  };
  with(body, http_server_settings().connections(2).stop_timeout(10ms));
}

TEST_F(HttpServer, who_waits_for_a_connection_gets_that_of_the_first_to_become_idle) {
  const site::handler slow = [&](http_call& call) -> awaitable<void> {
    ++site_.started;
    co_await pause(50ms);
    co_await call.reply(http_reply(200).content("text/plain", "done"));
  };
  const work body = [&](http_server&) -> awaitable<void> {
    raw_client first = co_await raw_client::connect(site_.there());
    co_await first.say(get_hello);
    const std::function<bool()> started = [&] { return site_.started == 1; };
    const bool began = co_await comes_about(started);
    EXPECT_TRUE(began);
    raw_client second = co_await raw_client::connect(site_.there());
    co_await second.say(get_hello);
    std::string heard = co_await first.rest();
    EXPECT_TRUE(heard.ends_with("done"));
    heard = co_await second.hear("done");
    EXPECT_EQ(status_line(heard), "HTTP/1.1 200 OK");
  };
  with_handler(slow, body, http_server_settings().connections(1));
}

TEST_F(HttpServer, only_hosts_and_origins_that_are_believed_are_served) {
  struct row {
    std::string host;
    std::string origin;
    int status;
  };
  const auto check = [&](const std::vector<row>& rows, const http_server_settings& settings) {
    const work body = [&](http_server&) -> awaitable<void> {
      for (const row& entry : rows) {
        std::string text = "GET /hello HTTP/1.1\r\nHost: " + entry.host + "\r\nConnection: close\r\n";
        if (!entry.origin.empty()) text += "Origin: " + entry.origin + "\r\n";
        const std::string heard = co_await talk_here(text + "\r\n");
        EXPECT_EQ(heard.substr(9, 3), std::to_string(entry.status)) << entry.host << " / " << entry.origin;
      }
    };
    with(body, settings);
  };
  check({{"localhost", "", 200},
         {"LOCALHOST:8080", "", 200},
         {"127.0.0.1:1", "", 200},
         {"[::1]:99", "", 200},
         {"evil.test", "", 421},
         {"", "", 421},
         {"localhost.evil.test", "", 421},
         {"127.0.0.1.evil.test:80", "", 421},
         {"localhost@evil.test", "", 400},
         {"localhost", "http://localhost:3000", 200},
         {"127.0.0.1", "http://localhost", 200},
         {"localhost", "http://evil.test", 403},
         {"localhost", "http://localhost.evil.test", 403},
         {"localhost", "http://localhost@evil.test", 403},
         {"localhost", "null", 403},
         {"localhost", "file://", 403},
         {"evil.test", "http://evil.test", 421}},
        http_server_settings());
  check({{"api.test", "", 200},
         {"api.test:443", "", 200},
         {"localhost", "", 421},
         {"other.test:8443", "", 200},
         {"other.test:8444", "", 421},
         {"api.test", "https://app.test", 200},
         {"api.test", "https://api.test", 403}},
        http_server_settings().allowed_hosts({"api.test", "other.test:8443"}).allowed_origins({"https://app.test"}));
  check({{"anything.test", "", 200}, {"anything.test", "https://who.test", 200}},
        http_server_settings().allowed_hosts({"*"}).allowed_origins({"*"}));
  check({{"localhost", "http://localhost:3000", 200},
         {"localhost", "https://app.test", 200},
         {"localhost", "HTTPS://APP.test", 200},
         {"localhost", "https://app.test:8443", 403},
         {"localhost", "http://app.test", 403}},
        http_server_settings().origin("https://app.test"));
  check({{"localhost", "https://app.test", 200},
         {"localhost", "https://other.test", 200},
         {"localhost", "http://localhost:3000", 403}},
        http_server_settings().allowed_origins({"https://other.test"}).origin("https://app.test"));
}

TEST_F(HttpServer, a_reply_is_shared_with_a_web_page_only_as_often_as_the_handler_says) {
  const site::handler each = [](http_call& call) -> awaitable<void> {
    if (call.path() != "/private") call.share_with(call.path() == "/nobody" ? "" : "http://localhost:5173");
    if (call.path() == "/broken") throw std::runtime_error("broken");
    if (call.path() == "/bad") call.share_with("x\r\nSet-Cookie: a=b");
    http_reply made(200);
    if (call.path() == "/own") made.field("Access-Control-Allow-Origin", "*").field("Vary", "Accept-Encoding, origin");
    co_await call.reply(std::move(made));
  };
  std::vector<std::string> replies;
  const work body = [&](http_server&) -> awaitable<void> {
    raw_client client = co_await raw_client::connect(site_.there());
    for (const char* const path : {"/shared", "/private", "/own", "/nobody", "/broken", "/bad"}) {
      if (std::string_view(path) == "/bad") client = co_await raw_client::connect(site_.there());
      co_await client.say("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
      std::string head = co_await client.hear("\r\n\r\n");
      replies.push_back(std::move(head));
    }
  };
  with_handler(each, body);
  ASSERT_EQ(replies.size(), 6U);
  EXPECT_EQ(count(replies[0], "\r\nAccess-Control-Allow-Origin: http://localhost:5173\r\n"), 1U);
  EXPECT_EQ(count(replies[0], "\r\nVary: Origin\r\n"), 1U);
  EXPECT_EQ(count(replies[1], "Access-Control"), 0U);
  EXPECT_EQ(count(replies[2], "\r\nAccess-Control-Allow-Origin: "), 1U);
  EXPECT_EQ(count(replies[2], "\r\nAccess-Control-Allow-Origin: http://localhost:5173\r\n"), 1U);
  EXPECT_EQ(count(replies[2], "\r\nVary: "), 1U);
  EXPECT_EQ(count(replies[3], "Access-Control"), 0U);
  EXPECT_EQ(count(replies[3], "\r\nVary: Origin\r\n"), 1U);
  EXPECT_EQ(count(replies[4], " 500 "), 1U);
  EXPECT_EQ(count(replies[4], "\r\nAccess-Control-Allow-Origin: http://localhost:5173\r\n"), 1U);
  EXPECT_EQ(count(replies[5], " 500 "), 1U);
  EXPECT_EQ(count(replies[5], "Set-Cookie"), 0U);
}

TEST_F(HttpServer, stopping_ends_what_is_idle_and_waits_for_what_runs) {
  bool may_end = false;
  const site::handler slow = [&](http_call& call) -> awaitable<void> {
    ++site_.started;
    const std::function<bool()> allowed = [&] { return may_end; };
    const bool came = co_await comes_about(allowed);
    EXPECT_TRUE(came);
    co_await call.reply(http_reply(200).content("text/plain", "done"));
  };
  std::string heard;
  std::string idle;
  bool stopped = false;
  const work body = [&](http_server& server) -> awaitable<void> {
    raw_client quiet = co_await raw_client::connect(site_.there());
    raw_client client = co_await raw_client::connect(site_.there());
    co_await client.say(get_hello + get_hello);
    const std::function<bool()> started = [&] { return site_.started == 1 && server.connections() == 2; };
    const bool began = co_await comes_about(started);
    EXPECT_TRUE(began);
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto done = [&](const std::exception_ptr& failure) { stopped = !failure; };
    cofferdam_test::spawn(executor, server.stop(), done);
    idle = co_await quiet.rest();
    EXPECT_FALSE(stopped);
    may_end = true;
    heard = co_await client.rest();
    client.close();
  };
  with_handler(slow, body);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(idle, "");
  EXPECT_EQ(count(heard, "HTTP/1.1 200 OK"), 1U);
  EXPECT_EQ(count(heard, "Connection: close"), 1U);
  EXPECT_EQ(site_.started, 1);
}

TEST_F(HttpServer, stopping_cancels_what_runs_too_long) {
  const work body = [&](http_server& server) -> awaitable<void> {
    raw_client client = co_await raw_client::connect(site_.there());
    co_await client.say("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
    co_await client.hear("begun");
    co_await server.stop();
    EXPECT_EQ(site_.cancelled, 1);
    EXPECT_EQ(server.connections(), 0U);
    const std::string rest = co_await client.rest();
    EXPECT_FALSE(rest.ends_with("0\r\n\r\n"));
  };
  with(body, http_server_settings().stop_timeout(20ms));
  EXPECT_TRUE(site_.errors.empty());
}

/// Runs a server and a client that disconnects in the middle of a reply. The tests below interrupt this coroutine at
/// each step.
awaitable<void> a_busy_moment(site* test_site) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  http_server server(executor, test_site->pages());
  cofferdam::listener where = cofferdam::tcp_listener(executor, "127.0.0.1", 0);
  test_site->port = where.port();
  server.listen(std::move(where));
  bool ended = false;
  const auto done = [&](const std::exception_ptr&) { ended = true; };
  cofferdam_test::spawn(executor, server.run(), done);
  raw_client client = co_await raw_client::connect(test_site->there());
  co_await client.say(get_hello + "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n" +
                      "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
  co_await client.hear("begun");
  client.close();
  const std::function<bool()> cancelled = [&] { return test_site->cancelled == 1; };
  const bool left = co_await comes_about(cancelled);
  EXPECT_TRUE(left);
  co_await server.stop();
  const std::function<bool()> over = [&] { return ended; };
  const bool stopped = co_await comes_about(over);
  EXPECT_TRUE(stopped);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(each);
    ++count;
  }
  return count;
}

TEST_F(HttpServer, its_context_may_be_destroyed_at_any_step) {
  const std::size_t before = open_descriptors();
  bool ended = false;
  for (std::size_t handlers = 1; !ended && handlers < 2000; ++handlers) {
    site test_site;
    ended = cofferdam_test::destroy_after(handlers, [&] { return a_busy_moment(&test_site); });
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(open_descriptors(), before);
}

awaitable<void> run_only(site* test_site) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  http_server server(executor, test_site->pages());
  cofferdam::listener where = cofferdam::tcp_listener(executor, "127.0.0.1", 0);
  test_site->port = where.port();
  server.listen(std::move(where));
  raw_client client = co_await raw_client::connect(test_site->there());
  co_await client.say("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::exception_ptr failure;
  try {
    co_await server.run();
  } catch (...) {
    failure = std::current_exception();
  }
  EXPECT_EQ(server.connections(), 0U);
  if (failure) std::rethrow_exception(failure);
}

TEST_F(HttpServer, cancelling_the_coroutine_that_runs_it_ends_everything_at_any_step) {
  const std::size_t before = open_descriptors();
  for (std::size_t handlers = 1; handlers < 60; ++handlers) {
    site test_site;
    std::exception_ptr failure;
    const cofferdam_test::watchdog guard(60s);
    cofferdam_test::driven<void> driven(run_only(&test_site));
    for (std::size_t i = 0; i < handlers; ++i) {
      if (driven.context().poll_one() == 0) break;
    }
    driven.cancel();
    driven.run_to_end();
    try {
      driven.result();
      ADD_FAILURE() << handlers;
    } catch (const cofferdam::error& reason) {
      EXPECT_EQ(reason.code(), exec_errc::cancelled) << reason.what();
    } catch (const std::system_error& reason) {
      EXPECT_EQ(reason.code(), asio::error::operation_aborted);
    }
    EXPECT_EQ(test_site.ended, test_site.started) << handlers;
  }
  EXPECT_EQ(open_descriptors(), before);
}

awaitable<void> destroy_while_busy(site* test_site) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto server = std::make_unique<http_server>(executor, test_site->pages());
  cofferdam::listener where = cofferdam::tcp_listener(executor, "127.0.0.1", 0);
  test_site->port = where.port();
  server->listen(std::move(where));
  bool ended = false;
  const auto done = [&](const std::exception_ptr&) { ended = true; };
  cofferdam_test::spawn(executor, server->run(), done);
  raw_client client = co_await raw_client::connect(test_site->there());
  co_await client.say("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
  co_await client.hear("begun");
  server.reset();
  const std::string rest = co_await client.rest();
  EXPECT_FALSE(rest.ends_with("0\r\n\r\n"));
  const std::function<bool()> over = [&] { return ended; };
  const bool stopped = co_await comes_about(over);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(test_site->cancelled, 1);
}

TEST_F(HttpServer, destroying_it_closes_everything) {
  run([&] { return destroy_while_busy(&site_); });
}

awaitable<void> serve_a_socket(site* test_site, std::string path) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  {
    cofferdam::listener dead = cofferdam::unix_listener(executor, path);
    struct stat socket_status {};
    EXPECT_EQ(::stat(path.c_str(), &socket_status), 0);
    EXPECT_EQ(socket_status.st_mode & 0777U, 0600U);
    try {
      cofferdam::unix_listener(executor, path);
      ADD_FAILURE() << "two servers have one socket";
    } catch (const cofferdam::error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::already_exists);
    }
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  http_server server(executor, test_site->pages());
  server.listen(cofferdam::unix_listener(executor, path));
  bool ended = false;
  const auto done = [&](const std::exception_ptr&) { ended = true; };
  cofferdam_test::spawn(executor, server.run(), done);
  http_client client(executor, cofferdam::detail::unix_connector(path, "any.host"));
  const http_response answer = co_await client.request(http_request("GET", "/hello"));
  EXPECT_EQ(answer.text(), "hello");
  co_await client.close();
  co_await server.stop();
  EXPECT_FALSE(std::filesystem::exists(path));
  const std::function<bool()> over = [&] { return ended; };
  const bool stopped = co_await comes_about(over);
  EXPECT_TRUE(stopped);
}

TEST_F(HttpServer, a_unix_socket_is_the_owners_alone_and_goes_with_the_server) {
  const cofferdam_test::temporary_folder folder;
  run([&] { return serve_a_socket(&site_, folder.path() / "server.sock"); });
}

TEST_F(HttpServer, what_cannot_be_listened_on_is_an_error) {
  asio::io_context context;
  const cofferdam_test::temporary_folder folder;
  const std::string file = folder.path() / "file";
  std::ofstream(file) << "mine";
  const auto code_of = [](const std::function<void()>& work) {
    try {
      work();
    } catch (const cofferdam::error& failure) {
      return static_cast<exec_errc>(failure.code().value());
    }
    return exec_errc();
  };
  const auto executor = context.get_executor();
  EXPECT_EQ(code_of([&] { cofferdam::tcp_listener(executor, "localhost", 0); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { cofferdam::tcp_listener(executor, "192.0.2.1", 0); }), exec_errc::io_error);
  EXPECT_EQ(code_of([&] { cofferdam::unix_listener(executor, "relative"); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { cofferdam::unix_listener(executor, file); }), exec_errc::already_exists);
  EXPECT_EQ(code_of([&] { cofferdam::unix_listener(executor, folder.path() / "none" / "s"); }), exec_errc::io_error);
  const cofferdam::listener first = cofferdam::tcp_listener(executor, "127.0.0.1", 0);
  EXPECT_EQ(code_of([&] { cofferdam::tcp_listener(executor, "127.0.0.1", first.port()); }), exec_errc::io_error);
  EXPECT_EQ(code_of([&] { http_server(executor, nullptr); }), exec_errc::invalid_argument);
  for (const std::string bad : {"", "http://a", "::1", "a b", "a:b"}) {
    const http_server_settings settings = http_server_settings().allowed_hosts({bad});
    EXPECT_EQ(code_of([&] { http_server(executor, site_.pages(), settings); }), exec_errc::invalid_argument) << bad;
  }
  for (const std::string bad : {"", "null", "app.test", "https://a/b", "ftp://a"}) {
    const http_server_settings settings = http_server_settings().allowed_origins({bad});
    EXPECT_EQ(code_of([&] { http_server(executor, site_.pages(), settings); }), exec_errc::invalid_argument) << bad;
  }
  EXPECT_EQ(code_of([&] {
              run([&] { return http_server(executor, [](http_call&) -> awaitable<void> { co_return; }).run(); });
            }),
            exec_errc::invalid_argument);
}

TEST_F(HttpServer, a_reply_that_could_break_its_framing_is_refused) {
  for (const std::string name : {"Content-Length", "transfer-encoding", "Trailer"}) {
    EXPECT_THROW(static_cast<void>(http_reply(200).field(name, "1")), cofferdam::error);
  }
  EXPECT_THROW(static_cast<void>(http_reply(200).field("Connection", "upgrade")), cofferdam::error);
  EXPECT_THROW(static_cast<void>(http_reply(200).field("X", "a\r\nSet-Cookie: b")), cofferdam::error);
  EXPECT_THROW(http_reply(100), cofferdam::error);
  EXPECT_THROW(http_reply(600), cofferdam::error);
  EXPECT_EQ(cofferdam::detail::http_date(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
