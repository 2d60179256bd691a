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

/// A rate limiter (token bucket) for the creation of sandboxes. Copies share one limit, so that one limiter can serve
/// several providers. E2B limits the rate per account; most accounts may create 5 sandboxes per second.
/// \par Threads  any thread.
class rate_limiter {
 public:
  using clock = std::chrono::steady_clock;

  /// Makes a rate limiter.
  /// \param burst     number of sandboxes that may be created without a pause between them; at least 1.
  /// \param interval  time until one more sandbox may be created; zero or more.
  /// \throws error{exec_errc::invalid_argument} if `burst` or `interval` is out of range.
  rate_limiter(std::size_t burst, std::chrono::milliseconds interval) {
    if (burst == 0) throw error(exec_errc::invalid_argument, "e2b: a rate_limiter lets at least one through");
    if (interval < std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "e2b: a rate_limiter's interval must not be negative");
    state_ = std::make_shared<state>();
    state_->interval = interval;
    state_->room = interval * static_cast<std::chrono::milliseconds::rep>(burst - 1);
  }

  /// Reserves the creation of one sandbox.
  /// \return  the time from which the sandbox may be created. It is never before `now`.
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

/// The version of the API calls that create a sandbox and connect to one.
enum class dialect {
  automatic,  ///< version 1, or version 2 if the service does not support version 1
  v1,         ///< version 1: `POST /sandboxes`
  v2,         ///< version 2: `POST /v2/sandboxes`
};

/// The options that select the account and the service. An option overrides its environment variable, and the variable
/// overrides the default. An empty variable counts as not set. A value.
class account_options {
 public:
  account_options() = default;

  /// The API key. Variable: E2B_API_KEY. Its format is not checked, because compatible services use other formats than
  /// E2B.
  secret_string api_key;
  /// The domain of the service. Variable: E2B_DOMAIN. Default: `e2b.app`.
  std::string domain;
  /// The base URL of the API that creates and ends sandboxes. Variable: E2B_API_URL. Default: `https://api.DOMAIN`.
  std::string api_url;
  /// The base URL for connections into sandboxes. `{port}`, `{id}` and `{domain}` in it are replaced. Variable:
  /// E2B_SANDBOX_URL. Default: a URL for each sandbox, `https://PORT-ID.DOMAIN`.
  std::string sandbox_url;
  /// The path of a PEM file with certificates to trust instead of the system's certificates. Default: empty, the
  /// system's certificates.
  std::string ca_file;
  /// The version of the API calls that create a sandbox and connect to one.
  dialect form = dialect::automatic;
  /// The time limit of one call, from its beginning to the end of the response, including repetitions.
  std::chrono::milliseconds request_timeout{std::chrono::seconds(60)};
  /// The pause before a failed call is repeated for the first time. Each further pause is twice as long. A random part
  /// is subtracted, so that many clients do not retry at the same time.
  std::chrono::milliseconds first_pause{250};
  /// True to allow `http://` to other machines. An attacker on the network can then read the key.
  bool allow_plain_http = false;
  /// The limit on how often sandboxes are created. Without a value, there is no limit.
  std::optional<rate_limiter> gate;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
