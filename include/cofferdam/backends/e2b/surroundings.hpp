// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/net/proxy.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// The environment variables that the E2B backend reads. A value type, so that tests can provide other variables than
/// those of the process.
class surroundings {
 public:
  /// The type of a set of environment variables: values by name.
  using variable_map = std::map<std::string, std::string, std::less<>>;

  /// Makes an object without any environment variables.
  surroundings() = default;
  /// Holds these variables. The key in them is moved into protected memory and overwritten in its old place.
  explicit surroundings(variable_map variables) : variables_(std::move(variables)) {
    const auto found = variables_.find(key_name);
    if (found == variables_.end()) return;
    key_ = secret_string(found->second);
    cofferdam::detail::wipe(found->second);
    variables_.erase(found);
  }

  /// Returns a copy of those environment variables of this process that the E2B backend reads: the variables whose
  /// names begin with `E2B_`, and the variables about proxies. From then on, core dumps of this process leave out the
  /// memory that contains the API key (E2B_API_KEY), both in the copy and in the process's own environment. The key
  /// stays in the process's environment.
  static surroundings of_this_process() {
    surroundings result;
    for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text(*entry);
      const auto equals = text.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string_view name = text.substr(0, equals);
      if (name == key_name) {
        cofferdam::detail::keep_out_of_core_dumps(text);
        result.key_ = secret_string(std::string(text.substr(equals + 1)));
      } else if (name.starts_with("E2B_") || is_about_proxies(name)) {
        result.variables_.emplace(std::string(name), std::string(text.substr(equals + 1)));
      }
    }
    return result;
  }

  /// Returns the proxy rules in the environment variables HTTPS_PROXY and NO_PROXY. The lower-case variables
  /// (https_proxy, no_proxy) take precedence, as in other programs.
  /// \throws error{exec_errc::invalid_argument} if the address of a proxy is invalid.
  proxy_rules proxies() const {
    const auto either = [this](std::string_view small, std::string_view large) {
      const std::string lower_case = value(small);
      return lower_case.empty() ? value(large) : lower_case;
    };
    return proxy_rules(either("https_proxy", "HTTPS_PROXY"), either("no_proxy", "NO_PROXY"));
  }

  /// Returns the value of E2B_API_KEY; empty if the variable is not set.
  const secret_string& key() const noexcept { return key_; }
  /// Returns the value of any variable except the key; empty if the variable is not set. E2B treats an empty variable
  /// as not set.
  std::string value(std::string_view name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::string() : found->second;
  }

 private:
  static bool is_about_proxies(std::string_view name) {
    return name == "https_proxy" || name == "HTTPS_PROXY" || name == "no_proxy" || name == "NO_PROXY";
  }

  static constexpr std::string_view key_name = "E2B_API_KEY";

  variable_map variables_;
  secret_string key_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
