// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// A program that an MCP host starts (Claude Desktop, an IDE or another client). It runs the host's commands and Python
// code in an environment of your choice. Expected output on a terminal: the manual, as `cofferdam-mcp --help` prints
// it.
#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/provider_name.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/sandbox.hpp>
#include <cofferdam/serve/mcp_server.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace cofferdam;

constexpr std::string_view manual =
    R"(cofferdam-mcp: runs commands and Python for any MCP host, isolated by the provider that you choose.

  cofferdam-mcp [options]           serves the host that started it, over standard input and output
  cofferdam-mcp --http HOST:PORT    serves streamable HTTP at http://HOST:PORT/mcp, to clients with a token
  cofferdam-mcp doctor [options]    prints which isolation this machine can enforce
  cofferdam-mcp --help              prints this text

Configuration of a host: {"mcpServers": {"cofferdam": {"command": "cofferdam-mcp"}}}

WHERE COMMANDS RUN
  --provider NAME     jail     isolated by this machine's kernel: no network, a read-only system, no files of yours but
                               DIR; needs bubblewrap (the default)
                      local    folders of this machine, as your own user: no isolation
                      docker[:IMAGE]  a container for each environment: no network, a gigabyte of memory, read-only
                               image (python:3.12-slim)
                      e2b[:TEMPLATE]  a cloud sandbox for each environment; the key is read from E2B_API_KEY
                      pyodide  Python in WebAssembly, by Deno; no commands and no files
  --input DIR         the directory from which upload_file copies into the environment. Not for pyodide
  --output DIR        the directory to which download_file copies. Files outside of both directories are out of reach.
                      Not for pyodide
  --workspace DIR     uses this directory as the workspace instead of a new one, and keeps it. All clients share it. For
                      jail, local, docker (if the daemon is on this machine) and pyodide
  --memory SIZE       jail: the memory of all processes (of each, if control groups cannot be used); docker: of each
                      container; pyodide: the WebAssembly memory of each Python interpreter (its process may use 320m
                      more). Examples: 512m, 2g
  --network NAME      jail: none (the default), or host, the network of this machine with its own services; docker: none
                      (the default), bridge, or the name of a network; e2b: none, or on (the default); pyodide: a host
                      that code may reach, with or without a port; may be given several times

WHAT MAY RUN
  --allow PATTERN     only commands that this regular expression matches as a whole, run without a shell; may be given
                      several times. This switches run_python off. To keep it, add --python and a pattern that lets
                      Python start, such as python3 (.|\n)*; such a pattern allows everything.
  --python[=PROGRAM]  offers run_python with this interpreter (python3; on by default); --no-python: switches it off
  --guards LIST       checks Python code before it runs: syntax, patterns, imports:NAME:NAME..., separated by commas.
                      Guards advise the model; they do not isolate.
  --timeout SECONDS   the time limit of commands and Python code that request no other (120). The maximum request is an
                      hour, or SECONDS if that is more

WHO IS SERVED
  --http HOST:PORT    an address of this machine, [::1]:PORT for IPv6; port 0: any free port
  --token-file FILE   one token per line (at least 16 characters), or set COFFERDAM_MCP_TOKEN. Clients send
                      Authorization: Bearer TOKEN. Clients with different tokens are kept apart. If neither is set, a
                      token for this run is generated and printed.
  --no-token          serves every client that can connect: every user of this machine, and every program of theirs, can
                      then do what you can do with --provider. Only on 127.0.0.1 and ::1.
  --host NAME         another name that requests may have in their Host field; may be given several times
  --origin URL        a web page that may send requests; may be given several times

  --config FILE       JSON with the same names: {"provider": "docker", "allow": ["git .*"], "timeout": 60}. The command
                      line overrides the file; lists are joined.

Each client over stdio has its own environment, and so has each HTTP session of protocol versions up to 2025-11-25.
HTTP clients of 2026-07-28 have no sessions: all clients with the same token share one environment, unless they send the
header Cofferdam-Place: NAME (1 to 64 of A-Z a-z 0-9 . _ -). Each name of a token has its own environment. A name only
separates work; every client with the token can use every name. Give clients that do not trust each other different
tokens.

The tools: code_exec, start_command, read_output, signal_command, list_commands, read_file, write_file, list_files,
view_image, download_file, upload_file (with --input), run_python, create_python_context, close_python_context. An
environment is created when a tool first needs it. It is removed when its client over stdio disconnects or its session
ends; over HTTP also after 30 minutes without use, with or without a name.

The program is undumpable (PR_SET_DUMPABLE 0): other programs of your user, including commands of the provider local,
cannot read its memory and its keys, and cannot make it the kernel's first choice when memory is short. It leaves no
core dump, and only root can attach a debugger to it.

SIGTERM and ^C close all environments, and end the program within 10 seconds. If something could not be closed, the exit
status is 1 and the details are on standard error. A second signal ends the program at once.
)";

struct settings {
  std::string provider = "jail";
  std::string image;
  std::string workspace;
  std::string input;
  std::string output;
  std::optional<std::uint64_t> memory;
  std::vector<std::string> network;
  std::vector<std::string> allow;
  std::optional<bool> python_wanted;
  std::string python = "python3";
  std::vector<std::string> guards;
  std::optional<long> timeout;
  std::string http;
  std::string token_file;
  bool no_token = false;
  std::vector<std::string> hosts;
  std::vector<std::string> origins;
  bool doctor = false;
  bool help = false;
};

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why + "; see --help"); }

std::uint64_t parse_size(const std::string& text) {
  std::size_t end = 0;
  std::uint64_t number = 0;
  try {
    number = std::stoull(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = text.substr(end);
  unsigned shift = 64;
  if (unit.empty() || unit == "b") shift = 0;
  if (unit == "k" || unit == "K") shift = 10;
  if (unit == "m" || unit == "M") shift = 20;
  if (unit == "g" || unit == "G") shift = 30;
  if (end == 0 || text.front() == '-' || shift == 64 || number > (std::uint64_t{1} << (62 - shift)))
    refuse("\"" + one_line(text) + "\" is not a size such as 512m or 2g");
  return number << shift;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text) {
    if (c != at) {
      part += c;
    } else {
      parts.push_back(std::exchange(part, std::string()));
    }
  }
  parts.push_back(part);
  return parts;
}

/// Returns true if an option of this name exists and takes a value.
bool takes_value(std::string_view name) {
  for (const std::string_view known : {"provider", "workspace", "input", "output", "memory", "network", "allow",
                                       "guards", "timeout", "http", "token-file", "host", "origin", "config"})
    if (name == known) return true;
  return false;
}

/// Sets one option, which comes from the command line or from a configuration file.
void apply(settings& into, const std::string& name, const std::string& value) {
  if (name == "provider") {
    const provider_name parsed =
        provider_name::parse(value, {"jail", "local", "docker:IMAGE", "e2b:TEMPLATE", "pyodide"});
    into.provider = parsed.kind();
    into.image = parsed.value_or("");
  } else if (name == "workspace") {
    into.workspace = value;
  } else if (name == "input") {
    into.input = value;
  } else if (name == "output") {
    into.output = value;
  } else if (name == "memory") {
    into.memory = parse_size(value);
  } else if (name == "network") {
    into.network.push_back(value);
  } else if (name == "allow") {
    into.allow.push_back(value);
  } else if (name == "guards") {
    into.guards = split(value, ',');
  } else if (name == "timeout") {
    char* end = nullptr;
    into.timeout = std::strtol(value.c_str(), &end, 10);
    if (value.empty() || *end != '\0' || *into.timeout < 1 || *into.timeout > 7 * 24 * 3600)
      refuse("--timeout must be a number of seconds from 1 to 604800 (a week)");
  } else if (name == "http") {
    into.http = value;
  } else if (name == "token-file") {
    into.token_file = value;
  } else if (name == "host") {
    into.hosts.push_back(value);
  } else if (name == "origin") {
    into.origins.push_back(value);
  } else {
    refuse("unknown option \"" + one_line(name) + "\" in the configuration");
  }
}

std::string text_of(const boost::json::value& value, const std::string& name) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_int64()) return std::to_string(value.get_int64());
  refuse("\"" + one_line(name) + "\" in the configuration must be text or a number");
}

void read_config(settings& into, const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse("the configuration \"" + one_line(path) + "\" cannot be read");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  boost::system::error_code broken;
  const boost::json::value document = boost::json::parse(text, broken);
  if (broken || !document.is_object()) refuse("the configuration \"" + one_line(path) + "\" is not a JSON object");
  for (const auto& each : document.get_object()) {
    const std::string name(each.key());
    if (name == "python" && each.value().is_bool()) {
      into.python_wanted = each.value().get_bool();
    } else if (name == "no-token" && each.value().is_bool()) {
      into.no_token = each.value().get_bool();
    } else if (name == "python") {
      into.python_wanted = true;
      into.python = text_of(each.value(), name);
    } else if (name == "guards" && each.value().is_array()) {
      for (const boost::json::value& item : each.value().get_array()) into.guards.push_back(text_of(item, name));
    } else if (each.value().is_array()) {
      for (const boost::json::value& item : each.value().get_array()) apply(into, name, text_of(item, name));
    } else {
      apply(into, name, text_of(each.value(), name));
    }
  }
}

settings parse(const std::vector<std::string>& words) {
  settings parsed;
  // The file is read first, so that options on the command line replace its values.
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--config" && i + 1 < words.size()) read_config(parsed, words[i + 1]);
    if (words[i].starts_with("--config=")) read_config(parsed, words[i].substr(9));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h") {
      parsed.help = true;
    } else if (word == "doctor") {
      parsed.doctor = true;
    } else if (word == "--python") {
      parsed.python_wanted = true;
    } else if (word.starts_with("--python=")) {
      parsed.python_wanted = true;
      parsed.python = word.substr(9);
    } else if (word == "--no-python") {
      parsed.python_wanted = false;
    } else if (word == "--no-token") {
      parsed.no_token = true;
    } else if (word == "--stdio") {
      parsed.http.clear();
    } else if (!word.starts_with("--")) {
      refuse("\"" + one_line(word) + "\" is not an option");
    } else {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
      if (!takes_value(name)) refuse("unknown option \"--" + one_line(name) + "\"");
      std::string value;
      if (equals != std::string::npos) {
        value = word.substr(equals + 1);
      } else {
        if (++i == words.size()) refuse(word + " needs a value");
        value = words[i];
      }
      if (name != "config") apply(parsed, name, value);
    }
  }
  return parsed;
}

any_provider make_provider(const settings& chosen) {
  const std::string& name = chosen.provider;
  if (name == "jail") {
    jail recipe = sandbox();
    if (chosen.memory) recipe.memory(*chosen.memory);
    const std::string network = chosen.network.empty() ? "none" : chosen.network.back();
    if (network != "none" && network != "host") refuse("jail: --network is none or host");
    if (network == "host") recipe.network(network_policy::host);
    if (!chosen.workspace.empty()) recipe.workspace(chosen.workspace);
    return any_provider(std::move(recipe));
  }
  if (name == "local") {
    if (chosen.memory || !chosen.network.empty())
      refuse("local supports neither --memory nor --network, because it does not isolate; use jail or docker");
    // `local` warns that it does not isolate. The manual has already warned the user of --provider.
    if (chosen.workspace.empty()) return any_provider(local().without_warning());
    return any_provider(local().without_warning().workspace(chosen.workspace));
  }
  if (name == "docker") {
    docker::container_options options;
    if (chosen.memory) options.memory(*chosen.memory);
    if (chosen.doctor) options.pull(docker::pull_policy::never);
    for (const std::string& network_name : chosen.network) options.network(network_name);
    if (!chosen.workspace.empty()) options.add(docker::mount::bind(chosen.workspace, "/workspace"));
    const std::string image = chosen.image.empty() ? "python:3.12-slim" : chosen.image;
    return any_provider(docker::from_image(image).options(std::move(options)));
  }
  if (name == "e2b") {
    if (chosen.memory || !chosen.workspace.empty()) refuse("e2b supports neither --memory nor --workspace");
    const std::string network = chosen.network.empty() ? "on" : chosen.network.back();
    if (network != "none" && network != "on") refuse("e2b: --network must be none or on");
    auto recipe = chosen.image.empty() ? e2b::from_template() : e2b::from_template(chosen.image);
    if (network == "on") return any_provider(std::move(recipe));
    return any_provider(std::move(recipe).without_internet());
  }
  refuse("pyodide cannot run commands");
}

/// Wraps a provider of code runners in the given guards (layers that may refuse code). The first guard is outermost, so
/// it checks the code first.
any_runner_provider guarded(any_runner_provider recipe, const std::vector<std::string>& guards) {
  for (auto at = guards.rbegin(); at != guards.rend(); ++at) {
    const std::vector<std::string> parts = split(*at, ':');
    if (parts.front() == "syntax") {
      recipe = any_runner_provider(std::move(recipe) | check_syntax());
    } else if (parts.front() == "patterns") {
      recipe = any_runner_provider(std::move(recipe) | reject_patterns());
    } else if (parts.front() == "imports" && parts.size() > 1) {
      recipe = any_runner_provider(std::move(recipe) |
                                   allow_imports(std::vector<std::string>(parts.begin() + 1, parts.end())));
    } else {
      refuse("\"" + one_line(*at) + "\" is not a guard; use syntax, patterns or imports:NAME:NAME");
    }
  }
  return recipe;
}

any_runner_provider make_pyodide(const settings& chosen) {
  if (!chosen.allow.empty()) refuse("pyodide cannot run commands, so it does not support --allow");
  if (!chosen.input.empty() || !chosen.output.empty())
    refuse("pyodide supports neither --input nor --output; use --workspace");
  pyodide recipe;
  if (chosen.memory) recipe.memory_limit(*chosen.memory);
  for (const std::string& host : chosen.network)
    if (host != "none") recipe.allow_network(host);
  if (!chosen.workspace.empty()) recipe.allow_write(chosen.workspace, "/workspace");
  return guarded(any_runner_provider(std::move(recipe)), chosen.guards);
}

mcp::server_options make_options(const settings& chosen) {
  mcp::server_options options;
  options.name("cofferdam", "Cofferdam: run commands and Python");
  const bool has_commands = chosen.provider != "pyodide";
  if (!has_commands)
    options.about_environment(
        "Runs in WebAssembly: no subprocesses, no sockets, and no packages with native code except Pyodide's own.");
  const bool has_walls = chosen.provider == "jail" || chosen.provider == "docker";
  const bool offline = (has_walls && (chosen.network.empty() || chosen.network.back() == "none")) ||
                       (chosen.provider == "e2b" && !chosen.network.empty() && chosen.network.back() == "none") ||
                       (chosen.provider == "pyodide" && chosen.network.empty());
  if (offline) options.open_world(false);
  if (offline && has_commands) options.about_environment("There is no internet access.");
  if (chosen.timeout) {
    const std::chrono::seconds usual(*chosen.timeout);
    options.command_timeout(usual).python_timeout(usual);
    if (usual > options.max_timeout()) options.max_timeout(usual);
  }
  options.has_files(!chosen.workspace.empty());
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
  if (!chosen.token_file.empty()) {
    std::ifstream file(chosen.token_file);
    if (!file) refuse("the token file \"" + one_line(chosen.token_file) + "\" cannot be read");
    bool has_token = false;
    for (std::string line; std::getline(file, line);) {
      if (line.empty()) continue;
      options.token(line);
      has_token = true;
    }
    if (!has_token) refuse("the token file \"" + one_line(chosen.token_file) + "\" contains no token");
  }
  if (chosen.no_token && chosen.http.empty()) refuse("--no-token needs --http HOST:PORT; stdio uses no tokens");
  if (chosen.no_token && !options.tokens().empty())
    refuse("--no-token cannot be combined with --token-file or COFFERDAM_MCP_TOKEN");
  if (chosen.no_token) options.without_token();
  options.on_error([](const std::string& doing, std::exception_ptr failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& wrong) {
      std::cerr << "cofferdam-mcp: " << one_line(doing) << ": " << one_line(wrong.what(), 1000) << '\n';
    }
  });
  return options;
}

std::string new_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 40; ++i) token += "0123456789abcdef"[random() % 16];
  return token;
}

std::unique_ptr<mcp::server> make_server(const asio::any_io_executor& executor, const settings& chosen,
                                         mcp::server_options options) {
  if (chosen.provider == "pyodide")
    return std::make_unique<mcp::server>(executor, make_pyodide(chosen), std::move(options));
  any_provider provider = make_provider(chosen);
  if (!chosen.allow.empty()) provider = any_provider(std::move(provider) | allow_commands(chosen.allow));
  auto server = std::make_unique<mcp::server>(executor, std::move(provider), std::move(options));
  if (!chosen.python_wanted.value_or(chosen.allow.empty())) return server;
  static_cast<void>(guarded(any_runner_provider(pyodide()), chosen.guards));  // fails now if a guard is unknown
  server->runner([program = chosen.python, guards = chosen.guards](any_environment& inside) {
    return guarded(any_runner_provider(environment_ref<any_environment>(inside) | python().interpreter(program)),
                   guards);
  });
  return server;
}

// ---- doctor: the report of what this machine can enforce ----
std::string without_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

awaitable<void> look_into(any_environment& environment) {
  const command_result nothing = co_await environment.run_command(shell("true"));
  if (!nothing.ok()) throw std::runtime_error("the test command 'true' failed: " + nothing.reason());
  for (std::size_t i = 0; i < isolation_report::count; ++i) {
    const auto which = static_cast<isolation_kind>(i);
    std::cout << "    " << to_string(which) << ": " << nothing.isolation().of(which) << "\n";
  }
  const command_result python = co_await environment.run_command(shell("python3 --version 2>&1"));
  std::cout << "    run_python: " << (python.ok() ? "" : "no: ") << one_line(without_end(python.out().text()), 60)
            << "\n";
}

awaitable<void> examine(settings chosen, bool& works) {
  std::cout << chosen.provider << "\n" << std::flush;
  std::string why;
  try {
    if (chosen.provider == "pyodide") {
      any_runner runner = co_await make_pyodide(chosen).open();
      const code_result sum = co_await runner.run_code(code_request("6 * 7"));
      std::cout << "    run_python: 6 * 7 is " << sum.value_text() << "; files, network and system calls: WebAssembly, "
                << "and Deno without permissions\n";
      co_await runner.close();
    } else {
      co_await with(make_provider(chosen), look_into);
    }
    works = true;
  } catch (const std::exception& wrong) {
    why = wrong.what();
  }
  if (why.empty()) co_return;
  std::cout << "    does not work here: ";
  for (const std::string& line : split(why, '\n')) std::cout << one_line(line, 600) << "\n    ";
  std::cout << "\n";
}

/// Prints the isolation that this machine can enforce. Returns true if the selected provider works.
awaitable<bool> examine_all(settings chosen) {
  bool works = false;
  for (const char* const name : {"jail", "local", "docker", "pyodide"}) {
    settings probe = name == chosen.provider ? chosen : settings();
    probe.provider = name;
    probe.doctor = true;
    bool mine = false;
    co_await examine(probe, mine);
    if (name == chosen.provider) works = mine;
  }
  const char* const key = std::getenv("E2B_API_KEY");
  const bool has_key = key != nullptr && *key != '\0';
  std::cout << "e2b\n    "
            << (has_key ? "E2B_API_KEY is set; not tested, because sandboxes cost money" : "E2B_API_KEY is not set")
            << "\n";
  co_return chosen.provider == "e2b" ? has_key : works;
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

/// The longest time between a signal and the end of the program.
constexpr std::chrono::seconds max_end{9};

/// Ends the program at once. The kernel closes all connections, so clients see that their streams have ended.
[[noreturn]] void give_up(const char* why) {
  std::cerr << "cofferdam-mcp: " << why << std::endl;
  std::_Exit(1);
}

bool is_cancellation(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const error& reason) {
    return reason.code() == exec_errc::cancelled;
  } catch (const std::system_error& reason) {
    return reason.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

int main(int count, char** arguments) {
  int status = 0;
  try {
    const settings chosen = parse(std::vector<std::string>(arguments + 1, arguments + count));
    if (chosen.help || (count == 1 && ::isatty(STDIN_FILENO) == 1)) {
      std::cout << manual;
      return 0;
    }
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    // Raises the limit on open descriptors to the maximum, because the environment of each client needs several.
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
      descriptors.rlim_cur = descriptors.rlim_max;
      ::setrlimit(RLIMIT_NOFILE, &descriptors);
    }
    asio::io_context loop(1);
    if (chosen.doctor) {
      bool works = false;
      asio::co_spawn(loop, examine_all(chosen), [&works](std::exception_ptr failure, bool found) {
        if (failure) std::rethrow_exception(failure);
        works = found;
      });
      loop.run();
      return works ? 0 : 1;
    }
    mcp::server_options options = make_options(chosen);
    std::string made_token;
    if (!chosen.http.empty() && options.tokens().empty() && !chosen.no_token) {
      made_token = new_token();
      options.token(made_token);
    }
    const std::unique_ptr<mcp::server> server = make_server(loop.get_executor(), chosen, std::move(options));
    asio::cancellation_signal stop;
    asio::signal_set signals(loop, SIGINT, SIGTERM);
    asio::steady_timer last_moment(loop);
    std::exception_ptr failure;
    bool stopped = false;
    const auto ended = [&](std::exception_ptr why) {
      failure = std::move(why);
      signals.cancel();
      last_moment.cancel();
    };
    signals.async_wait([&](const std::error_code& cancelled, int) {
      if (cancelled) return;
      stopped = true;
      last_moment.expires_after(max_end);
      last_moment.async_wait([](const std::error_code& in_time) {
        if (!in_time) give_up("the open environments did not close in time");
      });
      signals.async_wait([](const std::error_code& none, int) {
        if (!none) give_up("stopped by a second signal before all environments were closed");
      });
      stop.emit(asio::cancellation_type::terminal);
    });
    if (chosen.http.empty()) {
      asio::co_spawn(loop, server->serve_stdio(), asio::bind_cancellation_slot(stop.slot(), ended));
    } else {
      asio::co_spawn(loop, server->serve(listen(loop.get_executor(), chosen.http, !chosen.no_token, made_token)),
                     asio::bind_cancellation_slot(stop.slot(), ended));
    }
    loop.run();
    if (failure && !(stopped && is_cancellation(failure))) std::rethrow_exception(failure);
  } catch (const std::exception& wrong) {
    std::cerr << "cofferdam-mcp: " << wrong.what() << '\n';
    status = 1;
  }
  return status;
}
