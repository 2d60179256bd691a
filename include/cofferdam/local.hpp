// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers of programs that need commands on this machine, without a wall.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core.hpp>
