// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Joins a program that is stored in a header, in pieces short enough for compilers.
template <class Pieces>
std::string embedded_text(const Pieces& pieces) {
  std::string text;
  for (const std::string_view piece : pieces) text += piece;
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
