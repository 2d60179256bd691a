// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Keeps one Python interpreter ready for many runs. Runs do not affect each other, unless they share a context, which
// keeps variables. The example passes values in both directions, and lets the code call a function of this program.

#include <cofferdam/net/readable_json.hpp>
#include <cofferdam/python.hpp>
#include <cofferdam/sandbox.hpp>

#include <boost/json.hpp>

#include <iostream>
#include <string>
#include <utility>

namespace {

using namespace cofferdam;

/// Returns a height by its name. The Python code calls this function as `look_up(name)`.
awaitable<double> look_up(std::string name) { co_return name == "tide" ? 1.9 : 0.0; }

awaitable<void> show() {
  auto recipe = sandbox() | python().preload("json");

  co_await with(recipe, [&](auto& runner) -> awaitable<void> {
    code_request request("sum(numbers)");
    request.variable("numbers", boost::json::array{1, 2, 3});
    code_result result = co_await runner.run_code(std::move(request));
    std::cout << "the sum is " << readable_json(*result.value()) << "\n";

    code_request first("depth = look_up('tide') + 10");
    first.context("harbour").function(
        tools::function("look_up", "Returns a height in metres.", tools::argument("name"), look_up));
    co_await runner.run_code(std::move(first));
    code_request second("depth");
    second.context("harbour");
    code_result kept = co_await runner.run_code(std::move(second));
    std::cout << "the harbour is " << kept.value_text() << " m deep\n";

    code_result wrong = co_await runner.run_code(code_request("1 / 0"));
    std::cout << wrong.failure()->type() << " in line " << wrong.failure()->line() << "\n";
  });
}

}  // namespace

int main() { return cofferdam::run(show()); }
