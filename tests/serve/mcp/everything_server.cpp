// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A test server with all features that MCP's public conformance suite tests: tools, resources and prompts on
// `mcp::server`. `everything_server --http 127.0.0.1:PORT` serves HTTP; without options it serves stdio. The suite
// prescribes the names and texts.

#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/mcp_server.hpp>

#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::base64_decode;
using mcp::answer;
using mcp::call;
using mcp::content;

bytes picture() {
  return *base64_decode(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==");
}
bytes sound() { return *base64_decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="); }

boost::json::object object(std::string_view text) { return boost::json::parse({text.data(), text.size()}).as_object(); }

std::string text_in(const boost::json::object& from, std::string_view name) {
  const boost::json::value* const found = from.if_contains({name.data(), name.size()});
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}
/// Returns the content of the form `name` if the user has accepted it; otherwise no value.
std::optional<boost::json::object> accepted(const call& of, std::string_view name) {
  const boost::json::value* const found = of.input_responses().if_contains({name.data(), name.size()});
  if (found == nullptr || !found->is_object() || text_in(found->get_object(), "action") != "accept")
    return std::nullopt;
  const boost::json::value* const filled = found->get_object().if_contains("content");
  if (filled == nullptr || !filled->is_object()) return std::nullopt;
  return filled->get_object();
}

boost::json::object form(std::string_view words, std::string_view name, std::string_view type) {
  boost::json::object property;
  property["type"] = type;
  boost::json::object properties;
  properties[name] = std::move(property);
  boost::json::array required;
  required.emplace_back(name);
  boost::json::object schema;
  schema["type"] = "object";
  schema["properties"] = std::move(properties);
  schema["required"] = std::move(required);
  boost::json::object params;
  params["mode"] = "form";
  params["message"] = words;
  params["requestedSchema"] = std::move(schema);
  boost::json::object result;
  result["method"] = "elicitation/create";
  result["params"] = std::move(params);
  return result;
}
boost::json::object sampling(std::string_view words, int max_tokens) {
  boost::json::object content_json;
  content_json["type"] = "text";
  content_json["text"] = words;
  boost::json::object message;
  message["role"] = "user";
  message["content"] = std::move(content_json);
  boost::json::array messages;
  messages.push_back(std::move(message));
  boost::json::object params;
  params["messages"] = std::move(messages);
  params["maxTokens"] = max_tokens;
  boost::json::object result;
  result["method"] = "sampling/createMessage";
  result["params"] = std::move(params);
  return result;
}
boost::json::object roots() {
  boost::json::object result;
  result["method"] = "roots/list";
  result["params"] = boost::json::object();
  return result;
}
boost::json::object one(const char* name, boost::json::object what) {
  boost::json::object result;
  result[name] = std::move(what);
  return result;
}

awaitable<void> pause(int milliseconds) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, std::chrono::milliseconds(milliseconds));
  co_await timer.async_wait(asio::use_awaitable);
}

template <class Answer>
awaitable<answer> said(Answer say, call& of) {
  co_return say(of);
}

/// Adds a tool whose result is computed at once, without waiting.
template <class Answer>
void add(mcp::server& to, const char* name, const char* description, Answer say, const char* schema = nullptr) {
  tools::definition what(name, description);
  if (schema != nullptr) what = std::move(what).input(object(schema));
  to.add(std::move(what), [say](call& of) { return said(say, of); });
}

void add_contents(mcp::server& to) {
  add(to, "test_simple_text", "Answers with a text",
      [](call&) { return answer("This is a simple text response for testing."); });
  add(to, "test_image_content", "Answers with an image",
      [](call&) { return answer(content::image(picture(), "image/png")); });
  add(to, "test_audio_content", "Answers with a sound",
      [](call&) { return answer(content::audio(sound(), "audio/wav")); });
  add(to, "test_embedded_resource", "Answers with a resource", [](call&) {
    return answer(content::resource("test://embedded-resource", "text/plain",
                                    std::string_view("This is an embedded resource content.")));
  });
  add(to, "test_multiple_content_types", "Answers with three kinds of content", [](call&) {
    answer result("Multiple content types test:");
    result.add(content::image(picture(), "image/png"));
    result.add(content::resource("test://mixed-content-resource", "application/json",
                                 std::string_view(R"({"test":"data","value":123})")));
    return result;
  });
  add(to, "test_error_handling", "Fails",
      [](call&) { return answer::failed("This tool intentionally returns an error for testing"); });
  add(
      to, "json_schema_2020_12_tool", "Has a schema with much of JSON Schema 2020-12",
      [](call& of) { return answer("called with: " + boost::json::serialize(of.arguments())); },
      R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
          "$defs":{"address":{"$anchor":"addressDef","type":"object",
            "properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
          "properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
            "contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},
            "email":{"type":"string"}},
          "allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
          "if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
          "then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false})");
  add(
      to, "test_x_mcp_header", "Has an argument that is repeated in a header field",
      [](call& of) { return answer("region=" + text_in(of.arguments(), "region")); },
      R"({"type":"object","properties":{
          "region":{"type":"string","description":"mirrored","x-mcp-header":"Region"},
          "level":{"type":"integer","description":"not mirrored"}}})");
}

awaitable<answer> tell_log(call& of) {
  of.log(mcp::log_severity::info, "Tool execution started");
  co_await pause(50);
  of.log(mcp::log_severity::info, "Tool processing data");
  co_await pause(50);
  of.log(mcp::log_severity::info, "Tool execution completed");
  co_return answer("Tool with logging executed successfully");
}
awaitable<answer> tell_progress(call& of) {
  for (int step = 0; step <= 100; step += 50) {
    of.progress(step, 100, "Completed step " + std::to_string(step) + " of 100");
    co_await pause(50);
  }
  co_return answer("done");
}
awaitable<answer> reconnect(call& of) {
  of.interrupt_connection();
  co_await pause(100);
  co_return answer("Reconnection test completed successfully.");
}

awaitable<answer> ask_model(call& of) {
  const boost::json::object asked = sampling(text_in(of.arguments(), "prompt"), 100);
  const boost::json::object reply = co_await of.ask("sampling/createMessage", asked.at("params").as_object());
  const boost::json::value* const words = reply.if_contains("content");
  co_return answer("LLM response: " + (words != nullptr && words->is_object() ? text_in(words->get_object(), "text")
                                                                              : std::string("none")));
}
awaitable<answer> ask_user(call& of, std::string words, boost::json::object schema) {
  boost::json::object params;
  params["message"] = words;
  params["requestedSchema"] = std::move(schema);
  const boost::json::object reply = co_await of.ask("elicitation/create", std::move(params));
  const boost::json::value* const filled = reply.if_contains("content");
  co_return answer("Elicitation completed: action=" + text_in(reply, "action") +
                   ", content=" + (filled != nullptr ? boost::json::serialize(*filled) : std::string("{}")));
}

constexpr std::string_view defaults = R"({"type":"object","properties":{
  "name":{"type":"string","description":"User name","default":"John Doe"},
  "age":{"type":"integer","description":"User age","default":30},
  "score":{"type":"number","description":"User score","default":95.5},
  "status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
  "verified":{"type":"boolean","description":"Verification status","default":true}},"required":[]})";
constexpr std::string_view choices = R"({"type":"object","properties":{
  "untitledSingle":{"type":"string","description":"One","enum":["option1","option2","option3"]},
  "titledSingle":{"type":"string","description":"One with a title","oneOf":[
    {"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},
    {"const":"value3","title":"Third Option"}]},
  "legacyEnum":{"type":"string","description":"One, the old way","enum":["opt1","opt2","opt3"],
    "enumNames":["Option One","Option Two","Option Three"]},
  "untitledMulti":{"type":"array","description":"Some","minItems":1,"maxItems":3,
    "items":{"type":"string","enum":["option1","option2","option3"]}},
  "titledMulti":{"type":"array","description":"Some with titles","minItems":1,"maxItems":3,
    "items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},
      {"const":"value3","title":"Third Choice"}]}}},"required":[]})";

void add_talking(mcp::server& to) {
  to.add(tools::definition("test_tool_with_logging", "Tells the log"), tell_log);
  to.add(tools::definition("test_tool_with_progress", "Tells its progress"), tell_progress);
  to.add(tools::definition("test_reconnection", "Ends the connection and answers the next one"), reconnect);
  add(to, "test_logging_tool", "Tells the log, where the request wants that", [](call& of) {
    of.log(mcp::log_severity::info, "test_logging_tool ran");
    return answer("logged");
  });
  add(to, "test_streaming_elicitation", "Asks nothing", [](call&) { return answer("only a result"); });
  to.add(tools::definition("test_sampling", "Asks the client's model")
             .input(object(R"({"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]})")),
         ask_model);
  to.add(tools::definition("test_elicitation", "Asks the user")
             .input(object(R"({"type":"object","properties":{"message":{"type":"string"}},"required":["message"]})")),
         [](call& of) {
           return ask_user(of, text_in(of.arguments(), "message"),
                           object(R"({"type":"object","properties":{"response":{"type":"string",
                                       "description":"User's response"}},"required":["response"]})"));
         });
  to.add(tools::definition("test_elicitation_sep1034_defaults", "Asks the user, with defaults"),
         [](call& of) { return ask_user(of, "Please review the fields", object(defaults)); });
  to.add(tools::definition("test_elicitation_sep1330_enums", "Asks the user to choose"),
         [](call& of) { return ask_user(of, "Please choose", object(choices)); });
}

// ---- requests for input in the protocol versions without a handshake (from 2026-07-28) ----
answer ask_name(call& of) {
  const auto filled = accepted(of, "user_name");
  if (filled && !text_in(*filled, "name").empty()) return answer("Hello, " + text_in(*filled, "name") + "!");
  return answer::input_required(one("user_name", form("What is your name?", "name", "string")));
}
answer ask_capital(call& of) {
  if (of.input_responses().contains("capital_question"))
    return answer("Sampling response: " + boost::json::serialize(of.input_responses().at("capital_question")));
  return answer::input_required(one("capital_question", sampling("What is the capital of France?", 100)));
}
answer ask_roots(call& of) {
  if (of.input_responses().contains("client_roots"))
    return answer("Roots: " + boost::json::serialize(of.input_responses().at("client_roots")));
  return answer::input_required(one("client_roots", roots()));
}
answer keep_state(call& of) {
  if (accepted(of, "confirm")) {
    if (of.request_state() != "kept") throw mcp::failure(-32602, "the state is missing");
    return answer("state-ok: the state came back and was confirmed");
  }
  return answer::input_required(one("confirm", form("Please confirm", "ok", "boolean")), "kept");
}
answer ask_much(call& of) {
  const boost::json::object& responses = of.input_responses();
  if (accepted(of, "user_name") && responses.contains("greeting") && responses.contains("client_roots"))
    return answer("all three came back");
  boost::json::object requests = one("user_name", form("What is your name?", "name", "string"));
  requests["greeting"] = sampling("Generate a greeting", 50);
  requests["client_roots"] = roots();
  return answer::input_required(std::move(requests), "several");
}
answer ask_twice(call& of) {
  const std::string& state = of.request_state();
  if (state.empty())
    return answer::input_required(one("step1", form("Step 1: What is your name?", "name", "string")), "1");
  if (state == "1") {
    const auto filled = accepted(of, "step1");
    return answer::input_required(one("step2", form("Step 2: What is your favorite color?", "color", "string")),
                                  "2" + (filled ? text_in(*filled, "name") : std::string("unknown")));
  }
  const auto filled = accepted(of, "step2");
  return answer("Multi-round complete: " + state.substr(1) + " likes " +
                (filled ? text_in(*filled, "color") : "nothing"));
}
answer ask_what_is_declared(call& of) {
  if (!of.input_responses().empty()) return answer("Capability-aware input requests fulfilled");
  boost::json::object requests;
  if (of.client_can("elicitation")) requests["user_name"] = form("What is your name?", "name", "string");
  if (of.client_can("sampling")) requests["greeting"] = sampling("Generate a short greeting", 50);
  if (of.client_can("roots")) requests["client_roots"] = roots();
  if (requests.empty()) return answer("nothing was declared that could be asked for");
  return answer::input_required(std::move(requests));
}
answer need_sampling(call& of) {
  if (of.input_responses().contains("llm_answer")) return answer("sampling round-trip complete");
  return answer::input_required(one("llm_answer", sampling("Reply with the single word: pong", 16)));
}

void add_asking(mcp::server& to) {
  add(to, "test_input_required_result_elicitation", "Asks for a name", ask_name);
  add(to, "test_input_required_result_sampling", "Asks for a completion", ask_capital);
  add(to, "test_input_required_result_list_roots", "Asks for roots", ask_roots);
  add(to, "test_input_required_result_request_state", "Has a state come back", keep_state);
  add(to, "test_input_required_result_multiple_inputs", "Asks for three things", ask_much);
  add(to, "test_input_required_result_multi_round", "Asks twice", ask_twice);
  add(to, "test_input_required_result_tampered_state", "Refuses a state that was changed", keep_state);
  add(to, "test_input_required_result_capabilities", "Asks for what the client has", ask_what_is_declared);
  add(to, "test_missing_capability", "Needs sampling", need_sampling);
  add(to, "test_trigger_tool_change", "Says that the tools have changed", [&to](call&) {
    to.tools_changed();
    return answer("said");
  });
  add(to, "test_trigger_prompt_change", "Says that the prompts have changed", [&to](call&) {
    to.prompts_changed();
    return answer("said");
  });
}

awaitable<content> static_text(call& of) {
  co_return content::resource(of.name(), "text/plain",
                              std::string_view("This is the content of the static text resource."));
}
awaitable<content> static_binary(call& of) {
  co_return content::resource(of.name(), "image/png", bytes_view(picture()));
}
awaitable<content> watched(call& of) {
  co_return content::resource(of.name(), "text/plain", std::string_view("Watched resource content"));
}
awaitable<content> from_template(call& of) {
  const std::string id = text_in(of.arguments(), "id");
  boost::json::object result;
  result["id"] = id;
  result["templateTest"] = true;
  result["data"] = "Data for ID: " + id;
  const std::string text = boost::json::serialize(result);
  co_return content::resource(of.name(), "application/json", std::string_view(text));
}

using messages = std::vector<mcp::prompt_message>;
awaitable<messages> simple_prompt(call&) {
  messages prompt;
  prompt.emplace_back("user", content::text("This is a simple prompt for testing."));
  co_return prompt;
}
awaitable<messages> prompt_with_arguments(call& of) {
  messages prompt;
  prompt.emplace_back("user", content::text("Prompt with arguments: arg1='" + text_in(of.arguments(), "arg1") +
                                            "', arg2='" + text_in(of.arguments(), "arg2") + "'"));
  co_return prompt;
}
awaitable<messages> prompt_with_resource(call& of) {
  messages prompt;
  prompt.emplace_back("user", content::resource(text_in(of.arguments(), "resourceUri"), "text/plain",
                                                std::string_view("Embedded resource content for testing.")));
  prompt.emplace_back("user", content::text("Please process the embedded resource above."));
  co_return prompt;
}
awaitable<messages> prompt_with_image(call&) {
  messages prompt;
  prompt.emplace_back("user", content::image(picture(), "image/png"));
  prompt.emplace_back("user", content::text("Please analyze the image above."));
  co_return prompt;
}
awaitable<messages> asking_prompt(call& of) {
  messages prompt;
  const auto filled = accepted(of, "user_context");
  if (!filled) {
    of.require_input(
        answer::input_required(one("user_context", form("What context should the prompt use?", "context", "string"))));
    co_return prompt;
  }
  prompt.emplace_back("user", content::text("Use the following context: " + text_in(*filled, "context")));
  co_return prompt;
}
awaitable<std::vector<std::string>> nothing_to_complete(call&) { co_return std::vector<std::string>(); }

void add_documents(mcp::server& to) {
  to.resource(mcp::resource_definition("test://static-text", "static-text")
                  .title("Static Text Resource")
                  .description("A static text")
                  .mime_type("text/plain"),
              static_text);
  to.resource(mcp::resource_definition("test://static-binary", "static-binary")
                  .title("Static Binary Resource")
                  .description("A static image")
                  .mime_type("image/png"),
              static_binary);
  to.resource(mcp::resource_definition("test://watched-resource", "watched-resource")
                  .title("Watched Resource")
                  .description("One to subscribe to")
                  .mime_type("text/plain"),
              watched);
  to.resource(mcp::resource_definition("test://template/{id}/data", "template")
                  .title("Resource Template")
                  .description("One for each id")
                  .mime_type("application/json"),
              from_template);
  to.prompt(mcp::prompt_definition("test_simple_prompt", "A prompt without arguments"), simple_prompt);
  to.prompt(mcp::prompt_definition("test_prompt_with_arguments", "A prompt with arguments")
                .argument("arg1", "First test argument", true)
                .argument("arg2", "Second test argument", true),
            prompt_with_arguments);
  to.prompt(mcp::prompt_definition("test_prompt_with_embedded_resource", "A prompt with a resource")
                .argument("resourceUri", "URI of the resource to embed", true),
            prompt_with_resource);
  to.prompt(mcp::prompt_definition("test_prompt_with_image", "A prompt with an image"), prompt_with_image);
  to.prompt(mcp::prompt_definition("test_input_required_result_prompt", "A prompt that asks first"), asking_prompt);
  to.completions(nothing_to_complete);
}

}  // namespace

int main(int count, char** words) try {
  asio::io_context loop(1);
  mcp::server_options options;
  options.name("everything-server", "A server for tests").version("1.0.0").json_answers(false).without_token();
  mcp::server server(loop.get_executor(), std::move(options));
  add_contents(server);
  add_talking(server);
  add_asking(server);
  add_documents(server);

  std::exception_ptr failure;
  bool stopped = false;
  asio::cancellation_signal stop;
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  signals.async_wait([&](const std::error_code& cancelled, int) {
    if (cancelled) return;
    stopped = true;
    stop.emit(asio::cancellation_type::terminal);
  });
  const auto ended = [&](std::exception_ptr why) {
    failure = std::move(why);
    signals.cancel();
  };
  if (count == 3 && std::string_view(words[1]) == "--http") {
    const std::string where = words[2];
    const std::size_t colon = where.rfind(':');
    listener peers = tcp_listener(loop.get_executor(), where.substr(0, colon),
                                  static_cast<std::uint16_t>(std::stoul(where.substr(colon + 1))));
    std::cerr << "listening on http://" + peers.name() + "/mcp\n" << std::flush;
    cofferdam_test::spawn(loop, server.serve(std::move(peers)), ended, stop.slot());
  } else {
    cofferdam_test::spawn(loop, server.serve_stdio(), ended, stop.slot());
  }
  loop.run();
  if (failure && !stopped) std::rethrow_exception(failure);
} catch (const std::exception& wrong) {
  std::cerr << "everything_server: " << wrong.what() << '\n';
  return 1;
}
