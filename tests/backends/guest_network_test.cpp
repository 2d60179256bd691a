// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/backends/over.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/net/listener.hpp>

#include "support/jail_tests.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::run;

static_assert(tunnelling_environment<jail_environment> && tunnelling_environment<over_environment>);
static_assert(tunnelling_environment<any_environment>);
static_assert(!tunnelling_environment<local_environment>);

/// Commands on this machine that a warden (the helper program in a sandbox) runs behind a pipe.
over here() { return over("sh", "-c", "exec \"$@\"", "sh"); }

awaitable<std::string> read_all(byte_stream& stream) {
  std::string text;
  for (;;) {
    std::array<std::byte, 10'000> piece{};
    const std::size_t count = co_await stream.read_some(piece);
    if (count == 0) break;
    text += as_text(bytes_view(piece).first(count));
  }
  co_return text;
}

awaitable<void> write_text(byte_stream& stream, std::string text) {
  const bytes_view content = as_bytes(text);
  co_await stream.write(content);
}

/// Accepts one connection, reads it to its end, and answers with what it has read.
awaitable<void> echo_once(listener& server) {
  byte_stream stream = co_await server.accept();
  std::string text = co_await read_all(stream);
  co_await write_text(stream, std::move(text));
  co_await stream.shutdown_send();
}

/// Runs a body with an open environment, within a time limit.
template <class Provider, class Body>
void in_environment(const Provider& provider, Body body) {
  run([&]() -> awaitable<void> { co_await with(provider, body); });
}

template <class Work>
awaitable<error> failure_of(Work work) {
  try {
    co_await work();
  } catch (const error& failure) {
    co_return failure;
  }
  co_return error(exec_errc::invalid_argument, "nothing was thrown");
}

TEST(GuestNetwork, a_server_in_the_environment_is_reached) {
  in_environment(here(), [](over_environment& env) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    listener server = tcp_listener(executor, "127.0.0.1", 0);
    byte_stream stream = co_await env.network().connect(server.port());
    co_await write_text(stream, "question");
    co_await stream.shutdown_send();
    co_await echo_once(server);
    const std::string answer = co_await read_all(stream);
    EXPECT_EQ(answer, "question");
  });
}

TEST(GuestNetwork, a_program_in_the_environment_reaches_a_listener) {
  in_environment(here(), [](over_environment& env) -> awaitable<void> {
    listener open = co_await env.network().listen();
    EXPECT_NE(open.port(), 0);
    EXPECT_TRUE(open.is_loopback());
    const command line =
        shell("python3 -c \"import socket; s = socket.create_connection(('127.0.0.1', " + std::to_string(open.port()) +
              ")); s.sendall(b'from inside'); s.shutdown(1); print(s.recv(100))\"");
    process program = co_await env.start(line);
    co_await echo_once(open);
    const command_result result = co_await program.wait();
    EXPECT_EQ(result.out_text(), "b'from inside'\n") << result.err_text();
  });
}

TEST(GuestNetwork, much_goes_both_ways_at_once) {
  in_environment(here(), [](over_environment& env) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    listener server = tcp_listener(executor, "127.0.0.1", 0);
    byte_stream stream = co_await env.network().connect(server.port());
    byte_stream inside = co_await server.accept();
    std::string content;
    for (std::size_t i = 0; i < (std::size_t{8} << 20); ++i) content += static_cast<char>('a' + i % 23 + (i >> 16) % 3);
    const auto sends = [&content](byte_stream& to) -> awaitable<void> {
      co_await write_text(to, content);
      co_await to.shutdown_send();
    };
    using namespace asio::experimental::awaitable_operators;
    auto both = (sends(stream) && read_all(stream) && sends(inside) && read_all(inside));
    const auto [out, in] = co_await std::move(both);
    EXPECT_TRUE(out == content);
    EXPECT_TRUE(in == content);
  });
}

TEST(GuestNetwork, a_port_without_a_server_is_an_error) {
  in_environment(here(), [](over_environment& env) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::uint16_t port = 0;
    {
      const listener closed = tcp_listener(executor, "127.0.0.1", 0);
      port = closed.port();
    }
    const guest_network network = env.network();
    const error refused = co_await failure_of([&]() -> awaitable<void> { co_await network.connect(port); });
    EXPECT_EQ(refused.code(), exec_errc::io_error) << refused.what();
    EXPECT_EQ(refused.cause(), std::errc::connection_refused) << refused.what();
    const error none = co_await failure_of([&]() -> awaitable<void> { co_await network.connect(0); });
    EXPECT_EQ(none.code(), exec_errc::invalid_argument) << none.what();
    const listener taken = tcp_listener(executor, "127.0.0.1", 0);
    const error in_use = co_await failure_of([&]() -> awaitable<void> { co_await network.listen(taken.port()); });
    EXPECT_EQ(in_use.cause(), std::errc::address_in_use) << in_use.what();
  });
}

TEST(GuestNetwork, after_close_everything_fails) {
  guest_network network;
  std::optional<byte_stream> stream;
  std::optional<listener> open;
  run([&]() -> awaitable<void> {
    co_await with(here(), [&](over_environment& env) -> awaitable<void> {
      network = env.network();
      open.emplace(co_await network.listen());
      stream.emplace(co_await network.connect(open->port()));
      byte_stream accepted = co_await open->accept();
      co_await write_text(*stream, "x");
    });
    const error late = co_await failure_of([&]() -> awaitable<void> { co_await network.connect(1); });
    EXPECT_EQ(late.code(), exec_errc::environment_closed) << late.what();
    const error reading = co_await failure_of([&]() -> awaitable<void> { co_await read_all(*stream); });
    EXPECT_EQ(reading.code(), exec_errc::environment_closed) << reading.what();
    const error writing = co_await failure_of([&]() -> awaitable<void> { co_await write_text(*stream, "x"); });
    EXPECT_EQ(writing.code(), exec_errc::environment_closed) << writing.what();
    const error accepting = co_await failure_of([&]() -> awaitable<void> { co_await open->accept(); });
    EXPECT_EQ(accepting.code(), exec_errc::environment_closed) << accepting.what();
  });
  stream.reset();
  open.reset();
  const guest_network none;
  run([&]() -> awaitable<void> {
    const error empty = co_await failure_of([&]() -> awaitable<void> { co_await none.connect(1); });
    EXPECT_EQ(empty.code(), exec_errc::environment_closed);
  });
}

TEST(GuestNetwork, waits_can_be_cancelled) {
  in_environment(here(), [](over_environment& env) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    using namespace asio::experimental::awaitable_operators;
    listener open = co_await env.network().listen();
    byte_stream stream = co_await env.network().connect(open.port());
    byte_stream accepted = co_await open.accept();
    asio::steady_timer timer(executor, 50ms);
    const auto accepts = [&]() -> awaitable<void> { co_await open.accept(); };
    const auto reads = [&]() -> awaitable<void> { co_await read_all(stream); };
    const auto fills = [&]() -> awaitable<void> {
      co_await write_text(stream, std::string(std::size_t{64} << 20, 'x'));
    };
    for (const std::function<awaitable<void>()>& waits :
         {std::function<awaitable<void>()>(accepts), {reads}, {fills}}) {
      timer.expires_after(50ms);
      const auto ended = co_await (waits() || timer.async_wait(asio::use_awaitable));
      EXPECT_EQ(ended.index(), 1U);
    }
    co_await write_text(accepted, "still open");
    accepted.close();
    std::array<std::byte, 100> piece{};
    const std::size_t count = co_await stream.read_some(piece);
    EXPECT_EQ(as_text(bytes_view(piece).first(count)), "still open");
  });
}

TEST(GuestNetwork, a_stream_that_is_dropped_closes_the_connection) {
  in_environment(here(), [](over_environment& env) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    listener server = tcp_listener(executor, "127.0.0.1", 0);
    {
      byte_stream stream = co_await env.network().connect(server.port());
      co_await write_text(stream, "x");
    }
    byte_stream inside = co_await server.accept();
    std::string text;
    try {
      text = co_await read_all(inside);
    } catch (const error&) {  // a reset
      text = "x";
    }
    EXPECT_EQ(text, "x");
  });
}

TEST(GuestNetwork, streams_work_on_the_threads_of_a_pool) {
  asio::thread_pool pool(4);
  const auto many = []() -> awaitable<std::size_t> {
    const auto body = [](over_environment& env) -> awaitable<std::size_t> {
      const guest_network network = env.network();
      listener open = co_await network.listen();
      std::size_t sum = 0;
      for (int i = 0; i < 50; ++i) {
        byte_stream stream = co_await network.connect(open.port());
        byte_stream accepted = co_await open.accept();
        co_await write_text(stream, std::string(1000, 'x'));
        co_await stream.shutdown_send();
        const std::string text = co_await read_all(accepted);
        sum += text.size();
      }
      co_return sum;
    };
    const std::size_t sum = co_await with(here(), body);
    co_return sum;
  };
  std::vector<std::future<std::size_t>> sums;
  for (int i = 0; i < 4; ++i) sums.push_back(asio::co_spawn(pool, many(), asio::use_future));
  for (std::future<std::size_t>& sum : sums) EXPECT_EQ(sum.get(), 50'000U);
  pool.join();
}

TEST(GuestNetwork, an_environment_of_unknown_type_knows_whether_it_has_one) {
  run([]() -> awaitable<void> {
    const auto asks = [](any_environment& env) -> awaitable<void> {
      EXPECT_FALSE(env.can_tunnel());
      const error failure = co_await failure_of([&]() -> awaitable<void> { co_await env.network().connect(1); });
      EXPECT_EQ(failure.code(), exec_errc::unsupported) << failure.what();
    };
    const any_provider by_hand = local().without_warning();
    co_await with(by_hand, asks);
    const auto uses = [](any_environment& env) -> awaitable<void> {
      EXPECT_TRUE(env.can_tunnel());
      listener open = co_await env.network().listen();
      EXPECT_NE(open.port(), 0);
    };
    const any_provider behind = here() | timeout(10s);
    co_await with(behind, uses);
  });
}

class GuestNetworkJail : public cofferdam_test::jail_fixture {};

TEST_F(GuestNetworkJail, a_server_in_a_jail_without_a_network_is_reached) {
  in_environment(recipe(), [](jail_environment& env) -> awaitable<void> {
    const std::uint32_t others = co_await env.network().other_interfaces();
    EXPECT_EQ(others, 0U);
    const command serves = shell("echo hello > index.html; exec python3 -m http.server 8123 >/dev/null 2>&1");
    process server = co_await env.start(serves);
    byte_stream stream;
    for (int attempt = 0; !stream && attempt < 100; ++attempt) {
      const error failure =
          co_await failure_of([&]() -> awaitable<void> { stream = co_await env.network().connect(8123); });
      if (stream) break;
      const command pause = shell("sleep 0.05");
      co_await env.run_command(pause);
    }
    co_await write_text(stream, "GET / HTTP/1.0\r\n\r\n");
    const std::string answer = co_await read_all(stream);
    EXPECT_NE(answer.find("\r\n\r\nhello\n"), std::string::npos) << answer;
  });
}

TEST_F(GuestNetworkJail, other_interfaces_are_counted) {
  in_environment(recipe().network(network_policy::host), [](jail_environment& env) -> awaitable<void> {
    const command list = shell("ls /sys/class/net 2>/dev/null || cut -d: -f1 /proc/net/dev | tail -n +3");
    const command_result names = co_await env.run_command(list);
    const std::uint32_t others = co_await env.network().other_interfaces();
    const bool has_more = names.out_text().find("eth") != std::string_view::npos;
    EXPECT_EQ(others != 0, has_more) << names.out_text();
  });
}

TEST_F(GuestNetworkJail, programs_find_the_proxy_and_no_layer_sees_its_variables) {
  in_environment(recipe() | allow_commands("printenv .*", "cat /tmp/.*"), [](auto& env) -> awaitable<void> {
    listener open = co_await env.network().listen();
    co_await env.network().use_proxy(open.port(), "-----BEGIN CERTIFICATE-----\n");
    const std::string url = "http://127.0.0.1:" + std::to_string(open.port());
    for (const std::string name : {"HTTP_PROXY", "https_proxy", "ALL_PROXY"}) {
      const command prints = shell("printenv " + name);
      const command_result result = co_await env.run_command(prints);
      EXPECT_EQ(result.out_text(), url + "\n") << name;
    }
    const command labelled = shell("printenv HTTP_PROXY all_proxy GIT_HTTP_PROXY_AUTHMETHOD").label("job-7");
    const command_result with_label = co_await env.run_command(labelled);
    const std::string named = "http://job-7:x@127.0.0.1:" + std::to_string(open.port());
    EXPECT_EQ(with_label.out_text(), named + "\n" + named + "\nbasic\n");
    const command names = shell("printenv SSL_CERT_FILE GIT_SSL_CAINFO PIP_CERT");
    const command_result result = co_await env.run_command(names);
    const std::string file(result.out_text().substr(0, result.out_text().find('\n')));
    EXPECT_EQ(result.out_text(), file + "\n" + file + "\n" + file + "\n");
    const command prints = argv("cat", file);
    const command_result bundle = co_await env.run_command(prints);
    EXPECT_TRUE(bundle.out_text().ends_with("-----BEGIN CERTIFICATE-----\n")) << bundle.err_text();
  });
}

}  // namespace
