// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A case of compile.py: runs one command in a sandbox of E2B.

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/core/with.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <exception>
#include <iostream>

using namespace cofferdam;

awaitable<void> say_hello(e2b::environment& environment) {
  const command_result result = co_await environment.run_command(shell("echo hello"));
  std::cout << result.out().text();
}

awaitable<void> run() { co_await with(e2b::from_template("base"), say_hello); }

int main() {
  asio::io_context loop;
  asio::co_spawn(loop, run(), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  loop.run();
}
