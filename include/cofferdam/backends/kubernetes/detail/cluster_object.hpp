// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/api_error.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/creation_rate.hpp>
#include <cofferdam/backends/kubernetes/detail/watch_reader.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
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
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// An object of the cluster that this library follows by a watch, and perhaps creates and deletes.
class cluster_object {
 public:
  using clock = std::chrono::steady_clock;

  /// \param kind   the path of all objects of its kind in the namespace.
  /// \param shown  the description of the object for error messages.
  cluster_object(std::shared_ptr<cluster_api> api, std::string kind, std::string name, std::string shown)
      : api_(std::move(api)), kind_(std::move(kind)), name_(std::move(name)), shown_(std::move(shown)) {}
  cluster_object(const cluster_object&) = delete;
  cluster_object& operator=(const cluster_object&) = delete;

  const std::shared_ptr<cluster_api>& api() const noexcept { return api_; }
  const std::string& name() const noexcept { return name_; }
  /// Returns the description of the object for error messages.
  const std::string& shown() const noexcept { return shown_; }
  /// Returns true if this library has created the object, and it exists or may exist, so that it must be deleted.
  bool may_exist() const noexcept { return may_exist_; }
  /// Returns the newest version of the object that the API server has sent.
  const boost::json::object& seen() const noexcept { return seen_; }

  /// Creates the object, within `creation_rate`. The call is shielded from cancellation, because the API server would
  /// create the object anyway.
  /// \param until  the time at which the object must be ready.
  /// \throws error{exec_errc::provider_failed} if the rate leaves no time, or if the API server refuses the object.
  static awaitable<void> create(std::shared_ptr<cluster_object> self, boost::json::object body,
                                clock::time_point until) {
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
        co_await wait_for(wait);
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

  /// Reads the object once.
  /// \return  false if it does not exist.
  static awaitable<bool> look(std::shared_ptr<cluster_object> self) {
    std::optional<boost::json::object> found = co_await self->api_->find(self->path(), "look at " + self->shown_);
    if (!found) co_return false;
    self->seen_ = std::move(*found);
    co_return true;
  }

  /// Follows the object by a watch until a version of it is news, or until a time.
  /// \param is_news  called with each version; returns true to end the wait. The caller keeps what it refers to.
  /// \return  false if the object does not exist any more.
  static awaitable<bool> follow(std::shared_ptr<cluster_object> self, clock::time_point until,
                                std::function<bool(const boost::json::object&)> is_news) {
    const std::string doing = "watch " + self->shown_;
    std::string path =
        self->kind_ + "?watch=true&fieldSelector=" + cofferdam::detail::percent_encoded("metadata.name=" + self->name_);
    const std::string_view version =
        cofferdam::detail::text_at(cofferdam::detail::object_at(self->seen_, "metadata"), "resourceVersion");
    path += "&resourceVersion=" + cofferdam::detail::percent_encoded(version);
    watch_end end = watch_end::cut;
    bool is_late = false;
    try {
      cofferdam::detail::http_exchange events = co_await self->api_->watch(path, time_left(until), doing);
      end = co_await read_events(self, events, until, is_news);
    } catch (const error& reason) {
      is_late = reason.cause() == net_errc::timed_out;
      const bool is_old = reason.cause() == std::error_code(410, http_status_category());
      const bool is_broken = reason.code() == exec_errc::io_error;  // the connection has failed within an event
      if (!is_late && !is_old && !is_broken) throw;
    }
    if (end != watch_end::cut) co_return end == watch_end::news;
    if (!is_late && clock::now() < until) co_await wait_for(pause_after_break);
    // The watch has ended, or cannot begin at this version of the object.
    const bool exists = co_await look(self);
    co_return exists;
  }

  /// Changes the object by a JSON merge patch.
  static awaitable<void> merge(std::shared_ptr<cluster_object> self, boost::json::object patch) {
    co_await self->api_->ask("PATCH", self->path(), boost::json::serialize(patch), "change " + self->shown_,
                             std::vector<int>());
  }

  /// Deletes the object. If the connection fails, the request is repeated.
  static awaitable<void> remove(std::shared_ptr<cluster_object> self) {
    constexpr int max_attempts = 3;
    for (int attempt = 1;; ++attempt) {
      std::optional<error> failure;
      try {
        std::vector<int> fine{404};
        co_await self->api_->ask("DELETE", self->path() + self->removal_query_, std::string(), "delete " + self->shown_,
                                 std::move(fine));
      } catch (const error& reason) {
        failure = reason;
      }
      if (!failure) break;
      const bool may_pass = failure->code() == exec_errc::provider_failed || failure->code() == exec_errc::unavailable;
      if (attempt == max_attempts || !may_pass) throw *failure;
      co_await wait_for(attempt * pause_after_failure);
    }
    self->may_exist_ = false;
  }

 protected:
  /// Sets the query of the request that deletes the object, such as "?gracePeriodSeconds=0".
  void removal_query(std::string query) { removal_query_ = std::move(query); }
  /// Sets the query of the request that creates the object.
  void creation_query(std::string query) { creation_query_ = std::move(query); }

 private:
  enum class watch_end { cut, news, deleted };

  /// A proxy may end each watch at once, and would then get requests without a pause.
  static constexpr std::chrono::milliseconds pause_after_break{200};
  /// An API server that starts again refuses requests for a moment.
  static constexpr std::chrono::milliseconds pause_after_failure{300};

  std::string path() const { return kind_ + "/" + cofferdam::detail::percent_encoded(name_); }

  static awaitable<void> send_create(std::shared_ptr<cluster_object> self, const boost::json::object& body) {
    const std::string doing = "create " + self->shown_;
    self->may_exist_ = true;
    http_response answer;
    try {
      answer = co_await self->api_->ask("POST", self->kind_ + self->creation_query_, boost::json::serialize(body),
                                        doing, std::vector<int>());
    } catch (const error& reason) {
      // With these statuses the object may exist nevertheless; 409 can be the answer to a repeated request.
      const int status = reason.cause().category() == http_status_category() ? reason.cause().value() : 0;
      self->may_exist_ = status < 400 || status == 408 || status == 409 || status >= 500;
      throw;
    }
    self->seen_ = cluster_api::object_of(answer, doing);
  }

  static awaitable<watch_end> read_events(std::shared_ptr<cluster_object> self,
                                          cofferdam::detail::http_exchange& events, clock::time_point until,
                                          const std::function<bool(const boost::json::object&)>& is_news) {
    watch_reader reader;
    std::array<std::byte, 16384> room;
    while (clock::now() < until) {
      const std::size_t count = co_await events.read_some(std::span<std::byte>(room));
      if (count == 0) break;
      std::string_view text = as_text(bytes_view(room.data(), count));
      while (const std::optional<watch_event> event = reader.next(text)) {
        if (event->kind() == watch_event_kind::failed) co_return watch_end::cut;
        if (event->kind() == watch_event_kind::bookmark) continue;
        if (event->kind() == watch_event_kind::deleted) co_return watch_end::deleted;
        self->seen_ = event->object();
        if (is_news(self->seen_)) co_return watch_end::news;
      }
    }
    co_return watch_end::cut;
  }

  std::shared_ptr<cluster_api> api_;
  std::string kind_;
  std::string name_;
  std::string shown_;
  std::string creation_query_;
  std::string removal_query_;
  bool may_exist_ = false;
  boost::json::object seen_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
