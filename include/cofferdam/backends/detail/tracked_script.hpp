// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Shell scripts that run and signal commands on behalf of another program, such as a container daemon, that starts
// processes but reports little about them. A script around each command (`exec_script`) reports the start and the end
// of the command.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The script that runs one command. It runs the command as the child of a child process, and reports the command's
/// start and end by marks (short texts) in both outputs. A mark also contains whether a signal ended the command,
/// because an exit status above 128 alone does not show this. When the command has ended, the script kills the
/// remaining processes of the command's session, because they would keep the output open.
///
/// The arguments:
/// * $1: the text that begins every mark.
/// * $2: the working directory.
/// * $3: the rows and columns of the terminal, or empty. If a third word follows them, the script waits for the end of
///   the command, as it does without a terminal. Otherwise a command with a terminal replaces the script (exec), and
///   only the daemon can report the end of the command.
/// * $4: the time in seconds for which remaining processes may continue after the end of the command.
/// * $5: not empty if the arguments after $6 are escaped by `escaped_word`.
/// * $6: the number of environment variables that the script sets. These variables follow, as `NAME=value`, and then
///   the program and the arguments of the command.
///
/// The script counts processes by the last process id that the system has assigned, the last field of /proc/loadavg.
/// If it grew by two while the command ran, the system has started only the two processes through which the script runs
/// the command, so nothing can remain. Otherwise, and where the field does not show it, the script searches. It also
/// searches in a Korn shell, which may need fewer processes itself.
///
/// A shell reads a file byte by byte. Therefore the script uses grep, if it exists, to find the processes of the
/// session in /proc. A shell prints the name of the signal that killed a command, except for SIGINT and SIGPIPE; the
/// script uses this text to recognize that a signal ended the command. The script ignores SIGTERM to its process group,
/// which is meant for the command alone.
///
/// ```
/// mark = the mark's text (b pid | e status , signaled , oom | f reason) ;
/// reason = dn | dx (directory: ENOENT, EACCES) | n | x | g | l (program: ENOENT, EACCES, ENOEXEC, E2BIG)
/// ```
inline constexpr std::string_view exec_script = R"sh(_c1=$1 _c2=$2 _c3=$3 _c4=$4 _c5=$5 _c6=$6
shift 6
_ct() { printf %s "$_c1$1;"; printf %s "$_c1$1;" >&2; }
_cq() { _ct "f$1"; exit 1; }
_co() { _cw=0; for _cf in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
[ -r "$_cf" ] && while read -r _cx _cy; do [ "$_cx" = oom_kill ] && _cw=$_cy; done <"$_cf"; done; }
trap : TERM
_ct "b$$"
if [ "$_c5" ]; then for _cx do shift; _cy=$(printf '%b.' "$_cx"); set -- "$@" "${_cy%.}"; done; fi
while [ "$_c6" -gt 0 ]; do export "$1"; shift; _c6=$((_c6-1)); done
cd "$_c2" 2>/dev/null || { [ -e "$_c2" ] && _cq dx; _cq dn; }
_cp=$1
case $1 in
*/*) [ -d "$1" ] && _cq x; [ -e "$1" ] || _cq n; [ -x "$1" ] || _cq x ;;
*) _cp= _cw=n; set -f; IFS=:
for _cx in $PATH; do _cy=${_cx:-.}/$1; [ -e "$_cy" ] || continue
if [ -x "$_cy" ] && [ ! -d "$_cy" ]; then _cp=$_cy; break; fi; _cw=x; done
set +f; unset IFS; [ "$_cp" ] || _cq $_cw ;;
esac
shift
_cr='QUIT TERM' _cv=
if [ "$_c3" ]; then _cx=${_c3#* }; stty rows "${_c3%% *}" cols "${_cx% *}" 2>/dev/null
[ "$_cx" = "${_cx% *}" ] && exec "$_cp" "$@"
_cr='HUP INT QUIT TERM'; trap : HUP QUIT; trap _cv=1 INT; fi
_co; _cz=$_cw
_ca() { _cx=; { read -r _cx </proc/loadavg; } 2>/dev/null; _cx=${_cx##* }; case $_cx in *[!0-9]*) _cx= ;; esac; }
_ca; _cb=$_cx
exec 3>&1 4>&2
_cm=$(trap : $_cr; { (exec "$_cp" "$@" >&3 2>&4 3>&- 4>&-); _cs=$?; } 2>&1; exit $_cs); _cs=$?
exec 3>&- 4>&-
unset IFS
trap '' TTOU
_cl=; _ca
if [ -z "$_cb" ] || [ "${KSH_VERSION-}" ] || [ "$_cx" != $((_cb+2)) ]; then
_cg=; for _cx in /bin/grep /usr/bin/grep; do [ -x $_cx ] && _cg=$_cx; done
_cd() { if [ $_cg ]; then $_cg -ls ") [^Z] [0-9]* [0-9]* $$ " /proc/[0-9]*/stat; else echo /proc/[0-9]*/stat; fi 2>/dev/null; }
_ck() { _cl=; for _cf in $(_cd); do { read -r _cx <"$_cf"; } 2>/dev/null || continue
_ci=${_cx%% *}; set -- ${_cx##*') '}; [ "$4" = $$ ] && [ "$_ci" != $$ ] && [ "$1" != Z ] && _cl="$_cl $_ci"; done; }
_ck; fi
if [ "$_cl" ]; then sleep "$_c4"; _cn=20
while _ck; [ "$_cl" ] && [ $_cn -gt 0 ]; do kill -9 $_cl; _cn=$((_cn-1)); done; fi 2>/dev/null
_co
_cx=0 _cy=0
[ "$_cm" ] && [ $_cs -gt 128 ] && _cx=1
[ "$_cv" ] && [ $_cs = 130 ] && _cx=1
case $_cs in 126|127) if [ -r "$_cp" ]; then read -r _cm <"$_cp"
case $_cm in
'#!'*) _cm=${_cm#??}; _cm=${_cm# }; _cm=${_cm%% *}; [ -e "$_cm" ] || _cq n ;;
?ELF*) ;;
*) [ $_cs = 126 ] && _cq g ;;
esac; fi ;; esac
[ "$_cw" = "$_cz" ] || _cy=1
_ct "e$_cs,$_cx,$_cy"
exit $_cs)sh";

/// The script that sends a signal to the processes of one command. It exits with 0 if all of the processes could be
/// signalled. With $3 = a, it repeats the signal, and exits with 0 if none of the processes is left.
///
/// The arguments:
/// * $1: the signal.
/// * $2: the process id of `exec_script`.
/// * $3: the processes to signal. g: the process group of the script, without the script and the child process through
///   which it runs the command. s: the session of the script, without the same two processes. t: the session of a
///   terminal, whose first process is the command. a: the whole session, and all processes with $4 in their
///   environment.
/// * $4: the environment variable that identifies the processes of the command, as `NAME=value`.
inline constexpr std::string_view signal_script = R"sh(_cn=0
while _cl=; for _cf in /proc/[0-9]*/stat; do { read -r _cx <"$_cf"; } 2>/dev/null || continue
_ci=${_cx%% *}; _cs=$1 _cp=$2 _ch=$3 _ct=$4; set -- ${_cx##*') '}
_cy=
case $_ch in
g) [ "$3" = "$_cp" ] && [ "$_ci" != "$_cp" ] && [ "$2" != "$_cp" ] && _cy=1 ;;
s) [ "$4" = "$_cp" ] && [ "$_ci" != "$_cp" ] && [ "$2" != "$_cp" ] && _cy=1 ;;
t) [ "$4" = "$_cp" ] && _cy=1 ;;
a) if [ "$4" = "$_cp" ]; then _cy=1; elif [ -r "/proc/$_ci/environ" ]; then
while read -r _cx || [ "$_cx" ]; do case $_cx in *"$_ct"*) _cy=1 ;; esac; done <"/proc/$_ci/environ"; fi ;;
esac 2>/dev/null
[ "$1" = Z ] && _cy=
[ "$_ci" = $$ ] && _cy=
[ "$_cy" ] && _cl="$_cl $_ci"
set -- "$_cs" "$_cp" "$_ch" "$_ct"
done
[ "$_cl" ]; do kill "-$1" $_cl 2>/dev/null || _cn=$((_cn+50))
[ "$3" = a ] && [ $_cn -lt 150 ] || break; _cn=$((_cn+1)); done; [ $_cn -lt 50 ])sh";

/// The content of a mark (a short text) that `exec_script` writes into the outputs of a command to report its start or
/// end.
class exec_mark {
 public:
  enum class kind { begun, ended, failed };
  kind what = kind::begun;
  long number = 0;  ///< for `begun` the process id of the script, for `ended` the exit status
  bool signaled = false;
  bool out_of_memory = false;
  std::string reason;

  /// Parses the content of a mark. Returns no value if it is malformed.
  /// \param text  the part between the text with which each mark begins and the `;`.
  static std::optional<exec_mark> parse(std::string_view text) {
    if (text.empty()) return std::nullopt;
    exec_mark mark;
    const char first = text.front();
    text.remove_prefix(1);
    if (first == 'f') {
      mark.what = kind::failed;
      mark.reason = std::string(text);
      return mark;
    }
    if (first != 'b' && first != 'e') return std::nullopt;
    mark.what = first == 'b' ? kind::begun : kind::ended;
    std::array<long, 3> values{};
    std::size_t at = 0;
    bool has_digit = false;
    for (const char c : text) {
      if (c == ',' && has_digit && at + 1 < values.size()) {
        ++at;
        has_digit = false;
      } else if (c >= '0' && c <= '9' && values[at] < 100'000'000) {
        values[at] = values[at] * 10 + (c - '0');
        has_digit = true;
      } else {
        return std::nullopt;
      }
    }
    if (!has_digit || (first == 'e' && (at != 2 || values[0] > 255))) return std::nullopt;
    mark.number = values[0];
    mark.signaled = values[1] != 0;
    mark.out_of_memory = values[2] != 0;
    return mark;
  }
};

/// A parser that separates the marks of `exec_script` in one output from the command's own output. It does no I/O, and
/// buffers at most the length of a mark.
class marked_output {
 public:
  /// Makes a parser.
  /// \param mark  the text that begins every mark. Its first byte must occur only once in it.
  explicit marked_output(std::string mark) : mark_(std::move(mark)) {}

  /// Parses the next piece of the output.
  /// \param own    called with the command's own output, as `std::string_view`.
  /// \param found  called with each `exec_mark`.
  template <class Own, class Found>
  void feed(std::string_view input, Own own, Found found) {
    while (!input.empty()) {
      if (in_mark_) {
        const char c = input.front();
        input.remove_prefix(1);
        if (c != ';' && text_.size() < max_text) {
          text_ += c;
          continue;
        }
        in_mark_ = false;
        const std::optional<exec_mark> mark = exec_mark::parse(text_);
        text_.clear();
        if (mark) found(*mark);
      } else if (matched_ == 0) {
        const std::size_t at = std::min(input.find(mark_.front()), input.size());
        if (at > 0) own(input.substr(0, at));
        input.remove_prefix(at);
        if (!input.empty()) {
          matched_ = 1;
          input.remove_prefix(1);
        }
      } else if (input.front() == mark_[matched_]) {
        input.remove_prefix(1);
        if (++matched_ < mark_.size()) continue;
        matched_ = 0;
        in_mark_ = true;
      } else {
        give_back(own);
      }
    }
  }

  /// Delivers bytes that were buffered because they could have begun a mark. Call this at the end of the output.
  template <class Own>
  void finish(Own own) {
    if (matched_ > 0) give_back(own);
  }

 private:
  static constexpr std::size_t max_text = 64;

  template <class Own>
  void give_back(Own own) {
    own(std::string_view(mark_).substr(0, std::exchange(matched_, 0)));
  }

  std::string mark_;
  std::string text_;  // the content of the mark that is being read
  std::size_t matched_ = 0;
  bool in_mark_ = false;
};

/// Escapes a text for the `%b` format of the shell's `printf`. The result contains only ASCII characters.
inline std::string escaped_word(std::string_view word) {
  std::string all;
  for (const char c : word) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '/' || c == '=';
    if (plain) {
      all += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    all += "\\0";
    all += static_cast<char>('0' + (byte >> 6U));
    all += static_cast<char>('0' + ((byte >> 3U) & 7U));
    all += static_cast<char>('0' + (byte & 7U));
  }
  return all;
}

/// The way in which the end of a command with a terminal is detected.
enum class terminal_end {
  told_by_daemon,  ///< the command replaces the script, and the daemon reports the end
  /// The script waits for the end of the command, ends the command's remaining processes, and reports the end by marks.
  marked,
};

/// The arguments and environment variables with which a daemon starts `exec_script` for a command. The request to the
/// daemon is JSON, which cannot contain text that is not UTF-8, so such text is escaped, and the script decodes it.
class exec_order {
 public:
  /// Makes the arguments.
  /// \param mark       the text with which each mark of the script begins.
  /// \param size       the size of the command's terminal. No value means no terminal.
  /// \param linger     the time for which remaining processes of the command's session may continue after the end of
  ///                   the command.
  /// \param variables  the environment variables, as `NAME=value`.
  /// \param ends       the way in which the end of a command with a terminal is detected.
  exec_order(const std::string& mark, const std::string& directory, const std::optional<terminal_size>& size,
             std::chrono::milliseconds linger, const std::vector<std::string>& variables,
             const std::vector<std::string>& command, terminal_end ends = terminal_end::told_by_daemon) {
    std::vector<std::string> late;  // variables that are not UTF-8; the script sets them
    for (const std::string& each : variables) (is_valid_utf8(each) ? variables_ : late).push_back(each);
    const bool escapes = !late.empty() || !std::all_of(command.begin(), command.end(),
                                                       [](const auto& one) { return is_valid_utf8(one); });
    words_ = {"/bin/sh", "-c", std::string(exec_script), "sh", mark, directory};
    std::string dimensions;
    if (size) dimensions = std::to_string(size->rows()) + " " + std::to_string(size->columns());
    if (size && ends == terminal_end::marked) dimensions += " m";
    words_.push_back(std::move(dimensions));
    const std::string thousandths = std::to_string(1000 + linger.count() % 1000).substr(1);
    words_.push_back(std::to_string(linger.count() / 1000) + "." + thousandths);
    words_.push_back(escapes ? "1" : "");
    words_.push_back(std::to_string(late.size()));
    for (const std::vector<std::string>* list : {&std::as_const(late), &command})
      for (const std::string& each : *list) words_.push_back(escapes ? escaped_word(each) : each);
  }

  const std::vector<std::string>& words() const noexcept { return words_; }
  const std::vector<std::string>& variables() const noexcept { return variables_; }

  /// Returns true if the arguments and environment variables are longer than Linux accepts for a program. This is
  /// checked before the start, because the daemon would not report this error.
  bool is_too_long() const {
    constexpr std::size_t max_bytes = std::size_t{2} * 1024 * 1024 - 64 * 1024;
    std::size_t all = 0;
    for (const std::vector<std::string>* list : {&words_, &variables_})
      for (const std::string& each : *list) {
        all += each.size() + 1;
        if (each.size() >= command::max_string) return true;
      }
    return all >= max_bytes;
  }

  /// Returns true if the script can set all those environment variables that are not UTF-8 and that the daemon
  /// therefore cannot set. Their names must be valid in a shell.
  /// \param variables  the environment variables, as `NAME=value`.
  static bool can_set(const std::vector<std::string>& variables) {
    return std::all_of(variables.begin(), variables.end(), [](const std::string& each) {
      return is_valid_utf8(each) || is_identifier(each.substr(0, each.find('=')));
    });
  }

 private:
  static bool is_identifier(std::string_view name) {
    return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
           std::all_of(name.begin(), name.end(), [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
           });
  }

  std::vector<std::string> words_;
  std::vector<std::string> variables_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
