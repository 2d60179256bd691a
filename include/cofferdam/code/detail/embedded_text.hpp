// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <string>
#include <string_view>

namespace cofferdam::inline v0::detail {

/// A program that stands in a header, in pieces no longer than compilers take.
template <class Pieces>
std::string embedded_text(const Pieces& pieces) {
  std::string text;
  for (const std::string_view piece : pieces) text += piece;
  return text;
}

}  // namespace cofferdam::inline v0::detail
