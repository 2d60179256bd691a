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

/// Takes over work that a destructor must not wait for: killed processes that are not dead yet, and folders to remove.
/// The program has one, because children belong to the whole program. It has no thread. It is run when the next
/// environment opens or closes, and at the end of the program, which waits at most one second for the killed processes.
class reaper {
 public:
  static reaper& instance() {
    static reaper shared_reaper;
    return shared_reaper;
  }

  /// \param pidfd  of a child that was sent SIGKILL. If memory is exhausted, waits for the child.
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

  /// \param folder  removed with its contents once no adopted process is left that could write there.
  void adopt(std::filesystem::path folder) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      folders_.push_back(std::move(folder));
    } catch (const std::bad_alloc&) {
      static_cast<void>(removed(folder));
    }
  }

  /// Reaps dead processes and removes folders. Does not wait.
  void sweep() noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(processes_, [](const unique_fd& pidfd) { return reaped(pidfd); });
    if (!processes_.empty()) return;
    std::erase_if(folders_, [](const std::filesystem::path& folder) { return removed(folder); });
  }

  /// Returns the number of processes and folders that are still pending.
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

  /// Waits until the adopted processes are dead, at most one second. The program ends, so their folders must be removed
  /// now.
  void wait_for_the_killed() noexcept {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (const unique_fd& pidfd : processes_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      pollfd ended{pidfd.get(), POLLIN, 0};
      if (left.count() > 0) ::poll(&ended, 1, static_cast<int>(left.count()));
    }
  }

  /// A folder that cannot be removed now is tried again later: descriptors may be exhausted, or a process may still
  /// write there.
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
