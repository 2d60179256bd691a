// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/version.hpp>

#include <chrono>
#include <cstddef>
#include <optional>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The limits and settings of one command.
class command_limits {
 public:
  /// No value: no limit.
  std::optional<std::chrono::milliseconds> timeout;
  /// The time from SIGTERM to SIGKILL.
  std::chrono::milliseconds grace{500};
  /// The time for which remaining processes may hold the output open after the command has ended.
  std::chrono::milliseconds linger{100};
  std::size_t kept_output = command::default_kept_output;
  /// It has a terminal.
  bool terminal = false;
  /// Keep the input open after the first content.
  bool open_input = false;
  /// Remaining processes continue after its end.
  bool keeps_background = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
