// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/detail/driver_calls.hpp>
#include <cofferdam/code/detail/python_settings.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/streaming_environment.hpp>

#include <memory>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

using python_core = driver_core<python_settings>;

/// Installs the packages with pip, unless the same list was already installed in this workspace.
template <streaming_environment E>
awaitable<void> install_packages(std::shared_ptr<python_core> core, E& environment) {
  const python_settings& settings = settings_of(*core);
  if (settings.packages.empty()) co_return;
  const std::string mark = settings.packages_folder() + "/.complete";
  const bool done = co_await exists(environment, mark);
  if (done) co_return;
  command_result result = co_await environment.run_command(settings.pip_command());
  if (!result.ok()) {
    std::string pip_output = result.err().text();
    if (pip_output.find_first_not_of(" \n") == std::string::npos) pip_output = result.out().text();
    if (result.kind() != error_kind::none) pip_output = result.reason() + " " + pip_output;
    if (pip_output.size() > 3000) pip_output.erase(0, pip_output.size() - 3000);
    throw error(exec_errc::provider_failed,
                "python: pip could not install the packages; pip's output: '" + one_line(pip_output, 3000) + "'");
  }
  co_await write_text(environment, mark, "");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
