// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bulk_file_environment.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_transfer.hpp>
#include <cofferdam/core/listing_environment.hpp>
#include <cofferdam/core/streaming_environment.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// Any environment, chosen at run time. Models every refinement but `suspendable_environment`. `start` throws
/// `error{errc::unsupported}` where the one inside has none; file operations fall back as the free functions do.
/// Movable while idle. One virtual call an operation, no allocation.
class any_environment {
 public:
  /// No environment; operations throw `error{errc::environment_closed}`.
  any_environment() = default;

  template <class E>
    requires(!std::same_as<E, any_environment> && code_exec_environment<E>)
  explicit any_environment(E environment) : inside_(std::make_unique<box<E>>(std::move(environment))) {}

  awaitable<command_result> run_command(command c) { return get().run_command(std::move(c)); }
  awaitable<process> start(command c) { return get().start(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t most) { return get().read_file(std::move(path), most); }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return get().write_file(std::move(path), content);
  }
  awaitable<entry> stat(std::string path) { return get().stat(std::move(path)); }
  awaitable<std::vector<entry>> list(std::string path, list_options options = list_options()) {
    return get().list(std::move(path), options);
  }
  awaitable<void> make_directory(std::string path) { return get().make_directory(std::move(path)); }
  awaitable<void> remove(std::string path) { return get().remove(std::move(path)); }
  awaitable<void> rename(std::string from, std::string to) { return get().rename(std::move(from), std::move(to)); }
  awaitable<transfer> put_files(file_source& source) { return get().put_files(source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return get().get_files(std::move(requests));
  }
  awaitable<void> close() { return get().close(); }

  /// Whether `start` works here; it throws `error{errc::unsupported}` where it does not.
  bool can_start() const noexcept { return inside_ && inside_->can_start(); }

 private:
  class interface {
   public:
    virtual ~interface() = default;
    virtual bool can_start() const noexcept = 0;
    virtual awaitable<command_result> run_command(command c) = 0;
    virtual awaitable<process> start(command c) = 0;
    virtual awaitable<bytes> read_file(std::string path, std::size_t most) = 0;
    virtual awaitable<void> write_file(std::string path, bytes_view content) = 0;
    virtual awaitable<entry> stat(std::string path) = 0;
    virtual awaitable<std::vector<entry>> list(std::string path, list_options options) = 0;
    virtual awaitable<void> make_directory(std::string path) = 0;
    virtual awaitable<void> remove(std::string path) = 0;
    virtual awaitable<void> rename(std::string from, std::string to) = 0;
    virtual awaitable<transfer> put_files(file_source& source) = 0;
    virtual awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) = 0;
    virtual awaitable<void> close() = 0;
  };

  template <class E>
  class box final : public interface {
   public:
    explicit box(E environment) : environment_(std::move(environment)) {}
    bool can_start() const noexcept override {
      if constexpr (requires(const E& e) {
                      { e.can_start() } -> std::same_as<bool>;
                    }) {
        return environment_.can_start();
      } else {
        return streaming_environment<E>;
      }
    }
    awaitable<command_result> run_command(command c) override { return environment_.run_command(std::move(c)); }
    awaitable<process> start(command c) override {
      if constexpr (streaming_environment<E>) {
        return environment_.start(std::move(c));
      } else {
        throw error(errc::unsupported, "start: this backend can only run commands to their end; use run_command");
      }
    }
    awaitable<bytes> read_file(std::string path, std::size_t most) override {
      return environment_.read_file(std::move(path), most);
    }
    awaitable<void> write_file(std::string path, bytes_view content) override {
      return environment_.write_file(std::move(path), content);
    }
    awaitable<entry> stat(std::string path) override { return cofferdam::stat(environment_, std::move(path)); }
    awaitable<std::vector<entry>> list(std::string path, list_options options) override {
      return cofferdam::list(environment_, std::move(path), options);
    }
    awaitable<void> make_directory(std::string path) override {
      return cofferdam::make_directory(environment_, std::move(path));
    }
    awaitable<void> remove(std::string path) override { return cofferdam::remove(environment_, std::move(path)); }
    awaitable<void> rename(std::string from, std::string to) override {
      return cofferdam::rename(environment_, std::move(from), std::move(to));
    }
    awaitable<transfer> put_files(file_source& source) override { return cofferdam::put_files(environment_, source); }
    awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) override {
      return cofferdam::get_files(environment_, std::move(requests));
    }
    awaitable<void> close() override { return environment_.close(); }

   private:
    E environment_;
  };

  interface& get() const {
    if (!inside_)
      throw error(errc::environment_closed, "any_environment: there is none (default-constructed or moved from)");
    return *inside_;
  }

  std::unique_ptr<interface> inside_;
};

/// Any provider, chosen at run time; copies share the recipe. Layers stack on it: `any_provider{local()} | timeout(5s)`.
/// (Braces, not parentheses: `any_provider p(local())` declares a function.)
class any_provider {
 public:
  template <class P>
    requires(!std::same_as<P, any_provider> && code_exec_provider<P>)
  explicit any_provider(P provider) : inside_(std::make_shared<const box<P>>(std::move(provider))) {}

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

}  // namespace cofferdam::inline v0
