// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#if defined(COFFERDAM_SEPARATE_COMPILATION)
#error "this file is the header-only one"
#endif
#define library header_only_library
#include "both_modes/echo_body.hpp"
