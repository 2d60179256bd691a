// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/detail/core/rethrow_cancellation.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/llm/agent.hpp>
#include <cofferdam/llm/agent_result.hpp>
#include <cofferdam/llm/agent_session.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/detail/agent_loop.hpp>
#include <cofferdam/llm/detail/prompts.hpp>
#include <cofferdam/llm/detail/run_scope.hpp>
#include <cofferdam/llm/detail/saved_session.hpp>
#include <cofferdam/llm/detail/session_folder.hpp>
#include <cofferdam/llm/detail/session_state.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Sets a flag while an object of this type exists.
class running_mark {
 public:
  explicit running_mark(bool& flag) noexcept : flag_(flag) { flag_ = true; }
  running_mark(const running_mark&) = delete;
  running_mark& operator=(const running_mark&) = delete;
  ~running_mark() { flag_ = false; }

 private:
  bool& flag_;
};

/// Adds a task to the conversation, together with a list of the input files that were copied for it, and works on the
/// task.
template <class = void>
awaitable<agent_result> work_on(session_state& state, std::string task) {
  state.tools.prepare(state.who, state.environment);
  if (state.history.empty() && task.empty())
    throw error(exec_errc::invalid_argument, "agent_session: the task is empty");
  const std::vector<std::string> inputs = co_await state.files.bring_in(state.environment);
  if (state.history.empty()) state.history.add(chat_message::system(system_prompt(state.who, state.tools.can_ask())));
  state.history.add_task(task_prompt(std::move(task), inputs));
  agent_loop loop(state);
  agent_result result = co_await loop.run();
  co_return result;
}

/// Runs a session. `agent_session::run` calls this function.
template <class = void>
awaitable<agent_result> run_session(session_state& state, std::string task) {
  if (state.running) throw error(exec_errc::invalid_argument, "agent_session: a run is already in progress");
  const running_mark mark(state.running);
  try {
    agent_result result = co_await work_on(state, std::move(task));
    co_return result;
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    rethrow_cancellation(failure, "the session's run was cancelled; the history is complete");
  }
}

}  // namespace detail

COFFERDAM_DECL std::shared_ptr<detail::session_state> agent_session::make_state(agent who,
                                                                                any_environment environment) {
  return std::make_shared<detail::session_state>(std::move(who), std::move(environment),
                                                 std::make_shared<detail::run_scope>());
}

COFFERDAM_DECL agent_session& agent_session::input_files(file_set set) {
  state_->files.input(std::move(set));
  return *this;
}

COFFERDAM_DECL agent_session& agent_session::output_dir(std::filesystem::path directory) {
  state_->files.output(std::move(directory));
  return *this;
}

COFFERDAM_DECL agent_session& agent_session::save_unfinished(std::uint64_t max_bytes) {
  state_->files.unfinished(max_bytes);
  return *this;
}

COFFERDAM_DECL agent_session& agent_session::on_event(
    detail::callable_argument<void(const agent_event& what)> listener) {
  state_->listener = listener.take();
  return *this;
}

COFFERDAM_DECL void agent_session::add_tool(tools::any_tool new_tool) { state_->tools.add(std::move(new_tool)); }

COFFERDAM_DECL awaitable<agent_result> agent_session::run(std::string task) {
  return detail::run_session(*state_, std::move(task));
}

COFFERDAM_DECL const std::vector<chat_message>& agent_session::history() const noexcept {
  return state_->history.messages();
}

COFFERDAM_DECL const chat_usage& agent_session::usage() const noexcept { return state_->scope->total; }

COFFERDAM_DECL boost::json::object agent_session::save() const {
  return detail::save_session(state_->history, state_->scope->total);
}

COFFERDAM_DECL awaitable<void> agent_session::save_to(std::filesystem::path folder, std::uint64_t max_bytes) {
  return detail::save_to_folder(*state_, std::move(folder), max_bytes);
}

COFFERDAM_DECL awaitable<void> agent_session::resume_from(std::filesystem::path folder) {
  return detail::resume_from_folder(*state_, std::move(folder));
}

COFFERDAM_DECL agent_session& agent_session::resume(const boost::json::value& saved) {
  detail::resume_session(saved, state_->history, state_->scope->total);
  return *this;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
