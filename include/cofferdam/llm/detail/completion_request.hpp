// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/detail/read_json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Converts a conversation to the JSON of POST /chat/completions. See OpenAI's API reference, "Create chat completion".

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the text as valid UTF-8. Invalid bytes are replaced.
inline std::string wire_text(std::string_view raw) {
  if (is_valid_utf8(raw)) return std::string(raw);
  std::string repaired;
  append_repaired_utf8(repaired, raw);
  return repaired;
}

inline boost::json::object text_part_json(std::string_view text) {
  boost::json::object part;
  part["type"] = "text";
  part["text"] = wire_text(text);
  return part;
}

inline std::string data_url(const chat_part& file) {
  return "data:" + wire_text(file.mime_type()) + ";base64," + base64_encode(file.content());
}

inline boost::json::object image_part_json(const chat_part& image) {
  boost::json::object url;
  url["url"] = data_url(image);
  boost::json::object part;
  part["type"] = "image_url";
  part["image_url"] = std::move(url);
  return part;
}

/// Returns the name of an audio format in requests: "wav" and "mp3" are OpenAI's, and others, such as "flac", those of
/// other services.
inline std::string audio_format(std::string_view mime_type) {
  const std::string_view type = mime_type.substr(0, mime_type.find(';'));
  for (const std::string_view wav : {"audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"})
    if (type == wav) return "wav";
  for (const std::string_view mp3 : {"audio/mpeg", "audio/mp3", "audio/x-mp3"})
    if (type == mp3) return "mp3";
  if (type == "audio/mp4") return "m4a";
  std::string_view name = type.substr(type.find('/') + 1);
  if (name.starts_with("x-")) name.remove_prefix(2);
  return wire_text(name);
}

inline boost::json::object audio_part_json(const chat_part& audio) {
  boost::json::object input;
  input["data"] = base64_encode(audio.content());
  input["format"] = audio_format(audio.mime_type());
  boost::json::object part;
  part["type"] = "input_audio";
  part["input_audio"] = std::move(input);
  return part;
}

inline boost::json::object video_part_json(const chat_part& video) {
  boost::json::object url;
  url["url"] = data_url(video);
  boost::json::object part;
  part["type"] = "video_url";
  part["video_url"] = std::move(url);
  return part;
}

/// \pre !file.is_text()
inline boost::json::object file_part_json(const chat_part& file) {
  if (file.is_audio()) return audio_part_json(file);
  return file.is_video() ? video_part_json(file) : image_part_json(file);
}

inline boost::json::object wire_message(std::string_view role, std::string_view text) {
  boost::json::object json;
  json["role"] = json_view(role);
  json["content"] = wire_text(text);
  return json;
}

/// Returns the kinds of files in a message, such as "image" or "audio and video"; empty if it has only texts.
inline std::string kinds_of_files(const chat_message& message) {
  const std::vector<chat_part>& parts = message.parts();
  std::string kinds;
  const auto add = [&](const char* kind, bool (chat_part::*is_kind)() const noexcept) {
    if (std::none_of(parts.begin(), parts.end(), [&](const chat_part& each) { return (each.*is_kind)(); })) return;
    kinds += (kinds.empty() ? "" : " and ") + std::string(kind);
  };
  add("image", &chat_part::is_image);
  add("audio", &chat_part::is_audio);
  add("video", &chat_part::is_video);
  return kinds;
}

/// The messages of a request, in the form that services require. Every tool call has exactly one result, before any
/// other message. Images, audio and video are only in messages of the user.
class wire_messages {
 public:
  wire_messages(bool sends_reasoning, const std::string& system_role)
      : sends_reasoning_(sends_reasoning), system_role_(system_role) {}

  boost::json::array make(const std::vector<chat_message>& messages) {
    for (std::size_t at = 0; at < messages.size();) {
      const chat_message& message = messages[at];
      switch (message.role()) {
        case chat_role::system: list_.push_back(wire_message(system_role_, message.text())); break;
        case chat_role::user: list_.push_back(user(message)); break;
        case chat_role::assistant: list_.push_back(assistant(message)); break;
        case chat_role::tool: break;  // a result without a call is left out
      }
      ++at;
      if (message.role() == chat_role::assistant && !message.tool_calls().empty()) at = answers(messages, at, message);
    }
    return std::move(list_);
  }

 private:
  static boost::json::object user(const chat_message& message) {
    if (kinds_of_files(message).empty()) return wire_message("user", message.text());
    boost::json::array parts;
    for (const chat_part& each : message.parts()) {
      if (!each.is_text()) {
        parts.push_back(file_part_json(each));
      } else if (!each.text().empty()) {
        parts.push_back(text_part_json(each.text()));
      }
    }
    boost::json::object json;
    json["role"] = "user";
    json["content"] = std::move(parts);
    return json;
  }

  boost::json::object assistant(const chat_message& message) const {
    std::string text = message.text();
    if (text.empty()) text = message.refusal();
    boost::json::object json = wire_message("assistant", text);
    if (sends_reasoning_ && !message.reasoning().empty()) json["reasoning_content"] = wire_text(message.reasoning());
    if (message.tool_calls().empty()) return json;
    if (text.empty()) json["content"] = nullptr;
    boost::json::array calls;
    for (const chat_tool_call& each : message.tool_calls()) {
      boost::json::object function;
      function["name"] = wire_text(each.name());
      function["arguments"] = wire_text(each.arguments());
      boost::json::object call;
      call["id"] = wire_text(each.id());
      call["type"] = "function";
      call["function"] = std::move(function);
      calls.push_back(std::move(call));
    }
    json["tool_calls"] = std::move(calls);
    return json;
  }

  /// Appends the results of the tool calls in the message `asked`, in the order of the calls. Returns the index of the
  /// next message.
  std::size_t answers(const std::vector<chat_message>& messages, std::size_t at, const chat_message& asked) {
    std::vector<const chat_message*> given;
    for (; at < messages.size() && messages[at].role() == chat_role::tool; ++at) given.push_back(&messages[at]);
    boost::json::array files;
    for (const chat_tool_call& call : asked.tool_calls()) {
      const chat_message* answer = nullptr;
      for (const chat_message*& each : given)
        if (answer == nullptr && each != nullptr && each->call_id() == call.id()) answer = std::exchange(each, nullptr);
      boost::json::object json =
          wire_message("tool", answer == nullptr ? "Error: no result (interrupted)." : text_of(*answer));
      json["tool_call_id"] = wire_text(call.id());
      list_.push_back(std::move(json));
      const std::string kinds = answer == nullptr ? std::string() : kinds_of_files(*answer);
      if (kinds.empty()) continue;
      files.push_back(text_part_json("Here is the " + kinds + " for tool call " + call.id() + ":"));
      for (const chat_part& each : answer->parts())
        if (!each.is_text()) files.push_back(file_part_json(each));
    }
    if (!files.empty()) {
      boost::json::object shown;
      shown["role"] = "user";
      shown["content"] = std::move(files);
      list_.push_back(std::move(shown));
    }
    return at;
  }

  static std::string text_of(const chat_message& answer) {
    std::string text = answer.text();
    const std::string kinds = kinds_of_files(answer);
    if (!kinds.empty()) text += (text.empty() ? "" : "\n") + ("(The " + kinds + " follows in the next user message.)");
    return text;
  }

  boost::json::array list_;
  bool sends_reasoning_;
  const std::string& system_role_;
};

inline boost::json::object wire_tool(const chat_tool& tool) {
  boost::json::object function;
  function["name"] = tool.name();
  function["description"] = tool.description();
  function["parameters"] = tool.parameters();
  boost::json::object json;
  json["type"] = "function";
  json["function"] = std::move(function);
  return json;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
