// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Code cannot run in an environment without start(). The message names the member.
// expect: python\(\) needs an environment with awaitable<process> start
// within: 8

#include <cofferdam/code/python.hpp>

#include "minimal_provider.hpp"

#ifdef FIXED
using environment = minimal::streaming;
#else
using environment = minimal::environment;
#endif

struct recipe {
  cofferdam::awaitable<environment> open() const;
};

void work() { recipe() | cofferdam::python(); }

int main() {}
