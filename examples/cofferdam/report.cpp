// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "report.hpp"

#include "progress.hpp"
#include "terminal.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace program {

namespace {

std::string& stored_name() {
  static std::string name = "cofferdam";
  return name;
}

}  // namespace

void set_program_name(std::string name) { stored_name() = std::move(name); }
const std::string& program_name() { return stored_name(); }

bool has_colour(int descriptor) {
  const char* const none = std::getenv("NO_COLOR");
  const char* const type = std::getenv("TERM");
  if (none != nullptr && *none != '\0') return false;
  return ::isatty(descriptor) == 1 && type != nullptr && std::strcmp(type, "dumb") != 0;
}

void complain(std::string_view sentence) {
  hide_progress();
  const bool is_red = has_colour(STDERR_FILENO);
  std::string line = (is_red ? "\x1b[31m" : "") + program_name() + ":" + (is_red ? "\x1b[0m" : "") + " ";
  line += sentence;
  // In a raw terminal a line break alone does not return to the first column.
  line += is_raw_terminal() ? "\r\n" : "\n";
  write_to_terminal(STDERR_FILENO, line);
}

}  // namespace program
