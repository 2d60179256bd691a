// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Runs Python that calls a function of this program. Expected output: the line that the code prints, the value of its
// last expression, and the exception of the code that divides by zero.
#include <cofferdam/python.hpp>
#include <cofferdam/sandbox.hpp>

#include <boost/json.hpp>

#include <iostream>
#include <utility>

using namespace cofferdam;

// The arguments come from the code: their names and types are checked, their values are not.
awaitable<boost::json::value> tide(boost::json::object arguments) {
  const double metres = arguments.at("place") == "Brest" ? 6.5 : 1.5;
  co_return boost::json::value(metres);
}

awaitable<void> ask() {
  co_await with(sandbox() | python(), [](auto& runner) -> awaitable<void> {
    code_request request("height = tide('Brest')\nprint(f'{height} m at Brest')\nheight > limit");
    request.variable("limit", 5).function(host_function("tide", tide).parameter("place", "str"));
    code_result result = co_await runner.run_code(std::move(request));
    std::cout << result.out().text() << "above the limit: " << result.value_text() << "\n";

    code_result failed = co_await runner.run_code(code_request("1 / 0"));
    if (failed.failure()) std::cout << failed.failure()->type() << ": " << failed.failure()->message() << "\n";
  });
}

int main() { return cofferdam::run(ask()); }
