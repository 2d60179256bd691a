// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/llm/agent.hpp>
#include <cofferdam/llm/agent_result.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::tools {

namespace detail {

/// The settings of a `sub_agent`.
class sub_agent_plan {
 public:
  std::string name;
  std::string description;
  std::function<agent()> make;
  std::optional<any_provider> environment;
  std::size_t max_depth = 3;
  bool parallel = false;
  agent_listener listener;
};

}  // namespace detail

/// The tool that a `sub_agent` makes for a session.
/// \par Lifetime  the environment of the caller outlives the tool and its calls, and stays at one address.
class sub_agent_tool {
 public:
  /// Makes the tool. `sub_agent` calls this constructor.
  sub_agent_tool(std::shared_ptr<const detail::sub_agent_plan> plan, any_environment& caller,
                 std::shared_ptr<cofferdam::detail::run_scope> scope);

  std::string_view name() const noexcept { return plan_->name; }
  std::string_view description() const noexcept { return plan_->description; }
  boost::json::object parameters() const { return arguments_.schema(); }
  bool reads_only() const noexcept { return plan_->parallel; }

  /// Runs the agent on a task, and returns its result as text.
  /// \throws error{exec_errc::cancelled}, error{exec_errc::provider_lost}, error{exec_errc::environment_closed}; never
  ///     because the agent or its model fails.
  /// \par Cancellation  terminal: the agent is ended, with everything that it does.
  awaitable<tool_result> call(boost::json::value arguments) { return call(std::move(arguments), {}); }
  /// Runs the agent, and passes a line of text for each of its tool calls to the listener.
  awaitable<tool_result> call(boost::json::value arguments, tool_output_argument listener);

 private:
  std::shared_ptr<const detail::sub_agent_plan> plan_;
  any_environment* caller_;
  std::shared_ptr<cofferdam::detail::run_scope> scope_;
  argument_list arguments_;
};

/// An agent as a tool of another agent, or of the clients of an `mcp::server`:
///
///     agent reader(small_model);
///     reader.max_turns(10);
///     boss.tool(tools::sub_agent("read_files", "Reads many files and answers a question about them.", reader));
///     server.add(tools::sub_agent("run_agent", "Works on a task in the workspace.", reader));
///
/// The argument of the tool is `task`. Each call is a session of its own: the agent starts with the task and nothing
/// else, and its conversation ends with the call. It works in the environment of its caller, on the same files. With
/// `environment`, each call opens an environment of its own instead, and closes it at the end. The tool then has two
/// more arguments: `input_files` are copied from the caller's workspace before the work, under their paths; the files
/// that the agent names at the end are copied to `output_dir` in the caller's workspace, where they replace existing
/// files.
///
/// The answer has the form `<agent_result>`: `<finished>`, `<reason>`, `<files>`, `<turns>`. If the agent does not
/// finish, its model fails, or its own environment is lost, the answer is an error that the caller's model can act on.
///
/// Limits pass down: a cancellation and the `time_limit` of the caller end the sub-agent; its tokens count as those of
/// the caller (`agent_result::usage`), so the caller's `token_budget` ends it too. Its turns are limited by its own
/// `max_turns`, for each call. Agents that call each other end at `max_depth`.
/// \par Threads  the model of the sub-agent must use the executor of the caller's model.
/// \par Source   Stirrup's `Agent.to_tool`, smolagents' managed agents.
/// \par Example  examples/14_agents.cpp
class sub_agent {
 public:
  /// \param name         matches `[A-Za-z0-9_-]{1,64}`.
  /// \param description  the work that the agent is good for, as a text for the calling model.
  /// \param who          the agent. It has its own model, tools, instructions and limits.
  sub_agent(std::string name, std::string description, agent who)
      : sub_agent(std::move(name), std::move(description), std::function<agent()>([who] { return who; })) {}
  /// \param name, description  as above.
  /// \param make  makes the agent for each call, for example if it has a tool that refers to itself.
  sub_agent(std::string name, std::string description, std::function<agent()> make);

  /// Opens an environment of its own for each call.
  template <code_exec_provider Provider>
  sub_agent& environment(Provider provider) {
    if constexpr (std::same_as<Provider, any_provider>) {
      plan_.environment = std::move(provider);
    } else {
      plan_.environment = any_provider(std::move(provider));
    }
    return *this;
  }
  /// Sets how many agents may be nested below an agent that no agent has called. Default: 3; at least 1. A deeper call
  /// is an error for the model.
  sub_agent& max_depth(std::size_t levels);
  /// Lets a caller run several calls of one answer at the same time (`agent::parallel_reads`). Only the caller knows if
  /// they could disturb each other.
  sub_agent& parallel() {
    plan_.parallel = true;
    return *this;
  }
  /// Sets a callable that receives the events of the agent's sessions. The caller's own listener does not receive them.
  /// g++ 12 does not compile a temporary lambda that captures by value: give the lambda a name first.
  sub_agent& on_event(cofferdam::detail::callable_argument<void(const agent_event& what)> listener) {
    plan_.listener = listener.take();
    return *this;
  }

  /// Makes the tool for an environment. `agent` and `mcp::server` call it.
  sub_agent_tool operator()(any_environment& caller) const { return (*this)(caller, nullptr); }
  /// Makes the tool for a session.
  sub_agent_tool operator()(any_environment& caller, std::shared_ptr<cofferdam::detail::run_scope> scope) const;

  /// Marks a class whose temporaries g++ 12 handles correctly.
  using safe_as_temporary = void;

 private:
  detail::sub_agent_plan plan_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/llm/impl/sub_agent.ipp>
#endif
