// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/core/callable_ref.hpp>
#include <cofferdam/detail/core/sleep.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::testing::detail {

/// The time after which a test counts as hanging.
inline constexpr std::chrono::seconds patience{120};

/// Fails the test if an exception was thrown.
/// \param by  the code that threw, for the failure message.
inline void expect_nothing_thrown(const std::exception_ptr& failure, const char* by) {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& thrown) {
    ADD_FAILURE() << by << " threw: " << thrown.what();
  }
}

/// Runs a coroutine on a new event loop until it ends. Fails the test if the coroutine throws or takes longer than
/// `patience`.
inline void run_check_of(cofferdam::detail::callable_ref<awaitable<void>()> body) {
  std::exception_ptr failure;
  bool done = false;
  {
    asio::io_context loop;
    asio::co_spawn(loop, body, [&](std::exception_ptr thrown) {
      failure = thrown;
      done = true;
      if (failure) loop.stop();  // other coroutines may refer to what the check has destroyed
    });
    loop.run_for(patience);
  }
  if (!done) {
    ADD_FAILURE() << "the check did not finish within " << patience.count() << " s";
    return;
  }
  expect_nothing_thrown(failure, "the check");
}
template <class Body>
void run_check(Body body) {
  run_check_of(body);
}

/// The base class of the suites for environments. Each test opens its own environment.
template <class Backend>
class conformance : public ::testing::Test {
 protected:
  using environment = environment_of<decltype(Backend::provider())>;

  template <class Body>
  static void with(Body body) {
    with_opened(body);
  }

 private:
  using opened = cofferdam::detail::opened_by<decltype(Backend::provider())>;

  static void with_opened(cofferdam::detail::callable_ref<awaitable<void>(opened&)> body) {
    run_check([&]() -> awaitable<void> { co_await cofferdam::with(Backend::provider(), body); });
  }
};

/// Expects `work` to throw an `error` with the code `expected`.
/// \param what  the name of the operation, for the failure message.
template <class Result>
awaitable<void> expect_error_of(cofferdam::detail::callable_ref<awaitable<Result>()> work, exec_errc expected,
                                std::string_view what) {
  try {
    co_await work();
    ADD_FAILURE() << what << ": no error at all; expected '" << make_error_code(expected).message() << "'";
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), make_error_code(expected)) << what << ": " << failure.what();
    EXPECT_STRNE(failure.what(), "") << what;
  }
}
/// \param work  is alive until the end of the awaited expression.
template <class Work>
awaitable<void> expect_error(const Work& work, exec_errc expected, std::string_view what) {
  using result = typename cofferdam::detail::awaited<std::invoke_result_t<const Work&>>::type;
  return expect_error_of<result>(work, expected, what);
}

inline awaitable<void> sleep_for(std::chrono::milliseconds time) {
  return cofferdam::detail::sleep_for(time, "sleep_for: cancelled");
}

inline std::string all_bytes() {
  std::string text;
  for (int value = 0; value < 256; ++value) text += static_cast<char>(value);
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::testing::detail
