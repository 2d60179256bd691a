// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/worded_category.hpp>

#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace cofferdam::inline COFFERDAM_ABI {

/// The reason why a model gave no usable answer: the `cause()` of the `error` that a `chat_model` throws.
enum class chat_errc {
  context_overflow = 1,  ///< the conversation is longer than the model's context: send less (exec_errc::too_large)
  output_limit,          ///< the answer was cut off by the limit of output tokens (exec_errc::too_large)
  request_too_large,  ///< one request with more tokens or bytes than the service takes at a time (exec_errc::too_large)
  not_authenticated,  ///< no key, or a wrong one (exec_errc::permission_denied)
  not_permitted,      ///< the key may not do that (exec_errc::permission_denied)
  no_quota,           ///< no credit or quota left: waiting does not help (exec_errc::permission_denied)
  no_such_model,      ///< no such model, or a wrong base URL (exec_errc::not_found)
  rejected,           ///< the service does not understand the request (exec_errc::invalid_argument)
  rate_limited,       ///< too many requests, also after the retries (exec_errc::provider_failed)
  service_failed,     ///< a failure of the service, also after the retries (exec_errc::provider_failed)
  filtered,           ///< a filter of the service withheld the answer (exec_errc::provider_failed)
  bad_answer,         ///< the response is not an answer (exec_errc::io_error)
  cut_off,            ///< the connection was lost within an answer (exec_errc::io_error)
  timed_out,          ///< no whole answer within the time limit (exec_errc::io_error)
};

namespace detail {

class chat_words {
 public:
  static constexpr const char* name = "cofferdam.chat";
  static constexpr std::string_view message(int value) {
    switch (static_cast<chat_errc>(value)) {
      case chat_errc::context_overflow: return "the conversation is longer than the model's context";
      case chat_errc::output_limit: return "the answer was cut off by the output limit";
      case chat_errc::request_too_large: return "the request is larger than the service takes";
      case chat_errc::not_authenticated: return "not authenticated";
      case chat_errc::not_permitted: return "not permitted";
      case chat_errc::no_quota: return "no quota left";
      case chat_errc::no_such_model: return "no such model or path";
      case chat_errc::rejected: return "the request was rejected";
      case chat_errc::rate_limited: return "too many requests";
      case chat_errc::service_failed: return "the service failed";
      case chat_errc::filtered: return "the answer was held back by a filter";
      case chat_errc::bad_answer: return "the answer cannot be read";
      case chat_errc::cut_off: return "the answer broke off";
      case chat_errc::timed_out: return "no answer in time";
    }
    return "unknown chat error";
  }
};

}  // namespace detail

/// The category of `chat_errc`.
inline const std::error_category& chat_error_category() noexcept { return detail::category_of<detail::chat_words>(); }

/// Makes `chat_errc` usable wherever an error code is; found by argument-dependent lookup.
inline std::error_code make_error_code(chat_errc value) noexcept {
  return {static_cast<int>(value), chat_error_category()};
}

}  // namespace cofferdam::inline COFFERDAM_ABI

template <>
struct std::is_error_code_enum<cofferdam::chat_errc> : std::true_type {};

namespace cofferdam::inline COFFERDAM_ABI {

/// Makes an error with this cause and the `errc` that belongs to it above.
inline error chat_failure(chat_errc why, std::string sentence) {
  exec_errc code = exec_errc::io_error;
  switch (why) {
    case chat_errc::context_overflow:
    case chat_errc::output_limit:
    case chat_errc::request_too_large: code = exec_errc::too_large; break;
    case chat_errc::not_authenticated:
    case chat_errc::not_permitted:
    case chat_errc::no_quota: code = exec_errc::permission_denied; break;
    case chat_errc::no_such_model: code = exec_errc::not_found; break;
    case chat_errc::rejected: code = exec_errc::invalid_argument; break;
    case chat_errc::rate_limited:
    case chat_errc::service_failed:
    case chat_errc::filtered: code = exec_errc::provider_failed; break;
    case chat_errc::bad_answer:
    case chat_errc::cut_off:
    case chat_errc::timed_out: break;
  }
  return error(code, std::move(sentence), why);
}

}  // namespace cofferdam::inline COFFERDAM_ABI
