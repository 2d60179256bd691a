// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/rate_limiter.hpp>
#include <cofferdam/core/secret_string.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

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
