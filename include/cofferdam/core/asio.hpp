// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

// A standard header must come before the first Asio header. Asio 1.22 tests macros of the standard library to find out
// if aligned allocation exists. If an Asio header is the first header of a file, these macros are not defined yet, and
// Asio uses another function in that file to free coroutine frames than the rest of the program uses to allocate them.
// clang-format off
#include <cstddef>

#include <asio/awaitable.hpp>
#include <asio/detail/config.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/version.hpp>
// clang-format on

// This header includes the Asio headers for coroutines. It is the only file of the library that tests the versions of
// Asio and of the compiler. All other files use the names that it defines.
//
// Many classes with coroutine members are templates with an unused parameter: `x` is an alias of `basic_x<>`. The
// reason is the compile time. Without optimisation, g++ compiles every coroutine that a header defines, even an unused
// one, and everything that the coroutine calls. If the coroutine is in a template, g++ compiles it only when the
// program uses it. Some functions have `template <class = void>` for the same reason. A function in a header that is
// not a template must not call such a function, because the call would make g++ compile it. In a template, g++ also
// compiles an operation of Asio at once if no argument depends on the template's parameter; `await_in` depends on it.

#if !defined(ASIO_STANDALONE)
#error \
    "cofferdam needs standalone Asio: define ASIO_STANDALONE in every file (the CMake target cofferdam::cofferdam does)"
#endif
#if !defined(ASIO_HAS_CO_AWAIT)
#error "cofferdam needs coroutines: compile as C++20 and, with clang and Asio before 1.26, define ASIO_HAS_CO_AWAIT"
#endif
#if ASIO_VERSION < 102201
#error "cofferdam needs Asio 1.22.1 or newer"
#endif

#if ASIO_VERSION < 102300
#include <asio/experimental/deferred.hpp>
#else
#include <asio/deferred.hpp>
#endif

namespace cofferdam::inline COFFERDAM_ABI {

/// The return type of all asynchronous operations. The operation starts when the program awaits the object, and an
/// object can be awaited once. The operation runs on the executor of the awaiting coroutine.
template <class T>
using awaitable = asio::awaitable<T>;

namespace detail {

#if ASIO_VERSION < 102300
inline constexpr asio::experimental::deferred_t deferred{};
#else
inline constexpr asio::deferred_t deferred{};
#endif

template <class>
class await_token {
 public:
  using type = asio::use_awaitable_t<>;
};

/// The same as `asio::use_awaitable`, for coroutines in templates. It depends on a parameter of the template, so that
/// g++ compiles the operation only with the coroutine, and not with every file that includes the header.
template <class Unused>
inline constexpr typename await_token<Unused>::type await_in{};

/// True if the compiler is g++ before 13. Inside an awaited expression, that compiler destroys a temporary lambda with
/// by-value captures twice.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
inline constexpr bool destroys_temporaries_twice = true;
#else
inline constexpr bool destroys_temporaries_twice = false;
#endif

}  // namespace detail
}  // namespace cofferdam::inline COFFERDAM_ABI
