// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// If the handler of a function (a tool for models) takes checked_arguments, each argument must have an explicit type.
// expect: cofferdam: .*needs a type if the handler takes checked_arguments
// within: 12

#include <cofferdam/tools/function.hpp>

#include <string>

using cofferdam::awaitable;
using cofferdam::tools::argument;
using cofferdam::tools::text;

#ifdef FIXED
awaitable<double> height_at(std::string, int) { co_return 1; }
#else
awaitable<double> height_at(cofferdam::tools::checked_arguments) { co_return 1; }
#endif

int main() {
  const cofferdam::tools::function tide("tide", "Height of the tide.", argument("place", text), argument("days"),
                                        height_at);
  static_cast<void>(tide);
}
