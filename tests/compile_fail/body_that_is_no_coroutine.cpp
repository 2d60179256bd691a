// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The body of with() must take a parameter and return an awaitable. Both mistakes give the same message.
// expect: cofferdam: .*takes the environment or runner by reference and declares its return type

#include <cofferdam/core/with.hpp>

#include "minimal_provider.hpp"

cofferdam::awaitable<void> work() {
#ifdef FIXED
  co_await cofferdam::with(minimal::provider(), [](auto&) -> cofferdam::awaitable<void> { co_return; });
#else
  co_await cofferdam::with(minimal::provider(), []() -> cofferdam::awaitable<void> { co_return; });
#endif
}

int main() {}
