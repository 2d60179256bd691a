// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/api_error.hpp>
#include <cofferdam/backends/docker/detail/api_version.hpp>
#include <cofferdam/backends/docker/detail/daemon_location.hpp>
#include <cofferdam/backends/docker/detail/find_daemon.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/ssh_connector.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/tls_connector.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/tls.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

inline cofferdam::detail::connector connector_for(const daemon_location& where, const host_view& host) {
  switch (where.transport()) {
    case daemon_transport::unix_socket: return cofferdam::detail::unix_connector(where.path(), "docker");
    case daemon_transport::tcp: return cofferdam::detail::tcp_connector(where.host(), where.port());
    case daemon_transport::ssh: return ssh_connector(where, host);
    case daemon_transport::tls: break;
  }
  tls_settings settings;
  if (!where.tls().ca().empty()) settings.trust_file(where.tls().ca());
  if (!where.tls().certificate().empty()) settings.certificate_files(where.tls().certificate(), where.tls().key());
  if (!where.verifies()) settings.insecure_without_verification();
  return cofferdam::detail::tls_connector(where.host(), where.port(), settings);
}

/// A client of one daemon. It uses the API version on which it has agreed with the daemon. All calls must be made on
/// one executor, and many calls may be under way at once.
class engine {
 public:
  /// Connects to the first usable daemon among the addresses that `find_daemon` returns, and agrees with it on an API
  /// version.
  /// \throws error{exec_errc::provider_failed, permission_denied, unsupported} if there is no usable daemon. The
  ///     message contains the addresses that were tried, and advice.
  static awaitable<std::shared_ptr<engine>> connect(asio::any_io_executor executor, daemon_choice choice,
                                                    host_view host) {
    const daemon_search search = find_daemon(host, choice);
    std::optional<error> failure;
    for (const daemon_location& where : search.candidates()) {
      try {
        auto candidate = std::make_shared<engine>(executor, where, host);
        co_await candidate->meet(host.value("DOCKER_API_VERSION"));
        co_return candidate;
      } catch (const error& reason) {
        if (reason.code() == exec_errc::cancelled) throw;
        if (reason.code() != exec_errc::io_error) throw;
        failure = reason;
        const bool is_refused = reason.cause() == std::errc::connection_refused;
        if (reason.cause() && (where.transport() == daemon_transport::unix_socket || is_refused))
          failure = connect_error(reason.cause(), where.address(), search.tried());
        else
          failure = error(exec_errc::provider_failed, std::string("docker: ") + reason.what(), reason.cause());
      }
    }
    throw *failure;
  }

  engine(asio::any_io_executor executor, daemon_location where, const host_view& host)
      : where_(std::move(where)), executor_(executor), client_(std::move(executor), connector_for(where_, host)) {}

  const daemon_location& location() const noexcept { return where_; }
  std::string address() const { return where_.address(); }
  /// Returns a description of a container for error messages.
  std::string container(const std::string& name) const { return "the container " + name + " (" + address() + ")"; }
  engine_kind kind() const noexcept { return kind_; }
  /// Returns true if the daemon prefers BuildKit for builds, according to its response to `GET /_ping`.
  bool prefers_buildkit() const noexcept { return prefers_buildkit_; }
  const asio::any_io_executor& executor() const noexcept { return executor_; }

  /// Returns a description of a call for its error message.
  /// \param doing    the purpose of the call, such as `create the container`.
  /// \param subject  the name of the image or container; may be empty.
  api_call call(std::string doing, std::string subject = {}) const {
    return api_call(std::move(doing), std::move(subject), address());
  }

  /// Makes a request for a path, with the prefix of the agreed API version and the header fields of Docker's
  /// configuration (HttpHeaders).
  http_request request(std::string method, std::string_view path) const {
    http_request result(std::move(method), where_base() + version_.path_prefix() + std::string(path));
    for (const auto& [name, value] : where_.headers()) result.field(name, value);
    return result;
  }

  /// Sends a request and returns the response. A status below 300 and each status in `fine` is a success.
  /// \throws the error made by `api_error` for another status; error{exec_errc::provider_lost} if the connection fails.
  awaitable<http_response> ask(http_request what, api_call doing, std::vector<int> fine = {}) {
    http_response answer = co_await exchange(std::move(what), cofferdam::detail::http_limits(), doing);
    check(answer, doing, fine);
    co_return answer;
  }

  /// Sends a request as `ask` does, but with these time limits.
  awaitable<http_response> ask_within(http_request what, api_call doing, cofferdam::detail::http_limits limits,
                                      std::vector<int> fine) {
    http_response answer = co_await exchange(std::move(what), std::move(limits), doing);
    check(answer, doing, fine);
    co_return answer;
  }

  /// Sends a GET request, and returns the JSON object in the response.
  awaitable<boost::json::object> get(std::string path, api_call doing) {
    http_request what = request("GET", path);
    http_response answer = co_await ask(std::move(what), doing);
    co_return object_of(answer, doing);
  }

  static boost::json::object object_of(const http_response& answer, const api_call& doing) {
    return parse_object(answer.text(), exec_errc::provider_failed, doing.failed() + ": the daemon's answer");
  }

  /// Sends a request, and returns when the head of the response has arrived. The caller reads the body in pieces from
  /// the returned object.
  /// \throws the errors of `ask`.
  awaitable<cofferdam::detail::http_exchange> stream(http_request what, api_call doing,
                                                     cofferdam::detail::http_limits limits) {
    cofferdam::detail::http_exchange answer;
    try {
      answer = co_await client_.send(std::move(what), std::move(limits));
    } catch (const error& reason) {
      throw lost(reason, doing);
    }
    if (answer.status() >= 300) {
      const bytes body = co_await answer.read_all(max_error);
      throw api_error(static_cast<unsigned>(answer.status()), as_text(body), doing);
    }
    co_return answer;
  }

  /// Sends a request that turns the connection into a raw stream in both directions, and returns the stream.
  awaitable<byte_stream> upgrade(http_request what, api_call doing) {
    cofferdam::detail::http_upgrade answer;
    try {
      answer = co_await client_.upgrade(std::move(what));
    } catch (const error& reason) {
      throw lost(reason, doing);
    }
    if (!answer.upgraded())
      throw api_error(static_cast<unsigned>(answer.answer().status()), answer.answer().text(), doing);
    co_return std::move(answer.stream());
  }

  awaitable<void> close() { return client_.close(); }

  /// Converts an exception of the HTTP client: a failed connection becomes error{exec_errc::provider_lost}.
  static error lost(const error& reason, const api_call& doing) {
    if (reason.code() != exec_errc::io_error) return reason;
    return error(exec_errc::provider_lost, doing.failed() + ": " + reason.what(), reason.cause());
  }

 private:
  static constexpr std::size_t max_error = 64 * 1024;

  std::string where_base() const {
    const bool has_base = where_.transport() == daemon_transport::tcp || where_.transport() == daemon_transport::tls;
    return has_base ? where_.path() : std::string();
  }

  awaitable<http_response> exchange(http_request what, cofferdam::detail::http_limits limits, const api_call& doing) {
    try {
      http_response answer = co_await client_.request(std::move(what), std::move(limits));
      co_return answer;
    } catch (const error& reason) {
      throw lost(reason, doing);
    }
  }

  static void check(const http_response& answer, const api_call& doing, const std::vector<int>& fine) {
    if (answer.status() < 300) return;
    for (const int each : fine)
      if (answer.status() == each) return;
    throw api_error(static_cast<unsigned>(answer.status()), answer.text().substr(0, max_error), doing);
  }

  /// Pings the daemon, and agrees on the API version.
  awaitable<void> meet(std::string pinned_version) {
    http_request ping("GET", where_base() + "/_ping");
    for (const auto& [name, value] : where_.headers()) ping.field(name, value);
    http_response answer = co_await client_.request(std::move(ping));
    if (!answer.ok())
      throw api_error(static_cast<unsigned>(answer.status()), answer.text().substr(0, max_error),
                      call("ping the daemon"));
    ping_answer::header_list headers;
    for (const http_field& each : answer.head().fields) headers.emplace_back(each.name(), each.value());
    const ping_answer ping_result(headers);
    version_ = negotiate(ping_result, address(), pinned_version);
    kind_ = ping_result.kind();
    prefers_buildkit_ = ping_result.has_buildkit();
  }

  daemon_location where_;
  asio::any_io_executor executor_;
  cofferdam::detail::http_client client_;
  api_version version_ = oldest_api;
  engine_kind kind_ = engine_kind::docker;
  bool prefers_buildkit_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
