// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/warden_place.hpp>
#include <cofferdam/backends/kubernetes/detail/claim_lease.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_object.hpp>
#include <cofferdam/backends/kubernetes/detail/owned_pod.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/home_strand.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The state behind a `kubernetes::environment`: an open pod, its commands and its files. It is shared by the
/// coroutines of all operations. It exists before the pod, so that `discard` can clean up after a failure of any step.
class sandbox : public cofferdam::detail::warden_place<sandbox> {
 public:
  using base = cofferdam::detail::warden_place<sandbox>;

  explicit sandbox(std::shared_ptr<cluster_api> api) : base(api->executor()), api_(std::move(api)) {}
  sandbox(const sandbox&) = delete;
  sandbox& operator=(const sandbox&) = delete;

  static constexpr const char* is_closed = "kubernetes: the environment is closed; open another one";
  static constexpr const char* nothing_open =
      "kubernetes: not open (default-constructed or moved from); call open() on the provider first";

  const std::shared_ptr<cluster_api>& api() const noexcept { return api_; }
  cofferdam::detail::home_strand home() const { return cofferdam::detail::home_strand(api_->executor()); }
  const std::string& pod() const noexcept { return owned_ ? owned_->name() : adopted_; }
  const std::string& space() const noexcept { return api_->space(); }
  bool is_lost() const noexcept { return session_.is_lost(); }

  // ---- opening ----

  /// Sets the pod of this sandbox, which `close` and `discard` delete.
  void own(std::shared_ptr<owned_pod> pod) noexcept { owned_ = std::move(pod); }
  /// Returns the pod that this library has made; null if the pod is adopted.
  const std::shared_ptr<owned_pod>& owned() const noexcept { return owned_; }
  /// Returns true if the first process could not be started because the node has another architecture.
  bool pod_runs_on_another_machine() const { return owned_ && is_wrong_machine(judge_pod(owned_->seen())); }
  /// Returns true if the first process could not be started, or has failed.
  bool pod_cannot_start() const { return owned_ && judge_pod(owned_->seen()).phase() == pod_phase::start; }
  /// Deletes the pod, so that another one can be made.
  awaitable<void> disown() {
    co_await owned_pod::remove(owned_);
    owned_.reset();
  }
  /// Sets an adopted pod, which continues to run after `close` and `discard`, unless it belongs to `claim`.
  void adopt(std::string name) { adopted_ = std::move(name); }
  /// Sets a claim, which `close` and `discard` delete. The cluster then deletes the pod.
  void claim(std::shared_ptr<cluster_object> object) noexcept { claim_ = std::move(object); }
  /// Sets the lease of the claim, and begins it.
  void lease(std::shared_ptr<claim_lease> of_claim) {
    lease_ = std::move(of_claim);
    claim_lease::begin(lease_);
  }
  using base::shell;
  const std::string& shell() const noexcept { return shell_; }

  /// Shows that the NetworkPolicy of this library is enforced, and returns the description of this wall; throws if this
  /// cannot be shown.
  using policy_check = std::function<awaitable<std::string>(std::shared_ptr<sandbox>)>;

  /// Sets the check of the NetworkPolicy of this library.
  /// \param report  the description of the pod in results; gets the outcome.
  void check_network_by(policy_check check, std::shared_ptr<isolation_report> report) noexcept {
    policy_check_ = std::move(check);
    report_ = std::move(report);
  }
  /// Shows that the NetworkPolicy of this library is enforced.
  /// \return  the description of the wall; empty if the pod has no such policy.
  /// \throws error{exec_errc::unsupported} if this cannot be shown, and the errors of opening a pod.
  static awaitable<std::string> enforced_policy(std::shared_ptr<sandbox> self) {
    self->require_open();
    std::string found;
    if (!self->policy_check_) co_return found;
    self->report_->set(isolation_kind::network, "none");  // what an earlier call has shown may not hold any more
    found = co_await self->policy_check_(self);
    self->report_->set(isolation_kind::network, found);
    co_return found;
  }

  /// Deletes what this library has made, and closes all connections after a failure of the opening.
  static awaitable<void> discard(std::shared_ptr<sandbox> self) {
    co_await discard_pod(self);
    try {
      co_await self->api_->close();
    } catch (const error&) {
    }
  }

  /// Deletes what this library has made, without an error. Leaves the connections to the API server open.
  static awaitable<void> discard_pod(std::shared_ptr<sandbox> self) {
    self->closing_ = self->closed_ = true;
    self->stop();
    try {
      const std::shared_ptr<cluster_object> made = self->made();
      if (made && made->may_exist()) co_await cluster_object::remove(made);
    } catch (const error&) {  // the failure of the opening is reported instead; the pod ends by itself in time
    }
  }

  /// Called if the warden has not answered between two pings.
  void on_silent_warden() {
    if (!silence_.is_too_long(beat)) return;
    session_.lose(error(exec_errc::provider_lost, "kubernetes: " + api_->shown(pod()) + " has not answered for " +
                                                      std::to_string(max_silence.count()) +
                                                      " ms; its node may be gone, or the network is interrupted"));
  }

  /// The maximum time without contact after which the warden ends all commands.
  static constexpr std::chrono::milliseconds max_silence{std::chrono::minutes(5)};
  /// The time between two pings.
  static constexpr std::chrono::milliseconds beat = max_silence / cofferdam::detail::warden_silence::in_lease;

  // ---- closing ----

  /// Ends the connection to the pod without waiting. All commands then end, and the pod ends after its hold time.
  void abandon() noexcept {
    close_at_once();
    stop();
  }

 private:
  friend base;

  /// Deletes what this library has made; an adopted one continues to run.
  static awaitable<void> end_commands(std::shared_ptr<sandbox> self) {
    const std::shared_ptr<cluster_object> made = self->made();
    if (made) {
      // The commands get no grace period, because the removal ends everything.
      self->stop();
      co_await cluster_object::remove(made);
    } else if (self->session_) {
      co_await self->session_.close();
    }
  }

  static awaitable<void> release(std::shared_ptr<sandbox> self) { return self->api_->close(); }

  void stop() noexcept {
    session_.abandon();
    if (lease_) lease_->stop();
  }

  /// Returns the object that this library has made for the environment; null if the pod is adopted.
  std::shared_ptr<cluster_object> made() const {
    if (owned_) return owned_;
    return claim_;
  }

  std::shared_ptr<cluster_api> api_;
  std::shared_ptr<owned_pod> owned_;       // null if the pod was made by others
  std::shared_ptr<cluster_object> claim_;  // null if no other program makes a pod for this sandbox
  std::shared_ptr<claim_lease> lease_;     // null if there is no claim
  std::string adopted_;
  policy_check policy_check_;                 // empty if the pod has no NetworkPolicy of this library
  std::shared_ptr<isolation_report> report_;  // null if there is no `policy_check_`
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
