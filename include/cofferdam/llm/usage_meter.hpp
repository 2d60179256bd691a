// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/chat_model.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class usage_ledger;
}  // namespace detail

/// The price of a model's tokens: `token_price(0.25, 2.00).cached(0.025)`. All prices are for a million tokens, in one
/// currency of your choice.
class token_price {
 public:
  /// \param input   the price of a million tokens that are sent.
  /// \param output  the price of a million tokens that are received.
  /// \throws error{exec_errc::invalid_argument} if a price is negative or not finite.
  token_price(double input, double output);
  /// Sets the price of a million tokens that the service had in its cache. Default: the price of the input.
  /// \throws error{exec_errc::invalid_argument} if the price is negative or not finite.
  token_price& cached(double price);

  /// Returns the cost of an answer.
  double cost_of(const chat_usage& tokens) const noexcept;

 private:
  double input_;
  double output_;
  double cached_;
};

/// The calls of one model under one label, as a `usage_meter` has counted them.
class metered_usage {
 public:
  std::string label;         ///< the label that the program gave to `usage_meter::count`
  std::string model;         ///< the name that the service reports; empty if it reports none, and for failed calls
  std::size_t calls = 0;     ///< the number of calls, with the failed ones
  std::size_t failures = 0;  ///< the calls without an answer. A service may bill them; their tokens are unknown
  std::size_t unpriced = 0;  ///< the answers whose cost is unknown
  chat_usage usage;          ///< the tokens and the cost of all answers
};

class metered_model;

/// A count of all calls of models in a program, with their tokens and cost:
///
///     usage_meter meter;
///     meter.price("gpt-5-mini", token_price(0.25, 2.00));
///     agent helper(meter.count("agent", client));
///     auto guarded = sandbox() | python() | llm_review(meter.count("review", client));
///     std::cout << meter.total().cost;
///
/// `count` wraps a model. Every call of the wrapped model is counted: those of an agent, its sub-agents, a reviewer
/// and the program. The wrapped model also sets `cost` in the usage of its answers, so that `agent_result` and
/// `agent_session::usage` contain the cost. A cost that the service reports itself is kept, unless a price is set.
/// Copies of a meter share their counts.
/// \par Threads  the executor of the models. If several threads run it, it must be a strand.
/// \par Source   kodeagent's usage tracker.
class usage_meter {
 public:
  /// Makes a meter that has counted nothing and has no prices.
  usage_meter();

  /// Sets the price of a model for later calls.
  /// \param model  the name that the service reports, without a date at its end: "gpt-5-mini" is also the price of
  ///               "gpt-5-mini-2025-08-07". If the service reports no name, the label of `count` takes its place.
  /// \param each   the price of its tokens.
  usage_meter& price(std::string model, token_price each);

  /// Wraps a model, so that its calls are counted.
  /// \param label  the purpose of the calls, such as "agent" or "review".
  /// \param model  any `chat_model`.
  template <chat_model M>
  metered_model count(std::string label, M model) const;

  /// Returns the counts, one for each label and model, in the order of their first calls.
  std::vector<metered_usage> entries() const;
  /// Returns the tokens and the cost of all answers.
  chat_usage total() const;

 private:
  std::shared_ptr<detail::usage_ledger> ledger_;
};

/// A model whose calls a `usage_meter` counts. Models `chat_model`, and can do what the model inside can do. Copies
/// share the model and the meter.
class metered_model {
 public:
  /// Wraps a model. `usage_meter::count` calls this constructor.
  metered_model(std::string label, any_chat_model model, std::shared_ptr<detail::usage_ledger> ledger)
      : label_(std::move(label)), model_(std::move(model)), ledger_(std::move(ledger)) {}

  awaitable<chat_reply> chat(chat_request request);

 private:
  std::string label_;
  any_chat_model model_;
  std::shared_ptr<detail::usage_ledger> ledger_;
};

template <chat_model M>
metered_model usage_meter::count(std::string label, M model) const {
  return metered_model(std::move(label), detail::as_any_model(std::move(model)), ledger_);
}

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/llm/impl/usage_meter.ipp>
#endif
