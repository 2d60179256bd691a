// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/os/child_processes.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/command_session.hpp>

#include "support/run.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace command_session_tests {

namespace {

using namespace cofferdam;
using cofferdam_test::run;

static_assert(std::is_nothrow_move_constructible_v<command_session> && !std::is_copy_constructible_v<command_session>);

spawn_request request_of(const command& c) {
  spawn_request request = request_for(c, "/bin/sh", {"PATH=" + std::string(default_path)});
  request.directory_path = "/";
  return request;
}

awaitable<command_session> open() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  command_session session = child_processes(executor);
  co_return session;
}

awaitable<process> start(command_session& session, command c) {
  spawn_request request = request_of(c);
  process running = co_await session.start(std::move(c), std::move(request));
  co_return running;
}

awaitable<std::error_code> failure_of(awaitable<command_result> work) {
  std::error_code code;
  try {
    co_await std::move(work);
  } catch (const error& failure) {
    code = failure.code();
  }
  co_return code;
}

TEST(CommandSession, holds_the_session_of_any_kind_and_may_hold_none) {
  run([]() -> awaitable<void> {
    command_session none;
    EXPECT_FALSE(none);
    none.abandon();
    none.lose(error(exec_errc::provider_lost, "nobody hears it"));
    none = co_await open();
    EXPECT_TRUE(none);
    const command c = shell("echo here");
    command_result result = co_await none.run(c, request_of(c));
    EXPECT_EQ(result.out_text(), "here\n");
    command_session moved = std::move(none);
    EXPECT_FALSE(none);  // NOLINT(bugprone-use-after-move)
    co_await moved.close();
  });
}

TEST(CommandSession, a_lost_one_fails_what_is_unfinished_and_keeps_results) {
  run([]() -> awaitable<void> {
    command_session session = co_await open();
    process ended = co_await start(session, shell("echo done"));
    command_result first = co_await ended.wait();
    EXPECT_TRUE(first.ok());
    process endless = co_await start(session, shell("sleep 1000"));
    session.lose(error(exec_errc::provider_lost, "the place is gone"));
    command_result again = co_await ended.wait();
    EXPECT_EQ(again.out_text(), "done\n");
    const std::error_code code = co_await failure_of(endless.wait());
    EXPECT_EQ(code, exec_errc::provider_lost);
    const command c = shell("true");
    const std::error_code refused = co_await failure_of(session.run(c, request_of(c)));
    EXPECT_EQ(refused, exec_errc::environment_closed);
  });
}

TEST(CommandSession, end_background_fails_when_it_is_awaited) {
  run([]() -> awaitable<void> {
    command_session session = co_await open();
    const auto code_of = [&]() -> awaitable<std::error_code> {
      awaitable<void> pending = session.end_background(7);
      std::error_code code;
      try {
        co_await std::move(pending);
      } catch (const error& failure) {
        code = failure.code();
      }
      co_return code;
    };
    const std::error_code unknown = co_await code_of();
    EXPECT_EQ(unknown, exec_errc::not_found);
    EXPECT_TRUE(session.background().empty());
    co_await session.close();
    const std::error_code closed = co_await code_of();
    EXPECT_EQ(closed, exec_errc::environment_closed);
  });
}

}  // namespace

}  // namespace command_session_tests
