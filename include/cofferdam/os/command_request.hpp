// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/proxy_variables.hpp>
#include <cofferdam/os/spawn.hpp>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The search path for programs, if a command has no environment variable PATH.
inline constexpr std::string_view default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Checks a command, and returns a refusal if it is invalid: if it is empty, has a NUL byte, or has a line or an
/// argument that is too long for Linux. Returns no value for a valid command.
inline std::optional<command_result> refuse_invalid(const command& c) {
  const auto invalid = [](std::string reason, std::string advice) {
    return command_result::refused(error_kind::invalid_argument, std::move(reason), std::move(advice));
  };
  const auto too_long = [&](const std::string& what, std::size_t size) {
    return invalid(what + " has " + std::to_string(size) + " bytes; Linux allows at most " +
                       std::to_string(command::max_string - 1),
                   "Write the text to a file first, and run a short command that uses the file.");
  };
  constexpr const char* no_nul = "Remove the NUL byte; write binary data to a file instead.";
  if (c.is_shell()) {
    if (c.line().find('\0') != std::string::npos) return invalid("The command contains a NUL byte", no_nul);
    if (c.line().find_first_not_of(" \t\n") == std::string::npos) return invalid("The command is empty", "");
    if (c.line().size() >= command::max_string) return too_long("The command", c.line().size());
    return std::nullopt;
  }
  if (c.words().empty() || c.words().front().empty()) return invalid("The command is empty", "");
  for (const std::string& word : c.words()) {
    if (word.find('\0') != std::string::npos) return invalid("A word of the command contains a NUL byte", no_nul);
    if (word.size() >= command::max_string) return too_long("A word of the command", word.size());
  }
  return std::nullopt;
}

/// Sets a variable, `NAME=value`, in place of one with the same name.
inline void set_variable(std::vector<std::string>& variables, std::string variable) {
  const std::string start = variable.substr(0, variable.find('=') + 1);
  std::erase_if(variables, [&](const std::string& each) { return each.starts_with(start); });
  variables.push_back(std::move(variable));
}

/// Makes the request that starts a command. The caller still has to set the descriptors and the directory in it.
/// \param c  the command.
/// \param shell      the absolute path of the shell, which runs a command line as `shell -c -- LINE`.
/// \param variables  the default environment variables, each as "NAME=value". The command's own variables override
///                   them. Programs are searched in the resulting PATH.
/// \param proxy_port  the port of a proxy on 127.0.0.1 for the programs of the command, in whose URL the label of the
///                    command is the user name; 0 for none.
inline spawn_request request_for(const command& c, const std::string& shell, std::vector<std::string> variables,
                                 std::uint16_t proxy_port = 0) {
  spawn_request request;
  request.variables = std::move(variables);
  if (proxy_port != 0)
    for (std::string& each : detail::proxy_variables(proxy_port, c.label()))
      set_variable(request.variables, std::move(each));
  for (const command::variable_setting& setting : c.variables())
    set_variable(request.variables, setting.name() + "=" + setting.value());
  if (c.is_shell()) {
    request.candidates.push_back(shell);
    request.words = {std::filesystem::path(shell).filename().string(), "-c", "--", c.line()};
    return request;
  }
  std::string_view path = default_path;
  for (const std::string& variable : request.variables)
    if (variable.starts_with("PATH=")) path = std::string_view(variable).substr(5);
  request.candidates = program_candidates(c.words().front(), path);
  request.words = c.words();
  return request;
}

/// Returns the name of a command's program for error messages: `the shell`, or the program's name in quotes.
inline std::string shown_program(const command& c) {
  return c.is_shell() ? "the shell" : "\"" + one_line(c.words().front()) + "\"";
}

/// Returns the `reason()` of a command that exceeded its time limit, for example "Command timed out after 1.5 seconds".
inline std::string timeout_reason(std::chrono::milliseconds limit) {
  std::string text = std::to_string(limit.count() / 1000);
  if (const auto rest = limit.count() % 1000; rest != 0) {
    std::string digits = std::to_string(1000 + rest).substr(1);
    while (digits.back() == '0') digits.pop_back();
    text += '.' + digits;
  }
  return "Command timed out after " + text + (text == "1" ? " second" : " seconds");
}

/// Makes the result of a command that could not be started. It has the system's error code and advice for the failed
/// step.
/// \param program  the result of `shown_program`.
/// \param stage  the step that failed.
/// \param cause  the system's error code for this step.
inline command_result refuse_unstarted(const std::string& program, spawn_stage stage, std::error_code cause) {
  const int number = cause.value();
  error_kind kind = error_kind::execution_error;
  std::string advice;
  switch (stage) {
    case spawn_stage::clone:
      if (number == EAGAIN) kind = error_kind::process_limit;
      if (number == ENOMEM) kind = error_kind::out_of_memory;
      advice = "The system cannot start another process now. Wait for other commands to end.";
      break;
    case spawn_stage::directory: advice = "The working directory cannot be entered."; break;
    case spawn_stage::exec:
      if (number == ENOENT)
        advice = "The program is not on the PATH, or the interpreter in its first line does not exist.";
      if (number == ENOENT && program.front() == '"' && program.find(' ') != std::string::npos)
        advice =
            "No program has this name, which contains a blank. Pass each word as a separate argument, or run the line "
            "with a shell.";
      if (number == EACCES)
        advice = "The file is a directory or not executable. Set its x bit, or run it with its interpreter.";
      if (number == ENOEXEC) advice = "The file is not a program, and has no '#!' line. Run it with its interpreter.";
      if (number == ETXTBSY) advice = "A process has the program's file open for writing. Close the file first.";
      if (number == E2BIG) {
        kind = error_kind::invalid_argument;
        advice = "All words and variables together are too long for Linux. Put the text into a file.";
      }
      break;
    case spawn_stage::descriptors:
    case spawn_stage::control_group:
    case spawn_stage::identity:
    case spawn_stage::none: break;
  }
  command_result result =
      command_result::refused(kind, "Cannot run " + program + ": " + cause.message(), std::move(advice));
  result.cause(cause);
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
