// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Compares `cofferdam-mcp` with MCP servers that the official Python package makes and that have the same tools. All
// are used over stdio, interleaved:
//   mcp_bench [ROUNDS [FOLDER]]
// FOLDER (default: COFFERDAM_MCP_PEERS) contains the Python servers' packages; tests/serve/mcp/peers.sh installs them.
// The client is the same for all servers: it writes a line, and reads lines until the reply arrives.
#include "../support/table.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using cofferdam_bench::row;
using nanoseconds = std::chrono::nanoseconds;

struct memory {
  long rss = 0;  // both in KiB
  long pss = 0;
};

/// Returns the memory of a process, as the kernel counts it in smaps_rollup.
memory memory_of(pid_t pid) {
  memory held;
  std::ifstream lines("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Rss:")) held.rss = std::strtol(line.c_str() + 4, nullptr, 10);
    if (line.starts_with("Pss:")) held.pss = std::strtol(line.c_str() + 4, nullptr, 10);
  }
  return held;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  std::ifstream words("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  for (pid_t child = 0; words >> child;) children.push_back(child);
  return children;
}

/// Returns the memory of a process and of all its descendants.
memory memory_of_tree(pid_t pid) {
  memory held = memory_of(pid);
  for (const pid_t child : children_of(pid)) {
    const memory more = memory_of_tree(child);
    held.rss += more.rss;
    held.pss += more.pss;
  }
  return held;
}

/// A server that this program talks to over pipes. The constructor performs the protocol's handshake.
class server {
 public:
  server(std::string name, std::vector<std::string> words) : name_(std::move(name)) {
    int to[2];
    int from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    const int failure = ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(to[0]);
    ::close(from[1]);
    in_ = to[1];
    out_ = from[0];
    if (failure != 0) throw std::runtime_error("cannot start " + words.front());
    ask("initialize",
        R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}})");
    say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    ask("tools/list", "{}");
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server() {
    ::close(in_);
    ::close(out_);
    ::waitpid(pid_, nullptr, 0);
  }

  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }

  /// Sends a request. \return the line with the reply.
  std::string ask(const std::string& method, const std::string& params) {
    const std::string id = std::to_string(next_++);
    say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":)" + params + "}");
    for (;;) {
      std::string line = next_line();
      // Only one request is sent at a time, so every other line is a notification, which has a method.
      if (line.find(R"("method")") == std::string::npos) return line;
    }
  }

  nanoseconds call(const std::string& tool, const std::string& arguments) {
    const std::string params = R"({"name":")" + tool + R"(","arguments":)" + arguments + "}";
    std::string answer;
    const nanoseconds elapsed = cofferdam_bench::timed([&] { answer = ask("tools/call", params); });
    const boost::json::value parsed = boost::json::parse(answer);
    const boost::json::object* const result =
        parsed.as_object().if_contains("result") ? &parsed.as_object().at("result").as_object() : nullptr;
    if (result == nullptr || (result->contains("isError") && result->at("isError").as_bool()))
      throw std::runtime_error(name_ + " said " + answer);
    return elapsed;
  }

 private:
  void say(std::string line) {
    line += '\n';
    for (std::size_t sent = 0; sent < line.size();) {
      const ssize_t count = ::write(in_, line.data() + sent, line.size() - sent);
      if (count < 0) throw std::runtime_error(name_ + " has hung up");
      sent += static_cast<std::size_t>(count);
    }
  }

  std::string next_line() {
    for (;;) {
      const std::size_t end = read_.find('\n');
      if (end != std::string::npos) {
        std::string line = read_.substr(0, end);
        read_.erase(0, end + 1);
        return line;
      }
      char piece[8192];
      const ssize_t count = ::read(out_, piece, sizeof piece);
      if (count <= 0) throw std::runtime_error(name_ + " has ended; is what it needs installed?");
      read_.append(piece, static_cast<std::size_t>(count));
    }
  }

  std::string name_;
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::uint64_t next_ = 0;
  std::string read_;
};

struct contestant {
  server* who;
  std::string tool;
};

/// Runs a shell that does nothing, from its start to its end. No server can run a command in less time.
void run_shell() {
  std::string words[] = {"bash", "-c", "true"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t pid = -1;
  int status = -1;
  const int failure = ::posix_spawnp(&pid, arguments[0], nullptr, nullptr, arguments, environ);
  if (failure != 0 || ::waitpid(pid, &status, 0) != pid || status != 0) throw std::runtime_error("bash failed");
}

/// Calls the same tool of several servers in turn, and prints the times. The first server must be `cofferdam-mcp`.
/// \param floor  a function that is measured beside the servers, as the least possible time; null means none.
void compare(const char* title, const std::vector<contestant>& contestants, const std::string& arguments, int rounds,
             void (*floor)() = nullptr) {
  std::vector<row> rows;
  if (floor != nullptr) rows.emplace_back("bash -c true, without a server");
  const std::size_t first = rows.size();
  for (const contestant& contender : contestants) rows.emplace_back(contender.who->name());
  for (int i = -10; i < rounds; ++i) {
    if (floor != nullptr) {
      const nanoseconds elapsed = cofferdam_bench::timed(floor);
      if (i >= 0) rows[0].add(elapsed);
    }
    for (std::size_t k = 0; k < contestants.size(); ++k) {
      const nanoseconds elapsed = contestants[k].who->call(contestants[k].tool, arguments);
      if (i >= 0) rows[first + k].add(elapsed);
    }
  }
  cofferdam_bench::print(title, rows);
  for (std::size_t k = first + 1; k < rows.size(); ++k)
    std::printf("%s is %.1f times as fast as %s (p50)\n", rows[first].name().c_str(),
                rows[k].percentile(0.5) / rows[first].percentile(0.5), rows[k].name().c_str());
  std::printf("\n");
}

void print_memory(const char* title, const std::vector<server*>& servers) {
  std::printf("%s\n%-58s %10s %10s %14s %14s\n", title, "", "RSS KiB", "PSS KiB", "with children", "");
  for (const server* measured : servers) {
    const memory alone = memory_of(measured->pid());
    const memory tree = memory_of_tree(measured->pid());
    std::printf("%-58s %10ld %10ld %10ld RSS %10ld PSS\n", measured->name().c_str(), alone.rss, alone.pss, tree.rss,
                tree.pss);
  }
  std::printf("\n");
}

void run(const std::string& folder, int rounds) {
  const std::string script = COFFERDAM_PEERS "/mcp_peer.py";
  server ours("cofferdam-mcp", {COFFERDAM_MCP_PROGRAM, "--provider", "local"});
  server old_python("Python, mcp 1 (FastMCP)", {folder + "/python_old/bin/python", script});
  server new_python("Python, mcp 2", {folder + "/python/bin/python", script});
  print_memory("Memory after the handshake and tools/list", {&ours, &old_python, &new_python});
  compare("The tool that runs the command line `true`, interleaved",
          {{&ours, "code_exec"}, {&old_python, "code_exec"}, {&new_python, "code_exec"}}, R"({"cmd":"true"})", rounds,
          run_shell);
  compare("The tool that runs Python, with `6 * 7`, interleaved (theirs runs it in the server itself)",
          {{&ours, "run_python"}, {&old_python, "run_python"}, {&new_python, "run_python"}}, R"({"code":"6 * 7"})",
          rounds);
  server idle("mcp::server with a tool of the user's", {COFFERDAM_MCP_EVERYTHING});
  compare("A tool that does nothing, interleaved",
          {{&idle, "test_simple_text"}, {&old_python, "nothing"}, {&new_python, "nothing"}}, "{}", rounds);
  print_memory("Memory after these calls", {&ours, &idle, &old_python, &new_python});
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 300;
  const char* const default_folder = std::getenv("COFFERDAM_MCP_PEERS");
  const std::string folder = count > 2 ? arguments[2] : default_folder == nullptr ? "" : default_folder;
  if (folder.empty()) {
    std::printf(
        "not run: COFFERDAM_MCP_PEERS names no folder with MCP's packages (tests/serve/mcp/peers.sh makes one)\n");
    return 0;
  }
  ::signal(SIGPIPE, SIG_IGN);
  try {
    run(folder, rounds);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "mcp_bench: %s\n", failure.what());
    return 1;
  }
  return 0;
}
