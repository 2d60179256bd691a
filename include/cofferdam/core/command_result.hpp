// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/large_block.hpp>
#include <cofferdam/detail/core/signal_name.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The kept part of one output stream: its first bytes, its last bytes and its exact length. Bytes in the middle may be
/// missing.
class captured_output {
 public:
  captured_output() = default;

  /// Makes the kept part of a stream. If no byte is missing between `head` and `tail`, `tail` is appended to `head`.
  /// \param head   the first bytes of the stream.
  /// \param tail   the last bytes of the stream; they do not overlap `head`.
  /// \param total  the length of the stream in bytes. A value below `head.size() + tail.size()` is raised to that sum.
  captured_output(bytes head, bytes tail, std::uint64_t total)
      : head_(std::move(head)),
        tail_(std::move(tail)),
        total_(std::max<std::uint64_t>(total, head_.size() + tail_.size())) {
    if (cut() == 0 && !tail_.empty()) {
      head_.insert(head_.end(), tail_.begin(), tail_.end());
      tail_ = bytes();
    }
  }

  /// Returns the first bytes of the stream, unchanged. If `cut()` is 0, these are all bytes of the stream.
  const bytes& head() const& noexcept { return head_; }
  bytes head() && { return std::move(head_); }
  /// Returns the last bytes of the stream, unchanged; empty if `cut()` is 0.
  const bytes& tail() const& noexcept { return tail_; }
  bytes tail() && { return std::move(tail_); }
  /// Returns the number of bytes in the whole stream, including the bytes that were not kept.
  std::uint64_t total() const noexcept { return total_; }
  /// Returns the number of bytes that are missing between `head()` and `tail()`.
  std::uint64_t cut() const noexcept { return total_ - head_.size() - tail_.size(); }

  /// Returns the stream as valid UTF-8: the head, then, if bytes are missing, a marker and the tail. Each invalid
  /// sequence becomes one U+FFFD, as in the WHATWG decoder. A character that was split by the missing part is left out.
  std::string text() const {
    std::string result;
    const std::size_t expected = head_.size() + tail_.size();
    result.reserve(expected);
    detail::fill_soon(result.data(), expected);
    append_text(result);
    return result;
  }

  /// Returns the part of `text()` before the marker; the whole text if no byte is missing.
  std::string head_text() const {
    std::string result;
    append_head_text(result);
    return result;
  }

  /// Returns the part of `text()` after the marker; empty if no byte is missing.
  std::string tail_text() const {
    std::string result;
    append_tail_text(result);
    return result;
  }

  /// Returns the number of invalid UTF-8 sequences that `text()` replaces.
  std::size_t repairs() const {
    std::string scratch;
    return append_text(scratch);
  }

  /// Returns the marker that `text()` puts between head and tail. A command can print the same text, so test `cut()`
  /// and do not search the text for the marker. `format_result` shows missing text in a form that no output can
  /// imitate.
  static std::string cut_marker(std::uint64_t cut, std::uint64_t total) {
    return "\n[... " + std::to_string(cut) + " of " + std::to_string(total) + " bytes left out ...]\n";
  }

 private:
  std::size_t append_head_text(std::string& out) const {
    return detail::append_repaired_utf8(out, cut() == 0 ? as_text(head_) : detail::without_cut_end(as_text(head_)));
  }

  std::size_t append_tail_text(std::string& out) const {
    return detail::append_repaired_utf8(out, detail::without_cut_start(as_text(tail_)));
  }

  std::size_t append_text(std::string& out) const {
    std::size_t repairs = append_head_text(out);
    if (cut() == 0) return repairs;
    out += cut_marker(cut(), total_);
    repairs += append_tail_text(out);
    return repairs;
  }

  bytes head_;
  bytes tail_;
  std::uint64_t total_ = 0;
};

/// The aspects of a command's isolation that an `isolation_report` describes. "Guest" means the processes of the
/// command, "host" the machine and program that started it.
enum class isolation_kind {
  process_tree,    ///< the processes that are certain to end with the command
  host_death,      ///< the processes that end if the host program is killed
  files,           ///< the files of the host that the guest can access
  network,         ///< the network addresses that the guest can connect to
  signals,         ///< the processes that the guest can send signals to
  system_calls,    ///< the system calls that the guest may make
  memory,          ///< the memory that the guest may use
  process_count,   ///< the number of processes that the guest may start
  secrets,         ///< the guest's access to the memory, environment variables and descriptors of the host
  processor_time,  ///< the processor time that the guest may use
  disk,            ///< the disk space that the guest may use
  open_files,      ///< the number of files that the guest may have open
};

/// Returns the name of an aspect of isolation, as reports show it.
inline std::string_view to_string(isolation_kind which) noexcept {
  switch (which) {
    case isolation_kind::process_tree: return "process_tree";
    case isolation_kind::host_death: return "host_death";
    case isolation_kind::files: return "files";
    case isolation_kind::network: return "network";
    case isolation_kind::signals: return "signals";
    case isolation_kind::system_calls: return "system_calls";
    case isolation_kind::memory: return "memory";
    case isolation_kind::process_count: return "process_count";
    case isolation_kind::secrets: return "secrets";
    case isolation_kind::processor_time: return "processor_time";
    case isolation_kind::disk: return "disk";
    case isolation_kind::open_files: return "open_files";
  }
  return "unknown";
}

/// The isolation of a command: a short description of each aspect. "none" means that the backend does not enforce this
/// aspect itself.
class isolation_report {
 public:
  /// The number of aspects in `isolation_kind`.
  static constexpr std::size_t count = 12;

  /// Returns the backend's description of one aspect; "none" if the backend set no description.
  std::string_view of(isolation_kind which) const noexcept {
    const std::string& words = states_[static_cast<std::size_t>(which)];
    return words.empty() ? std::string_view("none") : std::string_view(words);
  }

  /// Sets the description of one aspect.
  isolation_report& set(isolation_kind which, std::string words) {
    states_[static_cast<std::size_t>(which)] = std::move(words);
    return *this;
  }

 private:
  std::array<std::string, count> states_;
};

/// The reason why a command was refused, not started or ended early. The kind is `none` for a command that exited,
/// whatever its exit status was. It is also `none` for a command that a signal ended, unless the signal enforced a
/// limit.
enum class error_kind {
  none,
  timeout,                 ///< the command was ended at its time limit
  command_not_allowed,     ///< an allowlist refused the command before it started
  absolute_path_detected,  ///< refused before the start: the command seems to use a path outside the workspace, such as
                           ///< `/etc`, `..` or `~name`; Stirrup's name, which models and prompts may know
  invalid_argument,        ///< the command is invalid: it is empty or contains a NUL byte
  execution_error,         ///< the command could not be started; `cause()` returns the system's error code
  out_of_memory,           ///< a memory limit ended the command
  process_limit,           ///< a limit on the number of processes ended or prevented the command
  disk_full,               ///< a limit on disk space ended or prevented the command
  file_too_large,          ///< a limit on the size of a file ended the command
  processor_time_limit,    ///< a limit on processor time ended the command
  security_violation,      ///< a guard (a check of Python code) refused the code before it ran
};

/// Returns the name of an error kind, as a model sees it.
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
    case error_kind::file_too_large: return "file_too_large";
    case error_kind::processor_time_limit: return "processor_time_limit";
    case error_kind::security_violation: return "security_violation";
  }
  return "unknown";
}

/// The outcome of a command, or the reason why it was not run. A value type. The setters are for backends and layers.
/// On a temporary result, `out()` and similar accessors return values instead of references, so `captured_output out =
/// make().out();` is safe.
///
/// A command that exits with status 137 has `exit_code() == 137`. A command that signal 9 ended has `term_signal() ==
/// 9`. For a command that a memory limit or a time limit ended, `kind()` names the limit, `error_kind::out_of_memory`
/// or `error_kind::timeout`.
class command_result {
 public:
  /// Makes the result of a command that has not run: `exit_code()` is -1 and `ok()` is false.
  command_result() = default;

  /// Makes the result of a command that exited.
  /// \param code  the exit status, 0 to 255.
  static command_result exited(int code) {
    command_result result;
    result.exit_code_ = code;
    return result;
  }

  /// Makes the result of a command that was refused and not run.
  /// \param kind    the kind of the refusal; not `error_kind::none`.
  /// \param reason  one sentence that explains what happened.
  /// \param advice  one sentence that explains what to do instead; may be empty.
  static command_result refused(error_kind kind, std::string reason, std::string advice = {}) {
    command_result result;
    result.kind_ = kind;
    result.reason_ = std::move(reason);
    result.advice_ = std::move(advice);
    return result;
  }

  /// Returns true if the command ran to its end and exited with status 0.
  bool ok() const noexcept { return kind_ == error_kind::none && term_signal_ == 0 && exit_code_ == 0; }

  /// Returns the exit status, 0 to 255; -1 if the command did not exit, because it was refused, could not be started or
  /// was ended by a signal.
  int exit_code() const noexcept { return exit_code_; }
  command_result& exit_code(int code) {
    exit_code_ = code;
    return *this;
  }

  /// Returns the number of the signal that ended the command; 0 if no signal did.
  int term_signal() const noexcept { return term_signal_; }
  command_result& term_signal(int number) {
    term_signal_ = number;
    return *this;
  }

  /// Returns the kind of the failure; `error_kind::none` if the command ran to its end.
  error_kind kind() const noexcept { return kind_; }
  command_result& kind(error_kind kind) {
    kind_ = kind;
    return *this;
  }

  /// Returns one sentence that explains `kind()`; empty for `error_kind::none`.
  const std::string& reason() const& noexcept { return reason_; }
  std::string reason() && { return std::move(reason_); }
  command_result& reason(std::string sentence) {
    reason_ = std::move(sentence);
    return *this;
  }

  /// Returns one line that explains how the command ended: "exit status 3", "killed by signal 9 (SIGKILL)", `reason()`
  /// such as "Command timed out after 2 seconds", or "not run". It is for people; decide by `kind()`, `exit_code()` and
  /// `term_signal()`. `format_result` also shows the output.
  /// \return  printable UTF-8 without line breaks; never empty.
  std::string summary() const {
    if (kind_ != error_kind::none) {
      std::string line = reason_.empty() ? std::string(to_string(kind_)) : printable_text(reason_);
      std::replace_if(
          line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
      return line;
    }
    if (term_signal_ != 0) {
      const std::string name = detail::signal_name(term_signal_);
      const std::string number = std::to_string(term_signal_);
      return "killed by signal " + number + (name == number ? std::string() : " (" + name + ")");
    }
    if (exit_code_ >= 0) return "exit status " + std::to_string(exit_code_);
    return "not run";
  }

  /// Returns advice for a model; often empty. The result of a command that ran may have advice too.
  const std::string& advice() const& noexcept { return advice_; }
  std::string advice() && { return std::move(advice_); }
  command_result& advice(std::string sentence) {
    advice_ = std::move(sentence);
    return *this;
  }

  /// Returns the system's error code if `kind()` is `error_kind::execution_error`; otherwise an empty code.
  std::error_code cause() const noexcept { return cause_; }
  command_result& cause(std::error_code code) {
    cause_ = code;
    return *this;
  }

  /// Returns the kept part of standard output.
  const captured_output& out() const& noexcept { return out_; }
  captured_output out() && { return std::move(out_); }
  command_result& out(captured_output stream) {
    out_ = std::move(stream);
    return *this;
  }

  /// Returns standard output as UTF-8 text, with a marker in place of missing bytes.
  std::string out_text() const { return out_.text(); }

  /// Returns the kept part of standard error.
  const captured_output& err() const& noexcept { return err_; }
  captured_output err() && { return std::move(err_); }
  command_result& err(captured_output stream) {
    err_ = std::move(stream);
    return *this;
  }

  /// Returns standard error as UTF-8 text, with a marker in place of missing bytes.
  std::string err_text() const { return err_.text(); }

  /// Returns the time from the start of the command to its end, measured by a steady clock.
  std::chrono::nanoseconds duration() const noexcept { return duration_; }
  command_result& duration(std::chrono::nanoseconds elapsed) {
    duration_ = elapsed;
    return *this;
  }

  /// Returns true if processes that the command started still run. This is possible only with
  /// `background_policy::keep`.
  bool left_running() const noexcept { return left_running_; }
  command_result& left_running(bool left) {
    left_running_ = left;
    return *this;
  }

  /// Returns the processor time (user and system) of the command and of the children that it waited for; no value if
  /// the backend cannot measure it.
  std::optional<std::chrono::microseconds> cpu_time() const noexcept { return cpu_time_; }
  command_result& cpu_time(std::chrono::microseconds used) {
    cpu_time_ = used;
    return *this;
  }

  /// Returns the peak resident memory in bytes of the command or of one child that it waited for, whichever is larger;
  /// no value if the backend cannot measure it.
  std::optional<std::uint64_t> peak_memory() const noexcept { return peak_memory_; }
  command_result& peak_memory(std::uint64_t size) {
    peak_memory_ = size;
    return *this;
  }

  /// Returns the isolation of the command. All aspects are "none" if the command did not run.
  const isolation_report& isolation() const& noexcept {
    static const isolation_report nothing;
    return isolation_ ? *isolation_ : nothing;
  }
  isolation_report isolation() && { return isolation_ ? *isolation_ : isolation_report(); }
  command_result& isolation(std::shared_ptr<const isolation_report> standing) {
    isolation_ = std::move(standing);
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
  captured_output out_;
  captured_output err_;
  std::chrono::nanoseconds duration_{};
  std::optional<std::chrono::microseconds> cpu_time_;
  std::optional<std::uint64_t> peak_memory_;
  std::shared_ptr<const isolation_report> isolation_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
