// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers of programs that need commands in E2B's sandboxes, and its code interpreter.

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/e2b/code_interpreter.hpp>
#include <cofferdam/core.hpp>
