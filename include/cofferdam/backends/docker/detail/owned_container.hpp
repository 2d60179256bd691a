// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/remove_container.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/net/http_message.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// A container that this library creates, starts and removes, unlike an adopted container.
class owned_container {
 public:
  owned_container(std::shared_ptr<engine> api, std::string name) : api_(std::move(api)), name_(std::move(name)) {}
  owned_container(const owned_container&) = delete;
  owned_container& operator=(const owned_container&) = delete;

  /// Returns the container's id; empty before `create` and after `forget`.
  const std::string& id() const noexcept { return id_; }
  const std::string& name() const noexcept { return name_; }
  /// Returns true if the response to `create` was lost. The daemon may have created the container, but its id is
  /// unknown.
  bool in_doubt() const noexcept { return in_doubt_; }
  /// Returns true if the container exists or may exist, so that it must be removed.
  bool may_exist() const noexcept { return in_doubt_ || !id_.empty(); }

  /// Creates the container. The call is shielded from cancellation, because the daemon would create the container
  /// anyway, and its id would be lost.
  /// \param query  the query parameters of the request.
  /// \param body   the JSON body of the request.
  /// \param image  the id of the image, for error messages.
  static awaitable<void> create(std::shared_ptr<owned_container> self, std::string query, std::string body,
                                std::string image) {
    const auto creates = [&] { return send_create(self, query, body, image); };
    co_await cofferdam::detail::shielded(std::ref(creates));
  }

  /// Returns the standard streams of the container's first program. Call this before `start`, so that no output is
  /// missed.
  awaitable<byte_stream> attach() const {
    http_request request = api_->request("POST", "/containers/" + id_ + "/attach?stream=1&stdin=1&stdout=1&stderr=1");
    return api_->upgrade(std::move(request), api_->call("attach to the container", name_));
  }

  awaitable<void> start() const {
    http_request request = api_->request("POST", "/containers/" + id_ + "/start");
    const cofferdam::detail::http_limits limits = cofferdam::detail::http_limits().head(std::chrono::minutes(2));
    co_await api_->ask_within(std::move(request), api_->call("start the container", name_), limits, std::vector<int>());
  }

  /// Removes the container and ends everything that runs in it. `id()` stays unchanged.
  awaitable<void> remove() const { return remove_container(api_, in_doubt_ ? name_ : id_, name_, in_doubt_); }

  /// Clears the id after a removal, so that a container with the same name can be created again.
  void forget() noexcept { id_.clear(); }

 private:
  static awaitable<void> send_create(std::shared_ptr<owned_container> self, std::string query, std::string body,
                                     std::string image) {
    http_request request = self->api_->request("POST", "/containers/create?" + query);
    request.content("application/json", std::move(body));
    const api_call doing = self->api_->call("create a container of the image", std::move(image));
    self->in_doubt_ = true;
    http_response answer;
    try {
      answer = co_await self->api_->ask(std::move(request), doing);
    } catch (const error& reason) {
      self->in_doubt_ = leaves_in_doubt(reason);
      throw;
    }
    const boost::json::object created = engine::object_of(answer, doing);
    self->id_ = text_at(created, "Id");
    self->in_doubt_ = self->id_.empty();
    if (self->in_doubt_) throw error(exec_errc::provider_failed, doing.failed() + ": the daemon's answer has no Id");
  }

  std::shared_ptr<engine> api_;
  std::string name_;
  std::string id_;
  bool in_doubt_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
