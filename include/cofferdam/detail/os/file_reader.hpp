// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/os/detail/beneath.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A regular file that is read piece by piece. Made by `directory::open_file`.
///
/// A FIFO, device, socket or directory is refused without being opened for reading. Opening therefore never blocks, and
/// a process at the other end of a FIFO does not notice it. If the file grows or shrinks while it is read, `read`
/// returns its current content.
/// \par Threads  one at a time.
class file_reader {
 public:
  file_reader() = default;

  /// Opens the file at `path` beneath `root`.
  /// \param root   a descriptor of a directory, used only during the call; may have been opened with O_PATH.
  /// \param path   a path from `workspace_path`; also used in error messages.
  /// \param how    the method that keeps the path beneath `root`.
  /// \param links  the treatment of symbolic links in `path`.
  /// \throws error{exec_errc::not_found, not_a_file, not_a_directory, outside_workspace, permission_denied, io_error}.
  static file_reader open(int root, std::string path, path_resolution how, link_policy links = link_policy::follow) {
    struct stat status {};
    {
      const unique_fd probe = detail::open_beneath(root, path, O_PATH, how, links);
      if (!probe && errno == ELOOP && links == link_policy::refuse)
        throw error(exec_errc::not_a_file,
                    "read " + detail::shown_path(path) + ": it is a symbolic link, and links are not followed",
                    std::error_code(ELOOP, std::system_category()));
      if (!probe || ::fstat(probe.get(), &status) != 0) throw detail::path_error(errno, "read", path);
    }
    require_regular(status, path);
    unique_fd fd = detail::open_beneath(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, how, links);
    return file_reader(std::move(fd), std::move(path));
  }

  /// Opens a file of the host by an absolute or relative path. Symbolic links are followed, because the path comes from
  /// the caller.
  static file_reader open_host(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw detail::path_error(errno, "read", path);
    require_regular(status, path);
    return file_reader(unique_fd(detail::open_retried(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY)), path);
  }

  /// Takes ownership of a descriptor that was opened with O_NONBLOCK.
  /// \param fd    if it is empty, the constructor throws the error of `errno`.
  /// \param path  the file's path for error messages.
  /// \throws error{exec_errc::not_a_file} if it is not a regular file.
  file_reader(unique_fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {
    struct stat status {};
    if (!fd_ || ::fstat(fd_.get(), &status) != 0) throw detail::path_error(errno, "read", path_);
    require_regular(status, path_);
    size_ = static_cast<std::uint64_t>(status.st_size);
    mode_ = status.st_mode & 0777U;
  }

  /// Returns the size of the file in bytes at the time of opening.
  std::uint64_t size() const noexcept { return size_; }
  /// Returns the permission bits of the file, 0 to 0777, at the time of opening.
  unsigned mode() const noexcept { return mode_; }
  const std::string& path() const noexcept { return path_; }
  /// Returns the number of bytes read so far.
  std::uint64_t position() const noexcept { return position_; }
  /// Returns the descriptor, which the object still owns.
  int descriptor() const noexcept { return fd_.get(); }

  /// Reads the next bytes. The result is empty only at the end of the file.
  /// \param max_bytes  the maximum number of bytes, more than zero. The call may return fewer.
  /// \throws error{exec_errc::io_error} if reading fails.
  bytes read(std::size_t max_bytes) {
    bytes piece(std::min<std::uint64_t>(max_bytes, guess()));
    piece.resize(read_into(piece.data(), piece.size()));
    return piece;
  }

  /// Reads into the caller's memory until `max_bytes` bytes are read or the file ends. Returns the number of bytes; 0
  /// at the end.
  std::size_t read_into(std::byte* to, std::size_t max_bytes) {
    std::size_t done = 0;
    while (done < max_bytes) {
      const ssize_t count = ::read(fd_.get(), to + done, max_bytes - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw detail::path_error(errno, "read", path_);
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    position_ += done;
    return done;
  }

  /// Reads the rest of the file.
  /// \throws error{exec_errc::too_large} if the rest is longer than `max_bytes`. If the size at the time of opening
  ///     already exceeds it, nothing is read.
  bytes read_rest(std::size_t max_bytes) {
    if (size_ > position_ && size_ - position_ > max_bytes) throw larger_than(max_bytes);
    bytes content;
    for (;;) {
      std::size_t chunk_size = guess();
      // One byte more than allowed, to detect a file that is too long.
      if (max_bytes - content.size() < chunk_size) chunk_size = max_bytes - content.size() + 1;
      const std::size_t before = content.size();
      content.resize(before + chunk_size);
      const std::size_t count = read_into(content.data() + before, chunk_size);
      content.resize(before + count);
      if (content.size() > max_bytes) throw larger_than(max_bytes);
      if (count < chunk_size) return content;
    }
  }

  /// Returns the error for a file that is longer than the caller allows.
  error larger_than(std::uint64_t max_bytes) const {
    return error(exec_errc::too_large, "read " + detail::shown_path(path_) + ": longer than the limit of " +
                                           std::to_string(max_bytes) + " bytes");
  }

 private:
  static void require_regular(const struct stat& status, std::string_view path) {
    if (S_ISREG(status.st_mode)) return;
    const char* what = "a FIFO, socket or device";
    if (S_ISDIR(status.st_mode)) what = "a directory";
    if (S_ISLNK(status.st_mode)) what = "a symbolic link";
    throw error(exec_errc::not_a_file, "read " + detail::shown_path(path) + ": it is " + what + ", not a regular file");
  }

  // Returns the size for the next buffer: the known rest of the file, and one byte more to detect the end. At least 4
  // KiB, or 64 KiB if the file has grown; at most 1 MiB.
  std::uint64_t guess() const noexcept {
    constexpr std::uint64_t smallest = 4096;
    constexpr std::uint64_t largest = 1024 * 1024;
    const std::uint64_t left = size_ > position_ ? size_ - position_ + 1 : 0;
    return std::clamp(left, position_ > size_ ? 16 * smallest : smallest, largest);
  }

  unique_fd fd_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
  unsigned mode_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
