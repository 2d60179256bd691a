// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/listing_environment.hpp>
#include <cofferdam/core/transfer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// The head of one file in a stream of files.
class file_header {
 public:
  /// \param source       where it comes from, as its side names it (for reports only).
  /// \param destination  where it goes, relative to the root of the receiving side.
  /// \param type         a regular file or a directory.
  /// \param size         bytes, as known at the start; the content that follows decides.
  /// \param mode         permission bits, 0 to 0777.
  file_header(std::string source, std::string destination, file_type type, std::uint64_t size, unsigned mode)
      : source_(std::move(source)), destination_(std::move(destination)), type_(type), size_(size), mode_(mode) {}

  /// A file that cannot be sent: the receiver reports it and asks for the next.
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

/// A part of a regular file of this process's.
class file_range {
 public:
  file_range(int descriptor, std::uint64_t offset, std::uint64_t size)
      : descriptor_(descriptor), offset_(offset), size_(size) {}
  /// Open for reading; somebody else's, who keeps it open.
  int descriptor() const noexcept { return descriptor_; }
  std::uint64_t offset() const noexcept { return offset_; }
  std::uint64_t size() const noexcept { return size_; }

 private:
  int descriptor_;
  std::uint64_t offset_;
  std::uint64_t size_;
};

/// Files one after another, pulled by the side that writes them. Never more than one piece of one file in memory.
class file_source {
 public:
  file_source() = default;
  file_source(const file_source&) = delete;
  file_source& operator=(const file_source&) = delete;
  virtual ~file_source() = default;

  /// Goes on to the next file, past what was not read of this one; nothing at the end.
  virtual awaitable<std::optional<file_header>> next() = 0;
  /// At most `most` bytes of the current file; empty at its end. Throws `error` where it cannot be read on: the file
  /// has failed, and `next()` goes on.
  virtual awaitable<bytes> read(std::size_t most) = 0;
  /// Where all that is left of the current file lies in a descriptor, for who can send it from there; it counts as read,
  /// and stays open until `next()`. Nothing where it does not lie in one. Throws as `read`.
  virtual std::optional<file_range> take_range() { return std::nullopt; }
};

/// What to fetch, and under which name: for `get_files`.
class file_request {
 public:
  file_request(std::string path, std::string destination)
      : path_(std::move(path)), destination_(std::move(destination)) {}
  /// One regular file, relative to the workspace.
  const std::string& path() const noexcept { return path_; }
  /// What `file_header::destination` shall say.
  const std::string& destination() const noexcept { return destination_; }

 private:
  std::string path_;
  std::string destination_;
};

/// An environment that takes and gives many files of any size in one trip, streamed.
///
/// * `put_files(source)` writes each file whole or not at all, with its mode, makes missing folders, reports each
///   failure and goes on. The caller keeps `source` until the awaitable completes.
/// * `get_files(requests)` yields a source of those files in that order; it must not outlive the environment.
template <class E>
concept bulk_file_environment =
    code_exec_environment<E> && requires(E& e, file_source& source, std::vector<file_request> requests) {
      { e.put_files(source) } -> awaitable_of<transfer>;
      { e.get_files(std::move(requests)) } -> awaitable_of<std::unique_ptr<file_source>>;
    };

}  // namespace cofferdam::inline v0
