// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/utf8.hpp>
#include <cofferdam/net/connect_error.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/serve/e2b_gateway/detail/paths.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::detail {

/// What ends the handling of a REST request: thrown there, answered at the top.
class gateway_refusal : public std::exception {
 public:
  gateway_refusal(int status, std::string message) : message_(std::move(message)), status_(status) {}
  const char* what() const noexcept override { return message_.c_str(); }
  int status() const noexcept { return status_; }

 private:
  std::string message_;
  int status_;
};

/// The same for a Connect call.
class gateway_rpc_failure : public std::exception {
 public:
  gateway_rpc_failure(connect_code code, std::string message) : failure_(code, std::move(message)) {}
  const char* what() const noexcept override { return failure_.message().c_str(); }
  const connect_failure& failure() const noexcept { return failure_; }

 private:
  connect_failure failure_;
};

inline http_reply gateway_json_reply(int status, const boost::json::value& value) {
  return http_reply(status).content("application/json; charset=utf-8", boost::json::serialize(value));
}
inline http_reply gateway_error_reply(int status, std::string_view message) {
  boost::json::object object;
  object["code"] = status;
  object["message"] = gateway_json_text(message);
  return gateway_json_reply(status, object);
}
inline http_reply gateway_text_reply(int status, std::string_view text) {
  return http_reply(status).content("text/plain; charset=utf-8", text);
}

/// The code under which a failure of ours is told.
inline connect_code gateway_code(const error& failure) noexcept {
  switch (static_cast<errc>(failure.code().value())) {
    case errc::not_found: return connect_code::not_found;
    case errc::already_exists:
    case errc::collision: return connect_code::already_exists;
    case errc::outside_workspace:
    case errc::permission_denied: return connect_code::permission_denied;
    case errc::invalid_argument:
    case errc::not_a_file:
    case errc::not_a_directory: return connect_code::invalid_argument;
    case errc::not_empty: return connect_code::failed_precondition;
    case errc::too_large: return connect_code::resource_exhausted;
    case errc::unsupported: return connect_code::unimplemented;
    case errc::environment_closed:
    case errc::provider_lost:
    case errc::provider_failed: return connect_code::unavailable;
    case errc::cancelled: return connect_code::canceled;
    case errc::io_error: break;
  }
  return connect_code::internal;
}

/// Whether a failure is the client's connection's, which the server answers by itself.
inline bool gateway_is_connection(const error& failure) noexcept {
  return failure.code() == errc::cancelled ||
         (failure.code() == errc::io_error && failure.cause().category() == net_error_category());
}

inline connect_failure gateway_connect_failure(const error& failure) {
  std::string message;
  append_repaired_utf8(message, failure.what());
  return {gateway_code(failure), std::move(message)};
}

/// How Go, and so E2B, says which signal ended a process.
inline std::string gateway_signal_words(int number) {
  switch (number) {
    case 1: return "signal: hangup";
    case 2: return "signal: interrupt";
    case 3: return "signal: quit";
    case 4: return "signal: illegal instruction";
    case 5: return "signal: trace/breakpoint trap";
    case 6: return "signal: aborted";
    case 7: return "signal: bus error";
    case 8: return "signal: floating point exception";
    case 9: return "signal: killed";
    case 10: return "signal: user defined signal 1";
    case 11: return "signal: segmentation fault";
    case 12: return "signal: user defined signal 2";
    case 13: return "signal: broken pipe";
    case 14: return "signal: alarm clock";
    case 15: return "signal: terminated";
    default: return "signal: signal " + std::to_string(number);
  }
}

/// The code that a shell gives a command which never ran.
inline int gateway_refused_code(const command_result& result) noexcept {
  return result.kind() == error_kind::execution_error && result.cause() == std::errc::no_such_file_or_directory ? 127
                                                                                                                : 126;
}

/// EndEvent. \par Source  envd's process.proto.
inline boost::json::object gateway_end_event(const command_result& result) {
  boost::json::object end;
  const bool has_exited = result.exit_code() >= 0;
  const bool was_killed = result.term_signal() != 0 || (!has_exited && result.kind() == error_kind::timeout);
  if (was_killed) {
    end["exitCode"] = -1;
    end["status"] = gateway_signal_words(result.term_signal() != 0 ? result.term_signal() : 9);
  } else {
    const int code = has_exited ? result.exit_code() : gateway_refused_code(result);
    if (code != 0) end["exitCode"] = code;
    end["exited"] = true;
    end["status"] = "exit status " + std::to_string(code);
  }
  if (!result.reason().empty()) {
    end["error"] = gateway_json_text(result.reason());
  } else if (!result.ok()) {
    end["error"] = end["status"];
  }
  return end;
}

}  // namespace cofferdam::inline v0::detail
