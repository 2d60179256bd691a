// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A stranger that uses core alone: runs a coroutine over a provider of its own and says so.

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/with_environment.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/version.hpp>

#include "stranger.hpp"

int main() { return stranger::run(); }
