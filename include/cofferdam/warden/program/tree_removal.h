// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The removal of trees of files. A part of the worker, the process of the warden (the helper program in a sandbox) for
// file operations.
#pragma once

#include "directory.h"
#include "file_root.h"
#include "system.h"

// The directories that a removal, or a list of a tree, has open. The worker executes one of them at a time.
inline constexpr u32 max_held = 32;
inline constinit read_directory held_directories[max_held] = {};

/// A removal of trees with a fixed amount of memory and a fixed number of descriptors, at any depth: directories that
/// are too deep are moved to the top of the tree first. Symbolic links are removed, not followed.
class tree_removal {
 public:
  /// Removes a name in a directory, with everything beneath it.
  /// \param parent  a descriptor of the directory. This function closes it.
  long remove(int parent, const char* name) {
    depth_ = rounds_ = 0;
    lifted_ = false;
    struct stat status;
    long result = status_at(parent, name, status);
    held_directories[0].begin_with(parent, name);
    while (result >= 0 && !(depth_ == 0 && held_directories[0].is_used_up())) result = step();
    for (u32 i = 0; i <= depth_; ++i) close_fd(held_directories[i].fd);
    return name_result(result);
  }

 private:
  static constexpr u32 max_rounds = 10000;  // a bound for the case that another process adds entries all the time

  read_directory& here() { return held_directories[depth_]; }

  long step() {
    long result = 0;
    const char* name = here().name(result);
    if (result < 0) return result;
    if (name == nullptr) return leave();
    result = unlink(name, 0);
    // POSIX specifies EPERM for unlinking a directory, Linux returns EISDIR.
    if (result == -EISDIR || result == -EPERM) return enter(name, result);
    if (result >= 0) here().advance();
    return result;
  }

  // Sets the mode of the current directory to 0700, so that its entries can be removed. Returns false if this is not
  // permitted.
  bool take_over() { return depth_ != 0 && change_mode(here().fd, 0700) >= 0; }

  // Removes a name in the current directory. Succeeds also if the name does not exist any more.
  long unlink(const char* name, int flags) {
    long result = kernel(__NR_unlinkat, here().fd, address(name), flags);
    if (result == -EACCES && take_over()) result = kernel(__NR_unlinkat, here().fd, address(name), flags);
    return result == -ENOENT ? 0 : result;
  }

  long enter(const char* name, long why_not_unlinked) {
    if (depth_ + 1 == max_held) return lift(name);
    int fd = open_at(here().fd, name, o_rdonly | o_directory | o_nofollow);
    if (fd == -EACCES) {
      allow(name);
      fd = open_at(here().fd, name, o_rdonly | o_directory | o_nofollow);
    }
    if (fd == -ENOTDIR || fd == -ELOOP || fd == -ENOENT)
      return why_not_unlinked == -EPERM ? -EPERM : count_round();  // another process replaced it: try again
    if (fd < 0) return fd;
    ++depth_;
    here().begin(fd);
    return 0;
  }

  void allow(const char* name) {
    take_over();
    int below = open_at(here().fd, name, o_path | o_directory | o_nofollow);
    if (below >= 0) change_mode(below, 0700);
    close_fd(below);
  }

  // Moves a directory that is too deep to the top of the tree, where it is removed later.
  long lift(const char* name) {
    char lifted[random_name_size];
    random_name(lifted);
    const read_directory& top = held_directories[1];
    allow(name);
    change_mode(top.fd, 0700);
    const long result = kernel(__NR_renameat, here().fd, address(name), top.fd, address(lifted));
    if (result < 0 && result != -ENOENT) return result;
    lifted_ = true;
    here().advance();
    return 0;
  }

  long leave() {
    close_fd(here().fd);
    --depth_;
    const long result = unlink(here().current(), at_removedir);
    if (result >= 0) {
      here().advance();
      return 0;
    }
    if (result != -ENOTEMPTY && result != -EEXIST && result != -ENOTDIR) return result;
    if (!lifted_) return count_round();
    lifted_ = false;
    return 0;
  }

  long count_round() { return ++rounds_ > max_rounds ? -ENOTEMPTY : 0; }

  u32 depth_ = 0;
  u32 rounds_ = 0;
  bool lifted_ = false;
};
