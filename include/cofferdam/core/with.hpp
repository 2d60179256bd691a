// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/detail/core/command_files.hpp>
#include <cofferdam/detail/core/with_opened.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// A recipe that `with` opens: a provider of environments, or a recipe for a runner of code.
template <class P>
concept recipe =
    code_exec_provider<P> || (opens_runner<P> && std::copy_constructible<P> && has_close<environment_of<P>>);

/// Stops the compilation, with a sentence that explains why `P` is not a recipe.
template <class P>
constexpr void explain_recipe() noexcept {
  if constexpr (opens_runner<P>) {
    static_assert(std::copy_constructible<P>,
                  "cofferdam: a recipe can be copied, and this type cannot; keep what cannot be copied behind a "
                  "std::shared_ptr, or make it in open()");
    static_assert(has_close<environment_of<P>>,
                  "cofferdam: the runner has no usable member close; write awaitable<void> close()");
  } else if constexpr (requires(P& runner) { runner.run_code(any_argument()); }) {
    static_assert(opens_runner<P>,
                  "cofferdam: this runner is open already, and with opens one itself: call the members of this one "
                  "(run_code), or pass the recipe that opened it, such as local() | python()");
  } else {
    explain_provider<P>();
  }
}

}  // namespace detail

/// Opens an environment or a runner of code, runs `body(opened)`, closes it in every case, and returns the result of
/// the body. Prefer this to calling `open()` and `close()`.
///
/// **Capture by reference in a body written on the spot** (`[&](auto& env) -> awaitable<void> {…}`). A body that
/// captures by value must be a named object: g++ before 13 would destroy the captures of a temporary twice, so a
/// temporary does not compile there.
///
/// The environment or runner keeps its address while the body runs. If the body and the closing both throw, the
/// body's exception is thrown.
/// \param recipe      a provider of environments such as `local()`, or a recipe for a runner such as `local() |
///                    python()`; by value: temporaries are welcome.
/// \param body        takes a reference to the environment or runner, yields `awaitable<T>`; T is void or movable. A
///                    named one is copied; pass `std::ref(body)` to use it in place.
/// \throws            what `open()`, the body or `close()` throws.
/// \par Cancellation  is passed to `open()` and to the body; closing is not cancelled.
/// \par Example       examples/quickstart.cpp
template <detail::recipe Recipe, class Body>
  requires detail::body_for<Body, detail::opened_by<Recipe>>
auto with(Recipe recipe, Body&& body) -> detail::body_result<Body, detail::opened_by<Recipe>> {
  detail::require_safe_callable<Body>();
  return detail::with_opened<detail::opened_by<Recipe>>(std::move(recipe),
                                                        std::decay_t<Body>(std::forward<Body>(body)));
}

/// Explains in one sentence what is missing, if the recipe or the body cannot be used.
template <class Recipe, class Body>
  requires(!detail::recipe<Recipe> || !detail::body_for<Body, detail::opened_by<Recipe>>)
awaitable<void> with(const Recipe&, Body&&) {
  if constexpr (!detail::recipe<Recipe>)
    detail::explain_recipe<Recipe>();
  else
    static_assert(detail::body_for<Body, detail::opened_by<Recipe>>,
                  "cofferdam: with needs a body that takes a reference to the environment or runner and names its "
                  "return type, an awaitable: [&](auto& environment) -> cofferdam::awaitable<void> { ... }. Each layer "
                  "makes another type of environment");
  co_return;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
