// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>

#include <string>

namespace cofferdam::inline COFFERDAM_ABI {

/// An environment that can be paused.
///
/// * `pause()` stops all its processes and keeps their state; `resume()` continues them. Commands wait meanwhile.
/// * `snapshot()` keeps a copy of the file system and returns its name, from which the backend's provider can open it
///   again.
template <class E>
concept suspendable_environment = code_exec_environment<E> && requires(E& e) {
  { e.pause() } -> awaitable_of<void>;
  { e.resume() } -> awaitable_of<void>;
  { e.snapshot() } -> awaitable_of<std::string>;
};

/// Returns true if `pause`, `resume` and `snapshot` work. An environment that learns this at run time has a member
/// `bool can_suspend() const`; the three throw `error{exec_errc::unsupported}` if that returns false.
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
