// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/shielded.hpp>

#include <asio/this_coro.hpp>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace cofferdam::inline v0::detail {

/// Opens what `provider.open()` gives, runs `body(opened)`, closes it whatever happened, and returns what the body returned.
/// All in one coroutine: one that has been cancelled throws where it awaits another, before that has begun, so nothing may
/// lie between the opening and the `try`.
template <class Opened, class Provider, class Body>
auto with_opened(Provider provider, Body body) -> std::invoke_result_t<Body&, Opened&> {
  using result = typename awaited<std::invoke_result_t<Body&, Opened&>>::type;
  Opened opened = co_await provider.open();
  std::exception_ptr failure;
  std::conditional_t<std::is_void_v<result>, bool, std::optional<result>> value{};
  try {
    if constexpr (std::is_void_v<result>) {
      co_await body(opened);
    } else {
      result returned = co_await body(opened);
      value.emplace(std::move(returned));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  try {
    co_await shielded([&opened] { return opened.close(); });
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
  if constexpr (!std::is_void_v<result>) co_return std::move(*value);
}

}  // namespace cofferdam::inline v0::detail
