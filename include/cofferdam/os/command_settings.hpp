// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>

#include <chrono>
#include <memory>

namespace cofferdam::inline COFFERDAM_ABI {

/// The settings for the commands of an environment.
class command_settings {
 public:
  /// The time limit of a command without a limit of its own. Default 5 minutes; `no_timeout` means no limit.
  std::chrono::milliseconds default_timeout{std::chrono::minutes(5)};
  /// The grace period: the time from SIGTERM to SIGKILL. Default 500 ms.
  std::chrono::milliseconds kill_grace{500};
  /// The time that other processes of a command may continue after the command itself has ended. They are then ended,
  /// unless `background_policy::keep` is set. Default 100 ms.
  std::chrono::milliseconds output_grace{100};
  /// The isolation that every result reports; may be null.
  std::shared_ptr<const isolation_report> isolation;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
