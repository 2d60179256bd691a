// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The uncaught exception that ended a piece of code. All of it comes from the guest and is untrusted.
class code_error {
 public:
  code_error() = default;
  code_error(std::string type, std::string message, int line, std::string traceback)
      : type_(std::move(type)), message_(std::move(message)), line_(line), traceback_(std::move(traceback)) {}

  /// Returns the exception's class: "ZeroDivisionError".
  const std::string& type() const& noexcept { return type_; }
  std::string type() && { return std::move(type_); }
  const std::string& message() const& noexcept { return message_; }
  std::string message() && { return std::move(message_); }
  /// Returns the line of the code, from 1; 0 if it is not known.
  int line() const noexcept { return line_; }
  /// Returns the traceback as Python prints it, without frames of the runner; at most 64 KiB.
  const std::string& traceback() const& noexcept { return traceback_; }
  std::string traceback() && { return std::move(traceback_); }

 private:
  std::string type_;
  std::string message_;
  int line_ = 0;
  std::string traceback_;
};

/// A value that the code has displayed, in all its forms.
class display_output {
 public:
  display_output() = default;
  display_output(std::map<std::string, std::string> forms, bool is_value)
      : forms_(std::move(forms)), is_value_(is_value) {}

  /// Returns the contents by MIME type: text, or base64 if the type is binary ("image/png"). "text/plain" always
  /// exists.
  const std::map<std::string, std::string>& forms() const& noexcept { return forms_; }
  std::map<std::string, std::string> forms() && { return std::move(forms_); }
  /// Returns true if it is the value of the last expression, and false if it was displayed.
  bool is_value() const noexcept { return is_value_; }

 private:
  std::map<std::string, std::string> forms_;
  bool is_value_ = false;
};

/// A file that was made or changed during the run, by any process.
class generated_file {
 public:
  generated_file() = default;
  generated_file(std::string path, std::uint64_t size, bool is_new)
      : path_(std::move(path)), size_(size), is_new_(is_new) {}

  /// Returns the path relative to the runner's work directory. Any bytes but NUL.
  const std::string& path() const& noexcept { return path_; }
  std::string path() && { return std::move(path_); }
  /// Returns the size in bytes at the end of the run.
  std::uint64_t size() const noexcept { return size_; }
  /// Returns true if the file did not exist before; false if it was changed.
  bool is_new() const noexcept { return is_new_; }
  /// Returns the content at the end of the run, if it was requested by `code_request::keep_files` and there was room.
  const std::optional<bytes>& content() const& noexcept { return content_; }
  std::optional<bytes> content() && { return std::move(content_); }
  generated_file& content(bytes data) {
    content_ = std::move(data);
    return *this;
  }

 private:
  std::optional<bytes> content_;
  std::string path_;
  std::uint64_t size_ = 0;
  bool is_new_ = false;
};

/// The outcome of a piece of code, or the reason why it was not run. A value type. The setters are for runners and
/// guards.
class code_result {
 public:
  /// A result of code that has not run.
  code_result() = default;

  /// Makes the result of code that was not run.
  static code_result refused(error_kind kind, std::string reason) {
    code_result result;
    result.kind_ = kind;
    result.reason_ = std::move(reason);
    return result;
  }

  /// Returns true if the code ended by itself, without an exception, with exit code 0.
  bool success() const noexcept {
    return kind_ == error_kind::none && term_signal_ == 0 && exit_code_ == 0 && !failure_;
  }

  /// Returns the exit code, 0 to 255, or -1 if the code did not end by itself. It is 1 for an uncaught exception and
  /// 130 for a KeyboardInterrupt.
  int exit_code() const noexcept { return exit_code_; }
  code_result& exit_code(int code) {
    exit_code_ = code;
    return *this;
  }

  /// Returns the signal that ended the run's process, or 0.
  int term_signal() const noexcept { return term_signal_; }
  code_result& term_signal(int number) {
    term_signal_ = number;
    return *this;
  }

  /// Returns the kind of failure: `timeout`; `out_of_memory` (ended by the memory limit of the container; the runner's
  /// own limit leads to a MemoryError); `execution_error` (the run, its driver or its context was lost or could not
  /// begin); or the kind set by a guard.
  error_kind kind() const noexcept { return kind_; }
  code_result& kind(error_kind kind) {
    kind_ = kind;
    return *this;
  }
  /// Returns one sentence that explains `kind()`.
  const std::string& reason() const& noexcept { return reason_; }
  std::string reason() && { return std::move(reason_); }
  code_result& reason(std::string sentence) {
    reason_ = std::move(sentence);
    return *this;
  }

  /// Returns standard output of the run and of all processes that it started.
  const captured_output& out() const& noexcept { return out_; }
  captured_output out() && { return std::move(out_); }
  code_result& out(captured_output stream) {
    out_ = std::move(stream);
    return *this;
  }
  /// Returns standard error, tracebacks included.
  const captured_output& err() const& noexcept { return err_; }
  captured_output err() && { return std::move(err_); }
  code_result& err(captured_output stream) {
    err_ = std::move(stream);
    return *this;
  }

  /// Returns the exception that ended the code. SystemExit is included only if its code is not 0.
  const std::optional<code_error>& failure() const& noexcept { return failure_; }
  std::optional<code_error> failure() && { return std::move(failure_); }
  code_result& failure(code_error what) {
    failure_ = std::move(what);
    return *this;
  }

  /// Returns the value of the last statement, if that is an expression whose value is not None. JSON; other values are
  /// tagged (`tagged_value.hpp`). A value of more than 4 MiB or more than 100 levels is only a text.
  const std::optional<boost::json::value>& value() const& noexcept { return value_; }
  std::optional<boost::json::value> value() && { return std::move(value_); }
  /// Returns false if a part of `value()` is only a text (`python_type(...) == "text"`). The members "type" or "why" of
  /// that part give the reason.
  bool value_is_exact() const noexcept { return value_is_exact_; }
  /// Returns the `repr` of the value, at most some 64 KiB; a shorter form for a very large value or integers of
  /// thousands of digits.
  const std::string& value_text() const& noexcept { return value_text_; }
  std::string value_text() && { return std::move(value_text_); }
  code_result& value(boost::json::value what, bool is_exact, std::string text) {
    value_ = std::move(what);
    value_is_exact_ = is_exact;
    value_text_ = std::move(text);
    return *this;
  }

  /// Returns the value that the code has passed to the request's `final_function`.
  const std::optional<boost::json::object>& final_value() const& noexcept { return final_value_; }
  std::optional<boost::json::object> final_value() && { return std::move(final_value_); }
  bool final_value_is_exact() const noexcept { return final_value_is_exact_; }
  code_result& final_value(boost::json::object what, bool is_exact) {
    final_value_ = std::move(what);
    final_value_is_exact_ = is_exact;
    return *this;
  }

  /// Returns the displays in order, including the value of the last expression.
  const std::vector<display_output>& displays() const& noexcept { return displays_; }
  std::vector<display_output> displays() && { return std::move(displays_); }
  code_result& displays(std::vector<display_output> shown) {
    displays_ = std::move(shown);
    return *this;
  }

  /// Returns the new and changed regular files beneath the work directory, in byte order of their paths. Symbolic links
  /// and their targets are left out, and so is everything beneath a `__pycache__` or a `.cofferdam`, at any depth.
  const std::vector<generated_file>& files() const& noexcept { return files_; }
  std::vector<generated_file> files() && { return std::move(files_); }
  /// Returns false if there were more files than the runner looks at, or if the run was lost.
  bool files_are_complete() const noexcept { return files_are_complete_; }
  code_result& files(std::vector<generated_file> found, bool are_complete) {
    files_ = std::move(found);
    files_are_complete_ = are_complete;
    return *this;
  }
  /// Adds contents to the files of the result.
  /// \param read  contents by path.
  code_result& contents(std::unordered_map<std::string, bytes> read) {
    for (generated_file& each : files_) {
      const auto found = read.find(each.path());
      if (found != read.end()) each.content(std::move(found->second));
    }
    return *this;
  }

  /// Returns the time from the code's start, without the wait for its context, to the end of everything it started.
  std::chrono::nanoseconds duration() const noexcept { return duration_; }
  code_result& duration(std::chrono::nanoseconds elapsed) {
    duration_ = elapsed;
    return *this;
  }

  /// Returns the isolation of the run, as far as the backend knows it; otherwise all "none".
  const isolation_report& isolation() const& noexcept {
    static const isolation_report nothing;
    return isolation_ ? *isolation_ : nothing;
  }
  isolation_report isolation() && { return isolation_ ? *isolation_ : isolation_report(); }
  code_result& isolation(std::shared_ptr<const isolation_report> standing) {
    isolation_ = std::move(standing);
    return *this;
  }

  /// Returns true if the context of the request was lost. The next use makes a new one.
  bool context_lost() const noexcept { return context_lost_; }
  code_result& context_lost(bool lost) {
    context_lost_ = lost;
    return *this;
  }

  /// Returns true if the driver had died before this run and was restarted. All contexts were lost.
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
  captured_output out_;
  captured_output err_;
  std::optional<code_error> failure_;
  std::optional<boost::json::value> value_;
  std::string value_text_;
  std::optional<boost::json::object> final_value_;
  std::vector<display_output> displays_;
  std::vector<generated_file> files_;
  std::chrono::nanoseconds duration_{};
  std::shared_ptr<const isolation_report> isolation_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
