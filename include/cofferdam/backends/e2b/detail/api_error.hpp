// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/sandbox_error.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/worded_category.hpp>
#include <cofferdam/detail/net/connect_error.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

class status_words : public cofferdam::detail::http_status_words {
 public:
  static constexpr const char* name = "cofferdam.e2b";
};

/// Returns the error category of HTTP statuses, which are the `cause()` of errors of the E2B backend.
inline const std::error_category& status_category() noexcept {
  return cofferdam::detail::category_of<detail::status_words>();
}

/// Returns true if the cause of an error lies in the connection to the sandbox, so that another try may succeed.
inline bool is_passing(std::error_code cause) noexcept {
  if (cause.category() != status_category()) return static_cast<bool>(cause);
  constexpr int passing[] = {409, 429, 502, 503, 504};
  return std::find(std::begin(passing), std::end(passing), cause.value()) != std::end(passing);
}

/// Returns true if a failed call may have been executed nevertheless: there was no response, or the HTTP status does
/// not exclude it (500 and above, except 501 and 503), because a proxy may have sent the response.
inline bool leaves_in_doubt(const error& failure) noexcept {
  if (failure.cause() == make_error_code(sandbox_errc::not_reached)) return false;
  if (failure.cause().category() != status_category()) return true;
  const int status = failure.cause().value();
  return status >= 500 && status != 501 && status != 503;
}

/// Returns the error message in the body of a response: `error_code` and `message` if the body is a JSON object,
/// otherwise the first 400 bytes of the body.
inline std::string said_message(std::string_view body) {
  std::error_code broken;
  const boost::json::value value = cofferdam::detail::parse_untrusted_json(body, broken);
  const boost::json::object* const object = broken ? nullptr : value.if_object();
  if (object == nullptr) return std::string(body.substr(0, 400));
  const std::string_view code = cofferdam::detail::text_at(*object, "error_code");
  const std::string_view message = cofferdam::detail::text_at(*object, "message");
  std::string text(code.substr(0, 100));
  if (!text.empty() && !message.empty()) text += ": ";
  text += message;
  return text;
}

/// Makes the error for a call that the service has refused.
/// \param doing    the purpose of the call, such as `create a sandbox`.
/// \param status   the HTTP status.
/// \param message  the message of the service, without secrets. The error quotes at most 400 bytes of the message,
///                 escaped.
/// \par Source    E2B's API, openapi.yml.
inline error refused_error(std::string_view doing, int status, std::string_view message) {
  exec_errc code = exec_errc::provider_failed;
  const char* advice = "try again later; see the service's status page";
  if (message.find("maximum number of concurrent") != std::string_view::npos) {
    advice = "close unneeded sandboxes, or request a higher limit";
  } else {
    switch (status) {
      case 400:
        code = exec_errc::invalid_argument;
        advice = "the service rejects one of the options";
        break;
      case 401:
        code = exec_errc::permission_denied;
        advice = "check the API key, which is usually in the environment variable E2B_API_KEY";
        break;
      case 403:
        code = exec_errc::permission_denied;
        advice = "the account has no permission for this";
        break;
      case 404:
        code = exec_errc::not_found;
        advice = "check the name of the template, or the id of the sandbox";
        break;
      case 409: advice = "the sandbox is changing its state; try again"; break;
      case 405:
      case 410:
      case 501:
        code = exec_errc::unsupported;
        advice = "the service does not support this";
        break;
      case 429: advice = "make fewer calls at a time; a rate_limiter in rate_limit() spaces them"; break;
      case 507:
        code = exec_errc::io_error;
        advice = "the sandbox's disk is full";
        break;
      default: break;
    }
    if (status >= 300 && status < 400)
      advice =
          "the service redirects to another address, and redirects are not followed with an API key: check api_url and "
          "domain";
  }
  std::string text = "e2b: cannot " + std::string(doing) + ": the service answers " + std::to_string(status);
  if (!message.empty()) text += ", \"" + one_line(message, 400) + "\"";
  return error(code, text + "; " + advice, std::error_code(status, status_category()));
}

/// Makes the error for a call about a file of a sandbox that was refused. The parameters are those of `refused_error`.
inline error refused_file_error(std::string_view doing, int status, std::string_view message) {
  const error refused = refused_error(doing, status, message);
  if (refused.code() != exec_errc::provider_failed) return refused;
  const bool may_pass = is_passing(refused.cause());
  return error(may_pass ? exec_errc::unavailable : exec_errc::io_error, refused.what(), refused.cause());
}

/// Makes the error for a call that the code interpreter of a sandbox has refused. The parameters are those of
/// `refused_error`, whose advice is about templates and accounts.
inline error refused_code_error(std::string_view doing, int status, std::string_view message) {
  if (status != 400 && status != 404 && status != 422) return refused_error(doing, status, message);
  return error(status == 404 ? exec_errc::not_found : exec_errc::invalid_argument,
               "e2b: cannot " + std::string(doing) + ": the code interpreter answers " + std::to_string(status) +
                   ", \"" + one_line(message, 400) + "\"",
               std::error_code(status, status_category()));
}

/// Makes the error for a call that the sandbox's daemon has refused.
/// \param doing    the purpose of the call, such as `start a command`.
/// \param which    the error code of the daemon.
/// \param message  the message of the daemon, without secrets. The error quotes at most 400 bytes of the message,
///                 escaped.
inline error failed_call_error(std::string_view doing, cofferdam::detail::connect_code which,
                               std::string_view message) {
  exec_errc code = exec_errc::io_error;
  switch (which) {
    case cofferdam::detail::connect_code::invalid_argument:
    case cofferdam::detail::connect_code::out_of_range: code = exec_errc::invalid_argument; break;
    case cofferdam::detail::connect_code::not_found: code = exec_errc::not_found; break;
    case cofferdam::detail::connect_code::already_exists: code = exec_errc::already_exists; break;
    case cofferdam::detail::connect_code::permission_denied:
    case cofferdam::detail::connect_code::unauthenticated: code = exec_errc::permission_denied; break;
    case cofferdam::detail::connect_code::unimplemented: code = exec_errc::unsupported; break;
    case cofferdam::detail::connect_code::resource_exhausted:
    case cofferdam::detail::connect_code::unavailable: code = exec_errc::unavailable; break;
    default: break;
  }
  std::string text = "e2b: cannot " + std::string(doing) + ": the sandbox answers " + std::string(to_string(which));
  if (!message.empty()) text += ", \"" + one_line(message, 400) + "\"";
  if (code == exec_errc::unavailable) text += "; the sandbox still exists: try again";
  return error(code, text,
               std::error_code(static_cast<int>(cofferdam::detail::connect_status(which)), status_category()));
}

/// Returns the error for a sandbox that still exists, as far as is known, so that another try may succeed.
inline error as_unavailable(const error& reason) {
  if (reason.code() != exec_errc::provider_failed) return reason;
  return error(exec_errc::unavailable, reason.what(), reason.cause());
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
