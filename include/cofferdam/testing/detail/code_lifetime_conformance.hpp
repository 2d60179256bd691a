// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/testing/detail/code_conformance_base.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The tests of named contexts (Python globals that are kept from run to run), for runners that have them.
template <class Backend>
class code_context_conformance : public detail::runner_conformance<Backend> {};
TYPED_TEST_SUITE_P(code_context_conformance);

/// The tests of time limits, cancellation and closing.
template <class Backend>
class code_deadline_conformance : public detail::runner_conformance<Backend> {};
TYPED_TEST_SUITE_P(code_deadline_conformance);

/// The tests of files that the code writes.
template <class Backend>
class code_file_conformance : public detail::runner_conformance<Backend> {};
TYPED_TEST_SUITE_P(code_file_conformance);

/// The tests of processes and threads that the code starts, for runners whose code can start them.
template <class Backend>
class code_process_conformance : public detail::runner_conformance<Backend> {};
TYPED_TEST_SUITE_P(code_process_conformance);

// ---- contexts ------------------------------------------------------------------------------------------------------

TYPED_TEST_P(code_context_conformance, globals_live_from_run_to_run_and_not_elsewhere) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result set =
        co_await runner.run_code(code_request("import math\nx = 5\ndef f(): return x + 1").context("one"));
    EXPECT_TRUE(set.ok()) << detail::told(set);
    code_result same = co_await runner.run_code(code_request("x += 1\n[f(), math.floor(1.5)]").context("one"));
    EXPECT_EQ(detail::value_text(same), "[7,1]") << detail::told(same);
    code_result other = co_await runner.run_code(code_request("'x' in globals()").context("two"));
    EXPECT_EQ(detail::value_text(other), "false");
    code_result fresh = co_await runner.run_code(code_request("'x' in globals()"));
    EXPECT_EQ(detail::value_text(fresh), "false");
    code_result still = co_await runner.run_code(code_request("x").context("one"));
    EXPECT_EQ(detail::value_text(still), "6");
    co_await runner.end_context("one");
    co_await runner.end_context("two");
  });
}

TYPED_TEST_P(code_context_conformance, are_listed_and_ended) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result a = co_await runner.run_code(code_request("x = 1").context("first"));
    code_result b = co_await runner.run_code(code_request("x = 2").context("sec\xc3\xb6nd"));
    EXPECT_TRUE(a.ok() && b.ok()) << detail::told(b);
    std::vector<std::string> names = co_await runner.contexts();
    const std::vector<std::string> expected{"first", "sec\xc3\xb6nd"};
    EXPECT_EQ(names, expected);
    bool found = co_await runner.end_context("first");
    EXPECT_TRUE(found);
    bool again = co_await runner.end_context("first");
    EXPECT_FALSE(again);
    code_result anew = co_await runner.run_code(code_request("'x' in globals()").context("first"));
    EXPECT_EQ(detail::value_text(anew), "false");
    co_await runner.end_context("first");
    co_await runner.end_context("sec\xc3\xb6nd");
    std::vector<std::string> none = co_await runner.contexts();
    EXPECT_TRUE(none.empty());
  });
}

TYPED_TEST_P(code_context_conformance, an_exception_or_exit_leaves_them_as_they_are) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result set = co_await runner.run_code(code_request("x = [1]\nraise ValueError(x)").context("c"));
    EXPECT_FALSE(set.context_lost());
    code_result exits = co_await runner.run_code(code_request("x.append(2)\nimport sys\nsys.exit(3)").context("c"));
    EXPECT_EQ(exits.exit_code(), 3);
    EXPECT_FALSE(exits.context_lost());
    code_result syntax = co_await runner.run_code(code_request("x = (").context("c"));
    EXPECT_EQ(detail::failure_type(syntax), "SyntaxError");
    code_result after = co_await runner.run_code(code_request("x").context("c"));
    EXPECT_EQ(detail::value_text(after), "[1,2]") << detail::told(after);
    co_await runner.end_context("c");
  });
}

TYPED_TEST_P(code_context_conformance, one_that_takes_too_long_is_interrupted_and_keeps_what_it_knows) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result set = co_await runner.run_code(code_request("x = 5").context("slow").timeout(detail::long_limit));
    EXPECT_TRUE(set.ok()) << detail::told(set);
    code_request endless("print('begun')\nwhile True:\n  pass");
    code_result late = co_await runner.run_code(endless.context("slow").timeout(std::chrono::seconds(1)));
    EXPECT_EQ(late.kind(), error_kind::timeout) << detail::told(late);
    EXPECT_EQ(late.out().text(), "begun\n");
    code_result after = co_await runner.run_code(code_request("x").context("slow").timeout(detail::long_limit));
    // On a very busy machine the interruption may have come too late; the runner then reports the context as lost.
    EXPECT_EQ(detail::value_text(after), late.context_lost() ? "(none)" : "5") << detail::told(after);
    co_await runner.end_context("slow");
  });
}

TYPED_TEST_P(code_context_conformance, one_that_will_not_be_interrupted_is_lost_and_says_so) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request endless(
        "x = 5\nprint('begun')\nwhile True:\n  try:\n    while True:\n      pass\n  except BaseException:\n    pass");
    code_result late = co_await runner.run_code(endless.context("stubborn").timeout(std::chrono::seconds(1)));
    EXPECT_EQ(late.kind(), error_kind::timeout) << detail::told(late);
    EXPECT_EQ(late.out().text(), "begun\n");
    EXPECT_TRUE(late.context_lost());
    code_request next("'x' in globals()");
    code_result after = co_await runner.run_code(next.context("stubborn").timeout(detail::long_limit));
    EXPECT_EQ(detail::value_text(after), "false") << detail::told(after);
    co_await runner.end_context("stubborn");
  });
}

TYPED_TEST_P(code_context_conformance, runs_of_one_wait_for_each_other) {
  this->with([](auto& runner) -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto values = std::make_shared<std::vector<std::string>>();
    for (int i = 0; i < 5; ++i) {
      code_request request("import time\nn = globals().get('n', 0)\ntime.sleep(0.05)\nn += 1\nn");
      request.context("queue").timeout(detail::long_limit);
      auto work = [](auto& with, code_request what, auto told) -> awaitable<void> {
        code_result result = co_await with.run_code(what);
        told->push_back(detail::value_text(result));
      };
      asio::co_spawn(executor, work(runner, request, values), &detail::expect_no_exception);
    }
    const auto limit = std::chrono::steady_clock::now() + detail::long_limit;
    while (values->size() < 5 && std::chrono::steady_clock::now() < limit)
      co_await detail::sleep_for(std::chrono::milliseconds(10));
    std::sort(values->begin(), values->end());
    const std::vector<std::string> expected{"1", "2", "3", "4", "5"};
    EXPECT_EQ(*values, expected);
    co_await runner.end_context("queue");
  });
}

TYPED_TEST_P(code_context_conformance, failures_show_the_source_of_earlier_runs) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(code_request("def broken():\n    return 1 / 0").context("source"));
    EXPECT_TRUE(first.ok());
    code_result two = co_await runner.run_code(code_request("\n\nbroken()").context("source"));
    EXPECT_NE(two.err().text().find("return 1 / 0"), std::string::npos) << detail::told(two);
    EXPECT_EQ(two.failure() ? two.failure()->line() : 0, 3);
    co_await runner.end_context("source");
  });
}

TYPED_TEST_P(code_context_conformance, awaits_share_one_event_loop) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(
        code_request("import asyncio\nqueue = asyncio.Queue()\nawait queue.put(7)").context("loop"));
    EXPECT_TRUE(first.ok()) << detail::told(first);
    code_result two = co_await runner.run_code(code_request("await queue.get()").context("loop"));
    EXPECT_EQ(detail::value_text(two), "7") << detail::told(two);
    co_await runner.end_context("loop");
  });
}

// ---- limits --------------------------------------------------------------------------------------------------------

TYPED_TEST_P(code_deadline_conformance, an_endless_loop_is_ended_and_the_next_run_works) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request endless("print('begun', flush=True)\nwhile True:\n  pass");
    code_result late = co_await runner.run_code(endless.timeout(std::chrono::seconds(1)));
    EXPECT_EQ(late.kind(), error_kind::timeout) << detail::told(late);
    EXPECT_FALSE(late.ok());
    EXPECT_EQ(late.exit_code(), -1);
    EXPECT_EQ(late.out().text(), "begun\n");
    code_result after = co_await runner.run_code(code_request("'next'").timeout(detail::long_limit));
    EXPECT_EQ(detail::value_text(after), R"("next")") << detail::told(after);
  });
}

TYPED_TEST_P(code_deadline_conformance, a_loop_that_catches_everything_is_ended) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request endless("while True:\n  try:\n    while True:\n      pass\n  except BaseException:\n    pass");
    code_result late = co_await runner.run_code(endless.timeout(std::chrono::seconds(1)));
    EXPECT_EQ(late.kind(), error_kind::timeout) << detail::told(late);
    code_result after = co_await runner.run_code(code_request("1").timeout(detail::long_limit));
    EXPECT_TRUE(after.ok()) << detail::told(after);
  });
}

TYPED_TEST_P(code_deadline_conformance, what_never_returns_to_the_interpreter_is_ended) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request endless("import re\nre.match('(a+)+$', 'a' * 60 + 'b')");
    code_result late = co_await runner.run_code(endless.timeout(std::chrono::seconds(1)));
    EXPECT_EQ(late.kind(), error_kind::timeout) << detail::told(late);
    code_result after = co_await runner.run_code(code_request("1").timeout(detail::long_limit));
    EXPECT_TRUE(after.ok()) << detail::told(after);
  });
}

TYPED_TEST_P(code_deadline_conformance, sleep_is_ended) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request sleeps("import time\ntime.sleep(1000)");
    code_result late = co_await runner.run_code(sleeps.timeout(std::chrono::seconds(1)));
    EXPECT_EQ(late.kind(), error_kind::timeout) << detail::told(late);
    EXPECT_LT(late.duration(), std::chrono::seconds(60));
    code_result after = co_await runner.run_code(code_request("1").timeout(detail::long_limit));
    EXPECT_TRUE(after.ok()) << detail::told(after);
  });
}

TYPED_TEST_P(code_deadline_conformance, a_sleeping_main_function_of_asyncio_is_ended) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::string code = "import asyncio\nasync def main():\n  await asyncio.sleep(1000)\nasyncio.run(main())";
    const std::string next = "import asyncio\nasyncio.run(asyncio.sleep(0, 7))";
    code_result late = co_await runner.run_code(code_request(code).timeout(std::chrono::seconds(1)));
    EXPECT_EQ(late.kind(), error_kind::timeout) << detail::told(late);
    EXPECT_LT(late.duration(), std::chrono::seconds(60));
    code_result after = co_await runner.run_code(code_request(next).timeout(detail::long_limit));
    EXPECT_EQ(detail::value_text(after), "7") << detail::told(after);
  });
}

TYPED_TEST_P(code_deadline_conformance, a_flood_without_end_is_ended_and_its_output_bounded) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request flood("while True:\n  print('x' * 10_000)");
    code_result late = co_await runner.run_code(flood.timeout(std::chrono::seconds(2)).keep_output(10'000));
    EXPECT_EQ(late.kind(), error_kind::timeout) << late.reason();
    EXPECT_GT(late.out().total(), 10'000U);
    EXPECT_LE(late.out().text().size(), 11'000U);
    code_result after = co_await runner.run_code(code_request("1").timeout(detail::long_limit));
    EXPECT_TRUE(after.ok()) << detail::told(after);
  });
}

TYPED_TEST_P(code_deadline_conformance, a_cancelled_run_is_ended_and_its_output_kept) {
  this->with([](auto& runner) -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto stop = std::make_shared<asio::cancellation_signal>();
    const auto ended = std::make_shared<bool>(false);
    auto work = [](auto& with, std::shared_ptr<asio::cancellation_signal> to_stop,
                   std::shared_ptr<bool> over) -> awaitable<void> {
      code_request endless("print('begun', flush=True)\nwhile True:\n  pass");
      endless.timeout(detail::long_limit);
      const auto tell = [to_stop](output_stream, bytes_view) { to_stop->emit(asio::cancellation_type::terminal); };
      endless.on_output(tell);
      try {
        code_result result = co_await with.run_code(endless);
        ADD_FAILURE() << "a cancelled run has a result: " << detail::told(result);
      } catch (const error& failure) {
        EXPECT_EQ(failure.code(), make_error_code(exec_errc::cancelled)) << failure.what();
        const auto partial = failure.partial();
        EXPECT_TRUE(partial != nullptr && partial->out().text() == "begun\n");
      }
      *over = true;
    };
    asio::co_spawn(executor, work(runner, stop, ended),
                   asio::bind_cancellation_slot(stop->slot(), &detail::expect_no_exception));
    const auto limit = std::chrono::steady_clock::now() + detail::long_limit;
    while (!*ended && std::chrono::steady_clock::now() < limit)
      co_await detail::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(*ended);
    code_result after = co_await runner.run_code(code_request("1").timeout(detail::long_limit));
    EXPECT_TRUE(after.ok()) << detail::told(after);
  });
}

TYPED_TEST_P(code_deadline_conformance, closing_ends_what_runs) {
  this->with_own([](auto& runner) -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto ended = std::make_shared<bool>(false);
    const auto begun = std::make_shared<bool>(false);
    auto work = [](auto& with, std::shared_ptr<bool> started, std::shared_ptr<bool> over) -> awaitable<void> {
      code_request endless("print('begun', flush=True)\nwhile True:\n  pass");
      const auto tell = [started](output_stream, bytes_view) { *started = true; };
      endless.timeout(detail::long_limit).on_output(tell);
      try {
        code_result result = co_await with.run_code(endless);
        EXPECT_FALSE(result.ok());
      } catch (const error& failure) {
        EXPECT_EQ(failure.code(), make_error_code(exec_errc::environment_closed)) << failure.what();
      }
      *over = true;
    };
    asio::co_spawn(executor, work(runner, begun, ended), &detail::expect_no_exception);
    const auto limit = std::chrono::steady_clock::now() + detail::long_limit;
    // A backend may send the output only after the run, so the wait for it is far shorter than the run's own limit.
    const auto patience = std::chrono::steady_clock::now() + detail::long_limit / 10;
    while (!*begun && std::chrono::steady_clock::now() < patience)
      co_await detail::sleep_for(std::chrono::milliseconds(10));
    co_await runner.close();
    while (!*ended && std::chrono::steady_clock::now() < limit)
      co_await detail::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(*ended);
  });
}

TYPED_TEST_P(code_deadline_conformance, a_closed_runner_says_so) {
  this->with_own([](auto& runner) -> awaitable<void> {
    code_result works = co_await runner.run_code(code_request("1"));
    EXPECT_TRUE(works.ok()) << detail::told(works);
    co_await runner.close();
    co_await runner.close();
    auto late = [&runner]() -> awaitable<void> { co_await runner.run_code(code_request("1")); };
    co_await detail::expect_error(late, exec_errc::environment_closed, "run_code after close");
  });
}

TYPED_TEST_P(code_deadline_conformance, many_runs_at_once_do_not_mix) {
  this->with([](auto& runner) -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto done = std::make_shared<int>(0);
    for (int i = 0; i < 8; ++i) {
      auto work = [](auto& with, int number, std::shared_ptr<int> over) -> awaitable<void> {
        code_request request("import time\ny = x\nfor i in range(20):\n  print(x)\n  time.sleep(0.005)\n[x == y, x]");
        request.variable("x", number).timeout(detail::long_limit);
        code_result result = co_await with.run_code(request);
        std::string expected;
        for (int line = 0; line < 20; ++line) expected += std::to_string(number) + "\n";
        EXPECT_EQ(result.out().text(), expected);
        EXPECT_EQ(detail::value_text(result), "[true," + std::to_string(number) + "]") << detail::told(result);
        ++*over;
      };
      asio::co_spawn(executor, work(runner, i, done), &detail::expect_no_exception);
    }
    const auto limit = std::chrono::steady_clock::now() + detail::long_limit;
    while (*done < 8 && std::chrono::steady_clock::now() < limit)
      co_await detail::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(*done, 8);
  });
}

// ---- files ---------------------------------------------------------------------------------------------------------

TYPED_TEST_P(code_file_conformance, new_and_changed_files_are_told_with_their_sizes) {
  this->with_own([](auto& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(
        code_request("import os\nos.makedirs('a/b')\nopen('a/b/deep.bin', 'wb').write(bytes(1000))\n"
                     "open('one.txt', 'w').write('1')\nopen('gone', 'w').close()\nos.remove('gone')"));
    EXPECT_TRUE(first.ok()) << detail::told(first);
    EXPECT_TRUE(first.files_are_complete());
    EXPECT_EQ(first.files().size(), 2U);
    if (first.files().size() != 2) co_return;
    EXPECT_EQ(first.files()[0].path(), "a/b/deep.bin");
    EXPECT_EQ(first.files()[0].size(), 1000U);
    EXPECT_TRUE(first.files()[0].is_new());
    EXPECT_EQ(first.files()[1].path(), "one.txt");
    code_result second =
        co_await runner.run_code(code_request("open('one.txt', 'a').write('more')\nopen('one.txt').read()"));
    EXPECT_EQ(detail::value_text(second), R"("1more")") << detail::told(second);
    EXPECT_EQ(second.files().size(), 1U);
    if (second.files().size() != 1) co_return;
    EXPECT_EQ(second.files()[0].size(), 5U);
    EXPECT_FALSE(second.files()[0].is_new());
    code_result third = co_await runner.run_code(code_request("open('one.txt').read()"));
    EXPECT_TRUE(third.files().empty());
  });
}

TYPED_TEST_P(code_file_conformance, files_of_a_run_that_failed_are_told) {
  this->with_own([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("open('kept', 'w').write('x')\n1/0"));
    EXPECT_EQ(result.files().size(), 1U) << detail::told(result);
    code_result next = co_await runner.run_code(code_request("open('kept').read()"));
    EXPECT_EQ(detail::value_text(next), R"("x")");
  });
}

TYPED_TEST_P(code_file_conformance, odd_names_are_told_and_links_are_not_followed) {
  this->with_own([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request(
        "import os\nopen('a b\\n\\u20ac', 'w').write('x')\nos.symlink('/', 'root')\nos.symlink('a', 'dangling')"));
    EXPECT_TRUE(result.ok()) << detail::told(result);
    EXPECT_EQ(result.files().size(), 1U);
    if (result.files().size() != 1) co_return;
    EXPECT_EQ(result.files()[0].path(), "a b\n\xe2\x82\xac");
  });
}

TYPED_TEST_P(code_file_conformance, a_temporary_file_can_be_made) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request(
        "import tempfile\nwith tempfile.TemporaryFile() as f:\n  f.write(b'x')\n  f.seek(0)\n  y = f.read()\ny"));
    EXPECT_EQ(detail::value_text(result), R"({"$python":"bytes","base64":"eA=="})") << detail::told(result);
  });
}

// ---- processes -----------------------------------------------------------------------------------------------------

TYPED_TEST_P(code_process_conformance, an_end_without_ceremony_is_an_end) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result at_once = co_await runner.run_code(code_request("import os; print('x', flush=True); os._exit(3)"));
    EXPECT_EQ(at_once.exit_code(), 3) << detail::told(at_once);
    EXPECT_EQ(at_once.out().text(), "x\n");
    code_result killed = co_await runner.run_code(code_request("import os; os.kill(os.getpid(), 9)"));
    EXPECT_EQ(killed.term_signal(), 9) << detail::told(killed);
    code_result after = co_await runner.run_code(code_request("1"));
    EXPECT_TRUE(after.ok()) << detail::told(after);
    EXPECT_FALSE(after.driver_restarted());
  });
}

TYPED_TEST_P(code_process_conformance, commands_can_be_started) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(
        code_request("import subprocess\nsubprocess.run(['sh', '-c', 'echo out; echo err >&2; exit 4']).returncode"));
    EXPECT_EQ(detail::value_text(result), "4") << detail::told(result);
    EXPECT_EQ(result.out().text(), "out\n");
    EXPECT_EQ(result.err().text(), "err\n");
  });
}

TYPED_TEST_P(code_process_conformance, threads_are_waited_for) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request(
        "import threading, time\ndef f():\n  time.sleep(0.2)\n  print('late')\nthreading.Thread(target=f).start()"));
    EXPECT_EQ(result.out().text(), "late\n") << detail::told(result);
  });
}

TYPED_TEST_P(code_process_conformance, a_fork_of_the_codes_own_does_not_report) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request(
        "import os\npid = os.fork()\nif pid == 0:\n  raise ValueError('child')\nos.waitpid(pid, 0)[1] >> 8"));
    EXPECT_EQ(detail::value_text(result), "1") << detail::told(result);
    EXPECT_FALSE(result.failure());
  });
}

TYPED_TEST_P(code_process_conformance, pools_of_processes_work) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result pool = co_await runner.run_code(
        code_request(
            "from multiprocessing import Pool\ndef f(x): return x * x\nwith Pool(2) as p: r = p.map(f, [2, 3])\nr")
            .timeout(std::chrono::seconds(20)));
    EXPECT_EQ(detail::value_text(pool), "[4,9]") << detail::told(pool);
    code_result executor = co_await runner.run_code(
        code_request("from concurrent.futures import ProcessPoolExecutor\ndef f(x): return x + 1\n"
                     "with ProcessPoolExecutor(2) as p: r = list(p.map(f, [2, 3]))\nr")
            .timeout(std::chrono::seconds(20)));
    EXPECT_EQ(detail::value_text(executor), "[3,4]") << detail::told(executor);
  });
}

TYPED_TEST_P(code_process_conformance, what_a_run_has_left_is_ended_with_it) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(
        code_request("import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True).pid"));
    EXPECT_TRUE(first.ok()) << detail::told(first);
    code_request looks(
        "def alive(pid):\n  try:\n    with open('/proc/%d/stat' % pid) as f:\n      return "
        "f.read().split(')')[-1].split()[0] != 'Z'\n"
        "  except OSError:\n    return False\nalive(pid)");
    looks.variable("pid", first.value().value_or(0));
    code_result second = co_await runner.run_code(looks);
    EXPECT_EQ(detail::value_text(second), "false") << detail::told(second);
  });
}

REGISTER_TYPED_TEST_SUITE_P(code_context_conformance, globals_live_from_run_to_run_and_not_elsewhere,
                            are_listed_and_ended, an_exception_or_exit_leaves_them_as_they_are,
                            one_that_takes_too_long_is_interrupted_and_keeps_what_it_knows,
                            one_that_will_not_be_interrupted_is_lost_and_says_so, runs_of_one_wait_for_each_other,
                            failures_show_the_source_of_earlier_runs, awaits_share_one_event_loop);

REGISTER_TYPED_TEST_SUITE_P(code_deadline_conformance, an_endless_loop_is_ended_and_the_next_run_works,
                            a_loop_that_catches_everything_is_ended, what_never_returns_to_the_interpreter_is_ended,
                            sleep_is_ended, a_sleeping_main_function_of_asyncio_is_ended,
                            a_flood_without_end_is_ended_and_its_output_bounded,
                            a_cancelled_run_is_ended_and_its_output_kept, closing_ends_what_runs,
                            a_closed_runner_says_so, many_runs_at_once_do_not_mix);

REGISTER_TYPED_TEST_SUITE_P(code_file_conformance, new_and_changed_files_are_told_with_their_sizes,
                            files_of_a_run_that_failed_are_told, odd_names_are_told_and_links_are_not_followed,
                            a_temporary_file_can_be_made);

REGISTER_TYPED_TEST_SUITE_P(code_process_conformance, an_end_without_ceremony_is_an_end, commands_can_be_started,
                            pools_of_processes_work, threads_are_waited_for, a_fork_of_the_codes_own_does_not_report,
                            what_a_run_has_left_is_ended_with_it);

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
