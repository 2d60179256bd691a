// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A recipe for a code runner (an object that opens runners, such as python()) does not convert to any_provider. The
// message names the right type.
// expect: cofferdam: this is a provider of code runners.*any_runner_provider
// within: 12

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>

int main() {
  auto runner = cofferdam::local() | cofferdam::python();
#ifdef FIXED
  cofferdam::any_runner_provider recipe(runner);
#else
  cofferdam::any_provider recipe = runner;
#endif
  static_cast<void>(recipe);
}
