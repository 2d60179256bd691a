// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/network/detail/client_hello.hpp>
#include <cofferdam/network/detail/host_name.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The protocol of a tunnel, by the first bytes of the client.
enum class tunnel_protocol {
  undecided,  ///< the first bytes could begin TLS or HTTP
  tls,        ///< a complete first message of TLS
  http,       ///< a complete request line of HTTP
  other,      ///< neither TLS nor HTTP
  malformed,  ///< TLS whose first message is invalid, or HTTP whose first line is too long
};

/// The first bytes of a client in a tunnel. The parser does no I/O and consumes nothing.
class tunnel_opening {
 public:
  explicit tunnel_opening(bytes_view from_start) {
    const std::string_view text = as_text(from_start);
    if (text.starts_with('\x16')) {
      const client_hello hello(from_start);
      server_name_ = hello.server_name();
      protocol_ = of_hello(hello.result());
    } else {
      protocol_ = of_text(text);
    }
  }

  tunnel_protocol protocol() const noexcept { return protocol_; }
  /// Returns the sentence for TLS whose server name is not the host that was requested; empty if it is.
  /// \param where  the host that was requested. An address needs no server name, because TLS has none for addresses.
  std::string server_name_problem(const host_and_number& where) const {
    if (!server_name_ && where.host.address()) return "";
    if (!server_name_)
      return "The TLS connection to " + authority_text(where) +
             " names no server. Send the host name as the server name (SNI).";
    if (parse_host(*server_name_) == where.host) return "";
    return "The TLS connection to " + authority_text(where) + " names another server, " + one_line(*server_name_, 100) +
           ". The server name (SNI) must be the host of the connection.";
  }

 private:
  static tunnel_protocol of_hello(client_hello::state result) noexcept {
    switch (result) {
      case client_hello::state::need_more: return tunnel_protocol::undecided;
      case client_hello::state::not_tls: return tunnel_protocol::other;
      case client_hello::state::malformed: return tunnel_protocol::malformed;
      case client_hello::state::complete: return tunnel_protocol::tls;
    }
    return tunnel_protocol::malformed;
  }

  /// Finds a request line: a token, a blank, and later ` HTTP/`. Some servers skip empty lines before it, and so does
  /// this function.
  static tunnel_protocol of_text(std::string_view text) noexcept {
    constexpr std::size_t longest = std::size_t{16} * 1024;
    while (!text.empty() && (text.front() == '\r' || text.front() == '\n')) text.remove_prefix(1);
    std::size_t method = 0;
    while (method < text.size() && is_token_char(text[method])) ++method;
    if (method == text.size()) return method > 64 ? tunnel_protocol::other : tunnel_protocol::undecided;
    if (method == 0 || (text[method] != ' ' && text[method] != '\t')) return tunnel_protocol::other;
    const std::size_t end = text.find('\n');
    if (text.substr(0, end).find(" HTTP/") != std::string_view::npos) return tunnel_protocol::http;
    if (end != std::string_view::npos) return tunnel_protocol::other;
    return text.size() > longest ? tunnel_protocol::malformed : tunnel_protocol::undecided;
  }

  tunnel_protocol protocol_ = tunnel_protocol::undecided;
  std::optional<std::string> server_name_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
