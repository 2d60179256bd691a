// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// with() takes a recipe for a runner (an object that opens runners, such as python()), not an open runner. The message
// shows how to use the runner.
// expect: cofferdam: this runner is already open.*call the members
// within: 12

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/with.hpp>

struct runner {
  cofferdam::awaitable<cofferdam::code_result> run_code(cofferdam::code_request);
  cofferdam::awaitable<void> close();
};

struct recipe {
  cofferdam::awaitable<runner> open() const;
};

cofferdam::awaitable<void> work() {
#ifdef FIXED
  recipe place;
#else
  runner place;
#endif
  co_await cofferdam::with(place, [](auto&) -> cofferdam::awaitable<void> { co_return; });
}

int main() {}
