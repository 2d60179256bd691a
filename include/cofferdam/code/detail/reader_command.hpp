// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/detail/embedded_text.hpp>
#include <cofferdam/code/detail/python_code_reader.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/command.hpp>

#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the Python program of a reader.
inline std::string reader_program() { return embedded_text(python_code_reader); }

/// Returns the command that starts a reader (a process that parses code for guards) with this interpreter.
inline command reader_command(const python_reader& settings, const std::string& interpreter) {
  const std::string limit = std::to_string(settings.timeout().count());
  const std::string memory = std::to_string(settings.memory());
  return argv(interpreter, "-I", "-S", "-X", "utf8", "-W", "ignore", "-c", reader_program(), limit, memory)
      .timeout(no_timeout)
      .keep_output(4096)
      .open_input();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
