// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/http_parser.hpp>
#include <cofferdam/detail/net/http_serializer.hpp>
#include <cofferdam/detail/net/prefixed_stream.hpp>
#include <cofferdam/net/detail/http_pool.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/error.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A request that was checked and serialized. It can be sent again on another connection.
class http_outgoing {
 public:
  http_outgoing(http_request request, const connector& peer, bool upgrade) : request_(std::move(request)) {
    const http_fields& given = request_.fields();
    for (const std::string_view name : {"Content-Length", "Transfer-Encoding", "Trailer"})
      if (given.count(name) != 0)
        throw error(exec_errc::invalid_argument, "the HTTP client sets the field " + std::string(name) +
                                                     " itself: set the body of the request instead");
    http_request_head head;
    head.method = request_.method();
    head.target = request_.target();
    if (given.count("Host") == 0) head.fields.append("Host", peer.host());
    for (const http_field& field : given) head.fields.append(field);
    if (upgrade) {
      if (given.count("Connection") == 0) head.fields.append("Connection", "Upgrade");
      if (given.count("Upgrade") == 0) head.fields.append("Upgrade", "tcp");
    }
    const http_body& body = request_.body();
    chunked_ = body.is_chunked();
    if (chunked_) {
      head.fields.append("Transfer-Encoding", "chunked");
    } else if (body.present() || is_expected_to_have_a_body()) {
      head.fields.append("Content-Length", std::to_string(body.size().value_or(0)));
    }
    const std::string plain = http_head_text(head);
    text_.reserve(plain.size() + 256);
    add(std::string_view(plain).substr(0, plain.size() - 2));
    for (const auto& [name, value] : request_.secret_fields()) {
      add(name);
      add(": ");
      add(value.reveal());
      add("\r\n");
    }
    add("\r\n");
    if (!body.pieces() && !body.file() && body.content().size() <= max_inline) {
      if (chunked_) add(chunks_begin());
      add(as_text(body.content()));
      if (chunked_) add(chunks_end());
      whole_ = true;
      begins_body_ = !body.content().empty();
    }
    closes_ = given.lists("Connection", "close");
  }

  const http_request& request() const noexcept { return request_; }
  /// Returns the serialized head, followed by the body if the whole body is in memory and
  /// has at most 16 KiB.
  std::string_view text() const noexcept { return std::string_view(text_.data(), text_.size()); }
  /// Returns true if `text` contains the whole request.
  bool whole() const noexcept { return whole_; }
  /// Returns true if `text` contains a body that is not empty.
  bool begins_body() const noexcept { return begins_body_; }
  bool chunked() const noexcept { return chunked_; }
  /// Returns the text before a body of known length that is sent as a single chunk. `chunks_end` returns the text after
  /// the body.
  std::string chunks_begin() const {
    const std::uint64_t size = request_.body().size().value_or(0);
    return size == 0 ? std::string() : http_chunk_head(size);
  }
  std::string chunks_end() const {
    std::string text;
    if (request_.body().size().value_or(0) != 0) text += http_chunk_end;
    text += http_last_chunk;
    return text;
  }
  /// Returns true if the request has `Connection: close`.
  bool closes() const noexcept { return closes_; }

 private:
  static constexpr std::size_t max_inline = 16 * 1024;

  bool is_expected_to_have_a_body() const noexcept {
    const std::string& method = request_.method();
    return method == "POST" || method == "PUT" || method == "PATCH";
  }

  void add(std::string_view part) { text_.insert(text_.end(), part.begin(), part.end()); }

  http_request request_;
  secret_bytes text_;
  bool whole_ = false;
  bool begins_body_ = false;
  bool chunked_ = false;
  bool closes_ = false;
};

/// A completion condition for a group of two coroutines. The first reads the head of the response and returns true for
/// a refusal (status 300 or more). The second sends the body and returns an int. The group ends as soon as the first
/// has failed or returned true, or the second has failed.
struct until_refused {
  asio::cancellation_type_t operator()(const std::exception_ptr& failure, bool refused) const noexcept {
    return failure || refused ? asio::cancellation_type::terminal : asio::cancellation_type::none;
  }
  asio::cancellation_type_t operator()(const std::exception_ptr& failure, int) const noexcept {
    return failure ? asio::cancellation_type::terminal : asio::cancellation_type::none;
  }
};

/// One request and its response on one connection from the pool.
class http_exchange_state {
 public:
  http_exchange_state(std::shared_ptr<http_pool> pool, const http_limits& limits, std::string_view method)
      : pool_(std::move(pool)), limits_(limits), parser_(method, limits.parser()) {}
  http_exchange_state(const http_exchange_state&) = delete;
  http_exchange_state& operator=(const http_exchange_state&) = delete;

  const http_response_parser& parser() const noexcept { return parser_; }
  const http_limits& limits() const noexcept { return limits_; }
  const std::string& peer() const noexcept { return pool_->peer().name(); }
  http_response_head take_head() { return std::move(parser_.head()); }
  bool upgraded() const noexcept { return upgraded_; }
  bool ended() const noexcept { return ended_; }

  /// Sends the request and reads the head of the response. A failure closes the connection.
  /// \param fresh  true to use a new connection even if the pool has an idle one.
  awaitable<void> begin(const http_outgoing& request, bool fresh) {
    http_lease lease = co_await http_pool::lease(pool_, limits_.connect(), fresh);
    lease_ = std::move(lease);
    std::exception_ptr failure;
    try {
      co_await exchange(request);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) fail(failure);
    lease_->limit.disarm();
    closes_ = request.closes() || !parser_.keeps_alive();
  }

  /// Returns true if the failed request may be sent again on another connection. The failed connection must come from
  /// the pool and must have failed before the first byte of the response. In addition, the request must be idempotent
  /// (and its source of pieces unused), or it must have a body of which nothing was sent.
  bool may_retry(const http_outgoing& request) const noexcept {
    if (!retryable_) return false;
    if (request.request().is_idempotent()) return !request.request().body().pieces() || !body_begun_;
    return request.request().body().present() && request.request().body().size() != 0U && !body_begun_;
  }

  awaitable<std::size_t> read_some(std::span<std::byte> into) {
    if (into.empty()) throw error(exec_errc::invalid_argument, "HTTP: the buffer to read into is empty");
    if (ended_) co_return 0;
    if (!lease_)
      throw error(exec_errc::io_error, "HTTP: the connection of this answer is closed, because an earlier read failed");
    std::size_t count = 0;
    std::exception_ptr failure;
    try {
      const std::size_t got = co_await read_body(into);
      count = got;
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) fail(failure);
    co_return count;
  }

  /// Checks if the body has already ended, without reading more bytes. If so, the connection returns to the pool.
  void settle() {
    if (ended_ || upgraded_ || !lease_) return;
    std::exception_ptr failure;
    try {
      if (parse(bytes_view()).event == http_event::end) finish();
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) fail(failure);
  }

  /// Returns the stream after an upgrade. The stream begins with the bytes that were received after the head.
  byte_stream take_stream() {
    const bytes_view early = lease_->pending();
    bytes first(early.begin(), early.end());
    byte_stream stream = lease_.take_stream();
    ended_ = true;
    if (first.empty()) return stream;
    return byte_stream(std::make_unique<prefixed_stream>(std::move(first), std::move(stream)));
  }

 private:
  static constexpr std::size_t slice = 256 * 1024;  // the time limit applies to each slice
  static constexpr std::size_t worth_reading_in_place = 16 * 1024;

  awaitable<void> exchange(const http_outgoing& request) {
    lease_->limit.arm(limits_.head());
    body_begun_ = request.begins_body();
    const bool sent = co_await send(as_bytes(request.text()));
    if (request.whole() || !sent) {
      sent_all_ = sent;
      co_await read_head();
      co_return;
    }
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    auto both = asio::experimental::make_parallel_group(asio::co_spawn(executor, answered(), detail::deferred),
                                                        asio::co_spawn(executor, send_body(request), detail::deferred));
    auto result = co_await both.async_wait(until_refused(), asio::use_awaitable);
    const auto& [order, unread, refused, unsent, sent_body] = result;
    sent_all_ = !unsent && sent_body == 1;
    if (unread && order[0] == 0) std::rethrow_exception(unread);
    if (unsent && !refused) std::rethrow_exception(unsent);
    if (unread) std::rethrow_exception(unread);
  }

  awaitable<bool> answered() {
    co_await read_head();
    co_return parser_.head().status >= 300;
  }

  awaitable<bool> send(bytes_view data) { return is_taken(lease_->stream.write(data)); }

  /// Waits for a write.
  /// \return true if everything was written. False if the peer has closed the connection: it may have sent a response
  ///     with the reason before, so the caller still reads.
  awaitable<bool> is_taken(awaitable<void> writing) {
    bool taken = true;
    try {
      co_await std::move(writing);
    } catch (const error& failure) {
      if (failure.code() != exec_errc::io_error || lease_->limit.expired() || lease_->client_closed) throw;
      taken = false;
    }
    co_return taken;
  }

  /// Sends the body of the request.
  /// \return 1 if all of the body was sent, otherwise 0.
  awaitable<int> send_body(const http_outgoing& request) {
    const http_body& body = request.request().body();
    if (!body.pieces()) {
      const bool sent = co_await send_whole(request);
      co_return sent ? 1 : 0;
    }
    std::uint64_t total = 0;
    bool more = true;
    while (more) {
      body_begun_ = true;
      lease_->limit.disarm();
      bytes piece = co_await body.pieces()();
      lease_->limit.arm(limits_.head());
      total += piece.size();
      more = !piece.empty();
      check_sum(body, total, more);
      if (request.chunked()) piece = framed(piece);
      const bool sent = co_await send_sliced(piece);
      if (!sent) co_return 0;
    }
    co_return 1;
  }

  /// Sends a body of known length, directly or as one chunk.
  awaitable<bool> send_whole(const http_outgoing& request) {
    const http_body& body = request.request().body();
    const std::string begin = request.chunked() ? request.chunks_begin() : std::string();
    const std::string end = request.chunked() ? request.chunks_end() : std::string();
    bool sent = co_await send_sliced(as_bytes(begin));
    if (!sent) co_return false;
    if (body.file())
      sent = co_await send_file(*body.file());
    else
      sent = co_await send_sliced(body.content());
    if (!sent) co_return false;
    sent = co_await send_sliced(as_bytes(end));
    co_return sent;
  }

  awaitable<bool> send_sliced(bytes_view data) {
    while (!data.empty()) {
      body_begun_ = true;
      const bytes_view part = data.first(std::min(data.size(), slice));
      data = data.subspan(part.size());
      const bool sent = co_await send(part);
      if (!sent) co_return false;
      lease_->limit.arm(limits_.head());
    }
    co_return true;
  }

  awaitable<bool> send_file(file_range part) {
    for (std::uint64_t done = 0; done != part.size();) {
      body_begun_ = true;
      const std::uint64_t count = std::min<std::uint64_t>(part.size() - done, slice);
      const bool sent = co_await is_taken(lease_->stream.send_file(part.descriptor(), part.offset() + done, count));
      if (!sent) co_return false;
      done += count;
      lease_->limit.arm(limits_.head());
    }
    co_return true;
  }

  static void check_sum(const http_body& body, std::uint64_t total, bool more) {
    if (body.size() && (total > *body.size() || (!more && total != *body.size())))
      throw error(exec_errc::invalid_argument, "the body of an HTTP request should have " +
                                                   std::to_string(*body.size()) + " bytes, but its source produced " +
                                                   std::to_string(total) + (more ? " and more" : ""));
  }

  static bytes framed(const bytes& piece) {
    if (piece.empty()) return to_bytes(http_last_chunk);
    bytes chunk = to_bytes(http_chunk_head(piece.size()));
    chunk.insert(chunk.end(), piece.begin(), piece.end());
    const bytes_view end = as_bytes(http_chunk_end);
    chunk.insert(chunk.end(), end.begin(), end.end());
    return chunk;
  }

  awaitable<void> read_head() {
    for (;;) {
      const http_step step = parse(lease_->pending());
      lease_->consume(step.consumed);
      if (step.event == http_event::head) break;
      if (step.event == http_event::interim) continue;
      const std::size_t count = co_await lease_->fill();
      if (count == 0) ended_early();
    }
    upgraded_ = !parser_.keeps_alive() && parse(bytes_view()).event == http_event::upgrade;
  }

  awaitable<std::size_t> read_body(std::span<std::byte> into) {
    for (;;) {
      const bytes_view pending = lease_->pending();
      const http_step step = parse(pending.first(std::min(pending.size(), into.size())));
      std::copy(step.data.begin(), step.data.end(), into.begin());
      lease_->consume(step.consumed);
      if (step.event == http_event::data) {
        const std::size_t count = step.data.size();
        settle_after_data();
        co_return count;
      }
      if (step.event == http_event::end) {
        finish();
        co_return 0;
      }
      if (!lease_->pending().empty()) continue;
      lease_->limit.arm(limits_.idle());
      const std::uint64_t certain = parser_.certain_data();
      const bool in_place = certain >= worth_reading_in_place;
      std::size_t count = 0;
      if (in_place) {
        const std::span<std::byte> room =
            into.first(static_cast<std::size_t>(std::min<std::uint64_t>(certain, into.size())));
        count = co_await lease_->stream.read_some(room);
      } else {
        count = co_await lease_->fill();
      }
      lease_->limit.disarm();
      if (in_place && count != 0) {
        const http_step taken = parse(into.first(count));
        settle_after_data();
        co_return taken.data.size();
      }
      if (count != 0) continue;
      if (ended_early() == http_event::end) {
        finish();
        co_return 0;
      }
    }
  }

  void settle_after_data() {
    if (!parser_.until_close() && parse(bytes_view()).event == http_event::end) finish();
  }

  http_step parse(bytes_view input) {
    try {
      return parser_.parse(input);
    } catch (const error& failure) {
      throw named(failure);
    }
  }
  http_event ended_early() {
    try {
      return parser_.end_of_stream();
    } catch (const error& failure) {
      throw named(failure);
    }
  }
  error named(const error& failure) const {
    return error(static_cast<exec_errc>(failure.code().value()), peer() + ": " + failure.what(), failure.cause());
  }

  void finish() {
    ended_ = true;
    if (sent_all_ && !closes_ && lease_->pending().empty()) {
      lease_.give_back();
    } else {
      lease_.drop();
    }
  }

  /// Closes the connection and throws `failure`, or an error that names the time limit or the cancellation that caused
  /// it.
  [[noreturn]] void fail(const std::exception_ptr& failure) {
    const bool expired = lease_->limit.expired();
    const bool closed = lease_->client_closed;
    const bool reused = lease_.reused();
    lease_.drop();
    if (closed) throw pool_->closed_error();
    const bool answered = parser_.head().status >= 200;
    if (expired)
      throw error(exec_errc::io_error,
                  peer() + (answered ? ": the rest of the answer did not arrive within the idle limit"
                                     : ": no answer arrived within the limit for the head"),
                  net_errc::timed_out);
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      retryable_ = reused && !parser_.began() && reason.code() == exec_errc::io_error;
      throw;
    } catch (const std::system_error& reason) {
      if (reason.code() != asio::error::operation_aborted) throw;
      throw error(exec_errc::cancelled, "the request to " + peer() + " was cancelled; its connection is closed",
                  reason.code());
    }
  }

  std::shared_ptr<http_pool> pool_;
  http_limits limits_;
  http_response_parser parser_;
  http_lease lease_;
  bool body_begun_ = false;
  bool sent_all_ = false;
  bool retryable_ = false;
  bool upgraded_ = false;
  bool closes_ = false;
  bool ended_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
