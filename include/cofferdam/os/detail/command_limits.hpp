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
  /// The time limit; no value means no limit.
  std::optional<std::chrono::milliseconds> timeout;
  /// The grace period: the time from SIGTERM to SIGKILL. Default 500 ms.
  std::chrono::milliseconds grace{500};
  /// The time that other processes may keep the outputs open after the command has ended. Default 100 ms.
  std::chrono::milliseconds linger{100};
  std::size_t kept_output = command::default_kept_output;
  /// True if the command has a terminal.
  bool terminal = false;
  /// True if the input stays open after the content that was given with the command.
  bool open_input = false;
  /// True if other processes of the command may continue after its end.
  bool keeps_background = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
