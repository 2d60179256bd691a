// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Runs a command in a virtual machine at E2B, a cloud service. Expected output: the kernel of the machine, or one line
// if the environment variable E2B_API_KEY is not set.
#include <cofferdam/e2b.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>

using namespace cofferdam;

awaitable<void> look_around() {
  e2b::provider machines = e2b::from_template("base").lifetime(std::chrono::minutes(1)).without_internet();
  co_await with(machines, [](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command("uname -sr");
    std::cout << result.out_text();
  });
}

int main() {
  if (std::getenv("E2B_API_KEY") != nullptr) return cofferdam::run(look_around());
  std::cout << "no sandbox: set E2B_API_KEY to a key from https://e2b.dev\n";
}
