// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Runs two commands at once. `&&` waits for both results. `||` waits for the first command that throws nothing, and
// cancels the other one. Expected output: both results of the first pair, in the order of the code, and then one result
// of the second pair.
#include <cofferdam/sandbox.hpp>

#include <asio/experimental/awaitable_operators.hpp>

#include <iostream>
#include <tuple>
#include <variant>

using namespace cofferdam;
using namespace asio::experimental::awaitable_operators;

awaitable<void> race() {
  co_await with(sandbox(), [](auto& env) -> awaitable<void> {
    auto both = co_await (env.run_command("sleep 0.2; echo slow") && env.run_command("echo quick"));
    std::cout << "both: " << std::get<0>(both).out_text() << "both: " << std::get<1>(both).out_text();

    // `||` returns only after `sleep` and all processes that it has started have ended.
    auto first = co_await (env.run_command("sleep 1000") || env.run_command("echo the second command"));
    if (const command_result* winner = std::get_if<1>(&first)) std::cout << "first: " << winner->out_text();
  });
}

int main() { return cofferdam::run(race()); }
