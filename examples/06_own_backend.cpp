// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Uses a backend of your own: the class in custom_backend.hpp. Layers work with it as with each backend of the library.
// `list_directory` works too, although the class has no such function. Expected output: a count of lines, a file, and a
// refusal.
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/sandbox.hpp>

#include "custom_backend.hpp"

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

using namespace cofferdam;

awaitable<void> use(std::string folder) {
  auto provider = folder_provider(folder) | allow_commands("wc -l [a-z]+\\.txt");
  co_await with(provider, [](auto& env) -> awaitable<void> {
    co_await write_text(env, "poem.txt", "one line\nand another\n");
    command_result counted = co_await env.run_command("wc -l poem.txt");
    std::cout << format_result(counted) << "\n";
    std::vector<directory_entry> names = co_await list_directory(env, ".");
    for (const directory_entry& name : names) std::cout << name.path() << ", " << name.size() << " bytes\n";
    command_result refused = co_await env.run_command("wc -l *");
    std::cout << format_result(refused) << "\n";
  });
}

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "cofferdam-own-backend";
  std::filesystem::create_directories(folder);
  const int status = cofferdam::run(use(folder.string()));
  std::filesystem::remove_all(folder);
  return status;
}
