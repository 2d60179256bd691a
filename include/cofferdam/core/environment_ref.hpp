// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/core/command_files.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// A non-owning reference to an open environment, made by `environment_ref`. It forwards all operations except
/// `close()`, which does nothing, so the environment and its commands continue. Its functions are not coroutines, so it
/// adds no coroutine frame and no allocation.
/// \par Lifetime  the environment must outlive this object and must not be moved or assigned.
template <code_exec_environment E>
class referenced_environment {
 public:
  /// Makes an object without an environment. Operations throw `error{exec_errc::environment_closed}`.
  referenced_environment() = default;
  /// Refers to an open environment.
  explicit referenced_environment(E& environment) noexcept : environment_(&environment) {}

  awaitable<command_result> run_command(command c) { return get().run_command(std::move(c)); }
  awaitable<process> start(command c)
    requires streaming_environment<E>
  {
    return get().start(std::move(c));
  }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return get().read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return get().write_file(std::move(path), content);
  }
  /// Writes a file from temporary bytes. The awaitable owns the bytes, so it can be stored and awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }
  file_system files()
    requires file_environment<E>
  {
    return get().files();
  }
  /// Returns the loopback network of the environment.
  guest_network network()
    requires tunnelling_environment<E>
  {
    return get().network();
  }
  awaitable<void> close() {
    get();
    return nothing();
  }

  /// Returns true if `start` of the environment works.
  bool can_start() const noexcept
    requires streaming_environment<E>
  {
    return environment_ != nullptr && cofferdam::can_start(*environment_);
  }
  /// Returns true if `network` of the environment works.
  bool can_tunnel() const noexcept
    requires tunnelling_environment<E>
  {
    return environment_ != nullptr && cofferdam::can_tunnel(*environment_);
  }

 private:
  static awaitable<void> nothing() { co_return; }

  E& get() const {
    if (environment_ == nullptr)
      throw error(exec_errc::environment_closed,
                  "environment_ref: empty (default-constructed); create it from an open environment");
    return *environment_;
  }

  E* environment_ = nullptr;
};

namespace detail {

/// A reference to a layer counts as a layer too. If the layer has no `files()`, because it defines `read_file` or
/// `write_file` itself, the library does not add a `files()` that runs commands: the commands would bypass these two
/// functions.
template <class E>
inline constexpr bool is_layer<referenced_environment<E>> = is_layer<E>;

}  // namespace detail

/// A provider whose `open()` returns a reference to an environment that is already open. Use it with recipes that close
/// their environment. For example, `environment_ref(environment) | python()` opens a runner, and closing the runner
/// leaves the environment open.
/// \par Lifetime  the environment must outlive everything that this provider opened.
template <code_exec_environment E>
class environment_ref {
 public:
  /// Refers to an open environment.
  explicit environment_ref(E& environment) noexcept : environment_(&environment) {}

  awaitable<referenced_environment<E>> open() const { return lend(environment_); }

 private:
  static awaitable<referenced_environment<E>> lend(E* environment) {
    co_return referenced_environment<E>(*environment);
  }

  E* environment_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
