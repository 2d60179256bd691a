// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/tools/tool.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

class run_scope;

/// Is satisfied if a callable also takes the scope of the session for which it makes a tool.
template <class Make>
concept scoped_tool_maker = std::invocable<Make&, any_environment&, std::shared_ptr<run_scope>>;

}  // namespace detail

/// A type that can be a tool of an agent: either a tool that can be copied for each session (the work of an agent in
/// one environment), or a callable that makes a tool for the environment of a session.
template <class T>
concept agent_tool =
    tools::tool_maker<T> || (tools::tool<std::remove_cvref_t<T>> && std::copy_constructible<std::remove_cvref_t<T>>);

/// A recipe for an agent: a model, its tools and its limits. It is copyable and has no state of its own; an
/// `agent_session` does the work.
///
///     agent helper(chat_completions_client(executor, chat_completions_options("gpt-5-mini")), tide);
///     helper.max_turns(20).instructions("Answer in German.");
///
/// If no tools are added, the tools are `code_exec`, `read_file`, `write_file`, `list_files` and `view_image`. If no
/// tool ends the work, the tool `finish` is added.
/// \par Threads  several sessions of one agent may run at once, on the model's executor. If several threads run this
///               executor, it must be a strand.
class agent {
 public:
  /// \param model  the model that works.
  /// \param given  tools and callables, as for `tool`:
  ///               `agent(model, tide, [](any_environment& env) { return tools::code_exec(env); })`.
  template <chat_model M, class... Tools>
    requires((agent_tool<Tools> && ...))
  explicit agent(M model, Tools&&... given) : model_(detail::as_any_model(std::move(model))) {
    (tool(std::forward<Tools>(given)), ...);
  }

  /// Adds a `tools::function` or another tool that can be copied. Each session gets a copy of the tool. The first tool
  /// that is added replaces the default tools.
  template <tools::tool T>
    requires std::copy_constructible<T>
  agent& tool(T new_tool) {
    makers_.push_back([new_tool = std::move(new_tool)](any_environment&, const std::shared_ptr<detail::run_scope>&) {
      return tools::any_tool(new_tool);
    });
    return *this;
  }
  /// Adds a tool that works in the environment of a session:
  /// `helper.tool([](any_environment& env) { return tools::code_exec(env); })`.
  /// \param make  a callable that makes the tool; it is called once for each session. g++ 12 does not compile a
  ///              temporary lambda that captures by value: give the lambda a name first.
  template <tools::tool_maker Make>
  agent& tool(Make&& make) {
    detail::require_safe_callable<Make>();
    makers_.push_back([make = std::decay_t<Make>(std::forward<Make>(make))](
                          any_environment& environment, const std::shared_ptr<detail::run_scope>& scope) mutable {
      if constexpr (detail::scoped_tool_maker<std::decay_t<Make>>) {
        return tools::any_tool(make(environment, scope));
      } else if constexpr (std::same_as<std::invoke_result_t<std::decay_t<Make>&, any_environment&>, tools::any_tool>) {
        return make(environment);
      } else {
        return tools::any_tool(make(environment));
      }
    });
    return *this;
  }
  /// Adds the default tools, which another tool would replace: `code_exec`, `read_file`, `write_file`, `list_files` and
  /// `view_image`.
  agent& environment_tools();
  /// Sets instructions that are added to the system message.
  agent& instructions(std::string text) {
    instructions_ = std::move(text);
    return *this;
  }
  /// Sets the maximum number of turns (requests to the model) in one run. At least 1. Default: 30.
  agent& max_turns(std::size_t count) {
    if (count == 0) throw error(exec_errc::invalid_argument, "agent: max_turns must be at least 1");
    max_turns_ = count;
    return *this;
  }
  /// Warns the model in every turn in which at most this many turns are left. Default: a fifth of `max_turns`, at least
  /// 1.
  agent& warn_from(std::size_t turns_left) {
    warn_from_ = turns_left;
    return *this;
  }
  /// Sets the size of the model's context, in tokens. If the size is set, the conversation is summarised when 70 % of
  /// it are used. Otherwise the conversation is shortened only when the service reports that it is too long.
  agent& context_window(std::uint64_t tokens) {
    context_window_ = tokens;
    return *this;
  }
  /// Sets the number of tokens, input and output together, after which a run is ended. The tokens of sub-agents count,
  /// and end their runs, too. Default: no limit.
  agent& token_budget(std::uint64_t tokens) {
    token_budget_ = tokens;
    return *this;
  }
  /// Sets the time after which a run is ended. What the run does then is cancelled, a sub-agent and a command too.
  /// Default: no limit.
  agent& time_limit(std::chrono::milliseconds limit) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "agent: time_limit must be longer than zero");
    time_limit_ = limit;
    return *this;
  }
  /// Sets the maximum number of tokens of each answer. Default: the limit of the model.
  agent& max_output_tokens(std::uint64_t max_tokens) {
    max_output_tokens_ = max_tokens;
    return *this;
  }
  /// Ends a run as finished when an answer has no tool call; the text of the answer is the reason. Default: the model
  /// is requested to continue.
  agent& text_is_finish() {
    text_is_finish_ = true;
    return *this;
  }
  /// Sets how many calls of read-only tools in one answer run at the same time. Default: 4; with 1 the calls run one
  /// after another.
  agent& parallel_reads(std::size_t max_calls) {
    parallel_reads_ = std::max<std::size_t>(max_calls, 1);
    return *this;
  }

  /// Returns the model.
  const any_chat_model& model() const noexcept { return model_; }
  const std::string& instructions() const noexcept { return instructions_; }
  std::size_t max_turns() const noexcept { return max_turns_; }
  std::size_t warn_from() const noexcept { return warn_from_.value_or(std::max<std::size_t>(max_turns_ / 5, 1)); }
  std::optional<std::uint64_t> context_window() const noexcept { return context_window_; }
  std::optional<std::uint64_t> token_budget() const noexcept { return token_budget_; }
  std::optional<std::chrono::milliseconds> time_limit() const noexcept { return time_limit_; }
  std::optional<std::uint64_t> max_output_tokens() const noexcept { return max_output_tokens_; }
  /// Returns true if `text_is_finish` was called.
  bool is_text_finish() const noexcept { return text_is_finish_; }
  std::size_t parallel_reads() const noexcept { return parallel_reads_; }

  /// Makes the tools of one session.
  /// \param environment  the environment of the session. It must outlive the tools, and must not be moved.
  /// \param scope        the scope of the session, for sub-agents.
  std::vector<tools::any_tool> make_tools(any_environment& environment,
                                          const std::shared_ptr<detail::run_scope>& scope) const;

 private:
  using tool_maker = std::function<tools::any_tool(any_environment&, const std::shared_ptr<detail::run_scope>&)>;

  any_chat_model model_;
  std::vector<tool_maker> makers_;
  std::string instructions_;
  std::size_t max_turns_ = 30;
  std::optional<std::size_t> warn_from_;
  std::optional<std::uint64_t> context_window_;
  std::optional<std::uint64_t> token_budget_;
  std::optional<std::chrono::milliseconds> time_limit_;
  std::optional<std::uint64_t> max_output_tokens_;
  std::size_t parallel_reads_ = 4;
  bool text_is_finish_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/llm/impl/agent.ipp>
#endif
