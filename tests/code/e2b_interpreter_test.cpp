// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The runner over E2B's code interpreter, against the gateway's. The conformance suites run over it in
// tests/conformance.

#include <cofferdam/backends/e2b/code_interpreter.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/detail/e2b_kernels.hpp>
#include <cofferdam/code/e2b_interpreter.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/function.hpp>
#include <cofferdam/tools/run_python.hpp>

#include "support/error_of.hpp"
#include "support/gateway_thread.hpp"
#include "support/pause.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::gateway_thread;
using cofferdam_test::run;

static_assert(context_runner<e2b_interpreter_runner>);
static_assert(code_runner_provider<e2b_interpreter_provider>);

e2b::provider sandboxes_of(const gateway_thread& gateway) {
  return e2b::from_template("code-interpreter-v1")
      .variables_from(e2b::surroundings())
      .api_key("e2b_0123456789")
      .api_url(gateway.url())
      .sandbox_url(gateway.url());
}

e2b_gateway::options usual_options() { return e2b_gateway::options().api_key("e2b_0123456789").sandboxes(10); }

const gateway_thread& gateway() {
  static const gateway_thread with_interpreter(
      local().without_warning(),
      usual_options().port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter()));
  return with_interpreter;
}

template <class Body>
void with_interpreter(Body work) {
  run([&]() -> awaitable<void> { co_await with(sandboxes_of(gateway()) | e2b_interpreter(), work); }, 100s);
}

// Feature: A5
TEST(E2bInterpreterRunner, guards_and_the_tool_of_a_model_fit_around_it) {
  run(
      []() -> awaitable<void> {
        auto recipe = sandboxes_of(gateway()) | e2b_interpreter() | check_syntax() | allow_imports("json");
        co_await with(recipe, [](auto& runner) -> awaitable<void> {
          code_result refused = co_await runner.run_code(code_request("import socket"));
          EXPECT_EQ(refused.kind(), error_kind::security_violation);
          EXPECT_NE(refused.reason().find("allow_imports"), std::string::npos) << refused.reason();
          code_result command = co_await runner.run_code(code_request("!touch made"));
          EXPECT_EQ(command.kind(), error_kind::security_violation) << "a command of a notebook is no Python";
          command_result listed = co_await runner.environment().run_command("ls");
          EXPECT_EQ(listed.out_text(), "") << "nothing has run";
          tools::run_python tool(runner);
          boost::json::object arguments;
          arguments["code"] = "import json\njson.loads('[1, 2]')";
          tools::tool_result answer = co_await tool.call(arguments);
          EXPECT_TRUE(answer.ok());
          EXPECT_NE(answer.text().find("[1, 2]"), std::string::npos) << answer.text();
        });
      },
      100s);
}

TEST(E2bInterpreterRunner, a_run_without_a_context_leaves_no_kernel_and_no_names) {
  with_interpreter([](auto& runner) -> awaitable<void> {
    e2b::code_interpreter service(runner.environment());
    std::vector<e2b::code_context> before = co_await service.contexts();
    code_result result = co_await runner.run_code(
        code_request("sorted(n for n in globals() if 'cofferdam' in n) + [x]").variable("x", 1));
    EXPECT_EQ(boost::json::serialize(*result.value()), "[1]");
    co_await runner.run_code(code_request("x = 2").context("mine"));
    std::vector<e2b::code_context> after = co_await service.contexts();
    EXPECT_EQ(after.size(), before.size() + 1);
    std::vector<std::string> names = co_await runner.contexts();
    EXPECT_EQ(names, std::vector<std::string>{"mine"});
    const bool ended = co_await runner.end_context("mine");
    EXPECT_TRUE(ended);
    const bool again = co_await runner.end_context("mine");
    EXPECT_FALSE(again);
    after = co_await service.contexts();
    EXPECT_EQ(after.size(), before.size());
  });
}

TEST(E2bInterpreterRunner, a_context_that_somebody_removes_is_lost_and_made_anew) {
  with_interpreter([](auto& runner) -> awaitable<void> {
    co_await runner.run_code(code_request("x = 1").context("c"));
    e2b::code_interpreter service(runner.environment());
    std::vector<e2b::code_context> all = co_await service.contexts();
    for (const e2b::code_context& each : all) co_await service.remove(each);
    code_result lost = co_await runner.run_code(code_request("x").context("c"));
    EXPECT_EQ(lost.kind(), error_kind::execution_error);
    EXPECT_TRUE(lost.context_lost());
    code_result fresh = co_await runner.run_code(code_request("x").context("c"));
    EXPECT_EQ(fresh.failure() ? fresh.failure()->type() : "", "NameError");
  });
}

TEST(E2bInterpreterRunner, functions_are_refused_with_what_to_use) {
  with_interpreter([](auto& runner) -> awaitable<void> {
    const auto handler = []() -> awaitable<double> { co_return 1.0; };
    const tools::function tide("tide", "A height.", handler);
    std::string sentence;
    try {
      co_await runner.run_code(code_request("tide()").function(tide));
    } catch (const error& failure) {
      if (failure.code() == exec_errc::unsupported) sentence = failure.what();
    }
    EXPECT_NE(sentence.find("| python()"), std::string::npos) << sentence;
  });
}

TEST(E2bInterpreterRunner, a_cancelled_run_is_interrupted_and_its_kernel_is_gone) {
  with_interpreter([](auto& runner) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::cancellation_signal cancel;
    bool is_over = false;
    std::error_code code;
    const auto work = [&]() -> awaitable<void> {
      try {
        co_await runner.run_code(
            code_request("open('begun', 'w').close()\nimport time\ntime.sleep(60)\nopen('late', 'w')"));
      } catch (const error& failure) {
        code = failure.code();
      }
    };
    cofferdam_test::spawn(
        executor, work, [&](std::exception_ptr) { is_over = true; }, cancel.slot());
    for (;;) {
      command_result begun = co_await runner.environment().run_command("test -e begun");
      if (begun.ok()) break;
      co_await cofferdam_test::pause_for(5ms);
    }
    cancel.emit(asio::cancellation_type::terminal);
    while (!is_over) co_await cofferdam_test::pause_for(1ms);
    EXPECT_EQ(code, exec_errc::cancelled);
    e2b::code_interpreter service(runner.environment());
    std::vector<e2b::code_context> left = co_await service.contexts();
    EXPECT_LE(left.size(), 1U) << "the default context";
  });
}

TEST(E2bInterpreterRunner, a_sandbox_without_an_interpreter_is_an_error_of_open_and_is_ended) {
  const gateway_thread bare(local().without_warning(), usual_options().sandboxes(1));
  for (int i = 0; i < 2; ++i) {
    const auto failure = cofferdam_test::error_of([&] {
      run(
          [&]() -> awaitable<void> {
            const auto recipe = sandboxes_of(bare) | e2b_interpreter();
            co_await recipe.open();
          },
          100s);
    });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), exec_errc::unsupported) << failure->what() << i;
  }
}

TEST(E2bInterpreterRunner, one_that_is_not_open_says_so) {
  e2b_interpreter_runner runner;
  EXPECT_EQ(cofferdam_test::code_of([&] { static_cast<void>(runner.run_code(code_request("1"))); }),
            exec_errc::environment_closed);
  EXPECT_EQ(cofferdam_test::code_of([&] { static_cast<void>(runner.environment()); }), exec_errc::environment_closed);
  EXPECT_EQ(runner.version(), "");
  EXPECT_EQ(cofferdam_test::code_of([&] { e2b_interpreter().timeout(0ms); }), exec_errc::invalid_argument);
}

TEST(E2bInterpreterRunner, lines_are_read_from_tracebacks_of_both_kinds) {
  using detail::line_in_cell;
  EXPECT_EQ(line_in_cell("File \"<code 3>\", line 7, in <module>\n  File \"<code 1>\", line 2, in f"), 7);
  EXPECT_EQ(line_in_cell("File \"<code 3>\", line 7, in <module>\n  File \"<code 3>\", line 2, in f"), 2);
  EXPECT_EQ(line_in_cell("\nCell In[12], line 4\n  3 \n----> 4 1/0"), 4);
  EXPECT_EQ(line_in_cell("Input In [2], line 1"), 1);
  EXPECT_EQ(line_in_cell("File \"/usr/lib/x.py\", line 9"), 0);
  EXPECT_EQ(detail::without_colours("\x1B[0;31mValueError\x1B[0m"), "ValueError");
  EXPECT_EQ(detail::exit_code_of("3"), 3);
  EXPECT_EQ(detail::exit_code_of("None"), 0);
  EXPECT_EQ(detail::exit_code_of("no such file"), 1);
}

}  // namespace
