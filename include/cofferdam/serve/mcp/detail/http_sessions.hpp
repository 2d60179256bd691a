// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/event_stream.hpp>
#include <cofferdam/serve/mcp/detail/http_session.hpp>
#include <cofferdam/serve/mcp/detail/session.hpp>

#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The sessions of an HTTP endpoint: their limits, their idle time and their end.
class http_sessions : public std::enable_shared_from_this<http_sessions> {
 public:
  explicit http_sessions(std::shared_ptr<server_core> core)
      : core_(std::move(core)),
        work_(std::make_shared<tasks>(core_->executor())),
        closing_(std::make_shared<tasks>(core_->executor())) {}

  /// Returns the number of sessions of both eras.
  std::size_t size() const noexcept { return sessions_.size() + shared_.size(); }

  // ---- the legacy era: versions up to 2025-11-25 ----
  /// Makes a session for a token; null at the limit.
  /// \param owner  the index of the token.
  std::shared_ptr<http_session> add(std::size_t owner) {
    if (closed_ || !has_room_for(owner)) return nullptr;
    const std::string id = http_session::new_id();
    const auto client_session =
        std::make_shared<http_session>(session::make(core_, principal(owner) + " session " + id), id, owner);
    client_session->side = std::make_shared<event_stream>(core_->executor(), client_session->inside->unread,
                                                          http_session::new_id().substr(0, 16), true);
    client_session->inside->side = client_session->side;
    sessions_[id] = client_session;
    return client_session;
  }
  /// Returns the session with this id; null if it does not exist, or if it belongs to another token.
  std::shared_ptr<http_session> find(const std::string& id, std::size_t owner) const {
    const auto found = sessions_.find(id);
    if (found == sessions_.end() || found->second->owner != owner) return nullptr;
    found->second->used = std::chrono::steady_clock::now();
    return found->second;
  }
  /// Ends a session in the background. Requests do not find it any more.
  void remove(const std::shared_ptr<http_session>& client_session) {
    sessions_.erase(client_session->id);
    drop(client_session);
  }

  // ---- the modern era: version 2026-07-28 ----
  /// Returns the session of a token and a place name, which may be empty. Makes it if necessary; null at the limit.
  std::shared_ptr<http_session> shared(std::size_t owner, const std::string& name) {
    const auto found = shared_.find({owner, name});
    std::shared_ptr<http_session> client_session;
    if (found != shared_.end()) {
      client_session = found->second;
    } else {
      if (closed_ || (!name.empty() && !has_room_for(owner))) return nullptr;
      std::string who = principal(owner);
      if (!name.empty()) who += " place " + name;
      client_session = std::make_shared<http_session>(session::make(core_, std::move(who)), name, owner);
      shared_.emplace(std::pair(owner, name), client_session);
    }
    client_session->used = std::chrono::steady_clock::now();
    return client_session;
  }

  /// Ends idle sessions at regular intervals, until `close` is called.
  void start_sweeping() { work_->spawn(sweep(shared_from_this())); }

  /// Ends all sessions and their requests. Cannot be cancelled.
  static awaitable<void> close(std::shared_ptr<http_sessions> self) {
    self->closed_ = true;
    self->work_->cancel();
    std::vector<std::shared_ptr<http_session>> open_sessions;
    for (const auto& [id, client_session] : self->sessions_) open_sessions.push_back(client_session);
    for (const auto& [key, client_session] : self->shared_) open_sessions.push_back(client_session);
    self->sessions_.clear();
    self->shared_.clear();
    const auto closing = std::make_shared<tasks>(self->core_->executor());
    for (const auto& client_session : open_sessions) closing->spawn(end(client_session));
    co_await tasks::join(closing);
    co_await tasks::join(self->closing_);
    try {
      co_await tasks::join(self->work_);
    } catch (const std::exception&) {  // a failed sweep does not matter at the end
    }
  }

 private:
  /// Returns the name of a token, which binds sealed states to it.
  static std::string principal(std::size_t owner) { return "token " + std::to_string(owner); }

  /// Returns true if a token may have one more session. Each token has its own share of the limit.
  bool has_room_for(std::size_t owner) const {
    const std::size_t limit = core_->options().sessions();
    const std::size_t tokens = std::max<std::size_t>(core_->options().tokens().size(), 1);
    std::size_t total = sessions_.size();
    std::size_t mine = 0;
    for (const auto& [id, client_session] : sessions_)
      if (client_session->owner == owner) ++mine;
    for (const auto& [key, client_session] : shared_) {
      if (key.second.empty()) continue;
      ++total;
      if (client_session->owner == owner) ++mine;
    }
    return total < limit && mine < std::max<std::size_t>(limit / tokens, 1);
  }

  static awaitable<void> end(std::shared_ptr<http_session> client_session) {
    if (client_session->side) client_session->side->finish(std::nullopt);
    co_await session::close(client_session->inside);
  }
  /// Ends a session in the background. Failures are passed to the server's `on_error`.
  static awaitable<void> end_beside(std::shared_ptr<http_sessions> self, std::shared_ptr<http_session> client_session) {
    std::exception_ptr failure;
    try {
      co_await end(client_session);
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
    if (failure) self->core_->report("the end of a session", failure);
  }
  void drop(const std::shared_ptr<http_session>& client_session) {
    closing_->spawn(end_beside(shared_from_this(), client_session));
  }

  static awaitable<void> sweep(std::shared_ptr<http_sessions> self) {
    asio::steady_timer timer(self->core_->executor());
    const auto period = std::chrono::milliseconds(self->core_->options().session_timeout()) / 4;
    for (;;) {
      timer.expires_after(std::max(period, std::chrono::milliseconds(250)));
      co_await timer.async_wait(asio::use_awaitable);
      const auto since = std::chrono::steady_clock::now() - self->core_->options().session_timeout();
      self->end_idle(self->sessions_, since);
      self->end_idle(self->shared_, since);
    }
  }
  template <class Sessions>
  void end_idle(Sessions& sessions, std::chrono::steady_clock::time_point since) {
    for (auto at = sessions.begin(); at != sessions.end();) {
      if (at->second->is_idle(since)) {
        drop(at->second);
        at = sessions.erase(at);
      } else {
        ++at;
      }
    }
  }

  std::shared_ptr<server_core> core_;
  std::shared_ptr<tasks> work_;
  std::shared_ptr<tasks> closing_;
  std::map<std::string, std::shared_ptr<http_session>> sessions_;  // legacy; the key is the id
  std::map<std::pair<std::size_t, std::string>, std::shared_ptr<http_session>>
      shared_;  // modern; the key is a token's index and a place name
  bool closed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
