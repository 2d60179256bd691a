// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>
#include <cofferdam/backends/kubernetes/detail/credentials.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/websocket.hpp>
#include <cofferdam/net/http_message.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/object.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// A client of a cluster's API server. It adds the credentials to each request. If the server rejects them (status
/// 401) and they can be renewed, it renews them and sends the request once more.
/// \par Errors    those of `http_client`, `credential_source` and `open_websocket`. A response with an error status is
///                returned, not thrown.
/// \par Lifetime  destroy the object while no call is under way, or close it first. It cannot be moved.
/// \par Threads   one executor, on which the callers run, too.
class api_client {
 public:
  api_client(const asio::any_io_executor& executor, cluster_access access)
      : executor_(executor), access_(std::move(access)), source_(executor, access_) {}
  api_client(const api_client&) = delete;
  api_client& operator=(const api_client&) = delete;

  const cluster_access& access() const noexcept { return access_; }
  const asio::any_io_executor& executor() const noexcept { return executor_; }

  /// Makes a request for a path of the API, such as `/api/v1/namespaces/default/pods`.
  http_request make(std::string method, const std::string& path) const {
    return http_request(std::move(method), access_.base_path + path);
  }

  /// Sends a request and returns the whole response.
  awaitable<http_response> request(http_request what) {
    return request(std::move(what), cofferdam::detail::http_limits());
  }
  awaitable<http_response> request(http_request what, cofferdam::detail::http_limits limits) {
    for (bool again = false;; again = true) {
      http_request copy = what;
      const std::shared_ptr<cofferdam::detail::http_client> client = co_await prepare(copy);
      http_response answer = co_await client->request(std::move(copy), limits);
      if (!rejected(answer.status(), again)) co_return answer;
    }
  }

  /// Sends a request and returns the response as soon as its head has arrived: for watches and logs. Set
  /// `limits.idle(std::nullopt)` for a watch.
  awaitable<cofferdam::detail::http_exchange> send(http_request what, cofferdam::detail::http_limits limits) {
    for (bool again = false;; again = true) {
      http_request copy = what;
      const std::shared_ptr<cofferdam::detail::http_client> client = co_await prepare(copy);
      cofferdam::detail::http_exchange answer = co_await client->send(std::move(copy), limits);
      if (!rejected(answer.status(), again)) co_return answer;
    }
  }

  /// Opens a WebSocket, such as that of a pod's exec.
  awaitable<cofferdam::detail::websocket_opening> open(http_request what, std::vector<std::string> protocols,
                                                       cofferdam::detail::websocket_settings settings) {
    for (bool again = false;; again = true) {
      http_request copy = what;
      const std::shared_ptr<cofferdam::detail::http_client> client = co_await prepare(copy);
      cofferdam::detail::websocket_opening opening = co_await cofferdam::detail::open_websocket(
          *client, std::move(copy), protocols, settings, cofferdam::detail::http_limits());
      if (opening.opened() || !rejected(opening.answer().status(), again)) co_return opening;
    }
  }

  /// Returns a text without the credentials, which an answer may repeat.
  std::string clean(std::string_view text) const { return source_.clean(text); }

  /// Closes all connections, except those of WebSockets. Requests under way fail.
  awaitable<void> close() {
    const std::shared_ptr<cofferdam::detail::http_client> client = std::move(client_);
    if (client) co_await client->close();
  }

 private:
  /// Adds the credentials to a request, and returns the client for the connection that they need.
  awaitable<std::shared_ptr<cofferdam::detail::http_client>> prepare(http_request& what) {
    const kube_credentials credentials = co_await source_.current();
    credentials.apply(what, access_.user);
    // Copies of a secret share its text, so another address means another certificate.
    const bool same = client_ && credentials.certificate.reveal().data() == certificate_.reveal().data();
    if (!same) {
      client_ = std::make_shared<cofferdam::detail::http_client>(
          executor_, cluster_connector(access_, credentials.certificate, credentials.key));
      certificate_ = credentials.certificate;
    }
    co_return client_;
  }

  /// Returns true if the request must be sent again with new credentials.
  bool rejected(int status, bool again) {
    if (status != 401) return false;
    source_.reject();
    return !again && (access_.user.exec || !access_.user.token_file.empty());
  }

  asio::any_io_executor executor_;
  cluster_access access_;
  credential_source source_;
  std::shared_ptr<cofferdam::detail::http_client> client_;
  secret_string certificate_;
};

/// Returns the message of a `Status` object, in which the API server explains an error, or the body of another
/// response, in one line.
inline std::string status_message(const http_response& answer) {
  try {
    const boost::json::object status =
        cofferdam::detail::parse_object(answer.text(), exec_errc::provider_failed, "the answer");
    const std::string_view message = cofferdam::detail::text_at(status, "message");
    if (!message.empty()) return one_line(message, 500);
  } catch (const error&) {  // a proxy or an old server answers with plain text
  }
  return one_line(answer.text(), 500);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
