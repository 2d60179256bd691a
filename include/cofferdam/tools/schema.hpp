// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>
#include <boost/json/string_view.hpp>

#include <string_view>
#include <utility>

// Formats the description of a tool for each service and protocol.

namespace cofferdam::inline COFFERDAM_ABI::tools {

namespace detail {

template <class T>
boost::json::object named_tool(const T& one) {
  const std::string_view name = one.name();
  const std::string_view description = one.description();
  boost::json::object made;
  made["name"] = boost::json::string_view(name.data(), name.size());
  made["description"] = boost::json::string_view(description.data(), description.size());
  return made;
}

}  // namespace detail

/// Returns an element of `tools` for POST /chat/completions.
template <tool T>
boost::json::object openai_schema(const T& one) {
  boost::json::object function = detail::named_tool(one);
  function["parameters"] = one.parameters();
  boost::json::object made;
  made["type"] = "function";
  made["function"] = std::move(function);
  return made;
}

/// Returns an element of `tools` for POST /responses.
template <tool T>
boost::json::object responses_schema(const T& one) {
  boost::json::object made = detail::named_tool(one);
  made["type"] = "function";
  made["parameters"] = one.parameters();
  made["strict"] = false;
  return made;
}

/// Returns an element of `tools` for Anthropic's POST /v1/messages.
template <tool T>
boost::json::object anthropic_schema(const T& one) {
  boost::json::object made = detail::named_tool(one);
  made["input_schema"] = one.parameters();
  return made;
}

/// Returns an element of the result of MCP's `tools/list`.
template <tool T>
boost::json::object mcp_schema(const T& one) {
  boost::json::object made = detail::named_tool(one);
  made["inputSchema"] = one.parameters();
  boost::json::object annotations;
  annotations["readOnlyHint"] = reads_only(one);
  made["annotations"] = std::move(annotations);
  return made;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
