// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// A class for reading the names in a directory without a C library.
#pragma once

#include "system.h"

/// A directory that is being read, and a buffer of the names that the kernel has returned last.
class read_directory {
 public:
  int fd;

  void begin(int opened) {
    fd = opened;
    at_ = size_ = 0;
  }

  /// Begins without reading the directory, as if `name` were the only name in it.
  void begin_with(int opened, const char* name) {
    fd = opened;
    at_ = 0;
    size_ = 512;
    writer(data_ + 16).put(static_cast<u16>(size_));
    put_text(reinterpret_cast<char*>(data_ + name_offset), name);
  }

  /// Returns the next name that is a number other than 0, as in /proc. `name_of_it` receives its text. Returns 0 at the
  /// end.
  [[gnu::noinline]] u32 next_number(const char*& name_of_it) {
    long result;
    u32 number = 0;
    for (const char* found = name(result); found != nullptr; found = name(result)) {
      const char* at = found;
      advance();
      if (!take_number(at, found + strlen(found), number) || number == 0) continue;
      name_of_it = found;
      return number;
    }
    return 0;
  }

  bool is_used_up() const { return at_ >= size_; }

  /// Returns the current name; null at the end. `result` is a negative errno if reading has failed, otherwise at least
  /// 0.
  [[gnu::noinline]] const char* name(long& result) {
    for (result = 0;; advance()) {
      if (is_used_up()) {
        result = kernel(__NR_getdents64, fd, address(data_), sizeof data_);
        if (result == -ENOENT) result = 0;  // the directory has been removed
        if (result <= 0) return nullptr;
        at_ = 0;
        size_ = static_cast<u32>(result);
      }
      const char* found = current();
      if (found[0] != '.' || (found[1] != 0 && (found[1] != '.' || found[2] != 0))) return found;
    }
  }
  const char* current() const { return reinterpret_cast<const char*>(data_ + at_ + name_offset); }
  /// Returns the type of the current name (DT_DIR and others); 0 if the file system does not store it.
  u8 type() const { return load<u8>(18); }
  /// Returns the directory's position after the current name, for lseek(2).
  i64 position() const { return load<i64>(8); }
  void advance() { at_ += load<u16>(16); }

 private:
  // The layout of a name in the buffer is struct linux_dirent64: u64 inode, i64 position, u16 size, u8 type, name.
  static constexpr size_t name_offset = 19;

  template <class T>
  T load(size_t offset) const {
    T value;
    __builtin_memcpy(&value, data_ + at_ + offset, sizeof value);
    return value;
  }

  u32 at_;
  u32 size_;
  alignas(8) u8 data_[8192];
};
