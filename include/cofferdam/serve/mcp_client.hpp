// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/serve/mcp/client_options.hpp>
#include <cofferdam/serve/mcp/remote.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

namespace detail {
class client_core;
}  // namespace detail

/// A connection to an MCP server, whose tools, resources and prompts this program uses.
///
///     mcp::client weather = co_await mcp::client::start(env, argv({"python3", "weather.py"}));
///     mcp::remote_answer answer = co_await weather.call("forecast", {{"city", "Oslo"}});
///     std::cout << answer.text();
///     co_await weather.close();
///
/// A server is a command of any environment, such as `local()`, or of a jail or a container, which then also are its
/// walls; or it is reached by HTTP. Versions 2024-11-05 to 2026-07-28 of the protocol are supported, and the streamable
/// HTTP of 2025-03-26 and later.
///
/// **Everything that a server sends is untrusted**: names, descriptions, schemas, hints and answers. The texts of
/// errors do not contain the secrets that the server got: the token, header fields, the URL's query. Answers can
/// contain them. A secret in another form, for example in base64, is not recognized.
///
/// At most 32 requests of the server are handled at the same time. Further ones are answered with an error, and if 64
/// answers wait until the server has read them, ignored.
///
/// Requests may be under way at the same time. If the server ends or the connection is lost, the requests under way and
/// all later ones fail with error{exec_errc::provider_lost}, whose text has the end of the server's error output. A
/// request is never repeated. The exception is a server by HTTP that has forgotten the session (status 404): it has not
/// executed the request, which is then sent once more in a new session.
///
/// \throws            the requests throw `server_error` if the server answers with an error;
///                    error{exec_errc::provider_lost} if the connection is lost, or the server violates the protocol;
///                    error{exec_errc::unavailable} if a time limit expires; error{exec_errc::permission_denied} if the
///                    server refuses the token; error{exec_errc::too_large} for an answer above the limit;
///                    error{exec_errc::environment_closed} after `close()`.
/// \par Cancellation  terminal: the server is notified that the request is cancelled, and the call throws
///                    error{exec_errc::cancelled}. The client can be used afterwards.
/// \par Lifetime      a request keeps what it uses alive, except the environment of `start`. The destructor does not
///                    wait: the server is ended, or its connection closed, without its consent. Requests under way
///                    fail with error{exec_errc::environment_closed}.
/// \par Threads       the executor of the coroutine that made the client. If several threads run this executor, it must
///                    be a strand.
/// \par Source        MCP, "Specification".
class client {
 public:
  /// Makes an object without a connection. Its requests throw error{exec_errc::environment_closed}.
  client();
  client(client&&) noexcept;
  client& operator=(client&&) noexcept;
  ~client();

  /// Starts a server as a command of an environment, and connects to it by its standard input and output. The command
  /// has no time limit. It ends with `close()`, with the client, or with the environment. Values of its environment
  /// variables that have at least 8 characters do not appear in the texts of errors.
  /// \param environment  outlives the client.
  /// \param server       the command, such as `argv({"npx", "-y", "some-server"})`.
  /// \param options      the handlers and limits; the token, headers and TLS settings have no effect.
  /// \throws error{exec_errc::provider_failed} if the command cannot be started, or ends before the handshake.
  template <streaming_environment E>
  static awaitable<client> start(E& environment, command server, client_options options = client_options()) {
    std::vector<std::string> secrets = values_of(server);
    process running = co_await environment.start(prepared(std::move(server)));
    client connected = co_await connect_process(std::move(running), std::move(secrets), std::move(options));
    co_return connected;
  }

  /// Connects to a server by streamable HTTP.
  /// \param url      such as `https://example.com/mcp`. A query is kept.
  /// \param options  the token, handlers and limits.
  /// \throws error{exec_errc::invalid_argument} for an invalid URL; error{exec_errc::provider_failed} if the server
  ///     cannot be reached, or is no MCP server.
  static awaitable<client> connect(std::string url, client_options options = client_options());

  /// Returns the name of the server, as the server states it; may be empty.
  const std::string& server_name() const;
  /// Returns the version of the server, as the server states it; may be empty.
  const std::string& server_version() const;
  /// Returns the server's instructions for a model; may be empty.
  const std::string& instructions() const;
  /// Returns the version of the protocol, such as "2025-11-25".
  const std::string& protocol_version() const;
  /// Returns the capabilities of the server in MCP's format, for example with a member `tools`.
  const boost::json::object& capabilities() const;

  /// Returns the tools of the server, in its order. Empty if the server has no tools.
  /// \throws error{exec_errc::too_large} for more than 10,000 tools.
  awaitable<std::vector<remote_tool>> tools();

  /// Calls a tool. A tool that fails is an answer with `is_error()`, not an exception.
  /// \param name         the name of the tool.
  /// \param arguments    the arguments; the server checks them.
  /// \param on_progress  receives the progress, if the server reports it.
  awaitable<remote_answer> call(std::string name, boost::json::object arguments,
                                progress_listener on_progress = nullptr);

  /// Returns the resources of the server. Empty if the server has no resources.
  awaitable<std::vector<remote_resource>> resources();
  /// Returns the templates of resources: URIs with variables in braces.
  awaitable<std::vector<remote_resource>> resource_templates();
  /// Reads a resource.
  /// \return the contents in MCP's format: objects with `uri`, `mimeType`, and `text` or `blob` (base64).
  awaitable<boost::json::array> read_resource(std::string uri);

  /// Returns the prompts of the server. Empty if the server has no prompts.
  awaitable<std::vector<remote_prompt>> prompts();
  /// Returns a prompt that is made from arguments.
  /// \param name       the name of the prompt.
  /// \param arguments  strings.
  /// \return           the result in MCP's format: `messages`, which are objects with `role` and `content`.
  awaitable<boost::json::object> prompt(std::string name, boost::json::object arguments = {});

  /// Sends any request, and returns its result. For methods that this class has no function for.
  awaitable<boost::json::object> request(std::string method, boost::json::object params = {});

  /// Ends the connection. A server that is a command gets the end of its input, SIGTERM 2 s later, and SIGKILL after
  /// another 2 s. A session of a server by HTTP is deleted. Requests under way fail. A second call does nothing. Cannot
  /// be cancelled.
  awaitable<void> close();

 private:
  explicit client(std::shared_ptr<detail::client_core> core) noexcept;
  static command prepared(command server);
  static std::vector<std::string> values_of(const command& server);
  static awaitable<client> connect_process(process running, std::vector<std::string> secrets, client_options options);
  detail::client_core& core() const;

  std::shared_ptr<detail::client_core> core_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/serve/impl/mcp_client.ipp>
#endif
