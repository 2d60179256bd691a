// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The body of with() for a code runner must return an awaitable.
// expect: cofferdam: .*takes the environment or runner by reference and declares its return type

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/with.hpp>

struct runner {
  cofferdam::awaitable<cofferdam::code_result> run_code(cofferdam::code_request) { co_return cofferdam::code_result(); }
  cofferdam::awaitable<void> close() { co_return; }
};

struct recipe {
  cofferdam::awaitable<runner> open() const { co_return runner(); }
};

cofferdam::awaitable<void> work() {
#ifdef FIXED
  co_await cofferdam::with(recipe(), [](auto&) -> cofferdam::awaitable<void> { co_return; });
#else
  co_await cofferdam::with(recipe(), [](auto&) {});
#endif
}

int main() {}
