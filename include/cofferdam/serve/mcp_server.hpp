// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/net/byte_stream.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/definitions.hpp>
#include <cofferdam/serve/mcp/server_options.hpp>
#include <cofferdam/tools/definition.hpp>
#include <cofferdam/tools/function.hpp>
#include <cofferdam/tools/tool.hpp>

#include <asio/any_io_executor.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

namespace detail {
class http_endpoint;
class server_core;
}  // namespace detail

/// Serves tools, resources and prompts to MCP clients, in all versions from 2024-11-05 to 2026-07-28.
///
///     mcp::server server(executor, local());
///     server.python(python());
///     co_await server.serve_stdio();
///
/// Do not use a `timeout` layer in the provider: the Python interpreter is one long command, which the layer would end,
/// with all its contexts. Limit the time of calls by `server_options::command_timeout`, `python_timeout` and
/// `max_timeout`.
///
/// Each client has its own environment, opened when a tool first needs it, and closed when the client disconnects;
/// other clients cannot see it. (Over HTTP a client is a session, or, in the modern era, a token and a place name: see
/// `serve`.) Requests run in parallel and are answered in the order in which they end. If a client cancels a request or
/// disconnects, the work of the request is ended.
///
/// With a provider the tools are `code_exec`, `start_command`, `read_output`, `signal_command`, `list_commands`,
/// `read_file`, `write_file`, `list_files`, `view_image`, `download_file`, with `server_options::input_folder` also
/// `upload_file`, and the files of the workspace are resources (`sandbox://workspace/PATH`); with a runner, or
/// `python`, there are `run_python`, `create_python_context` and `close_python_context`. Add functions, other tools and
/// your own handlers by `add`, `resource` and `prompt`, before or while it serves.
/// \par Lifetime  outlives what serves. \par Threads  one executor (a strand on pools).
/// \par Source    the Model Context Protocol, 2024-11-05 to 2026-07-28. \par Example  examples/cofferdam_mcp.cpp
class server {
 public:
  /// Makes a server for your own tools.
  explicit server(asio::any_io_executor executor, server_options options = server_options());
  /// Makes a server of command and file tools over a provider, including its layers.
  template <code_exec_provider Provider>
  server(asio::any_io_executor executor, Provider provider, server_options options = server_options())
      : server(std::move(executor), std::move(options)) {
    environment(std::move(provider));
    add_environment_tools();
  }
  /// Makes a server of `run_python` only.
  template <code_runner_provider Provider>
  server(asio::any_io_executor executor, Provider provider, server_options options = server_options())
      : server(std::move(executor), std::move(options)) {
    open_runners_by([provider = std::move(provider)] { return open_runner<Provider>(provider); });
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Gives each client an environment, for your own tools. Call it before the server runs.
  template <code_exec_provider Provider>
  server& environment(Provider provider) {
    open_environments_by([provider = std::move(provider)] { return open_environment<Provider>(provider); });
    return *this;
  }
  /// Adds `run_python`, in the environment of the commands, which must support `start`. Call it before the server runs.
  /// \throws error{exec_errc::invalid_argument} if clients have no environment.
  server& python(cofferdam::python how);
  /// Adds `run_python` by any runner, with its guards: `server.runner([](any_environment& there) { return
  /// any_runner_provider(environment_ref(there) | python() | check_syntax()); })`
  server& runner(std::function<any_runner_provider(any_environment& inside)> make);

  /// Adds a function of your program, which all clients share. If the server is running, the clients are notified.
  /// \throws error{exec_errc::invalid_argument} if there is a tool of that name.
  server& add(tools::function tool);
  /// Adds a tool of another type, which all clients share.
  template <tools::tool T>
    requires(!std::same_as<T, tools::function>)
  server& add(T tool) {
    if constexpr (std::same_as<T, tools::any_tool>) {
      return add_shared(std::move(tool));
    } else {
      return add_shared(tools::any_tool(std::move(tool)));
    }
  }
  /// Adds a tool that works in each client's own environment, which its first use opens:
  /// `server.add([](any_environment& there) { return tools::code_exec(there); })`
  /// \param make  called once for each client, and once for the description.
  /// \param what  the description for clients; its input schema is the tool's own. Default: the tool's own description.
  template <tools::tool_maker Make>
  server& add(Make&& make, std::optional<tools::definition> what = std::nullopt) {
    cofferdam::detail::require_safe_callable<Make>();
    if constexpr (std::same_as<std::decay_t<Make>, std::function<tools::any_tool(any_environment&)>>)
      require_handler(make != nullptr, "a tool");
    return add_made(
        [make = std::decay_t<Make>(std::forward<Make>(make))](any_environment& there) mutable {
          if constexpr (std::same_as<std::invoke_result_t<std::decay_t<Make>&, any_environment&>, tools::any_tool>) {
            return make(there);
          } else {
            return tools::any_tool(make(there));
          }
        },
        std::move(what));
  }
  /// Adds a tool whose handler uses what only MCP has: progress, the client's log, requests to the client, other kinds
  /// of content.
  /// \throws error{exec_errc::invalid_argument} if there is a tool of that name, or if the handler is empty.
  server& add(tools::definition what, tool_handler serve);
  /// Removes a tool. Returns false if there is none of that name.
  bool remove_tool(const std::string& name);
  /// Adds a resource, or all resources of a template.
  /// \throws error{exec_errc::invalid_argument} without a handler.
  server& resource(resource_definition what, resource_handler serve);
  /// \throws error{exec_errc::invalid_argument} without a handler.
  server& prompt(prompt_definition what, prompt_handler serve);
  /// Sets the handler that completes the arguments of prompts and templates.
  server& completions(completion_handler serve);
  /// Notifies the subscribed clients: a list has changed, or a resource has changed.
  void tools_changed();
  void prompts_changed();
  void resources_changed();
  void resource_updated(const std::string& uri);

  /// Serves one client over the program's standard input and output until the input ends; then ends all work of the
  /// client. Meanwhile descriptor 1 of the program is a copy of 2, and 0 is /dev/null, so that output of the program or
  /// its libraries cannot mix with the messages. Both are restored at the end.
  /// \throws error{exec_errc::io_error} if there is no standard input or output; the exceptions of closing the
  ///     environment.
  /// \par Cancellation  terminal: as if the client had disconnected; then error{exec_errc::cancelled}.
  awaitable<void> serve_stdio();

  /// Serves one client over any stream, with one message per line.
  /// \par Cancellation  as `serve_stdio`.
  awaitable<void> serve(byte_stream client);

  /// Serves streamable HTTP to the peers of this listener until `stop` was called; then ends everything. May be called
  /// once.
  ///
  /// Clients of the legacy era have a session each, with an environment of its own, from `initialize` to `DELETE`, or
  /// to `server_options::sessions`' idle time. Those of the modern era (2026-07-28) have no sessions: all clients of a
  /// token share one environment, unless they send `Cofferdam-Place: NAME` (1 to 64 letters, digits, dots, hyphens and
  /// underscores); each name of a token has an environment of its own, until it was unused for the idle time. Names
  /// separate clients that trust each other: every client with the token can use all its names. Clients that must be
  /// isolated from each other need different tokens. A legacy client may reconnect after a lost connection to get its
  /// answer; for a modern one a lost connection cancels the request.
  /// \throws error{exec_errc::invalid_argument} without a token, unless `server_options::without_token` was called and
  ///     the listener is loopback, before any request is served, and the second time; the exceptions of closing
  ///     environments, after everything else.
  /// \par Cancellation  terminal: requests are cancelled, then all is closed, which is not; throws
  ///                    error{exec_errc::cancelled}.
  awaitable<void> serve(listener where);
  /// Ends `serve` of a listener.
  awaitable<void> stop();
  /// Returns the number of HTTP sessions.
  std::size_t sessions() const noexcept;

 private:
  void add_environment_tools();
  void open_environments_by(std::function<awaitable<std::shared_ptr<any_environment>>()> open);
  void open_runners_by(std::function<awaitable<any_runner>()> open);

  server& add_shared(tools::any_tool tool);
  server& add_made(std::function<tools::any_tool(any_environment&)> make, std::optional<tools::definition> what);

  void require_new(const std::string& name) const;

  static void require_handler(bool has_one, const std::string& name);

  template <code_exec_provider Provider>
  static awaitable<std::shared_ptr<any_environment>> open_environment(Provider provider) {
    environment_of<Provider> opened = co_await provider.open();
    co_return std::make_shared<any_environment>(erased(std::move(opened)));
  }
  static any_environment erased(any_environment opened) { return opened; }
  template <class E>
  static any_environment erased(E opened) {
    return any_environment(std::move(opened));
  }
  template <code_runner_provider Provider>
  static awaitable<any_runner> open_runner(Provider provider) {
    runner_of<Provider> opened = co_await provider.open();
    co_return erased_runner(std::move(opened));
  }
  static any_runner erased_runner(any_runner opened) { return opened; }
  template <class R>
  static any_runner erased_runner(R opened) {
    return any_runner(std::move(opened));
  }

  std::shared_ptr<detail::server_core> core_;
  std::shared_ptr<detail::http_endpoint> endpoint_;
  std::shared_ptr<cofferdam::detail::http_server> http_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/serve/impl/mcp_server.ipp>
#endif
