// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/number_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/detail/read_json.hpp>
#include <cofferdam/net/http_message.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Classifies failed responses, and decides if a request is repeated. See OpenAI's API reference, "Error codes".

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The description of a failure in a response of the service.
class service_complaint {
 public:
  std::string message;
  std::string code;
  std::string type;

  /// \param text  the body of the response, from which secrets have been removed.
  static service_complaint read(std::string_view text) {
    service_complaint complaint;
    const std::optional<boost::json::value> value = read_json(text);
    const boost::json::object* const object = value ? value->if_object() : nullptr;
    if (object == nullptr) {
      complaint.message = text.substr(0, max_text);
      return complaint;
    }
    complaint.take(*object);
    return complaint;
  }

  /// Reads an object that has a member `error`, or that is the error itself.
  void take(const boost::json::object& object) {
    const boost::json::value* const inside = member(object, "error");
    if (inside != nullptr && inside->is_string()) {
      message = view_of(inside->get_string()).substr(0, max_text);
      return;
    }
    const boost::json::object* const error = inside != nullptr && inside->is_object() ? inside->if_object() : &object;
    message = text_at(*error, "message").substr(0, max_text);
    if (message.empty()) message = text_at(*error, "detail").substr(0, max_text);
    type = text_at(*error, "type").substr(0, 200);
    const boost::json::value* const number = member(*error, "code");
    if (number != nullptr && !number->is_null())
      code = number->is_string() ? std::string(view_of(number->get_string()).substr(0, 200))
                                 : boost::json::serialize(*number);
  }

 private:
  static constexpr std::size_t max_text = 4096;
};

/// Returns true if the text contains these words, in upper or lower case.
inline bool says(std::string_view text, std::string_view words) noexcept {
  const auto same = [](char a, char b) { return lowered(a) == lowered(b); };
  return std::search(text.begin(), text.end(), words.begin(), words.end(), same) != text.end();
}

/// Returns true if the service refuses the request because the conversation is too long. Only OpenAI has an error code
/// for this. For other services the message is searched for known phrases.
inline bool complains_of_length(const service_complaint& what) noexcept {
  if (what.code == "context_length_exceeded" || what.code == "string_above_max_length") return true;
  if (what.type == "exceed_context_size_error") return true;
  constexpr std::array<std::string_view, 12> words{"maximum context length",
                                                   "context length is only",
                                                   "context window",
                                                   "prompt is too long",
                                                   "too many tokens",
                                                   "too many input tokens",
                                                   "exceeds the context",
                                                   "exceeds the available context",
                                                   "exceeds the model's context",
                                                   "reduce the length of the",
                                                   "exceed context limit",
                                                   "context size has been exceeded"};
  for (const std::string_view phrase : words)
    if (says(what.message, phrase)) return true;
  return says(what.message, "input length") && says(what.message, "exceeds");
}

/// Returns the kind of failure for an HTTP status and the description of the failure.
inline chat_errc classify(int status, const service_complaint& what) noexcept {
  if ((status == 400 || status == 413 || status == 422 || status == 500) && complains_of_length(what))
    return chat_errc::context_overflow;
  switch (status) {
    case 401: return chat_errc::not_authenticated;
    case 402: return chat_errc::no_quota;
    case 403: return chat_errc::not_permitted;
    case 404: return chat_errc::no_such_model;
    case 413: return chat_errc::request_too_large;
    case 429:
      if (what.code == "insufficient_quota" || what.type == "insufficient_quota") return chat_errc::no_quota;
      if (says(what.message, "request too large")) return chat_errc::request_too_large;
      return chat_errc::rate_limited;
    default: break;
  }
  if (status == 408 || status == 409 || status >= 500) return chat_errc::service_failed;
  if (status >= 400) return chat_errc::rejected;
  return chat_errc::bad_answer;
}

/// Returns true if the same request may succeed a little later.
inline bool worth_a_retry(int status, chat_errc why, const http_fields& fields) noexcept {
  if (why == chat_errc::no_quota || why == chat_errc::request_too_large || why == chat_errc::context_overflow)
    return false;
  const std::optional<std::string_view> told = fields.find("x-should-retry");
  if (told && *told == "true") return true;
  if (told && *told == "false") return false;
  return status == 408 || status == 409 || status == 429 || status >= 500;
}

/// Parses a positive number; no value if the text is not such a number.
inline std::optional<double> positive_number(std::string_view text) {
  const std::optional<double> number = number_from(text);
  if (!number || !std::isfinite(*number) || *number <= 0) return std::nullopt;
  return number;
}

/// Returns the pause before a retry that the service requests; no value if it requests none, or if the header field is
/// not valid.
/// \param now  the current time in seconds since 1970.
inline std::optional<std::chrono::milliseconds> asked_wait(const http_fields& fields, std::time_t now) {
  constexpr double longest = 1e9;
  if (const auto text = fields.find("retry-after-ms"))
    if (const auto number = positive_number(*text))
      return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(std::min(*number, longest))));
  const auto text = fields.find("retry-after");
  if (!text) return std::nullopt;
  if (const auto number = positive_number(*text))
    return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(std::min(*number * 1000, longest))));
  std::tm when{};
  const std::string date(*text);
  const char* const end = strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &when);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const std::time_t due = timegm(&when);
  if (due <= now) return std::nullopt;
  return std::chrono::milliseconds(std::min<std::int64_t>(due - now, 1'000'000) * 1000);
}

/// Returns the error message for a failed request.
/// \param peer    the base URL of the service.
/// \param status  the HTTP status; 0 if there is none.
inline std::string complaint_sentence(const std::string& peer, int status, chat_errc why,
                                      const service_complaint& what) {
  std::string text = peer + ": ";
  switch (why) {
    case chat_errc::context_overflow: text += "the conversation is longer than the model's context; send less"; break;
    case chat_errc::not_authenticated: text += "the API key is missing or wrong"; break;
    case chat_errc::not_permitted: text += "the API key has no permission for this request"; break;
    case chat_errc::no_quota: text += "the quota is used up"; break;
    case chat_errc::no_such_model:
      text += "no such model or path; check the model's name, and that the base URL ends in /v1";
      break;
    case chat_errc::request_too_large: text += "the request is too large; send less at a time"; break;
    case chat_errc::rate_limited: text += "too many requests; try again later"; break;
    case chat_errc::rejected: text += "the service rejects the request"; break;
    default: text += "the service failed"; break;
  }
  if (status != 0) text += " (status " + std::to_string(status) + ")";
  if (!what.message.empty()) text += ": \"" + one_line(what.message, 500) + "\"";
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
