// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/net/detail/http_conversation.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/http_reply.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0 {

namespace detail {
class http_served_connection;
}

/// A request, and the way to answer it: what a handler of an `http_server` is given.
///
/// The client's leaving cancels the handler: as soon as the connection ends, or the client says that it sends no more,
/// whatever the handler waits for then throws, behind its reply too. (A client that half-closes its connection before it
/// has the answer is taken for gone, as by most servers.) It is not noticed while the client has more than 32 KiB under
/// way that nobody reads. `ignore_departure` is for work that is to be finished all the same.
/// \par Errors    a body or reply that goes wrong throws error{errc::io_error} with a `net_errc` or the system's code as
///                its `cause()`, or error{errc::too_large}. A handler that lets it out of itself has the client answered
///                with the status that fits: 400, 408, 413. Anything else that it throws is 500, told to `on_error`.
/// \par Lifetime  the server's; until the handler's coroutine has ended. Not copied, not moved.
/// \par Threads   the server's executor. One read, and one of the calls that write, at a time.
/// \par Cancellation  terminal, everywhere: throws error{errc::cancelled}; a reply under way is cut off.
class http_call {
 public:
  http_call(const http_call&) = delete;
  http_call& operator=(const http_call&) = delete;

  /// Method, target, fields. The target begins with `/`, or is `*`; it is not decoded.
  const http_request_head& head() const noexcept { return talk_.parser().head(); }
  const std::string& method() const noexcept { return head().method; }
  /// The target up to its `?`; not decoded. Valid as long as this is.
  std::string_view path() const noexcept { return target().substr(0, target().find('?')); }
  /// The target behind its `?`; not decoded, empty where there is none.
  std::string_view query() const noexcept {
    const auto mark = target().find('?');
    return mark == std::string_view::npos ? std::string_view() : target().substr(mark + 1);
  }
  /// The first value of that field.
  std::optional<std::string_view> field(std::string_view name) const noexcept { return head().fields.find(name); }

  /// Allows a longer, or only a shorter, body than the server's settings. Before the first read.
  /// \param most  bytes; nothing: any number.
  void body_limit(std::optional<std::uint64_t> most) noexcept {
    // Half of all numbers: sums with it do not overflow.
    constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max() / 2;
    talk_.body_limit(most.value_or(any));
  }

  /// The next piece of the body, as it came. The first call answers `Expect: 100-continue`. What nobody reads is not
  /// taken from the client (back-pressure).
  /// \param into  not empty; kept by the caller until the awaitable completes.
  /// \return      how many bytes; 0 at the end, and from then on.
  /// \throws      error{errc::too_large} beyond the limit, where the length is announced before anything is read;
  ///              error{errc::io_error}: net_errc::truncated, timed_out, malformed, ambiguous_length, ...
  awaitable<std::size_t> read_some(std::span<std::byte> into) { return talk_.read_some(into); }

  /// The rest of the body, within the limit.
  awaitable<bytes> read_all() {
    bytes content;
    std::array<std::byte, 16 * 1024> piece;
    for (;;) {
      const std::size_t count = co_await read_some(piece);
      if (count == 0) break;
      content.insert(content.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
    }
    co_return content;
  }
  /// The rest of the body. \param most  bytes of the whole body, instead of the limit.
  awaitable<bytes> read_all(std::uint64_t most) {
    body_limit(most);
    return read_all();
  }
  /// The trailers of a chunked body; whole once `read_some` has yielded 0.
  const http_fields& trailers() const noexcept { return talk_.parser().trailers(); }

  /// Sends a whole reply. Once a request, and not after `begin`. `Date` and the length are added.
  awaitable<void> reply(http_reply what) { return talk_.reply(std::move(what)); }

  /// Sends the head of a reply whose body is written bit by bit: chunked, or for a client of HTTP/1.0 until the
  /// connection is closed.
  /// \param what  without a body.
  awaitable<void> begin(http_reply what) { return talk_.begin(std::move(what), std::nullopt); }
  /// The same for a body of which the length is known.
  /// \param size  exactly how many bytes will be written; fewer cut the reply off, more are error{errc::invalid_argument}.
  awaitable<void> begin(http_reply what, std::uint64_t size) { return talk_.begin(std::move(what), size); }

  /// Sends a piece of a reply that was begun, at once: when this is done the system has it. Nothing for HEAD.
  /// \param data  kept by the caller until the awaitable completes; may be empty.
  awaitable<void> write(bytes_view data) { return talk_.write(data); }
  awaitable<void> write(std::string_view text) { return talk_.write(as_bytes(text)); }

  /// Ends a reply that was begun, for a handler that has more to do. The handler's own end does the same; its exception
  /// cuts the reply off, so that the client can tell.
  awaitable<void> end() { return talk_.end(); }

  /// Whether a reply was sent, or begun.
  bool replied() const noexcept { return talk_.replied() != detail::http_conversation::progress::none; }
  /// Whether the client has gone.
  bool client_gone() const noexcept { return talk_.input().ended(); }
  /// Lets the handler go on when the client has gone; writing to it fails then. The server's stop still cancels it.
  void ignore_departure() noexcept { ignores_departure_ = true; }

 private:
  friend class detail::http_served_connection;
  explicit http_call(detail::http_conversation& talk) noexcept : talk_(talk) {}

  std::string_view target() const noexcept { return head().target; }

  detail::http_conversation& talk_;
  bool ignores_departure_ = false;
};

}  // namespace cofferdam::inline v0
