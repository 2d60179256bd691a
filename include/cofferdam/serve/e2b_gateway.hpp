// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/net/http_server.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway/detail/core.hpp>
#include <cofferdam/serve/e2b_gateway/detail/dispatch.hpp>
#include <cofferdam/serve/e2b_gateway/detail/opened.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>

namespace cofferdam::inline v0 {

/// Serves any provider stack under E2B's own API, so that E2B's official SDKs drive it unmodified.
///
///     e2b_gateway gateway(executor, local() | allow_commands(".*"), e2b_gateway_options());
///     co_await gateway.serve(tcp_listener(executor, "127.0.0.1", 3000));
///
/// Clients are given `E2B_API_URL` and `E2B_SANDBOX_URL`, both `http://127.0.0.1:3000`, and an `E2B_API_KEY`: the control
/// plane and the data plane of all sandboxes are one address here, told apart by E2B's header fields, or by host names
/// (`e2b_gateway_options::domain`).
///
/// Each sandbox is an environment opened from the provider, and closed when the sandbox is killed, when its time is over,
/// and when `serve` ends. Its home, `/home/user` as clients know it, is the environment's workspace; other absolute paths
/// are refused, and never looked up. Commands go through `start`, files through the environment's own file operations, so
/// every layer of the stack stands. Who they run as is the environment's business: `user` and `root` are both taken for it.
///
/// Offered: both dialects of create and connect, list, get, kill, timeout, refreshes, pause and resume (where the
/// environment is a `suspendable_environment`); processes with output, input, signals, terminals, several listeners each;
/// files with signed URLs; directories; watching, by looking again and again; further ports
/// (`e2b_gateway_options::port`), the code interpreter's among them (`e2b_code_interpreter`).
/// Not offered, and refused by name rather than ignored: network rules, volumes, snapshots, forks, templates, auto-resume,
/// compressed bodies. Process ids are the gateway's own. A listener that does not read stops the process that it listens to.
///
/// \par Security  the walls are the provider's. Beyond loopback a key is demanded, and TLS (`tls_listener`) is yours to
///                say. Requests under other host names than its own are 421, those of foreign web pages 403.
/// \par Lifetime  outlives `serve`. \par Threads  one executor (a strand on pools).
/// \par Cost      memory: `e2b_gateway_options::memory`, and a bounded buffer for each connection.
/// \par Source    E2B's API and envd's, as E2B's SDKs call them. \par Example  examples/e2b_gateway.cpp
class e2b_gateway {
 public:
  /// \param provider  what a sandbox is opened from. Layers and all.
  template <code_exec_provider Provider>
  e2b_gateway(asio::any_io_executor executor, Provider provider, e2b_gateway_options options = e2b_gateway_options())
      : executor_(executor),
        core_(std::make_shared<detail::gateway_core>(
            executor, [provider = std::move(provider)] { return detail::gateway_open<Provider>(provider); },
            std::move(options))) {}
  e2b_gateway(const e2b_gateway&) = delete;
  e2b_gateway& operator=(const e2b_gateway&) = delete;

  /// Serves the peers of this listener until `stop` was called; then everything that was opened is closed. Once.
  /// \throws error{errc::invalid_argument} without an API key where the listener is not loopback, before anybody is
  ///         served, and the second time; what closing an environment throws, behind everything else.
  /// \par Cancellation  terminal: requests are cancelled, then all is closed, which is not; throws error{errc::cancelled}.
  awaitable<void> serve(listener where) {
    if (core_->options().api_keys().empty() && !where.is_loopback())
      throw error(errc::invalid_argument,
                  "e2b_gateway: " + where.name() +
                      " can be reached from elsewhere, and there is no API key: say e2b_gateway_options::api_key, or "
                      "listen on 127.0.0.1");
    if (server_) throw error(errc::invalid_argument, "e2b_gateway: it serves already, or has served");
    http_server_settings settings = core_->options().server();
    settings.allowed_hosts({"*"});  // the router knows which are ours
    server_ = std::make_shared<http_server>(
        executor_, [core = core_](http_call& call) { return detail::gateway_dispatch::handle(core, call); },
        std::move(settings));
    server_->listen(std::move(where));
    return serve_on(server_, core_);
  }

  /// Ends `serve`: no more requests, those that run are finished within the server's `stop_time`, then cancelled.
  awaitable<void> stop() {
    if (!server_) throw error(errc::invalid_argument, "e2b_gateway: it does not serve yet");
    return server_->stop();
  }

  /// How many sandboxes there are, paused ones included.
  std::size_t sandboxes() const noexcept { return core_->sandboxes().size(); }

 private:
  class closing {
   public:
    explicit closing(std::shared_ptr<detail::gateway_core> core) : core_(std::move(core)) {}
    awaitable<void> operator()() { return detail::gateway_core::close_all(core_); }

   private:
    std::shared_ptr<detail::gateway_core> core_;
  };

  static awaitable<void> serve_on(std::shared_ptr<http_server> server, std::shared_ptr<detail::gateway_core> core) {
    std::exception_ptr failure;
    try {
      co_await server->run();
    } catch (...) {
      failure = std::current_exception();
    }
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    try {
      closing work(core);
      co_await detail::shielded(std::move(work));
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
    if (failure) std::rethrow_exception(failure);
  }

  asio::any_io_executor executor_;
  std::shared_ptr<detail::gateway_core> core_;
  std::shared_ptr<http_server> server_;
};

}  // namespace cofferdam::inline v0
