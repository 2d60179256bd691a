// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The first of two translation units that include the single header. The second one makes the command.

#include <cofferdam/cofferdam.hpp>

#include "../stranger.hpp"

#include <boost/json/parse.hpp>

cofferdam::command made_by_the_other_unit();

int main() {
  if (cofferdam::readable_json(boost::json::parse("[1]")) != "[1]") return 1;
  if (made_by_the_other_unit().is_shell()) return 1;
  return stranger::run();
}
