// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <memory>
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

/// The body of `with_opened`. `with_opened` is compiled for each type of environment, but not for each body.
template <class Opened, class Result>
class opened_body {
 public:
  opened_body() = default;
  opened_body(const opened_body&) = delete;
  opened_body& operator=(const opened_body&) = delete;
  virtual ~opened_body() = default;
  virtual awaitable<Result> run(Opened& opened) = 0;
};

template <class Opened, class Result, class Body>
class held_body final : public opened_body<Opened, Result> {
 public:
  explicit held_body(Body body) : body_(std::move(body)) {}
  awaitable<Result> run(Opened& opened) override { return body_(opened); }

 private:
  Body body_;
};

template <class Opened, class Provider, class Result>
awaitable<Result> with_opened_body(Provider provider, std::unique_ptr<opened_body<Opened, Result>> body) {
  std::optional<Opened> opened;
  std::conditional_t<std::is_void_v<Result>, bool, std::optional<Result>> value{};
  const auto opens_and_runs = [&]() -> awaitable<void> {
    environment_of<Provider> fresh = co_await provider.open();
    opened.emplace(std::move(fresh));
    if constexpr (std::is_void_v<Result>) {
      co_await body->run(*opened);
    } else {
      Result returned = co_await body->run(*opened);
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

/// Opens the provider, converts the opened object to `Opened`, runs `body(opened)`, closes the object in every case,
/// and returns the result of the body.
template <class Opened, class Provider, class Body>
auto with_opened(Provider provider, Body body) -> std::invoke_result_t<Body&, Opened&> {
  using result = typename awaited<std::invoke_result_t<Body&, Opened&>>::type;
  return with_opened_body<Opened, Provider, result>(
      std::move(provider),
      std::unique_ptr<opened_body<Opened, result>>(new held_body<Opened, result, Body>(std::move(body))));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
