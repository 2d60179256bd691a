// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>

namespace cofferdam::inline v0 {

namespace detail {

template <class A>
struct awaited;
template <class T>
struct awaited<awaitable<T>> {
  using type = T;
};

}  // namespace detail

/// A type that is `awaitable<T>`.
template <class A, class T>
concept awaitable_of = std::same_as<A, awaitable<T>>;

/// Something that runs commands and holds files: the four members a backend writes.
///
/// * `run_command(c)` runs `c` to its end; whatever the command does is a result, never an exception.
/// * `read_file(path, most)` yields the whole file; one longer than `most` bytes is `errc::too_large`.
/// * `write_file(path, content)` writes the whole file or nothing, and makes missing folders. The caller keeps
///   `content` until the awaitable completes.
/// * `close()` ends everything that still runs and gives back what the environment owns; a second call does nothing.
///
/// Paths are relative to the workspace, `/`-separated, UTF-8 or any other bytes but NUL. An environment is used from
/// one executor at a time, may run many commands at once, and may be moved only while none runs.
template <class E>
concept code_exec_environment = requires(E& e, command c, std::string path, bytes_view content, std::size_t most) {
  { e.run_command(std::move(c)) } -> awaitable_of<command_result>;
  { e.read_file(std::move(path), most) } -> awaitable_of<bytes>;
  { e.write_file(std::move(path), content) } -> awaitable_of<void>;
  { e.close() } -> awaitable_of<void>;
};

/// The environment type that a provider's `open()` yields.
template <class P>
using environment_of = typename detail::awaited<decltype(std::declval<const P&>().open())>::type;

/// A copyable recipe for an environment. `open()` yields one, or throws and leaves nothing behind; each call yields
/// another. A provider holds no process, no socket and no file.
template <class P>
concept code_exec_provider = std::copy_constructible<P> && code_exec_environment<environment_of<P>>;

}  // namespace cofferdam::inline v0
