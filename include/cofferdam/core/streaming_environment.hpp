// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/process.hpp>

#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// An environment that can start a command and interact with it while it runs: `start(c)` yields a `process`. If the
/// command cannot be started, the process has already ended, and its result has the reason.
template <class E>
concept streaming_environment = code_exec_environment<E> && requires(E& e, command c) {
  { e.start(std::move(c)) } -> awaitable_of<process>;
};

/// Returns true if `start` works. An environment that learns this at run time has a member `bool can_start() const`;
/// its `start` throws `error{exec_errc::unsupported}` if that returns false.
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
