// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/format_result.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// The tool that runs a shell command in an environment: `tools::code_exec tool(environment);`
///
/// Its arguments are `cmd`, the command line, and `timeout`, an optional time limit in seconds. The answer is the text
/// of `format_result`. `ok()` is true if the command exited with status 0.
/// \par Lifetime  the environment outlives the tool and its calls, and stays at one address.
/// \par Threads   the same rules as for the environment.
/// \par Source    Stirrup's tool of this name: the name, the description and the schema are the same, except for
///                `timeout`.
template <code_exec_environment E>
class code_exec {
 public:
  /// Makes the tool for an environment, which the caller keeps open.
  explicit code_exec(E& environment) : environment_(&environment) {}

  std::string_view name() const noexcept { return name_; }
  /// Sets the name. Default: "code_exec". An agent with two environments needs two different names.
  code_exec& name(std::string text) {
    name_ = std::move(text);
    return *this;
  }

  std::string_view description() const noexcept { return description_; }
  /// Sets the description, which the model reads. It should list the installed programs.
  code_exec& description(std::string text) {
    description_ = std::move(text);
    return *this;
  }

  boost::json::object parameters() const {
    boost::json::object cmd;
    cmd["type"] = "string";
    cmd["title"] = "Cmd";
    cmd["description"] =
        "Shell command to execute (bash syntax). IMPORTANT: Use only relative paths. Do not use absolute paths "
        "(starting with / or ~) or reference directories outside the working directory.";
    boost::json::object timeout;
    timeout["type"] = "number";
    timeout["title"] = "Timeout";
    timeout["description"] = "Seconds before the command is killed. Optional.";
    timeout["exclusiveMinimum"] = 0;
    boost::json::object properties;
    properties["cmd"] = std::move(cmd);
    properties["timeout"] = std::move(timeout);
    boost::json::array required;
    required.emplace_back("cmd");
    boost::json::object schema;
    schema["type"] = "object";
    schema["title"] = "CodeExecutionParams";
    schema["description"] = "Shell command to execute in the execution environment.";
    schema["properties"] = std::move(properties);
    schema["required"] = std::move(required);
    schema["additionalProperties"] = false;
    return schema;
  }

  /// Runs the command and returns its result as text.
  /// \throws error{exec_errc::cancelled}, error{exec_errc::provider_lost}, error{exec_errc::environment_closed}; never
  ///     because of the model's arguments or the outcome of the command.
  /// \par Cancellation  terminal: the command is ended.
  awaitable<tool_result> call(boost::json::value arguments) {
    return call(std::move(arguments), tool_output_listener());
  }
  /// Runs the command and passes its output to the listener. If the environment cannot `start` commands, the listener
  /// is not used.
  awaitable<tool_result> call(boost::json::value arguments, tool_output_argument listener) {
    return run(environment_, std::move(arguments), listener.take());
  }

 private:
  static awaitable<tool_result> run(E* environment, boost::json::value arguments, tool_output_listener listener) {
    std::optional<command> parsed;
    std::string complaint = parse(arguments, parsed);
    if (!parsed) co_return refusal(std::move(complaint));
    try {
      if constexpr (streaming_environment<E>) {
        if (listener && can_start(*environment)) {
          const auto tell = [&listener](const output_chunk& piece) { listener(piece.stream(), piece.data()); };
          command_result watched = co_await stream_output(*environment, std::move(*parsed), tell);
          co_return tool_result(format_result(watched), watched.ok());
        }
      }
      command_result result = co_await environment->run_command(std::move(*parsed));
      co_return tool_result(format_result(result), result.ok());
    } catch (const error& failure) {
      if (cofferdam::detail::ends_everything(failure)) throw;
      complaint = failure.what();
    }
    co_return refusal(std::move(complaint));
  }

  static bool can_start(const E& environment) {
    if constexpr (requires {
                    { environment.can_start() } -> std::same_as<bool>;
                  }) {
      return environment.can_start();
    } else {
      return true;
    }
  }

  static tool_result refusal(std::string reason) {
    return tool_result(format_result(command_result::refused(error_kind::invalid_argument, std::move(reason))), false);
  }

  /// Fills `parsed` and returns an empty text, or returns an error message about the arguments.
  static std::string parse(const boost::json::value& arguments, std::optional<command>& parsed) {
    if (!arguments.is_object()) return "The arguments must be a JSON object with a string 'cmd'.";
    const boost::json::object& object = arguments.get_object();
    for (const auto& member : object)
      if (member.key() != "cmd" && member.key() != "timeout")
        return "Unknown argument '" + one_line(std::string_view(member.key())) + "'; use only 'cmd' and 'timeout'.";
    const boost::json::value* const cmd = object.if_contains("cmd");
    if (cmd == nullptr) return "The argument 'cmd' is missing.";
    if (!cmd->is_string()) return "The argument 'cmd' must be a string.";
    command result = shell(std::string(cmd->get_string()));
    const boost::json::value* const limit = object.if_contains("timeout");
    if (limit != nullptr && !limit->is_null()) {
      if (!limit->is_number()) return "The argument 'timeout' must be a number of seconds.";
      const double seconds = limit->to_number<double>();
      constexpr double longest = 365.0 * 24 * 3600;
      if (!std::isfinite(seconds) || seconds < 0.001 || seconds > longest)
        return "The argument 'timeout' must be more than 0 and at most " + std::to_string(static_cast<long>(longest)) +
               " seconds.";
      result.timeout(std::chrono::milliseconds(std::llround(seconds * 1000)));
    }
    parsed.emplace(std::move(result));
    return {};
  }

  E* environment_;
  std::string name_ = "code_exec";
  std::string description_ =
      "Execute a shell command in the execution environment. Returns exit code, stdout, and stderr as XML.";
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
