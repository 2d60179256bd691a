// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Runs Python code, as a model would write it, that calls a tool of an MCP server. The code runs in the sandbox; the
// server runs as your user. Expected output: the sum of two heights, and the reason why a third call failed.
#include <cofferdam/mcp.hpp>
#include <cofferdam/python.hpp>
#include <cofferdam/sandbox.hpp>

#include <iostream>

using namespace cofferdam;

awaitable<void> ask() {
  std::vector<mcp::server_entry> servers =
      mcp::read_servers(R"({"mcpServers": {"tide": {"command": "python3", "args": [")" COFFERDAM_EXAMPLE_DATA
                        R"(/tide_server.py"], "tools": ["tide-height"]}}})");

  co_await mcp::with_servers(servers, [&](mcp::connected_servers& all) -> awaitable<void> {
    mcp::toolbox box;
    co_await all.offer(box);
    co_await with(sandbox() | python() | mcp::offer_tools(box), [&](auto& runner) -> awaitable<void> {
      code_request request(R"(from cofferdam_tools import tide
print(sum(float(tide.tide_height(place)) for place in ("Brest", "Oslo")))
tide.tide_height("Bern"))");
      code_result result = co_await runner.run_code(std::move(request));
      std::cout << result.out().text();
      if (result.failure()) std::cout << result.failure()->type() << ": " << result.failure()->message() << "\n";
    });
  });
}

int main() { return cofferdam::run(ask()); }
