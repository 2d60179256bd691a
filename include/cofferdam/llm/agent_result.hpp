// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/process.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/llm/chat_message.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The kind of an event in an agent's session. The comments list the members of `agent_event` that are set for each
/// kind.
enum class agent_event_kind {
  turn,         ///< a request to the model begins; `turn()`
  text,         ///< a piece of the model's answer; `text()`
  reasoning,    ///< a piece of the model's reasoning; `text()`
  tool_begun,   ///< a tool is called; `name()`, `call_id()`; `text()` has the arguments as the model wrote them
  tool_output,  ///< a piece of the tool's output; `name()`, `call_id()`, `stream()`; `text()` may have any bytes
  tool_ended,   ///< the tool has returned; `name()`, `call_id()`, `ok()`, `duration()`; `text()` has its result
  shortened,    ///< the conversation was too long for the model; `text()` describes how it was shortened
  saved,        ///< a file was copied to the host; `name()`: path in the workspace, `text()`: host path, `size()`
  not_saved,    ///< a file was not copied; `name()` has its path in the workspace, `text()` the reason
};

/// An event in an agent's session. Its texts are valid only until the listener returns.
///
/// Texts from the model or a tool are passed on unchanged, including control characters. Use `printable_text` before
/// you print them on a terminal.
class agent_event {
 public:
  /// Makes an event of this kind. The setters add the members that `agent_event_kind` lists for it.
  explicit agent_event(agent_event_kind kind, std::string_view text = {}) : kind_(kind), text_(text) {}

  /// Returns the kind of the event.
  agent_event_kind kind() const noexcept { return kind_; }
  /// Returns the text of the event, as described at `agent_event_kind`.
  std::string_view text() const noexcept { return text_; }
  /// Returns the number of the turn, counted from 1.
  std::size_t turn() const noexcept { return turn_; }
  agent_event& turn(std::size_t number) {
    turn_ = number;
    return *this;
  }
  /// Returns the name of the tool, or the path of the file, as described at `agent_event_kind`.
  std::string_view name() const noexcept { return name_; }
  agent_event& name(std::string_view text) {
    name_ = text;
    return *this;
  }
  /// Returns the id of the tool call.
  std::string_view call_id() const noexcept { return call_id_; }
  agent_event& call_id(std::string_view text) {
    call_id_ = text;
    return *this;
  }
  /// Returns true if the tool has succeeded.
  bool ok() const noexcept { return success_; }
  agent_event& ok(bool is) {
    success_ = is;
    return *this;
  }
  /// Returns the duration of the tool call.
  std::chrono::nanoseconds duration() const noexcept { return duration_; }
  agent_event& duration(std::chrono::nanoseconds time) {
    duration_ = time;
    return *this;
  }
  /// Returns the output stream to which the text belongs.
  output_stream stream() const noexcept { return stream_; }
  agent_event& stream(output_stream which) {
    stream_ = which;
    return *this;
  }
  /// Returns the size of the file in bytes.
  std::uint64_t size() const noexcept { return size_; }
  agent_event& size(std::uint64_t byte_count) {
    size_ = byte_count;
    return *this;
  }

 private:
  agent_event_kind kind_;
  std::string_view text_;
  std::string_view name_;
  std::string_view call_id_;
  std::size_t turn_ = 0;
  std::chrono::nanoseconds duration_{};
  std::uint64_t size_ = 0;
  output_stream stream_ = output_stream::out;
  bool success_ = false;
};

/// A callable that receives the events of a session, on the executor of the session. It must not throw, and must not
/// call the session.
using agent_listener = std::function<void(const agent_event& what)>;

/// The reason why a run has ended.
enum class agent_end {
  finished,      ///< the model has called a tool that ends the work, and the tool has succeeded
  max_turns,     ///< the maximum number of turns was reached
  token_budget,  ///< the token budget was used up, that of the agent or of an agent that has called it
  time_limit,    ///< the time limit was reached
  no_calls,      ///< three answers in a row had no tool call
  same_mistake,  ///< the model has sent the same invalid call five times
};

/// Returns the reason as a part of a sentence for people and models, such as "the time limit was reached".
constexpr std::string_view to_string(agent_end why) noexcept {
  switch (why) {
    case agent_end::finished: return "the work is finished";
    case agent_end::max_turns: return "the maximum number of turns was reached";
    case agent_end::token_budget: return "the token budget was used up";
    case agent_end::time_limit: return "the time limit was reached";
    case agent_end::no_calls: return "three answers in a row had no tool call";
    case agent_end::same_mistake: return "the model has sent the same invalid call five times";
  }
  return "unknown";
}

/// Statistics of the calls of one tool.
class tool_account {
 public:
  /// The number of calls.
  std::size_t calls = 0;
  std::size_t failures = 0;  ///< the number of calls that have failed; they are included in `calls`
  /// The duration of all calls together.
  std::chrono::nanoseconds time{};
};

/// The result of a run of an agent. A value type. The setters are for the session, and for tests. On a temporary
/// result, `reason()` and similar accessors return values instead of references.
class agent_result {
 public:
  agent_result() = default;

  /// Returns true if the model has ended the work.
  bool finished() const noexcept { return end_ == agent_end::finished; }

  /// Returns the reason why the run has ended.
  agent_end end() const noexcept { return end_; }
  agent_result& end(agent_end why) {
    end_ = why;
    return *this;
  }

  /// Returns the model's explanation of the result: the argument `reason` of the call that ended the work, or the text
  /// of its last answer. Untrusted.
  const std::string& reason() const& noexcept { return reason_; }
  std::string reason() && { return std::move(reason_); }
  agent_result& reason(std::string text) {
    reason_ = std::move(text);
    return *this;
  }

  /// Returns the arguments of the call that ended the work; empty if no call has ended it.
  const boost::json::object& arguments() const& noexcept { return arguments_; }
  boost::json::object arguments() && { return std::move(arguments_); }
  agent_result& arguments(boost::json::object members) {
    arguments_ = std::move(members);
    return *this;
  }

  /// Returns the files that were copied to the output directory, and the files that could not be copied. See
  /// `agent_session::save_unfinished`.
  const transfer_result& saved() const& noexcept { return saved_; }
  transfer_result saved() && { return std::move(saved_); }
  agent_result& saved(transfer_result files) {
    saved_ = std::move(files);
    return *this;
  }

  /// Returns the number of requests to the model.
  std::size_t turns() const noexcept { return turns_; }
  agent_result& turns(std::size_t number) {
    turns_ = number;
    return *this;
  }

  /// Returns the tokens of all answers together, with those of sub-agents, and their cost if it is known.
  const chat_usage& usage() const& noexcept { return usage_; }
  chat_usage usage() && { return usage_; }
  /// Returns the time for which the run has waited for the model.
  std::chrono::nanoseconds model_time() const noexcept { return model_time_; }
  /// Adds the tokens of an answer to `usage()`, and the time until the answer to `model_time()`.
  agent_result& add_answer(const chat_usage& tokens, std::chrono::nanoseconds time) {
    usage_ += tokens;
    model_time_ += time;
    return *this;
  }

  /// Returns the statistics of each tool, by its name.
  const std::map<std::string, tool_account>& tools() const& noexcept { return tools_; }
  std::map<std::string, tool_account> tools() && { return std::move(tools_); }
  /// Adds a call of a tool to `tools()`.
  agent_result& add_call(const std::string& tool, bool success, std::chrono::nanoseconds time) {
    tool_account& account = tools_[tool];
    ++account.calls;
    if (!success) ++account.failures;
    account.time += time;
    return *this;
  }

 private:
  agent_end end_ = agent_end::max_turns;
  std::string reason_;
  boost::json::object arguments_;
  transfer_result saved_;
  std::size_t turns_ = 0;
  chat_usage usage_;
  std::chrono::nanoseconds model_time_{};
  std::map<std::string, tool_account> tools_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
