// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/format_result.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/files/copy_files.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/llm/agent.hpp>
#include <cofferdam/llm/agent_result.hpp>
#include <cofferdam/llm/agent_session.hpp>
#include <cofferdam/llm/detail/run_scope.hpp>
#include <cofferdam/llm/detail/session_state.hpp>
#include <cofferdam/llm/sub_agent.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Access to the parts of an `agent_session` that only a sub-agent's session uses.
class nested_session {
 public:
  static std::unique_ptr<agent_session> make(agent who, any_environment& environment,
                                             const std::shared_ptr<run_scope>& parent) {
    return std::unique_ptr<agent_session>(new agent_session(std::make_shared<session_state>(
        std::move(who), any_environment(referenced_environment(environment)), std::make_shared<run_scope>(parent))));
  }
  static void deliver(agent_session& session,
                      std::function<awaitable<transfer_result>(std::vector<std::string> paths)> to) {
    session.state_->files.deliver(std::move(to));
  }
};

}  // namespace detail

namespace tools::detail {

/// Copies files from one workspace to another, under their own paths below a folder.
inline awaitable<transfer_result> copy_paths(any_environment& from, any_environment& to, std::vector<std::string> paths,
                                             std::string folder) {
  transfer_result report;
  for (const std::string& each : paths) {
    std::optional<error> failure;
    try {
      const std::string path = workspace_path(each);
      const directory_entry found = co_await stat(from, path);
      // The content of a directory arrives in the destination; a file arrives in it under its name.
      const std::size_t end = found.is_directory() ? path.size() : path.rfind('/');
      file_set one;
      one.exactly(path).into(
          cofferdam::detail::joined_path(folder, end == std::string::npos ? "." : path.substr(0, end)));
      const transfer_result copied = co_await copy_files(from, to, std::move(one));
      for (const transferred_file& file : copied.files()) report.add(file);
      for (const failed_file& file : copied.failed()) report.add(file);
    } catch (const error& reason) {
      if (cofferdam::detail::ends_everything(reason)) throw;
      failure = reason;
    }
    if (failure) report.add(failed_file(each, std::move(*failure)));
  }
  co_return report;
}

/// One call of a `sub_agent_tool`.
class sub_agent_call {
 public:
  sub_agent_call(std::shared_ptr<const sub_agent_plan> its_plan, any_environment& its_caller,
                 std::shared_ptr<cofferdam::detail::run_scope> its_parent, checked_arguments its_arguments,
                 tool_output_listener its_listener)
      : plan(std::move(its_plan)),
        caller(its_caller),
        parent(std::move(its_parent)),
        arguments(std::move(its_arguments)),
        listener(std::move(its_listener)) {}

  std::shared_ptr<const sub_agent_plan> plan;
  any_environment& caller;
  std::shared_ptr<cofferdam::detail::run_scope> parent;
  checked_arguments arguments;
  tool_output_listener listener;
  std::size_t turn = 0;

  static tool_result refusal(std::string why) { return tool_result("Error: " + std::move(why), false); }

  /// Passes an event on, and describes it to the caller.
  void tell(const agent_event& what) {
    if (plan->listener) plan->listener(what);
    if (what.kind() == agent_event_kind::turn) turn = what.turn();
    if (what.kind() != agent_event_kind::tool_begun || !listener) return;
    const std::string line = plan->name + ": turn " + std::to_string(turn) + ", " + one_line(what.name(), 64) + "\n";
    listener(output_stream::out, as_bytes(line));
  }

  /// Runs the agent in an environment.
  awaitable<tool_result> run_in(any_environment& inside) {
    const std::unique_ptr<agent_session> session =
        cofferdam::detail::nested_session::make(plan->make(), inside, parent);
    if (plan->listener || listener) session->on_event([this](const agent_event& what) { tell(what); });
    cofferdam::detail::nested_session::deliver(
        *session, [this, &inside](std::vector<std::string> paths) { return deliver(inside, std::move(paths)); });
    std::string failure;
    try {
      const agent_result result = co_await session->run(arguments.text("task"));
      co_return describe(result);
    } catch (const error& reason) {
      if (cofferdam::detail::ends_everything(reason)) throw;
      failure = reason.what();
    }
    co_return refusal("the agent '" + plan->name + "' failed: " + one_line(failure, 1000) +
                      ". Do the work yourself, or try again later.");
  }

  /// Runs the agent in an environment of its own.
  awaitable<tool_result> run_apart() {
    tool_result answer;
    const auto body = [this, &answer](any_environment& inside) -> awaitable<void> {
      std::vector<std::string> inputs = arguments.texts("input_files");
      const transfer_result copied = co_await copy_paths(caller, inside, std::move(inputs), ".");
      if (!copied.ok()) {
        answer = refusal("the agent was not started, because input files could not be copied: " + failures(copied));
        co_return;
      }
      answer = co_await run_in(inside);
    };
    std::optional<error> failure;
    try {
      co_await with(*plan->environment, body);
    } catch (const error& reason) {
      if (reason.code() == exec_errc::cancelled) throw;
      failure = reason;
    }
    if (!failure) co_return answer;
    if (cofferdam::detail::is_environment_gone(*failure)) co_await require_caller();
    co_return refusal("the environment of the agent '" + plan->name + "' failed: " + one_line(failure->what(), 1000) +
                      ". Its work is lost.");
  }

 private:
  /// Throws if the environment of the caller is lost or closed.
  awaitable<void> require_caller() {
    try {
      co_await stat(caller, ".");
    } catch (const error& reason) {
      if (cofferdam::detail::ends_everything(reason)) throw;
    }
  }

  awaitable<transfer_result> deliver(any_environment& inside, std::vector<std::string> paths) {
    if (plan->environment) {
      std::string folder = arguments.text("output_dir");
      transfer_result copied = co_await copy_paths(inside, caller, std::move(paths), std::move(folder));
      co_return copied;
    }
    transfer_result there;  // the files are in the caller's workspace already
    for (const std::string& each : paths) there.add(transferred_file(each, each, 0));
    co_return there;
  }

  static std::string failures(const transfer_result& report) {
    std::string text;
    for (const failed_file& each : report.failed())
      if (text.size() < 1000)
        text += (text.empty() ? "" : "; ") + one_line(each.source(), 200) + ": " + one_line(each.reason().what(), 300);
    return text;
  }

  tool_result describe(const agent_result& result) const {
    constexpr std::size_t max_reason = 20'000;
    std::string reason = printable_text(std::string_view(result.reason()).substr(0, max_reason));
    if (result.reason().size() > max_reason) reason += " ...";
    std::string files;
    boost::json::array paths;
    for (const transferred_file& each : result.saved().files()) {
      if (paths.size() < 200) files += (files.empty() ? "" : ", ") + one_line(each.destination());
      paths.emplace_back(printable_text(each.destination()));
    }
    if (paths.size() > 200) files += ", ...";
    std::string text = "<agent_result>\n";
    const auto add = [&text](std::string_view name, std::string_view value) {
      cofferdam::detail::append_field(text, name, value);
    };
    add("finished", result.finished() ? "true" : "false");
    if (!result.finished()) add("details", to_string(result.end()));
    if (!reason.empty()) add("reason", reason);
    if (!files.empty()) add("files", files);
    if (!result.saved().ok()) add("failed_files", failures(result.saved()));
    add("turns", std::to_string(result.turns()));
    if (!result.finished())
      add("advice", plan->environment ? "Its files are lost. Give it a smaller task, or do the work yourself."
                                      : "Look at the files that it has left. Give it a smaller task, or do the rest "
                                        "yourself.");
    text += "</agent_result>";
    boost::json::object facts;
    facts["finished"] = result.finished();
    facts["reason"] = reason;
    facts["files"] = std::move(paths);
    facts["turns"] = result.turns();
    facts["input_tokens"] = result.usage().input;
    facts["output_tokens"] = result.usage().output;
    tool_result answer(std::move(text), result.finished() && result.saved().ok());
    answer.data(std::move(facts));
    return answer;
  }
};

inline awaitable<tool_result> call_sub_agent(std::shared_ptr<const sub_agent_plan> plan, any_environment& caller,
                                             std::shared_ptr<cofferdam::detail::run_scope> parent,
                                             const argument_list& known, boost::json::value arguments,
                                             tool_output_listener listener) {
  checked_arguments values;
  const std::string complaint = known.check(arguments, values);
  if (!complaint.empty()) co_return sub_agent_call::refusal(complaint);
  if (parent && parent->depth() >= plan->max_depth)
    co_return sub_agent_call::refusal("agents are nested too deep (the limit is " + std::to_string(plan->max_depth) +
                                      " levels). Do the work yourself.");
  sub_agent_call work(std::move(plan), caller, std::move(parent), std::move(values), std::move(listener));
  tool_result answer;
  if (work.plan->environment) {
    answer = co_await work.run_apart();
  } else {
    answer = co_await work.run_in(caller);
  }
  co_return answer;
}

inline argument_list sub_agent_arguments(bool has_own_environment) {
  argument task(
      "task", text,
      has_own_environment
          ? "The task, complete in itself: the agent knows nothing of this conversation, and has only the "
            "input files."
          : "The task, complete in itself: the agent knows nothing of this conversation. It works on the files "
            "of the workspace.");
  if (!has_own_environment) return argument_list(std::move(task).between(1, 200'000));
  return argument_list(
      std::move(task).between(1, 200'000),
      argument("input_files", list_of(text), "Files and directories of the workspace that the agent gets.").optional(),
      argument("output_dir", text, "The directory of the workspace for the files that the agent returns.")
          .between(1, 4095)
          .otherwise("."));
}

}  // namespace tools::detail

namespace tools {

COFFERDAM_DECL sub_agent_tool::sub_agent_tool(std::shared_ptr<const detail::sub_agent_plan> plan,
                                              any_environment& caller,
                                              std::shared_ptr<cofferdam::detail::run_scope> scope)
    : plan_(std::move(plan)),
      caller_(&caller),
      scope_(std::move(scope)),
      arguments_(detail::sub_agent_arguments(plan_->environment.has_value())) {}

COFFERDAM_DECL awaitable<tool_result> sub_agent_tool::call(boost::json::value arguments,
                                                           tool_output_argument listener) {
  return detail::call_sub_agent(plan_, *caller_, scope_, arguments_, std::move(arguments), listener.take());
}

COFFERDAM_DECL sub_agent::sub_agent(std::string name, std::string description, std::function<agent()> make) {
  if (!make) throw error(exec_errc::invalid_argument, "sub_agent: '" + one_line(name) + "' has no agent");
  plan_.name = std::move(name);
  plan_.description = std::move(description);
  plan_.make = std::move(make);
}

COFFERDAM_DECL sub_agent& sub_agent::max_depth(std::size_t levels) {
  if (levels == 0) throw error(exec_errc::invalid_argument, "sub_agent: max_depth must be at least 1");
  plan_.max_depth = levels;
  return *this;
}

COFFERDAM_DECL sub_agent_tool sub_agent::operator()(any_environment& caller,
                                                    std::shared_ptr<cofferdam::detail::run_scope> scope) const {
  return sub_agent_tool(std::make_shared<const detail::sub_agent_plan>(plan_), caller, std::move(scope));
}

}  // namespace tools

}  // namespace cofferdam::inline COFFERDAM_ABI
