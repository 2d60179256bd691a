// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/llm/chat_message.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

inline std::string saved_text(std::string_view raw) {
  std::string repaired;
  append_repaired_utf8(repaired, raw);
  return repaired;
}

inline std::string_view role_name(chat_role role) {
  switch (role) {
    case chat_role::system: return "system";
    case chat_role::user: return "user";
    case chat_role::assistant: return "assistant";
    case chat_role::tool: return "tool";
  }
  return "user";
}

inline error broken_history(const std::string& why) {
  return error(exec_errc::invalid_argument, "not a valid saved conversation: " + why);
}

/// Returns a text of a saved conversation.
/// \throws error{exec_errc::invalid_argument} if it is absent or not a string.
inline std::string text_of_history(const boost::json::object& from, std::string_view key) {
  const std::optional<std::string_view> found = if_text_at(from, key);
  if (!found) throw broken_history("\"" + std::string(key) + "\" is missing or not a text");
  return std::string(*found);
}
/// Returns a text of a saved conversation; empty if it is absent.
/// \throws error{exec_errc::invalid_argument} if it is not a string.
inline std::string optional_text_of_history(const boost::json::object& from, std::string_view key) {
  return member(from, key) == nullptr ? std::string() : text_of_history(from, key);
}

/// Returns a list of a saved conversation.
/// \throws error{exec_errc::invalid_argument} if it is absent or not an array of objects.
inline const boost::json::array& list_of_history(const boost::json::object& from, std::string_view key) {
  const boost::json::array* const found = array_at(from, key);
  if (found == nullptr) throw broken_history("\"" + std::string(key) + "\" is missing or not an array");
  for (const boost::json::value& each : *found)
    if (!each.is_object()) throw broken_history("an element of \"" + std::string(key) + "\" is not an object");
  return *found;
}

/// Makes a part of a message from JSON.
inline chat_part saved_part(const boost::json::object& facts) {
  if (member(facts, "base64") == nullptr) return chat_part(text_of_history(facts, "text"));
  std::optional<bytes> decoded = base64_decode(text_of_history(facts, "base64"));
  if (!decoded) throw broken_history("a file is not base64");
  bytes content = std::move(*decoded);
  std::string mime_type = text_of_history(facts, "mime_type");
  const std::string kind = optional_text_of_history(facts, "kind");
  if (kind == "audio") return chat_part::audio(std::move(content), std::move(mime_type));
  if (kind == "video") return chat_part::video(std::move(content), std::move(mime_type));
  if (!kind.empty()) throw broken_history("the kind of a file is unknown");
  return chat_part::image(std::move(content), std::move(mime_type));
}

}  // namespace detail

/// Converts a conversation, including its images, audio and video, to JSON: an array with one object for each message,
/// `{"role": ..., "parts": [...]}`. Invalid UTF-8 is repaired.
inline boost::json::array history_to_json(const std::vector<chat_message>& messages) {
  boost::json::array history;
  for (const chat_message& each : messages) {
    boost::json::object entry;
    entry["role"] = detail::json_view(detail::role_name(each.role()));
    boost::json::array parts;
    for (const chat_part& part : each.parts()) {
      boost::json::object part_json;
      if (!part.is_text()) {
        if (!part.is_image()) part_json["kind"] = part.is_audio() ? "audio" : "video";
        part_json["mime_type"] = detail::saved_text(part.mime_type());
        part_json["base64"] = detail::base64_encode(part.content());
      } else {
        part_json["text"] = detail::saved_text(part.text());
      }
      parts.push_back(std::move(part_json));
    }
    entry["parts"] = std::move(parts);
    if (!each.tool_calls().empty()) {
      boost::json::array calls;
      for (const chat_tool_call& call : each.tool_calls()) {
        boost::json::object call_json;
        call_json["id"] = detail::saved_text(call.id());
        call_json["name"] = detail::saved_text(call.name());
        call_json["arguments"] = detail::saved_text(call.arguments());
        calls.push_back(std::move(call_json));
      }
      entry["tool_calls"] = std::move(calls);
    }
    if (each.role() == chat_role::tool) entry["call_id"] = detail::saved_text(each.call_id());
    if (!each.reasoning().empty()) entry["reasoning"] = detail::saved_text(each.reasoning());
    if (!each.refusal().empty()) entry["refusal"] = detail::saved_text(each.refusal());
    history.push_back(std::move(entry));
  }
  return history;
}

/// Converts the JSON of `history_to_json` back to a conversation.
/// \throws error{exec_errc::invalid_argument} if the JSON does not have the form that `history_to_json` writes.
inline std::vector<chat_message> history_from_json(const boost::json::value& saved) {
  const boost::json::array* const entries = saved.if_array();
  if (entries == nullptr) throw detail::broken_history("it is not an array");
  std::vector<chat_message> messages;
  for (const boost::json::value& each : *entries) {
    const boost::json::object* const entry = each.if_object();
    if (entry == nullptr) throw detail::broken_history("a message is not an object");
    const std::string_view name = detail::text_at(*entry, "role");
    std::optional<chat_role> role;
    for (const chat_role which : {chat_role::system, chat_role::user, chat_role::assistant, chat_role::tool})
      if (detail::role_name(which) == name) role = which;
    if (!role) throw detail::broken_history("a message has no role");
    chat_message message(*role, std::string());
    if (*role == chat_role::tool) message = chat_message::tool(detail::text_of_history(*entry, "call_id"), {});
    for (const boost::json::value& value : detail::list_of_history(*entry, "parts"))
      message.add(detail::saved_part(value.get_object()));
    if (detail::member(*entry, "tool_calls") != nullptr)
      for (const boost::json::value& value : detail::list_of_history(*entry, "tool_calls")) {
        const boost::json::object& call = value.get_object();
        message.call(chat_tool_call(detail::text_of_history(call, "id"), detail::text_of_history(call, "name"),
                                    detail::text_of_history(call, "arguments")));
      }
    message.reasoning(detail::optional_text_of_history(*entry, "reasoning"));
    message.refusal(detail::optional_text_of_history(*entry, "refusal"));
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
