// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/detail/warden/start_warden.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/types.h>
#include <sys/wait.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_warden_child;
using warden_child = basic_warden_child<>;

/// A warden that this program has started, watched until it has ended. If another program started it behind walls, that
/// program is the one to reap, and it ends after the warden.
template <class Unused>
class basic_warden_child {
 public:
  basic_warden_child() = default;
  explicit basic_warden_child(started_warden& started)
      : pidfd_(std::move(started.pidfd)),
        inner_(std::move(started.inner_pidfd)),
        pid_(inner_ ? started.inner_pid : started.pid) {}
  basic_warden_child(basic_warden_child&&) noexcept = default;
  basic_warden_child& operator=(basic_warden_child&&) noexcept = default;
  ~basic_warden_child() {
    if (pidfd_) reaper::instance().adopt(std::move(pidfd_));  // its stream has ended: it exits after everything else
  }

  /// Returns the warden's process number.
  pid_t pid() const noexcept { return pid_; }
  /// Returns the descriptor of the warden's process, still owned.
  int descriptor() const noexcept { return inner_ ? inner_.get() : pidfd_.get(); }
  /// Returns false after it was reaped: another process may have its number then.
  bool is_there() const noexcept { return inner_ ? !has_ended(inner_) : static_cast<bool>(pidfd_); }
  /// Returns true if it has ended correctly: after all processes that it had started.
  bool is_sound() const noexcept { return is_sound_; }

  void kill() noexcept {
    if (inner_) signal_process(inner_.get(), SIGKILL);
    if (pidfd_ && !inner_) signal_process(pidfd_.get(), SIGKILL);
  }

  /// Waits until it has ended. Its stream must have been closed.
  /// \return false if it is still there at `until`.
  awaitable<bool> ended(std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max()) {
    if (!pidfd_) co_return true;
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto watched = std::make_shared<borrowed_descriptor>(executor);
    if (!watched->take(pidfd_.get())) co_return true;  // the reaper has it
    asio::steady_timer limit(executor, until);
    on_expiry(limit, [watched](std::error_code cancelled) {
      if (!cancelled) watched->stop();
    });
    bool is_over = reaped();
    while (!is_over && std::chrono::steady_clock::now() < until) {
      std::error_code woken;
      co_await watched->get().async_wait(asio::posix::stream_descriptor::wait_read,
                                         asio::redirect_error(await_in<Unused>, woken));
      is_over = reaped();
      if (woken && !is_over) break;  // the limit was reached, or the reaper has it
    }
    limit.cancel();
    watched->give_back();
    if (is_over) pidfd_.reset();
    co_return is_over;
  }

 private:
  /// Waits on a borrowed descriptor, and releases it even if the waiting coroutine is destroyed.
  class borrowed_descriptor {
   public:
    explicit borrowed_descriptor(const asio::any_io_executor& executor) : descriptor_(executor) {}
    borrowed_descriptor(const borrowed_descriptor&) = delete;
    borrowed_descriptor& operator=(const borrowed_descriptor&) = delete;
    ~borrowed_descriptor() { give_back(); }
    bool take(int fd) {
      std::error_code failure;
      descriptor_.assign(fd, failure);
      return !failure;
    }
    asio::posix::stream_descriptor& get() noexcept { return descriptor_; }
    void stop() {
      std::error_code ignored;  // no coroutine waits then
      if (descriptor_.is_open()) descriptor_.cancel(ignored);
    }
    void give_back() {
      if (descriptor_.is_open()) descriptor_.release();
    }

   private:
    asio::posix::stream_descriptor descriptor_;
  };

  /// The descriptor of a process becomes readable when the process has ended; of process 1 of a namespace, after all
  /// others in it.
  static bool has_ended(const unique_fd& process) noexcept {
    pollfd ready{process.get(), POLLIN, 0};
    return ::poll(&ready, 1, 0) > 0;
  }

  bool reaped() noexcept {
    siginfo_t info{};
    const int result = ::waitid(wait_for_pidfd, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG);
    if (result < 0) return errno != EINTR;
    if (info.si_pid == 0) return false;
    is_sound_ = info.si_code == CLD_EXITED && (!inner_ || has_ended(inner_));
    return true;
  }

  unique_fd pidfd_;
  unique_fd inner_;
  pid_t pid_ = 0;
  bool is_sound_ = true;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
