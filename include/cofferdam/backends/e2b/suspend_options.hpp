// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <string>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// The state that a pause or a snapshot of a sandbox stores.
/// \par Source  E2B's API, openapi.yml: the member `memory` of SandboxPauseRequest and SandboxSnapshotRequest.
enum class stored_state {
  memory_and_files,  ///< the processes and the files
  files,             ///< the files only; the sandbox starts anew from its disk, without its processes
};

/// Options of `environment::pause`. A value type.
class pause_options {
 public:
  pause_options() = default;

  /// The state that the pause stores. After a pause of `files`, `resume` starts the sandbox anew. Default:
  /// `memory_and_files`.
  stored_state stored = stored_state::memory_and_files;
  /// Refuses the pause if the sandbox's daemon does not respond: error{exec_errc::provider_failed} with HTTP status 503
  /// as its `cause()`. Otherwise such a sandbox is paused, and can be resumed only with `stored_state::files`.
  bool strict = false;
};

/// Options of `environment::snapshot`. A value type.
class snapshot_options {
 public:
  snapshot_options() = default;

  /// The name of the snapshot. If a snapshot with this name exists, the new one becomes its newest version. Empty: the
  /// service chooses the name.
  std::string name;
  /// The state that the snapshot stores. Default: `memory_and_files`.
  stored_state stored = stored_state::memory_and_files;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
