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
/// If the client disconnects, the handler is cancelled, even if the handler has already replied: the operation that it
/// awaits throws. Like most servers, this one treats a client as disconnected if the client closes its sending
/// direction before it has received the reply. While more than 32 KiB of received data are unread, the server does not
/// detect the end of the connection. Call `ignore_departure` for work that must be finished in any case.
/// \par Errors    if the body cannot be read or the reply cannot be written, the members throw
///                error{exec_errc::io_error} whose `cause()` is a `net_errc` or the system's error code, or
///                error{exec_errc::too_large}. If this exception leaves the handler, the client gets the matching
///                status: 400, 408 or 413. Any other exception leads to status 500, and is passed to
///                `http_server_settings::on_error`.
/// \par Lifetime  the server owns the object; it is valid until the handler's coroutine has ended. It can be neither
///                copied nor moved.
/// \par Threads   the server's executor. At most one read and one writing call at a time.
/// \par Cancellation  terminal, for every awaitable: throws error{exec_errc::cancelled}; a reply under way is cut off.
class http_call {
 public:
  http_call(const http_call&) = delete;
  http_call& operator=(const http_call&) = delete;

  /// Returns the method, the target and the header fields. The target begins with `/`, or is `*`. It is not
  /// percent-decoded.
  const http_request_head& head() const noexcept;
  /// Returns the method of the request, such as "GET".
  const std::string& method() const noexcept;
  /// Returns the target up to its `?`, not percent-decoded. The view is valid as long as this object.
  std::string_view path() const noexcept;
  /// Returns the target after its `?`, not percent-decoded; empty if the target has no `?`. The view is valid as long
  /// as this object.
  std::string_view query() const noexcept;
  /// Returns the value of the first field with this name; no value if the field is absent. Case is ignored.
  std::optional<std::string_view> field(std::string_view name) const noexcept;

  /// Sets the maximum size of the request's body, instead of the limit from the server's settings. Call this before the
  /// first read.
  /// \param max_bytes  in bytes; no value means unlimited.
  void body_limit(std::optional<std::uint64_t> max_bytes) noexcept;

  /// Reads the next piece of the body. The first call sends `100 Continue` if the client waits for that. Data beyond
  /// the server's buffer of 32 KiB stays in the network until the handler reads (back-pressure).
  /// \param into  the destination, not empty; kept by the caller until the awaitable completes.
  /// \return      the number of bytes; 0 at the end of the body, also in later calls.
  /// \throws      error{exec_errc::too_large} if the body exceeds its limit; the first call throws it if the announced
  ///              length does. error{exec_errc::io_error} with net_errc::truncated, timed_out, malformed,
  ///              ambiguous_length, ... as its `cause()`.
  awaitable<std::size_t> read_some(std::span<std::byte> into);

  /// Reads the rest of the body. The limit of the settings or of `body_limit` applies to the whole body.
  awaitable<bytes> read_all();
  /// Reads the rest of the body, with another limit.
  /// \param max_bytes  the maximum size of the whole body in bytes, including parts that were read before.
  awaitable<bytes> read_all(std::uint64_t max_bytes);
  /// Returns the trailers: the fields after a chunked body. They are complete once `read_some` has returned 0.
  const http_fields& trailers() const noexcept;

  /// Lets the web page of this origin read the reply to this request, also the server's own reply to an exception
  /// (CORS). Call it before `reply` and `begin`. In any case the reply gets `Vary: Origin`, for caches.
  /// \param origin  the value of the request's `Origin` field; the handler must trust this origin. An empty text means
  ///                that no page may read the reply.
  /// \throws error{exec_errc::invalid_argument} if the text is not the value of a header field.
  void share_with(std::string_view origin);

  /// Sends a whole reply. Call this at most once for each request, and not after `begin`. The server adds `Date`, if it
  /// is absent, and `Content-Length`.
  awaitable<void> reply(http_reply what);

  /// Sends the head of a reply whose body is written piece by piece, with an unknown length. The body is sent chunked.
  /// For a client of HTTP/1.0, the end of the connection ends the body.
  /// \param what  the status and the fields; its body must be empty.
  awaitable<void> begin(http_reply what);
  /// Sends the head of a reply whose body is written piece by piece and has a known length.
  /// \param what  the status and the fields; its body must be empty.
  /// \param size  the exact number of bytes of the body. If the handler ends after fewer bytes, the connection is
  ///              aborted. Writing more bytes throws error{exec_errc::invalid_argument}.
  awaitable<void> begin(http_reply what, std::uint64_t size);

  /// Sends a piece of the body at once: when the awaitable completes, the operating system has the bytes. Sends nothing
  /// if the request's method is HEAD.
  /// \param data  kept by the caller until the awaitable completes; may be empty.
  awaitable<void> write(bytes_view data);
  /// Sends a text as a piece of the body, as the other overload does.
  awaitable<void> write(std::string_view text);

  /// Ends a reply that was begun, for a handler that has more work to do after the reply. When the handler returns, the
  /// server ends the reply in the same way. If the handler throws, the server aborts the connection instead, so that
  /// the client detects the failure.
  awaitable<void> end();

  /// Returns true if `reply` or `begin` has sent the head of a reply.
  bool replied() const noexcept;
  /// Returns true if the client has disconnected, as described for the class.
  bool client_gone() const noexcept;
  /// Lets the handler continue after the client has disconnected. Writing then fails. Stopping the server still cancels
  /// the handler, after `stop_timeout`.
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
