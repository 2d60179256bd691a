// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/net/detail/http_served_connection.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/listener.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>

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

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The state that the coroutines of a server share: listeners, connections, and the progress of stopping.
class http_server_core : public std::enable_shared_from_this<http_server_core> {
 public:
  using clock = std::chrono::steady_clock;

  http_server_core(asio::any_io_executor executor, http_handler handler, http_server_settings settings)
      : executor_(std::move(executor)),
        handler_(std::move(handler)),
        settings_(std::move(settings)),
        changed_(executor_) {
    if (!handler_) throw error(exec_errc::invalid_argument, "http_server: the handler is empty");
    check_lists(settings_);
  }

  const http_server_settings& settings() const noexcept { return settings_; }
  std::size_t connections() const noexcept { return connections_.size(); }
  void listen(listener where) {
    if (running_ || stopping_)
      throw error(exec_errc::invalid_argument, "http_server: add listeners before the server runs or is stopped");
    static_cast<void>(where.name());  // throws if `where` is default-constructed or moved from
    listeners_.push_back(std::move(where));
  }

  /// Closes the listeners, and lets each connection finish only its current request.
  void begin_stop() noexcept {
    if (std::exchange(stopping_, true)) return;
    for (listener& each : listeners_) each.close();
    for (const auto& each : connections_) each->stop();
    changed_.notify();
  }
  /// Stops the server and closes all connections at once, which cancels their handlers.
  void abort() noexcept {
    begin_stop();
    for (const auto& each : connections_) each->abort();
  }

  static awaitable<void> run(std::shared_ptr<http_server_core> self) {
    http_server_core& core = *self;
    if (core.listeners_.empty())
      throw error(exec_errc::invalid_argument, "http_server: no listener was added; call listen() first");
    if (std::exchange(core.running_, true)) throw error(exec_errc::invalid_argument, "http_server: already running");
    if (!core.stopping_) {
      for (listener& each : core.listeners_) core.spawn_acceptor(each);
    }
    bool whole = false;
    const auto waits = [&]() -> awaitable<void> { whole = co_await core.over_by(clock::time_point::max()); };
    const auto ends = [&]() -> awaitable<void> {
      if (whole) return {};
      return end_at_once(self);
    };
    co_await with_cleanup(waits, ends);
    if (!whole) throw error(exec_errc::cancelled, "the HTTP server was cancelled; all its connections are closed");
    if (core.failure_) std::rethrow_exception(core.failure_);
  }

  static awaitable<void> stop(std::shared_ptr<http_server_core> self) {
    http_server_core& core = *self;
    core.begin_stop();
    const clock::time_point due = clock::now() + core.settings_.stop_timeout();
    bool whole = false;
    const auto waits = [&]() -> awaitable<void> {
      const bool in_time = co_await core.over_by(due);
      if (!in_time) co_return;
      core.abort();
      whole = co_await core.over_by(clock::time_point::max());
    };
    const auto ends = [&]() -> awaitable<void> {
      if (whole) return {};
      return end_at_once(self);
    };
    co_await with_cleanup(waits, ends);
    if (!whole)
      throw error(exec_errc::cancelled,
                  "stopping the HTTP server was cancelled; all its connections were closed at once");
  }

 private:
  /// Waits until all connections and listeners have ended, or until `due`.
  /// \return false if the coroutine was cancelled. The caller then ends everything, so this function does not throw.
  awaitable<bool> over_by(clock::time_point due) {
    bool whole = true;
    while (whole && !over() && clock::now() < due) {
      const wait_result ended = co_await changed_.wait(due);
      whole = ended != wait_result::cancelled;
    }
    co_return whole;
  }

  /// Aborts all connections, and waits until they have ended.
  static awaitable<void> end_at_once(const std::shared_ptr<http_server_core>& self) {
    self->abort();
    return until_over(self);
  }
  static awaitable<void> until_over(std::shared_ptr<http_server_core> self) {
    while (!self->over()) co_await self->changed_.wait();
  }

  bool over() const noexcept { return stopping_ && acceptors_ == 0 && connections_.empty(); }

  void spawn_acceptor(listener& from) {
    ++acceptors_;
    const auto ended = [core = shared_from_this()](const std::exception_ptr& failure) {
      --core->acceptors_;
      if (failure && !core->failure_) core->failure_ = failure;
      if (failure) core->abort();
      core->changed_.notify();
    };
    spawn_coroutine(executor_, accept_from(shared_from_this(), from), ended);
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
        while (!core.stopping_ && clock::now() < due) co_await core.changed_.wait(due);
        continue;
      }
      while (core.connections_.size() >= core.settings_.connections() && !core.stopping_) {
        core.close_the_most_idle();
        co_await core.changed_.wait(clock::now() + std::chrono::milliseconds(500));
      }
      if (!core.stopping_) core.take(std::move(stream), from.is_loopback());
    }
  }

  /// Returns true if accepting failed for a temporary reason: the peer has disconnected, or the system lacks resources.
  static bool is_passing(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      for (const std::errc code :
           {std::errc::connection_aborted, std::errc::connection_reset, std::errc::too_many_files_open,
            std::errc::too_many_files_open_in_system, std::errc::no_buffer_space, std::errc::not_enough_memory,
            std::errc::protocol_error, std::errc::network_down, std::errc::network_unreachable,
            std::errc::host_unreachable, std::errc::interrupted, std::errc::timed_out})
        if (reason.cause() == code) return true;
      return false;
    }
  }

  void close_the_most_idle() noexcept {
    const auto idle = std::min_element(connections_.begin(), connections_.end(),
                                       [](const auto& a, const auto& b) { return a->idle_since() < b->idle_since(); });
    if (idle != connections_.end() && (*idle)->idle_since() <= clock::now()) (*idle)->abort();
  }

  void take(byte_stream stream, bool loopback) {
    const auto connection = std::make_shared<http_served_connection>(executor_, std::move(stream), settings_, handler_,
                                                                     became_idle_, loopback);
    connections_.push_back(connection.get());
    const auto at = std::prev(connections_.end());
    // The deleter removes the connection from the list. It runs when the coroutines `pump` and `serve` have both ended,
    // or when the executor's context has destroyed them.
    const std::shared_ptr<void> both(nullptr, [core = shared_from_this(), at](void*) {
      core->connections_.erase(at);
      core->changed_.notify();
    });
    // Keeps the objects alive until both coroutines have ended. Neither coroutine throws.
    const auto ended = [core = shared_from_this(), connection, both](const std::exception_ptr&) {};
    spawn_coroutine(executor_, http_served_connection::pump(connection), ended);
    spawn_coroutine(executor_, http_served_connection::serve(connection), ended);
  }

  asio::any_io_executor executor_;
  http_handler handler_;
  http_server_settings settings_;
  // Called by a connection that has become idle. If the server has its maximum of connections, this function wakes the
  // coroutine that waits to add a connection, which can then close the idle one.
  std::function<void()> became_idle_ = [this] {
    if (connections_.size() >= settings_.connections()) changed_.notify();
  };
  std::list<listener> listeners_;
  std::list<http_served_connection*> connections_;
  async_event changed_;
  std::exception_ptr failure_;
  std::size_t acceptors_ = 0;
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
