// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/api_error.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/creation_rate.hpp>
#include <cofferdam/backends/kubernetes/detail/loss_reason.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_status.hpp>
#include <cofferdam/backends/kubernetes/detail/watch_reader.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// A pod that this library creates and deletes, unlike an adopted pod.
class owned_pod {
 public:
  using clock = std::chrono::steady_clock;

  owned_pod(std::shared_ptr<cluster_api> api, std::string name) : api_(std::move(api)), name_(std::move(name)) {}
  owned_pod(const owned_pod&) = delete;
  owned_pod& operator=(const owned_pod&) = delete;

  const std::string& name() const noexcept { return name_; }
  /// Returns true if the pod exists or may exist, so that it must be deleted.
  bool may_exist() const noexcept { return may_exist_; }
  /// Returns the newest object of the pod that the API server has sent.
  const boost::json::object& seen() const noexcept { return seen_; }

  /// Creates the pod, within `creation_rate`. The call is shielded from cancellation, because the API server would
  /// create the pod anyway.
  /// \param until  the time at which the pod must run.
  /// \throws error{exec_errc::provider_failed} if the rate leaves no time, or if the API server refuses the pod.
  static awaitable<void> create(std::shared_ptr<owned_pod> self, boost::json::object body, clock::time_point until) {
    static creation_rate rate;
    const std::string cluster = self->api_->address();
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(rate.reserve(cluster, clock::now()));
    std::optional<error> failure;
    if (clock::now() + wait >= until) {
      failure.emplace(exec_errc::provider_failed,
                      "kubernetes: this program creates more pods at once than its rate allows (20, and then 10 per "
                      "second), so that one cannot start in time; raise open_timeout(), or open fewer at once");
    } else if (wait > std::chrono::milliseconds::zero()) {
      try {
        co_await wait_for(self->api_->executor(), wait);
      } catch (const error& reason) {
        failure = reason;
      }
    }
    if (failure) {
      rate.give_back(cluster);
      throw *failure;
    }
    const auto creates = [&self, &body] { return send_create(self, body); };
    co_await cofferdam::detail::shielded(std::ref(creates));
  }

  /// Follows the pod until its first process runs.
  /// \param until      the time at which the wait ends.
  /// \param node_wait  how long the pod may be without a node that fits.
  /// \throws the error that `pod_error` makes, as soon as the cluster reports a failure.
  static awaitable<void> until_running(std::shared_ptr<owned_pod> self, clock::time_point until,
                                       std::chrono::seconds node_wait) {
    std::optional<clock::time_point> unschedulable_since;
    for (;;) {
      const pod_verdict verdict = judge_pod(self->seen_);
      if (verdict.phase() == pod_phase::running) co_return;
      if (verdict.is_final()) throw pod_error(verdict, self->name_, false);
      clock::time_point limit = until;
      if (verdict.phase() == pod_phase::unschedulable) {
        if (!unschedulable_since) unschedulable_since = clock::now();
        limit = std::min(limit, *unschedulable_since + node_wait);
      } else {
        unschedulable_since.reset();
      }
      if (clock::now() >= limit) throw pod_error(verdict, self->name_, false);
      co_await follow(self, verdict.phase(), limit);
    }
  }

  /// Deletes the pod, which ends everything in it. If the connection fails, the request is repeated.
  static awaitable<void> remove(std::shared_ptr<owned_pod> self) {
    constexpr int max_attempts = 3;
    for (int attempt = 1;; ++attempt) {
      std::optional<error> failure;
      try {
        std::vector<int> fine{404};
        co_await self->api_->ask("DELETE", self->api_->pod_path(self->name_) + "?gracePeriodSeconds=0", std::string(),
                                 "delete " + self->api_->shown(self->name_), std::move(fine));
      } catch (const error& reason) {
        failure = reason;
      }
      if (!failure) break;
      if (attempt == max_attempts || failure->code() != exec_errc::provider_failed) throw *failure;
    }
    self->may_exist_ = false;
  }

  /// Finds out why the connection to the pod is lost.
  /// \return  no value if the cluster knows no reason.
  static awaitable<std::optional<error>> why_lost(std::shared_ptr<cluster_api> api, std::string name) {
    return find_loss_reason(std::move(api), name,
                            [name](const std::optional<boost::json::object>& pod) -> std::optional<error> {
                              const pod_verdict verdict = pod ? judge_pod(*pod) : pod_verdict(pod_phase::deleted);
                              if (!verdict.is_final()) return std::nullopt;
                              return pod_error(verdict, name, true);
                            });
  }

 private:
  /// A proxy may end each watch at once, and would then get requests without a pause.
  static constexpr std::chrono::milliseconds pause_after_break{200};

  static awaitable<void> send_create(std::shared_ptr<owned_pod> self, const boost::json::object& body) {
    const std::string doing = "create " + self->api_->shown(self->name_);
    self->may_exist_ = true;
    http_response answer;
    try {
      answer = co_await self->api_->ask("POST", self->api_->path("pods"), boost::json::serialize(body), doing,
                                        std::vector<int>());
    } catch (const error& reason) {
      self->may_exist_ = reason.cause().category() != http_status_category();
      throw;
    }
    self->seen_ = cluster_api::object_of(answer, doing);
  }

  /// Follows the pod until its phase is another one, or until the time `limit`.
  static awaitable<void> follow(std::shared_ptr<owned_pod> self, pod_phase phase, clock::time_point limit) {
    const std::string doing = "watch " + self->api_->shown(self->name_);
    std::string path = self->api_->path("pods") + "?watch=true&fieldSelector=metadata.name%3D" + self->name_;
    path += "&resourceVersion=" + std::string(text_at(object_at(self->seen_, "metadata"), "resourceVersion"));
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - clock::now());
    const std::chrono::milliseconds idle = std::max(left, std::chrono::milliseconds(1));
    bool is_over = false;
    bool is_broken = false;
    try {
      cofferdam::detail::http_exchange events = co_await self->api_->watch(path, idle, doing);
      is_over = co_await read_events(self, events, phase, limit);
    } catch (const error& reason) {
      const bool is_late = reason.cause() == net_errc::timed_out;
      const bool is_old = reason.cause() == std::error_code(410, http_status_category());
      is_broken = reason.code() == exec_errc::io_error && !is_late;  // the connection has failed within an event
      if (!is_late && !is_old && !is_broken) throw;
    }
    if (is_over) co_return;
    if (is_broken) co_await wait_for(self->api_->executor(), pause_after_break);
    // The watch has ended, or cannot begin at this version of the object.
    std::optional<boost::json::object> pod = co_await self->api_->find(self->api_->pod_path(self->name_), doing);
    if (!pod) throw pod_error(pod_verdict(pod_phase::deleted), self->name_, false);
    self->seen_ = std::move(*pod);
  }

  /// Reads the events of a watch. Returns true if the pod has another phase.
  static awaitable<bool> read_events(std::shared_ptr<owned_pod> self, cofferdam::detail::http_exchange& events,
                                     pod_phase phase, clock::time_point limit) {
    watch_reader reader;
    std::array<std::byte, 16384> room;
    while (clock::now() < limit) {
      const std::size_t count = co_await events.read_some(std::span<std::byte>(room));
      if (count == 0) co_return false;
      std::string_view text = as_text(bytes_view(room.data(), count));
      while (const std::optional<watch_event> event = reader.next(text)) {
        if (event->kind() == watch_event_kind::failed) co_return false;
        if (event->kind() == watch_event_kind::bookmark) continue;
        if (event->kind() == watch_event_kind::deleted)
          throw pod_error(pod_verdict(pod_phase::deleted), self->name_, false);
        self->seen_ = event->object();
        if (judge_pod(self->seen_).phase() != phase) co_return true;
      }
    }
    co_return false;
  }

  std::shared_ptr<cluster_api> api_;
  std::string name_;
  bool may_exist_ = false;
  boost::json::object seen_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
