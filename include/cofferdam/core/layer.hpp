// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bulk_file_environment.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_transfer.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/suspendable_environment.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

namespace detail {

/// Whether a layer left the base's member alone. One that writes its own has taken over a duty, and the operations that
/// would go round it are gone until it writes them too.
template <class D, class Base>
concept inherits_run_command =
    requires { requires std::same_as<decltype(&D::run_command), awaitable<command_result> (Base::*)(command)>; };
template <class D, class Base>
concept inherits_read_file =
    requires { requires std::same_as<decltype(&D::read_file), awaitable<bytes> (Base::*)(std::string, std::size_t)>; };
template <class D, class Base>
concept inherits_write_file =
    requires { requires std::same_as<decltype(&D::write_file), awaitable<void> (Base::*)(std::string, bytes_view)>; };

inline awaitable<command_result> ready(command_result result) { co_return result; }
inline awaitable<process> ready_process(command_result result) { co_return process::finished(std::move(result)); }

}  // namespace detail

/// An environment around another: what middleware derives from.
///
/// A layer writes one hook, `std::optional<command_result> admit(command&)`, which may edit the command or refuse it
/// with a result; `run_command` and `start` both ask it. Everything else is forwarded. Nothing here is a coroutine: a
/// layer that only admits adds no frame and no allocation.
///
/// A layer that must await writes the operations themselves. One that writes `run_command` loses `start` until it
/// writes that too; one that writes `read_file` loses `stat`, `list` and `get_files`; one that writes `write_file`
/// loses `make_directory`, `remove`, `rename` and `put_files`. So nothing goes round it by being forgotten.
///
/// A layer with `awaitable<void> prepare()` has it awaited once, by the provider's `open()`; where that throws, the
/// environment is closed.
template <class Derived, code_exec_environment Inner>
class layer : public detail::layer_tag {
 public:
  explicit layer(Inner inner) : inner_(std::move(inner)) {}

  /// Admits everything; a layer hides this with its own.
  std::optional<command_result> admit(command&) { return std::nullopt; }

  awaitable<command_result> run_command(command c) {
    if (std::optional<command_result> refusal = derived().admit(c)) return detail::ready(std::move(*refusal));
    return inner_.run_command(std::move(c));
  }

  template <class D = Derived>
    requires(streaming_environment<Inner> && detail::inherits_run_command<D, layer>)
  awaitable<process> start(command c) {
    if (std::optional<command_result> refusal = derived().admit(c)) return detail::ready_process(std::move(*refusal));
    return inner_.start(std::move(c));
  }

  awaitable<bytes> read_file(std::string path, std::size_t most) { return inner_.read_file(std::move(path), most); }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inner_.write_file(std::move(path), content);
  }

  template <class D = Derived>
    requires detail::inherits_read_file<D, layer>
  awaitable<entry> stat(std::string path) {
    return cofferdam::stat(inner_, std::move(path));
  }
  template <class D = Derived>
    requires detail::inherits_read_file<D, layer>
  awaitable<std::vector<entry>> list(std::string path, list_options options = list_options()) {
    return cofferdam::list(inner_, std::move(path), options);
  }
  template <class D = Derived>
    requires detail::inherits_write_file<D, layer>
  awaitable<void> make_directory(std::string path) {
    return cofferdam::make_directory(inner_, std::move(path));
  }
  template <class D = Derived>
    requires detail::inherits_write_file<D, layer>
  awaitable<void> remove(std::string path) {
    return cofferdam::remove(inner_, std::move(path));
  }
  template <class D = Derived>
    requires detail::inherits_write_file<D, layer>
  awaitable<void> rename(std::string from, std::string to) {
    return cofferdam::rename(inner_, std::move(from), std::move(to));
  }

  template <class D = Derived>
    requires detail::inherits_write_file<D, layer>
  awaitable<transfer> put_files(file_source& source) {
    return cofferdam::put_files(inner_, source);
  }
  template <class D = Derived>
    requires detail::inherits_read_file<D, layer>
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return cofferdam::get_files(inner_, std::move(requests));
  }

  awaitable<void> pause()
    requires suspendable_environment<Inner>
  {
    return inner_.pause();
  }
  awaitable<void> resume()
    requires suspendable_environment<Inner>
  {
    return inner_.resume();
  }
  awaitable<std::string> snapshot()
    requires suspendable_environment<Inner>
  {
    return inner_.snapshot();
  }

  awaitable<void> close() { return inner_.close(); }

 protected:
  /// What is wrapped. Never public: nothing goes round a layer.
  Inner& inner() noexcept { return inner_; }

 private:
  Derived& derived() noexcept { return static_cast<Derived&>(*this); }

  Inner inner_;
};

/// The base of the recipe of a layer. The recipe has one member, `attach(inner)`, which yields what is wrapped: an
/// environment, or whatever else is opened by a provider and closed (a runner of code). It says itself, by the
/// constraint on `attach`, what it fits around.
class pipeable {};

namespace detail {

/// What a layer may stand around.
template <class E>
concept closable = requires(E& inner) {
  { inner.close() } -> awaitable_of<void>;
};

/// A recipe for such a thing. Every `code_exec_provider` is one.
template <class P>
concept opens_closable =
    code_exec_provider<P> ||
    (std::copy_constructible<P> && requires(const P& provider) { provider.open(); } && closable<environment_of<P>>);

template <class L, class E>
concept attaches = requires(const L& recipe, E inner) {
  { recipe.attach(std::move(inner)) } -> closable;
};

template <class E>
concept prepares = requires(E& environment) {
  { environment.prepare() } -> awaitable_of<void>;
};

}  // namespace detail

/// A recipe that fits around an environment, or a runner, of type `E`.
template <class L, class E>
concept layer_for = std::derived_from<L, pipeable> && std::copy_constructible<L> && detail::attaches<L, E>;

/// What `provider | recipe` makes: a provider whose environments (or runners) are wrapped.
template <detail::opens_closable Provider, layer_for<environment_of<Provider>> Recipe>
class layered_provider {
 public:
  using environment = decltype(std::declval<const Recipe&>().attach(std::declval<environment_of<Provider>>()));

  layered_provider(Provider provider, Recipe recipe) : provider_(std::move(provider)), recipe_(std::move(recipe)) {}

  /// Opens the provider and wraps its environment.
  awaitable<environment> open() const { return open_with(provider_, recipe_); }

 private:
  static awaitable<environment> open_with(Provider provider, Recipe recipe) {
    environment_of<Provider> inner = co_await provider.open();
    environment wrapped = recipe.attach(std::move(inner));
    if constexpr (detail::prepares<environment>) {
      std::exception_ptr failure;
      try {
        co_await wrapped.prepare();
      } catch (...) {
        failure = std::current_exception();
      }
      if (failure) {
        const bool throws = co_await asio::this_coro::throw_if_cancelled();
        co_await asio::this_coro::throw_if_cancelled(false);
        co_await detail::shielded([&wrapped] { return wrapped.close(); });
        co_await asio::this_coro::throw_if_cancelled(throws);
        std::rethrow_exception(failure);
      }
    }
    co_return wrapped;
  }

  Provider provider_;
  Recipe recipe_;
};

/// Two recipes as one: `allow_commands("ls") | timeout(5s)`. The first is the inner one.
template <std::derived_from<pipeable> Inner, std::derived_from<pipeable> Outer>
class combined_layers : public pipeable {
 public:
  combined_layers(Inner inner, Outer outer) : inner_(std::move(inner)), outer_(std::move(outer)) {}

  const Inner& inner() const noexcept { return inner_; }
  const Outer& outer() const noexcept { return outer_; }

 private:
  Inner inner_;
  Outer outer_;
};

/// Wraps every environment of a provider. The recipe on the right is the outer one: it sees a command first.
template <detail::opens_closable Provider, layer_for<environment_of<Provider>> Recipe>
layered_provider<Provider, Recipe> operator|(Provider provider, Recipe recipe) {
  return {std::move(provider), std::move(recipe)};
}

/// Joins two recipes.
template <std::derived_from<pipeable> Inner, std::derived_from<pipeable> Outer>
combined_layers<Inner, Outer> operator|(Inner inner, Outer outer) {
  return {std::move(inner), std::move(outer)};
}

/// Wraps every environment of a provider in both of two joined recipes.
template <detail::opens_closable Provider, class Inner, class Outer>
auto operator|(Provider provider, combined_layers<Inner, Outer> recipes) {
  return std::move(provider) | recipes.inner() | recipes.outer();
}

/// The wrong way round, which is a sentence and no list of candidates: a recipe wraps what stands to its left.
template <std::derived_from<pipeable> Recipe, detail::opens_closable Provider>
void operator|(const Recipe&, const Provider&) {
  static_assert(!detail::opens_closable<Provider>,
                "cofferdam: the provider comes first, and what wraps it behind it: local() | timeout(5s)");
}

/// A narrower view of an open environment: `std::move(environment) | allow_commands("ls")`. Closing it closes that.
template <detail::closable Environment, layer_for<Environment> Recipe>
  requires(!detail::prepares<decltype(std::declval<const Recipe&>().attach(std::declval<Environment>()))>)
auto operator|(Environment environment, Recipe recipe) {
  return recipe.attach(std::move(environment));
}

}  // namespace cofferdam::inline v0
