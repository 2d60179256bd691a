// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of Python runners on thread pools.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/function.hpp>

#include "support/census.hpp"
#include "support/complaints.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/co_spawn.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::complaints;
using cofferdam_test::watchdog;

using pool_strand = asio::strand<asio::thread_pool::executor_type>;

/// Runs code with a host function and an output listener, which both check the thread on which they are called.
template <class Runner>
awaitable<void> run_some(Runner& runner, int number, pool_strand mine, bool is_mine, complaints& wrong) {
  const auto look = [&wrong, mine, is_mine](const char* where) {
    if (is_mine && !mine.running_in_this_thread()) wrong.add(std::string(where) + ": not on the caller's strand");
  };
  for (int i = 0; i < 4; ++i) {
    const auto twice = [&look](std::int64_t given) -> awaitable<std::int64_t> {
      look("a host function");
      co_return 2 * given;
    };
    const auto listens = [&look](output_stream, bytes_view) { look("a listener"); };
    tools::function function("twice", "Doubles.", tools::argument("n"), twice);
    code_request request("print('one'); print('two')\ntwice(" + std::to_string(number) + ")");
    request.function(std::move(function));
    request.on_output(listens);
    const code_result result = co_await runner.run_code(std::move(request));
    look("after run_code");
    if (!result.ok() || result.value() != boost::json::value(2 * number))
      wrong.add("a wrong result: " + result.reason());
    if (result.out().text() != "one\ntwo\n") wrong.add("a wrong output: " + result.out().text());
  }
}

TEST(PythonThreads, runners_with_host_functions_at_once) {
  const int batches = cofferdam_test::is_soak() ? 200 : 2;
  for (int batch = 0; batch < batches; ++batch) {
    const watchdog guard(180s);
    const bool is_mine = batch % 2 != 0;
    complaints wrong;
    asio::thread_pool pool(4);
    const auto life = [&wrong, is_mine](int number, pool_strand mine) -> awaitable<void> {
      const auto recipe = local().without_warning() | python() | check_syntax();
      const auto body = [&](auto& runner) -> awaitable<void> {
        co_await run_some(runner, number, mine, is_mine, wrong);
      };
      co_await with(recipe, body);
    };
    for (int i = 0; i < 8; ++i) {
      const pool_strand mine = asio::make_strand(pool.get_executor());
      asio::any_io_executor executor = pool.get_executor();
      if (is_mine) executor = mine;
      cofferdam_test::spawn(executor, life(i, mine), wrong.handler());
    }
    pool.join();
    ASSERT_EQ(wrong.text(), "");
  }
}

TEST(PythonThreads, one_runner_opened_on_a_pool_serves_callers_on_strands) {
  const watchdog guard(180s);
  complaints wrong;
  asio::thread_pool pool(4);
  const auto opens = [&]() -> awaitable<void> {
    const auto recipe = local().without_warning() | python();
    auto runner = co_await recipe.open();
    const auto caller = [&](int number) -> awaitable<void> {
      const pool_strand mine = asio::make_strand(pool.get_executor());
      const auto work = [&]() -> awaitable<void> { co_await run_some(runner, number, mine, true, wrong); };
      co_await asio::co_spawn(mine, work, asio::use_awaitable);
    };
    for (int i = 0; i < 4; ++i) co_await caller(i);
    co_await runner.close();
  };
  cofferdam_test::spawn(pool, opens, wrong.handler());
  pool.join();
  EXPECT_EQ(wrong.text(), "");
}

}  // namespace
