// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/detail/driver_frames.hpp>
#include <cofferdam/code/detail/driver_link.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/this_coro.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The text with which a reader (a process that parses code for guards) begins its output. The minor version of its
/// Python 3 and a line end follow.
inline constexpr std::string_view reader_greeting = "\ncofferdam python reader 2 3.";

/// Returns the minor version of a Python 3, such as 13 for "3.13.0"; 0 if the text is not such a version.
inline int minor_of(std::string_view version) {
  int minor = 0;
  if (!version.starts_with("3.")) return 0;
  std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  return minor > 0 && minor < 256 ? minor : 0;
}

/// One request to a reader (a process that parses code for guards), and its answer. A request can be cancelled at its
/// time limit.
class reader_exchange {
 public:
  reader_exchange(const asio::any_io_executor& executor, bytes question)
      : changed(executor), sent(std::move(question)) {}
  async_event changed;
  asio::cancellation_signal stop;
  bytes sent;
  std::string answer;
  bool ended = false;  // true if the process ended instead of answering
  bool done = false;
  std::exception_ptr failure;
};

/// A reader, which is a process that parses code for guards and never runs it. It processes one request at a time.
class reader_process {
 public:
  explicit reader_process(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  /// Returns true if the process has sent its greeting, and has answered every request so far.
  bool works() const noexcept { return works_; }
  /// Returns the minor version of the reader's Python 3; 0 before the greeting.
  int minor() const noexcept { return minor_; }
  /// Returns true if the process was ended by its own timer, because the request took too long.
  bool ended_by_alarm() const noexcept { return ended_by_alarm_; }

  /// Marks the process as not working, so that it gets no further requests.
  void distrust() noexcept { works_ = false; }
  void trust() noexcept { works_ = true; }
  void end() {
    works_ = false;
    process_ = process();
  }
  /// Cancels the request that is under way.
  void stop() {
    if (current_) current_->stop.emit(asio::cancellation_type::terminal);
  }

  /// Waits for the greeting of a new process. Returns an empty text if the greeting arrives in time, otherwise a
  /// description of the problem.
  static awaitable<std::string> greet(std::shared_ptr<reader_process> self, process started,
                                      std::chrono::milliseconds limit) {
    self->process_ = std::move(started);
    self->held_.clear();
    self->said_.clear();
    self->minor_ = 0;
    const auto exchange = std::make_shared<reader_exchange>(self->executor_, bytes());
    co_await converse(self, exchange, limit);
    self->works_ = self->minor_ > 0;
    if (self->works_) co_return std::string();
    self->process_ = process();
    if (exchange->failure || !self->refusal_.empty()) co_return self->refusal_;
    co_return self->said_.empty() ? std::string("the interpreter did not answer")
                                  : "its output is '" + one_line(self->said_) + "'";
  }

  /// Requests the facts about a piece of code. If there is no answer within the limit, the process is ended.
  /// \param minor  the minor version of the Python 3 that will run the code; 0 if it is not known.
  /// \return       the request, whose `answer` is empty if the process did not answer.
  static awaitable<std::shared_ptr<reader_exchange>> ask(std::shared_ptr<reader_process> self,
                                                         const std::string& source, int minor,
                                                         std::chrono::milliseconds limit) {
    const std::string head = big_endian_32(source.size()) + static_cast<char>(minor);
    auto exchange = std::make_shared<reader_exchange>(self->executor_, to_bytes(head + source));
    co_await converse(self, exchange, limit);
    if (exchange->answer.empty()) self->works_ = false;
    co_return exchange;
  }

 private:
  static constexpr std::size_t max_answer = 64U * 1024 * 1024;

  /// Sends a request and receives the answer. Ends the process if there is no answer within the limit.
  static awaitable<void> converse(std::shared_ptr<reader_process> self, std::shared_ptr<reader_exchange> exchange,
                                  std::chrono::milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    self->ended_by_alarm_ = false;
    self->refusal_.clear();
    bool cancelled = false;
    bool is_asked = false;
    bool in_time = false;
    const auto asks = [&]() -> awaitable<void> {
      self->current_ = exchange;
      auto ended = [exchange](std::exception_ptr failure) {
        exchange->failure = std::move(failure);
        exchange->done = true;
        exchange->changed.notify();
      };
      spawn_coroutine(self->executor_, talk(self, exchange), std::move(ended), exchange->stop.slot());
      is_asked = true;
      while (!exchange->done && !cancelled && std::chrono::steady_clock::now() < until) {
        const wait_result result = co_await exchange->changed.wait(until);
        cancelled = result == wait_result::cancelled;
      }
    };
    const auto ends = [&]() -> awaitable<void> {
      self->current_ = nullptr;
      in_time = exchange->done;
      if (in_time || !is_asked) return {};
      exchange->stop.emit(asio::cancellation_type::terminal);
      return until_done(exchange);
    };
    co_await with_cleanup(asks, ends);
    if (!in_time && exchange->answer.empty()) self->end();
    if (cancelled) throw error(exec_errc::cancelled, "run_code: cancelled while the code was read; nothing has run");
  }

  static awaitable<void> until_done(std::shared_ptr<reader_exchange> exchange) {
    while (!exchange->done) co_await exchange->changed.wait();
  }

  static awaitable<void> talk(std::shared_ptr<reader_process> self, std::shared_ptr<reader_exchange> exchange) {
    const bool greets = exchange->sent.empty();
    try {
      if (!greets) co_await self->process_.write_input(exchange->sent);
    } catch (const error& reason) {
      if (reason.code() == exec_errc::cancelled) throw;  // otherwise the loop below finds out how the process ended
    }
    for (;;) {
      if (greets ? self->take_greeting() : self->take_answer(exchange->answer)) co_return;
      output_chunk piece = co_await self->process_.read();
      if (piece.end()) break;
      if (piece.stream() == output_stream::err) {
        self->said_ += as_text(piece.data());
        if (self->said_.size() > 4096) self->said_.erase(0, self->said_.size() - 2048);
      } else {
        self->held_ += as_text(piece.data());
        if (self->held_.size() > max_answer) break;
      }
    }
    exchange->ended = true;
    command_result result = co_await self->process_.wait();
    self->ended_by_alarm_ = result.term_signal() == 14;
    self->refusal_ = result.reason();
  }

  bool take_greeting() {
    const std::size_t found = held_.find(reader_greeting);
    if (found == std::string::npos) return false;
    const std::size_t version = found + reader_greeting.size();
    const std::size_t line = held_.find('\n', version);
    if (line == std::string::npos) return false;
    minor_ = minor_of("3." + held_.substr(version, line - version));
    held_.erase(0, line + 1);
    return true;
  }

  bool take_answer(std::string& answer) {
    if (held_.size() < 4) return false;
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8U | static_cast<unsigned char>(held_[i]);
    if (held_.size() - 4 < size) return false;
    answer = held_.substr(4, size);
    held_.erase(0, 4 + size);
    return true;
  }

  asio::any_io_executor executor_;
  process process_;
  std::shared_ptr<reader_exchange> current_;
  std::string held_;
  std::string said_;
  std::string refusal_;
  int minor_ = 0;
  bool works_ = false;
  bool ended_by_alarm_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
