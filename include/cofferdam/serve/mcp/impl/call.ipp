// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>
#include <cofferdam/serve/mcp/detail/request.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

COFFERDAM_DECL failure failure::missing_capability(std::string_view name) {
  boost::json::object required;
  required[detail::json_view(name)] = boost::json::object();
  boost::json::object data;
  data["requiredCapabilities"] = std::move(required);
  return {detail::missing_capability, "This request needs the client capability '" + std::string(name) + "'",
          std::move(data)};
}

COFFERDAM_DECL const std::string& call::version() const noexcept { return request_->version; }

COFFERDAM_DECL bool call::is_modern() const noexcept { return request_->modern; }

COFFERDAM_DECL bool call::client_can(std::string_view what) const {
  return request_->capabilities.contains(detail::json_view(what));
}

COFFERDAM_DECL const boost::json::object& call::client_capabilities() const noexcept { return request_->capabilities; }

COFFERDAM_DECL void call::progress(double now, std::optional<double> total, std::string_view words) {
  request_->progress(now, total, words);
}

COFFERDAM_DECL void call::log(log_severity how, boost::json::value data, std::string_view logger) {
  request_->log(static_cast<int>(how), logger, std::move(data));
}

COFFERDAM_DECL awaitable<boost::json::object> call::ask(std::string method, boost::json::object params) {
  const std::string capability = method.substr(0, method.find('/'));
  if (!client_can(capability)) throw failure::missing_capability(capability);
  if (is_modern())
    throw failure(
        detail::internal_error,
        "A client of version 2026-07-28 or newer cannot be sent requests; return answer::input_required instead");
  return detail::asked_table::ask(request_->asked, request_->out, request_->executor, std::move(method),
                                  std::move(params));
}

COFFERDAM_DECL void call::interrupt_connection() { request_->out->interrupt(); }

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
