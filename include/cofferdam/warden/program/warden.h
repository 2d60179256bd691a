// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The class of the main process of the warden (the helper program in a sandbox). This process waits for all events in
// one loop. The file has its tables, its state and its functions. The function bodies are in frames.h, commands.h,
// supervisors.h, clock.h, worker.h and warden.cpp, which form one translation unit.
#pragma once

#include <cofferdam/warden/detail/wire.hpp>

#include "files.h"
#include "guard.h"
#include "processes.h"
#include "supervisor.h"
#include "system.h"

using wire::frame_type;

namespace {

constexpr u32 max_jobs = 2048;
constexpr u32 max_idle = 8;
constexpr u64 never = ~u64{0};

/// The warden's entry for one supervisor, a process that starts one command at a time.
struct supervisor_link {
  u32 pid = 0;  ///< 0 if the entry is free
  int orders = -1;
  i32 job = -1;            ///< the index of the supervisor's job; -1 if the supervisor is idle
  u32 filter = 0;          ///< the filter of its commands; part of filter_flags
  u8 stopped = 0;          ///< the number of times that a signal has suspended it
  bool dying = false;      ///< it was dismissed, and will exit
  bool released = false;   ///< it and its processes continue when the warden exits
  bool unfit = false;      ///< it could not start a command, and must be replaced
  bool condemned = false;  ///< it was sent SIGKILL, and the warden kills its processes
};

/// One output of a job (a command), if the output goes through the warden.
struct outlet {
  int fd = -1;
  u64 credit = 0;
  u64 cap = 0;      ///< the number of bytes that may still be sent
  u64 dropped = 0;  ///< the number of bytes that were discarded beyond `cap`
  u32 last = 0;     ///< the maximum number of reads before the end of the command is reported
  bool armed = false;
};

struct job {
  bool used = false;
  u32 id = 0;
  i32 supervisor = -1;
  u32 flags = 0;
  outlet out;
  outlet err;
  int in = -1;
  bool in_armed = false;
  bool in_ends = false;
  bool in_closed = false;
  bool in_line = false;   ///< the last byte of input did not end a line
  u8* in_data = nullptr;  ///< a buffer of wire::input_window bytes
  u32 in_begin = 0;
  u32 in_size = 0;
  u32 in_returned = 0;  ///< bytes that left the buffer and were not yet returned to the host as credit
  u64 begin = 0;
  u64 deadline = never;  ///< the end of the command's time limit
  u64 kill_at = never;   ///< the time of SIGKILL
  /// The time by which the supervisor must confirm that it is killing, and after that, that no process is left.
  u64 answer_by = never;
  u32 grace_ms = 0;
  u32 linger_ms = 0;
  u32 kills_before = 0;  ///< the kernel's kills for memory before the job began, as `oom_kills` counts them
  wire::exit_reason reason = wire::exit_reason::none;
  bool exited = false;   ///< the command has ended, and `exited` has been or will be sent
  bool tells = false;    ///< `exited` must be sent, but after the output in the pipes
  bool emptied = false;  ///< no process of the job is left, but there may be output in the pipes
  bool kills = false;    ///< the supervisor has confirmed that it is killing the processes
  bool lost = false;     ///< the supervisor is dead, and its processes are children of the warden
  report exit = {};
};

/// A TCP connection between a program of the guest (code in the sandbox) and the host, or a socket that listens for
/// such connections.
struct connection {
  bool used = false;
  bool listens = false;
  bool connecting = false;  ///< connect(2) has not finished
  bool reads_end = false;   ///< the guest's program sends no more bytes
  bool host_ends = false;   ///< the host sends no more bytes
  bool writes_end = false;  ///< all bytes of the host were written, and the socket's writing direction is shut
  u16 port = 0;
  u16 family = 0;
  u32 id = 0;
  int fd = -1;
  u32 armed = 0;       ///< the events for which epoll waits
  u64 credit = 0;      ///< bytes that may be sent to the host; of a listening socket: those of each new connection
  u8* data = nullptr;  ///< a buffer of wire::connection_window bytes
  u32 begin = 0;
  u32 size = 0;
  u32 returned = 0;  ///< bytes that left the buffer and were not yet returned to the host as credit
};

// The large tables. They are zero at the start, so they take no space in the program's file, and no memory before their
// first use. An entry of zeros is a free entry.
alignas(job) constinit u8 job_bytes[max_jobs * sizeof(job)] = {};
alignas(supervisor_link) constinit u8 supervisor_bytes[(max_jobs + max_idle) * sizeof(supervisor_link)] = {};
alignas(connection) constinit u8 connection_bytes[wire::max_connections * sizeof(connection)] = {};
alignas(8) constinit u8 from_worker_data[wire::header_size + wire::max_payload] = {};
alignas(8) constinit u8 to_worker_data[wire::file_window + 64 * 1024] = {};
alignas(8) constinit u8 out_data[1024 * 1024] = {};
alignas(8) constinit u8 in_data[wire::header_size + wire::max_spawn] = {};

class warden {
 public:
  [[noreturn]] void serve(bool on_socket);

 private:
  [[noreturn]] void loop();

  // The source of an epoll event, in the upper half of the event's data. The lower half is the index of a job or a
  // supervisor.
  enum class source : u32 { transport = 1, signals, supervisor, out, err, in, worker, connection };

  // ---- epoll ----
  struct __attribute__((packed)) event_x86 {
    u32 events;
    u64 data;
  };
  struct event_other {
    u32 events;
    u64 data;
  };
#if defined(__x86_64__)
  using event = event_x86;
#else
  using event = event_other;
#endif
  static constexpr u32 in_event = 1, out_event = 4, one_shot = 1U << 30;

  void watch(int operation, int fd, u32 events, source what, u32 index) {
    event wanted{events, static_cast<u64>(what) << 32 | index};
    kernel(__NR_epoll_ctl, poller_, operation, fd, address(&wanted));
  }
  void add(int fd, u32 events, source what, u32 index) { watch(1, fd, events, what, index); }
  void rearm(int fd, u32 events, source what, u32 index) { watch(3, fd, events, what, index); }
  // Removes a descriptor from epoll, and closes it. Closing alone is not enough: a supervisor that was just forked may
  // still have a copy of the descriptor, and epoll would continue to report its events.
  void drop(int& fd) {
    if (fd < 0) return;
    watch(2, fd, 0, source::transport, 0);
    close_fd(fd);
  }

  // ---- frames to the host ----
  size_t out_free() const { return sizeof out_data - (out_end_ - out_begin_); }
  u8* frame(frame_type type, u32 id, size_t size) {
    if (sizeof out_data - out_end_ < wire::header_size + size) {
      memmove(out_data, out_data + out_begin_, out_end_ - out_begin_);
      out_end_ -= out_begin_;
      out_begin_ = 0;
    }
    u8* to = out_data + out_end_;
    to = writer(to).put(static_cast<u32>(size)).put(static_cast<u8>(type)).put(id).end();
    out_end_ += wire::header_size + size;
    return to;
  }
  void flush();
  [[noreturn]] void give_up(wire::fault what, u8 type);

  // ---- frames from the host ----
  void receive();
  void take_frames();
  void take_frame(frame_type type, u32 id, const u8* payload, size_t size);
  void configure(const u8* payload, size_t size);
  void spawn(u32 id, const u8* payload, size_t size);
  void hand_over(job& one, const u8* payload, size_t size, const int* standard, int directory);
  void fail(u32 id, wire::fail_stage stage, long result);
  void take_input(job& one, const u8* payload, size_t size);
  void end_input(job& one);
  bool start_worker();
  void relay_to_worker(frame_type type, u32 id, const u8* payload, size_t size);
  void feed_worker();
  void arm_worker();
  void drain_worker();

  // ---- jobs ----
  job* find(u32 id) {
    for (u32 i = 0; i < jobs_end_; ++i)
      if (jobs_[i].used && jobs_[i].id == id) return &jobs_[i];
    return nullptr;
  }
  u32 index_of(const job& one) const { return static_cast<u32>(&one - jobs_); }
  bool make_pipes(job& one, int* standard, const spawn_head& head);
  void arm_outlet(job& one, outlet& from, source what);
  void pump(job& one, outlet& from, source what);
  void feed(job& one);
  void close_input(job& one);
  void begin_end(job& one, wire::exit_reason reason, u32 grace_ms);
  void order_kill(job& one);
  void order_signal(const job& one, u8 scope, u8 number);
  void pump_last(job& one, outlet& from, source what);
  void take_exit(job& one, const report& what);
  [[gnu::noinline]] void tell_exit(job& one);
  void tell_exits();
  void conclude(job& one);
  long read_into_frame(frame_type type, u32 id, int fd, u64 most);

  // ---- connections ----
  connection* find_connection(u32 id);
  connection* new_connection(u32 id, int fd);
  void forget(connection& one);
  void forget_connections();
  void end_connection(connection& one, long result);
  void arm(connection& one);
  void arm_connections();
  void take_connection_frame(frame_type type, u32 id, const u8* payload, size_t size);
  void listen(u32 id, u16 port, u32 credit);
  long begin_connection(connection& one, u16 family);
  void connect(u32 id, u16 port, u32 credit);
  void finish_connecting(connection& one, long result);
  void take_for_guest(connection& one, const u8* payload, size_t size);
  void write_to_guest(connection& one);
  void read_from_guest(connection& one);
  void accept_from_guest(connection& listening);
  void serve_connection(connection& one, u32 events);

  // ---- supervisors ----
  long fork_supervisor();
  void open_own_score();
  long raise_own_score(char* before);
  void become_child(int end, int root = -1);
  supervisor_link* start_supervisor();
  supervisor_link* idle_supervisor(u32 filter);
  void take_reports(supervisor_link& one);
  void take_report(supervisor_link& one, const report& what);
  void set_idle(supervisor_link& one);
  void retire(supervisor_link& one);
  void lose(supervisor_link& one);
  void condemn(supervisor_link& one);
  void take_over(job& one);
  void take_signals();
  void expect_orphans();
  void sweep_orphans();
  static bool is_kept(u32 pid);

  // ---- time ----
  void note_turn();
  void give_turn(u32 pid);
  u64 next_time();
  void pass_time();
  void kill_everything(bool by_lease);
  void release_kept();
  bool has_supervisors() const;
  void find_oom_counter();
  u32 oom_kills();

  static warden* self_;

  job* const jobs_ = reinterpret_cast<job*>(job_bytes);
  supervisor_link* const supervisors_ = reinterpret_cast<supervisor_link*>(supervisor_bytes);
  int in_ = -1;
  int out_ = -1;
  bool is_socket_ = false;
  bool out_waits_ = false;
  bool input_paused_ = false;
  bool closing_ = false;  ///< the stream has ended, and all commands are being ended
  int poller_ = -1;
  int signals_ = -1;
  int nothing_ = -1;
  int oom_fd_ = -1;
  int score_fd_ = -1;  ///< /proc/self/oom_score_adj, opened at the start: an undumpable process cannot open it
  u32 oom_count_ = 0;
  u32 machine_limit_ = max_jobs;
  bool configured_ = false;
  u32 configured_flags_ = 0;
  u32 files_uid_ = wire::keep_id;
  u32 files_gid_ = wire::keep_id;
  int root_ = -EINVAL;
  bool tells_orphans_ = true;
  u8 empty_looks_ = 0;
  u64 lease_us_ = 0;
  u64 lease_end_ = never;
  u64 orphans_at_ = never;
  u64 orphans_since_ = 0;
  u64 processors_[16] = {};  ///< the processors on which the warden may run
  long processors_size_ = 0;
  long policy_ = 0;
  long nice_ = 0;
  limit_values files_before_{};
  u32 jobs_end_ = 0;
  u32 supervisors_end_ = 0;
  u32 idle_count_ = 0;
  u32 busy_count_ = 0;

  connection* const connections_ = reinterpret_cast<connection*>(connection_bytes);
  u32 connections_end_ = 0;
  u32 accepted_ = 0;

  u32 worker_pid_ = 0;
  u32 worker_stopped_ = 0;
  int worker_ = -1;
  bool worker_armed_ = false;
  u32 asked_ = 0;  ///< the number of requests that the worker has not answered
  size_t to_worker_begin_ = 0;
  size_t to_worker_end_ = 0;
  size_t from_worker_size_ = 0;

  int queued_[32] = {};
  u32 queued_count_ = 0;

  size_t in_size_ = 0;
  size_t out_begin_ = 0;
  size_t out_end_ = 0;
  // If out_data has less free space than this, no more requests are read. The space is always sufficient for the
  // reports of the ends of commands.
  static constexpr size_t room_for_ends = 320 * 1024;
  // The time that a supervisor has to kill its processes, in microseconds. After that, the warden kills them itself.
  static constexpr u64 kill_time_us = 2'000'000;
  // The maximum number of reads of 64 KiB after the end of a command. More output could delay the report of the end.
  static constexpr u32 max_last = 256;
  // The free space in out_data that output of commands must leave, for reports and for direct answers to the host.
  static constexpr size_t room_for_answers = 400 * 1024;
};

warden* warden::self_ = nullptr;

}  // namespace
