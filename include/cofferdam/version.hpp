// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#if defined(COFFERDAM_SINGLE_HEADER) && !defined(COFFERDAM_AMALGAMATION)
#error "cofferdam: the single header was included first in this file; include either it or the single headers, not both"
#endif

/// The version, as one number that the preprocessor can compare: major * 10000 + minor * 100 + patch.
#define COFFERDAM_VERSION 100

// Two modes (README): header-only, and compiled, where the bodies of most functions are in one file of the program
// (cofferdam/src.hpp) or in the library cofferdam::compiled. Each mode has its own inline namespace, so that one
// program may contain libraries of both: an object that is passed from one to the other is an undefined reference,
// whose name contains `v0_compiled` on one side only.
#if defined(COFFERDAM_SEPARATE_COMPILATION)
#define COFFERDAM_ABI v0_compiled
#define COFFERDAM_DECL
// instantiates a template for files that see only its declaration
#define COFFERDAM_INSTANTIATE(...) template __VA_ARGS__;
#else
#define COFFERDAM_ABI v0
#define COFFERDAM_DECL inline
#define COFFERDAM_INSTANTIATE(...)
#endif

#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI {

/// The version as text. CMake and the packages read it from this line.
inline constexpr std::string_view version = "0.1.0";

}  // namespace cofferdam::inline COFFERDAM_ABI
