// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/core/command_files.hpp>
#include <cofferdam/testing/detail/conformance_base.hpp>
#include <cofferdam/testing/detail/side_task.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/this_coro.hpp>

#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The tests of cancellation and closing: no process remains, and the environment stays usable or reports that it is
/// closed.
template <class Backend>
class lifetime_conformance : public detail::conformance<Backend> {};
TYPED_TEST_SUITE_P(lifetime_conformance);

TYPED_TEST_P(lifetime_conformance, two_environments_of_one_recipe_share_nothing) {
  detail::run_check([]() -> awaitable<void> {
    auto recipe = TypeParam::provider();
    auto copy = recipe;
    auto first = co_await recipe.open();
    auto second = co_await copy.open();
    co_await write_text(first, "mine", "first");
    const bool seen = co_await exists(second, "mine");
    EXPECT_FALSE(seen);
    co_await first.close();
    command_result still = co_await second.run_command(shell("echo alive"));
    EXPECT_EQ(still.out().text(), "alive\n");
    co_await second.close();
  });
}

TYPED_TEST_P(lifetime_conformance, closing_twice_does_nothing) {
  detail::run_check([]() -> awaitable<void> {
    auto recipe = TypeParam::provider();
    auto env = co_await recipe.open();
    co_await env.close();
    co_await env.close();
  });
}

TYPED_TEST_P(lifetime_conformance, a_closed_environment_says_so) {
  detail::run_check([]() -> awaitable<void> {
    auto recipe = TypeParam::provider();
    auto env = co_await recipe.open();
    co_await env.close();
    co_await detail::expect_error([&env]() -> awaitable<void> { co_await env.run_command(shell("true")); },
                                  exec_errc::environment_closed, "run_command");
    co_await detail::expect_error([&env]() -> awaitable<void> { co_await env.read_file("x", 1); },
                                  exec_errc::environment_closed, "read_file");
    co_await detail::expect_error([&env] { return env.write_file("x", bytes_view()); }, exec_errc::environment_closed,
                                  "write_file");
  });
}

TYPED_TEST_P(lifetime_conformance, closing_ends_what_runs_and_tells_its_awaiter) {
  detail::run_check([]() -> awaitable<void> {
    auto recipe = TypeParam::provider();
    auto env = co_await recipe.open();
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto work = [&env]() -> awaitable<void> {
      co_await env.run_command(shell("echo before; touch started; sleep 60; echo after"));
    };
    const detail::side_task task(executor, work);
    for (;;) {
      const bool started = co_await exists(env, "started");
      if (started) break;
      co_await detail::sleep_for(std::chrono::milliseconds(2));
    }
    co_await env.close();
    co_await task.end();
    EXPECT_EQ(task.code(), exec_errc::environment_closed);
    EXPECT_EQ(task.partial(), "before\n");
  });
}

TYPED_TEST_P(lifetime_conformance, cancelling_ends_the_command_and_the_environment_goes_on) {
  this->with([](auto& env) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto work = [&env]() -> awaitable<void> {
      co_await env.run_command(shell("echo before; while :; do echo x >> alive; sleep 0.02; done"));
    };
    detail::side_task task(executor, work);
    for (;;) {
      const bool alive = co_await exists(env, "alive");
      if (alive) break;
      co_await detail::sleep_for(std::chrono::milliseconds(2));
    }
    task.cancel();
    co_await task.end();
    EXPECT_EQ(task.code(), exec_errc::cancelled);
    EXPECT_EQ(task.partial(), "before\n");
    command_result first = co_await env.run_command(shell("wc -l < alive"));
    co_await detail::sleep_for(std::chrono::milliseconds(200));
    command_result second = co_await env.run_command(shell("wc -l < alive"));
    EXPECT_EQ(first.out().text(), second.out().text()) << "it was still running";
  });
}

TYPED_TEST_P(lifetime_conformance, with_returns_what_the_body_returns) {
  detail::run_check([]() -> awaitable<void> {
    std::string text = co_await with(TypeParam::provider(), [](auto& env) -> awaitable<std::string> {
      command_result result = co_await env.run_command(shell("echo value"));
      co_return result.out().text();
    });
    EXPECT_EQ(text, "value\n");
  });
}

TYPED_TEST_P(lifetime_conformance, with_closes_when_the_body_throws_and_passes_its_exception_on) {
  detail::run_check([]() -> awaitable<void> {
    std::string caught;
    try {
      co_await with(TypeParam::provider(), [](auto& env) -> awaitable<void> {
        command_result result = co_await env.run_command(shell("true"));
        EXPECT_TRUE(result.ok());
        throw std::runtime_error("from the body");
      });
    } catch (const std::runtime_error& thrown) {
      caught = thrown.what();
    }
    EXPECT_EQ(caught, "from the body");
  });
}

TYPED_TEST_P(lifetime_conformance, with_closes_when_it_is_cancelled) {
  detail::run_check([]() -> awaitable<void> {
    asio::cancellation_signal cancel;
    bool running = false;
    bool done = false;
    bool failed = false;
    asio::co_spawn(
        co_await asio::this_coro::executor,
        [&]() -> awaitable<void> {
          co_await with(TypeParam::provider(), [&](auto& env) -> awaitable<void> {
            running = true;
            co_await env.run_command(shell("sleep 60"));
          });
        },
        asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr failure) {
          failed = failure != nullptr;
          done = true;
        }));
    while (!running) co_await detail::sleep_for(std::chrono::milliseconds(1));
    co_await detail::sleep_for(std::chrono::milliseconds(50));
    const auto before = std::chrono::steady_clock::now();
    cancel.emit(asio::cancellation_type::terminal);
    while (!done) co_await detail::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(failed);
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
  });
}

TYPED_TEST_P(lifetime_conformance, an_idle_environment_can_be_moved) {
  detail::run_check([]() -> awaitable<void> {
    auto recipe = TypeParam::provider();
    auto env = co_await recipe.open();
    co_await write_text(env, "file", "x");
    auto moved = std::move(env);
    std::string text = co_await read_text(moved, "file");
    EXPECT_EQ(text, "x");
    co_await moved.close();
  });
}

TYPED_TEST_P(lifetime_conformance, its_files_are_valid_across_moves_and_closed_with_it) {
  detail::run_check([]() -> awaitable<void> {
    auto recipe = TypeParam::provider();
    auto opened = co_await recipe.open();
    auto env = cofferdam::detail::completed_t<decltype(opened)>(std::move(opened));
    const file_system files = env.files();
    co_await files.make_directory("folder");
    auto moved = std::move(env);
    const directory_entry found = co_await files.stat("folder");
    EXPECT_TRUE(found.is_directory());
    co_await files.remove("folder");
    const std::vector<directory_entry> left = co_await files.list(".");
    for (const directory_entry& each : left) EXPECT_NE(each.path(), "folder");
    co_await moved.close();
    std::error_code code;
    try {
      co_await files.stat(".");
    } catch (const error& failure) {
      code = failure.code();
    }
    EXPECT_EQ(code, exec_errc::environment_closed);
    {
      auto dropped = co_await recipe.open();
      auto last = cofferdam::detail::completed_t<decltype(dropped)>(std::move(dropped));
      moved = std::move(last);
    }
    const file_system of_the_last = moved.files();
    { const auto gone = std::move(moved); }
    code.clear();
    try {
      co_await of_the_last.make_directory("folder");
    } catch (const error& failure) {
      code = failure.code();
    }
    EXPECT_EQ(code, exec_errc::environment_closed);
  });
}

TYPED_TEST_P(lifetime_conformance, an_environment_that_is_dropped_does_not_block) {
  detail::run_check([]() -> awaitable<void> {
    auto recipe = TypeParam::provider();
    const auto before = std::chrono::steady_clock::now();
    {
      auto env = co_await recipe.open();
      command_result result = co_await env.run_command(shell("sleep 60 >/dev/null 2>&1 &"));
      EXPECT_TRUE(result.ok());
    }
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
  });
}

TYPED_TEST_P(lifetime_conformance, many_commands_leave_nothing_that_slows_the_next) {
  this->with([](auto& env) -> awaitable<void> {
    for (int i = 0; i < 200; ++i) {
      command_result result = co_await env.run_command(shell(":"));
      EXPECT_TRUE(result.ok());
    }
  });
}

REGISTER_TYPED_TEST_SUITE_P(lifetime_conformance, two_environments_of_one_recipe_share_nothing,
                            closing_twice_does_nothing, a_closed_environment_says_so,
                            closing_ends_what_runs_and_tells_its_awaiter,
                            cancelling_ends_the_command_and_the_environment_goes_on, with_returns_what_the_body_returns,
                            with_closes_when_the_body_throws_and_passes_its_exception_on,
                            with_closes_when_it_is_cancelled, an_idle_environment_can_be_moved,
                            its_files_are_valid_across_moves_and_closed_with_it,
                            an_environment_that_is_dropped_does_not_block,
                            many_commands_leave_nothing_that_slows_the_next);

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
