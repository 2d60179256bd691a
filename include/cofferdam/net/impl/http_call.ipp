// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/net/detail/http_conversation.hpp>
#include <cofferdam/net/http_call.hpp>
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

namespace cofferdam::inline COFFERDAM_ABI {

COFFERDAM_DECL std::string_view http_call::query() const noexcept {
  const auto mark = target().find('?');
  return mark == std::string_view::npos ? std::string_view() : target().substr(mark + 1);
}

COFFERDAM_DECL void http_call::body_limit(std::optional<std::uint64_t> max_bytes) noexcept {
  // Half of the largest number means "unlimited", so that sums with it do not overflow.
  constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max() / 2;
  talk_.body_limit(max_bytes.value_or(any));
}

COFFERDAM_DECL awaitable<bytes> http_call::read_all() {
  bytes content;
  std::array<std::byte, 16 * 1024> piece;
  for (;;) {
    const std::size_t count = co_await read_some(piece);
    if (count == 0) break;
    content.insert(content.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
  }
  co_return content;
}

COFFERDAM_DECL awaitable<bytes> http_call::read_all(std::uint64_t max_bytes) {
  body_limit(max_bytes);
  return read_all();
}

COFFERDAM_DECL const http_request_head& http_call::head() const noexcept { return talk_.parser().head(); }

COFFERDAM_DECL const std::string& http_call::method() const noexcept { return head().method; }

COFFERDAM_DECL std::string_view http_call::path() const noexcept { return target().substr(0, target().find('?')); }

COFFERDAM_DECL std::optional<std::string_view> http_call::field(std::string_view name) const noexcept {
  return head().fields.find(name);
}

COFFERDAM_DECL awaitable<std::size_t> http_call::read_some(std::span<std::byte> into) { return talk_.read_some(into); }

COFFERDAM_DECL const http_fields& http_call::trailers() const noexcept { return talk_.parser().trailers(); }

COFFERDAM_DECL void http_call::share_with(std::string_view origin) { talk_.share_with(origin); }

COFFERDAM_DECL awaitable<void> http_call::reply(http_reply what) { return talk_.reply(std::move(what)); }

COFFERDAM_DECL awaitable<void> http_call::begin(http_reply what) { return talk_.begin(std::move(what), std::nullopt); }

COFFERDAM_DECL awaitable<void> http_call::begin(http_reply what, std::uint64_t size) {
  return talk_.begin(std::move(what), size);
}

COFFERDAM_DECL awaitable<void> http_call::write(bytes_view data) { return talk_.write(data); }

COFFERDAM_DECL awaitable<void> http_call::write(std::string_view text) { return talk_.write(as_bytes(text)); }

COFFERDAM_DECL awaitable<void> http_call::end() { return talk_.end(); }

COFFERDAM_DECL bool http_call::replied() const noexcept {
  return talk_.replied() != detail::http_conversation::progress::none;
}

COFFERDAM_DECL bool http_call::client_gone() const noexcept { return talk_.input().ended(); }

COFFERDAM_DECL void http_call::ignore_departure() noexcept { ignores_departure_ = true; }

COFFERDAM_DECL std::string_view http_call::target() const noexcept { return head().target; }

}  // namespace cofferdam::inline COFFERDAM_ABI
