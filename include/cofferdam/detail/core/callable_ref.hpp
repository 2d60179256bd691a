// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <concepts>
#include <memory>
#include <type_traits>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class Signature>
class callable_ref;

/// A reference to a callable of any type, for functions that should not be compiled once for each callable. Unlike
/// `std::function`, it neither copies nor allocates, and each callable costs only one small function. The caller keeps
/// the callable alive.
template <class Result, class... Arguments>
class callable_ref<Result(Arguments...)> {
 public:
  template <class Callable>
    requires(!std::same_as<std::remove_const_t<Callable>, callable_ref>)
  callable_ref(Callable& callable) noexcept
      : callable_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))), call_(&call<Callable>) {}

  Result operator()(Arguments... arguments) const { return call_(callable_, static_cast<Arguments&&>(arguments)...); }

 private:
  template <class Callable>
  static Result call(void* callable, Arguments... arguments) {
    return (*static_cast<Callable*>(callable))(static_cast<Arguments&&>(arguments)...);
  }

  void* callable_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
