// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/serve/mcp/client_options.hpp>
#include <cofferdam/serve/mcp/detail/client_core.hpp>
#include <cofferdam/serve/mcp/detail/http_link.hpp>
#include <cofferdam/serve/mcp/remote.hpp>
#include <cofferdam/serve/mcp_client.hpp>

#include <asio/this_coro.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

namespace detail {

/// Connects, and ends everything if that fails. The failure is that the server cannot be used.
/// \param where  a running command, or an address.
template <class Where>
awaitable<void> begin_or_close(std::shared_ptr<client_core> core, Where where) {
  const auto begins = [&core, &where]() -> awaitable<void> {
    std::string broken;
    try {
      co_await client_core::begin(core, std::move(where));
    } catch (const error& failure) {
      if (failure.code() != exec_errc::provider_lost && failure.code() != exec_errc::unavailable) throw;
      broken = failure.what();
    }
    if (!broken.empty()) throw error(exec_errc::provider_failed, broken);
  };
  const auto closes = [&core] { return client_core::close(core); };
  co_await cofferdam::detail::with_cleanup_after_failure(begins, closes);
}

inline awaitable<void> close_if_open(std::shared_ptr<client_core> core) {
  const std::function<awaitable<void>()> closes = [&core] { return client_core::close(core); };
  if (core) co_await cofferdam::detail::shielded(closes);
}

template <class Remote>
std::vector<Remote> described(boost::json::array listed) {
  std::vector<Remote> all;
  all.reserve(listed.size());
  for (boost::json::value& each : listed) all.emplace_back(std::move(each.get_object()));
  return all;
}

template <class Remote>
awaitable<std::vector<Remote>> list_of(std::shared_ptr<client_core> core, std::string capability, std::string method,
                                       std::string key) {
  if (!core->offers(capability)) co_return std::vector<Remote>();
  boost::json::array listed = co_await client_core::list(core, std::move(method), std::move(key));
  co_return described<Remote>(std::move(listed));
}

inline awaitable<remote_answer> call_tool(std::shared_ptr<client_core> core, boost::json::object params,
                                          progress_listener on_progress) {
  boost::json::object result =
      co_await client_core::request(core, "tools/call", std::move(params), std::move(on_progress));
  co_return remote_answer(std::move(result));
}

inline awaitable<boost::json::array> read_contents(std::shared_ptr<client_core> core, boost::json::object params) {
  const boost::json::object result = co_await client_core::request(core, "resources/read", std::move(params));
  const boost::json::array* const contents = cofferdam::detail::array_at(result, "contents");
  if (contents == nullptr)
    throw error(exec_errc::provider_lost, "mcp: the server violates the protocol: a resource has no contents");
  co_return *contents;
}

}  // namespace detail

COFFERDAM_DECL client::client() = default;
COFFERDAM_DECL client::client(client&&) noexcept = default;
COFFERDAM_DECL client& client::operator=(client&& other) noexcept {
  if (this == &other) return *this;
  if (core_) core_->abandon();
  core_ = std::move(other.core_);
  return *this;
}
COFFERDAM_DECL client::~client() {
  if (core_) core_->abandon();
}

COFFERDAM_DECL client::client(std::shared_ptr<detail::client_core> core) noexcept : core_(std::move(core)) {}

COFFERDAM_DECL detail::client_core& client::core() const {
  if (!core_)
    throw error(exec_errc::environment_closed, "mcp::client: empty (default-constructed or moved from); connect first");
  return *core_;
}

COFFERDAM_DECL command client::prepared(command server) {
  server.open_input().timeout(no_timeout).keep_output(4096);
  return server;
}

COFFERDAM_DECL std::vector<std::string> client::values_of(const command& server) {
  std::vector<std::string> values;
  for (const command::variable_setting& each : server.variables()) values.push_back(each.value());
  return values;
}

COFFERDAM_DECL awaitable<client> client::connect_process(process running, std::vector<std::string> secrets,
                                                         client_options options) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto core = std::make_shared<detail::client_core>(executor, std::move(options));
  detail::started_server server;
  server.running = std::move(running);
  server.secrets = std::move(secrets);
  co_await detail::begin_or_close(core, std::move(server));
  co_return client(core);
}

COFFERDAM_DECL awaitable<client> client::connect(std::string url, client_options options) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  detail::server_address where(url);
  const auto core = std::make_shared<detail::client_core>(executor, std::move(options));
  co_await detail::begin_or_close(core, std::move(where));
  co_return client(core);
}

COFFERDAM_DECL const std::string& client::server_name() const { return core().server_name(); }
COFFERDAM_DECL const std::string& client::server_version() const { return core().server_version(); }
COFFERDAM_DECL const std::string& client::instructions() const { return core().instructions(); }
COFFERDAM_DECL const std::string& client::protocol_version() const { return core().protocol_version(); }
COFFERDAM_DECL const boost::json::object& client::capabilities() const { return core().capabilities(); }

COFFERDAM_DECL awaitable<std::vector<remote_tool>> client::tools() {
  return detail::client_core::tools(core().shared_from_this());
}

COFFERDAM_DECL awaitable<remote_answer> client::call(std::string name, boost::json::object arguments,
                                                     progress_listener on_progress) {
  boost::json::object params;
  params["name"] = cofferdam::detail::json_text(name);
  params["arguments"] = std::move(arguments);
  return detail::call_tool(core().shared_from_this(), std::move(params), std::move(on_progress));
}

COFFERDAM_DECL awaitable<std::vector<remote_resource>> client::resources() {
  return detail::list_of<remote_resource>(core().shared_from_this(), "resources", "resources/list", "resources");
}
COFFERDAM_DECL awaitable<std::vector<remote_resource>> client::resource_templates() {
  return detail::list_of<remote_resource>(core().shared_from_this(), "resources", "resources/templates/list",
                                          "resourceTemplates");
}
COFFERDAM_DECL awaitable<boost::json::array> client::read_resource(std::string uri) {
  boost::json::object params;
  params["uri"] = cofferdam::detail::json_text(uri);
  return detail::read_contents(core().shared_from_this(), std::move(params));
}

COFFERDAM_DECL awaitable<std::vector<remote_prompt>> client::prompts() {
  return detail::list_of<remote_prompt>(core().shared_from_this(), "prompts", "prompts/list", "prompts");
}
COFFERDAM_DECL awaitable<boost::json::object> client::prompt(std::string name, boost::json::object arguments) {
  boost::json::object params;
  params["name"] = cofferdam::detail::json_text(name);
  if (!arguments.empty()) params["arguments"] = std::move(arguments);
  return request("prompts/get", std::move(params));
}

COFFERDAM_DECL awaitable<boost::json::object> client::request(std::string method, boost::json::object params) {
  for (const char c : method)
    if (c < '!' || c > '~' || c == '"' || c == '\\')
      throw error(exec_errc::invalid_argument, "mcp: a method has only visible ASCII characters, without quotes");
  return detail::client_core::request(core().shared_from_this(), std::move(method), std::move(params));
}

COFFERDAM_DECL awaitable<void> client::close() { return detail::close_if_open(core_); }

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
