// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/host_power.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/backends/docker/gpu_choice.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/path_advice.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <asio/ip/address.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker {

/// The way in which commands are started in a container: by a warden (a small helper program of this library inside the
/// container), or by Docker execs (processes that the daemon starts in a running container, as `docker exec` does).
///
/// With execs, the container needs no program of this library, but a command takes about 60 ms instead of 1 ms, and
/// these restrictions apply:
/// * In a container that this library has made, a time limit, a cancellation and the destructor of a running `process`
///   end *all* processes in the container, including those of other commands. The other commands end with
///   `error_kind::execution_error`, their `cause()` is std::errc::interrupted, and they can be run again. In an adopted
///   container, only the processes of the affected command are ended, except processes that have both left its session
///   and cleared their environment.
/// * When a command has ended, the remaining processes of its *session* (setsid(2)) are ended. Processes that have left
///   the session continue. If they still have the command's output open, they can delay the next commands for some
///   seconds. A hostile command can pretend that it has ended, with the same effect. `background_policy::keep` leads to
///   error{exec_errc::unsupported}.
/// * Death by SIGINT or SIGPIPE is reported as exit code 130 or 141. With a terminal, and if the container's /bin/sh is
///   bash, every death by a signal is reported as exit code 128 plus the signal's number. The container's sh may run a
///   file that is not a program and has no `#!` line as a script.
/// * The container needs /bin/sh (dash, BusyBox's, or bash), and for file operations cat, stat, readlink, mv, mkdir and
///   find.
/// * The daemon's events contain the command lines, but not the environment variables. An environment variable whose
///   name is not a valid name in the shell does not reach the command.
/// \par Source  Engine API, "Attach to a container" and "Exec".
enum class command_transport {
  automatic,  ///< by a warden if there is one for the image's processor architecture, otherwise by execs
  warden,     ///< by a warden; error{exec_errc::unsupported} if that is not possible
  attached,   ///< by a warden; all data passes through the daemon, even if a direct socket to the warden is possible
  exec,       ///< each command is an exec of the daemon
};

namespace detail {

inline error bad_option(const std::string& what) { return error(exec_errc::invalid_argument, "docker: " + what); }

inline std::string quoted(std::string_view text) { return "\"" + one_line(text, 120) + "\""; }

// Throws unless the text is UTF-8 without NUL bytes. The daemon would change invalid UTF-8 and cut the text at a NUL
// byte.
inline void require_text(std::string_view text, const std::string& what) {
  if (text.find('\0') != std::string_view::npos) throw bad_option(what + " contains a NUL byte");
  if (!cofferdam::detail::is_valid_utf8(text)) throw bad_option(what + " is not UTF-8; the daemon would alter it");
}

// Throws unless the text is an IP address without a zone.
inline void require_address(std::string_view text, const std::string& what) {
  require_text(text, what);
  std::error_code failure;
  asio::ip::make_address(std::string(text), failure);
  if (failure || text.find('%') != std::string_view::npos)
    throw bad_option(what + ": " + quoted(text) + " is not an IP address, such as 10.0.0.1 or fd00::1");
}

// Returns true if the text is a valid name of a volume, network, runtime or container.
inline bool is_engine_name(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= 255 && is_plain(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_plain(c) || c == '_' || c == '.' || c == '-'; });
}

// Returns the path without empty and `.` parts. Throws for `/` itself, and for paths in /proc, /sys and /dev (except
// /dev/shm), because the kernel provides the files in these folders.
inline std::string guest_path(std::string_view path, const std::string& what) {
  require_text(path, what);
  if (!path.starts_with('/')) throw bad_option(what + " " + quoted(path) + " does not start with /");
  const std::vector<std::string_view> parts = cofferdam::detail::path_components(path);
  std::string clean;
  for (const std::string_view part : parts) {
    if (part == "..") throw bad_option(what + " " + quoted(path) + " contains '..'; write the path without it");
    clean += '/';
    clean += part;
  }
  if (clean.empty()) throw bad_option(what + " is /, the container's root directory; choose a directory below it");
  if (clean.size() > max_path) throw bad_option(what + " is longer than 4095 bytes");
  for (const std::string_view kernels : {"/proc", "/sys", "/dev"})
    if (cofferdam::detail::is_beneath(clean, kernels) && clean != "/dev/shm")
      throw bad_option(what + " " + quoted(path) + " is in " + std::string(kernels) +
                       ", which belongs to the kernel; choose another path");
  return clean;
}

}  // namespace detail

/// An in-memory file system at a path of the container. It is empty at first, and is removed with the container.
class tmpfs_mount {
 public:
  /// \param target  absolute path in the container.
  /// \param bytes   maximum size in bytes, at least 4096. The content counts against the container's memory limit.
  tmpfs_mount(std::string_view target, std::uint64_t bytes)
      : target_(detail::guest_path(target, "the path of a tmpfs")), bytes_(bytes) {
    if (bytes < 4096) throw detail::bad_option("the size of a tmpfs must be at least 4096 bytes");
  }
  /// Makes a file system with a maximum size of `container_options::volume_size()` bytes.
  explicit tmpfs_mount(std::string_view target) : target_(detail::guest_path(target, "the path of a tmpfs")) {}

  /// Allows the execution of programs in this file system. The default is Docker's default, which forbids it.
  tmpfs_mount& executable() {
    executable_ = true;
    return *this;
  }

  /// Returns the absolute path in the container.
  const std::string& target() const noexcept { return target_; }
  /// Returns the maximum size in bytes, or 0 if none was given.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Returns true if programs in this file system may be executed.
  bool is_executable() const noexcept { return executable_; }

 private:
  std::string target_;
  std::uint64_t bytes_ = 0;
  bool executable_ = false;
};

/// A mount in the container: a folder of the daemon's machine, or a volume of the daemon.
class mount {
 public:
  /// Mounts an existing folder of the **daemon's** machine.
  /// \param source  absolute path on that machine. Folders that give control over the machine are refused: its root,
  ///                /proc, /sys, /dev, and the places where services that run programs as root keep their sockets or
  ///                their state (Docker, Podman, containerd, CRI-O, kubelet, k3s, systemd, D-Bus, libvirt, LXD, snapd;
  ///                also the places of such services in users' homes). Folders inside such a place, and folders that
  ///                contain one, are refused too. `/var/run` counts as `/run`. If the daemon is on this machine, `open`
  ///                also resolves symbolic links, and refuses a user's home directory that contains such a place.
  /// \param target  absolute path in the container.
  /// \throws        error{exec_errc::invalid_argument} for a refused or malformed path.
  static mount bind(std::string_view source, std::string_view target) {
    detail::require_text(source, "the source of a mount");
    if (!source.starts_with('/'))
      throw detail::bad_option("the source of a mount, " + detail::quoted(source) +
                               ", does not start with /; use mount::volume to mount a volume");
    std::string clean;
    for (const std::string_view part : cofferdam::detail::path_components(source)) {
      if (part == "..")
        throw detail::bad_option("the source of a mount, " + detail::quoted(source) +
                                 ", contains '..'; write the path without it");
      clean += '/';
      clean += part;
    }
    if (detail::gives_power(clean))
      throw detail::bad_option("the source of a mount, " + detail::quoted(source) +
                               ", would give the container control of the daemon's machine; mount another directory");
    return mount(true, std::move(clean), target);
  }

  /// Mounts a volume of the daemon. The daemon makes the volume if it is missing.
  /// \param name    at least two characters: letters, digits, `_`, `.` and `-`; the first a letter or digit.
  /// \param target  absolute path in the container.
  /// \throws        error{exec_errc::invalid_argument} for an invalid name or path.
  static mount volume(std::string_view name, std::string_view target) {
    if (!detail::is_engine_name(name) || name.size() < 2)
      throw detail::bad_option("invalid volume name " + detail::quoted(name) +
                               ": use two or more letters, digits, '_', '.' and '-', starting with a letter or digit");
    return mount(false, std::string(name), target);
  }

  /// Makes the mount read-only.
  mount& read_only() {
    read_only_ = true;
    return *this;
  }

  /// Returns true if a folder of the daemon's machine is mounted, and false if a volume is.
  bool is_bind() const noexcept { return is_bind_; }
  /// Returns the path of the folder, or the name of the volume.
  const std::string& source() const noexcept { return source_; }
  /// Returns the absolute path in the container.
  const std::string& target() const noexcept { return target_; }
  /// Returns true if the container may not write to the mount.
  bool is_read_only() const noexcept { return read_only_; }

 private:
  mount(bool is_bind, std::string source, std::string_view target)
      : is_bind_(is_bind), source_(std::move(source)), target_(detail::guest_path(target, "the target of a mount")) {}

  bool is_bind_;
  std::string source_;
  std::string target_;
  bool read_only_ = false;
};

/// The condition under which an image is pulled from its registry.
enum class pull_policy {
  missing,  ///< only if the daemon does not have the image
  always,   ///< at each `open()`, so that a tag means the registry's current image
  never,    ///< never: `open()` throws if the daemon does not have the image
};

/// The settings of a container. Each setting has a default, and the defaults are restrictive: no network, no
/// capabilities, 1 GiB of memory, no swap, 2 CPUs, 256 processes.
///
/// A value. Setters check their arguments and can be chained:
/// `container_options().network("bridge").memory(std::uint64_t{4} << 30)`. A setter throws
/// error{exec_errc::invalid_argument} for an invalid argument. The message names the option, but never contains the
/// value of an environment variable.
/// \par Source  Engine API, "Create a container".
class container_options {
 public:
  container_options() = default;

  /// Sets the user of the commands.
  ///
  /// Default: if a folder is mounted at the workspace (`mount::bind`), the owner of that folder. Commands can then work
  /// there, and the files that they make belong to that owner. Otherwise the default is the image's own user, or
  /// 1000:1000 if that user is root. The default is never root: if the mounted folder belongs to root, it does not
  /// determine the user, and the library warns (see `set_warning_handler`). `user("0")` runs commands as root, but
  /// without capabilities.
  /// \param name  `1000`, `1000:1000`, `app` or `app:staff`. A name must exist in the image.
  container_options& user(std::string_view name) {
    const bool plain = !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("._-:$").find(c) != std::string_view::npos;
    });
    const auto colons = std::count(name.begin(), name.end(), ':');
    if (!plain || colons > 1 || name.starts_with(':') || name.ends_with(':') || name.starts_with('-'))
      throw detail::bad_option("user " + detail::quoted(name) +
                               " must have the form 1000, 1000:1000, name or name:group");
    user_ = std::string(name);
    return *this;
  }

  /// Sets the workspace: the directory in which commands start, and to which relative paths refer. Default: /workspace.
  ///
  /// If the image does not have this directory, the library makes it for the commands' user.
  container_options& working_directory(std::string_view path) {
    working_directory_ = detail::guest_path(path, "working_directory");
    return *this;
  }

  /// Sets an environment variable of all commands.
  container_options& variable(std::string_view name, std::string_view value) {
    require_variable(name);
    detail::require_text(value, "the value of the variable " + detail::quoted(name));
    variables_.insert_or_assign(std::string(name), std::optional<std::string>(value));
    return *this;
  }

  /// Sets an environment variable of all commands to its value in this process. The value is read when the container is
  /// made. If the variable is not set at that time, commands run without it, and the library warns (see
  /// `set_warning_handler`).
  container_options& forward_variable(std::string_view name) {
    require_variable(name);
    variables_.insert_or_assign(std::string(name), std::nullopt);
    return *this;
  }

  /// Sets the limit of the container's memory, including in-memory file systems. Swap is switched off.
  /// \param bytes  at least 6 MiB. Default: 1 GiB.
  container_options& memory(std::uint64_t bytes) {
    if (bytes < std::uint64_t{6} * 1024 * 1024 || bytes > max_bytes)
      throw detail::bad_option("memory must be at least 6 MiB (6291456 bytes), the daemon's minimum");
    memory_ = bytes;
    return *this;
  }

  /// Sets the limit of processor time, in CPUs.
  /// \param count  from 0.01 to 65536. Default: 2. A number above the machine's number of CPUs means all CPUs.
  container_options& cpus(double count) {
    if (!(count >= 0.01) || !(count <= 65536)) throw detail::bad_option("cpus must be a number from 0.01 to 65536");
    cpus_ = count;
    return *this;
  }

  /// Sets the limit of processes and threads in the container. The warden's few processes count too.
  /// \param count  from 8 to 4194304. Default: 256.
  container_options& pids(std::uint64_t count) {
    if (count < 8 || count > 4'194'304) throw detail::bad_option("pids must be a number from 8 to 4194304");
    pids_ = count;
    return *this;
  }

  /// Sets the network of the container.
  /// \param name  `none` (the default), `bridge`, or the name of a network of the daemon. The network of the host or of
  ///              another container is refused.
  container_options& network(std::string_view name) {
    if (name == "host" || !detail::is_engine_name(name))
      throw detail::bad_option(
          "network " + detail::quoted(name) +
          " is not allowed; use none, bridge, or the name of a network that you created for containers");
    network_ = std::string(name);
    return *this;
  }

  /// Adds a name server, which replaces those of the daemon's machine. Needs a `network`.
  /// \param address  an IP address, such as `1.1.1.1`.
  container_options& dns(std::string_view address) {
    detail::require_address(address, "dns");
    dns_.emplace_back(address);
    return *this;
  }

  /// Adds a host name to the container's /etc/hosts.
  /// \param name     letters, digits, '.', '-' and '_', at most 253 bytes.
  /// \param address  an IP address, or `host-gateway`: the daemon's machine as the container's network reaches it.
  container_options& extra_host(std::string_view name, std::string_view address) {
    const auto is_plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
             c == '_';
    };
    if (name.empty() || name.size() > 253 || !std::all_of(name.begin(), name.end(), is_plain))
      throw detail::bad_option("extra_host " + detail::quoted(name) +
                               ": a host name has letters, digits, '.', '-' and '_', at most 253 of them");
    if (address != "host-gateway") detail::require_address(address, "extra_host " + detail::quoted(name));
    extra_hosts_.push_back(std::string(name) + ":" + std::string(address));
    return *this;
  }

  /// Gives the container GPUs of the daemon's machine. Needs the vendor's container toolkit there; otherwise `open()`
  /// throws error{exec_errc::unsupported}. Commands then reach the kernel's GPU driver, which is outside of the walls.
  /// \param which  `all`, a number such as `2`, or `device=0,2`, as for `docker run --gpus`.
  container_options& gpus(std::string_view which) {
    gpus_.emplace(which);
    return *this;
  }

  /// Sets the maximum size of /dev/shm, the shared memory of processes, which counts against the limit `memory()`.
  /// \param bytes  at least 4096. Default: 64 MiB, but at most an eighth of `memory()`.
  container_options& shm_size(std::uint64_t bytes) {
    if (bytes < 4096 || bytes > max_bytes) throw detail::bad_option("shm_size must be at least 4096 bytes");
    shm_size_ = bytes;
    return *this;
  }

  /// Makes the image's files writable, within their permissions. The workspace is then on the container's disk.
  /// Default: the image is read-only, and the workspace and /tmp are in memory, unless a tmpfs or a mount is at their
  /// path.
  container_options& writable_root() {
    read_only_root_ = false;
    return *this;
  }

  /// Sets the maximum size of a workspace that is in memory. The content counts against the limit `memory()`. /tmp may
  /// have half of this size.
  /// \param bytes  at least 4096. Default: half of `memory()`.
  container_options& workspace_size(std::uint64_t bytes) {
    if (bytes < 4096 || bytes > max_bytes) throw detail::bad_option("workspace_size must be at least 4096 bytes");
    workspace_size_ = bytes;
    return *this;
  }

  /// Adds an in-memory file system.
  /// \throws error{exec_errc::invalid_argument} if its path already has a mount.
  container_options& tmpfs(tmpfs_mount entry) {
    require_free(entry.target());
    tmpfs_.push_back(std::move(entry));
    return *this;
  }

  /// Mounts an empty in-memory file system of at most `volume_size()` bytes, in which programs can be executed. It may
  /// replace a VOLUME of the image.
  /// \param target  absolute path in the container.
  /// \throws error{exec_errc::invalid_argument} for an invalid path, or a path that already has a mount.
  container_options& tmpfs(std::string_view target) { return tmpfs(tmpfs_mount(target).executable()); }

  /// Mounts a folder on the **daemon's disk, without a limit of size**. The folder contains the image's content of that
  /// path, and is removed with the container. Use this for a VOLUME of the image that is too large for memory.
  ///
  /// Without this setting, a VOLUME is in memory, with the mode and owner that its folder has in the image. All VOLUMEs
  /// together have `volume_size()` bytes for the image's content and new files. If the image's content does not fit,
  /// `open` throws error{exec_errc::too_large}.
  /// \param target  absolute path in the container.
  /// \throws error{exec_errc::invalid_argument} for an invalid path, or a path that already has a mount.
  container_options& volume(std::string_view target) {
    std::string path = detail::guest_path(target, "the path of a volume");
    require_free(path);
    volumes_.push_back(std::move(path));
    return *this;
  }

  /// Adds a mount of a folder or a volume.
  /// \throws error{exec_errc::invalid_argument} if its path already has a mount.
  container_options& add(mount entry) {
    require_free(entry.target());
    mounts_.push_back(std::move(entry));
    return *this;
  }

  /// Sets the OCI runtime that runs the container.
  /// \param name  the name of a runtime that the daemon is configured with, such as `runsc`. Default: the daemon's
  ///              default.
  container_options& runtime(std::string_view name) {
    if (!detail::is_engine_name(name))
      throw detail::bad_option("runtime " + detail::quoted(name) + " is not a valid name");
    runtime_ = std::string(name);
    return *this;
  }

  /// Sets a label of the container.
  /// \param key  must not start with `cofferdam.`, the prefix of the labels with which this library marks its
  ///             containers.
  /// \param value  any text.
  container_options& label(std::string_view key, std::string_view value) {
    detail::require_text(key, "the name of a label");
    detail::require_text(value, "the value of the label " + detail::quoted(key));
    const bool plain = !key.empty() && key.size() <= 256 && std::none_of(key.begin(), key.end(), [](char c) {
      return static_cast<unsigned char>(c) <= ' ' || c == '=' || c == '\x7f';
    });
    if (!plain)
      throw detail::bad_option("label " + detail::quoted(key) +
                               ": the name of a label must not be empty and must not contain blanks or '='");
    std::string lower(key.substr(0, detail::own_label_prefix.size()));
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (lower == detail::own_label_prefix)
      throw detail::bad_option("label " + detail::quoted(key) +
                               ": names that start with cofferdam. are reserved for the library");
    labels_.insert_or_assign(std::string(key), std::string(value));
    return *this;
  }

  /// Sets the platform of the image: operating system and processor architecture.
  /// \param name  `linux`, `linux/arm64` or `linux/arm/v7`, for example. Default: the daemon's own platform.
  container_options& platform(std::string_view name) {
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '/';
    });
    if (!plain || !name.starts_with("linux") || (name.size() > 5 && name[5] != '/') || name.ends_with('/') ||
        name.find("//") != std::string_view::npos || std::count(name.begin(), name.end(), '/') > 2)
      throw detail::bad_option("platform " + detail::quoted(name) + " must have the form linux/amd64 or linux/arm/v7");
    platform_ = std::string(name);
    return *this;
  }

  /// Sets when an image is pulled from its registry. Default: `pull_policy::missing`.
  container_options& pull(pull_policy when) {
    pull_ = when;
    return *this;
  }

  const std::string& user() const noexcept { return user_; }
  const std::string& working_directory() const noexcept { return working_directory_; }
  std::uint64_t memory() const noexcept { return memory_; }
  double cpus() const noexcept { return cpus_; }
  std::uint64_t pids() const noexcept { return pids_; }
  const std::string& network() const noexcept { return network_; }
  const std::vector<std::string>& dns() const noexcept { return dns_; }
  /// Returns the host names that `extra_host` has added, as `NAME:ADDRESS`.
  const std::vector<std::string>& extra_hosts() const noexcept { return extra_hosts_; }
  const std::optional<gpu_choice>& gpus() const noexcept { return gpus_; }
  /// Returns true if the size of /dev/shm was set.
  bool has_shm_size() const noexcept { return shm_size_ != 0; }
  std::uint64_t shm_size() const noexcept {
    return shm_size_ != 0 ? shm_size_ : std::min<std::uint64_t>(std::uint64_t{64} << 20, memory_ / 8);
  }
  /// Returns true if the container's root file system is read-only.
  bool has_read_only_root() const noexcept { return read_only_root_; }
  std::uint64_t workspace_size() const noexcept { return workspace_size_ != 0 ? workspace_size_ : memory_ / 2; }
  /// Returns the maximum size, in bytes, of all VOLUMEs of an image together: an eighth of the memory limit.
  std::uint64_t volume_size() const noexcept { return memory_ / 8; }
  const std::vector<tmpfs_mount>& tmpfs() const noexcept { return tmpfs_; }
  /// Returns the paths that were set by `volume()`.
  const std::vector<std::string>& volumes() const noexcept { return volumes_; }
  /// Returns the mounts in the order in which they were added.
  const std::vector<mount>& mounts() const noexcept { return mounts_; }
  const std::string& runtime() const noexcept { return runtime_; }
  /// Returns the labels of the container, by name.
  const std::map<std::string, std::string>& labels() const noexcept { return labels_; }
  const std::string& platform() const noexcept { return platform_; }
  pull_policy pull() const noexcept { return pull_; }

  /// Returns true if the options contain a mount, tmpfs or volume at exactly this path.
  bool has_at(std::string_view target) const {
    const auto is_there = [target](const auto& entry) { return entry.target() == target; };
    return std::any_of(tmpfs_.begin(), tmpfs_.end(), is_there) ||
           std::any_of(mounts_.begin(), mounts_.end(), is_there) ||
           std::find(volumes_.begin(), volumes_.end(), target) != volumes_.end();
  }

  /// Returns the environment variables as `NAME=value`, sorted by name.
  /// \param host     supplies the values of the environment variables that were added by `forward_variable`.
  /// \param missing  receives the names of those of these variables that are not set in `host`; may be null.
  /// \throws         error{exec_errc::invalid_argument} if a forwarded value is not UTF-8 or contains a NUL byte.
  std::vector<std::string> environment(const detail::host_view& host,
                                       std::vector<std::string>* missing = nullptr) const {
    std::vector<std::string> assignments;
    for (const auto& [name, given] : variables_) {
      const std::optional<std::string> value = given ? given : host.variable(name);
      if (!value) {
        if (missing != nullptr) missing->push_back(name);
        continue;
      }
      detail::require_text(*value, "the value of the variable " + detail::quoted(name));
      assignments.push_back(name + "=" + *value);
    }
    return assignments;
  }

 private:
  static constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;

  static void require_variable(std::string_view name) {
    detail::require_text(name, "the name of a variable");
    const bool plain = !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
      return c == '=' || static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    });
    if (!plain) throw detail::bad_option("invalid name of a variable: " + detail::quoted(name));
  }

  void require_free(const std::string& target) const {
    if (has_at(target)) throw detail::bad_option("two mounts have the same target, " + detail::quoted(target));
  }

  std::string user_;
  std::string working_directory_ = "/workspace";
  std::map<std::string, std::optional<std::string>> variables_;
  std::uint64_t memory_ = std::uint64_t{1} << 30;
  double cpus_ = 2;
  std::uint64_t pids_ = 256;
  std::string network_ = "none";
  std::vector<std::string> dns_;
  std::vector<std::string> extra_hosts_;
  std::optional<gpu_choice> gpus_;
  std::uint64_t shm_size_ = 0;
  bool read_only_root_ = true;
  std::uint64_t workspace_size_ = 0;
  std::vector<tmpfs_mount> tmpfs_;
  std::vector<mount> mounts_;
  std::vector<std::string> volumes_;
  std::string runtime_;
  std::map<std::string, std::string> labels_;
  std::string platform_;
  pull_policy pull_ = pull_policy::missing;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker
