// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0 {

/// What a wall can stand around.
enum class protection {
  process_tree,   ///< what is sure to end with the command
  host_death,     ///< what ends when the host program is killed
  files,          ///< which host files the guest can reach
  network,        ///< what the guest can connect to
  signals,        ///< whom the guest can signal
  system_calls,   ///< which kernel calls it may make
  memory,         ///< how much memory it may use
  process_count,  ///< how many processes it may start
};

/// The name of a protection, as reports show it.
inline std::string_view to_string(protection which) noexcept {
  switch (which) {
    case protection::process_tree: return "process_tree";
    case protection::host_death: return "host_death";
    case protection::files: return "files";
    case protection::network: return "network";
    case protection::signals: return "signals";
    case protection::system_calls: return "system_calls";
    case protection::memory: return "memory";
    case protection::process_count: return "process_count";
  }
  return "unknown";
}

/// Which walls stood around a command. "none" means none: a backend sets only what it has put up itself.
class protections {
 public:
  static constexpr std::size_t count = 8;

  /// What stands for `which`: "none", or a few words of the backend's.
  std::string_view of(protection which) const noexcept {
    const std::string& words = states_[static_cast<std::size_t>(which)];
    return words.empty() ? std::string_view("none") : std::string_view(words);
  }

  /// Says what stands for `which`.
  protections& set(protection which, std::string words) & {
    states_[static_cast<std::size_t>(which)] = std::move(words);
    return *this;
  }
  protections&& set(protection which, std::string words) && { return std::move(set(which, std::move(words))); }

 private:
  std::array<std::string, count> states_;
};

}  // namespace cofferdam::inline v0
