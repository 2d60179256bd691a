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

/// The uncaught exception that ended a piece of code. Its texts come from the guest (the code that was run) and are
/// untrusted.
class code_error {
 public:
  code_error() = default;
  /// Describes an exception. The other members describe the parameters.
  code_error(std::string type, std::string message, int line, std::string traceback)
      : type_(std::move(type)), message_(std::move(message)), line_(line), traceback_(std::move(traceback)) {}

  /// Returns the name of the exception's class, for example "ZeroDivisionError".
  const std::string& type() const& noexcept { return type_; }
  std::string type() && { return std::move(type_); }
  /// Returns the message of the exception.
  const std::string& message() const& noexcept { return message_; }
  std::string message() && { return std::move(message_); }
  /// Returns the line of the code at which the exception was raised, counted from 1; 0 if the line is not known.
  int line() const noexcept { return line_; }
  /// Returns the traceback as Python prints it, at most 64 KiB. Frames of the driver (the runner's own Python program,
  /// which executes the code) are left out.
  const std::string& traceback() const& noexcept { return traceback_; }
  std::string traceback() && { return std::move(traceback_); }

 private:
  std::string type_;
  std::string message_;
  int line_ = 0;
  std::string traceback_;
};

/// A value that the code has displayed, in one or several forms (text, HTML, an image and others).
class display_output {
 public:
  display_output() = default;
  /// Describes a displayed value. The other members describe the parameters.
  display_output(std::map<std::string, std::string> forms, bool is_value)
      : forms_(std::move(forms)), is_value_(is_value) {}

  /// Returns the forms of the value: the key is the MIME type, the mapped value is the content. The content is base64
  /// if the MIME type is binary ("image/png"), otherwise text. The key "text/plain" always exists.
  const std::map<std::string, std::string>& forms() const& noexcept { return forms_; }
  std::map<std::string, std::string> forms() && { return std::move(forms_); }
  /// Returns true if this is the value of the code's last expression, and false if the code called a display function.
  bool is_value() const noexcept { return is_value_; }

 private:
  std::map<std::string, std::string> forms_;
  bool is_value_ = false;
};

/// A file that was created or changed during the run, by the code or by any process that it started.
class generated_file {
 public:
  generated_file() = default;
  /// Describes a file. The other members describe the parameters.
  generated_file(std::string path, std::uint64_t size, bool is_new)
      : path_(std::move(path)), size_(size), is_new_(is_new) {}

  /// Returns the path relative to the runner's work directory. The path may contain any byte except NUL, and need not
  /// be valid UTF-8.
  const std::string& path() const& noexcept { return path_; }
  std::string path() && { return std::move(path_); }
  /// Returns the size of the file in bytes at the end of the run.
  std::uint64_t size() const noexcept { return size_; }
  /// Returns true if the run created the file, and false if the file existed before and was changed.
  bool is_new() const noexcept { return is_new_; }
  /// Returns the content of the file at the end of the run. The content is absent unless the request has set
  /// `code_request::keep_files` and the file fitted into its limit.
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

/// The result of a piece of code: its output, value, failure and files, or the reason why the code was not run. A value
/// type. Users read it; the setters are for runners and guards.
class code_result {
 public:
  /// Makes the result of code that has not run: the exit code is -1, and everything else is empty.
  code_result() = default;

  /// Makes the result of code that was refused, and therefore not run.
  /// \param kind  the kind of the refusal.
  /// \param reason  one sentence for the author of the code.
  static code_result refused(error_kind kind, std::string reason) {
    code_result result;
    result.kind_ = kind;
    result.reason_ = std::move(reason);
    return result;
  }

  /// Returns true if the code has ended without an uncaught exception, a signal or a failure of the runner, and its
  /// exit code is 0.
  bool ok() const noexcept { return kind_ == error_kind::none && term_signal_ == 0 && exit_code_ == 0 && !failure_; }

  /// Returns the exit code, from 0 to 255, or -1 if the code was not run or was ended from outside. An uncaught
  /// exception gives 1, and a KeyboardInterrupt gives 130.
  int exit_code() const noexcept { return exit_code_; }
  code_result& exit_code(int code) {
    exit_code_ = code;
    return *this;
  }

  /// Returns the number of the signal that ended the process of the run, or 0 if no signal did.
  int term_signal() const noexcept { return term_signal_; }
  code_result& term_signal(int number) {
    term_signal_ = number;
    return *this;
  }

  /// Returns the kind of failure, or `error_kind::none`:
  ///
  /// * `timeout`: the code ran into its time limit.
  /// * `out_of_memory`: the memory limit of the environment ended the code. A `memory_limit` of the runner leads to a
  ///   MemoryError in the code instead.
  /// * `execution_error`: the run could not begin, its report is not valid, the driver has ended, or the context was
  ///   ended by `end_context`.
  /// * Guards set other kinds, such as `security_violation`.
  error_kind kind() const noexcept { return kind_; }
  code_result& kind(error_kind kind) {
    kind_ = kind;
    return *this;
  }
  /// Returns one sentence that explains `kind()`; empty if the kind is `none`.
  const std::string& reason() const& noexcept { return reason_; }
  std::string reason() && { return std::move(reason_); }
  code_result& reason(std::string sentence) {
    reason_ = std::move(sentence);
    return *this;
  }

  /// Returns the standard output of the code and of all processes that it started.
  const captured_output& out() const& noexcept { return out_; }
  captured_output out() && { return std::move(out_); }
  code_result& out(captured_output stream) {
    out_ = std::move(stream);
    return *this;
  }
  /// Returns the standard error of the code and of all processes that it started, tracebacks included.
  const captured_output& err() const& noexcept { return err_; }
  captured_output err() && { return std::move(err_); }
  code_result& err(captured_output stream) {
    err_ = std::move(stream);
    return *this;
  }

  /// Returns the uncaught exception that ended the code, if there was one. A SystemExit counts only if its exit code is
  /// not 0.
  const std::optional<code_error>& failure() const& noexcept { return failure_; }
  std::optional<code_error> failure() && { return std::move(failure_); }
  code_result& failure(code_error what) {
    failure_ = std::move(what);
    return *this;
  }

  /// Returns the value of the code's last statement. It is absent unless the statement is an expression whose value is
  /// not None. A Python value that JSON cannot represent, and a dict with more than 1,000 keys, is a tagged object (see
  /// `tagged_value.hpp`). A value that has more than 4 MiB or more than 100 levels is replaced by its text.
  const std::optional<boost::json::value>& value() const& noexcept { return value_; }
  std::optional<boost::json::value> value() && { return std::move(value_); }
  /// Returns true if `value()` represents the Python value completely. Returns false if a part of it is only a text,
  /// for which `python_type(part)` is "text". The members "type" or "why" of this part give the reason.
  bool value_is_exact() const noexcept { return value_is_exact_; }
  /// Returns the `repr` of the value, at most some 64 KiB. For a very large value, or for integers of thousands of
  /// digits, this is a shorter form.
  const std::string& value_text() const& noexcept { return value_text_; }
  std::string value_text() && { return std::move(value_text_); }
  code_result& value(boost::json::value what, bool is_exact, std::string text) {
    value_ = std::move(what);
    value_is_exact_ = is_exact;
    value_text_ = std::move(text);
    return *this;
  }

  /// Returns the named values that the code has passed to the request's `final_function`; absent if the code did not
  /// call this function.
  const std::optional<boost::json::object>& final_value() const& noexcept { return final_value_; }
  std::optional<boost::json::object> final_value() && { return std::move(final_value_); }
  /// Returns true if `final_value()` has exactly the values that the code has passed.
  bool final_value_is_exact() const noexcept { return final_value_is_exact_; }
  code_result& final_value(boost::json::object what, bool is_exact) {
    final_value_ = std::move(what);
    final_value_is_exact_ = is_exact;
    return *this;
  }

  /// Returns the displayed values in the order of their display, including the value of the last expression.
  const std::vector<display_output>& displays() const& noexcept { return displays_; }
  std::vector<display_output> displays() && { return std::move(displays_); }
  code_result& displays(std::vector<display_output> shown) {
    displays_ = std::move(shown);
    return *this;
  }

  /// Returns the regular files beneath the work directory that the run has created or changed, sorted by the bytes of
  /// their paths. Symbolic links and their targets are left out. Everything beneath a folder named `__pycache__` or
  /// `.cofferdam` is left out too, at any depth.
  const std::vector<generated_file>& files() const& noexcept { return files_; }
  std::vector<generated_file> files() && { return std::move(files_); }
  /// Returns false if files may be missing from `files()`: the work directory had more files than the runner checks, or
  /// the run was lost.
  bool files_are_complete() const noexcept { return files_are_complete_; }
  code_result& files(std::vector<generated_file> found, bool are_complete) {
    files_ = std::move(found);
    files_are_complete_ = are_complete;
    return *this;
  }
  /// Adds contents to the files that the result already has. Contents of other paths are ignored.
  /// \param read  a map from the path of a file to its content.
  code_result& contents(std::unordered_map<std::string, bytes> read) {
    for (generated_file& each : files_) {
      const auto found = read.find(each.path());
      if (found != read.end()) each.content(std::move(found->second));
    }
    return *this;
  }

  /// Returns the time from the start of the code until the code and all processes of the run have ended. The wait for a
  /// busy context is not included.
  std::chrono::nanoseconds duration() const noexcept { return duration_; }
  code_result& duration(std::chrono::nanoseconds elapsed) {
    duration_ = elapsed;
    return *this;
  }

  /// Returns the isolation of the run, as far as the backend knows it. If the isolation is not known, every entry of
  /// the report is "none".
  const isolation_report& isolation() const& noexcept {
    static const isolation_report nothing;
    return isolation_ ? *isolation_ : nothing;
  }
  isolation_report isolation() && { return isolation_ ? *isolation_ : isolation_report(); }
  code_result& isolation(std::shared_ptr<const isolation_report> standing) {
    isolation_ = std::move(standing);
    return *this;
  }

  /// Returns true if the context of this request was lost during the run. The next use of its name creates a new
  /// context.
  bool context_lost() const noexcept { return context_lost_; }
  code_result& context_lost(bool lost) {
    context_lost_ = lost;
    return *this;
  }

  /// Returns true if the driver (the interpreter process that executes runs) had died before this run and was
  /// restarted. All contexts of the runner were lost then.
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
