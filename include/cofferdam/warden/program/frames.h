// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Frames: sending them to the host, and executing the host's requests. A part of the warden, the helper program in a
// sandbox. The warden starts each command (job) through a supervisor process (see supervisor.h).
#pragma once

#include "warden.h"

namespace {

// ---- to the host ----------------------------------------------------------------------------------------------------

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
    if (sent < 0) {  // the host has closed the stream
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
  if (out_free() < room_for_answers + wire::max_payload) return;
  arm_worker();
  for (u32 i = 0; i < jobs_end_; ++i) {
    if (!jobs_[i].used) continue;
    arm_outlet(jobs_[i], jobs_[i].out, source::out);
    arm_outlet(jobs_[i], jobs_[i].err, source::err);
  }
  arm_connections();
}

void warden::give_up(wire::fault what, u8 type) {
  out_begin_ = out_end_ = 0;
  writer(frame(frame_type::protocol_error, 0, 2)).put(static_cast<u8>(what)).put(type);
  flush();
  kill_everything(false);
  loop();
}

// ---- from the host --------------------------------------------------------------------------------------------------

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
    const size_t most = type == static_cast<u8>(frame_type::spawn) ? wire::max_spawn : wire::max_payload;
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
  if (type == frame_type::release) return release_kept();
  if (number >= 0x20 && number <= 0x2e) return relay_to_worker(type, id, payload, size);
  if (number >= 0x30 && number <= 0x36) return take_connection_frame(type, id, payload, size);
  job* one = find(id);  // null if the job has ended; its report is then on its way to the host
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
  // The root is opened only once. A restarted worker (the process for file operations) therefore gets the same
  // directory, even if the path was replaced in between.
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
    good = count <= wire::max_strings && (list == 2 || count != 0);
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
    *one = job();
    one->kills_before = oom_kills();
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
    if (!one->used || one->supervisor < 0) {
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

/// Makes new pipes and terminals the property of a user and a group until its destruction. A command can open
/// /dev/stderr only if it belongs to the command's user. Without the right to do this, nothing changes.
class pipe_owner {
 public:
  pipe_owner(u32 uid, u32 gid) {
    if (gid != wire::keep_id) gid_ = static_cast<u32>(kernel(__NR_setfsgid, gid));
    if (uid != wire::keep_id) uid_ = static_cast<u32>(kernel(__NR_setfsuid, uid));
  }
  pipe_owner(const pipe_owner&) = delete;
  pipe_owner& operator=(const pipe_owner&) = delete;
  ~pipe_owner() {
    if (uid_ != wire::keep_id) kernel(__NR_setfsuid, uid_);
    if (gid_ != wire::keep_id) kernel(__NR_setfsgid, gid_);
  }

 private:
  u32 uid_ = wire::keep_id;
  u32 gid_ = wire::keep_id;
};

/// Makes the pipes or the terminal of a job. On failure reports `failed` to the host and returns false.
bool warden::make_pipes(job& one, int* standard, const spawn_head& head) {
  const pipe_owner owner(files_uid_, files_gid_);
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
  if (size > max_order) {
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
  for (u32 attempt = 0; attempt < max_idle + 2; ++attempt) {  // tries each idle supervisor, then a new one
    supervisor_link* by = idle_supervisor(one.flags & filter_flags);
    if (by == nullptr) by = start_supervisor();
    if (by == nullptr) break;
    const long sent = send_message(by->orders, &what, sizeof what, payload, file >= 0 ? 0 : size, fds, count);
    if (sent == -ETOOMANYREFS) {  // the user has too many descriptors in flight, including those of guests
      close_fd(file);
      return fail(one.id, wire::fail_stage::limit, sent);
    }
    if (sent < 0) {  // the supervisor was killed while it was idle
      retire(*by);
      continue;
    }
    --idle_count_;
    by->job = static_cast<i32>(index_of(one));
    by->filter = one.flags & filter_flags;
    one.supervisor = static_cast<i32>(by - supervisors_);
    break;
  }
  close_fd(file);
  if (one.supervisor < 0) return fail(one.id, wire::fail_stage::supervisor, -EAGAIN);
  arm_outlet(one, one.out, source::out);
  arm_outlet(one, one.err, source::err);
}

}  // namespace
