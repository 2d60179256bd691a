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

/// An HTTP server for clients of HTTP/1.1 and HTTP/1.0, with one or more listeners. It runs one coroutine, the handler,
/// for each request.
///
/// The requests of one connection are handled one at a time and in order, even if they arrive together. Connections are
/// independent of each other. The server checks framing, target, `Host` and `Origin` before a handler gets the request.
/// The server itself sends these replies, each with one line of text:
/// - 400: not HTTP, an ambiguous length, or an invalid `Host`.
/// - 403: an `Origin` that is not allowed. 421: a `Host` that is not allowed. Both prevent DNS rebinding.
/// - 408: a time limit. 413, 414, 431: a size limit.
/// - 411: an HTTP/1.0 request whose body has no length. 417: an unknown `Expect`.
/// - 500: the handler has thrown, or has ended without a reply. 503: the handler was stopped by `request_timeout`.
/// - 501: `CONNECT`, or a transfer coding other than chunked. 505: another version of HTTP.
///
/// The server closes the connection after each of these replies. The only exception is a 500 after which the rest of
/// the request could be discarded.
///
///     http_server server(executor, [](http_call& call) -> awaitable<void> {
///       co_await call.reply(http_reply(200).content("text/plain", "hello"));
///     });
///     server.listen(tcp_listener(executor, "127.0.0.1", 8080));
///     co_await server.run();
///
/// \par Errors    exceptions from handlers are passed to `http_server_settings::on_error`, not to `run`.
/// \par Lifetime  the destructor closes everything without waiting. Handlers that are still running are destroyed with
///                the executor's context, which the server must not outlive. Prefer `stop`. The handler may be a lambda
///                with captures: the server keeps it until the last call has ended.
/// \par Threads   one executor (a strand, if the context has several threads), on which handlers run, too.
/// \par Cost      for each connection: two coroutines, a buffer of 32 KiB, and four timers.
/// \par Source    RFC 9110, RFC 9112.
class http_server {
 public:
  /// The function that is called for each request. The request is finished when the coroutine ends. `call` is valid
  /// until then.
  using handler = std::function<awaitable<void>(http_call& call)>;

  /// \param each  the handler, called for each request.
  /// \throws error{exec_errc::invalid_argument} if the handler is empty, or if the settings have an invalid host or
  ///     origin.
  http_server(asio::any_io_executor executor, handler each, http_server_settings settings = http_server_settings());
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;
  ~http_server();

  /// Adds a listener. Call this before `run`.
  http_server& listen(listener where);

  /// Serves requests until `stop` is called and all connections have ended. May be called once.
  /// \throws error{exec_errc::invalid_argument} if there is no listener, or if `run` was called before;
  ///     error{exec_errc::io_error} if a listener has failed permanently. All connections have ended before the error
  ///     is thrown.
  /// \par Cancellation  terminal: stops the server at once, cancels the handlers, and waits for their ends; throws
  ///                    error{exec_errc::cancelled}.
  awaitable<void> run();

  /// Stops the server. It accepts no more connections, closes idle connections, gives running handlers `stop_timeout`
  /// to finish, and then cancels them. Completes when all connections have ended. May be called again, but not from a
  /// handler, because the call would wait for that handler.
  /// \par Cancellation  terminal: cancels the handlers at once, and waits for their ends; throws
  ///                    error{exec_errc::cancelled}.
  awaitable<void> stop();

  /// Returns the number of open connections.
  std::size_t connections() const noexcept;

 private:
  std::shared_ptr<detail::http_server_core> core_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/http_server.ipp>
#endif
