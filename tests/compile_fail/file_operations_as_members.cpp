// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// File operations of an environment belong into files(). As members of the environment they would never be called.
// expect: are never called on an environment

#include <cofferdam/core/with.hpp>

#include "minimal_provider.hpp"

#include <string>
#include <vector>

struct listing : minimal::environment {
#ifndef FIXED
  cofferdam::awaitable<std::vector<cofferdam::directory_entry>> list(std::string, cofferdam::list_options) {
    return {};
  }
#endif
};

struct recipe {
  cofferdam::awaitable<listing> open() const { co_return listing(); }
};

cofferdam::awaitable<void> work() {
  co_await cofferdam::with(recipe(), [](auto&) -> cofferdam::awaitable<void> { co_return; });
}

int main() {}
