// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/net/untrusted_json.hpp>

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
#include <vector>

namespace cofferdam::inline v0 {

/// What a reviewer has said about code, as far as it could be read. For the host's log: the free texts in it may be
/// an attacker's, and never go to the model that wrote the code.
class review_verdict {
 public:
  /// The code may run. Everything else is a refusal.
  bool allowed() const noexcept { return allowed_; }
  /// "allow", "ask", "deny"; "unavailable" where there was no valid answer; "local" where nobody was asked.
  const std::string& word() const noexcept { return word_; }
  /// "none" to "critical".
  const std::string& risk() const noexcept { return risk_; }
  /// From a fixed list, in the reviewer's order.
  const std::vector<std::string>& categories() const noexcept { return categories_; }
  /// The reviewer's own words, or ours.
  const std::string& reason() const noexcept { return reason_; }
  /// Of the reviewed code, in hexadecimal digits.
  const std::string& code_sha256() const noexcept { return sha256_; }
  /// What the model calls itself; empty where it does not tell.
  const std::string& model() const noexcept { return model_; }
  /// It was known from before.
  bool cached() const noexcept { return cached_; }

  static review_verdict refused(std::string word, std::string sha256, std::string reason) {
    review_verdict made;
    made.word_ = std::move(word);
    made.sha256_ = std::move(sha256);
    made.reason_ = std::move(reason);
    return made;
  }

  /// Reads an answer. Nothing where it is not, word for word, an answer to this question.
  /// \param nonce         what the question had, and so with `sha256`.
  /// \param most_risk     0 none, 1 low, 2 medium.
  static std::optional<review_verdict> read(const chat_reply& reply, std::string_view nonce, std::string_view sha256,
                                            std::size_t most_risk);

  /// What was allowed before, word for word.
  static review_verdict known(std::string sha256) {
    review_verdict made = refused("allow", std::move(sha256), "it was allowed before");
    made.allowed_ = made.cached_ = true;
    return made;
  }

 private:
  bool allowed_ = false;
  bool cached_ = false;
  std::string word_;
  std::string risk_;
  std::vector<std::string> categories_;
  std::string reason_;
  std::string sha256_;
  std::string model_;
};

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

inline std::string_view review_text(const boost::json::value& value) {
  return value.is_string() ? std::string_view(value.get_string().data(), value.get_string().size())
                           : std::string_view();
}

/// A key that stands there twice is read by some one way and by others another.
inline bool has_every_key_once(std::string_view text) {
  for (std::size_t at = text.find("\\u00"); at != std::string_view::npos; at = text.find("\\u00", at + 1))
    if (at + 4 < text.size() && text[at + 4] >= '2' && text[at + 4] <= '7') return false;  // a letter in disguise
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

/// The one object that the text is, a fence around it apart.
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

inline std::optional<review_verdict> review_verdict::read(const chat_reply& reply, std::string_view nonce,
                                                          std::string_view sha256, std::size_t most_risk) {
  const chat_message& message = reply.message();
  const std::string text = reply.text();
  if (reply.finish_reason() != "stop" || !message.refusal().empty() || !message.tool_calls().empty() || text.empty() ||
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
  if (detail::review_text(answer->at("nonce")) != nonce || detail::review_text(answer->at("code_sha256")) != sha256)
    return std::nullopt;
  review_verdict made;
  made.word_ = detail::review_text(answer->at("verdict"));
  made.risk_ = detail::review_text(answer->at("risk"));
  made.reason_ = detail::review_text(answer->at("reason"));
  made.sha256_ = sha256;
  made.model_ = reply.model();
  const std::size_t risk = detail::place_in(detail::review_risks, made.risk_);
  if ((made.word_ != "allow" && made.word_ != "ask" && made.word_ != "deny") || risk == detail::review_risks.size())
    return std::nullopt;
  bool grave = answer->at("addresses_reviewer").get_bool();
  if (grave) made.categories_.emplace_back("prompt_injection");
  const auto add = [&](const boost::json::value& word) {
    const std::string_view category = detail::review_text(word);
    if (detail::place_in(detail::review_categories, category) == detail::review_categories.size()) return false;
    if (std::find(made.categories_.begin(), made.categories_.end(), category) == made.categories_.end())
      made.categories_.emplace_back(category);
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
  made.allowed_ = made.word_ == "allow" && risk <= most_risk && !grave;
  return made;
}

}  // namespace cofferdam::inline v0
