// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// `cofferdam serve`: serves jails, containers, pods or folders to E2B's official SDKs, including the code
// interpreter.
//
//     $ cofferdam serve --pool 4
//     export E2B_API_URL=http://127.0.0.1:3000 ...
//     $ python -c 'from e2b import Sandbox; print(Sandbox.create().commands.run("echo hello").stdout)'
//     $ python -c 'from e2b_code_interpreter import Sandbox; print(Sandbox.create().run_code("6 * 7").text)'

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/pool.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>

#include "options.hpp"
#include "report.hpp"
#include "serving.hpp"
#include "subcommands.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace program {

namespace {

using namespace cofferdam;

/// A gateway that serves until a signal arrives.
class served_gateway {
 public:
  served_gateway(asio::io_context& loop, e2b_gateway::options options, std::uint16_t port)
      : executor_(loop.get_executor()),
        options_(std::move(options)),
        where_(tcp_listener(executor_, "127.0.0.1", port)),
        signals_(loop, SIGINT, SIGTERM),
        last_moment_(loop) {}
  served_gateway(const served_gateway&) = delete;
  served_gateway& operator=(const served_gateway&) = delete;

  /// Serves the environments of a provider.
  /// \param pool  how many environments are kept open and unused; 0: each is opened when a client asks for it.
  template <code_exec_provider Provider>
  awaitable<void> serve(Provider provider, std::size_t pool) {
    if (pool == 0) return serve_all(*this, std::move(provider));
    return serve_pool(*this, std::move(provider), pool);
  }

  /// Ends the service at the first signal. The program ends at the latest 9 s later, and immediately at a second
  /// signal.
  void stop_on_signal() {
    signals_.async_wait([this](const std::error_code& cancelled, int) {
      if (cancelled) return;
      is_stopped_ = true;
      last_moment_.expires_after(longest_end);
      last_moment_.async_wait([](const std::error_code& in_time) {
        if (!in_time) give_up("the open environments did not close in time");
      });
      signals_.async_wait([](const std::error_code& none, int) {
        if (!none) give_up("stopped by a second signal before all environments were closed");
      });
      if (gateway_) {
        asio::co_spawn(executor_, gateway_->stop(), [this](std::exception_ptr why) { stop_failure_ = std::move(why); });
      } else {
        opening_.emit(asio::cancellation_type::terminal);  // the pool is being opened
      }
    });
  }

  asio::cancellation_slot slot() { return opening_.slot(); }
  bool is_stopped() const { return is_stopped_; }
  const std::exception_ptr& stop_failure() const { return stop_failure_; }

 private:
  /// The gateway is not made over `any_provider`, because it offers what the type of the environment can do.
  template <class Provider>
  static awaitable<void> serve_all(served_gateway& self, Provider provider) {
    self.gateway_.emplace(self.executor_, std::move(provider), self.options_);
    const std::string url = "http://127.0.0.1:" + std::to_string(self.where_.port());
    std::cout << "export E2B_API_URL=" << url << " E2B_SANDBOX_URL=" << url
              << " E2B_API_KEY=" << self.options_.api_keys().front() << "\n";
    flush_output();
    co_await self.gateway_->serve(std::move(self.where_));
  }

  /// Opens the pool first, so that a backend that does not work ends the program before a client connects. The pool
  /// is closed after all sandboxes.
  template <class Provider>
  static awaitable<void> serve_pool(served_gateway& self, Provider provider, std::size_t size) {
    const auto serves = [&self](auto& opened) { return serve_all(self, opened.provider()); };
    co_await with(cofferdam::pool(std::move(provider), size), serves);
  }

  asio::any_io_executor executor_;
  e2b_gateway::options options_;
  listener where_;
  asio::signal_set signals_;
  asio::steady_timer last_moment_;
  asio::cancellation_signal opening_;
  std::optional<e2b_gateway::server> gateway_;
  std::exception_ptr stop_failure_;
  bool is_stopped_ = false;
};

/// Serves the chosen backend.
awaitable<void> serve_place(served_gateway& gateway, const serve_options& chosen) {
  const place_options& place = chosen.place;
  const std::string image = place.image.empty() ? "debian:stable-slim" : place.image;
  if (place.provider == "docker") {
    // Sandboxes of E2B start commands in this directory. A command therefore finds a file under the same relative path
    // by which a client has written it.
    docker::container_options containers;
    containers.working_directory("/home/user");
    // Some programs of others write to /workspace. A jail has it as a link to its home.
    containers.tmpfs("/workspace");
    if (place.memory) containers.memory(*place.memory);
    if (place.cpus) containers.cpus(*place.cpus);
    return gateway.serve(docker::from_image(image).options(std::move(containers)), chosen.pool);
  }
  if (place.provider == "kubernetes") {
    kubernetes::pod_options pod;
    pod.working_directory("/home/user");
    if (place.memory) pod.memory(*place.memory);
    if (place.cpus) pod.cpus(*place.cpus);
    return gateway.serve(kubernetes::from_image(image).options(std::move(pod)), chosen.pool);
  }
  if (place.provider == "local") {
    if (place.memory || place.cpus)
      refuse("local does not support --memory and --cpus, because it does not isolate; use jail or docker");
    return gateway.serve(local().without_warning(), chosen.pool);
  }
  if (place.provider != "jail") refuse("serve does not support --provider " + place.provider);
  jail walls;
  if (place.memory) walls.memory(*place.memory);
  if (place.cpus) walls.cpus(*place.cpus);
  walls.workspace_path("/home/user")
      .alternatives(
          "Or serve another kind of place:\n"
          "    cofferdam serve --provider docker:IMAGE                containers; needs a Docker daemon\n"
          "    cofferdam serve --provider local --allow-host-paths    no wall: clients have all rights of your user");
  return gateway.serve(std::move(walls), chosen.pool);
}

constexpr const char* host_paths =
    "with --provider local, the commands of clients run on this machine as your user: /home/user, /tmp and all other "
    "absolute paths are those of this machine, and commands can read and overwrite the files there. A file that a "
    "client uploads to /home/user/a.py goes to a private folder instead, where a command finds it as a.py, not as "
    "/home/user/a.py. To accept this, add --allow-host-paths; --provider jail has its own /home/user";

}  // namespace

int run_serve(std::vector<std::string> words) {
  const std::optional<serve_options> chosen = parse_serve(std::move(words));
  if (!chosen) return 0;
  if (chosen->place.provider == "local" && !chosen->allow_host_paths) refuse(host_paths);
  become_undumpable();
  asio::io_context context(1);
  const std::string key = "e2b_" + random_text(40);
  e2b_gateway::options options;
  options.api_key(key).port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter());
  http_server_settings server = options.server();
  options.server(server.stop_timeout(std::chrono::seconds(1)));
  // Jails and containers have no network here, so clients may create sandboxes without internet access.
  if (chosen->place.provider == "jail" || chosen->place.provider == "docker") options.without_internet();
  served_gateway gateway(context, std::move(options), chosen->port);
  gateway.stop_on_signal();
  std::exception_ptr failure;
  const auto ended = [&](std::exception_ptr why) {
    failure = std::move(why);
    context.stop();
  };
  asio::co_spawn(context, serve_place(gateway, *chosen), asio::bind_cancellation_slot(gateway.slot(), ended));
  context.run();
  if (failure && !(gateway.is_stopped() && is_cancellation(failure))) std::rethrow_exception(failure);
  if (gateway.stop_failure()) std::rethrow_exception(gateway.stop_failure());
  return 0;
}

}  // namespace program
