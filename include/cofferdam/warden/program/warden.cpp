// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The warden: a separate program in the sandbox, which starts commands for a host, watches them and ends them. It
// exchanges the frames of wire.hpp with the host over one stream. If the first argument is "3", the stream is the
// socket on descriptor 3, which may carry descriptors. If the first argument is the path of a socket, the warden
// connects to it. Otherwise the stream is standard input and output. When the stream ends, the warden ends everything
// that it has started. With the arguments "hold" and a time, the program is the first process of a pod; a warden with
// the argument "held" is started in such a pod (hold.h).
//
// The main process waits for all events in one loop (warden.h). In addition there are a supervisor process for each
// running command (supervisor.h), and a process for file operations (files.h). The program has no C library and does
// not allocate. Its tables have a fixed size, and their untouched pages use no memory.

#include "warden.h"

// The order of these includes is the order of the functions in the program, so another order changes the program's
// bytes.
// clang-format off
#include "frames.h"
#include "commands.h"
#include "supervisors.h"
#include "clock.h"
#include "worker.h"
#include "connections.h"
#include "hold.h"
// clang-format on

namespace {

// ---- the main process -----------------------------------------------------------------------------------------------

void warden::serve(bool on_socket) {
  self_ = this;
  is_socket_ = on_socket;
  kernel(__NR_setsid);
  find_proc();
  open_own_score();
  kernel(__NR_prctl, 4, 0, 0, 0, 0);   // PR_SET_DUMPABLE
  kernel(__NR_prctl, 36, 1, 0, 0, 0);  // PR_SET_CHILD_SUBREAPER
  wake_at_parents_death();
  kernel(__NR_umask, 022);
  kernel(__NR_chdir, address("/"));
  for (long number = 1; number <= 64; ++number) {
    const u64 default_action[4] = {0, 0, 0, 0};
    kernel(__NR_rt_sigaction, number, address(default_action), 0, 8);
  }
  const u64 all_signals = ~u64{0};
  kernel(__NR_rt_sigprocmask, 2, address(&all_signals), 0, sizeof all_signals);
  note_turn();
  kernel(__NR_prlimit64, 0, 7, 0, address(&files_before_));  // RLIMIT_NOFILE
  const limit_values max_files{files_before_.hard, files_before_.hard};
  kernel(__NR_prlimit64, 0, 7, address(&max_files), 0);
  if (files_before_.hard < max_jobs * 5 + 64)
    machine_limit_ = files_before_.hard > 128 ? static_cast<u32>((files_before_.hard - 64) / 5) : 8;
  if (files_before_.soft < 1024 || files_before_.soft > files_before_.hard)
    files_before_.soft = files_before_.hard < 1024 ? files_before_.hard : 1024;

  // The descriptors 0 to 2 stay in use, so that no descriptor of the warden ever gets one of these numbers.
  nothing_ = open_at(at_fdcwd, "/dev/null", o_rdwr);
  if (nothing_ < 0) {  // a pipe without a writer also reads as an empty file
    int made[2];
    if (kernel(__NR_pipe2, address(made), o_cloexec) < 0) end_process(2);
    nothing_ = made[0];
    close_fd(made[1]);
  }
  in_ = static_cast<int>(kernel(__NR_fcntl, on_socket ? 3 : 0, dup_closing, 10));
  out_ = on_socket ? in_ : static_cast<int>(kernel(__NR_fcntl, 1, dup_closing, 10));
  if (in_ < 0 || out_ < 0) end_process(2);
  for (int fd = 0; fd <= 2; ++fd)
    if (fd != 2 || kernel(__NR_fcntl, 2, 1, 0) < 0) kernel(__NR_dup3, nothing_, fd, 0);
  if (on_socket) kernel(__NR_close, 3);
  nothing_ = nothing_fd = static_cast<int>(kernel(__NR_fcntl, 0, dup_closing, 10));
  kernel(__NR_fcntl, in_, 4, kernel(__NR_fcntl, in_, 3, 0) | o_nonblock);
  kernel(__NR_fcntl, out_, 4, kernel(__NR_fcntl, out_, 3, 0) | o_nonblock);

  // The descriptors of the stream are usually pipes. With a larger pipe buffer, the kernel wakes the host less often.
  if (!on_socket) {
    kernel(__NR_fcntl, in_, 1031, 1024 * 1024);  // F_SETPIPE_SZ
    kernel(__NR_fcntl, out_, 1031, 1024 * 1024);
  }
  open_own_children();
  find_oom_counter();
  poller_ = static_cast<int>(kernel(__NR_epoll_create1, o_cloexec));
  const u64 child_ended = u64{1} << (sig_chld - 1) | u64{1} << (sig_usr1 - 1);
  signals_ =
      static_cast<int>(kernel(__NR_signalfd4, -1, address(&child_ended), sizeof child_ended, o_cloexec | o_nonblock));
  if (poller_ < 0 || signals_ < 0) end_process(2);
  add(in_, in_event, source::transport, 0);
  if (!on_socket) add(out_, 0, source::transport, 1);
  add(signals_, in_event, source::signals, 0);

  u32 capabilities = 0;
  if (on_socket) capabilities |= wire::capability_descriptors;
  if (proc_fd > 0) capabilities |= wire::capability_processes;
  if (proc_has_children) capabilities |= wire::capability_children;
  i32 adopts = 0;
  if (kernel(__NR_prctl, 37, address(&adopts), 0, 0, 0) >= 0 && adopts == 1)  // PR_GET_CHILD_SUBREAPER
    capabilities |= wire::capability_adopts;
  const long landlock = landlock_abi();
  if (landlock >= 2) capabilities |= wire::capability_domain;
  if (landlock >= 6) capabilities |= wire::capability_scope;
  if (takes_filters()) capabilities |= wire::capability_filter;
  const u64 how[3] = {o_path | o_directory | o_cloexec, 0, 0};
  int probe = static_cast<int>(kernel(__NR_openat2, at_fdcwd, address("/"), address(how), sizeof how));
  if (probe >= 0) capabilities |= wire::capability_openat2;
  close_fd(probe);
  writer(frame(frame_type::hello, 0, 28))
      .put(wire::magic)
      .put(wire::version)
      .put(elf_machine)
      .put(own_pid())
      .put(static_cast<u32>(kernel(__NR_geteuid)))
      .put(static_cast<u32>(kernel(__NR_getegid)))
      .put(capabilities)
      .put(machine_limit_);
  loop();
}

void warden::loop() {
  for (;;) {
    tell_exits();
    flush();
    tell_exits();
    if (out_begin_ != out_end_ && !out_waits_) continue;
    // The warden waits until its own processes have ended. Otherwise these processes would become orphans, and the
    // sandbox's first process would have to reap them.
    if (closing_ && busy_count_ == 0 && worker_pid_ == 0 && !has_supervisors()) end_process(0);
    const u64 next = next_time();
    const u64 now = now_us();
    i64 wait = -1;
    if (next < never - 1) wait = next <= now ? 0 : static_cast<i64>((next - now + 999) / 1000);
    if (wait > 3600000) wait = 3600000;  // the system call takes an int; waking once an hour costs nothing
    // While there is nothing else to do, starts a supervisor in advance, so that the next command need not wait for the
    // supervisor's fork.
    const bool prepares = configured_ && idle_count_ == 0 && !closing_ && busy_count_ < machine_limit_;
    event events[64];
    const long count = kernel(__NR_epoll_pwait, poller_, address(events), 64, prepares ? 0 : wait, 0, 8);
    if (count == 0 && prepares) {
      if (start_supervisor() == nullptr) {  // the next command reports the reason
        kernel(__NR_epoll_pwait, poller_, address(events), 1, wait < 0 || wait > 50 ? 50 : wait, 0, 8);
      }
      pass_time();
      continue;
    }
    // The wait was interrupted, for example because the container was paused and has been resumed. Looks at the stream
    // before the clock: pings that have arrived in the meantime renew the lease.
    if (count < 0) continue;
    for (long i = 0; i < count; ++i) {
      const u32 index = static_cast<u32>(events[i].data);
      switch (static_cast<source>(events[i].data >> 32)) {
        case source::transport:
          if (closing_) break;
          if (index == 1 || (events[i].events & out_event) != 0) {
            if (index == 1 && (events[i].events & (8 | 16)) != 0) {  // EPOLLERR, EPOLLHUP: the host closed the stream
              kill_everything(false);
              break;
            }
            flush();
          }
          if (index == 0 && (events[i].events & ~out_event) != 0 && !closing_) receive();
          break;
        case source::signals: take_signals(); break;
        case source::supervisor:
          if (supervisors_[index].pid != 0) take_reports(supervisors_[index]);
          break;
        case source::out:
          if (jobs_[index].used) pump(jobs_[index], jobs_[index].out, source::out);
          break;
        case source::err:
          if (jobs_[index].used) pump(jobs_[index], jobs_[index].err, source::err);
          break;
        case source::in:
          if (jobs_[index].used) feed(jobs_[index]);
          break;
        case source::connection:
          if (connections_[index].used) serve_connection(connections_[index], events[i].events);
          break;
        case source::worker:
          worker_armed_ = false;
          if ((events[i].events & out_event) != 0) feed_worker();
          if ((events[i].events & ~out_event) != 0) drain_worker();
          arm_worker();
          break;
      }
    }
    if (in_size_ >= wire::header_size && !closing_) take_frames();  // frames that waited for space
    pass_time();
  }
}

/// Connects to the Unix socket at a path. Returns its descriptor; negative if no process listens on the socket.
int connect_to(const char* path) {
  struct {
    u16 family;
    char path[108];
  } to{1, {}};
  for (size_t i = 0; path[i] != 0; ++i) {
    if (i + 1 == sizeof to.path) return -ENAMETOOLONG;
    to.path[i] = path[i];
  }
  int fd = static_cast<int>(kernel(__NR_socket, 1, 1 | o_cloexec, 0));
  if (fd >= 0 && kernel(__NR_connect, fd, address(&to), sizeof to) < 0) {
    close_fd(fd);
    return -ENOENT;
  }
  return fd;
}

}  // namespace

/// The entry point of the program. Without an argument, the stream is the descriptors 0 and 1. The argument `3` means
/// the socket on descriptor 3. A path means a Unix socket to connect to; if that fails, the stream is the descriptors 0
/// and 1. The arguments `hold` and `held` are explained in hold.h; the stream of `held` is the descriptors 0 and 1.
extern "C" [[noreturn]] void warden_start(const long* stack) {
  const char* const where = stack[0] >= 2 ? reinterpret_cast<const char*>(stack[2]) : "";
  bool on_socket = where[0] == '3';
  if (where[0] == '/') {
    int fd = connect_to(where);
    on_socket = fd >= 0;
    if (on_socket && fd != 3) {
      kernel(__NR_dup3, fd, 3, 0);
      close_fd(fd);
    }
  }
  if (is_same(where, "hold")) hold(stack[0] >= 3 ? reinterpret_cast<const char*>(stack[3]) : "");
  if (is_same(where, "held") && join_holder() < 0) end_process(2);
  warden the_warden;
  the_warden.serve(on_socket);
}
