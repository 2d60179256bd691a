// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/process_table.hpp>
#include <cofferdam/detail/os/shown_file.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A place in a jail at which a mount hides or protects a name.
class jail_cover {
 public:
  std::string place;   ///< absolute, as the jail names it
  std::string call;    ///< for errors, as in `hide("/srv/key")`
  bool hides = false;  ///< nothing of this machine is visible at the place and beneath it
};

/// The root of a jail, as this program reaches it. It stays usable when the jail's processes have ended.
class jail_root {
 public:
  /// \param first_process  process 1 of the jail, as the host counts.
  /// \throws error{exec_errc::provider_failed}.
  explicit jail_root(pid_t first_process) {
    const std::string folder = "/proc/" + std::to_string(first_process);
    // The kernel takes a mount namespace apart when its last user is gone. This file is a user.
    mounts_ = opened(folder + "/mountinfo", O_RDONLY);
    root_ = opened(folder + "/root", O_PATH | O_DIRECTORY);
  }

  const unique_fd& mounts() const noexcept { return mounts_; }

  /// Keeps file systems that this machine mounts from now on out of the jail. They appear where bubblewrap has bound a
  /// folder whose mount is shared, as all are under systemd. The jail has no rights to change that itself.
  /// \throws error{exec_errc::provider_failed}.
  void make_private(pid_t first_process) const {
    const std::string folder = "/proc/" + std::to_string(first_process);
    const std::string mounts = proc_text(folder + "/mountinfo");
    if (mounts.find(" master:") == std::string::npos && mounts.find(" shared:") == std::string::npos) return;
    const int failed = make_mounts_private(opened(folder + "/ns/mnt", O_RDONLY));
    if (failed == 0) return;
    const std::error_code cause(failed, std::system_category());
    throw error(
        exec_errc::provider_failed,
        "jail: its mounts cannot be made private: " + cause.message() +
            "; allow this program the call setns, or make the mounts of this machine private before (unshare -m)",
        cause);
  }

  /// Opens what the jail shows at a path, without rights to read or write. On failure returns an empty object and sets
  /// `errno`.
  /// \param place  absolute, as the jail names it.
  unique_fd find(const std::string& place, link_policy links) const { return find_beneath(root_, place, links); }

  /// Opens what a command in the jail finds at a path, also through links with an absolute target. On failure returns
  /// an empty object and sets `errno`. Without openat2(2), such links are not followed.
  unique_fd find_as_command(const std::string& path) const {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    unique_fd found(static_cast<int>(::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof how)));
    if (!found && (errno == ENOSYS || errno == EPERM)) return find(path, link_policy::follow);
    return found;
  }

 private:
  static unique_fd opened(const std::string& path, int flags) {
    unique_fd fd = unique_fd::above_standard(unique_fd(::open(path.c_str(), flags | O_CLOEXEC)));
    if (fd) return fd;
    const std::error_code cause(errno, std::system_category());
    throw error(exec_errc::provider_failed,
                "jail: '" + path + "' cannot be opened, so its mounts cannot be checked: " + cause.message(), cause);
  }

  unique_fd mounts_;
  unique_fd root_;
};

template <class = void>
class basic_jail_cover_watch;
using jail_cover_watch = basic_jail_cover_watch<>;

/// Watches the mounts that hide and protect names. The kernel removes such a mount when a program outside the jail
/// renames another file over the name or removes the file; and the mount goes along when a program moves the file. Then
/// the jail shows what is at the name now.
/// \par Source   proc_pid_mountinfo(5): a change of the mounts is an event of the file; namei.c, vfs_rename()
template <class Unused>
class basic_jail_cover_watch : public std::enable_shared_from_this<basic_jail_cover_watch<Unused>> {
 public:
  /// Records what the mounts show now. They must have been proven after that.
  /// \throws error{exec_errc::provider_failed} if a mount is absent.
  basic_jail_cover_watch(const asio::any_io_executor& executor, jail_root root, std::vector<jail_cover> covers)
      : root_(std::move(root)), descriptor_(executor) {
    for (jail_cover& each : covers) {
      const std::optional<shown_file> shown = shown_file::of(root_->find(each.place, link_policy::refuse));
      if (!shown) throw error(exec_errc::provider_failed, replaced(each) + "; " + advice);
      covers_.emplace_back(std::move(each), *shown);
    }
  }
  basic_jail_cover_watch(const basic_jail_cover_watch&) = delete;
  basic_jail_cover_watch& operator=(const basic_jail_cover_watch&) = delete;
  ~basic_jail_cover_watch() = default;

  /// Calls `on_loss` once, on the executor, soon after a mount has gone.
  /// \throws error{exec_errc::provider_failed} if the event loop cannot watch one more descriptor.
  void start(std::function<void(const error&)> on_loss) {
    std::error_code failure;
    const int fd = ::fcntl(root_->mounts().get(), F_DUPFD_CLOEXEC, 3);
    if (fd < 0) failure.assign(errno, std::system_category());
    if (!failure) descriptor_.assign(fd, failure);
    if (failure) {
      if (fd >= 0) ::close(fd);
      throw error(exec_errc::provider_failed, "jail: its mounts cannot be watched: " + failure.message(), failure);
    }
    on_loss_ = std::move(on_loss);
    wait();
  }

  /// Ends the watch. Later changes are not found.
  void stop() {
    on_loss_ = nullptr;
    std::error_code ignored;
    descriptor_.close(ignored);
    covers_.clear();
    root_.reset();
  }

  /// Returns the error that names the first mount that is gone; no value if all are in their places. The kernel reports
  /// no event if another program moves a covered file, because the mount goes along. So this is called before each
  /// operation; it takes about 15 us for each name, and a command takes milliseconds.
  std::optional<error> lost() {
    if (lost_) return lost_;
    const auto is_gone = [this](const auto& each) {
      return shown_file::of(root_->find(each.first.place, link_policy::refuse)) != each.second;
    };
    const auto found = std::find_if(covers_.begin(), covers_.end(), is_gone);
    if (found != covers_.end())
      lost_.emplace(exec_errc::environment_closed, replaced(found->first) + "; the jail was ended; " + advice);
    return lost_;
  }

 private:
  static constexpr const char* advice =
      "open another one, and change files that jails hide or protect while no jail is open";

  static std::string replaced(const jail_cover& cover) {
    return "jail: " + cover.call + ": another program has moved, replaced or removed '" + one_line(cover.place) +
           "', which no longer is covered";
  }

  /// The kernel reports each event once, also to the call that begins a wait. So the mounts are examined after that.
  void wait() {
    const std::weak_ptr<basic_jail_cover_watch> self = this->weak_from_this();
    on_exception(descriptor_, [self](std::error_code failure) {
      const std::shared_ptr<basic_jail_cover_watch> kept = self.lock();
      if (kept && !failure) kept->wait();
    });
    if (!on_loss_ || !lost()) return;
    const std::function<void(const error&)> on_loss = std::exchange(on_loss_, nullptr);
    std::error_code ignored;
    descriptor_.close(ignored);
    on_loss(*lost_);
  }

  std::optional<jail_root> root_;  // no value after `stop`: a descriptor of it keeps the jail's memory
  std::vector<std::pair<jail_cover, shown_file>> covers_;
  std::optional<error> lost_;
  std::function<void(const error&)> on_loss_;
  asio::posix::stream_descriptor descriptor_;  // another descriptor of the file in `root_`
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
