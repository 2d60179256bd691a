// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/list_options.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// What a name in a directory is. A symbolic link is reported as one, never as what it points at.
enum class file_type { regular, directory, symlink, other };

/// One name in the workspace.
class entry {
 public:
  entry() = default;
  entry(std::string path, file_type type, std::uint64_t size, unsigned mode)
      : path_(std::move(path)), type_(type), size_(size), mode_(mode) {}

  /// Relative to the workspace for `stat`, to the listed directory for `list`. Any bytes but NUL.
  const std::string& path() const noexcept { return path_; }
  file_type type() const noexcept { return type_; }
  bool is_directory() const noexcept { return type_ == file_type::directory; }
  bool is_regular() const noexcept { return type_ == file_type::regular; }
  /// Bytes in a regular file; 0 for everything else.
  std::uint64_t size() const noexcept { return size_; }
  /// The permission bits, 0 to 0777.
  unsigned mode() const noexcept { return mode_; }

 private:
  std::string path_;
  file_type type_ = file_type::other;
  std::uint64_t size_ = 0;
  unsigned mode_ = 0;
};

/// An environment with directory operations of its own. Callers use the free functions of `file_operations.hpp`, which
/// take these members where there are any and shell commands where there are not.
///
/// * `stat(path)`: `errc::not_found` where there is nothing. Does not follow a symbolic link at the end.
/// * `list(path, options)`: everything beneath, as deep as the options say, in byte order of the path; does not enter
///   symbolic links. More than the options allow is `errc::too_large`, as soon as it is seen.
/// * `make_directory(path)`: with its parents; no error where it is there already.
/// * `remove(path)`: a file, or a directory with all it holds; `errc::not_found` where there is nothing.
/// * `rename(from, to)`: replaces a file at `to`.
template <class E>
concept listing_environment =
    code_exec_environment<E> && requires(E& e, std::string path, std::string other, list_options options) {
      { e.stat(std::move(path)) } -> awaitable_of<entry>;
      { e.list(std::move(path), options) } -> awaitable_of<std::vector<entry>>;
      { e.make_directory(std::move(path)) } -> awaitable_of<void>;
      { e.remove(std::move(path)) } -> awaitable_of<void>;
      { e.rename(std::move(path), std::move(other)) } -> awaitable_of<void>;
    };

}  // namespace cofferdam::inline v0
