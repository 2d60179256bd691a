// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/over_words.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The script that `over` runs in the place. It brings the warden (the helper program that starts commands) there:
///
/// | the script prints | this program then sends |
/// |---|---|
/// | `ready MACHINE` | the name of the temporary folder, the size of the warden, the folder above, the workspace |
/// | `place`, the folder, the workspace and the shell, one a line, the variables, `send` | the warden |
/// | `start`, and then the frames of the warden | the frames of the warden |
///
/// Instead, the script may print `terminal`, `folder REASON`, `workspace` or `short`, and end. Each answer is a line
/// after `over_mark`. The mark has the sum of an expression, so that the text of the script itself has no mark.
///
/// This program never sends more than the script expects next. So a program that reads its input in large blocks, as
/// `head` may, cannot take bytes that belong to the next reader.
///
/// The script is one line without single quotes, exclamation marks and doubled backslashes. So each usual login shell
/// (sh, bash, zsh, csh, fish) reads it unchanged in single quotes.
///
/// A file that is written and executed tests whether a folder allows both. The warden is a child of the shell, which
/// waits for its end and removes the folder. The shell ignores the signals with which programs end their commands,
/// because the end of the input ends the warden. It gives the streams to the warden and keeps neither of them: commands
/// that have its user could open them, and write frames in place of the warden.
///
/// If the script has an argument, the warden gets it, and is not started before another process has made the file
/// `taken` beside it. Such a process is the first one of a pod, which then runs the same warden in hold mode. In this
/// case the warden replaces the shell, because commands could open the streams of a shell that has their user. The
/// folder ends with the pod.
inline constexpr std::string_view over_script =
    "trap : HUP INT PIPE TERM; unset CDPATH; a=$1; k=$((6*7)); "
    "if [ -t 0 ] || [ -t 1 ]; then printf \"cofferdam $k terminal\\n\"; exit 3; fi; "
    "printf \"cofferdam $k ready %s\\n\" \"$(uname -m)\"; "
    "IFS= read -r i && IFS= read -r n && IFS= read -r f && IFS= read -r w || exit 4; "
    "if [ \"$f\" ]; then set -- \"$f\"; "
    "else set -- \"${TMPDIR:-/tmp}\" /tmp /var/tmp /dev/shm /run \"${HOME:-/}\"; fi; "
    "r=; e=; "
    "for t; do d=$t/cofferdam-$i; "
    "if mkdir -m 700 -- \"$d\" 2>/dev/null; then "
    "if echo : 2>/dev/null >\"$d/try\" && chmod 700 \"$d/try\"; then "
    "if \"$d/try\" 2>/dev/null; then rm -f -- \"$d/try\"; r=$d; break; fi; e=\"$e$t allows no executing, \"; "
    "else e=\"$e$t is full, \"; fi; "
    "rm -rf -- \"$d\"; "
    "elif [ -d \"$t\" ]; then e=\"$e$t allows no writing, \"; else e=\"$e$t does not exist, \"; fi; done; "
    "if [ -z \"$r\" ]; then printf \"cofferdam $k folder %s\\n\" \"$e\"; exit 5; fi; "
    "r=$(cd -- \"$r\" && pwd -P); "
    "z() { cd /; rm -rf -- \"$r\" 2>/dev/null || "
    "{ find \"$r\" -type d -exec chmod u+rwx {} \";\" 2>/dev/null; rm -rf -- \"$r\"; }; exit \"$1\"; }; "
    "mkdir \"$r/tmp\"; "
    "if [ \"$w\" ]; then mkdir -p -- \"$w\" 2>/dev/null; "
    "w=$(cd -- \"$w\" 2>/dev/null && pwd -P) || { printf \"cofferdam $k workspace\\n\"; z 6; }; "
    "else w=$r/workspace; mkdir \"$w\"; fi; "
    "printf \"cofferdam $k place\\n%s\\n%s\\n%s\\n\" \"$r\" \"$w\" \"$(command -v bash || command -v sh)\"; "
    "cat /proc/self/environ 2>/dev/null || env; printf \"\\ncofferdam $k send\\n\"; "
    "if [ \"$(echo abc | head -c 2 2>/dev/null)\" = ab ]; then head -c \"$n\"; else dd bs=1 count=\"$n\" 2>/dev/null; "
    "fi "
    ">\"$r/warden\"; "
    "if [ \"$(($(wc -c <\"$r/warden\")))\" = \"$n\" ] && chmod 700 \"$r/warden\"; "
    "then if [ \"$a\" ]; then until [ -e \"$r/taken\" ]; do sleep 0.1 2>/dev/null || sleep 1 || z 8; done; fi; "
    "printf \"cofferdam $k start\\n\"; if [ \"$a\" ]; then cd / && exec \"$r/warden\" \"$a\"; fi; "
    "exec 3<&0; (cd / && exec \"$r/warden\" <&3 3<&-) & exec </dev/null >/dev/null 3<&-; until wait; do :; done; z 0; "
    "else printf \"cofferdam $k short\\n\"; z 7; fi";

inline constexpr std::string_view over_mark = "cofferdam 42 ";

/// Returns the base name of a program.
inline std::string_view base_name(std::string_view program) {
  const std::size_t slash = program.rfind('/');
  return slash == std::string_view::npos ? program : program.substr(slash + 1);
}

/// Returns the command line that runs `over_script` in the place.
inline std::vector<std::string> bootstrap_words(std::vector<std::string> words, place_words how) {
  const bool is_joined =
      how == place_words::joined || (how == place_words::automatic && base_name(words.front()) == "ssh");
  if (is_joined) {
    words.push_back("exec sh -c '" + std::string(over_script) + "'");
  } else {
    words.insert(words.end(), {"sh", "-c", std::string(over_script)});
  }
  return words;
}

/// The description of the place that the script has printed between `place` and `send`.
class place_report {
 public:
  /// \param speaker  begins the error message.
  /// \throws error{exec_errc::provider_failed} if the text is incomplete.
  explicit place_report(std::string_view text, const std::string& speaker = "over") {
    folder_ = line(text);
    workspace_ = line(text);
    shell_ = line(text);
    if (!folder_.starts_with('/') || !workspace_.starts_with('/'))
      throw error(exec_errc::provider_failed,
                  speaker + ": the place printed an incomplete answer: its shell named no folder");
    if (!shell_.starts_with('/')) shell_ = "/bin/sh";
    // Without /proc, the variables are separated by line breaks.
    const char end = text.find('\0') == std::string_view::npos ? '\n' : '\0';
    while (!text.empty()) {
      const std::size_t size = std::min(text.find(end), text.size());
      if (text.substr(0, size).find('=') != std::string_view::npos) variables_.emplace_back(text.substr(0, size));
      text.remove_prefix(std::min(size + 1, text.size()));
    }
  }

  const std::string& folder() const noexcept { return folder_; }
  const std::string& workspace() const noexcept { return workspace_; }
  const std::string& shell() const noexcept { return shell_; }
  /// Returns all variables of the place, each as `NAME=value`.
  const std::vector<std::string>& variables() const noexcept { return variables_; }

  /// Returns `NAME=value` of a variable of the place; empty if the place does not have it.
  std::string variable(std::string_view name) const {
    for (const std::string& each : variables_)
      if (each.size() > name.size() && each.starts_with(name) && each[name.size()] == '=') return each;
    return {};
  }

 private:
  static std::string line(std::string_view& text) {
    const std::size_t size = std::min(text.find('\n'), text.size());
    std::string result(text.substr(0, size));
    text.remove_prefix(std::min(size + 1, text.size()));
    return result;
  }

  std::string folder_;
  std::string workspace_;
  std::string shell_;
  std::vector<std::string> variables_;
};

/// One answer of the script: the words after the mark, and the text before the mark.
class bootstrap_answer {
 public:
  std::string before;
  std::string kind;   ///< the first word
  std::string value;  ///< the rest of the line
};

/// Finds the answers of the script in the output of the program. Has no input and output of its own.
class bootstrap_reader {
 public:
  /// The maximum size of the text before an answer.
  static constexpr std::size_t max_skipped = std::size_t{64} * 1024;
  /// The maximum size of an answer's line.
  static constexpr std::size_t max_line = std::size_t{16} * 1024;

  /// \param speaker  begins each error message.
  explicit bootstrap_reader(std::string speaker = "over") : speaker_(std::move(speaker)) {}

  /// Sets the longest text before the next answer. The variables of a place may be longer than a banner.
  void longest(std::size_t size) noexcept { longest_ = size; }

  void arrived(bytes_view data) { text_ += as_text(data); }

  /// Returns the next answer; no value if more output is needed.
  /// \throws error{exec_errc::unsupported} if a terminal has changed the answer; error{exec_errc::provider_failed} if
  ///     there is too much text before it.
  std::optional<bootstrap_answer> next() {
    const std::size_t mark = text_.find(over_mark);
    const std::size_t skipped = std::min(mark, text_.size());
    if (skipped > longest_)
      throw error(exec_errc::provider_failed, speaker_ + ": the program printed more than " +
                                                  std::to_string(longest_ / 1024) +
                                                  " KiB, and no answer of the place; the text ends in \"" +
                                                  tail(std::string_view(text_).substr(0, skipped)) + "\"");
    if (mark == std::string::npos) return std::nullopt;
    const std::size_t begin = mark + over_mark.size();
    const std::size_t end = text_.find('\n', begin);
    if (end == std::string::npos) {
      if (text_.size() - begin > max_line)
        throw error(exec_errc::provider_failed, speaker_ + ": the place printed an answer that is too long");
      return std::nullopt;
    }
    bootstrap_answer result;
    result.before = text_.substr(0, mark);
    std::string line = text_.substr(begin, end - begin);
    text_.erase(0, end + 1);
    if (line.ends_with('\r')) throw terminal();
    const std::size_t blank = std::min(line.find(' '), line.size());
    result.kind = line.substr(0, blank);
    result.value = line.substr(std::min(blank + 1, line.size()));
    return result;
  }

  /// Returns the output after the last answer.
  std::string take_rest() { return std::exchange(text_, std::string()); }

  /// Returns the end of the output after the last answer, as one line, for an error.
  std::string shown() const { return tail(text_); }

  error terminal() const {
    return error(exec_errc::unsupported,
                 speaker_ +
                     ": a terminal is between this program and the place, and a terminal changes the bytes; leave out "
                     "the option that asks for it (such as -t of ssh, docker, podman and kubectl)");
  }

 private:
  static std::string tail(std::string_view text) {
    constexpr std::size_t most = 200;
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
    return one_line(text.substr(text.size() - std::min(text.size(), most)));
  }

  std::string speaker_;
  std::string text_;
  std::size_t longest_ = max_skipped;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
