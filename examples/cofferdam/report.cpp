// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "report.hpp"

#include "progress.hpp"
#include "terminal.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace program {

namespace {

std::string& stored_name() {
  static std::string name = "cofferdam";
  return name;
}

std::string output_failure(int number) {
  return "standard output cannot be written" +
         (number == 0 ? std::string() : ": " + std::generic_category().message(number));
}

}  // namespace

checked_output::checked_output() : before_(std::cout.rdbuf(this)) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

checked_output::~checked_output() { std::cout.rdbuf(before_); }

int checked_output::finish(int status) {
  std::cout.flush();
  if (error_ == 0) return status;
  if (error_ == EPIPE) return status_of_signal + SIGPIPE;
  complain(output_failure(error_));
  return status_own_failure;
}

checked_output::int_type checked_output::overflow(int_type next) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(next, traits_type::eof())) sputc(traits_type::to_char_type(next));
  return traits_type::not_eof(next);
}

int checked_output::sync() {
  const char* at = pbase();
  while (error_ == 0 && at != pptr()) {
    const ssize_t written = ::write(STDOUT_FILENO, at, static_cast<std::size_t>(pptr() - at));
    if (written >= 0) {
      at += written;
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  errno = error_;
  return error_ == 0 ? 0 : -1;
}

void flush_output() {
  errno = 0;
  std::cout.flush();
  if (!std::cout) throw std::system_error(errno == 0 ? EIO : errno, std::generic_category(), output_failure(0));
}

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
