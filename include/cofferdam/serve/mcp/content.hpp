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

/// A block in the answer of a tool or a prompt, or in a resource: `content::text("hello")`. Texts are UTF-8; broken
/// sequences become U+FFFD.
/// \par Source  MCP, "Tools", "Tool Result".
class content {
 public:
  static content text(std::string_view words) {
    content result("text");
    result.block_["text"] = shown(words);
    return result;
  }
  /// \param mime_type  "image/png".
  static content image(bytes_view file, std::string_view mime_type) { return media("image", file, mime_type); }
  /// \param mime_type  "audio/wav".
  static content audio(bytes_view file, std::string_view mime_type) { return media("audio", file, mime_type); }
  /// Makes a resource with text.
  /// \param uri  "sandbox://workspace/a.txt".
  static content resource(std::string_view uri, std::string_view mime_type, std::string_view words) {
    content result("resource");
    boost::json::object inside = about(uri, mime_type);
    inside["text"] = shown(words);
    result.block_["resource"] = std::move(inside);
    return result;
  }
  /// Makes a resource with bytes.
  static content resource(std::string_view uri, std::string_view mime_type, bytes_view file) {
    content result("resource");
    boost::json::object inside = about(uri, mime_type);
    inside["blob"] = cofferdam::detail::base64_encode(file);
    result.block_["resource"] = std::move(inside);
    return result;
  }
  /// Makes a link to a resource that the client may read.
  static content link(std::string_view uri, std::string_view name, std::string_view mime_type) {
    content result("resource_link");
    result.block_["uri"] = shown(uri);
    result.block_["name"] = shown(name);
    if (!mime_type.empty()) result.block_["mimeType"] = shown(mime_type);
    return result;
  }

  /// Returns the block in MCP's format.
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

/// The answer of a tool.
class answer {
 public:
  answer() = default;
  explicit answer(std::string_view words) { blocks_.push_back(content::text(words)); }
  explicit answer(content block) { blocks_.push_back(std::move(block)); }
  /// Makes the answer of a failed tool, with an explanation for the model.
  static answer failed(std::string_view why) {
    answer result(why);
    result.is_error_ = true;
    return result;
  }
  /// Requests more input from a modern client. The client repeats the call with the responses, and with `state`, which
  /// the client can read but not change.
  /// \param requests  name -> `{"method": "elicitation/create", "params": {...}}`; may be empty.
  static answer input_required(boost::json::object requests, std::string state = {}) {
    answer result;
    result.requests_ = std::move(requests);
    result.state_ = std::move(state);
    return result;
  }

  answer& add(content block) {
    blocks_.push_back(std::move(block));
    return *this;
  }
  /// Sets the answer as data for programs, as described by the tool's output schema.
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

/// A message of a prompt: its author and its content.
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

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
