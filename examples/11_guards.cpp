// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Checks Python code before it runs. Guards refuse code, with advice for the model that wrote it. Expected output: a
// sentence for each of three refusals, and the output of the code that is accepted.
#include <cofferdam/python.hpp>
#include <cofferdam/sandbox.hpp>

#include <iostream>

using namespace cofferdam;

constexpr const char* attempts[] = {
    "import socket\nsocket.create_connection(('example.org', 80))",
    "import json\nopen('/etc/passwd').read()",
    "while True: pass",
    "import json\nprint(json.dumps([1, 2, 3]))",
};

awaitable<void> try_each() {
  auto guarded = sandbox() | python() | check_syntax() | allow_imports("json") | reject_patterns();

  co_await with(guarded, [](auto& runner) -> awaitable<void> {
    for (const char* code : attempts) {
      code_result result = co_await runner.run_code(code_request(code));
      std::cout << (result.ok() ? result.out().text() : result.reason() + "\n");
    }
  });
}

int main() { return cofferdam::run(try_each()); }
