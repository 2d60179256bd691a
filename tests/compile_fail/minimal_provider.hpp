// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/process.hpp>

#include <cstddef>
#include <string>

// The smallest valid provider and environment. Each test case makes one mistake with them.
namespace minimal {

struct environment {
  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command) {
    co_return cofferdam::command_result();
  }
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string, std::size_t) { co_return cofferdam::bytes(); }
  cofferdam::awaitable<void> write_file(std::string, cofferdam::bytes_view) { co_return; }
  cofferdam::awaitable<void> close() { co_return; }
};

struct streaming : environment {
  cofferdam::awaitable<cofferdam::process> start(cofferdam::command) { co_return cofferdam::process(); }
};

struct provider {
  cofferdam::awaitable<environment> open() const { co_return environment(); }
};

static_assert(cofferdam::code_exec_provider<provider>);

}  // namespace minimal
