// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The side of the warden (the helper program in a sandbox) for the worker, which is the warden's process for file
// operations.
#pragma once

#include "warden.h"

namespace {

// ---- files ----------------------------------------------------------------------------------------------------------

// The worker executes file operations one after another. It is a separate process, so that a FIFO of a guest (code in
// the sandbox), a slow disk or a huge tree delays only file operations. The warden passes frames on in both directions.
// The host limits its unanswered requests, so the warden needs only buffers of fixed size.

bool warden::start_worker() {
  int pair[2];
  if (kernel(__NR_socketpair, 1, 1 | o_cloexec, 0, address(pair)) < 0) return false;  // AF_UNIX, SOCK_STREAM
  const long pid = fork_supervisor();
  if (pid == 0) {
    become_child(pair[1], root_);
    if (change_identity(files_uid_, files_gid_) < 0) end_process(2);
    wake_at_parents_death();  // a change of the user or group cancels this setting
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
    if (sent < 0) break;  // the socket is full, or the worker is dead, which the reading side detects
    to_worker_begin_ += static_cast<size_t>(sent);
  }
  if (to_worker_begin_ == to_worker_end_) to_worker_begin_ = to_worker_end_ = 0;
  worker_armed_ = false;
  arm_worker();
}

void warden::arm_worker() {
  if (worker_ < 0 || worker_armed_ || out_free() < room_for_answers + wire::max_payload + wire::header_size) return;
  worker_armed_ = true;
  const u32 waits = to_worker_begin_ != to_worker_end_ ? out_event : 0;
  rearm(worker_, in_event | waits | one_shot, source::worker, 0);
}

void warden::drain_worker() {
  while (worker_ >= 0 && out_free() >= room_for_answers + wire::max_payload + wire::header_size) {
    const long got =
        read_fd(worker_, from_worker_data + from_worker_size_, sizeof from_worker_data - from_worker_size_);
    if (got == -EAGAIN) return;
    if (got <= 0) {  // the worker was killed: its requests are lost, and the next request starts another worker
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

}  // namespace
