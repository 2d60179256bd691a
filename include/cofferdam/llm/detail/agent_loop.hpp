// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/in_time.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/llm/agent_result.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/detail/compacting_model.hpp>
#include <cofferdam/llm/detail/prompts.hpp>
#include <cofferdam/llm/detail/session_state.hpp>
#include <cofferdam/llm/detail/tool_answers.hpp>
#include <cofferdam/llm/detail/tool_round.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_agent_loop;
using agent_loop = basic_agent_loop<>;

/// One run of an `agent_session`. Each turn sends the conversation to the model, executes the tool calls of its answer,
/// and adds their results to the conversation.
/// \par Lifetime  the state of the session must outlive this object.
template <class>
class basic_agent_loop {
 public:
  explicit basic_agent_loop(session_state& state) : state_(state), model_(state, result_) {}
  basic_agent_loop(const basic_agent_loop&) = delete;
  basic_agent_loop& operator=(const basic_agent_loop&) = delete;

  /// Takes turns until the work is finished or a limit is reached. It is called once, after the task was added to the
  /// conversation.
  awaitable<agent_result> run() {
    state_.scope->begin(state_.who.token_budget());
    bool is_in_time = true;
    if (state_.who.time_limit()) {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      is_in_time = co_await arrived_in_time(executor, *state_.who.time_limit(), take_turns());
    } else {
      co_await take_turns();
    }
    if (!is_in_time) stops(agent_end::time_limit);
    result_.add_answer(state_.scope->nested(), std::chrono::nanoseconds::zero());
    if (!result_.finished()) {
      transfer_result saved = co_await state_.files.save_unfinished(state_.environment);
      result_.saved(std::move(saved));
      tell_saved();
    }
    co_return std::move(result_);
  }

 private:
  static constexpr std::size_t max_idle_turns = 3;
  static constexpr std::size_t max_file_bytes = std::size_t{64} * 1024 * 1024;

  awaitable<void> take_turns() {
    bool goes_on = true;
    while (goes_on && result_.turns() < state_.who.max_turns()) goes_on = co_await take_turn();
  }

  /// Takes one turn. Returns false if the run ends with this turn.
  awaitable<bool> take_turn() {
    warn_of_last_turns();
    agent_event begun(agent_event_kind::turn);
    begun.turn(result_.turns() + 1);
    state_.tell(begun);
    const chat_reply reply = co_await model_.ask();
    result_.turns(result_.turns() + 1);
    tool_round round(state_.tools.all(), state_.listener, result_, state_.who.parallel_reads());
    round.take(reply.message());
    state_.history.add_reply(reply.message());
    if (round.calls().empty()) co_return goes_on_without_calls(reply);
    idle_turns_ = 0;
    std::exception_ptr failure;
    try {
      co_await round.run();
    } catch (...) {
      failure = std::current_exception();
    }
    add_answers(round);
    if (failure) std::rethrow_exception(failure);
    if (round.ended_by() != nullptr) {
      co_await finish(*round.ended_by());
      co_return false;
    }
    if (answers_.is_stuck()) co_return stops(agent_end::same_mistake);
    if (state_.scope->is_over_budget()) co_return stops(agent_end::token_budget);
    if (is_nearly_full(reply.usage()) && result_.turns() < state_.who.max_turns()) co_await model_.summarise();
    co_return true;
  }

  void warn_of_last_turns() {
    const std::size_t left = state_.who.max_turns() - result_.turns();
    const bool has_begun = result_.turns() != 0;
    if (left == 1 || (has_begun && left <= state_.who.warn_from()))
      state_.history.add(chat_message::user(turns_left_prompt(left)));
  }

  /// Decides how to continue after an answer without tool calls. Returns false if the run ends.
  bool goes_on_without_calls(const chat_reply& reply) {
    const bool is_finish = state_.who.is_text_finish();
    if (is_finish || ++idle_turns_ == max_idle_turns) {
      result_.reason(reply.text().empty() ? reply.message().refusal() : reply.text());
      return stops(is_finish ? agent_end::finished : agent_end::no_calls);
    }
    if (state_.scope->is_over_budget()) return stops(agent_end::token_budget);
    state_.history.add(chat_message::user(std::string(continue_prompt)));
    return true;
  }

  /// Adds a result for every call to the conversation, even if the execution of the calls has failed. Services refuse a
  /// conversation in which the result of a call is missing.
  void add_answers(tool_round& round) {
    std::vector<chat_message> messages = answers_.messages(round.calls());
    for (chat_message& each : messages) state_.history.add(std::move(each));
    if (state_.history.file_bytes() > max_file_bytes) model_.remove_old_files();
  }

  bool stops(agent_end why) {
    result_.end(why);
    return false;
  }

  bool is_nearly_full(const chat_usage& last) const noexcept {
    constexpr double max_share = 0.7;
    return state_.who.context_window() &&
           static_cast<double>(last.total()) >= max_share * static_cast<double>(*state_.who.context_window());
  }

  awaitable<void> finish(const round_call& by) {
    result_.end(agent_end::finished).arguments(by.answer->data());
    std::string reason(text_at(result_.arguments(), "reason"));
    if (reason.empty()) reason = by.answer->text();
    result_.reason(std::move(reason));
    std::vector<std::string> paths = by.answer->files();
    transfer_result saved = co_await state_.files.save_finished(state_.environment, std::move(paths));
    result_.saved(std::move(saved));
    tell_saved();
  }

  void tell_saved() const {
    for (const transferred_file& each : result_.saved().files()) {
      agent_event saved(agent_event_kind::saved, each.destination());
      saved.name(each.source()).size(each.size());
      state_.tell(saved);
    }
    for (const failed_file& each : result_.saved().failed()) {
      agent_event failed(agent_event_kind::not_saved, each.reason().what());
      failed.name(each.source());
      state_.tell(failed);
    }
  }

  session_state& state_;
  agent_result result_;
  compacting_model model_;
  tool_answers answers_;
  std::size_t idle_turns_ = 0;  // the number of turns without a tool call since the last turn with one
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
