// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// A script that makes the folders which the backend needs, and prints the facts of `sandbox_facts`. $1 is the
/// workspace. The script also looks at its own session, because commands start in the same way: a process that already
/// leads a session or a process group needs no `setsid`.
inline constexpr std::string_view facts_script = R"sh(umask 022
{ read -r x </proc/$$/stat; } 2>/dev/null
x=${x##*') '}; g=${x#* * }; g=${g%% *}; x=${x#* * * }; x=${x%% *}
s=
[ "$x" = $$ ] || [ "$g" = $$ ] || s=$(command -v setsid)
h=$(pwd -P) && mkdir -p "$1" .cofferdam && chmod 700 .cofferdam && cd "$1" && r=$(pwd -P) &&
printf '%s\0' "$h" "$r" "$(command -v bash)" "$(id -u)" "$(id -g)" "$s" && cat /proc/self/environ)sh";

/// The paths of the user's home and of the workspace in a sandbox.
class workspace_place {
 public:
  workspace_place() = default;

  std::string from_home;  ///< the workspace, as the daemon expects it: relative to the user's home, or absolute
  std::string home;       ///< the absolute path of the home
  std::string root;       ///< the absolute path of the workspace
};

/// The user and the group of commands.
class user_numbers {
 public:
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

/// The facts about a sandbox: the paths of the home, the workspace, bash and setsid, the user, and the variables of a
/// process that the daemon starts.
class sandbox_facts {
 public:
  /// \param printed  the output of `facts_script`: texts, each with a NUL byte behind it.
  /// \throws error{exec_errc::provider_failed} if the paths of the home and the workspace are missing.
  sandbox_facts(std::string_view printed, std::string_view workspace) {
    if (printed.empty())
      throw error(exec_errc::provider_failed,
                  "e2b: the workspace \"" + one_line(workspace, 200) +
                      "\" cannot be created in the sandbox: the script for this has printed "
                      "nothing; check that /bin/sh of the template works");
    const std::string_view all = printed;
    std::vector<std::string> texts;
    for (std::size_t end = 0; (end = printed.find('\0')) != std::string_view::npos; printed.remove_prefix(end + 1))
      texts.emplace_back(printed.substr(0, end));
    if (texts.size() < 2)
      throw error(exec_errc::provider_failed, "e2b: the workspace \"" + one_line(workspace, 200) +
                                                  "\" cannot be created in the sandbox: " + one_line(all, 200));
    home_ = std::move(texts[0]);
    root_ = std::move(texts[1]);
    if (texts.size() > 2 && texts[2].starts_with('/')) shell_ = std::move(texts[2]);
    if (texts.size() < 5) return;
    const std::optional<std::uint32_t> uid = number(texts[3]);
    const std::optional<std::uint32_t> gid = number(texts[4]);
    if (uid && gid) user_ = user_numbers{*uid, *gid};
    if (texts.size() > 5 && texts[5].starts_with('/')) setsid_ = std::move(texts[5]);
    for (std::size_t i = 6; i < texts.size(); ++i)
      if (!is_of_shell(name_of(texts[i]))) variables_.push_back(std::move(texts[i]));
  }

  const std::string& home() const noexcept { return home_; }
  const std::string& root() const noexcept { return root_; }
  /// Returns the path of bash, or of another shell if there is no bash.
  const std::string& shell() const noexcept { return shell_; }
  /// Returns the path of `setsid`, which starts a program in a session of its own. Empty if it does not exist, or if
  /// the daemon already starts each process in its own session or process group.
  const std::string& setsid() const noexcept { return setsid_; }
  /// Returns no value if the sandbox did not print it.
  const std::optional<user_numbers>& user() const noexcept { return user_; }

  /// Returns all variables of a command, each as `NAME=value`.
  /// \param own  replace variables of the same name.
  std::vector<std::string> with(std::vector<std::string> own) const {
    const std::size_t count = own.size();
    for (const std::string& each : variables_) {
      const auto is_same = [&each](const std::string& other) { return name_of(other) == name_of(each); };
      const auto last = own.begin() + static_cast<std::ptrdiff_t>(count);
      if (std::none_of(own.begin(), last, is_same)) own.push_back(each);
    }
    return own;
  }

 private:
  static std::optional<std::uint32_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
    return value;
  }

  static std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

  /// Returns true for the variables that a shell sets for itself.
  static bool is_of_shell(std::string_view name) {
    return name == "PWD" || name == "OLDPWD" || name == "SHLVL" || name == "_";
  }

  std::string home_;
  std::string root_;
  std::string shell_ = "/bin/sh";
  std::string setsid_;
  std::optional<user_numbers> user_;
  std::vector<std::string> variables_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
