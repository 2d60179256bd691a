// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/llm/agent.hpp>
#include <cofferdam/llm/agent_result.hpp>
#include <cofferdam/llm/detail/conversation.hpp>
#include <cofferdam/llm/detail/run_scope.hpp>
#include <cofferdam/llm/detail/session_tools.hpp>
#include <cofferdam/llm/detail/workspace_exchange.hpp>

#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The state of an `agent_session`. It cannot be copied or moved, because the tools refer to the environment in it.
class session_state {
 public:
  session_state(agent its_agent, any_environment inside, std::shared_ptr<run_scope> its_scope)
      : who(std::move(its_agent)),
        environment(std::move(inside)),
        scope(std::move(its_scope)),
        tools(who.make_tools(environment, scope)) {}
  session_state(const session_state&) = delete;
  session_state& operator=(const session_state&) = delete;

  void tell(const agent_event& what) const {
    if (listener) listener(what);
  }

  agent who;
  any_environment environment;
  const std::shared_ptr<run_scope> scope;
  session_tools tools;
  workspace_exchange files;
  agent_listener listener;
  conversation history;
  bool running = false;  // true while a run is under way
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
