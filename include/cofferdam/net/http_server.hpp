// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/detail/http_server_core.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/listener.hpp>

#include <asio/any_io_executor.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace cofferdam::inline v0 {

/// Serves HTTP/1.1, and 1.0, to the peers of one or more listeners: one coroutine of a handler for each request.
///
/// Requests of one connection are handled one at a time and in their order, also where they come in one go; connections
/// independently of each other. Before a handler sees a request, its framing, its target, `Host` and `Origin` have been
/// checked. What the server says by itself, each with one line of text:
/// 400 what is not HTTP, ambiguous lengths, a `Host` that is none · 403 `Origin` · 408 · 411 a body of HTTP/1.0 without a
/// length · 413 · 414, 431 · 417 another `Expect` · 421 `Host` (a 421 and a 403 are the answers to DNS rebinding) ·
/// 500 the handler failed or sent nothing · 501 `CONNECT`, a transfer coding that is not chunked · 503 `request_time` ·
/// 505. All of them close the connection but the 500 to a request whose rest can be drained.
///
///     http_server server(executor, [](http_call& call) -> awaitable<void> {
///       co_await call.reply(http_reply(200).content("text/plain", "hello"));
///     });
///     server.listen(tcp_listener(executor, "127.0.0.1", 8080));
///     co_await server.run();
///
/// \par Errors    what handlers throw goes to `on_error` of the settings, not to `run`.
/// \par Lifetime  destroying it closes everything and waits for nothing: handlers that still run are cancelled by the
///                executor's context, which it does not outlive. Better is `stop`. A handler may capture: the server
///                keeps it until the last call has ended.
/// \par Threads   one executor (a strand on pools), on which handlers run too.
/// \par Cost      a connection: two coroutines, a buffer of 32 KiB, and four timers.
/// \par Source    RFC 9110, RFC 9112.
class http_server {
 public:
  /// Called for each request; ends when the request is done. `call` lives that long.
  using handler = std::function<awaitable<void>(http_call& call)>;

  /// \throws error{errc::invalid_argument} for an empty handler, and for a host or origin in the settings that is none.
  http_server(asio::any_io_executor executor, handler each, http_server_settings settings = http_server_settings())
      : core_(std::make_shared<detail::http_server_core>(std::move(executor), std::move(each), std::move(settings))) {}
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;
  ~http_server() { core_->abort(); }

  /// Serves the peers of this listener, too, when it runs. Before `run`.
  http_server& listen(listener where) {
    core_->listen(std::move(where));
    return *this;
  }

  /// Serves until `stop` was called and everything has ended. Once.
  /// \throws error{errc::invalid_argument} without a listener, and the second time; error{errc::io_error} where a listener
  ///         failed for good, after everything has ended.
  /// \par Cancellation  terminal: stops at once, cancels the handlers, waits for their ends; throws
  ///                    error{errc::cancelled}. No new server, but no loose end either.
  awaitable<void> run() { return detail::http_server_core::run(core_); }

  /// Stops: no more connections, idle ones are closed, requests that a handler has are finished within `stop_time`, then
  /// cancelled. Done when all of that has ended. May be called again, from anywhere but a handler, which it would wait for.
  /// \par Cancellation  terminal: cancels the handlers at once, waits for their ends; throws error{errc::cancelled}.
  awaitable<void> stop() { return detail::http_server_core::stop(core_); }

  /// How many connections there are.
  std::size_t connections() const noexcept { return core_->connections(); }

 private:
  std::shared_ptr<detail::http_server_core> core_;
};

}  // namespace cofferdam::inline v0
