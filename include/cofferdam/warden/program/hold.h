// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The hold mode: the first process of a pod. A pod has no stream to its first process that ends together with the host.
// So the warden that serves the host (called the session) is started by an exec, and the first process, called the
// holder, is the same program in hold mode. The session connects to the holder before it greets the host. When this
// connection ends, the holder kills all other processes of the pod, and waits for the next session.
//
// A guest (code in the sandbox) may have the same user as the holder. It cannot signal the first process of its pid
// namespace. It can connect to the holder, but only while a session is connected, and then it is refused: when there is
// no session, there is no guest. A guest that kills the session ends itself. A guest that suspends the session gets it
// continued a few times, and is then killed.
#pragma once

#include "processes.h"
#include "system.h"

namespace {

constexpr int exit_pod_busy = 3;   ///< the pod has a session already
constexpr int exit_told = 143;     ///< SIGTERM, for example because the node evicts the pod
constexpr int exit_no_holder = 4;  ///< the first process of the pod is no holder

constexpr u8 answer_taken = 1, answer_busy = 2;

/// The abstract address of the holder's socket. It needs no writable folder, and its name is known only in the network
/// namespace.
struct holder_address {
  u16 family = 1;
  char name[15] = {0, 'c', 'o', 'f', 'f', 'e', 'r', 'd', 'a', 'm', '-', 'h', 'o', 'l', 'd'};

  /// The length of the address, without the padding of this type: each byte of an abstract address counts.
  static constexpr long size = 17;
};

/// The process at the other end of a Unix socket; `pid` is 0 if it is in another pid namespace.
struct socket_peer {
  i32 pid = 0;
  u32 uid = 0;
  u32 gid = 0;
};

socket_peer peer_of(int fd) {
  socket_peer found;
  u32 size = sizeof found;
  if (kernel(__NR_getsockopt, fd, 1, 17, address(&found), address(&size)) < 0) return {};  // SO_PEERCRED
  return found;
}

int holder_socket(int flags) { return static_cast<int>(kernel(__NR_socket, 1, 5 | o_cloexec | flags, 0)); }

[[noreturn]] void refuse_to_start(int code, const char* why) {
  write_fd(2, why, strlen(why));
  end_process(code);
}

/// Connects this process, as the session, to the holder. Does not return if there is no holder, or if it has another
/// session.
/// \return  the descriptor of the connection, which must stay open as long as the session lives.
int join_holder() {
  const holder_address at;
  const int fd = holder_socket(0);
  long result = fd;
  for (int attempt = 0; fd >= 0 && attempt < 100; ++attempt) {  // the holder may have been started a moment ago
    result = kernel(__NR_connect, fd, address(&at), holder_address::size);
    if (result != -ECONNREFUSED && !retried(result)) break;
    const time_spec moment{0, 10'000'000};
    kernel(__NR_nanosleep, address(&moment), 0);
  }
  if (result < 0 || peer_of(fd).pid != 1)
    refuse_to_start(exit_no_holder, "warden: the first process of this pod does not hold it\n");
  u8 answer = 0;
  do {
    result = kernel(__NR_recvfrom, fd, address(&answer), 1, 0, 0, 0);
  } while (retried(result));
  if (result != 1 || answer != answer_taken) refuse_to_start(exit_pod_busy, "warden: this pod has another session\n");
  return static_cast<int>(kernel(__NR_fcntl, fd, dup_closing, 10));
}

/// The first process of a pod.
class holder {
 public:
  /// \param hold_ms  the maximum time without a session, in milliseconds, after which the process ends.
  explicit holder(u32 hold_ms) : hold_us_(u64{hold_ms} * 1000) {}

  [[noreturn]] void run() {
    if (own_pid() != 1) refuse_to_start(2, "warden: hold works only as the first process of a pod\n");
    kernel(__NR_setsid);
    find_proc();
    kernel(__NR_prctl, 4, 0, 0, 0, 0);  // PR_SET_DUMPABLE
    kernel(__NR_chdir, address("/"));
    const u64 all_signals = ~u64{0};
    kernel(__NR_rt_sigprocmask, 2, address(&all_signals), 0, sizeof all_signals);
    const u64 wanted = u64{1} << (sig_chld - 1) | u64{1} << (sig_term - 1);
    signals_ = static_cast<int>(kernel(__NR_signalfd4, -1, address(&wanted), sizeof wanted, o_cloexec | o_nonblock));
    const holder_address at;
    listener_ = holder_socket(o_nonblock);
    if (signals_ < 0 || listener_ < 0 || kernel(__NR_bind, listener_, address(&at), holder_address::size) < 0 ||
        kernel(__NR_listen, listener_, 16) < 0)
      refuse_to_start(2, "warden: cannot listen for a session\n");
    leave_at_ = now_us() + hold_us_;
    for (;;) wait();
  }

 private:
  static constexpr u64 look_us = 500'000;  ///< the time between two looks at the session
  static constexpr u32 max_stops = 3;      ///< how often a suspended session is continued

  void wait() {
    const u64 now = now_us();
    u64 until = leave_at_;
    if (session_ >= 0) until = look_at_;
    if (ending_) until = now + end_wait_us_;
    const u64 left = until > now ? until - now : 0;
    const time_spec limit{static_cast<i64>(left / 1000000), static_cast<i64>(left % 1000000) * 1000};
    poll_entry entries[4] = {
        {listener_, poll_in, 0}, {signals_, poll_in, 0}, {session_, poll_in, 0}, {session_process_, poll_in, 0}};
    const long count = kernel(__NR_ppoll, address(entries), 4, address(&limit), 0, 8);
    if (count > 0 && entries[1].happened != 0) take_signals();
    if (count > 0 && (entries[2].happened != 0 || entries[3].happened != 0)) end_session();
    if (session_ >= 0 && now_us() >= look_at_) look_at_session();
    if (ending_) end_others();
    if (count > 0 && entries[0].happened != 0) take_connections();
    if (session_ < 0 && now_us() >= leave_at_) end_process(0);  // the kernel ends the rest of the pod
  }

  void take_signals() {
    struct {
      u32 signal;
      i32 error;
      i32 code;
      u32 pid;
      u8 rest[112];
    } received;
    while (read_fd(signals_, &received, sizeof received) == static_cast<long>(sizeof received)) {
      // SIGTERM counts only if it was sent from outside of the pod (no pid) by kill(2) (code 0): a guest can send it,
      // too, but it can set neither of the two.
      if (received.signal == sig_term && received.pid == 0 && received.code == 0) end_process(exit_told);
    }
    reap();
  }

  void reap() {
    for (;;) {
      const long pid = kernel(__NR_wait4, -1, 0, wnohang | wall_children, 0);
      if (pid <= 0 && pid != -EINTR) return;
    }
  }

  void take_connections() {
    for (int turn = 0; turn < 64; ++turn) {  // a guest may connect without end, and the session must be watched, too
      int fd = static_cast<int>(kernel(__NR_accept4, listener_, 0, 0, o_cloexec | o_nonblock));
      if (fd < 0) return;
      const socket_peer peer = peer_of(fd);
      u8 byte = 0;
      // A connection that a killed guest has left in the queue is at its end. A session sends nothing.
      const bool lives = kernel(__NR_recvfrom, fd, address(&byte), 1, 0x42, 0, 0) == -EAGAIN;  // MSG_PEEK, MSG_DONTWAIT
      const u8 answer = session_ >= 0 || ending_ || peer.pid <= 1 ? answer_busy : answer_taken;
      if (lives && kernel(__NR_sendto, fd, address(&answer), 1, 0x4040, 0, 0) == 1 && answer == answer_taken) {
        session_ = fd;
        session_pid_ = static_cast<u32>(peer.pid);
        session_process_ = static_cast<int>(kernel(__NR_pidfd_open, peer.pid, 0));
        stops_ = 0;
        look_at_ = now_us() + look_us;
        continue;
      }
      close_fd(fd);
    }
  }

  /// Continues the session if a guest has suspended it. A suspended session does not notice the end of its stream.
  void look_at_session() {
    look_at_ = now_us() + look_us;
    if (proc_fd <= 0) return;
    char path[32];
    put_text(put_number(path, session_pid_), "/stat");
    char text[512];
    const long size = read_file_at(proc_fd, path, text, sizeof text);
    if (size <= 0) return;
    long close = size - 1;
    while (close > 0 && text[close] != ')') --close;
    const char state = close > 0 && close + 2 < size ? text[close + 2] : 0;
    if (state != 'T') return;
    if (++stops_ > max_stops) return end_session();
    kernel(__NR_kill, session_pid_, sig_cont);
  }

  void end_session() {
    close_fd(session_);
    close_fd(session_process_);
    ending_ = true;
    end_wait_us_ = 1000;
    leave_at_ = now_us() + hold_us_;
  }

  /// Kills all other processes of the pod. A signal to all processes is one step for the kernel, so a process cannot
  /// escape by a fork.
  void end_others() {
    const long result = kernel(__NR_kill, -1, sig_kill);
    reap();
    if (result == -ESRCH)
      ending_ = false;
    else if (end_wait_us_ < 8000)
      end_wait_us_ *= 2;
  }

  u64 hold_us_;
  int listener_ = -1;
  int signals_ = -1;
  int session_ = -1;
  int session_process_ = -1;  ///< a pidfd; negative if the kernel has none
  u32 session_pid_ = 0;
  u32 stops_ = 0;        ///< how often the session was found suspended
  bool ending_ = false;  ///< the session has ended, and other processes are left
  u64 end_wait_us_ = 0;
  u64 look_at_ = 0;
  u64 leave_at_ = 0;
};

bool is_same(const char* a, const char* b) {
  while (*a != 0 && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

/// Runs the holder.
/// \param hold_time  the maximum time without a session: milliseconds, in decimal digits.
[[noreturn]] void hold(const char* hold_time) {
  const char* at = hold_time;
  const char* const end = hold_time + strlen(hold_time);
  u32 hold_ms = 0;
  if (end - at > 9 || !take_number(at, end, hold_ms) || at != end)
    refuse_to_start(2, "warden: hold needs a time in milliseconds\n");
  holder(hold_ms).run();
}

}  // namespace
