// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/warning.hpp>

#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Returns true at the first call with this text in this process, so that a warning is not repeated.
inline bool is_first_time(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> known;
  const std::lock_guard lock(mutex);
  return known.insert(text).second;
}

/// Warns about environment variables that cannot be forwarded to commands because they are not set in this process.
/// Each variable is reported once per process.
inline void warn_of_missing(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names)
    if (is_first_time("variable " + name)) list += (list.empty() ? "" : ", ") + one_line(name, 120);
  if (list.empty()) return;
  cofferdam::detail::warn(
      "docker: these variables should be forwarded to the container, but are not set in this process: " + list +
      "; commands run without them (container_options::forward_variable)");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
