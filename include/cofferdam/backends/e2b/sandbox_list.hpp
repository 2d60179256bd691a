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

/// A client for the list of all sandboxes of an account, no matter which client has created them. It can find and end
/// forgotten sandboxes, for example.
///
/// A value; each call makes new connections.
/// \par Errors        the errors of `provider::open`.
/// \par Cancellation  terminal: throws error{exec_errc::cancelled}. The service may already have executed the call.
class sandbox_list {
 public:
  /// Selects the account and the service.
  /// \param who     the options of the account, including the API key.
  /// \param around  the environment variables for options that `who` does not set. Default: those of this process.
  /// \throws error{exec_errc::invalid_argument} if there is no API key, a URL is invalid, or a URL is an `http://`
  ///     address of another machine and this is not allowed.
  explicit sandbox_list(const account_options& who = account_options(),
                        const surroundings& around = surroundings::of_this_process());

  /// Returns all running and paused sandboxes, newest first.
  awaitable<std::vector<sandbox_info>> all() const { return list(who_); }
  /// Returns the service's description of a sandbox.
  /// \throws error{exec_errc::not_found} if there is no such sandbox.
  awaitable<sandbox_info> look(std::string id) const { return look_at(who_, std::move(id)); }
  /// Ends a sandbox.
  /// \return  true if the sandbox was ended; false if there is no such sandbox.
  awaitable<bool> kill(std::string id) const { return end(who_, std::move(id)); }
  /// Pauses a sandbox.
  /// \return  true if the sandbox was paused by this call; false if it was already paused.
  awaitable<bool> pause(std::string id) const { return pause_it(who_, std::move(id)); }
  /// Sets the remaining lifetime of a sandbox.
  /// \param time  rounded up to whole seconds.
  awaitable<void> set_lifetime(std::string id, std::chrono::milliseconds time) const;
  /// Returns the measured load of a sandbox. The list is empty if the sandbox is so new that there is no measurement
  /// yet.
  awaitable<std::vector<sandbox_metrics>> metrics(std::string id) const { return measure(who_, std::move(id)); }
  /// Returns the newest lines of a sandbox's log, oldest first; at most 1000 lines.
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
