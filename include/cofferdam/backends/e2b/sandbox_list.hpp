// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/account.hpp>
#include <cofferdam/backends/e2b/detail/api.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/surroundings.hpp>
#include <cofferdam/core/asio.hpp>

#include <asio/this_coro.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::e2b {

/// The sandboxes of an account, whoever has created them: to find and end what was left behind, for example.
///
/// A value; each call makes connections of its own.
/// \par Errors        as `provider::open`.
/// \par Cancellation  terminal: throws error{errc::cancelled}; whether the service has done it is not known then.
class sandbox_list {
 public:
  /// \throws error{errc::invalid_argument} as `account::resolve`.
  explicit sandbox_list(const account_options& who = account_options(),
                        const surroundings& around = surroundings::of_this_process())
      : who_(account::resolve(who, around)) {}

  /// All that run or are paused, newest first.
  awaitable<std::vector<sandbox_info>> all() const { return list(who_); }
  /// \throws error{errc::not_found} where there is no such sandbox.
  awaitable<sandbox_info> look(std::string id) const { return look_at(who_, std::move(id)); }
  /// \return  false where there was none.
  awaitable<bool> kill(std::string id) const { return end(who_, std::move(id)); }
  /// \return  false where it was paused already.
  awaitable<bool> pause(std::string id) const { return pause_it(who_, std::move(id)); }
  /// Ends it so long from now; whole seconds, rounded up.
  awaitable<void> set_lifetime(std::string id, std::chrono::milliseconds time) const {
    return prolong(who_, std::move(id), std::chrono::ceil<std::chrono::seconds>(time).count());
  }
  /// May be empty where it is new.
  awaitable<std::vector<sandbox_metrics>> metrics(std::string id) const { return measure(who_, std::move(id)); }
  /// As `environment::logs`.
  awaitable<std::vector<sandbox_log_line>> logs(std::string id) const { return read_logs(who_, std::move(id)); }

 private:
  static awaitable<std::unique_ptr<detail::api>> reach(account who) {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    co_return std::make_unique<detail::api>(std::move(executor), std::move(who));
  }
  static awaitable<std::vector<sandbox_info>> list(account who) {
    const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
    std::vector<sandbox_info> found = co_await service->list(std::string());
    co_return found;
  }
  static awaitable<sandbox_info> look_at(account who, std::string id) {
    const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
    sandbox_info found = co_await service->look(std::move(id));
    co_return found;
  }
  static awaitable<bool> end(account who, std::string id) {
    const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
    const bool was_there = co_await service->kill(std::move(id));
    co_return was_there;
  }
  static awaitable<bool> pause_it(account who, std::string id) {
    const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
    const bool did = co_await service->pause(std::move(id));
    co_return did;
  }
  static awaitable<void> prolong(account who, std::string id, std::int64_t seconds) {
    const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
    co_await service->set_lifetime(std::move(id), seconds);
  }
  static awaitable<std::vector<sandbox_metrics>> measure(account who, std::string id) {
    const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
    std::vector<sandbox_metrics> found = co_await service->metrics(std::move(id));
    co_return found;
  }
  static awaitable<std::vector<sandbox_log_line>> read_logs(account who, std::string id) {
    const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
    std::vector<sandbox_log_line> found = co_await service->logs(std::move(id));
    co_return found;
  }

  account who_;
};

}  // namespace cofferdam::inline v0::e2b
