// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/worded_category.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

class status_words : public cofferdam::detail::http_status_words {
 public:
  static constexpr const char* name = "http status";
};

/// Returns the error category of HTTP statuses. If the daemon refuses a call, the `cause()` of the error has this
/// category and the HTTP status as its value, such as 404.
inline const std::error_category& http_status_category() noexcept {
  return cofferdam::detail::category_of<detail::status_words>();
}

/// A description of a call to the daemon, for the error message if the call fails.
class api_call {
 public:
  /// Makes a description.
  /// \param doing    the purpose of the call, such as `create the container`.
  /// \param subject  the name of the image or container; may be empty.
  /// \param address  the daemon's address, from `daemon_location::address()`.
  api_call(std::string doing, std::string subject, std::string address)
      : doing_(std::move(doing)), subject_(std::move(subject)), address_(std::move(address)) {}

  /// Returns the beginning of an error message: `docker: cannot create the container "x"
  /// (unix:///var/run/docker.sock)`.
  std::string failed() const {
    std::string text = "docker: cannot " + doing_;
    if (!subject_.empty()) text += " \"" + one_line(subject_, 120) + "\"";
    return text + " (" + address_ + ")";
  }

 private:
  std::string doing_;
  std::string subject_;
  std::string address_;
};

// Returns a daemon's message without the users and passwords in its URLs.
inline std::string without_passwords(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t scheme = text.find("://");
    if (scheme == std::string_view::npos) break;
    const std::size_t from = scheme + 3;
    safe += text.substr(0, from);
    text.remove_prefix(from);
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\"'/?#<>"), text.size());
    const std::size_t at = text.substr(0, end).rfind('@');
    if (at == std::string_view::npos) continue;
    safe += "...";
    text.remove_prefix(at);
  }
  return safe.append(text);
}

inline std::string shown_message(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r') || text.ends_with(' ')) text.remove_suffix(1);
  return "\"" + one_line(without_passwords(text.substr(0, 4096)), 400) + "\"";
}

inline bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The error code and the advice for a daemon's error message. The message is examined in addition to the HTTP status,
// because Podman sends status 500 where Docker sends a specific status.
struct api_verdict {
  exec_errc code;
  const char* advice;
};

inline api_verdict judge(unsigned status, std::string_view message) {
  // This case must be first. The rest of such a message is text from the Dockerfile, which could match any case below.
  if (holds(message, "returned a non-zero code") || holds(message, "executor failed running") ||
      holds(message, "did not complete successfully"))
    return {exec_errc::provider_failed, "a command in the Dockerfile failed: see the build's output for the reason"};
  if (holds(message, "is too new. Maximum supported API version"))
    return {exec_errc::unsupported, "update the daemon, or set DOCKER_API_VERSION to the version named in its message"};
  if (holds(message, "is too old. Minimum supported API version"))
    return {exec_errc::unsupported, "this library is too old for the daemon: update the library"};
  if (holds(message, "HTTP request to an HTTPS server"))
    return {exec_errc::invalid_argument,
            "the daemon requires TLS: set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the folder of the keys"};
  if (holds(message, "no space left on device"))
    return {exec_errc::io_error, "the daemon's disk is full: run docker system df to see what uses it"};
  if (holds(message, "toomanyrequests") || holds(message, "Too Many Requests"))
    return {exec_errc::provider_failed, "the registry's pull limit is reached: wait, or log in with docker login"};
  if (holds(message, "no basic auth credentials") || holds(message, "unauthorized") ||
      holds(message, "access denied") || holds(message, "authentication required") || holds(message, "denied: "))
    return {exec_errc::permission_denied,
            "the registry requires a login, or has no such image: run docker login, or check the image's name"};
  if (holds(message, "image operating system") || holds(message, "no matching manifest"))
    return {exec_errc::not_found, "the image does not exist for this platform: choose another with platform()"};
  if (holds(message, "manifest unknown") || (holds(message, "manifest for") && holds(message, "not found")))
    return {exec_errc::not_found, "the registry has no such tag: check the spelling"};
  if (holds(message, "o such image") || holds(message, "image not known"))
    return {exec_errc::not_found, "pull it first: docker pull"};
  if (holds(message, "no such host") || holds(message, "connection refused") || holds(message, "i/o timeout") ||
      holds(message, "TLS handshake timeout"))
    return {exec_errc::provider_failed, "the daemon cannot reach the registry: check the daemon's network and proxy"};
  if (holds(message, "already in use"))
    return {exec_errc::already_exists, "choose another name, or remove the object that has this name"};
  if (holds(message, "nknown runtime") || holds(message, "unknown or invalid runtime name"))
    return {exec_errc::unsupported,
            "the daemon has no such runtime: run docker info to list its runtimes, or omit runtime()"};
  if (holds(message, "could not select device driver"))
    return {exec_errc::unsupported,
            "the daemon's machine cannot give containers such devices: install the vendor's container toolkit (for "
            "NVIDIA: nvidia-container-toolkit) and restart the daemon, or omit gpus()"};
  if (holds(message, "unable to find user") || holds(message, "no matching entries in passwd"))
    return {exec_errc::invalid_argument, "the image has no such user: use numeric ids, such as 1000:1000"};
  if (holds(message, "bind source path does not exist"))
    return {exec_errc::not_found, "a folder to mount does not exist on the daemon's machine"};
  if (holds(message, "Cannot locate specified Dockerfile"))
    return {exec_errc::not_found, "the build context contains no such Dockerfile"};
  if (holds(message, "OCI runtime create failed") || holds(message, "failed to create shim task"))
    return {exec_errc::provider_failed,
            "the container's first program cannot run: check that the image is for this machine's architecture"};
  if (holds(message, "cannot allocate memory"))
    return {exec_errc::provider_failed, "the daemon's machine is out of memory"};
  if (holds(message, "o such container") || holds(message, "no container with"))
    return {exec_errc::provider_lost, "the container was removed, or has exited"};
  if (holds(message, "is not running") || holds(message, "state improper"))
    return {exec_errc::provider_lost, "the container is not running: it was stopped, or has exited"};
  switch (status) {
    case 400: return {exec_errc::invalid_argument, "the daemon rejects the request as invalid"};
    case 401:
    case 403: return {exec_errc::permission_denied, "the daemon, or one of its plug-ins, forbids the request"};
    case 404: return {exec_errc::not_found, "the daemon has no such object"};
    case 409: return {exec_errc::already_exists, "the request conflicts with an existing object"};
    case 503: return {exec_errc::provider_failed, "the daemon is not ready: try again"};
    default: return {exec_errc::provider_failed, "see the daemon's log for details"};
  }
}

/// Returns the message in an error response: the member `message` of the JSON object (for Podman also `cause`), or the
/// body itself if it is not JSON. The message may contain any bytes and is untrusted.
inline std::string api_message(std::string_view body) {
  std::error_code failure;
  const boost::json::value value = cofferdam::detail::parse_untrusted_json(body, failure);
  const boost::json::object* const object = failure ? nullptr : value.if_object();
  if (object == nullptr) return std::string(body);
  const std::string_view message = detail::text_at(*object, "message");
  return std::string(message.empty() ? detail::text_at(*object, "cause") : message);
}

/// Returns the exception for an error response of the daemon. The exception's message contains the call, the daemon,
/// the HTTP status, the daemon's message (quoted, escaped, without passwords) and advice.
/// \param status  the HTTP status, 100 to 599; becomes the `cause()`, in `http_status_category()`.
/// \param body    the body of the response: JSON, other text, or empty; at most 64 KiB.
/// \par Errors    error{exec_errc::not_found, already_exists, permission_denied, invalid_argument, unsupported};
///                error{exec_errc::io_error} if the disk is full; error{exec_errc::provider_lost} if the container does
///                not exist any more or has ended; error{exec_errc::provider_failed} otherwise.
/// \par Source    Engine API, the responses of each call; messages of real daemons.
inline error api_error(unsigned status, std::string_view body, const api_call& call) {
  const std::string message = api_message(body);
  const detail::api_verdict verdict = detail::judge(status, message);
  const std::error_code cause(static_cast<int>(status), http_status_category());
  std::string text = call.failed() + ": the daemon answers " + std::to_string(status);
  if (!message.empty()) text += ", " + detail::shown_message(message);
  return error(verdict.code, text + "; " + verdict.advice, cause);
}

/// Makes the error for a failure that is reported in the middle of a response with status 200 (pull, build).
inline error stream_error(std::string_view message, const api_call& call) {
  return error(detail::judge(0, message).code,
               call.failed() + ": " + detail::shown_message(message) + "; " + detail::judge(0, message).advice);
}

/// Makes the error for a failed connection to a daemon.
/// \param cause    the error of the operating system, which determines the advice.
/// \param address  the daemon's address.
/// \param tried    the sources of the daemon's address that were checked, from `daemon_search::tried()`.
inline error connect_error(std::error_code cause, std::string_view address,
                           const std::vector<std::string>& tried = {}) {
  std::string text = "docker: cannot connect to " + std::string(address) + ": ";
  exec_errc code = exec_errc::provider_failed;
  if (cause == std::errc::no_such_file_or_directory) {
    text += "the socket does not exist; start the daemon, or set DOCKER_HOST to its address";
  } else if (cause == std::errc::permission_denied || cause == std::errc::operation_not_permitted) {
    code = exec_errc::permission_denied;
    text += "permission denied; join the group that owns the socket (usermod -aG docker, then log in again)";
  } else if (cause == std::errc::connection_refused) {
    text += "no process listens there; start the daemon, or set DOCKER_HOST to its address";
  } else {
    text += one_line(cause.message(), 200);
  }
  if (!tried.empty()) {
    text += " (searched: ";
    for (std::size_t i = 0; i < tried.size(); ++i) text += (i > 0 ? "; " : "") + one_line(tried[i], 200);
    text += ")";
  }
  return error(code, text, cause);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
