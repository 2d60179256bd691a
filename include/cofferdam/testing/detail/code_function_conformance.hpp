// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/code/host_function.hpp>
#include <cofferdam/testing/detail/code_conformance_base.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The tests of functions of the host program that the code calls.
template <class Backend>
class code_function_conformance : public detail::runner_conformance<Backend> {};
TYPED_TEST_SUITE_P(code_function_conformance);

namespace detail {

/// Returns a host function that returns its argument.
inline cofferdam::detail::host_function echo_function() {
  auto call = [](boost::json::object arguments) -> awaitable<boost::json::value> { co_return arguments["value"]; };
  return cofferdam::detail::host_function("echo", call).parameter("value", "");
}

inline cofferdam::detail::host_function add_function() {
  auto call = [](boost::json::object arguments) -> awaitable<boost::json::value> {
    co_return arguments["a"].as_int64() + arguments["b"].as_int64();
  };
  return cofferdam::detail::host_function("add", call)
      .parameter("a", "int")
      .parameter("b", "int", boost::json::value(10))
      .doc("Adds.");
}

inline cofferdam::detail::host_function fail_function() {
  auto call = [](boost::json::object) -> awaitable<boost::json::value> {
    throw std::runtime_error("the database is closed");
    co_return nullptr;
  };
  return cofferdam::detail::host_function("fail", call);
}

/// Counts the calls of `wait_function` that have begun and ended.
class waiting_calls {
 public:
  int begun = 0;
  int ended = 0;
};

class end_of_call {
 public:
  explicit end_of_call(std::shared_ptr<waiting_calls> counts) : counts_(std::move(counts)) {}
  end_of_call(const end_of_call&) = delete;
  end_of_call& operator=(const end_of_call&) = delete;
  ~end_of_call() { ++counts_->ended; }

 private:
  std::shared_ptr<waiting_calls> counts_;
};

inline cofferdam::detail::host_function wait_function(std::shared_ptr<waiting_calls> counts) {
  auto call = [counts](boost::json::object) -> awaitable<boost::json::value> {
    ++counts->begun;
    const end_of_call ended(counts);
    co_await sleep_for(std::chrono::minutes(10));
    co_return nullptr;
  };
  return cofferdam::detail::host_function("wait", call);
}

}  // namespace detail

TYPED_TEST_P(code_function_conformance, is_a_function_with_a_signature) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request request(
        "import inspect\n[add(1), add(1, 2), add(b=3, a=1), add.__name__, add.__doc__, str(inspect.signature(add))]");
    code_result result = co_await runner.run_code(request.function(detail::add_function()));
    EXPECT_EQ(detail::value_text(result), R"x([11,3,4,"add","Adds.","(a: int, b: int = 10)"])x")
        << detail::told(result);
  });
}

TYPED_TEST_P(code_function_conformance, wrong_calls_are_type_errors) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request request(
        "seen = []\nfor call in ('add()', 'add(1, 2, 3)', 'add(1, c=2)', 'add(\"x\")', 'add(object())', 'add(1.5)'):\n"
        "  try:\n    eval(call)\n    seen.append('none')\n  except TypeError as e:\n    seen.append('type')\nseen");
    code_result result = co_await runner.run_code(request.function(detail::add_function()));
    EXPECT_EQ(detail::value_text(result), R"(["type","type","type","type","type","type"])") << detail::told(result);
  });
}

TYPED_TEST_P(code_function_conformance, failures_are_exceptions_that_can_be_caught) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request caught("try:\n  fail()\nexcept RuntimeError as e:\n  x = [type(e).__name__, str(e)]\nx");
    code_result first = co_await runner.run_code(caught.function(detail::fail_function()));
    EXPECT_EQ(detail::value_text(first), R"(["HostFunctionError","the database is closed"])") << detail::told(first);
    code_request uncaught("fail()");
    code_result two = co_await runner.run_code(uncaught.function(detail::fail_function()));
    EXPECT_EQ(detail::failure_type(two), "HostFunctionError") << detail::told(two);
    code_request after("add(1)\nraise ValueError(object())");
    code_result three = co_await runner.run_code(after.function(detail::add_function()));
    EXPECT_EQ(detail::failure_type(three), "ValueError") << detail::told(three);
    code_result four = co_await runner.run_code(code_request("'alive'"));
    EXPECT_EQ(detail::value_text(four), R"("alive")");
    EXPECT_FALSE(four.driver_restarted());
  });
}

TYPED_TEST_P(code_function_conformance, their_exception_has_a_name_and_the_very_message) {
  this->with([](auto& runner) -> awaitable<void> {
    auto refuse = [](boost::json::object) -> awaitable<boost::json::value> {
      throw std::runtime_error("no \"x\",\n\tor 'y' \xe2\x82\xac \xff\a");
      co_return nullptr;
    };
    code_request named(
        "try:\n  fail()\nexcept HostFunctionError as e:\n  x = [issubclass(type(e), RuntimeError), str(e)]\nx");
    code_result first = co_await runner.run_code(named.function(cofferdam::detail::host_function("fail", refuse)));
    EXPECT_EQ(detail::value_text(first), "[true,\"no \\\"x\\\",\\n\\tor 'y' \xe2\x82\xac \xef\xbf\xbd\\\\x07\"]")
        << detail::told(first);
    code_request own("HostFunctionError");
    own.function(detail::fail_function()).variable("HostFunctionError", 3);
    code_result two = co_await runner.run_code(own);
    EXPECT_EQ(detail::value_text(two), "3") << detail::told(two);
    code_result gone = co_await runner.run_code(code_request("'HostFunctionError' in globals()"));
    EXPECT_EQ(detail::value_text(gone), "false");
  });
}

TYPED_TEST_P(code_function_conformance, a_refused_argument_is_named_with_its_type) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::vector<std::vector<std::string>> cases{
        {"class metres(float): pass\necho(metres(1))", "'value'", "metres", "pass float(value)"},
        {"from fractions import Fraction\necho([1, Fraction(1, 2)])", "'value'", "fractions.Fraction", "holds"},
        {"echo('x' * 20_000_000)", "'value'", "str", "too large"},
        {"add(1, 2.5)", "'b'", "int", "float"},
    };
    for (const std::vector<std::string>& each : cases) {
      code_request request(each[0]);
      request.function(detail::add_function()).function(detail::echo_function()).timeout(detail::long_limit);
      code_result result = co_await runner.run_code(request);
      EXPECT_EQ(detail::failure_type(result), "TypeError") << detail::told(result);
      for (const std::string& word : each) {
        if (word == each[0]) continue;
        const std::string message = result.failure() ? result.failure()->message() : "";
        EXPECT_NE(message.find(word), std::string::npos) << word << ": " << message;
      }
    }
  });
}

TYPED_TEST_P(code_function_conformance, exact_values_go_through) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request request(
        "values = [None, True, 2**53 + 1, 2**70, 0.1, float('inf'), 'a\\0b', b'\\x00\\xff', (1, 2), {3}, {1: 'x'}, "
        "{'a': [None]}]\n[v for v in values if repr(echo(v)) != repr(v)]");
    code_result result = co_await runner.run_code(request.function(detail::echo_function()));
    EXPECT_EQ(detail::value_text(result), "[]") << detail::told(result);
  });
}

TYPED_TEST_P(code_function_conformance, may_be_called_often_and_with_much) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request request("n = 0\nfor i in range(200):\n  n = add(n, 1)\n[n, len(echo('x' * 1_000_000))]");
    request.function(detail::add_function()).function(detail::echo_function()).timeout(detail::long_limit);
    code_result result = co_await runner.run_code(request);
    EXPECT_EQ(detail::value_text(result), "[200,1000000]") << detail::told(result);
  });
}

TYPED_TEST_P(code_function_conformance, is_there_for_its_run_only) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request first("import builtins\nbuiltins.kept = add\nadd(1)");
    code_result first_result = co_await runner.run_code(first.function(detail::add_function()));
    EXPECT_EQ(detail::value_text(first_result), "11");
    code_result two = co_await runner.run_code(code_request("'add' in globals()"));
    EXPECT_EQ(detail::value_text(two), "false");
  });
}

TYPED_TEST_P(code_function_conformance, its_time_counts_and_it_is_cancelled_at_the_limit) {
  this->with([](auto& runner) -> awaitable<void> {
    const auto counts = std::make_shared<detail::waiting_calls>();
    code_request request("print('waiting')\nwait()");
    request.function(detail::wait_function(counts)).timeout(std::chrono::seconds(2));
    code_result result = co_await runner.run_code(request);
    EXPECT_EQ(result.kind(), error_kind::timeout) << detail::told(result);
    EXPECT_EQ(result.out().text(), "waiting\n");
    EXPECT_EQ(counts->begun, 1);
    EXPECT_EQ(counts->ended, 1);
    code_result after = co_await runner.run_code(code_request("'next'").timeout(detail::long_limit));
    EXPECT_EQ(detail::value_text(after), R"("next")") << detail::told(after);
  });
}

TYPED_TEST_P(code_function_conformance, works_in_contexts) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request first("x = add(1, 1)");
    first.context("with functions").function(detail::add_function());
    code_result first_result = co_await runner.run_code(first);
    EXPECT_TRUE(first_result.ok()) << detail::told(first_result);
    code_request second("[x, 'add' in globals()]");
    code_result two = co_await runner.run_code(second.context("with functions"));
    EXPECT_EQ(detail::value_text(two), "[2,false]") << detail::told(two);
    co_await runner.end_context("with functions");
  });
}

REGISTER_TYPED_TEST_SUITE_P(code_function_conformance, is_a_function_with_a_signature, wrong_calls_are_type_errors,
                            failures_are_exceptions_that_can_be_caught, their_exception_has_a_name_and_the_very_message,
                            a_refused_argument_is_named_with_its_type, exact_values_go_through,
                            may_be_called_often_and_with_much, is_there_for_its_run_only,
                            its_time_counts_and_it_is_cancelled_at_the_limit, works_in_contexts);

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
