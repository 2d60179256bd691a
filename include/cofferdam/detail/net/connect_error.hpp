// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/net/net_error.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The reason why a call of the Connect protocol (remote procedure calls over HTTP) has failed. On the wire, each code
/// is sent as the name of its enumerator.
/// \par Source  Connect protocol, "Error Codes".
enum class connect_code {
  canceled = 1,
  unknown,
  invalid_argument,
  deadline_exceeded,
  not_found,
  already_exists,
  permission_denied,
  resource_exhausted,
  failed_precondition,
  aborted,
  out_of_range,
  unimplemented,
  internal,
  unavailable,
  data_loss,
  unauthenticated,
};

struct connect_code_row {
  connect_code code;
  std::string_view name;
  unsigned status;
};

inline constexpr std::array<connect_code_row, 16> connect_codes{{
    {connect_code::canceled, "canceled", 499},
    {connect_code::unknown, "unknown", 500},
    {connect_code::invalid_argument, "invalid_argument", 400},
    {connect_code::deadline_exceeded, "deadline_exceeded", 504},
    {connect_code::not_found, "not_found", 404},
    {connect_code::already_exists, "already_exists", 409},
    {connect_code::permission_denied, "permission_denied", 403},
    {connect_code::resource_exhausted, "resource_exhausted", 429},
    {connect_code::failed_precondition, "failed_precondition", 400},
    {connect_code::aborted, "aborted", 409},
    {connect_code::out_of_range, "out_of_range", 400},
    {connect_code::unimplemented, "unimplemented", 501},
    {connect_code::internal, "internal", 500},
    {connect_code::unavailable, "unavailable", 503},
    {connect_code::data_loss, "data_loss", 500},
    {connect_code::unauthenticated, "unauthenticated", 401},
}};

/// Returns the name of the code on the wire.
constexpr std::string_view to_string(connect_code code) noexcept {
  for (const detail::connect_code_row& row : detail::connect_codes)
    if (row.code == code) return row.name;
  return "unknown";
}

/// Returns the code with this name; no value for an unknown name.
constexpr std::optional<connect_code> connect_code_named(std::string_view name) noexcept {
  for (const detail::connect_code_row& row : detail::connect_codes)
    if (row.name == name) return row.code;
  return std::nullopt;
}

/// Returns the HTTP status of a unary response that fails with this code.
constexpr unsigned connect_status(connect_code code) noexcept {
  for (const detail::connect_code_row& row : detail::connect_codes)
    if (row.code == code) return row.status;
  return 500;
}

/// Returns the code for an HTTP status. It is used for responses without a code, for example an error page of a proxy.
/// \par Source  the table in E2B's Python SDK, which has more rows than the table in the Connect protocol.
constexpr connect_code connect_code_of_status(unsigned status) noexcept {
  switch (status) {
    case 400: return connect_code::invalid_argument;
    case 401: return connect_code::unauthenticated;
    case 403: return connect_code::permission_denied;
    case 404: return connect_code::not_found;
    case 409: return connect_code::already_exists;
    case 413:
    case 429: return connect_code::resource_exhausted;
    case 499: return connect_code::canceled;
    case 500: return connect_code::internal;
    case 501:
    case 505: return connect_code::unimplemented;
    case 502:
    case 503: return connect_code::unavailable;
    case 504: return connect_code::deadline_exceeded;
    default: return connect_code::unknown;
  }
}

/// The failure of a call, which the peer has reported.
class connect_failure {
 public:
  connect_failure() = default;
  connect_failure(connect_code code, std::string message) : message_(std::move(message)), code_(code) {}
  connect_code code() const noexcept { return code_; }
  /// Returns the peer's message. It is untrusted, and may be empty, long or invalid UTF-8. Pass it to `one_line` before
  /// showing it.
  const std::string& message() const noexcept { return message_; }

 private:
  std::string message_;
  connect_code code_ = connect_code::unknown;
};

/// Parses the body of a unary response whose status is not 200. Accepts any body.
///
/// If the body is a Connect error, the result has its code and message. If the `code` of the body is an integer, as
/// from E2B's proxies, that number is used as the HTTP status. If the body has no valid code, the code is derived from
/// the status. If the body is not a JSON object, the message is the body, at most 64 KiB of it. A caller that shortens
/// the message must remove secrets from it first: a shortened message may contain a part of a secret, which a search
/// for the whole secret does not find.
/// \param status  100 to 599.
inline connect_failure read_connect_failure(unsigned status, std::string_view body) {
  std::error_code broken;
  const boost::json::value value = detail::parse_untrusted_json(body, broken);
  const boost::json::object* const object = broken ? nullptr : value.if_object();
  if (object == nullptr) return {connect_code_of_status(status), std::string(body.substr(0, std::size_t{64} * 1024))};
  std::string message(detail::text_at(*object, "message"));
  if (const auto named = connect_code_named(detail::text_at(*object, "code"))) return {*named, std::move(message)};
  const boost::json::value* const code = object->if_contains("code");
  if (code != nullptr && code->is_int64() && code->get_int64() >= 100 && code->get_int64() <= 599)
    status = static_cast<unsigned>(code->get_int64());
  return {connect_code_of_status(status), std::move(message)};
}

/// Parses the payload of an end envelope. Returns no value if the call succeeded.
/// \throws error{exec_errc::io_error} with net_errc::malformed as its `cause()` if the payload or its `error` is not a
///     JSON object.
inline std::optional<connect_failure> read_connect_end(std::string_view payload) {
  std::error_code broken;
  const boost::json::value value = detail::parse_untrusted_json(payload, broken);
  const boost::json::object* const object = broken ? nullptr : value.if_object();
  if (object == nullptr)
    throw error(exec_errc::io_error, "Connect: the end envelope of the stream is not a JSON object",
                net_errc::malformed);
  const boost::json::value* const failure = object->if_contains("error");
  if (failure == nullptr || failure->is_null()) return std::nullopt;
  const boost::json::object* const fields = failure->if_object();
  if (fields == nullptr)
    throw error(exec_errc::io_error, "Connect: the error in the end envelope of the stream is not a JSON object",
                net_errc::malformed);
  const connect_code code = connect_code_named(detail::text_at(*fields, "code")).value_or(connect_code::unknown);
  return connect_failure(code, std::string(detail::text_at(*fields, "message")));
}

inline boost::json::object connect_failure_object(const connect_failure& failure) {
  boost::json::object object;
  object["code"] = boost::json::string(json_view(to_string(failure.code())));
  std::string message;
  append_repaired_utf8(message, failure.message());
  object["message"] = boost::json::string(json_view(message));
  return object;
}

/// Returns the body of a failed unary response. The status of the response is `connect_status(failure.code())`.
/// \param failure  invalid UTF-8 in its message is replaced by U+FFFD.
inline std::string connect_failure_text(const connect_failure& failure) {
  return boost::json::serialize(detail::connect_failure_object(failure));
}

/// Returns the payload of the end envelope of a failed stream. The payload for a successful stream is `{}`.
inline std::string connect_end_text(const connect_failure& failure) {
  boost::json::object object;
  object["error"] = detail::connect_failure_object(failure);
  return boost::json::serialize(object);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
