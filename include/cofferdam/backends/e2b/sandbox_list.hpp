// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/detail/account.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/surroundings.hpp>
#include <cofferdam/core/asio.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

namespace detail {
class api;
}

/// The sandboxes of an account, created by any client: for example, to find and end forgotten ones.
///
/// A value; each call makes new connections.
/// \par Errors        as `provider::open`.
/// \par Cancellation  terminal: throws error{exec_errc::cancelled}; the service may or may not have executed the call.
class sandbox_list {
 public:
  /// \throws error{exec_errc::invalid_argument} as `account::resolve`.
  explicit sandbox_list(const account_options& who = account_options(),
                        const surroundings& around = surroundings::of_this_process());

  /// Returns all running and paused sandboxes, newest first.
  awaitable<std::vector<sandbox_info>> all() const { return list(who_); }
  /// \throws error{exec_errc::not_found} if there is no such sandbox.
  awaitable<sandbox_info> look(std::string id) const { return look_at(who_, std::move(id)); }
  /// \return  false if there was none.
  awaitable<bool> kill(std::string id) const { return end(who_, std::move(id)); }
  /// \return  false if it was paused already.
  awaitable<bool> pause(std::string id) const { return pause_it(who_, std::move(id)); }
  /// Sets the remaining lifetime; whole seconds, rounded up.
  awaitable<void> set_lifetime(std::string id, std::chrono::milliseconds time) const;
  /// May be empty if the sandbox is new.
  awaitable<std::vector<sandbox_metrics>> metrics(std::string id) const { return measure(who_, std::move(id)); }
  /// As `environment::logs`.
  awaitable<std::vector<sandbox_log_line>> logs(std::string id) const { return read_logs(who_, std::move(id)); }

 private:
  static awaitable<std::unique_ptr<detail::api>> reach(detail::account who);
  static awaitable<std::vector<sandbox_info>> list(detail::account who);
  static awaitable<sandbox_info> look_at(detail::account who, std::string id);
  static awaitable<bool> end(detail::account who, std::string id);
  static awaitable<bool> pause_it(detail::account who, std::string id);
  static awaitable<void> prolong(detail::account who, std::string id, std::int64_t seconds);
  static awaitable<std::vector<sandbox_metrics>> measure(detail::account who, std::string id);
  static awaitable<std::vector<sandbox_log_line>> read_logs(detail::account who, std::string id);

  detail::account who_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/e2b/impl/sandbox_list.ipp>
#endif
