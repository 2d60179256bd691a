// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The type of a handler's parameter must fit the type of the function's argument. The message lists the types that fit.
// expect: cofferdam: .*does not fit its argument: text is std::string
// within: 12

#include <cofferdam/tools/function.hpp>

#include <string>

using cofferdam::awaitable;
using cofferdam::tools::argument;
using cofferdam::tools::text;

#ifdef FIXED
awaitable<double> height_at(std::string) { co_return 1; }
#else
awaitable<double> height_at(int) { co_return 1; }
#endif

int main() {
  const cofferdam::tools::function tide("tide", "Height of the tide.", argument("place", text), height_at);
  static_cast<void>(tide);
}
