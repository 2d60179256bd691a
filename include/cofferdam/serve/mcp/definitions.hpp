// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

/// The description of a resource, or of all resources that match a template: `resource_definition("test://a", "a")`.
class resource_definition {
 public:
  /// \param uri  the URI of a resource, or a template such as `test://{id}/data`. `{id}` matches text without a slash;
  ///             `{+id}` matches any text.
  /// \param name  a short name, which clients show in lists.
  resource_definition(std::string uri, std::string name) : uri_(std::move(uri)), name_(std::move(name)) {}

  /// Sets the title, which clients show to people.
  resource_definition& title(std::string text) {
    title_ = std::move(text);
    return *this;
  }
  /// Sets the description, which the model reads.
  resource_definition& description(std::string text) {
    description_ = std::move(text);
    return *this;
  }
  /// Sets the MIME type of the content.
  resource_definition& mime_type(std::string text) {
    mime_type_ = std::move(text);
    return *this;
  }

  /// Returns the URI, or the template of URIs.
  const std::string& uri() const noexcept { return uri_; }
  /// Returns true if the URI is a template, with variables in braces.
  bool is_template() const noexcept { return uri_.find('{') != std::string::npos; }

  /// Returns the entry for the list of resources or templates, in the form of the protocol version `version`.
  boost::json::object json(std::string_view version) const {
    boost::json::object entry;
    entry[is_template() ? "uriTemplate" : "uri"] = uri_;
    entry["name"] = name_;
    if (!title_.empty() && version >= "2025-06-18") entry["title"] = title_;
    if (!description_.empty()) entry["description"] = description_;
    if (!mime_type_.empty()) entry["mimeType"] = mime_type_;
    return entry;
  }

  /// Returns the values of the template's variables if `uri` matches the template; otherwise no value.
  std::optional<boost::json::object> match(std::string_view uri) const {
    boost::json::object found;
    std::string_view pattern = uri_;
    while (!pattern.empty()) {
      const std::size_t open = pattern.find('{');
      const std::string_view plain = pattern.substr(0, open);
      if (!uri.starts_with(plain)) return std::nullopt;
      uri.remove_prefix(plain.size());
      if (open == std::string_view::npos) return uri.empty() ? std::optional(found) : std::nullopt;
      const std::size_t close = pattern.find('}', open);
      if (close == std::string_view::npos) return std::nullopt;
      std::string_view name = pattern.substr(open + 1, close - open - 1);
      const bool with_slashes = name.starts_with('+');
      if (with_slashes) name.remove_prefix(1);
      pattern.remove_prefix(close + 1);
      const std::string_view next = pattern.substr(0, pattern.find('{'));
      std::size_t end = next.empty() ? uri.size() : uri.find(next);
      if (!with_slashes && next.empty()) end = std::min(uri.size(), uri.find('/'));
      if (end == std::string_view::npos || end == 0) return std::nullopt;
      const std::string_view value = uri.substr(0, end);
      if (!with_slashes && value.find('/') != std::string_view::npos) return std::nullopt;
      found[cofferdam::detail::json_view(name)] = cofferdam::detail::json_text(value);
      uri.remove_prefix(end);
    }
    return uri.empty() ? std::optional(found) : std::nullopt;
  }

 private:
  std::string uri_;
  std::string name_;
  std::string title_;
  std::string description_;
  std::string mime_type_;
};

/// The description of a prompt and of its arguments.
class prompt_definition {
 public:
  /// Describes a prompt. Clients list it under `name`.
  prompt_definition(std::string name, std::string description)
      : name_(std::move(name)), description_(std::move(description)) {}

  /// Sets the title, which clients show to people.
  prompt_definition& title(std::string text) {
    title_ = std::move(text);
    return *this;
  }
  /// Adds an argument at the end.
  prompt_definition& argument(std::string name, std::string description, bool is_required) {
    boost::json::object entry;
    entry["name"] = name;
    entry["description"] = description;
    entry["required"] = is_required;
    if (is_required) required_.emplace_back(name);
    arguments_.push_back(std::move(entry));
    return *this;
  }

  /// Returns the name of the prompt.
  const std::string& name() const noexcept { return name_; }
  /// Returns the description of the prompt.
  const std::string& description() const noexcept { return description_; }
  /// Returns the names of the required arguments.
  const boost::json::array& required() const noexcept { return required_; }

  /// Returns the entry for the list of prompts, in the form of the protocol version `version`.
  boost::json::object json(std::string_view version) const {
    boost::json::object entry;
    entry["name"] = name_;
    if (!title_.empty() && version >= "2025-06-18") entry["title"] = title_;
    entry["description"] = description_;
    if (!arguments_.empty()) entry["arguments"] = arguments_;
    return entry;
  }

 private:
  std::string name_;
  std::string description_;
  std::string title_;
  boost::json::array arguments_;
  boost::json::array required_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
