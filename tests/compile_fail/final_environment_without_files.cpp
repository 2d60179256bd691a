// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// An environment with four members gets files() from a class derived from it, which one that is final cannot have.
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
