// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A layer has start() only if its inner environment has start(). The message names the concept.
// expect: streaming_environment

#include <cofferdam/middleware/timeout.hpp>

#include "minimal_provider.hpp"

#ifdef FIXED
using inner = minimal::streaming;
#else
using inner = minimal::environment;
#endif

cofferdam::awaitable<void> work(cofferdam::timeout_layer<inner>& wrapped) {
  cofferdam::process running = co_await wrapped.start(cofferdam::shell("true"));
  static_cast<void>(running);
}

int main() {}
