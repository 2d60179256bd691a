// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// What you will see: nothing, where a terminal is. Started by an MCP host (Claude Desktop, an IDE, any client) it is a
// safe place for that to run commands and Python. `cofferdam-mcp --help` is its manual.
#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/borrowed_environment.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/with_environment.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/mcp_server.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

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
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

using namespace cofferdam;

constexpr std::string_view manual =
    R"(cofferdam-mcp: a safe place to run commands and Python, for any MCP host.

    cofferdam-mcp [options]           serves the host that has started it, over standard input and output
    cofferdam-mcp --http HOST:PORT    serves streamable HTTP at http://HOST:PORT/mcp
    cofferdam-mcp doctor [options]    tells what this machine can enforce
    cofferdam-mcp --help              this text

A host's configuration: {"mcpServers": {"cofferdam": {"command": "cofferdam-mcp", "args": ["--provider", "docker"]}}}

WHERE THINGS RUN
  --provider NAME     local    folders of this machine, as your own user: no wall (the default)
                      docker   a container for each client: no network, a gigabyte of memory, read-only image
                      e2b      a cloud sandbox for each client; the key is taken from E2B_API_KEY
                      pyodide  Python in WebAssembly, by Deno; no commands and no files
  --image NAME        docker: the image (python:3.12-slim); e2b: the template
  --input DIR         upload_file copies from this directory into the environment; --output DIR: download_file copies to
                      this one. What is in neither is out of reach. Not for pyodide
  --workspace DIR     works in this directory instead of a new one, and leaves it there. All clients share it. local,
                      docker (where the daemon is on this machine), pyodide
  --memory SIZE       docker, pyodide: how much a client may use: 512m, 2g
  --network NAME      docker: none (the default), bridge, or a network of yours; e2b: none, or on (the default);
                      pyodide: a host that code may reach, perhaps with a port; may be given several times

WHAT MAY RUN
  --allow PATTERN     only commands that this regular expression matches as a whole, run without a shell; may be given
                      several times. There is no run_python then, unless --python says so and a pattern, such as
                      python3 (.|\n)*, lets it start: that is to allow everything.
  --python[=PROGRAM]  run_python by this interpreter (python3, on as it is); --no-python: without it
  --guards LIST       looks at Python before it runs: syntax, patterns, imports:NAME:NAME..., separated by commas. Advice
                      to the model, not a wall.
  --timeout SECONDS   of commands and Python that ask for no other (120); none may ask for more than an hour, or this

WHO IS SERVED
  --http HOST:PORT    an address of this machine, [::1]:PORT for IPv6; port 0: any. Beyond 127.0.0.1 and ::1 a token is demanded.
  --token-file FILE   a token a line (16 characters or more), or COFFERDAM_MCP_TOKEN: clients send Authorization: Bearer TOKEN.
                      Clients of different tokens never meet.
  --host NAME         another name that requests may have in their Host field; may be given several times
  --origin URL        a web page that may send requests; may be given several times

  --config FILE       JSON with the same names: {"provider": "docker", "allow": ["git .*"], "timeout": 60}. What the command
                      line says too, holds; lists are joined.

The tools: code_exec, start_command, read_output, signal_command, list_commands, read_file, write_file, list_files,
view_image, download_file, upload_file (with --input), run_python, create_python_context, close_python_context. Each
client's environment is made when a tool first needs it and removed when the client goes.
)";

struct settings {
  std::string provider = "local";
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
    refuse("\"" + one_line(text) + "\" is no size such as 512m or 2g");
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

/// One option, from the command line or a file.
void apply(settings& into, const std::string& name, const std::string& value) {
  if (name == "provider") {
    into.provider = value;
  } else if (name == "image") {
    into.image = value;
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
      refuse("--timeout is a number of seconds, from one to those of a week");
  } else if (name == "http") {
    into.http = value;
  } else if (name == "token-file") {
    into.token_file = value;
  } else if (name == "host") {
    into.hosts.push_back(value);
  } else if (name == "origin") {
    into.origins.push_back(value);
  } else {
    refuse("there is no option \"" + one_line(name) + "\"");
  }
}

std::string text_of(const boost::json::value& value, const std::string& name) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_int64()) return std::to_string(value.get_int64());
  refuse("\"" + one_line(name) + "\" in the configuration is neither text nor a number");
}

void read_config(settings& into, const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse("the configuration \"" + one_line(path) + "\" cannot be read");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  boost::json::error_code broken;
  const boost::json::value all = boost::json::parse(text, broken);
  if (broken || !all.is_object()) refuse("the configuration \"" + one_line(path) + "\" is no JSON object");
  for (const auto& each : all.get_object()) {
    const std::string name(each.key());
    if (name == "python" && each.value().is_bool()) {
      into.python_wanted = each.value().get_bool();
    } else if (name == "python") {
      into.python_wanted = true;
      into.python = text_of(each.value(), name);
    } else if (name == "guards" && each.value().is_array()) {
      for (const boost::json::value& one : each.value().get_array()) into.guards.push_back(text_of(one, name));
    } else if (each.value().is_array()) {
      for (const boost::json::value& one : each.value().get_array()) apply(into, name, text_of(one, name));
    } else {
      apply(into, name, text_of(each.value(), name));
    }
  }
}

settings parse(const std::vector<std::string>& words) {
  settings made;
  // The file first: what the command line says holds.
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "--config") read_config(made, words[i + 1]);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h") {
      made.help = true;
    } else if (word == "doctor") {
      made.doctor = true;
    } else if (word == "--python") {
      made.python_wanted = true;
    } else if (word.starts_with("--python=")) {
      made.python_wanted = true;
      made.python = word.substr(9);
    } else if (word == "--no-python") {
      made.python_wanted = false;
    } else if (word == "--stdio") {
      made.http.clear();
    } else if (!word.starts_with("--")) {
      refuse("\"" + one_line(word) + "\" is no option");
    } else {
      const std::size_t equals = word.find('=');
      std::string value;
      if (equals != std::string::npos) {
        value = word.substr(equals + 1);
      } else {
        if (++i == words.size()) refuse(word + " needs a value");
        value = words[i];
      }
      const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
      if (name != "config") apply(made, name, value);
    }
  }
  return made;
}

any_provider make_provider(const settings& wanted) {
  const std::string& name = wanted.provider;
  if (name == "local") {
    if (wanted.memory || !wanted.network.empty() || !wanted.image.empty())
      refuse("local has no --memory, --network or --image: it is no wall; docker is one");
    // The warning that it is none is for programs; who writes --provider has read it here.
    if (wanted.workspace.empty()) return any_provider(local().without_warning());
    return any_provider(local().without_warning().workspace(wanted.workspace));
  }
  if (name == "docker") {
    docker::container_options options;
    if (wanted.memory) options.memory(*wanted.memory);
    if (wanted.doctor) options.pull(docker::pull_policy::never);
    for (const std::string& one : wanted.network) options.network(one);
    if (!wanted.workspace.empty()) options.add(docker::mount::bind(wanted.workspace, "/workspace"));
    const std::string image = wanted.image.empty() ? "python:3.12-slim" : wanted.image;
    return any_provider(docker::from_image(image).options(std::move(options)));
  }
  if (name == "e2b") {
    if (wanted.memory || !wanted.workspace.empty()) refuse("e2b has no --memory and no --workspace");
    const std::string network = wanted.network.empty() ? "on" : wanted.network.back();
    if (network != "none" && network != "on") refuse("e2b: --network is none or on");
    auto recipe = wanted.image.empty() ? e2b::from_template() : e2b::from_template(wanted.image);
    if (network == "on") return any_provider(std::move(recipe));
    return any_provider(std::move(recipe).without_internet());
  }
  refuse("there is no provider \"" + one_line(name) + "\": local, docker, e2b, pyodide");
}

/// The guards around a recipe for a runner, the first one outermost.
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
      refuse("\"" + one_line(*at) + "\" is no guard: syntax, patterns, imports:json:csv");
    }
  }
  return recipe;
}

any_runner_provider make_pyodide(const settings& wanted) {
  if (!wanted.image.empty() || !wanted.allow.empty()) refuse("pyodide has no --image, and no commands to --allow");
  if (!wanted.input.empty() || !wanted.output.empty())
    refuse("pyodide has no --input and no --output: see --workspace");
  pyodide recipe;
  // What the setters return is the recipe itself.
  if (wanted.memory) static_cast<void>(std::move(recipe).memory_limit(*wanted.memory));
  for (const std::string& host : wanted.network)
    if (host != "none") static_cast<void>(std::move(recipe).allow_network(host));
  if (!wanted.workspace.empty()) static_cast<void>(std::move(recipe).allow_write(wanted.workspace, "/workspace"));
  return guarded(any_runner_provider(std::move(recipe)), wanted.guards);
}

mcp::server_options make_options(const settings& wanted) {
  mcp::server_options options;
  options.name("cofferdam", "Cofferdam: run commands and Python");
  const bool has_commands = wanted.provider != "pyodide";
  std::string words = "Tools for running code in one isolated workspace.";
  if (wanted.provider == "local") words = "Tools for running code on this machine, in a workspace of its own.";
  if (has_commands) {
    words +=
        " Files persist between calls; shells do not. Use run_python for calculations and plots, code_exec for "
        "everything "
        "else on the command line, start_command for what goes on beside, read_file and write_file for text files, "
        "view_image to look at pictures you made. Hand results to the user with download_file.";
  } else {
    words += " Variables persist between calls of run_python.";
    options.about_environment(
        "Runs in WebAssembly: no subprocesses, no sockets, no packages with native code but Pyodide's own.");
  }
  options.instructions(words);
  const bool offline = (wanted.provider == "docker" && (wanted.network.empty() || wanted.network.back() == "none")) ||
                       (wanted.provider == "e2b" && !wanted.network.empty() && wanted.network.back() == "none") ||
                       (wanted.provider == "pyodide" && wanted.network.empty());
  if (offline) options.open_world(false);
  if (offline && has_commands) options.about_environment("There is no internet access.");
  if (wanted.timeout) {
    const std::chrono::seconds usual(*wanted.timeout);
    options.command_time(usual).python_time(usual);
    if (usual > options.longest_time()) options.longest_time(usual);
  }
  options.has_files(!wanted.workspace.empty());
  options.input_folder(wanted.input).output_folder(wanted.output);
  for (const std::string& folder : {wanted.input, wanted.output})
    if (!folder.empty() && !std::filesystem::is_directory(folder))
      refuse("\"" + one_line(folder) + "\" is no directory");
  for (const std::string& one : wanted.hosts) options.host(one);
  for (const std::string& one : wanted.origins) options.origin(one);
  if (const char* const token = std::getenv("COFFERDAM_MCP_TOKEN"); token != nullptr && !wanted.http.empty()) {
    if (*token == '\0') refuse("COFFERDAM_MCP_TOKEN is set and empty");
    options.token(token);
  }
  if (!wanted.token_file.empty()) {
    std::ifstream file(wanted.token_file);
    if (!file) refuse("the token file \"" + one_line(wanted.token_file) + "\" cannot be read");
    bool has_token = false;
    for (std::string line; std::getline(file, line);) {
      if (line.empty()) continue;
      options.token(line);
      has_token = true;
    }
    if (!has_token) refuse("the token file \"" + one_line(wanted.token_file) + "\" holds no token");
  }
  options.on_error([](const std::string& doing, std::exception_ptr failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& wrong) {
      std::cerr << "cofferdam-mcp: " << one_line(doing) << ": " << one_line(wrong.what(), 1000) << '\n';
    }
  });
  return options;
}

std::unique_ptr<mcp::server> make_server(const asio::any_io_executor& executor, const settings& wanted) {
  mcp::server_options options = make_options(wanted);
  if (wanted.provider == "pyodide")
    return std::make_unique<mcp::server>(executor, make_pyodide(wanted), std::move(options));
  any_provider provider = make_provider(wanted);
  if (!wanted.allow.empty()) provider = any_provider(std::move(provider) | allow_commands(wanted.allow));
  auto made = std::make_unique<mcp::server>(executor, std::move(provider), std::move(options));
  if (!wanted.python_wanted.value_or(wanted.allow.empty())) return made;
  static_cast<void>(guarded(any_runner_provider(pyodide()), wanted.guards));  // says now what is wrong with them
  made->runner([program = wanted.python, guards = wanted.guards](any_environment& inside) {
    return guarded(any_runner_provider(borrowed<any_environment>(inside) | python().interpreter(program)), guards);
  });
  return made;
}

// ---- doctor ----
std::string without_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

awaitable<void> look_into(any_environment& there) {
  const command_result nothing = co_await there.run_command(shell("true"));
  if (!nothing.ok()) throw std::runtime_error("a command that does nothing failed: " + nothing.reason());
  for (std::size_t i = 0; i < protections::count; ++i) {
    const auto which = static_cast<protection>(i);
    std::cout << "    " << to_string(which) << ": " << nothing.walls().of(which) << "\n";
  }
  const command_result python = co_await there.run_command(shell("python3 --version 2>&1"));
  std::cout << "    run_python: " << (python.ok() ? "" : "no: ") << one_line(without_end(python.out().text()), 60)
            << "\n";
}

awaitable<void> examine(settings wanted, bool& works) {
  std::cout << wanted.provider << "\n" << std::flush;
  std::string why;
  try {
    if (wanted.provider == "pyodide") {
      any_runner runner = co_await make_pyodide(wanted).open();
      const code_result sum = co_await runner.run_code(code_request("6 * 7"));
      std::cout << "    run_python: 6 * 7 is " << sum.value_text() << "; files, network and system calls: WebAssembly, "
                << "and Deno without permissions\n";
      co_await runner.close();
    } else {
      co_await with_environment(make_provider(wanted), look_into);
    }
    works = true;
  } catch (const std::exception& wrong) {
    why = wrong.what();
  }
  if (why.empty()) co_return;
  std::cout << "    does not work here: " << one_line(why, 600) << "\n";
}

/// Tells what this machine can enforce. Whether the provider that was asked for works.
awaitable<bool> examine_all(settings wanted) {
  bool works = false;
  for (const char* const name : {"local", "docker", "pyodide"}) {
    settings one = name == wanted.provider ? wanted : settings();
    one.provider = name;
    one.doctor = true;
    bool mine = false;
    co_await examine(one, mine);
    if (name == wanted.provider) works = mine;
  }
  const char* const key = std::getenv("E2B_API_KEY");
  const bool has_key = key != nullptr && *key != '\0';
  std::cout << "e2b\n    "
            << (has_key ? "there is a key; not tried, since sandboxes cost money" : "E2B_API_KEY is not set") << "\n";
  co_return wanted.provider == "e2b" ? has_key : works;
}

listener listen(const asio::any_io_executor& executor, const std::string& where, bool has_token) {
  const std::size_t colon = where.rfind(':');
  std::string address = where.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  if (address == "localhost") address = "127.0.0.1";
  char* end = nullptr;
  const std::string port = colon == std::string::npos ? "" : where.substr(colon + 1);
  const unsigned long number = std::strtoul(port.c_str(), &end, 10);
  if (port.empty() || *end != '\0' || number > 65535) refuse("--http is HOST:PORT, such as 127.0.0.1:8080");
  listener made = tcp_listener(executor, address, static_cast<std::uint16_t>(number));
  if (!has_token && !made.is_loopback())
    refuse(made.name() + " can be reached from elsewhere: that needs --token-file or COFFERDAM_MCP_TOKEN");
  std::cerr << "listening on http://" + made.name() + "/mcp\n" << std::flush;
  return made;
}

int main(int count, char** arguments) {
  int status = 0;
  try {
    const settings wanted = parse(std::vector<std::string>(arguments + 1, arguments + count));
    if (wanted.help || (count == 1 && ::isatty(STDIN_FILENO) == 1)) {
      std::cout << manual;
      return 0;
    }
    // Each client's environment takes some descriptors.
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
      descriptors.rlim_cur = descriptors.rlim_max;
      ::setrlimit(RLIMIT_NOFILE, &descriptors);
    }
    asio::io_context loop(1);
    if (wanted.doctor) {
      bool works = false;
      asio::co_spawn(loop, examine_all(wanted), [&works](std::exception_ptr failure, bool found) {
        if (failure) std::rethrow_exception(failure);
        works = found;
      });
      loop.run();
      return works ? 0 : 1;
    }
    const std::unique_ptr<mcp::server> server = make_server(loop.get_executor(), wanted);
    const bool has_token = !wanted.token_file.empty() || std::getenv("COFFERDAM_MCP_TOKEN") != nullptr;
    asio::cancellation_signal stop;
    asio::signal_set signals(loop, SIGINT, SIGTERM);
    std::exception_ptr failure;
    bool stopped = false;
    const auto ended = [&](std::exception_ptr why) {
      failure = std::move(why);
      signals.cancel();
    };
    signals.async_wait([&](const std::error_code& cancelled, int) {
      if (cancelled) return;
      stopped = true;
      stop.emit(asio::cancellation_type::terminal);
    });
    if (wanted.http.empty()) {
      asio::co_spawn(loop, server->serve_stdio(), asio::bind_cancellation_slot(stop.slot(), ended));
    } else {
      asio::co_spawn(loop, server->serve(listen(loop.get_executor(), wanted.http, has_token)),
                     asio::bind_cancellation_slot(stop.slot(), ended));
    }
    loop.run();
    if (failure && !stopped) std::rethrow_exception(failure);
  } catch (const std::exception& wrong) {
    std::cerr << "cofferdam-mcp: " << wrong.what() << '\n';
    status = 1;
  }
  return status;
}
