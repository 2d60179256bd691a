// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Measures a call of a tool of MCP's reference server "everything", interleaved: by mcp::client, by Python code in
// runners (local and jail) through mcp::toolbox, and by the official Python client, which has its own server:
//   code_mode_bench [ROUNDS [FOLDER]]
// FOLDER (default: COFFERDAM_MCP_PEERS) contains the server and the client; tests/serve/mcp/peers.sh installs them.
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/run.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/serve/mcp/toolbox.hpp>
#include <cofferdam/serve/mcp_client.hpp>

#include "../support/peer.hpp"
#include "../support/table.hpp"

#include <boost/json/object.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam_bench::peer;
using cofferdam_bench::row;

constexpr int calls = 20;  // in a round

void add_times(row& to, const std::string& line) {
  std::istringstream times(line);
  for (long long time = 0; times >> time;) to.add(std::chrono::nanoseconds(time));
}

awaitable<void> call_directly(mcp::client& client, row& to) {
  for (int i = 0; i < calls; ++i) {
    boost::json::object arguments;
    arguments["message"] = "x";
    const auto begin = std::chrono::steady_clock::now();
    const mcp::remote_answer answer = co_await client.call("echo", std::move(arguments));
    to.add(std::chrono::steady_clock::now() - begin);
    if (answer.is_error()) throw std::runtime_error(answer.text());
  }
}

template <class Runner>
awaitable<void> call_from_code(Runner& runner, row& to) {
  code_request request(
      "import time, cofferdam_tools\n"
      "echo, times = cofferdam_tools.every.echo, []\n"
      "for _ in range(" +
      std::to_string(calls) +
      "):\n"
      "    begin = time.perf_counter_ns()\n"
      "    echo(message='x')\n"
      "    times.append(time.perf_counter_ns() - begin)\n"
      "print(*times)\n");
  const code_result result = co_await runner.run_code(std::move(request));
  if (!result.ok()) throw std::runtime_error(result.reason() + result.err().text());
  add_times(to, result.out().text());
}

awaitable<void> compare(int rounds, std::string folder) {
  const std::vector<std::string> server{folder + "/node",
                                        folder + "/node_modules/@modelcontextprotocol/server-everything/dist/index.js"};
  std::vector<std::string> words{folder + "/python_old/bin/python", COFFERDAM_PEERS "/code_mode_peer.py"};
  words.insert(words.end(), server.begin(), server.end());
  peer python_client(words);
  std::vector<row> rows{row("mcp::client"), row("code in local(), through mcp::toolbox"),
                        row("code in a jail, through mcp::toolbox"), row("the official Python client")};
  const auto on_host = [&](local_environment& place) -> awaitable<void> {
    command program = argv(server);
    mcp::client client = co_await mcp::client::start(place, std::move(program));
    mcp::toolbox box;
    std::vector<std::string> names{"echo"};
    co_await box.add("every", client, std::move(names));
    const auto measures = [&](auto& near, auto& walled) -> awaitable<void> {
      for (int i = 0; i < rounds; ++i) {
        co_await call_directly(client, rows[0]);
        co_await call_from_code(near, rows[1]);
        co_await call_from_code(walled, rows[2]);
        add_times(rows[3], python_client.ask(std::to_string(calls)));
      }
    };
    const auto in_local = [&](auto& near) -> awaitable<void> {
      const auto in_jail = [&](auto& walled) -> awaitable<void> { co_await measures(near, walled); };
      co_await with(jail() | python() | mcp::offer_tools(box), in_jail);
    };
    co_await with(local().without_warning() | python() | mcp::offer_tools(box), in_local);
    co_await client.close();
  };
  co_await with(local().without_warning(), on_host);
  cofferdam_bench::print("a call of the tool echo, interleaved", rows);
}

}  // namespace

int main(int count, char** words) {
  const char* const named = std::getenv("COFFERDAM_MCP_PEERS");
  const std::string folder = count > 2 ? words[2] : (named == nullptr ? "" : named);
  if (folder.empty()) {
    std::cerr << "code_mode_bench: set COFFERDAM_MCP_PEERS, or name the folder; see tests/serve/mcp/peers.sh\n";
    return 1;
  }
  return cofferdam::run(compare(count > 1 ? std::atoi(words[1]) : 20, folder));
}
