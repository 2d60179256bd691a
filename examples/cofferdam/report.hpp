// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

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

/// Sets the name with which messages begin: "cofferdam" or "cofferdam-mcp".
void set_program_name(std::string name);
const std::string& program_name();

/// Returns true if a descriptor is a terminal on which colours are wanted: NO_COLOR is not set, and TERM is not "dumb".
bool has_colour(int descriptor);

/// Prints an error on standard error, after the program's name. If a progress bar is shown, it is removed first.
void complain(std::string_view sentence);

}  // namespace program
