// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/core/layer.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The cost of a guard's decision about a piece of code. All cheap guards decide before any costly guard.
enum class guard_cost {
  /// The decision is made on this machine.
  cheap,
  /// The decision needs a model, a service or a person.
  costly
};

namespace detail {

/// Access to the two halves of `run_code` in a stack of layers: the decision whether a request may run, and the run.
/// Only the layers of the stack and `any_runner` may call the second half without the first.
class code_layer_access {
 public:
  /// Returns the first refusal from those layers of `runner` whose decision has the cost `cost`, from the innermost
  /// layer to the outermost; no value if all of them admit the request.
  template <class R>
  static awaitable<std::optional<code_result>> judge(R& runner, const code_request& request, guard_cost cost) {
    return runner.judge(request, cost);
  }
  /// Runs a request that every layer of `runner` has already admitted.
  template <class R>
  static awaitable<code_result> run_admitted(R& runner, code_request request) {
    return runner.run_admitted(std::move(request));
  }
  template <class R>
  static constexpr bool is_judged = requires(R& runner, const code_request& request) {
    { runner.judge(request, guard_cost::cheap) } -> awaitable_of<std::optional<code_result>>;
    requires R::is_transparent();
  };
};

/// Returns the text of `about_tools()` of a runner; empty if the runner has no such member.
template <class R>
std::string about_tools(const R& runner) {
  if constexpr (requires {
                  { runner.about_tools() } -> std::convertible_to<std::string>;
                }) {
    return runner.about_tools();
  } else {
    return std::string();
  }
}

/// Is satisfied if the class `D` inherits `run_code` from its base class `Base` and does not define another one.
template <class D, class Base>
concept inherits_run_code =
    requires { requires std::same_as<decltype(&D::run_code), awaitable<code_result> (Base::*)(code_request)>; };

}  // namespace detail

/// The base class of the runner types of guards: a runner that wraps another runner, as the class `layer` wraps an
/// environment. Users write the recipe of such a layer, a `pipeable`:
/// `local() | python() | check_syntax() | allow_imports("json")`.
///
/// A derived class defines one hook, `awaitable<std::optional<code_result>> admit(const code_request&)`. If the hook
/// returns a result, the code is refused with this result. **The layers decide from left to right, in the order in
/// which they are listed. Costly layers decide after all cheap layers**, wherever they are listed. The first refusal is
/// final. A layer that needs a model, a service or a person declares
/// `static constexpr guard_cost cost = guard_cost::costly;`. A request that every layer has admitted then runs. A layer
/// that adds something to it, such as functions, defines a second hook, `code_request prepare(code_request)`. What it
/// adds is not judged by any layer.
///
/// A layer that defines its own `run_code` is opaque: the layers inside it decide only when it calls
/// `inner().run_code`. A runner that is not a layer is opaque too. `any_runner` is transparent: the layers inside it
/// decide in the order above.
///
/// Contexts, `close` and the other members of a Python runner (`environment`, `version`) are forwarded, if the inner
/// runner has them.
template <class Derived, code_runner Inner>
class code_layer {
 public:
  /// Makes an object without a runner. Every operation throws `error{exec_errc::environment_closed}`.
  code_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open runner, which the layer then owns.
  explicit code_layer(Inner inner) : inner_(std::move(inner)) {}

  /// The cost of this layer's decision. A derived class may define a constant of the same name, which replaces this
  /// one.
  static constexpr guard_cost cost = guard_cost::cheap;

  awaitable<code_result> run_code(code_request request) { return run(*this, std::move(request)); }

  awaitable<std::vector<std::string>> contexts()
    requires context_runner<Inner>
  {
    return inner_.contexts();
  }
  awaitable<bool> end_context(std::string name)
    requires context_runner<Inner>
  {
    return inner_.end_context(std::move(name));
  }

  /// Returns the environment in which the code runs, for example to copy files. Guards do not check the file operations
  /// of the host.
  decltype(auto) environment()
    requires requires(Inner& inner) { inner.environment(); }
  {
    return inner_.environment();
  }
  /// Returns true if `environment()` of the wrapped runner works.
  bool has_environment() const
    requires requires(const Inner& inner) { inner.has_environment(); }
  {
    return inner_.has_environment();
  }
  /// Returns the version of the interpreter of the wrapped runner, such as "3.12.4".
  std::string version() const
    requires requires(const Inner& inner) { inner.version(); }
  {
    return inner_.version();
  }

  /// Returns a text for a model that writes code: the functions that layers of this stack give to the code. Empty if
  /// there are none.
  std::string about_tools() const { return detail::about_tools(inner_); }

  /// Returns true if the wrapped runner is known to be lost. This member is present if the wrapped runner has it.
  bool is_lost() const noexcept
    requires requires(const Inner& inner) { inner.is_lost(); }
  {
    return inner_.is_lost();
  }

  /// Returns a description of the interpreter that runs the code. Guards around this layer use it.
  auto guest()
    requires requires(Inner& inner) { inner.guest(); }
  {
    return inner_.guest();
  }
  /// Returns the worker (an object with reader processes) that parses code for all guards of this stack.
  auto shared_reader() const
    requires requires(const Inner& inner) { inner.shared_reader(); }
  {
    return inner_.shared_reader();
  }

  awaitable<void> close() { return inner_.close(); }

 protected:
  /// Returns the wrapped runner. Do not make it public, because callers could then bypass the layer.
  Inner& inner() noexcept { return inner_; }
  const Inner& inner() const noexcept { return inner_; }

 private:
  friend class detail::code_layer_access;
  using access = detail::code_layer_access;

  static constexpr bool is_transparent() { return detail::inherits_run_code<Derived, code_layer>; }

  Derived& derived() noexcept { return static_cast<Derived&>(*this); }

  awaitable<std::optional<code_result>> judge(const code_request& request, guard_cost asked) {
    if constexpr (access::is_judged<Inner>) {
      if (asked == Derived::cost) return judge_both(*this, request, asked);
      return access::judge(inner_, request, asked);
    } else {
      if (asked == Derived::cost) return derived().admit(request);
      return admitted();
    }
  }

  awaitable<code_result> run_admitted(code_request request) {
    if constexpr (requires { derived().prepare(std::move(request)); }) request = derived().prepare(std::move(request));
    if constexpr (access::is_judged<Inner>) {
      return access::run_admitted(inner_, std::move(request));
    } else {
      return inner_.run_code(std::move(request));
    }
  }

  static awaitable<std::optional<code_result>> admitted() { co_return std::nullopt; }

  static awaitable<std::optional<code_result>> judge_both(code_layer& self, const code_request& request,
                                                          guard_cost asked) {
    std::optional<code_result> refusal = co_await access::judge(self.inner_, request, asked);
    if (refusal) co_return refusal;
    std::optional<code_result> own_refusal = co_await self.derived().admit(request);
    co_return own_refusal;
  }

  static awaitable<code_result> run(code_layer& self, code_request request) {
    std::optional<code_result> cheap_refusal = co_await self.judge(request, guard_cost::cheap);
    if (cheap_refusal) co_return std::move(*cheap_refusal);
    std::optional<code_result> costly_refusal = co_await self.judge(request, guard_cost::costly);
    if (costly_refusal) co_return std::move(*costly_refusal);
    code_result result = co_await self.run_admitted(std::move(request));
    co_return result;
  }

  Inner inner_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
