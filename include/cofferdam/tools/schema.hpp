// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>
#include <boost/json/string_view.hpp>

#include <string_view>
#include <utility>

// Converts the description of a tool to the JSON that each service and protocol expects.

namespace cofferdam::inline COFFERDAM_ABI::tools {

namespace detail {

template <class T>
boost::json::object named_tool(const T& described) {
  const std::string_view name = described.name();
  const std::string_view description = described.description();
  boost::json::object result;
  result["name"] = boost::json::string_view(name.data(), name.size());
  result["description"] = boost::json::string_view(description.data(), description.size());
  return result;
}

}  // namespace detail

/// Returns an element of `tools` for OpenAI's POST /chat/completions.
template <tool T>
boost::json::object openai_schema(const T& described) {
  boost::json::object function = detail::named_tool(described);
  function["parameters"] = described.parameters();
  boost::json::object result;
  result["type"] = "function";
  result["function"] = std::move(function);
  return result;
}

/// Returns an element of `tools` for OpenAI's POST /responses.
template <tool T>
boost::json::object responses_schema(const T& described) {
  boost::json::object result = detail::named_tool(described);
  result["type"] = "function";
  result["parameters"] = described.parameters();
  result["strict"] = false;
  return result;
}

/// Returns an element of `tools` for Anthropic's POST /v1/messages.
template <tool T>
boost::json::object anthropic_schema(const T& described) {
  boost::json::object result = detail::named_tool(described);
  result["input_schema"] = described.parameters();
  return result;
}

/// Returns an element of `tools` in the result of MCP's `tools/list`.
template <tool T>
boost::json::object mcp_schema(const T& described) {
  boost::json::object result = detail::named_tool(described);
  result["inputSchema"] = described.parameters();
  boost::json::object annotations;
  annotations["readOnlyHint"] = reads_only(described);
  result["annotations"] = std::move(annotations);
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
