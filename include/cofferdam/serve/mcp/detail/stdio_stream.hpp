// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// Standard input or output as one direction of a stream. Operations wait without blocking the thread if the descriptor
/// can be polled; files and /dev/null are always ready. The flags of a pipe or terminal stay unchanged for other users
/// of the descriptor, if the system can open it a second time.
class standard_end {
 public:
  standard_end(const asio::any_io_executor& executor, int number, int flags) {
    struct stat what {};
    if (::fstat(number, &what) != 0) throw failed("it is closed", errno);
    const bool is_terminal = S_ISCHR(what.st_mode) && ::isatty(number) == 1;
    if (S_ISFIFO(what.st_mode) || is_terminal) {
      const std::string path = "/proc/self/fd/" + std::to_string(number);
      fd_.reset(::open(path.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    }
    if (!fd_) fd_.reset(::fcntl(number, F_DUPFD_CLOEXEC, 3));
    if (!fd_) throw failed("it cannot be duplicated", errno);
    fd_ = unique_fd::above_standard(std::move(fd_));
    if (S_ISREG(what.st_mode) || S_ISBLK(what.st_mode) || (S_ISCHR(what.st_mode) && !is_terminal)) return;
    waits_.emplace(executor, fd_.get());
    waits_->native_non_blocking(true);
  }
  standard_end(const standard_end&) = delete;
  standard_end& operator=(const standard_end&) = delete;
  ~standard_end() { close(); }

  int number() const noexcept { return fd_.get(); }
  bool is_open() const noexcept { return fd_.get() >= 0; }

  /// Waits until the descriptor is ready, after a read or write has failed with EAGAIN.
  awaitable<void> ready(bool to_read) {
    if (!waits_) throw failed("its readiness cannot be awaited", EAGAIN);
    std::error_code woken;
    const auto what = to_read ? asio::posix::descriptor_base::wait_read : asio::posix::descriptor_base::wait_write;
    co_await waits_->async_wait(what, asio::redirect_error(asio::use_awaitable, woken));
    if (woken && fd_) throw error(exec_errc::cancelled, "standard input and output: cancelled");
    if (!fd_) throw failed("it was closed", EBADF);
  }

  void close() noexcept {
    if (waits_) waits_->release();
    waits_.reset();
    fd_.reset();
  }

  static error failed(const char* why, int number) {
    return {exec_errc::io_error, std::string("standard input or output: ") + why,
            std::error_code(number, std::system_category())};
  }

 private:
  unique_fd fd_;
  std::optional<asio::posix::stream_descriptor> waits_;
};

/// The program's own standard input and output as one byte stream.
class stdio_stream final : public byte_stream::implementation {
 public:
  explicit stdio_stream(const asio::any_io_executor& executor)
      : in_(executor, STDIN_FILENO, O_RDONLY), out_(executor, STDOUT_FILENO, O_WRONLY) {}

  awaitable<std::size_t> read_some(std::span<std::byte> into) override {
    for (;;) {
      if (!in_.is_open()) throw standard_end::failed("it was closed", EBADF);
      const ssize_t count = ::read(in_.number(), into.data(), into.size());
      if (count >= 0) co_return static_cast<std::size_t>(count);
      if (errno == EINTR) continue;
      // EIO means that the session of the terminal has ended: the end of the input.
      if (errno == EIO) co_return 0;
      if (errno != EAGAIN) throw standard_end::failed("it cannot be read", errno);
      co_await in_.ready(true);
    }
  }
  awaitable<void> write(bytes_view data) override {
    while (!data.empty()) {
      if (!out_.is_open()) throw standard_end::failed("it was closed", EBADF);
      const ssize_t count = cofferdam::detail::write_without_sigpipe(out_.number(), data);
      if (count >= 0) {
        data = data.subspan(static_cast<std::size_t>(count));
      } else if (errno == EAGAIN) {
        co_await out_.ready(false);
      } else if (errno != EINTR) {
        throw standard_end::failed("it cannot be written", errno);
      }
    }
  }
  awaitable<void> shutdown_send() override {
    out_.close();
    co_return;
  }
  void close() noexcept override {
    in_.close();
    out_.close();
  }

 private:
  standard_end in_;
  standard_end out_;
};

/// A redirection of the program's standard descriptors. From `move_away` to the destructor, descriptor 0 is /dev/null
/// and descriptor 1 is a copy of 2. So output of the program and of its child processes does not mix with the protocol,
/// and no other code reads the protocol's input.
class standard_streams {
 public:
  standard_streams() : in_(saved(STDIN_FILENO)), out_(saved(STDOUT_FILENO)) {}
  standard_streams(const standard_streams&) = delete;
  standard_streams& operator=(const standard_streams&) = delete;
  ~standard_streams() {
    if (!moved_) return;
    ::dup2(in_.get(), STDIN_FILENO);
    ::dup2(out_.get(), STDOUT_FILENO);
  }

  /// Redirects descriptors 0 and 1. Call it once, after the `stdio_stream` was made: that stream has its own duplicates
  /// of the original descriptors.
  void move_away() {
    const unique_fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const bool has_errors = ::fcntl(STDERR_FILENO, F_GETFD) >= 0;
    if (!nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0 ||
        ::dup2(has_errors ? STDERR_FILENO : nothing.get(), STDOUT_FILENO) < 0)
      throw standard_end::failed("it cannot be redirected", errno);
    moved_ = true;
  }

 private:
  static unique_fd saved(int number) {
    unique_fd copy(::fcntl(number, F_DUPFD_CLOEXEC, 3));
    if (!copy) throw standard_end::failed("it is closed", errno);
    return copy;
  }

  unique_fd in_;
  unique_fd out_;
  bool moved_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
