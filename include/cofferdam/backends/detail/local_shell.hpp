// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <string>
#include <vector>

#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the path of the shell for lines.
/// \param backend  its name, for errors.
/// \param wanted   an absolute path; empty: bash, else /bin/sh.
/// \throws         error{exec_errc::provider_failed} if no such program can be executed.
inline std::string find_shell(const std::string& backend, const std::string& wanted) {
  std::vector<std::string> choices{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"};
  if (!wanted.empty()) choices = {wanted};
  for (const std::string& choice : choices)
    if (::access(choice.c_str(), X_OK) == 0) return choice;
  if (!wanted.empty() && wanted.front() != '/')
    throw error(exec_errc::provider_failed, backend + ": shell(\"" + one_line(wanted) +
                                                "\") is not a path; give a path, such as shell(\"/bin/bash\")");
  throw error(exec_errc::provider_failed, backend + ": no shell at '" + choices.back() +
                                              "'; install a shell there, or pass the path of another to shell()");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
