// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Finding what a process has started, and signalling exactly that.
#pragma once

#include "directory.h"
#include "system.h"

/// /proc as a directory, held open so that no change of root or mount hides it; 0 where it is not there, or is that of
/// another pid namespace, whose numbers mean nothing here.
inline constinit int proc_fd = 0;
inline bool proc_has_children = false;

/// What is gone through here; one at a time.
inline constinit read_directory walked_directory = {};

inline u32 own_pid() { return static_cast<u32>(kernel(__NR_getpid)); }

inline void find_proc() {
  int opened = open_at(at_fdcwd, "/proc", o_path | o_directory);
  if (opened < 0) return;
  const int fd = static_cast<int>(kernel(__NR_fcntl, opened, dup_closing, 10));  // F_DUPFD_CLOEXEC: out of the way of 0 to 4
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
  char path[64];
  put_text(put_number(put_text(put_number(path, pid), "/task/"), pid), "/children");
  char content[2];
  proc_has_children = read_file_at(fd, path, content, sizeof content) >= 0;
}

/// Closes every descriptor from `first` on.
inline void close_from(u32 first) {
  if (kernel(__NR_close_range, first, ~0U, 0) >= 0) return;
  // Before Linux 5.9, or under an emulator or filter that does not know the call.
  int listed = proc_fd > 0 ? open_at(proc_fd, "self/fd", o_rdonly | o_directory) : -1;
  if (listed < 0) {
    for (u32 fd = first; fd < 65536; ++fd) kernel(__NR_close, fd);
    return;
  }
  for (bool closed = true; closed;) {  // what is closed moves the list, so from the start again
    closed = false;
    kernel(__NR_lseek, listed, 0, 0);
    walked_directory.begin(listed);
    const char* name;
    for (u32 fd = walked_directory.next_number(name); fd != 0; fd = walked_directory.next_number(name))
      closed |= fd >= first && fd != static_cast<u32>(listed) && kernel(__NR_close, fd) >= 0;
  }
  close_fd(listed);
}

/// Parent and state of a process; false where there is none, or it is dead.
inline bool look_at(u32 pid, u32& parent) {
  char path[32];
  put_text(put_number(path, pid), "/stat");
  char text[512];
  const long size = read_file_at(proc_fd, path, text, sizeof text);
  if (size <= 0) return false;
  long close = size - 1;  // the name may hold anything, so from the end
  while (close > 0 && text[close] != ')') --close;
  if (close == 0 || close + 4 >= size) return false;
  const char state = text[close + 2];
  if (state == 'Z' || state == 'X') return false;
  const char* at = text + close + 4;
  return take_number(at, text + size, parent);
}

/// What a process has started, at all depths. Bounded: what does not fit is found by the next look.
class descendants {
 public:
  struct one {
    u32 pid;
    u32 parent;
  };

  /// \param skips  whether a child of `root` is not to be looked at, nor what it has started; may be null.
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

  /// Sends a signal to each: never to a stranger that has got a number meanwhile.
  void signal(int number) const {
    for (u32 i = 0; i < count_; ++i) {
      // Children die before their parents: where orphans do not come to us, they are known only until then.
      const one& each = found_[number == sig_kill ? count_ - 1 - i : i];
      if (each.parent == root_) {  // ours: nobody else can take its status, so the number is not given away
        kernel(__NR_kill, each.pid, number);
        continue;
      }
      int fd = static_cast<int>(kernel(__NR_pidfd_open, each.pid, 0));
      u32 parent = 0;
      if ((fd >= 0 || fd == -ENOSYS) && look_at(each.pid, parent) && (parent == each.parent || parent == root_)) {
        if (fd >= 0)
          kernel(__NR_pidfd_send_signal, fd, number, 0, 0);
        else
          kernel(__NR_kill, each.pid, number);
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
    // The first thread's without a look at the directory: most have no other, and all children that were left to a
    // process are the first thread's.
    char path[64];
    char* behind = put_text(put_number(path, pid), "/task");
    put_text(put_number(put_text(behind, "/"), pid), "/children");
    add_listed(path, pid);
    *behind = 0;
    int tasks = open_at(proc_fd, path, o_rdonly | o_directory);
    if (tasks < 0) return;
    walked_directory.begin(tasks);
    const char* name;
    for (u32 thread = walked_directory.next_number(name); thread != 0; thread = walked_directory.next_number(name)) {
      if (thread == pid) continue;
      put_text(put_text(put_text(behind, "/"), name), "/children");
      add_listed(path, pid);
    }
    close_fd(tasks);
  }

  void add_listed(const char* path, u32 parent) {
    int fd = open_at(proc_fd, path, o_rdonly);
    if (fd < 0) return;
    char text[512];
    u32 pid = 0;
    bool inside = false;  // a number may lie across two reads
    for (;;) {
      const long got = read_fd(fd, text, sizeof text);
      if (got <= 0) break;
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
    close_fd(fd);
  }

  /// All of /proc, for kernels without CONFIG_PROC_CHILDREN.
  void scan() {
    int all = open_at(proc_fd, ".", o_rdonly | o_directory);
    if (all < 0) return;
    all_count_ = 0;
    walked_directory.begin(all);
    const char* name;
    for (u32 pid = walked_directory.next_number(name); pid != 0; pid = walked_directory.next_number(name)) {
      u32 parent = 0;
      if (all_count_ < most_processes && look_at(pid, parent)) all_[all_count_++] = {pid, parent};
    }
    close_fd(all);
    for (u32 i = 0; i < all_count_; ++i)
      if (all_[i].parent == root_) add(all_[i].pid, root_);
    for (u32 k = 0; k < count_; ++k)
      for (u32 i = 0; i < all_count_; ++i)
        if (all_[i].parent == found_[k].pid) add(all_[i].pid, found_[k].pid);
  }

  static constexpr u32 most_processes = 32768;

  // No initializers: all of it is zero at first, and none of it stands in the image.
  u32 root_;
  bool (*skips_)(u32);
  u32 count_;
  u32 all_count_;
  one found_[most];
  one all_[most_processes];  // touched only where the kernel has no children files
};

/// One of the warden's, and, after the fork, one of each supervisor's.
inline constinit descendants tree;
