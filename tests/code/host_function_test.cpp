// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/code/host_function.hpp>

#include "code/python_support.hpp"
#include "support/error_of.hpp"

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using cofferdam::awaitable;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::errc;
using cofferdam::error_kind;
using cofferdam::host_function;
using cofferdam::python;
using cofferdam_test::all_of;
using cofferdam_test::code_of;
using cofferdam_test::python_here;
using cofferdam_test::value_of;
using cofferdam_test::with_python;
using namespace std::chrono_literals;

awaitable<boost::json::value> echo(boost::json::object arguments) {
  co_return boost::json::value(std::move(arguments));
}

awaitable<boost::json::value> refuse(boost::json::object) {
  throw std::runtime_error("not today\n\x1b[31m");
  co_return boost::json::value();
}

host_function the_echo() {
  return host_function("echo", echo).parameter("text", "str").parameter("count", "int", 2).doc("Says it back.");
}

code_request calling(const std::string& code) { return code_request(code).function(the_echo()); }

}  // namespace

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
            .function(host_function("refuse", refuse)));
    EXPECT_EQ(failed.failure() ? failed.failure()->type() : "", "HostFunctionError") << all_of(failed);
    EXPECT_TRUE(failed.out().text().starts_with("HostFunctionError not today")) << all_of(failed);
    EXPECT_EQ(failed.out().text().find('\x1b'), std::string::npos);
    EXPECT_EQ(failed.failure() ? failed.failure()->line() : 0, 5);
  });
}

TEST(HostFunction, the_name_of_their_exception_is_no_others) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result set = co_await runner.run_code(code_request("HostFunctionError = 5").context("c"));
    EXPECT_TRUE(set.success()) << all_of(set);
    code_result with = co_await runner.run_code(calling("HostFunctionError").context("c"));
    EXPECT_EQ(value_of(with), "5") << all_of(with);
    code_result after = co_await runner.run_code(code_request("HostFunctionError").context("c"));
    EXPECT_EQ(value_of(after), "5") << all_of(after);
    code_result other = co_await runner.run_code(calling("HostFunctionError.__name__\necho = 7").context("d"));
    EXPECT_TRUE(other.success()) << all_of(other);
    code_result kept = co_await runner.run_code(code_request("['HostFunctionError' in globals(), echo]").context("d"));
    EXPECT_EQ(value_of(kept), "[false,7]") << all_of(kept);
    code_result function =
        co_await runner.run_code(code_request("HostFunctionError('x')['text']")
                                     .function(host_function("HostFunctionError", echo).parameter("text", "str")));
    EXPECT_EQ(value_of(function), "\"x\"") << all_of(function);
  });
}

TEST(HostFunction, a_long_message_is_cut_and_valid) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    const auto fail = [](boost::json::object) -> awaitable<boost::json::value> {
      std::string text = "x";
      for (int i = 0; i < 100'000; ++i) text += "\xe2\x82\xac";
      throw std::runtime_error(text);
      co_return boost::json::value();
    };
    host_function::handler handler = fail;
    host_function failing("fail", std::move(handler));
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
      return host_function(std::move(name), echo)
          .parameter("call", "str")
          .parameter("made", "int", 2)
          .parameter("last", "int")
          .parameter("call_", "int", 3);
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
    EXPECT_THROW(host_function(word, echo), cofferdam::error) << word;
    EXPECT_THROW(host_function("f", echo).parameter(word, "str"), cofferdam::error) << word;
  }
}

TEST(HostFunction, exact_values_go_through) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result called = co_await runner.run_code(
        code_request("x = [2 ** 80, float('nan'), b'\\0', (1, {2}), 0.1, {1: 2}]\ny = echo(x)['value']\n"
                     "repr(x) == repr(y) and [type(i).__name__ for i in y]")
            .function(host_function("echo", echo).parameter("value", "")));
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
    EXPECT_FALSE(kept.success()) << "the run that was given it is over";
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
    const auto wait = [ended](boost::json::object) -> awaitable<boost::json::value> {
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
      co_return boost::json::value();
    };
    host_function::handler handler = wait;
    host_function slow("slow", std::move(handler));
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
  EXPECT_EQ(code_of([] { host_function("", echo); }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { host_function("a b", echo); }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { host_function("1a", echo); }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { host_function("a", nullptr); }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { host_function("a", echo).parameter("x", "number"); }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { host_function("a", echo).parameter("x", "").parameter("x", ""); }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { code_request("").function(the_echo()).function(the_echo()); }), errc::invalid_argument);
}
