// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/code_exec_provider.hpp>

#include <concepts>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// A type that runs code of one language.
///
/// * `run_code(r)`: every outcome of the code is a result, never an exception.
/// * `close()` ends all runs. A second call does nothing.
///
/// A runner may run many pieces of code at once, and may be moved only while none runs. The runners of this library may
/// be used from several threads. Other runners document what they allow. Generic code uses a runner on one strand only.
template <class R>
concept code_runner = requires(R& runner, code_request request) {
  { runner.run_code(std::move(request)) } -> awaitable_of<code_result>;
  { runner.close() } -> awaitable_of<void>;
};

/// A runner with named contexts, which keep their globals from run to run.
///
/// * `contexts()`: the names of all contexts.
/// * `end_context(name)`: ends a context and its run; the next use of the name makes a new context. Returns false if
///   there is no such context.
template <class R>
concept context_runner = code_runner<R> && requires(R& runner, std::string name) {
  { runner.contexts() } -> awaitable_of<std::vector<std::string>>;
  { runner.end_context(std::move(name)) } -> awaitable_of<bool>;
};

/// The runner type that a recipe's `open()` yields.
template <class P>
using runner_of = typename detail::awaited<decltype(std::declval<const P&>().open())>::type;

/// A copyable recipe for a runner. `open()` yields one, or throws and leaves nothing behind.
template <class P>
concept code_runner_provider = std::copy_constructible<P> && code_runner<runner_of<P>>;

}  // namespace cofferdam::inline COFFERDAM_ABI
