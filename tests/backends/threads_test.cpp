// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the local backend on thread pools: many environments at once, and one environment shared by many callers.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/core/home_strand.hpp>

#include "support/census.hpp"
#include "support/complaints.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::complaints;
using cofferdam_test::watchdog;

using pool_strand = asio::strand<asio::thread_pool::executor_type>;

/// The kind of executor on which the coroutines run.
enum class loop_kind { pool, strands_of_a_pool, context, strands_of_a_context };

/// Runs `count` coroutines `life(number)` at once, on four threads.
void run_at_once(loop_kind kind, int count, const std::function<awaitable<void>(int)>& life, complaints& wrong) {
  if (kind == loop_kind::pool || kind == loop_kind::strands_of_a_pool) {
    asio::thread_pool pool(4);
    for (int i = 0; i < count; ++i) {
      asio::any_io_executor executor = pool.get_executor();
      if (kind == loop_kind::strands_of_a_pool) executor = asio::make_strand(pool);
      cofferdam_test::spawn(executor, life(i), wrong.handler());
    }
    pool.join();
    return;
  }
  asio::io_context context;
  for (int i = 0; i < count; ++i) {
    asio::any_io_executor executor = context.get_executor();
    if (kind == loop_kind::strands_of_a_context) executor = asio::make_strand(context);
    cofferdam_test::spawn(executor, life(i), wrong.handler());
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&context] { context.run(); });
  for (std::thread& each : threads) each.join();
}

/// A source of generated files. It calls `looks`, a function that checks the calling thread, on every read.
class made_up_files final : public file_source {
 public:
  explicit made_up_files(std::function<void()> looks) : looks_(std::move(looks)) {}
  awaitable<std::optional<file_header>> next() override {
    looks_();
    std::optional<file_header> header;
    left_ = "content of a file";
    if (given_++ < 2)
      header.emplace("made up", "file" + std::to_string(given_), file_type::regular, left_.size(), 0644);
    co_return header;
  }
  awaitable<bytes> read(std::size_t max_size) override {
    looks_();
    const std::string piece = left_.substr(0, std::min<std::size_t>(max_size, 5));
    left_.erase(0, piece.size());
    co_return to_bytes(piece);
  }

 private:
  std::function<void()> looks_;
  int given_ = 0;
  std::string left_;
};

/// Runs a command of one minute on a strand, and cancels it on the same strand after 3 ms.
awaitable<void> cancelled_command(local_environment& env, complaints& wrong) {
  const auto strand = asio::make_strand(co_await asio::this_coro::executor);
  const auto signal = std::make_shared<asio::cancellation_signal>();
  const auto is_over = std::make_shared<bool>(false);
  asio::steady_timer timer(strand, 3ms);
  const auto inner = [&env, &wrong, &timer, signal, is_over, strand]() -> awaitable<void> {
    timer.async_wait([signal, is_over](std::error_code failure) {
      if (!failure && !*is_over) signal->emit(asio::cancellation_type::terminal);
    });
    std::error_code code;
    try {
      co_await env.run_command(shell("sleep 60"));
    } catch (const error& reason) {
      code = reason.code();
    }
    *is_over = true;
    if (code != exec_errc::cancelled) wrong.add("a cancelled command: " + code.message());
    if (!strand.running_in_this_thread()) wrong.add("a cancelled caller goes on elsewhere");
  };
  co_await asio::co_spawn(strand, inner, asio::bind_cancellation_slot(signal->slot(), asio::use_awaitable));
}

/// Uses every operation of one environment once, from open() to close() or destruction.
awaitable<void> life_of(int number, complaints& wrong) {
  const local recipe = local().without_warning();
  local_environment env = co_await recipe.open();
  const command_result result = co_await env.run_command(shell("echo hello; echo bad >&2; exit 3"));
  if (result.out().text() != "hello\n" || result.exit_code() != 3) wrong.add("a command said " + result.out().text());
  const bytes content = to_bytes("what a file holds");
  co_await env.write_file("a.txt", content);
  const bytes back = co_await env.read_file("a.txt", 1000);
  if (back != content) wrong.add("a file has changed");
  made_up_files files([] {});
  const transfer_result put = co_await env.files().put_files(files);
  if (put.files().size() != 2) wrong.add("files were not put");
  std::vector<file_request> requests;
  requests.emplace_back("file1", "file1");
  std::unique_ptr<file_source> got = co_await env.files().get_files(std::move(requests));
  const std::optional<file_header> header = co_await got->next();
  const bytes first = co_await got->read(1000);
  if (!header || as_text(first) != "content of a file") wrong.add("a file was not got");
  std::string streamed;
  const auto listens = [&streamed](const output_chunk& piece) { streamed += as_text(piece.data()); };
  const command_result whole = co_await stream_output(env, shell("seq 1 2000; cat a.txt"), listens);
  if (!whole.ok() || !streamed.ends_with("2000\nwhat a file holds")) wrong.add("output was not streamed");
  process talk = co_await env.start(shell("read x; echo got $x").open_input());
  co_await talk.write_input(to_bytes("it\n"));
  co_await talk.close_input();
  const output_chunk answer = co_await talk.read();
  if (as_text(answer.data()) != "got it\n") wrong.add("a process answered otherwise");
  co_await talk.wait();
  if (number % 2 == 0) co_await cancelled_command(env, wrong);
  // Destroys the environment with a running command, on a thread outside the event loop.
  if (number % 4 == 3) {
    process running = co_await env.start(shell("echo begun; sleep 60"));
    co_await running.read();
    std::thread other(
        [kept = std::make_unique<local_environment>(std::move(env)), also = std::move(running)]() mutable {
          kept.reset();
          const process ended(std::move(also));
        });
    other.join();
    co_return;
  }
  co_await env.close();
}

class Threads : public ::testing::TestWithParam<loop_kind> {};

TEST_P(Threads, eight_environments_at_once) {
  // The test runs for each of four kinds of loop. Together these are about 200 environments, or 10,000 in a long run.
  const int batches = cofferdam_test::is_soak() ? 2500 / 8 + 1 : 7;
  for (int batch = 0; batch < batches; ++batch) {
    const watchdog guard(120s);
    complaints wrong;
    run_at_once(
        GetParam(), 8, [&wrong](int number) { return life_of(number, wrong); }, wrong);
    ASSERT_EQ(wrong.text(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Loops, Threads,
                         ::testing::Values(loop_kind::pool, loop_kind::strands_of_a_pool, loop_kind::context,
                                           loop_kind::strands_of_a_context));

TEST(SharedByThreads, callers_of_one_environment_go_on_where_they_are_and_so_do_their_callbacks) {
  const watchdog guard(120s);
  complaints wrong;
  asio::thread_pool pool(4);
  auto opens = [&]() -> awaitable<void> {
    const local recipe = local().without_warning();
    local_environment env = co_await recipe.open();
    const auto left = std::make_shared<std::atomic<int>>(8);
    asio::steady_timer all_done(co_await asio::this_coro::executor, 100s);
    const auto caller = [&env, &wrong](pool_strand mine, int number) -> awaitable<void> {
      const auto look = [&wrong, mine](const char* where) {
        if (!mine.running_in_this_thread()) wrong.add(std::string(where) + ": not on the caller's strand");
      };
      for (int i = 0; i < 10; ++i) {
        const command_result result = co_await env.run_command(argv("echo", std::to_string(number)));
        look("after run_command");
        if (result.out().text() != std::to_string(number) + "\n") wrong.add("another caller's output");
        const auto listens = [&look](const output_chunk&) { look("output"); };
        co_await stream_output(env, shell("echo a; echo b >&2"), listens);
        look("after stream_output");
        made_up_files files([&look] { look("a file source"); });
        const transfer_result put = co_await env.files().put_files(files);
        look("after put_files");
        if (put.files().size() != 2) wrong.add("files were not put");
        std::error_code code;
        try {
          co_await env.read_file("is-not-there", 10);
        } catch (const error& reason) {
          code = reason.code();
        }
        look("after an exception");
        if (code != exec_errc::not_found) wrong.add("the wrong exception");
      }
    };
    asio::io_context ends;
    auto work = asio::make_work_guard(ends);
    for (int i = 0; i < 8; ++i) {
      const pool_strand mine = asio::make_strand(pool.get_executor());
      cofferdam_test::spawn(mine, caller(mine, i), [&wrong, left, &work](const std::exception_ptr& failure) {
        wrong.handler()(failure);
        if (--*left == 0) work.reset();
      });
    }
    // Blocks one thread of the pool until all callers have finished; the other threads run the callers.
    ends.run();
    co_await env.close();
  };
  cofferdam_test::spawn(pool, opens, wrong.handler());
  pool.join();
  EXPECT_EQ(wrong.text(), "");
}

/// Waits up to 10 seconds for a process to disappear; returns true if it did.
bool is_gone(pid_t pid) {
  for (int i = 0; i < 1000; ++i) {
    if (::kill(pid, 0) != 0) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

TEST(SharedByThreads, a_dropped_environment_kills_where_nobody_runs_the_loop_any_more) {
  const watchdog guard(60s);
  for (const warden_policy policy : {warden_policy::require, warden_policy::never}) {
    asio::io_context context;
    std::optional<local_environment> env;
    process running;
    pid_t pid = 0;
    auto opens = [&]() -> awaitable<void> {
      const local recipe = local().without_warning().warden(policy);
      local_environment opened = co_await recipe.open();
      env.emplace(std::move(opened));
      running = co_await env->start(shell("echo $$; exec sleep 60"));
      const output_chunk chunk = co_await running.read();
      pid = static_cast<pid_t>(std::stol(std::string(as_text(chunk.data()))));
      context.stop();
    };
    complaints wrong;
    cofferdam_test::spawn(context, opens, wrong.handler());
    context.run();
    ASSERT_EQ(wrong.text(), "");
    ASSERT_GT(pid, 0);
    ASSERT_EQ(::kill(pid, 0), 0);
    std::thread other([&env] { env.reset(); });
    other.join();
    EXPECT_TRUE(policy == warden_policy::never || is_gone(pid));
    running = process();
  }
}

/// An empty source that reports the executor on which it is read.
class asked_source final : public file_source {
 public:
  awaitable<std::optional<file_header>> next() override {
    executor = co_await asio::this_coro::executor;
    co_return std::nullopt;
  }
  awaitable<bytes> read(std::size_t) override { co_return bytes(); }

  asio::any_io_executor executor;
};

TEST(SharedByThreads, a_source_of_files_is_read_on_a_strand) {
  asio::thread_pool pool(2);
  asked_source source;
  const auto puts = [&]() -> awaitable<void> {
    const auto recipe = local().without_warning();
    local_environment env = co_await recipe.open();
    const auto put = co_await put_files(env, source);
    EXPECT_TRUE(put.failed().empty());
    co_await env.close();
  };
  complaints wrong;
  cofferdam_test::spawn(pool, puts, wrong.handler());
  pool.join();
  EXPECT_EQ(wrong.text(), "");
  ASSERT_TRUE(source.executor);
  EXPECT_TRUE(cofferdam::detail::home_strand::is_strand(source.executor));
}

}  // namespace
