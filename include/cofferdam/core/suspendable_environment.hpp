// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>

#include <string>

namespace cofferdam::inline v0 {

/// An environment that can stand still.
///
/// * `pause()` stops everything in it and keeps it; `resume()` lets it go on. Commands meanwhile wait.
/// * `snapshot()` keeps a copy of the file system and yields the name by which the backend's provider finds it again.
template <class E>
concept suspendable_environment = code_exec_environment<E> && requires(E& e) {
  { e.pause() } -> awaitable_of<void>;
  { e.resume() } -> awaitable_of<void>;
  { e.snapshot() } -> awaitable_of<std::string>;
};

}  // namespace cofferdam::inline v0
