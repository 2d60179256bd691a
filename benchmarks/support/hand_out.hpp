// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/pool.hpp>

#include "table.hpp"

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

// The time of `open()`, and of the hand-out of a pool.

namespace cofferdam_bench {

/// Returns the time of `open()`. The environment is closed afterwards.
template <class Provider>
cofferdam::awaitable<std::chrono::nanoseconds> timed_open(const Provider& recipe) {
  const auto before = std::chrono::steady_clock::now();
  auto env = co_await recipe.open();
  const auto took = std::chrono::steady_clock::now() - before;
  co_await env.close();
  co_return took;
}

/// Compares `open()` of a backend with the hand-out of a pool that is full.
/// \param name  the backend, as the rows show it.
template <class Provider>
cofferdam::awaitable<void> compare_hand_out(int rounds, const Provider& recipe, std::string name) {
  constexpr std::size_t size = 4;
  std::vector<row> rows;
  rows.emplace_back("pool(" + name + ", 4).provider().open()");
  rows.emplace_back(name + ".open()");
  const auto pooled = cofferdam::pool(recipe, size);
  auto opened = co_await pooled.open();
  const auto ready = opened.provider();
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = -3; i < rounds; ++i) {
    bool is_full = false;
    while (!is_full) {
      is_full = opened.counts().idle() == size;
      timer.expires_after(std::chrono::milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
    }
    const std::chrono::nanoseconds by_pool = co_await timed_open(ready);
    const std::chrono::nanoseconds by_backend = co_await timed_open(recipe);
    if (i < 0) continue;  // warm-up
    rows[0].add(by_pool);
    rows[1].add(by_backend);
  }
  co_await opened.close();
  print("A hand-out of a pool, interleaved", rows);
}

}  // namespace cofferdam_bench
