// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

// Searches texts of Python code for suspect contents. Each function takes linear time.

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower;
}

inline bool is_word_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Returns the next word of a shell command after blanks, and removes both from `rest`.
inline std::string_view next_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  const std::size_t end = std::min(rest.find_first_of(" \t\n;&|\"'`)"), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}

/// Returns true if the text contains an `rm` command with a recursive option for the root directory, a home or a whole
/// system folder.
inline bool removes_everything(std::string_view text) {
  for (std::size_t at = text.find("rm"); at != std::string_view::npos; at = text.find("rm", at + 2)) {
    if (at > 0 && is_word_letter(text[at - 1])) continue;
    std::string_view rest = text.substr(at + 2);
    if (rest.empty() || (rest.front() != ' ' && rest.front() != '\t')) continue;
    bool recursive = false;
    std::string_view word = next_word(rest);
    for (; word.starts_with('-'); word = next_word(rest)) {
      const bool is_long = word.starts_with("--");
      recursive =
          recursive || word == "--recursive" || (!is_long && word.find_first_of("rR") != std::string_view::npos);
    }
    while (word.size() > 1 && word.ends_with('/')) word.remove_suffix(1);
    if (word.ends_with("/*")) word.remove_suffix(word.size() > 2 ? 2 : 1);
    if (!recursive) continue;
    for (const std::string_view each :
         {"/", "~", "$home", "/etc", "/usr", "/bin", "/lib", "/var", "/boot", "/home", "/root"})
      if (word == each) return true;
  }
  return false;
}

/// Returns true if the text contains another command that destroys a disk or a system.
/// \param lower  the text in lower case.
inline bool destroys(std::string_view lower) {
  if (lower.find("mkfs.") != std::string_view::npos || lower.find(":(){ :|:& };:") != std::string_view::npos)
    return true;
  const std::size_t dd = lower.find("dd ");
  if (dd != std::string_view::npos && (dd == 0 || !is_word_letter(lower[dd - 1]))) {
    const std::string_view rest = lower.substr(dd);
    if (rest.find("if=/dev") != std::string_view::npos || rest.find("of=/dev/") != std::string_view::npos) return true;
  }
  for (const std::string_view each : {"del /f /s /q", "rmdir /s /q", "rd /s /q"})
    if (lower.find(each) != std::string_view::npos) return true;
  return false;
}

/// The steps to parent folders ("../") in a text: the longest sequence of steps, and whether a sequence leads to a
/// system folder.
class climb {
 public:
  explicit climb(std::string_view text) {
    std::size_t run = 0;
    for (std::size_t at = 0; at + 2 < text.size();) {
      if (text[at] == '.' && text[at + 1] == '.' && (text[at + 2] == '/' || text[at + 2] == '\\')) {
        at += 3;
        steps = std::max(steps, ++run);
        for (const std::string_view each : {"etc/", "proc/", "root/", "sys/", "dev/", "home/", "var/", "usr/"})
          to_system = to_system || text.substr(at).starts_with(each);
      } else {
        run = 0;
        ++at;
      }
    }
  }
  std::size_t steps = 0;
  bool to_system = false;
};

/// Returns true if the text is a path, or a file URL, that ordinary data processing never needs: accounts, keys,
/// processes, devices.
inline bool is_sensitive_path(std::string_view text) {
  if (text.starts_with("file:")) {
    text.remove_prefix(5);
    while (text.starts_with("//")) text.remove_prefix(1);
    if (text.starts_with("localhost/")) text.remove_prefix(9);
  }
  if (text.size() > 300 || text.find_first_of(" \n") != std::string_view::npos) return false;
  for (const std::string_view each :
       {"/etc/passwd", "/etc/shadow",      "/etc/sudoers", "/etc/ssh", "/etc/gshadow", "/etc/cron",
        "/etc/ld.so",  "/proc/",           "/root/",       "/sys/",    "/boot/",       "/var/run/docker",
        "/run/docker", "/var/run/secrets", "/run/secrets", "/dev/mem", "/dev/kmem",    "/dev/sd",
        "/dev/nvme",   "/dev/vd",          "/dev/tcp",     "/dev/shm", "/dev/kmsg",    "/dev/pt"})
    if (text.starts_with(each)) return true;
  if (text == "/root" || text == "/proc" || text == "/dev") return true;
  for (const std::string_view each :
       {".ssh/", ".aws/credentials", ".bashrc", ".bash_profile", ".bash_history", ".netrc", ".docker/config.json",
        ".kube/config", "id_rsa", "id_ed25519", ".git-credentials", ".pgpass", ".config/gcloud"}) {
    const std::size_t at = text.find(each);
    if (at != std::string_view::npos && (at == 0 || text[at - 1] == '/' || text[at - 1] == '~')) return true;
  }
  return false;
}

/// Attribute names that lead from any object to all other objects. A text with such a name has no other purpose.
inline constexpr std::array<std::string_view, 15> telling_names{
    "__builtins__", "__globals__", "__subclasses__", "__import__", "__loader__",
    "f_globals",    "f_builtins",  "f_locals",       "tb_frame",   "gi_frame",
    "cr_frame",     "ag_frame",    "f_back",         "gi_code",    "__getattribute__"};

inline bool is_telling_text(std::string_view text) {
  if (std::find(telling_names.begin(), telling_names.end(), text) != telling_names.end()) return true;
  for (const std::string_view each : {"__builtins__", "__globals__", "__subclasses__", "__import__"})
    if (text.find(each) != std::string_view::npos) return true;
  return false;
}

/// Returns true for a format text that reads private or system-related attributes of its arguments. The name and the
/// documentation of an object are harmless.
inline bool formats_insides(std::string_view text) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find_first_of("{}:!\n", at + 1);
    if (end == std::string_view::npos || text[end] == '{') continue;
    std::string_view field = text.substr(at + 1, end - at - 1);
    if (field.size() > 200) continue;
    for (const std::string_view harmless : {".__class__.__name__", ".__name__", ".__doc__", ".__qualname__"})
      if (field.ends_with(harmless)) field.remove_suffix(harmless.size());
    if (field.find("._") != std::string_view::npos || field.find("[_") != std::string_view::npos) {
      const std::size_t dot = field.find_first_of(".[");
      const std::string_view start = field.substr(0, dot);
      if (std::all_of(start.begin(), start.end(), is_word_letter)) return true;
    }
    for (std::size_t dot = field.find_first_of(".["); dot != std::string_view::npos;
         dot = field.find_first_of(".[", dot + 1)) {
      const std::string_view part = field.substr(dot + 1, field.find_first_of(".[]", dot + 1) - dot - 1);
      for (const std::string_view each :
           {"os", "sys", "builtins", "subprocess", "importlib", "environ", "environb", "modules"})
        if (part == each) return true;
    }
  }
  return false;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
