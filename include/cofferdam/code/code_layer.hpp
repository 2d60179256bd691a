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

/// The cost of a layer's decision. All cheap layers decide before any costly layer.
enum class guard_cost {
  /// Decided on this machine.
  cheap,
  /// Needs a model, a service or a person.
  costly
};

namespace detail {

/// Gives stacks of layers, and `any_runner`, the two halves of `run_code`. Only they may call the second half without
/// the first.
class code_layer_access {
 public:
  /// Returns the first refusal among the layers of `runner` with this cost, from the innermost to the outermost.
  template <class R>
  static awaitable<std::optional<code_result>> judge(R& runner, const code_request& request, guard_cost cost) {
    return runner.judge(request, cost);
  }
  /// Runs a request that every layer of `runner` has admitted.
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

/// True for a layer that inherits `run_code` from its base.
template <class D, class Base>
concept inherits_run_code =
    requires { requires std::same_as<decltype(&D::run_code), awaitable<code_result> (Base::*)(code_request)>; };

}  // namespace detail

/// The base class of guards: a runner that wraps another one, as `layer` wraps an environment. Its recipe is a
/// `pipeable` too: `local() | python() | check_syntax() | allow_imports("json")`.
///
/// A layer defines one hook, `awaitable<std::optional<code_result>> admit(const code_request&)`. To return a result is
/// to refuse the code. **The layers decide from left to right, as they are listed; costly ones come after all cheap
/// ones**, wherever they are listed. The first refusal is final. A layer that needs a model, a service or a person
/// declares `static constexpr guard_cost cost = guard_cost::costly;`. A request that every layer has admitted runs
/// unchanged.
///
/// A layer with its own `run_code` is opaque: the layers inside it decide only when it calls `inner().run_code`. The
/// same holds for a runner that is not a layer. `any_runner` is transparent.
///
/// Contexts, `close`, and the other members of a Python runner (`environment`, `version`) are forwarded if the runner
/// has them.
template <class Derived, code_runner Inner>
class code_layer {
 public:
  /// Wraps no open runner: operations throw `error{exec_errc::environment_closed}`.
  code_layer()
    requires std::default_initializable<Inner>
  = default;
  explicit code_layer(Inner inner) : inner_(std::move(inner)) {}

  /// The cost of this layer's decision. A layer may hide this constant with its own.
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

  /// Returns the environment in which the code runs, for example to copy files. File operations of the host are not
  /// guarded.
  decltype(auto) environment()
    requires requires(Inner& inner) { inner.environment(); }
  {
    return inner_.environment();
  }
  bool has_environment() const
    requires requires(const Inner& inner) { inner.has_environment(); }
  {
    return inner_.has_environment();
  }
  std::string version() const
    requires requires(const Inner& inner) { inner.version(); }
  {
    return inner_.version();
  }

  /// Returns the interpreter's description, for guards around this one.
  auto guest()
    requires requires(Inner& inner) { inner.guest(); }
  {
    return inner_.guest();
  }
  /// Returns the reader that all guards of a stack share.
  auto shared_reader() const
    requires requires(const Inner& inner) { inner.shared_reader(); }
  {
    return inner_.shared_reader();
  }

  awaitable<void> close() { return inner_.close(); }

 protected:
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
