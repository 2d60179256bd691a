// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Finding the descendants of a process, and signalling only those.
#pragma once

#include "directory.h"
#include "system.h"

/// The directory /proc, kept open so that no change of root or mount hides it; 0 if it does not exist, or belongs to
/// another pid namespace, whose numbers have no meaning here.
inline constinit int proc_fd = 0;
inline bool proc_has_children = false;
/// The `children` file of this process itself, which has one thread; negative if it cannot be opened. Open from the
/// start, so that the children can be found and killed even if nothing more can be opened.
inline constinit int own_children_fd = -1;

/// The directory that is being read; one at a time.
inline constinit read_directory walked_directory = {};

/// A descriptor without any use, as 0 and 1 are; negative before it is opened.
inline constinit int nothing_fd = -1;
/// True for each of the descriptors 0 and 1 that is lent to a file of /proc.
inline constinit bool lent[2] = {};

/// Opens a file of /proc, even if a guest has limited our descriptors to those in use: then 0 or 1 is closed for it.
inline int open_in_proc(const char* path, int flags) {
  int fd = open_at(proc_fd, path, flags);
  for (int spare = 0; fd == -EMFILE && spare < 2; ++spare) {
    // Restored at once, because a limit of 0 would forbid it later.
    if (lent[spare] || kernel(__NR_dup3, nothing_fd, spare, 0) < 0) continue;
    kernel(__NR_close, spare);
    fd = open_at(proc_fd, path, flags);
    if (fd == spare)
      lent[spare] = true;
    else
      kernel(__NR_dup3, nothing_fd, spare, 0);
  }
  return fd;
}

/// Closes what `open_in_proc` has opened.
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
      static_cast<int>(kernel(__NR_fcntl, opened, dup_closing, 10));  // F_DUPFD_CLOEXEC: keeps the numbers 0 to 4 free
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

/// Called in each process after its fork.
inline void open_own_children() {
  own_children_fd = -1;
  if (proc_fd <= 0) return;
  const u32 pid = own_pid();
  char path[64];
  put_text(put_number(put_text(put_number(path, pid), "/task/"), pid), "/children");
  own_children_fd = open_at(proc_fd, path, o_rdonly);
  proc_has_children = proc_has_children || own_children_fd >= 0;
}

/// Closes every descriptor from `first` on.
inline void close_from(u32 first) {
  if (kernel(__NR_close_range, first, ~0U, 0) >= 0) return;
  // Used before Linux 5.9, or under an emulator or filter that does not know the call.
  int listed = proc_fd > 0 ? open_at(proc_fd, "self/fd", o_rdonly | o_directory) : -1;
  if (listed < 0) {
    for (u32 fd = first; fd < 65536; ++fd) kernel(__NR_close, fd);
    return;
  }
  for (bool closed = true; closed;) {  // closing a descriptor changes the list, so it is read again from the start
    closed = false;
    kernel(__NR_lseek, listed, 0, 0);
    walked_directory.begin(listed);
    const char* name;
    for (u32 fd = walked_directory.next_number(name); fd != 0; fd = walked_directory.next_number(name))
      closed |= fd >= first && fd != static_cast<u32>(listed) && kernel(__NR_close, fd) >= 0;
  }
  close_fd(listed);
}

/// Reads the parent of a process. Returns false if there is no such process, or all of its threads have ended.
inline bool look_at(u32 pid, u32& parent) {
  char path[32];
  put_text(put_number(path, pid), "/stat");
  int fd = open_in_proc(path, o_rdonly);
  if (fd < 0) return false;
  char text[512];
  const long size = read_fd(fd, text, sizeof text);
  close_in_proc(fd);
  if (size <= 0) return false;
  long close = size - 1;  // the name may contain any character, so scan from the end
  while (close > 0 && text[close] != ')') --close;
  if (close == 0 || close + 4 >= size) return false;
  const char state = text[close + 2];
  if (state == 'X') return false;
  const char* const end = text + size;
  const char* at = text + close + 4;
  if (!take_number(at, end, parent)) return false;
  if (state != 'Z') return true;
  // A process whose first thread has ended has this state too, although its other threads run. The number of threads
  // distinguishes the two cases.
  constexpr int from_parent_to_threads = 16;
  for (int i = 0; i < from_parent_to_threads; ++i) {
    while (at < end && *at != ' ') ++at;
    while (at < end && *at == ' ') ++at;
  }
  u32 threads = 0;
  return take_number(at, end, threads) && threads > 1;
}

/// The descendants of a process, at all depths. Bounded: those that do not fit are found by the next scan.
class descendants {
 public:
  struct one {
    u32 pid;
    u32 parent;
  };

  /// \param skips  returns true for a child of `root` that is to be skipped, with its descendants; may be null.
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

  /// Sends a signal to each of them, but never to another process that has got the same number meanwhile. Without a
  /// pidfd (none is free, the kernel has none, or a filter refuses them) the parent is read at the last moment: a
  /// number is reused only after all others.
  void signal(int number) const {
    for (u32 i = 0; i < count_; ++i) {
      // Children are signalled before their parents: if orphans do not become our children, they can only be found
      // while their parents live.
      const one& each = found_[number == sig_kill ? count_ - 1 - i : i];
      if (each.parent == root_) {  // our child: only we can take its status, so its number is not reused
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
    if (own_children_fd >= 0 && pid == own_pid()) return add_read(own_children_fd, pid);
    // The file of the first thread is read without listing the threads: most processes have no other thread, and
    // inherited children belong to the first thread.
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
    bool inside = false;  // a number may be split between two reads
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

  /// Lists all of /proc, for kernels without CONFIG_PROC_CHILDREN.
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

  // No initializers: everything is zero at first and takes no space in the image.
  u32 root_;
  bool (*skips_)(u32);
  u32 count_;
  u32 all_count_;
  one found_[most];
  one all_[max_processes];  // used only if the kernel has no children files
};

/// The warden has one, and after the fork each supervisor has its own copy.
inline constinit descendants tree;
