// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks PY of the project's catalogue of attacks that need no Pyodide, and attacks OU that concern code: hostile
// code against its code runner. Each test contains a control: the same attack on a naive runner.

#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/tools/function.hpp>

#include "code/python_support.hpp"
#include "support/spawn.hpp"

#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

namespace {

using cofferdam::argv;
using cofferdam::awaitable;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::python;
using cofferdam_test::all_of;
using cofferdam_test::python_here;
using cofferdam_test::run_python;
using cofferdam_test::value_of;
using cofferdam_test::with_python;
using namespace std::chrono_literals;

/// Runs two pieces of code in one Python process that reports results on standard output, a common design. Returns
/// the whole output.
awaitable<std::string> naive(python_here& runner, std::string first, std::string second) {
  const std::string program =
      "import sys\nfor code in sys.argv[1:]:\n"
      "  try:\n    exec(code, globals())\n    print('RESULT ok')\n  except Exception as e: print('RESULT', e)\n";
  command_result result = co_await runner.environment().run_command(argv("python3", "-c", program, first, second));
  co_return result.out().text();
}

}  // namespace

TEST(Attack, PY_02_an_endless_loop_ends_at_its_limit_and_the_next_run_works) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result loop = co_await runner.run_code(
        code_request("import signal, sys\n"
                     "for n in (2, 15): signal.signal(n, signal.SIG_IGN)\n"
                     "while True:\n  try:\n    while True: x = 1\n  except BaseException: pass")
            .timeout(500ms));
    EXPECT_EQ(loop.kind(), error_kind::timeout) << all_of(loop);
    EXPECT_LT(loop.duration(), 20s);
    code_result next = co_await runner.run_code(code_request("1 + 1"));
    EXPECT_EQ(value_of(next), "2");
  });
}

TEST(Attack, PY_02_growth_without_end_is_a_memory_error_and_a_flood_is_bounded) {
  const cofferdam_test::memory_growth growth;
  with_python(python().memory_limit(512U << 20U), [](python_here& runner) -> awaitable<void> {
    code_result grown = co_await runner.run_code(code_request("x = []\nwhile True: x.append(bytearray(1 << 20))"));
    EXPECT_EQ(grown.failure() ? grown.failure()->type() : "", "MemoryError") << all_of(grown);
    code_result flood = co_await runner.run_code(
        code_request("import os\nfor i in range(300): os.write(1 + i % 2, b'x' * (1 << 20))").keep_output(64 * 1024));
    EXPECT_TRUE(flood.ok()) << all_of(flood).substr(0, 300);
    EXPECT_EQ(flood.out().total() + flood.err().total(), 300U << 20U);
    EXPECT_EQ(flood.out().head().size() + flood.out().tail().size(), 64U * 1024);
    code_result shown = co_await runner.run_code(code_request(
        "class big:\n  def _repr_html_(self): return 'x' * (3 << 20)\nfor i in range(100): display(big())"));
    EXPECT_TRUE(shown.ok()) << all_of(shown).substr(0, 300);
    EXPECT_LT(shown.displays().size(), 30U);
  });
  if (growth.is_exact() && !cofferdam_test::is_sanitized()) {
    EXPECT_LT(growth.peak(), 512U << 20U);
  }
}

TEST(Attack, PY_03_what_a_run_has_changed_is_not_there_for_the_next) {
  const std::string poison =
      "import builtins, os, sys, json\nsecret = 'leak'\nbuiltins.print = None\nsys.path.insert(0, '/evil')\n"
      "os.environ['EVIL'] = '1'\njson.loads = lambda *a: 'evil'\nos.chdir('/')\nsys.setrecursionlimit(50)";
  const std::string look =
      "import builtins, os, sys, json\n"
      "['secret' in globals(), builtins.print is None, '/evil' in sys.path, 'EVIL' in os.environ, json.loads('1') == "
      "'evil', "
      "os.getcwd() == '/', sys.getrecursionlimit() == 50]";
  with_python(python().preload("json"), [&](python_here& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(code_request(poison));
    EXPECT_TRUE(first.ok()) << all_of(first);
    code_result second = co_await runner.run_code(code_request(look));
    EXPECT_EQ(value_of(second), "[false,false,false,false,false,false,false]") << all_of(second);
    code_result context = co_await runner.run_code(code_request(look).context("fresh"));
    EXPECT_EQ(value_of(context), "[false,false,false,false,false,false,false]") << all_of(context);
    // Control: in one shared process, the second code reads a variable of the first.
    std::string printed = co_await naive(runner, "secret = 'leak'", "print('saw', secret)");
    EXPECT_NE(printed.find("saw leak"), std::string::npos) << printed;
  });
}

TEST(Attack, OU_07_forged_results_are_output_and_nothing_else) {
  const std::string forged =
      "import json, os, struct\nhead = b'{\"t\":\"end\",\"id\":1,\"exit\":0,\"signal\":null}'\n"
      "frame = struct.pack('>II', 4 + len(head) + 2, len(head)) + head + b'{}'\n"
      "os.write(1, frame)\nos.write(2, frame)\nos.write(1, b'\\ncofferdam python driver 1\\n')\n"
      "written = 0\nfor fd in range(3, 256):\n"
      "  try:\n    os.write(fd, frame)\n    written += 1\n  except OSError: pass\n"
      "print(written)\nraise SystemExit(6)";
  with_python(python(), [&](python_here& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request(forged));
    EXPECT_EQ(result.exit_code(), 6) << all_of(result);
    EXPECT_TRUE(result.out().text().ends_with("\n0\n")) << "no descriptor but its own output is there to write to";
    EXPECT_FALSE(result.ok());
    code_result next = co_await runner.run_code(code_request("1 + 1"));
    EXPECT_EQ(value_of(next), "2");
    EXPECT_FALSE(next.driver_restarted());
    // Control: any code can print the line that the naive runner takes for a result.
    std::string printed = co_await naive(runner, "print('RESULT ok')\n1/0", "pass");
    EXPECT_EQ(printed.find("RESULT ok"), 0U) << printed;
  });
}

TEST(Attack, OU_07_what_a_run_does_to_its_descriptors_and_streams_hurts_only_itself) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result closed =
        co_await runner.run_code(code_request("import os\nprint('x', flush=True)\nos.closerange(0, 65536)\n5"));
    EXPECT_EQ(closed.out().text(), "x\n") << all_of(closed);
    EXPECT_FALSE(closed.value());
    code_result garbage = co_await runner.run_code(
        code_request("import os\nfor fd in os.listdir('/proc/self/fd'):\n"
                     "  if int(fd) > 2:\n    try: os.write(int(fd), b'\\xff' * 4096)\n    except OSError: pass\n7"));
    EXPECT_FALSE(garbage.driver_restarted());
    code_result replaced = co_await runner.run_code(code_request(
        "import sys, io\nsys.stdout.write('kept')\nsys.stdout = sys.stderr = sys.__stdout__ = io.StringIO()\n"
        "print('lost')\n9"));
    EXPECT_EQ(replaced.out().text(), "kept");
    EXPECT_EQ(value_of(replaced), "9") << all_of(replaced);
    code_result broken = co_await runner.run_code(
        code_request("import sys\nsys.stdout = sys.stderr = None\nsys.excepthook = None\nraise ValueError('seen')"));
    EXPECT_EQ(broken.failure() ? broken.failure()->message() : "", "seen") << all_of(broken);
    EXPECT_NE(broken.err().text().find("ValueError: seen"), std::string::npos);
    code_result patched =
        co_await runner.run_code(code_request("import json, os, struct, traceback\njson.dumps = os.write = struct.pack "
                                              "= traceback.format_exception = None\n1"));
    EXPECT_FALSE(patched.driver_restarted()) << all_of(patched);
    code_result next = co_await runner.run_code(code_request("1 + 1"));
    EXPECT_EQ(value_of(next), "2");
    EXPECT_FALSE(next.driver_restarted());
  });
}

TEST(Attack, OU_07_a_run_cannot_speak_for_another_or_call_what_it_was_not_given) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    int calls = 0;
    const auto handler = [&calls]() -> awaitable<std::string> {
      ++calls;
      co_return "called";
    };
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::steady_timer done(executor, std::chrono::steady_clock::time_point::max());
    code_result honest;
    bool ended = false;
    auto on_end = [&](std::exception_ptr, code_result result) {
      honest = std::move(result);
      ended = true;
      done.cancel();
    };
    code_request with_function("import time\ntime.sleep(0.5)\ncall()");
    with_function.function(cofferdam::tools::function("call", "Counts.", handler));
    cofferdam_test::spawn(executor, runner.run_code(std::move(with_function)), std::move(on_end));
    // The code writes messages of the protocol to every descriptor: a call of another code's function, a result, and
    // an end.
    const std::string liar =
        "import os, struct\n"
        "def say(letter, text):\n  for fd in map(int, os.listdir('/proc/self/fd')):\n    if fd > 2:\n"
        "      try: os.write(fd, struct.pack('>I', len(text) + 1) + letter + text)\n      except OSError: pass\n"
        "say(b'c', b'{\"call\":1,\"name\":\"call\",\"arguments\":{}}')\n"
        "say(b'c', b'{\"call\":2,\"id\":1,\"name\":\"call\",\"arguments\":{}}')\n"
        "say(b'c', b'[]')\nsay(b'x', b'')\nsay(b'd', b'nonsense')\n"
        "say(b'r', "
        "b'{\"id\":1,\"ok\":true,\"exit\":0,\"value\":\"forged\",\"value_exact\":true,\"text\":\"forged\"}')\n"
        "os._exit(8)";
    code_result lied = co_await runner.run_code(code_request(liar));
    EXPECT_EQ(lied.exit_code(), 8) << "what the process did counts: " << all_of(lied);
    EXPECT_FALSE(lied.ok());
    EXPECT_EQ(calls, 0);
    std::error_code ignored;
    while (!ended) co_await done.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    EXPECT_EQ(value_of(honest), "\"called\"") << all_of(honest);
    EXPECT_EQ(calls, 1);
  });
}

TEST(Attack, OU_08_what_was_printed_before_a_limit_or_a_crash_is_kept) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result late = co_await runner.run_code(code_request("print('before')\nwhile True: pass").timeout(300ms));
    EXPECT_EQ(late.out().text(), "before\n");
    EXPECT_EQ(late.kind(), error_kind::timeout);
    code_result crashed = co_await runner.run_code(code_request("print('before')\nimport ctypes\nctypes.string_at(0)"));
    EXPECT_EQ(crashed.out().text(), "before\n") << all_of(crashed);
    EXPECT_EQ(crashed.term_signal(), 11);
  });
}
