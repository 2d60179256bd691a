// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/warden_place.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/owned_container.hpp>
#include <cofferdam/backends/docker/detail/snapshot_image.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/net/http_message.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The state behind a `docker::environment`: an open container, its commands and its files. It is shared by the
/// coroutines of all operations.
///
/// `open_sandbox` makes this object before the container exists. So `discard` can clean up after a failure of any step,
/// and a warden that does not answer can be reported while the sandbox is still being opened.
class sandbox : public cofferdam::detail::warden_place<sandbox> {
 public:
  using base = cofferdam::detail::warden_place<sandbox>;

  explicit sandbox(std::shared_ptr<engine> api)
      : base(api->executor()), turn_(api->executor(), 1), api_(std::move(api)) {}
  sandbox(const sandbox&) = delete;
  sandbox& operator=(const sandbox&) = delete;

  static constexpr const char* is_closed = "docker: the environment is closed; open another one";
  static constexpr const char* nothing_open =
      "docker: not open (default-constructed or moved from); call open() on the provider first";

  const std::shared_ptr<engine>& api() const noexcept { return api_; }
  cofferdam::detail::home_strand home() const { return cofferdam::detail::home_strand(api_->executor()); }
  const std::string& name() const noexcept { return owned_ ? owned_->name() : adopted_name_; }
  const std::string& id() const noexcept { return owned_ ? owned_->id() : adopted_id_; }

  // ---- opening: these functions are called in this order; `discard` is called after a failure of any step ----

  /// Sets the container of this sandbox, which `close` and `discard` remove. Called before the container is created, so
  /// that a failure during the creation is covered.
  void own(std::shared_ptr<owned_container> container) noexcept { owned_ = std::move(container); }
  /// Sets an adopted container, which continues to run after `close` and `discard`.
  void adopt(std::string id, std::string name) {
    adopted_id_ = std::move(id);
    adopted_name_ = std::move(name);
  }

  /// Removes the container, unless it is adopted, and closes all connections after a failure of the opening.
  awaitable<void> discard() {
    closing_ = closed_ = true;
    try {
      session_.abandon();
      if (owned_ && owned_->may_exist()) co_await owned_->remove();
      co_await api_->close();
    } catch (const error&) {  // the failure of the opening is reported instead; a later `sweep` removes the rest
    }
  }

  /// Returns the daemon's description of the container.
  awaitable<boost::json::object> inspect() const {
    return api_->get("/containers/" + id() + "/json", api_->call("inspect the container", name()));
  }

  /// Finds out why the warden does not answer. Queries the daemon, and ends the session if the container does not exist
  /// any more or is paused. Otherwise the machine is only busy, and the session continues to wait. Does nothing while
  /// an earlier call is under way.
  void on_silent_warden() {
    if (std::exchange(examines_, true)) return;
    const auto self = shared_from_this();
    auto examined = [self](std::exception_ptr) { self->examines_ = false; };
    cofferdam::detail::spawn_coroutine(api_->executor(), examine(self), std::move(examined));
  }

  // ---- pauses and snapshots ----

  /// Declares that the session has a warden.
  void has_warden() noexcept { has_warden_ = true; }
  /// Sets what an image of the container gets. Without this call, no image can be made.
  void save_as(snapshot_image image) { saved_ = std::move(image); }
  bool can_pause() const noexcept { return owned_ && has_warden_; }
  bool can_snapshot() const noexcept { return owned_ && saved_; }
  /// Returns true while this library has stopped all processes of the container.
  bool is_frozen() const noexcept { return is_paused_ || is_saving_; }

  static awaitable<void> pause(std::shared_ptr<sandbox> self) {
    self->require_open();
    if (!self->can_pause())
      throw error(exec_errc::unsupported,
                  self->owned_ ? "docker: pause() needs a warden in the container; see command_transport"
                               : "docker: an adopted container is never paused; run docker pause " + self->name());
    const cofferdam::detail::held_permits turn = co_await take_turn(self);
    if (std::exchange(self->is_paused_, true)) co_return;
    try {
      co_await self->freeze("pause", "is already paused");
    } catch (...) {
      self->is_paused_ = false;
      throw;
    }
  }

  static awaitable<void> resume(std::shared_ptr<sandbox> self) {
    const cofferdam::detail::held_permits turn = co_await take_turn(self);
    if (!self->is_paused_) co_return;
    co_await self->freeze("unpause", "is not paused");
    self->thawed();
    self->is_paused_ = false;
  }

  /// Makes an image of the container, and returns its name.
  static awaitable<std::string> snapshot(std::shared_ptr<sandbox> self) {
    self->require_open();
    if (!self->can_snapshot())
      throw error(exec_errc::unsupported,
                  self->owned_
                      ? "docker: snapshot() saves the container's disk, but the workspace is in memory or in a "
                        "mount; use container_options().writable_root(), and no mount at the workspace"
                      : "docker: no snapshot is made of an adopted container; run docker commit " + self->name());
    const cofferdam::detail::held_permits turn = co_await take_turn(self);
    const std::string tag = cofferdam::detail::random_digits();
    http_request request = self->api_->request(
        "POST", "/commit?container=" + self->id() + "&repo=" + snapshot_image::repository + "&tag=" + tag + "&pause=1");
    request.content("application/json", boost::json::serialize(self->saved_->config()));
    const api_call doing = self->api_->call("save the container", self->name());
    const cofferdam::detail::http_limits limits = cofferdam::detail::http_limits().head(std::chrono::minutes(10));
    self->is_saving_ = true;  // the daemon pauses the container meanwhile
    std::exception_ptr failure;
    try {
      co_await self->api_->ask_within(std::move(request), doing, limits, std::vector<int>());
    } catch (...) {
      failure = std::current_exception();
    }
    self->thawed();
    self->is_saving_ = false;
    if (failure) std::rethrow_exception(failure);
    co_return std::string(snapshot_image::repository) + ":" + tag;
  }

  // ---- closing ----

  /// Ends the connection to the container without waiting. A container that this library has made ends with its
  /// connection.
  void abandon() noexcept {
    close_at_once();
    session_.abandon();
    if (!is_paused_ || !owned_) return;
    // The warden cannot notice the end of its connection, so the daemon must remove the container now.
    try {
      auto removed = [self = shared_from_this()](std::exception_ptr) {};
      cofferdam::detail::spawn_coroutine(api_->executor(), owned_->remove(), std::move(removed));
    } catch (const std::bad_alloc&) {  // a later `sweep` removes it
    }
  }

 private:
  friend base;

  /// Deletes what this library has made; an adopted one continues to run.
  static awaitable<void> end_commands(std::shared_ptr<sandbox> self) {
    if (self->owned_) {
      // The commands get no grace period, because the removal ends everything.
      self->session_.abandon();
      co_await self->owned_->remove();
    } else if (self->session_) {
      co_await self->session_.close();
    }
  }

  static awaitable<void> release(std::shared_ptr<sandbox> self) { return self->api_->close(); }

  /// Waits for the end of other pauses, resumptions and snapshots, which the daemon does not keep apart.
  static awaitable<cofferdam::detail::held_permits> take_turn(std::shared_ptr<sandbox> self) {
    self->require_open();
    co_await self->turn_.acquire(1, "docker");
    cofferdam::detail::held_permits turn(self->turn_, 1);
    self->require_open();
    co_return turn;
  }

  /// Pauses or resumes the container.
  /// \param verb      the end of the path of the call.
  /// \param is_so     the daemon's words if nothing is to be done.
  awaitable<void> freeze(const char* verb, const char* is_so) {
    http_request request = api_->request("POST", "/containers/" + id() + "/" + verb);
    const api_call doing = api_->call(std::string(verb) + " the container", name());
    try {
      co_await api_->ask(std::move(request), doing);
    } catch (const error& reason) {
      if (!holds(reason.what(), is_so)) throw;
    }
  }

  /// Counts an end of a pause, so that a report of the daemon from before is not believed.
  void thawed() noexcept { ++thaws_; }

  static awaitable<void> examine(std::shared_ptr<sandbox> self) {
    boost::json::object seen;
    std::optional<error> failure;
    if (self->is_frozen()) co_return;
    const unsigned thaws = self->thaws_;
    try {
      seen = co_await self->inspect();
    } catch (const error& reason) {
      failure = reason;
    }
    if (!self->session_ || self->closing_) co_return;
    if (failure) {
      if (failure->code() == exec_errc::provider_lost) self->session_.lose(*failure);
      co_return;
    }
    const boost::json::object* const state = object_at(seen, "State");
    const bool was_ours = self->is_frozen() || self->thaws_ != thaws;
    if (state != nullptr && is_true_at(*state, "Paused") && !was_ours)
      self->session_.lose(
          error(exec_errc::provider_lost,
                "docker: the container was paused from outside, and its commands were given up; run docker unpause " +
                    self->name()));
  }

  cofferdam::detail::async_semaphore turn_;  // of pauses, resumptions and snapshots
  std::shared_ptr<engine> api_;
  std::shared_ptr<owned_container> owned_;  // null if the container is adopted
  std::string adopted_id_;
  std::string adopted_name_;
  bool examines_ = false;
  std::optional<snapshot_image> saved_;
  bool has_warden_ = false;
  bool is_paused_ = false;
  bool is_saving_ = false;  // true while a snapshot is being made
  unsigned thaws_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
