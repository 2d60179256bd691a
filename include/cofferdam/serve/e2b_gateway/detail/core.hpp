// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/allotment.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/sha256.hpp>
#include <cofferdam/serve/detail/tasks.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/arrival.hpp>
#include <cofferdam/serve/e2b_gateway/detail/opened.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>
#include <cofferdam/serve/e2b_gateway/detail/secrets.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>

#include <asio/any_io_executor.hpp>

#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

/// What the handlers of a gateway share: the sandboxes, and who may do what.
class gateway_core : public std::enable_shared_from_this<gateway_core> {
 public:
  using sandbox_pointer = std::shared_ptr<gateway_sandbox>;

  gateway_core(asio::any_io_executor executor, gateway_opener opener, e2b_gateway_options options)
      : executor_(executor),
        opener_(std::move(opener)),
        options_(std::move(options)),
        router_(options_.domain(), hosts_of(options_)),
        places_(std::make_shared<allotment>(executor, options_.sandboxes())),
        memory_(executor, options_.memory(), options_.message()),
        watches_(std::make_shared<joined_tasks>(executor)),
        closings_(std::make_shared<joined_tasks>(executor)) {
    for (const std::string& key : options_.api_keys()) keys_.push_back(sha256_of(key));
  }

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  const e2b_gateway_options& options() const noexcept { return options_; }
  const gateway_router& router() const noexcept { return router_; }
  const std::map<std::string, sandbox_pointer>& sandboxes() const noexcept { return sandboxes_; }

  /// Who speaks to the API: each key has sandboxes of its own. \throws gateway_refusal
  sha256_digest owner_of(const http_call& call) const {
    const std::string_view key = call.field("X-API-KEY").value_or(std::string_view());
    const sha256_digest digest = sha256_of(key);
    bool is_known = keys_.empty() && !key.empty();
    for (const sha256_digest& one : keys_)
      if (CRYPTO_memcmp(one.data(), digest.data(), one.size()) == 0) is_known = true;
    if (!is_known)
      throw gateway_refusal(401,
                            "Invalid API key, please visit https://e2b.dev/docs/api-key for more information.\n"
                            "Cannot get the team for the given API key");
    return digest;
  }

  /// The owner's sandbox. \param name  its id, or the old form with a client's behind it. \throws gateway_refusal
  sandbox_pointer find(std::string_view name, const sha256_digest& owner) const {
    const std::string id(name.substr(0, name.find('-')));
    const auto found = sandboxes_.find(id);
    if (found == sandboxes_.end() || found->second->settings().owner != owner)
      throw gateway_refusal(404, "Sandbox \"" + id + "\" doesn't exist or you don't have access to it");
    return found->second;
  }
  /// The sandbox that the data plane reaches: null where none of that id runs.
  sandbox_pointer running(const std::string& id) const {
    const auto found = sandboxes_.find(id);
    if (found == sandboxes_.end() || found->second->now() != gateway_sandbox::state::running) return nullptr;
    return found->second;
  }

  /// Opens an environment for a sandbox.
  /// \throws gateway_refusal where there are enough already; what the provider throws.
  static awaitable<sandbox_pointer> create(std::shared_ptr<gateway_core> self, gateway_sandbox_settings settings,
                                           std::chrono::seconds life) {
    const std::size_t most = self->options_.sandboxes();
    if (self->is_over_) throw gateway_refusal(503, "The gateway is being stopped");
    if (!self->places_->try_take(1))
      throw gateway_refusal(429, "you have reached the maximum number of concurrent E2B sandboxes (" +
                                     std::to_string(most) + "). If you need more, raise the gateway's limit");
    allotted place(*self->places_, 1);
    gateway_opened opened = co_await self->opener_();
    settings.id = gateway_sandbox_id();
    settings.number = ++self->made_;
    const bool cannot_pause = settings.pauses_at_end && !opened.pause();
    auto sandbox = std::make_shared<gateway_sandbox>(self->executor_, self->options_, std::move(settings),
                                                     std::move(opened), self->places_, std::move(place));
    if (self->is_over_ || cannot_pause) {
      self->close(sandbox);
      if (cannot_pause)
        throw gateway_refusal(400, "autoPause: what is behind this gateway cannot be paused; leave it out");
      throw gateway_refusal(503, "The gateway is being stopped");
    }
    sandbox->live(life);
    self->sandboxes_.emplace(sandbox->settings().id, sandbox);
    self->watches_->spawn(watch_over(self, sandbox));
    co_return sandbox;
  }

  /// Ends a sandbox: from here on nobody finds it. What it owns is closed beside, see `gateway_sandbox::until_closed`.
  void close(const sandbox_pointer& sandbox) {
    sandbox->end();
    sandboxes_.erase(sandbox->settings().id);
    closings_->spawn(gateway_sandbox::close(sandbox));
  }

  /// Ends everything; nothing is created any more. Not to be cancelled.
  static awaitable<void> close_all(std::shared_ptr<gateway_core> self) {
    self->is_over_ = true;
    while (!self->sandboxes_.empty()) {
      const sandbox_pointer first = self->sandboxes_.begin()->second;
      self->close(first);
    }
    self->watches_->cancel();
    co_await joined_tasks::join(self->watches_);
    co_await joined_tasks::join(self->closings_);
  }

  /// The body of a request that is held in memory, within the limits.
  /// \param owner  whose part of the memory it takes.
  /// \throws gateway_refusal 408, 503 where it is late; what `http_call::read_some` throws.
  static awaitable<gateway_body> read_body(std::shared_ptr<gateway_core> self, http_call& call, sha256_digest owner) {
    const std::size_t most = self->options_.message();
    call.body_limit(most);
    std::size_t units = most;
    if (const auto length = call.field("Content-Length"))
      units = std::min(most, gateway_number<std::size_t>(*length).value_or(most));
    gateway_body body;
    try {
      co_await gateway_in_time(self->executor_, self->options_.message_time(),
                               gateway_body::read(self->memory_, owner, units, call, body));
    } catch (const gateway_refusal&) {
      if (!body.is_waiting()) throw;
      throw gateway_refusal(503, "The gateway has no memory for another request; try again later");
    }
    co_return body;
  }

 private:
  static std::vector<std::string> hosts_of(const e2b_gateway_options& options) {
    std::vector<std::string> names;
    if (const auto& hosts = options.server().allowed_hosts()) {
      for (std::string one : *hosts) {
        if (!one.starts_with('[')) one = one.substr(0, one.find(':'));
        names.push_back(std::move(one));
      }
    }
    return names;
  }

  /// Ends it when its time has come.
  static awaitable<void> watch_over(std::shared_ptr<gateway_core> self, sandbox_pointer sandbox) {
    for (;;) {
      const bool is_due = co_await gateway_sandbox::until_end(sandbox);
      if (!is_due) co_return;
      bool is_paused = false;
      if (sandbox->settings().pauses_at_end) {
        try {
          is_paused = co_await gateway_sandbox::pause(sandbox);
        } catch (const error& failure) {
          if (failure.code() == errc::cancelled) throw;
        }
      }
      if (sandbox->now() == gateway_sandbox::state::ended) co_return;
      if (!is_paused && sandbox->now() == gateway_sandbox::state::running) {
        self->close(sandbox);
        co_return;
      }
    }
  }

  asio::any_io_executor executor_;
  gateway_opener opener_;
  e2b_gateway_options options_;
  gateway_router router_;
  std::shared_ptr<allotment> places_;  // its places are given back by sandboxes, which may live longer
  gateway_memory memory_;
  std::shared_ptr<joined_tasks> watches_;
  std::shared_ptr<joined_tasks> closings_;
  std::vector<sha256_digest> keys_;
  std::map<std::string, sandbox_pointer> sandboxes_;
  std::uint64_t made_ = 0;
  bool is_over_ = false;
};

}  // namespace cofferdam::inline v0::detail
