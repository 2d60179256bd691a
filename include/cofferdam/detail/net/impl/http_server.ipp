// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/net/detail/http_server_core.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/listener.hpp>

#include <asio/any_io_executor.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL http_server& http_server::listen(listener where) {
  core_->listen(std::move(where));
  return *this;
}

COFFERDAM_DECL http_server::http_server(asio::any_io_executor executor, handler each, http_server_settings settings)
    : core_(std::make_shared<detail::http_server_core>(std::move(executor), std::move(each), std::move(settings))) {}

COFFERDAM_DECL http_server::~http_server() { core_->abort(); }

COFFERDAM_DECL awaitable<void> http_server::run() { return detail::http_server_core::run(core_); }

COFFERDAM_DECL awaitable<void> http_server::stop() { return detail::http_server_core::stop(core_); }

COFFERDAM_DECL std::size_t http_server::connections() const noexcept { return core_->connections(); }

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
