// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/api_error.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/in_time.hpp>
#include <cofferdam/detail/core/short_pause.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Returns true if a failed request to create a container may have created the container nevertheless, because the
/// connection was lost or the response could not be read. If the daemon has refused the request, there is no container.
inline bool leaves_in_doubt(const error& reason) {
  return reason.cause().category() != docker::detail::http_status_category();
}

/// Returns true if a removal failed because the container ended by itself while the daemon was about to kill it.
inline bool ended_meanwhile(const error& reason) {
  return !leaves_in_doubt(reason) && reason.cause().value() == 500 && holds(reason.what(), "is not running");
}

/// Requests the removal of a container. Sends the request up to three times if the connection is lost, and more often
/// if the container ends by itself at the same time.
/// \return  the HTTP status of the response.
inline awaitable<int> ask_to_remove(std::shared_ptr<engine> api, std::string path, api_call doing) {
  static const std::vector<int> gone{404, 409};
  int broken = 0;
  for (int ended = 0;;) {
    std::optional<error> failure;
    try {
      http_request what = api->request("DELETE", path);
      http_response answer = co_await api->ask(std::move(what), doing, gone);
      co_return answer.status();
    } catch (const error& reason) {
      failure = reason;
    }
    if (ended_meanwhile(*failure) && ++ended < 40) {
      co_await cofferdam::detail::short_pause(api->executor());
    } else if (failure->code() != exec_errc::provider_lost || !leaves_in_doubt(*failure) || ++broken == 3) {
      throw *failure;
    }
  }
}

/// Waits until the daemon has ended the removal of a container, which is in progress.
inline awaitable<void> await_removal(std::shared_ptr<engine> api, std::string path, api_call doing) {
  static const std::vector<int> gone{404};
  http_request wait = api->request("POST", path + "/wait?condition=removed");
  co_await api->ask(std::move(wait), std::move(doing), gone);
}

/// Removes a container, even a running one, and waits until the container does not exist any more. If another removal
/// is in progress, waits for its end for at most 1 s.
/// \param which     the container's id or name.
/// \param name      the container's name, for error messages.
/// \param in_doubt  true if the daemon may be about to create the container. The function then waits up to 3 s for it
///                  to appear.
inline awaitable<void> remove_container(std::shared_ptr<engine> api, std::string which, std::string name,
                                        bool in_doubt = false) {
  const std::string path = "/containers/" + cofferdam::detail::percent_encoded(which);
  const std::string removal = path + "?force=1&v=1";
  const api_call doing = api->call("remove the container", name);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(in_doubt ? 3 : 0);
  int status = co_await ask_to_remove(api, removal, doing);
  while (status == 404 && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 10; ++i) co_await cofferdam::detail::short_pause(api->executor());
    status = co_await ask_to_remove(api, removal, doing);
  }
  if (status != 409) co_return;  // status 409: another removal is in progress
  constexpr std::chrono::seconds limit(1);
  awaitable<void> ends = await_removal(api, path, api->call("wait for the removal of the container", name));
  co_await cofferdam::detail::arrived_in_time(api->executor(), limit, std::move(ends));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
