// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>

#include <string>

namespace cofferdam::inline COFFERDAM_ABI {

/// An environment that can be paused: `pause()` suspends all processes of the environment and keeps their state.
/// Commands wait until `resume()` continues the processes.
template <class E>
concept pausable_environment = code_exec_environment<E> && requires(E& e) {
  { e.pause() } -> awaitable_of<void>;
  { e.resume() } -> awaitable_of<void>;
};

/// An environment that can be saved: `snapshot()` saves a copy of the file system and returns the name of the copy. The
/// provider of the backend can open new environments from this name.
template <class E>
concept snapshot_environment = code_exec_environment<E> && requires(E& e) {
  { e.snapshot() } -> awaitable_of<std::string>;
};

/// An environment that can be paused and saved.
template <class E>
concept suspendable_environment = pausable_environment<E> && snapshot_environment<E>;

/// Returns true if `pause` and `resume` work in this environment. Some types, such as `any_environment`, support them
/// only in some environments. Such a type has a member `bool can_pause() const`, or `bool can_suspend() const`, which
/// is also about `snapshot`. If the answer is false, the operations throw `error{exec_errc::unsupported}`.
template <code_exec_environment E>
bool can_pause(const E& environment) noexcept {
  if constexpr (!pausable_environment<E>) {
    return false;
  } else if constexpr (requires { environment.can_pause(); }) {
    return environment.can_pause();
  } else if constexpr (requires { environment.can_suspend(); }) {
    return environment.can_suspend();
  } else {
    return true;
  }
}

/// Returns true if `snapshot` works in this environment. A type that supports it only in some environments has a member
/// `bool can_snapshot() const`, or `bool can_suspend() const`. If the answer is false, `snapshot` throws
/// `error{exec_errc::unsupported}`.
template <code_exec_environment E>
bool can_snapshot(const E& environment) noexcept {
  if constexpr (!snapshot_environment<E>) {
    return false;
  } else if constexpr (requires { environment.can_snapshot(); }) {
    return environment.can_snapshot();
  } else if constexpr (requires { environment.can_suspend(); }) {
    return environment.can_suspend();
  } else {
    return true;
  }
}

/// Returns true if `pause`, `resume` and `snapshot` all work in this environment.
template <code_exec_environment E>
bool can_suspend(const E& environment) noexcept {
  return cofferdam::can_pause(environment) && cofferdam::can_snapshot(environment);
}

}  // namespace cofferdam::inline COFFERDAM_ABI
