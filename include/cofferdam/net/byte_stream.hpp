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

namespace cofferdam::inline v0 {

/// Two streams of bytes, there and back: a socket, TLS over one, a child's standard input and output. One type for all.
///
/// One `read_some` and one `write` may be under way at the same time. Destroying it closes it, which needs no waiting;
/// do so only while nothing is under way, and before the executor's context. Moving it is allowed at any time.
/// \par Errors   `error{errc::io_error}` that names the peer; `cause()` is the system's code or a `net_errc`.
/// \par Threads  the executor that it was made for only.
class byte_stream {
 public:
  /// What a transport writes. The members mean what `byte_stream`'s own mean; the destructor closes.
  class implementation {
   public:
    implementation() = default;
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;
    virtual ~implementation() = default;
    virtual awaitable<std::size_t> read_some(std::span<std::byte> into) = 0;
    virtual awaitable<void> write(bytes_view data) = 0;
    virtual awaitable<void> send_file(int file, std::uint64_t offset, std::uint64_t count) {
      return send_by_pieces(file, offset, count);
    }
    virtual awaitable<void> shutdown_send() = 0;
    virtual void close() noexcept = 0;
    virtual bool is_quiet() noexcept { return true; }

   protected:
    /// Through memory, where the system knows no shorter way.
    awaitable<void> send_by_pieces(int file, std::uint64_t offset, std::uint64_t count) {
      bytes piece(static_cast<std::size_t>(std::min<std::uint64_t>(count, std::uint64_t{256} * 1024)));
      while (count != 0) {
        const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(count, piece.size()));
        const ssize_t got = ::pread(file, piece.data(), wanted, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
          throw error(errc::invalid_argument, "a file that is to be sent cannot be read",
                      std::error_code(errno, std::system_category()));
        if (got == 0) throw file_is_shorter();
        const auto size = static_cast<std::size_t>(got);
        co_await write(bytes_view(piece).first(size));
        offset += size;
        count -= size;
      }
    }
    static error file_is_shorter() {
      return error(errc::invalid_argument, "a file that is to be sent has become shorter meanwhile");
    }
  };

  /// No stream; everything but assignment and `close` throws `error{errc::invalid_argument}`.
  byte_stream() = default;
  explicit byte_stream(std::unique_ptr<implementation> open) : open_(std::move(open)) {}

  explicit operator bool() const noexcept { return open_ != nullptr; }

  /// Reads what is there, at least one byte; waits where there is nothing.
  /// \param into  not empty; kept by the caller until the awaitable completes.
  /// \return      how many bytes; 0 at the end of the stream. Over TLS only where the peer said that it is the end: a
  ///              connection that just breaks off is an error.
  /// \par Cancellation  terminal: throws `error{errc::cancelled}`; no byte is lost.
  awaitable<std::size_t> read_some(std::span<std::byte> into) {
    if (into.empty()) throw error(errc::invalid_argument, "byte_stream: there is no room to read into");
    return get().read_some(into);
  }

  /// Writes all of `data`.
  /// \param data  kept by the caller until the awaitable completes.
  /// \par Cancellation  terminal: some of `data` may have been written; throws `error{errc::cancelled}`.
  awaitable<void> write(bytes_view data) { return get().write(data); }

  /// Writes a part of a file; a socket without its passing through this program's memory.
  /// \param file  a regular file's descriptor, open for reading, kept by the caller until the awaitable completes; its own
  ///              position does not count and stays.
  /// \throws error{errc::invalid_argument} where the file holds less, or cannot be read: some of it has been written then.
  /// \par Cancellation  as `write`.
  awaitable<void> send_file(int file, std::uint64_t offset, std::uint64_t count) {
    return get().send_file(file, offset, count);
  }

  /// Says that nothing more will be written; reading goes on. TCP and Unix sockets: shutdown(2); TLS: close_notify; a
  /// pair of ends: closes the one that writes. Only while no `write` is under way. Does nothing the second time.
  awaitable<void> shutdown_send() { return get().shutdown_send(); }

  /// Closes both directions now. What is under way fails with `error{errc::io_error}`. Does nothing the second time.
  void close() noexcept {
    if (open_) open_->close();
  }

  /// Whether nothing waits to be read and the peer has not closed, as far as can be told without waiting.
  bool is_quiet() const noexcept { return open_ && open_->is_quiet(); }

 private:
  implementation& get() const {
    if (!open_) throw error(errc::invalid_argument, "byte_stream: there is none (default-constructed or moved from)");
    return *open_;
  }

  std::unique_ptr<implementation> open_;
};

}  // namespace cofferdam::inline v0
