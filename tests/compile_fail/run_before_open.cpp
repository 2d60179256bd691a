// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A provider only opens environments, and has no run_command. The environment from open() has run_command.
// expect: no member named .?run_command

#include "minimal_provider.hpp"

#include <utility>

cofferdam::awaitable<void> work() {
  minimal::provider provider;
#ifdef FIXED
  minimal::environment place = co_await provider.open();
#else
  minimal::provider& place = provider;
#endif
  cofferdam::command_result result = co_await place.run_command(cofferdam::shell("true"));
  static_cast<void>(result);
}

int main() {}
