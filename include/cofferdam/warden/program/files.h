// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// File operations beneath one directory, the root. They run in a separate process, the worker, which executes the file
// requests that the warden (the helper program in a sandbox) passes on, one after another. The rules and errors are the
// same as in os/directory.hpp, but there is no C library and only memory of fixed size. Two rules differ: absolute
// paths are always refused, and setting a mode follows no link. Functions return a negative errno on failure.
#pragma once

#include <cofferdam/warden/detail/wire.hpp>

// The order of these includes is the order of the functions in the program, as in warden.cpp.
// clang-format off
#include "file_root.h"
#include "watches.h"
#include "tree_removal.h"
// clang-format on

/// The identity of a directory whose descriptor was closed, and the position at which to continue reading it.
struct upper_directory {
  u64 device;
  u64 inode;
  i64 position;
};

// A path in a list must fit into a frame, and each directory adds at least two bytes to it. This bounds the depth.
inline constinit upper_directory upper_directories[wire::max_payload / 2] = {};
inline constinit char list_prefix[wire::max_payload] = {};
inline constinit char link_target[max_path + 1] = {};

/// A file that does not have its final name yet.
struct unfinished_file {
  bool used;
  bool exclusive;
  u32 job;
  u32 mode;
  int parent;
  int data;
  u64 size;
  char name[max_name + 1];
  char temporary[random_name_size];
};

inline constinit unfinished_file unfinished_files[wire::max_unfinished] = {};
inline constinit u8 worker_in[wire::header_size + wire::max_payload] = {};
inline constinit u8 worker_out[wire::header_size + wire::max_payload] = {};

class file_worker {
 public:
  /// Serves requests until the stream ends.
  /// \param stream  the worker's end of the socket pair to the warden.
  /// \param root    the root directory, or a negative errno; see file_root::take.
  /// \param flags   the flags of `configure`.
  [[noreturn]] void serve(int stream, int root, u32 flags = 0) {
    stream_ = stream;
    kernel(__NR_umask, 0);
    root_.take(root, (flags & wire::configure_component_walk) != 0);
    watches_.take(root_, stream_);
    for (;;) {
      if (watches_.any()) watches_.serve(false);
      while (in_begin_ == in_end_ && watches_.any() && !watches_.serve(true)) {
      }
      need(wire::header_size);
      reader head(worker_in + in_begin_, wire::header_size);
      const u32 size = head.get<u32>();
      const auto type = static_cast<wire::frame_type>(head.get<u8>());
      job_ = head.get<u32>();
      if (size > wire::max_payload) leave(2);  // the warden passes on no larger frames
      need(wire::header_size + size);
      u8* payload = worker_in + in_begin_ + wire::header_size;
      in_begin_ += wire::header_size + size;
      answer_ = worker_out + wire::header_size + 4;
      const long result = execute(type, payload, size);
      if (result < 0) answer_ = worker_out + wire::header_size + 4;
      writer(worker_out + wire::header_size).put(static_cast<i32>(result < 0 ? -result : 0));
      send(wire::frame_type::reply, static_cast<size_t>(answer_ - worker_out) - wire::header_size);
    }
  }

 private:
  // ---- frames ----

  [[noreturn]] void leave(int code) {
    for (unfinished_file& one : unfinished_files)
      if (one.used) discard(one);
    end_process(code);
  }

  /// Waits until the next `size` bytes of the stream are in worker_in.
  void need(size_t size) {
    if (sizeof worker_in - in_begin_ < size || in_begin_ == in_end_) {
      in_end_ -= in_begin_;
      memmove(worker_in, worker_in + in_begin_, in_end_);
      in_begin_ = 0;
    }
    while (in_end_ - in_begin_ < size) {
      const long got = read_fd(stream_, worker_in + in_end_, sizeof worker_in - in_end_);
      if (got <= 0) leave(0);
      in_end_ += static_cast<size_t>(got);
    }
  }

  /// Sends a frame whose payload is in worker_out, after the space for a header.
  /// \param size  the size of the payload in bytes.
  void send(wire::frame_type type, size_t size) {
    writer(worker_out).put(static_cast<u32>(size)).put(static_cast<u8>(type)).put(job_);
    size += wire::header_size;
    for (size_t at = 0; at < size;) {
      const long sent = write_fd(stream_, worker_out + at, size - at);
      if (sent <= 0) leave(0);
      at += static_cast<size_t>(sent);
    }
  }

  u8* data() { return worker_out + wire::header_size; }

  long execute(wire::frame_type type, u8* payload, size_t size) {
    using enum wire::frame_type;
    reader from(payload, size);
    if (type == write_data || type == write_commit || type == write_abort) {
      if (type != write_data && size != 0) return -EINVAL;
      if (root_.state() < 0) return root_.state();
      unfinished_file* one = find();
      if (one == nullptr) return -EBADF;
      if (type == write_data) return append(*one, payload, size);
      if (type == write_commit) return commit(*one);
      discard(*one);
      return 0;
    }
    if (type == watch_credit || type == watch_end) {
      const u32 more = type == watch_credit ? from.get<u32>() : 0;
      if (!from.finished()) return -EINVAL;
      return type == watch_end ? watches_.end(job_) : watches_.add_credit(job_, more);
    }
    // Reads the arguments of the other requests, in the order of their payloads. The strings are in the buffer of this
    // process, which `clean_path` and `split_path` may modify.
    char* path = const_cast<char*>(from.text());
    char* to = type == rename ? const_cast<char*>(from.text()) : nullptr;
    const u64 offset = type == read ? from.get<u64>() : 0;
    const u64 most = type == read ? from.get<u64>() : 0;
    const bool has_mode = type == write || type == make_directory || type == set_mode || type == adopt;
    const u32 mode = has_mode ? from.get<u32>() : 0;
    const u64 adopted_size = type == adopt ? from.get<u64>() : 0;
    const char* const adopted = type == adopt ? from.text() : nullptr;
    const u8 choice = type == list || type == write || type == watch ? from.get<u8>() : 0;
    const u32 window = type == watch ? from.get<u32>() : 0;
    if (!from.finished() || choice > 1) return -EINVAL;
    if (root_.state() < 0) return root_.state();
    const bool may_be_root =
        type == stat || type == list || type == make_directory || type == set_mode || type == watch;
    long result = clean_path(path, may_be_root);
    if (result >= 0 && to != nullptr) result = clean_path(to, false);
    if (result < 0) return result;
    switch (type) {
      case stat: return tell(path);
      case list: return list_all(path, choice != 0);
      case read: return read_some(path, offset, most < wire::max_read ? most : wire::max_read);
      case write: return begin_write(path, mode, choice != 0);
      case adopt: return adopt_file(path, mode, adopted_size, adopted);
      case make_directory: {
        int made = open_made(path, mode & 0777);
        const long code = made;
        close_fd(made);
        return code;
      }
      case remove: {
        const char* above = nullptr;
        const char* name = split_path(above, path);
        const int parent = root_.open(above, o_path | o_directory);
        return parent < 0 ? parent : removal_.remove(parent, name);
      }
      case rename: return rename_to(path, to);
      case set_mode: return give_mode(path, mode & 0777);
      case watch: return watches_.begin(job_, path, choice != 0, window);
      default: return -EINVAL;
    }
  }

  // ---- stat and list ----

  // The layout of an entry on the wire.
  struct __attribute__((packed, may_alias)) wire_entry {
    u8 type;
    u32 mode;
    u64 size;
    i64 seconds;
    u32 nanoseconds;
    u32 owner;
    u32 group;
  };
  static_assert(sizeof(wire_entry) == wire::entry_fixed_size);

  static u8* put_entry(u8* to, const struct stat& status) {
    auto& entry = *reinterpret_cast<wire_entry*>(to);
    entry.size = 0;
    entry.type = 3;
    if (is_format(status, mode_link)) entry.type = 2;
    if (is_format(status, mode_directory)) entry.type = 1;
    if (is_format(status, mode_regular)) {
      entry.type = 0;
      entry.size = static_cast<u64>(status.st_size);
    }
    entry.mode = status.st_mode & 0777;
    entry.seconds = static_cast<i64>(status.st_mtime);
    entry.nanoseconds = static_cast<u32>(status.st_mtime_nsec);
    entry.owner = status.st_uid;
    entry.group = status.st_gid;
    return to + sizeof entry;
  }

  /// Reads the target of a symbolic link into `link_target`. Returns its size; 0 for an entry that is no link, and for
  /// a link that cannot be read.
  static size_t read_target(int directory, const char* name, const struct stat& status) {
    if (!is_format(status, mode_link)) return 0;
    const long size = kernel(__NR_readlinkat, directory, address(name), address(link_target), max_path);
    return size < 0 ? 0 : static_cast<size_t>(size);
  }
  static u8* put_target(u8* to, size_t size) {
    to = writer(to).put(static_cast<u32>(size)).end();
    memcpy(to, link_target, size);
    to[size] = 0;
    return to + size + 1;
  }

  long tell(const char* path) {
    struct stat status;
    int fd = looked_at(root_.open(path, o_path | o_nofollow), status);
    if (fd < 0) return fd;
    const size_t target_size = read_target(fd, "", status);
    close_fd(fd);
    answer_ = put_target(put_entry(answer_, status), target_size);
    return 0;
  }

  long list_all(const char* path, bool recursive) {
    const int fd = root_.open(path, o_rdonly | o_directory);
    if (fd < 0) return fd;
    depth_ = lowest_held_ = 0;
    prefix_size_ = list_size_ = 0;
    listed_ = listed_bytes_ = 0;
    here().begin(fd);
    long result = 0;
    do result = list_step(recursive);
    while (result > 0);
    for (u32 i = lowest_held_; i <= depth_; ++i) close_fd(held_directories[i % max_held].fd);
    if (result >= 0 && list_size_ != 0) send(wire::frame_type::reply_data, list_size_);
    return result;
  }

  read_directory& here() { return held_directories[depth_ % max_held]; }

  /// Adds one name to the list. Returns 0 at the end of the list, a positive number to continue, or a negative errno.
  long list_step(bool recursive) {
    long result = 0;
    const char* name = here().name(result);
    if (result < 0) return result;
    if (name == nullptr) {
      if (depth_ == 0) return 0;
      result = go_up();
      return result < 0 ? result : 1;
    }
    struct stat status;
    result = status_at(here().fd, name, status);
    if (result < 0 && result != -ENOENT) return result;
    const bool vanished = result < 0;
    const size_t size = strlen(name);
    if (!vanished) result = add_entry(status, name, size);
    if (result < 0 && !vanished) return result;
    const i64 position = here().position();
    here().advance();  // `name` stays valid, because the buffer does not change
    if (vanished || !recursive || !is_format(status, mode_directory)) return 1;
    const int below = open_at(here().fd, name, o_rdonly | o_directory | o_nofollow);
    if (below == -ENOENT || below == -ENOTDIR || below == -ELOOP) return 1;  // the directory was removed or replaced
    if (below < 0) return below;
    memcpy(list_prefix + prefix_size_, name, size);
    prefix_size_ += size;
    list_prefix[prefix_size_++] = '/';
    upper_directories[depth_].position = position;
    ++depth_;
    if (depth_ - lowest_held_ == max_held) {
      // All elements of held_directories are in use. The new directory gets the element of the uppermost open
      // directory, whose descriptor is therefore closed.
      status.st_ino = 0;
      here().fd = looked_at(here().fd, status);
      upper_directories[lowest_held_].device = status.st_dev;
      upper_directories[lowest_held_].inode = status.st_ino;
      close_fd(here().fd);
      ++lowest_held_;
    }
    here().begin(below);
    return 1;
  }

  /// Returns to the parent directory. If the parent's descriptor was closed, opens `..`, and checks that it is the same
  /// directory as before.
  long go_up() {
    if (depth_ == lowest_held_) {
      const upper_directory& wanted = upper_directories[depth_ - 1];
      struct stat status;
      int above = looked_at(open_at(here().fd, "..", o_rdonly | o_directory | o_nofollow), status);
      if (above < 0) return above;
      if (status.st_dev != wanted.device || status.st_ino != wanted.inode ||
          kernel(__NR_lseek, above, wanted.position, 0) < 0) {
        close_fd(above);
        return -EIO;
      }
      held_directories[--lowest_held_ % max_held].begin(above);
    }
    close_fd(here().fd);
    --depth_;
    --prefix_size_;
    while (prefix_size_ != 0 && list_prefix[prefix_size_ - 1] != '/') --prefix_size_;
    return 0;
  }

  long add_entry(const struct stat& status, const char* name, size_t name_size) {
    const size_t path_size = prefix_size_ + name_size;
    const size_t target_size = read_target(here().fd, name, status);
    const size_t size = wire::entry_fixed_size + 4 + target_size + 1 + 4 + path_size + 1;
    if (size > wire::max_payload) return -ENAMETOOLONG;
    listed_bytes_ += size;
    if (++listed_ > wire::max_listed || listed_bytes_ > wire::max_listed_bytes) return -EFBIG;
    if (list_size_ + size > wire::max_payload) {
      send(wire::frame_type::reply_data, list_size_);
      list_size_ = 0;
    }
    u8* const name_at = put_target(put_entry(data() + list_size_, status), target_size);
    u8* to = writer(name_at).put(static_cast<u32>(path_size)).end();
    memcpy(to, list_prefix, prefix_size_);
    memcpy(to + prefix_size_, name, name_size);
    to[path_size] = 0;
    list_size_ += size;
    return 0;
  }

  // ---- reading ----

  static long not_regular(const struct stat& status) {
    if (is_format(status, mode_regular)) return 0;
    return is_format(status, mode_directory) ? -EISDIR : -ENXIO;
  }

  long read_some(const char* path, u64 offset, u64 most) {
    struct stat status;
    // Checks the type before opening the file for reading. A FIFO is therefore not opened for reading: the process at
    // its other end could notice that.
    int fd = looked_at(root_.open(path, o_path), status);
    if (fd < 0) return fd;
    close_fd(fd);
    long result = not_regular(status);
    if (result < 0) return result;
    fd = looked_at(root_.open(path, o_rdonly | o_nonblock | o_noctty), status);
    if (fd < 0) return fd;
    result = not_regular(status);
    while (result >= 0 && most != 0) {
      const size_t piece = most < wire::max_payload ? most : wire::max_payload;
      result = kernel(__NR_pread64, fd, address(data()), static_cast<long>(piece), static_cast<long>(offset));
      if (retried(result)) {
        result = 0;
        continue;
      }
      if (result <= 0) break;
      send(wire::frame_type::reply_data, static_cast<size_t>(result));
      offset += static_cast<u64>(result);
      most -= static_cast<u64>(result);
    }
    fd = looked_at(fd, status);
    close_fd(fd);
    answer_ = writer(answer_).put(static_cast<u64>(status.st_size)).put(static_cast<u32>(status.st_mode & 0777)).end();
    return result;
  }

  // ---- writing ----

  unfinished_file* find() {
    for (unfinished_file& one : unfinished_files)
      if (one.used && one.job == job_) return &one;
    return nullptr;
  }

  /// Opens a directory, after making the directory and its parents if they are missing. Finds the deepest existing
  /// directory first, and then makes those below it.
  int open_made(char* path, u32 mode) {
    size_t end = strlen(path);
    int at;
    for (;;) {
      const char cut = path[end];
      path[end] = 0;
      at = root_.open(end == 0 ? "." : path, o_path | o_directory);
      path[end] = cut;
      if (at >= 0) break;
      if (at != -ENOENT || end == 0) return at;
      do --end;
      while (end != 0 && path[end] != '/');
    }
    while (path[end] != 0) {
      if (path[end] == '/') ++end;
      const char* name = path + end;
      while (path[end] != 0 && path[end] != '/') ++end;
      const char cut = path[end];
      path[end] = 0;
      long below = kernel(__NR_mkdirat, at, address(name), mode);
      if (below >= 0 || below == -EEXIST) below = open_at(at, name, o_path | o_directory | o_nofollow);
      path[end] = cut;
      close_fd(at);
      if (below < 0) return static_cast<int>(below == -ELOOP ? -ENOTDIR : below);  // ELOOP: the name is a dangling link
      at = static_cast<int>(below);
    }
    return at;
  }

  /// Opens the directory of a file that is about to get its name, after making the directory if it is missing.
  /// \param mode  completed if it is keep_mode.
  /// \param name  receives the name in the directory.
  int open_place(char* path, bool exclusive, u32& mode, const char*& name) {
    char here[] = ".";  // a copy, because `open_made` modifies its argument
    const char* above = nullptr;
    name = split_path(above, path);
    int parent = open_made(name == path ? here : path, 0755);
    if (parent < 0) return parent;
    struct stat status;
    long result = status_at(parent, name, status);
    const bool taken = result >= 0;
    if (result == -ENOENT) {
      result = 0;
    } else if (taken && exclusive) {
      result = -EEXIST;
    } else if (taken && !is_format(status, mode_link)) {
      result = not_regular(status);
    }
    if (mode == wire::keep_mode) mode = taken && is_format(status, mode_regular) ? status.st_mode : 0644;
    if (result >= 0) return parent;
    close_fd(parent);
    return static_cast<int>(result);
  }

  long begin_write(char* path, u32 mode, bool exclusive) {
    if (find() != nullptr) return -EBUSY;
    unfinished_file* one = nullptr;
    for (unfinished_file& each : unfinished_files)
      if (!each.used) one = &each;
    if (one == nullptr) return -EMFILE;
    const char* name = nullptr;
    int parent = open_place(path, exclusive, mode, name);
    if (parent < 0) return parent;
    long result = -EEXIST;
    for (int i = 0; i < 16 && result == -EEXIST; ++i) {
      random_name(one->temporary);
      result = open_at(parent, one->temporary, o_creat | o_excl | o_wronly | o_nofollow, 0600);
    }
    if (result < 0) {
      close_fd(parent);
      return result;
    }
    one->used = true;
    one->exclusive = exclusive;
    one->job = job_;
    one->mode = mode & 0777;
    one->parent = parent;
    one->data = static_cast<int>(result);
    one->size = 0;
    put_text(one->name, name);
    return 0;
  }

  static void forget(unfinished_file& one) {
    close_fd(one.data);
    close_fd(one.parent);
    one.used = false;
  }

  static void discard(unfinished_file& one) {
    kernel(__NR_unlinkat, one.parent, address(one.temporary), 0);
    forget(one);
  }

  static long append(unfinished_file& one, const u8* content, size_t size) {
    while (size != 0) {
      const long written = write_fd(one.data, content, size);
      if (written <= 0) {
        discard(one);
        return written < 0 ? written : -EIO;
      }
      one.size += static_cast<u64>(written);
      content += written;
      size -= static_cast<size_t>(written);
    }
    return 0;
  }

  long commit(unfinished_file& one) {
    long result = kernel(__NR_fchmod, one.data, one.mode);
    const long from = address(one.temporary);
    const long to = address(one.name);
    if (result >= 0 && !one.exclusive) result = kernel(__NR_renameat, one.parent, from, one.parent, to);
    if (result >= 0 && one.exclusive) {
      result = kernel(__NR_renameat2, one.parent, from, one.parent, to, 1);  // RENAME_NOREPLACE
      // Some file systems do not support RENAME_NOREPLACE.
      if (result == -EINVAL || result == -ENOSYS) {
        result = kernel(__NR_linkat, one.parent, from, one.parent, to, 0);
        if (result >= 0) kernel(__NR_unlinkat, one.parent, from, 0);
      }
    }
    if (result < 0) {
      discard(one);
      return result;
    }
    answer_ = writer(answer_).put(one.size).end();
    forget(one);
    return 0;
  }

  long adopt_file(char* path, u32 mode, u64 size, const char* from) {
    if (from[0] != '/') return -EINVAL;
    struct stat status;
    int file = looked_at(open_at(at_fdcwd, from, o_path | o_nofollow), status);
    if (file == -ENOENT) return -ESTALE;
    if (file < 0) return file;
    const char* name = nullptr;
    int parent = open_place(path, false, mode, name);
    long result = parent;
    if (!is_format(status, mode_regular) || static_cast<u64>(status.st_size) != size) result = -ESTALE;
    if (result >= 0 && (status.st_mode & 07777) != (mode & 0777)) result = change_mode(file, mode & 0777);
    if (result >= 0) result = name_result(kernel(__NR_renameat, at_fdcwd, address(from), parent, address(name)));
    close_fd(file);
    close_fd(parent);
    return result;
  }

  // ---- names and modes ----

  long rename_to(char* from, char* to) {
    const char* above_from = nullptr;
    const char* above_to = nullptr;
    const char* name_from = split_path(above_from, from);
    const char* name_to = split_path(above_to, to);
    int parent_from = root_.open(above_from, o_path | o_directory);
    if (parent_from < 0) return parent_from;
    int parent_to = root_.open(above_to, o_path | o_directory);
    long result = parent_to;
    if (result >= 0)
      result = name_result(kernel(__NR_renameat, parent_from, address(name_from), parent_to, address(name_to)));
    close_fd(parent_from);
    close_fd(parent_to);
    return result;
  }

  long give_mode(const char* path, u32 mode) {
    struct stat status;
    int fd = looked_at(root_.open(path, o_path | o_nofollow), status);
    if (fd < 0) return fd;
    const long result = is_format(status, mode_link) ? -ELOOP : change_mode(fd, mode);
    close_fd(fd);
    return result;
  }

  file_root root_;
  tree_removal removal_;
  directory_watches watches_;
  int stream_ = 0;
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  u32 job_ = 0;           ///< the number of the current request
  u8* answer_ = nullptr;  ///< the end of the reply so far, in worker_out
  u32 depth_ = 0;
  u32 lowest_held_ = 0;     ///< the uppermost directory whose descriptor is open
  size_t prefix_size_ = 0;  ///< the size of the current directory's path, in list_prefix
  size_t list_size_ = 0;    ///< the number of bytes of the list that were not sent yet, in worker_out
  u64 listed_ = 0;
  u64 listed_bytes_ = 0;
};

inline file_worker own_file_worker;
