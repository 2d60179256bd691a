// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: compares the glob matcher with a naive matcher that tries all possibilities, on patterns and paths made
// from the input.

#include <cofferdam/detail/files/glob.hpp>

#include "fuzz/target.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '/')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  std::erase_if(parts, [](const std::string& part) { return part.empty() || part == "."; });
  return parts;
}

// Matches a name by trying all possibilities. Supports ASCII only, because the target makes ASCII only.
bool name_matches(std::string_view pattern, std::string_view name, bool at_start) {
  if (pattern.empty()) return name.empty();
  const bool hidden = at_start && name.starts_with('.');
  if (pattern[0] == '*') {
    if (name_matches(pattern.substr(1), name, at_start && hidden)) return true;
    return !name.empty() && !hidden && name_matches(pattern, name.substr(1), false);
  }
  if (name.empty()) return false;
  if (pattern[0] == '?') return !hidden && name_matches(pattern.substr(1), name.substr(1), false);
  if (pattern[0] == '[') {
    std::size_t at = 1;
    const bool negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
    if (negated) ++at;
    bool found = false;
    bool first = true;
    while (at < pattern.size() && (first || pattern[at] != ']')) {
      first = false;
      if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
      char low = pattern[at++];
      char high = low;
      if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
        ++at;
        if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
        high = pattern[at++];
      }
      found = found || (low <= name[0] && name[0] <= high);
    }
    if (at < pattern.size())
      return !hidden && found != negated && name_matches(pattern.substr(at + 1), name.substr(1), false);
  }
  const std::size_t skip = pattern[0] == '\\' && pattern.size() > 1 ? 1 : 0;
  // At this point, a star that matched nothing may precede the dot of a hidden name. `one_name` refuses such a match,
  // because the pattern must begin with the dot itself.
  return pattern[skip] == name[0] && name_matches(pattern.substr(skip + 1), name.substr(1), false);
}

bool one_name(std::string_view pattern, std::string_view name) {
  if (name.starts_with('.') && pattern.starts_with('*')) return false;
  return name_matches(pattern, name, true);
}

bool path_matches(const std::vector<std::string>& pattern, std::size_t at, const std::vector<std::string>& path,
                  std::size_t in) {
  if (at == pattern.size()) return in == path.size();
  if (pattern[at] == "**") {
    const std::size_t least = at + 1 == pattern.size() ? 1 : 0;
    for (std::size_t skipped = 0; in + skipped <= path.size(); ++skipped) {
      if (skipped > 0 && path[in + skipped - 1].starts_with('.')) break;
      if (skipped >= least && path_matches(pattern, at + 1, path, in + skipped)) return true;
    }
    return false;
  }
  return in < path.size() && one_name(pattern[at], path[in]) && path_matches(pattern, at + 1, path, in + 1);
}

std::string limited(std::string_view text, std::string_view alphabet, std::size_t limit) {
  std::string out;
  for (const char c : text.substr(0, limit)) out += alphabet[static_cast<unsigned char>(c) % alphabet.size()];
  return out;
}

void compare(const std::string& pattern, const std::string& path) {
  if (pattern.empty()) return;
  const cofferdam::detail::glob glob(pattern);
  std::vector<std::string> naive;
  for (const std::string& part : split(pattern))
    if (part != "**" || naive.empty() || naive.back() != "**") naive.push_back(part);
  std::vector<std::string> names = split(path);
  // Skips patterns with a component `\.`, which the library takes for the current folder.
  if (pattern.front() == '/' || std::find(naive.begin(), naive.end(), "\\.") != naive.end()) return;
  // The naive matcher has no prefix: it compares the whole path. The library matches below its prefix.
  std::string below;
  const std::vector<std::string> prefix = split(glob.prefix());
  if (names.size() < prefix.size() || !std::equal(prefix.begin(), prefix.end(), names.begin())) return;
  for (std::size_t i = prefix.size(); i < names.size(); ++i) below += (below.empty() ? "" : "/") + names[i];

  const bool expected = !naive.empty() && !names.empty() && path_matches(naive, 0, names, 0);
  const bool found = !below.empty() && glob.matches(below);
  bool entered = true;
  for (std::size_t slash = below.find('/'); slash != std::string::npos; slash = below.find('/', slash + 1))
    entered = entered && glob.may_match_beneath(below.substr(0, slash));
  if (expected == found && (!found || entered)) return;
  std::fprintf(stderr, "pattern '%s' path '%s': naive %d, glob %d, entered %d\n", pattern.c_str(), path.c_str(),
               expected, found, entered);
  std::abort();
}

template <std::size_t Count>
std::string drawn(std::mt19937& random, const std::array<std::string_view, Count>& parts, std::size_t limit) {
  std::string out;
  for (std::size_t i = random() % (limit + 1); i > 0; --i) out += parts[random() % Count];
  return out;
}

}  // namespace

COFFERDAM_FUZZ_TARGET(glob)(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  // Any bytes as pattern and path must neither crash nor hang.
  try {
    const cofferdam::detail::glob any{std::string(text.substr(0, size / 2))};
    static_cast<void>(any.matches(text.substr(size / 2)));
    static_cast<void>(any.may_match_beneath(text.substr(size / 2)));
  } catch (const cofferdam::error&) {
  }

  // Uses a small alphabet, so that many patterns match.
  compare(limited(text.substr(0, size / 2), "ab.**/*?[]!-\\/a", 14), limited(text.substr(size / 2), "aab.b/-]/", 12));

  // Also composes patterns of complete parts, chosen pseudo-randomly by the input.
  static constexpr std::array<std::string_view, 16> pattern_parts{
      "a", "b", "a", "*", "?", "/", "/", "/**/", "**/", "/**", "[ab]", "[!a]", ".", "/.", "\\*", "[a-b]"};
  static constexpr std::array<std::string_view, 8> path_parts{"a", "b", "a", "/", "/", "/", "/.", "*"};
  std::mt19937 random(static_cast<std::mt19937::result_type>(std::hash<std::string_view>()(text)));
  for (int i = 0; i < 8; ++i) {
    const std::string pattern = drawn(random, pattern_parts, 7);
    compare(pattern, drawn(random, path_parts, 9));
  }
  return 0;
}
