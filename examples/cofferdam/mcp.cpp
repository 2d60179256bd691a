// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// `cofferdam mcp` and `cofferdam-mcp`: a program that an MCP host starts (Claude Desktop, an IDE or another client). It
// runs the host's commands and Python code in an environment of your choice.
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/llm/agent.hpp>
#include <cofferdam/llm/chat_completions_client.hpp>
#include <cofferdam/llm/sub_agent.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/mcp/servers.hpp>
#include <cofferdam/serve/mcp/toolbox.hpp>
#include <cofferdam/serve/mcp_server.hpp>
#include <cofferdam/tools/definition.hpp>
#include <cofferdam/tools/skills.hpp>

#include "doctor.hpp"
#include "options.hpp"
#include "outcome.hpp"
#include "place.hpp"
#include "pooled.hpp"
#include "report.hpp"
#include "runners.hpp"
#include "serving.hpp"
#include "signals.hpp"
#include "subcommands.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace program {

namespace {

using namespace cofferdam;

mcp::server_options make_options(const mcp_options& chosen) {
  mcp::server_options options;
  options.name("cofferdam", "Cofferdam: run commands and Python");
  const std::string network = about_network(chosen.place);
  const bool is_pyodide = chosen.place.provider == "pyodide";
  options.about_environment(is_pyodide ? "Runs in WebAssembly: no subprocesses, no sockets, and no packages with "
                                         "native code except Pyodide's own. " +
                                             network
                                       : network);
  if (!network.empty() && reachable_hosts(chosen.place).empty()) options.open_world(false);
  if (chosen.timeout) {
    const auto usual = std::chrono::ceil<std::chrono::seconds>(*chosen.timeout);
    options.command_timeout(usual).python_timeout(usual);
    if (usual > options.max_timeout()) options.max_timeout(usual);
  }
  options.has_files(!chosen.place.workspace.empty());
  options.input_folder(chosen.input).output_folder(chosen.output);
  for (const std::string& folder : {chosen.input, chosen.output})
    if (!folder.empty() && !std::filesystem::is_directory(folder))
      refuse("\"" + one_line(folder) + "\" is not a directory");
  for (const std::string& host : chosen.hosts) options.host(host);
  for (const std::string& origin : chosen.origins) options.origin(origin);
  if (const char* const token = std::getenv("COFFERDAM_MCP_TOKEN"); token != nullptr && !chosen.http.empty()) {
    if (*token == '\0') refuse("COFFERDAM_MCP_TOKEN is set but empty");
    options.token(token);
  }
  if (!chosen.token_file.empty())
    add_secrets(chosen.token_file, "token", [&options](std::string token) { options.token(std::move(token)); });
  if (chosen.no_token && chosen.http.empty()) refuse("--no-token needs --http HOST:PORT; stdio uses no tokens");
  if (chosen.no_token && !options.tokens().empty())
    refuse("--no-token cannot be combined with --token-file or COFFERDAM_MCP_TOKEN");
  if (chosen.no_token) options.without_token();
  options.on_error([](const std::string& doing, std::exception_ptr failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& wrong) {
      complain(one_line(doing) + ": " + one_line(wrong.what(), 1000));
    }
  });
  return options;
}

void refuse_for_pyodide(const mcp_options& chosen) {
  if (!chosen.allow.empty()) refuse("pyodide cannot run commands, so it does not support --allow");
  if (!chosen.input.empty() || !chosen.output.empty())
    refuse("pyodide supports neither --input nor --output; use --workspace");
  if (!chosen.skills.empty() || !chosen.agent.model.empty())
    refuse("pyodide has no workspace for tools, so it supports neither --skills nor --agent-model");
}

bool has_python(const mcp_options& chosen) {
  return chosen.place.provider == "pyodide" || chosen.python_wanted.value_or(chosen.allow.empty());
}

/// Adds the Python tools, unless they are switched off.
/// \param box  the tools that code may call.
void add_python(mcp::server& server, const mcp_options& chosen, const mcp::toolbox& box) {
  if (!has_python(chosen)) return;
  check_guards(chosen.guards);
  python_options code;
  code.interpreter = chosen.python;
  code.guards = chosen.guards;
  server.runner([code](any_environment& inside) { return make_python(inside, code); });
  server.offer(box);
}

/// Adds the tool run_agent, if a model is chosen.
void add_agent(mcp::server& server, const asio::any_io_executor& executor, const mcp_options& chosen) {
  if (chosen.agent.model.empty()) return;
  chat_completions_options model(chosen.agent.model);
  if (!chosen.agent.base_url.empty()) model.base_url(chosen.agent.base_url);
  if (!chosen.agent.key_variable.empty()) {
    const char* const key = std::getenv(chosen.agent.key_variable.c_str());
    if (key == nullptr || *key == '\0')
      refuse("the environment variable " + one_line(chosen.agent.key_variable) + " of --agent-key-variable is not set");
    model.api_key(key);
  } else if (chosen.agent.base_url.empty() && !has_model_variable()) {
    refuse("run_agent needs an API key in the environment variable OPENAI_API_KEY, or a server: --agent-url URL");
  }
  agent worker(chat_completions_client(executor, std::move(model)));
  worker.environment_tools()
      .instructions(about_network(chosen.place))
      .max_turns(chosen.agent.max_turns)
      .time_limit(std::chrono::hours(1));
  if (chosen.agent.token_budget) worker.token_budget(*chosen.agent.token_budget);
  if (!chosen.skills.empty()) worker.tool(tools::skills(chosen.skills));
  const std::string about =
      "Give a task to an agent: another model (" + one_line(chosen.agent.model, 100) +
      "), which works on it in the same workspace, with commands and files, and returns its result. Use it for large, "
      "separable work, such as reading many files.";
  tools::definition what("run_agent", about);
  what.title("Run agent").hints(false, true, false, true);
  server.add(tools::sub_agent("run_agent", about, worker), std::move(what));
}

/// Returns how long an environment of the pool may stay unused; zero for no limit. A sandbox of E2B ends after five
/// minutes without use.
std::chrono::milliseconds longest_wait(const mcp_options& chosen) {
  return chosen.place.provider == "e2b" ? std::chrono::seconds(150) : std::chrono::seconds(0);
}

/// Opens the listener for --http HOST:PORT, and prints how clients reach it.
/// \param where       HOST:PORT.
/// \param has_token   true if clients need a token. Without a token, only a loopback address is allowed.
/// \param made_token  the token that was generated for this run, which is printed; otherwise empty.
listener listen(const asio::any_io_executor& executor, const std::string& where, bool has_token,
                const std::string& made_token) {
  const std::size_t colon = where.rfind(':');
  std::string address = where.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  if (address == "localhost") address = "127.0.0.1";
  char* end = nullptr;
  const std::string port = colon == std::string::npos ? "" : where.substr(colon + 1);
  const unsigned long number = std::strtoul(port.c_str(), &end, 10);
  if (port.empty() || *end != '\0' || number > 65535) refuse("--http needs HOST:PORT, such as 127.0.0.1:8080");
  listener listening = tcp_listener(executor, address, static_cast<std::uint16_t>(number));
  if (!has_token && !listening.is_loopback())
    refuse(
        listening.name() +
        " is reachable from other machines, so a token is required; --no-token is allowed only for 127.0.0.1 and ::1");
  std::string notice = "listening on http://" + listening.name() + "/mcp\n";
  if (!made_token.empty())
    notice +=
        "clients must send this header; the token is valid for this run only (use --token-file FILE for a permanent "
        "one):\n" +
        ("Authorization: Bearer " + made_token) + "\n";
  if (!has_token)
    notice +=
        "no token: every user of this machine, and every program of theirs, can use this server with your rights\n";
  std::cerr << notice << std::flush;
  return listening;
}

/// Raises the limit on open descriptors to the maximum, because the environment of each client needs several.
void raise_open_files() {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return;
  descriptors.rlim_cur = descriptors.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
}

/// Serves the clients of standard input and output, or of HTTP.
/// \param made_token  as in `listen`.
awaitable<void> serve_clients(mcp::server& server, const mcp_options& chosen, const std::string& made_token) {
  if (chosen.http.empty()) {
    co_await server.serve_stdio();
  } else {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    listener where = listen(executor, chosen.http, !chosen.no_token, made_token);
    co_await server.serve(std::move(where));
  }
}

/// Reads the file of --tools.
/// \throws usage_error if a server has no "tools", because code could then call none of them.
std::vector<mcp::server_entry> read_tools(const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse("the file of --tools \"" + one_line(path) + "\" cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  std::vector<mcp::server_entry> entries = mcp::read_servers(text.str());
  for (const mcp::server_entry& each : entries)
    if (each.tools.empty())
      refuse("--tools: the server \"" + one_line(each.name, 100) +
             "\" lacks \"tools\": the names of the tools that code may call, or \"*\" for all of them");
  return entries;
}

/// Returns the names of servers for a message.
std::string names_of(const std::vector<mcp::server_entry>& entries) {
  std::string names;
  for (const mcp::server_entry& each : entries) names += (names.empty() ? "" : ", ") + one_line(each.name, 100);
  return names;
}

/// Serves the place that the options choose. The caller keeps the options until the end.
awaitable<void> serve_place(const mcp_options& chosen, mcp::server_options options, const std::string& made_token,
                            const mcp::toolbox& box) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  if (chosen.place.provider == "pyodide") {
    refuse_for_pyodide(chosen);
    const auto serves = [&](any_runner_provider provider) -> awaitable<void> {
      mcp::server server(executor, std::move(provider), std::move(options));
      server.offer(box);
      co_await serve_clients(server, chosen, made_token);
    };
    co_await serve_with_pool<any_runner_provider>(make_pyodide(chosen.place, chosen.guards), chosen.pool,
                                                  longest_wait(chosen), serves);
    co_return;
  }
  const auto serves = [&](any_provider provider) -> awaitable<void> {
    if (!chosen.allow.empty()) provider = any_provider(std::move(provider) | allow_commands(chosen.allow));
    mcp::server server(executor, std::move(provider), std::move(options));
    add_python(server, chosen, box);
    if (!chosen.skills.empty()) server.add(tools::skills(chosen.skills));
    add_agent(server, executor, chosen);
    co_await serve_clients(server, chosen, made_token);
  };
  co_await serve_with_pool<any_provider>(make_place(chosen.place, nullptr), chosen.pool, longest_wait(chosen), serves);
}

/// Serves the place, and runs the servers of --tools meanwhile.
awaitable<void> serve_with_tools(const mcp_options& chosen, mcp::server_options options,
                                 const std::string& made_token) {
  mcp::toolbox box;
  if (chosen.tools.empty()) {
    co_await serve_place(chosen, std::move(options), made_token, box);
    co_return;
  }
  if (!has_python(chosen)) refuse("--tools is for the code of run_python, which is switched off");
  std::vector<mcp::server_entry> entries = read_tools(chosen.tools);
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer slow(executor, std::chrono::seconds(3));
  slow.async_wait([names = names_of(entries)](const std::error_code& in_time) {
    if (!in_time) complain("still waiting for the MCP servers of --tools (" + names + "), for a minute at most");
  });
  const auto serves = [&](mcp::connected_servers& servers) -> awaitable<void> {
    co_await servers.offer(box);
    slow.cancel();
    co_await serve_place(chosen, std::move(options), made_token, box);
  };
  co_await mcp::with_servers(std::move(entries), serves);
}

int serve(const mcp_options& chosen) {
  asio::io_context loop(1);
  mcp::server_options options = make_options(chosen);
  std::string made_token;
  if (!chosen.http.empty() && options.tokens().empty() && !chosen.no_token) {
    made_token = random_text(40);
    options.token(made_token);
  }
  asio::cancellation_signal stop;
  stop_signals signals(loop);
  std::exception_ptr failure;
  const auto ended = [&](std::exception_ptr why) {
    failure = std::move(why);
    signals.cancel();
  };
  signals.start([&stop] { stop.emit(asio::cancellation_type::terminal); });
  asio::co_spawn(loop, serve_with_tools(chosen, std::move(options), made_token),
                 asio::bind_cancellation_slot(stop.slot(), ended));
  loop.run();
  if (failure && !(signals.has_stopped() && is_cancellation(failure))) std::rethrow_exception(failure);
  return 0;
}

}  // namespace

int run_mcp(const std::string& name, std::vector<std::string> words) {
  // On a terminal there is no host to serve, so the help is shown.
  if (words.empty() && ::isatty(STDIN_FILENO) == 1) words.push_back("--help");
  const std::optional<mcp_options> options = parse_mcp(name, std::move(words));
  if (!options) return 0;
  if (options->doctor) return examine(*options);
  become_undumpable();
  raise_open_files();
  return serve(*options);
}

}  // namespace program
