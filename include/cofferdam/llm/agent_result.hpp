// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/transfer.hpp>
#include <cofferdam/llm/chat_message.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace cofferdam::inline v0 {

/// How a run ended.
enum class agent_end {
  finished,      ///< the model called a tool that ends the work, and that succeeded
  max_turns,     ///< it was asked as often as it may be
  token_budget,  ///< it has used as many tokens as it may
  no_calls,      ///< it did nothing but talk, three times in a row
  same_mistake,  ///< it sent the same invalid call five times
};

/// What one tool has done.
class tool_account {
 public:
  std::size_t calls = 0;
  std::size_t failures = 0;  ///< of `calls`: answers without success
  std::chrono::nanoseconds time{};
};

/// What a run came to. A value.
class agent_result {
 public:
  agent_result() = default;

  agent_end end = agent_end::max_turns;
  /// What the model said of it: the argument `reason` of its last call, or its text. Not to be trusted.
  std::string reason;
  /// The arguments with which it ended the work; empty where it did not.
  boost::json::object arguments;
  /// The files in the output directory, and those of which something went wrong; see `session::save_unfinished`.
  transfer saved;
  std::size_t turns = 0;
  chat_usage usage;
  /// What was waited for the model.
  std::chrono::nanoseconds model_time{};
  std::map<std::string, tool_account> tools;

  bool finished() const noexcept { return end == agent_end::finished; }
};

}  // namespace cofferdam::inline v0
