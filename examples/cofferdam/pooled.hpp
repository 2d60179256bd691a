// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/pool.hpp>
#include <cofferdam/core/with.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

namespace program {

/// Awaits `serve(provider)`. With a pool, the provider is that of the pool, which is closed at the end. The pool opens
/// its environments in the background, so that a client gets its first answer at once. If they cannot be opened, the
/// client gets the reason.
/// \param size      how many environments the pool keeps open and unused; 0: no pool.
/// \param max_idle  environments that were not used for longer are replaced; 0: never.
template <class Provider>
cofferdam::awaitable<void> serve_with_pool(Provider provider, std::size_t size, std::chrono::milliseconds max_idle,
                                           std::function<cofferdam::awaitable<void>(Provider)> serve) {
  if (size == 0) {
    co_await serve(std::move(provider));
    co_return;
  }
  auto recipe = cofferdam::pool(std::move(provider), size);
  recipe.without_waiting();
  if (max_idle.count() > 0) recipe.max_idle(max_idle);
  const auto serves = [&serve](auto& opened) -> cofferdam::awaitable<void> {
    co_await serve(Provider(opened.provider()));
  };
  co_await with(std::move(recipe), serves);
}

}  // namespace program
