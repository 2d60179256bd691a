// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A consumer that uses only core: runs a coroutine over its own provider and prints a message.

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/version.hpp>

#include "stranger.hpp"

int main() { return stranger::run(); }
