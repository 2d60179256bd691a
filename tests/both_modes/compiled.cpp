// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#error "this file is of the compiled mode"
#endif
#define library compiled_library
#include "both_modes/echo_body.hpp"
