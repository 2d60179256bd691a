// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/review_verdict.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

inline constexpr std::array<std::string_view, 13> review_categories{
    "secrets",        "filesystem_escape", "destructive", "network_exfiltration", "network_attack",
    "sandbox_escape", "privilege",         "persistence", "resource_abuse",       "remote_code",
    "obfuscation",    "prompt_injection",  "other"};
inline constexpr std::array<std::string_view, 5> review_risks{"none", "low", "medium", "high", "critical"};
inline constexpr std::array<std::string_view, 8> review_keys{
    "nonce", "code_sha256", "verdict", "risk", "addresses_reviewer", "categories", "findings", "reason"};

template <std::size_t N>
constexpr std::size_t place_in(const std::array<std::string_view, N>& list, std::string_view word) noexcept {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), word) - list.begin());
}

/// Returns true if each key of `review_keys` occurs exactly once in the JSON text of an answer. A key that occurs twice
/// is refused, because JSON parsers differ in which of the two values they use.
inline bool has_every_key_once(std::string_view text) {
  // Letters in \u escapes could hide a key.
  for (std::size_t at = text.find("\\u00"); at != std::string_view::npos; at = text.find("\\u00", at + 1))
    if (at + 4 < text.size() && text[at + 4] >= '2' && text[at + 4] <= '7') return false;
  for (const std::string_view key : review_keys) {
    const std::string quoted = "\"" + std::string(key) + "\"";
    std::size_t count = 0;
    for (std::size_t at = text.find(quoted); at != std::string_view::npos; at = text.find(quoted, at + 1)) {
      const std::size_t next = text.find_first_not_of(" \t\r\n", at + quoted.size());
      if (next != std::string_view::npos && text[next] == ':') ++count;
    }
    if (count != 1) return false;
  }
  return true;
}

/// Parses the text if it consists of one JSON object, with or without a Markdown fence around it; otherwise no value.
inline std::optional<boost::json::object> review_object(std::string_view text) {
  const auto trim = [&text] {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    text.remove_suffix(text.size() - std::min(text.find_last_not_of(" \t\r\n") + 1, text.size()));
  };
  trim();
  if (text.starts_with("```json\n") && text.ends_with("```") && text.size() > 11) {
    text = text.substr(8, text.size() - 11);
    trim();
  }
  if (!has_every_key_once(text)) return std::nullopt;
  std::error_code cause;
  boost::json::value value = parse_untrusted_json(text, cause);
  if (cause || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

}  // namespace detail

COFFERDAM_DECL std::optional<review_verdict> review_verdict::read(const chat_reply& reply, std::string_view nonce,
                                                                  std::string_view sha256, std::size_t max_risk) {
  const chat_message& message = reply.message();
  const std::string text = reply.text();
  // Some services leave the finish reason empty. A truncated answer is not a complete object, so it is refused below.
  const bool has_ended = reply.finish_reason() == "stop" || reply.finish_reason().empty();
  if (!has_ended || !message.refusal().empty() || !message.tool_calls().empty() || text.empty() ||
      text.size() > 16 * 1024)
    return std::nullopt;
  const std::optional<boost::json::object> answer = detail::review_object(text);
  if (!answer || answer->size() != detail::review_keys.size()) return std::nullopt;
  for (const std::string_view key : detail::review_keys)
    if (!answer->contains({key.data(), key.size()})) return std::nullopt;
  for (const char* const key : {"nonce", "code_sha256", "verdict", "risk", "reason"})
    if (!answer->at(key).is_string()) return std::nullopt;
  if (!answer->at("addresses_reviewer").is_bool() || !answer->at("categories").is_array() ||
      !answer->at("findings").is_array())
    return std::nullopt;
  if (detail::text_at(*answer, "nonce") != nonce || detail::text_at(*answer, "code_sha256") != sha256)
    return std::nullopt;
  review_verdict verdict;
  verdict.word_ = detail::text_at(*answer, "verdict");
  verdict.risk_ = detail::text_at(*answer, "risk");
  verdict.reason_ = detail::text_at(*answer, "reason");
  verdict.sha256_ = sha256;
  verdict.model_ = reply.model();
  const std::size_t risk = detail::place_in(detail::review_risks, verdict.risk_);
  if ((verdict.word_ != "allow" && verdict.word_ != "ask" && verdict.word_ != "deny") ||
      risk == detail::review_risks.size())
    return std::nullopt;
  bool grave = answer->at("addresses_reviewer").get_bool();
  if (grave) verdict.categories_.emplace_back("prompt_injection");
  const auto add = [&](const boost::json::value& word) {
    const std::string_view category = word.is_string() ? detail::view_of(word.get_string()) : std::string_view();
    if (detail::place_in(detail::review_categories, category) == detail::review_categories.size()) return false;
    if (std::find(verdict.categories_.begin(), verdict.categories_.end(), category) == verdict.categories_.end())
      verdict.categories_.emplace_back(category);
    grave = grave || category == "secrets" || category == "sandbox_escape" || category == "remote_code" ||
            category == "prompt_injection";
    return true;
  };
  for (const boost::json::value& each : answer->at("categories").get_array())
    if (!add(each)) return std::nullopt;
  for (const boost::json::value& each : answer->at("findings").get_array()) {
    if (!each.is_object() || each.get_object().size() != 3) return std::nullopt;
    const boost::json::object& finding = each.get_object();
    if (!finding.contains("line") || !finding.contains("category") || !finding.contains("why")) return std::nullopt;
    if (!finding.at("line").is_int64() || !finding.at("why").is_string() || !add(finding.at("category")))
      return std::nullopt;
  }
  verdict.allowed_ = verdict.word_ == "allow" && risk <= max_risk && !grave;
  return verdict;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
