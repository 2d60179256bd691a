// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/listener.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI {

/// Listens for TCP connections. Accepted streams have TCP_NODELAY.
/// \param executor  the executor for all work of the listener.
/// \param address  an IPv4 or IPv6 address of this machine without brackets, for example `127.0.0.1` or `::1`.
///                 `0.0.0.0` and `::` accept connections from the network.
/// \param port     0 chooses any free port, which `port()` returns.
/// \throws         error{exec_errc::invalid_argument} if `address` is not an IP address; error{exec_errc::io_error}
///                 whose `cause()` is the system's error code: EADDRINUSE, EACCES, EADDRNOTAVAIL, ...
listener tcp_listener(const asio::any_io_executor& executor, const std::string& address, std::uint16_t port);

/// Listens on a Unix stream socket with mode 0600, to which only the same user can connect. Replaces a socket file
/// whose server does not run any more. `close` and the destructor remove the file, unless another file has taken its
/// place.
/// \param executor  the executor for all work of the listener.
/// \param path  absolute, at most 107 bytes, without NUL. The parent directory must exist.
/// \throws      error{exec_errc::invalid_argument} for an invalid path; error{exec_errc::already_exists} if another
///              server listens there, or if the file is not a socket; error{exec_errc::permission_denied} if other
///              users could connect; error{exec_errc::io_error} with the system's error code.
listener unix_listener(const asio::any_io_executor& executor, const std::string& path);

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/net/impl/listener.ipp>
#endif
