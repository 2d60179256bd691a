// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The input and output of commands, and how commands end. A part of the warden, the helper program in a sandbox. The
// warden starts and ends each command through a supervisor process (see supervisor.h).
#pragma once

#include "warden.h"

namespace {

// ---- input and output -----------------------------------------------------------------------------------------------

void warden::arm_outlet(job& one, outlet& from, source what) {
  if (from.fd < 0 || from.armed) return;
  if (from.credit == 0 && from.cap != 0) return;
  if (out_free() < room_for_answers + wire::max_payload) return;
  from.armed = true;
  rearm(from.fd, in_event | one_shot, what, index_of(one));
}

/// Reads at most `most` bytes into a new frame. Returns the result of read(2); without bytes there is no frame.
long warden::read_into_frame(frame_type type, u32 id, int fd, u64 most) {
  u8* const to = frame(type, id, most);
  const long got = read_fd(fd, to, most);
  const size_t kept = got > 0 ? static_cast<size_t>(got) : 0;
  out_end_ -= most - kept;
  if (kept == 0)
    out_end_ -= wire::header_size;
  else
    writer(to - wire::header_size).put(static_cast<u32>(kept));
  return got;
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
    if (from.credit == 0 || out_free() < room_for_answers + wire::max_payload) return;
    u64 most = wire::max_payload;
    if (most > from.credit) most = from.credit;
    if (most > from.cap) most = from.cap;
    const frame_type type = what == source::out ? frame_type::output : frame_type::error_output;
    got = read_into_frame(type, one.id, from.fd, most);
    if (got > 0) {
      from.credit -= static_cast<u64>(got);
      from.cap -= static_cast<u64>(got);
    }
  }
  if (got <= 0 || --from.last == ~0U) from.last = 0;
  if (got == 0 || (got < 0 && got != -EAGAIN)) {  // EIO means that no process has the terminal open any more
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
  if (one.in_closed) {  // the command has closed its input
    one.in_returned += static_cast<u32>(size);
    feed(one);
    return;
  }
  if (one.in_data == nullptr) {
    const long at = kernel(__NR_mmap, 0, wire::input_window, 3, 0x22, -1, 0);  // a private anonymous mapping
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
    if (written < 0) {  // the command has closed the reading end
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
        const u8 ends[2] = {4, 4};  // in the middle of a line, the first ^D only passes the line on
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
  // A terminal stays open until no process of the job (the command) is left. Some programs close their descriptors
  // before they exit. If the terminal closed at that moment, SIGHUP would kill them.
  one.in_closed = true;
  if ((one.flags & wire::spawn_terminal) == 0 || one.emptied) drop(one.in);
  if (one.in_data != nullptr) kernel(__NR_munmap, address(one.in_data), wire::input_window);
  one.in_data = nullptr;
  one.in_size = 0;
}

// ---- the ends of commands -------------------------------------------------------------------------------------------

void warden::order_signal(const job& one, u8 scope, u8 number) {
  if (one.supervisor < 0) return;
  order what{};
  what.kind = order_kind::signal;
  what.scope = scope;
  what.number = number;
  send_message(supervisors_[one.supervisor].orders, &what, sizeof what, nullptr, 0, nullptr, 0);
}

/// Ends a command: sends SIGTERM to all of its processes, and SIGKILL after the grace period. The reason of the first
/// call is reported. A later call can only shorten the grace period.
void warden::begin_end(job& one, wire::exit_reason reason, u32 grace_ms) {
  if (one.reason == wire::exit_reason::none && !one.exited) one.reason = reason;
  one.deadline = never;
  if (one.emptied || one.answer_by != never || one.lost) return;
  if (grace_ms == 0) return order_kill(one);
  const u64 when = now_us() + u64{grace_ms} * 1000;
  // after the command's own end, `kill_at` is set for the remaining processes (the linger time), but there is no reason
  // yet
  if (one.kill_at == never || one.reason == wire::exit_reason::none)
    order_signal(one, static_cast<u8>(wire::signal_scope::tree), sig_term);
  if (when < one.kill_at) one.kill_at = when;
}

void warden::order_kill(job& one) {
  one.kill_at = never;
  if (one.supervisor < 0 || one.answer_by != never) return;
  supervisor_link& by = supervisors_[one.supervisor];
  give_turn(0);  // a guest (code in the sandbox) may have lowered the warden's share of the processor
  give_turn(by.pid);
  kernel(__NR_kill, by.pid, sig_cont);  // the guest may have suspended the supervisor
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
    // The host treats this report as the end of the output. Later output comes from the remaining processes, so only
    // `max_last` more reads precede the report.
    one.out.last = one.err.last = max_last;
  else if (one.reason == wire::exit_reason::none && !one.lost)
    one.kill_at = now_us() + u64{one.linger_ms} * 1000;
}

void warden::tell_exit(job& one) {
  const report& what = one.exit;
  const u32 killed_for_memory = one.reason == wire::exit_reason::none ? oom_kills() - one.kills_before : 0;
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

/// Sends the remaining output of jobs whose command has ended, as far as the host has given credit, and then reports
/// the end.
void warden::tell_exits() {
  for (u32 i = 0; i < jobs_end_; ++i) {
    job& one = jobs_[i];
    if (!one.tells) continue;
    pump_last(one, one.out, source::out);
    pump_last(one, one.err, source::err);
    if (one.tells && (one.out.last | one.err.last) == 0) tell_exit(one);
  }
}

/// Removes a job if no process and no output of it is left.
void warden::conclude(job& one) {
  if (!one.used || !one.emptied || one.out.fd >= 0 || one.err.fd >= 0) return;
  if (one.tells) tell_exit(one);
  close_input(one);
  writer(frame(frame_type::done, one.id, 16)).put(one.out.dropped).put(one.err.dropped);
  one.used = false;
  --busy_count_;
  while (jobs_end_ != 0 && !jobs_[jobs_end_ - 1].used) --jobs_end_;
}

/// Opens the kernel's counter of processes that were killed by the memory limit of the warden's control group. A line
/// of /proc/self/cgroup is `number:controllers:path`; version 2 has the number 0 and no controllers.
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
    if (opened < 0 && memory)  // for containers, in which only the warden's own group is mounted
      opened = open_at(at_fdcwd, "/sys/fs/cgroup/memory/memory.oom_control", o_rdonly);
    if (opened >= 0) oom_fd_ = static_cast<int>(kernel(__NR_fcntl, opened, dup_closing, 10));
    close_fd(opened);
    at = next;
  }
}

/// Returns how many processes of the control group the kernel has killed because of the memory limit. If this cannot be
/// read, returns the last count.
u32 warden::oom_kills() {
  char text[1024];
  const long size = oom_fd_ < 0 ? 0 : kernel(__NR_pread64, oom_fd_, address(text), sizeof text - 1, 0);
  if (size <= 0) return oom_count_;
  text[size] = 0;
  for (const char* at = text; *at != 0; ++at) {
    if (memcmp(at, "oom_kill ", 9) != 0 || (at != text && at[-1] != '\n')) continue;
    at += 9;
    u32 count = 0;
    if (take_number(at, text + size, count)) oom_count_ = count;
    break;
  }
  return oom_count_;
}

}  // namespace
