// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers for a program that offers tools to agents as an MCP server (Model Context Protocol).

#include <cofferdam/core.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/definitions.hpp>
#include <cofferdam/serve/mcp/server_options.hpp>
#include <cofferdam/serve/mcp_server.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/definition.hpp>
#include <cofferdam/tools/function.hpp>
