// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/net/byte_stream.hpp>
#include <cofferdam/net/detail/connect.hpp>
#include <cofferdam/net/detail/pair_stream.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace cofferdam::inline v0 {

/// How to reach a peer: a copyable recipe that makes a stream each time it is asked. Holds no socket.
///
/// `unix_connector`, `tcp_connector` and `tls_connector` (net/tls.hpp) make the usual ones; a custom one is a name, the
/// peer's `Host`, and a function.
class connector {
 public:
  /// Makes a stream within a time, or throws `error{errc::io_error}`, or `error{errc::cancelled}`; leaves nothing behind.
  using function = std::function<awaitable<byte_stream>(asio::any_io_executor, std::chrono::milliseconds)>;

  /// Reaches nobody.
  connector() = default;
  /// \param name     how sentences call the peer: `the socket "/var/run/docker.sock"`.
  /// \param host     for the field `Host`: a name, or an address with its port; no control character.
  /// \param connect  copied into every copy of this; runs in the coroutine of whoever awaits it.
  connector(std::string name, std::string host, function connect)
      : name_(std::move(name)), host_(std::move(host)), connect_(std::move(connect)) {
    if (!connect_) throw error(errc::invalid_argument, "connector: the function that connects is empty");
  }

  const std::string& name() const noexcept { return name_; }
  const std::string& host() const noexcept { return host_; }

  /// Connects. \param limit  for everything up to a stream that can be used; more than zero.
  awaitable<byte_stream> connect(asio::any_io_executor executor, std::chrono::milliseconds limit) const {
    if (!connect_) throw error(errc::invalid_argument, "connector: there is none (default-constructed)");
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, "connect: the limit must be longer than zero");
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365);  // what a clock can be moved on by
    return connect_(std::move(executor), std::min(limit, longest));
  }

 private:
  std::string name_;
  std::string host_;
  function connect_;
};

/// Connects to a Unix stream socket.
/// \param path  absolute, at most 107 bytes, no NUL.
/// \param host  for the field `Host`; the peer ignores it as a rule.
/// \throws      error{errc::invalid_argument} for another path. Connecting throws error{errc::io_error} whose `cause()`
///              is the system's: ENOENT (no such socket), EACCES (may not use it), ECONNREFUSED (left by a dead server).
/// \par Cancellation  terminal.
inline connector unix_connector(std::string path, std::string host = "localhost") {
  if (path.empty() || path.front() != '/' || path.size() > 107 || path.find('\0') != std::string::npos)
    throw error(errc::invalid_argument, "\"" + one_line(path) +
                                            "\" is no path of a Unix socket: it has to be absolute and at most 107 "
                                            "bytes long");
  std::string name = "the socket \"" + one_line(path) + "\"";
  return connector(name, std::move(host), detail::unix_recipe(std::move(path), name));
}

/// Connects to a host by TCP: every address in the order that the system gives, each with its share of the time left.
/// No delay of small writes; keep-alive probes after 30 s of silence.
/// \param host  a name, or an IPv4 or IPv6 address (without brackets); resolved anew each time.
/// \param port  not 0.
/// \throws      error{errc::invalid_argument} for another host or port; connecting throws error{errc::io_error} that names
///              the host and the last address that was tried.
/// \par Cancellation  terminal. A name that is being resolved is given up; the system's own attempt ends by itself.
inline connector tcp_connector(std::string host, std::uint16_t port) {
  detail::check_host(host, port);
  std::string name = detail::host_and_port(host, port, 0);
  std::string field = detail::host_and_port(host, port, 80);
  return connector(name, std::move(field), detail::tcp_recipe(std::move(host), port, name));
}

/// A stream of two ends, such as a child's standard output and input.
/// \param readable  models Asio's AsyncReadStream and has `close()`; moved in.
/// \param writable  models Asio's AsyncWriteStream and has `close()`; moved in. `asio::posix::stream_descriptor` is written
///                  to without SIGPIPE and becomes non-blocking.
/// \param peer      how sentences call the other side.
/// \param owner     anything that has to live as long: the child. Destroyed after both ends.
template <class Readable, class Writable, class Owner = std::nullptr_t>
  requires(std::is_object_v<Readable> && std::is_object_v<Writable> && std::is_object_v<Owner>)
byte_stream make_byte_stream(Readable readable, Writable writable, std::string peer, Owner owner = Owner()) {
  return byte_stream(std::make_unique<detail::pair_stream<Readable, Writable, Owner>>(
      std::move(readable), std::move(writable), std::move(peer), std::move(owner)));
}

}  // namespace cofferdam::inline v0
