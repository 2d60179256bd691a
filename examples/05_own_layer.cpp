// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Wraps the sandbox in a layer of your own. A layer sees each command before the backend does: this layer prints the
// command, and refuses `sudo` with advice. Expected output: a command and its output, and then a refused command and
// the advice.
#include <cofferdam/core/layer.hpp>
#include <cofferdam/sandbox.hpp>

#include <iostream>
#include <optional>
#include <utility>

using namespace cofferdam;

template <code_exec_environment Inner>
class announce_layer : public layer<announce_layer<Inner>, Inner> {
 public:
  using layer<announce_layer, Inner>::layer;

  // Called for each command before it runs. This function can change the command, or return a result instead of running
  // it.
  std::optional<command_result> admit(command& c) {
    std::cout << "$ " << c.line() << "\n";
    if (c.line().starts_with("sudo "))
      return command_result::refused(error_kind::command_not_allowed, "sudo is not allowed.", "Run it without sudo.");
    return std::nullopt;
  }
};

class announce : public pipeable {
 public:
  template <code_exec_environment Inner>
  announce_layer<Inner> attach(Inner inner) const {
    return announce_layer<Inner>(std::move(inner));
  }
};

awaitable<void> use() {
  co_await with(sandbox() | announce(), [](auto& env) -> awaitable<void> {
    command_result counted = co_await env.run_command("seq 3 | wc -l");
    std::cout << counted.out_text();
    command_result refused = co_await env.run_command("sudo reboot");
    std::cout << refused.advice() << "\n";
  });
}

int main() { return cofferdam::run(use()); }
