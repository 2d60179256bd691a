// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/asked_page.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

// Converts the objects of the control plane (the API that manages sandboxes) to and from JSON.
// \par Source  E2B's API, openapi.yml.

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

inline constexpr std::string_view envd_version = "0.6.13";
inline constexpr std::string_view client_id = "6532622b";

/// Parses a time as RFC 3339 defines it, such as `2026-01-31T12:00:00.5+01:00`.
/// \return  no value for any other text.
inline std::optional<std::chrono::system_clock::time_point> time_from(std::string_view text) {
  const auto number = [&](std::size_t at, std::size_t digits) -> std::optional<unsigned> {
    if (text.size() < at + digits) return std::nullopt;
    return number_from<unsigned>(text.substr(at, digits));
  };
  const auto is = [&](std::size_t at, std::string_view any_of) {
    return at < text.size() && any_of.find(text[at]) != std::string_view::npos;
  };
  const auto year = number(0, 4);
  const auto month = number(5, 2);
  const auto day = number(8, 2);
  const auto hour = number(11, 2);
  const auto minute = number(14, 2);
  const auto second = number(17, 2);
  if (!year || !month || !day || !hour || !minute || !second || !is(4, "-") || !is(7, "-") || !is(10, "Tt ") ||
      !is(13, ":") || !is(16, ":") || *hour > 23 || *minute > 59 || *second > 60)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                                         std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  std::chrono::nanoseconds past =
      std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
  std::size_t at = 19;
  if (is(at, ".")) {
    std::chrono::nanoseconds unit{100'000'000};
    for (++at; is(at, "0123456789"); ++at, unit /= 10) past += unit * (text[at] - '0');
  }
  if (is(at, "+- ")) {  // a plus sign that was not encoded in the query arrives as a blank
    const auto hours = number(at + 1, 2);
    const auto minutes = number(at + 4, 2);
    if (!hours || !minutes || !is(at + 3, ":")) return std::nullopt;
    const std::chrono::minutes offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
    past += text[at] == '-' ? offset : -offset;
    at += 6;
  } else if (is(at, "Zz")) {
    ++at;
  }
  if (at != text.size()) return std::nullopt;
  return std::chrono::time_point_cast<std::chrono::system_clock::duration>(std::chrono::sys_days(date) + past);
}

/// Parses the JSON object in a request's body. An empty body counts as `{}`.
/// \throws http_refusal 400 if the body is not a JSON object.
inline boost::json::object json_object_of(std::string_view text) {
  if (text.empty()) return {};
  std::error_code broken;
  const boost::json::value value = cofferdam::detail::parse_untrusted_json(text, broken);
  if (broken) throw http_refusal(400, "validation error: request body has an error: failed to decode request body");
  if (!value.is_object()) throw http_refusal(400, "validation error: request body has an error: it is not an object");
  return value.get_object();
}

/// A reader for the members of a request's JSON object. It throws http_refusal 400 for a member of a wrong type.
class api_fields {
 public:
  explicit api_fields(const boost::json::object& object) noexcept : object_(object) {}

  /// Returns a member; null if it is absent or has the JSON value null.
  const boost::json::value* find(std::string_view name) const noexcept {
    const boost::json::value* const found = object_.if_contains(cofferdam::detail::json_view(name));
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
    if (!found->is_number()) throw wrong(name, "an integer");
    std::error_code inexact;  // of a number with a fraction, or too large; `60.0` is an integer too
    const auto number = found->to_number<std::int64_t>(inexact);
    if (inexact) throw wrong(name, "an integer");
    return number;
  }
  string_pairs strings(std::string_view name) const {
    string_pairs pairs;
    const boost::json::value* const found = find(name);
    if (found == nullptr) return pairs;
    if (!found->is_object()) throw wrong(name, "an object of strings");
    for (const auto& [key, value] : found->get_object()) {
      if (!value.is_string()) throw wrong(name, "an object of strings");
      pairs.emplace_back(std::string(key.data(), key.size()),
                         std::string(value.get_string().data(), value.get_string().size()));
    }
    return pairs;
  }

 private:
  static http_refusal wrong(std::string_view name, std::string_view what) {
    return {400, "validation error: request body has an error: doesn't match schema: \"" + std::string(name) +
                     "\" must be " + std::string(what)};
  }
  const boost::json::object& object_;
};

inline boost::json::object strings_object(const string_pairs& strings) {
  boost::json::object object;
  for (const auto& [key, value] : strings) object[valid_json_text(key)] = valid_json_text(value);
  return object;
}

/// Adds the member `notice` to the description of a sandbox that its client wants to be paused, but that cannot be
/// paused. E2B's API has no such member, and its clients ignore it.
inline void add_notice(boost::json::object& object, const served_sandbox& sandbox) {
  if (!sandbox.settings().pauses_at_end || sandbox.can_pause()) return;
  object["notice"] =
      "the backend of this gateway cannot pause a sandbox: at the end of its lifetime, this one keeps running for up "
      "to " +
      std::to_string(sandbox.options().max_kept().count()) + " s, until a request sets a new lifetime or kills it";
}

/// Makes the object `Sandbox`, the answer to create and connect.
inline boost::json::object sandbox_object(const served_sandbox& sandbox) {
  const sandbox_settings& settings = sandbox.settings();
  boost::json::object object;
  object["sandboxID"] = settings.id;
  object["templateID"] = settings.template_name;
  object["alias"] = settings.template_name;
  object["clientID"] = cofferdam::detail::json_view(client_id);
  object["envdVersion"] = cofferdam::detail::json_view(envd_version);
  if (settings.token) object["envdAccessToken"] = *settings.token;
  object["domain"] = settings.domain;
  object["trafficAccessToken"] = nullptr;
  if (settings.traffic_token) object["trafficAccessToken"] = *settings.traffic_token;
  add_notice(object, sandbox);
  return object;
}

/// Returns the memory of this machine in bytes.
inline std::uint64_t memory_of_this_machine() noexcept {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

/// Makes the object `ListedSandbox`, an entry in the list of sandboxes.
inline boost::json::object listed_object(const served_sandbox& sandbox) {
  const sandbox_settings& settings = sandbox.settings();
  boost::json::object object;
  object["sandboxID"] = settings.id;
  object["templateID"] = settings.template_name;
  object["alias"] = settings.template_name;
  object["clientID"] = cofferdam::detail::json_view(client_id);
  object["envdVersion"] = cofferdam::detail::json_view(envd_version);
  object["startedAt"] = timestamp(sandbox.started());
  object["endAt"] = timestamp(sandbox.ends());
  object["state"] = sandbox.now() == served_sandbox::state::paused ? "paused" : "running";
  const std::size_t cpus = sandbox.options().shown_cpus();
  const std::uint64_t memory = sandbox.options().shown_memory();
  object["cpuCount"] = cpus != 0 ? cpus : std::max(std::thread::hardware_concurrency(), 1U);
  object["memoryMB"] = (memory != 0 ? memory : memory_of_this_machine()) >> 20U;
  object["diskSizeMB"] = 512;  // clients require this member, but its real value is not known here
  object["metadata"] = strings_object(settings.metadata);
  return object;
}

/// Makes the object `SandboxDetail`, the answer to a request for one sandbox.
inline boost::json::object detail_object(const served_sandbox& sandbox) {
  boost::json::object object = listed_object(sandbox);
  const sandbox_settings& settings = sandbox.settings();
  if (settings.token) object["envdAccessToken"] = *settings.token;
  object["domain"] = settings.domain;
  object["allowInternetAccess"] = sandbox.options().has_internet();
  boost::json::object lifecycle;
  lifecycle["autoResume"] = settings.resumes_on_request;
  lifecycle["onTimeout"] = settings.pauses_at_end ? "pause" : "kill";
  object["lifecycle"] = std::move(lifecycle);
  add_notice(object, sandbox);
  return object;
}

/// Decodes the `metadata` filter of a query. Clients percent-encode it three times. The decoding of the query has
/// undone the outermost encoding; this function undoes the other two.
inline string_pairs metadata_filter(std::string_view text) {
  string_pairs filter;
  const query_fields pairs(text);
  for (const auto& [key, value] : pairs.all()) filter.emplace_back(form_decode(key), form_decode(value));
  return filter;
}

/// The filter, the order and the page that a request for the list of sandboxes has selected.
class list_filter {
 public:
  explicit list_filter(const query_fields& query, bool is_old) {
    metadata_ = metadata_filter(query.value("metadata"));
    if (const auto state = query.find("state"); state && !is_old) {
      running_ = has(*state, "running");
      paused_ = has(*state, "paused");
    }
    if (is_old) {
      paused_ = false;
      page_.limit = SIZE_MAX;
      return;
    }
    page_ = asked_page(query);
    if (const auto after = query.find("startedAfter"); after && !after->empty()) {
      started_after_ = time_from(*after);
      if (!started_after_)
        throw http_refusal(400, "validation error: parameter \"startedAfter\" in query has an error: not a time");
    }
    is_ascending_ = query.value("order") == "asc";
    const std::string_view name = query.value("template");
    for (const char c : name.substr(0, name.find(':'))) template_ += cofferdam::detail::lowered(c);
  }

  bool takes(const served_sandbox& sandbox) const {
    const bool is_paused = sandbox.now() == served_sandbox::state::paused;
    if (sandbox.now() == served_sandbox::state::ended || !(is_paused ? paused_ : running_)) return false;
    if (!template_.empty() && template_ != sandbox.settings().template_name) return false;
    if (started_after_ && sandbox.started() <= *started_after_) return false;
    const string_pairs& has = sandbox.settings().metadata;
    return std::all_of(metadata_.begin(), metadata_.end(),
                       [&](const auto& pair) { return std::find(has.begin(), has.end(), pair) != has.end(); });
  }
  /// Returns true if the sandbox comes after the previous page.
  bool is_behind(const served_sandbox& sandbox) const noexcept {
    if (!page_.token) return true;
    return is_ascending_ ? sandbox.settings().number > *page_.token : sandbox.settings().number < *page_.token;
  }
  std::size_t limit() const noexcept { return page_.limit; }
  bool is_ascending() const noexcept { return is_ascending_; }

 private:
  static bool has(std::string_view list, std::string_view word) {
    while (!list.empty()) {
      const std::string_view item = list.substr(0, list.find(','));
      if (item == word) return true;
      list.remove_prefix(std::min(list.size(), item.size() + 1));
    }
    return false;
  }
  string_pairs metadata_;
  std::string template_;
  asked_page page_;
  std::optional<std::chrono::system_clock::time_point> started_after_;
  bool running_ = true;
  bool paused_ = true;
  bool is_ascending_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
