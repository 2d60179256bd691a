// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A type without open() is no provider, so with() does not accept it.
// expect: cofferdam: this is not a provider, because it has no usable member open

#include <cofferdam/core/with.hpp>

#include "minimal_provider.hpp"

cofferdam::awaitable<void> work() {
#ifdef FIXED
  minimal::provider place;
#else
  struct {
  } place;
#endif
  co_await cofferdam::with(place, [](auto&) -> cofferdam::awaitable<void> { co_return; });
}

int main() {}
