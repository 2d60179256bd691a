// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A consumer of the package that uses only its core: runs a coroutine with its own provider, and prints a message.

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/version.hpp>

#include "stranger.hpp"

int main() { return stranger::run(); }
