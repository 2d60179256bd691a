// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/llm/chat_message.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The reason for the end of a run.
enum class agent_end {
  finished,      ///< the model called a tool that ends the work, and that succeeded
  max_turns,     ///< the maximum number of turns was reached
  token_budget,  ///< the token budget was used up
  no_calls,      ///< three answers in a row had no tool call
  same_mistake,  ///< the same invalid call was sent five times
};

/// The statistics of one tool.
class tool_account {
 public:
  std::size_t calls = 0;
  std::size_t failures = 0;  ///< of `calls`: those that failed
  std::chrono::nanoseconds time{};
};

/// The result of a run. A value.
class agent_result {
 public:
  agent_result() = default;

  agent_end end = agent_end::max_turns;
  /// The model's explanation: the argument `reason` of its last call, or its text. Untrusted.
  std::string reason;
  /// The arguments of the call that ended the work; otherwise empty.
  boost::json::object arguments;
  /// The files in the output directory, and the failed ones; see `session::save_unfinished`.
  transfer_result saved;
  std::size_t turns = 0;
  chat_usage usage;
  /// The time spent waiting for the model.
  std::chrono::nanoseconds model_time{};
  std::map<std::string, tool_account> tools;

  bool finished() const noexcept { return end == agent_end::finished; }
};

}  // namespace cofferdam::inline COFFERDAM_ABI
