// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Serves local folders, or containers, to E2B's official SDKs, code interpreter included: `e2b_gateway local` or
// `e2b_gateway docker [IMAGE]`, on PORT (3000). Prints what to export, and serves until ^C.
//
//     $ ./e2b_gateway docker python:3.12-slim
//     export E2B_API_URL=http://127.0.0.1:3000 ...
//     $ python -c 'from e2b import Sandbox; print(Sandbox.create().commands.run("echo hello").stdout)'
//     $ python -c 'from e2b_code_interpreter import Sandbox; print(Sandbox.create().run_code("6 * 7").text)'

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/use_awaitable.hpp>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>

namespace {

using namespace cofferdam;

std::string new_key() {
  std::random_device random;
  std::string key = "e2b_";
  for (int i = 0; i < 40; ++i) key += "0123456789abcdef"[random() % 16];
  return key;
}

/// Not erased by any_provider, which would hide that containers can be paused.
std::unique_ptr<e2b_gateway> gateway_over(const asio::any_io_executor& executor, const std::string& name,
                                          const std::string& image, e2b_gateway_options options) {
  if (name == "docker") {
    options.workspace("/workspace");
    return std::make_unique<e2b_gateway>(executor, docker::from_image(image), std::move(options));
  }
  if (name == "local") return std::make_unique<e2b_gateway>(executor, local(), std::move(options));
  throw error(errc::invalid_argument, "the provider is 'local' or 'docker', not '" + name + "'");
}

awaitable<void> stop_on_signal(e2b_gateway& gateway, asio::signal_set& signals) {
  co_await signals.async_wait(asio::use_awaitable);
  co_await gateway.stop();
}

}  // namespace

int main(int count, char** words) try {
  if (count < 2) {
    std::cout << "e2b_gateway local            serves folders of this machine: no wall\n"
                 "e2b_gateway docker [IMAGE]   serves containers\n"
                 "PORT=3000 is where; what to export is printed.\n";
    return 0;
  }
  const std::string name = words[1];
  const std::string image = count > 2 ? words[2] : "debian:stable-slim";
  const char* const wanted = std::getenv("PORT");
  const auto port = static_cast<std::uint16_t>(wanted == nullptr ? 3000 : std::stoi(wanted));

  asio::io_context context(1);
  const std::string key = new_key();
  e2b_gateway_options options;
  options.api_key(key).port(e2b_code_interpreter::usual_port, e2b_code_interpreter());
  const auto gateway = gateway_over(context.get_executor(), name, image, std::move(options));
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
  asio::co_spawn(context, stop_on_signal(*gateway, signals), stopped);
  context.run();
  if (failure) std::rethrow_exception(failure);
} catch (const std::exception& failure) {
  std::cerr << "e2b_gateway: " << failure.what() << '\n';
  return 1;
}
