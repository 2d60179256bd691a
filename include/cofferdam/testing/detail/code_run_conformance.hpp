// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/testing/detail/code_conformance_base.hpp>

#include <string>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The tests of single runs: every outcome of the code is a result, and each run starts with fresh globals.
template <class Backend>
class code_run_conformance : public detail::runner_conformance<Backend> {};
TYPED_TEST_SUITE_P(code_run_conformance);

TYPED_TEST_P(code_run_conformance, prints_and_yields_the_value_of_the_last_expression) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result =
        co_await runner.run_code(code_request("import sys\nprint('hi')\nprint('no', file=sys.stderr)\n6 * 7"));
    EXPECT_TRUE(result.ok()) << detail::told(result);
    EXPECT_EQ(result.out().text(), "hi\n");
    EXPECT_EQ(result.err().text(), "no\n");
    EXPECT_EQ(detail::value_text(result), "42");
    EXPECT_TRUE(result.value_is_exact());
    EXPECT_EQ(result.value_text(), "42");
    EXPECT_EQ(result.exit_code(), 0);
    EXPECT_FALSE(result.driver_restarted());
    EXPECT_GT(result.duration().count(), 0);
  });
}

TYPED_TEST_P(code_run_conformance, a_statement_at_the_end_has_no_value) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("x = 1"));
    EXPECT_TRUE(result.ok()) << detail::told(result);
    EXPECT_FALSE(result.value());
    EXPECT_TRUE(result.displays().empty());
  });
}

TYPED_TEST_P(code_run_conformance, none_at_the_end_is_no_value) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("print('x')"));
    EXPECT_TRUE(result.ok()) << detail::told(result);
    EXPECT_FALSE(result.value());
  });
}

TYPED_TEST_P(code_run_conformance, no_code_at_all_succeeds) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result empty = co_await runner.run_code(code_request(""));
    EXPECT_TRUE(empty.ok()) << detail::told(empty);
    code_result comment = co_await runner.run_code(code_request("# nothing\n\n"));
    EXPECT_TRUE(comment.ok()) << detail::told(comment);
  });
}

TYPED_TEST_P(code_run_conformance, every_run_begins_with_fresh_globals) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(code_request("secret = 5\nglobals()['hidden'] = 6\nsecret"));
    EXPECT_EQ(detail::value_text(first), "5");
    code_result second =
        co_await runner.run_code(code_request("[n for n in ('secret', 'hidden', '_') if n in globals()]"));
    EXPECT_EQ(detail::value_text(second), "[]") << detail::told(second);
  });
}

TYPED_TEST_P(code_run_conformance, a_module_that_a_run_has_imported_and_changed_is_as_before_in_the_next) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(code_request("import colorsys\ncolorsys.mine = 1"));
    EXPECT_TRUE(first.ok()) << detail::told(first);
    code_result second = co_await runner.run_code(code_request("import colorsys\nhasattr(colorsys, 'mine')"));
    EXPECT_EQ(detail::value_text(second), "false");
  });
}

TYPED_TEST_P(code_run_conformance, a_file_that_is_called_like_a_module_of_the_library_is_not_that_module) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::string look =
        "import random, statistics, near_by\n[hasattr(random, 'random'), hasattr(statistics, 'mean'), near_by.x]";
    code_result first = co_await runner.run_code(
        code_request("for name in ('random', 'statistics', 'near_by'):\n  with open(name + '.py', 'w') as f:\n"
                     "    f.write('x = 7')\n" +
                     look));
    EXPECT_EQ(detail::value_text(first), "[true,true,7]") << detail::told(first);
    code_result next = co_await runner.run_code(code_request(look));
    EXPECT_EQ(detail::value_text(next), "[true,true,7]") << detail::told(next);
    code_result gone = co_await runner.run_code(
        code_request("import os\nfor name in ('random', 'statistics', 'near_by'):\n  os.remove(name + '.py')"));
    EXPECT_TRUE(gone.ok()) << detail::told(gone);
  });
}

TYPED_TEST_P(code_run_conformance, builtins_that_a_run_has_changed_are_as_before_in_the_next) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(
        code_request("import builtins\nbuiltins.print = None\nbuiltins.mine = 1\nbuiltins.len = lambda x: 7"));
    EXPECT_TRUE(first.ok()) << detail::told(first);
    code_result second =
        co_await runner.run_code(code_request("import builtins\nprint(len('ab'), hasattr(builtins, 'mine'))"));
    EXPECT_EQ(second.out().text(), "2 False\n") << detail::told(second);
  });
}

TYPED_TEST_P(code_run_conformance, what_a_run_has_set_in_sys_and_os_is_as_before_in_the_next) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(
        code_request("import os, sys\nsys.path.insert(0, '/mine')\nsys.argv.append('mine')\nsys.setrecursionlimit(99)\n"
                     "os.environ['MINE'] = '1'\nos.mkdir('there')\nos.chdir('there')\nsys.modules['mine'] = sys"));
    EXPECT_TRUE(first.ok()) << detail::told(first);
    code_result second = co_await runner.run_code(code_request(
        "import os, sys\n['/mine' in sys.path, 'mine' in sys.argv, sys.getrecursionlimit() > 900, 'MINE' in "
        "os.environ, os.path.basename(os.getcwd()) == 'there', 'mine' in sys.modules]"));
    EXPECT_EQ(detail::value_text(second), "[false,false,true,false,false,false]") << detail::told(second);
  });
}

TYPED_TEST_P(code_run_conformance, settings_that_change_results_are_as_before_in_the_next) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::string looks =
        "import calendar, decimal, json, locale, logging, socket, sys\n"
        "class own:\n  pass\ntry:\n  odd = json.dumps(own())\nexcept TypeError:\n  odd = None\n"
        "[str(decimal.Decimal(1) / 3), decimal.Context().prec, odd, logging.getLogger().level, "
        "len(logging.getLogger().handlers), logging.getLogger('mine').level, calendar.firstweekday(), "
        "socket.getdefaulttimeout(), locale.setlocale(locale.LC_ALL), "
        "getattr(sys, 'get_int_max_str_digits', int)()]";
    const std::string changes =
        "import calendar, decimal, json, locale, logging, socket, sys\ndecimal.getcontext().prec = 3\n"
        "decimal.DefaultContext.prec = 5\njson.JSONEncoder.default = lambda self, o: 'odd'\n"
        "logging.basicConfig(level=10)\nlogging.getLogger('mine').setLevel(50)\ncalendar.setfirstweekday(6)\n"
        "socket.setdefaulttimeout(7)\nlocale.setlocale(locale.LC_ALL, 'C')\n"
        "getattr(sys, 'set_int_max_str_digits', int)(700)";
    code_result first = co_await runner.run_code(code_request(looks));
    EXPECT_TRUE(first.ok()) << detail::told(first);
    for (int i = 0; i < 3; ++i) {  // three times, because a runner may use several interpreters in turn
      code_result changed = co_await runner.run_code(code_request(changes));
      EXPECT_TRUE(changed.ok()) << detail::told(changed);
    }
    for (int i = 0; i < 3; ++i) {
      code_result next = co_await runner.run_code(code_request(looks));
      EXPECT_EQ(detail::value_text(next), detail::value_text(first)) << detail::told(next);
    }
  });
}

TYPED_TEST_P(code_run_conformance, an_uncaught_exception_is_a_result) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result zero = co_await runner.run_code(code_request("print('before')\n\n1/0"));
    EXPECT_FALSE(zero.ok());
    EXPECT_EQ(zero.exit_code(), 1);
    EXPECT_EQ(zero.kind(), error_kind::none);
    EXPECT_EQ(zero.out().text(), "before\n");
    EXPECT_TRUE(zero.failure().has_value());
    if (!zero.failure()) co_return;
    EXPECT_EQ(zero.failure()->type(), "ZeroDivisionError");
    EXPECT_NE(zero.failure()->message().find("division"), std::string::npos);
    EXPECT_EQ(zero.failure()->line(), 3);
    EXPECT_EQ(zero.failure()->traceback(), zero.err().text());
    EXPECT_NE(zero.failure()->traceback().find("    1/0\n"), std::string::npos);
    EXPECT_EQ(zero.failure()->traceback().find("driver"), std::string::npos) << zero.failure()->traceback();
  });
}

TYPED_TEST_P(code_run_conformance, what_was_printed_before_a_failure_is_kept_of_both_streams) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(
        code_request("import sys\nprint('out', end='')\nprint('err', file=sys.stderr)\nraise ValueError('x')"));
    EXPECT_EQ(result.out().text(), "out");
    EXPECT_EQ(result.err().text().substr(0, 4), "err\n") << detail::told(result);
    EXPECT_NE(result.err().text().find("ValueError: x"), std::string::npos);
  });
}

TYPED_TEST_P(code_run_conformance, a_failure_within_functions_shows_their_lines) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(
        code_request("def inner():\n    return [][1]\n\ndef outer():\n    inner()\n\nouter()"));
    EXPECT_EQ(detail::failure_type(result), "IndexError");
    EXPECT_EQ(result.failure() ? result.failure()->line() : 0, 2);
    EXPECT_NE(result.err().text().find("return [][1]"), std::string::npos) << detail::told(result);
    EXPECT_NE(result.err().text().find("in outer"), std::string::npos);
  });
}

TYPED_TEST_P(code_run_conformance, the_cause_of_a_failure_is_told) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(
        code_request("try:\n    {}['a']\nexcept KeyError as e:\n    raise RuntimeError('second') from e"));
    EXPECT_EQ(detail::failure_type(result), "RuntimeError");
    EXPECT_NE(result.err().text().find("KeyError: 'a'"), std::string::npos);
    EXPECT_NE(result.err().text().find("direct cause"), std::string::npos);
  });
}

TYPED_TEST_P(code_run_conformance, a_syntax_error_names_its_line) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("x = 1\ny = (\n"));
    EXPECT_EQ(detail::failure_type(result), "SyntaxError");
    EXPECT_EQ(result.failure() ? result.failure()->line() : 0, 2);
    EXPECT_EQ(result.exit_code(), 1);
    code_result indented = co_await runner.run_code(code_request("if 1:\nx = 1"));
    EXPECT_EQ(detail::failure_type(indented), "IndentationError");
    code_result null = co_await runner.run_code(code_request(std::string("x = 1\0", 6)));
    EXPECT_TRUE(null.failure().has_value()) << detail::told(null);
  });
}

TYPED_TEST_P(code_run_conformance, leaving_with_sys_exit_is_an_end_with_that_code) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result none = co_await runner.run_code(code_request("import sys; sys.exit()"));
    EXPECT_TRUE(none.ok()) << detail::told(none);
    code_result zero = co_await runner.run_code(code_request("import sys; sys.exit(0)"));
    EXPECT_TRUE(zero.ok()) << detail::told(zero);
    code_result three = co_await runner.run_code(code_request("raise SystemExit(3)"));
    EXPECT_FALSE(three.ok());
    EXPECT_EQ(three.exit_code(), 3);
    EXPECT_EQ(detail::failure_type(three), "SystemExit");
    code_result worded = co_await runner.run_code(code_request("import sys; sys.exit('bye')"));
    EXPECT_EQ(worded.exit_code(), 1);
    EXPECT_EQ(worded.err().text(), "bye\n");
  });
}

TYPED_TEST_P(code_run_conformance, a_keyboard_interrupt_of_the_codes_own_is_130) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("raise KeyboardInterrupt"));
    EXPECT_EQ(result.exit_code(), 130);
    EXPECT_EQ(detail::failure_type(result), "KeyboardInterrupt");
    EXPECT_EQ(result.kind(), error_kind::none);
  });
}

TYPED_TEST_P(code_run_conformance, endless_recursion_is_a_recursion_error) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("def f(): f()\nf()"));
    EXPECT_EQ(detail::failure_type(result), "RecursionError") << detail::told(result);
    code_result caught = co_await runner.run_code(
        code_request("def f():\n  f()\ntry:\n  f()\nexcept RecursionError:\n  print('caught')"));
    EXPECT_EQ(caught.out().text(), "caught\n");
    EXPECT_FALSE(caught.driver_restarted());
  });
}

TYPED_TEST_P(code_run_conformance, memory_that_is_not_there_is_a_memory_error) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("import sys\nbytearray(sys.maxsize - 64)"));
    EXPECT_EQ(detail::failure_type(result), "MemoryError") << detail::told(result);
    code_result after = co_await runner.run_code(code_request("'still here'"));
    EXPECT_EQ(detail::value_text(after), "\"still here\"");
    EXPECT_FALSE(after.driver_restarted());
  });
}

TYPED_TEST_P(code_run_conformance, an_exception_that_cannot_be_put_into_words_is_told) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result odd = co_await runner.run_code(
        code_request("class odd(Exception):\n  def __str__(self): raise ValueError\nraise odd()"));
    EXPECT_EQ(detail::failure_type(odd), "odd") << detail::told(odd);
    code_result argument =
        co_await runner.run_code(code_request("raise ValueError(object(), {1}, b'\\xff', float('nan'))"));
    EXPECT_EQ(detail::failure_type(argument), "ValueError") << detail::told(argument);
    code_result lone = co_await runner.run_code(code_request("raise ValueError('\\ud800')"));
    EXPECT_EQ(detail::failure_type(lone), "ValueError") << detail::told(lone);
  });
}

TYPED_TEST_P(code_run_conformance, the_code_is_the_main_module) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request(
        "import sys, pickle\nclass Point:\n  pass\n[__name__, sys.modules['__main__'].__dict__ is globals(), "
        "type(pickle.loads(pickle.dumps(Point()))) is Point]"));
    EXPECT_EQ(detail::value_text(result), R"(["__main__",true,true])") << detail::told(result);
  });
}

TYPED_TEST_P(code_run_conformance, awaits_at_the_top_level) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(
        code_request("import asyncio\nawait asyncio.sleep(0.01)\nx = 5\nawait asyncio.sleep(0, x)"));
    EXPECT_EQ(detail::value_text(result), "5") << detail::told(result);
    code_result failing = co_await runner.run_code(code_request(
        "import asyncio\nasync def f():\n  await asyncio.sleep(0)\n  raise ValueError('late')\nawait f()"));
    EXPECT_EQ(detail::failure_type(failing), "ValueError") << detail::told(failing);
  });
}

TYPED_TEST_P(code_run_conformance, tasks_of_asyncio_run_together) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(
        code_request("import asyncio\nasync def one(n):\n  await asyncio.sleep(0.01)\n  return n\n"
                     "await asyncio.gather(*[one(n) for n in range(5)])"));
    EXPECT_EQ(detail::value_text(result), "[0,1,2,3,4]") << detail::told(result);
  });
}

TYPED_TEST_P(code_run_conformance, asyncio_runs_a_main_function_as_often_as_it_is_asked_to) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::string code =
        "import asyncio\n"
        "async def put(queue):\n  for n in range(3):\n    await queue.put(n)\n    await asyncio.sleep(0)\n"
        "  await queue.put(None)\n"
        "async def main():\n"
        "  queue = asyncio.Queue()\n  task = asyncio.create_task(put(queue))\n  got = []\n"
        "  while True:\n    n = await queue.get()\n    if n is None:\n      break\n    got.append(n)\n"
        "  await task\n"
        "  try:\n    await asyncio.wait_for(asyncio.sleep(1000), 0.02)\n"
        "  except asyncio.TimeoutError:\n    got.append('late')\n"
        "  got += await asyncio.gather(asyncio.sleep(0.02, 'a'), asyncio.sleep(0.01, 'b'))\n"
        "  if hasattr(asyncio, 'TaskGroup'):\n    async with asyncio.TaskGroup() as group:\n"
        "      one = group.create_task(asyncio.sleep(0.01, 'c'))\n    assert one.result() == 'c'\n"
        "  return got\n"
        "[asyncio.run(main()), asyncio.run(main())]";
    const std::string once = R"([0,1,2,"late","a","b"])";
    code_result twice = co_await runner.run_code(code_request(code).timeout(detail::long_limit));
    EXPECT_EQ(detail::value_text(twice), "[" + once + "," + once + "]") << detail::told(twice);
    EXPECT_EQ(twice.err().text(), "");
  });
}

TYPED_TEST_P(code_run_conformance, what_fails_in_asyncio_is_as_python_has_it) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::string main = "import asyncio, sys\nasync def main():\n  await asyncio.sleep(0)\n  ";
    code_result raised = co_await runner.run_code(code_request(main + "raise ValueError('late')\nasyncio.run(main())"));
    EXPECT_EQ(detail::failure_type(raised), "ValueError") << detail::told(raised);
    EXPECT_EQ(raised.failure() ? raised.failure()->line() : 0, 4);
    code_result left = co_await runner.run_code(code_request(main + "sys.exit(3)\nasyncio.run(main())"));
    EXPECT_EQ(left.exit_code(), 3) << detail::told(left);
    code_result nested = co_await runner.run_code(
        code_request(main + "return 5\nawait asyncio.sleep(0)\none = main()\ntry:\n  asyncio.run(one)\n"
                            "except RuntimeError as e:\n  print(e)\none.close()\nawait main()"));
    EXPECT_EQ(nested.out().text(), "asyncio.run() cannot be called from a running event loop\n")
        << detail::told(nested);
    EXPECT_EQ(detail::value_text(nested), "5");
  });
}

TYPED_TEST_P(code_run_conformance, text_of_every_kind_goes_through) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(
        code_request("# \xc3\xa4\nprint('\xe2\x82\xac \xf0\x9f\x98\x80')\n'\xc3\xa4' + chr(0) + '\\x1b[0m\\r\\n'"));
    EXPECT_EQ(result.out().text(), "\xe2\x82\xac \xf0\x9f\x98\x80\n");
    EXPECT_EQ(detail::value_text(result), "\"\xc3\xa4\\u0000\\u001b[0m\\r\\n\"") << detail::told(result);
  });
}

TYPED_TEST_P(code_run_conformance, code_that_is_no_utf8_is_refused) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("print('\xff')"));
    EXPECT_EQ(result.kind(), error_kind::invalid_argument);
    EXPECT_FALSE(result.ok());
  });
}

TYPED_TEST_P(code_run_conformance, long_programs_run) {
  this->with([](auto& runner) -> awaitable<void> {
    std::string source = "x = 0\n";
    for (int i = 0; i < 20'000; ++i) source += "x += 1\n";
    source += "x";
    code_result result = co_await runner.run_code(code_request(source).timeout(detail::long_limit));
    EXPECT_EQ(detail::value_text(result), "20000") << detail::told(result);
  });
}

TYPED_TEST_P(code_run_conformance, the_standard_library_is_there) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(
        code_request("import base64, collections, csv, dataclasses, datetime, decimal, enum, fractions, functools, "
                     "hashlib, heapq, io, itertools, json, math, operator, pathlib, random, re, statistics, string, "
                     "textwrap, typing, uuid, zlib, zipfile, xml.etree.ElementTree, unicodedata, struct\n"
                     "from math import *\n[statistics.mean([1, 2, 3]), sqrt(16), re.sub('a', 'b', 'aa'), "
                     "zlib.decompress(zlib.compress(b'x')).decode()]")
            .timeout(detail::long_limit));
    EXPECT_EQ(detail::value_text(result), R"([2,4E0,"bb","x"])") << detail::told(result);
  });
}

TYPED_TEST_P(code_run_conformance, there_is_nothing_to_read) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("input()"));
    EXPECT_EQ(detail::failure_type(result), "EOFError") << detail::told(result);
    code_result input = co_await runner.run_code(code_request("import sys\nsys.stdin.read()"));
    EXPECT_EQ(detail::value_text(input), R"("")") << detail::told(input);
  });
}

TYPED_TEST_P(code_run_conformance, variables_of_the_environment_are_those_of_the_run) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::string code = "import os\nos.environ.get('COFFERDAM_CHECK', 'none')";
    code_result with = co_await runner.run_code(code_request(code).environment("COFFERDAM_CHECK", "a b\nc"));
    EXPECT_EQ(detail::value_text(with), R"("a b\nc")");
    code_result without = co_await runner.run_code(code_request(code));
    EXPECT_EQ(detail::value_text(without), R"("none")");
    code_result bad = co_await runner.run_code(code_request(code).environment("A=B", "c"));
    EXPECT_EQ(detail::failure_type(bad), "ValueError") << detail::told(bad);
  });
}

TYPED_TEST_P(code_run_conformance, a_quiet_failure_is_told_and_not_printed) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("1/0").quiet_failure());
    EXPECT_EQ(result.err().text(), "");
    EXPECT_EQ(detail::failure_type(result), "ZeroDivisionError");
  });
}

TYPED_TEST_P(code_run_conformance, the_codes_own_trace_function_and_hooks_are_gone_with_it) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(
        code_request("import sys\nsys.displayhook = sys.excepthook = None\nsys.stdout = sys.stderr = None\n"
                     "sys.settrace(lambda *all: None)\nimport warnings\nwarnings.simplefilter('error')"));
    EXPECT_TRUE(first.ok()) << detail::told(first);
    code_result second = co_await runner.run_code(code_request("import sys\nprint(sys.gettrace())\n1/0"));
    EXPECT_EQ(second.out().text(), "None\n") << detail::told(second);
    EXPECT_EQ(detail::failure_type(second), "ZeroDivisionError");
    EXPECT_NE(second.err().text().find("ZeroDivisionError"), std::string::npos);
  });
}

TYPED_TEST_P(code_run_conformance, the_end_of_the_program_is_heard) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("import atexit\natexit.register(print, 'at the end')"));
    EXPECT_EQ(result.out().text(), "at the end\n") << detail::told(result);
    code_result next = co_await runner.run_code(code_request("1"));
    EXPECT_EQ(next.out().text(), "");
  });
}

TYPED_TEST_P(code_run_conformance, a_prelude_stands_before_the_code_and_lines_are_the_codes_own) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::string tools =
        "import math\n\n\ndef area(r):\n    return math.pi * r * r\n\ndef fail():\n    raise OSError('tool')\n";
    code_result good = co_await runner.run_code(code_request("round(area(2), 2)").prelude(tools));
    EXPECT_EQ(good.value_text(), "12.57") << detail::told(good);
    code_result wrong = co_await runner.run_code(code_request("x = 1\narea(x)\n1 / 0\n").prelude(tools));
    EXPECT_EQ(detail::failure_type(wrong), "ZeroDivisionError");
    EXPECT_EQ(wrong.failure() ? wrong.failure()->line() : 0, 3);
    EXPECT_NE(wrong.err().text().find("1 / 0"), std::string::npos) << detail::told(wrong);
    code_result syntax = co_await runner.run_code(code_request("x = 1\ny = (\n").prelude(tools));
    EXPECT_EQ(syntax.failure() ? syntax.failure()->line() : 0, 2);
    code_result inside = co_await runner.run_code(code_request("x = 1\nfail()").prelude(tools));
    EXPECT_EQ(detail::failure_type(inside), "OSError");
    EXPECT_EQ(inside.failure() ? inside.failure()->line() : 0, 2);
    EXPECT_NE(inside.err().text().find("File \"<prelude>\", line 8, in fail"), std::string::npos)
        << detail::told(inside);
    code_result next = co_await runner.run_code(code_request("area(2)"));
    EXPECT_EQ(detail::failure_type(next), "NameError");
  });
}

TYPED_TEST_P(code_run_conformance, what_fails_in_a_prelude_is_told_and_no_line_of_the_code_is_blamed) {
  this->with([](auto& runner) -> awaitable<void> {
    for (const char* const broken : {"x = 1\nx.y\n", "def f(:\n"}) {
      code_result result = co_await runner.run_code(code_request("print('ran')\n1\n2\n").prelude(broken));
      EXPECT_TRUE(result.failure().has_value()) << detail::told(result);
      EXPECT_EQ(result.failure() ? result.failure()->line() : -1, 0);
      EXPECT_NE(result.err().text().find("<prelude>"), std::string::npos) << detail::told(result);
      EXPECT_EQ(result.out().text(), "");
    }
  });
}

REGISTER_TYPED_TEST_SUITE_P(
    code_run_conformance, prints_and_yields_the_value_of_the_last_expression, a_statement_at_the_end_has_no_value,
    none_at_the_end_is_no_value, no_code_at_all_succeeds, every_run_begins_with_fresh_globals,
    a_module_that_a_run_has_imported_and_changed_is_as_before_in_the_next,
    a_file_that_is_called_like_a_module_of_the_library_is_not_that_module,
    builtins_that_a_run_has_changed_are_as_before_in_the_next,
    what_a_run_has_set_in_sys_and_os_is_as_before_in_the_next, settings_that_change_results_are_as_before_in_the_next,
    an_uncaught_exception_is_a_result, what_was_printed_before_a_failure_is_kept_of_both_streams,
    a_failure_within_functions_shows_their_lines, the_cause_of_a_failure_is_told, a_syntax_error_names_its_line,
    leaving_with_sys_exit_is_an_end_with_that_code, a_keyboard_interrupt_of_the_codes_own_is_130,
    endless_recursion_is_a_recursion_error, memory_that_is_not_there_is_a_memory_error,
    an_exception_that_cannot_be_put_into_words_is_told, the_code_is_the_main_module, awaits_at_the_top_level,
    tasks_of_asyncio_run_together, asyncio_runs_a_main_function_as_often_as_it_is_asked_to,
    what_fails_in_asyncio_is_as_python_has_it, text_of_every_kind_goes_through, code_that_is_no_utf8_is_refused,
    long_programs_run, the_standard_library_is_there, there_is_nothing_to_read,
    variables_of_the_environment_are_those_of_the_run, a_quiet_failure_is_told_and_not_printed,
    the_codes_own_trace_function_and_hooks_are_gone_with_it, the_end_of_the_program_is_heard,
    a_prelude_stands_before_the_code_and_lines_are_the_codes_own,
    what_fails_in_a_prelude_is_told_and_no_line_of_the_code_is_blamed);

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
