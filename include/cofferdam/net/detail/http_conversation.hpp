// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/deadline_timer.hpp>
#include <cofferdam/detail/net/http_parser.hpp>
#include <cofferdam/detail/net/http_parser_core.hpp>
#include <cofferdam/detail/net/http_serializer.hpp>
#include <cofferdam/net/detail/http_date.hpp>
#include <cofferdam/net/detail/http_input.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/net_error.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The server's side of one connection: reads requests and writes replies, one after another. It does not call
/// handlers; `http_served_connection` does.
class http_conversation {
 public:
  using clock = std::chrono::steady_clock;
  /// The part of the reply that was sent: nothing, the head and perhaps a part of the body, or everything.
  enum class progress { none, begun, whole };

  http_conversation(const asio::any_io_executor& executor, byte_stream stream, const http_server_settings& settings)
      : settings_(settings), input_(executor, std::move(stream)), write_limit_(executor, [this] { give_up(); }) {}
  http_conversation(const http_conversation&) = delete;
  http_conversation& operator=(const http_conversation&) = delete;

  http_input& input() noexcept { return input_; }
  const http_input& input() const noexcept { return input_; }
  /// Returns true if a write has failed, or is still under way.
  bool broken() const noexcept { return broken_; }
  http_request_parser& parser() noexcept { return parser_; }
  progress replied() const noexcept { return replied_; }
  /// Returns the status code that describes the error in the request's body; 0 if there was no error.
  int verdict() const noexcept { return verdict_; }
  void body_limit(std::uint64_t max_bytes) noexcept { body_limit_ = max_bytes; }
  /// Lets the web page of this origin read the reply to the current request; no page if the text is empty.
  void share_with(std::string_view origin) {
    shared_with_ = http_field("Access-Control-Allow-Origin", std::string(origin));
  }
  /// Makes the next reply the last one of this connection.
  void last() noexcept { last_ = true; }

  /// Reads the head of the next request.
  /// \param first  true for the first request of the connection.
  /// \return       200 for a valid head; the status code to refuse an invalid one; 0 if the client has disconnected or
  ///               has sent nothing within the time limit.
  awaitable<int> next_head(bool first) {
    begin_request();
    const clock::time_point start = clock::now();
    clock::time_point due = start + (first ? settings_.head_timeout() : settings_.idle_timeout());
    for (;;) {
      const bool fresh = !parser_.began();
      int status = 0;
      if (parse_head(status)) co_return status;
      if (fresh && parser_.began() && !first) due = clock::now() + settings_.head_timeout();
      if (input_.ended()) co_return 0;
      const bool came = co_await input_.more(due);
      if (!came) co_return parser_.began() ? 408 : 0;
    }
  }

  awaitable<std::size_t> read_some(std::span<std::byte> into) {
    if (into.empty()) throw error(exec_errc::invalid_argument, "http_call: the buffer to read into is empty");
    if (body_ended_) co_return 0;
    if (verdict_ != 0)
      throw error(exec_errc::io_error, "the body of this request cannot be read: an earlier read failed");
    if (body_read_ + announced_left() > body_limit_) throw too_long();
    co_await invite();
    for (;;) {
      const bytes_view pending = input_.pending();
      const http_step step = parse_body(pending.first(std::min(pending.size(), into.size())));
      std::copy(step.data.begin(), step.data.end(), into.begin());
      input_.consume(step.consumed);
      if (step.event == http_event::end) {
        body_ended_ = true;
        co_return 0;
      }
      if (step.event == http_event::data) {
        body_read_ += step.data.size();
        if (body_read_ > body_limit_) throw too_long();
        co_return step.data.size();
      }
      if (!input_.pending().empty()) continue;
      if (input_.ended()) {
        verdict_ = 400;
        throw error(exec_errc::io_error, "the client closed the connection inside its request", net_errc::truncated);
      }
      const bool came = co_await input_.more(body_due());
      if (came) continue;
      verdict_ = 408;
      throw error(exec_errc::io_error, "the rest of the request's body did not arrive within the time limit",
                  net_errc::timed_out);
    }
  }

  /// Sends a whole reply. Sends a body of at most 16 KiB together with the head.
  awaitable<void> reply(http_reply what) {
    const std::uint64_t size = what.body().size();
    std::string text = begin_reply(what, size);
    const bool joined = size <= small;
    if (joined && !bodiless_) text += as_text(what.body());
    co_await send(as_bytes(text));
    if (!joined && !bodiless_) co_await send(what.body());
    replied_ = progress::whole;
  }

  /// Sends the head of a reply. The body follows by `write`.
  /// \param size  the length of the body in bytes; no value if it is unknown.
  awaitable<void> begin(http_reply what, std::optional<std::uint64_t> size) {
    if (!what.body().empty())
      throw error(exec_errc::invalid_argument,
                  "http_call: begin() takes a reply without a body; send the body with write()");
    const std::string text = begin_reply(what, size);
    co_await send(as_bytes(text));
  }

  awaitable<void> write(bytes_view data) {
    if (replied_ != progress::begun)
      throw error(exec_errc::invalid_argument, "http_call: call write() only between begin() and end()");
    if (data.empty() || bodiless_) co_return;
    if (left_ && data.size() > *left_)
      throw error(exec_errc::invalid_argument, "http_call: the body is longer than the length given to begin()");
    if (left_) *left_ -= data.size();
    if (!chunked_) {
      co_await send(data);
      co_return;
    }
    while (!data.empty()) {
      const bytes_view part = data.first(std::min(data.size(), slice));
      data = data.subspan(part.size());
      frame_ = http_chunk_head(part.size());
      frame_ += as_text(part);
      frame_ += http_chunk_end;
      co_await send(as_bytes(frame_));
    }
  }

  /// Ends a reply that was begun. Does nothing if the reply is complete.
  awaitable<void> end() {
    if (replied_ == progress::whole) co_return;
    if (left_.value_or(0) != 0 && !bodiless_)
      throw error(exec_errc::invalid_argument, "http_call: the body is " + std::to_string(*left_) +
                                                   " bytes shorter than the length given to begin()");
    if (chunked_ && !bodiless_) co_await send(as_bytes(http_last_chunk));
    replied_ = progress::whole;
  }

  /// Discards the rest of the request's body. Returns true if another request may follow on this connection: the reply
  /// is complete, and the body has ended within the limits.
  awaitable<bool> ready_for_more() {
    if (last_ || broken_ || verdict_ != 0 || replied_ != progress::whole || unanswered_invitation()) co_return false;
    body_limit_ = body_read_ + settings_.drained();
    drain_due_ = clock::now() + settings_.head_timeout();
    std::array<std::byte, 4096> scratch;
    try {
      std::size_t count = 1;
      while (count != 0) {
        const std::size_t got = co_await read_some(scratch);
        count = got;
      }
    } catch (const error&) {  // the next request cannot be found, so the connection must close
      co_return false;
    }
    co_return true;
  }

  /// Ends the sending direction, and discards received data until the client disconnects, for at most 2 seconds. If a
  /// socket with unread data were closed at once, the system could discard the reply before the client has read it (RFC
  /// 9112, 9.6).
  awaitable<void> linger() {
    if (broken_ || replied_ == progress::begun || input_.ended()) co_return;
    co_await input_.end_sending();
    const clock::time_point due = clock::now() + std::chrono::seconds(2);
    bool came = true;
    while (came && !input_.ended()) {
      input_.consume(input_.pending().size());
      const bool more = co_await input_.more(due);
      came = more;
    }
  }

  /// Closes the stream. Operations under way and later ones fail.
  void close() noexcept {
    write_limit_.stop();
    input_.close();
  }

 private:
  static constexpr std::size_t slice = 64 * 1024;
  static constexpr std::size_t small = 16 * 1024;

  void give_up() noexcept {
    slow_ = true;
    input_.close();
  }
  void begin_request() {
    parser_ = http_request_parser(settings_.parser());
    replied_ = progress::none;
    body_limit_ = settings_.body();
    body_read_ = 0;
    verdict_ = 0;
    drain_due_.reset();
    left_.reset();
    shared_with_.reset();
    body_ended_ = chunked_ = bodiless_ = invited_ = false;
  }

  /// Parses received bytes of the head.
  /// \return true if the head is complete or invalid. `status` is then 200 or the status code of the refusal.
  bool parse_head(int& status) {
    try {
      const http_step step = parser_.parse(input_.pending());
      input_.consume(step.consumed);
      if (step.event != http_event::head) return false;
      status = 200;
    } catch (const error& failure) {
      status = status_for(failure.cause());
    }
    return true;
  }

  int status_for(std::error_code cause) const {
    const bool in_first_line = !parser_.has_request_line();
    if (cause == net_errc::head_too_large) return in_first_line ? 414 : 431;
    if (cause == net_errc::too_many_fields) return 431;
    if (cause == net_errc::unsupported_coding) return 501;
    // The parser checks the version last. If method and target are valid, the version was the error.
    const http_request_head& head = parser_.head();
    if (in_first_line && is_token(head.method) && !head.target.empty() && head.target.front() == '/' &&
        is_target(head.target))
      return 505;
    return 400;
  }

  http_step parse_body(bytes_view input) {
    try {
      return parser_.parse(input);
    } catch (const error& failure) {
      verdict_ = status_for(failure.cause());
      throw error(exec_errc::io_error, std::string(failure.what()), failure.cause());
    }
  }

  clock::time_point body_due() const { return drain_due_.value_or(clock::now() + settings_.body_timeout()); }

  error too_long() {
    verdict_ = 413;
    return error(exec_errc::too_large,
                 "the body of the request is longer than the limit of " + std::to_string(body_limit_) + " bytes");
  }

  /// Returns true if the client may still be waiting for "100 Continue" before it sends the body.
  bool unanswered_invitation() const {
    return !body_ended_ && !invited_ && body_read_ == 0 && parser_.expects_continue();
  }
  awaitable<void> invite() {
    if (!unanswered_invitation() || replied_ != progress::none) co_return;
    invited_ = true;
    if (input_.pending().empty()) co_await send(as_bytes("HTTP/1.1 100 Continue\r\n\r\n"));
  }

  std::string begin_reply(const http_reply& what, std::optional<std::uint64_t> size) {
    if (replied_ != progress::none)
      throw error(exec_errc::invalid_argument, "http_call: this request was already replied to");
    const http_request_head& asked = parser_.head();
    const int status = what.status();
    const bool has_length = size.has_value() && status != 204 && status != 304;
    bodiless_ = asked.method == "HEAD" || status == 204 || status == 304;
    chunked_ = !size && status != 204 && status != 304 && asked.minor_version == 1;
    left_ = size;
    if (!size && !chunked_ && !bodiless_) last_ = true;
    if (!parser_.keeps_alive() || what.fields().count("Connection") != 0 || unanswered_invitation()) last_ = true;
    if (!last_ && announced_left() > settings_.drained()) last_ = true;
    http_response_head head;
    head.status = status;
    head.reason = http_reason(status);
    head.fields = what.fields();
    head.fields.erase("Connection");
    if (head.fields.count("Date") == 0) head.fields.append("Date", http_date_now());
    if (shared_with_) add_sharing_fields(head.fields);
    if (has_length) head.fields.append("Content-Length", std::to_string(*size));
    if (chunked_) head.fields.append("Transfer-Encoding", "chunked");
    if (last_) {
      head.fields.append("Connection", "close");
    } else if (asked.minor_version == 0) {
      head.fields.append("Connection", "keep-alive");
    }
    std::string text = http_head_text(head);
    replied_ = progress::begun;
    return text;
  }

  /// Adds the fields with which a browser lets a page read the reply. Fetch standard, "HTTP responses".
  void add_sharing_fields(http_fields& fields) const {
    if (!shared_with_->value().empty()) {
      fields.set(shared_with_->name(), shared_with_->value());
      fields.set("Access-Control-Expose-Headers", "*");
    }
    // The reply depends on the origin, so a cache must not use it for other origins.
    if (!fields.lists("Vary", "Origin")) fields.append("Vary", "Origin");
  }

  /// Returns the number of body bytes that the Content-Length announces and that were not read; 0 without a
  /// Content-Length. Call it only after the parser has accepted the head.
  std::uint64_t announced_left() const {
    const std::uint64_t total = content_length(parser_.head().fields).value_or(0);
    return total > body_read_ ? total - body_read_ : 0;
  }

  awaitable<void> send(bytes_view data) {
    while (!data.empty()) {
      const bytes_view part = data.first(std::min(data.size(), slice));
      data = data.subspan(part.size());
      const bool was_broken =
          std::exchange(broken_, true) || input_.closed();  // broken_: true until the write succeeds
      if (was_broken)
        throw error(exec_errc::io_error, "the reply cannot be sent: an earlier write failed",
                    net_errc::connection_lost);
      write_limit_.arm(settings_.write_timeout());
      try {
        co_await input_.stream().write(part);
      } catch (const error&) {
        if (!slow_) throw;
        throw error(exec_errc::io_error, "the client read nothing of the reply within the time limit",
                    net_errc::timed_out);
      }
      write_limit_.disarm();
      broken_ = false;
    }
  }

  const http_server_settings& settings_;
  http_input input_;
  deadline_timer write_limit_;
  http_request_parser parser_;
  std::string frame_;
  std::optional<http_field> shared_with_;
  std::optional<std::uint64_t> left_;
  std::optional<clock::time_point> drain_due_;
  std::uint64_t body_limit_ = 0;
  std::uint64_t body_read_ = 0;
  progress replied_ = progress::none;
  int verdict_ = 0;
  bool body_ended_ = false;
  bool chunked_ = false;
  bool bodiless_ = false;
  bool invited_ = false;
  bool last_ = false;
  bool slow_ = false;
  bool broken_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
