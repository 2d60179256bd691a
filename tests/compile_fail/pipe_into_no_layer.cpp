// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A type without attach() is no layer, so it cannot wrap a provider. The message names attach().
// expect: cofferdam: the right side has no attach\(\) for an environment
// within: 12

#include <cofferdam/middleware/timeout.hpp>

#include "minimal_provider.hpp"

struct house : cofferdam::pipeable {};

int main() {
  using namespace std::chrono_literals;
#ifdef FIXED
  auto wrapped = minimal::provider() | cofferdam::timeout(1s);
#else
  auto wrapped = minimal::provider() | house();
#endif
  static_cast<void>(wrapped);
}
