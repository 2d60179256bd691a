// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// Owned raw bytes: a file's content, a command's output. No encoding is implied.
using bytes = std::vector<std::byte>;

/// A view of raw bytes. If a coroutine takes a view, the caller keeps the bytes alive until the awaitable completes.
using bytes_view = std::span<const std::byte>;

/// Returns a view of the bytes of a text. It is valid as long as the characters of `text`.
inline bytes_view as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Copies the bytes of a temporary text, because a view would outlive the text. `write_file` of the library's
/// environments keeps such temporary bytes until its awaitable completes.
template <std::same_as<std::string> Text>
bytes as_bytes(Text&& text) {
  const bytes_view view = as_bytes(std::string_view(text));
  return {view.begin(), view.end()};
}

/// Returns the bytes as characters, without a copy and unchecked: not necessarily UTF-8.
inline std::string_view as_text(bytes_view content) noexcept {
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

/// Copies temporary bytes as characters, because a view would outlive the bytes.
template <std::same_as<bytes> Bytes>
std::string as_text(Bytes&& content) {
  return std::string(as_text(bytes_view(content)));
}

/// Copies the bytes of a text.
inline bytes to_bytes(std::string_view text) {
  const bytes_view view = as_bytes(text);
  return {view.begin(), view.end()};
}

}  // namespace cofferdam::inline COFFERDAM_ABI
