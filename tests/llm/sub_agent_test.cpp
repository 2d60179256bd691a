// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/llm/agent_session.hpp>
#include <cofferdam/llm/sub_agent.hpp>
#include <cofferdam/tools/function.hpp>

#include "llm/scripted_model.hpp"
#include "support/error_of.hpp"
#include "support/run.hpp"

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sub_agent_test {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::memory_environment;
using cofferdam_test::scripted_model;

constexpr const char* done = R"({"reason":"done","paths":[]})";

agent_result work(const agent& boss, memory_environment& env, std::string task = "the whole task") {
  agent_result result;
  cofferdam_test::run([&]() -> awaitable<void> {
    agent_session session(boss, env);
    result = co_await session.run(std::move(task));
  });
  return result;
}

/// A provider of environments whose files are in memory. All of them share one state.
class memory_provider {
 public:
  explicit memory_provider(memory_environment environment) : environment_(std::move(environment)) {}
  awaitable<memory_environment> open() const { return lend(environment_); }

 private:
  static awaitable<memory_environment> lend(memory_environment environment) { co_return environment; }
  memory_environment environment_;
};

// Feature: H11, H12
TEST(SubAgent, works_in_the_environment_of_its_caller_with_a_conversation_of_its_own) {
  scripted_model boss_model;
  scripted_model model;
  memory_environment env;
  model.call("write_file", R"({"path":"notes/a.txt","content":"<facts>"})");
  model.call("finish", R"({"reason":"read <all>","paths":["notes/a.txt"]})");
  model.call("finish", done);
  boss_model.call("reader", R"({"task":"first part"})").call("reader", R"({"task":"second part"})");
  boss_model.call("finish", done);
  agent boss(boss_model);
  boss.environment_tools().tool(tools::sub_agent("reader", "Reads files.", agent(model)));
  const agent_result result = work(boss, env);
  EXPECT_TRUE(result.finished());
  EXPECT_EQ(env.text("notes/a.txt"), "<facts>");
  EXPECT_EQ(boss_model.told(1),
            "<agent_result>\n<finished>true</finished>\n<reason>read &lt;all&gt;</reason>\n"
            "<files>notes/a.txt</files>\n<turns>2</turns>\n</agent_result>");
  EXPECT_EQ(boss_model.asked()[0].tools().size(), 7U) << "the default tools, the sub-agent and finish";
  ASSERT_EQ(model.asked().size(), 3U);
  EXPECT_EQ(model.asked()[2].messages().size(), 2U) << "the second call knows nothing of the first";
  EXPECT_EQ(model.told(2), "second part");
  EXPECT_EQ(result.tools().at("reader").calls, 2U);
}

TEST(SubAgent, tokens_and_cost_count_as_those_of_the_caller) {
  scripted_model boss_model;
  scripted_model model;
  memory_environment env;
  model.then([](const chat_request&) {
    chat_message message = chat_message::assistant("");
    message.call(chat_tool_call("c", "finish", done));
    chat_usage tokens;
    tokens.input = 100;
    tokens.output = 20;
    tokens.cost = 0.5;
    return chat_reply(std::move(message)).usage(tokens);
  });
  boss_model.call("helper", R"({"task":"x"})").call("finish", done);
  agent boss(boss_model, tools::sub_agent("helper", "Helps.", agent(model)));
  agent_result result;
  chat_usage total;
  cofferdam_test::run([&]() -> awaitable<void> {
    agent_session session(boss, env);
    result = co_await session.run("x");
    total = session.usage();
  });
  EXPECT_EQ(result.usage().total(), 150U);
  EXPECT_EQ(total.total(), 150U);
  EXPECT_EQ(total.cost, 0.5);
  EXPECT_EQ(result.turns(), 2U);
}

TEST(SubAgent, the_budget_of_the_caller_ends_it) {
  scripted_model boss_model;
  scripted_model model;
  memory_environment env;
  for (int i = 0; i < 20; ++i) model.call("list_files", R"({"path":"."})");
  boss_model.call("helper", R"({"task":"x"})");
  agent boss(boss_model, tools::sub_agent("helper", "Helps.", agent(model)));
  boss.token_budget(60);  // the sub-agent uses 15 tokens a turn
  const agent_result result = work(boss, env);
  EXPECT_EQ(result.end(), agent_end::token_budget);
  EXPECT_EQ(model.asked().size(), 4U);
  EXPECT_EQ(result.usage().total(), 75U);
}

TEST(SubAgent, an_unfinished_run_and_a_failed_model_are_errors_for_the_caller) {
  scripted_model boss_model;
  scripted_model model;
  memory_environment env;
  model.call("list_files", R"({"path":"."})").call("list_files", R"({"path":"."})");
  model.fail(chat_errc::no_quota);
  boss_model.call("helper", R"({"task":"x"})").call("helper", R"({"task":"y"})").call("helper", "{}");
  boss_model.call("finish", done);
  agent inner(model);
  inner.max_turns(2);
  agent boss(boss_model, tools::sub_agent("helper", "Helps.", inner));
  const agent_result result = work(boss, env);
  EXPECT_TRUE(result.finished());
  EXPECT_NE(boss_model.told(1).find("<finished>false</finished>\n<details>the maximum number of turns was reached"),
            std::string::npos)
      << boss_model.told(1);
  EXPECT_NE(boss_model.told(1).find("<advice>Look at the files"), std::string::npos) << boss_model.told(1);
  EXPECT_TRUE(boss_model.told(2).starts_with("Error: the agent 'helper' failed: scripted failure"))
      << boss_model.told(2);
  EXPECT_TRUE(boss_model.told(3).starts_with("Error: Wrong arguments")) << boss_model.told(3);
  EXPECT_EQ(result.tools().at("helper").failures, 3U);
}

TEST(SubAgent, with_an_environment_of_its_own_files_are_handed_over_and_back) {
  scripted_model boss_model;
  scripted_model model;
  memory_environment env;
  memory_environment inside;
  env.all().files["data/in.csv"] = to_bytes("a,b\n");
  env.all().files["secret.txt"] = to_bytes("not for the helper");
  model.call("read_file", R"({"path":"data/in.csv"})").call("read_file", R"({"path":"secret.txt"})");
  model.call("write_file", R"({"path":"plots/p.txt","content":"plot"})");
  model.call("finish", R"({"reason":"plotted","paths":["plots/p.txt"]})");
  boss_model.call("helper", R"({"task":"plot","input_files":["data/in.csv"],"output_dir":"result"})");
  boss_model.call("helper", R"({"task":"plot","input_files":["missing.csv"]})").call("finish", done);
  agent boss(boss_model, tools::sub_agent("helper", "Plots.", agent(model)).environment(memory_provider(inside)));
  const agent_result result = work(boss, env);
  EXPECT_TRUE(result.finished());
  EXPECT_NE(model.told(1).find("a,b"), std::string::npos) << model.told(1);
  EXPECT_TRUE(model.told(2).starts_with("Error: ")) << model.told(2);
  EXPECT_EQ(env.text("result/plots/p.txt"), "plot");
  EXPECT_NE(boss_model.told(1).find("<files>result/plots/p.txt</files>"), std::string::npos) << boss_model.told(1);
  EXPECT_TRUE(boss_model.told(2).starts_with(
      "Error: the agent was not started, because input files could not be copied: missing.csv: "))
      << boss_model.told(2);
  EXPECT_EQ(model.left(), 0U);
}

TEST(SubAgent, whole_directories_are_handed_over_and_no_path_leads_out_of_the_workspace) {
  scripted_model boss_model;
  scripted_model model;
  model.call("code_exec", R"({"cmd":"find . -type f; cat data/sub/in.csv"})");
  model.call("finish", R"({"reason":"seen","paths":["data/sub/in.csv"]})");
  boss_model.call("helper", R"({"task":"look","input_files":["data/sub"],"output_dir":"../out"})");
  boss_model.call("helper", R"({"task":"look","input_files":["../secret"]})").call("finish", done);
  cofferdam_test::run([&]() -> awaitable<void> {
    co_await with(local().without_warning(), [&](auto& env) -> awaitable<void> {
      co_await write_text(env, "data/sub/in.csv", "a,b\n");
      co_await write_text(env, "data/other.csv", "c,d\n");
      agent boss(boss_model, tools::sub_agent("helper", "Looks.", agent(model)).environment(local().without_warning()));
      agent_session session(boss, env);
      const agent_result result = co_await session.run("x");
      EXPECT_TRUE(result.finished());
    });
  });
  EXPECT_NE(model.told(1).find("<stdout>./data/sub/in.csv\na,b\n</stdout>"), std::string::npos) << model.told(1);
  EXPECT_NE(boss_model.told(1).find("<failed_files>data/sub/in.csv: path '../out"), std::string::npos)
      << boss_model.told(1);
  EXPECT_TRUE(boss_model.told(2).starts_with("Error: the agent was not started")) << boss_model.told(2);
  EXPECT_EQ(model.left(), 0U);
}

TEST(SubAgent, a_lost_environment_of_its_own_is_an_error_but_that_of_the_caller_ends_the_run) {
  for (const bool is_own : {true, false}) {
    scripted_model boss_model;
    scripted_model model;
    memory_environment env;
    memory_environment inside;
    (is_own ? inside : env).all().lost = true;
    model.call("code_exec", R"({"cmd":"true"})");
    boss_model.call("helper", R"({"task":"x"})").call("finish", done);
    tools::sub_agent helper("helper", "Helps.", agent(model));
    if (is_own) helper.environment(memory_provider(inside));
    agent boss(boss_model, helper);
    if (is_own) {
      EXPECT_TRUE(work(boss, env).finished());
      EXPECT_TRUE(boss_model.told(1).starts_with("Error: the environment of the agent 'helper' failed: lost"))
          << boss_model.told(1);
    } else {
      EXPECT_EQ(cofferdam_test::code_of([&] { work(boss, env); }), exec_errc::provider_lost);
    }
  }
}

awaitable<std::string> sleep_long() {
  asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
  co_await timer.async_wait(asio::use_awaitable);
  co_return "";
}

TEST(SubAgent, the_time_limit_of_the_caller_ends_what_it_does) {
  scripted_model boss_model;
  scripted_model model;
  memory_environment env;
  model.call("sleep", "{}");
  boss_model.call("helper", R"({"task":"x"})");
  agent inner(model, tools::function("sleep", "Sleeps.", sleep_long));
  agent boss(boss_model, tools::sub_agent("helper", "Helps.", inner));
  boss.time_limit(30ms);
  const agent_result result = work(boss, env);
  EXPECT_EQ(result.end(), agent_end::time_limit);
  EXPECT_EQ(result.usage().total(), 30U) << "the tokens of the sub-agent, which was cancelled, count";

  model.call("sleep", "{}");
  boss_model.call("helper", R"({"task":"x"})").call("finish", done);
  agent patient(boss_model, tools::sub_agent("helper", "Helps.", inner.time_limit(30ms)));
  EXPECT_TRUE(work(patient, env).finished());
  EXPECT_NE(boss_model.told(2).find("<details>the time limit was reached</details>"), std::string::npos)
      << boss_model.told(2);
}

TEST(SubAgent, agents_that_call_themselves_end_at_the_depth) {
  scripted_model model;
  memory_environment env;
  const std::function<agent()> make = [&]() -> agent {
    return agent(model, tools::sub_agent("again", "Itself.", std::ref(make)).max_depth(2));
  };
  for (int i = 0; i < 3; ++i) model.call("again", R"({"task":"x"})");
  for (int i = 0; i < 3; ++i) model.call("finish", done);
  EXPECT_TRUE(work(make(), env).finished());
  EXPECT_EQ(model.left(), 0U);
  EXPECT_EQ(model.told(3), "Error: agents are nested too deep (the limit is 2 levels). Do the work yourself.");
  EXPECT_NE(model.told(4).find("<finished>true</finished>"), std::string::npos);
}

TEST(SubAgent, its_events_and_progress_are_reported_but_not_to_the_listener_of_the_caller) {
  scripted_model boss_model;
  scripted_model model;
  memory_environment env;
  model.call("list_files", R"({"path":"."})").call("finish", done);
  boss_model.call("helper", R"({"task":"x"})").call("finish", done);
  std::vector<std::string> inner;
  const auto hears = [&inner](const agent_event& what) {
    if (what.kind() == agent_event_kind::tool_ended) inner.emplace_back(what.name());
  };
  agent boss(boss_model, tools::sub_agent("helper", "Helps.", agent(model)).on_event(hears));
  std::string progress;
  std::size_t turns = 0;
  cofferdam_test::run([&]() -> awaitable<void> {
    agent_session session(boss, env);
    session.on_event([&](const agent_event& what) {
      if (what.kind() == agent_event_kind::turn) ++turns;
      if (what.kind() == agent_event_kind::tool_output) progress += what.text();
    });
    co_await session.run("x");
  });
  EXPECT_EQ(inner, (std::vector<std::string>{"list_files", "finish"}));
  EXPECT_EQ(progress, "helper: turn 1, list_files\nhelper: turn 2, finish\n");
  EXPECT_EQ(turns, 2U);
}

TEST(SubAgent, calls_run_at_the_same_time_only_if_the_program_says_so) {
  for (const bool is_parallel : {false, true}) {
    scripted_model boss_model;
    scripted_model model;
    memory_environment env;
    int now = 0;
    int most = 0;
    const auto meets = [&]() -> awaitable<std::string> {
      most = std::max(most, ++now);
      asio::steady_timer timer(co_await asio::this_coro::executor, 20ms);
      co_await timer.async_wait(asio::use_awaitable);
      --now;
      co_return "";
    };
    model.call("meet", "{}");
    model.call(is_parallel ? "meet" : "finish", is_parallel ? "{}" : done);
    model.call(is_parallel ? "finish" : "meet", is_parallel ? done : "{}").call("finish", done);
    boss_model.calls({{"helper", R"({"task":"x"})"}, {"helper", R"({"task":"y"})"}}).call("finish", done);
    tools::sub_agent helper("helper", "Helps.", agent(model, tools::function("meet", "Meets.", meets)));
    if (is_parallel) helper.parallel();
    EXPECT_TRUE(work(agent(boss_model, helper), env).finished());
    EXPECT_EQ(most, is_parallel ? 2 : 1);
  }
}

TEST(SubAgent, wrong_settings_are_errors) {
  EXPECT_EQ(cofferdam_test::code_of([] { tools::sub_agent("x", "y", std::function<agent()>()); }),
            exec_errc::invalid_argument);
  EXPECT_EQ(cofferdam_test::code_of([] { tools::sub_agent("x", "y", agent(scripted_model())).max_depth(0); }),
            exec_errc::invalid_argument);
  EXPECT_EQ(cofferdam_test::code_of([] { agent(scripted_model()).time_limit(0ms); }), exec_errc::invalid_argument);
}

}  // namespace sub_agent_test
