// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers of programs that need commands in containers.

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/core.hpp>
