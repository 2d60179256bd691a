// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// TCP connections between the programs of a guest (code in the sandbox) and the host, through the warden, the helper
// program in the sandbox. The warden listens on the loopback interface of its network namespace, or connects to it.
// wire.hpp has the frames.
#pragma once

#include "warden.h"

namespace {

inline constexpr u16 family_inet = 2, family_inet6 = 10;
inline constexpr u32 unknown_ways = 0xffffffff;

/// The address of a port on the loopback interface, in the layout of the kernel.
struct loopback_address {
  union {
    struct {
      u16 family;
      u16 port;
      u8 address[4];
      u8 zero[8];
    } inet;
    struct {
      u16 family;
      u16 port;
      u32 flow;
      u8 address[16];
      u32 scope;
    } inet6;
  };
  size_t size;

  loopback_address(u16 family, u16 port) {
    const u16 swapped = static_cast<u16>(port << 8 | port >> 8);  // network byte order
    memset(&inet6, 0, sizeof inet6);
    if (family == family_inet) {
      inet = {family, swapped, {127, 0, 0, 1}, {}};
      size = sizeof inet;
    } else {
      inet6.family = family;
      inet6.port = swapped;
      inet6.address[15] = 1;
      size = sizeof inet6;
    }
  }
};

/// Returns a new TCP socket, or a negative errno.
inline int make_socket(u16 family) {
  constexpr int stream_type = 1;
  const long fd = kernel(__NR_socket, family, stream_type | o_cloexec | o_nonblock, 0);
  return static_cast<int>(fd);
}

inline void send_at_once(int fd) {
  const int on = 1;
  kernel(__NR_setsockopt, fd, 6, 1, address(&on), sizeof on);  // TCP_NODELAY
}

/// Returns the number of network interfaces that are up, without the loopback interface. An interface that is down has
/// no routes.
inline u32 ways_out() {
  static char text[16 * 1024];
  if (proc_fd <= 0 || read_file_at(proc_fd, "self/net/dev", text, sizeof text) < 0) return unknown_ways;
  int probe = make_socket(family_inet);
  if (probe < 0) return unknown_ways;
  u32 count = 0;
  for (char* at = text; *at != 0;) {  // two lines of titles have no colon directly behind their first word
    while (*at == ' ') ++at;
    struct {
      char name[16];
      u16 flags;
      u8 rest[22];
    } interface {};
    u32 size = 0;
    for (; *at > ' ' && *at != ':'; ++at)
      if (size < 15) interface.name[size++] = *at;
    const bool is_name = *at == ':';
    while (*at != 0 && *at++ != '\n') {
    }
    if (!is_name || memcmp(interface.name, "lo", 3) == 0) continue;
    constexpr long get_flags = 0x8913;  // SIOCGIFFLAGS
    if (kernel(__NR_ioctl, probe, get_flags, address(&interface)) < 0 || (interface.flags & 1) != 0) ++count;
  }
  close_fd(probe);
  return count;
}

// ---- the table ------------------------------------------------------------------------------------------------------

connection* warden::find_connection(u32 id) {
  for (u32 i = 0; i < connections_end_; ++i)
    if (connections_[i].used && connections_[i].id == id) return &connections_[i];
  return nullptr;
}

connection* warden::new_connection(u32 id, int fd) {
  u32 most = wire::max_connections;
  if (files_before_.hard / 8 < most) most = static_cast<u32>(files_before_.hard / 8);
  for (u32 i = 0; i < most; ++i) {
    connection& one = connections_[i];
    if (one.used) continue;
    one = connection();
    one.used = true;
    one.id = id;
    one.fd = fd;
    if (i >= connections_end_) connections_end_ = i + 1;
    if (fd >= 0) add(fd, one_shot, source::connection, i);
    return &one;
  }
  return nullptr;
}

void warden::forget(connection& one) {
  drop(one.fd);
  if (one.data != nullptr) kernel(__NR_munmap, address(one.data), wire::connection_window);
  one.data = nullptr;
  one.used = false;
  while (connections_end_ != 0 && !connections_[connections_end_ - 1].used) --connections_end_;
}

/// Closes a connection, and reports this as its last frame.
void warden::end_connection(connection& one, long result) {
  const u32 id = one.id;
  forget(one);
  writer(frame(frame_type::dropped, id, 4)).put(static_cast<i32>(-result));
  arm_connections();  // a listening socket may have waited for a free entry
}

void warden::arm_connections() {
  for (u32 i = 0; i < connections_end_; ++i) arm(connections_[i]);
}

void warden::arm(connection& one) {
  if (!one.used || one.fd < 0) return;
  u32 wanted = 0;
  const bool has_room = out_free() >= room_for_answers + wire::max_payload;
  if (one.connecting || one.size != 0) wanted |= out_event;
  if (one.listens ? has_room : !one.connecting && !one.reads_end && one.credit != 0 && has_room) wanted |= in_event;
  if ((one.armed & wanted) == wanted) return;
  one.armed |= wanted;
  rearm(one.fd, one.armed | one_shot, source::connection, static_cast<u32>(&one - connections_));
}

void warden::forget_connections() {
  for (u32 i = 0; i < wire::max_connections; ++i)
    if (connections_[i].used) forget(connections_[i]);
}

// ---- frames from the host -------------------------------------------------------------------------------------------

void warden::take_connection_frame(frame_type type, u32 id, const u8* payload, size_t size) {
  const u8 number = static_cast<u8>(type);
  reader from(payload, size);
  connection* const one = find_connection(id);  // null if the connection has ended
  if (type == frame_type::listen || type == frame_type::connect) {
    const u16 port = from.get<u16>();
    const u32 credit = from.get<u32>();
    if (!from.finished()) give_up(wire::fault::malformed, number);
    if (one != nullptr || id >= wire::first_accepted) give_up(wire::fault::unexpected, number);
    return type == frame_type::listen ? listen(id, port, credit) : connect(id, port, credit);
  }
  const u32 more = type == frame_type::host_credit ? from.get<u32>() : 0;
  if (type != frame_type::to_guest && !from.finished()) give_up(wire::fault::malformed, number);
  if (one == nullptr) return;
  switch (type) {
    case frame_type::listen_end: return forget(*one);
    case frame_type::to_guest: return take_for_guest(*one, payload, size);
    case frame_type::to_guest_end:
      one->host_ends = true;
      return write_to_guest(*one);
    case frame_type::host_credit:
      one->credit += more;
      return arm(*one);
    default: return end_connection(*one, 0);
  }
}

void warden::listen(u32 id, u16 port, u32 credit) {
  int fd = make_socket(family_inet);
  long result = fd;
  loopback_address at(family_inet, port);
  if (result >= 0) result = kernel(__NR_bind, fd, address(&at.inet), static_cast<long>(at.size));
  if (result >= 0) result = kernel(__NR_listen, fd, 128);
  u32 size = sizeof at.inet;
  if (result >= 0) result = kernel(__NR_getsockname, fd, address(&at.inet), address(&size));
  connection* one = nullptr;
  if (result >= 0) {
    one = new_connection(id, fd);
    if (one == nullptr) result = -ENFILE;
  }
  const u16 swapped = at.inet.port;
  writer(frame(frame_type::listening, id, 10))
      .put(static_cast<i32>(result < 0 ? -result : 0))
      .put(static_cast<u16>(swapped << 8 | swapped >> 8))
      .put(ways_out());
  if (one == nullptr) return close_fd(fd);
  one->listens = true;
  one->credit = credit;
  arm(*one);
}

/// Begins a connection to a port of the guest. A server may listen only on ::1, so that this is tried, too.
long warden::begin_connection(connection& one, u16 family) {
  one.fd = make_socket(family);
  if (one.fd < 0) return one.fd;
  send_at_once(one.fd);
  add(one.fd, one_shot, source::connection, static_cast<u32>(&one - connections_));
  one.armed = 0;
  const loopback_address to(family, one.port);
  const long result = kernel(__NR_connect, one.fd, address(&to.inet), static_cast<long>(to.size));
  return result == -EINPROGRESS ? 0 : result;
}

void warden::connect(u32 id, u16 port, u32 credit) {
  connection* const one = new_connection(id, -1);
  if (one == nullptr) {
    writer(frame(frame_type::connected, id, 4)).put(static_cast<i32>(ENFILE));
    return;
  }
  one->port = port;
  one->credit = credit;
  one->connecting = true;
  one->family = family_inet;
  const long result = begin_connection(*one, family_inet);
  if (result < 0) return finish_connecting(*one, result);
  arm(*one);
}

void warden::finish_connecting(connection& one, long result) {
  if (result < 0 && one.family == family_inet) {
    drop(one.fd);
    one.family = family_inet6;
    const long second = begin_connection(one, family_inet6);
    if (second >= 0) return arm(one);
  }
  writer(frame(frame_type::connected, one.id, 4)).put(static_cast<i32>(result < 0 ? -result : 0));
  if (result < 0) return forget(one);
  one.connecting = false;
  write_to_guest(one);
}

void warden::take_for_guest(connection& one, const u8* payload, size_t size) {
  const u8 number = static_cast<u8>(frame_type::to_guest);
  if (one.listens || one.host_ends) give_up(wire::fault::unexpected, number);
  if (one.size + one.returned + size > wire::connection_window) give_up(wire::fault::too_much_input, number);
  if (one.size == 0 && !one.connecting && size != 0) {  // usually the socket takes everything at once
    const long written = kernel(__NR_sendto, one.fd, address(payload), static_cast<long>(size), 0x4000, 0, 0);
    if (written > 0) {
      payload += written;
      size -= static_cast<size_t>(written);
      one.returned += static_cast<u32>(written);
    }
  }
  if (size != 0) {
    if (one.data == nullptr) {
      const long at = kernel(__NR_mmap, 0, wire::connection_window, 3, 0x22, -1, 0);  // a private anonymous mapping
      if (at < 0 && at > -4096) return end_connection(one, at);
      one.data = reinterpret_cast<u8*>(at);
    }
    if (one.begin + one.size + size > wire::connection_window) {
      memmove(one.data, one.data + one.begin, one.size);
      one.begin = 0;
    }
    memcpy(one.data + one.begin + one.size, payload, size);
    one.size += static_cast<u32>(size);
  }
  write_to_guest(one);
}

// ---- the sockets ----------------------------------------------------------------------------------------------------

void warden::write_to_guest(connection& one) {
  while (one.size != 0 && !one.connecting) {
    const long written = kernel(__NR_sendto, one.fd, address(one.data + one.begin), static_cast<long>(one.size),
                                0x4000, 0, 0);  // MSG_NOSIGNAL
    if (written == -EINTR) continue;
    if (written == -EAGAIN) break;
    if (written < 0) return end_connection(one, written);
    one.begin += static_cast<u32>(written);
    one.size -= static_cast<u32>(written);
    one.returned += static_cast<u32>(written);
  }
  if (one.size == 0) one.begin = 0;
  if (one.returned >= wire::connection_window / 4 || (one.size == 0 && one.returned != 0)) {
    writer(frame(frame_type::connection_credit, one.id, 4)).put(one.returned);
    one.returned = 0;
  }
  if (one.size == 0 && one.host_ends && !one.connecting && !one.writes_end) {
    one.writes_end = true;
    kernel(__NR_shutdown, one.fd, 1);  // SHUT_WR
    if (one.reads_end) return end_connection(one, 0);
  }
  arm(one);
}

void warden::read_from_guest(connection& one) {
  if (one.reads_end || one.credit == 0 || out_free() < room_for_answers + wire::max_payload) return;
  const u64 most = one.credit < wire::max_payload ? one.credit : wire::max_payload;
  const long got = read_into_frame(frame_type::to_host, one.id, one.fd, most);
  if (got > 0) one.credit -= static_cast<u64>(got);
  if (got < 0 && got != -EAGAIN) return end_connection(one, got);
  if (got != 0) return;
  one.reads_end = true;
  frame(frame_type::to_host_end, one.id, 0);
  if (one.writes_end) end_connection(one, 0);
}

void warden::accept_from_guest(connection& listening) {
  for (int i = 0; i < 16 && out_free() >= room_for_answers; ++i) {
    connection* const one = new_connection(wire::first_accepted | ++accepted_, -1);
    if (one == nullptr) return;  // `end_connection` arms the listening socket again
    int fd = static_cast<int>(kernel(__NR_accept4, listening.fd, 0, 0, o_cloexec | o_nonblock));
    if (fd < 0) {
      forget(*one);
      break;
    }
    send_at_once(fd);
    one->fd = fd;
    one->credit = listening.credit;
    add(fd, one_shot, source::connection, static_cast<u32>(one - connections_));
    writer(frame(frame_type::accepted, listening.id, 4)).put(one->id);
    arm(*one);
  }
  arm(listening);
}

void warden::serve_connection(connection& one, u32 events) {
  one.armed = 0;
  if (one.listens) return accept_from_guest(one);
  if (one.connecting) {
    i32 failure = 0;
    u32 size = sizeof failure;
    kernel(__NR_getsockopt, one.fd, 1, 4, address(&failure), address(&size));  // SO_ERROR
    return finish_connecting(one, -failure);
  }
  if ((events & ~out_event) != 0) read_from_guest(one);
  if (one.used && one.size != 0) return write_to_guest(one);
  arm(one);
}

}  // namespace
