// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/pool.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>

#include "support/error_of.hpp"
#include "support/pause.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace pool_tests {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::pause_for;
using cofferdam_test::run;

/// The numbers of the fake environments, and how the provider behaves.
struct account {
  std::atomic<int> opened = 0;
  std::atomic<int> closed = 0;
  std::atomic<int> destroyed_open = 0;
  std::atomic<int> opening = 0;
  std::atomic<int> most_opening = 0;
  std::atomic<int> failures_left = 0;
  std::atomic<int> lost_number = -1;  // the environment that reports to be lost
  std::atomic<int> closes_to_fail = 0;
  std::chrono::milliseconds open_time{0};
};

class numbered {
 public:
  numbered(std::shared_ptr<account> of, int number) : of_(std::move(of)), number_(number) {}
  numbered(numbered&&) noexcept = default;
  numbered& operator=(numbered&&) noexcept = default;
  ~numbered() {
    if (of_ && !closed_) ++of_->destroyed_open;
  }
  awaitable<command_result> run_command(command) {
    command_result result;
    result.out(captured_output(to_bytes(std::to_string(number_)), {}, 0));
    co_return result;
  }
  awaitable<bytes> read_file(std::string, std::size_t) { co_return bytes(); }
  awaitable<void> write_file(std::string, bytes_view) { co_return; }
  awaitable<void> close() {
    co_await pause_for(1ms);
    if (!std::exchange(closed_, true)) ++of_->closed;
    if (of_->closes_to_fail > 0) {
      --of_->closes_to_fail;
      throw error(exec_errc::io_error, "the fake closes with a failure");
    }
  }
  bool is_lost() const noexcept { return of_->lost_number == number_; }
  int number() const noexcept { return number_; }

 private:
  std::shared_ptr<account> of_;
  int number_;
  bool closed_ = false;
};

class numbered_provider {
 public:
  explicit numbered_provider(std::shared_ptr<account> of) : of_(std::move(of)) {}
  awaitable<numbered> open() const { return open_one(of_); }

 private:
  static awaitable<numbered> open_one(std::shared_ptr<account> of) {
    const int now = ++of->opening;
    if (now > of->most_opening) of->most_opening = now;
    struct leave {
      account& of;
      ~leave() { --of.opening; }
    } at_end{*of};
    if (of->open_time.count() != 0) co_await pause_for(of->open_time);
    if (of->failures_left > 0) {
      --of->failures_left;
      throw error(exec_errc::provider_failed, "the fake cannot open");
    }
    co_return numbered(of, of->opened++);
  }

  std::shared_ptr<account> of_;
};

/// A provider that opens its environment even if it is cancelled meanwhile. The first one opens at once.
class stubborn_provider {
 public:
  explicit stubborn_provider(std::shared_ptr<account> of) : of_(std::move(of)) {}
  awaitable<numbered> open() const { return open_one(of_); }

 private:
  static awaitable<numbered> open_one(std::shared_ptr<account> of) {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    const int number = of->opening++;
    if (number != 0) co_await pause_for(20ms);
    ++of->opened;
    co_return numbered(of, number);
  }

  std::shared_ptr<account> of_;
};

/// A provider whose openings, except the first, wait until `release` is called. Then they end in one turn of the event
/// loop. Each calls the function of its number just before it ends.
class gated_provider {
 public:
  class gate {
   public:
    explicit gate(const asio::any_io_executor& executor)
        : timer(executor, std::chrono::steady_clock::time_point::max()) {}
    void release() { timer.cancel(); }
    asio::steady_timer timer;
    std::map<int, std::function<void()>> at_end;
  };

  gated_provider(std::shared_ptr<account> of, std::shared_ptr<gate> at) : of_(std::move(of)), at_(std::move(at)) {}
  awaitable<numbered> open() const { return open_one(of_, at_); }

 private:
  static awaitable<numbered> open_one(std::shared_ptr<account> of, std::shared_ptr<gate> at) {
    const int number = of->opening++;
    if (number != 0) {
      std::error_code released;
      co_await at->timer.async_wait(asio::redirect_error(asio::use_awaitable, released));
    }
    if (const auto found = at->at_end.find(number); found != at->at_end.end()) found->second();
    ++of->opened;
    co_return numbered(of, number);
  }

  std::shared_ptr<account> of_;
  std::shared_ptr<gate> at_;
};

/// A layer that fails when it is put around an environment.
class broken_layer : public pipeable {
 public:
  template <code_exec_environment Inner>
  Inner attach(Inner) const {
    throw error(exec_errc::invalid_argument, "the layer is broken");
  }
};

template <class Condition>
awaitable<void> until(Condition condition) {
  for (int i = 0; i < 5000 && !condition(); ++i) co_await pause_for(1ms);
  EXPECT_TRUE(condition());
}

/// Returns the error of `open()`, or nothing if it succeeds.
template <class Provider>
awaitable<std::optional<error>> failure_of(Provider provider) {
  std::optional<error> failure;
  try {
    auto opened = co_await provider.open();
    co_await opened.close();
  } catch (const error& reason) {
    failure = reason;
  }
  co_return failure;
}

/// Every environment that was opened is closed, and none was destroyed while open.
void expect_none_left(const account& of) {
  EXPECT_EQ(of.opened, of.closed);
  EXPECT_EQ(of.destroyed_open, 0);
  EXPECT_EQ(of.opening, 0);
}

// Feature: A9
TEST(Pool, each_environment_is_handed_out_once_and_replaced) {
  const auto of = std::make_shared<account>();
  std::set<int> numbers;
  run([&]() -> awaitable<void> {
    co_await with(pool(numbered_provider(of), 3), [&](auto& pool) -> awaitable<void> {
      for (int i = 0; i < 1000; ++i) {
        co_await with(pool.provider(), [&](auto& env) -> awaitable<void> {
          command_result result = co_await env.run_command("id");
          EXPECT_TRUE(numbers.insert(std::stoi(std::string(result.out().text()))).second);
        });
      }
      co_await until([&] { return pool.counts().idle() == 3; });
      EXPECT_EQ(pool.counts().handed_out(), 1000U);
      EXPECT_EQ(pool.counts().failed(), 0U);
    });
  });
  EXPECT_EQ(numbers.size(), 1000U);
  EXPECT_EQ(of->opened, 1003);
  expect_none_left(*of);
}

TEST(Pool, layers_on_both_sides_and_erased_types_work) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    co_await with(pool(any_provider(numbered_provider(of)) | timeout(5s), 1), [](auto& pool) -> awaitable<void> {
      const any_provider chosen = pool.provider() | timeout(2s);
      co_await with(chosen, [](auto& env) -> awaitable<void> {
        command_result result = co_await env.run_command("id");
        EXPECT_EQ(result.out().text(), "0");
      });
    });
  });
  expect_none_left(*of);
}

// Feature: A13
TEST(Pool, no_more_than_the_limit_open_at_once_and_starts_keep_their_distance) {
  const auto of = std::make_shared<account>();
  of->open_time = 5ms;
  const auto begin = std::chrono::steady_clock::now();
  run([&]() -> awaitable<void> {
    auto recipe = pool(numbered_provider(of), 8).opens_at_once(2).open_interval(3ms);
    co_await with(std::move(recipe),
                  [&](auto& pool) -> awaitable<void> { co_await until([&] { return pool.counts().idle() == 8; }); });
  });
  EXPECT_EQ(of->most_opening, 2);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 7 * 3ms);
  expect_none_left(*of);
}

TEST(Pool, a_recipe_that_cannot_open_fails_the_open_of_the_pool) {
  const auto of = std::make_shared<account>();
  of->failures_left = 1000;
  run([&]() -> awaitable<void> {
    auto recipe = pool(numbered_provider(of), 2);
    const std::optional<error> failure = co_await failure_of(recipe);
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_failed);
  });
  expect_none_left(*of);
}

TEST(Pool, a_failure_reaches_those_who_wait_and_the_pool_recovers) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    co_await with(pool(numbered_provider(of), 1).opens_at_once(1), [&](auto& pool) -> awaitable<void> {
      of->failures_left = 1;
      auto first = co_await pool.provider().open();
      const std::optional<error> failure = co_await failure_of(pool.provider());
      EXPECT_TRUE(failure && failure->code() == exec_errc::provider_failed);
      auto third = co_await pool.provider().open();  // after the back-off
      EXPECT_EQ(pool.counts().failed(), 1U);
      co_await first.close();
      co_await third.close();
    });
  });
  expect_none_left(*of);
}

TEST(Pool, a_slow_backend_is_an_error_within_the_limit_of_waiting) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    co_await with(pool(numbered_provider(of), 1).wait_limit(20ms), [&](auto& pool) -> awaitable<void> {
      of->open_time = 1h;
      auto first = co_await pool.provider().open();
      const std::optional<error> failure = co_await failure_of(pool.provider());
      EXPECT_TRUE(failure && failure->code() == exec_errc::unavailable);
      EXPECT_TRUE(failure && std::string(failure->what()).find("20 ms") != std::string::npos);
      co_await first.close();
    });  // close() cancels the opening that would take an hour
  });
  expect_none_left(*of);
}

TEST(Pool, closing_fails_those_who_wait_and_leaves_what_was_handed_out) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    auto recipe = pool(numbered_provider(of), 1);
    auto opened = co_await recipe.open();
    of->open_time = 1h;
    auto provider = opened.provider();
    auto taken = co_await provider.open();
    std::optional<error> outcome;
    const auto waits = [&]() -> awaitable<void> { outcome = co_await failure_of(provider); };
    cofferdam_test::spawn(executor, waits(), [](const std::exception_ptr&) {});
    co_await pause_for(5ms);
    co_await opened.close();
    co_await opened.close();
    co_await until([&] { return outcome.has_value(); });
    EXPECT_EQ(outcome->code(), exec_errc::environment_closed);
    outcome = co_await failure_of(provider);
    EXPECT_TRUE(outcome && outcome->code() == exec_errc::environment_closed);
    EXPECT_EQ(of->closed, 0);
    co_await taken.close();
  });
  expect_none_left(*of);
}

TEST(Pool, a_cancelled_wait_takes_no_environment_out) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    co_await with(pool(numbered_provider(of), 1), [&](auto& pool) -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      of->open_time = 30ms;
      auto first = co_await pool.provider().open();
      asio::cancellation_signal signal;
      bool ended = false;
      auto provider = pool.provider();
      const auto waits = [&]() -> awaitable<void> { auto never = co_await provider.open(); };
      cofferdam_test::spawn(
          executor, waits(),
          [&](const std::exception_ptr& e) {
            EXPECT_TRUE(e);
            ended = true;
          },
          signal.slot());
      co_await pause_for(2ms);
      signal.emit(asio::cancellation_type::terminal);
      co_await until([&] { return ended; });
      co_await until([&] { return pool.counts().idle() >= 1; });
      EXPECT_EQ(pool.counts().handed_out(), 1U);
      co_await first.close();
    });
  });
  expect_none_left(*of);
}

TEST(Pool, a_lost_environment_is_never_handed_out) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    co_await with(pool(numbered_provider(of), 2), [&](auto& pool) -> awaitable<void> {
      co_await until([&] { return pool.counts().idle() == 2; });
      of->lost_number = 0;
      auto env = co_await pool.provider().open();
      EXPECT_EQ(env.number(), 1);
      EXPECT_EQ(pool.counts().discarded(), 1U);
      co_await env.close();
    });
  });
  expect_none_left(*of);
}

TEST(Pool, destroyed_without_close_it_ends_what_it_holds) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    auto recipe = pool(numbered_provider(of), 2);
    std::optional opened(co_await recipe.open());
    auto provider = opened->provider();
    opened.reset();
    const std::optional<error> failure = co_await failure_of(provider);
    EXPECT_TRUE(failure && failure->code() == exec_errc::environment_closed);
    co_await pause_for(5ms);
  });
  EXPECT_GT(of->opened, 0);
  EXPECT_EQ(of->opened, of->destroyed_open);
}

// The provider does not end when it is cancelled, and a copy of the pool's provider keeps the state alive.
TEST(Pool, what_opens_after_the_pool_was_destroyed_is_ended) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    auto recipe = pool(stubborn_provider(of), 3);
    std::optional opened(co_await recipe.open());
    auto provider = opened->provider();
    opened.reset();
    co_await until([&] { return of->opened == 3; });
    co_await pause_for(5ms);
    EXPECT_EQ(of->destroyed_open, 3);
  });
}

TEST(Pool, many_threads_take_from_one_pool) {
  const auto of = std::make_shared<account>();
  std::mutex mutex;
  std::set<int> numbers;
  asio::thread_pool threads(4);
  const auto takes = [&](auto provider) -> awaitable<void> {
    for (int i = 0; i < 50; ++i) {
      auto env = co_await provider.open();
      {
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(numbers.insert(env.number()).second);
      }
      co_await env.close();
    }
  };
  const auto work = [&]() -> awaitable<void> {
    co_await with(pool(numbered_provider(of), 4), [&](auto& pool) -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      std::atomic<int> ended = 0;
      for (int i = 0; i < 8; ++i)
        cofferdam_test::spawn(executor, takes(pool.provider()), [&](const std::exception_ptr& failure) {
          EXPECT_FALSE(failure);
          ++ended;
        });
      co_await until([&] { return ended == 8; });
    });
  };
  asio::co_spawn(threads, work(), asio::use_future).get();
  threads.join();
  EXPECT_EQ(numbers.size(), 400U);
  expect_none_left(*of);
}

/// Takes environments until the pool is closed. Failures and time limits are expected.
awaitable<void> take_until_closed(pooled_provider<numbered> provider) {
  for (;;) {
    bool is_closed = false;
    try {
      auto env = co_await provider.open();
      co_await env.close();
    } catch (const error& failure) {
      is_closed = failure.code() == exec_errc::environment_closed;
    }
    if (is_closed) co_return;
    co_await pause_for(1ms);
  }
}

TEST(Pool, many_threads_meet_failures_time_limits_and_the_end_of_the_pool) {
  const auto of = std::make_shared<account>();
  of->open_time = 1ms;
  asio::thread_pool threads(4);
  std::atomic<int> ended = 0;
  const auto work = [&]() -> awaitable<void> {
    auto recipe = pool(numbered_provider(of), 3).wait_limit(3ms);
    co_await with(std::move(recipe), [&](auto& pool) -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      for (int i = 0; i < 8; ++i)
        cofferdam_test::spawn(executor, take_until_closed(pool.provider()), [&](const std::exception_ptr& failure) {
          EXPECT_FALSE(failure);
          ++ended;
        });
      for (int i = 0; i < 5; ++i) {
        co_await pause_for(20ms);
        of->failures_left = 2;
        of->lost_number = of->opened - 1;
        EXPECT_LE(pool.counts().idle(), 20U);
      }
    });
    co_await until([&] { return ended == 8; });
  };
  asio::co_spawn(threads, work(), asio::use_future).get();
  threads.join();
  expect_none_left(*of);
}

// Eight attempts that fail together are one failure: the pause is 100 ms, not 100 ms doubled seven times.
TEST(Pool, attempts_that_fail_together_count_as_one_failure) {
  const auto of = std::make_shared<account>();
  of->failures_left = 8;
  of->open_time = 5ms;
  run([&]() -> awaitable<void> {
    auto recipe = pool(numbered_provider(of), 8).opens_at_once(8).without_waiting();
    const auto begin = std::chrono::steady_clock::now();
    co_await with(std::move(recipe), [&](auto& pool) -> awaitable<void> {
      co_await until([&] { return pool.counts().idle() == 8; });
      EXPECT_EQ(pool.counts().failed(), 8U);
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
  });
  expect_none_left(*of);
}

TEST(Pool, after_a_failure_one_attempt_runs_at_a_time) {
  const auto of = std::make_shared<account>();
  of->open_time = 5ms;
  run([&]() -> awaitable<void> {
    co_await with(pool(numbered_provider(of), 4).opens_at_once(4), [&](auto& pool) -> awaitable<void> {
      co_await until([&] { return pool.counts().idle() == 4; });
      of->failures_left = 1000;
      auto first = co_await pool.provider().open();
      auto second = co_await pool.provider().open();
      co_await until([&] { return pool.counts().failed() >= 1U && pool.counts().opening() == 0; });
      of->most_opening = 0;
      co_await until([&] { return pool.counts().failed() >= 4U; });
      EXPECT_EQ(of->most_opening, 1);
      co_await first.close();
      co_await second.close();
    });
  });
  expect_none_left(*of);
}

TEST(Pool, callers_get_the_failure_within_seconds_however_long_the_backend_fails) {
  const auto of = std::make_shared<account>();
  of->failures_left = 100'000;
  run([&]() -> awaitable<void> {
    auto recipe = pool(numbered_provider(of), 2).without_waiting();
    co_await with(std::move(recipe), [&](auto& pool) -> awaitable<void> {
      for (int i = 0; i < 7; ++i) {  // without the limit, the last pause would be 3.2 s
        const auto begin = std::chrono::steady_clock::now();
        const std::optional<error> failure = co_await failure_of(pool.provider());
        EXPECT_TRUE(failure && failure->code() == exec_errc::provider_failed);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 2200ms);
      }
      of->failures_left = 0;
      auto env = co_await pool.provider().open();
      co_await env.close();
    });
  });
  expect_none_left(*of);
}

TEST(Pool, a_pool_that_does_not_wait_opens_at_once) {
  const auto of = std::make_shared<account>();
  of->open_time = 1h;
  run([&]() -> awaitable<void> {
    const auto begin = std::chrono::steady_clock::now();
    auto recipe = pool(numbered_provider(of), 2).without_waiting();
    co_await with(std::move(recipe), [&](auto& pool) -> awaitable<void> {
      co_await until([&] { return pool.counts().opening() == 2; });
      EXPECT_EQ(pool.counts().idle(), 0U);
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  });
  expect_none_left(*of);
}

TEST(Pool, what_waits_longer_than_the_limit_is_closed_and_replaced) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    co_await with(pool(numbered_provider(of), 2).max_idle(30ms), [&](auto& pool) -> awaitable<void> {
      co_await until([&] { return of->closed >= 4; });
      auto env = co_await pool.provider().open();
      EXPECT_GE(env.number(), 4);
      EXPECT_GE(pool.counts().discarded(), 4U);
      co_await env.close();
    });
  });
  expect_none_left(*of);
}

TEST(Pool, the_failure_to_close_an_environment_is_thrown_after_all_are_closed) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    auto recipe = pool(numbered_provider(of), 3);
    auto opened = co_await recipe.open();
    co_await until([&] { return opened.counts().idle() == 3; });
    of->closes_to_fail = 1;
    std::optional<error> failure;
    try {
      co_await opened.close();
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_TRUE(failure && failure->code() == exec_errc::io_error);
    EXPECT_EQ(of->closed, 3);
    EXPECT_EQ(opened.counts().failed(), 1U);
    co_await opened.close();
  });
  expect_none_left(*of);
}

TEST(Pool, a_layer_that_fails_at_the_hand_out_ends_the_environment) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    co_await with(pool(numbered_provider(of), 1), [&](auto& pool) -> awaitable<void> {
      const std::optional<error> failure = co_await failure_of(pool.provider() | broken_layer());
      EXPECT_TRUE(failure && failure->code() == exec_errc::invalid_argument);
      co_await until([&] { return pool.counts().idle() == 1; });
    });
  });
  EXPECT_EQ(of->opened, of->closed + of->destroyed_open);
}

TEST(Pool, a_layer_inside_that_fails_is_a_failure_to_open) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    auto recipe = pool(numbered_provider(of) | broken_layer(), 2);
    const std::optional<error> failure = co_await failure_of(recipe);
    EXPECT_TRUE(failure && failure->code() == exec_errc::invalid_argument);
  });
  EXPECT_EQ(of->opened, of->closed + of->destroyed_open);
}

TEST(Pool, the_error_of_a_wait_counts_the_callers_and_forgets_failures_before_a_success) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    auto recipe = pool(numbered_provider(of), 1).without_waiting().wait_limit(300ms);
    of->failures_left = 1;
    co_await with(std::move(recipe), [&](auto& pool) -> awaitable<void> {
      co_await until([&] { return pool.counts().idle() == 1; });
      EXPECT_EQ(pool.counts().failed(), 1U);
      of->open_time = 1h;
      auto env = co_await pool.provider().open();
      const std::optional<error> failure = co_await failure_of(pool.provider());
      EXPECT_TRUE(failure && failure->code() == exec_errc::unavailable);
      if (failure) {
        const std::string text = failure->what();
        EXPECT_NE(text.find("waiting callers: 1"), std::string::npos) << text;
        EXPECT_EQ(text.find("the fake cannot open"), std::string::npos) << text;
      }
      EXPECT_EQ(pool.counts().waiting(), 0U);
      co_await env.close();
    });
  });
  expect_none_left(*of);
}

// The first caller in the queue has its environment, but has not continued yet. The second caller takes the idle one.
// It does not join the queue, where the failure of the third opening would reach it.
TEST(Pool, a_caller_takes_an_idle_environment_although_another_caller_is_about_to_continue) {
  const auto of = std::make_shared<account>();
  run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto gate = std::make_shared<gated_provider::gate>(executor);
    auto recipe = pool(gated_provider(of, gate), 2).opens_at_once(3);
    auto opened = co_await recipe.open();
    auto provider = opened.provider();
    int ended = 0;
    const auto takes = [&]() -> awaitable<void> {
      auto env = co_await provider.open();
      co_await env.close();
    };
    const auto note = [&](const std::exception_ptr& failure) {
      EXPECT_FALSE(failure);
      ++ended;
    };
    co_await takes();
    cofferdam_test::spawn(executor, takes(), note);
    co_await until([&] { return of->opening == 4; });
    gate->at_end[3] = [&] {
      cofferdam_test::spawn(executor, takes(), note);
      throw error(exec_errc::provider_failed, "the third opening fails");
    };
    gate->release();
    co_await until([&] { return ended == 2; });
    gate->at_end.clear();
    co_await opened.close();
  });
  EXPECT_EQ(of->opened, of->closed);
  EXPECT_EQ(of->destroyed_open, 0);
}

/// Calls `what` from the event loop, after this number of other turns.
void after(const asio::any_io_executor& executor, int turns, std::function<void()> what) {
  asio::post(executor, [executor, turns, what = std::move(what)]() mutable {
    if (turns == 0) return what();
    after(executor, turns - 1, std::move(what));
  });
}

/// A caller waits for an environment. Its environment becomes ready, the caller is cancelled, and the pool closes, all
/// within a few turns of the event loop.
awaitable<void> close_while_an_environment_comes_back(std::shared_ptr<account> of, int turns_to_close,
                                                      int turns_to_cancel) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto gate = std::make_shared<gated_provider::gate>(executor);
  auto recipe = pool(gated_provider(of, gate), 1).opens_at_once(1);
  auto opened = co_await recipe.open();
  auto provider = opened.provider();
  auto first = co_await provider.open();
  asio::cancellation_signal signal;
  int ended = 0;
  const auto takes = [&]() -> awaitable<void> {
    auto env = co_await provider.open();
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await env.close();
  };
  const auto closes = [&]() -> awaitable<void> { co_await opened.close(); };
  cofferdam_test::spawn(
      executor, takes(), [&](const std::exception_ptr&) { ++ended; }, signal.slot());
  co_await until([&] { return of->opening == 2; });
  gate->release();
  after(executor, turns_to_close, [&] {
    cofferdam_test::spawn(executor, closes(), [&](const std::exception_ptr& failure) {
      EXPECT_FALSE(failure);
      ++ended;
    });
  });
  after(executor, turns_to_cancel, [&] { signal.emit(asio::cancellation_type::terminal); });
  co_await until([&] { return ended == 2; });
  co_await first.close();
}

TEST(Pool, an_environment_that_comes_back_while_the_pool_closes_is_closed) {
  for (int close = 0; close < 12; ++close) {
    for (int cancel = 0; cancel < 12; ++cancel) {
      const auto of = std::make_shared<account>();
      run([&] { return close_while_an_environment_comes_back(of, close, cancel); });
      EXPECT_EQ(of->opened, of->closed) << "close after " << close << " turns, cancel after " << cancel;
      EXPECT_EQ(of->destroyed_open, 0) << "close after " << close << " turns, cancel after " << cancel;
    }
  }
}

TEST(Pool, invalid_settings_are_refused) {
  const auto of = std::make_shared<account>();
  const auto invalid = [](auto call) { return cofferdam_test::code_of(call) == exec_errc::invalid_argument; };
  EXPECT_TRUE(invalid([&] { pool(numbered_provider(of), 0); }));
  EXPECT_TRUE(invalid([&] { pool(numbered_provider(of), 1).opens_at_once(0); }));
  EXPECT_TRUE(invalid([&] { pool(numbered_provider(of), 1).open_interval(-1ms); }));
  EXPECT_TRUE(invalid([&] { pool(numbered_provider(of), static_cast<std::size_t>(-1)); }));
  EXPECT_TRUE(invalid([&] { pool(numbered_provider(of), 1).open_interval(std::chrono::milliseconds::max()); }));
  EXPECT_TRUE(invalid([&] { pool(numbered_provider(of), 1).max_idle(0ms); }));
  EXPECT_TRUE(invalid([&] { pool(numbered_provider(of), 1).max_idle(25h); }));
  EXPECT_TRUE(invalid([&] { pool(numbered_provider(of), 1).wait_limit(0ms); }));
  EXPECT_TRUE(invalid([&] { pool(numbered_provider(of), 1).wait_limit(25h); }));
}

}  // namespace

}  // namespace pool_tests
