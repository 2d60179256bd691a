// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/base64.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/utf8.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::mcp {

/// A block of what a tool or a prompt says, or a resource holds: `content::text("hello")`.
/// Texts are UTF-8; broken sequences become U+FFFD.
/// \par Source  MCP, "Tools", "Tool Result".
class content {
 public:
  static content text(std::string_view words) {
    content made("text");
    made.block_["text"] = shown(words);
    return made;
  }
  /// \param mime_type  "image/png".
  static content image(bytes_view file, std::string_view mime_type) { return media("image", file, mime_type); }
  /// \param mime_type  "audio/wav".
  static content audio(bytes_view file, std::string_view mime_type) { return media("audio", file, mime_type); }
  /// A resource with its text. \param uri  "sandbox://workspace/a.txt".
  static content resource(std::string_view uri, std::string_view mime_type, std::string_view words) {
    content made("resource");
    boost::json::object inside = about(uri, mime_type);
    inside["text"] = shown(words);
    made.block_["resource"] = std::move(inside);
    return made;
  }
  /// A resource with its bytes.
  static content resource(std::string_view uri, std::string_view mime_type, bytes_view file) {
    content made("resource");
    boost::json::object inside = about(uri, mime_type);
    inside["blob"] = base64_encode(file);
    made.block_["resource"] = std::move(inside);
    return made;
  }
  /// A resource that the client may read.
  static content link(std::string_view uri, std::string_view name, std::string_view mime_type) {
    content made("resource_link");
    made.block_["uri"] = shown(uri);
    made.block_["name"] = shown(name);
    if (!mime_type.empty()) made.block_["mimeType"] = shown(mime_type);
    return made;
  }

  /// The block as MCP has it.
  const boost::json::object& json() const noexcept { return block_; }

 private:
  explicit content(const char* type) { block_["type"] = type; }
  static content media(const char* type, bytes_view file, std::string_view mime_type) {
    content made(type);
    made.block_["data"] = base64_encode(file);
    made.block_["mimeType"] = shown(mime_type);
    return made;
  }
  static boost::json::object about(std::string_view uri, std::string_view mime_type) {
    boost::json::object made;
    made["uri"] = shown(uri);
    made["mimeType"] = shown(mime_type);
    return made;
  }
  static boost::json::string shown(std::string_view text) {
    std::string good;
    append_repaired_utf8(good, text);
    return boost::json::string(good.data(), good.size());
  }

  boost::json::object block_;
};

/// What a tool answers.
class answer {
 public:
  answer() = default;
  explicit answer(std::string_view words) { blocks_.push_back(content::text(words)); }
  explicit answer(content one) { blocks_.push_back(std::move(one)); }
  /// The tool could not do what it was asked to: for the model to read, and to do better.
  static answer failed(std::string_view why) {
    answer made(why);
    made.is_error_ = true;
    return made;
  }
  /// Asks the client for more before the tool can go on, in the modern era: it calls again with the responses, and with
  /// `state`, which the client can read and cannot change.
  /// \param requests  name -> `{"method": "elicitation/create", "params": {...}}`; may be empty.
  static answer input_required(boost::json::object requests, std::string state = {}) {
    answer made;
    made.requests_ = std::move(requests);
    made.state_ = std::move(state);
    return made;
  }

  answer& add(content one) {
    blocks_.push_back(std::move(one));
    return *this;
  }
  /// The same for programs: what the tool's output schema describes.
  answer& structured(boost::json::object facts) {
    structured_ = std::move(facts);
    return *this;
  }
  answer& is_error(bool failed) {
    is_error_ = failed;
    return *this;
  }

  const std::vector<content>& blocks() const noexcept { return blocks_; }
  const std::optional<boost::json::object>& structured() const noexcept { return structured_; }
  bool is_error() const noexcept { return is_error_; }
  const std::optional<boost::json::object>& requests() const noexcept { return requests_; }
  const std::string& state() const noexcept { return state_; }

 private:
  std::vector<content> blocks_;
  std::optional<boost::json::object> structured_;
  std::optional<boost::json::object> requests_;
  std::string state_;
  bool is_error_ = false;
};

/// What a prompt says: whose words they are, and the words.
class prompt_message {
 public:
  /// \param role  "user" or "assistant".
  prompt_message(std::string role, content words) : role_(std::move(role)), words_(std::move(words)) {}
  const std::string& role() const noexcept { return role_; }
  const content& words() const noexcept { return words_; }

 private:
  std::string role_;
  content words_;
};

}  // namespace cofferdam::inline v0::mcp
