// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/worded_category.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/net/net_error.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

class status_words : public cofferdam::detail::http_status_words {
 public:
  static constexpr const char* name = "kubernetes http status";
};

/// Returns the error category of HTTP statuses. If the API server refuses a call, the `cause()` of the error has this
/// category and the HTTP status as its value, such as 403.
inline const std::error_category& http_status_category() noexcept {
  return cofferdam::detail::category_of<status_words>();
}

/// The object `Status`, with which the API server answers a call that it refuses.
/// \par Source  Kubernetes API, meta/v1.Status.
class api_status {
 public:
  /// Reads an answer. An answer that is not a Status is taken as a message.
  /// \param code  the HTTP status; 0 if there is none, as in an event of a watch.
  /// \param body  any bytes.
  static api_status read(unsigned code, std::string_view body) {
    std::error_code failure;
    const boost::json::value value = cofferdam::detail::parse_untrusted_json(body, failure);
    const boost::json::object* const object = failure ? nullptr : value.if_object();
    if (object != nullptr) return read(code, *object);
    api_status status;
    status.code_ = code;
    status.message_ = std::string(body.substr(0, 4096));
    return status;
  }

  static api_status read(unsigned code, const boost::json::object& object) {
    namespace json = cofferdam::detail;
    api_status status;
    status.code_ = code;
    if (const std::optional<std::int64_t> number = json::number_at(object, "code");
        code == 0 && number && *number >= 100 && *number <= 599)
      status.code_ = static_cast<unsigned>(*number);
    status.succeeded_ = json::text_at(object, "status") == "Success";
    status.reason_ = std::string(json::text_at(object, "reason"));
    status.message_ = std::string(json::text_at(object, "message"));
    const boost::json::object* const details = json::object_at(object, "details");
    if (const std::optional<std::int64_t> wait = json::number_at(details, "retryAfterSeconds"); wait && *wait > 0)
      status.retry_after_ = std::chrono::seconds(std::min<std::int64_t>(*wait, longest_wait.count()));
    return status;
  }

  /// The longest time that `retry_after()` returns.
  static constexpr std::chrono::seconds longest_wait{600};

  unsigned code() const noexcept { return code_; }
  bool succeeded() const noexcept { return succeeded_; }
  const std::string& reason() const noexcept { return reason_; }
  /// Returns the server's message: untrusted, and of any length.
  const std::string& message() const noexcept { return message_; }
  /// Returns the time after which the call may be repeated, if the server sends one.
  std::optional<std::chrono::seconds> retry_after() const noexcept { return retry_after_; }

 private:
  unsigned code_ = 0;
  bool succeeded_ = false;
  std::string reason_;
  std::string message_;
  std::optional<std::chrono::seconds> retry_after_;
};

/// Returns the time of the header Retry-After, which the API server sends in seconds; no value for any other form.
/// \param value  the value of the header.
inline std::optional<std::chrono::seconds> retry_after(std::string_view value) {
  std::int64_t seconds = 0;
  if (value.empty()) return std::nullopt;
  for (const char c : value) {
    if (c < '0' || c > '9') return std::nullopt;
    seconds = std::min<std::int64_t>(seconds * 10 + (c - '0'), api_status::longest_wait.count());
  }
  return std::chrono::seconds(seconds);
}

/// Returns true if a call that failed with this status may be sent again later, because the server has not acted on it.
inline bool may_repeat(const api_status& status) { return status.code() == 429 || status.retry_after().has_value(); }

// The error code and the advice for a status.
struct api_verdict {
  exec_errc code;
  const char* advice;
};

inline api_verdict judge(const api_status& status) {
  const std::string_view text = status.message();
  const auto holds = [text](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (holds("exceeded quota"))
    return {exec_errc::provider_failed,
            "the namespace's quota is used up: end other pods, lower memory() and cpus(), or raise the ResourceQuota"};
  if (holds("violates PodSecurity"))
    return {exec_errc::permission_denied,
            "the namespace's Pod Security level forbids the pod: see the message, and remove what merge_patch() adds"};
  if (holds("admission webhook") && holds("denied the request"))
    return {exec_errc::permission_denied, "a policy of the cluster forbids the pod: its text says why"};
  if (holds("failed calling webhook"))
    return {exec_errc::unavailable, "an admission webhook of the cluster does not answer: try again, or repair it"};
  if (holds("is forbidden: maximum") || holds("is forbidden: minimum"))
    return {exec_errc::invalid_argument,
            "a LimitRange of the namespace forbids the amounts: change memory(), cpus() or ephemeral_storage()"};
  if (holds("no PriorityClass with name") && status.code() == 403)
    return {exec_errc::unsupported, "the cluster has no such PriorityClass: run kubectl get priorityclass"};
  if (holds("RuntimeClass") && status.code() == 403)
    return {exec_errc::unsupported, "the cluster has no such RuntimeClass: run kubectl get runtimeclass"};
  if (holds("namespaces \"") && status.code() == 404)
    return {exec_errc::not_found, "the namespace does not exist: create it, or choose another with in_namespace()"};
  if (holds("because it is being terminated"))
    return {exec_errc::provider_failed, "the namespace is being deleted: choose another with in_namespace()"};
  switch (status.code()) {
    case 400: return {exec_errc::invalid_argument, "the API server rejects the request as invalid"};
    case 401: return {exec_errc::permission_denied, "the login is invalid or expired: check with kubectl auth whoami"};
    case 403:
      return {exec_errc::permission_denied, "the user lacks a right: the message names it; see kubectl auth can-i"};
    case 404: return {exec_errc::not_found, "the API server has no such object"};
    case 409: return {exec_errc::already_exists, "the request conflicts with an existing object"};
    case 410: return {exec_errc::unavailable, "the version of the object is too old: read the object again"};
    case 413: return {exec_errc::too_large, "the request is too large for the API server"};
    case 422: return {exec_errc::invalid_argument, "the API server rejects a field: the message names it"};
    case 429: return {exec_errc::unavailable, "the API server is busy: try again later"};
    case 503:
    case 504: return {exec_errc::unavailable, "the API server is not ready: try again"};
    default: return {exec_errc::provider_failed, "see the API server's log for details"};
  }
}

/// Returns the text of an error of the network, for the user of a kubeconfig. The advice for a certificate names the
/// entry of the kubeconfig, in place of a function of this library.
inline std::string connection_text(const error& reason) {
  std::string text = reason.what();
  const char* advice = nullptr;
  if (reason.cause() == net_errc::certificate_wrong_host)
    advice = "connect by a name in the certificate, or set tls-server-name of the cluster in the kubeconfig to one";
  if (reason.cause() == net_errc::certificate_untrusted || reason.cause() == net_errc::certificate_rejected)
    advice = "set certificate-authority of the cluster in the kubeconfig to the authority that signed the certificate";
  if (reason.cause() == net_errc::client_certificate_needed)
    advice = "check client-certificate and client-key of the user in the kubeconfig";
  if (advice == nullptr) return text;
  return text.substr(0, text.rfind("; ")) + "; " + advice;
}

/// Returns the exception for a call that the API server has refused. Its message contains the call, the HTTP status,
/// the server's message (quoted and escaped) and advice.
/// \param doing  the purpose of the call, such as `create the pod "cofferdam-1" in the namespace "default"`.
inline error api_error(const api_status& status, const std::string& doing) {
  const api_verdict verdict = judge(status);
  std::string text = "kubernetes: cannot " + doing + ": the API server answers " + std::to_string(status.code());
  if (!status.message().empty()) text += ", \"" + one_line(status.message(), 400) + "\"";
  return error(verdict.code, text + "; " + verdict.advice,
               std::error_code(static_cast<int>(status.code()), http_status_category()));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
