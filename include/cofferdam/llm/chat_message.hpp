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

/// The author of a message in a conversation with a model.
enum class chat_role {
  system,     ///< general instructions for the model
  user,       ///< the task, and other messages in the name of the user
  assistant,  ///< the model
  tool,       ///< the result of a tool call of the model
};

/// A part of a message: a text, an image, an audio file or a video. Copies share the bytes of the file.
class chat_part {
 public:
  /// Makes an empty text.
  chat_part() = default;
  /// \param text  the text, UTF-8.
  explicit chat_part(std::string text) : text_(std::move(text)) {}

  /// Makes an image.
  /// \param content    the bytes of the image file, for example of a PNG file.
  /// \param mime_type  the type of the file, such as "image/png".
  static chat_part image(bytes content, std::string mime_type) {
    return file(content_kind::image, std::move(content), std::move(mime_type));
  }
  /// Makes an audio file. The model must support it; otherwise the service refuses the conversation.
  /// \param content    the bytes of the file.
  /// \param mime_type  the type of the file: "audio/wav", "audio/mpeg" (MP3), or another one that the service
  ///                   supports.
  static chat_part audio(bytes content, std::string mime_type) {
    return file(content_kind::audio, std::move(content), std::move(mime_type));
  }
  /// Makes a video. The service and the model must support it; otherwise the service refuses the conversation.
  /// \param content    the bytes of the file.
  /// \param mime_type  the type of the file, such as "video/mp4".
  static chat_part video(bytes content, std::string mime_type) {
    return file(content_kind::video, std::move(content), std::move(mime_type));
  }

  /// Returns true if this part is an image.
  bool is_image() const noexcept { return kind_ == content_kind::image; }
  /// Returns true if this part is an audio file.
  bool is_audio() const noexcept { return kind_ == content_kind::audio; }
  /// Returns true if this part is a video.
  bool is_video() const noexcept { return kind_ == content_kind::video; }
  /// Returns true if this part is a text, not a file.
  bool is_text() const noexcept { return kind_ == content_kind::text; }
  /// Returns the text; empty if this is a file.
  const std::string& text() const noexcept { return text_; }
  /// Returns the MIME type of the image, the audio file or the video; empty if this is a text.
  const std::string& mime_type() const noexcept { return mime_type_; }
  /// Returns the bytes of the file; empty if this is a text. The view is valid as long as a copy of this object exists.
  bytes_view content() const noexcept { return content_ ? bytes_view(*content_) : bytes_view(); }

 private:
  enum class content_kind { text, image, audio, video };

  static chat_part file(content_kind kind, bytes content, std::string mime_type) {
    chat_part part;
    part.kind_ = kind;
    part.mime_type_ = std::move(mime_type);
    part.content_ = std::make_shared<const bytes>(std::move(content));
    return part;
  }

  content_kind kind_ = content_kind::text;
  std::string text_;
  std::string mime_type_;
  std::shared_ptr<const bytes> content_;
};

/// A call of a tool, as the model wrote it.
class chat_tool_call {
 public:
  chat_tool_call() = default;
  /// Describes a call. The other members describe the parameters.
  chat_tool_call(std::string id, std::string name, std::string arguments)
      : id_(std::move(id)), name_(std::move(name)), arguments_(std::move(arguments)) {}

  /// Returns the id of the call. It is unique in its message, and the result of the call refers to it.
  const std::string& id() const noexcept { return id_; }
  /// Returns the name of the tool, as the model wrote it.
  const std::string& name() const noexcept { return name_; }
  /// Returns the arguments, which are normally JSON text. They are untrusted: the text may be empty, incomplete or not
  /// JSON.
  const std::string& arguments() const noexcept { return arguments_; }

 private:
  std::string id_;
  std::string name_;
  std::string arguments_;
};

/// One message of a conversation. A value type.
class chat_message {
 public:
  /// Makes an empty message of the user.
  chat_message() = default;
  /// Makes a message with one text; without any content if the text is empty.
  chat_message(chat_role role, std::string text) : role_(role) {
    if (!text.empty()) parts_.emplace_back(std::move(text));
  }

  /// Makes a message with instructions for the model.
  static chat_message system(std::string text) { return {chat_role::system, std::move(text)}; }
  /// Makes a message of the user.
  static chat_message user(std::string text) { return {chat_role::user, std::move(text)}; }
  /// Makes an answer of the model.
  static chat_message assistant(std::string text) { return {chat_role::assistant, std::move(text)}; }
  /// Makes a message with the result of a tool call. Images, audio and video may be added to it: the client moves them
  /// to a message in which the service accepts them.
  static chat_message tool(std::string call_id, std::string text) {
    chat_message message(chat_role::tool, std::move(text));
    message.call_id_ = std::move(call_id);
    return message;
  }

  /// Returns the author of the message.
  chat_role role() const noexcept { return role_; }

  /// Returns the texts and files of the message, in order.
  const std::vector<chat_part>& parts() const noexcept { return parts_; }
  /// Adds a text, an image, an audio file or a video at the end.
  chat_message& add(chat_part part) {
    parts_.push_back(std::move(part));
    return *this;
  }
  /// Returns all texts of the message, joined without separators.
  std::string text() const {
    std::string joined;
    for (const chat_part& each : parts_) joined += each.text();
    return joined;
  }

  /// Returns the tool calls in a message of the assistant, in the order of the model.
  const std::vector<chat_tool_call>& tool_calls() const noexcept { return calls_; }
  /// Adds a tool call at the end.
  chat_message& call(chat_tool_call tool_call) {
    calls_.push_back(std::move(tool_call));
    return *this;
  }

  /// Returns the id of the call whose result this message has; empty unless the role is `tool`.
  const std::string& call_id() const noexcept { return call_id_; }

  /// Returns the reasoning of the model; empty if the service does not provide it.
  const std::string& reasoning() const noexcept { return reasoning_; }
  chat_message& reasoning(std::string text) {
    reasoning_ = std::move(text);
    return *this;
  }
  /// Returns the model's reason for refusing to answer; empty if the model did not refuse or the service has no field
  /// for the reason.
  const std::string& refusal() const noexcept { return refusal_; }
  chat_message& refusal(std::string text) {
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

/// The cost of an answer in tokens. A number is 0 if the service does not report it.
class chat_usage {
 public:
  std::uint64_t input = 0;      ///< all tokens that were sent, cached or not
  std::uint64_t output = 0;     ///< all tokens that were received, including reasoning
  std::uint64_t cached = 0;     ///< the part of `input` that the service had in its cache
  std::uint64_t reasoning = 0;  ///< the part of `output` that is reasoning
  /// The price of the answer: set by a `usage_meter`, in the currency of its prices, or reported by the service.
  double cost = 0;

  /// Returns the sum of input and output.
  std::uint64_t total() const noexcept { return input + output; }
  /// Adds the tokens of another answer.
  chat_usage& operator+=(const chat_usage& other) noexcept {
    input += other.input;
    output += other.output;
    cached += other.cached;
    reasoning += other.reasoning;
    cost += other.cost;
    return *this;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI
