// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/net/detail/http_served_connection.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/listener.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/error.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::detail {

/// What the coroutines of a server share: its listeners, its connections, and whether it is over.
class http_server_core : public std::enable_shared_from_this<http_server_core> {
 public:
  using clock = std::chrono::steady_clock;

  http_server_core(asio::any_io_executor executor, http_handler handler, http_server_settings settings)
      : executor_(std::move(executor)), handler_(std::move(handler)), settings_(std::move(settings)) {
    if (!handler_) throw error(errc::invalid_argument, "http_server: the handler is empty");
    check_lists(settings_);
  }

  const http_server_settings& settings() const noexcept { return settings_; }
  std::size_t connections() const noexcept { return connections_.size(); }
  void listen(listener where) {
    if (running_ || stopping_)
      throw error(errc::invalid_argument, "http_server: it takes no listener once it runs or was stopped");
    static_cast<void>(where.name());  // throws where there is none
    listeners_.push_back(std::move(where));
  }

  /// Takes no more connections, and no more requests on those there are.
  void begin_stop() noexcept {
    if (std::exchange(stopping_, true)) return;
    for (listener& each : listeners_) each.close();
    for (const auto& each : connections_) each->stop();
    wake();
  }
  /// Takes nothing from anybody any more; what runs is cancelled, or finds its connection closed.
  void abort() noexcept {
    begin_stop();
    for (const auto& each : connections_) each->abort();
  }

  static awaitable<void> run(std::shared_ptr<http_server_core> self) {
    http_server_core& core = *self;
    if (core.listeners_.empty()) throw error(errc::invalid_argument, "http_server: it listens nowhere");
    if (std::exchange(core.running_, true)) throw error(errc::invalid_argument, "http_server: it runs already");
    if (!core.stopping_) {
      for (listener& each : core.listeners_) core.spawn_acceptor(each);
    }
    // A cancelled coroutine could not even begin to wait for the end.
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    const bool whole = co_await core.over_by(clock::time_point::max());
    if (!whole) co_await end_at_once(self);
    co_await asio::this_coro::throw_if_cancelled(throws);
    if (!whole) throw error(errc::cancelled, "the HTTP server was cancelled; everything of it has ended");
    if (core.failure_) std::rethrow_exception(core.failure_);
  }

  static awaitable<void> stop(std::shared_ptr<http_server_core> self) {
    http_server_core& core = *self;
    core.begin_stop();
    const clock::time_point due = clock::now() + core.settings_.stop_time();
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    bool whole = co_await core.over_by(due);
    if (whole) {
      core.abort();
      const bool ended = co_await core.over_by(clock::time_point::max());
      whole = ended;
    }
    if (!whole) co_await end_at_once(self);
    co_await asio::this_coro::throw_if_cancelled(throws);
    if (!whole)
      throw error(errc::cancelled, "stopping the HTTP server was cancelled; everything of it was ended at once");
  }

 private:
  /// A coroutine that waits for anything to change.
  class waiter {
   public:
    waiter(http_server_core& core, clock::time_point due)
        : core_(core), at_(core.waiting_.emplace(core.waiting_.end(), core.executor_, due)) {}
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;
    ~waiter() { core_.waiting_.erase(at_); }
    asio::steady_timer& timer() const noexcept { return *at_; }

   private:
    http_server_core& core_;
    std::list<asio::steady_timer>::iterator at_;
  };

  /// \return false where the coroutine was cancelled.
  awaitable<bool> changes(clock::time_point due) {
    const waiter mine(*this, due);
    std::error_code woken;
    co_await mine.timer().async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    co_return state.cancelled() == asio::cancellation_type::none;
  }

  /// Waits for the end, or for `due`. \return false where the coroutine was cancelled, which throws nothing here.
  awaitable<bool> over_by(clock::time_point due) {
    bool whole = true;
    while (whole && !over() && clock::now() < due) {
      const bool more = co_await changes(due);
      whole = more;
    }
    co_return whole;
  }

  /// What `shielded` wants.
  class until_over {
   public:
    explicit until_over(std::shared_ptr<http_server_core> core) : core_(std::move(core)) {}
    awaitable<void> operator()() { return wait(core_); }

   private:
    static awaitable<void> wait(std::shared_ptr<http_server_core> core) {
      while (!core->over()) {
        const bool whole = co_await core->changes(clock::time_point::max());
        static_cast<void>(whole);
      }
    }
    std::shared_ptr<http_server_core> core_;
  };
  static awaitable<void> end_at_once(std::shared_ptr<http_server_core> self) {
    self->abort();
    until_over work(std::move(self));
    co_await detail::shielded(std::move(work));
  }

  bool over() const noexcept { return stopping_ && acceptors_ == 0 && connections_.empty(); }
  void wake() noexcept {
    for (asio::steady_timer& each : waiting_) {
      try {
        each.cancel();
      } catch (const std::system_error&) {  // a timer that cannot be cancelled has nobody waiting
      }
    }
  }

  void spawn_acceptor(listener& from) {
    ++acceptors_;
    const auto ended = [core = shared_from_this()](const std::exception_ptr& failure) {
      --core->acceptors_;
      if (failure && !core->failure_) core->failure_ = failure;
      if (failure) core->abort();
      core->wake();
    };
    asio::co_spawn(executor_, accept_from(shared_from_this(), from), ended);
  }

  static awaitable<void> accept_from(std::shared_ptr<http_server_core> self, listener& from) {
    http_server_core& core = *self;
    while (!core.stopping_) {
      byte_stream stream;
      std::exception_ptr failure;
      try {
        byte_stream accepted = co_await from.accept();
        stream = std::move(accepted);
      } catch (const error&) {
        failure = std::current_exception();
      }
      if (core.stopping_) break;
      if (failure) {
        if (!is_passing(failure)) std::rethrow_exception(failure);
        const clock::time_point due = clock::now() + std::chrono::milliseconds(50);
        while (!core.stopping_ && clock::now() < due) {
          const bool whole = co_await core.changes(due);
          static_cast<void>(whole);
        }
        continue;
      }
      while (core.connections_.size() >= core.settings_.connections() && !core.stopping_) {
        core.close_the_most_idle();
        const bool whole = co_await core.changes(clock::now() + std::chrono::milliseconds(500));
        static_cast<void>(whole);
      }
      if (!core.stopping_) core.take(std::move(stream), from.is_loopback());
    }
  }

  /// Whether accepting may go well again: a peer that has gone, or something of which the system has too little.
  static bool is_passing(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      for (const std::errc one :
           {std::errc::connection_aborted, std::errc::connection_reset, std::errc::too_many_files_open,
            std::errc::too_many_files_open_in_system, std::errc::no_buffer_space, std::errc::not_enough_memory,
            std::errc::protocol_error, std::errc::network_down, std::errc::network_unreachable,
            std::errc::host_unreachable, std::errc::interrupted, std::errc::timed_out})
        if (reason.cause() == one) return true;
      return false;
    }
  }

  void close_the_most_idle() noexcept {
    const auto idle = std::min_element(connections_.begin(), connections_.end(),
                                       [](const auto& a, const auto& b) { return a->idle_since() < b->idle_since(); });
    if (idle != connections_.end() && (*idle)->idle_since() <= clock::now()) (*idle)->abort();
  }

  void take(byte_stream stream, bool loopback) {
    const auto one = std::make_shared<http_served_connection>(executor_, std::move(stream), settings_, handler_,
                                                              became_idle_, loopback);
    connections_.push_back(one.get());
    const auto at = std::prev(connections_.end());
    // Gone from the list when both coroutines have ended, or were destroyed with their context.
    const std::shared_ptr<void> both(nullptr, [core = shared_from_this(), at](void*) {
      core->connections_.erase(at);
      core->wake();
    });
    const auto ended = [core = shared_from_this(), one, both](const std::exception_ptr&) {};  // neither throws
    asio::co_spawn(executor_, http_served_connection::pump(one), ended);
    asio::co_spawn(executor_, http_served_connection::serve(one), ended);
  }

  asio::any_io_executor executor_;
  http_handler handler_;
  http_server_settings settings_;
  // Somebody who waits for room may have it now.
  std::function<void()> became_idle_ = [this] {
    if (connections_.size() >= settings_.connections()) wake();
  };
  std::list<listener> listeners_;
  std::list<http_served_connection*> connections_;
  std::list<asio::steady_timer> waiting_;
  std::exception_ptr failure_;
  std::size_t acceptors_ = 0;
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace cofferdam::inline v0::detail
