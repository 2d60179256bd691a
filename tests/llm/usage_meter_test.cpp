// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/llm/agent_session.hpp>
#include <cofferdam/llm/detail/completion_reply.hpp>
#include <cofferdam/llm/llm_review.hpp>
#include <cofferdam/llm/sub_agent.hpp>
#include <cofferdam/llm/usage_meter.hpp>

#include "llm/scripted_model.hpp"
#include "support/error_of.hpp"
#include "support/run.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace usage_meter_test {

using namespace cofferdam;
using cofferdam_test::memory_environment;
using cofferdam_test::scripted_model;

/// A runner that runs nothing.
class idle_runner {
 public:
  awaitable<code_result> run_code(code_request) { co_return code_result(); }
  awaitable<void> close() { co_return; }
};

class idle_provider {
 public:
  awaitable<idle_runner> open() const { return opened(); }

 private:
  static awaitable<idle_runner> opened() { co_return idle_runner(); }
};

/// Adds an answer with one tool call, or with text if there is no name.
void answer(scripted_model& model, std::string reported, std::string tool, std::uint64_t input, std::uint64_t output,
            std::uint64_t cached = 0) {
  model.then([=](const chat_request&) {
    chat_message message = chat_message::assistant("");
    const std::string arguments = tool == "finish" ? R"({"reason":"done","paths":[]})" : R"({"task":"x"})";
    if (!tool.empty()) message.call(chat_tool_call("c", tool, arguments));
    chat_usage tokens;
    tokens.input = input;
    tokens.output = output;
    tokens.cached = cached;
    return chat_reply(std::move(message)).usage(tokens).model(reported);
  });
}

// Feature: I7, I8
TEST(UsageMeter, every_call_of_agents_sub_agents_and_reviewers_is_counted_with_its_cost) {
  usage_meter meter;
  meter.price("big", token_price(10, 40).cached(1)).price("small", token_price(1, 4));
  scripted_model boss_model;
  scripted_model model;
  scripted_model judge;
  memory_environment env;
  answer(boss_model, "big-2026-01-31", "helper", 1'000'000, 100'000, 500'000);
  answer(boss_model, "big-2026-01-31", "finish", 0, 0);
  answer(model, "small", "finish", 2'000'000, 0);
  answer(judge, "", "", 100, 10);
  judge.fail(chat_errc::rate_limited);
  agent boss(meter.count("boss", boss_model),
             tools::sub_agent("helper", "Helps.", agent(meter.count("helper", model))));
  agent_result result;
  cofferdam_test::run([&]() -> awaitable<void> {
    agent_session session(boss, env);
    result = co_await session.run("x");
    auto recipe = idle_provider() | llm_review(meter.count("review", judge));
    auto runner = co_await recipe.open();
    code_request request("1");
    co_await runner.run_code(std::move(request));
  });
  EXPECT_DOUBLE_EQ(result.usage().cost, 5 + 0.5 + 4 + 2) << "5 cached are 0.5";
  const std::vector<metered_usage> entries = meter.entries();
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].label, "boss");
  EXPECT_EQ(entries[0].model, "big-2026-01-31");
  EXPECT_EQ(entries[0].calls, 2U);
  EXPECT_DOUBLE_EQ(entries[0].usage.cost, 9.5);
  EXPECT_DOUBLE_EQ(entries[1].usage.cost, 2);
  EXPECT_EQ(entries[2].label, "review");
  EXPECT_EQ(entries[2].calls, 2U);
  EXPECT_EQ(entries[2].failures, 1U);
  EXPECT_EQ(entries[2].unpriced, 1U);
  EXPECT_EQ(entries[2].usage.total(), 110U);
  EXPECT_DOUBLE_EQ(meter.total().cost, 11.5);
}

TEST(UsageMeter, a_price_is_found_by_name_or_label_and_not_for_another_model) {
  usage_meter meter;
  meter.price("gpt-5", token_price(1, 1)).price("local", token_price(2, 2)).price("local", token_price(3, 3));
  scripted_model model;
  answer(model, "gpt-5", "", 1'000'000, 0);
  answer(model, "gpt-5-2025-08-07", "", 1'000'000, 0);
  answer(model, "gpt-5-mini", "", 1'000'000, 0);
  answer(model, "gpt-50", "", 1'000'000, 0);
  answer(model, "", "", 1'000'000, 0);
  metered_model counted = meter.count("local", model);
  std::vector<double> costs;
  cofferdam_test::run([&]() -> awaitable<void> {
    for (int i = 0; i < 5; ++i) {
      chat_request request;
      const chat_reply reply = co_await counted.chat(std::move(request));
      costs.push_back(reply.usage().cost);
    }
  });
  EXPECT_EQ(costs, (std::vector<double>{1, 1, 0, 0, 3}));
  EXPECT_EQ(cofferdam_test::code_of([] { token_price(-1, 0); }), exec_errc::invalid_argument);
  EXPECT_EQ(cofferdam_test::code_of([] { token_price(0, std::numeric_limits<double>::infinity()); }),
            exec_errc::invalid_argument);
  EXPECT_EQ(cofferdam_test::code_of([] { token_price(0, 0).cached(-1); }), exec_errc::invalid_argument);
}

TEST(UsageMeter, a_cost_that_the_service_reports_is_read_and_kept) {
  EXPECT_EQ(detail::read_usage(boost::json::parse(R"({"cost":0.25})").as_object()).cost, 0.25);
  EXPECT_EQ(detail::read_usage(boost::json::parse(R"({"cost":3})").as_object()).cost, 3);
  EXPECT_EQ(detail::read_usage(boost::json::parse(R"({"cost":-1})").as_object()).cost, 0);
  EXPECT_EQ(detail::read_usage(boost::json::parse(R"({"cost":"1"})").as_object()).cost, 0);
  usage_meter meter;
  scripted_model model;
  model.then([](const chat_request&) {
    chat_usage tokens;
    tokens.cost = 0.25;
    return chat_reply(chat_message::assistant("x")).usage(tokens);
  });
  metered_model counted = meter.count("x", model);
  cofferdam_test::run([&]() -> awaitable<void> {
    chat_request request;
    co_await counted.chat(std::move(request));
  });
  EXPECT_EQ(meter.total().cost, 0.25);
  EXPECT_EQ(meter.entries()[0].unpriced, 0U);
}

}  // namespace usage_meter_test
