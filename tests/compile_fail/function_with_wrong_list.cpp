// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// If an argument of a function (a tool for models) is a list, the item type of the handler's parameter must fit, too.
// expect: cofferdam: .*list_of a std::vector
// within: 12

#include <cofferdam/tools/function.hpp>

#include <string>
#include <vector>

using cofferdam::awaitable;
using cofferdam::tools::argument;
using cofferdam::tools::text;

#ifdef FIXED
awaitable<double> height_at(std::string, std::vector<double>) { co_return 1; }
#else
awaitable<double> height_at(std::string, std::vector<int>) { co_return 1; }
#endif

int main() {
  const cofferdam::tools::function tide("tide", "Height of the tide.", argument("place", text),
                                        argument("days", cofferdam::tools::list_of(cofferdam::tools::number)),
                                        height_at);
  static_cast<void>(tide);
}
