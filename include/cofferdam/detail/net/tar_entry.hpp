// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The type of an entry in a tar archive.
enum class tar_type {
  regular,
  directory,
  symlink,
  hard_link,  ///< another name of an earlier file in the archive
  character_device,
  block_device,
  fifo,
  unknown,  ///< a type that POSIX leaves to other standards; it may have data
};

/// One entry of a tar archive, without its data: as read, or to be written.
///
/// An entry that was read is untrusted: its name may be absolute, contain `..`, or occur twice. `tar_names` decides
/// which entries may be used.
/// \par Source  POSIX pax(1), "ustar Interchange Format".
class tar_entry {
 public:
  tar_entry() = default;
  /// \param name  any bytes but NUL, not empty; `/`-separated. Without the `/` at the end that archives give
  ///              directories.
  tar_entry(std::string name, tar_type type) : name_(std::move(name)), type_(type) {}

  const std::string& name() const noexcept { return name_; }
  tar_type type() const noexcept { return type_; }

  /// \param target  the target of a symbolic link, relative to its own folder, or of a hard link, relative to the root
  ///                of the archive. Any bytes but NUL.
  tar_entry& link(std::string target) {
    link_ = std::move(target);
    return *this;
  }
  /// Returns the target; empty for everything but links.
  const std::string& link() const noexcept { return link_; }

  /// \param count  bytes of data; only a regular file (or an unknown type) has any.
  tar_entry& size(std::uint64_t count) {
    size_ = count;
    return *this;
  }
  std::uint64_t size() const noexcept { return size_; }

  /// \param bits  0 to 07777: permissions, and set-user-id, set-group-id, sticky. Default 0644.
  tar_entry& mode(unsigned bits) {
    mode_ = bits & 07777U;
    return *this;
  }
  unsigned mode() const noexcept { return mode_; }

  /// \param uid  numeric; names of users and groups are neither read nor written. Default 0 and 0.
  tar_entry& owner(std::uint64_t uid, std::uint64_t gid) {
    uid_ = uid;
    gid_ = gid;
    return *this;
  }
  std::uint64_t uid() const noexcept { return uid_; }
  std::uint64_t gid() const noexcept { return gid_; }

  /// \param seconds  since 1970-01-01 UTC, whole ones. Default 0.
  tar_entry& modified(std::int64_t seconds) {
    modified_ = seconds;
    return *this;
  }
  std::int64_t modified() const noexcept { return modified_; }

  bool operator==(const tar_entry&) const = default;

 private:
  std::string name_;
  std::string link_;
  tar_type type_ = tar_type::unknown;
  unsigned mode_ = 0644;
  std::uint64_t size_ = 0;
  std::uint64_t uid_ = 0;
  std::uint64_t gid_ = 0;
  std::int64_t modified_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
