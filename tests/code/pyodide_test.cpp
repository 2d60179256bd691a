// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests that are specific to Pyodide. Tests for all runners are in tests/conformance. Each of the tests D1 to D12
// concerns a defect of another runner that uses Deno and Pyodide.

#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/tools/function.hpp>

#include "code/pyodide_support.hpp"
#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using cofferdam::awaitable;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::error_kind;
using cofferdam::exec_errc;
using cofferdam::pyodide;
using cofferdam::pyodide_runner;
using cofferdam_test::all_of;
using cofferdam_test::code_of;
using cofferdam_test::denos;
using cofferdam_test::eventually;
using cofferdam_test::fast_pyodide;
using cofferdam_test::run;
using cofferdam_test::run_pyodide;
using cofferdam_test::sentence_of;
using cofferdam_test::temporary_folder;
using cofferdam_test::value_of;
using cofferdam_test::with_pyodide;
using namespace std::chrono_literals;

static_assert(cofferdam::code_runner_provider<pyodide>);
static_assert(cofferdam::context_runner<pyodide_runner>);

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
}

void open_it(const pyodide& recipe) {
  run([&recipe]() -> awaitable<void> {
    pyodide_runner runner = co_await recipe.open();
    co_await runner.close();
  });
}

}  // namespace

TEST(Pyodide, D1_an_endless_loop_is_ended_at_its_limit_and_leaves_no_process_behind) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    code_result late = co_await runner.run_code(code_request("print('x')\nwhile True: pass").timeout(500ms));
    EXPECT_EQ(late.kind(), error_kind::timeout) << all_of(late);
    EXPECT_EQ(late.out().text(), "x\n");
    EXPECT_LT(late.duration(), 30s);
    code_result next = co_await runner.run_code(code_request("1 + 1"));
    EXPECT_EQ(value_of(next), "2") << all_of(next);
    EXPECT_FALSE(next.driver_restarted());
  });
  EXPECT_TRUE(eventually([] { return denos().empty(); }));
}

// Feature: A6
TEST(Pyodide, D2_D3_D4_output_values_and_failures_are_whole) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    code_result both =
        co_await runner.run_code(code_request("import sys\nprint('o')\nprint('e', file=sys.stderr)\n{2**60 + 1}"));
    EXPECT_EQ(both.out().text(), "o\n");
    EXPECT_EQ(both.err().text(), "e\n");
    EXPECT_EQ(value_of(both), R"({"$python":"set","items":[1152921504606846977]})");
    code_request final_value("print('o')\nSUBMIT(n=float('nan'), i=2**53 + 1, b=b'\\xff', s={1})");
    code_result submitted = co_await runner.run_code(final_value.final_function("SUBMIT"));
    EXPECT_TRUE(submitted.final_value().has_value() && submitted.final_value_is_exact()) << all_of(submitted);
    EXPECT_EQ(submitted.out().text(), "o\n");
    code_result failed = co_await runner.run_code(code_request("print('o')\nraise ValueError(object(), {1})"));
    EXPECT_EQ(failed.failure() ? failed.failure()->type() : "", "ValueError") << all_of(failed);
    EXPECT_EQ(failed.out().text(), "o\n");
  });
}

// Feature: D20, F12
TEST(Pyodide, D5_D6_a_directory_is_shown_whole_and_what_is_written_is_there_at_once) {
  COFFERDAM_NEEDS_DENO();
  const temporary_folder data;
  data.write("in/a/deep.txt", "deep");
  data.write("out/old.txt", "old");
  data.write("secret.txt", "secret");
  std::filesystem::create_symlink(data / "secret.txt", data / "in/link.txt");
  auto options = fast_pyodide().allow_read((data / "in").string()).allow_write((data / "out").string(), "/results");
  with_pyodide(options, [&data](pyodide_runner& runner) -> awaitable<void> {
    code_result read = co_await runner.run_code(
        code_request("import os\n[open('/mnt/in/a/deep.txt').read(), sorted(os.listdir('/mnt/in'))]"));
    EXPECT_EQ(value_of(read), R"(["deep",["a","link.txt"]])") << all_of(read);
    code_result fails = co_await runner.run_code(
        code_request("import os\nos.mkdir('/results/sub')\nopen('/results/sub/new.txt', 'w').write('new')\n1/0"));
    EXPECT_EQ(fails.failure() ? fails.failure()->type() : "", "ZeroDivisionError") << all_of(fails);
    EXPECT_EQ(content_of(data / "out/sub/new.txt"), "new");
    code_request late("f = open('/results/late.txt', 'w')\nf.write('late')\nf.flush()\nwhile True: pass");
    code_result ended = co_await runner.run_code(late.timeout(2s));
    EXPECT_EQ(ended.kind(), error_kind::timeout) << all_of(ended);
    EXPECT_EQ(content_of(data / "out/late.txt"), "late");
    code_result changed = co_await runner.run_code(code_request("open('/results/old.txt', 'a').write('er')"));
    EXPECT_TRUE(changed.ok()) << all_of(changed);
    EXPECT_EQ(content_of(data / "out/old.txt"), "older");

    // Writing must fail in a read-only folder, in other folders, and through links.
    code_request refused(
        "import os\nseen = []\n"
        "for act in ('open(\"/mnt/in/no\", \"w\")', 'os.remove(\"/mnt/in/a/deep.txt\")', "
        "'open(\"/mnt/in/link.txt\").read()', "
        "'open(\"/results/../../secret.txt\").read()', 'os.symlink(\"/etc/passwd\", \"/results/l\")', "
        "'os.rename(\"/results/old.txt\", "
        "\"/mnt/in/old\")'):\n"
        "  try:\n    eval(act)\n    seen.append(act)\n  except OSError:\n    pass\nseen");
    code_result none = co_await runner.run_code(refused);
    EXPECT_EQ(value_of(none), "[]") << all_of(none);
    EXPECT_EQ(content_of(data / "in/a/deep.txt"), "deep");
    EXPECT_FALSE(std::filesystem::exists(data / "in/no"));
  });
}

TEST(Pyodide, D7_D9_memory_is_bounded_and_the_next_run_has_it_again) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide().memory_limit(128U * 1024 * 1024), [](pyodide_runner& runner) -> awaitable<void> {
    code_result grows =
        co_await runner.run_code(code_request("x = []\nwhile True:\n  x.append(bytearray(1_000_000))").timeout(100s));
    EXPECT_TRUE(grows.failure() && grows.failure()->type() == "MemoryError") << all_of(grows);
    code_result next = co_await runner.run_code(code_request("len(bytearray(10_000_000))").timeout(100s));
    EXPECT_EQ(value_of(next), "10000000") << all_of(next);
  });
}

TEST(Pyodide, D7_D9_chatter_on_standard_error_and_output_are_bounded) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    code_request chatter("import sys\nfor i in range(200):\n  sys.stderr.write('e' * 100_000)");
    code_result loud = co_await runner.run_code(chatter.timeout(100s).keep_output(1000));
    EXPECT_TRUE(loud.ok()) << all_of(loud);
    EXPECT_EQ(loud.err().total(), 20'000'000U);
    code_result next = co_await runner.run_code(code_request("len(bytearray(10_000_000))").timeout(100s));
    EXPECT_EQ(value_of(next), "10000000") << all_of(next);
  });
}

TEST(Pyodide, D8_forged_calls_of_host_functions_are_output) {
  COFFERDAM_NEEDS_DENO();
  int calls = 0;
  with_pyodide(fast_pyodide(), [&calls](pyodide_runner& runner) -> awaitable<void> {
    auto count = [&calls]() -> awaitable<int> {
      ++calls;
      co_return 1;
    };
    const std::string code =
        "import json\nfor i in range(300):\n"
        "  print(json.dumps({'jsonrpc': '2.0', 'method': 'tool_call', 'params': {'name': 'count', 'kwargs': {}}, 'id': "
        "i}))\n"
        "'done'";
    code_request forged(code);
    code_result result =
        co_await runner.run_code(forged.function(cofferdam::tools::function("count", "Counts.", count)));
    EXPECT_EQ(value_of(result), R"("done")") << all_of(result);
    EXPECT_EQ(calls, 0);
    code_request honest("count()");
    code_result control =
        co_await runner.run_code(honest.function(cofferdam::tools::function("count", "Counts.", count)));
    EXPECT_EQ(value_of(control), "1") << all_of(control);
    EXPECT_EQ(calls, 1);
  });
}

TEST(Pyodide, D10_what_is_not_there_is_an_ordinary_failure) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    code_result numpy = co_await runner.run_code(code_request("import numpy"));
    EXPECT_EQ(numpy.failure() ? numpy.failure()->type() : "", "ModuleNotFoundError") << all_of(numpy);
    code_request processes(
        "import os, subprocess, threading\nseen = []\n"
        "for act in (lambda: os.system('true'), os.fork, lambda: subprocess.run(['true']), "
        "lambda: threading.Thread(target=print).start(), lambda: os.popen('true')):\n"
        "  try:\n    act()\n    seen.append(1)\n  except (OSError, RuntimeError, AttributeError):\n    pass\nseen");
    code_result none = co_await runner.run_code(processes);
    EXPECT_EQ(value_of(none), "[]") << all_of(none);
    code_result next = co_await runner.run_code(code_request("1"));
    EXPECT_TRUE(next.ok()) << all_of(next);
  });
}

TEST(Pyodide, D11_line_numbers_are_those_of_the_code) {
  COFFERDAM_NEEDS_DENO();
  code_request request("a\n\n1/0");
  const code_result result = run_pyodide(request.variable("a", "x\ny").variable("b", 1));
  EXPECT_EQ(result.failure() ? result.failure()->line() : 0, 3) << all_of(result);
}

TEST(Pyodide, D12_a_dead_process_is_told_and_started_again_by_one_start) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(code_request("x = 1").context("c"));
    EXPECT_TRUE(first.ok()) << all_of(first);
    // One process communicates with the host. The other two are interpreters, and end when that process ends.
    const auto running = denos();
    EXPECT_EQ(running.size(), 3U);
    for (const auto& each : running)
      if (cofferdam_test::process_of(each.parent).name != "deno") ::kill(each.pid, SIGKILL);
    EXPECT_TRUE(eventually([] { return denos().empty(); }));
    code_result next = co_await runner.run_code(code_request("'x' in globals()").context("c").timeout(100s));
    // The run may have started before the runner detected the death of the process.
    if (next.kind() != error_kind::none) {
      EXPECT_EQ(next.kind(), error_kind::execution_error) << all_of(next);
      code_result again = co_await runner.run_code(code_request("'x' in globals()").context("c").timeout(100s));
      next = again;
    }
    EXPECT_EQ(value_of(next), "false") << all_of(next);
    EXPECT_TRUE(next.driver_restarted());
    code_result later = co_await runner.run_code(code_request("1"));
    EXPECT_FALSE(later.driver_restarted());
  });
}

TEST(Pyodide, what_ends_the_interpreter_is_told_and_the_next_run_has_another) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    code_result ended = co_await runner.run_code(code_request("import os\nprint('x', flush=True)\nos._exit(3)"));
    EXPECT_EQ(ended.exit_code(), 3) << all_of(ended);
    EXPECT_EQ(ended.out().text(), "x\n");
    EXPECT_FALSE(ended.ok());
    code_result crashed = co_await runner.run_code(code_request("import ctypes\nctypes.string_at(2**31)"));
    EXPECT_FALSE(crashed.ok()) << all_of(crashed);
    code_result next = co_await runner.run_code(code_request("'next'").timeout(100s));
    EXPECT_EQ(value_of(next), R"("next")") << all_of(next);
    code_result context = co_await runner.run_code(code_request("import os\nos._exit(4)").context("c"));
    EXPECT_EQ(context.exit_code(), 4) << all_of(context);
    EXPECT_TRUE(context.context_lost());
  });
}

TEST(Pyodide, fresh_globals_share_an_interpreter_and_isolated_runs_do_not) {
  COFFERDAM_NEEDS_DENO();
  const std::string leaves =
      "import csv\ncsv.register_dialect('mine')\nopen('mine', 'w').close()\nimport json\njson.dumps = None";
  const std::string looks =
      "import os, csv, json\n['mine' in csv.list_dialects(), os.path.exists('mine'), json.dumps is None]";
  with_pyodide(fast_pyodide(), [&](pyodide_runner& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(code_request(leaves));
    EXPECT_TRUE(first.ok()) << all_of(first);
    code_result second = co_await runner.run_code(code_request(looks));
    // The documentation of `pyodide` promises exactly this degree of isolation.
    EXPECT_EQ(value_of(second), "[true,true,false]") << all_of(second);
  });
  with_pyodide(fast_pyodide().isolate_runs(), [&](pyodide_runner& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(code_request(leaves));
    EXPECT_TRUE(first.ok()) << all_of(first);
    for (int i = 0; i < 3; ++i) {
      code_result next = co_await runner.run_code(code_request(looks).timeout(100s));
      EXPECT_EQ(value_of(next), "[false,false,false]") << all_of(next);
    }
  });
}

TEST(Pyodide, sleep_in_a_context_is_interrupted_and_random_numbers_differ) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide().variable("GREETING", "hello"), [](pyodide_runner& runner) -> awaitable<void> {
    code_result set = co_await runner.run_code(code_request("x = 5").context("c").timeout(100s));
    EXPECT_TRUE(set.ok()) << all_of(set);
    code_result late =
        co_await runner.run_code(code_request("import time\ntime.sleep(1000)").context("c").timeout(500ms));
    EXPECT_EQ(late.kind(), error_kind::timeout) << all_of(late);
    code_result after = co_await runner.run_code(code_request("x").context("c").timeout(100s));
    EXPECT_EQ(value_of(after), late.context_lost() ? "(none)" : "5") << all_of(after);
    code_result first = co_await runner.run_code(code_request("import random, os\n[random.random(), os.urandom(8)]"));
    code_result second = co_await runner.run_code(code_request("import random, os\n[random.random(), os.urandom(8)]"));
    code_result third =
        co_await runner.run_code(code_request("import random, os\n[random.random(), os.urandom(8)]").context("d"));
    EXPECT_NE(value_of(first), value_of(second));
    EXPECT_NE(value_of(first), value_of(third));
    code_result greeting = co_await runner.run_code(code_request("import os\nsorted(os.environ.items())"));
    EXPECT_EQ(greeting.value_text(), "[('GREETING', 'hello'), ('HOME', '/code'), ('LANG', 'C.UTF-8'), ('PATH', '/')]");
  });
}

// Feature: A19
TEST(Pyodide, what_is_missing_or_of_another_version_is_an_error_that_says_what_to_do) {
  EXPECT_EQ(code_of([] { open_it(pyodide().deno("/nowhere/deno")); }), exec_errc::not_found);
  EXPECT_NE(sentence_of([] { open_it(pyodide().deno("no-such-deno")); }).find("npm install deno"), std::string::npos);
  const temporary_folder folder;
  folder.write("deno", "#!/bin/sh\nexit 9\n", 0755);
  const std::string program = (folder / "deno").string();
  EXPECT_EQ(code_of([&] { open_it(pyodide().deno(program).folder((folder / "none").string())); }),
            exec_errc::not_found);
  folder.write("pyodide/pyodide.mjs", "");
  folder.write("pyodide/package.json", R"({"version": "0.1.0"})");
  const std::string old = (folder / "pyodide").string();
  EXPECT_EQ(code_of([&] { open_it(pyodide().deno(program).folder(old)); }), exec_errc::unsupported);
  EXPECT_NE(sentence_of([&] { open_it(pyodide().deno(program).folder(old)); }).find("pyodide@314"), std::string::npos);
  folder.write("pyodide/package.json", R"({"version": "314.0.6"})");
  EXPECT_EQ(code_of([&] { open_it(pyodide().deno(program).folder(old).allow_write(folder.path().string())); }),
            exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { open_it(pyodide().deno(program).folder(old).allow_read("/dev/null")); }),
            exec_errc::not_a_directory);
  folder.write("data/cache/empty", "");
  folder.write("other/empty", "");
  const auto keeps = pyodide().deno(program).folder(old).snapshots((folder / "data/cache").string());
  for (const char* const each : {"data", "data/cache"}) {
    const auto open = [&] { open_it(pyodide(keeps).allow_write((folder / each).string())); };
    EXPECT_EQ(code_of(open), exec_errc::invalid_argument) << each;
    EXPECT_NE(sentence_of(open).find("snapshots"), std::string::npos) << each;
  }
  EXPECT_NE(code_of([&] { open_it(pyodide(keeps).allow_write((folder / "other").string())); }),
            exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { pyodide().allow_network("a,b"); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { pyodide().allow_read("/x", "relative"); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { pyodide().memory_limit(1); }), exec_errc::invalid_argument);
}

TEST(Pyodide, a_deno_that_does_not_start_is_asked_for_its_version) {
  const temporary_folder folder;
  folder.write("pyodide/pyodide.mjs", "");
  folder.write("pyodide/package.json", R"({"version": "314.0.6"})");
  const auto said_of = [&folder](const std::string& version) {
    folder.write(
        "deno",
        "#!/bin/sh\nif [ \"$1\" = --version ]; then " + version + "; exit 0; fi\necho '--no-npm?' >&2\nexit 9\n", 0755);
    const auto open = [&folder] {
      open_it(pyodide().deno((folder / "deno").string()).folder((folder / "pyodide").string()));
    };
    return std::pair(code_of(open), sentence_of(open));
  };
  for (const char* const old : {"deno 1.40.0", "deno 2.7.14", "deno 3.0.0"}) {
    const auto [code, sentence] = said_of(std::string("echo ") + old + "; echo v8");
    EXPECT_EQ(code, exec_errc::unsupported) << sentence;
    EXPECT_NE(sentence.find(std::string("'") + old + "'; Deno 2.8 or newer"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("npm install deno@"), std::string::npos) << sentence;
  }
  for (const char* const other : {"echo v22.11.0", "true", "echo deno"}) {
    const auto [code, sentence] = said_of(other);
    EXPECT_EQ(code, exec_errc::unsupported) << sentence;
    EXPECT_NE(sentence.find("is not Deno"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("npm install deno@"), std::string::npos) << sentence;
  }
  folder.write("nothing", "\177ELF", 0755);
  const auto cannot = [&folder] {
    open_it(pyodide().deno((folder / "nothing").string()).folder((folder / "pyodide").string()));
  };
  EXPECT_EQ(code_of(cannot), exec_errc::unsupported);
  EXPECT_NE(sentence_of(cannot).find("npm install deno@"), std::string::npos) << sentence_of(cannot);
  const auto [code, sentence] = said_of("echo deno 2.9.6");
  EXPECT_EQ(code, exec_errc::provider_failed) << sentence;
  EXPECT_NE(sentence.find("exit code 9; its error output: '--no-npm?"), std::string::npos) << sentence;
}

TEST(Pyodide, PY_04_a_package_is_loaded_from_the_folder_and_a_missing_one_is_named) {
  COFFERDAM_NEEDS_DENO();
  const char* const own = std::getenv("COFFERDAM_PYODIDE");
  if (own == nullptr) GTEST_SKIP() << "COFFERDAM_PYODIDE is not set";
  const temporary_folder data;
  std::filesystem::copy(own, data / "pyodide");
  boost::json::value lock = boost::json::parse(content_of(data / "pyodide/pyodide-lock.json"));
  const auto enter = [&lock](const std::string& name, boost::json::array depends) {
    boost::json::object package{
        {"name", name}, {"version", "1.0"}, {"install_dir", "site"}, {"sha256", std::string(64, '0')}};
    package["file_name"] = name + "-1.0-py3-none-any.whl";
    package["package_type"] = "package";
    package["unvendored_tests"] = false;
    package["imports"] = boost::json::array{boost::json::string(name)};
    package["depends"] = std::move(depends);
    lock.at("packages").as_object()[name] = std::move(package);
  };
  enter("small", {"smaller"});
  enter("smaller", {});
  std::ofstream(data / "pyodide/pyodide-lock.json") << boost::json::serialize(lock);
  const std::string wheel =
      "import zipfile\n"
      "for name, text in (('small', 'import smaller\\nanswer = smaller.half * 2'), ('smaller', 'half = 21')):\n"
      "  with zipfile.ZipFile('/wheels/%s-1.0-py3-none-any.whl' % name, 'w') as z:\n"
      "    z.writestr(name + '.py', text)\n"
      "    info = name + '-1.0.dist-info/'\n"
      "    z.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: %s\\nVersion: 1.0\\n' % name)\n"
      "    z.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n"
      "    z.writestr(info + 'RECORD', '')\n";
  data.write("wheels/empty", "");
  data.write("images/empty", "");
  const code_result result =
      run_pyodide(code_request(wheel), fast_pyodide().allow_write((data / "wheels").string(), "/wheels"));
  ASSERT_TRUE(result.ok()) << all_of(result);

  const auto recipe = [&data] {
    return pyodide().folder((data / "pyodide").string()).snapshots((data / "images").string()).packages("small");
  };
  const auto put = [&data](const std::string& name) {
    std::filesystem::copy(data / ("wheels/" + name), data / ("pyodide/" + name));
  };
  put("small-1.0-py3-none-any.whl");
  const std::string sentence = sentence_of([&] { open_it(recipe()); });
  EXPECT_NE(sentence.find("packages(small) needs smaller-1.0-py3-none-any.whl in " + (data / "pyodide").string()),
            std::string::npos)
      << sentence;
  EXPECT_NE(sentence.find("full distribution"), std::string::npos) << sentence;
  EXPECT_EQ(sentence.find("--allow-net"), std::string::npos) << sentence;
  const std::string unknown = sentence_of([&] { open_it(recipe().packages("no-such")); });
  EXPECT_NE(unknown.find("no package 'no-such'"), std::string::npos) << unknown;

  put("smaller-1.0-py3-none-any.whl");
  with_pyodide(recipe(), [](pyodide_runner& runner) -> awaitable<void> {
    for (int i = 0; i < 2; ++i) {
      code_result fresh = co_await runner.run_code(code_request("import small\nsmall.answer").timeout(100s));
      EXPECT_EQ(value_of(fresh), "42") << all_of(fresh);
    }
    code_result context =
        co_await runner.run_code(code_request("import small\nsmall.answer").context("c").timeout(100s));
    EXPECT_EQ(value_of(context), "42") << all_of(context);
  });
}

// Feature: B25
TEST(Pyodide, a_host_that_is_not_allowed_is_named_with_the_option_that_allows_it) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide().allow_network("127.0.0.1:8099"), [](pyodide_runner& runner) -> awaitable<void> {
    for (const char* const code :
         {"import urllib.request\nurllib.request.urlopen('http://example.org:81/x')",
          "import http.client\nhttp.client.HTTPConnection('example.org', 81).request('GET', '/x')"}) {
      code_result refused = co_await runner.run_code(code_request(code));
      EXPECT_NE(refused.err().text().find("example.org:81"), std::string::npos) << all_of(refused);
      EXPECT_NE(refused.err().text().find("allow_network"), std::string::npos) << all_of(refused);
      EXPECT_EQ(refused.err().text().find("--allow-net"), std::string::npos) << all_of(refused);
    }
    code_result listens = co_await runner.run_code(code_request("import socket\nsocket.socket().listen()"));
    EXPECT_EQ(listens.failure() ? listens.failure()->type() : "", "OSError") << all_of(listens);
  });
}

TEST(Pyodide, asyncio_has_a_loop_at_hand_and_does_the_work_of_threads_at_once) {
  COFFERDAM_NEEDS_DENO();
  const std::string code =
      "import asyncio\nasync def main():\n"
      "  try:\n    await asyncio.to_thread(int, 'x')\n  except ValueError:\n    pass\n"
      "  return await asyncio.to_thread(len, 'abc')\n"
      "[asyncio.get_event_loop().run_until_complete(main()), asyncio.run(main()), "
      "asyncio.Runner(loop_factory=asyncio.EventLoop).run(main()), "
      "asyncio.get_event_loop().run_until_complete(main())]";
  with_pyodide(fast_pyodide(), [&code](pyodide_runner& runner) -> awaitable<void> {
    code_result fresh = co_await runner.run_code(code_request(code));
    EXPECT_EQ(value_of(fresh), "[3,3,3,3]") << all_of(fresh);
    code_result context = co_await runner.run_code(code_request(code).context("c"));
    EXPECT_EQ(value_of(context), "[3,3,3,3]") << all_of(context);
  });
}

TEST(Pyodide, what_a_fresh_run_starts_from) {
  COFFERDAM_NEEDS_DENO();
  const std::string looks =
      "import asyncio, calendar, codecs, contextvars, copy, copyreg, csv, decimal, fractions, gc, io, json, locale\n"
      "import logging, os, pathlib, pickle, random, reprlib, socket, statistics, sys, threading, warnings\n"
      "try:\n  odd = json.dumps({1})\nexcept TypeError:\n  odd = None\n"
      "[str(decimal.Decimal(1) / 3), decimal.Context().prec, len(list(contextvars.copy_context())), "
      "sys.get_int_max_str_digits(), locale.setlocale(locale.LC_ALL), str(locale.localeconv()), odd, "
      "json.dumps('\u00e4'), "
      "logging.root.level, len(logging.root.handlers), logging.root.manager.disable, logging.getLevelName(20), "
      "logging.getLogger('asyncio').level, calendar.firstweekday(), reprlib.repr([1, 2, 3]), str(fractions.Fraction(1, "
      "2)), "
      "pathlib.Path('x').exists(), copy.deepcopy([1]), str(pickle.loads(pickle.dumps(1j))), csv.field_size_limit(), "
      "socket.getdefaulttimeout(), gc.get_threshold()[0], gc.isenabled(), str(sys.get_asyncgen_hooks()), "
      "threading.excepthook is threading.__excepthook__, os.umask(os.umask(0)) >= 0, sys.getrecursionlimit(), "
      "random.random() == 0.13436424411240122, statistics.mean([1, 2]), len(warnings.filters)]";
  const std::string changes =
      "import asyncio, calendar, contextvars, copy, copyreg, csv, decimal, fractions, gc, json, locale, logging\n"
      "import pathlib, random, reprlib, socket, statistics, sys, threading, warnings\n"
      "decimal.getcontext().prec = 3\ndecimal.DefaultContext.prec = 5\ncontextvars.ContextVar('mine').set(1)\n"
      "sys.set_int_max_str_digits(700)\nlocale.setlocale(locale.LC_ALL, 'de_DE.UTF-8')\n"
      "locale._override_localeconv['thousands_sep'] = '.'\njson.JSONEncoder.default = lambda self, o: 5\n"
      "json._default_encoder.ensure_ascii = False\nlogging.basicConfig(level=10)\nlogging.disable(50)\n"
      "logging.addLevelName(20, 'HI')\nlogging.getLogger('asyncio').setLevel(50)\ncalendar.setfirstweekday(6)\n"
      "reprlib.aRepr.maxlist = 1\nfractions.Fraction.__str__ = lambda self: 'x'\npathlib.Path.exists = lambda self: 5\n"
      "copy._deepcopy_dispatch[list] = lambda x, memo: 5\ncopyreg.pickle(complex, lambda c: (int, (5,)))\n"
      "csv.field_size_limit(5)\nsocket.setdefaulttimeout(7)\ngc.set_threshold(5)\ngc.disable()\n"
      "sys.set_asyncgen_hooks(print, print)\nthreading.excepthook = None\nsys.setrecursionlimit(400)\nrandom.seed(1)\n"
      "statistics.mean = lambda x: 0\nwarnings.simplefilter('error')";
  with_pyodide(fast_pyodide().at_once(1), [&](pyodide_runner& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(code_request(looks));
    EXPECT_TRUE(first.ok()) << all_of(first);
    for (int i = 0; i < 2; ++i) {
      code_result changed = co_await runner.run_code(code_request(changes));
      EXPECT_TRUE(changed.ok()) << all_of(changed);
      code_result next = co_await runner.run_code(code_request(looks));
      EXPECT_EQ(value_of(next), value_of(first)) << all_of(next);
    }
    // The exit handlers must run at the end of each run.
    for (int i = 0; i < 2; ++i) {
      code_result ends = co_await runner.run_code(code_request(
          "import atexit, weakref\nclass thing: pass\nkept = thing()\nweakref.finalize(kept, print, 'gone')\n"
          "atexit.register(print, 'bye')"));
      EXPECT_EQ(ends.out().text(), "bye\ngone\n") << all_of(ends);
    }
  });
}

TEST(Pyodide, a_warm_run_takes_milliseconds) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    std::vector<std::chrono::nanoseconds> times;
    for (int i = 0; i < 50; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      code_result result = co_await runner.run_code(code_request("1+1"));
      times.push_back(std::chrono::steady_clock::now() - begin);
      EXPECT_TRUE(result.ok()) << all_of(result);
    }
    std::sort(times.begin(), times.end());
    const auto median = std::chrono::duration_cast<std::chrono::microseconds>(times[times.size() / 2]);
    std::printf("warm run, p50 of 50: %lld us\n", static_cast<long long>(median.count()));
    // The printed value is the purpose of the test. The limit is high, because the machine may be busy.
    EXPECT_LT(median, 1s);
  });
}

TEST(Pyodide, a_single_file_is_shown_and_its_neighbours_are_not) {
  COFFERDAM_NEEDS_DENO();
  const temporary_folder folder;
  folder.write("in.txt", "hello");
  folder.write("out.txt", "");
  folder.write("secret.txt", "secret");
  const std::string in = (folder / "in.txt").string();
  const std::string out = (folder / "out.txt").string();
  with_pyodide(
      fast_pyodide().allow_read(in).allow_write(out, "/data/here/out.txt"),
      [&](pyodide_runner& runner) -> awaitable<void> {
        code_result result = co_await runner.run_code(
            code_request("import os\nopen('/data/here/out.txt', 'w').write('made')\n"
                         "[open('/mnt/in.txt').read(), os.listdir('/mnt'), os.listdir('/data/here')]")
                .timeout(100s));
        EXPECT_EQ(value_of(result), R"(["hello",["in.txt"],["out.txt"]])") << all_of(result);
        EXPECT_EQ(folder.read("out.txt"), "made");
        for (const std::string code :
             {"open('/mnt/in.txt', 'w')", "import os\nos.listdir(os.path.dirname(os.path.realpath('/mnt/in.txt')))",
              "import os\nopen(os.path.dirname(os.path.realpath('/mnt/in.txt')) + '/secret.txt')",
              "import os\nopen(os.path.dirname(os.path.realpath('/data/here/out.txt')) + '/new.txt', 'w')"}) {
          code_result refused = co_await runner.run_code(code_request(code).timeout(100s));
          EXPECT_EQ(refused.failure() ? refused.failure()->type() : "", "PermissionError") << code << "\n"
                                                                                           << all_of(refused);
        }
      });
  EXPECT_EQ(folder.read("in.txt"), "hello");
  EXPECT_FALSE(std::filesystem::exists(folder / "new.txt"));
}

TEST(Pyodide, files_that_a_run_has_made_come_with_its_result) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    const std::string code =
        "import os\nos.makedirs('d')\nopen('d/a.bin', 'wb').write(bytes(range(256)))\n"
        "open('b.txt', 'w').write('x' * 3000)\nopen('c.txt', 'w').write('small')";
    code_request wants(code);
    wants.context("c").keep_files(300).timeout(100s);
    code_result result = co_await runner.run_code(std::move(wants));
    EXPECT_EQ(result.files().size(), 3U) << all_of(result);
    for (const auto& each : result.files()) {
      const std::string text = each.content() ? std::string(cofferdam::as_text(*each.content())) : "(none)";
      if (each.path() == "b.txt") {
        EXPECT_EQ(text, "(none)") << "there is no room for it";
      } else if (each.path() == "c.txt") {
        EXPECT_EQ(text, "small");
      } else {
        EXPECT_EQ(text.size(), 256U) << each.path();
        EXPECT_EQ(text.back(), '\xff');
      }
    }
    code_request does_not("open('e.txt', 'w').write('new')");
    does_not.context("c").timeout(100s);
    code_result bare = co_await runner.run_code(std::move(does_not));
    EXPECT_EQ(bare.files().size(), 1U) << all_of(bare);
    EXPECT_FALSE(bare.files().empty() || bare.files().front().content());
  });
}

TEST(Pyodide, more_contexts_than_there_may_be_are_refused_until_one_ends) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide().contexts_at_once(1), [](pyodide_runner& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(code_request("1").context("a").timeout(100s));
    EXPECT_TRUE(first.ok()) << all_of(first);
    code_result second = co_await runner.run_code(code_request("1").context("b").timeout(100s));
    EXPECT_NE(second.reason().find("contexts_at_once"), std::string::npos) << all_of(second);
    const bool ended = co_await runner.end_context("a");
    EXPECT_TRUE(ended);
    code_result third = co_await runner.run_code(code_request("1").context("b").timeout(100s));
    EXPECT_TRUE(third.ok()) << all_of(third);
  });
}
