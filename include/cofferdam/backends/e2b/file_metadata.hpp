// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/http_message.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// Texts that E2B stores with one file of a sandbox, each under a key: `file_metadata().add("author", "me")`. A value
/// type.
/// \par Source  E2B's SDKs: the headers `X-Metadata-KEY` of an upload, and the extended attributes `user.e2b.KEY`.
class file_metadata {
 public:
  /// Makes an object without texts.
  file_metadata() = default;

  /// Adds a text, or replaces the text with the same key.
  /// \param key    1 to 246 characters: ASCII letters, digits, and the other characters of a name of an HTTP header.
  ///               Upper-case letters become lower-case letters, as E2B stores them.
  /// \param value  printable ASCII, without blanks at its beginning and end, which HTTP would remove. All keys and
  ///               values of a file together may have 4096 bytes.
  /// \throws error{exec_errc::invalid_argument} if the key or the value is invalid.
  /// \throws error{exec_errc::too_large} if all keys and values together are too long.
  file_metadata& add(std::string key, std::string value) {
    for (char& c : key) c = cofferdam::detail::lowered(c);
    if (key.size() > max_key || !cofferdam::detail::is_token(key))
      throw error(exec_errc::invalid_argument,
                  "e2b: a key of a file's metadata must have 1 to 246 characters: ASCII letters, digits and "
                  "!#$%&'*+-.^_`|~");
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (!std::all_of(value.begin(), value.end(), is_printable) || value.starts_with(' ') || value.ends_with(' '))
      throw error(exec_errc::invalid_argument, "e2b: the value of \"" + key +
                                                   "\" in a file's metadata must be printable ASCII, without blanks at "
                                                   "its beginning and end; encode other text, for example as base64");
    const auto earlier = texts_.find(key);
    std::size_t size = key.size() + value.size();
    for (auto each = texts_.begin(); each != texts_.end(); ++each)
      if (each != earlier) size += each->first.size() + each->second.size();
    if (size > max_size)
      throw error(exec_errc::too_large,
                  "e2b: the metadata of a file have " + std::to_string(size) + " bytes; E2B stores at most 4096");
    texts_.insert_or_assign(std::move(key), std::move(value));
    return *this;
  }

  /// Returns the text with a key; null if there is none. The pointer is valid until this object changes.
  /// \param key  in lower case.
  const std::string* find(std::string_view key) const {
    const auto found = texts_.find(key);
    return found == texts_.end() ? nullptr : &found->second;
  }
  /// Returns all texts by their keys, which are in lower case.
  const std::map<std::string, std::string, std::less<>>& all() const noexcept { return texts_; }
  /// Returns true if there is no text.
  bool empty() const noexcept { return texts_.empty(); }

  friend bool operator==(const file_metadata&, const file_metadata&) = default;

 private:
  static constexpr std::size_t max_key = 246;
  static constexpr std::size_t max_size = 4096;

  std::map<std::string, std::string, std::less<>> texts_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
