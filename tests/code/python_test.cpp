// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/file_operations.hpp>

#include "code/python_support.hpp"
#include "support/error_of.hpp"
#include "support/require.hpp"
#include "support/spawn.hpp"

#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
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
using cofferdam_test::code_of;
using cofferdam_test::python_folder;
using cofferdam_test::python_here;
using cofferdam_test::run;
using cofferdam_test::run_python;
using cofferdam_test::sentence_of;
using cofferdam_test::value_of;
using cofferdam_test::with_python;
using namespace std::chrono_literals;

using local_python = decltype(cofferdam::local() | python());
static_assert(cofferdam::code_runner_provider<local_python>);
static_assert(cofferdam::context_runner<cofferdam::runner_of<local_python>>);
static_assert(cofferdam::context_runner<cofferdam::any_runner>);
static_assert(cofferdam::code_runner_provider<cofferdam::any_runner_provider>);
static_assert(!cofferdam::code_exec_environment<python_here>);

/// Returns the number of `sleep` processes among the guests in this folder.
std::ptrdiff_t sleepers(const python_folder& folder) {
  const std::vector<cofferdam_test::process_entry> guests = cofferdam_test::guests_of(folder.path());
  return std::count_if(guests.begin(), guests.end(),
                       [](const cofferdam_test::process_entry& entry) { return entry.name == "sleep"; });
}

}  // namespace

TEST(Python, prints_and_yields_the_value_of_the_last_expression) {
  const code_result result = run_python(code_request("import sys\nprint('hi')\nprint('no', file=sys.stderr)\n6 * 7"));
  EXPECT_TRUE(result.ok()) << all_of(result);
  EXPECT_EQ(result.out().text(), "hi\n");
  EXPECT_EQ(result.err().text(), "no\n");
  EXPECT_EQ(value_of(result), "42");
  EXPECT_TRUE(result.value_is_exact());
  EXPECT_EQ(result.value_text(), "42");
  EXPECT_EQ(result.exit_code(), 0);
  EXPECT_GT(result.duration(), 0ns);
  ASSERT_EQ(result.displays().size(), 1U);
  EXPECT_TRUE(result.displays()[0].is_value());
  EXPECT_EQ(result.displays()[0].forms().at("text/plain"), "42");
}

TEST(Python, a_statement_at_the_end_has_no_value) {
  const code_result result = run_python(code_request("x = 1"));
  EXPECT_TRUE(result.ok()) << all_of(result);
  EXPECT_FALSE(result.value());
  EXPECT_TRUE(result.displays().empty());
}

TEST(Python, every_run_begins_with_fresh_globals) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(code_request("secret = 5\nimport json\njson.mine = 1"));
    EXPECT_TRUE(first.ok()) << all_of(first);
    code_result second =
        co_await runner.run_code(code_request("import json\n'secret' in globals(), hasattr(json, 'mine')"));
    EXPECT_EQ(value_of(second), R"({"$python":"tuple","items":[false,false]})");
  });
}

TEST(Python, what_was_rehearsed_before_a_run_has_left_nothing_in_it) {
  const code_result names = run_python(code_request("sorted(name for name in globals() if not name.startswith('__'))"));
  EXPECT_EQ(names.value_text(), "['display']");
  const code_result sources =
      run_python(code_request("import linecache\n[name for name in linecache.cache if name.startswith('<code')]"));
  EXPECT_EQ(sources.value_text(), "['<code>']");
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    const code_result first = co_await runner.run_code(code_request("'_' in globals()").context("mine"));
    EXPECT_EQ(first.value_text(), "False");
    const code_result where = co_await runner.run_code(code_request("1/0").context("mine"));
    EXPECT_NE(where.failure()->traceback().find("<code 2>"), std::string::npos) << where.failure()->traceback();
  });
}

TEST(Python, ends_of_every_kind_are_results) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result zero = co_await runner.run_code(code_request("print('before')\n\n1/0"));
    EXPECT_FALSE(zero.ok());
    EXPECT_EQ(zero.exit_code(), 1);
    EXPECT_EQ(zero.kind(), error_kind::none);
    EXPECT_EQ(zero.out().text(), "before\n");
    EXPECT_TRUE(zero.failure().has_value());
    if (!zero.failure()) co_return;
    EXPECT_EQ(zero.failure()->type(), "ZeroDivisionError");
    EXPECT_EQ(zero.failure()->message(), "division by zero");
    EXPECT_EQ(zero.failure()->line(), 3);
    EXPECT_EQ(zero.failure()->traceback(), zero.err().text());
    EXPECT_NE(zero.failure()->traceback().find("    1/0\n"), std::string::npos);
    EXPECT_EQ(zero.failure()->traceback().find("driver"), std::string::npos);

    code_result syntax = co_await runner.run_code(code_request("x = 1\ny = (\n"));
    EXPECT_EQ(syntax.failure() ? syntax.failure()->type() : "", "SyntaxError");
    EXPECT_EQ(syntax.failure() ? syntax.failure()->line() : 0, 2);
    EXPECT_EQ(syntax.exit_code(), 1);

    code_result leaves = co_await runner.run_code(code_request("import sys; sys.exit()"));
    EXPECT_TRUE(leaves.ok()) << all_of(leaves);
    code_result three = co_await runner.run_code(code_request("raise SystemExit(3)"));
    EXPECT_FALSE(three.ok());
    EXPECT_EQ(three.exit_code(), 3);
    EXPECT_EQ(three.failure() ? three.failure()->type() : "", "SystemExit");
    code_result worded = co_await runner.run_code(code_request("import sys; sys.exit('bye')"));
    EXPECT_EQ(worded.exit_code(), 1);
    EXPECT_EQ(worded.err().text(), "bye\n");

    code_result at_once = co_await runner.run_code(code_request("import os; print('x'); os._exit(3)"));
    EXPECT_EQ(at_once.exit_code(), 3);
    EXPECT_EQ(at_once.out().text(), "x\n");
    EXPECT_FALSE(at_once.failure());
    code_result killed = co_await runner.run_code(code_request("import os; os.kill(os.getpid(), 9)"));
    EXPECT_EQ(killed.term_signal(), 9);
    EXPECT_EQ(killed.exit_code(), -1);
    EXPECT_EQ(killed.kind(), error_kind::none);

    code_result interrupt = co_await runner.run_code(code_request("raise KeyboardInterrupt"));
    EXPECT_EQ(interrupt.exit_code(), 130);
    code_result deep = co_await runner.run_code(code_request("def f(): f()\nf()"));
    EXPECT_EQ(deep.failure() ? deep.failure()->type() : "", "RecursionError");
    code_result odd = co_await runner.run_code(
        code_request("class odd(Exception):\n  def __str__(self): raise ValueError\nraise odd()"));
    EXPECT_EQ(odd.failure() ? odd.failure()->type() : "", "odd");

    code_result after = co_await runner.run_code(code_request("'still here'"));
    EXPECT_EQ(value_of(after), "\"still here\"");
    EXPECT_FALSE(after.driver_restarted());
  });
}

TEST(Python, memory_that_is_not_there_is_a_memory_error) {
  const code_result result = run_python(code_request("x = bytearray(1 << 40)"), python().memory_limit(1U << 30U));
  EXPECT_EQ(result.failure() ? result.failure()->type() : "", "MemoryError") << all_of(result);
  const code_result file =
      run_python(code_request("with open('big', 'wb') as f: f.write(b'x' * 2000)"), python().file_size_limit(1000));
  EXPECT_EQ(file.failure() ? file.failure()->type() : "", "OSError") << all_of(file);
}

TEST(Python, a_run_that_takes_too_long_is_killed_with_all_it_started) {
  const python_folder folder;
  auto provider = folder.provider() | python();
  run([&]() -> awaitable<void> {
    co_await cofferdam::with(provider, [&](python_here& runner) -> awaitable<void> {
      code_result warm = co_await runner.run_code(code_request("1"));
      EXPECT_TRUE(warm.ok());
      code_result result = co_await runner.run_code(
          code_request("import subprocess\nprint('began')\n"
                       "subprocess.Popen('sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &)', shell=True)\n"
                       "while True: pass")
              .timeout(500ms));
      EXPECT_EQ(result.kind(), error_kind::timeout) << all_of(result);
      EXPECT_EQ(result.out().text(), "began\n");
      EXPECT_FALSE(result.ok());
      EXPECT_TRUE(cofferdam_test::eventually([&] { return sleepers(folder) == 0; }));
      code_result next = co_await runner.run_code(code_request("1+1"));
      EXPECT_EQ(value_of(next), "2");
      EXPECT_FALSE(next.driver_restarted());
    });
  });
}

TEST(Python, what_a_run_leaves_behind_ends_with_it) {
  const python_folder folder;
  auto provider = folder.provider() | python();
  run([&]() -> awaitable<void> {
    co_await cofferdam::with(provider, [&](python_here& runner) -> awaitable<void> {
      code_result warm = co_await runner.run_code(code_request("1"));
      for (int i = 0; i < 3; ++i) {
        code_result result = co_await runner.run_code(code_request(
            "import subprocess\nsubprocess.Popen('(setsid sleep 1000 &) ; setsid sleep 1000 &', shell=True)\n"
            "import os\nos._exit(4)"));
        EXPECT_EQ(result.exit_code(), 4) << all_of(result);
      }
      code_result stays = co_await runner.run_code(
          code_request("import subprocess\nsubprocess.Popen(['setsid', 'sleep', '1000'])").context("c"));
      EXPECT_TRUE(stays.ok()) << all_of(stays);
      EXPECT_TRUE(cofferdam_test::eventually([&] { return sleepers(folder) == 1; })) << "a context keeps what it began";
      const bool ended = co_await runner.end_context("c");
      EXPECT_TRUE(ended);
      EXPECT_TRUE(cofferdam_test::eventually([&] { return sleepers(folder) == 0; }));
    });
  });
}

TEST(Python, a_hundred_megabytes_are_counted_and_not_kept) {
  const code_result result =
      run_python(code_request("import sys\nfor i in range(100): sys.stdout.write('x' * (1 << 20))\nprint('end')")
                     .keep_output(1000));
  EXPECT_TRUE(result.ok()) << all_of(result);
  EXPECT_EQ(result.out().total(), 100U * 1024 * 1024 + 4);
  EXPECT_EQ(result.out().head().size() + result.out().tail().size(), 1000U);
  EXPECT_TRUE(result.out().text().ends_with("end\n"));
}

TEST(Python, output_that_is_no_utf8_is_kept_as_it_is) {
  const code_result result =
      run_python(code_request("import sys\nsys.stdout.buffer.write(bytes(range(256)))\nsys.stdout.flush()\n"
                              "print('\\udcff')\nsys.stderr.write('\\ud800')"));
  EXPECT_TRUE(result.ok()) << all_of(result);
  EXPECT_EQ(result.out().total(), 256U + 2);
  EXPECT_EQ(std::to_integer<int>(result.out().head()[255]), 255);
  EXPECT_EQ(std::to_integer<int>(result.out().head()[256]), 255);
  EXPECT_EQ(result.err().text(), "\\ud800");
}

TEST(Python, code_that_is_no_utf8_is_refused) {
  const code_result result = run_python(code_request("x = '\xff'"));
  EXPECT_EQ(result.kind(), error_kind::invalid_argument);
  const code_result zero = run_python(code_request(std::string("1\0002", 3)));
  EXPECT_FALSE(zero.ok());
  EXPECT_TRUE(zero.failure()) << all_of(zero);
}

TEST(Python, threads_are_waited_for_and_forks_do_not_report) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result threads = co_await runner.run_code(
        code_request("import threading, time\n"
                     "def later():\n  time.sleep(0.05)\n  print('late')\nthreading.Thread(target=later).start()\n1"));
    EXPECT_TRUE(threads.ok()) << all_of(threads);
    EXPECT_EQ(threads.out().text(), "late\n");
    EXPECT_EQ(value_of(threads), "1");
    code_result forks =
        co_await runner.run_code(code_request("import os, sys\npid = os.fork()\nif pid: os.waitpid(pid, 0)\n"
                                              "print('parent' if pid else 'child')\n'parent' if pid else 'child'"));
    EXPECT_TRUE(forks.ok()) << all_of(forks);
    EXPECT_EQ(forks.out().text(), "child\nparent\n");
    EXPECT_EQ(value_of(forks), "\"parent\"");
    EXPECT_EQ(forks.displays().size(), 1U);
    code_result at_exit = co_await runner.run_code(code_request("import atexit\natexit.register(print, 'bye')\n1"));
    EXPECT_EQ(at_exit.out().text(), "bye\n");
    code_result several = co_await runner.run_code(
        code_request("import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n"
                     "  made = pool.map(abs, [-1, -2])\nmade"));
    EXPECT_EQ(value_of(several), "[1,2]") << all_of(several);
  });
}

TEST(Python, awaits_at_the_top_level) {
  const code_result result =
      run_python(code_request("import asyncio\nawait asyncio.sleep(0)\nawait asyncio.sleep(0, 7)"));
  EXPECT_EQ(value_of(result), "7") << all_of(result);
}

TEST(Python, the_code_is_a_main_module) {
  const code_result result =
      run_python(code_request("import pickle, sys, inspect\nclass c: pass\n"
                              "[__name__, type(pickle.loads(pickle.dumps(c()))) is c, sys.argv, "
                              "inspect.getsource(sys.modules['__main__'].f) if 0 else 1]"));
  EXPECT_EQ(value_of(result), R"(["__main__",true,[""],1])") << all_of(result);
}

TEST(Python, many_runs_at_once_do_not_mix) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    int left = 8;
    asio::steady_timer done(executor, std::chrono::steady_clock::time_point::max());
    for (int i = 0; i < 8; ++i) {
      std::string mark = std::to_string(i);
      auto ended = [&left, &done, mark](std::exception_ptr failure, code_result result) {
        EXPECT_FALSE(failure);
        EXPECT_EQ(result.out().text(), "begin " + mark + "\nend " + mark + "\n");
        EXPECT_EQ(value_of(result), mark);
        if (--left == 0) done.cancel();
      };
      cofferdam_test::spawn(
          executor,
          runner.run_code(
              code_request("import time\nprint('begin', n)\ntime.sleep(0.05)\nprint('end', n)\nn").variable("n", i)),
          std::move(ended));
    }
    std::error_code ignored;
    while (left > 0) co_await done.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  });
}

TEST(Python, new_and_changed_files_are_told_with_their_sizes) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    co_await cofferdam::write_text(runner.environment(), "old.txt", "1");
    co_await cofferdam::write_text(runner.environment(), "same.txt", "1");
    code_result result = co_await runner.run_code(
        code_request("import os\nos.makedirs('a/b')\nopen('a/b/new.bin', 'wb').write(b'12345')\n"
                     "open('old.txt', 'w').write('22')\nopen(b'\\xff', 'w').close()\nopen('same.txt').read()\n"
                     "os.symlink('old.txt', 'link')"));
    EXPECT_TRUE(result.ok()) << all_of(result);
    EXPECT_TRUE(result.files_are_complete());
    EXPECT_EQ(result.files().size(), 3U);
    if (result.files().size() != 3) co_return;
    EXPECT_EQ(result.files()[0].path(), "a/b/new.bin");
    EXPECT_EQ(result.files()[0].size(), 5U);
    EXPECT_TRUE(result.files()[0].is_new());
    EXPECT_EQ(result.files()[1].path(), "old.txt");
    EXPECT_FALSE(result.files()[1].is_new());
    EXPECT_EQ(result.files()[2].path(), "\xff");
    code_result ended =
        co_await runner.run_code(code_request("open('kept', 'w').write('x')\nwhile 1: pass").timeout(300ms));
    EXPECT_EQ(ended.files().size(), 1U) << all_of(ended);
  });
  const code_result many =
      run_python(code_request("for i in range(30): open(str(i), 'w').close()"), python().track_files(10));
  EXPECT_FALSE(many.files_are_complete());
  EXPECT_LE(many.files().size(), 10U);
  const code_result none = run_python(code_request("open('x', 'w').close()"), python().track_files(0));
  EXPECT_TRUE(none.files().empty());
}

TEST(Python, shows_values_in_every_form_they_have) {
  const code_result result = run_python(code_request(
      "class rich:\n  def _repr_html_(self): return '<b>x</b>'\n  def _repr_png_(self): return b'\\x89PNG'\n"
      "  def _repr_svg_(self): raise ValueError\n  def _repr_json_(self): return {'a': 1}\n"
      "  def __repr__(self): return 'rich'\n"
      "class bundle:\n  def _repr_mimebundle_(self, include=None, exclude=None): return {'text/x': 'y'}\n"
      "display(rich(), 5)\nbundle()"));
  EXPECT_TRUE(result.ok()) << all_of(result);
  ASSERT_EQ(result.displays().size(), 3U);
  EXPECT_EQ(result.displays()[0].forms().at("text/html"), "<b>x</b>");
  EXPECT_EQ(result.displays()[0].forms().at("image/png"), "iVBORw==");
  EXPECT_EQ(result.displays()[0].forms().at("application/json"), R"({"a": 1})");
  EXPECT_EQ(result.displays()[0].forms().at("text/plain"), "rich");
  EXPECT_FALSE(result.displays()[0].forms().contains("image/svg+xml"));
  EXPECT_FALSE(result.displays()[0].is_value());
  EXPECT_EQ(result.displays()[1].forms().at("text/plain"), "5");
  EXPECT_EQ(result.displays()[2].forms().at("text/x"), "y");
  EXPECT_TRUE(result.displays()[2].is_value());
  EXPECT_FALSE(result.value_is_exact());
}

TEST(Python, figures_that_nobody_has_shown_are_shown) {
  // A fake of matplotlib: its figures are numbers, and savefig writes a short text as the picture.
  const std::string pyplot =
      "class figure:\n  def __init__(self, n): self.n = n\n"
      "  def savefig(self, to, **how): to.write(b'PNG%d' % self.n)\n"
      "def get_fignums(): return [1, 2]\ndef close(what): pass\n";
  const code_result result =
      run_python(code_request("import matplotlib.pyplot"),
                 python().helper("matplotlib", "__path__ = []").helper("matplotlib.pyplot", pyplot));
  EXPECT_TRUE(result.ok()) << all_of(result);
  ASSERT_EQ(result.displays().size(), 2U);
  EXPECT_EQ(result.displays()[1].forms().at("image/png"), "UE5HMg==");
}

// Feature: B18
TEST(Python, helpers_variables_and_the_work_directory_are_there) {
  const python_folder folder;
  auto provider =
      folder.provider() | python()
                              .helper("kit", "def twice(x):\n  return 2 * x\ndef fails():\n  raise KeyError(1)")
                              .preload("kit", "json", "xml.dom.minidom")
                              .variable("TOKEN", "t")
                              .variable("PYTHONSTARTUP", "no");
  run([&]() -> awaitable<void> {
    co_await cofferdam::with(provider, [](python_here& runner) -> awaitable<void> {
      co_await cofferdam::write_text(runner.environment(), "near.py", "x = 3");
      code_result result = co_await runner.run_code(code_request(
          "import kit, near, os, sys\n[kit.twice(near.x), os.environ['TOKEN'], 'xml.dom.minidom' in sys.modules]"));
      EXPECT_EQ(value_of(result), R"([6,"t",true])") << all_of(result);
      code_result fails = co_await runner.run_code(code_request("import kit\nkit.fails()"));
      EXPECT_NE(fails.err().text().find("raise KeyError(1)"), std::string::npos) << all_of(fails);
      EXPECT_EQ(fails.failure() ? fails.failure()->line() : 0, 2);
      std::vector<cofferdam::directory_entry> left = co_await cofferdam::list_directory(runner.environment(), ".");
      // The folder contains only near.py, and no file of the library.
      EXPECT_EQ(left.size(), 1U);
    });
  });
}

TEST(Python, files_of_a_run_change_no_module_of_later_runs_or_starts) {
  const python_folder folder;
  std::filesystem::create_directories(folder.path() / "ws");
  auto provider = cofferdam::local().without_warning().workspace(folder.path() / "ws") | python().preload("json");
  const std::string look =
      "import colorsys, random, mine\n[hasattr(colorsys, 'rgb_to_hls'), hasattr(random, 'random'), mine.x]";
  run([&]() -> awaitable<void> {
    co_await cofferdam::with(provider, [&](python_here& runner) -> awaitable<void> {
      code_result result = co_await runner.run_code(
          code_request("for name in ('colorsys', 'random', 'json', 'os', 'sitecustomize', 'usercustomize', 'mine'):\n"
                       "  open(name + '.py', 'w').write('x = 5\\nopen(\"run-\" + __name__, \"w\").close()')\n"
                       "open('all.pth', 'w').write('import mine')\n" +
                       look));
      EXPECT_EQ(value_of(result), "[true,true,5]") << all_of(result);
      code_result next = co_await runner.run_code(code_request(look));
      EXPECT_EQ(value_of(next), "[true,true,5]") << all_of(next);
      code_result gone = co_await runner.run_code(code_request("import os\nos.remove('run-mine')"));
      EXPECT_TRUE(gone.ok()) << all_of(gone);
    });
    co_await cofferdam::with(provider, [&](python_here& runner) -> awaitable<void> {
      code_result later = co_await runner.run_code(code_request(
          "import glob, json, os, site, sys\n[glob.glob('run-*'), hasattr(json, 'dumps'), hasattr(os, 'fork'), "
          "sys.path[-1] == os.getcwd()]"));
      EXPECT_EQ(value_of(later), "[[],true,true,true]") << all_of(later);
    });
  });
}

TEST(Python, a_pool_of_processes_knows_the_code_whatever_multiprocessing_would_do) {
  // This setting of multiprocessing is the default of Python 3.14 on Linux, and of older versions on other systems.
  const std::string elsewhere =
      "import sys\nsys.platform = 'darwin'\nimport multiprocessing.context\nsys.platform = 'linux'\n";
  const std::string pool =
      "from multiprocessing import Pool\ndef f(x): return x + 1\nwith Pool(2) as pool: made = pool.map(f, [1, "
      "2])\nmade";
  const code_result lazily = run_python(code_request(elsewhere + pool).timeout(20s));
  EXPECT_EQ(value_of(lazily), "[2,3]") << all_of(lazily);
  const code_result preloaded =
      run_python(code_request(pool).timeout(20s), python().helper("before", elsewhere).preload("before"));
  EXPECT_EQ(value_of(preloaded), "[2,3]") << all_of(preloaded);
  const code_result asked = run_python(code_request(
      elsewhere +
      "import multiprocessing\nmultiprocessing.set_start_method('spawn')\nmultiprocessing.get_start_method()"));
  EXPECT_EQ(value_of(asked), R"("spawn")") << all_of(asked);
}

TEST(Python, what_keeps_it_from_starting_is_said) {
  const auto open = [](python options) {
    return sentence_of([&] { run_python(code_request("1"), std::move(options)); });
  };
  EXPECT_NE(open(python().preload("no_such_module")).find("No module named 'no_such_module'"), std::string::npos);
  EXPECT_NE(open(python().interpreter("no-such-python")).find("no-such-python"), std::string::npos);
  EXPECT_NE(open(python().interpreter("true")).find("ended with exit code 0"), std::string::npos);
  EXPECT_NE(open(python().helper("bad", "import sys; sys.exit(4)").preload("bad")).find("SystemExit"),
            std::string::npos);
  EXPECT_NE(open(python().helper("bad", "import os; os._exit(4)").preload("bad")).find("modules died"),
            std::string::npos);
  EXPECT_NE(open(python().helper("bad", "while 1: pass").preload("bad").start_timeout(1s)).find("start timeout"),
            std::string::npos);
  EXPECT_EQ(code_of([&] { run_python(code_request("1"), python().interpreter("false")); }), exec_errc::provider_failed);
}

// Feature: B17
TEST(Python, pip_installs_once_and_says_why_it_cannot) {
  const python_folder folder;
  const std::string find = "import pip";
  const code_result has_pip = run_python(code_request(find));
  COFFERDAM_NEEDS("pip", has_pip.ok(), "packages that pip installs");
  std::filesystem::create_directories(folder.path() / "ws");
  auto failing = folder.provider() | python().pip_packages("no-such-thing").pip_options("--no-index");
  const std::string message = sentence_of([&] { run([&]() -> awaitable<void> { co_await failing.open(); }, 120s); });
  EXPECT_NE(message.find("No matching distribution found for no-such-thing"), std::string::npos) << message;
  EXPECT_EQ(code_of([] { static_cast<void>(python().pip_packages("--index-url=x")); }), exec_errc::invalid_argument);

  // A wheel is a zip file, so the test creates it with Python.
  const std::string make =
      "import zipfile\nwith zipfile.ZipFile('tinything-1.0-py3-none-any.whl', 'w') as z:\n"
      "  z.writestr('tinything.py', 'x = 11')\n"
      "  z.writestr('tinything-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tinything\\nVersion: 1.0\\n')\n"
      "  z.writestr('tinything-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\n"
      "Tag: py3-none-any\\n')\n"
      "  z.writestr('tinything-1.0.dist-info/RECORD', 'tinything.py,,\\ntinything-1.0.dist-info/METADATA,,\\n"
      "tinything-1.0.dist-info/WHEEL,,\\ntinything-1.0.dist-info/RECORD,,\\n')\n";
  auto plain = cofferdam::local().without_warning().workspace(folder.path() / "ws") | python();
  auto with_thing =
      cofferdam::local().without_warning().workspace(folder.path() / "ws") |
      python().pip_packages("tinything").pip_options("--no-index", "--find-links", ".").preload("tinything");
  run(
      [&]() -> awaitable<void> {
        co_await cofferdam::with(plain, [&](python_here& runner) -> awaitable<void> {
          code_result result = co_await runner.run_code(code_request(make));
          EXPECT_TRUE(result.ok()) << all_of(result);
        });
        co_await cofferdam::with(with_thing, [](python_here& runner) -> awaitable<void> {
          code_result used = co_await runner.run_code(code_request("import tinything\ntinything.x"));
          EXPECT_EQ(value_of(used), "11") << all_of(used);
          co_await cofferdam::remove(runner.environment(), "tinything-1.0-py3-none-any.whl");
          code_result forged = co_await runner.run_code(
              code_request("import glob\nfor name in ('colorsys.py', 'json.py', 'sitecustomize.py'):\n"
                           "  open(glob.glob('.cofferdam/packages-*')[0] + '/' + name, 'w').write('x = 1')\n"
                           "import colorsys, json\n[hasattr(colorsys, 'rgb_to_hls'), hasattr(json, 'dumps')]"));
          EXPECT_EQ(value_of(forged), "[true,true]") << all_of(forged);
        });
        co_await cofferdam::with(with_thing, [](python_here& runner) -> awaitable<void> {
          code_result used = co_await runner.run_code(code_request("import tinything\ntinything.x"));
          EXPECT_EQ(value_of(used), "11") << "installed before: " << all_of(used);
          code_result library = co_await runner.run_code(
              code_request("import colorsys, json, sys\n[hasattr(colorsys, 'rgb_to_hls'), hasattr(json, 'dumps')]"));
          EXPECT_EQ(value_of(library), "[true,true]") << all_of(library);
        });
      },
      120s);
}

TEST(Python, works_behind_an_erased_provider_and_an_erased_runner) {
  const python_folder folder;
  auto provider = cofferdam::any_provider{folder.provider()} | python();
  cofferdam::any_runner_provider any{provider};
  run([&]() -> awaitable<void> {
    co_await cofferdam::with(any, [](cofferdam::any_runner& runner) -> awaitable<void> {
      code_result result = co_await runner.run_code(code_request("1+1").context("c"));
      EXPECT_EQ(value_of(result), "2");
      std::vector<std::string> names = co_await runner.contexts();
      EXPECT_EQ(names, std::vector<std::string>{"c"});
    });
  });
}

TEST(Python, a_thousand_runs_leave_no_process_descriptor_or_file) {
  using cofferdam_test::census;
  const python_folder folder;
  const auto runs = [](python_here& runner, int count) -> awaitable<std::string> {
    for (int i = 0; i < count; ++i) {
      code_request request("import os\nkept = open('/dev/null')\n1 + 1");
      if (i % 10 == 1) request = code_request("import os\nos._exit(3)");
      if (i % 10 == 2) request = code_request("import os\nif os.fork() == 0:\n  os._exit(5)\n2");
      code_result result = co_await runner.run_code(std::move(request));
      EXPECT_EQ(result.exit_code(), i % 10 == 1 ? 3 : 0) << i << ": " << all_of(result);
    }
    // The code reports the state in which a run starts: its descriptors, files and temporary files.
    code_request look(
        "import os\n[len(os.listdir('/proc/self/fd')), sorted(os.listdir('.')), "
        "sorted(os.listdir(os.environ['TMPDIR']))]");
    code_result last = co_await runner.run_code(std::move(look));
    co_return value_of(last);
  };
  const auto body = [&](python_here& runner) -> awaitable<void> {
    const std::string inherited = co_await runs(runner, 20);
    // The five processes are the warden (which starts commands), the driver (which runs code), the driver's nursery
    // (which forks a monitor for each run), the process for the next run, and its monitor. The last two are forked
    // after a run has reported its result, so they may appear later.
    census before;
    EXPECT_TRUE(cofferdam_test::eventually([&] {
      before = census::take(folder.path());
      return before.processes == 5;
    })) << before;
    const std::string after = co_await runs(runner, 1000);
    EXPECT_EQ(after, inherited);
    EXPECT_TRUE(cofferdam_test::eventually([&] { return census::take(folder.path()) == before; }))
        << census::take(folder.path()) << " after, before: " << before;
  };
  const auto provider = folder.provider() | python();
  run([&] { return cofferdam::with(provider, [&](python_here& runner) { return body(runner); }); },
      std::chrono::seconds(120));
}

TEST(Python, a_closed_runner_says_so_and_leaves_nothing) {
  const python_folder folder;
  const cofferdam_test::census before = cofferdam_test::census::take(folder.path());
  auto provider = folder.provider() | python();
  run([&]() -> awaitable<void> {
    python_here runner = co_await provider.open();
    code_result result = co_await runner.run_code(code_request("x = 1").context("c"));
    EXPECT_TRUE(result.ok());
    co_await runner.close();
    co_await runner.close();
    bool refused = false;
    try {
      co_await runner.run_code(code_request("1"));
    } catch (const cofferdam::error& failure) {
      refused = failure.code() == exec_errc::environment_closed;
    }
    EXPECT_TRUE(refused);
  });
  EXPECT_TRUE(cofferdam_test::eventually([&] { return cofferdam_test::census::take(folder.path()) == before; }))
      << cofferdam_test::census::take(folder.path()) << " after, before: " << before;
}

TEST(Python, a_runner_that_is_only_destroyed_leaves_no_process) {
  const python_folder folder;
  const cofferdam_test::census before = cofferdam_test::census::take(folder.path());
  auto provider = folder.provider() | python();
  run([&]() -> awaitable<void> {
    python_here runner = co_await provider.open();
    code_result result = co_await runner.run_code(code_request("x = 1").context("c"));
    EXPECT_TRUE(result.ok());
  });
  EXPECT_TRUE(cofferdam_test::eventually(
      [&] { return cofferdam_test::census::take(folder.path()).processes == before.processes; }));
}
