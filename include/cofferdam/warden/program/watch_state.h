// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The state of the watches of directories: the watches with their unread events, and the table of the directories that
// they watch. A part of the worker, the process of the warden (the helper program in a sandbox) for file operations.
// watches.h explains how both change.
#pragma once

#include <cofferdam/warden/detail/wire.hpp>

#include "directory.h"
#include "file_root.h"
#include "system.h"

/// A directory of a watch. Entry 0 of the table stays free: the index 0 means none.
struct watched_directory {
  bool used;
  bool reports;  ///< its entries are sent as created when it is read
  bool waits;    ///< it is in the list of directories that wait to be read
  bool dropped;  ///< it has left the tree, and is freed when its turn in the list comes
  bool doomed;
  u16 watch;
  u16 parent;  ///< 0 for the directory of the request
  u16 next_by_number;
  u16 next_by_name;
  u16 next;    ///< the next one that waits to be read, or the next free entry
  i32 number;  ///< the kernel's number of the inotify watch; 0 if it has none
  u32 children;
  char name[max_name + 1];
};

struct directory_watch {
  bool used;
  bool recursive;
  bool begins;   ///< the request is still being executed, so nothing is sent
  bool rereads;  ///< the whole tree is being read again; nothing is sent before that has ended
  bool ended;
  u16 root;
  u16 first_waiting;
  u16 last_waiting;
  u16 reading;  ///< the directory that is being read
  u32 job;
  int events;   ///< the inotify descriptor
  int failure;  ///< the errno with which watching a directory has failed while nothing is sent
  i64 credit;
  u64 device;
  u64 inode;
  u32 begin;
  u32 end;
  u32 doubted;
  u32 seen_count;
  read_directory directory;
  char path[max_path + 1];
  alignas(8) u8 data[32 * 1024];
  u64 seen[8 * 1024];
};

inline constinit watched_directory directories[wire::max_watched_directories + 1] = {};
inline constinit u16 directories_by_number[4096] = {};
inline constinit u16 directories_by_name[4096] = {};
inline constinit directory_watch watches[wire::max_watches] = {};
inline constinit u8 changes_out[wire::header_size + wire::max_payload] = {};

/// The tables of the watches: their unread events, and their directories.
class watch_state {
 protected:
  static constexpr u32 max_depth = max_path / 2 + 1;

  static u16 index_of(const directory_watch& one) { return static_cast<u16>(&one - watches); }
  static directory_watch* find(u32 job) {
    for (directory_watch& one : watches)
      if (one.used && one.job == job) return &one;
    return nullptr;
  }
  static bool has_work(const directory_watch& one) {
    return one.reading != 0 || one.first_waiting != 0 || one.begin != one.end || one.rereads;
  }

  static i64 queued(const directory_watch& one) {
    i32 size = 0;
    kernel(__NR_ioctl, one.events, 0x541b, address(&size));  // FIONREAD
    return size;
  }

  /// Reads events behind those in the buffer. Returns the number of bytes; at most 0 if there are none.
  static long fill(directory_watch& one) {
    memmove(one.data, one.data + one.begin, one.end - one.begin);
    one.end -= one.begin;
    one.begin = 0;
    const long got = read_fd(one.events, one.data + one.end, sizeof one.data - one.end);
    if (got > 0) one.end += static_cast<u32>(got);
    return got;
  }

  static void discard(directory_watch& one) {
    if (one.reading != 0) close_fd(one.directory.fd);
    one.reading = 0;
    close_fd(one.events);
    for (u32 i = 1; i < used_; ++i) {
      if (!directories[i].used || directories[i].watch != index_of(one)) continue;
      directories[i].waits = false;
      remove_directory(static_cast<u16>(i));
    }
    one.used = false;
    --count_;
  }

  // ---- the table of directories ----

  static u64 hash_of(u16 parent, const char* name) {
    u64 hash = (0xcbf29ce484222325 ^ parent) * 0x100000001b3;
    for (; *name != 0; ++name) hash = (hash ^ static_cast<u8>(*name)) * 0x100000001b3;
    return hash ^ hash >> 29;
  }
  static u16& by_name(u16 parent, const char* name) { return directories_by_name[hash_of(parent, name) % 4096]; }
  static u16& by_number(u16 watch, i32 number) {
    return directories_by_number[(static_cast<u32>(number) + watch * 61U) % 4096];
  }

  static u16 find_child(u16 parent, const char* name) {
    u16 at = by_name(parent, name);
    while (at != 0 && (directories[at].parent != parent || !is_equal(directories[at].name, name)))
      at = directories[at].next_by_name;
    return at;
  }
  static u16 find_number(const directory_watch& one, i32 number) {
    u16 at = by_number(index_of(one), number);
    while (at != 0 && (directories[at].number != number || directories[at].watch != index_of(one)))
      at = directories[at].next_by_number;
    return at;
  }
  static bool is_equal(const char* a, const char* b) {
    while (*a != 0 && *a == *b) {
      ++a;
      ++b;
    }
    return *a == *b;
  }

  /// Adds a directory to the table. Returns 0 if the table is full.
  static u16 add_directory(const directory_watch& one, u16 parent, const char* name) {
    if (used_ == 0) used_ = 1;
    u16 index = free_;
    if (index != 0) {
      free_ = directories[index].next;
    } else {
      if (used_ > wire::max_watched_directories) return 0;
      index = static_cast<u16>(used_++);
    }
    watched_directory& added = directories[index];
    added.used = true;
    added.doomed = added.dropped = added.waits = added.reports = false;
    added.watch = index_of(one);
    added.number = 0;
    added.children = 0;
    place(index, parent, name);
    return index;
  }
  static void remove_directory(u16 index) {
    watched_directory& removed = directories[index];
    if (!removed.dropped) {
      set_number(index, 0);
      displace(index);
    }
    removed.dropped = removed.waits;
    if (removed.waits) return;
    removed.used = false;
    removed.next = free_;
    free_ = index;
  }

  static void place(u16 index, u16 parent, const char* name) {
    watched_directory& placed = directories[index];
    placed.parent = parent;
    put_text(placed.name, name);
    u16& first = by_name(parent, placed.name);
    placed.next_by_name = first;
    first = index;
    ++directories[parent].children;
  }
  static void displace(u16 index) {
    const watched_directory& placed = directories[index];
    u16* at = &by_name(placed.parent, placed.name);
    while (*at != index) at = &directories[*at].next_by_name;
    *at = placed.next_by_name;
    --directories[placed.parent].children;
  }
  static void set_number(u16 index, i32 number) {
    watched_directory& changed = directories[index];
    if (changed.number != 0) {
      u16* at = &by_number(changed.watch, changed.number);
      while (*at != index) at = &directories[*at].next_by_number;
      *at = changed.next_by_number;
    }
    changed.number = number;
    if (number == 0) return;
    u16& first = by_number(changed.watch, number);
    changed.next_by_number = first;
    first = index;
  }

  /// Returns true if `index` is `above`, or a directory beneath it.
  static bool is_beneath(u16 index, u16 above) {
    for (u32 depth = 0; index != above; ++depth, index = directories[index].parent)
      if (index == 0 || depth == max_depth) return false;
    return true;
  }

  /// Ends the inotify watches of a directory and of all directories beneath it.
  static void forget(const directory_watch& one, u16 index) {
    if (directories[index].children != 0) {
      for (u32 i = 1; i < used_; ++i)
        directories[i].doomed = directories[i].used && i != index && is_beneath(static_cast<u16>(i), index);
      for (u32 i = 1; i < used_; ++i)
        if (directories[i].doomed) forget_one(one, static_cast<u16>(i));
    }
    forget_one(one, index);
  }
  static void forget_one(const directory_watch& one, u16 index) {
    directories[index].doomed = false;
    if (directories[index].number != 0) kernel(__NR_inotify_rm_watch, one.events, directories[index].number);
    remove_directory(index);
  }

  static inline constinit u32 used_ = 0;  ///< the end of the entries of the table that were ever in use
  static inline constinit u16 free_ = 0;
  static inline constinit u32 count_ = 0;
};
