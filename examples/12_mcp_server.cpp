// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Serves a tool of your own to MCP clients over standard input and output, beside the tools of the library for commands
// and files. Expected output: none without a client. To try it: npx @modelcontextprotocol/inspector ./12_mcp_server
#include <cofferdam/mcp.hpp>
#include <cofferdam/sandbox.hpp>
#include <cofferdam/tools.hpp>

#include <utility>

using namespace cofferdam;

class tide : public tools::described_tool<tide> {
 public:
  tide()
      : described_tool("tide", "Returns the height of the tide at a harbour, in metres.",
                       tools::argument_list(tools::argument("place", tools::text, "The harbour."))) {}

  // The arguments are checked against their description before.
  awaitable<tools::tool_result> work(tools::checked_arguments arguments) {
    const bool is_known = arguments.text("place") == "Brest";
    if (!is_known) co_return tools::tool_result("The only harbour is Brest.", false);
    co_return tools::tool_result("6.5", true);
  }
};

awaitable<void> serve() {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  mcp::server server(executor, sandbox());
  server.add([](any_environment&) { return tools::any_tool(tide()); });
  co_await server.serve_stdio();
}

int main() { return cofferdam::run(serve()); }
