// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/detail/account.hpp>
#include <cofferdam/backends/e2b/sandbox_filter.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/surroundings.hpp>
#include <cofferdam/backends/e2b/suspend_options.hpp>
#include <cofferdam/core/asio.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

namespace detail {
class api;
}

/// Access to all sandboxes of an account, no matter which client has created them. For example, a program can find and
/// end forgotten sandboxes.
///
/// A value type that holds no connection: each call makes a new one.
/// \par Errors        every function throws the errors of `provider::open`, and the errors listed with each function.
/// \par Cancellation  terminal. The function throws error{exec_errc::cancelled}. The service may or may not have
///                    executed the call.
class sandbox_list {
 public:
  /// \param who     the account and the service. Default: the environment variables determine both.
  /// \param around  the environment variables to read. Default: the environment variables of this process.
  /// \throws error{exec_errc::invalid_argument} if there is no API key, or a URL is invalid or not protected by TLS.
  explicit sandbox_list(const account_options& who = account_options(),
                        const surroundings& around = surroundings::of_this_process());

  /// Returns the running and paused sandboxes of the account, newest first, or those that a filter selects.
  awaitable<std::vector<sandbox_info>> all(sandbox_filter filter = sandbox_filter()) const {
    return list(who_, std::move(filter));
  }
  /// Returns the information about one sandbox.
  /// \throws error{exec_errc::not_found} if there is no such sandbox.
  awaitable<sandbox_info> look(std::string id) const { return look_at(who_, std::move(id)); }
  /// Ends a sandbox.
  /// \return  false if there is no such sandbox.
  awaitable<bool> kill(std::string id) const { return end(who_, std::move(id)); }
  /// Pauses a sandbox.
  /// \return  false if the sandbox is already paused.
  /// \throws error{exec_errc::unsupported} if the service cannot pause it. The sandbox keeps running.
  awaitable<bool> pause(std::string id, pause_options options = pause_options()) const {
    return pause_it(who_, std::move(id), options);
  }
  /// Sets the remaining lifetime of a sandbox, rounded up to whole seconds.
  awaitable<void> set_lifetime(std::string id, std::chrono::milliseconds time) const;
  /// Returns measurements of the sandbox's load. The list may be empty if the sandbox is new.
  /// \param id        the id of the sandbox.
  /// \param from, to  the time range, in seconds since 1970. Absent: the default of the service.
  awaitable<std::vector<sandbox_metrics>> metrics(std::string id, std::optional<std::int64_t> from = std::nullopt,
                                                  std::optional<std::int64_t> to = std::nullopt) const {
    return measure(who_, std::move(id), from, to);
  }
  /// Returns the newest lines of the log that the service keeps for the sandbox, at most a thousand, oldest first.
  awaitable<std::vector<sandbox_log_line>> logs(std::string id) const { return read_logs(who_, std::move(id)); }

  /// Returns the snapshots of the account.
  /// \param sandbox_id  for the snapshots of one sandbox only; empty for all.
  awaitable<std::vector<snapshot_info>> snapshots(std::string sandbox_id = std::string()) const {
    return list_snapshots(who_, std::move(sandbox_id));
  }
  /// Deletes a snapshot.
  /// \param id  the id or the name of the snapshot.
  /// \return  false if there is no such snapshot.
  awaitable<bool> delete_snapshot(std::string id) const { return remove_snapshot(who_, std::move(id)); }

 private:
  static awaitable<std::unique_ptr<detail::api>> reach(detail::account who);
  static awaitable<std::vector<sandbox_info>> list(detail::account who, sandbox_filter filter);
  static awaitable<sandbox_info> look_at(detail::account who, std::string id);
  static awaitable<bool> end(detail::account who, std::string id);
  static awaitable<bool> pause_it(detail::account who, std::string id, pause_options options);
  static awaitable<void> prolong(detail::account who, std::string id, std::int64_t seconds);
  static awaitable<std::vector<sandbox_metrics>> measure(detail::account who, std::string id,
                                                         std::optional<std::int64_t> from,
                                                         std::optional<std::int64_t> to);
  static awaitable<std::vector<sandbox_log_line>> read_logs(detail::account who, std::string id);
  static awaitable<std::vector<snapshot_info>> list_snapshots(detail::account who, std::string sandbox_id);
  static awaitable<bool> remove_snapshot(detail::account who, std::string id);

  detail::account who_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/e2b/impl/sandbox_list.ipp>
#endif
