// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/format_result.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/detail/output_text.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

// Converts the result of a command to the answer for a client.

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

using cofferdam::detail::signal_name;

/// The outcome of a command or of Python code, as the answer of a tool states it.
class command_outcome {
 public:
  const char* status = "failed";  ///< the member `status` of the JSON data
  std::string line;               ///< the first line of the text, without its line end
  bool is_error = false;
};

/// Returns true if nothing ran, because a rule or a check refused the command or the code.
inline bool is_rejection(error_kind kind) noexcept {
  return kind == error_kind::command_not_allowed || kind == error_kind::absolute_path_detected ||
         kind == error_kind::invalid_argument || kind == error_kind::security_violation;
}

/// Returns the reason in a result. The advice follows on its own line, if there is any.
inline std::string reason_of(const command_result& result) {
  return result.advice().empty() ? result.reason() : result.reason() + "\n" + result.advice();
}

inline command_outcome outcome_of(const command_result& result) {
  command_outcome outcome;
  const std::string time = " (" + seconds_text(result.duration()) + ")";
  if (result.kind() == error_kind::timeout) {
    outcome.status = "timeout";
    outcome.line = "timed out" + time + "; the command and everything it started were killed";
    outcome.is_error = true;
  } else if (is_rejection(result.kind())) {
    outcome.status = "rejected";
    outcome.line = "not run: " + reason_of(result);
    outcome.is_error = true;
  } else if (result.term_signal() != 0) {
    outcome.status = "signaled";
    outcome.line = "killed by " + signal_name(result.term_signal()) + time;
    if (!result.reason().empty()) outcome.line += ": " + reason_of(result);
  } else if (result.exit_code() >= 0) {
    outcome.status = "exited";
    outcome.line = "exit code " + std::to_string(result.exit_code()) + time;
    if (!result.reason().empty()) outcome.line += ": " + reason_of(result);
  } else {
    outcome.line = "could not run: " + reason_of(result);
    outcome.is_error = true;
  }
  return outcome;
}

inline answer command_answer(const command_result& result) {
  const command_outcome outcome = outcome_of(result);
  std::string text = outcome.line + "\n";
  add_stream(text, "stdout", result.out());
  add_stream(text, "stderr", result.err());
  if (result.reason().empty() && !result.advice().empty()) text += "--- advice ---\n" + result.advice() + "\n";
  boost::json::object facts;
  facts["status"] = outcome.status;
  const std::string_view status = outcome.status;
  if (status == "exited") facts["exit_code"] = result.exit_code();
  if (status == "signaled") facts["signal"] = signal_name(result.term_signal());
  add_streams(facts, result.out(), result.err());
  facts["stdout_bytes"] = result.out().total();
  facts["stderr_bytes"] = result.err().total();
  facts["duration_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(result.duration()).count();
  if (!result.reason().empty()) facts["reason"] = reason_of(result);
  answer told(text);
  told.structured(std::move(facts)).is_error(outcome.is_error);
  return told;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
