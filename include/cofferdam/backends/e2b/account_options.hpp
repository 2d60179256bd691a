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

/// A rate limiter for the creation of sandboxes, implemented as a token bucket. Copies share one bucket. Use one rate
/// limiter for several providers of the same account, because E2B limits the rate of an account (5 sandboxes per second
/// for most accounts).
/// \par Threads  may be used from several threads.
class rate_limiter {
 public:
  /// The clock that measures the intervals between requests.
  using clock = std::chrono::steady_clock;

  /// \param burst     the number of sandboxes that may be created without a pause; at least 1.
  /// \param interval  the time until one more sandbox may be created; zero or more.
  /// \throws error{exec_errc::invalid_argument} if `burst` is 0 or `interval` is negative.
  rate_limiter(std::size_t burst, std::chrono::milliseconds interval) {
    if (burst == 0) throw error(exec_errc::invalid_argument, "e2b: the burst of a rate_limiter must be at least 1");
    if (interval < std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "e2b: a rate_limiter's interval must not be negative");
    state_ = std::make_shared<state>();
    state_->interval = interval;
    state_->room = interval * static_cast<std::chrono::milliseconds::rep>(burst - 1);
  }

  /// Takes a token from the bucket.
  /// \return  the time at which the token may be used: `now`, or a later time for which the caller must wait.
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

/// The form of the HTTP calls that create a sandbox or connect to one.
enum class dialect {
  automatic,  ///< `v1`, or `v2` if the service does not support `v1`
  v1,         ///< `POST /sandboxes`
  v2,         ///< `POST /v2/sandboxes`
};

/// Options that identify the account and the service. Some of them can also be set by an environment variable: the
/// option overrides the environment variable, which overrides the default. An empty environment variable counts as not
/// set. A value type.
/// \par Source  E2B's SDKs, ConnectionConfig.
class account_options {
 public:
  account_options() = default;

  /// The API key; its environment variable is E2B_API_KEY. Its format is not checked, because compatible services use
  /// other formats than E2B.
  secret_string api_key;
  /// The domain of the service; its environment variable is E2B_DOMAIN. Default: `e2b.app`.
  std::string domain;
  /// The base URL of the API that creates and ends sandboxes; its environment variable is E2B_API_URL. Default:
  /// `https://api.DOMAIN`.
  std::string api_url;
  /// One base URL for the daemons of all sandboxes; its environment variable is E2B_SANDBOX_URL. `{port}`, `{id}` and
  /// `{domain}` in it are replaced. Default: each sandbox has its own URL, `https://PORT-ID.DOMAIN`.
  std::string sandbox_url;
  /// A PEM file of certificates that are trusted instead of the system's; empty means that the system's are trusted.
  std::string ca_file;
  /// The form of the calls that create and connect.
  dialect api_dialect = dialect::automatic;
  /// The time limit of one call, from its beginning to the end of the response, including all retries. It also holds
  /// for each script that this library runs in a sandbox, for example for a file operation. Default: 60 seconds.
  std::chrono::milliseconds request_timeout{std::chrono::seconds(60)};
  /// The pause before the first retry. It is doubled for each further retry, and shortened by a random part of up to
  /// half. Default: 250 ms.
  std::chrono::milliseconds first_pause{250};
  /// Permits `http://` URLs to other machines. An attacker on the network can then read the key and all data.
  bool allow_plain_http = false;
  /// A limit on how often sandboxes are created; absent for no limit.
  std::optional<rate_limiter> rate_limit;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
