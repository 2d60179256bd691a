// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers of programs that need a server for E2B's SDKs over any backend.

#include <cofferdam/core.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>
