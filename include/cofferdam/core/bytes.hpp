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

/// Bytes that the object owns: the content of a file, or the output of a command. They have no particular encoding.
using bytes = std::vector<std::byte>;

/// A view of bytes that another object owns. If a coroutine takes a view, the caller keeps the bytes alive until the
/// awaitable completes.
using bytes_view = std::span<const std::byte>;

/// Returns the characters of `text` as bytes, without a copy. The view is valid as long as these characters.
inline bytes_view as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Returns a copy of the characters of a temporary text as bytes, because a view of them would dangle. The result can
/// be passed to `write_file` of this library's environments, which keeps it until the awaitable completes.
template <std::same_as<std::string> Text>
bytes as_bytes(Text&& text) {
  const bytes_view view = as_bytes(std::string_view(text));
  return {view.begin(), view.end()};
}

/// Returns the bytes as characters, without a copy. The bytes are not checked, so the text may be invalid UTF-8. The
/// view is valid as long as the bytes.
inline std::string_view as_text(bytes_view content) noexcept {
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

/// Returns a copy of temporary bytes as characters, because a view of them would dangle.
template <std::same_as<bytes> Bytes>
std::string as_text(Bytes&& content) {
  return std::string(as_text(bytes_view(content)));
}

/// Returns a copy of the characters of a text as bytes.
inline bytes to_bytes(std::string_view text) {
  const bytes_view view = as_bytes(text);
  return {view.begin(), view.end()};
}

}  // namespace cofferdam::inline COFFERDAM_ABI
