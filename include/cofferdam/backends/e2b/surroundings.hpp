// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/net/proxy.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace cofferdam::inline v0::e2b {

/// The environment variables that the E2B backend looks at. A value, so that tests can make one up.
class surroundings {
 public:
  using variable_map = std::map<std::string, std::string, std::less<>>;

  /// No variables at all.
  surroundings() = default;
  explicit surroundings(variable_map variables) : variables_(std::move(variables)) {}

  /// This process's own, copied now.
  static surroundings of_this_process() {
    variable_map variables;
    for (char** one = ::environ; one != nullptr && *one != nullptr; ++one) {
      const std::string_view text(*one);
      if (!text.starts_with("E2B_") && !is_about_proxies(text.substr(0, text.find('=')))) continue;
      const auto equals = text.find('=');
      if (equals != std::string_view::npos)
        variables.emplace(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
    }
    return surroundings(std::move(variables));
  }

  /// What HTTPS_PROXY and NO_PROXY say, in small letters or in large ones; the small ones win, as with other programs.
  /// \throws error{errc::invalid_argument} for a proxy that is none.
  proxy_rules proxies() const {
    const auto either = [this](std::string_view small, std::string_view large) {
      const std::string value = said(small);
      return value.empty() ? said(large) : value;
    };
    return proxy_rules(either("https_proxy", "HTTPS_PROXY"), either("no_proxy", "NO_PROXY"));
  }

  /// A variable's value; empty where it is not set, which means the same to E2B.
  std::string said(std::string_view name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::string() : found->second;
  }

 private:
  static bool is_about_proxies(std::string_view name) {
    return name == "https_proxy" || name == "HTTPS_PROXY" || name == "no_proxy" || name == "NO_PROXY";
  }

  variable_map variables_;
};

}  // namespace cofferdam::inline v0::e2b
