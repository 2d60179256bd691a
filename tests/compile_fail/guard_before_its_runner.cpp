// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A guard wraps a code runner, not an environment. The message shows the right order.
// expect: cofferdam: the right side has no attach\(\) for an environment.*python\(\) \| check_syntax\(\)
// within: 12

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/python.hpp>

int main() {
#ifdef FIXED
  auto recipe = cofferdam::local() | cofferdam::python() | cofferdam::check_syntax();
#else
  auto recipe = cofferdam::local() | cofferdam::check_syntax() | cofferdam::python();
#endif
  static_cast<void>(recipe);
}
