// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// An environment without start() cannot stream. The message names the member and the other ways.
// expect: needs an environment with awaitable<process> start
// within: 8

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/stream_output.hpp>

#include "minimal_provider.hpp"

#ifdef FIXED
using environment = minimal::streaming;
#else
using environment = minimal::environment;
#endif

cofferdam::awaitable<void> work(environment& env) {
  cofferdam::command_result result =
      co_await cofferdam::stream_output(env, cofferdam::shell("true"), [](const cofferdam::output_chunk&) {});
  static_cast<void>(result);
}

int main() {}
