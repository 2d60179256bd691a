// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A type without open() is no provider, so no layer can wrap it. The message names the concept.
// expect: code_exec_provider|closable

#include <cofferdam/middleware/timeout.hpp>

#include "minimal_provider.hpp"

struct house {};

int main() {
  using namespace std::chrono_literals;
#ifdef FIXED
  auto wrapped = minimal::provider() | cofferdam::timeout(1s);
#else
  auto wrapped = house() | cofferdam::timeout(1s);
#endif
  static_cast<void>(wrapped);
}
