// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/captured.hpp>
#include <cofferdam/core/protections.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0 {

/// What went wrong around a command. `none` is also the kind of a command that merely exited with another code than 0.
enum class error_kind {
  none,
  timeout,                 ///< ended by its time limit
  command_not_allowed,     ///< refused by an allowlist, before anything started
  absolute_path_detected,  ///< refused by the path advice, before anything started
  invalid_argument,        ///< the command cannot be one: empty, or with a NUL byte
  execution_error,         ///< could not be started; `cause()` has the system's code
  out_of_memory,           ///< ended by a memory limit
  process_limit,           ///< ended or refused by a limit on processes
  disk_full,               ///< ended or refused by a limit on disk space
  security_violation,      ///< code that a guard has refused, before anything ran
};

/// The kind as the words a model reads.
inline std::string_view to_string(error_kind kind) noexcept {
  switch (kind) {
    case error_kind::none: return "none";
    case error_kind::timeout: return "timeout";
    case error_kind::command_not_allowed: return "command_not_allowed";
    case error_kind::absolute_path_detected: return "absolute_path_detected";
    case error_kind::invalid_argument: return "invalid_argument";
    case error_kind::execution_error: return "execution_error";
    case error_kind::out_of_memory: return "out_of_memory";
    case error_kind::process_limit: return "process_limit";
    case error_kind::disk_full: return "disk_full";
    case error_kind::security_violation: return "security_violation";
  }
  return "unknown";
}

/// What a command did, or why it was not run. A value; the setters are for backends and layers.
///
/// `exit 137`, death by signal 9, a memory limit and a time limit are four different results: the first has
/// `exit_code() == 137`, the second `term_signal() == 9`, the others their `kind()`.
class command_result {
 public:
  /// Nothing has run: `exit_code()` is -1 and `ok()` false.
  command_result() = default;

  /// A command that exited by itself.
  /// \param code  0 to 255.
  static command_result exited(int code) {
    command_result result;
    result.exit_code_ = code;
    return result;
  }

  /// A command that was not run.
  /// \param kind    why, as one word; not `error_kind::none`.
  /// \param reason  one sentence: what happened.
  /// \param advice  one sentence: what to do instead; may be empty.
  static command_result refused(error_kind kind, std::string reason, std::string advice = {}) {
    command_result result;
    result.kind_ = kind;
    result.reason_ = std::move(reason);
    result.advice_ = std::move(advice);
    return result;
  }

  /// It ran, nothing ended it, and it exited with 0.
  bool ok() const noexcept { return kind_ == error_kind::none && term_signal_ == 0 && exit_code_ == 0; }

  /// 0 to 255 where the command exited by itself; -1 where it did not (a signal, a refusal, no start).
  int exit_code() const noexcept { return exit_code_; }
  command_result& exit_code(int code) {
    exit_code_ = code;
    return *this;
  }

  /// The signal that ended the command; 0 where none did.
  int term_signal() const noexcept { return term_signal_; }
  command_result& term_signal(int number) {
    term_signal_ = number;
    return *this;
  }

  error_kind kind() const noexcept { return kind_; }
  command_result& kind(error_kind kind) {
    kind_ = kind;
    return *this;
  }

  /// One sentence that says what `kind()` means here, in our words; empty for `error_kind::none`.
  const std::string& reason() const noexcept { return reason_; }
  command_result& reason(std::string sentence) {
    reason_ = std::move(sentence);
    return *this;
  }

  /// What to do about it, for a model to read; often empty. A command that ran may have advice too.
  const std::string& advice() const noexcept { return advice_; }
  command_result& advice(std::string sentence) {
    advice_ = std::move(sentence);
    return *this;
  }

  /// The system's code behind `error_kind::execution_error`; false where there is none.
  std::error_code cause() const noexcept { return cause_; }
  command_result& cause(std::error_code code) {
    cause_ = code;
    return *this;
  }

  /// Standard output.
  const captured& out() const noexcept { return out_; }
  command_result& out(captured stream) {
    out_ = std::move(stream);
    return *this;
  }

  /// Standard error.
  const captured& err() const noexcept { return err_; }
  command_result& err(captured stream) {
    err_ = std::move(stream);
    return *this;
  }

  /// From start to the end of what is waited for, on a steady clock.
  std::chrono::nanoseconds duration() const noexcept { return duration_; }
  command_result& duration(std::chrono::nanoseconds elapsed) {
    duration_ = elapsed;
    return *this;
  }

  /// The command has ended, and something that it has started goes on (`background_policy::keep`).
  bool left_running() const noexcept { return left_running_; }
  command_result& left_running(bool left) {
    left_running_ = left;
    return *this;
  }

  /// User and system time of the command and the children it waited for, where the backend knows.
  std::optional<std::chrono::microseconds> cpu_time() const noexcept { return cpu_time_; }
  command_result& cpu_time(std::chrono::microseconds used) {
    cpu_time_ = used;
    return *this;
  }

  /// Largest resident set, in bytes, of the command or any child it waited for, where the backend knows.
  std::optional<std::uint64_t> peak_memory() const noexcept { return peak_memory_; }
  command_result& peak_memory(std::uint64_t size) {
    peak_memory_ = size;
    return *this;
  }

  /// The walls that stood around the command; all "none" where it did not run.
  const protections& walls() const noexcept {
    static const protections nothing;
    return walls_ ? *walls_ : nothing;
  }
  command_result& walls(std::shared_ptr<const protections> standing) {
    walls_ = std::move(standing);
    return *this;
  }

 private:
  int exit_code_ = -1;
  int term_signal_ = 0;
  bool left_running_ = false;
  error_kind kind_ = error_kind::none;
  std::string reason_;
  std::string advice_;
  std::error_code cause_;
  captured out_;
  captured err_;
  std::chrono::nanoseconds duration_{};
  std::optional<std::chrono::microseconds> cpu_time_;
  std::optional<std::uint64_t> peak_memory_;
  std::shared_ptr<const protections> walls_;
};

}  // namespace cofferdam::inline v0
