// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// with() takes a provider, not an open environment. The message shows how to use the environment.
// expect: cofferdam: this environment is already open.*call the members
// within: 12

#include <cofferdam/core/with.hpp>

#include "minimal_provider.hpp"

cofferdam::awaitable<void> work() {
#ifdef FIXED
  minimal::provider place;
#else
  minimal::environment place;
#endif
  co_await cofferdam::with(place, [](auto&) -> cofferdam::awaitable<void> { co_return; });
}

int main() {}
