// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/join_all.hpp>
#include <cofferdam/detail/tools/answer_to_model.hpp>
#include <cofferdam/llm/agent_result.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/detail/tool_arguments.hpp>
#include <cofferdam/tools/tool.hpp>

#include <asio/this_coro.hpp>

#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// One tool call of a turn, and its result when the call has been executed.
class round_call {
 public:
  std::string id;
  std::string name;
  std::string text;  ///< the arguments as the model wrote them
  tools::any_tool* tool = nullptr;
  boost::json::value arguments;
  std::optional<tools::tool_result> answer;
  bool invalid = false;  ///< true if the tool does not exist, or the arguments are invalid
};

/// The execution of the tool calls of one turn. Every failure becomes a result for the model, except two kinds of
/// failure that end the session's run: a cancellation, and an environment that is lost or closed.
class tool_round {
 public:
  tool_round(std::vector<tools::any_tool>& tools, const agent_listener& listener, agent_result& result,
             std::size_t parallel_reads)
      : tools_(tools), listener_(listener), result_(result), parallel_reads_(parallel_reads) {}

  std::vector<round_call>& calls() noexcept { return calls_; }

  /// Returns the call that has ended the work; null if no call has ended it.
  const round_call* ended_by() const noexcept { return ended_by_; }

  /// Reads the tool calls of a message. A call of an unknown tool, or with invalid arguments, gets an error as its
  /// result at once.
  /// \param message  a message of the model.
  void take(const chat_message& message) {
    for (const chat_tool_call& each : message.tool_calls()) {
      round_call& tool_call = calls_.emplace_back();
      tool_call.id = each.id();
      tool_call.name = each.name();
      tool_call.text = each.arguments();
      for (tools::any_tool& known : tools_)
        if (known.name() == tool_call.name) tool_call.tool = &known;
      if (tool_call.tool == nullptr) {
        refuse(tool_call,
               "Error: unknown tool '" + one_line(tool_call.name, 64) + "'. Available tools: " + names() + ".");
        continue;
      }
      std::string complaint;
      std::optional<boost::json::value> arguments = read_tool_arguments(tool_call.text, tool_call.name, complaint);
      if (!arguments) {
        refuse(tool_call, std::move(complaint));
        continue;
      }
      tool_call.arguments = std::move(*arguments);
    }
  }

  /// Executes the calls. Calls that do not end the work come first: at the same time if all of them only read,
  /// otherwise one after another. The call that ends the work comes last; if there are several such calls, all of them
  /// are refused.
  template <class = void>
  awaitable<void> run() {
    std::vector<round_call*> ordinary;
    std::vector<round_call*> ending;
    for (round_call& each : calls_) {
      if (each.answer) {
        tell_refused(each);
        continue;
      }
      (each.tool->ends_work() ? ending : ordinary).push_back(&each);
    }
    const bool only_reads =
        std::all_of(ordinary.begin(), ordinary.end(), [](const round_call* each) { return each->tool->reads_only(); });
    const std::size_t at_once = only_reads ? parallel_reads_ : 1;
    if (at_once > 1 && ordinary.size() > 1) {
      auto work = [this, &ordinary](std::size_t at) { return call(*ordinary[at]); };
      co_await join_all(ordinary.size(), at_once, work);
    } else {
      for (round_call* each : ordinary) co_await call(*each);
    }
    if (ending.size() > 1) {
      for (round_call* each : ending) {
        refuse(*each, "Error: the work is not finished, because " + std::to_string(ending.size()) +
                          " calls in this turn would end it. Call exactly one of these tools, once.");
        tell_refused(*each);
      }
      co_return;
    }
    for (round_call* each : ending) {
      co_await call(*each);
      if (each->answer->ok()) ended_by_ = each;
    }
  }

 private:
  std::string names() const {
    std::string list;
    for (const tools::any_tool& each : tools_) list += (list.empty() ? "" : ", ") + std::string(each.name());
    return list;
  }

  void refuse(round_call& tool_call, std::string why) {
    tool_call.invalid = true;
    tool_call.answer.emplace(std::move(why), false);
  }

  void tell(const agent_event& what) const {
    if (listener_) listener_(what);
  }

  void tell_begun(const round_call& tool_call) const {
    agent_event begun(agent_event_kind::tool_begun, tool_call.text);
    begun.name(tool_call.name).call_id(tool_call.id);
    tell(begun);
  }

  /// Reports a call that was not executed: as events, and as a failure in the statistics of its tool.
  void tell_refused(const round_call& tool_call) {
    if (tool_call.tool != nullptr) result_.add_call(tool_call.name, false, std::chrono::nanoseconds::zero());
    tell_begun(tool_call);
    agent_event ended(agent_event_kind::tool_ended, tool_call.answer->text());
    ended.name(tool_call.name).call_id(tool_call.id);
    tell(ended);
  }

  /// Returns true if a result reports wrong arguments.
  static bool is_complaint(const tools::tool_result& answer) {
    if (answer.ok()) return false;
    for (const std::string_view start : {"Error: Wrong arguments", "Error: The arguments must be",
                                         "<shell_results>\n<error_kind>invalid_argument</error_kind>"})
      if (answer.text().starts_with(start)) return true;
    return false;
  }

  template <class = void>
  awaitable<void> call(round_call& tool_call) {
    tell_begun(tool_call);
    tools::tool_output_listener hears;
    if (listener_)
      hears = [this, &tool_call](output_stream stream, bytes_view piece) {
        agent_event output(agent_event_kind::tool_output, as_text(piece));
        output.name(tool_call.name).call_id(tool_call.id).stream(stream);
        tell(output);
      };
    const auto start = std::chrono::steady_clock::now();
    std::exception_ptr failure;
    try {
      tools::tool_result answer = co_await tool_call.tool->call(std::move(tool_call.arguments), std::move(hears));
      tool_call.answer = std::move(answer);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) {
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      tool_call.answer = answer_to(failure, state.cancelled() != asio::cancellation_type::none);
    }
    const auto time = std::chrono::steady_clock::now() - start;
    if (is_complaint(*tool_call.answer)) tool_call.invalid = true;
    result_.add_call(tool_call.name, tool_call.answer->ok(), time);
    agent_event ended(agent_event_kind::tool_ended, tool_call.answer->text());
    ended.name(tool_call.name).call_id(tool_call.id).ok(tool_call.answer->ok()).duration(time);
    tell(ended);
  }

  /// Converts the exception of a tool to a result for the model. Throws an error if the session cannot continue.
  static tools::tool_result answer_to(const std::exception_ptr& failure, bool cancelled) {
    std::error_code cause;
    try {
      std::rethrow_exception(failure);
    } catch (const error& known) {
      if (is_environment_gone(known)) throw;
      cause = known.cause();
    } catch (...) {  // becomes an answer below
    }
    if (cancelled) throw error(exec_errc::cancelled, "the session was cancelled while a tool was running", cause);
    return answer_to_model(failure);
  }

  std::vector<tools::any_tool>& tools_;
  const agent_listener& listener_;
  agent_result& result_;
  std::size_t parallel_reads_;
  std::vector<round_call> calls_;
  const round_call* ended_by_ = nullptr;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
