// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/suspendable_environment.hpp>
#include <cofferdam/detail/core/command_files.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// An open environment whose type is chosen at run time. It has `files()` and all optional operations: `start`,
/// `pause`, `resume` and `snapshot`. If the contained environment lacks one of these, calling it throws
/// `error{exec_errc::unsupported}`. `can_start()` returns true if `start` is supported, `can_pause()` if `pause` and
/// `resume` are, and `can_snapshot()` if `snapshot` is. The object may be moved while no operation runs. Each operation
/// adds one virtual call and no allocation to the same operation of the contained environment.
class any_environment {
 public:
  /// Makes an object without an environment. Operations throw `error{exec_errc::environment_closed}`.
  any_environment() = default;

  /// Contains an open environment of any type. If the environment has no `files()`, a `files()` that runs commands in
  /// the environment is added.
  template <class E>
    requires(!std::same_as<E, any_environment> && code_exec_environment<E>)
  explicit any_environment(E environment)
      : inside_(std::make_unique<box<detail::completed_t<E>>>(detail::completed_t<E>(std::move(environment)))) {}

  awaitable<command_result> run_command(command c) { return get().run_command(std::move(c)); }
  awaitable<process> start(command c) { return get().start(std::move(c)); }
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
  file_system files() { return get().files(); }
  /// Returns the loopback network of the environment, as `tunnelling_environment` describes.
  /// \throws error{exec_errc::unsupported} if `can_tunnel()` is false.
  guest_network network() { return get().network(); }
  /// Pauses the environment, as `pausable_environment` describes.
  /// \throws error{exec_errc::unsupported} if `can_pause()` is false; `resume` throws it too.
  awaitable<void> pause() { return get().pause(); }
  awaitable<void> resume() { return get().resume(); }
  /// Saves the files, as `snapshot_environment` describes.
  /// \throws error{exec_errc::unsupported} if `can_snapshot()` is false.
  awaitable<std::string> snapshot() { return get().snapshot(); }
  awaitable<void> close() { return get().close(); }

  /// Returns true if `start` works; otherwise `start` throws `error{exec_errc::unsupported}`.
  bool can_start() const noexcept { return inside_ && inside_->can_start(); }
  /// Returns true if `network` works; otherwise it throws `error{exec_errc::unsupported}`.
  bool can_tunnel() const noexcept { return inside_ && inside_->can_tunnel(); }
  /// Returns true if `pause` and `resume` work; otherwise they throw `error{exec_errc::unsupported}`.
  bool can_pause() const noexcept { return inside_ && inside_->can_pause(); }
  /// Returns true if `snapshot` works; otherwise it throws `error{exec_errc::unsupported}`.
  bool can_snapshot() const noexcept { return inside_ && inside_->can_snapshot(); }
  /// Returns true if `pause`, `resume` and `snapshot` all work.
  bool can_suspend() const noexcept { return can_pause() && can_snapshot(); }
  /// Returns true if the contained environment is known to be lost. Returns false if it cannot know.
  bool is_lost() const noexcept { return inside_ && inside_->is_lost(); }

 private:
  class interface {
   public:
    virtual ~interface() = default;
    virtual bool can_start() const noexcept = 0;
    virtual bool can_tunnel() const noexcept = 0;
    virtual bool can_pause() const noexcept = 0;
    virtual bool can_snapshot() const noexcept = 0;
    virtual bool is_lost() const noexcept = 0;
    virtual awaitable<command_result> run_command(command c) = 0;
    virtual awaitable<process> start(command c) = 0;
    virtual awaitable<bytes> read_file(std::string path, std::size_t max_bytes) = 0;
    virtual awaitable<void> write_file(std::string path, bytes_view content) = 0;
    virtual file_system files() = 0;
    virtual guest_network network() = 0;
    virtual awaitable<void> pause() = 0;
    virtual awaitable<void> resume() = 0;
    virtual awaitable<std::string> snapshot() = 0;
    virtual awaitable<void> close() = 0;
  };

  template <class E>
  class box final : public interface {
   public:
    explicit box(E environment) : environment_(std::move(environment)) {}
    bool can_start() const noexcept override { return cofferdam::can_start(environment_); }
    bool can_tunnel() const noexcept override { return cofferdam::can_tunnel(environment_); }
    bool can_pause() const noexcept override { return cofferdam::can_pause(environment_); }
    bool can_snapshot() const noexcept override { return cofferdam::can_snapshot(environment_); }
    bool is_lost() const noexcept override {
      if constexpr (requires { environment_.is_lost(); }) return environment_.is_lost();
      return false;
    }
    awaitable<command_result> run_command(command c) override { return environment_.run_command(std::move(c)); }
    awaitable<process> start(command c) override {
      if constexpr (streaming_environment<E>) {
        return environment_.start(std::move(c));
      } else {
        throw error(exec_errc::unsupported, "start: this backend can only run commands to their end; use run_command");
      }
    }
    awaitable<bytes> read_file(std::string path, std::size_t max_bytes) override {
      return environment_.read_file(std::move(path), max_bytes);
    }
    awaitable<void> write_file(std::string path, bytes_view content) override {
      return environment_.write_file(std::move(path), content);
    }
    file_system files() override {
      static_assert(
          file_environment<E>,
          "cofferdam: this layer has no files(). A layer that defines read_file or write_file must also define "
          "file_system files(). To wrap an environment without files(), write environment | layer, which adds files()");
      return environment_.files();
    }
    guest_network network() override {
      if constexpr (tunnelling_environment<E>) {
        return environment_.network();
      } else {
        throw error(exec_errc::unsupported, "network: this program cannot reach the ports of this backend");
      }
    }
    awaitable<void> pause() override {
      if constexpr (pausable_environment<E>) {
        return environment_.pause();
      } else {
        throw error(exec_errc::unsupported, "pause: this backend cannot be paused");
      }
    }
    awaitable<void> resume() override {
      if constexpr (pausable_environment<E>) {
        return environment_.resume();
      } else {
        throw error(exec_errc::unsupported, "resume: this backend cannot be paused and resumed");
      }
    }
    awaitable<std::string> snapshot() override {
      if constexpr (snapshot_environment<E>) {
        return environment_.snapshot();
      } else {
        throw error(exec_errc::unsupported, "snapshot: this backend cannot take snapshots");
      }
    }
    awaitable<void> close() override { return environment_.close(); }

   private:
    E environment_;
  };

  interface& get() const {
    if (!inside_)
      throw error(exec_errc::environment_closed,
                  "any_environment: empty (default-constructed or moved from); assign an open environment first");
    return *inside_;
  }

  std::unique_ptr<interface> inside_;
};

/// A provider whose type is chosen at run time. Copies share the contained provider. Every provider converts to it:
/// `any_provider choose() { return local(); }`. Layers can wrap it: `any_provider{local()} | timeout(5s)`. Write
/// braces, because `any_provider p(local())` declares a function.
class any_provider {
 public:
  // The constraint does not test that P can be copied; the static_assert does. In the constraint, the test would be
  // circular if P has a constructor from any_provider: whether P can be copied would depend on whether P converts to
  // any_provider, and the other way round.

  /// Contains a provider of any type.
  template <class P>
    requires(!std::same_as<P, any_provider> && code_exec_environment<environment_of<P>>)
  any_provider(P provider) : inside_(std::make_shared<const box<P>>(std::move(provider))) {
    static_assert(std::copy_constructible<P>,
                  "cofferdam: a provider must be copyable, and this type is not; hold non-copyable members in a "
                  "std::shared_ptr, or create them in open()");
  }

  /// Stops the compilation, with an error message that explains what is missing, if `open()` does not return an
  /// environment.
  template <class P>
    requires(!std::same_as<P, any_provider> && !code_exec_environment<environment_of<P>>)
  any_provider(P) {
    detail::explain_provider<P>();
  }

  /// Opens an environment with the contained provider. Throws the exceptions of that provider.
  awaitable<any_environment> open() const { return inside_->open(); }

 private:
  class interface {
   public:
    virtual ~interface() = default;
    virtual awaitable<any_environment> open() const = 0;
  };

  template <class P>
  class box final : public interface {
   public:
    explicit box(P provider) : provider_(std::move(provider)) {}
    awaitable<any_environment> open() const override {
      environment_of<P> environment = co_await provider_.open();
      co_return any_environment(std::move(environment));
    }

   private:
    P provider_;
  };

  std::shared_ptr<const interface> inside_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
