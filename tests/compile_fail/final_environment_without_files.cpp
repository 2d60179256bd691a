// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The library adds files() to an environment by a derived class. A final environment must therefore define files()
// itself.
// expect: define file_system files\(\), or remove final

#include <cofferdam/core/with.hpp>

#include "minimal_provider.hpp"

#ifdef FIXED
struct sealed : minimal::environment {};
#else
struct sealed final : minimal::environment {};
#endif

struct recipe {
  cofferdam::awaitable<sealed> open() const { co_return sealed(); }
};

cofferdam::awaitable<void> work() {
  co_await cofferdam::with(recipe(), [](auto&) -> cofferdam::awaitable<void> { co_return; });
}

int main() {}
