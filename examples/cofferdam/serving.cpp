// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "serving.hpp"

#include "report.hpp"

#include <cstddef>
#include <cstdlib>
#include <random>
#include <string>

#include <sys/prctl.h>

namespace program {

std::string random_text(std::size_t digits) {
  std::random_device random;
  std::string text;
  for (std::size_t i = 0; i < digits; ++i) text += "0123456789abcdef"[random() % 16];
  return text;
}

void become_undumpable() { ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

void give_up(const char* why) {
  complain(why);
  std::_Exit(status_own_failure);
}

}  // namespace program
