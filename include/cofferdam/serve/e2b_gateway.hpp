// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway/detail/opened.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>

#include <asio/any_io_executor.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {
class http_server;
}  // namespace cofferdam::inline COFFERDAM_ABI::detail

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway {

namespace detail {
class sandbox_registry;
}  // namespace detail

/// A server with E2B's own API for any provider, so that unmodified official SDKs of E2B can use the provider's
/// environments as sandboxes.
///
///     e2b_gateway::server gateway(executor, local() | allow_commands(".*"), e2b_gateway::options());
///     co_await gateway.serve(tcp_listener(executor, "127.0.0.1", 3000));
///
/// Clients need the environment variables `E2B_API_URL` and `E2B_SANDBOX_URL`, both `http://127.0.0.1:3000`, and an
/// `E2B_API_KEY`. The control plane, which manages sandboxes, and the data plane of all sandboxes have the same address
/// in this gateway. Header fields or the host name of a request distinguish them (`e2b_gateway::options::domain`).
///
/// Each sandbox is an environment that the provider opens. The environment is closed when the sandbox is killed, when
/// its lifetime ends, and when `serve` ends. Clients see the environment's workspace as the home directory
/// `/home/user`. Files at other absolute paths are available if the environment reports that the files of the host are
/// isolated from its commands: commands in the environment read and change them. Otherwise they are refused, because
/// they would be files of the host. Directories are watched in the home only. A symbolic link in the home is followed
/// to where commands find its target.
///
/// Commands see the paths of the provider. With `docker::container_options().working_directory("/home/user")`,
/// `/home/user` is the same directory for files and commands. With `local` it is not: `/home/user` in a command is a
/// path of the host. Commands use `start`, and files in the home use the environment's own file operations, so every
/// layer (middleware) of the provider applies. A command may start in any directory that a command can change to. The
/// environment determines the user of commands: `user` and `root` are both accepted and ignored. Commands find the name
/// of their user in `USER` and `LOGNAME`.
///
/// The gateway supports create and connect (both `/sandboxes` and `/v2/sandboxes`), list, get, kill, timeout and
/// refreshes. A repeated creation with the same `Idempotency-Key` gets the same sandbox. Pause, resume, auto-resume and
/// snapshots need a `suspendable_environment`; forks also need `e2b_gateway::options::snapshots`. A sandbox that cannot
/// be paused keeps running. If its client wants it to be paused at the end of its lifetime, it is kept running for
/// `e2b_gateway::options::max_kept`, and the answers have a member `notice` that explains it. Processes have output,
/// input, signals, terminals and several listeners. Files have signed URLs, gzip and metadata. Directories are watched
/// by the environment; if it cannot do that, they are listed at intervals (`e2b_gateway::options::watch_interval`).
/// Services can be added on further ports (`e2b_gateway::options::port`), such as the code interpreter
/// (`e2b_gateway::code_interpreter`).
///
/// Network rules that do not hold already, volumes, templates, secrets and compressed messages are not supported. A
/// request for them is refused with an error. The lists of metrics and of log lines are empty. Unknown members of a
/// request, and null, false and empty values, are ignored.
///
/// An upload over an existing file is written in place by a shell in the sandbox, as by envd, E2B's daemon in a
/// sandbox. The file keeps its mode, its owner and its hard links, and symbolic links are followed. If
/// such an upload is incomplete, the file is incomplete. A new file is written completely or not at all, and so is any
/// file if no shell may run. The data of `X-Metadata-` fields is stored for the file, so it follows a file that
/// commands move; for that, the sandbox needs the program `stat`, otherwise such an upload is refused with status 501.
/// A sandbox may have 4 MiB of it: if there is more, that of files that have left the home is forgotten. The process
/// ids that clients see are assigned by the gateway; the system does not know them. If a listener of a process does not
/// read, the process has to wait.
///
/// \par Security  the provider determines the isolation. A listener that is not loopback needs an API key; TLS
///                (`tls_listener`) is optional. Requests for unknown host names get status 421; requests from foreign
///                web pages get status 403.
/// \par Lifetime  the server outlives its `serve` call.
/// \par Threads   one executor; if several threads run this executor, it must be a strand.
/// \par Cost      memory: `e2b_gateway::options::memory`, and a bounded buffer for each connection.
/// \par Source    E2B's API and envd's, as E2B's SDKs call them.
/// \par Example  examples/cofferdam/serve.cpp
class server {
 public:
  /// \param executor  the executor for all work of the server.
  /// \param provider  opens an environment for each sandbox; may have layers.
  /// \param options  the settings of the server.
  template <code_exec_provider Provider>
  server(asio::any_io_executor executor, Provider provider, e2b_gateway::options options = e2b_gateway::options())
      : executor_(executor),
        core_(make_core(
            executor, [provider = std::move(provider)] { return detail::open_environment<Provider>(provider); },
            std::move(options))) {}
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Adds a template with a provider of its own. Clients request it by its name. Sandboxes of all other templates
  /// (`e2b_gateway::options::templates`) use the provider of the constructor.
  ///
  ///     gateway.add_template("node", docker::from_image("node:22-slim"));
  ///
  /// \param name  the name without a tag: 1 to 128 letters, digits, `-`, `_`, `.` and `/`. Upper and lower case are the
  ///              same. A name that was added before gets the new provider.
  /// \param provider  opens an environment for each sandbox of the template; may have layers.
  /// \throws error{exec_errc::invalid_argument} for another name.
  template <code_exec_provider Provider>
  server& add_template(std::string name, Provider provider) {
    add_opener(std::move(name),
               [provider = std::move(provider)] { return detail::open_environment<Provider>(provider); });
    return *this;
  }

  /// Serves the clients of a listener until `stop` is called. Then closes all sandboxes. May be called once.
  /// \throws error{exec_errc::invalid_argument} before any request is served, if there is no API key and the listener
  ///     is not loopback, or if `serve` was called before.
  /// \throws the exceptions of closing environments, after everything has ended.
  /// \par Cancellation  terminal: cancels the requests, closes everything, and throws error{exec_errc::cancelled}. The
  ///                    closing itself cannot be cancelled.
  awaitable<void> serve(listener where);

  /// Ends `serve`: accepts no more requests, gives running requests the `stop_timeout` of the HTTP server to finish,
  /// and then cancels them.
  /// \throws error{exec_errc::invalid_argument} if `serve` was not called.
  awaitable<void> stop();

  /// Returns the number of sandboxes, including paused ones.
  std::size_t sandboxes() const noexcept;

 private:
  static std::shared_ptr<detail::sandbox_registry> make_core(asio::any_io_executor executor,
                                                             detail::environment_opener opener,
                                                             e2b_gateway::options options);
  void add_opener(std::string name, detail::environment_opener opener);
  static awaitable<void> serve_on(std::shared_ptr<cofferdam::detail::http_server> server,
                                  std::shared_ptr<detail::sandbox_registry> core);

  asio::any_io_executor executor_;
  std::shared_ptr<detail::sandbox_registry> core_;
  std::shared_ptr<cofferdam::detail::http_server> server_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/serve/impl/e2b_gateway.ipp>
#endif
