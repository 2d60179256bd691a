// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// g++ 12 would destroy the captures of a temporary lambda twice, so with() for a code runner does not accept such a
// lambda with g++ 12.
// only: g++ < 13
// expect: cofferdam: .*Name the lambda in a statement of its own

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/with.hpp>

#include <string>

struct runner {
  cofferdam::awaitable<cofferdam::code_result> run_code(cofferdam::code_request) { co_return cofferdam::code_result(); }
  cofferdam::awaitable<void> close() { co_return; }
};

struct recipe {
  cofferdam::awaitable<runner> open() const { co_return runner(); }
};

cofferdam::awaitable<void> work(std::string name) {
#ifdef FIXED
  auto body = [name](auto&) -> cofferdam::awaitable<void> { co_return; };
  co_await cofferdam::with(recipe(), body);
#else
  co_await cofferdam::with(recipe(), [name](auto&) -> cofferdam::awaitable<void> { co_return; });
#endif
}

int main() {}
