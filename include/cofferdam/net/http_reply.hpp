// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/http_message.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// Returns the usual reason phrase of a status code, for example "Not Found" for 404; "Status" for an unknown code.
/// \par Source  RFC 9110, 15; RFC 6585.
inline std::string_view http_reason(int status) noexcept {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "Status";
  }
}

/// The reply of a server: a status, fields and a body. The server sets `Content-Length` and `Transfer-Encoding`. The
/// only permitted `Connection` field is `close`, which ends the connection after this reply.
class http_reply {
 public:
  /// Constructs a reply with status 200 and without a body.
  http_reply() = default;
  /// \param status  200 to 599. The server sends the interim responses (1xx) itself.
  /// \throws error{exec_errc::invalid_argument} for any other status.
  explicit http_reply(int status) : status_(status) {
    if (status < 200 || status > 599)
      throw error(exec_errc::invalid_argument,
                  "http_reply: " + std::to_string(status) + " is not a status from 200 to 599");
  }

  /// Adds a field.
  /// \throws error{exec_errc::invalid_argument} for an invalid name or value, for `Content-Length`, `Transfer-Encoding`
  ///     and `Trailer`, and for a `Connection` other than `close`.
  http_reply& field(std::string name, std::string value) {
    check(name, value);
    fields_.append(std::move(name), std::move(value));
    return *this;
  }
  /// Sets the body. The body is not sent if the method is HEAD or the status is 204 or 304.
  http_reply& body(bytes content) {
    body_ = std::move(content);
    return *this;
  }
  /// Sets the body and the `Content-Type` field: `http_reply(200).content("application/json", text)`.
  /// \throws error{exec_errc::invalid_argument} for an invalid type, as the constructor of `http_field`.
  http_reply& content(std::string type, std::string_view text) {
    fields_.set("Content-Type", std::move(type));
    body_ = to_bytes(text);
    return *this;
  }

  /// Returns the status code.
  int status() const noexcept { return status_; }
  /// Returns the header fields.
  const http_fields& fields() const noexcept { return fields_; }
  const bytes& body() const noexcept { return body_; }

 private:
  static void check(const std::string& name, std::string_view value) {
    for (const std::string_view reserved : {"Content-Length", "Transfer-Encoding", "Trailer"})
      if (detail::same_ignoring_case(name, reserved))
        throw error(exec_errc::invalid_argument,
                    "the HTTP server sets the field " + std::string(reserved) + " of a reply itself; remove it");
    if (detail::same_ignoring_case(name, "Connection") && !detail::same_ignoring_case(value, "close"))
      throw error(exec_errc::invalid_argument, "the field Connection of a reply can only be close");
  }

  int status_ = 200;
  http_fields fields_;
  bytes body_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
