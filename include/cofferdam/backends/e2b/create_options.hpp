// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/account_options.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// The network access of a sandbox: outgoing connections, and access to its ports.
/// \par Source  E2B's API, openapi.yml.
class network_rules {
 public:
  network_rules() = default;
  /// Addresses, ranges, or names (`*.example.com`) that are always reachable, even if they are denied below.
  std::vector<std::string> allow_out;
  /// Addresses or ranges that are not reachable; `0.0.0.0/0` is all. Needed if `allow_out` has a name.
  std::vector<std::string> deny_out;
  /// False: each request to its ports needs a token.
  std::optional<bool> allow_public_traffic;
};

/// The settings of a new sandbox. A value.
/// \par Source  E2B's API, openapi.yml, NewSandbox.
class create_options {
 public:
  create_options() = default;

  /// A template's id or name; default `base`.
  std::string template_id = "base";
  /// The lifetime, unless it is extended; whole seconds, rounded up; at least one.
  std::chrono::milliseconds lifetime{std::chrono::seconds(300)};
  std::map<std::string, std::string> metadata;
  /// Environment variables of all its processes.
  std::map<std::string, std::string> variables;
  std::optional<bool> allow_internet;
  std::optional<network_rules> network;
  /// The daemon requires a token in each request. Services that imitate E2B may support only `false`.
  bool secure = true;
  /// Pauses the sandbox at the end of its lifetime, instead of killing it.
  bool auto_pause = false;
  /// Overrides all of the above in the request.
  boost::json::object extra;

  /// Returns the lifetime in seconds, as in the service's API.
  std::int64_t seconds() const { return std::chrono::ceil<std::chrono::seconds>(lifetime).count(); }

  /// Returns the body of the request.
  /// \param form  v1 or v2; automatic is v1.
  /// \throws error{exec_errc::invalid_argument} for text that is not UTF-8, which JSON cannot contain.
  boost::json::object body(dialect form) const {
    boost::json::object result;
    result["templateID"] = text(template_id);
    result["timeout"] = seconds();
    if (form != dialect::v2) result["secure"] = secure;
    if (!metadata.empty()) result["metadata"] = texts(metadata);
    if (!variables.empty()) result["envVars"] = texts(variables);
    if (allow_internet) result["allow_internet_access"] = *allow_internet;
    if (auto_pause) result["autoPause"] = true;
    if (network) {
      boost::json::object rules;
      if (!network->allow_out.empty()) rules["allowOut"] = texts(network->allow_out);
      if (!network->deny_out.empty()) rules["denyOut"] = texts(network->deny_out);
      if (network->allow_public_traffic) rules["allowPublicTraffic"] = *network->allow_public_traffic;
      result["network"] = std::move(rules);
    }
    for (const auto& [key, value] : extra) result[key] = value;
    return result;
  }

 private:
  static boost::json::string text(const std::string& value) {
    if (!cofferdam::detail::is_valid_utf8(value))
      throw error(exec_errc::invalid_argument,
                  "e2b: an option of the sandbox is not UTF-8, which its request cannot hold");
    return boost::json::string(value.data(), value.size());
  }
  static boost::json::object texts(const std::map<std::string, std::string>& pairs) {
    boost::json::object object;
    for (const auto& [key, value] : pairs) object[text(key)] = text(value);
    return object;
  }
  static boost::json::array texts(const std::vector<std::string>& values) {
    boost::json::array array;
    for (const std::string& value : values) array.push_back(text(value));
    return array;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
