// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// A rate limit for the creation of sandboxes: a token bucket. Copies share it, so one gate can serve several
/// providers, because E2B counts by account (5 per second for most accounts).
/// \par Threads  any.
class rate_limiter {
 public:
  using clock = std::chrono::steady_clock;

  /// \param burst     number of creations that may follow each other without a pause; at least 1.
  /// \param interval  time for one more creation; zero or more.
  /// \throws error{exec_errc::invalid_argument} for another number or interval.
  rate_limiter(std::size_t burst, std::chrono::milliseconds interval) {
    if (burst == 0) throw error(exec_errc::invalid_argument, "e2b: a rate_limiter lets at least one through");
    if (interval < std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "e2b: a rate_limiter's interval must not be negative");
    state_ = std::make_shared<state>();
    state_->interval = interval;
    state_->room = interval * static_cast<std::chrono::milliseconds::rep>(burst - 1);
  }

  /// Takes a token.
  /// \return  the time from which it may be used: now, or later.
  clock::time_point reserve(clock::time_point now = clock::now()) const {
    const std::lock_guard lock(state_->mutex);
    const clock::time_point mine = std::max(state_->next, now - state_->room);
    state_->next = mine + state_->interval;
    return std::max(mine, now);
  }

 private:
  struct state {
    std::mutex mutex;
    std::chrono::milliseconds interval{};
    std::chrono::milliseconds room{};
    clock::time_point next{};
  };
  std::shared_ptr<state> state_;
};

/// The form of the calls that create and connect.
enum class dialect {
  automatic,  ///< the first form, or the second if the service does not know the first
  v1,         ///< `POST /sandboxes`
  v2,         ///< `POST /v2/sandboxes`
};

/// The account and the service. An option overrides its environment variable, which overrides the default. An empty
/// variable counts as not set. A value.
/// \par Source  E2B's SDKs, ConnectionConfig.
class account_options {
 public:
  account_options() = default;

  /// E2B_API_KEY. Any form is accepted, because other services have other forms.
  secret_string api_key;
  /// E2B_DOMAIN; default `e2b.app`.
  std::string domain;
  /// E2B_API_URL; default `https://api.DOMAIN`.
  std::string api_url;
  /// E2B_SANDBOX_URL: one base URL for all sandboxes, in which `{port}`, `{id}` and `{domain}` are replaced. Default:
  /// each sandbox has its own, `https://PORT-ID.DOMAIN`.
  std::string sandbox_url;
  /// A PEM file of certificates to trust instead of the system's.
  std::string ca_file;
  dialect form = dialect::automatic;
  /// The time limit of one call, from its beginning to the end of its response, including retries.
  std::chrono::milliseconds request_timeout{std::chrono::seconds(60)};
  /// The pause before the first retry; doubled each time, with jitter.
  std::chrono::milliseconds first_pause{250};
  /// Allows `http://` to other machines: an attacker on the network can read the key.
  bool allow_plain_http = false;
  /// Limits how often sandboxes may be created.
  std::optional<rate_limiter> gate;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
