// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <asio/error.hpp>

#include <string>
#include <system_error>

#include <poll.h>

namespace cofferdam::inline v0::detail {

/// What a stream throws. \param closed  whether this side has closed it: then an aborted operation is no cancellation.
inline error stream_error(const std::string& peer, const char* doing, std::error_code cause, bool closed) {
  if (closed)
    return error(errc::io_error, peer + ": closed by this side while " + doing, asio::error::operation_aborted);
  if (cause == asio::error::operation_aborted)
    return error(errc::cancelled, peer + ": cancelled while " + doing, cause);
  return error(errc::io_error, peer + ": lost while " + doing + ": " + cause.message(), cause);
}

/// Whether a descriptor has nothing to read, not even an end.
inline bool is_quiet_descriptor(int fd) noexcept {
  if (fd < 0) return false;
  pollfd one{};
  one.fd = fd;
  one.events = POLLIN | POLLRDHUP;
  return ::poll(&one, 1, 0) == 0;
}

}  // namespace cofferdam::inline v0::detail
