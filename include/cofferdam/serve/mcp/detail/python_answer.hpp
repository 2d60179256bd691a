// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/tools/image_header.hpp>
#include <cofferdam/net/readable_json.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/detail/command_answer.hpp>
#include <cofferdam/serve/mcp/detail/output_text.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Converts the result of Python code to the answer for a client: a text for the model, and the same facts as JSON.

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

inline command_outcome outcome_of(const code_result& result) {
  command_outcome outcome;
  const std::string time = " (" + seconds_text(result.duration()) + ")";
  if (result.kind() == error_kind::timeout) {
    outcome.status = "timeout";
    outcome.line = "timed out" + time;
    if (result.context_lost()) outcome.line += "; the interpreter was restarted, and its variables are lost";
    outcome.is_error = true;
  } else if (is_rejection(result.kind())) {
    outcome.status = "rejected";
    // The reasons of the library's guards, which check code before it runs, begin with these words already.
    const std::string_view reason = result.reason();
    outcome.line = "not run: " + std::string(reason.substr(reason.starts_with("Not run: ") ? 9 : 0));
    outcome.is_error = true;
  } else if (result.kind() != error_kind::none) {
    outcome.status = "failed";
    outcome.line = "could not run: " + result.reason();
    outcome.is_error = true;
  } else if (result.failure()) {
    outcome.status = "error";
    outcome.line =
        "error " + one_line(result.failure()->type(), 100) + ": " + one_line(result.failure()->message(), 500) + time;
  } else if (result.term_signal() != 0) {
    outcome.status = "error";
    outcome.line = "the interpreter was killed by " + signal_name(result.term_signal()) + time;
  } else if (result.exit_code() != 0) {
    outcome.status = "error";
    outcome.line = "exit code " + std::to_string(result.exit_code()) + time;
  } else {
    outcome.status = "ok";
    outcome.line = "ok" + time;
  }
  return outcome;
}

/// Returns true if the variables of the interpreter are lost, because it was restarted.
inline bool lost_variables(const code_result& result) { return result.context_lost() || result.driver_restarted(); }

/// Adds the value of the last expression: the start of its text, and its JSON if that is exact and has at most 64 KiB.
inline void add_value(const code_result& result, std::string& text, boost::json::object& facts) {
  constexpr std::size_t max_value = 10'000;
  constexpr std::size_t max_json = 64 * 1024;
  if (result.value_text().empty()) return;
  std::string value;
  cofferdam::detail::append_repaired_utf8(
      value, cofferdam::detail::without_cut_end(std::string_view(result.value_text()).substr(0, max_value)));
  if (result.value_text().size() > max_value) value += " ...";
  text += "--- result ---\n" + printable_text(value) + "\n";
  facts["result"] = value;
  if (!result.value() || !result.value_is_exact()) return;
  const std::string exact = readable_json(*result.value());
  if (exact.size() <= max_json) facts["result_json"] = exact;
}

/// Adds the exception that has ended the code, if any.
inline void add_exception(const code_result& result, std::string& text, boost::json::object& facts) {
  if (!result.failure()) return;
  const auto repaired = [](std::string_view raw) {
    std::string valid;
    cofferdam::detail::append_repaired_utf8(valid, raw);
    return valid;
  };
  const std::string traceback = repaired(result.failure()->traceback());
  boost::json::object exception;
  exception["type"] = repaired(result.failure()->type());
  exception["message"] = repaired(result.failure()->message());
  exception["traceback"] = traceback;
  facts["error"] = std::move(exception);
  // The text contains the traceback already if it was printed to standard error.
  if (result.err().total() == 0) text += "--- traceback ---\n" + printable_text(traceback);
}

/// Adds the names of the files that the code has made or changed; at most 50.
inline void add_files(const code_result& result, std::string& text, boost::json::object& facts) {
  constexpr std::size_t max_files = 50;
  boost::json::array listed;
  std::string names;
  for (const generated_file& file : result.files()) {
    if (listed.size() == max_files) {
      names += ", ...";
      break;
    }
    const std::string shown = one_line(file.path());
    names += (names.empty() ? "" : ", ") + shown;
    listed.emplace_back(shown);
  }
  if (listed.empty()) return;
  text += "--- new files ---\n" + names + "\n";
  facts["new_files"] = std::move(listed);
}

/// Adds the images that the code has displayed to the answer, and their types and sizes to the facts. Leaves out images
/// that are too large or damaged, and images after the first eight.
inline void add_images(const code_result& result, boost::json::object& facts, answer& into) {
  constexpr std::size_t max_images = 8;
  constexpr std::size_t max_bytes = std::size_t{4} * 1024 * 1024;
  boost::json::array shown;
  for (const display_output& display : result.displays()) {
    for (const char* const kind : {"image/png", "image/jpeg"}) {
      const auto found = display.forms().find(kind);
      if (found == display.forms().end() || shown.size() == max_images || found->second.size() > max_bytes) continue;
      std::string plain = found->second;
      std::erase(plain, '\n');
      const std::optional<bytes> file = cofferdam::detail::base64_decode(plain);
      const std::optional<tools::detail::image_header> header =
          file ? tools::detail::read_image_header(*file) : std::nullopt;
      if (!header || !header->has_size() || tools::detail::mime_type(header->format) != kind) continue;
      boost::json::object image;
      image["mime_type"] = kind;
      image["width"] = header->width;
      image["height"] = header->height;
      shown.push_back(std::move(image));
      into.add(content::image(*file, kind));
      break;
    }
  }
  if (!shown.empty()) facts["images"] = std::move(shown);
}

/// Makes the answer to a call of `run_python`.
/// \param context    the id of the interpreter.
/// \param was_reset  true if the interpreter was started afresh before the run.
inline answer python_answer(const code_result& result, const std::string& context, bool was_reset) {
  const command_outcome outcome = outcome_of(result);
  const bool is_lost = lost_variables(result);
  std::string text = outcome.line + "\n";
  if (is_lost && result.kind() != error_kind::timeout)
    text += "The interpreter was restarted, and its variables are lost.\n";
  boost::json::object facts;
  add_value(result, text, facts);
  add_stream(text, "stdout", result.out());
  add_stream(text, "stderr", result.err());
  add_exception(result, text, facts);
  facts["status"] = outcome.status;
  add_streams(facts, result.out(), result.err());
  facts["context_id"] = context;
  facts["context_restarted"] = is_lost || was_reset;
  facts["duration_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(result.duration()).count();
  if (!result.reason().empty()) facts["reason"] = result.reason();
  add_files(result, text, facts);
  answer images;
  add_images(result, facts, images);
  answer shown(text);
  for (const content& image : images.blocks()) shown.add(image);
  shown.structured(std::move(facts)).is_error(outcome.is_error);
  return shown;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
