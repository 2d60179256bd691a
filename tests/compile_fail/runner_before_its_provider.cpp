// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A code runner must stand on the right of its provider. The message shows the right order.
// expect: cofferdam: write the provider first and the code runner after it: local\(\) \| python\(\)
// within: 12

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/python.hpp>

int main() {
#ifdef FIXED
  auto recipe = cofferdam::local() | cofferdam::python();
#else
  auto recipe = cofferdam::python() | cofferdam::local();
#endif
  static_cast<void>(recipe);
}
