// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_guest.hpp>
#include <cofferdam/code/code_layer.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/detail/facts_worker.hpp>
#include <cofferdam/code/python_facts.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/shielded.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cofferdam::inline v0 {

/// Why a guard does not let code run.
class guard_refusal {
 public:
  /// \param rule    the guard, as it is called in code.
  /// \param line    from 1; 0: none.
  /// \param what    what is wrong, a clause.
  /// \param advice  what to do instead, a sentence for the model that wrote the code.
  guard_refusal(std::string rule, int line, std::string what, std::string advice)
      : rule_(std::move(rule)), line_(line), what_(std::move(what)), advice_(std::move(advice)) {}

  const std::string& rule() const noexcept { return rule_; }
  int line() const noexcept { return line_; }
  const std::string& what() const noexcept { return what_; }
  const std::string& advice() const noexcept { return advice_; }

  /// `error_kind::security_violation`, with all of it and the line's text in `reason()`.
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

/// A policy over what stands in code: `judge(facts)` says why it must not run, or nothing. Copies are cheap; immutable.
template <class P>
concept code_policy = std::copy_constructible<P> && requires(const P& policy, const python_facts& facts) {
  { policy.judge(facts) } -> std::same_as<std::optional<guard_refusal>>;
};

namespace detail {

/// What code that nobody can read is answered; nothing where it could be read.
inline std::optional<code_result> refuse_unreadable(const python_facts& facts, const std::string& rule) {
  if (!facts.problem()) return std::nullopt;
  const code_problem& why = *facts.problem();
  if (!why.is_syntax())
    return guard_refusal(rule, 0, one_line(why.message(), 300), "Write shorter and simpler code.")
        .result(facts.source());
  const std::string text = one_line(line_of(facts.source(), why.line()), 160);
  std::string reason = "Not run: " + rule + " finds a " + one_line(why.type(), 40);
  if (why.line() > 0) {
    reason += " in line " + std::to_string(why.line());
    if (why.column() > 0) reason += ", column " + std::to_string(why.column());
    reason += ", \"" + text + "\"";
  }
  reason += ": " + one_line(why.message(), 300);
  if (!why.note().empty()) reason += ". " + why.note();
  reason += ". Correct it and send all of the code again; only Python runs here.";
  code_result result = code_result::refused(error_kind::security_violation, std::move(reason));
  result.failure(code_error(why.type(), why.message(), why.line(), std::string()));
  return result;
}

template <class R>
concept shares_reader = requires(const R& runner) {
  { runner.shared_reader() } -> std::same_as<std::shared_ptr<facts_worker>>;
};

}  // namespace detail

/// A runner that asks a policy before it runs Python code. What `runner | check_syntax()` and its like make.
///
/// Code that cannot be read, because it is no Python or costs too much, is refused whatever the policy is. It is read on
/// the host, or by the Python that would run it where the host has none or one of another version that finds a mistake:
/// see `python_reader`.
/// \par Cancellation  terminal, also while the code is read: then error{errc::cancelled}, and nothing has run.
template <code_policy Policy, code_runner Inner>
class guard_layer : public code_layer<guard_layer<Policy, Inner>, Inner> {
 public:
  guard_layer(Inner inner, Policy policy, python_reader reader)
      : code_layer<guard_layer, Inner>(std::move(inner)),
        policy_(std::move(policy)),
        worker_(share(std::move(reader))) {}

  /// \throws error{errc::provider_failed} where there is no Python to read the code with.
  awaitable<std::optional<code_result>> admit(const code_request& request) { return decide(*this, request); }

  awaitable<void> close() {
    return detail::shielded([this] { return close_both(*this); });
  }

  /// For the guards around this one.
  std::shared_ptr<detail::facts_worker> shared_reader() const { return worker_; }

 private:
  std::shared_ptr<detail::facts_worker> share(python_reader reader) {
    if constexpr (detail::shares_reader<Inner>) {
      if (std::shared_ptr<detail::facts_worker> there = this->inner().shared_reader()) return there;
    }
    return std::make_shared<detail::facts_worker>(std::move(reader));
  }

  static awaitable<std::optional<code_result>> decide(guard_layer& self, const code_request& request) {
    const code_guest guest = detail::guest_of(self.inner());
    const std::shared_ptr<detail::facts_worker> worker = self.worker_;
    std::shared_ptr<const python_facts> facts = co_await detail::facts_worker::read(worker, request.source(), guest);
    std::optional<code_result> answer = detail::refuse_unreadable(*facts, std::string(Policy::name));
    if (answer) co_return answer;
    if (std::optional<guard_refusal> refusal = self.policy_.judge(*facts)) answer = refusal->result(facts->source());
    co_return answer;
  }

  static awaitable<void> close_both(guard_layer& self) {
    const std::shared_ptr<detail::facts_worker> worker = self.worker_;
    co_await detail::facts_worker::close(worker);
    co_await self.inner().close();
  }

  Policy policy_;
  std::shared_ptr<detail::facts_worker> worker_;
};

/// The base of a guard's recipe.
template <class Derived>
class guard : public pipeable {
 public:
  /// How the code is read; what the innermost guard of a runner says holds for all of them.
  Derived&& reader(python_reader settings) && {
    reader_ = std::move(settings);
    return static_cast<Derived&&>(*this);
  }

  template <code_runner Inner>
  auto attach(Inner inner) const {
    const Derived& self = static_cast<const Derived&>(*this);
    return guard_layer<std::remove_cvref_t<decltype(self.policy())>, Inner>(std::move(inner), self.policy(), reader_);
  }

 private:
  python_reader reader_;
};

}  // namespace cofferdam::inline v0
