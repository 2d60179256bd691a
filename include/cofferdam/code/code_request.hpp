// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/code/host_function.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// A piece of code to run: `code_request("sum(data)").variable("data", data).timeout(10s)`. A value.
class code_request {
 public:
  code_request() = default;
  /// \param source  the code, UTF-8.
  explicit code_request(std::string source) : source_(std::move(source)) {}

  const std::string& source() const noexcept { return source_; }

  /// Sets code of the host program that runs first, in the same globals: functions and imports that the source uses.
  /// Line numbers of errors count from the start of the source. An error inside the prelude is shown as `<prelude>` in
  /// the traceback. **Guards check only the source**: it can use everything that the prelude imports.
  /// \param source  UTF-8; as trusted as the host program.
  /// \par Source    kodeagent's `tools_code`.
  code_request& prelude(std::string source) & {
    prelude_ = std::move(source);
    return *this;
  }
  [[nodiscard]] code_request prelude(std::string source) && { return std::move(prelude(std::move(source))); }
  const std::string& prelude() const noexcept { return prelude_; }

  /// Sets a global variable before the code runs. A value that JSON cannot represent is tagged (`tagged_value.hpp`): an
  /// object with the key "$python" stands for it. Pass JSON from elsewhere through `python_json(value)`.
  /// \param name  an identifier of the language; any other name is an error of the run. Python normalizes letters (the
  ///              ligature fi becomes f and i), as in source code.
  code_request& variable(std::string name, boost::json::value value) & {
    variables_[name] = std::move(value);
    return *this;
  }
  [[nodiscard]] code_request variable(std::string name, boost::json::value value) && {
    return std::move(variable(std::move(name), std::move(value)));
  }
  /// Sets a global variable from any type that Boost.JSON can convert: texts, vectors, maps.
  template <class T>
    requires(!std::convertible_to<T, boost::json::value> && boost::json::has_value_from<std::remove_cvref_t<T>>::value)
  code_request& variable(std::string name, T&& value) & {
    return variable(std::move(name), boost::json::value_from(std::forward<T>(value)));
  }
  template <class T>
    requires(!std::convertible_to<T, boost::json::value> && boost::json::has_value_from<std::remove_cvref_t<T>>::value)
  [[nodiscard]] code_request variable(std::string name, T&& value) && {
    return std::move(variable(std::move(name), boost::json::value_from(std::forward<T>(value))));
  }
  const boost::json::object& variables() const noexcept { return variables_; }

  /// Sets a time limit, counted from the start. At the limit the run and everything it started is ended. Default: that
  /// of the runner.
  /// \param limit  more than zero, or `no_timeout`.
  /// \throws error{exec_errc::invalid_argument} if `limit` is zero or less.
  code_request& timeout(std::chrono::milliseconds limit) & {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument,
                  "code_request: the timeout must be longer than zero (no_timeout says: none)");
    timeout_ = limit;
    return *this;
  }
  [[nodiscard]] code_request timeout(std::chrono::milliseconds limit) && { return std::move(timeout(limit)); }
  std::optional<std::chrono::milliseconds> timeout() const noexcept { return timeout_; }

  /// Runs the code in a named context, which keeps its globals from run to run. The first use makes the context. Runs
  /// of one context wait for each other. If a host function runs code in the context that waits for it, `run_code`
  /// throws error{exec_errc::deadlock}. Without a context every run begins with fresh globals.
  /// \param name  1 to 200 bytes of UTF-8.
  /// \throws error{exec_errc::invalid_argument}
  code_request& context(std::string name) & {
    if (name.empty() || name.size() > 200)
      throw error(exec_errc::invalid_argument, "code_request: a context's name has 1 to 200 bytes");
    context_ = std::move(name);
    return *this;
  }
  [[nodiscard]] code_request context(std::string name) && { return std::move(context(std::move(name))); }
  const std::optional<std::string>& context() const noexcept { return context_; }

  /// Adds a function of the host that the code may call: `request.function(tide)` for a `tools::function tide`.
  /// \throws error{exec_errc::invalid_argument} if there is a function of this name already.
  code_request& function(detail::host_function new_function) & {
    for (const detail::host_function& each : functions_)
      if (each.name() == new_function.name())
        throw error(exec_errc::invalid_argument, "code_request: there are two functions '" + new_function.name() + "'");
    functions_.push_back(std::move(new_function));
    return *this;
  }
  [[nodiscard]] code_request function(detail::host_function new_function) && {
    return std::move(function(std::move(new_function)));
  }
  /// For runners: the functions in the order in which they were added.
  const std::vector<detail::host_function>& functions() const noexcept { return functions_; }

  /// Adds a function that ends the run with a final value: `SUBMIT(answer=42)`.
  /// \param name    its name.
  /// \param fields  its parameters, in order. Empty: one value, which is then called "output", or any named values.
  code_request& final_function(std::string name, std::vector<std::string> fields = {}) & {
    final_name_ = std::move(name);
    final_fields_ = std::move(fields);
    return *this;
  }
  [[nodiscard]] code_request final_function(std::string name, std::vector<std::string> fields = {}) && {
    return std::move(final_function(std::move(name), std::move(fields)));
  }
  const std::string& final_name() const noexcept { return final_name_; }
  const std::vector<std::string>& final_fields() const noexcept { return final_fields_; }

  /// Sets the number of bytes that the result keeps of each output stream. Default: that of the runner.
  code_request& keep_output(std::size_t bytes_per_stream) & {
    kept_output_ = bytes_per_stream;
    return *this;
  }
  [[nodiscard]] code_request keep_output(std::size_t bytes_per_stream) && {
    return std::move(keep_output(bytes_per_stream));
  }
  std::optional<std::size_t> kept_output() const noexcept { return kept_output_; }

  /// Sets an environment variable for this run only; a context gets its old value back afterwards.
  /// \param value  without NUL. A value with NUL and an invalid name are errors of the run.
  code_request& environment(std::string name, std::string value) & {
    environment_[name] = std::move(value);
    return *this;
  }
  [[nodiscard]] code_request environment(std::string name, std::string value) && {
    return std::move(environment(std::move(name), std::move(value)));
  }
  /// Returns an object of names and values, all of them strings.
  const boost::json::object& environment() const noexcept { return environment_; }

  /// Adds the contents of new and changed files to the result (`generated_file::content`): as many as fit, each of at
  /// most 16 MB. For runners whose files cannot be read otherwise, such as `pyodide()`. Has no effect on a runner with
  /// an `environment()`, which can read the files. The contents come from the guest and are untrusted.
  /// \param max_bytes  maximum bytes of all contents together. Default: 0.
  code_request& keep_files(std::size_t max_bytes) & {
    kept_files_ = max_bytes;
    return *this;
  }
  [[nodiscard]] code_request keep_files(std::size_t max_bytes) && { return std::move(keep_files(max_bytes)); }
  std::size_t kept_files() const noexcept { return kept_files_; }

  /// Does not print an uncaught exception; `code_result::failure()` has it nevertheless.
  code_request& quiet_failure() & {
    quiet_failure_ = true;
    return *this;
  }
  [[nodiscard]] code_request quiet_failure() && { return std::move(quiet_failure()); }
  bool is_quiet_failure() const noexcept { return quiet_failure_; }

  /// Receives the output of a run while it runs: the first half of the kept bytes of each stream, piece by piece. The
  /// rest is only in the result, which has all kept bytes.
  using output_listener = std::function<void(output_stream stream, bytes_view piece)>;
  /// \param listener  a callable for `output_listener`. Not called after the end of `run_code`. An exception from it
  ///                  ends the run, and `run_code` throws that exception. g++ before 13 refuses a temporary lambda that
  ///                  captures by value: name it first.
  code_request& on_output(detail::callable_argument<void(output_stream stream, bytes_view piece)> listener) & {
    on_output_ = listener.take();
    return *this;
  }
  [[nodiscard]] code_request on_output(
      detail::callable_argument<void(output_stream stream, bytes_view piece)> listener) && {
    return std::move(on_output(std::move(listener)));
  }
  const output_listener& on_output() const noexcept { return on_output_; }

  /// Receives each display at once, after the output that was printed before it. The result then has no displays.
  using display_listener = std::function<void(display_output shown)>;
  /// \param listener  as for `on_output`.
  code_request& on_display(detail::callable_argument<void(display_output shown)> listener) & {
    on_display_ = listener.take();
    return *this;
  }
  [[nodiscard]] code_request on_display(detail::callable_argument<void(display_output shown)> listener) && {
    return std::move(on_display(std::move(listener)));
  }
  const display_listener& on_display() const noexcept { return on_display_; }

 private:
  std::string source_;
  std::string prelude_;
  boost::json::object variables_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::optional<std::string> context_;
  std::vector<detail::host_function> functions_;
  std::string final_name_;
  std::vector<std::string> final_fields_;
  std::optional<std::size_t> kept_output_;
  boost::json::object environment_;
  output_listener on_output_;
  display_listener on_display_;
  std::size_t kept_files_ = 0;
  bool quiet_failure_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
