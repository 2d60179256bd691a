// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/deadline_timer.hpp>
#include <cofferdam/detail/net/websocket_frame.hpp>
#include <cofferdam/detail/net/websocket_settings.hpp>
#include <cofferdam/net/net_error.hpp>

#include <asio/any_io_executor.hpp>

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The connection behind a `websocket`. The helper coroutine `keep` shares it.
class websocket_state : public std::enable_shared_from_this<websocket_state> {
 public:
  using clock = std::chrono::steady_clock;

  websocket_state(const asio::any_io_executor& executor, byte_stream stream, std::string protocol,
                  const websocket_settings& settings)
      : executor_(executor),
        settings_(settings),
        stream_(std::move(stream)),
        protocol_(std::move(protocol)),
        reader_(settings.max_message()),
        received_(buffer_size),
        writing_(executor, 1),
        wake_(executor),
        changed_(executor),
        heard_(clock::now()) {}

  const std::string& protocol() const noexcept { return protocol_; }
  const websocket_reader& reader() const noexcept { return reader_; }

  /// Starts the helper coroutine. `finish` joins it.
  void start() {
    keeping_ = true;
    const std::shared_ptr<websocket_state> self = shared_from_this();
    auto ended = [self](const std::exception_ptr& failure) {
      self->keeping_ = false;
      if (failure) self->fail_by(failure);
      self->changed_.notify();
    };
    spawn_coroutine(executor_, keep(self), std::move(ended));
  }

  /// Closes the connection without waiting.
  void abandon() noexcept {
    stopping_ = true;
    stream_.close();
    wake_.notify();
    changed_.notify();
  }

  awaitable<websocket_piece> read() {
    if (reading_) throw error(exec_errc::invalid_argument, settings_.peer() + ": another read is under way");
    const reading_mark mark(*this);
    for (;;) {
      if (failure_) throw *failure_;
      if (closing_ && stopping_) throw closed_here();
      const websocket_step step = next();
      switch (step.event) {
        case websocket_event::data: {
          websocket_piece piece;
          piece.data = step.data;
          piece.begins = step.begins;
          piece.ends = step.ends;
          piece.is_text = step.is_text;
          co_return piece;
        }
        case websocket_event::ping:
          // Only the newest ping needs an answer (RFC 6455, 5.5.3). The helper coroutine writes it, because a read that
          // waits for a write could wait for ever: the peer may read only after this side has read.
          pong_ = bytes(step.data.begin(), step.data.end());
          wake_.notify();
          break;
        case websocket_event::pong: break;
        case websocket_event::closed: {
          if (!answered_) {
            answered_ = true;
            goodbye_ = reader_.close_code();
            wake_.notify();
          }
          websocket_piece end;
          end.closed = true;
          co_return end;
        }
        case websocket_event::need_more: co_await receive(); break;
      }
    }
  }

  awaitable<void> write(websocket_opcode opcode, bytes_view first, bytes_view rest) {
    require_open();
    co_await writing_.acquire(1, "writing to a WebSocket");
    const held_permits turn(writing_, 1);
    require_open();
    co_await send(opcode, first, rest);
  }

  awaitable<void> finish(std::uint16_t code) {
    if (finished_) co_return;
    finished_ = true;
    deadline_timer limit(executor_, [this] { stream_.close(); });
    limit.arm(settings_.close_limit());
    const auto part = [this, code] { return say_goodbye(code); };
    const auto end = [this, &limit] { return join(limit); };
    co_await with_cleanup(part, end);
  }

 private:
  static constexpr std::size_t buffer_size = std::size_t{64} * 1024;

  /// Marks the time in which a read is under way.
  class reading_mark {
   public:
    explicit reading_mark(websocket_state& of) noexcept : of_(of) { of_.reading_ = true; }
    reading_mark(const reading_mark&) = delete;
    reading_mark& operator=(const reading_mark&) = delete;
    ~reading_mark() {
      of_.reading_ = false;
      of_.waiting_since_.reset();
      of_.changed_.notify();
    }

   private:
    websocket_state& of_;
  };

  error closed_here() const {
    return error(exec_errc::environment_closed, settings_.peer() + ": the WebSocket was closed by this side");
  }
  error closed_there() const {
    return error(exec_errc::io_error,
                 settings_.peer() + ": the peer has closed the WebSocket: " + std::to_string(reader_.close_code()) +
                     " " + one_line(reader_.close_reason()),
                 net_errc::connection_lost);
  }
  void require_open() const {
    if (failure_) throw *failure_;
    if (closing_) throw closed_here();
    if (answered_) throw closed_there();
  }

  /// Ends the connection because of an error. The first error is kept.
  void fail(const error& reason) {
    if (!failure_) failure_ = reason;
    stream_.close();
    wake_.notify();
    changed_.notify();
  }
  void fail_by(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      fail(reason);
    } catch (const std::exception& reason) {
      fail(error(exec_errc::io_error, settings_.peer() + ": " + reason.what()));
    }
  }

  /// Parses received bytes. If they violate the protocol, the peer gets a close frame before the connection closes.
  websocket_step next() {
    try {
      const websocket_step step = reader_.parse(bytes_view(received_).subspan(begin_, end_ - begin_));
      begin_ += step.consumed;
      return step;
    } catch (const error& reason) {
      failure_ =
          error(static_cast<exec_errc>(reason.code().value()), settings_.peer() + ": " + reason.what(), reason.cause());
      goodbye_ = reason.code() == exec_errc::too_large ? websocket_code::too_large : websocket_code::protocol_error;
      answered_ = true;
      wake_.notify();
      throw *failure_;
    }
  }

  awaitable<void> receive() {
    begin_ = end_ = 0;
    waiting_since_ = clock::now();
    std::size_t count = 0;
    try {
      const std::size_t got = co_await stream_.read_some(received_);
      count = got;
    } catch (const error& reason) {
      if (failure_) throw *failure_;
      if (stopping_) throw closed_here();
      if (reason.code() != exec_errc::cancelled) fail(reason);
      throw;
    }
    waiting_since_.reset();
    heard_ = clock::now();
    end_ = count;
    if (count != 0) co_return;
    if (stopping_) throw closed_here();
    const net_errc cause = reader_.inside_message() ? net_errc::truncated : net_errc::connection_lost;
    fail(error(exec_errc::io_error, settings_.peer() + ": the connection ended without a close frame", cause));
    throw *failure_;
  }

  websocket_key new_key() {
    if (keys_used_ == keys_.size()) {
      if (RAND_bytes(keys_.data(), static_cast<int>(keys_.size())) != 1)
        throw error(exec_errc::io_error, "OpenSSL provides no random numbers");
      keys_used_ = 0;
    }
    websocket_key key{};
    std::memcpy(key.data(), keys_.data() + keys_used_, key.size());
    keys_used_ += key.size();
    return key;
  }

  /// Moves the beginning of a part of the payload to `out_`, as far as there is room.
  void take_payload(bytes_view& part, const websocket_key& key, std::uint64_t& done) {
    const bytes_view piece = part.first(std::min(part.size(), buffer_size - std::min(buffer_size, out_.size())));
    append_websocket_payload(out_, key, done, piece);
    done += piece.size();
    part = part.subspan(piece.size());
  }

  /// Writes one frame. The caller holds the permit of `writing_`.
  awaitable<void> send(websocket_opcode opcode, bytes_view first, bytes_view rest) {
    const websocket_key key = new_key();
    out_.clear();
    append_websocket_head(out_, opcode, true, key, std::uint64_t{first.size()} + rest.size());
    std::uint64_t done = 0;
    bool whole = false;
    while (!whole) {
      take_payload(first, key, done);
      take_payload(rest, key, done);
      whole = first.empty() && rest.empty();
      try {
        co_await stream_.write(out_);
      } catch (const error& reason) {
        if (failure_) throw *failure_;
        if (stopping_) throw closed_here();
        if (reason.code() == exec_errc::cancelled) {
          fail(error(exec_errc::io_error, settings_.peer() + ": closed, because a write was cancelled inside a message",
                     net_errc::connection_lost));
        } else {
          fail(reason);
        }
        throw;
      }
      out_.clear();
    }
  }

  /// Returns the time at which the heartbeat has something to do.
  clock::time_point due() const {
    if (!settings_.heartbeat() || answered_ || failure_) return async_event::never;
    return std::max(heard_, pinged_.value_or(heard_)) + *settings_.heartbeat();
  }

  /// Answers pings and close frames, and sends the heartbeat.
  static awaitable<void> keep(std::shared_ptr<websocket_state> self) {
    for (;;) {
      if (self->stopping_) co_return;
      if (self->goodbye_) {
        co_await self->answer_goodbye();
        continue;
      }
      if (self->failure_) co_return;
      if (self->pong_ && !self->answered_) {
        const bytes payload = *std::exchange(self->pong_, std::nullopt);
        co_await self->control(websocket_opcode::pong, payload);
        continue;
      }
      const clock::time_point now = clock::now();
      if (now >= self->due()) {
        if (self->is_lost(now))
          throw error(exec_errc::io_error,
                      self->settings_.peer() + ": nothing arrived for " + self->heartbeat_text() + " after a ping",
                      net_errc::timed_out);
        self->pinged_ = now;
        co_await self->control(websocket_opcode::ping, bytes_view());
        continue;
      }
      const wait_result result = co_await self->wake_.wait(self->due());
      if (result == wait_result::cancelled) co_return;
    }
  }

  /// Returns true if a ping got no answer, although a read was waiting for the whole interval.
  bool is_lost(clock::time_point now) const {
    if (!pinged_ || heard_ >= *pinged_ || !waiting_since_) return false;
    return now - std::max(*pinged_, *waiting_since_) >= *settings_.heartbeat();
  }
  std::string heartbeat_text() const { return std::to_string(settings_.heartbeat()->count()) + " ms"; }

  awaitable<void> control(websocket_opcode opcode, bytes_view payload) {
    co_await writing_.acquire(1, "writing to a WebSocket");
    const held_permits turn(writing_, 1);
    if (failure_ || stopping_ || answered_) co_return;
    co_await send(opcode, payload, bytes_view());
  }

  /// Sends the close frame in `goodbye_`. After a violation of the protocol, closes the connection.
  awaitable<void> answer_goodbye() {
    const std::uint16_t code = *std::exchange(goodbye_, std::nullopt);
    if (failure_) {
      // The permit may be held by a write that waits for the peer, so the frame is sent only if nothing is in its way.
      if (writing_.try_acquire(1)) {
        const held_permits turn(writing_, 1);
        co_await send_close(code);
      }
      stream_.close();
      co_return;
    }
    co_await writing_.acquire(1, "writing to a WebSocket");
    const held_permits turn(writing_, 1);
    if (!failure_ && !stopping_) co_await send_close(code);
  }

  awaitable<void> send_close(std::uint16_t code) {
    if (std::exchange(close_sent_, true)) co_return;
    const std::array<std::byte, 2> payload{static_cast<std::byte>(code >> 8U), static_cast<std::byte>(code & 0xFFU)};
    const std::size_t size = code == websocket_code::absent ? 0 : payload.size();
    const bytes_view sent = bytes_view(payload).first(size);
    co_await send(websocket_opcode::close, sent, bytes_view());
  }

  /// The orderly part of `finish`.
  awaitable<void> say_goodbye(std::uint16_t code) {
    closing_ = true;
    try {
      if (goodbye_) co_await answer_goodbye();
      if (failure_) co_return;
      co_await writing_.acquire(1, "closing a WebSocket");
      held_permits turn(writing_, 1);
      if (!failure_) co_await send_close(code);
      turn.release();
      while (!failure_ && !reader_.closed()) {
        if (reading_) {
          const wait_result result = co_await changed_.wait();
          if (result == wait_result::cancelled) co_return;
        } else {
          co_await read();
        }
      }
    } catch (const error&) {  // the peer is gone, or too slow; `join` closes the connection in any case
    }
  }

  awaitable<void> join(deadline_timer& limit) {
    limit.stop();
    abandon();
    while (keeping_) co_await changed_.wait();
  }

  asio::any_io_executor executor_;
  websocket_settings settings_;
  byte_stream stream_;
  std::string protocol_;
  websocket_reader reader_;
  bytes received_;
  std::size_t begin_ = 0;  // the bytes of `received_` from begin_ to end_ were not parsed yet
  std::size_t end_ = 0;
  bytes out_;
  std::array<unsigned char, 256> keys_{};
  std::size_t keys_used_ = keys_.size();
  async_semaphore writing_;
  async_event wake_;     // for the helper coroutine
  async_event changed_;  // for `finish`
  std::optional<error> failure_;
  std::optional<bytes> pong_;
  std::optional<std::uint16_t> goodbye_;
  clock::time_point heard_;
  std::optional<clock::time_point> pinged_;
  std::optional<clock::time_point> waiting_since_;
  bool keeping_ = false;
  bool reading_ = false;
  bool answered_ = false;  // a close frame of the peer, or a violation, is being answered: nothing else is sent
  bool close_sent_ = false;
  bool closing_ = false;
  bool stopping_ = false;
  bool finished_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
