// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>

#include <string>

namespace cofferdam::inline COFFERDAM_ABI {

/// An environment that can be paused and saved.
///
/// * `pause()` suspends all processes of the environment and keeps their state. Commands wait until `resume()`
///   continues the processes.
/// * `snapshot()` saves a copy of the file system and returns the name of the copy. The provider of the backend can
///   open new environments from this name.
template <class E>
concept suspendable_environment = code_exec_environment<E> && requires(E& e) {
  { e.pause() } -> awaitable_of<void>;
  { e.resume() } -> awaitable_of<void>;
  { e.snapshot() } -> awaitable_of<std::string>;
};

/// Returns true if `pause`, `resume` and `snapshot` work in this environment. Some types, such as `any_environment`,
/// support them only in some environments. Such a type has a member `bool can_suspend() const`. If `can_suspend()`
/// returns false, the three operations throw `error{exec_errc::unsupported}`.
template <code_exec_environment E>
bool can_suspend(const E& environment) noexcept {
  if constexpr (!suspendable_environment<E>) {
    return false;
  } else if constexpr (requires { environment.can_suspend(); }) {
    return environment.can_suspend();
  } else {
    return true;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI
