// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway/detail/core.hpp>
#include <cofferdam/serve/e2b_gateway/detail/dispatch.hpp>
#include <cofferdam/serve/e2b_gateway/detail/opened.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway {

/// Serves any provider stack through E2B's own API, so that E2B's official SDKs can use it unmodified.
///
///     e2b_gateway::server gateway(executor, local() | allow_commands(".*"), e2b_gateway::options());
///     co_await gateway.serve(tcp_listener(executor, "127.0.0.1", 3000));
///
/// Clients need `E2B_API_URL` and `E2B_SANDBOX_URL`, both `http://127.0.0.1:3000`, and an `E2B_API_KEY`: the control
/// plane and the data plane of all sandboxes have one address here. E2B's header fields, or host names, distinguish
/// them (`e2b_gateway::options::domain`).
///
/// Each sandbox is an environment opened from the provider, and closed when the sandbox is killed, when its lifetime is
/// over, and when `serve` ends. Its home, `/home/user` for clients, is the environment's workspace; other absolute
/// paths are refused without a look-up. Commands see the paths of the provider. With
/// `jail().workspace_path("/home/user")` or with
/// `docker::container_options().working_directory("/home/user")`, `/home/user` is the same directory for files and
/// commands. With `local` it is not: there `/home/user` in a command is a path of the host. Commands use `start`, and
/// files use the environment's own file operations, so every layer of the stack applies. The environment determines the
/// user of commands: `user` and `root` are both accepted and ignored.
///
/// Supported: both dialects of create and connect, list, get, kill, timeout, refreshes, pause and resume (if the
/// environment is a `suspendable_environment`); processes with output, input, signals, terminals, several listeners
/// each; files with signed URLs, gzip and metadata; directories; watching, by polling; further ports
/// (`e2b_gateway::options::port`), the code interpreter's among them (`e2b_gateway::code_interpreter`). An upload over
/// an existing file is written in place by a shell inside, as in envd: mode, owner and hard links stay, symbolic links
/// are followed within the home, and an incomplete upload leaves a part of the file. A new file, and any file if no
/// shell may run, is written whole or not at all. The data of `X-Metadata-` fields is kept by path: commands that move
/// files do not move it. Not supported, and refused with an error: network rules, volumes, snapshots, forks, templates,
/// auto-resume, compressed messages. Process ids are those of the gateway. If a listener does not read, its process
/// waits.
///
/// \par Security  the isolation is the provider's. A listener beyond loopback needs an API key; TLS (`tls_listener`) is
///                optional. Requests for other host names get 421, those of foreign web pages get 403.
/// \par Lifetime  outlives `serve`. \par Threads  one executor (a strand on pools).
/// \par Cost      memory: `e2b_gateway::options::memory`, and a bounded buffer for each connection.
/// \par Source    E2B's API and envd's, as E2B's SDKs call them. \par Example  examples/e2b_gateway.cpp
class server {
 public:
  /// \param provider  the recipe for sandboxes, including layers.
  template <code_exec_provider Provider>
  server(asio::any_io_executor executor, Provider provider, e2b_gateway::options options = e2b_gateway::options())
      : executor_(executor),
        core_(std::make_shared<detail::sandbox_registry>(
            executor, [provider = std::move(provider)] { return detail::open_environment<Provider>(provider); },
            std::move(options))) {}
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Serves the peers of this listener until `stop` was called; then closes all sandboxes. May be called once.
  /// \throws error{exec_errc::invalid_argument} without an API key if the listener is not loopback, before any request
  ///     is served, and the second time; the exceptions of closing an environment, after everything else.
  /// \par Cancellation  terminal: requests are cancelled, then all is closed, which is not; throws
  ///                    error{exec_errc::cancelled}.
  awaitable<void> serve(listener where) {
    if (core_->options().api_keys().empty() && !where.is_loopback())
      throw error(exec_errc::invalid_argument,
                  "e2b_gateway: " + where.name() +
                      " can be reached from elsewhere, and there is no API key: say e2b_gateway::options::api_key, or "
                      "listen on 127.0.0.1");
    if (server_) throw error(exec_errc::invalid_argument, "e2b_gateway: it serves already, or has served");
    http_server_settings settings = core_->options().server();
    settings.allowed_hosts({"*"});  // the router checks host names
    server_ = std::make_shared<cofferdam::detail::http_server>(
        executor_, [core = core_](http_call& call) { return detail::dispatcher::handle(core, call); },
        std::move(settings));
    server_->listen(std::move(where));
    return serve_on(server_, core_);
  }

  /// Ends `serve`: accepts no more requests, lets running ones finish within the server's `stop_timeout`, then cancels
  /// them.
  awaitable<void> stop() {
    if (!server_) throw error(exec_errc::invalid_argument, "e2b_gateway: it does not serve yet");
    return server_->stop();
  }

  /// Returns the number of sandboxes, including paused ones.
  std::size_t sandboxes() const noexcept { return core_->sandboxes().size(); }

 private:
  static awaitable<void> serve_on(std::shared_ptr<cofferdam::detail::http_server> server,
                                  std::shared_ptr<detail::sandbox_registry> core) {
    const auto runs = [&server] { return server->run(); };
    const auto closes = [&core] { return detail::sandbox_registry::close_all(core); };
    co_await cofferdam::detail::with_cleanup(runs, closes, cofferdam::detail::failure_to_report);
  }

  asio::any_io_executor executor_;
  std::shared_ptr<detail::sandbox_registry> core_;
  std::shared_ptr<cofferdam::detail::http_server> server_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway
