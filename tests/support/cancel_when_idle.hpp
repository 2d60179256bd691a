// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include "support/run.hpp"

#include <chrono>
#include <exception>

namespace cofferdam_test {

/// Runs the coroutine until it waits for something outside this program, cancels it, and runs until no handler is left.
/// Returns the exception of the coroutine.
template <coroutine_factory F>
std::exception_ptr cancel_when_idle(F&& make, std::chrono::seconds limit = default_limit) {
  const watchdog guard(limit);
  driven<yield_of<F>> coroutine(make());
  coroutine.context().poll();
  if (!coroutine.ended()) coroutine.cancel();
  coroutine.run_to_end();
  try {
    static_cast<void>(coroutine.result());
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace cofferdam_test
