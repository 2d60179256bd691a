// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/suspendable_environment.hpp>
#include <cofferdam/detail/core/command_files.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// True if the layer `D` inherits the member `run_command` of its base class `layer` and does not define its own. If it
/// defines its own, the inherited `start` would bypass it, so `layer` removes `start`. In the same way, `layer` removes
/// `files()` if `D` defines its own `read_file` or `write_file`.
template <class D, class Base>
concept inherits_run_command =
    requires { requires std::same_as<decltype(&D::run_command), awaitable<command_result> (Base::*)(command)>; };
template <class D, class Base>
concept inherits_read_file =
    requires { requires std::same_as<decltype(&D::read_file), awaitable<bytes> (Base::*)(std::string, std::size_t)>; };
// `write_file` is overloaded, so `&D::write_file` has no single type to compare. Instead, the concept tests a
// conversion: if `D` defines its own `write_file`, `&D::write_file` does not convert to a pointer to a member of the
// base class.
template <class D, class Base>
concept inherits_write_file =
    requires(awaitable<void> (Base::*inherited)(std::string, bytes_view)) { inherited = &D::write_file; };

template <class = void>
awaitable<command_result> immediate(command_result result) {
  co_return result;
}
template <class = void>
awaitable<process> ended_at_once(command_result result) {
  co_return process::finished(std::move(result));
}

}  // namespace detail

/// The base class of layers (middleware): a layer is an environment that wraps another environment.
///
/// A layer defines one function, `std::optional<command_result> admit(command&)`. It may change the command, or refuse
/// it by returning a result. `run_command` and `start` both call `admit`. All other operations are forwarded to the
/// wrapped environment. The base class has no coroutines, so a layer that only defines `admit` adds no coroutine frame
/// and no allocation.
///
/// A layer that must await something defines the operations themselves. If a layer defines `run_command`, it has no
/// `start` unless it defines `start` too. If it defines `read_file` or `write_file`, it has no `files()` unless it
/// defines `files()` too. So an operation that the author forgot cannot bypass the layer. `file_system_adaptor` helps
/// with `files()`; `read_only` is an example.
///
/// If a layer has a member `awaitable<void> prepare()`, `open()` of the provider awaits it once. If `prepare` throws,
/// `open()` closes the environment and throws the exception.
template <class Derived, code_exec_environment Inner>
class layer : public detail::layer_tag {
 public:
  /// Makes a layer without an open environment. Operations throw `error{exec_errc::environment_closed}`. Present if
  /// `Inner` has a default constructor.
  layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns.
  explicit layer(Inner inner) : inner_(std::move(inner)) {}

  /// Admits every command. A layer defines its own `admit`, which hides this function.
  std::optional<command_result> admit(command&) { return std::nullopt; }

  awaitable<command_result> run_command(command c) {
    if (std::optional<command_result> refusal = derived().admit(c)) return detail::immediate(std::move(*refusal));
    return inner_.run_command(std::move(c));
  }

  template <class D = Derived>
    requires(streaming_environment<Inner> && detail::inherits_run_command<D, layer>)
  awaitable<process> start(command c) {
    if (std::optional<command_result> refusal = derived().admit(c)) return detail::ended_at_once(std::move(*refusal));
    return inner_.start(std::move(c));
  }

  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return inner_.read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inner_.write_file(std::move(path), content);
  }
  /// Writes a file from temporary bytes. The awaitable owns the bytes, so it can be stored and awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(derived(), std::move(path), std::move(content));
  }

  template <class D = Derived>
    requires(file_environment<Inner> && detail::inherits_read_file<D, layer> && detail::inherits_write_file<D, layer>)
  file_system files() {
    static_assert(!detail::has_file_members<D>,
                  "cofferdam: list, stat, put_files and the like are never called on a layer; define file_system "
                  "files(), and put them into the file_system that files() returns");
    return inner_.files();
  }

  /// Returns the loopback network of the wrapped environment.
  guest_network network()
    requires tunnelling_environment<Inner>
  {
    return inner_.network();
  }

  awaitable<void> pause()
    requires pausable_environment<Inner>
  {
    return inner_.pause();
  }
  awaitable<void> resume()
    requires pausable_environment<Inner>
  {
    return inner_.resume();
  }
  awaitable<std::string> snapshot()
    requires snapshot_environment<Inner>
  {
    return inner_.snapshot();
  }

  /// Returns true if `start` works. This member is present if the wrapped environment has a member `can_start`.
  bool can_start() const noexcept
    requires requires(const Inner& inner) { inner.can_start(); }
  {
    return inner_.can_start();
  }
  /// Returns true if `network` works. This member is present if the wrapped environment has a member `can_tunnel`.
  bool can_tunnel() const noexcept
    requires requires(const Inner& inner) { inner.can_tunnel(); }
  {
    return inner_.can_tunnel();
  }
  /// Returns true if `pause` and `resume` work. This member is present if the wrapped environment has these two.
  bool can_pause() const noexcept
    requires pausable_environment<Inner>
  {
    return cofferdam::can_pause(inner_);
  }
  /// Returns true if `snapshot` works. This member is present if the wrapped environment has `snapshot`.
  bool can_snapshot() const noexcept
    requires snapshot_environment<Inner>
  {
    return cofferdam::can_snapshot(inner_);
  }
  /// Returns true if `pause`, `resume` and `snapshot` work. This member is present if the wrapped environment has all
  /// three.
  bool can_suspend() const noexcept
    requires suspendable_environment<Inner>
  {
    return cofferdam::can_suspend(inner_);
  }

  /// Returns true if the wrapped environment is known to be lost. This member is present if the wrapped environment has
  /// it.
  bool is_lost() const noexcept
    requires requires(const Inner& inner) { inner.is_lost(); }
  {
    return inner_.is_lost();
  }

  /// Returns the ended commands that had `background_policy::keep` and have left processes running. This member is
  /// present if the wrapped environment has it.
  std::vector<background_command> background() const
    requires requires(const Inner& inner) { inner.background(); }
  {
    return inner_.background();
  }
  /// Ends the processes that a command has left running (see `background()`). This member is present if the wrapped
  /// environment has it.
  /// \param number  `background_command::number()`.
  awaitable<void> end_background(std::uint32_t number)
    requires requires(Inner& inner) { inner.end_background(number); }
  {
    return inner_.end_background(number);
  }

  awaitable<void> close() { return inner_.close(); }

 protected:
  /// Returns the wrapped environment. Do not make it public, because callers could then bypass the layer.
  Inner& inner() noexcept { return inner_; }

 private:
  Derived& derived() noexcept { return static_cast<Derived&>(*this); }

  Inner inner_;
};

/// The base class of a layer's recipe, the object on the right of `provider | recipe`. A recipe has a member
/// `attach(inner)`, which returns a layer around `inner`, an environment or a runner (an object that runs Python code).
/// The constraint of `attach` decides which types the recipe can wrap. A recipe that must decide when environments are
/// opened has `open_with(provider)` too, or instead (`opening_layer_for`).
class pipeable {};

namespace detail {

/// A type that a layer can wrap: it has a member `close()`.
template <class E>
concept closable = requires(E& inner) {
  { inner.close() } -> awaitable_of<void>;
};

/// A provider of objects that a layer can wrap. Every `code_exec_provider` is one.
template <class P>
concept opens_closable =
    code_exec_provider<P> ||
    (std::copy_constructible<P> && requires(const P& provider) { provider.open(); } && closable<environment_of<P>>);

template <class L, class E>
concept attaches = requires(const L& recipe, E inner) {
  { recipe.attach(std::move(inner)) } -> closable;
};

template <class L, class P>
concept opens_with = requires(const L& recipe, P provider) {
  typename awaited<decltype(recipe.open_with(std::move(provider)))>::type;
  requires closable<typename awaited<decltype(recipe.open_with(std::move(provider)))>::type>;
};

/// The type of the environments that `provider | recipe` opens.
template <class P, class L>
struct layered {
  using type = decltype(std::declval<const L&>().attach(std::declval<opened_by<P>>()));
};
template <class P, opens_with<P> L>
struct layered<P, L> {
  using type = typename awaited<decltype(std::declval<const L&>().open_with(std::declval<P>()))>::type;
};

template <class E>
concept prepares = requires(E& environment) {
  { environment.prepare() } -> awaitable_of<void>;
};

}  // namespace detail

/// A layer's recipe that can wrap an environment or a runner of type `E`.
template <class L, class E>
concept layer_for = std::derived_from<L, pipeable> && std::copy_constructible<L> && detail::attaches<L, E>;

/// A layer's recipe that opens the environments of a provider itself, because it must decide when or how often they are
/// opened: it has a member `open_with(provider)` that returns an awaitable of the layer.
template <class L, class P>
concept opening_layer_for = std::derived_from<L, pipeable> && std::copy_constructible<L> && detail::opens_with<L, P>;

/// The type of `provider | recipe`: a provider that wraps each environment or runner that it opens.
template <detail::opens_closable Provider, class Recipe>
  requires(layer_for<Recipe, detail::opened_by<Provider>> || opening_layer_for<Recipe, Provider>)
class layered_provider {
 public:
  /// The type of the wrapped environments or runners that `open` returns.
  using environment = typename detail::layered<Provider, Recipe>::type;

  /// Combines a provider with a recipe. `provider | recipe` calls this.
  layered_provider(Provider provider, Recipe recipe) : provider_(std::move(provider)), recipe_(std::move(recipe)) {}

  /// Opens an environment or a runner and wraps it.
  awaitable<environment> open() const {
    if constexpr (opening_layer_for<Recipe, Provider>) {
      return recipe_.open_with(provider_);
    } else {
      return open_with(provider_, recipe_);
    }
  }

 private:
  static awaitable<environment> open_with(Provider provider, Recipe recipe) {
    if constexpr (detail::prepares<environment>) {
      std::optional<environment> wrapped;
      const auto opens = [&]() -> awaitable<void> {
        environment_of<Provider> opened = co_await provider.open();
        wrapped.emplace(recipe.attach(detail::opened_by<Provider>(std::move(opened))));
        co_await wrapped->prepare();
      };
      const auto closes = [&]() -> awaitable<void> {
        if (!wrapped) return {};
        return wrapped->close();
      };
      co_await detail::with_cleanup_after_failure(opens, closes);
      co_return std::move(*wrapped);
    } else {
      environment_of<Provider> opened = co_await provider.open();
      co_return recipe.attach(detail::opened_by<Provider>(std::move(opened)));
    }
  }

  Provider provider_;
  Recipe recipe_;
};

/// Two joined recipes, such as `allow_commands("ls") | timeout(5s)`. The first recipe makes the inner layer.
template <std::derived_from<pipeable> Inner, std::derived_from<pipeable> Outer>
class combined_layers : public pipeable {
 public:
  /// Joins two recipes. `inner | outer` calls this.
  combined_layers(Inner inner, Outer outer) : inner_(std::move(inner)), outer_(std::move(outer)) {}

  /// Returns the recipe of the inner layer.
  const Inner& inner() const noexcept { return inner_; }
  /// Returns the recipe of the outer layer.
  const Outer& outer() const noexcept { return outer_; }

 private:
  Inner inner_;
  Outer outer_;
};

namespace detail {

template <class L>
inline constexpr bool is_combined = false;
template <class Inner, class Outer>
inline constexpr bool is_combined<combined_layers<Inner, Outer>> = true;

}  // namespace detail

/// Returns a provider that wraps each environment it opens. The recipe farthest to the right makes the outermost layer,
/// which receives a command first.
template <detail::opens_closable Provider, std::derived_from<pipeable> Recipe>
  requires(layer_for<Recipe, detail::opened_by<Provider>> || opening_layer_for<Recipe, Provider>)
layered_provider<Provider, Recipe> operator|(Provider provider, Recipe recipe) {
  return {std::move(provider), std::move(recipe)};
}

/// Joins two recipes into one, whose inner layer is made by the left one.
template <std::derived_from<pipeable> Inner, std::derived_from<pipeable> Outer>
combined_layers<Inner, Outer> operator|(Inner inner, Outer outer) {
  return {std::move(inner), std::move(outer)};
}

/// Returns a provider that wraps each environment in the layers of both joined recipes.
template <detail::opens_closable Provider, class Inner, class Outer>
auto operator|(Provider provider, combined_layers<Inner, Outer> recipes) {
  return std::move(provider) | recipes.inner() | recipes.outer();
}

/// Stops the compilation, with an error message about the order: the provider comes first, and the recipe that wraps it
/// comes second.
template <std::derived_from<pipeable> Recipe, detail::opens_closable Provider>
Provider operator|(const Recipe&, const Provider& provider) {
  static_assert(!detail::opens_closable<Provider>,
                "cofferdam: write the provider first and its layers after it: local() | timeout(5s)");
  return provider;
}

/// Stops the compilation, with an error message that explains why the recipe cannot wrap what the provider opens.
template <detail::opens_closable Provider, std::derived_from<pipeable> Recipe>
  requires(!layer_for<Recipe, detail::opened_by<Provider>> && !opening_layer_for<Recipe, Provider> &&
           !detail::is_combined<Recipe> &&
           (code_exec_provider<Provider> || !detail::opens_part_of_environment<Provider>))
Provider operator|(const Provider& provider, const Recipe&) {
  static_assert(!detail::opens_runner<Provider>,
                "cofferdam: the left side is a code runner, but this layer wraps only environments. Write layers "
                "before the runner and guards after it: local() | timeout(5s) | python() | check_syntax()");
  static_assert(detail::opens_runner<Provider>,
                "cofferdam: the right side has no attach() for an environment. Write guards after a code runner: "
                "local() | timeout(5s) | python() | check_syntax(). Your own layer needs attach(Inner inner) const, "
                "which returns an environment around inner");
  return provider;
}

/// Stops the compilation, with an error message that names the member that the provider's environment lacks.
template <class Provider, std::derived_from<pipeable> Recipe>
  requires(!std::derived_from<Provider, pipeable> && detail::opens_part_of_environment<Provider> &&
           !code_exec_provider<Provider>)
void operator|(const Provider&, const Recipe&) {
  detail::explain_provider<Provider>();
}

/// Wraps an environment that is already open: `std::move(environment) | allow_commands("ls")`. Closing the result
/// closes the environment.
template <detail::closable Environment, layer_for<detail::completed_t<Environment>> Recipe>
  requires(!detail::prepares<
           decltype(std::declval<const Recipe&>().attach(std::declval<detail::completed_t<Environment>>()))>)
auto operator|(Environment environment, Recipe recipe) {
  return recipe.attach(detail::completed_t<Environment>(std::move(environment)));
}

}  // namespace cofferdam::inline COFFERDAM_ABI
