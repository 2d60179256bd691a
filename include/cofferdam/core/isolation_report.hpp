// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The kinds of isolation.
enum class isolation_kind {
  process_tree,    ///< the processes that are certain to end with the command
  host_death,      ///< the processes that end if the host program is killed
  files,           ///< the host files that the guest can reach
  network,         ///< the addresses that the guest can connect to
  signals,         ///< the processes that the guest can signal
  system_calls,    ///< the system calls that the guest may make
  memory,          ///< the memory that the guest may use
  process_count,   ///< the number of processes that the guest may start
  secrets,         ///< the host program's memory, environment and descriptors: can the guest read them
  processor_time,  ///< the processor time that the guest may use
  disk,            ///< the disk space that the guest may use
  open_files,      ///< the number of files that the guest may have open
};

/// Returns the name of a kind of isolation, as reports show it.
inline std::string_view to_string(isolation_kind which) noexcept {
  switch (which) {
    case isolation_kind::process_tree: return "process_tree";
    case isolation_kind::host_death: return "host_death";
    case isolation_kind::files: return "files";
    case isolation_kind::network: return "network";
    case isolation_kind::signals: return "signals";
    case isolation_kind::system_calls: return "system_calls";
    case isolation_kind::memory: return "memory";
    case isolation_kind::process_count: return "process_count";
    case isolation_kind::secrets: return "secrets";
    case isolation_kind::processor_time: return "processor_time";
    case isolation_kind::disk: return "disk";
    case isolation_kind::open_files: return "open_files";
  }
  return "unknown";
}

/// The isolation of a command. "none" means none: a backend sets only what it enforces itself.
class isolation_report {
 public:
  static constexpr std::size_t count = 12;

  /// Returns the isolation of one kind: "none", or a few words of the backend.
  std::string_view of(isolation_kind which) const noexcept {
    const std::string& words = states_[static_cast<std::size_t>(which)];
    return words.empty() ? std::string_view("none") : std::string_view(words);
  }

  /// Sets the isolation of one kind.
  isolation_report& set(isolation_kind which, std::string words) {
    states_[static_cast<std::size_t>(which)] = std::move(words);
    return *this;
  }

 private:
  std::array<std::string, count> states_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
