// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "serving.hpp"

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include "options.hpp"
#include "report.hpp"

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <string_view>

#include <sys/prctl.h>

namespace program {

std::string random_text(std::size_t digits) {
  std::random_device random;
  std::string text;
  for (std::size_t i = 0; i < digits; ++i) text += "0123456789abcdef"[random() % 16];
  return text;
}

void add_secrets(const std::string& path, const std::string& what, const std::function<void(std::string)>& add) {
  const std::string name = "the " + what + " file \"" + cofferdam::one_line(path) + "\"";
  std::ifstream file(path);
  if (!file) refuse(name + " cannot be read");
  bool is_empty = true;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (++number == 1 && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    constexpr const char* blanks = " \t\r";
    const std::size_t begin = line.find_first_not_of(blanks);
    if (begin == std::string::npos) continue;
    is_empty = false;
    try {
      add(line.substr(begin, line.find_last_not_of(blanks) + 1 - begin));
    } catch (const cofferdam::error& reason) {
      refuse(name + ", line " + std::to_string(number) + ": " + reason.what());
    }
  }
  if (is_empty) refuse(name + " contains no " + what);
}

void become_undumpable() { ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

void give_up(const char* why) {
  complain(why);
  std::_Exit(status_own_failure);
}

}  // namespace program
