// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/build_trace.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/image_name.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/progress_stream.hpp>
#include <cofferdam/backends/docker/detail/registry_login.hpp>
#include <cofferdam/backends/docker/detail/shared_round.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/os/child_processes.hpp>
#include <cofferdam/os/command_request.hpp>

#include <boost/json.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

using progress_function = std::function<void(const progress_event&)>;

/// The properties of an image that the daemon has, as far as this library needs them.
class image {
 public:
  explicit image(const boost::json::object& inspected) : id(text_at(inspected, "Id")) {
    architecture = text_at(inspected, "Architecture");
    if (const boost::json::object* const config = object_at(inspected, "Config")) {
      user = text_at(*config, "User");
      variables = texts_at(*config, "Env");
      if (const boost::json::object* const declared = object_at(*config, "Volumes"))
        for (const auto& [path, nothing] : *declared) volumes.emplace_back(path.data(), path.size());
    }
  }

  std::string id;
  std::string architecture;
  std::string user;
  std::vector<std::string> variables;
  std::vector<std::string> volumes;  ///< the paths that the image declares as VOLUME
};

/// Returns the properties of an image, or no value if the daemon does not have it.
inline awaitable<std::optional<image>> find_image(std::shared_ptr<engine> api, std::string name) {
  static const std::vector<int> absent{404};
  const api_call doing = api->call("inspect the image", name);
  http_request what = api->request("GET", "/images/" + cofferdam::detail::percent_encoded(name) + "/json");
  http_response answer = co_await api->ask(std::move(what), doing, absent);
  std::optional<image> found;
  if (answer.ok()) found.emplace(engine::object_of(answer, doing));
  co_return found;
}

/// Reads the response to a pull or a build to its end, and reports its events.
/// \param tell  called with each event. Empty means that no events are reported.
/// \return  the id of the new image; empty if the response does not contain it.
/// \throws  the error made by `stream_error` if the operation failed.
inline awaitable<std::string> follow_progress(cofferdam::detail::http_exchange answer, api_call doing,
                                              progress_function tell) {
  progress_stream report;
  build_trace trace;
  std::string id;
  std::array<std::byte, 16 * 1024> piece;
  for (;;) {
    std::size_t got = 0;
    try {
      got = co_await answer.read_some(piece);
    } catch (const error& reason) {
      throw engine::lost(reason, doing);
    }
    if (got == 0) break;
    report.feed(as_text(bytes_view(piece.data(), got)));
    while (const std::optional<progress_event> event = report.next()) {
      if (event->what() == progress_event::kind::trace) {
        const std::vector<progress_event> steps = trace.read(event->text());
        for (const progress_event& step : steps)
          if (tell) tell(step);
        continue;
      }
      if (tell) tell(*event);
      if (event->what() == progress_event::kind::failure) throw stream_error(event->text(), doing);
      if (event->what() == progress_event::kind::image) id = event->id();
    }
  }
  report.finish();
  co_return id;
}

/// Returns the credentials for a registry. Runs a credential helper program if Docker's configuration requires one.
inline awaitable<registry_credentials> login_for(asio::any_io_executor executor, host_view host, std::string registry) {
  const registry_login login = find_registry_login(host, registry);
  if (!login.needs_helper()) co_return login.credentials();
  command ask = argv(login.helper(), "get");
  ask.input(login.helper_input()).timeout(std::chrono::seconds(60)).keep_output(std::size_t{128} * 1024);
  spawn_request request = request_for(ask, "/bin/sh", host.settings());
  child_processes children(std::move(executor));
  command_result result = co_await children.run(std::move(ask), std::move(request));
  co_await children.close();
  if (result.kind() == error_kind::execution_error)
    co_return registry_credentials();  // the helper does not exist, so there are no credentials
  if (result.kind() == error_kind::timeout)
    throw error(exec_errc::provider_failed,
                "docker: " + login.helper() + " did not answer within a minute; it may be waiting for keyboard input");
  co_return read_helper_answer(login, result.exit_code(), result.out().text());
}

/// Returns time limits for transfers that may stall. A daemon that retries an interrupted download sends nothing for 75
/// seconds.
inline cofferdam::detail::http_limits patient() {
  return cofferdam::detail::http_limits().head(std::chrono::minutes(5)).idle(std::chrono::minutes(5));
}

inline awaitable<void> pull_image(std::shared_ptr<engine> api, image_name name, std::string platform, host_view host,
                                  progress_function tell) {
  const registry_credentials who = co_await login_for(api->executor(), host, name.registry());
  std::string path = "/images/create?fromImage=" + cofferdam::detail::percent_encoded(name.pull_from());
  if (!name.pull_tag().empty()) path += "&tag=" + cofferdam::detail::percent_encoded(name.pull_tag());
  if (!platform.empty()) path += "&platform=" + cofferdam::detail::percent_encoded(platform);
  const api_call doing = api->call("pull the image", name.text());
  http_request what = api->request("POST", path);
  what.field("X-Registry-Auth", who.header());
  cofferdam::detail::http_exchange answer = co_await api->stream(std::move(what), doing, patient());
  co_await follow_progress(std::move(answer), doing, std::move(tell));
}

/// Returns an image, and pulls it first if necessary. Of all coroutines of this process that need the image at the same
/// time, one pulls it.
/// \throws error{exec_errc::not_found} if the image does not exist in the registry, or does not exist in the daemon and
///     must not be pulled; the errors of `api_error` and `stream_error`; error{exec_errc::cancelled}.
inline awaitable<image> ensure_image(std::shared_ptr<engine> api, image_name name, container_options options,
                                     host_view host, progress_function tell) {
  const std::string text = name.text();
  bool pulled = false;
  for (;;) {
    if (options.pull() != pull_policy::always || pulled || name.is_id()) {
      std::optional<image> found = co_await find_image(api, text);
      if (found) co_return std::move(*found);
      if (options.pull() == pull_policy::never || name.is_id())
        throw error(exec_errc::not_found,
                    "docker: the daemon at " + api->address() + " has no image \"" + text +
                        "\", and it may not be pulled (see pull()); build or load the image first");
      if (pulled)
        throw error(
            exec_errc::not_found,
            "docker: the image \"" + text + "\" was pulled, but the daemon does not have it; it may have been removed");
    }
    shared_round::turn turn = co_await shared_round::join(
        "pull " + api->address() + " " + text + " " + options.platform(), "pulling an image");
    if (!turn.is_mine()) {
      pulled = turn.was_done();
      continue;
    }
    std::optional<error> failure;
    try {
      bool is_there = false;
      if (options.pull() != pull_policy::always) {  // another coroutine may have pulled the image after the first check
        const std::optional<image> now = co_await find_image(api, text);
        is_there = now.has_value();
      }
      if (!is_there) co_await pull_image(api, name, options.platform(), host, tell);
    } catch (const error& reason) {
      failure = reason;
    }
    if (failure) {
      turn.failed(*failure);
      throw *failure;
    }
    turn.done();
    pulled = true;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
