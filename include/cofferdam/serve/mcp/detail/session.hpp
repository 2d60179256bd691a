// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/serve/mcp/detail/dispatch.hpp>
#include <cofferdam/serve/mcp/detail/session_state.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The uniqueness of request ids in a session. They are unique if the session has one client. They are not unique if
/// several clients share the session, as in HTTP of the modern era (2026-07-28), where clients with the same token and
/// place name share a session.
enum class request_ids { of_one_client, of_many_clients };

/// A session with one client, or with several clients that share a token. It accepts messages, and runs each request in
/// its own coroutine.
class session : public session_state, public std::enable_shared_from_this<session> {
 public:
  session(std::shared_ptr<server_core> its_core, std::shared_ptr<workspace> its_place, std::string its_principal)
      : session_state(std::move(its_core), std::move(its_place), std::move(its_principal)),
        none_left_(core->executor()) {}

  /// \param principal  identifies the client. A client may send back a sealed state (`sealed_states`) only in a session
  ///                   with the same principal.
  static std::shared_ptr<session> make(const std::shared_ptr<server_core>& core, std::string principal) {
    auto result = std::make_shared<session>(core, std::make_shared<workspace>(core->executor(), core->plan),
                                            std::move(principal));
    core->listen(result);
    return result;
  }
  /// Makes the session of a client that is identified only by its connection.
  static std::shared_ptr<session> make(const std::shared_ptr<server_core>& core) {
    return make(core, "connection " + cofferdam::detail::random_name(22));
  }

  /// Accepts a message. The answer to a request is sent to `out`, now or later; other messages have no answer.
  /// \return the request if it is still running; otherwise null.
  std::shared_ptr<request> receive(rpc_message message, const std::shared_ptr<outlet>& out,
                                   request_ids ids = request_ids::of_one_client) {
    if (message.kind == rpc_kind::response) {
      asked->take(message);
      return nullptr;
    }
    if (message.kind == rpc_kind::notification) {
      if (message.method == "notifications/cancelled" && ids == request_ids::of_one_client) cancel(message);
      return nullptr;
    }
    auto pending = std::make_shared<request>(std::move(message));
    pending->out = out;
    pending->asked = asked;
    pending->place = place;
    pending->executor = core->executor();
    if (std::optional<reply> wrong = admit(*pending, ids)) {
      out->finish(std::move(wrong));
      return nullptr;
    }
    try {
      if (std::optional<reply> now = dispatch::answer_now(*this, *pending)) {
        out->finish(kept(*pending, std::move(now)));
        return nullptr;
      }
    } catch (const failure& wrong) {
      out->finish(reply(rpc_error(pending->id, wrong.code(), wrong.what(), wrong.data())));
      return nullptr;
    }
    const std::string key = ids == request_ids::of_one_client ? pending->id : "#" + std::to_string(++last_);
    running_[key] = pending;
    bytes_ += pending->message.size;
    auto done = [self = shared_from_this(), pending, key](const std::exception_ptr&, std::optional<reply> last) {
      pending->ended = true;
      self->running_.erase(key);
      self->bytes_ -= pending->message.size;
      // The connection may keep the request until the answer is sent, so the memory of its parameters is released now.
      boost::json::object().swap(pending->message.params);
      pending->out->finish(pending->cancelled ? std::nullopt : self->kept(*pending, std::move(last)));
      if (self->running_.empty()) self->none_left_.notify();
    };
    asio::co_spawn(core->executor(), work(shared_from_this(), pending),
                   asio::bind_cancellation_slot(pending->cancel.slot(), std::move(done)));
    return pending;
  }

  static void cancel(const std::shared_ptr<request>& pending) {
    if (pending->ended || pending->cancelled) return;
    pending->cancelled = true;
    pending->cancel.emit(asio::cancellation_type::terminal);
  }

  std::size_t requests() const noexcept { return running_.size(); }

  /// Cancels all requests, waits for them, and closes the workspace. Cannot be cancelled. A request that does not end
  /// after its cancellation ends when the environment is closed.
  static awaitable<void> close(std::shared_ptr<session> self) {
    self->closing = true;
    self->leave_subscriptions();
    self->cancel_all();
    const auto until = std::chrono::steady_clock::now() + workspace::patience;
    while (!self->running_.empty() && std::chrono::steady_clock::now() < until) co_await self->none_left_.wait(until);
    std::exception_ptr failure;
    try {
      co_await workspace::close(self->place);
    } catch (...) {
      failure = std::current_exception();
    }
    while (!self->running_.empty()) co_await self->none_left_.wait();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  static constexpr std::size_t max_bytes = std::size_t{64} * 1024 * 1024;

  std::optional<reply> admit(request& pending, request_ids ids) {
    const auto refused = [&pending](int code, const char* why) {
      return reply(rpc_error(pending.id, code, why), reply_kind::refused);
    };
    if (closing) return refused(internal_error, "the session has ended");
    if (running_.size() >= core->options().requests()) return refused(internal_error, "too many requests at once");
    if (!running_.empty() && bytes_ + pending.message.size > max_bytes)
      return refused(internal_error, "too many large requests at once");
    if (ids == request_ids::of_one_client && running_.contains(pending.id))
      return refused(invalid_request, "Invalid Request: a request with this id is already in progress");
    return dispatch::admit(*this, pending);
  }

  /// Returns the answer, or an error instead if the client has too many unread answers.
  std::optional<reply> kept(const request& pending, std::optional<reply> last) const {
    if (!last || unread->has_room(last->text.size())) return last;
    return reply(rpc_error(pending.id, internal_error, unread_answers::complaint));
  }

  static awaitable<std::optional<reply>> work(std::shared_ptr<session> self, std::shared_ptr<request> pending) {
    std::optional<reply> last;
    std::exception_ptr told;
    try {
      if (self->unread->is_full()) co_await dispatch::wait_for_room(self, std::chrono::steady_clock::now());
      reply answered = co_await dispatch::answer_to(self, pending);
      last = std::move(answered);
    } catch (const failure& wrong) {
      const bool refused = wrong.code() == missing_capability;
      last = reply(rpc_error(pending->id, wrong.code(), wrong.what(), wrong.data()),
                   refused ? reply_kind::refused : reply_kind::answered);
    } catch (...) {  // a handler may throw an object of any type
      told = std::current_exception();
    }
    if (told && !pending->cancelled) {
      self->core->report(pending->message.method, told);
      last = reply(rpc_error(pending->id, internal_error, "Internal error"));
    }
    co_return last;
  }

  void cancel(const rpc_message& message) {
    const boost::json::value* const id = message.params.if_contains("requestId");
    if (id == nullptr) return;
    const auto found = running_.find(boost::json::serialize(*id));
    // MCP does not allow a client to cancel the handshake.
    if (found == running_.end() || found->second->message.method == "initialize") return;
    const std::shared_ptr<request> pending = found->second;
    cancel(pending);
  }

  void leave_subscriptions() {
    const auto snapshot = subscriptions;
    for (const auto& entry : snapshot) entry->ended.notify();
  }

  void cancel_all() {
    const auto snapshot = running_;
    for (const auto& [key, pending] : snapshot)
      if (pending->message.method != "subscriptions/listen") cancel(pending);
  }

  async_event none_left_;
  std::map<std::string, std::shared_ptr<request>> running_;
  std::uint64_t last_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
