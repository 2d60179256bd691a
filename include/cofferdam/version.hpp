// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#if defined(COFFERDAM_SINGLE_HEADER) && !defined(COFFERDAM_AMALGAMATION)
#error "cofferdam: the single header was included first in this file; include either kind of header, not both"
#endif
#if __cplusplus < 202002L
#error "cofferdam needs C++20: compile with -std=c++20"
#endif
// The warden's program is freestanding and uses neither. It includes this header for the namespace.
#if __STDC_HOSTED__ && !defined(__cpp_exceptions)
#error "cofferdam reports errors as exceptions: compile without -fno-exceptions"
#endif
#if __STDC_HOSTED__ && !defined(__cpp_rtti)
#error "cofferdam compares the types of executors with typeid: compile without -fno-rtti"
#endif

// Asio keeps the memory of ended coroutines in a cache of the thread. With optimisation, clang keeps the address of the
// cache while a coroutine waits, so a coroutine that continues on another thread damages the cache of the first. The
// definition turns the cache off. It must be the same in all files of a program.
#if defined(__clang__) && __STDC_HOSTED__ && !defined(ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING)
#if defined(ASIO_AWAITABLE_HPP)
#error "cofferdam: clang needs -DASIO_DISABLE_AWAITABLE_FRAME_RECYCLING in every file that includes Asio first"
#endif
#define ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING 1
#endif

/// The version of the library as one number, for comparisons in the preprocessor: major * 10000 + minor * 100 + patch.
#define COFFERDAM_VERSION 100

// The library has two modes (see README). In header-only mode, every function body is in a header. In compiled mode,
// most bodies are compiled once: in the one file of the program that includes cofferdam/src.hpp, or in the library
// cofferdam::compiled. Each mode has its own inline namespace. Therefore one program can link libraries of both modes.
// If a library of one mode passes an object to a library of the other mode, the linker reports an undefined reference,
// and `v0_compiled` is in the name of the missing function or in the name that the other library defines. A compiled
// library without Asio's cache of frames (see above) has a name of its own, because it must not share a program with
// files that use the cache, such as those of another compiler.
#if defined(COFFERDAM_SEPARATE_COMPILATION)
#if defined(ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING)
#define COFFERDAM_ABI v0_compiled_without_frame_recycling
#else
#define COFFERDAM_ABI v0_compiled
#endif
#define COFFERDAM_DECL
// Explicitly instantiates a template, because files that see only its declaration cannot instantiate it.
#define COFFERDAM_INSTANTIATE(...) template __VA_ARGS__;
#else
#define COFFERDAM_ABI v0
#define COFFERDAM_DECL inline
#define COFFERDAM_INSTANTIATE(...)
#endif

#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI {

/// The version of the library as text: major.minor.patch. CMake reads the version from this line.
inline constexpr std::string_view version = "0.1.0";

}  // namespace cofferdam::inline COFFERDAM_ABI
