// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The handler of a function (a tool for models) must have one parameter for each argument. This handler has fewer.
// expect: cofferdam: .*one parameter for each argument, in order
// within: 12

#include <cofferdam/tools/function.hpp>

#include <string>

using cofferdam::awaitable;
using cofferdam::tools::argument;
using cofferdam::tools::text;

#ifdef FIXED
awaitable<double> height_at(std::string) { co_return 1; }
#else
awaitable<double> height_at() { co_return 1; }
#endif

int main() {
  const cofferdam::tools::function tide("tide", "Height of the tide.", argument("place", text), height_at);
  static_cast<void>(tide);
}
