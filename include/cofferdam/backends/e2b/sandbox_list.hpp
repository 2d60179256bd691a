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

  /// Returns all running and paused sandboxes of the account, newest first.
  awaitable<std::vector<sandbox_info>> all() const { return list(who_); }
  /// Returns the information about one sandbox.
  /// \throws error{exec_errc::not_found} if there is no such sandbox.
  awaitable<sandbox_info> look(std::string id) const { return look_at(who_, std::move(id)); }
  /// Ends a sandbox.
  /// \return  false if there is no such sandbox.
  awaitable<bool> kill(std::string id) const { return end(who_, std::move(id)); }
  /// Pauses a sandbox and keeps its memory.
  /// \return  false if the sandbox is already paused.
  awaitable<bool> pause(std::string id) const { return pause_it(who_, std::move(id)); }
  /// Sets the remaining lifetime of a sandbox, rounded up to whole seconds.
  awaitable<void> set_lifetime(std::string id, std::chrono::milliseconds time) const;
  /// Returns measurements of the sandbox's load. The list may be empty if the sandbox is new.
  awaitable<std::vector<sandbox_metrics>> metrics(std::string id) const { return measure(who_, std::move(id)); }
  /// Returns the newest lines of the log that the service keeps for the sandbox, at most a thousand, oldest first.
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
