// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
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

namespace cofferdam::inline COFFERDAM_ABI::detail {
class http_server;
}  // namespace cofferdam::inline COFFERDAM_ABI::detail

namespace cofferdam::inline COFFERDAM_ABI::mcp {

namespace detail {
class http_endpoint;
class server_core;
}  // namespace detail

class toolbox;

/// A server that offers tools, resources and prompts to clients of the Model Context Protocol (MCP), in all protocol
/// versions from 2024-11-05 to 2026-07-28.
///
///     mcp::server server(executor, local());
///     server.python(python());
///     co_await server.serve_stdio();
///
/// Do not use a `timeout` layer (middleware that limits the time of each command) in the provider. The Python
/// interpreter is one long command, so this layer would end the interpreter with all its contexts. Limit the time of
/// calls by `server_options::command_timeout`, `python_timeout` and `max_timeout` instead.
///
/// Each client has its own environment, which other clients cannot see. The environment is opened when a tool first
/// needs it, and closed when the client disconnects. (`serve` describes what a client is over HTTP.) Requests run
/// concurrently and are answered in the order in which they end. If a client cancels a request or disconnects, the work
/// of the request is ended.
///
/// A server with a provider has the tools `code_exec`, `start_command`, `read_output`, `signal_command`,
/// `list_commands`, `read_file`, `write_file`, `list_files`, `view_image` and `download_file`. If
/// `server_options::input_folder` is set, it also has `upload_file`. Clients can read the files of their workspace as
/// resources (`sandbox://workspace/PATH`). A server with a runner, or after a call of `python`, has the tools
/// `run_python`, `create_python_context` and `close_python_context`. Add functions, other tools and your own handlers
/// by `add`, `resource` and `prompt`, before the server runs or while it runs.
/// \par Lifetime  the server outlives its `serve` calls.
/// \par Threads   one executor; if several threads run this executor, it must be a strand.
/// \par Source    the Model Context Protocol, 2024-11-05 to 2026-07-28.
/// \par Example  examples/cofferdam/mcp.cpp
class server {
 public:
  /// Makes a server without tools, for your own tools.
  explicit server(asio::any_io_executor executor, server_options options = server_options());
  /// Makes a server with the tools for commands and files. They work in environments that `provider` opens. The
  /// provider's layers apply to them.
  template <code_exec_provider Provider>
  server(asio::any_io_executor executor, Provider provider, server_options options = server_options())
      : server(std::move(executor), std::move(options)) {
    environment(std::move(provider));
    add_environment_tools();
  }
  /// Makes a server with only the Python tools, which run code in runners that `provider` opens.
  template <code_runner_provider Provider>
  server(asio::any_io_executor executor, Provider provider, server_options options = server_options())
      : server(std::move(executor), std::move(options)) {
    open_runners_by([provider = std::move(provider)] { return open_runner<Provider>(provider); });
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Gives each client an environment, but adds no tools: for your own tools. Call it before the server runs.
  template <code_exec_provider Provider>
  server& environment(Provider provider) {
    open_environments_by([provider = std::move(provider)] { return open_environment<Provider>(provider); });
    return *this;
  }
  /// Adds the Python tools. The interpreter runs in the client's environment, which must support `start`. Call it
  /// before the server runs.
  /// \throws error{exec_errc::invalid_argument} if the server has no provider of environments.
  server& python(cofferdam::python how);
  /// Adds the Python tools with a runner of your choice, for example one with guards, which may refuse code:
  /// `server.runner([](any_environment& there) { return any_runner_provider(environment_ref(there) | python() |
  /// check_syntax()); })`
  /// \throws error{exec_errc::invalid_argument} if the server has no provider of environments.
  server& runner(std::function<any_runner_provider(any_environment& inside)> make);

  /// Lets the code of `run_python` call functions of your program, which are not tools of the clients:
  /// `server.python(python()).functions(tide)`. Call it before the server runs.
  /// \param given  each a `tools::function`. All clients share them.
  /// \throws error{exec_errc::invalid_argument} if a name is not valid in Python; error{exec_errc::already_exists} if
  ///     two functions have one name.
  template <std::convertible_to<const tools::function&>... Functions>
    requires(sizeof...(Functions) > 0)
  server& functions(const Functions&... given) {
    (add_function(given), ...);
    return *this;
  }
  /// Lets the code of `run_python` call the tools of a toolbox, and describes them in the description of `run_python`.
  /// Call it before the server runs.
  /// \throws error{exec_errc::already_exists} if the server has a toolbox.
  server& offer(const toolbox& box);

  /// Adds a function of your program as a tool. All clients share it. If the server runs, the clients are notified.
  /// \throws error{exec_errc::invalid_argument} if a tool of this name exists.
  server& add(tools::function tool);
  /// Adds a tool of any type other than `tools::function`. All clients share it.
  /// \throws error{exec_errc::invalid_argument} if a tool of this name exists.
  template <tools::tool T>
    requires(!std::same_as<T, tools::function>)
  server& add(T tool) {
    if constexpr (std::same_as<T, tools::any_tool>) {
      return add_shared(std::move(tool));
    } else {
      return add_shared(tools::any_tool(std::move(tool)));
    }
  }
  /// Adds a tool that works in the calling client's environment. The environment is opened when the tool first uses it:
  /// `server.add([](any_environment& there) { return tools::code_exec(there); })`
  /// \param make  makes the tool for an environment. It is called once for each client. This function also calls it
  ///              once, with an `any_environment` that contains no environment, to read the tool's description.
  /// \param what  the description for clients; its input schema is replaced by the tool's schema. Default: the tool's
  ///              description.
  /// \throws error{exec_errc::invalid_argument} if a tool of this name exists.
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
  /// Adds a tool whose handler uses features that only MCP has: progress, the client's log, requests to the client,
  /// other kinds of content.
  /// \throws error{exec_errc::invalid_argument} if a tool of this name exists, or if the handler is empty.
  server& add(tools::definition what, tool_handler serve);
  /// Removes a tool. Returns false if no tool has this name.
  bool remove_tool(const std::string& name);
  /// Adds a resource, or a template for many resources.
  /// \throws error{exec_errc::invalid_argument} if the handler is empty.
  server& resource(resource_definition what, resource_handler serve);
  /// Adds a prompt.
  /// \throws error{exec_errc::invalid_argument} if the handler is empty.
  server& prompt(prompt_definition what, prompt_handler serve);
  /// Sets the handler that completes the arguments of prompts and of resource templates.
  server& completions(completion_handler serve);
  /// Notifies the clients that the list of tools has changed. `add` and `remove_tool` do this themselves.
  void tools_changed();
  /// Notifies the clients that the list of prompts has changed. `prompt` does this itself.
  void prompts_changed();
  /// Notifies the clients that the list of resources has changed. `resource` does this itself.
  void resources_changed();
  /// Notifies the subscribed clients that the content of a resource has changed.
  void resource_updated(const std::string& uri);

  /// Serves one client over the program's standard input and output until the input ends, and then ends all work of the
  /// client. Until then, descriptor 1 of the program is a copy of descriptor 2, and descriptor 0 is /dev/null, so that
  /// output of the program or its libraries cannot mix with the messages. Both are restored at the end.
  /// \throws error{exec_errc::io_error} if standard input or output is not open.
  /// \throws the exceptions of closing the environment.
  /// \par Cancellation  terminal: ends all work of the client, and then throws error{exec_errc::cancelled}.
  awaitable<void> serve_stdio();

  /// Serves one client over any stream, with one message per line, until the stream ends. `make_byte_stream` makes a
  /// stream from two pipes.
  /// \par Cancellation  terminal, as for `serve_stdio`.
  awaitable<void> serve(byte_stream client);

  /// Serves MCP's streamable HTTP to the clients of a listener until `stop` is called. Then ends all work and closes
  /// all environments. May be called once.
  ///
  /// Clients of the legacy era (protocol versions up to 2025-11-25) have a session each, with its own environment. A
  /// session begins with `initialize` and ends with `DELETE`, or after the idle time of `server_options::sessions`. If
  /// its connection is lost, such a client may reconnect to get its answer.
  ///
  /// Clients of the modern era (2026-07-28) have no sessions. All clients with the same token share one environment,
  /// unless they send the header field `Cofferdam-Place: NAME` (1 to 64 letters, digits, dots, hyphens and
  /// underscores). Each such name has its own environment. An environment is closed after it was unused for the idle
  /// time. A lost connection cancels its request.
  ///
  /// Names separate only clients that trust each other, because every client with the token can use all names of that
  /// token. Clients that must be isolated from each other need different tokens.
  /// \throws error{exec_errc::invalid_argument} before any request is served, if there is no token, unless
  ///     `server_options::without_token` was called and the listener is loopback; or if the function was called before.
  /// \throws the exceptions of closing environments, after everything has ended.
  /// \par Cancellation  terminal: cancels the requests, closes everything, and throws error{exec_errc::cancelled}. The
  ///                    closing itself cannot be cancelled.
  awaitable<void> serve(listener where);
  /// Ends `serve` of a listener. Running requests get 200 ms to finish and are then cancelled.
  /// \throws error{exec_errc::invalid_argument} if the server has not served HTTP.
  awaitable<void> stop();
  /// Returns the number of HTTP sessions of the legacy era, plus the number of environments of the modern era.
  std::size_t sessions() const noexcept;

 private:
  void add_environment_tools();
  void open_environments_by(std::function<awaitable<std::shared_ptr<any_environment>>()> open);
  void open_runners_by(std::function<awaitable<any_runner>()> open);

  void add_function(const tools::function& given);
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
