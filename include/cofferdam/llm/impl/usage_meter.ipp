// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/usage_meter.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// The counts and prices of a `usage_meter`.
class usage_ledger {
 public:
  std::vector<metered_usage> entries;
  std::vector<std::pair<std::string, token_price>> prices;

  /// Counts a call without an answer.
  void fail(const std::string& label) {
    metered_usage& entry = entry_of(label, std::string());
    ++entry.calls;
    ++entry.failures;
  }

  /// Counts an answer, and returns its usage with the cost.
  chat_usage count(const std::string& label, const std::string& model, chat_usage tokens) {
    const token_price* const price = price_of(model.empty() ? label : model);
    if (price != nullptr) tokens.cost = price->cost_of(tokens);
    metered_usage& entry = entry_of(label, model);
    ++entry.calls;
    if (price == nullptr && tokens.cost == 0) ++entry.unpriced;
    entry.usage += tokens;
    return tokens;
  }

 private:
  metered_usage& entry_of(const std::string& label, const std::string& model) {
    for (metered_usage& each : entries)
      if (each.label == label && each.model == model) return each;
    metered_usage& added = entries.emplace_back();
    added.label = label;
    added.model = model;
    return added;
  }

  const token_price* price_of(std::string_view model) const {
    for (const auto& [name, price] : prices)
      if (name == model) return &price;
    for (const auto& [name, price] : prices)
      if (model.starts_with(name) && is_date(model.substr(name.size()))) return &price;
    return nullptr;
  }

  /// Returns true for the date at the end of a model's name, such as "-2025-08-07", "-20250807" or "-0613".
  static bool is_date(std::string_view end) {
    const bool has_only_digits =
        std::all_of(end.begin(), end.end(), [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
    return end.starts_with('-') && end.size() >= 5 && has_only_digits;
  }
};

inline double checked_price(double price) {
  if (!std::isfinite(price) || price < 0)
    throw error(exec_errc::invalid_argument, "token_price: a price must be a finite number of at least 0");
  return price;
}

inline awaitable<chat_reply> metered_call(std::string label, any_chat_model model, std::shared_ptr<usage_ledger> ledger,
                                          chat_request request) {
  chat_reply reply;
  try {
    reply = co_await model.chat(std::move(request));
  } catch (...) {
    ledger->fail(label);
    throw;
  }
  reply.usage(ledger->count(label, reply.model(), reply.usage()));
  co_return reply;
}

}  // namespace detail

COFFERDAM_DECL token_price::token_price(double input, double output)
    : input_(detail::checked_price(input)), output_(detail::checked_price(output)), cached_(input) {}

COFFERDAM_DECL token_price& token_price::cached(double price) {
  cached_ = detail::checked_price(price);
  return *this;
}

COFFERDAM_DECL double token_price::cost_of(const chat_usage& tokens) const noexcept {
  const std::uint64_t cached = std::min(tokens.cached, tokens.input);
  const double sum = static_cast<double>(tokens.input - cached) * input_ + static_cast<double>(cached) * cached_ +
                     static_cast<double>(tokens.output) * output_;
  return sum / 1'000'000;
}

COFFERDAM_DECL usage_meter::usage_meter() : ledger_(std::make_shared<detail::usage_ledger>()) {}

COFFERDAM_DECL usage_meter& usage_meter::price(std::string model, token_price each) {
  std::erase_if(ledger_->prices, [&](const auto& known) { return known.first == model; });
  ledger_->prices.emplace_back(std::move(model), each);
  return *this;
}

COFFERDAM_DECL std::vector<metered_usage> usage_meter::entries() const { return ledger_->entries; }

COFFERDAM_DECL chat_usage usage_meter::total() const {
  chat_usage sum;
  for (const metered_usage& each : ledger_->entries) sum += each.usage;
  return sum;
}

COFFERDAM_DECL awaitable<chat_reply> metered_model::chat(chat_request request) {
  return detail::metered_call(label_, model_, ledger_, std::move(request));
}

}  // namespace cofferdam::inline COFFERDAM_ABI
