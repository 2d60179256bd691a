// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/detail/core/callable_ref.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The result type of `body(opened)`.
template <class Body, class Opened>
using body_result = std::invoke_result_t<std::decay_t<Body>&, Opened&>;

/// A callable that takes a reference to an opened object and returns an awaitable.
template <class Body, class Opened>
concept body_for = requires { typename awaited<body_result<Body, Opened>>::type; };

/// Opens the provider, converts the opened object to `Opened`, runs `body(opened)`, closes the object in every case,
/// and returns the result of the body. The caller keeps `body` until the awaitable completes. All bodies with the same
/// result share this coroutine.
template <class Opened, class Result, class Provider>
awaitable<Result> run_opened(Provider provider, callable_ref<awaitable<Result>(Opened&)> body) {
  std::optional<Opened> opened;
  std::conditional_t<std::is_void_v<Result>, bool, std::optional<Result>> value{};
  const auto opens_and_runs = [&]() -> awaitable<void> {
    environment_of<Provider> fresh = co_await provider.open();
    opened.emplace(std::move(fresh));
    if constexpr (std::is_void_v<Result>) {
      co_await body(*opened);
    } else {
      Result returned = co_await body(*opened);
      value.emplace(std::move(returned));
    }
  };
  const auto closes = [&]() -> awaitable<void> {
    if (!opened) return {};
    return opened->close();
  };
  co_await with_cleanup(opens_and_runs, closes);
  if constexpr (!std::is_void_v<Result>) co_return std::move(*value);
}

/// The same, for a body that the coroutine keeps.
template <class Opened, class Provider, class Body>
auto with_opened(Provider provider, Body body) -> std::invoke_result_t<Body&, Opened&> {
  using result = typename awaited<std::invoke_result_t<Body&, Opened&>>::type;
  co_return co_await run_opened<Opened, result>(std::move(provider), body);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
