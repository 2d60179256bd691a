// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/serve/e2b_gateway/detail/interpreter_lines.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// A limit for the bytes that code interpreters keep in memory for their clients: of all sandboxes together, or of one
/// sandbox.
class interpreter_memory {
 public:
  explicit interpreter_memory(std::size_t max_bytes) noexcept : max_bytes_(max_bytes), left_(max_bytes) {}
  /// Makes the part of one sandbox: a quarter of the whole, but at least room for one request.
  /// \param request  the maximum size of one request, in bytes.
  interpreter_memory(std::shared_ptr<interpreter_memory> parent, std::size_t request) noexcept
      : all_(std::move(parent)),
        max_bytes_(std::min(all_->max_bytes_, std::max(all_->max_bytes_ / 4, request))),
        left_(max_bytes_) {}

  bool take(std::size_t size) noexcept {
    if (left_ < size) return false;
    if (all_ && !all_->take(size)) return false;
    left_ -= size;
    return true;
  }
  void give(std::size_t size) noexcept {
    if (all_) all_->give(size);
    left_ += size;
  }

 private:
  std::shared_ptr<interpreter_memory> all_;
  std::size_t max_bytes_;
  std::size_t left_;
};

/// Bytes that were taken from an `interpreter_memory`. The destructor returns them.
class interpreter_share {
 public:
  interpreter_share() = default;
  explicit interpreter_share(std::shared_ptr<interpreter_memory> of) noexcept : of_(std::move(of)) {}
  interpreter_share(interpreter_share&& other) noexcept
      : of_(std::move(other.of_)), size_(std::exchange(other.size_, 0)) {}
  interpreter_share& operator=(interpreter_share&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    of_ = std::move(other.of_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~interpreter_share() { give_back(); }

  bool take(std::size_t size) noexcept {
    if (!of_->take(size)) return false;
    size_ += size;
    return true;
  }
  void give(std::size_t size) noexcept {
    of_->give(size);
    size_ -= size;
  }

 private:
  void give_back() noexcept {
    if (of_) of_->give(std::exchange(size_, 0));
  }

  std::shared_ptr<interpreter_memory> of_;
  std::size_t size_ = 0;
};

/// The settings of a code interpreter.
class interpreter_settings {
 public:
  python runner;
  std::size_t contexts = 16;
  std::size_t runs = 64;
  std::size_t request = std::size_t{4} * 1024 * 1024;
  std::size_t output = std::size_t{4} * 1024 * 1024;
  std::size_t results = std::size_t{16} * 1024 * 1024;
  std::chrono::milliseconds request_timeout{60'000};
  std::chrono::milliseconds keepalive{5000};
  std::shared_ptr<interpreter_memory> memory = std::make_shared<interpreter_memory>(std::size_t{256} * 1024 * 1024);
};

/// A context as a client sees it. When a client restarts the context, its id stays the same, but a new context of the
/// runner takes its place.
class interpreter_context {
 public:
  interpreter_context(const asio::any_io_executor& executor, std::string name, std::string where, bool bash)
      : id(std::move(name)), directory(std::move(where)), is_bash(bash), turn(executor, 1) {}

  const std::string id;
  const std::string directory;  // relative to the workspace
  const bool is_bash;           // the language: bash instead of Python
  std::int64_t count = 0;       // the number of executions since the last restart
  std::uint64_t restarts = 0;
  bool is_removed = false;
  cofferdam::detail::async_semaphore turn;

  std::string name() const { return id + "." + std::to_string(restarts); }
};

/// An execution that waits or runs. One coroutine runs the code and queues lines; another sends the lines to the
/// client.
class interpreter_run {
 public:
  /// \param memory  the limit of this sandbox.
  interpreter_run(const asio::any_io_executor& executor, const interpreter_settings& settings,
                  std::shared_ptr<interpreter_memory> memory, std::shared_ptr<interpreter_context> where,
                  code_request what)
      : context(std::move(where)),
        request(std::move(what)),
        share_(std::move(memory)),
        changed_(executor),
        results_left_(settings.results) {}

  std::shared_ptr<interpreter_context> context;
  code_request request;
  asio::cancellation_signal cancel;
  bool is_over = false;
  std::exception_ptr failure;

  /// Waits for a change, at most until the time `limit`. A cancellation ends the wait too; the coroutine then throws at
  /// its next `co_await`.
  awaitable<void> until_changed(std::chrono::steady_clock::time_point limit = cofferdam::detail::async_event::never) {
    co_await changed_.wait(limit);
  }
  void change() noexcept { changed_.notify(); }

  /// Queues a line. It does not count against the memory limit.
  void say(std::string line) {
    if (line.empty()) return;
    lines_.emplace_back(std::move(line), 0);
    change();
  }
  void hear(output_stream stream, bytes_view piece) { offer((stream == output_stream::out ? out_ : err_).take(piece)); }
  void show(const display_output& shown) {
    std::string line = interpreter_result_line(shown);
    if (line.size() > results_left_) {
      is_cut_ = true;
      return;
    }
    results_left_ -= line.size();
    offer(std::move(line));
  }
  /// Queues the rest of the output and the outcome of the code.
  /// \param restarts  the number of the context's restarts before the code began.
  void conclude(const code_result& result, std::uint64_t restarts) {
    offer(out_.finish(result.out()));
    offer(err_.finish(result.err()));
    if (is_cut_) {
      static constexpr std::string_view words = "\n[... part of the output was left out: it is too long ...]\n";
      interpreter_output note("stderr");
      say(note.take(as_bytes(words)));
    }
    if (context->is_removed) {
      say(interpreter_error_line("ExecutionAborted", "The context was removed", ""));
    } else if (context->restarts != restarts) {
      say(interpreter_error_line("ContextRestarting", "The context was restarted", ""));
    } else if (const auto& why = result.failure()) {
      say(interpreter_error_line(why->type(), why->message(), context->is_bash ? "" : why->traceback()));
    } else if (result.context_lost() || result.kind() != error_kind::none) {
      std::string reason = result.reason();
      if (reason.empty()) reason = "The code's process has ended; the next execution starts fresh";
      say(interpreter_error_line("UnexpectedEndOfExecution", reason, ""));
    }
  }
  void end() { say(interpreter_line("end_of_execution")); }

  bool has_lines() const noexcept { return !lines_.empty(); }
  /// Returns some of the queued lines, and removes them. They count against the memory limit until `written` is called.
  std::string take_lines() {
    constexpr std::size_t enough = std::size_t{64} * 1024;
    std::string text;
    while (!lines_.empty() && text.size() < enough) {
      text += lines_.front().first;
      writing_ += lines_.front().second;
      lines_.pop_front();
    }
    return text;
  }
  void written() noexcept { share_.give(std::exchange(writing_, 0)); }

 private:
  void offer(std::string line) {
    if (line.empty()) return;
    const std::size_t size = line.size();
    if (!share_.take(size)) {
      is_cut_ = true;
      return;
    }
    lines_.emplace_back(std::move(line), size);
    change();
  }

  interpreter_share share_;
  cofferdam::detail::async_event changed_;
  std::size_t results_left_;
  interpreter_output out_{"stdout"};
  interpreter_output err_{"stderr"};
  std::deque<std::pair<std::string, std::size_t>> lines_;  // each line with the bytes that it has taken from `share_`
  std::size_t writing_ = 0;
  bool is_cut_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
