// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/host_operations.hpp>
#include <cofferdam/backends/detail/host_path_option.hpp>
#include <cofferdam/backends/detail/jail_state.hpp>
#include <cofferdam/backends/host_environment.hpp>
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/home_strand.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

template <class Unused>
const isolation_report& basic_jail_environment<Unused>::isolation() const {
  return this->state().place().isolation();
}

namespace detail {

/// Checks a path that a jail is to show or hide.
inline std::filesystem::path jail_path(const char* option, const std::filesystem::path& path) {
  const auto wrong = [&](const char* why) {
    return error(exec_errc::invalid_argument,
                 std::string("jail: ") + option + "(\"" + one_line(path.string()) + "\"): " + why);
  };
  if (!path.is_absolute()) throw wrong("the path must be absolute");
  require_no_nul(std::string("jail: ") + option, path.native());
  std::filesystem::path clean = path.lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();
  if (clean == "/") throw wrong("name folders beneath the root; the jail has a root of its own");
  for (const char* own : {"/proc", "/dev"})
    if (is_within(clean, own)) throw wrong("the jail has its own /proc and /dev");
  if (clean == "/tmp") throw wrong("the jail has its own /tmp; name a folder in it");
  return clean;
}

template <class Number>
void require_at_least(const char* option, Number given, Number least) {
  if (given < least)
    throw error(exec_errc::invalid_argument, std::string("jail: ") + option + " must be at least " +
                                                 std::to_string(least) + ", not " + std::to_string(given));
}

/// Refuses a size in bytes below the minimum, or one that no file system or control group of Linux can have.
inline void require_size(const char* option, std::uint64_t given, std::uint64_t least) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  const auto shown = [](std::uint64_t bytes) {
    constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
    if (bytes >= mebibyte && bytes % mebibyte == 0) return std::to_string(bytes / mebibyte) + " MiB";
    return std::to_string(bytes) + " bytes";
  };
  if (given < least || given > most)
    throw error(exec_errc::invalid_argument, std::string("jail: ") + option + " must be from " + shown(least) + " to " +
                                                 shown(most) + ", not " + shown(given));
}

inline void require_not_negative(const char* option, std::chrono::milliseconds time) {
  if (time < std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, std::string("jail: ") + option + " must not be negative");
}

}  // namespace detail

template <class Unused>
template <class Change>
basic_jail<Unused>& basic_jail<Unused>::with(Change change) {
  auto copy = std::make_shared<detail::jail_settings>(*settings_);
  change(*copy);
  settings_ = std::move(copy);
  return *this;
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::mount_read_only(std::filesystem::path path) {
  path = detail::jail_path("mount_read_only", path);
  return with([&](detail::jail_settings& all) { all.mounts.emplace_back(std::move(path), false); });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::mount_writable(std::filesystem::path path) {
  path = detail::jail_path("mount_writable", path);
  return with([&](detail::jail_settings& all) { all.mounts.emplace_back(std::move(path), true); });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::hide(std::filesystem::path path) {
  path = detail::jail_path("hide", path);
  return with([&](detail::jail_settings& all) { all.hidden.push_back(std::move(path)); });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::network(network_policy policy) {
  return with([&](detail::jail_settings& all) { all.network = policy; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::memory(std::size_t max_size) {
  detail::require_size("memory", max_size, std::uint64_t{16} << 20);
  return with([&](detail::jail_settings& all) { all.limits.memory = max_size; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::require_total_memory() {
  return with([&](detail::jail_settings& all) { all.limits.requires_total_memory = true; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::control_groups(bool use) {
  return with([&](detail::jail_settings& all) { all.limits.uses_control_groups = use; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::cpu_time(std::chrono::seconds most) {
  detail::require_at_least<std::int64_t>("cpu_time", most.count(), 1);
  return with([&](detail::jail_settings& all) { all.limits.cpu_seconds = static_cast<std::uint64_t>(most.count()); });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::cpus(double count) {
  if (!(count >= 0.01) || !(count <= 65536))
    throw error(exec_errc::invalid_argument, "jail: cpus must be a number from 0.01 to 65536");
  return with([&](detail::jail_settings& all) { all.limits.cpus = count; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::processes(std::uint32_t most) {
  detail::require_at_least("processes", most, std::uint32_t{8});
  constexpr std::uint32_t of_the_kernel = std::uint32_t{1} << 22;
  if (most > of_the_kernel)
    throw error(exec_errc::invalid_argument, "jail: processes must be at most 4194304, the maximum of Linux");
  return with([&](detail::jail_settings& all) { all.limits.processes = most; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::file_size(std::uint64_t most) {
  return with([&](detail::jail_settings& all) { all.limits.file_size = most; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::open_files(std::uint32_t most) {
  detail::require_at_least("open_files", most, std::uint32_t{16});
  return with([&](detail::jail_settings& all) { all.limits.open_files = most; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::workspace_size(std::size_t most) {
  detail::require_size("workspace_size", most, std::uint64_t{64} << 10);
  return with([&](detail::jail_settings& all) { all.limits.workspace_size = most; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::temporary_size(std::size_t most) {
  detail::require_size("temporary_size", most, std::uint64_t{64} << 10);
  return with([&](detail::jail_settings& all) { all.limits.temporary_size = most; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::workspace_path(std::string path) {
  const std::filesystem::path clean = detail::jail_path("workspace_path", path);
  for (const char* own : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/.warden"})
    if (detail::is_within(clean, own))
      throw error(exec_errc::invalid_argument, "jail: workspace_path(\"" + one_line(path) +
                                                   "\"): it must not be in a folder of the system; use a path such "
                                                   "as /home/user");
  if (path.find_first_of(":\n") != std::string::npos)
    throw error(exec_errc::invalid_argument, "jail: workspace_path(\"" + one_line(path) +
                                                 "\"): it must not have ':' or a line break, because /etc/passwd in "
                                                 "the jail names it as the user's home");
  return with([&](detail::jail_settings& all) { all.workspace_path = clean.string(); });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::protect(std::string name) {
  const std::filesystem::path path(name);
  const bool leads_out = std::find(path.begin(), path.end(), "..") != path.end();
  const std::string clean = path.lexically_normal().string();
  if (name.empty() || path.is_absolute() || leads_out || name.find('\0') != std::string::npos || clean == "." ||
      clean == "./")
    throw error(exec_errc::invalid_argument, "jail: protect(\"" + one_line(name) +
                                                 "\"): name a file or folder in the workspace, as in \".git/config\"");
  if (settings_->protected_names.size() >= detail::jail_settings::max_protected)
    throw error(exec_errc::invalid_argument, "jail: protect(\"" + one_line(name) + "\"): at most " +
                                                 std::to_string(detail::jail_settings::max_protected) + " names");
  return with([&](detail::jail_settings& all) { all.protected_names.push_back(clean); });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::protect_project_files() {
  for (const char* const name :
       {".git/hooks/", ".git/config", ".git/config.worktree", ".git/modules/", ".git/worktrees/", ".gitmodules",
        ".envrc", ".vscode/", ".idea/", ".claude/", ".cursor/", ".mcp.json"})
    protect(name);
  return *this;
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::workspace(std::filesystem::path folder) {
  detail::require_no_nul("jail: workspace", folder.native());
  std::filesystem::path clean;
  if (!folder.empty()) {
    std::error_code failure;
    clean = std::filesystem::absolute(folder, failure).lexically_normal();
    if (failure)
      throw error(
          exec_errc::invalid_argument,
          "jail: workspace(\"" + one_line(folder.string()) +
              "\"): the path is relative, and the current folder of this program cannot be found: " + failure.message(),
          failure);
    if (!clean.has_filename()) clean = clean.parent_path();
  }
  return with([&](detail::jail_settings& all) {
    all.workspace_has_links = !folder.empty() && !detail::jail_mount::is_real(clean);
    all.workspace = folder.empty() || all.workspace_has_links ? std::move(folder) : std::move(clean);
  });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::temporary_base(std::filesystem::path folder) {
  detail::require_no_nul("jail: temporary_base", folder.native());
  return with([&](detail::jail_settings& all) { all.temporary_base = std::move(folder); });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::shell(std::string path) {
  detail::require_no_nul("jail: shell", path);
  return with([&](detail::jail_settings& all) { all.shell = std::move(path); });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::default_timeout(std::chrono::milliseconds limit) {
  if (limit <= std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument,
                "jail: the default timeout must be longer than zero; no_timeout means that there is none");
  return with([&](detail::jail_settings& all) { all.commands.default_timeout = limit; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::kill_grace(std::chrono::milliseconds time) {
  detail::require_not_negative("kill_grace", time);
  return with([&](detail::jail_settings& all) { all.commands.kill_grace = time; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::output_grace(std::chrono::milliseconds time) {
  detail::require_not_negative("output_grace", time);
  return with([&](detail::jail_settings& all) { all.commands.output_grace = time; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::bubblewrap(std::filesystem::path program) {
  detail::require_no_nul("jail: bubblewrap", program.native());
  return with([&](detail::jail_settings& all) { all.bubblewrap = std::move(program); });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::landlock(unsigned abi) {
  return with([&](detail::jail_settings& all) { all.landlock = abi; });
}

template <class Unused>
basic_jail<Unused>& basic_jail<Unused>::alternatives(std::string lines) {
  return with([&](detail::jail_settings& all) { all.alternatives = std::move(lines); });
}

template <class Unused>
awaitable<jail_environment> basic_jail<Unused>::open() const {
  return open_with(settings_);
}

template <class Unused>
awaitable<jail_environment> basic_jail<Unused>::open_with(std::shared_ptr<const detail::jail_settings> settings) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  const detail::home_strand home(std::move(executor));
  const auto opens = [&home, &settings] { return detail::jail_state::open(home.executor(), settings); };
  std::shared_ptr<detail::jail_state> state = co_await home.run(opens);
  co_return jail_environment(std::move(state));
}

template <class Unused>
std::shared_ptr<const detail::jail_settings> basic_jail<Unused>::defaults() {
  return std::make_shared<detail::jail_settings>();
}

COFFERDAM_INSTANTIATE(class host_environment<detail::jail_place>)
COFFERDAM_INSTANTIATE(class basic_jail_environment<void>)
COFFERDAM_INSTANTIATE(class basic_jail<void>)

}  // namespace cofferdam::inline COFFERDAM_ABI
