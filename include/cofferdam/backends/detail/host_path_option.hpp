// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/version.hpp>

#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Refuses a path with a NUL byte, because the system would use only the part before it.
/// \param option  for the error, as in "jail: shell".
/// \throws error{exec_errc::invalid_argument}.
inline void require_no_nul(std::string_view option, std::string_view path) {
  if (path.find('\0') == std::string_view::npos) return;
  throw error(exec_errc::invalid_argument,
              std::string(option) + "(\"" + one_line(path) + "\"): the path has a NUL byte");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
