// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/home_strand.hpp>

#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/dispatch.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>
#include <asio/query.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::home_strand;
using cofferdam::detail::strand_of;
using cofferdam_test::run;
using cofferdam_test::watchdog;
using namespace std::chrono_literals;

/// A movable type without copy and without a default constructor.
class only_moved {
 public:
  explicit only_moved(int number) : number_(std::make_unique<int>(number)) {}
  int number() const { return *number_; }

 private:
  std::unique_ptr<int> number_;
};

/// Returns true if the calling thread is inside the strand of `executor`, which must be the executor of an object that
/// created its own strand.
bool runs_on(const asio::any_io_executor& executor) {
  return executor.target<detail::gated_executor>()->running_in_this_thread();
}

/// Waits until the coroutine is cancelled.
awaitable<void> until_cancelled() {
  asio::steady_timer never(co_await asio::this_coro::executor, std::chrono::steady_clock::time_point::max());
  std::error_code woken;
  co_await never.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  throw error(exec_errc::cancelled, "the test's own cancellation");
}

TEST(HomeStrand, RecognisesTheStrandsThatCanBeKnown) {
  asio::io_context context;
  asio::thread_pool pool(1);
  EXPECT_TRUE(home_strand::is_strand(asio::make_strand(context)));
  EXPECT_TRUE(home_strand::is_strand(asio::make_strand(pool)));
  EXPECT_TRUE(home_strand::is_strand(asio::make_strand(asio::any_io_executor(context.get_executor()))));
  EXPECT_TRUE(home_strand::is_strand(home_strand(context.get_executor()).executor()));
  EXPECT_FALSE(home_strand::is_strand(context.get_executor()));
  EXPECT_FALSE(home_strand::is_strand(pool.get_executor()));
  EXPECT_FALSE(home_strand::is_strand(asio::any_io_executor()));
}

TEST(HomeStrand, StaysOnTheStrandItWasOpenedOn) {
  asio::io_context context;
  const asio::any_io_executor strand = asio::make_strand(context);
  EXPECT_EQ(home_strand(strand).executor(), strand);
  const home_strand outer(context.get_executor());
  EXPECT_NE(outer.executor(), asio::any_io_executor(context.get_executor()));
  // A runner passes its strand on to the environment inside it.
  EXPECT_EQ(home_strand(outer.executor()).executor(), outer.executor());
  EXPECT_EQ(strand_of(strand), strand);
  EXPECT_TRUE(home_strand::is_strand(strand_of(context.get_executor())));
}

TEST(HomeStrand, WorksOnItsStrandAndContinuesOnTheCallers) {
  const watchdog guard(60s);
  asio::thread_pool pool(4);
  const home_strand home(pool.get_executor());
  const auto mine = asio::make_strand(pool);
  std::atomic<int> right = 0;
  auto caller = [&]() -> awaitable<void> {
    for (int i = 0; i < 100; ++i) {
      const auto work = [&]() -> awaitable<only_moved> {
        if (runs_on(home.executor())) ++right;
        asio::any_io_executor executor = co_await asio::this_coro::executor;
        asio::steady_timer timer(executor, std::chrono::microseconds(i % 3));
        if (i % 2 == 0) co_await timer.async_wait(asio::use_awaitable);
        if (runs_on(home.executor()) && executor == home.executor()) ++right;
        co_return only_moved(i);
      };
      const only_moved result = co_await home.run(work);
      const bool is_mine = mine.running_in_this_thread() && !runs_on(home.executor());
      if (is_mine && result.number() == i) ++right;
    }
  };
  cofferdam_test::spawn(mine, caller, [](const std::exception_ptr& failure) { EXPECT_EQ(failure, nullptr); });
  pool.join();
  EXPECT_EQ(right, 300);
}

TEST(HomeStrand, DoesNotLeaveTheStrandOfACallerWhoIsThere) {
  asio::io_context context;
  const asio::any_io_executor strand = asio::make_strand(context);
  const home_strand home(strand);
  bool was_in_place = false;
  bool has_yielded = false;
  auto caller = [&]() -> awaitable<void> {
    asio::post(strand, [&has_yielded] { has_yielded = true; });
    const auto work = []() -> awaitable<int> { co_return 1; };
    co_await home.run(work);
    was_in_place = !has_yielded;
  };
  cofferdam_test::spawn(strand, caller, [](const std::exception_ptr& failure) { EXPECT_EQ(failure, nullptr); });
  context.run();
  EXPECT_TRUE(was_in_place);
}

TEST(HomeStrand, CarriesExceptionsBack) {
  run([]() -> awaitable<void> {
    const home_strand home(co_await asio::this_coro::executor);
    const auto work = []() -> awaitable<void> {
      throw std::runtime_error("from the other side");
      co_return;
    };
    std::string message;
    try {
      co_await home.run(work);
    } catch (const std::runtime_error& failure) {
      message = failure.what();
    }
    EXPECT_EQ(message, "from the other side");
  });
}

TEST(HomeStrand, WorkIsDestroyedOnItsStrand) {
  const watchdog guard(60s);
  asio::thread_pool pool(4);
  const home_strand home(pool.get_executor());
  std::atomic<int> elsewhere = 0;
  class witness {
   public:
    witness(const home_strand& home, std::atomic<int>& elsewhere) : home_(&home), elsewhere_(&elsewhere) {}
    witness(witness&& other) noexcept : home_(std::exchange(other.home_, nullptr)), elsewhere_(other.elsewhere_) {}
    ~witness() {
      if (home_ != nullptr && !runs_on(home_->executor())) ++*elsewhere_;
    }

   private:
    const home_strand* home_;
    std::atomic<int>* elsewhere_;
  };
  auto caller = [&]() -> awaitable<void> {
    for (int i = 0; i < 50; ++i) {
      auto work = [kept = witness(home, elsewhere)]() -> awaitable<int> { co_return 1; };
      co_await home.run(std::move(work));
    }
  };
  for (int i = 0; i < 4; ++i)
    cofferdam_test::spawn(pool, caller, [](const std::exception_ptr& failure) { EXPECT_EQ(failure, nullptr); });
  pool.join();
  EXPECT_EQ(elsewhere, 0);
}

/// Returns a function for the end of a coroutine. It stores the code of the error that the coroutine threw.
auto keep_code(std::error_code& code) {
  return [&code](const std::exception_ptr& failure) {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const error& reason) {
      code = reason.code();
    }
  };
}

TEST(HomeStrand, CancellationArrivesOnItsStrand) {
  const watchdog guard(60s);
  for (int round = 0; round < 200; ++round) {
    asio::thread_pool pool(3);
    const home_strand home(pool.get_executor());
    const auto mine = asio::make_strand(pool);
    asio::cancellation_signal signal;
    std::error_code ended;
    std::promise<void> begun;
    auto caller = [&]() -> awaitable<void> {
      const auto work = [&]() -> awaitable<void> {
        begun.set_value();
        co_await until_cancelled();
      };
      co_await home.run(work);
    };
    cofferdam_test::spawn(mine, caller, keep_code(ended), signal.slot());
    begun.get_future().wait();
    asio::post(mine, [&signal] { signal.emit(asio::cancellation_type::terminal); });
    pool.join();
    ASSERT_EQ(ended, exec_errc::cancelled);
  }
}

TEST(HomeStrand, WhatIsCancelledBeforeTheStrandIsFreeDoesNotBegin) {
  const watchdog guard(60s);
  asio::thread_pool pool(2);
  const home_strand home(pool.get_executor());
  const auto mine = asio::make_strand(pool);
  asio::cancellation_signal signal;
  bool has_begun = false;
  std::error_code ended;
  std::promise<void> is_held;
  std::promise<void> may_end;
  asio::post(home.executor(), [&] {
    is_held.set_value();
    may_end.get_future().wait();
  });
  is_held.get_future().wait();
  auto caller = [&]() -> awaitable<void> {
    const auto work = [&]() -> awaitable<void> {
      has_begun = true;
      co_return;
    };
    co_await home.run(work);
  };
  cofferdam_test::spawn(mine, caller, keep_code(ended), signal.slot());
  // When this handler runs, the caller is waiting for the strand.
  asio::post(mine, [&] {
    signal.emit(asio::cancellation_type::terminal);
    may_end.set_value();
  });
  pool.join();
  EXPECT_FALSE(has_begun);
  EXPECT_EQ(ended, exec_errc::cancelled);
}

TEST(HomeStrand, ACancelledCallerWhoGoesOnIsCancelledThereToo) {
  asio::io_context context;
  const home_strand home(context.get_executor());
  asio::cancellation_signal signal;
  bool was_cancelled = false;
  bool has_ended = false;
  auto caller = [&]() -> awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    signal.emit(asio::cancellation_type::terminal);
    const auto work = [&]() -> awaitable<void> {
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      was_cancelled = state.cancelled() != asio::cancellation_type::none;
    };
    co_await home.run(work);
    has_ended = true;
  };
  cofferdam_test::spawn(
      context, caller, [](const std::exception_ptr& failure) { EXPECT_EQ(failure, nullptr); }, signal.slot());
  context.run();
  EXPECT_TRUE(was_cancelled);
  EXPECT_TRUE(has_ended);
}

TEST(HomeStrand, EndsWithItsContextAtEveryStep) {
  for (std::size_t handlers = 0;; ++handlers) {
    const bool ended = cofferdam_test::destroy_after(handlers, []() -> awaitable<void> {
      const home_strand home(co_await asio::this_coro::executor);
      const auto kept = std::make_shared<std::string>("kept");
      const auto work = [kept]() -> awaitable<only_moved> {
        asio::steady_timer timer(co_await asio::this_coro::executor, 0ms);
        co_await timer.async_wait(asio::use_awaitable);
        co_return only_moved(static_cast<int>(kept->size()));
      };
      const only_moved result = co_await home.run(work);
      EXPECT_EQ(result.number(), 4);
    });
    if (ended) break;
    ASSERT_LT(handlers, 100U);
  }
}

TEST(HomeStrand, MayOutliveItsContext) {
  std::optional<home_strand> home;
  asio::any_io_executor kept;
  bool has_run = false;
  {
    asio::io_context context;
    home.emplace(context.get_executor());
    kept = home->executor();
    asio::post(home->executor(), [&has_run] { has_run = true; });
    context.run();
  }
  EXPECT_TRUE(has_run);
  bool is_done = false;
  home->run_soon([&is_done] { is_done = true; });
  EXPECT_TRUE(is_done);
  EXPECT_TRUE(home->look([&is_done] { return is_done; }));
  home.reset();
  kept = asio::any_io_executor();
}

TEST(HomeStrand, WhatWaitsForItEndsWithTheContextAlsoWhereItHoldsTheStrand) {
  const auto token = std::make_shared<int>(0);
  const std::weak_ptr<int> is_there = token;
  {
    asio::io_context context;
    for (int i = 0; i < 3; ++i) {
      const home_strand home(context.get_executor());
      asio::post(home.executor(), [home, token] {});
      asio::post(home.executor(), [home, token] {});
      if (i == 1) context.run_one();
      // Stops the context during a turn, so the remaining handlers are the first of the next turn.
      if (i == 2) asio::post(home.executor(), [home, token, &context] { context.stop(); });
    }
    context.run_for(10ms);
  }
  EXPECT_EQ(is_there.use_count(), 1);
}

TEST(HomeStrand, KeepsTheOrderAndGoesOnAfterAnException) {
  asio::io_context context;
  const home_strand home(context.get_executor());
  std::string order;
  const auto write = [&order](char what) { return [&order, what] { order += what; }; };
  asio::post(home.executor(), write('a'));
  asio::post(home.executor(), [&order] {
    order += 'b';
    throw std::runtime_error("a handler's own");
  });
  asio::post(home.executor(), write('c'));
  EXPECT_THROW(context.run(), std::runtime_error);
  context.run();
  EXPECT_EQ(std::exchange(order, ""), "abc");
  context.restart();
  asio::post(context, [&] {
    // The strand is free, so dispatch runs the handler immediately.
    asio::dispatch(home.executor(), [&order, &home, write] {
      order += '1';
      // The calling thread is inside the strand, so dispatch runs this handler immediately too.
      asio::dispatch(home.executor(), write('2'));
      asio::post(home.executor(), write('4'));
      order += '3';
    });
    order += 'd';
    asio::dispatch(home.executor(), [] { throw std::runtime_error("in place"); });
    order += 'e';
  });
  EXPECT_THROW(context.run(), std::runtime_error);
  context.run();
  EXPECT_EQ(order, "123de4");
}

TEST(HomeStrand, IsHeldByAnyExecutorWithoutMemory) {
  // Asio copies executors in functions that must not throw, so a copy must not allocate memory.
  asio::io_context context;
  const home_strand home(context.get_executor());
  const asio::any_io_executor busy = asio::prefer(home.executor(), asio::execution::outstanding_work.tracked);
  static_assert(sizeof(detail::gated_executor) <= sizeof(std::shared_ptr<void>) + sizeof(void*));
  EXPECT_EQ(busy, home.executor());
  EXPECT_EQ(&asio::query(busy, asio::execution::context), &static_cast<asio::execution_context&>(context));
}

TEST(HomeStrand, AnExecutorWithWorkKeepsItsContextRunning) {
  asio::io_context context;
  const home_strand home(context.get_executor());
  {
    asio::any_io_executor busy = asio::prefer(home.executor(), asio::execution::outstanding_work.tracked);
    const asio::any_io_executor copy = busy;
    busy = asio::prefer(busy, asio::execution::outstanding_work.untracked);
    context.run_for(5ms);
    EXPECT_FALSE(context.stopped());
  }
  context.run_for(5ms);
  EXPECT_TRUE(context.stopped());
}

TEST(HomeStrand, AJobNeedsNobodyWhoRunsTheLoop) {
  // No thread runs this context.
  asio::io_context context;
  const home_strand home(context.get_executor());
  bool is_done = false;
  home.run_soon([&is_done] { is_done = true; });
  EXPECT_TRUE(is_done);
  is_done = false;
  std::thread other([&] { home.run_soon([&is_done] { is_done = true; }); });
  other.join();
  EXPECT_TRUE(is_done);
}

TEST(HomeStrand, AJobThatComesWhileAHandlerRunsIsDoneWhenTheHandlerEnds) {
  const watchdog guard(60s);
  asio::thread_pool pool(1);
  const home_strand home(pool.get_executor());
  std::promise<void> begun;
  std::promise<void> may_end;
  std::atomic<bool> handler_runs = false;
  std::atomic<bool> overlapped = false;
  std::promise<void> done;
  asio::post(home.executor(), [&] {
    handler_runs = true;
    begun.set_value();
    may_end.get_future().wait();
    handler_runs = false;
  });
  begun.get_future().wait();
  // The call returns immediately, although a handler is running.
  home.run_soon([&] {
    overlapped = handler_runs.load();
    done.set_value();
  });
  may_end.set_value();
  done.get_future().wait();
  pool.join();
  EXPECT_FALSE(overlapped);
}

TEST(HomeStrand, AHandlerThatFindsTheGateHeldComesAgain) {
  const watchdog guard(60s);
  asio::thread_pool pool(1);
  const home_strand home(pool.get_executor());
  std::promise<void> begun;
  std::promise<void> thread_is_free;
  std::atomic<bool> is_held = true;
  std::atomic<bool> overlapped = false;
  std::thread holder([&] {
    home.run_soon([&] {
      begun.set_value();
      // While this job holds the strand, the only thread of the pool does other work.
      thread_is_free.get_future().wait();
      is_held = false;
    });
  });
  begun.get_future().wait();
  std::promise<void> came;
  asio::post(home.executor(), [&] {
    overlapped = is_held.load();
    came.set_value();
  });
  asio::post(pool, [&] { thread_is_free.set_value(); });
  came.get_future().wait();
  holder.join();
  pool.join();
  EXPECT_FALSE(overlapped);
}

TEST(HomeStrand, ManyThreadsNeverMeetInside) {
  const watchdog guard(60s);
  asio::thread_pool pool(4);
  const home_strand home(pool.get_executor());
  // The variable is not atomic, because the strand must prevent concurrent access.
  int inside = 0;
  constexpr int rounds = 300;
  auto caller = [&]() -> awaitable<void> {
    for (int i = 0; i < rounds; ++i) {
      const auto work = [&]() -> awaitable<void> {
        ++inside;
        asio::steady_timer timer(co_await asio::this_coro::executor, 0ms);
        if (i % 4 == 0) co_await timer.async_wait(asio::use_awaitable);
        ++inside;
      };
      co_await home.run(work);
      home.run_soon([&inside] { ++inside; });
      home.look([&inside] { ++inside; });
    }
  };
  for (int i = 0; i < 8; ++i)
    cofferdam_test::spawn(pool, caller, [](const std::exception_ptr& failure) { EXPECT_EQ(failure, nullptr); });
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) home.run_soon([&inside] { ++inside; });
  });
  other.join();
  pool.join();
  EXPECT_EQ(inside, 8 * rounds * 4 + rounds);
}

TEST(HomeStrand, KeepsAnotherContextOfTheCallerAtWork) {
  const watchdog guard(60s);
  asio::thread_pool pool(1);
  const home_strand home(pool.get_executor());
  asio::io_context callers;
  bool has_ended = false;
  auto caller = [&]() -> awaitable<void> {
    const auto work = []() -> awaitable<void> {
      asio::steady_timer timer(co_await asio::this_coro::executor, 20ms);
      co_await timer.async_wait(asio::use_awaitable);
    };
    co_await home.run(work);
    has_ended = true;
  };
  cofferdam_test::spawn(callers, caller, [](const std::exception_ptr& failure) { EXPECT_EQ(failure, nullptr); });
  callers.run();
  EXPECT_TRUE(has_ended);
  pool.join();
}

}  // namespace
