// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of mcp::client with a server that is a command, scripted_server.py, and with servers by HTTP.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/core/join_all.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/mcp_client.hpp>
#include <cofferdam/serve/mcp_server.hpp>

#include "support/error_of.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mcp_client_test {

using namespace cofferdam;
using namespace std::chrono_literals;
using boost::json::object;

object object_of(const std::string& text) { return boost::json::parse(text).as_object(); }

command scripted(std::vector<std::string> behaviours) {
  std::vector<std::string> words{"python3", cofferdam_test::source_path("tests/serve/mcp/scripted_server.py")};
  words.insert(words.end(), behaviours.begin(), behaviours.end());
  return argv(std::move(words));
}

using client_work = std::function<awaitable<void>(mcp::client& client)>;

/// Runs `body` with a client of scripted_server.py, and closes the client.
void with_server(const client_work& body, std::vector<std::string> behaviours = {},
                 mcp::client_options options = mcp::client_options()) {
  cofferdam_test::run([&]() -> awaitable<void> {
    const auto uses = [&](local_environment& place) -> awaitable<void> {
      command server = scripted(behaviours);
      mcp::client client = co_await mcp::client::start(place, std::move(server), options);
      co_await body(client);
      co_await client.close();
    };
    co_await with(local().without_warning().kill_grace(50ms), uses);
  });
}

/// Awaits a call, and returns the error that it throws; no value if it throws none.
template <class T>
awaitable<std::optional<error>> failure_of(awaitable<T> work) {
  std::optional<error> thrown;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(work);
    } else {
      static_cast<void>(co_await std::move(work));
    }
  } catch (const error& failure) {
    thrown = failure;
  }
  co_return thrown;
}

/// Returns the messages of a method that the server has received.
awaitable<std::vector<object>> received(mcp::client& client, std::string method) {
  const mcp::remote_answer answer = co_await client.call("received", object());
  std::vector<object> found;
  const boost::json::value facts = *answer.structured();
  for (const boost::json::value& each : facts.at("messages").as_array()) {
    const boost::json::value* const name = each.as_object().if_contains("method");
    if (name != nullptr && name->as_string() == method.c_str()) found.push_back(each.as_object());
  }
  co_return found;
}

// Feature: J5
TEST(McpClient, uses_tools_resources_and_prompts) {
  with_server([](mcp::client& client) -> awaitable<void> {
    EXPECT_EQ(client.server_name(), "scripted");
    EXPECT_EQ(client.protocol_version(), "2025-11-25");
    EXPECT_EQ(client.instructions(), "Be brief.");
    const std::vector<mcp::remote_tool> tools = co_await client.tools();  // in four pages; one tool has no name
    std::string names;
    for (const mcp::remote_tool& each : tools) names += each.name() + (each.is_read_only() ? "(r) " : " ");
    EXPECT_EQ(names, "echo(r) never fail ");
    const mcp::remote_answer echo = co_await client.call("echo", object_of(R"({"words":"a \u00e9\n"})"));
    EXPECT_EQ(echo.text(), "a \xC3\xA9\n");
    EXPECT_EQ(boost::json::serialize(*echo.structured()), "{\"words\":\"a \xC3\xA9\\n\"}");
    const mcp::remote_answer failed = co_await client.call("fail", object());
    EXPECT_TRUE(failed.is_error());
    EXPECT_EQ(failed.text(), "it did not work");
    const std::vector<mcp::remote_resource> resources = co_await client.resources();
    EXPECT_EQ(resources.at(0).uri() + resources.at(0).mime_type(), "test://atext/plain");
    const boost::json::array contents = co_await client.read_resource("test://a");
    EXPECT_EQ(boost::json::serialize(contents), R"([{"uri":"test://a","text":"content"}])");
    const std::vector<mcp::remote_prompt> prompts = co_await client.prompts();
    EXPECT_EQ(prompts.at(0).name(), "p");
    const object prompt = co_await client.prompt("p", object_of(R"({"x":"y"})"));
    EXPECT_EQ(boost::json::serialize(prompt.at("messages")),
              R"([{"role":"user","content":{"type":"text","text":"y"}}])");
  });
}

TEST(McpClient, a_server_without_capabilities_is_asked_for_nothing) {
  const auto body = [](mcp::client& client) -> awaitable<void> {
    const auto tools = co_await client.tools();
    const auto resources = co_await client.resources();
    const auto prompts = co_await client.prompts();
    EXPECT_EQ(tools.size() + resources.size() + prompts.size(), 0U);
    const std::vector<object> asked = co_await received(client, "tools/list");
    EXPECT_TRUE(asked.empty());
  };
  with_server(body, {"bare"});
}

TEST(McpClient, falls_back_to_the_modern_form) {
  const auto body = [](mcp::client& client) -> awaitable<void> {
    EXPECT_EQ(client.protocol_version(), "2026-07-28");
    const mcp::remote_answer echo = co_await client.call("echo", object_of(R"({"words":"x"})"));
    EXPECT_EQ(echo.text(), "x");
    const std::vector<object> calls = co_await received(client, "tools/call");
    const boost::json::value& meta = calls.at(0).at("params").at("_meta");
    EXPECT_EQ(meta.at("io.modelcontextprotocol/protocolVersion").as_string(), "2026-07-28");
    EXPECT_TRUE(meta.at("io.modelcontextprotocol/clientCapabilities").is_object());
  };
  with_server(body, {"modern"});
}

TEST(McpClient, an_error_of_the_server_has_its_number_and_data) {
  with_server([](mcp::client& client) -> awaitable<void> {
    std::optional<mcp::server_error> thrown;
    try {
      static_cast<void>(co_await client.call("nothing", object()));
    } catch (const mcp::server_error& failure) {
      thrown = failure;
    }
    EXPECT_TRUE(thrown);
    EXPECT_EQ(thrown->number(), -32602);
    EXPECT_EQ(boost::json::serialize(thrown->data()), "[1]");
    EXPECT_EQ(thrown->code(), exec_errc::provider_failed);
    EXPECT_STREQ(thrown->what(),
                 "mcp: the server scripted answered tools/call with an error: Unknown tool: nothing (-32602)");
  });
}

TEST(McpClient, progress_logs_and_changes_reach_their_listeners) {
  std::string heard;
  mcp::client_options options;
  options.on_log([&](const object& params) { heard += "log " + boost::json::serialize(params.at("data")) + " "; });
  options.on_change([&](const object& params) { heard += boost::json::serialize(params.at("method")) + " "; });
  const auto body = [&](mcp::client& client) -> awaitable<void> {
    const mcp::progress_listener listens = [&](double done, double total, const std::string& message) {
      heard += std::to_string(static_cast<int>(done)) + "/" + std::to_string(static_cast<int>(total)) + message + " ";
    };
    static_cast<void>(co_await client.call("steps", object(), listens));
    static_cast<void>(co_await client.call("log", object()));
    EXPECT_EQ(heard, "1/3step 2/3step 3/3step log \"a word\" \"notifications/tools/list_changed\" ");
  };
  with_server(body, {}, options);
}

awaitable<std::string> reply_to(mcp::client& client, std::string method) {
  object arguments;
  arguments["method"] = method;
  const mcp::remote_answer answer = co_await client.call("ask", std::move(arguments));
  const boost::json::value facts = *answer.structured();
  object reply = facts.at("reply").as_object();
  reply.erase("jsonrpc");
  reply.erase("id");
  co_return boost::json::serialize(reply);
}

TEST(McpClient, questions_of_the_server_are_answered_or_refused) {
  with_server([](mcp::client& client) -> awaitable<void> {
    const std::string ping = co_await reply_to(client, "ping");
    EXPECT_EQ(ping, R"({"result":{}})");
    const std::string sampling = co_await reply_to(client, "sampling/createMessage");
    EXPECT_EQ(sampling, R"({"error":{"code":-32601,"message":"This client does not support sampling/createMessage"}})");
    const std::vector<object> begun = co_await received(client, "initialize");
    EXPECT_EQ(boost::json::serialize(begun.at(0).at("params").at("capabilities")), "{}");
  });
  mcp::client_options options;
  const mcp::question_handler answers = [](object) -> awaitable<object> {
    object reply;
    reply["action"] = "decline";
    co_return reply;
  };
  const mcp::question_handler fails = [](object) -> awaitable<object> {
    throw std::runtime_error("no model");
    co_return object();
  };
  options.on_elicitation(answers).on_sampling(fails);
  const auto body = [](mcp::client& client) -> awaitable<void> {
    const std::string elicitation = co_await reply_to(client, "elicitation/create");
    EXPECT_EQ(elicitation, R"({"result":{"action":"decline"}})");
    const std::string sampling = co_await reply_to(client, "sampling/createMessage");
    EXPECT_EQ(sampling, R"({"error":{"code":-32603,"message":"no model"}})");
    const std::vector<object> begun = co_await received(client, "initialize");
    EXPECT_EQ(boost::json::serialize(begun.at(0).at("params").at("capabilities")),
              R"({"sampling":{},"elicitation":{}})");
  };
  with_server(body, {}, options);
}

TEST(McpClient, a_late_call_is_cancelled_at_the_server) {
  mcp::client_options options;
  options.timeout(500ms);
  const auto body = [](mcp::client& client) -> awaitable<void> {
    const std::optional<error> late = co_await failure_of(client.call("never", object()));
    EXPECT_TRUE(late && late->code() == exec_errc::unavailable) << (late ? late->what() : "nothing was thrown");
    const std::vector<object> calls = co_await received(client, "tools/call");
    const std::vector<object> cancelled = co_await received(client, "notifications/cancelled");
    EXPECT_EQ(boost::json::serialize(cancelled.at(0).at("params").at("requestId")),
              boost::json::serialize(calls.at(0).at("id")));
  };
  with_server(body, {}, options);
}

TEST(McpClient, a_cancelled_call_is_cancelled_at_the_server) {
  with_server([](mcp::client& client) -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    asio::cancellation_signal stop;
    std::exception_ptr thrown;
    bool has_ended = false;
    const auto done = [&](std::exception_ptr failure, const mcp::remote_answer&) {
      thrown = std::move(failure);
      has_ended = true;
    };
    const auto calls = [&client]() -> awaitable<mcp::remote_answer> {
      mcp::remote_answer answer = co_await client.call("never", object());
      co_return answer;
    };
    cofferdam_test::spawn(executor, calls, done, stop.slot());
    const mcp::remote_answer echo =
        co_await client.call("echo", object_of(R"({"words":"x"})"));  // behind the other one
    stop.emit(asio::cancellation_type::terminal);
    asio::steady_timer pause(executor);
    while (!has_ended) {
      pause.expires_after(1ms);
      co_await pause.async_wait(asio::use_awaitable);
    }
    std::optional<error> failure;
    try {
      std::rethrow_exception(thrown);
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_TRUE(failure && failure->code() == exec_errc::cancelled);
    const std::vector<object> cancelled = co_await received(client, "notifications/cancelled");
    EXPECT_EQ(cancelled.size(), 1U);
  });
}

TEST(McpClient, the_death_of_the_server_ends_all_calls_with_its_last_words) {
  with_server([](mcp::client& client) -> awaitable<void> {
    const std::optional<error> first = co_await failure_of(client.call("die", object()));
    const std::optional<error> second = co_await failure_of(client.call("echo", object()));
    for (const std::optional<error>& each : {first, second}) {
      EXPECT_TRUE(each && each->code() == exec_errc::provider_lost);
      EXPECT_STREQ(each ? each->what() : "",
                   "mcp: the server has ended: exit status 7; its error output: the disk is full\\n");
    }
  });
}

TEST(McpClient, bad_messages_of_the_server_are_skipped_or_typed_errors) {
  mcp::client_options options;
  options.message(100'000);
  const auto body = [](mcp::client& client) -> awaitable<void> {
    const mcp::remote_answer garbage = co_await client.call("garbage", object());
    EXPECT_EQ(garbage.text(), "after it");
    const mcp::remote_answer other = co_await client.call("other_id", object());
    EXPECT_EQ(other.text(), "right");
    const std::optional<error> wrong = co_await failure_of(client.call("no_object", object()));
    EXPECT_TRUE(wrong && wrong->code() == exec_errc::provider_lost) << (wrong ? wrong->what() : "");
    const mcp::remote_answer fits = co_await client.call("long", object_of(R"({"size":90000})"));
    EXPECT_EQ(fits.text().size(), 90000U);
    const std::optional<error> large = co_await failure_of(client.call("long", object_of(R"({"size":110000})")));
    EXPECT_TRUE(large && large->code() == exec_errc::too_large) << (large ? large->what() : "");
    const std::optional<error> many = co_await failure_of(client.call("many", object()));
    EXPECT_TRUE(many && many->code() == exec_errc::provider_lost) << (many ? many->what() : "");
    const mcp::remote_answer echo = co_await client.call("echo", object_of(R"({"words":"goes on"})"));
    EXPECT_EQ(echo.text(), "goes on");
  };
  with_server(body, {}, options);
}

TEST(McpClient, the_variables_of_a_server_do_not_appear_in_errors) {
  cofferdam_test::run([]() -> awaitable<void> {
    const auto uses = [&](local_environment& place) -> awaitable<void> {
      command server = scripted({});
      server.variable("KEY", "hunter2hunter2");
      mcp::client client = co_await mcp::client::start(place, std::move(server));
      std::string texts;
      try {
        static_cast<void>(co_await client.call("leak", object()));
      } catch (const mcp::server_error& failure) {
        texts = failure.what() + boost::json::serialize(failure.data());
      }
      const std::optional<error> dead = co_await failure_of(client.call("die", object()));
      texts += dead ? dead->what() : "";
      EXPECT_EQ(texts.find("hunter2"), std::string::npos) << texts;
      EXPECT_NE(texts.find("the disk is full[redacted]"), std::string::npos) << texts;
      co_await client.close();
    };
    co_await with(local().without_warning().kill_grace(50ms), uses);
  });
}

/// Starts scripted_server.py with a secret, calls a tool, and returns the texts of the error.
std::string texts_of_failure(const std::string& secret, std::vector<std::string> behaviours, const std::string& tool,
                             const std::string& arguments) {
  std::string texts;
  cofferdam_test::run([&]() -> awaitable<void> {
    const auto uses = [&](local_environment& place) -> awaitable<void> {
      command server = scripted(behaviours);
      server.variable("KEY", secret);
      try {
        mcp::client client = co_await mcp::client::start(place, std::move(server));
        static_cast<void>(co_await client.call(tool, object_of(arguments)));
      } catch (const mcp::server_error& failure) {
        texts = failure.what() + boost::json::serialize(failure.data());
      } catch (const error& failure) {
        texts = failure.what();
      }
    };
    co_await with(local().without_warning().kill_grace(50ms), uses);
  });
  return texts;
}

// A secret may have characters that are escaped in messages, and it may be where a text is cut.
TEST(McpClient, no_field_in_which_a_server_repeats_its_variables_appears_in_errors) {
  const std::string secret = "hunter2-\"quoted\"\nhunter2-\\lines";
  const auto hides = [&](std::vector<std::string> behaviours, const char* tool, const std::string& arguments) {
    const std::string texts = texts_of_failure(secret, std::move(behaviours), tool, arguments);
    EXPECT_EQ(texts.find("hunter2"), std::string::npos) << texts;
    return texts;
  };
  EXPECT_EQ(hides({"leak_version"}, "x", "{}"),
            "mcp: the server speaks version \"[redacted]\" of the protocol, which this library does not know");
  EXPECT_EQ(hides({"leak_name"}, "x", "{}"),
            "mcp: the server [redacted] answered tools/call with an error: Unknown tool: x (-32602)[1]");
  EXPECT_EQ(hides({}, "leak_input", "{}"),
            "mcp: the server scripted needs an answer to [redacted], which this client does not give; set a handler in "
            "client_options");
  EXPECT_EQ(hides({}, "leak", "{}"),
            R"(mcp: the server scripted answered tools/call with an error: bad [redacted] (-1){"key":"[redacted]"})");
  static_cast<void>(hides({}, "leak_at", R"({"at":985})"));
  for (const int after : {480, 490}) {
    const std::string texts = hides({}, "die", R"({"after":)" + std::to_string(after) + "}");
    EXPECT_NE(texts.find("ZZZ"), std::string::npos) << texts;
    EXPECT_EQ(texts.find("lines"), std::string::npos) << texts;
  }
}

TEST(McpClient, a_handler_that_is_cancelled_or_throws_anything_is_an_answer_to_the_server) {
  mcp::client_options options;
  const mcp::question_handler cancelled = [](object) -> awaitable<object> {
    throw error(exec_errc::cancelled, "given up");
    co_return object();
  };
  const mcp::question_handler odd = [](object) -> awaitable<object> {
    throw 1;
    co_return object();
  };
  options.on_sampling(cancelled).on_elicitation(odd).timeout(10s);
  const auto body = [](mcp::client& client) -> awaitable<void> {
    for (int i = 0; i < 70; ++i) {
      const std::string sampling = co_await reply_to(client, "sampling/createMessage");
      EXPECT_EQ(sampling, R"({"error":{"code":-32603,"message":"given up"}})");
      if (sampling.empty()) break;
    }
    const std::string elicitation = co_await reply_to(client, "elicitation/create");
    EXPECT_EQ(elicitation, R"({"error":{"code":-32603,"message":"The handler failed"}})");
  };
  with_server(body, {}, options);
}

TEST(McpClient, a_listener_that_throws_does_not_end_the_connection) {
  mcp::client_options options;
  options.on_log([](const object&) { throw std::runtime_error("no log"); });
  const auto body = [](mcp::client& client) -> awaitable<void> {
    const mcp::progress_listener throws = [](double, double, const std::string&) { throw 1; };
    const mcp::remote_answer steps = co_await client.call("steps", object(), throws);
    EXPECT_EQ(steps.text(), "done");
    const mcp::remote_answer logged = co_await client.call("log", object());
    EXPECT_EQ(logged.text(), "logged");
  };
  with_server(body, {}, options);
}

/// Starts a coroutine, and stores its end.
class started {
 public:
  template <class Work>
  started(const asio::any_io_executor& executor, Work work) {
    auto done = [state = state_](std::exception_ptr failure) {
      state->thrown = std::move(failure);
      state->has_ended = true;
    };
    cofferdam_test::spawn(executor, std::move(work), std::move(done), state_->stop.slot());
  }
  void cancel() { state_->stop.emit(asio::cancellation_type::terminal); }
  bool has_ended() const { return state_->has_ended; }
  /// Waits for the end, at most 20 s. Returns the error that was thrown.
  awaitable<std::optional<error>> end() {
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (int i = 0; i < 20'000 && !state_->has_ended; ++i) {
      pause.expires_after(1ms);
      co_await pause.async_wait(asio::use_awaitable);
    }
    EXPECT_TRUE(state_->has_ended);
    std::optional<error> failure;
    try {
      if (state_->thrown) std::rethrow_exception(state_->thrown);
    } catch (const error& reason) {
      failure = reason;
    }
    co_return failure;
  }

 private:
  struct kept {
    asio::cancellation_signal stop;
    std::exception_ptr thrown;
    bool has_ended = false;
  };
  std::shared_ptr<kept> state_ = std::make_shared<kept>();
};

// The server does not read, and no further message for it is kept.
TEST(McpClient, a_call_is_cancelled_although_the_server_cannot_be_notified) {
  with_server([](mcp::client& client) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::vector<started> calls;
    const auto begin = [&](std::string tool, std::size_t size) {
      const auto work = [&client, tool, size]() -> awaitable<void> {
        object arguments;
        if (size != 0) arguments["x"] = std::string(size, 'x');
        static_cast<void>(co_await client.call(tool, std::move(arguments)));
      };
      calls.emplace_back(executor, work);
    };
    begin("deaf", 0);
    asio::steady_timer pause(executor);
    for (std::size_t size = std::size_t{1} << 24U; size >= 8;) {
      begin("echo", size);
      pause.expires_after(1ms);
      co_await pause.async_wait(asio::use_awaitable);
      if (calls.back().has_ended()) size /= 2;
    }
    int cancelled = 0;
    for (started& each : calls) {
      if (each.has_ended()) continue;  // too_large: it did not fit
      each.cancel();
      const std::optional<error> failure = co_await each.end();
      EXPECT_TRUE(failure && failure->code() == exec_errc::cancelled) << (failure ? failure->what() : "");
      ++cancelled;
    }
    EXPECT_GE(cancelled, 4);
  });
}

TEST(McpClient, close_cannot_be_cancelled) {
  cofferdam_test::run([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto uses = [&](local_environment& place) -> awaitable<void> {
      command server = scripted({"stubborn"});
      mcp::client client = co_await mcp::client::start(place, std::move(server));
      const auto closes = [&client]() -> awaitable<void> { co_await client.close(); };
      started closing(executor, closes);
      asio::steady_timer pause(executor, 50ms);
      co_await pause.async_wait(asio::use_awaitable);
      closing.cancel();
      pause.expires_after(50ms);
      co_await pause.async_wait(asio::use_awaitable);
      EXPECT_FALSE(closing.has_ended());
      static_cast<void>(co_await closing.end());
      const std::vector<background_command> left = place.background();
      EXPECT_TRUE(left.empty());
    };
    co_await with(local().without_warning().kill_grace(50ms), uses);
  });
}

TEST(McpClient, calls_under_way_end_with_the_client) {
  with_server([](mcp::client& client) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    auto other = std::make_unique<mcp::client>(std::move(client));
    awaitable<mcp::remote_answer> call = other->call("never", object());
    const auto calls = [&call]() -> awaitable<void> { static_cast<void>(co_await std::move(call)); };
    started calling(executor, calls);
    static_cast<void>(co_await other->call("echo", object_of(R"({"words":"x"})")));
    other.reset();
    const std::optional<error> ended = co_await calling.end();
    EXPECT_TRUE(ended && ended->code() == exec_errc::environment_closed) << (ended ? ended->what() : "");
  });
}

TEST(McpClient, pages_that_do_not_end_are_an_error) {
  const auto body = [](mcp::client& client) -> awaitable<void> {
    const std::optional<error> endless = co_await failure_of(client.tools());
    EXPECT_TRUE(endless && endless->code() == exec_errc::provider_lost) << (endless ? endless->what() : "");
  };
  with_server(body, {"endless"});
  const auto empty = [](mcp::client& client) -> awaitable<void> {
    const std::optional<error> endless = co_await failure_of(client.tools());
    EXPECT_TRUE(endless && endless->code() == exec_errc::too_large) << (endless ? endless->what() : "");
  };
  with_server(empty, {"empty"});
}

TEST(McpClient, a_server_that_closes_its_output_is_ended) {
  with_server([](mcp::client& client) -> awaitable<void> {
    const std::optional<error> silent = co_await failure_of(client.call("silent", object()));
    EXPECT_TRUE(silent && silent->code() == exec_errc::provider_lost) << (silent ? silent->what() : "");
  });
}

/// Returns the error of a start that fails, and checks that it leaves no process.
std::optional<error> failed_start(command server, mcp::client_options options) {
  std::optional<error> failure;
  cofferdam_test::run([&]() -> awaitable<void> {
    const auto uses = [&](local_environment& place) -> awaitable<void> {
      failure = co_await failure_of(mcp::client::start(place, std::move(server), std::move(options)));
    };
    co_await with(local().without_warning().kill_grace(50ms), uses);
  });
  return failure;
}

TEST(McpClient, a_start_that_fails_has_a_reason) {
  mcp::client_options hasty;
  hasty.start_timeout(200ms);
  const std::vector<std::pair<std::optional<error>, std::string>> rows{
      {failed_start(argv({"sh", "-c", "echo no key >&2; exit 3"}), {}),
       "mcp: the server has ended: exit status 3; its error output: no key\\n"},
      {failed_start(argv({"no-such-program"}), {}),
       "mcp: the server has ended: Cannot run \"no-such-program\": No such file or directory"},
      {failed_start(scripted({"mute"}), hasty),
       "mcp: the server did not answer initialize within the time limit of 200 ms; check that it is "
       "an MCP server"},
  };
  for (const auto& [failure, text] : rows) {
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_failed);
    EXPECT_EQ(failure ? failure->what() : std::string(), text);
  }
  const std::optional<error> old = failed_start(scripted({"old"}), {});
  EXPECT_TRUE(old && old->code() == exec_errc::unsupported) << (old ? old->what() : "");
}

TEST(McpClient, a_stubborn_server_ends_with_close_and_with_the_client) {
  using clock = std::chrono::steady_clock;
  const clock::time_point begin = clock::now();
  with_server([](mcp::client&) -> awaitable<void> { co_return; }, {"stubborn"});
  EXPECT_LT(clock::now() - begin, 20s);
  cofferdam_test::run([]() -> awaitable<void> {
    const auto uses = [&](local_environment& place) -> awaitable<void> {
      command server = scripted({"stubborn"});
      { const mcp::client client = co_await mcp::client::start(place, std::move(server)); }  // without close()
    };
    co_await with(local().without_warning().kill_grace(50ms), uses);  // fails if a process is left
  });
}

TEST(McpClient, an_empty_or_closed_client_refuses_requests) {
  cofferdam_test::run([]() -> awaitable<void> {
    mcp::client empty;
    EXPECT_EQ(cofferdam_test::code_of([&] { static_cast<void>(empty.tools()); }), exec_errc::environment_closed);
    co_await empty.close();
  });
  with_server([](mcp::client& client) -> awaitable<void> {
    co_await client.close();
    const std::optional<error> closed = co_await failure_of(client.call("echo", object()));
    EXPECT_TRUE(closed && closed->code() == exec_errc::environment_closed) << (closed ? closed->what() : "");
  });
}

// ---- HTTP ----

awaitable<mcp::answer> greet(mcp::call&) { co_return mcp::answer("hello"); }
awaitable<mcp::answer> in_steps(mcp::call& of) {
  for (int i = 1; i <= 3; ++i) of.progress(i, 3, "step");
  co_return mcp::answer("done");
}
awaitable<mcp::answer> never(mcp::call&) {
  asio::steady_timer pause(co_await asio::this_coro::executor, 1h);
  co_await pause.async_wait(asio::use_awaitable);
  co_return mcp::answer("never");
}

using server_work = std::function<awaitable<void>(const std::string& url)>;

/// Runs `body` while a server of this library serves HTTP.
awaitable<void> with_http_server(const server_work& body, std::uint16_t port = 0) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  mcp::server_options options;
  options.token("0123456789abcdef");
  mcp::server server(executor, std::move(options));
  server.add(tools::definition("greet", "Greets."), greet);
  server.add(tools::definition("steps", "Works in steps."), in_steps);
  server.add(tools::definition("never", "Does not end."), never);
  listener where = tcp_listener(executor, "127.0.0.1", port);
  const std::string url = "http://127.0.0.1:" + std::to_string(where.port()) + "/mcp";
  asio::cancellation_signal stop;
  bool has_ended = false;
  const auto done = [&](const std::exception_ptr&) { has_ended = true; };
  cofferdam_test::spawn(executor, server.serve(std::move(where)), done, stop.slot());
  std::exception_ptr failure;
  try {
    co_await body(url);
  } catch (...) {
    failure = std::current_exception();
  }
  stop.emit(asio::cancellation_type::terminal);
  asio::steady_timer pause(executor);
  while (!has_ended) {
    pause.expires_after(1ms);
    co_await pause.async_wait(asio::use_awaitable);
  }
  if (failure) std::rethrow_exception(failure);
}

mcp::client_options with_token() { return mcp::client_options().token("0123456789abcdef"); }

// Feature: J5
TEST(McpClient, uses_a_server_by_http_in_both_forms) {
  for (const mcp::protocol_era era : {mcp::protocol_era::legacy, mcp::protocol_era::modern}) {
    const server_work body = [era](const std::string& url) -> awaitable<void> {
      mcp::client_options options = with_token();
      options.era(era).timeout(2s);
      mcp::client client = co_await mcp::client::connect(url, options);
      EXPECT_EQ(client.protocol_version(), era == mcp::protocol_era::modern ? "2026-07-28" : "2025-11-25");
      const std::vector<mcp::remote_tool> tools = co_await client.tools();
      EXPECT_EQ(tools.size(), 3U);
      const mcp::remote_answer hello = co_await client.call("greet", object());
      EXPECT_EQ(hello.text(), "hello");
      int steps = 0;
      const mcp::progress_listener counts = [&](double, double, const std::string&) { ++steps; };
      const mcp::remote_answer done = co_await client.call("steps", object(), counts);
      EXPECT_EQ(done.text(), "done");
      EXPECT_EQ(steps, 3);
      const std::optional<error> late = co_await failure_of(client.call("never", object()));
      EXPECT_TRUE(late && late->code() == exec_errc::unavailable) << (late ? late->what() : "");
      const mcp::remote_answer again = co_await client.call("greet", object());
      EXPECT_EQ(again.text(), "hello");
      co_await client.close();
    };
    cofferdam_test::run([&]() -> awaitable<void> { co_await with_http_server(body); });
  }
}

TEST(McpClient, a_refused_token_is_an_error_that_does_not_show_it) {
  const server_work body = [](const std::string& url) -> awaitable<void> {
    mcp::client_options options;
    options.token("not-the-token-of-this-server");
    const std::optional<error> refused = co_await failure_of(mcp::client::connect(url, options));
    EXPECT_TRUE(refused && refused->code() == exec_errc::permission_denied) << (refused ? refused->what() : "");
    EXPECT_EQ(refused ? std::string(refused->what()).find("not-the-token") : 0, std::string::npos);
  };
  cofferdam_test::run([&]() -> awaitable<void> { co_await with_http_server(body); });
}

TEST(McpClient, a_server_that_has_forgotten_the_session_gets_the_request_again) {
  cofferdam_test::run([]() -> awaitable<void> {
    std::optional<mcp::client> client;
    std::uint16_t port = 0;
    const server_work begins = [&](const std::string& url) -> awaitable<void> {
      port = static_cast<std::uint16_t>(std::stoul(url.substr(url.find(':', 7) + 1)));
      mcp::client_options options = with_token();
      options.era(mcp::protocol_era::legacy);
      mcp::client opened = co_await mcp::client::connect(url, options);
      client.emplace(std::move(opened));
    };
    co_await with_http_server(begins);
    const std::optional<error> gone = co_await failure_of(client->call("greet", object()));
    EXPECT_TRUE(gone && gone->code() == exec_errc::provider_lost) << (gone ? gone->what() : "");
    const server_work goes_on = [&](const std::string&) -> awaitable<void> {
      int greeted = 0;
      const auto greets = [&](std::size_t) -> awaitable<void> {
        const mcp::remote_answer hello = co_await client->call("greet", object());
        if (hello.text() == "hello") ++greeted;
      };
      co_await cofferdam::detail::join_all(8, 8, greets);
      EXPECT_EQ(greeted, 8);
      co_await client->close();
    };
    co_await with_http_server(goes_on, port);
  });
}

TEST(McpClient, http_calls_under_way_end_with_the_client) {
  const server_work body = [](const std::string& url) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    mcp::client opened = co_await mcp::client::connect(url, with_token());
    auto client = std::make_unique<mcp::client>(std::move(opened));
    awaitable<mcp::remote_answer> call = client->call("never", object());
    const auto calls = [&call]() -> awaitable<void> { static_cast<void>(co_await std::move(call)); };
    started calling(executor, calls);
    static_cast<void>(co_await client->call("greet", object()));
    client.reset();
    const std::optional<error> ended = co_await calling.end();
    EXPECT_TRUE(ended && ended->code() == exec_errc::environment_closed) << (ended ? ended->what() : "");
  };
  cofferdam_test::run([&]() -> awaitable<void> { co_await with_http_server(body); });
}

using raw_handler = std::function<awaitable<void>(http_call& call)>;

/// Runs `body` while a server of HTTP calls `handler`.
awaitable<void> with_raw_server(const raw_handler& handler, const server_work& body) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  cofferdam::detail::http_server server(executor, handler, http_server_settings());
  listener where = tcp_listener(executor, "127.0.0.1", 0);
  const std::string url = "http://127.0.0.1:" + std::to_string(where.port()) + "/mcp";
  server.listen(std::move(where));
  const auto runs = [&server]() -> awaitable<void> { co_await server.run(); };
  started serving(executor, runs);
  std::exception_ptr failure;
  try {
    co_await body(url);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await server.stop();
  static_cast<void>(co_await serving.end());
  if (failure) std::rethrow_exception(failure);
}

constexpr const char* greeting =
    R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s"}}})";

http_reply json_reply(const std::string& text) {
  http_reply answer(200);
  answer.content("application/json", text);
  return answer;
}
http_reply event_reply(const std::string& text) {
  http_reply answer(200);
  answer.content("text/event-stream", text);
  return answer;
}

/// Waits until a condition holds, at most 10 s.
awaitable<bool> holds(const std::function<bool()>& condition) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  for (int i = 0; i < 10'000 && !condition(); ++i) {
    pause.expires_after(1ms);
    co_await pause.async_wait(asio::use_awaitable);
  }
  co_return condition();
}

// A server that sends requests without end, and does not take the answers.
TEST(McpClient, only_so_many_answers_to_an_http_server_are_open) {
  int open = 0;
  int most_open = 0;
  int all = 0;
  bool reads = false;
  int pings = 300;
  const raw_handler handler = [&](http_call& call) -> awaitable<void> {
    if (call.method() != "POST") {
      co_await call.reply(http_reply(405));
      co_return;
    }
    const bytes body = co_await call.read_all();
    const object message = object_of(std::string(as_text(body)));
    if (message.contains("method") && message.contains("id")) {
      if (message.at("method").as_string() == "initialize") {
        co_await call.reply(json_reply(greeting));
        co_return;
      }
      std::string events;
      for (int i = 0; i < pings; ++i)
        events += R"(data: {"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"ping"})" + "\n\n";
      object last = object_of(R"({"jsonrpc":"2.0","result":{}})");
      last["id"] = message.at("id");
      events += "data: " + boost::json::serialize(last) + "\n\n";
      co_await call.reply(event_reply(events));
      co_return;
    }
    if (!message.contains("method")) {
      ++all;
      most_open = std::max(most_open, ++open);
      const std::function<bool()> is_allowed = [&] { return reads; };
      const bool may_read = co_await holds(is_allowed);
      EXPECT_TRUE(may_read);
      --open;
    }
    co_await call.reply(http_reply(202));
  };
  const server_work body = [&](const std::string& url) -> awaitable<void> {
    mcp::client_options options;
    options.era(mcp::protocol_era::legacy);
    mcp::client client = co_await mcp::client::connect(url, options);
    static_cast<void>(co_await client.request("any", object()));
    const std::function<bool()> some_wait = [&] { return open >= 32; };
    const bool has_some = co_await holds(some_wait);
    EXPECT_TRUE(has_some) << open;
    static_cast<void>(co_await client.request("any", object()));
    static_cast<void>(co_await client.request("any", object()));
    EXPECT_LE(most_open, 48);
    reads = true;  // answers can be sent again
    const std::function<bool()> none_waits = [&] { return open == 0; };
    const bool are_read = co_await holds(none_waits);
    EXPECT_TRUE(are_read) << open;
    asio::steady_timer pause(co_await asio::this_coro::executor, 50ms);
    co_await pause.async_wait(asio::use_awaitable);
    const int before = all;
    pings = 5;
    static_cast<void>(co_await client.request("any", object()));
    const std::function<bool()> all_came = [&] { return all >= before + 5; };
    const bool has_answers = co_await holds(all_came);
    EXPECT_TRUE(has_answers) << all - before;
    EXPECT_EQ(all, before + 5);
    co_await client.close();
  };
  cofferdam_test::run([&]() -> awaitable<void> { co_await with_raw_server(handler, body); });
}

TEST(McpClient, a_stream_with_a_broken_message_goes_on_and_close_does_not_throw) {
  const std::vector<std::string> events{
      R"(data: {"jsonrpc":"2.0","id":1.5,"method":"x"})",
      R"(data: [{"jsonrpc":"2.0","id":1,"method":"ping"}])",
      R"(data: {"jsonrpc":"2.0","long":")" + std::string(300, 'x') + "\"}",
  };
  for (std::size_t at = 0; at != events.size() + 1; ++at) {
    const bool has_odd_id = at == events.size();  // an id that no field of HTTP can have
    const std::string broken = has_odd_id ? "id: \x01\ndata: {}\n\n" : "id: 7\n" + events[at] + "\n\n";
    int streams = 0;
    std::string last_id;
    const raw_handler handler = [&](http_call& call) -> awaitable<void> {
      if (call.method() == "GET" && ++streams == 1) {
        http_reply reply = event_reply("retry: 100\n\n" + broken);
        co_await call.reply(std::move(reply));
      } else if (call.method() == "GET") {
        last_id = std::string(call.field("Last-Event-ID").value_or(""));
        http_reply reply = event_reply("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
        co_await call.reply(std::move(reply));
      } else {
        const bytes body = co_await call.read_all();
        const bool is_first = as_text(body).find("\"initialize\"") != std::string_view::npos;
        http_reply reply = is_first ? json_reply(greeting) : http_reply(202);
        co_await call.reply(std::move(reply));
      }
    };
    int logs = 0;
    const server_work body = [&](const std::string& url) -> awaitable<void> {
      mcp::client_options options;
      options.era(mcp::protocol_era::legacy).message(200).on_log([&](const object&) { ++logs; });
      mcp::client client = co_await mcp::client::connect(url, options);
      const std::function<bool()> is_logged = [&] { return logs != 0; };
      const bool has_log = co_await holds(is_logged);
      EXPECT_TRUE(has_log) << broken;
      EXPECT_EQ(last_id, has_odd_id ? "" : "7") << broken;
      const std::optional<error> failure = co_await failure_of(client.close());
      EXPECT_FALSE(failure) << failure->what();
    };
    cofferdam_test::run([&]() -> awaitable<void> { co_await with_raw_server(handler, body); });
  }
}

TEST(McpClient, an_id_of_a_session_that_cannot_be_sent_is_a_violation_of_the_protocol) {
  const raw_handler handler = [](http_call& call) -> awaitable<void> {
    http_reply reply = json_reply(greeting);
    reply.field("Mcp-Session-Id", "caf\xC3\xA9");
    co_await call.reply(std::move(reply));
  };
  const server_work body = [](const std::string& url) -> awaitable<void> {
    const std::optional<error> failure = co_await failure_of(mcp::client::connect(url));
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_failed) << (failure ? failure->what() : "");
    EXPECT_NE(failure ? std::string(failure->what()).find("violates the protocol") : 0, std::string::npos);
  };
  cofferdam_test::run([&]() -> awaitable<void> { co_await with_raw_server(handler, body); });
}

// A server that repeats what it got in its answers.
TEST(McpClient, secrets_that_a_server_repeats_do_not_appear_in_errors) {
  cofferdam_test::run([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    int status = 200;
    const auto repeats = [&status](http_call& call) -> awaitable<void> {
      const std::string told = "bad " + std::string(call.field("Authorization").value_or("")) + " " +
                               std::string(call.field("X-Key").value_or("")) + " " + std::string(call.path()) + "?" +
                               std::string(call.query());
      object failure;
      failure["code"] = -1;
      failure["message"] = told;
      object reply;
      reply["jsonrpc"] = "2.0";
      reply["id"] = 1;
      reply["error"] = failure;
      http_reply answer(status);
      answer.content("application/json", boost::json::serialize(reply));
      co_await call.reply(std::move(answer));
    };
    cofferdam::detail::http_server server(executor, repeats, http_server_settings());
    listener where = tcp_listener(executor, "127.0.0.1", 0);
    const std::string url = "http://127.0.0.1:" + std::to_string(where.port()) + "/mcp?key=of-the-url";
    server.listen(std::move(where));
    const auto runs = [&server]() -> awaitable<void> { co_await server.run(); };
    started serving(executor, runs);
    for (const int each : {200, 400, 401, 404, 429, 500}) {
      status = each;
      mcp::client_options options;
      options.token("the-token-itself").header("X-Key", "of-the-header").era(mcp::protocol_era::legacy);
      const std::optional<error> refused = co_await failure_of(mcp::client::connect(url, options));
      const std::string text = refused ? refused->what() : "";
      EXPECT_NE(text.find("bad Bearer [redacted] [redacted] /mcp?key=[redacted]"), std::string::npos) << text;
    }
    co_await server.stop();
    static_cast<void>(co_await serving.end());
  });
}

TEST(McpClient, an_address_that_is_no_server_is_an_error) {
  cofferdam_test::run([]() -> awaitable<void> {
    for (const char* const url : {"ftp://a/", "http://a b/", "http://user:pass@host/", "nothing", "http://h/#a"}) {
      const std::optional<error> wrong = co_await failure_of(mcp::client::connect(url));
      EXPECT_TRUE(wrong && wrong->code() == exec_errc::invalid_argument) << url;
      EXPECT_EQ(wrong ? std::string(wrong->what()).find("pass") : 0, std::string::npos);
    }
    const std::optional<error> refused = co_await failure_of(mcp::client::connect("http://127.0.0.1:1/mcp"));
    EXPECT_TRUE(refused && refused->code() == exec_errc::provider_failed) << (refused ? refused->what() : "");
  });
  const server_work body = [](const std::string& url) -> awaitable<void> {
    const std::string other = url.substr(0, url.size() - 4) + "/other";
    const std::optional<error> missing = co_await failure_of(mcp::client::connect(other, with_token()));
    EXPECT_TRUE(missing && missing->code() == exec_errc::provider_failed) << (missing ? missing->what() : "");
  };
  cofferdam_test::run([&]() -> awaitable<void> { co_await with_http_server(body); });
}

}  // namespace mcp_client_test
