// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// Returns a content block in the form of a protocol version. A type that the version does not have becomes a text.
inline boost::json::object block_for(const content& source, std::string_view version) {
  const boost::json::object& block = source.json();
  const std::string_view type = view_of(block.at("type").get_string());
  std::string words;
  if (type == "resource_link" && version < "2025-06-18") {
    words = "file: " + std::string(text_at(block, "name")) + " " + std::string(text_at(block, "uri"));
  } else if (type == "audio" && version < "2025-03-26") {
    words = "(audio left out: this version of the protocol does not support audio)";
  } else {
    return block;
  }
  return content::text(words).json();
}

inline boost::json::object tool_result(const answer& tool_answer, std::string_view version) {
  boost::json::array blocks;
  for (const content& block : tool_answer.blocks()) blocks.push_back(block_for(block, version));
  boost::json::object result;
  result["content"] = std::move(blocks);
  if (tool_answer.structured() && version >= "2025-06-18") result["structuredContent"] = *tool_answer.structured();
  result["isError"] = tool_answer.is_error();
  return result;
}

/// Returns one page of a list.
/// \param params    the parameters of the request; they may contain a cursor.
/// \param name      the name of the list in the result. A cursor is valid only for the list of this name.
/// \param items     the whole list.
/// \param size      the maximum number of items in a page.
/// \param revision  a number that changes with the list, so that older cursors become invalid.
/// \throws failure  for an invalid cursor.
inline boost::json::object page_of(const boost::json::object& params, const char* name, boost::json::array items,
                                   std::size_t size, std::uint64_t revision) {
  // The text of a cursor is the index of the next item, followed by this text.
  const std::string list_version = ":" + std::to_string(revision) + ":" + name;
  std::size_t from = 0;
  if (const boost::json::value* const given = params.if_contains("cursor"); given != nullptr && !given->is_null()) {
    const failure wrong(invalid_params, "Invalid cursor");
    if (!given->is_string()) throw wrong;
    const std::optional<bytes> raw =
        cofferdam::detail::base64_decode(view_of(given->get_string()), cofferdam::detail::base64_alphabet::url);
    if (!raw || !as_text(*raw).ends_with(list_version)) throw wrong;
    const std::string_view index = as_text(*raw).substr(0, raw->size() - list_version.size());
    if (index.empty() || index.size() > 9) throw wrong;
    for (const char c : index)
      if (c < '0' || c > '9') throw wrong;
    from = std::stoul(std::string(index));
    if (from == 0 || from >= items.size()) throw wrong;
  }
  boost::json::object result;
  if (from == 0 && items.size() <= size) {
    result[name] = std::move(items);
    return result;
  }
  const std::size_t end = std::min(items.size(), from + size);
  boost::json::array part(items.begin() + static_cast<std::ptrdiff_t>(from),
                          items.begin() + static_cast<std::ptrdiff_t>(end));
  result[name] = std::move(part);
  if (end < items.size())
    result["nextCursor"] = cofferdam::detail::base64_encode(as_bytes(std::to_string(end) + list_version),
                                                            cofferdam::detail::base64_alphabet::url);
  return result;
}

inline constexpr std::string_view workspace_uri = "sandbox://workspace/";

/// Returns the URI of a workspace file.
inline std::string uri_of(std::string_view path) {
  return std::string(workspace_uri) + cofferdam::detail::percent_encoded_path(path);
}
/// Returns the path of the workspace file with this URI; no value for another URI.
inline std::optional<std::string> path_of(std::string_view uri) {
  if (!uri.starts_with(workspace_uri)) return std::nullopt;
  std::optional<std::string> path = cofferdam::detail::percent_decoded(uri.substr(workspace_uri.size()));
  if (!path || path->empty() || path->find('\0') != std::string::npos) return std::nullopt;
  return path;
}

/// Returns the MIME type for a file name; an empty text if the ending of the name is unknown.
inline std::string_view mime_type_of(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 22> known{{
      {".txt", "text/plain"},        {".md", "text/markdown"},      {".csv", "text/csv"},
      {".html", "text/html"},        {".htm", "text/html"},         {".css", "text/css"},
      {".py", "text/x-python"},      {".sh", "text/x-shellscript"}, {".log", "text/plain"},
      {".js", "text/javascript"},    {".json", "application/json"}, {".xml", "application/xml"},
      {".yaml", "application/yaml"}, {".yml", "application/yaml"},  {".png", "image/png"},
      {".jpg", "image/jpeg"},        {".jpeg", "image/jpeg"},       {".gif", "image/gif"},
      {".webp", "image/webp"},       {".svg", "image/svg+xml"},     {".pdf", "application/pdf"},
      {".zip", "application/zip"},
  }};
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return {};
  for (const auto& [ending, type] : known)
    if (path.substr(dot) == ending) return type;
  return {};
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
