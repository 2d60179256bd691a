// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// The version of the daemon (envd) in a sandbox. It determines which calls the daemon supports.
class envd_version {
 public:
  constexpr envd_version(unsigned major, unsigned minor, unsigned patch) noexcept
      : major_(major), minor_(minor), patch_(patch) {}

  /// Parses a version such as `0.5.7`, `v0.5.7` or `0.5`. Text after the numbers (`-rc1`) is ignored. Returns no value
  /// if the text does not begin with a version.
  static constexpr std::optional<envd_version> parse(std::string_view text) noexcept {
    if (text.starts_with('v')) text.remove_prefix(1);
    std::array<unsigned, 3> parts{};
    std::size_t count = 0;
    while (count < 3 && !text.empty() && text.front() >= '0' && text.front() <= '9') {
      unsigned number = 0;
      while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
        if (number > 99'999) return std::nullopt;
        number = number * 10 + static_cast<unsigned>(text.front() - '0');
        text.remove_prefix(1);
      }
      parts[count++] = number;
      if (!text.starts_with('.')) break;
      text.remove_prefix(1);
    }
    if (count == 0) return std::nullopt;
    return envd_version(parts[0], parts[1], parts[2]);
  }

  friend constexpr auto operator<=>(const envd_version&, const envd_version&) noexcept = default;

  std::string text() const {
    return std::to_string(major_) + "." + std::to_string(minor_) + "." + std::to_string(patch_);
  }

 private:
  unsigned major_;
  unsigned minor_;
  unsigned patch_;
};

/// The calls and options that a daemon supports, by its version. If the version is not known, as with services that
/// imitate E2B, the daemon counts as a recent one. Uploads are an exception: they use the form that every version
/// supports, and have no metadata, which an old daemon would drop without an error.
/// \par Source  the places in E2B's SDKs that compare envdVersion.
class envd_abilities {
 public:
  envd_abilities() = default;
  explicit envd_abilities(std::string_view version) : version_(envd_version::parse(version)) {}

  bool is_usable() const noexcept { return at_least({0, 1, 0}, true); }
  bool watches_below() const noexcept { return at_least({0, 1, 4}, true); }
  bool has_default_user() const noexcept { return at_least({0, 4, 0}, true); }
  bool closes_input() const noexcept { return at_least({0, 5, 2}, true); }
  bool takes_raw_uploads() const noexcept { return at_least({0, 5, 7}, false); }
  bool stores_metadata() const noexcept { return at_least({0, 6, 2}, false); }

 private:
  bool at_least(envd_version minimum, bool otherwise) const noexcept {
    return version_ ? *version_ >= minimum : otherwise;
  }

  std::optional<envd_version> version_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
