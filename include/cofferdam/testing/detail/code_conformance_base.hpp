// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/core/callable_ref.hpp>
#include <cofferdam/testing/detail/conformance_base.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::testing::detail {

/// Runs a coroutine on `loop` until it ends. Fails the test if the coroutine throws or takes longer than `patience`.
inline void run_check_on(asio::io_context& loop, std::function<awaitable<void>()> body) {
  std::exception_ptr failure;
  const auto done = std::make_shared<bool>(false);
  auto ended = [&failure, done](std::exception_ptr thrown) {
    if (!*done) failure = thrown;
    *done = true;
  };
  asio::co_spawn(loop, std::move(body), ended);
  loop.restart();
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!*done && std::chrono::steady_clock::now() < limit) loop.run_one_for(std::chrono::seconds(1));
  if (!*done) {
    *done = true;
    ADD_FAILURE() << "the check did not finish within " << patience.count() << " s";
    return;
  }
  expect_nothing_thrown(failure, "the check");
}

/// The completion handler for coroutines that a test has spawned: it fails the test if the coroutine threw.
inline void expect_no_exception(const std::exception_ptr& failure) {
  expect_nothing_thrown(failure, "what the check has begun");
}

/// The base class of the suites for runners. A runner may take seconds to start, so the tests of one suite share a
/// runner. Each test must leave the shared runner usable. A test that ends its runner opens one for itself.
template <class Backend>
class runner_conformance : public ::testing::Test {
 public:
  using runner = runner_of<decltype(Backend::provider())>;

  static void TearDownTestSuite() {
    if (!shared().one) return;
    run_check_on(shared().loop, []() -> awaitable<void> { co_await shared().one->close(); });
    shared().one.reset();
    shared().loop.restart();
    shared().loop.run_for(std::chrono::seconds(10));
  }

 protected:
  /// Runs `body` with the shared runner of the suite.
  template <class Body>
  static void with(Body body) {
    with_shared(body);
  }

  /// Runs `body` with a new runner, which is closed afterwards.
  template <class Body>
  static void with_own(Body body) {
    with_opened(body);
  }

 private:
  using opened = cofferdam::detail::opened_by<decltype(Backend::provider())>;

  static void with_shared(cofferdam::detail::callable_ref<awaitable<void>(runner&)> body) {
    run_check_on(shared().loop, [body]() -> awaitable<void> {
      if (!shared().one) co_await open_shared();
      co_await body(*shared().one);
    });
  }
  static void with_opened(cofferdam::detail::callable_ref<awaitable<void>(opened&)> body) {
    run_check([&]() -> awaitable<void> { co_await cofferdam::with(Backend::provider(), body); });
  }

  struct held {
    asio::io_context loop;
    std::optional<runner> one;
  };
  static held& shared() {
    static held instance;
    return instance;
  }
  static awaitable<void> open_shared() {
    const auto provider = Backend::provider();
    runner opened = co_await provider.open();
    shared().one.emplace(std::move(opened));
  }
};

/// Returns the value of the code as JSON text; "(none)" if it has no value.
inline std::string value_text(const code_result& result) {
  return result.value() ? boost::json::serialize(*result.value()) : "(none)";
}

inline std::string final_text(const code_result& result) {
  return result.final_value() ? boost::json::serialize(*result.final_value()) : "(none)";
}

inline std::string failure_type(const code_result& result) { return result.failure() ? result.failure()->type() : ""; }

/// Returns a description of a result for failure messages.
inline std::string told(const code_result& result) {
  std::string text = "exit " + std::to_string(result.exit_code()) + ", signal " + std::to_string(result.term_signal()) +
                     ", " + std::string(to_string(result.kind())) + ": " + result.reason();
  text += "\nout: " + result.out().text().substr(0, 2000) + "\nerr: " + result.err().text().substr(0, 4000);
  return text + "\nvalue: " + value_text(result).substr(0, 2000);
}

/// A time limit that a correct run does not reach, even on a loaded machine.
inline constexpr std::chrono::seconds long_limit{100};

}  // namespace cofferdam::inline COFFERDAM_ABI::testing::detail
