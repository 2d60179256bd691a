// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_analysis.hpp>
#include <cofferdam/code/detail/call_chain.hpp>
#include <cofferdam/code/detail/parse_facts.hpp>
#include <cofferdam/code/detail/reader_command.hpp>
#include <cofferdam/code/detail/reader_process.hpp>
#include <cofferdam/code/interpreter_info.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/os/child_processes.hpp>
#include <cofferdam/os/command_request.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Parses code for the guards of one runner, by a Python process on the host or in the guest (the environment in which
/// the code runs). Depending on the settings, the guest's process is used after the host's. Recent results are cached.
class analysis_worker {
 public:
  explicit analysis_worker(python_reader settings) : settings_(std::move(settings)) {}

  /// Returns the facts about the code. If the text is not Python, or is too costly to parse, the facts contain a
  /// problem.
  /// \param source, guest  kept by the caller until the awaitable completes.
  /// \throws error{exec_errc::provider_failed} if there is no usable interpreter.
  /// \throws error{exec_errc::cancelled} if the coroutine is cancelled.
  /// \throws error{exec_errc::environment_closed} after `close`.
  static awaitable<std::shared_ptr<const code_analysis>> read(std::shared_ptr<analysis_worker> self,
                                                              const std::string& source,
                                                              const interpreter_info& guest) {
    const asio::any_io_executor caller = co_await asio::this_coro::executor;
    const home_strand home = self->home_for(caller);
    const auto work = [&self, &source, &guest] { return read_here(self, source, guest); };
    std::shared_ptr<const code_analysis> facts = co_await home.run(work);
    co_return facts;
  }

  /// Ends the readers (the processes that parse code). A second call does nothing.
  static awaitable<void> close(std::shared_ptr<analysis_worker> self) {
    const asio::any_io_executor caller = co_await asio::this_coro::executor;
    const home_strand home = self->home_for(caller);
    const auto work = [&self] { return close_here(self); };
    co_await home.run(work);
  }

  /// Makes a worker that may be used and destroyed on any thread.
  static std::shared_ptr<analysis_worker> make(python_reader settings) {
    return {new analysis_worker(std::move(settings)), [](analysis_worker* worker) {
              const home_strand home = worker->home_.value_or(home_strand());
              home.run_soon([worker] { delete worker; });
            }};
  }

 private:
  /// Returns the strand on which all other functions of this class work. It is determined by the executor of the first
  /// caller.
  home_strand home_for(const asio::any_io_executor& caller) {
    const std::lock_guard lock(mutex_);
    if (!home_) home_.emplace(plain_executor(caller));
    return *home_;
  }

  static awaitable<std::shared_ptr<const code_analysis>> read_here(std::shared_ptr<analysis_worker> self,
                                                                   const std::string& source,
                                                                   const interpreter_info& guest) {
    self->require_open();
    if (std::shared_ptr<const code_analysis> known = self->find(source)) co_return known;
    if (std::optional<code_problem> problem = self->unreadable(source)) co_return self->keep(source, *problem);
    if (!self->turn_) {
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      self->turn_ = std::make_unique<async_semaphore>(executor, 1);
      self->executor_ = executor;
      self->host_ = std::make_shared<reader_process>(executor);
      self->guest_ = std::make_shared<reader_process>(executor);
    }
    co_await self->turn_->acquire(1, "run_code");
    const held_permits mine(*self->turn_, 1);
    self->require_open();
    if (std::shared_ptr<const code_analysis> known = self->find(source)) co_return known;
    code_analysis facts = co_await read_somewhere(self, source, guest);
    co_return self->keep(std::move(facts));
  }

  static awaitable<void> close_here(std::shared_ptr<analysis_worker> self) {
    self->closed_ = true;
    if (!self->turn_) co_return;
    self->host_->stop();
    self->guest_->stop();
    co_await self->turn_->acquire(1, "close");
    const held_permits mine(*self->turn_, 1);
    self->host_->end();
    self->guest_->end();
    if (self->children_) {
      co_await self->children_->close();
      self->children_.reset();
    }
  }

  static constexpr std::size_t max_kept = 8;
  static constexpr std::size_t max_kept_bytes = 256 * 1024;

  /// The facts from one reader (a process that parses code), or the reason why there are none.
  class reading {
   public:
    std::optional<code_analysis> facts;
    std::string why_not;
  };

  void require_open() const {
    if (closed_) throw error(exec_errc::environment_closed, "run_code: the runner's guard is closed");
  }

  std::optional<code_problem> unreadable(const std::string& source) const {
    if (source.size() > settings_.longest())
      return code_problem("TooCostly",
                          "it has " + std::to_string(source.size()) + " bytes; the limit is " +
                              std::to_string(settings_.longest()) + " bytes",
                          0, 0);
    if (!is_valid_utf8(source)) return code_problem("SyntaxError", "the source is not UTF-8", 0, 0);
    const std::size_t nul = source.find('\0');
    if (nul == std::string::npos) return std::nullopt;
    const auto line = 1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
    return code_problem("SyntaxError", "the source contains a NUL character", static_cast<int>(line), 0);
  }

  // ---- recent results, because all guards of a stack need the facts about the same code ----
  std::shared_ptr<const code_analysis> find(const std::string& source) const {
    for (const auto& each : kept_)
      if (each->source() == source) return each;
    return nullptr;
  }
  std::shared_ptr<const code_analysis> keep(code_analysis facts) {
    auto analysis = std::make_shared<const code_analysis>(std::move(facts));
    // A problem with a note (about two versions of Python) is not cached. If the reader in the guest could not be used,
    // it may give another result later.
    const bool may_change = analysis->problem() && !analysis->problem()->note().empty();
    if (analysis->source().size() <= max_kept_bytes && !may_change) {
      kept_.push_front(analysis);
      if (kept_.size() > max_kept) kept_.pop_back();
    }
    return analysis;
  }
  std::shared_ptr<const code_analysis> keep(const std::string& source, const code_problem& problem) {
    return keep(code_analysis(source, problem));
  }

  // ---- choice of the reader ----
  static awaitable<code_analysis> read_somewhere(std::shared_ptr<analysis_worker> self, const std::string& source,
                                                 const interpreter_info& guest) {
    const analysis_place place = self->settings_.place();
    std::string why;
    // If the host had no working Python the last time, the host is tried again only if there is no working reader in
    // the guest either.
    if (place != analysis_place::guest && !(self->without_host_ && self->guest_->works())) {
      reading here = co_await ask(self, true, source, guest);
      self->without_host_ = !here.facts;
      if (here.facts) {
        if (!self->is_doubtful(*here.facts, *self->host_, guest)) co_return std::move(*here.facts);
        std::string why_not = "which the options do not allow guards to use";
        if (place == analysis_place::automatic) {
          reading there = co_await ask_guest_too(self, source, guest);
          if (there.facts) co_return std::move(*there.facts);
          why_not = "which cannot read the code: " + there.why_not;
        }
        co_return self->with_note(std::move(*here.facts), *self->host_, "on the host", ", " + why_not, guest);
      }
      why = "on the host: " + here.why_not;
    }
    if (place != analysis_place::host) {
      reading there = co_await ask(self, false, source, guest);
      if (there.facts) {
        if (!self->is_doubtful(*there.facts, *self->guest_, guest)) co_return std::move(*there.facts);
        co_return self->with_note(std::move(*there.facts), *self->guest_, "in the environment", "", guest);
      }
      why += (why.empty() ? "in the environment: " : "; in the environment: ") + there.why_not;
    }
    throw error(exec_errc::provider_failed,
                "guards need Python 3.8 or newer to read code, and \"" + one_line(self->settings_.interpreter()) +
                    "\" cannot be used (" + why +
                    "); install Python, or choose another with python_reader().interpreter(...)");
  }

  /// Returns true if the reader has found a syntax error, but the guest has another version of Python, in which the
  /// code may be valid.
  static bool is_doubtful(const code_analysis& facts, const reader_process& reader, const interpreter_info& guest) {
    const int guest_minor = minor_of(guest.python);
    return facts.problem() && facts.problem()->is_syntax() && guest_minor != 0 && guest_minor != reader.minor();
  }

  static code_analysis with_note(code_analysis facts, const reader_process& reader, const std::string& where,
                                 const std::string& why_not, const interpreter_info& guest) {
    const std::string guest_version = "Python 3." + std::to_string(minor_of(guest.python));
    code_problem problem = *facts.problem();
    problem.note("Python 3." + std::to_string(reader.minor()) + " " + where + " reports this; the code would run on " +
                 guest_version + one_line(why_not, 300) +
                 ". Write code that both accept, or let guards use the same version: set "
                 "python_reader().interpreter(...) to a " +
                 guest_version);
    return code_analysis(facts.source(), std::move(problem));
  }

  /// Parses the code in the guest, after the reader on the host has found a syntax error. If the guest's reader fails,
  /// no error is thrown, because the caller then uses the result of the host.
  static awaitable<reading> ask_guest_too(std::shared_ptr<analysis_worker> self, const std::string& source,
                                          const interpreter_info& guest) {
    reading there;
    try {
      reading got = co_await ask(self, false, source, guest);
      there = std::move(got);
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled) throw;
      there.why_not = failure.what();
    }
    self->require_open();
    co_return there;
  }

  static awaitable<reading> ask(std::shared_ptr<analysis_worker> self, bool on_host, const std::string& source,
                                const interpreter_info& guest) {
    const std::shared_ptr<reader_process> reader = on_host ? self->host_ : self->guest_;
    reading result;
    for (int attempt = 0;; ++attempt) {
      const bool fresh = !reader->works();
      if (fresh) {
        std::string problem = co_await start(self, on_host, guest);
        result.why_not = std::move(problem);
        if (!result.why_not.empty()) co_return result;
      }
      std::shared_ptr<reader_exchange> exchange =
          co_await reader_process::ask(reader, source, minor_of(guest.python), self->patience());
      if (!exchange->answer.empty()) {
        reader->distrust();  // stays untrusted if parse_facts throws
        result.facts.emplace(parse_facts(source, exchange->answer));
        reader->trust();
        co_return result;
      }
      self->require_open();
      // The process had died before it received the code, so the code is not the cause, and a new process is tried
      // once.
      if (fresh || attempt > 0 || !exchange->ended || reader->ended_by_alarm()) break;
    }
    code_problem problem("TooCostly",
                         "it cannot be read within " + std::to_string(self->settings_.timeout().count()) +
                             " ms, or needs too much memory",
                         0, 0);
    result.facts.emplace(source, std::move(problem));
    co_return result;
  }

  std::chrono::milliseconds patience() const { return settings_.timeout() + std::chrono::milliseconds(500); }

  // ---- the processes ----
  /// Starts a reader. Returns an empty text if its greeting has arrived, otherwise a description of the problem.
  static awaitable<std::string> start(std::shared_ptr<analysis_worker> self, bool on_host,
                                      const interpreter_info& guest) {
    process started;
    std::chrono::milliseconds limit = std::chrono::seconds(30);
    if (on_host) {
      if (!self->children_) self->children_.emplace(self->executor_);
      command starts = reader_command(self->settings_, self->settings_.interpreter());
      spawn_request request = request_for(starts, "/bin/sh", self->host_variables());
      process running = co_await self->children_->start(std::move(starts), std::move(request));
      started = std::move(running);
    } else {
      if (!guest.start) co_return std::string("the environment of this runner cannot start processes");
      process running = co_await guest.start(self->settings_);
      started = std::move(running);
      limit = guest.start_timeout;
    }
    self->require_open();
    const std::shared_ptr<reader_process> reader = on_host ? self->host_ : self->guest_;
    std::string problem = co_await reader_process::greet(reader, std::move(started), limit);
    co_return problem;
  }

  static std::vector<std::string> host_variables() { return {"PATH=" + std::string(default_path), "LANG=C.UTF-8"}; }

  python_reader settings_;
  std::mutex mutex_;  // protects home_
  std::optional<home_strand> home_;
  asio::any_io_executor executor_;
  std::unique_ptr<async_semaphore> turn_;
  std::optional<child_processes> children_;
  std::shared_ptr<reader_process> host_;
  std::shared_ptr<reader_process> guest_;
  bool without_host_ = false;
  bool closed_ = false;
  std::deque<std::shared_ptr<const code_analysis>> kept_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
