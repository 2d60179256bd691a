// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// Returns the refusal of a request whose `nextToken` comes from no list of this gateway.
inline http_refusal invalid_page_token() { return http_refusal(400, "Invalid next token"); }

/// The part of a list that a request selects, by the parameters `limit` and `nextToken` of its query.
class asked_page {
 public:
  asked_page() = default;
  /// \throws http_refusal 400 if a parameter is invalid.
  explicit asked_page(const query_fields& query) {
    if (const auto text = query.find("limit")) {
      const auto number = number_from<std::size_t>(*text);
      if (!number || *number < 1 || *number > 100)
        throw http_refusal(400, "validation error: parameter \"limit\" in query has an error: 1 to 100");
      limit = *number;
    }
    if (const auto text = query.find("nextToken"); text && !text->empty()) {
      token = number_from<std::uint64_t>(*text);
      if (!token) throw invalid_page_token();
    }
  }

  std::size_t limit = 100;             ///< the maximum number of items
  std::optional<std::uint64_t> token;  ///< the end of the previous page; absent for the first page
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
