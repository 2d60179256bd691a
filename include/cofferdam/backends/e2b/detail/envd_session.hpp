// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/detail/envd_launcher.hpp>
#include <cofferdam/backends/e2b/detail/sandbox_files.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/os/command_session.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// A command session (the object that starts and tracks commands) whose commands are processes of envd, the daemon in a
/// sandbox.
class envd_session : public command_session {
 public:
  envd_session() = default;
  /// The parameters are those of `envd_launcher`.
  envd_session(std::shared_ptr<envd> daemon, command_settings settings, workspace_place where, std::string setsid,
               std::function<void()> used)
      : command_session(std::make_shared<envd_launcher>(std::move(daemon), std::move(settings), std::move(where),
                                                        std::move(setsid), std::move(used))) {
    commands()->watch();
  }

  /// Sets the isolation of commands that the daemon starts.
  static void describe(isolation_report& isolation) {
    isolation.set(isolation_kind::process_tree, "the command's session, and processes with its variables");
    isolation.set(isolation_kind::host_death, "everything, when the sandbox's lifetime expires");
    isolation.set(isolation_kind::files,
                  "the service's sandbox; symbolic links in the workspace are checked, but may change afterwards");
  }

  /// Returns the file operations of the sandbox.
  /// \param variables  environment variables for the small commands that file operations run.
  sandbox_files files(std::vector<std::string> variables) const {
    return sandbox_files(commands(), std::move(variables));
  }

 private:
  std::shared_ptr<envd_launcher> commands() const { return std::static_pointer_cast<envd_launcher>(launcher()); }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
