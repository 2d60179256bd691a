// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Chooses the backend when the program runs: `07_choose_backend docker:debian:stable`. Expected output without an
// argument: one line from the sandbox. For an unknown name, the program prints an error that lists the known names.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/make_provider.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/sandbox.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace cofferdam;

awaitable<void> hello(std::string name) {
  any_provider provider = make_provider(name);
  // Layers work with `any_provider` as with each other provider.
  co_await with(provider | timeout(std::chrono::seconds(10)), [&](auto& env) -> awaitable<void> {
    // `name` comes from the user, so it is passed as an argument of its own. In a shell line it could start other
    // commands.
    command_result result = co_await env.run_command(argv("echo", "hello from", name));
    std::cout << result.out_text();
  });
}

int main(int count, char** arguments) { return cofferdam::run(hello(count > 1 ? arguments[1] : "sandbox")); }
