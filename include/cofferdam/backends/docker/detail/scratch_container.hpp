// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/create_request.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/remove_container.hpp>
#include <cofferdam/backends/docker/owner.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/os/random_text.hpp>

#include <asio/this_coro.hpp>

#include <boost/json.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::docker::detail {

/// A container that is made, never started, and removed: for its files, which the archive calls reach.
/// \param host_config  what it is to have mounted.
/// \param work         is given its id.
inline awaitable<void> with_scratch_container(std::shared_ptr<engine> api, std::string image, owner here,
                                              boost::json::object host_config,
                                              std::function<awaitable<void>(std::string)> work) {
  const std::string name = "cofferdam-" + cofferdam::detail::random_digits();
  boost::json::object body;
  boost::json::array entry;
  entry.emplace_back("/never-started");
  boost::json::object labels;
  labels[json_key(owner_label_key)] = json_text(owner_label(std::move(here), name).text());
  body["Image"] = json_text(image);
  body["Entrypoint"] = std::move(entry);
  body["Labels"] = std::move(labels);
  host_config["NetworkMode"] = "none";
  body["HostConfig"] = std::move(host_config);
  http_request what = api->request("POST", "/containers/create?name=" + name);
  what.content("application/json", boost::json::serialize(body));
  const api_call doing = api->call("create a container of the image", image);
  http_response answer;
  // Not cancelled: the daemon would make it all the same, and nobody would know.
  const auto create = [&]() -> awaitable<void> { answer = co_await api->ask(std::move(what), doing); };
  std::string id;
  std::exception_ptr failure;
  bool in_doubt = false;
  try {
    co_await cofferdam::detail::shielded(std::ref(create));
    const boost::json::object made = engine::object_of(answer, doing);
    id = text_at(made, "Id");
    if (id.empty()) throw error(errc::provider_failed, doing.failed() + ": the daemon's answer has no Id");
  } catch (const error& reason) {
    if (!leaves_in_doubt(reason)) throw;
    in_doubt = true;
    failure = std::current_exception();
  }
  try {
    if (!in_doubt) co_await work(id);
  } catch (...) {
    failure = std::current_exception();
  }
  const auto remove = [&] { return remove_container(api, in_doubt ? name : id, name, in_doubt); };
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  try {
    co_await cofferdam::detail::shielded(std::ref(remove));
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace cofferdam::inline v0::docker::detail
