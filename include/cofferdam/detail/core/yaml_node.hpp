// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The keys of a map that were read already.
using yaml_keys = std::set<std::string>;

/// A value of a YAML document. Scalars are kept as text: the reader of a document knows which type it expects.
class yaml_node {
 public:
  enum class kind { null, scalar, list, map };

  kind type = kind::null;
  int line = 1;                   ///< the line of the document where the value begins
  bool quoted = false;            ///< for a scalar: it was in quotes or a block, so `true` is a text
  std::string text;               ///< for a scalar
  std::vector<std::string> keys;  ///< for a map, in the order of the document; `items` has the value of each key
  std::vector<yaml_node> items;   ///< for a list or a map

  /// Returns the member of a map; null if it is absent, or if this is not a map.
  const yaml_node* find(std::string_view key) const noexcept {
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i] == key) return &items[i];
    return nullptr;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
