// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/tree_walk.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/types.h>
#include <sys/wait.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A list of work that destructors must not wait for: reaping killed processes and removing their directories. The
/// program has one such list, because child processes belong to the whole program. There is no thread for it. The work
/// is done when an environment is opened or closed, and at the end of the program, which waits at most one second for
/// the killed processes.
class reaper {
 public:
  static reaper& instance() {
    static reaper shared_reaper;
    return shared_reaper;
  }

  /// Adds a child process to reap. If memory is exhausted, waits for its end instead.
  /// \param pidfd  the pidfd of a child that was sent SIGKILL.
  void adopt(unique_fd pidfd) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      processes_.push_back(std::move(pidfd));
    } catch (const std::bad_alloc&) {
      siginfo_t info{};
      while (::waitid(wait_for_pidfd, static_cast<id_t>(pidfd.get()), &info, WEXITED) < 0 && errno == EINTR) {
      }
    }
  }

  /// Adds a directory to remove.
  /// \param folder  it is removed with its contents once all added processes have ended, because they could write
  ///                there.
  void adopt(std::filesystem::path folder) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      folders_.push_back(std::move(folder));
    } catch (const std::bad_alloc&) {
      static_cast<void>(removed(folder));
    }
  }

  /// Reaps ended processes, and removes directories if no process is left. Does not wait.
  void sweep() noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(processes_, [](const unique_fd& pidfd) { return reaped(pidfd); });
    if (!processes_.empty()) return;
    std::erase_if(folders_, [](const std::filesystem::path& folder) { return removed(folder); });
  }

  /// Returns the number of processes and directories that are still on the list.
  std::size_t pending() {
    const std::lock_guard lock(mutex_);
    return processes_.size() + folders_.size();
  }

  reaper(const reaper&) = delete;
  reaper& operator=(const reaper&) = delete;

 private:
  reaper() = default;
  ~reaper() {
    wait_for_the_killed();
    sweep();
  }

  /// Waits at most one second for the ends of the processes. The program is ending, so this is the last opportunity to
  /// remove their directories.
  void wait_for_the_killed() noexcept {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (const unique_fd& pidfd : processes_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      pollfd ended{pidfd.get(), POLLIN, 0};
      if (left.count() > 0) ::poll(&ended, 1, static_cast<int>(left.count()));
    }
  }

  /// Removes a directory. Returns false to try again later: no descriptor may be free, or a process may still write
  /// there.
  static bool removed(const std::filesystem::path& folder) noexcept {
    try {
      unique_fd above(::open(folder.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!above) return errno == ENOENT;
      tree_removal removal(std::move(above), folder.filename().native(), folder.native());
      while (!removal.step()) continue;
      return true;
    } catch (const error& failure) {
      return failure.code() == exec_errc::not_found;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  static bool reaped(const unique_fd& pidfd) noexcept {
    siginfo_t info{};
    const int result = ::waitid(wait_for_pidfd, static_cast<id_t>(pidfd.get()), &info, WEXITED | WNOHANG);
    return result < 0 ? errno != EINTR : info.si_pid != 0;
  }

  std::mutex mutex_;
  std::vector<unique_fd> processes_;
  std::vector<std::filesystem::path> folders_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
