// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A coroutine lambda cannot deduce its return type. The message shows how to write it.
// expect: cofferdam: .*declares its return type

#include <cofferdam/core/with.hpp>

#include "minimal_provider.hpp"

#ifdef FIXED
#define RETURNS ->cofferdam::awaitable<void>
#else
#define RETURNS
#endif

cofferdam::awaitable<void> work() {
  co_await cofferdam::with(minimal::provider(), [&](auto& environment) RETURNS {
    cofferdam::command_result result = co_await environment.run_command(cofferdam::shell("true"));
    static_cast<void>(result);
  });
}

int main() {}
