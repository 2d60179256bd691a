// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/code/code_runner.hpp>

#include "code/python_support.hpp"
#include "support/error_of.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <string>
#include <vector>

namespace {

using cofferdam::awaitable;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::error_kind;
using cofferdam::exec_errc;
using cofferdam::python;
using cofferdam_test::all_of;
using cofferdam_test::python_here;
using cofferdam_test::value_of;
using cofferdam_test::with_python;
using namespace std::chrono_literals;

/// Python code that sets variables to the pids of its ancestors. The monitor is the parent of a run, the nursery forks
/// the monitors, and the driver (the program that runs code in the sandbox) starts the nursery.
constexpr const char* ancestors =
    "import os, signal, time\n"
    "def parent(pid):\n  stat = open('/proc/%d/stat' % pid).read()\n  return int(stat[stat.rindex(')') + "
    "2:].split()[1])\n"
    "monitor = os.getppid()\nnursery = parent(monitor)\ndriver = parent(nursery)\n";

/// A run that is executed concurrently with the test's own coroutine.
class side_run {
 public:
  explicit side_run(asio::any_io_executor executor)
      : executor_(std::move(executor)), done_(executor_, std::chrono::steady_clock::time_point::max()) {}
  void start(awaitable<code_result> work) {
    auto ended = [this](std::exception_ptr reason, code_result got) {
      failure = reason;
      result = std::move(got);
      ended_ = true;
      done_.cancel();
    };
    cofferdam_test::spawn(executor_, std::move(work), std::move(ended), cancel.slot());
  }
  awaitable<void> join() {
    std::error_code ignored;
    while (!ended_) co_await done_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  bool ended() const noexcept { return ended_; }

  asio::cancellation_signal cancel;
  std::exception_ptr failure;
  code_result result;

 private:
  asio::any_io_executor executor_;
  asio::steady_timer done_;
  bool ended_ = false;
};

/// Waits until a file exists in the environment.
awaitable<void> until_there(python_here& runner, std::string path) {
  for (;;) {
    const bool exists = co_await cofferdam::exists(runner.environment(), path);
    if (exists) co_return;
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, 5ms);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

}  // namespace

TEST(PythonContexts, globals_live_from_run_to_run_and_not_elsewhere) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result result =
        co_await runner.run_code(code_request("import math\nx = 5\ndef f(): return x + 1").context("one"));
    EXPECT_TRUE(result.ok()) << all_of(result);
    code_result used = co_await runner.run_code(code_request("x += 1\nf()").context("one"));
    EXPECT_EQ(value_of(used), "7");
    code_result other = co_await runner.run_code(code_request("'x' in globals()").context("two"));
    EXPECT_EQ(value_of(other), "false");
    code_result fork = co_await runner.run_code(code_request("'x' in globals()"));
    EXPECT_EQ(value_of(fork), "false");
    std::vector<std::string> names = co_await runner.contexts();
    EXPECT_EQ(names, (std::vector<std::string>{"one", "two"}));
    const bool ended = co_await runner.end_context("one");
    EXPECT_TRUE(ended);
    const bool again = co_await runner.end_context("one");
    EXPECT_FALSE(again);
    code_result fresh = co_await runner.run_code(code_request("'x' in globals()").context("one"));
    EXPECT_EQ(value_of(fresh), "false");
    EXPECT_FALSE(fresh.context_lost());
  });
}

TEST(PythonContexts, an_exception_or_exit_leaves_the_context_as_it_is) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result failed = co_await runner.run_code(code_request("x = 1\n1/0").context("c"));
    EXPECT_EQ(failed.exit_code(), 1);
    EXPECT_FALSE(failed.context_lost());
    EXPECT_NE(failed.err().text().find("    1/0\n"), std::string::npos) << all_of(failed);
    code_result left = co_await runner.run_code(code_request("import sys\nsys.exit(7)").context("c"));
    EXPECT_EQ(left.exit_code(), 7);
    EXPECT_FALSE(left.context_lost());
    code_result fine = co_await runner.run_code(code_request("print('out')\nx").context("c"));
    EXPECT_EQ(value_of(fine), "1");
    EXPECT_EQ(fine.out().text(), "out\n");
    EXPECT_EQ(fine.exit_code(), 0);
  });
}

TEST(PythonContexts, a_context_that_takes_too_long_is_interrupted_and_keeps_what_it_knows) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("x = 1").context("c"));
    code_result slow =
        co_await runner.run_code(code_request("x = 2\nprint('on')\nwhile True: pass").context("c").timeout(300ms));
    EXPECT_EQ(slow.kind(), error_kind::timeout) << all_of(slow);
    EXPECT_FALSE(slow.context_lost());
    EXPECT_EQ(slow.out().text(), "on\n");
    code_result next = co_await runner.run_code(code_request("x").context("c"));
    EXPECT_EQ(value_of(next), "2") << all_of(next);
    code_result stubborn = co_await runner.run_code(
        code_request("import time\nwhile True:\n  try:\n    time.sleep(100)\n  except BaseException: print('no')")
            .context("c")
            .timeout(300ms));
    EXPECT_EQ(stubborn.kind(), error_kind::timeout);
    EXPECT_TRUE(stubborn.context_lost());
    EXPECT_EQ(stubborn.out().text(), "no\n");
    code_result fresh = co_await runner.run_code(code_request("'x' in globals()").context("c"));
    EXPECT_EQ(value_of(fresh), "false");
  });
}

// Feature: K10
TEST(PythonContexts, the_death_of_a_context_is_told_and_those_that_wait_get_another) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    side_run dies(executor);
    side_run waits(executor);
    dies.start(runner.run_code(code_request("x = 1\nimport os, time\ntime.sleep(0.1)\nos._exit(9)").context("c")));
    waits.start(runner.run_code(code_request("'x' in globals()").context("c")));
    co_await dies.join();
    co_await waits.join();
    EXPECT_EQ(dies.result.exit_code(), 9) << all_of(dies.result);
    EXPECT_TRUE(dies.result.context_lost());
    EXPECT_EQ(value_of(waits.result), "false") << all_of(waits.result);
  });
}

TEST(PythonContexts, runs_of_one_context_wait_for_each_other_and_their_time_begins_then) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    side_run first(executor);
    side_run second(executor);
    first.start(runner.run_code(code_request("import time\ntime.sleep(1.5)\nx = 1").context("c")));
    second.start(runner.run_code(code_request("x").context("c").timeout(1s)));
    co_await first.join();
    co_await second.join();
    EXPECT_EQ(value_of(second.result), "1") << all_of(second.result);
  });
}

TEST(PythonContexts, one_that_is_ended_while_its_code_runs_says_so) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    side_run runs(executor);
    runs.start(runner.run_code(
        code_request("import time\nprint('so far')\nopen('mark', 'w').close()\ntime.sleep(100)").context("c")));
    co_await until_there(runner, "mark");
    const bool found = co_await runner.end_context("c");
    EXPECT_TRUE(found);
    co_await runs.join();
    EXPECT_EQ(runs.result.kind(), error_kind::execution_error) << all_of(runs.result);
    EXPECT_NE(runs.result.reason().find("end_context"), std::string::npos) << all_of(runs.result);
    EXPECT_TRUE(runs.result.context_lost());
    EXPECT_FALSE(runs.result.ok());
    EXPECT_EQ(runs.result.out().text(), "so far\n");
  });
}

TEST(PythonContexts, what_is_printed_between_two_runs_comes_before_the_next) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(
        code_request("import os, sys, threading, time\ngo = threading.Event()\n"
                     "def late():\n  while not os.path.exists('go'): time.sleep(0.001)\n"
                     "  print('between', flush=True)\n  sys.stderr.write('e' * 200000 + 'end')\n  sys.stderr.flush()\n"
                     "  open('mark', 'w').close()\n  go.wait()\n  print('later', flush=True)\n"
                     "thread = threading.Thread(target=late)\nthread.start()\nprint('one')")
            .context("c"));
    EXPECT_EQ(first.out().text(), "one\n") << all_of(first);
    co_await cofferdam::write_text(runner.environment(), "go", "");
    co_await until_there(runner, "mark");
    code_result other = co_await runner.run_code(code_request("print('other')").context("d"));
    EXPECT_EQ(other.out().text(), "other\n") << all_of(other);
    code_result second = co_await runner.run_code(code_request("print('two')\ngo.set()\nthread.join()").context("c"));
    EXPECT_EQ(second.out().text(), "between\ntwo\nlater\n") << all_of(second);
    EXPECT_TRUE(second.err().text().ends_with("end")) << second.err().total();
    EXPECT_LE(second.err().total(), 131072U) << "the last of it";
    code_result three = co_await runner.run_code(code_request("print('three')").context("c"));
    EXPECT_EQ(three.out().text(), "three\n") << all_of(three);
  });
}

TEST(PythonContexts, awaits_share_one_event_loop) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(
        code_request("import asyncio\nf = asyncio.get_running_loop().create_future() if 0 else None\n"
                     "e = asyncio.Event()\nawait asyncio.sleep(0)\nt = asyncio.ensure_future(e.wait())")
            .context("c"));
    EXPECT_TRUE(result.ok()) << all_of(result);
    code_result used = co_await runner.run_code(code_request("e.set()\nawait t").context("c"));
    EXPECT_EQ(value_of(used), "true") << all_of(used);
  });
}

TEST(PythonRun, a_cancelled_run_ends_and_its_output_is_kept) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    const std::vector<bool> ways = {false, true};
    for (const bool in_context : ways) {
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      side_run concurrent(executor);
      const std::string mark = in_context ? "mark1" : "mark0";
      code_request request("print('so far')\nopen('" + mark + "', 'w').close()\nwhile True: pass");
      if (in_context) request.context("c");
      concurrent.start(runner.run_code(std::move(request)));
      co_await until_there(runner, mark);
      concurrent.cancel.emit(asio::cancellation_type::terminal);
      co_await concurrent.join();
      EXPECT_TRUE(concurrent.failure);
      try {
        if (concurrent.failure) std::rethrow_exception(concurrent.failure);
      } catch (const cofferdam::error& failure) {
        EXPECT_EQ(failure.code(), exec_errc::cancelled);
        EXPECT_TRUE(failure.partial());
        if (failure.partial() != nullptr) {
          EXPECT_EQ(failure.partial()->out().text(), "so far\n");
        }
      }
      code_result next = co_await runner.run_code(code_request("1+1"));
      EXPECT_EQ(value_of(next), "2");
      EXPECT_FALSE(next.driver_restarted());
    }
  });
}

// Feature: K4
TEST(PythonRun, a_dead_driver_is_told_and_started_again) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result context = co_await runner.run_code(code_request("x = 1").context("c"));
    code_result lost = co_await runner.run_code(code_request(
        std::string(ancestors) + "print('last words')\ntime.sleep(0.5)\nos.kill(driver, 9)\ntime.sleep(10)"));
    EXPECT_EQ(lost.kind(), error_kind::execution_error) << all_of(lost);
    EXPECT_FALSE(lost.ok());
    EXPECT_EQ(lost.out().text(), "last words\n") << "what had arrived is kept";
    code_result next = co_await runner.run_code(code_request("1+1"));
    EXPECT_EQ(value_of(next), "2");
    EXPECT_TRUE(next.driver_restarted());
    code_result after = co_await runner.run_code(code_request("'x' in globals()").context("c"));
    EXPECT_EQ(value_of(after), "false");
    EXPECT_FALSE(after.driver_restarted());
  });
}

TEST(PythonRun, a_killed_nursery_is_told_and_started_again) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result lost =
        co_await runner.run_code(code_request(std::string(ancestors) + "os.kill(nursery, 9)\ntime.sleep(10)"));
    EXPECT_EQ(lost.kind(), error_kind::execution_error) << all_of(lost);
    code_result next = co_await runner.run_code(code_request("1+1"));
    EXPECT_EQ(value_of(next), "2");
    EXPECT_TRUE(next.driver_restarted());
  });
}

TEST(PythonRun, a_killed_monitor_takes_its_run_along_and_nothing_else) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result context = co_await runner.run_code(code_request("x = 1").context("c"));
    code_result lost = co_await runner.run_code(
        code_request(std::string(ancestors) +
                     "import ctypes, subprocess\nctypes.CDLL(None).prctl(1, 0)\n"  // no signal at its parent's death
                     "subprocess.Popen(['setsid', 'sleep', '1000'])\nos.kill(monitor, 9)\ntime.sleep(1000)"));
    EXPECT_EQ(lost.term_signal(), 9) << all_of(lost);
    EXPECT_LT(lost.duration(), 25s);
    code_result kept = co_await runner.run_code(code_request("x").context("c"));
    EXPECT_EQ(value_of(kept), "1");
    EXPECT_FALSE(kept.driver_restarted());
  });
}

TEST(PythonRun, a_driver_that_is_stopped_is_ended_after_the_runs_limit) {
  with_python(python().interrupt_grace(0ms), [](python_here& runner) -> awaitable<void> {
    code_result lost = co_await runner.run_code(
        code_request(std::string(ancestors) + "os.kill(driver, signal.SIGSTOP)\ntime.sleep(1000)").timeout(500ms));
    EXPECT_EQ(lost.kind(), error_kind::timeout) << all_of(lost);
    code_result next = co_await runner.run_code(code_request("1+1"));
    EXPECT_EQ(value_of(next), "2");
    EXPECT_TRUE(next.driver_restarted());
  });
}

TEST(PythonRun, closing_ends_what_runs) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    side_run concurrent(executor);
    concurrent.start(runner.run_code(code_request("open('mark', 'w').close()\nwhile True: pass")));
    co_await until_there(runner, "mark");
    co_await runner.close();
    co_await concurrent.join();
    EXPECT_TRUE(concurrent.failure);
    try {
      if (concurrent.failure) std::rethrow_exception(concurrent.failure);
    } catch (const cofferdam::error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::environment_closed);
    }
  });
}
