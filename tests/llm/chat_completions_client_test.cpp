// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/llm/chat_completions_client.hpp>

#include "llm/scripted_model_server.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::run;
using cofferdam_test::scripted_answer;
using cofferdam_test::scripted_model_server;
using cofferdam_test::scripted_turn;

static_assert(chat_model<chat_completions_client>);

constexpr const char* key = "sk-secret-0123456789";

/// The outcome of a request: a reply or an error, and the pieces that were streamed.
class outcome {
 public:
  std::optional<chat_reply> reply;
  std::optional<error> failure;
  std::string heard;
  std::error_code cause() const { return failure ? failure->cause() : std::error_code(); }
  std::string sentence() const { return failure ? failure->what() : ""; }
};

chat_completions_options usual(const scripted_model_server& server) {
  return chat_completions_options("m").base_url(server.url()).api_key(key).retry_pause(1ms);
}

awaitable<outcome> ask(chat_completions_client client, chat_request what, bool streams) {
  outcome result;
  if (streams) what.on_delta([&result](const chat_delta& piece) { result.heard += piece.text(); });
  try {
    chat_reply reply = co_await client.chat(std::move(what));
    result.reply = std::move(reply);
  } catch (const error& failure) {
    result.failure = failure;
  }
  co_return result;
}

/// Sends one request to a scripted server, and returns the outcome.
outcome ask(scripted_model_server& server, bool streams = false,
            chat_request what = chat_request().add(chat_message::user("hi")),
            std::function<chat_completions_options(chat_completions_options)> change = {}) {
  outcome result;
  run([&]() -> awaitable<void> {
    co_await server.around([&]() -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      chat_completions_options options = usual(server);
      if (change) options = change(std::move(options));
      chat_completions_client client(executor, options);
      result = co_await ask(client, what, streams);
      co_await client.close();
    });
  });
  return result;
}

// Feature: I1
TEST(ChatCompletionsClient, asks_and_is_answered) {
  for (const bool streams : {false, true}) {
    scripted_model_server server;
    scripted_turn turn;
    turn.text = "Hello";
    turn.reasoning = "hm";
    turn.calls = {{"call_a", "code_exec", R"({"cmd":"ls"})"}, {"call_b", "code_exec", R"({"cmd":"pwd"})"}};
    server.say(turn);
    const outcome result = ask(server, streams);
    ASSERT_TRUE(result.reply) << result.sentence();
    EXPECT_EQ(result.reply->text(), "Hello");
    EXPECT_EQ(result.reply->message().reasoning(), "hm");
    ASSERT_EQ(result.reply->message().tool_calls().size(), 2U);
    EXPECT_EQ(result.reply->message().tool_calls()[1].arguments(), R"({"cmd":"pwd"})");
    EXPECT_EQ(result.reply->usage().total(), 15U);
    EXPECT_EQ(result.reply->model(), "scripted-1");
    EXPECT_EQ(result.heard, streams ? "hmHellocode_execcode_exec" : "");
    EXPECT_EQ(server.fields.at(0).find("Authorization"), "Bearer " + std::string(key));
  }
}

// Feature: G5, I2
TEST(ChatCompletionsClient, sends_a_conversation_as_services_want_it) {
  scripted_model_server server;
  server.say("ok");
  chat_request what;
  what.add(chat_message::system("s"))
      .add(chat_message::user("look").add(chat_part::image(to_bytes("\x89PNG"), "image/png")));
  what.add(
      chat_message::assistant("").call(chat_tool_call("1", "view_image", "{}")).call(chat_tool_call("2", "x", "{}")));
  what.add(chat_message::tool("9", "orphan"))
      .add(chat_message::tool("1", "seen").add(chat_part::image(to_bytes("GIF"), "image/gif")));
  what.add(chat_message::user("bad \xff"));
  boost::json::object schema;
  schema["type"] = "object";
  what.tools({chat_tool("x", "does x", schema)}).max_output_tokens(64).temperature(0.5);
  const outcome result = ask(server, false, what);
  ASSERT_TRUE(result.reply) << result.sentence();
  const boost::json::object& body = server.requests.at(0);
  EXPECT_EQ(boost::json::serialize(body.at("messages")),
            R"-([{"role":"system","content":"s"},)-"
            R"-({"role":"user","content":[{"type":"text","text":"look"},)-"
            R"-({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}}]},)-"
            R"-({"role":"assistant","content":null,"tool_calls":[)-"
            R"-({"id":"1","type":"function","function":{"name":"view_image","arguments":"{}"}},)-"
            R"-({"id":"2","type":"function","function":{"name":"x","arguments":"{}"}}]},)-"
            R"-({"role":"tool","content":"seen\n(The image follows in the next user message.)","tool_call_id":"1"},)-"
            R"-({"role":"tool","content":"Error: no result (interrupted).","tool_call_id":"2"},)-"
            R"-({"role":"user","content":[{"type":"text","text":"Here is the image for tool call 1:"},)-"
            R"-({"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lG"}}]},)-"
            "{\"role\":\"user\",\"content\":\"bad \xEF\xBF\xBD\"}]");
  EXPECT_EQ(boost::json::serialize(body.at("tools")),
            R"([{"type":"function","function":{"name":"x","description":"does x","parameters":{"type":"object"}}}])");
  EXPECT_EQ(body.at("tool_choice"), "auto");
  EXPECT_EQ(body.at("parallel_tool_calls"), true);
  EXPECT_EQ(body.at("max_completion_tokens"), 64);
  EXPECT_EQ(body.if_contains("stream"), nullptr);
}

// Feature: G6
TEST(ChatCompletionsClient, sends_audio_and_video_as_services_document_it) {
  scripted_model_server server;
  server.say("ok");
  chat_request what;
  what.add(chat_message::user("listen")
               .add(chat_part::audio(to_bytes("RIFF"), "audio/wav"))
               .add(chat_part::audio(to_bytes("ID3"), "audio/mpeg"))
               .add(chat_part::video(to_bytes("ftyp"), "video/mp4")));
  what.add(chat_message::assistant("")
               .call(chat_tool_call("1", "view_media", "{}"))
               .call(chat_tool_call("2", "both", "{}")));
  what.add(chat_message::tool("1", "heard").add(chat_part::audio(to_bytes("fLaC"), "audio/x-flac; rate=8000")));
  what.add(chat_message::tool("2", "")
               .add(chat_part::video(to_bytes("webm"), "video/webm"))
               .add(chat_part::image(to_bytes("GIF"), "image/gif")));
  const outcome result = ask(server, false, what);
  ASSERT_TRUE(result.reply) << result.sentence();
  EXPECT_EQ(boost::json::serialize(server.requests.at(0).at("messages")),
            R"-([{"role":"user","content":[{"type":"text","text":"listen"},)-"
            R"-({"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},)-"
            R"-({"type":"input_audio","input_audio":{"data":"SUQz","format":"mp3"}},)-"
            R"-({"type":"video_url","video_url":{"url":"data:video/mp4;base64,ZnR5cA=="}}]},)-"
            R"-({"role":"assistant","content":null,"tool_calls":[)-"
            R"-({"id":"1","type":"function","function":{"name":"view_media","arguments":"{}"}},)-"
            R"-({"id":"2","type":"function","function":{"name":"both","arguments":"{}"}}]},)-"
            R"-({"role":"tool","content":"heard\n(The audio follows in the next user message.)","tool_call_id":"1"},)-"
            R"-({"role":"tool","content":"(The image and video follows in the next user message.)",)-"
            R"-("tool_call_id":"2"},)-"
            R"-({"role":"user","content":[{"type":"text","text":"Here is the audio for tool call 1:"},)-"
            R"-({"type":"input_audio","input_audio":{"data":"ZkxhQw==","format":"flac"}},)-"
            R"-({"type":"text","text":"Here is the image and video for tool call 2:"},)-"
            R"-({"type":"video_url","video_url":{"url":"data:video/webm;base64,d2VibQ=="}},)-"
            R"-({"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lG"}}]}])-");
}

// Feature: I5
TEST(ChatCompletionsClient, the_reasoning_of_earlier_answers_goes_back_only_if_that_was_set) {
  for (const bool sends : {false, true}) {
    scripted_model_server server;
    server.say("ok");
    chat_request what;
    what.add(chat_message::user("a")).add(chat_message::assistant("b").reasoning("because"));
    what.add(chat_message::user("c"));
    const outcome result = ask(server, false, what, [&](chat_completions_options options) {
      if (sends) options.send_reasoning();
      return options;
    });
    ASSERT_TRUE(result.reply) << result.sentence();
    const boost::json::object& sent = server.requests.at(0).at("messages").as_array().at(1).as_object();
    EXPECT_EQ(sent.at("content"), "b");
    EXPECT_EQ(sent.contains("reasoning_content") ? sent.at("reasoning_content").as_string() : "",
              sends ? "because" : "");
  }
}

// Feature: I4
TEST(ChatCompletionsClient, a_failure_that_may_pass_is_tried_again) {
  for (const bool streams : {false, true}) {
    scripted_model_server server;
    scripted_answer busy = scripted_answer::complaint(429, "slow down");
    busy.fields.emplace_back("Retry-After-Ms", "5");
    server.say(busy);
    server.say(scripted_answer::complaint(500, "oops"));
    server.say("third time");
    const outcome result = ask(server, streams);
    ASSERT_TRUE(result.reply) << result.sentence();
    EXPECT_EQ(result.reply->text(), "third time");
    EXPECT_EQ(server.fields.at(2).find("X-Stainless-Retry-Count"), "2");
  }
}

TEST(ChatCompletionsClient, gives_up_after_the_retries_and_at_once_where_they_are_of_no_use) {
  const std::pair<scripted_answer, chat_errc> cases[] = {
      {scripted_answer::complaint(401, "bad key"), chat_errc::not_authenticated},
      {scripted_answer::complaint(403, "no"), chat_errc::not_permitted},
      {scripted_answer::complaint(404, "no model"), chat_errc::no_such_model},
      {scripted_answer::complaint(400, "what?"), chat_errc::rejected},
      {scripted_answer::complaint(429, "pay", "insufficient_quota"), chat_errc::no_quota},
      {scripted_answer::complaint(400, "long", "context_length_exceeded"), chat_errc::context_overflow}};
  for (const auto& [answer, why] : cases) {
    scripted_model_server server;
    server.say(answer);
    server.say("never");
    const outcome result = ask(server);
    EXPECT_EQ(result.cause(), why) << result.sentence();
    EXPECT_EQ(server.requests.size(), 1U);
  }
  scripted_model_server server;
  for (int i = 0; i < 4; ++i) server.say(scripted_answer::complaint(503, "overloaded"));
  EXPECT_EQ(ask(server).cause(), chat_errc::service_failed);
  EXPECT_EQ(server.requests.size(), 3U);
}

TEST(ChatCompletionsClient, a_wait_that_is_too_long_fails_at_once_and_says_how_long) {
  scripted_model_server server;
  scripted_answer busy = scripted_answer::complaint(429, "slow down");
  busy.fields.emplace_back("Retry-After", "3600");
  server.say(busy);
  const outcome result = ask(server);
  EXPECT_EQ(result.cause(), chat_errc::rate_limited);
  EXPECT_NE(result.sentence().find("3600 s"), std::string::npos) << result.sentence();
}

TEST(ChatCompletionsClient, a_service_that_repeats_the_key_does_not_make_us_repeat_it) {
  scripted_model_server server;
  server.say(scripted_answer::complaint(401, "Incorrect API key provided: " + std::string(key)));
  scripted_answer escaped;
  escaped.status = 401;
  escaped.body = R"({"error":{"message":"key \u0073k-secret-0123456789 is wrong"}})";
  const outcome first = ask(server);
  EXPECT_EQ(first.cause(), chat_errc::not_authenticated);
  EXPECT_NE(first.sentence().find("Incorrect API key"), std::string::npos) << first.sentence();
  server.say(escaped);
  const outcome second = ask(server);
  for (const outcome& each : {first, second})
    EXPECT_EQ(each.sentence().find("secret"), std::string::npos) << each.sentence();
}

TEST(ChatCompletionsClient, a_stream_that_breaks_is_begun_again_only_before_anything_was_shown) {
  scripted_model_server server;
  scripted_answer nothing;
  nothing.type = "text/event-stream";
  nothing.body = ": hello\n\n";
  nothing.torn = true;
  server.say(nothing);
  server.say("whole");
  const outcome result = ask(server, true);
  ASSERT_TRUE(result.reply) << result.sentence();
  EXPECT_EQ(result.heard, "whole");

  scripted_model_server other;
  scripted_turn turn;
  turn.text = "half of it and more";
  scripted_answer half = turn.streamed();
  half.body.resize(half.body.size() / 2);
  half.torn = true;
  other.say(half);
  other.say("never");
  const outcome cut = ask(other, true);
  EXPECT_EQ(cut.cause(), chat_errc::cut_off) << cut.sentence();
  EXPECT_EQ(other.requests.size(), 1U);
}

TEST(ChatCompletionsClient, a_stream_may_lack_its_last_line_but_not_its_end) {
  for (const bool torn : {false, true}) {
    scripted_model_server server;
    scripted_turn turn;
    turn.text = "all";
    scripted_answer answer = turn.streamed();
    answer.body.resize(answer.body.find("data: [DONE]"));
    answer.torn = torn;
    server.say(answer);
    const outcome result = ask(server, true);
    ASSERT_TRUE(result.reply) << result.sentence();
    EXPECT_EQ(result.reply->text(), "all");
  }
}

TEST(ChatCompletionsClient, an_error_within_a_stream_is_an_error) {
  scripted_model_server server;
  scripted_answer answer;
  answer.type = "text/event-stream; charset=utf-8";
  answer.body =
      "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"maximum context "
      "length\"}}\n\n";
  server.say(answer);
  EXPECT_EQ(ask(server, true).cause(), chat_errc::context_overflow);
}

TEST(ChatCompletionsClient, takes_a_whole_answer_from_a_server_that_cannot_stream) {
  scripted_model_server server;
  scripted_turn turn;
  turn.text = "whole";
  server.say(turn.whole());
  const outcome result = ask(server, true);
  ASSERT_TRUE(result.reply) << result.sentence();
  EXPECT_EQ(result.heard, "whole");
}

TEST(ChatCompletionsClient, what_is_no_answer_is_an_error_with_advice) {
  scripted_model_server server;
  scripted_answer page;
  page.type = "text/html";
  page.body = "<html>welcome</html>";
  server.say(page);
  const outcome result = ask(server);
  EXPECT_EQ(result.cause(), chat_errc::bad_answer);
  EXPECT_NE(result.sentence().find("base URL"), std::string::npos) << result.sentence();
}

TEST(ChatCompletionsClient, a_silent_server_is_given_up_in_time) {
  scripted_model_server server;
  scripted_answer silent;
  silent.waits = true;
  server.say(silent);
  const outcome result = ask(server, false, chat_request().add(chat_message::user("hi")),
                             [](chat_completions_options options) { return std::move(options).timeout(100ms); });
  EXPECT_EQ(result.cause(), chat_errc::timed_out) << result.sentence();
}

TEST(ChatCompletionsClient, cancelled_at_any_step_it_says_so_and_works_on) {
  scripted_model_server server;
  run([&]() -> awaitable<void> {
    co_await server.around([&]() -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      chat_completions_client client(executor, usual(server));
      int cancelled = 0;
      for (int steps = 0; steps < 60; ++steps) {
        server.script.clear();
        server.say("one");
        chat_request what;
        what.add(chat_message::user("hi"));
        asio::cancellation_signal signal;
        outcome result;
        bool ended = false;
        const auto done = [&](const std::exception_ptr&, outcome went) {
          result = std::move(went);
          ended = true;
        };
        cofferdam_test::spawn(executor, ask(client, what, true), done, signal.slot());
        for (int i = 0; i < steps; ++i) co_await asio::post(executor, asio::use_awaitable);
        if (!ended) signal.emit(asio::cancellation_type::terminal);
        const std::function<bool()> is_over = [&] { return ended; };
        const bool over = co_await cofferdam_test::comes_about(is_over);
        EXPECT_TRUE(over);
        if (result.failure) {
          EXPECT_EQ(result.failure->code(), exec_errc::cancelled) << result.sentence();
          ++cancelled;
        }
      }
      EXPECT_GT(cancelled, 0);
      server.script.clear();
      server.say("still works");
      const outcome after = co_await ask(client, chat_request().add(chat_message::user("hi")), false);
      EXPECT_TRUE(after.reply) << after.sentence();
      co_await client.close();
    });
  });
}

TEST(ChatCompletionsOptions, take_from_the_environment_what_they_are_not_told) {
  const auto resolve = [](chat_completions_options options, std::map<std::string, std::string> variables) {
    options.resolve([&](const char* name) { return variables[name]; });
    return options.resolved_url() + " " + std::string(options.resolved_key());
  };
  EXPECT_EQ(resolve(chat_completions_options("m"), {}), "https://api.openai.com/v1 ");
  EXPECT_EQ(resolve(chat_completions_options("m"), {{"OPENAI_API_KEY", "k"}, {"OPENAI_BASE_URL", "http://h/v1"}}),
            "http://h/v1 k");
  EXPECT_EQ(resolve(chat_completions_options("m"), {{"OPENROUTER_API_KEY", "r"}}), "https://openrouter.ai/api/v1 r");
  EXPECT_EQ(resolve(chat_completions_options("m"), {{"OPENROUTER_API_KEY", "r"}, {"OPENAI_BASE_URL", "http://h/v1"}}),
            "http://h/v1 ");
  EXPECT_EQ(resolve(chat_completions_options("m").base_url("http://own/v1"), {{"OPENAI_API_KEY", "k"}}),
            "http://own/v1 ");
  EXPECT_EQ(resolve(chat_completions_options("m").base_url("http://own/v1").key_from_environment(),
                    {{"OPENAI_API_KEY", "k"}}),
            "http://own/v1 k");
  chat_completions_options options("m");
  std::map<std::string, std::string> variables{{"OPENAI_CUSTOM_HEADERS", "X-A: 1\r\nX-B:2\n"}, {"OPENAI_ORG_ID", "o"}};
  options.resolve([&](const char* name) { return variables[name]; });
  EXPECT_EQ(options.headers().find("X-A"), "1");
  EXPECT_EQ(options.headers().find("X-B"), "2");
  EXPECT_EQ(options.headers().find("OpenAI-Organization"), "o");
}

TEST(ChatCompletionsOptions, can_be_set_one_by_one) {
  chat_completions_options options("m");
  options.base_url("http://own/v1").api_key("k");
  options.resolve([](const char*) { return std::string("of the environment"); });
  EXPECT_EQ(options.resolved_url(), "http://own/v1");
  EXPECT_EQ(options.resolved_key(), "k");
}

TEST(ChatCompletionsOptions, a_wrong_url_or_key_is_found_at_once_and_not_shown) {
  asio::io_context context;
  const auto sentence = [&](chat_completions_options options) -> std::string {
    try {
      chat_completions_client client(context.get_executor(), std::move(options));
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::invalid_argument);
      return failure.what();
    }
    return "";
  };
  for (const std::string url : {"localhost:80", "ftp://h/", "http://u:hunter2@h/v1", "http://h/?q", "http:///v1"}) {
    const std::string text = sentence(chat_completions_options("m").base_url(url));
    EXPECT_NE(text.find("base URL"), std::string::npos) << url;
    EXPECT_EQ(text.find("hunter2"), std::string::npos);
  }
  const std::string text = sentence(chat_completions_options("m").base_url("http://h/v1").api_key("a\nb-hunter2"));
  EXPECT_NE(text, "");
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
}

}  // namespace
