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

namespace cofferdam::inline COFFERDAM_ABI {

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

/// An object that runs commands and holds files. The files are in a directory of the environment, the workspace. A
/// backend provides four members:
///
/// * `run_command(c)` runs `c` to its end. Every outcome of the command is a result, never an exception. The backend
///   honours all settings of `c` (its timeout, kept output, variables, input and working directory), and separates
///   standard error from standard output, because layers and the added `files()` rely on it.
/// * `read_file(path, max_bytes)` returns the whole file. It throws `exec_errc::too_large` if the file has more than
///   `max_bytes` bytes.
/// * `write_file(path, content)` writes the whole file or nothing, and creates missing directories. The caller keeps
///   `content` alive until the awaitable completes. The environments of this library also accept temporary `bytes`,
///   which the awaitable then owns. `write_text` and `write_bytes` own the content with any environment. If the file is
///   a symbolic link, the environments of this library replace the link (those of `e2b` write its target), whereas
///   `read_file` reads its target.
/// * `close()` ends all running commands and releases all resources. A second call does nothing.
///
/// Paths are relative to the workspace and separated by `/`. They may contain any bytes except NUL, and are usually
/// UTF-8. An environment may run many commands at the same time. It may be moved only while no operation runs. The
/// environments of this library may be used from several threads; other environments document their own rules. Generic
/// code must use an environment on one strand only.
template <class E>
concept code_exec_environment = requires(E& e, command c, std::string path, bytes_view content, std::size_t max_bytes) {
  { e.run_command(std::move(c)) } -> awaitable_of<command_result>;
  { e.read_file(std::move(path), max_bytes) } -> awaitable_of<bytes>;
  { e.write_file(std::move(path), content) } -> awaitable_of<void>;
  { e.close() } -> awaitable_of<void>;
};

/// The type of the environment that `open()` of a provider returns.
template <class P>
using environment_of = typename detail::awaited<decltype(std::declval<const P&>().open())>::type;

/// A recipe that opens environments and can be copied. Each call of `open()` returns a new environment, or throws and
/// leaves nothing behind. A provider owns no process, socket or open file.
template <class P>
concept code_exec_provider = std::copy_constructible<P> && code_exec_environment<environment_of<P>>;

namespace detail {

template <class E>
concept has_run_command = requires(E& e, command c) {
  { e.run_command(std::move(c)) } -> awaitable_of<command_result>;
};
template <class E>
concept has_read_file = requires(E& e, std::string path, std::size_t max_bytes) {
  { e.read_file(std::move(path), max_bytes) } -> awaitable_of<bytes>;
};
template <class E>
concept has_write_file = requires(E& e, std::string path, bytes_view content) {
  { e.write_file(std::move(path), content) } -> awaitable_of<void>;
};
template <class E>
concept has_close = requires(E& e) {
  { e.close() } -> awaitable_of<void>;
};

// An argument that converts to any type, for tests of members whose parameter type is unknown.
struct any_argument {
  template <class T>
  operator T() const;
};

/// A recipe for a runner of code: `open()` returns an object with a member `run_code`.
template <class P>
concept opens_runner = requires(environment_of<P>& runner) { runner.run_code(any_argument()); };

/// A type that looks like a provider of environments: `open()` returns an object with at least one of the members
/// `run_command`, `read_file` and `write_file`.
template <class P>
concept opens_part_of_environment =
    has_run_command<environment_of<P>> || has_read_file<environment_of<P>> || has_write_file<environment_of<P>>;

/// Stops the compilation, with one error message for each member that `E` lacks.
template <class E>
constexpr void explain_environment() noexcept {
  static_assert(has_run_command<E>,
                "cofferdam: the environment has no usable member run_command; write "
                "awaitable<command_result> run_command(command c)");
  static_assert(has_read_file<E>,
                "cofferdam: the environment has no usable member read_file; write "
                "awaitable<bytes> read_file(std::string path, std::size_t most)");
  static_assert(has_write_file<E>,
                "cofferdam: the environment has no usable member write_file; write "
                "awaitable<void> write_file(std::string path, bytes_view content)");
  static_assert(has_close<E>, "cofferdam: the environment has no usable member close; write awaitable<void> close()");
}

/// Stops the compilation, with an error message that explains why `P` is not a provider.
template <class P>
constexpr void explain_provider() noexcept {
  if constexpr (opens_runner<P>) {
    static_assert(!opens_runner<P>,
                  "cofferdam: this is a provider of code runners, such as local() | python(), not a provider of "
                  "environments; hold it as any_runner_provider, not as any_provider");
  } else if constexpr (requires { typename environment_of<P>; }) {
    static_assert(std::copy_constructible<P>,
                  "cofferdam: a provider must be copyable, and this type is not; hold non-copyable members in a "
                  "std::shared_ptr, or create them in open()");
    explain_environment<environment_of<P>>();
  } else if constexpr (code_exec_environment<P>) {
    static_assert(
        !code_exec_environment<P>,
        "cofferdam: this environment is already open, and with() opens an environment itself: call the members of this "
        "environment (run_command, read_file, write_file), or pass its provider, such as local()");
  } else {
    static_assert(
        requires { typename environment_of<P>; },
        "cofferdam: this is not a provider, because it has no usable member open; write "
        "awaitable<your_environment> open() const");
  }
}

}  // namespace detail

}  // namespace cofferdam::inline COFFERDAM_ABI
