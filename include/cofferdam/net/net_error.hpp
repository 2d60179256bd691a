// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/worded_category.hpp>

#include <string_view>
#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI {

/// The reason why a connection or its data was unusable: the `cause()` of errors from `net/` whose `code()` is
/// `exec_errc::io_error`. If the operating system reports a reason, `cause()` is the system's error code instead, for
/// example `ECONNREFUSED`.
enum class net_errc {
  connection_lost = 1,  ///< the peer closed the connection before it sent an answer
  truncated,            ///< the peer closed the connection inside a message
  timed_out,            ///< a time limit expired; the error's message names the limit
  malformed,            ///< the message is not valid HTTP/1.1, or is valid but refused as unsafe
  ambiguous_length,    ///< the fields about the length conflict, so two readers could see different ends of the message
  unsupported_coding,  ///< the message uses a transfer coding other than chunked
  head_too_large,      ///< a line, or the whole head of the message, is longer than its limit
  too_many_fields,     ///< the message has more fields than the limit
  not_tls,             ///< the peer does not use TLS, or uses a version before TLS 1.2
  certificate_untrusted,      ///< no trusted authority has signed the peer's certificate
  certificate_expired,        ///< the peer's certificate has expired
  certificate_not_yet_valid,  ///< the peer's certificate is not valid yet
  certificate_wrong_host,     ///< the peer's certificate is for another host
  certificate_rejected,  ///< the peer's certificate is invalid for another reason, which the error's message states
  client_certificate_needed,  ///< the peer requires a client certificate, or rejects the one that was sent
  proxy_refused,              ///< the proxy refuses to open a tunnel to the host
  upgrade_refused,            ///< the server refuses to switch to another protocol, such as WebSocket
};

namespace detail {

class net_words {
 public:
  static constexpr const char* name = "cofferdam.net";
  static constexpr std::string_view message(int value) {
    switch (static_cast<net_errc>(value)) {
      case net_errc::connection_lost: return "the connection was closed before an answer arrived";
      case net_errc::truncated: return "the connection was closed inside a message";
      case net_errc::timed_out: return "a time limit expired";
      case net_errc::malformed: return "not a valid HTTP/1.1 message";
      case net_errc::ambiguous_length: return "the message's length is ambiguous";
      case net_errc::unsupported_coding: return "unsupported transfer coding";
      case net_errc::head_too_large: return "the head of the message is too large";
      case net_errc::too_many_fields: return "the message has too many fields";
      case net_errc::not_tls: return "the peer does not speak TLS 1.2 or newer";
      case net_errc::certificate_untrusted: return "the certificate is not trusted";
      case net_errc::certificate_expired: return "the certificate has expired";
      case net_errc::certificate_not_yet_valid: return "the certificate is not valid yet";
      case net_errc::certificate_wrong_host: return "the certificate is for another host";
      case net_errc::certificate_rejected: return "the certificate was rejected";
      case net_errc::client_certificate_needed: return "the peer requires another client certificate";
      case net_errc::proxy_refused: return "the proxy refused to open a tunnel";
      case net_errc::upgrade_refused: return "the server refused to switch to another protocol";
    }
    return "unknown network error";
  }
};

}  // namespace detail

/// Returns the error category of `net_errc`.
inline const std::error_category& net_error_category() noexcept { return detail::category_of<detail::net_words>(); }

/// Converts a `net_errc` to a `std::error_code`; found by argument-dependent lookup.
inline std::error_code make_error_code(net_errc value) noexcept {
  return {static_cast<int>(value), net_error_category()};
}

}  // namespace cofferdam::inline COFFERDAM_ABI

template <>
struct std::is_error_code_enum<cofferdam::net_errc> : std::true_type {};
