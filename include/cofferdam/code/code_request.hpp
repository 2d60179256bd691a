// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/python_class.hpp>
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

/// A request to run a piece of code: the source, its variables, functions, time limit and other settings. A value type.
/// Example: `code_request("sum(data)").variable("data", data).timeout(10s)`.
class code_request {
 public:
  code_request() = default;
  /// \param source  the code to run, UTF-8.
  explicit code_request(std::string source) : source_(std::move(source)) {}

  /// Returns the code.
  const std::string& source() const noexcept { return source_; }

  /// Sets code that is executed before the source, with the same globals, for example to define functions and imports
  /// that the source uses. Line numbers of errors count from the start of the source, not of the prelude. In a
  /// traceback the prelude has the file name `<prelude>`. **Guards check only the source**: the source can use
  /// everything that the prelude imports.
  /// \param source  code in UTF-8 that the host program trusts as much as itself.
  /// \par Source    kodeagent's `tools_code`.
  code_request& prelude(std::string source) & {
    prelude_ = std::move(source);
    return *this;
  }
  [[nodiscard]] code_request prelude(std::string source) && { return std::move(prelude(std::move(source))); }
  const std::string& prelude() const noexcept { return prelude_; }

  /// Sets a global variable before the code runs. An object with the key "$python" is a tagged value: it represents a
  /// Python value that JSON cannot represent (see `tagged_value.hpp`). If the JSON comes from another program, pass it
  /// through `python_json(value)` first, so that such a key in it is only data.
  /// \param name  an identifier of the language. With any other name the run fails. Python normalizes letters in names
  ///              as it does in source code: the ligature fi becomes f and i.
  /// \param value  the value, as JSON.
  code_request& variable(std::string name, boost::json::value value) & {
    variables_[name] = std::move(value);
    return *this;
  }
  /// Sets a global variable from any type that Boost.JSON can convert, for example strings, vectors and maps.
  template <class T>
    requires(!std::convertible_to<T, boost::json::value> && boost::json::has_value_from<std::remove_cvref_t<T>>::value)
  code_request& variable(std::string name, T&& value) & {
    return variable(std::move(name), boost::json::value_from(std::forward<T>(value)));
  }
  template <class T = boost::json::value>
    requires(std::convertible_to<T, boost::json::value> || boost::json::has_value_from<std::remove_cvref_t<T>>::value)
  [[nodiscard]] code_request variable(std::string name, T&& value) && {
    return std::move(variable(std::move(name), std::forward<T>(value)));
  }
  /// Returns the variables of the run, by name.
  const boost::json::object& variables() const noexcept { return variables_; }

  /// Describes a class of Python whose values cross as JSON, in variables, values, and the arguments of functions. The
  /// description is valid for this run only, also in a context.
  /// \throws error{exec_errc::invalid_argument} if the request already describes a class of this name.
  code_request& describe(python_class about) & {
    for (const python_class& each : classes_)
      if (each.name() == about.name())
        throw error(exec_errc::invalid_argument, "code_request: the class '" + about.name() + "' is described twice");
    classes_.push_back(std::move(about));
    return *this;
  }
  [[nodiscard]] code_request describe(python_class about) && { return std::move(describe(std::move(about))); }
  /// Returns the classes that `describe` has added. Runners use this list.
  const std::vector<python_class>& classes() const noexcept { return classes_; }

  /// Sets the time limit of the run, counted from the start of the code. At the limit, a run without a context is
  /// ended, with all processes that it has started. A run in a context is interrupted first. Default: the time limit of
  /// the runner.
  /// \param limit  more than zero, or `no_timeout` for no limit.
  /// \throws error{exec_errc::invalid_argument} if `limit` is zero or less.
  code_request& timeout(std::chrono::milliseconds limit) & {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument,
                  "code_request: the timeout must be longer than zero (use no_timeout for no limit)");
    timeout_ = limit;
    return *this;
  }
  [[nodiscard]] code_request timeout(std::chrono::milliseconds limit) && { return std::move(timeout(limit)); }
  std::optional<std::chrono::milliseconds> timeout() const noexcept { return timeout_; }

  /// Runs the code in a named context. A context keeps its globals from run to run, and is created at its first use.
  /// Only one run at a time uses a context; other runs wait. A host function (a function of this program that the code
  /// calls) must not run code in the context of the run that has called it: `run_code` then throws
  /// error{exec_errc::deadlock}. Default: no context, so that the run has fresh globals.
  /// \param name  1 to 200 bytes of UTF-8.
  /// \throws error{exec_errc::invalid_argument} if the name is empty or too long.
  code_request& context(std::string name) & {
    if (name.empty() || name.size() > 200)
      throw error(exec_errc::invalid_argument, "code_request: the name of a context must have 1 to 200 bytes");
    context_ = std::move(name);
    return *this;
  }
  [[nodiscard]] code_request context(std::string name) && { return std::move(context(std::move(name))); }
  const std::optional<std::string>& context() const noexcept { return context_; }

  /// Adds a function of the host program that the code may call: `request.function(tide)` for a `tools::function tide`.
  /// \throws error{exec_errc::invalid_argument} if the request already has a function of this name.
  code_request& function(detail::host_function new_function) & {
    for (const detail::host_function& each : functions_)
      if (each.name() == new_function.name())
        throw error(exec_errc::invalid_argument,
                    "code_request: two functions have the name '" + new_function.name() + "'; rename one");
    functions_.push_back(std::move(new_function));
    return *this;
  }
  [[nodiscard]] code_request function(detail::host_function new_function) && {
    return std::move(function(std::move(new_function)));
  }
  /// Returns the functions in the order in which they were added. Runners use this list.
  const std::vector<detail::host_function>& functions() const noexcept { return functions_; }

  /// Adds a function that the code calls to end the run with a final value: `SUBMIT(answer=42)`.
  /// \param name    the function's name in the code.
  /// \param fields  the names of the function's parameters, in order. If empty, the function takes either one
  ///                positional value, which is stored under the name "output", or any named values.
  code_request& final_function(std::string name, std::vector<std::string> fields = {}) & {
    final_name_ = std::move(name);
    final_fields_ = std::move(fields);
    return *this;
  }
  [[nodiscard]] code_request final_function(std::string name, std::vector<std::string> fields = {}) && {
    return std::move(final_function(std::move(name), std::move(fields)));
  }
  /// Returns the name of the function that `final_function` adds; empty if there is none.
  const std::string& final_name() const noexcept { return final_name_; }
  /// Returns the parameters of the function that `final_function` adds.
  const std::vector<std::string>& final_fields() const noexcept { return final_fields_; }

  /// Sets the maximum number of bytes that the result keeps of each output stream. Default: the setting of the runner.
  code_request& keep_output(std::size_t bytes_per_stream) & {
    kept_output_ = bytes_per_stream;
    return *this;
  }
  [[nodiscard]] code_request keep_output(std::size_t bytes_per_stream) && {
    return std::move(keep_output(bytes_per_stream));
  }
  /// Returns the number of bytes that `keep_output` sets; absent if it was not called.
  std::optional<std::size_t> kept_output() const noexcept { return kept_output_; }

  /// Sets an environment variable for this run only. In a context, the previous value is restored after the run.
  /// \param name  the name of the variable.
  /// \param value  the text of the variable. If the value contains a NUL byte, or `name` is not the name of an
  ///               environment variable, the run fails.
  code_request& environment(std::string name, std::string value) & {
    environment_[name] = std::move(value);
    return *this;
  }
  [[nodiscard]] code_request environment(std::string name, std::string value) && {
    return std::move(environment(std::move(name), std::move(value)));
  }
  /// Returns the environment variables as an object: its keys are the names, its values are strings.
  const boost::json::object& environment() const noexcept { return environment_; }

  /// Adds the contents of new and changed files to the result (`generated_file::content`). A file of more than about 16
  /// MB is left out, and so is a file that does not fit into `max_bytes`. Use this with runners whose files cannot be
  /// read in another way, such as `pyodide()`. The setting has no effect on a runner that has an `environment()`,
  /// because the host can read files there. The contents come from the guest (the code that runs) and are untrusted.
  /// \param max_bytes  the maximum total size of all contents, in bytes. Default: 0, which adds no contents.
  code_request& keep_files(std::size_t max_bytes) & {
    kept_files_ = max_bytes;
    return *this;
  }
  [[nodiscard]] code_request keep_files(std::size_t max_bytes) && { return std::move(keep_files(max_bytes)); }
  /// Returns the number of bytes that `keep_files` sets; 0 if it was not called.
  std::size_t kept_files() const noexcept { return kept_files_; }

  /// Suppresses the traceback of an uncaught exception on standard error. `code_result::failure()` has the exception in
  /// any case.
  code_request& quiet_failure() & {
    quiet_failure_ = true;
    return *this;
  }
  [[nodiscard]] code_request quiet_failure() && { return std::move(quiet_failure()); }
  /// Returns true if `quiet_failure` was called.
  bool is_quiet_failure() const noexcept { return quiet_failure_; }

  /// A callable that receives output while the code runs, piece by piece. Of each stream it receives at most the first
  /// half of the bytes that the result keeps (see `keep_output`). The result has all kept bytes. Python's
  /// output may come 0.1 s late, and the last pieces may come after the end of the code.
  using output_listener = std::function<void(output_stream stream, bytes_view piece)>;
  /// Sets a callable that receives output while the code runs.
  /// \param listener  a callable for `output_listener`. It is not called after `run_code` has returned. If it throws,
  ///                  the run is ended and `run_code` throws the same exception. g++ 12 does not compile a temporary
  ///                  lambda that captures by value: give the lambda a name first.
  code_request& on_output(detail::callable_argument<void(output_stream stream, bytes_view piece)> listener) & {
    on_output_ = listener.take();
    return *this;
  }
  [[nodiscard]] code_request on_output(
      detail::callable_argument<void(output_stream stream, bytes_view piece)> listener) && {
    return std::move(on_output(std::move(listener)));
  }
  const output_listener& on_output() const noexcept { return on_output_; }

  /// A callable that receives each displayed value at once, after the output that was printed before it. If a request
  /// has such a callable, its result has no displays.
  using display_listener = std::function<void(display_output shown)>;
  /// Sets a callable that receives each displayed value while the code runs.
  /// \param listener  a callable for `display_listener`. It is not called after `run_code` has returned. If it throws,
  ///                  the run is ended and `run_code` throws the same exception. g++ 12 does not compile a temporary
  ///                  lambda that captures by value: give the lambda a name first.
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
  std::vector<python_class> classes_;
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
