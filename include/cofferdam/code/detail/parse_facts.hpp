// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_analysis.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline std::optional<feature_kind> fact_kind_of(std::string_view word) {
  static constexpr std::array<std::string_view, 19> words{
      "import", "from",    "relative", "dynamic", "reexport", "private", "value", "use",    "attribute", "name",
      "call",   "getattr", "string",   "endless", "range",    "repeat",  "power", "coding", "define"};
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<feature_kind>(found - words.begin());
}

/// Parses the JSON that a reader (python_code_reader/) has written about `source`.
/// \throws error{exec_errc::io_error} if the JSON does not have the expected form.
inline code_analysis parse_facts(std::string source, std::string_view answer) {
  const auto no_answer = [] {
    return error(exec_errc::io_error, "the process that reads Python code for guards sent an invalid answer");
  };
  std::error_code cause;
  const boost::json::value parsed = parse_untrusted_json(answer, cause);
  if (cause || !parsed.is_object()) throw no_answer();
  const auto text = [&](const boost::json::value& value) {
    if (!value.is_string()) throw no_answer();
    return std::string(value.get_string().data(), value.get_string().size());
  };
  const auto number = [&](const boost::json::value& value) {
    if (!value.is_int64()) throw no_answer();
    return value.get_int64();
  };
  const auto line = [&](const boost::json::value& value) {
    return static_cast<int>(std::clamp<std::int64_t>(number(value), 0, 1'000'000'000));
  };
  const boost::json::object& reply = parsed.get_object();
  if (const boost::json::value* const failed = reply.if_contains("error")) {
    if (!failed->is_object()) throw no_answer();
    const boost::json::object& why = failed->get_object();
    for (const char* const each : {"type", "text", "line", "column"})
      if (!why.contains(each)) throw no_answer();
    code_problem problem(text(why.at("type")), text(why.at("text")), line(why.at("line")), line(why.at("column")));
    return code_analysis(std::move(source), std::move(problem));
  }
  const boost::json::value* const rows = reply.if_contains("facts");
  if (rows == nullptr || !rows->is_array()) throw no_answer();
  std::vector<code_feature> facts;
  facts.reserve(rows->get_array().size());
  for (const boost::json::value& each : rows->get_array()) {
    if (!each.is_array() || each.get_array().size() != 5) throw no_answer();
    const boost::json::array& row = each.get_array();
    const std::optional<feature_kind> kind = fact_kind_of(text(row[0]));
    if (!kind) throw no_answer();
    facts.emplace_back(*kind, line(row[1]), text(row[2]), text(row[3]), number(row[4]));
  }
  return code_analysis(std::move(source), std::move(facts));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
