// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Copies of a function (a tool for models) share their handler, so its call operator must be const.
// expect: cofferdam: .*must not be mutable
// within: 12

#include <cofferdam/tools/function.hpp>

#include <string>

using cofferdam::awaitable;
using cofferdam::tools::argument;
using cofferdam::tools::text;

#ifdef FIXED
auto height_at = [count = 0](std::string) -> awaitable<double> { co_return count; };
#else
auto height_at = [count = 0](std::string) mutable -> awaitable<double> { co_return ++count; };
#endif

int main() {
  const cofferdam::tools::function tide("tide", "Height of the tide.", argument("place", text), height_at);
  static_cast<void>(tide);
}
