// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// An object that is notified when a command's stream can be read or written. The waiting code keeps it alive.
class end_listener {
 public:
  /// Reports that an output can be read, or has ended.
  /// \param index    0 for standard output, 1 for standard error.
  /// \param failure  an error code if waiting has failed; otherwise empty.
  virtual void output_ready(std::size_t index, std::error_code failure) = 0;
  /// Reports that the input can be written.
  /// \param failure  an error code if waiting has failed; otherwise empty.
  virtual void input_ready(std::error_code failure) = 0;

 protected:
  ~end_listener() = default;
};

/// This program's end of a command's standard output or standard error.
class output_end {
 public:
  output_end() = default;
  output_end(const output_end&) = delete;
  output_end& operator=(const output_end&) = delete;
  virtual ~output_end() = default;
  /// Reads available bytes without waiting. Returns their number; 0 at the end of the stream; -1 if nothing is
  /// available now.
  virtual ssize_t read(std::byte* to, std::size_t max_bytes) noexcept = 0;
  /// Returns the number of bytes that are available now.
  virtual std::size_t waiting() noexcept = 0;
  /// Calls `listener->output_ready(index)` once, as soon as output is available or the stream has ended. Does not call
  /// it after `close()`.
  virtual void wait(std::shared_ptr<end_listener> listener, std::size_t index) = 0;
  virtual void close() noexcept = 0;
};

/// This program's end of a command's standard input.
class input_end {
 public:
  input_end() = default;
  input_end(const input_end&) = delete;
  input_end& operator=(const input_end&) = delete;
  virtual ~input_end() = default;
  virtual bool is_open() const noexcept = 0;
  /// Writes bytes without waiting. Returns their number; -1 if there is no room now; -2 if the reading end is closed.
  virtual ssize_t write(bytes_view data) = 0;
  /// Calls `listener->input_ready` once, as soon as there is room. Does not call it after `close()`.
  virtual void wait(std::shared_ptr<end_listener> listener) = 0;
  virtual void close() noexcept = 0;
};

/// Transfers a descriptor to an Asio object. If this throws, `from` still owns the descriptor.
inline void hand_over(unique_fd& from, asio::posix::stream_descriptor& to) {
  to.assign(from.get());
  from.release();
}

/// The reading end of a pipe, or the master side of a terminal.
class descriptor_output final : public output_end {
 public:
  descriptor_output(const asio::any_io_executor& executor, unique_fd& fd) : descriptor_(executor) {
    hand_over(fd, descriptor_);
  }
  ssize_t read(std::byte* to, std::size_t max_bytes) noexcept override {
    ssize_t got = 0;
    do {
      got = ::read(descriptor_.native_handle(), to, max_bytes);
    } while (got < 0 && errno == EINTR);
    if (got >= 0) return got;
    return errno == EAGAIN ? -1 : 0;  // EIO means that no process has the terminal open any more
  }
  std::size_t waiting() noexcept override {
    int count = 0;
    ::ioctl(descriptor_.native_handle(), FIONREAD, &count);
    return static_cast<std::size_t>(std::max(count, 0));
  }
  void wait(std::shared_ptr<end_listener> listener, std::size_t index) override {
    on_readable(descriptor_, [listener = std::move(listener), index](std::error_code failure) {
      if (failure != asio::error::operation_aborted) listener->output_ready(index, failure);
    });
  }
  void close() noexcept override {
    std::error_code ignored;  // closing a reading end loses no data
    descriptor_.close(ignored);
  }

 private:
  asio::posix::stream_descriptor descriptor_;
};

/// A buffer for output that other code receives and passes to `arrived`. It has the bytes that were not read yet.
class buffered_output : public output_end {
 public:
  ssize_t read(std::byte* to, std::size_t max_bytes) noexcept final {
    const std::size_t count = std::min(max_bytes, waiting());
    if (count == 0) return ended_ ? 0 : -1;
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(begin_), count, to);
    begin_ += count;
    if (waiting() == 0) forget();
    on_taken(count);
    return static_cast<ssize_t>(count);
  }
  std::size_t waiting() noexcept final { return data_.size() - begin_; }
  void wait(std::shared_ptr<end_listener> listener, std::size_t index) final {
    on_wait();
    listener_ = std::move(listener);
    index_ = index;
    if (!ended_ && waiting() == 0) return;
    const std::weak_ptr<end_listener> is_there = listener_;
    post_callback(executor_, [this, is_there] {
      if (is_there.lock()) ready();  // if the listener still exists, this object does too, because the listener owns it
    });
  }
  void close() noexcept override {
    ended_ = true;
    forget();
    listener_.reset();
  }

  void arrived(bytes_view piece) {
    if (ended_) {  // the output is not read any more, so the bytes count as read
      on_taken(piece.size());
      on_wait();
      return;
    }
    data_.insert(data_.end(), piece.begin(), piece.end());
    ready();
  }
  void end() {
    ended_ = true;
    ready();
  }

 protected:
  explicit buffered_output(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  /// Called after `count` bytes were read from the buffer.
  virtual void on_taken(std::size_t count) noexcept = 0;
  /// Called when the reader begins to wait for more output.
  virtual void on_wait() {}

 private:
  void forget() noexcept {
    data_.clear();
    begin_ = 0;
  }
  void ready() {
    if (const std::shared_ptr<end_listener> listener = std::exchange(listener_, nullptr))
      listener->output_ready(index_, {});
  }

  asio::any_io_executor executor_;
  bytes data_;
  std::size_t begin_ = 0;
  std::shared_ptr<end_listener> listener_;
  std::size_t index_ = 0;
  bool ended_ = false;
};

/// The writing end of a pipe, or the master side of a terminal.
class descriptor_input final : public input_end {
 public:
  /// \param fd           the descriptor; if it is empty, the input is closed from the start.
  /// \param is_terminal  true for a terminal: `close()` then sends the end of the input as a control character.
  descriptor_input(const asio::any_io_executor& executor, unique_fd& fd, bool is_terminal = false)
      : descriptor_(executor), is_terminal_(is_terminal) {
    if (fd) hand_over(fd, descriptor_);
  }
  bool is_open() const noexcept override { return descriptor_.is_open(); }
  ssize_t write(bytes_view data) override {
    ssize_t written = 0;
    do {
      written = write_without_sigpipe(descriptor_.native_handle(), data);
    } while (written < 0 && errno == EINTR);
    if (written > 0) is_line_start_ = data[static_cast<std::size_t>(written) - 1] == std::byte{'\n'};
    if (written >= 0) return written;
    return errno == EAGAIN ? -1 : -2;
  }
  void wait(std::shared_ptr<end_listener> listener) override {
    on_writable(descriptor_, [listener = std::move(listener)](std::error_code failure) {
      if (failure != asio::error::operation_aborted) listener->input_ready(failure);
    });
  }
  void close() noexcept override {
    if (is_terminal_ && descriptor_.is_open()) {
      // A terminal interprets ^D as the end of the input only at the beginning of a line. In the middle of a line, a
      // first ^D passes the line on, and a second one ends the input. If there is no room for these characters, the
      // command is not reading its input, so they are left out.
      constexpr std::string_view ends = "\x04\x04";
      static_cast<void>(write(as_bytes(ends.substr(is_line_start_ ? 1 : 0))));
    }
    std::error_code ignored;  // errors when closing the writing end of a pipe do not matter here
    descriptor_.close(ignored);
  }

 private:
  asio::posix::stream_descriptor descriptor_;
  bool is_terminal_;
  bool is_line_start_ = true;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
