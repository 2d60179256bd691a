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

/// Network rules of a sandbox: for its outgoing connections, and for access to its ports.
/// \par Source  E2B's API, openapi.yml.
class network_rules {
 public:
  network_rules() = default;
  /// Addresses, address ranges, or names (`*.example.com`) that the sandbox may always reach. They take precedence over
  /// `deny_out`.
  std::vector<std::string> allow_out;
  /// Addresses or address ranges that the sandbox may not reach; `0.0.0.0/0` stands for all. The service requires this
  /// list if `allow_out` contains a name.
  std::vector<std::string> deny_out;
  /// False: each request to a port of the sandbox needs a token. True: no token is needed. Absent: the default of the
  /// service.
  std::optional<bool> allow_public_traffic;
};

/// Settings of a new sandbox. A value type.
/// \par Source  E2B's API, openapi.yml, NewSandbox.
class create_options {
 public:
  create_options() = default;

  /// The id or name of a template, or the name of a snapshot. Default: `base`.
  std::string template_id = "base";
  /// The lifetime of the sandbox, unless it is extended. It is rounded up to whole seconds. At least one second.
  /// Default: 5 minutes.
  std::chrono::milliseconds lifetime{std::chrono::seconds(300)};
  /// Names and values that the service stores with the sandbox.
  std::map<std::string, std::string> metadata;
  /// Environment variables of all processes in the sandbox.
  std::map<std::string, std::string> variables;
  /// True: the sandbox may access the internet. False: it may not. Absent: the default of the service.
  std::optional<bool> allow_internet;
  /// Detailed network rules. Absent: the default of the service.
  std::optional<network_rules> network;
  /// Requires an access token in each request to the sandbox's daemon. Compatible services may support only `false`.
  bool secure = true;
  /// Pauses the sandbox at the end of its lifetime, instead of ending it.
  bool auto_pause = false;
  /// Further members of the request's JSON object. They replace members of the same name.
  boost::json::object extra;

  /// Returns the lifetime in whole seconds, the unit of the service's API.
  std::int64_t seconds() const { return std::chrono::ceil<std::chrono::seconds>(lifetime).count(); }

  /// Returns the JSON body of the request that creates the sandbox.
  /// \param form  the form of the call; `automatic` gives the body of `v1`.
  /// \throws error{exec_errc::invalid_argument} if a text is not UTF-8, because JSON cannot contain it.
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
      throw error(exec_errc::invalid_argument, "e2b: an option of the sandbox is not UTF-8; only UTF-8 can be sent");
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
