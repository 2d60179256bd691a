// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The supervisor: a process of the warden (the helper program in a sandbox) that starts one command at a time, adopts
// the command's orphaned processes, and ends all of them. Each command has a separate supervisor process, so the kernel
// itself keeps the processes of different commands apart. A supervisor waits for orders from the warden on a socket
// pair. When no process of a command is left, it accepts the next command.
#pragma once

#include "guard.h"
#include "processes.h"

// ---- messages between the warden and a supervisor ----------------------------------------------------------------

enum class order_kind : u32 { job = 1, signal = 2, kill = 3, release = 4 };

/// A message from the warden to a supervisor. For `job`, the payload of the `spawn` frame follows, in the message or in
/// a file in memory. The message for `release` has the descriptors of the command's output, at most two.
struct order {
  order_kind kind;
  u32 size;    ///< job: the size of the payload
  u32 flags;   ///< job: the flags of the command (spawn_flag)
  u8 in_file;  ///< job: 1 if the payload is in a file, which is the last descriptor
  u8 scope;    ///< signal: the receivers (signal_scope)
  u8 number;   ///< signal: the number of the signal
};

enum class report_kind : u32 { failed = 1, exited = 2, empty = 3, killing = 4 };

/// A message from a supervisor to the warden.
struct report {
  report_kind kind;
  i32 code;   ///< failed: errno; exited: the exit code or the number of the signal
  u8 detail;  ///< failed: the step (fail_stage); exited: the kind of end (exit_how)
  u8 left;    ///< exited: 1 if other processes of the command continue
  u64 user_us;
  u64 system_us;
  u64 peak_kib;
};

/// The maximum size in bytes of a payload in the message itself. A larger payload is in a file in memory.
inline constexpr size_t max_order = 32 * 1024;

// ---- in the process that becomes the command ------------------------------------------------------------------------

struct limit_setting {
  u32 resource;
  limit_values values;
};

/// The fixed part of a `spawn` payload, the limits and the directory. Pointers refer to the payload.
struct spawn_head {
  static constexpr u32 max_limits = 16;

  u32 flags;
  u32 uid;
  u32 gid;
  u64 timeout_ms;
  u32 grace_ms;
  u32 linger_ms;
  u64 cap;
  u32 window;
  u16 rows;
  u16 columns;
  u32 limit_count;
  limit_setting limits[max_limits];
  const char* directory;
};

/// Reads the fields of `spawn_head` from the payload. Returns false if the payload is incomplete or has too many
/// limits.
[[gnu::noinline]] inline bool take_spawn_head(reader& from, spawn_head& to) {
  to.flags = from.get<u32>();
  to.uid = from.get<u32>();
  to.gid = from.get<u32>();
  to.timeout_ms = from.get<u64>();
  to.grace_ms = from.get<u32>();
  to.linger_ms = from.get<u32>();
  to.cap = from.get<u64>();
  to.window = from.get<u32>();
  to.rows = from.get<u16>();
  to.columns = from.get<u16>();
  to.limit_count = from.get<u32>();
  if (to.limit_count > spawn_head::max_limits) return false;
  for (u32 i = 0; i < to.limit_count; ++i) {
    to.limits[i].resource = from.get<u32>();
    to.limits[i].values.soft = from.get<u64>();
    to.limits[i].values.hard = from.get<u64>();
  }
  to.directory = from.text();
  return from.good();
}

/// A parsed command, and the descriptors for it.
struct command_plan : spawn_head {
  const char** candidates = nullptr;
  const char** words = nullptr;
  const char** variables = nullptr;
  int standard[3] = {-1, -1, -1};
  int directory_fd = -1;
  int failure_fd = -1;
};

/// The reason why a command could not be started, which the child process writes to a pipe.
struct child_failure {
  u8 stage;
  i32 number;
};

[[noreturn]] inline void child_fails(const command_plan& plan, wire::fail_stage stage, long result) {
  const child_failure failure{static_cast<u8>(stage), static_cast<i32>(-result)};
  write_fd(plan.failure_fd, &failure, sizeof failure);
  end_process(127);
}

/// Changes the user and the group of the calling process permanently, if requested.
[[gnu::noinline]] inline long change_identity(u32 uid, u32 gid) {
  long result = 0;
  if (uid != wire::keep_id || gid != wire::keep_id) result = kernel(__NR_setgroups, 0, 0);
  if (result >= 0 && gid != wire::keep_id) result = kernel(__NR_setresgid, gid, gid, gid);
  if (result >= 0 && uid != wire::keep_id) result = kernel(__NR_setresuid, uid, uid, uid);
  return result;
}

// Runs in the child process, which shares the memory of the suspended supervisor. It therefore must not change that
// memory.
[[noreturn]] inline void become_command(void* argument) {
  using enum wire::fail_stage;
  const command_plan& plan = *static_cast<const command_plan*>(argument);
  const auto need = [&plan](wire::fail_stage stage, long result) {
    if (result < 0) child_fails(plan, stage, result);
  };
  need(session, kernel(__NR_setsid));
  if ((plan.flags & wire::spawn_terminal) != 0) need(terminal, kernel(__NR_ioctl, plan.standard[0], 0x540e, 0));
  for (int target = 0; target <= 2; ++target) need(descriptors, kernel(__NR_dup3, plan.standard[target], target, 0));
  if (plan.directory_fd >= 0)
    need(directory, kernel(__NR_fchdir, plan.directory_fd));
  else if (plan.directory[0] != 0)
    need(directory, kernel(__NR_chdir, address(plan.directory)));
  // Limits are set after all uses of descriptors, which a limit could make fail. They are set before the change of the
  // user, after which they could not be raised.
  if ((plan.flags & wire::spawn_needs_no_new_privileges) != 0)
    need(scope, kernel(__NR_prctl, 38, 1, 0, 0, 0));  // PR_SET_NO_NEW_PRIVS
  if ((plan.flags & wire::spawn_scope) != 0) need(scope, enter_scope());
  if ((plan.flags & wire::spawn_domain) != 0) need(scope, enter_domain());
  for (u32 i = 0; i < plan.limit_count; ++i)
    need(limits, kernel(__NR_prlimit64, 0, plan.limits[i].resource, address(&plan.limits[i].values), 0));
  need(identity, change_identity(plan.uid, plan.gid));
  const u64 no_signals = 0;
  kernel(__NR_rt_sigprocmask, 2, address(&no_signals), 0, sizeof no_signals);  // SIG_SETMASK
  // Exec closes all descriptors except 0, 1 and 2, because all others were opened with O_CLOEXEC.
  long worst = -ENOENT;
  for (const char** candidate = plan.candidates; *candidate != nullptr; ++candidate) {
    const long result = kernel(__NR_execve, address(*candidate), address(plan.words), address(plan.variables));
    if (result == -ENOENT || result == -ENOTDIR) continue;
    worst = result;
    if (worst != -EACCES) break;
  }
  child_fails(plan, exec, worst);
}

// ---- the supervisor -------------------------------------------------------------------------------------------------

/// A supervisor process.
class supervisor {
 public:
  /// Serves orders until the warden closes the socket pair.
  /// \param orders  the supervisor's end of the socket pair.
  [[noreturn]] void serve(int orders) {
    orders_ = orders;
    pid_ = own_pid();
    nothing_fd = static_cast<int>(kernel(__NR_dup3, 0, 2, 0));  // a supervisor writes nothing to descriptor 2
    open_own_children();  // opened now, because a guest may exhaust descriptors later
    kernel(__NR_setsid);
    kernel(__NR_prctl, 36, 1, 0, 0, 0);  // PR_SET_CHILD_SUBREAPER
    prepare_inheritance();
    const u64 child_ended = u64{1} << (sig_chld - 1);
    signals_ =
        static_cast<int>(kernel(__NR_signalfd4, -1, address(&child_ended), sizeof child_ended, o_cloexec | o_nonblock));
    for (;;) {
      poll_entry ready[2] = {{orders_, poll_in, 0}, {signals_, poll_in, 0}};
      kernel(__NR_ppoll, address(ready), 2, 0, 0, 8);
      if (ready[1].happened != 0) {
        drain_signals();
        reap();
      }
      if (ready[0].happened != 0) take_order();
    }
  }

 private:
  // Sets the limits that every command inherits.
  static void prepare_inheritance() {
    const limit_values no_core{1, 1};  // unlike 0, also prevents a core handler program: core(5)
    kernel(__NR_prlimit64, 0, 4, address(&no_core), 0);
  }

  void tell(const report& what) { kernel(__NR_sendto, orders_, address(&what), sizeof what, 0x4000, 0, 0); }

  void fail(wire::fail_stage stage, long result) {
    report what{};
    what.kind = report_kind::failed;
    what.detail = static_cast<u8>(stage);
    what.code = static_cast<i32>(-result);
    tell(what);
  }

  void take_order() {
    size_t fd_count = 0;
    int fds[8];
    const long got = receive_message(orders_, message_, sizeof message_, 0x40, fds, 8, fd_count);
    if (got == -EAGAIN) return;
    if (got <= 0 && got != -EPROTO) {  // the warden has ended
      kill_tree();
      end_process(0);
    }
    // Only the messages for a job and for a release carry descriptors, and the latter has too few for this failure.
    if (got == -EPROTO) return fail(wire::fail_stage::descriptors, -EMFILE);
    order what{};
    if (got >= static_cast<long>(sizeof what)) memcpy(&what, message_, sizeof what);
    switch (what.kind) {
      case order_kind::job:
        start(what, message_ + sizeof what, static_cast<size_t>(got) - sizeof what, fds, fd_count);
        break;
      case order_kind::signal: signal(what); break;
      case order_kind::kill: kill_tree(); break;
      case order_kind::release: outlive(fds, fd_count);
    }
    for (size_t i = 0; i < fd_count; ++i) close_fd(fds[i]);
  }

  /// Leaves the warden, which exits. Waits until the processes of the command have ended, and discards their output
  /// meanwhile: without a reader, writing would kill them.
  [[noreturn]] void outlive(const int* outputs, size_t count) {
    close_fd(orders_);
    poll_entry ready[3] = {{signals_, poll_in, 0}, {-1, poll_in, 0}, {-1, poll_in, 0}};
    for (size_t i = 0; i < count && i < 2; ++i) ready[i + 1].fd = outputs[i];
    reap();
    while (busy_) {
      kernel(__NR_ppoll, address(ready), 3, 0, 0, 8);
      for (size_t i = 1; i <= 2; ++i) {
        if (ready[i].happened == 0) continue;
        const long got = read_fd(ready[i].fd, message_, sizeof message_);
        if (got <= 0 && got != -EAGAIN) ready[i].fd = -1;
      }
      if (ready[0].happened != 0) drain_signals();
      reap();
    }
    end_process(0);
  }

  void start(const order& what, const u8* payload, size_t size, const int* fds, size_t fd_count) {
    const size_t needed = 3 + ((what.flags & wire::spawn_directory) != 0 ? 1U : 0U) + (what.in_file != 0 ? 1U : 0U);
    if (fd_count != needed) return fail(wire::fail_stage::descriptors, -EBADF);
    command_plan plan;
    for (int i = 0; i < 3; ++i) plan.standard[i] = fds[i];
    if ((what.flags & wire::spawn_directory) != 0) plan.directory_fd = fds[3];
    void* mapped = nullptr;
    if (what.in_file != 0) {
      const long at = kernel(__NR_mmap, 0, what.size, 1, 2, fds[fd_count - 1], 0);  // PROT_READ, MAP_PRIVATE
      if (at < 0 && at > -4096) return fail(wire::fail_stage::limit, at);
      mapped = reinterpret_cast<void*>(at);
      payload = static_cast<const u8*>(mapped);
      size = what.size;
    }
    if (!take_apart(plan, payload, size))
      fail(wire::fail_stage::limit, -E2BIG);
    else
      run(plan);
    if (mapped != nullptr) kernel(__NR_munmap, address(mapped), what.size);
  }

  bool take_list(reader& from, const char**& list) {
    const u32 count = from.get<u32>();
    if (!from.good() || count > wire::max_strings || string_count_ + count + 1 > max_pointers) return false;
    list = strings_ + string_count_;
    for (u32 i = 0; i < count; ++i) strings_[string_count_++] = from.text();
    strings_[string_count_++] = nullptr;
    return from.good();
  }

  /// Parses the payload of a command. The warden has already checked the format. The check is repeated because it is
  /// cheap.
  bool take_apart(command_plan& plan, const u8* payload, size_t size) {
    reader from(payload, size);
    if (!take_spawn_head(from, plan)) return false;
    string_count_ = 0;
    return take_list(from, plan.candidates) && take_list(from, plan.words) && take_list(from, plan.variables) &&
           from.finished();
  }

  /// Enters the filter of a command, which the command inherits. Entering it once saves about a tenth of the time of a
  /// short command. The supervisor itself needs no call that the filter refuses. The warden gives it no command with
  /// another filter later.
  long enter_filter_of(u32 flags) {
    const u32 wanted = flags & filter_flags;
    if (wanted == filter_) return 0;
    kernel(__NR_prctl, 38, 1, 0, 0, 0);  // PR_SET_NO_NEW_PRIVS, which enter_filter needs
    const long result = enter_filter((wanted & wire::spawn_refuse_tracing) != 0);
    if (result >= 0) filter_ = wanted;
    return result;
  }

  void run(command_plan& plan) {
    const long filtered = enter_filter_of(plan.flags);
    if (filtered < 0) return fail(wire::fail_stage::scope, filtered);
    int failure[2];
    const long piped = kernel(__NR_pipe2, address(failure), o_cloexec);
    if (piped < 0) return fail(wire::fail_stage::pipe, piped);
    plan.failure_fd = failure[1];
    constexpr unsigned long flags = 0x100 | 0x4000 | sig_chld;  // CLONE_VM | CLONE_VFORK
    const long child = warden_clone(flags, child_stack_ + sizeof child_stack_, become_command, &plan);
    close_fd(failure[1]);
    if (child < 0) {
      close_fd(failure[0]);
      return fail(wire::fail_stage::fork, child);
    }
    child_failure reason{};
    const long got = read_fd(failure[0], &reason, sizeof reason);
    close_fd(failure[0]);
    if (got != static_cast<long>(sizeof reason)) {
      command_ = static_cast<u32>(child);
      busy_ = true;
      return;
    }
    kernel(__NR_wait4, child, 0, 0, 0);
    fail(static_cast<wire::fail_stage>(reason.stage), -reason.number);
  }

  void drain_signals() {
    u8 ignored[128 * 4];
    while (read_fd(signals_, ignored, sizeof ignored) > 0) {
    }
  }

  /// Detaches a suspended process that has made the supervisor its tracer by PTRACE_TRACEME. Passes on the signal that
  /// has suspended the process, except the SIGTRAP of execve(2).
  static void let_go_on(long pid, int status) {
    constexpr long get_signal_info = 0x4202, detach = 17;
    constexpr long sig_trap = 5;
    long number = (status >> 8) & 0xff;
    if (number == sig_trap) {
      // In siginfo_t, the third number is the origin of the signal (0: sent by a process), and the fifth is the sending
      // process.
      i32 info[32] = {};
      if (kernel(__NR_ptrace, get_signal_info, pid, 0, address(info)) >= 0 && info[2] == 0 && info[4] == pid)
        number = 0;
    }
    kernel(__NR_ptrace, detach, pid, 0, number);
  }

  /// Reaps processes that have ended. Reports the end of the command, and later that none of its processes is left.
  void reap() {
    if (!busy_) return;
    for (;;) {
      int status = 0;
      usage used{};
      const long pid = kernel(__NR_wait4, -1, address(&status), wnohang | wall_children, address(&used));
      if (pid > 0 && (status & 0xff) == 0x7f) {  // the process was suspended and has not ended
        let_go_on(pid, status);
        continue;
      }
      if (pid > 0 && pid == static_cast<long>(command_)) {
        exit_ = {};
        exit_.kind = report_kind::exited;
        const int number = status & 0x7f;
        exit_.detail = static_cast<u8>(number == 0 ? wire::exit_how::exited : wire::exit_how::signaled);
        exit_.code = number == 0 ? (status >> 8) & 0xff : number;
        exit_.user_us = static_cast<u64>(used.user_s) * 1000000 + static_cast<u64>(used.user_us);
        exit_.system_us = static_cast<u64>(used.system_s) * 1000000 + static_cast<u64>(used.system_us);
        exit_.peak_kib = static_cast<u64>(used.peak_kib);
        command_ = 0;
        ended_ = true;
        continue;
      }
      if (pid > 0) continue;
      const bool nothing_left = pid == -ECHILD;
      if (ended_) {
        ended_ = false;
        exit_.left = nothing_left ? 0 : 1;
        tell(exit_);
      } else if (nothing_left) {
        report what{};
        what.kind = report_kind::empty;
        tell(what);
      }
      if (nothing_left) busy_ = false;
      return;
    }
  }

  void signal(const order& what) {
    if (!busy_) return;
    switch (static_cast<wire::signal_scope>(what.scope)) {
      case wire::signal_scope::leader:
        if (command_ != 0) kernel(__NR_kill, command_, what.number);
        break;
      case wire::signal_scope::group:
        if (command_ != 0) kernel(__NR_kill, -static_cast<long>(command_), what.number);
        break;
      case wire::signal_scope::tree:
        tree.look(pid_, nullptr);
        if (proc_fd <= 0 && command_ != 0) kernel(__NR_kill, -static_cast<long>(command_), what.number);
        tree.signal(what.number);
        if (what.number == sig_term) tree.signal(sig_cont);  // a suspended process handles SIGTERM only after SIGCONT
        break;
    }
  }

  void pause_ms(i64 time) {
    poll_entry ready{signals_, poll_in, 0};
    const time_spec limit{0, time * 1000000};
    kernel(__NR_ppoll, address(&ready), 1, address(&limit), 0, 8);
    drain_signals();
  }

  /// Ends all processes of the command. First suspends all of them by SIGSTOP, until a scan finds no new process, so
  /// that they cannot fork while others are being killed. A process that a scan has missed becomes a child of the
  /// supervisor when its parent dies. The function therefore continues until the kernel reports that the supervisor has
  /// no children.
  void kill_tree() {
    if (!busy_) return;  // already reported; the warden would take a second report for the next command's end
    report what{};
    what.kind = report_kind::killing;
    tell(what);
    const u64 begin = now_us();
    u32 before = 0;
    for (u32 round = 0; busy_; ++round) {
      if (proc_fd <= 0 && command_ != 0) kernel(__NR_kill, -static_cast<long>(command_), sig_kill);
      tree.look(pid_, nullptr);
      const u32 found = tree.count();
      if (found == before || round >= 20) {
        tree.signal(sig_kill);
        before = 0;
      } else {
        tree.signal(sig_stop);
        before = found;
      }
      reap();
      if (!busy_) return;
      if (before == 0) pause_ms(now_us() - begin > 2000000 ? 50 : 1);
    }
  }

  static constexpr u32 max_pointers = 3 * wire::max_strings + 3;

  // The members have no initializers. They are zero at the start, and take no space in the program's file.
  int orders_;
  int signals_;
  u32 pid_;
  u32 command_;
  u32 filter_;  // the filter that the supervisor has entered; part of filter_flags
  bool busy_;   // processes of a command may be left
  bool ended_;  // the command has ended, but its end was not reported yet
  report exit_;
  u32 string_count_;
  alignas(16) u8 child_stack_[16 * 1024];
  alignas(8) u8 message_[sizeof(order) + max_order];
  const char* strings_[max_pointers];  // only the used part takes memory
};

inline constinit supervisor own_supervisor;
