// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A type without close() is no environment. The message names the missing member.
// expect: close

#include <cofferdam/core/code_exec_provider.hpp>

#include <cstddef>
#include <string>

struct mine {
  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command);
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string, std::size_t);
  cofferdam::awaitable<void> write_file(std::string, cofferdam::bytes_view);
#ifdef FIXED
  cofferdam::awaitable<void> close();
#endif
};

static_assert(cofferdam::code_exec_environment<mine>);

int main() {}
