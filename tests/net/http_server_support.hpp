// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/listener.hpp>

#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam_test {

inline cofferdam::awaitable<void> pause(std::chrono::milliseconds time) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

/// Polls `what` until it returns true. Returns false if it is still false after 20 s.
inline cofferdam::awaitable<bool> comes_about(std::function<bool()> what) {
  for (int i = 0; i < 4000; ++i) {
    if (what()) co_return true;
    co_await pause(std::chrono::milliseconds(5));
  }
  co_return false;
}

/// A client that sends bytes exactly as the test gives them, so that it can send invalid requests.
class raw_client {
 public:
  explicit raw_client(cofferdam::byte_stream stream) : stream_(std::move(stream)) {}

  static cofferdam::awaitable<raw_client> connect(cofferdam::detail::connector target) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    cofferdam::byte_stream stream = co_await target.connect(executor, std::chrono::seconds(20));
    co_return raw_client(std::move(stream));
  }

  cofferdam::awaitable<void> say(std::string text) { co_await stream_.write(cofferdam::as_bytes(text)); }
  cofferdam::awaitable<void> end() { return stream_.shutdown_send(); }
  void close() { stream_.close(); }
  /// Reads until the stream ends, and returns all bytes. A reset of the connection counts as an end.
  cofferdam::awaitable<std::string> rest() {
    std::array<std::byte, 4096> room;
    try {
      for (;;) {
        const std::size_t count = co_await stream_.read_some(room);
        if (count == 0) break;
        heard_ += cofferdam::as_text(cofferdam::bytes_view(room).first(count));
      }
    } catch (const cofferdam::error&) {
      reset_ = true;
    }
    co_return std::exchange(heard_, std::string());
  }
  /// Reads until `mark` has arrived, and returns the bytes up to and including it. Later bytes stay for the next call.
  cofferdam::awaitable<std::string> hear(std::string mark) {
    std::array<std::byte, 4096> room;
    while (heard_.find(mark) == std::string::npos) {
      const std::size_t count = co_await stream_.read_some(room);
      if (count == 0) throw std::runtime_error("the server ended after: " + heard_);
      heard_ += cofferdam::as_text(cofferdam::bytes_view(room).first(count));
    }
    const std::size_t end = heard_.find(mark) + mark.size();
    std::string text = heard_.substr(0, end);
    heard_.erase(0, end);
    co_return text;
  }
  bool was_reset() const { return reset_; }

 private:
  cofferdam::byte_stream stream_;
  std::string heard_;
  bool reset_ = false;
};

/// A server on a free port of the loopback interface, with counters of what happened to its handlers.
class site {
 public:
  using handler = cofferdam::detail::http_server::handler;

  std::uint16_t port = 0;
  int started = 0;
  int ended = 0;
  int cancelled = 0;
  std::vector<std::string> errors;

  cofferdam::detail::connector there() const { return cofferdam::detail::tcp_connector("127.0.0.1", port); }

  /// Runs `body(server)` while the server runs. Then stops the server and waits for its end.
  cofferdam::awaitable<void> open(handler each, cofferdam::http_server_settings settings,
                                  std::function<cofferdam::awaitable<void>(cofferdam::detail::http_server&)> body) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    settings.on_error(
        [this](const cofferdam::http_request_head& head, const std::exception_ptr& failure) { note(head, failure); });
    cofferdam::detail::http_server server(executor, std::move(each), settings);
    cofferdam::listener where = cofferdam::tcp_listener(executor, "127.0.0.1", 0);
    port = where.port();
    server.listen(std::move(where));
    bool has_ended = false;
    std::exception_ptr failure;
    const auto done = [&](std::exception_ptr reason) {
      failure = std::move(reason);
      has_ended = true;
    };
    cofferdam_test::spawn(executor, server.run(), done);
    std::exception_ptr broke;
    try {
      co_await body(server);
    } catch (...) {
      broke = std::current_exception();
    }
    co_await server.stop();
    EXPECT_EQ(server.connections(), 0U);
    const std::function<bool()> is_over = [&] { return has_ended; };
    const bool over = co_await comes_about(is_over);
    EXPECT_TRUE(over);
    if (failure) std::rethrow_exception(failure);
    if (broke) std::rethrow_exception(broke);
  }

  /// Serves the pages that most tests use.
  cofferdam::awaitable<void> serve(cofferdam::http_call& call) {
    ++started;
    const ending mine(&ended);
    const std::string path(call.path());
    if (path == "/hello") {
      co_await call.reply(cofferdam::http_reply(200).content("text/plain", "hello"));
    } else if (path == "/echo") {
      const cofferdam::bytes body = co_await call.read_all();
      cofferdam::http_reply answer(200);
      answer.body(body);
      for (const cofferdam::http_field& field : call.trailers()) answer.field("X-" + field.name(), field.value());
      co_await call.reply(std::move(answer));
    } else if (path == "/stream") {
      co_await call.begin(cofferdam::http_reply(200).field("Content-Type", "text/plain"));
      co_await call.write("one,");
      co_await call.write("two,");
      co_await call.write("three");
    } else if (path == "/sized") {
      co_await call.begin(cofferdam::http_reply(200), 8);
      co_await call.write("one,");
      co_await call.write("two,");
    } else if (path == "/short") {
      co_await call.begin(cofferdam::http_reply(200), 8);
      co_await call.write("one,");
    } else if (path == "/wait" || path == "/silent") {
      if (path == "/wait") {
        co_await call.begin(cofferdam::http_reply(200));
        co_await call.write("begun");
      }
      co_await wait_for_ever();
    } else if (path == "/torn") {
      co_await call.begin(cofferdam::http_reply(200));
      co_await call.write("half");
      throw std::runtime_error("the secret reason");
    } else if (path == "/throw") {
      throw std::runtime_error("the secret reason");
    } else if (path == "/nothing") {
      co_return;
    } else if (path == "/target") {
      co_await call.reply(cofferdam::http_reply(200).content("text/plain", call.head().target));
    } else {
      co_await call.reply(cofferdam::http_reply(404));
    }
  }

  cofferdam::awaitable<void> wait_for_ever() {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, std::chrono::steady_clock::time_point::max());
    std::error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    ++cancelled;
    throw std::system_error(woken);
  }

  handler pages() {
    return [this](cofferdam::http_call& call) { return serve(call); };
  }

 private:
  class ending {
   public:
    explicit ending(int* counted) : counted_(counted) {}
    ending(const ending&) = delete;
    ending& operator=(const ending&) = delete;
    ~ending() { ++*counted_; }

   private:
    int* counted_;
  };
  void note(const cofferdam::http_request_head& head, const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& reason) {
      errors.push_back(head.method + " " + head.target + ": " + reason.what());
    }
  }
};

}  // namespace cofferdam_test
