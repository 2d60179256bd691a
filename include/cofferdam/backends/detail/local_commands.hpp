// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/protections.hpp>
#include <cofferdam/core/rethrow_cancellation.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/os/child_processes.hpp>
#include <cofferdam/os/command_keeper.hpp>
#include <cofferdam/os/file_reader.hpp>
#include <cofferdam/os/reaper.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>
#include <cofferdam/warden/start_warden.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// Who starts the commands of `local`.
enum class warden_policy {
  automatic,  ///< a warden; where none can be started this program itself, and the results' `walls()` say so
  require,    ///< a warden, or `open()` fails
  never,      ///< this program itself: what leaves its process group is not followed, and outlives a killed host
};

namespace detail {

/// A warden of ours, watched until it has ended.
class warden_child {
 public:
  explicit warden_child(unique_fd pidfd) : pidfd_(std::move(pidfd)) {}
  warden_child(warden_child&&) noexcept = default;
  warden_child& operator=(warden_child&&) noexcept = default;
  ~warden_child() {
    if (pidfd_) reaper::instance().adopt(std::move(pidfd_));  // its stream has ended: it goes when all else is gone
  }

  /// For one that has not started anything.
  void kill() noexcept {
    if (pidfd_) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  }

  /// Waits until it has ended. Its stream must have been closed.
  awaitable<void> ended() {
    if (!pidfd_) co_return;
    borrowed_descriptor watched(co_await asio::this_coro::executor);
    if (!watched.take(pidfd_.get())) co_return;  // the reaper has it
    for (;;) {
      if (reaped()) break;
      std::error_code woken;
      co_await watched.get().async_wait(asio::posix::stream_descriptor::wait_read,
                                        asio::redirect_error(asio::use_awaitable, woken));
      if (woken) co_return;  // the reaper has it
    }
    watched.give_back();
    pidfd_.reset();
  }

 private:
  /// Waits on a descriptor that is somebody else's, also where the waiting coroutine is thrown away.
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
    void give_back() {
      if (descriptor_.is_open()) descriptor_.release();
    }

   private:
    asio::posix::stream_descriptor descriptor_;
  };

  bool reaped() noexcept {
    siginfo_t info{};
    const int result =
        ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG);
    return result < 0 ? errno != EINTR : info.si_pid != 0;
  }

  unique_fd pidfd_;
};

/// The commands of a local environment: a warden's, or this program's own children.
class local_commands {
 public:
  /// \param folder  a private one.
  /// \param program  the path of a warden to use instead of the built-in one; empty: the built-in one.
  static awaitable<local_commands> open(asio::any_io_executor executor, command_settings settings, warden_policy policy,
                                        std::filesystem::path program, std::filesystem::path folder) {
    std::string why;
    if (policy != warden_policy::never) {
      reaper::instance().sweep();
      warden_child child{unique_fd()};
      std::exception_ptr failure;
      try {
        started_warden started = start(program, folder);
        child = warden_child(std::move(started.pidfd));
        warden_settings all;
        all.commands = settings;
        warden_session session = co_await warden_session::open(executor, std::move(started.socket), std::move(all));
        co_return local_commands(std::move(session), std::move(child));
      } catch (...) {
        failure = std::current_exception();
      }
      child.kill();
      const bool throws = co_await asio::this_coro::throw_if_cancelled();
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await shielded([&child] { return child.ended(); });
      co_await asio::this_coro::throw_if_cancelled(throws);
      why = reason_to_go_on(failure, policy);
    }
    protections walls;
    walls.set(protection::process_tree, why.empty() ? "process group" : "process group only, for " + why);
    settings.walls = std::make_shared<const protections>(std::move(walls));
    co_return local_commands(child_processes(std::move(executor), std::move(settings)));
  }

  awaitable<command_result> run(command c, spawn_request request) {
    if (auto* session = std::get_if<warden_session>(&commands_)) return session->run(std::move(c), std::move(request));
    return std::get<child_processes>(commands_).run(std::move(c), std::move(request));
  }

  awaitable<process> start(command c, spawn_request request) {
    if (auto* session = std::get_if<warden_session>(&commands_))
      return session->start(std::move(c), std::move(request));
    return std::get<child_processes>(commands_).start(std::move(c), std::move(request));
  }

  std::vector<background_command> background() const {
    if (const auto* session = std::get_if<warden_session>(&commands_)) return session->background();
    return {};
  }

  awaitable<void> end_background(std::uint32_t number) {
    if (auto* session = std::get_if<warden_session>(&commands_)) return session->end_background(number);
    throw error(errc::not_found, "end_background: nothing is left of a command " + std::to_string(number));
  }

  /// Ends everything and waits for that. This object stays until it is done.
  awaitable<void> close() {
    if (auto* session = std::get_if<warden_session>(&commands_)) {
      co_await session->close();
      co_await child_.ended();
    } else {
      co_await std::get<child_processes>(commands_).close();
    }
  }

  void abandon() noexcept {
    if (auto* session = std::get_if<warden_session>(&commands_))
      session->abandon();
    else
      std::get<child_processes>(commands_).abandon();
  }

 private:
  local_commands(warden_session session, warden_child child)
      : commands_(std::move(session)), child_(std::move(child)) {}
  explicit local_commands(child_processes children) : commands_(std::move(children)), child_(unique_fd()) {}

  /// Why there is no warden, where that is no reason to give up; else rethrows.
  static std::string reason_to_go_on(const std::exception_ptr& failure, warden_policy policy) {
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      if (policy == warden_policy::require || reason.code() != errc::provider_failed) throw;
      return reason.what();
    } catch (const std::system_error& reason) {
      rethrow_cancellation(reason, "open: cancelled while the warden was starting");
    }
  }

  static started_warden start(const std::filesystem::path& program, const std::filesystem::path& folder) {
    if (program.empty()) return start_warden(native_warden_image().program(), folder);
    const bytes content = file_reader::open_host(program.string()).read_rest(most_program);
    return start_warden({reinterpret_cast<const unsigned char*>(content.data()), content.size()}, folder);
  }

  static constexpr std::size_t most_program = 16 * 1024 * 1024;

  std::variant<child_processes, warden_session> commands_;
  warden_child child_;
};

}  // namespace detail
}  // namespace cofferdam::inline v0
