// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Measures a call of the tool `echo` of MCP's reference server "everything", interleaved:
//   code_mode_bench [ROUNDS [FOLDER]]
// FOLDER (default: COFFERDAM_MCP_PEERS) contains the server and the official Python client; tests/serve/mcp/peers.sh
// installs them. The ways to call it are:
//  * mcp::client and the official Python client, which call it directly;
//  * Python code in runners (local, jail and docker) through mcp::toolbox. The container has no network;
//  * code that mcp-code-mode runs. A container must share the network of this machine, because the code reaches the
//    bridge of mcp-code-mode by TCP. That favours the peer, as does that nothing limits its container;
//  * FastMCP's client in a container, with its server in the same container (so that no call passes the wall) or with
//    the network of this machine (so that the server is called by HTTP).
// Every peer has a server of its own. The containers need a daemon (DOCKER_HOST) with the image cofferdam-test/debian,
// and the last two peers need COFFERDAM_CODE_MODE_PEERS; benchmarks/macro/code_mode_peers.sh makes the folder.
#include <cofferdam/backends/docker.hpp>
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
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
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
const std::string image = "cofferdam-test/debian";

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

void add_times(row& to, const std::string& line) {
  std::istringstream times(line);
  int count = 0;
  for (long long time = 0; times >> time; ++count) to.add(std::chrono::nanoseconds(time));
  if (count != calls) throw std::runtime_error("expected the times of all calls, got: " + line);
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

/// Ways to call the tool, and their times. The first way is the floor.
class comparison {
 public:
  /// \param call  calls the tool `calls` times, and adds the times to the row.
  void add(std::string name, std::function<awaitable<void>(row&)> call) {
    rows_.emplace_back(std::move(name));
    ways_.push_back(std::move(call));
  }

  void add_client(std::string name, mcp::client& client) {
    add(std::move(name), [&client](row& to) { return call_directly(client, to); });
  }

  template <class Runner>
  void add_code(std::string name, Runner& runner) {
    add(std::move(name), [&runner](row& to) { return call_from_code(runner, to); });
  }

  void add_peer(std::string name, peer& other) {
    add(std::move(name), [&other](row& to) { return call_by_peer(other, to); });
  }

  /// Measures all ways in turn, after a round that does not count.
  awaitable<void> measure(int rounds) {
    for (int i = -1; i < rounds; ++i) {
      for (std::size_t n = 0; n < ways_.size(); ++n) {
        row unused("");
        row& to = i < 0 ? unused : rows_[n];
        co_await ways_[n](to);
      }
    }
  }

  void print() const { cofferdam_bench::print("A call of the tool echo, interleaved", rows_); }

 private:
  static awaitable<void> call_by_peer(peer& other, row& to) {
    add_times(to, other.ask(std::to_string(calls)));
    co_return;
  }

  std::vector<row> rows_;
  std::vector<std::function<awaitable<void>(row&)>> ways_;
};

/// Returns true if the daemon of DOCKER_HOST has the image. Otherwise prints what is missing.
bool has_docker() {
  if (std::getenv("DOCKER_HOST") == nullptr) {
    std::printf("not run: containers, because DOCKER_HOST names no daemon (tests/docker/daemon.sh starts one)\n");
    return false;
  }
  if (std::system(("docker image inspect " + image + " >/dev/null 2>&1").c_str()) == 0) return true;
  std::printf("not run: containers, because the daemon of DOCKER_HOST does not answer or has no image %s\n",
              image.c_str());
  return false;
}

/// Programs of other projects that call the tool.
class peers {
 public:
  peers(const std::string& folder, const std::vector<std::string>& server, bool docker) {
    start("the official Python client, directly", folder + "/python_old/bin/python", "/code_mode_peer.py", server);
    const char* const named = std::getenv("COFFERDAM_CODE_MODE_PEERS");
    if (named == nullptr || !std::filesystem::exists(std::string(named) + "/versions")) {
      std::printf(
          "not run: mcp-code-mode and FastMCP, because COFFERDAM_CODE_MODE_PEERS names no folder with them "
          "(benchmarks/macro/code_mode_peers.sh makes one)\n");
      return;
    }
    const std::string own(named);
    const std::string python = own + "/python/bin/python";
    if (std::filesystem::exists(python)) {
      start("mcp-code-mode, code in the process of its bridge", python, "/code_mode_bridge_peer.py",
            words("process", server));
      if (docker)
        start("mcp-code-mode, code in a container, network of the host", python, "/code_mode_bridge_peer.py",
              words(image, server));
    } else {
      std::printf("not run: mcp-code-mode, because it needs Python 3.11 or 3.12\n");
    }
    if (docker) {
      const std::vector<std::string> places{image, own + "/container", folder};
      start("FastMCP in a container, server in it too", "python3", "/code_mode_fastmcp_peer.py",
            words("stdio", places));
      start("FastMCP in a container, network of the host, HTTP", "python3", "/code_mode_fastmcp_peer.py",
            words("http", places));
      url_ = programs_.back()->ask("url");
    }
  }

  void add_to(comparison& to) {
    for (std::size_t n = 0; n < programs_.size(); ++n) to.add_peer(names_[n], *programs_[n]);
  }

  /// Returns the address of the server that is called by HTTP, or an empty text.
  const std::string& url() const noexcept { return url_; }

 private:
  static std::vector<std::string> words(const std::string& first, const std::vector<std::string>& others) {
    std::vector<std::string> all{first};
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }

  void start(std::string name, const std::string& python, const std::string& script,
             const std::vector<std::string>& arguments) {
    std::vector<std::string> line{python, COFFERDAM_PEERS + script};
    line.insert(line.end(), arguments.begin(), arguments.end());
    names_.push_back(std::move(name));
    programs_.push_back(std::make_unique<peer>(std::move(line)));
  }

  std::vector<std::string> names_;
  std::vector<std::unique_ptr<peer>> programs_;
  std::string url_;
};

awaitable<void> compare(int rounds, std::string folder) {
  const bool docker = has_docker();
  const std::vector<std::string> server{folder + "/node",
                                        folder + "/node_modules/@modelcontextprotocol/server-everything/dist/index.js"};
  peers others(folder, server, docker);
  comparison ways;
  const auto on_host = [&](local_environment& place) -> awaitable<void> {
    command program = argv(server);
    mcp::client client = co_await mcp::client::start(place, std::move(program));
    mcp::client by_http;
    mcp::toolbox box;
    std::vector<std::string> names{"echo"};
    co_await box.add("every", client, std::move(names));
    ways.add_client("mcp::client, directly", client);
    const auto in_all = [&]() -> awaitable<void> {
      others.add_to(ways);
      if (!others.url().empty()) {
        by_http = co_await mcp::client::connect(others.url());
        ways.add_client("mcp::client, directly, HTTP", by_http);
      }
      co_await ways.measure(rounds);
    };
    const auto in_container = [&](auto& runner) -> awaitable<void> {
      ways.add_code("code in a container without network, by mcp::toolbox", runner);
      co_await in_all();
    };
    const auto in_jail = [&](auto& runner) -> awaitable<void> {
      ways.add_code("code in a jail, by mcp::toolbox", runner);
      if (docker) {
        co_await with(docker::from_image(image) | python() | mcp::offer_tools(box), in_container);
      } else {
        co_await in_all();
      }
    };
    const auto in_local = [&](auto& runner) -> awaitable<void> {
      ways.add_code("code in local(), by mcp::toolbox", runner);
      co_await with(jail() | python() | mcp::offer_tools(box), in_jail);
    };
    co_await with(local().without_warning() | python() | mcp::offer_tools(box), in_local);
    if (!others.url().empty()) co_await by_http.close();
    co_await client.close();
  };
  co_await with(local().without_warning(), on_host);
  ways.print();
}

}  // namespace

int main(int count, char** words) {
  const char* const named = std::getenv("COFFERDAM_MCP_PEERS");
  const std::string folder = count > 2 ? words[2] : (named == nullptr ? "" : named);
  if (folder.empty()) {
    std::printf("not run: COFFERDAM_MCP_PEERS names no folder (tests/serve/mcp/peers.sh makes one)\n");
    return 0;
  }
  return cofferdam::run(compare(count > 1 ? std::atoi(words[1]) : 20, folder));
}
