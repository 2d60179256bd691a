// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/core/shielded.hpp>

#include <asio/this_coro.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace cofferdam::inline v0 {

/// Opens a runner, runs `body(runner)`, closes it whatever happened, and returns what the body returned: for runners what
/// `with_environment` is for environments.
///
/// **Capture by reference in a body written on the spot**: g++ 12 destroys a by-value capture of such a temporary twice.
/// \throws            what `open()`, the body or `close()` throws; the body's exception first.
/// \par Cancellation  is passed to `open()` and to the body; closing is not cancelled.
template <code_runner_provider Provider, class Body>
  requires std::invocable<Body&, runner_of<Provider>&>
auto with_runner(Provider provider, Body body) -> std::invoke_result_t<Body&, runner_of<Provider>&> {
  using result = typename detail::awaited<std::invoke_result_t<Body&, runner_of<Provider>&>>::type;
  runner_of<Provider> runner = co_await provider.open();
  std::exception_ptr failure;
  std::conditional_t<std::is_void_v<result>, bool, std::optional<result>> value{};
  try {
    if constexpr (std::is_void_v<result>) {
      co_await body(runner);
    } else {
      result returned = co_await body(runner);
      value.emplace(std::move(returned));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  try {
    co_await detail::shielded([&runner] { return runner.close(); });
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
  if constexpr (!std::is_void_v<result>) co_return std::move(*value);
}

}  // namespace cofferdam::inline v0
