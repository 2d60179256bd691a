// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers for a program that talks to language models: chat clients, and agents that use tools in an environment.

#include <cofferdam/llm/agent.hpp>
#include <cofferdam/llm/agent_result.hpp>
#include <cofferdam/llm/agent_session.hpp>
#include <cofferdam/llm/chat_completions_client.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/llm_review.hpp>
#include <cofferdam/llm/sub_agent.hpp>
#include <cofferdam/llm/usage_meter.hpp>
#include <cofferdam/tools.hpp>
