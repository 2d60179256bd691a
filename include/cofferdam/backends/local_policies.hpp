// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

namespace cofferdam::inline COFFERDAM_ABI {

/// The process that starts the commands of `local`.
enum class warden_policy {
  automatic,  ///< a warden; if none can be started, this program itself, as `isolation()` of the results shows
  require,    ///< a warden, or `open()` fails
  /// this program itself: processes that leave their process group are not followed, and outlive a killed host;
  /// `close()` waits without a time limit for killed processes
  never,
};

/// The treatment of a command that seems to name files outside the workspace, in a shell line or in the words of a
/// command that runs without a shell.
enum class path_policy {
  ignore,  ///< runs it
  advise,  ///< runs it, and adds advice to the result
  refuse,  ///< refuses it with error_kind::absolute_path_detected
};

}  // namespace cofferdam::inline COFFERDAM_ABI
