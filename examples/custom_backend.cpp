// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// What you will see: a backend of your own, in custom_backend.hpp, does what every other one does. Layers stack on it,
// `list` works although it has no listing of its own, and it passes the conformance suite (tests/examples/).
#include "custom_backend.hpp"

#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/format_result.hpp>
#include <cofferdam/core/with_environment.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/timeout.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

using namespace cofferdam;

awaitable<void> use(std::string folder) {
  auto provider = folder_provider(folder) | allow_commands("wc -l [a-z]+\\.txt") | timeout(std::chrono::seconds(10));
  co_await with_environment(provider, [](auto& env) -> awaitable<void> {
    co_await write_text(env, "poem.txt", "one line\nand another\n");
    command_result counted = co_await env.run_command(shell("wc -l poem.txt"));
    std::cout << format_result(counted) << "\n";
    std::vector<entry> names = co_await list(env, ".");
    for (const entry& name : names) std::cout << name.path() << ", " << name.size() << " bytes\n";
    command_result refused = co_await env.run_command(shell("wc -l *"));
    std::cout << format_result(refused) << "\n";
  });
}

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "cofferdam-custom-backend";
  std::filesystem::create_directories(folder);
  asio::io_context loop;
  int status = 0;
  asio::co_spawn(loop, use(folder.string()), [&](std::exception_ptr failure) {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      std::cerr << "custom_backend: " << error.what() << "\n";
      status = 1;
    }
  });
  loop.run();
  std::filesystem::remove_all(folder);
  return status;
}
