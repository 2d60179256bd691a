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
/// * `run_code(request)` runs a piece of code. Every outcome of the code is a result, never an exception.
/// * `close()` ends all runs. A second call does nothing.
///
/// A runner may run many pieces of code at once. It may be moved only while no operation is under way. The runners of
/// this library may be used from several threads. Other runners document whether they allow this. Generic code uses a
/// runner on one strand only.
template <class R>
concept code_runner = requires(R& runner, code_request request) {
  { runner.run_code(std::move(request)) } -> awaitable_of<code_result>;
  { runner.close() } -> awaitable_of<void>;
};

/// A runner that has named contexts. A context keeps its globals from run to run.
///
/// * `contexts()` returns the names of all contexts.
/// * `end_context(name)` ends a context and the run in it. The next use of the name creates a new context. Returns
///   false if there is no context of this name.
template <class R>
concept context_runner = code_runner<R> && requires(R& runner, std::string name) {
  { runner.contexts() } -> awaitable_of<std::vector<std::string>>;
  { runner.end_context(std::move(name)) } -> awaitable_of<bool>;
};

/// The type of the runner that `open()` of the recipe `P` (see `code_runner_provider`) returns.
template <class P>
using runner_of = typename detail::awaited<decltype(std::declval<const P&>().open())>::type;

/// A copyable recipe for a runner. `open()` returns a runner, or throws and leaves nothing behind.
template <class P>
concept code_runner_provider = std::copy_constructible<P> && code_runner<runner_of<P>>;

}  // namespace cofferdam::inline COFFERDAM_ABI
