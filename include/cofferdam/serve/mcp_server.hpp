// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/borrowed_environment.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/net/byte_stream.hpp>
#include <cofferdam/net/http_server.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/definitions.hpp>
#include <cofferdam/serve/mcp/detail/checked_tool.hpp>
#include <cofferdam/serve/mcp/detail/command_tools.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/http_endpoint.hpp>
#include <cofferdam/serve/mcp/detail/line_client.hpp>
#include <cofferdam/serve/mcp/detail/python_tool.hpp>
#include <cofferdam/serve/mcp/detail/shared_tools.hpp>
#include <cofferdam/serve/mcp/detail/stdio_stream.hpp>
#include <cofferdam/serve/mcp/detail/transfer_tools.hpp>
#include <cofferdam/serve/mcp/server_options.hpp>
#include <cofferdam/tools/tool.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline v0::mcp {

/// Serves tools, resources and prompts to MCP clients, in all versions from 2024-11-05 to 2026-07-28.
///
///     mcp::server server(executor, local());
///     server.python(python());
///     co_await server.serve_stdio();
///
/// The provider has no `timeout` layer: the Python interpreter is one long command there, which the layer's limit would end
/// with all that it holds. How long calls take is `server_options::command_time`, `python_time` and `longest_time`.
///
/// Each client has an environment of its own, opened from the provider when a tool first needs it, and closed when the client
/// goes; nothing of it is seen by another. Requests run at once and are answered as they end; a client that cancels one,
/// or goes, ends what it has started.
///
/// With a provider the tools are `code_exec`, `start_command`, `read_output`, `signal_command`, `list_commands`,
/// `read_file`, `write_file`, `list_files`, `view_image`, `download_file`, with `server_options::input_folder` also
/// `upload_file`, and the files of the workspace are resources (`sandbox://workspace/PATH`); with a runner, or `python`,
/// there are `run_python`, `create_python_context` and `close_python_context`. Any other `tool`, and handlers of your own,
/// are added by `tool`, `resource` and `prompt`, before or while it serves.
/// \par Lifetime  outlives what serves. \par Threads  one executor (a strand on pools).
/// \par Source    the Model Context Protocol, 2024-11-05 to 2026-07-28. \par Example  examples/cofferdam_mcp.cpp
class server {
 public:
  /// A server of your own tools.
  explicit server(asio::any_io_executor executor, server_options options = server_options())
      : core_(std::make_shared<detail::server_core>(std::move(executor), std::move(options))) {}
  /// A server of command and file tools over what the provider opens. Layers and all.
  template <code_exec_provider Provider>
  server(asio::any_io_executor executor, Provider provider, server_options options = server_options())
      : server(std::move(executor), std::move(options)) {
    environment(std::move(provider));
    detail::command_tools::add_to(*core_);
    detail::shared_tools::add_file_tools(*core_);
    detail::transfer_tools::add_to(*core_);
  }
  /// A server of `run_python`, and nothing else.
  template <code_runner_provider Provider>
  server(asio::any_io_executor executor, Provider provider, server_options options = server_options())
      : server(std::move(executor), std::move(options)) {
    core_->plan.open_runner = [provider = std::move(provider)](std::shared_ptr<any_environment>) {
      return open_runner<Provider>(provider);
    };
    detail::python_tool::add_to(*core_);
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Gives each client an environment, for tools of yours. Before it serves.
  template <code_exec_provider Provider>
  server& environment(Provider provider) {
    core_->plan.open_environment = [provider = std::move(provider)] { return open_environment<Provider>(provider); };
    return *this;
  }
  /// Adds `run_python`, in the environment that commands run in, which must be able to `start`. Before it serves.
  /// \throws error{errc::invalid_argument} where clients have no environment.
  server& python(cofferdam::python how) {
    if (!core_->plan.open_environment)
      throw error(errc::invalid_argument, "mcp: python needs a server with an environment to run it in");
    return runner([how = std::move(how)](any_environment& inside) {
      return any_runner_provider(borrowed<any_environment>(inside) | how);
    });
  }
  /// The same for any runner, with its guards:
  /// `server.runner([](any_environment& there) { return any_runner_provider(borrowed(there) | python() | check_syntax()); })`
  server& runner(std::function<any_runner_provider(any_environment& inside)> make) {
    if (!core_->plan.open_environment)
      throw error(errc::invalid_argument, "mcp: there is no environment for the runner");
    core_->plan.open_runner = [make = std::move(make)](std::shared_ptr<any_environment> inside) {
      return open_inside(make(*inside), inside);
    };
    detail::python_tool::add_to(*core_);
    return *this;
  }

  /// Adds a tool. What is added while it serves is told to the clients.
  /// \throws error{errc::invalid_argument} where there is one of that name; without a handler.
  server& tool(tool_definition what, tool_handler serve) {
    require_new(what.name());
    require_handler(serve != nullptr, what.name());
    tool_handler checked = detail::checked(what.input(), std::move(serve));
    core_->tools.push_back(std::make_shared<const detail::registered_tool>(std::move(what), std::move(checked)));
    core_->changed("tools", false);
    return *this;
  }
  /// Adds a tool that works in each client's own environment, which its first use opens:
  /// `server.tool([](any_environment& there) { return tools::any_tool(tools::code_exec(there)); })`
  /// \param what  how it is described to clients; its input schema is the tool's own. Left out: by what it says of itself.
  server& tool(std::function<tools::any_tool(any_environment&)> make,
               std::optional<tool_definition> what = std::nullopt) {
    require_handler(make != nullptr, what ? what->name() : std::string());
    any_environment none;
    require_new(what ? what->name() : std::string(make(none).name()));
    detail::shared_tools::add(*core_, std::move(make), std::move(what));
    core_->changed("tools", false);
    return *this;
  }
  /// Takes a tool away. False where there is none of that name.
  bool remove_tool(const std::string& name) {
    const auto count = std::erase_if(core_->tools, [&](const auto& one) { return one->what.name() == name; });
    if (count != 0) core_->changed("tools", false);
    return count != 0;
  }
  /// Adds a resource, or all of a template's. \throws error{errc::invalid_argument} without a handler.
  server& resource(resource_definition what, resource_handler serve) {
    require_handler(serve != nullptr, what.uri());
    core_->resources.push_back(std::make_shared<const detail::registered_resource>(std::move(what), std::move(serve)));
    core_->changed("resources", false);
    return *this;
  }
  /// \throws error{errc::invalid_argument} without a handler.
  server& prompt(prompt_definition what, prompt_handler serve) {
    require_handler(serve != nullptr, what.name());
    core_->prompts.push_back(std::make_shared<const detail::registered_prompt>(std::move(what), std::move(serve)));
    core_->changed("prompts", false);
    return *this;
  }
  /// Says what could stand for the arguments of prompts and templates.
  server& completions(completion_handler serve) {
    core_->complete = std::move(serve);
    return *this;
  }
  /// Tells the clients that have asked: the lists are others, a resource has changed.
  void tools_changed() { core_->changed("tools", false); }
  void prompts_changed() { core_->changed("prompts", false); }
  void resources_changed() { core_->changed("resources", false); }
  void resource_updated(const std::string& uri) { core_->changed(uri, true); }

  /// Serves one client over the program's standard input and output until that ends; then everything that was its own is
  /// ended. Meanwhile descriptor 1 of the program is where 2 leads, and 0 is /dev/null: nothing that the program or its
  /// libraries print gets between the messages. Both are put back at the end.
  /// \throws error{errc::io_error} where there are none; what closing the environment throws.
  /// \par Cancellation  terminal: as if the client had gone; then error{errc::cancelled}.
  awaitable<void> serve_stdio() { return stdio(core_); }

  /// Serves one client over any stream, one message a line.
  /// \par Cancellation  as `serve_stdio`.
  awaitable<void> serve(byte_stream client) { return lines(core_, std::move(client)); }

  /// Serves streamable HTTP to the peers of this listener until `stop` was called; then everything is ended. Once.
  ///
  /// Clients of the legacy era have a session each, with an environment of its own, from `initialize` to `DELETE`, or to
  /// `server_options::sessions`' idle time. Those of the modern era have none, and share the one environment of their token;
  /// where two must not meet, give them two tokens. A legacy client whose connection breaks may come back for its answer;
  /// a modern one has cancelled by that.
  /// \throws error{errc::invalid_argument} without a token where the listener is not loopback, before anybody is served,
  ///         and the second time; what closing environments throws, behind everything else.
  /// \par Cancellation  terminal: requests are cancelled, then all is closed, which is not; throws error{errc::cancelled}.
  awaitable<void> serve(listener where) {
    if (core_->options().tokens().empty() && !where.is_loopback())
      throw error(errc::invalid_argument, "mcp: " + where.name() +
                                              " can be reached from elsewhere, and there is no token: say "
                                              "server_options::token, or listen on 127.0.0.1");
    if (http_) throw error(errc::invalid_argument, "mcp: it serves HTTP already, or has served");
    http_server_settings settings = core_->options().http();
    settings.allowed_hosts({"*"}).allowed_origins({"*"});  // the endpoint knows which are ours
    settings.body(core_->options().message()).stop_time(std::chrono::milliseconds(200));
    endpoint_ = std::make_shared<detail::http_endpoint>(core_);
    endpoint_->check_hosts(where.is_loopback() || !core_->options().hosts().empty());
    http_ = std::make_shared<http_server>(
        core_->executor(),
        [endpoint = endpoint_](http_call& call) { return detail::http_endpoint::handle(endpoint, call); },
        std::move(settings));
    http_->listen(std::move(where));
    return serve_http(http_, endpoint_);
  }
  /// Ends `serve` of a listener.
  awaitable<void> stop() {
    if (!http_) throw error(errc::invalid_argument, "mcp: it does not serve HTTP");
    return http_->stop();
  }
  /// How many sessions of HTTP there are.
  std::size_t sessions() const noexcept { return endpoint_ ? endpoint_->sessions() : 0; }

 private:
  void require_new(const std::string& name) const {
    if (core_->tool(name)) throw error(errc::invalid_argument, "mcp: there is a tool '" + name + "' already");
  }

  static void require_handler(bool has_one, const std::string& name) {
    if (!has_one) throw error(errc::invalid_argument, "mcp: there is no handler for '" + name + "'");
  }

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
  static awaitable<std::shared_ptr<detail::opened_runner>> open_runner(Provider provider) {
    runner_of<Provider> opened = co_await provider.open();
    const auto made = std::make_shared<detail::opened_runner>();
    made->runner = erased_runner(std::move(opened));
    co_return made;
  }
  static any_runner erased_runner(any_runner opened) { return opened; }
  template <class R>
  static any_runner erased_runner(R opened) {
    return any_runner(std::move(opened));
  }
  static awaitable<std::shared_ptr<detail::opened_runner>> open_inside(any_runner_provider recipe,
                                                                       std::shared_ptr<any_environment> inside) {
    any_runner opened = co_await recipe.open();
    const auto made = std::make_shared<detail::opened_runner>();
    made->environment = std::move(inside);
    made->runner = std::move(opened);
    co_return made;
  }

  static awaitable<void> lines(std::shared_ptr<detail::server_core> core, byte_stream client) {
    const auto one = std::make_shared<detail::line_client>(std::move(core), std::move(client));
    co_await detail::line_client::serve(one);
  }
  static awaitable<void> stdio(std::shared_ptr<detail::server_core> core) {
    detail::standard_streams moved;
    byte_stream client(std::make_unique<detail::stdio_stream>(core->executor()));
    moved.move_away();
    co_await lines(std::move(core), std::move(client));
  }

  class closing {
   public:
    explicit closing(std::shared_ptr<detail::http_endpoint> of) : of_(std::move(of)) {}
    awaitable<void> operator()() { return detail::http_endpoint::close(of_); }

   private:
    std::shared_ptr<detail::http_endpoint> of_;
  };
  static awaitable<void> serve_http(std::shared_ptr<http_server> server,
                                    std::shared_ptr<detail::http_endpoint> endpoint) {
    endpoint->start_sweeping();
    std::exception_ptr failure;
    try {
      co_await server->run();
    } catch (...) {
      failure = std::current_exception();
    }
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    try {
      closing work(endpoint);
      co_await cofferdam::detail::shielded(std::move(work));
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
    if (failure) std::rethrow_exception(failure);
  }

  std::shared_ptr<detail::server_core> core_;
  std::shared_ptr<detail::http_endpoint> endpoint_;
  std::shared_ptr<http_server> http_;
};

}  // namespace cofferdam::inline v0::mcp
