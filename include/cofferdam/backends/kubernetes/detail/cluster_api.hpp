// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/kubernetes/detail/api_client.hpp>
#include <cofferdam/backends/kubernetes/detail/api_error.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>
#include <cofferdam/backends/kubernetes/detail/exec_stream.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/sleep.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/websocket.hpp>
#include <cofferdam/detail/net/websocket_settings.hpp>
#include <cofferdam/net/http_message.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Waits for some time.
/// \throws error{exec_errc::cancelled}.
inline awaitable<void> wait_for(std::chrono::milliseconds time) {
  return cofferdam::detail::sleep_for(time, "kubernetes: cancelled");
}

/// Returns the time until `until`, and at least one millisecond, for limits that must not be zero.
inline std::chrono::milliseconds time_left(std::chrono::steady_clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return std::max(left, std::chrono::milliseconds(1));
}

/// The calls of the API server that an environment needs. All calls must be made on one executor, and several may be
/// under way at once.
class cluster_api {
 public:
  cluster_api(const asio::any_io_executor& executor, cluster_access access) : client_(executor, std::move(access)) {}

  const asio::any_io_executor& executor() const noexcept { return client_.executor(); }
  /// Returns the URL of the API server.
  std::string address() const { return client_.access().url(); }
  /// Returns the namespace of the pods.
  const std::string& space() const noexcept { return client_.access().namespace_name; }
  /// Returns the path of all objects of a kind in the namespace.
  std::string path(std::string_view kind, std::string_view group = "/api/v1") const {
    return std::string(group) + "/namespaces/" + cofferdam::detail::percent_encoded(space()) + "/" + std::string(kind);
  }
  /// Returns the path of a pod.
  std::string pod_path(std::string_view name) const {
    return path("pods") + "/" + cofferdam::detail::percent_encoded(name);
  }
  /// Returns the description of a pod for error messages.
  std::string shown(std::string_view pod) const {
    return "the pod \"" + one_line(pod, 120) + "\" in the namespace \"" + one_line(space(), 80) + "\"";
  }

  /// Sends a request and returns the response. A status below 300 and each status in `fine` is a success. If the server
  /// is too busy (status 429), the request is sent again after the time that the server names.
  /// \param doing  the purpose of the call, for error messages.
  /// \param body   a JSON object; empty for none. The method PATCH takes a JSON merge patch.
  /// \throws the error made by `api_error` for another status; error{exec_errc::provider_failed} if the connection
  ///     fails.
  awaitable<http_response> ask(std::string method, std::string path, std::string body, std::string doing,
                               std::vector<int> fine) {
    for (int attempt = 1;; ++attempt) {
      http_request what = request(method, path, body);
      http_response answer = co_await exchange(std::move(what), doing, cofferdam::detail::http_limits());
      if (is_fine(answer, fine)) co_return answer;
      const api_status status = api_status::read(static_cast<unsigned>(answer.status()), answer.text());
      if (!may_repeat(status) || attempt == max_attempts) throw refused(status, doing);
      const std::optional<std::string_view> field = answer.field("Retry-After");
      std::optional<std::chrono::seconds> pause = retry_after(field.value_or(std::string_view()));
      if (!pause) pause = status.retry_after();
      const std::chrono::seconds time =
          std::clamp(pause.value_or(std::chrono::seconds(1)), std::chrono::seconds(1), max_pause);
      co_await wait_for(time);
    }
  }

  /// Sends a request as `ask` does, but only once, and with short time limits: for work that must not delay the caller.
  /// \param limit  the time limit of each step: to connect, until the response begins, and between its pieces.
  awaitable<http_response> ask_once(std::string method, std::string path, std::string body, std::string doing,
                                    std::vector<int> fine, std::chrono::milliseconds limit) {
    http_request what = request(method, path, body);
    const cofferdam::detail::http_limits limits =
        cofferdam::detail::http_limits().connect(limit).head(limit).idle(limit);
    http_response answer = co_await exchange(std::move(what), doing, limits);
    if (is_fine(answer, fine)) co_return answer;
    throw refused(api_status::read(static_cast<unsigned>(answer.status()), answer.text()), doing);
  }

  /// Sends a GET request and returns the object in the response; no value if it does not exist.
  awaitable<std::optional<boost::json::object>> find(std::string path, std::string doing) {
    std::vector<int> fine{404};
    http_response answer = co_await ask("GET", std::move(path), std::string(), doing, std::move(fine));
    if (answer.status() == 404) co_return std::nullopt;
    co_return object_of(answer, doing);
  }

  /// Creates an object unless it exists. Another program may create it at the same time.
  /// \param path    the path of all objects of the kind.
  /// \param object  the caller keeps it until the awaitable completes.
  /// \return  the object, if it existed.
  awaitable<std::optional<boost::json::object>> ensure(std::string path, std::string name,
                                                       const boost::json::object& object, std::string doing) {
    const std::string at = path + "/" + cofferdam::detail::percent_encoded(name);
    std::optional<boost::json::object> found = co_await find(at, doing);
    if (found) co_return found;
    std::vector<int> fine{409};
    http_response answer = co_await ask("POST", path, boost::json::serialize(object), doing, std::move(fine));
    if (answer.status() == 409) found = co_await find(at, doing);
    co_return found;
  }

  /// Returns the object in a response.
  static boost::json::object object_of(const http_response& answer, const std::string& doing) {
    return cofferdam::detail::parse_object(answer.text(), exec_errc::provider_failed,
                                           "kubernetes: cannot " + doing + ": the answer of the API server");
  }

  /// Begins a watch. The caller reads the events from the returned object.
  awaitable<cofferdam::detail::http_exchange> watch(std::string path, std::chrono::milliseconds idle,
                                                    std::string doing) {
    http_request what = client_.make("GET", path);
    what.field("Accept", "application/json");
    cofferdam::detail::http_exchange answer;
    try {
      answer = co_await client_.send(std::move(what), cofferdam::detail::http_limits().idle(idle));
    } catch (const error& reason) {
      throw unreachable(reason, doing);
    }
    if (answer.status() >= 300) {
      const bytes body = co_await answer.read_all(max_error);
      throw refused(api_status::read(static_cast<unsigned>(answer.status()), as_text(body)), doing);
    }
    co_return answer;
  }

  /// Starts a program in a container of a pod by an exec.
  /// \param has_input  true to connect its standard input.
  awaitable<exec_stream> exec(std::string pod, std::string container, std::vector<std::string> words, bool has_input) {
    std::string query = "/exec?stdout=true&stderr=true";
    if (has_input) query += "&stdin=true";
    if (!container.empty()) query += "&container=" + cofferdam::detail::percent_encoded(container);
    for (const std::string& word : words) query += "&command=" + cofferdam::detail::percent_encoded(word);
    const std::string doing = "start a program in " + shown(pod);
    http_request what = client_.make("GET", pod_path(pod) + query);
    std::vector<std::string> protocols{"v5.channel.k8s.io", "v4.channel.k8s.io"};
    cofferdam::detail::websocket_settings settings;
    settings.peer(shown(pod));
    cofferdam::detail::websocket_opening opening;
    try {
      opening = co_await client_.open(std::move(what), std::move(protocols), std::move(settings));
    } catch (const error& reason) {
      throw unreachable(reason, doing);
    }
    if (!opening.opened())
      throw refused(api_status::read(static_cast<unsigned>(opening.answer().status()),
                                     opening.answer().text().substr(0, max_error)),
                    doing);
    co_return exec_stream(std::move(opening.socket()), shown(pod));
  }

  /// Closes all connections, except those of execs. Calls under way fail.
  awaitable<void> close() { return client_.close(); }

  /// Converts an exception of the HTTP client: a failed connection becomes error{exec_errc::provider_failed}.
  error unreachable(const error& reason, const std::string& doing) const {
    if (reason.code() != exec_errc::io_error) return reason;
    return error(exec_errc::provider_failed,
                 "kubernetes: cannot " + doing + ": " + address() + " cannot be reached: " + connection_text(reason),
                 reason.cause());
  }

 private:
  static constexpr int max_attempts = 6;
  static constexpr std::chrono::seconds max_pause{30};
  static constexpr std::size_t max_error = std::size_t{64} * 1024;

  http_request request(const std::string& method, const std::string& path, const std::string& body) {
    http_request what = client_.make(method, path);
    what.field("Accept", "application/json");
    const char* const type = method == "PATCH" ? "application/merge-patch+json" : "application/json";
    if (!body.empty()) what.content(type, body);
    return what;
  }

  /// Returns the error of `api_error`, without credentials that the server has repeated.
  error refused(const api_status& status, const std::string& doing) const {
    const error whole = api_error(status, doing);
    return error(static_cast<exec_errc>(whole.code().value()), client_.clean(whole.what()), whole.cause());
  }

  static bool is_fine(const http_response& answer, const std::vector<int>& fine) {
    return answer.status() < 300 || std::find(fine.begin(), fine.end(), answer.status()) != fine.end();
  }

  awaitable<http_response> exchange(http_request what, std::string doing, cofferdam::detail::http_limits limits) {
    try {
      http_response answer = co_await client_.request(std::move(what), limits);
      co_return answer;
    } catch (const error& reason) {
      throw unreachable(reason, doing);
    }
  }

  api_client client_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
