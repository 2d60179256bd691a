// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/process.hpp>

#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// An environment in which a program can interact with a command while the command runs: `start(c)` returns a
/// `process`. If the command cannot be started, the process has already ended, and its result contains the reason.
template <class E>
concept streaming_environment = code_exec_environment<E> && requires(E& e, command c) {
  { e.start(std::move(c)) } -> awaitable_of<process>;
};

/// Returns true if `start` works in this environment. Some types, such as `any_environment`, support `start` only in
/// some environments. Such a type has a member `bool can_start() const`. If `can_start()` returns false, `start` throws
/// `error{exec_errc::unsupported}`.
template <code_exec_environment E>
bool can_start(const E& environment) noexcept {
  if constexpr (!streaming_environment<E>) {
    return false;
  } else if constexpr (requires { environment.can_start(); }) {
    return environment.can_start();
  } else {
    return true;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI
