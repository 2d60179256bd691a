// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The parameters of a generic lambda have no types, so the library cannot derive the argument types of a function (a
// tool for models) from them.
// expect: cofferdam: .*without auto parameters
// within: 12

#include <cofferdam/tools/function.hpp>

#include <string>

using cofferdam::awaitable;
using cofferdam::tools::argument;
using cofferdam::tools::text;

#ifdef FIXED
auto height_at = [](std::string) -> awaitable<double> { co_return 1; };
#else
auto height_at = [](auto) -> awaitable<double> { co_return 1; };
#endif

int main() {
  const cofferdam::tools::function tide("tide", "Height of the tide.", argument("place", text), height_at);
  static_cast<void>(tide);
}
