// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/net/untrusted_json.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// The control plane's objects, to and from JSON. \par Source  E2B's API, openapi.yml.

namespace cofferdam::inline v0::detail {

inline constexpr std::string_view gateway_envd_version = "0.6.13";
inline constexpr std::string_view gateway_client_id = "6532622b";

/// RFC 3339 with nine digits of a second.
inline std::string gateway_time(std::chrono::system_clock::time_point when) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count();
  const auto seconds = static_cast<std::time_t>(since / 1'000'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::string fraction = std::to_string(since % 1'000'000'000);
  fraction.insert(0, 9 - std::min<std::size_t>(9, fraction.size()), '0');
  return std::string(text, size) + "." + fraction + "Z";
}

/// The object in a body; one that is empty counts as `{}`. \throws gateway_refusal
inline boost::json::object gateway_json_object(std::string_view text) {
  if (text.empty()) return {};
  std::error_code broken;
  const boost::json::value value = parse_untrusted_json(text, broken);
  if (broken) throw gateway_refusal(400, "validation error: request body has an error: failed to decode request body");
  if (!value.is_object()) throw gateway_refusal(400, "validation error: request body has an error: it is no object");
  return value.get_object();
}

class gateway_fields {
 public:
  explicit gateway_fields(const boost::json::object& object) noexcept : object_(object) {}

  /// Null where it is absent or `null`.
  const boost::json::value* find(std::string_view name) const noexcept {
    const boost::json::value* const found = object_.if_contains(json_view(name));
    return found == nullptr || found->is_null() ? nullptr : found;
  }
  std::optional<std::string> text(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found == nullptr) return std::nullopt;
    if (!found->is_string()) throw wrong(name, "a string");
    return std::string(found->get_string().data(), found->get_string().size());
  }
  std::optional<bool> boolean(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found == nullptr) return std::nullopt;
    if (!found->is_bool()) throw wrong(name, "a boolean");
    return found->get_bool();
  }
  std::optional<std::int64_t> number(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found == nullptr) return std::nullopt;
    if (!found->is_int64()) throw wrong(name, "an integer");
    return found->get_int64();
  }
  gateway_strings strings(std::string_view name) const {
    gateway_strings all;
    const boost::json::value* const found = find(name);
    if (found == nullptr) return all;
    if (!found->is_object()) throw wrong(name, "an object of strings");
    for (const auto& [key, value] : found->get_object()) {
      if (!value.is_string()) throw wrong(name, "an object of strings");
      all.emplace_back(std::string(key.data(), key.size()),
                       std::string(value.get_string().data(), value.get_string().size()));
    }
    return all;
  }
  /// Whether it is there and says anything: no null, `false`, or nothing in brackets.
  bool says_something(std::string_view name) const noexcept {
    const boost::json::value* const found = find(name);
    if (found == nullptr) return false;
    if (found->is_bool()) return found->get_bool();
    if (found->is_object()) return !found->get_object().empty();
    return !found->is_array() || !found->get_array().empty();
  }

 private:
  static gateway_refusal wrong(std::string_view name, std::string_view what) {
    return {400, "validation error: request body has an error: doesn't match schema: \"" + std::string(name) +
                     "\" must be " + std::string(what)};
  }
  const boost::json::object& object_;
};

inline boost::json::object gateway_strings_object(const gateway_strings& strings) {
  boost::json::object object;
  for (const auto& [key, value] : strings) object[gateway_json_text(key)] = gateway_json_text(value);
  return object;
}

/// Sandbox: what creating and connecting answer.
inline boost::json::object gateway_sandbox_object(const gateway_sandbox& sandbox) {
  const gateway_sandbox_settings& settings = sandbox.settings();
  boost::json::object object;
  object["sandboxID"] = settings.id;
  object["templateID"] = settings.template_name;
  object["alias"] = settings.template_name;
  object["clientID"] = json_view(gateway_client_id);
  object["envdVersion"] = json_view(gateway_envd_version);
  if (settings.token) object["envdAccessToken"] = *settings.token;
  object["domain"] = nullptr;
  if (sandbox.options().domain() != "localhost") object["domain"] = sandbox.options().domain();
  object["trafficAccessToken"] = nullptr;
  if (settings.traffic_token) object["trafficAccessToken"] = *settings.traffic_token;
  return object;
}

/// ListedSandbox.
inline boost::json::object gateway_listed_object(const gateway_sandbox& sandbox) {
  const gateway_sandbox_settings& settings = sandbox.settings();
  boost::json::object object;
  object["sandboxID"] = settings.id;
  object["templateID"] = settings.template_name;
  object["alias"] = settings.template_name;
  object["clientID"] = json_view(gateway_client_id);
  object["envdVersion"] = json_view(gateway_envd_version);
  object["startedAt"] = gateway_time(sandbox.started());
  object["endAt"] = gateway_time(sandbox.ends());
  object["state"] = sandbox.now() == gateway_sandbox::state::paused ? "paused" : "running";
  // What the environment has is not known here; the fields have to be there.
  object["cpuCount"] = 1;
  object["memoryMB"] = 512;
  object["diskSizeMB"] = 512;
  object["metadata"] = gateway_strings_object(settings.metadata);
  return object;
}

/// SandboxDetail.
inline boost::json::object gateway_detail_object(const gateway_sandbox& sandbox) {
  boost::json::object object = gateway_listed_object(sandbox);
  const gateway_sandbox_settings& settings = sandbox.settings();
  if (settings.token) object["envdAccessToken"] = *settings.token;
  object["domain"] = nullptr;
  if (sandbox.options().domain() != "localhost") object["domain"] = sandbox.options().domain();
  object["allowInternetAccess"] = sandbox.options().has_internet();
  boost::json::object lifecycle;
  lifecycle["autoResume"] = false;
  lifecycle["onTimeout"] = settings.pauses_at_end ? "pause" : "kill";
  object["lifecycle"] = std::move(lifecycle);
  return object;
}

/// The pairs of a `metadata` filter, which is encoded three times: the query's own has been undone.
inline gateway_strings gateway_metadata_filter(std::string_view text) {
  gateway_strings wanted;
  const gateway_query pairs(text);
  for (const auto& [key, value] : pairs.all())
    wanted.emplace_back(gateway_form_decode(key), gateway_form_decode(value));
  return wanted;
}

/// Which sandboxes a list has.
class gateway_list_filter {
 public:
  explicit gateway_list_filter(const gateway_query& query, bool is_old) {
    metadata_ = gateway_metadata_filter(query.value("metadata"));
    if (const auto state = query.find("state"); state && !is_old) {
      running_ = has(*state, "running");
      paused_ = has(*state, "paused");
    }
    if (is_old) {
      paused_ = false;
      most_ = SIZE_MAX;
      return;
    }
    if (const auto limit = query.find("limit")) {
      const auto number = gateway_number<std::size_t>(*limit);
      if (!number || *number < 1 || *number > 100)
        throw gateway_refusal(400, "validation error: parameter \"limit\" in query has an error: 1 to 100");
      most_ = *number;
    }
    if (const auto token = query.find("nextToken"); token && !token->empty()) {
      const auto number = gateway_number<std::uint64_t>(*token);
      if (!number) throw gateway_refusal(400, "Invalid next token");
      behind_ = *number;
    }
    is_ascending_ = query.value("order") == "asc";
    template_ = std::string(query.value("template"));
  }

  bool takes(const gateway_sandbox& one) const {
    const bool is_paused = one.now() == gateway_sandbox::state::paused;
    if (one.now() == gateway_sandbox::state::ended || !(is_paused ? paused_ : running_)) return false;
    if (!template_.empty() && template_ != one.settings().template_name) return false;
    const gateway_strings& has = one.settings().metadata;
    return std::all_of(metadata_.begin(), metadata_.end(),
                       [&](const auto& pair) { return std::find(has.begin(), has.end(), pair) != has.end(); });
  }
  bool is_behind(const gateway_sandbox& one) const noexcept {
    if (!behind_) return true;
    return is_ascending_ ? one.settings().number > *behind_ : one.settings().number < *behind_;
  }
  std::size_t most() const noexcept { return most_; }
  bool is_ascending() const noexcept { return is_ascending_; }

 private:
  static bool has(std::string_view list, std::string_view word) {
    while (!list.empty()) {
      const std::string_view one = list.substr(0, list.find(','));
      if (one == word) return true;
      list.remove_prefix(std::min(list.size(), one.size() + 1));
    }
    return false;
  }
  gateway_strings metadata_;
  std::string template_;
  std::size_t most_ = 100;
  std::optional<std::uint64_t> behind_;
  bool running_ = true;
  bool paused_ = true;
  bool is_ascending_ = false;
};

}  // namespace cofferdam::inline v0::detail
