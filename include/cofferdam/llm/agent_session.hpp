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
class nested_session;
class session_state;
}  // namespace detail

/// The work of an agent in one environment. A session has the conversation, the input and output files, and all other
/// state.
///
///     co_await with(docker::from_image("python:3.12"), [&](auto& env) -> awaitable<void> {
///       agent_session work(helper, env);
///       work.input_files(files("data.csv")).output_dir("out").on_event(show);
///       agent_result result = co_await work.run("Plot the data.");
///     });
///
/// Each turn sends the conversation to the model, executes the tool calls of its answer, and adds their results to the
/// conversation. Calls that end the work are executed last. If a tool fails, a tool does not exist, or arguments are
/// not JSON, the model gets an error text as the result, and the run continues. Files that the model names at the end
/// of the work are copied to the output directory.
/// \par Lifetime  the environment must outlive the session. A session cannot be copied or moved. It has its own copy of
///                the agent.
/// \par Threads   a session runs on the model's executor, which must be a strand if several threads run it. The
///                environment may have another executor. Only one `run` at a time.
/// \par Source    Stirrup's agent session and loop, without their defects.
class agent_session {
 public:
  /// Starts a session in an open environment. The environment must outlive the session, and must not be moved.
  template <code_exec_environment E>
  agent_session(agent who, E& environment)
      : agent_session(make_state(std::move(who), any_environment(referenced_environment<E>(environment)))) {}
  agent_session(const agent_session&) = delete;
  agent_session& operator=(const agent_session&) = delete;

  /// Sets the files that are copied into the environment before the first run. The model gets a list of their paths in
  /// the workspace.
  agent_session& input_files(file_set set);
  /// Sets the host directory to which finished files are copied. It is created if it does not exist. Without an output
  /// directory no file is copied. If the model then names finished files, a warning is issued (`set_warning_handler`).
  agent_session& output_dir(std::filesystem::path directory);
  /// Copies the workspace to the folder `unfinished/` in the output directory if a run ends before the work is
  /// finished. This happens if the turns or tokens are used up, or the model makes no progress. The copy includes the
  /// input files. It leaves out files and folders at the top of the workspace whose names begin with a dot. If a run
  /// throws an exception, nothing is copied.
  /// \param max_bytes  the maximum size of all files together, in bytes. Default: 1 GiB. A larger workspace is not
  ///                   copied, and the result reports this.
  agent_session& save_unfinished(std::uint64_t max_bytes = std::uint64_t{1} << 30U);
  /// Sets a callable that receives the events of the session as they happen. g++ 12 does not compile a temporary lambda
  /// that captures by value: give the lambda a name first.
  agent_session& on_event(detail::callable_argument<void(const agent_event& what)> listener);
  /// Adds a tool to this session only: `work.tool(tools::run_python(runner))`.
  template <tools::tool T>
  agent_session& tool(T new_tool) {
    if constexpr (std::same_as<T, tools::any_tool>) {
      add_tool(std::move(new_tool));
    } else {
      add_tool(tools::any_tool(std::move(new_tool)));
    }
    return *this;
  }

  /// Lets the model work on a task until the task is finished or a limit is reached. A later call continues the same
  /// conversation. After an exception the history is consistent and can be saved.
  /// \param task  the text of the task for the model. It may be empty if the session has been resumed or has run
  ///              before.
  /// \throws error{exec_errc::invalid_argument} if a run is already under way, two tools have the same name, the name
  ///     of a tool does not match `[A-Za-z0-9_-]{1,64}`, or there is no task.
  /// \throws error{exec_errc::io_error} if an input file could not be copied.
  /// \throws error{exec_errc::provider_lost} or error{exec_errc::environment_closed} if the environment can no longer
  ///     be used.
  /// \throws the exceptions of the model, for example if the conversation cannot be shortened enough.
  /// \par Cancellation  terminal. The request or the tool that is under way is ended, and `run` throws
  ///                    error{exec_errc::cancelled}. The history is consistent, and another `run` can continue.
  awaitable<agent_result> run(std::string task);

  /// Returns the conversation so far. While `run` is under way, only an event listener may read it.
  const std::vector<chat_message>& history() const noexcept;
  /// Returns the tokens that all runs of this session have used, with those of sub-agents, and their cost if it is
  /// known.
  const chat_usage& usage() const noexcept;

  /// Returns the conversation, including its images, audio and video, as JSON for `resume`. Files of the
  /// environment are not included.
  boost::json::object save() const;
  /// Restores a conversation that `save` has returned. Call this before the first run.
  /// \throws error{exec_errc::invalid_argument} if the JSON does not come from `save`.
  agent_session& resume(const boost::json::value& saved);

  /// Saves the conversation and the files of the workspace to a folder of the host, for `resume_from`: the conversation
  /// as `session.json`, the files below `files/`. A folder from an earlier call is replaced as a whole. If the call
  /// fails, that folder is unchanged.
  ///
  /// Regular files are saved, with their permission bits. Empty directories and links are left out. So are files and
  /// folders at the top of the workspace whose names begin with a dot.
  /// \param folder     is made if it does not exist, but not its parent. Only its owner can read the conversation.
  /// \param max_bytes  the maximum size of all files together, in bytes. Default: 1 GiB.
  /// \throws error{exec_errc::already_exists} if the folder has other content than a saved session;
  ///     error{exec_errc::too_large} if there are more bytes or more than 100,000 files;
  ///     error{exec_errc::invalid_argument} during a run, if `folder` is empty, or if the workspace has a path of more
  ///     than 4095 bytes; error{exec_errc::io_error} and others if a file cannot be copied.
  /// \par Cancellation  terminal: throws error{exec_errc::cancelled}; the folder stays as it was.
  awaitable<void> save_to(std::filesystem::path folder, std::uint64_t max_bytes = std::uint64_t{1} << 30U);
  /// Restores a conversation and files that `save_to` has saved. The files are copied into the workspace, where they
  /// replace others of the same names. Call this before the first run, in an environment that need not be that of
  /// `save_to`, but should have the same programs. No file outside of `folder` is copied: if `files/` contains a link,
  /// the call fails.
  /// \throws error{exec_errc::not_found} if the folder has no saved session; error{exec_errc::invalid_argument} if the
  ///     session cannot be read, or `files` in the folder is a link or a file; error{exec_errc::io_error} and others if
  ///     a file cannot be copied. The conversation is unchanged then.
  /// \par Cancellation  terminal: throws error{exec_errc::cancelled}; files that were copied stay.
  awaitable<void> resume_from(std::filesystem::path folder);

 private:
  friend class detail::nested_session;

  explicit agent_session(std::shared_ptr<detail::session_state> state) noexcept : state_(std::move(state)) {}

  static std::shared_ptr<detail::session_state> make_state(agent who, any_environment environment);
  void add_tool(tools::any_tool new_tool);

  std::shared_ptr<detail::session_state> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/llm/impl/agent_session.ipp>
#endif
