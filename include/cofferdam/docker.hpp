// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// Includes what a program needs to run commands in containers.

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/core.hpp>
