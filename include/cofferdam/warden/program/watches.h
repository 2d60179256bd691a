// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Watches of directories by inotify, in the worker, the process of the warden (the helper program in a sandbox) for
// file operations. wire.hpp describes what the host gets. There are three difficulties:
//
// - The kernel watches single directories, so a recursive watch has an inotify watch for each directory beneath it. The
//   table of directories has their names and parents, so that the rename of a directory changes one entry.
// - A new directory may get entries before it is watched. It is therefore read after its watch was added, and its
//   entries are sent as created. Events of the same entries may wait in the kernel's queue. `doubted` is the number of
//   bytes of the queue that may have such events, and `seen` has the entries.
// - Events name directories as they were at the time of the event, but directories are opened by their names now. A
//   directory that cannot be opened stays in the table. It is tried again when an event of a rename above it comes.
#pragma once

#include <cofferdam/warden/detail/wire.hpp>

#include "directory.h"
#include "file_root.h"
#include "system.h"
#include "watch_state.h"

inline constexpr u32 in_modify = 0x2, in_attrib = 0x4, in_moved_from = 0x40, in_moved_to = 0x80, in_create = 0x100,
                     in_delete = 0x200, in_delete_self = 0x400, in_move_self = 0x800, in_unmount = 0x2000,
                     in_q_overflow = 0x4000, in_ignored = 0x8000, in_only_directory = 0x01000000,
                     in_exclude_unlinked = 0x04000000, in_is_directory = 0x40000000;

class directory_watches : watch_state {
 public:
  /// \param root    the root of the paths; the caller keeps it.
  /// \param stream  the worker's end of the socket pair to the warden.
  void take(file_root& root, int stream) {
    root_ = &root;
    stream_ = stream;
  }

  bool any() const { return count_ != 0; }

  /// Begins a watch. Returns a negative errno on failure.
  long begin(u32 job, const char* path, bool recursive, u32 credit) {
    if (find(job) != nullptr) return -EBUSY;
    directory_watch* free = nullptr;
    for (directory_watch& one : watches)
      if (!one.used && free == nullptr) free = &one;
    if (free == nullptr) return -EUSERS;
    directory_watch& one = *free;
    struct stat status;
    int fd = looked_at(root_->open(path, o_rdonly | o_directory), status);
    if (fd < 0) return fd;
    one.used = one.begins = true;
    one.recursive = recursive;
    one.ended = one.rereads = false;
    one.failure = 0;
    one.job = job;
    one.credit = credit;
    one.device = status.st_dev;
    one.inode = status.st_ino;
    one.root = one.first_waiting = one.last_waiting = one.reading = 0;
    one.begin = one.end = one.doubted = 0;
    put_text(one.path, path);
    ++count_;
    long result = kernel(__NR_inotify_init1, o_nonblock | o_cloexec);
    one.events = static_cast<int>(result);
    if (result >= 0) {
      one.root = add_directory(one, 0, "");
      result = one.root == 0 ? -EFBIG : add_watch(one, fd, in_delete_self | in_move_self);
    }
    if (result >= 0) {
      set_number(one.root, static_cast<i32>(result));
      if (recursive) wait_to_be_read(one, one.root, false);
      settle(one);
      result = one.ended ? -ENOENT : -one.failure;
    }
    close_fd(fd);
    if (result < 0) discard(one);
    one.begins = false;
    one.failure = 0;
    return result < 0 ? result : 0;
  }

  long add_credit(u32 job, u32 more) {
    directory_watch* one = find(job);
    if (one == nullptr) return -EBADF;
    one->credit += more;
    for (i64 left = queued(*one); !one->ended && one->credit > 0;) {
      send_changes(*one);
      if (has_work(*one)) continue;
      const long got = left > 0 ? fill(*one) : 0;
      if (got <= 0) break;
      left -= got;
    }
    return 0;
  }

  long end(u32 job) {
    directory_watch* one = find(job);
    if (one == nullptr) return -EBADF;
    discard(*one);
    return 0;
  }

  /// Sends changes of all watches that have credit, for a limited time.
  /// \param waits  true to wait until there are further events, or the stream can be read.
  /// \return  true if the stream can be read.
  bool serve(bool waits) {
    poll_entry entries[wire::max_watches + 1];
    directory_watch* polled[wire::max_watches + 1];
    long count = 0;
    entries[count++] = {stream_, poll_in, 0};
    for (directory_watch& one : watches) {
      if (!one.used || one.ended || one.credit <= 0) continue;
      send_changes(one);
      if (one.ended || one.credit <= 0) continue;
      if (has_work(one)) {
        waits = false;
        continue;
      }
      polled[count] = &one;
      entries[count++] = {one.events, poll_in, 0};
    }
    const time_spec no_time{0, 0};
    const long ready = kernel(__NR_ppoll, address(entries), count, waits ? 0 : address(&no_time), 0, 8);
    if (ready <= 0) return false;
    for (long i = 1; i < count; ++i)
      if (entries[i].happened != 0) fill(*polled[i]);
    return entries[0].happened != 0;
  }

 private:
  // The layout of an event in a buffer; its name follows.
  struct __attribute__((packed, may_alias)) event_head {
    i32 number;
    u32 mask;
    u32 cookie;
    u32 size;
  };

  // The longest change as it is sent: the fixed part, and two strings.
  static constexpr size_t max_change = 1 + 1 + 4 + 2 * (4 + max_path + 1);
  static constexpr u32 max_steps = 4096;       ///< of one watch before the worker looks at requests and other watches
  static constexpr u64 pair_wait_us = 10'000;  ///< the time in which the second half of a rename arrives

  /// Executes what happened before the end of the request, without sending it.
  void settle(directory_watch& one) {
    while (step(one)) {
    }
    for (i64 left = queued(one); left > 0;) {
      const long got = fill(one);
      if (got <= 0) return;
      left -= got;
      while (step(one)) {
      }
    }
  }

  void send_changes(directory_watch& one) {
    out_size_ = 0;
    for (u32 i = 0; i < max_steps && one.credit > 0 && out_size_ + 2 * max_change <= wire::max_payload; ++i)
      if (!step(one)) break;
    if (out_size_ == 0) return;
    const u32 size = static_cast<u32>(out_size_);
    writer(changes_out).put(size).put(static_cast<u8>(wire::frame_type::changes)).put(one.job);
    for (size_t at = 0; at < wire::header_size + size;) {
      const long sent = write_fd(stream_, changes_out + at, wire::header_size + size - at);
      if (sent <= 0) return;  // the stream has ended, which the next read detects
      at += static_cast<size_t>(sent);
    }
  }

  /// Does the next piece of work of a watch, which adds at most two changes. Returns false if there is none.
  bool step(directory_watch& one) {
    if (one.ended || !has_work(one)) return false;
    if (one.reading != 0)
      read_name(one);
    else if (one.first_waiting != 0)
      open_next(one);
    else if (one.rereads && one.doubted == 0)
      end_reread(one);
    else if (one.begin != one.end)
      take_event(one);
    else if (fill(one) <= 0)
      one.doubted = 0;
    return true;
  }

  void end_watch(directory_watch& one) {
    put(one, wire::change_kind::ended, true, 0, 0, "");
    one.ended = true;
  }

  // ---- reading directories ----

  static void wait_to_be_read(directory_watch& one, u16 index, bool reports) {
    directories[index].reports = reports;
    directories[index].waits = true;
    directories[index].next = 0;
    (one.first_waiting == 0 ? one.first_waiting : directories[one.last_waiting].next) = index;
    one.last_waiting = index;
  }

  /// Opens a directory of a watch by its names. No name may be a symbolic link.
  int open_directory(const directory_watch& one, u16 index, bool& has_root) {
    u32 depth = 0;
    for (; index != one.root; index = directories[index].parent) {
      if (index == 0 || depth == max_depth) return -ENAMETOOLONG;
      chain_[depth++] = index;
    }
    struct stat status;
    int at = looked_at(root_->open(one.path, (depth == 0 ? o_rdonly : o_path) | o_directory), status);
    has_root = at >= 0 && status.st_dev == one.device && status.st_ino == one.inode;
    while (at >= 0 && depth != 0) {
      const char* name = directories[chain_[--depth]].name;
      const int next = open_at(at, name, (depth == 0 ? o_rdonly : o_path) | o_directory | o_nofollow);
      close_fd(at);
      at = next;
    }
    return at;
  }

  /// Watches an open directory. The working directory of the process serves as its path, so that no name can be
  /// replaced in between.
  static long add_watch(const directory_watch& one, int fd, u32 more) {
    constexpr u32 events = in_modify | in_attrib | in_moved_from | in_moved_to | in_create | in_delete;
    const u32 mask = events | in_only_directory | in_exclude_unlinked | more;
    long result = kernel(__NR_fchdir, fd);
    if (result >= 0) result = kernel(__NR_inotify_add_watch, one.events, address("."), mask);
    kernel(__NR_chdir, address("/"));  // a working directory is not removed as long as it is one
    return result;
  }

  void open_next(directory_watch& one) {
    const u16 index = one.first_waiting;
    one.first_waiting = directories[index].next;
    directories[index].waits = false;
    if (directories[index].dropped) return remove_directory(index);
    bool has_root = false;
    int fd = open_directory(one, index, has_root);
    long result = fd;
    if (!has_root && fd != -EMFILE && fd != -ENFILE) {
      close_fd(fd);
      return end_watch(one);
    }
    const bool is_root = index == one.root;
    if (result >= 0) result = add_watch(one, fd, is_root ? in_delete_self | in_move_self : 0);
    if (result < 0) {
      close_fd(fd);
      const bool vanished = result == -ENOENT || result == -ENOTDIR || result == -ELOOP;
      if (!vanished && result != -EACCES && result != -EPERM) put_lost(one, static_cast<int>(-result), index);
      return;
    }
    const u16 known = find_number(one, static_cast<i32>(result));
    if (known != 0 && known != index) {
      if (is_beneath(index, known)) {
        close_fd(fd);
        return lose(one);
      }
      mistake(one, known);
    }
    if (known != index) set_number(index, static_cast<i32>(result));
    one.reading = index;
    one.directory.begin(fd);
  }

  /// Corrects the entry of a directory that has turned out to be another one. Their names were exchanged before they
  /// were opened, and the events of that are still in the queue.
  void mistake(directory_watch& one, u16 index) {
    for (u32 i = 1; i < used_; ++i)
      if (directories[i].used && directories[i].parent == index) forget(one, static_cast<u16>(i));
    set_number(index, 0);
    put(one, wire::change_kind::removed, true, 0, index, "");
    put(one, wire::change_kind::created, true, 0, index, "");
    if (!directories[index].waits) wait_to_be_read(one, index, true);
  }

  void read_name(directory_watch& one) {
    const u16 index = one.reading;
    const bool reports = directories[index].reports && !one.begins && !one.rereads;
    long result = 0;
    const char* name = one.directory.name(result);
    if (name == nullptr) {
      close_fd(one.directory.fd);
      one.reading = 0;
      if (reports || one.rereads) one.doubted = static_cast<u32>(queued(one)) + one.end - one.begin;
      if (result < 0) put_lost(one, static_cast<int>(-result), index);
      return;
    }
    u8 type = one.directory.type();
    if (type == 0) {  // the file system does not store types in directories
      struct stat status;
      if (status_at(one.directory.fd, name, status) >= 0 && is_format(status, mode_directory)) type = directory_type;
    }
    const bool is_directory = type == directory_type;
    if (reports && (is_directory || !is_temporary(name))) {
      put(one, wire::change_kind::created, is_directory, 0, index, name);
      note_seen(one, index, name);
    }
    if (is_directory && find_child(index, name) == 0) watch_new(one, index, name, directories[index].reports);
    one.directory.advance();
  }

  /// Begins to watch a directory that the table does not have.
  void watch_new(directory_watch& one, u16 parent, const char* name, bool reports) {
    const u16 added = add_directory(one, parent, name);
    if (added == 0) return put_lost(one, EFBIG, parent);
    wait_to_be_read(one, added, reports);
  }

  /// Reports that changes are missing. If the watch is recursive, first reads the whole tree again: the report comes
  /// after the last change that may be missing.
  void lose(directory_watch& one) {
    const bool again = one.rereads;
    one.rereads = false;
    if (!one.recursive || again) put_lost(one, 0, one.root);
    if (!one.recursive) return;
    one.rereads = true;
    one.doubted = 0;
    for (u32 i = 1; i < used_; ++i)
      if (directories[i].used && directories[i].watch == index_of(one) && i != one.root)
        forget_one(one, static_cast<u16>(i));
    wait_to_be_read(one, one.root, false);
  }

  void end_reread(directory_watch& one) {
    one.rereads = false;
    put_lost(one, one.failure, one.root);
    if (!one.begins) one.failure = 0;
  }

  // ---- the entries of new directories ----

  // A table of hashes without chains. It is at most three quarters full: the events of further entries are sent, too.
  static constexpr u32 seen_size = sizeof watches->seen / sizeof *watches->seen;
  static void note_seen(directory_watch& one, u16 index, const char* name) {
    if (one.seen_count >= seen_size / 4 * 3) return;
    const u64 hash = hash_of(index, name) | 2;
    u64 at = hash % seen_size;
    while (one.seen[at] > 1) at = (at + 1) % seen_size;
    one.seen[at] = hash;
    ++one.seen_count;
  }
  static bool take_seen(directory_watch& one, u16 index, const char* name) {
    if (one.seen_count == 0) return false;
    const u64 hash = hash_of(index, name) | 2;
    u64 at = hash % seen_size;
    for (u32 i = 0; i < seen_size && one.seen[at] != 0; ++i, at = (at + 1) % seen_size) {
      if (one.seen[at] != hash) continue;
      one.seen[at] = 1;  // was in use: the search for other hashes continues behind it
      return true;
    }
    return false;
  }
  static void forget_seen(directory_watch& one) {
    if (one.seen_count != 0) memset(one.seen, 0, sizeof one.seen);
    one.seen_count = 0;
  }

  // ---- events ----

  /// Returns true for a name that this library gives to a file before it is complete: see `random_name`, and
  /// atomic_file.hpp for the longer names of the host.
  static bool is_temporary(const char* name) {
    constexpr size_t prefix = 11;
    const size_t size = strlen(name);
    return (size == random_name_size - 1 || size == prefix + 24) && memcmp(name, ".cofferdam-", prefix) == 0;
  }

  void take_event(directory_watch& one) {
    const auto& head = *reinterpret_cast<const event_head*>(one.data + one.begin);
    const i32 number = head.number;
    const u32 mask = head.mask;
    const u32 cookie = head.cookie;
    const u32 size = sizeof head + head.size;
    char name[max_name + 1];
    name[0] = 0;
    if (head.size != 0) put_text(name, reinterpret_cast<const char*>(one.data + one.begin + sizeof head));
    one.begin += size;
    const bool is_directory = (mask & in_is_directory) != 0;
    if (one.doubted == 0) forget_seen(one);
    one.doubted = one.doubted > size ? one.doubted - size : 0;
    if ((mask & in_q_overflow) != 0) return lose(one);
    const u16 index = find_number(one, number);
    if (index == 0) return;
    if ((mask & (in_ignored | in_unmount | in_delete_self | in_move_self)) != 0) {
      if (index == one.root) return end_watch(one);
      if ((mask & in_ignored) != 0) forget(one, index);
      return;
    }
    if (name[0] == 0) return;  // an event of a directory itself, which its parent has, too
    if (!is_directory && is_temporary(name)) {
      char to[max_name + 1];
      const u16 into = (mask & in_moved_from) != 0 ? take_second_half(one, cookie, to) : u16{0};
      if (into != 0 && !is_temporary(to)) take_new(one, into, to, false, true);
      return;
    }
    if ((mask & in_modify) != 0) put(one, wire::change_kind::written, is_directory, 0, index, name);
    if ((mask & in_attrib) != 0) take_attributes(one, index, name, is_directory);
    if ((mask & (in_create | in_moved_to)) != 0) take_new(one, index, name, is_directory, (mask & in_moved_to) != 0);
    if ((mask & in_moved_from) != 0) take_move(one, index, name, is_directory, cookie);
    if ((mask & in_delete) != 0) take_end(one, index, name, is_directory);
  }

  void take_attributes(directory_watch& one, u16 index, const char* name, bool is_directory) {
    put(one, wire::change_kind::attributes, is_directory, 0, index, name);
    const u16 child = is_directory ? find_child(index, name) : u16{0};
    if (child != 0 && directories[child].number == 0) wait_to_be_read(one, child, true);  // it may be readable now
  }

  /// Handles a new entry. `moves` is true if it came by a rename: the content of a file is then new, too.
  void take_new(directory_watch& one, u16 index, const char* name, bool is_directory, bool moves) {
    if (!take_seen(one, index, name)) {
      put(one, wire::change_kind::created, is_directory, 0, index, name);
      if (moves && !is_directory) put(one, wire::change_kind::written, false, 0, index, name);
    }
    if (is_directory && one.recursive && find_child(index, name) == 0) watch_new(one, index, name, true);
  }

  void take_end(directory_watch& one, u16 index, const char* name, bool is_directory) {
    take_seen(one, index, name);
    put(one, wire::change_kind::removed, is_directory, 0, index, name);
    const u16 child = is_directory ? find_child(index, name) : u16{0};
    if (child != 0) forget(one, child);
  }

  void take_move(directory_watch& one, u16 index, const char* name, bool is_directory, u32 cookie) {
    char to[max_name + 1];
    const u16 into = take_second_half(one, cookie, to);
    if (into == 0 || (!is_directory && is_temporary(to)))
      return take_end(one, index, name, is_directory);  // it left the tree
    const bool is_watched = is_directory && one.recursive;
    const u16 moved = is_watched ? find_child(index, name) : u16{0};
    const u16 there = is_watched ? find_child(into, to) : u16{0};
    if (is_watched && moved == 0) {  // it was read when it had another name already
      take_end(one, index, name, true);
      if (there != 0) forget(one, there);
      return take_new(one, into, to, true, true);
    }
    take_seen(one, index, name);
    take_seen(one, into, to);
    put(one, wire::change_kind::renamed, is_directory, 0, into, to, index, name);
    if (moved == 0 || moved == there) return;
    if (is_beneath(into, moved)) return lose(one);
    if (there != 0) forget(one, there);
    displace(moved);
    place(moved, into, to);
    for (u32 i = 1; i < used_; ++i) {
      const watched_directory& each = directories[i];
      if (!each.used || each.number != 0 || each.waits || each.watch != index_of(one)) continue;
      if (is_beneath(static_cast<u16>(i), moved)) wait_to_be_read(one, static_cast<u16>(i), true);
    }
  }

  /// Finds the second event of a rename, and marks it as done. The kernel usually queues it directly behind the first.
  /// \param name  receives the new name.
  /// \return      the directory of the new name; 0 if there is none in the tree.
  u16 take_second_half(directory_watch& one, u32 cookie, char* name) {
    u32 at = one.begin;
    for (const u64 until = now_us() + pair_wait_us;;) {
      while (at != one.end) {
        auto& head = *reinterpret_cast<event_head*>(one.data + at);
        if ((head.mask & in_moved_to) != 0 && head.cookie == cookie) {
          head.mask = 0;
          put_text(name, reinterpret_cast<const char*>(one.data + at + sizeof head));
          return find_number(one, head.number);
        }
        at += static_cast<u32>(sizeof head) + head.size;
      }
      at -= one.begin;  // `fill` moves the events to the start of the buffer
      const u64 now = now_us();
      if (now >= until || one.end - one.begin + sizeof(event_head) + max_name + 1 > sizeof one.data) return 0;
      poll_entry entry{one.events, poll_in, 0};
      const time_spec limit{0, static_cast<i64>(until - now) * 1000};
      if (kernel(__NR_ppoll, address(&entry), 1, address(&limit), 0, 8) <= 0 || fill(one) <= 0) return 0;
    }
  }

  // ---- changes to the host ----

  /// Writes the path of a name in a directory, as a string. Returns the end; null if the path is too long.
  u8* put_path(const directory_watch& one, u8* to, u16 index, const char* name) {
    u32 depth = 0;
    size_t size = strlen(name);
    for (; index != one.root; index = directories[index].parent) {
      if (index == 0 || depth == max_depth) return nullptr;
      size += strlen(directories[index].name) + 1;
      chain_[depth++] = index;
    }
    // The path of a directory itself has no slash at its end.
    const bool ends_in_directory = name[0] == 0 && depth != 0;
    if (ends_in_directory) --size;
    if (size > max_path) return nullptr;
    to = writer(to).put(static_cast<u32>(size)).end();
    while (depth != 0) {
      const char* each = directories[chain_[--depth]].name;
      memcpy(to, each, strlen(each));
      to += strlen(each);
      if (depth != 0 || !ends_in_directory) *to++ = '/';
    }
    memcpy(to, name, strlen(name) + 1);
    return to + strlen(name) + 1;
  }

  void put(directory_watch& one, wire::change_kind kind, bool is_directory, int number, u16 index, const char* name,
           u16 from = 0, const char* from_name = "") {
    if (one.begins || one.rereads) return;
    u8* const start = changes_out + wire::header_size + out_size_;
    u8* to =
        writer(start).put(static_cast<u8>(kind)).put(static_cast<u8>(is_directory)).put(static_cast<i32>(number)).end();
    to = put_path(one, to, index == 0 ? one.root : index, name);
    if (to != nullptr) to = put_path(one, to, from == 0 ? one.root : from, from_name);
    if (to == nullptr) {
      if (kind != wire::change_kind::lost) put(one, wire::change_kind::lost, true, ENAMETOOLONG, 0, "");
      return;
    }
    const size_t size = static_cast<size_t>(to - start);
    out_size_ += size;
    one.credit -= static_cast<i64>(size);
  }

  void put_lost(directory_watch& one, int number, u16 index) {
    if ((one.begins || one.rereads) && one.failure == 0) one.failure = number;
    put(one, wire::change_kind::lost, true, number, index, "");
  }

  static constexpr u8 directory_type = 4;  // DT_DIR

  file_root* root_ = nullptr;
  int stream_ = 0;
  size_t out_size_ = 0;
  u16 chain_[max_depth] = {};
};
