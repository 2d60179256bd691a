// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/serve/mcp/client_options.hpp>
#include <cofferdam/serve/mcp/toolbox.hpp>
#include <cofferdam/serve/mcp_client.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

class connected_servers;
struct server_entry;

namespace detail {
class open_server;
awaitable<void> use_servers(std::vector<server_entry> entries, std::function<awaitable<void>(connected_servers&)> body);
}  // namespace detail

/// A server of a configuration: a program of this machine, or a URL. An aggregate.
struct server_entry {
  std::string name;                                            ///< the name of the server for code
  std::vector<std::string> words;                              ///< the program and its arguments; empty for a URL
  std::vector<std::pair<std::string, std::string>> variables;  ///< the environment of the program
  std::string folder;                                          ///< the program's working directory; empty: a new one
  std::string url;                                             ///< empty for a program
  std::vector<std::pair<std::string, std::string>> headers;    ///< HTTP fields
  std::vector<std::string> tools;                              ///< the tools that code may call; "*" is every tool
  std::vector<std::string>
      approve;  ///< those of them that may change something and need no question; "*" is every tool
};

/// A callable that returns the value of an environment variable; no value if it is not set.
using variable_lookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads a configuration, as many hosts of MCP have it: `{"mcpServers": {"NAME": {...}}}`. A server is a program with
/// `command`, `args`, `env` and `cwd`, or a `url` with `headers`. Two further members are this library's: `tools`, a
/// list of the names of tools that code may call, or "*" for all; and `approve`, a list of those that may change
/// something and are permitted without a question, or "*".
///
/// In the texts of `command`, `args`, `env`, `cwd`, `url` and `headers`, `${NAME}` is replaced by an environment
/// variable of this program, and `${NAME:-text}` by the text if the variable is not set. Other members are ignored, and
/// so is a server with `"disabled": true`.
/// \param text      JSON.
/// \param variable  looks up the variables; by default those of this program.
/// \throws error{exec_errc::invalid_argument} if the text is not such a configuration, or a variable is not set. The
///     message has the name of the server and of the member.
std::vector<server_entry> read_servers(std::string_view text, variable_lookup variable = nullptr);

/// Running servers of a configuration, with a client for each. Programs run as this program's user, without a wall:
/// they get the environment variables of the configuration, PATH, and those that `local` always sets, and nothing else.
/// A program without `cwd` starts in a new folder, which is also its HOME: give paths of files as absolute paths, and
/// HOME in `env` if a program such as npx or uvx should find what it has downloaded before. They end with `close()`,
/// with the object, and with this program.
/// \par Threads  those of `mcp::client`.
class connected_servers {
 public:
  /// Makes an object without servers.
  connected_servers();
  connected_servers(connected_servers&&) noexcept;
  connected_servers& operator=(connected_servers&&) noexcept;
  ~connected_servers();

  /// Starts the programs and connects to all servers, at the same time.
  /// \param entries  the servers.
  /// \param options  the options of all clients. `headers` of an entry are added.
  /// \throws the errors of `client::start` and `client::connect`, with the name of the server. The other servers
  ///     are then ended.
  static awaitable<connected_servers> open(std::vector<server_entry> entries,
                                           client_options options = client_options());

  /// Returns the client of a server.
  /// \throws error{exec_errc::not_found} if there is no server of this name.
  client& find(std::string_view name);

  /// Offers the tools that the configuration names to code, and permits those that it approves.
  /// \param box  a toolbox without an approval of its own: this function sets one, which permits nothing for other
  ///             servers of the toolbox.
  /// \throws error{exec_errc::invalid_argument} if a server has no `tools`; error{exec_errc::not_found} if `approve`
  ///     names a tool that the server does not have; the errors of `toolbox::add`.
  awaitable<void> offer(toolbox& box);

  /// Ends all servers. Cannot be cancelled.
  awaitable<void> close();

 private:
  std::vector<std::unique_ptr<detail::open_server>> servers_;
};

/// Opens the servers of a configuration, runs `body(servers)`, and ends the servers in every case:
///
///     co_await mcp::with_servers(entries, [&](mcp::connected_servers& all) -> awaitable<void> { ... });
///
/// \param entries  the servers, as `read_servers` returns them.
/// \param body     a callable that takes a `connected_servers&` and returns an `awaitable<void>`; the caller keeps it
///                 until the awaitable completes. A lambda that captures by value must be a named object.
/// \throws         the exceptions of `connected_servers::open`, of the body and of `close()`.
/// \par Cancellation  a cancellation reaches `open()` and the body. It does not stop `close()`.
template <class Body>
awaitable<void> with_servers(std::vector<server_entry> entries, Body&& body) {
  cofferdam::detail::require_safe_callable<Body>();
  return detail::use_servers(std::move(entries), std::function<awaitable<void>(connected_servers&)>(std::ref(body)));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/serve/mcp/impl/servers.ipp>
#endif
