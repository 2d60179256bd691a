// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// An environment must have write_file(). The message names the member and shows how to write it.
// expect: cofferdam: the environment has no usable member write_file

#include <cofferdam/core/with.hpp>

#include <cstddef>
#include <string>

struct place {
  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command);
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string, std::size_t);
#ifdef FIXED
  cofferdam::awaitable<void> write_file(std::string, cofferdam::bytes_view);
#else
  cofferdam::awaitable<void> write_file(std::string, std::string);
#endif
  cofferdam::awaitable<void> close();
};

struct recipe {
  cofferdam::awaitable<place> open() const;
};

cofferdam::awaitable<void> work() {
  co_await cofferdam::with(recipe(), [](auto&) -> cofferdam::awaitable<void> { co_return; });
}

int main() {}
