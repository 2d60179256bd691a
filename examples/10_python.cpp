// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Runs Python code that calls a function of this program. Expected output: a line that the code prints, the value of
// its last expression, and the exception of code that divides by zero.
#include <cofferdam/python.hpp>
#include <cofferdam/sandbox.hpp>

#include <iostream>
#include <string>
#include <utility>

using namespace cofferdam;

// The code in the sandbox chooses the arguments. The library checks their types; this function must check their values.
awaitable<double> height_at(std::string place) { co_return place == "Brest" ? 6.5 : 1.5; }

awaitable<void> ask() {
  tools::function tide("tide", "Returns the height of the tide at a place, in metres.",
                       tools::argument("place", tools::text, "Name of a harbour."), height_at);

  co_await with(sandbox() | python(), [&](auto& runner) -> awaitable<void> {
    code_request request("height = tide('Brest')\nprint(f'{height} m at Brest')\nheight > limit");
    request.variable("limit", 5).function(tide);
    code_result result = co_await runner.run_code(std::move(request));
    std::cout << result.out().text() << "above the limit: " << result.value_text() << "\n";

    code_result failed = co_await runner.run_code(code_request("1 / 0"));
    if (failed.failure()) std::cout << failed.failure()->type() << ": " << failed.failure()->message() << "\n";
  });
}

int main() { return cofferdam::run(ask()); }
