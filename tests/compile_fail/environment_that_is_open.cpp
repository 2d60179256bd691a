// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// An environment that is open already, where its recipe is expected: the message has the right use.
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
