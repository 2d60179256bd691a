// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers for a program that offers tools to agents as an MCP server (Model Context Protocol), and for a program
// that uses the tools of MCP servers, itself or in code that models write.

#include <cofferdam/core.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/client_options.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/definitions.hpp>
#include <cofferdam/serve/mcp/remote.hpp>
#include <cofferdam/serve/mcp/server_options.hpp>
#include <cofferdam/serve/mcp/servers.hpp>
#include <cofferdam/serve/mcp/toolbox.hpp>
#include <cofferdam/serve/mcp_client.hpp>
#include <cofferdam/serve/mcp_server.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/definition.hpp>
#include <cofferdam/tools/function.hpp>
