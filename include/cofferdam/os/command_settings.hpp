// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>

#include <chrono>
#include <memory>

namespace cofferdam::inline COFFERDAM_ABI {

/// The settings of an environment's commands.
class command_settings {
 public:
  /// The time limit of commands without one; `no_timeout` for none.
  std::chrono::milliseconds default_timeout{std::chrono::minutes(5)};
  /// The time from SIGTERM to SIGKILL.
  std::chrono::milliseconds kill_grace{500};
  /// The time for which remaining processes may continue after their command has ended.
  std::chrono::milliseconds output_grace{100};
  /// The isolation for every result; may be null.
  std::shared_ptr<const isolation_report> isolation;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
