// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/os/unique_fd.hpp>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <sys/wait.h>

namespace cofferdam::inline v0::detail {

/// Takes over what a destructor may not wait for: killed processes that are not dead yet, and folders to be removed.
/// One for the whole program, since children belong to the whole program. It has no thread: it is swept when the next
/// environment opens or closes, and at the program's end.
class reaper {
 public:
  static reaper& instance() {
    static reaper one;
    return one;
  }

  /// \param pidfd  of a child that has been sent SIGKILL. Where there is no memory to write that down, waits for it.
  void adopt(unique_fd pidfd) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      processes_.push_back(std::move(pidfd));
    } catch (const std::bad_alloc&) {
      siginfo_t info{};
      while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.get()), &info, WEXITED) < 0 &&
             errno == EINTR) {
      }
    }
  }

  /// \param folder  removed with all it holds once no adopted process is left that could write there.
  void adopt(std::filesystem::path folder) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      folders_.push_back(std::move(folder));
    } catch (const std::bad_alloc&) {
      static_cast<void>(removed(folder));
    }
  }

  /// Reaps what has died and removes what may be removed. Does not wait.
  void sweep() noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(processes_, [](const unique_fd& pidfd) { return reaped(pidfd); });
    if (!processes_.empty()) return;
    std::erase_if(folders_, [](const std::filesystem::path& folder) { return removed(folder); });
  }

  /// How many processes and folders wait.
  std::size_t pending() {
    const std::lock_guard lock(mutex_);
    return processes_.size() + folders_.size();
  }

  reaper(const reaper&) = delete;
  reaper& operator=(const reaper&) = delete;

 private:
  reaper() = default;
  ~reaper() { sweep(); }

  /// What cannot be removed now is tried again: descriptors may be short, or somebody may still write there.
  static bool removed(const std::filesystem::path& folder) noexcept {
    try {
      std::error_code failure;
      std::filesystem::remove_all(folder, failure);
      return !failure;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  static bool reaped(const unique_fd& pidfd) noexcept {
    siginfo_t info{};
    const int result =
        ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.get()), &info, WEXITED | WNOHANG);
    return result < 0 ? errno != EINTR : info.si_pid != 0;
  }

  std::mutex mutex_;
  std::vector<unique_fd> processes_;
  std::vector<std::filesystem::path> folders_;
};

}  // namespace cofferdam::inline v0::detail
