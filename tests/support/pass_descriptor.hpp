// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>

namespace cofferdam_test {

/// Sends one byte with a descriptor over a Unix socket. Returns false with `errno` if the kernel refuses.
inline bool pass_descriptor(int socket, int descriptor) {
  char byte = 'x';
  iovec data{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

}  // namespace cofferdam_test
