// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A layer that overrides run_command must also define start. If it does not, the library gives the layer no start, so
// that no command can bypass its run_command.
// expect: inherits_run_command

#include <cofferdam/core/layer.hpp>

#include "minimal_provider.hpp"

#include <utility>

struct counting : cofferdam::layer<counting, minimal::streaming> {
  using cofferdam::layer<counting, minimal::streaming>::layer;
#ifndef FIXED
  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command c) {
    return inner().run_command(std::move(c));
  }
#endif
};

cofferdam::awaitable<void> work(counting& wrapped) {
  cofferdam::process running = co_await wrapped.start(cofferdam::shell("true"));
  static_cast<void>(running);
}

int main() {}
