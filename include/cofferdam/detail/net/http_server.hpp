// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/listener.hpp>

#include <asio/any_io_executor.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

class http_server_core;

/// An HTTP/1.1 and 1.0 server for one or more listeners. It runs one handler coroutine for each request.
///
/// Requests of one connection are handled one at a time and in order, even if they arrive together. Connections are
/// independent of each other. Framing, target, `Host` and `Origin` are checked before a handler gets the request. The
/// server itself sends these replies, each with one line of text: 400 not HTTP, ambiguous lengths, an invalid `Host` ·
/// 403 `Origin` · 408 · 411 a body of HTTP/1.0 without a length · 413 · 414, 431 · 417 another `Expect` · 421 `Host` (a
/// 421 and a 403 are the answers to DNS rebinding) · 500 the handler failed or sent nothing · 501 `CONNECT`, a transfer
/// coding other than chunked · 503 `request_timeout` · 505. All of them close the connection, except a 500 for a
/// request whose rest can be drained.
///
///     http_server server(executor, [](http_call& call) -> awaitable<void> {
///       co_await call.reply(http_reply(200).content("text/plain", "hello"));
///     });
///     server.listen(tcp_listener(executor, "127.0.0.1", 8080));
///     co_await server.run();
///
/// \par Errors    exceptions of handlers are passed to `on_error` of the settings, not to `run`.
/// \par Lifetime  the destructor closes everything and waits for nothing: running handlers are destroyed with the
///                executor's context, which the server must not outlive. Prefer `stop`. A handler may capture: the
///                server keeps it until the last call has ended.
/// \par Threads   one executor (a strand on pools), on which handlers run too.
/// \par Cost      a connection: two coroutines, a buffer of 32 KiB, and four timers.
/// \par Source    RFC 9110, RFC 9112.
class http_server {
 public:
  /// Called for each request. The request is finished when the coroutine ends; `call` is valid until then.
  using handler = std::function<awaitable<void>(http_call& call)>;

  /// \throws error{exec_errc::invalid_argument} for an empty handler, and for an invalid host or origin in the
  /// settings.
  http_server(asio::any_io_executor executor, handler each, http_server_settings settings = http_server_settings());
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;
  ~http_server();

  /// Adds a listener. Call it before `run`.
  http_server& listen(listener where);

  /// Serves until `stop` was called and everything has ended. May be called once.
  /// \throws error{exec_errc::invalid_argument} without a listener, and the second time; error{exec_errc::io_error} if
  ///     a listener failed permanently, after everything has ended.
  /// \par Cancellation  terminal: stops at once, cancels the handlers, waits for their ends; throws
  ///                    error{exec_errc::cancelled}.
  awaitable<void> run();

  /// Stops the server: accepts no more connections, closes idle connections, gives running handlers `stop_timeout` to
  /// finish, and then cancels them. Completes when everything has ended. May be called again, but not from a handler,
  /// because it would wait for that handler.
  /// \par Cancellation  terminal: cancels the handlers at once, waits for their ends; throws
  /// error{exec_errc::cancelled}.
  awaitable<void> stop();

  /// Returns the number of connections.
  std::size_t connections() const noexcept;

 private:
  std::shared_ptr<detail::http_server_core> core_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/http_server.ipp>
#endif
