// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/detail/tasks.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/detail/core.hpp>
#include <cofferdam/serve/e2b_gateway/detail/dispatch.hpp>
#include <cofferdam/serve/e2b_gateway/detail/opened.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>

#include <asio/any_io_executor.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway {

COFFERDAM_DECL awaitable<void> server::serve(listener where) {
  if (core_->options().api_keys().empty() && !where.is_loopback())
    throw error(exec_errc::invalid_argument, "e2b_gateway: " + where.name() +
                                                 " is reachable from other machines, but there is no API key: set "
                                                 "e2b_gateway::options::api_key, or listen on 127.0.0.1");
  if (server_)
    throw error(exec_errc::invalid_argument, "e2b_gateway: serve() was already called; create another gateway");
  http_server_settings settings = core_->options().server();
  settings.allowed_hosts({"*"});  // the router checks host names itself
  server_ = std::make_shared<cofferdam::detail::http_server>(
      executor_, [core = core_](http_call& call) { return detail::dispatcher::handle(core, call); },
      std::move(settings));
  core_->listens_on(where.port());
  server_->listen(std::move(where));
  return serve_on(server_, core_);
}

COFFERDAM_DECL awaitable<void> server::stop() {
  if (!server_) throw error(exec_errc::invalid_argument, "e2b_gateway: not serving; call serve() first");
  return server_->stop();
}

COFFERDAM_DECL void server::add_opener(std::string name, detail::environment_opener opener) {
  core_->add_template(std::move(name), std::move(opener));
}

COFFERDAM_DECL std::size_t server::sandboxes() const noexcept { return core_->sandboxes().size(); }

COFFERDAM_DECL std::shared_ptr<detail::sandbox_registry> server::make_core(asio::any_io_executor executor,
                                                                           detail::environment_opener opener,
                                                                           e2b_gateway::options options) {
  return std::make_shared<detail::sandbox_registry>(std::move(executor), std::move(opener), std::move(options));
}

COFFERDAM_DECL awaitable<void> server::serve_on(std::shared_ptr<cofferdam::detail::http_server> server,
                                                std::shared_ptr<detail::sandbox_registry> core) {
  const auto runs = [&server] { return server->run(); };
  const auto closes = [&core] { return detail::sandbox_registry::close_all(core); };
  co_await cofferdam::detail::with_cleanup(runs, closes, cofferdam::detail::failure_to_report);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway
