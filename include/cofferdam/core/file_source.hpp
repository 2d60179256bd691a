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

/// The description of one file in a sequence of files: its paths, type, size and mode. The content follows separately.
class file_header {
 public:
  /// Describes a file whose content follows.
  /// \param source       the path on the sending side; used for reports only.
  /// \param destination  the path on the receiving side, relative to the destination directory.
  /// \param type         the type of the entry: a regular file or a directory.
  /// \param size         the size in bytes when the transfer started. The content that follows may be longer or
  ///                     shorter.
  /// \param mode         the permission bits, 0 to 0777.
  file_header(std::string source, std::string destination, file_type type, std::uint64_t size, unsigned mode)
      : source_(std::move(source)), destination_(std::move(destination)), type_(type), size_(size), mode_(mode) {}

  /// Describes a file that cannot be sent. The receiver reports the failure and continues with the next file.
  /// \param source   the path on the sending side.
  /// \param failure  the error that prevents the transfer.
  file_header(std::string source, error failure) : source_(std::move(source)), failure_(std::move(failure)) {}

  /// Returns the path on the sending side.
  const std::string& source() const noexcept { return source_; }
  /// Returns the path on the receiving side, relative to the destination directory.
  const std::string& destination() const noexcept { return destination_; }
  /// Returns the type of the entry.
  file_type type() const noexcept { return type_; }
  /// Returns the size in bytes when the transfer started.
  std::uint64_t size() const noexcept { return size_; }
  /// Returns the permission bits, 0 to 0777.
  unsigned mode() const noexcept { return mode_; }
  /// Returns the error that prevents the transfer; absent if the file can be sent.
  const std::optional<error>& failure() const noexcept { return failure_; }

 private:
  std::string source_;
  std::string destination_;
  file_type type_ = file_type::other;
  std::uint64_t size_ = 0;
  unsigned mode_ = 0;
  std::optional<error> failure_;
};

/// A part of an open regular file on this machine.
class file_range {
 public:
  /// Refers to a part of the file behind a descriptor. `offset` and `size` are in bytes.
  file_range(int descriptor, std::uint64_t offset, std::uint64_t size)
      : descriptor_(descriptor), offset_(offset), size_(size) {}
  /// Returns a descriptor that is open for reading. The `file_source` that returned this range keeps it open.
  int descriptor() const noexcept { return descriptor_; }
  /// Returns the first byte of the part, counted from 0.
  std::uint64_t offset() const noexcept { return offset_; }
  /// Returns the number of bytes of the part.
  std::uint64_t size() const noexcept { return size_; }

 private:
  int descriptor_;
  std::uint64_t offset_;
  std::uint64_t size_;
};

/// A sequence of files that a receiver reads one after another. The implementations of the library hold only some
/// pieces of one file in memory, at most 4 MiB, except the source for an environment that reads only whole files.
class file_source {
 public:
  file_source() = default;
  file_source(const file_source&) = delete;
  file_source& operator=(const file_source&) = delete;
  virtual ~file_source() = default;

  /// Moves to the next file and returns its description. Skips the unread rest of the current file. Returns no value
  /// after the last file.
  virtual awaitable<std::optional<file_header>> next() = 0;
  /// Returns the next bytes of the current file, at most `max_bytes`; empty at the end of the file. Throws `error` if
  /// reading fails. The transfer of this file has then failed, and `next()` moves to the next file.
  virtual awaitable<bytes> read(std::size_t max_bytes) = 0;
  /// Returns the unread rest of the current file as a part of an open file, for a receiver that can send from a
  /// descriptor without a copy. The rest then counts as read. The descriptor stays open until the next call of
  /// `next()`. Returns no value if the content does not come from an open file. Throws `error` as `read` does.
  virtual std::optional<file_range> take_range() { return std::nullopt; }
};

/// A request of `get_files`: the file to fetch, and its name on the receiving side.
class file_request {
 public:
  /// Requests the file at `path` of the workspace; it arrives as `destination`.
  file_request(std::string path, std::string destination)
      : path_(std::move(path)), destination_(std::move(destination)) {}
  /// Returns the path of the requested regular file, relative to the workspace.
  const std::string& path() const noexcept { return path_; }
  /// Returns the path on the receiving side, which becomes `file_header::destination`.
  const std::string& destination() const noexcept { return destination_; }

 private:
  std::string path_;
  std::string destination_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
