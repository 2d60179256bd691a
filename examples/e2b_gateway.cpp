// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Serves jails, containers, or folders of this machine to E2B's official SDKs, including the code interpreter. Usage:
// `e2b_gateway jail`, `docker[:IMAGE]` or `local --allow-host-paths`. Listens on the port in the environment
// variable PORT (default 3000), prints the environment variables that a client needs, and serves until ^C.
//
//     $ ./e2b_gateway jail
//     export E2B_API_URL=http://127.0.0.1:3000 ...
//     $ python -c 'from e2b import Sandbox; print(Sandbox.create().commands.run("echo hello").stdout)'
//     $ python -c 'from e2b_code_interpreter import Sandbox; print(Sandbox.create().run_code("6 * 7").text)'

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/provider_name.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/prctl.h>

namespace {

using namespace cofferdam;

std::string new_key() {
  std::random_device random;
  std::string key = "e2b_";
  for (int i = 0; i < 40; ++i) key += "0123456789abcdef"[random() % 16];
  return key;
}

/// Makes the gateway for the chosen backend. It is not made over `any_provider`, because type erasure would hide that
/// containers can be paused.
std::unique_ptr<e2b_gateway::server> gateway_over(const asio::any_io_executor& executor, const provider_name& name,
                                                  e2b_gateway::options options) {
  if (name.kind() == "docker") {
    // Sandboxes of E2B start commands in this directory. A command therefore finds a file under the same relative path
    // by which a client has written it.
    docker::container_options containers;
    containers.working_directory("/home/user");
    return std::make_unique<e2b_gateway::server>(
        executor, docker::from_image(name.value_or("debian:stable-slim")).options(std::move(containers)),
        std::move(options));
  }
  if (name.kind() == "local")
    return std::make_unique<e2b_gateway::server>(executor, local().without_warning(), std::move(options));
  jail walls;
  walls.workspace_path("/home/user")
      .alternatives(
          "Or serve another kind of place:\n"
          "    e2b_gateway docker[:IMAGE]              containers; needs a Docker daemon\n"
          "    e2b_gateway local --allow-host-paths    no wall: clients have all rights of your user");
  return std::make_unique<e2b_gateway::server>(executor, std::move(walls), std::move(options));
}

/// Ends the program at once. The kernel closes all connections, so clients see that their streams have ended.
[[noreturn]] void give_up(const char* why) {
  std::cerr << "e2b_gateway: " << why << std::endl;
  std::_Exit(1);
}

/// Stops the gateway at the first signal. The program ends at the latest 9 s later, and immediately at a second signal.
awaitable<void> stop_on_signal(e2b_gateway::server& gateway, asio::signal_set& signals,
                               asio::steady_timer& last_moment) {
  co_await signals.async_wait(asio::use_awaitable);
  last_moment.expires_after(std::chrono::seconds(9));
  last_moment.async_wait([](const std::error_code& in_time) {
    if (!in_time) give_up("the open environments did not close in time");
  });
  signals.async_wait([](const std::error_code& none, int) {
    if (!none) give_up("stopped by a second signal before all environments were closed");
  });
  co_await gateway.stop();
}

constexpr const char* manual =
    "e2b_gateway jail                        serves jails: walls of this machine's kernel, no network\n"
    "e2b_gateway docker[:IMAGE]              serves containers\n"
    "e2b_gateway local --allow-host-paths    serves folders of this machine, without isolation\n"
    "The environment variable PORT sets the port (default 3000). The program prints the variables to export.\n"
    "SIGTERM and ^C end the program within 10 s. e2b_gateway --help prints this text.\n"
    "The program is undumpable: other programs of your user cannot read its memory and its key, it leaves no core "
    "dump,\n"
    "and only root can attach a debugger to it.\n";

constexpr const char* host_paths =
    "with local, the commands of clients run on this machine as your user: /home/user, /tmp and all other absolute "
    "paths are those of this machine, and commands can read and overwrite the files there. A file that a client "
    "uploads to /home/user/a.py goes to a private folder instead, where a command finds it as a.py, not as "
    "/home/user/a.py. To accept this, run 'e2b_gateway local --allow-host-paths'; 'e2b_gateway jail' has its own "
    "/home/user.";

}  // namespace

int main(int count, char** words) try {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h") {
    std::cout << manual;
    return 0;
  }
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  for (const std::string& word : arguments)
    if (word.starts_with("-") && word != "--allow-host-paths")
      throw error(exec_errc::invalid_argument, "unknown option \"" + one_line(word) + "\"; see --help");
  const provider_name name = provider_name::parse(arguments.front(), {"jail", "docker:IMAGE", "local"});
  const bool allows_host_paths = arguments.size() == 2 && arguments[1] == "--allow-host-paths";
  if (name.kind() == "local" && !allows_host_paths) throw error(exec_errc::invalid_argument, host_paths);
  if (arguments.size() > 1 && !allows_host_paths)
    throw error(exec_errc::invalid_argument,
                "\"" + one_line(arguments[1]) + "\" is an unexpected argument; see --help");
  const char* const port_text = std::getenv("PORT");
  const auto port = static_cast<std::uint16_t>(port_text == nullptr ? 3000 : std::stoi(port_text));

  asio::io_context context(1);
  const std::string key = new_key();
  e2b_gateway::options options;
  options.api_key(key).port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter());
  http_server_settings server = options.server();
  options.server(server.stop_timeout(std::chrono::seconds(1)));
  const auto gateway = gateway_over(context.get_executor(), name, std::move(options));
  listener where = tcp_listener(context.get_executor(), "127.0.0.1", port);
  const std::string url = "http://127.0.0.1:" + std::to_string(where.port());
  std::cout << "export E2B_API_URL=" << url << " E2B_SANDBOX_URL=" << url << " E2B_API_KEY=" << key << std::endl;

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
} catch (const std::exception& failure) {
  std::cerr << "e2b_gateway: " << failure.what() << '\n';
  return 1;
}
