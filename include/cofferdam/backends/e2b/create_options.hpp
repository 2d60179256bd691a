// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/account_options.hpp>
#include <cofferdam/backends/e2b/suspend_options.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
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
  /// The `Host` field that servers in the sandbox get; `${PORT}` in it is replaced. Empty: the default of the service.
  /// It has an effect only at creation.
  std::string mask_request_host;
  /// HTTP fields that the service adds to the sandbox's requests to a host, or replaces in them: first the name of the
  /// host, then the fields by name. The sandbox itself does not see them. They do not allow access to the host.
  std::map<std::string, std::map<std::string, secret_string>> added_fields;

  /// Returns the rules as a JSON object.
  /// \param is_new  true for a new sandbox, false for a change of a sandbox's rules.
  /// \throws error{exec_errc::invalid_argument} if a text is not UTF-8, because JSON cannot contain it.
  boost::json::object fields(bool is_new) const;
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
  /// The state that such a pause stores.
  stored_state auto_pause_stores = stored_state::memory_and_files;
  /// Resumes a paused sandbox when a request for it arrives. It needs `auto_pause`, and a pause that stores the memory.
  bool auto_resume = false;
  /// Volumes of the account, and the absolute paths at which the sandbox has them: the path, then the name of the
  /// volume.
  std::map<std::string, std::string> volumes;
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
    if (auto_pause && auto_pause_stores == stored_state::files) result["autoPauseMemory"] = false;
    if (auto_resume) {
      boost::json::object resumes;
      resumes["enabled"] = true;
      result["autoResume"] = std::move(resumes);
    }
    if (network) result["network"] = network->fields(true);
    if (!volumes.empty()) {
      boost::json::array mounts;
      for (const auto& [path, name] : volumes) {
        boost::json::object mount;
        mount["name"] = text(name);
        mount["path"] = text(path);
        mounts.push_back(std::move(mount));
      }
      result["volumeMounts"] = std::move(mounts);
    }
    for (const auto& [key, value] : extra) result[key] = value;
    return result;
  }

 private:
  friend class network_rules;

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

inline boost::json::object network_rules::fields(bool is_new) const {
  boost::json::object result;
  if (!allow_out.empty()) result["allowOut"] = create_options::texts(allow_out);
  if (!deny_out.empty()) result["denyOut"] = create_options::texts(deny_out);
  if (is_new && allow_public_traffic) result["allowPublicTraffic"] = *allow_public_traffic;
  if (is_new && !mask_request_host.empty()) result["maskRequestHost"] = create_options::text(mask_request_host);
  boost::json::object rules;
  for (const auto& [host, added] : added_fields) {
    boost::json::object headers;
    for (const auto& [name, value] : added)
      headers[create_options::text(name)] = create_options::text(std::string(value.reveal()));
    boost::json::object transform;
    transform["headers"] = std::move(headers);
    boost::json::object rule;
    rule["transform"] = std::move(transform);
    boost::json::array list;
    list.push_back(std::move(rule));
    rules[create_options::text(host)] = std::move(list);
  }
  if (!rules.empty()) result["rules"] = std::move(rules);
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
