// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// g++ 12 would destroy the captures of a temporary lambda twice, so with() does not accept such a lambda with g++ 12.
// The message shows the remedy.
// only: g++ < 13
// expect: cofferdam: .*Name the lambda in a statement of its own

#include <cofferdam/core/with.hpp>

#include "minimal_provider.hpp"

#include <string>

cofferdam::awaitable<void> work(std::string name) {
#ifdef FIXED
  auto body = [name](auto& environment) -> cofferdam::awaitable<void> {
    cofferdam::command_result result = co_await environment.run_command(cofferdam::shell(name));
    static_cast<void>(result);
  };
  co_await cofferdam::with(minimal::provider(), body);
#else
  co_await cofferdam::with(minimal::provider(), [name](auto& environment) -> cofferdam::awaitable<void> {
    cofferdam::command_result result = co_await environment.run_command(cofferdam::shell(name));
    static_cast<void>(result);
  });
#endif
}

int main() {}
