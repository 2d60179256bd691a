// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers for a program that runs commands on this machine, isolated by Linux namespaces and a system call filter.

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/core.hpp>
