// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/limit_code.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/llm/llm_review.hpp>

#include "support/run.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <string>

namespace default_constructed_runner_tests {

using namespace cofferdam;
using cofferdam_test::run;

/// A runner without an open() of its own: it is usable as soon as it is constructed. It counts its runs.
class always_ready {
 public:
  static inline int runs = 0;
  awaitable<code_result> run_code(code_request) {
    ++runs;
    co_return code_result();
  }
  awaitable<void> close() { co_return; }
};

/// The type of the runner that a `Recipe` opens.
template <class Recipe>
using opened_by = runner_of<Recipe>;

template <class Runner>
void expect_closed(const std::string& name) {
  for (const bool closes : {false, true}) {
    run([&]() -> awaitable<void> {
      Runner closed;
      bool thrown = false;
      try {
        if (closes) {
          co_await closed.close();
        } else {
          code_result result = co_await closed.run_code(code_request("1"));
          ADD_FAILURE() << name << " ran it: " << result.ok();
        }
      } catch (const error& failure) {
        thrown = true;
        EXPECT_EQ(failure.code(), exec_errc::environment_closed) << name;
        EXPECT_NE(std::string(failure.what()).find("default-constructed"), std::string::npos) << failure.what();
      }
      EXPECT_TRUE(thrown) << name << (closes ? ": close" : ": run_code");
    });
  }
}

TEST(DefaultConstructedRunner, a_runner_that_is_not_open_refuses_every_operation) {
  expect_closed<python_runner<local_environment>>("python");
  expect_closed<pyodide_runner>("pyodide");
  expect_closed<any_runner>("any_runner");
  expect_closed<opened_by<decltype(local() | python() | limit_code() | check_syntax() | allow_imports("json"))>>(
      "guards");
  expect_closed<opened_by<decltype(local() | python() | reject_patterns())>>("reject_patterns");
  expect_closed<limit_code_layer<any_runner>>("limit_code");
}

TEST(DefaultConstructedRunner, a_guard_without_its_settings_lets_nothing_through) {
  always_ready::runs = 0;
  run([]() -> awaitable<void> {
    guard_layer<import_policy, always_ready> guarded;
    try {
      co_await guarded.run_code(code_request("import os"));
      ADD_FAILURE() << "it ran";
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::environment_closed);
    }
    llm_review_layer<always_ready> reviewed;
    try {
      co_await reviewed.run_code(code_request("import os"));
      ADD_FAILURE() << "it ran";
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::environment_closed);
    }
    limit_code_layer<always_ready> limited;
    try {
      co_await limited.run_code(code_request("1"));
      ADD_FAILURE() << "it ran";
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::environment_closed);
    }
  });
  EXPECT_EQ(always_ready::runs, 0);
}

}  // namespace default_constructed_runner_tests
