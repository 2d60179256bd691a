// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers of programs that need commands on this machine, behind the walls of the kernel.

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/core.hpp>
