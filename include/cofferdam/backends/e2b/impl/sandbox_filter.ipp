// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/sandbox_filter.hpp>
#include <cofferdam/detail/core/utc_time.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>

#include <string>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

COFFERDAM_DECL std::string sandbox_filter::query() const {
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

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
