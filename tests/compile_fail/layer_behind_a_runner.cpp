// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A layer for environments cannot wrap a code runner. The message shows the right order.
// expect: cofferdam: the left side is a code runner.*local\(\) \| timeout\(5s\) \| python\(\)
// within: 12

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/middleware/timeout.hpp>

int main() {
  using namespace std::chrono_literals;
#ifdef FIXED
  auto recipe = cofferdam::local() | cofferdam::timeout(1s) | cofferdam::python();
#else
  auto recipe = cofferdam::local() | cofferdam::python() | cofferdam::timeout(1s);
#endif
  static_cast<void>(recipe);
}
