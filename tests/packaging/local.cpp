// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A consumer of the package that runs a command on this machine.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <iostream>

cofferdam::awaitable<void> hello(cofferdam::local_environment& environment) {
  const cofferdam::command_result result = co_await environment.run_command(cofferdam::argv("echo", "hello"));
  std::cout << result.out().text();
}

cofferdam::awaitable<void> run() { co_await cofferdam::with(cofferdam::local().without_warning(), hello); }

int main() {
  asio::io_context loop;
  asio::co_spawn(loop, run(), asio::detached);
  loop.run();
}
