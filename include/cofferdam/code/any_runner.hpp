// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_layer.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/interpreter_info.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/core/error.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

template <class R>
concept has_an_environment = requires(R& runner) {
  { runner.environment() };
  requires code_exec_environment<std::remove_cvref_t<decltype(runner.environment())>>;
};

/// Is satisfied if the runner type has a function `has_environment()`. For such a type, each object decides if it has
/// an environment; the type alone does not determine it.
template <class R>
concept asks_for_environment = requires(const R& runner) {
  { runner.has_environment() } -> std::same_as<bool>;
};

}  // namespace detail

/// A runner of any type, chosen at run time. Models `context_runner`. If the runner inside has no contexts, `contexts`
/// and `end_context` throw `error{exec_errc::unsupported}`. The object may be moved only while no operation is under
/// way. Each operation costs one virtual call.
class any_runner {
 public:
  /// Makes an object without a runner. Every operation throws `error{exec_errc::environment_closed}`.
  any_runner() = default;

  /// Contains an open runner of any type.
  template <class R>
    requires(!std::same_as<R, any_runner> && code_runner<R>)
  explicit any_runner(R runner) : inside_(std::make_unique<box<R>>(std::move(runner))) {}

  awaitable<code_result> run_code(code_request request) { return get().run_code(std::move(request)); }
  awaitable<std::vector<std::string>> contexts() { return get().contexts(); }
  awaitable<bool> end_context(std::string name) { return get().end_context(std::move(name)); }
  awaitable<void> close() { return get().close(); }

  /// Returns the version of the interpreter; empty if the runner does not provide a version.
  std::string version() const { return get().version(); }
  /// Returns a text for a model that writes code: the functions that layers of the runner give to the code. Empty if
  /// there are none.
  std::string about_tools() const { return inside_ ? inside_->about_tools() : std::string(); }
  /// Returns a description of the interpreter. Guards around the runner use it to parse code.
  interpreter_info guest() { return get().guest(); }
  /// Returns true if the contained runner is known to be lost. Returns false if it cannot know.
  bool is_lost() const noexcept { return inside_ && inside_->is_lost(); }

  /// Returns true if the code runs in an environment that the caller can use, for example to copy files.
  bool has_environment() const { return get().has_environment(); }
  /// Returns the environment in which the code runs. It is valid until the runner is destroyed, and is closed together
  /// with the runner.
  /// \throws error{exec_errc::unsupported} if there is no environment. For example, the files of Pyodide are inside the
  ///     interpreter.
  any_environment& environment() {
    any_environment* const found = get().environment();
    if (found == nullptr)
      throw error(exec_errc::unsupported, "environment: this runner has no environment that can be used from outside");
    return *found;
  }

 private:
  friend class detail::code_layer_access;

  /// Returns true: the layers (guards and other wrappers) inside this object decide about code in one common order with
  /// the layers around it. See `code_layer`.
  static constexpr bool is_transparent() { return true; }
  awaitable<std::optional<code_result>> judge(const code_request& request, guard_cost cost) {
    return get().judge(request, cost);
  }
  awaitable<code_result> run_admitted(code_request request) { return get().run_admitted(std::move(request)); }

  class interface {
   public:
    virtual ~interface() = default;
    virtual awaitable<code_result> run_code(code_request request) = 0;
    virtual awaitable<std::optional<code_result>> judge(const code_request& request, guard_cost cost) = 0;
    virtual awaitable<code_result> run_admitted(code_request request) = 0;
    virtual awaitable<std::vector<std::string>> contexts() = 0;
    virtual awaitable<bool> end_context(std::string name) = 0;
    virtual awaitable<void> close() = 0;
    virtual std::string version() const = 0;
    virtual std::string about_tools() const = 0;
    virtual interpreter_info guest() = 0;
    virtual bool is_lost() const noexcept = 0;
    virtual bool has_environment() const = 0;
    virtual any_environment* environment() = 0;
  };

  template <class R>
  class box final : public interface {
   public:
    explicit box(R runner) : runner_(std::move(runner)) {}
    awaitable<code_result> run_code(code_request request) override { return runner_.run_code(std::move(request)); }
    awaitable<std::optional<code_result>> judge(const code_request& request, guard_cost cost) override {
      if constexpr (detail::code_layer_access::is_judged<R>) {
        return detail::code_layer_access::judge(runner_, request, cost);
      } else {
        return admitted();
      }
    }
    awaitable<code_result> run_admitted(code_request request) override {
      if constexpr (detail::code_layer_access::is_judged<R>) {
        return detail::code_layer_access::run_admitted(runner_, std::move(request));
      } else {
        return runner_.run_code(std::move(request));
      }
    }
    awaitable<std::vector<std::string>> contexts() override {
      if constexpr (context_runner<R>) {
        return runner_.contexts();
      } else {
        throw error(exec_errc::unsupported, "contexts: this runner has no contexts; every run starts fresh");
      }
    }
    awaitable<bool> end_context(std::string name) override {
      if constexpr (context_runner<R>) {
        return runner_.end_context(std::move(name));
      } else {
        throw error(exec_errc::unsupported, "end_context: this runner has no contexts; every run starts fresh");
      }
    }
    awaitable<void> close() override { return runner_.close(); }
    std::string version() const override {
      if constexpr (requires(const R& runner) {
                      { runner.version() } -> std::convertible_to<std::string>;
                    }) {
        return runner_.version();
      } else {
        return std::string();
      }
    }
    std::string about_tools() const override { return detail::about_tools(runner_); }
    interpreter_info guest() override { return detail::interpreter_of(runner_); }
    bool is_lost() const noexcept override {
      if constexpr (requires { runner_.is_lost(); }) return runner_.is_lost();
      return false;
    }
    bool has_environment() const override {
      if constexpr (detail::asks_for_environment<R>) {
        return runner_.has_environment();
      } else {
        return detail::has_an_environment<R>;
      }
    }
    any_environment* environment() override {
      if constexpr (detail::has_an_environment<R>) {
        if (!has_environment()) return nullptr;
        if (!environment_) environment_.emplace(referenced_environment(runner_.environment()));
        return &*environment_;
      } else {
        return nullptr;
      }
    }

   private:
    static awaitable<std::optional<code_result>> admitted() { co_return std::nullopt; }

    R runner_;
    std::optional<any_environment> environment_;  // created at the first use
  };

  interface& get() const {
    if (!inside_)
      throw error(exec_errc::environment_closed,
                  "any_runner: empty (default-constructed or moved from); assign an open runner first");
    return *inside_;
  }

  std::unique_ptr<interface> inside_;
};

/// A recipe (a copyable object whose `open()` makes a runner) of any type, chosen at run time. Copies share the wrapped
/// recipe.
class any_runner_provider {
 public:
  /// Contains a recipe of any type.
  template <class P>
    requires(!std::same_as<P, any_runner_provider> && code_runner_provider<P>)
  explicit any_runner_provider(P provider) : inside_(std::make_shared<const box<P>>(std::move(provider))) {}

  awaitable<any_runner> open() const { return inside_->open(); }

 private:
  class interface {
   public:
    virtual ~interface() = default;
    virtual awaitable<any_runner> open() const = 0;
  };

  template <class P>
  class box final : public interface {
   public:
    explicit box(P provider) : provider_(std::move(provider)) {}
    awaitable<any_runner> open() const override {
      runner_of<P> runner = co_await provider_.open();
      co_return any_runner(std::move(runner));
    }

   private:
    P provider_;
  };

  std::shared_ptr<const interface> inside_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
