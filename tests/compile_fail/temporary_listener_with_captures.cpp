// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// g++ 12 would destroy the captures of a temporary lambda twice, so stream_output() does not accept such a lambda with
// g++ 12.
// only: g++ < 13
// expect: cofferdam: .*Name the lambda in a statement of its own

#include <cofferdam/core/stream_output.hpp>

#include "minimal_provider.hpp"

#include <string>

cofferdam::awaitable<void> work(minimal::streaming& environment, std::string prefix) {
#ifdef FIXED
  auto print = [prefix](const cofferdam::output_chunk&) {};
  cofferdam::command_result result = co_await cofferdam::stream_output(environment, cofferdam::shell("true"), print);
#else
  cofferdam::command_result result = co_await cofferdam::stream_output(environment, cofferdam::shell("true"),
                                                                       [prefix](const cofferdam::output_chunk&) {});
#endif
  static_cast<void>(result);
}

int main() {}
