// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/listener.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/home_strand.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_served_listener;
using served_listener = basic_served_listener<>;

/// Accepts the connections of a listener and serves each, until it is stopped. All work is done on one strand. The
/// object must be in a `shared_ptr`; its coroutines keep it alive.
template <class Unused>
class basic_served_listener : public std::enable_shared_from_this<basic_served_listener<Unused>> {
 public:
  /// A function that serves one connection. Its errors end the connection, and are ignored.
  using handler = std::function<awaitable<void>(byte_stream)>;

  basic_served_listener(home_strand home, listener open, handler serve)
      : home_(std::move(home)), open_(std::move(open)), serve_(std::move(serve)), changed_(home_.executor()) {}

  const home_strand& home() const noexcept { return home_; }

  /// Begins to accept. Called once, on the strand.
  static void begin(std::shared_ptr<basic_served_listener> self) {
    ++self->running_;
    const auto ends = [self](std::exception_ptr) { self->ended_one(); };
    spawn_coroutine(self->home_.executor(), accept_all(self), ends);
  }

  /// Accepts no more, and ends all connections, without waiting. Called on the strand, or by a destructor through
  /// `home_strand::run_soon`.
  void stop() noexcept {
    stopped_ = true;
    open_.close();
    changed_.notify();
    const std::list<std::shared_ptr<asio::cancellation_signal>> signals = signals_;  // an end changes the list
    for (const std::shared_ptr<asio::cancellation_signal>& signal : signals)
      signal->emit(asio::cancellation_type::terminal);
  }

  /// Stops, and waits until all connections have ended. Runs on the strand.
  static awaitable<void> end(std::shared_ptr<basic_served_listener> self) {
    self->stop();
    while (self->running_ != 0) co_await self->changed_.wait();
  }

  /// Waits until the listener has ended by itself, because its environment has ended, or until it is stopped. Runs on
  /// the strand.
  /// \param if_cancelled  the message of error{exec_errc::cancelled}, which a cancellation throws.
  static awaitable<void> until_stopped(std::shared_ptr<basic_served_listener> self, const char* if_cancelled) {
    while (!self->stopped_) {
      const wait_result result = co_await self->changed_.wait();
      if (result == wait_result::cancelled) throw error(exec_errc::cancelled, if_cancelled);
    }
    if (self->failure_) std::rethrow_exception(self->failure_);
  }

 private:
  static awaitable<void> accept_all(std::shared_ptr<basic_served_listener> self) {
    try {
      while (!self->stopped_) {
        byte_stream accepted = co_await self->open_.accept();
        self->spawn(std::move(accepted));
      }
    } catch (const error&) {  // the listener is closed, or its environment has ended
      if (!self->stopped_) self->failure_ = std::current_exception();
    }
    self->stopped_ = true;
    self->changed_.notify();
  }

  void spawn(byte_stream accepted) {
    const auto self = this->shared_from_this();
    const auto signal = std::make_shared<asio::cancellation_signal>();
    signals_.push_back(signal);
    ++running_;
    const auto ends = [self, signal](std::exception_ptr) {
      self->signals_.remove(signal);
      self->ended_one();
    };
    spawn_coroutine(home_.executor(), serve_one(self, std::move(accepted)), ends, signal->slot());
  }

  static awaitable<void> serve_one(std::shared_ptr<basic_served_listener> self, byte_stream accepted) {
    if (!self->stopped_) co_await self->serve_(std::move(accepted));
  }

  void ended_one() {
    --running_;
    changed_.notify();
  }

  home_strand home_;
  listener open_;
  handler serve_;
  async_event changed_;
  std::list<std::shared_ptr<asio::cancellation_signal>> signals_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  bool stopped_ = false;
};

/// The owner of a `served_listener`. The destructor stops it without waiting.
class served_listener_handle {
 public:
  served_listener_handle() = default;
  explicit served_listener_handle(std::shared_ptr<served_listener> served) noexcept : served_(std::move(served)) {}
  served_listener_handle(served_listener_handle&&) noexcept = default;
  served_listener_handle& operator=(served_listener_handle&& other) noexcept {
    if (this != &other) {
      stop();
      served_ = std::move(other.served_);
    }
    return *this;
  }
  ~served_listener_handle() { stop(); }

  const std::shared_ptr<served_listener>& get() const noexcept { return served_; }

 private:
  void stop() noexcept {
    if (!served_) return;
    const home_strand home = served_->home();
    home.run_soon([served = std::move(served_)] { served->stop(); });
  }

  std::shared_ptr<served_listener> served_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
