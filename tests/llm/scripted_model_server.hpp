// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/http_server_settings.hpp>

#include "net/http_server_support.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// One reply of a scripted service.
class scripted_answer {
 public:
  int status = 200;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  std::size_t piece = 0;  ///< bytes per write; 0 means one write, with a Content-Length
  bool torn = false;      ///< true if the connection breaks after the body
  bool waits = false;     ///< true if no reply is ever sent

  static scripted_answer complaint(int status, std::string message, std::string code = "") {
    boost::json::object error;
    error["message"] = message;
    error["type"] = "invalid_request_error";
    error["param"] = nullptr;
    if (code.empty()) {
      error["code"] = nullptr;
    } else {
      error["code"] = code;
    }
    boost::json::object whole;
    whole["error"] = std::move(error);
    scripted_answer result;
    result.status = status;
    result.body = boost::json::serialize(whole);
    return result;
  }
};

/// A tool call as a model writes it: the arguments are text and need not be valid JSON.
class scripted_call {
 public:
  std::string id;
  std::string name;
  std::string arguments;
};

/// A turn of the assistant, which can be sent as a whole or as a stream.
class scripted_turn {
 public:
  std::string text;
  std::vector<scripted_call> calls;
  std::string finish;
  std::string reasoning;
  std::string refusal;
  std::size_t input_tokens = 10;
  std::size_t output_tokens = 5;

  std::string reason() const { return !finish.empty() ? finish : calls.empty() ? "stop" : "tool_calls"; }

  scripted_answer whole() const {
    boost::json::object message;
    message["role"] = "assistant";
    message["content"] = nullptr;
    if (!text.empty()) message["content"] = text;
    message["refusal"] = nullptr;
    if (!refusal.empty()) message["refusal"] = refusal;
    if (!reasoning.empty()) message["reasoning_content"] = reasoning;
    if (!calls.empty()) {
      boost::json::array list;
      for (const scripted_call& each : calls) list.push_back(call(each, each.arguments));
      message["tool_calls"] = std::move(list);
    }
    boost::json::object choice;
    choice["index"] = 0;
    choice["message"] = std::move(message);
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = reason();
    boost::json::object result = head("chat.completion");
    result["choices"] = boost::json::array();
    result["choices"].as_array().push_back(std::move(choice));
    result["usage"] = usage();
    scripted_answer answer;
    answer.body = boost::json::serialize(result);
    return answer;
  }

  /// Returns the turn as a stream that is written `piece` bytes at a time. A chunk holds up to `piece` bytes of a text,
  /// and ends at the end of a character.
  scripted_answer streamed(std::size_t piece = 7) const {
    scripted_answer answer;
    answer.type = "text/event-stream";
    answer.piece = piece;
    std::string& out = answer.body;
    boost::json::object first;
    first["role"] = "assistant";
    first["content"] = "";
    out += event(chunk(std::move(first)));
    for (std::size_t at = 0; at < reasoning.size(); at += piece) {
      boost::json::object delta;
      delta["reasoning_content"] = reasoning.substr(at, piece);
      out += event(chunk(std::move(delta)));
    }
    for (std::size_t at = 0; at < refusal.size(); at += piece) {
      boost::json::object delta;
      delta["refusal"] = refusal.substr(at, piece);
      out += event(chunk(std::move(delta)));
    }
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = std::min(at + piece, text.size());
      // Continues to the end of the character.
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
      boost::json::object delta;
      delta["content"] = text.substr(at, end - at);
      out += event(chunk(std::move(delta)));
      at = end;
    }
    std::size_t index = 0;
    for (const scripted_call& each : calls) {
      boost::json::object begun = call(each, "");
      begun["index"] = index;
      out += event(chunk(calls_delta(std::move(begun))));
      for (std::size_t at = 0; at < each.arguments.size(); at += piece) {
        boost::json::object function;
        function["arguments"] = each.arguments.substr(at, piece);
        boost::json::object more;
        more["index"] = index;
        more["function"] = std::move(function);
        out += event(chunk(calls_delta(std::move(more))));
      }
      ++index;
    }
    out += ": keep-alive\n\n";
    boost::json::object last = chunk(boost::json::object());
    last["choices"].as_array()[0].as_object()["finish_reason"] = reason();
    out += event(last);
    boost::json::object counted = head("chat.completion.chunk");
    counted["choices"] = boost::json::array();
    counted["usage"] = usage();
    out += event(counted);
    out += "data: [DONE]\n\n";
    return answer;
  }

 private:
  static boost::json::object head(const char* kind) {
    boost::json::object result;
    result["id"] = "chatcmpl-1";
    result["object"] = kind;
    result["created"] = 1;
    result["model"] = "scripted-1";
    return result;
  }
  static boost::json::object call(const scripted_call& tool_call, std::string_view arguments) {
    boost::json::object function;
    function["name"] = tool_call.name;
    function["arguments"] = boost::json::string_view(arguments.data(), arguments.size());
    boost::json::object result;
    result["id"] = tool_call.id;
    result["type"] = "function";
    result["function"] = std::move(function);
    return result;
  }
  static boost::json::object calls_delta(boost::json::object call_json) {
    boost::json::array list;
    list.push_back(std::move(call_json));
    boost::json::object delta;
    delta["tool_calls"] = std::move(list);
    return delta;
  }
  static boost::json::object chunk(boost::json::object delta) {
    boost::json::object choice;
    choice["index"] = 0;
    choice["delta"] = std::move(delta);
    choice["finish_reason"] = nullptr;
    boost::json::object result = head("chat.completion.chunk");
    result["choices"] = boost::json::array();
    result["choices"].as_array().push_back(std::move(choice));
    return result;
  }
  static std::string event(const boost::json::object& what) { return "data: " + boost::json::serialize(what) + "\n\n"; }
  boost::json::object usage() const {
    boost::json::object result;
    result["prompt_tokens"] = input_tokens;
    result["completion_tokens"] = output_tokens;
    result["total_tokens"] = input_tokens + output_tokens;
    return result;
  }
};

/// A server that speaks OpenAI's protocol. Sends the scripted replies in order, one per request; a turn is streamed if
/// the request demands a stream.
class scripted_model_server {
 public:
  /// A function that returns the reply to a request.
  using step = std::function<scripted_answer(const boost::json::object& request)>;

  std::deque<step> script;
  std::vector<boost::json::object> requests;
  std::vector<cofferdam::http_fields> fields;
  site place;

  void say(scripted_answer what) {
    script.push_back([what](const boost::json::object&) { return what; });
  }
  void say(scripted_turn what) {
    script.push_back([what](const boost::json::object& request) {
      const boost::json::value* const streams = request.if_contains("stream");
      return streams != nullptr && streams->is_bool() && streams->get_bool() ? what.streamed() : what.whole();
    });
  }
  void say(std::string text) {
    scripted_turn turn;
    turn.text = std::move(text);
    say(std::move(turn));
  }
  void call(std::string name, std::string arguments) {
    scripted_turn turn;
    turn.calls.push_back(
        {"call_" + std::to_string(script.size() + requests.size()), std::move(name), std::move(arguments)});
    say(std::move(turn));
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(place.port) + "/v1"; }

  /// Runs the server while `body` runs.
  cofferdam::awaitable<void> around(std::function<cofferdam::awaitable<void>()> body) {
    cofferdam::http_server_settings settings;
    const std::function<cofferdam::awaitable<void>(cofferdam::detail::http_server&)> inside =
        [&](cofferdam::detail::http_server&) { return body(); };
    const cofferdam::detail::http_server::handler each = [this](cofferdam::http_call& incoming) {
      return serve(incoming);
    };
    co_await place.open(each, settings, inside);
  }

 private:
  cofferdam::awaitable<void> serve(cofferdam::http_call& incoming) {
    incoming.body_limit(std::nullopt);
    const cofferdam::bytes content = co_await incoming.read_all();
    fields.push_back(incoming.head().fields);
    if (incoming.method() != "POST" || incoming.path() != "/v1/chat/completions") {
      co_await incoming.reply(
          cofferdam::http_reply(404).content("application/json", R"({"error":{"message":"no such page"}})"));
      co_return;
    }
    requests.push_back(boost::json::parse(std::string(cofferdam::as_text(content))).as_object());
    if (script.empty()) {
      co_await incoming.reply(
          cofferdam::http_reply(500).field("x-should-retry", "false").content("text/plain", "the script has ended"));
      co_return;
    }
    const step next = script.front();
    script.pop_front();
    const scripted_answer answer = next(requests.back());
    if (answer.waits) {
      co_await place.wait_for_ever();
    }
    cofferdam::http_reply reply(answer.status);
    for (const auto& each : answer.fields) reply.field(each.first, each.second);
    if (answer.piece == 0 && !answer.torn) {
      reply.content(answer.type, answer.body);
      co_await incoming.reply(std::move(reply));
      co_return;
    }
    reply.field("Content-Type", answer.type);
    co_await incoming.begin(std::move(reply));
    const std::size_t piece = answer.piece == 0 ? answer.body.size() : answer.piece;
    for (std::size_t at = 0; at < answer.body.size(); at += piece) {
      const std::string part = answer.body.substr(at, piece);
      co_await incoming.write(part);
    }
    if (answer.torn) throw std::runtime_error("torn");
  }
};

}  // namespace cofferdam_test
