// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The client that MCP's public conformance suite tests: `conformance_client URL`. It connects, calls every tool with
// arguments that fit its schema, reads the first resource, and gets the first prompt. The suite sets
// MCP_CONFORMANCE_PROTOCOL_VERSION, and MCP_CONFORMANCE_CONTEXT, which may have the calls to make.

#include <cofferdam/core/run.hpp>
#include <cofferdam/net/readable_json.hpp>
#include <cofferdam/serve/mcp_client.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Returns values that fit a schema: defaults, or samples.
boost::json::object values_for(const boost::json::object& schema) {
  boost::json::object made;
  const boost::json::value* const properties = schema.if_contains("properties");
  if (properties == nullptr || !properties->is_object()) return made;
  for (const auto& [name, rules] : properties->get_object()) {
    const boost::json::object* const rule = rules.if_object();
    if (rule == nullptr) continue;
    const boost::json::value* const type = rule->if_contains("type");
    const std::string kind = type != nullptr && type->is_string() ? std::string(type->get_string()) : std::string();
    if (const boost::json::value* const usual = rule->if_contains("default")) {
      made[name] = *usual;
    } else if (kind == "string") {
      made[name] = "test";
    } else if (kind == "number" || kind == "integer") {
      made[name] = 5;
    } else if (kind == "boolean") {
      made[name] = true;
    }
  }
  return made;
}

awaitable<boost::json::object> accept(boost::json::object params) {
  boost::json::object reply;
  reply["action"] = "accept";
  const boost::json::value* const schema = params.if_contains("requestedSchema");
  reply["content"] = schema == nullptr ? boost::json::object() : values_for(schema->as_object());
  co_return reply;
}

awaitable<void> call(mcp::client& client, std::string name, boost::json::object arguments) {
  try {
    const mcp::remote_answer answer = co_await client.call(name, std::move(arguments));
    std::cerr << name << ": " << answer.text() << "\n";
  } catch (const mcp::server_error& failure) {
    std::cerr << name << ": " << failure.what() << "\n";
  }
}

awaitable<void> test(std::string url) {
  mcp::client_options options;
  const bool is_modern = variable("MCP_CONFORMANCE_PROTOCOL_VERSION") == "2026-07-28";
  options.era(is_modern ? mcp::protocol_era::modern : mcp::protocol_era::legacy).on_elicitation(accept);
  mcp::client client = co_await mcp::client::connect(url, options);
  const std::vector<mcp::remote_tool> tools = co_await client.tools();
  const std::string context = variable("MCP_CONFORMANCE_CONTEXT");
  const boost::json::value wanted = context.empty() ? boost::json::value() : boost::json::parse(context);
  const boost::json::object* const members = wanted.if_object();
  const boost::json::value* const calls = members == nullptr ? nullptr : members->if_contains("toolCalls");
  if (calls != nullptr) {
    for (const boost::json::value& each : calls->as_array())
      co_await call(client, std::string(each.at("name").as_string()), each.at("arguments").as_object());
  } else {
    for (const mcp::remote_tool& each : tools) {
      boost::json::object arguments = values_for(each.input_schema());
      // This tool expects the schema of another tool.
      if (each.name() == "json_schema_echo")
        for (const mcp::remote_tool& other : tools)
          if (other.name() == "json_schema_2020_12_tool") arguments["schema"] = other.input_schema();
      co_await call(client, each.name(), std::move(arguments));
    }
  }
  const std::vector<mcp::remote_resource> resources = co_await client.resources();
  if (!resources.empty()) static_cast<void>(co_await client.read_resource(resources.front().uri()));
  const std::vector<mcp::remote_prompt> prompts = co_await client.prompts();
  if (!prompts.empty()) static_cast<void>(co_await client.prompt(prompts.front().name()));
  co_await client.close();
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::cerr << "usage: conformance_client URL\n";
    return 2;
  }
  return cofferdam::run(test(words[count - 1]));
}
