// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/trace_event.hpp>
#include <cofferdam/llm/agent_session.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/traced_model.hpp>
#include <cofferdam/middleware/trace.hpp>

#include "llm/scripted_model.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace traced_model_test {

using namespace cofferdam;
using cofferdam_test::memory_environment;
using cofferdam_test::run;
using cofferdam_test::scripted_model;

chat_reply answer(std::string tool, std::string arguments) {
  chat_message message = chat_message::assistant("");
  message.call(chat_tool_call("c", std::move(tool), std::move(arguments)));
  chat_usage tokens;
  tokens.input = 100;
  tokens.output = 20;
  tokens.cached = 30;
  return chat_reply(std::move(message)).usage(tokens).model("m-2026");
}

TEST(TracedModel, reports_each_call_of_an_agent_beside_its_operations) {
  std::vector<trace_event> events;
  const auto add = [&events](const trace_event& event) { events.push_back(event); };
  scripted_model model;
  model.then([](const chat_request&) { return answer("write_file", R"({"path":"a","content":"s3cr3t"})"); });
  model.then([](const chat_request&) { return answer("finish", R"({"reason":"s3cr3t","paths":[]})"); });
  run([&]() -> awaitable<void> {
    auto environment = memory_environment() | trace(add);
    agent_session work(agent(traced_model("m", model, add)), environment);
    agent_result result = co_await work.run("s3cr3t");
    EXPECT_TRUE(result.finished());
  });
  std::vector<std::string> names;
  for (const trace_event& each : events) {
    names.push_back(each.name());
    EXPECT_EQ(each.json().find("s3cr3t"), std::string::npos) << each.json();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"chat m", "execute_tool stat", "execute_tool write_file", "chat m"}));
  EXPECT_EQ(events.at(0).operation(), "gen_ai.client.operation");
  EXPECT_EQ(events.at(0).text("gen_ai.operation.name"), "chat");
  EXPECT_EQ(events.at(0).text("gen_ai.request.model"), "m");
  EXPECT_EQ(events.at(0).text("gen_ai.response.model"), "m-2026");
  EXPECT_EQ(events.at(0).text("gen_ai.usage.input_tokens"), "100");
  EXPECT_EQ(events.at(0).text("gen_ai.usage.output_tokens"), "20");
  EXPECT_EQ(events.at(0).text("gen_ai.usage.cache_read.input_tokens"), "30");
  EXPECT_EQ(events.at(0).error_type(), "");
}

/// A model that fails.
class failing_model {
 public:
  explicit failing_model(error failure) : failure_(std::move(failure)) {}
  awaitable<chat_reply> chat(chat_request) {
    throw failure_;
    co_return chat_reply();
  }

 private:
  error failure_;
};

TEST(TracedModel, reports_why_a_call_has_failed) {
  const std::vector<std::pair<error, std::string>> cases = {
      {chat_failure(chat_errc::rate_limited, "too many"), "rate_limited"},
      {chat_failure(chat_errc::context_overflow, "too long"), "context_overflow"},
      {chat_failure(chat_errc::timed_out, "too late"), "timed_out"},
      {error(exec_errc::cancelled, "cancelled"), "cancelled"}};
  for (const auto& [failure, type] : cases) {
    std::vector<trace_event> events;
    const auto add = [&events](const trace_event& event) {
      events.push_back(event);
      throw std::runtime_error("an exception that must not reach the caller");
    };
    traced_model model("m", failing_model(failure), add);
    bool has_thrown = false;
    run([&]() -> awaitable<void> {
      try {
        co_await model.chat(chat_request());
      } catch (const error& thrown) {
        has_thrown = thrown.code() == failure.code();
      }
    });
    EXPECT_TRUE(has_thrown) << type;
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].error_type(), type);
  }
}

}  // namespace traced_model_test
