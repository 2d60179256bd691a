// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The author of a message.
enum class chat_role {
  system,     ///< general instructions for the model
  user,       ///< the task, and other messages on behalf of the user
  assistant,  ///< the model
  tool,       ///< the answer to one of its calls
};

/// A piece of a message: text, or an image. Copies share the image's bytes.
class chat_part {
 public:
  /// An empty text.
  chat_part() = default;
  /// \param text  UTF-8.
  explicit chat_part(std::string text) : text_(std::move(text)) {}

  /// \param content    the file, undecoded.
  /// \param mime_type  such as "image/png".
  static chat_part image(bytes content, std::string mime_type) {
    chat_part part;
    part.mime_type_ = std::move(mime_type);
    part.content_ = std::make_shared<const bytes>(std::move(content));
    return part;
  }

  bool is_image() const noexcept { return content_ != nullptr; }
  /// Empty for an image.
  const std::string& text() const noexcept { return text_; }
  /// Empty for a text.
  const std::string& mime_type() const noexcept { return mime_type_; }
  /// Returns the image's file; empty for a text. Lives as long as a copy of this object.
  bytes_view content() const noexcept { return content_ ? bytes_view(*content_) : bytes_view(); }

 private:
  std::string text_;
  std::string mime_type_;
  std::shared_ptr<const bytes> content_;
};

/// A tool call, as the model wrote it.
class chat_tool_call {
 public:
  chat_tool_call() = default;
  chat_tool_call(std::string id, std::string name, std::string arguments)
      : id_(std::move(id)), name_(std::move(name)), arguments_(std::move(arguments)) {}

  /// Returns the id to which the answer refers; unique in its message.
  const std::string& id() const noexcept { return id_; }
  const std::string& name() const noexcept { return name_; }
  /// Returns the arguments, normally JSON text. Untrusted: may be empty, incomplete or not JSON.
  const std::string& arguments() const noexcept { return arguments_; }

 private:
  std::string id_;
  std::string name_;
  std::string arguments_;
};

/// One message of a conversation. A value.
class chat_message {
 public:
  /// An empty message of the user.
  chat_message() = default;
  chat_message(chat_role role, std::string text) : role_(role) {
    if (!text.empty()) parts_.emplace_back(std::move(text));
  }

  static chat_message system(std::string text) { return {chat_role::system, std::move(text)}; }
  static chat_message user(std::string text) { return {chat_role::user, std::move(text)}; }
  static chat_message assistant(std::string text) { return {chat_role::assistant, std::move(text)}; }
  /// Makes the answer to a call. It may have images: a client moves them to a place that its service accepts.
  static chat_message tool(std::string call_id, std::string text) {
    chat_message message(chat_role::tool, std::move(text));
    message.call_id_ = std::move(call_id);
    return message;
  }

  chat_role role() const noexcept { return role_; }

  const std::vector<chat_part>& parts() const noexcept { return parts_; }
  chat_message& add(chat_part part) & {
    parts_.push_back(std::move(part));
    return *this;
  }
  [[nodiscard]] chat_message add(chat_part part) && { return std::move(add(std::move(part))); }
  /// Returns all its texts, joined.
  std::string text() const {
    std::string joined;
    for (const chat_part& each : parts_) joined += each.text();
    return joined;
  }

  /// Returns the tool calls of the model, in its order.
  const std::vector<chat_tool_call>& tool_calls() const noexcept { return calls_; }
  chat_message& call(chat_tool_call tool_call) & {
    calls_.push_back(std::move(tool_call));
    return *this;
  }
  [[nodiscard]] chat_message call(chat_tool_call tool_call) && { return std::move(call(std::move(tool_call))); }

  /// Returns the id of the answered call, in a message of the tool role.
  const std::string& call_id() const noexcept { return call_id_; }

  /// Returns the model's reasoning, if its service provides it; otherwise empty.
  const std::string& reasoning() const noexcept { return reasoning_; }
  chat_message& reasoning(std::string text) & {
    reasoning_ = std::move(text);
    return *this;
  }
  /// Returns the reason of a refusal, if its service has a field for it; otherwise empty.
  const std::string& refusal() const noexcept { return refusal_; }
  chat_message& refusal(std::string text) & {
    refusal_ = std::move(text);
    return *this;
  }

 private:
  chat_role role_ = chat_role::user;
  std::vector<chat_part> parts_;
  std::vector<chat_tool_call> calls_;
  std::string call_id_;
  std::string reasoning_;
  std::string refusal_;
};

/// The cost of an answer in tokens; 0 if the service does not report it.
class chat_usage {
 public:
  std::uint64_t input = 0;      ///< all that was sent, cached or not
  std::uint64_t output = 0;     ///< all that was received, including reasoning
  std::uint64_t cached = 0;     ///< of `input`: the part that the service had cached
  std::uint64_t reasoning = 0;  ///< part of `output`: reasoning that is not part of the answer

  std::uint64_t total() const noexcept { return input + output; }
  chat_usage& operator+=(const chat_usage& other) noexcept {
    input += other.input;
    output += other.output;
    cached += other.cached;
    reasoning += other.reasoning;
    return *this;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI
