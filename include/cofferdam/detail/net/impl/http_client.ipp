// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/large_block.hpp>
#include <cofferdam/detail/core/rethrow_cancellation.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/detail/http_exchange_state.hpp>
#include <cofferdam/net/detail/http_pool.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL http_exchange::http_exchange() = default;
COFFERDAM_DECL http_exchange::http_exchange(http_exchange&&) noexcept = default;
COFFERDAM_DECL http_exchange& http_exchange::operator=(http_exchange&&) noexcept = default;
COFFERDAM_DECL http_exchange::~http_exchange() = default;

COFFERDAM_DECL http_exchange::http_exchange(std::unique_ptr<detail::http_exchange_state> state)
    : state_(std::move(state)), head_(state_->take_head()) {}

COFFERDAM_DECL const http_fields& http_exchange::trailers() const { return get().parser().trailers(); }

COFFERDAM_DECL awaitable<std::size_t> http_exchange::read_some(std::span<std::byte> into) {
  return get().read_some(into);
}

COFFERDAM_DECL detail::http_exchange_state& http_exchange::get() const {
  if (!state_) throw error(exec_errc::invalid_argument, "http_exchange: empty (default-constructed or moved from)");
  return *state_;
}

COFFERDAM_DECL http_client::http_client(asio::any_io_executor executor, connector peer,
                                        const http_client_settings& settings)
    : pool_(std::make_shared<detail::http_pool>(std::move(executor), std::move(peer), settings)) {}

COFFERDAM_DECL http_limits http_client::limits() const { return pool()->settings().limits(); }

COFFERDAM_DECL std::size_t http_client::idle_connections() const noexcept { return pool_ ? pool_->idle() : 0; }

COFFERDAM_DECL awaitable<void> http_client::close() { return end(pool()); }

COFFERDAM_DECL http_client& http_client::operator=(http_client&& other) noexcept {
  if (pool_) pool_->retire();
  pool_ = std::move(other.pool_);
  return *this;
}

COFFERDAM_DECL http_client::~http_client() {
  if (pool_) pool_->retire();
}

COFFERDAM_DECL awaitable<http_response> http_client::request(http_request what, http_limits limits) {
  return whole(pool(), std::move(what), std::move(limits));
}

COFFERDAM_DECL awaitable<http_exchange> http_client::send(http_request what, http_limits limits) {
  return open(pool(), std::move(what), std::move(limits));
}

COFFERDAM_DECL awaitable<http_upgrade> http_client::upgrade(http_request what, http_limits limits) {
  return hijack(pool(), std::move(what), std::move(limits));
}

COFFERDAM_DECL const std::shared_ptr<detail::http_pool>& http_client::pool() const {
  if (!pool_) throw error(exec_errc::invalid_argument, "http_client: this client was moved from");
  return pool_;
}

COFFERDAM_DECL awaitable<void> http_client::end(std::shared_ptr<detail::http_pool> pool) {
  pool->close();
  co_return;
}

COFFERDAM_DECL awaitable<bytes> http_exchange::read_all(std::size_t max_bytes) {
  try {
    const auto announced = head_.fields.find("Content-Length");
    const error too_long(exec_errc::too_large, get().peer() + ": the body of the answer is longer than the limit of " +
                                                   std::to_string(max_bytes) + " bytes");
    constexpr std::size_t step = 256 * 1024;
    constexpr std::uint64_t max_reserved = std::uint64_t{256} << 20U;
    bytes content;
    std::size_t have = 0;
    if (!get().ended() && announced && announced->size() <= 18) {
      const std::uint64_t length = std::stoull(std::string(*announced));
      if (length > max_bytes) {
        state_.reset();
        throw too_long;
      }
      // The reserved memory is untouched until bytes arrive in it. A peer that announces a large length therefore makes
      // this program use no more memory.
      content.reserve(static_cast<std::size_t>(std::min(length, max_reserved)));
      detail::fill_soon(content.data(), content.capacity());
    }
    while (!get().ended()) {
      // Reads directly into the result. Once `max_bytes` have arrived, one more byte of room detects a body that is too
      // long.
      if (content.size() == have) {
        std::size_t room = have == max_bytes ? 1 : std::min(step, max_bytes - have);
        if (content.capacity() > have) room = std::min(room, content.capacity() - have);
        content.resize(have + room);
      }
      const std::size_t count = co_await read_some(std::span(content).subspan(have));
      if (count == 0) break;
      have += count;
      if (have > max_bytes) {
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

COFFERDAM_DECL awaitable<std::unique_ptr<detail::http_exchange_state>> http_client::transact(
    std::shared_ptr<detail::http_pool> pool, http_request what, http_limits limits, bool upgrade) {
  const detail::http_outgoing request(std::move(what), pool->peer(), upgrade);
  bool fresh = upgrade;
  for (;;) {
    std::unique_ptr<state> exchange = std::make_unique<state>(pool, limits, request.request().method());
    bool again = false;
    try {
      co_await exchange->begin(request, fresh);
    } catch (const error&) {
      again = !fresh && exchange->may_retry(request);
      if (!again) throw;
    }
    if (!again) {
      exchange->settle();
      co_return exchange;
    }
    fresh = true;
  }
}

COFFERDAM_DECL awaitable<http_exchange> http_client::open(std::shared_ptr<detail::http_pool> pool, http_request what,
                                                          http_limits limits) {
  try {
    const bool asks_for_coding = what.fields().find("Accept-Encoding").has_value();
    std::unique_ptr<state> exchange = co_await transact(pool, std::move(what), std::move(limits), false);
    if (exchange->upgraded())
      throw error(exec_errc::io_error,
                  exchange->peer() + ": the server switched to another protocol without a request to do so",
                  net_errc::malformed);
    const auto coding = exchange->parser().head().fields.find("Content-Encoding");
    if (!asks_for_coding && coding && !detail::same_ignoring_case(*coding, "identity"))
      throw error(exec_errc::io_error,
                  exchange->peer() +
                      ": the answer is compressed, although no compression was offered; check for a proxy on the way",
                  net_errc::unsupported_coding);
    co_return http_exchange(std::move(exchange));
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    detail::rethrow_cancellation(failure, "the request to " + pool->peer().name() + " was cancelled");
  }
}

COFFERDAM_DECL awaitable<http_response> http_client::whole(std::shared_ptr<detail::http_pool> pool, http_request what,
                                                           http_limits limits) {
  try {
    const std::size_t max_bytes = limits.body();
    http_exchange answer = co_await open(pool, std::move(what), std::move(limits));
    bytes body = co_await answer.read_all(max_bytes);
    co_return http_response(std::move(answer.head_), std::move(body));
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    detail::rethrow_cancellation(failure, "the request to " + pool->peer().name() + " was cancelled");
  }
}

COFFERDAM_DECL awaitable<http_upgrade> http_client::hijack(std::shared_ptr<detail::http_pool> pool, http_request what,
                                                           http_limits limits) {
  try {
    const std::size_t max_bytes = limits.body();
    std::unique_ptr<state> exchange = co_await transact(pool, std::move(what), std::move(limits), true);
    if (exchange->upgraded() || (exchange->parser().head().status == 200 && exchange->parser().until_close())) {
      byte_stream stream = exchange->take_stream();
      co_return http_upgrade(http_response(exchange->take_head(), bytes()), std::move(stream));
    }
    http_exchange answer(std::move(exchange));
    bytes body = co_await answer.read_all(max_bytes);
    co_return http_upgrade(http_response(std::move(answer.head_), std::move(body)), byte_stream());
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    detail::rethrow_cancellation(failure, "the upgrade by " + pool->peer().name() + " was cancelled");
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
