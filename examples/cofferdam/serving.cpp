// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "serving.hpp"

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include "options.hpp"
#include "report.hpp"

#include <asio/error.hpp>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include <sys/prctl.h>

namespace program {

std::string random_text(std::size_t digits) {
  std::random_device random;
  std::string text;
  for (std::size_t i = 0; i < digits; ++i) text += "0123456789abcdef"[random() % 16];
  return text;
}

std::vector<std::string> secrets_in(const std::string& path, const std::string& what) {
  std::ifstream file(path);
  if (!file) refuse("the " + what + " file \"" + cofferdam::one_line(path) + "\" cannot be read");
  std::vector<std::string> secrets;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) secrets.push_back(line);
  if (secrets.empty()) refuse("the " + what + " file \"" + cofferdam::one_line(path) + "\" contains no " + what);
  return secrets;
}

void become_undumpable() { ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

bool is_cancellation(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const cofferdam::error& reason) {
    return reason.code() == cofferdam::exec_errc::cancelled;
  } catch (const std::system_error& reason) {
    return reason.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

void give_up(const char* why) {
  complain(why);
  std::_Exit(status_own_failure);
}

}  // namespace program
