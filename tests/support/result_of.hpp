// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/with.hpp>

#include "support/run.hpp"

#include <utility>

namespace cofferdam_test {

/// Opens an environment of `recipe`, runs one command in it, and closes it.
template <class Recipe>
cofferdam::command_result result_of(const Recipe& recipe, cofferdam::command c) {
  return run([&]() -> cofferdam::awaitable<cofferdam::command_result> {
    auto body = [&](auto& env) -> cofferdam::awaitable<cofferdam::command_result> {
      cofferdam::command_result result = co_await env.run_command(std::move(c));
      co_return result;
    };
    cofferdam::command_result result = co_await cofferdam::with(recipe, body);
    co_return result;
  });
}

}  // namespace cofferdam_test
