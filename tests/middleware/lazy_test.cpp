// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/lazy.hpp>
#include <cofferdam/middleware/retry.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/testing/fake_provider.hpp>

#include "support/cancel_when_idle.hpp"
#include "support/error_of.hpp"
#include "support/fake_environment.hpp"
#include "support/flaky_provider.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>
#include <asio/thread_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lazy_tests {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::testing::any_command;
using cofferdam::testing::fake_provider;
using cofferdam::testing::reply;
using cofferdam_test::code_of;
using cofferdam_test::flaky_provider;
using cofferdam_test::full_fake;
using cofferdam_test::journal;
using cofferdam_test::plain_fake;
using cofferdam_test::run;
using cofferdam_test::sentence_of;

using full_provider = cofferdam_test::fake_provider<full_fake>;
using plain_provider = cofferdam_test::fake_provider<plain_fake>;

static_assert(code_exec_provider<layered_provider<full_provider, lazy>>);
static_assert(streaming_environment<lazy_environment<full_provider>>);
static_assert(file_environment<lazy_environment<full_provider>>);
static_assert(suspendable_environment<lazy_environment<full_provider>>);
static_assert(file_environment<lazy_environment<plain_provider>>, "files() are commands there");
static_assert(!streaming_environment<lazy_environment<plain_provider>>);
static_assert(!pausable_environment<lazy_environment<plain_provider>>);

TEST(Lazy, without_a_use_opens_and_closes_nothing) {
  flaky_provider flaky((fake_provider()));
  flaky.fail({error(exec_errc::provider_failed, "there is no daemon")});
  run([&]() -> awaitable<void> {
    co_await with(flaky | lazy() | timeout(5s), [](auto&) -> awaitable<void> { co_return; });
    auto dropped = co_await (flaky | lazy()).open();
  });
  EXPECT_EQ(flaky.attempts(), 0U);
}

// Feature: A8
TEST(Lazy, the_first_use_opens_and_the_others_use_the_same) {
  const auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(full_provider(log) | lazy(), [&](auto& env) -> awaitable<void> {
      EXPECT_TRUE(log->calls.empty());
      const file_system files = env.files();
      EXPECT_TRUE(log->calls.empty());
      co_await files.stat("s");
      co_await env.run_command("x");
      co_await env.start("x");
      co_await env.read_file("r", 1);
      co_await env.write_file("w", bytes_view());
      co_await env.write_file("own", bytes());
      co_await files.list("l");
      co_await env.pause();
      co_await env.resume();
      co_await env.snapshot();
    });
  });
  EXPECT_EQ(log->calls,
            (std::vector<std::string>{"open", "stat s", "run_command", "start", "read_file r", "write_file w",
                                      "write_file own", "list l", "pause", "resume", "snapshot", "close"}));
}

TEST(Lazy, an_error_of_opening_comes_at_the_use_and_the_next_use_tries_again) {
  fake_provider fake;
  fake.on(any_command, reply("out"));
  flaky_provider flaky(fake);
  flaky.fail({error(exec_errc::provider_failed, "there is no daemon")});
  run([&]() -> awaitable<void> {
    co_await with(flaky | lazy(), [](auto& env) -> awaitable<void> {
      std::string sentence;
      try {
        co_await env.run_command("ls");
      } catch (const error& failure) {
        sentence = failure.what();
      }
      EXPECT_EQ(sentence, "there is no daemon");
      command_result result = co_await env.run_command("ls");
      EXPECT_EQ(result.out_text(), "out");
    });
  });
  EXPECT_EQ(flaky.attempts(), 2U);
  EXPECT_EQ(fake.closed(), 1U);
}

/// A lazy environment that takes some time to open, and coroutines that use it.
class slow_opening {
 public:
  explicit slow_opening(std::vector<error> failures = {}, std::chrono::milliseconds time = 5ms) {
    fake.on(any_command, reply("out")).file("a.txt", "text");
    flaky.fail(std::move(failures)).delay(time);
    cofferdam_test::spawn(loop, open(*this), [](std::exception_ptr) {});
    loop.run();
  }

  fake_provider fake;
  flaky_provider flaky{fake};
  asio::io_context loop{1};
  std::optional<lazy_environment<flaky_provider>> env;
  std::vector<std::string> outcomes;
  std::vector<std::unique_ptr<asio::cancellation_signal>> signals;

  void use() {
    asio::cancellation_signal& signal = *signals.emplace_back(std::make_unique<asio::cancellation_signal>());
    cofferdam_test::spawn(
        loop, env->run_command("ls"),
        [this](std::exception_ptr failure, command_result result) {
          outcomes.push_back(result.out_text());
          try {
            if (failure) std::rethrow_exception(failure);
          } catch (const error& reason) {
            outcomes.back() = reason.what();
          }
        },
        signal.slot());
  }
  void close() {
    const auto closes = [this]() -> awaitable<void> { co_await env->close(); };
    cofferdam_test::spawn(loop, closes(), [](std::exception_ptr) {});
    finish();
  }
  void settle() {
    loop.restart();
    loop.poll();
  }
  void finish() {
    loop.restart();
    loop.run();
  }

 private:
  static awaitable<void> open(slow_opening& self) {
    lazy_environment<flaky_provider> opened = co_await (self.flaky | lazy()).open();
    self.env.emplace(std::move(opened));
  }
};

TEST(Lazy, uses_at_the_same_time_open_once) {
  slow_opening test;
  for (int i = 0; i < 3; ++i) test.use();
  test.finish();
  EXPECT_EQ(test.outcomes, (std::vector<std::string>{"out", "out", "out"}));
  EXPECT_EQ(test.flaky.attempts(), 1U);
  test.close();
  EXPECT_EQ(test.fake.closed(), 1U);
}

TEST(Lazy, all_that_wait_for_one_opening_get_its_error) {
  slow_opening test({error(exec_errc::provider_failed, "no")});
  for (int i = 0; i < 3; ++i) test.use();
  test.finish();
  EXPECT_EQ(test.outcomes, (std::vector<std::string>{"no", "no", "no"}));
  EXPECT_EQ(test.flaky.attempts(), 1U);
}

TEST(Lazy, the_cancellation_of_one_does_not_end_the_opening_for_another) {
  slow_opening test;
  test.use();
  test.use();
  test.settle();
  test.signals[0]->emit(asio::cancellation_type::terminal);
  test.finish();
  EXPECT_EQ(test.outcomes, (std::vector<std::string>{"open: cancelled while the environment was opening", "out"}));
  EXPECT_EQ(test.flaky.attempts(), 1U);
}

TEST(Lazy, an_opening_that_nobody_waits_for_any_more_serves_the_next_use_and_is_closed) {
  slow_opening test;
  test.use();
  test.settle();
  test.signals[0]->emit(asio::cancellation_type::terminal);
  test.finish();
  EXPECT_EQ(test.fake.opened(), 1U);
  slow_opening other;
  other.use();
  other.settle();
  other.signals[0]->emit(asio::cancellation_type::terminal);
  other.finish();
  other.use();
  other.finish();
  EXPECT_EQ(other.outcomes.back(), "out");
  EXPECT_EQ(other.flaky.attempts(), 1U);
  test.close();
  EXPECT_EQ(test.fake.closed(), 1U);
}

TEST(Lazy, closing_ends_an_opening_and_those_that_wait_for_it) {
  const cofferdam_test::watchdog guard(30s);
  slow_opening test({}, 1h);
  test.use();
  test.settle();
  test.close();
  EXPECT_EQ(test.outcomes, (std::vector<std::string>{"lazy: the environment is closed; open another one"}));
  EXPECT_EQ(test.fake.opened(), test.fake.closed());
}

TEST(Lazy, after_closing_nothing_opens) {
  slow_opening test;
  test.close();
  test.use();
  test.finish();
  EXPECT_EQ(test.outcomes, (std::vector<std::string>{"lazy: the environment is closed; open another one"}));
  EXPECT_EQ(test.flaky.attempts(), 0U);
}

TEST(Lazy, dropped_while_it_opens_it_leaves_nothing_open) {
  const cofferdam_test::watchdog guard(30s);
  slow_opening test({}, 1h);
  test.use();
  test.settle();
  test.env.reset();
  test.finish();
  EXPECT_EQ(test.fake.opened(), test.fake.closed());
  slow_opening opened;
  opened.use();
  opened.finish();
  const file_system files = opened.env->files();
  opened.env.reset();
  EXPECT_EQ(opened.fake.closed(), 1U);
  const auto lists = [&] { run([&]() -> awaitable<void> { co_await files.stat("a.txt"); }); };
  EXPECT_EQ(code_of(lists), exec_errc::environment_closed);
}

TEST(Lazy, can_be_destroyed_with_its_loop_at_every_moment) {
  for (std::size_t handlers = 0;; ++handlers) {
    fake_provider fake;
    fake.on(any_command, reply("out"));
    flaky_provider flaky(fake);
    flaky.delay(1ms);
    const bool ended = cofferdam_test::destroy_after(handlers, [&]() -> awaitable<void> {
      co_await with(flaky | lazy(), [](auto& env) -> awaitable<void> { co_await env.run_command("ls"); });
    });
    EXPECT_EQ(fake.opened(), fake.closed()) << handlers;
    if (ended) break;
  }
}

TEST(Lazy, leaves_nothing_open_if_it_is_cancelled_at_any_moment) {
  for (std::size_t handlers = 0;; ++handlers) {
    fake_provider fake;
    fake.on(any_command, reply("out"));
    flaky_provider flaky(fake);
    flaky.delay(1ms);
    std::exception_ptr failure;
    const bool ended = cofferdam_test::cancel_after(
        handlers,
        [&]() -> awaitable<void> {
          co_await with(flaky | lazy(), [](auto& env) -> awaitable<void> { co_await env.run_command("ls"); });
        },
        failure);
    EXPECT_EQ(fake.opened(), fake.closed()) << handlers;
    if (ended) break;
  }
}

TEST(Lazy, opens_once_on_several_threads) {
  fake_provider fake;
  fake.on(any_command, reply("out"));
  flaky_provider flaky(fake);
  asio::thread_pool pool(4);
  std::atomic<int> done = 0;
  std::optional<lazy_environment<flaky_provider>> env;
  const auto opens = [&]() -> awaitable<void> {
    auto opened = co_await (flaky | lazy()).open();
    env.emplace(std::move(opened));
  };
  cofferdam_test::spawn(pool, opens(), [&](std::exception_ptr) {
    for (int i = 0; i < 100; ++i)
      cofferdam_test::spawn(pool, env->read_file("missing", 1), [&](std::exception_ptr failure, bytes) {
        if (failure) ++done;
      });
  });
  pool.join();
  EXPECT_EQ(done, 100);
  EXPECT_EQ(flaky.attempts(), 1U);
}

TEST(Lazy, stands_at_any_place_of_a_stack) {
  fake_provider fake;
  fake.on(any_command, reply("out"));
  flaky_provider flaky(fake);
  flaky.fail({error(exec_errc::unavailable, "busy")});
  const auto layers = retry().pauses(0ms, 0ms) | lazy() | allow_commands("ls");
  run([&]() -> awaitable<void> {
    co_await with(any_provider(flaky | timeout(5s) | layers) | timeout(3s), [&](auto& env) -> awaitable<void> {
      EXPECT_TRUE(env.can_start());
      EXPECT_FALSE(env.is_lost());
      command_result refused = co_await env.run_command("rm");
      EXPECT_EQ(refused.kind(), error_kind::command_not_allowed);
      EXPECT_EQ(flaky.attempts(), 0U);
      command_result result = co_await env.run_command("ls");
      EXPECT_EQ(result.out_text(), "out");
      EXPECT_EQ(flaky.attempts(), 2U);
    });
  });
}

}  // namespace lazy_tests
