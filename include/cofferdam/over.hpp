// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers for a program that runs commands in a place that another program reaches, such as ssh.

#include <cofferdam/backends/over.hpp>
#include <cofferdam/core.hpp>
