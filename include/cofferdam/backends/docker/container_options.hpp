// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/host_view.hpp>
#include <cofferdam/backends/docker/owner.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/path_advice.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/utf8.hpp>
#include <cofferdam/core/workspace_path.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::docker {

namespace detail {

inline error bad_option(const std::string& what) { return error(errc::invalid_argument, "docker: " + what); }

inline std::string quoted(std::string_view text) { return "\"" + one_line(text, 120) + "\""; }

// Text for JSON and for the kernel: the daemon would change what is not UTF-8, and cut at a NUL.
inline void require_text(std::string_view text, const std::string& what) {
  if (text.find('\0') != std::string_view::npos) throw bad_option(what + " has a NUL byte in it");
  if (!is_valid_utf8(text)) throw bad_option(what + " is not UTF-8, which the daemon would change");
}

// A name as the daemon has them, for volumes, networks, runtimes and containers.
inline bool is_engine_name(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= 255 && is_plain(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_plain(c) || c == '_' || c == '.' || c == '-'; });
}

// A path in the container, in its one spelling. Never `/` itself, and never where the kernel's own files are.
inline std::string guest_path(std::string_view path, const std::string& what) {
  require_text(path, what);
  if (!path.starts_with('/')) throw bad_option(what + " " + quoted(path) + " does not start with /");
  const std::vector<std::string_view> parts = cofferdam::detail::path_components(path);
  std::string clean;
  for (const std::string_view part : parts) {
    if (part == "..") throw bad_option(what + " " + quoted(path) + " has a '..' in it");
    clean += '/';
    clean += part;
  }
  if (clean.empty()) throw bad_option(what + " is /, the container's own root; name a folder in it");
  if (clean.size() > longest_path) throw bad_option(what + " is longer than 4095 bytes");
  for (const std::string_view kernels : {"/proc", "/sys", "/dev"})
    if (cofferdam::detail::is_beneath(clean, kernels) && clean != "/dev/shm")
      throw bad_option(what + " " + quoted(path) + " lies in " + std::string(kernels) + ", which is the kernel's");
  return clean;
}

}  // namespace detail

/// Memory of its own at a path of the container: empty at first, gone with it.
class tmpfs_mount {
 public:
  /// \param target  absolute.
  /// \param bytes   how much it may hold; counts against the container's memory. 4096 or more.
  tmpfs_mount(std::string_view target, std::uint64_t bytes)
      : target_(detail::guest_path(target, "the path of a tmpfs")), bytes_(bytes) {
    if (bytes < 4096) throw detail::bad_option("a tmpfs has at least 4096 bytes");
  }

  /// Lets programs be run from it. Docker's own default is that they cannot.
  tmpfs_mount&& executable() && {
    executable_ = true;
    return std::move(*this);
  }

  const std::string& target() const noexcept { return target_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  bool is_executable() const noexcept { return executable_; }

 private:
  std::string target_;
  std::uint64_t bytes_;
  bool executable_ = false;
};

/// A folder of the daemon's machine, or one of its volumes, at a path of the container.
class mount {
 public:
  /// A folder of the **daemon's** machine, which must be there.
  /// \param source  absolute there. What gives power over that machine is refused: its root, its /proc, /sys, /dev, and
  ///                what holds a daemon's socket. (Looks at the name, not at links: the daemon is perhaps elsewhere.)
  /// \param target  absolute in the container.
  /// \throws        error{errc::invalid_argument}.
  static mount bind(std::string_view source, std::string_view target) {
    detail::require_text(source, "the source of a mount");
    if (!source.starts_with('/'))
      throw detail::bad_option("the source of a mount, " + detail::quoted(source) +
                               ", does not start with /; for a volume there is mount::volume");
    std::string clean;
    for (const std::string_view part : cofferdam::detail::path_components(source)) {
      if (part == "..")
        throw detail::bad_option("the source of a mount, " + detail::quoted(source) + ", has a '..' in it");
      clean += '/';
      clean += part;
    }
    if (clean.empty() || gives_power(clean))
      throw detail::bad_option(
          "the source of a mount, " + detail::quoted(source) +
          ", would give the container power over the daemon's machine; mount a folder of your own");
    return mount(true, std::move(clean), target);
  }

  /// A volume, made where it is missing.
  static mount volume(std::string_view name, std::string_view target) {
    if (!detail::is_engine_name(name) || name.size() < 2)
      throw detail::bad_option("a volume cannot be called " + detail::quoted(name) +
                               ": two or more letters, digits, '_', '.' and '-', the first a letter or digit");
    return mount(false, std::string(name), target);
  }

  /// Only to be read.
  mount&& read_only() && {
    read_only_ = true;
    return std::move(*this);
  }

  bool is_bind() const noexcept { return is_bind_; }
  const std::string& source() const noexcept { return source_; }
  const std::string& target() const noexcept { return target_; }
  bool is_read_only() const noexcept { return read_only_; }

 private:
  mount(bool is_bind, std::string source, std::string_view target)
      : is_bind_(is_bind), source_(std::move(source)), target_(detail::guest_path(target, "the target of a mount")) {}

  static bool gives_power(std::string_view path) {
    using cofferdam::detail::is_beneath;
    for (const std::string_view kernels : {"/proc", "/sys", "/dev"})
      if (is_beneath(path, kernels)) return true;
    constexpr std::array<std::string_view, 6> sockets{
        "/run/docker.sock",     "/run/podman/podman.sock",     "/run/containerd/containerd.sock",
        "/var/run/docker.sock", "/var/run/podman/podman.sock", "/var/run/containerd/containerd.sock"};
    for (const std::string_view socket : sockets)
      if (is_beneath(socket, path)) return true;
    return path.ends_with("/docker.sock") || path.ends_with("/podman.sock") || path.ends_with("/containerd.sock") ||
           is_beneath(path, "/var/lib/docker") || path == "/var/lib" || is_beneath(path, "/run/user");
  }

  bool is_bind_;
  std::string source_;
  std::string target_;
  bool read_only_ = false;
};

/// When an image is fetched from its registry.
enum class pull_policy {
  missing,  ///< where the daemon does not have it
  always,   ///< each time, so that a tag is what the registry says now
  never,    ///< not at all: it has to be there
};

/// What a container is like. Everything has a default, and the defaults are the narrow ones: no network, no
/// capabilities, 1 GiB of memory and no swap, 2 CPUs, 256 processes.
///
/// A value; setters chain and check: `container_options().network("bridge").memory(std::uint64_t{4} << 30)`. What is
/// wrong is error{errc::invalid_argument} at once, in a sentence that names the option and shows no value of a
/// variable.
/// \par Source  Engine API, "Create a container".
class container_options {
 public:
  container_options() = default;

  /// Who the commands are: `1000`, `1000:1000`, `app`, `app:staff`. A name must be in the image. Default: the image's
  /// own user, and 1000:1000 for an image whose user is root.
  container_options& user(std::string_view name) & {
    const bool plain = !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("._-:$").find(c) != std::string_view::npos;
    });
    const auto colons = std::count(name.begin(), name.end(), ':');
    if (!plain || colons > 1 || name.starts_with(':') || name.ends_with(':') || name.starts_with('-'))
      throw detail::bad_option("user " + detail::quoted(name) +
                               " is not of the form 1000, 1000:1000, name or name:group");
    user_ = std::string(name);
    return *this;
  }
  container_options&& user(std::string_view name) && { return std::move(user(name)); }

  /// The workspace: where commands start, and what relative paths are relative to. Default: /workspace.
  /// Where the image does not have it, the daemon makes it as root's own: whoever starts the container has to give it
  /// to the commands' user, unless a tmpfs or a mount is there.
  container_options& working_directory(std::string_view path) & {
    working_directory_ = detail::guest_path(path, "working_directory");
    return *this;
  }
  container_options&& working_directory(std::string_view path) && { return std::move(working_directory(path)); }

  /// A variable of every command.
  container_options& variable(std::string_view name, std::string_view value) & {
    require_variable(name);
    detail::require_text(value, "the value of the variable " + detail::quoted(name));
    variables_.insert_or_assign(std::string(name), std::optional<std::string>(value));
    return *this;
  }
  container_options&& variable(std::string_view name, std::string_view value) && {
    return std::move(variable(name, value));
  }

  /// A variable that has the value it has in this process when the container is made. One that is not set then is left
  /// out.
  container_options& forward_variable(std::string_view name) & {
    require_variable(name);
    variables_.insert_or_assign(std::string(name), std::nullopt);
    return *this;
  }
  container_options&& forward_variable(std::string_view name) && { return std::move(forward_variable(name)); }

  /// \param bytes  all of the container's memory, tmpfs included; swap is none. At least 6 MiB. Default 1 GiB.
  container_options& memory(std::uint64_t bytes) & {
    if (bytes < std::uint64_t{6} * 1024 * 1024 || bytes > most_bytes)
      throw detail::bad_option("memory is at least 6 MiB (6291456 bytes), the least that the daemon takes");
    memory_ = bytes;
    return *this;
  }
  container_options&& memory(std::uint64_t bytes) && { return std::move(memory(bytes)); }

  /// \param count  how many CPUs' time it may use, 0.01 or more; more than there are is all of them. Default 2.
  container_options& cpus(double count) & {
    if (!(count >= 0.01) || !(count <= 65536)) throw detail::bad_option("cpus is a number from 0.01 to 65536");
    cpus_ = count;
    return *this;
  }
  container_options&& cpus(double count) && { return std::move(cpus(count)); }

  /// \param count  processes and threads, the warden's few included; 8 or more. Default 256.
  container_options& pids(std::uint64_t count) & {
    if (count < 8 || count > 4'194'304) throw detail::bad_option("pids is a number from 8 to 4194304");
    pids_ = count;
    return *this;
  }
  container_options&& pids(std::uint64_t count) && { return std::move(pids(count)); }

  /// \param name  `none` (the default), `bridge`, or a network of the daemon's. Never the host's own, or another
  ///              container's.
  container_options& network(std::string_view name) & {
    if (name == "host" || !detail::is_engine_name(name))
      throw detail::bad_option("network " + detail::quoted(name) +
                               " is refused: it is none, bridge, or the name of a network that you made for this");
    network_ = std::string(name);
    return *this;
  }
  container_options&& network(std::string_view name) && { return std::move(network(name)); }

  /// Lets the commands write wherever the image's permissions allow. The workspace then lies on the container's disk.
  /// Default: all of the image is read-only, and the workspace and /tmp are memory, unless a tmpfs or a mount is there.
  container_options& writable_root() & {
    read_only_root_ = false;
    return *this;
  }
  container_options&& writable_root() && { return std::move(writable_root()); }

  /// \param bytes  what the workspace may hold where it is memory; it counts against `memory()`. 4096 or more. Default:
  ///               half of the memory. /tmp has half of that.
  container_options& workspace_size(std::uint64_t bytes) & {
    if (bytes < 4096 || bytes > most_bytes) throw detail::bad_option("workspace_size is at least 4096 bytes");
    workspace_size_ = bytes;
    return *this;
  }
  container_options&& workspace_size(std::uint64_t bytes) && { return std::move(workspace_size(bytes)); }

  /// \throws also for a path where something else is already.
  container_options& tmpfs(tmpfs_mount one) & {
    require_free(one.target());
    tmpfs_.push_back(std::move(one));
    return *this;
  }
  container_options&& tmpfs(tmpfs_mount one) && { return std::move(tmpfs(std::move(one))); }

  /// \throws also for a path where something else is already.
  container_options& add(mount one) & {
    require_free(one.target());
    mounts_.push_back(std::move(one));
    return *this;
  }
  container_options&& add(mount one) && { return std::move(add(std::move(one))); }

  /// \param name  of the daemon's runtimes: `runsc`. Default: the daemon's own.
  container_options& runtime(std::string_view name) & {
    if (!detail::is_engine_name(name)) throw detail::bad_option("runtime " + detail::quoted(name) + " is no name");
    runtime_ = std::string(name);
    return *this;
  }
  container_options&& runtime(std::string_view name) && { return std::move(runtime(name)); }

  /// \param key  does not start with `cofferdam.`, which says whose a container is.
  container_options& label(std::string_view key, std::string_view value) & {
    detail::require_text(key, "the name of a label");
    detail::require_text(value, "the value of the label " + detail::quoted(key));
    const bool plain = !key.empty() && key.size() <= 256 && std::none_of(key.begin(), key.end(), [](char c) {
      return static_cast<unsigned char>(c) <= ' ' || c == '=' || c == '\x7f';
    });
    if (!plain) throw detail::bad_option("label " + detail::quoted(key) + ": a name has no blank and no '='");
    std::string lower(key.substr(0, own_label_prefix.size()));
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (lower == own_label_prefix)
      throw detail::bad_option("label " + detail::quoted(key) + ": names that start with cofferdam. are the library's");
    labels_.insert_or_assign(std::string(key), std::string(value));
    return *this;
  }
  container_options&& label(std::string_view key, std::string_view value) && { return std::move(label(key, value)); }

  /// \param name  `linux`, `linux/arm64`, `linux/arm/v7`. Default: the daemon's own.
  container_options& platform(std::string_view name) & {
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '/';
    });
    if (!plain || !name.starts_with("linux") || (name.size() > 5 && name[5] != '/') || name.ends_with('/') ||
        name.find("//") != std::string_view::npos || std::count(name.begin(), name.end(), '/') > 2)
      throw detail::bad_option("platform " + detail::quoted(name) + " is not of the form linux/amd64 or linux/arm/v7");
    platform_ = std::string(name);
    return *this;
  }
  container_options&& platform(std::string_view name) && { return std::move(platform(name)); }

  /// Default: missing.
  container_options& pull(pull_policy when) & {
    pull_ = when;
    return *this;
  }
  container_options&& pull(pull_policy when) && { return std::move(pull(when)); }

  const std::string& user() const noexcept { return user_; }
  const std::string& working_directory() const noexcept { return working_directory_; }
  std::uint64_t memory() const noexcept { return memory_; }
  double cpus() const noexcept { return cpus_; }
  std::uint64_t pids() const noexcept { return pids_; }
  const std::string& network() const noexcept { return network_; }
  bool has_read_only_root() const noexcept { return read_only_root_; }
  std::uint64_t workspace_size() const noexcept { return workspace_size_ != 0 ? workspace_size_ : memory_ / 2; }
  const std::vector<tmpfs_mount>& tmpfs() const noexcept { return tmpfs_; }
  const std::vector<mount>& mounts() const noexcept { return mounts_; }
  const std::string& runtime() const noexcept { return runtime_; }
  const std::map<std::string, std::string>& labels() const noexcept { return labels_; }
  const std::string& platform() const noexcept { return platform_; }
  pull_policy pull() const noexcept { return pull_; }

  /// Whether something was put at exactly this path.
  bool has_at(std::string_view target) const {
    const auto is_there = [target](const auto& one) { return one.target() == target; };
    return std::any_of(tmpfs_.begin(), tmpfs_.end(), is_there) || std::any_of(mounts_.begin(), mounts_.end(), is_there);
  }

  /// The variables with their values, as `NAME=value`, in order of their names.
  /// \param missing  takes the names that are to be forwarded and are not set; null where nobody asks.
  /// \throws         error{errc::invalid_argument} for a forwarded value that is not UTF-8, or not text.
  std::vector<std::string> environment(const host_view& host, std::vector<std::string>* missing = nullptr) const {
    std::vector<std::string> all;
    for (const auto& [name, given] : variables_) {
      const std::optional<std::string> value = given ? given : host.variable(name);
      if (!value) {
        if (missing != nullptr) missing->push_back(name);
        continue;
      }
      detail::require_text(*value, "the value of the variable " + detail::quoted(name));
      all.push_back(name + "=" + *value);
    }
    return all;
  }

 private:
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;

  static void require_variable(std::string_view name) {
    detail::require_text(name, "the name of a variable");
    const bool plain = !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
      return c == '=' || static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    });
    if (!plain) throw detail::bad_option("a variable cannot be called " + detail::quoted(name));
  }

  void require_free(const std::string& target) const {
    if (has_at(target)) throw detail::bad_option("two mounts are to be at " + detail::quoted(target));
  }

  std::string user_;
  std::string working_directory_ = "/workspace";
  std::map<std::string, std::optional<std::string>> variables_;
  std::uint64_t memory_ = std::uint64_t{1} << 30;
  double cpus_ = 2;
  std::uint64_t pids_ = 256;
  std::string network_ = "none";
  bool read_only_root_ = true;
  std::uint64_t workspace_size_ = 0;
  std::vector<tmpfs_mount> tmpfs_;
  std::vector<mount> mounts_;
  std::string runtime_;
  std::map<std::string, std::string> labels_;
  std::string platform_;
  pull_policy pull_ = pull_policy::missing;
};

}  // namespace cofferdam::inline v0::docker
