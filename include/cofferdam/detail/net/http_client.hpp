// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/transport.hpp>
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

/// A response whose head has arrived, and whose body is read in pieces. Once `read_some` has returned 0, the connection
/// returns to the client's pool; if there is no body, it returns at once. If the exchange is destroyed earlier, the
/// connection is closed.
/// \par Lifetime  may outlive the client. `http_client::close` makes later reads fail. Move the exchange only while no
///                operation is under way.
/// \par Threads   the client's executor only.
class http_exchange {
 public:
  /// Constructs an object without a response. Reading from it throws `error{exec_errc::invalid_argument}`.
  http_exchange();
  http_exchange(http_exchange&&) noexcept;
  http_exchange& operator=(http_exchange&&) noexcept;
  ~http_exchange();

  const http_response_head& head() const noexcept { return head_; }
  int status() const noexcept { return head_.status; }
  /// Returns the trailers: the fields after a chunked body. They are complete once `read_some` has returned 0.
  const http_fields& trailers() const;

  /// Reads the next piece of the body. The body is read from the network only during calls (back-pressure).
  /// \param into  the destination, not empty; kept by the caller until the awaitable completes.
  /// \return      the number of bytes; 0 at the end of the body, also in later calls.
  /// \throws      error{exec_errc::io_error} if the connection ends too early (net_errc::truncated), if nothing arrives
  ///              within the idle limit (net_errc::timed_out), or if the data is not HTTP;
  ///              error{exec_errc::environment_closed} if the client was closed.
  /// \par Cancellation  terminal: closes the connection; throws error{exec_errc::cancelled}.
  awaitable<std::size_t> read_some(std::span<std::byte> into);

  /// Reads the rest of the body.
  /// \param max_bytes  the maximum size of the rest, in bytes. A longer body closes the connection and throws
  ///                   error{exec_errc::too_large}. If the announced length exceeds the maximum, nothing is read.
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

  /// Returns true if the peer has switched the protocol, so that there is a stream. If not, `answer()` has the peer's
  /// whole response.
  bool upgraded() const noexcept { return static_cast<bool>(stream_); }
  const http_response& answer() const noexcept { return answer_; }
  /// Returns the bidirectional stream. The first bytes that it reads are those after the head of the response. The
  /// stream does not belong to the client any more.
  byte_stream& stream() noexcept { return stream_; }

 private:
  http_response answer_;
  byte_stream stream_;
};

/// An HTTP/1.1 client for one peer. It opens connections as requests need them, and keeps some idle ones for later
/// requests.
///
/// A request that fails on a kept connection before the first byte of the response is sent once more, on a new
/// connection. This is only done if the server cannot execute the request twice: the method is idempotent, the request
/// is marked as idempotent, or nothing of its body was sent. Other failures are not repeated. Redirects are not
/// followed, and cookies are not stored.
///
/// Compressed responses are not decoded. A response with a content coding is an error with net_errc::unsupported_coding
/// as its `cause()`, unless the request has an `Accept-Encoding` field.
///
/// A server may respond while the body of the request is still being sent. If the status is 300 or more, the client
/// stops sending at once. Otherwise it sends the rest of the body before it reads the body of the response: the Docker
/// daemon, for example, reports its progress in the response while it is still reading the request.
/// \par Errors    `error{exec_errc::io_error}` with the name of the peer, and with the system's error code or a
///                `net_errc` as its `cause()`; error{exec_errc::invalid_argument}, error{exec_errc::too_large},
///                error{exec_errc::cancelled}. A response with an error status is returned, not thrown.
/// \par Cancellation  terminal, for every awaitable: closes the connection of that request; the client stays usable.
/// \par Lifetime  the destructor closes idle connections; requests under way continue. The client cannot be copied.
///                Neither the client nor its responses may outlive the executor's context.
/// \par Threads   one executor (a strand, if the context has several threads), on which the calling coroutines run,
///                too. Many requests may be under way at the same time.
/// \par Cost      an idle connection has a socket, but no running timer.
/// \par Source    RFC 9110, RFC 9112; docker.md, section 2.
class http_client {
 public:
  http_client(asio::any_io_executor executor, connector peer,
              const http_client_settings& settings = http_client_settings());
  http_client(http_client&&) = default;
  http_client& operator=(http_client&& other) noexcept;
  ~http_client();

  /// Returns the limits from the settings, which apply to requests without limits of their own. Use them as a start for
  /// other limits: `client.limits().head(std::nullopt)`.
  http_limits limits() const;
  /// Returns the number of idle connections.
  std::size_t idle_connections() const noexcept;

  /// Sends a request and returns the whole response.
  /// \param limits  the limits of this request; by default those of the settings. `limits.body()` is the maximum size
  ///                of the body.
  awaitable<http_response> request(http_request what) { return request(std::move(what), limits()); }
  awaitable<http_response> request(http_request what, http_limits limits);

  /// Sends a request and returns the response as soon as its head has arrived.
  awaitable<http_exchange> send(http_request what) { return send(std::move(what), limits()); }
  awaitable<http_exchange> send(http_request what, http_limits limits);

  /// Requests a raw stream on a new connection, which does not return to the pool. Adds `Connection: Upgrade` and
  /// `Upgrade: tcp` if the request lacks them. The result has a stream if the response has status 101, or status 200
  /// with a body of unknown length, which is how the Docker daemon answers old clients. After the response, the limits
  /// do not apply to the stream.
  awaitable<http_upgrade> upgrade(http_request what) { return upgrade(std::move(what), limits()); }
  awaitable<http_upgrade> upgrade(http_request what, http_limits limits);

  /// Closes all connections, idle or in use. Requests under way and later requests fail with
  /// error{exec_errc::environment_closed}. Streams from `upgrade` stay open. A second call does nothing.
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
