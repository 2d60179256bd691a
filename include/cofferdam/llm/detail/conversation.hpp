// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/llm/chat_history.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/detail/read_json.hpp>
#include <cofferdam/llm/detail/shorter_history.hpp>
#include <cofferdam/net/readable_json.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The messages that an `agent_session` sends to its model. It marks the messages that are never removed. A value type.
class conversation {
 public:
  conversation() = default;
  /// \param kept      the value of `kept()`; at most `task_end`.
  /// \param task_end  the value of `task_end()`; at most the number of messages.
  conversation(std::vector<chat_message> messages, std::size_t kept, std::size_t task_end)
      : messages_(std::move(messages)), kept_(kept), task_end_(task_end) {}

  const std::vector<chat_message>& messages() const noexcept { return messages_; }
  bool empty() const noexcept { return messages_.empty(); }
  /// Returns the number of messages at the start that are never removed: the system message and the first task.
  std::size_t kept() const noexcept { return kept_; }
  /// Returns the number of messages up to and including the newest task.
  std::size_t task_end() const noexcept { return task_end_; }

  void add(chat_message message) { messages_.push_back(std::move(message)); }

  /// Adds a message of the user with a task.
  void add_task(std::string text) {
    add(chat_message::user(std::move(text)));
    task_end_ = messages_.size();
    if (kept_ == 0) kept_ = task_end_;
  }

  /// Adds a message of the model. If the arguments of a call are not a JSON object, they are put into an object as a
  /// text, because services refuse a conversation with other arguments.
  void add_reply(const chat_message& message) {
    if (message.tool_calls().empty()) {
      add(message);
      return;
    }
    chat_message kept = chat_message::assistant({});
    for (const chat_part& each : message.parts()) kept.add(each);
    kept.reasoning(message.reasoning()).refusal(message.refusal());
    for (const chat_tool_call& each : message.tool_calls()) kept.call(with_object_arguments(each));
    add(std::move(kept));
  }

  /// Shortens long results of tool calls that are older than the newest `spared_turns` turns. Returns false if there
  /// were none.
  bool cut_tool_answers(std::size_t spared_turns) { return cut_answers(messages_, kept_, spared_turns); }
  /// Replaces images, audio and video that are older than the newest turn by short texts. Returns false if there were
  /// no such files.
  bool remove_files() { return remove_old_files(messages_, kept_); }
  /// Removes the newest turn, but never the first turn after the newest task. Returns false if there is no other turn.
  bool drop_turn() { return drop_newest_turn(messages_, task_end_); }

  /// Returns true if there are messages that a summary could replace.
  bool can_be_summarised() const noexcept { return messages_.size() > kept_ + 2; }
  /// Replaces the conversation by a summary, except the messages that are never removed and the newest task.
  /// \pre can_be_summarised()
  void replace_by_summary(const std::string& summary) {
    const bool has_later_task = task_end_ > kept_;
    chat_message told = chat_message::user("This is a summary of the work so far, which you wrote:\n\n" + summary);
    chat_message accepted = chat_message::assistant("Thank you. I will continue from there.");
    chat_message next = has_later_task ? messages_[task_end_ - 1] : chat_message::user("Please continue.");
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(kept_), messages_.end());
    add(std::move(told));
    add(std::move(accepted));
    add(std::move(next));
    task_end_ = messages_.size();
  }

  /// Returns the total size of all images, audio and video in bytes.
  std::size_t file_bytes() const noexcept {
    std::size_t sum = 0;
    for (const chat_message& each : messages_)
      for (const chat_part& part : each.parts()) sum += part.content().size();
    return sum;
  }

 private:
  static chat_tool_call with_object_arguments(const chat_tool_call& call) {
    const std::optional<boost::json::value> value = read_json(call.arguments());
    if (value && value->is_object()) return call;
    boost::json::object wrapped;
    if (!call.arguments().empty())
      wrapped["unreadable"] = saved_text(std::string_view(call.arguments()).substr(0, 2000));
    return chat_tool_call(call.id(), call.name(), readable_json(wrapped));
  }

  std::vector<chat_message> messages_;
  std::size_t kept_ = 0;
  std::size_t task_end_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
