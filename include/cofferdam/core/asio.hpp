// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

// A standard header has to come before the first one of Asio. Asio 1.22 asks the standard library's own macros whether
// there is an aligned allocation, and where it is the first header of a file they are not defined yet: that file would
// free coroutine frames by another function than the one that made them.
// clang-format off
#include <cstddef>

#include <asio/awaitable.hpp>
#include <asio/detail/config.hpp>
#include <asio/version.hpp>
// clang-format on

// The only file that looks at Asio's version; everything else uses the names below.

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

namespace cofferdam::inline v0 {

/// What every operation of the library returns: lazy, awaited once, run by the executor of the coroutine that awaits it.
template <class T>
using awaitable = asio::awaitable<T>;

namespace detail {

#if ASIO_VERSION < 102300
inline constexpr asio::experimental::deferred_t deferred{};
#else
inline constexpr asio::deferred_t deferred{};
#endif

}  // namespace detail
}  // namespace cofferdam::inline v0
