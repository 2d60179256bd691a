// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns a program that a header stores in several pieces, because compilers limit the length of a string literal.
template <class Pieces>
std::string embedded_text(const Pieces& pieces) {
  std::string text;
  for (const std::string_view piece : pieces) text += piece;
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
