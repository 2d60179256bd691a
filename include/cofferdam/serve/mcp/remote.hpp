// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Describes what an MCP server offers, and what it answers. All texts come from the server: do not trust them.

namespace cofferdam::inline COFFERDAM_ABI::mcp {

/// The error with which a server has answered a request. `code()` is `exec_errc::provider_failed`.
class server_error : public error {
 public:
  /// \param sentence  the message for people.
  /// \param number    the code of JSON-RPC, for example -32602 for invalid parameters.
  /// \param data      the details that the server has sent; null if there are none.
  server_error(const std::string& sentence, int number, boost::json::value data = nullptr)
      : error(exec_errc::provider_failed, sentence), number_(number), data_(std::move(data)) {}
  /// Returns the code of JSON-RPC.
  int number() const noexcept { return number_; }
  /// Returns the details that the server has sent; null if there are none.
  const boost::json::value& data() const noexcept { return data_; }

 private:
  int number_;
  boost::json::value data_;
};

/// A tool of an MCP server.
/// \par Source  MCP, "Tools".
class remote_tool {
 public:
  /// \param json  the description in MCP's format; must have a `name`.
  explicit remote_tool(boost::json::object json) : json_(std::move(json)) {}

  /// Returns the name, by which the tool is called.
  std::string name() const { return text("name"); }
  /// Returns the name for people; empty if the server gives none.
  std::string title() const {
    const std::string own = text("title");
    return own.empty() ? std::string(cofferdam::detail::text_at(hints(), "title")) : own;
  }
  /// Returns the description for a model; may be empty.
  std::string description() const { return text("description"); }
  /// Returns the JSON schema of the arguments.
  boost::json::object input_schema() const { return schema("inputSchema"); }
  /// Returns the JSON schema of `remote_answer::structured()`; empty if the server gives none.
  boost::json::object output_schema() const { return schema("outputSchema"); }

  /// Returns true if the server declares that the tool changes nothing. Like the next three, this is a hint, which a
  /// server can give wrongly.
  bool is_read_only() const { return hint("readOnlyHint", false); }
  /// Returns false if the server declares that the tool only adds, or changes nothing.
  bool is_destructive() const { return !is_read_only() && hint("destructiveHint", true); }
  /// Returns true if the server declares that a repeated call changes nothing more.
  bool is_idempotent() const { return is_read_only() || hint("idempotentHint", false); }
  /// Returns false if the server declares that the tool reaches nothing outside of it, such as the internet.
  bool is_open_world() const { return hint("openWorldHint", true); }

  /// Returns the whole description in MCP's format.
  const boost::json::object& json() const noexcept { return json_; }

 private:
  std::string text(std::string_view key) const { return std::string(cofferdam::detail::text_at(json_, key)); }
  boost::json::object schema(std::string_view key) const {
    const boost::json::object* const found = cofferdam::detail::object_at(json_, key);
    return found == nullptr ? boost::json::object() : *found;
  }
  const boost::json::object* hints() const { return cofferdam::detail::object_at(json_, "annotations"); }
  bool hint(std::string_view key, bool usual) const {
    const boost::json::value* const found = cofferdam::detail::member(hints(), key);
    return found != nullptr && found->is_bool() ? found->get_bool() : usual;
  }

  boost::json::object json_;
};

/// The answer of a tool of an MCP server.
class remote_answer {
 public:
  /// Makes an answer without content.
  remote_answer() = default;
  /// \param json  the result in MCP's format.
  explicit remote_answer(boost::json::object json) : json_(std::move(json)) {}

  /// Returns true if the tool has failed. The text then explains why.
  bool is_error() const {
    const boost::json::value* const found = cofferdam::detail::member(json_, "isError");
    return found != nullptr && !found->is_null() && !(found->is_bool() && !found->get_bool());
  }
  /// Returns the texts of the answer, one below the other. Links to resources are lines with a name and a URI. Images
  /// and sounds are lines with their type; `content()` has them.
  std::string text() const;
  /// Converts the answer for a model, so that a tool of an agent can return it: the text, images, audio, video (which
  /// are embedded resources of a type `video/...`), and data. The server's names of types are not trusted: a file is
  /// passed on with the type that its content shows. Other files are left out, with a line in the text: those that are
  /// broken, and those of formats that services do not document. If the server sends audio or video, the model must
  /// support it.
  tools::tool_result result() const;
  /// Returns the answer as JSON for programs; no value if the tool gives none.
  std::optional<boost::json::value> structured() const {
    const boost::json::value* const found = cofferdam::detail::member(json_, "structuredContent");
    return found == nullptr || found->is_null() ? std::nullopt : std::optional(*found);
  }
  /// Returns the content blocks in MCP's format: text, image, audio, resource and resource_link.
  boost::json::array content() const {
    const boost::json::array* const found = cofferdam::detail::array_at(json_, "content");
    return found == nullptr ? boost::json::array() : *found;
  }
  /// Returns the whole result in MCP's format.
  const boost::json::object& json() const noexcept { return json_; }

 private:
  boost::json::object json_;
};

inline std::string remote_answer::text() const {
  using cofferdam::detail::text_at;
  std::string all;
  for (const boost::json::value& each : content()) {
    const boost::json::object* const block = each.if_object();
    const std::string_view type = text_at(block, "type");
    std::string line;
    if (type == "text") {
      line = text_at(block, "text");
    } else if (type == "resource") {
      const boost::json::object* const inside = cofferdam::detail::object_at(block, "resource");
      const auto words = cofferdam::detail::if_text_at(inside, "text");
      line = words ? std::string(*words) : "[resource " + std::string(text_at(inside, "uri")) + "]";
    } else if (type == "resource_link") {
      line = "[resource " + std::string(text_at(block, "name")) + ": " + std::string(text_at(block, "uri")) + "]";
    } else {
      line = "[" + std::string(type) + " " + std::string(text_at(block, "mimeType")) + "]";
    }
    if (!all.empty()) all += '\n';
    all += line;
  }
  return all;
}

/// A resource of an MCP server, or a template of URIs of resources.
/// \par Source  MCP, "Resources".
class remote_resource {
 public:
  /// \param json  the description in MCP's format.
  explicit remote_resource(boost::json::object json) : json_(std::move(json)) {}

  /// Returns the URI, or the template of URIs.
  std::string uri() const {
    const std::string_view fixed = cofferdam::detail::text_at(json_, "uri");
    return std::string(fixed.empty() ? cofferdam::detail::text_at(json_, "uriTemplate") : fixed);
  }
  /// Returns a short name for lists.
  std::string name() const { return std::string(cofferdam::detail::text_at(json_, "name")); }
  /// Returns the description for a model; may be empty.
  std::string description() const { return std::string(cofferdam::detail::text_at(json_, "description")); }
  /// Returns the type of the content, such as "text/plain"; empty if it is not known.
  std::string mime_type() const { return std::string(cofferdam::detail::text_at(json_, "mimeType")); }
  /// Returns the whole description in MCP's format.
  const boost::json::object& json() const noexcept { return json_; }

 private:
  boost::json::object json_;
};

/// A prompt of an MCP server.
/// \par Source  MCP, "Prompts".
class remote_prompt {
 public:
  /// \param json  the description in MCP's format.
  explicit remote_prompt(boost::json::object json) : json_(std::move(json)) {}

  /// Returns the name, by which the prompt is requested.
  std::string name() const { return std::string(cofferdam::detail::text_at(json_, "name")); }
  /// Returns the description for people; may be empty.
  std::string description() const { return std::string(cofferdam::detail::text_at(json_, "description")); }
  /// Returns the arguments in MCP's format: objects with `name`, `description` and `required`.
  boost::json::array arguments() const {
    const boost::json::array* const found = cofferdam::detail::array_at(json_, "arguments");
    return found == nullptr ? boost::json::array() : *found;
  }
  /// Returns the whole description in MCP's format.
  const boost::json::object& json() const noexcept { return json_; }

 private:
  boost::json::object json_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/serve/mcp/impl/remote.ipp>
#endif
