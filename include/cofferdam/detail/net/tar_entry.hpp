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
  unknown,  ///< a type that POSIX does not define; the entry may have data
};

/// One entry of a tar archive without its data, either read from an archive or to be written.
///
/// An entry that was read is untrusted: its name may be absolute, contain `..`, or occur twice. The class `tar_names`
/// decides which entries may be unpacked.
/// \par Source  POSIX pax(1), "ustar Interchange Format".
class tar_entry {
 public:
  tar_entry() = default;
  /// \param name  the components of the path, separated by `/`. Not empty; any bytes except NUL. A directory's name has
  ///              no `/` at its end, unlike in archives.
  tar_entry(std::string name, tar_type type) : name_(std::move(name)), type_(type) {}

  const std::string& name() const noexcept { return name_; }
  tar_type type() const noexcept { return type_; }

  /// Sets the target of a link.
  /// \param target  for a symbolic link, relative to the directory of the link; for a hard link, relative to the root
  ///                of the archive. Any bytes except NUL.
  tar_entry& link(std::string target) {
    link_ = std::move(target);
    return *this;
  }
  /// Returns the target of a link; empty for entries that are not links.
  const std::string& link() const noexcept { return link_; }

  /// Sets the size of the data.
  /// \param count  in bytes; 0 unless the entry is a regular file or of an unknown type.
  tar_entry& size(std::uint64_t count) {
    size_ = count;
    return *this;
  }
  std::uint64_t size() const noexcept { return size_; }

  /// Sets the permissions.
  /// \param bits  0 to 07777: the permissions, and the set-user-id, set-group-id and sticky bits. Default 0644.
  tar_entry& mode(unsigned bits) {
    mode_ = bits & 07777U;
    return *this;
  }
  unsigned mode() const noexcept { return mode_; }

  /// Sets the numeric owner and group. Names of users and groups are neither read nor written. Default 0 and 0.
  tar_entry& owner(std::uint64_t uid, std::uint64_t gid) {
    uid_ = uid;
    gid_ = gid;
    return *this;
  }
  std::uint64_t uid() const noexcept { return uid_; }
  std::uint64_t gid() const noexcept { return gid_; }

  /// Sets the time of the last modification.
  /// \param seconds  since 1970-01-01 UTC. Default 0.
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
