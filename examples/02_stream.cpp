// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Reads the output of a command while the command runs, and shows its progress. Expected output: a percentage after
// each of four steps, and then the exit status.
#include <cofferdam/sandbox.hpp>

#include <iostream>

using namespace cofferdam;

awaitable<void> watch() {
  co_await with(sandbox(), [](auto& env) -> awaitable<void> {
    process running = co_await env.start("for step in 1 2 3 4; do sleep 0.1; echo step $step; done");
    int steps = 0;
    while (output_chunk piece = co_await running.read()) {
      // A chunk ends anywhere: it may contain half a line or several lines.
      for (const char c : as_text(piece.data()))
        if (c == '\n') std::cout << ++steps * 25 << " %" << std::endl;
    }
    command_result result = co_await running.wait();
    std::cout << "exit status " << result.exit_code() << "\n";
  });
}

int main() { return cofferdam::run(watch()); }
