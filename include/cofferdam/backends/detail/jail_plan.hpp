// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/jail_cover_watch.hpp>
#include <cofferdam/backends/detail/jail_protection.hpp>
#include <cofferdam/backends/detail/jail_python.hpp>
#include <cofferdam/backends/detail/jail_settings.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/os/control_group.hpp>
#include <cofferdam/detail/os/process_table.hpp>
#include <cofferdam/detail/os/shown_file.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The user of a jail, as the host counts.
class jail_user {
 public:
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool is_other = false;  ///< this program runs as root, and the jail's first process changes to this user

  /// The user of a jail of root, if the workspace has no other owner. No distribution assigns it.
  static constexpr std::uint32_t of_root = 60991;
};

/// The user and group inside. No process there has another.
inline constexpr const char* inside_id = "1000";

/// Chooses the user of a jail.
/// \param workspace  the directory that was named by `workspace()`; empty: a private one.
inline jail_user choose_jail_user(const std::filesystem::path& workspace) {
  jail_user user;
  user.uid = ::geteuid();
  user.gid = ::getegid();
  if (user.uid != 0) return user;
  user.uid = user.gid = jail_user::of_root;
  user.is_other = true;
  struct stat status {};
  if (!workspace.empty() && ::stat(workspace.c_str(), &status) == 0 && status.st_uid != 0) {
    user.uid = status.st_uid;
    user.gid = status.st_gid != 0 ? status.st_gid : jail_user::of_root;
  }
  return user;
}

/// Returns true if the modes of a file or folder let the user write there. Access lists are not considered.
inline bool may_write(const std::filesystem::path& path, const jail_user& user) {
  if (!user.is_other) return ::access(path.c_str(), W_OK) == 0;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  if (status.st_uid == user.uid) return (status.st_mode & S_IWUSR) != 0;
  if (status.st_gid == user.gid) return (status.st_mode & S_IWGRP) != 0;
  return (status.st_mode & S_IWOTH) != 0;
}

/// A file or folder of this machine that a jail must show at a place. While the descriptor is open, the numbers of the
/// file stay its own.
class jail_source {
 public:
  std::string place;  ///< absolute, as the jail names it
  std::string call;   ///< for errors, as in `mount_read_only("/srv/models")`
  unique_fd file;     ///< opened without rights to read or write
};

/// Opens a file or folder without rights to read or write. On failure returns an empty object and sets `errno`.
/// \param may_have_links  false: a symbolic link in the path is an error, ELOOP.
inline unique_fd open_source(const std::filesystem::path& path, bool may_have_links) {
  if (may_have_links) return unique_fd::above_standard(unique_fd(::open(path.c_str(), O_PATH | O_CLOEXEC)));
  const unique_fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return {};
  return unique_fd::above_standard(find_beneath(root, path.string(), link_policy::refuse));
}

/// The arguments of bubblewrap for one jail, and what must then be visible inside.
class jail_plan {
 public:
  /// The descriptors of bubblewrap. 3 is the warden's stream; those of `files` follow `block`.
  static constexpr int image = 4;
  static constexpr int filter = 5;
  static constexpr int info = 6;
  static constexpr int block = 7;
  static constexpr int first_file = 8;

  /// \param workspace  the host's folder, a path without links; empty if the workspace is kept in memory.
  /// \param group      the control group of the jail, or null.
  /// \throws error{exec_errc::provider_failed} for a path that does not exist or cannot be mounted;
  ///     error{exec_errc::invalid_argument} for options that contradict each other, and for a link to the root.
  jail_plan(const jail_settings& settings, const std::filesystem::path& workspace, const jail_user& user,
            const std::string& shell, const std::vector<protected_path>& protections, const control_group* group) {
    require_no_overlap(settings, workspace, protections);
    add("bwrap");
    for (const char* each : {"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup"})
      add(each);
    if (settings.network == network_policy::none) add("--unshare-net");
    // Without --die-with-parent, which would end the jail with the thread that opened it. The warden ends with its
    // stream.
    add("--disable-userns", "--as-pid-1", "--new-session", "--cap-drop", "ALL", "--clearenv");
    add("--hostname", "sandbox", "--uid", inside_id, "--gid", inside_id);
    add("--info-fd", std::to_string(info), "--block-fd", std::to_string(block));
    add_system();
    add_configuration(settings, shell);
    add("--proc", "/proc", "--dev", "/dev");
    own_.insert(own_.end(), {"/proc", "/dev", "/tmp"});
    const std::string size = std::to_string(settings.limits.max_temporary_size());
    for (const char* folder : {"/tmp", "/dev/shm"}) {
      add("--perms", "1777", "--size", size, "--tmpfs", folder);
      writable_.emplace_back(folder);
    }
    writable_.insert(writable_.end(), {"/proc", "/dev/pts", "/dev/console"});
    for (const char* device : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"})
      writable_.emplace_back(device);
    for (const std::filesystem::path& folder : host_python_folders()) add_python(settings, workspace, folder);
    add_mounts(settings, workspace, user);
    for (const protected_path& each : protections) add_protection(settings, workspace, each);
    for (const std::filesystem::path& each : settings.hidden) add_hidden(settings, workspace, each);
    if (group != nullptr) add_memory_events(*group);
    add("--perms", "0555", "--ro-bind-data", std::to_string(image), warden_path);
    own_.emplace_back(warden_path);
    add("--seccomp", std::to_string(filter));
    add("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--", warden_path, "3");
  }

  const std::vector<std::string>& arguments() const noexcept { return arguments_; }
  /// Returns the walls that are requested: the same text for all jails that differ only in their private folders.
  std::string requested() const {
    std::string text;
    for (const std::vector<std::string>* part : {&arguments_, &files_})
      for (std::size_t i = 0; i < part->size(); ++i) {
        const bool is_private = part == &arguments_ && std::count(private_.begin(), private_.end(), i) != 0;
        if (!is_private) text += (*part)[i];
        text += '\0';
      }
    return text;
  }
  /// The contents of small files, which bubblewrap reads from the descriptors from `first_file` on.
  const std::vector<std::string>& files() const noexcept { return files_; }
  /// Mount points that may be writable, with all that is beneath them.
  const std::vector<std::string>& writable() const noexcept { return writable_; }
  /// Paths at which the last mount must be read-only.
  const std::vector<std::string>& read_only() const noexcept { return read_only_; }
  /// The files and folders of this machine that must be visible, except those that `covers` hides.
  const std::vector<jail_source>& sources() const noexcept { return sources_; }
  /// The mounts that hide and protect names.
  const std::vector<jail_cover>& covers() const noexcept { return covers_; }
  /// Paths at which something is visible: mount points, their parents, links.
  const std::vector<std::string>& visible() const noexcept { return own_; }

 private:
  static constexpr const char* warden_path = "/.warden";
  // Each takes a descriptor, and those of bubblewrap end below `spawn_request::first_borrowable`.
  static constexpr std::size_t max_copies = 24;
  static constexpr std::size_t max_in_folder = 8;
  static constexpr off_t max_copy = 256 * 1024;

  template <class... Words>
  void add(const Words&... words) {
    (arguments_.emplace_back(words), ...);
  }

  /// Makes a file in the private root, which becomes read-only. Bubblewrap takes several times as long for a mount.
  void add_file(const std::string& path, std::string content) {
    add("--perms", "0444", "--file", std::to_string(first_file + static_cast<int>(files_.size())), path);
    files_.push_back(std::move(content));
    own_.push_back(path);
  }

  /// Shows the count of processes that the memory limit has ended, in which the warden and Python's driver look.
  void add_memory_events(const control_group& group) {
    const auto [file, inside] = group.memory_events();
    if (file.empty()) return;
    private_.push_back(arguments_.size() + 1);
    add("--ro-bind", file.string(), inside);
    own_.push_back(inside);
  }

  void show(const std::string& path) {
    add("--ro-bind", path, path);
    own_.push_back(path);
  }

  /// Shows a file or folder of the system, if there is one: files that all users may read, and folders of a few of
  /// them, by a copy; links to /usr by a link; everything else by a mount.
  void show_if_there(const std::string& path) {
    namespace fs = std::filesystem;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return;
    std::error_code failure;
    fs::path real(path);
    if (S_ISLNK(status.st_mode)) real = fs::canonical(path, failure);
    if (failure) return;
    if (real != path && is_within(real, "/usr")) {
      add("--symlink", real.string(), path);
      own_.push_back(path);
      return;
    }
    std::vector<fs::path> small{real};
    if (S_ISDIR(status.st_mode)) {
      small.clear();
      for (fs::directory_iterator each(real, failure), end; !failure && each != end && small.size() <= max_in_folder;
           each.increment(failure))
        small.push_back(each->path());
    }
    std::vector<std::string> contents;
    if (failure || small.size() > max_in_folder || files_.size() + small.size() > max_copies ||
        !copies_of(small, contents)) {
      show(path);
      return;
    }
    if (small.empty()) add("--dir", path);
    own_.push_back(path);
    for (std::size_t i = 0; i < small.size(); ++i)
      add_file(path + small[i].string().substr(real.string().size()), std::move(contents[i]));
  }

  /// Reads small files that every user may read. Returns false if one of them is anything else.
  static bool copies_of(const std::vector<std::filesystem::path>& paths, std::vector<std::string>& into) {
    for (const std::filesystem::path& path : paths) {
      struct stat status {};
      if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
      if ((status.st_mode & S_IROTH) == 0 || status.st_size > max_copy) return false;
      into.push_back(proc_text(path.string()));
    }
    return true;
  }

  void add_system() {
    show("/usr");
    for (const char* folder : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
      std::error_code failure;
      if (std::filesystem::is_symlink(folder, failure)) {
        std::string target = std::filesystem::read_symlink(folder, failure).string();
        if (failure) continue;
        add("--symlink", std::move(target), folder);
        own_.emplace_back(folder);
      } else if (std::filesystem::is_directory(folder, failure)) {
        show(folder);
      }
    }
  }

  /// Shows the files of /etc that programs need; none of them holds secrets.
  void add_configuration(const jail_settings& settings, const std::string& shell) {
    static constexpr auto shown = std::to_array<const char*>(
        {"/etc/alternatives",    "/etc/bash.bashrc",     "/etc/debian_version",  "/etc/fonts",      "/etc/inputrc",
         "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/ld.so.cache",     "/etc/ld.so.conf", "/etc/ld.so.conf.d",
         "/etc/locale.alias",    "/etc/localtime",       "/etc/magic",           "/etc/mime.types", "/etc/os-release",
         "/etc/pki/ca-trust",    "/etc/pki/tls/certs",   "/etc/profile",         "/etc/protocols",  "/etc/python3",
         "/etc/services",        "/etc/ssl/certs",       "/etc/ssl/openssl.cnf", "/etc/terminfo",   "/etc/timezone"});
    for (const char* path : shown) show_if_there(path);
    const std::string id(inside_id);
    add_file("/etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:" + id + ":" + id +
                                "::" + settings.workspace_path + ":" + shell +
                                "\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    add_file("/etc/group", "root:x:0:\nuser:x:" + id + ":\nnogroup:x:65534:\n");
    const bool has_network = settings.network == network_policy::host;
    add_file("/etc/nsswitch.conf",
             std::string("passwd: files\ngroup: files\nhosts: files") + (has_network ? " dns\n" : "\n"));
    add_file("/etc/hosts", has_network ? proc_text("/etc/hosts")
                                       : "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n");
    if (has_network) add_file("/etc/resolv.conf", proc_text("/etc/resolv.conf"));
  }

  /// Only folders that every user can reach are shown. A command of an earlier jail may have put a link into a folder
  /// that it could write to: a folder in the workspace must not lead out of it.
  void add_python(const jail_settings& settings, const std::filesystem::path& workspace,
                  const std::filesystem::path& folder) {
    std::error_code failure;
    const std::filesystem::path real = std::filesystem::canonical(folder, failure);
    if (failure) return;
    const auto leads_out = [&](const std::filesystem::path& writable) {
      return !writable.empty() && is_within(folder, writable) && !is_within(real, writable);
    };
    if (leads_out(workspace) || leads_out(settings.workspace)) return;
    for (const jail_mount& each : settings.mounts)
      if (each.is_writable && leads_out(each.path)) return;
    std::filesystem::path path;
    for (const std::filesystem::path& part : folder) {
      path /= part;
      struct stat status {};
      if (::stat(path.c_str(), &status) != 0) return;
      if ((status.st_mode & S_IXOTH) == 0 && status.st_uid != ::geteuid()) return;
      if ((status.st_mode & S_IXOTH) == 0 && ::geteuid() == 0) return;
    }
    jail_source source;
    source.place = folder.string();
    source.call = "the folder of python3, '" + one_line(source.place) + "'";
    source.file = open_source(folder, folder != real);
    const std::optional<shown_file> found = shown_file::of(source.file);
    const std::optional<shown_file> wanted = shown_file::of(open_source(real, false));
    if (!found || !wanted || !found->is_same_file(*wanted)) return;  // replaced meanwhile
    show(source.place);
    if (!is_within(folder, settings.workspace_path)) add_source(std::move(source));
  }

  /// Mounts the paths that the user has named, and the workspace. A later mount covers earlier ones at the same path
  /// and beneath it, so a folder comes before everything inside it.
  void add_mounts(const jail_settings& settings, const std::filesystem::path& workspace, const jail_user& user) {
    std::vector<jail_mount> mounts = settings.mounts;
    std::stable_sort(mounts.begin(), mounts.end(),
                     [](const jail_mount& a, const jail_mount& b) { return a.path < b.path; });
    const std::filesystem::path inside = settings.workspace_path;
    const auto below =
        std::find_if(mounts.begin(), mounts.end(), [&](const jail_mount& each) { return inside < each.path; });
    for (auto each = mounts.begin(); each != below; ++each) add_mount(*each, user);
    add_workspace(settings, workspace, user);
    for (auto each = below; each != mounts.end(); ++each) add_mount(*each, user);
    for (auto each = mounts.begin(); each != mounts.end(); ++each) {
      const bool is_last =
          std::none_of(each + 1, mounts.end(), [&](const jail_mount& later) { return later.path == each->path; });
      if (!each->is_writable && is_last && each->path != inside) read_only_.push_back(each->path.string());
    }
  }

  static std::string call_of(const jail_mount& each) {
    return std::string(each.is_writable ? "mount_writable" : "mount_read_only") + "(\"" + one_line(each.path.string()) +
           "\")";
  }

  /// Refuses mounts through which a command could change a protected name, or which would cover one.
  static void require_no_overlap(const jail_settings& settings, const std::filesystem::path& workspace,
                                 const std::vector<protected_path>& protections) {
    const auto touch = [](const std::filesystem::path& a, const std::filesystem::path& b) {
      return is_within(a, b) || is_within(b, a);
    };
    const std::filesystem::path inside = settings.workspace_path;
    const bool is_on_host = !settings.limits.workspace_size;
    for (const jail_mount& mount : settings.mounts) {
      std::error_code failure;
      const std::filesystem::path real = std::filesystem::canonical(mount.path, failure);
      const bool is_beneath = mount.path != inside && is_within(mount.path, inside);
      for (const protected_path& name : protections) {
        if (name.kind == protection_kind::parent) continue;
        const bool changes = !failure && mount.is_writable && is_on_host && touch(real, workspace / name.path);
        if (changes || (is_beneath && touch(mount.path, inside / name.path)))
          throw error(exec_errc::invalid_argument,
                      "jail: protect(\"" + one_line(name.path) + "\") and " + call_of(mount) +
                          " exclude each other, because both are about the same file or folder; mount a folder without "
                          "protected names, or use mount_read_only() for one that is outside the workspace");
      }
    }
  }

  /// Refuses what a link may lead to and an option may not name.
  static void require_mountable(const jail_source& source) {
    const unique_fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::optional<shown_file> of_root = shown_file::of(root);
    const std::optional<shown_file> file = shown_file::of(source.file);
    if (of_root && file && file->is_same_file(*of_root))
      throw error(exec_errc::invalid_argument,
                  "jail: " + source.call + ": it leads to the root of this machine; name folders beneath the root");
    std::error_code failure;
    const std::filesystem::path real =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(source.file.get()), failure);
    for (const char* own : {"/proc", "/dev"})
      if (!failure && is_within(real, own))
        throw error(exec_errc::invalid_argument, "jail: " + source.call + ": it leads to '" + one_line(real.string()) +
                                                     "', and the jail has its own /proc and /dev; name another folder");
  }

  void add_mount(const jail_mount& each, const jail_user& user) {
    const std::string path = each.path.string();
    jail_source source;
    source.place = path;
    source.call = call_of(each);
    const std::string call = "jail: " + source.call + ": ";
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) source.file = open_source(each.path, each.has_links);
    if (!source.file) {
      const std::error_code cause(errno, std::system_category());
      const char* const remedy = errno == ELOOP && !each.has_links
                                     ? "; a part of the path has become a symbolic link since the option was set; keep "
                                       "other programs from its folders, or name the path that is meant"
                                     : "; name a path that exists on this machine";
      throw error(exec_errc::provider_failed, call + cause.message() + remedy, cause);
    }
    require_mountable(source);
    if (each.is_writable && !may_write("/proc/self/fd/" + std::to_string(source.file.get()), user))
      throw error(exec_errc::provider_failed, call + "the jail's user (uid " + std::to_string(user.uid) +
                                                  ") cannot write there; change its owner or mode, or use "
                                                  "mount_read_only()");
    add(each.is_writable ? "--bind" : "--ro-bind", path, path);
    add_source(std::move(source));
    own_.push_back(path);
    if (each.is_writable) writable_.push_back(path);
  }

  void add_workspace(const jail_settings& settings, const std::filesystem::path& workspace, const jail_user& user) {
    const std::string& inside = settings.workspace_path;
    if (settings.limits.workspace_size) {
      add("--perms", "0700", "--size", std::to_string(*settings.limits.workspace_size), "--tmpfs", inside);
    } else {
      jail_source source;
      source.place = inside;
      source.call = "workspace(\"" + one_line(workspace.string()) + "\")";
      source.file = open_source(workspace, false);
      if (!source.file) {
        const std::error_code cause(errno, std::system_category());
        throw error(
            exec_errc::provider_failed,
            "jail: " + source.call + ": " + cause.message() + "; keep other programs from the folders of its path",
            cause);
      }
      require_mountable(source);
      if (!may_write("/proc/self/fd/" + std::to_string(source.file.get()), user))
        throw error(exec_errc::provider_failed,
                    "jail: the workspace '" + workspace.string() + "' is not writable for the jail's user (uid " +
                        std::to_string(user.uid) + "); change its owner or mode, or let the jail make one");
      if (settings.workspace.empty()) private_.push_back(arguments_.size() + 1);
      add("--bind", workspace.string(), inside);
      add_source(std::move(source));
    }
    own_.push_back(inside);
    writable_.push_back(inside);
  }

  /// A later mount at the same place covers an earlier one.
  void add_source(jail_source source) {
    std::erase_if(sources_, [&source](const jail_source& each) { return each.place == source.place; });
    sources_.push_back(std::move(source));
  }

  void add_protection(const jail_settings& settings, const std::filesystem::path& workspace,
                      const protected_path& each) {
    const std::string inside = settings.workspace_path + "/" + each.path;
    switch (each.kind) {
      case protection_kind::parent:
      case protection_kind::existing:
        if (settings.workspace.empty()) private_.push_back(arguments_.size() + 1);
        add(each.kind == protection_kind::parent ? "--bind" : "--ro-bind", (workspace / each.path).string(), inside);
        break;
      case protection_kind::empty_file:
        add("--perms", "0444", "--ro-bind-data", std::to_string(first_file + static_cast<int>(files_.size())), inside);
        files_.emplace_back();
        break;
      case protection_kind::empty_folder:
        add("--perms", "0555", "--size", "4096", "--tmpfs", inside, "--remount-ro", inside);
        break;
    }
    if (each.kind != protection_kind::parent) read_only_.push_back(inside);
    covers_.push_back({inside, "protect(\"" + one_line(each.path) + "\")"});
  }

  /// Covers a path of the host at each place at which the jail shows it. A path inside the workspace may also be named
  /// as the jail names it.
  void add_hidden(const jail_settings& settings, const std::filesystem::path& workspace,
                  const std::filesystem::path& path) {
    const std::filesystem::path inside = settings.workspace_path;
    const std::string call = "hide(\"" + one_line(path.string()) + "\")";
    std::error_code failure;
    if (const auto rest = rest_beneath(path, inside)) {
      // A mount follows links, and its place must not be one.
      const std::filesystem::path found = std::filesystem::canonical(workspace / *rest, failure);
      const auto found_rest = failure ? std::nullopt : rest_beneath(found, workspace);
      if (found_rest) cover(inside / *found_rest, std::filesystem::is_directory(found, failure), call);
    }
    const std::filesystem::path real = std::filesystem::canonical(path, failure);
    if (failure) return;
    const bool is_folder = std::filesystem::is_directory(real, failure);
    cover(real, is_folder, call);
    const auto cover_in = [&](const std::filesystem::path& source, const std::filesystem::path& shown_at) {
      std::error_code unreadable;
      const std::filesystem::path real_source = std::filesystem::canonical(source, unreadable);
      if (unreadable) return;
      if (const auto rest = rest_beneath(real, real_source))
        cover(rest->empty() ? shown_at : shown_at / *rest, is_folder, call);
    };
    for (const jail_mount& each : settings.mounts) cover_in(each.path, each.path);
    cover_in(workspace, inside);
  }

  /// \param call  the option that asks for it, for errors.
  void cover(const std::filesystem::path& place, bool is_folder, const std::string& call) {
    const std::string where = place.string();
    const auto is_it = [&where](const jail_cover& each) { return each.place == where; };
    if (std::any_of(covers_.begin(), covers_.end(), is_it)) return;
    covers_.push_back({where, call});
    if (is_folder) {
      add("--perms", "0555", "--size", "4096", "--tmpfs", where, "--remount-ro", where);
    } else {
      add("--ro-bind", "/dev/null", where);
    }
    own_.push_back(where);
    read_only_.push_back(where);
  }

  /// Returns the part of `path` beneath `folder`; empty if they are the same, no value if `path` lies elsewhere.
  static std::optional<std::filesystem::path> rest_beneath(const std::filesystem::path& path,
                                                           const std::filesystem::path& folder) {
    const auto [in_folder, in_path] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    if (in_folder != folder.end()) return std::nullopt;
    std::filesystem::path rest;
    for (auto each = in_path; each != path.end(); ++each) rest /= *each;
    return rest;
  }

  std::vector<std::string> arguments_;
  std::vector<std::string> files_;
  std::vector<std::string> writable_;
  std::vector<std::string> own_;
  std::vector<std::string> read_only_;
  std::vector<jail_source> sources_;
  std::vector<jail_cover> covers_;
  std::vector<std::size_t> private_;  // the arguments that name a private folder or control group
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
