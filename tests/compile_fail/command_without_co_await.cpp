// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Without co_await, the command never runs. Compilers warn, because asio::awaitable is a [[nodiscard]] class; the
// warning needs no option.
// expect: ignoring return.*nodiscard

#include "minimal_provider.hpp"

#pragma GCC diagnostic error "-Wunused-result"
#pragma GCC diagnostic error "-Wunused-value"

cofferdam::awaitable<void> work() {
  minimal::provider provider;
  minimal::environment place = co_await provider.open();
#ifdef FIXED
  co_await place.run_command(cofferdam::shell("true"));
#else
  place.run_command(cofferdam::shell("true"));
#endif
}

int main() {}
