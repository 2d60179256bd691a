// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A callable that is safe as an argument inside an awaited expression. `Callable` is the type deduced for a parameter
/// `Callable&&`, so it is a reference for a named object. g++ before 13 destroys a temporary argument twice. With that
/// compiler, only named objects and temporaries with a trivial destructor are safe, and temporaries of a class that has
/// a constructor and declares `safe_as_temporary`.
template <class Callable>
concept safe_callable = !destroys_temporaries_twice || std::is_lvalue_reference_v<Callable> ||
                        std::is_trivially_destructible_v<std::remove_cvref_t<Callable>> ||
                        requires { typename std::remove_cvref_t<Callable>::safe_as_temporary; };

/// Stops the compilation, with an error message for the user, if the callable is not safe. A function that takes a
/// callable begins with `detail::require_safe_callable<Callable>();`, and copies or moves the callable into its own
/// coroutine.
template <class Callable>
constexpr void require_safe_callable() noexcept {
  static_assert(
      safe_callable<Callable>,
      "cofferdam: g++ before 13 destroys the captures of a temporary lambda twice inside an awaited expression. "
      "Name the lambda in a statement of its own and pass the name (`auto body = [text](...) {...};`, then "
      "`body` without std::move), or capture by reference");
}

/// The parameter type of a function that stores a callable as a `std::function<Signature>`. It converts from everything
/// from which `std::function` converts, except the temporaries that `require_safe_callable` refuses.
template <class Signature>
class callable_argument {
 public:
  using function = std::function<Signature>;

  callable_argument() = default;
  callable_argument(function callable) : callable_(std::move(callable)) {}
  template <class Callable>
    requires(!std::same_as<std::remove_cvref_t<Callable>, callable_argument> &&
             !std::same_as<std::remove_cvref_t<Callable>, function> && std::constructible_from<function, Callable>)
  callable_argument(Callable&& callable) : callable_(std::forward<Callable>(callable)) {
    require_safe_callable<Callable>();
  }

  /// Moves the callable out. The result is empty if no callable was given.
  function take() noexcept { return std::move(callable_); }

 private:
  function callable_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
