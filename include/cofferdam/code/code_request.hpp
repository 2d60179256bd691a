// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/host_function.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>

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

namespace cofferdam::inline v0 {

/// A piece of code to run: `code_request("sum(data)").variable("data", data).timeout(10s)`. A value.
class code_request {
 public:
  code_request() = default;
  /// \param source  the code, UTF-8.
  explicit code_request(std::string source) : source_(std::move(source)) {}

  const std::string& source() const noexcept { return source_; }

  /// Code of the program's own that runs first, in the same globals: functions and imports that the source stands on. Lines
  /// of errors are the source's, whatever stands here; what fails within it shows as `<prelude>` in the traceback.
  /// **Guards judge the source alone**: what is imported here, the source can use.
  /// \param source  UTF-8; trusted as the program is.
  /// \par Source    kodeagent's `tools_code`.
  code_request& prelude(std::string source) & {
    prelude_ = std::move(source);
    return *this;
  }
  code_request&& prelude(std::string source) && { return std::move(prelude(std::move(source))); }
  const std::string& prelude() const noexcept { return prelude_; }

  /// Puts a value under a name before the code runs. What JSON cannot say is tagged (`tagged_value.hpp`): an object with the
  /// key "$python" stands for such a value. JSON that is not the program's own goes in by `python_json(value)`.
  /// \param name  an identifier of the language; one that is none is an error of the run. Letters that Python reads as
  ///              others (the ligature fi as f and i) are those others, as in source.
  code_request& variable(std::string name, boost::json::value value) & {
    variables_[name] = std::move(value);
    return *this;
  }
  code_request&& variable(std::string name, boost::json::value value) && {
    return std::move(variable(std::move(name), std::move(value)));
  }
  /// The same for what Boost.JSON can convert: texts, vectors, maps.
  template <class T>
    requires(!std::convertible_to<T, boost::json::value> && boost::json::has_value_from<std::remove_cvref_t<T>>::value)
  code_request& variable(std::string name, T&& value) & {
    return variable(std::move(name), boost::json::value_from(std::forward<T>(value)));
  }
  template <class T>
    requires(!std::convertible_to<T, boost::json::value> && boost::json::has_value_from<std::remove_cvref_t<T>>::value)
  code_request&& variable(std::string name, T&& value) && {
    return std::move(variable(std::move(name), boost::json::value_from(std::forward<T>(value))));
  }
  const boost::json::object& variables() const noexcept { return variables_; }

  /// Ends the run (and all it has started) this long after its start. Default: the runner's.
  /// \param limit  more than zero, or `no_timeout`.
  /// \throws error{errc::invalid_argument} for zero and less.
  code_request& timeout(std::chrono::milliseconds limit) & {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, "code_request: the timeout must be longer than zero (no_timeout says: none)");
    timeout_ = limit;
    return *this;
  }
  code_request&& timeout(std::chrono::milliseconds limit) && { return std::move(timeout(limit)); }
  std::optional<std::chrono::milliseconds> timeout() const noexcept { return timeout_; }

  /// Runs where earlier code of the same context has run, with what that has left in its globals; the first use makes the
  /// context. Runs of one context wait for each other. Without it every run begins afresh.
  /// \param name  1 to 200 bytes of UTF-8.
  /// \throws error{errc::invalid_argument}
  code_request& context(std::string name) & {
    if (name.empty() || name.size() > 200)
      throw error(errc::invalid_argument, "code_request: a context's name has 1 to 200 bytes");
    context_ = std::move(name);
    return *this;
  }
  code_request&& context(std::string name) && { return std::move(context(std::move(name))); }
  const std::optional<std::string>& context() const noexcept { return context_; }

  /// Lets the code call a coroutine of the host.
  /// \throws error{errc::invalid_argument} where there is one of that name already.
  code_request& function(host_function one) & {
    for (const host_function& each : functions_)
      if (each.name() == one.name())
        throw error(errc::invalid_argument, "code_request: there are two functions '" + one.name() + "'");
    functions_.push_back(std::move(one));
    return *this;
  }
  code_request&& function(host_function one) && { return std::move(function(std::move(one))); }
  const std::vector<host_function>& functions() const noexcept { return functions_; }

  /// Gives the code a function that ends the run with a final value: `SUBMIT(answer=42)`.
  /// \param name    its name.
  /// \param fields  the values it takes, in order; empty: one value, which is then called "output", or any named ones.
  code_request& final_function(std::string name, std::vector<std::string> fields = {}) & {
    final_name_ = std::move(name);
    final_fields_ = std::move(fields);
    return *this;
  }
  code_request&& final_function(std::string name, std::vector<std::string> fields = {}) && {
    return std::move(final_function(std::move(name), std::move(fields)));
  }
  const std::string& final_name() const noexcept { return final_name_; }
  const std::vector<std::string>& final_fields() const noexcept { return final_fields_; }

  /// How many bytes of each output stream the result keeps. Default: the runner's.
  code_request& keep_output(std::size_t bytes_per_stream) & {
    kept_output_ = bytes_per_stream;
    return *this;
  }
  code_request&& keep_output(std::size_t bytes_per_stream) && { return std::move(keep_output(bytes_per_stream)); }
  std::optional<std::size_t> kept_output() const noexcept { return kept_output_; }

  /// Sets an environment variable for this run; in a context it is as before afterwards.
  /// \param value  without NUL; one that has any is an error of the run, and so is a name that cannot be one.
  code_request& environment(std::string name, std::string value) & {
    environment_[name] = std::move(value);
    return *this;
  }
  code_request&& environment(std::string name, std::string value) && {
    return std::move(environment(std::move(name), std::move(value)));
  }
  /// Name -> value, both strings.
  const boost::json::object& environment() const noexcept { return environment_; }

  /// Does not print an exception that nobody has caught; `code_result::failure()` has it all the same.
  code_request& quiet_failure() & {
    quiet_failure_ = true;
    return *this;
  }
  code_request&& quiet_failure() && { return std::move(quiet_failure()); }
  bool is_quiet_failure() const noexcept { return quiet_failure_; }

  /// Told what a run prints while it runs: the first half of what is kept of each stream, piece by piece. What is left of
  /// that when the run ends, and all that is kept besides, is told by the result only, which has everything.
  using output_listener = std::function<void(output_stream stream, bytes_view piece)>;
  /// \param hears  is not called any more once `run_code` is over. What it throws ends the run, and comes out of that.
  code_request& on_output(output_listener hears) & {
    on_output_ = std::move(hears);
    return *this;
  }
  code_request&& on_output(output_listener hears) && { return std::move(on_output(std::move(hears))); }
  const output_listener& on_output() const noexcept { return on_output_; }

  /// Given what a run displays, at once, behind what it has printed before; the result has no displays then.
  using display_listener = std::function<void(display_output shown)>;
  /// \param takes  as of `on_output`.
  code_request& on_display(display_listener takes) & {
    on_display_ = std::move(takes);
    return *this;
  }
  code_request&& on_display(display_listener takes) && { return std::move(on_display(std::move(takes))); }
  const display_listener& on_display() const noexcept { return on_display_; }

 private:
  std::string source_;
  std::string prelude_;
  boost::json::object variables_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::optional<std::string> context_;
  std::vector<host_function> functions_;
  std::string final_name_;
  std::vector<std::string> final_fields_;
  std::optional<std::size_t> kept_output_;
  boost::json::object environment_;
  output_listener on_output_;
  display_listener on_display_;
  bool quiet_failure_ = false;
};

}  // namespace cofferdam::inline v0
