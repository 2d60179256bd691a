// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The names of the users and groups of a guest, from its files /etc/passwd and /etc/group. A guest may have forged
/// them, so they are used only to describe the guest's own files.
class guest_names {
 public:
  /// Prints both files, with a NUL byte between them.
  static constexpr std::string_view script = "cat /etc/passwd 2>/dev/null; printf '\\0'; cat /etc/group 2>/dev/null; :";

  /// Reads the output of the script.
  void read(std::string_view output) {
    const std::size_t middle = output.find('\0');
    users_ = names_in(output.substr(0, middle));
    if (middle != std::string_view::npos) groups_ = names_in(output.substr(middle + 1));
  }

  /// Returns the name of a user; the number as text if the user has no name.
  std::string user(std::uint32_t id) const { return name_in(users_, id); }
  /// Returns the name of a group; the number as text if the group has no name.
  std::string group(std::uint32_t id) const { return name_in(groups_, id); }

 private:
  using names = std::map<std::uint32_t, std::string>;

  static std::string name_in(const names& known, std::uint32_t id) {
    const auto found = known.find(id);
    return found == known.end() ? std::to_string(id) : found->second;
  }

  /// Reads lines whose first field is a name and whose third field is a number. The first name of a number counts.
  static names names_in(std::string_view text) {
    names found;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      const std::size_t first = line.find(':');
      if (first == 0 || first == std::string_view::npos) continue;
      const std::size_t second = line.find(':', first + 1);
      if (second == std::string_view::npos) continue;
      const std::string_view rest = line.substr(second + 1);
      const std::optional<std::uint32_t> id = number_from<std::uint32_t>(rest.substr(0, rest.find(':')));
      if (id) found.emplace(*id, std::string(line.substr(0, first)));
    }
    return found;
  }

  names users_;
  names groups_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
