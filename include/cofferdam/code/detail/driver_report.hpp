// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/detail/guest_json.hpp>
#include <cofferdam/code/tagged_value.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Reads reports about runs. The driver (the program that starts the runs) reports the end, the output and the files of
// a run; this report is trusted. The report that the run has written about itself comes from the guest (the code that
// runs): every field may be missing or have another type.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Parses a JSON object that a run has written; no value if the text is not a JSON object.
inline std::optional<boost::json::object> parse_from_run(bytes_view body) {
  std::optional<boost::json::value> value = parse_guest_json(as_text(body));
  if (!value || !value->is_object()) return std::nullopt;
  return std::move(value->get_object());
}

/// Cuts a text to the length limit of `code_result`. The driver cuts its texts too, but the code in the guest could
/// write a forged report with longer texts.
inline std::string cut_text(std::string_view text) {
  constexpr std::size_t max_bytes = 80 * 1024;
  return std::string(text.size() > max_bytes ? without_cut_end(text.substr(0, max_bytes)) : text);
}

/// The maximum number of forms of one display.
inline constexpr std::size_t max_forms = 32;

/// Parses a displayed value; no value if the report of it is not valid.
inline std::optional<display_output> read_display(bytes_view body) {
  const std::optional<boost::json::object> display = parse_from_run(body);
  if (!display) return std::nullopt;
  const boost::json::value* const listed = display->if_contains("forms");
  if (listed == nullptr || !listed->is_object()) return std::nullopt;
  std::map<std::string, std::string> forms;
  forms["text/plain"];
  for (const auto& each : listed->get_object())
    if (each.value().is_string() && forms.size() < max_forms)
      forms.insert_or_assign(std::string(each.key()), std::string(view_of(each.value().get_string())));
  return display_output(std::move(forms), is_true_at(*display, "value"));
}

inline std::vector<generated_file> read_files(const boost::json::object& header) {
  std::vector<generated_file> files;
  const boost::json::value* const listed = header.if_contains("files");
  if (listed == nullptr || !listed->is_array()) return files;
  for (const boost::json::value& each : listed->get_array()) {
    if (!each.is_object()) continue;
    const boost::json::object& row = each.get_object();
    std::string path(text_at(row, "path"));
    if (path.empty()) {
      const std::optional<bytes> raw = base64_decode(text_at(row, "path64"));
      if (raw) path = std::string(as_text(*raw));
    }
    const std::int64_t size = number_at(row, "size").value_or(0);
    files.emplace_back(std::move(path), static_cast<std::uint64_t>(size < 0 ? 0 : size), is_true_at(row, "new"));
  }
  return files;
}

/// Reads the value, the failure and the final value from a run's report about itself. Returns false if the report is
/// not valid.
inline bool read_report(bytes_view body, code_result& result) {
  std::optional<boost::json::object> report = parse_from_run(body);
  if (!report) return false;
  for (auto& each : *report)
    if (!read_floats(each.value())) return false;
  if (boost::json::value* const value = report->if_contains("value"))
    result.value(std::move(*value), is_true_at(*report, "value_exact"), cut_text(text_at(*report, "text")));
  boost::json::value* const final_value = report->if_contains("final");
  if (final_value != nullptr && final_value->is_object())
    result.final_value(std::move(final_value->get_object()), is_true_at(*report, "final_exact"));
  const boost::json::value* const failure = report->if_contains("error");
  if (failure != nullptr && failure->is_object()) {
    const boost::json::object& about = failure->get_object();
    const std::int64_t line = number_at(about, "line").value_or(0);
    result.failure(code_error(cut_text(text_at(about, "type")), cut_text(text_at(about, "message")),
                              line < 0 || line > 100'000'000 ? 0 : static_cast<int>(line),
                              cut_text(text_at(about, "traceback"))));
  }
  // The caller replaces this by the exit code of the process, which takes precedence because the report was written
  // before the process ended.
  result.exit_code(static_cast<int>(number_at(*report, "exit").value_or(1) & 255));
  return true;
}

/// Makes the result of a run from the driver's report at its end.
/// \param heads    the beginning of each output stream, which was received while the code ran.
/// \param context  true if the run was in a context.
inline code_result read_end(const boost::json::object& header, bytes_view body, std::array<bytes, 2> heads,
                            bool context) {
  code_result result;
  std::array<std::size_t, 4> sizes{};
  std::array<std::uint64_t, 2> totals{};
  const boost::json::value* const pieces = header.if_contains("pieces");
  if (pieces != nullptr && pieces->is_array())
    for (std::size_t i = 0; i < 4 && i < pieces->get_array().size(); ++i)
      if (pieces->get_array()[i].is_int64())
        sizes[i] = static_cast<std::size_t>(std::max<std::int64_t>(0, pieces->get_array()[i].get_int64()));
  const boost::json::value* const counted = header.if_contains("totals");
  if (counted != nullptr && counted->is_array())
    for (std::size_t i = 0; i < 2 && i < counted->get_array().size(); ++i)
      if (counted->get_array()[i].is_int64())
        totals[i] = static_cast<std::uint64_t>(std::max<std::int64_t>(0, counted->get_array()[i].get_int64()));
  const auto take = [&body](std::size_t size) {
    const bytes_view part = body.first(std::min(size, body.size()));
    body = body.subspan(part.size());
    return part;
  };
  for (std::size_t i = 0; i < 2; ++i) {
    const bytes_view head = take(sizes[2 * i]);
    heads[i].insert(heads[i].end(), head.begin(), head.end());
    const bytes_view tail = take(sizes[2 * i + 1]);
    captured_output kept(std::move(heads[i]), bytes(tail.begin(), tail.end()), totals[i]);
    if (i == 0)
      result.out(std::move(kept));
    else
      result.err(std::move(kept));
  }
  result.files(read_files(header), is_true_at(header, "files_whole"));
  result.duration(std::chrono::microseconds(number_at(header, "us").value_or(0)));
  result.context_lost(context && !is_true_at(header, "alive"));
  const bool reported = !body.empty() && read_report(body, result);
  const std::optional<std::int64_t> code = number_at(header, "exit");
  if (code && !(context && reported)) result.exit_code(static_cast<int>(*code & 255));
  if (const std::optional<std::int64_t> signal = number_at(header, "signal")) {
    result.term_signal(static_cast<int>(*signal & 127));
    result.exit_code(-1);
  }
  const std::string_view why = text_at(header, "reason");
  const std::string_view problem = text_at(header, "problem");
  if (why == "timeout") {
    result.kind(error_kind::timeout).reason("The code ran longer than its time limit and was ended.");
    result.exit_code(-1);
  } else if (why == "dropped") {
    result.kind(error_kind::execution_error)
        .reason("end_context ended the context while the code ran; the code was ended too.");
    result.exit_code(-1);
  } else if (is_true_at(header, "memory")) {
    result.kind(error_kind::out_of_memory)
        .reason("The code needed more memory than its environment has, and was ended.");
  } else if (!problem.empty()) {
    result.kind(error_kind::execution_error)
        .reason("The run could not start or finish correctly: " + std::string(problem) + ".");
  } else if (!body.empty() && !reported) {
    result.kind(error_kind::execution_error).reason("The run's report cannot be read.");
  }
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
