// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers for a program that runs trusted commands on this machine, without isolation.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core.hpp>
