// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/jail_cover_watch.hpp>
#include <cofferdam/backends/detail/jail_mounts.hpp>
#include <cofferdam/backends/detail/jail_overlap.hpp>
#include <cofferdam/backends/detail/jail_protection.hpp>
#include <cofferdam/backends/detail/jail_python.hpp>
#include <cofferdam/backends/detail/jail_settings.hpp>
#include <cofferdam/backends/detail/jail_sources.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/os/control_group.hpp>
#include <cofferdam/detail/os/process_table.hpp>
#include <cofferdam/detail/os/shown_file.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
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
    if (!settings.limits.workspace_size) workspace_ = workspace;
    workspace_place_ = settings.workspace_path;
    add_changeable(settings, workspace);
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
    // Otherwise commands could change the settings of their namespaces, such as the highest process number.
    add("--ro-bind", "/proc/sys", "/proc/sys");
    read_only_.emplace_back("/proc/sys");
    // The kernel lists the names of the keys of this user there, also those that were added outside.
    for (const char* keys : {"/proc/keys", "/proc/key-users"})
      if (::access(keys, F_OK) == 0) add("--ro-bind", "/dev/null", keys);
    own_.insert(own_.end(), {"/proc", "/dev", "/tmp"});
    const std::string size = std::to_string(settings.limits.max_temporary_size());
    for (const char* folder : {"/tmp", "/dev/shm"}) {
      add("--perms", "1777", "--size", size, "--tmpfs", folder);
      writable_.emplace_back(folder);
    }
    writable_.insert(writable_.end(), {"/proc", "/dev/pts", "/dev/console"});
    for (const char* device : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"})
      writable_.emplace_back(device);
    for (const python_folder& folder : host_python_folders(changeable_)) add_python(settings, folder);
    add_mounts(settings, workspace, user);
    for (const protected_path& each : protections) add_protection(settings, workspace, each);
    std::vector<std::filesystem::path> hidden = settings.hidden;
    std::sort(hidden.begin(), hidden.end());  // folders before the files in them, which then need no cover
    for (const std::filesystem::path& each : hidden) add_hidden(settings, workspace, each);
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
  /// The files and folders that `hide` names. No path in the jail may show them.
  const std::vector<hidden_file>& hidden() const noexcept { return hidden_; }
  /// Paths at which something is visible: mount points, their parents, links.
  const std::vector<std::string>& visible() const noexcept { return own_; }

 private:
  static constexpr const char* warden_path = "/.warden";
  // Each takes a descriptor, and those of bubblewrap end below `spawn_request::first_borrowable`.
  static constexpr std::size_t max_copies = 24;
  static constexpr std::size_t max_in_folder = 8;

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
    shown_.emplace_back(path, path);
    own_.push_back(path);
  }

  /// Records the folders that commands may change, without links, and perhaps have changed in an earlier jail.
  void add_changeable(const jail_settings& settings, const std::filesystem::path& workspace) {
    const auto add_folder = [this](const std::filesystem::path& folder) {
      if (folder.empty()) return;
      changeable_.push_back(folder);
      std::error_code failure;
      std::filesystem::path real = std::filesystem::canonical(folder, failure);
      if (!failure && real != folder) changeable_.push_back(std::move(real));
    };
    add_folder(workspace);
    add_folder(settings.workspace);
    for (const jail_mount& each : settings.mounts)
      if (each.is_writable) add_folder(each.path);
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

  /// Only folders that every user can reach are shown. A command of an earlier jail may have changed what is in a
  /// folder that it could write to: a folder in the workspace must not lead out of it, and a virtual environment there
  /// leads only to installations that belong to root, or that the user has named.
  void add_python(const jail_settings& settings, const python_folder& found) {
    const std::filesystem::path& folder = found.path;
    std::error_code failure;
    const std::filesystem::path real = std::filesystem::canonical(folder, failure);
    if (failure) return;
    const auto leads_out = [&](const std::filesystem::path& writable) {
      return is_within(folder, writable) && !is_within(real, writable);
    };
    if (std::any_of(changeable_.begin(), changeable_.end(), leads_out)) return;
    if (!found.named_by.empty() && !belongs_to_root(real)) {
      const auto names = [&](const jail_mount& each) {
        return is_within(real, each.path) || is_within(folder, each.path);
      };
      if (std::any_of(settings.mounts.begin(), settings.mounts.end(), names)) return;  // shown by that mount
      throw error(exec_errc::provider_failed,
                  "jail: '" + one_line(found.named_by.string()) +
                      "' is in a folder that commands can change, and names '" + one_line(real.string()) +
                      "' as the folder of python3. A command may have written that. If it is the right one, add "
                      "mount_read_only(\"" +
                      one_line(real.string()) +
                      "\"); otherwise take the virtual environment from the variables PATH and VIRTUAL_ENV");
    }
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
    source.file = open_source(real, false);
    if (!source.file) return;  // replaced meanwhile
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
      if (!each->is_writable && is_last) read_only_.push_back(each->path.string());
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

  /// Refuses a read-only mount of the workspace or of a part of it, which commands could change at the workspace's own
  /// path.
  void require_not_workspace(const jail_source& source) const {
    if (workspace_.empty() || is_within(source.place, workspace_place_)) return;
    std::error_code failure;
    const std::filesystem::path real = std::filesystem::canonical(source.place, failure);
    if (failure || !is_within(real, workspace_)) return;
    throw error(exec_errc::invalid_argument,
                "jail: " + source.call +
                    " has no effect, because commands can change the same files in the workspace, '" +
                    one_line(workspace_place_.string()) +
                    "'; use protect(NAME) for a part of the workspace, or leave out "
                    "mount_read_only() and set workspace_path(\"" +
                    one_line(workspace_.string()) + "\")");
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
    if (!each.is_writable) require_not_workspace(source);
    require_plain_place(path, source.call);
    keep_folders_of(path, source.call);
    add(each.is_writable ? "--bind" : "--ro-bind", path, path);
    source.is_changeable = each.is_writable || is_changeable(each.path);
    add_source(std::move(source));
    shown_.emplace_back(path, path);
    own_.push_back(path);
    if (each.is_writable) writable_.push_back(path);
  }

  /// Returns the last mount above a place; null if there is none.
  const jail_source* mount_above(const std::string& place) const {
    const jail_source* above = nullptr;
    for (const jail_source& each : sources_)
      if (each.place != place && is_within(place, each.place)) above = &each;
    return above;
  }

  /// Keeps commands from moving away a folder that contains a mount, and making another file at the mount's path. A
  /// folder that is mounted cannot be renamed. A folder that exists only in the jail cannot be mounted; if it is moved,
  /// no command begins any more. The mounts are added in the order of their paths, so this covers none of them.
  void keep_folders_of(const std::string& place, const std::string& call) {
    const jail_source* const above = mount_above(place);
    if (above == nullptr || !above->is_changeable) {
      if (workspace_.empty() && is_within(place, workspace_place_) && place != workspace_place_)
        covers_.push_back({place, call});
      return;
    }
    const std::string root = "/proc/self/fd/" + std::to_string(above->file.get());
    std::error_code failure;
    const std::filesystem::path host = std::filesystem::read_symlink(root, failure);
    const std::filesystem::path top = above->place;
    const std::filesystem::path folders = rest_beneath(place, top)->parent_path();
    std::filesystem::path rest;
    for (const std::filesystem::path& name : folders) {
      rest /= name;
      const unique_fd folder = open_beneath(above->file.get(), rest.string(), O_PATH | O_DIRECTORY,
                                            path_resolution::kernel, link_policy::refuse);
      if (!folder || failure) {
        covers_.push_back({place, call});
        return;
      }
      const std::string kept = (top / rest).string();
      if (std::any_of(covers_.begin(), covers_.end(), [&](const jail_cover& one) { return one.place == kept; }))
        continue;
      if (workspace_place_ == top) private_.push_back(arguments_.size() + 1);
      add("--bind", (host / rest).string(), kept);
      covers_.push_back({kept, call});
    }
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
      source.is_changeable = true;
      add_source(std::move(source));
      shown_.emplace_back(workspace, inside);
    }
    own_.push_back(inside);
    writable_.push_back(inside);
    if (is_used(settings, usual_workspace)) return;
    add("--symlink", settings.workspace_path, usual_workspace);
    own_.emplace_back(usual_workspace);
  }

  /// A later mount at the same place covers an earlier one.
  void add_source(jail_source source) {
    std::erase_if(sources_, [&source](const jail_source& each) { return each.place == source.place; });
    sources_.push_back(std::move(source));
  }

  void add_protection(const jail_settings& settings, const std::filesystem::path& workspace,
                      const protected_path& each) {
    const std::string inside = settings.workspace_path + "/" + each.path;
    require_plain_place(inside, "protect(\"" + one_line(each.path) + "\")");
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

  bool is_changeable(const std::filesystem::path& path) const {
    std::error_code failure;
    const std::filesystem::path real = std::filesystem::canonical(path, failure);
    const auto holds = [&](const std::filesystem::path& folder) { return is_within(real, folder); };
    return !failure && std::any_of(changeable_.begin(), changeable_.end(), holds);
  }

  /// Refuses a place with a symbolic link in a folder that commands can change. Bubblewrap makes a place that does not
  /// exist, and would follow the link out of the jail.
  /// \param place  absolute, as the jail names it.
  void require_plain_place(const std::string& place, const std::string& call) const {
    const jail_source* const above = mount_above(place);
    if (above == nullptr || !above->is_changeable) return;
    const std::filesystem::path rest = *rest_beneath(place, above->place);
    if (open_beneath(above->file.get(), rest.string(), O_PATH, path_resolution::kernel, link_policy::refuse)) return;
    if (errno != ELOOP) return;
    throw error(exec_errc::provider_failed, "jail: " + call + ": '" + one_line(place) +
                                                "' has a symbolic link in its path, in a folder that commands can "
                                                "change; remove the link, or name another path");
  }

  /// Covers a path of the host at each place at which the jail shows it. A path inside the workspace may also be named
  /// as the jail names it.
  void add_hidden(const jail_settings& settings, const std::filesystem::path& workspace,
                  const std::filesystem::path& path) {
    const std::filesystem::path inside = settings.workspace_path;
    const std::string call = "hide(\"" + one_line(path.string()) + "\")";
    std::error_code failure;
    if (const auto rest = rest_beneath(path, inside); rest && !settings.limits.workspace_size) {
      // A mount follows links, and its place must not be one.
      const std::filesystem::path found = std::filesystem::canonical(joined(workspace, *rest), failure);
      if (!failure) add_hidden(found, path, call);
    }
    const std::filesystem::path real = std::filesystem::canonical(path, failure);
    if (failure) {
      if (hidden_.empty() || hidden_.back().named != path) hidden_.push_back({path, call, {}, std::nullopt});
      return;
    }
    cover(real, std::filesystem::is_directory(real, failure), call);
    add_hidden(real, path, call);
  }

  /// \param real  the file or folder of this machine, without links.
  void add_hidden(const std::filesystem::path& real, const std::filesystem::path& named, const std::string& call) {
    hidden_file hidden{named, call, open_source(real, false), std::nullopt};
    const std::optional<shown_file> wanted = shown_file::of(hidden.file);
    if (!wanted)
      throw error(exec_errc::provider_failed, "jail: " + call + ": it cannot be examined: " +
                                                  std::error_code(errno, std::system_category()).message() +
                                                  "; keep other programs from the folders of its path");
    std::error_code failure;
    const bool is_folder = std::filesystem::is_directory(real, failure);
    const mount_table mounts(proc_text("/proc/self/mountinfo"));
    hidden.location = mounts.locate(real, wanted->mount);
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      for (const std::filesystem::path& rest : rests_in(shown_[i].first, real, hidden.location, mounts)) {
        const std::filesystem::path place = joined(shown_[i].second, rest);
        const auto covers = [&](const auto& later) { return is_within(place, later.second); };
        if (std::any_of(shown_.begin() + static_cast<std::ptrdiff_t>(i) + 1, shown_.end(), covers)) continue;
        const std::optional<shown_file> there = shown_file::of(open_source(joined(shown_[i].first, rest), true));
        if (there && there->is_same_file(*wanted)) cover(place, is_folder, call);
      }
    }
    hidden_.push_back(std::move(hidden));
  }

  /// Returns the paths beneath a folder of this machine at which another file may be seen: by its own path, or because
  /// the machine has mounted a folder at two places.
  static std::vector<std::filesystem::path> rests_in(const std::filesystem::path& folder,
                                                     const std::filesystem::path& file,
                                                     const std::optional<file_location>& location,
                                                     const mount_table& mounts) {
    std::vector<std::filesystem::path> rests;
    std::error_code failure;
    const std::filesystem::path real = std::filesystem::canonical(folder, failure);
    if (failure) return rests;
    if (auto rest = rest_beneath(file, real)) rests.push_back(std::move(*rest));
    if (!location) return rests;
    for (const std::filesystem::path& place : mounts.places_of(*location))
      if (auto rest = rest_beneath(place, real)) rests.push_back(std::move(*rest));
    return rests;
  }

  /// \param call  the option that needs it, for errors.
  void cover(const std::filesystem::path& place, bool is_folder, const std::string& call) {
    const std::string where = place.string();
    const auto is_it = [&](const jail_cover& each) {
      return each.place == where || (each.hides && is_within(place, each.place));
    };
    if (std::any_of(covers_.begin(), covers_.end(), is_it)) return;
    require_plain_place(where, call);
    covers_.push_back({where, call, true});
    if (is_folder) {
      add("--perms", "0555", "--size", "4096", "--tmpfs", where, "--remount-ro", where);
    } else {
      add("--ro-bind", "/dev/null", where);
    }
    own_.push_back(where);
    read_only_.push_back(where);
  }

  std::vector<std::string> arguments_;
  std::vector<std::string> files_;
  std::vector<std::string> writable_;
  std::vector<std::string> own_;
  std::vector<std::string> read_only_;
  std::vector<jail_source> sources_;
  std::vector<jail_cover> covers_;
  std::vector<hidden_file> hidden_;
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> shown_;  // a path of the host, and its place
  std::vector<std::filesystem::path> changeable_;
  std::filesystem::path workspace_;  // the host's folder; empty: in memory
  std::filesystem::path workspace_place_;
  std::vector<std::size_t> private_;  // the arguments that name a private folder or control group
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
