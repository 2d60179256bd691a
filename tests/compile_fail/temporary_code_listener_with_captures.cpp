// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// g++ 12 would destroy the captures of a temporary lambda twice, so on_output() does not accept such a lambda with g++
// 12. Every function that stores a callable uses the same parameter type, callable_argument.
// only: g++ < 13
// expect: cofferdam: .*Name the lambda in a statement of its own

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>

#include <string>

struct runner {
  cofferdam::awaitable<cofferdam::code_result> run_code(cofferdam::code_request) { co_return cofferdam::code_result(); }
};

cofferdam::awaitable<void> work(runner& python, std::string prefix) {
#ifdef FIXED
  auto print = [prefix](cofferdam::output_stream, cofferdam::bytes_view) {};
  cofferdam::code_result result = co_await python.run_code(cofferdam::code_request("1").on_output(print));
#else
  cofferdam::code_result result = co_await python.run_code(
      cofferdam::code_request("1").on_output([prefix](cofferdam::output_stream, cofferdam::bytes_view) {}));
#endif
  static_cast<void>(result);
}

int main() {}
