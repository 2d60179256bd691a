// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests write_file() with temporary bytes, whose awaitable is kept and awaited later. It must write the original
// bytes.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>

#include "support/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace kept_writes_tests {

using namespace cofferdam;
using namespace std::chrono_literals;

constexpr std::size_t size = 100'000;

template <class E>
awaitable<void> expect_kept(E& environment, const char* what) {
  awaitable<void> pending = environment.write_file("kept.txt", as_bytes(std::string(size, 'k')));
  // Reuses the memory of the destroyed temporary.
  std::vector<std::string> others;
  for (int i = 0; i < 20; ++i) others.emplace_back(size, 'o');
  co_await std::move(pending);
  std::string content = co_await read_text(environment, "kept.txt", size);
  EXPECT_TRUE(content == std::string(size, 'k')) << what << ": " << content.substr(0, 20);
}

TEST(KeptWrites, a_write_of_a_temporary_text_that_is_awaited_later_writes_that_text) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(local().without_warning(), [](auto& environment) -> awaitable<void> {
      co_await expect_kept(environment, "local");
      referenced_environment lent(environment);
      co_await expect_kept(lent, "borrowed");
    });
    co_await with(local().without_warning() | timeout(1min),
                  [](auto& environment) -> awaitable<void> { co_await expect_kept(environment, "a layer"); });
    co_await with(any_provider{local().without_warning()},
                  [](auto& environment) -> awaitable<void> { co_await expect_kept(environment, "any_environment"); });
  });
}

}  // namespace kept_writes_tests
