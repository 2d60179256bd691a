// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The head of one file in a stream of files.
class file_header {
 public:
  /// \param source       the path on the sending side, for reports only.
  /// \param destination  the path relative to the root of the receiving side.
  /// \param type         a regular file or a directory.
  /// \param size         bytes, as known at the start. The content that follows may be longer or shorter.
  /// \param mode         permission bits, 0 to 0777.
  file_header(std::string source, std::string destination, file_type type, std::uint64_t size, unsigned mode)
      : source_(std::move(source)), destination_(std::move(destination)), type_(type), size_(size), mode_(mode) {}

  /// A file that cannot be sent. The receiver reports the failure and requests the next file.
  file_header(std::string source, error failure) : source_(std::move(source)), failure_(std::move(failure)) {}

  const std::string& source() const noexcept { return source_; }
  const std::string& destination() const noexcept { return destination_; }
  file_type type() const noexcept { return type_; }
  std::uint64_t size() const noexcept { return size_; }
  unsigned mode() const noexcept { return mode_; }
  const std::optional<error>& failure() const noexcept { return failure_; }

 private:
  std::string source_;
  std::string destination_;
  file_type type_ = file_type::other;
  std::uint64_t size_ = 0;
  unsigned mode_ = 0;
  std::optional<error> failure_;
};

/// A part of a regular file on this machine.
class file_range {
 public:
  file_range(int descriptor, std::uint64_t offset, std::uint64_t size)
      : descriptor_(descriptor), offset_(offset), size_(size) {}
  /// Returns a descriptor that is open for reading. The source of this range keeps it open.
  int descriptor() const noexcept { return descriptor_; }
  std::uint64_t offset() const noexcept { return offset_; }
  std::uint64_t size() const noexcept { return size_; }

 private:
  int descriptor_;
  std::uint64_t offset_;
  std::uint64_t size_;
};

/// A sequence of files, read by the receiver one after another. Holds at most one piece of one file in memory.
class file_source {
 public:
  file_source() = default;
  file_source(const file_source&) = delete;
  file_source& operator=(const file_source&) = delete;
  virtual ~file_source() = default;

  /// Moves on to the next file, and skips the unread rest of the current file. Returns no value at the end.
  virtual awaitable<std::optional<file_header>> next() = 0;
  /// Returns at most `max_bytes` bytes of the current file; empty at its end. Throws `error` if the file cannot be read
  /// further: the file has failed, and `next()` continues with the next file.
  virtual awaitable<bytes> read(std::size_t max_bytes) = 0;
  /// Returns the unread rest of the current file as a range of a descriptor, for a receiver that can send it directly.
  /// The range counts as read, and its descriptor stays open until `next()`. Returns no value if the rest is not in a
  /// descriptor. Throws as `read`.
  virtual std::optional<file_range> take_range() { return std::nullopt; }
};

/// A file to fetch, and its name on the receiving side: for `get_files`.
class file_request {
 public:
  file_request(std::string path, std::string destination)
      : path_(std::move(path)), destination_(std::move(destination)) {}
  /// Returns the path of a regular file, relative to the workspace.
  const std::string& path() const noexcept { return path_; }
  /// Returns the value for `file_header::destination`.
  const std::string& destination() const noexcept { return destination_; }

 private:
  std::string path_;
  std::string destination_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
