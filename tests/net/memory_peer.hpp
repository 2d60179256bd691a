// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/detail/stream_errors.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// The scripted behaviour of a peer on one connection. The peer sends each reply after it has received an expected
/// text. After the last reply it keeps the connection open, closes it or resets it.
class conversation {
 public:
  enum class ending { stay, close, reset };

  /// Adds a turn: the peer sends `reply` as soon as the input since its last reply contains `heard`.
  conversation& on(std::string heard, std::string reply) & {
    turns.push_back({std::move(heard), std::move(reply), nullptr});
    return *this;
  }
  conversation&& on(std::string heard, std::string reply) && {
    return std::move(on(std::move(heard), std::move(reply)));
  }
  /// Adds a turn whose reply depends on the input since the last reply.
  conversation& on(std::string heard, std::function<std::string(const std::string&)> reply) & {
    turns.push_back({std::move(heard), "", std::move(reply)});
    return *this;
  }
  conversation&& then(ending how) && {
    last = how;
    return std::move(*this);
  }
  /// Limits the bytes that the peer accepts to `limit`. A further write fails with EPIPE if `fails` is true, and
  /// otherwise waits.
  conversation&& takes(std::size_t limit, bool fails) && {
    room = limit;
    writes_fail = fails;
    return std::move(*this);
  }
  /// Makes the connection look alive after its end, as if the end had not arrived yet.
  conversation&& secretly() && {
    secret = true;
    return std::move(*this);
  }

  struct turn {
    std::string heard;
    std::string reply;
    std::function<std::string(const std::string&)> make;  // makes the reply, unless empty
  };
  std::vector<turn> turns;
  ending last = ending::stay;
  std::size_t room = std::numeric_limits<std::size_t>::max();
  bool writes_fail = false;
  bool secret = false;
};

/// A scripted peer in memory. It uses no threads and no sockets, so each run of a test takes the same steps.
class memory_peer {
 public:
  /// The plans of the connections, in order. Connections beyond the last plan are refused.
  std::vector<conversation> plans;
  /// The largest number of bytes that one read returns.
  std::size_t piece = std::numeric_limits<std::size_t>::max();
  /// The bytes that the peer has received on each connection.
  std::vector<std::string> received;
  /// For each connection, true if the client has closed its sending direction.
  std::vector<bool> half_closed;
  /// The number of streams that are not closed yet.
  int open = 0;

  cofferdam::detail::connector connector() { return {"the scripted peer", "peer.test", recipe(this)}; }

 private:
  class stream final : public cofferdam::byte_stream::implementation {
   public:
    stream(memory_peer* peer, const asio::any_io_executor& executor, std::size_t index)
        : peer_(peer),
          plan_(peer->plans[index]),
          index_(index),
          executor_(executor),
          readable_(executor, std::chrono::steady_clock::time_point::max()),
          writable_(executor, std::chrono::steady_clock::time_point::max()) {
      ++peer_->open;
      advance();
    }
    ~stream() override { stream::close(); }

    cofferdam::awaitable<std::size_t> read_some(std::span<std::byte> into) override {
      co_await asio::post(executor_, asio::use_awaitable);
      while (!closed_ && said_.empty() && !is_over()) {
        std::error_code failure;
        co_await readable_.async_wait(asio::redirect_error(asio::use_awaitable, failure));
        const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) throw lost("reading", failure);
      }
      if (closed_) throw lost("reading", asio::error::operation_aborted);
      const std::size_t count = std::min({into.size(), said_.size(), peer_->piece});
      if (count != 0) {
        std::memcpy(into.data(), said_.data(), count);
        said_.erase(0, count);
        co_return count;
      }
      if (plan_.last == conversation::ending::reset) throw lost("reading", asio::error::connection_reset);
      co_return 0;
    }

    cofferdam::awaitable<void> write(cofferdam::bytes_view data) override {
      co_await asio::post(executor_, asio::use_awaitable);
      while (!closed_ && !plan_.writes_fail && peer_->received[index_].size() + data.size() > plan_.room) {
        std::error_code failure;
        co_await writable_.async_wait(asio::redirect_error(asio::use_awaitable, failure));
        const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) throw lost("writing", failure);
      }
      if (closed_) throw lost("writing", asio::error::operation_aborted);
      if (peer_->received[index_].size() + data.size() > plan_.room) throw lost("writing", asio::error::broken_pipe);
      peer_->received[index_] += cofferdam::as_text(data);
      heard_ += cofferdam::as_text(data);
      advance();
    }

    cofferdam::awaitable<void> shutdown_send() override {
      peer_->half_closed[index_] = true;
      heard_ += "<end>";
      advance();
      co_return;
    }

    void close() noexcept override {
      if (std::exchange(closed_, true)) return;
      --peer_->open;
      readable_.cancel();
      writable_.cancel();
    }

    bool is_quiet() noexcept override {
      if (closed_) return false;
      return plan_.secret || (said_.empty() && !is_over());
    }

   private:
    bool is_over() const { return turn_ == plan_.turns.size() && plan_.last != conversation::ending::stay; }
    void advance() {
      while (turn_ < plan_.turns.size() && heard_.find(plan_.turns[turn_].heard) != std::string::npos) {
        const conversation::turn& turn = plan_.turns[turn_++];
        said_ += turn.make ? turn.make(heard_) : turn.reply;
        heard_.clear();
      }
      readable_.cancel();
    }
    cofferdam::error lost(const char* doing, std::error_code cause) const {
      return cofferdam::detail::stream_error("the scripted peer", doing, cause, closed_);
    }

    memory_peer* peer_;
    conversation plan_;
    std::size_t index_;
    asio::any_io_executor executor_;
    asio::steady_timer readable_;
    asio::steady_timer writable_;
    std::string heard_;
    std::string said_;
    std::size_t turn_ = 0;
    bool closed_ = false;
  };

  class recipe {
   public:
    explicit recipe(memory_peer* peer) : peer_(peer) {}
    cofferdam::awaitable<cofferdam::byte_stream> operator()(asio::any_io_executor executor,
                                                            std::chrono::milliseconds) const {
      return connect(peer_, std::move(executor));
    }

   private:
    static cofferdam::awaitable<cofferdam::byte_stream> connect(memory_peer* peer, asio::any_io_executor executor) {
      co_await asio::post(executor, asio::use_awaitable);
      const std::size_t index = peer->received.size();
      if (index == peer->plans.size())
        throw cofferdam::error(cofferdam::exec_errc::io_error, "the scripted peer takes no more connections",
                               asio::error::connection_refused);
      peer->received.emplace_back();
      peer->half_closed.push_back(false);
      co_return cofferdam::byte_stream(std::make_unique<stream>(peer, executor, index));
    }
    memory_peer* peer_;
  };
};

}  // namespace cofferdam_test
