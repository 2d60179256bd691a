// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Runs one command in a sandbox. Expected output: one line, printed by a shell inside the sandbox.
#include <cofferdam/sandbox.hpp>

#include <iostream>

using namespace cofferdam;

awaitable<void> hello() {
  co_await with(sandbox(), [](auto& env) -> awaitable<void> {
    auto result = co_await env.run_command("echo hello from inside");
    std::cout << result.out_text();
  });
}

int main() { return cofferdam::run(hello()); }
