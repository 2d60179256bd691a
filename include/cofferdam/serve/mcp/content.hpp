// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

/// A content block of MCP, such as `content::text("hello")`: a part of the answer of a tool, of a prompt or of a
/// resource. Texts are UTF-8; invalid sequences become U+FFFD.
/// \par Source  MCP, "Tools", "Tool Result".
class content {
 public:
  /// Makes a text block.
  static content text(std::string_view words) {
    content result("text");
    result.block_["text"] = shown(words);
    return result;
  }
  /// Makes an image block.
  /// \param file       the image as a file, for example a PNG file.
  /// \param mime_type  such as "image/png".
  static content image(bytes_view file, std::string_view mime_type) { return media("image", file, mime_type); }
  /// Makes an audio block.
  /// \param file       the audio as a file.
  /// \param mime_type  such as "audio/wav".
  static content audio(bytes_view file, std::string_view mime_type) { return media("audio", file, mime_type); }
  /// Makes a resource whose content is a text.
  /// \param uri  such as "sandbox://workspace/a.txt".
  /// \param mime_type  such as "text/plain".
  /// \param words  the text.
  static content resource(std::string_view uri, std::string_view mime_type, std::string_view words) {
    content result("resource");
    boost::json::object inside = about(uri, mime_type);
    inside["text"] = shown(words);
    result.block_["resource"] = std::move(inside);
    return result;
  }
  /// Makes a resource whose content is binary.
  static content resource(std::string_view uri, std::string_view mime_type, bytes_view file) {
    content result("resource");
    boost::json::object inside = about(uri, mime_type);
    inside["blob"] = cofferdam::detail::base64_encode(file);
    result.block_["resource"] = std::move(inside);
    return result;
  }
  /// Makes a link to a resource that the client may read later.
  static content link(std::string_view uri, std::string_view name, std::string_view mime_type) {
    content result("resource_link");
    result.block_["uri"] = shown(uri);
    result.block_["name"] = shown(name);
    if (!mime_type.empty()) result.block_["mimeType"] = shown(mime_type);
    return result;
  }

  /// Returns the block as JSON in MCP's format.
  const boost::json::object& json() const noexcept { return block_; }

 private:
  explicit content(const char* type) { block_["type"] = type; }
  static content media(const char* type, bytes_view file, std::string_view mime_type) {
    content result(type);
    result.block_["data"] = cofferdam::detail::base64_encode(file);
    result.block_["mimeType"] = shown(mime_type);
    return result;
  }
  static boost::json::object about(std::string_view uri, std::string_view mime_type) {
    boost::json::object fields;
    fields["uri"] = shown(uri);
    fields["mimeType"] = shown(mime_type);
    return fields;
  }
  static boost::json::string shown(std::string_view text) {
    std::string good;
    cofferdam::detail::append_repaired_utf8(good, text);
    return boost::json::string(good.data(), good.size());
  }

  boost::json::object block_;
};

/// The answer of a tool: content blocks for the model, and optionally JSON data for programs.
class answer {
 public:
  answer() = default;
  /// Makes an answer with one text block.
  explicit answer(std::string_view words) { blocks_.push_back(content::text(words)); }
  /// Makes an answer with one block.
  explicit answer(content block) { blocks_.push_back(std::move(block)); }
  /// Makes the answer of a tool that has failed.
  /// \param why  an explanation for the model.
  static answer failed(std::string_view why) {
    answer result(why);
    result.is_error_ = true;
    return result;
  }
  /// Makes an answer that requests more input from a client of the modern era (2026-07-28). The client then repeats the
  /// call. It sends its responses (`call::input_responses`) and `state` (`call::request_state`). It can read the state,
  /// but not change it.
  /// \param requests  one member for each request: `{"name": {"method": "elicitation/create", "params": {...}}}`. May
  ///                  be empty.
  /// \param state     any text that the handler needs in the repeated call.
  static answer input_required(boost::json::object requests, std::string state = {}) {
    answer result;
    result.requests_ = std::move(requests);
    result.state_ = std::move(state);
    return result;
  }

  /// Adds a block at the end.
  answer& add(content block) {
    blocks_.push_back(std::move(block));
    return *this;
  }
  /// Sets the answer as JSON for programs. It should match the tool's output schema.
  answer& structured(boost::json::object facts) {
    structured_ = std::move(facts);
    return *this;
  }
  /// Marks the answer as a failure that the model can correct.
  answer& is_error(bool failed) {
    is_error_ = failed;
    return *this;
  }

  /// Returns the blocks in their order.
  const std::vector<content>& blocks() const noexcept { return blocks_; }
  const std::optional<boost::json::object>& structured() const noexcept { return structured_; }
  /// Returns true if the answer is a failure that the model can correct.
  bool is_error() const noexcept { return is_error_; }
  /// Returns the requests of `input_required`; absent if the answer is complete.
  const std::optional<boost::json::object>& requests() const noexcept { return requests_; }
  /// Returns the state that was passed to `input_required`.
  const std::string& state() const noexcept { return state_; }

 private:
  std::vector<content> blocks_;
  std::optional<boost::json::object> structured_;
  std::optional<boost::json::object> requests_;
  std::string state_;
  bool is_error_ = false;
};

/// A message of a prompt, with the role of its author.
class prompt_message {
 public:
  /// \param role  "user" or "assistant".
  /// \param words  the content of the message.
  prompt_message(std::string role, content words) : role_(std::move(role)), words_(std::move(words)) {}
  /// Returns the author of the message: "user" or "assistant".
  const std::string& role() const noexcept { return role_; }
  /// Returns the content of the message.
  const content& words() const noexcept { return words_; }

 private:
  std::string role_;
  content words_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
