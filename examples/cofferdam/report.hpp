// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <array>
#include <streambuf>
#include <string>
#include <string_view>

namespace program {

/// The exit statuses that env(1), timeout(1) and `docker run` use too.
enum exit_status {
  status_timeout = 124,
  status_own_failure = 125,
  status_not_executable = 126,
  status_not_found = 127,
  status_of_signal = 128,  ///< plus the number of the signal
};

/// Takes the place of the buffer of std::cout during the lifetime of the object, and keeps the first error of a write.
/// After an error, writes are dropped.
class checked_output : public std::streambuf {
 public:
  checked_output();
  checked_output(const checked_output&) = delete;
  checked_output& operator=(const checked_output&) = delete;
  ~checked_output() override;

  /// Returns the exit status of the program: `status` if all output has been written. If an error occurred, the result
  /// is 125 after a message on standard error, or 128+SIGPIPE if the reader has gone.
  int finish(int status);

 protected:
  int_type overflow(int_type next) override;
  int sync() override;

 private:
  std::streambuf* before_;
  std::array<char, 4096> buffer_{};
  int error_ = 0;
};

/// Flushes std::cout.
/// \throws std::system_error if an earlier write or this one has failed.
void flush_output();

/// Sets the name with which messages begin: "cofferdam" or "cofferdam-mcp".
void set_program_name(std::string name);
const std::string& program_name();

/// Returns true if a descriptor is a terminal on which colours are wanted: NO_COLOR is not set, and TERM is not "dumb".
bool has_colour(int descriptor);

/// Prints an error on standard error, after the program's name. If a progress bar is shown, it is removed first.
void complain(std::string_view sentence);

}  // namespace program
