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

/// The recipe of a pool of environments or runners.
template <class P>
concept opens_pool = requires(const environment_of<P>& pool) { pool.provider(); };

/// A type that `with` can open: a provider of environments, or a recipe for a runner of code or for a pool.
template <class P>
concept recipe = code_exec_provider<P> ||
                 ((opens_runner<P> || opens_pool<P>)&&std::copy_constructible<P> && has_close<environment_of<P>>);

/// Stops the compilation, with an error message that explains why `P` is not a recipe.
template <class P>
constexpr void explain_recipe() noexcept {
  if constexpr (opens_runner<P>) {
    static_assert(std::copy_constructible<P>,
                  "cofferdam: a runner provider must be copyable, and this type is not; hold non-copyable members in a "
                  "std::shared_ptr, or create them in open()");
    static_assert(has_close<environment_of<P>>,
                  "cofferdam: the runner has no usable member close; write awaitable<void> close()");
  } else if constexpr (requires(P& runner) { runner.run_code(any_argument()); }) {
    static_assert(opens_runner<P>,
                  "cofferdam: this runner is already open, and with() opens a runner itself: call the members of this "
                  "runner (run_code), or pass its provider, such as local() | python()");
  } else {
    explain_provider<P>();
  }
}

}  // namespace detail

/// Opens an environment or a runner of code, runs `body(opened)`, closes the environment or runner in every case, and
/// returns the result of the body. Prefer this function to calling `open()` and `close()`.
///
/// **Capture by reference in a lambda that you write inside the call** (`[&](auto& env) -> awaitable<void> {…}`). If a
/// lambda captures by value, store it in a variable first and pass the variable. With g++ before 13, the call does not
/// compile otherwise, because that compiler would destroy the captures of a temporary lambda twice.
///
/// The environment or runner keeps its address while the body runs. If both the body and `close()` throw, `with` throws
/// the exception of the body.
/// \param recipe      a provider of environments such as `local()`, a recipe for a runner such as `local() | python()`,
///                    or a pool such as `pool(local(), 4)`.
/// \param body        a callable that takes a reference to the environment or runner and returns `awaitable<T>`; `T` is
///                    void or movable. `with` copies a named callable; pass `std::ref(body)` to avoid the copy.
/// \throws            the exceptions of `open()`, the body and `close()`.
/// \par Cancellation  a cancellation reaches `open()` and the body. It does not stop `close()`.
/// \par Example       examples/quickstart.cpp
template <detail::recipe Recipe, class Body>
  requires detail::body_for<Body, detail::opened_by<Recipe>>
auto with(Recipe recipe, Body&& body) -> detail::body_result<Body, detail::opened_by<Recipe>> {
  detail::require_safe_callable<Body>();
  return detail::with_opened<detail::opened_by<Recipe>>(std::move(recipe),
                                                        std::decay_t<Body>(std::forward<Body>(body)));
}

/// Stops the compilation, with an error message that explains why `with` cannot use this recipe or body.
template <class Recipe, class Body>
  requires(!detail::recipe<Recipe> || !detail::body_for<Body, detail::opened_by<Recipe>>)
awaitable<void> with(const Recipe&, Body&&) {
  if constexpr (!detail::recipe<Recipe>)
    detail::explain_recipe<Recipe>();
  else
    static_assert(detail::body_for<Body, detail::opened_by<Recipe>>,
                  "cofferdam: with() needs a body that takes the environment or runner by reference and declares its "
                  "return type, an awaitable: [&](auto& environment) -> cofferdam::awaitable<void> { ... }. Use auto&, "
                  "because every layer creates another type of environment");
  co_return;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
