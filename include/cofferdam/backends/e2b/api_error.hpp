// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/json_members.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/net/connect_error.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::e2b {

namespace detail {

class status_names final : public std::error_category {
 public:
  const char* name() const noexcept override { return "cofferdam.e2b"; }
  std::string message(int value) const override { return "HTTP status " + std::to_string(value); }
};

}  // namespace detail

/// The category of the HTTP statuses that are the `cause()` of the errors of this backend.
inline const std::error_category& status_category() noexcept {
  static const detail::status_names category;
  return category;
}

/// Whether a call that failed may have been done all the same: there was no answer, or one of somebody on the way.
inline bool leaves_in_doubt(const error& failure) noexcept {
  if (failure.cause().category() != status_category()) return true;
  const int status = failure.cause().value();
  return status >= 500 && status != 501 && status != 503;
}

/// What the body of an answer that failed says: `message` of a JSON object, else its first 400 bytes.
inline std::string said_message(std::string_view body) {
  std::error_code broken;
  const boost::json::value value = boost::json::parse(boost::json::string_view(body.data(), body.size()), broken);
  const boost::json::object* const object = broken ? nullptr : value.if_object();
  if (object == nullptr) return std::string(body.substr(0, 400));
  return std::string(cofferdam::detail::text_at(*object, "message"));
}

/// The error for a call that the service refused.
/// \param doing   `create a sandbox`.
/// \param status  the HTTP status.
/// \param said    the service's words, free of secrets; shown in part, escaped.
/// \par Source    E2B's API, openapi.yml.
inline error refused_error(std::string_view doing, int status, std::string_view said) {
  errc code = errc::provider_failed;
  const char* advice = "try again later; the service's status page may say more";
  if (said.find("maximum number of concurrent") != std::string_view::npos) {
    advice = "close sandboxes that are not needed, or ask for a higher limit";
  } else {
    switch (status) {
      case 400:
        code = errc::invalid_argument;
        advice = "the service does not take one of the options";
        break;
      case 401:
        code = errc::permission_denied;
        advice = "look at the API key: E2B_API_KEY, or api_key()";
        break;
      case 403:
        code = errc::permission_denied;
        advice = "the account may not do that";
        break;
      case 404:
        code = errc::not_found;
        advice = "look at the name of the template, or the id of the sandbox";
        break;
      case 409: advice = "the sandbox is about to become something else; try again"; break;
      case 405:
      case 410:
      case 501:
        code = errc::unsupported;
        advice = "the service does not offer that";
        break;
      case 429: advice = "fewer calls at a time: create_gate() spreads them"; break;
      case 507:
        code = errc::io_error;
        advice = "the sandbox's disk is full";
        break;
      default: break;
    }
    if (status >= 300 && status < 400)
      advice = "it leads elsewhere, and is not followed there with a key: look at api_url and domain";
  }
  std::string text = "e2b: cannot " + std::string(doing) + ": the service answers " + std::to_string(status);
  if (!said.empty()) text += ", \"" + one_line(said, 400) + "\"";
  return error(code, text + "; " + advice, std::error_code(status, status_category()));
}

/// The error for a call that the sandbox's daemon refused.
/// \param doing   `start a command`.
/// \param said    as `refused_error` has it.
inline error failed_call_error(std::string_view doing, connect_code which, std::string_view said) {
  errc code = errc::io_error;
  switch (which) {
    case connect_code::invalid_argument:
    case connect_code::out_of_range: code = errc::invalid_argument; break;
    case connect_code::not_found: code = errc::not_found; break;
    case connect_code::already_exists: code = errc::already_exists; break;
    case connect_code::permission_denied:
    case connect_code::unauthenticated: code = errc::permission_denied; break;
    case connect_code::unimplemented: code = errc::unsupported; break;
    case connect_code::resource_exhausted: code = errc::provider_failed; break;
    default: break;
  }
  std::string text = "e2b: cannot " + std::string(doing) + ": the sandbox answers " + std::string(to_string(which));
  if (!said.empty()) text += ", \"" + one_line(said, 400) + "\"";
  return error(code, text, std::error_code(static_cast<int>(connect_status(which)), status_category()));
}

}  // namespace cofferdam::inline v0::e2b
