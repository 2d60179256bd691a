// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Lets the user of the program choose the backend: `07_choose_backend docker:debian:stable`. Expected output without an
// argument: one line from the sandbox. An unknown name is an error that lists the known ones.
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
  // Layers stack on any_provider as on every other one.
  co_await with(provider | timeout(std::chrono::seconds(10)), [&](auto& env) -> awaitable<void> {
    // The name is not ours, so it is a word of its own and no part of a shell line.
    command_result result = co_await env.run_command(argv("echo", "hello from", name));
    std::cout << result.out_text();
  });
}

int main(int count, char** arguments) { return cofferdam::run(hello(count > 1 ? arguments[1] : "sandbox")); }
