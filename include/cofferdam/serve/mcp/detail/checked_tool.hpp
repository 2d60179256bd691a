// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/schema_check.hpp>
#include <cofferdam/serve/mcp/server_options.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/definition.hpp>

#include <boost/json/object.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The function of a built-in tool. It is called with arguments that match the tool's schema. `of` is the tool's data.
template <class Of>
using checked_work = awaitable<answer> (*)(std::shared_ptr<const Of> of, call& invocation,
                                           tools::checked_arguments arguments);

inline awaitable<answer> said(answer result) { co_return result; }

/// Returns the note about the environment from the options, as one more list item for a tool's description; an empty
/// text if there is no note.
inline std::string environment_note(const server_options& options) {
  return options.about_environment().empty() ? std::string() : "\n- " + options.about_environment();
}

/// Wraps a user's handler, so that its arguments are checked before it is called.
inline tool_handler checked(const tools::definition& what, tool_handler serve) {
  if (what.input())
    return [schema = *what.input(), serve = std::move(serve)](call& invocation) -> awaitable<answer> {
      const std::string complaint = argument_complaint(schema, invocation.own_arguments());
      if (!complaint.empty()) return said(answer::failed(invocation.name() + ": " + complaint));
      return serve(invocation);
    };
  return [list = what.arguments(), serve = std::move(serve)](call& invocation) -> awaitable<answer> {
    tools::checked_arguments values;
    const std::string complaint = list.check(invocation.arguments(), values);
    if (!complaint.empty()) return said(answer::failed(invocation.name() + ": " + complaint));
    invocation.own_arguments() = std::move(values).values();
    return serve(invocation);
  };
}

/// Adds a built-in tool. Its arguments are checked before `work` is called.
/// \param arguments  must be a member of `of`, which keeps it alive.
template <class Of>
void add_checked(server_core& core, std::shared_ptr<const Of> of, const tools::argument_list& arguments,
                 tools::definition what, checked_work<Of> work) {
  tools::definition described = std::move(what).input(arguments.schema());
  tool_handler serve = [of = std::move(of), &arguments, work](call& invocation) -> awaitable<answer> {
    tools::checked_arguments values;
    const std::string complaint = arguments.check(invocation.arguments(), values);
    if (!complaint.empty()) return said(answer::failed(invocation.name() + ": " + complaint));
    return work(of, invocation, std::move(values));
  };
  core.tools.push_back(std::make_shared<const registered_tool>(std::move(described), std::move(serve)));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
