// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// The warden's side of its supervisors (the processes that start commands; see supervisor.h): starting, using and
// replacing supervisors, and ending the processes that a killed supervisor leaves.
#pragma once

#include "warden.h"

namespace {

// ---- supervisors ----------------------------------------------------------------------------------------------------

/// Forks a process whose exit signal is not SIGCHLD. A wait without __WALL therefore ignores this process.
/// sweep_orphans uses such a wait to find the processes that a killed supervisor has left. Emulators support only
/// SIGCHLD.
long warden::fork_supervisor() {
  const long pid = kernel(__NR_clone, sig_usr1);
  if (pid != -EINVAL) return pid;
  tells_orphans_ = false;
  return kernel(__NR_clone, sig_chld);
}

constexpr size_t score_size = 16;

/// Opens the file /proc/self/oom_score_adj, the warden's priority for being killed when memory is short. This must
/// happen while the warden is dumpable. Later the warden cannot open the file without privileges, but it can still
/// write to the open descriptor.
void warden::open_own_score() {
  if (proc_fd <= 0) return;
  int opened = open_at(proc_fd, "self/oom_score_adj", o_rdwr);
  if (opened < 0) return;
  score_fd_ = static_cast<int>(kernel(__NR_fcntl, opened, dup_closing, 10));
  close_fd(opened);
}

/// Raises the warden's score for the next fork. A supervisor inherits the raised score, and so do its commands, so the
/// kernel kills supervisors and commands before the warden when memory is short. Never lowers the score.
/// \param before  receives the text that restores the score; it has `score_size` bytes.
/// \return  the size of that text; 0 or less if the score was not changed.
long warden::raise_own_score(char* before) {
  if (score_fd_ < 0) return 0;
  const long size = kernel(__NR_pread64, score_fd_, address(before), score_size, 0);
  if (size <= 0) return 0;
  const char* at = before;
  u32 value = 0;
  if (take_number(at, before + size, value) && value >= 500) return 0;  // a negative score begins with a sign
  return kernel(__NR_pwrite64, score_fd_, address("500"), 3, 0) < 0 ? 0 : size;
}

/// Makes the kernel send SIGCONT to the calling process when its parent dies. A process that a guest (code in the
/// sandbox) has suspended then continues, and reads the end of its stream. The kernel may also send the signal when
/// only a thread of the parent has ended; a running process ignores it.
void wake_at_parents_death() { kernel(__NR_prctl, 1, sig_cont, 0, 0, 0); }  // PR_SET_PDEATHSIG

/// Prepares a new process, a supervisor or the worker. The process keeps only these descriptors besides 0, 1 and 2: its
/// end of a socket pair as number 3, /proc as 4 and, in the worker (the process for file operations), the root as 5.
/// Before this function, /proc and the root have numbers of at least 10.
void warden::become_child(int end, int root) {
  wake_at_parents_death();
  if (end != 3) kernel(__NR_dup3, end, 3, o_cloexec);
  kernel(__NR_close, 4);
  kernel(__NR_close, 5);
  if (proc_fd > 0) kernel(__NR_dup3, proc_fd, 4, o_cloexec);
  if (proc_fd > 0) proc_fd = 4;
  if (root >= 0) kernel(__NR_dup3, root, 5, o_cloexec);
  close_from(6);
  kernel(__NR_prlimit64, 0, 7, address(&files_before_), 0);
}

supervisor_link* warden::start_supervisor() {
  supervisor_link* free = nullptr;
  for (u32 i = 0; i < max_jobs + max_idle && free == nullptr; ++i)
    if (supervisors_[i].pid == 0) free = &supervisors_[i];
  if (free == nullptr) return nullptr;
  int pair[2];
  if (kernel(__NR_socketpair, 1, 5 | o_cloexec, 0, address(pair)) < 0) return nullptr;  // AF_UNIX, SOCK_SEQPACKET
  char score[score_size];
  const long score_length = raise_own_score(score);
  const long pid = fork_supervisor();
  if (pid == 0) {
    become_child(pair[1]);
    own_supervisor.serve(3);
  }
  // Lowering the score fails only if a privileged process has set a higher minimum. The raised score then stays.
  if (score_length > 0) kernel(__NR_pwrite64, score_fd_, address(score), score_length, 0);
  close_fd(pair[1]);
  if (pid < 0) {
    close_fd(pair[0]);
    return nullptr;
  }
  *free = supervisor_link();
  free->pid = static_cast<u32>(pid);
  free->orders = pair[0];
  kernel(__NR_fcntl, free->orders, 4, o_nonblock);
  const u32 index = static_cast<u32>(free - supervisors_);
  if (index >= supervisors_end_) supervisors_end_ = index + 1;
  add(free->orders, in_event, source::supervisor, index);
  ++idle_count_;
  return free;
}

/// Returns an idle supervisor that has entered the filter, or one that can still enter it; otherwise null.
supervisor_link* warden::idle_supervisor(u32 filter) {
  if (idle_count_ == 0) return nullptr;
  for (u32 i = 0; i < supervisors_end_; ++i) {
    supervisor_link& idle = supervisors_[i];
    if (idle.pid != 0 && idle.job < 0 && !idle.dying && (idle.filter == 0 || idle.filter == filter)) return &idle;
  }
  return nullptr;
}

void warden::set_idle(supervisor_link& one) {
  one.job = -1;
  ++idle_count_;
  if (idle_count_ > max_idle || closing_ || one.stopped != 0 || one.condemned || one.unfit) retire(one);
}

/// Dismisses an idle supervisor. It exits when the warden's end of the socket pair is closed.
void warden::retire(supervisor_link& one) {
  if (one.dying) return;
  --idle_count_;
  one.dying = true;
  drop(one.orders);
}

void warden::take_reports(supervisor_link& one) {
  while (one.orders >= 0) {
    report what{};
    const long got = kernel(__NR_recvfrom, one.orders, address(&what), sizeof what, 0x40, 0, 0);
    if (got == -EINTR) continue;
    if (got == static_cast<long>(sizeof what)) {
      take_report(one, what);
      continue;
    }
    if (got != -EAGAIN) drop(one.orders);  // the supervisor is dead, and its SIGCHLD has arrived or will arrive
    return;
  }
}

void warden::take_report(supervisor_link& one, const report& what) {
  if (one.job < 0) return;
  job& its = jobs_[one.job];
  const auto release = [this, &one, &its] {
    its.supervisor = -1;
    its.emptied = true;
    its.kill_at = its.answer_by = never;
    set_idle(one);
  };
  switch (what.kind) {
    case report_kind::failed:
      fail(its.id, static_cast<wire::fail_stage>(what.detail), -what.code);
      one.unfit = what.detail <= static_cast<u8>(wire::fail_stage::descriptors);  // the supervisor may be the cause
      release();
      drop(its.out.fd);
      drop(its.err.fd);
      close_input(its);
      its.used = false;
      --busy_count_;
      return;
    case report_kind::exited:
      take_exit(its, what);
      if (what.left == 0) release();
      break;
    case report_kind::empty: release(); break;
    case report_kind::killing:
      its.kills = true;
      if (!one.condemned) its.answer_by = now_us() + kill_time_us;
      break;
  }
  conclude(its);
}

/// Handles the death of a supervisor. The processes of its command become children of the warden. The command's exit
/// status is unknown. The command is over when the warden has no children except supervisors and the worker.
void warden::lose(supervisor_link& one) {
  if (one.orders >= 0) take_reports(one);
  drop(one.orders);
  if (!one.dying && one.job < 0) --idle_count_;
  if (one.job >= 0) {
    job& its = jobs_[one.job];
    its.supervisor = -1;
    its.lost = true;
    its.deadline = its.kill_at = its.answer_by = never;
    if (!its.exited) {
      report what{};
      what.detail = static_cast<u8>(wire::exit_how::lost);
      what.left = 1;
      take_exit(its, what);
    }
    expect_orphans();
  }
  one = supervisor_link();
  while (supervisors_end_ != 0 && supervisors_[supervisors_end_ - 1].pid == 0) --supervisors_end_;
}

void warden::take_signals() {
  u8 ignored[128 * 4];
  while (read_fd(signals_, ignored, sizeof ignored) > 0) {
  }
  for (;;) {
    int status = 0;
    const long pid = kernel(__NR_wait4, -1, address(&status), wnohang | wstopped | wall_children, 0);
    if (pid == -EINTR) continue;
    if (pid <= 0) return;
    const bool stopped = (status & 0xff) == 0x7f;
    if (static_cast<u32>(pid) == worker_pid_) {
      if (!stopped)
        worker_pid_ = 0;
      else  // suspended: handled as a suspended supervisor, below
        kernel(__NR_kill, pid, ++worker_stopped_ <= 3 ? sig_cont : sig_kill);
      continue;
    }
    for (u32 i = 0; i < supervisors_end_; ++i) {
      if (supervisors_[i].pid != static_cast<u32>(pid)) continue;
      if (!stopped) {
        lose(supervisors_[i]);
      } else if (++supervisors_[i].stopped <= 3) {  // only its own guest can have a reason to suspend it
        kernel(__NR_kill, pid, sig_cont);
      } else {
        condemn(supervisors_[i]);
      }
      break;
    }
  }
}

/// Kills a supervisor. When it is dead, its processes become children of the warden. The warden begins to kill these
/// processes while the supervisor still exists, because a supervisor that gets no processor time does not die at once.
void warden::condemn(supervisor_link& one) {
  kernel(__NR_kill, one.pid, sig_kill);
  one.condemned = true;
  expect_orphans();
}

/// Ends a command whose supervisor has not answered in time.
void warden::take_over(job& one) {
  one.answer_by = never - 1;
  supervisor_link& by = supervisors_[one.supervisor];
  give_turn(0);
  give_turn(by.pid);
  if (one.kills) {
    tree.look(by.pid, nullptr);
    writer(frame(frame_type::stuck, one.id, 4)).put(tree.count());
  }
  condemn(by);
}

bool warden::is_kept(u32 pid) {
  if (pid == self_->worker_pid_) return true;
  for (u32 i = 0; i < self_->supervisors_end_; ++i)
    if (self_->supervisors_[i].pid == pid) return !self_->supervisors_[i].condemned;
  return false;
}

void warden::expect_orphans() {
  if (orphans_at_ == never) orphans_since_ = now_us();
  orphans_at_ = 0;
}

/// Kills the processes that dead supervisors have left, and those of condemned supervisors. Works in turns, so that
/// other commands continue meanwhile.
void warden::sweep_orphans() {
  bool any = false;
  for (u32 i = 0; i < jobs_end_; ++i) {
    const job& one = jobs_[i];
    if (!one.used || one.emptied) continue;
    any = any || one.lost || (one.supervisor >= 0 && supervisors_[one.supervisor].condemned);
  }
  if (!any) {
    orphans_at_ = never;
    return;
  }
  u32 before = ~0U;
  for (int round = 0; round < 4; ++round) {
    tree.look(own_pid(), is_kept);
    if (tree.count() == 0) break;
    tree.signal(tree.count() == before || round == 3 ? sig_kill : sig_stop);
    before = tree.count();
  }
  take_signals();
  const u64 now = now_us();
  // a process that survives SIGKILL is probably waiting for a disk
  orphans_at_ = now + (now - orphans_since_ < kill_time_us ? 1000 : 50'000);
  if (tells_orphans_) {
    const long left = kernel(__NR_wait4, -1, 0, wnohang, 0);
    if (left != -ECHILD) return;
  } else {  // one scan may miss a process, so five scans in a row must find none
    tree.look(own_pid(), is_kept);
    empty_looks_ = tree.count() == 0 ? empty_looks_ + 1 : 0;
    if (empty_looks_ < 5) return;
    empty_looks_ = 0;
  }
  for (u32 i = 0; i < jobs_end_; ++i) {
    job& one = jobs_[i];
    if (!one.used || !one.lost || one.emptied) continue;
    one.emptied = true;
    conclude(one);
  }
}

}  // namespace
