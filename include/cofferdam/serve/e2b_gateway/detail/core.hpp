// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/net/sha256.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/serve/detail/tasks.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/arrival.hpp>
#include <cofferdam/serve/e2b_gateway/detail/opened.hpp>
#include <cofferdam/serve/e2b_gateway/detail/repeated_creations.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>
#include <cofferdam/serve/e2b_gateway/detail/secrets.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>
#include <cofferdam/serve/e2b_gateway/detail/snapshots.hpp>
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

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The state that all handlers of a gateway share: the sandboxes, the API keys and the limits.
class sandbox_registry : public std::enable_shared_from_this<sandbox_registry> {
 public:
  using sandbox_pointer = std::shared_ptr<served_sandbox>;

  sandbox_registry(asio::any_io_executor executor, environment_opener opener, e2b_gateway::options options)
      : executor_(executor),
        opener_(std::move(opener)),
        options_(std::move(options)),
        router_(options_.domain(), hosts_of(options_)),
        creations_(executor),
        slots_(std::make_shared<cofferdam::detail::async_semaphore>(executor, options_.sandboxes())),
        memory_(executor, options_.memory(), options_.message()),
        watches_(std::make_shared<cofferdam::detail::joined_tasks>(executor)),
        closings_(std::make_shared<cofferdam::detail::joined_tasks>(executor)) {
    for (const std::string& key : options_.api_keys()) keys_.push_back(cofferdam::detail::sha256_of(key));
  }

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  const e2b_gateway::options& options() const noexcept { return options_; }
  const request_router& router() const noexcept { return router_; }
  const std::map<std::string, sandbox_pointer>& sandboxes() const noexcept { return sandboxes_; }

  /// Sets the port of the gateway's listener, which clients need for the default domain.
  void listens_on(std::uint16_t port) {
    domain_ = options_.domain();
    if (domain_ == "localhost" && port != 0) domain_ += ":" + std::to_string(port);
  }

  /// Adds a template that has an opener of its own.
  /// \throws error{exec_errc::invalid_argument} for a name that no client can request.
  void add_template(std::string name, environment_opener opener) {
    bool is_name = !name.empty() && name.size() <= 128;
    for (char& c : name) {
      c = cofferdam::detail::lowered(c);
      is_name =
          is_name && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '/');
    }
    if (!is_name)
      throw error(exec_errc::invalid_argument,
                  "e2b_gateway: the name of a template must have 1 to 128 letters, digits, -, _, . and /");
    templates_[std::move(name)] = std::move(opener);
  }
  /// Returns the template's own opener; null if it has none.
  const environment_opener* find_template(const std::string& name) const {
    const auto found = templates_.find(name);
    return found == templates_.end() ? nullptr : &found->second;
  }

  /// Returns the owner of an API request, which is the digest of its API key. Each key has its own sandboxes.
  /// \throws http_refusal 401 for an unknown key.
  cofferdam::detail::sha256_digest owner_of(const http_call& call) const {
    const std::string_view key = call.field("X-API-KEY").value_or(std::string_view());
    const cofferdam::detail::sha256_digest digest = cofferdam::detail::sha256_of(key);
    bool is_known = keys_.empty() && !key.empty();
    for (const cofferdam::detail::sha256_digest& key_digest : keys_)
      if (CRYPTO_memcmp(key_digest.data(), digest.data(), key_digest.size()) == 0) is_known = true;
    if (!is_known)
      throw http_refusal(401,
                         "Invalid API key, please visit https://e2b.dev/docs/api-key for more information.\n"
                         "Cannot get the team for the given API key");
    return digest;
  }

  /// Returns a sandbox of this owner.
  /// \param name  the id of the sandbox. In an old form, a dash and a client's id follow.
  /// \throws http_refusal 404 if the owner has no such sandbox.
  sandbox_pointer find(std::string_view name, const cofferdam::detail::sha256_digest& owner) const {
    const std::string id(name.substr(0, name.find('-')));
    const auto found = sandboxes_.find(id);
    if (found == sandboxes_.end() || found->second->settings().owner != owner)
      throw http_refusal(404, "Sandbox \"" + id + "\" doesn't exist or you don't have access to it");
    return found->second;
  }
  /// Returns the sandbox with this id for a request to the data plane (the API inside a sandbox); null if there is
  /// none. The sandbox is running, or it is paused and a request may resume it.
  sandbox_pointer reachable(const std::string& id) const {
    const auto found = sandboxes_.find(id);
    if (found == sandboxes_.end()) return nullptr;
    const served_sandbox::state now = found->second->now();
    const bool may_wake = now == served_sandbox::state::paused && found->second->settings().resumes_on_request;
    return now == served_sandbox::state::running || may_wake ? found->second : nullptr;
  }

  repeated_creations& creations() noexcept { return creations_; }
  snapshot_list& snapshots() noexcept { return snapshots_; }

  /// Opens an environment for a new sandbox.
  /// \param opener  opens the environment; the gateway's own provider if it is empty.
  /// \throws http_refusal if the limit is reached, or if the gateway is being stopped; the exceptions of the provider.
  static awaitable<sandbox_pointer> create(std::shared_ptr<sandbox_registry> self, sandbox_settings settings,
                                           environment_opener opener = environment_opener()) {
    const std::size_t max_sandboxes = self->options_.sandboxes();
    if (self->is_over_) throw http_refusal(503, "The gateway is being stopped");
    // Each key has a share of the limit, so that no key can use the share of another key.
    const std::size_t share = std::max<std::size_t>(max_sandboxes / std::max<std::size_t>(self->keys_.size(), 1), 1);
    const std::shared_ptr<cofferdam::detail::async_semaphore> part = self->share_of(settings.owner, share);
    if (!part->try_acquire(1)) throw too_many(share);
    cofferdam::detail::held_permits of_owner(*part, 1);
    if (!self->slots_->try_acquire(1)) throw too_many(max_sandboxes);
    auto slots = std::make_unique<owner_slots>(self->slots_, part, std::move(of_owner),
                                               cofferdam::detail::held_permits(*self->slots_, 1));
    if (!opener) opener = self->opener_;
    opened_environment opened = co_await opener();
    settings.id = sandbox_id_text();
    settings.number = ++self->made_;
    settings.domain = self->domain_;
    const std::chrono::seconds life = settings.life;
    auto sandbox = std::make_shared<served_sandbox>(self->executor_, self->options_, std::move(settings),
                                                    std::move(opened), std::move(slots));
    if (self->is_over_) {
      self->close(sandbox);
      throw http_refusal(503, "The gateway is being stopped");
    }
    sandbox->live(life);
    self->sandboxes_.emplace(sandbox->settings().id, sandbox);
    self->watches_->spawn(watch_over(self, sandbox));
    co_return sandbox;
  }

  /// Ends a sandbox. Requests do not find it any more. Its resources are closed in the background;
  /// `served_sandbox::until_closed` waits for that.
  void close(const sandbox_pointer& sandbox) {
    sandbox->end();
    sandboxes_.erase(sandbox->settings().id);
    closings_->spawn(served_sandbox::close(sandbox));
  }

  /// Ends all sandboxes and waits until they are closed. No sandbox can be created afterwards. Must not be cancelled.
  static awaitable<void> close_all(std::shared_ptr<sandbox_registry> self) {
    self->is_over_ = true;
    while (!self->sandboxes_.empty()) {
      const sandbox_pointer first = self->sandboxes_.begin()->second;
      self->close(first);
    }
    self->watches_->cancel();
    co_await cofferdam::detail::joined_tasks::join(self->watches_);
    co_await cofferdam::detail::joined_tasks::join(self->closings_);
  }

  /// Reads the body of a request into memory, within the limits of size, memory and time.
  /// \param owner  the digest of the API key whose share of the memory is used.
  /// \throws http_refusal 408 or 503 after the time limit; the exceptions of `http_call::read_some`.
  static awaitable<cofferdam::detail::request_body> read_body(std::shared_ptr<sandbox_registry> self, http_call& call,
                                                              cofferdam::detail::sha256_digest owner) {
    const std::size_t max_bytes = self->options_.message();
    call.body_limit(max_bytes);
    std::size_t units = max_bytes;
    if (const auto length = call.field("Content-Length"))
      units = std::min(max_bytes, number_from<std::size_t>(*length).value_or(max_bytes));
    cofferdam::detail::request_body body;
    try {
      co_await in_time(self->executor_, self->options_.message_timeout(),
                       cofferdam::detail::request_body::read(self->memory_, owner, units, call, body));
    } catch (const http_refusal&) {
      if (!body.is_waiting()) throw;
      throw http_refusal(503, "The gateway has no memory for another request; try again later");
    }
    co_return body;
  }

 private:
  static std::vector<std::string> hosts_of(const e2b_gateway::options& options) {
    std::vector<std::string> names;
    if (const auto& hosts = options.server().allowed_hosts()) {
      for (std::string host : *hosts) {
        if (!host.starts_with('[')) host = host.substr(0, host.find(':'));
        names.push_back(std::move(host));
      }
    }
    return names;
  }

  static http_refusal too_many(std::size_t limit) {
    return {429, "you have reached the maximum number of concurrent E2B sandboxes (" + std::to_string(limit) +
                     "). If you need more, raise the gateway's limit: cofferdam serve --limit"};
  }

  std::shared_ptr<cofferdam::detail::async_semaphore> share_of(const cofferdam::detail::sha256_digest& owner,
                                                               std::size_t permits) {
    std::erase_if(shares_, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<cofferdam::detail::async_semaphore> share = shares_[owner].lock();
    if (!share) share = std::make_shared<cofferdam::detail::async_semaphore>(executor_, permits);
    shares_[owner] = share;
    return share;
  }

  /// Pauses, keeps or ends the sandbox at the end of its lifetime.
  static awaitable<void> watch_over(std::shared_ptr<sandbox_registry> self, sandbox_pointer sandbox) {
    for (;;) {
      const bool is_due = co_await served_sandbox::until_end(sandbox);
      if (!is_due) co_return;
      bool is_left = false;
      if (sandbox->settings().pauses_at_end && !sandbox->can_pause()) {
        is_left = sandbox->keep(self->options_.max_kept());
      } else if (sandbox->settings().pauses_at_end) {
        try {
          is_left = co_await served_sandbox::pause(sandbox);
        } catch (const error& failure) {
          if (failure.code() == exec_errc::cancelled) throw;
        }
      }
      if (sandbox->now() == served_sandbox::state::ended) co_return;
      if (!is_left && sandbox->now() == served_sandbox::state::running) {
        self->close(sandbox);
        co_return;
      }
    }
  }

  asio::any_io_executor executor_;
  environment_opener opener_;
  e2b_gateway::options options_;
  request_router router_;
  std::string domain_ = options_.domain();
  repeated_creations creations_;
  snapshot_list snapshots_;
  std::shared_ptr<cofferdam::detail::async_semaphore>
      slots_;  // shared, because a sandbox returns its slot and may outlive this object
  std::map<cofferdam::detail::sha256_digest, std::weak_ptr<cofferdam::detail::async_semaphore>>
      shares_;  // one semaphore for each owner that has sandboxes
  memory_budget memory_;
  std::shared_ptr<cofferdam::detail::joined_tasks> watches_;
  std::shared_ptr<cofferdam::detail::joined_tasks> closings_;
  std::vector<cofferdam::detail::sha256_digest> keys_;
  std::map<std::string, environment_opener> templates_;  // those with a provider of their own
  std::map<std::string, sandbox_pointer> sandboxes_;
  std::uint64_t made_ = 0;
  bool is_over_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
