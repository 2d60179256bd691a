// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/sandbox.hpp>
#include <cofferdam/backends/docker/detail/sandbox_settings.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Returns the absolute path of the shell in the container: the shell that `provider::shell` has set, otherwise
/// /bin/bash if the container has it, otherwise /bin/sh. The result is cached in this process under `key`.
/// \param key  the id of the image; for an adopted container (one that this library did not make) the id of the
///             container, because its files may differ from the files of its image.
inline awaitable<std::string> find_shell(std::shared_ptr<sandbox> in, std::shared_ptr<const sandbox_settings> settings,
                                         std::string key) {
  if (!settings->shell.empty()) co_return settings->shell;
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  {
    const std::lock_guard lock(mutex);
    const auto found = known.find(key);
    if (found != known.end()) co_return found->second;
  }
  command look = argv("/bin/bash", "-c", ":");
  command_result result = co_await sandbox::probe(in, std::move(look));
  const std::string shell = result.ok() ? "/bin/bash" : "/bin/sh";
  const std::lock_guard lock(mutex);
  known.insert_or_assign(key, shell);
  co_return shell;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
