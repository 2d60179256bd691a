// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

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
    virtual awaitable<void> shutdown_send() = 0;
    virtual void close() noexcept = 0;
    virtual bool is_quiet() noexcept { return true; }
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
