// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/captured.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/protections.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// What a piece of code died of: an exception that nobody caught. All of it is the guest's word.
class code_error {
 public:
  code_error() = default;
  code_error(std::string type, std::string message, int line, std::string traceback)
      : type_(std::move(type)), message_(std::move(message)), line_(line), traceback_(std::move(traceback)) {}

  /// The exception's class: "ZeroDivisionError".
  const std::string& type() const noexcept { return type_; }
  const std::string& message() const noexcept { return message_; }
  /// The line of the code, from 1; 0 where it is not known.
  int line() const noexcept { return line_; }
  /// As Python prints it, without frames of the runner; at most 64 KiB.
  const std::string& traceback() const noexcept { return traceback_; }

 private:
  std::string type_;
  std::string message_;
  int line_ = 0;
  std::string traceback_;
};

/// A value that the code has shown, in every form it has.
class display_output {
 public:
  display_output() = default;
  display_output(std::map<std::string, std::string> forms, bool is_value)
      : forms_(std::move(forms)), is_value_(is_value) {}

  /// Mime type -> content: text, or base64 where the type is binary ("image/png"). "text/plain" is always there.
  const std::map<std::string, std::string>& forms() const noexcept { return forms_; }
  /// It is the value of the last expression, not something that was displayed.
  bool is_value() const noexcept { return is_value_; }

 private:
  std::map<std::string, std::string> forms_;
  bool is_value_ = false;
};

/// A file that was made or changed while the code ran, by whomever.
class generated_file {
 public:
  generated_file() = default;
  generated_file(std::string path, std::uint64_t size, bool is_new)
      : path_(std::move(path)), size_(size), is_new_(is_new) {}

  /// Relative to the runner's work directory. Any bytes but NUL.
  const std::string& path() const noexcept { return path_; }
  /// Bytes, when the run ended.
  std::uint64_t size() const noexcept { return size_; }
  /// It was not there before; else it was changed.
  bool is_new() const noexcept { return is_new_; }

 private:
  std::string path_;
  std::uint64_t size_ = 0;
  bool is_new_ = false;
};

/// What a piece of code did, or why it was not run. A value; the setters are for runners and guards.
class code_result {
 public:
  /// Nothing has run.
  code_result() = default;

  /// Code that was not run.
  static code_result refused(error_kind kind, std::string reason) {
    code_result result;
    result.kind_ = kind;
    result.reason_ = std::move(reason);
    return result;
  }

  /// It ran to its end, by itself, without an exception, and its exit code is 0.
  bool success() const noexcept {
    return kind_ == error_kind::none && term_signal_ == 0 && exit_code_ == 0 && !failure_;
  }

  /// 0 to 255; -1 where the code did not end by itself. An uncaught exception is 1, a KeyboardInterrupt 130.
  int exit_code() const noexcept { return exit_code_; }
  code_result& exit_code(int code) {
    exit_code_ = code;
    return *this;
  }

  /// The signal that ended the run's process; 0 where none did.
  int term_signal() const noexcept { return term_signal_; }
  code_result& term_signal(int number) {
    term_signal_ = number;
    return *this;
  }

  /// `timeout`, `out_of_memory` (ended by the memory limit of its container; a limit of the runner's own is a MemoryError),
  /// `execution_error` (the run, its driver or its context was lost, or could not begin), or what a guard says.
  error_kind kind() const noexcept { return kind_; }
  code_result& kind(error_kind kind) {
    kind_ = kind;
    return *this;
  }
  /// One sentence that says what `kind()` means here, in our words.
  const std::string& reason() const noexcept { return reason_; }
  code_result& reason(std::string sentence) {
    reason_ = std::move(sentence);
    return *this;
  }

  /// Standard output of the run and all that it has started.
  const captured& out() const noexcept { return out_; }
  code_result& out(captured stream) {
    out_ = std::move(stream);
    return *this;
  }
  /// Standard error, tracebacks included.
  const captured& err() const noexcept { return err_; }
  code_result& err(captured stream) {
    err_ = std::move(stream);
    return *this;
  }

  /// The exception that ended the code; SystemExit only where its code is not 0.
  const std::optional<code_error>& failure() const noexcept { return failure_; }
  code_result& failure(code_error what) {
    failure_ = std::move(what);
    return *this;
  }

  /// The value of the last statement where that is an expression and its value is not None. JSON, and what JSON has not is
  /// tagged (`tagged_value.hpp`). More than 4 MiB of that, or more than 100 levels, are only a text.
  const std::optional<boost::json::value>& value() const noexcept { return value_; }
  /// False where something in `value()` is only its text (`python_type(...) == "text"`; its "why" says why where the type,
  /// its "type", does not).
  bool value_is_exact() const noexcept { return value_is_exact_; }
  /// Its `repr`, at most some 64 KiB; of a very large one, or one with integers of thousands of digits, a shorter form.
  const std::string& value_text() const noexcept { return value_text_; }
  code_result& value(boost::json::value what, bool is_exact, std::string text) {
    value_ = std::move(what);
    value_is_exact_ = is_exact;
    value_text_ = std::move(text);
    return *this;
  }

  /// What the code has passed to the request's `final_function`.
  const std::optional<boost::json::object>& final_value() const noexcept { return final_value_; }
  bool final_value_is_exact() const noexcept { return final_value_is_exact_; }
  code_result& final_value(boost::json::object what, bool is_exact) {
    final_value_ = std::move(what);
    final_value_is_exact_ = is_exact;
    return *this;
  }

  /// What was displayed, in order; the last expression's value has its place here too.
  const std::vector<display_output>& displays() const noexcept { return displays_; }
  code_result& displays(std::vector<display_output> shown) {
    displays_ = std::move(shown);
    return *this;
  }

  /// New and changed files beneath the work directory, in byte order of their paths: regular files; no symbolic links, nor
  /// what those lead to, and nothing beneath a `__pycache__` or a `.cofferdam`, at any depth.
  const std::vector<generated_file>& files() const noexcept { return files_; }
  /// False where there were more files than the runner looks at, or the run was lost.
  bool files_are_complete() const noexcept { return files_are_complete_; }
  code_result& files(std::vector<generated_file> found, bool are_complete) {
    files_ = std::move(found);
    files_are_complete_ = are_complete;
    return *this;
  }

  /// From the code's start, not counting the time it waited for its context, to the end of all it has started.
  std::chrono::nanoseconds duration() const noexcept { return duration_; }
  code_result& duration(std::chrono::nanoseconds elapsed) {
    duration_ = elapsed;
    return *this;
  }

  /// The walls that stood around the run, as far as its backend says; all "none" where it says nothing.
  const protections& walls() const noexcept {
    static const protections nothing;
    return walls_ ? *walls_ : nothing;
  }
  code_result& walls(std::shared_ptr<const protections> standing) {
    walls_ = std::move(standing);
    return *this;
  }

  /// The request named a context, and that is gone: the next use makes a new one.
  bool context_lost() const noexcept { return context_lost_; }
  code_result& context_lost(bool lost) {
    context_lost_ = lost;
    return *this;
  }

  /// The runner's driver had died before this run and was started anew; what contexts held is gone.
  bool driver_restarted() const noexcept { return driver_restarted_; }
  code_result& driver_restarted(bool restarted) {
    driver_restarted_ = restarted;
    return *this;
  }

 private:
  int exit_code_ = -1;
  int term_signal_ = 0;
  error_kind kind_ = error_kind::none;
  bool value_is_exact_ = false;
  bool final_value_is_exact_ = false;
  bool files_are_complete_ = false;
  bool context_lost_ = false;
  bool driver_restarted_ = false;
  std::string reason_;
  captured out_;
  captured err_;
  std::optional<code_error> failure_;
  std::optional<boost::json::value> value_;
  std::string value_text_;
  std::optional<boost::json::object> final_value_;
  std::vector<display_output> displays_;
  std::vector<generated_file> files_;
  std::chrono::nanoseconds duration_{};
  std::shared_ptr<const protections> walls_;
};

}  // namespace cofferdam::inline v0
