// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/network/detail/host_name.hpp>

#include <asio/ip/address.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The codes of a reply to a SOCKS5 request (RFC 1928, 6).
enum class socks_reply : std::uint8_t {
  succeeded = 0,
  general_failure = 1,
  not_allowed = 2,
  host_unreachable = 4,
  connection_refused = 5,
  time_expired = 6,
  command_not_supported = 7,
  address_type_not_supported = 8,
};

/// Returns the bytes of a reply. The bound address in it is always 0.0.0.0:0, because no client needs it.
inline std::string socks_reply_text(socks_reply code) {
  std::string text("\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", 10);
  text[1] = static_cast<char>(code);
  return text;
}

/// The result of one call of `socks_parser::parse`.
class socks_step {
 public:
  enum class event {
    need_more,  ///< more bytes are needed
    answer,     ///< the caller sends `answer` and calls `parse` again
    request,    ///< the request is complete
    refused,    ///< the caller sends `answer`, which may be empty, and closes the connection
  };
  event what = event::need_more;
  std::size_t consumed = 0;
  std::string answer;
};

/// A parser for the client's part of a SOCKS5 connection, up to the request. It does no I/O. Two methods are accepted:
/// no authentication, and a user name with a password, of which all are accepted, because the user name is only a
/// label. The only command is CONNECT.
/// \par Source  RFC 1928; RFC 1929.
class socks_parser {
 public:
  /// Parses the next message.
  /// \param input  received bytes that were not consumed yet. A message is consumed as a whole.
  socks_step parse(bytes_view input) {
    const std::string_view text = as_text(input);
    switch (state_) {
      case state::greeting: return greeting(text);
      case state::login: return login(text);
      case state::request: return request(text);
    }
    return {};
  }

  /// Returns the user name of the client, which is untrusted; empty if there was none.
  const std::string& user() const noexcept { return user_; }
  /// Returns the host and the port of the request. No value if the request names an invalid host or port 0; valid after
  /// the event `request`.
  const std::optional<host_and_number>& where() const noexcept { return where_; }
  /// Returns the host of the request as the client has sent it, which is untrusted.
  const std::string& asked() const noexcept { return asked_; }

 private:
  enum class state { greeting, login, request };

  static std::size_t byte(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }
  static socks_step refuse(std::string answer) { return {socks_step::event::refused, 0, std::move(answer)}; }
  static socks_step refuse(socks_reply code) { return refuse(socks_reply_text(code)); }
  socks_step reply(std::size_t consumed, std::string_view answer, state next) {
    state_ = next;
    return {socks_step::event::answer, consumed, std::string(answer)};
  }

  socks_step greeting(std::string_view text) {
    using namespace std::string_view_literals;
    if (!text.empty() && byte(text, 0) != 5) return refuse("");
    if (text.size() < 2 || text.size() < 2 + byte(text, 1)) return {};
    const std::size_t end = 2 + byte(text, 1);
    const std::string_view methods = text.substr(2, end - 2);
    if (methods.find('\x02') != std::string_view::npos) return reply(end, "\x05\x02"sv, state::login);
    if (methods.find('\0') != std::string_view::npos) return reply(end, "\x05\x00"sv, state::request);
    return refuse("\x05\xFF");
  }

  socks_step login(std::string_view text) {
    using namespace std::string_view_literals;
    if (!text.empty() && byte(text, 0) != 1) return refuse(std::string("\x01\x01"));
    if (text.size() < 2) return {};
    const std::size_t password = 2 + byte(text, 1);
    if (text.size() <= password) return {};
    const std::size_t end = password + 1 + byte(text, password);
    if (text.size() < end) return {};
    user_ = text.substr(2, password - 2);
    return reply(end, "\x01\x00"sv, state::request);
  }

  socks_step request(std::string_view text) {
    if (!text.empty() && byte(text, 0) != 5) return refuse(socks_reply::general_failure);
    if (text.size() < 5) return {};
    if (byte(text, 1) != 1) return refuse(socks_reply::command_not_supported);
    std::size_t from = 4;
    std::size_t length = 0;
    switch (byte(text, 3)) {
      case 1: length = 4; break;
      case 3:
        length = byte(text, 4);
        from = 5;
        break;
      case 4: length = 16; break;
      default: return refuse(socks_reply::address_type_not_supported);
    }
    const std::size_t end = from + length + 2;
    if (text.size() < end) return {};
    const std::string_view host = text.substr(from, length);
    std::optional<host_name> name;
    if (byte(text, 3) == 1) {
      asio::ip::address_v4::bytes_type raw{};
      std::copy(host.begin(), host.end(), raw.begin());
      name = host_name(asio::ip::address(asio::ip::address_v4(raw)));
    } else if (byte(text, 3) == 4) {
      asio::ip::address_v6::bytes_type raw{};
      std::copy(host.begin(), host.end(), raw.begin());
      name = host_name(plain_address(asio::ip::address(asio::ip::address_v6(raw))));
    } else {
      name = parse_host(host);
    }
    asked_ = name ? name->text() : std::string(host);
    const auto port = static_cast<std::uint16_t>(byte(text, end - 2) * 256 + byte(text, end - 1));
    if (name && port != 0) where_ = host_and_number(std::move(*name), port);
    return {socks_step::event::request, end, ""};
  }

  state state_ = state::greeting;
  std::string user_;
  std::string asked_;
  std::optional<host_and_number> where_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
