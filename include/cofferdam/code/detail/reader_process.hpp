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
#include <cofferdam/core/shielded.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/this_coro.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::detail {

/// What a reader says first, before the minor version of its Python 3 and the end of the line.
inline constexpr std::string_view reader_greeting = "\ncofferdam python reader 2 3.";

/// Of a version of Python 3: 13 of "3.13.0"; 0 where that is none.
inline int minor_of(std::string_view version) {
  int minor = 0;
  if (!version.starts_with("3.")) return 0;
  std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  return minor > 0 && minor < 256 ? minor : 0;
}

/// One exchange with a reader's process, so that it can be given up when its time is over.
class reader_exchange {
 public:
  reader_exchange(const asio::any_io_executor& executor, bytes question)
      : changed(executor), sent(std::move(question)) {}
  wakeable changed;
  asio::cancellation_signal stop;
  bytes sent;
  std::string answer;
  bool ended = false;  // the process has
  bool done = false;
  std::exception_ptr failure;
};

/// A process that reads code, and how one talks with it. One exchange at a time.
class reader_process {
 public:
  explicit reader_process(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  /// It has greeted, and has answered whatever it was asked.
  bool works() const noexcept { return works_; }
  /// Of its Python 3.
  int minor() const noexcept { return minor_; }
  /// By its own limit of time.
  bool ended_by_alarm() const noexcept { return ended_by_alarm_; }

  /// Whether it is to be asked again.
  void distrust() noexcept { works_ = false; }
  void trust() noexcept { works_ = true; }
  void end() {
    works_ = false;
    process_ = process();
  }
  /// Gives up the exchange that is under way.
  void stop() {
    if (current_) current_->stop.emit(asio::cancellation_type::terminal);
  }

  /// Waits for the greeting of one that was started just now; returns nothing where it came, else what is wrong.
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
    co_return self->said_.empty() ? std::string("it did not answer") : "it said '" + one_line(self->said_) + "'";
  }

  /// Asks for the facts of a piece of code. Where no answer comes within the limit, the process is ended.
  /// \param minor  of the Python 3 that would run the code; 0: not known.
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
  static constexpr std::size_t most_answer = 64U * 1024 * 1024;

  /// Sends, and takes one answer, or gives up at the limit: then the process is ended.
  static awaitable<void> converse(std::shared_ptr<reader_process> self, std::shared_ptr<reader_exchange> exchange,
                                  std::chrono::milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    self->ended_by_alarm_ = false;
    self->refusal_.clear();
    self->current_ = exchange;
    auto ended = [exchange](std::exception_ptr failure) {
      exchange->failure = std::move(failure);
      exchange->done = true;
      exchange->changed.wake();
    };
    asio::co_spawn(self->executor_, talk(self, exchange),
                   asio::bind_cancellation_slot(exchange->stop.slot(), std::move(ended)));
    bool cancelled = false;
    while (!exchange->done && !cancelled && std::chrono::steady_clock::now() < until) {
      const bool seen = co_await exchange->changed.wait(until);
      cancelled = seen;
    }
    self->current_ = nullptr;
    if (!exchange->done) {
      const bool throws = co_await asio::this_coro::throw_if_cancelled();
      co_await asio::this_coro::throw_if_cancelled(false);
      exchange->stop.emit(asio::cancellation_type::terminal);
      co_await shielded([&exchange] { return until_done(exchange); });
      co_await asio::this_coro::throw_if_cancelled(throws);
      if (exchange->answer.empty()) self->end();
    }
    if (cancelled) throw error(errc::cancelled, "run_code: cancelled while the code was read; nothing has run");
  }

  static awaitable<void> until_done(std::shared_ptr<reader_exchange> exchange) {
    while (!exchange->done) co_await exchange->changed.wait(std::chrono::steady_clock::time_point::max());
  }

  static awaitable<void> talk(std::shared_ptr<reader_process> self, std::shared_ptr<reader_exchange> exchange) {
    const bool greets = exchange->sent.empty();
    try {
      if (!greets) co_await self->process_.write_input(exchange->sent);
    } catch (const error& reason) {
      if (reason.code() == errc::cancelled) throw;  // else it has ended, and the reading says how
    }
    for (;;) {
      if (greets ? self->take_greeting() : self->take_answer(exchange->answer)) co_return;
      chunk piece = co_await self->process_.read();
      if (piece.end()) break;
      if (piece.stream() == output_stream::err) {
        self->said_ += as_text(piece.data());
        if (self->said_.size() > 4096) self->said_.erase(0, self->said_.size() - 2048);
      } else {
        self->held_ += as_text(piece.data());
        if (self->held_.size() > most_answer) break;
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

}  // namespace cofferdam::inline v0::detail
