// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/llm/agent_result.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/detail/conversation.hpp>
#include <cofferdam/llm/detail/prompts.hpp>
#include <cofferdam/llm/detail/session_state.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_compacting_model;
using compacting_model = basic_compacting_model<>;

/// The model of one run of an `agent_session`, with a wrapper that shortens the conversation if it exceeds the model's
/// context.
/// \par Lifetime  the state of the session and the result must outlive this object.
template <class>
class basic_compacting_model {
 public:
  /// \param result  the result of the run, to which the tokens and the time of every request are added.
  basic_compacting_model(session_state& state, agent_result& result) : state_(state), result_(result) {}

  /// Requests the next message of the conversation. While the conversation exceeds the model's context, shortens it and
  /// repeats the request. If the answer exceeds the output limit, repeats the request once.
  /// \throws error with the cause `chat_errc::context_overflow` or `chat_errc::output_limit` if this does not help.
  awaitable<chat_reply> ask() {
    bool was_cut_off = false;
    bool was_summarised = false;
    for (;;) {
      std::optional<error> failure;
      try {
        chat_request next = request();
        chat_reply reply = co_await ask_once(std::move(next));
        co_return reply;
      } catch (const error& reason) {
        failure = reason;
      }
      if (failure->cause() == chat_errc::output_limit && !was_cut_off) {
        was_cut_off = true;
        state_.history.add(chat_message::user(std::string(cut_off_prompt)));
        continue;
      }
      if (failure->cause() != chat_errc::context_overflow) throw *failure;
      bool is_shorter = drop_old_content();
      if (!is_shorter && !was_summarised) {
        was_summarised = true;
        is_shorter = co_await summarise();
      }
      if (!is_shorter && !drop_new_content()) throw *failure;
    }
  }

  /// Replaces most of the conversation by a summary that the model writes. Returns false if the conversation is too
  /// short, or if even the request for a summary exceeds the context.
  /// \throws error with the cause `chat_errc::bad_answer` if the model writes no summary.
  awaitable<bool> summarise() {
    if (!state_.history.can_be_summarised()) co_return false;
    conversation source = state_.history;
    std::string summary;
    for (int attempt = 0; attempt < max_summary_attempts && summary.empty();) {
      std::optional<error> failure;
      try {
        chat_request next = summary_request(source, attempt);
        const chat_reply reply = co_await ask_once(std::move(next));
        summary = reply.text();
        ++attempt;
      } catch (const error& reason) {
        failure = reason;
      }
      if (!failure) continue;
      if (failure->cause() != chat_errc::context_overflow) throw *failure;
      if (!source.drop_turn()) co_return false;
    }
    if (summary.empty())
      throw chat_failure(chat_errc::bad_answer, "agent_session: the model did not write the requested summary");
    state_.history.replace_by_summary(summary);
    tell_shortened("the conversation was summarised");
    co_return true;
  }

  /// Replaces images, audio and video that are older than the newest turn by short texts. Returns false if there were
  /// no such files.
  bool remove_old_files() {
    const bool removed = state_.history.remove_files();
    if (removed) tell_shortened("old images, audio and video were removed");
    return removed;
  }

 private:
  static constexpr int max_summary_attempts = 3;

  chat_request request() const {
    chat_request next(state_.history.messages());
    next.tools(state_.tools.descriptions());
    if (state_.who.max_output_tokens()) next.max_output_tokens(*state_.who.max_output_tokens());
    if (state_.listener)
      next.on_delta([&state = state_](const chat_delta& piece) {
        if (piece.kind() == chat_delta_kind::text) state.tell(agent_event(agent_event_kind::text, piece.text()));
        if (piece.kind() == chat_delta_kind::reasoning)
          state.tell(agent_event(agent_event_kind::reasoning, piece.text()));
      });
    return next;
  }

  /// Returns a request for a summary. The last attempt offers no tools, so that the model can only write text.
  /// \param attempt  the number of the attempt, counted from 0.
  chat_request summary_request(const conversation& source, int attempt) const {
    std::string wish(summary_prompt);
    if (attempt > 0) wish += plain_text_prompt;
    chat_request next(source.messages());
    next.add(chat_message::user(std::move(wish)));
    if (attempt + 1 < max_summary_attempts) next.tools(state_.tools.descriptions());
    next.tool_choice(chat_tool_choice::none);
    return next;
  }

  awaitable<chat_reply> ask_once(chat_request next) {
    const auto start = std::chrono::steady_clock::now();
    any_chat_model model = state_.who.model();
    chat_reply reply = co_await model.chat(std::move(next));
    result_.add_answer(reply.usage(), std::chrono::steady_clock::now() - start);
    state_.scope->add(reply.usage());
    co_return reply;
  }

  /// Removes content that the model hardly needs any more: long results of older tool calls, then old images,
  /// audio and video. Returns false if there was no such content.
  bool drop_old_content() {
    if (state_.history.cut_tool_answers(3)) {
      tell_shortened("old answers of tools were cut");
      return true;
    }
    return remove_old_files();
  }

  /// Removes content that the model has just received: the newest turn, or long results of tool calls. Returns false if
  /// there was no such content.
  bool drop_new_content() {
    if (state_.history.drop_turn()) {
      tell_shortened("the newest turn was dropped");
      return true;
    }
    if (state_.history.cut_tool_answers(0)) {
      tell_shortened("answers of tools were cut");
      return true;
    }
    return false;
  }

  void tell_shortened(std::string_view step) const { state_.tell(agent_event(agent_event_kind::shortened, step)); }

  session_state& state_;
  agent_result& result_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
