// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/limit_concurrency.hpp>
#include <cofferdam/testing/fake_provider.hpp>

#include "support/error_of.hpp"
#include "support/fake_environment.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>
#include <asio/thread_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace limit_concurrency_tests {

using namespace cofferdam;
using cofferdam_test::code_of;
using cofferdam_test::full_fake;
using cofferdam_test::plain_fake;
using cofferdam_test::run;

static_assert(streaming_environment<limit_concurrency_layer<full_fake>>);
static_assert(file_environment<limit_concurrency_layer<full_fake>>);
static_assert(suspendable_environment<limit_concurrency_layer<full_fake>>);
static_assert(!streaming_environment<limit_concurrency_layer<plain_fake>>);

/// Commands that end when the test ends them.
class gates {
 public:
  explicit gates(asio::io_context& loop) : loop_(loop) {}

  std::vector<std::string> begun;
  std::size_t most = 0;

  awaitable<void> pass(std::string name) {
    const asio::any_io_executor executor = loop_.get_executor();
    auto event = std::make_shared<detail::async_event>(executor);
    open_.push_back({name, event});
    begun.push_back(name);
    most = std::max(most, open_.size());
    const detail::wait_result result = co_await event->wait();
    std::erase_if(open_, [&](const auto& each) { return each.second == event; });
    if (result == detail::wait_result::cancelled) throw error(exec_errc::cancelled, "cancelled");
  }
  void end(const std::string& name) {
    for (const auto& [each, event] : open_)
      if (each == name) event->notify();
  }

 private:
  asio::io_context& loop_;
  std::vector<std::pair<std::string, std::shared_ptr<detail::async_event>>> open_;
};

class gated_process final : public process::implementation {
 public:
  gated_process(gates& at, std::string name) : at_(at), name_(std::move(name)) {}
  awaitable<output_chunk> read() override { co_return output_chunk(); }
  awaitable<void> write_input(bytes_view) override { co_return; }
  awaitable<void> close_input() override { co_return; }
  awaitable<void> signal(int) override { co_return; }
  awaitable<command_result> wait() override {
    co_await at_.pass(name_);
    co_return command_result::exited(0);
  }

 private:
  gates& at_;
  std::string name_;
};

class gated_environment {
 public:
  explicit gated_environment(gates& at) : at_(&at) {}
  awaitable<command_result> run_command(command c) {
    co_await at_->pass(c.line());
    co_return command_result::exited(0);
  }
  awaitable<process> start(command c) {
    at_->begun.push_back("start " + c.line());
    co_return process(std::make_unique<gated_process>(*at_, c.line()));
  }
  awaitable<bytes> read_file(std::string, std::size_t) { co_return bytes(); }
  awaitable<void> write_file(std::string, bytes_view) { co_return; }
  awaitable<void> close() { co_return; }

 private:
  gates* at_;
};

using limited = limit_concurrency_layer<gated_environment>;

/// An environment that runs two commands at a time, and the commands of a test.
class two_at_once {
 public:
  asio::io_context loop{1};
  gates at{loop};
  limited env{gated_environment(at), 2};

  void run(const std::string& line) { spawn(env.run_command(line), signals_.emplace_back()); }
  /// Cancels the command that was given as number `index`.
  void cancel(std::size_t index) { signals_.at(index)->emit(asio::cancellation_type::terminal); }
  void settle() {
    loop.restart();
    loop.poll();
  }
  std::vector<std::exception_ptr> failures;

 private:
  void spawn(awaitable<command_result> work, std::unique_ptr<asio::cancellation_signal>& signal) {
    signal = std::make_unique<asio::cancellation_signal>();
    cofferdam_test::spawn(
        loop, std::move(work),
        [this](std::exception_ptr failure, command_result) {
          if (failure) failures.push_back(failure);
        },
        signal->slot());
  }

  std::vector<std::unique_ptr<asio::cancellation_signal>> signals_;
};

TEST(LimitConcurrency, further_commands_wait_and_run_in_the_order_of_their_arrival) {
  two_at_once test;
  for (const char* const line : {"a", "b", "c", "d", "e"}) test.run(line);
  test.settle();
  EXPECT_EQ(test.at.begun, (std::vector<std::string>{"a", "b"}));
  test.at.end("b");
  test.settle();
  EXPECT_EQ(test.at.begun, (std::vector<std::string>{"a", "b", "c"}));
  test.run("late");
  test.at.end("a");
  test.at.end("c");
  test.settle();
  EXPECT_EQ(test.at.begun, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  test.at.end("d");
  test.at.end("e");
  test.settle();
  EXPECT_EQ(test.at.begun.back(), "late");
  EXPECT_EQ(test.at.most, 2U);
  test.at.end("late");
  test.settle();
  EXPECT_TRUE(test.failures.empty());
}

TEST(LimitConcurrency, a_command_that_is_cancelled_while_it_waits_takes_no_turn) {
  two_at_once test;
  for (const char* const line : {"a", "b", "c", "d"}) test.run(line);
  test.settle();
  test.cancel(2);
  test.settle();
  ASSERT_EQ(test.failures.size(), 1U);
  EXPECT_EQ(cofferdam_test::sentence_of([&] { std::rethrow_exception(test.failures[0]); }),
            "limit_concurrency: cancelled while the command waited for its turn; it was not started");
  test.at.end("a");
  test.settle();
  EXPECT_EQ(test.at.begun, (std::vector<std::string>{"a", "b", "d"}));
  test.at.end("b");
  test.at.end("d");
  test.settle();
}

TEST(LimitConcurrency, a_command_that_is_cancelled_while_it_runs_returns_its_turn) {
  two_at_once test;
  for (const char* const line : {"a", "b", "c"}) test.run(line);
  test.settle();
  test.cancel(0);
  test.settle();
  EXPECT_EQ(test.at.begun.back(), "c");
  test.at.end("b");
  test.at.end("c");
  test.settle();
}

TEST(LimitConcurrency, a_turn_that_was_granted_to_a_cancelled_command_goes_to_the_next) {
  // Cancels "c" at each moment between the end of "a" and the start of "c".
  for (int steps = 0; steps < 12; ++steps) {
    two_at_once test;
    for (const char* const line : {"a", "b", "c", "d"}) test.run(line);
    test.settle();
    test.at.end("a");
    test.loop.restart();
    for (int i = 0; i < steps; ++i) test.loop.poll_one();
    test.cancel(2);
    test.settle();
    test.at.end("c");  // if it has begun in spite of the cancellation
    test.settle();
    EXPECT_EQ(test.at.begun.back(), "d") << steps;
    test.at.end("b");
    test.at.end("d");
    test.settle();
  }
}

TEST(LimitConcurrency, a_started_process_counts_until_its_end_or_its_destruction) {
  two_at_once test;
  std::optional<process> first;
  std::optional<process> second;
  const auto starts = [&]() -> awaitable<void> {
    process one = co_await test.env.start("one");
    first.emplace(std::move(one));
    process two = co_await test.env.start("two");
    second.emplace(std::move(two));
  };
  cofferdam_test::spawn(test.loop, starts(), [](std::exception_ptr) {});
  test.settle();
  test.run("a");
  test.run("b");
  test.settle();
  EXPECT_EQ(test.at.begun, (std::vector<std::string>{"start one", "start two"}));
  second.reset();
  test.settle();
  EXPECT_EQ(test.at.begun.back(), "a");
  cofferdam_test::spawn(test.loop, first->wait(), [](std::exception_ptr) {});
  test.settle();
  test.at.end("one");
  test.settle();
  EXPECT_EQ(test.at.begun.back(), "b");
  test.at.end("a");
  test.at.end("b");
  test.settle();
}

TEST(LimitConcurrency, files_do_not_wait) {
  two_at_once test;
  test.run("a");
  test.run("b");
  test.settle();
  bool read = false;
  const auto reads = [&]() -> awaitable<void> {
    co_await test.env.read_file("x", 1);
    read = true;
  };
  cofferdam_test::spawn(test.loop, reads(), [](std::exception_ptr) {});
  test.settle();
  EXPECT_TRUE(read);
  test.at.end("a");
  test.at.end("b");
  test.settle();
}

TEST(LimitConcurrency, commands_that_wait_can_be_destroyed_with_their_loop) {
  for (std::size_t handlers = 0;; ++handlers) {
    cofferdam::testing::fake_provider fake;
    fake.on(cofferdam::testing::any_command, cofferdam::testing::reply("").after(std::chrono::milliseconds(1)));
    const bool ended = cofferdam_test::destroy_after(handlers, [&]() -> awaitable<void> {
      co_await with(fake | limit_concurrency(1), [](auto& env) -> awaitable<void> {
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        for (int i = 0; i < 3; ++i) cofferdam_test::spawn(executor, env.run_command("x"), [](std::exception_ptr) {});
        co_await env.run_command("y");
      });
    });
    if (ended) break;
  }
}

TEST(LimitConcurrency, holds_on_several_threads) {
  class counting {
   public:
    explicit counting(std::atomic<int>& now, std::atomic<int>& most) : now_(&now), most_(&most) {}
    awaitable<command_result> run_command(command) {
      const int current = ++*now_;
      for (int seen = *most_; seen < current && !most_->compare_exchange_weak(seen, current);) {
      }
      std::this_thread::yield();
      --*now_;
      co_return command_result::exited(0);
    }
    awaitable<bytes> read_file(std::string, std::size_t) { co_return bytes(); }
    awaitable<void> write_file(std::string, bytes_view) { co_return; }
    awaitable<void> close() { co_return; }

   private:
    std::atomic<int>* now_;
    std::atomic<int>* most_;
  };
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  limit_concurrency_layer<counting> env(counting(now, most), 2);
  asio::thread_pool pool(4);
  for (int i = 0; i < 400; ++i)
    cofferdam_test::spawn(pool, env.run_command("x"), [&](std::exception_ptr failure, command_result) {
      if (!failure) ++done;
    });
  pool.join();
  EXPECT_EQ(done, 400);
  EXPECT_LE(most, 2);
}

TEST(LimitConcurrency, none_at_all_is_refused) {
  EXPECT_EQ(code_of([] { limit_concurrency(0); }), exec_errc::invalid_argument);
}

}  // namespace limit_concurrency_tests
