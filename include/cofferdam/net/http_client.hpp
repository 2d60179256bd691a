// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/large_block.hpp>
#include <cofferdam/core/rethrow_cancellation.hpp>
#include <cofferdam/net/byte_stream.hpp>
#include <cofferdam/net/detail/http_exchange_state.hpp>
#include <cofferdam/net/detail/http_pool.hpp>
#include <cofferdam/net/http_limits.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/net/transport.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0 {

/// An answer whose head has come and whose body is read in pieces. The connection is free again once `read_some` has
/// yielded 0, or at once where there is no body; destroying it earlier closes the connection.
/// \par Lifetime  may outlive the client, whose `close()` ends it. Moved only while nothing is under way.
/// \par Threads   the client's executor only.
class http_exchange {
 public:
  /// No answer; reading throws `error{errc::invalid_argument}`.
  http_exchange() = default;

  const http_response_head& head() const noexcept { return head_; }
  int status() const noexcept { return head_.status; }
  /// The trailers of a chunked body; whole once `read_some` has yielded 0.
  const http_fields& trailers() const { return get().parser().trailers(); }

  /// The next piece of the body, as it came; nothing is read ahead of the caller (back-pressure).
  /// \param into  not empty; kept by the caller until the awaitable completes.
  /// \return      how many bytes; 0 at the end, and from then on.
  /// \throws      error{errc::io_error} where the connection broke off (net_errc::truncated), where nothing came within
  ///              the idle limit (net_errc::timed_out), or where what came is not HTTP; error{errc::environment_closed}
  ///              where the client was closed.
  /// \par Cancellation  terminal: closes the connection; throws error{errc::cancelled}.
  awaitable<std::size_t> read_some(std::span<std::byte> into) { return get().read_some(into); }

  /// The rest of the body.
  /// \param most  a longer body closes the connection and throws error{errc::too_large}; where its length is announced,
  ///              before anything is read.
  awaitable<bytes> read_all(std::size_t most);

 private:
  friend class http_client;
  explicit http_exchange(std::unique_ptr<detail::http_exchange_state> state)
      : state_(std::move(state)), head_(state_->take_head()) {}

  detail::http_exchange_state& get() const {
    if (!state_)
      throw error(errc::invalid_argument, "http_exchange: there is none (default-constructed or moved from)");
    return *state_;
  }

  std::unique_ptr<detail::http_exchange_state> state_;
  http_response_head head_;
};

/// What came of asking a server to stop speaking HTTP.
class http_upgrade {
 public:
  http_upgrade() = default;
  http_upgrade(http_response answer, byte_stream stream) : answer_(std::move(answer)), stream_(std::move(stream)) {}

  /// Whether there is a stream; if not, `answer()` says why, body and all.
  bool upgraded() const noexcept { return static_cast<bool>(stream_); }
  const http_response& answer() const noexcept { return answer_; }
  /// Both directions, beginning with what came right behind the head. The client has no part in it any more.
  byte_stream& stream() noexcept { return stream_; }

 private:
  http_response answer_;
  byte_stream stream_;
};

/// Speaks HTTP/1.1 to one peer over as many connections as are needed, and keeps some for later.
///
/// A request that fails on a kept connection before a byte of the answer has come is sent once more on a new one, where
/// that cannot do anything twice: its method is idempotent, or it says so, or none of its body was sent. Nothing else is
/// repeated, redirects are not followed, cookies are not kept. Content codings are not undone: an answer that has one is an
/// error with net_errc::unsupported_coding, unless the request has `Accept-Encoding`.
/// A server that answers while the body is still being sent is heard: a status from 300 on ends the sending at once; with
/// a lower one the rest of the body is sent first (the Docker daemon reports progress while it reads), and only then is
/// the answer's body read.
/// \par Errors    `error{errc::io_error}` that names the peer, with the system's code or a `net_errc` as its `cause()`;
///                error{errc::invalid_argument}, error{errc::too_large}, error{errc::cancelled}. A status is no error.
/// \par Cancellation  terminal, everywhere: closes that connection and leaves the client usable.
/// \par Lifetime  destroying it closes idle connections; requests under way end on their own. Not copied. Neither it nor
///                an answer of it outlives the executor's context.
/// \par Threads   one executor, which is also that of the coroutines that use it; many requests at a time.
/// \par Cost      an idle connection holds a socket and no timer.
/// \par Source    RFC 9110, RFC 9112; docker.md, section 2.
class http_client {
 public:
  http_client(asio::any_io_executor executor, connector peer,
              const http_client_settings& settings = http_client_settings())
      : pool_(std::make_shared<detail::http_pool>(std::move(executor), std::move(peer), settings)) {}
  http_client(http_client&&) = default;
  http_client& operator=(http_client&& other) noexcept {
    if (pool_) pool_->retire();
    pool_ = std::move(other.pool_);
    return *this;
  }
  ~http_client() {
    if (pool_) pool_->retire();
  }

  /// The limits of requests that bring none; a start for their own: `client.limits().head(std::nullopt)`.
  http_limits limits() const { return pool()->settings().limits(); }
  /// How many connections wait for a request.
  std::size_t idle_connections() const noexcept { return pool_ ? pool_->idle() : 0; }

  /// Sends a request and yields the whole answer, of at most `limits.body()` bytes.
  awaitable<http_response> request(http_request what) { return request(std::move(what), limits()); }
  awaitable<http_response> request(http_request what, http_limits limits) {
    return whole(pool(), std::move(what), std::move(limits));
  }

  /// Sends a request and yields the answer as soon as its head has come.
  awaitable<http_exchange> send(http_request what) { return send(std::move(what), limits()); }
  awaitable<http_exchange> send(http_request what, http_limits limits) {
    return open(pool(), std::move(what), std::move(limits));
  }

  /// Sends a request that asks for a raw stream, always on a new connection, which leaves the pool. Taken for a yes: 101,
  /// and a 200 whose body has neither length nor chunks, as the Docker daemon answers old clients.
  /// Adds `Connection: Upgrade` and `Upgrade: tcp` where the request has none. No limit of ours holds on the stream.
  awaitable<http_upgrade> upgrade(http_request what) { return upgrade(std::move(what), limits()); }
  awaitable<http_upgrade> upgrade(http_request what, http_limits limits) {
    return hijack(pool(), std::move(what), std::move(limits));
  }

  /// Closes all connections, idle or not; later use, and what is under way, is error{errc::environment_closed}. Streams of
  /// `upgrade` are not the client's. Does nothing the second time.
  awaitable<void> close() { return end(pool()); }

 private:
  using state = detail::http_exchange_state;

  const std::shared_ptr<detail::http_pool>& pool() const {
    if (!pool_) throw error(errc::invalid_argument, "http_client: it was moved from");
    return pool_;
  }
  static awaitable<std::unique_ptr<state>> transact(std::shared_ptr<detail::http_pool> pool, http_request what,
                                                    http_limits limits, bool upgrade);
  static awaitable<http_exchange> open(std::shared_ptr<detail::http_pool> pool, http_request what, http_limits limits);
  static awaitable<http_response> whole(std::shared_ptr<detail::http_pool> pool, http_request what, http_limits limits);
  static awaitable<http_upgrade> hijack(std::shared_ptr<detail::http_pool> pool, http_request what, http_limits limits);
  static awaitable<void> end(std::shared_ptr<detail::http_pool> pool) {
    pool->close();
    co_return;
  }

  std::shared_ptr<detail::http_pool> pool_;
};

inline awaitable<bytes> http_exchange::read_all(std::size_t most) {
  try {
    const auto announced = head_.fields.find("Content-Length");
    const error too_long(errc::too_large, get().peer() + ": the body of its answer is longer than the limit of " +
                                              std::to_string(most) + " bytes");
    constexpr std::size_t step = 256 * 1024;
    constexpr std::uint64_t most_reserved = std::uint64_t{256} << 20U;
    bytes content;
    std::size_t have = 0;
    if (!get().ended() && announced && announced->size() <= 18) {
      const std::uint64_t length = std::stoull(std::string(*announced));
      if (length > most) {
        state_.reset();
        throw too_long;
      }
      // Only what comes is touched; and a peer that lies gets no more than an empty promise.
      content.reserve(static_cast<std::size_t>(std::min(length, most_reserved)));
      detail::fill_soon(content.data(), content.capacity());
    }
    while (!get().ended()) {
      // Read in place. One byte more than may come shows a body that is too long.
      if (content.size() == have) {
        std::size_t room = have == most ? 1 : std::min(step, most - have);
        if (content.capacity() > have) room = std::min(room, content.capacity() - have);
        content.resize(have + room);
      }
      const std::size_t count = co_await read_some(std::span(content).subspan(have));
      if (count == 0) break;
      have += count;
      if (have > most) {
        state_.reset();
        throw too_long;
      }
    }
    content.resize(have);
    co_return content;
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    state_.reset();
    detail::rethrow_cancellation(failure, "reading an HTTP answer was cancelled; its connection is closed");
  }
}

inline awaitable<std::unique_ptr<detail::http_exchange_state>> http_client::transact(
    std::shared_ptr<detail::http_pool> pool, http_request what, http_limits limits, bool upgrade) {
  const detail::http_outgoing request(std::move(what), pool->peer(), upgrade);
  bool fresh = upgrade;
  for (;;) {
    std::unique_ptr<state> one = std::make_unique<state>(pool, limits, request.request().method());
    bool again = false;
    try {
      co_await one->begin(request, fresh);
    } catch (const error&) {
      again = !fresh && one->may_retry(request);
      if (!again) throw;
    }
    if (!again) {
      one->settle();
      co_return one;
    }
    fresh = true;
  }
}

inline awaitable<http_exchange> http_client::open(std::shared_ptr<detail::http_pool> pool, http_request what,
                                                  http_limits limits) {
  try {
    const bool asks_for_coding = what.fields().find("Accept-Encoding").has_value();
    std::unique_ptr<state> one = co_await transact(pool, std::move(what), std::move(limits), false);
    if (one->upgraded())
      throw error(errc::io_error, one->peer() + ": it switched to another protocol, which nobody had asked for",
                  net_errc::malformed);
    const auto coding = one->parser().head().fields.find("Content-Encoding");
    if (!asks_for_coding && coding && !detail::same_ignoring_case(*coding, "identity"))
      throw error(errc::io_error,
                  one->peer() + ": its answer is compressed, which nobody had offered; is a proxy on the way?",
                  net_errc::unsupported_coding);
    co_return http_exchange(std::move(one));
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    detail::rethrow_cancellation(failure, "the request to " + pool->peer().name() + " was cancelled");
  }
}

inline awaitable<http_response> http_client::whole(std::shared_ptr<detail::http_pool> pool, http_request what,
                                                   http_limits limits) {
  try {
    const std::size_t most = limits.body();
    http_exchange answer = co_await open(pool, std::move(what), std::move(limits));
    bytes body = co_await answer.read_all(most);
    co_return http_response(std::move(answer.head_), std::move(body));
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    detail::rethrow_cancellation(failure, "the request to " + pool->peer().name() + " was cancelled");
  }
}

inline awaitable<http_upgrade> http_client::hijack(std::shared_ptr<detail::http_pool> pool, http_request what,
                                                   http_limits limits) {
  try {
    const std::size_t most = limits.body();
    std::unique_ptr<state> one = co_await transact(pool, std::move(what), std::move(limits), true);
    if (one->upgraded() || (one->parser().head().status == 200 && one->parser().until_close())) {
      byte_stream stream = one->take_stream();
      co_return http_upgrade(http_response(one->take_head(), bytes()), std::move(stream));
    }
    http_exchange answer(std::move(one));
    bytes body = co_await answer.read_all(most);
    co_return http_upgrade(http_response(std::move(answer.head_), std::move(body)), byte_stream());
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    detail::rethrow_cancellation(failure, "the upgrade by " + pool->peer().name() + " was cancelled");
  }
}

}  // namespace cofferdam::inline v0
