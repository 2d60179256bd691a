// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/process.hpp>

#include <utility>

namespace cofferdam::inline v0 {

/// An environment whose commands can be watched and fed while they run: `start(c)` yields a `process`.
/// A command that cannot be started yields a finished one, with the result that says why.
template <class E>
concept streaming_environment = code_exec_environment<E> && requires(E& e, command c) {
  { e.start(std::move(c)) } -> awaitable_of<process>;
};

}  // namespace cofferdam::inline v0
