// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

// Formats the time and the output of a command or of Python code for the answers of tools.

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// Returns a time as text, such as "1.05 s", rounded down to hundredths of a second.
inline std::string seconds_text(std::chrono::nanoseconds time) {
  const auto hundredths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 10;
  const std::string fraction = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (fraction.size() == 1 ? "0" : "") + fraction + " s";
}

/// Appends an output stream to the text for the model, under a heading. Appends nothing if the stream is empty.
inline void add_stream(std::string& text, const char* name, const captured_output& stream) {
  if (stream.total() == 0) return;
  const std::string shown = printable_text(stream.text());
  const auto lines = static_cast<std::size_t>(std::count(shown.begin(), shown.end(), '\n')) +
                     (shown.empty() || shown.back() == '\n' ? 0U : 1U);
  text += "--- " + std::string(name) + " (" + std::to_string(lines) + (lines == 1 ? " line" : " lines") +
          (stream.cut() != 0 ? ", middle cut" : "") + ") ---\n" + shown;
  if (!shown.empty() && shown.back() != '\n') text += '\n';
}

/// Sets both output streams in the JSON data of an answer.
inline void add_streams(boost::json::object& facts, const captured_output& out, const captured_output& err) {
  facts["stdout"] = out.text();
  facts["stderr"] = err.text();
  facts["stdout_truncated"] = out.cut() != 0;
  facts["stderr_truncated"] = err.cut() != 0;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
