// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/tools/function.hpp>

#include "code/python_support.hpp"
#include "support/error_of.hpp"
#include "support/spawn.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using cofferdam::awaitable;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::error_kind;
using cofferdam::exec_errc;
using cofferdam::python;
using cofferdam::tools::argument;
using cofferdam_test::all_of;
using cofferdam_test::code_of;
using cofferdam_test::python_here;
using cofferdam_test::value_of;
using cofferdam_test::with_python;
using namespace std::chrono_literals;
namespace tools = cofferdam::tools;

awaitable<boost::json::object> echo(tools::checked_arguments arguments) { co_return std::move(arguments).values(); }

awaitable<void> refuse() {
  throw std::runtime_error("not today\n\x1b[31m");
  co_return;
}

tools::function the_echo() {
  return tools::function("echo", "Says it back.", argument("text", tools::text),
                         argument("count", tools::integer).otherwise(2), echo);
}

code_request calling(const std::string& code) { return code_request(code).function(the_echo()); }

}  // namespace

// Feature: K5
TEST(HostFunction, is_a_python_function_with_a_signature) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result called = co_await runner.run_code(calling("[echo('a'), echo('b', 3), echo(count=4, text='c')]"));
    EXPECT_EQ(value_of(called), R"([{"text":"a","count":2},{"text":"b","count":3},{"text":"c","count":4}])")
        << all_of(called);
    code_result about = co_await runner.run_code(
        calling("import inspect\n[echo.__name__, echo.__doc__, str(inspect.signature(echo))]"));
    EXPECT_EQ(value_of(about), R"j(["echo","Says it back.","(text: str, count: int = 2)"])j");
    code_result elsewhere = co_await runner.run_code(code_request("echo('a')"));
    EXPECT_EQ(elsewhere.failure() ? elsewhere.failure()->type() : "", "NameError") << "only the run that was given it";
  });
}

TEST(HostFunction, wrong_calls_are_type_errors_and_failures_are_exceptions) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    for (const std::string code : {"echo()", "echo('a', 1, 2)", "echo('a', other=1)", "echo(5)", "echo('a', 'b')",
                                   "echo('a', 1.5)", "echo('a', True)", "echo('a', object())"}) {
      code_result wrong = co_await runner.run_code(calling(code));
      EXPECT_EQ(wrong.failure() ? wrong.failure()->type() : "", "TypeError") << code << all_of(wrong);
    }
    code_result failed = co_await runner.run_code(
        code_request("try:\n  refuse()\nexcept RuntimeError as e:\n  print(type(e).__name__, e)\nrefuse()")
            .function(tools::function("refuse", "Refuses.", refuse)));
    EXPECT_EQ(failed.failure() ? failed.failure()->type() : "", "HostFunctionError") << all_of(failed);
    EXPECT_TRUE(failed.out().text().starts_with("HostFunctionError not today")) << all_of(failed);
    EXPECT_EQ(failed.out().text().find('\x1b'), std::string::npos);
    EXPECT_EQ(failed.failure() ? failed.failure()->line() : 0, 5);
  });
}

TEST(HostFunction, the_name_of_their_exception_is_no_others) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result set = co_await runner.run_code(code_request("HostFunctionError = 5").context("c"));
    EXPECT_TRUE(set.ok()) << all_of(set);
    code_result with = co_await runner.run_code(calling("HostFunctionError").context("c"));
    EXPECT_EQ(value_of(with), "5") << all_of(with);
    code_result after = co_await runner.run_code(code_request("HostFunctionError").context("c"));
    EXPECT_EQ(value_of(after), "5") << all_of(after);
    code_result other = co_await runner.run_code(calling("HostFunctionError.__name__\necho = 7").context("d"));
    EXPECT_TRUE(other.ok()) << all_of(other);
    code_result kept = co_await runner.run_code(code_request("['HostFunctionError' in globals(), echo]").context("d"));
    EXPECT_EQ(value_of(kept), "[false,7]") << all_of(kept);
    code_result function =
        co_await runner.run_code(code_request("HostFunctionError('x')['text']")
                                     .function(tools::function("HostFunctionError", "", argument("text"),
                                                               [](std::string text) -> awaitable<boost::json::object> {
                                                                 boost::json::object object;
                                                                 object["text"] = text;
                                                                 co_return object;
                                                               })));
    EXPECT_EQ(value_of(function), "\"x\"") << all_of(function);
  });
}

TEST(HostFunction, a_long_message_is_cut_and_valid) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    const auto fail = []() -> awaitable<void> {
      std::string text = "x";
      for (int i = 0; i < 100'000; ++i) text += "\xe2\x82\xac";
      throw std::runtime_error(text);
      co_return;
    };
    tools::function failing("fail", "Fails.", fail);
    code_request request(
        "try:\n  fail()\nexcept HostFunctionError as e:\n  made = str(e)\n[len(made) > 1000, len(made) < 20000, "
        "set(made) == {'x', '\\u20ac'}]");
    request.function(std::move(failing));
    code_result result = co_await runner.run_code(std::move(request));
    EXPECT_EQ(value_of(result), "[true,true,true]") << all_of(result);
  });
}

TEST(HostFunction, any_name_and_any_order_of_defaults) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    const auto named = [](std::string name) {
      return tools::function(std::move(name), "Says it back.", argument("call", tools::text),
                             argument("made", tools::integer).otherwise(2), argument("last", tools::integer),
                             argument("call_", tools::integer).otherwise(3), echo);
    };
    for (const char* const name : {"call", "call__", "echo"}) {
      const std::string code = std::string(name) + "('a', last=1), " + name + "('b', 5, 6, last=7), " + name;
      code_result called = co_await runner.run_code(
          code_request("*said, f = " + code + "\nimport inspect\nsaid + [str(inspect.signature(f)), f.__module__]")
              .function(named(name)));
      EXPECT_EQ(value_of(called),
                R"j([{"call":"a","made":2,"last":1,"call_":3},{"call":"b","made":5,"last":7,"call_":6},)j"
                R"j("(call: str, made: int = 2, call_: int = 3, *, last: int)","__main__"])j")
          << name << all_of(called);
    }
  });
  for (const char* const word : {"class", "from", "None", "__debug__", "1a", "a b", ""}) {
    code_request request;
    EXPECT_THROW(request.function(tools::function(word, "", echo)), cofferdam::error) << word;
    EXPECT_THROW(request.function(tools::function("f", "", argument(word, tools::text), echo)), cofferdam::error)
        << word;
    EXPECT_TRUE(request.functions().empty());
  }
}

TEST(HostFunction, exact_values_go_through) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result called = co_await runner.run_code(
        code_request("x = [2 ** 80, float('nan'), b'\\0', (1, {2}), 0.1, {1: 2}]\ny = echo(x)['value']\n"
                     "repr(x) == repr(y) and [type(i).__name__ for i in y]")
            .function(tools::function("echo", "", argument("value", tools::any), echo)));
    EXPECT_EQ(value_of(called), R"(["int","float","bytes","tuple","float","dict"])") << all_of(called);
  });
}

TEST(HostFunction, works_in_contexts_and_threads) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(calling("kept = echo\necho('a')['text']").context("c"));
    EXPECT_EQ(value_of(first), "\"a\"") << all_of(first);
    code_result gone = co_await runner.run_code(code_request("echo('a')").context("c"));
    EXPECT_EQ(gone.failure() ? gone.failure()->type() : "", "NameError");
    code_result kept = co_await runner.run_code(code_request("kept('a')").context("c"));
    EXPECT_FALSE(kept.ok()) << "the run that was given it is over";
    EXPECT_EQ(kept.failure() ? kept.failure()->type() : "", "NameError") << all_of(kept);
    code_result threads =
        co_await runner.run_code(calling("from concurrent.futures import ThreadPoolExecutor\n"
                                         "with ThreadPoolExecutor(4) as pool: made = list(pool.map(lambda i: "
                                         "echo(str(i))['text'], range(20)))\nmade[19]"));
    EXPECT_EQ(value_of(threads), "\"19\"") << all_of(threads);
    code_result forked =
        co_await runner.run_code(calling("import os\npid = os.fork()\nif pid == 0:\n  try:\n    echo('a')\n  except "
                                         "RuntimeError: os._exit(5)\n  os._exit(0)\n"
                                         "os.waitpid(pid, 0)[1] >> 8"));
    EXPECT_EQ(value_of(forked), "5") << all_of(forked);
  });
}

TEST(HostFunction, its_time_counts_and_it_is_cancelled_at_the_limit) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    const auto ended = std::make_shared<int>(0);
    const auto wait = [ended]() -> awaitable<void> {
      const std::shared_ptr<int> mine = ended;
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      asio::steady_timer timer(executor, 1h);
      bool cancelled = false;
      try {
        co_await timer.async_wait(asio::use_awaitable);
      } catch (const std::system_error&) {
        cancelled = true;
      }
      if (cancelled) ++*mine;
    };
    tools::function slow("slow", "Waits.", wait);
    code_request request("print('on')\nslow()");
    request.function(std::move(slow)).timeout(300ms);
    code_result result = co_await runner.run_code(std::move(request));
    EXPECT_EQ(result.kind(), error_kind::timeout) << all_of(result);
    EXPECT_EQ(*ended, 1);
    EXPECT_EQ(result.out().text(), "on\n");
    code_result next = co_await runner.run_code(code_request("1+1"));
    EXPECT_EQ(value_of(next), "2");
  });
}

TEST(HostFunction, names_and_types_are_checked) {
  code_request request;
  const auto named = [&request](const char* name) {
    return code_of([&] { request.function(tools::function(name, "", echo)); });
  };
  EXPECT_EQ(named(""), exec_errc::invalid_argument);
  EXPECT_EQ(named("a b"), exec_errc::invalid_argument);
  EXPECT_EQ(named("1a"), exec_errc::invalid_argument);
  EXPECT_EQ(named("a.b"), exec_errc::invalid_argument);
  decltype(&echo) nothing = nullptr;
  EXPECT_EQ(code_of([&] { tools::function("a", "", nothing); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { tools::function("a", "", argument("x", tools::any), argument("x", tools::any), echo); }),
            exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { static_cast<void>(code_request("").function(the_echo()).function(the_echo())); }),
            exec_errc::invalid_argument);
}

namespace {

/// A host function that runs further code in the runner that called it. `notes` records the outcome of each run.
class nested_calls {
 public:
  std::vector<std::string> notes;

  template <class Runner>
  tools::function runs_code(Runner& runner, std::string name, code_request request) {
    const auto call = [this, &runner, request] { return run_noting(*this, runner, request); };
    return tools::function(std::move(name), "Runs code.", call);
  }

 private:
  template <class Runner>
  static awaitable<void> run_noting(nested_calls& self, Runner& runner, code_request request) {
    try {
      code_result result = co_await runner.run_code(std::move(request));
      self.notes.push_back(result.ok() ? "ran" : all_of(result));
    } catch (const cofferdam::error& reason) {
      self.notes.push_back(reason.code() == exec_errc::deadlock ? "deadlock" : reason.what());
      throw;
    }
  }
};

}  // namespace

// Feature: K7
TEST(HostFunction, that_runs_code_in_the_context_that_called_it_is_refused_at_once) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    nested_calls calls;
    const auto begun = std::chrono::steady_clock::now();
    code_request outer("known = 1\nagain()");
    outer.context("a").timeout(60s).function(
        calls.runs_code(runner, "again", code_request("1").context("a").timeout(60s)));
    code_result result = co_await runner.run_code(std::move(outer));
    EXPECT_EQ(calls.notes, std::vector<std::string>{"deadlock"});
    EXPECT_EQ(result.failure() ? result.failure()->type() : "", "HostFunctionError") << all_of(result);
    EXPECT_NE(result.failure()->message().find("the context 'a' is running the code that called this host function"),
              std::string::npos);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
    code_request after("known");
    after.context("a");
    code_result known = co_await runner.run_code(std::move(after));
    EXPECT_EQ(value_of(known), "1") << "the context lives: " << all_of(known);
  });
}

TEST(HostFunction, that_comes_back_to_a_context_by_other_runs_is_refused_at_once) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    nested_calls calls;
    // The calls form a cycle: context a, fresh globals, context b, and context a again.
    code_request last("1");
    last.context("a").timeout(60s);
    code_request in_b("to_a()");
    in_b.context("b").timeout(60s).function(calls.runs_code(runner, "to_a", std::move(last)));
    code_request fresh("to_b()");
    fresh.timeout(60s).function(calls.runs_code(runner, "to_b", std::move(in_b)));
    code_request first("to_fresh()");
    first.context("a").timeout(60s).function(calls.runs_code(runner, "to_fresh", std::move(fresh)));
    const auto begun = std::chrono::steady_clock::now();
    code_result result = co_await runner.run_code(std::move(first));
    EXPECT_FALSE(calls.notes.empty());
    if (!calls.notes.empty()) {
      EXPECT_EQ(calls.notes.front(), "deadlock");
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
  });
}

TEST(HostFunction, may_run_code_elsewhere_and_others_may_wait_for_the_context) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    nested_calls calls;
    code_request outer("in_b()\nfresh()\nwait()");
    outer.context("a").timeout(60s);
    outer.function(calls.runs_code(runner, "in_b", code_request("1").context("b").timeout(60s)));
    outer.function(calls.runs_code(runner, "fresh", code_request("1").timeout(60s)));
    // While the function waits, another run waits for the same context.
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::steady_timer waiting(executor, std::chrono::steady_clock::time_point::max());
    bool waited = false;
    bool ran = false;
    outer.function(tools::function("wait", "Waits.", [&]() -> awaitable<void> {
      code_request queued("2");
      queued.context("a").timeout(60s);
      auto ended = [&ran, &waiting](std::exception_ptr failure, const code_result& result) {
        EXPECT_FALSE(failure);
        EXPECT_EQ(value_of(result), "2");
        ran = true;
        waiting.cancel();
      };
      cofferdam_test::spawn(executor, runner.run_code(std::move(queued)), std::move(ended));
      asio::steady_timer shortly(executor, 100ms);
      co_await shortly.async_wait(asio::use_awaitable);
      waited = true;
    }));
    code_result result = co_await runner.run_code(std::move(outer));
    EXPECT_TRUE(result.ok()) << all_of(result);
    EXPECT_EQ(calls.notes, (std::vector<std::string>{"ran", "ran"}));
    EXPECT_TRUE(waited);
    std::error_code woken;
    if (!ran) co_await waiting.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    EXPECT_TRUE(ran);
  });
}
