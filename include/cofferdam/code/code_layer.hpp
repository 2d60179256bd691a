// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/core/layer.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// A runner around another: what guards derive from, as middleware derives from `layer`. Its recipe is a `pipeable`, too:
/// `local() | python() | check_syntax() | allow_imports("json")`; the outer one, on the right, sees the code first.
///
/// A layer writes one hook, `awaitable<std::optional<code_result>> admit(const code_request&)`: a result refuses. The
/// request that was admitted is the one that runs: nobody can change it in between. Contexts, `close`, and what a runner
/// of Python has besides (`environment`, `version`) are forwarded where the runner has them.
template <class Derived, code_runner Inner>
class code_layer {
 public:
  explicit code_layer(Inner inner) : inner_(std::move(inner)) {}

  awaitable<code_result> run_code(code_request request) { return run(derived(), std::move(request)); }

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

  /// Where the code runs: for the host's files to and fro. What the host does there is not guarded.
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

  /// For guards around this one.
  auto guest()
    requires requires(Inner& inner) { inner.guest(); }
  {
    return inner_.guest();
  }
  /// What the guards of a stack read code with.
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
  Derived& derived() noexcept { return static_cast<Derived&>(*this); }

  static awaitable<code_result> run(Derived& self, code_request request) {
    std::optional<code_result> refusal = co_await self.admit(request);
    if (refusal) co_return std::move(*refusal);
    code_layer& base = self;
    code_result result = co_await base.inner_.run_code(std::move(request));
    co_return result;
  }

  Inner inner_;
};

}  // namespace cofferdam::inline v0
