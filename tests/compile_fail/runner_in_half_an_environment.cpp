// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// An environment without write_file() is none, so no code runs in it. The message names the member.
// expect: the environment has no usable member write_file
// within: 8

#include <cofferdam/code/python.hpp>

#include <cstddef>
#include <string>

struct environment {
  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command);
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string, std::size_t);
  cofferdam::awaitable<cofferdam::process> start(cofferdam::command);
  cofferdam::awaitable<void> close();
#ifdef FIXED
  cofferdam::awaitable<void> write_file(std::string, cofferdam::bytes_view);
#endif
};

struct recipe {
  cofferdam::awaitable<environment> open() const;
};

void work() { recipe() | cofferdam::python(); }

int main() {}
