// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/byte_stream.hpp>
#include <cofferdam/net/http_message.hpp>

#include <asio/any_io_executor.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

class http_exchange_state;
class http_pool;

/// An answer whose head has arrived and whose body is read in pieces. The connection is free again once `read_some` has
/// returned 0, or at once if there is no body. Destroying the exchange earlier closes the connection.
/// \par Lifetime  may outlive the client, whose `close()` ends it. Moved only while nothing is under way.
/// \par Threads   the client's executor only.
class http_exchange {
 public:
  /// Holds no answer; reading throws `error{exec_errc::invalid_argument}`.
  http_exchange();
  http_exchange(http_exchange&&) noexcept;
  http_exchange& operator=(http_exchange&&) noexcept;
  ~http_exchange();

  const http_response_head& head() const noexcept { return head_; }
  int status() const noexcept { return head_.status; }
  /// Returns the trailers of a chunked body; complete once `read_some` has returned 0.
  const http_fields& trailers() const;

  /// Reads the next piece of the body, as it arrived; nothing is read in advance (back-pressure).
  /// \param into  not empty; kept by the caller until the awaitable completes.
  /// \return      the number of bytes; 0 at the end and after it.
  /// \throws      error{exec_errc::io_error} if the connection ended too early (net_errc::truncated), if nothing
  ///              arrived within the idle limit (net_errc::timed_out), or if the data is not HTTP;
  ///              error{exec_errc::environment_closed} if the client was closed.
  /// \par Cancellation  terminal: closes the connection; throws error{exec_errc::cancelled}.
  awaitable<std::size_t> read_some(std::span<std::byte> into);

  /// Reads the rest of the body.
  /// \param max_bytes  maximum size in bytes. A longer body closes the connection and throws
  ///                   error{exec_errc::too_large}, before anything is read if its length is announced.
  awaitable<bytes> read_all(std::size_t max_bytes);

 private:
  friend class http_client;
  explicit http_exchange(std::unique_ptr<detail::http_exchange_state> state);

  detail::http_exchange_state& get() const;

  std::unique_ptr<detail::http_exchange_state> state_;
  http_response_head head_;
};

/// The result of a request to switch to another protocol.
class http_upgrade {
 public:
  http_upgrade() = default;
  http_upgrade(http_response answer, byte_stream stream) : answer_(std::move(answer)), stream_(std::move(stream)) {}

  /// Returns true if there is a stream. If not, `answer()` has the reason, including its body.
  bool upgraded() const noexcept { return static_cast<bool>(stream_); }
  const http_response& answer() const noexcept { return answer_; }
  /// Returns both directions of the stream, beginning with the bytes right after the head. The client does not use it
  /// any more.
  byte_stream& stream() noexcept { return stream_; }

 private:
  http_response answer_;
  byte_stream stream_;
};

/// An HTTP/1.1 client for one peer. It opens as many connections as it needs, and keeps some for later.
///
/// If a request fails on a kept connection before the first byte of the answer, it is sent once more on a new
/// connection, provided that this cannot execute it twice: its method is idempotent, or the request is marked as
/// idempotent, or none of its body was sent. Nothing else is repeated, redirects are not followed, cookies are not
/// kept. Content codings are not decoded: an answer that has one is an error with net_errc::unsupported_coding, unless
/// the request has `Accept-Encoding`. A server may answer while the body is still being sent: a status of 300 or more
/// stops the sending at once; with a lower status the rest of the body is sent first (the Docker daemon reports
/// progress while it reads), and then the body of the answer is read.
/// \par Errors    `error{exec_errc::io_error}` with the name of the peer, and with the system's code or a `net_errc` as
///                its `cause()`; error{exec_errc::invalid_argument}, error{exec_errc::too_large},
///                error{exec_errc::cancelled}. A status is not an error.
/// \par Cancellation  terminal, everywhere: closes that connection and leaves the client usable.
/// \par Lifetime  the destructor closes idle connections; requests under way continue. Not copied. Neither the client
///                nor its answers may outlive the executor's context.
/// \par Threads   one executor (a strand on pools), which is also that of the coroutines that use it; many requests at
///                a time.
/// \par Cost      an idle connection holds a socket and no timer.
/// \par Source    RFC 9110, RFC 9112; docker.md, section 2.
class http_client {
 public:
  http_client(asio::any_io_executor executor, connector peer,
              const http_client_settings& settings = http_client_settings());
  http_client(http_client&&) = default;
  http_client& operator=(http_client&& other) noexcept;
  ~http_client();

  /// Returns the limits of requests without their own; also a start for such limits:
  /// `client.limits().head(std::nullopt)`.
  http_limits limits() const;
  /// Returns the number of idle connections.
  std::size_t idle_connections() const noexcept;

  /// Sends a request and returns the whole answer, of at most `limits.body()` bytes.
  awaitable<http_response> request(http_request what) { return request(std::move(what), limits()); }
  awaitable<http_response> request(http_request what, http_limits limits);

  /// Sends a request and returns the answer as soon as its head has arrived.
  awaitable<http_exchange> send(http_request what) { return send(std::move(what), limits()); }
  awaitable<http_exchange> send(http_request what, http_limits limits);

  /// Sends a request for a raw stream, always on a new connection, which leaves the pool. The answer is accepted if it
  /// is 101, or a 200 whose body has neither a length nor chunks, which the Docker daemon sends to old clients. Adds
  /// `Connection: Upgrade` and `Upgrade: tcp` if the request has none. The limits do not apply to the stream.
  awaitable<http_upgrade> upgrade(http_request what) { return upgrade(std::move(what), limits()); }
  awaitable<http_upgrade> upgrade(http_request what, http_limits limits);

  /// Closes all connections, idle or not. Requests under way and later requests fail with
  /// error{exec_errc::environment_closed}. Streams of `upgrade` stay open. Does nothing the second time.
  awaitable<void> close();

 private:
  using state = detail::http_exchange_state;

  const std::shared_ptr<detail::http_pool>& pool() const;
  static awaitable<std::unique_ptr<state>> transact(std::shared_ptr<detail::http_pool> pool, http_request what,
                                                    http_limits limits, bool upgrade);
  static awaitable<http_exchange> open(std::shared_ptr<detail::http_pool> pool, http_request what, http_limits limits);
  static awaitable<http_response> whole(std::shared_ptr<detail::http_pool> pool, http_request what, http_limits limits);
  static awaitable<http_upgrade> hijack(std::shared_ptr<detail::http_pool> pool, http_request what, http_limits limits);
  static awaitable<void> end(std::shared_ptr<detail::http_pool> pool);

  std::shared_ptr<detail::http_pool> pool_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/http_client.ipp>
#endif
