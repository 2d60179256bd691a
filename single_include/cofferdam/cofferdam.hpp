// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// cofferdam 0.1.0 in one file. Generated from include/ by single_include/amalgamate.py: do not edit.
// Link what the whole library needs: Boost.JSON, Boost.URL, OpenSSL and threads; define ASIO_STANDALONE.
#pragma once

#if defined(COFFERDAM_VERSION)
#error "cofferdam: one of the headers was included before the single header; include either it or them, not both"
#endif
#define COFFERDAM_SINGLE_HEADER
#define COFFERDAM_AMALGAMATION

// ---- cofferdam/version.hpp ----


#if defined(COFFERDAM_SINGLE_HEADER) && !defined(COFFERDAM_AMALGAMATION)
#error "cofferdam: the single header was included first in this file; include either it or the single headers, not both"
#endif

/// The version, as one number that the preprocessor can compare: major * 10000 + minor * 100 + patch.
#define COFFERDAM_VERSION 100

#include <string_view>

namespace cofferdam::inline v0 {

/// The version as text. CMake and the packages read it from this line.
inline constexpr std::string_view version = "0.1.0";

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/bytes.hpp ----


#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cofferdam::inline v0 {

/// Owned raw bytes: a file's content, a command's output. No encoding is implied.
using bytes = std::vector<std::byte>;

/// Somebody else's raw bytes. Where a coroutine takes one, the caller keeps them alive until its awaitable completes.
using bytes_view = std::span<const std::byte>;

/// The bytes of a text, seen in place. The view lives as long as `text`'s characters do.
inline bytes_view as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// The bytes as characters, seen in place and unchecked: not necessarily UTF-8.
inline std::string_view as_text(bytes_view content) noexcept {
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

/// A copy of a text's bytes.
inline bytes to_bytes(std::string_view text) {
  const bytes_view view = as_bytes(text);
  return {view.begin(), view.end()};
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/error.hpp ----


#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0 {

class command_result;

/// Why an operation could not do its work. What a command *did* is never one of these: that is a `command_result`.
enum class errc {
  invalid_argument = 1,  ///< the call itself is wrong; the sentence says which value and what is allowed
  cancelled,             ///< the awaiting coroutine was cancelled; its command has been ended
  environment_closed,    ///< the environment was closed before, or while, this ran
  provider_lost,         ///< what ran the commands is gone (a daemon, a connection, a container)
  provider_failed,       ///< an environment could not be opened
  unsupported,           ///< this backend cannot do that
  not_found,             ///< no such file or directory
  not_a_file,            ///< a directory, FIFO, device, socket or symbolic link where a regular file is needed
  not_a_directory,       ///< something else where a directory is needed
  already_exists,        ///< the name is taken
  not_empty,             ///< the directory still has entries
  outside_workspace,     ///< the path leads out of the workspace
  permission_denied,     ///< the operating system refused
  too_large,             ///< more than the caller's limit, or than the system's
  collision,             ///< two files would be written to one name
  io_error,              ///< reading or writing failed; `cause()` has the system's code
};

namespace detail {

class errc_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "cofferdam"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::invalid_argument: return "invalid argument";
      case errc::cancelled: return "cancelled";
      case errc::environment_closed: return "the environment is closed";
      case errc::provider_lost: return "the provider was lost";
      case errc::provider_failed: return "the environment could not be opened";
      case errc::unsupported: return "not supported by this backend";
      case errc::not_found: return "no such file or directory";
      case errc::not_a_file: return "not a regular file";
      case errc::not_a_directory: return "not a directory";
      case errc::already_exists: return "already exists";
      case errc::not_empty: return "directory not empty";
      case errc::outside_workspace: return "the path leads out of the workspace";
      case errc::permission_denied: return "permission denied";
      case errc::too_large: return "too large";
      case errc::collision: return "two files have one destination";
      case errc::io_error: return "input or output failed";
    }
    return "unknown cofferdam error";
  }
};

}  // namespace detail

/// The category of `errc`.
inline const std::error_category& error_category() noexcept {
  static const detail::errc_category category;
  return category;
}

/// Makes `errc` usable wherever an error code is; found by argument-dependent lookup.
inline std::error_code make_error_code(errc value) noexcept { return {static_cast<int>(value), error_category()}; }

}  // namespace cofferdam::inline v0

template <>
struct std::is_error_code_enum<cofferdam::errc> : std::true_type {};

namespace cofferdam::inline v0 {

/// What the library throws: an `errc`, and one sentence that says what happened, to what, and what to do about it.
///
/// `code()` compares with `errc`; `what()` is the sentence; `cause()` is the system's, the network's or the peer's own
/// code, where there was one. Copying does not throw.
class error : public std::system_error {
 public:
  error(errc code, std::string sentence, std::error_code cause = {})
      : std::system_error(make_error_code(code)),
        state_(std::make_shared<const state>(state{std::move(sentence), cause, nullptr})) {}

  /// The sentence. UTF-8; text that came from a guest or a peer stands in quotes and is escaped.
  const char* what() const noexcept override { return state_->sentence.c_str(); }

  /// The code underneath (`errno`, an HTTP status, an Asio code); false where there was none.
  std::error_code cause() const noexcept { return state_->cause; }

  /// What had arrived before the command was lost or cancelled; null where nothing is known.
  /// Lives as long as this error or a copy of it.
  const command_result* partial() const noexcept { return state_->partial.get(); }

  /// The same error, carrying what had arrived.
  error with_partial(std::shared_ptr<const command_result> partial) const {
    error copy = *this;
    copy.state_ = std::make_shared<const state>(state{state_->sentence, state_->cause, std::move(partial)});
    return copy;
  }

 private:
  struct state {
    std::string sentence;
    std::error_code cause;
    std::shared_ptr<const command_result> partial;
  };
  std::shared_ptr<const state> state_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/command.hpp ----


#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// For `command::timeout`: no limit at all, said on purpose. A command without any timeout gets its backend's default.
inline constexpr std::chrono::milliseconds no_timeout = std::chrono::milliseconds::max();

/// What to run: a line for a shell, or words for `execve` (then no shell is involved), and how.
///
/// Made by `shell()` and `argv()`, refined by setters that chain: `shell("make").timeout(10s).working_directory("src")`.
/// A value: copyable, holds nothing but strings. Whether the words make sense is the backend's to say, with a result.
class command {
 public:
  /// One environment variable of the command.
  class variable_setting {
   public:
    variable_setting(std::string name, std::string value) : name_(std::move(name)), value_(std::move(value)) {}
    const std::string& name() const noexcept { return name_; }
    const std::string& value() const noexcept { return value_; }

   private:
    std::string name_;
    std::string value_;
  };

  /// Nothing to run: every backend answers it with `error_kind::invalid_argument`.
  command() = default;

  /// Whether this is a line for a shell rather than words.
  bool is_shell() const noexcept { return is_shell_; }
  /// The line for the shell; empty where `is_shell()` is false.
  const std::string& line() const noexcept { return line_; }
  /// The program and its arguments; empty where `is_shell()` is true.
  const std::vector<std::string>& words() const noexcept { return words_; }

  /// Runs these words, without a shell, in place of what was set; every other setting stays. For layers.
  void become_argv(std::vector<std::string> words) {
    is_shell_ = false;
    line_.clear();
    words_ = std::move(words);
  }

  /// Ends the command (and all it started) this long after its start.
  /// \param limit  more than zero, or `no_timeout`.
  /// \throws error{errc::invalid_argument} for zero and less.
  command& timeout(std::chrono::milliseconds limit) & {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, "command: the timeout must be longer than zero (no_timeout says: none)");
    timeout_ = limit;
    return *this;
  }
  command&& timeout(std::chrono::milliseconds limit) && { return std::move(timeout(limit)); }
  /// The limit that was set, if any.
  std::optional<std::chrono::milliseconds> timeout() const noexcept { return timeout_; }
  /// Lowers the limit to `limit`, and sets it where there was none. Never lengthens it.
  void shorten_timeout(std::chrono::milliseconds limit) {
    if (!timeout_ || *timeout_ > limit) timeout(limit);
  }

  /// Where the command starts: a directory inside the workspace, relative to it (default: the workspace itself).
  command& working_directory(std::string path) & {
    working_directory_ = std::move(path);
    return *this;
  }
  command&& working_directory(std::string path) && { return std::move(working_directory(std::move(path))); }
  const std::string& working_directory() const noexcept { return working_directory_; }

  /// Adds an environment variable, or replaces it. Names not given here come from the environment, never from the host.
  /// \throws error{errc::invalid_argument} for a name that is empty or holds `=`, NUL or a line break, or a value with NUL;
  ///         error{errc::too_large} for a setting of 128 KiB or more, which no Linux program can be given.
  command& variable(std::string name, std::string value) & {
    if (name.empty() || name.find_first_of(std::string_view("=\0\n\r", 4)) != std::string::npos)
      throw error(errc::invalid_argument,
                  "command: a variable's name must not be empty and must not hold '=', NUL or a line break");
    if (value.find('\0') != std::string::npos)
      throw error(errc::invalid_argument, "command: a variable's value holds a NUL byte");
    if (name.size() + value.size() + 2 > longest_string)
      throw error(errc::too_large, "command: a variable of " + std::to_string(name.size() + value.size() + 1) +
                                       " bytes; Linux takes at most 131071 of name and value together");
    for (variable_setting& setting : variables_) {
      if (setting.name() == name) {
        setting = variable_setting(std::move(name), std::move(value));
        return *this;
      }
    }
    variables_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  command&& variable(std::string name, std::string value) && {
    return std::move(variable(std::move(name), std::move(value)));
  }
  const std::vector<variable_setting>& variables() const noexcept { return variables_; }

  /// What the command reads from standard input, which then ends. Without it standard input is `/dev/null`.
  command& input(bytes content) & {
    input_ = std::move(content);
    return *this;
  }
  command&& input(bytes content) && { return std::move(input(std::move(content))); }
  command& input(std::string_view text) & { return input(to_bytes(text)); }
  command&& input(std::string_view text) && { return std::move(input(to_bytes(text))); }
  const std::optional<bytes>& input() const noexcept { return input_; }
  /// Moves the input out: for backends, which would otherwise hold it twice.
  bytes take_input() { return input_ ? std::move(*input_) : bytes(); }

  /// Keeps standard input open for `process::write_input`. Only `start` can use it; `run_command` refuses it.
  command& open_input() & {
    has_open_input_ = true;
    return *this;
  }
  command&& open_input() && { return std::move(open_input()); }
  bool has_open_input() const noexcept { return has_open_input_; }

  /// How many bytes of each output stream the result keeps, half from the start and half from the end.
  /// Everything is counted, whatever is kept. Default: `default_kept_output`. Zero keeps nothing.
  command& keep_output(std::size_t bytes_per_stream) & {
    kept_output_ = bytes_per_stream;
    return *this;
  }
  command&& keep_output(std::size_t bytes_per_stream) && { return std::move(keep_output(bytes_per_stream)); }
  std::optional<std::size_t> kept_output() const noexcept { return kept_output_; }
  /// Lowers the number of kept bytes to `most`, and sets it where there was none.
  void reduce_kept_output(std::size_t most) {
    if (!kept_output_ || *kept_output_ > most) kept_output_ = most;
  }

  /// The longest single argument or variable Linux takes (MAX_ARG_STRLEN, execve(2)), its NUL included.
  static constexpr std::size_t longest_string = 128 * 1024;
  /// Bytes of each stream a result keeps where nothing else was said.
  static constexpr std::size_t default_kept_output = 1024 * 1024;

 private:
  friend command shell(std::string line);
  friend command argv(std::vector<std::string> words);

  bool is_shell_ = false;
  bool has_open_input_ = false;
  std::string line_;
  std::vector<std::string> words_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::string working_directory_ = ".";
  std::vector<variable_setting> variables_;
  std::optional<bytes> input_;
  std::optional<std::size_t> kept_output_;
};

/// A line for the environment's shell (bash where there is one, else sh): `shell("ls | wc -l")`.
/// \param line  any text; a NUL byte in it is answered by the backend with `error_kind::invalid_argument`.
inline command shell(std::string line) {
  command result;
  result.is_shell_ = true;
  result.line_ = std::move(line);
  return result;
}

/// A program and its arguments, given at run time as a list. No shell sees them.
inline command argv(std::vector<std::string> words) {
  command result;
  result.words_ = std::move(words);
  return result;
}

/// A program and its arguments: `argv("ls", "-l")`. No shell sees them.
template <std::convertible_to<std::string>... Words>
  requires(sizeof...(Words) > 0)
command argv(Words&&... words) {
  std::vector<std::string> list;
  list.reserve(sizeof...(Words));
  (list.emplace_back(std::forward<Words>(words)), ...);
  return argv(std::move(list));
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/utf8.hpp ----


#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace cofferdam::inline v0 {

/// What stands at the start of a text: one code point, or one broken sequence.
class utf8_unit {
 public:
  /// What is broken about it, if anything.
  enum class state : std::uint8_t {
    valid,       ///< a whole, well-formed sequence
    broken,      ///< no further bytes could make it one
    incomplete,  ///< the text ends too early: further bytes could complete it
  };

  constexpr utf8_unit(char32_t code_point, std::size_t size, state state) noexcept
      : code_point_(code_point), size_(static_cast<std::uint8_t>(size)), state_(state) {}

  /// The code point; U+FFFD where the sequence is broken or incomplete.
  constexpr char32_t code_point() const noexcept { return code_point_; }
  /// How many bytes it takes, 1 to 4; of a broken sequence the longest part that began well ("maximal subpart").
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool valid() const noexcept { return state_ == state::valid; }
  constexpr bool incomplete() const noexcept { return state_ == state::incomplete; }

 private:
  char32_t code_point_;
  std::uint8_t size_;
  state state_;
};

/// Reads the code point at the start of `text`, exactly as the WHATWG decoder does: overlong forms, surrogates and
/// values above U+10FFFF are broken at their first impossible byte.
/// \param  text  not empty; any bytes.
/// \par Source  Unicode 15, section 3.9, table 3-7; WHATWG Encoding, "UTF-8 decoder".
constexpr utf8_unit decode_utf8(std::string_view text) noexcept {
  const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80) return {lead, 1, utf8_unit::state::valid};
  std::size_t length = 0;
  unsigned lowest = 0x80;  // of the second byte
  unsigned highest = 0xBF;
  char32_t code_point = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    code_point = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    code_point = lead & 0x0F;
    if (lead == 0xE0) lowest = 0xA0;   // shorter forms exist
    if (lead == 0xED) highest = 0x9F;  // surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    code_point = lead & 0x07;
    if (lead == 0xF0) lowest = 0x90;
    if (lead == 0xF4) highest = 0x8F;  // above U+10FFFF
  } else {
    return {U'\uFFFD', 1, utf8_unit::state::broken};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {U'\uFFFD', i, utf8_unit::state::incomplete};
    const unsigned next = at(i);
    if (next < lowest || next > highest) return {U'\uFFFD', i, utf8_unit::state::broken};
    lowest = 0x80;
    highest = 0xBF;
    code_point = (code_point << 6) | (next & 0x3F);
  }
  return {code_point, length, utf8_unit::state::valid};
}

/// Appends one code point.
/// \param code_point  a Unicode scalar value; anything else is appended as U+FFFD.
inline void append_utf8(std::string& out, char32_t code_point) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) code_point = U'\uFFFD';
  const auto add = [&out](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xC0 | (code_point >> 6));
    add(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    add(0xE0 | (code_point >> 12));
    add(0x80 | ((code_point >> 6) & 0x3F));
    add(0x80 | (code_point & 0x3F));
  } else {
    add(0xF0 | (code_point >> 18));
    add(0x80 | ((code_point >> 12) & 0x3F));
    add(0x80 | ((code_point >> 6) & 0x3F));
    add(0x80 | (code_point & 0x3F));
  }
}

namespace detail {

// How many bytes at the start of `text` are well-formed UTF-8.
inline std::size_t valid_utf8_prefix(std::string_view text) noexcept {
  std::size_t i = 0;
  while (i < text.size()) {
    while (text.size() - i >= sizeof(std::uint64_t)) {
      std::uint64_t eight;
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080U) != 0) break;
      i += sizeof eight;
    }
    if (i == text.size()) break;
    const utf8_unit unit = decode_utf8(text.substr(i));
    if (!unit.valid()) break;
    i += unit.size();
  }
  return i;
}

}  // namespace detail

/// Whether these bytes are UTF-8: no overlong form, no surrogate, nothing above U+10FFFF, nothing cut off.
inline bool is_valid_utf8(std::string_view raw) noexcept { return detail::valid_utf8_prefix(raw) == raw.size(); }

/// Appends `raw` to `out` as valid UTF-8: each broken sequence becomes one U+FFFD, as the WHATWG decoder has it.
/// \param  raw  any bytes; must not be part of `out`.
/// \return      how many sequences were replaced.
/// \par Cost    linear; `out` grows by at most three times `raw.size()`.
inline std::size_t append_repaired_utf8(std::string& out, std::string_view raw) {
  std::size_t repairs = 0;
  while (!raw.empty()) {
    const std::size_t valid = detail::valid_utf8_prefix(raw);
    out.append(raw.substr(0, valid));
    raw.remove_prefix(valid);
    if (raw.empty()) break;
    out += "\xEF\xBF\xBD";
    raw.remove_prefix(decode_utf8(raw).size());
    ++repairs;
  }
  return repairs;
}

/// `raw` without a sequence at its end that further bytes could have completed: for a text cut there.
/// A sequence that is broken anyway stays.
inline std::string_view without_cut_end(std::string_view raw) noexcept {
  const std::size_t longest = raw.size() < 3 ? raw.size() : 3;  // an incomplete sequence has 1 to 3 bytes
  for (std::size_t length = 1; length <= longest; ++length) {
    const utf8_unit unit = decode_utf8(raw.substr(raw.size() - length));
    if (unit.incomplete() && unit.size() == length) return raw.substr(0, raw.size() - length);
  }
  return raw;
}

/// `raw` without the continuation bytes, three at most, that it starts with: for a text cut there.
inline std::string_view without_cut_start(std::string_view raw) noexcept {
  std::size_t count = 0;
  while (count < 3 && count < raw.size() && (static_cast<unsigned char>(raw[count]) & 0xC0) == 0x80) ++count;
  return raw.substr(count);
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/captured.hpp ----


#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline v0 {

/// What was kept of one output stream: its start, its end, and exactly how much there was.
class captured {
 public:
  captured() = default;

  /// \param head   the first bytes of the stream.
  /// \param tail   the last bytes; does not overlap `head`. Where nothing lies between them it is joined to `head`.
  /// \param total  how many bytes the stream had; at least `head.size() + tail.size()`, and raised to that.
  captured(bytes head, bytes tail, std::uint64_t total)
      : head_(std::move(head)),
        tail_(std::move(tail)),
        total_(std::max<std::uint64_t>(total, head_.size() + tail_.size())) {
    if (cut() == 0 && !tail_.empty()) {
      head_.insert(head_.end(), tail_.begin(), tail_.end());
      tail_ = bytes();
    }
  }

  /// The first bytes, exactly as they came: all of them where `cut()` is 0.
  const bytes& head() const noexcept { return head_; }
  /// The last bytes, exactly as they came. Empty where nothing was cut.
  const bytes& tail() const noexcept { return tail_; }
  /// How many bytes the stream had, kept or not.
  std::uint64_t total() const noexcept { return total_; }
  /// How many bytes between `head()` and `tail()` were not kept.
  std::uint64_t cut() const noexcept { return total_ - head_.size() - tail_.size(); }

  /// The text to show: head, a marker where something was cut, tail. Always valid UTF-8: each broken sequence is one
  /// U+FFFD, as the WHATWG decoder has it, and a sequence that only the cut broke is left out instead.
  std::string text() const {
    std::string result;
    append_text(result);
    return result;
  }

  /// The part of `text()` before the marker: everything where nothing was cut.
  std::string head_text() const {
    std::string result;
    append_head_text(result);
    return result;
  }

  /// The part of `text()` after the marker: empty where nothing was cut.
  std::string tail_text() const {
    std::string result;
    append_tail_text(result);
    return result;
  }

  /// How many broken sequences `text()` replaces.
  std::size_t repairs() const {
    std::string scratch;
    return append_text(scratch);
  }

  /// The marker that `text()` puts between head and tail for this many missing bytes. A guest can print the same words:
  /// `cut()` is what to ask, and `format_result` shows it in a form that no output can imitate.
  static std::string cut_marker(std::uint64_t cut, std::uint64_t total) {
    return "\n[... " + std::to_string(cut) + " of " + std::to_string(total) + " bytes left out ...]\n";
  }

 private:
  std::size_t append_head_text(std::string& out) const {
    return append_repaired_utf8(out, cut() == 0 ? as_text(head_) : without_cut_end(as_text(head_)));
  }

  std::size_t append_tail_text(std::string& out) const {
    return append_repaired_utf8(out, without_cut_start(as_text(tail_)));
  }

  std::size_t append_text(std::string& out) const {
    std::size_t repairs = append_head_text(out);
    if (cut() == 0) return repairs;
    out += cut_marker(cut(), total_);
    repairs += append_tail_text(out);
    return repairs;
  }

  bytes head_;
  bytes tail_;
  std::uint64_t total_ = 0;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/protections.hpp ----


#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0 {

/// What a wall can stand around.
enum class protection {
  process_tree,   ///< what is sure to end with the command
  host_death,     ///< what ends when the host program is killed
  files,          ///< which host files the guest can reach
  network,        ///< what the guest can connect to
  signals,        ///< whom the guest can signal
  system_calls,   ///< which kernel calls it may make
  memory,         ///< how much memory it may use
  process_count,  ///< how many processes it may start
};

/// The name of a protection, as reports show it.
inline std::string_view to_string(protection which) noexcept {
  switch (which) {
    case protection::process_tree: return "process_tree";
    case protection::host_death: return "host_death";
    case protection::files: return "files";
    case protection::network: return "network";
    case protection::signals: return "signals";
    case protection::system_calls: return "system_calls";
    case protection::memory: return "memory";
    case protection::process_count: return "process_count";
  }
  return "unknown";
}

/// Which walls stood around a command. "none" means none: a backend sets only what it has put up itself.
class protections {
 public:
  static constexpr std::size_t count = 8;

  /// What stands for `which`: "none", or a few words of the backend's.
  std::string_view of(protection which) const noexcept {
    const std::string& words = states_[static_cast<std::size_t>(which)];
    return words.empty() ? std::string_view("none") : std::string_view(words);
  }

  /// Says what stands for `which`.
  protections& set(protection which, std::string words) & {
    states_[static_cast<std::size_t>(which)] = std::move(words);
    return *this;
  }
  protections&& set(protection which, std::string words) && { return std::move(set(which, std::move(words))); }

 private:
  std::array<std::string, count> states_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/command_result.hpp ----


#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0 {

/// What went wrong around a command. `none` is also the kind of a command that merely exited with another code than 0.
enum class error_kind {
  none,
  timeout,                 ///< ended by its time limit
  command_not_allowed,     ///< refused by an allowlist, before anything started
  absolute_path_detected,  ///< refused by the path advice, before anything started
  invalid_argument,        ///< the command cannot be one: empty, or with a NUL byte
  execution_error,         ///< could not be started; `cause()` has the system's code
  out_of_memory,           ///< ended by a memory limit
  process_limit,           ///< ended or refused by a limit on processes
  disk_full,               ///< ended or refused by a limit on disk space
};

/// The kind as the words a model reads.
inline std::string_view to_string(error_kind kind) noexcept {
  switch (kind) {
    case error_kind::none: return "none";
    case error_kind::timeout: return "timeout";
    case error_kind::command_not_allowed: return "command_not_allowed";
    case error_kind::absolute_path_detected: return "absolute_path_detected";
    case error_kind::invalid_argument: return "invalid_argument";
    case error_kind::execution_error: return "execution_error";
    case error_kind::out_of_memory: return "out_of_memory";
    case error_kind::process_limit: return "process_limit";
    case error_kind::disk_full: return "disk_full";
  }
  return "unknown";
}

/// What a command did, or why it was not run. A value; the setters are for backends and layers.
///
/// `exit 137`, death by signal 9, a memory limit and a time limit are four different results: the first has
/// `exit_code() == 137`, the second `term_signal() == 9`, the others their `kind()`.
class command_result {
 public:
  /// Nothing has run: `exit_code()` is -1 and `ok()` false.
  command_result() = default;

  /// A command that exited by itself.
  /// \param code  0 to 255.
  static command_result exited(int code) {
    command_result result;
    result.exit_code_ = code;
    return result;
  }

  /// A command that was not run.
  /// \param kind    why, as one word; not `error_kind::none`.
  /// \param reason  one sentence: what happened.
  /// \param advice  one sentence: what to do instead; may be empty.
  static command_result refused(error_kind kind, std::string reason, std::string advice = {}) {
    command_result result;
    result.kind_ = kind;
    result.reason_ = std::move(reason);
    result.advice_ = std::move(advice);
    return result;
  }

  /// It ran, nothing ended it, and it exited with 0.
  bool ok() const noexcept { return kind_ == error_kind::none && term_signal_ == 0 && exit_code_ == 0; }

  /// 0 to 255 where the command exited by itself; -1 where it did not (a signal, a refusal, no start).
  int exit_code() const noexcept { return exit_code_; }
  command_result& exit_code(int code) {
    exit_code_ = code;
    return *this;
  }

  /// The signal that ended the command; 0 where none did.
  int term_signal() const noexcept { return term_signal_; }
  command_result& term_signal(int number) {
    term_signal_ = number;
    return *this;
  }

  error_kind kind() const noexcept { return kind_; }
  command_result& kind(error_kind kind) {
    kind_ = kind;
    return *this;
  }

  /// One sentence that says what `kind()` means here, in our words; empty for `error_kind::none`.
  const std::string& reason() const noexcept { return reason_; }
  command_result& reason(std::string sentence) {
    reason_ = std::move(sentence);
    return *this;
  }

  /// What to do about it, for a model to read; often empty. A command that ran may have advice too.
  const std::string& advice() const noexcept { return advice_; }
  command_result& advice(std::string sentence) {
    advice_ = std::move(sentence);
    return *this;
  }

  /// The system's code behind `error_kind::execution_error`; false where there is none.
  std::error_code cause() const noexcept { return cause_; }
  command_result& cause(std::error_code code) {
    cause_ = code;
    return *this;
  }

  /// Standard output.
  const captured& out() const noexcept { return out_; }
  command_result& out(captured stream) {
    out_ = std::move(stream);
    return *this;
  }

  /// Standard error.
  const captured& err() const noexcept { return err_; }
  command_result& err(captured stream) {
    err_ = std::move(stream);
    return *this;
  }

  /// From start to the end of what is waited for, on a steady clock.
  std::chrono::nanoseconds duration() const noexcept { return duration_; }
  command_result& duration(std::chrono::nanoseconds elapsed) {
    duration_ = elapsed;
    return *this;
  }

  /// User and system time of the command and the children it waited for, where the backend knows.
  std::optional<std::chrono::microseconds> cpu_time() const noexcept { return cpu_time_; }
  command_result& cpu_time(std::chrono::microseconds used) {
    cpu_time_ = used;
    return *this;
  }

  /// Largest resident set, in bytes, of the command or any child it waited for, where the backend knows.
  std::optional<std::uint64_t> peak_memory() const noexcept { return peak_memory_; }
  command_result& peak_memory(std::uint64_t size) {
    peak_memory_ = size;
    return *this;
  }

  /// The walls that stood around the command; all "none" where it did not run.
  const protections& walls() const noexcept {
    static const protections nothing;
    return walls_ ? *walls_ : nothing;
  }
  command_result& walls(std::shared_ptr<const protections> standing) {
    walls_ = std::move(standing);
    return *this;
  }

 private:
  int exit_code_ = -1;
  int term_signal_ = 0;
  error_kind kind_ = error_kind::none;
  std::string reason_;
  std::string advice_;
  std::error_code cause_;
  captured out_;
  captured err_;
  std::chrono::nanoseconds duration_{};
  std::optional<std::chrono::microseconds> cpu_time_;
  std::optional<std::uint64_t> peak_memory_;
  std::shared_ptr<const protections> walls_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/path_advice.hpp ----


#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam::inline v0 {

namespace detail {

/// Whether `path` is `root` or beneath it, component by component.
inline bool is_beneath(std::string_view path, std::string_view root) noexcept {
  return !root.empty() && path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

/// The places of a host that a command has no business in. Programs, libraries and devices are not among them.
inline bool is_foreign_place(std::string_view path) noexcept {
  constexpr std::array<std::string_view, 13> places{"/etc", "/home", "/root", "/tmp",   "/var",   "/proc",   "/sys",
                                                    "/run", "/srv",  "/mnt",  "/media", "/Users", "/private"};
  for (const std::string_view place : places)
    if (is_beneath(path, place)) return true;
  return false;
}

inline bool has_parent_component(std::string_view word) noexcept {
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t slash = std::min(word.find('/', at), word.size());
    if (word.substr(at, slash - at) == "..") return true;
    at = slash + 1;
  }
  return false;
}

}  // namespace detail

/// The first word of a shell line that looks like a path out of the workspace; empty where none does.
///
/// A guess about text, to advise a model with, and no protection: a variable, a glob or a program's own string names
/// any file. Looks at words as blanks, quotes, operators, `=` and `:` part them: absolute paths to the
/// folders a host keeps its own and its users' files in, `~name`, and `..` components. HOME is the workspace, so `~/x` is inside.
/// \param line      a shell line.
/// \param root      the workspace's absolute path; paths beneath it are inside.
/// \param also      another absolute path that counts as inside; may be empty.
/// \par Source      the five-folder pattern of Stirrup's local backend, whose false alarms (`s/var/home/`, URLs,
///                  `build/tmp/x`) this does not have.
inline std::string outside_path(std::string_view line, std::string_view root, std::string_view also = {}) {
  constexpr std::string_view parting = " \t\n'\"`;|&<>()=:";
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t start = line.find_first_not_of(parting, at);
    if (start == std::string_view::npos) break;
    at = std::min(line.find_first_of(parting, start), line.size());
    const std::string_view word = line.substr(start, at - start);
    const bool after_scheme = start > 0 && line[start - 1] == ':' && word.starts_with("//");
    if (after_scheme) continue;
    if (word.size() > 1 && word.front() == '/') {
      if (detail::has_parent_component(word)) return std::string(word);
      if (!detail::is_beneath(word, root) && !detail::is_beneath(word, also) && detail::is_foreign_place(word))
        return std::string(word);
    } else if (word.front() == '~' && word.size() > 1 && word[1] != '/' && word[1] != '+' && word[1] != '-') {
      return std::string(word);
    } else if (detail::has_parent_component(word)) {
      return std::string(word);
    }
  }
  return {};
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/printable_text.hpp ----


#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam::inline v0 {

namespace detail {

/// Whether a code point is shown as an escape: it moves, hides or reorders what a terminal or a model reads.
constexpr bool is_misleading(char32_t c) noexcept {
  if (c < 0x20) return c != U'\n' && c != U'\t';
  if (c < 0x7F) return false;
  if (c <= 0x9F) return true;                                 // DEL and the 8-bit controls
  if (c == 0x61C || c == 0x200E || c == 0x200F) return true;  // bidi marks
  if (c >= 0x2028 && c <= 0x202E) return true;                // line and paragraph separators, bidi overrides
  if (c >= 0x2066 && c <= 0x206F) return true;                // bidi isolates, deprecated format controls
  if (c >= 0xFFF9 && c <= 0xFFFB) return true;                // hidden annotations
  return c >= 0xE0000 && c <= 0xE007F;                        // tags: letters that nobody sees and a model reads
}

/// `\x1b`, `\u202e`, `\U000e0041`: the shortest of the three that holds the code point.
class code_point_escape {
 public:
  explicit constexpr code_point_escape(char32_t c) noexcept {
    add('\\');
    if (c < 0x80) {
      add('x');
      add_digits(c, 2);
    } else if (c < 0x10000) {
      add('u');
      add_digits(c, 4);
    } else {
      add('U');
      add_digits(c, 8);
    }
  }

  constexpr std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  constexpr void add(char c) noexcept { text_[size_++] = c; }
  constexpr void add_digits(char32_t c, int digits) noexcept {
    while (digits-- > 0) add("0123456789abcdef"[(c >> (4 * digits)) & 0xF]);
  }

  std::array<char, 10> text_{};
  std::size_t size_ = 0;
};

/// A control sequence (ECMA-48, 5.4) behind its `ESC [`: parameters, intermediates, one final byte.
class control_sequence {
 public:
  static constexpr std::size_t longest = 64;

  /// \param text  what follows `ESC [`.
  explicit constexpr control_sequence(std::string_view text) noexcept {
    const auto take_while = [&](unsigned char from, unsigned char to) {
      const std::size_t start = size_;
      while (size_ < text.size() && size_ < longest && is_between(text[size_], from, to)) ++size_;
      return text.substr(start, size_ - start);
    };
    parameters_ = take_while(0x30, 0x3F);
    intermediates_ = take_while(0x20, 0x2F);
    if (size_ == text.size() || size_ == longest || !is_between(text[size_], 0x40, 0x7E)) return;
    final_ = text[size_++];
  }

  /// The last byte; NUL where this is no control sequence.
  constexpr char final_byte() const noexcept { return final_; }
  constexpr std::size_t size() const noexcept { return size_; }
  /// Not one of the standard's own: a terminal maker's.
  constexpr bool is_private() const noexcept {
    return !intermediates_.empty() || (!parameters_.empty() && is_between(parameters_.front(), 0x3C, 0x3F));
  }
  constexpr bool has_intermediates() const noexcept { return !intermediates_.empty(); }
  constexpr std::string_view parameters() const noexcept { return parameters_; }
  /// The first parameter, at most 65535; `fallback` where it is missing.
  constexpr std::size_t number(std::size_t fallback) const noexcept {
    if (parameters_.empty() || !is_between(parameters_.front(), '0', '9')) return fallback;
    std::size_t value = 0;
    for (const char c : parameters_) {
      if (!is_between(c, '0', '9')) break;
      value = std::min<std::size_t>(10 * value + static_cast<std::size_t>(c - '0'), 65535);
    }
    return value;
  }

 private:
  static constexpr bool is_between(char c, unsigned char from, unsigned char to) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return from <= byte && byte <= to;
  }

  std::string_view parameters_;
  std::string_view intermediates_;
  std::size_t size_ = 0;
  char final_ = '\0';
};

/// The length of an OSC 8 hyperlink mark behind its `ESC ]`, end included; 0 where there is none.
constexpr std::size_t hyperlink_size(std::string_view text) noexcept {
  if (!text.starts_with("8;")) return 0;
  for (std::size_t i = 2; i < text.size(); ++i) {
    if (text[i] == '\a') return i + 1;
    if (text.substr(i).starts_with("\x1b\\")) return i + 2;
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte > 0x7E) return 0;  // also bounds the scan: no byte is looked at twice by two marks
  }
  return 0;
}

/// One pass over a text as a terminal of endless width sees it. The line in work stands at the end of `out_` while
/// writing only goes forward; the first step back moves it into `cells_`, where code points can be written over.
class line_screen {
 public:
  explicit line_screen(std::size_t size_hint) { out_.reserve(size_hint); }

  /// \param text  printable ASCII, tabs and newlines.
  void write_plain(std::string_view text) {
    while (going_back_ && !text.empty()) {
      write(static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    }
    out_.append(text);
    const std::size_t newline = text.rfind('\n');
    if (newline != std::string_view::npos) line_start_ = out_.size() - (text.size() - newline - 1);
  }

  void write(char32_t c) {
    if (c == U'\n') return end_line();
    if (is_misleading(c)) {
      const code_point_escape escape(c);
      for (const char shown : escape.text()) put(static_cast<unsigned char>(shown));
    } else {
      put(c);
    }
  }

  void to_column(std::size_t column) {
    if (column == 0 && out_.size() == line_start_ && !going_back_) return;
    start_going_back();
    cursor_ = std::min(column, cells_.size());
  }
  void left(std::size_t count) {
    if (count == 0 || (out_.size() == line_start_ && !going_back_)) return;
    start_going_back();
    cursor_ -= std::min(count, cursor_);
  }
  /// Past the end of the line it is one blank, however far: the result stays in proportion to the input.
  void right(std::size_t count) {
    const std::size_t rest = going_back_ ? cells_.size() - cursor_ : 0;
    if (going_back_) cursor_ += std::min(count, rest);
    if (count > rest) put(U' ');
  }
  void erase_to_end() {
    if (going_back_) cells_.resize(cursor_);
  }
  void erase_line() {
    cells_.clear();
    cursor_ = 0;
    out_.resize(line_start_);
  }
  /// To another line. There is only one here, so a new one begins, and nothing that was written is lost.
  void leave_line() {
    if (going_back_ ? !cells_.empty() : out_.size() != line_start_) end_line();
  }

  std::string take() {
    flush();
    return std::move(out_);
  }

 private:
  void put(char32_t c) {
    if (!going_back_) return append_utf8(out_, c);
    if (cursor_ < cells_.size()) {
      cells_[cursor_] = c;
    } else {
      cells_.push_back(c);
    }
    ++cursor_;
  }

  void start_going_back() {
    if (going_back_) return;
    cells_.clear();
    for (std::string_view line = std::string_view(out_).substr(line_start_); !line.empty();) {
      const utf8_unit unit = decode_utf8(line);
      cells_.push_back(unit.code_point());
      line.remove_prefix(unit.size());
    }
    out_.resize(line_start_);
    cursor_ = cells_.size();
    going_back_ = true;
  }

  void flush() {
    for (const char32_t c : cells_) append_utf8(out_, c);
    cells_.clear();
    cursor_ = 0;
    going_back_ = false;
  }

  void end_line() {
    flush();
    out_.push_back('\n');
    line_start_ = out_.size();
  }

  std::string out_;
  std::size_t line_start_ = 0;
  bool going_back_ = false;
  std::u32string cells_;  // of the line in work, once it went back
  std::size_t cursor_ = 0;
};

/// Carries out the control sequence, or leaves it alone.
/// \return  false where it is to be shown.
inline bool apply(const control_sequence& sequence, line_screen& screen) {
  const char final_byte = sequence.final_byte();
  if (sequence.is_private()) {  // ESC[?25l: modes such as "hide the cursor"
    return !sequence.has_intermediates() && sequence.parameters().front() == '?' &&
           (final_byte == 'h' || final_byte == 'l');
  }
  // Colours; save and restore the cursor; scrolling; tab stops and modes. Then: up, down, to a place.
  if (std::string_view("msuSTrghl").find(final_byte) != std::string_view::npos) return true;
  if (std::string_view("ABEFHfd").find(final_byte) != std::string_view::npos) {
    screen.leave_line();
    return true;
  }
  const std::size_t distance = std::max<std::size_t>(sequence.number(1), 1);
  switch (final_byte) {
    case 'C': screen.right(distance); return true;
    case 'D': screen.left(distance); return true;
    case 'G': screen.to_column(distance - 1); return true;
    case 'K':
      if (sequence.number(0) == 0) screen.erase_to_end();
      if (sequence.number(0) == 2) screen.erase_line();
      return true;
    case 'J':
      if (sequence.number(0) == 0) screen.erase_to_end();
      return true;
    default: return false;
  }
}

/// How many bytes behind an ESC it and they do harmless things with, which are then done; 0 where ESC is to be shown.
inline std::size_t apply_escape(std::string_view text, line_screen& screen) {
  if (text.empty()) return 0;
  switch (text.front()) {
    case '[': {
      const control_sequence sequence(text.substr(1));
      return sequence.final_byte() != '\0' && apply(sequence, screen) ? 1 + sequence.size() : 0;
    }
    case ']': {
      const std::size_t size = hyperlink_size(text.substr(1));
      return size == 0 ? 0 : 1 + size;
    }
    case '(': return text.size() > 1 && text[1] == 'B' ? 2 : 0;  // plain ASCII letters: what `tput sgr0` prints
    case '7':
    case '8':
    case '=':
    case '>': return 1;  // save and restore the cursor, keypad modes
    case 'D':
    case 'E':
    case 'M': screen.leave_line(); return 1;  // down, next line, up
    default: return 0;
  }
}

}  // namespace detail

/// A text as a person at a terminal would have read it, and nothing in it that a terminal or a model could misread.
///
/// * Lines are what a terminal shows at their end: `\r` and backspace go back and what follows writes over, so a
///   progress bar is its last state; `\r\n` is a line's end. A code point, a tab too, counts as one column.
/// * Dropped: colours, cursor shapes and modes (`ESC[?25l`), the wrapping of OSC 8 hyperlinks (their text stays).
/// * Done: moves and erasures within the line. A move to another line begins a new one, so that nothing written there
///   is lost; erasing the screen does nothing; what follows the erasure of a whole line stands at its beginning.
/// * Shown, as `\x1b`, `\u009b`, `\U000e0041`: all other sequences (titles, clipboard writes, DCS, ...), all other
///   control characters, DEL, 8-bit controls, bidirectional controls, U+2028, U+2029 and invisible tag characters.
///
/// The result is a display, not an encoding: a guest can print a backslash too. `captured` has the bytes themselves.
/// \param utf8  a text; broken sequences become U+FFFD.
/// \return      valid UTF-8, at most four times as long as `utf8`.
/// \par Cost    linear in time; besides the result at most one line, of four bytes a code point.
/// \par Source  ECMA-48, 5th edition (control functions); Unicode UAX 9 (bidirectional controls).
inline std::string printable_text(std::string_view utf8) {
  detail::line_screen screen(utf8.size());
  while (!utf8.empty()) {
    const auto is_plain = [](char c) { return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t'; };
    const auto plain = static_cast<std::size_t>(std::find_if_not(utf8.begin(), utf8.end(), is_plain) - utf8.begin());
    screen.write_plain(utf8.substr(0, plain));
    utf8.remove_prefix(plain);
    if (utf8.empty()) break;
    const utf8_unit unit = decode_utf8(utf8);
    utf8.remove_prefix(unit.size());
    switch (unit.code_point()) {
      case U'\r':
        if (!utf8.starts_with('\n')) screen.to_column(0);
        break;
      case U'\b': screen.left(1); break;
      case U'\x1b': {
        const std::size_t done = detail::apply_escape(utf8, screen);
        if (done == 0) screen.write(U'\x1b');
        utf8.remove_prefix(done);
        break;
      }
      default: screen.write(unit.code_point());
    }
  }
  return screen.take();
}

/// A text from a guest or a peer, for one line of a log or an error: everything that is not plainly visible is escaped.
///
/// The escapes are those of `printable_text`, and also `\n`, `\r`, `\t`, `\\`, `\"`, and `\xff` for a byte that is not
/// UTF-8. Put it between double quotes and it cannot end them; what was escaped can be told from what the guest typed.
/// \param text  any bytes.
/// \param most  characters of the result, at least 3; a longer one ends in `...`, never inside an escape.
/// \return      valid UTF-8, no control character in it.
/// \par Cost    linear in `most`, however long `text` is.
inline std::string one_line(std::string_view text, std::size_t most = 200) {
  most = std::max<std::size_t>(most, 3);
  std::string result;
  std::size_t characters = 0;
  std::size_t room_for_dots = 0;  // the longest part of `result` that leaves room for the dots
  while (!text.empty()) {
    const utf8_unit unit = decode_utf8(text);
    const char32_t c = unit.code_point();
    std::size_t added = 1;
    if (!unit.valid()) {
      for (const char byte : text.substr(0, unit.size())) {
        result += "\\x";
        result += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
        result += "0123456789abcdef"[static_cast<unsigned char>(byte) & 0xF];
      }
      added = 4 * unit.size();
    } else if (c == U'\n' || c == U'\r' || c == U'\t' || c == U'\\' || c == U'"') {
      result += '\\';
      result += c == U'\n' ? 'n' : c == U'\r' ? 'r' : c == U'\t' ? 't' : static_cast<char>(c);
      added = 2;
    } else if (detail::is_misleading(c)) {
      const detail::code_point_escape escape(c);
      result += escape.text();
      added = escape.text().size();
    } else {
      append_utf8(result, c);
    }
    if (characters + added > most) {
      result.resize(room_for_dots);
      result += "...";
      return result;
    }
    characters += added;
    if (characters + 3 <= most) room_for_dots = result.size();
    text.remove_prefix(unit.size());
  }
  return result;
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/asio.hpp ----


// A standard header has to come before the first one of Asio. Asio 1.22 asks the standard library's own macros whether
// there is an aligned allocation, and where it is the first header of a file they are not defined yet: that file would
// free coroutine frames by another function than the one that made them.
// clang-format off
#include <cstddef>

#include <asio/awaitable.hpp>
#include <asio/detail/config.hpp>
#include <asio/version.hpp>
// clang-format on

// The only file that looks at Asio's version; everything else uses the names below.

#if !defined(ASIO_STANDALONE)
#error \
    "cofferdam needs standalone Asio: define ASIO_STANDALONE in every file (the CMake target cofferdam::cofferdam does)"
#endif
#if !defined(ASIO_HAS_CO_AWAIT)
#error "cofferdam needs coroutines: compile as C++20 and, with clang and Asio before 1.26, define ASIO_HAS_CO_AWAIT"
#endif
#if ASIO_VERSION < 102201
#error "cofferdam needs Asio 1.22.1 or newer"
#endif

#if ASIO_VERSION < 102300
#include <asio/experimental/deferred.hpp>
#else
#include <asio/deferred.hpp>
#endif

namespace cofferdam::inline v0 {

/// What every operation of the library returns: lazy, awaited once, run by the executor of the coroutine that awaits it.
template <class T>
using awaitable = asio::awaitable<T>;

namespace detail {

#if ASIO_VERSION < 102300
inline constexpr asio::experimental::deferred_t deferred{};
#else
inline constexpr asio::deferred_t deferred{};
#endif

}  // namespace detail
}  // namespace cofferdam::inline v0

// ---- cofferdam/core/process.hpp ----


#include <memory>
#include <utility>

namespace cofferdam::inline v0 {

/// Which of a command's two outputs.
enum class output_stream { out, err };

/// A piece of a command's output, as it came: not cut at characters or lines.
class chunk {
 public:
  /// The end of the output.
  chunk() = default;
  chunk(output_stream stream, bytes data) : stream_(stream), data_(std::move(data)) {}

  output_stream stream() const noexcept { return stream_; }
  const bytes& data() const noexcept { return data_; }
  /// Nothing more will come.
  bool end() const noexcept { return data_.empty(); }

 private:
  output_stream stream_ = output_stream::out;
  bytes data_;
};

/// A command that runs. One type for all backends, so that layers can return one and backends can be swapped.
///
/// What is not read is not lost: while nobody reads, the command waits once its pipe is full (back-pressure), and
/// `wait()` takes what is left. The result's `out()` and `err()` hold what went by, read or not.
/// Destroying it ends the command, without waiting for that; so does closing the environment.
/// `read`, `write_input` and `signal` may be under way at the same time, each once.
/// \par Threads  the environment's executor only.
class process {
 public:
  /// What a backend writes to offer `start`. The members mean what `process`'s own mean; the destructor ends the command.
  class implementation {
   public:
    implementation() = default;
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;
    virtual ~implementation() = default;
    virtual awaitable<chunk> read() = 0;
    virtual awaitable<void> write_input(bytes_view data) = 0;
    virtual awaitable<void> close_input() = 0;
    virtual awaitable<void> signal(int number) = 0;
    virtual awaitable<command_result> wait() = 0;
  };

  /// No process; everything but assignment throws `error{errc::invalid_argument}`.
  process() = default;
  explicit process(std::unique_ptr<implementation> running) : running_(std::move(running)) {}

  /// A process that is over already, with this result and no output to read: what a layer returns when it refuses.
  static process finished(command_result result);

  /// The next piece of output of either stream, at most 64 KiB; an empty chunk at the end.
  /// \par Cancellation  terminal: ends the wait only, loses no byte; throws `error{errc::cancelled}`.
  awaitable<chunk> read() { return get().read(); }

  /// Writes all of `data` to the command's standard input; needs `command::open_input()`.
  /// \param data  kept by the caller until the awaitable completes.
  /// \throws error{errc::io_error} where the command has closed its input or ended; error{errc::unsupported} where its
  ///         input was not left open.
  /// \par Cancellation  terminal: some of `data` may have been written; throws `error{errc::cancelled}`.
  awaitable<void> write_input(bytes_view data) { return get().write_input(data); }

  /// Ends the command's standard input. Does nothing the second time.
  awaitable<void> close_input() { return get().close_input(); }

  /// Sends a signal to the command and its process group. Does nothing once the command has ended.
  /// \param number  as in `<csignal>`.
  awaitable<void> signal(int number) { return get().signal(number); }

  /// Waits for the end and takes what output is left; a second call yields the same result.
  /// \par Cancellation  terminal: ends the command and all it started, then throws `error{errc::cancelled}`.
  awaitable<command_result> wait() { return get().wait(); }

 private:
  implementation& get() const {
    if (!running_) throw error(errc::invalid_argument, "process: there is none (default-constructed or moved from)");
    return *running_;
  }

  std::unique_ptr<implementation> running_;
};

namespace detail {

class finished_process final : public process::implementation {
 public:
  explicit finished_process(command_result result) : result_(std::move(result)) {}
  awaitable<chunk> read() override { co_return chunk(); }
  awaitable<void> write_input(bytes_view) override {
    throw error(errc::io_error, "write_input: the command has ended", std::make_error_code(std::errc::broken_pipe));
    co_return;
  }
  awaitable<void> close_input() override { co_return; }
  awaitable<void> signal(int) override { co_return; }
  awaitable<command_result> wait() override { co_return result_; }

 private:
  command_result result_;
};

}  // namespace detail

inline process process::finished(command_result result) {
  return process(std::make_unique<detail::finished_process>(std::move(result)));
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/shielded.hpp ----


#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace cofferdam::inline v0::detail {

/// Awaits `work()` to its end even where the awaiting coroutine has been, or is being, cancelled, and leaves that
/// coroutine's own cancellation state as it was. (Asio keeps that state per spawned coroutine, not per frame: resetting
/// it would reset the caller's.) A coroutine that has been cancelled cannot even begin to await this, so:
///
///     const bool throws = co_await asio::this_coro::throw_if_cancelled();
///     co_await asio::this_coro::throw_if_cancelled(false);
///     co_await detail::shielded(std::move(work));
///     co_await asio::this_coro::throw_if_cancelled(throws);
template <class Work>
  requires std::same_as<std::invoke_result_t<Work&>, awaitable<void>>
awaitable<void> shielded(Work work) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  co_await asio::co_spawn(executor, std::move(work),
                          asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/core/output_collector.hpp ----


#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cofferdam::inline v0 {

/// Takes in all that a stream says and keeps its start and its end: the bound on host memory, whatever a guest prints.
///
/// Everything is kept while it fits. After that the first `keep / 2` bytes stay, and the rest of the room is a ring
/// that holds the newest ones. Memory grows with what arrives, doubling, and never beyond `keep` bytes; while it grows,
/// and inside `take()`, the old and the new block exist together for a moment.
/// \par Threads  one at a time.
/// \par Cost     `append` copies at most what is kept of the chunk: a large one costs no more than `keep / 2` bytes.
class output_collector {
 public:
  /// \param keep  bytes to keep, of the start and the end together. 0 only counts.
  explicit output_collector(std::size_t keep = command::default_kept_output) noexcept
      : head_size_(keep / 2), keep_(keep) {}

  output_collector(const output_collector&) = delete;
  output_collector& operator=(const output_collector&) = delete;
  output_collector(output_collector&& other) noexcept
      : kept_(std::exchange(other.kept_, bytes())),
        head_size_(other.head_size_),
        keep_(other.keep_),
        next_(std::exchange(other.next_, 0)),
        total_(std::exchange(other.total_, 0)) {}
  output_collector& operator=(output_collector&& other) noexcept {
    kept_ = std::exchange(other.kept_, bytes());
    head_size_ = other.head_size_;
    keep_ = other.keep_;
    next_ = std::exchange(other.next_, 0);
    total_ = std::exchange(other.total_, 0);
    return *this;
  }
  ~output_collector() = default;

  /// The next bytes of the stream. Where memory runs out (`std::bad_alloc`) nothing of `chunk` has been taken in.
  void append(bytes_view chunk) {
    const std::size_t fits = std::min(chunk.size(), keep_ - kept_.size());
    make_room(fits);
    total_ += chunk.size();
    kept_.insert(kept_.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(fits));
    append_to_ring(chunk.subspan(fits));
  }

  /// How many bytes have arrived since the start, or since the last `take()`.
  std::uint64_t total() const noexcept { return total_; }

  /// What was kept, moved out. The collector is empty afterwards, holds no memory and may be used again.
  captured take() {
    const std::uint64_t total = total_;
    if (total == kept_.size()) {
      captured result(std::exchange(kept_, bytes()), bytes(), total);
      reset();
      return result;
    }
    bytes tail = copy_of_tail();
    kept_.resize(head_size_);
    kept_.shrink_to_fit();
    captured result(std::exchange(kept_, bytes()), std::move(tail), total);
    reset();
    return result;
  }

  /// A copy of what `take()` would yield now.
  captured snapshot() const {
    if (total_ == kept_.size()) return captured(kept_, bytes(), total_);
    return captured(bytes(kept_.begin(), ring_start()), copy_of_tail(), total_);
  }

 private:
  bytes::const_iterator ring_start() const noexcept { return kept_.begin() + static_cast<std::ptrdiff_t>(head_size_); }

  void make_room(std::size_t more) {
    const std::size_t needed = kept_.size() + more;
    if (needed <= kept_.capacity()) return;
    const std::size_t doubled = kept_.capacity() > keep_ / 2 ? keep_ : 2 * kept_.capacity();
    kept_.reserve(std::max(needed, doubled));
  }

  // Bytes come here only once `kept_` has its full size: [0, head_size_) stays, [head_size_, keep_) is the ring, and
  // its oldest byte stands at head_size_ + next_.
  void append_to_ring(bytes_view chunk) noexcept {
    if (chunk.empty()) return;
    const std::size_t room = keep_ - head_size_;
    if (chunk.size() >= room) {  // also where there is no room at all
      std::copy(chunk.end() - static_cast<std::ptrdiff_t>(room), chunk.end(),
                kept_.end() - static_cast<std::ptrdiff_t>(room));
      next_ = 0;
      return;
    }
    const std::size_t first = std::min(chunk.size(), room - next_);
    const auto ring = kept_.begin() + static_cast<std::ptrdiff_t>(head_size_);
    std::copy_n(chunk.begin(), first, ring + static_cast<std::ptrdiff_t>(next_));
    std::copy_n(chunk.begin() + static_cast<std::ptrdiff_t>(first), chunk.size() - first, ring);
    next_ = (next_ + chunk.size()) % room;
  }

  bytes copy_of_tail() const {
    bytes tail;
    tail.reserve(keep_ - head_size_);
    const auto oldest = ring_start() + static_cast<std::ptrdiff_t>(next_);
    tail.insert(tail.end(), oldest, kept_.end());
    tail.insert(tail.end(), ring_start(), oldest);
    return tail;
  }

  void reset() noexcept {
    next_ = 0;
    total_ = 0;
  }

  bytes kept_;
  std::size_t head_size_;
  std::size_t keep_;
  std::size_t next_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/os/unique_fd.hpp ----


#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// Owns one file descriptor and closes it.
class unique_fd {
 public:
  unique_fd() = default;
  /// \param fd  taken over; -1 means none.
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~unique_fd() { reset(); }

  /// The descriptor, still owned; -1 where there is none.
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  /// Gives the descriptor up.
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Closes the descriptor and takes over another.
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

  /// The same descriptor with a number above the three standard ones, which a host program may have closed.
  /// Empty, with `errno` set, where the system has no descriptor left.
  static unique_fd above_standard(unique_fd fd) noexcept {
    if (fd.get() < 0 || fd.get() > 2) return fd;
    return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  }

 private:
  int fd_ = -1;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/os/pipe.hpp ----


#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// Both ends of a pipe, closed on exec and numbered above the standard descriptors.
class pipe_ends {
 public:
  unique_fd read_end;
  unique_fd write_end;
};

namespace detail {

inline unique_fd usable(unique_fd fd, const char* what) {
  fd = unique_fd::above_standard(std::move(fd));
  if (!fd) {
    const std::error_code cause(errno, std::system_category());
    throw error(
        errc::io_error,
        std::string(what) + ": " + cause.message() + "; raise the limit on open files, or run fewer commands at once",
        cause);
  }
  return fd;
}

inline void set_nonblocking(const unique_fd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) < 0)
    throw error(errc::io_error, "a pipe cannot be made non-blocking", std::error_code(errno, std::system_category()));
}

/// write(2) that answers EPIPE and raises no SIGPIPE, whatever the host program does with that signal.
inline ssize_t write_without_sigpipe(int fd, bytes_view data) noexcept {
  sigset_t broken;
  sigset_t before;
  sigset_t pending;
  ::sigemptyset(&broken);
  ::sigaddset(&broken, SIGPIPE);
  ::sigpending(&pending);
  const bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &broken, &before);
  const ssize_t written = ::write(fd, data.data(), data.size());
  const int number = errno;
  if (written < 0 && number == EPIPE && !was_pending) {
    const timespec now{};
    while (::sigtimedwait(&broken, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = number;
  return written;
}

}  // namespace detail

/// Makes a pipe.
/// \throws error{errc::io_error} where the system has no descriptor left.
inline pipe_ends make_pipe() {
  int fds[2] = {-1, -1};
  if (::pipe2(fds, O_CLOEXEC) < 0) {
    const std::error_code cause(errno, std::system_category());
    throw error(errc::io_error,
                "pipe: " + cause.message() + "; raise the limit on open files, or run fewer commands at once", cause);
  }
  pipe_ends ends;
  ends.read_end.reset(fds[0]);
  ends.write_end.reset(fds[1]);
  ends.read_end = detail::usable(std::move(ends.read_end), "pipe");
  ends.write_end = detail::usable(std::move(ends.write_end), "pipe");
  return ends;
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/os/reaper.hpp ----


#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <sys/wait.h>

namespace cofferdam::inline v0::detail {

/// Takes over what a destructor may not wait for: killed processes that are not dead yet, and folders to be removed.
/// One for the whole program, since children belong to the whole program. It has no thread: it is swept when the next
/// environment opens or closes, and at the program's end.
class reaper {
 public:
  static reaper& instance() {
    static reaper one;
    return one;
  }

  /// \param pidfd  of a child that has been sent SIGKILL. Where there is no memory to write that down, waits for it.
  void adopt(unique_fd pidfd) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      processes_.push_back(std::move(pidfd));
    } catch (const std::bad_alloc&) {
      siginfo_t info{};
      while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.get()), &info, WEXITED) < 0 &&
             errno == EINTR) {
      }
    }
  }

  /// \param folder  removed with all it holds once no adopted process is left that could write there.
  void adopt(std::filesystem::path folder) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      folders_.push_back(std::move(folder));
    } catch (const std::bad_alloc&) {
      static_cast<void>(removed(folder));
    }
  }

  /// Reaps what has died and removes what may be removed. Does not wait.
  void sweep() noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(processes_, [](const unique_fd& pidfd) { return reaped(pidfd); });
    if (!processes_.empty()) return;
    std::erase_if(folders_, [](const std::filesystem::path& folder) { return removed(folder); });
  }

  /// How many processes and folders wait.
  std::size_t pending() {
    const std::lock_guard lock(mutex_);
    return processes_.size() + folders_.size();
  }

  reaper(const reaper&) = delete;
  reaper& operator=(const reaper&) = delete;

 private:
  reaper() = default;
  ~reaper() { sweep(); }

  /// What cannot be removed now is tried again: descriptors may be short, or somebody may still write there.
  static bool removed(const std::filesystem::path& folder) noexcept {
    try {
      std::error_code failure;
      std::filesystem::remove_all(folder, failure);
      return !failure;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  static bool reaped(const unique_fd& pidfd) noexcept {
    siginfo_t info{};
    const int result =
        ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.get()), &info, WEXITED | WNOHANG);
    return result < 0 ? errno != EINTR : info.si_pid != 0;
  }

  std::mutex mutex_;
  std::vector<unique_fd> processes_;
  std::vector<std::filesystem::path> folders_;
};

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/os/child_process.hpp ----


#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam::inline v0::detail {

/// Why a child is being ended by us.
enum class end_reason { none, timeout, cancelled, closed };

class child_process;

/// The children of one environment: who they are, and a buffer they share, since one thread at a time reads.
class child_registry {
 public:
  static constexpr std::size_t scratch_size = 64 * 1024;

  child_registry() : scratch_(std::make_unique<std::byte[]>(scratch_size)) {}

  std::byte* scratch() noexcept { return scratch_.get(); }
  const std::vector<child_process*>& children() const noexcept { return children_; }
  void add(child_process* child) { children_.push_back(child); }
  void remove(child_process* child) noexcept { std::erase(children_, child); }

 private:
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<child_process*> children_;
};

/// What a child is given and held to.
class child_limits {
 public:
  /// No value: no limit.
  std::optional<std::chrono::milliseconds> timeout;
  /// From SIGTERM to SIGKILL.
  std::chrono::milliseconds grace{500};
  /// How long a background child may go on holding the output once the command itself has ended.
  std::chrono::milliseconds linger{100};
  std::size_t kept_output = command::default_kept_output;
  /// Keep the input open after `input`.
  bool open_input = false;
};

/// A started child: its pipes, its time limit and its end. Driven by handlers, not by whoever awaits it: the limit
/// holds and the end is seen even where nobody reads or waits. Every handler keeps it alive; it goes when they are done.
class child_process : public std::enable_shared_from_this<child_process> {
 public:
  /// \param pidfd  taken over only where this does not throw: else the caller can still end the process.
  child_process(asio::any_io_executor executor, std::shared_ptr<child_registry> registry, pid_t pid, unique_fd& pidfd,
                unique_fd input, unique_fd output, unique_fd error, child_limits limits,
                std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now())
      : registry_(std::move(registry)),
        pid_(pid),
        limits_(limits),
        started_(started),
        pidfd_(executor),
        input_(executor),
        out_(executor, limits.kept_output),
        err_(executor, limits.kept_output),
        deadline_(executor),
        next_step_(executor),
        changed_(executor, std::chrono::steady_clock::time_point::max()) {
    if (input) hand_over(input, input_);
    hand_over(output, out_.descriptor);
    hand_over(error, err_.descriptor);
    registry_->add(this);
    try {
      hand_over(pidfd, pidfd_);
    } catch (...) {
      registry_->remove(this);
      throw;
    }
  }

  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  ~child_process() {
    registry_->remove(this);
    if (reaped_) return;
    send(SIGKILL);
    if (!reap()) reaper::instance().adopt(unique_fd(pidfd_.release()));
  }

  /// Sets everything going. \param content what the input is to hold first.
  void begin(bytes content) {
    watch_exit();
    if (limits_.timeout) {
      // Far beyond any real limit, and short of what would overflow the clock.
      constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 3650);
      deadline_.expires_at(started_ + std::min(*limits_.timeout, longest));
      deadline_.async_wait([self = shared_from_this()](std::error_code failure) {
        if (!failure) self->end(end_reason::timeout);
      });
    }
    feeding_ = std::move(content);
    feed();
  }

  /// From now on takes all output as it comes, for the result only.
  void drain() {
    if (draining_) return;
    draining_ = true;
    pump(out_);
    pump(err_);
    conclude_if_done();
  }

  /// Ends the child and its process group: SIGTERM, the grace, SIGKILL. Only the first reason counts.
  void end(end_reason reason) {
    if (exited_ || ended_by_ != end_reason::none) return;
    ended_by_ = reason;
    send(SIGTERM);
    send(SIGCONT);  // a stopped process takes the SIGTERM only when it goes on
    step_after(limits_.grace, [](child_process& self) {
      self.killed_ = true;
      self.send(SIGKILL);
      if (self.exited_) self.linger();
    });
  }

  /// For destructors: SIGKILL now, and nobody will read. The handlers see to the rest.
  void abandon() noexcept {
    if (finished_) return;
    if (ended_by_ == end_reason::none) ended_by_ = end_reason::closed;
    killed_ = true;
    send(SIGKILL);
    close_input();
    try {
      drain();
    } catch (...) {  // no memory: what it had printed is lost, and whoever awaits it hears of that
      failure_ = std::current_exception();
      close(out_);
      close(err_);
    }
  }

  void send(int number) noexcept {
    if (!reaped_) ::kill(-pid_, number);  // not reaped: nobody else can have this group's number
  }

  bool finished() const noexcept { return finished_; }
  end_reason ended_by() const noexcept { return ended_by_; }
  const command_result& result() const noexcept { return result_; }
  command_result take_result() { return std::move(result_); }

  /// What is known so far.
  std::shared_ptr<const command_result> partial() const {
    if (finished_) return std::make_shared<const command_result>(result_);
    auto sofar = std::make_shared<command_result>();
    sofar->out(out_.collected.snapshot()).err(err_.collected.snapshot());
    sofar->duration(std::chrono::steady_clock::now() - started_);
    return sofar;
  }

  /// Takes all output and waits until everything is over. Where the awaiting coroutine is cancelled, ends the child,
  /// waits for that, and throws error{errc::cancelled}; where the environment is closed, error{errc::environment_closed}.
  /// \param doing  the operation, for sentences.
  static awaitable<void> complete(std::shared_ptr<child_process> self, std::string doing) {
    self->drain();
    bool cancelled = false;
    while (!self->finished_ && !cancelled) {
      const bool seen = co_await self->changed();
      cancelled = seen;
    }
    if (cancelled && !self->finished_) {
      const bool throws = co_await asio::this_coro::throw_if_cancelled();
      co_await asio::this_coro::throw_if_cancelled(false);
      self->end(end_reason::cancelled);
      co_await self->until_finished_shielded();
      co_await asio::this_coro::throw_if_cancelled(throws);
      throw error(errc::cancelled, doing + ": cancelled; the command was ended").with_partial(self->partial());
    }
    if (self->failure_) std::rethrow_exception(self->failure_);
    if (self->ended_by_ == end_reason::closed)
      throw error(errc::environment_closed, doing + ": the environment was closed; the command was ended")
          .with_partial(self->partial());
  }

  /// Waits until everything is over, whatever is cancelled; see `shielded` for how to await it.
  awaitable<void> until_finished_shielded() {
    return shielded([self = shared_from_this()] { return self->finish_quietly(); });
  }

  /// The next piece of output; empty at the end.
  awaitable<chunk> read() {
    for (;;) {
      // Turn about, so that a busy stream does not hide the other one.
      source* first = &out_;
      source* second = &err_;
      if (last_read_ == &out_) std::swap(first, second);
      for (source* from : {first, second}) {
        bytes data = take_piece(*from);
        if (data.empty()) continue;
        last_read_ = from;
        co_return chunk(from == &out_ ? output_stream::out : output_stream::err, std::move(data));
      }
      conclude_if_done();
      if (out_.ended && err_.ended) co_return chunk();
      arm(out_);
      arm(err_);
      const bool cancelled = co_await changed();
      if (cancelled) throw error(errc::cancelled, "read: cancelled; the command runs on").with_partial(partial());
    }
  }

  awaitable<void> write_input(bytes_view data) {
    if (!limits_.open_input)
      throw error(errc::unsupported,
                  "write_input: the command's input was not left open; say open_input() on the command");
    while (!feeding_.empty() && input_.is_open()) {
      const bool cancelled = co_await changed();
      if (cancelled) throw error(errc::cancelled, "write_input: cancelled; nothing was written");
    }
    while (!data.empty()) {
      if (!input_.is_open())
        throw error(errc::io_error, "write_input: the command no longer reads its input",
                    std::make_error_code(std::errc::broken_pipe));
      const ssize_t written = write_without_sigpipe(input_.native_handle(), data);
      if (written >= 0) {
        data = data.subspan(static_cast<std::size_t>(written));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {
        close_input();
        continue;
      }
      std::error_code woken;
      co_await input_.async_wait(asio::posix::stream_descriptor::wait_write,
                                 asio::redirect_error(asio::use_awaitable, woken));
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none)
        throw error(errc::cancelled, "write_input: cancelled; part of the data may have been written");
    }
  }

  void close_input() noexcept {
    feeding_.clear();
    std::error_code ignored;  // closing our end of a pipe cannot fail in a way that matters
    input_.close(ignored);
    wake();
  }

 private:
  /// One output stream.
  class source {
   public:
    source(const asio::any_io_executor& executor, std::size_t keep) : descriptor(executor), collected(keep) {}
    asio::posix::stream_descriptor descriptor;
    output_collector collected;
    std::size_t left = 0;  // once all is over: what had been written by then, and is still to be taken
    bool armed = false;    // a wait for readiness is under way
    bool ended = false;    // nothing more will be taken from it
  };

  static void hand_over(unique_fd& from, asio::posix::stream_descriptor& to) {
    to.assign(from.get());
    from.release();
  }

  /// Waits until something has changed; true where the awaiting coroutine was cancelled.
  awaitable<bool> changed() {
    std::error_code woken;
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    co_return state.cancelled() != asio::cancellation_type::none;
  }

  awaitable<void> finish_quietly() {
    while (!finished_) co_await changed();
  }

  void wake() { changed_.cancel(); }

  template <class Step>
  void step_after(std::chrono::milliseconds delay, Step step) {
    next_step_.expires_after(delay);
    next_step_.async_wait([self = shared_from_this(), step](std::error_code failure) {
      if (!failure && !self->finished_) step(*self);
    });
  }

  void arm(source& from) {
    if (from.armed || from.ended) return;
    from.armed = true;
    from.descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                               [self = shared_from_this(), &from](std::error_code failure) {
                                 from.armed = false;
                                 if (failure == asio::error::operation_aborted) return;
                                 if (failure) {
                                   self->cannot_watch(failure);
                                   self->close(from);
                                 }
                                 if (self->draining_) {
                                   self->pump(from);
                                   self->conclude_if_done();
                                 } else {
                                   self->wake();
                                 }
                               });
  }

  /// Reads once into the shared buffer: bytes read, 0 where the stream has ended, -1 where nothing is there now.
  ssize_t read_once(source& from) {
    const std::size_t most = over_ ? std::min(from.left, child_registry::scratch_size) : child_registry::scratch_size;
    ssize_t got = 0;
    do {
      got = ::read(from.descriptor.native_handle(), registry_->scratch(), most);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
      from.collected.append(bytes_view(registry_->scratch(), static_cast<std::size_t>(got)));
      if (over_) from.left -= static_cast<std::size_t>(got);
      return got;
    }
    if (got < 0 && errno == EAGAIN && !over_) return -1;
    close(from);
    return 0;
  }

  bytes take_piece(source& from) {
    if (from.ended) return {};
    const ssize_t got = read_once(from);
    if (got <= 0) return {};
    return {registry_->scratch(), registry_->scratch() + got};
  }

  /// Takes what is there, in bounded turns, and waits for more.
  void pump(source& from) {
    try {
      for (int turn = 0; (turn < 16 || over_) && !from.ended; ++turn)
        if (read_once(from) <= 0) break;
    } catch (const std::bad_alloc&) {  // nobody could be given the rest
      failure_ = std::current_exception();
      killed_ = true;
      send(SIGKILL);
      close(from);
    }
    arm(from);
  }

  void close(source& from) {
    from.ended = true;
    std::error_code ignored;  // reading end of a pipe
    from.descriptor.close(ignored);
  }

  void feed() {
    while (!feeding_.empty() && input_.is_open()) {
      const bytes_view rest = bytes_view(feeding_).subspan(fed_);
      if (rest.empty()) {
        feeding_.clear();
        break;
      }
      const ssize_t written = write_without_sigpipe(input_.native_handle(), rest);
      if (written >= 0) {
        fed_ += static_cast<std::size_t>(written);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno == EAGAIN) {
        input_.async_wait(asio::posix::stream_descriptor::wait_write,
                          [self = shared_from_this()](std::error_code failure) {
                            if (failure == asio::error::operation_aborted) return;
                            if (failure) self->close_input();
                            self->feed();
                          });
        return;
      }
      close_input();  // the command no longer reads: its right
      return;
    }
    if (!limits_.open_input) close_input();
    wake();
  }

  /// Asio may wake a waiter for nothing: its state of an old descriptor, with an event still queued, becomes that of
  /// a new one. So look, and wait again.
  void watch_exit() {
    pidfd_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](std::error_code failure) {
      if (failure == asio::error::operation_aborted) return;
      if (failure) self->cannot_watch(failure);
      if (self->has_ended(failure ? 0 : WNOHANG)) {
        self->on_exit();
      } else {
        self->watch_exit();
      }
    });
  }

  /// \param options  WNOHANG: does not wait for it.
  bool has_ended(int options) noexcept {
    siginfo_t info{};
    int result = 0;
    do {
      result = ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.native_handle()), &info,
                        WEXITED | WNOWAIT | options);
    } while (result < 0 && errno == EINTR);
    return result < 0 || info.si_pid != 0;
  }

  /// The loop refuses to wait for it: what nobody watches must not run.
  void cannot_watch(std::error_code cause) {
    killed_ = true;
    send(SIGKILL);
    if (!failure_)
      failure_ = std::make_exception_ptr(
          error(errc::io_error, "the command was ended: its end or its output cannot be waited for: " + cause.message(),
                cause));
  }

  /// The command itself has ended. Its number stays reserved until `reap`.
  void on_exit() {
    exited_ = true;
    deadline_.cancel();
    close_input();
    if (draining_) {
      pump(out_);
      pump(err_);
    }
    if (out_.ended && err_.ended) {
      conclude();
    } else if (ended_by_ == end_reason::none || killed_) {
      linger();
    }
    // else: what is left of its group has the rest of the grace.
  }

  void linger() {
    step_after(limits_.linger, [](child_process& self) { self.conclude(); });
  }

  void conclude_if_done() {
    if (exited_ && out_.ended && err_.ended) conclude();
  }

  /// Nothing of the command is waited for any longer: what is left of its group dies, and its status is taken.
  void conclude() {
    if (!over_) {
      over_ = true;
      next_step_.cancel();
      send(SIGKILL);
      reap();
      ended_at_ = std::chrono::steady_clock::now();
      count_what_is_left(out_);
      count_what_is_left(err_);
    }
    if (draining_) {
      if (!out_.ended) pump(out_);
      if (!err_.ended) pump(err_);
    }
    if (out_.ended && err_.ended && !finished_) finish();
    wake();
  }

  /// A process that left the group may go on writing; only what stands in the pipe now is the command's output.
  static void count_what_is_left(source& from) noexcept {
    if (from.ended) return;
    int waiting = 0;
    ::ioctl(from.descriptor.native_handle(), FIONREAD, &waiting);
    from.left = static_cast<std::size_t>(std::max(waiting, 0));
  }

  /// Takes the status; false where the child has not died yet.
  bool reap() noexcept {
    siginfo_t info{};
    rusage usage{};
    long result = 0;
    do {
      result = ::syscall(SYS_waitid, P_PIDFD, pidfd_.native_handle(), &info, WEXITED | WNOHANG, &usage);
    } while (result < 0 && errno == EINTR);
    if (result == 0 && info.si_pid == 0) return false;
    reaped_ = true;
    if (result < 0) return true;  // somebody in this program waits for every child: the status is gone
    status_known_ = true;
    if (info.si_code == CLD_EXITED) {
      result_.exit_code(info.si_status);
    } else {
      result_.term_signal(info.si_status);
    }
    const auto time = [](const timeval& value) {
      return std::chrono::seconds(value.tv_sec) + std::chrono::microseconds(value.tv_usec);
    };
    result_.cpu_time(time(usage.ru_utime) + time(usage.ru_stime));
    result_.peak_memory(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U);
    return true;
  }

  void finish() {
    finished_ = true;
    std::error_code ignored;  // the process is gone
    pidfd_.close(ignored);
    try {
      fill_result();
    } catch (const std::bad_alloc&) {
      failure_ = std::current_exception();
    }
    wake();
  }

  void fill_result() {
    result_.out(out_.collected.take()).err(err_.collected.take());
    result_.duration(ended_at_ - started_);
    if (ended_by_ == end_reason::timeout) {
      result_.kind(error_kind::timeout);
      result_.reason("Command timed out after " + seconds_text(*limits_.timeout) + " seconds");
    } else if (!status_known_) {
      result_.kind(error_kind::execution_error);
      result_.reason("The command's exit status was taken by another part of this program");
      result_.advice("Do not wait for all children (wait, waitpid(-1)) in a program that runs commands.");
      result_.cause(std::error_code(ECHILD, std::system_category()));
    }
  }

  static std::string seconds_text(std::chrono::milliseconds time) {
    std::string text = std::to_string(time.count() / 1000);
    if (const auto rest = time.count() % 1000; rest != 0) {
      std::string digits = std::to_string(1000 + rest).substr(1);
      while (digits.back() == '0') digits.pop_back();
      text += '.' + digits;
    }
    return text;
  }

  std::shared_ptr<child_registry> registry_;
  pid_t pid_;
  child_limits limits_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point ended_at_;
  asio::posix::stream_descriptor pidfd_;
  asio::posix::stream_descriptor input_;
  source out_;
  source err_;
  asio::steady_timer deadline_;
  asio::steady_timer next_step_;
  asio::steady_timer changed_;  // never expires; cancelling it wakes whoever waits
  bytes feeding_;
  std::size_t fed_ = 0;
  source* last_read_ = nullptr;
  end_reason ended_by_ = end_reason::none;
  std::exception_ptr failure_;  // memory ran out
  bool draining_ = false;
  bool killed_ = false;  // SIGKILL has been sent
  bool exited_ = false;  // the command is dead
  bool over_ = false;    // so is its group, and the status is taken
  bool reaped_ = false;
  bool status_known_ = false;
  bool finished_ = false;  // and the output is complete
  command_result result_;
};

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/os/spawn.hpp ----


#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// What a new process is made of. Strings may hold anything but NUL.
class spawn_request {
 public:
  /// Paths to try for `execve`, in order, until one is found. At least one.
  std::vector<std::string> candidates;
  /// argv, the program's own name first.
  std::vector<std::string> words;
  /// "NAME=value"; the whole environment of the new process.
  std::vector<std::string> variables;
  /// Its working directory; -1 keeps ours. Borrowed.
  int directory = -1;
  /// Its standard input, output and error. Borrowed; above 2.
  int input = -1;
  int output = -1;
  int error = -1;
};

/// At which step a process could not be started.
enum class spawn_stage { none, clone, descriptors, directory, exec };

/// A started process, or why there is none.
class spawned {
 public:
  spawned(pid_t pid, unique_fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  spawned(spawn_stage stage, int number) : stage_(stage), cause_(number, std::system_category()) {}

  bool ok() const noexcept { return stage_ == spawn_stage::none; }
  /// The process, its session and its process group. Not reaped: the number stays ours until somebody does.
  pid_t pid() const noexcept { return pid_; }
  /// Readable once the process has ended.
  unique_fd& pidfd() noexcept { return pidfd_; }
  spawn_stage stage() const noexcept { return stage_; }
  /// The system's own code for the failed step.
  std::error_code cause() const noexcept { return cause_; }

 private:
  pid_t pid_ = -1;
  unique_fd pidfd_;
  spawn_stage stage_ = spawn_stage::none;
  std::error_code cause_;
};

namespace detail {

/// All that the child needs, made ready by the parent: between clone and exec nothing may allocate.
class spawn_plan {
 public:
  explicit spawn_plan(const spawn_request& request) : request_(request) {
    fill(candidates_, request.candidates);
    fill(words_, request.words);
    fill(variables_, request.variables);
    if (::getrlimit(RLIMIT_NOFILE, &files_) == 0) {
      constexpr rlim_t usual = 1024;
      if (files_.rlim_cur < usual || files_.rlim_cur > files_.rlim_max)
        files_.rlim_cur = std::min(usual, files_.rlim_max);
    }
  }

  const spawn_request& request() const noexcept { return request_; }
  const char* const* candidates() const noexcept { return candidates_.data(); }
  const char* const* words() const noexcept { return words_.data(); }
  const char* const* variables() const noexcept { return variables_.data(); }
  const rlimit& files() const noexcept { return files_; }

  // Written by the child, in our memory, while we stand still.
  spawn_stage stage = spawn_stage::none;
  int number = 0;

 private:
  static void fill(std::vector<const char*>& pointers, const std::vector<std::string>& strings) {
    pointers.reserve(strings.size() + 1);
    for (const std::string& text : strings) pointers.push_back(text.c_str());
    pointers.push_back(nullptr);
  }

  const spawn_request& request_;
  std::vector<const char*> candidates_;
  std::vector<const char*> words_;
  std::vector<const char*> variables_;
  rlimit files_{};
};

/// The kernel's own sigaction: the libc's would, in a child that shares our memory, be seen by sanitizers as ours.
class kernel_sigaction {
 public:
  void (*handler)(int) = nullptr;
  unsigned long flags = 0;
  void (*restorer)() = nullptr;
  std::uint64_t mask = 0;
};

// The child runs in our memory and on a stack of its own while this thread stands still (CLONE_VM | CLONE_VFORK). It
// makes plain system calls only, through `syscall`, which no sanitizer intercepts.
#if defined(__clang__)
#define COFFERDAM_DETAIL_NO_SANITIZE __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define COFFERDAM_DETAIL_NO_SANITIZE __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif

[[noreturn]] COFFERDAM_DETAIL_NO_SANITIZE inline void spawn_child_fails(spawn_plan& plan, spawn_stage stage) {
  plan.number = errno;
  plan.stage = stage;
  for (;;) ::syscall(SYS_exit_group, 127);
}

COFFERDAM_DETAIL_NO_SANITIZE inline int spawn_child(void* argument) {
  spawn_plan& plan = *static_cast<spawn_plan*>(argument);
  const spawn_request& request = plan.request();

  // Without a group of its own nobody could end it.
  if (::syscall(SYS_setsid) < 0) spawn_child_fails(plan, spawn_stage::clone);
  const kernel_sigaction default_action;
  for (int number = 1; number <= 64; ++number)
    ::syscall(SYS_rt_sigaction, number, &default_action, nullptr, sizeof default_action.mask);

  const int sources[3] = {request.input, request.output, request.error};
  for (int target = 0; target <= 2; ++target)
    if (::syscall(SYS_dup3, sources[target], target, 0) < 0) spawn_child_fails(plan, spawn_stage::descriptors);
  if (request.directory >= 0 && ::syscall(SYS_fchdir, request.directory) < 0)
    spawn_child_fails(plan, spawn_stage::directory);
  if (::syscall(SYS_close_range, 3U, ~0U, 0U) < 0) {
    // A kernel before 5.9, or a filter that forbids the call: one by one, up to the limit.
    for (rlim_t fd = 3; fd < plan.files().rlim_max && fd < 1048576; ++fd) ::syscall(SYS_close, static_cast<int>(fd));
  }

  ::syscall(SYS_umask, 022);
  const rlimit no_core{1, 1};  // 0 would stop a file, but not the helper that core_pattern may name; 1 byte stops both
  ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, nullptr);
  ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &plan.files(), nullptr);
  // A daemon that the kernel's memory killer spares must not pass that on. A raised score stays: a guest is to go first.
  const int score = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
  if (score >= 0) {
    char sign = 0;
    if (::syscall(SYS_read, score, &sign, 1) == 1 && sign == '-') ::syscall(SYS_write, score, "0", 1);
    ::syscall(SYS_close, score);
  }
  const std::uint64_t no_signals = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, nullptr, sizeof no_signals);

  int worst = ENOENT;
  for (const char* const* candidate = plan.candidates(); *candidate != nullptr; ++candidate) {
    ::syscall(SYS_execve, *candidate, plan.words(), plan.variables());
    if (errno == ENOENT || errno == ENOTDIR) continue;
    worst = errno;
    if (worst != EACCES) break;
  }
  errno = worst;
  spawn_child_fails(plan, spawn_stage::exec);
}

#undef COFFERDAM_DETAIL_NO_SANITIZE

// ThreadSanitizer takes `clone` for a fork, notes that in the memory we share, and ends the program at its next new
// thread. It does not know glibc's other name for it.
#if defined(__SANITIZE_THREAD__)
#define COFFERDAM_DETAIL_CLONE __clone
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COFFERDAM_DETAIL_CLONE __clone
#endif
#endif
#if defined(COFFERDAM_DETAIL_CLONE)
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);
#else
#define COFFERDAM_DETAIL_CLONE ::clone
#endif

/// clone(2), with the child on a stack of its own.
inline int clone_for_spawn(void* stack_end, spawn_plan& plan, int& pidfd) {
  return COFFERDAM_DETAIL_CLONE(&spawn_child, stack_end, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &pidfd);
}

#undef COFFERDAM_DETAIL_CLONE

}  // namespace detail

/// Where `execve` shall look for a program: `word` itself where it holds a slash, else each absolute element of `path`.
/// Empty and relative elements of `path` are passed over: they would mean the guest's current directory.
inline std::vector<std::string> program_candidates(const std::string& word, std::string_view path) {
  std::vector<std::string> candidates;
  if (word.find('/') != std::string::npos) {
    candidates.push_back(word);
    return candidates;
  }
  while (!path.empty()) {
    const std::size_t colon = path.find(':');
    const std::string_view element = path.substr(0, colon);
    path.remove_prefix(colon == std::string_view::npos ? path.size() : colon + 1);
    if (element.empty() || element.front() != '/') continue;
    std::string candidate(element);
    candidate += '/';
    candidate += word;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

/// Starts a process without copying the address space: this thread waits until the child has called `execve`, some
/// hundred microseconds. The child leads a session and a process group of its own, has three descriptors, default
/// signal actions, no blocked signal, umask 022, no core dumps, no protection from the memory killer, and the
/// environment it is given.
/// \return  the process, or the step that failed with the system's code. Never throws for what the child meets.
inline spawned spawn(const spawn_request& request) {
  if (request.candidates.empty()) return {spawn_stage::exec, ENOENT};
  detail::spawn_plan plan(request);

  constexpr std::size_t stack_size = 32 * 1024;
  alignas(16) std::array<std::byte, stack_size> stack;
  int pidfd = -1;

  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of ours may run in the child
  const int pid = detail::clone_for_spawn(stack.data() + stack.size(), plan, pidfd);
  const int clone_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

  if (pid < 0) return {spawn_stage::clone, clone_error};
  unique_fd owned(pidfd);
  if (plan.stage != spawn_stage::none) {
    siginfo_t ignored{};
    while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(owned.get()), &ignored, WEXITED) < 0 &&
           errno == EINTR) {
    }
    return {plan.stage, plan.number};
  }
  owned = unique_fd::above_standard(std::move(owned));
  return {pid, std::move(owned)};
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/os/command_request.hpp ----


#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// Where programs are looked for in an environment that was not told otherwise.
inline constexpr std::string_view default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The answer to a command that can be none: empty, with a NUL byte, or with a word longer than Linux takes.
inline std::optional<command_result> refuse_invalid(const command& c) {
  const auto invalid = [](std::string reason, std::string advice) {
    return command_result::refused(error_kind::invalid_argument, std::move(reason), std::move(advice));
  };
  const auto too_long = [&](const std::string& what, std::size_t size) {
    return invalid(what + " has " + std::to_string(size) + " bytes; Linux takes at most " +
                       std::to_string(command::longest_string - 1),
                   "Write the text to a file first, and run a short command that uses the file.");
  };
  constexpr const char* no_nul = "Remove the NUL byte; write binary data to a file instead.";
  if (c.is_shell()) {
    if (c.line().find('\0') != std::string::npos) return invalid("The command holds a NUL byte", no_nul);
    if (c.line().find_first_not_of(" \t\n") == std::string::npos) return invalid("The command is empty", "");
    if (c.line().size() >= command::longest_string) return too_long("The command", c.line().size());
    return std::nullopt;
  }
  if (c.words().empty() || c.words().front().empty()) return invalid("The command is empty", "");
  for (const std::string& word : c.words()) {
    if (word.find('\0') != std::string::npos) return invalid("A word of the command holds a NUL byte", no_nul);
    if (word.size() >= command::longest_string) return too_long("A word of the command", word.size());
  }
  return std::nullopt;
}

/// What to spawn for a command.
/// \param shell      an absolute path; runs lines as `shell -c -- LINE`.
/// \param variables  "NAME=value" each; the command's own come on top. PATH among them decides where programs are found.
inline spawn_request request_for(const command& c, const std::string& shell, std::vector<std::string> variables) {
  spawn_request request;
  request.variables = std::move(variables);
  for (const command::variable_setting& setting : c.variables()) {
    const std::string start = setting.name() + "=";
    std::erase_if(request.variables, [&](const std::string& one) { return one.starts_with(start); });
    request.variables.push_back(start + setting.value());
  }
  if (c.is_shell()) {
    request.candidates.push_back(shell);
    request.words = {std::filesystem::path(shell).filename().string(), "-c", "--", c.line()};
    return request;
  }
  std::string_view path = default_path;
  for (const std::string& variable : request.variables)
    if (variable.starts_with("PATH=")) path = std::string_view(variable).substr(5);
  request.candidates = program_candidates(c.words().front(), path);
  request.words = c.words();
  return request;
}

/// The result of a command that could not be started: the step that failed, the system's code, and what to do.
inline command_result refuse_unstarted(const command& c, const spawned& failed) {
  const std::string program = c.is_shell() ? "the shell" : "\"" + one_line(c.words().front()) + "\"";
  const int number = failed.cause().value();
  error_kind kind = error_kind::execution_error;
  std::string advice;
  switch (failed.stage()) {
    case spawn_stage::clone:
      if (number == EAGAIN) kind = error_kind::process_limit;
      if (number == ENOMEM) kind = error_kind::out_of_memory;
      advice = "The system cannot start another process now. Wait for other commands to end.";
      break;
    case spawn_stage::directory: advice = "The working directory cannot be entered."; break;
    case spawn_stage::exec:
      if (number == ENOENT)
        advice = "There is no such program on the PATH, or the interpreter that its first line names does not exist.";
      if (number == EACCES)
        advice = "It is a directory or not executable. Set its x bit, or run it by its interpreter.";
      if (number == ENOEXEC) advice = "It is not a program, and has no '#!' line. Run it by its interpreter.";
      if (number == ETXTBSY) advice = "Something has it open for writing. Close it first.";
      if (number == E2BIG) {
        kind = error_kind::invalid_argument;
        advice = "All words and variables together are too long for Linux. Put the text into a file.";
      }
      break;
    case spawn_stage::descriptors:
    case spawn_stage::none: break;
  }
  command_result result =
      command_result::refused(kind, "Cannot run " + program + ": " + failed.cause().message(), std::move(advice));
  result.cause(failed.cause());
  return result;
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/os/child_processes.hpp ----


#include <asio/any_io_executor.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>

namespace cofferdam::inline v0 {

/// How the children of an environment are held.
class child_settings {
 public:
  /// The limit of commands that have none of their own; `no_timeout` for none.
  std::chrono::milliseconds default_timeout{std::chrono::minutes(5)};
  /// From SIGTERM to SIGKILL.
  std::chrono::milliseconds kill_grace{500};
  /// How long a background child may go on writing once the command has ended.
  std::chrono::milliseconds output_grace{100};
  /// What every result says of the walls; may be null.
  std::shared_ptr<const protections> walls;
};

namespace detail {

class child_keeper {
 public:
  child_keeper(asio::any_io_executor executor, child_settings settings)
      : executor_(std::move(executor)), settings_(std::move(settings)), registry_(std::make_shared<child_registry>()) {
    reaper::instance().sweep();
    require_child_status();
    nothing_ = usable(unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), "/dev/null");
  }

  child_keeper(const child_keeper&) = delete;
  child_keeper& operator=(const child_keeper&) = delete;

  /// A started child, or the result that says why there is none.
  class launched {
   public:
    std::shared_ptr<child_process> child;
    command_result refusal;
  };

  launched launch(command& c, spawn_request& request) {
    if (closing_) throw error(errc::environment_closed, "the environment is closed; open another one");
    launched outcome;
    pipe_ends out = make_pipe();
    pipe_ends err = make_pipe();
    set_nonblocking(out.read_end);
    set_nonblocking(err.read_end);
    pipe_ends in;
    request.input = nothing_.get();
    if (c.input() || c.has_open_input()) {
      in = make_pipe();
      set_nonblocking(in.write_end);
      request.input = in.read_end.get();
    }
    request.output = out.write_end.get();
    request.error = err.write_end.get();

    const auto before = std::chrono::steady_clock::now();
    spawned started = spawn(request);
    if (!started.ok()) {
      outcome.refusal = refuse_unstarted(c, started);
      return outcome;
    }
    child_limits limits;
    limits.timeout = c.timeout().value_or(settings_.default_timeout);
    if (*limits.timeout == no_timeout) limits.timeout.reset();
    limits.grace = settings_.kill_grace;
    limits.linger = settings_.output_grace;
    limits.kept_output = c.kept_output().value_or(command::default_kept_output);
    limits.open_input = c.has_open_input();
    try {
      outcome.child =
          std::make_shared<child_process>(executor_, registry_, started.pid(), started.pidfd(), std::move(in.write_end),
                                          std::move(out.read_end), std::move(err.read_end), limits, before);
      outcome.child->begin(c.take_input());
    } catch (...) {  // it runs already, and nobody is going to know it
      if (outcome.child) {
        outcome.child->abandon();
      } else {
        ::kill(-started.pid(), SIGKILL);
        reaper::instance().adopt(std::move(started.pidfd()));
      }
      throw_translated();
    }
    return outcome;
  }

  static awaitable<command_result> run(std::shared_ptr<child_keeper> self, command c, spawn_request request) {
    if (c.has_open_input())
      throw error(errc::invalid_argument, "run_command: open_input() needs start(); give the whole input with input()");
    launched started = self->launch(c, request);
    if (!started.child) co_return std::move(started.refusal);
    const abandon_at_end guard(started.child);
    co_await child_process::complete(started.child, "run_command");
    command_result result = started.child->take_result();
    result.walls(self->settings_.walls);
    co_return result;
  }

  static awaitable<process> start(std::shared_ptr<child_keeper> self, command c, spawn_request request) {
    launched started = self->launch(c, request);
    if (!started.child) co_return process::finished(std::move(started.refusal));
    std::unique_ptr<handle> made;
    try {
      made = std::make_unique<handle>(std::move(self), started.child);
    } catch (...) {
      started.child->abandon();
      throw;
    }
    co_return process(std::move(made));
  }

  static awaitable<void> close(std::shared_ptr<child_keeper> self) {
    self->closing_ = true;
    const std::vector<std::shared_ptr<child_process>> running = self->living();
    for (const std::shared_ptr<child_process>& child : running) {
      child->end(end_reason::closed);
      child->drain();
    }
    for (const std::shared_ptr<child_process>& child : running) co_await child->until_finished_shielded();
    reaper::instance().sweep();
  }

  void abandon() noexcept {
    closing_ = true;
    const std::vector<child_process*>& all = registry_->children();
    for (std::size_t i = all.size(); i-- > 0;)  // backwards: one that goes takes itself out of the list
      if (const std::shared_ptr<child_process> kept = all[i]->weak_from_this().lock()) kept->abandon();
  }

 private:
  /// A coroutine that is thrown away while its command runs must not leave it running.
  class abandon_at_end {
   public:
    explicit abandon_at_end(std::shared_ptr<child_process> child) : child_(std::move(child)) {}
    abandon_at_end(const abandon_at_end&) = delete;
    abandon_at_end& operator=(const abandon_at_end&) = delete;
    ~abandon_at_end() { child_->abandon(); }

   private:
    std::shared_ptr<child_process> child_;
  };

  class handle final : public process::implementation {
   public:
    handle(std::shared_ptr<child_keeper> keeper, std::shared_ptr<child_process> child)
        : keeper_(std::move(keeper)), child_(std::move(child)) {}
    ~handle() override { child_->abandon(); }

    awaitable<chunk> read() override { return child_->read(); }
    awaitable<void> write_input(bytes_view data) override { return child_->write_input(data); }
    awaitable<void> close_input() override {
      child_->close_input();
      co_return;
    }
    awaitable<void> signal(int number) override {
      if (number < 1 || number > 64)
        throw error(errc::invalid_argument, "signal: " + std::to_string(number) + " is no signal; they are 1 to 64");
      child_->send(number);
      co_return;
    }
    awaitable<command_result> wait() override {
      co_await child_process::complete(child_, "wait");
      command_result result = child_->result();
      result.walls(keeper_->settings_.walls);
      co_return result;
    }

   private:
    std::shared_ptr<child_keeper> keeper_;
    std::shared_ptr<child_process> child_;
  };

  /// Rethrows what is being handled; what Asio threw as one of our errors.
  [[noreturn]] static void throw_translated() {
    try {
      throw;
    } catch (const error&) {
      throw;
    } catch (const std::system_error& failure) {
      throw error(errc::io_error, std::string("the command was ended: it cannot be watched: ") + failure.what(),
                  failure.code());
    }
  }

  /// Without a status to take, every result would be a guess.
  static void require_child_status() {
    struct sigaction action {};
    if (::sigaction(SIGCHLD, nullptr, &action) != 0) return;
    const bool ignored = (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
    if (ignored || (action.sa_flags & SA_NOCLDWAIT) != 0)
      throw error(errc::provider_failed,
                  "this program ignores SIGCHLD, so the kernel throws exit codes away; set it to SIG_DFL");
  }

  std::vector<std::shared_ptr<child_process>> living() const {
    std::vector<std::shared_ptr<child_process>> all;
    for (child_process* child : registry_->children())
      if (std::shared_ptr<child_process> kept = child->weak_from_this().lock()) all.push_back(std::move(kept));
    return all;
  }

  asio::any_io_executor executor_;
  child_settings settings_;
  std::shared_ptr<child_registry> registry_;
  unique_fd nothing_;
  bool closing_ = false;
};

}  // namespace detail

/// The running commands of one environment: the half of a backend that starts processes on this machine. See
/// examples/custom_backend.cpp for the other half.
///
/// Output is drained within its cap, limits are held, the end is seen whether or not anybody awaits it. Ending a command
/// ends its process group. Movable while idle. Destroyed without `close()`, it kills every child and waits for nothing.
/// \par Threads  one executor at a time.
class child_processes {
 public:
  /// \throws error{errc::provider_failed} where the program ignores SIGCHLD: then nobody can know how a command ended.
  explicit child_processes(asio::any_io_executor executor, child_settings settings = child_settings())
      : keeper_(std::make_shared<detail::child_keeper>(std::move(executor), std::move(settings))) {}

  child_processes(child_processes&&) noexcept = default;
  child_processes& operator=(child_processes&& other) noexcept {
    if (this != &other) {
      abandon();
      keeper_ = std::move(other.keeper_);
    }
    return *this;
  }
  ~child_processes() { abandon(); }

  /// Runs a command to its end: what `run_command` of an environment does.
  /// \param c        its limits, input and output settings count; `refuse_invalid` has let it through.
  /// \param request  as `request_for` makes it, with the directory; borrowed descriptors live until the awaitable completes.
  awaitable<command_result> run(command c, spawn_request request) {
    return detail::child_keeper::run(keeper_, std::move(c), std::move(request));
  }

  /// Starts a command: what `start` of an environment does.
  awaitable<process> start(command c, spawn_request request) {
    return detail::child_keeper::start(keeper_, std::move(c), std::move(request));
  }

  /// Ends every child and waits for that; whoever awaits one gets error{errc::environment_closed}. Not cancelled.
  awaitable<void> close() {
    return detail::shielded([keeper = keeper_] { return detail::child_keeper::close(keeper); });
  }

  /// Kills every child and waits for nothing; what the destructor does. Nothing can be started afterwards.
  void abandon() noexcept {
    if (keeper_) keeper_->abandon();
  }

 private:
  std::shared_ptr<detail::child_keeper> keeper_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/code_exec_provider.hpp ----


#include <concepts>
#include <cstddef>
#include <string>
#include <utility>

namespace cofferdam::inline v0 {

namespace detail {

template <class A>
struct awaited;
template <class T>
struct awaited<awaitable<T>> {
  using type = T;
};

}  // namespace detail

/// A type that is `awaitable<T>`.
template <class A, class T>
concept awaitable_of = std::same_as<A, awaitable<T>>;

/// Something that runs commands and holds files: the four members a backend writes.
///
/// * `run_command(c)` runs `c` to its end; whatever the command does is a result, never an exception.
/// * `read_file(path, most)` yields the whole file; one longer than `most` bytes is `errc::too_large`.
/// * `write_file(path, content)` writes the whole file or nothing, and makes missing folders. The caller keeps
///   `content` until the awaitable completes.
/// * `close()` ends everything that still runs and gives back what the environment owns; a second call does nothing.
///
/// Paths are relative to the workspace, `/`-separated, UTF-8 or any other bytes but NUL. An environment is used from
/// one executor at a time, may run many commands at once, and may be moved only while none runs.
template <class E>
concept code_exec_environment = requires(E& e, command c, std::string path, bytes_view content, std::size_t most) {
  { e.run_command(std::move(c)) } -> awaitable_of<command_result>;
  { e.read_file(std::move(path), most) } -> awaitable_of<bytes>;
  { e.write_file(std::move(path), content) } -> awaitable_of<void>;
  { e.close() } -> awaitable_of<void>;
};

/// The environment type that a provider's `open()` yields.
template <class P>
using environment_of = typename detail::awaited<decltype(std::declval<const P&>().open())>::type;

/// A copyable recipe for an environment. `open()` yields one, or throws and leaves nothing behind; each call yields
/// another. A provider holds no process, no socket and no file.
template <class P>
concept code_exec_provider = std::copy_constructible<P> && code_exec_environment<environment_of<P>>;

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/listing_environment.hpp ----


#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// What a name in a directory is. A symbolic link is reported as one, never as what it points at.
enum class file_type { regular, directory, symlink, other };

/// One name in the workspace.
class entry {
 public:
  entry() = default;
  entry(std::string path, file_type type, std::uint64_t size, unsigned mode)
      : path_(std::move(path)), type_(type), size_(size), mode_(mode) {}

  /// Relative to the workspace for `stat`, to the listed directory for `list`. Any bytes but NUL.
  const std::string& path() const noexcept { return path_; }
  file_type type() const noexcept { return type_; }
  bool is_directory() const noexcept { return type_ == file_type::directory; }
  bool is_regular() const noexcept { return type_ == file_type::regular; }
  /// Bytes in a regular file; 0 for everything else.
  std::uint64_t size() const noexcept { return size_; }
  /// The permission bits, 0 to 0777.
  unsigned mode() const noexcept { return mode_; }

 private:
  std::string path_;
  file_type type_ = file_type::other;
  std::uint64_t size_ = 0;
  unsigned mode_ = 0;
};

/// An environment with directory operations of its own. Callers use the free functions of `file_operations.hpp`, which
/// take these members where there are any and shell commands where there are not.
///
/// * `stat(path)`: `errc::not_found` where there is nothing. Does not follow a symbolic link at the end.
/// * `list(path)`: everything beneath, at every depth, in byte order of the path; does not enter symbolic links.
/// * `make_directory(path)`: with its parents; no error where it is there already.
/// * `remove(path)`: a file, or a directory with all it holds; `errc::not_found` where there is nothing.
/// * `rename(from, to)`: replaces a file at `to`.
template <class E>
concept listing_environment = code_exec_environment<E> && requires(E& e, std::string path, std::string other) {
  { e.stat(std::move(path)) } -> awaitable_of<entry>;
  { e.list(std::move(path)) } -> awaitable_of<std::vector<entry>>;
  { e.make_directory(std::move(path)) } -> awaitable_of<void>;
  { e.remove(std::move(path)) } -> awaitable_of<void>;
  { e.rename(std::move(path), std::move(other)) } -> awaitable_of<void>;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/workspace_path.hpp ----


#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// What a path may look like. Where it leads is for the kernel to say: see os/directory.hpp.

namespace cofferdam::inline v0 {

/// The longest path Linux takes in one call, without its NUL (PATH_MAX, limits.h).
inline constexpr std::size_t longest_path = 4095;
/// The longest single name in a path (NAME_MAX, limits.h).
inline constexpr std::size_t longest_name = 255;

namespace detail {

/// The components of a path, empty ones and `.` left out.
inline std::vector<std::string_view> path_components(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, slash - at);
    if (!part.empty() && part != ".") parts.push_back(part);
    at = slash + 1;
  }
  return parts;
}

/// How a path is shown in a sentence: quoted, escaped, and not at its full length.
inline std::string shown_path(std::string_view path) {
  constexpr std::size_t most = 200;
  if (path.size() <= most) return "'" + one_line(path) + "'";
  return "'" + one_line(path.substr(0, most)) + "...' (" + std::to_string(path.size()) + " bytes)";
}

inline std::string joined_path(std::string_view above, std::string_view below) {
  if (above.empty() || above == ".") return std::string(below);
  if (below.empty() || below == ".") return std::string(above);
  std::string joined(above);
  joined += '/';
  joined += below;
  return joined;
}

}  // namespace detail

/// The one spelling of a path in the workspace, or "." for the workspace itself: `./a//b/` becomes `a/b`.
///
/// Lexical: looks at no file, follows no link. `~` is a name like any other. A path that passes may still lead out
/// through a symbolic link; `directory` refuses that when the file is opened.
/// \param  path  `/`-separated, any bytes but NUL. Relative to the workspace, or absolute and beneath `root`.
/// \param  root  what the guest sees as the workspace's absolute path; empty where there is none. Compared component by
///               component: `/w-evil/x` is not beneath `/w`.
/// \throws       error{errc::invalid_argument}: empty, a NUL byte, more than 4095 bytes, a name of more than 255.
///               error{errc::outside_workspace}: a `..` component, even a harmless one; absolute, not beneath `root`.
/// \par Source   prior-art 1.6; path_resolution(7).
inline std::string workspace_path_or_root(std::string_view path, std::string_view root = {}) {
  if (path.empty())
    throw error(errc::invalid_argument, "the path is empty: name a file, or '.' for the workspace itself");
  if (path.find('\0') != std::string_view::npos)
    throw error(errc::invalid_argument,
                "path " + detail::shown_path(path) + " holds a NUL byte, which no file name can");
  std::vector<std::string_view> parts = detail::path_components(path);
  for (const std::string_view part : parts) {
    if (part == "..")
      throw error(errc::outside_workspace,
                  "path " + detail::shown_path(path) + " has a '..' component: name the file without it");
    if (part.size() > longest_name)
      throw error(errc::invalid_argument,
                  "path " + detail::shown_path(path) + " has a name of more than 255 bytes, the longest Linux allows");
  }
  if (path.front() == '/') {
    const std::vector<std::string_view> above = detail::path_components(root);
    const bool beneath = !root.empty() && root.front() == '/' && parts.size() >= above.size() &&
                         std::equal(above.begin(), above.end(), parts.begin());
    if (!beneath)
      throw error(errc::outside_workspace,
                  "path " + detail::shown_path(path) + " is absolute: paths are relative to the workspace");
    parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(above.size()));
  }
  if (parts.empty()) return ".";
  std::string clean;
  clean.reserve(path.size());
  for (const std::string_view part : parts) {
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  if (clean.size() > longest_path)
    throw error(errc::invalid_argument,
                "path " + detail::shown_path(path) + " is longer than 4095 bytes, the longest Linux allows");
  return clean;
}

/// The same for what has to be a name in the workspace: the workspace itself is refused.
/// \throws       as `workspace_path_or_root`; also error{errc::invalid_argument} for `.` and whatever means the same.
inline std::string workspace_path(std::string_view path, std::string_view root = {}) {
  std::string clean = workspace_path_or_root(path, root);
  if (clean == ".")
    throw error(errc::invalid_argument,
                "path " + detail::shown_path(path) + " is the workspace itself: name something in it");
  return clean;
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/os/detail/beneath.hpp ----


#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// Who keeps a path beneath a directory.
enum class path_resolution {
  kernel,     ///< `openat2(RESOLVE_BENEATH)`, and `component` where the kernel or a filter does not let us have it
  component,  ///< name by name from held descriptors, symbolic links read by us: slower, works on every kernel
};

/// What symbolic links in a path do.
enum class link_policy {
  follow,  ///< are followed as long as they stay beneath the directory
  refuse,  ///< are an error, wherever in the path they stand
};

namespace detail {

// `errno` as one of our errors. For calls that take a path beneath a directory: there EXDEV and ELOOP mean that the
// path left it, went through /proc, or turned in circles.
inline error path_error(int code, std::string_view doing, std::string_view path) {
  const std::string what = std::string(doing) + " " + shown_path(path) + ": ";
  const std::error_code cause(code, std::system_category());
  switch (code) {
    case ENOENT: return error(errc::not_found, what + "there is no such file or directory", cause);
    case ENOTDIR: return error(errc::not_a_directory, what + "a part of the path is not a directory", cause);
    case EISDIR: return error(errc::not_a_file, what + "a directory is in its place", cause);
    case EXDEV:
    case ELOOP:
      return error(errc::outside_workspace, what + "a symbolic link leads out of the directory, or in circles", cause);
    case EACCES:
    case EPERM:
    case EROFS: return error(errc::permission_denied, what + cause.message(), cause);
    case EEXIST: return error(errc::already_exists, what + "the name is taken", cause);
    case ENOTEMPTY: return error(errc::not_empty, what + "the directory is not empty", cause);
    case EFBIG:
    case ENAMETOOLONG: return error(errc::too_large, what + cause.message(), cause);
    case ENXIO: return error(errc::not_a_file, what + "a FIFO, socket or device is in its place", cause);
    default: return error(errc::io_error, what + cause.message(), cause);
  }
}

// For calls with single names, where EXDEV means two file systems and nothing about the path.
inline error name_error(int code, std::string_view doing, std::string_view path) {
  if (code == EXDEV)
    return error(errc::io_error,
                 std::string(doing) + " " + shown_path(path) + ": the two are on different file systems",
                 std::error_code(code, std::system_category()));
  return path_error(code, doing, path);
}

inline file_type type_of(const struct stat& status) noexcept {
  if (S_ISREG(status.st_mode)) return file_type::regular;
  if (S_ISDIR(status.st_mode)) return file_type::directory;
  if (S_ISLNK(status.st_mode)) return file_type::symlink;
  return file_type::other;
}

inline entry entry_of(std::string path, const struct stat& status) {
  const file_type type = type_of(status);
  const auto size = type == file_type::regular ? static_cast<std::uint64_t>(status.st_size) : 0;
  return entry(std::move(path), type, size, status.st_mode & 0777U);
}

inline bool same_file(const struct stat& a, const struct stat& b) noexcept {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

inline int open_retried(int directory, const char* name, int flags, mode_t mode = 0) noexcept {
  int fd = -1;
  do {
    fd = ::openat(directory, name, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

inline int openat2_once(int directory, const char* path, int flags, link_policy links) noexcept {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | (links == link_policy::refuse ? RESOLVE_NO_SYMLINKS : RESOLVE_NO_MAGICLINKS);
  return static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
}

// Reads the link that an O_PATH descriptor stands for, so that nobody can swap it. Empty, with `errno` set, on failure.
inline std::string read_link(int link) {
  std::array<char, longest_path + 1> target{};
  const ssize_t length = ::readlinkat(link, "", target.data(), target.size());
  if (length < 0) return {};
  return std::string(target.data(), static_cast<std::size_t>(length));
}

// The walk. Every step opens one single name with O_NOFOLLOW from a descriptor that is known to be beneath the root, so
// no swap can lead out; `..` in a link goes back to the root and down again, which needs no trust in what `..` is on
// disk.
class component_walk {
 public:
  component_walk(int root, std::string_view path, link_policy links)
      : root_(root),
        most_links_(links == link_policy::refuse ? 0 : 40) {  // 40: as the kernel has it, path_resolution(7)
    prepend(path);
  }

  // A descriptor, or -1 with `errno` set.
  int open(int flags) {
    flags |= O_CLOEXEC;
    while (!pending_.empty()) {
      if (++steps_ > most_steps) return failed(ELOOP);
      const std::string name = std::move(pending_.back());
      pending_.pop_back();
      if (name == "..") {
        if (!go_up()) return -1;
        continue;
      }
      const bool last = pending_.empty();
      unique_fd next(open_retried(here(), name.c_str(), O_PATH | O_NOFOLLOW));
      struct stat status {};
      if (!next || ::fstat(next.get(), &status) != 0) return -1;
      if (S_ISLNK(status.st_mode) && !(last && (flags & O_NOFOLLOW) != 0)) {
        if (++links_ > most_links_) return failed(ELOOP);
        const std::string target = read_link(next.get());
        if (target.empty()) return failed(ENOENT);
        if (target.front() == '/') return failed(EXDEV);
        prepend(target);
        continue;
      }
      if (last) return open_last(name, flags, status);
      if (!S_ISDIR(status.st_mode)) return failed(ENOTDIR);
      names_.push_back(name);
      at_ = std::move(next);
    }
    return open_retried(here(), ".", flags & ~O_NOFOLLOW);
  }

 private:
  static constexpr std::size_t most_steps = 65536;  // what 40 long links full of `..` could cost otherwise

  int here() const noexcept { return at_ ? at_.get() : root_; }

  static int failed(int code) noexcept {
    errno = code;
    return -1;
  }

  void prepend(std::string_view path) {
    const std::vector<std::string_view> parts = path_components(path);
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) pending_.emplace_back(*part);
  }

  int open_last(const std::string& name, int flags, const struct stat& expected) {
    unique_fd fd(open_retried(here(), name.c_str(), flags | O_NOFOLLOW));
    if (!fd) {
      if (errno == ELOOP && !S_ISLNK(expected.st_mode)) errno = EAGAIN;  // swapped for a link just now
      return -1;
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return -1;
    if (S_ISLNK(status.st_mode) && !S_ISLNK(expected.st_mode)) return failed(EAGAIN);
    return fd.release();
  }

  bool go_up() {
    if (names_.empty()) {
      errno = EXDEV;
      return false;
    }
    names_.pop_back();
    at_.reset();
    for (const std::string& name : names_) {
      if (++steps_ > most_steps) {
        errno = ELOOP;
        return false;
      }
      unique_fd next(open_retried(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_DIRECTORY));
      if (!next) {
        if (errno == ENOTDIR || errno == ELOOP) errno = EAGAIN;  // swapped for a link just now
        return false;
      }
      at_ = std::move(next);
    }
    return true;
  }

  int root_;
  int most_links_;
  unique_fd at_;
  std::vector<std::string> names_;    // from the root to `at_`; none of them is a link
  std::vector<std::string> pending_;  // still to go, the next one last
  std::size_t steps_ = 0;
  int links_ = 0;
};

inline unique_fd walk_beneath(int root, std::string_view path, int flags, link_policy links) {
  constexpr int most_tries = 64;
  for (int i = 0; i < most_tries; ++i) {
    component_walk walk(root, path, links);
    unique_fd fd(walk.open(flags));
    if (fd || errno != EAGAIN) return fd;
  }
  return {};
}

// Opens what `path` names beneath `root`, following symbolic links that stay beneath it. Creates nothing.
// Empty, with `errno` set, where that is not possible.
inline unique_fd open_beneath(int root, const std::string& path, int flags, path_resolution how,
                              link_policy links = link_policy::follow) {
  if (how == path_resolution::kernel) {
    constexpr int most_tries = 64;  // EAGAIN: something was renamed while the kernel followed a `..`
    int fd = -1;
    for (int i = 0; i < most_tries; ++i) {
      fd = openat2_once(root, path.c_str(), flags, links);
      if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
    }
    if (fd >= 0) return unique_fd(fd);
    // EPERM may be a filter that does not know the call; the walk then gives the true answer.
    if (errno != ENOSYS && errno != EPERM && errno != EAGAIN && errno != EINTR) return {};
  }
  return walk_beneath(root, path, flags, links);
}

// Which of the two ways this system has.
inline path_resolution available_resolution(int root) noexcept {
  const unique_fd probe(openat2_once(root, ".", O_PATH | O_DIRECTORY, link_policy::follow));
  return probe ? path_resolution::kernel : path_resolution::component;
}

// chmod of what a descriptor stands for, O_PATH or not, never of a name. False with `errno` set.
inline bool change_mode(int fd, mode_t mode) noexcept {
  if (::fchmod(fd, mode) == 0) return true;
  if (errno != EBADF) return false;
  constexpr long fchmodat2 = 452;  // Linux 6.6; the number is the same everywhere
  if (::syscall(fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0) return true;
  if (errno != ENOSYS && errno != EPERM) return false;
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  return ::fchmodat(AT_FDCWD, link.c_str(), mode, 0) == 0;
}

inline std::pair<std::string, std::string> split_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace detail
}  // namespace cofferdam::inline v0

// ---- cofferdam/os/atomic_file.hpp ----


#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// A file that is being written and appears whole, under its name, with `commit()`, or not at all. Made by
/// `directory::create_file`.
///
/// Until then the bytes have no name at all where the file system allows that (O_TMPFILE), else one in the staging
/// directory. A regular file or symbolic link of that name is replaced, never written through, so other hard links to
/// the old file keep its content. Nothing is synced to disk: after a power cut the file system decides.
/// \par Threads  one at a time. The destructor discards what was not committed.
class atomic_file {
 public:
  atomic_file() = default;
  atomic_file(atomic_file&&) = default;
  atomic_file& operator=(atomic_file&& other) noexcept {
    if (this != &other) {
      discard();
      parent_ = std::move(other.parent_);
      staging_ = std::move(other.staging_);
      data_ = std::move(other.data_);
      path_ = std::move(other.path_);
      name_ = std::move(other.name_);
      temporary_ = std::exchange(other.temporary_, {});
      mode_ = other.mode_;
      replaces_ = other.replaces_;
    }
    return *this;
  }
  ~atomic_file() { discard(); }

  /// Starts a file.
  /// \param parent   the directory it will stand in; its descriptor, O_PATH is enough.
  /// \param staging  where it may have a name before: a descriptor of a directory on the same file system, or empty for
  ///                 `parent` itself. With a staging directory a host that is killed leaves nothing in the tree.
  /// \param name     one name, without `/`.
  /// \param path     how sentences call the file.
  /// \throws error{errc::not_a_file} where a directory, FIFO, socket or device has that name; others.
  atomic_file(unique_fd parent, unique_fd staging, std::string name, std::string path)
      : parent_(std::move(parent)), staging_(std::move(staging)), path_(std::move(path)), name_(std::move(name)) {
    look_at_target();
    data_.reset(detail::open_retried(workplace(), ".", O_TMPFILE | O_RDWR, 0600));
    if (data_ && !is_linkable()) data_.reset();
    if (data_) return;
    if (errno == EACCES || errno == ENOSPC || errno == EROFS || errno == EDQUOT) throw failure(errno);
    for (int i = 0; i < most_tries && !data_; ++i) {
      std::string temporary = random_name();
      data_.reset(detail::open_retried(workplace(), temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, 0600));
      if (data_)
        temporary_ = std::move(temporary);
      else if (errno != EEXIST)
        break;
    }
    if (!data_) throw failure(errno);
  }

  const std::string& path() const noexcept { return path_; }

  /// Adds bytes at the end.
  /// \throws error{errc::io_error} with the cause where the disk is full; error{errc::too_large} at a file-size limit.
  void write(bytes_view content) {
    while (!content.empty()) {
      const ssize_t count = ::write(data_.get(), content.data(), content.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw failure(errno);
      content = content.subspan(static_cast<std::size_t>(count));
    }
  }

  /// Gives the file its name. After that this object is empty.
  /// \param mode  permission bits, of which 0777 are used, whatever the umask; without it those of the file that is
  ///              replaced, else 0644.
  /// \throws      error{errc::not_a_file} where a directory has come into its place, io_error; nothing has changed.
  void commit(std::optional<unsigned> mode = {}) {
    if (::fchmod(data_.get(), (mode ? *mode : mode_) & 0777U) != 0) throw failure(errno);
    if (temporary_.empty() && !replaces_ && link_to(parent_.get(), name_)) {
      forget();
      return;
    }
    if (temporary_.empty()) {
      if (!replaces_ && errno != EEXIST) throw failure(errno);
      give_temporary_name();
    }
    if (::renameat(workplace(), temporary_.c_str(), parent_.get(), name_.c_str()) != 0) {
      const int code = errno;
      discard();
      throw detail::name_error(code, "write", path_);
    }
    temporary_.clear();
    forget();
  }

  /// Drops what was written; nothing has changed.
  void discard() noexcept {
    if (!temporary_.empty()) ::unlinkat(workplace(), temporary_.c_str(), 0);
    temporary_.clear();
    forget();
  }

 private:
  static constexpr int most_tries = 16;
  static constexpr unsigned default_mode = 0644;

  int workplace() const noexcept { return staging_ ? staging_.get() : parent_.get(); }

  error failure(int code) const { return detail::name_error(code, "write", path_); }

  void forget() noexcept {
    data_.reset();
    staging_.reset();
    parent_.reset();
  }

  void look_at_target() {
    struct stat status {};
    if (::fstatat(parent_.get(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) throw failure(errno);
      return;
    }
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
      throw error(errc::not_a_file, "write " + detail::shown_path(path_) + ": a " +
                                        (S_ISDIR(status.st_mode) ? "directory" : "FIFO, socket or device") +
                                        " has that name, and only a file is replaced");
    replaces_ = true;
    if (S_ISREG(status.st_mode)) mode_ = status.st_mode & 0777U;
  }

  // Giving an unnamed file a name takes /proc, or a kernel that lets us do without (Linux 6.10).
  bool is_linkable() const noexcept { return ::faccessat(AT_FDCWD, data_link().c_str(), F_OK, 0) == 0; }

  std::string data_link() const { return "/proc/self/fd/" + std::to_string(data_.get()); }

  bool link_to(int directory, const std::string& name) const {
    return ::linkat(AT_FDCWD, data_link().c_str(), directory, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

  void give_temporary_name() {
    for (int i = 0; i < most_tries; ++i) {
      std::string temporary = random_name();
      if (link_to(workplace(), temporary)) {
        temporary_ = std::move(temporary);
        return;
      }
      if (errno != EEXIST) break;
    }
    throw failure(errno);
  }

  static std::string random_name() {
    std::array<unsigned char, 12> random{};
    if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
      throw error(errc::io_error, "the system gave no random bytes for a temporary name",
                  std::error_code(errno, std::system_category()));
    std::string name = ".cofferdam-";
    for (const unsigned char byte : random) {
      name += "0123456789abcdef"[byte >> 4];
      name += "0123456789abcdef"[byte & 15];
    }
    return name;
  }

  unique_fd parent_;
  unique_fd staging_;
  unique_fd data_;
  std::string path_;
  std::string name_;
  std::string temporary_;  // in the workplace; empty while the data has no name
  unsigned mode_ = default_mode;
  bool replaces_ = false;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/os/file_reader.hpp ----


#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// A regular file that is being read, piece by piece. Made by `directory::open_file`.
///
/// A FIFO, device, socket or directory is refused without being opened for reading, so nothing blocks and nobody at the
/// other end notices. The file may grow or shrink meanwhile: `read` gives what is there.
/// \par Threads  one at a time.
class file_reader {
 public:
  file_reader() = default;

  /// Opens the file at `path` beneath `root`.
  /// \param root  a directory's descriptor, O_PATH is enough; used only now.
  /// \param path  a path that `workspace_path` gave; used in sentences, too.
  /// \throws error{errc::not_found, not_a_file, not_a_directory, outside_workspace, permission_denied, io_error}.
  static file_reader open(int root, std::string path, path_resolution how, link_policy links = link_policy::follow) {
    struct stat status {};
    {
      const unique_fd probe = detail::open_beneath(root, path, O_PATH, how, links);
      if (!probe && errno == ELOOP && links == link_policy::refuse)
        throw error(errc::not_a_file,
                    "read " + detail::shown_path(path) + ": a symbolic link, and links are not followed",
                    std::error_code(ELOOP, std::system_category()));
      if (!probe || ::fstat(probe.get(), &status) != 0) throw detail::path_error(errno, "read", path);
    }
    require_regular(status, path);
    unique_fd fd = detail::open_beneath(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, how, links);
    return file_reader(std::move(fd), std::move(path));
  }

  /// Opens a file of the host by any path, absolute or not. Symbolic links are followed: it is the caller's own.
  static file_reader open_host(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw detail::path_error(errno, "read", path);
    require_regular(status, path);
    return file_reader(unique_fd(detail::open_retried(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY)), path);
  }

  /// Takes over a descriptor that was opened with O_NONBLOCK, after a look at what it is.
  /// \throws error{errc::not_a_file} where it is no regular file; what `errno` says where it is empty.
  file_reader(unique_fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {
    struct stat status {};
    if (!fd_ || ::fstat(fd_.get(), &status) != 0) throw detail::path_error(errno, "read", path_);
    require_regular(status, path_);
    size_ = static_cast<std::uint64_t>(status.st_size);
    mode_ = status.st_mode & 0777U;
  }

  /// Bytes in the file when it was opened.
  std::uint64_t size() const noexcept { return size_; }
  /// Permission bits, 0 to 0777.
  unsigned mode() const noexcept { return mode_; }
  const std::string& path() const noexcept { return path_; }

  /// The next bytes, at most `most`; empty at the end of the file and only there (`most` is more than zero).
  /// \throws error{errc::io_error}.
  bytes read(std::size_t most) {
    bytes piece(std::min<std::uint64_t>(most, guess()));
    piece.resize(read_into(piece.data(), piece.size()));
    return piece;
  }

  /// The same into the caller's memory. Returns how many bytes were read; zero at the end.
  std::size_t read_into(std::byte* to, std::size_t most) {
    std::size_t done = 0;
    while (done < most) {
      const ssize_t count = ::read(fd_.get(), to + done, most - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw detail::path_error(errno, "read", path_);
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    position_ += done;
    return done;
  }

  /// Everything from here to the end.
  /// \throws error{errc::too_large} for more than `most` bytes, before they are read where the size says so.
  bytes read_rest(std::size_t most) {
    if (size_ > position_ && size_ - position_ > most) throw larger_than(most);
    bytes content;
    for (;;) {
      std::size_t wanted = guess();
      if (most - content.size() < wanted) wanted = most - content.size() + 1;  // one more would be too many
      const std::size_t before = content.size();
      content.resize(before + wanted);
      const std::size_t count = read_into(content.data() + before, wanted);
      content.resize(before + count);
      if (content.size() > most) throw larger_than(most);
      if (count < wanted) return content;
    }
  }

  /// What to throw where a file is longer than the caller allows.
  error larger_than(std::uint64_t most) const {
    return error(errc::too_large, "read " + detail::shown_path(path_) + ": longer than the " + std::to_string(most) +
                                      " bytes that were allowed");
  }

 private:
  static void require_regular(const struct stat& status, std::string_view path) {
    if (S_ISREG(status.st_mode)) return;
    const char* what = "a FIFO, socket or device";
    if (S_ISDIR(status.st_mode)) what = "a directory";
    if (S_ISLNK(status.st_mode)) what = "a symbolic link";
    throw error(errc::not_a_file, "read " + detail::shown_path(path) + ": it is " + what + ", not a regular file");
  }

  // How much to make room for: what is left as far as known, and a byte more to meet the end; grows with the file.
  std::uint64_t guess() const noexcept {
    constexpr std::uint64_t smallest = 4096;
    constexpr std::uint64_t largest = 1024 * 1024;
    const std::uint64_t left = size_ > position_ ? size_ - position_ + 1 : 0;
    return std::clamp(left, position_ > size_ ? 16 * smallest : smallest, largest);
  }

  unique_fd fd_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
  unsigned mode_ = 0;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/os/tree_walk.hpp ----


#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

namespace detail {

struct close_directory {
  void operator()(DIR* stream) const noexcept { ::closedir(stream); }
};

// The names in a directory but `.` and `..`, at most `most` of them. Takes the descriptor (not an O_PATH one).
inline std::vector<std::string> names_in(unique_fd fd, std::size_t most, std::string_view doing,
                                         std::string_view path) {
  const std::unique_ptr<DIR, close_directory> stream(::fdopendir(fd.get()));
  if (!stream) throw path_error(errno, doing, path);
  static_cast<void>(fd.release());
  std::vector<std::string> names;
  while (names.size() < most) {
    errno = 0;
    const dirent* const found = ::readdir(stream.get());
    if (found == nullptr) {
      if (errno != 0) throw path_error(errno, doing, path);
      break;
    }
    const std::string_view name(found->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

// A path of directories, held open, that one can go down and up without ever leaving the tree. Only the lowest few
// descriptors are kept; going further up than that takes `..` and makes sure it is the directory that was left.
class directory_stack {
 public:
  explicit directory_stack(unique_fd root) { push(std::move(root)); }

  std::size_t depth() const noexcept { return levels_.size(); }
  int fd() const noexcept { return levels_.back().fd.get(); }
  const struct stat& status() const noexcept { return levels_.back().status; }

  // False, with `errno` set, where `fd` is none.
  bool push(unique_fd fd) {
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) return false;
    if (levels_.size() >= most_held) levels_[levels_.size() - most_held].fd.reset();
    levels_.push_back(level{std::move(fd), status});
    return true;
  }

  // False where the directory above is not above any more.
  bool pop() {
    level& above = levels_[levels_.size() - 2];
    if (!above.fd) {
      unique_fd fd(open_retried(levels_.back().fd.get(), "..", O_PATH | O_DIRECTORY | O_NOFOLLOW));
      struct stat status {};
      if (!fd || ::fstat(fd.get(), &status) != 0 || !same_file(status, above.status)) return false;
      above.fd = std::move(fd);
    }
    levels_.pop_back();
    return true;
  }

 private:
  static constexpr std::size_t most_held = 32;
  struct level {
    unique_fd fd;
    struct stat status;
  };
  std::vector<level> levels_;
};

}  // namespace detail

/// How much a listing may hold before it is error{errc::too_large}: it lives in memory.
class list_limit {
 public:
  list_limit() = default;
  /// \param count  names in the whole tree. Default 4,000,000.
  list_limit& entries(std::size_t count) & {
    entries_ = count;
    return *this;
  }
  list_limit&& entries(std::size_t count) && { return std::move(entries(count)); }
  /// \param bytes  of all paths together: a deep tree of long names has long paths. Default 512 MiB.
  list_limit& path_bytes(std::size_t bytes) & {
    path_bytes_ = bytes;
    return *this;
  }
  list_limit&& path_bytes(std::size_t bytes) && { return std::move(path_bytes(bytes)); }

  std::size_t entries() const noexcept { return entries_; }
  std::size_t path_bytes() const noexcept { return path_bytes_; }

 private:
  std::size_t entries_ = 4'000'000;
  std::size_t path_bytes_ = std::size_t{512} * 1024 * 1024;
};

/// Everything beneath a directory, one entry a call: a directory comes before what it holds, otherwise in no order.
/// Symbolic links are reported and never entered. Depth costs neither stack nor descriptors.
/// \par Threads  one at a time.
class tree_walk {
 public:
  /// \param root  the directory's descriptor, O_PATH is enough.
  /// \param path  how sentences call it.
  tree_walk(unique_fd root, std::string path, list_limit limit = list_limit())
      : stack_(std::move(root)),
        root_path_(std::move(path)),
        limit_(limit),
        left_(std::min(limit.entries(), SIZE_MAX - 1)) {
    pending_.push_back(names_here());
  }

  /// The next entry, its path relative to the root; nothing at the end. What vanishes meanwhile is left out.
  /// \throws error{errc::too_large} at the limit; permission_denied for a directory that cannot be read, which is
  ///         the one that came last: calling again goes on behind it; io_error.
  std::optional<entry> next() {
    for (;;) {
      if (enter_) enter();
      std::vector<std::string>& names = pending_.back();
      if (names.empty()) {
        if (pending_.size() == 1) return std::nullopt;
        pending_.pop_back();
        if (!stack_.pop())
          throw error(errc::io_error, "list " + detail::shown_path(root_path_) + ": the tree was moved");
        const std::size_t slash = prefix_.rfind('/', prefix_.size() - 2);
        prefix_.resize(slash == std::string::npos ? 0 : slash + 1);
        continue;
      }
      name_ = std::move(names.back());
      names.pop_back();
      struct stat status {};
      if (::fstatat(stack_.fd(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;
        throw detail::path_error(errno, "list", detail::joined_path(root_path_, prefix_ + name_));
      }
      std::string path = prefix_ + name_;
      if (path.size() > limit_.path_bytes() - used_bytes_)
        throw error(errc::too_large, "list " + detail::shown_path(root_path_) + ": the paths take more than the " +
                                         std::to_string(limit_.path_bytes()) +
                                         " bytes that were allowed; name a smaller part of the tree");
      used_bytes_ += path.size();
      enter_ = S_ISDIR(status.st_mode);
      return detail::entry_of(std::move(path), status);
    }
  }

  /// Do not enter the directory that `next` gave last.
  void skip() noexcept { enter_ = false; }

 private:
  std::vector<std::string> names_here() {
    unique_fd readable(detail::open_retried(stack_.fd(), ".", O_RDONLY | O_DIRECTORY));
    const std::string path = detail::joined_path(root_path_, prefix_);
    if (!readable) throw detail::path_error(errno, "list", path);
    std::vector<std::string> names = detail::names_in(std::move(readable), left_ + 1, "list", path);
    if (names.size() > left_)
      throw error(errc::too_large, "list " + detail::shown_path(root_path_) + ": more than the " +
                                       std::to_string(limit_.entries()) +
                                       " names that were allowed; name a smaller part of the tree");
    left_ -= names.size();
    return names;
  }

  void enter() {
    enter_ = false;
    unique_fd below(detail::open_retried(stack_.fd(), name_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW));
    if (!below && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return;  // gone, or something else by now
    if (!stack_.push(std::move(below)))
      throw detail::path_error(errno, "list", detail::joined_path(root_path_, prefix_ + name_));
    const std::size_t above = prefix_.size();
    prefix_ += name_;
    prefix_ += '/';
    try {
      pending_.push_back(names_here());
    } catch (...) {
      prefix_.resize(above);
      stack_.pop();
      throw;
    }
  }

  detail::directory_stack stack_;
  std::string root_path_;
  std::string prefix_;
  std::string name_;
  std::vector<std::vector<std::string>> pending_;
  list_limit limit_;
  std::size_t left_;
  std::size_t used_bytes_ = 0;
  bool enter_ = false;
};

/// Removes a tree in small steps. Symbolic links are removed, never followed; a directory of ours without the needed
/// permission bits is given them. Depth costs neither stack nor descriptors.
/// \par Threads  one at a time.
class tree_removal {
 public:
  /// All that the directory holds, but not the directory.
  /// \param root  its descriptor, O_PATH is enough.
  /// \param path  how sentences call it.
  tree_removal(unique_fd root, std::string path) : stack_(std::move(root)), path_(std::move(path)), least_ours_(1) {
    fill();
  }

  /// One name in a directory, with all it holds.
  /// \throws error{errc::not_found} where there is nothing of that name.
  tree_removal(unique_fd parent, std::string name, std::string path)
      : stack_(std::move(parent)), path_(std::move(path)), least_ours_(2) {
    struct stat status {};
    if (::fstatat(stack_.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      throw detail::path_error(errno, "remove", path_);
    std::vector<std::string> names;
    names.push_back(std::move(name));
    pending_.push_back(std::move(names));
  }

  /// Removes about `most` names more. True when nothing is left to do.
  /// \throws error{errc::permission_denied, io_error}; what was removed stays removed.
  bool step(std::size_t most = 1024) {
    for (std::size_t done = 0; done < most; ++done) {
      if (pending_.back().empty()) {
        if (pending_.size() == 1) return true;
        leave();
      } else if (unlink(pending_.back().back(), 0)) {
        pending_.back().pop_back();
      } else if (errno == EISDIR || errno == EPERM) {  // EPERM: what POSIX says of a directory
        enter(errno);
      } else {
        throw detail::name_error(errno, "remove", path_);
      }
    }
    return false;
  }

 private:
  static constexpr std::size_t most_names = 1'000'000;  // of one directory in memory; the rest comes in another round
  static constexpr int most_rounds = 10'000;            // where somebody fills the tree while we empty it

  // Takes the right to empty the directory we are in. False, with `errno` EACCES, where that is not ours to do.
  bool take_over() noexcept {
    const bool taken = stack_.depth() >= least_ours_ && detail::change_mode(stack_.fd(), 0700);
    if (!taken) errno = EACCES;
    return taken;
  }

  // True as well where the name is gone already.
  bool unlink(const std::string& name, int flags) {
    if (::unlinkat(stack_.fd(), name.c_str(), flags) == 0 || errno == ENOENT) return true;
    if (errno != EACCES || !take_over()) return false;
    return ::unlinkat(stack_.fd(), name.c_str(), flags) == 0 || errno == ENOENT;
  }

  unique_fd open_here(const char* name, int flags) {
    unique_fd fd(detail::open_retried(stack_.fd(), name, flags | O_DIRECTORY | O_NOFOLLOW));
    if (!fd && errno == EACCES && take_over())
      fd.reset(detail::open_retried(stack_.fd(), name, flags | O_DIRECTORY | O_NOFOLLOW));
    return fd;
  }

  void enter(int why_not_unlinked) {
    unique_fd below = open_here(pending_.back().back().c_str(), O_PATH);
    if (!below && (errno == ENOTDIR || errno == ELOOP || errno == ENOENT)) {
      if (why_not_unlinked == EPERM) throw detail::name_error(EPERM, "remove", path_);
      count_round();  // somebody swaps it: try again
      return;
    }
    if (!stack_.push(std::move(below))) throw detail::name_error(errno, "remove", path_);
    fill();
  }

  void fill() {
    unique_fd readable = open_here(".", O_RDONLY);
    if (!readable) throw detail::name_error(errno, "remove", path_);
    pending_.push_back(detail::names_in(std::move(readable), most_names, "remove", path_));
  }

  void leave() {
    if (!stack_.pop()) throw error(errc::io_error, "remove " + detail::shown_path(path_) + ": the tree was moved");
    pending_.pop_back();
    if (unlink(pending_.back().back(), AT_REMOVEDIR)) {
      pending_.back().pop_back();
      return;
    }
    if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) throw detail::name_error(errno, "remove", path_);
    count_round();
  }

  void count_round() {
    if (++rounds_ > most_rounds)
      throw error(errc::not_empty, "remove " + detail::shown_path(path_) + ": something keeps filling it");
  }

  detail::directory_stack stack_;
  std::string path_;
  std::size_t least_ours_;  // the depth from which on the directories are ours to change
  std::vector<std::vector<std::string>> pending_;
  int rounds_ = 0;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/os/directory.hpp ----


#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// A directory, held by a descriptor, and access to what is beneath it that nobody can lead out of it: not by `..`, not
/// by a symbolic link, not by swapping one for a directory between a look and a use, not through /proc.
///
/// It goes on meaning the same directory when that is renamed. Symbolic links in a path are followed as long as they
/// stay beneath; one with an absolute target never does. Who may *move directories out* of this one can take open files
/// along: that is a matter of permissions, not of names.
///
/// All members are synchronous. Most take microseconds; `walk`, `removal`, `open_file` and `create_file` give objects
/// that do large work in pieces, so that a coroutine can let others run in between.
/// \par Paths    relative, `/`-separated, any bytes but NUL, as `workspace_path` has them; "." is the directory itself.
/// \par Errors   error{errc::invalid_argument, outside_workspace, not_found, not_a_directory, not_a_file,
///               permission_denied, io_error}, with `errno` as the cause.
/// \par Threads  const members from any thread.
/// \par Source   openat2(2), open(2), path_resolution(7); attacks FS-01 to FS-09.
class directory {
 public:
  directory() = default;

  /// Opens a directory of the host. Symbolic links in `path` are followed: it is the caller's own.
  /// \param resolution  `component` forces the slower way that old kernels need.
  static directory open(const std::filesystem::path& path, path_resolution resolution = path_resolution::kernel) {
    unique_fd fd(detail::open_retried(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY));
    if (!fd) throw host_error(errno, path);
    fd = unique_fd::above_standard(std::move(fd));
    if (!fd) throw host_error(errno, path);
    return directory(std::move(fd), resolution);
  }

  /// Takes over a directory's descriptor; O_PATH is enough.
  explicit directory(unique_fd fd, path_resolution resolution = path_resolution::kernel)
      : fd_(std::move(fd)), resolution_(resolution) {
    if (resolution_ == path_resolution::kernel) resolution_ = detail::available_resolution(fd_.get());
  }

  /// The descriptor (O_PATH), still owned; -1 for a default-constructed object.
  int fd() const noexcept { return fd_.get(); }
  /// How paths are resolved here.
  path_resolution resolution() const noexcept { return resolution_; }

  /// The directory at `path`, as an object of its own, which cannot be left for this one either.
  directory subdirectory(std::string_view path, link_policy links = link_policy::follow) const {
    return directory(open_directory_fd(path, links), resolution_);
  }

  /// An O_PATH descriptor of the directory at `path`, for a child to fchdir to. Above the three standard ones.
  unique_fd open_directory_fd(std::string_view path, link_policy links = link_policy::follow) const {
    const std::string clean = workspace_path_or_root(path);
    if (clean == ".") {  // held already: that works without any permission
      unique_fd same(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 3));
      if (!same) throw detail::path_error(errno, "open directory", clean);
      return same;
    }
    unique_fd fd = detail::open_beneath(fd_.get(), clean, O_PATH | O_DIRECTORY, resolution_, links);
    if (!fd && errno == ELOOP && links == link_policy::refuse) errno = ENOTDIR;
    if (fd) fd = unique_fd::above_standard(std::move(fd));
    if (!fd) throw detail::path_error(errno, "open directory", clean);
    return fd;
  }

  /// What stands at `path`; does not follow a symbolic link at its end.
  entry stat(std::string_view path) const {
    const std::string clean = workspace_path_or_root(path);
    const unique_fd found = detail::open_beneath(fd_.get(), clean, O_PATH | O_NOFOLLOW, resolution_);
    struct stat status {};
    if (!found || ::fstat(found.get(), &status) != 0) throw detail::path_error(errno, "stat", clean);
    return detail::entry_of(clean, status);
  }

  /// Where the symbolic link at `path` points, as it was written.
  /// \throws error{errc::invalid_argument} where it is none.
  std::string link_target(std::string_view path) const {
    const std::string clean = workspace_path_or_root(path);
    const unique_fd found = detail::open_beneath(fd_.get(), clean, O_PATH | O_NOFOLLOW, resolution_);
    if (!found) throw detail::path_error(errno, "read link", clean);
    std::string target = detail::read_link(found.get());
    if (target.empty())
      throw error(errc::invalid_argument, "read link " + detail::shown_path(clean) + ": it is no symbolic link",
                  std::error_code(errno, std::system_category()));
    return target;
  }

  /// Everything beneath the directory at `path`, at every depth, as paths relative to it, in byte order. Symbolic links
  /// are listed, not entered. All at once: where the tree may be large and others wait, use `walk`.
  /// \throws also error{errc::too_large} at the limit, instead of a list cut short.
  std::vector<entry> list(std::string_view path, list_limit limit = list_limit()) const {
    tree_walk walker = walk(path, limit);
    std::vector<entry> entries;
    while (std::optional<entry> found = walker.next()) entries.push_back(std::move(*found));
    sort_entries(entries);
    return entries;
  }

  /// The order of `list`, for who collected the entries of `walk`.
  static void sort_entries(std::vector<entry>& entries) {
    std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) { return a.path() < b.path(); });
  }

  /// The same one entry at a time, in no order.
  tree_walk walk(std::string_view path, list_limit limit = list_limit()) const {
    const std::string clean = workspace_path_or_root(path);
    return tree_walk(open_directory_fd(clean), clean, limit);
  }

  /// Makes a directory and its parents; no error where it is there already.
  /// \param mode  permission bits of what is made, whatever the umask.
  /// \throws      also error{errc::not_a_directory} where something else has one of the names.
  void make_directory(std::string_view path, unsigned mode = 0755) const {
    static_cast<void>(made_directory(workspace_path_or_root(path), mode));
  }

  /// Removes a file, or a directory with all it holds. Symbolic links are removed, not followed. All at once: where the
  /// tree may be large and others wait, use `removal`.
  /// \throws also error{errc::not_found} where there is nothing; invalid_argument for the directory itself.
  void remove(std::string_view path) const {
    tree_removal work = removal(path);
    while (!work.step()) continue;
  }

  /// The same in steps.
  tree_removal removal(std::string_view path) const {
    const std::string clean = workspace_path(path);
    const auto [above, name] = detail::split_path(clean);
    return tree_removal(parent_fd(above, "remove", clean), name, clean);
  }

  /// The removal, in steps, of everything in this directory.
  tree_removal removal_of_all() const { return tree_removal(open_directory_fd("."), "."); }

  /// Gives what is at `from` the name `to`; replaces a file there. A link itself is renamed, not what it points at.
  /// \throws also error{errc::not_empty} where `to` is a directory with entries; error{errc::invalid_argument} where a
  ///         directory is to go into itself.
  void rename(std::string_view from, std::string_view to) const {
    const std::string clean_from = workspace_path(from);
    const std::string clean_to = workspace_path(to);
    const auto [above_from, name_from] = detail::split_path(clean_from);
    const auto [above_to, name_to] = detail::split_path(clean_to);
    const unique_fd parent_from = parent_fd(above_from, "rename", clean_from);
    const unique_fd parent_to = parent_fd(above_to, "rename to", clean_to);
    if (::renameat(parent_from.get(), name_from.c_str(), parent_to.get(), name_to.c_str()) == 0) return;
    if (errno == EINVAL)
      throw error(errc::invalid_argument,
                  "rename " + detail::shown_path(clean_from) + ": a directory cannot go into itself, " +
                      detail::shown_path(clean_to),
                  std::error_code(errno, std::system_category()));
    if (errno == EEXIST) errno = ENOTEMPTY;
    throw detail::name_error(errno, "rename", clean_from);
  }

  /// Sets the permission bits of a file or directory; of a link's target, where that is beneath.
  /// \param mode  0 to 0777; other bits are dropped.
  void set_mode(std::string_view path, unsigned mode) const {
    const std::string clean = workspace_path_or_root(path);
    const unique_fd found = detail::open_beneath(fd_.get(), clean, O_PATH, resolution_);
    if (!found || !detail::change_mode(found.get(), mode & 0777U))
      throw detail::path_error(errno, "set mode of", clean);
  }

  /// Opens a regular file for reading.
  /// \throws also error{errc::not_a_file} for anything else, without blocking; for a link where `links` refuses it.
  file_reader open_file(std::string_view path, link_policy links = link_policy::follow) const {
    return file_reader::open(fd_.get(), workspace_path(path), resolution_, links);
  }

  /// A whole file.
  /// \param most  bytes; a longer file is error{errc::too_large}.
  bytes read_file(std::string_view path, std::size_t most) const {
    file_reader reader = open_file(path);
    return reader.read_rest(most);
  }

  /// Starts a file that appears with `atomic_file::commit`; makes missing parents at once.
  /// \throws also error{errc::not_a_file} where a directory, FIFO, socket or device has the name.
  atomic_file create_file(std::string_view path) const { return create_in(path, unique_fd()); }

  /// The same, with the unfinished file kept in `staging`, a directory on the same file system that is no part of the
  /// tree: so a host that is killed leaves nothing unfinished in the tree.
  atomic_file create_file(std::string_view path, const directory& staging) const {
    return create_in(path, staging.open_directory_fd("."));
  }

  /// A whole file, whole or not at all.
  /// \param mode  permission bits; without it those of the file that is replaced, else 0644.
  void write_file(std::string_view path, bytes_view content, std::optional<unsigned> mode = {}) const {
    atomic_file file = create_file(path);
    file.write(content);
    file.commit(mode);
  }

 private:
  static error host_error(int code, const std::filesystem::path& path) {
    const error plain = detail::name_error(code, "open directory", path.native());
    if (code == ELOOP)
      return error(errc::io_error, "open directory " + detail::shown_path(path.native()) + ": too many symbolic links",
                   plain.cause());
    return plain;
  }

  unique_fd parent_fd(const std::string& above, std::string_view doing, std::string_view path) const {
    unique_fd parent = detail::open_beneath(fd_.get(), above, O_PATH | O_DIRECTORY, resolution_);
    if (!parent) throw detail::path_error(errno, doing, path);
    return parent;
  }

  atomic_file create_in(std::string_view path, unique_fd staging) const {
    const std::string clean = workspace_path(path);
    const auto [above, name] = detail::split_path(clean);
    return atomic_file(made_directory(above, 0755), std::move(staging), name, clean);
  }

  // Looks for the lowest directory there is, then goes down from it, making one after another.
  unique_fd made_directory(const std::string& path, unsigned mode) const {
    std::string there = path;
    unique_fd at;
    for (;;) {
      at = detail::open_beneath(fd_.get(), there, O_PATH | O_DIRECTORY, resolution_);
      if (at) break;
      if (errno != ENOENT || there == ".") throw detail::path_error(errno, "make directory", path);
      there = detail::split_path(there).first;
    }
    std::string_view rest = path;
    rest.remove_prefix(there == "." ? 0 : there.size());
    if (there == "." && path == ".") return at;
    for (const std::string_view part : detail::path_components(rest)) {
      const std::string name(part);
      const bool made = ::mkdirat(at.get(), name.c_str(), static_cast<mode_t>(mode & 0777U)) == 0;
      if (!made && errno != EEXIST) throw detail::path_error(errno, "make directory", path);
      unique_fd below(detail::open_retried(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW));
      struct stat status {};
      if (!below || ::fstat(below.get(), &status) != 0) {
        if (errno == ELOOP) errno = ENOTDIR;  // a dangling link, or one put there just now
        throw detail::path_error(errno, "make directory", path);
      }
      if (made && (status.st_mode & 0777U) != (mode & 0777U) &&
          !detail::change_mode(below.get(), (status.st_mode & S_ISGID) | (mode & 0777U)))
        throw detail::path_error(errno, "make directory", path);
      at = std::move(below);
    }
    return at;
  }

  unique_fd fd_;
  path_resolution resolution_ = path_resolution::kernel;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/transfer.hpp ----


#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// One file that arrived.
class transferred_file {
 public:
  transferred_file(std::string source, std::string destination, std::uint64_t size)
      : source_(std::move(source)), destination_(std::move(destination)), size_(size) {}
  /// Where it came from, as its side names it.
  const std::string& source() const noexcept { return source_; }
  /// Where it is now, as its side names it: relative to the workspace inside, a host path outside.
  const std::string& destination() const noexcept { return destination_; }
  /// Bytes.
  std::uint64_t size() const noexcept { return size_; }

 private:
  std::string source_;
  std::string destination_;
  std::uint64_t size_;
};

/// One file that did not arrive, and why.
class failed_file {
 public:
  failed_file(std::string source, error reason) : source_(std::move(source)), reason_(std::move(reason)) {}
  const std::string& source() const noexcept { return source_; }
  const error& reason() const noexcept { return reason_; }

 private:
  std::string source_;
  error reason_;
};

/// What became of every file that was to be moved: a failure of one does not stop the others.
class transfer {
 public:
  /// Nothing failed.
  bool ok() const noexcept { return failed_.empty(); }
  const std::vector<transferred_file>& files() const noexcept { return files_; }
  const std::vector<failed_file>& failed() const noexcept { return failed_; }

  void add(transferred_file file) { files_.push_back(std::move(file)); }
  void add(failed_file file) { failed_.push_back(std::move(file)); }

 private:
  std::vector<transferred_file> files_;
  std::vector<failed_file> failed_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/bulk_file_environment.hpp ----


#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// The head of one file in a stream of files.
class file_header {
 public:
  /// \param source       where it comes from, as its side names it (for reports only).
  /// \param destination  where it goes, relative to the root of the receiving side.
  /// \param type         a regular file or a directory.
  /// \param size         bytes, as known at the start; the content that follows decides.
  /// \param mode         permission bits, 0 to 0777.
  file_header(std::string source, std::string destination, file_type type, std::uint64_t size, unsigned mode)
      : source_(std::move(source)), destination_(std::move(destination)), type_(type), size_(size), mode_(mode) {}

  /// A file that cannot be sent: the receiver reports it and asks for the next.
  file_header(std::string source, error failure) : source_(std::move(source)), failure_(std::move(failure)) {}

  const std::string& source() const noexcept { return source_; }
  const std::string& destination() const noexcept { return destination_; }
  file_type type() const noexcept { return type_; }
  std::uint64_t size() const noexcept { return size_; }
  unsigned mode() const noexcept { return mode_; }
  const std::optional<error>& failure() const noexcept { return failure_; }

 private:
  std::string source_;
  std::string destination_;
  file_type type_ = file_type::other;
  std::uint64_t size_ = 0;
  unsigned mode_ = 0;
  std::optional<error> failure_;
};

/// Files one after another, pulled by the side that writes them. Never more than one piece of one file in memory.
class file_source {
 public:
  file_source() = default;
  file_source(const file_source&) = delete;
  file_source& operator=(const file_source&) = delete;
  virtual ~file_source() = default;

  /// Goes on to the next file, past what was not read of this one; nothing at the end.
  virtual awaitable<std::optional<file_header>> next() = 0;
  /// At most `most` bytes of the current file; empty at its end. Throws `error` where it cannot be read on: the file
  /// has failed, and `next()` goes on.
  virtual awaitable<bytes> read(std::size_t most) = 0;
};

/// What to fetch, and under which name: for `get_files`.
class file_request {
 public:
  file_request(std::string path, std::string destination)
      : path_(std::move(path)), destination_(std::move(destination)) {}
  /// One regular file, relative to the workspace.
  const std::string& path() const noexcept { return path_; }
  /// What `file_header::destination` shall say.
  const std::string& destination() const noexcept { return destination_; }

 private:
  std::string path_;
  std::string destination_;
};

/// An environment that takes and gives many files of any size in one trip, streamed.
///
/// * `put_files(source)` writes each file whole or not at all, with its mode, makes missing folders, reports each
///   failure and goes on. The caller keeps `source` until the awaitable completes.
/// * `get_files(requests)` yields a source of those files in that order; it must not outlive the environment.
template <class E>
concept bulk_file_environment =
    code_exec_environment<E> && requires(E& e, file_source& source, std::vector<file_request> requests) {
      { e.put_files(source) } -> awaitable_of<transfer>;
      { e.get_files(std::move(requests)) } -> awaitable_of<std::unique_ptr<file_source>>;
    };

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/file_operations.hpp ----


#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// Each function takes the environment's own member where there is one. Where there is none it runs a command in the
// environment (POSIX sh, find, stat as coreutils and BusyBox have it, mkdir, rm, mv): names travel as arguments with
// `./` before them, so that none is read as an option or by the shell, and come back separated by NUL.
//
// A layer always has the members, so the commands are only ever run by the backend at the bottom: an allowlist neither
// refuses them nor lets anything pass for them.

namespace cofferdam::inline v0 {

namespace detail {

/// The base of every layer, so that a layer which lost an operation is an error and not a fallback that goes round it.
class layer_tag {};

template <class E>
inline constexpr bool is_layer = std::derived_from<E, layer_tag>;

/// The most output a listing by commands may have: some 200,000 names.
inline constexpr std::size_t longest_listing = 16 * 1024 * 1024;

inline std::string below_workspace(std::string_view path) {
  const std::string inside = workspace_path_or_root(path);
  return inside == "." ? "./" : "./" + inside;
}

/// Turns what a file command said into an error; `doing` is what was tried.
[[noreturn]] inline void throw_file_failure(const command_result& result, std::string_view doing,
                                            std::string_view path) {
  const std::string said = one_line(result.err().text());
  const std::string sentence =
      std::string(doing) + " '" + one_line(path) + "': " + (said.empty() ? result.reason() : said);
  if (said.find("No such file") != std::string::npos) throw error(errc::not_found, sentence);
  if (said.find("Permission denied") != std::string::npos || said.find("not permitted") != std::string::npos)
    throw error(errc::permission_denied, sentence);
  if (said.find("Not a directory") != std::string::npos) throw error(errc::not_a_directory, sentence);
  if (said.find("File exists") != std::string::npos) throw error(errc::already_exists, sentence);
  throw error(errc::io_error, sentence, result.cause());
}

inline constexpr std::string_view describe_script =
    "for f do if [ -L \"$f\" ]; then t=l; elif [ -d \"$f\" ]; then t=d; elif [ -f \"$f\" ]; then t=f; "
    "elif [ -e \"$f\" ]; then t=o; else echo 'No such file' >&2; exit 1; fi; "
    "printf '%s %s %s\\0' \"$t\" \"$(stat -c '%s %a' \"$f\")\" \"$f\"; done";

inline constexpr std::string_view list_script =
    "if [ ! -e \"$1\" ]; then echo 'No such file' >&2; exit 1; fi; "
    "if [ ! -d \"$1\" ]; then echo 'Not a directory' >&2; exit 1; fi; "
    "exec find -H \"$1\" -mindepth 1 -exec sh -c \"$2\" sh {} +";

/// Reads the records that `describe_script` writes: "type size mode path\0".
inline std::vector<entry> parse_descriptions(std::string_view text, std::size_t prefix_length, std::string_view path) {
  std::vector<entry> entries;
  const auto broken = [&] {
    return error(errc::io_error, "list '" + one_line(path) + "': the environment's answer cannot be read");
  };
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    if (end == std::string_view::npos) throw broken();
    const std::string_view record = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (record.size() < 2 || record[1] != ' ') throw broken();
    std::uint64_t size = 0;
    unsigned mode = 0;
    const char* const last = record.data() + record.size();
    const std::from_chars_result after_size = std::from_chars(record.data() + 2, last, size);
    if (after_size.ec != std::errc{} || after_size.ptr == last) throw broken();
    const std::from_chars_result after_mode = std::from_chars(after_size.ptr + 1, last, mode, 8);
    if (after_mode.ec != std::errc{} || after_mode.ptr == last) throw broken();
    const std::string_view name(after_mode.ptr + 1, static_cast<std::size_t>(last - after_mode.ptr - 1));
    if (name.size() < prefix_length) throw broken();
    file_type type = file_type::other;
    if (record[0] == 'f') type = file_type::regular;
    if (record[0] == 'd') type = file_type::directory;
    if (record[0] == 'l') type = file_type::symlink;
    std::string shown(name.substr(prefix_length));
    if (shown.empty()) shown = ".";
    entries.emplace_back(std::move(shown), type, type == file_type::regular ? size : 0, mode & 0777U);
  }
  std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) { return a.path() < b.path(); });
  return entries;
}

inline command file_command(std::vector<std::string> words) {
  return argv(std::move(words)).keep_output(longest_listing);
}

template <class E>
awaitable<entry> stat_by_command(E& environment, std::string path) {
  std::vector<std::string> words{"sh", "-c", std::string(describe_script), "sh", below_workspace(path)};
  command_result result = co_await environment.run_command(file_command(std::move(words)));
  if (!result.ok()) throw_file_failure(result, "stat", path);
  std::vector<entry> found = parse_descriptions(as_text(result.out().head()), 2, path);
  if (found.size() != 1)
    throw error(errc::io_error, "stat '" + one_line(path) + "': the environment's answer cannot be read");
  co_return std::move(found.front());
}

template <class E>
awaitable<std::vector<entry>> list_by_command(E& environment, std::string path) {
  const std::string start = below_workspace(path);
  const std::size_t prefix = start == "./" ? 2 : start.size() + 1;
  std::vector<std::string> words{"sh", "-c", std::string(list_script), "sh", start, std::string(describe_script)};
  command_result result = co_await environment.run_command(file_command(std::move(words)));
  if (!result.ok()) throw_file_failure(result, "list", path);
  if (result.out().cut() != 0)
    throw error(errc::too_large, "list '" + one_line(path) + "': more names than fit in 16 MiB; list a subdirectory");
  co_return parse_descriptions(as_text(result.out().head()), prefix, path);
}

/// Runs a file command that has no answer but its success.
template <class E>
awaitable<void> change_by_command(E& environment, std::vector<std::string> words, std::string doing, std::string path) {
  command_result result = co_await environment.run_command(file_command(std::move(words)));
  if (!result.ok()) throw_file_failure(result, doing, path);
}

template <class E>
awaitable<void> remove_by_command(E& environment, std::string path) {
  std::vector<std::string> words{"sh", "-c",
                                 "if [ ! -e \"$1\" ] && [ ! -L \"$1\" ]; then echo 'No such file' >&2; exit 1; fi; "
                                 "exec rm -rf \"$1\"",
                                 "sh", below_workspace(path)};
  co_await change_by_command(environment, std::move(words), "remove", std::move(path));
}

}  // namespace detail

/// What stands at `path`. Does not follow a symbolic link at the end.
/// \param path  relative to the workspace, without `..`; the caller keeps `environment` until the awaitable completes.
/// \throws error{errc::not_found} where there is nothing; error{errc::outside_workspace}, error{errc::invalid_argument}.
template <code_exec_environment E>
awaitable<entry> stat(E& environment, std::string path) {
  if constexpr (requires { environment.stat(std::move(path)); }) {
    return environment.stat(std::move(path));
  } else {
    static_assert(!detail::is_layer<E>, "cofferdam: this layer lost stat(): write it beside read_file");
    return detail::stat_by_command(environment, std::move(path));
  }
}

/// Whether anything stands at `path`, a dangling symbolic link included.
template <code_exec_environment E>
awaitable<bool> exists(E& environment, std::string path) {
  try {
    co_await stat(environment, std::move(path));
  } catch (const error& failure) {
    if (failure.code() == errc::not_found || failure.code() == errc::not_a_directory) co_return false;
    throw;
  }
  co_return true;
}

/// Whether a directory stands at `path`. A symbolic link is none.
template <code_exec_environment E>
awaitable<bool> is_directory(E& environment, std::string path) {
  try {
    entry found = co_await stat(environment, std::move(path));
    co_return found.is_directory();
  } catch (const error& failure) {
    if (failure.code() != errc::not_found && failure.code() != errc::not_a_directory) throw;
  }
  co_return false;
}

/// Everything beneath the directory `path`, at every depth, as paths relative to it, in byte order. Symbolic links are
/// listed and not entered.
/// \param path  "." lists the whole workspace.
/// \throws error{errc::not_found}, error{errc::not_a_directory}; error{errc::too_large} rather than a list cut short.
template <code_exec_environment E>
awaitable<std::vector<entry>> list(E& environment, std::string path) {
  if constexpr (requires { environment.list(std::move(path)); }) {
    return environment.list(std::move(path));
  } else {
    static_assert(!detail::is_layer<E>, "cofferdam: this layer lost list(): write it beside read_file");
    return detail::list_by_command(environment, std::move(path));
  }
}

/// Makes a directory and its parents; no error where it is there already.
template <code_exec_environment E>
awaitable<void> make_directory(E& environment, std::string path) {
  if constexpr (requires { environment.make_directory(std::move(path)); }) {
    return environment.make_directory(std::move(path));
  } else {
    static_assert(!detail::is_layer<E>, "cofferdam: this layer lost make_directory(): write it beside write_file");
    std::vector<std::string> words{"mkdir", "-p", detail::below_workspace(path)};
    return detail::change_by_command(environment, std::move(words), "make directory", std::move(path));
  }
}

/// Removes a file, or a directory with all it holds. Symbolic links are removed, not followed.
/// \throws error{errc::not_found} where there is nothing.
template <code_exec_environment E>
awaitable<void> remove(E& environment, std::string path) {
  if constexpr (requires { environment.remove(std::move(path)); }) {
    return environment.remove(std::move(path));
  } else {
    static_assert(!detail::is_layer<E>, "cofferdam: this layer lost remove(): write it beside write_file");
    return detail::remove_by_command(environment, std::move(path));
  }
}

/// Gives a file or directory another name; replaces a file that has it already.
template <code_exec_environment E>
awaitable<void> rename(E& environment, std::string from, std::string to) {
  if constexpr (requires { environment.rename(std::move(from), std::move(to)); }) {
    return environment.rename(std::move(from), std::move(to));
  } else {
    static_assert(!detail::is_layer<E>, "cofferdam: this layer lost rename(): write it beside write_file");
    std::vector<std::string> words{"mv", "-f", "-T", detail::below_workspace(from), detail::below_workspace(to)};
    return detail::change_by_command(environment, std::move(words), "rename", std::move(from));
  }
}

/// The whole of a text file, as it is: not checked to be UTF-8.
/// \param most  bytes; a longer file is error{errc::too_large}.
template <code_exec_environment E>
awaitable<std::string> read_text(E& environment, std::string path, std::size_t most = 16 * 1024 * 1024) {
  bytes content = co_await environment.read_file(std::move(path), most);
  co_return std::string(as_text(content));
}

/// Writes a text file, whole or not at all.
template <code_exec_environment E>
awaitable<void> write_text(E& environment, std::string path, std::string text) {
  co_await environment.write_file(std::move(path), as_bytes(text));
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/file_transfer.hpp ----


#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// As in file_operations.hpp: the environment's own member where there is one, else one file at a time by read_file and
// write_file, and by commands for what those cannot do. A layer always has the members.

namespace cofferdam::inline v0 {

namespace detail {

/// The largest file for an environment that takes and gives files only whole: it passes through memory.
inline constexpr std::size_t largest_whole_file = std::size_t{256} * 1024 * 1024;

/// The piece that files are moved in.
inline constexpr std::size_t file_piece = 256 * 1024;

/// Whether a failure is that of the whole transfer and not of one file.
inline bool ends_transfer(const error& failure) noexcept {
  return failure.code() == errc::cancelled || failure.code() == errc::environment_closed ||
         failure.code() == errc::provider_lost;
}

/// Takes the files of a source one after another: reports each failure and goes on.
/// \param put  `awaitable<transferred_file>(const file_header&)`: puts one, whose content the source now gives.
template <class Put>
awaitable<transfer> put_each(file_source& source, Put put) {
  transfer report;
  for (;;) {
    const std::optional<file_header> header = co_await source.next();
    if (!header) co_return report;
    std::optional<error> failure = header->failure();
    if (!failure) {
      try {
        transferred_file done = co_await put(*header);
        report.add(std::move(done));
      } catch (const error& reason) {
        if (ends_transfer(reason)) throw;
        failure = reason;
      }
    }
    if (failure) report.add(failed_file(header->source(), std::move(*failure)));
  }
}

/// Sets a mode that has an x bit. The operations of an environment have none for it, so this is a command.
template <class E>
awaitable<void> make_executable(E& environment, std::string path, unsigned mode) {
  std::string digits;
  for (int shift = 6; shift >= 0; shift -= 3) digits += static_cast<char>('0' + ((mode >> shift) & 7U));
  command change = argv("chmod", digits, "./" + path);
  command_result result = co_await environment.run_command(std::move(change));
  if (result.ok()) co_return;
  std::string why = one_line(result.err().text());
  if (why.empty()) why = result.reason();
  throw error(errc::permission_denied,
              "put " + shown_path(path) + ": the file is there, but could not be made executable: " + why);
}

template <class E>
awaitable<transferred_file> put_whole(E& environment, file_source& source, const file_header& header) {
  const std::string path = workspace_path(header.destination());
  if (header.type() == file_type::directory) {
    co_await make_directory(environment, path);
    co_return transferred_file(header.source(), path, 0);
  }
  bytes content;
  for (;;) {
    const bytes piece = co_await source.read(file_piece);
    if (piece.empty()) break;
    if (piece.size() > largest_whole_file - content.size())
      throw error(errc::too_large, "put " + shown_path(header.source()) + ": longer than " +
                                       std::to_string(largest_whole_file) +
                                       " bytes, the most for an environment that takes files only whole");
    content.insert(content.end(), piece.begin(), piece.end());
  }
  const bytes_view view(content);
  co_await environment.write_file(path, view);
  constexpr unsigned executable = 0111;
  if ((header.mode() & executable) != 0) co_await make_executable(environment, path, header.mode() & 0777U);
  co_return transferred_file(header.source(), path, content.size());
}

template <class E>
awaitable<transfer> put_one_by_one(E& environment, file_source& source) {
  return put_each(
      source, [&environment, &source](const file_header& header) { return put_whole(environment, source, header); });
}

/// Files of an environment that gives them only whole.
template <class E>
class whole_file_source final : public file_source {
 public:
  whole_file_source(E& environment, std::vector<file_request> requests)
      : environment_(environment), requests_(std::move(requests)) {}

  awaitable<std::optional<file_header>> next() override {
    content_.clear();
    sent_ = 0;
    if (at_ == requests_.size()) co_return std::nullopt;
    const file_request& wanted = requests_[at_++];
    std::optional<file_header> header;
    try {
      const entry found = co_await stat(environment_, wanted.path());
      content_ = co_await environment_.read_file(wanted.path(), largest_whole_file);
      // A link's own bits say nothing of the file behind it.
      const unsigned mode = found.type() == file_type::symlink ? 0644U : found.mode();
      header.emplace(wanted.path(), wanted.destination(), file_type::regular, content_.size(), mode);
    } catch (const error& failure) {
      if (ends_transfer(failure)) throw;
      header.emplace(wanted.path(), failure);
    }
    co_return header;
  }

  awaitable<bytes> read(std::size_t most) override {
    const std::size_t count = std::min(most, content_.size() - sent_);
    const auto start = content_.begin() + static_cast<std::ptrdiff_t>(sent_);
    sent_ += count;
    co_return bytes(start, start + static_cast<std::ptrdiff_t>(count));
  }

 private:
  E& environment_;
  std::vector<file_request> requests_;
  std::size_t at_ = 0;
  bytes content_;
  std::size_t sent_ = 0;
};

template <class E>
awaitable<std::unique_ptr<file_source>> get_one_by_one(E& environment, std::vector<file_request> requests) {
  co_return std::make_unique<whole_file_source<E>>(environment, std::move(requests));
}

}  // namespace detail

/// Writes everything a source has into an environment, in one trip where it can; else one file of at most 256 MiB at a
/// time, with modes that have an x bit set by `chmod`. Reports each failure and goes on.
/// \param environment, source  kept by the caller until the awaitable completes.
/// \throws error{errc::cancelled}, error{errc::environment_closed}, error{errc::provider_lost}.
template <code_exec_environment E>
awaitable<transfer> put_files(E& environment, file_source& source) {
  if constexpr (requires { environment.put_files(source); }) {
    return environment.put_files(source);
  } else {
    static_assert(!detail::is_layer<E>, "cofferdam: this layer lost put_files(): write it beside write_file");
    return detail::put_one_by_one(environment, source);
  }
}

/// Regular files of an environment, as a source that must not outlive it: streamed where the environment can, else one
/// whole file of at most 256 MiB at a time.
template <code_exec_environment E>
awaitable<std::unique_ptr<file_source>> get_files(E& environment, std::vector<file_request> requests) {
  if constexpr (requires { environment.get_files(std::move(requests)); }) {
    return environment.get_files(std::move(requests));
  } else {
    static_assert(!detail::is_layer<E>, "cofferdam: this layer lost get_files(): write it beside read_file");
    return detail::get_one_by_one(environment, std::move(requests));
  }
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/os/workspace_files.hpp ----


#include <asio/cancellation_state.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

namespace detail {

/// The most that is read or written before others have a turn.
inline constexpr std::size_t file_turn = 1024 * 1024;

/// The same for names that are listed or removed.
inline constexpr std::size_t names_a_turn = 512;

/// Lets whatever else waits on the executor run. Throws error{errc::cancelled} where we have been cancelled.
inline awaitable<void> yield_turn(std::string doing) {
  co_await asio::post(asio::use_awaitable);
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) throw error(errc::cancelled, doing + ": cancelled");
}

/// Files of a directory, one after another, for `put_files` elsewhere.
class directory_source final : public file_source {
 public:
  directory_source(std::shared_ptr<const directory> root, std::vector<file_request> requests)
      : root_(std::move(root)), requests_(std::move(requests)) {}

  awaitable<std::optional<file_header>> next() override {
    reader_.reset();
    if (at_ == requests_.size()) co_return std::nullopt;
    const file_request& wanted = requests_[at_++];
    std::optional<file_header> header;
    try {
      const entry found = root_->stat(wanted.path());
      if (found.is_directory()) {
        header.emplace(wanted.path(), wanted.destination(), file_type::directory, 0, found.mode());
      } else {
        reader_.emplace(root_->open_file(wanted.path()));
        header.emplace(wanted.path(), wanted.destination(), file_type::regular, reader_->size(), reader_->mode());
      }
    } catch (const error& failure) {
      header.emplace(wanted.path(), failure);
    }
    co_return header;
  }

  awaitable<bytes> read(std::size_t most) override {
    if (!reader_) co_return bytes();
    co_await yield_turn("read '" + reader_->path() + "'");
    co_return reader_->read(std::min(most, file_turn));
  }

 private:
  std::shared_ptr<const directory> root_;
  std::vector<file_request> requests_;
  std::size_t at_ = 0;
  std::optional<file_reader> reader_;
};

}  // namespace detail

/// The files of a workspace that lies on this machine: the file half of an environment, for the backends whose guests
/// work in a host directory. Everything happens beneath a held directory descriptor, by the kernel's own rules, so that
/// a guest which swaps names meanwhile leads nowhere. Big files move in turns of at most 1 MiB.
/// \par Threads  one executor at a time.
class workspace_files {
 public:
  /// \param root      the workspace.
  /// \param path      its absolute path as the guest sees it: paths beneath it are understood too.
  /// \param staging   where unfinished files lie, on the same file system; none: beside their targets.
  workspace_files(directory root, std::string path, std::optional<directory> staging)
      : root_(std::make_shared<const directory>(std::move(root))),
        path_(std::move(path)),
        staging_(std::move(staging)) {}

  const directory& root() const noexcept { return *root_; }

  /// The path as it is beneath the root, or "." for the root itself.
  std::string beneath(std::string_view path) const { return workspace_path_or_root(path, path_); }

  awaitable<bytes> read_file(std::string path, std::size_t most) {
    const std::string clean = workspace_path(path, path_);
    file_reader reader = root_->open_file(clean);
    if (reader.size() <= detail::file_turn) co_return reader.read_rest(most);
    if (reader.size() > most) throw reader.larger_than(most);
    bytes content;
    content.reserve(reader.size());
    for (;;) {
      const bytes piece = reader.read(detail::file_turn);
      if (piece.empty()) co_return content;
      if (piece.size() > most - content.size()) throw reader.larger_than(most);
      content.insert(content.end(), piece.begin(), piece.end());
      co_await detail::yield_turn("read '" + path + "'");
    }
  }

  awaitable<void> write_file(std::string path, bytes_view content) {
    const std::string clean = workspace_path(path, path_);
    atomic_file file = create(clean);
    while (!content.empty()) {
      const bytes_view piece = content.first(std::min(content.size(), detail::file_turn));
      file.write(piece);
      content = content.subspan(piece.size());
      if (!content.empty()) co_await detail::yield_turn("write '" + path + "'");
    }
    file.commit();
  }

  awaitable<entry> stat(std::string path) { co_return root_->stat(beneath(path)); }
  awaitable<std::vector<entry>> list(std::string path) {
    tree_walk walk = root_->walk(beneath(path));
    std::vector<entry> entries;
    while (std::optional<entry> found = walk.next()) {
      entries.push_back(std::move(*found));
      if (entries.size() % detail::names_a_turn != 0) continue;
      co_await detail::yield_turn("list '" + path + "'");
    }
    directory::sort_entries(entries);
    co_return entries;
  }
  awaitable<void> make_directory(std::string path) {
    root_->make_directory(beneath(path));
    co_return;
  }
  awaitable<void> remove(std::string path) {
    tree_removal removal = root_->removal(workspace_path(path, path_));
    for (;;) {
      const bool done = removal.step(detail::names_a_turn);
      if (done) co_return;
      co_await detail::yield_turn("remove '" + path + "'");
    }
  }
  awaitable<void> rename(std::string from, std::string to) {
    root_->rename(workspace_path(from, path_), workspace_path(to, path_));
    co_return;
  }

  awaitable<transfer> put_files(file_source& source) {
    return detail::put_each(source, [this, &source](const file_header& header) { return put_one(source, header); });
  }

  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    std::vector<file_request> clean;
    clean.reserve(requests.size());
    for (const file_request& request : requests) clean.emplace_back(beneath(request.path()), request.destination());
    co_return std::make_unique<detail::directory_source>(root_, std::move(clean));
  }

 private:
  atomic_file create(const std::string& path) const {
    return staging_ ? root_->create_file(path, *staging_) : root_->create_file(path);
  }

  awaitable<transferred_file> put_one(file_source& source, const file_header& header) {
    const std::string clean = workspace_path(header.destination(), path_);
    if (header.type() == file_type::directory) {
      root_->make_directory(clean);
      root_->set_mode(clean, header.mode());
      co_return transferred_file(header.source(), clean, 0);
    }
    atomic_file file = create(clean);
    std::uint64_t size = 0;
    for (;;) {
      const bytes piece = co_await source.read(detail::file_turn);
      if (piece.empty()) break;
      file.write(piece);
      size += piece.size();
    }
    file.commit(header.mode());
    co_return transferred_file(header.source(), clean, size);
  }

  std::shared_ptr<const directory> root_;
  std::string path_;
  std::optional<directory> staging_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/backends/detail/local_state.hpp ----


#include <asio/any_io_executor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <stdlib.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// What `local` does with a shell line that seems to name files outside the workspace.
enum class path_policy {
  ignore,  ///< nothing
  advise,  ///< runs it, and adds advice to the result
  refuse,  ///< refuses it with error_kind::absolute_path_detected
};

namespace detail {

/// What `local` was told; shared by its environments.
class local_settings {
 public:
  std::filesystem::path temporary_base;
  std::filesystem::path workspace;
  std::string shell;
  child_settings children;
  path_policy paths = path_policy::advise;
  bool warns = true;
};

inline awaitable<void> short_pause(asio::any_io_executor executor) {
  asio::steady_timer timer(executor, std::chrono::milliseconds(5));
  std::error_code ignored;  // woken early is fine: the caller looks again
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

/// The folders of a local environment: made together, removed together.
class local_folders {
 public:
  explicit local_folders(const local_settings& settings) {
    if (!settings.workspace.empty()) use(settings.workspace);
    make_private_folder(settings.temporary_base);
    try {
      const directory top = directory::open(folder_);
      top.make_directory("tmp");
      std::optional<directory> staging;
      if (workspace_.empty()) {
        top.make_directory("workspace");
        top.make_directory("unfinished");
        workspace_ = folder_ / "workspace";
        staging.emplace(top.subdirectory("unfinished"));
      }
      directory root = directory::open(workspace_);
      workspace_fd_ = root.open_directory_fd(".");
      files_.emplace(std::move(root), workspace_.string(), std::move(staging));
    } catch (...) {
      reaper::instance().adopt(std::move(folder_));  // at once, or, where descriptors are short, later
      reaper::instance().sweep();
      throw;
    }
  }

  local_folders(const local_folders&) = delete;
  local_folders& operator=(const local_folders&) = delete;

  ~local_folders() {
    if (!folder_.empty()) reaper::instance().adopt(std::move(folder_));
  }

  const std::filesystem::path& folder() const noexcept { return folder_; }
  const std::filesystem::path& workspace() const noexcept { return workspace_; }
  int workspace_fd() const noexcept { return workspace_fd_.get(); }
  workspace_files& files() noexcept { return *files_; }

  /// Removes what is ours. What the killed still hold or make meanwhile is tried again for a while.
  static awaitable<void> remove(std::shared_ptr<local_folders> self, asio::any_io_executor executor) {
    self->workspace_fd_.reset();
    const directory above = directory::open(self->folder_.parent_path());
    for (int attempt = 0;; ++attempt) {
      std::string why;
      try {
        tree_removal removal = above.removal(self->folder_.filename().native());
        for (;;) {
          const bool done = removal.step(names_a_turn);
          if (done) break;
          co_await yield_turn("close");
        }
        self->folder_.clear();
      } catch (const error& failure) {
        if (failure.code() == errc::not_found) self->folder_.clear();  // somebody else has removed it
        why = failure.what();
      }
      if (self->folder_.empty()) co_return;
      if (attempt == 100)
        throw error(errc::io_error, "close: the folder '" + self->folder_.string() + "' cannot be removed: " + why);
      co_await short_pause(executor);
    }
  }

 private:
  void use(const std::filesystem::path& wanted) {
    std::error_code failure;
    workspace_ = std::filesystem::canonical(wanted, failure);
    if (!failure && !std::filesystem::is_directory(workspace_, failure) && !failure)
      failure = std::make_error_code(std::errc::not_a_directory);
    if (failure)
      throw error(errc::provider_failed,
                  "local: the workspace '" + wanted.string() + "' cannot be used: " + failure.message() +
                      "; it must be an existing directory",
                  failure);
  }

  void make_private_folder(std::filesystem::path base) {
    std::error_code failure;
    if (base.empty()) base = std::filesystem::temp_directory_path(failure);
    if (!failure) std::filesystem::create_directories(base, failure);
    if (!failure) base = std::filesystem::canonical(base, failure);
    if (failure)
      throw error(errc::provider_failed,
                  "local: no folder for temporary files: " + failure.message() + "; name one with temporary_base()",
                  failure);
    std::string pattern = (base / "cofferdam-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      const std::error_code cause(errno, std::system_category());
      throw error(errc::provider_failed,
                  "local: cannot make a folder in '" + base.string() + "': " + cause.message() +
                      "; name another with temporary_base()",
                  cause);
    }
    try {
      folder_ = pattern;
    } catch (...) {
      ::rmdir(pattern.c_str());
      throw;
    }
  }

  std::filesystem::path folder_;
  std::filesystem::path workspace_;
  unique_fd workspace_fd_;
  std::optional<workspace_files> files_;
};

/// One open local environment. The coroutines of its commands share it.
class local_state {
 public:
  local_state(asio::any_io_executor executor, std::shared_ptr<const local_settings> settings)
      : executor_(executor),
        settings_(std::move(settings)),
        children_(std::move(executor), settings_->children),
        folders_(std::make_shared<local_folders>(*settings_)),
        shell_(find_shell(settings_->shell)) {
    const auto set = [this](std::string name, std::string_view value) {
      variables_.push_back(std::move(name) + "=" + std::string(value));
    };
    set("PATH", default_path);
    set("HOME", folders_->workspace().native());
    set("LANG", "C.UTF-8");
    set("TERM", "dumb");
    set("TMPDIR", (folders_->folder() / "tmp").native());
  }

  local_state(const local_state&) = delete;
  local_state& operator=(const local_state&) = delete;

  workspace_files& files() {
    require_open();
    return folders_->files();
  }

  const std::filesystem::path& workspace() const noexcept { return folders_->workspace(); }

  /// Kills everything at once and waits for nothing: the environment was dropped without `close()`.
  void abandon() {
    closing_ = true;
    children_.abandon();
  }

  static awaitable<void> close(std::shared_ptr<local_state> self) {
    if (self->closing_) {
      while (!self->closed_) co_await short_pause(self->executor_);
      co_return;
    }
    self->closing_ = true;
    std::exception_ptr failure;
    try {
      co_await self->children_.close();
      co_await local_folders::remove(self->folders_, self->executor_);
    } catch (...) {
      failure = std::current_exception();
    }
    self->closed_ = true;
    if (failure) std::rethrow_exception(failure);
  }

  static awaitable<command_result> run(std::shared_ptr<local_state> self, command c) {
    std::string advice;
    std::optional<command_result> refusal = self->judge(c, advice);
    if (refusal) co_return std::move(*refusal);
    spawn_request request = request_for(c, self->shell_, self->variables_);
    const unique_fd directory = self->enter(c, request);
    command_result result = co_await self->children_.run(std::move(c), std::move(request));
    if (result.advice().empty() && !advice.empty()) result.advice(std::move(advice));
    co_return result;
  }

  static awaitable<process> start(std::shared_ptr<local_state> self, command c) {
    std::string advice;
    std::optional<command_result> refusal = self->judge(c, advice);
    if (refusal) co_return process::finished(std::move(*refusal));
    spawn_request request = request_for(c, self->shell_, self->variables_);
    const unique_fd directory = self->enter(c, request);
    process running = co_await self->children_.start(std::move(c), std::move(request));
    co_return running;
  }

 private:
  void require_open() const {
    if (closing_) throw error(errc::environment_closed, "local: the environment is closed; open another one");
  }

  /// Sets the directory that a command starts in; keeps it open as long as what is returned.
  unique_fd enter(const command& c, spawn_request& request) {
    unique_fd directory;
    request.directory = folders_->workspace_fd();
    if (c.working_directory() == ".") return directory;
    directory = files().root().open_directory_fd(files().beneath(c.working_directory()));
    request.directory = directory.get();
    return directory;
  }

  /// What can be said of a command before anything starts.
  std::optional<command_result> judge(const command& c, std::string& advice) const {
    require_open();
    if (std::optional<command_result> invalid = refuse_invalid(c)) return invalid;
    if (!c.is_shell() || settings_->paths == path_policy::ignore) return std::nullopt;
    const std::string found = outside_path(c.line(), workspace().native(), folders_->folder().native());
    if (found.empty()) return std::nullopt;
    advice = "The command names \"" + one_line(found) +
             "\", which seems to lie outside the working directory. Use relative paths (e.g. './output.txt').";
    if (settings_->paths == path_policy::advise) return std::nullopt;
    return command_result::refused(error_kind::absolute_path_detected,
                                   "Command appears to use paths outside the working directory", advice);
  }

  static std::string find_shell(const std::string& wanted) {
    std::vector<std::string> choices{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"};
    if (!wanted.empty()) choices = {wanted};
    for (const std::string& choice : choices)
      if (::access(choice.c_str(), X_OK) == 0) return choice;
    throw error(errc::provider_failed,
                "local: no shell at '" + choices.back() + "'; install one or name it with shell()");
  }

  asio::any_io_executor executor_;
  std::shared_ptr<const local_settings> settings_;
  child_processes children_;
  std::shared_ptr<local_folders> folders_;
  std::string shell_;
  std::vector<std::string> variables_;
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace detail
}  // namespace cofferdam::inline v0

// ---- cofferdam/core/streaming_environment.hpp ----


#include <utility>

namespace cofferdam::inline v0 {

/// An environment whose commands can be watched and fed while they run: `start(c)` yields a `process`.
/// A command that cannot be started yields a finished one, with the result that says why.
template <class E>
concept streaming_environment = code_exec_environment<E> && requires(E& e, command c) {
  { e.start(std::move(c)) } -> awaitable_of<process>;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/warning.hpp ----


#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>

namespace cofferdam::inline v0 {

/// Takes a warning: one sentence, no line break. Called on the thread that met the reason; must not throw.
using warning_handler = void (*)(std::string_view sentence);

namespace detail {

inline void print_warning(std::string_view sentence) {
  const std::string line = "cofferdam: warning: " + std::string(sentence) + "\n";
  std::fputs(line.c_str(), stderr);
}

inline std::atomic<warning_handler>& current_warning_handler() noexcept {
  static std::atomic<warning_handler> handler{&print_warning};
  return handler;
}

inline void warn(std::string_view sentence) { current_warning_handler().load()(sentence); }

}  // namespace detail

/// Sends the library's few warnings elsewhere; the default prints them to standard error. Like `std::set_terminate`,
/// one for the whole program.
/// \param handler  null restores the default.
/// \return         the one before.
inline warning_handler set_warning_handler(warning_handler handler) noexcept {
  return detail::current_warning_handler().exchange(handler != nullptr ? handler : &detail::print_warning);
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/backends/local.hpp ----


#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// An open `local` environment. Models every refinement but `suspendable_environment`.
///
/// Movable while no operation is under way. Destroyed without `close()`, it kills what runs and leaves the folder to be
/// removed when the next environment opens, or the program ends.
/// \par Threads  the executor it was opened on.
class local_environment {
 public:
  explicit local_environment(std::shared_ptr<detail::local_state> state) : state_(std::move(state)) {}
  local_environment(local_environment&&) noexcept = default;
  local_environment& operator=(local_environment&& other) noexcept {
    if (this != &other) {
      if (state_) state_->abandon();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~local_environment() {
    if (state_) state_->abandon();
  }

  /// Runs a command to its end. What it does is the result, its time limit included.
  /// \throws error{errc::environment_closed}; error{errc::outside_workspace, not_found, not_a_directory} for its working
  ///         directory; error{errc::io_error} where the host has no descriptor left. `partial()` has what had arrived.
  /// \par Cancellation  terminal: SIGTERM, the grace, SIGKILL to the process group; then error{errc::cancelled}.
  awaitable<command_result> run_command(command c) { return detail::local_state::run(get(), std::move(c)); }

  /// Starts a command. One that cannot be started yields a finished process with the result that says why.
  /// \throws as `run_command`.
  awaitable<process> start(command c) { return detail::local_state::start(get(), std::move(c)); }

  awaitable<bytes> read_file(std::string path, std::size_t most) { return files().read_file(std::move(path), most); }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return files().write_file(std::move(path), content);
  }
  awaitable<entry> stat(std::string path) { return files().stat(std::move(path)); }
  awaitable<std::vector<entry>> list(std::string path) { return files().list(std::move(path)); }
  awaitable<void> make_directory(std::string path) { return files().make_directory(std::move(path)); }
  awaitable<void> remove(std::string path) { return files().remove(std::move(path)); }
  awaitable<void> rename(std::string from, std::string to) { return files().rename(std::move(from), std::move(to)); }
  awaitable<transfer> put_files(file_source& source) { return files().put_files(source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return files().get_files(std::move(requests));
  }

  /// Where the workspace lies on this machine.
  const std::filesystem::path& workspace() const { return get()->workspace(); }

  /// Ends every command (SIGTERM, the grace, SIGKILL), whose awaiters get error{errc::environment_closed}, and removes
  /// the folder. Not cancelled; a second call waits for the first.
  /// \throws error{errc::io_error} where the folder cannot be removed: something that left its process group still writes.
  awaitable<void> close() {
    const std::shared_ptr<detail::local_state> state = get();
    return detail::shielded([state] { return detail::local_state::close(state); });
  }

 private:
  const std::shared_ptr<detail::local_state>& get() const {
    if (!state_) throw error(errc::environment_closed, "local: the environment was moved from");
    return state_;
  }
  workspace_files& files() const { return get()->files(); }

  std::shared_ptr<detail::local_state> state_;
};

/// Runs commands on this machine, as the user who runs the program, in a private temporary folder. **No wall**: for
/// code you trust, or would run yourself. Warns so once a program.
///
/// A command has a process group and session of its own; its end, its time limit, cancellation and `close()` end the
/// group. (A process that leaves the group by `setsid` is not followed.) Its environment is built from nothing: PATH
/// (the system folders), HOME (the workspace), LANG, TERM, TMPDIR, and what the command adds; standard input is
/// /dev/null; descriptors, signal state and umask of the program do not leak into it.
///
/// A command is finished when it ends: a background child that holds the output delays the result by `output_grace`,
/// then what is left of the group is killed.
class local {
 public:
  /// Where the private folder is made. Default: TMPDIR, else /tmp. Made where it is missing.
  local&& temporary_base(std::filesystem::path folder) && {
    return with([&](detail::local_settings& all) { all.temporary_base = std::move(folder); });
  }
  /// Works in this existing directory instead of a new one, and leaves it there.
  local&& workspace(std::filesystem::path folder) && {
    return with([&](detail::local_settings& all) { all.workspace = std::move(folder); });
  }
  /// The shell for lines, as an absolute path; it must take `-c -- LINE`. Default: bash, else /bin/sh.
  local&& shell(std::string path) && {
    return with([&](detail::local_settings& all) { all.shell = std::move(path); });
  }
  /// The time limit of commands that have none of their own. Default: 5 minutes; `no_timeout` for none.
  local&& default_timeout(std::chrono::milliseconds limit) && {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument,
                  "local: the default timeout must be longer than zero (no_timeout says: none)");
    return with([&](detail::local_settings& all) { all.children.default_timeout = limit; });
  }
  /// From SIGTERM to SIGKILL. Default: 500 ms; zero or more.
  local&& kill_grace(std::chrono::milliseconds time) && {
    require_not_negative(time, "kill_grace");
    return with([&](detail::local_settings& all) { all.children.kill_grace = time; });
  }
  /// How long a background child may go on writing once the command has ended. Default: 100 ms; zero or more.
  local&& output_grace(std::chrono::milliseconds time) && {
    require_not_negative(time, "output_grace");
    return with([&](detail::local_settings& all) { all.children.output_grace = time; });
  }
  /// What to do with a shell line that seems to name files outside the workspace. Default: `path_policy::advise`. It
  /// is a guess about text, for the model's sake, and no wall.
  local&& paths(path_policy policy) && {
    return with([&](detail::local_settings& all) { all.paths = policy; });
  }
  /// Does not warn that it is no wall.
  local&& without_warning() && {
    return with([](detail::local_settings& all) { all.warns = false; });
  }

  /// \throws error{errc::provider_failed} where a folder cannot be made, there is no shell, or the program ignores
  ///         SIGCHLD (then nobody can know how a command ended).
  awaitable<local_environment> open() const { return open_with(settings_); }

 private:
  static awaitable<local_environment> open_with(std::shared_ptr<const detail::local_settings> settings) {
    if (settings->warns) warn_once();
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    co_return local_environment(std::make_shared<detail::local_state>(std::move(executor), std::move(settings)));
  }

  static void warn_once() {
    static std::atomic_flag warned;
    if (!warned.test_and_set())
      detail::warn(
          "local() is no wall: commands run on this machine as you. For code you do not trust use another "
          "backend; local().without_warning() silences this");
  }

  static void require_not_negative(std::chrono::milliseconds time, const char* name) {
    if (time < std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, std::string("local: ") + name + " must not be negative");
  }

  template <class Change>
  local&& with(Change change) {
    auto copy = std::make_shared<detail::local_settings>(*settings_);
    change(*copy);
    settings_ = std::move(copy);
    return std::move(*this);
  }

  static std::shared_ptr<const detail::local_settings> defaults() {
    auto settings = std::make_shared<detail::local_settings>();
    settings->children.walls =
        std::make_shared<const protections>(protections().set(protection::process_tree, "process group"));
    return settings;
  }

  std::shared_ptr<const detail::local_settings> settings_ = defaults();
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/any_provider.hpp ----


#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// Any environment, chosen at run time. Models every refinement but `suspendable_environment`. `start` throws
/// `error{errc::unsupported}` where the one inside has none; file operations fall back as the free functions do.
/// Movable while idle. One virtual call an operation, no allocation.
class any_environment {
 public:
  /// No environment; operations throw `error{errc::environment_closed}`.
  any_environment() = default;

  template <class E>
    requires(!std::same_as<E, any_environment> && code_exec_environment<E>)
  explicit any_environment(E environment) : inside_(std::make_unique<box<E>>(std::move(environment))) {}

  awaitable<command_result> run_command(command c) { return get().run_command(std::move(c)); }
  awaitable<process> start(command c) { return get().start(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t most) { return get().read_file(std::move(path), most); }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return get().write_file(std::move(path), content);
  }
  awaitable<entry> stat(std::string path) { return get().stat(std::move(path)); }
  awaitable<std::vector<entry>> list(std::string path) { return get().list(std::move(path)); }
  awaitable<void> make_directory(std::string path) { return get().make_directory(std::move(path)); }
  awaitable<void> remove(std::string path) { return get().remove(std::move(path)); }
  awaitable<void> rename(std::string from, std::string to) { return get().rename(std::move(from), std::move(to)); }
  awaitable<transfer> put_files(file_source& source) { return get().put_files(source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return get().get_files(std::move(requests));
  }
  awaitable<void> close() { return get().close(); }

  /// Whether `start` works here; it throws `error{errc::unsupported}` where it does not.
  bool can_start() const noexcept { return inside_ && inside_->can_start(); }

 private:
  class interface {
   public:
    virtual ~interface() = default;
    virtual bool can_start() const noexcept = 0;
    virtual awaitable<command_result> run_command(command c) = 0;
    virtual awaitable<process> start(command c) = 0;
    virtual awaitable<bytes> read_file(std::string path, std::size_t most) = 0;
    virtual awaitable<void> write_file(std::string path, bytes_view content) = 0;
    virtual awaitable<entry> stat(std::string path) = 0;
    virtual awaitable<std::vector<entry>> list(std::string path) = 0;
    virtual awaitable<void> make_directory(std::string path) = 0;
    virtual awaitable<void> remove(std::string path) = 0;
    virtual awaitable<void> rename(std::string from, std::string to) = 0;
    virtual awaitable<transfer> put_files(file_source& source) = 0;
    virtual awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) = 0;
    virtual awaitable<void> close() = 0;
  };

  template <class E>
  class box final : public interface {
   public:
    explicit box(E environment) : environment_(std::move(environment)) {}
    bool can_start() const noexcept override {
      if constexpr (requires(const E& e) {
                      { e.can_start() } -> std::same_as<bool>;
                    }) {
        return environment_.can_start();
      } else {
        return streaming_environment<E>;
      }
    }
    awaitable<command_result> run_command(command c) override { return environment_.run_command(std::move(c)); }
    awaitable<process> start(command c) override {
      if constexpr (streaming_environment<E>) {
        return environment_.start(std::move(c));
      } else {
        throw error(errc::unsupported, "start: this backend can only run commands to their end; use run_command");
      }
    }
    awaitable<bytes> read_file(std::string path, std::size_t most) override {
      return environment_.read_file(std::move(path), most);
    }
    awaitable<void> write_file(std::string path, bytes_view content) override {
      return environment_.write_file(std::move(path), content);
    }
    awaitable<entry> stat(std::string path) override { return cofferdam::stat(environment_, std::move(path)); }
    awaitable<std::vector<entry>> list(std::string path) override {
      return cofferdam::list(environment_, std::move(path));
    }
    awaitable<void> make_directory(std::string path) override {
      return cofferdam::make_directory(environment_, std::move(path));
    }
    awaitable<void> remove(std::string path) override { return cofferdam::remove(environment_, std::move(path)); }
    awaitable<void> rename(std::string from, std::string to) override {
      return cofferdam::rename(environment_, std::move(from), std::move(to));
    }
    awaitable<transfer> put_files(file_source& source) override { return cofferdam::put_files(environment_, source); }
    awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) override {
      return cofferdam::get_files(environment_, std::move(requests));
    }
    awaitable<void> close() override { return environment_.close(); }

   private:
    E environment_;
  };

  interface& get() const {
    if (!inside_)
      throw error(errc::environment_closed, "any_environment: there is none (default-constructed or moved from)");
    return *inside_;
  }

  std::unique_ptr<interface> inside_;
};

/// Any provider, chosen at run time; copies share the recipe. Layers stack on it: `any_provider{local()} | timeout(5s)`.
/// (Braces, not parentheses: `any_provider p(local())` declares a function.)
class any_provider {
 public:
  template <class P>
    requires(!std::same_as<P, any_provider> && code_exec_provider<P>)
  explicit any_provider(P provider) : inside_(std::make_shared<const box<P>>(std::move(provider))) {}

  awaitable<any_environment> open() const { return inside_->open(); }

 private:
  class interface {
   public:
    virtual ~interface() = default;
    virtual awaitable<any_environment> open() const = 0;
  };

  template <class P>
  class box final : public interface {
   public:
    explicit box(P provider) : provider_(std::move(provider)) {}
    awaitable<any_environment> open() const override {
      environment_of<P> environment = co_await provider_.open();
      co_return any_environment(std::move(environment));
    }

   private:
    P provider_;
  };

  std::shared_ptr<const interface> inside_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/format_result.hpp ----


#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <signal.h>

namespace cofferdam::inline v0 {

/// How `format_result` shows a result.
class format_options {
 public:
  format_options() = default;

  /// How many characters (code points) of each stream are shown, half from its start and half from its end.
  /// Counted before escaping and without the marker that stands where something was left out. 0 shows the marker only.
  format_options& limit(std::size_t characters) & noexcept {
    limit_ = characters;
    return *this;
  }
  format_options&& limit(std::size_t characters) && noexcept { return std::move(limit(characters)); }
  std::size_t limit() const noexcept { return limit_; }

  /// Characters of each stream that are shown where nothing else was said.
  static constexpr std::size_t default_limit = 20'000;

 private:
  std::size_t limit_ = default_limit;
};

namespace detail {

/// `SIGKILL` for 9; the number where the signal has no name of its own, as real-time ones have not.
inline std::string signal_name(int number) {
  switch (number) {
    case SIGHUP: return "SIGHUP";
    case SIGINT: return "SIGINT";
    case SIGQUIT: return "SIGQUIT";
    case SIGILL: return "SIGILL";
    case SIGTRAP: return "SIGTRAP";
    case SIGABRT: return "SIGABRT";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGKILL: return "SIGKILL";
    case SIGUSR1: return "SIGUSR1";
    case SIGSEGV: return "SIGSEGV";
    case SIGUSR2: return "SIGUSR2";
    case SIGPIPE: return "SIGPIPE";
    case SIGALRM: return "SIGALRM";
    case SIGTERM: return "SIGTERM";
    case SIGCHLD: return "SIGCHLD";
    case SIGCONT: return "SIGCONT";
    case SIGSTOP: return "SIGSTOP";
    case SIGTSTP: return "SIGTSTP";
    case SIGTTIN: return "SIGTTIN";
    case SIGTTOU: return "SIGTTOU";
    case SIGURG: return "SIGURG";
    case SIGXCPU: return "SIGXCPU";
    case SIGXFSZ: return "SIGXFSZ";
    case SIGVTALRM: return "SIGVTALRM";
    case SIGPROF: return "SIGPROF";
    case SIGSYS: return "SIGSYS";
    default: return std::to_string(number);
  }
}

/// \param utf8  valid UTF-8.
inline std::size_t count_code_points(std::string_view utf8) noexcept {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Where the code point number `count` of valid UTF-8 starts; its size where there are fewer.
inline std::size_t offset_of_code_point(std::string_view utf8, std::size_t count) noexcept {
  std::size_t offset = 0;
  while (offset < utf8.size()) {
    if ((static_cast<unsigned char>(utf8[offset]) & 0xC0) != 0x80 && count-- == 0) break;
    ++offset;
  }
  return offset;
}

inline void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default: out += c;
    }
  }
}

/// `<name>text</name>` and a line's end: one field of a rendered result. Nothing in a value can end it early.
class result_fields {
 public:
  explicit result_fields(std::size_t limit) : limit_(limit) {}

  /// \param text  a sentence of ours, which may quote a guest: any bytes. Bounded too, but not by the streams' limit.
  void add(std::string_view name, std::string_view text) {
    add(name, format_options::default_limit, printable_text(text), {}, text.size(), false);
  }

  void add(std::string_view name, const captured& stream) {
    add(name, limit_, printable_text(stream.head_text()), printable_text(stream.tail_text()), stream.total(),
        stream.cut() != 0);
  }

  std::string take() { return "<shell_results>\n" + out_ + "</shell_results>"; }

 private:
  // `start` is the whole text unless `is_cut`. The marker is a tag: `<` in guest text is escaped, so no output has one.
  void add(std::string_view name, std::size_t limit, std::string_view start, std::string_view end, std::uint64_t total,
           bool is_cut) {
    out_.append("<").append(name).append(">");
    const std::size_t start_length = count_code_points(start);
    const std::size_t end_length = count_code_points(end);
    if (start_length <= limit && end_length <= limit - start_length) {
      append_escaped(out_, start);
      if (is_cut) append_marker(total);
      append_escaped(out_, end);
    } else {
      if (!is_cut) end = start;
      const std::size_t end_count = is_cut ? end_length : start_length;
      const std::size_t shown_end = std::min(end_count, limit - std::min(limit / 2, start_length));
      const std::size_t shown_start = std::min(start_length, limit - shown_end);
      append_escaped(out_, start.substr(0, offset_of_code_point(start, shown_start)));
      append_marker(total);
      append_escaped(out_, end.substr(offset_of_code_point(end, end_count - shown_end)));
    }
    out_.append("</").append(name).append(">\n");
  }

  void append_marker(std::uint64_t total) {
    out_.append("\n<cut>part of the text is left out here; it had ")
        .append(std::to_string(total))
        .append(" bytes in all</cut>\n");
  }

  std::string out_;
  std::size_t limit_;
};

}  // namespace detail

/// Renders a result for a model to read:
///
/// ```
/// <shell_results>
/// <exit_code>0</exit_code>
/// <stdout>...</stdout>
/// <stderr>...</stderr>
/// </shell_results>
/// ```
///
/// Death by a signal is `<exit_code>-9</exit_code>` and `<signal>SIGKILL</signal>`. Where there is an `error_kind`, it
/// stands in place of these, with `<details>` (the reason), `<advice>` where there is some, and whichever of the two
/// streams had begun to arrive. A command that ran has `<advice>` last, where there is some.
///
/// Values are shown as `printable_text` makes them. Where the limit or the collector left something out stands
/// `<cut>part of the text is left out here; it had 1048576 bytes in all</cut>`, on a line of its own. `&`, `<` and `>`
/// are escaped in every value, so that no output can end its field, begin another or fake that mark.
/// \return      valid UTF-8 without control characters but line feeds and tabs; no line end at its end.
/// \par Cost    linear in what was kept.
/// \par Source  Stirrup's `format_result`, prior-art 1.3, with S7 and S34 mended.
inline std::string format_result(const command_result& result, format_options options = format_options()) {
  detail::result_fields fields(options.limit());
  if (result.kind() != error_kind::none) {
    fields.add("error_kind", to_string(result.kind()));
    fields.add("details", result.reason());
    if (!result.advice().empty()) fields.add("advice", result.advice());
    if (result.out().total() != 0) fields.add("stdout", result.out());
    if (result.err().total() != 0) fields.add("stderr", result.err());
    return fields.take();
  }
  if (result.term_signal() != 0) {
    fields.add("exit_code", std::to_string(-result.term_signal()));
    fields.add("signal", detail::signal_name(result.term_signal()));
  } else {
    fields.add("exit_code", std::to_string(result.exit_code()));
  }
  fields.add("stdout", result.out());
  fields.add("stderr", result.err());
  if (!result.advice().empty()) fields.add("advice", result.advice());
  return fields.take();
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/suspendable_environment.hpp ----


#include <string>

namespace cofferdam::inline v0 {

/// An environment that can stand still.
///
/// * `pause()` stops everything in it and keeps it; `resume()` lets it go on. Commands meanwhile wait.
/// * `snapshot()` keeps a copy of the file system and yields the name by which the backend's provider finds it again.
template <class E>
concept suspendable_environment = code_exec_environment<E> && requires(E& e) {
  { e.pause() } -> awaitable_of<void>;
  { e.resume() } -> awaitable_of<void>;
  { e.snapshot() } -> awaitable_of<std::string>;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/layer.hpp ----


#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

namespace detail {

/// Whether a layer left the base's member alone. One that writes its own has taken over a duty, and the operations that
/// would go round it are gone until it writes them too.
template <class D, class Base>
concept inherits_run_command =
    requires { requires std::same_as<decltype(&D::run_command), awaitable<command_result> (Base::*)(command)>; };
template <class D, class Base>
concept inherits_read_file =
    requires { requires std::same_as<decltype(&D::read_file), awaitable<bytes> (Base::*)(std::string, std::size_t)>; };
template <class D, class Base>
concept inherits_write_file =
    requires { requires std::same_as<decltype(&D::write_file), awaitable<void> (Base::*)(std::string, bytes_view)>; };

inline awaitable<command_result> ready(command_result result) { co_return result; }
inline awaitable<process> ready_process(command_result result) { co_return process::finished(std::move(result)); }

}  // namespace detail

/// An environment around another: what middleware derives from.
///
/// A layer writes one hook, `std::optional<command_result> admit(command&)`, which may edit the command or refuse it
/// with a result; `run_command` and `start` both ask it. Everything else is forwarded. Nothing here is a coroutine: a
/// layer that only admits adds no frame and no allocation.
///
/// A layer that must await writes the operations themselves. One that writes `run_command` loses `start` until it
/// writes that too; one that writes `read_file` loses `stat`, `list` and `get_files`; one that writes `write_file`
/// loses `make_directory`, `remove`, `rename` and `put_files`. So nothing goes round it by being forgotten.
///
/// A layer with `awaitable<void> prepare()` has it awaited once, by the provider's `open()`; where that throws, the
/// environment is closed.
template <class Derived, code_exec_environment Inner>
class layer : public detail::layer_tag {
 public:
  explicit layer(Inner inner) : inner_(std::move(inner)) {}

  /// Admits everything; a layer hides this with its own.
  std::optional<command_result> admit(command&) { return std::nullopt; }

  awaitable<command_result> run_command(command c) {
    if (std::optional<command_result> refusal = derived().admit(c)) return detail::ready(std::move(*refusal));
    return inner_.run_command(std::move(c));
  }

  template <class D = Derived>
    requires(streaming_environment<Inner> && detail::inherits_run_command<D, layer>)
  awaitable<process> start(command c) {
    if (std::optional<command_result> refusal = derived().admit(c)) return detail::ready_process(std::move(*refusal));
    return inner_.start(std::move(c));
  }

  awaitable<bytes> read_file(std::string path, std::size_t most) { return inner_.read_file(std::move(path), most); }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inner_.write_file(std::move(path), content);
  }

  template <class D = Derived>
    requires detail::inherits_read_file<D, layer>
  awaitable<entry> stat(std::string path) {
    return cofferdam::stat(inner_, std::move(path));
  }
  template <class D = Derived>
    requires detail::inherits_read_file<D, layer>
  awaitable<std::vector<entry>> list(std::string path) {
    return cofferdam::list(inner_, std::move(path));
  }
  template <class D = Derived>
    requires detail::inherits_write_file<D, layer>
  awaitable<void> make_directory(std::string path) {
    return cofferdam::make_directory(inner_, std::move(path));
  }
  template <class D = Derived>
    requires detail::inherits_write_file<D, layer>
  awaitable<void> remove(std::string path) {
    return cofferdam::remove(inner_, std::move(path));
  }
  template <class D = Derived>
    requires detail::inherits_write_file<D, layer>
  awaitable<void> rename(std::string from, std::string to) {
    return cofferdam::rename(inner_, std::move(from), std::move(to));
  }

  template <class D = Derived>
    requires detail::inherits_write_file<D, layer>
  awaitable<transfer> put_files(file_source& source) {
    return cofferdam::put_files(inner_, source);
  }
  template <class D = Derived>
    requires detail::inherits_read_file<D, layer>
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return cofferdam::get_files(inner_, std::move(requests));
  }

  awaitable<void> pause()
    requires suspendable_environment<Inner>
  {
    return inner_.pause();
  }
  awaitable<void> resume()
    requires suspendable_environment<Inner>
  {
    return inner_.resume();
  }
  awaitable<std::string> snapshot()
    requires suspendable_environment<Inner>
  {
    return inner_.snapshot();
  }

  awaitable<void> close() { return inner_.close(); }

 protected:
  /// What is wrapped. Never public: nothing goes round a layer.
  Inner& inner() noexcept { return inner_; }

 private:
  Derived& derived() noexcept { return static_cast<Derived&>(*this); }

  Inner inner_;
};

/// The base of the recipe of a layer. The recipe has one member, `attach(inner)`, which yields the wrapped environment.
class pipeable {};

namespace detail {

template <class L, class E>
concept attaches = requires(const L& recipe, E inner) {
  { recipe.attach(std::move(inner)) } -> code_exec_environment;
};

template <class E>
concept prepares = requires(E& environment) {
  { environment.prepare() } -> awaitable_of<void>;
};

}  // namespace detail

/// A recipe that fits around an environment of type `E`.
template <class L, class E>
concept layer_for = std::derived_from<L, pipeable> && std::copy_constructible<L> && detail::attaches<L, E>;

/// What `provider | recipe` makes: a provider whose environments are wrapped.
template <code_exec_provider Provider, layer_for<environment_of<Provider>> Recipe>
class layered_provider {
 public:
  using environment = decltype(std::declval<const Recipe&>().attach(std::declval<environment_of<Provider>>()));

  layered_provider(Provider provider, Recipe recipe) : provider_(std::move(provider)), recipe_(std::move(recipe)) {}

  /// Opens the provider and wraps its environment.
  awaitable<environment> open() const { return open_with(provider_, recipe_); }

 private:
  static awaitable<environment> open_with(Provider provider, Recipe recipe) {
    environment_of<Provider> inner = co_await provider.open();
    environment wrapped = recipe.attach(std::move(inner));
    if constexpr (detail::prepares<environment>) {
      std::exception_ptr failure;
      try {
        co_await wrapped.prepare();
      } catch (...) {
        failure = std::current_exception();
      }
      if (failure) {
        const bool throws = co_await asio::this_coro::throw_if_cancelled();
        co_await asio::this_coro::throw_if_cancelled(false);
        co_await detail::shielded([&wrapped] { return wrapped.close(); });
        co_await asio::this_coro::throw_if_cancelled(throws);
        std::rethrow_exception(failure);
      }
    }
    co_return wrapped;
  }

  Provider provider_;
  Recipe recipe_;
};

/// Two recipes as one: `allow_commands("ls") | timeout(5s)`. The first is the inner one.
template <std::derived_from<pipeable> Inner, std::derived_from<pipeable> Outer>
class combined_layers : public pipeable {
 public:
  combined_layers(Inner inner, Outer outer) : inner_(std::move(inner)), outer_(std::move(outer)) {}

  const Inner& inner() const noexcept { return inner_; }
  const Outer& outer() const noexcept { return outer_; }

 private:
  Inner inner_;
  Outer outer_;
};

/// Wraps every environment of a provider. The recipe on the right is the outer one: it sees a command first.
template <code_exec_provider Provider, layer_for<environment_of<Provider>> Recipe>
layered_provider<Provider, Recipe> operator|(Provider provider, Recipe recipe) {
  return {std::move(provider), std::move(recipe)};
}

/// Joins two recipes.
template <std::derived_from<pipeable> Inner, std::derived_from<pipeable> Outer>
combined_layers<Inner, Outer> operator|(Inner inner, Outer outer) {
  return {std::move(inner), std::move(outer)};
}

/// Wraps every environment of a provider in both of two joined recipes.
template <code_exec_provider Provider, class Inner, class Outer>
auto operator|(Provider provider, combined_layers<Inner, Outer> recipes) {
  return std::move(provider) | recipes.inner() | recipes.outer();
}

/// A narrower view of an open environment: `std::move(environment) | allow_commands("ls")`. Closing it closes that.
template <code_exec_environment Environment, layer_for<Environment> Recipe>
  requires(!detail::prepares<decltype(std::declval<const Recipe&>().attach(std::declval<Environment>()))>)
auto operator|(Environment environment, Recipe recipe) {
  return recipe.attach(std::move(environment));
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/rethrow_cancellation.hpp ----


#include <asio/error.hpp>

#include <string>
#include <system_error>

namespace cofferdam::inline v0::detail {

/// A cancellation that Asio found before an operation of ours could, as everything else in the library reports it.
/// \param sentence  for error{errc::cancelled}.
[[noreturn]] inline void rethrow_cancellation(const std::system_error& failure, const std::string& sentence) {
  if (failure.code() == asio::error::operation_aborted) throw error(errc::cancelled, sentence, failure.code());
  throw failure;
}

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/core/shell_words.hpp ----


#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// Why a line is not one simple command with literal words.
enum class shell_refusal {
  none,              ///< it is one
  empty_command,     ///< no words, or a program without a name
  shell_syntax,      ///< something the shell would act on, or an unfinished quote
  shell_assignment,  ///< a `=` in the program's place: `NAME=value program`
  unsafe_text,       ///< NUL, broken UTF-8, or characters that make a text look like another one
  too_long,          ///< more than 64 KiB, or more than 4096 words
};

/// The refusal as one word.
inline std::string_view to_string(shell_refusal reason) noexcept {
  switch (reason) {
    case shell_refusal::none: return "none";
    case shell_refusal::empty_command: return "empty_command";
    case shell_refusal::shell_syntax: return "shell_syntax";
    case shell_refusal::shell_assignment: return "shell_assignment";
    case shell_refusal::unsafe_text: return "unsafe_text";
    case shell_refusal::too_long: return "too_long";
  }
  return "unknown";
}

/// What `split_shell_words` found: the words, or why there are none.
class parsed_words {
 public:
  /// An accepted line.
  static parsed_words accepted(std::vector<std::string> words) {
    parsed_words result;
    result.reason_ = shell_refusal::none;
    result.words_ = std::move(words);
    return result;
  }

  /// A refused line.
  /// \param reason     why; not `none`.
  /// \param position   byte offset of the offending construct in the line.
  /// \param construct  its name, a string literal: "';'", "a tilde the shell expands".
  static parsed_words refused(shell_refusal reason, std::size_t position, std::string_view construct) {
    parsed_words result;
    result.reason_ = reason;
    result.position_ = position;
    result.construct_ = construct;
    return result;
  }

  bool ok() const noexcept { return reason_ == shell_refusal::none; }
  /// The program and its arguments, as `execve` takes them; never empty where `ok()`, empty where not.
  const std::vector<std::string>& words() const& noexcept { return words_; }
  std::vector<std::string> words() && { return std::move(words_); }

  shell_refusal reason() const noexcept { return reason_; }
  /// Byte offset of what was refused; 0 where `ok()`.
  std::size_t position() const noexcept { return position_; }
  /// What was refused, in a few words of ours (static text, ASCII); empty where `ok()`.
  std::string_view construct() const noexcept { return construct_; }

 private:
  parsed_words() = default;

  std::vector<std::string> words_;
  shell_refusal reason_ = shell_refusal::none;
  std::size_t position_ = 0;
  std::string_view construct_;
};

/// The longest line `split_shell_words` reads, in bytes.
inline constexpr std::size_t longest_shell_line = 64 * 1024;
/// The largest number of words it yields.
inline constexpr std::size_t most_shell_words = 4096;

namespace detail {

// Turns the direction of the text around it: what is read is not what is run.
constexpr bool is_bidi_control(char32_t c) noexcept {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// Looks like a blank, a line break or nothing at all, and is none of the shell's blanks.
constexpr bool is_invisible(char32_t c) noexcept {
  return (c >= 0x80 && c <= 0xA0) || c == 0xAD || c == 0x115F || c == 0x1160 || c == 0x1680 || c == 0x180E ||
         (c >= 0x2000 && c <= 0x200D) || c == 0x2028 || c == 0x2029 || c == 0x202F || (c >= 0x205F && c <= 0x2064) ||
         (c >= 0x206A && c <= 0x206F) || c == 0x2800 || c == 0x3000 || c == 0x3164 || c == 0xFEFF || c == 0xFFA0 ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

// Looks like an operator or a quote: the full-width forms of ; | & < > ( ) $ ` \ " ' and the Greek question mark.
constexpr bool is_operator_look_alike(char32_t c) noexcept {
  switch (c) {
    case 0x037E:
    case 0xFF02:
    case 0xFF04:
    case 0xFF06:
    case 0xFF07:
    case 0xFF08:
    case 0xFF09:
    case 0xFF1B:
    case 0xFF1C:
    case 0xFF1E:
    case 0xFF3C:
    case 0xFF40:
    case 0xFF5C: return true;
    default: return false;
  }
}

// Names that bash reads as grammar, or whose arguments it reads by other rules, when they stand in the program's place.
inline bool is_shell_keyword(std::string_view word) noexcept {
  static constexpr std::string_view names[] = {
      "!",    "[[",   "]]",    "{",        "}",      "alias",  "case", "coproc",  "declare",  "do",
      "done", "elif", "else",  "esac",     "eval",   "export", "fi",   "for",     "function", "if",
      "in",   "let",  "local", "readonly", "select", "then",   "time", "typeset", "until",    "while"};
  for (const std::string_view name : names) {
    if (word == name) return true;
  }
  return false;
}

// One pass over one line. Every byte is looked at once, apart from a character of lookahead.
class shell_word_splitter {
 public:
  explicit shell_word_splitter(std::string_view line) : line_(line) {}

  parsed_words split() {
    if (line_.size() > longest_shell_line)
      return parsed_words::refused(shell_refusal::too_long, longest_shell_line, "a line of more than 64 KiB");
    while (!failure_ && at_ < line_.size()) read_unquoted();
    if (!failure_) finish_word();
    if (failure_) return std::move(*failure_);
    if (words_.empty()) return parsed_words::refused(shell_refusal::empty_command, 0, "a line without words");
    return parsed_words::accepted(std::move(words_));
  }

 private:
  void refuse(shell_refusal reason, std::size_t position, std::string_view construct) {
    if (!failure_) failure_ = parsed_words::refused(reason, position, construct);
  }
  void refuse_syntax(std::string_view construct) { refuse(shell_refusal::shell_syntax, at_, construct); }

  bool at_end(std::size_t ahead) const noexcept { return at_ + ahead >= line_.size(); }
  char peek(std::size_t ahead) const noexcept { return line_[at_ + ahead]; }

  void begin_word() {
    if (in_word_) return;
    in_word_ = true;
    word_start_ = at_;
  }

  // A character that stands for itself because something quotes it.
  void take_quoted(char c) {
    word_.push_back(c);
    follows_dot_ = false;
    ++at_;
  }

  // A character that stands for itself without being quoted.
  void take_plain(char c) {
    begin_word();
    if (c == ',' || (c == '.' && follows_dot_)) has_brace_separator_ = true;
    follows_dot_ = c == '.';
    word_.push_back(c);
    ++at_;
  }

  void read_unquoted() {
    const char c = peek(0);
    switch (c) {
      case ' ':
      case '\t':
        finish_word();
        ++at_;
        return;
      case '\\': return read_escaped();
      case '\'': return read_single_quoted();
      case '"': return read_double_quoted();
      case ';': return refuse_syntax("';'");
      case '&': return refuse_syntax("'&'");
      case '|': return refuse_syntax("'|'");
      case '<': return refuse_syntax("'<'");
      case '>': return refuse_syntax("'>'");
      case '(': return refuse_syntax("'('");
      case ')': return refuse_syntax("')'");
      case '`': return refuse_syntax("a backtick");
      case '*': return refuse_syntax("'*' (the shell would look for files)");
      case '?': return refuse_syntax("'?' (the shell would look for files)");
      case '[': return refuse_syntax("'[' (the shell would look for files)");
      case '\n': return refuse_syntax("a line break");
      case '$':
        if (at_end(1) || peek(1) == ' ' || peek(1) == '\t') return take_plain(c);  // bash leaves it as it is
        return refuse_syntax("'$'");
      case '#':
        if (!in_word_) return refuse_syntax("a comment");
        return take_plain(c);
      case '~':
        if (word_.empty() || word_.back() == '=' || word_.back() == ':')
          return refuse_syntax("'~' (the shell would put a home directory there)");
        return take_plain(c);
      case '{':
        if (!has_brace_) brace_ = at_;
        has_brace_ = true;
        return take_plain(c);
      case '!':
        if (words_.empty() && !in_word_) return refuse_syntax("'!'");
        return take_plain(c);
      default: break;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) return refuse_character();
    if (byte < 0x80) return take_plain(c);
    const utf8_unit unit = decode_utf8(line_.substr(at_));
    if (!unit.valid() || is_bidi_control(unit.code_point())) return refuse_character();
    if (is_invisible(unit.code_point()))
      return refuse_syntax("an unquoted character that looks like a blank or like nothing");
    if (is_operator_look_alike(unit.code_point()))
      return refuse_syntax("an unquoted character that looks like an operator");
    for (std::size_t i = 0; i < unit.size(); ++i) take_plain(peek(0));
  }

  // At a byte below 0x20, at DEL, or at a character that may stand nowhere.
  void refuse_character() {
    const auto byte = static_cast<unsigned char>(peek(0));
    if (byte == 0) return refuse(shell_refusal::unsafe_text, at_, "a NUL byte");
    if (byte < 0x20 || byte == 0x7F) return refuse_syntax("an unquoted control character");
    if (decode_utf8(line_.substr(at_)).valid())
      return refuse(shell_refusal::unsafe_text, at_, "a character that changes the direction of text");
    refuse(shell_refusal::unsafe_text, at_, "bytes that are not UTF-8");
  }

  void read_escaped() {
    if (at_end(1)) return refuse_syntax("a backslash at the end");
    const auto next = static_cast<unsigned char>(peek(1));
    if (next == '\n') {  // joins two lines: neither character is there, not even as the start of a word
      at_ += 2;
      return;
    }
    begin_word();
    ++at_;
    if (next < 0x20 || next == 0x7F) return refuse_character();
    take_quoted_character();
  }

  // One character between quotes or behind a backslash.
  void take_quoted_character() {
    const char c = peek(0);
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return refuse_character();
    if (byte == 0x01 || byte == 0x7F)  // bash marks quoted text with these two, and has stumbled over them
      return refuse_syntax("the control character 0x01 or 0x7F");
    if (byte < 0x80) return take_quoted(c);
    const utf8_unit unit = decode_utf8(line_.substr(at_));
    if (!unit.valid() || is_bidi_control(unit.code_point())) return refuse_character();
    for (std::size_t i = 0; i < unit.size(); ++i) take_quoted(peek(0));
  }

  void read_single_quoted() {
    begin_word();
    const std::size_t open = at_++;
    follows_dot_ = false;
    while (!at_end(0) && peek(0) != '\'') {
      take_quoted_character();
      if (failure_) return;
    }
    if (at_end(0)) return refuse(shell_refusal::shell_syntax, open, "a single quote without an end");
    ++at_;
  }

  void read_double_quoted() {
    begin_word();
    const std::size_t open = at_++;
    follows_dot_ = false;
    while (!at_end(0) && peek(0) != '"') {
      const char c = peek(0);
      if (c == '`') return refuse_syntax("a backtick inside double quotes");
      if (c == '$' && !is_literal_dollar()) return refuse_syntax("'$' inside double quotes");
      if (c == '\\' && !at_end(1)) {
        const char next = peek(1);
        if (next == '\n') {
          at_ += 2;
          continue;
        }
        if (next == '$' || next == '`' || next == '"' || next == '\\') {
          ++at_;
          take_quoted(next);
          continue;
        }
      }
      take_quoted_character();
      if (failure_) return;
    }
    if (at_end(0)) return refuse(shell_refusal::shell_syntax, open, "a double quote without an end");
    ++at_;
  }

  // Inside double quotes, bash leaves a '$' before these alone; regular expressions need them.
  bool is_literal_dollar() const noexcept {
    return !at_end(1) && std::string_view("\" |)/,").find(peek(1)) != std::string_view::npos;
  }

  void finish_word() {
    if (!in_word_ || failure_) return;
    if (has_brace_ && has_brace_separator_)
      return refuse(shell_refusal::shell_syntax, brace_, "'{' (the shell would make several words of this one)");
    if (words_.empty()) check_program();
    if (words_.size() == most_shell_words) refuse(shell_refusal::too_long, word_start_, "more than 4096 words");
    if (failure_) return;
    words_.push_back(std::move(word_));
    word_.clear();
    in_word_ = follows_dot_ = has_brace_ = has_brace_separator_ = false;
  }

  // What may not stand first is refused in quotes too, so that the canonical text is as harmless as the line.
  void check_program() {
    if (word_.empty()) return refuse(shell_refusal::empty_command, word_start_, "a program without a name");
    if (word_.find('=') != std::string::npos)
      return refuse(shell_refusal::shell_assignment, word_start_, "'=' in the program's place");
    if (is_shell_keyword(word_))
      return refuse(shell_refusal::shell_syntax, word_start_, "a word of the shell's own in the program's place");
    if (word_.front() == '%') return refuse(shell_refusal::shell_syntax, word_start_, "'%' (a job of the shell)");
  }

  std::string_view line_;
  std::size_t at_ = 0;
  std::vector<std::string> words_;
  std::optional<parsed_words> failure_;

  std::string word_;
  std::size_t word_start_ = 0;
  std::size_t brace_ = 0;
  bool in_word_ = false;
  bool follows_dot_ = false;          // the last character of the word is an unquoted '.'
  bool has_brace_ = false;            // the word has an unquoted '{'
  bool has_brace_separator_ = false;  // the word has an unquoted ',' or '..'
};

}  // namespace detail

/// Splits one simple command into the words bash would run, or refuses it.
///
/// For every accepted line the words are exactly the argument vector of `bash -c -- line`, whatever files there are, in
/// a UTF-8 or the C locale, with the shell options bash starts with (`SHELLOPTS=keyword` in its environment would move
/// `A=b` arguments). So everything is refused that a shell acts on: operators, redirections, expansions,
/// globs, braces that multiply a word, `~` where it is expanded, comments, assignments, keywords and the builtins with
/// word rules of their own in the program's place (even quoted), unfinished quotes. Refused too: what misleads a reader
/// (direction controls anywhere; unquoted control characters, blanks of other scripts, full-width operators).
///
/// ```
/// command ::= [ blank ] word { blank word } [ blank ]
/// blank   ::= ( SPACE | TAB ) { SPACE | TAB }
/// word    ::= part { part }
/// part    ::= plain | '\' character | "'" { not "'" } "'" | '"' { inner } '"'
/// inner   ::= '\' ( '$' | '`' | '"' | '\' ) | '\' | '$' before one of `" |)/,` | other than '$', '`', '"'
/// ```
/// A backslash before a line break joins the two lines, outside quotes and inside double quotes.
///
/// \param  line  one command; any bytes, at most 64 KiB are read as UTF-8. Seen, not kept.
/// \return       the words, or the reason, with the offset and the name of what was refused.
/// \throws       nothing but `std::bad_alloc`.
/// \par Cost     linear in the line; no recursion.
/// \par Source   POSIX.1-2017 2.2, 2.3, 2.10; bash 5.2 "Shell Grammar", "Quoting", "Expansion". Proven against bash by
///               tests/core/shell_words_bash_test.cpp.
inline parsed_words split_shell_words(std::string_view line) { return detail::shell_word_splitter(line).split(); }

/// The word as a shell would have to be given it: unchanged if it has only letters, digits and `_@%+=:,./-`, else in
/// single quotes, with `'"'"'` for a single quote. The same text as Python's `shlex.quote`.
/// \param  word  any bytes without NUL.
inline std::string quote_shell_word(std::string_view word) {
  const auto is_safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
  };
  bool safe = !word.empty();
  for (const char c : word) safe = safe && is_safe(c);
  if (safe) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\"'\"'";
    else
      quoted.push_back(c);
  }
  quoted.push_back('\'');
  return quoted;
}

/// The canonical text of a command: its words, each through `quote_shell_word`, with one space between them. The same
/// text as Python's `shlex.join`; `split_shell_words` reads it back into the same words.
inline std::string join_shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text.push_back(' ');
    text += quote_shell_word(word);
  }
  return text;
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/stream_output.hpp ----


#include <asio/this_coro.hpp>

#include <concepts>
#include <csignal>
#include <exception>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0 {

namespace detail {

inline awaitable<void> kill_and_wait(process& running) {
  try {
    co_await running.signal(SIGKILL);
    co_await running.wait();
  } catch (const error&) {  // it ended otherwise, or was lost: why we are here is what the caller is to know
  }
}

}  // namespace detail

/// Runs a command and hands over each piece of its output as it comes.
///
/// While `on_output` works, the command waits once its pipe is full. Where `on_output` throws, the command is ended and
/// the exception arrives here.
/// \param environment  kept by the caller until the awaitable completes.
/// \param on_output    called with `const chunk&`, never with an empty one.
/// \return             what `run_command` would return.
/// \par Cancellation   terminal: the command is ended, then `error{errc::cancelled}`.
template <streaming_environment E, std::invocable<const chunk&> OnOutput>
awaitable<command_result> stream_output(E& environment, command c, OnOutput on_output) {
  process running = co_await environment.start(std::move(c));
  std::exception_ptr failure;
  command_result result;
  try {
    for (;;) {
      chunk piece = co_await running.read();
      if (piece.end()) break;
      on_output(std::as_const(piece));
    }
    result = co_await running.wait();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return result;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await detail::shielded([&running] { return detail::kill_and_wait(running); });
  co_await asio::this_coro::throw_if_cancelled(throws);
  try {
    std::rethrow_exception(failure);
  } catch (const error&) {
    throw;
  } catch (const std::system_error& reason) {
    detail::rethrow_cancellation(reason, "stream_output: cancelled; the command was ended");
  }
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/core/with_environment.hpp ----


#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace cofferdam::inline v0 {

/// Opens an environment, runs `body(environment)` with it, closes it whatever happened, and returns what the body
/// returned. Prefer this to `open()` and `close()` by hand.
///
/// **Capture by reference in a body written on the spot** (`[&](auto& env) -> awaitable<void> {…}`): g++ 12 destroys a
/// by-value capture of such a temporary twice. A body with captures by value is named first, then moved in.
///
/// The environment stays at one address for the whole run of the body. Where the body and the closing both throw, the
/// body's exception is the one that arrives.
/// \param provider    the recipe, by value: temporaries are welcome.
/// \param body        takes a reference to the environment, yields `awaitable<T>`; T is void or movable.
/// \throws            what `open()`, the body or `close()` throws.
/// \par Cancellation  is passed to `open()` and to the body; closing is not cancelled.
/// \par Example       examples/quickstart.cpp
template <code_exec_provider Provider, class Body>
  requires std::invocable<Body&, environment_of<Provider>&>
auto with_environment(Provider provider, Body body) -> std::invoke_result_t<Body&, environment_of<Provider>&> {
  using result = typename detail::awaited<std::invoke_result_t<Body&, environment_of<Provider>&>>::type;
  environment_of<Provider> environment = co_await provider.open();
  std::exception_ptr failure;
  std::conditional_t<std::is_void_v<result>, bool, std::optional<result>> value{};
  try {
    if constexpr (std::is_void_v<result>) {
      co_await body(environment);
    } else {
      result returned = co_await body(environment);
      value.emplace(std::move(returned));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  try {
    co_await detail::shielded([&environment] { return environment.close(); });
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
  if constexpr (!std::is_void_v<result>) co_return std::move(*value);
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/files/file_set.hpp ----


#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// How a text names files.
enum class file_naming {
  automatic,  ///< exactly what it says where that exists; else, where it has `*`, `?` or `[`, a pattern
  exact,      ///< exactly what it says
  pattern,    ///< a pattern, as `glob` has them
};

/// One part of a `file_set`.
class file_item {
 public:
  file_item(std::string text, file_naming naming) : text_(std::move(text)), naming_(naming) {}
  const std::string& text() const noexcept { return text_; }
  file_naming naming() const noexcept { return naming_; }

 private:
  std::string text_;
  file_naming naming_;
};

/// Which files are to be moved, and where to: `files("data.csv", "input dir/", "logs/**/*.txt").into("inputs")`.
///
/// A value, made by `files()`. On the host a path may be absolute or start at the current directory, and may have `..`;
/// in a workspace it is relative to that.
///
/// | named | arrives as |
/// |---|---|
/// | a file `a/b.csv` | `b.csv` |
/// | a directory `a/dir`, `a/dir/` | `dir/…`; with `into(x)` its contents as `x/…` |
/// | a pattern `a/**/b*` | each match under its path below `a`, the folder before the first part that is a pattern |
///
/// All of it beneath `into()`, where that is given. A matching directory comes with all it holds, except at the end of
/// `**`, which matches that one by one. `download` differs in one thing: it keeps the whole path in the workspace.
///
/// A link that is named itself is followed and keeps its own name. Links found in a directory or by a pattern are not
/// followed, and reported as `errc::not_a_file`, unless `follow_symlinks()` was said. Empty directories and permission
/// bits (0777) are kept. What is named twice is moved once.
class file_set {
 public:
  /// Total bytes where `at_most` was not said: 16 GiB.
  static constexpr std::uint64_t default_bytes = std::uint64_t{16} * 1024 * 1024 * 1024;
  /// Number of files and directories where `at_most_files` was not said.
  static constexpr std::size_t default_files = 1'000'000;

  /// Nothing.
  file_set() = default;

  /// Adds what a plain text names.
  file_set& add(std::string text) & {
    items_.emplace_back(std::move(text), file_naming::automatic);
    return *this;
  }
  file_set&& add(std::string text) && { return std::move(add(std::move(text))); }

  /// Adds exactly this file or directory, whatever characters its name has.
  file_set& exactly(std::string path) & {
    items_.emplace_back(std::move(path), file_naming::exact);
    return *this;
  }
  file_set&& exactly(std::string path) && { return std::move(exactly(std::move(path))); }

  /// Adds all that matches a pattern, as `glob` has them.
  file_set& matching(std::string pattern) & {
    items_.emplace_back(std::move(pattern), file_naming::pattern);
    return *this;
  }
  file_set&& matching(std::string pattern) && { return std::move(matching(std::move(pattern))); }

  /// The directory on the receiving side that all goes to; made where it is missing. "." is its root.
  /// \param  directory  relative, without `..`.
  /// \throws            error{errc::outside_workspace, invalid_argument}.
  file_set& into(std::string directory) & {
    into_ = workspace_path_or_root(directory);
    return *this;
  }
  file_set&& into(std::string directory) && { return std::move(into(std::move(directory))); }

  /// Follows symbolic links found in directories and by patterns, too. On the host they may lead anywhere; in a
  /// workspace they lead to files in it, and links to directories are still reported.
  file_set& follow_symlinks() & {
    follows_symlinks_ = true;
    return *this;
  }
  file_set&& follow_symlinks() && { return std::move(follow_symlinks()); }

  /// Limits the total size. A set that is larger throws `error{errc::too_large}` before anything is written; a file
  /// that grows past it meanwhile fails.
  file_set& at_most(std::uint64_t bytes) & {
    most_bytes_ = bytes;
    return *this;
  }
  file_set&& at_most(std::uint64_t bytes) && { return std::move(at_most(bytes)); }

  /// Limits the number of files and directories, failed ones included; more throw `error{errc::too_large}` before
  /// anything is written.
  file_set& at_most_files(std::size_t count) & {
    most_files_ = count;
    return *this;
  }
  file_set&& at_most_files(std::size_t count) && { return std::move(at_most_files(count)); }

  const std::vector<file_item>& items() const noexcept { return items_; }
  const std::optional<std::string>& into() const noexcept { return into_; }
  bool follows_symlinks() const noexcept { return follows_symlinks_; }
  std::uint64_t most_bytes() const noexcept { return most_bytes_; }
  std::size_t most_files() const noexcept { return most_files_; }

 private:
  std::vector<file_item> items_;
  std::optional<std::string> into_;
  bool follows_symlinks_ = false;
  std::uint64_t most_bytes_ = default_bytes;
  std::size_t most_files_ = default_files;
};

/// A set of files, directories and patterns: `files("report.md", "plots/*.png")`. See `file_set` for what it says.
/// \param items  `/`-separated, any bytes but NUL; a `std::filesystem::path` does, too.
template <std::convertible_to<std::string>... Items>
  requires(sizeof...(Items) > 0)
file_set files(Items&&... items) {
  file_set set;
  (set.add(std::forward<Items>(items)), ...);
  return set;
}

/// The same from a list made at run time.
inline file_set files(std::vector<std::string> items) {
  file_set set;
  for (std::string& item : items) set.add(std::move(item));
  return set;
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/files/detail/file_plan.hpp ----


#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

/// One file or directory that is to be moved, or the reason why it cannot be.
class planned_file {
 public:
  planned_file(std::string source, std::string destination, file_type type, std::uint64_t size, unsigned mode)
      : source_(std::move(source)), destination_(std::move(destination)), type_(type), size_(size), mode_(mode) {}
  planned_file(std::string source, error failure) : source_(std::move(source)), failure_(std::move(failure)) {}

  const std::string& source() const noexcept { return source_; }
  const std::string& destination() const noexcept { return destination_; }
  bool is_directory() const noexcept { return type_ == file_type::directory; }
  file_type type() const noexcept { return type_; }
  std::uint64_t size() const noexcept { return size_; }
  unsigned mode() const noexcept { return mode_; }
  const std::optional<error>& failure() const noexcept { return failure_; }

  /// How the source is opened: beneath a held directory, or, where there is none, by its path as it is.
  planned_file& opened_as(std::string path, std::shared_ptr<const directory> beneath = nullptr) {
    path_ = std::move(path);
    beneath_ = std::move(beneath);
    return *this;
  }
  const std::string& path() const noexcept { return path_.empty() ? source_ : path_; }
  const std::shared_ptr<const directory>& beneath() const noexcept { return beneath_; }

 private:
  std::string source_;
  std::string destination_;
  file_type type_ = file_type::other;
  std::uint64_t size_ = 0;
  unsigned mode_ = 0;
  std::optional<error> failure_;
  std::string path_;
  std::shared_ptr<const directory> beneath_;
};

/// A path as a file system sees it that does not tell upper from lower case: the letters of Latin, Greek and Cyrillic.
inline std::string folded(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  while (!path.empty()) {
    const utf8_unit unit = decode_utf8(path);
    if (!unit.valid()) {
      out += path.front();
      path.remove_prefix(1);
      continue;
    }
    char32_t c = unit.code_point();
    path.remove_prefix(unit.size());
    if ((c >= U'A' && c <= U'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) ||
        (c >= 0x410 && c <= 0x42F))
      c += 0x20;
    else if (c >= 0x400 && c <= 0x40F)
      c += 0x50;
    else if ((c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177) || (c >= 0x1E00 && c <= 0x1EFF))
      c |= 1;
    append_utf8(out, c);
  }
  return out;
}

/// Everything that is to be moved, known before anything is.
class file_plan {
 public:
  /// Whether two sources of different spelling are one file; null where spellings are unique.
  using same_source = bool (*)(const std::string&, const std::string&);

  explicit file_plan(const file_set& set, same_source same = nullptr)
      : same_(same), most_bytes_(set.most_bytes()), most_files_(set.most_files()) {}

  /// Takes what is to be moved; what is there already is left out.
  /// \throws error{errc::too_large} when the set is larger than it may be; error{errc::collision} where two files would
  ///         have one destination.
  void add(planned_file file) {
    if (!file.failure()) {
      try {
        static_cast<void>(workspace_path(file.destination()));
      } catch (const error& refusal) {
        file = planned_file(file.source(), refusal);
      }
    }
    if (file.failure()) {
      if (failed_.contains(file.source())) return;
    } else if (const auto other = taken_.find(file.destination()); other != taken_.end()) {
      if (!is_same(file, files_[other->second])) throw collision(file, files_[other->second]);
      return;
    }
    if (files_.size() == most_files_)
      throw error(errc::too_large, "these are more than the " + std::to_string(most_files_) +
                                       " files that were allowed; name fewer, or allow more with at_most_files()");
    if (file.size() > most_bytes_ - bytes_)
      throw error(errc::too_large, "these are more than the " + std::to_string(most_bytes_) +
                                       " bytes that were allowed; name fewer, or allow more with at_most()");
    bytes_ += file.size();
    if (file.failure())
      failed_.insert(file.source());
    else
      taken_.emplace(file.destination(), files_.size());
    files_.push_back(std::move(file));
  }
  void add_failure(std::string source, error reason) { add(planned_file(std::move(source), std::move(reason))); }

  /// Drops directories that come by themselves with what they hold. The last step.
  /// \throws error{errc::collision} where a file would stand where another needs a directory.
  void settle() {
    std::unordered_set<std::string_view> filled;
    for (const auto& [path, index] : taken_) {
      const std::string_view destination = path;
      for (std::size_t slash = destination.rfind('/'); slash != std::string_view::npos;
           slash = destination.rfind('/', slash - 1)) {
        const std::string_view above = destination.substr(0, slash);
        const auto other = taken_.find(std::string(above));
        if (other != taken_.end() && !files_[other->second].is_directory())
          throw collision(files_[index], files_[other->second]);
        if (!filled.insert(above).second) break;
      }
    }
    constexpr unsigned default_mode = 0755;  // what a receiver gives the folders above a file
    std::erase_if(files_, [&](const planned_file& file) {
      return !file.failure() && file.is_directory() && file.mode() == default_mode &&
             filled.contains(file.destination());
    });
    taken_.clear();
    failed_.clear();
  }

  /// The first two destinations that differ only in case; nothing where all are told apart without it.
  std::optional<error> case_collision() const {
    std::unordered_map<std::string, std::string> taken;  // folded path, one folder or file, to its first spelling
    for (const planned_file& file : files_) {
      if (file.failure()) continue;
      const std::string& path = file.destination();
      for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        const auto [other, is_new] = taken.emplace(folded(part), part);
        if (!is_new && other->second != part)
          return error(errc::collision,
                       "the destinations " + shown_path(other->second) + " and " + shown_path(part) +
                           " differ only in case, which the receiving file system does not keep apart");
        if (end == std::string::npos) break;
      }
    }
    return std::nullopt;
  }

  /// Whether a failure while planning is that of the whole transfer rather than of one file.
  static bool ends_all(const error& reason) noexcept {
    if (reason.code() == errc::too_large) return !reason.cause();  // a limit of ours, not the system's
    return reason.code() == errc::collision || ends_transfer(reason);
  }

  const std::vector<planned_file>& files() const noexcept { return files_; }
  std::uint64_t most_bytes() const noexcept { return most_bytes_; }

 private:
  bool is_same(const planned_file& a, const planned_file& b) const {
    if (a.type() != b.type()) return false;
    return a.is_directory() || a.source() == b.source() || (same_ != nullptr && same_(a.source(), b.source()));
  }

  static error collision(const planned_file& a, const planned_file& b) {
    if (a.destination() == b.destination())
      return error(errc::collision, shown_path(b.source()) + " and " + shown_path(a.source()) + " would both become " +
                                        shown_path(a.destination()) + "; move them one by one, with into()");
    return error(errc::collision, shown_path(b.source()) + " would become the file " + shown_path(b.destination()) +
                                      ", where " + shown_path(a.source()) + " needs a directory");
  }

  std::vector<planned_file> files_;
  std::unordered_map<std::string, std::size_t> taken_;  // destination to index
  std::unordered_set<std::string> failed_;              // sources
  same_source same_;
  std::uint64_t most_bytes_;
  std::size_t most_files_;
  std::uint64_t bytes_ = 0;
};

/// The last name in a path, however it is written; empty for a root.
inline std::string last_name(std::string_view path) {
  const std::vector<std::string_view> parts = path_components(path);
  return parts.empty() ? std::string() : std::string(parts.back());
}

/// Where a directory's contents go: what `into` says, else a directory of its own name.
inline std::string directory_target(const std::optional<std::string>& into, std::string_view name) {
  return into ? *into : std::string(name);
}

/// Where a file or a match goes.
inline std::string file_target(const std::optional<std::string>& into, std::string_view path) {
  return joined_path(into.value_or("."), path);
}

/// Plans all that a `file_set` names: an item that fails is in the plan as a failure.
/// \param set, plan  kept by the caller until the awaitable completes.
/// \param add_item   `awaitable<void>(file_item)`: adds what one item names to the plan.
template <class AddItem>
awaitable<void> plan_items(const file_set& set, file_plan& plan, AddItem add_item) {
  for (const file_item& item : set.items()) {
    std::optional<error> failure;
    try {
      co_await add_item(item);
    } catch (const error& reason) {
      if (file_plan::ends_all(reason)) throw;
      failure = reason;
    }
    if (failure) plan.add_failure(item.text(), std::move(*failure));
  }
  plan.settle();
}

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/files/glob.hpp ----


#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// A pattern for paths, as shells have them, matched without looking at any file.
///
/// ```
/// pattern  = ["/"] segment *("/" segment)          ; a slash at the end changes nothing
/// segment  = "**"                                   ; any number of names, none included; at the end at least one
///          / *( "*" / "?" / set / "\" any / any )   ; within one name
/// set      = "[" ["!" / "^"] item *item "]"         ; "]" as the first item stands for itself
/// item     = any "-" any / "\" any / any
/// ```
///
/// A name that starts with a dot is matched only where the pattern has that dot: not by `*`, `?`, a set or `**`. `?`
/// and sets take one code point, or one byte where the name is not UTF-8. A `[` without its `]` stands for itself.
/// There is no `{a,b}` and no `[[:alpha:]]`. Letters have their case.
/// \par Cost    at most the product of the pattern's and the path's length, whatever they hold.
/// \par Source  POSIX.1-2017, XCU 2.13, and bash's globstar.
class glob {
 public:
  /// \param  pattern  not empty, no NUL, at most 4095 bytes.
  /// \throws          error{errc::invalid_argument}.
  explicit glob(std::string pattern) : pattern_(std::move(pattern)) {
    if (pattern_.empty() || pattern_.find('\0') != std::string::npos || pattern_.size() > longest_path)
      throw error(errc::invalid_argument, "the pattern " + detail::shown_path(pattern_) +
                                              " is empty, holds a NUL byte or is longer than 4095 bytes");
    std::vector<std::string_view> segments = detail::path_components(pattern_);
    std::size_t plain = 0;
    while (plain < segments.size() && !is_pattern(segments[plain])) ++plain;
    if (plain == segments.size() && plain > 0) --plain;  // the name itself is matched
    prefix_ = pattern_.front() == '/' ? "/" : "";
    for (std::size_t i = 0; i < plain; ++i) {
      if (i > 0) prefix_ += '/';
      prefix_ += unescaped(segments[i]);
    }
    for (std::size_t i = plain; i < segments.size(); ++i) {
      if (segments[i] != "**")
        segments_.push_back(compiled(segments[i]));
      else if (segments_.empty() || !segments_.back().any_depth)
        segments_.push_back(any_depth());
    }
    if (!segments_.empty() && segments_.back().any_depth) segments_.push_back(compiled("*"));
  }

  /// Whether a text is more than a name: an unescaped `*`, `?` or `[`.
  static bool is_pattern(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '*' || text[i] == '?' || text[i] == '[')
        return true;
    }
    return false;
  }

  const std::string& pattern() const noexcept { return pattern_; }

  /// The folders before the first part that is a pattern, unescaped: `logs` for `logs/**/*.txt`; empty where there are
  /// none. Matching starts below.
  const std::string& prefix() const noexcept { return prefix_; }

  /// Whether it ends with `**`, or `**` and `*`: then it matches all that a matching directory holds, one by one.
  bool matches_whole_trees() const noexcept {
    if (segments_.size() < 2 || !segments_[segments_.size() - 2].any_depth) return false;
    const std::vector<token>& last = segments_.back().tokens;
    return last.size() == 1 && last.front().what == token::star;
  }

  /// \param path  relative to `prefix()`, without `.` and `..`.
  bool matches(std::string_view path) const {
    const std::vector<std::string_view> names = detail::path_components(path);
    // Where a part fails, the last `**` takes one name more. An earlier one need not be tried again: it could only put
    // what follows it further back, and a name with a dot that stops the last one stops the earlier one, too.
    std::size_t at = 0;
    std::size_t name = 0;
    std::size_t after_any = npos;  // the segment behind the last `**`
    std::size_t any_until = 0;     // how many names it has taken
    while (name < names.size() || at < segments_.size()) {
      if (at < segments_.size() && segments_[at].any_depth) {
        after_any = ++at;
        any_until = name;
      } else if (at < segments_.size() && name < names.size() && matches_name(segments_[at], names[name])) {
        ++at;
        ++name;
      } else {
        if (after_any == npos || any_until >= names.size() || is_hidden(names[any_until])) return false;
        name = ++any_until;
        at = after_any;
      }
    }
    return true;
  }

  /// Whether anything beneath this directory could match: false spares a walk.
  /// \param path  relative to `prefix()`.
  bool may_match_beneath(std::string_view path) const {
    const std::vector<std::string_view> names = detail::path_components(path);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i >= segments_.size()) return false;
      if (segments_[i].any_depth) {
        if (std::any_of(segments_.begin(), segments_.end(), has_leading_dot)) return true;
        return std::none_of(names.begin() + static_cast<std::ptrdiff_t>(i), names.end(), is_hidden);
      }
      if (!matches_name(segments_[i], names[i])) return false;
    }
    return names.size() < segments_.size();
  }

 private:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  static constexpr char32_t raw_byte = 0x110000;  // above all code points: a byte that is not UTF-8

  // One part of a segment. A literal is a set of one.
  struct token {
    enum kind { star, any, set };
    kind what = any;
    bool negated = false;
    bool literal = false;
    std::vector<std::pair<char32_t, char32_t>> ranges;
  };
  struct segment {
    bool any_depth = false;
    std::vector<token> tokens;
  };

  static bool is_hidden(std::string_view name) noexcept { return !name.empty() && name.front() == '.'; }

  static bool has_leading_dot(const segment& one) noexcept {
    return !one.tokens.empty() && one.tokens.front().literal && one.tokens.front().ranges.front().first == U'.';
  }

  static std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      plain += text[i];
    }
    return plain;
  }

  // One character of the text, moving on behind it.
  static char32_t take(std::string_view text, std::size_t& at) {
    const utf8_unit unit = decode_utf8(text.substr(at));
    if (!unit.valid()) return raw_byte + static_cast<unsigned char>(text[at++]);
    at += unit.size();
    return unit.code_point();
  }

  static char32_t take_escaped(std::string_view text, std::size_t& at) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    return take(text, at);
  }

  static segment any_depth() {
    segment result;
    result.any_depth = true;
    return result;
  }

  static segment compiled(std::string_view text) {
    segment result;
    for (std::size_t at = 0; at < text.size();) {
      token next;
      if (text[at] == '*') {
        next.what = token::star;
        ++at;
        if (!result.tokens.empty() && result.tokens.back().what == token::star) continue;
      } else if (text[at] == '?') {
        next.what = token::any;
        ++at;
      } else {
        next.what = token::set;
        const std::size_t close = text[at] == '[' ? closing_bracket(text, at) : npos;
        if (close != npos) {
          add_ranges(next, text.substr(at + 1, close - at - 1));
          at = close + 1;
        } else {
          const char32_t character = take_escaped(text, at);
          next.ranges.emplace_back(character, character);
          next.literal = true;
        }
      }
      result.tokens.push_back(std::move(next));
    }
    return result;
  }

  static std::size_t closing_bracket(std::string_view text, std::size_t open) noexcept {
    std::size_t at = open + 1;
    if (at < text.size() && (text[at] == '!' || text[at] == '^')) ++at;
    for (bool first = true; at < text.size(); ++at, first = false) {
      if (text[at] == ']' && !first) return at;
      if (text[at] == '\\') ++at;
    }
    return npos;
  }

  static void add_ranges(token& set, std::string_view items) {
    set.negated = items.front() == '!' || items.front() == '^';
    for (std::size_t at = set.negated ? 1 : 0; at < items.size();) {
      const char32_t low = take_escaped(items, at);
      char32_t high = low;
      if (at + 1 < items.size() && items[at] == '-') {
        ++at;
        high = take_escaped(items, at);
      }
      set.ranges.emplace_back(low, high);
    }
  }

  static bool matches_name(const segment& pattern, std::string_view name) {
    if (is_hidden(name) && !has_leading_dot(pattern)) return false;
    const std::vector<token>& tokens = pattern.tokens;
    std::size_t at = 0;
    std::size_t in = 0;
    std::size_t after_star = npos;
    std::size_t star_until = 0;
    while (in < name.size() || at < tokens.size()) {
      if (at < tokens.size() && tokens[at].what == token::star) {
        after_star = ++at;
        star_until = in;
        if (at == tokens.size()) return true;
        continue;
      }
      if (at < tokens.size() && in < name.size()) {
        std::size_t behind = in;
        if (accepts(tokens[at], take(name, behind))) {
          in = behind;
          ++at;
          continue;
        }
      }
      if (after_star == npos || star_until >= name.size()) return false;
      take(name, star_until);
      in = star_until;
      at = after_star;
    }
    return true;
  }

  static bool accepts(const token& one, char32_t character) noexcept {
    if (one.what == token::any) return true;
    for (const auto& [low, high] : one.ranges)
      if (low <= character && character <= high) return !one.negated;
    return one.negated;
  }

  std::string pattern_;
  std::string prefix_;
  std::vector<segment> segments_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/files/detail/guest_files.hpp ----


#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

/// Which part of a path in the workspace a file keeps.
enum class kept_path {
  name,   ///< as `upload` has it: a file its name, a directory also what is beneath, a match what is below the prefix
  whole,  ///< as `download` has it: all of it
};

/// Finds what a `file_set` names in a workspace.
template <code_exec_environment E>
class guest_planner {
 public:
  guest_planner(E& environment, const file_set& set, kept_path kept)
      : environment_(environment), set_(set), kept_(kept), plan_(set) {}

  /// The whole plan. This object stays until it is there.
  awaitable<void> plan() {
    co_await plan_items(set_, plan_, [this](const file_item& item) { return add_item(item); });
    lists_.clear();
  }
  file_plan& result() noexcept { return plan_; }

 private:
  awaitable<void> add_item(file_item item) {
    const std::string& text = item.text();
    if (item.naming() == file_naming::pattern) {
      co_await add_matches(text);
      co_return;
    }
    std::optional<entry> found;
    std::optional<error> missing;
    try {
      entry there = co_await stat(environment_, text);
      found.emplace(std::move(there));
    } catch (const error& failure) {
      const bool is_missing = failure.code() == errc::not_found || failure.code() == errc::not_a_directory ||
                              failure.code() == errc::outside_workspace;
      if (!is_missing || item.naming() == file_naming::exact || !glob::is_pattern(text)) throw;
    }
    if (found)
      co_await add_named(std::move(*found));
    else
      co_await add_matches(text);
  }

  awaitable<void> add_named(entry found) {
    // Whatever the environment calls it: from here on it is a path in the workspace.
    const std::string path = workspace_path_or_root(found.path());
    const std::string name = last_name(path);
    if (found.type() == file_type::symlink) {  // named itself: followed, whatever it leads to
      bool leads_to_directory = true;
      try {
        co_await load_list(path);
      } catch (const error& failure) {
        if (failure.code() != errc::not_a_directory) throw;
        leads_to_directory = false;
      }
      const entry target(path, leads_to_directory ? file_type::directory : file_type::regular, 0, 0644);
      found = target;
    }
    if (found.is_directory()) {
      if (path == "." && kept_ == kept_path::name && !set_.into())
        throw error(errc::invalid_argument, "copy '.': the workspace has no name; say where it goes with into()");
      std::string target = directory_target(set_.into(), name);
      if (kept_ == kept_path::whole) target = file_target(set_.into(), path);
      co_await add_tree(path, target, found.mode());
      co_return;
    }
    add_entry(found, path, file_target(set_.into(), kept_ == kept_path::whole ? path : name), true);
  }

  awaitable<void> add_matches(std::string pattern) {
    const glob matcher(pattern);
    std::string base = ".";
    if (!matcher.prefix().empty()) base = workspace_path_or_root(matcher.prefix());
    bool is_there = true;
    try {
      co_await load_list(base);
    } catch (const error& failure) {
      if (failure.code() != errc::not_found && failure.code() != errc::not_a_directory) throw;
      is_there = false;
    }
    if (!is_there) throw no_match(pattern);
    bool matched = false;
    const std::vector<entry>& entries = lists_.at(base);
    for (const entry& found : entries) {
      if (!matcher.matches(found.path())) continue;
      matched = true;
      const std::string path = joined_path(base, found.path());
      const std::string target = file_target(set_.into(), kept_ == kept_path::whole ? path : found.path());
      add_entry(found, path, target, false);
      if (!found.is_directory() || matcher.matches_whole_trees()) continue;
      const std::string below = found.path() + "/";
      for (auto inner = std::lower_bound(entries.begin(), entries.end(), below,
                                         [](const entry& a, const std::string& b) { return a.path() < b; });
           inner != entries.end() && inner->path().starts_with(below); ++inner)
        add_entry(*inner, joined_path(base, inner->path()), joined_path(target, inner->path().substr(below.size())),
                  false);
    }
    if (!matched) throw no_match(pattern);
  }

  static error no_match(std::string_view pattern) {
    return error(errc::not_found, "fetch " + shown_path(pattern) + ": nothing in the workspace matches the pattern");
  }

  awaitable<void> add_tree(std::string path, std::string target, unsigned mode) {
    co_await load_list(path);
    if (target != ".") add_directory(path, target, mode);
    for (const entry& found : lists_.at(path))
      add_entry(found, joined_path(path, found.path()), joined_path(target, found.path()), false);
  }

  // One listing a directory, whatever is asked of it. The order is made sure of: it comes from elsewhere.
  awaitable<void> load_list(std::string path) {
    if (lists_.contains(path)) co_return;
    std::vector<entry> entries = co_await list(environment_, path);
    for (const entry& found : entries) static_cast<void>(checked(found));
    std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) { return a.path() < b.path(); });
    lists_.emplace(std::move(path), std::move(entries));
  }

  // A listing is a guest's word: its names must not lead anywhere.
  static const entry& checked(const entry& found) {
    if (path_components(found.path()).empty() || found.path().front() == '/')
      throw error(errc::io_error, "the environment listed " + shown_path(found.path()) + ", which is no name");
    for (const std::string_view part : path_components(found.path()))
      if (part == "..")
        throw error(errc::io_error, "the environment listed " + shown_path(found.path()) + ", which is no name");
    return found;
  }

  void add_entry(const entry& found, const std::string& source, const std::string& target, bool is_named) {
    switch (found.type()) {
      case file_type::directory: add_directory(source, target, found.mode()); break;
      case file_type::regular:
        plan_.add(planned_file(source, target, file_type::regular, found.size(), found.mode()));
        break;
      case file_type::symlink:
        if (is_named || set_.follows_symlinks())
          plan_.add(planned_file(source, target, file_type::regular, 0, 0644));
        else
          plan_.add_failure(source, error(errc::not_a_file,
                                          "fetch " + shown_path(source) +
                                              ": a symbolic link, and links are only followed with follow_symlinks()"));
        break;
      case file_type::other:
        plan_.add_failure(source,
                          error(errc::not_a_file, "fetch " + shown_path(source) + ": a FIFO, socket or device"));
        break;
    }
  }

  void add_directory(const std::string& source, const std::string& target, unsigned mode) {
    constexpr unsigned needed = 0700;  // or nothing could be written into it
    plan_.add(planned_file(source, target, file_type::directory, 0, (mode & 0777U) | needed));
  }

  E& environment_;
  const file_set& set_;
  kept_path kept_;
  file_plan plan_;
  std::map<std::string, std::vector<entry>> lists_;
};

/// The files of a plan, out of a workspace, one after another.
template <code_exec_environment E>
class guest_source final : public file_source {
 public:
  guest_source(E& environment, const file_plan& plan)
      : environment_(environment), plan_(plan), left_(plan.most_bytes()) {}

  awaitable<std::optional<file_header>> next() override {
    is_open_ = false;
    if (at_ == plan_.files().size()) co_return std::nullopt;
    const planned_file& file = plan_.files()[at_++];
    current_ = &file;
    std::optional<file_header> header;
    if (file.failure()) {
      header.emplace(file.source(), *file.failure());
    } else if (file.is_directory()) {
      header.emplace(file.source(), file.destination(), file_type::directory, 0, file.mode());
    } else {
      try {
        co_await open(header);
      } catch (const error& failure) {
        if (ends_transfer(failure)) throw;
        header.emplace(file.source(), failure);
      }
    }
    co_return header;
  }

  awaitable<bytes> read(std::size_t most) override {
    bytes piece;
    if (!is_open_ || most == 0) co_return piece;
    piece = co_await inner_->read(most);
    if (piece.size() > left_) {
      is_open_ = false;
      throw error(errc::too_large, "fetch " + shown_path(current_->source()) +
                                       ": it is larger than what at_most() leaves; allow more with at_most()");
    }
    left_ -= piece.size();
    co_return piece;
  }

 private:
  awaitable<void> open(std::optional<file_header>& header) {
    const planned_file& file = *current_;
    if (!inner_) {
      std::vector<file_request> requests;
      for (const planned_file& wanted : plan_.files())
        if (!wanted.failure() && !wanted.is_directory()) requests.emplace_back(wanted.source(), wanted.destination());
      inner_ = co_await get_files(environment_, std::move(requests));
    }
    header = co_await inner_->next();
    if (!header)
      throw error(errc::io_error, "fetch " + shown_path(file.source()) + ": the environment sent too few files");
    if (header->failure()) {
      const error reason = *header->failure();
      header.emplace(file.source(), reason);
      co_return;
    }
    if (header->type() != file_type::regular || header->destination() != file.destination())
      throw error(errc::io_error, "fetch " + shown_path(file.source()) + ": the environment sent something else");
    const std::uint64_t size = header->size();
    const unsigned mode = header->mode() & 0777U;
    header.emplace(file.source(), file.destination(), file_type::regular, size, mode);
    is_open_ = true;
  }

  E& environment_;
  const file_plan& plan_;
  std::uint64_t left_;
  std::size_t at_ = 0;
  const planned_file* current_ = nullptr;
  std::unique_ptr<file_source> inner_;
  bool is_open_ = false;
};

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/files/detail/file_sinks.hpp ----


#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace cofferdam::inline v0::detail {

/// The lowest directory of a path that is there.
inline std::filesystem::path existing_above(std::filesystem::path path) {
  std::error_code ignored;
  path = std::filesystem::absolute(path);
  while (!std::filesystem::is_directory(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path;
}

/// Whether a directory's file system takes `a` and `A` for one name. Makes a file for it and removes it.
inline bool ignores_case(const std::filesystem::path& folder) {
  const directory there = directory::open(folder);
  const std::string lower = ".cofferdam-case-" + std::to_string(::getpid());
  atomic_file probe = there.create_file(lower);
  probe.commit(0600);
  bool found = true;
  try {
    static_cast<void>(there.stat(".COFFERDAM-CASE-" + std::to_string(::getpid())));
  } catch (const error&) {
    found = false;
  }
  there.remove(lower);
  return found;
}

inline awaitable<transferred_file> put_one_on_host(const directory& there, const std::filesystem::path& shown,
                                                   file_source& source, const file_header& header) {
  const std::string path = workspace_path(header.destination());
  std::uint64_t size = 0;
  if (header.type() == file_type::directory) {
    there.make_directory(path);
    there.set_mode(path, header.mode());
  } else {
    atomic_file file = there.create_file(path);
    for (;;) {
      const bytes piece = co_await source.read(file_turn);
      if (piece.empty()) break;
      file.write(piece);
      size += piece.size();
      co_await yield_turn("download " + shown_path(path));
    }
    file.commit(header.mode());
  }
  co_return transferred_file(header.source(), (shown / path).string(), size);
}

/// Writes everything a source has beneath a host directory.
/// \param there, shown, source  kept by the caller until the awaitable completes.
inline awaitable<transfer> put_on_host(const directory& there, const std::filesystem::path& shown,
                                       file_source& source) {
  return put_each(source, [&there, &shown, &source](const file_header& header) {
    return put_one_on_host(there, shown, source, header);
  });
}

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/files/copy_files.hpp ----


#include <system_error>
#include <utility>

namespace cofferdam::inline v0 {

/// Copies files from one environment into another: `co_await copy_files(from, to, files("plots/*.png").into("in"))`.
///
/// The names they get are those that `upload` gives: a file keeps its own name, not its folders. Otherwise as `upload`;
/// the bytes pass through this program in pieces and touch no disk here.
///
/// \param  from  the caller keeps it until the awaitable completes.
/// \param  to    likewise; may be the same environment.
/// \param  set   paths in the workspace of `from`.
/// \return       what arrived, in the set's order, and what did not.
/// \throws       as `upload`, before anything is written where it is the set's fault.
/// \par Cancellation  terminal: what was written whole stays.
/// \par Lifetime      the set is moved in.
/// \par Source        prior-art 1.8 (`source_env`).
template <code_exec_environment From, code_exec_environment To>
awaitable<transfer> copy_files(From& from, To& to, file_set set) {
  try {
    detail::guest_planner<From> planner(from, set, detail::kept_path::name);
    co_await planner.plan();
    detail::guest_source<From> source(from, planner.result());
    transfer report = co_await put_files(to, source);
    co_return report;
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    detail::rethrow_cancellation(failure, "copy_files: cancelled; what had arrived stays");
  }
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/files/download.hpp ----


#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0 {

namespace detail {

/// `download`, with the question whether a folder ignores case put to `ignores_case`, which tests answer themselves.
template <code_exec_environment E>
awaitable<transfer> download_files(E& environment, file_set set, std::filesystem::path destination,
                                   bool (*folder_ignores_case)(const std::filesystem::path&)) {
  try {
    guest_planner<E> planner(environment, set, kept_path::whole);
    co_await planner.plan();
    if (std::optional<error> twins = planner.result().case_collision())
      if (folder_ignores_case(existing_above(destination))) throw std::move(*twins);
    std::error_code failure;
    std::filesystem::create_directories(destination, failure);
    if (failure && !std::filesystem::is_directory(destination))
      throw name_error(failure.value(), "make directory", destination.native());
    directory there = directory::open(destination);
    guest_source<E> source(environment, planner.result());
    transfer report = co_await put_on_host(there, destination, source);
    co_return report;
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    rethrow_cancellation(failure, "download: cancelled; what had arrived stays");
  }
}

}  // namespace detail

/// Copies files of an environment to the host: `co_await download(env, files("report.md", "plots/*.png"), "out")`.
///
/// Each file keeps its whole path in the workspace: `plots/a.png` becomes `out/plots/a.png`. The destination is made
/// where it is missing, and held while files are written beneath it: nothing in the workspace, no name and no link,
/// leads out of it. Each file appears whole or not at all and replaces what has its name. Permission bits are kept, of
/// which 0777. What cannot be read or written becomes a failure of the result, and the rest goes on.
///
/// \param  environment  the caller keeps it until the awaitable completes.
/// \param  set          paths in the workspace; what it says about names, links and limits is at `file_set`.
/// \param  destination  a directory of the host, absolute or from the current directory.
/// \return              what arrived, in the set's order, and what did not. Destinations are host paths.
/// \throws              error{errc::collision} where two files would get one name, also where two names differ in case
///                      alone and the destination does not keep those apart; error{errc::too_large} where the set is
///                      larger than it may be: before anything is written. The destination's own failures;
///                      error{errc::cancelled}, error{errc::environment_closed}, error{errc::provider_lost}.
/// \par Cancellation    terminal: what was written whole stays.
/// \par Lifetime        the set is moved in.
/// \par Source          prior-art 1.7, with S19, S27 and S28 mended.
/// \par Example         examples/quickstart.cpp
template <code_exec_environment E>
awaitable<transfer> download(E& environment, file_set set, std::filesystem::path destination) {
  return detail::download_files(environment, std::move(set), std::move(destination), detail::ignores_case);
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/files/detail/host_files.hpp ----


#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace cofferdam::inline v0::detail {

/// The most that is read of a host file before others have a turn.
inline constexpr std::size_t host_piece = 256 * 1024;

/// Finds what a `file_set` names on the host. Coroutines, as trees may be large.
class host_planner {
 public:
  explicit host_planner(const file_set& set) : set_(set), plan_(set, is_one_file) {}

  /// The whole plan. This object stays until it is there.
  awaitable<void> plan() {
    return plan_items(set_, plan_, [this](const file_item& item) { return add_item(item); });
  }
  file_plan& result() noexcept { return plan_; }

 private:
  static bool is_one_file(const std::string& a, const std::string& b) {
    struct stat first {};
    struct stat second {};
    return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && same_file(first, second);
  }

  static error nothing_there(std::string_view text) {
    return error(errc::not_found, "upload " + shown_path(text) + ": there is no such file or directory");
  }

  awaitable<void> add_item(file_item item) {
    const std::string& text = item.text();
    if (text.empty() || text.find('\0') != std::string::npos)
      throw error(errc::invalid_argument, "upload " + shown_path(text) + ": empty, or with a NUL byte");
    if (item.naming() == file_naming::pattern) {
      co_await add_matches(text);
      co_return;
    }
    struct stat status {};
    const bool is_there = ::lstat(plain(text).c_str(), &status) == 0;
    if (is_there) {
      co_await add_named(plain(text), text);
      co_return;
    }
    const int code = errno;
    if (item.naming() == file_naming::exact || !glob::is_pattern(text)) {
      if (code == ENOENT) throw nothing_there(text);
      throw name_error(code, "upload", text);
    }
    co_await add_matches(text);
  }

  // Without slashes at the end: `link/` would be the link's target, and a name is a name.
  static std::string plain(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
  }

  // What the caller named: links in and at the end of the path are his own, and followed.
  awaitable<void> add_named(std::string path, std::string shown) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw name_error(errno, "upload", shown);
    std::string name = last_name(path);
    if (name.empty() || name == "." || name == "..")
      name = last_name(std::filesystem::absolute(path).lexically_normal().string());
    if (S_ISDIR(status.st_mode)) {
      if (name.empty() && !set_.into())
        throw error(errc::invalid_argument,
                    "upload " + shown_path(shown) + ": it has no name; say where it goes with into()");
      const std::string target = directory_target(set_.into(), name);
      if (set_.follows_symlinks())
        co_await add_followed(path, target);
      else
        co_await add_tree(std::make_shared<const directory>(directory::open(path)), path, target);
      co_return;
    }
    add_file(path, file_target(set_.into(), name), status);
  }

  awaitable<void> add_matches(std::string pattern) {
    const glob matcher(pattern);
    const std::string base = matcher.prefix().empty() ? "." : matcher.prefix();
    struct stat status {};
    if (::stat(base.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) throw no_match(pattern);
    matches found;
    found.base = std::make_shared<const directory>(directory::open(base));
    tree_walk walk = found.base->walk(".");
    std::string last;
    for (std::size_t count = 1;; ++count) {
      if (count % names_a_turn == 0) co_await yield_turn("upload " + shown_path(pattern));
      std::optional<entry> next;
      try {
        next = walk.next();
      } catch (const error& failure) {
        if (file_plan::ends_all(failure)) throw;
        plan_.add_failure(joined_path(matcher.prefix(), last), failure);
        continue;
      }
      if (!next) break;
      last = next->path();
      if (matcher.matches(last)) found.entries.push_back(*next);
      if (next->is_directory() && !matcher.may_match_beneath(last)) walk.skip();
    }
    if (found.entries.empty()) throw no_match(pattern);
    directory::sort_entries(found.entries);
    for (const entry& match : found.entries) {
      const std::string path = joined_path(matcher.prefix(), match.path());
      const std::string target = file_target(set_.into(), match.path());
      if (match.type() == file_type::symlink && set_.follows_symlinks()) {
        co_await add_followed(path, target);
      } else if (match.is_directory() && !matcher.matches_whole_trees()) {
        if (set_.follows_symlinks())
          co_await add_followed(path, target);
        else
          co_await add_tree(below(*found.base, match.path()), path, target);
      } else {
        add_entry(match, path, target, found.base, match.path());
      }
    }
  }

  static error no_match(std::string_view pattern) {
    return error(errc::not_found, "upload " + shown_path(pattern) + ": nothing matches the pattern");
  }

  static std::shared_ptr<const directory> below(const directory& base, const std::string& path) {
    return std::make_shared<const directory>(base.subdirectory(path, link_policy::refuse));
  }

  awaitable<void> add_tree(std::shared_ptr<const directory> base, std::string path, std::string target) {
    if (target != ".") add_directory(path, target, base->stat(".").mode());
    std::vector<entry> entries;
    tree_walk walk = base->walk(".", list_limit().entries(set_.most_files()));
    for (std::size_t count = 1;; ++count) {
      if (count % names_a_turn == 0) co_await yield_turn("upload " + shown_path(path));
      std::optional<entry> next;
      try {
        next = walk.next();
      } catch (const error& failure) {
        if (file_plan::ends_all(failure)) throw;
        plan_.add_failure(entries.empty() ? path : joined_path(path, entries.back().path()), failure);
        continue;
      }
      if (!next) break;
      entries.push_back(std::move(*next));
    }
    directory::sort_entries(entries);
    for (const entry& found : entries)
      add_entry(found, joined_path(path, found.path()), joined_path(target, found.path()), base, found.path());
  }

  void add_entry(const entry& found, const std::string& source, const std::string& target,
                 const std::shared_ptr<const directory>& base, const std::string& path) {
    switch (found.type()) {
      case file_type::directory: add_directory(source, target, found.mode()); break;
      case file_type::regular: {
        planned_file file(source, target, file_type::regular, found.size(), found.mode());
        plan_.add(std::move(file.opened_as(path, base)));
        break;
      }
      case file_type::symlink: plan_.add_failure(source, not_followed(source)); break;
      case file_type::other: plan_.add_failure(source, not_regular(source)); break;
    }
  }

  void add_file(const std::string& path, const std::string& target, const struct stat& status) {
    if (!S_ISREG(status.st_mode)) {
      plan_.add_failure(path, not_regular(path));
      return;
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    plan_.add(planned_file(path, target, file_type::regular, size, status.st_mode & 0777U));
  }

  void add_directory(const std::string& source, const std::string& target, unsigned mode) {
    constexpr unsigned needed = 0700;  // or nothing could be written into it
    plan_.add(planned_file(source, target, file_type::directory, 0, mode | needed));
  }

  static error not_followed(std::string_view path) {
    return error(errc::not_a_file, "upload " + shown_path(path) +
                                       ": a symbolic link, and links are only followed with follow_symlinks()");
  }
  static error not_regular(std::string_view path) {
    return error(errc::not_a_file, "upload " + shown_path(path) + ": a FIFO, socket or device");
  }

  // ---- with links followed: by names, as there is no tree to stay in. Circles are found by what is above.

  struct level {
    std::string path;
    std::string target;
    dev_t device;
    ino_t inode;
    std::vector<std::string> names;  // still to do, the next one last
  };

  awaitable<void> add_followed(std::string path, std::string target) {
    std::vector<level> levels;
    visit(levels, std::move(path), std::move(target));
    for (std::size_t count = 1; !levels.empty(); ++count) {
      if (count % names_a_turn == 0) co_await yield_turn("upload " + shown_path(levels.back().path));
      if (levels.back().names.empty()) {
        levels.pop_back();
        continue;
      }
      const std::string name = std::move(levels.back().names.back());
      levels.back().names.pop_back();
      visit(levels, joined_host_path(levels.back().path, name), joined_path(levels.back().target, name));
    }
  }

  void visit(std::vector<level>& levels, std::string path, std::string target) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      plan_.add_failure(path, name_error(errno, "upload", path));
      return;
    }
    if (!S_ISDIR(status.st_mode)) {
      add_file(path, target, status);
      return;
    }
    for (const level& above : levels) {
      if (above.device != status.st_dev || above.inode != status.st_ino) continue;
      plan_.add_failure(
          path, error(errc::not_a_file, "upload " + shown_path(path) + ": a symbolic link to a directory it is in"));
      return;
    }
    try {
      unique_fd fd(open_retried(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY));
      if (!fd) throw name_error(errno, "upload", path);
      level below{path, target, status.st_dev, status.st_ino,
                  names_in(std::move(fd), file_set::default_files, "upload", path)};
      std::sort(below.names.begin(), below.names.end(), std::greater<>());
      if (target != ".") add_directory(path, target, status.st_mode & 0777U);
      levels.push_back(std::move(below));
    } catch (const error& failure) {
      if (file_plan::ends_all(failure)) throw;
      plan_.add_failure(path, failure);
    }
  }

  static std::string joined_host_path(const std::string& above, const std::string& name) {
    return above.ends_with('/') ? above + name : above + "/" + name;
  }

  struct matches {
    std::shared_ptr<const directory> base;
    std::vector<entry> entries;
  };

  const file_set& set_;
  file_plan plan_;
};

/// The host's files of a plan, one after another. Looks again at each when it is opened: nothing that was put in a
/// file's place meanwhile is followed, blocks, or is read past the limit.
class host_source final : public file_source {
 public:
  explicit host_source(const file_plan& plan) : plan_(plan), left_(plan.most_bytes()) {}

  awaitable<std::optional<file_header>> next() override {
    reader_.reset();
    if (at_ == plan_.files().size()) co_return std::nullopt;
    const planned_file& file = plan_.files()[at_++];
    co_await yield_turn("upload " + shown_path(file.source()));
    std::optional<file_header> header;
    if (file.failure()) {
      header.emplace(file.source(), *file.failure());
    } else if (file.is_directory()) {
      header.emplace(file.source(), file.destination(), file_type::directory, 0, file.mode());
    } else {
      try {
        if (file.beneath())
          reader_.emplace(file.beneath()->open_file(file.path(), link_policy::refuse));
        else
          reader_.emplace(file_reader::open_host(file.path()));
        header.emplace(file.source(), file.destination(), file_type::regular, reader_->size(), reader_->mode());
      } catch (const error& failure) {
        reader_.reset();
        header.emplace(file.source(), failure);
      }
    }
    co_return header;
  }

  awaitable<bytes> read(std::size_t most) override {
    if (!reader_ || most == 0) co_return bytes();
    co_await yield_turn("upload " + shown_path(reader_->path()));
    bytes piece = reader_->read(std::min(most, host_piece));
    if (piece.size() > left_)
      throw error(errc::too_large, "upload " + shown_path(reader_->path()) +
                                       ": it has grown past what at_most() leaves; allow more with at_most()");
    left_ -= piece.size();
    co_return piece;
  }

 private:
  const file_plan& plan_;
  std::uint64_t left_;
  std::size_t at_ = 0;
  std::optional<file_reader> reader_;
};

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/files/upload.hpp ----


#include <system_error>
#include <utility>

namespace cofferdam::inline v0 {

/// Copies files of the host into an environment: `co_await upload(env, files("data.csv", "logs/**/*.txt").into("in"))`.
///
/// All is looked up first; then each file is written whole or not at all. A name without a file, a pattern without a
/// match and every file that cannot be read or written become failures of the result, and the rest goes on. Existing
/// files are replaced. FIFOs, sockets and devices are failures; nothing blocks. Big files are streamed in small pieces,
/// and whatever else runs on the executor has its turn between them; an environment that only takes files whole (no
/// `put_files`) gets at most 256 MiB a file, and modes with an x bit by a `chmod` command.
///
/// \param  environment  the caller keeps it until the awaitable completes.
/// \param  set          host paths; what it says about names, links and limits is at `file_set`.
/// \return              what arrived, in the set's order, and what did not.
/// \throws              error{errc::collision} where two files would get one name, and error{errc::too_large} where the
///                      set is larger than it may be: before anything is written. error{errc::cancelled},
///                      error{errc::environment_closed}, error{errc::provider_lost}.
/// \par Cancellation    terminal: what was written whole stays.
/// \par Lifetime        the set is moved in.
/// \par Source          prior-art 1.8, with S20 to S28 mended.
/// \par Example         examples/quickstart.cpp
template <code_exec_environment E>
awaitable<transfer> upload(E& environment, file_set set) {
  try {
    detail::host_planner planner(set);
    co_await planner.plan();
    detail::host_source source(planner.result());
    transfer report = co_await put_files(environment, source);
    co_return report;
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    detail::rethrow_cancellation(failure, "upload: cancelled; what had arrived stays");
  }
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/middleware/detail/code_programs.hpp ----


#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

namespace cofferdam::inline v0::detail {

// Variables that make a program load, run or trust something else. A `*` at the end stands for anything.
inline bool is_code_variable(std::string_view name) noexcept {
  static constexpr std::string_view harmless[] = {"PYTHONUNBUFFERED",   "PYTHONHASHSEED",          "PYTHONIOENCODING",
                                                  "PYTHONUTF8",         "PYTHONDONTWRITEBYTECODE", "PYTHONOPTIMIZE",
                                                  "PYTHONFAULTHANDLER", "PYTHONSAFEPATH",          "PYTHONNOUSERSITE"};
  static constexpr std::string_view names[] = {
      // the loader and the C library
      "LD_*", "DYLD_*", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH", "MALLOC_*", "HOSTALIASES", "RES_OPTIONS",
      "LOCALDOMAIN", "RESOLV_*", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "SSLKEYLOGFILE",
      // shells
      "BASH_ENV", "ENV", "ZDOTDIR", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "SHELLOPTS", "BASHOPTS",
      "BASH_FUNC_*", "BASH_LOADABLES_PATH", "BASH_XTRACEFD", "CDPATH", "FPATH", "GLOBIGNORE", "HISTFILE", "IFS",
      "INPUTRC", "MAILPATH", "PATH", "SHELL",
      // where programs look for their settings
      "HOME", "XDG_*", "TERMINFO", "TERMINFO_DIRS", "TERMCAP", "TERMPATH",
      // interpreters
      "PYTHON*", "NODE_*", "NPM_*", "npm_*", "DENO_*", "BUN_*", "PERL*", "RUBY*", "GEM_*", "BUNDLE_*", "LUA_*", "PHP*",
      "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS", "CLASSPATH", "MAVEN_*", "GRADLE_*", "R_*",
      "DOTNET_*", "COMPlus_*", "CORECLR_*", "JULIA_*", "GUILE_*", "TCLLIBPATH", "AWKPATH", "AWKLIBPATH", "ERL_*",
      "ELIXIR_*", "OCAMLRUNPARAM", "CAML_LD_LIBRARY_PATH", "PIP_*", "UV_*", "CONDA_*", "VIRTUAL_ENV", "DBX_*",
      // compilers and builders
      "CC", "CXX", "CPP", "LD", "AR", "AS", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "COMPILER_PATH", "GCC_*",
      "CMAKE_*", "MAKE", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS", "MFLAGS", "CARGO_*", "RUSTC*", "RUSTDOC*",
      "RUSTFLAGS", "RUSTUP_*", "GOFLAGS", "GOROOT", "GOPATH", "GOENV", "GOPROXY", "GOTOOLCHAIN", "GOTOOLDIR", "CGO_*",
      // programs that start others
      "GIT_*", "SSH_ASKPASS", "SSH_AUTH_SOCK", "SUDO_*", "PAGER", "MANPAGER", "MANOPT", "MANPATH", "LESS", "LESSOPEN",
      "LESSCLOSE", "LESSKEY*", "LESSEDIT", "MORE", "EDITOR", "VISUAL", "FCEDIT", "SELECTED_EDITOR", "VIM*", "EXINIT",
      "BROWSER", "TAR_OPTIONS", "TAPE", "RSYNC_*", "GREP_OPTIONS", "RIPGREP_CONFIG_PATH", "FZF_*", "GZIP", "ZIPOPT",
      "UNZIP", "CURL_HOME", "WGETRC", "SYSTEMD_*", "DOCKER_*", "KUBECONFIG", "GDK_*", "GTK_*", "QT_*", "GIO_*",
      "DBUS_*", "NETRC"};
  if (std::find(std::begin(harmless), std::end(harmless), name) != std::end(harmless)) return false;
  return std::any_of(std::begin(names), std::end(names), [name](std::string_view each) {
    return each.ends_with('*') ? name.starts_with(each.substr(0, each.size() - 1)) : name == each;
  });
}

// A program that runs what it is told to. Without `tails` every use of it does, but for the question of its version;
// with them, a use that has room for one of them.
class code_program {
 public:
  constexpr code_program(std::string_view name, std::span<const std::string_view> names,
                         std::span<const std::string_view> tails = {}) noexcept
      : name_(name), names_(names), tails_(tails) {}

  constexpr std::string_view name() const noexcept { return name_; }
  constexpr std::span<const std::string_view> names() const noexcept { return names_; }
  constexpr std::span<const std::string_view> tails() const noexcept { return tails_; }

 private:
  std::string_view name_;
  std::span<const std::string_view> names_;
  std::span<const std::string_view> tails_;
};

inline std::vector<code_program> code_programs() {
  static constexpr std::string_view plain[] = {"perl",
                                               "ruby",
                                               "php",
                                               "lua",
                                               "julia",
                                               "Rscript",
                                               "ghci",
                                               "erl",
                                               "guile",
                                               "tclsh",
                                               "expect",
                                               "deno",
                                               "bun",
                                               "npm",
                                               "npx",
                                               "yarn",
                                               "pnpm",
                                               "tsx",
                                               "ts-node",
                                               "java",
                                               "jshell",
                                               "kotlin",
                                               "scala",
                                               "dotnet",
                                               "pwsh",
                                               "sh",
                                               "dash",
                                               "ksh",
                                               "zsh",
                                               "fish",
                                               "csh",
                                               "tcsh",
                                               "busybox",
                                               "toybox",
                                               "make",
                                               "cmake",
                                               "ctest",
                                               "ninja",
                                               "meson",
                                               "bazel",
                                               "cargo",
                                               "rustc",
                                               "go",
                                               "cc",
                                               "c++",
                                               "tcc",
                                               "ld",
                                               "as",
                                               "mvn",
                                               "gradle",
                                               "ant",
                                               "env",
                                               "xargs",
                                               "sudo",
                                               "su",
                                               "doas",
                                               "pkexec",
                                               "runuser",
                                               "chroot",
                                               "unshare",
                                               "nsenter",
                                               "setpriv",
                                               "ssh",
                                               "scp",
                                               "sftp",
                                               "rsync",
                                               "timeout",
                                               "nice",
                                               "ionice",
                                               "chrt",
                                               "taskset",
                                               "nohup",
                                               "setsid",
                                               "stdbuf",
                                               "time",
                                               "watch",
                                               "parallel",
                                               "flock",
                                               "script",
                                               "strace",
                                               "ltrace",
                                               "gdb",
                                               "lldb",
                                               "valgrind",
                                               "perf",
                                               "screen",
                                               "tmux",
                                               "git",
                                               "hg",
                                               "svn",
                                               "pip",
                                               "pip3",
                                               "pipx",
                                               "uv",
                                               "uvx",
                                               "poetry",
                                               "conda",
                                               "apt",
                                               "apt-get",
                                               "dpkg",
                                               "docker",
                                               "podman",
                                               "kubectl",
                                               "systemctl",
                                               "crontab",
                                               "at",
                                               "batch",
                                               "ed",
                                               "ex",
                                               "vi",
                                               "vim",
                                               "nvim",
                                               "nano",
                                               "emacs",
                                               "less",
                                               "more",
                                               "man",
                                               "m4",
                                               "pytest",
                                               "tox",
                                               "jupyter",
                                               "ipython",
                                               "sqlite3",
                                               "psql",
                                               "mysql",
                                               "socat",
                                               "nc",
                                               "ncat",
                                               "openssl",
                                               "exec",
                                               "command",
                                               "source",
                                               "run-parts",
                                               "start-stop-daemon",
                                               "ld-linux-x86-64.so.2",
                                               "bwrap",
                                               "firejail",
                                               "qemu-x86_64"};
  static constexpr std::string_view python[] = {"python3",    "python",     "python2",    "pypy",       "pypy3",
                                                "python3.8",  "python3.9",  "python3.10", "python3.11", "python3.12",
                                                "python3.13", "python3.14", "python3.15"};
  static constexpr std::string_view node[] = {"node", "nodejs"};
  static constexpr std::string_view bash[] = {"bash", "rbash"};
  static constexpr std::string_view gcc[] = {"gcc", "g++", "gcc-12", "g++-12", "gcc-14", "g++-14"};
  static constexpr std::string_view clang[] = {"clang", "clang++", "clang-16", "clang++-16"};
  static constexpr std::string_view awk[] = {"awk", "gawk", "mawk", "nawk"};
  static constexpr std::string_view find[] = {"find"};
  static constexpr std::string_view find_tails[] = {" -exec id", " -execdir id", " -ok id", " -okdir id"};
  static constexpr std::string_view fd[] = {"fd", "fdfind"};
  static constexpr std::string_view fd_tails[] = {" -x id", " -X id", " --exec id", " --exec-batch id"};
  static constexpr std::string_view sed[] = {"sed"};
  static constexpr std::string_view sed_tails[] = {" 'e id'", " -e 'e id'", " 's/x/id/e'", " -f x"};
  static constexpr std::string_view tar[] = {"tar", "bsdtar"};
  static constexpr std::string_view tar_tails[] = {" --to-command=id", " --checkpoint-action=exec=id",
                                                   " -I id",           " --use-compress-program=id",
                                                   " -F id",           " --rsh-command=id"};
  static constexpr std::string_view sort[] = {"sort"};
  static constexpr std::string_view sort_tails[] = {" --compress-program=id", " --compress-program id"};
  static constexpr std::string_view rg[] = {"rg"};
  static constexpr std::string_view rg_tails[] = {" --pre id", " --pre=id", " --hostname-bin id", " --hostname-bin=id"};
  static constexpr std::string_view zip[] = {"zip"};
  static constexpr std::string_view zip_tails[] = {" -TT id", " --unzip-command id"};
  static constexpr std::string_view split[] = {"split"};
  static constexpr std::string_view split_tails[] = {" --filter=id", " --filter id"};
  std::vector<code_program> all = {{"python3", python},
                                   {"node", node},
                                   {"bash", bash},
                                   {"gcc", gcc},
                                   {"clang", clang},
                                   {"awk", awk},
                                   {"find", find, find_tails},
                                   {"fd", fd, fd_tails},
                                   {"sed", sed, sed_tails},
                                   {"tar", tar, tar_tails},
                                   {"sort", sort, sort_tails},
                                   {"rg", rg, rg_tails},
                                   {"zip", zip, zip_tails},
                                   {"split", split, split_tails}};
  for (const std::string_view& name : plain) all.emplace_back(name, std::span<const std::string_view>(&name, 1));
  return all;
}

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/middleware/detail/command_pattern.hpp ----


#include <boost/regex.hpp>

#include <cstddef>
#include <exception>
#include <iterator>
#include <locale>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::detail {

// Thrown by a counted_iterator out of the middle of a match.
class match_too_costly : public std::runtime_error {
 public:
  match_too_costly() : std::runtime_error("the match took too many steps") {}
};

// Walks over a text and pays for each look and each step from a shared purse, so that no pattern can run for long.
// Deterministic, unlike a clock: the same command and policy always have the same answer.
class counted_iterator {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  counted_iterator() = default;
  counted_iterator(const char* at, std::size_t* steps) noexcept : at_(at), steps_(steps) {}

  reference operator*() const {
    pay();
    return *at_;
  }
  counted_iterator& operator++() {
    pay();
    ++at_;
    return *this;
  }
  counted_iterator operator++(int) {
    counted_iterator before = *this;
    ++*this;
    return before;
  }
  counted_iterator& operator--() {
    pay();
    --at_;
    return *this;
  }
  counted_iterator operator--(int) {
    counted_iterator before = *this;
    --*this;
    return before;
  }
  friend bool operator==(const counted_iterator& a, const counted_iterator& b) {
    if (a.steps_ != nullptr) a.pay();
    return a.at_ == b.at_;
  }

 private:
  void pay() const {
    if (*steps_ == 0) throw match_too_costly();
    --*steps_;
  }

  const char* at_ = nullptr;
  std::size_t* steps_ = nullptr;
};

// How a text stands to a pattern.
enum class match_state {
  none,        // it does not match, whatever follows
  open,        // it does not match, but could if something followed
  complete,    // it matches
  too_costly,  // that could not be found out in the steps there were
};

// A pattern as it was written, and compiled.
class command_pattern {
 public:
  explicit command_pattern(std::string source) : source_(std::move(source)) {
    if (is_recursive(source_))
      throw error(errc::invalid_argument, "allow_commands: the pattern \"" + one_line(source_) +
                                              "\" calls itself or a group of its own, which takes too long to match");
    expression_.imbue(std::locale::classic());
    try {
      expression_.assign(source_, boost::regex_constants::perl);
    } catch (const std::exception& failure) {
      throw error(errc::invalid_argument, "allow_commands: the pattern \"" + one_line(source_) +
                                              "\" is not a regular expression: " + one_line(failure.what()));
    }
  }

  const std::string& source() const noexcept { return source_; }

  // The whole of `text`, or with `as_prefix` its start, against the pattern.
  match_state match(std::string_view text, bool as_prefix, std::size_t& steps, bool accept_open = false) const {
    namespace flags = boost::regex_constants;
    flags::match_flag_type how = flags::match_default | flags::match_single_line | flags::match_not_dot_newline;
    if (accept_open) how |= flags::match_partial;
    const counted_iterator begin(text.data(), &steps);
    const counted_iterator end(text.data() + text.size(), &steps);
    boost::match_results<counted_iterator> found;
    try {
      const bool matches = as_prefix
                               ? boost::regex_search(begin, end, found, expression_, how | flags::match_continuous)
                               : boost::regex_match(begin, end, found, expression_, how);
      if (!matches) return match_state::none;
      return found[0].matched ? match_state::complete : match_state::open;
    } catch (const std::runtime_error&) {  // ours, or the matcher's own limits on states and memory
      return match_state::too_costly;
    }
  }

 private:
  // (?R), (?1), (?-1), (?+1), (?&name), (?P>name): the matcher copies all groups at each call, which nothing counts.
  static bool is_recursive(std::string_view source) {
    bool in_set = false;
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\\') {
        ++i;
      } else if (in_set) {
        in_set = source[i] != ']';
      } else if (source[i] == '[') {
        in_set = true;
        if (source.substr(i + 1).starts_with(']')) ++i;
        if (source.substr(i + 1).starts_with("^]")) i += 2;
      } else if (source.substr(i).starts_with("(?")) {
        std::string_view rest = source.substr(i + 2);
        if (rest.starts_with('R') || rest.starts_with('&') || rest.starts_with("P>")) return true;
        if (rest.starts_with('+') || rest.starts_with('-')) rest.remove_prefix(1);
        if (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') return true;
      }
    }
    return false;
  }

  std::string source_;
  boost::regex expression_;
};

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/middleware/allow_commands.hpp ----


#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

namespace detail {

// What an allowlist says, compiled. Shared by the recipe, its copies and every environment; never changed once shared.
class command_policy {
 public:
  explicit command_policy(std::vector<std::string> patterns) {
    patterns_.reserve(patterns.size());
    for (std::string& pattern : patterns) patterns_.emplace_back(std::move(pattern));
  }

  void match_prefixes() noexcept { as_prefix_ = true; }
  void allow_variable(std::string name) { allowed_variables_.push_back(std::move(name)); }

  // Refuses the command and leaves it as it was, or makes it one that needs no shell.
  std::optional<command_result> admit(command& c) const {
    std::vector<std::string> split;
    if (c.is_shell()) {
      parsed_words parsed = split_shell_words(c.line());
      if (!parsed.ok()) return refuse_line(c.line(), parsed);
      split = std::move(parsed).words();
    }
    const std::vector<std::string>& words = c.is_shell() ? split : c.words();
    const std::string canonical = join_shell_words(words);
    if (words.empty() || words.front().empty())
      return refuse(canonical, "it is empty", advice_for(shell_refusal::empty_command));
    if (canonical.find('\0') != std::string::npos)
      return refuse(canonical, "it has a NUL byte", advice_for(shell_refusal::unsafe_text));
    switch (match_any(canonical)) {
      case match_state::complete: break;
      case match_state::too_costly:
        return refuse(canonical, "it takes too many steps to match against the allowlist",
                      "Use a shorter or simpler command.");
      default: return refuse(canonical, "no pattern of the allowlist matches it", no_match_advice(canonical));
    }
    for (const command::variable_setting& setting : c.variables()) {
      if (is_code_variable(setting.name()) && !is_allowed_variable(setting.name()))
        return refuse(canonical, "it sets the variable \"" + one_line(setting.name(), 64) + "\"",
                      "This variable can make a program run other code. Run the command without it.");
    }
    if (c.is_shell()) c.become_argv(std::move(split));
    return std::nullopt;
  }

  std::vector<std::string> lint() const {
    std::vector<std::string> warnings;
    std::vector<std::string_view> named;
    const std::vector<code_program> programs = code_programs();
    for (const command_pattern& pattern : patterns_) {
      const std::string shown = "The pattern \"" + one_line(pattern.source()) + "\"";
      if (admits_anything(pattern)) {
        warnings.push_back(shown + " admits every program: arbitrary code.");
        continue;
      }
      const std::string head = literal_head(pattern.source());
      if (!head.empty() && (admits(pattern, head + "zq") || admits(pattern, head + "zq x")))
        warnings.push_back(shown + " also admits other programs, whose names only begin with \"" + one_line(head) +
                           "\"; \"" + one_line(head) + "( .*)?\" would not.");
      for (const code_program& program : programs) {
        if (std::find(named.begin(), named.end(), program.name()) != named.end() || !admits(pattern, program)) continue;
        named.push_back(program.name());
        warnings.push_back(shown + " admits " + std::string(program.name()) +
                           ", which runs whatever its arguments and files tell it: arbitrary code.");
      }
    }
    return warnings;
  }

  // For one decision; 12 ms at worst when measured. `.*` over the longest line takes two thirds of it.
  static constexpr std::size_t most_steps = 1'000'000;

 private:
  match_state match_any(std::string_view canonical) const {
    std::size_t steps = most_steps;
    for (const command_pattern& pattern : patterns_) {
      const match_state state = pattern.match(canonical, as_prefix_, steps);
      if (state != match_state::none) return state;
    }
    return match_state::none;
  }

  bool is_allowed_variable(const std::string& name) const {
    return std::find(allowed_variables_.begin(), allowed_variables_.end(), name) != allowed_variables_.end();
  }

  // ---- refusals ----
  static command_result refuse(std::string_view text, const std::string& why, std::string advice) {
    return command_result::refused(error_kind::command_not_allowed,
                                   "Command not allowed: \"" + one_line(text) + "\": " + why, std::move(advice));
  }

  static command_result refuse_line(const std::string& line, const parsed_words& parsed) {
    std::string why(parsed.construct());
    if (parsed.reason() != shell_refusal::empty_command && parsed.reason() != shell_refusal::too_long)
      why += " at byte " + std::to_string(parsed.position());
    return refuse(line, why, advice_for(parsed.reason()));
  }

  static std::string advice_for(shell_refusal reason) {
    switch (reason) {
      case shell_refusal::empty_command: return "The command is empty. Name a program and its arguments.";
      case shell_refusal::shell_syntax:
        return "Allowed commands run without a shell, so there is no ;, &&, |, redirection, $(...), backtick, wildcard "
               "or "
               "second line. Run one command with literal arguments, and quote an argument that is itself such a "
               "character (e.g. -exec ... ';').";
      case shell_refusal::shell_assignment:
        return "An assignment such as NAME=value before the program is not supported. Run the command without it.";
      case shell_refusal::unsafe_text:
        return "Write the command as plain UTF-8 text, without NUL bytes and direction controls.";
      case shell_refusal::too_long:
        return "Write long text to a file first, and run a short command that uses the file.";
      case shell_refusal::none: break;
    }
    return {};
  }

  static std::string no_match_advice(std::string_view canonical) {
    std::string advice =
        "The command matches no pattern of the allowlist. Patterns see the parsed command, so other quoting makes no "
        "difference.";
    if (canonical.find('\n') != std::string_view::npos)
      advice += " An argument holds a line break, which most patterns do not admit: put such text into a file.";
    return advice;
  }

  // ---- lint ----
  match_state probe(const command_pattern& pattern, const std::string& text) const {
    std::size_t steps = 20'000;
    return pattern.match(text, as_prefix_, steps, true);
  }
  bool admits(const command_pattern& pattern, const std::string& text) const {
    return probe(pattern, text) == match_state::complete;
  }
  // Admits the text, or something that begins with it.
  bool could_admit(const command_pattern& pattern, const std::string& text) const {
    const match_state state = probe(pattern, text);
    return state == match_state::complete || state == match_state::open;
  }

  bool admits_anything(const command_pattern& pattern) const {
    for (const std::string name :
         {"zq-no-such-program", "zqnosuchprogram", "/zq/zqnosuchprogram", "./zqnosuchprogram"}) {
      if (admits(pattern, name) || admits(pattern, name + " x")) return true;
    }
    return false;
  }

  bool admits(const command_pattern& pattern, const code_program& program) const {
    for (const std::string_view folder : {"", "/usr/bin/", "/bin/", "/usr/local/bin/", "./"}) {
      for (const std::string_view name : program.names()) {
        const std::string start = std::string(folder) + std::string(name);
        if (!could_admit(pattern, start)) continue;
        if (program.tails().empty() ? admits_use(pattern, start) : admits_tail(pattern, start, program.tails()))
          return true;
      }
    }
    return false;
  }

  // Any use but the question of its version or for help.
  bool admits_use(const command_pattern& pattern, const std::string& start) const {
    if (admits(pattern, start) || admits(pattern, start + " -")) return true;
    if (!could_admit(pattern, start + " ")) return false;
    for (char c = '!'; c <= '~'; ++c) {
      if (c != '-' && could_admit(pattern, start + " " + c)) return true;
      const bool harmless = c == '-' || c == 'h' || c == 'v' || c == 'V';
      if (!harmless && (could_admit(pattern, start + " -" + c) || could_admit(pattern, start + " --" + c))) return true;
    }
    return false;
  }

  // Whether one of the tails fits somewhere behind the program. The places are found by walking along the pattern's own
  // characters, and taking each that the pattern accepts next.
  bool admits_tail(const command_pattern& pattern, std::string text, std::span<const std::string_view> tails) const {
    const auto has_room = [&] {
      return std::any_of(tails.begin(), tails.end(), [&](std::string_view tail) {
        return could_admit(pattern, text + std::string(tail)) ||
               (text.ends_with(' ') && could_admit(pattern, text + std::string(tail.substr(1))));
      });
    };
    if (has_room()) return true;
    bool escaped = false;
    for (const char c : pattern.source()) {
      const std::string_view samples = escaped && (c == 'd' || c == 'w' || c == 's' || c == 'S') ? "0a " : "";
      escaped = c == '\\' && !escaped;
      for (const char next : std::string(1, c) + std::string(samples)) {
        if (!could_admit(pattern, text + next)) continue;
        text.push_back(next);
        if (has_room()) return true;
        break;
      }
    }
    return false;
  }

  // What a pattern begins with before its first special character; nothing if a blank is reached or a choice is made.
  static std::string literal_head(std::string_view source) {
    const std::size_t end = source.find_first_of("\\^$.|?*+()[]{} ");
    if (end == 0 || (end != std::string_view::npos && source[end] == ' ')) return {};
    if (source.find('|') != std::string_view::npos && source.find('(') == std::string_view::npos) return {};
    return std::string(source.substr(0, end));
  }

  std::vector<command_pattern> patterns_;
  std::vector<std::string> allowed_variables_;
  bool as_prefix_ = false;
};

}  // namespace detail

/// What `allow_commands(...)` makes of an environment.
template <code_exec_environment Inner>
class allow_commands_layer : public layer<allow_commands_layer<Inner>, Inner> {
 public:
  allow_commands_layer(Inner inner, std::shared_ptr<const detail::command_policy> policy)
      : layer<allow_commands_layer<Inner>, Inner>(std::move(inner)), policy_(std::move(policy)) {}

  std::optional<command_result> admit(command& c) { return policy_->admit(c); }

 private:
  std::shared_ptr<const detail::command_policy> policy_;
};

/// Runs a command only if it matches one of the patterns, and then without a shell:
/// `provider | allow_commands("ls( .*)?", "grep .*", "git status")`.
///
/// A shell line is split by `split_shell_words` into the words bash would run, and refused if a shell would do anything
/// with it but split it. The words' canonical text (`join_shell_words`: one space between words, quotes only where
/// needed) is matched, so quoting changes nothing; `argv` commands are matched by the same text. An admitted line
/// becomes its words and keeps its other settings. A pattern must match the **whole** text (`prefix_match` undoes
/// that), by bytes; `.` matches no line break unless the pattern says `(?s)`. Without patterns every command is refused.
///
/// A name is not a permission: `python3 .*` admits every Python program, `find .*` admits `-exec`. `lint` says so.
/// A pattern without a slash admits no path: `ls` is not `./ls`. Files go round nothing here: they are no commands.
///
/// Commands that set a variable which makes programs run other code (`LD_PRELOAD`, `PYTHONPATH`, `GIT_*`, `PAGER`,
/// `PATH`, ...) are refused unless `allow_variables` names it.
///
/// \param  patterns   regular expressions, Boost.Regex's Perl syntax, in the "C" locale.
/// \return            a refusal is a result: `error_kind::command_not_allowed`, with the command, escaped, in `reason()`
///                    and what to do in `advice()`. A command too costly to match is refused too.
/// \throws            `error{errc::invalid_argument}` from the constructor, naming the pattern that is none.
/// \par Lifetime      compiled once; copies, and the environments, share it.
/// \par Threads       the policy is immutable and may be shared by threads.
/// \par Cost          linear in the line for plain patterns; at most a million steps (some 12 ms) for any. No frame.
/// \par Source        Stirrup's `allowed_commands`, prior-art 1.4; anchored at both ends, unlike it (S33).
/// \par Example       examples/quickstart.cpp
class allow_commands : public pipeable {
 public:
  template <std::convertible_to<std::string>... Patterns>
  explicit allow_commands(Patterns&&... patterns) : allow_commands(list_of(std::forward<Patterns>(patterns)...)) {}

  explicit allow_commands(std::vector<std::string> patterns)
      : policy_(std::make_shared<const detail::command_policy>(std::move(patterns))) {}

  /// A pattern need only match the start of the text: `ls` then admits `ls -l`, and `lsblk` too.
  allow_commands& prefix_match() & {
    change().match_prefixes();
    return *this;
  }
  allow_commands&& prefix_match() && { return std::move(prefix_match()); }

  /// Lets commands set these variables, whatever they do.
  template <std::convertible_to<std::string>... Names>
    requires(sizeof...(Names) > 0)
  allow_commands& allow_variables(Names&&... names) & {
    detail::command_policy& policy = change();
    (policy.allow_variable(std::string(std::forward<Names>(names))), ...);
    return *this;
  }
  template <std::convertible_to<std::string>... Names>
    requires(sizeof...(Names) > 0)
  allow_commands&& allow_variables(Names&&... names) && {
    return std::move(allow_variables(std::forward<Names>(names)...));
  }

  /// What an author may not have meant, a sentence each: one for each interpreter, compiler, shell or launcher that is
  /// admitted ("arbitrary code"), one for each pattern that admits other programs than the one it begins with.
  /// Advice: an empty answer is no proof.
  std::vector<std::string> lint() const { return policy_->lint(); }

  template <code_exec_environment Inner>
  allow_commands_layer<Inner> attach(Inner inner) const {
    return allow_commands_layer<Inner>(std::move(inner), policy_);
  }

 private:
  template <class... Patterns>
  static std::vector<std::string> list_of(Patterns&&... patterns) {
    std::vector<std::string> list;
    list.reserve(sizeof...(Patterns));
    (list.emplace_back(std::forward<Patterns>(patterns)), ...);
    return list;
  }

  // Others may share the policy, so that a changed one is a new one.
  detail::command_policy& change() {
    auto changed = std::make_shared<detail::command_policy>(*policy_);
    policy_ = changed;
    return *changed;
  }

  std::shared_ptr<const detail::command_policy> policy_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/middleware/limit_output.hpp ----


#include <cstddef>
#include <optional>
#include <utility>

namespace cofferdam::inline v0 {

/// What `limit_output(most)` makes of an environment.
template <code_exec_environment Inner>
class limit_output_layer : public layer<limit_output_layer<Inner>, Inner> {
 public:
  limit_output_layer(Inner inner, std::size_t most)
      : layer<limit_output_layer<Inner>, Inner>(std::move(inner)), most_(most) {}

  std::optional<command_result> admit(command& c) {
    c.reduce_kept_output(most_);
    return std::nullopt;
  }

 private:
  std::size_t most_;
};

/// Keeps at most `most` bytes of each of a command's outputs: `provider | limit_output(64 * 1024)`.
///
/// The result has the first and the last half of that, and the exact totals; the command is not ended and not blocked.
/// A command that asks for less keeps less. What `process::read` yields is not limited: it is never all in memory.
/// \param  most  bytes of each stream; 0 keeps nothing and counts.
/// \par Cost     0 allocations, 1 compare.
class limit_output : public pipeable {
 public:
  explicit limit_output(std::size_t most) : most_(most) {}

  template <code_exec_environment Inner>
  limit_output_layer<Inner> attach(Inner inner) const {
    return limit_output_layer<Inner>(std::move(inner), most_);
  }

 private:
  std::size_t most_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/middleware/timeout.hpp ----


#include <chrono>
#include <optional>
#include <utility>

namespace cofferdam::inline v0 {

/// What `timeout(limit)` makes of an environment.
template <code_exec_environment Inner>
class timeout_layer : public layer<timeout_layer<Inner>, Inner> {
 public:
  timeout_layer(Inner inner, std::chrono::milliseconds limit)
      : layer<timeout_layer<Inner>, Inner>(std::move(inner)), limit_(limit) {}

  std::optional<command_result> admit(command& c) {
    c.shorten_timeout(limit_);
    return std::nullopt;
  }

 private:
  std::chrono::milliseconds limit_;
};

/// Ends a command that runs longer than `limit`: `provider | timeout(30s)`.
///
/// Sets the command's own timeout where it has none, lowers it where it is longer; the backend enforces it (TERM,
/// grace, KILL). Forwards everything else unchanged. Not a coroutine: adds no frame and no allocation.
///
/// \param  limit      steady-clock time from the start of the command to its end; more than zero.
/// \return            `command_result`; on expiry `error_kind::timeout` with the output until then.
/// \throws            `error{errc::invalid_argument}` from the constructor. Never for a slow command.
/// \par Cancellation  terminal: the command is ended, then `error{errc::cancelled}`.
/// \par Cost          0 allocations, 1 compare.
/// \par Source        Stirrup's `run_command(timeout=…)`; POSIX kill(2).
class timeout : public pipeable {
 public:
  explicit timeout(std::chrono::milliseconds limit) : limit_(limit) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, "timeout: the limit must be longer than zero");
  }

  template <code_exec_environment Inner>
  timeout_layer<Inner> attach(Inner inner) const {
    return timeout_layer<Inner>(std::move(inner), limit_);
  }

 private:
  std::chrono::milliseconds limit_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/middleware/upload_files.hpp ----


#include <concepts>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline v0 {

/// What `upload_files(…)` makes of an environment.
template <code_exec_environment Inner>
class upload_files_layer : public layer<upload_files_layer<Inner>, Inner> {
 public:
  upload_files_layer(Inner inner, std::shared_ptr<const file_set> set)
      : layer<upload_files_layer<Inner>, Inner>(std::move(inner)), set_(std::move(set)) {}

  /// Copies the files in; the provider's `open()` awaits it.
  awaitable<void> prepare() {
    file_set wanted = *set_;
    transfer report = co_await upload(this->inner(), std::move(wanted));
    if (report.ok()) co_return;
    const failed_file& first = report.failed().front();
    std::string sentence = std::string("upload_files: ") + first.reason().what();
    if (report.failed().size() > 1)
      sentence += " (and " + std::to_string(report.failed().size() - 1) + " more of the files failed)";
    throw error(static_cast<errc>(first.reason().code().value()), std::move(sentence), first.reason().cause());
  }

 private:
  std::shared_ptr<const file_set> set_;
};

/// Copies files of the host into each environment as it opens: `provider | upload_files("data.csv", "inputs/")`.
///
/// What a name, a directory and a pattern become is at `file_set`; `upload_files(files("a").into("in"))` says more. Where
/// any file fails, `open()` throws that failure and closes the environment: a session does not start with half its inputs.
/// Commands pass through unchanged; the files are copied again for each `open()`, as they are then.
/// \throws  from `open()`: what `upload` throws, and the first failure it reports.
/// \par Example  examples/quickstart.cpp
class upload_files : public pipeable {
 public:
  explicit upload_files(file_set set) : set_(std::make_shared<const file_set>(std::move(set))) {}

  template <std::convertible_to<std::string>... Items>
    requires(sizeof...(Items) > 0)
  explicit upload_files(Items&&... items) : upload_files(files(std::forward<Items>(items)...)) {}

  template <code_exec_environment Inner>
  upload_files_layer<Inner> attach(Inner inner) const {
    return upload_files_layer<Inner>(std::move(inner), set_);
  }

 private:
  std::shared_ptr<const file_set> set_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/middleware/variables.hpp ----


#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// What `variables(…)` makes of an environment.
template <code_exec_environment Inner>
class variables_layer : public layer<variables_layer<Inner>, Inner> {
 public:
  variables_layer(Inner inner, std::shared_ptr<const command> settings)
      : layer<variables_layer<Inner>, Inner>(std::move(inner)), settings_(std::move(settings)) {}

  std::optional<command_result> admit(command& c) {
    for (const command::variable_setting& setting : settings_->variables())
      if (!has(c, setting.name())) c.variable(setting.name(), setting.value());
    return std::nullopt;
  }

 private:
  static bool has(const command& c, const std::string& name) {
    for (const command::variable_setting& setting : c.variables())
      if (setting.name() == name) return true;
    return false;
  }

  std::shared_ptr<const command> settings_;
};

/// Gives every command environment variables: `provider | variables("LANG", "de_DE.UTF-8").set("TZ", "UTC")`.
///
/// A variable that the command sets itself stays as the command has it. Put an allowlist outside (to the right): these
/// variables are the program's own and are not judged by it.
/// \throws error{errc::invalid_argument}, error{errc::too_large} as `command::variable` does.
class variables : public pipeable {
 public:
  variables(std::string name, std::string value) { settings_.variable(std::move(name), std::move(value)); }

  /// One more variable, or another value for the same.
  variables& set(std::string name, std::string value) & {
    settings_.variable(std::move(name), std::move(value));
    return *this;
  }
  variables&& set(std::string name, std::string value) && { return std::move(set(std::move(name), std::move(value))); }

  template <code_exec_environment Inner>
  variables_layer<Inner> attach(Inner inner) const {
    return variables_layer<Inner>(std::move(inner), std::make_shared<const command>(settings_));
  }

 private:
  command settings_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/tools/tool.hpp ----


#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::tools {

/// What a tool answers to a model.
class tool_result {
 public:
  tool_result() = default;
  /// \param text     UTF-8, for the model to read.
  /// \param success  whether the tool did what it was asked to.
  tool_result(std::string text, bool success) : text_(std::move(text)), success_(success) {}

  const std::string& text() const noexcept { return text_; }
  bool success() const noexcept { return success_; }

 private:
  std::string text_;
  bool success_ = false;
};

/// Something a model can call: a name, a description, a JSON schema of its arguments, and a coroutine.
///
/// * `name()` matches `[A-Za-z0-9_-]{1,64}`; `description()` is for the model.
/// * `parameters()` is a JSON schema object of type "object".
/// * `call(arguments)` answers wrong arguments and failed work with a result; it throws only where there is nobody to
///   answer: cancellation, and an environment that is lost or closed.
template <class T>
concept tool = requires(T& t, const T& fixed, boost::json::value arguments) {
  { fixed.name() } -> std::convertible_to<std::string_view>;
  { fixed.description() } -> std::convertible_to<std::string_view>;
  { fixed.parameters() } -> std::same_as<boost::json::object>;
  { t.call(std::move(arguments)) } -> awaitable_of<tool_result>;
};

/// Any tool, for lists of them.
class any_tool {
 public:
  template <class T>
    requires(!std::same_as<T, any_tool> && tool<T>)
  explicit any_tool(T inside) : inside_(std::make_unique<box<T>>(std::move(inside))) {}

  std::string_view name() const { return get().name(); }
  std::string_view description() const { return get().description(); }
  boost::json::object parameters() const { return get().parameters(); }
  awaitable<tool_result> call(boost::json::value arguments) { return get().call(std::move(arguments)); }

 private:
  class interface {
   public:
    virtual ~interface() = default;
    virtual std::string_view name() const = 0;
    virtual std::string_view description() const = 0;
    virtual boost::json::object parameters() const = 0;
    virtual awaitable<tool_result> call(boost::json::value arguments) = 0;
  };

  template <class T>
  class box final : public interface {
   public:
    explicit box(T inside) : inside_(std::move(inside)) {}
    std::string_view name() const override { return inside_.name(); }
    std::string_view description() const override { return inside_.description(); }
    boost::json::object parameters() const override { return inside_.parameters(); }
    awaitable<tool_result> call(boost::json::value arguments) override { return inside_.call(std::move(arguments)); }

   private:
    T inside_;
  };

  interface& get() const {
    if (!inside_) throw error(errc::invalid_argument, "any_tool: there is none (moved from)");
    return *inside_;
  }

  std::unique_ptr<interface> inside_;
};

}  // namespace cofferdam::inline v0::tools

// ---- cofferdam/tools/code_exec.hpp ----


#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::tools {

/// The tool that runs a shell command in an environment: `tools::code_exec tool(environment);`
///
/// Arguments: `cmd`, the command line; `timeout`, optional, in seconds. The answer is `format_result`'s text, and
/// `success()` says whether the command exited with 0.
/// \par Lifetime  the environment outlives the tool and its calls, and stays at one address.
/// \par Threads   the environment's executor.
/// \par Source    the name, description and schema of Stirrup's tool of this name; `timeout` is ours.
template <code_exec_environment E>
class code_exec {
 public:
  explicit code_exec(E& environment) : environment_(&environment) {}

  std::string_view name() const noexcept { return name_; }
  /// Another name, where an agent has two environments.
  code_exec&& name(std::string text) && {
    name_ = std::move(text);
    return std::move(*this);
  }

  std::string_view description() const noexcept { return description_; }
  /// Another description: say here what is installed.
  code_exec&& description(std::string text) && {
    description_ = std::move(text);
    return std::move(*this);
  }

  boost::json::object parameters() const {
    boost::json::object cmd;
    cmd["type"] = "string";
    cmd["title"] = "Cmd";
    cmd["description"] =
        "Shell command to execute (bash syntax). IMPORTANT: Use only relative paths. Do not use absolute paths "
        "(starting with / or ~) or reference directories outside the working directory.";
    boost::json::object timeout;
    timeout["type"] = "number";
    timeout["title"] = "Timeout";
    timeout["description"] = "Seconds after which the command is ended. Optional.";
    timeout["exclusiveMinimum"] = 0;
    boost::json::object properties;
    properties["cmd"] = std::move(cmd);
    properties["timeout"] = std::move(timeout);
    boost::json::array required;
    required.emplace_back("cmd");
    boost::json::object schema;
    schema["type"] = "object";
    schema["title"] = "CodeExecutionParams";
    schema["description"] = "Shell command to execute in the execution environment.";
    schema["properties"] = std::move(properties);
    schema["required"] = std::move(required);
    schema["additionalProperties"] = false;
    return schema;
  }

  /// Runs the command.
  /// \throws error{errc::cancelled}, error{errc::provider_lost}, error{errc::environment_closed}; never for what the
  ///         model wrote or the command did.
  /// \par Cancellation  terminal: the command is ended.
  awaitable<tool_result> call(boost::json::value arguments) {
    std::optional<command> wanted;
    std::string complaint = parse(arguments, wanted);
    if (!wanted) co_return refusal(std::move(complaint));
    try {
      command_result result = co_await environment_->run_command(std::move(*wanted));
      co_return tool_result(format_result(result), result.ok());
    } catch (const error& failure) {
      if (failure.code() == errc::cancelled || failure.code() == errc::provider_lost ||
          failure.code() == errc::environment_closed)
        throw;
      complaint = failure.what();
    }
    co_return refusal(std::move(complaint));
  }

 private:
  static tool_result refusal(std::string reason) {
    return tool_result(format_result(command_result::refused(error_kind::invalid_argument, std::move(reason))), false);
  }

  /// Fills `wanted`, or says what is wrong with the arguments.
  static std::string parse(const boost::json::value& arguments, std::optional<command>& wanted) {
    if (!arguments.is_object()) return "The arguments must be a JSON object with a string 'cmd'.";
    const boost::json::object& object = arguments.get_object();
    for (const auto& member : object)
      if (member.key() != "cmd" && member.key() != "timeout")
        return "Unknown argument '" + one_line(std::string_view(member.key())) + "'; there are 'cmd' and 'timeout'.";
    const boost::json::value* const cmd = object.if_contains("cmd");
    if (cmd == nullptr) return "The argument 'cmd' is missing.";
    if (!cmd->is_string()) return "The argument 'cmd' must be a string.";
    command made = shell(std::string(cmd->get_string()));
    const boost::json::value* const limit = object.if_contains("timeout");
    if (limit != nullptr && !limit->is_null()) {
      if (!limit->is_number()) return "The argument 'timeout' must be a number of seconds.";
      const double seconds = limit->to_number<double>();
      constexpr double longest = 365.0 * 24 * 3600;
      if (!std::isfinite(seconds) || seconds < 0.001 || seconds > longest)
        return "The argument 'timeout' must be more than 0 and at most " + std::to_string(static_cast<long>(longest)) +
               " seconds.";
      made.timeout(std::chrono::milliseconds(std::llround(seconds * 1000)));
    }
    wanted.emplace(std::move(made));
    return {};
  }

  E* environment_;
  std::string name_ = "code_exec";
  std::string description_ =
      "Execute a shell command in the execution environment. Returns exit code, stdout, and stderr as XML.";
};

}  // namespace cofferdam::inline v0::tools

#undef COFFERDAM_AMALGAMATION
