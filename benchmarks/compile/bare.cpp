// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The yardstick of compile.py: what a program that runs a command with Asio alone costs to compile. Never changed:
// compile.py knows its hash.

// clang-format off
#include <cstddef>

#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
// clang-format on

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
asio::awaitable<std::string> output_of(const char* line) {
  int ends[2];
  if (::pipe2(ends, 02000000) != 0) throw std::runtime_error("pipe2");
  asio::posix::stream_descriptor in(co_await asio::this_coro::executor, ends[0]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  const char* argv[] = {"sh", "-c", line, nullptr};
  ::pid_t child = 0;
  ::posix_spawn(&child, "/bin/sh", &actions, nullptr, const_cast<char**>(argv), environ);
  ::close(ends[1]);
  std::string text;
  for (;;) {
    char buffer[4096];
    std::error_code failure;
    std::size_t n =
        co_await in.async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, failure));
    text.append(buffer, n);
    if (failure) break;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  co_return text;
}
asio::awaitable<void> run() {
  std::string t = co_await output_of("echo hello");
  std::cout << t;
}
int main() {
  asio::io_context context;
  asio::co_spawn(context, run(), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();
}
