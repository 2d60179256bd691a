// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Runs commands in a place that another program reaches through its standard input and output. Here the program is
// `env`, and the place is this machine; `over("ssh", "host")` works in the same way. Expected output: the end of a long
// count, a text in capitals, and a command that was ended at its time limit, with its output until then.
#include <cofferdam/over.hpp>

#include <chrono>
#include <iostream>

using namespace cofferdam;

awaitable<void> work() {
  co_await with(over("env"), [](auto& env) -> awaitable<void> {
    auto counted = co_await env.run_command("seq 1 100000 | tail -n 1; (setsid sleep 1000 &)");
    std::cout << "counted to " << counted.out_text();

    auto shouted = co_await env.run_command(argv("tr", "a-z", "A-Z").input("one pipe, many commands\n"));
    std::cout << shouted.out_text();

    auto slow = co_await env.run_command(shell("echo begun; sleep 1000").timeout(std::chrono::milliseconds(300)));
    std::cout << slow.out_text() << to_string(slow.kind()) << "\n";
  });
}

int main() { return cofferdam::run(work()); }
