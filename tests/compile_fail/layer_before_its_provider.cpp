// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A layer must stand on the right of the provider that it wraps. The message shows the right order.
// expect: write the provider first

#include <cofferdam/middleware/timeout.hpp>

#include "minimal_provider.hpp"

int main() {
  using namespace std::chrono_literals;
#ifdef FIXED
  auto wrapped = minimal::provider() | cofferdam::timeout(1s);
  static_cast<void>(wrapped);
#else
  cofferdam::timeout(1s) | minimal::provider();
#endif
}
