// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

namespace cofferdam::inline COFFERDAM_ABI {

/// The choice of the process that starts the commands of `local`: a warden (a small helper process of this library), or
/// the host program itself.
enum class warden_policy {
  /// A warden. If it cannot be started, this program itself; `isolation()` of the results then reports the difference.
  automatic,
  require,  ///< a warden, or `open()` fails
  /// This program itself. Processes that leave their process group are not tracked, and survive if this program is
  /// killed. `close()` waits for killed processes without a time limit.
  never,
};

/// The treatment of a command whose text seems to contain a path outside the workspace. The text is the shell line, or
/// the words of a command that runs without a shell.
enum class path_policy {
  ignore,  ///< runs the command
  advise,  ///< runs the command, and adds advice to the result
  refuse,  ///< refuses the command with error_kind::absolute_path_detected
};

}  // namespace cofferdam::inline COFFERDAM_ABI
