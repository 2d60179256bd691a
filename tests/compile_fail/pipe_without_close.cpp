// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A layer cannot wrap a provider whose environment lacks close(). The message names the member.
// expect: cofferdam: the environment has no usable member close

#include <cofferdam/middleware/timeout.hpp>

#include <cstddef>
#include <string>

struct place {
  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command);
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string, std::size_t);
  cofferdam::awaitable<void> write_file(std::string, cofferdam::bytes_view);
#ifdef FIXED
  cofferdam::awaitable<void> close();
#endif
};

struct recipe {
  cofferdam::awaitable<place> open() const;
};

int main() {
  using namespace std::chrono_literals;
#ifdef FIXED
  auto wrapped = recipe() | cofferdam::timeout(1s);
  static_cast<void>(wrapped);
#else
  recipe() | cofferdam::timeout(1s);
#endif
}
