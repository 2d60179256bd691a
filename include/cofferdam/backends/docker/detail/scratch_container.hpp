// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/create_request.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/backends/docker/detail/remove_container.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/os/random_text.hpp>

#include <boost/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Creates a container that is never started, calls `work`, and removes the container. The daemon's archive calls
/// (which read and write files as tar archives) also work on such a container.
/// \param host_config  the member HostConfig of the request; it may contain mounts.
/// \param work         called with the id of the container.
inline awaitable<void> with_scratch_container(std::shared_ptr<engine> api, std::string image, owner here,
                                              boost::json::object host_config,
                                              std::function<awaitable<void>(std::string)> work) {
  const std::string name = "cofferdam-" + cofferdam::detail::random_digits();
  boost::json::object body;
  boost::json::array entry;
  entry.emplace_back("/never-started");
  boost::json::object labels;
  labels[json_view(owner_label_key)] = json_text(owner_label(std::move(here), name).text());
  body["Image"] = json_text(image);
  body["Entrypoint"] = std::move(entry);
  body["Labels"] = std::move(labels);
  host_config["NetworkMode"] = "none";
  body["HostConfig"] = std::move(host_config);
  http_request what = api->request("POST", "/containers/create?name=" + name);
  what.content("application/json", boost::json::serialize(body));
  const api_call doing = api->call("create a container of the image", image);
  http_response answer;
  // The call is shielded from cancellation, because the daemon would create the container anyway, and its id would be
  // lost.
  const auto create = [&]() -> awaitable<void> { answer = co_await api->ask(std::move(what), doing); };
  std::string id;
  bool in_doubt = false;
  const auto creates_and_works = [&]() -> awaitable<void> {
    try {
      co_await cofferdam::detail::shielded(std::ref(create));
      const boost::json::object created = engine::object_of(answer, doing);
      id = text_at(created, "Id");
      if (id.empty()) throw error(exec_errc::provider_failed, doing.failed() + ": the daemon's answer has no Id");
    } catch (const error& reason) {
      in_doubt = leaves_in_doubt(reason);
      throw;
    }
    co_await work(id);
  };
  const auto removes = [&]() -> awaitable<void> {
    if (id.empty() && !in_doubt) return {};
    return remove_container(api, in_doubt ? name : id, name, in_doubt);
  };
  co_await cofferdam::detail::with_cleanup(creates_and_works, removes);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
