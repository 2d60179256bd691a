// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_parser_core.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The result of one call of a parser.
enum class http_event {
  need_more,  ///< nothing was found, and all of the input was consumed
  interim,    ///< an interim response (100, 103, ...); `head()` returns it until the next call
  head,       ///< the head of the message is complete
  data,       ///< `http_step::data` has bytes of the body
  end,        ///< the message is complete; the following bytes belong to another message
  upgrade,    ///< the message is complete; the following bytes are not HTTP
};

/// The event that one call of a parser has found, and its position in the input.
class http_step {
 public:
  http_event event = http_event::need_more;
  /// The number of bytes that the parser has consumed. The caller passes the remaining bytes again in the next call.
  std::size_t consumed = 0;
  /// For the event `data`: a view into the input.
  bytes_view data;
};

/// The state and functions that the parsers of requests and responses share.
class http_message_parser {
 public:
  explicit http_message_parser(const http_parser_limits& limits) : limits_(limits), lines_(limits.line, limits.head) {}

  enum class state { start, fields, body, end, upgraded };

  http_step body_step(std::string_view input, std::size_t consumed) {
    const detail::body_step found = body_.next(input);
    consumed += found.consumed;
    if (found.end) {
      state_ = state::end;
      return {http_event::end, consumed, {}};
    }
    if (!found.data.empty()) return {http_event::data, consumed, as_bytes(found.data)};
    return {http_event::need_more, consumed, {}};
  }
  void begin_body(body_kind kind, std::uint64_t length) {
    body_ = http_body_reader(kind, length, http_lines(limits_.line, limits_.head), limits_.fields);
    state_ = state::body;
  }
  bool is_close(const http_fields& fields, int minor_version) const noexcept {
    return fields.lists("Connection", "close") || (minor_version == 0 && !fields.lists("Connection", "keep-alive"));
  }
  /// Returns 1 for `HTTP/1.1` and 0 for `HTTP/1.0`. Throws for any other text.
  static int minor_version(std::string_view text) {
    if (text == "HTTP/1.1") return 1;
    if (text == "HTTP/1.0") return 0;
    throw http_violation(net_errc::malformed, "the message does not begin like HTTP/1.1: " + in_quotes(text));
  }

  http_parser_limits limits_;
  http_lines lines_;
  http_body_reader body_;
  state state_ = state::start;
  bool began_ = false;
};

/// A parser for one response. It does no I/O: the caller passes the received bytes.
///
/// The events are: any number of `interim`, then `head`, then any number of `data`, then `end`. After a status 101 or a
/// successful CONNECT, `upgrade` follows `head` directly. The events and the data do not depend on where the input is
/// cut into pieces. Each response needs a parser of its own.
/// \par Errors  `error{exec_errc::io_error}` whose `cause()` is a `net_errc`. After an error, neither the parser nor
///              the stream can be used.
/// \par Source  RFC 9112, without its leniencies: bare line feeds, folded fields, blanks before colons and repeated
///              lengths are errors.
class http_response_parser {
 public:
  /// \param method  the method of the request. A response to HEAD has no body; a successful response to CONNECT is an
  ///                upgrade.
  explicit http_response_parser(std::string_view method = "GET",
                                const http_parser_limits& limits = http_parser_limits())
      : core_(limits), is_head_(method == "HEAD"), is_connect_(method == "CONNECT") {}

  /// Parses the next bytes, up to the next event.
  /// \param input  received bytes that were not consumed yet. An empty input finds an end that needs no more bytes.
  http_step parse(bytes_view input) {
    const std::string_view text = as_text(input);
    std::size_t used = 0;
    using state = detail::http_message_parser::state;
    if (after_interim_) {
      after_interim_ = false;
      head_ = http_response_head();
    }
    while (core_.state_ == state::start || core_.state_ == state::fields) {
      if (used == text.size()) return {http_event::need_more, used, {}};
      core_.began_ = true;
      used += core_.lines_.take(text.substr(used));
      if (!core_.lines_.whole()) return {http_event::need_more, used, {}};
      if (core_.state_ == state::start) {
        status_line(core_.lines_.line());
        core_.state_ = state::fields;
      } else if (!core_.lines_.line().empty()) {
        detail::add_field(head_.fields, core_.lines_.line(), core_.limits_.fields);
      } else {
        return {finish_head(), used, {}};
      }
    }
    if (core_.state_ == state::upgraded) return {http_event::upgrade, used, {}};
    if (core_.state_ == state::end) return {http_event::end, used, {}};
    return core_.body_step(text.substr(used), used);
  }

  /// Processes the end of the stream.
  /// \return `end` if the message is complete, or if the end of the stream completes it; `upgrade` after an upgrade.
  /// \throws error whose `cause()` is net_errc::connection_lost before the first byte, or net_errc::truncated inside
  ///     the message.
  http_event end_of_stream() {
    using state = detail::http_message_parser::state;
    if (core_.state_ == state::end) return http_event::end;
    if (core_.state_ == state::upgraded) return http_event::upgrade;
    if (core_.state_ == state::body) {
      const detail::body_kind kind = core_.body_.kind();
      if (kind == detail::body_kind::until_close || kind == detail::body_kind::none || core_.body_.next({}).end) {
        core_.state_ = state::end;
        return http_event::end;
      }
    }
    if (!core_.began_)
      throw error(exec_errc::io_error, "the peer closed the connection without an answer", net_errc::connection_lost);
    throw error(exec_errc::io_error, "the peer closed the connection inside its answer", net_errc::truncated);
  }

  /// Returns the head of the response. It is complete after the event `head`.
  const http_response_head& head() const noexcept { return head_; }
  http_response_head& head() noexcept { return head_; }
  /// Returns the trailers: the fields after a chunked body. They are complete after the event `end`.
  const http_fields& trailers() const noexcept { return core_.body_.trailers(); }
  /// Returns true if at least one byte of the response has arrived.
  bool began() const noexcept { return core_.began_; }
  /// Returns true if the body has no length of its own and ends with the stream.
  bool until_close() const noexcept {
    return core_.state_ != detail::http_message_parser::state::start &&
           core_.body_.kind() == detail::body_kind::until_close;
  }
  /// Returns the number of following bytes that are certain to be bytes of the body. The caller may read these bytes
  /// directly to their destination, and then pass them to `parse`.
  std::uint64_t certain_data() const noexcept {
    return core_.state_ == detail::http_message_parser::state::body ? core_.body_.certain_data() : 0;
  }
  /// Returns true if another response may follow on the same stream. Valid after the event `head`.
  bool keeps_alive() const noexcept {
    return core_.state_ != detail::http_message_parser::state::upgraded && !until_close() &&
           !core_.is_close(head_.fields, head_.minor_version);
  }

 private:
  void status_line(std::string_view line) {
    head_.minor_version = detail::http_message_parser::minor_version(line.substr(0, 8));
    const std::string_view rest = line.substr(8);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (rest.size() < 4 || rest[0] != ' ' || !is_digit(rest[1]) || !is_digit(rest[2]) || !is_digit(rest[3]) ||
        (rest.size() > 4 && rest[4] != ' '))
      throw detail::http_violation(net_errc::malformed, "invalid status line " + detail::in_quotes(line));
    head_.status = (rest[1] - '0') * 100 + (rest[2] - '0') * 10 + (rest[3] - '0');
    if (head_.status < 100 || head_.status > 599)
      throw detail::http_violation(net_errc::malformed, "invalid status " + std::to_string(head_.status));
    if (rest.size() > 5) head_.reason = rest.substr(5);
  }

  http_event finish_head() {
    using state = detail::http_message_parser::state;
    const int status = head_.status;
    if (status == 101 || (is_connect_ && head_.ok())) {
      core_.state_ = state::upgraded;
      return http_event::head;
    }
    if (status < 200) {
      if (++interims_ > core_.limits_.interim)
        throw detail::http_violation(net_errc::malformed, "too many interim answers");
      core_.state_ = state::start;
      core_.lines_ = detail::http_lines(core_.limits_.line, core_.limits_.head);
      after_interim_ = true;
      return http_event::interim;
    }
    const bool chunked = detail::is_chunked(head_.fields, head_.minor_version);
    const std::optional<std::uint64_t> length = detail::content_length(head_.fields);
    if (is_head_ || status == 204 || status == 304) {
      core_.begin_body(detail::body_kind::none, 0);
    } else if (chunked) {
      core_.begin_body(detail::body_kind::chunked, 0);
    } else if (length) {
      core_.begin_body(detail::body_kind::length, *length);
    } else {
      core_.begin_body(detail::body_kind::until_close, 0);
    }
    return http_event::head;
  }

  detail::http_message_parser core_;
  http_response_head head_;
  std::size_t interims_ = 0;
  bool is_head_;
  bool is_connect_;
  bool after_interim_ = false;
};

/// A parser for one request, the counterpart of `http_response_parser`. It does no I/O: the caller passes the received
/// bytes, cut anywhere.
///
/// The events are: `head`, then any number of `data`, then `end`. One empty line before the request is ignored. A
/// request of HTTP/1.1 must have exactly one `Host`. A request without a length has no body.
/// \par Errors  as for `http_response_parser`. The server answers most with status 400, an exceeded limit with 431 or
///              414.
class http_request_parser {
 public:
  explicit http_request_parser(const http_parser_limits& limits = http_parser_limits()) : core_(limits) {}

  /// Parses the next bytes, up to the next event.
  /// \param input  received bytes that were not consumed yet; may be empty.
  http_step parse(bytes_view input) {
    const std::string_view text = as_text(input);
    std::size_t used = 0;
    using state = detail::http_message_parser::state;
    while (core_.state_ == state::start || core_.state_ == state::fields) {
      if (used == text.size()) return {http_event::need_more, used, {}};
      used += core_.lines_.take(text.substr(used));
      core_.began_ = core_.began_ || core_.lines_.line() != std::string_view("\r");
      if (!core_.lines_.whole()) return {http_event::need_more, used, {}};
      const std::string& line = core_.lines_.line();
      if (core_.state_ == state::start) {
        if (line.empty() && !std::exchange(skipped_, true)) {
          core_.began_ = false;
          continue;
        }
        request_line(line);
        core_.state_ = state::fields;
      } else if (!line.empty()) {
        detail::add_field(head_.fields, line, core_.limits_.fields);
      } else {
        finish_head();
        return {http_event::head, used, {}};
      }
    }
    if (core_.state_ == state::end) return {http_event::end, used, {}};
    return core_.body_step(text.substr(used), used);
  }

  /// Processes the end of the stream.
  /// \return `end` if the request is complete.
  /// \throws error whose `cause()` is net_errc::connection_lost before the first byte of a request, or
  ///     net_errc::truncated inside the request.
  http_event end_of_stream() {
    using state = detail::http_message_parser::state;
    if (core_.state_ == state::end || (core_.state_ == state::body && core_.body_.next({}).end)) {
      core_.state_ = state::end;
      return http_event::end;
    }
    if (!core_.began_)
      throw error(exec_errc::io_error, "the peer closed the connection; it has no more requests",
                  net_errc::connection_lost);
    throw error(exec_errc::io_error, "the peer closed the connection inside its request", net_errc::truncated);
  }

  const http_request_head& head() const noexcept { return head_; }
  http_request_head& head() noexcept { return head_; }
  const http_fields& trailers() const noexcept { return core_.body_.trailers(); }
  /// Returns true if a byte of the request has arrived; an empty line before the request does not count.
  bool began() const noexcept { return core_.began_; }
  /// Returns true if the request line was accepted. If this is false after an error, the request line was invalid.
  bool has_request_line() const noexcept { return core_.state_ != detail::http_message_parser::state::start; }
  /// Returns true if the client may wait for "100 Continue" before it sends the body.
  bool expects_continue() const noexcept {
    return head_.minor_version == 1 && head_.fields.lists("Expect", "100-continue");
  }
  /// Returns true if the client may send another request on the same stream. Valid after the event `head`.
  bool keeps_alive() const noexcept { return !core_.is_close(head_.fields, head_.minor_version); }

 private:
  void request_line(std::string_view line) {
    const auto first = line.find(' ');
    const auto last = line.rfind(' ');
    if (first == std::string_view::npos || first == last)
      throw detail::http_violation(net_errc::malformed, "invalid request line " + detail::in_quotes(line));
    head_.method = line.substr(0, first);
    head_.target = line.substr(first + 1, last - first - 1);
    head_.minor_version = detail::http_message_parser::minor_version(line.substr(last + 1));
    if (!detail::is_token(head_.method) || !detail::is_target(head_.target))
      throw detail::http_violation(net_errc::malformed, "invalid request line " + detail::in_quotes(line));
  }

  void finish_head() {
    const std::size_t hosts = head_.fields.count("Host");
    if (hosts > 1 || (hosts == 0 && head_.minor_version == 1))
      throw detail::http_violation(net_errc::malformed,
                                   "a request must have one Host field, and this one has " + std::to_string(hosts));
    const bool chunked = detail::is_chunked(head_.fields, head_.minor_version);
    const std::optional<std::uint64_t> length = detail::content_length(head_.fields);
    if (chunked) {
      core_.begin_body(detail::body_kind::chunked, 0);
    } else {
      core_.begin_body(detail::body_kind::length, length.value_or(0));
    }
  }

  detail::http_message_parser core_;
  http_request_head head_;
  bool skipped_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
