// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/api_objects.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <string>
#include <string_view>

// Interprets the wishes in a request to create or change a sandbox. A wish that the gateway cannot fulfil is refused
// only if the client would rely on it.

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// Returns true if a value in a request is a wish. null, `false`, an empty text, and objects and lists of only such
/// values are not: many programs send them for every member that they know.
inline bool is_wish(const boost::json::value& value) noexcept {
  if (value.is_null()) return false;
  if (value.is_bool()) return value.get_bool();
  if (value.is_string()) return !value.get_string().empty();
  if (value.is_array()) return std::any_of(value.get_array().begin(), value.get_array().end(), is_wish);
  if (value.is_object())
    return std::any_of(value.get_object().begin(), value.get_object().end(),
                       [](const auto& member) { return is_wish(member.value()); });
  return true;
}

/// Returns true if the member exists and is a wish.
inline bool has_wish(const boost::json::object& object, std::string_view name) noexcept {
  const boost::json::value* const found = object.if_contains(cofferdam::detail::json_view(name));
  return found != nullptr && is_wish(*found);
}

/// Returns true if the member is the JSON value `false`.
inline bool is_off(const boost::json::object& object, std::string_view name) noexcept {
  const boost::json::value* const found = object.if_contains(cofferdam::detail::json_view(name));
  return found != nullptr && found->is_bool() && !found->get_bool();
}

/// Returns the member of an object, if it is an object itself; otherwise an empty object.
inline const boost::json::object& object_at(const boost::json::object& object, std::string_view name) {
  static const boost::json::object empty;
  const boost::json::value* const found = object.if_contains(cofferdam::detail::json_view(name));
  return found != nullptr && found->is_object() ? found->get_object() : empty;
}

/// Refuses network rules that clients would rely on and that the gateway cannot enforce.
/// \param rules    the object with `allowOut`, `denyOut` and `rules`.
/// \param forbids  true if the request also forbids all access to the internet.
/// \throws http_refusal 501 for a rule that the gateway cannot enforce.
inline void check_network(const boost::json::object& rules, bool forbids, const e2b_gateway::options& options) {
  if (has_wish(rules, "rules"))
    throw http_refusal(501,
                       "network: this gateway cannot change the requests that leave a sandbox; leave rules out, and "
                       "pass what a command needs in its variables");
  const bool denies = forbids || has_wish(rules, "denyOut");
  if (!denies) return;  // addresses that are allowed without a denial change nothing
  if (options.has_internet())
    throw http_refusal(
        501, std::string(forbids ? "allow_internet_access" : "network") +
                 ": this gateway cannot remove the network of a sandbox; start it with one that has none: cofferdam "
                 "serve --provider jail or docker, without --network (in C++, "
                 "e2b_gateway::options::without_internet)");
  if (has_wish(rules, "allowOut"))
    throw http_refusal(501,
                       "network: the sandboxes of this gateway have no network at all; leave allowOut out, and upload "
                       "what they need");
}

/// Refuses features that clients would rely on and that the gateway does not have.
/// \param object  the request to create a sandbox.
/// \throws http_refusal 501 for such a feature.
inline void refuse_missing_features(const boost::json::object& object, const e2b_gateway::options& options) {
  check_network(object_at(object, "network"), is_off(object, "allow_internet_access"), options);
  if (has_wish(object, "volumeMounts"))
    throw http_refusal(501, "volumeMounts: this gateway has no volumes; leave it out, and upload the files instead");
  if (has_wish(object, "mcp"))
    throw http_refusal(
        501, "mcp: this gateway starts no MCP server in a sandbox; leave it out, and start the server as a command");
  if (has_wish(object, "iam"))
    throw http_refusal(501,
                       "iam: this gateway issues no tokens for a sandbox; leave it out, and pass a token in envVars");
}

/// The end of a sandbox's lifetime, as a request to create the sandbox describes it.
class requested_lifecycle {
 public:
  /// \param object  the request. It has `autoPause` and `autoResume`, or `lifecycle` as in E2B's description of a
  ///                sandbox.
  explicit requested_lifecycle(const boost::json::object& object) {
    const boost::json::object& lifecycle = object_at(object, "lifecycle");
    pauses_ = has_wish(object, "autoPause");
    resumes_ = is_enabled(object, "autoResume") || is_enabled(lifecycle, "autoResume");
    for (const std::string_view name : {"onTimeout", "on_timeout"}) {
      const boost::json::value* action = lifecycle.if_contains(cofferdam::detail::json_view(name));
      if (action != nullptr && action->is_object()) action = action->get_object().if_contains("action");
      if (action != nullptr && action->is_string()) pauses_ = action->get_string() == "pause";
    }
  }

  /// Returns true if the sandbox is to be paused at the end of its lifetime, and not killed.
  bool pauses() const noexcept { return pauses_; }
  /// Returns true if requests to the paused sandbox are to resume it.
  bool resumes() const noexcept { return resumes_; }

 private:
  static bool is_enabled(const boost::json::object& object, std::string_view name) {
    const boost::json::object& details = object_at(object, name);
    return details.empty() ? has_wish(object, name) : has_wish(details, "enabled");
  }

  bool pauses_ = false;
  bool resumes_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
