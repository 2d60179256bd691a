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

/// The network rules of a sandbox: the addresses that the sandbox may connect to, and the access to its ports.
class network_rules {
 public:
  network_rules() = default;
  /// The addresses, address ranges or names (`*.example.com`) that are always reachable, even if `deny_out` contains
  /// them.
  std::vector<std::string> allow_out;
  /// The addresses or address ranges that are not reachable; `0.0.0.0/0` means all addresses. Must not be empty if
  /// `allow_out` contains a name.
  std::vector<std::string> deny_out;
  /// True if requests to the sandbox's ports need no token, false if each request needs one. Without a value, the
  /// service's default applies.
  std::optional<bool> allow_public_traffic;
};

/// The settings of a new sandbox. A value.
/// \par Source  E2B's API, openapi.yml, NewSandbox.
class create_options {
 public:
  create_options() = default;

  /// The template's id or name, or the name of a snapshot. Default: `base`.
  std::string template_id = "base";
  /// The time after which the service ends the sandbox, unless it is extended. At least one second; rounded up to whole
  /// seconds.
  std::chrono::milliseconds lifetime{std::chrono::seconds(300)};
  /// Names and values that the service stores with the sandbox and shows in lists.
  std::map<std::string, std::string> metadata;
  /// The environment variables of all processes in the sandbox.
  std::map<std::string, std::string> variables;
  /// True to allow internet access, false to deny it. Without a value, the service's default applies.
  std::optional<bool> allow_internet;
  /// The network rules. Without a value, the service's default applies.
  std::optional<network_rules> network;
  /// True if the sandbox's daemon requires a token in each request. Services that imitate E2B may support only `false`.
  bool secure = true;
  /// True if the service pauses the sandbox at the end of its lifetime, instead of killing it.
  bool auto_pause = false;
  /// Additional members of the JSON request. They override members of the same name that result from the other options.
  boost::json::object extra;

  /// Returns the lifetime in whole seconds, rounded up, as the service's API needs it.
  std::int64_t seconds() const { return std::chrono::ceil<std::chrono::seconds>(lifetime).count(); }

  /// Returns the JSON body of the request that creates the sandbox.
  /// \param form  the version of the API call; `automatic` means `v1`.
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
