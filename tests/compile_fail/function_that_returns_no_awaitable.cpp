// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The handler of a function (a tool for models) must be a coroutine, or return an awaitable.
// expect: cofferdam: .*must return an awaitable of void
// within: 12

#include <cofferdam/tools/function.hpp>

#include <string>

using cofferdam::awaitable;
using cofferdam::tools::argument;
using cofferdam::tools::text;

#ifdef FIXED
awaitable<double> height_at(std::string) { co_return 1; }
#else
double height_at(std::string) { return 1; }
#endif

int main() {
  const cofferdam::tools::function tide("tide", "Height of the tide.", argument("place", text), height_at);
  static_cast<void>(tide);
}
