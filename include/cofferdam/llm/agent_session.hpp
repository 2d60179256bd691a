// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/llm/agent.hpp>
#include <cofferdam/llm/agent_result.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class session_state;
}  // namespace detail

/// An agent at work in one environment: the conversation, input and output files, and all other state of the work.
///
///     co_await with(docker::from_image("python:3.12"), [&](auto& env) -> awaitable<void> {
///       session work(helper, env);
///       work.input_files(files("data.csv")).output_dir("out").on_event(show);
///       agent_result result = co_await work.run("Plot the data.");
///     });
///
/// Each turn sends the conversation to the model, executes its tool calls (calls that end the work come last), and adds
/// the answers to the conversation. The failure of a tool, a call of an unknown tool and arguments that are not JSON
/// are answers too. Files that the model names at the end are copied to the output directory.
/// \par Lifetime  the environment outlives it. Neither copied nor moved. The agent is copied.
/// \par Threads   the model's executor, a strand on pools; the environment may have another. One `run` at a time.
/// \par Source    Stirrup's agent session and loop, without their defects.
class agent_session {
 public:
  template <code_exec_environment E>
  agent_session(agent who, E& environment)
      : agent_session(make_state(std::move(who), any_environment(referenced_environment<E>(environment)))) {}
  agent_session(const agent_session&) = delete;
  agent_session& operator=(const agent_session&) = delete;

  /// Sets the files that are copied in before the first run. The model gets their paths in the workspace.
  agent_session& input_files(file_set set);
  /// Sets the directory of the host for finished files; it is made if it is missing. Without it no file is copied out,
  /// and a model that finishes with files causes a warning (`set_warning_handler`).
  agent_session& output_dir(std::filesystem::path directory);
  /// Copies the workspace to `unfinished/` in the output directory when a run ends and the work is not finished: the
  /// turns or tokens have run out, or the model made no progress. The input files are copied, too; names at the top of
  /// the workspace that begin with a dot are not. A run that throws copies nothing.
  /// \param max_bytes  of all files together. A larger workspace is not copied, and the result reports this.
  agent_session& save_unfinished(std::uint64_t max_bytes = std::uint64_t{1} << 30U);
  /// Sets a listener for events, called as they happen. g++ before 13 refuses a temporary lambda that captures by
  /// value: name it first.
  agent_session& on_event(detail::callable_argument<void(const agent_event& what)> listener);
  /// Adds a tool for this session: `work.tool(tools::run_python(runner))`.
  template <tools::tool T>
  agent_session& tool(T new_tool) {
    if constexpr (std::same_as<T, tools::any_tool>) {
      add_tool(std::move(new_tool));
    } else {
      add_tool(tools::any_tool(std::move(new_tool)));
    }
    return *this;
  }

  /// Lets the model work on a task until the task is done or a limit is reached. A later call continues the
  /// conversation.
  /// \param task  for the model; may be empty in a conversation that is resumed.
  /// \throws      error{exec_errc::invalid_argument} if a run is under way, if two tools have the same name, or without
  ///              a task; error{exec_errc::io_error} if an input file could not be copied in; the exceptions of the
  ///              model, if the conversation cannot be shortened enough or an answer is cut off twice;
  ///              error{exec_errc::provider_lost}, error{exec_errc::environment_closed}. The history is whole then and
  ///              can be saved.
  /// \par Cancellation  terminal: ends the request or the tool that is under way; error{exec_errc::cancelled}. The
  ///                    history is whole, and another `run` goes on.
  awaitable<agent_result> run(std::string task);

  /// Returns the conversation. During a run only a listener may read it.
  const std::vector<chat_message>& history() const noexcept;
  /// Returns the tokens that all runs have used.
  const chat_usage& usage() const noexcept;

  /// Returns the conversation as JSON, with its images, for `resume`. Files of the environment are not included.
  boost::json::object save() const;
  /// Continues a conversation that `save` returned. Call it before the first run.
  /// \throws error{exec_errc::invalid_argument} for other JSON.
  agent_session& resume(const boost::json::value& saved);

 private:
  explicit agent_session(std::shared_ptr<detail::session_state> state) noexcept : state_(std::move(state)) {}

  static std::shared_ptr<detail::session_state> make_state(agent who, any_environment environment);
  void add_tool(tools::any_tool new_tool);

  std::shared_ptr<detail::session_state> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/llm/impl/agent_session.ipp>
#endif
