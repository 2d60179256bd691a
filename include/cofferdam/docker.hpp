// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers for a program that runs commands in Docker containers.

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/core.hpp>
