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
/// One type for all of them.
///
/// One `read_some` and one `write` may be under way at the same time. The destructor closes the stream without waiting.
/// Destroy it only while nothing is under way, and before the executor's context. Moving it is allowed at any time.
/// \par Errors   `error{exec_errc::io_error}` with the name of the peer; `cause()` is the system's code or a
/// `net_errc`.
/// \par Threads  the executor that it was made for only.
class byte_stream {
 public:
  /// The interface of a transport. Each member means the same as in `byte_stream`. The destructor closes the stream.
  class implementation {
   public:
    implementation() = default;
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;
    virtual ~implementation() = default;
    virtual awaitable<std::size_t> read_some(std::span<std::byte> into) = 0;
    virtual awaitable<void> write(bytes_view data) = 0;
    virtual awaitable<void> send_file(int file, std::uint64_t offset, std::uint64_t count);
    virtual awaitable<void> shutdown_send() = 0;
    virtual void close() noexcept = 0;
    virtual bool is_quiet() noexcept { return true; }

   protected:
    /// Sends a file through memory, if the system has no shorter way.
    awaitable<void> send_by_pieces(int file, std::uint64_t offset, std::uint64_t count);
    static error file_is_shorter();
  };

  /// Holds no stream: every operation except `close` throws `error{exec_errc::invalid_argument}`.
  byte_stream() = default;
  explicit byte_stream(std::unique_ptr<implementation> open) : open_(std::move(open)) {}

  explicit operator bool() const noexcept { return open_ != nullptr; }

  /// Reads available bytes; waits until there is at least one.
  /// \param into  not empty; kept by the caller until the awaitable completes.
  /// \return      the number of bytes; 0 at the end of the stream. With TLS, a connection that ends without the peer's
  ///              close_notify is an error.
  /// \par Cancellation  terminal: throws `error{exec_errc::cancelled}`; no byte is lost.
  awaitable<std::size_t> read_some(std::span<std::byte> into);

  /// Writes all of `data`.
  /// \param data  kept by the caller until the awaitable completes.
  /// \par Cancellation  terminal: some of `data` may have been written; throws `error{exec_errc::cancelled}`.
  awaitable<void> write(bytes_view data) { return get().write(data); }

  /// Writes a part of a file. A socket sends it without a copy in this program's memory.
  /// \param file  the descriptor of a regular file, open for reading, kept by the caller until the awaitable completes.
  ///              Its position is neither used nor changed.
  /// \throws error{exec_errc::invalid_argument} if the file is shorter or cannot be read; some of it may have been
  ///     written then.
  /// \par Cancellation  as `write`.
  awaitable<void> send_file(int file, std::uint64_t offset, std::uint64_t count);

  /// Ends the writing direction; reading continues. TCP and Unix sockets: shutdown(2); TLS: close_notify; a pair of
  /// descriptors: closes the writable one. Only while no `write` is under way. Does nothing the second time.
  awaitable<void> shutdown_send() { return get().shutdown_send(); }

  /// Closes both directions. Operations under way fail with `error{exec_errc::io_error}`. Does nothing the second time.
  void close() noexcept;

  /// Returns true if there is nothing to read and the peer has not closed, as far as this is known without waiting.
  bool is_quiet() const noexcept { return open_ && open_->is_quiet(); }

 private:
  implementation& get() const;

  std::unique_ptr<implementation> open_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/net/impl/byte_stream.ipp>
#endif
