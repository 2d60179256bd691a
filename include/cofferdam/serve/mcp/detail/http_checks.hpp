// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/http_origin.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/serve/detail/secrets.hpp>
#include <cofferdam/serve/mcp/definitions.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>
#include <cofferdam/serve/mcp/detail/protocol.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

// Checks the header fields of a request over streamable HTTP before its message is handled. MCP, "Transports".

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

inline std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Returns the host of `host:port` in lower case; an empty text if the syntax is invalid.
inline std::string host_name(std::string_view authority) {
  std::size_t end = 0;
  if (authority.starts_with('[')) {
    end = authority.find(']');
    if (end == std::string_view::npos) return {};
    ++end;
  } else {
    end = std::min(authority.find(':'), authority.size());
  }
  const std::string_view port = authority.substr(end);
  if (!port.empty() && (port.front() != ':' || port.size() > 6)) return {};
  for (const char c : port.substr(port.empty() ? 0 : 1))
    if (c < '0' || c > '9') return {};
  for (const char c : authority.substr(0, end))
    if (c <= ' ' || c == '/' || c == '@' || c == '\\' || c == '?' || c == '#' || c == '%' || c == 0x7F) return {};
  return lowered(authority.substr(0, end));
}

inline bool is_own_name(std::string_view host) { return host == "localhost" || host == "127.0.0.1" || host == "[::1]"; }

/// Returns true if a request may name this host in its `Host` field. The names of loopback are always allowed.
/// \param others  further hosts, with a port, or without a port, which allows every port.
inline bool is_own_host(std::string_view host, const std::vector<std::string>& others) {
  const std::string name = host_name(host);
  if (name.empty()) return false;
  if (is_own_name(name)) return true;
  const std::string whole = lowered(host);
  return std::any_of(others.begin(), others.end(), [&](const std::string& allowed) {
    const std::string other = lowered(allowed);
    return other == name || other == whole;
  });
}

/// Returns true if web pages of this origin may send requests: pages of this machine, of `hosts` and of `origins`.
inline bool is_own_origin(std::string_view origin, const std::vector<std::string>& hosts,
                          const std::vector<std::string>& origins) {
  if (cofferdam::detail::is_listed_origin(origin, origins)) return true;
  const std::string whole = lowered(origin);
  for (const std::string_view scheme : {"http://", "https://"})
    if (whole.starts_with(scheme)) return is_own_host(std::string_view(whole).substr(scheme.size()), hosts);
  return false;
}

/// Returns true if a request has no `Origin` field, or one `Origin` field with an allowed origin. Browsers send this
/// field.
inline bool has_own_origin(const http_fields& fields, const std::vector<std::string>& hosts,
                           const std::vector<std::string>& origins) {
  const std::optional<std::string_view> origin = fields.find("Origin");
  return !origin || (fields.count("Origin") == 1 && is_own_origin(*origin, hosts, origins));
}

/// Returns true if the value of a `Content-Type` field is JSON, with or without parameters.
inline bool is_json_type(std::string_view field) {
  return lowered(trimmed(field.substr(0, field.find(';')))) == "application/json";
}

/// Returns the index of the token in an `Authorization` field; no value if the field has no known token.
inline std::optional<std::size_t> token_of(std::string_view field, const std::vector<std::string>& tokens) {
  constexpr std::string_view scheme = "bearer ";
  if (field.size() < scheme.size() || lowered(field.substr(0, scheme.size())) != scheme) return std::nullopt;
  const std::string_view token = trimmed(field.substr(scheme.size()));
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (cofferdam::detail::same_secret(token, tokens[i])) found = i;
  return found;
}

/// The header field in which a client of the modern era (protocol version 2026-07-28) names its environment. This
/// library defines the field, because that version has no sessions.
inline constexpr std::string_view place_field = "Cofferdam-Place";

/// Returns true for a valid place name: 1 to 64 letters, digits, dots, hyphens and underscores.
inline bool is_place_name(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), is_good);
}

/// Returns true if the value of an `Accept` field allows a media type, such as "text/event-stream".
inline bool accepts(std::string_view field, std::string_view type) {
  const std::string_view family = type.substr(0, type.find('/'));
  while (!field.empty()) {
    const std::size_t comma = std::min(field.find(','), field.size());
    const std::string_view media_range = field.substr(0, comma);
    const std::string name = lowered(trimmed(media_range.substr(0, media_range.find(';'))));
    if (name == type || name == "*/*" || name == std::string(family) + "/*") return true;
    field.remove_prefix(std::min(comma + 1, field.size()));
  }
  return false;
}

/// Decodes the value of a header field. The form `=?base64?...?=` is decoded; other values stay unchanged. Returns no
/// value if the base64 is invalid.
inline std::optional<std::string> decoded_field(std::string_view value) {
  value = trimmed(value);
  constexpr std::string_view open = "=?base64?";
  if (!value.starts_with(open) || !value.ends_with("?=") || value.size() < open.size() + 2) return std::string(value);
  const std::optional<bytes> raw =
      cofferdam::detail::base64_decode(value.substr(open.size(), value.size() - open.size() - 2));
  if (!raw) return std::nullopt;
  return std::string(as_text(*raw));
}

/// A function that returns the value of a request's header field; no value if the field is absent.
using field_lookup = std::function<std::optional<std::string_view>(std::string_view name)>;

/// Returns one sentence about header fields that contradict the message of a request of the modern era (2026-07-28); an
/// empty text if there are none.
/// \param tool  the input schema of the called tool; null if the request calls no tool.
inline std::string header_complaint(const rpc_message& message, const field_lookup& field,
                                    const boost::json::object* tool) {
  const std::optional<std::string_view> method = field("Mcp-Method");
  if (!method) return "the Mcp-Method field is missing";
  if (trimmed(*method) != message.method) return "the Mcp-Method field and the body name different methods";
  const char* member = nullptr;
  if (message.method == "tools/call" || message.method == "prompts/get") member = "name";
  if (message.method == "resources/read") member = "uri";
  if (member != nullptr) {
    const std::optional<std::string> expected(if_text_at(message.params, member));
    const std::optional<std::string_view> name = field("Mcp-Name");
    if (expected) {
      if (!name) return "the Mcp-Name field is missing";
      if (decoded_field(*name) != expected) return "the Mcp-Name field and the body name different things";
    }
  }
  if (tool == nullptr) return {};
  const boost::json::object* const properties = object_at(*tool, "properties");
  if (properties == nullptr) return {};
  const boost::json::object* const arguments = object_at(message.params, "arguments");
  for (const auto& each : *properties) {
    const boost::json::object* const property = each.value().if_object();
    const std::optional<std::string_view> header = if_text_at(property, "x-mcp-header");
    if (!header) continue;
    const std::string name = "Mcp-Param-" + std::string(*header);
    const boost::json::value* const given = arguments == nullptr ? nullptr : arguments->if_contains(each.key());
    const std::optional<std::string_view> field_value = field(name);
    const bool is_given = given != nullptr && !given->is_null();
    if (!is_given && !field_value) continue;
    if (is_given != field_value.has_value()) return "the field " + name + " and the body disagree";
    const std::optional<std::string> text = decoded_field(*field_value);
    bool same = false;
    if (text && given->is_string()) same = *text == view_of(given->get_string());
    if (text && given->is_bool()) same = *text == (given->get_bool() ? "true" : "false");
    if (text && given->is_number()) {
      std::error_code broken;
      const boost::json::value number = cofferdam::detail::parse_untrusted_json(*text, broken);
      same = !broken && number.is_number() && number.to_number<double>() == given->to_number<double>();
    }
    if (!same) return "the field " + name + " and the body disagree";
  }
  return {};
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
