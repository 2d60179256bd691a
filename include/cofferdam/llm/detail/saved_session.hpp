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

#include <cstddef>
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
  if (usage.cost != 0) saved["cost"] = usage.cost;
  return saved;
}

/// Restores the conversation and the usage from the JSON of save_session().
/// \throws error{exec_errc::invalid_argument} for any other JSON; `history` and `usage` are unchanged then.
inline void resume_session(const boost::json::value& saved, conversation& history, chat_usage& usage) {
  const json_object_view object = saved.if_object();
  const boost::json::value* const messages = member(object, "history");
  if (messages == nullptr || count_at(object, "version") != 1U)
    throw error(exec_errc::invalid_argument, "agent_session: not a saved session, or its version is not supported");
  std::vector<chat_message> read = history_from_json(*messages);
  const std::size_t kept = count_at(object, "head").value_or(0);
  const std::size_t task_end = count_at(object, "task").value_or(0);
  if (kept > task_end || task_end > read.size())
    throw error(exec_errc::invalid_argument, "agent_session: the saved session is inconsistent");
  history = conversation(std::move(read), kept, task_end);
  usage.input = count_at(object, "input_tokens").value_or(0);
  usage.output = count_at(object, "output_tokens").value_or(0);
  const boost::json::value* const cost = member(object, "cost");
  if (cost != nullptr && cost->is_double()) usage.cost = cost->get_double();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
