// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/llm/chat_history.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/detail/conversation.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Converts the state of a session to JSON and back, for agent_session::save() and agent_session::resume().

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline boost::json::object save_session(const conversation& history, const chat_usage& usage) {
  boost::json::object saved;
  saved["version"] = 1;
  saved["history"] = history_to_json(history.messages());
  saved["head"] = history.kept();
  saved["task"] = history.task_end();
  saved["input_tokens"] = usage.input;
  saved["output_tokens"] = usage.output;
  if (usage.cached != 0) saved["cached_tokens"] = usage.cached;
  if (usage.reasoning != 0) saved["reasoning_tokens"] = usage.reasoning;
  if (usage.cost > 0 && std::isfinite(usage.cost)) saved["cost"] = usage.cost;
  return saved;
}

/// Returns a number of a saved session; 0 if it is absent.
/// \throws error{exec_errc::invalid_argument} if it is not an integer of at least 0.
inline std::uint64_t saved_count(const json_object_view& saved, std::string_view key) {
  if (member(saved, key) == nullptr) return 0;
  const std::optional<std::uint64_t> count = count_at(saved, key);
  if (!count)
    throw error(exec_errc::invalid_argument,
                "agent_session: \"" + std::string(key) + "\" of the saved session is not a number of at least 0");
  return *count;
}

/// Returns the cost of a saved session; 0 if it is absent.
/// \throws error{exec_errc::invalid_argument} if it is not a finite number of at least 0.
inline double saved_cost(const json_object_view& saved) {
  const boost::json::value* const found = member(saved, "cost");
  if (found == nullptr) return 0;
  const double cost = found->is_number() ? found->to_number<double>() : -1;
  if (!std::isfinite(cost) || cost < 0)
    throw error(exec_errc::invalid_argument,
                "agent_session: \"cost\" of the saved session is not a finite number of at least 0");
  return cost;
}

/// Restores the conversation and the usage from the JSON of save_session().
/// \throws error{exec_errc::invalid_argument} for any other JSON; `history` and `usage` are unchanged then.
inline void resume_session(const boost::json::value& saved, conversation& history, chat_usage& usage) {
  const json_object_view object = saved.if_object();
  const boost::json::value* const messages = member(object, "history");
  if (messages == nullptr || count_at(object, "version") != 1U)
    throw error(exec_errc::invalid_argument, "agent_session: not a saved session, or its version is not supported");
  std::vector<chat_message> read = history_from_json(*messages);
  const std::size_t kept = saved_count(object, "head");
  const std::size_t task_end = saved_count(object, "task");
  if (kept > task_end || task_end > read.size())
    throw error(exec_errc::invalid_argument, "agent_session: the saved session is inconsistent");
  chat_usage total;
  total.input = saved_count(object, "input_tokens");
  total.output = saved_count(object, "output_tokens");
  total.cached = saved_count(object, "cached_tokens");
  total.reasoning = saved_count(object, "reasoning_tokens");
  total.cost = saved_cost(object);
  history = conversation(std::move(read), kept, task_end);
  usage = total;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
