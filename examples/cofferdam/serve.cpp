// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// `cofferdam serve`: serves jails, containers, or folders of this machine to E2B's official SDKs, including the code
// interpreter.
//
//     $ cofferdam serve
//     export E2B_API_URL=http://127.0.0.1:3000 ...
//     $ python -c 'from e2b import Sandbox; print(Sandbox.create().commands.run("echo hello").stdout)'
//     $ python -c 'from e2b_code_interpreter import Sandbox; print(Sandbox.create().run_code("6 * 7").text)'

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>

#include "options.hpp"
#include "report.hpp"
#include "serving.hpp"
#include "subcommands.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace program {

namespace {

using namespace cofferdam;

/// Makes the gateway for the chosen backend. It is not made over `any_provider`, because type erasure would hide that
/// containers can be paused.
std::unique_ptr<e2b_gateway::server> gateway_over(const asio::any_io_executor& executor, const place_options& place,
                                                  e2b_gateway::options options) {
  if (place.provider == "docker") {
    // Sandboxes of E2B start commands in this directory. A command therefore finds a file under the same relative path
    // by which a client has written it.
    docker::container_options containers;
    containers.working_directory("/home/user");
    if (place.memory) containers.memory(*place.memory);
    const std::string image = place.image.empty() ? "debian:stable-slim" : place.image;
    return std::make_unique<e2b_gateway::server>(executor, docker::from_image(image).options(std::move(containers)),
                                                 std::move(options));
  }
  if (place.provider == "local") {
    if (place.memory) refuse("local does not support --memory, because it does not isolate; use jail or docker");
    return std::make_unique<e2b_gateway::server>(executor, local().without_warning(), std::move(options));
  }
  jail walls;
  if (place.memory) walls.memory(*place.memory);
  walls.workspace_path("/home/user")
      .alternatives(
          "Or serve another kind of place:\n"
          "    cofferdam serve --provider docker:IMAGE                containers; needs a Docker daemon\n"
          "    cofferdam serve --provider local --allow-host-paths    no wall: clients have all rights of your user");
  return std::make_unique<e2b_gateway::server>(executor, std::move(walls), std::move(options));
}

/// Stops the gateway at the first signal. The program ends at the latest 9 s later, and immediately at a second signal.
awaitable<void> stop_on_signal(e2b_gateway::server& gateway, asio::signal_set& signals,
                               asio::steady_timer& last_moment) {
  co_await signals.async_wait(asio::use_awaitable);
  last_moment.expires_after(longest_end);
  last_moment.async_wait([](const std::error_code& in_time) {
    if (!in_time) give_up("the open environments did not close in time");
  });
  signals.async_wait([](const std::error_code& none, int) {
    if (!none) give_up("stopped by a second signal before all environments were closed");
  });
  co_await gateway.stop();
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
  const auto gateway = gateway_over(context.get_executor(), chosen->place, std::move(options));
  listener where = tcp_listener(context.get_executor(), "127.0.0.1", chosen->port);
  const std::string url = "http://127.0.0.1:" + std::to_string(where.port());
  std::cout << "export E2B_API_URL=" << url << " E2B_SANDBOX_URL=" << url << " E2B_API_KEY=" << key << "\n";
  flush_output();

  std::exception_ptr failure;
  const auto ended = [&](std::exception_ptr why) {
    if (why && !failure) failure = why;
    context.stop();
  };
  const auto stopped = [&](std::exception_ptr why) {
    if (why && !failure) failure = why;
  };
  asio::signal_set signals(context, SIGINT, SIGTERM);
  asio::co_spawn(context, gateway->serve(std::move(where)), ended);
  asio::steady_timer last_moment(context);
  asio::co_spawn(context, stop_on_signal(*gateway, signals, last_moment), stopped);
  context.run();
  if (failure) std::rethrow_exception(failure);
  return 0;
}

}  // namespace program
