// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/net/connect_error.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/serve/e2b_gateway/detail/paths.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// An exception that ends the handling of a REST request. `dispatcher` converts it to a reply.
class http_refusal : public std::exception {
 public:
  http_refusal(int status, std::string message) : message_(std::move(message)), status_(status) {}
  const char* what() const noexcept override { return message_.c_str(); }
  int status() const noexcept { return status_; }

 private:
  std::string message_;
  int status_;
};

/// An exception that ends the handling of a Connect call (Connect is an RPC protocol). `dispatcher` converts it to a
/// reply.
class rpc_failure : public std::exception {
 public:
  rpc_failure(cofferdam::detail::connect_code code, std::string message) : failure_(code, std::move(message)) {}
  const char* what() const noexcept override { return failure_.message().c_str(); }
  const cofferdam::detail::connect_failure& failure() const noexcept { return failure_; }

 private:
  cofferdam::detail::connect_failure failure_;
};

inline http_reply json_reply(int status, const boost::json::value& value) {
  http_reply reply(status);
  reply.content("application/json; charset=utf-8", boost::json::serialize(value));
  return reply;
}
inline boost::json::object error_object(int status, std::string_view message) {
  boost::json::object object;
  object["code"] = status;
  object["message"] = valid_json_text(message);
  return object;
}
inline http_reply error_reply(int status, std::string_view message) {
  return json_reply(status, error_object(status, message));
}
inline http_reply text_reply(int status, std::string_view text) {
  http_reply reply(status);
  reply.content("text/plain; charset=utf-8", text);
  return reply;
}

/// The two forms in which a client can receive the class of a failure.
struct failure_class {
  cofferdam::detail::connect_code code;  ///< for a call of the Connect protocol, which has its own status for each code
  int status;                            ///< for a REST request
};

/// Returns the class of a failure. The statuses are those that E2B documents: an environment that is gone is 502, a
/// busy one 503, and a parent directory that is a file 500. Data that is too large is an invalid argument of a call,
/// because E2B's SDKs report `resource_exhausted` as a rate limit, and advise to try again later.
inline failure_class class_of(exec_errc failure) noexcept {
  using cofferdam::detail::connect_code;
  switch (failure) {
    case exec_errc::not_found: return {connect_code::not_found, 404};
    case exec_errc::already_exists: return {connect_code::already_exists, 409};
    case exec_errc::collision: return {connect_code::already_exists, 400};
    case exec_errc::outside_workspace:
    case exec_errc::permission_denied: return {connect_code::permission_denied, 403};
    case exec_errc::invalid_argument:
    case exec_errc::not_a_file: return {connect_code::invalid_argument, 400};
    case exec_errc::not_a_directory: return {connect_code::invalid_argument, 500};
    case exec_errc::not_empty: return {connect_code::failed_precondition, 400};
    case exec_errc::busy: return {connect_code::failed_precondition, 503};
    case exec_errc::too_large: return {connect_code::invalid_argument, 413};
    case exec_errc::unsupported: return {connect_code::unimplemented, 501};
    case exec_errc::environment_closed:
    case exec_errc::provider_lost: return {connect_code::unavailable, 502};
    case exec_errc::unavailable: return {connect_code::unavailable, 503};
    case exec_errc::provider_failed: return {connect_code::unavailable, 500};
    case exec_errc::cancelled: return {connect_code::canceled, 499};
    case exec_errc::deadlock:
    case exec_errc::io_error: break;
  }
  return {connect_code::internal, 500};
}

/// Returns the Connect code for an error of this library.
inline cofferdam::detail::connect_code connect_code_of(const error& failure) noexcept {
  return class_of(static_cast<exec_errc>(failure.code().value())).code;
}

/// Returns the HTTP status of a REST reply for an error of this library.
inline int http_status_of(const error& failure) noexcept {
  if (failure.cause() == std::errc::is_a_directory) return 400;
  if (failure.cause() == std::errc::no_space_on_device) return 507;
  return class_of(static_cast<exec_errc>(failure.code().value())).status;
}

/// Returns true if a failure comes from the request itself, so that the client gets the reason. Other reasons may name
/// files and addresses of the host. They are reported to the operator of the gateway.
inline bool is_of_request(const error& failure) noexcept {
  return failure.code() == exec_errc::invalid_argument || failure.code() == exec_errc::too_large ||
         failure.code() == exec_errc::unsupported;
}
/// The same for a request inside a sandbox: its path can lead out of the workspace, too.
inline bool is_of_request_inside(const error& failure) noexcept {
  return is_of_request(failure) || failure.code() == exec_errc::outside_workspace;
}

/// Returns the message for a client whose sandbox could not be opened: the class of the failure, but not its reason.
inline std::string opening_failure(const error& failure) {
  std::string_view what = "the backend of this gateway failed";
  switch (static_cast<exec_errc>(failure.code().value())) {
    case exec_errc::unsupported:
    case exec_errc::invalid_argument: what = "the host of this gateway lacks something that its backend needs"; break;
    case exec_errc::permission_denied: what = "the backend of this gateway refused permission"; break;
    case exec_errc::not_found:
      what = "the backend of this gateway lacks the image or another part of the sandbox";
      break;
    case exec_errc::unavailable:
    case exec_errc::provider_lost: what = "the backend of this gateway cannot be reached, or is busy"; break;
    case exec_errc::io_error: what = "a file or a connection of this gateway's backend failed"; break;
    default: break;
  }
  return "The sandbox could not be opened: " + std::string(what) +
         "; the reason is in the messages of the gateway, for its operator";
}

/// Returns true if the request failed because of the client's connection. The HTTP server handles such a failure
/// itself.
inline bool is_connection_failure(const error& failure) noexcept {
  return failure.code() == exec_errc::cancelled ||
         (failure.code() == exec_errc::io_error && failure.cause().category() == net_error_category());
}

inline cofferdam::detail::connect_failure as_connect_failure(const error& failure) {
  std::string message;
  cofferdam::detail::append_repaired_utf8(message, failure.what());
  return {connect_code_of(failure), std::move(message)};
}

/// Returns the text for a signal that has ended a process. It is the text of Go's standard library, because E2B's
/// daemon is written in Go.
inline std::string signal_words(int number) {
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

/// Returns the exit code that a shell would report for a command that could not be started: 127 if there is no such
/// program, otherwise 126.
inline int refused_code(const command_result& result) noexcept {
  return result.kind() == error_kind::execution_error && result.cause() == std::errc::no_such_file_or_directory ? 127
                                                                                                                : 126;
}

/// Makes the message `EndEvent`, which describes the end of a process.
/// \par Source  process.proto of envd (E2B's daemon in a sandbox).
inline boost::json::object end_event(const command_result& result) {
  boost::json::object end;
  const bool has_exited = result.exit_code() >= 0;
  const bool was_killed = result.term_signal() != 0 || (!has_exited && result.kind() == error_kind::timeout);
  if (was_killed) {
    end["exitCode"] = -1;
    end["status"] = signal_words(result.term_signal() != 0 ? result.term_signal() : 9);
  } else {
    const int code = has_exited ? result.exit_code() : refused_code(result);
    if (code != 0) end["exitCode"] = code;
    end["exited"] = true;
    end["status"] = "exit status " + std::to_string(code);
  }
  if (!result.reason().empty()) {
    end["error"] = valid_json_text(result.reason());
  } else if (!result.ok()) {
    end["error"] = end["status"];
  }
  return end;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
