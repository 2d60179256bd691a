// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/http_reply.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class http_conversation;
class http_served_connection;
}  // namespace detail

/// A request and its reply: the argument of a handler of an `http_server`.
///
/// If the client disconnects, the handler is cancelled, even after its reply: the operation that it awaits throws. A
/// client that half-closes its connection before it has the answer counts as disconnected, as in most servers. The end
/// of the connection is not detected while more than 32 KiB of received data are unread. Call `ignore_departure` for
/// work that must be finished in any case.
/// \par Errors    a failure of a body or a reply throws error{exec_errc::io_error} with a `net_errc` or the system's
///                code as its `cause()`, or error{exec_errc::too_large}. If this exception leaves the handler, the
///                client gets the matching status: 400, 408, 413. Any other exception leads to 500, and is passed to
///                `on_error`.
/// \par Lifetime  the server's; until the handler's coroutine has ended. Not copied, not moved.
/// \par Threads   the server's executor. One read, and one of the calls that write, at a time.
/// \par Cancellation  terminal, everywhere: throws error{exec_errc::cancelled}; a reply under way is cut off.
class http_call {
 public:
  http_call(const http_call&) = delete;
  http_call& operator=(const http_call&) = delete;

  /// Returns method, target and fields. The target begins with `/`, or is `*`; it is not decoded.
  const http_request_head& head() const noexcept;
  const std::string& method() const noexcept;
  /// Returns the target up to its `?`, not decoded. Valid as long as this object.
  std::string_view path() const noexcept;
  /// Returns the target after its `?`, not decoded; empty if there is none.
  std::string_view query() const noexcept;
  /// Returns the first value of that field.
  std::optional<std::string_view> field(std::string_view name) const noexcept;

  /// Sets the maximum size of the body, instead of the server's setting. Before the first read.
  /// \param max_bytes  bytes; no value: unlimited.
  void body_limit(std::optional<std::uint64_t> max_bytes) noexcept;

  /// Reads the next piece of the body, as it arrived. The first call answers `Expect: 100-continue`. Unread data stays
  /// with the client (back-pressure).
  /// \param into  not empty; kept by the caller until the awaitable completes.
  /// \return      the number of bytes; 0 at the end and after it.
  /// \throws      error{exec_errc::too_large} beyond the limit (before the first byte, if the length is announced);
  ///              error{exec_errc::io_error}: net_errc::truncated, timed_out, malformed, ambiguous_length, ...
  awaitable<std::size_t> read_some(std::span<std::byte> into);

  /// Reads the rest of the body, within the limit.
  awaitable<bytes> read_all();
  /// Reads the rest of the body.
  /// \param max_bytes  maximum bytes of the whole body, instead of the limit.
  awaitable<bytes> read_all(std::uint64_t max_bytes);
  /// Returns the trailers of a chunked body; complete once `read_some` has returned 0.
  const http_fields& trailers() const noexcept;

  /// Sends a whole reply. Once for each request, and not after `begin`. `Date` and the length are added.
  awaitable<void> reply(http_reply what);

  /// Sends the head of a reply whose body is written piece by piece: chunked, or, for a client of HTTP/1.0, ended by
  /// closing the connection.
  /// \param what  without a body.
  awaitable<void> begin(http_reply what);
  /// Sends the head of a reply whose body is written piece by piece and has a known length.
  /// \param size  the exact number of bytes. Fewer bytes abort the reply; more are error{exec_errc::invalid_argument}.
  awaitable<void> begin(http_reply what, std::uint64_t size);

  /// Sends a piece of the body at once: when this completes, the system has it. Sends nothing for HEAD.
  /// \param data  kept by the caller until the awaitable completes; may be empty.
  awaitable<void> write(bytes_view data);
  awaitable<void> write(std::string_view text);

  /// Ends a reply that was begun, for a handler with more work to do. The end of the handler does the same. An
  /// exception of the handler aborts the reply, so that the client detects the failure.
  awaitable<void> end();

  /// Returns true if a reply was sent or begun.
  bool replied() const noexcept;
  /// Returns true if the client has disconnected.
  bool client_gone() const noexcept;
  /// Lets the handler continue after the client has disconnected; writing fails then. Stopping the server still cancels
  /// the handler.
  void ignore_departure() noexcept;

 private:
  friend class detail::http_served_connection;
  explicit http_call(detail::http_conversation& talk) noexcept : talk_(talk) {}

  std::string_view target() const noexcept;

  detail::http_conversation& talk_;
  bool ignores_departure_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/net/impl/http_call.ipp>
#endif
