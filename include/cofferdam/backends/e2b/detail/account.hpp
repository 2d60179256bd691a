// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/account_options.hpp>
#include <cofferdam/backends/e2b/surroundings.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/backends/e2b/endpoint.hpp>
#include <cofferdam/net/tls.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// An account: the service and the API key, from `account_options` and the environment variables.
class account {
 public:
  /// Determines the account from options and environment variables.
  /// \throws error{exec_errc::invalid_argument} if there is no API key (the message explains where to get one), or if a
  ///     URL is invalid or not protected by TLS.
  static account resolve(const account_options& options, const surroundings& from) {
    account result;
    const auto chosen = [&](const std::string& option, std::string_view variable, std::string_view otherwise) {
      if (!option.empty()) return option;
      const std::string value = from.value(variable);
      return value.empty() ? std::string(otherwise) : value;
    };
    result.key_ = options.api_key.empty() ? from.key() : options.api_key;
    const bool debug = from.value("E2B_DEBUG") == "true";
    if (result.key_.empty() && !debug)
      throw error(
          exec_errc::invalid_argument,
          "e2b: no API key: set the environment variable E2B_API_KEY (or api_key() in C++); create a key in the "
          "service's dashboard");
    result.domain_ = chosen(options.domain, "E2B_DOMAIN", "e2b.app");
    result.api_ = endpoint::parse(
        chosen(options.api_url, "E2B_API_URL", debug ? "http://localhost:3000" : "https://api." + result.domain_),
        "api_url (E2B_API_URL, E2B_DOMAIN)");
    result.sandbox_url_ = chosen(options.sandbox_url, "E2B_SANDBOX_URL", debug ? "http://localhost:{port}" : "");
    result.options_ = options;
    result.debug_ = debug;
    result.require_protected(result.api_, "api_url (E2B_API_URL)");
    if (!options.ca_file.empty()) result.tls_.trust_file(options.ca_file);
    result.tls_.through(from.proxies());
    return result;
  }

  const secret_string& key() const noexcept { return key_; }
  /// Returns true if E2B_DEBUG is "true". In this mode a daemon on this machine takes the place of every sandbox, and
  /// no sandbox is created.
  bool is_debug() const noexcept { return debug_; }
  const std::string& domain() const noexcept { return domain_; }
  const endpoint& api() const noexcept { return api_; }
  const account_options& options() const noexcept { return options_; }
  const tls_settings& tls() const noexcept { return tls_; }

  /// Returns true if the address of a port differs from those of other ports and other sandboxes.
  bool has_port_addresses() const noexcept {
    const bool has_port = sandbox_url_.find("{port}") != std::string::npos;
    return sandbox_url_.empty() || is_debug() || (has_port && sandbox_url_.find("{id}") != std::string::npos);
  }

  /// Returns the address of a port of a sandbox.
  /// \param domain  the domain from the service's information about the sandbox. Empty means the domain of the account.
  /// \throws error{exec_errc::invalid_argument} if the address is invalid or not protected by TLS.
  endpoint sandbox(std::uint16_t port, const std::string& id, const std::string& domain) const {
    endpoint there = sandbox_endpoint(sandbox_url_, port, id, domain.empty() ? domain_ : domain);
    require_protected(there, "sandbox_url (E2B_SANDBOX_URL)");
    return there;
  }

 private:
  void require_protected(const endpoint& there, std::string_view setting) const {
    if (there.is_tls() || there.is_loopback() || options_.allow_plain_http) return;
    throw error(exec_errc::invalid_argument, "e2b: " + std::string(setting) +
                                                 " uses http:// to another machine, so that the key could be read on "
                                                 "the network: use https://, or call allow_plain_http()");
  }

  secret_string key_;
  std::string domain_;
  endpoint api_;
  std::string sandbox_url_;
  account_options options_;
  tls_settings tls_;
  bool debug_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
