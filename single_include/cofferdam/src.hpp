// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The compiled mode of the single header: one file of the program includes this, before anything else of
// cofferdam. Written by ./dev amalgamate.

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#error "cofferdam/src.hpp belongs to the compiled mode: define COFFERDAM_SEPARATE_COMPILATION in every file"
#endif
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 warns about frames that hold a lambda, though a frame is as local as the function it belongs to.
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
#define COFFERDAM_SOURCE
#include <cofferdam/cofferdam.hpp>
