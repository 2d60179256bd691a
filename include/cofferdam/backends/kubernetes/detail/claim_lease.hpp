// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/claim_request.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_object.hpp>
#include <cofferdam/backends/kubernetes/detail/credentials.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/utc_time.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/net/http_message.hpp>

#include <asio/steady_timer.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Keeps a claim alive as long as this program uses it: the claim's shutdown time is near, and is moved on again and
/// again. If this program dies, the controller of agent-sandbox deletes the claim at that time.
///
/// A user who may not change claims gets no lease: the claim keeps the shutdown time that it has.
class claim_lease : public std::enable_shared_from_this<claim_lease> {
 public:
  /// \param claim         a claim that this program has just created.
  /// \param time          how long the claim stays after the last renewal.
  /// \param longest_life  the time after which the claim ends in any case, counted from its creation.
  claim_lease(std::shared_ptr<cluster_object> claim, std::chrono::seconds time, std::chrono::seconds longest_life)
      : claim_(std::move(claim)),
        born_(creation_time(*claim_)),
        since_(clock::now()),
        time_(time),
        longest_life_(longest_life),
        timer_(claim_->api()->executor()) {}
  claim_lease(const claim_lease&) = delete;
  claim_lease& operator=(const claim_lease&) = delete;

  /// Shortens the claim's life to the lease, and renews it until `stop`, or until the claim or this object is gone.
  static void begin(const std::shared_ptr<claim_lease>& self) { self->renew_in_background(); }

  void stop() noexcept {
    stopped_ = true;
    timer_.cancel();
  }

 private:
  using clock = std::chrono::steady_clock;

  /// Returns the time of the claim's creation by the clock of the cluster, which may differ from that of this machine.
  static std::chrono::system_clock::time_point creation_time(const cluster_object& claim) {
    const std::string text(
        cofferdam::detail::text_at(cofferdam::detail::object_at(claim.seen(), "metadata"), "creationTimestamp"));
    return parse_kube_time(text).value_or(std::chrono::system_clock::now());
  }

  void renew_in_background() {
    const auto self = shared_from_this();
    auto ended = [self](std::exception_ptr failure) { self->renewed(failure); };
    cofferdam::detail::spawn_coroutine(claim_->api()->executor(), renew(self), std::move(ended));
  }

  static awaitable<void> renew(std::shared_ptr<claim_lease> self) {
    const auto age = std::chrono::ceil<std::chrono::seconds>(clock::now() - self->since_);
    boost::json::object life;
    life["shutdownTime"] = cofferdam::detail::json_text(
        cofferdam::detail::utc_time(self->born_ + std::min(age + self->time_, self->longest_life_), 0));
    boost::json::object spec;
    spec["lifecycle"] = std::move(life);
    boost::json::object patch;
    patch["spec"] = std::move(spec);
    co_await cluster_object::merge(self->claim_, std::move(patch));
  }

  void renewed(const std::exception_ptr& failure) {
    try {
      if (failure) std::rethrow_exception(failure);
      is_held_ = true;
    } catch (const error& reason) {
      const int status = reason.cause().category() == http_status_category() ? reason.cause().value() : 0;
      if (status == 404 || (status == 403 && !is_held_)) stopped_ = true;
    } catch (const std::exception&) {  // the next renewal may succeed
    }
    if (stopped_) return;
    constexpr int renewals = 3;  // in one lease
    timer_.expires_after(std::chrono::milliseconds(time_) / renewals);
    cofferdam::detail::on_expiry(timer_, [kept = weak_from_this()](std::error_code failed) {
      const std::shared_ptr<claim_lease> self = kept.lock();
      if (!failed && self && !self->stopped_) self->renew_in_background();
    });
  }

  std::shared_ptr<cluster_object> claim_;
  std::chrono::system_clock::time_point born_;
  clock::time_point since_;
  std::chrono::seconds time_;
  std::chrono::seconds longest_life_;
  asio::steady_timer timer_;
  bool is_held_ = false;  // true after the first renewal
  bool stopped_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
