// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/deadline_timer.hpp>
#include <cofferdam/net/detail/http_admission.hpp>
#include <cofferdam/net/detail/http_conversation.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/http_server_settings.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

using http_handler = std::function<awaitable<void>(http_call&)>;

/// One connection of a server. It reads requests one after the other, and runs a handler for each. Each handler can be
/// cancelled alone.
///
/// Two coroutines share the ownership of this object: `serve`, and `pump`, which reads the input in advance and detects
/// that the client has disconnected.
class http_served_connection {
 public:
  using clock = std::chrono::steady_clock;

  http_served_connection(const asio::any_io_executor& executor, byte_stream stream,
                         const http_server_settings& settings, const http_handler& handler,
                         const std::function<void()>& became_idle, bool loopback)
      : executor_(executor),
        settings_(settings),
        handler_(handler),
        became_idle_(became_idle),
        talk_(executor, std::move(stream), settings),
        request_limit_(executor, [this] { cancel_handler(); }),
        loopback_(loopback) {}
  http_served_connection(const http_served_connection&) = delete;
  http_served_connection& operator=(const http_served_connection&) = delete;

  /// Returns the time since which the connection has waited for a request; `time_point::max()` if it is not waiting.
  /// The server may close a waiting connection to make room for a new one. A new connection reports a time one second
  /// in the future, which protects it for its first second.
  clock::time_point idle_since() const noexcept { return idle_since_; }

  /// Closes the stream and cancels the handler.
  void abort() noexcept {
    aborted_ = true;
    talk_.close();
  }
  /// Lets the current request finish and accepts no more requests. Closes the connection now if no request is under
  /// way.
  void stop() noexcept {
    stopping_ = true;
    talk_.last();
    if (!replying_) abort();
  }

  static awaitable<void> pump(std::shared_ptr<http_served_connection> self) {
    http_served_connection& connection = *self;
    std::function<void()> left = [&connection] { connection.client_left(); };
    co_await connection.talk_.input().pump(std::move(left));
  }

  static awaitable<void> serve(std::shared_ptr<http_served_connection> self) {
    http_served_connection& connection = *self;
    try {
      bool first = true;
      bool more = true;
      bool answered = false;
      while (more) {
        // A new connection has one second for its first request before the server may close it as idle.
        connection.idle_since_ = clock::now() + (first ? std::chrono::seconds(1) : std::chrono::seconds(0));
        connection.became_idle_();
        const int status = co_await connection.talk_.next_head(first);
        connection.idle_since_ = clock::time_point::max();
        first = false;
        if (status == 0 || connection.aborted_) {
          answered = false;
          break;
        }
        connection.replying_ = true;
        answered = true;
        const bool again = co_await connection.answer(self, status);
        more = again && !connection.stopping_;
        connection.replying_ = !more;
      }
      if (answered) co_await connection.talk_.linger();
    } catch (...) {  // the connection is lost or was aborted, and handlers' errors have been reported
    }
    connection.request_limit_.stop();
    connection.talk_.close();
  }

 private:
  /// Checks the head, runs the handler and completes its reply.
  /// \param status  the result of `next_head`.
  /// \return        true if another request may follow.
  awaitable<bool> answer(std::shared_ptr<http_served_connection> self, int status) {
    if (status == 200) status = admit(talk_.parser().head(), settings_, loopback_);
    if (status != 0) {
      talk_.last();
      co_await refuse(status);
      co_return false;
    }
    overdue_ = false;
    failure_ = nullptr;
    request_limit_.arm(settings_.request_timeout());
    co_await asio::co_spawn(executor_, handle(std::move(self)),
                            asio::bind_cancellation_slot(cancel_.slot(), asio::use_awaitable));
    request_limit_.disarm();
    if (aborted_) co_return false;
    co_await settle();
    const bool more = co_await talk_.ready_for_more();
    co_return more;
  }

  /// Runs the handler and stores its exception in `failure_`. Does not throw.
  static awaitable<void> handle(std::shared_ptr<http_served_connection> self) {
    http_served_connection& connection = *self;
    http_call call(connection.talk_);
    connection.call_ = &call;
    try {
      // If the client has disconnected before this handler started, no event will cancel the handler any more.
      if (connection.talk_.input().ended()) throw error(exec_errc::cancelled, "the client closed the connection");
      co_await connection.handler_(call);
    } catch (...) {
      connection.failure_ = std::current_exception();
    }
    connection.call_ = nullptr;
  }

  /// Completes or replaces the reply after the handler has ended, and reports an unexpected exception.
  awaitable<void> settle() {
    using progress = http_conversation::progress;
    const bool none = talk_.replied() == progress::none;
    int status = 0;
    if (failure_) {
      if (!is_known(failure_)) report(failure_);
      if (talk_.replied() == progress::begun) throw error(exec_errc::io_error, "a reply was cut off before its end");
      if (talk_.verdict() != 0 || overdue_) talk_.last();
      if (none) status = overdue_ ? 503 : talk_.verdict() != 0 ? talk_.verdict() : 500;
    } else if (talk_.replied() == progress::begun) {
      std::exception_ptr cut;
      try {
        co_await talk_.end();
      } catch (const error&) {
        cut = std::current_exception();
      }
      if (cut) report(cut);
      if (cut) std::rethrow_exception(cut);
    } else if (none) {
      report(std::make_exception_ptr(error(exec_errc::invalid_argument, "the handler ended without a reply")));
      status = 500;
    }
    if (status != 0) co_await refuse(status);
  }

  awaitable<void> refuse(int status) {
    http_reply what(status);
    what.content("text/plain; charset=utf-8", std::to_string(status) + " " + std::string(http_reason(status)) + "\n");
    co_await talk_.reply(std::move(what));
  }

  /// Returns true if the failure is a consequence of the client's actions or of a time limit. Such failures are not
  /// reported.
  bool is_known(const std::exception_ptr& failure) const {
    if (!overdue_ && talk_.verdict() == 0 && !talk_.input().ended() && !talk_.broken()) return false;
    try {
      std::rethrow_exception(failure);
    } catch (const std::system_error&) {
      return true;
    } catch (...) {
      return false;
    }
  }
  void report(const std::exception_ptr& failure) {
    if (settings_.on_error()) settings_.on_error()(talk_.parser().head(), failure);
  }

  void cancel_handler() {
    if (call_ == nullptr) return;
    overdue_ = true;
    cancel_.emit(asio::cancellation_type::terminal);
  }
  /// Cancels the handler after the client has disconnected or the connection was aborted. Only this function and the
  /// time limit's `cancel_handler` cancel handlers. It is never called from inside a handler.
  void client_left() {
    if (call_ == nullptr || (call_->ignores_departure_ && !aborted_)) return;
    cancel_.emit(asio::cancellation_type::terminal);
  }

  asio::any_io_executor executor_;
  const http_server_settings& settings_;
  const http_handler& handler_;
  const std::function<void()>& became_idle_;
  asio::cancellation_signal cancel_;
  http_conversation talk_;
  deadline_timer request_limit_;
  http_call* call_ = nullptr;
  std::exception_ptr failure_;
  clock::time_point idle_since_ = clock::time_point::max();
  bool loopback_;
  // True while a handler runs and its reply is completed; false while the connection waits for a head.
  bool replying_ = false;
  bool stopping_ = false;
  bool overdue_ = false;
  bool aborted_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
