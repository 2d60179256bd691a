// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The warden's timers: time limits, grace periods and the lease (the maximum time without a ping from the host). Also
// the end of the whole warden. (The warden is the helper program in a sandbox that starts and ends commands for a host;
// see warden.cpp.)
#pragma once

#include "warden.h"

namespace {

// ---- time -----------------------------------------------------------------------------------------------------------

/// Records the scheduling settings of the warden, before any command runs that could change them.
void warden::note_turn() {
  processors_size_ = kernel(__NR_sched_getaffinity, 0, sizeof processors_, address(processors_));
  policy_ = kernel(__NR_sched_getscheduler, 0);
  nice_ = 20 - kernel(__NR_getpriority, 0, 0);
}

/// Restores the scheduling settings of a process of the warden; 0 means the calling process. A guest (code in the
/// sandbox) of the same user may have moved the process to a busy processor, or lowered its priority. Without
/// privileges, only the processor can be restored.
void warden::give_turn(u32 pid) {
  kernel(__NR_prctl, 29, 50'000, 0, 0, 0);  // PR_SET_TIMERSLACK; a privileged guest may have changed it
  u64 now[16] = {};
  const long size = kernel(__NR_sched_getaffinity, pid, sizeof now, address(now));
  if (size > 0 && processors_size_ > 0 && memcmp(now, processors_, sizeof now) != 0)
    kernel(__NR_sched_setaffinity, pid, processors_size_, address(processors_));
  const i32 no_priority = 0;
  if ((policy_ == 0 || policy_ == 3) && kernel(__NR_sched_getscheduler, pid) != policy_)  // SCHED_OTHER, SCHED_BATCH
    kernel(__NR_sched_setscheduler, pid, policy_, address(&no_priority));
  if (20 - kernel(__NR_getpriority, 0, pid) != nice_) kernel(__NR_setpriority, 0, pid, nice_);
}

u64 warden::next_time() {
  u64 next = lease_end_ < orphans_at_ ? lease_end_ : orphans_at_;
  for (u32 i = 0; i < jobs_end_; ++i) {
    const job& one = jobs_[i];
    if (!one.used) continue;
    if (one.deadline < next) next = one.deadline;
    if (one.kill_at < next) next = one.kill_at;
    if (one.answer_by < next) next = one.answer_by;
  }
  return next;
}

void warden::pass_time() {
  const u64 now = now_us();
  if (lease_end_ <= now) kill_everything(true);
  for (u32 i = 0; i < jobs_end_; ++i) {
    job& one = jobs_[i];
    if (!one.used) continue;
    if (one.deadline <= now) begin_end(one, wire::exit_reason::timeout, one.grace_ms);
    if (one.kill_at <= now) order_kill(one);
    if (one.answer_by <= now && one.supervisor >= 0) take_over(one);
  }
  if (orphans_at_ <= now) sweep_orphans();
}

/// Returns true if there is a supervisor for which the warden must wait before it exits.
bool warden::has_supervisors() const {
  for (u32 i = 0; i < supervisors_end_; ++i)
    if (supervisors_[i].pid != 0 && !supervisors_[i].released) return true;
  return false;
}

/// Gives up the processes that commands with spawn_keep have left running: their supervisors leave the warden, and
/// discard their output from now on. Ends everything else.
void warden::release_kept() {
  for (u32 i = 0; i < jobs_end_; ++i) {
    job& one = jobs_[i];
    const bool is_kept = one.used && one.exited && one.supervisor >= 0 && (one.flags & wire::spawn_keep) != 0;
    if (!is_kept || one.reason != wire::exit_reason::none || one.answer_by != never) continue;
    supervisor_link& by = supervisors_[one.supervisor];
    kernel(__NR_kill, by.pid, sig_cont);  // the guest may have suspended the supervisor
    order what{};
    what.kind = order_kind::release;
    int fds[2];
    size_t count = 0;
    for (const int fd : {one.out.fd, one.err.fd})
      if (fd >= 0) fds[count++] = fd;
    if (send_message(by.orders, &what, sizeof what, nullptr, 0, fds, count) < 0) continue;  // ended with the others
    drop(by.orders);
    by.job = -1;
    by.dying = by.released = true;
    drop(one.out.fd);
    drop(one.err.fd);
    close_input(one);
    one.used = false;
    --busy_count_;
  }
  kill_everything(false);
}

/// Ends all commands: after the end of the stream, the end of the lease, or a protocol error. The warden exits when no
/// process is left.
void warden::kill_everything(bool by_lease) {
  lease_end_ = never;
  if (!closing_) {
    closing_ = true;
    drop(in_);
    if (!is_socket_) drop(out_);
    drop(worker_);
    forget_connections();
    // The worker (the process for file operations) removes its unfinished files before it exits. Waits for this at most
    // 0.2 s.
    for (int wait = 0; worker_pid_ != 0 && wait < 200; ++wait) {
      if (wait != 0) {
        const time_spec moment{0, 1000000};
        kernel(__NR_nanosleep, address(&moment), 0);
      }
      if (kernel(__NR_wait4, worker_pid_, 0, wnohang | wall_children, 0) != 0) worker_pid_ = 0;
    }
    if (own_pid() == 1) end_process(0);  // the kernel then ends all processes of the pid namespace
  }
  for (u32 i = 0; i < jobs_end_; ++i) {
    job& one = jobs_[i];
    if (!one.used) continue;
    begin_end(one, by_lease ? wire::exit_reason::lease : wire::exit_reason::killed, 0);
    one.out.cap = one.err.cap = 0;  // the rest of the output is discarded
    drop(one.out.fd);
    drop(one.err.fd);
    conclude(one);
  }
  for (u32 i = 0; i < supervisors_end_; ++i)
    if (supervisors_[i].pid != 0 && supervisors_[i].job < 0) retire(supervisors_[i]);
}

}  // namespace
