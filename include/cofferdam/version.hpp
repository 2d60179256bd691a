// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#if defined(COFFERDAM_SINGLE_HEADER) && !defined(COFFERDAM_AMALGAMATION)
#error "cofferdam: the single header was included first in this file; include either it or the single headers, not both"
#endif

/// The version, as one number that the preprocessor can compare: major * 10000 + minor * 100 + patch.
#define COFFERDAM_VERSION 100

#include <string_view>

namespace cofferdam::inline v0 {

/// The version as text. CMake and the packages read it from this line.
inline constexpr std::string_view version = "0.1.0";

}  // namespace cofferdam::inline v0
