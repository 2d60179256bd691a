// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/llm/chat_message.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The tokens that a session uses, with those of its sub-agents, and its place below other sessions. The sessions of
/// sub-agents count their tokens here too, as they use them, so that the budget of a session limits its sub-agents.
class run_scope {
 public:
  run_scope() = default;
  /// Makes the scope of a sub-agent's session.
  /// \param parent  the scope of the session that has called the sub-agent; null if no session has called it.
  explicit run_scope(std::shared_ptr<run_scope> parent)
      : parent_(std::move(parent)), depth_(parent_ ? parent_->depth_ + 1 : 1) {}

  /// Returns the number of sessions above this one: 0 for a session that is no sub-agent's.
  std::size_t depth() const noexcept { return depth_; }

  /// Starts the count of a run.
  void begin(std::optional<std::uint64_t> budget) noexcept {
    budget_ = budget;
    own_ = nested_ = chat_usage();
  }
  /// Counts an answer of the session's own model.
  void add(const chat_usage& tokens) noexcept {
    own_ += tokens;
    total += tokens;
    for (run_scope* each = parent_.get(); each != nullptr; each = each->parent_.get()) {
      each->nested_ += tokens;
      each->total += tokens;
    }
  }
  /// Returns the tokens that the sub-agents have used in this run.
  const chat_usage& nested() const noexcept { return nested_; }
  /// Returns true if this run, or the run of a session above, has used more than its budget.
  bool is_over_budget() const noexcept {
    if (budget_ && own_.total() + nested_.total() > *budget_) return true;
    return parent_ && parent_->is_over_budget();
  }

  chat_usage total;  ///< the tokens of all runs of the session

 private:
  std::shared_ptr<run_scope> parent_;
  std::size_t depth_ = 0;
  std::optional<std::uint64_t> budget_;
  chat_usage own_;
  chat_usage nested_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
