// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// A server and a client that are connected by a stream in memory, and functions for the client's messages.

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/serve/mcp_server.hpp>

#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// One direction of a stream in memory. Holds at most `capacity` unread bytes.
class memory_pipe {
 public:
  explicit memory_pipe(const asio::any_io_executor& executor, std::size_t limit = std::size_t{1} << 20U)
      : changed(executor, std::chrono::steady_clock::time_point::max()), capacity(limit) {}
  asio::steady_timer changed;
  std::size_t capacity;
  std::string data;
  bool ended = false;

  cofferdam::awaitable<void> change() {
    std::error_code woken;
    co_await changed.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  void end() {
    ended = true;
    changed.cancel();
  }
};

/// One end of a connection in memory: reads from one pipe, and writes to the other.
class memory_stream final : public cofferdam::byte_stream::implementation {
 public:
  memory_stream(std::shared_ptr<memory_pipe> in, std::shared_ptr<memory_pipe> out)
      : in_(std::move(in)), out_(std::move(out)) {}
  ~memory_stream() override { close(); }

  cofferdam::awaitable<std::size_t> read_some(std::span<std::byte> into) override {
    const std::shared_ptr<memory_pipe> from = in_;
    while (from->data.empty() && !from->ended) co_await from->change();
    const std::size_t count = std::min(into.size(), from->data.size());
    std::copy_n(reinterpret_cast<const std::byte*>(from->data.data()), count, into.begin());
    from->data.erase(0, count);
    from->changed.cancel();
    co_return count;
  }
  cofferdam::awaitable<void> write(cofferdam::bytes_view data) override {
    const std::shared_ptr<memory_pipe> to = out_;
    std::string_view text = cofferdam::as_text(data);
    while (!text.empty()) {
      while (to->data.size() >= to->capacity && !to->ended) co_await to->change();
      if (to->ended) throw cofferdam::error(cofferdam::exec_errc::io_error, "the other end is closed");
      const std::string_view part = text.substr(0, to->capacity - to->data.size());
      to->data += part;
      text.remove_prefix(part.size());
      to->changed.cancel();
    }
  }
  cofferdam::awaitable<void> shutdown_send() override {
    out_->end();
    co_return;
  }
  void close() noexcept override {
    in_->end();
    out_->end();
  }

 private:
  std::shared_ptr<memory_pipe> in_;
  std::shared_ptr<memory_pipe> out_;
};

/// Returns a member of a JSON object: a string as it is, and any other value as JSON. Returns "(none)" if the member is
/// absent.
inline std::string member(const boost::json::value& object, std::string_view name) {
  const boost::json::object* const inside = object.if_object();
  const boost::json::value* const found = inside == nullptr ? nullptr : inside->if_contains({name.data(), name.size()});
  if (found == nullptr) return "(none)";
  return found->is_string() ? std::string(found->get_string()) : boost::json::serialize(*found);
}
/// Returns the error code of a reply, such as "-32602". Returns "(none)" if the reply is a result.
inline std::string error_code_in(const boost::json::value& answer) {
  const boost::json::object* const inside = answer.if_object();
  if (inside == nullptr || !inside->contains("error")) return "(none)";
  return member(inside->at("error"), "code");
}
inline const boost::json::value& result_in(const boost::json::value& answer) {
  const boost::json::object* const inside = answer.if_object();
  if (inside == nullptr || !inside->contains("result"))
    throw std::runtime_error("no result: " + boost::json::serialize(answer));
  return inside->at("result");
}
/// Returns the first text in the result of a tool.
inline std::string text_said(const boost::json::value& answer) {
  return std::string(result_in(answer).at("content").at(0).at("text").as_string());
}

inline constexpr std::string_view modern_meta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})";

/// An MCP client that sends raw messages, so that a test can also send invalid ones.
class mcp_client {
 public:
  mcp_client(cofferdam::byte_stream stream, std::shared_ptr<memory_pipe> from, std::shared_ptr<memory_pipe> to)
      : stream_(std::move(stream)), from_(std::move(from)), to_(std::move(to)) {}

  cofferdam::awaitable<void> say(std::string line) {
    line += '\n';
    co_await stream_.write(cofferdam::as_bytes(line));
  }
  /// Sends a part of a message.
  cofferdam::awaitable<void> say_part(std::string part) { co_await stream_.write(cofferdam::as_bytes(part)); }
  /// Returns the next message.
  cofferdam::awaitable<boost::json::value> hear() {
    std::vector<std::byte> room(16 * 1024);
    for (;;) {
      const std::size_t end = heard_.find('\n');
      if (end != std::string::npos) {
        boost::json::value message = boost::json::parse(heard_.substr(0, end));
        heard_.erase(0, end + 1);
        co_return message;
      }
      const std::size_t count = co_await stream_.read_some(room);
      if (count == 0) throw std::runtime_error("the server ended");
      heard_ += cofferdam::as_text(cofferdam::bytes_view(room).first(count));
    }
  }
  /// Returns the reply to the request with this id. Messages that arrive before it go to `others`.
  cofferdam::awaitable<boost::json::value> hear_answer(std::string id) {
    for (;;) {
      boost::json::value message = co_await hear();
      if (member(message, "id") == id && !message.as_object().contains("method")) co_return message;
      others.push_back(std::move(message));
    }
  }
  /// Sends a request, and returns the reply.
  /// \param params  JSON, with its braces.
  cofferdam::awaitable<boost::json::value> ask(std::string method, std::string params = "{}") {
    const std::string id = std::to_string(++last_);
    co_await say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":)" + params + "}");
    boost::json::value answer = co_await hear_answer(id);
    co_return answer;
  }
  cofferdam::awaitable<boost::json::value> call(std::string name, std::string arguments = "{}",
                                                std::string meta = "{}") {
    boost::json::value answer = co_await ask(
        "tools/call", R"({"name":")" + name + R"(","arguments":)" + arguments + R"(,"_meta":)" + meta + "}");
    co_return answer;
  }
  cofferdam::awaitable<void> initialize(std::string version = "2025-11-25", std::string capabilities = "{}") {
    const boost::json::value answer =
        co_await ask("initialize", R"({"protocolVersion":")" + version + R"(","capabilities":)" + capabilities +
                                       R"(,"clientInfo":{"name":"test","version":"1"}})");
    if (!answer.as_object().contains("result")) throw std::runtime_error(boost::json::serialize(answer));
    co_await say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  }
  cofferdam::awaitable<void> leave() { return stream_.shutdown_send(); }
  void vanish() { stream_.close(); }
  /// Returns the number of unread bytes from the server.
  std::size_t unread() const { return from_->data.size(); }
  /// Returns the number of bytes that the server has not read.
  std::size_t unsaid() const { return to_->data.size(); }
  void room(std::size_t limit) { from_->capacity = limit; }

  std::vector<boost::json::value> others;

 private:
  cofferdam::byte_stream stream_;
  std::shared_ptr<memory_pipe> from_;
  std::shared_ptr<memory_pipe> to_;
  std::string heard_;
  int last_ = 1000;
};

inline cofferdam::awaitable<void> nap(std::chrono::milliseconds time) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}
/// Polls `what` until it returns true. Returns false if it is still false after 20 s.
inline cofferdam::awaitable<bool> comes_true(std::function<bool()> what) {
  for (int i = 0; i < 4000; ++i) {
    if (what()) co_return true;
    co_await nap(std::chrono::milliseconds(5));
  }
  co_return false;
}

using mcp_setup = std::function<std::unique_ptr<cofferdam::mcp::server>(const asio::any_io_executor&)>;
using mcp_body = std::function<cofferdam::awaitable<void>(mcp_client&)>;

/// Runs a server with several clients, each on its own stream. Returns when all of them have ended.
inline void run_with_mcp(const mcp_setup& make, const std::vector<mcp_body>& bodies) {
  const watchdog guard(std::chrono::seconds(120));
  asio::io_context context(1);
  const std::unique_ptr<cofferdam::mcp::server> server = make(context.get_executor());
  std::exception_ptr failure;
  std::size_t served = 0;
  std::list<mcp_client> clients;
  for (const mcp_body& body : bodies) {
    const auto to = std::make_shared<memory_pipe>(context.get_executor());
    const auto from = std::make_shared<memory_pipe>(context.get_executor());
    cofferdam_test::spawn(context, server->serve(cofferdam::byte_stream(std::make_unique<memory_stream>(to, from))),
                          [&](std::exception_ptr why) {
                            if (why && !failure) failure = why;
                            ++served;
                          });
    clients.emplace_back(cofferdam::byte_stream(std::make_unique<memory_stream>(from, to)), from, to);
    mcp_client& mine = clients.back();
    cofferdam_test::spawn(context, body(mine), [&](std::exception_ptr why) {
      if (why && !failure) failure = why;
      mine.vanish();
    });
  }
  context.run();
  EXPECT_EQ(served, bodies.size());
  clients.clear();
  if (failure) std::rethrow_exception(failure);
}
/// Runs a server with one client.
inline void run_with_mcp(const mcp_setup& make, const mcp_body& body) {
  run_with_mcp(make, std::vector<mcp_body>{body});
}

}  // namespace cofferdam_test
