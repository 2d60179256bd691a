// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The common part of the consumers core.cpp and whole.cpp. The including file includes the library first, in the form
// that it tests.

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>

namespace stranger {

class environment {
 public:
  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command c) {
    ran_ = c.timeout().has_value();
    co_return cofferdam::command_result();
  }
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string, std::size_t) { co_return cofferdam::bytes(); }
  cofferdam::awaitable<void> write_file(std::string, cofferdam::bytes_view) { co_return; }
  cofferdam::awaitable<void> close() {
    std::cout << "cofferdam " << cofferdam::version << (ran_ ? ": ran\n" : ": did not run\n");
    co_return;
  }

 private:
  bool ran_ = false;
};

class provider {
 public:
  cofferdam::awaitable<environment> open() const { co_return environment(); }
};

inline cofferdam::awaitable<void> work() {
  auto body = [](auto& inside) -> cofferdam::awaitable<void> {
    cofferdam::command_result result = co_await inside.run_command(cofferdam::argv("true"));
    static_cast<void>(result);
  };
  co_await cofferdam::with(provider() | cofferdam::timeout(std::chrono::seconds(5)), body);
}

inline int run() {
  asio::io_context context;
  std::exception_ptr failure;
  asio::co_spawn(context, work(), [&failure](std::exception_ptr thrown) { failure = thrown; });
  context.run();
  return failure ? 1 : 0;
}

}  // namespace stranger
