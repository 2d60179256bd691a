// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/exec_stream.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/os/command_request.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Facts that were found out once, and are the same for later environments of this process. May be used from several
/// threads.
template <class Value>
class known_facts {
 public:
  std::optional<Value> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = facts_.find(key);
    if (found == facts_.end()) return std::nullopt;
    return found->second;
  }
  void keep(const std::string& key, Value value) {
    const std::lock_guard lock(mutex_);
    facts_.insert_or_assign(key, std::move(value));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Value> facts_;
};

/// Returns the variables that programs in a container get, each as `NAME=value`; empty if the image has no program
/// `env`, or if they are longer than 1 MiB. Starts an exec.
/// \throws error{exec_errc::provider_failed} if the connection is lost.
inline awaitable<std::vector<std::string>> variables_in(std::shared_ptr<cluster_api> api, std::string pod,
                                                        std::string container) {
  constexpr std::size_t most = std::size_t{1} << 20U;
  std::vector<std::string> words{"env", "-0"};
  const std::string whose = api->shown(pod);
  exec_stream stream = co_await api->exec(std::move(pod), std::move(container), std::move(words), false);
  std::string text;
  std::array<std::byte, 8192> room;
  std::optional<error> failure;
  try {
    for (;;) {
      const std::size_t got = co_await stream.read_output(std::span<std::byte>(room));
      if (got == 0 || text.size() > most) break;
      text += as_text(bytes_view(room.data(), got));
    }
  } catch (const error& reason) {
    failure = reason;
  }
  const std::optional<exec_end> end = stream.end();
  stream.close();
  if (failure && failure->code() == exec_errc::cancelled) throw *failure;
  // Without its end, the text may lack a part, and must not be taken for the variables of the image.
  if (failure || (!end && text.size() <= most))
    throw error(exec_errc::provider_failed,
                "kubernetes: lost the connection to " + whose + " while it printed its variables" +
                    (failure ? std::string(": ") + failure->what() : std::string()),
                failure ? failure->cause() : std::error_code());
  std::vector<std::string> variables;
  if (!end || end->exit_code() != 0) co_return variables;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t size = std::min(rest.find('\0'), rest.size());
    if (rest.substr(0, size).find('=') != std::string_view::npos) variables.emplace_back(rest.substr(0, size));
    rest.remove_prefix(std::min(size + 1, rest.size()));
  }
  co_return variables;
}

/// Returns the variables of every command. The variables of the image override the defaults of this library, and the
/// variables of the options override both.
/// \param of_container  the variables of the container. Those that describe the cluster are left out.
/// \param home          the workspace.
/// \param temporary     the folder for temporary files.
inline std::vector<std::string> command_variables(const pod_options& options,
                                                  const std::vector<std::string>& of_container, const std::string& home,
                                                  const std::string& temporary) {
  std::vector<std::string> variables{"PATH=" + std::string(default_path), "LANG=C.UTF-8"};
  const auto set = [&variables](const std::string& variable) { set_variable(variables, variable); };
  for (const std::string& each : of_container) {
    const std::string_view name = std::string_view(each).substr(0, each.find('='));
    if (name != "HOSTNAME" && name != "PWD" && name != "SHLVL" && name != "_" && !name.starts_with("KUBERNETES_"))
      set(each);
  }
  set("HOME=" + home);
  set("TMPDIR=" + temporary);
  set("TERM=dumb");
  for (const auto& [name, value] : options.variables()) set(name + "=" + value);
  return variables;
}

/// Returns the shell of a container: /bin/bash if it works, otherwise /bin/sh.
inline awaitable<std::string> find_shell(std::shared_ptr<sandbox> in) {
  command look = argv("/bin/bash", "-c", ":");
  command_result result = co_await sandbox::probe(in, std::move(look));
  std::string shell = result.ok() ? "/bin/bash" : "/bin/sh";
  co_return shell;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
