// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A backend that lacks a member does not convert to any_provider. The message names the member.
// expect: cofferdam: the environment has no usable member close

#include <cofferdam/core/any_provider.hpp>

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

cofferdam::any_provider choose() { return cofferdam::any_provider{recipe()}; }

int main() {}
