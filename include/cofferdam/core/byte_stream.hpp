// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI {

/// A bidirectional stream of bytes: a socket, TLS over a socket, or the standard input and output of a child process.
///
/// One `read_some` and one `write` may be under way at the same time. The destructor closes the stream without waiting.
/// Destroy the stream only while no operation is under way, and before the executor's context. The stream may be moved
/// at any time.
/// \par Errors   `error{exec_errc::io_error}` with the name of the peer. Its `cause()` is the system's error code or a
///               `net_errc`.
/// \par Threads  use the stream only on the executor for which it was made.
class byte_stream {
 public:
  /// The interface that every kind of stream implements. Each member has the contract of the member of the same name in
  /// `byte_stream`. The destructor closes the stream.
  class implementation {
   public:
    implementation() = default;
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;
    virtual ~implementation() = default;
    virtual awaitable<std::size_t> read_some(std::span<std::byte> into) = 0;
    virtual awaitable<void> write(bytes_view data) = 0;
    virtual awaitable<void> shutdown_send() = 0;
    virtual void close() noexcept = 0;
    virtual bool is_quiet() noexcept { return true; }
  };

  /// Constructs an object without a stream. Every operation on it throws `error{exec_errc::invalid_argument}`, except
  /// `close` and `is_quiet`.
  byte_stream() = default;
  /// Takes ownership of an open stream.
  explicit byte_stream(std::unique_ptr<implementation> open) : open_(std::move(open)) {}

  /// Returns true if the object has a stream, open or closed.
  explicit operator bool() const noexcept { return open_ != nullptr; }

  /// Reads available bytes. Waits until at least one byte is available.
  /// \param into  the destination, not empty; kept by the caller until the awaitable completes.
  /// \return      the number of bytes; 0 at the end of the stream. With TLS, a connection that ends without the peer's
  ///              close_notify alert is an error.
  /// \par Cancellation  terminal: throws `error{exec_errc::cancelled}`; no byte is lost.
  awaitable<std::size_t> read_some(std::span<std::byte> into);

  /// Writes all of `data`.
  /// \param data  kept by the caller until the awaitable completes.
  /// \par Cancellation  terminal: some of `data` may have been written; throws `error{exec_errc::cancelled}`.
  awaitable<void> write(bytes_view data) { return get().write(data); }

  /// Writes a part of a file, by pieces of 64 KiB.
  /// \param file    the descriptor of a regular file, open for reading, kept by the caller until the awaitable
  ///                completes. Its file position is neither used nor changed.
  /// \param offset  the position of the first byte in the file.
  /// \param count   the number of bytes.
  /// \throws error{exec_errc::invalid_argument} if the file ends before `offset + count` or cannot be read. In this
  ///     case a part of the bytes may have been written.
  /// \par Cancellation  terminal: a part of the bytes may have been written; throws `error{exec_errc::cancelled}`.
  template <class = void>
  awaitable<void> send_file(int file, std::uint64_t offset, std::uint64_t count);

  /// Ends the writing direction; reading continues. A TCP or Unix socket calls shutdown(2). TLS sends close_notify. A
  /// pair of descriptors closes the writable descriptor. Call this only while no `write` is under way. A second call
  /// does nothing.
  awaitable<void> shutdown_send() { return get().shutdown_send(); }

  /// Closes both directions. Operations under way fail with `error{exec_errc::io_error}`. A second call does nothing.
  void close() noexcept;

  /// Returns true if no received byte is waiting to be read and the peer has not closed the connection. Does not wait
  /// for the network.
  bool is_quiet() const noexcept { return open_ && open_->is_quiet(); }

 private:
  implementation& get() const;

  std::unique_ptr<implementation> open_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/core/impl/byte_stream.ipp>
#endif
