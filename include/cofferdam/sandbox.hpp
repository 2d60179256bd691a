// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/format_result.hpp>
#include <cofferdam/core/run.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/with.hpp>

namespace cofferdam::inline COFFERDAM_ABI {

/// Returns the recipe that programs use if they name no backend: `jail()`, the strongest walls that this machine has
/// without a daemon.
///
///     co_await with(sandbox(), [](auto& env) -> awaitable<void> { ... });
///
/// If the walls cannot be built here, `open()` throws error{exec_errc::provider_failed}. Its text names the missing
/// wall, the command that adds it, and the other choices: `docker`, or `local()` for code that is trusted. A program
/// with its own spelling of these choices sets them with `jail::alternatives`. Nothing weaker is ever chosen instead.
inline jail sandbox() {
  jail recipe;
  recipe.alternatives(
      "Or choose, in C++:\n"
      "    sandbox().bubblewrap(path)     another bubblewrap program on this machine\n"
      "    docker::from_image(\"IMAGE\")    a container; needs a Docker daemon, and #include <cofferdam/docker.hpp>\n"
      "    local()                        no wall: commands have all rights of your user. For code that you trust; "
      "needs "
      "#include <cofferdam/local.hpp>");
  return recipe;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
