// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cofferdam::inline v0 {

/// Owned raw bytes: a file's content, a command's output. No encoding is implied.
using bytes = std::vector<std::byte>;

/// Somebody else's raw bytes. Where a coroutine takes one, the caller keeps them alive until its awaitable completes.
using bytes_view = std::span<const std::byte>;

/// The bytes of a text, seen in place. The view lives as long as `text`'s characters do.
inline bytes_view as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// The bytes as characters, seen in place and unchecked: not necessarily UTF-8.
inline std::string_view as_text(bytes_view content) noexcept {
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

/// A copy of a text's bytes.
inline bytes to_bytes(std::string_view text) {
  const bytes_view view = as_bytes(text);
  return {view.begin(), view.end()};
}

}  // namespace cofferdam::inline v0
