// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/core/with_opened.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace cofferdam::inline v0 {

/// Opens a runner, runs `body(runner)`, closes it whatever happened, and returns what the body returned: for runners what
/// `with_environment` is for environments.
///
/// **Capture by reference in a body written on the spot**: g++ 12 destroys a by-value capture of such a temporary twice.
/// \throws            what `open()`, the body or `close()` throws; the body's exception first.
/// \par Cancellation  is passed to `open()` and to the body; closing is not cancelled.
template <code_runner_provider Provider, class Body>
  requires std::invocable<Body&, runner_of<Provider>&>
auto with_runner(Provider provider, Body body) -> std::invoke_result_t<Body&, runner_of<Provider>&> {
  return detail::with_opened<runner_of<Provider>>(std::move(provider), std::move(body));
}

}  // namespace cofferdam::inline v0
