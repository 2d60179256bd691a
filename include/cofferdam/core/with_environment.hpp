// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/with_opened.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace cofferdam::inline v0 {

/// Opens an environment, runs `body(environment)` with it, closes it whatever happened, and returns what the body
/// returned. Prefer this to `open()` and `close()` by hand.
///
/// **Capture by reference in a body written on the spot** (`[&](auto& env) -> awaitable<void> {…}`): g++ 12 destroys a
/// by-value capture of such a temporary twice. A body with captures by value is named first, then moved in.
///
/// The environment stays at one address for the whole run of the body. Where the body and the closing both throw, the
/// body's exception is the one that arrives.
/// \param provider    the recipe, by value: temporaries are welcome.
/// \param body        takes a reference to the environment, yields `awaitable<T>`; T is void or movable.
/// \throws            what `open()`, the body or `close()` throws.
/// \par Cancellation  is passed to `open()` and to the body; closing is not cancelled.
/// \par Example       examples/quickstart.cpp
template <code_exec_provider Provider, class Body>
  requires std::invocable<Body&, environment_of<Provider>&>
auto with_environment(Provider provider, Body body) -> std::invoke_result_t<Body&, environment_of<Provider>&> {
  return detail::with_opened<environment_of<Provider>>(std::move(provider), std::move(body));
}

}  // namespace cofferdam::inline v0
