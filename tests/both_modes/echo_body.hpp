// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The body of both libraries. Each source file defines `library`, the namespace of this body, before it includes the
// file.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>

#include "both_modes/echo.hpp"

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <exception>
#include <string>
#include <typeinfo>

namespace library {

namespace {

cofferdam::awaitable<void> run_echo(const std::string& word, std::string& answer) {
  co_await cofferdam::with(cofferdam::local().without_warning(),
                           [&](cofferdam::local_environment& environment) -> cofferdam::awaitable<void> {
                             const cofferdam::command_result result =
                                 co_await environment.run_command(cofferdam::argv("echo", word));
                             answer = result.out().text();
                           });
}

}  // namespace

std::string echo(const std::string& word) {
  asio::io_context loop;
  std::string answer;
  std::exception_ptr failure;
  asio::co_spawn(loop, run_echo(word, answer), [&failure](std::exception_ptr thrown) { failure = thrown; });
  loop.run();
  if (failure) std::rethrow_exception(failure);
  return answer;
}

std::string type_name() { return typeid(cofferdam::local_environment).name(); }

}  // namespace library
