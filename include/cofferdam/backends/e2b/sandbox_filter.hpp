// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
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
  std::string query() const;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/e2b/impl/sandbox_filter.ipp>
#endif
