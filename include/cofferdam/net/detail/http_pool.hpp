// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/net/deadline_timer.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/transport.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A connection to a server, and a buffer of the bytes that were received but not consumed yet.
class http_connection {
 public:
  http_connection(byte_stream open, const asio::any_io_executor& executor)
      : stream(std::move(open)), limit(executor, [this] { stream.close(); }) {}
  http_connection(const http_connection&) = delete;
  http_connection& operator=(const http_connection&) = delete;

  bytes_view pending() const noexcept { return bytes_view(buffer_).subspan(begin_, end_ - begin_); }
  void consume(std::size_t count) noexcept { begin_ += count; }
  /// Reads more bytes into the buffer. Call it only while `pending()` is empty.
  /// \return the number of bytes; 0 at the end of the stream.
  awaitable<std::size_t> fill() {
    if (buffer_.empty()) buffer_.resize(buffer_size);
    begin_ = 0;
    end_ = 0;
    const std::size_t count = co_await stream.read_some(buffer_);
    end_ = count;
    co_return count;
  }

  byte_stream stream;
  deadline_timer limit;
  std::chrono::steady_clock::time_point idle_since;
  bool client_closed = false;

 private:
  static constexpr std::size_t buffer_size = 32 * 1024;
  bytes buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class http_lease;

/// The connections of one HTTP client: idle ones, and those that requests are using.
class http_pool {
 public:
  http_pool(asio::any_io_executor executor, connector peer, const http_client_settings& settings)
      : executor_(std::move(executor)), peer_(std::move(peer)), settings_(settings) {}
  http_pool(const http_pool&) = delete;
  http_pool& operator=(const http_pool&) = delete;

  const connector& peer() const noexcept { return peer_; }
  const http_client_settings& settings() const noexcept { return settings_; }
  const asio::any_io_executor& executor() const noexcept { return executor_; }
  std::size_t idle() const noexcept { return idle_.size(); }

  /// Returns a connection for one request. Waits while all connections that the settings permit are in use.
  /// \param limit  the time limit for connecting.
  /// \param fresh  true to make a new connection even if there is an idle one.
  static awaitable<http_lease> lease(std::shared_ptr<http_pool> self, std::chrono::milliseconds limit, bool fresh);

  /// Closes the pool for new requests, and closes idle connections. Connections in use remain open until they are
  /// returned.
  void retire() noexcept {
    closed_ = true;
    idle_.clear();
    for (waiter* each : waiters_) each->wake();
  }
  /// Closes the pool as `retire` does, and closes the connections in use: their operations fail.
  void close() noexcept {
    retire();
    for (http_connection* each : lent_) {
      each->client_closed = true;
      each->stream.close();
    }
  }

  error closed_error() const {
    return error(exec_errc::environment_closed, "the HTTP client for " + peer_.name() + " is closed");
  }

 private:
  friend class http_lease;

  /// A request that waits for a slot: the permission to use one of the `settings().connections()` connections. The pool
  /// may grant the slot at any time, also while the request is being cancelled; the destructor then frees the slot.
  class waiter {
   public:
    explicit waiter(http_pool& pool) : pool_(pool), changed_(pool.executor_) { pool_.waiters_.push_back(this); }
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;
    ~waiter() {
      std::erase(pool_.waiters_, this);
      if (granted_) pool_.free_slot();
    }
    void grant() noexcept {
      granted_ = true;
      wake();
    }
    void wake() noexcept { changed_.notify(); }
    bool granted() const noexcept { return granted_; }
    /// Marks the slot as transferred to a lease, so that the destructor does not free it.
    void taken() noexcept { granted_ = false; }
    async_event& changed() noexcept { return changed_; }

   private:
    http_pool& pool_;
    async_event changed_;
    bool granted_ = false;
  };

  void free_slot() noexcept {
    --slots_;
    if (closed_ || waiters_.empty()) return;
    const auto next =
        std::find_if(waiters_.begin(), waiters_.end(), [](const waiter* entry) { return !entry->granted(); });
    if (next == waiters_.end()) return;
    ++slots_;
    (*next)->grant();
  }

  static awaitable<void> wait_for_slot(std::shared_ptr<http_pool> self) {
    waiter mine(*self);
    while (!mine.granted() && !self->closed_) {
      co_await mine.changed().wait();
      if (!mine.granted() && !self->closed_)
        throw error(exec_errc::cancelled, "cancelled while waiting for a free connection to " + self->peer_.name(),
                    asio::error::operation_aborted);
    }
    if (!mine.granted()) throw self->closed_error();
    mine.taken();
  }

  /// Returns the idle connection that was used most recently and does not seem to be closed; null if there is none.
  std::unique_ptr<http_connection> take_idle() {
    const auto now = std::chrono::steady_clock::now();
    while (!idle_.empty()) {
      std::unique_ptr<http_connection> connection = std::move(idle_.back());
      idle_.pop_back();
      if (now - connection->idle_since <= settings_.idle_timeout() && connection->stream.is_quiet()) return connection;
    }
    return nullptr;
  }

  void put_idle(std::unique_ptr<http_connection> connection) {
    if (closed_ || settings_.idle_connections() == 0 || !connection->stream.is_quiet()) return;
    if (idle_.size() >= settings_.idle_connections()) idle_.erase(idle_.begin());
    connection->idle_since = std::chrono::steady_clock::now();
    idle_.push_back(std::move(connection));
  }

  asio::any_io_executor executor_;
  connector peer_;
  http_client_settings settings_;
  std::vector<std::unique_ptr<http_connection>> idle_;
  std::vector<http_connection*> lent_;
  std::vector<waiter*> waiters_;
  std::size_t slots_ = 0;
  bool closed_ = false;
};

/// A connection that one request uses, and its slot in the pool. The destructor closes the connection, unless
/// `give_back` has returned it to the pool.
class http_lease {
 public:
  http_lease() = default;
  http_lease(http_lease&& other) noexcept
      : pool_(std::move(other.pool_)), connection_(std::move(other.connection_)), reused_(other.reused_) {}
  http_lease& operator=(http_lease&& other) noexcept {
    drop();
    pool_ = std::move(other.pool_);
    connection_ = std::move(other.connection_);
    reused_ = other.reused_;
    return *this;
  }
  ~http_lease() { drop(); }

  explicit operator bool() const noexcept { return connection_ != nullptr; }
  http_connection* operator->() const noexcept { return connection_.get(); }
  /// Returns true if the connection has served another request before.
  bool reused() const noexcept { return reused_; }

  void drop() noexcept {
    take();
    connection_.reset();
    leave();
  }
  void give_back() {
    std::unique_ptr<http_connection> connection = take();
    if (connection && pool_) {
      connection->limit.rest();
      pool_->put_idle(std::move(connection));
    }
    connection.reset();
    leave();
  }
  /// Frees the slot, and returns the stream, which the caller then owns.
  byte_stream take_stream() {
    const std::unique_ptr<http_connection> connection = take();
    connection->limit.stop();
    byte_stream stream = std::move(connection->stream);
    leave();
    return stream;
  }

 private:
  friend class http_pool;
  explicit http_lease(std::shared_ptr<http_pool> pool) : pool_(std::move(pool)) {}

  std::unique_ptr<http_connection> take() noexcept {
    if (connection_) std::erase(pool_->lent_, connection_.get());
    return std::move(connection_);
  }
  void leave() noexcept {
    if (pool_) std::exchange(pool_, nullptr)->free_slot();
  }

  std::shared_ptr<http_pool> pool_;
  std::unique_ptr<http_connection> connection_;
  bool reused_ = false;
};

inline awaitable<http_lease> http_pool::lease(std::shared_ptr<http_pool> self, std::chrono::milliseconds limit,
                                              bool fresh) {
  if (self->closed_) throw self->closed_error();
  if (self->slots_ < self->settings_.connections()) {
    ++self->slots_;
  } else {
    co_await wait_for_slot(self);
  }
  http_lease lent(self);
  if (self->closed_) throw self->closed_error();
  if (!fresh) lent.connection_ = self->take_idle();
  lent.reused_ = lent.connection_ != nullptr;
  if (!lent.connection_) {
    while (!self->idle_.empty() && self->idle_.size() + self->slots_ > self->settings_.connections())
      self->idle_.erase(self->idle_.begin());
    byte_stream stream = co_await self->peer_.connect(self->executor_, limit);
    if (self->closed_) throw self->closed_error();
    lent.connection_ = std::make_unique<http_connection>(std::move(stream), self->executor_);
  }
  self->lent_.push_back(lent.connection_.get());
  co_return lent;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
