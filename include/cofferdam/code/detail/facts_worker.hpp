// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/detail/driver_frames.hpp>
#include <cofferdam/code/detail/driver_link.hpp>
#include <cofferdam/code/detail/python_code_reader.hpp>
#include <cofferdam/code/python_facts.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/allotment.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/core/utf8.hpp>
#include <cofferdam/os/child_processes.hpp>
#include <cofferdam/os/command_request.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

inline constexpr std::string_view reader_greeting = "\ncofferdam python reader 1\n";

/// One exchange with the reader's process, so that it can be given up when its time is over.
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

/// The process that reads code, and what it has read lately. Shared by the guards of one runner.
class facts_worker {
 public:
  /// Starts a command in the environment of the code.
  using guest_start = std::function<awaitable<process>(command)>;

  explicit facts_worker(python_reader settings) : settings_(std::move(settings)) {}

  /// What stands in the code. A text that is no Python, or costs too much to read, is a problem among the facts.
  /// \param source  the caller keeps it; so with `guest`, which may be empty.
  /// \throws error{errc::provider_failed} where there is no interpreter; error{errc::cancelled};
  ///         error{errc::environment_closed}.
  static awaitable<std::shared_ptr<const python_facts>> read(std::shared_ptr<facts_worker> self,
                                                             const std::string& source, const guest_start& guest) {
    self->require_open();
    if (std::shared_ptr<const python_facts> known = self->find(source)) co_return known;
    if (std::optional<code_problem> problem = self->unreadable(source)) co_return self->keep(source, *problem);
    if (!self->turn_) {
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      self->turn_ = std::make_unique<allotment>(executor, 1);
      self->executor_ = executor;
    }
    co_await self->turn_->take(1, "run_code");
    const allotted mine(*self->turn_, 1);
    self->require_open();
    if (std::shared_ptr<const python_facts> known = self->find(source)) co_return known;
    for (int attempt = 0;; ++attempt) {
      const bool fresh = !self->works_;
      if (fresh) co_await ensure(self, guest);
      const std::string sizes = big_endian_32(source.size());
      const auto exchange = std::make_shared<reader_exchange>(self->executor_, to_bytes(sizes + source));
      co_await converse(self, exchange, self->settings_.time_limit() + std::chrono::milliseconds(500));
      if (!exchange->answer.empty()) {
        self->works_ = false;  // unless this is an answer
        python_facts facts = parse_facts(source, exchange->answer);
        self->works_ = true;
        co_return self->keep(std::move(facts));
      }
      self->works_ = false;
      self->require_open();
      // One that had died before it was asked is no fault of the code.
      if (fresh || attempt > 0 || !exchange->ended || self->ended_by_alarm_) break;
    }
    const code_problem problem("TooCostly",
                               "it takes too long, or too much memory, to be read: " +
                                   std::to_string(self->settings_.time_limit().count()) + " ms were not enough",
                               0, 0);
    co_return self->keep(source, problem);
  }

  /// Ends the process. A second call does nothing.
  static awaitable<void> close(std::shared_ptr<facts_worker> self) {
    self->closed_ = true;
    if (!self->turn_) co_return;
    if (self->current_) self->current_->stop.emit(asio::cancellation_type::terminal);
    co_await self->turn_->take(1, "close");
    const allotted mine(*self->turn_, 1);
    self->works_ = false;
    self->process_ = process();
    if (self->children_) {
      co_await self->children_->close();
      self->children_.reset();
    }
  }

 private:
  static constexpr std::size_t most_answer = 64U * 1024 * 1024;
  static constexpr std::size_t most_kept = 8;
  static constexpr std::size_t most_kept_bytes = 256 * 1024;

  void require_open() const {
    if (closed_) throw error(errc::environment_closed, "run_code: the runner's guard was closed");
  }

  std::optional<code_problem> unreadable(const std::string& source) const {
    if (source.size() > settings_.longest())
      return code_problem("TooCostly",
                          "it has " + std::to_string(source.size()) + " bytes, and at most " +
                              std::to_string(settings_.longest()) + " are read",
                          0, 0);
    if (!is_valid_utf8(source)) return code_problem("SyntaxError", "the source is not UTF-8", 0, 0);
    const std::size_t nul = source.find('\0');
    if (nul == std::string::npos) return std::nullopt;
    const auto line = 1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
    return code_problem("SyntaxError", "the source holds a NUL character", static_cast<int>(line), 0);
  }

  // ---- what was read lately: the guards of a stack ask for the same ----
  std::shared_ptr<const python_facts> find(const std::string& source) const {
    for (const auto& each : kept_)
      if (each->source() == source) return each;
    return nullptr;
  }
  std::shared_ptr<const python_facts> keep(python_facts facts) {
    auto one = std::make_shared<const python_facts>(std::move(facts));
    if (one->source().size() <= most_kept_bytes) {
      kept_.push_front(one);
      if (kept_.size() > most_kept) kept_.pop_back();
    }
    return one;
  }
  std::shared_ptr<const python_facts> keep(const std::string& source, const code_problem& problem) {
    return keep(python_facts(source, problem));
  }

  // ---- the process ----
  command reader_command() const {
    std::string program;
    for (const std::string_view piece : python_code_reader) program += piece;
    const std::string limit = std::to_string(settings_.time_limit().count());
    const std::string memory = std::to_string(settings_.memory());
    return argv(settings_.interpreter(), "-I", "-S", "-X", "utf8", "-W", "ignore", "-c", program, limit, memory)
        .timeout(no_timeout)
        .keep_output(4096)
        .open_input();
  }

  static awaitable<void> ensure(std::shared_ptr<facts_worker> self, const guest_start& guest) {
    std::string why;
    const reader_place place = self->settings_.place();
    if (place != reader_place::guest) {
      if (!self->children_) self->children_.emplace(self->executor_);
      command starts = self->reader_command();
      spawn_request request = request_for(starts, "/bin/sh", self->host_variables());
      process started = co_await self->children_->start(std::move(starts), std::move(request));
      self->process_ = std::move(started);
      std::string said = co_await greet(self);
      if (said.empty()) co_return;
      why = "on the host: " + said;
    }
    if (place != reader_place::host && guest) {
      command starts = self->reader_command();
      process started = co_await guest(std::move(starts));
      self->process_ = std::move(started);
      std::string said = co_await greet(self);
      if (said.empty()) co_return;
      why += (why.empty() ? "in the environment: " : "; in the environment: ") + said;
    }
    self->process_ = process();
    if (why.empty()) why = "the environment of this runner cannot start one";
    throw error(errc::provider_failed, "guards need Python 3.8 or newer to read code, and \"" +
                                           one_line(self->settings_.interpreter()) + "\" is none (" + why +
                                           "); install it, or name it by python_reader().interpreter(...)");
  }

  static std::vector<std::string> host_variables() { return {"PATH=" + std::string(default_path), "LANG=C.UTF-8"}; }

  /// Waits for the greeting; returns nothing where it came, else what is wrong.
  static awaitable<std::string> greet(std::shared_ptr<facts_worker> self) {
    self->held_.clear();
    self->said_.clear();
    self->greeted_ = false;
    const auto exchange = std::make_shared<reader_exchange>(self->executor_, bytes());
    co_await converse(self, exchange, std::chrono::seconds(30));
    self->works_ = self->greeted_;
    if (self->greeted_) co_return std::string();
    if (exchange->failure) co_return self->refusal_;
    if (!self->refusal_.empty()) co_return self->refusal_;
    co_return self->said_.empty() ? std::string("it did not answer") : "it said '" + one_line(self->said_) + "'";
  }

  /// Sends, and takes one answer, or gives up at the limit: then the process is ended.
  static awaitable<void> converse(std::shared_ptr<facts_worker> self, std::shared_ptr<reader_exchange> exchange,
                                  std::chrono::milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    self->ended_by_alarm_ = false;
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
      if (exchange->answer.empty()) {
        self->works_ = false;
        self->process_ = process();
      }
    }
    if (cancelled) throw error(errc::cancelled, "run_code: cancelled while the code was read; nothing has run");
  }

  static awaitable<void> until_done(std::shared_ptr<reader_exchange> exchange) {
    while (!exchange->done) co_await exchange->changed.wait(std::chrono::steady_clock::time_point::max());
  }

  static awaitable<void> talk(std::shared_ptr<facts_worker> self, std::shared_ptr<reader_exchange> exchange) {
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
    held_.erase(0, found + reader_greeting.size());
    return greeted_ = true;
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

  python_reader settings_;
  asio::any_io_executor executor_;
  std::unique_ptr<allotment> turn_;
  std::optional<child_processes> children_;
  process process_;
  std::shared_ptr<reader_exchange> current_;
  std::string held_;
  std::string said_;
  std::string refusal_;
  bool greeted_ = false;
  bool works_ = false;
  bool closed_ = false;
  bool ended_by_alarm_ = false;
  std::deque<std::shared_ptr<const python_facts>> kept_;
};

}  // namespace cofferdam::inline v0::detail
