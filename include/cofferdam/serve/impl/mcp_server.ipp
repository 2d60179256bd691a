// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/definitions.hpp>
#include <cofferdam/serve/mcp/detail/background_tools.hpp>
#include <cofferdam/serve/mcp/detail/checked_tool.hpp>
#include <cofferdam/serve/mcp/detail/code_exec_tool.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/http_endpoint.hpp>
#include <cofferdam/serve/mcp/detail/line_client.hpp>
#include <cofferdam/serve/mcp/detail/python_tool.hpp>
#include <cofferdam/serve/mcp/detail/shared_tools.hpp>
#include <cofferdam/serve/mcp/detail/stdio_stream.hpp>
#include <cofferdam/serve/mcp/detail/transfer_tools.hpp>
#include <cofferdam/serve/mcp/server_options.hpp>
#include <cofferdam/serve/mcp/toolbox.hpp>
#include <cofferdam/serve/mcp_server.hpp>
#include <cofferdam/tools/definition.hpp>
#include <cofferdam/tools/function.hpp>
#include <cofferdam/tools/tool.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// Opens a runner inside a client's environment. The result keeps the environment alive.
inline awaitable<std::shared_ptr<opened_runner>> open_inside(any_runner_provider recipe,
                                                             std::shared_ptr<any_environment> inside) {
  any_runner opened = co_await recipe.open();
  const auto result = std::make_shared<opened_runner>();
  result->environment = std::move(inside);
  result->runner = std::move(opened);
  co_return result;
}

/// Opens a runner that does not use the client's environment.
inline awaitable<std::shared_ptr<opened_runner>> open_alone(std::function<awaitable<any_runner>()> open) {
  any_runner opened = co_await open();
  const auto result = std::make_shared<opened_runner>();
  result->runner = std::move(opened);
  co_return result;
}

inline awaitable<void> serve_lines(std::shared_ptr<server_core> core, byte_stream client) {
  const auto served = std::make_shared<line_client>(std::move(core), std::move(client));
  co_await line_client::serve(served);
}

inline awaitable<void> serve_standard_streams(std::shared_ptr<server_core> core) {
  standard_streams moved;
  byte_stream client(std::make_unique<stdio_stream>(core->executor()));
  moved.move_away();
  co_await serve_lines(std::move(core), std::move(client));
}

inline awaitable<void> serve_http(std::shared_ptr<cofferdam::detail::http_server> server,
                                  std::shared_ptr<http_endpoint> endpoint) {
  endpoint->sessions().start_sweeping();
  const auto runs = [&server] { return server->run(); };
  const auto closes = [&endpoint] { return http_endpoint::close(endpoint); };
  co_await cofferdam::detail::with_cleanup(runs, closes, cofferdam::detail::failure_to_report);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail

namespace cofferdam::inline COFFERDAM_ABI::mcp {

COFFERDAM_DECL server::server(asio::any_io_executor executor, server_options options)
    : core_(std::make_shared<detail::server_core>(std::move(executor), std::move(options))) {}

COFFERDAM_DECL server& server::python(cofferdam::python how) {
  if (!core_->plan.open_environment)
    throw error(exec_errc::invalid_argument, "mcp: Python tools need a server with an environment");
  return runner([how = std::move(how)](any_environment& inside) {
    return any_runner_provider(environment_ref<any_environment>(inside) | how);
  });
}

COFFERDAM_DECL server& server::runner(std::function<any_runner_provider(any_environment& inside)> make) {
  if (!core_->plan.open_environment)
    throw error(exec_errc::invalid_argument, "mcp: the server has no environment for the runner");
  core_->plan.open_runner = [make = std::move(make)](std::shared_ptr<any_environment> inside) {
    return detail::open_inside(make(*inside), inside);
  };
  detail::python_tool::add_to(*core_);
  return *this;
}

COFFERDAM_DECL server& server::offer(const toolbox& box) {
  const auto offers = [box](code_request request) { return box.offer(std::move(request)); };
  core_->offers->add_toolbox(offers, box.description());
  detail::python_tool::describe_offers(*core_);
  return *this;
}

COFFERDAM_DECL void server::add_function(const tools::function& given) {
  core_->offers->add(given);
  detail::python_tool::describe_offers(*core_);
}

COFFERDAM_DECL server& server::add(tools::function tool) {
  require_new(tool.name());
  tools::definition what(tool.name(), tool.description());
  what.title(tool.title()).hints(tool.reads_only(), tool.is_destructive(), tool.is_idempotent(), tool.is_open_world());
  if (tool.output()) what.output(*tool.output());
  detail::shared_tools::add(*core_, tools::any_tool(std::move(tool)), std::move(what));
  core_->changed("tools", false);
  return *this;
}

COFFERDAM_DECL server& server::add(tools::definition what, tool_handler serve) {
  require_new(what.name());
  require_handler(serve != nullptr, what.name());
  tool_handler checked = detail::checked(what, std::move(serve));
  core_->tools.push_back(std::make_shared<const detail::registered_tool>(std::move(what), std::move(checked)));
  core_->changed("tools", false);
  return *this;
}

COFFERDAM_DECL server& server::add_shared(tools::any_tool tool) {
  require_new(std::string(tool.name()));
  tools::definition what = detail::shared_tools::definition_of(tool);
  detail::shared_tools::add(*core_, std::move(tool), std::move(what));
  core_->changed("tools", false);
  return *this;
}

COFFERDAM_DECL server& server::add_made(std::function<tools::any_tool(any_environment&)> make,
                                        std::optional<tools::definition> what) {
  any_environment none;
  require_new(what ? what->name() : std::string(make(none).name()));
  detail::shared_tools::add(*core_, std::move(make), std::move(what));
  core_->changed("tools", false);
  return *this;
}

COFFERDAM_DECL bool server::remove_tool(const std::string& name) {
  const auto count = std::erase_if(core_->tools, [&](const auto& entry) { return entry->what.name() == name; });
  if (count != 0) core_->changed("tools", false);
  return count != 0;
}

COFFERDAM_DECL server& server::resource(resource_definition what, resource_handler serve) {
  require_handler(serve != nullptr, what.uri());
  core_->resources.push_back(std::make_shared<const detail::registered_resource>(std::move(what), std::move(serve)));
  core_->changed("resources", false);
  return *this;
}

COFFERDAM_DECL server& server::prompt(prompt_definition what, prompt_handler serve) {
  require_handler(serve != nullptr, what.name());
  core_->prompts.push_back(std::make_shared<const detail::registered_prompt>(std::move(what), std::move(serve)));
  core_->changed("prompts", false);
  return *this;
}

COFFERDAM_DECL server& server::completions(completion_handler serve) {
  core_->complete = std::move(serve);
  return *this;
}

COFFERDAM_DECL void server::tools_changed() { core_->changed("tools", false); }

COFFERDAM_DECL void server::prompts_changed() { core_->changed("prompts", false); }

COFFERDAM_DECL void server::resources_changed() { core_->changed("resources", false); }

COFFERDAM_DECL void server::resource_updated(const std::string& uri) { core_->changed(uri, true); }

COFFERDAM_DECL awaitable<void> server::serve_stdio() { return detail::serve_standard_streams(core_); }

COFFERDAM_DECL awaitable<void> server::serve(byte_stream client) {
  return detail::serve_lines(core_, std::move(client));
}

COFFERDAM_DECL awaitable<void> server::serve(listener where) {
  if (core_->options().tokens().empty() && !where.is_loopback())
    throw error(exec_errc::invalid_argument, "mcp: " + where.name() +
                                                 " is reachable from other machines, but there is no token: set "
                                                 "server_options::token, or listen on 127.0.0.1");
  if (core_->options().tokens().empty() && core_->options().needs_token())
    throw error(exec_errc::invalid_argument,
                "mcp: there is no token, so every user of this machine could use the server at " + where.name() +
                    ": set server_options::token, or server_options::without_token");
  if (http_) throw error(exec_errc::invalid_argument, "mcp: HTTP serving was already started; create another server");
  http_server_settings settings = core_->options().http();
  settings.allowed_hosts({"*"}).allowed_origins({"*"});  // the endpoint checks hosts and origins itself
  settings.body(core_->options().message()).stop_timeout(std::chrono::milliseconds(200));
  endpoint_ = std::make_shared<detail::http_endpoint>(core_);
  endpoint_->check_hosts(where.is_loopback() || !core_->options().hosts().empty());
  http_ = std::make_shared<cofferdam::detail::http_server>(
      core_->executor(),
      [endpoint = endpoint_](http_call& call) { return detail::http_endpoint::handle(endpoint, call); },
      std::move(settings));
  http_->listen(std::move(where));
  return detail::serve_http(http_, endpoint_);
}

COFFERDAM_DECL awaitable<void> server::stop() {
  if (!http_) throw error(exec_errc::invalid_argument, "mcp: not serving HTTP; start serving first");
  return http_->stop();
}

COFFERDAM_DECL std::size_t server::sessions() const noexcept { return endpoint_ ? endpoint_->sessions().size() : 0; }

COFFERDAM_DECL void server::require_new(const std::string& name) const {
  if (core_->tool(name))
    throw error(exec_errc::invalid_argument, "mcp: two tools have the name '" + name + "'; rename one");
}

COFFERDAM_DECL void server::require_handler(bool has_one, const std::string& name) {
  if (!has_one) throw error(exec_errc::invalid_argument, "mcp: '" + name + "' has no handler");
}

COFFERDAM_DECL void server::add_environment_tools() {
  detail::code_exec_tool::add_to(*core_);
  detail::background_tools::add_to(*core_);
  detail::shared_tools::add_file_tools(*core_);
  detail::transfer_tools::add_to(*core_);
}

COFFERDAM_DECL void server::open_environments_by(std::function<awaitable<std::shared_ptr<any_environment>>()> open) {
  core_->plan.open_environment = std::move(open);
}

COFFERDAM_DECL void server::open_runners_by(std::function<awaitable<any_runner>()> open) {
  core_->plan.open_runner = [open = std::move(open)](std::shared_ptr<any_environment>) {
    return detail::open_alone(open);
  };
  detail::python_tool::add_to(*core_);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
