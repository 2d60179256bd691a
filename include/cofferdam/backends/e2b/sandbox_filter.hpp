// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/utc_time.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// The states of a sandbox for a `sandbox_filter`.
enum class sandbox_states { all, running, paused };

/// Selects sandboxes of an account. All conditions must hold. A value type.
/// \par Source  E2B's API, openapi.yml: GET /v2/sandboxes.
class sandbox_filter {
 public:
  sandbox_filter() = default;

  /// The state of the sandboxes. Default: running and paused ones.
  sandbox_states states = sandbox_states::all;
  /// Names and values that the sandboxes have in their metadata.
  std::map<std::string, std::string> metadata;
  /// The id or the name of the template from which the sandboxes were made; empty means any template.
  std::string template_id;
  /// The sandboxes were started after this time. Absent: at any time.
  std::optional<std::chrono::system_clock::time_point> started_after;
  /// Lists the oldest sandboxes first. Default: the newest first.
  bool oldest_first = false;
  /// The maximum number of sandboxes. Default: no limit.
  std::size_t max_count = SIZE_MAX;

  /// Returns the conditions as the query of an HTTP request, without `?` and without the page size.
  std::string query() const {
    using cofferdam::detail::percent_encoded;
    std::string text = states == sandbox_states::running  ? "state=running"
                       : states == sandbox_states::paused ? "state=paused"
                                                          : "state=running,paused";
    // The service decodes the names and the values three times: as a query, as a form, and by themselves.
    std::string pairs;
    for (const auto& [name, value] : metadata) {
      if (!pairs.empty()) pairs += '&';
      pairs += percent_encoded(percent_encoded(name)) + "=" + percent_encoded(percent_encoded(value));
    }
    if (!pairs.empty()) text += "&metadata=" + percent_encoded(pairs);
    if (!template_id.empty()) text += "&template=" + percent_encoded(template_id);
    if (started_after) text += "&startedAfter=" + percent_encoded(cofferdam::detail::utc_time(*started_after, 3));
    if (oldest_first) text += "&order=asc";
    return text;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
