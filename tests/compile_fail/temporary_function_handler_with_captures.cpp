// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// g++ 12 would destroy the captures of a temporary lambda twice, so the handler of a function cannot be such a lambda
// with g++ 12.
// only: g++ < 13
// expect: cofferdam: .*Name the lambda in a statement of its own

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/tools/function.hpp>

#include <string>
#include <utility>

struct runner {
  cofferdam::awaitable<cofferdam::code_result> run_code(cofferdam::code_request) { co_return cofferdam::code_result(); }
};

cofferdam::awaitable<void> work(runner& python, std::string greeting) {
  cofferdam::code_request request("greet()");
#ifdef FIXED
  auto greet = [greeting]() -> cofferdam::awaitable<std::string> { co_return greeting; };
  cofferdam::code_result result =
      co_await python.run_code(request.function(cofferdam::tools::function("greet", "Greets.", greet)));
#else
  cofferdam::code_result result = co_await python.run_code(request.function(cofferdam::tools::function(
      "greet", "Greets.", [greeting]() -> cofferdam::awaitable<std::string> { co_return greeting; })));
#endif
  static_cast<void>(result);
}

int main() {}
