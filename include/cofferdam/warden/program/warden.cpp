// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The warden: a program of its own that stands inside a wall, starts commands for a host, watches them and ends them.
// It speaks the frames of wire.hpp over one stream: descriptor 3 where its first argument is "3" (a socket, which may
// carry descriptors), else standard input and output. When the stream ends, everything it has started ends.
//
// One process that waits in one place (`warden::serve`), a supervisor process a command (supervisor.h), and a process
// for file operations (files.h). No libc, no allocation: tables of fixed size, whose untouched pages cost nothing.

#include <cofferdam/warden/wire.hpp>

#include "files.h"
#include "processes.h"
#include "supervisor.h"
#include "system.h"

using wire::frame_type;

namespace {

constexpr u32 most_jobs = 2048;
constexpr u32 most_idle = 8;
constexpr u64 never = ~u64{0};

/// A supervisor process.
struct keeper {
  u32 pid = 0;  ///< 0: the slot is free
  int orders = -1;
  i32 job = -1;        ///< its index; -1: idle
  u8 stopped = 0;      ///< how often somebody has stopped it
  bool dying = false;  ///< it has been told to go, or we have killed it
};

/// One output of a job, where it goes through us.
struct outlet {
  int fd = -1;
  u64 credit = 0;
  u64 cap = 0;      ///< bytes that may still be sent
  u64 dropped = 0;  ///< bytes beyond
  u32 last = 0;     ///< so many reads more may come before the host hears of the command's end
  bool armed = false;
};

struct job {
  bool used = false;
  u32 id = 0;
  i32 keeper = -1;
  u32 flags = 0;
  outlet out;
  outlet err;
  int in = -1;
  bool in_armed = false;
  bool in_ends = false;
  bool in_closed = false;
  bool in_line = false;   ///< the last byte written ended no line
  u8* in_data = nullptr;  ///< wire::input_window bytes
  u32 in_begin = 0;
  u32 in_size = 0;
  u32 in_returned = 0;  ///< consumed, and not yet given back as credit
  u64 begin = 0;
  u64 deadline = never;   ///< the command's time limit
  u64 kill_at = never;    ///< SIGKILL is due
  u64 answer_by = never;  ///< its supervisor has to have confirmed by then that it kills
  u32 grace_ms = 0;
  u32 linger_ms = 0;
  wire::exit_reason reason = wire::exit_reason::none;
  bool exited = false;   ///< `exited` has been sent, or is about to be
  bool tells = false;    ///< `exited` waits for what stands in the pipes
  bool emptied = false;  ///< nothing of it is left but what stands in the pipes
  bool lost = false;     ///< its supervisor is gone, and what it had started is ours now
  report exit = {};
};

// The large tables. All zero at first, so that they take no room in the image and no memory until they are used; a zero
// job or keeper is a free one.
alignas(job) constinit u8 job_bytes[most_jobs * sizeof(job)] = {};
alignas(keeper) constinit u8 keeper_bytes[(most_jobs + most_idle) * sizeof(keeper)] = {};
alignas(8) constinit u8 from_worker_data[wire::header_size + wire::longest_payload] = {};
alignas(8) constinit u8 to_worker_data[wire::file_window + 64 * 1024] = {};
alignas(8) constinit u8 out_data[1024 * 1024] = {};
alignas(8) constinit u8 in_data[wire::header_size + wire::longest_spawn] = {};

class warden {
 public:
  [[noreturn]] void serve(bool on_socket);

 private:
  [[noreturn]] void loop();

  // What an event of epoll stands for; the index of a job or keeper stands below.
  enum class source : u32 { transport = 1, signals, keeper, out, err, in, worker };

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
  // A forked supervisor shares what a closed descriptor stood for until it has closed its own: so it is taken out by hand.
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

  // ---- supervisors ----
  long fork_keeper();
  void become_child(int end, int root = -1);
  keeper* start_keeper();
  keeper* idle_keeper();
  void take_reports(keeper& one);
  void take_report(keeper& one, const report& what);
  void set_idle(keeper& one);
  void retire(keeper& one);
  void lose(keeper& one);
  void take_signals();
  void sweep_orphans();
  static bool is_kept(u32 pid);

  // ---- time ----
  u64 next_time();
  void pass_time();
  void kill_everything(bool by_lease);
  void find_oom_counter();
  u32 oom_kills();

  static warden* self_;

  job* const jobs_ = reinterpret_cast<job*>(job_bytes);
  keeper* const keepers_ = reinterpret_cast<keeper*>(keeper_bytes);
  int in_ = -1;
  int out_ = -1;
  bool is_socket_ = false;
  bool out_waits_ = false;
  bool input_paused_ = false;
  bool closing_ = false;  ///< the stream has ended: everything goes
  int poller_ = -1;
  int signals_ = -1;
  int nothing_ = -1;
  int oom_fd_ = -1;
  u32 oom_seen_ = 0;
  u32 machine_limit_ = most_jobs;
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
  limit_values files_before_{};
  u32 jobs_end_ = 0;
  u32 keepers_end_ = 0;
  u32 idle_count_ = 0;
  u32 busy_count_ = 0;

  u32 worker_pid_ = 0;
  u32 worker_stopped_ = 0;
  int worker_ = -1;
  bool worker_armed_ = false;
  u32 asked_ = 0;  ///< requests that the worker has not answered
  size_t to_worker_begin_ = 0;
  size_t to_worker_end_ = 0;
  size_t from_worker_size_ = 0;

  int queued_[32] = {};
  u32 queued_count_ = 0;

  size_t in_size_ = 0;
  size_t out_begin_ = 0;
  size_t out_end_ = 0;
  // Room in out_data for what must never wait (how commands ended), and for what answers the host directly.
  static constexpr size_t room_for_ends = 320 * 1024;
  static constexpr u32 most_last = 256;  // reads of 64 KiB: what goes on to write must not keep the end back
  static constexpr size_t room_for_answers = 400 * 1024;
};

warden* warden::self_ = nullptr;

// ---- to the host ------------------------------------------------------------------------------------------------------

void warden::flush() {
  if (closing_) {
    out_begin_ = out_end_ = 0;
    return;
  }
  while (out_begin_ != out_end_) {
    const long sent =
        is_socket_ ? kernel(__NR_sendto, out_, address(out_data + out_begin_), static_cast<long>(out_end_ - out_begin_),
                            0x4040, 0, 0)
                   : kernel(__NR_write, out_, address(out_data + out_begin_), static_cast<long>(out_end_ - out_begin_));
    if (sent == -EINTR) continue;
    if (sent == -EAGAIN) break;
    if (sent < 0) {  // nobody reads any more
      out_begin_ = out_end_ = 0;
      kill_everything(false);
      return;
    }
    out_begin_ += static_cast<size_t>(sent);
  }
  if (out_begin_ == out_end_) out_begin_ = out_end_ = 0;
  const bool waits = out_begin_ != out_end_;
  if (waits != out_waits_) {
    out_waits_ = waits;
    if (is_socket_)
      rearm(in_, (input_paused_ ? 0 : in_event) | (waits ? out_event : 0), source::transport, 0);
    else
      rearm(out_, waits ? out_event : 0, source::transport, 1);
  }
  const bool pause = out_free() < room_for_ends;
  if (pause != input_paused_) {
    input_paused_ = pause;
    rearm(in_, (pause ? 0 : in_event) | (is_socket_ && out_waits_ ? out_event : 0), source::transport, 0);
  }
  if (out_free() < room_for_answers + wire::longest_payload) return;
  arm_worker();
  for (u32 i = 0; i < jobs_end_; ++i) {
    if (!jobs_[i].used) continue;
    arm_outlet(jobs_[i], jobs_[i].out, source::out);
    arm_outlet(jobs_[i], jobs_[i].err, source::err);
  }
}

void warden::give_up(wire::fault what, u8 type) {
  out_begin_ = out_end_ = 0;
  writer(frame(frame_type::protocol_error, 0, 2)).put(static_cast<u8>(what)).put(type);
  flush();
  kill_everything(false);
  loop();
}

// ---- from the host ----------------------------------------------------------------------------------------------------

void warden::receive() {
  long got;
  if (is_socket_) {
    int fds[8];
    size_t count = 0;
    got = receive_message(in_, in_data + in_size_, sizeof in_data - in_size_, 0x40, fds, 8, count);
    if (got == -EPROTO) give_up(wire::fault::descriptors, 0);
    for (size_t i = 0; i < count; ++i) {
      if (queued_count_ == sizeof queued_ / sizeof *queued_) give_up(wire::fault::descriptors, 0);
      queued_[queued_count_++] = fds[i];
    }
  } else {
    got = read_fd(in_, in_data + in_size_, sizeof in_data - in_size_);
  }
  if (got == -EAGAIN) return;
  if (got <= 0) {
    kill_everything(false);
    return;
  }
  in_size_ += static_cast<size_t>(got);
  take_frames();
}

void warden::take_frames() {
  size_t at = 0;
  while (in_size_ - at >= wire::header_size && out_free() >= room_for_ends && !closing_) {
    reader head(in_data + at, wire::header_size);
    const u32 size = head.get<u32>();
    const u8 type = head.get<u8>();
    const u32 id = head.get<u32>();
    const size_t most = type == static_cast<u8>(frame_type::spawn) ? wire::longest_spawn : wire::longest_payload;
    if (size > most) give_up(wire::fault::too_long, type);
    if (in_size_ - at - wire::header_size < size) break;
    take_frame(static_cast<frame_type>(type), id, in_data + at + wire::header_size, size);
    at += wire::header_size + size;
  }
  if (at == 0) return;
  memmove(in_data, in_data + at, in_size_ - at);
  in_size_ -= at;
}

void warden::take_frame(frame_type type, u32 id, const u8* payload, size_t size) {
  const u8 number = static_cast<u8>(type);
  reader from(payload, size);
  if (type == frame_type::configure) return configure(payload, size);
  if (!configured_) give_up(wire::fault::unexpected, number);
  if (type == frame_type::spawn) return spawn(id, payload, size);
  if (type == frame_type::ping) {
    if (size > 64) give_up(wire::fault::too_long, number);
    if (lease_us_ != 0) lease_end_ = now_us() + lease_us_;
    memcpy(frame(frame_type::pong, id, size), payload, size);
    return;
  }
  if (type == frame_type::kill_all) {
    for (u32 i = 0; i < jobs_end_; ++i)
      if (jobs_[i].used) begin_end(jobs_[i], wire::exit_reason::killed, 0);
    return;
  }
  if (number >= 0x20 && number <= 0x2a) return relay_to_worker(type, id, payload, size);
  job* one = find(id);  // none: it is over, and the host will have heard by the time it reads this
  switch (type) {
    case frame_type::input:
      if (one != nullptr) take_input(*one, payload, size);
      return;
    case frame_type::input_end:
      if (one != nullptr) end_input(*one);
      return;
    case frame_type::signal: {
      const u8 scope = from.get<u8>();
      const u8 signal = from.get<u8>();
      if (!from.finished() || scope > 2 || signal == 0 || signal > 64) give_up(wire::fault::malformed, number);
      if (one != nullptr) order_signal(*one, scope, signal);
      return;
    }
    case frame_type::kill: {
      const u32 grace = from.get<u32>();
      if (!from.finished()) give_up(wire::fault::malformed, number);
      if (one != nullptr) begin_end(*one, wire::exit_reason::killed, grace);
      return;
    }
    case frame_type::credit: {
      const u8 stream = from.get<u8>();
      const u32 more = from.get<u32>();
      if (!from.finished() || stream < 1 || stream > 2) give_up(wire::fault::malformed, number);
      if (one == nullptr) return;
      (stream == 1 ? one->out : one->err).credit += more;
      arm_outlet(*one, stream == 1 ? one->out : one->err, stream == 1 ? source::out : source::err);
      return;
    }
    case frame_type::resize: {
      struct {
        u16 rows, columns, x, y;
      } window{from.get<u16>(), from.get<u16>(), 0, 0};
      if (!from.finished()) give_up(wire::fault::malformed, number);
      if (one != nullptr && (one->flags & wire::spawn_terminal) != 0 && one->in >= 0)
        kernel(__NR_ioctl, one->in, 0x5414, address(&window));  // TIOCSWINSZ
      return;
    }
    default: give_up(wire::fault::unknown_type, number);
  }
}

void warden::configure(const u8* payload, size_t size) {
  const u8 number = static_cast<u8>(frame_type::configure);
  reader from(payload, size);
  const u32 flags = from.get<u32>();
  const u32 lease_ms = from.get<u32>();
  const char* root = from.text();
  if ((flags & wire::configure_identity) != 0) {
    files_uid_ = from.get<u32>();
    files_gid_ = from.get<u32>();
  }
  if (!from.finished() || (flags & ~u32{wire::configure_component_walk | wire::configure_identity}) != 0)
    give_up(wire::fault::malformed, number);
  if (configured_) give_up(wire::fault::unexpected, number);
  configured_ = true;
  lease_us_ = u64{lease_ms} * 1000;
  if (lease_us_ != 0) lease_end_ = now_us() + lease_us_;
  configured_flags_ = flags;
  // Opened once: a worker that has to be started again gets the same directory, whatever stands there by then.
  int opened = root[0] == 0 ? -EINVAL : open_at(at_fdcwd, root, o_path | o_directory);
  root_ = opened;
  if (opened < 0) return;
  root_ = static_cast<int>(kernel(__NR_fcntl, opened, dup_closing, 10));
  close_fd(opened);
}

void warden::fail(u32 id, wire::fail_stage stage, long result) {
  writer(frame(frame_type::failed, id, 5)).put(static_cast<u8>(stage)).put(static_cast<i32>(-result));
}

void warden::spawn(u32 id, const u8* payload, size_t size) {
  const u8 number = static_cast<u8>(frame_type::spawn);
  reader from(payload, size);
  spawn_head head;
  bool good = take_spawn_head(from, head);
  for (int list = 0; list < 3 && good; ++list) {
    const u32 count = from.get<u32>();
    good = count <= wire::most_strings && (list == 2 || count != 0);
    for (u32 i = 0; i < count && good; ++i) good = from.text() != nullptr;
  }
  const u32 flags = head.flags;
  if (!good || !from.finished() || (flags & ~u32{wire::spawn_all_flags}) != 0) give_up(wire::fault::malformed, number);
  if (find(id) != nullptr) give_up(wire::fault::unexpected, number);

  int standard[3] = {nothing_, -1, -1};
  int directory = -1;
  const bool has_descriptors = (flags & wire::spawn_descriptors) != 0;
  const u32 first = (flags & wire::spawn_open_input) != 0 ? 0 : 1;
  const u32 wanted = (has_descriptors ? 3 - first : 0U) + ((flags & wire::spawn_directory) != 0 ? 1U : 0U);
  if (wanted > queued_count_) give_up(wire::fault::descriptors, number);
  if (has_descriptors && (flags & wire::spawn_terminal) != 0) give_up(wire::fault::malformed, number);
  u32 taken = 0;
  for (u32 i = first; has_descriptors && i < 3; ++i) standard[i] = queued_[taken++];
  if (taken < wanted) directory = queued_[taken];
  queued_count_ -= wanted;
  memmove(queued_, queued_ + wanted, queued_count_ * sizeof *queued_);

  job* one = nullptr;
  for (u32 i = 0; i < machine_limit_ && one == nullptr; ++i)
    if (!jobs_[i].used) one = &jobs_[i];
  if (one == nullptr) {
    fail(id, wire::fail_stage::limit, -EAGAIN);
  } else {
    if (busy_count_ == 0) oom_kills();  // what came before is not this command's
    *one = job();
    one->used = true;
    one->id = id;
    one->flags = flags;
    one->begin = now_us();
    if (head.timeout_ms != 0 && head.timeout_ms < never / 2000) one->deadline = one->begin + head.timeout_ms * 1000;
    one->grace_ms = head.grace_ms;
    one->linger_ms = head.linger_ms;
    one->out.credit = one->err.credit = head.window;
    one->out.cap = one->err.cap = head.cap != 0 ? head.cap : never;
    if (index_of(*one) >= jobs_end_) jobs_end_ = index_of(*one) + 1;
    ++busy_count_;
    if (has_descriptors || make_pipes(*one, standard, head)) hand_over(*one, payload, size, standard, directory);
    if (!one->used || one->keeper < 0) {
      drop(one->out.fd);
      drop(one->err.fd);
      one->emptied = true;
      close_input(*one);
      one->used = false;
      --busy_count_;
    }
  }
  for (int& fd : standard) {
    const int closed = fd;
    if (fd != nothing_) close_fd(fd);
    for (int& other : standard)
      if (other == closed) other = -1;
  }
  close_fd(directory);
}

/// The ends of a job's pipes, or its terminal. On failure the host has been told.
bool warden::make_pipes(job& one, int* standard, const spawn_head& head) {
  if ((one.flags & wire::spawn_terminal) != 0) {
    const int master = open_at(at_fdcwd, "/dev/ptmx", o_rdwr | o_noctty | o_nonblock);
    long result = master;
    int unlocked = 0;
    if (result >= 0) result = kernel(__NR_ioctl, master, 0x40045431, address(&unlocked));         // TIOCSPTLCK
    if (result >= 0) result = kernel(__NR_ioctl, master, 0x5441, o_rdwr | o_noctty | o_cloexec);  // TIOCGPTPEER
    if (result < 0) {
      int opened = master;
      close_fd(opened);
      fail(one.id, wire::fail_stage::terminal, result);
      return false;
    }
    struct {
      u16 rows, columns, x, y;
    } size{head.rows, head.columns, 0, 0};
    kernel(__NR_ioctl, master, 0x5414, address(&size));
    standard[0] = standard[1] = standard[2] = static_cast<int>(result);
    one.out.fd = master;
    one.in = static_cast<int>(kernel(__NR_fcntl, master, dup_closing, 3));
  } else {
    int made[2];
    long result = 0;
    const bool merged = (one.flags & wire::spawn_merge) != 0;
    if ((one.flags & wire::spawn_open_input) != 0) {
      result = kernel(__NR_pipe2, address(made), o_cloexec);
      if (result >= 0) {
        standard[0] = made[0];
        one.in = made[1];
        kernel(__NR_fcntl, one.in, 4, o_wronly | o_nonblock);  // F_SETFL
      }
    }
    if (result >= 0) result = kernel(__NR_pipe2, address(made), o_cloexec);
    if (result >= 0) {
      one.out.fd = made[0];
      standard[1] = made[1];
      if (merged) standard[2] = made[1];
    }
    if (result >= 0 && !merged) {
      result = kernel(__NR_pipe2, address(made), o_cloexec);
      if (result >= 0) {
        one.err.fd = made[0];
        standard[2] = made[1];
      }
    }
    if (result < 0) {
      fail(one.id, wire::fail_stage::pipe, result);
      return false;
    }
    kernel(__NR_fcntl, one.out.fd, 4, o_nonblock);
    if (one.err.fd >= 0) kernel(__NR_fcntl, one.err.fd, 4, o_nonblock);
  }
  add(one.out.fd, one_shot, source::out, index_of(one));
  if (one.err.fd >= 0) add(one.err.fd, one_shot, source::err, index_of(one));
  if (one.in >= 0) add(one.in, one_shot, source::in, index_of(one));
  return true;
}

void warden::hand_over(job& one, const u8* payload, size_t size, const int* standard, int directory) {
  int file = -1;
  order what{};
  what.kind = order_kind::job;
  what.size = static_cast<u32>(size);
  what.flags = one.flags;
  if (size > longest_order) {
    file = static_cast<int>(kernel(__NR_memfd_create, address("spawn"), 1));  // MFD_CLOEXEC
    if (file < 0) return fail(one.id, wire::fail_stage::limit, file);
    for (size_t at = 0; at < size;) {
      const long written = write_fd(file, payload + at, size - at);
      if (written <= 0) {
        close_fd(file);
        return fail(one.id, wire::fail_stage::limit, written == 0 ? -ENOSPC : written);
      }
      at += static_cast<size_t>(written);
    }
    what.in_file = 1;
  }
  int fds[5] = {standard[0], standard[1], standard[2]};
  size_t count = 3;
  if (directory >= 0) fds[count++] = directory;
  if (file >= 0) fds[count++] = file;
  for (u32 attempt = 0; attempt < most_idle + 2; ++attempt) {  // all idle ones may be dead
    keeper* by = idle_keeper();
    if (by == nullptr) by = start_keeper();
    if (by == nullptr) break;
    const long sent = send_message(by->orders, &what, sizeof what, payload, file >= 0 ? 0 : size, fds, count);
    if (sent < 0) {  // it has been killed while it was idle
      retire(*by);
      continue;
    }
    --idle_count_;
    by->job = static_cast<i32>(index_of(one));
    one.keeper = static_cast<i32>(by - keepers_);
    break;
  }
  close_fd(file);
  if (one.keeper < 0) return fail(one.id, wire::fail_stage::supervisor, -EAGAIN);
  arm_outlet(one, one.out, source::out);
  arm_outlet(one, one.err, source::err);
}

// ---- input and output -------------------------------------------------------------------------------------------------

void warden::arm_outlet(job& one, outlet& from, source what) {
  if (from.fd < 0 || from.armed) return;
  if (from.credit == 0 && from.cap != 0) return;
  if (out_free() < room_for_answers + wire::longest_payload) return;
  from.armed = true;
  rearm(from.fd, in_event | one_shot, what, index_of(one));
}

void warden::pump(job& one, outlet& from, source what) {
  from.armed = false;
  if (from.fd < 0) {
    from.last = 0;
    return;
  }
  long got;
  if (from.cap == 0) {
    static u8 lost[64 * 1024];
    got = read_fd(from.fd, lost, sizeof lost);
    if (got > 0) from.dropped += static_cast<u64>(got);
  } else {
    if (from.credit == 0 || out_free() < room_for_answers + wire::longest_payload) return;
    u64 most = wire::longest_payload;
    if (most > from.credit) most = from.credit;
    if (most > from.cap) most = from.cap;
    const frame_type type = what == source::out ? frame_type::output : frame_type::error_output;
    u8* to = frame(type, one.id, most);
    got = read_fd(from.fd, to, most);
    const size_t kept = got > 0 ? static_cast<size_t>(got) : 0;
    out_end_ -= most - kept;
    if (kept == 0) {
      out_end_ -= wire::header_size;
    } else {
      writer(to - wire::header_size).put(static_cast<u32>(kept));
      from.credit -= kept;
      from.cap -= kept;
    }
  }
  if (got <= 0 || --from.last == ~0U) from.last = 0;
  if (got == 0 || (got < 0 && got != -EAGAIN)) {  // -EIO: nobody has the terminal open any more
    drop(from.fd);
    conclude(one);
    return;
  }
  arm_outlet(one, from, what);
}

void warden::take_input(job& one, const u8* payload, size_t size) {
  const u8 number = static_cast<u8>(frame_type::input);
  if ((one.flags & wire::spawn_descriptors) != 0 || one.in_ends) give_up(wire::fault::unexpected, number);
  if ((one.flags & (wire::spawn_open_input | wire::spawn_terminal)) == 0) give_up(wire::fault::unexpected, number);
  if (one.in_size + one.in_returned + size > wire::input_window) give_up(wire::fault::too_much_input, number);
  if (one.in_closed) {  // nobody reads it any more
    one.in_returned += static_cast<u32>(size);
    feed(one);
    return;
  }
  if (one.in_data == nullptr) {
    const long at = kernel(__NR_mmap, 0, wire::input_window, 3, 0x22, -1, 0);  // read, write; private, anonymous
    if (at < 0 && at > -4096) {
      close_input(one);
      return;
    }
    one.in_data = reinterpret_cast<u8*>(at);
  }
  if (one.in_begin + one.in_size + size > wire::input_window) {
    memmove(one.in_data, one.in_data + one.in_begin, one.in_size);
    one.in_begin = 0;
  }
  memcpy(one.in_data + one.in_begin + one.in_size, payload, size);
  one.in_size += static_cast<u32>(size);
  feed(one);
}

void warden::end_input(job& one) {
  if ((one.flags & wire::spawn_descriptors) != 0 || one.in_ends) return;
  one.in_ends = true;
  if (one.in_size == 0) feed(one);
}

void warden::feed(job& one) {
  one.in_armed = false;
  while (!one.in_closed && one.in_size != 0) {
    const long written = write_fd(one.in, one.in_data + one.in_begin, one.in_size);
    if (written == -EAGAIN) {
      one.in_armed = true;
      rearm(one.in, out_event | one_shot, source::in, index_of(one));
      break;
    }
    if (written < 0) {  // its reading end is closed
      one.in_returned += one.in_size;
      one.in_size = 0;
      close_input(one);
      break;
    }
    one.in_line = one.in_data[one.in_begin + static_cast<u32>(written) - 1] != '\n';
    one.in_begin += static_cast<u32>(written);
    one.in_size -= static_cast<u32>(written);
    one.in_returned += static_cast<u32>(written);
  }
  if (one.in_size == 0) {
    one.in_begin = 0;
    if (one.in_ends && !one.in_closed) {
      if ((one.flags & wire::spawn_terminal) != 0) {
        const u8 ends[2] = {4, 4};  // in the middle of a line the first one only hands the line over
        write_fd(one.in, ends, one.in_line ? 2 : 1);
      }
      close_input(one);
    }
  }
  if (one.in_returned >= wire::input_window / 4 || (one.in_size == 0 && one.in_returned != 0)) {
    writer(frame(frame_type::input_credit, one.id, 4)).put(one.in_returned);
    one.in_returned = 0;
  }
}

void warden::close_input(job& one) {
  // A terminal is held until nothing of the job is left: some programs close their descriptors before they exit, and
  // would die of SIGHUP if the terminal went with them.
  one.in_closed = true;
  if ((one.flags & wire::spawn_terminal) == 0 || one.emptied) drop(one.in);
  if (one.in_data != nullptr) kernel(__NR_munmap, address(one.in_data), wire::input_window);
  one.in_data = nullptr;
  one.in_size = 0;
}

// ---- how commands end -------------------------------------------------------------------------------------------------

void warden::order_signal(const job& one, u8 scope, u8 number) {
  if (one.keeper < 0) return;
  order what{};
  what.kind = order_kind::signal;
  what.scope = scope;
  what.number = number;
  send_message(keepers_[one.keeper].orders, &what, sizeof what, nullptr, 0, nullptr, 0);
}

/// Ends a command: SIGTERM to all that it has started, the grace, SIGKILL. Only the first reason counts; a shorter grace
/// always does.
void warden::begin_end(job& one, wire::exit_reason reason, u32 grace_ms) {
  if (one.reason == wire::exit_reason::none && !one.exited) one.reason = reason;
  one.deadline = never;
  if (one.emptied || one.answer_by != never || one.lost) return;
  if (grace_ms == 0) return order_kill(one);
  const u64 when = now_us() + u64{grace_ms} * 1000;
  if (one.kill_at == never || one.reason == wire::exit_reason::none)  // what lingers has a time, and no word yet
    order_signal(one, static_cast<u8>(wire::signal_scope::tree), sig_term);
  if (when < one.kill_at) one.kill_at = when;
}

void warden::order_kill(job& one) {
  one.kill_at = never;
  if (one.keeper < 0 || one.answer_by != never) return;
  keeper& by = keepers_[one.keeper];
  kernel(__NR_kill, by.pid, sig_cont);  // the guest may have stopped it
  order what{};
  what.kind = order_kind::kill;
  send_message(by.orders, &what, sizeof what, nullptr, 0, nullptr, 0);
  one.answer_by = now_us() + 250000;
}

void warden::take_exit(job& one, const report& what) {
  one.exited = one.tells = true;
  one.deadline = never;
  one.exit = what;
  close_input(one);
  if (what.left == 0) return;
  if ((one.flags & wire::spawn_keep) != 0)
    // The host takes the end for the end of the output, and whatever comes later for that of what is left.
    one.out.last = one.err.last = most_last;
  else if (one.reason == wire::exit_reason::none && !one.lost)
    one.kill_at = now_us() + u64{one.linger_ms} * 1000;
}

void warden::tell_exit(job& one) {
  const report& what = one.exit;
  u32 killed_for_memory = 0;
  const bool by_signal = what.detail == static_cast<u8>(wire::exit_how::signaled);
  const bool looks_killed = by_signal ? what.code == sig_kill : what.code == 128 + sig_kill;  // the latter by a shell
  if (looks_killed && one.reason == wire::exit_reason::none) killed_for_memory = oom_kills();
  one.tells = false;
  writer(frame(frame_type::exited, one.id, wire::exited_size))
      .put(what.detail)
      .put(what.code)
      .put(static_cast<u8>(one.reason))
      .put(now_us() - one.begin)
      .put(what.user_us)
      .put(what.system_us)
      .put(what.peak_kib)
      .put(killed_for_memory)
      .put(what.left);
}

void warden::pump_last(job& one, outlet& from, source what) {
  u32 before = 0;
  while (from.last != before) {
    before = from.last;
    pump(one, from, what);
  }
}

/// Sends what stands in the pipes of jobs that have ended, as far as the host has room for it, and then that they have.
void warden::tell_exits() {
  for (u32 i = 0; i < jobs_end_; ++i) {
    job& one = jobs_[i];
    if (!one.tells) continue;
    pump_last(one, one.out, source::out);
    pump_last(one, one.err, source::err);
    if (one.tells && (one.out.last | one.err.last) == 0) tell_exit(one);
  }
}

/// Forgets a job of which nothing is left, in processes or in pipes.
void warden::conclude(job& one) {
  if (!one.used || !one.emptied || one.out.fd >= 0 || one.err.fd >= 0) return;
  if (one.tells) tell_exit(one);
  close_input(one);
  writer(frame(frame_type::done, one.id, 16)).put(one.out.dropped).put(one.err.dropped);
  one.used = false;
  --busy_count_;
  while (jobs_end_ != 0 && !jobs_[jobs_end_ - 1].used) --jobs_end_;
}

/// The kernel's count of those whom a memory limit has killed, in the control group that all of ours live in. A line of
/// self/cgroup is `number:controllers:path`; version 2 has number 0 and no controllers.
void warden::find_oom_counter() {
  char text[2048];
  if (proc_fd <= 0 || read_file_at(proc_fd, "self/cgroup", text, sizeof text) <= 0) return;
  for (char* at = text; *at != 0 && oom_fd_ < 0;) {
    char* end = at;
    while (*end != 0 && *end != '\n') ++end;
    char* const next = *end != 0 ? end + 1 : end;
    *end = 0;
    char path[sizeof text + 64];
    const bool unified = memcmp(at, "0::", 3) == 0;
    while (*at != 0 && *at != ':') ++at;
    const bool memory = memcmp(at, ":memory:", 8) == 0;
    if (unified)
      put_text(put_text(put_text(path, "/sys/fs/cgroup"), at + 2), "/memory.events");
    else if (memory)
      put_text(put_text(put_text(path, "/sys/fs/cgroup/memory"), at + 8), "/memory.oom_control");
    int opened = unified || memory ? open_at(at_fdcwd, path, o_rdonly) : -1;
    if (opened < 0 && memory)  // where only our own group is mounted
      opened = open_at(at_fdcwd, "/sys/fs/cgroup/memory/memory.oom_control", o_rdonly);
    if (opened >= 0) oom_fd_ = static_cast<int>(kernel(__NR_fcntl, opened, dup_closing, 10));
    close_fd(opened);
    at = next;
  }
  oom_kills();
}

u32 warden::oom_kills() {
  if (oom_fd_ < 0) return 0;
  char text[1024];
  const long size = kernel(__NR_pread64, oom_fd_, address(text), sizeof text - 1, 0);
  if (size <= 0) return 0;
  text[size] = 0;
  for (const char* at = text; *at != 0; ++at) {
    if (memcmp(at, "oom_kill ", 9) != 0 || (at != text && at[-1] != '\n')) continue;
    at += 9;
    u32 count = 0;
    take_number(at, text + size, count);
    const u32 more = count - oom_seen_;
    oom_seen_ = count;
    return more;
  }
  return 0;
}

// ---- supervisors ------------------------------------------------------------------------------------------------------

/// With an exit signal of its own a process of ours is not a child that a plain wait sees; what is left to us by a lost
/// supervisor always is (sweep_orphans). Emulators know only SIGCHLD.
long warden::fork_keeper() {
  const long pid = kernel(__NR_clone, sig_usr1);
  if (pid != -EINVAL) return pid;
  tells_orphans_ = false;
  return kernel(__NR_clone, sig_chld);
}

/// In a process of ours that is not the warden: of its descriptors only its end of a pair, as 3, /proc, as 4, and for the
/// worker the root, as 5. (The last two stand at 10 or above.)
void warden::become_child(int end, int root) {
  if (end != 3) kernel(__NR_dup3, end, 3, o_cloexec);
  kernel(__NR_close, 4);
  kernel(__NR_close, 5);
  if (proc_fd > 0) kernel(__NR_dup3, proc_fd, 4, o_cloexec);
  if (proc_fd > 0) proc_fd = 4;
  if (root >= 0) kernel(__NR_dup3, root, 5, o_cloexec);
  close_from(6);
  kernel(__NR_prlimit64, 0, 7, address(&files_before_), 0);
}

keeper* warden::start_keeper() {
  keeper* free = nullptr;
  for (u32 i = 0; i < most_jobs + most_idle && free == nullptr; ++i)
    if (keepers_[i].pid == 0) free = &keepers_[i];
  if (free == nullptr) return nullptr;
  int pair[2];
  if (kernel(__NR_socketpair, 1, 5 | o_cloexec, 0, address(pair)) < 0) return nullptr;  // AF_UNIX, SOCK_SEQPACKET
  const long pid = fork_keeper();
  if (pid == 0) {
    become_child(pair[1]);
    own_supervisor.serve(3);
  }
  close_fd(pair[1]);
  if (pid < 0) {
    close_fd(pair[0]);
    return nullptr;
  }
  *free = keeper();
  free->pid = static_cast<u32>(pid);
  free->orders = pair[0];
  kernel(__NR_fcntl, free->orders, 4, o_nonblock);
  const u32 index = static_cast<u32>(free - keepers_);
  if (index >= keepers_end_) keepers_end_ = index + 1;
  add(free->orders, in_event, source::keeper, index);
  ++idle_count_;
  return free;
}

keeper* warden::idle_keeper() {
  if (idle_count_ == 0) return nullptr;
  for (u32 i = 0; i < keepers_end_; ++i)
    if (keepers_[i].pid != 0 && keepers_[i].job < 0 && !keepers_[i].dying) return &keepers_[i];
  return nullptr;
}

void warden::set_idle(keeper& one) {
  one.job = -1;
  ++idle_count_;
  if (idle_count_ > most_idle || closing_ || one.stopped != 0) retire(one);
}

/// Lets an idle supervisor go: without its end of the pair it leaves.
void warden::retire(keeper& one) {
  if (one.dying) return;
  --idle_count_;
  one.dying = true;
  drop(one.orders);
}

void warden::take_reports(keeper& one) {
  while (one.orders >= 0) {
    report what{};
    const long got = kernel(__NR_recvfrom, one.orders, address(&what), sizeof what, 0x40, 0, 0);
    if (got == -EINTR) continue;
    if (got == static_cast<long>(sizeof what)) {
      take_report(one, what);
      continue;
    }
    if (got != -EAGAIN) drop(one.orders);  // it is dead: its SIGCHLD comes, or has come
    return;
  }
}

void warden::take_report(keeper& one, const report& what) {
  if (one.job < 0) return;
  job& its = jobs_[one.job];
  const auto release = [this, &one, &its] {
    its.keeper = -1;
    its.emptied = true;
    its.kill_at = its.answer_by = never;
    set_idle(one);
  };
  switch (what.kind) {
    case report_kind::failed:
      fail(its.id, static_cast<wire::fail_stage>(what.detail), -what.code);
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
    case report_kind::killing: its.answer_by = never - 1; break;
    case report_kind::stuck: writer(frame(frame_type::stuck, its.id, 4)).put(static_cast<u32>(what.code)); break;
  }
  conclude(its);
}

/// A supervisor that somebody has killed. Whatever its command had started becomes ours: nobody knows any more how it
/// ended, and it is over only when we have no children left but supervisors.
void warden::lose(keeper& one) {
  if (one.orders >= 0) take_reports(one);
  drop(one.orders);
  if (!one.dying && one.job < 0) --idle_count_;
  if (one.job >= 0) {
    job& its = jobs_[one.job];
    its.keeper = -1;
    its.lost = true;
    its.deadline = its.kill_at = its.answer_by = never;
    if (!its.exited) {
      report what{};
      what.detail = static_cast<u8>(wire::exit_how::lost);
      what.left = 1;
      take_exit(its, what);
    }
    orphans_at_ = 0;
  }
  one = keeper();
  while (keepers_end_ != 0 && keepers_[keepers_end_ - 1].pid == 0) --keepers_end_;
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
      else  // as with a supervisor, below
        kernel(__NR_kill, pid, ++worker_stopped_ <= 3 ? sig_cont : sig_kill);
      continue;
    }
    for (u32 i = 0; i < keepers_end_; ++i) {
      if (keepers_[i].pid != static_cast<u32>(pid)) continue;
      if (!stopped) {
        lose(keepers_[i]);
      } else if (++keepers_[i].stopped <= 3) {  // nobody has a reason to stop it but its guest
        kernel(__NR_kill, pid, sig_cont);
      } else {
        kernel(__NR_kill, pid, sig_kill);
      }
      break;
    }
  }
}

bool warden::is_kept(u32 pid) {
  if (pid == self_->worker_pid_) return true;
  for (u32 i = 0; i < self_->keepers_end_; ++i)
    if (self_->keepers_[i].pid == pid) return true;
  return false;
}

/// What lost supervisors have left to us dies, in turns, so that the other commands go on meanwhile.
void warden::sweep_orphans() {
  bool any = false;
  for (u32 i = 0; i < jobs_end_; ++i) any = any || (jobs_[i].used && jobs_[i].lost && !jobs_[i].emptied);
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
  orphans_at_ = now_us() + 1000;
  if (tells_orphans_) {
    const long left = kernel(__NR_wait4, -1, 0, wnohang, 0);
    if (left != -ECHILD) return;
  } else {  // a look is no snapshot: several in a row have to agree
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

// ---- time -------------------------------------------------------------------------------------------------------------

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
    if (one.answer_by <= now && one.keeper >= 0) {
      one.answer_by = never - 1;
      kernel(__NR_kill, keepers_[one.keeper].pid, sig_kill);
    }
  }
  if (orphans_at_ <= now) sweep_orphans();
}

/// The end: of the stream, of the lease, of the protocol. We go when nothing is left.
void warden::kill_everything(bool by_lease) {
  lease_end_ = never;
  if (!closing_) {
    closing_ = true;
    drop(in_);
    if (!is_socket_) drop(out_);
    drop(worker_);
    // The worker takes its unfinished files away first, unless that takes too long.
    for (int wait = 0; worker_pid_ != 0 && wait < 200; ++wait) {
      if (wait != 0) {
        const time_spec moment{0, 1000000};
        kernel(__NR_nanosleep, address(&moment), 0);
      }
      if (kernel(__NR_wait4, worker_pid_, 0, wnohang | wall_children, 0) != 0) worker_pid_ = 0;
    }
    if (own_pid() == 1) end_process(0);  // then the kernel ends the whole namespace
  }
  for (u32 i = 0; i < jobs_end_; ++i) {
    job& one = jobs_[i];
    if (!one.used) continue;
    begin_end(one, by_lease ? wire::exit_reason::lease : wire::exit_reason::killed, 0);
    one.out.cap = one.err.cap = 0;  // nobody wants the rest
    drop(one.out.fd);
    drop(one.err.fd);
    conclude(one);
  }
  for (u32 i = 0; i < keepers_end_; ++i)
    if (keepers_[i].pid != 0 && keepers_[i].job < 0) retire(keepers_[i]);
}

// ---- files ------------------------------------------------------------------------------------------------------------

// A process of its own does them, one after another: a guest's FIFO, a slow disk or a huge tree holds up nobody else. We
// pass frames on in both directions. The host waits for the answers, so that what we have to keep is bounded.

bool warden::start_worker() {
  int pair[2];
  if (kernel(__NR_socketpair, 1, 1 | o_cloexec, 0, address(pair)) < 0) return false;  // AF_UNIX, SOCK_STREAM
  const long pid = fork_keeper();
  if (pid == 0) {
    become_child(pair[1], root_);
    if (change_identity(files_uid_, files_gid_) < 0) end_process(2);
    own_file_worker.serve(3, root_ >= 0 ? 5 : root_, configured_flags_);
  }
  close_fd(pair[1]);
  if (pid < 0) {
    close_fd(pair[0]);
    return false;
  }
  worker_pid_ = static_cast<u32>(pid);
  worker_stopped_ = 0;
  worker_ = pair[0];
  kernel(__NR_fcntl, worker_, 4, o_nonblock);
  to_worker_begin_ = to_worker_end_ = from_worker_size_ = 0;
  worker_armed_ = true;
  add(worker_, in_event | one_shot, source::worker, 0);
  return true;
}

void warden::relay_to_worker(frame_type type, u32 id, const u8* payload, size_t size) {
  if (worker_ < 0 && !start_worker()) {
    writer(frame(frame_type::reply, id, 4)).put(static_cast<i32>(EAGAIN));
    return;
  }
  if (sizeof to_worker_data - to_worker_end_ < wire::header_size + size) {
    memmove(to_worker_data, to_worker_data + to_worker_begin_, to_worker_end_ - to_worker_begin_);
    to_worker_end_ -= to_worker_begin_;
    to_worker_begin_ = 0;
  }
  if (sizeof to_worker_data - to_worker_end_ < wire::header_size + size)
    give_up(wire::fault::too_much_input, static_cast<u8>(type));
  u8* to = to_worker_data + to_worker_end_;
  to = writer(to).put(static_cast<u32>(size)).put(static_cast<u8>(type)).put(id).end();
  memcpy(to, payload, size);
  to_worker_end_ += wire::header_size + size;
  ++asked_;
  feed_worker();
}

void warden::feed_worker() {
  while (worker_ >= 0 && to_worker_begin_ != to_worker_end_) {
    const long sent = kernel(__NR_sendto, worker_, address(to_worker_data + to_worker_begin_),
                             static_cast<long>(to_worker_end_ - to_worker_begin_), 0x4040, 0, 0);
    if (sent == -EINTR) continue;
    if (sent < 0) break;  // full; or dead, which reading tells
    to_worker_begin_ += static_cast<size_t>(sent);
  }
  if (to_worker_begin_ == to_worker_end_) to_worker_begin_ = to_worker_end_ = 0;
  worker_armed_ = false;
  arm_worker();
}

void warden::arm_worker() {
  if (worker_ < 0 || worker_armed_ || out_free() < room_for_answers + wire::longest_payload + wire::header_size) return;
  worker_armed_ = true;
  const u32 waits = to_worker_begin_ != to_worker_end_ ? out_event : 0;
  rearm(worker_, in_event | waits | one_shot, source::worker, 0);
}

void warden::drain_worker() {
  while (worker_ >= 0 && out_free() >= room_for_answers + wire::longest_payload + wire::header_size) {
    const long got =
        read_fd(worker_, from_worker_data + from_worker_size_, sizeof from_worker_data - from_worker_size_);
    if (got == -EAGAIN) return;
    if (got <= 0) {  // somebody has killed it: what was asked of it is lost, and the next request starts another one
      drop(worker_);
      writer(frame(frame_type::worker_lost, 0, 4)).put(asked_);
      asked_ = 0;
      return;
    }
    from_worker_size_ += static_cast<size_t>(got);
    size_t at = 0;
    while (from_worker_size_ - at >= wire::header_size) {
      reader head(from_worker_data + at, wire::header_size);
      const u32 size = head.get<u32>();
      const u8 type = head.get<u8>();
      const u32 id = head.get<u32>();
      if (from_worker_size_ - at - wire::header_size < size) break;
      if (type == static_cast<u8>(frame_type::reply)) --asked_;
      memcpy(frame(static_cast<frame_type>(type), id, size), from_worker_data + at + wire::header_size, size);
      at += wire::header_size + size;
    }
    memmove(from_worker_data, from_worker_data + at, from_worker_size_ - at);
    from_worker_size_ -= at;
  }
}

// ---- the whole --------------------------------------------------------------------------------------------------------

void warden::serve(bool on_socket) {
  self_ = this;
  is_socket_ = on_socket;
  kernel(__NR_setsid);
  kernel(__NR_prctl, 4, 0, 0, 0, 0);   // PR_SET_DUMPABLE
  kernel(__NR_prctl, 36, 1, 0, 0, 0);  // PR_SET_CHILD_SUBREAPER
  kernel(__NR_umask, 022);
  kernel(__NR_chdir, address("/"));
  for (long number = 1; number <= 64; ++number) {
    const u64 default_action[4] = {0, 0, 0, 0};
    kernel(__NR_rt_sigaction, number, address(default_action), 0, 8);
  }
  const u64 all_signals = ~u64{0};
  kernel(__NR_rt_sigprocmask, 2, address(&all_signals), 0, sizeof all_signals);
  find_proc();
  kernel(__NR_prlimit64, 0, 7, 0, address(&files_before_));  // RLIMIT_NOFILE
  const limit_values most_files{files_before_.hard, files_before_.hard};
  kernel(__NR_prlimit64, 0, 7, address(&most_files), 0);
  if (files_before_.hard < most_jobs * 5 + 64)
    machine_limit_ = files_before_.hard > 128 ? static_cast<u32>((files_before_.hard - 64) / 5) : 8;
  if (files_before_.soft < 1024 || files_before_.soft > files_before_.hard)
    files_before_.soft = files_before_.hard < 1024 ? files_before_.hard : 1024;

  // 0 to 2 stay taken, so that nothing of ours ever stands there.
  nothing_ = open_at(at_fdcwd, "/dev/null", o_rdwr);
  if (nothing_ < 0) {  // a pipe without a writer reads as an empty file too
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
  nothing_ = static_cast<int>(kernel(__NR_fcntl, 0, dup_closing, 10));
  kernel(__NR_fcntl, in_, 4, kernel(__NR_fcntl, in_, 3, 0) | o_nonblock);
  kernel(__NR_fcntl, out_, 4, kernel(__NR_fcntl, out_, 3, 0) | o_nonblock);

  if (!on_socket) {  // pipes, as a rule: with more room in them the host is woken less often
    kernel(__NR_fcntl, in_, 1031, 1024 * 1024);  // F_SETPIPE_SZ
    kernel(__NR_fcntl, out_, 1031, 1024 * 1024);
  }
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
  if (kernel(444, 0, 0, 1) >= 6) capabilities |= wire::capability_scope;  // LANDLOCK_CREATE_RULESET_VERSION
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
    // Our own go before us, or whoever adopts orphans here would have to reap them.
    if (closing_ && busy_count_ == 0 && keepers_end_ == 0 && worker_pid_ == 0) end_process(0);
    const u64 next = next_time();
    const u64 now = now_us();
    i64 wait = -1;
    if (next < never - 1) wait = next <= now ? 0 : static_cast<i64>((next - now + 999) / 1000);
    if (wait > 3600000) wait = 3600000;  // it is an int there, and nothing is lost by a look around
    // A supervisor is made ready while nothing else is to be done, so that no command waits for its fork.
    const bool prepares = configured_ && idle_count_ == 0 && !closing_ && busy_count_ < machine_limit_;
    event events[64];
    const long count = kernel(__NR_epoll_pwait, poller_, address(events), 64, prepares ? 0 : wait, 0, 8);
    if (count == 0 && prepares) {
      if (start_keeper() == nullptr) {  // the next command will say why
        kernel(__NR_epoll_pwait, poller_, address(events), 1, wait < 0 || wait > 50 ? 50 : wait, 0, 8);
      }
      pass_time();
      continue;
    }
    for (long i = 0; i < count; ++i) {
      const u32 index = static_cast<u32>(events[i].data);
      switch (static_cast<source>(events[i].data >> 32)) {
        case source::transport:
          if (closing_) break;
          if (index == 1 || (events[i].events & out_event) != 0) {
            if (index == 1 && (events[i].events & (8 | 16)) != 0) {  // EPOLLERR, EPOLLHUP: nobody reads
              kill_everything(false);
              break;
            }
            flush();
          }
          if (index == 0 && (events[i].events & ~out_event) != 0 && !closing_) receive();
          break;
        case source::signals: take_signals(); break;
        case source::keeper:
          if (keepers_[index].pid != 0) take_reports(keepers_[index]);
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
        case source::worker:
          worker_armed_ = false;
          if ((events[i].events & out_event) != 0) feed_worker();
          if ((events[i].events & ~out_event) != 0) drain_worker();
          arm_worker();
          break;
      }
    }
    if (in_size_ >= wire::header_size && !closing_) take_frames();  // what had to wait for room
    pass_time();
  }
}

/// The other end of the Unix socket at a path; negative where nobody listens there.
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

/// Our arguments: nothing, for a stream on 0 and 1; `3`, for a socket there; or the path of a socket to connect to, and
/// 0 and 1 are the stream only where that fails.
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
  warden the_warden;
  the_warden.serve(on_socket);
}
