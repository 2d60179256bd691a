// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A layer wraps only a whole environment. The message names the member that is wrong.
// expect: the environment has no usable member read_file
// within: 8

#include <cofferdam/middleware/timeout.hpp>

#include <chrono>
#include <cstddef>
#include <string>

struct environment {
  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command);
#ifdef FIXED
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string, std::size_t);
#else
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string);
#endif
  cofferdam::awaitable<void> write_file(std::string, cofferdam::bytes_view);
  cofferdam::awaitable<void> close();
};

struct recipe {
  cofferdam::awaitable<environment> open() const;
};

void work() { recipe() | cofferdam::timeout(std::chrono::seconds(3)); }

int main() {}
