// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/net/detail/pair_stream.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// Makes a stream from a readable and a writable object, for example from two pipes:
///
///     byte_stream client = make_byte_stream(asio::posix::stream_descriptor(executor, in),
///                                           asio::posix::stream_descriptor(executor, out), "the client");
///     co_await server.serve(std::move(client));  // an mcp::server
///
/// \param readable  models Asio's AsyncReadStream and has `close()`. The stream takes it over.
/// \param writable  models Asio's AsyncWriteStream and has `close()`. The stream takes it over. If it is an
///                  `asio::posix::stream_descriptor`, it becomes non-blocking, and writing raises no SIGPIPE.
/// \param peer      the name of the other side, for error messages.
/// \param owner     an object that must live as long as both, for example the child process. It is destroyed after
///                  them.
template <class Readable, class Writable, class Owner = std::nullptr_t>
  requires(std::is_object_v<Readable> && std::is_object_v<Writable> && std::is_object_v<Owner>)
byte_stream make_byte_stream(Readable readable, Writable writable, std::string peer, Owner owner = Owner()) {
  return byte_stream(std::make_unique<detail::pair_stream<Readable, Writable, Owner>>(
      std::move(readable), std::move(writable), std::move(peer), std::move(owner)));
}

}  // namespace cofferdam::inline COFFERDAM_ABI
