// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Serves a function of your own to MCP clients over standard input and output, beside the library's tools for commands
// and files. Expected output: none without a client. To try it with a client: npx @modelcontextprotocol/inspector
// ./12_mcp_server
#include <cofferdam/mcp.hpp>
#include <cofferdam/sandbox.hpp>

#include <stdexcept>
#include <string>

using namespace cofferdam;

// An exception becomes an error that the model reads. Arguments of a wrong type are refused in the same way.
awaitable<double> height_at(std::string place) {
  if (place != "Brest") throw std::runtime_error("the only harbour is Brest");
  co_return 6.5;
}

awaitable<void> serve() {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  mcp::server server(executor, sandbox());
  server.add(tools::function("tide", "Returns the height of the tide at a harbour, in metres.",
                             tools::argument("place", tools::text, "Name of a harbour."), height_at));
  co_await server.serve_stdio();
}

int main() { return cofferdam::run(serve()); }
