// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_analysis.hpp>
#include <cofferdam/code/code_layer.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/interpreter_info.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/shielded.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// A guard's reason for refusing a piece of code, and its advice to the author.
class guard_refusal {
 public:
  /// \param rule    the name of the guard in C++ code, for example "check_syntax".
  /// \param line    the line of the problem, counted from 1; 0 if there is no such line.
  /// \param what    the problem, as a clause without a full stop.
  /// \param advice  the remedy, as a sentence for the model that wrote the code.
  guard_refusal(std::string rule, int line, std::string what, std::string advice)
      : rule_(std::move(rule)), line_(line), what_(std::move(what)), advice_(std::move(advice)) {}

  /// Returns the name of the guard.
  const std::string& rule() const noexcept { return rule_; }
  /// Returns the line of the problem, counted from 1; 0 if there is no such line.
  int line() const noexcept { return line_; }
  /// Returns the problem, as a clause without a full stop.
  const std::string& what() const noexcept { return what_; }
  /// Returns the remedy, as a sentence for the model that wrote the code.
  const std::string& advice() const noexcept { return advice_; }

  /// Makes a result of kind `error_kind::security_violation`. Its `reason()` has the rule, the problem, the advice, and
  /// the number and text of the line.
  /// \param source  the code that was refused, from which the text of the line is taken.
  code_result result(std::string_view source) const {
    std::string reason = "Not run: " + rule_ + " refuses ";
    if (line_ > 0) {
      reason += "line " + std::to_string(line_);
      std::string_view text = line_of(source, line_);
      text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
      if (!text.empty()) reason += ", \"" + one_line(text, 160) + "\"";
    } else {
      reason += "the code";
    }
    return code_result::refused(error_kind::security_violation, reason + ": " + what_ + ". " + advice_);
  }

 private:
  std::string rule_;
  int line_;
  std::string what_;
  std::string advice_;
};

/// A type that decides about code from the facts about it. `judge(facts)` returns the reason for a refusal, or no
/// value. A policy is immutable and cheap to copy.
template <class P>
concept code_policy = std::copy_constructible<P> && requires(const P& policy, const code_analysis& facts) {
  { policy.judge(facts) } -> std::same_as<std::optional<guard_refusal>>;
};

namespace detail {

class analysis_worker;

/// Makes the worker that parses code for the guards of one runner. It may be used and destroyed on any thread.
std::shared_ptr<analysis_worker> make_analysis_worker(python_reader settings);

/// Returns the facts about the code, which a reader (a Python process) has parsed. See `analysis_worker::read`.
awaitable<std::shared_ptr<const code_analysis>> analyse_code(std::shared_ptr<analysis_worker> worker,
                                                             const std::string& source, const interpreter_info& guest);

/// Ends the worker's processes. A second call does nothing.
awaitable<void> close_analysis_worker(std::shared_ptr<analysis_worker> worker);

/// Returns the refusal of code that could not be parsed; no value if the code could be parsed.
std::optional<code_result> refuse_unreadable(const code_analysis& facts, const std::string& rule);

template <class R>
concept shares_reader = requires(const R& runner) {
  { runner.shared_reader() } -> std::same_as<std::shared_ptr<analysis_worker>>;
};

}  // namespace detail

/// A runner that applies a policy to Python code before the code runs: the type of `runner | check_syntax()` and of
/// other guards.
///
/// Code that cannot be parsed, because it is not Python or would cost too much, is refused under every policy. The code
/// is parsed on the host. If the host has no Python, or has another version that finds a syntax error, the Python of
/// the guest (the environment in which the code runs) parses the code. See `python_reader`.
/// \par Cancellation  terminal. If the coroutine is cancelled while the code is parsed, `run_code` throws
///                    error{exec_errc::cancelled}, and nothing has run.
template <code_policy Policy, code_runner Inner>
class guard_layer : public code_layer<guard_layer<Policy, Inner>, Inner> {
 public:
  /// Makes an object without a runner. Every operation throws `error{exec_errc::environment_closed}`.
  guard_layer()
    requires std::default_initializable<Inner> && std::default_initializable<Policy>
  = default;
  /// Wraps an open runner, which the layer then owns. `reader` parses the code for the policy.
  guard_layer(Inner inner, Policy policy, python_reader reader)
      : code_layer<guard_layer, Inner>(std::move(inner)),
        policy_(std::move(policy)),
        worker_(share(std::move(reader))) {}

  /// Returns the refusal of the code, or no value if the code may run.
  /// \throws error{exec_errc::provider_failed} if there is no Python that can parse the code.
  awaitable<std::optional<code_result>> admit(const code_request& request) { return decide(*this, request); }

  awaitable<void> close() {
    return detail::shielded([this] { return close_both(*this); });
  }

  /// Returns the worker that parses code, so that guards around this guard share it.
  std::shared_ptr<detail::analysis_worker> shared_reader() const { return worker_; }

 private:
  std::shared_ptr<detail::analysis_worker> share(python_reader reader) {
    if constexpr (detail::shares_reader<Inner>) {
      if (std::shared_ptr<detail::analysis_worker> there = this->inner().shared_reader()) return there;
    }
    return detail::make_analysis_worker(std::move(reader));
  }

  const std::shared_ptr<detail::analysis_worker>& require_worker() const {
    if (!worker_)
      throw error(exec_errc::environment_closed,
                  std::string(Policy::name) +
                      ": not open (default-constructed or moved from); call open() on the runner's recipe first");
    return worker_;
  }

  static awaitable<std::optional<code_result>> decide(guard_layer& self, const code_request& request) {
    const interpreter_info guest = detail::interpreter_of(self.inner());
    const std::shared_ptr<detail::analysis_worker> worker = self.require_worker();
    std::shared_ptr<const code_analysis> facts = co_await detail::analyse_code(worker, request.source(), guest);
    std::optional<code_result> answer = detail::refuse_unreadable(*facts, std::string(Policy::name));
    if (answer) co_return answer;
    if (std::optional<guard_refusal> refusal = self.policy_.judge(*facts)) answer = refusal->result(facts->source());
    co_return answer;
  }

  static awaitable<void> close_both(guard_layer& self) {
    const std::shared_ptr<detail::analysis_worker> worker = self.require_worker();
    co_await detail::close_analysis_worker(worker);
    co_await self.inner().close();
  }

  Policy policy_;
  std::shared_ptr<detail::analysis_worker> worker_;
};

/// The base class of the guards that users write, such as `check_syntax`. Such an object is a recipe: `attach` wraps a
/// runner in a `guard_layer`.
template <class Derived>
class guard : public pipeable {
 public:
  /// Sets how the code is parsed. If several guards of a runner have this setting, only the setting of the innermost
  /// guard is used.
  Derived& reader(python_reader settings) {
    reader_ = std::move(settings);
    return static_cast<Derived&>(*this);
  }

  template <code_runner Inner>
  auto attach(Inner inner) const {
    const Derived& self = static_cast<const Derived&>(*this);
    return guard_layer<std::remove_cvref_t<decltype(self.policy())>, Inner>(std::move(inner), self.policy(), reader_);
  }

 private:
  python_reader reader_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/code/impl/guard.ipp>
#endif
