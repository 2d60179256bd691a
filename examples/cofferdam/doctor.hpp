// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include "options.hpp"

namespace program {

/// Prints the isolation that this machine can enforce with each provider. Returns 0 if the selected provider works, and
/// otherwise 1.
int examine(const mcp_options& options);

}  // namespace program
