// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <asio/error.hpp>

#include <string>
#include <system_error>

#include <poll.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the error for a failed operation on a stream.
/// \param closed  true if this program has closed the stream. An aborted operation is then reported as an I/O error,
///                not as a cancellation.
inline error stream_error(const std::string& peer, const char* doing, std::error_code cause, bool closed) {
  if (closed)
    return error(exec_errc::io_error, peer + ": closed by this side while " + doing, asio::error::operation_aborted);
  if (cause == asio::error::operation_aborted)
    return error(exec_errc::cancelled, peer + ": cancelled while " + doing, cause);
  return error(exec_errc::io_error, peer + ": lost while " + doing + ": " + cause.message(), cause);
}

/// Returns true if a descriptor has nothing to read and its peer has not closed it. Does not wait.
inline bool is_quiet_descriptor(int fd) noexcept {
  if (fd < 0) return false;
  pollfd polled{};
  polled.fd = fd;
  polled.events = POLLIN | POLLRDHUP;
  return ::poll(&polled, 1, 0) == 0;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
