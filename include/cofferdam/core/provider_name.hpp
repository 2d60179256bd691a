// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The name of a provider as the user of a program types it: a kind, and for some kinds a colon and a value. Examples:
/// "local", "docker:python:3.12-slim", "e2b:base".
class provider_name {
 public:
  /// Splits a name at its first colon and checks its kind.
  /// \param text  the name, for example `docker:python:3.12-slim`.
  /// \param kinds  the valid kinds. A kind that takes a value is followed by a colon and a word that describes the
  ///               value: `{"local", "docker:IMAGE"}`. The colon and the value are optional in `text`.
  /// \throws error{exec_errc::invalid_argument} if the kind is not in `kinds`, if a kind without a value is followed by
  ///     a colon, or if no value follows the colon.
  static provider_name parse(std::string_view text, std::initializer_list<std::string_view> kinds) {
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    std::string known;
    for (const std::string_view each : kinds) {
      const std::size_t end = each.find(':');
      if (kind == each.substr(0, end)) return found(text, colon, end != std::string_view::npos);
      known += (known.empty() ? "" : ", ") + std::string(each);
    }
    throw error(exec_errc::invalid_argument, "unknown provider \"" + one_line(text, 60) + "\"; use one of: " + known);
  }

  /// Returns the part before the colon.
  const std::string& kind() const noexcept { return kind_; }
  /// Returns the value after the colon; `usual` if the name has no value.
  std::string value_or(std::string usual) const { return value_.empty() ? std::move(usual) : value_; }

 private:
  static provider_name found(std::string_view text, std::size_t colon, bool takes_value) {
    provider_name name;
    name.kind_ = text.substr(0, colon);
    if (colon == std::string_view::npos) return name;
    name.value_ = text.substr(colon + 1);
    if (!takes_value)
      throw error(exec_errc::invalid_argument, "the provider \"" + name.kind_ +
                                                   "\" takes no value after a colon; remove \"" +
                                                   one_line(name.value_, 60) + "\"");
    if (name.value_.empty())
      throw error(exec_errc::invalid_argument,
                  "the provider \"" + one_line(text, 60) + "\" needs a value after its colon");
    return name;
  }

  std::string kind_;
  std::string value_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
