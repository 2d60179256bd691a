// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Functions that find the descendants of a process, and send signals only to them.
#pragma once

#include "directory.h"
#include "system.h"

/// A descriptor of the directory /proc. It stays open, so that a change of the root or a mount cannot hide the
/// directory. 0 if the directory does not exist, or if it belongs to another pid namespace, whose process numbers have
/// no meaning for this process.
inline constinit int proc_fd = 0;
inline bool proc_has_children = false;
/// The `children` file in /proc of this process, which has a single thread; 0 or negative if it is not open. It is
/// opened at the start, so that the children can be found and killed even if no other file can be opened.
inline constinit int own_children_fd = 0;

/// The buffer for reading a directory of /proc. Only one directory is read at a time.
inline constinit read_directory walked_directory = {};

/// A descriptor of /dev/null, by which unused standard descriptors are kept open; 0 before it is opened.
inline constinit int nothing_fd = 0;
/// True while the descriptor 0 or 1 is closed so that a file of /proc can use its number.
inline constinit bool lent[2] = {};

/// Opens a file in /proc even if a guest (code in the sandbox) has lowered the limit on descriptors so far that no
/// number is free. In this case the descriptor 0 or 1, which is unused, is closed to make room.
inline int open_in_proc(const char* path, int flags) {
  int fd = open_at(proc_fd, path, flags);
  for (int spare = 0; fd == -EMFILE && spare < 2; ++spare) {
    // Checks first that the descriptor can be restored: with a limit of 0, dup3(2) would fail later.
    if (lent[spare] || nothing_fd <= 0 || kernel(__NR_dup3, nothing_fd, spare, 0) < 0) continue;
    kernel(__NR_close, spare);
    fd = open_at(proc_fd, path, flags);
    if (fd == spare)
      lent[spare] = true;
    else
      kernel(__NR_dup3, nothing_fd, spare, 0);
  }
  return fd;
}

/// Closes a descriptor from `open_in_proc`. If the descriptor is 0 or 1, it refers to /dev/null again afterwards.
inline void close_in_proc(int& fd) {
  if (fd == 0 || fd == 1) {
    kernel(__NR_dup3, nothing_fd, fd, 0);
    lent[fd] = false;
    fd = -1;
  }
  close_fd(fd);
}

inline u32 own_pid() { return static_cast<u32>(kernel(__NR_getpid)); }

inline void find_proc() {
  int opened = open_at(at_fdcwd, "/proc", o_path | o_directory);
  if (opened < 0) return;
  const int fd =
      static_cast<int>(kernel(__NR_fcntl, opened, dup_closing, 10));  // F_DUPFD_CLOEXEC: a number of at least 10
  close_fd(opened);
  if (fd < 0) return;
  char self[16];
  const long length = kernel(__NR_readlinkat, fd, address("self"), address(self), sizeof self);
  const char* at = self;
  u32 pid = 0;
  if (length <= 0 || !take_number(at, self + length, pid) || at != self + length || pid != own_pid()) {
    kernel(__NR_close, fd);
    return;
  }
  proc_fd = fd;
}

/// Opens the `children` file of the calling process. Called once in each new process.
inline void open_own_children() {
  own_children_fd = -1;
  if (proc_fd <= 0) return;
  const u32 pid = own_pid();
  char path[64];
  put_text(put_number(put_text(put_number(path, pid), "/task/"), pid), "/children");
  own_children_fd = open_at(proc_fd, path, o_rdonly);
  proc_has_children = proc_has_children || own_children_fd >= 0;
}

/// Closes every descriptor whose number is at least `first`.
inline void close_from(u32 first) {
  if (kernel(__NR_close_range, first, ~0U, 0) >= 0) return;
  // close_range(2) fails before Linux 5.9, and under emulators and filters that do not know it.
  int listed = proc_fd > 0 ? open_at(proc_fd, "self/fd", o_rdonly | o_directory) : -1;
  if (listed < 0) {
    for (u32 fd = first; fd < 65536; ++fd) kernel(__NR_close, fd);
    return;
  }
  for (bool closed = true; closed;) {  // closing descriptors changes the list, so it is read again from the start
    closed = false;
    kernel(__NR_lseek, listed, 0, 0);
    walked_directory.begin(listed);
    const char* name;
    for (u32 fd = walked_directory.next_number(name); fd != 0; fd = walked_directory.next_number(name))
      closed |= fd >= first && fd != static_cast<u32>(listed) && kernel(__NR_close, fd) >= 0;
  }
  close_fd(listed);
}

/// Reads the parent of a process. Returns false if the process does not exist, or if all of its threads have ended.
inline bool look_at(u32 pid, u32& parent) {
  char path[32];
  put_text(put_number(path, pid), "/stat");
  int fd = open_in_proc(path, o_rdonly);
  if (fd < 0) return false;
  char text[512];
  const long size = read_fd(fd, text, sizeof text);
  close_in_proc(fd);
  if (size <= 0) return false;
  long close = size - 1;  // the name may contain any character, so the search begins at the end
  while (close > 0 && text[close] != ')') --close;
  if (close == 0 || close + 4 >= size) return false;
  const char state = text[close + 2];
  if (state == 'X') return false;
  const char* const end = text + size;
  const char* at = text + close + 4;
  if (!take_number(at, end, parent)) return false;
  if (state != 'Z') return true;
  // The state "zombie" can also mean that only the first thread has ended, while other threads run. The number of
  // threads distinguishes the two cases.
  constexpr int from_parent_to_threads = 16;
  for (int i = 0; i < from_parent_to_threads; ++i) {
    while (at < end && *at != ' ') ++at;
    while (at < end && *at == ' ') ++at;
  }
  u32 threads = 0;
  return take_number(at, end, threads) && threads > 1;
}

/// The descendants of a process, at all depths. If there are more than fit into the table, a later scan finds the
/// others.
class descendants {
 public:
  struct one {
    u32 pid;
    u32 parent;
  };

  /// Finds the descendants of `root`.
  /// \param skips  returns true for a child of `root` that is left out with its descendants; null to leave out none.
  void look(u32 root, bool (*skips)(u32)) {
    count_ = 0;
    root_ = root;
    skips_ = skips;
    if (proc_fd <= 0) return;
    if (!proc_has_children) {
      scan();
      return;
    }
    add_children(root);
    for (u32 i = 0; i < count_; ++i) add_children(found_[i].pid);
  }

  u32 count() const { return count_; }

  /// Sends a signal to each descendant. If a descendant has ended, another process with the same number gets no signal,
  /// because the function identifies the descendant by a pidfd. Without a pidfd (no descriptor is free, the kernel has
  /// no pidfds, or a filter refuses the call), the function checks the parent of the process immediately before the
  /// signal. The kernel reuses a process number only after all other numbers, so the time between check and signal is
  /// short enough.
  void signal(int number) const {
    for (u32 i = 0; i < count_; ++i) {
      // SIGKILL goes to children before their parents. On systems that do not pass orphans to this process, a child can
      // be found only while its parent lives.
      const one& each = found_[number == sig_kill ? count_ - 1 - i : i];
      if (each.parent == root_) {  // only this process can reap its own child, so the number is not reused before
        kernel(__NR_kill, each.pid, number);
        continue;
      }
      int fd = static_cast<int>(kernel(__NR_pidfd_open, each.pid, 0));
      u32 parent = 0;
      if (fd != -ESRCH && look_at(each.pid, parent) && (parent == each.parent || parent == root_)) {
        long sent = -ENOSYS;
        if (fd >= 0) sent = kernel(__NR_pidfd_send_signal, fd, number, 0, 0);
        if (sent == -ENOSYS || sent == -EPERM) kernel(__NR_kill, each.pid, number);
      }
      close_fd(fd);
    }
  }

 private:
  static constexpr u32 most = 4096;

  void add(u32 pid, u32 parent) {
    if (count_ == most) return;
    if (parent == root_ && skips_ != nullptr && skips_(pid)) return;
    found_[count_++] = {pid, parent};
  }

  void add_children(u32 pid) {
    if (own_children_fd > 0 && pid == own_pid()) return add_read(own_children_fd, pid);
    // Reads the file of the first thread without listing the threads. Most processes have only this thread. Orphans
    // that a process adopts are in the file of its first thread, too.
    char path[64];
    char* behind = put_text(put_number(path, pid), "/task");
    put_text(put_number(put_text(behind, "/"), pid), "/children");
    add_listed(path, pid);
    *behind = 0;
    int tasks = open_in_proc(path, o_rdonly | o_directory);
    if (tasks < 0) return;
    walked_directory.begin(tasks);
    const char* name;
    for (u32 thread = walked_directory.next_number(name); thread != 0; thread = walked_directory.next_number(name)) {
      if (thread == pid) continue;
      put_text(put_text(put_text(behind, "/"), name), "/children");
      add_listed(path, pid);
    }
    close_in_proc(tasks);
  }

  void add_listed(const char* path, u32 parent) {
    int fd = open_in_proc(path, o_rdonly);
    if (fd < 0) return;
    add_read(fd, parent);
    close_in_proc(fd);
  }

  void add_read(int fd, u32 parent) {
    char text[512];
    u32 pid = 0;
    bool inside = false;  // true if the last digit belongs to a number that may continue in the next read
    for (i64 at = 0;;) {
      const long got = kernel(__NR_pread64, fd, address(text), sizeof text, at);
      if (got <= 0) break;
      at += got;
      for (long i = 0; i < got; ++i) {
        if (text[i] >= '0' && text[i] <= '9') {
          pid = (inside ? pid * 10 : 0) + static_cast<u32>(text[i] - '0');
          inside = true;
        } else if (inside) {
          add(pid, parent);
          inside = false;
        }
      }
    }
    if (inside) add(pid, parent);
  }

  /// Finds the descendants by reading all of /proc, for kernels without CONFIG_PROC_CHILDREN.
  void scan() {
    int all = open_in_proc(".", o_rdonly | o_directory);
    if (all < 0) return;
    all_count_ = 0;
    walked_directory.begin(all);
    const char* name;
    for (u32 pid = walked_directory.next_number(name); pid != 0; pid = walked_directory.next_number(name)) {
      u32 parent = 0;
      if (all_count_ < max_processes && look_at(pid, parent)) all_[all_count_++] = {pid, parent};
    }
    close_in_proc(all);
    for (u32 i = 0; i < all_count_; ++i)
      if (all_[i].parent == root_) add(all_[i].pid, root_);
    for (u32 k = 0; k < count_; ++k)
      for (u32 i = 0; i < all_count_; ++i)
        if (all_[i].parent == found_[k].pid) add(all_[i].pid, found_[k].pid);
  }

  static constexpr u32 max_processes = 32768;

  // The members have no initializers. They are zero at the start, and take no space in the program's file.
  u32 root_;
  bool (*skips_)(u32);
  u32 count_;
  u32 all_count_;
  one found_[most];
  one all_[max_processes];  // used only if the kernel has no `children` files
};

/// The warden uses this object. After a fork, each supervisor (the process that starts a command) uses its own copy.
inline constinit descendants tree;
