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
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// For `command::timeout`: no limit at all, said on purpose. A command without any timeout gets its backend's default.
inline constexpr std::chrono::milliseconds no_timeout = std::chrono::milliseconds::max();

/// How large a terminal is.
class terminal_size {
 public:
  terminal_size(std::uint16_t rows, std::uint16_t columns) noexcept : rows_(rows), columns_(columns) {}
  std::uint16_t rows() const noexcept { return rows_; }
  std::uint16_t columns() const noexcept { return columns_; }

 private:
  std::uint16_t rows_;
  std::uint16_t columns_;
};

/// What is to become of what a command has left running when it ends.
enum class background_policy {
  kill,  ///< it ends with the command
  keep,  ///< it goes on, until it ends, it is ended, or its environment is closed
};

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

  /// Gives the command a terminal of its own (a PTY) instead of pipes: what it writes, error output included, is `out()`,
  /// and line editing, ^C and window size work as in a real one. Input ends as by ^D; say `open_input()` to type into it.
  /// \param rows, columns  1 to 65535.
  /// \throws error{errc::invalid_argument} for a size of zero.
  command& terminal(std::uint16_t rows, std::uint16_t columns) & {
    if (rows == 0 || columns == 0)
      throw error(errc::invalid_argument, "command: a terminal has at least one row and one column");
    terminal_ = terminal_size(rows, columns);
    return *this;
  }
  command&& terminal(std::uint16_t rows, std::uint16_t columns) && { return std::move(terminal(rows, columns)); }
  /// Its first size; nothing where the command has pipes.
  const std::optional<terminal_size>& terminal() const noexcept { return terminal_; }

  /// What is to become of what the command leaves running, a server for example. Default: `background_policy::kill`.
  /// Where it is kept, the result has `left_running()`; what it writes from then on is nobody's. Its environment lists it and
  /// ends it (`local_environment::background`). A backend that cannot keep it throws error{errc::unsupported}.
  command& background(background_policy policy) & {
    background_ = policy;
    return *this;
  }
  command&& background(background_policy policy) && { return std::move(background(policy)); }
  background_policy background() const noexcept { return background_; }

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
  background_policy background_ = background_policy::kill;
  std::string line_;
  std::vector<std::string> words_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::string working_directory_ = ".";
  std::vector<variable_setting> variables_;
  std::optional<bytes> input_;
  std::optional<std::size_t> kept_output_;
  std::optional<terminal_size> terminal_;
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

  /// The command has ended, and something that it has started goes on (`background_policy::keep`).
  bool left_running() const noexcept { return left_running_; }
  command_result& left_running(bool left) {
    left_running_ = left;
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
  bool left_running_ = false;
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

// ---- cofferdam/core/process.hpp ----

#include <cstdint>
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
    virtual awaitable<void> resize(std::uint16_t, std::uint16_t) {
      throw error(errc::unsupported, "resize: the command has no terminal; say terminal() on the command");
      co_return;
    }
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

  /// Gives the command's terminal another size; it hears of that by SIGWINCH. Does nothing once the command has ended.
  /// \throws error{errc::unsupported} where the command has no terminal; error{errc::invalid_argument} for a size of zero.
  awaitable<void> resize(std::uint16_t rows, std::uint16_t columns) {
    if (rows == 0 || columns == 0)
      throw error(errc::invalid_argument, "resize: a terminal has at least one row and one column");
    return get().resize(rows, columns);
  }

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
  awaitable<void> resize(std::uint16_t, std::uint16_t) override { co_return; }
  awaitable<command_result> wait() override { co_return result_; }

 private:
  command_result result_;
};

}  // namespace detail

inline process process::finished(command_result result) {
  return process(std::make_unique<detail::finished_process>(std::move(result)));
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

// ---- cofferdam/os/command_ends.hpp ----

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string_view>
#include <system_error>

#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline v0::detail {

/// Hears when an end of a command's streams can be used. Kept alive by whoever waits.
class end_listener {
 public:
  /// \param failure  it cannot be waited for; false otherwise.
  virtual void output_ready(std::size_t index, std::error_code failure) = 0;
  virtual void input_ready(std::error_code failure) = 0;

 protected:
  ~end_listener() = default;
};

/// Our end of a command's output or error output.
class output_end {
 public:
  output_end() = default;
  output_end(const output_end&) = delete;
  output_end& operator=(const output_end&) = delete;
  virtual ~output_end() = default;
  /// Bytes read; 0 at the end; -1 where nothing is there now.
  virtual ssize_t read(std::byte* to, std::size_t most) noexcept = 0;
  /// How much stands there now.
  virtual std::size_t waiting() noexcept = 0;
  /// Calls `output_ready(index)` once when there is something, or the end. Not called after `close()`.
  virtual void wait(std::shared_ptr<end_listener> listener, std::size_t index) = 0;
  virtual void close() noexcept = 0;
};

/// Our end of a command's input.
class input_end {
 public:
  input_end() = default;
  input_end(const input_end&) = delete;
  input_end& operator=(const input_end&) = delete;
  virtual ~input_end() = default;
  virtual bool is_open() const noexcept = 0;
  /// Bytes written; -1 where there is no room now; -2 where nobody reads.
  virtual ssize_t write(bytes_view data) = 0;
  /// Calls `input_ready` once when there is room. Not called after `close()`.
  virtual void wait(std::shared_ptr<end_listener> listener) = 0;
  virtual void close() noexcept = 0;
};

/// Takes a descriptor over; only where that does not throw.
inline void hand_over(unique_fd& from, asio::posix::stream_descriptor& to) {
  to.assign(from.get());
  from.release();
}

/// The reading end of a pipe, or a terminal's master.
class descriptor_output final : public output_end {
 public:
  descriptor_output(const asio::any_io_executor& executor, unique_fd& fd) : descriptor_(executor) {
    hand_over(fd, descriptor_);
  }
  ssize_t read(std::byte* to, std::size_t most) noexcept override {
    ssize_t got = 0;
    do {
      got = ::read(descriptor_.native_handle(), to, most);
    } while (got < 0 && errno == EINTR);
    if (got >= 0) return got;
    return errno == EAGAIN ? -1 : 0;  // EIO: a terminal that nobody has open any more
  }
  std::size_t waiting() noexcept override {
    int count = 0;
    ::ioctl(descriptor_.native_handle(), FIONREAD, &count);
    return static_cast<std::size_t>(std::max(count, 0));
  }
  void wait(std::shared_ptr<end_listener> listener, std::size_t index) override {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                           [listener = std::move(listener), index](std::error_code failure) {
                             if (failure != asio::error::operation_aborted) listener->output_ready(index, failure);
                           });
  }
  void close() noexcept override {
    std::error_code ignored;  // a reading end
    descriptor_.close(ignored);
  }

 private:
  asio::posix::stream_descriptor descriptor_;
};

/// The writing end of a pipe, or a terminal's master.
class descriptor_input final : public input_end {
 public:
  /// \param fd           empty: closed from the start.
  /// \param is_terminal  its end is a character.
  descriptor_input(const asio::any_io_executor& executor, unique_fd& fd, bool is_terminal = false)
      : descriptor_(executor), is_terminal_(is_terminal) {
    if (fd) hand_over(fd, descriptor_);
  }
  bool is_open() const noexcept override { return descriptor_.is_open(); }
  ssize_t write(bytes_view data) override {
    ssize_t written = 0;
    do {
      written = write_without_sigpipe(descriptor_.native_handle(), data);
    } while (written < 0 && errno == EINTR);
    if (written > 0) is_line_start_ = data[static_cast<std::size_t>(written) - 1] == std::byte{'\n'};
    if (written >= 0) return written;
    return errno == EAGAIN ? -1 : -2;
  }
  void wait(std::shared_ptr<end_listener> listener) override {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_write,
                           [listener = std::move(listener)](std::error_code failure) {
                             if (failure != asio::error::operation_aborted) listener->input_ready(failure);
                           });
  }
  void close() noexcept override {
    if (is_terminal_ && descriptor_.is_open()) {
      // In the middle of a line the first ^D only hands the line over. No room for them: nobody reads.
      constexpr std::string_view ends = "\x04\x04";
      static_cast<void>(write(as_bytes(ends.substr(is_line_start_ ? 1 : 0))));
    }
    std::error_code ignored;  // closing our end of a pipe cannot fail in a way that matters
    descriptor_.close(ignored);
  }

 private:
  asio::posix::stream_descriptor descriptor_;
  bool is_terminal_;
  bool is_line_start_ = true;
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
#include <sys/ioctl.h>
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
  /// Paths to try for `execve`, in order, until one is found. At least one, or `program`.
  std::vector<std::string> candidates;
  /// An open ELF file to execute instead; 10 or above. Borrowed.
  int program = -1;
  /// argv, the program's own name first.
  std::vector<std::string> words;
  /// "NAME=value"; the whole environment of the new process.
  std::vector<std::string> variables;
  /// Its working directory; -1 keeps ours. Borrowed.
  int directory = -1;
  /// The same by name, for those who start it elsewhere; `spawn` does not look at it.
  std::string directory_path;
  /// Its standard input, output and error. Borrowed; above 2.
  int input = -1;
  int output = -1;
  int error = -1;
  /// Its standard input is a terminal, and becomes its controlling one.
  bool is_terminal = false;
  /// A fourth descriptor, which becomes number 3. Borrowed; above 2.
  int control = -1;
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
  if (request.is_terminal && ::syscall(SYS_ioctl, request.input, TIOCSCTTY, 0) < 0)
    spawn_child_fails(plan, spawn_stage::descriptors);
  const kernel_sigaction default_action;
  for (int number = 1; number <= 64; ++number)
    ::syscall(SYS_rt_sigaction, number, &default_action, nullptr, sizeof default_action.mask);

  const int sources[3] = {request.input, request.output, request.error};
  for (int target = 0; target <= 2; ++target)
    if (::syscall(SYS_dup3, sources[target], target, 0) < 0) spawn_child_fails(plan, spawn_stage::descriptors);
  if (request.control == 3) {
    ::syscall(SYS_fcntl, 3, F_SETFD, 0);
  } else if (request.control > 3 && ::syscall(SYS_dup3, request.control, 3, 0) < 0) {
    spawn_child_fails(plan, spawn_stage::descriptors);
  }
  if (request.directory >= 0 && ::syscall(SYS_fchdir, request.directory) < 0)
    spawn_child_fails(plan, spawn_stage::directory);
  const unsigned first = request.control >= 0 ? 4 : 3;
  const unsigned kept = request.program >= 0 ? static_cast<unsigned>(request.program) : ~0U;
  bool closed = kept == ~0U ? ::syscall(SYS_close_range, first, ~0U, 0U) == 0
                            : ::syscall(SYS_close_range, first, kept - 1, 0U) == 0 &&
                                  ::syscall(SYS_close_range, kept + 1, ~0U, 0U) == 0;
  if (!closed) {
    // A kernel before 5.9, or a filter that forbids the call: one by one, up to the limit.
    for (rlim_t fd = first; fd < plan.files().rlim_max && fd < 1048576; ++fd)
      if (fd != kept) ::syscall(SYS_close, static_cast<int>(fd));
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

  if (request.program >= 0) {
    ::syscall(SYS_execveat, request.program, "", plan.words(), plan.variables(), AT_EMPTY_PATH);
    spawn_child_fails(plan, spawn_stage::exec);
  }
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
  if (request.candidates.empty() && request.program < 0) return {spawn_stage::exec, ENOENT};
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

// ---- cofferdam/os/terminal.hpp ----

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>

namespace cofferdam::inline v0::detail {

/// Gives a terminal another size. Failure means that it is gone.
inline void set_terminal_size(const unique_fd& terminal, terminal_size size) noexcept {
  winsize window{};
  window.ws_row = size.rows();
  window.ws_col = size.columns();
  ::ioctl(terminal.get(), TIOCSWINSZ, &window);
}

/// Both ends of a new terminal.
class terminal_ends {
 public:
  /// \throws error{errc::io_error} where the system has none left, or no /dev/ptmx.
  explicit terminal_ends(terminal_size size) {
    ours = usable(unique_fd(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)), "terminal");
    if (::unlockpt(ours.get()) != 0) throw failure();
    theirs.reset(::ioctl(ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!theirs) throw failure();
    theirs = usable(std::move(theirs), "terminal");
    set_terminal_size(ours, size);
  }
  unique_fd ours;  ///< non-blocking
  unique_fd theirs;

 private:
  static error failure() {
    const std::error_code cause(errno, std::system_category());
    return error(errc::io_error, "terminal: " + cause.message(), cause);
  }
};

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/os/command_pipes.hpp ----

#include <utility>

#include <fcntl.h>

namespace cofferdam::inline v0::detail {

/// The pipes between us and a command that is about to be started. Its ends are closed with this object.
class command_pipes {
 public:
  /// \param request  gets the command's ends, borrowed.
  /// \param nothing  what a command reads that is given no input.
  command_pipes(const command& c, spawn_request& request, int nothing) {
    if (c.terminal()) {
      use_terminal(*c.terminal(), request);
      return;
    }
    pipe_ends out = make_pipe();
    pipe_ends err = make_pipe();
    set_nonblocking(out.read_end);
    set_nonblocking(err.read_end);
    request.input = nothing;
    if (c.input() || c.has_open_input()) {
      pipe_ends in = make_pipe();
      set_nonblocking(in.write_end);
      input = std::move(in.write_end);
      theirs_[0] = std::move(in.read_end);
      request.input = theirs_[0].get();
    }
    output = std::move(out.read_end);
    error = std::move(err.read_end);
    theirs_[1] = std::move(out.write_end);
    theirs_[2] = std::move(err.write_end);
    request.output = theirs_[1].get();
    request.error = theirs_[2].get();
  }

  /// Our ends; no `input` where the command has none, no `error` where it has a terminal.
  unique_fd input;
  unique_fd output;
  unique_fd error;
  /// The command's terminal, for its size.
  unique_fd terminal;

 private:
  void use_terminal(terminal_size size, spawn_request& request) {
    terminal_ends made(size);
    input = usable(unique_fd(::fcntl(made.ours.get(), F_DUPFD_CLOEXEC, 3)), "terminal");
    terminal = usable(unique_fd(::fcntl(made.ours.get(), F_DUPFD_CLOEXEC, 3)), "terminal");
    output = std::move(made.ours);
    theirs_[0] = std::move(made.theirs);
    request.input = request.output = request.error = theirs_[0].get();
    request.is_terminal = true;
  }

  unique_fd theirs_[3];
};

}  // namespace cofferdam::inline v0::detail

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

// ---- cofferdam/os/running_command.hpp ----

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

/// Why a command is being ended by us.
enum class end_reason { none, timeout, cancelled, closed };

class running_command;

/// The commands of one environment: who they are, and a buffer they share, since one thread at a time reads.
class command_registry {
 public:
  static constexpr std::size_t scratch_size = 64 * 1024;

  command_registry() : scratch_(std::make_unique<std::byte[]>(scratch_size)) {}

  std::byte* scratch() noexcept { return scratch_.get(); }
  const std::vector<running_command*>& commands() const noexcept { return commands_; }
  void add(running_command* one) { commands_.push_back(one); }
  void remove(running_command* one) noexcept { std::erase(commands_, one); }

 private:
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<running_command*> commands_;
};

/// What a command is given and held to.
class command_limits {
 public:
  /// No value: no limit.
  std::optional<std::chrono::milliseconds> timeout;
  /// From SIGTERM to SIGKILL.
  std::chrono::milliseconds grace{500};
  /// How long what a command has left behind may go on holding the output once it has ended.
  std::chrono::milliseconds linger{100};
  std::size_t kept_output = command::default_kept_output;
  /// It has a terminal.
  bool terminal = false;
  /// Keep the input open after the first content.
  bool open_input = false;
  /// What it leaves running goes on.
  bool keeps_background = false;
};

/// A command that runs, as all who start commands see it: its streams, those who await it, its result. How it is
/// signalled and how its end is learned is for the derived class. Driven by handlers, not by whoever awaits it: the limit
/// holds and the end is seen even where nobody reads or waits. Every handler keeps it alive; it goes when they are done.
class running_command : public std::enable_shared_from_this<running_command>, public end_listener {
 public:
  running_command(const asio::any_io_executor& executor, std::shared_ptr<command_registry> registry,
                  const command_limits& limits, std::chrono::steady_clock::time_point started)
      : registry_(std::move(registry)),
        limits_(limits),
        started_(started),
        sources_{source(limits.kept_output), source(limits.kept_output)},
        changed_(executor, std::chrono::steady_clock::time_point::max()) {
    registry_->add(this);
  }
  running_command(const running_command&) = delete;
  running_command& operator=(const running_command&) = delete;
  virtual ~running_command() { registry_->remove(this); }

  /// Sends a signal to the command and its process group.
  virtual void send(int number) noexcept = 0;
  /// Ends the command: SIGTERM, the grace, SIGKILL. Only the first reason counts.
  virtual void end(end_reason reason) = 0;
  /// SIGKILL, now.
  virtual void kill() noexcept = 0;

  /// From now on takes all output as it comes, for the result only.
  void drain() {
    if (draining_) return;
    draining_ = true;
    for (std::size_t index = 0; index < 2; ++index) pump(index);
    outputs_changed();
  }

  /// Nobody awaits it any more: ends it like `abandon`, unless its result is there.
  void let_go() noexcept {
    if (!finished_) abandon();
  }

  /// For destructors: SIGKILL now, and nobody will read. The handlers see to the rest.
  void abandon() noexcept {
    if (settled()) return;
    if (!finished_ && ended_by_ == end_reason::none) ended_by_ = end_reason::closed;
    try {
      kill();
      close_input();
      drain();
    } catch (...) {  // no memory: what it had printed is lost, and whoever awaits it hears of that
      if (!finished_) failure_ = std::current_exception();
      for (source& each : sources_) close(each);
    }
  }

  /// The result is there.
  bool finished() const noexcept { return finished_; }
  /// And nothing of it is left.
  bool settled() const noexcept { return over_ && outputs_ended(); }
  end_reason ended_by() const noexcept { return ended_by_; }
  const command_result& result() const noexcept { return result_; }
  command_result take_result() { return std::move(result_); }

  /// What is known so far.
  std::shared_ptr<const command_result> partial() const {
    if (finished_) return std::make_shared<const command_result>(result_);
    auto sofar = std::make_shared<command_result>();
    sofar->out(sources_[0].collected.snapshot()).err(sources_[1].collected.snapshot());
    sofar->duration(std::chrono::steady_clock::now() - started_);
    return sofar;
  }

  /// Takes all output and waits until everything is over. Where the awaiting coroutine is cancelled, ends the command,
  /// waits for that, and throws error{errc::cancelled}; where the environment is closed, error{errc::environment_closed}.
  /// \param doing  the operation, for sentences.
  static awaitable<void> complete(std::shared_ptr<running_command> self, std::string doing) {
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
      co_await self->until_settled_shielded();
      co_await asio::this_coro::throw_if_cancelled(throws);
      throw error(errc::cancelled, doing + ": cancelled; the command was ended").with_partial(self->partial());
    }
    if (self->failure_) std::rethrow_exception(self->failure_);
    if (self->ended_by_ == end_reason::closed)
      throw error(errc::environment_closed, doing + ": the environment was closed; the command was ended")
          .with_partial(self->partial());
  }

  /// Waits until nothing of it is left, whatever is cancelled; see `shielded` for how to await it.
  awaitable<void> until_settled_shielded() {
    return shielded([self = shared_from_this()] { return self->settle_quietly(); });
  }

  /// The next piece of output; empty at the end.
  awaitable<chunk> read() {
    for (;;) {
      // Turn about, so that a busy stream does not hide the other one.
      for (std::size_t turn = 0; turn < 2; ++turn) {
        const std::size_t index = (last_read_ + 1 + turn) % 2;
        bytes data = take_piece(index);
        if (data.empty()) continue;
        last_read_ = index;
        co_return chunk(index == 0 ? output_stream::out : output_stream::err, std::move(data));
      }
      outputs_changed();
      if (outputs_complete()) co_return chunk();
      arm(0);
      arm(1);
      const bool cancelled = co_await changed();
      if (cancelled) throw error(errc::cancelled, "read: cancelled; the command runs on").with_partial(partial());
    }
  }

  awaitable<void> write_input(bytes_view data) {
    if (!limits_.open_input)
      throw error(errc::unsupported,
                  "write_input: the command's input was not left open; say open_input() on the command");
    while (!feeding_.empty() && input_->is_open()) {
      const bool cancelled = co_await changed();
      if (cancelled) throw error(errc::cancelled, "write_input: cancelled; nothing was written");
    }
    while (!data.empty()) {
      if (!input_->is_open())
        throw error(errc::io_error, "write_input: the command no longer reads its input",
                    std::make_error_code(std::errc::broken_pipe));
      const ssize_t written = input_->write(data);
      if (written >= 0) {
        data = data.subspan(static_cast<std::size_t>(written));
        continue;
      }
      if (written != -1) {
        close_input();
        continue;
      }
      arm_input();
      const bool cancelled = co_await changed();
      if (cancelled) throw error(errc::cancelled, "write_input: cancelled; part of the data may have been written");
    }
  }

  void resize(terminal_size size) {
    if (!limits_.terminal)
      throw error(errc::unsupported, "resize: the command has no terminal; say terminal() on the command");
    if (over_) return;
    if (terminal_)
      set_terminal_size(terminal_, size);
    else
      send_size(size);
  }

  void close_input() noexcept {
    feeding_.clear();
    if (input_) input_->close();
    wake();
  }

  void output_ready(std::size_t index, std::error_code failure) override {
    sources_[index].armed = false;
    if (failure) {
      cannot_watch(failure);
      close(sources_[index]);
    }
    if (draining_ || finished_) {
      pump(index);
      outputs_changed();
    } else {
      wake();
    }
  }

  void input_ready(std::error_code failure) override {
    input_armed_ = false;
    if (failure) close_input();
    feed();
  }

 protected:
  /// Where somebody else holds the terminal.
  virtual void send_size(terminal_size) {}

  /// Streams over pipes, or a terminal, whose other ends the command is given.
  void connect_pipes(const asio::any_io_executor& executor, command_pipes& pipes) {
    auto in = std::make_unique<descriptor_input>(executor, pipes.input, static_cast<bool>(pipes.terminal));
    auto out = std::make_unique<descriptor_output>(executor, pipes.output);
    std::unique_ptr<descriptor_output> err;
    if (pipes.error) err = std::make_unique<descriptor_output>(executor, pipes.error);
    connect(std::move(in), std::move(out), std::move(err));
    terminal_ = std::move(pipes.terminal);
  }

  /// Says where the streams are; the first thing after construction.
  void connect(std::unique_ptr<input_end> input, std::unique_ptr<output_end> output,
               std::unique_ptr<output_end> error) {
    input_ = std::move(input);
    sources_[0].end = std::move(output);
    sources_[1].end = std::move(error);
    for (source& each : sources_) each.ended = each.end == nullptr;
  }

  /// \param content  what the input is to hold first.
  void begin_input(bytes content) {
    feeding_ = std::move(content);
    feed();
  }

  /// Both outputs may have ended, or one of them has been read.
  virtual void outputs_changed() = 0;

  /// The loop refuses to wait for something: what nobody watches must not run.
  void cannot_watch(std::error_code cause) {
    kill();
    fail(error(errc::io_error, "the command was ended: its end or its output cannot be waited for: " + cause.message(),
               cause));
  }

  /// Whoever awaits the command gets this; the first one counts.
  void fail(const error& reason) {
    if (!failure_) failure_ = std::make_exception_ptr(reason);
  }
  bool failed() const noexcept { return failure_ != nullptr; }

  bool outputs_ended() const noexcept { return sources_[0].ended && sources_[1].ended; }
  /// All that belongs to the result has been taken.
  bool outputs_complete() const noexcept {
    return (sources_[0].ended || sources_[0].complete) && (sources_[1].ended || sources_[1].complete);
  }
  bool draining() const noexcept { return draining_; }
  bool over() const noexcept { return over_; }
  const command_limits& limits() const noexcept { return limits_; }
  std::chrono::steady_clock::time_point started() const noexcept { return started_; }
  void ended_by(end_reason reason) noexcept { ended_by_ = reason; }
  command_result& mutable_result() noexcept { return result_; }
  bool status_known_ = false;

  void take_what_is_there() {
    if (!draining_) return;
    for (std::size_t index = 0; index < 2; ++index) pump(index);
  }

  /// The command has ended, and what it has left running goes on. What stands in its outputs now is the last of the result;
  /// what comes later is taken too, so that whoever writes there goes on, and thrown away.
  void part() {
    if (parted_ || over_) return;
    parted_ = true;
    ended_at_ = std::chrono::steady_clock::now();
    for (source& each : sources_)
      if (!each.ended) each.left = each.end->waiting();
    take_what_is_there();
    finish_parted();
    wake();
  }

  void finish_parted() {
    if (!parted_ || finished_ || !outputs_complete()) return;
    finish();
    for (std::size_t index = 0; index < 2; ++index) pump(index);
  }

  /// Nothing of the command is waited for any longer. Somebody who was given one of its pipes may go on writing there;
  /// only what stands in it now is the command's output.
  void conclude() {
    if (!over_) {
      over_ = true;
      if (!parted_) {
        ended_at_ = std::chrono::steady_clock::now();
        for (source& each : sources_)
          if (!each.ended) each.left = each.end->waiting();
      }
    }
    take_what_is_there();
    if (finished_) {
      for (source& each : sources_) close(each);
      terminal_.reset();
    } else if (outputs_ended()) {
      finish();
    }
    wake();
  }

  /// Everything is over: for the derived class.
  virtual void on_finished() noexcept = 0;

  void wake() { changed_.cancel(); }

 private:
  /// One output stream.
  class source {
   public:
    explicit source(std::size_t keep) : collected(keep) {}
    std::unique_ptr<output_end> end;
    output_collector collected;
    std::size_t left = 0;   // once all is over: what had been written by then, and is still to be taken
    bool armed = false;     // a wait for readiness is under way
    bool complete = false;  // nothing more of it belongs to the result
    bool ended = false;     // nothing more will be taken from it
  };

  /// Waits until something has changed; true where the awaiting coroutine was cancelled.
  awaitable<bool> changed() {
    std::error_code woken;
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    co_return state.cancelled() != asio::cancellation_type::none;
  }

  awaitable<void> settle_quietly() {
    while (!settled()) co_await changed();
  }

  void arm(std::size_t index) {
    source& from = sources_[index];
    if (from.armed || from.ended || (from.complete && !finished_)) return;
    from.armed = true;
    from.end->wait(shared_from_this(), index);
  }

  void arm_input() {
    if (input_armed_ || !input_->is_open()) return;
    input_armed_ = true;
    input_->wait(shared_from_this());
  }

  /// Reads once into the shared buffer: bytes read, 0 where the stream has ended, -1 where nothing is there now.
  ssize_t read_once(source& from) {
    std::size_t most = command_registry::scratch_size;
    if (over_ || parted_) most = std::min(from.left, most);
    if (parted_ && !over_ && most == 0) {
      from.complete = true;
      return 0;
    }
    const ssize_t got = from.end->read(registry_->scratch(), most);
    if (got > 0) {
      from.collected.append(bytes_view(registry_->scratch(), static_cast<std::size_t>(got)));
      if (over_ || parted_) from.left -= static_cast<std::size_t>(got);
      return got;
    }
    if (got < 0 && !over_) return -1;
    close(from);
    return 0;
  }

  bytes take_piece(std::size_t index) {
    source& from = sources_[index];
    if (from.ended || from.complete) return {};
    const ssize_t got = read_once(from);
    if (got <= 0) return {};
    return {registry_->scratch(), registry_->scratch() + got};
  }

  /// Takes what is there, in bounded turns, and waits for more.
  void pump(std::size_t index) {
    source& from = sources_[index];
    if (finished_) {
      for (int turn = 0; turn < 16 && !from.ended; ++turn) {
        const ssize_t got = from.end->read(registry_->scratch(), command_registry::scratch_size);
        if (got < 0) break;
        if (got == 0) close(from);
      }
      arm(index);
      return;
    }
    try {
      for (int turn = 0; (turn < 16 || over_) && !from.ended; ++turn)
        if (read_once(from) <= 0) break;
    } catch (const std::bad_alloc&) {  // nobody could be given the rest
      failure_ = std::current_exception();
      kill();
      close(from);
    }
    arm(index);
  }

  static void close(source& from) noexcept {
    from.ended = true;
    if (from.end) from.end->close();
  }

  void feed() {
    while (!feeding_.empty() && input_->is_open()) {
      const bytes_view rest = bytes_view(feeding_).subspan(fed_);
      if (rest.empty()) {
        feeding_.clear();
        break;
      }
      const ssize_t written = input_->write(rest);
      if (written >= 0) {
        fed_ += static_cast<std::size_t>(written);
      } else if (written == -1) {
        arm_input();
        return;
      } else {
        close_input();  // the command no longer reads: its right
        return;
      }
    }
    if (!limits_.open_input) close_input();
    wake();
  }

  void finish() {
    finished_ = true;
    if (over_) terminal_.reset();
    on_finished();
    try {
      fill_result();
    } catch (const std::bad_alloc&) {
      failure_ = std::current_exception();
    }
    wake();
  }

  void fill_result() {
    result_.out(sources_[0].collected.take()).err(sources_[1].collected.take());
    result_.duration(ended_at_ - started_);
    if (result_.kind() != error_kind::none) return;  // it never ran: the reason is there
    if (ended_by_ == end_reason::timeout) {
      result_.kind(error_kind::timeout);
      result_.reason("Command timed out after " + seconds_text(*limits_.timeout) + " seconds");
    } else if (!status_known_) {
      describe_unknown_status(result_);
    }
  }

  /// Nobody can say how the command ended; says why.
  virtual void describe_unknown_status(command_result& result) = 0;

  static std::string seconds_text(std::chrono::milliseconds time) {
    std::string text = std::to_string(time.count() / 1000);
    if (const auto rest = time.count() % 1000; rest != 0) {
      std::string digits = std::to_string(1000 + rest).substr(1);
      while (digits.back() == '0') digits.pop_back();
      text += '.' + digits;
    }
    return text;
  }

  std::shared_ptr<command_registry> registry_;
  command_limits limits_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point ended_at_;
  std::unique_ptr<input_end> input_;
  std::array<source, 2> sources_;
  unique_fd terminal_;
  asio::steady_timer changed_;  // never expires; cancelling it wakes whoever waits
  bytes feeding_;
  std::size_t fed_ = 0;
  std::size_t last_read_ = 1;
  end_reason ended_by_ = end_reason::none;
  std::exception_ptr failure_;
  bool input_armed_ = false;
  bool draining_ = false;
  bool parted_ = false;    // it has ended, and left something running
  bool over_ = false;      // nothing of it runs, and the status is taken
  bool finished_ = false;  // and the output is complete
  command_result result_;
};

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/os/child_process.hpp ----

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam::inline v0::detail {

/// A child of this program: signalled by its process group, its end learned from its pidfd.
class child_process final : public running_command {
 public:
  /// \param pidfd  taken over only where this does not throw: else the caller can still end the process.
  child_process(const asio::any_io_executor& executor, std::shared_ptr<command_registry> registry, pid_t pid,
                unique_fd& pidfd, command_pipes pipes, const command_limits& limits,
                std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now())
      : running_command(executor, std::move(registry), limits, started),
        pid_(pid),
        pidfd_(executor),
        deadline_(executor),
        next_step_(executor) {
    connect_pipes(executor, pipes);
    hand_over(pidfd, pidfd_);
  }

  ~child_process() override {
    if (reaped_ || !pidfd_.is_open()) return;
    send(SIGKILL);
    if (!reap()) reaper::instance().adopt(unique_fd(pidfd_.release()));
  }

  /// Sets everything going. \param content  what the input is to hold first.
  void begin(bytes content) {
    watch_exit();
    if (limits().timeout) {
      // Far beyond any real limit, and short of what would overflow the clock.
      constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 3650);
      deadline_.expires_at(started() + std::min(*limits().timeout, longest));
      deadline_.async_wait([self = shared()](std::error_code failure) {
        if (!failure) self->end(end_reason::timeout);
      });
    }
    begin_input(std::move(content));
  }

  void end(end_reason reason) override {
    if (exited_ || ended_by() != end_reason::none) return;
    ended_by(reason);
    send(SIGTERM);
    send(SIGCONT);  // a stopped process takes the SIGTERM only when it goes on
    step_after(limits().grace, [](child_process& self) {
      self.kill();
      if (self.exited_) self.linger();
    });
  }

  void kill() noexcept override {
    killed_ = true;
    send(SIGKILL);
  }

  void send(int number) noexcept override {
    if (!reaped_) ::kill(-pid_, number);  // not reaped: nobody else can have this group's number
  }

 private:
  std::shared_ptr<child_process> shared() { return std::static_pointer_cast<child_process>(shared_from_this()); }

  template <class Step>
  void step_after(std::chrono::milliseconds delay, Step step) {
    next_step_.expires_after(delay);
    next_step_.async_wait([self = shared(), step](std::error_code failure) {
      if (!failure && !self->finished()) step(*self);
    });
  }

  /// Asio may wake a waiter for nothing: its state of an old descriptor, with an event still queued, becomes that of
  /// a new one. So look, and wait again.
  void watch_exit() {
    pidfd_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared()](std::error_code failure) {
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

  /// The command itself has ended. Its number stays reserved until `reap`.
  void on_exit() {
    exited_ = true;
    deadline_.cancel();
    close_input();
    take_what_is_there();
    if (outputs_ended()) {
      conclude_all();
    } else if (ended_by() == end_reason::none || killed_) {
      linger();
    }
    // else: what is left of its group has the rest of the grace.
  }

  void linger() {
    step_after(limits().linger, [](child_process& self) { self.conclude_all(); });
  }

  void outputs_changed() override {
    if (exited_ && outputs_ended()) conclude_all();
  }

  /// What is left of the group dies, and the status is taken.
  void conclude_all() {
    if (!over()) {
      next_step_.cancel();
      send(SIGKILL);
      reap();
    }
    conclude();
  }

  void on_finished() noexcept override {
    std::error_code ignored;  // the process is gone
    pidfd_.close(ignored);
  }

  void describe_unknown_status(command_result& result) override {
    result.kind(error_kind::execution_error);
    result.reason("The command's exit status was taken by another part of this program");
    result.advice("Do not wait for all children (wait, waitpid(-1)) in a program that runs commands.");
    result.cause(std::error_code(ECHILD, std::system_category()));
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
    command_result& all = mutable_result();
    if (info.si_code == CLD_EXITED) {
      all.exit_code(info.si_status);
    } else {
      all.term_signal(info.si_status);
    }
    const auto time = [](const timeval& value) {
      return std::chrono::seconds(value.tv_sec) + std::chrono::microseconds(value.tv_usec);
    };
    all.cpu_time(time(usage.ru_utime) + time(usage.ru_stime));
    all.peak_memory(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U);
    return true;
  }

  pid_t pid_;
  asio::posix::stream_descriptor pidfd_;
  asio::steady_timer deadline_;
  asio::steady_timer next_step_;
  bool killed_ = false;  // SIGKILL has been sent
  bool exited_ = false;  // the command is dead
  bool reaped_ = false;
};

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/os/command_keeper.hpp ----

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// How the commands of an environment are held.
class command_settings {
 public:
  /// The limit of commands that have none of their own; `no_timeout` for none.
  std::chrono::milliseconds default_timeout{std::chrono::minutes(5)};
  /// From SIGTERM to SIGKILL.
  std::chrono::milliseconds kill_grace{500};
  /// How long what a command has left behind may go on once it has ended.
  std::chrono::milliseconds output_grace{100};
  /// What every result says of the walls; may be null.
  std::shared_ptr<const protections> walls;
};

namespace detail {

/// What every kind of running command has in common, on the side of the environment.
class command_keeper : public std::enable_shared_from_this<command_keeper> {
 public:
  command_keeper(asio::any_io_executor executor, command_settings settings)
      : executor_(std::move(executor)),
        settings_(std::move(settings)),
        registry_(std::make_shared<command_registry>()),
        turn_(executor_) {}
  command_keeper(const command_keeper&) = delete;
  command_keeper& operator=(const command_keeper&) = delete;
  virtual ~command_keeper() = default;

  static awaitable<command_result> run(std::shared_ptr<command_keeper> self, command c, spawn_request request) {
    if (c.has_open_input())
      throw error(errc::invalid_argument, "run_command: open_input() needs start(); give the whole input with input()");
    if (!self->take_turn()) co_await next_turn(self, "run_command");
    launched started = self->launch_checked(c, request);
    if (!started.running) co_return std::move(started.refusal);
    const abandon_at_end guard(started.running);
    co_await running_command::complete(started.running, "run_command");
    command_result result = started.running->take_result();
    result.walls(self->settings_.walls);
    co_return result;
  }

  static awaitable<process> start(std::shared_ptr<command_keeper> self, command c, spawn_request request) {
    if (!self->take_turn()) co_await next_turn(self, "start");
    launched started = self->launch_checked(c, request);
    if (!started.running) co_return process::finished(std::move(started.refusal));
    std::unique_ptr<handle> made;
    try {
      made = std::make_unique<handle>(std::move(self), started.running);
    } catch (...) {
      started.running->abandon();
      throw;
    }
    co_return process(std::move(made));
  }

  /// Ends every command and waits for that.
  static awaitable<void> close(std::shared_ptr<command_keeper> self) {
    self->closing_ = true;
    const std::vector<std::shared_ptr<running_command>> running = self->living();
    for (const std::shared_ptr<running_command>& one : running) {
      one->end(end_reason::closed);
      one->drain();
    }
    for (const std::shared_ptr<running_command>& one : running) co_await one->until_settled_shielded();
    reaper::instance().sweep();
  }

  void abandon() noexcept {
    closing_ = true;
    const std::vector<running_command*>& all = registry_->commands();
    for (std::size_t i = all.size(); i-- > 0;)  // backwards: one that goes takes itself out of the list
      if (const std::shared_ptr<running_command> kept = all[i]->weak_from_this().lock()) kept->abandon();
  }

 protected:
  /// A started command, or the result that says why there is none.
  class launched {
   public:
    std::shared_ptr<running_command> running;
    command_result refusal;
  };

  virtual launched launch(command& c, spawn_request& request) = 0;

  void require_open() const {
    if (closing_) throw error(errc::environment_closed, "the environment is closed; open another one");
  }

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  const std::shared_ptr<command_registry>& registry() const noexcept { return registry_; }
  const command_settings& settings() const noexcept { return settings_; }
  void set_walls(std::shared_ptr<const protections> walls) noexcept { settings_.walls = std::move(walls); }

  command_limits limits_of(const command& c) const {
    command_limits limits;
    limits.timeout = c.timeout().value_or(settings_.default_timeout);
    if (*limits.timeout == no_timeout) limits.timeout.reset();
    limits.grace = settings_.kill_grace;
    limits.linger = settings_.output_grace;
    limits.kept_output = c.kept_output().value_or(command::default_kept_output);
    limits.open_input = c.has_open_input();
    limits.terminal = c.terminal().has_value();
    limits.keeps_background = c.background() == background_policy::keep;
    return limits;
  }

  std::vector<std::shared_ptr<running_command>> living() const {
    std::vector<std::shared_ptr<running_command>> all;
    for (running_command* one : registry_->commands())
      if (std::shared_ptr<running_command> kept = one->weak_from_this().lock()) all.push_back(std::move(kept));
    return all;
  }

 private:
  /// A coroutine that is thrown away while its command runs must not leave it running.
  class abandon_at_end {
   public:
    explicit abandon_at_end(std::shared_ptr<running_command> running) : running_(std::move(running)) {}
    abandon_at_end(const abandon_at_end&) = delete;
    abandon_at_end& operator=(const abandon_at_end&) = delete;
    ~abandon_at_end() { running_->let_go(); }

   private:
    std::shared_ptr<running_command> running_;
  };

  class handle final : public process::implementation {
   public:
    handle(std::shared_ptr<command_keeper> keeper, std::shared_ptr<running_command> running)
        : keeper_(std::move(keeper)), running_(std::move(running)) {}
    ~handle() override { running_->let_go(); }

    awaitable<chunk> read() override { return running_->read(); }
    awaitable<void> write_input(bytes_view data) override { return running_->write_input(data); }
    awaitable<void> close_input() override {
      running_->close_input();
      co_return;
    }
    awaitable<void> signal(int number) override {
      if (number < 1 || number > 64)
        throw error(errc::invalid_argument, "signal: " + std::to_string(number) + " is no signal; they are 1 to 64");
      running_->send(number);
      co_return;
    }
    awaitable<void> resize(std::uint16_t rows, std::uint16_t columns) override {
      running_->resize(terminal_size(rows, columns));
      co_return;
    }
    awaitable<command_result> wait() override {
      co_await running_command::complete(running_, "wait");
      command_result result = running_->result();
      result.walls(keeper_->settings_.walls);
      co_return result;
    }

   private:
    std::shared_ptr<command_keeper> keeper_;
    std::shared_ptr<running_command> running_;
  };

  launched launch_checked(command& c, spawn_request& request) {
    require_open();
    try {
      return launch(c, request);
    } catch (const error&) {
      throw;
    } catch (const std::system_error& failure) {  // Asio's
      throw error(errc::io_error, std::string("the command was ended: it cannot be watched: ") + failure.what(),
                  failure.code());
    }
  }

  // A start takes a tenth of a millisecond. Where hundreds come at once, the loop's timers and sockets get their turn after
  // every few.
  static constexpr int most_starts = 32;

  bool take_turn() {
    if (starts_ == most_starts) return false;
    ++starts_;
    if (!turn_ends_) begin_turn();
    return true;
  }

  /// The turn ends when the loop has looked at its timers.
  void begin_turn() {
    turn_ends_ = true;
    turn_.expires_at(std::chrono::steady_clock::time_point());
    turn_.async_wait([kept = weak_from_this()](std::error_code) {
      const std::shared_ptr<command_keeper> self = kept.lock();
      if (!self) return;
      self->starts_ = 0;
      self->turn_ends_ = false;
    });
  }

  static awaitable<void> next_turn(std::shared_ptr<command_keeper> self, const char* doing) {
    do {
      std::error_code woken;
      co_await self->turn_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none)
        throw error(errc::cancelled, std::string(doing) + ": cancelled before the command was started");
    } while (!self->take_turn());
  }

  asio::any_io_executor executor_;
  command_settings settings_;
  std::shared_ptr<command_registry> registry_;
  asio::steady_timer turn_;
  int starts_ = 0;  // in this turn
  bool turn_ends_ = false;
  bool closing_ = false;
};

}  // namespace detail
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

// ---- cofferdam/os/command_request.hpp ----

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
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

/// What a command runs, for sentences.
inline std::string shown_program(const command& c) {
  return c.is_shell() ? "the shell" : "\"" + one_line(c.words().front()) + "\"";
}

/// The result of a command that could not be started: the step that failed, the system's code, and what to do.
/// \param program  as `shown_program` has it.
inline command_result refuse_unstarted(const std::string& program, spawn_stage stage, std::error_code cause) {
  const int number = cause.value();
  error_kind kind = error_kind::execution_error;
  std::string advice;
  switch (stage) {
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
      command_result::refused(kind, "Cannot run " + program + ": " + cause.message(), std::move(advice));
  result.cause(cause);
  return result;
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/os/child_processes.hpp ----

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>

namespace cofferdam::inline v0 {

namespace detail {

/// Starts commands as children of this program.
class child_keeper final : public command_keeper {
 public:
  child_keeper(asio::any_io_executor executor, command_settings settings)
      : command_keeper(std::move(executor), std::move(settings)) {
    reaper::instance().sweep();
    require_child_status();
    nothing_ = usable(unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), "/dev/null");
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

 private:
  launched launch(command& c, spawn_request& request) override {
    if (c.background() == background_policy::keep)
      throw error(errc::unsupported, "command: what it leaves running can be kept only where a warden watches it");
    launched outcome;
    command_pipes pipes(c, request, nothing_.get());
    const auto before = std::chrono::steady_clock::now();
    spawned started = spawn(request);
    if (!started.ok()) {
      outcome.refusal = refuse_unstarted(shown_program(c), started.stage(), started.cause());
      return outcome;
    }
    std::shared_ptr<child_process> child;
    try {
      child = std::make_shared<child_process>(executor(), registry(), started.pid(), started.pidfd(), std::move(pipes),
                                              limits_of(c), before);
      child->begin(c.take_input());
    } catch (...) {  // it runs already, and nobody is going to know it
      if (child) {
        child->abandon();
      } else {
        ::kill(-started.pid(), SIGKILL);
        reaper::instance().adopt(std::move(started.pidfd()));
      }
      throw;
    }
    outcome.running = std::move(child);
    return outcome;
  }

  unique_fd nothing_;
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
  explicit child_processes(asio::any_io_executor executor, command_settings settings = command_settings())
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
    return detail::command_keeper::run(keeper_, std::move(c), std::move(request));
  }

  /// Starts a command: what `start` of an environment does.
  awaitable<process> start(command c, spawn_request request) {
    return detail::command_keeper::start(keeper_, std::move(c), std::move(request));
  }

  /// Ends every child and waits for that; whoever awaits one gets error{errc::environment_closed}. Not cancelled.
  awaitable<void> close() {
    return detail::shielded([keeper = keeper_] { return detail::command_keeper::close(keeper); });
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

// ---- cofferdam/os/path_error.hpp ----

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace cofferdam::inline v0::detail {

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

}  // namespace cofferdam::inline v0::detail

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

// ---- cofferdam/os/machine.hpp ----

#include <string_view>

namespace cofferdam::inline v0 {

/// The kind of machine that this program was compiled for, as `uname -m` calls it; empty for one that has no warden.
constexpr std::string_view native_machine() noexcept {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "";
#endif
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/warden/image_aarch64.hpp ----

// Written by ./dev warden from warden/program; not to be edited.

#include <string_view>

namespace cofferdam::inline v0::wire {

/// The warden for aarch64, as an ELF file: 31960 bytes.
inline constexpr unsigned char image_aarch64[] = {
    // clang-format off
    127, 69, 76, 70, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 183, 0, 1, 0, 0, 0, 232, 0, 64, 0, 0, 0, 0, 0, 64, 0, 0,
    0, 0, 0, 0, 0, 152, 123, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 56, 0, 3, 0, 64, 0, 5, 0, 4, 0, 1, 0, 0, 0, 5, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 115, 123, 0, 0, 0, 0, 0, 0, 115, 123,
    0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0, 128, 65, 0, 0, 0, 0,
    0, 0, 128, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 248, 141, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 81, 229,
    116, 100, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 253, 3, 31, 170, 224, 3, 0, 145, 31, 236, 124, 146, 173, 26, 0,
    148, 0, 0, 32, 212, 33, 236, 124, 146, 34, 12, 191, 169, 226, 3, 31, 170, 227, 3, 31, 170, 228, 3, 31, 170, 136,
    27, 128, 210, 1, 0, 0, 212, 128, 0, 0, 181, 226, 3, 193, 168, 64, 0, 63, 214, 0, 0, 32, 212, 192, 3, 95, 214, 65,
    1, 0, 144, 34, 0, 64, 249, 65, 128, 64, 185, 63, 0, 0, 107, 160, 1, 0, 84, 67, 116, 64, 185, 1, 0, 128, 210, 127,
    0, 1, 107, 104, 0, 0, 84, 0, 0, 128, 82, 192, 3, 95, 214, 69, 4, 64, 249, 36, 236, 124, 211, 33, 4, 0, 145, 164,
    104, 100, 184, 159, 0, 0, 107, 225, 254, 255, 84, 32, 0, 128, 82, 248, 255, 255, 23, 230, 3, 0, 170, 136, 27, 128,
    210, 64, 1, 128, 210, 1, 0, 128, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212,
    31, 88, 0, 177, 129, 0, 0, 84, 32, 2, 128, 210, 223, 0, 1, 57, 1, 0, 0, 212, 192, 3, 95, 214, 232, 3, 0, 170, 224,
    3, 1, 170, 225, 3, 2, 170, 226, 3, 3, 170, 227, 3, 4, 170, 228, 3, 5, 170, 229, 3, 6, 170, 1, 0, 0, 212, 192, 3,
    95, 214, 253, 123, 190, 169, 228, 3, 4, 42, 131, 128, 3, 170, 253, 3, 0, 145, 228, 67, 0, 145, 6, 0, 128, 210, 5,
    0, 128, 210, 226, 19, 0, 185, 34, 0, 128, 210, 227, 15, 0, 249, 35, 124, 64, 147, 1, 124, 64, 147, 160, 2, 128,
    210, 234, 255, 255, 151, 253, 123, 194, 168, 192, 3, 95, 214, 253, 123, 190, 169, 228, 3, 4, 42, 131, 128, 3, 170,
    253, 3, 0, 145, 228, 67, 0, 145, 6, 0, 128, 210, 5, 0, 128, 210, 226, 19, 0, 185, 98, 0, 128, 210, 227, 15, 0, 249,
    35, 124, 64, 147, 1, 124, 64, 147, 160, 2, 128, 210, 218, 255, 255, 151, 253, 123, 194, 168, 192, 3, 95, 214, 1,
    136, 64, 185, 193, 2, 248, 55, 2, 48, 66, 57, 130, 2, 0, 53, 2, 12, 84, 169, 66, 0, 68, 145, 66, 0, 3, 203, 3, 1,
    136, 210, 227, 0, 160, 242, 95, 0, 3, 235, 169, 1, 0, 84, 34, 0, 128, 82, 2, 48, 2, 57, 3, 136, 73, 169, 4, 0, 128,
    82, 0, 28, 64, 185, 127, 0, 2, 235, 34, 0, 128, 82, 229, 7, 159, 26, 2, 0, 168, 114, 227, 0, 128, 82, 66, 8, 5, 42,
    218, 255, 255, 23, 192, 3, 95, 214, 71, 59, 0, 144, 230, 3, 0, 170, 231, 96, 0, 145, 192, 136, 64, 185, 194, 140,
    73, 169, 224, 1, 248, 55, 127, 0, 2, 235, 0, 2, 0, 84, 225, 0, 2, 139, 0, 124, 64, 147, 98, 0, 2, 203, 200, 25,
    128, 210, 3, 8, 136, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 31, 16, 0, 177, 64, 254, 255, 84, 193, 76,
    64, 249, 0, 1, 248, 182, 193, 128, 73, 169, 63, 0, 0, 235, 65, 0, 0, 84, 223, 252, 9, 169, 224, 3, 6, 170, 223, 48,
    2, 57, 206, 255, 255, 23, 0, 0, 1, 139, 192, 76, 0, 249, 230, 255, 255, 23, 228, 3, 1, 170, 65, 0, 64, 185, 129, 3,
    248, 55, 69, 128, 64, 57, 69, 3, 0, 53, 69, 4, 64, 249, 101, 0, 0, 181, 69, 8, 64, 249, 197, 2, 0, 181, 5, 24, 84,
    169, 165, 0, 68, 145, 165, 0, 6, 203, 230, 255, 135, 210, 230, 0, 160, 242, 191, 0, 6, 235, 233, 1, 0, 84, 37, 0,
    128, 82, 69, 128, 0, 57, 2, 0, 64, 249, 0, 28, 64, 185, 132, 0, 2, 203, 98, 116, 145, 210, 194, 69, 183, 242, 132,
    252, 68, 147, 2, 93, 212, 242, 98, 209, 229, 242, 132, 124, 2, 27, 34, 0, 128, 82, 2, 0, 168, 114, 157, 255, 255,
    23, 192, 3, 95, 214, 3, 0, 128, 210, 68, 0, 3, 203, 159, 28, 0, 241, 104, 1, 0, 84, 67, 252, 67, 211, 228, 0, 128,
    146, 99, 124, 4, 155, 66, 0, 3, 139, 4, 0, 3, 203, 33, 0, 3, 203, 3, 0, 128, 210, 95, 0, 3, 235, 193, 0, 0, 84,
    192, 3, 95, 214, 36, 104, 99, 248, 4, 104, 35, 248, 99, 32, 0, 145, 240, 255, 255, 23, 37, 104, 99, 56, 133, 104,
    35, 56, 99, 4, 0, 145, 246, 255, 255, 23, 31, 0, 1, 235, 137, 0, 0, 84, 35, 0, 2, 139, 31, 0, 3, 235, 131, 0, 0,
    84, 229, 255, 255, 23, 35, 104, 98, 56, 3, 104, 34, 56, 66, 4, 0, 209, 95, 4, 0, 177, 129, 255, 255, 84, 192, 3,
    95, 214, 253, 123, 191, 169, 233, 3, 2, 42, 230, 3, 0, 170, 253, 3, 0, 145, 2, 164, 64, 249, 106, 36, 0, 145, 0, 2,
    160, 210, 71, 51, 0, 144, 0, 0, 2, 203, 43, 28, 0, 18, 232, 3, 3, 170, 231, 96, 0, 145, 31, 0, 10, 235, 34, 1, 0,
    84, 193, 160, 64, 249, 224, 3, 7, 170, 66, 0, 1, 203, 225, 0, 1, 139, 226, 255, 255, 151, 193, 0, 84, 169, 0, 0, 1,
    203, 223, 0, 20, 169, 193, 164, 64, 249, 224, 0, 1, 139, 232, 104, 33, 184, 0, 36, 0, 145, 11, 176, 31, 56, 9, 192,
    31, 184, 193, 164, 64, 249, 253, 123, 193, 168, 33, 0, 10, 139, 193, 164, 0, 249, 192, 3, 95, 214, 253, 123, 191,
    169, 236, 3, 3, 170, 77, 28, 0, 18, 253, 3, 0, 145, 226, 3, 1, 42, 236, 3, 12, 75, 163, 0, 128, 210, 33, 15, 128,
    18, 215, 255, 255, 151, 13, 0, 0, 57, 12, 16, 0, 184, 253, 123, 193, 168, 192, 3, 95, 214, 3, 0, 128, 210, 95, 0,
    3, 235, 65, 0, 0, 84, 192, 3, 95, 214, 1, 104, 35, 56, 99, 4, 0, 145, 251, 255, 255, 23, 33, 4, 0, 209, 4, 0, 128,
    210, 95, 0, 4, 235, 97, 0, 0, 84, 0, 0, 128, 82, 7, 0, 0, 20, 3, 104, 100, 56, 132, 4, 0, 145, 37, 104, 100, 56,
    127, 0, 5, 107, 0, 255, 255, 84, 96, 0, 5, 75, 192, 3, 95, 214, 225, 3, 0, 170, 0, 0, 128, 210, 34, 104, 96, 56,
    66, 0, 0, 53, 192, 3, 95, 214, 0, 4, 0, 145, 252, 255, 255, 23, 7, 124, 64, 147, 253, 123, 191, 169, 253, 3, 0,
    145, 225, 3, 7, 170, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 2, 0, 128, 210, 192, 11, 128,
    210, 13, 255, 255, 151, 248, 255, 255, 23, 253, 123, 190, 169, 6, 0, 128, 210, 5, 0, 128, 210, 253, 3, 0, 145, 226,
    67, 0, 145, 4, 0, 128, 210, 3, 0, 128, 210, 33, 0, 128, 210, 32, 14, 128, 210, 255, 127, 1, 169, 1, 255, 255, 151,
    226, 7, 65, 169, 0, 125, 128, 210, 253, 123, 194, 168, 33, 8, 192, 154, 0, 72, 136, 210, 224, 1, 160, 242, 64, 4,
    0, 155, 192, 3, 95, 214, 1, 0, 64, 185, 231, 3, 0, 170, 225, 1, 248, 55, 253, 123, 191, 169, 33, 124, 64, 147, 6,
    0, 128, 210, 253, 3, 0, 145, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 2, 0, 128, 210, 32, 7, 128, 210, 236,
    254, 255, 151, 253, 123, 193, 168, 0, 0, 128, 18, 224, 0, 0, 185, 192, 3, 95, 214, 0, 0, 128, 18, 224, 0, 0, 185,
    192, 3, 95, 214, 35, 0, 64, 185, 67, 2, 248, 55, 253, 123, 190, 169, 231, 3, 1, 170, 33, 0, 192, 210, 253, 3, 0,
    145, 225, 15, 0, 249, 228, 67, 0, 145, 1, 28, 128, 185, 99, 124, 64, 147, 6, 0, 128, 210, 5, 0, 128, 210, 66, 0,
    128, 210, 160, 2, 128, 210, 255, 19, 0, 185, 213, 254, 255, 151, 253, 123, 194, 168, 224, 3, 7, 170, 218, 255, 255,
    23, 192, 3, 95, 214, 253, 123, 190, 169, 253, 3, 0, 145, 243, 11, 0, 249, 243, 3, 1, 170, 33, 0, 128, 82, 97, 154,
    1, 57, 97, 14, 64, 185, 97, 0, 32, 54, 97, 170, 66, 57, 97, 0, 0, 52, 97, 130, 1, 145, 225, 255, 255, 151, 97, 54,
    64, 249, 1, 1, 0, 180, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 34, 0, 160, 210, 224, 26,
    128, 210, 188, 254, 255, 151, 127, 54, 0, 249, 127, 118, 0, 185, 243, 11, 64, 249, 253, 123, 194, 168, 192, 3, 95,
    214, 34, 0, 64, 57, 226, 4, 0, 52, 253, 123, 190, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 1, 170, 34, 168,
    66, 57, 130, 3, 0, 52, 34, 16, 64, 185, 66, 3, 248, 54, 34, 56, 64, 185, 2, 3, 248, 54, 244, 3, 0, 170, 217, 255,
    255, 151, 98, 6, 64, 185, 3, 2, 128, 210, 65, 15, 128, 18, 224, 3, 20, 170, 68, 255, 255, 151, 97, 22, 64, 249, 1,
    0, 0, 249, 3, 22, 128, 82, 97, 42, 64, 249, 1, 4, 0, 249, 127, 2, 0, 57, 128, 126, 64, 185, 0, 4, 0, 81, 128, 126,
    0, 185, 128, 114, 64, 185, 192, 0, 0, 52, 0, 4, 0, 81, 130, 2, 64, 249, 1, 124, 163, 155, 65, 104, 97, 56, 129, 0,
    0, 52, 243, 83, 65, 169, 253, 123, 194, 168, 192, 3, 95, 214, 128, 114, 0, 185, 245, 255, 255, 23, 192, 3, 95, 214,
    35, 52, 64, 57, 3, 1, 0, 53, 3, 120, 64, 185, 34, 0, 128, 82, 33, 16, 0, 145, 99, 4, 0, 81, 3, 120, 0, 185, 34, 36,
    0, 57, 161, 255, 255, 23, 192, 3, 95, 214, 225, 3, 0, 170, 2, 0, 128, 18, 0, 8, 64, 249, 2, 8, 0, 185, 34, 0, 128,
    82, 32, 8, 64, 249, 2, 168, 2, 57, 2, 0, 128, 146, 32, 8, 64, 249, 2, 76, 0, 249, 32, 8, 64, 249, 2, 72, 0, 249,
    32, 4, 64, 169, 34, 8, 0, 185, 2, 120, 64, 185, 66, 4, 0, 17, 2, 120, 0, 185, 95, 32, 0, 113, 168, 0, 0, 84, 2,
    108, 64, 57, 98, 0, 0, 53, 34, 48, 64, 57, 66, 0, 0, 52, 223, 255, 255, 23, 192, 3, 95, 214, 66, 0, 13, 50, 6, 124,
    64, 147, 227, 3, 3, 42, 66, 124, 64, 147, 224, 3, 6, 170, 8, 7, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0,
    212, 31, 16, 0, 177, 64, 255, 255, 84, 192, 3, 95, 214, 6, 124, 64, 147, 224, 3, 6, 170, 232, 7, 128, 210, 3, 0,
    128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 31, 16, 0, 177, 32, 255, 255, 84, 192, 3, 95, 214, 253,
    123, 188, 169, 253, 3, 0, 145, 243, 83, 1, 169, 245, 91, 2, 169, 247, 99, 3, 169, 247, 3, 3, 42, 67, 0, 64, 185,
    95, 128, 0, 57, 195, 9, 248, 55, 85, 8, 64, 249, 244, 3, 0, 170, 246, 3, 1, 170, 243, 3, 2, 170, 149, 2, 0, 181,
    193, 0, 0, 144, 224, 3, 3, 42, 33, 0, 0, 145, 34, 0, 160, 210, 228, 255, 255, 151, 31, 0, 0, 241, 173, 5, 0, 84,
    97, 14, 64, 249, 32, 0, 0, 139, 96, 14, 0, 249, 227, 3, 23, 42, 226, 3, 19, 170, 247, 99, 67, 169, 225, 3, 22, 170,
    245, 91, 66, 169, 224, 3, 20, 170, 243, 83, 65, 169, 253, 123, 196, 168, 147, 254, 255, 23, 66, 4, 64, 249, 130, 6,
    0, 180, 1, 12, 84, 169, 33, 0, 68, 145, 33, 0, 3, 203, 227, 255, 135, 210, 227, 0, 160, 242, 63, 0, 3, 235, 169, 5,
    0, 84, 191, 2, 2, 235, 33, 0, 160, 210, 181, 146, 130, 154, 194, 6, 64, 185, 191, 66, 64, 241, 181, 146, 129, 154,
    225, 250, 1, 17, 227, 3, 21, 170, 194, 254, 255, 151, 225, 3, 0, 170, 248, 3, 0, 170, 96, 2, 64, 185, 226, 3, 21,
    170, 191, 255, 255, 151, 31, 0, 0, 241, 130, 166, 64, 249, 3, 160, 159, 154, 66, 0, 21, 203, 66, 0, 3, 139, 130,
    166, 0, 249, 12, 2, 0, 84, 66, 36, 0, 209, 130, 166, 0, 249, 96, 0, 0, 180, 31, 44, 0, 177, 160, 250, 255, 84, 225,
    3, 19, 170, 224, 3, 20, 170, 42, 255, 255, 151, 247, 99, 67, 169, 225, 3, 22, 170, 245, 91, 66, 169, 224, 3, 20,
    170, 243, 83, 65, 169, 253, 123, 196, 168, 81, 255, 255, 23, 3, 115, 31, 184, 96, 6, 64, 249, 0, 0, 3, 203, 96, 6,
    0, 249, 96, 10, 64, 249, 0, 0, 3, 203, 96, 10, 0, 249, 195, 255, 255, 23, 243, 83, 65, 169, 245, 91, 66, 169, 247,
    99, 67, 169, 253, 123, 196, 168, 192, 3, 95, 214, 6, 124, 64, 147, 224, 3, 6, 170, 8, 8, 128, 210, 3, 0, 128, 210,
    4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 31, 16, 0, 177, 32, 255, 255, 84, 192, 3, 95, 214, 253, 123, 189,
    169, 253, 3, 0, 145, 243, 83, 1, 169, 244, 3, 0, 170, 243, 3, 1, 170, 63, 144, 1, 57, 96, 154, 65, 57, 98, 118, 64,
    185, 128, 5, 0, 53, 98, 2, 0, 53, 96, 150, 65, 57, 127, 114, 0, 185, 64, 5, 0, 52, 96, 154, 65, 57, 0, 5, 0, 53,
    96, 14, 64, 185, 0, 1, 32, 54, 128, 128, 128, 82, 224, 83, 0, 121, 96, 98, 64, 185, 225, 163, 0, 145, 98, 158, 65,
    57, 66, 4, 0, 145, 223, 255, 255, 151, 225, 3, 19, 170, 224, 3, 20, 170, 5, 255, 255, 151, 27, 0, 0, 20, 97, 54,
    64, 249, 226, 3, 2, 42, 96, 114, 64, 185, 33, 0, 0, 139, 96, 98, 64, 185, 213, 255, 255, 151, 31, 44, 0, 177, 161,
    4, 0, 84, 32, 0, 128, 82, 96, 146, 1, 57, 100, 116, 145, 210, 97, 98, 64, 185, 128, 2, 64, 249, 196, 69, 183, 242,
    4, 93, 212, 242, 130, 0, 128, 82, 96, 2, 0, 203, 100, 209, 229, 242, 195, 0, 128, 82, 2, 0, 168, 114, 0, 252, 68,
    147, 4, 124, 4, 27, 128, 30, 64, 185, 213, 253, 255, 151, 96, 118, 64, 185, 160, 250, 255, 52, 96, 122, 64, 185,
    225, 255, 135, 82, 31, 0, 1, 107, 136, 0, 0, 84, 97, 118, 64, 185, 65, 1, 0, 53, 32, 1, 0, 52, 98, 6, 64, 185, 225,
    14, 128, 18, 224, 3, 20, 170, 131, 0, 128, 210, 78, 254, 255, 151, 97, 122, 64, 185, 1, 0, 0, 185, 127, 122, 0,
    185, 243, 83, 65, 169, 253, 123, 195, 168, 192, 3, 95, 214, 97, 138, 78, 41, 224, 0, 248, 182, 33, 0, 2, 11, 127,
    134, 14, 41, 224, 3, 20, 170, 225, 3, 19, 170, 209, 254, 255, 151, 229, 255, 255, 23, 99, 114, 64, 185, 33, 0, 0,
    75, 101, 54, 64, 249, 99, 0, 0, 11, 100, 4, 0, 81, 66, 0, 0, 11, 164, 104, 100, 56, 99, 6, 14, 41, 159, 40, 0, 113,
    98, 122, 0, 185, 228, 7, 159, 26, 100, 158, 1, 57, 170, 255, 255, 23, 253, 123, 188, 169, 253, 3, 0, 145, 243, 83,
    1, 169, 244, 3, 3, 170, 3, 0, 128, 82, 245, 91, 2, 169, 246, 3, 2, 170, 2, 0, 128, 82, 32, 255, 255, 151, 224, 63,
    0, 185, 245, 3, 0, 42, 192, 0, 248, 54, 0, 124, 64, 147, 243, 83, 65, 169, 245, 91, 66, 169, 253, 123, 196, 168,
    192, 3, 95, 214, 148, 6, 0, 209, 19, 0, 128, 210, 130, 2, 19, 203, 193, 2, 19, 139, 224, 3, 21, 42, 30, 255, 255,
    151, 31, 0, 0, 241, 141, 0, 0, 84, 115, 2, 0, 139, 127, 2, 20, 235, 1, 255, 255, 84, 224, 243, 0, 145, 125, 254,
    255, 151, 224, 3, 19, 170, 223, 106, 51, 56, 237, 255, 255, 23, 253, 123, 181, 169, 7, 124, 64, 147, 159, 0, 0,
    241, 0, 4, 0, 79, 224, 227, 1, 145, 253, 3, 0, 145, 225, 139, 2, 169, 0, 0, 0, 173, 224, 163, 0, 145, 224, 71, 0,
    249, 224, 7, 159, 154, 0, 4, 0, 145, 227, 147, 3, 169, 255, 255, 4, 169, 255, 255, 5, 169, 255, 255, 6, 169, 224,
    75, 0, 249, 255, 87, 0, 249, 224, 131, 137, 60, 102, 2, 0, 180, 198, 16, 0, 145, 233, 35, 1, 145, 224, 3, 0, 178,
    232, 3, 5, 170, 198, 244, 126, 211, 225, 99, 0, 145, 2, 2, 128, 210, 230, 131, 1, 169, 224, 3, 9, 170, 210, 253,
    255, 151, 194, 64, 0, 209, 198, 36, 0, 209, 198, 240, 125, 146, 225, 3, 8, 170, 224, 99, 1, 145, 198, 64, 0, 145,
    203, 253, 255, 151, 233, 155, 9, 169, 224, 3, 7, 170, 225, 227, 1, 145, 104, 26, 128, 210, 2, 8, 136, 210, 3, 0,
    128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 31, 16, 0, 177, 224, 254, 255, 84, 253, 123, 203, 168, 192,
    3, 95, 214, 253, 123, 189, 169, 253, 3, 0, 145, 243, 11, 0, 249, 243, 3, 1, 170, 1, 0, 128, 146, 97, 74, 0, 249,
    97, 10, 64, 185, 193, 3, 248, 55, 98, 78, 64, 249, 95, 4, 0, 177, 97, 3, 0, 84, 0, 4, 64, 249, 40, 124, 124, 147,
    6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 7, 208, 33, 139, 1, 104, 104, 184, 66, 2, 128, 210,
    32, 16, 128, 210, 42, 253, 255, 151, 255, 67, 2, 248, 255, 47, 0, 185, 96, 0, 128, 82, 224, 35, 0, 185, 225, 131,
    0, 145, 224, 4, 64, 185, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 2, 2, 128, 210, 174, 255, 255, 151, 19,
    254, 255, 151, 0, 244, 64, 145, 0, 64, 2, 145, 96, 78, 0, 249, 243, 11, 64, 249, 253, 123, 195, 168, 192, 3, 95,
    214, 225, 2, 248, 55, 253, 123, 190, 169, 66, 28, 0, 18, 99, 28, 0, 18, 253, 3, 0, 145, 0, 4, 64, 249, 255, 31, 0,
    185, 255, 67, 1, 248, 68, 0, 128, 82, 226, 119, 0, 57, 6, 0, 128, 210, 0, 208, 33, 139, 227, 123, 0, 57, 2, 2, 128,
    210, 5, 0, 128, 210, 225, 99, 34, 139, 3, 0, 128, 210, 0, 4, 64, 185, 228, 19, 0, 185, 4, 0, 128, 210, 146, 255,
    255, 151, 253, 123, 194, 168, 192, 3, 95, 214, 192, 3, 95, 214, 253, 123, 189, 169, 253, 3, 0, 145, 243, 83, 1,
    169, 243, 3, 1, 170, 244, 3, 3, 42, 245, 19, 0, 249, 245, 3, 0, 170, 32, 160, 66, 57, 160, 0, 0, 53, 32, 164, 66,
    57, 96, 0, 0, 53, 66, 28, 0, 18, 34, 160, 2, 57, 0, 0, 128, 146, 96, 70, 0, 249, 96, 170, 66, 57, 192, 3, 0, 53,
    96, 78, 64, 249, 31, 4, 0, 177, 97, 3, 0, 84, 96, 174, 66, 57, 32, 3, 0, 53, 244, 0, 0, 53, 225, 3, 19, 170, 224,
    3, 21, 170, 243, 83, 65, 169, 245, 19, 64, 249, 253, 123, 195, 168, 164, 255, 255, 23, 215, 253, 255, 151, 1, 125,
    128, 82, 148, 2, 161, 155, 96, 74, 64, 249, 31, 4, 0, 177, 96, 0, 0, 84, 96, 162, 66, 57, 192, 0, 0, 53, 97, 10,
    64, 185, 224, 3, 21, 170, 227, 1, 128, 82, 66, 0, 128, 82, 191, 255, 255, 151, 96, 74, 64, 249, 159, 2, 0, 235, 66,
    0, 0, 84, 116, 74, 0, 249, 243, 83, 65, 169, 245, 19, 64, 249, 253, 123, 195, 168, 192, 3, 95, 214, 0, 4, 0, 79,
    253, 123, 165, 169, 253, 3, 0, 145, 225, 139, 5, 169, 225, 227, 1, 145, 98, 0, 2, 50, 243, 83, 1, 169, 244, 3, 6,
    170, 66, 124, 64, 147, 245, 91, 2, 169, 6, 124, 64, 147, 247, 99, 3, 169, 247, 3, 4, 170, 248, 3, 5, 170, 249, 107,
    4, 169, 249, 195, 2, 145, 32, 0, 0, 173, 225, 99, 1, 145, 225, 71, 0, 249, 33, 0, 128, 210, 159, 2, 0, 249, 225,
    75, 0, 249, 1, 32, 128, 210, 249, 79, 0, 249, 225, 83, 0, 249, 255, 87, 0, 249, 224, 3, 6, 170, 225, 227, 1, 145,
    136, 26, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 245, 3, 0, 170, 31, 16, 0, 177,
    224, 254, 255, 84, 96, 7, 248, 183, 230, 171, 64, 185, 22, 0, 128, 210, 198, 12, 67, 211, 231, 83, 64, 249, 192,
    66, 0, 145, 31, 0, 7, 235, 137, 0, 0, 84, 102, 6, 0, 52, 19, 0, 128, 210, 44, 0, 0, 20, 33, 3, 22, 139, 224, 163,
    1, 145, 2, 2, 128, 210, 25, 253, 255, 151, 243, 55, 64, 249, 127, 62, 0, 241, 233, 254, 255, 84, 231, 0, 22, 203,
    127, 2, 7, 235, 136, 254, 255, 84, 225, 59, 64, 249, 224, 3, 0, 178, 63, 0, 0, 235, 97, 2, 0, 84, 26, 2, 128, 210,
    13, 0, 0, 20, 224, 179, 2, 145, 130, 0, 128, 210, 1, 0, 1, 139, 224, 83, 1, 145, 8, 253, 255, 151, 128, 2, 64, 249,
    31, 0, 24, 235, 162, 1, 0, 84, 1, 4, 0, 145, 129, 2, 0, 249, 225, 87, 64, 185, 225, 122, 32, 184, 90, 19, 0, 145,
    65, 3, 22, 139, 127, 2, 26, 235, 34, 254, 255, 84, 115, 30, 0, 145, 115, 242, 125, 146, 214, 2, 19, 139, 214, 255,
    255, 23, 224, 83, 1, 145, 129, 253, 255, 151, 38, 0, 128, 82, 245, 255, 255, 23, 224, 10, 19, 139, 115, 6, 0, 145,
    124, 253, 255, 151, 128, 2, 64, 249, 127, 2, 0, 235, 99, 255, 255, 84, 213, 8, 128, 146, 159, 2, 0, 249, 243, 83,
    65, 169, 224, 3, 21, 170, 245, 91, 66, 169, 247, 99, 67, 169, 249, 107, 68, 169, 253, 123, 219, 168, 192, 3, 95,
    214, 225, 3, 0, 170, 0, 64, 64, 57, 128, 0, 0, 52, 34, 0, 64, 169, 95, 0, 0, 235, 224, 23, 159, 26, 192, 3, 95,
    214, 255, 67, 0, 209, 3, 0, 128, 210, 69, 1, 128, 82, 36, 8, 197, 26, 230, 3, 1, 42, 130, 132, 5, 27, 225, 3, 4,
    42, 66, 192, 0, 17, 226, 107, 35, 56, 226, 3, 3, 170, 99, 4, 0, 145, 223, 36, 0, 113, 232, 254, 255, 84, 65, 124,
    64, 147, 227, 3, 0, 170, 228, 107, 97, 56, 33, 4, 0, 209, 100, 20, 0, 56, 63, 4, 0, 49, 129, 255, 255, 84, 66, 4,
    0, 17, 255, 67, 0, 145, 0, 192, 34, 139, 192, 3, 95, 214, 2, 0, 128, 210, 35, 104, 98, 56, 131, 0, 0, 53, 31, 104,
    34, 56, 0, 0, 2, 139, 192, 3, 95, 214, 3, 104, 34, 56, 66, 4, 0, 145, 249, 255, 255, 23, 3, 0, 64, 249, 127, 0, 1,
    235, 64, 3, 0, 84, 99, 0, 64, 57, 99, 192, 0, 81, 99, 28, 0, 18, 127, 36, 0, 113, 168, 2, 0, 84, 69, 1, 128, 82,
    95, 0, 0, 185, 3, 0, 64, 249, 63, 0, 3, 235, 192, 0, 0, 84, 100, 0, 64, 57, 131, 192, 0, 81, 99, 28, 0, 18, 127,
    36, 0, 113, 105, 0, 0, 84, 32, 0, 128, 82, 10, 0, 0, 20, 67, 0, 64, 185, 99, 16, 5, 27, 99, 192, 0, 81, 67, 0, 0,
    185, 3, 0, 64, 249, 99, 4, 0, 145, 3, 0, 0, 249, 239, 255, 255, 23, 0, 0, 128, 82, 192, 3, 95, 214, 255, 195, 16,
    209, 253, 123, 0, 169, 253, 3, 0, 145, 243, 11, 0, 249, 243, 3, 0, 170, 0, 40, 64, 185, 96, 2, 248, 55, 231, 195,
    0, 145, 0, 124, 64, 147, 225, 3, 7, 170, 104, 8, 128, 210, 226, 127, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5,
    0, 128, 210, 1, 0, 0, 212, 232, 3, 0, 170, 31, 0, 0, 241, 237, 0, 0, 84, 41, 0, 0, 208, 230, 3, 7, 170, 41, 113,
    41, 145, 255, 104, 32, 56, 192, 0, 64, 57, 96, 0, 0, 53, 0, 0, 128, 82, 22, 0, 0, 20, 225, 3, 9, 170, 224, 3, 6,
    170, 34, 1, 128, 210, 216, 252, 255, 151, 160, 2, 0, 53, 223, 0, 7, 235, 128, 0, 0, 84, 192, 240, 95, 56, 31, 40,
    0, 113, 1, 2, 0, 84, 198, 36, 0, 145, 225, 0, 8, 139, 226, 147, 0, 145, 224, 163, 0, 145, 255, 39, 0, 185, 230, 23,
    0, 249, 183, 255, 255, 151, 96, 46, 64, 185, 225, 39, 64, 185, 97, 46, 0, 185, 32, 0, 0, 75, 253, 123, 64, 169,
    243, 11, 64, 249, 255, 195, 16, 145, 192, 3, 95, 214, 198, 4, 0, 145, 226, 255, 255, 23, 12, 18, 130, 210, 255, 99,
    44, 203, 253, 123, 0, 169, 253, 3, 0, 145, 243, 83, 1, 169, 244, 3, 0, 170, 224, 129, 0, 240, 245, 91, 2, 169, 0,
    244, 77, 185, 247, 99, 3, 169, 31, 0, 0, 113, 13, 1, 0, 84, 33, 0, 0, 208, 226, 67, 1, 145, 33, 152, 41, 145, 3, 0,
    129, 210, 73, 254, 255, 151, 31, 0, 0, 241, 140, 11, 0, 84, 253, 123, 64, 169, 12, 18, 130, 210, 243, 83, 65, 169,
    245, 91, 66, 169, 247, 99, 67, 169, 255, 99, 44, 139, 192, 3, 95, 214, 0, 4, 0, 145, 1, 0, 64, 57, 63, 0, 0, 113,
    36, 24, 74, 122, 129, 255, 255, 84, 63, 0, 0, 113, 31, 0, 0, 57, 24, 4, 128, 154, 225, 3, 22, 170, 224, 3, 19, 170,
    98, 0, 128, 210, 155, 252, 255, 151, 230, 3, 0, 42, 96, 2, 64, 57, 31, 232, 0, 113, 4, 24, 64, 122, 33, 4, 0, 84,
    225, 3, 23, 170, 224, 3, 19, 170, 2, 1, 128, 210, 146, 252, 255, 151, 245, 3, 0, 42, 166, 3, 0, 53, 224, 67, 33,
    145, 33, 0, 0, 208, 33, 252, 41, 145, 111, 255, 255, 151, 97, 10, 0, 145, 109, 255, 255, 151, 33, 0, 0, 208, 33,
    56, 42, 145, 106, 255, 255, 151, 225, 67, 33, 145, 3, 0, 128, 82, 2, 0, 128, 82, 96, 12, 128, 18, 67, 253, 255,
    151, 224, 79, 0, 185, 0, 2, 248, 54, 245, 1, 0, 53, 3, 0, 128, 82, 2, 0, 128, 82, 33, 0, 0, 208, 96, 12, 128, 18,
    33, 204, 42, 145, 58, 253, 255, 151, 7, 0, 0, 20, 224, 3, 19, 170, 209, 255, 255, 23, 115, 6, 0, 145, 219, 255,
    255, 23, 0, 3, 0, 52, 0, 0, 128, 18, 224, 79, 0, 185, 224, 79, 64, 185, 64, 1, 248, 55, 40, 3, 128, 210, 0, 124,
    64, 147, 193, 128, 128, 210, 66, 1, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 128,
    42, 0, 185, 243, 3, 24, 170, 224, 51, 1, 145, 150, 252, 255, 151, 96, 2, 64, 57, 96, 0, 0, 52, 128, 42, 64, 185, 0,
    253, 255, 55, 224, 3, 20, 170, 103, 255, 255, 151, 175, 255, 255, 23, 224, 67, 33, 145, 33, 0, 0, 208, 33, 116, 42,
    145, 59, 255, 255, 151, 97, 34, 0, 145, 57, 255, 255, 151, 33, 0, 0, 208, 33, 32, 43, 145, 204, 255, 255, 23, 54,
    0, 0, 208, 55, 0, 0, 208, 243, 67, 1, 145, 214, 202, 41, 145, 247, 218, 41, 145, 235, 255, 255, 23, 253, 123, 188,
    169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 1, 170, 245, 91, 2, 169, 245, 3, 2, 170, 34, 0, 128, 82, 247, 27, 0,
    249, 247, 3, 0, 170, 34, 164, 2, 57, 2, 0, 128, 146, 34, 68, 0, 249, 155, 252, 255, 151, 160, 34, 64, 57, 31, 4, 0,
    113, 160, 6, 64, 185, 33, 6, 0, 84, 31, 36, 0, 113, 33, 6, 0, 84, 96, 162, 66, 57, 224, 5, 0, 53, 224, 3, 23, 170,
    64, 255, 255, 151, 246, 3, 0, 42, 98, 6, 64, 185, 97, 15, 128, 18, 99, 5, 128, 210, 224, 3, 23, 170, 251, 251, 255,
    151, 244, 3, 0, 170, 160, 34, 64, 57, 128, 2, 0, 57, 160, 6, 64, 185, 128, 18, 0, 184, 96, 162, 66, 57, 128, 22, 0,
    57, 72, 252, 255, 151, 97, 66, 64, 249, 0, 0, 1, 203, 128, 98, 0, 248, 160, 10, 64, 249, 128, 226, 0, 248, 160, 14,
    64, 249, 128, 98, 1, 248, 160, 18, 64, 249, 128, 226, 1, 248, 150, 98, 2, 184, 160, 38, 64, 57, 128, 170, 0, 57,
    32, 3, 0, 52, 96, 14, 64, 185, 224, 2, 40, 55, 96, 162, 66, 57, 160, 2, 0, 53, 96, 174, 66, 57, 96, 2, 0, 53, 96,
    166, 64, 185, 128, 1, 0, 53, 245, 91, 66, 169, 225, 3, 19, 170, 243, 83, 65, 169, 224, 3, 23, 170, 247, 27, 64,
    249, 253, 123, 196, 168, 248, 253, 255, 23, 31, 36, 2, 113, 208, 255, 255, 23, 22, 0, 128, 82, 212, 255, 255, 23,
    39, 252, 255, 151, 97, 166, 64, 185, 2, 125, 128, 82, 33, 0, 162, 155, 97, 74, 0, 249, 243, 83, 65, 169, 245, 91,
    66, 169, 247, 27, 64, 249, 253, 123, 196, 168, 192, 3, 95, 214, 253, 123, 184, 169, 253, 3, 0, 145, 243, 83, 1,
    169, 243, 3, 0, 170, 245, 91, 2, 169, 245, 3, 1, 170, 247, 27, 0, 249, 160, 6, 64, 185, 0, 11, 248, 55, 0, 124, 64,
    147, 225, 99, 1, 145, 232, 25, 128, 210, 2, 5, 128, 210, 3, 8, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 255, 255,
    5, 169, 255, 255, 6, 169, 255, 63, 0, 249, 1, 0, 0, 212, 31, 16, 0, 177, 64, 254, 255, 84, 31, 0, 2, 235, 129, 8,
    0, 84, 182, 10, 64, 185, 214, 253, 255, 55, 0, 22, 128, 82, 243, 87, 4, 169, 119, 2, 64, 249, 214, 126, 32, 155,
    224, 91, 64, 185, 244, 2, 22, 139, 244, 43, 0, 249, 31, 12, 0, 113, 96, 6, 0, 84, 40, 1, 0, 84, 31, 4, 0, 113, 96,
    2, 0, 84, 31, 8, 0, 113, 0, 5, 0, 84, 225, 3, 20, 170, 224, 3, 19, 170, 72, 252, 255, 151, 220, 255, 255, 23, 31,
    16, 0, 113, 96, 5, 0, 84, 31, 20, 0, 113, 33, 255, 255, 84, 130, 6, 64, 185, 193, 14, 128, 18, 224, 3, 19, 170,
    131, 0, 128, 210, 148, 251, 255, 151, 225, 95, 64, 185, 1, 0, 0, 185, 241, 255, 255, 23, 227, 95, 64, 185, 224, 3,
    19, 170, 226, 131, 65, 57, 129, 6, 64, 185, 227, 3, 3, 75, 99, 124, 64, 147, 171, 251, 255, 151, 224, 3, 1, 145,
    101, 252, 255, 151, 129, 66, 0, 145, 224, 3, 19, 170, 1, 252, 255, 151, 129, 226, 0, 145, 224, 3, 19, 170, 254,
    251, 255, 151, 224, 3, 19, 170, 225, 3, 20, 170, 15, 252, 255, 151, 255, 106, 54, 56, 96, 126, 64, 185, 0, 4, 0,
    81, 96, 126, 0, 185, 185, 255, 255, 23, 224, 3, 19, 170, 226, 99, 1, 145, 225, 3, 20, 170, 95, 255, 255, 151, 224,
    135, 65, 57, 128, 250, 255, 53, 224, 3, 1, 145, 79, 252, 255, 151, 209, 255, 255, 23, 32, 0, 128, 146, 128, 78, 0,
    249, 206, 255, 255, 23, 31, 44, 0, 177, 128, 0, 0, 84, 161, 18, 0, 145, 224, 3, 19, 170, 229, 251, 255, 151, 243,
    83, 65, 169, 245, 91, 66, 169, 247, 27, 64, 249, 253, 123, 200, 168, 192, 3, 95, 214, 255, 3, 10, 209, 253, 123, 0,
    169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 245, 91, 2, 169, 247, 99, 3, 169, 249, 35, 0, 249, 96, 34,
    64, 185, 225, 3, 2, 145, 2, 64, 128, 210, 90, 252, 255, 151, 31, 0, 0, 241, 108, 255, 255, 84, 118, 0, 128, 210,
    21, 0, 128, 146, 22, 0, 168, 242, 55, 1, 128, 210, 225, 83, 1, 145, 226, 3, 22, 170, 136, 32, 128, 210, 0, 0, 128,
    146, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 255, 87, 0, 185, 1, 0, 0, 212, 225, 3, 0, 170, 31, 16, 0, 177,
    160, 254, 255, 84, 31, 0, 0, 241, 109, 12, 0, 84, 230, 3, 0, 42, 96, 130, 64, 185, 226, 83, 65, 57, 63, 0, 0, 107,
    64, 8, 0, 84, 99, 118, 64, 185, 0, 0, 128, 210, 127, 0, 0, 107, 73, 253, 255, 84, 120, 6, 64, 249, 25, 236, 124,
    211, 4, 107, 121, 184, 20, 19, 0, 139, 0, 4, 0, 145, 223, 0, 4, 107, 1, 255, 255, 84, 95, 252, 1, 113, 96, 8, 0,
    84, 128, 6, 64, 185, 128, 0, 248, 55, 225, 3, 20, 170, 224, 3, 19, 170, 101, 255, 255, 151, 224, 3, 19, 170, 129,
    18, 0, 145, 166, 251, 255, 151, 128, 54, 64, 57, 192, 0, 0, 53, 128, 10, 64, 185, 128, 0, 248, 54, 96, 122, 64,
    185, 0, 4, 0, 81, 96, 122, 0, 185, 129, 10, 64, 185, 161, 2, 248, 55, 96, 2, 64, 249, 2, 22, 128, 82, 33, 0, 34,
    155, 0, 0, 128, 18, 32, 8, 0, 185, 32, 0, 128, 82, 32, 172, 2, 57, 32, 164, 66, 57, 53, 212, 8, 169, 53, 76, 0,
    249, 32, 1, 0, 53, 64, 32, 128, 82, 255, 255, 5, 169, 226, 99, 1, 145, 224, 195, 0, 121, 224, 3, 19, 170, 255, 255,
    6, 169, 255, 63, 0, 249, 247, 254, 255, 151, 127, 46, 0, 249, 224, 127, 96, 178, 0, 107, 57, 248, 0, 0, 128, 18,
    128, 10, 0, 185, 159, 26, 0, 121, 96, 118, 64, 185, 160, 246, 255, 52, 2, 4, 0, 81, 0, 4, 0, 81, 97, 6, 64, 249, 0,
    236, 124, 211, 32, 104, 96, 184, 224, 245, 255, 53, 98, 118, 0, 185, 247, 255, 255, 23, 95, 252, 1, 113, 96, 0, 0,
    84, 127, 130, 0, 185, 169, 255, 255, 23, 96, 134, 64, 185, 66, 2, 128, 210, 6, 0, 128, 210, 0, 4, 0, 17, 96, 134,
    0, 185, 31, 12, 0, 113, 226, 130, 130, 154, 32, 16, 128, 210, 81, 250, 255, 151, 159, 255, 255, 23, 128, 50, 64,
    57, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 0, 4, 0, 17, 3, 0, 128, 210, 0, 28, 0, 18, 128, 50, 0, 57, 31,
    12, 0, 113, 104, 0, 0, 84, 66, 2, 128, 210, 242, 255, 255, 23, 34, 1, 128, 210, 240, 255, 255, 23, 253, 123, 64,
    169, 243, 83, 65, 169, 245, 91, 66, 169, 247, 99, 67, 169, 249, 35, 64, 249, 255, 3, 10, 145, 192, 3, 95, 214, 2,
    4, 64, 185, 1, 64, 34, 139, 33, 64, 64, 121, 33, 0, 2, 11, 1, 4, 0, 185, 192, 3, 95, 214, 253, 123, 189, 169, 253,
    3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 244, 3, 1, 170, 245, 19, 0, 249, 21, 64, 0, 145, 63, 0, 0, 249, 96,
    134, 64, 41, 63, 0, 0, 107, 232, 2, 0, 84, 96, 2, 128, 185, 225, 3, 21, 170, 168, 7, 128, 210, 2, 0, 132, 210, 3,
    0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 31, 8, 0, 177, 225, 0, 0, 84, 159, 2, 0, 249, 0, 0, 128,
    210, 243, 83, 65, 169, 245, 19, 64, 249, 253, 123, 195, 168, 192, 3, 95, 214, 128, 2, 0, 249, 31, 0, 0, 241, 45,
    255, 255, 84, 127, 6, 0, 185, 128, 2, 64, 249, 96, 10, 0, 185, 98, 6, 64, 185, 66, 76, 0, 145, 160, 2, 2, 139, 161,
    106, 98, 56, 63, 184, 0, 113, 33, 254, 255, 84, 1, 4, 64, 57, 161, 0, 0, 52, 63, 184, 0, 113, 161, 253, 255, 84, 1,
    8, 64, 57, 97, 253, 255, 53, 224, 3, 19, 170, 204, 255, 255, 151, 217, 255, 255, 23, 253, 123, 187, 169, 253, 3, 0,
    145, 243, 83, 1, 169, 244, 3, 0, 170, 245, 19, 0, 249, 245, 3, 1, 170, 225, 3, 1, 145, 255, 63, 0, 185, 200, 255,
    255, 151, 243, 3, 0, 170, 96, 0, 0, 181, 0, 0, 128, 82, 15, 0, 0, 20, 224, 3, 20, 170, 243, 39, 0, 249, 187, 255,
    255, 151, 224, 3, 19, 170, 213, 250, 255, 151, 226, 243, 0, 145, 97, 2, 0, 139, 224, 35, 1, 145, 176, 253, 255,
    151, 31, 28, 0, 114, 0, 1, 0, 84, 224, 63, 64, 185, 192, 0, 0, 52, 179, 2, 0, 249, 243, 83, 65, 169, 245, 19, 64,
    249, 253, 123, 197, 168, 192, 3, 95, 214, 225, 3, 1, 145, 224, 3, 20, 170, 231, 255, 255, 23, 136, 21, 128, 210, 0,
    0, 128, 210, 1, 0, 128, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 192, 3,
    95, 214, 253, 123, 187, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 245, 91, 2, 169, 54, 28, 0, 18, 1, 0,
    128, 146, 247, 27, 0, 249, 1, 40, 0, 249, 1, 108, 64, 57, 129, 10, 0, 53, 33, 0, 128, 82, 1, 108, 0, 57, 1, 64, 0,
    145, 231, 250, 255, 151, 96, 98, 64, 57, 128, 0, 0, 53, 97, 82, 0, 145, 224, 3, 19, 170, 226, 250, 255, 151, 224,
    3, 19, 170, 97, 34, 2, 145, 223, 250, 255, 151, 96, 130, 64, 185, 7, 0, 128, 82, 128, 2, 0, 52, 41, 0, 128, 210,
    10, 72, 136, 210, 9, 0, 168, 242, 234, 1, 160, 242, 96, 130, 64, 185, 226, 3, 9, 170, 136, 32, 128, 210, 1, 0, 128,
    210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 64, 0, 0, 180, 127, 130, 0, 185, 96, 130, 64,
    185, 231, 4, 0, 17, 96, 0, 0, 52, 255, 32, 3, 113, 193, 0, 0, 84, 202, 255, 255, 151, 31, 4, 0, 113, 225, 5, 0, 84,
    0, 0, 128, 82, 145, 250, 255, 151, 225, 3, 1, 145, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210,
    2, 0, 128, 210, 160, 12, 128, 210, 255, 43, 4, 169, 159, 249, 255, 151, 227, 255, 255, 23, 97, 2, 64, 249, 160,
    126, 183, 155, 52, 0, 0, 139, 32, 104, 96, 56, 32, 2, 0, 52, 226, 3, 22, 42, 3, 0, 128, 82, 225, 3, 20, 170, 224,
    3, 19, 170, 149, 252, 255, 151, 159, 18, 0, 249, 159, 38, 0, 249, 129, 66, 0, 145, 224, 3, 19, 170, 171, 250, 255,
    151, 129, 226, 0, 145, 224, 3, 19, 170, 168, 250, 255, 151, 225, 3, 20, 170, 224, 3, 19, 170, 211, 250, 255, 151,
    181, 6, 0, 17, 96, 114, 64, 185, 31, 0, 21, 107, 8, 253, 255, 84, 20, 0, 128, 82, 96, 118, 64, 185, 31, 0, 20, 107,
    72, 1, 0, 84, 243, 83, 65, 169, 245, 91, 66, 169, 247, 27, 64, 249, 253, 123, 197, 168, 192, 3, 95, 214, 214, 10,
    0, 17, 21, 0, 128, 82, 23, 22, 128, 82, 241, 255, 255, 23, 98, 6, 64, 249, 128, 126, 124, 211, 65, 0, 0, 139, 64,
    104, 96, 184, 160, 0, 0, 52, 32, 8, 64, 185, 96, 0, 248, 54, 224, 3, 19, 170, 226, 250, 255, 151, 148, 6, 0, 17,
    234, 255, 255, 23, 231, 3, 0, 170, 0, 108, 64, 57, 64, 10, 0, 53, 38, 51, 0, 240, 198, 96, 0, 145, 227, 8, 84, 169,
    127, 0, 2, 235, 64, 2, 0, 84, 97, 0, 6, 139, 66, 0, 3, 203, 227, 96, 64, 57, 224, 20, 128, 185, 67, 9, 0, 52, 200,
    25, 128, 210, 3, 8, 136, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 31, 16, 0, 177, 64, 254, 255, 84, 31,
    44, 0, 177, 129, 8, 0, 84, 225, 0, 84, 169, 63, 0, 0, 235, 65, 0, 0, 84, 255, 124, 20, 169, 253, 123, 191, 169,
    253, 3, 0, 145, 225, 0, 84, 169, 63, 0, 0, 235, 224, 100, 64, 57, 226, 7, 159, 26, 31, 0, 2, 107, 160, 1, 0, 84,
    225, 96, 64, 57, 226, 100, 0, 57, 66, 116, 30, 83, 224, 28, 64, 185, 129, 7, 0, 52, 225, 104, 64, 57, 4, 0, 128,
    82, 35, 0, 128, 82, 33, 0, 0, 82, 34, 0, 2, 42, 225, 16, 64, 185, 88, 249, 255, 151, 224, 4, 84, 169, 98, 255, 191,
    18, 227, 104, 64, 57, 0, 0, 68, 145, 0, 0, 1, 203, 31, 0, 2, 235, 225, 135, 159, 26, 127, 0, 1, 107, 192, 1, 0, 84,
    31, 0, 2, 235, 224, 96, 64, 57, 225, 104, 0, 57, 226, 151, 159, 26, 225, 16, 64, 185, 64, 5, 0, 52, 224, 100, 64,
    57, 0, 116, 30, 83, 2, 0, 2, 42, 224, 28, 64, 185, 4, 0, 128, 82, 35, 0, 128, 82, 66, 249, 255, 151, 224, 4, 84,
    169, 0, 0, 68, 145, 0, 0, 1, 203, 225, 255, 135, 210, 225, 0, 160, 242, 31, 0, 1, 235, 9, 1, 0, 84, 9, 0, 128, 82,
    11, 22, 128, 82, 224, 3, 7, 170, 71, 249, 255, 151, 224, 112, 64, 185, 63, 1, 0, 107, 227, 2, 0, 84, 253, 123, 193,
    168, 192, 3, 95, 214, 255, 124, 20, 169, 192, 3, 95, 214, 8, 8, 128, 210, 3, 0, 128, 210, 183, 255, 255, 23, 160,
    0, 248, 182, 255, 124, 20, 169, 224, 3, 7, 170, 1, 0, 128, 82, 54, 255, 255, 23, 225, 160, 64, 249, 32, 0, 0, 139,
    224, 160, 0, 249, 164, 255, 255, 23, 36, 0, 128, 82, 225, 20, 64, 185, 227, 3, 4, 42, 200, 255, 255, 23, 0, 0, 128,
    82, 216, 255, 255, 23, 224, 0, 64, 249, 42, 125, 171, 155, 1, 0, 10, 139, 0, 104, 106, 56, 96, 1, 0, 52, 34, 64, 0,
    145, 224, 3, 7, 170, 131, 0, 128, 82, 91, 249, 255, 151, 225, 0, 64, 249, 224, 3, 7, 170, 163, 0, 128, 82, 33, 0,
    10, 139, 34, 224, 0, 145, 85, 249, 255, 151, 41, 5, 0, 17, 215, 255, 255, 23, 253, 123, 182, 169, 2, 0, 136, 82, 3,
    0, 128, 82, 253, 3, 0, 145, 2, 4, 160, 114, 33, 0, 0, 208, 96, 12, 128, 18, 33, 112, 43, 145, 243, 83, 1, 169, 245,
    19, 0, 249, 127, 250, 255, 151, 224, 67, 0, 185, 96, 4, 248, 55, 0, 124, 64, 147, 40, 3, 128, 210, 193, 128, 128,
    210, 66, 1, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 243, 3, 0, 170, 224, 3, 1, 145,
    228, 249, 255, 151, 243, 2, 248, 55, 117, 126, 64, 147, 226, 67, 1, 145, 224, 3, 21, 170, 200, 9, 128, 210, 33, 0,
    0, 208, 3, 2, 128, 210, 33, 136, 43, 145, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 255, 71, 0, 185, 226, 39,
    0, 249, 31, 0, 0, 241, 172, 1, 0, 84, 225, 3, 21, 170, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128,
    210, 2, 0, 128, 210, 32, 7, 128, 210, 197, 248, 255, 151, 243, 83, 65, 169, 245, 19, 64, 249, 253, 123, 202, 168,
    192, 3, 95, 214, 84, 0, 0, 139, 226, 19, 1, 145, 225, 3, 20, 170, 224, 35, 1, 145, 125, 252, 255, 151, 31, 28, 0,
    114, 192, 253, 255, 84, 224, 39, 64, 249, 159, 2, 0, 235, 97, 253, 255, 84, 212, 254, 255, 151, 244, 3, 0, 42, 224,
    71, 64, 185, 159, 2, 0, 107, 193, 252, 255, 84, 224, 129, 0, 240, 225, 3, 20, 42, 19, 244, 13, 185, 224, 131, 1,
    145, 77, 252, 255, 151, 33, 0, 0, 208, 33, 156, 43, 145, 98, 252, 255, 151, 225, 3, 20, 42, 72, 252, 255, 151, 33,
    0, 0, 208, 33, 184, 43, 145, 93, 252, 255, 151, 225, 131, 1, 145, 226, 227, 0, 145, 224, 3, 19, 42, 67, 0, 128,
    210, 14, 251, 255, 151, 224, 3, 32, 170, 225, 129, 0, 240, 0, 252, 127, 211, 32, 192, 55, 57, 215, 255, 255, 23,
    253, 123, 188, 169, 136, 54, 128, 210, 225, 127, 64, 178, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 42, 224, 3,
    19, 170, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 245, 19, 0, 249, 1, 0, 0, 212, 160, 5,
    248, 182, 224, 129, 0, 240, 0, 244, 77, 185, 31, 0, 0, 113, 173, 5, 0, 84, 2, 0, 136, 82, 33, 0, 0, 208, 33, 224,
    43, 145, 27, 250, 255, 151, 224, 55, 0, 185, 224, 4, 248, 55, 244, 3, 19, 170, 243, 129, 0, 176, 115, 130, 55, 145,
    231, 55, 64, 185, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 2, 0, 128, 210, 225, 124, 64,
    147, 192, 7, 128, 210, 119, 248, 255, 151, 21, 0, 128, 82, 225, 227, 0, 145, 224, 3, 19, 170, 103, 2, 0, 185, 127,
    66, 0, 248, 109, 254, 255, 151, 192, 2, 0, 53, 21, 254, 255, 53, 224, 211, 0, 145, 117, 249, 255, 151, 12, 0, 0,
    20, 225, 3, 19, 170, 115, 6, 0, 145, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 2, 0, 128,
    210, 32, 7, 128, 210, 99, 248, 255, 151, 127, 2, 9, 107, 201, 254, 255, 84, 243, 83, 65, 169, 245, 19, 64, 249,
    253, 123, 196, 168, 192, 3, 95, 214, 233, 255, 159, 82, 249, 255, 255, 23, 225, 55, 64, 185, 63, 0, 0, 107, 225, 7,
    159, 26, 31, 0, 20, 107, 226, 55, 159, 26, 33, 0, 2, 106, 128, 1, 0, 84, 40, 7, 128, 210, 224, 3, 0, 42, 1, 0, 128,
    210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 225, 3, 32, 170, 33, 252, 127,
    211, 33, 28, 0, 18, 181, 2, 1, 42, 224, 3, 19, 170, 225, 227, 0, 145, 65, 254, 255, 151, 212, 255, 255, 23, 253,
    123, 190, 169, 231, 3, 2, 42, 253, 3, 0, 145, 243, 11, 0, 249, 243, 3, 0, 170, 63, 12, 0, 113, 32, 1, 0, 84, 33,
    124, 64, 147, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 1, 160, 210, 98, 0, 128, 210, 0, 3, 128, 210, 53,
    248, 255, 151, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 2, 0, 128, 210, 129, 0, 128, 210,
    32, 7, 128, 210, 233, 129, 0, 208, 44, 248, 255, 151, 161, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128,
    210, 2, 0, 128, 210, 32, 7, 128, 210, 37, 248, 255, 151, 33, 245, 77, 185, 63, 0, 0, 113, 173, 1, 0, 84, 0, 3, 128,
    210, 33, 124, 64, 147, 5, 0, 128, 210, 4, 0, 128, 210, 3, 1, 160, 210, 130, 0, 128, 210, 27, 248, 255, 151, 32,
    245, 77, 185, 31, 0, 0, 113, 109, 0, 0, 84, 128, 0, 128, 82, 32, 245, 13, 185, 39, 1, 248, 55, 225, 124, 64, 147,
    6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 1, 160, 210, 162, 0, 128, 210, 0, 3, 128, 210, 13, 248, 255,
    151, 192, 0, 128, 82, 113, 255, 255, 151, 99, 130, 1, 145, 6, 0, 128, 210, 243, 11, 64, 249, 5, 0, 128, 210, 253,
    123, 194, 168, 4, 0, 128, 210, 226, 0, 128, 210, 1, 0, 128, 210, 160, 32, 128, 210, 1, 248, 255, 23, 255, 67, 9,
    209, 253, 123, 0, 169, 253, 3, 0, 145, 243, 83, 1, 169, 244, 3, 1, 170, 225, 3, 0, 42, 224, 195, 0, 145, 153, 251,
    255, 151, 33, 0, 0, 176, 33, 0, 44, 145, 174, 251, 255, 151, 243, 67, 1, 145, 224, 129, 0, 208, 226, 3, 19, 170,
    225, 195, 0, 145, 3, 64, 128, 210, 0, 244, 77, 185, 93, 250, 255, 151, 31, 0, 0, 241, 45, 1, 0, 84, 3, 4, 0, 209,
    227, 0, 0, 180, 97, 106, 99, 56, 63, 164, 0, 113, 193, 0, 0, 84, 100, 16, 0, 145, 159, 0, 0, 235, 171, 0, 0, 84, 0,
    0, 128, 82, 16, 0, 0, 20, 99, 4, 0, 209, 246, 255, 255, 23, 225, 75, 1, 145, 35, 104, 99, 56, 99, 120, 30, 18, 99,
    28, 0, 18, 127, 96, 1, 113, 224, 254, 255, 84, 100, 2, 4, 139, 97, 2, 0, 139, 226, 3, 20, 170, 224, 163, 0, 145,
    228, 23, 0, 249, 150, 251, 255, 151, 0, 28, 0, 18, 253, 123, 64, 169, 243, 83, 65, 169, 255, 67, 9, 145, 192, 3,
    95, 214, 253, 123, 187, 169, 253, 3, 0, 145, 245, 91, 2, 169, 245, 3, 0, 170, 22, 0, 128, 82, 247, 99, 3, 169, 247,
    3, 1, 42, 184, 4, 128, 18, 243, 83, 1, 169, 179, 18, 64, 185, 127, 2, 22, 107, 200, 0, 0, 84, 243, 83, 65, 169,
    245, 91, 66, 169, 247, 99, 67, 169, 253, 123, 197, 168, 192, 3, 95, 214, 115, 6, 0, 81, 255, 38, 0, 113, 115, 2,
    22, 75, 161, 2, 64, 185, 115, 2, 150, 26, 179, 14, 19, 139, 96, 10, 67, 41, 95, 0, 1, 107, 97, 1, 0, 84, 225, 3, 0,
    170, 226, 126, 64, 147, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 32, 16, 128, 210, 174, 247,
    255, 151, 214, 6, 0, 17, 230, 255, 255, 23, 72, 54, 128, 210, 1, 0, 128, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0,
    128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 224, 127, 9, 41, 31, 0, 0, 113, 244, 3, 0, 170, 4, 176, 88, 122, 193, 2, 0,
    84, 96, 26, 64, 185, 225, 51, 1, 145, 157, 255, 255, 151, 31, 28, 0, 114, 32, 2, 0, 84, 97, 30, 64, 185, 224, 79,
    64, 185, 63, 0, 0, 107, 128, 0, 0, 84, 161, 2, 64, 185, 31, 0, 1, 107, 65, 1, 0, 84, 226, 126, 64, 147, 6, 0, 128,
    210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 244, 0, 248, 55, 129, 126, 64, 147, 0, 53, 128, 210, 139, 247,
    255, 151, 224, 35, 1, 145, 145, 248, 255, 151, 219, 255, 255, 23, 97, 26, 64, 185, 32, 16, 128, 210, 250, 255, 255,
    23, 253, 123, 189, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 245, 19, 0, 249, 0, 16, 64, 185, 31, 4,
    64, 113, 96, 1, 0, 84, 96, 2, 64, 185, 244, 3, 1, 42, 245, 3, 2, 42, 31, 0, 2, 107, 64, 1, 0, 84, 99, 18, 64, 185,
    96, 4, 0, 17, 96, 18, 0, 185, 99, 78, 35, 139, 116, 84, 3, 41, 243, 83, 65, 169, 245, 19, 64, 249, 253, 123, 195,
    168, 192, 3, 95, 214, 97, 6, 64, 249, 193, 254, 255, 180, 224, 3, 20, 42, 32, 0, 63, 214, 31, 28, 0, 114, 64, 254,
    255, 84, 246, 255, 255, 23, 255, 195, 9, 209, 3, 0, 128, 82, 253, 123, 0, 169, 253, 3, 0, 145, 245, 91, 2, 169,
    246, 3, 0, 170, 224, 129, 0, 208, 243, 83, 1, 169, 0, 244, 77, 185, 247, 99, 3, 169, 247, 3, 2, 42, 2, 0, 128, 82,
    249, 107, 4, 169, 251, 43, 0, 249, 239, 248, 255, 151, 224, 111, 0, 185, 64, 5, 248, 55, 245, 3, 0, 42, 249, 195,
    1, 145, 20, 0, 128, 82, 19, 0, 128, 82, 90, 1, 128, 82, 225, 3, 25, 170, 224, 3, 21, 42, 2, 64, 128, 210, 240, 248,
    255, 151, 251, 3, 0, 170, 31, 0, 0, 241, 237, 2, 0, 84, 24, 0, 128, 210, 32, 107, 120, 56, 0, 192, 0, 81, 1, 28, 0,
    18, 63, 36, 0, 113, 72, 1, 0, 84, 115, 126, 26, 27, 159, 2, 0, 113, 52, 0, 128, 82, 115, 18, 159, 26, 19, 0, 19,
    11, 24, 7, 0, 145, 127, 3, 24, 235, 129, 254, 255, 84, 235, 255, 255, 23, 180, 0, 0, 52, 226, 3, 23, 42, 225, 3,
    19, 42, 224, 3, 22, 170, 179, 255, 255, 151, 20, 0, 128, 82, 246, 255, 255, 23, 180, 0, 0, 52, 226, 3, 23, 42, 225,
    3, 19, 42, 224, 3, 22, 170, 172, 255, 255, 151, 224, 179, 1, 145, 54, 248, 255, 151, 253, 123, 64, 169, 243, 83,
    65, 169, 245, 91, 66, 169, 247, 99, 67, 169, 249, 107, 68, 169, 251, 43, 64, 249, 255, 195, 9, 145, 192, 3, 95,
    214, 253, 123, 183, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 1, 42, 245, 91, 2, 169, 245, 3, 0, 170, 224, 67,
    1, 145, 247, 99, 3, 169, 189, 250, 255, 151, 33, 0, 0, 176, 54, 0, 0, 176, 33, 24, 44, 145, 214, 78, 44, 145, 208,
    250, 255, 151, 225, 3, 22, 170, 244, 3, 0, 170, 205, 250, 255, 151, 55, 0, 0, 176, 225, 3, 19, 42, 247, 186, 43,
    145, 177, 250, 255, 151, 225, 3, 23, 170, 199, 250, 255, 151, 226, 3, 19, 42, 225, 67, 1, 145, 224, 3, 21, 170,
    164, 255, 255, 151, 224, 129, 0, 208, 159, 2, 0, 57, 225, 67, 1, 145, 3, 0, 128, 82, 0, 244, 77, 185, 2, 0, 136,
    82, 154, 248, 255, 151, 224, 71, 0, 185, 96, 1, 248, 55, 225, 129, 0, 144, 56, 128, 55, 145, 32, 224, 13, 185, 31,
    67, 0, 248, 225, 35, 1, 145, 224, 3, 24, 170, 247, 252, 255, 151, 0, 1, 0, 53, 224, 19, 1, 145, 0, 248, 255, 151,
    243, 83, 65, 169, 245, 91, 66, 169, 247, 99, 67, 169, 253, 123, 201, 168, 192, 3, 95, 214, 31, 0, 19, 107, 128,
    254, 255, 84, 225, 3, 22, 170, 224, 3, 20, 170, 166, 250, 255, 151, 225, 39, 64, 249, 164, 250, 255, 151, 225, 3,
    23, 170, 162, 250, 255, 151, 226, 3, 19, 42, 225, 67, 1, 145, 224, 3, 21, 170, 127, 255, 255, 151, 232, 255, 255,
    23, 253, 123, 188, 169, 3, 0, 128, 82, 2, 0, 136, 82, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 224, 129, 0,
    208, 33, 0, 0, 176, 33, 204, 44, 145, 0, 244, 77, 185, 245, 91, 2, 169, 111, 248, 255, 151, 224, 51, 0, 185, 160,
    2, 248, 55, 225, 129, 0, 144, 53, 128, 55, 145, 127, 22, 0, 185, 246, 255, 143, 82, 32, 224, 13, 185, 225, 227, 0,
    145, 224, 3, 21, 170, 191, 66, 0, 248, 202, 252, 255, 151, 244, 3, 0, 42, 212, 1, 0, 53, 224, 195, 0, 145, 210,
    247, 255, 151, 96, 22, 64, 185, 31, 0, 20, 107, 200, 3, 0, 84, 21, 0, 128, 82, 96, 18, 64, 185, 191, 2, 0, 107,
    131, 6, 0, 84, 243, 83, 65, 169, 245, 91, 66, 169, 253, 123, 196, 168, 192, 3, 95, 214, 96, 22, 64, 185, 255, 55,
    0, 185, 31, 0, 22, 107, 168, 1, 0, 84, 225, 211, 0, 145, 224, 3, 20, 42, 184, 254, 255, 151, 31, 28, 0, 114, 0, 1,
    0, 84, 96, 22, 64, 185, 1, 4, 0, 17, 97, 22, 0, 185, 96, 78, 32, 139, 225, 55, 64, 185, 0, 32, 64, 145, 20, 4, 3,
    41, 225, 227, 0, 145, 224, 3, 21, 170, 168, 252, 255, 151, 244, 3, 0, 42, 222, 255, 255, 23, 96, 78, 52, 139, 97,
    2, 64, 185, 0, 32, 64, 145, 2, 28, 64, 185, 95, 0, 1, 107, 129, 0, 0, 84, 1, 24, 64, 185, 224, 3, 19, 170, 29, 255,
    255, 151, 148, 6, 0, 17, 214, 255, 255, 23, 96, 78, 54, 139, 129, 10, 64, 185, 0, 32, 64, 145, 2, 28, 64, 185, 95,
    0, 1, 107, 129, 0, 0, 84, 1, 24, 64, 185, 224, 3, 19, 170, 18, 255, 255, 151, 214, 6, 0, 17, 96, 22, 64, 185, 223,
    2, 0, 107, 131, 254, 255, 84, 181, 6, 0, 17, 203, 255, 255, 23, 180, 126, 125, 211, 22, 0, 128, 82, 148, 66, 0,
    145, 116, 2, 20, 139, 247, 255, 255, 23, 1, 0, 0, 185, 2, 4, 0, 249, 226, 129, 0, 208, 31, 16, 0, 185, 66, 244, 77,
    185, 95, 0, 0, 113, 77, 3, 0, 84, 226, 129, 0, 208, 66, 192, 119, 57, 66, 0, 0, 53, 156, 255, 255, 23, 253, 123,
    189, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 20, 0, 128, 210, 245, 19, 0, 249, 117, 98, 0, 145, 83,
    255, 255, 151, 96, 18, 64, 185, 31, 0, 20, 107, 168, 0, 0, 84, 243, 83, 65, 169, 245, 19, 64, 249, 253, 123, 195,
    168, 192, 3, 95, 214, 128, 242, 125, 211, 148, 6, 0, 145, 161, 106, 96, 184, 224, 3, 19, 170, 71, 255, 255, 151,
    244, 255, 255, 23, 192, 3, 95, 214, 253, 123, 188, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 245, 91,
    2, 169, 247, 99, 3, 169, 88, 247, 255, 151, 245, 3, 0, 170, 96, 42, 64, 249, 31, 0, 21, 235, 136, 0, 0, 84, 224, 3,
    19, 170, 33, 0, 128, 82, 131, 252, 255, 151, 22, 0, 128, 82, 23, 22, 128, 82, 56, 0, 128, 146, 37, 0, 0, 20, 97, 2,
    64, 249, 192, 126, 183, 155, 52, 0, 0, 139, 32, 104, 96, 56, 224, 3, 0, 52, 128, 70, 64, 249, 31, 0, 21, 235, 200,
    0, 0, 84, 131, 162, 64, 185, 225, 3, 20, 170, 224, 3, 19, 170, 34, 0, 128, 82, 76, 249, 255, 151, 128, 74, 64, 249,
    31, 0, 21, 235, 136, 0, 0, 84, 225, 3, 20, 170, 224, 3, 19, 170, 6, 249, 255, 151, 128, 78, 64, 249, 31, 0, 21,
    235, 200, 1, 0, 84, 128, 10, 64, 185, 128, 1, 248, 55, 152, 78, 0, 249, 0, 124, 124, 147, 6, 0, 128, 210, 5, 0,
    128, 210, 97, 6, 64, 249, 4, 0, 128, 210, 3, 0, 128, 210, 34, 1, 128, 210, 33, 104, 96, 184, 32, 16, 128, 210, 53,
    246, 255, 151, 214, 6, 0, 17, 98, 114, 64, 185, 95, 0, 22, 107, 72, 251, 255, 84, 96, 46, 64, 249, 31, 0, 21, 235,
    72, 2, 0, 84, 1, 0, 128, 210, 0, 0, 128, 82, 5, 22, 128, 210, 22, 0, 0, 20, 128, 2, 0, 53, 100, 2, 64, 249, 32,
    124, 5, 155, 131, 0, 0, 139, 128, 104, 96, 56, 224, 1, 0, 52, 96, 172, 66, 57, 96, 1, 0, 53, 33, 4, 0, 145, 95, 0,
    1, 107, 232, 254, 255, 84, 0, 0, 128, 146, 96, 46, 0, 249, 243, 83, 65, 169, 245, 91, 66, 169, 247, 99, 67, 169,
    253, 123, 196, 168, 192, 3, 95, 214, 96, 168, 66, 57, 0, 0, 0, 82, 33, 4, 0, 145, 95, 0, 1, 107, 72, 253, 255, 84,
    128, 254, 255, 52, 246, 255, 255, 208, 180, 127, 0, 144, 214, 178, 4, 145, 148, 34, 55, 145, 21, 0, 128, 82, 23, 0,
    128, 18, 41, 252, 255, 151, 225, 3, 0, 42, 226, 3, 22, 170, 224, 3, 20, 170, 125, 255, 255, 151, 128, 18, 64, 185,
    0, 1, 0, 52, 31, 0, 23, 107, 32, 4, 0, 84, 191, 14, 0, 113, 33, 3, 0, 84, 224, 3, 20, 170, 33, 1, 128, 82, 47, 254,
    255, 151, 224, 3, 19, 170, 57, 251, 255, 151, 240, 246, 255, 151, 0, 160, 15, 145, 96, 46, 0, 249, 96, 2, 65, 57,
    160, 3, 0, 52, 136, 32, 128, 210, 0, 0, 128, 146, 1, 0, 128, 210, 34, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210,
    5, 0, 128, 210, 1, 0, 0, 212, 31, 40, 0, 177, 33, 250, 255, 84, 20, 0, 128, 82, 21, 22, 128, 82, 54, 0, 128, 82,
    46, 0, 0, 20, 224, 3, 20, 170, 97, 2, 128, 82, 181, 6, 0, 17, 22, 254, 255, 151, 151, 18, 64, 185, 216, 255, 255,
    23, 224, 3, 20, 170, 33, 1, 128, 82, 181, 6, 0, 17, 16, 254, 255, 151, 151, 18, 64, 185, 191, 18, 0, 113, 33, 250,
    255, 84, 222, 255, 255, 23, 248, 251, 255, 151, 225, 3, 0, 42, 226, 3, 22, 170, 224, 3, 20, 170, 76, 255, 255, 151,
    128, 18, 64, 185, 96, 0, 0, 52, 127, 6, 1, 57, 182, 255, 255, 23, 96, 6, 65, 57, 0, 4, 0, 17, 0, 28, 0, 18, 31, 16,
    0, 113, 104, 0, 0, 84, 96, 6, 1, 57, 175, 255, 255, 23, 127, 6, 1, 57, 221, 255, 255, 23, 98, 2, 64, 249, 128, 126,
    181, 155, 65, 0, 0, 139, 64, 104, 96, 56, 0, 1, 0, 52, 32, 172, 66, 57, 192, 0, 0, 52, 32, 168, 66, 57, 128, 0, 0,
    53, 54, 168, 2, 57, 224, 3, 19, 170, 7, 247, 255, 151, 148, 6, 0, 17, 96, 114, 64, 185, 159, 2, 0, 107, 35, 254,
    255, 84, 156, 255, 255, 23, 232, 9, 128, 210, 0, 124, 64, 147, 3, 32, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1,
    0, 0, 212, 192, 3, 95, 214, 253, 123, 189, 169, 253, 3, 0, 145, 243, 11, 0, 249, 224, 47, 0, 185, 96, 1, 248, 55,
    0, 124, 64, 147, 8, 10, 128, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212,
    243, 3, 0, 170, 160, 0, 248, 183, 224, 47, 64, 185, 243, 11, 64, 249, 253, 123, 195, 168, 192, 3, 95, 214, 224,
    179, 0, 145, 165, 246, 255, 151, 224, 3, 19, 42, 250, 255, 255, 23, 253, 123, 187, 169, 6, 124, 64, 147, 224, 3, 6,
    170, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 1, 42, 225, 3, 19, 170, 136, 6, 128, 210, 2, 0, 128, 210, 3, 0, 128,
    210, 4, 0, 128, 210, 5, 0, 128, 210, 245, 19, 0, 249, 1, 0, 0, 212, 31, 36, 0, 177, 225, 3, 0, 84, 224, 3, 6, 170,
    226, 3, 19, 170, 136, 56, 128, 210, 33, 0, 0, 176, 3, 0, 130, 210, 33, 148, 41, 145, 1, 0, 0, 212, 31, 152, 0, 177,
    4, 24, 65, 186, 161, 2, 0, 84, 245, 129, 0, 208, 161, 246, 77, 185, 63, 0, 0, 113, 45, 2, 0, 84, 244, 3, 6, 170,
    224, 227, 0, 145, 33, 0, 0, 176, 33, 48, 44, 145, 48, 249, 255, 151, 225, 3, 20, 42, 22, 249, 255, 151, 31, 0, 0,
    57, 168, 6, 128, 210, 225, 227, 0, 145, 226, 3, 19, 170, 160, 246, 141, 185, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0,
    128, 210, 1, 0, 0, 212, 243, 83, 65, 169, 245, 19, 64, 249, 253, 123, 197, 168, 192, 3, 95, 214, 0, 2, 0, 52, 224,
    3, 0, 42, 1, 2, 132, 210, 2, 123, 0, 208, 66, 0, 47, 145, 253, 123, 191, 169, 0, 124, 1, 155, 253, 3, 0, 145, 1,
    56, 128, 82, 64, 104, 96, 184, 196, 255, 255, 151, 224, 3, 32, 170, 253, 123, 193, 168, 0, 252, 127, 211, 0, 28, 0,
    18, 192, 3, 95, 214, 0, 0, 128, 82, 192, 3, 95, 214, 253, 123, 189, 169, 200, 34, 128, 210, 1, 1, 128, 210, 253, 3,
    0, 145, 34, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 243, 11, 0, 249, 243, 3, 0, 170, 224, 163,
    0, 145, 255, 23, 0, 249, 1, 0, 0, 212, 31, 0, 1, 235, 0, 1, 0, 84, 60, 246, 255, 151, 161, 130, 143, 210, 65, 233,
    175, 242, 33, 55, 207, 242, 225, 198, 243, 242, 0, 124, 1, 155, 224, 23, 0, 249, 224, 3, 19, 170, 33, 0, 0, 176,
    33, 84, 44, 145, 245, 248, 255, 151, 226, 23, 64, 249, 35, 0, 0, 176, 99, 132, 44, 145, 1, 0, 128, 210, 68, 12, 64,
    146, 66, 252, 68, 211, 100, 104, 100, 56, 4, 104, 33, 56, 33, 4, 0, 145, 63, 64, 0, 241, 65, 255, 255, 84, 31, 64,
    0, 57, 243, 11, 64, 249, 253, 123, 195, 168, 192, 3, 95, 214, 2, 0, 64, 57, 33, 28, 0, 18, 98, 0, 0, 53, 160, 2,
    128, 146, 192, 3, 95, 214, 95, 188, 0, 113, 160, 255, 255, 84, 229, 3, 0, 170, 226, 3, 0, 170, 231, 5, 128, 82,
    163, 0, 64, 57, 127, 188, 0, 113, 192, 1, 0, 84, 95, 0, 0, 235, 67, 4, 0, 52, 228, 3, 2, 170, 64, 0, 0, 84, 135,
    20, 0, 56, 227, 3, 4, 170, 166, 0, 64, 57, 70, 1, 0, 53, 102, 0, 4, 203, 223, 252, 3, 241, 141, 1, 0, 84, 96, 4,
    128, 146, 235, 255, 255, 23, 165, 4, 0, 145, 227, 3, 2, 170, 226, 3, 3, 170, 237, 255, 255, 23, 223, 188, 0, 113,
    192, 254, 255, 84, 165, 4, 0, 145, 102, 20, 0, 56, 241, 255, 255, 23, 136, 0, 64, 57, 31, 185, 0, 113, 225, 254,
    255, 84, 223, 8, 0, 241, 193, 0, 0, 84, 130, 4, 64, 57, 95, 184, 0, 113, 65, 254, 255, 84, 32, 2, 128, 146, 216,
    255, 255, 23, 223, 4, 0, 241, 99, 16, 130, 154, 237, 255, 255, 23, 129, 0, 0, 84, 65, 250, 255, 52, 193, 5, 128,
    82, 65, 20, 0, 56, 95, 0, 0, 57, 66, 0, 0, 203, 95, 252, 63, 241, 40, 252, 255, 84, 0, 0, 128, 210, 203, 255, 255,
    23, 253, 123, 191, 169, 227, 3, 1, 170, 228, 3, 0, 170, 253, 3, 0, 145, 224, 3, 1, 170, 208, 245, 255, 151, 96, 0,
    0, 139, 31, 0, 3, 235, 64, 1, 0, 84, 1, 240, 95, 56, 63, 188, 0, 113, 161, 0, 0, 84, 131, 0, 0, 249, 31, 240, 31,
    56, 253, 123, 193, 168, 192, 3, 95, 214, 0, 4, 0, 209, 246, 255, 255, 23, 33, 0, 0, 176, 33, 204, 44, 145, 129, 0,
    0, 249, 249, 255, 255, 23, 1, 12, 64, 249, 34, 0, 64, 57, 95, 188, 0, 113, 0, 1, 0, 84, 95, 184, 0, 113, 161, 0, 0,
    84, 34, 4, 64, 57, 95, 188, 0, 113, 68, 24, 64, 122, 64, 0, 0, 84, 192, 3, 95, 214, 33, 4, 0, 145, 1, 12, 0, 249,
    243, 255, 255, 23, 253, 123, 191, 169, 230, 3, 0, 170, 253, 3, 0, 145, 0, 12, 64, 249, 3, 4, 0, 209, 195, 12, 0,
    249, 227, 5, 128, 82, 3, 240, 31, 56, 192, 12, 64, 249, 0, 0, 2, 203, 192, 12, 0, 249, 66, 245, 255, 151, 253, 123,
    193, 168, 224, 3, 6, 170, 228, 255, 255, 23, 12, 2, 130, 210, 255, 99, 44, 203, 230, 3, 0, 170, 226, 67, 0, 145,
    32, 124, 64, 147, 200, 9, 128, 210, 253, 123, 0, 169, 33, 0, 0, 176, 253, 3, 0, 145, 33, 148, 41, 145, 227, 255,
    129, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 31, 0, 0, 241, 173, 1, 0, 84, 226, 3, 0, 170, 224, 67, 64,
    57, 31, 188, 0, 113, 96, 1, 0, 84, 224, 3, 6, 170, 225, 67, 0, 145, 219, 255, 255, 151, 0, 0, 128, 82, 253, 123,
    64, 169, 12, 2, 130, 210, 255, 99, 44, 139, 192, 3, 95, 214, 32, 0, 128, 18, 251, 255, 255, 23, 32, 2, 128, 18,
    249, 255, 255, 23, 255, 195, 9, 209, 253, 123, 0, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 245, 91, 2,
    169, 245, 3, 1, 42, 246, 195, 5, 145, 247, 99, 3, 169, 23, 125, 0, 208, 247, 2, 55, 145, 249, 107, 4, 169, 26, 0,
    144, 82, 249, 131, 0, 50, 24, 0, 128, 82, 26, 4, 160, 114, 251, 115, 5, 169, 96, 14, 64, 249, 0, 0, 64, 57, 0, 2,
    0, 53, 96, 10, 64, 185, 64, 0, 248, 54, 96, 2, 64, 185, 253, 123, 64, 169, 162, 122, 16, 18, 243, 83, 65, 169, 3,
    0, 128, 82, 245, 91, 66, 169, 33, 0, 0, 176, 247, 99, 67, 169, 33, 204, 44, 145, 249, 107, 68, 169, 251, 115, 69,
    169, 255, 195, 9, 145, 20, 246, 255, 23, 57, 7, 0, 113, 192, 9, 0, 84, 27, 0, 128, 210, 96, 14, 64, 249, 1, 0, 64,
    57, 63, 188, 0, 113, 36, 24, 64, 122, 193, 3, 0, 84, 223, 106, 59, 56, 224, 3, 19, 170, 150, 255, 255, 151, 155, 3,
    0, 180, 127, 11, 0, 241, 33, 5, 0, 84, 224, 195, 69, 57, 31, 184, 0, 113, 193, 4, 0, 84, 224, 199, 69, 57, 31, 184,
    0, 113, 97, 4, 0, 84, 96, 10, 64, 249, 192, 15, 0, 180, 1, 125, 0, 176, 33, 0, 55, 145, 98, 10, 64, 249, 66, 4, 0,
    209, 98, 10, 0, 249, 130, 0, 0, 180, 32, 104, 98, 56, 31, 188, 0, 113, 65, 255, 255, 84, 224, 3, 19, 170, 142, 255,
    255, 151, 127, 10, 0, 249, 96, 34, 0, 145, 98, 245, 255, 151, 202, 255, 255, 23, 127, 255, 3, 241, 97, 1, 0, 84,
    116, 4, 128, 18, 253, 123, 64, 169, 224, 3, 20, 42, 243, 83, 65, 169, 245, 91, 66, 169, 247, 99, 67, 169, 249, 107,
    68, 169, 251, 115, 69, 169, 255, 195, 9, 145, 192, 3, 95, 214, 0, 4, 0, 145, 97, 107, 54, 56, 123, 7, 0, 145, 96,
    14, 0, 249, 206, 255, 255, 23, 96, 14, 64, 249, 28, 0, 64, 57, 96, 10, 64, 185, 64, 0, 248, 54, 96, 2, 64, 185,
    226, 3, 26, 42, 3, 0, 128, 82, 225, 3, 22, 170, 213, 245, 255, 151, 225, 195, 1, 145, 141, 254, 255, 151, 224, 107,
    0, 185, 244, 3, 0, 42, 160, 252, 255, 55, 224, 131, 64, 185, 0, 12, 20, 18, 31, 40, 64, 113, 65, 2, 0, 84, 92, 0,
    0, 53, 117, 2, 120, 55, 24, 7, 0, 17, 31, 163, 0, 113, 173, 0, 0, 84, 224, 163, 1, 145, 55, 245, 255, 151, 244, 4,
    128, 18, 216, 255, 255, 23, 225, 3, 20, 42, 224, 3, 19, 170, 106, 255, 255, 151, 244, 3, 0, 42, 224, 163, 1, 145,
    47, 245, 255, 151, 244, 242, 255, 54, 208, 255, 255, 23, 124, 0, 0, 52, 31, 16, 64, 113, 192, 0, 0, 84, 224, 163,
    1, 145, 40, 245, 255, 151, 60, 2, 0, 52, 116, 2, 128, 18, 200, 255, 255, 23, 96, 10, 64, 249, 128, 5, 0, 181, 96,
    10, 64, 249, 226, 3, 27, 170, 225, 3, 22, 170, 224, 2, 0, 139, 148, 244, 255, 151, 96, 10, 64, 249, 0, 0, 27, 139,
    96, 10, 0, 249, 96, 34, 0, 145, 25, 245, 255, 151, 116, 10, 0, 185, 128, 255, 255, 23, 96, 10, 64, 185, 162, 2, 17,
    50, 100, 2, 64, 185, 3, 0, 128, 82, 31, 0, 0, 113, 225, 3, 22, 170, 0, 160, 132, 26, 157, 245, 255, 151, 225, 195,
    3, 145, 85, 254, 255, 151, 244, 3, 0, 42, 224, 131, 64, 185, 244, 111, 0, 185, 0, 12, 20, 18, 31, 40, 64, 113, 64,
    245, 255, 84, 159, 162, 0, 49, 160, 0, 0, 84, 159, 82, 0, 49, 225, 0, 0, 84, 31, 16, 64, 113, 129, 244, 255, 84,
    224, 179, 1, 145, 84, 1, 128, 18, 254, 244, 255, 151, 160, 255, 255, 23, 244, 243, 255, 55, 224, 3, 65, 185, 0, 12,
    20, 18, 31, 40, 64, 113, 247, 255, 255, 23, 1, 4, 0, 145, 97, 10, 0, 249, 225, 5, 128, 82, 225, 106, 32, 56, 209,
    255, 255, 23, 52, 2, 128, 18, 148, 255, 255, 23, 253, 123, 185, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0,
    170, 245, 91, 2, 169, 245, 3, 1, 170, 246, 3, 2, 42, 247, 99, 3, 169, 249, 107, 4, 169, 0, 16, 64, 57, 32, 3, 0,
    52, 152, 127, 0, 240, 121, 34, 0, 145, 24, 7, 55, 145, 23, 0, 128, 82, 26, 0, 128, 18, 122, 10, 0, 185, 224, 3, 21,
    170, 127, 98, 1, 169, 247, 6, 0, 17, 182, 244, 255, 151, 226, 3, 0, 170, 225, 3, 21, 170, 224, 3, 19, 170, 1, 255,
    255, 151, 225, 3, 22, 42, 224, 3, 19, 170, 45, 255, 255, 151, 244, 3, 0, 42, 224, 3, 25, 170, 210, 244, 255, 151,
    255, 254, 0, 113, 128, 218, 75, 58, 224, 253, 255, 84, 28, 0, 0, 20, 71, 0, 13, 50, 6, 8, 128, 82, 73, 1, 128, 210,
    231, 124, 64, 147, 96, 2, 128, 185, 225, 3, 21, 170, 226, 99, 1, 145, 168, 54, 128, 210, 3, 3, 128, 210, 4, 0, 128,
    210, 5, 0, 128, 210, 231, 255, 5, 169, 233, 55, 0, 249, 1, 0, 0, 212, 244, 3, 0, 42, 198, 4, 0, 113, 128, 0, 0, 84,
    31, 44, 0, 49, 4, 24, 68, 58, 32, 254, 255, 84, 3, 152, 0, 49, 195, 0, 0, 84, 32, 0, 128, 146, 224, 255, 190, 242,
    96, 251, 223, 242, 0, 40, 195, 154, 192, 249, 7, 54, 245, 91, 66, 169, 224, 3, 20, 42, 243, 83, 65, 169, 247, 99,
    67, 169, 249, 107, 68, 169, 253, 123, 199, 168, 192, 3, 95, 214, 253, 123, 188, 169, 104, 4, 128, 210, 3, 0, 128,
    210, 253, 3, 0, 145, 243, 83, 1, 169, 244, 3, 0, 170, 4, 0, 128, 210, 245, 91, 2, 169, 22, 123, 0, 176, 214, 2, 47,
    145, 247, 99, 3, 169, 24, 2, 132, 210, 85, 124, 64, 147, 0, 0, 64, 185, 226, 3, 21, 170, 5, 0, 128, 210, 0, 124,
    24, 155, 192, 106, 160, 184, 1, 0, 0, 212, 243, 3, 0, 170, 31, 52, 0, 177, 33, 2, 0, 84, 128, 2, 64, 185, 247, 3,
    1, 170, 35, 254, 255, 151, 31, 28, 0, 114, 224, 1, 0, 84, 128, 2, 64, 185, 104, 4, 128, 210, 225, 3, 23, 170, 226,
    3, 21, 170, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 0, 124, 24, 155, 192, 106, 160, 184, 1, 0, 0, 212, 243,
    3, 0, 170, 127, 10, 0, 177, 65, 0, 0, 84, 19, 0, 128, 210, 245, 91, 66, 169, 224, 3, 19, 170, 243, 83, 65, 169,
    247, 99, 67, 169, 253, 123, 196, 168, 192, 3, 95, 214, 253, 123, 189, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3,
    0, 170, 244, 3, 1, 170, 0, 0, 64, 185, 6, 254, 255, 151, 96, 2, 64, 185, 1, 2, 132, 210, 4, 123, 0, 176, 132, 0,
    47, 145, 2, 0, 152, 82, 3, 0, 128, 82, 2, 4, 160, 114, 0, 124, 1, 155, 225, 3, 20, 170, 128, 104, 96, 184, 249,
    244, 255, 151, 224, 47, 0, 185, 96, 0, 248, 55, 1, 56, 128, 82, 197, 253, 255, 151, 224, 179, 0, 145, 101, 244,
    255, 151, 243, 83, 65, 169, 253, 123, 195, 168, 192, 3, 95, 214, 253, 123, 186, 169, 253, 3, 0, 145, 243, 83, 1,
    169, 244, 3, 0, 170, 245, 91, 2, 169, 21, 123, 0, 176, 246, 3, 1, 170, 247, 27, 0, 249, 181, 2, 47, 145, 0, 0, 64,
    185, 31, 124, 0, 113, 129, 4, 0, 84, 224, 3, 1, 145, 246, 253, 255, 151, 225, 3, 22, 170, 224, 3, 20, 170, 213,
    255, 255, 151, 160, 18, 96, 185, 1, 56, 128, 82, 172, 253, 255, 151, 128, 2, 64, 185, 6, 2, 132, 210, 162, 18, 160,
    185, 225, 3, 22, 170, 227, 3, 1, 145, 200, 4, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 0, 124, 6, 155, 160, 106,
    160, 184, 1, 0, 0, 212, 31, 0, 0, 241, 243, 3, 0, 170, 4, 184, 66, 186, 225, 0, 0, 84, 32, 0, 128, 82, 128, 34, 0,
    57, 128, 2, 64, 185, 0, 84, 6, 155, 248, 248, 255, 151, 19, 0, 128, 210, 245, 91, 66, 169, 224, 3, 19, 170, 243,
    83, 65, 169, 247, 27, 64, 249, 253, 123, 198, 168, 192, 3, 95, 214, 224, 3, 0, 42, 23, 2, 132, 210, 243, 3, 2, 170,
    3, 0, 128, 82, 2, 0, 152, 82, 0, 124, 23, 155, 160, 106, 96, 184, 185, 244, 255, 151, 31, 52, 0, 49, 97, 1, 0, 84,
    225, 3, 22, 170, 224, 3, 20, 170, 170, 255, 255, 151, 128, 2, 64, 185, 225, 3, 22, 170, 3, 0, 128, 82, 2, 0, 152,
    82, 0, 124, 23, 155, 160, 106, 96, 184, 173, 244, 255, 151, 2, 160, 0, 17, 95, 152, 0, 113, 137, 0, 0, 84, 64, 2,
    248, 54, 19, 124, 64, 147, 225, 255, 255, 23, 33, 0, 128, 146, 225, 253, 191, 242, 225, 247, 223, 242, 33, 40, 194,
    154, 65, 255, 7, 55, 127, 6, 0, 177, 64, 251, 255, 84, 128, 6, 64, 185, 1, 226, 132, 82, 0, 4, 0, 17, 128, 6, 0,
    185, 31, 0, 1, 107, 105, 250, 255, 84, 211, 4, 128, 146, 210, 255, 255, 23, 129, 2, 64, 185, 2, 2, 132, 210, 33, 4,
    0, 17, 129, 2, 0, 185, 33, 124, 2, 155, 162, 2, 1, 139, 160, 106, 33, 184, 95, 64, 0, 248, 200, 255, 255, 23, 253,
    123, 179, 169, 253, 3, 0, 145, 243, 83, 1, 169, 244, 3, 0, 170, 245, 91, 2, 169, 246, 3, 2, 170, 226, 67, 1, 145,
    247, 99, 3, 169, 247, 3, 1, 42, 225, 3, 22, 170, 31, 32, 0, 57, 224, 3, 23, 42, 159, 2, 0, 249, 52, 253, 255, 151,
    243, 3, 0, 170, 0, 123, 0, 176, 21, 0, 47, 145, 225, 3, 22, 170, 22, 2, 132, 82, 23, 192, 11, 185, 0, 64, 192, 210,
    160, 66, 0, 248, 0, 64, 128, 82, 23, 2, 132, 210, 160, 66, 0, 121, 0, 123, 0, 176, 0, 140, 47, 145, 149, 246, 255,
    151, 147, 6, 248, 183, 128, 2, 64, 185, 128, 0, 0, 53, 161, 138, 64, 41, 95, 0, 1, 107, 233, 5, 0, 84, 0, 84, 182,
    155, 225, 35, 1, 145, 255, 39, 0, 249, 159, 248, 255, 151, 248, 3, 0, 170, 243, 39, 64, 249, 19, 5, 248, 183, 128,
    7, 0, 181, 128, 2, 64, 185, 0, 84, 182, 155, 212, 243, 255, 151, 129, 2, 64, 185, 2, 64, 128, 82, 32, 4, 0, 81,
    225, 3, 0, 170, 129, 2, 0, 185, 0, 84, 23, 155, 0, 4, 64, 185, 33, 0, 182, 155, 224, 3, 20, 170, 33, 140, 0, 145,
    161, 2, 1, 139, 29, 255, 255, 151, 243, 3, 0, 170, 192, 0, 248, 183, 128, 2, 64, 185, 0, 84, 182, 155, 129, 248,
    255, 151, 19, 0, 128, 210, 222, 255, 255, 23, 1, 156, 0, 145, 63, 88, 0, 241, 200, 1, 0, 84, 32, 0, 128, 146, 224,
    246, 191, 242, 0, 40, 193, 154, 64, 1, 0, 55, 128, 34, 64, 57, 96, 3, 0, 53, 128, 6, 64, 185, 1, 226, 132, 82, 0,
    4, 0, 17, 128, 6, 0, 185, 31, 0, 1, 107, 9, 254, 255, 84, 211, 4, 128, 146, 22, 0, 128, 82, 23, 2, 132, 82, 192,
    86, 183, 155, 214, 6, 0, 17, 172, 243, 255, 151, 128, 2, 64, 185, 31, 0, 22, 107, 98, 255, 255, 84, 127, 74, 0,
    177, 224, 3, 0, 84, 127, 70, 0, 177, 65, 0, 0, 84, 211, 4, 128, 146, 245, 91, 66, 169, 224, 3, 19, 170, 243, 83,
    65, 169, 247, 99, 67, 169, 253, 123, 205, 168, 192, 3, 95, 214, 159, 34, 0, 57, 218, 255, 255, 23, 225, 3, 0, 170,
    2, 0, 128, 82, 224, 3, 20, 170, 237, 254, 255, 151, 31, 84, 0, 177, 243, 3, 0, 170, 4, 24, 65, 186, 225, 0, 0, 84,
    226, 3, 0, 170, 225, 3, 24, 170, 224, 3, 20, 170, 47, 255, 255, 151, 243, 3, 0, 170, 170, 255, 255, 23, 160, 251,
    255, 183, 128, 2, 64, 185, 0, 84, 182, 155, 72, 248, 255, 151, 166, 255, 255, 23, 211, 11, 128, 146, 228, 255, 255,
    23, 98, 0, 128, 82, 2, 0, 0, 57, 31, 80, 0, 248, 34, 16, 64, 185, 66, 12, 20, 18, 95, 40, 64, 113, 226, 7, 159, 26,
    66, 8, 0, 17, 2, 0, 0, 57, 35, 16, 64, 185, 99, 12, 20, 18, 127, 16, 64, 113, 66, 20, 159, 26, 2, 0, 0, 57, 34, 16,
    64, 185, 66, 12, 20, 18, 95, 32, 64, 113, 129, 0, 0, 84, 31, 0, 0, 57, 34, 24, 64, 249, 2, 80, 0, 248, 34, 16, 64,
    185, 0, 100, 0, 145, 66, 32, 0, 18, 2, 128, 30, 184, 34, 44, 64, 249, 2, 64, 31, 248, 33, 48, 64, 249, 1, 192, 31,
    184, 192, 3, 95, 214, 253, 123, 180, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 245, 91, 2, 169, 21,
    123, 0, 176, 181, 2, 47, 145, 20, 0, 74, 41, 159, 2, 0, 107, 225, 6, 0, 84, 128, 18, 64, 146, 22, 2, 132, 210, 3,
    0, 128, 82, 2, 0, 152, 82, 33, 0, 0, 144, 33, 200, 44, 145, 0, 124, 22, 155, 160, 106, 96, 184, 228, 243, 255, 151,
    225, 3, 1, 145, 156, 252, 255, 151, 224, 63, 0, 185, 192, 0, 248, 54, 0, 124, 64, 147, 243, 83, 65, 169, 245, 91,
    66, 169, 253, 123, 204, 168, 192, 3, 95, 214, 148, 6, 0, 81, 2, 3, 128, 210, 1, 117, 0, 176, 33, 0, 47, 145, 227,
    35, 64, 249, 148, 126, 2, 155, 34, 0, 20, 139, 33, 104, 116, 248, 127, 0, 1, 235, 160, 0, 0, 84, 224, 243, 0, 145,
    65, 243, 255, 151, 128, 0, 128, 146, 239, 255, 255, 23, 65, 4, 64, 249, 227, 39, 64, 249, 127, 0, 1, 235, 33, 255,
    255, 84, 65, 8, 64, 249, 0, 124, 64, 147, 200, 7, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 2, 0,
    128, 210, 1, 0, 0, 212, 0, 254, 255, 183, 96, 86, 64, 185, 226, 63, 64, 185, 0, 4, 0, 81, 96, 86, 0, 185, 0, 16,
    64, 146, 0, 124, 22, 155, 161, 2, 0, 139, 162, 106, 32, 184, 63, 64, 0, 248, 96, 82, 64, 185, 1, 2, 132, 82, 0, 16,
    0, 18, 0, 84, 161, 155, 36, 243, 255, 151, 96, 82, 64, 185, 129, 116, 0, 176, 33, 0, 47, 145, 0, 4, 0, 81, 96, 82,
    0, 185, 96, 46, 64, 249, 0, 4, 0, 209, 96, 46, 0, 249, 160, 0, 0, 180, 0, 4, 0, 209, 34, 104, 96, 56, 95, 188, 0,
    113, 97, 255, 255, 84, 0, 0, 128, 210, 197, 255, 255, 23, 227, 3, 0, 170, 129, 116, 0, 176, 32, 0, 7, 145, 34, 1,
    128, 210, 66, 4, 0, 241, 97, 0, 0, 84, 0, 0, 128, 210, 192, 3, 95, 214, 1, 0, 64, 57, 161, 0, 0, 52, 4, 4, 64, 185,
    97, 64, 64, 185, 159, 0, 1, 107, 64, 255, 255, 84, 0, 0, 5, 145, 245, 255, 255, 23, 253, 123, 186, 169, 253, 3, 0,
    145, 243, 83, 1, 169, 244, 3, 0, 170, 224, 3, 1, 170, 245, 91, 2, 169, 245, 3, 1, 170, 246, 3, 2, 42, 247, 99, 3,
    169, 55, 0, 0, 144, 24, 0, 136, 82, 247, 206, 44, 145, 249, 35, 0, 249, 209, 242, 255, 151, 243, 3, 0, 170, 24, 4,
    160, 114, 127, 2, 0, 241, 185, 106, 115, 56, 191, 106, 51, 56, 226, 3, 24, 42, 225, 2, 149, 154, 224, 3, 20, 170,
    254, 253, 255, 151, 185, 106, 51, 56, 224, 95, 0, 185, 0, 1, 248, 55, 25, 0, 152, 82, 248, 3, 22, 42, 25, 4, 160,
    114, 160, 106, 115, 56, 128, 1, 0, 53, 224, 95, 64, 185, 37, 0, 0, 20, 31, 8, 0, 49, 97, 4, 0, 84, 83, 4, 0, 180,
    115, 6, 0, 241, 96, 253, 255, 84, 160, 106, 115, 56, 31, 188, 0, 113, 129, 255, 255, 84, 231, 255, 255, 23, 31,
    188, 0, 113, 65, 0, 0, 84, 115, 6, 0, 145, 161, 2, 19, 139, 183, 106, 115, 56, 255, 190, 0, 113, 228, 26, 64, 122,
    65, 3, 0, 84, 224, 95, 128, 185, 226, 3, 24, 170, 72, 4, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210,
    191, 106, 51, 56, 1, 0, 0, 212, 31, 0, 0, 241, 244, 3, 0, 170, 4, 184, 81, 186, 0, 2, 0, 84, 183, 106, 51, 56, 224,
    115, 1, 145, 196, 242, 255, 151, 159, 162, 0, 177, 65, 0, 0, 84, 116, 2, 128, 146, 224, 3, 20, 42, 243, 83, 65,
    169, 245, 91, 66, 169, 247, 99, 67, 169, 249, 35, 64, 249, 253, 123, 198, 168, 192, 3, 95, 214, 115, 6, 0, 145,
    226, 255, 255, 23, 224, 95, 64, 185, 226, 3, 25, 42, 3, 0, 128, 82, 66, 243, 255, 151, 183, 106, 51, 56, 20, 124,
    64, 147, 224, 115, 1, 145, 176, 242, 255, 151, 148, 253, 255, 183, 244, 95, 0, 185, 198, 255, 255, 23, 253, 123,
    177, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 1, 170, 245, 91, 2, 169, 245, 3, 2, 42, 247, 99, 3, 169, 247, 3,
    0, 170, 120, 28, 0, 18, 249, 107, 4, 169, 251, 43, 0, 249, 141, 255, 255, 151, 64, 12, 0, 181, 129, 116, 0, 176,
    33, 0, 7, 145, 244, 3, 0, 170, 32, 1, 128, 210, 0, 4, 0, 241, 129, 3, 0, 84, 180, 11, 0, 180, 192, 5, 128, 82, 225,
    3, 19, 170, 224, 195, 0, 121, 224, 163, 1, 145, 255, 55, 0, 249, 152, 252, 255, 151, 249, 3, 0, 170, 127, 2, 0,
    235, 65, 0, 0, 84, 243, 131, 1, 145, 225, 3, 19, 170, 224, 3, 23, 170, 162, 61, 128, 82, 135, 255, 255, 151, 224,
    103, 0, 185, 246, 3, 0, 42, 224, 1, 248, 54, 19, 124, 64, 147, 245, 91, 66, 169, 224, 3, 19, 170, 243, 83, 65, 169,
    247, 99, 67, 169, 249, 107, 68, 169, 251, 43, 64, 249, 253, 123, 207, 168, 192, 3, 95, 214, 34, 0, 64, 57, 95, 0,
    0, 113, 148, 18, 129, 154, 33, 0, 5, 145, 223, 255, 255, 23, 226, 195, 1, 145, 225, 3, 25, 170, 184, 251, 255, 151,
    243, 3, 0, 170, 31, 8, 0, 177, 1, 4, 0, 84, 191, 6, 0, 49, 65, 0, 0, 84, 149, 52, 128, 82, 154, 130, 4, 145, 27, 0,
    128, 82, 224, 3, 26, 170, 15, 252, 255, 151, 225, 3, 26, 170, 224, 3, 22, 42, 123, 7, 0, 17, 3, 48, 128, 82, 34,
    24, 144, 82, 245, 242, 255, 151, 127, 63, 0, 113, 19, 124, 64, 147, 96, 218, 81, 186, 160, 254, 255, 84, 243, 3,
    248, 183, 33, 0, 128, 82, 129, 2, 0, 57, 152, 6, 0, 57, 181, 34, 0, 18, 19, 0, 128, 210, 225, 66, 64, 185, 129,
    214, 0, 41, 225, 3, 25, 170, 150, 130, 1, 41, 128, 130, 0, 145, 159, 14, 0, 249, 6, 245, 255, 151, 207, 255, 255,
    23, 31, 0, 0, 241, 4, 171, 64, 122, 65, 2, 0, 84, 192, 1, 248, 183, 225, 131, 64, 185, 32, 12, 20, 18, 31, 40, 64,
    113, 64, 251, 255, 84, 31, 32, 64, 113, 129, 0, 0, 84, 191, 6, 0, 49, 181, 18, 129, 26, 216, 255, 255, 23, 31, 16,
    64, 113, 179, 0, 128, 146, 128, 2, 128, 146, 115, 18, 128, 154, 224, 147, 1, 145, 66, 242, 255, 151, 187, 255, 255,
    23, 19, 2, 128, 146, 252, 255, 255, 23, 243, 1, 128, 146, 183, 255, 255, 23, 243, 2, 128, 146, 181, 255, 255, 23,
    253, 123, 190, 169, 2, 128, 4, 145, 6, 0, 128, 210, 253, 3, 0, 145, 243, 11, 0, 249, 243, 3, 0, 170, 5, 0, 128,
    210, 4, 0, 128, 210, 3, 0, 128, 210, 96, 4, 128, 210, 97, 14, 128, 185, 39, 241, 255, 151, 96, 66, 0, 145, 45, 242,
    255, 151, 96, 50, 0, 145, 43, 242, 255, 151, 127, 2, 0, 57, 243, 11, 64, 249, 253, 123, 194, 168, 192, 3, 95, 214,
    253, 123, 189, 169, 253, 3, 0, 145, 243, 83, 1, 169, 147, 116, 0, 176, 244, 3, 0, 42, 115, 2, 7, 145, 245, 19, 0,
    249, 53, 1, 128, 210, 181, 6, 0, 241, 97, 0, 0, 84, 224, 3, 20, 42, 252, 241, 255, 151, 96, 2, 64, 57, 96, 0, 0,
    52, 224, 3, 19, 170, 221, 255, 255, 151, 115, 2, 5, 145, 247, 255, 255, 23, 253, 123, 189, 169, 253, 3, 0, 145,
    243, 83, 1, 169, 148, 115, 0, 176, 148, 162, 6, 145, 245, 91, 2, 169, 83, 36, 0, 145, 246, 3, 0, 170, 0, 64, 64,
    185, 21, 0, 128, 210, 130, 2, 0, 185, 129, 18, 0, 57, 128, 82, 0, 184, 191, 2, 19, 235, 163, 0, 0, 84, 243, 83, 65,
    169, 245, 91, 66, 169, 253, 123, 195, 168, 192, 3, 95, 214, 192, 46, 64, 185, 98, 2, 21, 203, 129, 2, 21, 139, 253,
    242, 255, 151, 31, 0, 0, 241, 108, 0, 0, 84, 0, 0, 128, 82, 212, 255, 255, 151, 181, 2, 0, 139, 241, 255, 255, 23,
    253, 123, 177, 169, 2, 2, 132, 82, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 52, 28, 0, 18, 245, 91, 2, 169,
    21, 123, 0, 176, 181, 2, 47, 145, 247, 99, 3, 169, 225, 163, 1, 145, 249, 107, 4, 169, 251, 43, 0, 249, 255, 55, 0,
    249, 0, 80, 64, 185, 0, 16, 0, 18, 0, 84, 162, 155, 170, 246, 255, 151, 227, 55, 64, 249, 67, 1, 248, 183, 249, 3,
    0, 170, 96, 82, 64, 185, 249, 1, 0, 181, 64, 22, 0, 52, 224, 3, 19, 170, 118, 254, 255, 151, 227, 3, 0, 170, 64, 0,
    248, 183, 35, 0, 128, 210, 243, 83, 65, 169, 224, 3, 3, 170, 245, 91, 66, 169, 247, 99, 67, 169, 249, 107, 68, 169,
    251, 43, 64, 249, 253, 123, 207, 168, 192, 3, 95, 214, 0, 16, 64, 146, 1, 2, 132, 210, 226, 195, 1, 145, 0, 124, 1,
    155, 225, 3, 25, 170, 160, 106, 96, 184, 13, 251, 255, 151, 26, 252, 127, 211, 224, 55, 0, 249, 90, 31, 0, 114,
    227, 3, 0, 170, 4, 24, 66, 186, 129, 253, 255, 84, 224, 3, 25, 170, 158, 241, 255, 151, 246, 3, 0, 170, 131, 4,
    248, 182, 97, 82, 64, 185, 24, 2, 132, 82, 23, 2, 132, 210, 2, 123, 0, 176, 33, 16, 0, 18, 66, 96, 47, 145, 148, 2,
    0, 82, 84, 3, 20, 42, 32, 124, 184, 155, 33, 84, 23, 155, 33, 4, 64, 185, 1, 0, 1, 139, 160, 2, 0, 139, 91, 104,
    97, 248, 113, 246, 255, 151, 244, 250, 255, 53, 224, 131, 64, 185, 0, 12, 20, 18, 31, 16, 64, 113, 97, 250, 255,
    84, 96, 82, 64, 185, 225, 3, 25, 170, 3, 0, 128, 82, 2, 0, 152, 82, 0, 16, 64, 146, 0, 124, 23, 155, 160, 106, 96,
    184, 52, 242, 255, 151, 1, 160, 0, 17, 244, 3, 0, 42, 63, 152, 0, 113, 137, 6, 0, 84, 32, 7, 248, 54, 131, 126, 64,
    147, 197, 255, 255, 23, 119, 46, 64, 249, 23, 0, 23, 139, 248, 122, 0, 145, 31, 67, 64, 241, 200, 13, 0, 84, 97,
    130, 70, 169, 2, 32, 129, 210, 162, 7, 160, 242, 0, 3, 0, 139, 33, 4, 0, 145, 97, 130, 6, 169, 63, 0, 2, 235, 8,
    13, 0, 84, 1, 0, 164, 210, 31, 0, 1, 235, 168, 12, 0, 84, 98, 50, 64, 249, 0, 3, 2, 139, 31, 64, 64, 241, 169, 0,
    0, 84, 224, 3, 19, 170, 193, 11, 128, 18, 116, 255, 255, 151, 127, 50, 0, 249, 98, 50, 64, 249, 128, 115, 0, 176,
    0, 196, 6, 145, 225, 195, 1, 145, 0, 0, 2, 139, 251, 253, 255, 151, 230, 3, 0, 170, 129, 116, 0, 176, 33, 0, 47,
    145, 215, 68, 0, 184, 98, 46, 64, 249, 224, 3, 6, 170, 240, 240, 255, 151, 96, 46, 64, 249, 226, 3, 22, 170, 225,
    3, 25, 170, 192, 0, 0, 139, 235, 240, 255, 151, 223, 104, 55, 56, 255, 55, 0, 249, 96, 50, 64, 249, 0, 0, 24, 139,
    96, 50, 0, 249, 174, 255, 255, 23, 32, 0, 128, 146, 224, 253, 191, 242, 224, 247, 223, 242, 0, 40, 193, 154, 64,
    249, 7, 55, 142, 255, 255, 23, 96, 46, 64, 249, 134, 116, 0, 144, 198, 0, 47, 145, 225, 3, 25, 170, 226, 3, 22,
    170, 192, 0, 0, 139, 216, 240, 255, 151, 25, 3, 128, 210, 96, 46, 64, 249, 214, 2, 0, 139, 192, 6, 0, 145, 96, 46,
    0, 249, 224, 5, 128, 82, 192, 104, 54, 56, 22, 117, 0, 144, 214, 2, 47, 145, 96, 82, 64, 185, 0, 88, 25, 155, 27,
    8, 0, 249, 96, 6, 74, 41, 0, 4, 0, 17, 96, 82, 0, 185, 1, 0, 1, 75, 63, 128, 0, 113, 65, 3, 0, 84, 0, 16, 64, 146,
    225, 195, 1, 145, 255, 63, 0, 249, 0, 124, 23, 155, 160, 106, 96, 184, 146, 250, 255, 151, 97, 82, 64, 185, 33, 16,
    64, 146, 33, 124, 23, 155, 160, 106, 33, 184, 225, 59, 64, 249, 96, 86, 64, 185, 0, 124, 25, 155, 193, 106, 32,
    248, 225, 63, 64, 249, 96, 86, 64, 185, 0, 88, 25, 155, 1, 4, 0, 249, 96, 82, 64, 185, 0, 16, 0, 18, 0, 84, 184,
    155, 58, 241, 255, 151, 96, 86, 64, 185, 0, 4, 0, 17, 96, 86, 0, 185, 96, 82, 64, 185, 1, 2, 132, 210, 0, 16, 64,
    146, 0, 124, 1, 155, 161, 2, 0, 139, 180, 106, 32, 184, 63, 64, 0, 248, 84, 255, 255, 23, 3, 0, 128, 210, 83, 255,
    255, 23, 99, 4, 128, 146, 81, 255, 255, 23, 67, 3, 128, 146, 79, 255, 255, 23, 253, 123, 179, 169, 253, 3, 0, 145,
    245, 91, 2, 169, 246, 3, 2, 170, 2, 4, 160, 82, 245, 3, 0, 170, 243, 83, 1, 169, 243, 3, 1, 170, 244, 3, 3, 170,
    247, 99, 3, 169, 46, 252, 255, 151, 225, 67, 1, 145, 100, 250, 255, 151, 224, 79, 0, 185, 96, 0, 248, 54, 19, 124,
    64, 147, 48, 0, 0, 20, 224, 51, 1, 145, 22, 241, 255, 151, 224, 99, 64, 185, 0, 12, 20, 18, 31, 32, 64, 113, 193,
    4, 0, 84, 2, 32, 129, 82, 225, 3, 19, 170, 224, 3, 21, 170, 30, 252, 255, 151, 225, 67, 1, 145, 84, 250, 255, 151,
    224, 79, 0, 185, 32, 254, 255, 55, 224, 99, 64, 185, 0, 12, 20, 18, 31, 32, 64, 113, 128, 4, 0, 84, 31, 16, 64,
    113, 179, 0, 128, 146, 128, 2, 128, 146, 115, 18, 128, 154, 224, 79, 64, 185, 179, 0, 0, 181, 151, 115, 0, 144,
    247, 198, 6, 145, 56, 0, 160, 210, 148, 3, 0, 181, 224, 79, 64, 185, 225, 67, 1, 145, 65, 250, 255, 151, 224, 79,
    0, 185, 224, 51, 1, 145, 246, 240, 255, 151, 160, 38, 64, 249, 225, 67, 64, 249, 0, 48, 0, 145, 1, 64, 31, 248,
    225, 99, 64, 185, 33, 32, 0, 18, 1, 192, 31, 184, 160, 38, 0, 249, 5, 0, 0, 20, 31, 16, 64, 113, 147, 2, 128, 146,
    160, 0, 128, 146, 115, 2, 128, 154, 245, 91, 66, 169, 224, 3, 19, 170, 243, 83, 65, 169, 247, 99, 67, 169, 253,
    123, 205, 168, 192, 3, 95, 214, 19, 0, 128, 210, 224, 255, 255, 23, 159, 66, 64, 241, 0, 124, 64, 147, 225, 3, 23,
    170, 130, 146, 152, 154, 227, 3, 22, 170, 104, 8, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 243, 3,
    0, 170, 31, 16, 0, 177, 97, 0, 0, 84, 224, 79, 64, 185, 243, 255, 255, 23, 31, 0, 0, 241, 205, 250, 255, 84, 226,
    3, 0, 170, 193, 11, 128, 18, 224, 3, 21, 170, 185, 254, 255, 151, 224, 79, 64, 185, 214, 2, 19, 139, 148, 2, 19,
    203, 205, 255, 255, 23, 253, 123, 189, 169, 253, 3, 0, 145, 243, 83, 1, 169, 244, 3, 1, 170, 243, 3, 0, 170, 245,
    91, 2, 169, 1, 8, 67, 169, 32, 1, 128, 210, 32, 0, 160, 242, 0, 0, 1, 203, 31, 0, 20, 235, 99, 0, 0, 84, 63, 0, 2,
    235, 1, 1, 0, 84, 66, 0, 1, 203, 98, 30, 0, 249, 0, 116, 0, 144, 0, 196, 6, 145, 1, 0, 1, 139, 65, 240, 255, 151,
    127, 26, 0, 249, 54, 1, 128, 210, 21, 116, 0, 144, 181, 198, 6, 145, 54, 0, 160, 242, 96, 6, 67, 169, 32, 0, 0,
    203, 31, 0, 20, 235, 163, 0, 0, 84, 243, 83, 65, 169, 245, 91, 66, 169, 253, 123, 195, 168, 192, 3, 95, 214, 96,
    46, 64, 185, 194, 2, 1, 203, 161, 2, 1, 139, 62, 241, 255, 151, 31, 0, 0, 241, 108, 0, 0, 84, 0, 0, 128, 82, 122,
    254, 255, 151, 97, 30, 64, 249, 32, 0, 0, 139, 96, 30, 0, 249, 237, 255, 255, 23, 253, 123, 190, 169, 231, 3, 0,
    170, 136, 6, 128, 210, 253, 3, 0, 145, 243, 83, 1, 169, 2, 0, 128, 210, 244, 3, 1, 170, 32, 16, 128, 185, 3, 0,
    128, 210, 33, 8, 64, 185, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 243, 3, 0, 170, 64, 2, 248, 183, 129, 6,
    64, 57, 137, 130, 4, 145, 128, 14, 64, 185, 131, 130, 0, 145, 97, 2, 0, 52, 128, 14, 128, 185, 225, 3, 9, 170, 136,
    34, 128, 210, 36, 0, 128, 210, 226, 3, 0, 170, 5, 0, 128, 210, 1, 0, 0, 212, 31, 152, 0, 177, 243, 3, 0, 170, 4,
    24, 86, 186, 128, 3, 0, 84, 0, 2, 248, 182, 224, 3, 20, 170, 64, 254, 255, 151, 224, 3, 19, 170, 243, 83, 65, 169,
    253, 123, 194, 168, 192, 3, 95, 214, 0, 124, 64, 147, 225, 3, 9, 170, 226, 3, 0, 170, 200, 4, 128, 210, 1, 0, 0,
    212, 243, 3, 0, 170, 128, 254, 255, 183, 128, 6, 64, 57, 192, 252, 255, 53, 224, 36, 64, 249, 19, 0, 128, 210, 129,
    14, 64, 249, 1, 132, 0, 248, 224, 36, 0, 249, 128, 66, 0, 145, 102, 240, 255, 151, 128, 50, 0, 145, 100, 240, 255,
    151, 159, 2, 0, 57, 233, 255, 255, 23, 128, 14, 128, 185, 168, 4, 128, 210, 4, 0, 128, 210, 226, 3, 0, 170, 1, 0,
    0, 212, 243, 3, 0, 170, 0, 252, 255, 183, 129, 14, 128, 185, 226, 3, 9, 170, 6, 0, 128, 210, 3, 0, 128, 210, 96, 4,
    128, 210, 77, 239, 255, 151, 232, 255, 255, 23, 253, 123, 187, 169, 253, 3, 0, 145, 243, 83, 1, 169, 244, 3, 2,
    170, 243, 3, 0, 170, 224, 3, 1, 145, 245, 91, 2, 169, 255, 127, 4, 169, 80, 250, 255, 151, 225, 3, 20, 170, 246, 3,
    0, 170, 224, 35, 1, 145, 76, 250, 255, 151, 245, 3, 0, 170, 225, 35, 64, 249, 2, 0, 136, 82, 224, 3, 19, 170, 2, 4,
    160, 114, 81, 251, 255, 151, 224, 59, 0, 185, 244, 3, 0, 42, 224, 0, 248, 54, 19, 124, 64, 147, 245, 91, 66, 169,
    224, 3, 19, 170, 243, 83, 65, 169, 253, 123, 197, 168, 192, 3, 95, 214, 225, 39, 64, 249, 2, 0, 136, 82, 224, 3,
    19, 170, 2, 4, 160, 114, 67, 251, 255, 151, 19, 124, 64, 147, 243, 63, 0, 185, 226, 3, 19, 170, 211, 1, 248, 55,
    128, 126, 64, 147, 225, 3, 22, 170, 227, 3, 21, 170, 200, 4, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0,
    212, 243, 3, 0, 170, 31, 72, 0, 177, 32, 1, 0, 84, 31, 68, 0, 177, 65, 0, 0, 84, 211, 4, 128, 146, 224, 227, 0,
    145, 32, 240, 255, 151, 224, 243, 0, 145, 30, 240, 255, 151, 225, 255, 255, 23, 211, 11, 128, 146, 250, 255, 255,
    23, 194, 1, 248, 182, 253, 123, 190, 169, 33, 28, 0, 18, 226, 3, 2, 75, 253, 3, 0, 145, 0, 0, 64, 249, 225, 99, 0,
    57, 225, 99, 0, 145, 226, 31, 0, 185, 2, 1, 128, 210, 0, 232, 65, 185, 14, 241, 255, 151, 224, 15, 128, 82, 238,
    239, 255, 151, 192, 3, 95, 214, 253, 123, 186, 169, 168, 19, 128, 210, 1, 0, 128, 210, 253, 3, 0, 145, 2, 0, 128,
    210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 243, 83, 1, 169, 243, 3, 0, 170, 245, 19, 0, 249, 224, 31, 0,
    249, 0, 0, 128, 210, 1, 0, 0, 212, 1, 1, 128, 82, 226, 3, 0, 170, 224, 227, 0, 145, 224, 255, 255, 151, 96, 2, 64,
    185, 160, 1, 32, 54, 96, 218, 129, 185, 168, 3, 128, 210, 193, 129, 138, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0,
    128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 129, 0, 128, 82, 226, 3, 0, 170, 224, 227, 0, 145, 210, 255, 255, 151, 117,
    98, 7, 145, 20, 0, 128, 210, 160, 122, 180, 184, 225, 3, 20, 170, 8, 3, 128, 210, 2, 0, 128, 210, 3, 0, 128, 210,
    4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 225, 0, 128, 82, 226, 3, 0, 170, 148, 6, 0, 145, 224, 227, 0, 145,
    195, 255, 255, 151, 159, 14, 0, 241, 65, 254, 255, 84, 96, 230, 65, 185, 32, 17, 248, 55, 0, 124, 64, 147, 72, 6,
    128, 210, 1, 0, 128, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 161, 0,
    128, 82, 226, 3, 0, 170, 224, 227, 0, 145, 179, 255, 255, 151, 116, 2, 1, 145, 21, 0, 128, 82, 96, 50, 64, 185, 31,
    0, 21, 107, 168, 15, 0, 84, 96, 10, 64, 185, 31, 4, 0, 49, 32, 3, 0, 84, 232, 19, 128, 210, 0, 0, 128, 210, 1, 0,
    128, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 33, 1, 128, 82, 226, 3, 0,
    170, 224, 227, 0, 145, 159, 255, 255, 151, 96, 10, 64, 185, 168, 18, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 225,
    3, 0, 170, 226, 3, 0, 170, 5, 0, 128, 210, 1, 0, 0, 212, 33, 1, 128, 82, 226, 3, 0, 170, 224, 227, 0, 145, 147,
    255, 255, 151, 96, 6, 64, 185, 31, 4, 0, 49, 128, 3, 0, 84, 96, 10, 64, 185, 31, 4, 0, 49, 161, 1, 0, 84, 232, 19,
    128, 210, 0, 0, 128, 210, 1, 0, 128, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0,
    212, 33, 1, 128, 82, 226, 3, 0, 170, 224, 227, 0, 145, 129, 255, 255, 151, 96, 6, 64, 185, 104, 18, 128, 210, 3, 0,
    128, 210, 4, 0, 128, 210, 225, 3, 0, 170, 226, 3, 0, 170, 5, 0, 128, 210, 1, 0, 0, 212, 33, 1, 128, 82, 226, 3, 0,
    170, 224, 227, 0, 145, 117, 255, 255, 151, 96, 2, 64, 185, 31, 4, 26, 114, 160, 1, 0, 84, 232, 20, 128, 210, 192,
    4, 128, 210, 33, 0, 128, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 97, 1,
    128, 82, 226, 3, 0, 170, 224, 227, 0, 145, 102, 255, 255, 151, 96, 2, 64, 185, 192, 2, 48, 54, 96, 0, 128, 210,
    136, 55, 128, 210, 1, 3, 128, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 255, 255, 4,
    169, 224, 47, 0, 249, 224, 35, 1, 145, 1, 0, 0, 212, 225, 3, 0, 170, 160, 0, 248, 183, 200, 55, 128, 210, 1, 0,
    128, 210, 1, 0, 0, 212, 225, 3, 0, 170, 226, 3, 1, 170, 224, 227, 0, 145, 97, 1, 128, 82, 79, 255, 255, 151, 6, 0,
    128, 210, 226, 3, 1, 145, 5, 0, 128, 210, 4, 1, 128, 210, 3, 0, 128, 210, 65, 0, 128, 210, 224, 16, 128, 210, 255,
    35, 0, 249, 88, 238, 255, 151, 39, 0, 128, 146, 102, 226, 64, 249, 192, 0, 64, 249, 0, 4, 0, 181, 224, 3, 7, 170,
    224, 3, 0, 75, 224, 79, 0, 185, 96, 234, 65, 185, 129, 1, 128, 82, 225, 35, 1, 57, 225, 35, 1, 145, 2, 1, 128, 210,
    82, 240, 255, 151, 224, 15, 128, 82, 50, 239, 255, 151, 96, 222, 64, 249, 1, 0, 64, 57, 65, 240, 255, 52, 40, 6,
    128, 210, 118, 255, 255, 23, 129, 130, 95, 184, 226, 3, 20, 170, 168, 32, 128, 210, 0, 0, 128, 210, 3, 0, 128, 210,
    4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 65, 1, 128, 82, 226, 3, 0, 170, 181, 6, 0, 17, 224, 227, 0, 145, 148,
    98, 0, 145, 36, 255, 255, 151, 115, 255, 255, 23, 97, 138, 92, 169, 168, 27, 128, 210, 3, 0, 128, 210, 4, 0, 128,
    210, 5, 0, 128, 210, 1, 0, 0, 212, 31, 8, 0, 177, 4, 24, 84, 186, 128, 0, 0, 84, 31, 52, 0, 177, 1, 251, 255, 84,
    231, 3, 0, 170, 198, 32, 0, 145, 210, 255, 255, 23, 253, 123, 187, 169, 32, 0, 128, 210, 6, 0, 128, 210, 253, 3, 0,
    145, 227, 195, 0, 145, 5, 0, 128, 210, 4, 0, 128, 210, 130, 0, 128, 210, 1, 0, 128, 210, 243, 83, 1, 169, 224, 3,
    3, 169, 160, 32, 128, 210, 26, 238, 255, 151, 224, 129, 0, 144, 100, 12, 128, 18, 3, 0, 128, 82, 66, 0, 128, 82, 0,
    244, 77, 185, 1, 0, 0, 240, 33, 212, 44, 145, 31, 0, 0, 113, 0, 192, 132, 26, 166, 239, 255, 151, 224, 35, 0, 185,
    32, 2, 248, 55, 244, 3, 1, 145, 243, 3, 0, 42, 225, 3, 20, 170, 2, 2, 128, 210, 171, 239, 255, 151, 255, 39, 0,
    185, 244, 23, 0, 249, 31, 0, 0, 241, 108, 1, 0, 84, 1, 0, 0, 240, 224, 3, 19, 42, 33, 32, 45, 145, 98, 0, 128, 210,
    7, 240, 255, 151, 224, 131, 0, 145, 6, 239, 255, 151, 243, 83, 65, 169, 253, 123, 197, 168, 192, 3, 95, 214, 129,
    2, 0, 139, 226, 147, 0, 145, 224, 163, 0, 145, 184, 241, 255, 151, 31, 28, 0, 114, 32, 254, 255, 84, 224, 39, 64,
    185, 31, 204, 7, 113, 201, 253, 255, 84, 242, 255, 255, 23, 226, 3, 1, 170, 1, 0, 128, 185, 6, 0, 128, 210, 5, 0,
    128, 210, 4, 0, 136, 210, 3, 5, 128, 210, 192, 25, 128, 210, 233, 237, 255, 23, 253, 123, 188, 169, 226, 3, 2, 75,
    35, 0, 128, 82, 253, 3, 0, 145, 255, 127, 2, 169, 227, 11, 3, 41, 225, 131, 0, 57, 225, 99, 0, 145, 255, 127, 3,
    169, 239, 255, 255, 151, 253, 123, 196, 168, 192, 3, 95, 214, 253, 123, 188, 169, 230, 3, 1, 170, 104, 7, 128, 210,
    253, 3, 0, 145, 1, 1, 160, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 243, 83, 1, 169,
    243, 3, 0, 170, 224, 195, 0, 145, 245, 19, 0, 249, 1, 0, 0, 212, 192, 0, 248, 182, 226, 3, 0, 170, 97, 0, 128, 82,
    224, 3, 19, 170, 226, 255, 255, 151, 32, 0, 0, 20, 0, 10, 136, 210, 97, 2, 0, 139, 224, 55, 64, 185, 227, 3, 6,
    170, 2, 0, 0, 144, 66, 160, 22, 145, 192, 232, 1, 185, 32, 34, 136, 210, 146, 237, 255, 151, 244, 3, 0, 170, 224,
    211, 0, 145, 197, 238, 255, 151, 212, 0, 248, 182, 224, 195, 0, 145, 194, 238, 255, 151, 226, 3, 20, 170, 193, 0,
    128, 82, 236, 255, 255, 23, 224, 51, 64, 185, 225, 227, 0, 145, 2, 1, 128, 210, 255, 31, 0, 249, 84, 239, 255, 151,
    245, 3, 0, 170, 224, 195, 0, 145, 183, 238, 255, 151, 191, 34, 0, 241, 0, 1, 0, 84, 32, 0, 128, 82, 116, 14, 0,
    185, 96, 66, 0, 57, 243, 83, 65, 169, 245, 19, 64, 249, 253, 123, 196, 168, 192, 3, 95, 214, 225, 3, 20, 170, 2, 0,
    128, 210, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 128, 32, 128, 210, 158, 237, 255, 151,
    226, 63, 64, 185, 225, 227, 64, 57, 226, 3, 2, 75, 66, 124, 64, 147, 206, 255, 255, 23, 255, 131, 8, 209, 253, 123,
    0, 169, 253, 3, 0, 145, 243, 11, 0, 249, 243, 3, 0, 170, 96, 6, 64, 185, 225, 131, 0, 145, 2, 64, 128, 210, 50,
    239, 255, 151, 31, 0, 0, 241, 108, 255, 255, 84, 253, 123, 64, 169, 243, 11, 64, 249, 255, 131, 8, 145, 192, 3, 95,
    214, 253, 123, 177, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 245, 19, 0, 249, 0, 64, 64, 57, 224, 7,
    0, 52, 52, 0, 128, 210, 21, 72, 136, 210, 20, 0, 168, 242, 245, 1, 160, 242, 224, 131, 1, 145, 2, 18, 128, 210, 1,
    0, 128, 82, 255, 55, 0, 185, 72, 238, 255, 151, 225, 211, 0, 145, 226, 3, 20, 170, 227, 131, 1, 145, 136, 32, 128,
    210, 0, 0, 128, 146, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 31, 0, 0, 241, 173, 3, 0, 84, 97, 14, 64, 185,
    63, 0, 0, 235, 225, 253, 255, 84, 225, 55, 64, 185, 64, 0, 128, 82, 127, 254, 1, 169, 96, 26, 0, 185, 32, 24, 0,
    114, 226, 7, 159, 26, 33, 60, 72, 211, 98, 130, 0, 57, 226, 3, 0, 170, 32, 0, 130, 154, 96, 30, 0, 185, 224, 51,
    64, 249, 127, 14, 0, 185, 225, 55, 64, 249, 0, 4, 21, 155, 225, 63, 64, 249, 96, 22, 0, 249, 224, 59, 64, 249, 0,
    4, 21, 155, 96, 26, 0, 249, 224, 67, 64, 249, 96, 30, 0, 249, 32, 0, 128, 82, 96, 70, 0, 57, 214, 255, 255, 23, 97,
    70, 64, 57, 65, 2, 0, 52, 127, 70, 0, 57, 97, 98, 0, 145, 31, 40, 0, 177, 193, 0, 0, 84, 127, 134, 0, 57, 224, 3,
    19, 170, 91, 255, 255, 151, 127, 66, 0, 57, 5, 0, 0, 20, 32, 0, 128, 82, 96, 134, 0, 57, 224, 3, 19, 170, 85, 255,
    255, 151, 243, 83, 65, 169, 245, 19, 64, 249, 253, 123, 207, 168, 192, 3, 95, 214, 31, 40, 0, 177, 97, 255, 255,
    84, 224, 19, 0, 145, 225, 227, 0, 145, 31, 252, 3, 169, 31, 252, 4, 169, 96, 0, 128, 82, 224, 59, 0, 185, 255, 95,
    0, 185, 235, 255, 255, 23, 253, 123, 189, 169, 253, 3, 0, 145, 243, 83, 1, 169, 244, 3, 0, 170, 245, 19, 0, 249, 0,
    64, 64, 57, 0, 8, 0, 52, 32, 52, 64, 57, 243, 3, 1, 170, 31, 4, 0, 113, 32, 2, 0, 84, 31, 8, 0, 113, 32, 3, 0, 84,
    32, 7, 0, 53, 129, 14, 64, 185, 225, 6, 0, 52, 98, 58, 64, 57, 225, 3, 1, 42, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0,
    128, 210, 3, 0, 128, 210, 243, 83, 65, 169, 32, 16, 128, 210, 245, 19, 64, 249, 253, 123, 195, 168, 28, 237, 255,
    23, 129, 14, 64, 185, 65, 5, 0, 52, 225, 3, 1, 42, 98, 58, 64, 57, 225, 3, 1, 203, 6, 0, 128, 210, 5, 0, 128, 210,
    4, 0, 128, 210, 3, 0, 128, 210, 242, 255, 255, 23, 129, 10, 64, 185, 149, 127, 0, 208, 181, 34, 55, 145, 2, 0, 128,
    210, 224, 3, 21, 170, 130, 246, 255, 151, 224, 129, 0, 144, 0, 244, 77, 185, 31, 0, 0, 113, 140, 1, 0, 84, 129, 14,
    64, 185, 65, 1, 0, 52, 98, 58, 64, 57, 225, 3, 1, 42, 225, 3, 1, 203, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128,
    210, 3, 0, 128, 210, 32, 16, 128, 210, 253, 236, 255, 151, 97, 58, 64, 57, 224, 3, 21, 170, 43, 245, 255, 151, 96,
    58, 64, 57, 31, 60, 0, 113, 225, 0, 0, 84, 243, 83, 65, 169, 224, 3, 21, 170, 245, 19, 64, 249, 65, 2, 128, 82,
    253, 123, 195, 168, 34, 245, 255, 23, 243, 83, 65, 169, 245, 19, 64, 249, 253, 123, 195, 168, 192, 3, 95, 214, 1,
    64, 64, 57, 97, 14, 0, 52, 253, 123, 181, 169, 225, 83, 0, 145, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170,
    148, 127, 0, 208, 245, 91, 2, 169, 148, 34, 55, 145, 21, 0, 128, 82, 247, 99, 3, 169, 22, 0, 128, 82, 23, 0, 128,
    82, 249, 107, 4, 169, 249, 129, 0, 144, 26, 144, 144, 210, 251, 115, 5, 169, 57, 211, 55, 145, 218, 3, 160, 242,
    63, 252, 7, 169, 63, 252, 8, 169, 129, 0, 128, 82, 225, 139, 0, 185, 225, 35, 2, 145, 255, 175, 0, 185, 226, 254,
    255, 151, 198, 237, 255, 151, 248, 3, 0, 170, 96, 66, 64, 57, 0, 1, 0, 53, 243, 83, 65, 169, 245, 91, 66, 169, 247,
    99, 67, 169, 249, 107, 68, 169, 251, 115, 69, 169, 253, 123, 203, 168, 192, 3, 95, 214, 32, 3, 64, 185, 31, 0, 0,
    113, 140, 1, 0, 84, 97, 14, 64, 185, 65, 1, 0, 52, 225, 3, 1, 42, 6, 0, 128, 210, 225, 3, 1, 203, 5, 0, 128, 210,
    4, 0, 128, 210, 3, 0, 128, 210, 34, 1, 128, 210, 32, 16, 128, 210, 185, 236, 255, 151, 97, 10, 64, 185, 224, 3, 20,
    170, 2, 0, 128, 210, 43, 246, 255, 151, 156, 18, 64, 185, 191, 2, 28, 107, 226, 26, 83, 122, 105, 3, 0, 84, 21, 0,
    128, 82, 224, 3, 20, 170, 33, 1, 128, 82, 222, 244, 255, 151, 224, 3, 19, 170, 34, 255, 255, 151, 123, 66, 64, 57,
    155, 251, 255, 52, 157, 237, 255, 151, 0, 0, 24, 203, 31, 0, 26, 235, 193, 2, 0, 82, 224, 151, 159, 26, 2, 0, 1,
    106, 32, 2, 0, 84, 160, 0, 128, 82, 225, 35, 2, 145, 226, 111, 0, 185, 224, 115, 17, 41, 224, 3, 19, 170, 172, 254,
    255, 151, 181, 1, 0, 52, 226, 111, 64, 185, 246, 3, 2, 42, 247, 6, 0, 17, 200, 255, 255, 23, 224, 3, 20, 170, 97,
    2, 128, 82, 245, 3, 28, 42, 196, 244, 255, 151, 230, 255, 255, 23, 53, 255, 255, 53, 33, 0, 128, 210, 118, 0, 0,
    52, 246, 3, 27, 42, 65, 6, 128, 210, 32, 0, 128, 82, 224, 119, 0, 185, 96, 6, 64, 185, 227, 227, 1, 145, 224, 115,
    0, 185, 6, 0, 128, 210, 0, 72, 136, 210, 5, 1, 128, 210, 224, 1, 160, 242, 4, 0, 128, 210, 34, 0, 128, 210, 255,
    63, 0, 249, 33, 124, 0, 155, 32, 9, 128, 210, 225, 67, 0, 249, 225, 195, 1, 145, 124, 236, 255, 151, 224, 3, 19,
    170, 226, 254, 255, 151, 225, 255, 255, 23, 192, 3, 95, 214, 225, 3, 0, 170, 0, 8, 64, 169, 67, 0, 0, 203, 127, 12,
    0, 241, 168, 0, 0, 84, 0, 0, 128, 82, 63, 64, 0, 57, 34, 0, 0, 249, 192, 3, 95, 214, 226, 3, 0, 170, 64, 68, 64,
    184, 252, 255, 255, 23, 253, 123, 190, 169, 253, 3, 0, 145, 243, 11, 0, 249, 243, 3, 0, 170, 240, 255, 255, 151,
    225, 3, 0, 42, 96, 66, 64, 57, 99, 6, 64, 249, 224, 0, 0, 52, 96, 2, 64, 249, 226, 3, 3, 170, 228, 3, 1, 42, 101,
    0, 0, 203, 191, 64, 33, 235, 168, 1, 0, 84, 226, 3, 3, 170, 127, 66, 0, 57, 0, 0, 128, 210, 98, 2, 0, 249, 243, 11,
    64, 249, 253, 123, 194, 168, 192, 3, 95, 214, 99, 4, 0, 145, 166, 104, 99, 56, 166, 0, 0, 53, 127, 66, 0, 57, 247,
    255, 255, 23, 5, 4, 0, 209, 3, 0, 128, 210, 63, 0, 3, 107, 8, 255, 255, 84, 3, 104, 100, 56, 35, 255, 255, 53, 33,
    4, 0, 17, 2, 0, 1, 139, 239, 255, 255, 23, 253, 123, 188, 169, 253, 3, 0, 145, 243, 83, 1, 169, 244, 3, 1, 170,
    243, 3, 0, 170, 224, 3, 1, 170, 245, 91, 2, 169, 246, 3, 2, 170, 247, 27, 0, 249, 199, 255, 255, 151, 245, 3, 0,
    42, 128, 66, 64, 57, 32, 3, 0, 52, 191, 2, 65, 113, 168, 4, 0, 84, 96, 66, 64, 185, 98, 0, 128, 82, 130, 1, 160,
    114, 1, 4, 0, 17, 33, 0, 21, 11, 63, 0, 2, 107, 200, 3, 0, 84, 1, 12, 152, 210, 97, 2, 1, 139, 32, 76, 32, 139,
    151, 1, 131, 210, 192, 2, 0, 249, 22, 0, 128, 82, 223, 2, 21, 107, 161, 1, 0, 84, 96, 66, 64, 185, 1, 4, 0, 17, 97,
    66, 0, 185, 129, 1, 131, 210, 32, 64, 32, 139, 127, 122, 32, 248, 128, 66, 64, 57, 243, 83, 65, 169, 245, 91, 66,
    169, 247, 27, 64, 249, 253, 123, 196, 168, 192, 3, 95, 214, 224, 3, 20, 170, 177, 255, 255, 151, 97, 66, 64, 185,
    214, 6, 0, 17, 34, 4, 0, 17, 98, 66, 0, 185, 225, 66, 33, 139, 96, 122, 33, 248, 234, 255, 255, 23, 0, 0, 128, 82,
    241, 255, 255, 23, 225, 3, 0, 170, 0, 8, 64, 169, 95, 0, 0, 235, 161, 0, 0, 84, 0, 0, 128, 82, 63, 64, 0, 57, 34,
    0, 0, 249, 192, 3, 95, 214, 226, 3, 0, 170, 64, 20, 64, 56, 252, 255, 255, 23, 225, 3, 0, 170, 0, 8, 64, 169, 67,
    0, 0, 203, 127, 28, 0, 241, 168, 0, 0, 84, 0, 0, 128, 210, 63, 64, 0, 57, 34, 0, 0, 249, 192, 3, 95, 214, 226, 3,
    0, 170, 64, 132, 64, 248, 252, 255, 255, 23, 253, 123, 176, 169, 253, 3, 0, 145, 245, 91, 2, 169, 53, 28, 0, 18,
    65, 0, 3, 139, 226, 135, 6, 169, 33, 0, 128, 82, 225, 227, 1, 57, 161, 146, 0, 81, 33, 28, 0, 18, 243, 83, 1, 169,
    244, 3, 0, 170, 247, 99, 3, 169, 249, 107, 4, 169, 251, 43, 0, 249, 63, 8, 0, 113, 40, 7, 0, 84, 191, 146, 0, 113,
    247, 3, 3, 170, 100, 24, 64, 250, 1, 10, 0, 84, 19, 0, 64, 185, 115, 0, 248, 54, 115, 126, 64, 147, 22, 0, 0, 20,
    248, 3, 2, 170, 213, 249, 255, 151, 246, 3, 0, 170, 128, 34, 0, 180, 191, 146, 0, 113, 193, 3, 0, 84, 119, 0, 0,
    181, 19, 0, 128, 210, 13, 0, 0, 20, 192, 18, 64, 185, 226, 3, 23, 170, 225, 3, 24, 170, 221, 237, 255, 151, 243, 3,
    0, 170, 31, 0, 0, 241, 204, 1, 0, 84, 224, 3, 22, 170, 159, 250, 255, 151, 127, 2, 0, 241, 128, 0, 128, 146, 115,
    18, 128, 154, 245, 91, 66, 169, 224, 3, 19, 170, 243, 83, 65, 169, 247, 99, 67, 169, 249, 107, 68, 169, 251, 43,
    64, 249, 253, 123, 208, 168, 192, 3, 95, 214, 24, 3, 0, 139, 247, 2, 0, 203, 192, 14, 64, 249, 0, 0, 19, 139, 192,
    14, 0, 249, 228, 255, 255, 23, 191, 150, 0, 113, 65, 1, 0, 84, 245, 91, 66, 169, 225, 3, 0, 170, 247, 99, 67, 169,
    224, 3, 20, 170, 243, 83, 65, 169, 249, 107, 68, 169, 251, 43, 64, 249, 253, 123, 208, 168, 34, 252, 255, 23, 130,
    250, 255, 151, 216, 255, 255, 23, 224, 163, 1, 145, 70, 255, 255, 151, 248, 3, 0, 170, 191, 166, 0, 113, 1, 1, 0,
    84, 224, 163, 1, 145, 65, 255, 255, 151, 250, 3, 0, 170, 22, 0, 128, 82, 27, 0, 128, 210, 25, 0, 128, 210, 11, 0,
    0, 20, 191, 138, 0, 113, 1, 2, 0, 84, 224, 163, 1, 145, 156, 255, 255, 151, 249, 3, 0, 170, 224, 163, 1, 145, 153,
    255, 255, 151, 251, 3, 0, 170, 22, 0, 128, 82, 26, 0, 128, 210, 224, 163, 1, 145, 23, 0, 128, 82, 51, 239, 255,
    151, 31, 28, 0, 114, 65, 4, 0, 84, 179, 2, 128, 146, 201, 255, 255, 23, 160, 122, 29, 18, 31, 140, 0, 113, 32, 1,
    0, 84, 191, 170, 0, 113, 193, 6, 0, 84, 224, 163, 1, 145, 24, 255, 255, 151, 246, 3, 0, 42, 27, 0, 128, 210, 26, 0,
    128, 210, 227, 255, 255, 23, 191, 142, 0, 113, 224, 163, 1, 145, 243, 23, 159, 26, 16, 255, 255, 151, 246, 3, 0,
    42, 191, 134, 0, 113, 96, 26, 64, 122, 192, 254, 255, 84, 224, 163, 1, 145, 111, 255, 255, 151, 23, 28, 0, 18, 224,
    163, 1, 145, 23, 239, 255, 151, 31, 28, 0, 114, 160, 252, 255, 84, 255, 6, 0, 113, 104, 252, 255, 84, 27, 0, 128,
    210, 26, 0, 128, 210, 25, 0, 128, 210, 147, 2, 64, 185, 51, 242, 255, 55, 191, 174, 0, 113, 97, 144, 192, 210, 33,
    36, 213, 154, 33, 0, 0, 18, 33, 48, 159, 26, 224, 3, 24, 170, 65, 246, 255, 151, 31, 0, 0, 241, 243, 3, 0, 170, 68,
    171, 64, 250, 160, 0, 0, 84, 224, 3, 26, 170, 1, 0, 128, 82, 58, 246, 255, 151, 243, 3, 0, 170, 19, 243, 255, 183,
    181, 130, 0, 81, 191, 42, 0, 113, 104, 249, 255, 84, 0, 0, 0, 208, 0, 48, 45, 145, 0, 72, 117, 56, 117, 0, 0, 16,
    160, 138, 32, 139, 0, 0, 31, 214, 19, 0, 128, 82, 22, 0, 128, 82, 212, 255, 255, 23, 2, 0, 144, 82, 225, 3, 24,
    170, 2, 4, 160, 114, 224, 3, 20, 170, 108, 247, 255, 151, 225, 3, 2, 145, 162, 245, 255, 151, 224, 103, 0, 185, 96,
    0, 248, 54, 19, 124, 64, 147, 129, 255, 255, 23, 224, 147, 1, 145, 84, 236, 255, 151, 128, 38, 64, 249, 225, 3, 2,
    145, 203, 248, 255, 151, 128, 38, 0, 249, 108, 255, 255, 23, 225, 3, 24, 170, 224, 3, 20, 170, 2, 0, 136, 82, 91,
    247, 255, 151, 96, 254, 255, 55, 225, 122, 0, 240, 54, 0, 47, 145, 247, 2, 0, 18, 159, 126, 5, 169, 32, 192, 11,
    185, 223, 66, 0, 248, 159, 126, 6, 169, 159, 58, 0, 249, 225, 3, 23, 42, 224, 3, 20, 170, 72, 250, 255, 151, 243,
    3, 0, 170, 31, 0, 0, 241, 108, 255, 255, 84, 149, 86, 64, 185, 23, 2, 132, 82, 128, 82, 64, 185, 191, 2, 0, 107, 9,
    1, 0, 84, 51, 236, 255, 181, 130, 50, 64, 249, 34, 234, 255, 180, 224, 3, 20, 170, 193, 11, 128, 18, 29, 250, 255,
    151, 77, 255, 255, 23, 160, 18, 0, 18, 181, 6, 0, 17, 0, 88, 183, 155, 44, 236, 255, 151, 242, 255, 255, 23, 127,
    3, 68, 241, 226, 3, 25, 170, 245, 91, 66, 169, 225, 3, 24, 170, 247, 99, 67, 169, 224, 3, 20, 170, 243, 83, 65,
    169, 3, 2, 160, 210, 249, 107, 68, 169, 99, 147, 131, 154, 251, 43, 64, 249, 253, 123, 208, 168, 246, 250, 255, 23,
    249, 107, 68, 169, 227, 2, 0, 18, 251, 43, 64, 249, 226, 3, 22, 42, 245, 91, 66, 169, 225, 3, 24, 170, 247, 99, 67,
    169, 224, 3, 20, 170, 243, 83, 65, 169, 253, 123, 208, 168, 103, 249, 255, 23, 194, 34, 0, 18, 225, 3, 24, 170,
    224, 3, 20, 170, 11, 249, 255, 151, 19, 124, 64, 147, 224, 131, 0, 185, 224, 3, 2, 145, 11, 236, 255, 151, 53, 255,
    255, 23, 225, 3, 24, 170, 224, 3, 2, 145, 255, 67, 0, 249, 11, 246, 255, 151, 225, 67, 64, 249, 2, 0, 136, 82, 243,
    3, 0, 170, 2, 4, 160, 114, 224, 3, 20, 170, 16, 247, 255, 151, 225, 3, 0, 42, 96, 0, 248, 54, 19, 124, 64, 147, 39,
    255, 255, 23, 245, 91, 66, 169, 226, 3, 19, 170, 247, 99, 67, 169, 128, 130, 0, 145, 243, 83, 65, 169, 249, 107,
    68, 169, 251, 43, 64, 249, 253, 123, 208, 168, 243, 247, 255, 23, 245, 91, 66, 169, 226, 3, 26, 170, 249, 107, 68,
    169, 225, 3, 24, 170, 247, 99, 67, 169, 224, 3, 20, 170, 243, 83, 65, 169, 251, 43, 64, 249, 253, 123, 208, 168,
    150, 251, 255, 23, 2, 0, 144, 82, 225, 3, 24, 170, 2, 4, 160, 114, 224, 3, 20, 170, 244, 246, 255, 151, 225, 3, 2,
    145, 42, 245, 255, 151, 19, 124, 64, 147, 243, 103, 0, 185, 83, 225, 255, 55, 225, 147, 64, 185, 33, 12, 20, 18,
    63, 40, 64, 113, 192, 0, 0, 84, 193, 34, 0, 18, 55, 245, 255, 151, 243, 3, 0, 170, 224, 147, 1, 145, 203, 255, 255,
    23, 243, 4, 128, 146, 253, 255, 255, 23, 19, 1, 128, 146, 253, 254, 255, 23, 253, 123, 186, 169, 231, 3, 2, 42,
    233, 3, 3, 42, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 6, 0, 128, 210, 245, 91, 2, 169, 5, 0, 128, 210, 4,
    0, 128, 210, 247, 99, 3, 169, 3, 0, 128, 210, 2, 0, 128, 210, 1, 44, 0, 185, 1, 0, 128, 210, 192, 20, 128, 210,
    185, 234, 255, 151, 103, 2, 0, 185, 167, 2, 248, 55, 41, 6, 0, 55, 64, 1, 128, 210, 255, 3, 5, 169, 0, 0, 136, 210,
    0, 5, 160, 242, 1, 0, 0, 208, 168, 54, 128, 210, 33, 204, 44, 145, 226, 35, 1, 145, 3, 3, 128, 210, 4, 0, 128, 210,
    5, 0, 128, 210, 224, 39, 0, 249, 224, 124, 64, 147, 1, 0, 0, 212, 224, 75, 0, 185, 0, 124, 31, 83, 96, 18, 0, 57,
    224, 35, 1, 145, 171, 235, 255, 151, 246, 115, 0, 240, 119, 115, 0, 240, 117, 115, 0, 240, 214, 198, 6, 145, 247,
    214, 6, 145, 181, 162, 6, 145, 33, 1, 128, 210, 224, 3, 19, 170, 218, 250, 255, 151, 96, 26, 64, 249, 0, 0, 22,
    139, 224, 39, 0, 249, 0, 36, 0, 145, 224, 43, 0, 249, 32, 0, 128, 82, 224, 99, 1, 57, 224, 35, 1, 145, 26, 254,
    255, 151, 244, 3, 0, 42, 224, 35, 1, 145, 124, 254, 255, 151, 248, 3, 0, 42, 224, 35, 1, 145, 20, 254, 255, 151,
    96, 66, 0, 185, 159, 66, 64, 113, 169, 0, 0, 84, 64, 0, 128, 82, 104, 249, 255, 151, 160, 4, 128, 18, 221, 255,
    255, 23, 129, 38, 0, 145, 224, 3, 19, 170, 193, 250, 255, 151, 119, 38, 0, 249, 98, 26, 64, 249, 227, 3, 20, 170,
    225, 3, 24, 42, 66, 36, 0, 145, 128, 2, 2, 139, 96, 26, 0, 249, 194, 2, 2, 139, 224, 3, 19, 170, 124, 254, 255,
    151, 96, 1, 248, 182, 224, 3, 0, 75, 119, 38, 0, 249, 98, 38, 64, 249, 225, 11, 128, 18, 160, 146, 0, 184, 224, 3,
    19, 170, 66, 0, 21, 203, 66, 36, 0, 209, 97, 249, 255, 151, 208, 255, 255, 23, 0, 0, 128, 82, 247, 255, 255, 23,
    225, 3, 0, 170, 0, 8, 64, 169, 67, 0, 0, 203, 127, 4, 0, 241, 168, 0, 0, 84, 0, 0, 128, 82, 63, 64, 0, 57, 34, 0,
    0, 249, 192, 3, 95, 214, 226, 3, 0, 170, 64, 36, 64, 120, 252, 255, 255, 23, 253, 123, 189, 169, 253, 3, 0, 145,
    243, 83, 1, 169, 244, 3, 1, 170, 243, 3, 0, 170, 245, 91, 2, 169, 224, 253, 255, 151, 128, 2, 0, 185, 224, 3, 19,
    170, 221, 253, 255, 151, 128, 6, 0, 185, 224, 3, 19, 170, 218, 253, 255, 151, 128, 10, 0, 185, 224, 3, 19, 170, 71,
    254, 255, 151, 128, 10, 0, 249, 224, 3, 19, 170, 212, 253, 255, 151, 128, 26, 0, 185, 224, 3, 19, 170, 209, 253,
    255, 151, 128, 30, 0, 185, 224, 3, 19, 170, 62, 254, 255, 151, 128, 18, 0, 249, 224, 3, 19, 170, 203, 253, 255,
    151, 128, 42, 0, 185, 224, 3, 19, 170, 214, 255, 255, 151, 128, 90, 0, 121, 224, 3, 19, 170, 211, 255, 255, 151,
    128, 94, 0, 121, 224, 3, 19, 170, 194, 253, 255, 151, 128, 50, 0, 185, 31, 64, 0, 113, 40, 3, 0, 84, 149, 226, 0,
    145, 22, 0, 128, 82, 128, 50, 64, 185, 31, 0, 22, 107, 224, 3, 19, 170, 8, 1, 0, 84, 196, 253, 255, 151, 128, 222,
    0, 249, 96, 66, 64, 57, 243, 83, 65, 169, 245, 91, 66, 169, 253, 123, 195, 168, 192, 3, 95, 214, 177, 253, 255,
    151, 160, 2, 0, 185, 224, 3, 19, 170, 214, 6, 0, 17, 29, 254, 255, 151, 160, 6, 0, 249, 224, 3, 19, 170, 181, 98,
    0, 145, 25, 254, 255, 151, 160, 130, 31, 248, 235, 255, 255, 23, 0, 0, 128, 82, 240, 255, 255, 23, 255, 3, 9, 209,
    253, 123, 0, 169, 253, 3, 0, 145, 243, 83, 1, 169, 244, 3, 1, 170, 245, 19, 0, 249, 39, 8, 64, 185, 38, 48, 64, 57,
    225, 4, 65, 211, 223, 0, 0, 113, 33, 4, 129, 26, 33, 12, 0, 17, 63, 0, 5, 235, 0, 1, 0, 84, 253, 123, 64, 169, 2,
    1, 128, 146, 243, 83, 65, 169, 225, 0, 128, 82, 245, 19, 64, 249, 255, 3, 9, 145, 31, 252, 255, 23, 225, 3, 8, 145,
    232, 67, 8, 145, 243, 3, 0, 170, 0, 0, 128, 146, 32, 64, 3, 248, 129, 0, 64, 249, 31, 125, 0, 169, 128, 8, 64, 185,
    31, 5, 1, 169, 224, 51, 2, 185, 103, 0, 8, 54, 128, 12, 64, 185, 224, 55, 2, 185, 230, 5, 0, 52, 133, 8, 5, 139,
    129, 6, 64, 185, 200, 27, 128, 210, 0, 0, 128, 210, 34, 0, 128, 210, 67, 0, 128, 210, 164, 192, 159, 184, 5, 0,
    128, 210, 1, 0, 0, 212, 226, 3, 0, 170, 31, 252, 63, 177, 35, 1, 0, 84, 224, 3, 19, 170, 33, 0, 128, 82, 2, 252,
    255, 151, 253, 123, 64, 169, 243, 83, 65, 169, 245, 19, 64, 249, 255, 3, 9, 145, 192, 3, 95, 214, 131, 6, 64, 185,
    245, 3, 0, 170, 226, 31, 0, 249, 66, 0, 3, 139, 32, 0, 128, 82, 225, 67, 1, 145, 226, 35, 0, 249, 224, 35, 1, 57,
    224, 227, 0, 145, 126, 255, 255, 151, 31, 28, 0, 114, 33, 2, 0, 84, 224, 3, 19, 170, 194, 0, 128, 146, 33, 0, 128,
    82, 237, 251, 255, 151, 117, 253, 255, 180, 130, 6, 64, 185, 225, 3, 21, 170, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0,
    128, 210, 3, 0, 128, 210, 224, 26, 128, 210, 204, 233, 255, 151, 226, 255, 255, 23, 21, 0, 128, 210, 231, 255, 255,
    23, 127, 66, 0, 185, 226, 67, 8, 145, 225, 227, 0, 145, 224, 3, 19, 170, 125, 253, 255, 151, 31, 28, 0, 114, 64,
    253, 255, 84, 226, 99, 8, 145, 225, 227, 0, 145, 224, 3, 19, 170, 119, 253, 255, 151, 31, 28, 0, 114, 128, 252,
    255, 84, 226, 131, 8, 145, 225, 227, 0, 145, 224, 3, 19, 170, 113, 253, 255, 151, 31, 28, 0, 114, 192, 251, 255,
    84, 224, 227, 0, 145, 77, 237, 255, 151, 31, 28, 0, 114, 64, 251, 255, 84, 225, 67, 1, 145, 224, 3, 19, 170, 211,
    251, 255, 151, 218, 255, 255, 23, 253, 123, 185, 169, 1, 10, 136, 210, 5, 1, 128, 210, 253, 3, 0, 145, 243, 83, 1,
    169, 20, 0, 1, 139, 243, 3, 0, 170, 245, 19, 0, 249, 230, 227, 0, 145, 228, 67, 1, 145, 225, 3, 20, 170, 0, 0, 64,
    185, 3, 8, 128, 82, 2, 2, 144, 210, 255, 31, 0, 249, 209, 236, 255, 151, 31, 44, 0, 177, 160, 4, 0, 84, 230, 3, 0,
    170, 31, 0, 0, 241, 192, 8, 128, 146, 196, 208, 64, 250, 160, 0, 0, 84, 224, 3, 19, 170, 169, 252, 255, 151, 0, 0,
    128, 82, 124, 234, 255, 151, 255, 127, 4, 169, 223, 60, 0, 241, 173, 0, 0, 84, 225, 3, 20, 170, 224, 3, 1, 145, 2,
    2, 128, 210, 10, 234, 255, 151, 224, 67, 64, 185, 245, 31, 64, 249, 31, 8, 0, 113, 160, 2, 0, 84, 31, 12, 0, 113,
    224, 2, 0, 84, 31, 4, 0, 113, 33, 1, 0, 84, 0, 12, 136, 210, 229, 3, 21, 170, 98, 2, 0, 139, 228, 67, 1, 145, 195,
    64, 0, 209, 225, 3, 1, 145, 224, 3, 19, 170, 97, 255, 255, 151, 243, 67, 1, 145, 20, 0, 128, 210, 159, 2, 21, 235,
    129, 1, 0, 84, 243, 83, 65, 169, 245, 19, 64, 249, 253, 123, 199, 168, 192, 3, 95, 214, 225, 3, 1, 145, 224, 3, 19,
    170, 59, 252, 255, 151, 245, 255, 255, 23, 224, 3, 19, 170, 130, 252, 255, 151, 242, 255, 255, 23, 224, 3, 19, 170,
    148, 6, 0, 145, 115, 18, 0, 145, 113, 234, 255, 151, 239, 255, 255, 23, 253, 123, 187, 169, 253, 3, 0, 145, 243,
    83, 1, 169, 243, 3, 0, 170, 1, 0, 0, 185, 245, 19, 0, 249, 127, 239, 255, 151, 96, 10, 0, 185, 6, 0, 128, 210, 5,
    0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 2, 0, 128, 210, 1, 0, 128, 210, 160, 19, 128, 210, 88, 233, 255, 151,
    5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 34, 0, 128, 210, 129, 4, 128, 210, 224, 20, 128, 210, 81, 233, 255,
    151, 42, 251, 255, 151, 32, 0, 160, 210, 3, 0, 129, 210, 72, 9, 128, 210, 225, 227, 0, 145, 2, 1, 128, 210, 3, 1,
    160, 242, 4, 0, 128, 210, 5, 0, 128, 210, 224, 31, 0, 249, 0, 0, 128, 146, 1, 0, 0, 212, 52, 0, 128, 82, 53, 0,
    192, 210, 96, 6, 0, 185, 96, 2, 64, 185, 225, 3, 1, 145, 224, 83, 8, 41, 6, 0, 128, 210, 96, 6, 64, 185, 5, 1, 128,
    210, 245, 39, 0, 249, 4, 0, 128, 210, 3, 0, 128, 210, 66, 0, 128, 210, 224, 75, 0, 185, 32, 9, 128, 210, 53, 233,
    255, 151, 224, 159, 192, 121, 160, 0, 0, 52, 224, 3, 19, 170, 153, 251, 255, 151, 224, 3, 19, 170, 166, 251, 255,
    151, 224, 143, 192, 121, 128, 253, 255, 52, 224, 3, 19, 170, 126, 255, 255, 151, 233, 255, 255, 23, 253, 123, 188,
    169, 253, 3, 0, 145, 243, 83, 1, 169, 244, 3, 0, 170, 245, 91, 2, 169, 19, 4, 64, 249, 0, 16, 144, 210, 96, 2, 0,
    139, 97, 2, 64, 185, 246, 3, 19, 170, 225, 5, 0, 52, 115, 66, 0, 145, 127, 2, 0, 235, 97, 255, 255, 84, 22, 0, 128,
    210, 243, 83, 65, 169, 224, 3, 22, 170, 245, 91, 66, 169, 253, 123, 196, 168, 192, 3, 95, 214, 224, 243, 0, 145,
    28, 234, 255, 151, 149, 0, 248, 182, 224, 227, 0, 145, 25, 234, 255, 151, 245, 255, 255, 23, 117, 2, 0, 185, 0, 0,
    128, 18, 96, 10, 0, 185, 4, 0, 128, 210, 225, 59, 64, 185, 32, 3, 128, 210, 97, 6, 0, 185, 6, 0, 128, 210, 127, 26,
    0, 121, 5, 0, 128, 210, 33, 124, 64, 147, 3, 0, 129, 210, 130, 0, 128, 210, 2, 233, 255, 151, 132, 6, 64, 249, 128,
    118, 64, 185, 100, 2, 4, 203, 132, 252, 68, 147, 31, 0, 4, 107, 104, 0, 0, 84, 128, 4, 0, 17, 128, 118, 0, 185,
    128, 30, 64, 185, 99, 0, 128, 82, 97, 6, 64, 185, 34, 0, 128, 82, 254, 232, 255, 151, 128, 122, 64, 185, 0, 4, 0,
    17, 128, 122, 0, 185, 215, 255, 255, 23, 161, 0, 128, 210, 227, 227, 0, 145, 232, 24, 128, 210, 32, 0, 128, 210, 1,
    1, 160, 242, 2, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 128, 249, 255, 183, 224, 3, 20, 170,
    214, 232, 255, 151, 245, 3, 0, 170, 192, 249, 255, 181, 225, 63, 64, 185, 2, 0, 128, 18, 224, 3, 20, 170, 156, 240,
    255, 151, 0, 67, 0, 240, 97, 0, 128, 82, 0, 192, 2, 145, 116, 255, 255, 151, 253, 123, 180, 169, 253, 3, 0, 145,
    243, 83, 1, 169, 243, 3, 0, 170, 251, 115, 5, 169, 27, 1, 0, 240, 123, 35, 0, 145, 245, 91, 2, 169, 247, 99, 3,
    169, 24, 0, 128, 210, 249, 107, 4, 169, 116, 158, 64, 249, 148, 2, 24, 203, 159, 34, 0, 241, 137, 59, 0, 84, 96, 6,
    84, 169, 0, 0, 68, 145, 0, 0, 1, 203, 97, 255, 191, 18, 31, 0, 1, 235, 201, 58, 0, 84, 96, 110, 64, 57, 128, 58, 0,
    53, 0, 3, 27, 139, 224, 63, 0, 249, 0, 36, 0, 145, 60, 0, 128, 82, 224, 67, 0, 249, 224, 227, 1, 145, 252, 35, 2,
    57, 69, 252, 255, 151, 245, 3, 0, 42, 224, 227, 1, 145, 167, 252, 255, 151, 1, 28, 0, 18, 246, 3, 1, 42, 224, 227,
    1, 145, 225, 111, 0, 185, 249, 3, 21, 170, 60, 252, 255, 151, 250, 3, 0, 42, 225, 111, 64, 185, 128, 12, 160, 210,
    35, 0, 160, 210, 63, 8, 0, 113, 0, 0, 131, 154, 31, 64, 53, 235, 99, 11, 0, 84, 128, 38, 0, 209, 191, 2, 0, 235, 8,
    55, 0, 84, 23, 39, 0, 145, 252, 131, 2, 57, 119, 3, 23, 139, 224, 2, 21, 139, 247, 3, 9, 169, 63, 4, 0, 113, 33, 8,
    0, 84, 247, 131, 10, 169, 224, 163, 2, 145, 225, 227, 2, 57, 38, 252, 255, 151, 246, 3, 0, 42, 224, 163, 2, 145,
    35, 252, 255, 151, 244, 3, 0, 42, 224, 163, 2, 145, 44, 252, 255, 151, 247, 3, 0, 170, 224, 163, 2, 145, 45, 236,
    255, 151, 31, 28, 0, 114, 0, 1, 0, 84, 223, 6, 0, 113, 200, 0, 0, 84, 96, 210, 64, 57, 0, 1, 0, 52, 226, 3, 28, 42,
    129, 0, 128, 82, 3, 0, 0, 20, 34, 0, 128, 82, 97, 0, 128, 82, 224, 3, 19, 170, 140, 4, 0, 148, 0, 125, 128, 82,
    124, 210, 0, 57, 130, 126, 160, 155, 98, 38, 0, 249, 162, 0, 0, 180, 118, 233, 255, 151, 97, 38, 64, 249, 33, 0, 0,
    139, 97, 42, 0, 249, 118, 58, 0, 185, 224, 2, 64, 57, 192, 0, 0, 53, 160, 2, 128, 18, 96, 62, 0, 185, 181, 38, 0,
    145, 24, 3, 21, 139, 167, 255, 255, 23, 2, 0, 136, 82, 225, 3, 23, 170, 3, 0, 128, 82, 2, 4, 160, 114, 96, 12, 128,
    18, 6, 234, 255, 151, 96, 62, 0, 185, 224, 119, 0, 185, 160, 254, 255, 55, 0, 124, 64, 147, 40, 3, 128, 210, 193,
    128, 128, 210, 66, 1, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 96, 62, 0, 185, 224,
    211, 1, 145, 106, 233, 255, 151, 233, 255, 255, 23, 96, 210, 64, 57, 96, 0, 0, 53, 226, 3, 22, 42, 209, 255, 255,
    23, 63, 8, 0, 113, 225, 0, 0, 84, 227, 3, 21, 170, 226, 3, 23, 170, 225, 3, 26, 42, 224, 3, 19, 170, 111, 4, 0,
    148, 221, 255, 255, 23, 63, 36, 0, 113, 161, 2, 0, 84, 191, 2, 1, 241, 137, 0, 0, 84, 226, 3, 22, 42, 65, 0, 128,
    82, 198, 255, 255, 23, 96, 38, 64, 249, 160, 0, 0, 180, 64, 233, 255, 151, 97, 38, 64, 249, 33, 0, 0, 139, 97, 42,
    0, 249, 227, 3, 21, 170, 226, 3, 26, 42, 224, 3, 19, 170, 1, 15, 128, 18, 227, 232, 255, 151, 226, 3, 21, 170, 225,
    3, 23, 170, 190, 232, 255, 151, 199, 255, 255, 23, 63, 40, 0, 113, 65, 2, 0, 84, 20, 0, 128, 82, 22, 22, 128, 82,
    11, 0, 0, 20, 98, 2, 64, 249, 128, 126, 182, 155, 65, 0, 0, 139, 64, 104, 96, 56, 160, 0, 0, 52, 224, 3, 19, 170,
    3, 0, 128, 82, 66, 0, 128, 82, 50, 235, 255, 151, 148, 6, 0, 17, 96, 114, 64, 185, 159, 2, 0, 107, 131, 254, 255,
    84, 180, 255, 255, 23, 32, 128, 0, 81, 0, 28, 0, 18, 31, 40, 0, 113, 105, 2, 0, 84, 100, 114, 64, 185, 0, 0, 128,
    210, 159, 0, 0, 107, 8, 15, 0, 84, 20, 0, 128, 210, 63, 24, 0, 113, 192, 31, 0, 84, 232, 15, 0, 84, 63, 16, 0, 113,
    0, 27, 0, 84, 63, 20, 0, 113, 0, 28, 0, 84, 63, 12, 0, 113, 192, 18, 0, 84, 1, 0, 128, 82, 226, 3, 1, 42, 33, 0,
    128, 82, 142, 255, 255, 23, 96, 138, 64, 185, 192, 7, 248, 54, 32, 0, 128, 210, 225, 3, 0, 170, 227, 163, 2, 145,
    232, 24, 128, 210, 1, 1, 160, 242, 2, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 192, 2, 248, 183,
    224, 3, 19, 170, 249, 231, 255, 151, 244, 3, 0, 170, 160, 1, 0, 181, 98, 62, 64, 185, 224, 3, 19, 170, 225, 175,
    64, 185, 191, 239, 255, 151, 99, 2, 71, 41, 162, 0, 128, 82, 97, 0, 128, 82, 31, 0, 0, 113, 2, 176, 130, 26, 96,
    115, 0, 208, 0, 192, 4, 145, 49, 253, 255, 151, 224, 179, 2, 145, 0, 233, 255, 151, 116, 1, 248, 182, 224, 163, 2,
    145, 253, 232, 255, 151, 225, 11, 128, 18, 226, 3, 26, 42, 224, 3, 19, 170, 131, 0, 128, 210, 144, 232, 255, 151,
    97, 1, 128, 82, 1, 0, 0, 185, 117, 255, 255, 23, 225, 171, 64, 185, 4, 0, 128, 210, 116, 126, 16, 41, 3, 0, 129,
    210, 97, 138, 0, 185, 130, 0, 128, 210, 33, 124, 64, 147, 32, 3, 128, 210, 6, 0, 128, 210, 5, 0, 128, 210, 226,
    231, 255, 151, 127, 254, 9, 169, 32, 0, 128, 82, 97, 138, 64, 185, 34, 0, 128, 82, 96, 50, 2, 57, 4, 0, 128, 82,
    96, 30, 64, 185, 227, 0, 128, 82, 127, 86, 0, 249, 2, 0, 168, 114, 224, 231, 255, 151, 98, 82, 64, 249, 32, 1, 160,
    210, 167, 38, 0, 145, 6, 59, 0, 208, 0, 0, 2, 203, 198, 96, 0, 145, 31, 0, 7, 235, 34, 1, 0, 84, 97, 78, 64, 249,
    224, 3, 6, 170, 66, 0, 1, 203, 193, 0, 1, 139, 94, 232, 255, 151, 97, 130, 73, 169, 0, 0, 1, 203, 127, 130, 9, 169,
    32, 1, 160, 210, 97, 82, 64, 249, 0, 0, 1, 203, 255, 0, 0, 235, 137, 0, 0, 84, 226, 3, 22, 42, 161, 0, 128, 82, 55,
    255, 255, 23, 192, 0, 1, 139, 217, 104, 33, 184, 226, 3, 21, 170, 225, 3, 23, 170, 0, 36, 0, 145, 22, 176, 31, 56,
    26, 192, 31, 184, 53, 232, 255, 151, 96, 82, 64, 249, 0, 36, 0, 145, 0, 0, 21, 139, 96, 82, 0, 249, 96, 146, 64,
    185, 0, 4, 0, 17, 96, 146, 0, 185, 224, 3, 19, 170, 239, 231, 255, 151, 53, 255, 255, 23, 2, 22, 128, 210, 99, 2,
    64, 249, 2, 124, 2, 155, 116, 0, 2, 139, 98, 104, 98, 56, 130, 0, 0, 52, 130, 6, 64, 185, 95, 3, 2, 107, 64, 240,
    255, 84, 0, 4, 0, 145, 125, 255, 255, 23, 63, 28, 0, 113, 160, 17, 0, 84, 63, 32, 0, 113, 193, 240, 255, 84, 224,
    67, 2, 145, 255, 87, 0, 249, 50, 253, 255, 151, 224, 83, 1, 121, 224, 67, 2, 145, 47, 253, 255, 151, 224, 87, 1,
    121, 224, 67, 2, 145, 46, 235, 255, 151, 31, 28, 0, 114, 224, 14, 0, 84, 84, 227, 255, 180, 128, 14, 64, 185, 0,
    227, 39, 54, 129, 98, 64, 185, 193, 226, 255, 55, 227, 163, 2, 145, 33, 124, 64, 147, 6, 0, 128, 210, 5, 0, 128,
    210, 4, 0, 128, 210, 130, 130, 138, 210, 160, 3, 128, 210, 134, 231, 255, 151, 13, 255, 255, 23, 148, 225, 255,
    180, 128, 14, 64, 185, 96, 0, 0, 55, 129, 150, 65, 57, 97, 0, 0, 52, 98, 0, 128, 82, 242, 254, 255, 23, 129, 2,
    128, 82, 31, 0, 1, 106, 128, 255, 255, 84, 128, 134, 78, 41, 32, 0, 0, 11, 0, 0, 21, 139, 31, 64, 64, 241, 105, 0,
    0, 84, 98, 0, 128, 82, 180, 255, 255, 23, 128, 154, 65, 57, 224, 0, 0, 52, 33, 3, 1, 11, 129, 122, 0, 185, 225, 3,
    20, 170, 224, 3, 19, 170, 126, 233, 255, 151, 244, 254, 255, 23, 128, 54, 64, 249, 224, 1, 0, 181, 200, 27, 128,
    210, 33, 0, 160, 210, 98, 0, 128, 210, 67, 4, 128, 210, 4, 0, 128, 146, 5, 0, 128, 210, 1, 0, 0, 212, 31, 252, 63,
    177, 163, 0, 0, 84, 225, 3, 20, 170, 224, 3, 19, 170, 142, 232, 255, 151, 229, 254, 255, 23, 128, 54, 0, 249, 129,
    10, 78, 41, 32, 0, 2, 11, 0, 0, 21, 139, 31, 64, 64, 241, 201, 0, 0, 84, 128, 54, 64, 249, 226, 3, 2, 42, 1, 64,
    33, 139, 231, 231, 255, 151, 159, 114, 0, 185, 131, 54, 64, 249, 226, 3, 21, 170, 128, 6, 78, 41, 0, 0, 1, 139,
    225, 3, 23, 170, 96, 0, 0, 139, 201, 231, 255, 151, 128, 118, 64, 185, 0, 0, 25, 11, 128, 118, 0, 185, 216, 255,
    255, 23, 212, 217, 255, 180, 128, 14, 64, 185, 128, 217, 7, 55, 128, 150, 65, 57, 64, 217, 255, 53, 32, 0, 128, 82,
    128, 150, 1, 57, 128, 118, 64, 185, 192, 216, 255, 53, 206, 255, 255, 23, 224, 67, 2, 145, 41, 251, 255, 151, 26,
    28, 0, 18, 224, 67, 2, 145, 38, 251, 255, 151, 22, 28, 0, 18, 249, 3, 22, 42, 224, 67, 2, 145, 205, 234, 255, 151,
    31, 28, 0, 114, 160, 1, 0, 84, 214, 6, 0, 81, 214, 30, 0, 18, 223, 254, 0, 113, 66, 155, 66, 122, 8, 1, 0, 84, 148,
    214, 255, 180, 129, 10, 64, 185, 227, 3, 25, 42, 226, 3, 26, 42, 224, 3, 19, 170, 16, 234, 255, 151, 174, 254, 255,
    23, 162, 0, 128, 82, 155, 254, 255, 23, 224, 67, 2, 145, 171, 250, 255, 151, 247, 3, 0, 42, 224, 67, 2, 145, 184,
    234, 255, 151, 31, 28, 0, 114, 97, 0, 0, 84, 226, 3, 22, 42, 146, 254, 255, 23, 84, 212, 255, 180, 227, 3, 23, 42,
    225, 3, 20, 170, 224, 3, 19, 170, 66, 0, 128, 82, 22, 234, 255, 151, 156, 254, 255, 23, 224, 67, 2, 145, 0, 251,
    255, 151, 23, 28, 0, 18, 224, 67, 2, 145, 152, 250, 255, 151, 246, 3, 0, 42, 224, 67, 2, 145, 165, 234, 255, 151,
    31, 28, 0, 114, 64, 2, 0, 84, 224, 6, 0, 81, 0, 28, 0, 18, 31, 4, 0, 113, 200, 1, 0, 84, 180, 209, 255, 180, 224,
    3, 22, 42, 255, 6, 0, 113, 129, 1, 0, 84, 129, 14, 64, 249, 130, 66, 0, 145, 131, 0, 128, 82, 32, 0, 0, 139, 64, 4,
    0, 249, 225, 3, 20, 170, 224, 3, 19, 170, 89, 231, 255, 151, 129, 254, 255, 23, 226, 0, 128, 82, 110, 254, 255, 23,
    129, 34, 64, 249, 130, 226, 0, 145, 163, 0, 128, 82, 32, 0, 0, 139, 64, 4, 0, 249, 245, 255, 255, 23, 56, 1, 0,
    180, 0, 1, 0, 208, 0, 32, 0, 145, 226, 3, 20, 170, 1, 0, 24, 139, 127, 231, 255, 151, 96, 158, 64, 249, 0, 0, 24,
    203, 96, 158, 0, 249, 243, 83, 65, 169, 245, 91, 66, 169, 247, 99, 67, 169, 249, 107, 68, 169, 251, 115, 69, 169,
    253, 123, 204, 168, 192, 3, 95, 214, 255, 195, 18, 209, 253, 123, 0, 169, 253, 3, 0, 145, 243, 83, 1, 169, 148, 63,
    0, 208, 148, 98, 0, 145, 249, 107, 4, 169, 249, 3, 0, 170, 245, 91, 2, 169, 247, 99, 3, 169, 251, 115, 5, 169, 224,
    3, 25, 170, 104, 237, 255, 151, 32, 111, 64, 57, 0, 1, 0, 52, 32, 127, 64, 185, 192, 0, 0, 53, 32, 119, 64, 185,
    128, 0, 0, 53, 32, 131, 64, 185, 64, 0, 0, 53, 180, 231, 255, 151, 51, 3, 69, 169, 1, 0, 128, 210, 36, 115, 64,
    185, 5, 22, 128, 210, 127, 2, 0, 235, 115, 146, 128, 154, 159, 0, 1, 107, 72, 6, 0, 84, 183, 231, 255, 151, 127,
    14, 0, 177, 200, 7, 0, 84, 31, 0, 19, 235, 194, 7, 0, 84, 115, 158, 15, 145, 115, 2, 0, 203, 224, 252, 148, 210,
    96, 210, 186, 242, 127, 2, 0, 235, 72, 7, 0, 84, 0, 125, 128, 210, 115, 10, 192, 154, 38, 211, 64, 57, 32, 31, 128,
    185, 6, 7, 0, 52, 33, 123, 64, 185, 1, 7, 0, 53, 33, 111, 64, 57, 193, 6, 0, 53, 33, 51, 64, 185, 34, 127, 64, 185,
    95, 0, 1, 107, 99, 34, 159, 154, 198, 48, 159, 26, 225, 195, 2, 145, 200, 2, 128, 210, 2, 8, 128, 210, 4, 0, 128,
    210, 5, 1, 128, 210, 1, 0, 0, 212, 31, 0, 0, 241, 246, 3, 0, 170, 196, 8, 64, 122, 65, 5, 0, 84, 243, 3, 1, 170,
    23, 0, 128, 210, 24, 22, 128, 210, 58, 0, 128, 82, 255, 2, 22, 235, 139, 6, 0, 84, 32, 159, 64, 249, 31, 32, 0,
    241, 201, 5, 0, 84, 32, 111, 64, 57, 128, 5, 0, 53, 224, 3, 25, 170, 185, 253, 255, 151, 41, 0, 0, 20, 35, 3, 64,
    249, 32, 124, 5, 155, 98, 0, 0, 139, 96, 104, 96, 56, 32, 1, 0, 52, 64, 140, 72, 169, 66, 76, 64, 249, 31, 0, 3,
    235, 0, 144, 131, 154, 95, 0, 19, 235, 83, 144, 147, 154, 31, 0, 19, 235, 19, 144, 147, 154, 33, 4, 0, 145, 191,
    255, 255, 23, 19, 0, 128, 146, 204, 255, 255, 23, 19, 0, 128, 210, 202, 255, 255, 23, 19, 208, 157, 210, 211, 6,
    160, 242, 199, 255, 255, 23, 227, 3, 19, 170, 209, 255, 255, 23, 227, 3, 19, 170, 6, 0, 128, 82, 206, 255, 255, 23,
    224, 3, 25, 170, 76, 253, 255, 151, 96, 1, 0, 181, 33, 31, 128, 185, 127, 202, 0, 241, 68, 6, 128, 210, 226, 195,
    2, 145, 100, 146, 132, 154, 6, 1, 128, 210, 5, 0, 128, 210, 35, 0, 128, 210, 192, 2, 128, 210, 106, 230, 255, 151,
    224, 3, 25, 170, 255, 239, 255, 151, 146, 255, 255, 23, 117, 6, 64, 249, 163, 254, 96, 211, 127, 16, 0, 241, 192,
    13, 0, 84, 72, 1, 0, 84, 127, 8, 0, 241, 0, 12, 0, 84, 127, 12, 0, 241, 32, 12, 0, 84, 127, 4, 0, 241, 64, 2, 0,
    84, 247, 6, 0, 145, 115, 66, 0, 145, 190, 255, 255, 23, 127, 24, 0, 241, 128, 13, 0, 84, 127, 28, 0, 241, 96, 14,
    0, 84, 127, 20, 0, 241, 1, 255, 255, 84, 181, 126, 64, 146, 32, 3, 64, 249, 181, 126, 24, 155, 1, 0, 21, 139, 0,
    104, 117, 56, 64, 254, 255, 52, 34, 224, 0, 145, 93, 0, 0, 20, 32, 111, 64, 57, 192, 253, 255, 53, 96, 2, 64, 185,
    191, 6, 0, 113, 32, 5, 0, 84, 32, 6, 16, 55, 53, 253, 255, 53, 96, 2, 64, 185, 31, 120, 29, 114, 192, 252, 255, 84,
    32, 111, 64, 57, 128, 252, 255, 53, 35, 159, 64, 249, 1, 1, 0, 208, 34, 1, 128, 210, 33, 32, 0, 145, 97, 0, 1, 139,
    130, 12, 160, 242, 66, 0, 3, 203, 35, 99, 64, 57, 32, 19, 64, 185, 99, 6, 0, 52, 245, 67, 2, 145, 230, 35, 2, 145,
    228, 3, 21, 170, 5, 1, 128, 210, 3, 8, 128, 82, 255, 71, 0, 249, 97, 233, 255, 151, 31, 28, 1, 177, 96, 3, 0, 84,
    227, 71, 64, 249, 2, 0, 128, 210, 95, 0, 3, 235, 97, 3, 0, 84, 31, 44, 0, 177, 96, 249, 255, 84, 31, 0, 0, 241, 45,
    1, 0, 84, 33, 159, 64, 249, 32, 0, 0, 139, 32, 159, 0, 249, 224, 3, 25, 170, 69, 253, 255, 151, 195, 255, 255, 23,
    31, 4, 29, 114, 160, 0, 0, 84, 224, 3, 25, 170, 1, 0, 128, 82, 64, 236, 255, 151, 189, 255, 255, 23, 224, 3, 25,
    170, 170, 236, 255, 151, 186, 255, 255, 23, 224, 3, 25, 170, 167, 236, 255, 151, 206, 255, 255, 23, 224, 3, 25,
    170, 2, 0, 128, 82, 193, 0, 128, 82, 19, 2, 0, 148, 33, 51, 65, 185, 63, 128, 0, 113, 64, 255, 255, 84, 37, 4, 0,
    17, 225, 3, 1, 42, 33, 176, 0, 145, 164, 122, 98, 184, 37, 51, 1, 185, 66, 4, 0, 145, 36, 123, 33, 184, 218, 255,
    255, 23, 164, 231, 255, 151, 218, 255, 255, 23, 224, 3, 25, 170, 60, 235, 255, 151, 163, 255, 255, 23, 32, 7, 64,
    249, 181, 126, 124, 211, 1, 0, 21, 139, 0, 104, 117, 184, 192, 243, 255, 52, 224, 3, 25, 170, 207, 234, 255, 151,
    155, 255, 255, 23, 181, 126, 64, 146, 32, 3, 64, 249, 181, 126, 24, 155, 1, 0, 21, 139, 0, 104, 117, 56, 160, 242,
    255, 52, 34, 64, 0, 145, 224, 3, 25, 170, 153, 231, 255, 151, 145, 255, 255, 23, 181, 126, 64, 146, 32, 3, 64, 249,
    181, 126, 24, 155, 1, 0, 21, 139, 0, 104, 117, 56, 96, 241, 255, 52, 224, 3, 25, 170, 245, 231, 255, 151, 136, 255,
    255, 23, 96, 2, 64, 185, 63, 51, 2, 57, 96, 0, 16, 54, 224, 3, 25, 170, 31, 230, 255, 151, 96, 2, 64, 185, 31, 120,
    29, 114, 224, 3, 0, 84, 28, 1, 136, 210, 59, 1, 128, 210, 252, 0, 160, 242, 59, 0, 160, 242, 32, 139, 64, 185, 32,
    3, 248, 55, 33, 11, 84, 169, 33, 0, 68, 145, 33, 0, 2, 203, 63, 0, 28, 235, 137, 2, 0, 84, 33, 87, 64, 249, 98, 3,
    1, 203, 129, 2, 1, 139, 110, 231, 255, 151, 31, 44, 0, 177, 192, 1, 0, 84, 31, 0, 0, 241, 236, 1, 0, 84, 33, 35, 2,
    145, 224, 3, 25, 170, 225, 230, 255, 151, 129, 14, 128, 18, 224, 3, 25, 170, 131, 0, 128, 210, 2, 0, 128, 82, 96,
    230, 255, 151, 33, 147, 64, 185, 1, 0, 0, 185, 63, 147, 0, 185, 224, 3, 25, 170, 228, 229, 255, 151, 95, 255, 255,
    23, 33, 87, 64, 249, 21, 0, 128, 210, 32, 0, 0, 139, 32, 87, 0, 249, 36, 87, 64, 249, 133, 2, 21, 139, 132, 0, 21,
    203, 159, 32, 0, 241, 40, 1, 0, 84, 226, 3, 4, 170, 225, 3, 5, 170, 224, 3, 20, 170, 65, 230, 255, 151, 32, 87, 64,
    249, 0, 0, 21, 203, 32, 87, 0, 249, 211, 255, 255, 23, 160, 36, 0, 145, 229, 19, 7, 169, 229, 3, 9, 169, 224, 67,
    2, 145, 250, 131, 2, 57, 44, 249, 255, 151, 227, 3, 0, 42, 224, 67, 2, 145, 227, 111, 0, 185, 141, 249, 255, 151,
    6, 28, 0, 18, 224, 67, 2, 145, 230, 155, 12, 41, 36, 249, 255, 151, 226, 3, 0, 42, 229, 19, 71, 169, 227, 111, 64,
    185, 236, 3, 3, 42, 128, 36, 0, 209, 31, 64, 35, 235, 131, 252, 255, 84, 230, 135, 76, 41, 223, 128, 2, 113, 129,
    0, 0, 84, 32, 147, 64, 185, 0, 4, 0, 81, 32, 147, 0, 185, 227, 3, 12, 170, 224, 3, 25, 170, 43, 230, 255, 151, 161,
    38, 0, 145, 226, 3, 12, 170, 140, 37, 0, 145, 129, 2, 1, 139, 181, 2, 12, 139, 3, 230, 255, 151, 207, 255, 255, 23,
    253, 123, 163, 169, 253, 3, 0, 145, 243, 83, 1, 169, 245, 19, 0, 249, 1, 0, 64, 249, 63, 4, 0, 241, 173, 17, 0, 84,
    0, 8, 64, 249, 66, 0, 128, 210, 1, 0, 0, 176, 33, 92, 45, 145, 77, 230, 255, 151, 31, 0, 0, 113, 243, 23, 159, 26,
    225, 159, 104, 178, 225, 147, 9, 248, 225, 95, 64, 178, 225, 147, 10, 248, 1, 1, 128, 82, 64, 64, 0, 208, 0, 160,
    2, 145, 225, 19, 11, 184, 65, 253, 223, 210, 224, 67, 0, 249, 225, 255, 255, 242, 0, 64, 0, 208, 0, 144, 0, 145,
    224, 71, 0, 249, 0, 0, 128, 146, 225, 95, 0, 249, 33, 0, 128, 82, 2, 16, 128, 210, 224, 75, 0, 249, 245, 3, 2, 145,
    224, 19, 10, 248, 20, 0, 0, 176, 225, 131, 1, 121, 1, 0, 128, 82, 255, 103, 0, 249, 148, 78, 44, 145, 224, 3, 13,
    169, 255, 127, 14, 169, 255, 127, 15, 169, 255, 131, 0, 249, 224, 11, 1, 185, 224, 195, 4, 145, 255, 51, 4, 57,
    255, 19, 1, 185, 255, 255, 17, 169, 255, 151, 0, 249, 31, 230, 255, 151, 0, 1, 0, 208, 6, 0, 128, 210, 5, 0, 128,
    210, 4, 0, 128, 210, 21, 0, 0, 249, 3, 0, 128, 210, 2, 0, 128, 210, 1, 0, 128, 210, 160, 19, 128, 210, 243, 99, 2,
    57, 255, 179, 1, 185, 39, 0, 128, 210, 255, 255, 27, 169, 255, 231, 0, 249, 66, 229, 255, 151, 5, 0, 128, 210, 4,
    0, 128, 210, 3, 0, 128, 210, 2, 0, 128, 210, 129, 0, 128, 210, 224, 20, 128, 210, 59, 229, 255, 151, 5, 0, 128,
    210, 4, 0, 128, 210, 3, 0, 128, 210, 34, 0, 128, 210, 129, 4, 128, 210, 224, 20, 128, 210, 52, 229, 255, 151, 5, 0,
    128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 2, 0, 128, 210, 65, 2, 128, 210, 192, 20, 128, 210, 45, 229, 255, 151,
    225, 3, 20, 170, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 2, 0, 128, 210, 32, 6, 128, 210, 38, 229, 255,
    151, 225, 3, 7, 170, 226, 131, 1, 145, 231, 4, 0, 145, 6, 0, 128, 210, 5, 0, 128, 210, 4, 1, 128, 210, 3, 0, 128,
    210, 192, 16, 128, 210, 255, 127, 6, 169, 255, 127, 7, 169, 27, 229, 255, 151, 255, 4, 1, 241, 129, 254, 255, 84,
    226, 3, 1, 145, 0, 0, 128, 146, 5, 0, 128, 210, 4, 1, 128, 210, 3, 0, 128, 210, 65, 0, 128, 210, 224, 35, 0, 249,
    224, 16, 128, 210, 16, 229, 255, 151, 28, 236, 255, 151, 228, 131, 3, 145, 6, 0, 128, 210, 5, 0, 128, 210, 3, 0,
    128, 210, 226, 0, 128, 210, 1, 0, 128, 210, 160, 32, 128, 210, 7, 229, 255, 151, 224, 119, 64, 249, 1, 0, 128, 210,
    227, 67, 1, 145, 5, 0, 128, 210, 4, 0, 128, 210, 226, 0, 128, 210, 224, 3, 5, 169, 160, 32, 128, 210, 254, 228,
    255, 151, 224, 119, 64, 249, 225, 7, 133, 210, 31, 0, 1, 235, 8, 2, 0, 84, 31, 0, 2, 241, 72, 1, 0, 84, 1, 1, 128,
    82, 225, 179, 0, 185, 31, 0, 16, 241, 1, 128, 128, 210, 0, 144, 129, 154, 224, 115, 0, 249, 12, 0, 0, 20, 19, 0,
    128, 82, 122, 255, 255, 23, 1, 0, 1, 209, 162, 0, 128, 210, 33, 8, 194, 154, 225, 179, 0, 185, 225, 115, 64, 249,
    63, 252, 15, 241, 105, 254, 255, 84, 31, 0, 1, 235, 35, 254, 255, 84, 3, 0, 128, 82, 66, 0, 128, 82, 1, 0, 0, 176,
    96, 12, 128, 18, 33, 100, 45, 145, 118, 230, 255, 151, 224, 167, 0, 185, 0, 2, 248, 54, 224, 131, 1, 145, 104, 7,
    128, 210, 1, 1, 160, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 96, 0, 248,
    182, 64, 0, 128, 82, 188, 229, 255, 151, 224, 99, 64, 185, 224, 167, 0, 185, 224, 147, 1, 145, 215, 229, 255, 151,
    127, 2, 0, 113, 40, 3, 128, 210, 96, 0, 128, 210, 193, 128, 128, 210, 0, 16, 159, 154, 66, 1, 128, 210, 3, 0, 128,
    210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 224, 147, 0, 185, 230, 3, 0, 42, 129, 0, 0, 84, 32, 0, 128, 210,
    1, 0, 0, 212, 230, 3, 0, 42, 224, 147, 64, 185, 230, 151, 0, 185, 198, 0, 0, 42, 230, 252, 255, 55, 7, 0, 128, 210,
    255, 8, 0, 241, 96, 22, 0, 84, 225, 167, 128, 185, 226, 3, 7, 170, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210,
    3, 0, 128, 210, 0, 3, 128, 210, 176, 228, 255, 151, 231, 4, 0, 145, 255, 12, 0, 241, 129, 254, 255, 84, 51, 1, 0,
    52, 225, 3, 7, 170, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 128, 210, 2, 0, 128, 210, 32, 7, 128,
    210, 164, 228, 255, 151, 40, 3, 128, 210, 0, 0, 128, 210, 193, 128, 128, 210, 66, 1, 128, 210, 3, 0, 128, 210, 4,
    0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 231, 147, 128, 185, 97, 0, 128, 210, 2, 0, 128, 210, 224, 167, 0, 185,
    224, 3, 7, 170, 1, 0, 0, 212, 6, 0, 128, 210, 3, 0, 117, 178, 225, 3, 7, 170, 224, 3, 8, 170, 130, 0, 128, 210,
    144, 228, 255, 151, 231, 151, 128, 185, 40, 3, 128, 210, 97, 0, 128, 210, 2, 0, 128, 210, 224, 3, 7, 170, 3, 0,
    128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 3, 0, 117, 178, 225, 3, 7, 170, 130, 0, 128, 210, 224, 3,
    8, 170, 130, 228, 255, 151, 224, 3, 21, 170, 149, 232, 255, 151, 136, 2, 128, 210, 0, 1, 160, 210, 1, 0, 128, 210,
    2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 224, 159, 0, 185, 0, 64, 128, 210,
    32, 0, 160, 242, 3, 0, 129, 210, 225, 35, 1, 145, 72, 9, 128, 210, 2, 1, 128, 210, 3, 1, 160, 242, 224, 39, 0, 249,
    0, 0, 128, 146, 1, 0, 0, 212, 225, 3, 0, 170, 224, 159, 64, 185, 225, 163, 0, 185, 1, 0, 1, 42, 129, 242, 255, 55,
    225, 147, 64, 185, 35, 0, 128, 82, 226, 3, 3, 42, 109, 228, 255, 151, 243, 0, 0, 53, 225, 151, 64, 185, 36, 0, 128,
    82, 224, 159, 64, 185, 227, 3, 4, 42, 2, 0, 128, 82, 102, 228, 255, 151, 224, 135, 83, 41, 4, 0, 128, 82, 67, 0,
    128, 82, 34, 0, 128, 82, 115, 122, 31, 83, 96, 228, 255, 151, 192, 129, 0, 176, 0, 244, 77, 185, 31, 0, 0, 113, 77,
    0, 0, 84, 115, 2, 28, 50, 192, 129, 0, 176, 0, 192, 119, 57, 64, 0, 0, 52, 115, 2, 29, 50, 225, 227, 0, 145, 232,
    20, 128, 210, 160, 4, 128, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 255, 59, 0, 185, 1,
    0, 0, 212, 160, 0, 248, 183, 224, 59, 64, 185, 31, 4, 0, 113, 65, 0, 0, 84, 115, 2, 27, 50, 136, 55, 128, 210, 0,
    0, 128, 210, 1, 0, 128, 210, 34, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 31, 20,
    0, 241, 77, 0, 0, 84, 115, 2, 0, 50, 0, 0, 136, 210, 225, 3, 20, 170, 0, 5, 160, 242, 226, 131, 1, 145, 168, 54,
    128, 210, 3, 3, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 224, 127, 6, 169, 96, 12, 128, 146, 255, 59, 0, 249, 1,
    0, 0, 212, 224, 63, 0, 185, 64, 0, 248, 55, 115, 2, 30, 50, 224, 243, 0, 145, 44, 229, 255, 151, 131, 3, 128, 210,
    2, 0, 128, 82, 225, 15, 128, 18, 224, 3, 21, 170, 191, 228, 255, 151, 244, 3, 0, 170, 96, 200, 136, 210, 128, 168,
    169, 242, 32, 0, 192, 242, 224, 22, 224, 242, 128, 2, 0, 249, 54, 234, 255, 151, 128, 10, 0, 185, 232, 21, 128,
    210, 1, 0, 128, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 0, 0, 128, 210, 1, 0, 0, 212,
    40, 22, 128, 210, 128, 14, 0, 185, 0, 0, 128, 210, 1, 0, 0, 212, 128, 78, 2, 41, 224, 179, 64, 185, 128, 26, 0,
    185, 224, 3, 21, 170, 38, 253, 255, 151, 224, 3, 7, 170, 40, 3, 128, 210, 33, 0, 128, 210, 2, 0, 128, 210, 3, 0,
    128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 192, 233, 255, 182, 69, 255, 255, 23, 253, 123, 190, 169,
    45, 28, 0, 18, 76, 28, 0, 18, 253, 3, 0, 145, 243, 11, 0, 249, 67, 0, 128, 210, 31, 124, 20, 169, 243, 3, 0, 170,
    2, 0, 128, 82, 161, 14, 128, 18, 145, 228, 255, 151, 13, 0, 0, 57, 12, 4, 0, 57, 224, 3, 19, 170, 129, 234, 255,
    151, 1, 0, 128, 82, 224, 3, 19, 170, 17, 234, 255, 151, 224, 3, 19, 170, 8, 253, 255, 151, 255, 131, 12, 209, 253,
    123, 0, 169, 253, 3, 0, 145, 243, 83, 1, 169, 243, 3, 0, 170, 64, 0, 3, 139, 226, 131, 9, 169, 32, 0, 128, 82, 245,
    91, 2, 169, 245, 3, 1, 42, 246, 3, 3, 170, 225, 131, 5, 145, 247, 99, 3, 169, 23, 0, 128, 82, 249, 107, 4, 169,
    250, 3, 2, 170, 251, 115, 5, 169, 224, 163, 2, 57, 224, 99, 2, 145, 119, 249, 255, 151, 2, 28, 0, 18, 95, 0, 0,
    113, 224, 26, 66, 122, 77, 5, 0, 84, 251, 99, 65, 185, 2, 8, 0, 52, 224, 99, 2, 145, 101, 231, 255, 151, 31, 28, 0,
    114, 128, 7, 0, 84, 127, 255, 3, 113, 72, 7, 0, 84, 99, 114, 64, 185, 0, 0, 128, 210, 4, 22, 128, 210, 127, 0, 0,
    107, 40, 7, 0, 84, 0, 0, 128, 146, 224, 115, 0, 185, 224, 63, 0, 249, 124, 7, 65, 211, 224, 131, 0, 185, 98, 50,
    65, 185, 155, 7, 0, 55, 159, 3, 2, 107, 168, 7, 0, 84, 156, 7, 0, 53, 97, 50, 64, 185, 97, 1, 0, 52, 0, 0, 128,
    210, 2, 22, 128, 210, 121, 2, 64, 249, 24, 124, 2, 155, 52, 3, 24, 139, 35, 107, 120, 56, 163, 8, 0, 52, 0, 4, 0,
    145, 63, 0, 0, 107, 40, 255, 255, 84, 225, 3, 21, 42, 224, 3, 19, 170, 67, 1, 128, 146, 34, 0, 128, 82, 105, 228,
    255, 151, 182, 0, 0, 20, 224, 99, 2, 145, 46, 247, 255, 151, 244, 3, 0, 42, 31, 0, 65, 113, 72, 2, 0, 84, 255, 10,
    0, 113, 24, 0, 128, 82, 226, 23, 159, 26, 31, 0, 0, 113, 224, 7, 159, 26, 66, 0, 0, 42, 95, 0, 0, 113, 2, 19, 84,
    122, 99, 0, 0, 84, 247, 6, 0, 17, 197, 255, 255, 23, 224, 99, 2, 145, 42, 247, 255, 151, 31, 0, 0, 241, 24, 7, 0,
    17, 226, 7, 159, 26, 246, 255, 255, 23, 2, 0, 128, 82, 247, 255, 255, 23, 66, 0, 128, 82, 97, 0, 128, 82, 224, 3,
    19, 170, 144, 255, 255, 151, 98, 2, 64, 249, 1, 124, 4, 155, 69, 0, 1, 139, 65, 104, 97, 56, 129, 0, 0, 52, 161, 4,
    64, 185, 191, 2, 1, 107, 64, 53, 0, 84, 0, 4, 0, 145, 189, 255, 255, 23, 156, 15, 0, 17, 95, 0, 28, 107, 130, 0, 0,
    84, 66, 0, 128, 82, 193, 0, 128, 82, 239, 255, 255, 23, 97, 90, 64, 249, 225, 63, 0, 249, 96, 186, 64, 185, 224,
    131, 0, 185, 159, 19, 0, 113, 97, 0, 0, 84, 96, 190, 64, 185, 224, 115, 0, 185, 66, 0, 28, 75, 98, 50, 1, 185, 96,
    194, 2, 145, 1, 72, 60, 139, 66, 124, 126, 211, 1, 228, 255, 151, 180, 255, 255, 23, 96, 126, 64, 185, 96, 0, 0,
    53, 224, 3, 19, 170, 71, 231, 255, 151, 247, 195, 2, 145, 2, 22, 128, 210, 1, 0, 128, 82, 224, 3, 23, 170, 49, 228,
    255, 151, 0, 0, 128, 18, 224, 187, 0, 185, 224, 195, 0, 185, 225, 3, 23, 170, 224, 235, 0, 185, 130, 21, 128, 210,
    224, 19, 1, 185, 0, 0, 128, 146, 224, 131, 19, 169, 224, 167, 0, 249, 224, 3, 20, 170, 213, 227, 255, 151, 32, 0,
    128, 82, 32, 107, 56, 56, 149, 6, 0, 185, 155, 14, 0, 185, 71, 228, 255, 151, 128, 66, 0, 249, 225, 187, 64, 249,
    162, 126, 138, 210, 98, 188, 180, 242, 98, 147, 216, 242, 35, 4, 0, 209, 2, 4, 224, 242, 127, 0, 2, 235, 136, 0, 0,
    84, 2, 125, 128, 210, 33, 0, 2, 155, 129, 70, 0, 249, 224, 191, 64, 249, 128, 82, 0, 249, 224, 139, 65, 185, 123,
    116, 145, 210, 128, 14, 0, 249, 219, 69, 183, 242, 128, 34, 0, 249, 27, 93, 212, 242, 224, 195, 64, 249, 123, 209,
    229, 242, 31, 0, 0, 241, 0, 16, 159, 218, 128, 18, 0, 249, 128, 38, 0, 249, 96, 2, 64, 249, 97, 114, 64, 185, 128,
    2, 0, 203, 0, 252, 68, 147, 0, 124, 27, 155, 63, 0, 0, 107, 104, 0, 0, 84, 0, 4, 0, 17, 96, 114, 0, 185, 96, 126,
    64, 185, 0, 4, 0, 17, 96, 126, 0, 185, 188, 15, 0, 53, 135, 14, 64, 185, 135, 18, 32, 54, 3, 0, 128, 82, 66, 32,
    129, 82, 1, 0, 0, 144, 96, 12, 128, 18, 33, 140, 45, 145, 185, 228, 255, 151, 255, 139, 0, 185, 9, 124, 64, 147,
    231, 3, 9, 170, 201, 7, 248, 55, 33, 134, 138, 210, 224, 3, 9, 170, 226, 35, 2, 145, 168, 3, 128, 210, 129, 0, 168,
    242, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 245, 3, 0, 170, 0, 1, 248, 183, 66, 32, 128,
    210, 224, 3, 9, 170, 33, 136, 138, 210, 2, 1, 160, 242, 1, 0, 0, 212, 245, 3, 0, 170, 192, 5, 248, 182, 224, 3, 23,
    170, 231, 179, 0, 185, 18, 228, 255, 151, 227, 3, 21, 170, 130, 0, 128, 82, 129, 6, 64, 185, 224, 3, 19, 170, 198,
    227, 255, 151, 32, 107, 120, 56, 96, 0, 0, 52, 128, 10, 64, 185, 0, 2, 248, 54, 129, 66, 0, 145, 224, 3, 19, 170,
    26, 228, 255, 151, 129, 226, 0, 145, 224, 3, 19, 170, 23, 228, 255, 151, 32, 0, 128, 82, 128, 170, 2, 57, 225, 3,
    20, 170, 224, 3, 19, 170, 38, 228, 255, 151, 63, 107, 56, 56, 96, 126, 64, 185, 0, 4, 0, 81, 96, 126, 0, 185, 244,
    227, 1, 145, 149, 0, 128, 210, 247, 3, 20, 170, 24, 0, 128, 18, 181, 6, 0, 241, 33, 32, 0, 84, 224, 195, 1, 145,
    242, 227, 255, 151, 253, 123, 64, 169, 243, 83, 65, 169, 245, 91, 66, 169, 247, 99, 67, 169, 249, 107, 68, 169,
    251, 115, 69, 169, 255, 131, 12, 145, 192, 3, 95, 214, 245, 3, 9, 170, 212, 255, 255, 23, 224, 143, 65, 185, 227,
    3, 23, 170, 225, 3, 9, 170, 6, 0, 128, 210, 130, 130, 138, 210, 224, 127, 22, 41, 224, 3, 8, 170, 216, 226, 255,
    151, 40, 3, 128, 210, 224, 3, 9, 170, 193, 128, 128, 210, 98, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0,
    128, 210, 137, 18, 0, 185, 245, 87, 15, 41, 245, 131, 0, 185, 1, 0, 0, 212, 128, 98, 0, 185, 100, 2, 64, 249, 131,
    0, 128, 82, 129, 18, 64, 185, 2, 0, 168, 82, 132, 2, 4, 203, 96, 30, 64, 185, 132, 252, 68, 147, 132, 124, 27, 27,
    204, 226, 255, 151, 129, 58, 64, 185, 33, 1, 248, 55, 100, 2, 64, 249, 163, 0, 128, 82, 96, 30, 64, 185, 2, 0, 168,
    82, 132, 2, 4, 203, 132, 252, 68, 147, 132, 124, 27, 27, 194, 226, 255, 151, 129, 98, 64, 185, 33, 1, 248, 55, 100,
    2, 64, 249, 195, 0, 128, 82, 96, 30, 64, 185, 2, 0, 168, 82, 132, 2, 4, 203, 132, 252, 68, 147, 132, 124, 27, 27,
    184, 226, 255, 151, 39, 0, 128, 82, 231, 91, 17, 41, 255, 151, 0, 185, 0, 0, 128, 18, 224, 119, 0, 185, 128, 14,
    64, 185, 224, 147, 0, 185, 252, 115, 64, 185, 223, 34, 64, 241, 137, 12, 0, 84, 232, 34, 128, 210, 0, 0, 0, 144,
    33, 0, 128, 210, 0, 180, 45, 145, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212,
    224, 103, 0, 185, 224, 119, 0, 185, 96, 8, 248, 54, 3, 124, 64, 147, 34, 0, 128, 82, 143, 255, 255, 23, 96, 38, 64,
    185, 224, 123, 0, 185, 103, 2, 16, 54, 224, 3, 23, 170, 104, 7, 128, 210, 1, 1, 160, 210, 2, 0, 128, 210, 3, 0,
    128, 210, 4, 0, 128, 210, 5, 0, 128, 210, 1, 0, 0, 212, 32, 6, 248, 183, 224, 7, 86, 41, 129, 98, 0, 185, 6, 0,
    128, 210, 35, 0, 129, 210, 130, 0, 128, 210, 224, 123, 0, 185, 33, 124, 64, 147, 32, 3, 128, 210, 129, 226, 255,
    151, 224, 3, 23, 170, 104, 7, 128, 210, 1, 1, 160, 210, 2, 0, 128, 210, 3, 0, 128, 210, 4, 0, 128, 210, 5, 0, 128,
    210, 1, 0, 0, 212, 224, 3, 248, 183, 224, 179, 64, 185, 128, 18, 0, 185, 224, 183, 64, 185, 224, 127, 0, 185, 231,
    0, 24, 55, 224, 3, 23, 170, 1, 0, 0, 212, 224, 2, 248, 183, 224, 179, 64, 185, 128, 58, 0, 185, 224, 183, 64, 185,
    129, 18, 128, 185, 6, 0, 128, 210, 5, 0, 128, 210, 4, 0, 128, 210, 3, 0, 129, 210, 130, 0, 128, 210, 224, 131, 0,
    185, 32, 3, 128, 210, 100, 226, 255, 151, 129, 58, 64, 185, 225, 242, 255, 55, 33, 124, 64, 147, 5, 0, 128, 210, 4,
    0, 128, 210, 3, 0, 129, 210, 130, 0, 128, 210, 32, 3, 128, 210, 91, 226, 255, 151, 143, 255, 255, 23, 227, 3, 0,
    170, 98, 0, 128, 82, 80, 255, 255, 23, 3, 0, 128, 210, 224, 103, 64, 185, 194, 2, 3, 203, 65, 3, 3, 139, 227, 55,
    0, 249, 88, 228, 255, 151, 245, 3, 0, 170, 227, 55, 64, 249, 31, 0, 0, 241, 236, 0, 0, 84, 224, 211, 1, 145, 83,
    227, 255, 151, 191, 2, 0, 241, 99, 3, 128, 146, 163, 18, 131, 154, 176, 255, 255, 23, 99, 0, 0, 139, 223, 2, 3,
    235, 232, 253, 255, 84, 32, 0, 128, 82, 224, 83, 2, 57, 224, 63, 64, 249, 224, 91, 0, 249, 224, 131, 64, 185, 224,
    187, 0, 185, 255, 195, 11, 248, 156, 5, 248, 55, 252, 191, 0, 185, 156, 0, 128, 210, 224, 119, 64, 185, 96, 0, 248,
    55, 224, 122, 60, 184, 156, 7, 0, 145, 31, 0, 0, 113, 64, 1, 128, 82, 214, 178, 159, 154, 224, 103, 0, 185, 96,
    122, 64, 185, 160, 0, 0, 52, 99, 118, 64, 185, 0, 0, 128, 210, 127, 0, 0, 107, 200, 3, 0, 84, 224, 3, 19, 170, 1,
    249, 255, 151, 245, 3, 0, 170, 32, 2, 0, 180, 160, 6, 64, 185, 230, 3, 28, 170, 229, 3, 23, 170, 228, 3, 22, 170,
    227, 3, 26, 170, 225, 35, 2, 145, 2, 2, 128, 210, 175, 228, 255, 151, 128, 3, 248, 182, 224, 3, 19, 170, 225, 3,
    21, 170, 143, 227, 255, 151, 224, 103, 64, 185, 0, 4, 0, 113, 224, 103, 0, 185, 225, 252, 255, 84, 224, 211, 1,
    145, 30, 227, 255, 151, 128, 10, 64, 185, 192, 3, 248, 54, 67, 1, 128, 146, 66, 0, 128, 82, 10, 255, 255, 23, 124,
    0, 128, 210, 214, 255, 255, 23, 98, 6, 64, 249, 1, 236, 124, 211, 65, 104, 97, 184, 85, 16, 0, 139, 161, 0, 0, 52,
    161, 10, 64, 185, 97, 0, 248, 54, 161, 54, 64, 57, 225, 251, 255, 52, 0, 4, 0, 145, 215, 255, 255, 23, 96, 122, 64,
    185, 0, 4, 0, 81, 96, 122, 0, 185, 96, 2, 64, 249, 128, 2, 0, 203, 0, 252, 68, 147, 0, 124, 27, 155, 160, 10, 0,
    185, 96, 6, 64, 249, 181, 2, 0, 203, 181, 254, 68, 147, 149, 10, 0, 185, 224, 255, 255, 23, 130, 66, 0, 145, 225,
    3, 20, 170, 224, 3, 19, 170, 131, 0, 128, 82, 81, 226, 255, 151, 130, 226, 0, 145, 225, 3, 20, 170, 224, 3, 19,
    170, 163, 0, 128, 82, 76, 226, 255, 151, 232, 254, 255, 23, 96, 38, 64, 185, 150, 2, 64, 185, 31, 0, 22, 107, 96,
    0, 0, 84, 224, 3, 20, 170, 238, 226, 255, 151, 224, 3, 23, 170, 129, 0, 128, 210, 33, 4, 0, 241, 97, 0, 0, 84, 148,
    18, 0, 145, 243, 254, 255, 23, 2, 0, 64, 185, 95, 0, 22, 107, 65, 0, 0, 84, 24, 0, 0, 185, 0, 16, 0, 145, 247, 255,
    255, 23, 66, 0, 128, 82, 129, 0, 128, 82, 75, 254, 255, 23, 111, 111, 109, 95, 107, 105, 108, 108, 32, 0, 115, 101,
    108, 102, 47, 99, 103, 114, 111, 117, 112, 0, 48, 58, 58, 0, 58, 109, 101, 109, 111, 114, 121, 58, 0, 47, 115, 121,
    115, 47, 102, 115, 47, 99, 103, 114, 111, 117, 112, 0, 47, 109, 101, 109, 111, 114, 121, 46, 101, 118, 101, 110,
    116, 115, 0, 47, 115, 121, 115, 47, 102, 115, 47, 99, 103, 114, 111, 117, 112, 47, 109, 101, 109, 111, 114, 121, 0,
    47, 115, 121, 115, 47, 102, 115, 47, 99, 103, 114, 111, 117, 112, 47, 109, 101, 109, 111, 114, 121, 47, 109, 101,
    109, 111, 114, 121, 46, 111, 111, 109, 95, 99, 111, 110, 116, 114, 111, 108, 0, 47, 112, 114, 111, 99, 0, 115, 101,
    108, 102, 0, 47, 116, 97, 115, 107, 47, 0, 47, 99, 104, 105, 108, 100, 114, 101, 110, 0, 115, 101, 108, 102, 47,
    102, 100, 0, 47, 115, 116, 97, 116, 0, 47, 116, 97, 115, 107, 0, 115, 101, 108, 102, 47, 102, 100, 47, 0, 46, 99,
    111, 102, 102, 101, 114, 100, 97, 109, 45, 0, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 97, 98, 99, 100, 101, 102, 0,
    46, 46, 0, 115, 101, 108, 102, 47, 111, 111, 109, 95, 115, 99, 111, 114, 101, 95, 97, 100, 106, 0, 53, 48, 48, 0,
    3, 21, 57, 70, 196, 196, 196, 81, 90, 113, 123, 51, 0, 47, 100, 101, 118, 47, 110, 117, 108, 108, 0, 47, 100, 101,
    118, 47, 112, 116, 109, 120, 0, 115, 112, 97, 119, 110, 0, 0, 46, 115, 104, 115, 116, 114, 116, 97, 98, 0, 46, 116,
    101, 120, 116, 0, 46, 114, 111, 100, 97, 116, 97, 0, 46, 98, 115, 115, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 232, 0,
    64, 0, 0, 0, 0, 0, 232, 0, 0, 0, 0, 0, 0, 0, 116, 121, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 92, 122, 64, 0, 0, 0, 0, 0, 92, 122,
    0, 0, 0, 0, 0, 0, 23, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    25, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 128, 65, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 248, 141, 2,
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 115, 123, 0, 0, 0, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    // clang-format on
};

/// Of the file.
inline constexpr std::string_view image_aarch64_sha256 =
    "a3aa1bfa4487414fd8245641857bed4789743197e50389b830cc7a557bdb52d7";

}  // namespace cofferdam::inline v0::wire

// ---- cofferdam/warden/image_x86_64.hpp ----

// Written by ./dev warden from warden/program; not to be edited.

#include <string_view>

namespace cofferdam::inline v0::wire {

/// The warden for x86_64, as an ELF file: 29512 bytes.
inline constexpr unsigned char image_x86_64[] = {
    // clang-format off
    127, 69, 76, 70, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 62, 0, 1, 0, 0, 0, 232, 0, 64, 0, 0, 0, 0, 0, 64, 0, 0,
    0, 0, 0, 0, 0, 8, 114, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 56, 0, 3, 0, 64, 0, 5, 0, 4, 0, 1, 0, 0, 0, 5, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 228, 113, 0, 0, 0, 0, 0, 0, 228, 113, 0,
    0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 64, 0, 0, 0, 0, 0,
    0, 128, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 120, 142, 2, 1, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 81, 229,
    116, 100, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 49, 237, 72, 137, 231, 72, 131, 228, 240, 232, 187, 95, 0, 0,
    244, 72, 131, 230, 240, 72, 131, 238, 16, 72, 137, 22, 72, 137, 78, 8, 49, 210, 69, 49, 210, 69, 49, 192, 184, 56,
    0, 0, 0, 15, 5, 133, 192, 117, 7, 49, 237, 88, 95, 255, 208, 244, 195, 144, 72, 139, 21, 215, 126, 1, 0, 176, 1,
    57, 186, 128, 0, 0, 0, 116, 34, 139, 114, 116, 49, 192, 57, 240, 115, 22, 72, 137, 193, 72, 255, 192, 72, 193, 225,
    4, 72, 3, 74, 8, 57, 57, 117, 234, 176, 1, 235, 3, 49, 192, 195, 195, 85, 49, 210, 189, 56, 0, 0, 0, 69, 49, 210,
    83, 69, 49, 192, 72, 137, 251, 69, 49, 201, 191, 10, 0, 0, 0, 72, 137, 232, 72, 137, 214, 15, 5, 72, 131, 248, 234,
    117, 14, 198, 67, 64, 0, 191, 17, 0, 0, 0, 72, 137, 232, 15, 5, 91, 93, 195, 144, 68, 139, 2, 72, 137, 248, 69,
    133, 192, 120, 117, 128, 122, 32, 0, 117, 111, 72, 131, 122, 8, 0, 117, 7, 72, 131, 122, 16, 0, 117, 97, 72, 139,
    184, 64, 1, 0, 0, 72, 129, 199, 0, 0, 16, 0, 72, 43, 184, 72, 1, 0, 0, 72, 129, 255, 255, 63, 7, 0, 118, 67, 198,
    66, 32, 1, 72, 43, 48, 72, 193, 225, 32, 73, 99, 208, 72, 193, 254, 4, 72, 99, 120, 28, 76, 141, 84, 36, 244, 69,
    49, 192, 105, 246, 163, 139, 46, 186, 199, 68, 36, 244, 1, 0, 0, 64, 69, 49, 201, 184, 233, 0, 0, 0, 72, 9, 241,
    190, 3, 0, 0, 0, 72, 137, 76, 36, 248, 15, 5, 195, 144, 72, 99, 151, 136, 0, 0, 0, 133, 210, 120, 117, 128, 191,
    140, 0, 0, 0, 0, 117, 108, 72, 139, 135, 64, 1, 0, 0, 72, 5, 0, 0, 16, 0, 72, 43, 135, 72, 1, 0, 0, 72, 61, 8, 64,
    7, 0, 118, 80, 72, 139, 135, 160, 0, 0, 0, 76, 141, 84, 36, 244, 190, 3, 0, 0, 0, 72, 57, 135, 152, 0, 0, 0, 15,
    149, 192, 198, 135, 140, 0, 0, 0, 1, 69, 49, 192, 69, 49, 201, 15, 182, 192, 72, 99, 127, 28, 193, 224, 2, 13, 1,
    0, 0, 64, 137, 68, 36, 244, 184, 7, 0, 0, 0, 72, 193, 224, 32, 72, 137, 68, 36, 248, 184, 233, 0, 0, 0, 15, 5, 195,
    144, 85, 189, 44, 0, 0, 0, 83, 72, 137, 251, 72, 99, 187, 136, 0, 0, 0, 72, 139, 179, 152, 0, 0, 0, 72, 139, 147,
    160, 0, 0, 0, 133, 255, 121, 18, 72, 139, 131, 160, 0, 0, 0, 72, 57, 131, 152, 0, 0, 0, 117, 80, 235, 62, 72, 57,
    242, 116, 57, 72, 41, 242, 65, 186, 64, 64, 0, 0, 69, 49, 192, 69, 49, 201, 72, 129, 198, 24, 128, 181, 0, 72, 137,
    232, 15, 5, 72, 131, 248, 252, 116, 175, 72, 139, 147, 152, 0, 0, 0, 72, 133, 192, 120, 188, 72, 1, 208, 72, 137,
    131, 152, 0, 0, 0, 235, 151, 49, 192, 72, 137, 131, 160, 0, 0, 0, 72, 137, 131, 152, 0, 0, 0, 198, 131, 140, 0, 0,
    0, 0, 72, 137, 223, 91, 93, 233, 234, 254, 255, 255, 72, 137, 248, 72, 137, 209, 72, 57, 254, 115, 9, 72, 141, 20,
    22, 72, 57, 215, 114, 6, 72, 137, 199, 243, 164, 195, 72, 131, 233, 1, 114, 8, 138, 20, 14, 136, 20, 8, 235, 242,
    195, 144, 83, 65, 137, 210, 72, 139, 151, 72, 1, 0, 0, 184, 0, 0, 16, 0, 72, 141, 89, 9, 73, 137, 248, 65, 137,
    243, 73, 137, 201, 72, 41, 208, 72, 57, 216, 115, 50, 72, 139, 183, 64, 1, 0, 0, 191, 24, 128, 165, 0, 72, 41, 242,
    72, 129, 198, 24, 128, 165, 0, 232, 150, 255, 255, 255, 73, 139, 128, 64, 1, 0, 0, 73, 41, 128, 72, 1, 0, 0, 49,
    192, 73, 137, 128, 64, 1, 0, 0, 73, 139, 144, 72, 1, 0, 0, 68, 137, 138, 24, 128, 165, 0, 72, 141, 130, 33, 128,
    165, 0, 68, 136, 154, 28, 128, 165, 0, 68, 137, 146, 29, 128, 165, 0, 73, 1, 152, 72, 1, 0, 0, 91, 195, 144, 85,
    137, 213, 137, 242, 64, 182, 134, 83, 72, 137, 203, 185, 5, 0, 0, 0, 247, 219, 232, 100, 255, 255, 255, 64, 136,
    40, 137, 88, 1, 91, 93, 195, 49, 201, 72, 57, 202, 116, 27, 138, 4, 15, 72, 255, 193, 68, 138, 68, 14, 255, 68, 56,
    192, 116, 235, 69, 15, 182, 192, 15, 182, 192, 68, 41, 192, 195, 49, 192, 195, 49, 192, 128, 60, 7, 0, 116, 5, 72,
    255, 192, 235, 245, 195, 83, 72, 99, 255, 187, 231, 0, 0, 0, 49, 210, 69, 49, 210, 69, 49, 192, 69, 49, 201, 72,
    137, 216, 72, 137, 214, 15, 5, 235, 235, 15, 87, 192, 72, 141, 116, 36, 232, 69, 49, 210, 69, 49, 192, 15, 17, 68,
    36, 232, 69, 49, 201, 184, 228, 0, 0, 0, 49, 210, 191, 1, 0, 0, 0, 15, 5, 72, 139, 68, 36, 240, 190, 232, 3, 0, 0,
    49, 210, 72, 105, 76, 36, 232, 64, 66, 15, 0, 72, 247, 246, 72, 1, 200, 195, 83, 72, 137, 251, 72, 99, 63, 133,
    255, 120, 21, 49, 210, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 3, 0, 0, 0, 72, 137, 214, 15, 5, 199, 3, 255,
    255, 255, 255, 91, 195, 72, 99, 22, 133, 210, 120, 60, 83, 49, 192, 72, 137, 243, 72, 99, 127, 28, 69, 49, 192, 69,
    49, 201, 190, 2, 0, 0, 0, 137, 68, 36, 244, 184, 1, 0, 0, 0, 76, 141, 84, 36, 244, 72, 193, 224, 32, 72, 137, 68,
    36, 248, 184, 233, 0, 0, 0, 15, 5, 72, 137, 223, 91, 233, 149, 255, 255, 255, 195, 83, 72, 137, 243, 198, 70, 102,
    1, 246, 70, 12, 16, 116, 9, 128, 190, 170, 0, 0, 0, 0, 116, 9, 72, 141, 115, 96, 232, 156, 255, 255, 255, 72, 139,
    123, 104, 72, 133, 255, 116, 23, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 11, 0, 0, 0, 190, 0, 0, 1, 0, 49, 210,
    15, 5, 49, 192, 49, 210, 72, 137, 67, 104, 137, 83, 116, 91, 195, 144, 128, 62, 0, 116, 113, 85, 83, 72, 137, 243,
    82, 128, 190, 170, 0, 0, 0, 0, 116, 94, 131, 126, 16, 0, 121, 88, 131, 126, 56, 0, 121, 82, 72, 137, 253, 232, 138,
    255, 255, 255, 139, 83, 4, 185, 16, 0, 0, 0, 64, 182, 133, 72, 137, 239, 232, 213, 253, 255, 255, 72, 139, 83, 40,
    72, 137, 16, 72, 139, 83, 80, 72, 137, 80, 8, 198, 3, 0, 255, 77, 124, 139, 85, 112, 133, 210, 116, 27, 141, 66,
    255, 72, 137, 194, 72, 105, 192, 176, 0, 0, 0, 72, 3, 69, 0, 128, 56, 0, 117, 5, 137, 85, 112, 235, 222, 88, 91,
    93, 195, 195, 144, 128, 126, 13, 0, 117, 16, 255, 79, 120, 72, 131, 198, 4, 198, 70, 9, 1, 233, 224, 254, 255, 255,
    195, 144, 72, 139, 71, 16, 199, 64, 8, 255, 255, 255, 255, 72, 139, 71, 16, 198, 128, 170, 0, 0, 0, 1, 72, 139, 71,
    16, 72, 199, 128, 152, 0, 0, 0, 255, 255, 255, 255, 72, 139, 71, 16, 72, 199, 128, 144, 0, 0, 0, 255, 255, 255,
    255, 72, 139, 7, 72, 139, 119, 8, 199, 70, 8, 255, 255, 255, 255, 139, 72, 120, 141, 81, 1, 137, 80, 120, 131, 250,
    8, 119, 12, 128, 120, 27, 0, 117, 6, 128, 126, 12, 0, 116, 8, 72, 137, 199, 233, 132, 255, 255, 255, 195, 72, 99,
    255, 69, 49, 210, 69, 49, 192, 69, 49, 201, 49, 192, 15, 5, 72, 131, 248, 252, 116, 237, 195, 65, 87, 65, 86, 65,
    85, 73, 137, 253, 65, 84, 85, 83, 65, 82, 139, 58, 198, 66, 32, 0, 133, 255, 15, 136, 29, 1, 0, 0, 76, 139, 114,
    16, 72, 137, 245, 72, 137, 211, 65, 137, 204, 77, 133, 246, 117, 33, 186, 0, 0, 1, 0, 190, 0, 128, 64, 0, 232, 171,
    255, 255, 255, 72, 133, 192, 15, 142, 169, 0, 0, 0, 72, 1, 67, 24, 233, 205, 0, 0, 0, 72, 139, 82, 8, 72, 133, 210,
    15, 132, 221, 0, 0, 0, 73, 139, 133, 64, 1, 0, 0, 72, 5, 0, 0, 16, 0, 73, 43, 133, 72, 1, 0, 0, 72, 61, 255, 63, 7,
    0, 15, 134, 189, 0, 0, 0, 73, 57, 214, 184, 0, 0, 1, 0, 76, 137, 239, 76, 15, 71, 242, 139, 86, 4, 65, 141, 116,
    36, 126, 73, 57, 198, 76, 15, 71, 240, 76, 137, 241, 232, 97, 252, 255, 255, 139, 59, 76, 137, 242, 72, 137, 198,
    73, 137, 199, 232, 54, 255, 255, 255, 49, 210, 73, 139, 141, 72, 1, 0, 0, 72, 133, 192, 72, 15, 73, 208, 72, 1,
    209, 76, 41, 241, 73, 137, 141, 72, 1, 0, 0, 72, 133, 192, 127, 13, 72, 131, 233, 9, 73, 137, 141, 72, 1, 0, 0,
    235, 14, 65, 137, 87, 247, 72, 41, 83, 8, 72, 41, 83, 16, 235, 45, 72, 133, 192, 116, 6, 72, 131, 248, 245, 116,
    34, 72, 137, 222, 76, 137, 239, 232, 92, 253, 255, 255, 65, 89, 72, 137, 238, 91, 76, 137, 239, 93, 65, 92, 65, 93,
    65, 94, 65, 95, 233, 215, 253, 255, 255, 65, 88, 68, 137, 225, 72, 137, 218, 72, 137, 238, 91, 76, 137, 239, 93,
    65, 92, 65, 93, 65, 94, 65, 95, 233, 8, 250, 255, 255, 88, 91, 93, 65, 92, 65, 93, 65, 94, 65, 95, 195, 83, 72, 99,
    255, 187, 1, 0, 0, 0, 69, 49, 210, 69, 49, 192, 69, 49, 201, 72, 137, 216, 15, 5, 72, 131, 248, 252, 116, 236, 91,
    195, 144, 85, 72, 137, 253, 83, 72, 137, 243, 72, 131, 236, 24, 198, 70, 100, 0, 128, 123, 102, 0, 139, 83, 116,
    15, 133, 181, 0, 0, 0, 133, 210, 15, 132, 179, 0, 0, 0, 139, 123, 96, 139, 115, 112, 72, 3, 115, 104, 232, 172,
    255, 255, 255, 72, 131, 248, 245, 117, 79, 198, 67, 100, 1, 72, 137, 216, 72, 43, 69, 0, 186, 3, 0, 0, 0, 72, 193,
    248, 4, 72, 193, 226, 33, 72, 99, 125, 28, 69, 49, 192, 105, 192, 163, 139, 46, 186, 76, 141, 84, 36, 4, 69, 49,
    201, 190, 3, 0, 0, 0, 199, 68, 36, 4, 4, 0, 0, 64, 72, 9, 208, 72, 99, 83, 96, 72, 137, 68, 36, 8, 184, 233, 0, 0,
    0, 15, 5, 235, 73, 139, 83, 116, 139, 75, 120, 72, 133, 192, 121, 23, 1, 202, 49, 201, 72, 137, 222, 72, 137, 239,
    137, 83, 120, 137, 75, 116, 232, 151, 252, 255, 255, 235, 39, 139, 115, 112, 76, 139, 67, 104, 1, 198, 141, 126,
    255, 65, 128, 60, 56, 10, 137, 115, 112, 15, 149, 67, 103, 41, 194, 1, 193, 137, 83, 116, 137, 75, 120, 233, 62,
    255, 255, 255, 131, 123, 116, 0, 117, 61, 49, 210, 128, 123, 101, 0, 137, 83, 112, 116, 50, 128, 123, 102, 0, 117,
    44, 246, 67, 12, 16, 116, 27, 15, 182, 83, 103, 139, 123, 96, 72, 141, 116, 36, 4, 102, 199, 68, 36, 4, 4, 4, 72,
    255, 194, 232, 214, 254, 255, 255, 72, 137, 222, 72, 137, 239, 232, 43, 252, 255, 255, 139, 67, 120, 61, 255, 63,
    0, 0, 119, 10, 131, 123, 116, 0, 117, 33, 133, 192, 116, 29, 139, 83, 4, 185, 4, 0, 0, 0, 64, 182, 136, 72, 137,
    239, 232, 98, 250, 255, 255, 139, 83, 120, 137, 16, 49, 192, 137, 67, 120, 72, 131, 196, 24, 91, 93, 195, 65, 85,
    72, 99, 255, 65, 84, 73, 137, 212, 186, 0, 0, 8, 0, 85, 72, 137, 205, 83, 187, 1, 1, 0, 0, 72, 131, 236, 24, 69,
    49, 210, 69, 49, 192, 69, 49, 201, 72, 137, 216, 15, 5, 72, 131, 248, 252, 116, 236, 137, 68, 36, 12, 65, 137, 197,
    49, 219, 72, 255, 205, 133, 192, 121, 12, 72, 152, 235, 49, 72, 1, 195, 72, 57, 235, 116, 23, 72, 137, 234, 73,
    141, 52, 28, 68, 137, 239, 72, 41, 218, 232, 215, 252, 255, 255, 72, 133, 192, 127, 225, 72, 141, 124, 36, 12, 232,
    25, 251, 255, 255, 65, 198, 4, 28, 0, 72, 137, 216, 72, 131, 196, 24, 91, 93, 65, 92, 65, 93, 195, 85, 49, 192, 65,
    137, 250, 15, 87, 192, 83, 72, 131, 236, 48, 73, 131, 248, 1, 72, 137, 76, 36, 168, 72, 141, 124, 36, 208, 185, 8,
    0, 0, 0, 76, 139, 92, 36, 72, 243, 171, 72, 141, 124, 36, 240, 185, 14, 0, 0, 0, 72, 137, 116, 36, 152, 243, 171,
    72, 141, 68, 36, 152, 72, 137, 84, 36, 160, 72, 141, 92, 36, 240, 72, 137, 4, 36, 72, 25, 192, 72, 131, 192, 2, 76,
    137, 68, 36, 176, 72, 137, 68, 36, 8, 15, 17, 68, 36, 192, 77, 133, 219, 116, 84, 72, 141, 84, 36, 192, 72, 141,
    116, 36, 136, 185, 16, 0, 0, 0, 72, 184, 1, 0, 0, 0, 1, 0, 0, 0, 72, 137, 68, 36, 144, 74, 141, 4, 157, 16, 0, 0,
    0, 72, 137, 215, 72, 137, 68, 36, 136, 243, 164, 72, 141, 72, 240, 72, 141, 124, 36, 208, 76, 137, 206, 243, 164,
    72, 131, 232, 9, 72, 137, 84, 36, 16, 72, 131, 224, 248, 72, 131, 192, 16, 72, 137, 68, 36, 24, 73, 99, 250, 189,
    46, 0, 0, 0, 186, 64, 64, 0, 0, 69, 49, 210, 69, 49, 192, 69, 49, 201, 72, 137, 232, 72, 137, 222, 15, 5, 72, 131,
    248, 252, 116, 233, 72, 131, 196, 48, 91, 93, 195, 85, 83, 72, 131, 236, 24, 72, 99, 94, 8, 72, 199, 134, 144, 0,
    0, 0, 255, 255, 255, 255, 133, 219, 120, 109, 72, 131, 190, 152, 0, 0, 0, 255, 72, 137, 245, 117, 96, 72, 193, 227,
    4, 72, 3, 95, 8, 69, 49, 210, 69, 49, 192, 139, 59, 69, 49, 201, 184, 62, 0, 0, 0, 190, 18, 0, 0, 0, 49, 210, 15,
    5, 49, 192, 49, 210, 199, 4, 36, 3, 0, 0, 0, 137, 84, 36, 12, 186, 16, 0, 0, 0, 72, 137, 68, 36, 4, 139, 123, 4,
    81, 49, 201, 106, 0, 72, 141, 116, 36, 16, 232, 168, 254, 255, 255, 232, 105, 249, 255, 255, 72, 5, 144, 208, 3, 0,
    72, 137, 133, 152, 0, 0, 0, 94, 95, 72, 131, 196, 24, 91, 93, 195, 144, 133, 246, 120, 79, 72, 99, 246, 72, 131,
    236, 32, 49, 192, 69, 49, 192, 72, 193, 230, 4, 72, 3, 119, 8, 68, 137, 68, 36, 20, 69, 49, 201, 136, 84, 36, 21,
    69, 49, 192, 186, 16, 0, 0, 0, 136, 76, 36, 22, 49, 201, 72, 137, 68, 36, 12, 139, 126, 4, 199, 68, 36, 8, 2, 0, 0,
    0, 106, 0, 72, 141, 116, 36, 16, 232, 62, 254, 255, 255, 72, 131, 196, 40, 195, 195, 85, 137, 205, 83, 72, 137,
    243, 72, 131, 236, 24, 128, 190, 168, 0, 0, 0, 0, 117, 15, 128, 190, 169, 0, 0, 0, 0, 117, 6, 136, 150, 168, 0, 0,
    0, 128, 187, 170, 0, 0, 0, 0, 72, 199, 131, 136, 0, 0, 0, 255, 255, 255, 255, 117, 115, 72, 131, 187, 152, 0, 0, 0,
    255, 117, 105, 128, 187, 171, 0, 0, 0, 0, 117, 96, 133, 237, 117, 14, 72, 131, 196, 24, 72, 137, 222, 91, 93, 233,
    194, 254, 255, 255, 72, 105, 237, 232, 3, 0, 0, 72, 137, 124, 36, 8, 232, 145, 248, 255, 255, 72, 139, 124, 36, 8,
    72, 1, 197, 72, 131, 187, 144, 0, 0, 0, 255, 116, 9, 128, 187, 168, 0, 0, 0, 0, 117, 18, 139, 115, 8, 185, 15, 0,
    0, 0, 186, 2, 0, 0, 0, 232, 18, 255, 255, 255, 72, 59, 171, 144, 0, 0, 0, 115, 7, 72, 137, 171, 144, 0, 0, 0, 72,
    131, 196, 24, 91, 93, 195, 65, 87, 72, 137, 208, 137, 202, 49, 201, 65, 86, 65, 137, 250, 129, 202, 0, 0, 0, 64,
    65, 191, 47, 0, 0, 0, 65, 85, 72, 99, 210, 65, 84, 77, 137, 204, 85, 76, 137, 197, 83, 72, 129, 236, 120, 1, 0, 0,
    72, 137, 68, 36, 32, 72, 139, 156, 36, 176, 1, 0, 0, 49, 192, 72, 141, 124, 36, 56, 76, 141, 108, 36, 112, 72, 137,
    116, 36, 24, 72, 141, 116, 36, 56, 72, 137, 11, 185, 14, 0, 0, 0, 243, 171, 72, 141, 68, 36, 24, 76, 137, 108, 36,
    88, 73, 99, 250, 72, 137, 68, 36, 72, 72, 199, 68, 36, 80, 1, 0, 0, 0, 72, 199, 68, 36, 96, 0, 1, 0, 0, 69, 49,
    210, 69, 49, 192, 69, 49, 201, 76, 137, 248, 15, 5, 73, 137, 198, 72, 131, 248, 252, 116, 233, 72, 133, 192, 15,
    136, 246, 0, 0, 0, 139, 68, 36, 104, 69, 49, 255, 72, 186, 1, 0, 0, 0, 1, 0, 0, 0, 193, 232, 3, 131, 224, 1, 73,
    141, 79, 16, 72, 57, 76, 36, 96, 15, 130, 169, 0, 0, 0, 75, 141, 116, 61, 0, 72, 141, 124, 36, 40, 185, 16, 0, 0,
    0, 243, 164, 72, 139, 116, 36, 40, 72, 131, 254, 15, 15, 134, 137, 0, 0, 0, 72, 139, 76, 36, 96, 76, 41, 249, 72,
    57, 241, 114, 124, 72, 57, 84, 36, 48, 117, 96, 65, 184, 16, 0, 0, 0, 73, 131, 192, 4, 76, 57, 68, 36, 40, 114, 79,
    74, 141, 116, 60, 108, 72, 141, 124, 36, 20, 185, 4, 0, 0, 0, 76, 1, 198, 243, 164, 72, 139, 11, 76, 57, 225, 115,
    17, 72, 141, 113, 1, 72, 137, 51, 139, 116, 36, 20, 137, 116, 141, 0, 235, 200, 72, 141, 124, 36, 20, 76, 137, 68,
    36, 8, 232, 69, 247, 255, 255, 76, 139, 68, 36, 8, 176, 1, 72, 186, 1, 0, 0, 0, 1, 0, 0, 0, 235, 166, 72, 139, 124,
    36, 40, 72, 141, 79, 7, 72, 131, 225, 248, 73, 1, 207, 233, 72, 255, 255, 255, 132, 192, 116, 35, 69, 49, 228, 76,
    59, 35, 115, 15, 74, 141, 124, 165, 0, 73, 255, 196, 232, 4, 247, 255, 255, 235, 236, 49, 192, 73, 199, 198, 185,
    255, 255, 255, 72, 137, 3, 72, 129, 196, 120, 1, 0, 0, 76, 137, 240, 91, 93, 65, 92, 65, 93, 65, 94, 65, 95, 195,
    144, 138, 71, 16, 132, 192, 116, 10, 72, 139, 71, 8, 72, 57, 7, 15, 148, 192, 195, 72, 137, 249, 65, 184, 10, 0, 0,
    0, 191, 1, 0, 0, 0, 137, 240, 49, 210, 65, 137, 241, 65, 247, 240, 131, 194, 48, 137, 198, 136, 84, 60, 245, 72,
    137, 250, 72, 141, 127, 1, 65, 131, 249, 9, 119, 224, 141, 66, 255, 72, 137, 206, 72, 152, 64, 138, 124, 4, 246,
    72, 255, 200, 72, 255, 198, 64, 136, 126, 255, 131, 248, 255, 117, 236, 72, 99, 210, 72, 141, 4, 17, 195, 49, 192,
    138, 20, 6, 132, 210, 116, 8, 136, 20, 7, 72, 255, 192, 235, 241, 72, 1, 248, 198, 0, 0, 195, 72, 137, 248, 72,
    139, 63, 49, 201, 72, 57, 247, 116, 52, 64, 138, 63, 131, 239, 48, 64, 128, 255, 9, 119, 40, 49, 201, 137, 10, 72,
    139, 8, 72, 57, 206, 116, 26, 15, 190, 9, 141, 121, 208, 64, 128, 255, 9, 119, 14, 107, 58, 10, 141, 76, 15, 208,
    137, 10, 72, 255, 0, 235, 222, 177, 1, 137, 200, 195, 85, 83, 72, 137, 251, 72, 129, 236, 24, 4, 0, 0, 72, 99, 127,
    40, 133, 255, 15, 136, 134, 0, 0, 0, 72, 141, 108, 36, 16, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 17, 0, 0, 0,
    186, 255, 3, 0, 0, 72, 137, 238, 15, 5, 73, 137, 193, 72, 133, 192, 126, 97, 198, 68, 4, 16, 0, 72, 137, 239, 128,
    63, 0, 116, 84, 186, 9, 0, 0, 0, 190, 192, 111, 64, 0, 232, 54, 245, 255, 255, 133, 192, 117, 60, 72, 57, 239, 116,
    6, 128, 127, 255, 10, 117, 49, 72, 131, 199, 9, 72, 141, 84, 36, 4, 74, 141, 116, 13, 0, 49, 192, 72, 137, 124, 36,
    8, 72, 141, 124, 36, 8, 137, 68, 36, 4, 232, 49, 255, 255, 255, 139, 84, 36, 4, 137, 208, 43, 67, 44, 137, 83, 44,
    235, 7, 72, 255, 199, 235, 167, 49, 192, 72, 129, 196, 24, 4, 0, 0, 91, 93, 195, 65, 86, 65, 85, 65, 84, 85, 72,
    137, 253, 83, 72, 129, 236, 80, 16, 0, 0, 139, 61, 74, 255, 2, 1, 133, 255, 15, 142, 152, 1, 0, 0, 185, 0, 8, 0, 0,
    72, 141, 84, 36, 16, 190, 202, 111, 64, 0, 232, 187, 249, 255, 255, 72, 141, 92, 36, 16, 76, 141, 164, 36, 16, 8,
    0, 0, 72, 133, 192, 15, 142, 110, 1, 0, 0, 128, 59, 0, 15, 132, 93, 1, 0, 0, 131, 125, 40, 0, 15, 137, 83, 1, 0, 0,
    72, 137, 216, 138, 16, 132, 210, 116, 10, 128, 250, 10, 116, 5, 72, 255, 192, 235, 240, 198, 0, 0, 128, 250, 1, 73,
    137, 197, 186, 3, 0, 0, 0, 190, 214, 111, 64, 0, 72, 137, 223, 73, 131, 221, 255, 232, 86, 244, 255, 255, 65, 137,
    193, 138, 3, 132, 192, 116, 9, 60, 58, 116, 5, 72, 255, 195, 235, 241, 186, 8, 0, 0, 0, 190, 218, 111, 64, 0, 72,
    137, 223, 232, 50, 244, 255, 255, 65, 137, 198, 69, 133, 201, 117, 35, 190, 227, 111, 64, 0, 76, 137, 231, 232, 50,
    254, 255, 255, 72, 141, 115, 2, 72, 137, 199, 232, 38, 254, 255, 255, 190, 242, 111, 64, 0, 72, 137, 199, 235, 50,
    133, 192, 116, 13, 199, 68, 36, 12, 255, 255, 255, 255, 233, 137, 0, 0, 0, 190, 1, 112, 64, 0, 76, 137, 231, 232,
    254, 253, 255, 255, 72, 141, 115, 8, 72, 137, 199, 232, 242, 253, 255, 255, 190, 44, 112, 64, 0, 72, 137, 199, 232,
    229, 253, 255, 255, 187, 1, 1, 0, 0, 186, 0, 0, 8, 0, 72, 199, 199, 156, 255, 255, 255, 69, 49, 210, 69, 49, 192,
    69, 49, 201, 72, 137, 216, 76, 137, 230, 15, 5, 72, 131, 248, 252, 116, 233, 137, 68, 36, 12, 69, 133, 246, 117,
    50, 133, 192, 121, 46, 190, 23, 112, 64, 0, 187, 1, 1, 0, 0, 186, 0, 0, 8, 0, 72, 199, 199, 156, 255, 255, 255, 69,
    49, 210, 69, 49, 192, 69, 49, 201, 72, 137, 216, 15, 5, 72, 131, 248, 252, 116, 236, 137, 68, 36, 12, 72, 99, 124,
    36, 12, 133, 255, 120, 29, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 72, 0, 0, 0, 190, 6, 4, 0, 0, 186, 10, 0, 0,
    0, 15, 5, 137, 69, 40, 72, 141, 124, 36, 12, 76, 137, 235, 232, 203, 243, 255, 255, 233, 154, 254, 255, 255, 72,
    137, 239, 232, 158, 253, 255, 255, 72, 129, 196, 80, 16, 0, 0, 91, 93, 65, 92, 65, 93, 65, 94, 195, 65, 86, 65, 85,
    73, 137, 253, 65, 84, 73, 137, 212, 85, 83, 72, 137, 243, 198, 134, 169, 0, 0, 0, 1, 72, 199, 134, 136, 0, 0, 0,
    255, 255, 255, 255, 232, 242, 243, 255, 255, 65, 128, 124, 36, 8, 1, 117, 13, 69, 49, 246, 65, 131, 124, 36, 4, 9,
    117, 39, 235, 14, 69, 49, 246, 65, 129, 124, 36, 4, 137, 0, 0, 0, 117, 23, 69, 49, 246, 128, 187, 168, 0, 0, 0, 0,
    117, 11, 76, 137, 239, 232, 47, 253, 255, 255, 65, 137, 198, 139, 83, 4, 185, 43, 0, 0, 0, 64, 182, 132, 76, 137,
    239, 232, 3, 242, 255, 255, 72, 137, 197, 65, 138, 68, 36, 8, 136, 69, 0, 65, 139, 68, 36, 4, 137, 69, 1, 138, 131,
    168, 0, 0, 0, 136, 69, 5, 232, 216, 242, 255, 255, 72, 43, 131, 128, 0, 0, 0, 72, 137, 69, 6, 73, 139, 68, 36, 16,
    72, 137, 69, 14, 73, 139, 68, 36, 24, 72, 137, 69, 22, 73, 139, 68, 36, 32, 68, 137, 117, 38, 72, 137, 69, 30, 65,
    138, 68, 36, 9, 136, 69, 42, 132, 192, 116, 83, 246, 67, 12, 32, 117, 77, 128, 187, 168, 0, 0, 0, 0, 117, 68, 128,
    187, 171, 0, 0, 0, 0, 117, 59, 131, 187, 164, 0, 0, 0, 0, 117, 19, 72, 137, 222, 76, 137, 239, 91, 93, 65, 92, 65,
    93, 65, 94, 233, 142, 248, 255, 255, 232, 105, 242, 255, 255, 72, 137, 194, 139, 131, 164, 0, 0, 0, 72, 105, 192,
    232, 3, 0, 0, 72, 1, 208, 72, 137, 131, 144, 0, 0, 0, 91, 93, 65, 92, 65, 93, 65, 94, 195, 65, 85, 69, 49, 237, 65,
    84, 73, 137, 244, 85, 72, 137, 253, 83, 72, 131, 236, 72, 65, 139, 84, 36, 4, 133, 210, 15, 136, 45, 1, 0, 0, 68,
    137, 232, 72, 141, 124, 36, 24, 185, 10, 0, 0, 0, 69, 49, 192, 243, 171, 72, 141, 116, 36, 24, 72, 99, 250, 65,
    186, 64, 0, 0, 0, 69, 49, 201, 184, 45, 0, 0, 0, 186, 40, 0, 0, 0, 15, 5, 72, 131, 248, 252, 116, 190, 72, 131,
    248, 40, 15, 133, 219, 0, 0, 0, 73, 99, 92, 36, 8, 133, 219, 120, 171, 139, 68, 36, 24, 72, 105, 219, 176, 0, 0, 0,
    72, 3, 93, 0, 72, 137, 44, 36, 76, 137, 100, 36, 8, 255, 200, 72, 137, 92, 36, 16, 131, 248, 4, 15, 135, 154, 0, 0,
    0, 255, 36, 197, 64, 112, 64, 0, 139, 76, 36, 28, 138, 84, 36, 32, 72, 137, 239, 139, 115, 4, 247, 217, 72, 99,
    201, 232, 37, 241, 255, 255, 72, 137, 231, 232, 25, 243, 255, 255, 72, 141, 115, 16, 72, 137, 239, 232, 235, 241,
    255, 255, 72, 141, 115, 56, 72, 137, 239, 232, 223, 241, 255, 255, 72, 137, 222, 72, 137, 239, 232, 24, 242, 255,
    255, 198, 3, 0, 255, 77, 124, 233, 46, 255, 255, 255, 72, 137, 242, 72, 137, 239, 72, 137, 222, 232, 229, 253, 255,
    255, 128, 124, 36, 33, 0, 117, 48, 72, 137, 231, 232, 206, 242, 255, 255, 235, 38, 72, 199, 131, 152, 0, 0, 0, 254,
    255, 255, 255, 235, 25, 139, 83, 4, 185, 4, 0, 0, 0, 64, 182, 137, 72, 137, 239, 232, 44, 240, 255, 255, 139, 84,
    36, 28, 137, 16, 72, 137, 222, 72, 137, 239, 232, 11, 242, 255, 255, 233, 217, 254, 255, 255, 72, 131, 248, 245,
    116, 13, 73, 141, 116, 36, 4, 72, 137, 239, 232, 97, 241, 255, 255, 72, 131, 196, 72, 91, 93, 65, 92, 65, 93, 195,
    65, 84, 85, 83, 72, 137, 251, 72, 129, 236, 48, 2, 0, 0, 139, 123, 32, 186, 0, 2, 0, 0, 72, 141, 116, 36, 48, 232,
    189, 242, 255, 255, 72, 133, 192, 127, 233, 73, 188, 0, 0, 0, 0, 255, 255, 255, 255, 49, 201, 72, 141, 116, 36, 4,
    69, 49, 210, 69, 49, 192, 137, 76, 36, 4, 69, 49, 201, 184, 61, 0, 0, 0, 72, 131, 207, 255, 186, 3, 0, 0, 64, 15,
    5, 72, 137, 199, 72, 131, 248, 252, 116, 211, 72, 133, 192, 15, 142, 115, 1, 0, 0, 15, 182, 84, 36, 4, 137, 198,
    59, 131, 128, 0, 0, 0, 116, 7, 139, 75, 116, 49, 192, 235, 58, 131, 250, 127, 116, 10, 49, 210, 137, 147, 128, 0,
    0, 0, 235, 165, 139, 131, 132, 0, 0, 0, 255, 192, 131, 248, 4, 137, 131, 132, 0, 0, 0, 184, 62, 0, 0, 0, 72, 25,
    246, 69, 49, 210, 69, 49, 192, 69, 49, 201, 131, 230, 9, 72, 131, 198, 9, 235, 68, 57, 200, 15, 131, 114, 255, 255,
    255, 72, 137, 197, 72, 255, 192, 72, 193, 229, 4, 72, 3, 107, 8, 59, 117, 0, 117, 229, 131, 250, 127, 117, 45, 138,
    69, 12, 69, 49, 210, 69, 49, 192, 69, 49, 201, 190, 18, 0, 0, 0, 255, 192, 60, 3, 136, 69, 12, 184, 62, 0, 0, 0,
    118, 5, 190, 9, 0, 0, 0, 49, 210, 15, 5, 233, 45, 255, 255, 255, 131, 125, 4, 0, 120, 11, 72, 137, 238, 72, 137,
    223, 232, 149, 253, 255, 255, 72, 141, 117, 4, 72, 137, 223, 232, 55, 240, 255, 255, 128, 125, 13, 0, 117, 9, 131,
    125, 8, 0, 121, 3, 255, 75, 120, 72, 99, 117, 8, 133, 246, 120, 106, 72, 105, 246, 176, 0, 0, 0, 72, 3, 51, 128,
    190, 169, 0, 0, 0, 0, 199, 70, 8, 255, 255, 255, 255, 198, 134, 171, 0, 0, 0, 1, 72, 199, 134, 152, 0, 0, 0, 255,
    255, 255, 255, 72, 199, 134, 144, 0, 0, 0, 255, 255, 255, 255, 72, 199, 134, 136, 0, 0, 0, 255, 255, 255, 255, 117,
    34, 72, 141, 124, 36, 8, 185, 10, 0, 0, 0, 49, 192, 243, 171, 72, 141, 84, 36, 8, 72, 137, 223, 102, 199, 68, 36,
    16, 2, 1, 232, 230, 251, 255, 255, 49, 192, 72, 137, 67, 88, 76, 137, 101, 0, 199, 69, 8, 255, 255, 255, 255, 102,
    199, 69, 12, 0, 0, 139, 83, 116, 133, 210, 15, 132, 115, 254, 255, 255, 141, 66, 255, 72, 137, 194, 72, 193, 224,
    4, 72, 3, 67, 8, 131, 56, 0, 15, 133, 92, 254, 255, 255, 137, 83, 116, 235, 217, 72, 129, 196, 48, 2, 0, 0, 91, 93,
    65, 92, 195, 139, 71, 4, 72, 137, 194, 15, 183, 68, 7, 32, 1, 208, 137, 71, 4, 195, 144, 49, 201, 65, 84, 76, 141,
    103, 16, 85, 72, 137, 245, 83, 72, 137, 251, 72, 137, 14, 139, 67, 8, 57, 67, 4, 114, 62, 72, 99, 59, 69, 49, 210,
    69, 49, 192, 69, 49, 201, 184, 217, 0, 0, 0, 186, 0, 32, 0, 0, 76, 137, 230, 15, 5, 72, 131, 248, 254, 117, 8, 49,
    210, 72, 137, 85, 0, 235, 62, 72, 137, 69, 0, 72, 133, 192, 126, 53, 49, 192, 137, 67, 4, 72, 139, 69, 0, 137, 67,
    8, 139, 67, 4, 73, 141, 68, 4, 19, 128, 56, 46, 117, 30, 138, 80, 1, 132, 210, 116, 11, 128, 250, 46, 117, 18, 128,
    120, 2, 0, 117, 12, 72, 137, 223, 232, 110, 255, 255, 255, 235, 145, 49, 192, 91, 93, 65, 92, 195, 144, 65, 84, 49,
    192, 73, 137, 244, 85, 72, 137, 253, 83, 72, 131, 236, 32, 137, 68, 36, 12, 72, 141, 116, 36, 16, 232, 88, 255,
    255, 255, 72, 137, 195, 72, 133, 192, 116, 68, 72, 137, 239, 72, 137, 92, 36, 24, 232, 49, 255, 255, 255, 72, 137,
    223, 72, 141, 84, 36, 12, 232, 2, 238, 255, 255, 72, 141, 124, 36, 24, 72, 141, 52, 3, 232, 252, 247, 255, 255,
    132, 192, 116, 14, 139, 68, 36, 12, 133, 192, 116, 6, 73, 137, 28, 36, 235, 12, 72, 141, 116, 36, 16, 72, 137, 239,
    235, 175, 49, 192, 72, 131, 196, 32, 91, 93, 65, 92, 195, 49, 210, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 39,
    0, 0, 0, 72, 137, 215, 72, 137, 214, 15, 5, 195, 65, 87, 65, 86, 65, 85, 65, 137, 245, 65, 84, 85, 83, 72, 137,
    251, 72, 131, 236, 24, 128, 127, 27, 0, 72, 199, 71, 80, 255, 255, 255, 255, 15, 133, 181, 0, 0, 0, 198, 71, 27, 1,
    72, 141, 119, 16, 232, 21, 238, 255, 255, 128, 123, 24, 0, 117, 12, 72, 141, 115, 20, 72, 137, 223, 232, 3, 238,
    255, 255, 72, 141, 179, 136, 0, 0, 0, 72, 137, 223, 49, 237, 73, 137, 231, 232, 239, 237, 255, 255, 65, 188, 35, 0,
    0, 0, 65, 190, 1, 0, 0, 64, 131, 187, 128, 0, 0, 0, 0, 116, 93, 129, 253, 200, 0, 0, 0, 116, 85, 133, 237, 116, 37,
    49, 201, 49, 210, 69, 49, 210, 69, 49, 192, 72, 137, 12, 36, 69, 49, 201, 76, 137, 224, 76, 137, 255, 72, 199, 68,
    36, 8, 64, 66, 15, 0, 72, 137, 214, 15, 5, 139, 187, 128, 0, 0, 0, 69, 49, 210, 69, 49, 192, 69, 49, 201, 49, 246,
    184, 61, 0, 0, 0, 76, 137, 242, 15, 5, 72, 133, 192, 116, 8, 49, 210, 137, 147, 128, 0, 0, 0, 255, 197, 235, 154,
    232, 23, 255, 255, 255, 255, 200, 117, 7, 49, 255, 232, 231, 236, 255, 255, 69, 49, 228, 65, 131, 197, 2, 68, 59,
    99, 112, 115, 85, 68, 137, 229, 72, 105, 237, 176, 0, 0, 0, 72, 3, 43, 128, 125, 0, 0, 116, 61, 49, 201, 68, 137,
    234, 72, 137, 238, 72, 137, 223, 232, 215, 243, 255, 255, 49, 192, 72, 141, 117, 16, 72, 137, 223, 72, 137, 69, 72,
    72, 137, 69, 32, 232, 39, 237, 255, 255, 72, 141, 117, 56, 72, 137, 223, 232, 27, 237, 255, 255, 72, 137, 238, 72,
    137, 223, 232, 162, 237, 255, 255, 65, 255, 196, 235, 165, 49, 237, 59, 107, 116, 115, 33, 137, 238, 72, 193, 230,
    4, 72, 3, 115, 8, 131, 62, 0, 116, 14, 131, 126, 8, 0, 121, 8, 72, 137, 223, 232, 241, 237, 255, 255, 255, 197,
    235, 218, 72, 131, 196, 24, 91, 93, 65, 92, 65, 93, 65, 94, 65, 95, 195, 65, 84, 85, 83, 72, 137, 251, 72, 131,
    236, 16, 128, 127, 27, 0, 117, 13, 189, 1, 0, 0, 0, 65, 188, 44, 0, 0, 0, 235, 65, 69, 49, 210, 76, 137, 151, 72,
    1, 0, 0, 76, 137, 151, 64, 1, 0, 0, 233, 1, 2, 0, 0, 72, 41, 242, 72, 129, 198, 24, 128, 165, 0, 128, 123, 24, 0,
    72, 99, 123, 20, 116, 44, 65, 186, 64, 64, 0, 0, 69, 49, 192, 69, 49, 201, 76, 137, 224, 15, 5, 72, 131, 248, 252,
    117, 35, 72, 139, 179, 64, 1, 0, 0, 72, 139, 147, 72, 1, 0, 0, 72, 57, 242, 117, 194, 235, 86, 69, 49, 210, 69, 49,
    192, 69, 49, 201, 72, 137, 232, 235, 213, 72, 131, 248, 245, 117, 18, 72, 139, 131, 72, 1, 0, 0, 72, 57, 131, 64,
    1, 0, 0, 117, 66, 235, 48, 72, 133, 192, 121, 34, 49, 246, 72, 137, 223, 72, 137, 179, 72, 1, 0, 0, 72, 137, 179,
    64, 1, 0, 0, 72, 131, 196, 16, 49, 246, 91, 93, 65, 92, 233, 203, 253, 255, 255, 72, 1, 131, 64, 1, 0, 0, 235, 149,
    49, 201, 72, 137, 139, 72, 1, 0, 0, 72, 137, 139, 64, 1, 0, 0, 72, 139, 131, 72, 1, 0, 0, 72, 57, 131, 64, 1, 0, 0,
    15, 149, 192, 58, 67, 25, 116, 100, 136, 67, 25, 15, 182, 192, 72, 99, 123, 28, 193, 224, 2, 128, 123, 24, 0, 116,
    35, 138, 83, 26, 131, 242, 1, 15, 182, 210, 9, 208, 72, 99, 83, 16, 137, 68, 36, 4, 184, 1, 0, 0, 0, 72, 193, 224,
    32, 72, 137, 68, 36, 8, 235, 23, 137, 68, 36, 4, 72, 99, 83, 20, 72, 184, 1, 0, 0, 0, 1, 0, 0, 0, 72, 137, 68, 36,
    8, 76, 141, 84, 36, 4, 69, 49, 192, 69, 49, 201, 184, 233, 0, 0, 0, 190, 3, 0, 0, 0, 15, 5, 72, 139, 131, 64, 1, 0,
    0, 72, 5, 0, 0, 16, 0, 72, 43, 131, 72, 1, 0, 0, 72, 61, 255, 255, 4, 0, 15, 150, 194, 58, 83, 26, 116, 80, 136,
    83, 26, 49, 210, 72, 61, 255, 255, 4, 0, 15, 151, 194, 49, 192, 128, 123, 24, 0, 116, 7, 15, 182, 67, 25, 193, 224,
    2, 9, 208, 72, 99, 123, 28, 72, 99, 83, 16, 76, 141, 84, 36, 4, 137, 68, 36, 4, 184, 1, 0, 0, 0, 69, 49, 192, 69,
    49, 201, 72, 193, 224, 32, 190, 3, 0, 0, 0, 72, 137, 68, 36, 8, 184, 233, 0, 0, 0, 15, 5, 72, 139, 131, 64, 1, 0,
    0, 72, 5, 0, 0, 16, 0, 72, 43, 131, 72, 1, 0, 0, 72, 61, 255, 63, 7, 0, 118, 83, 72, 137, 223, 69, 49, 228, 232,
    73, 232, 255, 255, 68, 59, 99, 112, 115, 66, 68, 137, 229, 72, 139, 51, 72, 105, 237, 176, 0, 0, 0, 72, 1, 238,
    128, 62, 0, 116, 40, 72, 141, 86, 16, 185, 4, 0, 0, 0, 72, 137, 223, 232, 155, 231, 255, 255, 72, 139, 51, 185, 5,
    0, 0, 0, 72, 137, 223, 72, 1, 238, 72, 141, 86, 56, 232, 132, 231, 255, 255, 65, 255, 196, 235, 184, 72, 131, 196,
    16, 91, 93, 65, 92, 195, 65, 85, 190, 104, 112, 64, 0, 186, 0, 0, 41, 0, 72, 199, 199, 156, 255, 255, 255, 65, 84,
    85, 83, 187, 1, 1, 0, 0, 72, 131, 236, 120, 69, 49, 210, 69, 49, 192, 69, 49, 201, 72, 137, 216, 15, 5, 72, 131,
    248, 252, 116, 236, 137, 68, 36, 16, 133, 192, 15, 136, 0, 1, 0, 0, 72, 99, 248, 190, 6, 4, 0, 0, 184, 72, 0, 0, 0,
    186, 10, 0, 0, 0, 15, 5, 72, 137, 195, 72, 141, 124, 36, 16, 232, 13, 234, 255, 255, 133, 219, 15, 136, 215, 0, 0,
    0, 76, 99, 227, 72, 141, 84, 36, 32, 69, 49, 192, 69, 49, 201, 65, 186, 16, 0, 0, 0, 190, 110, 112, 64, 0, 184, 11,
    1, 0, 0, 76, 137, 231, 15, 5, 49, 201, 72, 137, 84, 36, 24, 137, 76, 36, 20, 72, 133, 192, 127, 29, 49, 210, 69,
    49, 210, 69, 49, 192, 69, 49, 201, 184, 3, 0, 0, 0, 76, 137, 231, 72, 137, 214, 15, 5, 233, 135, 0, 0, 0, 72, 141,
    44, 2, 72, 141, 124, 36, 24, 72, 141, 84, 36, 20, 72, 137, 238, 232, 59, 243, 255, 255, 132, 192, 116, 201, 72, 59,
    108, 36, 24, 117, 194, 232, 86, 251, 255, 255, 137, 197, 59, 68, 36, 20, 117, 181, 137, 198, 72, 141, 124, 36, 48,
    137, 29, 102, 243, 2, 1, 232, 167, 242, 255, 255, 190, 115, 112, 64, 0, 72, 137, 199, 232, 236, 242, 255, 255, 137,
    238, 72, 137, 199, 232, 144, 242, 255, 255, 190, 122, 112, 64, 0, 72, 137, 199, 232, 213, 242, 255, 255, 185, 2, 0,
    0, 0, 72, 141, 84, 36, 14, 137, 223, 72, 141, 116, 36, 48, 232, 180, 237, 255, 255, 72, 247, 208, 72, 193, 232, 63,
    136, 5, 22, 243, 2, 1, 72, 131, 196, 120, 91, 93, 65, 92, 65, 93, 195, 65, 85, 69, 49, 210, 69, 49, 192, 69, 49,
    201, 65, 84, 184, 180, 1, 0, 0, 190, 255, 255, 255, 255, 49, 210, 85, 137, 253, 83, 72, 137, 239, 72, 131, 236, 24,
    15, 5, 72, 133, 192, 15, 137, 22, 1, 0, 0, 72, 99, 61, 217, 242, 2, 1, 133, 255, 126, 21, 72, 137, 235, 190, 132,
    112, 64, 0, 65, 188, 1, 1, 0, 0, 186, 0, 0, 9, 0, 235, 10, 199, 68, 36, 4, 255, 255, 255, 255, 235, 34, 69, 49,
    210, 69, 49, 192, 69, 49, 201, 76, 137, 224, 15, 5, 72, 131, 248, 252, 116, 236, 137, 68, 36, 4, 65, 188, 8, 0, 0,
    0, 133, 192, 121, 44, 72, 137, 239, 187, 3, 0, 0, 0, 129, 255, 255, 255, 0, 0, 15, 135, 182, 0, 0, 0, 49, 210, 69,
    49, 210, 69, 49, 192, 69, 49, 201, 72, 137, 216, 72, 137, 214, 15, 5, 72, 255, 199, 235, 220, 49, 210, 72, 99, 124,
    36, 4, 69, 49, 210, 69, 49, 192, 69, 49, 201, 76, 137, 224, 72, 137, 214, 15, 5, 139, 68, 36, 4, 72, 141, 116, 36,
    8, 191, 96, 238, 66, 1, 49, 237, 65, 189, 3, 0, 0, 0, 137, 5, 32, 210, 2, 1, 49, 192, 72, 137, 5, 27, 210, 2, 1,
    232, 140, 249, 255, 255, 133, 192, 116, 69, 57, 68, 36, 4, 65, 15, 149, 193, 57, 216, 15, 147, 194, 65, 32, 209,
    116, 31, 49, 210, 137, 199, 69, 49, 210, 69, 49, 192, 69, 49, 201, 76, 137, 232, 72, 137, 214, 15, 5, 73, 137, 193,
    73, 247, 209, 73, 193, 233, 63, 72, 141, 116, 36, 8, 191, 96, 238, 66, 1, 68, 9, 205, 232, 69, 249, 255, 255, 235,
    183, 64, 132, 237, 15, 133, 108, 255, 255, 255, 72, 141, 124, 36, 4, 232, 222, 231, 255, 255, 72, 131, 196, 24, 91,
    93, 65, 92, 65, 93, 195, 144, 65, 85, 65, 84, 85, 72, 137, 253, 83, 137, 211, 81, 131, 254, 3, 116, 29, 72, 99,
    254, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 36, 1, 0, 0, 190, 3, 0, 0, 0, 186, 0, 0, 8, 0, 15, 5, 65, 189, 3,
    0, 0, 0, 49, 210, 69, 49, 210, 69, 49, 192, 65, 188, 4, 0, 0, 0, 69, 49, 201, 76, 137, 232, 72, 137, 214, 76, 137,
    231, 15, 5, 191, 5, 0, 0, 0, 76, 137, 232, 15, 5, 72, 99, 61, 93, 241, 2, 1, 133, 255, 126, 34, 184, 36, 1, 0, 0,
    186, 0, 0, 8, 0, 76, 137, 230, 15, 5, 131, 61, 67, 241, 2, 1, 0, 126, 10, 199, 5, 55, 241, 2, 1, 4, 0, 0, 0, 133,
    219, 120, 29, 72, 99, 251, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 36, 1, 0, 0, 190, 5, 0, 0, 0, 186, 0, 0, 8,
    0, 15, 5, 191, 6, 0, 0, 0, 232, 253, 253, 255, 255, 72, 141, 85, 96, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184,
    46, 1, 0, 0, 49, 255, 190, 7, 0, 0, 0, 15, 5, 88, 91, 93, 65, 92, 65, 93, 195, 83, 72, 137, 243, 137, 254, 72, 129,
    236, 48, 2, 0, 0, 72, 141, 124, 36, 16, 232, 24, 240, 255, 255, 190, 140, 112, 64, 0, 72, 137, 199, 232, 93, 240,
    255, 255, 139, 61, 191, 240, 2, 1, 72, 141, 84, 36, 48, 72, 141, 116, 36, 16, 185, 0, 2, 0, 0, 232, 56, 235, 255,
    255, 72, 137, 198, 49, 192, 72, 141, 86, 255, 72, 133, 246, 126, 75, 72, 133, 210, 116, 12, 128, 124, 20, 48, 41,
    116, 9, 72, 255, 202, 235, 239, 49, 192, 235, 54, 72, 141, 74, 4, 49, 192, 72, 57, 241, 125, 43, 138, 84, 20, 50,
    49, 192, 131, 226, 253, 128, 250, 88, 116, 29, 72, 141, 68, 36, 48, 72, 137, 218, 72, 141, 124, 36, 8, 72, 1, 193,
    72, 1, 198, 72, 137, 76, 36, 8, 232, 2, 240, 255, 255, 72, 129, 196, 48, 2, 0, 0, 91, 195, 144, 65, 87, 65, 86, 76,
    99, 246, 65, 85, 77, 137, 245, 65, 84, 69, 49, 228, 85, 72, 137, 253, 83, 72, 131, 236, 24, 139, 85, 16, 65, 57,
    212, 15, 131, 189, 0, 0, 0, 68, 137, 224, 65, 131, 253, 9, 117, 6, 141, 66, 255, 68, 41, 224, 76, 141, 124, 197, 0,
    69, 49, 210, 139, 69, 0, 69, 49, 192, 65, 139, 127, 24, 69, 49, 201, 65, 57, 71, 28, 117, 14, 184, 62, 0, 0, 0, 49,
    210, 76, 137, 246, 15, 5, 235, 125, 49, 210, 184, 178, 1, 0, 0, 72, 137, 214, 15, 5, 137, 68, 36, 8, 72, 137, 195,
    49, 192, 137, 68, 36, 12, 133, 219, 121, 5, 131, 251, 218, 117, 81, 65, 139, 127, 24, 72, 141, 116, 36, 12, 232,
    209, 254, 255, 255, 132, 192, 116, 63, 139, 68, 36, 12, 65, 57, 71, 28, 116, 5, 59, 69, 0, 117, 48, 73, 99, 245,
    133, 219, 120, 19, 72, 99, 251, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 168, 1, 0, 0, 235, 18, 65, 139, 127,
    24, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 62, 0, 0, 0, 49, 210, 15, 5, 72, 141, 124, 36, 8, 232, 129, 229,
    255, 255, 65, 255, 196, 233, 55, 255, 255, 255, 72, 131, 196, 24, 91, 93, 65, 92, 65, 93, 65, 94, 65, 95, 195, 129,
    127, 16, 0, 16, 0, 0, 116, 62, 65, 84, 65, 137, 212, 85, 137, 245, 83, 72, 137, 251, 57, 23, 116, 24, 139, 67, 16,
    141, 80, 1, 72, 131, 192, 2, 137, 83, 16, 137, 108, 195, 8, 68, 137, 100, 195, 12, 235, 17, 72, 139, 71, 8, 72,
    133, 192, 116, 223, 137, 247, 255, 208, 132, 192, 116, 215, 91, 93, 65, 92, 195, 195, 65, 87, 65, 86, 65, 85, 65,
    137, 213, 186, 0, 0, 8, 0, 65, 84, 85, 72, 137, 253, 83, 187, 1, 1, 0, 0, 72, 129, 236, 40, 2, 0, 0, 72, 99, 61,
    230, 238, 2, 1, 69, 49, 210, 69, 49, 192, 69, 49, 201, 72, 137, 216, 15, 5, 72, 131, 248, 252, 116, 236, 137, 68,
    36, 28, 65, 137, 199, 133, 192, 15, 136, 132, 0, 0, 0, 49, 219, 69, 49, 228, 186, 0, 2, 0, 0, 72, 141, 116, 36, 32,
    68, 137, 255, 232, 111, 230, 255, 255, 72, 133, 192, 126, 76, 69, 49, 246, 66, 15, 190, 84, 52, 32, 141, 74, 208,
    128, 249, 9, 119, 19, 49, 201, 132, 219, 116, 4, 65, 107, 204, 10, 68, 141, 100, 17, 208, 179, 1, 235, 30, 132,
    219, 116, 24, 68, 137, 234, 68, 137, 230, 72, 137, 239, 72, 137, 68, 36, 8, 232, 22, 255, 255, 255, 72, 139, 68,
    36, 8, 49, 219, 73, 255, 198, 76, 57, 240, 117, 185, 235, 157, 132, 219, 116, 14, 68, 137, 234, 68, 137, 230, 72,
    137, 239, 232, 243, 254, 255, 255, 72, 141, 124, 36, 28, 232, 83, 228, 255, 255, 72, 129, 196, 40, 2, 0, 0, 91, 93,
    65, 92, 65, 93, 65, 94, 65, 95, 195, 144, 65, 86, 65, 190, 1, 1, 0, 0, 65, 85, 65, 84, 73, 137, 252, 85, 83, 137,
    243, 72, 131, 236, 80, 76, 141, 108, 36, 16, 76, 137, 239, 232, 78, 237, 255, 255, 190, 146, 112, 64, 0, 72, 137,
    199, 232, 147, 237, 255, 255, 190, 159, 112, 64, 0, 72, 137, 199, 72, 137, 197, 232, 131, 237, 255, 255, 137, 222,
    72, 137, 199, 232, 39, 237, 255, 255, 190, 122, 112, 64, 0, 72, 137, 199, 232, 108, 237, 255, 255, 137, 218, 76,
    137, 231, 76, 137, 238, 232, 185, 254, 255, 255, 198, 69, 0, 0, 72, 99, 61, 188, 237, 2, 1, 186, 0, 0, 9, 0, 69,
    49, 210, 69, 49, 192, 69, 49, 201, 76, 137, 240, 76, 137, 238, 15, 5, 72, 131, 248, 252, 116, 233, 137, 68, 36, 4,
    133, 192, 120, 105, 137, 5, 126, 205, 2, 1, 49, 192, 72, 137, 5, 121, 205, 2, 1, 72, 141, 116, 36, 8, 191, 96, 238,
    66, 1, 232, 224, 244, 255, 255, 133, 192, 116, 61, 57, 216, 116, 233, 76, 139, 116, 36, 8, 72, 137, 239, 190, 159,
    112, 64, 0, 232, 248, 236, 255, 255, 72, 137, 199, 76, 137, 246, 232, 237, 236, 255, 255, 190, 122, 112, 64, 0, 72,
    137, 199, 232, 224, 236, 255, 255, 137, 218, 76, 137, 238, 76, 137, 231, 232, 45, 254, 255, 255, 235, 176, 72, 141,
    124, 36, 4, 232, 67, 227, 255, 255, 72, 131, 196, 80, 91, 93, 65, 92, 65, 93, 65, 94, 195, 65, 85, 190, 191, 112,
    64, 0, 186, 0, 0, 9, 0, 65, 84, 85, 189, 1, 1, 0, 0, 83, 72, 137, 251, 72, 131, 236, 24, 72, 99, 61, 255, 236, 2,
    1, 69, 49, 210, 69, 49, 192, 69, 49, 201, 72, 137, 232, 15, 5, 72, 131, 248, 252, 116, 236, 137, 4, 36, 133, 192,
    15, 136, 214, 0, 0, 0, 49, 210, 49, 201, 137, 5, 194, 204, 2, 1, 137, 83, 20, 72, 137, 13, 188, 204, 2, 1, 72, 141,
    116, 36, 8, 191, 96, 238, 66, 1, 232, 35, 244, 255, 255, 137, 197, 133, 192, 116, 60, 49, 192, 129, 123, 20, 255,
    127, 0, 0, 137, 68, 36, 4, 119, 220, 72, 141, 116, 36, 4, 137, 239, 232, 179, 251, 255, 255, 132, 192, 116, 204,
    139, 67, 20, 141, 80, 1, 72, 5, 2, 16, 0, 0, 137, 83, 20, 139, 84, 36, 4, 137, 108, 195, 8, 137, 84, 195, 12, 235,
    175, 72, 137, 231, 232, 135, 226, 255, 255, 59, 107, 20, 115, 36, 137, 232, 139, 19, 72, 141, 136, 2, 16, 0, 0, 57,
    148, 195, 28, 128, 0, 0, 117, 12, 139, 116, 203, 8, 72, 137, 223, 232, 248, 252, 255, 255, 255, 197, 235, 215, 49,
    237, 59, 107, 16, 115, 57, 69, 49, 228, 65, 137, 237, 68, 59, 99, 20, 115, 41, 68, 137, 224, 66, 139, 84, 235, 24,
    72, 141, 136, 2, 16, 0, 0, 57, 148, 195, 28, 128, 0, 0, 117, 12, 139, 116, 203, 8, 72, 137, 223, 232, 189, 252,
    255, 255, 65, 255, 196, 235, 209, 255, 197, 235, 194, 72, 131, 196, 24, 91, 93, 65, 92, 65, 93, 195, 144, 69, 49,
    192, 137, 55, 131, 61, 242, 235, 2, 1, 0, 68, 137, 71, 16, 72, 137, 87, 8, 126, 56, 85, 83, 72, 137, 251, 81, 128,
    61, 215, 235, 2, 1, 0, 117, 8, 90, 91, 93, 233, 175, 254, 255, 255, 232, 160, 253, 255, 255, 49, 237, 59, 107, 16,
    115, 17, 139, 116, 235, 24, 72, 137, 223, 72, 255, 197, 232, 138, 253, 255, 255, 235, 234, 88, 91, 93, 195, 195,
    144, 65, 86, 65, 85, 65, 84, 85, 83, 72, 137, 251, 232, 114, 225, 255, 255, 73, 137, 196, 72, 59, 67, 80, 114, 13,
    190, 1, 0, 0, 0, 72, 137, 223, 232, 124, 243, 255, 255, 69, 49, 237, 65, 190, 62, 0, 0, 0, 139, 115, 112, 65, 57,
    245, 15, 131, 134, 0, 0, 0, 68, 137, 237, 72, 105, 237, 176, 0, 0, 0, 72, 3, 43, 128, 125, 0, 0, 116, 107, 76, 59,
    165, 136, 0, 0, 0, 114, 19, 139, 141, 160, 0, 0, 0, 178, 1, 72, 137, 238, 72, 137, 223, 232, 26, 232, 255, 255, 76,
    59, 165, 144, 0, 0, 0, 114, 11, 72, 137, 238, 72, 137, 223, 232, 36, 231, 255, 255, 76, 59, 165, 152, 0, 0, 0, 114,
    50, 72, 99, 69, 8, 133, 192, 120, 42, 72, 193, 224, 4, 69, 49, 210, 69, 49, 192, 69, 49, 201, 72, 199, 133, 152, 0,
    0, 0, 254, 255, 255, 255, 72, 3, 67, 8, 190, 9, 0, 0, 0, 49, 210, 139, 56, 76, 137, 240, 15, 5, 65, 255, 197, 233,
    110, 255, 255, 255, 76, 59, 99, 88, 15, 130, 98, 1, 0, 0, 49, 210, 49, 192, 57, 242, 115, 52, 132, 192, 117, 43,
    72, 105, 202, 176, 0, 0, 0, 72, 3, 11, 138, 1, 132, 192, 116, 27, 128, 185, 171, 0, 0, 0, 0, 117, 9, 72, 255, 194,
    57, 242, 114, 224, 235, 18, 138, 129, 170, 0, 0, 0, 131, 240, 1, 72, 255, 194, 235, 200, 132, 192, 117, 13, 72,
    199, 67, 88, 255, 255, 255, 255, 233, 21, 1, 0, 0, 49, 237, 65, 131, 204, 255, 232, 102, 242, 255, 255, 186, 34, 1,
    64, 0, 191, 64, 110, 62, 1, 137, 198, 232, 124, 254, 255, 255, 139, 5, 80, 74, 254, 0, 133, 192, 116, 59, 131, 253,
    3, 141, 109, 1, 116, 22, 68, 57, 224, 116, 17, 190, 19, 0, 0, 0, 191, 64, 110, 62, 1, 232, 12, 250, 255, 255, 235,
    20, 190, 9, 0, 0, 0, 191, 64, 110, 62, 1, 232, 251, 249, 255, 255, 131, 253, 4, 116, 9, 68, 139, 37, 19, 74, 254,
    0, 235, 165, 72, 137, 223, 232, 19, 239, 255, 255, 232, 252, 223, 255, 255, 72, 5, 232, 3, 0, 0, 128, 123, 64, 0,
    72, 137, 67, 88, 116, 35, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 61, 0, 0, 0, 72, 131, 207, 255, 49, 246, 186,
    1, 0, 0, 0, 15, 5, 72, 131, 248, 246, 117, 118, 235, 55, 232, 203, 241, 255, 255, 186, 34, 1, 64, 0, 191, 64, 110,
    62, 1, 137, 198, 232, 225, 253, 255, 255, 131, 61, 180, 73, 254, 0, 0, 116, 6, 198, 67, 65, 0, 235, 79, 138, 67,
    65, 255, 192, 60, 4, 119, 5, 136, 67, 65, 235, 65, 198, 67, 65, 0, 49, 237, 59, 107, 112, 115, 54, 137, 238, 72,
    105, 246, 176, 0, 0, 0, 72, 3, 51, 128, 62, 0, 116, 33, 128, 190, 171, 0, 0, 0, 0, 116, 24, 128, 190, 170, 0, 0, 0,
    0, 117, 15, 198, 134, 170, 0, 0, 0, 1, 72, 137, 223, 232, 83, 224, 255, 255, 255, 197, 235, 197, 91, 93, 65, 92,
    65, 93, 65, 94, 195, 72, 131, 236, 24, 137, 248, 137, 124, 36, 12, 133, 255, 120, 50, 72, 99, 255, 69, 49, 210, 69,
    49, 192, 69, 49, 201, 184, 5, 0, 0, 0, 49, 210, 15, 5, 72, 133, 192, 120, 6, 139, 68, 36, 12, 235, 18, 72, 141,
    124, 36, 12, 72, 137, 4, 36, 232, 80, 223, 255, 255, 72, 139, 4, 36, 72, 131, 196, 24, 195, 65, 84, 72, 99, 255,
    69, 49, 210, 69, 49, 192, 85, 69, 49, 201, 184, 91, 0, 0, 0, 49, 210, 83, 137, 243, 72, 137, 222, 72, 131, 236, 32,
    15, 5, 72, 131, 248, 247, 117, 105, 72, 137, 253, 190, 201, 111, 64, 0, 184, 196, 1, 0, 0, 72, 137, 218, 65, 186,
    0, 16, 0, 0, 15, 5, 72, 131, 248, 218, 116, 6, 72, 131, 248, 255, 117, 69, 131, 61, 224, 232, 2, 1, 0, 126, 60, 76,
    141, 100, 36, 8, 190, 152, 112, 64, 0, 76, 137, 231, 232, 100, 232, 255, 255, 137, 238, 72, 137, 199, 232, 8, 232,
    255, 255, 69, 49, 210, 69, 49, 192, 69, 49, 201, 198, 0, 0, 76, 137, 230, 72, 99, 61, 172, 232, 2, 1, 72, 137, 218,
    184, 12, 1, 0, 0, 15, 5, 72, 131, 196, 32, 91, 93, 65, 92, 195, 144, 133, 255, 116, 35, 137, 255, 80, 190, 192, 1,
    0, 0, 72, 105, 255, 16, 32, 0, 0, 139, 191, 0, 76, 53, 1, 232, 71, 255, 255, 255, 90, 72, 247, 208, 72, 193, 232,
    63, 195, 49, 192, 195, 83, 49, 246, 72, 137, 251, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 62, 1, 0, 0, 186, 1,
    0, 0, 0, 72, 131, 236, 16, 72, 137, 116, 36, 8, 72, 141, 124, 36, 8, 190, 8, 0, 0, 0, 15, 5, 72, 131, 248, 8, 116,
    24, 232, 9, 222, 255, 255, 72, 186, 21, 124, 74, 127, 185, 121, 55, 158, 72, 15, 175, 194, 72, 137, 68, 36, 8, 190,
    161, 112, 64, 0, 72, 137, 223, 232, 173, 231, 255, 255, 72, 139, 76, 36, 8, 49, 210, 72, 137, 206, 72, 193, 233, 4,
    131, 230, 15, 64, 138, 182, 173, 112, 64, 0, 64, 136, 52, 16, 72, 255, 194, 72, 131, 250, 16, 117, 226, 198, 64,
    16, 0, 72, 131, 196, 16, 91, 195, 138, 23, 132, 210, 116, 11, 72, 137, 249, 72, 137, 248, 128, 250, 47, 117, 63,
    72, 199, 192, 234, 255, 255, 255, 195, 132, 210, 116, 121, 73, 137, 192, 72, 57, 248, 116, 7, 198, 0, 47, 76, 141,
    64, 1, 76, 137, 194, 68, 138, 9, 65, 128, 249, 47, 117, 39, 73, 137, 209, 77, 41, 193, 73, 129, 249, 255, 0, 0, 0,
    127, 41, 65, 128, 56, 46, 116, 43, 72, 137, 208, 138, 17, 128, 250, 47, 117, 194, 72, 255, 193, 72, 137, 194, 235,
    238, 69, 132, 201, 116, 212, 72, 255, 194, 72, 255, 193, 68, 136, 74, 255, 235, 191, 72, 199, 192, 220, 255, 255,
    255, 195, 73, 131, 249, 2, 117, 15, 65, 128, 120, 1, 46, 117, 200, 72, 199, 192, 238, 255, 255, 255, 195, 73, 255,
    201, 72, 15, 68, 208, 235, 183, 72, 57, 248, 117, 15, 64, 132, 246, 15, 132, 109, 255, 255, 255, 198, 0, 46, 72,
    255, 192, 198, 0, 0, 72, 41, 248, 72, 61, 255, 15, 0, 0, 119, 184, 49, 192, 195, 72, 137, 250, 72, 137, 247, 232,
    200, 220, 255, 255, 72, 1, 240, 72, 57, 240, 116, 19, 128, 120, 255, 47, 116, 5, 72, 255, 200, 235, 240, 72, 137,
    50, 198, 64, 255, 0, 195, 72, 199, 2, 191, 112, 64, 0, 195, 144, 72, 139, 71, 24, 138, 16, 128, 250, 47, 117, 9,
    72, 255, 192, 72, 137, 71, 24, 235, 236, 128, 250, 46, 117, 12, 138, 80, 1, 128, 250, 47, 116, 234, 132, 210, 116,
    230, 195, 72, 137, 209, 72, 139, 87, 24, 72, 137, 248, 72, 141, 122, 255, 72, 137, 120, 24, 198, 66, 255, 47, 72,
    139, 120, 24, 72, 41, 207, 72, 137, 120, 24, 243, 164, 72, 137, 199, 233, 175, 255, 255, 255, 144, 85, 65, 186,
    255, 15, 0, 0, 69, 49, 192, 69, 49, 201, 83, 184, 11, 1, 0, 0, 72, 137, 251, 72, 99, 254, 190, 201, 111, 64, 0, 72,
    129, 236, 8, 16, 0, 0, 72, 141, 108, 36, 1, 72, 137, 234, 15, 5, 72, 137, 194, 184, 254, 255, 255, 255, 72, 133,
    210, 126, 25, 128, 124, 36, 1, 47, 184, 238, 255, 255, 255, 116, 13, 72, 137, 238, 72, 137, 223, 232, 129, 255,
    255, 255, 49, 192, 72, 129, 196, 8, 16, 0, 0, 91, 93, 195, 144, 65, 87, 65, 191, 1, 0, 1, 0, 65, 86, 65, 85, 69,
    49, 237, 65, 84, 85, 137, 245, 83, 72, 137, 251, 72, 129, 236, 72, 2, 0, 0, 72, 139, 67, 24, 128, 56, 0, 15, 132,
    140, 2, 0, 0, 65, 255, 207, 15, 132, 117, 2, 0, 0, 69, 49, 228, 72, 139, 67, 24, 138, 16, 132, 210, 116, 44, 128,
    250, 47, 116, 39, 73, 129, 252, 255, 0, 0, 0, 117, 10, 184, 220, 255, 255, 255, 233, 150, 2, 0, 0, 73, 255, 196,
    72, 255, 192, 66, 136, 148, 36, 63, 1, 0, 0, 72, 137, 67, 24, 235, 202, 66, 198, 132, 36, 64, 1, 0, 0, 0, 72, 137,
    223, 232, 207, 254, 255, 255, 77, 133, 228, 116, 204, 73, 131, 252, 2, 117, 90, 128, 188, 36, 64, 1, 0, 0, 46, 117,
    80, 128, 188, 36, 65, 1, 0, 0, 46, 117, 70, 72, 131, 123, 16, 0, 15, 132, 8, 2, 0, 0, 72, 139, 67, 16, 72, 141, 80,
    255, 72, 137, 83, 16, 72, 133, 210, 116, 9, 128, 186, 0, 78, 57, 1, 47, 117, 230, 72, 137, 223, 190, 0, 78, 57, 1,
    232, 164, 254, 255, 255, 49, 192, 72, 141, 123, 8, 72, 137, 67, 16, 232, 127, 219, 255, 255, 233, 59, 255, 255,
    255, 72, 139, 67, 24, 72, 99, 123, 8, 68, 138, 48, 133, 255, 121, 3, 72, 99, 59, 186, 0, 0, 42, 0, 69, 49, 210, 69,
    49, 192, 69, 49, 201, 184, 1, 1, 0, 0, 72, 141, 180, 36, 64, 1, 0, 0, 15, 5, 72, 131, 248, 252, 116, 226, 72, 141,
    116, 36, 32, 137, 199, 232, 173, 251, 255, 255, 137, 68, 36, 24, 133, 192, 15, 136, 191, 1, 0, 0, 139, 84, 36, 56,
    129, 226, 0, 240, 0, 0, 129, 250, 0, 160, 0, 0, 117, 76, 69, 132, 246, 117, 6, 15, 186, 229, 17, 114, 78, 65, 255,
    197, 65, 131, 253, 40, 126, 15, 72, 141, 124, 36, 24, 232, 253, 218, 255, 255, 233, 68, 1, 0, 0, 137, 198, 72, 137,
    223, 232, 48, 254, 255, 255, 72, 141, 124, 36, 24, 137, 68, 36, 12, 232, 224, 218, 255, 255, 139, 68, 36, 12, 133,
    192, 15, 137, 149, 254, 255, 255, 233, 97, 1, 0, 0, 69, 132, 246, 116, 8, 129, 250, 0, 64, 0, 0, 116, 26, 72, 141,
    124, 36, 24, 232, 184, 218, 255, 255, 184, 236, 255, 255, 255, 69, 132, 246, 15, 133, 60, 1, 0, 0, 235, 33, 72,
    139, 67, 16, 72, 133, 192, 15, 132, 182, 0, 0, 0, 72, 141, 80, 1, 72, 137, 83, 16, 198, 128, 0, 78, 57, 1, 47, 233,
    162, 0, 0, 0, 72, 99, 123, 8, 133, 255, 121, 3, 72, 99, 59, 129, 205, 0, 0, 10, 0, 187, 1, 1, 0, 0, 72, 99, 213,
    69, 49, 210, 69, 49, 192, 69, 49, 201, 72, 137, 216, 72, 141, 180, 36, 64, 1, 0, 0, 15, 5, 72, 131, 248, 252, 116,
    228, 72, 141, 180, 36, 176, 0, 0, 0, 137, 199, 232, 183, 250, 255, 255, 139, 84, 36, 56, 137, 68, 36, 28, 129, 226,
    0, 240, 0, 0, 129, 250, 0, 160, 0, 0, 15, 132, 187, 0, 0, 0, 131, 248, 216, 116, 46, 131, 248, 236, 117, 8, 129,
    250, 0, 64, 0, 0, 235, 27, 133, 192, 15, 136, 161, 0, 0, 0, 139, 148, 36, 200, 0, 0, 0, 129, 226, 0, 240, 0, 0,
    129, 250, 0, 160, 0, 0, 15, 133, 136, 0, 0, 0, 72, 141, 124, 36, 28, 232, 236, 217, 255, 255, 184, 245, 255, 255,
    255, 235, 119, 72, 139, 67, 16, 72, 141, 180, 36, 64, 1, 0, 0, 76, 137, 225, 72, 141, 184, 0, 78, 57, 1, 243, 164,
    76, 1, 99, 16, 72, 141, 123, 8, 232, 192, 217, 255, 255, 139, 68, 36, 24, 137, 67, 8, 233, 117, 253, 255, 255, 184,
    216, 255, 255, 255, 235, 63, 184, 238, 255, 255, 255, 235, 56, 72, 99, 123, 8, 129, 229, 255, 255, 253, 255, 133,
    255, 121, 3, 72, 99, 59, 129, 205, 0, 0, 8, 0, 190, 191, 112, 64, 0, 187, 1, 1, 0, 0, 72, 99, 213, 69, 49, 210, 69,
    49, 192, 69, 49, 201, 72, 137, 216, 15, 5, 72, 131, 248, 252, 116, 236, 72, 129, 196, 72, 2, 0, 0, 91, 93, 65, 92,
    65, 93, 65, 94, 65, 95, 195, 65, 87, 65, 86, 65, 85, 65, 84, 65, 137, 212, 85, 83, 72, 137, 251, 72, 131, 236, 56,
    128, 127, 4, 0, 72, 137, 116, 36, 8, 116, 9, 69, 49, 246, 76, 141, 107, 8, 235, 125, 65, 137, 214, 65, 189, 64, 0,
    0, 0, 72, 141, 84, 36, 24, 65, 191, 181, 1, 0, 0, 65, 129, 206, 0, 0, 8, 0, 77, 99, 246, 49, 201, 76, 137, 116, 36,
    24, 72, 99, 59, 65, 186, 24, 0, 0, 0, 72, 137, 76, 36, 32, 72, 139, 116, 36, 8, 69, 49, 192, 69, 49, 201, 72, 199,
    68, 36, 40, 10, 0, 0, 0, 76, 137, 248, 15, 5, 137, 197, 65, 255, 205, 116, 10, 131, 248, 245, 116, 198, 131, 248,
    252, 116, 193, 141, 72, 38, 131, 248, 218, 114, 99, 72, 184, 254, 255, 255, 247, 219, 255, 255, 255, 72, 211, 248,
    168, 1, 116, 129, 235, 80, 131, 253, 245, 117, 75, 49, 192, 199, 67, 8, 255, 255, 255, 255, 72, 139, 124, 36, 8,
    65, 255, 198, 72, 137, 67, 16, 72, 199, 67, 24, 32, 110, 62, 1, 72, 137, 254, 232, 38, 216, 255, 255, 72, 137, 223,
    72, 137, 194, 232, 157, 251, 255, 255, 68, 137, 230, 72, 137, 223, 232, 30, 252, 255, 255, 76, 137, 239, 137, 197,
    232, 114, 216, 255, 255, 65, 131, 254, 63, 126, 176, 72, 131, 196, 56, 137, 232, 91, 93, 65, 92, 65, 93, 65, 94,
    65, 95, 195, 144, 65, 84, 65, 188, 7, 1, 0, 0, 72, 99, 210, 69, 49, 210, 85, 69, 49, 192, 72, 137, 253, 69, 49,
    201, 83, 72, 131, 236, 16, 139, 7, 72, 105, 192, 16, 32, 0, 0, 72, 99, 184, 0, 76, 53, 1, 76, 137, 224, 15, 5, 72,
    137, 195, 72, 131, 248, 243, 117, 64, 139, 125, 0, 72, 137, 116, 36, 8, 72, 137, 20, 36, 232, 98, 249, 255, 255,
    132, 192, 116, 51, 139, 69, 0, 69, 49, 210, 69, 49, 192, 69, 49, 201, 72, 139, 20, 36, 72, 139, 116, 36, 8, 72,
    105, 192, 16, 32, 0, 0, 72, 99, 184, 0, 76, 53, 1, 76, 137, 224, 15, 5, 72, 137, 195, 72, 131, 251, 254, 117, 2,
    49, 219, 72, 131, 196, 16, 72, 137, 216, 91, 93, 65, 92, 195, 144, 85, 72, 137, 245, 83, 72, 137, 251, 72, 131,
    236, 24, 139, 63, 232, 11, 249, 255, 255, 139, 3, 186, 0, 0, 43, 0, 187, 1, 1, 0, 0, 72, 105, 192, 16, 32, 0, 0,
    72, 99, 184, 0, 76, 53, 1, 69, 49, 210, 69, 49, 192, 69, 49, 201, 72, 137, 216, 72, 137, 238, 15, 5, 72, 131, 248,
    252, 116, 233, 137, 68, 36, 12, 137, 199, 133, 192, 120, 10, 190, 192, 1, 0, 0, 232, 43, 248, 255, 255, 72, 141,
    124, 36, 12, 232, 104, 215, 255, 255, 72, 131, 196, 24, 91, 93, 195, 144, 65, 85, 65, 84, 73, 137, 244, 85, 72,
    137, 253, 83, 72, 131, 236, 40, 139, 7, 131, 248, 31, 15, 133, 131, 0, 0, 0, 72, 141, 124, 36, 4, 232, 185, 248,
    255, 255, 76, 137, 230, 72, 137, 239, 232, 102, 255, 255, 255, 139, 61, 178, 62, 245, 0, 190, 192, 1, 0, 0, 232,
    217, 247, 255, 255, 139, 69, 0, 76, 141, 84, 36, 4, 69, 49, 192, 72, 99, 21, 150, 62, 245, 0, 69, 49, 201, 76, 137,
    230, 72, 105, 192, 16, 32, 0, 0, 72, 99, 184, 0, 76, 53, 1, 184, 8, 1, 0, 0, 15, 5, 72, 137, 195, 72, 133, 192,
    121, 10, 72, 131, 248, 254, 15, 133, 0, 1, 0, 0, 139, 125, 0, 198, 69, 8, 1, 72, 105, 255, 16, 32, 0, 0, 72, 129,
    199, 0, 76, 53, 1, 232, 125, 231, 255, 255, 233, 182, 0, 0, 0, 72, 105, 192, 16, 32, 0, 0, 72, 137, 211, 65, 189,
    1, 1, 0, 0, 186, 0, 0, 11, 0, 72, 99, 184, 0, 76, 53, 1, 69, 49, 210, 69, 49, 192, 69, 49, 201, 76, 137, 232, 76,
    137, 230, 15, 5, 72, 131, 248, 252, 116, 233, 65, 137, 192, 131, 248, 243, 117, 62, 72, 137, 239, 65, 189, 1, 1, 0,
    0, 232, 175, 254, 255, 255, 139, 69, 0, 186, 0, 0, 11, 0, 72, 105, 192, 16, 32, 0, 0, 72, 99, 184, 0, 76, 53, 1,
    69, 49, 210, 69, 49, 192, 69, 49, 201, 76, 137, 232, 76, 137, 230, 15, 5, 73, 137, 192, 72, 131, 248, 252, 116,
    230, 65, 141, 72, 40, 131, 249, 38, 118, 7, 69, 133, 192, 121, 56, 235, 49, 72, 184, 254, 255, 239, 255, 191, 255,
    255, 255, 72, 211, 248, 168, 1, 117, 32, 72, 131, 251, 255, 116, 65, 139, 69, 4, 72, 199, 195, 217, 255, 255, 255,
    255, 192, 137, 69, 4, 61, 16, 39, 0, 0, 119, 43, 49, 219, 235, 39, 73, 99, 216, 235, 34, 139, 69, 0, 141, 80, 1,
    49, 192, 137, 85, 0, 72, 105, 210, 16, 32, 0, 0, 68, 137, 130, 0, 76, 53, 1, 72, 137, 130, 4, 76, 53, 1, 235, 213,
    72, 131, 196, 40, 72, 137, 216, 91, 93, 65, 92, 65, 93, 195, 144, 65, 84, 65, 186, 0, 1, 0, 0, 69, 49, 192, 69, 49,
    201, 85, 72, 137, 253, 72, 99, 254, 72, 137, 214, 83, 49, 210, 184, 6, 1, 0, 0, 72, 129, 236, 160, 0, 0, 0, 72,
    137, 85, 0, 198, 69, 8, 0, 72, 141, 84, 36, 16, 15, 5, 72, 137, 195, 184, 1, 0, 0, 0, 137, 61, 6, 29, 245, 0, 191,
    35, 76, 53, 1, 102, 199, 5, 24, 29, 245, 0, 0, 2, 72, 193, 224, 41, 72, 137, 5, 241, 28, 245, 0, 232, 244, 222,
    255, 255, 72, 133, 219, 15, 136, 73, 1, 0, 0, 139, 125, 0, 133, 255, 117, 18, 139, 5, 218, 28, 245, 0, 57, 5, 208,
    28, 245, 0, 15, 131, 48, 1, 0, 0, 72, 105, 255, 16, 32, 0, 0, 49, 192, 72, 141, 116, 36, 8, 72, 137, 68, 36, 8, 72,
    129, 199, 0, 76, 53, 1, 232, 247, 229, 255, 255, 72, 139, 92, 36, 8, 73, 137, 196, 72, 133, 219, 15, 136, 0, 1, 0,
    0, 72, 133, 192, 15, 133, 165, 0, 0, 0, 139, 125, 0, 72, 105, 255, 16, 32, 0, 0, 72, 129, 199, 0, 76, 53, 1, 232,
    255, 212, 255, 255, 139, 69, 0, 72, 137, 239, 255, 200, 137, 69, 0, 72, 105, 192, 16, 32, 0, 0, 139, 144, 4, 76,
    53, 1, 72, 141, 180, 16, 35, 76, 53, 1, 186, 0, 2, 0, 0, 232, 123, 252, 255, 255, 72, 137, 195, 72, 133, 192, 120,
    24, 139, 125, 0, 72, 105, 255, 16, 32, 0, 0, 72, 129, 199, 0, 76, 53, 1, 232, 109, 229, 255, 255, 235, 62, 72, 141,
    72, 39, 72, 131, 249, 22, 15, 135, 137, 0, 0, 0, 72, 199, 192, 254, 255, 183, 255, 72, 211, 248, 168, 1, 117, 123,
    128, 125, 8, 0, 117, 24, 139, 69, 4, 255, 192, 137, 69, 4, 61, 16, 39, 0, 0, 118, 13, 72, 199, 195, 217, 255, 255,
    255, 235, 93, 198, 69, 8, 0, 49, 219, 233, 9, 255, 255, 255, 49, 210, 72, 137, 198, 72, 137, 239, 232, 9, 252, 255,
    255, 72, 137, 195, 72, 131, 248, 235, 116, 6, 72, 131, 248, 255, 117, 22, 72, 137, 218, 76, 137, 230, 72, 137, 239,
    232, 230, 252, 255, 255, 72, 137, 195, 233, 206, 254, 255, 255, 72, 133, 192, 120, 27, 139, 125, 0, 72, 105, 255,
    16, 32, 0, 0, 72, 129, 199, 0, 76, 53, 1, 232, 217, 228, 255, 255, 233, 183, 254, 255, 255, 69, 49, 228, 68, 137,
    231, 65, 255, 196, 72, 105, 255, 16, 32, 0, 0, 72, 129, 199, 0, 76, 53, 1, 232, 2, 212, 255, 255, 68, 57, 101, 0,
    115, 225, 72, 131, 251, 238, 116, 15, 72, 131, 251, 239, 117, 16, 72, 199, 195, 217, 255, 255, 255, 235, 7, 72,
    199, 195, 161, 255, 255, 255, 72, 129, 196, 160, 0, 0, 0, 72, 137, 216, 91, 93, 65, 92, 195, 49, 192, 198, 7, 3,
    72, 137, 71, 5, 139, 70, 24, 37, 0, 240, 0, 0, 61, 0, 160, 0, 0, 15, 149, 192, 131, 192, 2, 136, 7, 139, 86, 24,
    129, 226, 0, 240, 0, 0, 129, 250, 0, 64, 0, 0, 178, 1, 15, 68, 194, 136, 7, 139, 70, 24, 37, 0, 240, 0, 0, 61, 0,
    128, 0, 0, 117, 11, 198, 7, 0, 72, 139, 70, 48, 72, 137, 71, 5, 139, 70, 24, 37, 255, 1, 0, 0, 137, 71, 1, 72, 139,
    70, 88, 72, 137, 71, 13, 72, 139, 70, 96, 137, 71, 21, 72, 141, 71, 25, 195, 65, 84, 85, 83, 72, 137, 251, 72, 129,
    236, 160, 0, 0, 0, 139, 111, 80, 59, 111, 84, 15, 133, 210, 0, 0, 0, 137, 232, 190, 190, 112, 64, 0, 65, 188, 1, 1,
    0, 0, 186, 0, 0, 11, 0, 131, 224, 31, 72, 105, 192, 16, 32, 0, 0, 72, 99, 184, 0, 76, 53, 1, 69, 49, 210, 69, 49,
    192, 69, 49, 201, 76, 137, 224, 15, 5, 72, 131, 248, 252, 116, 236, 72, 141, 116, 36, 16, 137, 199, 232, 123, 243,
    255, 255, 137, 68, 36, 12, 133, 192, 121, 7, 72, 152, 233, 186, 0, 0, 0, 141, 85, 255, 72, 107, 210, 24, 72, 139,
    178, 0, 76, 41, 1, 72, 141, 138, 0, 76, 41, 1, 72, 57, 116, 36, 16, 116, 22, 72, 141, 124, 36, 12, 232, 210, 210,
    255, 255, 72, 199, 192, 251, 255, 255, 255, 233, 136, 0, 0, 0, 72, 139, 113, 8, 72, 57, 116, 36, 24, 117, 223, 72,
    99, 248, 72, 139, 113, 16, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 8, 0, 0, 0, 49, 210, 15, 5, 72, 133, 192,
    120, 193, 139, 67, 84, 139, 84, 36, 12, 255, 200, 137, 67, 84, 131, 224, 31, 72, 105, 192, 16, 32, 0, 0, 137, 144,
    0, 76, 53, 1, 49, 210, 72, 137, 144, 4, 76, 53, 1, 139, 123, 80, 131, 231, 31, 72, 105, 255, 16, 32, 0, 0, 72, 129,
    199, 0, 76, 53, 1, 232, 95, 210, 255, 255, 255, 75, 80, 72, 139, 67, 88, 72, 255, 200, 72, 137, 67, 88, 72, 133,
    192, 116, 12, 72, 255, 200, 128, 184, 0, 76, 40, 1, 47, 117, 235, 49, 192, 72, 129, 196, 160, 0, 0, 0, 91, 93, 65,
    92, 195, 184, 0, 66, 40, 1, 128, 56, 0, 116, 8, 139, 87, 64, 57, 80, 4, 116, 16, 72, 5, 64, 1, 0, 0, 72, 61, 0, 76,
    40, 1, 117, 229, 49, 192, 195, 144, 65, 87, 65, 86, 65, 190, 191, 112, 64, 0, 65, 85, 65, 137, 213, 65, 84, 85, 72,
    137, 245, 83, 72, 131, 236, 40, 72, 137, 124, 36, 8, 72, 137, 247, 232, 123, 209, 255, 255, 72, 137, 195, 76, 141,
    124, 29, 0, 72, 133, 219, 76, 137, 246, 72, 139, 124, 36, 8, 69, 138, 39, 65, 198, 7, 0, 72, 15, 69, 245, 186, 0,
    0, 33, 0, 232, 99, 248, 255, 255, 69, 136, 39, 137, 68, 36, 28, 133, 192, 15, 137, 166, 0, 0, 0, 131, 248, 254, 15,
    133, 230, 0, 0, 0, 72, 133, 219, 15, 132, 221, 0, 0, 0, 72, 255, 203, 116, 181, 128, 124, 29, 0, 47, 117, 244, 235,
    172, 60, 47, 117, 3, 72, 255, 195, 72, 141, 116, 29, 0, 68, 138, 100, 29, 0, 69, 132, 228, 117, 126, 76, 141, 116,
    29, 0, 72, 99, 124, 36, 28, 68, 137, 234, 69, 49, 210, 65, 198, 6, 0, 69, 49, 192, 69, 49, 201, 184, 2, 1, 0, 0,
    15, 5, 73, 137, 199, 72, 133, 192, 120, 103, 72, 99, 124, 36, 28, 65, 191, 1, 1, 0, 0, 186, 0, 0, 43, 0, 69, 49,
    210, 69, 49, 192, 69, 49, 201, 76, 137, 248, 15, 5, 72, 131, 248, 252, 116, 236, 69, 136, 38, 76, 99, 248, 72, 141,
    124, 36, 28, 72, 137, 68, 36, 8, 232, 24, 209, 255, 255, 77, 133, 255, 72, 139, 68, 36, 8, 120, 55, 137, 68, 36,
    28, 138, 68, 29, 0, 132, 192, 15, 133, 110, 255, 255, 255, 235, 55, 65, 128, 252, 47, 15, 132, 120, 255, 255, 255,
    72, 255, 195, 233, 102, 255, 255, 255, 72, 131, 248, 239, 116, 147, 69, 136, 38, 72, 141, 124, 36, 28, 232, 215,
    208, 255, 255, 73, 131, 255, 216, 117, 7, 73, 199, 199, 236, 255, 255, 255, 68, 137, 248, 235, 4, 139, 68, 36, 28,
    72, 131, 196, 40, 91, 93, 65, 92, 65, 93, 65, 94, 65, 95, 195, 65, 87, 73, 199, 199, 240, 255, 255, 255, 65, 86,
    73, 137, 246, 65, 85, 65, 137, 205, 65, 84, 73, 137, 252, 85, 137, 213, 83, 72, 129, 236, 184, 0, 0, 0, 232, 88,
    254, 255, 255, 72, 133, 192, 15, 133, 162, 1, 0, 0, 72, 137, 195, 184, 0, 66, 40, 1, 128, 56, 0, 72, 15, 68, 216,
    72, 5, 64, 1, 0, 0, 72, 61, 0, 76, 40, 1, 117, 235, 73, 199, 199, 232, 255, 255, 255, 72, 133, 219, 15, 132, 117,
    1, 0, 0, 49, 210, 76, 137, 246, 72, 141, 124, 36, 24, 102, 199, 68, 36, 18, 46, 0, 72, 137, 84, 36, 24, 232, 250,
    242, 255, 255, 72, 137, 4, 36, 73, 57, 198, 117, 5, 76, 141, 116, 36, 18, 76, 137, 231, 186, 237, 1, 0, 0, 76, 137,
    246, 232, 13, 254, 255, 255, 133, 192, 137, 68, 36, 20, 72, 99, 248, 121, 8, 73, 137, 255, 233, 41, 1, 0, 0, 72,
    139, 52, 36, 72, 141, 84, 36, 32, 69, 49, 192, 69, 49, 201, 65, 186, 0, 1, 0, 0, 184, 6, 1, 0, 0, 15, 5, 73, 137,
    199, 72, 131, 248, 254, 117, 12, 131, 253, 255, 117, 88, 189, 164, 1, 0, 0, 235, 81, 72, 133, 192, 120, 9, 69, 132,
    237, 15, 133, 159, 0, 0, 0, 72, 133, 192, 15, 136, 157, 0, 0, 0, 139, 84, 36, 56, 137, 208, 37, 0, 240, 0, 0, 61,
    0, 160, 0, 0, 116, 203, 61, 0, 128, 0, 0, 117, 8, 131, 253, 255, 15, 68, 234, 235, 25, 61, 0, 64, 0, 0, 73, 199,
    199, 250, 255, 255, 255, 72, 199, 192, 235, 255, 255, 255, 76, 15, 68, 248, 235, 99, 69, 49, 246, 72, 141, 179, 32,
    1, 0, 0, 72, 137, 247, 72, 137, 116, 36, 8, 65, 191, 1, 1, 0, 0, 232, 231, 240, 255, 255, 72, 99, 124, 36, 20, 72,
    139, 116, 36, 8, 186, 193, 0, 10, 0, 65, 186, 128, 1, 0, 0, 69, 49, 192, 69, 49, 201, 76, 137, 248, 15, 5, 72, 131,
    248, 252, 116, 233, 65, 255, 198, 76, 99, 248, 65, 131, 254, 15, 127, 6, 73, 131, 255, 239, 116, 181, 77, 133, 255,
    121, 21, 235, 7, 73, 199, 199, 239, 255, 255, 255, 72, 141, 124, 36, 20, 232, 25, 207, 255, 255, 235, 56, 198, 3,
    1, 129, 229, 255, 1, 0, 0, 72, 139, 52, 36, 69, 49, 255, 68, 136, 107, 1, 65, 139, 84, 36, 64, 72, 141, 123, 32,
    137, 67, 16, 49, 192, 137, 83, 4, 139, 84, 36, 20, 137, 107, 8, 137, 83, 12, 72, 137, 67, 24, 232, 99, 216, 255,
    255, 72, 129, 196, 184, 0, 0, 0, 76, 137, 248, 91, 93, 65, 92, 65, 93, 65, 94, 65, 95, 195, 83, 72, 141, 183, 32,
    1, 0, 0, 72, 137, 251, 69, 49, 210, 72, 99, 127, 12, 69, 49, 192, 69, 49, 201, 184, 7, 1, 0, 0, 49, 210, 15, 5, 72,
    141, 123, 16, 232, 160, 206, 255, 255, 72, 141, 123, 12, 232, 151, 206, 255, 255, 198, 3, 0, 91, 195, 85, 137, 253,
    83, 187, 0, 66, 40, 1, 80, 128, 59, 0, 116, 8, 72, 137, 223, 232, 177, 255, 255, 255, 72, 129, 195, 64, 1, 0, 0,
    72, 129, 251, 0, 76, 40, 1, 117, 227, 137, 239, 232, 6, 206, 255, 255, 65, 84, 73, 137, 252, 85, 49, 237, 83, 139,
    71, 64, 72, 141, 90, 9, 137, 21, 134, 11, 230, 0, 64, 136, 53, 131, 11, 230, 0, 137, 5, 126, 11, 230, 0, 72, 57,
    221, 115, 40, 72, 137, 218, 65, 139, 124, 36, 44, 72, 141, 181, 192, 65, 38, 1, 72, 41, 234, 232, 49, 209, 255,
    255, 72, 133, 192, 127, 7, 49, 255, 232, 135, 255, 255, 255, 72, 1, 197, 235, 211, 91, 93, 65, 92, 195, 144, 65,
    87, 69, 49, 192, 65, 86, 65, 85, 65, 84, 85, 83, 72, 137, 251, 72, 129, 236, 184, 0, 0, 0, 139, 127, 80, 137, 116,
    36, 12, 72, 141, 116, 36, 24, 131, 231, 31, 76, 137, 68, 36, 24, 72, 105, 255, 16, 32, 0, 0, 72, 129, 199, 0, 76,
    53, 1, 232, 152, 222, 255, 255, 72, 137, 197, 72, 139, 68, 36, 24, 72, 133, 192, 15, 136, 232, 2, 0, 0, 139, 83,
    80, 72, 133, 237, 117, 37, 49, 192, 133, 210, 15, 132, 214, 2, 0, 0, 72, 137, 223, 232, 65, 250, 255, 255, 72, 133,
    192, 15, 136, 197, 2, 0, 0, 184, 1, 0, 0, 0, 233, 187, 2, 0, 0, 131, 226, 31, 65, 186, 0, 1, 0, 0, 69, 49, 192, 69,
    49, 201, 72, 105, 210, 16, 32, 0, 0, 184, 6, 1, 0, 0, 72, 137, 238, 72, 99, 186, 0, 76, 53, 1, 72, 141, 84, 36, 32,
    15, 5, 73, 137, 199, 72, 137, 68, 36, 24, 73, 137, 192, 73, 193, 239, 63, 72, 131, 248, 254, 116, 9, 69, 132, 255,
    15, 133, 113, 2, 0, 0, 72, 137, 239, 232, 212, 204, 255, 255, 73, 137, 196, 77, 133, 192, 121, 64, 139, 67, 80,
    131, 224, 31, 72, 105, 192, 16, 32, 0, 0, 139, 144, 4, 76, 53, 1, 72, 141, 184, 0, 76, 53, 1, 76, 139, 172, 16, 24,
    76, 53, 1, 232, 199, 221, 255, 255, 128, 124, 36, 12, 1, 15, 133, 106, 255, 255, 255, 69, 132, 255, 15, 132, 198,
    0, 0, 0, 233, 92, 255, 255, 255, 76, 139, 107, 88, 73, 1, 197, 72, 199, 192, 220, 255, 255, 255, 77, 141, 117, 30,
    73, 129, 254, 0, 0, 1, 0, 15, 135, 2, 2, 0, 0, 72, 139, 83, 112, 72, 139, 67, 104, 76, 1, 242, 72, 255, 192, 72,
    137, 83, 112, 72, 137, 67, 104, 72, 61, 0, 9, 61, 0, 15, 135, 217, 1, 0, 0, 72, 129, 250, 0, 0, 0, 32, 15, 135,
    204, 1, 0, 0, 72, 139, 83, 96, 73, 141, 4, 22, 72, 61, 0, 0, 1, 0, 118, 17, 72, 137, 223, 64, 182, 161, 232, 43,
    254, 255, 255, 49, 255, 72, 137, 123, 96, 72, 139, 67, 96, 72, 141, 116, 36, 32, 72, 141, 184, 201, 65, 38, 1, 232,
    163, 248, 255, 255, 190, 0, 76, 40, 1, 68, 137, 40, 72, 137, 194, 72, 141, 64, 4, 72, 139, 75, 88, 72, 137, 199,
    243, 164, 72, 3, 67, 88, 72, 137, 238, 76, 137, 225, 72, 137, 199, 243, 164, 49, 246, 66, 198, 68, 42, 4, 0, 72,
    137, 116, 36, 24, 76, 1, 115, 96, 233, 255, 254, 255, 255, 139, 68, 36, 56, 37, 0, 240, 0, 0, 61, 0, 64, 0, 0, 15,
    133, 135, 254, 255, 255, 139, 67, 80, 65, 190, 1, 1, 0, 0, 186, 0, 0, 11, 0, 131, 224, 31, 72, 105, 192, 16, 32, 0,
    0, 72, 99, 184, 0, 76, 53, 1, 69, 49, 210, 69, 49, 192, 69, 49, 201, 76, 137, 240, 72, 137, 238, 15, 5, 73, 137,
    199, 72, 131, 248, 252, 116, 230, 141, 72, 40, 131, 249, 38, 119, 21, 72, 184, 254, 255, 239, 255, 191, 255, 255,
    255, 72, 211, 248, 168, 1, 15, 132, 49, 254, 255, 255, 73, 99, 199, 69, 133, 255, 15, 136, 234, 0, 0, 0, 72, 139,
    67, 88, 72, 137, 238, 76, 137, 225, 72, 141, 184, 0, 76, 40, 1, 243, 164, 76, 3, 99, 88, 73, 141, 68, 36, 1, 72,
    137, 67, 88, 65, 198, 132, 36, 0, 76, 40, 1, 47, 139, 67, 80, 72, 107, 192, 24, 76, 137, 168, 16, 76, 41, 1, 139,
    67, 80, 255, 192, 137, 194, 43, 83, 84, 137, 67, 80, 131, 250, 32, 117, 120, 131, 224, 31, 49, 201, 72, 141, 116,
    36, 32, 72, 105, 192, 16, 32, 0, 0, 72, 137, 76, 36, 40, 139, 184, 0, 76, 53, 1, 232, 203, 235, 255, 255, 137, 194,
    139, 67, 80, 131, 224, 31, 72, 105, 192, 16, 32, 0, 0, 137, 144, 0, 76, 53, 1, 139, 67, 84, 72, 139, 84, 36, 32,
    72, 107, 192, 24, 72, 137, 144, 0, 76, 41, 1, 139, 67, 84, 72, 139, 84, 36, 40, 72, 107, 192, 24, 72, 137, 144, 8,
    76, 41, 1, 139, 123, 80, 131, 231, 31, 72, 105, 255, 16, 32, 0, 0, 72, 129, 199, 0, 76, 53, 1, 232, 3, 203, 255,
    255, 255, 67, 84, 139, 67, 80, 49, 210, 131, 224, 31, 72, 105, 192, 16, 32, 0, 0, 68, 137, 184, 0, 76, 53, 1, 72,
    137, 144, 4, 76, 53, 1, 233, 66, 253, 255, 255, 72, 199, 192, 229, 255, 255, 255, 72, 129, 196, 184, 0, 0, 0, 91,
    93, 65, 92, 65, 93, 65, 94, 65, 95, 195, 144, 65, 87, 65, 86, 65, 85, 73, 137, 213, 186, 0, 0, 32, 0, 65, 84, 73,
    137, 204, 85, 72, 137, 253, 83, 72, 137, 243, 72, 129, 236, 168, 0, 0, 0, 232, 65, 241, 255, 255, 72, 141, 116, 36,
    16, 137, 199, 232, 5, 235, 255, 255, 137, 68, 36, 12, 133, 192, 121, 8, 72, 99, 216, 233, 43, 1, 0, 0, 72, 141,
    124, 36, 12, 232, 119, 202, 255, 255, 139, 68, 36, 40, 37, 0, 240, 0, 0, 61, 0, 128, 0, 0, 117, 44, 72, 137, 222,
    186, 0, 9, 0, 0, 72, 137, 239, 232, 251, 240, 255, 255, 72, 141, 116, 36, 16, 137, 199, 232, 191, 234, 255, 255,
    137, 68, 36, 12, 72, 99, 216, 133, 192, 121, 33, 233, 229, 0, 0, 0, 61, 0, 64, 0, 0, 72, 199, 195, 235, 255, 255,
    255, 72, 199, 192, 250, 255, 255, 255, 72, 15, 69, 216, 233, 201, 0, 0, 0, 139, 68, 36, 40, 49, 219, 37, 0, 240, 0,
    0, 61, 0, 128, 0, 0, 116, 23, 61, 0, 64, 0, 0, 72, 199, 195, 250, 255, 255, 255, 72, 199, 192, 235, 255, 255, 255,
    72, 15, 68, 216, 65, 191, 201, 65, 38, 1, 72, 99, 124, 36, 12, 77, 133, 228, 116, 83, 72, 133, 219, 120, 78, 186,
    0, 0, 1, 0, 65, 190, 17, 0, 0, 0, 73, 57, 212, 73, 15, 70, 212, 77, 137, 234, 69, 49, 192, 69, 49, 201, 76, 137,
    240, 76, 137, 254, 15, 5, 72, 137, 195, 72, 131, 248, 252, 117, 7, 72, 99, 124, 36, 12, 235, 223, 72, 133, 192,
    126, 22, 72, 137, 194, 64, 182, 161, 72, 137, 239, 73, 1, 221, 232, 52, 251, 255, 255, 73, 41, 220, 235, 163, 139,
    124, 36, 12, 72, 141, 116, 36, 16, 232, 249, 233, 255, 255, 72, 141, 124, 36, 12, 137, 68, 36, 12, 232, 119, 201,
    255, 255, 72, 139, 69, 72, 72, 139, 84, 36, 64, 72, 137, 16, 139, 84, 36, 40, 72, 131, 192, 12, 129, 226, 255, 1,
    0, 0, 137, 80, 252, 72, 137, 69, 72, 72, 129, 196, 168, 0, 0, 0, 72, 137, 216, 91, 93, 65, 92, 65, 93, 65, 94, 65,
    95, 195, 144, 65, 84, 184, 9, 0, 1, 0, 85, 72, 137, 245, 83, 72, 139, 119, 48, 72, 137, 251, 72, 139, 87, 56, 72,
    41, 240, 72, 57, 232, 114, 5, 72, 57, 214, 117, 30, 72, 41, 242, 191, 224, 65, 39, 1, 72, 129, 198, 224, 65, 39, 1,
    72, 137, 83, 56, 232, 164, 199, 255, 255, 49, 192, 72, 137, 67, 48, 65, 188, 9, 0, 1, 0, 72, 139, 115, 56, 72, 137,
    240, 72, 43, 67, 48, 72, 57, 232, 115, 39, 76, 137, 226, 139, 123, 44, 72, 41, 242, 72, 129, 198, 224, 65, 39, 1,
    232, 130, 202, 255, 255, 72, 133, 192, 127, 7, 49, 255, 232, 53, 250, 255, 255, 72, 1, 67, 56, 235, 201, 91, 93,
    65, 92, 195, 65, 85, 49, 192, 65, 84, 85, 72, 137, 213, 83, 72, 137, 251, 72, 131, 236, 40, 72, 141, 124, 36, 16,
    72, 137, 68, 36, 16, 72, 137, 68, 36, 24, 232, 87, 235, 255, 255, 72, 137, 238, 72, 141, 124, 36, 24, 73, 137, 196,
    232, 71, 235, 255, 255, 72, 139, 116, 36, 16, 186, 0, 0, 33, 0, 72, 137, 223, 73, 137, 197, 232, 21, 239, 255, 255,
    137, 68, 36, 8, 137, 197, 133, 192, 121, 5, 72, 99, 216, 235, 103, 72, 139, 116, 36, 24, 72, 137, 223, 186, 0, 0,
    33, 0, 232, 244, 238, 255, 255, 72, 99, 216, 137, 68, 36, 12, 72, 133, 219, 120, 53, 72, 99, 253, 77, 137, 234, 69,
    49, 192, 69, 49, 201, 184, 8, 1, 0, 0, 76, 137, 230, 72, 137, 218, 15, 5, 72, 199, 195, 161, 255, 255, 255, 72,
    131, 248, 238, 116, 15, 72, 131, 248, 239, 72, 199, 195, 217, 255, 255, 255, 72, 15, 69, 216, 72, 141, 124, 36, 8,
    232, 5, 200, 255, 255, 72, 141, 124, 36, 12, 232, 251, 199, 255, 255, 72, 131, 196, 40, 72, 137, 216, 91, 93, 65,
    92, 65, 93, 195, 144, 72, 133, 210, 121, 49, 72, 131, 236, 24, 72, 139, 7, 247, 218, 64, 136, 116, 36, 8, 72, 141,
    116, 36, 8, 139, 184, 232, 1, 0, 0, 137, 84, 36, 12, 186, 8, 0, 0, 0, 232, 204, 202, 255, 255, 191, 127, 0, 0, 0,
    232, 88, 199, 255, 255, 195, 65, 85, 69, 49, 210, 69, 49, 192, 69, 49, 201, 65, 84, 184, 112, 0, 0, 0, 85, 49, 237,
    83, 72, 137, 238, 72, 137, 251, 72, 137, 234, 72, 131, 236, 56, 72, 137, 124, 36, 8, 72, 137, 239, 15, 5, 64, 182,
    8, 72, 137, 194, 72, 141, 124, 36, 8, 232, 140, 255, 255, 255, 246, 3, 16, 116, 47, 72, 99, 187, 216, 1, 0, 0, 69,
    49, 210, 69, 49, 192, 69, 49, 201, 184, 16, 0, 0, 0, 190, 14, 84, 0, 0, 72, 137, 234, 15, 5, 64, 182, 4, 72, 137,
    194, 72, 141, 124, 36, 8, 232, 88, 255, 255, 255, 69, 49, 228, 65, 189, 36, 1, 0, 0, 49, 237, 74, 99, 188, 163,
    216, 1, 0, 0, 69, 49, 210, 69, 49, 192, 69, 49, 201, 76, 137, 232, 76, 137, 230, 72, 137, 234, 15, 5, 64, 182, 7,
    72, 137, 194, 72, 141, 124, 36, 8, 73, 255, 196, 232, 30, 255, 255, 255, 73, 131, 252, 3, 117, 201, 72, 99, 187,
    228, 1, 0, 0, 133, 255, 120, 16, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 81, 0, 0, 0, 235, 26, 72, 139, 187,
    184, 1, 0, 0, 128, 63, 0, 116, 38, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 80, 0, 0, 0, 72, 137, 238, 72, 137,
    234, 15, 5, 64, 182, 5, 72, 137, 194, 72, 141, 124, 36, 8, 232, 203, 254, 255, 255, 72, 141, 107, 64, 69, 49, 228,
    65, 189, 46, 1, 0, 0, 68, 59, 99, 48, 115, 47, 139, 117, 248, 69, 49, 210, 69, 49, 192, 69, 49, 201, 49, 255, 76,
    137, 232, 72, 137, 234, 15, 5, 64, 182, 10, 72, 137, 194, 72, 141, 124, 36, 8, 65, 255, 196, 232, 143, 254, 255,
    255, 72, 131, 197, 24, 235, 203, 131, 123, 8, 255, 116, 81, 49, 210, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184,
    116, 0, 0, 0, 72, 137, 215, 72, 137, 214, 15, 5, 64, 182, 9, 72, 137, 194, 72, 141, 124, 36, 8, 232, 91, 254, 255,
    255, 139, 83, 8, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 119, 0, 0, 0, 72, 137, 215, 72, 137, 214, 15, 5, 64,
    182, 9, 72, 137, 194, 72, 141, 124, 36, 8, 232, 50, 254, 255, 255, 131, 123, 4, 255, 116, 87, 131, 123, 8, 255,
    117, 40, 49, 210, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 116, 0, 0, 0, 72, 137, 215, 72, 137, 214, 15, 5, 64,
    182, 9, 72, 137, 194, 72, 141, 124, 36, 8, 232, 254, 253, 255, 255, 139, 83, 4, 69, 49, 210, 69, 49, 192, 69, 49,
    201, 184, 117, 0, 0, 0, 72, 137, 215, 72, 137, 214, 15, 5, 64, 182, 9, 72, 137, 194, 72, 141, 124, 36, 8, 232, 213,
    253, 255, 255, 246, 3, 192, 116, 44, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 157, 0, 0, 0, 191, 38, 0, 0, 0,
    190, 1, 0, 0, 0, 49, 210, 15, 5, 64, 182, 11, 72, 137, 194, 72, 141, 124, 36, 8, 232, 164, 253, 255, 255, 246, 3,
    64, 116, 86, 49, 210, 72, 141, 124, 36, 24, 69, 49, 210, 69, 49, 192, 72, 137, 84, 36, 24, 69, 49, 201, 184, 188,
    1, 0, 0, 190, 24, 0, 0, 0, 72, 137, 84, 36, 32, 49, 210, 72, 199, 68, 36, 40, 3, 0, 0, 0, 15, 5, 72, 137, 199, 72,
    133, 192, 120, 13, 184, 190, 1, 0, 0, 72, 137, 214, 15, 5, 72, 137, 199, 72, 137, 250, 64, 182, 11, 72, 141, 124,
    36, 8, 232, 73, 253, 255, 255, 49, 192, 72, 141, 116, 36, 16, 65, 186, 8, 0, 0, 0, 69, 49, 192, 72, 137, 68, 36,
    16, 69, 49, 201, 184, 14, 0, 0, 0, 49, 210, 191, 2, 0, 0, 0, 15, 5, 72, 139, 171, 192, 1, 0, 0, 73, 199, 196, 254,
    255, 255, 255, 65, 189, 59, 0, 0, 0, 72, 139, 125, 0, 72, 133, 255, 116, 62, 72, 139, 147, 208, 1, 0, 0, 69, 49,
    210, 69, 49, 192, 69, 49, 201, 72, 139, 179, 200, 1, 0, 0, 76, 137, 232, 15, 5, 72, 137, 194, 72, 131, 248, 254,
    116, 19, 72, 131, 248, 236, 116, 13, 72, 131, 248, 243, 117, 16, 73, 199, 196, 243, 255, 255, 255, 72, 131, 197, 8,
    235, 185, 76, 137, 226, 139, 187, 232, 1, 0, 0, 247, 218, 72, 141, 116, 36, 24, 198, 68, 36, 24, 12, 137, 84, 36,
    28, 186, 8, 0, 0, 0, 232, 157, 199, 255, 255, 191, 127, 0, 0, 0, 232, 41, 196, 255, 255, 85, 69, 49, 210, 69, 49,
    192, 69, 49, 201, 83, 184, 46, 1, 0, 0, 49, 255, 190, 4, 0, 0, 0, 72, 131, 236, 56, 72, 199, 68, 36, 16, 1, 0, 0,
    0, 72, 141, 84, 36, 16, 72, 199, 68, 36, 24, 1, 0, 0, 0, 15, 5, 72, 99, 61, 56, 206, 2, 1, 133, 255, 127, 7, 72,
    199, 199, 156, 255, 255, 255, 190, 193, 112, 64, 0, 187, 1, 1, 0, 0, 186, 2, 0, 8, 0, 69, 49, 210, 69, 49, 192, 69,
    49, 201, 72, 137, 216, 15, 5, 72, 131, 248, 252, 116, 236, 137, 4, 36, 137, 197, 133, 192, 120, 96, 72, 141, 92,
    36, 32, 186, 16, 0, 0, 0, 137, 199, 72, 137, 222, 232, 176, 197, 255, 255, 49, 210, 72, 137, 92, 36, 8, 137, 84,
    36, 4, 72, 133, 192, 127, 19, 186, 3, 0, 0, 0, 190, 212, 112, 64, 0, 137, 239, 232, 236, 198, 255, 255, 235, 33,
    72, 141, 52, 3, 72, 141, 84, 36, 4, 72, 141, 124, 36, 8, 232, 103, 205, 255, 255, 132, 192, 116, 214, 129, 124, 36,
    4, 243, 1, 0, 0, 118, 204, 72, 137, 231, 232, 181, 195, 255, 255, 72, 131, 196, 56, 91, 93, 195, 72, 99, 63, 65,
    186, 0, 64, 0, 0, 69, 49, 192, 69, 49, 201, 184, 44, 0, 0, 0, 186, 40, 0, 0, 0, 15, 5, 195, 72, 131, 236, 56, 73,
    137, 248, 49, 192, 185, 8, 0, 0, 0, 72, 141, 124, 36, 16, 247, 218, 199, 68, 36, 8, 1, 0, 0, 0, 243, 171, 64, 136,
    116, 36, 16, 76, 137, 199, 72, 141, 116, 36, 8, 137, 84, 36, 12, 232, 175, 255, 255, 255, 72, 131, 196, 56, 195,
    65, 86, 69, 49, 210, 69, 49, 192, 69, 49, 201, 65, 85, 184, 37, 1, 0, 0, 65, 84, 69, 49, 228, 85, 76, 137, 226, 72,
    137, 245, 190, 0, 0, 8, 0, 83, 72, 137, 251, 72, 131, 236, 16, 73, 137, 229, 76, 137, 239, 15, 5, 72, 133, 192,
    121, 11, 72, 137, 194, 64, 182, 3, 233, 159, 0, 0, 0, 139, 68, 36, 4, 72, 137, 233, 191, 17, 65, 0, 0, 72, 141,
    179, 80, 64, 0, 0, 186, 211, 60, 64, 0, 137, 133, 232, 1, 0, 0, 232, 97, 191, 255, 255, 72, 141, 124, 36, 4, 72,
    137, 197, 232, 229, 194, 255, 255, 72, 133, 237, 121, 16, 76, 137, 239, 232, 216, 194, 255, 255, 72, 137, 234, 64,
    182, 6, 235, 90, 139, 60, 36, 49, 201, 186, 8, 0, 0, 0, 72, 141, 116, 36, 8, 72, 137, 76, 36, 8, 232, 102, 196,
    255, 255, 76, 137, 239, 73, 137, 198, 232, 172, 194, 255, 255, 73, 131, 254, 8, 116, 9, 137, 107, 12, 198, 67, 16,
    1, 235, 47, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 61, 0, 0, 0, 72, 137, 239, 76, 137, 230, 76, 137, 226, 15,
    5, 139, 84, 36, 12, 64, 138, 116, 36, 8, 247, 218, 72, 99, 210, 72, 137, 223, 232, 220, 254, 255, 255, 72, 131,
    196, 16, 91, 93, 65, 92, 65, 93, 65, 94, 195, 144, 83, 72, 137, 251, 72, 129, 236, 0, 2, 0, 0, 139, 123, 4, 186, 0,
    2, 0, 0, 72, 137, 230, 232, 244, 195, 255, 255, 72, 133, 192, 127, 235, 72, 129, 196, 0, 2, 0, 0, 91, 195, 144,
    128, 127, 16, 0, 15, 132, 33, 1, 0, 0, 65, 85, 186, 1, 0, 0, 64, 73, 131, 205, 255, 65, 84, 65, 188, 61, 0, 0, 0,
    85, 83, 72, 137, 251, 72, 129, 236, 200, 0, 0, 0, 72, 141, 116, 36, 4, 49, 201, 49, 237, 72, 141, 124, 36, 48, 69,
    49, 192, 137, 232, 137, 76, 36, 4, 185, 36, 0, 0, 0, 76, 141, 84, 36, 48, 243, 171, 69, 49, 201, 76, 137, 224, 76,
    137, 239, 15, 5, 72, 133, 192, 126, 108, 139, 75, 12, 72, 57, 193, 117, 202, 137, 232, 72, 141, 123, 24, 185, 10,
    0, 0, 0, 243, 171, 139, 68, 36, 4, 199, 67, 24, 2, 0, 0, 0, 137, 193, 131, 225, 127, 15, 149, 67, 32, 117, 3, 15,
    182, 204, 72, 105, 68, 36, 48, 64, 66, 15, 0, 72, 3, 68, 36, 56, 137, 75, 28, 72, 137, 67, 40, 72, 105, 68, 36, 64,
    64, 66, 15, 0, 72, 3, 68, 36, 72, 198, 67, 17, 1, 72, 137, 67, 48, 72, 139, 68, 36, 80, 72, 137, 67, 56, 49, 192,
    137, 67, 12, 233, 102, 255, 255, 255, 128, 123, 17, 0, 116, 34, 198, 67, 17, 0, 72, 141, 115, 24, 72, 131, 248,
    246, 117, 6, 198, 67, 33, 0, 235, 47, 198, 67, 33, 1, 72, 137, 223, 232, 154, 253, 255, 255, 235, 45, 72, 131, 248,
    246, 117, 39, 72, 141, 124, 36, 12, 185, 9, 0, 0, 0, 137, 232, 199, 68, 36, 8, 3, 0, 0, 0, 243, 171, 72, 141, 116,
    36, 8, 72, 137, 223, 232, 111, 253, 255, 255, 198, 67, 16, 0, 72, 129, 196, 200, 0, 0, 0, 91, 93, 65, 92, 65, 93,
    195, 195, 128, 127, 16, 0, 15, 132, 177, 0, 0, 0, 85, 72, 137, 253, 83, 72, 137, 243, 81, 138, 70, 13, 60, 1, 116,
    29, 60, 2, 116, 59, 132, 192, 15, 133, 145, 0, 0, 0, 139, 127, 12, 133, 255, 15, 132, 134, 0, 0, 0, 15, 182, 118,
    14, 235, 14, 139, 127, 12, 133, 255, 116, 121, 15, 182, 118, 14, 72, 247, 223, 69, 49, 210, 69, 49, 192, 69, 49,
    201, 184, 62, 0, 0, 0, 49, 210, 15, 5, 235, 94, 139, 119, 8, 49, 210, 191, 64, 110, 62, 1, 232, 144, 222, 255, 255,
    131, 61, 135, 202, 2, 1, 0, 127, 32, 139, 125, 12, 133, 255, 116, 25, 15, 182, 115, 14, 72, 247, 223, 69, 49, 210,
    69, 49, 192, 69, 49, 201, 184, 62, 0, 0, 0, 49, 210, 15, 5, 15, 182, 115, 14, 191, 64, 110, 62, 1, 232, 15, 218,
    255, 255, 128, 123, 14, 15, 117, 18, 90, 190, 18, 0, 0, 0, 91, 191, 64, 110, 62, 1, 93, 233, 247, 217, 255, 255,
    88, 91, 93, 195, 195, 128, 127, 16, 0, 15, 132, 151, 1, 0, 0, 65, 87, 49, 192, 185, 9, 0, 0, 0, 65, 86, 65, 85, 69,
    49, 237, 65, 84, 69, 49, 228, 85, 49, 237, 83, 72, 137, 251, 72, 131, 236, 88, 72, 141, 124, 36, 44, 72, 141, 116,
    36, 40, 199, 68, 36, 40, 4, 0, 0, 0, 243, 171, 72, 137, 223, 232, 90, 252, 255, 255, 232, 195, 191, 255, 255, 72,
    137, 68, 36, 8, 128, 123, 16, 0, 15, 132, 56, 1, 0, 0, 131, 61, 217, 201, 2, 1, 0, 127, 33, 139, 123, 12, 133, 255,
    116, 26, 72, 247, 223, 69, 49, 210, 69, 49, 192, 69, 49, 201, 190, 9, 0, 0, 0, 49, 210, 184, 62, 0, 0, 0, 15, 5,
    139, 115, 8, 49, 210, 191, 64, 110, 62, 1, 232, 169, 221, 255, 255, 68, 139, 53, 124, 41, 254, 0, 68, 57, 245, 116,
    6, 65, 131, 253, 19, 118, 19, 190, 9, 0, 0, 0, 191, 64, 110, 62, 1, 49, 237, 232, 60, 217, 255, 255, 235, 18, 190,
    19, 0, 0, 0, 191, 64, 110, 62, 1, 68, 137, 245, 232, 40, 217, 255, 255, 72, 137, 223, 232, 70, 253, 255, 255, 68,
    138, 123, 16, 69, 132, 255, 15, 132, 179, 0, 0, 0, 232, 42, 191, 255, 255, 72, 139, 76, 36, 8, 72, 41, 200, 72, 61,
    128, 132, 30, 0, 68, 137, 224, 15, 151, 194, 131, 240, 1, 32, 194, 136, 84, 36, 7, 116, 37, 72, 141, 116, 36, 40,
    72, 137, 223, 68, 137, 116, 36, 44, 199, 68, 36, 40, 5, 0, 0, 0, 232, 131, 251, 255, 255, 133, 237, 116, 21, 68,
    138, 100, 36, 7, 235, 98, 133, 237, 117, 94, 184, 1, 0, 0, 0, 69, 132, 228, 116, 8, 69, 137, 252, 184, 50, 0, 0, 0,
    72, 105, 192, 64, 66, 15, 0, 139, 83, 4, 69, 49, 210, 69, 49, 201, 72, 141, 124, 36, 16, 65, 184, 8, 0, 0, 0, 190,
    1, 0, 0, 0, 199, 68, 36, 20, 1, 0, 0, 0, 137, 84, 36, 16, 49, 210, 72, 137, 84, 36, 24, 72, 141, 84, 36, 24, 72,
    137, 68, 36, 32, 184, 15, 1, 0, 0, 15, 5, 72, 137, 223, 232, 100, 252, 255, 255, 65, 255, 197, 233, 190, 254, 255,
    255, 72, 131, 196, 88, 91, 93, 65, 92, 65, 93, 65, 94, 65, 95, 195, 195, 72, 139, 71, 8, 72, 139, 23, 72, 137, 193,
    72, 41, 209, 72, 131, 249, 3, 119, 8, 198, 71, 16, 0, 49, 210, 235, 6, 72, 141, 66, 4, 139, 18, 72, 137, 7, 137,
    208, 195, 144, 83, 72, 137, 251, 232, 207, 255, 255, 255, 128, 123, 16, 0, 72, 139, 123, 8, 116, 24, 137, 193, 72,
    139, 3, 73, 137, 249, 72, 137, 250, 65, 137, 200, 49, 246, 73, 41, 193, 77, 57, 200, 114, 9, 198, 67, 16, 0, 72,
    137, 250, 235, 18, 57, 206, 115, 18, 72, 255, 198, 128, 124, 48, 255, 0, 117, 242, 198, 67, 16, 0, 49, 192, 235,
    13, 66, 128, 60, 0, 0, 117, 241, 141, 81, 1, 72, 1, 194, 72, 137, 19, 91, 195, 65, 85, 73, 137, 213, 65, 84, 85,
    72, 137, 245, 83, 72, 137, 251, 72, 137, 247, 65, 80, 232, 99, 255, 255, 255, 65, 137, 196, 138, 69, 16, 131, 240,
    1, 65, 129, 252, 0, 0, 4, 0, 15, 151, 194, 8, 208, 117, 93, 139, 75, 64, 66, 141, 84, 33, 1, 129, 250, 3, 0, 12, 0,
    119, 79, 72, 141, 132, 203, 96, 192, 0, 0, 73, 137, 69, 0, 69, 49, 237, 69, 57, 229, 116, 33, 72, 137, 239, 65,
    255, 197, 232, 69, 255, 255, 255, 72, 137, 194, 139, 67, 64, 141, 72, 1, 137, 75, 64, 72, 137, 148, 195, 96, 192,
    0, 0, 235, 218, 139, 67, 64, 49, 201, 141, 80, 1, 137, 83, 64, 72, 137, 140, 195, 96, 192, 0, 0, 138, 69, 16, 235,
    2, 49, 192, 90, 91, 93, 65, 92, 65, 93, 195, 144, 72, 139, 71, 8, 72, 139, 23, 72, 57, 208, 117, 8, 198, 71, 16, 0,
    49, 201, 235, 6, 138, 10, 72, 141, 66, 1, 72, 137, 7, 137, 200, 195, 72, 139, 71, 8, 72, 139, 23, 72, 137, 193, 72,
    41, 209, 72, 131, 249, 7, 119, 8, 198, 71, 16, 0, 49, 210, 235, 7, 72, 141, 66, 8, 72, 139, 18, 72, 137, 7, 72,
    137, 208, 195, 144, 65, 87, 72, 141, 4, 10, 65, 86, 65, 85, 65, 84, 85, 137, 245, 83, 72, 137, 251, 72, 129, 236,
    200, 0, 0, 0, 72, 137, 68, 36, 32, 141, 70, 220, 72, 137, 84, 36, 24, 198, 68, 36, 40, 1, 60, 2, 15, 135, 160, 1,
    0, 0, 73, 137, 214, 73, 137, 205, 64, 128, 254, 36, 116, 9, 72, 133, 201, 15, 133, 213, 2, 0, 0, 72, 99, 3, 133,
    192, 15, 136, 25, 5, 0, 0, 72, 137, 223, 232, 184, 234, 255, 255, 73, 137, 196, 72, 199, 192, 247, 255, 255, 255,
    77, 133, 228, 15, 132, 254, 4, 0, 0, 64, 128, 253, 36, 117, 80, 77, 133, 237, 15, 132, 237, 2, 0, 0, 65, 139, 124,
    36, 16, 76, 137, 234, 76, 137, 246, 232, 196, 191, 255, 255, 72, 133, 192, 127, 37, 76, 137, 231, 72, 137, 4, 36,
    232, 221, 237, 255, 255, 72, 139, 4, 36, 72, 133, 192, 15, 133, 193, 4, 0, 0, 72, 199, 192, 251, 255, 255, 255,
    233, 181, 4, 0, 0, 73, 1, 68, 36, 24, 73, 1, 198, 73, 41, 197, 235, 176, 64, 128, 253, 37, 15, 133, 248, 0, 0, 0,
    65, 139, 116, 36, 8, 73, 99, 124, 36, 16, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 91, 0, 0, 0, 49, 210, 15, 5,
    72, 133, 192, 15, 136, 144, 0, 0, 0, 65, 128, 124, 36, 1, 0, 73, 99, 84, 36, 12, 77, 141, 84, 36, 32, 73, 141, 180,
    36, 32, 1, 0, 0, 116, 36, 73, 99, 84, 36, 12, 65, 184, 1, 0, 0, 0, 69, 49, 201, 184, 60, 1, 0, 0, 72, 137, 215, 15,
    5, 72, 141, 104, 38, 72, 131, 229, 239, 116, 33, 235, 77, 69, 49, 192, 69, 49, 201, 184, 8, 1, 0, 0, 72, 137, 215,
    15, 5, 72, 133, 192, 120, 61, 65, 128, 124, 36, 1, 0, 116, 70, 235, 189, 73, 99, 84, 36, 12, 69, 49, 192, 69, 49,
    201, 184, 9, 1, 0, 0, 72, 137, 215, 15, 5, 72, 133, 192, 120, 25, 73, 99, 124, 36, 12, 69, 49, 210, 184, 7, 1, 0,
    0, 72, 137, 234, 15, 5, 235, 22, 72, 133, 192, 121, 17, 76, 137, 231, 72, 137, 4, 36, 232, 236, 236, 255, 255, 233,
    212, 3, 0, 0, 72, 139, 67, 72, 73, 139, 84, 36, 24, 73, 141, 124, 36, 16, 72, 137, 16, 72, 131, 192, 8, 72, 137,
    67, 72, 232, 147, 187, 255, 255, 73, 141, 124, 36, 12, 232, 137, 187, 255, 255, 65, 198, 4, 36, 0, 233, 164, 1, 0,
    0, 76, 137, 231, 232, 173, 236, 255, 255, 233, 151, 1, 0, 0, 72, 141, 124, 36, 24, 232, 228, 252, 255, 255, 72,
    137, 4, 36, 64, 128, 253, 41, 117, 21, 72, 141, 124, 36, 24, 69, 49, 228, 69, 49, 246, 232, 202, 252, 255, 255, 73,
    137, 197, 235, 116, 64, 128, 253, 34, 117, 34, 72, 141, 124, 36, 24, 69, 49, 228, 69, 49, 237, 232, 195, 253, 255,
    255, 72, 141, 124, 36, 24, 73, 137, 199, 232, 182, 253, 255, 255, 73, 137, 198, 235, 79, 137, 232, 131, 224, 251,
    60, 35, 116, 21, 64, 128, 253, 42, 117, 38, 72, 141, 124, 36, 24, 232, 92, 252, 255, 255, 65, 137, 196, 235, 40,
    64, 128, 253, 35, 72, 141, 124, 36, 24, 65, 15, 148, 198, 232, 69, 252, 255, 255, 65, 137, 196, 235, 6, 69, 49,
    246, 69, 49, 228, 64, 128, 253, 33, 116, 38, 69, 132, 246, 117, 33, 69, 49, 246, 69, 49, 237, 69, 49, 255, 72, 141,
    124, 36, 24, 232, 232, 195, 255, 255, 198, 68, 36, 15, 0, 132, 192, 117, 49, 233, 146, 0, 0, 0, 72, 141, 124, 36,
    24, 232, 32, 253, 255, 255, 72, 141, 124, 36, 24, 136, 68, 36, 15, 232, 194, 195, 255, 255, 128, 124, 36, 15, 1,
    119, 115, 254, 200, 117, 111, 69, 49, 246, 69, 49, 237, 69, 49, 255, 72, 99, 3, 133, 192, 15, 136, 170, 2, 0, 0,
    49, 246, 64, 128, 253, 42, 119, 17, 190, 131, 4, 0, 0, 137, 233, 72, 193, 230, 32, 72, 211, 238, 131, 230, 1, 72,
    139, 60, 36, 64, 15, 182, 246, 232, 99, 220, 255, 255, 72, 133, 192, 15, 136, 123, 2, 0, 0, 77, 133, 237, 116, 10,
    49, 246, 76, 137, 239, 232, 75, 220, 255, 255, 72, 133, 192, 15, 136, 99, 2, 0, 0, 131, 237, 32, 64, 128, 253, 10,
    119, 11, 64, 15, 182, 237, 255, 36, 237, 216, 112, 64, 0, 72, 199, 192, 234, 255, 255, 255, 233, 67, 2, 0, 0, 72,
    139, 52, 36, 186, 0, 0, 34, 0, 72, 137, 223, 232, 175, 224, 255, 255, 72, 141, 116, 36, 48, 137, 199, 232, 115,
    218, 255, 255, 137, 68, 36, 20, 133, 192, 120, 56, 72, 141, 124, 36, 20, 232, 237, 185, 255, 255, 72, 139, 123, 72,
    72, 141, 116, 36, 48, 232, 14, 230, 255, 255, 72, 137, 67, 72, 49, 192, 233, 251, 1, 0, 0, 72, 139, 52, 36, 186, 0,
    0, 1, 0, 72, 137, 223, 232, 103, 224, 255, 255, 133, 192, 121, 7, 72, 152, 233, 223, 1, 0, 0, 49, 210, 49, 201,
    137, 5, 38, 1, 245, 0, 68, 15, 182, 116, 36, 15, 72, 137, 83, 80, 72, 137, 83, 88, 72, 137, 83, 96, 72, 137, 83,
    104, 72, 137, 83, 112, 72, 137, 13, 9, 1, 245, 0, 68, 137, 246, 72, 137, 223, 232, 116, 235, 255, 255, 72, 133,
    192, 127, 240, 139, 107, 84, 57, 107, 80, 114, 36, 137, 239, 72, 137, 4, 36, 255, 197, 131, 231, 31, 72, 105, 255,
    16, 32, 0, 0, 72, 129, 199, 0, 76, 53, 1, 232, 87, 185, 255, 255, 72, 139, 4, 36, 235, 215, 72, 133, 192, 15, 133,
    111, 1, 0, 0, 72, 139, 83, 96, 72, 133, 210, 15, 132, 96, 255, 255, 255, 64, 182, 161, 72, 137, 223, 232, 204, 234,
    255, 255, 233, 80, 255, 255, 255, 184, 0, 0, 16, 0, 72, 139, 52, 36, 76, 137, 250, 72, 137, 223, 73, 57, 198, 73,
    15, 70, 198, 72, 129, 196, 200, 0, 0, 0, 91, 93, 72, 137, 193, 65, 92, 65, 93, 65, 94, 65, 95, 233, 56, 238, 255,
    255, 15, 182, 76, 36, 15, 72, 139, 52, 36, 68, 137, 226, 72, 137, 223, 72, 129, 196, 200, 0, 0, 0, 91, 93, 65, 92,
    65, 93, 65, 94, 65, 95, 233, 37, 232, 255, 255, 72, 139, 52, 36, 68, 137, 226, 72, 137, 223, 129, 226, 255, 1, 0,
    0, 232, 180, 230, 255, 255, 72, 141, 124, 36, 48, 137, 68, 36, 48, 72, 152, 72, 137, 4, 36, 233, 204, 0, 0, 0, 72,
    139, 52, 36, 49, 192, 72, 141, 124, 36, 48, 72, 137, 68, 36, 48, 232, 90, 219, 255, 255, 72, 139, 116, 36, 48, 186,
    0, 0, 33, 0, 72, 137, 223, 72, 137, 197, 232, 40, 223, 255, 255, 137, 198, 72, 152, 133, 246, 15, 136, 159, 0, 0,
    0, 72, 129, 196, 200, 0, 0, 0, 72, 141, 123, 32, 72, 137, 234, 91, 93, 65, 92, 65, 93, 65, 94, 65, 95, 233, 137,
    226, 255, 255, 72, 139, 52, 36, 72, 129, 196, 200, 0, 0, 0, 76, 137, 234, 72, 137, 223, 91, 93, 65, 92, 65, 93, 65,
    94, 65, 95, 233, 127, 239, 255, 255, 72, 139, 52, 36, 186, 0, 0, 34, 0, 72, 137, 223, 232, 206, 222, 255, 255, 72,
    141, 116, 36, 48, 137, 199, 232, 146, 216, 255, 255, 137, 199, 137, 68, 36, 20, 72, 152, 133, 255, 120, 57, 139,
    84, 36, 72, 72, 199, 192, 216, 255, 255, 255, 129, 226, 0, 240, 0, 0, 129, 250, 0, 160, 0, 0, 116, 14, 68, 137,
    230, 129, 230, 255, 1, 0, 0, 232, 164, 216, 255, 255, 72, 137, 4, 36, 72, 141, 124, 36, 20, 232, 221, 183, 255,
    255, 72, 139, 4, 36, 72, 129, 196, 200, 0, 0, 0, 91, 93, 65, 92, 65, 93, 65, 94, 65, 95, 195, 144, 65, 85, 69, 49,
    210, 65, 137, 205, 69, 49, 192, 65, 84, 65, 137, 212, 49, 210, 69, 49, 201, 85, 184, 95, 0, 0, 0, 83, 72, 137, 251,
    72, 131, 236, 40, 137, 119, 44, 72, 137, 215, 72, 137, 214, 15, 5, 69, 133, 228, 68, 137, 35, 72, 141, 108, 36, 8,
    120, 78, 65, 128, 229, 1, 184, 218, 255, 255, 255, 117, 49, 49, 192, 73, 99, 252, 65, 186, 24, 0, 0, 0, 190, 191,
    112, 64, 0, 72, 137, 68, 36, 16, 72, 137, 234, 184, 181, 1, 0, 0, 72, 199, 68, 36, 24, 10, 0, 0, 0, 72, 199, 68,
    36, 8, 0, 0, 41, 0, 15, 5, 137, 68, 36, 8, 193, 232, 31, 72, 137, 239, 136, 67, 4, 232, 61, 183, 255, 255, 190, 9,
    0, 0, 0, 72, 137, 223, 232, 240, 237, 255, 255, 72, 139, 67, 48, 72, 137, 239, 198, 68, 36, 24, 1, 72, 5, 224, 65,
    39, 1, 72, 137, 68, 36, 8, 72, 131, 192, 9, 72, 137, 68, 36, 16, 232, 95, 248, 255, 255, 72, 137, 239, 65, 137,
    196, 232, 112, 249, 255, 255, 72, 137, 239, 65, 137, 197, 232, 73, 248, 255, 255, 137, 67, 64, 65, 129, 252, 0, 0,
    1, 0, 118, 10, 191, 2, 0, 0, 0, 232, 77, 232, 255, 255, 73, 141, 116, 36, 9, 72, 137, 223, 232, 146, 237, 255, 255,
    72, 139, 67, 48, 76, 137, 225, 68, 137, 238, 72, 199, 67, 72, 205, 65, 38, 1, 72, 137, 223, 72, 141, 80, 9, 73,
    141, 4, 20, 72, 129, 194, 224, 65, 39, 1, 72, 137, 67, 48, 232, 95, 249, 255, 255, 49, 210, 72, 133, 192, 121, 12,
    72, 199, 67, 72, 205, 65, 38, 1, 137, 194, 247, 218, 137, 21, 205, 243, 229, 0, 72, 139, 83, 72, 64, 182, 160, 72,
    137, 223, 72, 129, 234, 201, 65, 38, 1, 232, 18, 232, 255, 255, 233, 52, 255, 255, 255, 144, 72, 139, 71, 8, 72,
    139, 23, 72, 137, 193, 72, 41, 209, 72, 131, 249, 1, 119, 8, 198, 71, 16, 0, 49, 210, 235, 7, 72, 141, 66, 2, 102,
    139, 18, 72, 137, 7, 137, 208, 195, 65, 85, 65, 84, 85, 72, 137, 245, 83, 72, 137, 251, 81, 232, 138, 247, 255,
    255, 72, 137, 223, 137, 69, 0, 232, 127, 247, 255, 255, 72, 137, 223, 137, 69, 4, 232, 116, 247, 255, 255, 72, 137,
    223, 137, 69, 8, 232, 165, 248, 255, 255, 72, 137, 223, 72, 137, 69, 16, 232, 93, 247, 255, 255, 72, 137, 223, 137,
    69, 24, 232, 82, 247, 255, 255, 72, 137, 223, 137, 69, 28, 232, 131, 248, 255, 255, 72, 137, 223, 72, 137, 69, 32,
    232, 59, 247, 255, 255, 72, 137, 223, 137, 69, 40, 232, 108, 255, 255, 255, 72, 137, 223, 102, 137, 69, 44, 232,
    96, 255, 255, 255, 72, 137, 223, 102, 137, 69, 46, 232, 24, 247, 255, 255, 49, 210, 137, 69, 48, 131, 248, 16, 119,
    76, 76, 141, 101, 56, 69, 49, 237, 72, 137, 223, 68, 59, 109, 48, 115, 45, 232, 249, 246, 255, 255, 72, 137, 223,
    65, 255, 197, 73, 131, 196, 24, 65, 137, 68, 36, 232, 232, 33, 248, 255, 255, 72, 137, 223, 73, 137, 68, 36, 240,
    232, 20, 248, 255, 255, 73, 137, 68, 36, 248, 235, 202, 232, 244, 246, 255, 255, 72, 137, 133, 184, 1, 0, 0, 138,
    83, 16, 137, 208, 90, 91, 93, 65, 92, 65, 93, 195, 65, 84, 72, 137, 208, 85, 72, 137, 245, 83, 72, 137, 251, 72,
    129, 236, 16, 2, 0, 0, 139, 126, 8, 64, 138, 118, 12, 137, 250, 209, 234, 131, 226, 1, 64, 128, 254, 1, 131, 218,
    252, 76, 57, 202, 116, 29, 72, 129, 196, 16, 2, 0, 0, 72, 137, 223, 72, 199, 194, 247, 255, 255, 255, 64, 182, 7,
    91, 93, 65, 92, 233, 135, 241, 255, 255, 49, 210, 77, 139, 16, 64, 128, 231, 2, 72, 199, 132, 36, 4, 2, 0, 0, 255,
    255, 255, 255, 72, 137, 148, 36, 224, 1, 0, 0, 72, 137, 148, 36, 232, 1, 0, 0, 72, 137, 148, 36, 240, 1, 0, 0, 65,
    139, 80, 8, 76, 137, 148, 36, 248, 1, 0, 0, 137, 148, 36, 0, 2, 0, 0, 116, 11, 65, 139, 80, 12, 137, 148, 36, 4, 2,
    0, 0, 64, 132, 246, 116, 66, 79, 99, 68, 136, 252, 139, 117, 4, 65, 186, 2, 0, 0, 0, 49, 255, 69, 49, 201, 184, 9,
    0, 0, 0, 186, 1, 0, 0, 0, 15, 5, 72, 61, 1, 240, 255, 255, 114, 19, 72, 137, 194, 64, 182, 1, 72, 137, 223, 232, 0,
    241, 255, 255, 233, 204, 0, 0, 0, 139, 77, 4, 73, 137, 196, 235, 3, 69, 49, 228, 72, 137, 68, 36, 8, 72, 141, 116,
    36, 32, 72, 1, 200, 72, 141, 124, 36, 8, 72, 137, 68, 36, 16, 198, 68, 36, 24, 1, 232, 25, 254, 255, 255, 132, 192,
    117, 20, 72, 199, 194, 249, 255, 255, 255, 64, 182, 1, 72, 137, 223, 232, 185, 240, 255, 255, 235, 107, 49, 192,
    72, 141, 148, 36, 224, 1, 0, 0, 72, 141, 116, 36, 8, 72, 137, 223, 137, 67, 64, 232, 7, 246, 255, 255, 132, 192,
    116, 206, 72, 141, 148, 36, 232, 1, 0, 0, 72, 141, 116, 36, 8, 72, 137, 223, 232, 238, 245, 255, 255, 132, 192,
    116, 181, 72, 141, 148, 36, 240, 1, 0, 0, 72, 141, 116, 36, 8, 72, 137, 223, 232, 213, 245, 255, 255, 132, 192,
    116, 156, 72, 141, 124, 36, 8, 232, 15, 189, 255, 255, 132, 192, 116, 142, 72, 141, 116, 36, 32, 72, 137, 223, 232,
    134, 240, 255, 255, 77, 133, 228, 116, 24, 139, 117, 4, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 11, 0, 0, 0,
    49, 210, 76, 137, 231, 15, 5, 72, 129, 196, 16, 2, 0, 0, 91, 93, 65, 92, 195, 144, 85, 49, 192, 72, 141, 175, 80,
    64, 0, 0, 185, 64, 0, 0, 0, 83, 72, 137, 251, 186, 16, 128, 0, 0, 65, 185, 8, 0, 0, 0, 72, 137, 238, 72, 131, 236,
    80, 72, 137, 68, 36, 16, 72, 141, 68, 36, 16, 80, 139, 63, 76, 141, 68, 36, 48, 232, 235, 186, 255, 255, 90, 89,
    72, 131, 248, 245, 15, 132, 159, 0, 0, 0, 72, 133, 192, 127, 21, 72, 131, 248, 185, 116, 15, 72, 137, 223, 232, 11,
    243, 255, 255, 49, 255, 232, 244, 178, 255, 255, 15, 87, 192, 15, 17, 68, 36, 16, 72, 131, 248, 15, 126, 15, 72,
    141, 124, 36, 16, 72, 137, 238, 185, 16, 0, 0, 0, 243, 164, 139, 84, 36, 16, 72, 139, 108, 36, 8, 131, 250, 2, 116,
    45, 131, 250, 3, 116, 55, 255, 202, 117, 32, 72, 141, 72, 240, 73, 137, 233, 76, 141, 68, 36, 32, 72, 137, 223, 72,
    141, 147, 96, 64, 0, 0, 72, 141, 116, 36, 16, 232, 154, 253, 255, 255, 49, 219, 235, 25, 72, 141, 116, 36, 16, 72,
    137, 223, 232, 227, 241, 255, 255, 235, 237, 72, 137, 223, 232, 149, 242, 255, 255, 235, 227, 72, 57, 235, 116, 15,
    72, 141, 124, 156, 32, 72, 255, 195, 232, 207, 178, 255, 255, 235, 236, 72, 131, 196, 72, 91, 93, 195, 85, 83, 72,
    137, 251, 72, 131, 236, 40, 137, 55, 232, 125, 196, 255, 255, 49, 210, 69, 49, 210, 69, 49, 192, 137, 67, 8, 69,
    49, 201, 184, 112, 0, 0, 0, 72, 137, 215, 72, 137, 214, 15, 5, 184, 157, 0, 0, 0, 191, 36, 0, 0, 0, 190, 1, 0, 0,
    0, 15, 5, 232, 254, 237, 255, 255, 72, 141, 116, 36, 8, 69, 49, 192, 69, 49, 201, 65, 186, 0, 8, 8, 0, 184, 33, 1,
    0, 0, 72, 131, 207, 255, 72, 199, 68, 36, 8, 0, 0, 1, 0, 186, 8, 0, 0, 0, 15, 5, 137, 67, 4, 72, 141, 108, 36, 16,
    139, 3, 199, 68, 36, 28, 1, 0, 0, 0, 69, 49, 210, 69, 49, 201, 65, 184, 8, 0, 0, 0, 190, 2, 0, 0, 0, 49, 210, 72,
    137, 239, 137, 68, 36, 16, 139, 67, 4, 72, 199, 68, 36, 20, 1, 0, 0, 0, 137, 68, 36, 24, 184, 15, 1, 0, 0, 15, 5,
    102, 131, 124, 36, 30, 0, 116, 16, 72, 137, 223, 232, 168, 239, 255, 255, 72, 137, 223, 232, 202, 239, 255, 255,
    102, 131, 124, 36, 22, 0, 116, 165, 72, 137, 223, 232, 60, 254, 255, 255, 235, 155, 65, 85, 65, 84, 85, 72, 137,
    253, 83, 72, 131, 236, 40, 72, 139, 95, 8, 72, 141, 131, 128, 128, 0, 0, 131, 59, 0, 73, 137, 220, 116, 44, 72,
    131, 195, 16, 72, 57, 195, 117, 239, 235, 25, 72, 141, 124, 36, 16, 232, 185, 177, 255, 255, 77, 133, 237, 121, 99,
    72, 141, 124, 36, 12, 232, 170, 177, 255, 255, 69, 49, 228, 233, 214, 0, 0, 0, 76, 141, 84, 36, 12, 69, 49, 192,
    69, 49, 201, 184, 53, 0, 0, 0, 191, 1, 0, 0, 0, 190, 5, 0, 8, 0, 49, 210, 15, 5, 72, 133, 192, 120, 213, 72, 137,
    239, 232, 69, 174, 255, 255, 73, 137, 197, 72, 133, 192, 117, 172, 139, 116, 36, 16, 72, 137, 239, 131, 202, 255,
    232, 142, 201, 255, 255, 190, 3, 0, 0, 0, 191, 192, 128, 197, 0, 232, 139, 254, 255, 255, 68, 137, 43, 72, 99, 124,
    36, 12, 69, 49, 210, 69, 49, 192, 199, 67, 8, 255, 255, 255, 255, 69, 49, 201, 184, 72, 0, 0, 0, 190, 4, 0, 0, 0,
    102, 199, 67, 12, 0, 0, 186, 0, 8, 0, 0, 137, 123, 4, 15, 5, 72, 137, 216, 72, 43, 69, 8, 72, 193, 248, 4, 59, 69,
    116, 114, 6, 141, 80, 1, 137, 85, 116, 185, 3, 0, 0, 0, 137, 192, 72, 99, 83, 4, 72, 99, 125, 28, 72, 193, 225, 32,
    76, 141, 84, 36, 20, 69, 49, 192, 69, 49, 201, 72, 9, 200, 199, 68, 36, 20, 1, 0, 0, 0, 190, 1, 0, 0, 0, 72, 137,
    68, 36, 24, 184, 233, 0, 0, 0, 15, 5, 255, 69, 120, 72, 131, 196, 40, 76, 137, 224, 91, 93, 65, 92, 65, 93, 195,
    65, 87, 69, 49, 255, 65, 86, 65, 85, 65, 84, 85, 83, 72, 137, 251, 72, 131, 236, 104, 72, 139, 171, 56, 1, 0, 0,
    76, 41, 253, 72, 131, 253, 8, 15, 134, 45, 5, 0, 0, 72, 139, 131, 64, 1, 0, 0, 72, 5, 0, 0, 16, 0, 72, 43, 131, 72,
    1, 0, 0, 72, 61, 255, 255, 4, 0, 15, 134, 13, 5, 0, 0, 128, 123, 27, 0, 15, 133, 3, 5, 0, 0, 73, 141, 135, 8, 128,
    65, 0, 72, 141, 124, 36, 24, 198, 68, 36, 40, 1, 72, 137, 68, 36, 24, 73, 141, 135, 17, 128, 65, 0, 72, 137, 68,
    36, 32, 232, 153, 241, 255, 255, 72, 141, 124, 36, 24, 137, 68, 36, 4, 232, 167, 242, 255, 255, 72, 141, 124, 36,
    24, 65, 137, 196, 232, 126, 241, 255, 255, 65, 128, 252, 2, 186, 0, 0, 1, 0, 68, 139, 116, 36, 4, 137, 4, 36, 184,
    0, 0, 100, 0, 72, 15, 69, 194, 76, 57, 240, 115, 9, 65, 15, 182, 212, 233, 114, 1, 0, 0, 72, 141, 69, 247, 76, 57,
    240, 15, 130, 140, 4, 0, 0, 77, 141, 175, 17, 128, 65, 0, 198, 68, 36, 64, 1, 75, 141, 68, 53, 0, 76, 137, 108, 36,
    48, 72, 137, 68, 36, 56, 65, 128, 252, 1, 15, 133, 4, 1, 0, 0, 72, 141, 124, 36, 72, 76, 137, 108, 36, 72, 72, 137,
    68, 36, 80, 198, 68, 36, 88, 1, 232, 11, 241, 255, 255, 72, 141, 124, 36, 72, 65, 137, 196, 232, 254, 240, 255,
    255, 72, 141, 124, 36, 72, 65, 137, 197, 232, 25, 241, 255, 255, 72, 141, 124, 36, 72, 72, 137, 197, 232, 176, 184,
    255, 255, 65, 131, 252, 1, 119, 20, 254, 200, 117, 16, 128, 123, 52, 0, 116, 26, 186, 1, 0, 0, 0, 233, 142, 3, 0,
    0, 186, 1, 0, 0, 0, 64, 182, 3, 72, 137, 223, 232, 20, 18, 0, 0, 68, 137, 232, 198, 67, 52, 1, 72, 105, 192, 232,
    3, 0, 0, 72, 137, 67, 72, 72, 133, 192, 116, 13, 232, 10, 175, 255, 255, 72, 3, 67, 72, 72, 137, 67, 80, 68, 137,
    99, 56, 128, 125, 0, 0, 116, 20, 65, 188, 1, 1, 0, 0, 72, 199, 199, 156, 255, 255, 255, 186, 0, 0, 41, 0, 235, 12,
    199, 67, 60, 234, 255, 255, 255, 233, 165, 3, 0, 0, 69, 49, 210, 69, 49, 192, 69, 49, 201, 76, 137, 224, 72, 137,
    238, 15, 5, 72, 131, 248, 252, 116, 233, 137, 68, 36, 16, 137, 67, 60, 133, 192, 15, 136, 127, 3, 0, 0, 72, 99,
    248, 190, 6, 4, 0, 0, 184, 72, 0, 0, 0, 186, 10, 0, 0, 0, 15, 5, 137, 67, 60, 72, 141, 124, 36, 16, 232, 209, 174,
    255, 255, 233, 89, 3, 0, 0, 128, 123, 52, 0, 117, 9, 65, 15, 182, 212, 233, 213, 2, 0, 0, 65, 128, 252, 2, 117, 22,
    139, 52, 36, 76, 137, 241, 76, 137, 234, 72, 137, 223, 232, 160, 17, 0, 0, 233, 46, 3, 0, 0, 65, 128, 252, 9, 117,
    72, 73, 131, 254, 64, 118, 13, 186, 9, 0, 0, 0, 64, 182, 2, 233, 26, 255, 255, 255, 72, 131, 123, 72, 0, 116, 13,
    232, 60, 174, 255, 255, 72, 3, 67, 72, 72, 137, 67, 80, 139, 20, 36, 76, 137, 241, 72, 137, 223, 64, 182, 135, 232,
    45, 173, 255, 255, 76, 137, 238, 76, 137, 241, 72, 137, 199, 243, 164, 233, 224, 2, 0, 0, 65, 128, 252, 10, 117,
    44, 49, 237, 59, 107, 112, 15, 131, 207, 2, 0, 0, 137, 238, 72, 105, 246, 176, 0, 0, 0, 72, 3, 51, 128, 62, 0, 116,
    12, 49, 201, 178, 2, 72, 137, 223, 232, 231, 180, 255, 255, 255, 197, 235, 214, 65, 141, 68, 36, 224, 60, 10, 118,
    10, 139, 83, 112, 49, 192, 233, 4, 2, 0, 0, 131, 187, 136, 0, 0, 0, 0, 15, 137, 45, 1, 0, 0, 189, 1, 0, 0, 0, 76,
    141, 84, 36, 16, 69, 49, 192, 69, 49, 201, 184, 53, 0, 0, 0, 190, 1, 0, 8, 0, 49, 210, 72, 137, 239, 15, 5, 72,
    133, 192, 15, 136, 229, 0, 0, 0, 72, 137, 223, 232, 157, 170, 255, 255, 72, 133, 192, 117, 45, 139, 83, 60, 139,
    116, 36, 20, 72, 137, 223, 232, 233, 197, 255, 255, 139, 83, 60, 139, 75, 56, 133, 210, 120, 5, 186, 5, 0, 0, 0,
    190, 3, 0, 0, 0, 191, 64, 65, 38, 1, 232, 215, 245, 255, 255, 72, 141, 124, 36, 20, 72, 137, 68, 36, 8, 232, 142,
    173, 255, 255, 72, 139, 68, 36, 8, 72, 133, 192, 121, 15, 72, 141, 124, 36, 16, 232, 122, 173, 255, 255, 233, 131,
    0, 0, 0, 72, 99, 124, 36, 16, 49, 246, 137, 131, 128, 0, 0, 0, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 72, 0,
    0, 0, 186, 0, 8, 0, 0, 137, 179, 132, 0, 0, 0, 190, 4, 0, 0, 0, 137, 187, 136, 0, 0, 0, 15, 5, 184, 7, 0, 0, 0, 49,
    255, 76, 141, 84, 36, 72, 72, 137, 238, 72, 193, 224, 32, 72, 137, 187, 168, 0, 0, 0, 72, 99, 147, 136, 0, 0, 0,
    72, 137, 187, 160, 0, 0, 0, 72, 137, 187, 152, 0, 0, 0, 72, 99, 123, 28, 72, 137, 68, 36, 76, 184, 233, 0, 0, 0,
    198, 131, 140, 0, 0, 0, 1, 199, 68, 36, 72, 1, 0, 0, 64, 15, 5, 235, 30, 139, 20, 36, 185, 4, 0, 0, 0, 64, 182,
    160, 72, 137, 223, 232, 169, 171, 255, 255, 199, 0, 11, 0, 0, 0, 233, 97, 1, 0, 0, 72, 139, 147, 160, 0, 0, 0, 184,
    0, 0, 9, 0, 77, 141, 70, 9, 72, 41, 208, 76, 57, 192, 115, 50, 72, 139, 179, 152, 0, 0, 0, 191, 24, 128, 181, 0,
    72, 41, 242, 72, 129, 198, 24, 128, 181, 0, 232, 65, 171, 255, 255, 72, 139, 131, 152, 0, 0, 0, 49, 201, 72, 41,
    131, 160, 0, 0, 0, 72, 137, 139, 152, 0, 0, 0, 72, 139, 131, 160, 0, 0, 0, 186, 0, 0, 9, 0, 72, 41, 194, 76, 57,
    194, 115, 9, 65, 15, 182, 212, 233, 180, 0, 0, 0, 139, 76, 36, 4, 68, 136, 160, 28, 128, 181, 0, 72, 141, 184, 24,
    128, 181, 0, 76, 137, 238, 72, 131, 199, 9, 137, 136, 24, 128, 181, 0, 139, 4, 36, 76, 137, 241, 137, 71, 252, 243,
    164, 72, 139, 131, 160, 0, 0, 0, 255, 131, 144, 0, 0, 0, 72, 137, 223, 73, 141, 68, 6, 9, 72, 137, 131, 160, 0, 0,
    0, 232, 46, 170, 255, 255, 233, 170, 0, 0, 0, 72, 105, 232, 176, 0, 0, 0, 72, 3, 43, 128, 125, 0, 0, 117, 12, 72,
    255, 192, 57, 208, 114, 233, 233, 16, 3, 0, 0, 139, 12, 36, 59, 77, 4, 117, 236, 233, 180, 0, 0, 0, 139, 69, 12,
    168, 1, 116, 13, 186, 3, 0, 0, 0, 64, 182, 4, 233, 114, 252, 255, 255, 128, 125, 101, 0, 117, 237, 168, 20, 116,
    233, 139, 69, 120, 137, 194, 3, 85, 116, 76, 1, 242, 72, 129, 250, 0, 0, 1, 0, 15, 134, 157, 0, 0, 0, 186, 3, 0, 0,
    0, 64, 182, 5, 233, 67, 252, 255, 255, 72, 131, 125, 104, 0, 15, 133, 158, 0, 0, 0, 65, 186, 34, 0, 0, 0, 73, 131,
    200, 255, 69, 49, 201, 49, 255, 184, 9, 0, 0, 0, 190, 0, 0, 1, 0, 186, 3, 0, 0, 0, 15, 5, 72, 61, 1, 240, 255, 255,
    114, 114, 72, 137, 238, 72, 137, 223, 232, 223, 171, 255, 255, 79, 141, 124, 62, 9, 233, 191, 250, 255, 255, 77,
    133, 255, 15, 132, 134, 2, 0, 0, 73, 141, 183, 8, 128, 65, 0, 72, 137, 234, 191, 8, 128, 65, 0, 232, 236, 169, 255,
    255, 76, 41, 187, 56, 1, 0, 0, 233, 102, 2, 0, 0, 65, 141, 68, 36, 253, 60, 5, 118, 12, 65, 15, 182, 212, 64, 182,
    1, 233, 189, 251, 255, 255, 15, 182, 192, 255, 36, 197, 48, 113, 64, 0, 128, 125, 102, 0, 15, 132, 102, 255, 255,
    255, 139, 76, 36, 4, 1, 193, 137, 77, 120, 235, 69, 72, 137, 69, 104, 139, 117, 112, 139, 85, 116, 141, 4, 22, 76,
    1, 240, 72, 61, 0, 0, 1, 0, 118, 17, 72, 139, 125, 104, 72, 1, 254, 232, 136, 169, 255, 255, 49, 210, 137, 85, 112,
    139, 125, 112, 139, 69, 116, 76, 137, 238, 76, 137, 241, 72, 1, 199, 72, 3, 125, 104, 243, 164, 139, 68, 36, 4, 1,
    69, 116, 72, 137, 238, 72, 137, 223, 232, 232, 173, 255, 255, 233, 68, 255, 255, 255, 246, 69, 12, 1, 15, 133, 58,
    255, 255, 255, 128, 125, 101, 0, 15, 133, 48, 255, 255, 255, 131, 125, 116, 0, 198, 69, 101, 1, 15, 133, 34, 255,
    255, 255, 235, 204, 49, 237, 72, 141, 124, 36, 48, 232, 247, 236, 255, 255, 72, 141, 124, 36, 48, 65, 137, 196,
    232, 234, 236, 255, 255, 72, 141, 124, 36, 48, 65, 137, 197, 232, 141, 179, 255, 255, 132, 192, 116, 47, 65, 141,
    69, 255, 60, 63, 119, 39, 65, 128, 252, 2, 119, 33, 72, 133, 237, 15, 132, 223, 254, 255, 255, 139, 117, 8, 65, 15,
    182, 205, 65, 15, 182, 212, 72, 137, 223, 232, 173, 176, 255, 255, 233, 199, 254, 255, 255, 186, 5, 0, 0, 0, 233,
    191, 250, 255, 255, 49, 237, 72, 141, 124, 36, 48, 232, 120, 235, 255, 255, 72, 141, 124, 36, 48, 65, 137, 196,
    232, 55, 179, 255, 255, 132, 192, 117, 10, 186, 6, 0, 0, 0, 233, 152, 250, 255, 255, 72, 133, 237, 15, 132, 141,
    254, 255, 255, 68, 137, 225, 178, 2, 72, 137, 238, 72, 137, 223, 232, 178, 176, 255, 255, 233, 120, 254, 255, 255,
    49, 237, 72, 141, 124, 36, 48, 232, 79, 236, 255, 255, 72, 141, 124, 36, 48, 65, 137, 197, 232, 38, 235, 255, 255,
    72, 141, 124, 36, 48, 65, 137, 196, 232, 229, 178, 255, 255, 132, 192, 116, 18, 65, 141, 69, 255, 60, 1, 119, 10,
    72, 133, 237, 117, 15, 233, 60, 254, 255, 255, 186, 7, 0, 0, 0, 233, 52, 250, 255, 255, 65, 254, 205, 68, 137, 226,
    117, 15, 72, 1, 85, 24, 72, 141, 69, 16, 185, 4, 0, 0, 0, 235, 13, 72, 1, 85, 64, 72, 141, 69, 56, 185, 5, 0, 0, 0,
    72, 137, 194, 72, 137, 238, 72, 137, 223, 232, 123, 166, 255, 255, 233, 251, 253, 255, 255, 49, 237, 49, 192, 72,
    141, 124, 36, 48, 72, 137, 68, 36, 72, 232, 235, 242, 255, 255, 72, 141, 124, 36, 48, 102, 137, 68, 36, 72, 232,
    220, 242, 255, 255, 72, 141, 124, 36, 48, 102, 137, 68, 36, 74, 232, 93, 178, 255, 255, 132, 192, 117, 10, 186, 8,
    0, 0, 0, 233, 190, 249, 255, 255, 72, 133, 237, 15, 132, 179, 253, 255, 255, 246, 69, 12, 16, 15, 132, 169, 253,
    255, 255, 72, 99, 125, 96, 133, 255, 15, 136, 157, 253, 255, 255, 72, 141, 84, 36, 72, 69, 49, 210, 69, 49, 192,
    69, 49, 201, 184, 16, 0, 0, 0, 190, 20, 84, 0, 0, 15, 5, 233, 126, 253, 255, 255, 65, 141, 68, 36, 253, 60, 5, 15,
    135, 173, 253, 255, 255, 15, 182, 192, 255, 36, 197, 96, 113, 64, 0, 72, 131, 196, 104, 91, 93, 65, 92, 65, 93, 65,
    94, 65, 95, 195, 144, 65, 87, 65, 86, 65, 85, 65, 84, 85, 83, 72, 137, 251, 72, 129, 236, 88, 3, 0, 0, 72, 137,
    223, 232, 2, 188, 255, 255, 128, 123, 27, 0, 116, 28, 131, 123, 124, 0, 117, 22, 131, 123, 116, 0, 117, 16, 131,
    187, 128, 0, 0, 0, 0, 117, 7, 49, 255, 232, 46, 168, 255, 255, 72, 139, 107, 80, 72, 139, 67, 88, 139, 123, 112,
    72, 57, 197, 72, 15, 71, 232, 49, 201, 57, 249, 115, 62, 72, 105, 193, 176, 0, 0, 0, 72, 3, 3, 128, 56, 0, 116, 42,
    72, 139, 144, 136, 0, 0, 0, 72, 139, 176, 144, 0, 0, 0, 72, 139, 128, 152, 0, 0, 0, 72, 57, 242, 72, 15, 71, 214,
    72, 57, 234, 72, 15, 70, 234, 72, 57, 197, 72, 15, 71, 232, 72, 255, 193, 235, 190, 232, 241, 167, 255, 255, 73,
    131, 204, 255, 72, 137, 194, 72, 131, 253, 253, 119, 47, 69, 49, 228, 72, 57, 232, 115, 39, 72, 141, 133, 231, 3,
    0, 0, 185, 231, 167, 147, 214, 65, 188, 128, 238, 54, 0, 72, 41, 208, 72, 57, 193, 114, 13, 185, 232, 3, 0, 0, 49,
    210, 72, 247, 241, 73, 137, 196, 68, 138, 107, 52, 77, 137, 226, 69, 132, 237, 116, 35, 131, 123, 120, 0, 117, 26,
    138, 67, 27, 132, 192, 117, 19, 69, 49, 210, 139, 75, 48, 57, 75, 124, 77, 15, 67, 212, 68, 15, 67, 232, 235, 3,
    69, 49, 237, 72, 141, 108, 36, 80, 65, 191, 25, 1, 0, 0, 72, 99, 123, 28, 69, 49, 192, 65, 185, 8, 0, 0, 0, 186,
    64, 0, 0, 0, 76, 137, 248, 72, 137, 238, 15, 5, 73, 137, 198, 72, 133, 192, 117, 5, 69, 132, 237, 117, 5, 69, 49,
    237, 235, 90, 72, 137, 223, 232, 153, 245, 255, 255, 72, 133, 192, 117, 39, 65, 186, 50, 0, 0, 0, 72, 99, 123, 28,
    76, 137, 248, 72, 137, 238, 77, 57, 212, 65, 185, 8, 0, 0, 0, 186, 1, 0, 0, 0, 77, 15, 70, 212, 69, 49, 192, 15, 5,
    72, 137, 223, 232, 145, 197, 255, 255, 233, 152, 254, 255, 255, 76, 139, 101, 4, 76, 137, 224, 72, 193, 232, 32,
    255, 200, 131, 248, 6, 118, 17, 73, 255, 197, 72, 131, 197, 12, 77, 57, 245, 124, 226, 233, 47, 3, 0, 0, 255, 36,
    197, 144, 113, 64, 0, 128, 123, 27, 0, 117, 226, 139, 69, 0, 65, 131, 252, 1, 116, 14, 168, 4, 116, 36, 72, 137,
    223, 232, 93, 186, 255, 255, 235, 26, 168, 24, 116, 12, 49, 246, 72, 137, 223, 232, 217, 184, 255, 255, 235, 187,
    72, 137, 223, 232, 67, 186, 255, 255, 235, 177, 69, 133, 228, 117, 172, 247, 69, 0, 251, 255, 255, 255, 116, 163,
    128, 123, 27, 0, 117, 157, 72, 139, 179, 56, 1, 0, 0, 186, 9, 0, 100, 0, 139, 123, 16, 72, 41, 242, 72, 129, 198,
    8, 128, 65, 0, 128, 123, 24, 0, 116, 111, 49, 201, 65, 185, 8, 0, 0, 0, 72, 137, 76, 36, 40, 185, 64, 0, 0, 0, 65,
    80, 72, 141, 68, 36, 48, 80, 76, 141, 68, 36, 64, 232, 9, 174, 255, 255, 65, 89, 65, 90, 72, 131, 248, 185, 116, 9,
    72, 139, 116, 36, 40, 49, 201, 235, 49, 49, 210, 64, 182, 6, 72, 137, 223, 232, 36, 9, 0, 0, 139, 147, 48, 1, 0, 0,
    131, 250, 32, 116, 232, 139, 124, 140, 48, 68, 141, 66, 1, 72, 255, 193, 68, 137, 131, 48, 1, 0, 0, 137, 188, 147,
    176, 0, 0, 0, 72, 57, 241, 117, 215, 235, 5, 232, 245, 167, 255, 255, 72, 131, 248, 245, 15, 132, 0, 255, 255, 255,
    72, 133, 192, 15, 142, 48, 255, 255, 255, 72, 1, 131, 56, 1, 0, 0, 72, 137, 223, 232, 102, 245, 255, 255, 233, 227,
    254, 255, 255, 72, 137, 223, 232, 233, 180, 255, 255, 233, 214, 254, 255, 255, 68, 137, 230, 72, 193, 230, 4, 72,
    3, 115, 8, 131, 62, 0, 15, 132, 194, 254, 255, 255, 72, 137, 223, 232, 112, 179, 255, 255, 233, 181, 254, 255, 255,
    68, 137, 230, 72, 105, 246, 176, 0, 0, 0, 72, 3, 51, 128, 62, 0, 15, 132, 159, 254, 255, 255, 72, 141, 86, 16, 185,
    4, 0, 0, 0, 235, 31, 68, 137, 230, 72, 105, 246, 176, 0, 0, 0, 72, 3, 51, 128, 62, 0, 15, 132, 126, 254, 255, 255,
    72, 141, 86, 56, 185, 5, 0, 0, 0, 72, 137, 223, 232, 111, 167, 255, 255, 233, 104, 254, 255, 255, 68, 137, 230, 72,
    105, 246, 176, 0, 0, 0, 72, 3, 51, 128, 62, 0, 15, 132, 82, 254, 255, 255, 72, 137, 223, 232, 178, 168, 255, 255,
    233, 69, 254, 255, 255, 198, 131, 140, 0, 0, 0, 0, 246, 69, 0, 4, 116, 8, 72, 137, 223, 232, 120, 163, 255, 255,
    247, 69, 0, 251, 255, 255, 255, 15, 132, 86, 1, 0, 0, 139, 187, 136, 0, 0, 0, 133, 255, 15, 136, 72, 1, 0, 0, 72,
    139, 131, 64, 1, 0, 0, 72, 5, 0, 0, 16, 0, 72, 43, 131, 72, 1, 0, 0, 72, 61, 8, 64, 7, 0, 15, 134, 40, 1, 0, 0, 72,
    139, 179, 168, 0, 0, 0, 186, 9, 0, 1, 0, 72, 41, 242, 72, 129, 198, 24, 128, 190, 0, 232, 197, 166, 255, 255, 72,
    131, 248, 245, 15, 132, 3, 1, 0, 0, 72, 133, 192, 127, 54, 72, 141, 179, 136, 0, 0, 0, 72, 137, 223, 232, 32, 165,
    255, 255, 49, 210, 185, 4, 0, 0, 0, 64, 182, 139, 72, 137, 223, 232, 176, 163, 255, 255, 139, 147, 144, 0, 0, 0,
    137, 16, 49, 192, 137, 131, 144, 0, 0, 0, 233, 200, 0, 0, 0, 72, 1, 131, 168, 0, 0, 0, 69, 49, 255, 72, 139, 147,
    168, 0, 0, 0, 73, 141, 183, 24, 128, 190, 0, 76, 41, 250, 72, 131, 250, 8, 15, 134, 141, 0, 0, 0, 72, 141, 70, 9,
    72, 141, 124, 36, 48, 72, 137, 84, 36, 24, 72, 137, 116, 36, 48, 72, 137, 116, 36, 16, 72, 137, 68, 36, 56, 198,
    68, 36, 64, 1, 232, 217, 229, 255, 255, 72, 141, 124, 36, 48, 65, 137, 196, 232, 232, 230, 255, 255, 72, 141, 124,
    36, 48, 136, 68, 36, 15, 232, 190, 229, 255, 255, 72, 139, 84, 36, 24, 72, 139, 116, 36, 16, 72, 141, 122, 247, 76,
    57, 231, 114, 56, 128, 124, 36, 15, 160, 117, 6, 255, 139, 144, 0, 0, 0, 64, 138, 116, 36, 15, 76, 137, 225, 72,
    137, 223, 137, 194, 232, 2, 163, 255, 255, 73, 141, 183, 33, 128, 190, 0, 76, 137, 225, 72, 137, 199, 243, 164, 79,
    141, 124, 39, 9, 233, 88, 255, 255, 255, 191, 24, 128, 190, 0, 232, 181, 162, 255, 255, 76, 41, 187, 168, 0, 0, 0,
    233, 170, 254, 255, 255, 72, 137, 223, 232, 139, 161, 255, 255, 233, 192, 252, 255, 255, 72, 131, 187, 56, 1, 0, 0,
    8, 15, 134, 147, 252, 255, 255, 128, 123, 27, 0, 15, 133, 137, 252, 255, 255, 72, 137, 223, 232, 30, 243, 255, 255,
    233, 124, 252, 255, 255, 65, 87, 65, 86, 65, 85, 65, 84, 85, 83, 49, 219, 72, 129, 236, 168, 1, 0, 0, 72, 131, 63,
    1, 126, 24, 72, 139, 127, 16, 186, 2, 0, 0, 0, 190, 200, 113, 64, 0, 232, 26, 163, 255, 255, 133, 192, 15, 148,
    195, 184, 245, 255, 255, 127, 49, 255, 186, 32, 0, 0, 0, 69, 49, 201, 72, 193, 224, 33, 72, 137, 209, 69, 49, 219,
    49, 246, 72, 137, 132, 36, 136, 0, 0, 0, 49, 192, 69, 49, 192, 69, 49, 210, 72, 137, 188, 36, 192, 0, 0, 0, 15, 87,
    192, 76, 141, 108, 36, 80, 72, 137, 188, 36, 200, 0, 0, 0, 72, 137, 188, 36, 208, 0, 0, 0, 72, 141, 188, 36, 0, 1,
    0, 0, 243, 171, 72, 137, 180, 36, 152, 0, 0, 0, 184, 112, 0, 0, 0, 68, 137, 132, 36, 224, 0, 0, 0, 69, 49, 192, 76,
    137, 140, 36, 232, 0, 0, 0, 76, 137, 140, 36, 240, 0, 0, 0, 76, 137, 140, 36, 248, 0, 0, 0, 69, 49, 201, 68, 137,
    148, 36, 128, 1, 0, 0, 69, 49, 210, 72, 199, 68, 36, 80, 168, 0, 192, 0, 72, 137, 202, 72, 137, 207, 72, 137, 206,
    72, 199, 68, 36, 88, 36, 128, 191, 0, 72, 199, 68, 36, 96, 255, 255, 255, 255, 72, 199, 68, 36, 105, 0, 0, 0, 255,
    72, 199, 68, 36, 113, 255, 255, 255, 255, 72, 199, 68, 36, 121, 255, 255, 255, 0, 199, 132, 36, 129, 0, 0, 0, 8, 0,
    0, 0, 102, 199, 132, 36, 144, 0, 0, 0, 1, 0, 72, 199, 132, 36, 160, 0, 0, 0, 255, 255, 255, 255, 72, 199, 132, 36,
    168, 0, 0, 0, 255, 255, 255, 255, 15, 17, 132, 36, 176, 0, 0, 0, 199, 132, 36, 216, 0, 0, 0, 255, 255, 255, 255,
    198, 132, 36, 220, 0, 0, 0, 0, 76, 137, 156, 36, 136, 1, 0, 0, 76, 137, 156, 36, 144, 1, 0, 0, 76, 137, 156, 36,
    152, 1, 0, 0, 76, 137, 45, 229, 29, 1, 0, 136, 92, 36, 104, 15, 5, 189, 157, 0, 0, 0, 191, 4, 0, 0, 0, 72, 137,
    232, 15, 5, 191, 36, 0, 0, 0, 190, 1, 0, 0, 0, 72, 137, 232, 15, 5, 184, 95, 0, 0, 0, 191, 18, 0, 0, 0, 72, 137,
    214, 15, 5, 184, 80, 0, 0, 0, 191, 159, 112, 64, 0, 15, 5, 65, 188, 1, 0, 0, 0, 69, 49, 255, 65, 190, 13, 0, 0, 0,
    68, 137, 248, 72, 141, 124, 36, 48, 185, 8, 0, 0, 0, 69, 49, 192, 243, 171, 65, 186, 8, 0, 0, 0, 69, 49, 201, 76,
    137, 240, 76, 137, 231, 72, 141, 116, 36, 48, 72, 137, 205, 72, 137, 202, 15, 5, 73, 255, 196, 73, 131, 252, 65,
    117, 201, 72, 141, 116, 36, 16, 184, 14, 0, 0, 0, 191, 2, 0, 0, 0, 72, 199, 68, 36, 16, 255, 255, 255, 255, 15, 5,
    232, 91, 183, 255, 255, 69, 49, 192, 69, 49, 201, 190, 7, 0, 0, 0, 65, 188, 46, 1, 0, 0, 76, 141, 148, 36, 176, 0,
    0, 0, 72, 137, 239, 72, 137, 234, 76, 137, 224, 15, 5, 72, 139, 132, 36, 184, 0, 0, 0, 72, 141, 84, 36, 32, 69, 49,
    210, 72, 137, 68, 36, 32, 72, 137, 68, 36, 40, 76, 137, 224, 15, 5, 72, 139, 140, 36, 184, 0, 0, 0, 72, 129, 249,
    63, 40, 0, 0, 119, 43, 72, 129, 249, 128, 0, 0, 0, 119, 13, 199, 132, 36, 128, 0, 0, 0, 8, 0, 0, 0, 235, 42, 72,
    141, 65, 192, 190, 5, 0, 0, 0, 49, 210, 72, 247, 246, 137, 132, 36, 128, 0, 0, 0, 72, 139, 132, 36, 176, 0, 0, 0,
    72, 57, 193, 114, 8, 72, 61, 255, 3, 0, 0, 119, 20, 184, 0, 4, 0, 0, 72, 57, 193, 72, 15, 71, 200, 72, 137, 140,
    36, 176, 0, 0, 0, 190, 202, 113, 64, 0, 189, 1, 1, 0, 0, 186, 2, 0, 8, 0, 72, 199, 199, 156, 255, 255, 255, 69, 49,
    210, 69, 49, 192, 69, 49, 201, 72, 137, 232, 15, 5, 72, 131, 248, 252, 116, 236, 137, 68, 36, 116, 133, 192, 121,
    52, 184, 37, 1, 0, 0, 190, 0, 0, 8, 0, 49, 210, 72, 141, 124, 36, 48, 15, 5, 72, 133, 192, 121, 10, 191, 2, 0, 0,
    0, 232, 111, 160, 255, 255, 139, 68, 36, 48, 72, 141, 124, 36, 52, 137, 68, 36, 116, 232, 187, 160, 255, 255, 69,
    49, 210, 69, 49, 192, 69, 49, 201, 132, 219, 117, 41, 189, 72, 0, 0, 0, 190, 6, 4, 0, 0, 186, 10, 0, 0, 0, 49, 255,
    72, 137, 232, 15, 5, 191, 1, 0, 0, 0, 137, 68, 36, 96, 72, 137, 232, 15, 5, 73, 137, 193, 235, 29, 184, 72, 0, 0,
    0, 191, 3, 0, 0, 0, 190, 6, 4, 0, 0, 186, 10, 0, 0, 0, 15, 5, 137, 68, 36, 96, 65, 137, 193, 68, 137, 76, 36, 100,
    68, 11, 76, 36, 96, 120, 133, 49, 237, 65, 188, 36, 1, 0, 0, 72, 131, 253, 2, 117, 61, 69, 49, 210, 69, 49, 192,
    69, 49, 201, 49, 210, 184, 72, 0, 0, 0, 190, 1, 0, 0, 0, 72, 137, 239, 15, 5, 72, 133, 192, 120, 59, 132, 219, 116,
    81, 184, 3, 0, 0, 0, 49, 210, 69, 49, 210, 69, 49, 192, 69, 49, 201, 72, 137, 199, 72, 137, 214, 15, 5, 235, 55,
    72, 99, 124, 36, 116, 69, 49, 210, 69, 49, 192, 69, 49, 201, 49, 210, 76, 137, 224, 72, 137, 238, 15, 5, 72, 255,
    197, 235, 160, 72, 99, 124, 36, 116, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 36, 1, 0, 0, 72, 137, 238, 15, 5,
    235, 171, 189, 72, 0, 0, 0, 69, 49, 228, 69, 49, 210, 69, 49, 192, 69, 49, 201, 190, 6, 4, 0, 0, 186, 10, 0, 0, 0,
    72, 137, 232, 76, 137, 231, 15, 5, 65, 191, 3, 0, 0, 0, 137, 68, 36, 116, 72, 99, 124, 36, 96, 72, 137, 232, 76,
    137, 254, 76, 137, 226, 15, 5, 65, 190, 4, 0, 0, 0, 128, 204, 8, 72, 99, 124, 36, 96, 72, 137, 194, 76, 137, 246,
    72, 137, 232, 15, 5, 72, 99, 124, 36, 100, 72, 137, 232, 76, 137, 254, 76, 137, 226, 15, 5, 128, 204, 8, 72, 99,
    124, 36, 100, 76, 137, 246, 72, 137, 194, 72, 137, 232, 15, 5, 76, 137, 239, 232, 227, 169, 255, 255, 69, 49, 210,
    69, 49, 192, 69, 49, 201, 184, 35, 1, 0, 0, 191, 0, 0, 8, 0, 76, 137, 230, 76, 137, 226, 15, 5, 65, 186, 0, 8, 8,
    0, 137, 68, 36, 108, 72, 141, 116, 36, 24, 184, 33, 1, 0, 0, 72, 199, 68, 36, 24, 0, 2, 1, 0, 72, 131, 207, 255,
    186, 8, 0, 0, 0, 15, 5, 72, 99, 124, 36, 108, 137, 68, 36, 112, 9, 248, 15, 136, 46, 254, 255, 255, 184, 1, 0, 0,
    0, 189, 233, 0, 0, 0, 72, 99, 84, 36, 96, 199, 68, 36, 48, 1, 0, 0, 0, 72, 193, 224, 32, 76, 141, 84, 36, 48, 190,
    1, 0, 0, 0, 72, 137, 68, 36, 52, 72, 137, 232, 15, 5, 132, 219, 117, 36, 49, 201, 72, 99, 84, 36, 100, 72, 99, 124,
    36, 108, 72, 184, 1, 0, 0, 0, 1, 0, 0, 0, 72, 137, 68, 36, 52, 72, 137, 232, 137, 76, 36, 48, 15, 5, 184, 1, 0, 0,
    0, 72, 99, 84, 36, 112, 69, 49, 192, 69, 49, 201, 72, 193, 224, 33, 72, 99, 124, 36, 108, 76, 141, 84, 36, 48, 199,
    68, 36, 48, 1, 0, 0, 0, 72, 137, 68, 36, 52, 190, 1, 0, 0, 0, 184, 233, 0, 0, 0, 15, 5, 15, 182, 219, 1, 219, 131,
    61, 87, 168, 2, 1, 0, 126, 3, 131, 203, 16, 128, 61, 71, 168, 2, 1, 0, 116, 3, 131, 203, 8, 49, 210, 72, 141, 116,
    36, 8, 69, 49, 210, 69, 49, 192, 137, 84, 36, 8, 69, 49, 201, 184, 157, 0, 0, 0, 49, 210, 191, 37, 0, 0, 0, 15, 5,
    72, 133, 192, 120, 10, 131, 124, 36, 8, 1, 117, 3, 131, 203, 32, 49, 246, 69, 49, 210, 69, 49, 192, 69, 49, 201,
    184, 188, 1, 0, 0, 186, 1, 0, 0, 0, 72, 137, 247, 15, 5, 72, 131, 248, 5, 126, 3, 131, 203, 1, 49, 192, 65, 186,
    24, 0, 0, 0, 69, 49, 192, 69, 49, 201, 72, 137, 68, 36, 56, 72, 199, 199, 156, 255, 255, 255, 190, 159, 112, 64, 0,
    72, 141, 84, 36, 48, 72, 137, 68, 36, 64, 184, 181, 1, 0, 0, 72, 199, 68, 36, 48, 0, 0, 41, 0, 15, 5, 137, 68, 36,
    12, 133, 192, 120, 3, 131, 203, 4, 72, 141, 124, 36, 12, 232, 184, 157, 255, 255, 49, 210, 76, 137, 239, 185, 28,
    0, 0, 0, 64, 182, 128, 232, 112, 156, 255, 255, 72, 137, 197, 72, 184, 67, 70, 68, 77, 1, 0, 62, 0, 72, 137, 69, 0,
    232, 87, 175, 255, 255, 49, 210, 69, 49, 210, 69, 49, 192, 137, 69, 8, 69, 49, 201, 184, 107, 0, 0, 0, 72, 137,
    215, 72, 137, 214, 15, 5, 137, 69, 12, 184, 108, 0, 0, 0, 15, 5, 137, 69, 16, 76, 137, 239, 137, 93, 20, 139, 132,
    36, 128, 0, 0, 0, 137, 69, 24, 232, 137, 244, 255, 255, 144, 49, 192, 65, 84, 185, 2, 0, 0, 0, 65, 137, 244, 85,
    64, 182, 138, 137, 213, 49, 210, 83, 72, 137, 251, 72, 137, 135, 72, 1, 0, 0, 72, 137, 135, 64, 1, 0, 0, 232, 241,
    155, 255, 255, 72, 137, 223, 68, 136, 32, 64, 136, 104, 1, 232, 108, 176, 255, 255, 72, 137, 223, 49, 246, 232,
    238, 174, 255, 255, 72, 137, 223, 232, 60, 244, 255, 255, 65, 87, 72, 137, 208, 65, 86, 72, 1, 200, 65, 85, 65,
    137, 245, 65, 84, 73, 137, 204, 85, 72, 137, 253, 83, 49, 219, 72, 129, 236, 200, 2, 0, 0, 72, 141, 180, 36, 0, 1,
    0, 0, 72, 141, 124, 36, 56, 72, 137, 20, 36, 72, 137, 84, 36, 56, 72, 137, 68, 36, 64, 198, 68, 36, 72, 1, 232,
    119, 230, 255, 255, 131, 251, 2, 127, 79, 132, 192, 116, 75, 72, 141, 124, 36, 56, 232, 0, 222, 255, 255, 65, 137,
    198, 49, 192, 65, 129, 254, 0, 0, 4, 0, 119, 47, 131, 251, 2, 15, 148, 192, 69, 133, 246, 15, 149, 194, 69, 49,
    255, 9, 208, 69, 57, 247, 115, 25, 132, 192, 116, 21, 72, 141, 124, 36, 56, 232, 246, 221, 255, 255, 72, 133, 192,
    15, 149, 192, 65, 255, 199, 235, 226, 255, 195, 235, 172, 68, 139, 180, 36, 0, 1, 0, 0, 132, 192, 116, 30, 72, 141,
    124, 36, 56, 232, 117, 165, 255, 255, 254, 200, 117, 16, 65, 129, 254, 255, 0, 0, 0, 119, 7, 139, 77, 112, 49, 192,
    235, 29, 186, 2, 0, 0, 0, 64, 182, 3, 235, 97, 72, 105, 208, 176, 0, 0, 0, 72, 3, 85, 0, 128, 58, 0, 117, 9, 72,
    255, 192, 57, 200, 114, 233, 235, 8, 68, 59, 106, 4, 117, 241, 235, 72, 69, 137, 247, 199, 68, 36, 36, 255, 255,
    255, 255, 139, 149, 48, 1, 0, 0, 65, 209, 239, 199, 68, 36, 20, 255, 255, 255, 255, 72, 199, 68, 36, 28, 255, 255,
    255, 255, 65, 131, 231, 1, 65, 246, 198, 1, 116, 35, 65, 131, 199, 3, 68, 57, 250, 115, 33, 186, 2, 0, 0, 0, 64,
    182, 6, 72, 137, 239, 232, 124, 254, 255, 255, 186, 2, 0, 0, 0, 64, 182, 4, 235, 238, 69, 133, 255, 116, 72, 235,
    223, 139, 133, 184, 0, 0, 0, 72, 139, 141, 176, 0, 0, 0, 137, 68, 36, 36, 72, 137, 76, 36, 28, 65, 131, 255, 4,
    117, 10, 139, 133, 188, 0, 0, 0, 137, 68, 36, 20, 68, 41, 250, 72, 141, 189, 176, 0, 0, 0, 68, 137, 248, 137, 149,
    48, 1, 0, 0, 72, 141, 52, 135, 72, 193, 226, 2, 232, 23, 154, 255, 255, 139, 85, 48, 49, 192, 49, 219, 72, 133,
    219, 117, 58, 57, 208, 115, 24, 137, 195, 72, 105, 219, 176, 0, 0, 0, 72, 3, 93, 0, 128, 59, 0, 116, 2, 49, 219,
    255, 192, 235, 223, 72, 133, 219, 117, 25, 72, 199, 193, 245, 255, 255, 255, 178, 1, 68, 137, 238, 72, 137, 239,
    232, 132, 154, 255, 255, 233, 14, 6, 0, 0, 131, 125, 124, 0, 117, 8, 72, 137, 239, 232, 3, 165, 255, 255, 49, 192,
    72, 141, 124, 36, 80, 185, 44, 0, 0, 0, 243, 171, 72, 141, 116, 36, 80, 185, 43, 0, 0, 0, 72, 137, 223, 199, 68,
    36, 88, 255, 255, 255, 255, 199, 68, 36, 96, 255, 255, 255, 255, 199, 132, 36, 136, 0, 0, 0, 255, 255, 255, 255,
    199, 132, 36, 176, 0, 0, 0, 255, 255, 255, 255, 72, 199, 132, 36, 216, 0, 0, 0, 255, 255, 255, 255, 72, 199, 132,
    36, 224, 0, 0, 0, 255, 255, 255, 255, 72, 199, 132, 36, 232, 0, 0, 0, 255, 255, 255, 255, 243, 165, 198, 3, 1, 68,
    137, 107, 4, 68, 137, 115, 12, 232, 108, 154, 255, 255, 72, 139, 148, 36, 16, 1, 0, 0, 72, 190, 245, 83, 227, 165,
    155, 196, 32, 0, 72, 137, 131, 128, 0, 0, 0, 72, 141, 74, 255, 72, 57, 206, 114, 17, 72, 105, 210, 232, 3, 0, 0,
    72, 1, 194, 72, 137, 147, 136, 0, 0, 0, 72, 139, 132, 36, 24, 1, 0, 0, 72, 137, 131, 160, 0, 0, 0, 139, 132, 36,
    40, 1, 0, 0, 72, 137, 67, 64, 72, 137, 67, 24, 72, 139, 132, 36, 32, 1, 0, 0, 72, 133, 192, 117, 4, 72, 131, 200,
    255, 72, 186, 163, 139, 46, 186, 232, 162, 139, 46, 72, 137, 67, 72, 72, 137, 67, 32, 72, 137, 216, 72, 43, 69, 0,
    72, 193, 248, 4, 72, 15, 175, 194, 59, 69, 112, 114, 5, 255, 192, 137, 69, 112, 255, 69, 124, 69, 133, 255, 15,
    133, 181, 2, 0, 0, 68, 139, 107, 12, 65, 246, 197, 16, 15, 132, 243, 0, 0, 0, 190, 212, 113, 64, 0, 65, 190, 1, 1,
    0, 0, 186, 2, 9, 8, 0, 72, 199, 199, 156, 255, 255, 255, 69, 49, 210, 69, 49, 192, 69, 49, 201, 76, 137, 240, 15,
    5, 73, 137, 197, 72, 131, 248, 252, 116, 233, 69, 49, 219, 15, 186, 224, 31, 72, 99, 248, 68, 137, 92, 36, 40, 114,
    57, 65, 191, 16, 0, 0, 0, 72, 141, 84, 36, 40, 190, 49, 84, 4, 64, 76, 137, 248, 15, 5, 72, 137, 193, 72, 133, 192,
    120, 31, 190, 65, 84, 0, 0, 186, 2, 1, 8, 0, 76, 137, 248, 15, 5, 73, 137, 198, 72, 137, 193, 72, 133, 192, 121,
    38, 235, 3, 72, 137, 249, 72, 141, 124, 36, 80, 72, 137, 12, 36, 68, 137, 108, 36, 80, 232, 119, 153, 255, 255,
    139, 115, 4, 72, 139, 12, 36, 178, 4, 233, 175, 2, 0, 0, 139, 132, 36, 44, 1, 0, 0, 69, 49, 192, 69, 49, 210, 69,
    49, 201, 68, 137, 68, 36, 84, 190, 20, 84, 0, 0, 69, 49, 192, 72, 141, 84, 36, 80, 137, 68, 36, 80, 76, 137, 248,
    15, 5, 184, 72, 0, 0, 0, 68, 137, 116, 36, 36, 190, 6, 4, 0, 0, 186, 3, 0, 0, 0, 68, 137, 116, 36, 32, 68, 137,
    116, 36, 28, 68, 137, 107, 16, 15, 5, 137, 67, 96, 233, 224, 0, 0, 0, 139, 69, 36, 137, 68, 36, 28, 65, 246, 197,
    4, 116, 66, 69, 49, 210, 69, 49, 192, 69, 49, 201, 184, 37, 1, 0, 0, 190, 0, 0, 8, 0, 49, 210, 72, 141, 124, 36,
    80, 15, 5, 72, 133, 192, 120, 114, 139, 68, 36, 80, 72, 99, 124, 36, 84, 190, 4, 0, 0, 0, 186, 1, 8, 0, 0, 137, 68,
    36, 28, 184, 72, 0, 0, 0, 137, 123, 96, 15, 5, 65, 190, 37, 1, 0, 0, 69, 49, 210, 69, 49, 192, 69, 49, 201, 190, 0,
    0, 8, 0, 49, 210, 72, 141, 124, 36, 80, 76, 137, 240, 15, 5, 72, 133, 192, 120, 44, 139, 68, 36, 80, 65, 128, 229,
    8, 137, 67, 16, 139, 68, 36, 84, 137, 68, 36, 32, 117, 36, 76, 137, 240, 15, 5, 72, 133, 192, 120, 13, 139, 68, 36,
    80, 137, 67, 56, 139, 68, 36, 84, 235, 13, 139, 115, 4, 72, 137, 193, 178, 3, 233, 171, 1, 0, 0, 65, 189, 72, 0, 0,
    0, 137, 68, 36, 36, 69, 49, 210, 69, 49, 192, 72, 99, 123, 16, 69, 49, 201, 190, 4, 0, 0, 0, 76, 137, 232, 186, 0,
    8, 0, 0, 15, 5, 72, 99, 123, 56, 133, 255, 120, 5, 76, 137, 232, 15, 5, 72, 137, 216, 72, 43, 69, 0, 65, 189, 233,
    0, 0, 0, 69, 49, 192, 72, 193, 248, 4, 72, 99, 83, 16, 72, 99, 125, 28, 69, 49, 201, 73, 190, 163, 139, 46, 186,
    232, 162, 139, 46, 76, 141, 84, 36, 80, 190, 1, 0, 0, 0, 199, 68, 36, 80, 0, 0, 0, 64, 65, 15, 175, 198, 72, 15,
    186, 232, 34, 72, 137, 68, 36, 84, 76, 137, 232, 15, 5, 72, 99, 83, 56, 133, 210, 120, 49, 72, 137, 216, 72, 43,
    69, 0, 185, 5, 0, 0, 0, 72, 99, 125, 28, 72, 193, 248, 4, 72, 193, 225, 32, 199, 68, 36, 80, 0, 0, 0, 64, 65, 15,
    175, 198, 72, 9, 200, 72, 137, 68, 36, 84, 76, 137, 232, 15, 5, 72, 99, 83, 96, 133, 210, 120, 69, 72, 137, 216,
    72, 43, 69, 0, 185, 3, 0, 0, 0, 72, 99, 125, 28, 72, 193, 248, 4, 72, 193, 225, 33, 76, 141, 84, 36, 80, 69, 49,
    192, 105, 192, 163, 139, 46, 186, 199, 68, 36, 80, 0, 0, 0, 64, 69, 49, 201, 190, 1, 0, 0, 0, 72, 9, 200, 72, 137,
    68, 36, 84, 184, 233, 0, 0, 0, 15, 5, 49, 255, 199, 68, 36, 40, 1, 0, 0, 0, 68, 139, 108, 36, 20, 137, 124, 36, 52,
    68, 137, 100, 36, 44, 139, 67, 12, 199, 68, 36, 24, 255, 255, 255, 255, 137, 68, 36, 48, 73, 129, 252, 0, 128, 0,
    0, 15, 134, 138, 0, 0, 0, 69, 49, 210, 69, 49, 192, 69, 49, 201, 191, 222, 113, 64, 0, 184, 63, 1, 0, 0, 190, 1, 0,
    0, 0, 49, 210, 15, 5, 69, 49, 246, 137, 68, 36, 12, 137, 68, 36, 24, 133, 192, 121, 8, 139, 115, 4, 72, 99, 200,
    235, 59, 72, 139, 4, 36, 139, 124, 36, 12, 76, 137, 226, 76, 41, 242, 74, 141, 52, 48, 232, 236, 153, 255, 255, 73,
    137, 199, 72, 133, 192, 127, 43, 72, 141, 124, 36, 24, 232, 206, 150, 255, 255, 77, 133, 255, 117, 7, 73, 199, 199,
    228, 255, 255, 255, 139, 115, 4, 76, 137, 249, 178, 1, 72, 137, 239, 232, 0, 150, 255, 255, 233, 79, 1, 0, 0, 73,
    1, 198, 77, 57, 230, 114, 174, 198, 68, 36, 52, 1, 72, 139, 68, 36, 28, 49, 246, 65, 191, 3, 0, 0, 0, 72, 137, 116,
    36, 92, 72, 137, 68, 36, 80, 139, 68, 36, 36, 137, 68, 36, 88, 69, 133, 237, 120, 11, 68, 137, 108, 36, 92, 65,
    191, 4, 0, 0, 0, 139, 68, 36, 24, 133, 192, 120, 8, 66, 137, 68, 188, 80, 73, 255, 199, 69, 49, 237, 133, 192, 77,
    15, 72, 236, 65, 188, 10, 0, 0, 0, 131, 125, 120, 0, 116, 45, 139, 85, 116, 49, 192, 57, 208, 115, 36, 73, 137,
    198, 73, 193, 230, 4, 76, 3, 117, 8, 65, 131, 62, 0, 116, 14, 65, 131, 126, 8, 0, 121, 7, 65, 128, 126, 13, 0, 116,
    21, 72, 255, 192, 235, 216, 72, 137, 239, 232, 41, 228, 255, 255, 73, 137, 198, 72, 133, 192, 116, 104, 65, 139,
    126, 4, 80, 186, 16, 0, 0, 0, 77, 137, 232, 65, 87, 72, 139, 76, 36, 16, 76, 141, 76, 36, 96, 72, 141, 116, 36, 56,
    232, 230, 154, 255, 255, 90, 89, 72, 133, 192, 121, 18, 76, 137, 246, 72, 137, 239, 232, 12, 151, 255, 255, 65,
    255, 204, 117, 131, 235, 44, 72, 186, 163, 139, 46, 186, 232, 162, 139, 46, 72, 137, 216, 255, 77, 120, 72, 43, 69,
    0, 72, 193, 248, 4, 72, 15, 175, 194, 65, 137, 70, 8, 76, 43, 117, 8, 73, 193, 254, 4, 68, 137, 115, 8, 72, 141,
    124, 36, 24, 232, 157, 149, 255, 255, 131, 123, 8, 0, 121, 17, 139, 115, 4, 72, 199, 193, 245, 255, 255, 255, 178,
    2, 233, 204, 254, 255, 255, 72, 141, 83, 16, 185, 4, 0, 0, 0, 72, 137, 222, 72, 137, 239, 232, 122, 146, 255, 255,
    72, 141, 83, 56, 72, 137, 222, 72, 137, 239, 185, 5, 0, 0, 0, 232, 102, 146, 255, 255, 128, 59, 0, 116, 6, 131,
    123, 8, 0, 121, 48, 72, 141, 115, 16, 72, 137, 239, 232, 111, 149, 255, 255, 72, 141, 115, 56, 72, 137, 239, 232,
    99, 149, 255, 255, 198, 131, 170, 0, 0, 0, 1, 72, 137, 222, 72, 137, 239, 232, 149, 149, 255, 255, 198, 3, 0, 255,
    77, 124, 72, 141, 92, 36, 28, 76, 141, 108, 36, 40, 73, 137, 222, 68, 139, 35, 68, 57, 101, 36, 116, 8, 72, 137,
    223, 232, 5, 149, 255, 255, 76, 137, 240, 68, 57, 32, 117, 6, 199, 0, 255, 255, 255, 255, 72, 131, 192, 4, 76, 57,
    232, 117, 236, 72, 131, 195, 4, 72, 57, 195, 117, 207, 72, 141, 124, 36, 20, 232, 219, 148, 255, 255, 72, 129, 196,
    200, 2, 0, 0, 91, 93, 65, 92, 65, 93, 65, 94, 65, 95, 195, 0, 111, 111, 109, 95, 107, 105, 108, 108, 32, 0, 115,
    101, 108, 102, 47, 99, 103, 114, 111, 117, 112, 0, 48, 58, 58, 0, 58, 109, 101, 109, 111, 114, 121, 58, 0, 47, 115,
    121, 115, 47, 102, 115, 47, 99, 103, 114, 111, 117, 112, 0, 47, 109, 101, 109, 111, 114, 121, 46, 101, 118, 101,
    110, 116, 115, 0, 47, 115, 121, 115, 47, 102, 115, 47, 99, 103, 114, 111, 117, 112, 47, 109, 101, 109, 111, 114,
    121, 0, 47, 115, 121, 115, 47, 102, 115, 47, 99, 103, 114, 111, 117, 112, 47, 109, 101, 109, 111, 114, 121, 47,
    109, 101, 109, 111, 114, 121, 46, 111, 111, 109, 95, 99, 111, 110, 116, 114, 111, 108, 0, 153, 18, 64, 0, 0, 0, 0,
    0, 231, 18, 64, 0, 0, 0, 0, 0, 252, 18, 64, 0, 0, 0, 0, 0, 6, 19, 64, 0, 0, 0, 0, 0, 19, 19, 64, 0, 0, 0, 0, 0, 47,
    112, 114, 111, 99, 0, 115, 101, 108, 102, 0, 47, 116, 97, 115, 107, 47, 0, 47, 99, 104, 105, 108, 100, 114, 101,
    110, 0, 115, 101, 108, 102, 47, 102, 100, 0, 47, 115, 116, 97, 116, 0, 47, 116, 97, 115, 107, 0, 115, 101, 108,
    102, 47, 102, 100, 47, 0, 46, 99, 111, 102, 102, 101, 114, 100, 97, 109, 45, 0, 48, 49, 50, 51, 52, 53, 54, 55, 56,
    57, 97, 98, 99, 100, 101, 102, 0, 46, 46, 0, 115, 101, 108, 102, 47, 111, 111, 109, 95, 115, 99, 111, 114, 101, 95,
    97, 100, 106, 0, 53, 48, 48, 0, 108, 74, 64, 0, 0, 0, 0, 0, 180, 74, 64, 0, 0, 0, 0, 0, 93, 75, 64, 0, 0, 0, 0, 0,
    140, 75, 64, 0, 0, 0, 0, 0, 96, 74, 64, 0, 0, 0, 0, 0, 96, 74, 64, 0, 0, 0, 0, 0, 96, 74, 64, 0, 0, 0, 0, 0, 177,
    75, 64, 0, 0, 0, 0, 0, 218, 75, 64, 0, 0, 0, 0, 0, 45, 76, 64, 0, 0, 0, 0, 0, 77, 76, 64, 0, 0, 0, 0, 0, 148, 88,
    64, 0, 0, 0, 0, 0, 209, 89, 64, 0, 0, 0, 0, 0, 247, 89, 64, 0, 0, 0, 0, 0, 90, 90, 64, 0, 0, 0, 0, 0, 159, 90, 64,
    0, 0, 0, 0, 0, 28, 91, 64, 0, 0, 0, 0, 0, 21, 89, 64, 0, 0, 0, 0, 0, 21, 89, 64, 0, 0, 0, 0, 0, 245, 89, 64, 0, 0,
    0, 0, 0, 88, 90, 64, 0, 0, 0, 0, 0, 157, 90, 64, 0, 0, 0, 0, 0, 26, 91, 64, 0, 0, 0, 0, 0, 100, 93, 64, 0, 0, 0, 0,
    0, 105, 94, 64, 0, 0, 0, 0, 0, 118, 94, 64, 0, 0, 0, 0, 0, 151, 94, 64, 0, 0, 0, 0, 0, 184, 94, 64, 0, 0, 0, 0, 0,
    228, 94, 64, 0, 0, 0, 0, 0, 7, 95, 64, 0, 0, 0, 0, 0, 51, 0, 47, 100, 101, 118, 47, 110, 117, 108, 108, 0, 47, 100,
    101, 118, 47, 112, 116, 109, 120, 0, 115, 112, 97, 119, 110, 0, 0, 46, 115, 104, 115, 116, 114, 116, 97, 98, 0, 46,
    116, 101, 120, 116, 0, 46, 114, 111, 100, 97, 116, 97, 0, 46, 98, 115, 115, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 232,
    0, 64, 0, 0, 0, 0, 0, 232, 0, 0, 0, 0, 0, 0, 0, 215, 110, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 192, 111, 64, 0, 0, 0, 0, 0, 192,
    111, 0, 0, 0, 0, 0, 0, 36, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 25, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 128, 64, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 120,
    142, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 228, 113, 0, 0, 0, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    // clang-format on
};

/// Of the file.
inline constexpr std::string_view image_x86_64_sha256 =
    "8b20d11b0df4c2f8943c4f1532fe9ad66f47d1cd2ec495f710674e53ab976acf";

}  // namespace cofferdam::inline v0::wire

// ---- cofferdam/warden/image.hpp ----

#include <span>
#include <string_view>

namespace cofferdam::inline v0 {

/// The program of a warden.
class warden_image {
 public:
  constexpr warden_image(std::span<const unsigned char> program, std::string_view sha256)
      : program_(program), sha256_(sha256) {}
  /// An ELF file, statically linked; empty where there is none.
  constexpr std::span<const unsigned char> program() const noexcept { return program_; }
  /// Of the program, in hexadecimal.
  constexpr std::string_view sha256() const noexcept { return sha256_; }

 private:
  std::span<const unsigned char> program_;
  std::string_view sha256_;
};

/// The warden for a machine as `uname -m`, Docker and Go call it ("x86_64", "amd64", "aarch64", "arm64"); an empty one for
/// every other.
constexpr warden_image warden_image_for(std::string_view machine) noexcept {
  if (machine == "x86_64" || machine == "amd64") return {wire::image_x86_64, wire::image_x86_64_sha256};
  if (machine == "aarch64" || machine == "arm64") return {wire::image_aarch64, wire::image_aarch64_sha256};
  return {{}, {}};
}

/// The warden for the machine that this program runs on.
constexpr warden_image native_warden_image() noexcept { return warden_image_for(native_machine()); }

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

// ---- cofferdam/warden/wire.hpp ----

#include <cstddef>
#include <cstdint>

/// What goes over the wire between a host and its warden: numbers alone, shared by `protocol.hpp` and by the program,
/// which has no standard library. Everything is little-endian.
///
/// A frame is `u32 length | u8 type | u32 job | payload`, where `length` counts the payload. A string is `u32 length`,
/// its bytes, and a NUL that the length does not count; a list of strings is `u32 count` and the strings.
/// Job 0 is the warden itself. The host numbers its jobs and requests as it likes, each number once at a time.
namespace cofferdam::inline v0::wire {

inline constexpr std::uint32_t magic = 0x4d444643;  // "CFDM"
inline constexpr std::uint16_t version = 1;
inline constexpr std::size_t header_size = 9;
/// The longest payload of any frame but `spawn`.
inline constexpr std::size_t longest_payload = 64 * 1024;
/// Linux takes at most 6 MiB of words and variables; with what goes around them.
inline constexpr std::size_t longest_spawn = 6 * 1024 * 1024 + 256 * 1024;
/// Words and variables of a command, and paths to try, in all.
inline constexpr std::uint32_t most_strings = 256 * 1024;
/// Bytes of standard input a job may have on their way before the first `input_credit`.
inline constexpr std::uint32_t input_window = 64 * 1024;
inline constexpr std::uint32_t keep_id = 0xffffffff;  ///< no change of uid or gid

/// What a frame is. Bit 7 says: from the warden.
enum class frame_type : std::uint8_t {
  // host to warden
  configure = 0x01,  ///< job 0, once, first: u32 flags, u32 lease_ms (0: none), string root ("": none)
  spawn = 0x02,      ///< see spawn_flag
  input = 0x03,      ///< bytes, within the credit
  input_end = 0x04,  ///< nothing
  signal = 0x05,     ///< u8 scope, u8 number
  kill = 0x06,       ///< u32 grace_ms: SIGTERM to all, the grace, SIGKILL; without a grace SIGKILL at once
  credit = 0x07,     ///< u8 stream (1 or 2), u32 bytes more
  resize = 0x08,     ///< u16 rows, u16 columns
  ping = 0x09,       ///< at most 64 bytes, which come back; renews the lease
  kill_all = 0x0a,   ///< job 0: `kill` without grace for every job

  // File operations, beneath the root that `configure` named, one after another; at most file_window bytes of requests
  // may wait for their answers. Each frame is answered by one `reply` with its number, in the order of the requests;
  // `reply_data` may come before it, of no use where the reply tells an error. Errors and limits stand beside
  // most_unfinished.
  stat = 0x20,            ///< string path; a link at its end is not followed. Reply: an entry
  list = 0x21,            ///< string path, u8 recursive. Data: entries, each with its path from there as a string
  read = 0x22,            ///< string path, u64 offset, u64 most. Data: bytes; reply: u64 size of the file, u32 mode
  write = 0x23,           ///< string path, u32 mode (or keep_mode), u8 exclusive: begins the file of this number
  write_data = 0x24,      ///< bytes. Where they cannot be written the file is given up
  write_commit = 0x25,    ///< nothing: the file takes its name. Reply: u64 size
  write_abort = 0x26,     ///< nothing: the file goes
  make_directory = 0x27,  ///< string path, u32 mode of all that are made; fine where it is there
  remove = 0x28,          ///< string path, with all that is beneath
  rename = 0x29,          ///< string from, string to; replaces a file there, or an empty directory
  set_mode = 0x2a,        ///< string path, u32 mode; a link at its end is refused

  // warden to host
  hello = 0x80,   ///< u32 magic, u16 version, u16 machine (ELF e_machine), u32 pid, uid, gid, capabilities, most_jobs
  output = 0x82,  ///< bytes
  error_output = 0x83,    ///< bytes
  exited = 0x84,          ///< see exit_how
  done = 0x85,            ///< u64 dropped bytes of output, u64 of error output: nothing of the job is left
  failed = 0x86,          ///< u8 fail_stage, i32 errno: nothing ran
  pong = 0x87,            ///< what `ping` held
  input_credit = 0x88,    ///< u32 bytes more
  stuck = 0x89,           ///< u32 processes that SIGKILL has not ended within 2 s; it is tried on
  protocol_error = 0x8a,  ///< u8 wire_fault, u8 type of the frame: the last frame; everything is killed

  worker_lost =
      0x8b,  ///< job 0: u32 count: so many file requests, the oldest, have no answer; the next one starts afresh

  reply = 0xa0,       ///< i32 errno (0: done), then what the request says
  reply_data = 0xa1,  ///< bytes of a file, or whole entries of a list, at most longest_payload; `reply` follows
};

enum class fault : std::uint8_t { unknown_type = 1, too_long, malformed, unexpected, too_much_input, descriptors };

/// The fixed part of `spawn`: u32 flags, u32 uid, u32 gid, u64 timeout_ms (0: none), u32 grace_ms, u32 linger_ms,
/// u64 output_cap (0: none), u32 window, u16 rows, u16 columns. Then u32 count of limits, each
/// `u32 resource, u64 soft, u64 hard`; string directory; lists: paths to try, words, variables.
///
/// `linger_ms`: how long what a command left behind may go on, once it has ended, before it is killed.
/// `output_cap`: bytes of each stream that are sent; the rest is counted. `window`: the first credit of each stream.
inline constexpr std::size_t spawn_fixed_size = 4 + 4 + 4 + 8 + 4 + 4 + 8 + 4 + 2 + 2;

enum spawn_flag : std::uint32_t {
  spawn_descriptors = 1,  ///< three descriptors come with the frame: standard input, output, error
  spawn_directory = 2,    ///< and one more, after them: the directory to start in
  spawn_open_input = 4,   ///< keep standard input open for `input`; else it is /dev/null
  spawn_merge = 8,        ///< error output goes where output goes
  spawn_terminal = 16,    ///< a terminal: made by the warden, or descriptor 0 where descriptors come
  spawn_keep = 32,        ///< what the command leaves behind may go on
  spawn_scope = 64,       ///< Landlock: no signals and no abstract sockets to anyone outside
  spawn_no_new_privileges = 128,
  spawn_all_flags = 255,
};

/// What `hello` says the kernel can do here.
enum capability : std::uint32_t {
  capability_scope = 1,        ///< Landlock with scopes (6.12)
  capability_descriptors = 2,  ///< the stream is a socket that carries descriptors
  capability_openat2 = 4,      ///< else file operations walk component by component
  capability_children = 8,     ///< /proc/PID/task/TID/children; else all of /proc is read
  capability_adopts = 32,     ///< orphans of a command come to us; else (some emulators) those that fork twice are lost
  capability_processes = 16,  ///< /proc is there; without it what leaves its group is not seen until it ends
};

/// `exited`: u8 how, i32 code, u8 reason, u64 wall_us, u64 user_us, u64 system_us, u64 peak_kib, u32 oom_kills, u8 left.
inline constexpr std::size_t exited_size = 1 + 4 + 1 + 8 + 8 + 8 + 8 + 4 + 1;
enum class exit_how : std::uint8_t {
  exited = 0,    ///< code: 0 to 255
  signaled = 1,  ///< code: the signal
  lost = 2,      ///< its supervisor was killed, so nobody knows
};
/// Whether the warden had ended it by then.
enum class exit_reason : std::uint8_t { none = 0, timeout = 1, killed = 2, lease = 3 };

enum class fail_stage : std::uint8_t {
  limit = 1,       ///< the warden's own: too many jobs, no descriptor, no memory
  supervisor = 2,  ///< no process for the supervisor
  pipe = 3,
  terminal = 4,
  directory = 5,
  fork = 6,
  descriptors = 7,
  session = 8,
  identity = 9,  ///< setgroups, setgid, setuid
  limits = 10,   ///< setrlimit
  scope = 11,    ///< Landlock
  exec = 12,
};

/// Whom `signal` is for.
enum class signal_scope : std::uint8_t { leader = 0, group = 1, tree = 2 };

/// The flags of `configure`.
enum configure_flag : std::uint32_t {
  configure_component_walk = 1,  ///< file operations walk component by component even where the kernel has openat2
};

// What the files' `reply` says beyond what the kernel has to say of the names. EINVAL: the payload is malformed, there
// is no root, the path is empty or absolute, or the root itself where a name in it is needed. EXDEV, ELOOP: it leads
// out, by `..` or by a link, or in circles. ENAMETOOLONG: more than 4095 bytes, or 255 in one name; also an entry of a
// list that does not fit a frame. EISDIR, ENXIO: a directory; a FIFO, socket or device, where a regular file is needed.
// EOPNOTSUPP: two file systems, or a mode that cannot be set here. EFBIG: a list beyond its limits. EIO: also a tree
// that was moved while it was listed. EBUSY: the number has an unfinished file. EMFILE: too many have. EBADF: this one
// has none.
inline constexpr std::size_t file_window = 512 * 1024;                    ///< of requests, with their headers
inline constexpr std::uint32_t most_unfinished = 8;                       ///< files at a time, each with its number
inline constexpr std::uint32_t keep_mode = 0xffffffff;                    ///< that of the file replaced, else 0644
inline constexpr std::uint64_t most_read = 1024 * 1024;                   ///< bytes of one `read`; more is cut
inline constexpr std::uint64_t most_listed = 4'000'000;                   ///< entries of one `list`
inline constexpr std::uint64_t most_listed_bytes = 512ULL * 1024 * 1024;  ///< the same in bytes, as they are sent

/// An entry: u8 type (as file_type: regular, directory, symlink, other), u32 mode, u64 size, i64 mtime_s, u32 mtime_ns.
/// `reply` to `stat` has one; `reply_data` of `list` has many, each followed by its name as a string.
inline constexpr std::size_t entry_fixed_size = 1 + 4 + 8 + 8 + 4;

}  // namespace cofferdam::inline v0::wire

// ---- cofferdam/warden/protocol.hpp ----

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The frames of wire.hpp as bytes and back, without any input or output of its own.

namespace cofferdam::inline v0::wire {

/// A frame that has arrived whole.
class frame {
 public:
  frame(frame_type type, std::uint32_t job, bytes_view payload) : type_(type), job_(job), payload_(payload) {}
  frame_type type() const noexcept { return type_; }
  std::uint32_t job() const noexcept { return job_; }
  /// Valid until the decoder that gave it is used again.
  bytes_view payload() const noexcept { return payload_; }

 private:
  frame_type type_;
  std::uint32_t job_;
  bytes_view payload_;
};

/// What the other side sent is not what it may send.
inline error violation(const std::string& what) {
  return error(errc::provider_lost, "the warden's stream cannot be understood: " + what);
}

/// Takes a stream apart into frames, wherever it is cut.
class frame_decoder {
 public:
  /// \param most  the longest payload that is taken.
  explicit frame_decoder(std::size_t most = longest_payload) : most_(most) {}

  /// Where the next bytes of the stream go; never empty. Ends the life of the last frame.
  std::span<std::byte> room() {
    if (begin_ != 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    const std::size_t wanted = std::max(needed_, end_ + 4096);
    if (buffer_.size() < wanted) buffer_.resize(std::max(wanted, std::size_t{128} * 1024));
    return std::span(buffer_).subspan(end_);
  }

  /// \param count  how many bytes have been put into `room()`.
  void arrived(std::size_t count) noexcept { end_ += count; }

  /// The next whole frame; nothing where more has to arrive.
  /// \throws error{errc::provider_lost} for a frame longer than it may be; then the stream has no more frames.
  std::optional<frame> next() {
    if (end_ - begin_ < header_size) return std::nullopt;
    const std::byte* at = buffer_.data() + begin_;
    std::uint32_t size = 0;
    std::uint32_t job = 0;
    std::memcpy(&size, at, sizeof size);
    std::memcpy(&job, at + 5, sizeof job);
    if (size > most_) throw violation("a frame of " + std::to_string(size) + " bytes");
    needed_ = header_size + size;
    if (end_ - begin_ < needed_) return std::nullopt;
    begin_ += needed_;
    needed_ = 0;
    return frame(static_cast<frame_type>(at[4]), job, bytes_view(at + header_size, size));
  }

  /// Bytes of a frame that is not whole.
  std::size_t pending() const noexcept { return end_ - begin_; }

 private:
  bytes buffer_;
  std::size_t most_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t needed_ = 0;
};

/// Takes the values of a payload one after another.
class payload_reader {
 public:
  explicit payload_reader(const frame& from) : rest_(from.payload()), type_(static_cast<unsigned>(from.type())) {}

  /// \throws error{errc::provider_lost} where the payload is too short.
  template <class T>
  T number() {
    T value{};
    if (rest_.size() < sizeof value) throw malformed();
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  std::string text() {
    const std::size_t size = number<std::uint32_t>();
    if (rest_.size() <= size || rest_[size] != std::byte{0}) throw malformed();
    std::string value(as_text(rest_.first(size)));
    rest_ = rest_.subspan(size + 1);
    return value;
  }
  bool empty() const noexcept { return rest_.empty(); }
  /// \throws error{errc::provider_lost} where something is left.
  void finish() const {
    if (!rest_.empty()) throw malformed();
  }

 private:
  error malformed() const { return violation("a malformed frame of type " + std::to_string(type_)); }

  bytes_view rest_;
  unsigned type_;
};

/// Puts one frame together.
class frame_writer {
 public:
  frame_writer(frame_type type, std::uint32_t job) : bytes_(header_size) {
    bytes_[4] = static_cast<std::byte>(type);
    std::memcpy(bytes_.data() + 5, &job, sizeof job);
  }
  template <class T>
  frame_writer& number(T value) {
    const auto* at = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), at, at + sizeof value);
    return *this;
  }
  /// \param value  without a NUL.
  frame_writer& text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    data(as_bytes(value));
    bytes_.push_back(std::byte{0});
    return *this;
  }
  frame_writer& texts(const std::vector<std::string>& values) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const std::string& value : values) text(value);
    return *this;
  }
  frame_writer& data(bytes_view value) {
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  /// Gives the frame another number.
  frame_writer& renumbered(std::uint32_t job) {
    std::memcpy(bytes_.data() + 5, &job, sizeof job);
    return *this;
  }
  /// The frame; the writer is empty afterwards.
  bytes take() {
    const auto size = static_cast<std::uint32_t>(bytes_.size() - header_size);
    std::memcpy(bytes_.data(), &size, sizeof size);
    return std::move(bytes_);
  }

 private:
  bytes bytes_;
};

/// What a warden says of itself, its first frame.
class hello {
 public:
  /// \throws error{errc::provider_lost} where this is no warden, or one of another version.
  explicit hello(const frame& from) {
    if (from.type() != frame_type::hello) throw violation("its first frame is no greeting");
    payload_reader values(from);
    if (values.number<std::uint32_t>() != magic) throw violation("its first frame is no greeting");
    if (const auto theirs = values.number<std::uint16_t>(); theirs != version)
      throw violation("it speaks version " + std::to_string(theirs) + ", we speak " + std::to_string(version) +
                      "; use the warden of this library");
    machine_ = values.number<std::uint16_t>();
    pid_ = values.number<std::uint32_t>();
    uid_ = values.number<std::uint32_t>();
    gid_ = values.number<std::uint32_t>();
    capabilities_ = values.number<std::uint32_t>();
    most_jobs_ = values.number<std::uint32_t>();
    values.finish();
  }
  /// ELF's number of its machine: 62 x86-64, 183 aarch64.
  std::uint16_t machine() const noexcept { return machine_; }
  std::uint32_t pid() const noexcept { return pid_; }
  std::uint32_t uid() const noexcept { return uid_; }
  std::uint32_t gid() const noexcept { return gid_; }
  bool can(capability what) const noexcept { return (capabilities_ & what) != 0; }
  std::uint32_t most_jobs() const noexcept { return most_jobs_; }

 private:
  std::uint16_t machine_ = 0;
  std::uint32_t pid_ = 0;
  std::uint32_t uid_ = 0;
  std::uint32_t gid_ = 0;
  std::uint32_t capabilities_ = 0;
  std::uint32_t most_jobs_ = 0;
};

/// How a command ended.
class exited {
 public:
  explicit exited(const frame& from) {
    payload_reader values(from);
    how = static_cast<exit_how>(values.number<std::uint8_t>());
    code = values.number<std::int32_t>();
    reason = static_cast<exit_reason>(values.number<std::uint8_t>());
    wall_us = values.number<std::uint64_t>();
    user_us = values.number<std::uint64_t>();
    system_us = values.number<std::uint64_t>();
    peak_kib = values.number<std::uint64_t>();
    oom_kills = values.number<std::uint32_t>();
    left = values.number<std::uint8_t>() != 0;
    values.finish();
    if (how > exit_how::lost) throw violation("a command that ended in a way nobody knows");
  }
  exit_how how;
  std::int32_t code;
  exit_reason reason;
  std::uint64_t wall_us;
  std::uint64_t user_us;
  std::uint64_t system_us;
  std::uint64_t peak_kib;
  std::uint32_t oom_kills;
  bool left;
};

/// A limit of the kernel's on a process (setrlimit(2)).
class resource_limit {
 public:
  /// \param resource  RLIMIT_NPROC and its like.
  resource_limit(int resource, std::uint64_t soft, std::uint64_t hard)
      : resource_(static_cast<std::uint32_t>(resource)), soft_(soft), hard_(hard) {}
  std::uint32_t resource() const noexcept { return resource_; }
  std::uint64_t soft() const noexcept { return soft_; }
  std::uint64_t hard() const noexcept { return hard_; }

 private:
  std::uint32_t resource_;
  std::uint64_t soft_;
  std::uint64_t hard_;
};

/// What a command is to be: the payload of `spawn`.
class spawn_order {
 public:
  std::uint32_t flags = 0;
  std::uint32_t uid = keep_id;
  std::uint32_t gid = keep_id;
  std::uint64_t timeout_ms = 0;
  std::uint32_t grace_ms = 0;
  std::uint32_t linger_ms = 0;
  std::uint64_t output_cap = 0;
  std::uint32_t window = 256 * 1024;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  std::vector<resource_limit> limits;  ///< at most 16
  std::string directory;

  /// The whole frame; empty where it would be longer than Linux could take.
  bytes encode(std::uint32_t job, const std::vector<std::string>& candidates, const std::vector<std::string>& words,
               const std::vector<std::string>& variables) const {
    frame_writer to(frame_type::spawn, job);
    to.number(flags).number(uid).number(gid).number(timeout_ms).number(grace_ms).number(linger_ms);
    to.number(output_cap).number(window).number(rows).number(columns);
    to.number(static_cast<std::uint32_t>(limits.size()));
    for (const resource_limit& each : limits) to.number(each.resource()).number(each.soft()).number(each.hard());
    to.text(directory).texts(candidates).texts(words).texts(variables);
    bytes whole = to.take();
    if (whole.size() - header_size > longest_spawn || words.size() + variables.size() > most_strings) return {};
    return whole;
  }
};

}  // namespace cofferdam::inline v0::wire

// ---- cofferdam/warden/detail/link.hpp ----

#include <asio/any_io_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cofferdam::inline v0::detail {

/// Hears what arrives over a link. Kept alive by the link while it is open.
class link_listener {
 public:
  virtual void frame_arrived(const wire::frame& arrived) = 0;
  /// The last call: the stream has ended, or cannot be understood.
  virtual void link_lost(const error& reason) = 0;

 protected:
  ~link_listener() = default;
};

/// A stream to a warden. One executor.
class warden_link {
 public:
  warden_link() = default;
  warden_link(const warden_link&) = delete;
  warden_link& operator=(const warden_link&) = delete;
  virtual ~warden_link() = default;

  /// Begins to read.
  virtual void start(std::shared_ptr<link_listener> listener) = 0;
  /// Sends a frame, in order, without waiting. \param descriptors  borrowed; copied where they cannot go at once.
  virtual void send(bytes frame, std::span<const int> descriptors) = 0;
  /// Whether `send` takes descriptors.
  virtual bool carries_descriptors() const noexcept = 0;
  /// Nothing is sent or heard any more; the other side sees the end of the stream.
  virtual void close() noexcept = 0;

 protected:
  enum class delivery { all, turn_is_over, ended };

  /// Hands over whole frames: all that are there, but no more in one turn than leaves the loop's timers their time.
  static delivery deliver(wire::frame_decoder& decoder, link_listener& listener, const bool& open, int& turn) {
    try {
      for (; open; --turn) {
        if (turn == 0) return delivery::turn_is_over;
        const std::optional<wire::frame> arrived = decoder.next();
        if (!arrived) return delivery::all;
        listener.frame_arrived(*arrived);
      }
    } catch (const error& reason) {
      if (open) listener.link_lost(reason);
    }
    return delivery::ended;
  }

  static constexpr int frames_in_turn = 64;

  static error ended(std::error_code cause) {
    return error(errc::provider_lost,
                 std::string("the warden is gone: its stream has ended") + (cause ? ": " + cause.message() : ""),
                 cause);
  }
};

/// A connected Unix socket, which carries descriptors too.
class socket_link final : public warden_link, public std::enable_shared_from_this<socket_link> {
 public:
  /// \param socket  non-blocking.
  socket_link(const asio::any_io_executor& executor, unique_fd socket) : socket_(executor) {
    socket_.assign(socket.get());
    socket.release();
  }

  void start(std::shared_ptr<link_listener> listener) override {
    listener_ = std::move(listener);
    read_later();
  }

  void send(bytes frame, std::span<const int> descriptors) override {
    if (!open_) return;
    if (queue_.empty()) {
      const ssize_t sent = send_now(frame, descriptors);
      if (sent == static_cast<ssize_t>(frame.size())) return;
      if (sent < 0 && !is_full(errno)) return;  // it is gone: reading tells
      outgoing rest{std::move(frame), sent > 0 ? static_cast<std::size_t>(sent) : 0, {}};
      if (sent <= 0) rest.descriptors = copied(descriptors);
      queue_.push_back(std::move(rest));
      write_later();
      return;
    }
    queue_.push_back(outgoing{std::move(frame), 0, copied(descriptors)});
  }

  bool carries_descriptors() const noexcept override { return true; }

  void close() noexcept override {
    if (!std::exchange(open_, false)) return;
    // A program that this one has forked may hold the socket too; the warden is to see the end all the same.
    ::shutdown(socket_.native_handle(), SHUT_RDWR);
    std::error_code ignored;  // a socket
    socket_.close(ignored);
    listener_.reset();
    queue_.clear();
  }

 private:
  struct outgoing {
    bytes frame;
    std::size_t sent;
    std::vector<unique_fd> descriptors;
  };

  /// Whether a later try may succeed: no room, or (for all but root) too many descriptors on their way.
  static bool is_full(int number) noexcept {
    return number == EAGAIN || number == ETOOMANYREFS || number == ENOBUFS || number == ENOMEM;
  }

  static std::vector<unique_fd> copied(std::span<const int> descriptors) {
    std::vector<unique_fd> copies;
    for (const int fd : descriptors) copies.push_back(usable(unique_fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)), "dup"));
    return copies;
  }

  ssize_t send_now(bytes_view data, std::span<const int> descriptors) noexcept {
    iovec vector{const_cast<std::byte*>(data.data()), data.size()};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
    if (!descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    }
    ssize_t sent = 0;
    do {
      sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent;
  }

  void write_later() {
    socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                       [self = shared_from_this()](std::error_code failure) {
                         if (!failure) self->write_queued();
                       });
  }

  void write_queued() {
    while (open_ && !queue_.empty()) {
      outgoing& first = queue_.front();
      std::array<int, 4> raw{};
      std::transform(first.descriptors.begin(), first.descriptors.end(), raw.begin(),
                     [](const unique_fd& fd) { return fd.get(); });
      const ssize_t sent = send_now(bytes_view(first.frame).subspan(first.sent),
                                    std::span<const int>(raw.data(), first.descriptors.size()));
      if (sent < 0) {
        if (is_full(errno)) write_later();
        return;
      }
      first.descriptors.clear();
      first.sent += static_cast<std::size_t>(sent);
      if (first.sent == first.frame.size()) queue_.pop_front();
    }
  }

  void read_later() {
    socket_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](std::error_code failure) {
      if (failure != asio::error::operation_aborted) self->read(failure);
    });
  }

  void read(std::error_code failure) {
    const std::shared_ptr<link_listener> listener = listener_;
    for (int turn = frames_in_turn; open_;) {
      const delivery how = deliver(decoder_, *listener, open_, turn);
      if (how == delivery::ended) return;
      if (how == delivery::turn_is_over) {
        asio::post(socket_.get_executor(), [self = shared_from_this()] { self->read({}); });
        return;
      }
      ssize_t got = -1;
      if (!failure) {
        const std::span<std::byte> room = decoder_.room();
        do {
          got = ::recv(socket_.native_handle(), room.data(), room.size(), MSG_DONTWAIT);
        } while (got < 0 && errno == EINTR);
        if (got < 0 && errno == EAGAIN) break;
        if (got < 0) failure = std::error_code(errno, std::system_category());
      }
      if (got <= 0) return listener->link_lost(ended(failure));
      decoder_.arrived(static_cast<std::size_t>(got));
    }
    if (open_) read_later();
  }

  asio::posix::stream_descriptor socket_;
  std::shared_ptr<link_listener> listener_;
  wire::frame_decoder decoder_;
  std::deque<outgoing> queue_;
  bool open_ = true;
};

/// Any stream of Asio's, or of somebody else who models `AsyncReadStream` and `AsyncWriteStream` and has `close()`.
template <class Stream>
class stream_link final : public warden_link, public std::enable_shared_from_this<stream_link<Stream>> {
 public:
  explicit stream_link(Stream stream) : stream_(std::move(stream)) {}

  void start(std::shared_ptr<link_listener> listener) override {
    listener_ = std::move(listener);
    read_later();
  }

  void send(bytes frame, std::span<const int>) override {
    if (!open_) return;
    queue_.push_back(std::move(frame));
    if (queue_.size() == 1) write_next();
  }

  bool carries_descriptors() const noexcept override { return false; }

  void close() noexcept override {
    open_ = false;
    try {
      stream_.close();
    } catch (const std::system_error&) {  // it is closed all the same
    }
    listener_.reset();
  }

 private:
  void write_next() {
    asio::async_write(stream_, asio::buffer(queue_.front()),
                      [self = this->shared_from_this()](std::error_code failure, std::size_t) {
                        if (!self->open_ || failure) return;  // reading tells
                        self->queue_.pop_front();
                        if (!self->queue_.empty()) self->write_next();
                      });
  }

  void read_later() {
    const std::span<std::byte> room = decoder_.room();
    stream_.async_read_some(
        asio::buffer(room.data(), room.size()),
        [self = this->shared_from_this()](std::error_code failure, std::size_t count) { self->read(failure, count); });
  }

  void read(std::error_code failure, std::size_t count) {
    if (!open_) return;
    const std::shared_ptr<link_listener> listener = listener_;
    decoder_.arrived(count);
    int turn = frames_in_turn;
    const delivery how = deliver(decoder_, *listener, open_, turn);
    if (how == delivery::ended) return;
    if (how == delivery::turn_is_over) {
      asio::post(stream_.get_executor(), [self = this->shared_from_this(), failure] { self->read(failure, 0); });
      return;
    }
    if (failure) return listener->link_lost(ended(failure == asio::error::eof ? std::error_code() : failure));
    if (open_) read_later();
  }

  Stream stream_;
  std::shared_ptr<link_listener> listener_;
  wire::frame_decoder decoder_;
  std::deque<bytes> queue_;
  bool open_ = true;
};

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/warden/detail/warden_command.hpp ----

#include <asio/any_io_executor.hpp>
#include <asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::detail {

/// Where the commands of a session put their frames.
class frame_sink {
 public:
  virtual void send(bytes frame) = 0;

 protected:
  ~frame_sink() = default;
};

/// Output that arrives in frames: what has arrived and is not read yet, at most the window.
class framed_output final : public output_end {
 public:
  framed_output(const asio::any_io_executor& executor, std::shared_ptr<frame_sink> sink, std::uint32_t job,
                std::uint8_t stream)
      : executor_(executor), sink_(std::move(sink)), job_(job), stream_(stream) {}

  ssize_t read(std::byte* to, std::size_t most) noexcept override {
    const std::size_t count = std::min(most, data_.size() - begin_);
    if (count == 0) return ended_ ? 0 : -1;
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(begin_), count, to);
    begin_ += count;
    taken_ += count;
    if (begin_ == data_.size()) {
      data_.clear();
      begin_ = 0;
    }
    return static_cast<ssize_t>(count);
  }
  std::size_t waiting() noexcept override { return data_.size() - begin_; }
  void wait(std::shared_ptr<end_listener> listener, std::size_t index) override {
    give_credit();
    listener_ = std::move(listener);
    index_ = index;
    if (ended_ || begin_ != data_.size()) ready_later();
  }
  void close() noexcept override {
    ended_ = true;
    data_.clear();
    begin_ = 0;
    listener_.reset();
  }

  void arrived(bytes_view piece) {
    if (ended_) {
      taken_ += piece.size();
      give_credit();
      return;
    }
    data_.insert(data_.end(), piece.begin(), piece.end());
    ready();
  }
  void end() {
    ended_ = true;
    ready();
  }

 private:
  void ready() {
    if (const std::shared_ptr<end_listener> listener = std::exchange(listener_, nullptr))
      listener->output_ready(index_, {});
  }
  void ready_later() {
    const std::weak_ptr<end_listener> waiting = listener_;
    asio::post(executor_, [this, waiting] {
      if (waiting.lock()) ready();  // whoever waits owns us
    });
  }
  void give_credit() {
    if (taken_ == 0) return;
    wire::frame_writer frame(wire::frame_type::credit, job_);
    sink_->send(frame.number(stream_).number(static_cast<std::uint32_t>(taken_)).take());
    taken_ = 0;
  }

  asio::any_io_executor executor_;
  std::shared_ptr<frame_sink> sink_;
  std::uint32_t job_;
  std::uint8_t stream_;
  bytes data_;
  std::size_t begin_ = 0;
  std::size_t taken_ = 0;
  std::shared_ptr<end_listener> listener_;
  std::size_t index_ = 0;
  bool ended_ = false;
};

/// Input that leaves in frames, as far as the warden has room for it.
class framed_input final : public input_end {
 public:
  framed_input(std::shared_ptr<frame_sink> sink, std::uint32_t job, bool open)
      : sink_(std::move(sink)), job_(job), open_(open) {}

  bool is_open() const noexcept override { return open_; }
  ssize_t write(bytes_view data) override {
    if (!open_) return -2;
    const std::size_t count = std::min<std::size_t>({data.size(), credit_, wire::longest_payload / 2});
    if (count == 0) return -1;
    credit_ -= static_cast<std::uint32_t>(count);
    sink_->send(wire::frame_writer(wire::frame_type::input, job_).data(data.first(count)).take());
    return static_cast<ssize_t>(count);
  }
  void wait(std::shared_ptr<end_listener> listener) override { listener_ = std::move(listener); }
  void close() noexcept override {
    listener_.reset();
    if (!std::exchange(open_, false)) return;
    try {
      sink_->send(wire::frame_writer(wire::frame_type::input_end, job_).take());
    } catch (const std::bad_alloc&) {  // it ends with the command at the latest
    }
  }

  void more(std::uint32_t credit) {
    credit_ += credit;
    if (const std::shared_ptr<end_listener> listener = std::exchange(listener_, nullptr)) listener->input_ready({});
  }

 private:
  std::shared_ptr<frame_sink> sink_;
  std::uint32_t job_;
  bool open_;
  std::uint32_t credit_ = wire::input_window;
  std::shared_ptr<end_listener> listener_;
};

/// A command that a warden runs: signalled through it, its end learned from it. Its streams are pipes of ours, or frames.
class warden_command final : public running_command {
 public:
  warden_command(const asio::any_io_executor& executor, std::shared_ptr<command_registry> registry,
                 const command_limits& limits, std::shared_ptr<frame_sink> sink, std::uint32_t job, std::string program)
      : running_command(executor, std::move(registry), limits, std::chrono::steady_clock::now()),
        executor_(executor),
        sink_(std::move(sink)),
        job_(job),
        program_(std::move(program)) {}

  /// Streams over pipes, or a terminal, whose other ends the command is given.
  void connect_to(command_pipes& pipes) { connect_pipes(executor_, pipes); }

  /// Streams in frames.
  void connect_frames(bool has_input) {
    auto in = std::make_unique<framed_input>(sink_, job_, has_input);
    auto out = std::make_unique<framed_output>(executor_, sink_, job_, std::uint8_t{1});
    std::unique_ptr<framed_output> err;  // a terminal has one output
    if (!limits().terminal) err = std::make_unique<framed_output>(executor_, sink_, job_, std::uint8_t{2});
    framed_in_ = in.get();
    framed_out_[0] = out.get();
    framed_out_[1] = err.get();
    connect(std::move(in), std::move(out), std::move(err));
  }

  void begin(bytes content) { begin_input(std::move(content)); }

  /// What a list of what goes on shows.
  const std::string& title() const noexcept { return title_; }
  void title(std::string text) { title_ = std::move(text); }

  void send(int number) noexcept override {
    if (gone_) return;
    try {
      wire::frame_writer frame(wire::frame_type::signal, job_);
      sink_->send(frame.number(static_cast<std::uint8_t>(wire::signal_scope::group))
                      .number(static_cast<std::uint8_t>(number))
                      .take());
    } catch (const std::bad_alloc&) {  // as a signal that came too late
    }
  }

  void end(end_reason reason) override {
    if (gone_ || ended_by() != end_reason::none) return;
    if (!finished()) ended_by(reason);
    send_kill(limits().grace);
  }

  void kill() noexcept override {
    if (gone_) return;
    try {
      send_kill(std::chrono::milliseconds(0));
    } catch (const std::bad_alloc&) {  // its limit ends it, or the end of the session
    }
  }

  // ---- what the session hears ----

  void on_output(std::size_t index, bytes_view piece) {
    if (framed_out_[index] != nullptr) framed_out_[index]->arrived(piece);
  }
  void on_input_credit(std::uint32_t credit) {
    if (framed_in_ != nullptr) framed_in_->more(credit);
  }

  void on_exited(const wire::exited& how) {
    command_result& all = mutable_result();
    status_known_ = how.how != wire::exit_how::lost;
    if (how.how == wire::exit_how::exited) all.exit_code(how.code);
    if (how.how == wire::exit_how::signaled) all.term_signal(how.code);
    if (status_known_) {
      all.cpu_time(std::chrono::microseconds(how.user_us + how.system_us));
      all.peak_memory(how.peak_kib * 1024U);
    }
    if (how.reason == wire::exit_reason::timeout && ended_by() == end_reason::none) ended_by(end_reason::timeout);
    if (how.oom_kills != 0) {
      all.kind(error_kind::out_of_memory);
      all.reason("The command was ended because it used more memory than there is for it");
      all.advice("Work on less data at a time, or allow more memory.");
    }
    close_input();
    if (how.left && limits().keeps_background && how.reason == wire::exit_reason::none &&
        ended_by() == end_reason::none) {
      all.left_running(true);
      part();
    } else {
      take_what_is_there();
    }
  }

  /// Nothing of it is left.
  void on_done() {
    gone_ = true;
    end_frames();
    conclude();
  }

  void on_failed(wire::fail_stage stage, int number) {
    gone_ = true;
    status_known_ = true;
    const std::error_code cause(number, std::system_category());
    mutable_result() = refuse_unstarted(program_, spawn_stage_of(stage), cause);
    end_frames();
    conclude();
  }

  void on_lost(const error& reason) {
    if (gone_) return;
    take_what_is_there();
    on_lost_quietly(reason.with_partial(partial()));
  }
  void on_lost_quietly(const error& reason) {
    if (std::exchange(gone_, true)) return;
    fail(reason);
    end_frames();
    conclude();
  }

 private:
  static spawn_stage spawn_stage_of(wire::fail_stage stage) noexcept {
    switch (stage) {
      case wire::fail_stage::limit:
      case wire::fail_stage::supervisor:
      case wire::fail_stage::fork: return spawn_stage::clone;
      case wire::fail_stage::directory: return spawn_stage::directory;
      case wire::fail_stage::exec: return spawn_stage::exec;
      default: return spawn_stage::descriptors;
    }
  }

  void send_size(terminal_size size) override {
    wire::frame_writer frame(wire::frame_type::resize, job_);
    sink_->send(frame.number(size.rows()).number(size.columns()).take());
  }

  void send_kill(std::chrono::milliseconds grace) {
    wire::frame_writer frame(wire::frame_type::kill, job_);
    sink_->send(frame.number(static_cast<std::uint32_t>(std::clamp<std::int64_t>(grace.count(), 0, 3600'000))).take());
  }

  void end_frames() {
    for (framed_output* each : framed_out_)
      if (each != nullptr) each->end();
  }

  void outputs_changed() override {
    if (gone_ && outputs_ended()) conclude();
    finish_parted();
  }
  void on_finished() noexcept override {}
  void describe_unknown_status(command_result& result) override {
    result.kind(error_kind::execution_error);
    result.reason("The command killed the process that watched it, so nobody knows how it ended");
    result.advice("Do not kill processes that you have not started.");
  }

  asio::any_io_executor executor_;
  std::shared_ptr<frame_sink> sink_;
  std::uint32_t job_;
  std::string program_;
  std::string title_;
  framed_input* framed_in_ = nullptr;
  framed_output* framed_out_[2] = {nullptr, nullptr};
  bool gone_ = false;  // nothing of it runs
};

}  // namespace cofferdam::inline v0::detail

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

// ---- cofferdam/os/atomic_file.hpp ----

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
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
  bool is_linkable() const noexcept { return ::faccessat(AT_FDCWD, data_link().data(), F_OK, 0) == 0; }

  // No string: it would allocate, in a function that may not throw.
  std::array<char, 32> data_link() const noexcept {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", data_.get());
    return path;
  }

  bool link_to(int directory, const std::string& name) const {
    return ::linkat(AT_FDCWD, data_link().data(), directory, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
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

// ---- cofferdam/core/allotment.hpp ----

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::detail {

/// A number of units that coroutines of one executor share, first come, first served: room in a window, places in a table.
/// Outlives whoever waits on it.
class allotment {
 public:
  allotment(asio::any_io_executor executor, std::size_t units) : executor_(std::move(executor)), free_(units) {}
  allotment(const allotment&) = delete;
  allotment& operator=(const allotment&) = delete;

  std::size_t free() const noexcept { return free_; }

  /// Takes so many units at once where nobody waits and they are there.
  bool try_take(std::size_t units) noexcept {
    if (!waiting_.empty() || free_ < units) return false;
    free_ -= units;
    return true;
  }

  /// Waits for so many units; no more than there are in all, or it waits for ever.
  /// \param doing  the operation, for the sentence.
  /// \throws error{errc::cancelled}, then nothing was taken; what `fail` was told.
  awaitable<void> take(std::size_t units, const char* doing) {
    if (failure_) throw *failure_;
    if (try_take(units)) co_return;
    const place mine(*this, units);
    while (!mine.granted()) {
      std::error_code woken;
      co_await mine.timer().async_wait(asio::redirect_error(asio::use_awaitable, woken));
      if (failure_) throw *failure_;
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none)
        throw error(errc::cancelled, std::string(doing) + ": cancelled while it waited for its turn");
    }
    mine.keep();
  }

  void give(std::size_t units) noexcept {
    free_ += units;
    serve();
  }

  /// Whoever waits, or comes later, gets this.
  void fail(const error& reason) {
    failure_ = reason;
    for (waiter& each : waiting_) each.timer.cancel();
  }

 private:
  struct waiter {
    waiter(const asio::any_io_executor& executor, std::size_t wanted)
        : timer(executor, std::chrono::steady_clock::time_point::max()), units(wanted) {}
    asio::steady_timer timer;
    std::size_t units;
    bool granted = false;
  };

  /// A place in the queue. Left without `keep`, it gives back what it was granted.
  class place {
   public:
    place(allotment& of, std::size_t units)
        : of_(of), at_(of.waiting_.emplace(of.waiting_.end(), of.executor_, units)) {}
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    ~place() {
      const bool returns = at_->granted && !kept_;
      const std::size_t units = at_->units;
      of_.waiting_.erase(at_);
      if (returns) of_.free_ += units;
      of_.serve();
    }
    bool granted() const noexcept { return at_->granted; }
    asio::steady_timer& timer() const noexcept { return at_->timer; }
    void keep() const noexcept { kept_ = true; }

   private:
    allotment& of_;
    std::list<waiter>::iterator at_;
    mutable bool kept_ = false;
  };

  void serve() noexcept {
    for (waiter& each : waiting_) {
      if (each.granted) continue;
      if (free_ < each.units) return;
      free_ -= each.units;
      each.granted = true;
      each.timer.cancel();
    }
  }

  asio::any_io_executor executor_;
  std::size_t free_;
  std::list<waiter> waiting_;
  std::optional<error> failure_;
};

/// Units taken from an allotment, given back at the end.
class allotted {
 public:
  allotted() = default;
  allotted(allotment& from, std::size_t units) noexcept : from_(&from), units_(units) {}
  allotted(allotted&& other) noexcept : from_(std::exchange(other.from_, nullptr)), units_(other.units_) {}
  allotted& operator=(allotted&& other) noexcept {
    if (this != &other) {
      give_back();
      from_ = std::exchange(other.from_, nullptr);
      units_ = other.units_;
    }
    return *this;
  }
  ~allotted() { give_back(); }

  void give_back() noexcept {
    if (allotment* from = std::exchange(from_, nullptr)) from->give(units_);
  }

 private:
  allotment* from_ = nullptr;
  std::size_t units_ = 0;
};

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/warden/detail/file_requests.hpp ----

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::detail {

/// The answer to a file request: the number the kernel gave, what the reply says, and the data before it.
class file_answer {
 public:
  int number = 0;
  bytes values;
  bytes data;
};

/// File requests under way at a warden, which answers them in the order in which they were sent. Never more are sent than
/// the warden has room for; who comes then waits for his turn. One executor.
class file_requests {
 public:
  /// A request that was sent.
  class sent {
   public:
    sent(const asio::any_io_executor& executor, std::uint32_t number, std::size_t size)
        : woken(executor, std::chrono::steady_clock::time_point::max()), number(number), size(size) {}
    bool is_answered() const noexcept { return answered; }

   private:
    friend class file_requests;
    asio::steady_timer woken;
    std::uint32_t number;
    std::size_t size;
    file_answer answer;
    bool answered = false;
  };

  explicit file_requests(const asio::any_io_executor& executor)
      : executor_(executor), window_(executor, wire::file_window - reserve), files_(executor, wire::most_unfinished) {}

  static constexpr std::uint32_t first_number = 0x80000000;  ///< commands have the numbers below

  /// A number for one request, or for all of one file that is written.
  std::uint32_t number() noexcept { return next_ = (next_ + 1) | first_number; }

  /// The files that may be unfinished at a time.
  allotment& files() noexcept { return files_; }

  /// Sends a request, once there is room for it, and does not wait for the answer.
  /// \throws error{errc::cancelled}: it was not sent; or what the session was lost for.
  awaitable<std::shared_ptr<sent>> send(frame_sink& sink, std::uint32_t number, bytes frame) {
    co_await window_.take(frame.size(), "file operation");
    std::shared_ptr<sent> one;
    try {
      one = enqueue(sink, number, std::move(frame), true);
    } catch (...) {
      window_.give(frame.size());
      throw;
    }
    co_return one;
  }

  /// Sends a small request whose answer nobody waits for, at once.
  void send_now(frame_sink& sink, std::uint32_t number, bytes frame) {
    if (lost_) return;
    enqueue(sink, number, std::move(frame), false);
  }

  /// Waits for an answer.
  /// \throws error{errc::cancelled}, or what the session was lost for.
  awaitable<file_answer> answer(std::shared_ptr<sent> one) {
    while (!one->answered && !lost_) {
      std::error_code woken;
      co_await one->woken.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      if (one->answered) break;
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none)
        throw error(errc::cancelled, "file operation: cancelled; whether it was done is not known");
    }
    if (!one->answered) throw *lost_;
    co_return std::move(one->answer);
  }

  /// The answer to a request that has been answered.
  static file_answer take_answer(sent& one) { return std::move(one.answer); }

  /// \return  whether the frame was an answer.
  /// \throws error{errc::provider_lost} for one to something that was not asked.
  bool arrived(const wire::frame& frame) {
    if (frame.type() == wire::frame_type::worker_lost) {
      wire::payload_reader values(frame);
      const auto count = values.number<std::uint32_t>();
      if (count > sent_.size()) throw wire::violation("more file requests are lost than were sent");
      for (std::uint32_t i = 0; i < count; ++i) {
        sent_.front()->answer.number = ECONNRESET;
        end_first();
      }
      return true;
    }
    if (frame.type() != wire::frame_type::reply && frame.type() != wire::frame_type::reply_data) return false;
    if (sent_.empty() || sent_.front()->number != frame.job())
      throw wire::violation("an answer to a file request that was not sent");
    sent& one = *sent_.front();
    const bool is_wanted = sent_.front().use_count() > 1;  // nobody waits for one that was cancelled
    bytes_view payload = frame.payload();
    if (frame.type() == wire::frame_type::reply_data) {
      if (is_wanted) one.answer.data.insert(one.answer.data.end(), payload.begin(), payload.end());
      return true;
    }
    wire::payload_reader values(frame);
    one.answer.number = values.number<std::int32_t>();
    payload = payload.subspan(sizeof(std::int32_t));
    one.answer.values.assign(payload.begin(), payload.end());
    end_first();
    return true;
  }

  void lose(const error& reason) {
    lost_ = reason;
    window_.fail(reason);
    files_.fail(reason);
    for (const std::shared_ptr<sent>& one : sent_) one->woken.cancel();
  }

 private:
  /// Room that is kept for what must not wait: files that are given up.
  static constexpr std::size_t reserve = 16 * 1024;

  std::shared_ptr<sent> enqueue(frame_sink& sink, std::uint32_t number, bytes frame, bool is_counted) {
    auto one = std::make_shared<sent>(executor_, number, is_counted ? frame.size() : 0);
    sent_.push_back(one);
    try {
      sink.send(std::move(frame));
    } catch (...) {
      sent_.pop_back();
      throw;
    }
    return one;
  }

  void end_first() {
    const std::shared_ptr<sent> one = std::move(sent_.front());
    sent_.pop_front();
    one->answered = true;
    one->woken.cancel();
    if (one->size != 0) window_.give(one->size);
  }

  asio::any_io_executor executor_;
  std::uint32_t next_ = first_number;
  std::optional<error> lost_;
  std::deque<std::shared_ptr<sent>> sent_;
  allotment window_;
  allotment files_;
};

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/warden/detail/warden_files.hpp ----

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

/// The files of a place that only a warden can reach: the same operations as `workspace_files`, with the same errors.
/// Its coroutines keep what they need alive.
class warden_files {
 public:
  /// \param path  the root as the guest sees it: paths beneath it are understood too.
  warden_files(std::shared_ptr<frame_sink> sink, std::shared_ptr<file_requests> requests, std::string path)
      : sink_(std::move(sink)), requests_(std::move(requests)), path_(std::move(path)) {}

  static awaitable<bytes> read_file(warden_files self, std::string path, std::size_t most);

  static awaitable<void> write_file(warden_files self, std::string path, bytes_view content);

  static awaitable<entry> stat(warden_files self, std::string path) {
    const std::string clean = self.beneath(path);
    wire::frame_writer frame(wire::frame_type::stat, 0);
    file_answer answer = co_await self.ask("stat", clean, frame.text(clean));
    values_of values(answer.values);
    co_return values.next_entry(clean);
  }

  static awaitable<std::vector<entry>> list(warden_files self, std::string path) {
    const std::string clean = self.beneath(path);
    wire::frame_writer frame(wire::frame_type::list, 0);
    file_answer answer = co_await self.ask("list", clean, frame.text(clean).number(yes_byte));
    std::vector<entry> entries;
    values_of values(answer.data);
    while (!values.empty()) entries.push_back(values.next_named_entry());
    directory::sort_entries(entries);
    co_return entries;
  }

  /// A directory beneath the root as the warden's own path of it.
  static awaitable<std::string> directory_path(warden_files self, std::string path) {
    const std::string clean = self.beneath(path);
    if (clean == ".") co_return self.path_;
    entry found = co_await stat(self, clean);
    if (found.type() == file_type::symlink) {  // leads it out, or to a file? A look into it tells.
      wire::frame_writer frame(wire::frame_type::list, 0);
      co_await self.ask("enter", clean, frame.text(clean).number(no_byte));
    } else if (!found.is_directory()) {
      throw path_error(ENOTDIR, "enter", clean);
    }
    co_return self.path_ == "/" ? "/" + clean : self.path_ + "/" + clean;
  }

  static awaitable<void> make_directory(warden_files self, std::string path) {
    const std::string clean = self.beneath(path);
    if (clean == ".") co_return;
    wire::frame_writer frame(wire::frame_type::make_directory, 0);
    co_await self.ask("make directory", clean, frame.text(clean).number(folder_mode));
  }

  static awaitable<void> remove(warden_files self, std::string path) {
    const std::string clean = workspace_path(path, self.path_);
    wire::frame_writer frame(wire::frame_type::remove, 0);
    co_await self.ask("remove", clean, frame.text(clean));
  }

  static awaitable<void> rename(warden_files self, std::string from, std::string to) {
    const std::string clean = workspace_path(from, self.path_);
    const std::string target = workspace_path(to, self.path_);
    wire::frame_writer frame(wire::frame_type::rename, 0);
    co_await self.ask("rename", clean, frame.text(clean).text(target));
  }

  static awaitable<transfer> put_files(warden_files self, file_source& source) {
    const auto put = [&self, &source](const file_header& header) { return self.put_one(source, header); };
    transfer report = co_await put_each(source, put);
    co_return report;
  }

  std::unique_ptr<file_source> get_files(std::vector<file_request> requests) const;

 private:
  static constexpr std::uint8_t no_byte = 0;
  static constexpr std::uint8_t yes_byte = 1;
  static constexpr std::uint32_t folder_mode = 0755;

  /// Takes the values of an answer. They come from the other side of a wall: nothing in them is believed.
  class values_of {
   public:
    explicit values_of(bytes_view values) : frame_(wire::frame_type::reply, 0, values), reader_(frame_) {}
    entry next_entry(std::string path) {
      const auto type = reader_.number<std::uint8_t>();
      const auto mode = reader_.number<std::uint32_t>();
      const auto size = reader_.number<std::uint64_t>();
      reader_.number<std::int64_t>();
      reader_.number<std::uint32_t>();
      if (type > 3) throw wire::violation("a file of type " + std::to_string(type));
      return entry(std::move(path), static_cast<file_type>(type), size, mode & 0777U);
    }
    entry next_named_entry() {
      const entry found = next_entry("");
      std::string name = reader_.text();
      return entry(std::move(name), found.type(), found.size(), found.mode());
    }
    std::uint64_t next_size() { return reader_.number<std::uint64_t>(); }
    std::uint32_t next_mode() { return reader_.number<std::uint32_t>(); }
    bool empty() const noexcept { return reader_.empty(); }

   private:
    wire::frame frame_;
    wire::payload_reader reader_;
  };

  class reading;
  class writing;
  class source;

  std::string beneath(std::string_view path) const { return workspace_path_or_root(path, path_); }

  /// \param frame  its number is set here.
  awaitable<file_answer> ask(const char* doing, std::string path, wire::frame_writer& frame) const {
    const std::uint32_t number = requests_->number();
    return ask_as(number, doing, std::move(path), frame.renumbered(number).take());
  }

  awaitable<file_answer> ask_as(std::uint32_t number, const char* doing, std::string path, bytes frame) const {
    const auto sink = sink_;
    const auto requests = requests_;
    std::shared_ptr<file_requests::sent> one = co_await requests->send(*sink, number, std::move(frame));
    file_answer answer = co_await requests->answer(std::move(one));
    if (answer.number != 0) throw path_error(answer.number, doing, path);
    co_return answer;
  }

  awaitable<transferred_file> put_one(file_source& source, const file_header& header) const;

  std::shared_ptr<frame_sink> sink_;
  std::shared_ptr<file_requests> requests_;
  std::string path_;
};

/// One file that is written. Requests go ahead of their answers; the first answer that is an error counts. Left before
/// `commit` is through, the file is given up.
class warden_files::writing {
 public:
  writing(const warden_files& files, std::string path)
      : files_(files), path_(std::move(path)), number_(files_.requests_->number()) {}
  writing(const writing&) = delete;
  writing& operator=(const writing&) = delete;
  ~writing() {
    if (!begun_) return;
    try {
      files_.requests_->send_now(*files_.sink_, number_,
                                 wire::frame_writer(wire::frame_type::write_abort, number_).take());
    } catch (const std::bad_alloc&) {  // it goes with the session
    }
  }

  awaitable<void> begin(std::uint32_t mode) {
    co_await files_.requests_->files().take(1, "write");
    place_ = allotted(files_.requests_->files(), 1);
    wire::frame_writer frame(wire::frame_type::write, number_);
    bytes whole = frame.text(path_).number(mode).number(no_byte).take();
    co_await send(std::move(whole));
    begun_ = true;
  }

  /// \param content  the caller keeps it until the awaitable completes.
  awaitable<void> put(bytes_view content) {
    while (!content.empty()) {
      check_answers();
      const bytes_view piece = content.first(std::min(content.size(), wire::longest_payload));
      bytes whole = wire::frame_writer(wire::frame_type::write_data, number_).data(piece).take();
      co_await send(std::move(whole));
      content = content.subspan(piece.size());
    }
  }

  awaitable<void> commit() {
    check_answers();
    bytes whole = wire::frame_writer(wire::frame_type::write_commit, number_).take();
    co_await send(std::move(whole));
    begun_ = false;  // an error gives the file up there
    place_.give_back();
    while (!sent_.empty()) {
      std::shared_ptr<file_requests::sent> first = std::move(sent_.front());
      sent_.pop_front();
      const file_answer answer = co_await files_.requests_->answer(std::move(first));
      check(answer);
    }
  }

 private:
  awaitable<void> send(bytes frame) {
    std::shared_ptr<file_requests::sent> one =
        co_await files_.requests_->send(*files_.sink_, number_, std::move(frame));
    sent_.push_back(std::move(one));
  }
  void check_answers() {
    while (!sent_.empty() && sent_.front()->is_answered()) {
      check(file_requests::take_answer(*sent_.front()));
      sent_.pop_front();
    }
  }
  void check(const file_answer& answer) const {
    if (answer.number != 0) throw path_error(answer.number, "write", path_);
  }

  warden_files files_;
  std::string path_;
  std::uint32_t number_;
  allotted place_;
  bool begun_ = false;
  std::deque<std::shared_ptr<file_requests::sent>> sent_;
};

/// One file that is read, the next piece asked for before this one is used.
class warden_files::reading {
 public:
  reading(const warden_files& files, std::string path) : files_(files), path_(std::move(path)) {}

  /// The next piece, at most wire::most_read bytes; empty at the end.
  awaitable<bytes> next() {
    bytes piece;
    if (ended_) co_return piece;
    if (!ahead_) co_await ask();
    std::shared_ptr<file_requests::sent> first = std::move(ahead_);
    file_answer answer = co_await files_.requests_->answer(std::move(first));
    if (answer.number != 0) throw path_error(answer.number, "read", path_);
    values_of values(answer.values);
    size_ = values.next_size();
    mode_ = values.next_mode();
    if (answer.data.size() > wire::most_read) throw wire::violation("more of a file than was asked for");
    got_ += answer.data.size();
    ended_ = answer.data.empty() || got_ >= size_;
    piece = std::move(answer.data);
    if (!ended_) co_await ask();
    co_return piece;
  }

  /// As the last answer has them.
  std::uint64_t size() const noexcept { return size_; }
  std::uint32_t mode() const noexcept { return mode_; }

 private:
  awaitable<void> ask() {
    const std::uint32_t number = files_.requests_->number();
    wire::frame_writer frame(wire::frame_type::read, number);
    bytes whole = frame.text(path_).number(got_).number(wire::most_read).take();
    ahead_ = co_await files_.requests_->send(*files_.sink_, number, std::move(whole));
  }

  warden_files files_;
  std::string path_;
  std::shared_ptr<file_requests::sent> ahead_;
  std::uint64_t got_ = 0;
  std::uint64_t size_ = 0;
  std::uint32_t mode_ = 0;
  bool ended_ = false;
};

/// Files one after another, in pieces.
class warden_files::source final : public file_source {
 public:
  source(const warden_files& files, std::vector<file_request> requests)
      : files_(files), requests_(std::move(requests)) {}
  awaitable<std::optional<file_header>> next() override {
    from_.reset();
    std::optional<file_header> header;
    if (at_ == requests_.size()) co_return header;
    const file_request& wanted = requests_[at_++];
    try {
      const std::string clean = files_.beneath(wanted.path());
      entry found = co_await stat(files_, clean);
      if (found.is_directory()) {
        header.emplace(wanted.path(), wanted.destination(), file_type::directory, 0, found.mode());
      } else {
        auto from = std::make_unique<reading>(files_, clean);
        piece_ = co_await from->next();
        sent_ = 0;
        header.emplace(wanted.path(), wanted.destination(), file_type::regular, from->size(), from->mode() & 0777U);
        from_ = std::move(from);
      }
    } catch (const error& failure) {
      if (ends_transfer(failure)) throw;
      header.emplace(wanted.path(), failure);
    }
    co_return header;
  }
  awaitable<bytes> read(std::size_t most) override {
    bytes piece;
    if (!from_ || most == 0) co_return piece;
    if (sent_ == piece_.size()) {
      piece_ = co_await from_->next();  // empty once more at the end
      sent_ = 0;
    }
    const std::size_t count = std::min(most, piece_.size() - sent_);
    const auto start = piece_.begin() + static_cast<std::ptrdiff_t>(sent_);
    piece.assign(start, start + static_cast<std::ptrdiff_t>(count));
    sent_ += count;
    co_return piece;
  }

 private:
  warden_files files_;
  std::vector<file_request> requests_;
  std::size_t at_ = 0;
  std::unique_ptr<reading> from_;
  bytes piece_;
  std::size_t sent_ = 0;
};

inline awaitable<bytes> warden_files::read_file(warden_files self, std::string path, std::size_t most) {
  const std::string clean = workspace_path(path, self.path_);
  reading from(self, clean);
  bytes content;
  for (;;) {
    bytes piece = co_await from.next();
    if (piece.size() > most - content.size() || from.size() > most)
      throw error(errc::too_large, "read " + shown_path(path) + ": longer than " + std::to_string(most) + " bytes");
    if (piece.empty()) co_return content;
    if (content.empty())
      content = std::move(piece);
    else
      content.insert(content.end(), piece.begin(), piece.end());
  }
}

inline awaitable<void> warden_files::write_file(warden_files self, std::string path, bytes_view content) {
  const std::string clean = workspace_path(path, self.path_);
  writing file(self, clean);
  co_await file.begin(wire::keep_mode);
  co_await file.put(content);
  co_await file.commit();
}

inline awaitable<transferred_file> warden_files::put_one(file_source& source, const file_header& header) const {
  const std::string clean = workspace_path(header.destination(), path_);
  if (header.type() == file_type::directory) {
    wire::frame_writer make(wire::frame_type::make_directory, 0);
    co_await ask("make directory", clean, make.text(clean).number(folder_mode));
    wire::frame_writer set(wire::frame_type::set_mode, 0);
    const std::uint32_t mode = header.mode() & 0777U;
    co_await ask("make directory", clean, set.text(clean).number(mode));
    co_return transferred_file(header.source(), clean, 0);
  }
  writing file(*this, clean);
  const std::uint32_t mode = header.mode() & 0777U;
  co_await file.begin(mode);
  std::uint64_t size = 0;
  for (;;) {
    const bytes piece = co_await source.read(file_piece);
    if (piece.empty()) break;
    co_await file.put(piece);
    size += piece.size();
  }
  co_await file.commit();
  co_return transferred_file(header.source(), clean, size);
}

inline std::unique_ptr<file_source> warden_files::get_files(std::vector<file_request> requests) const {
  return std::make_unique<source>(*this, std::move(requests));
}

}  // namespace cofferdam::inline v0::detail

// ---- cofferdam/warden/session.hpp ----

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fcntl.h>

namespace cofferdam::inline v0 {

/// What a session tells its warden.
class warden_settings {
 public:
  command_settings commands;
  /// How long to wait for the greeting.
  std::chrono::milliseconds greeting_timeout{std::chrono::seconds(5)};
  /// The directory that file operations stay beneath, as the warden sees it; empty: there are none.
  std::string root;
  /// Keeps guests from signalling anyone but what they started themselves, where the kernel can (Landlock, Linux 6.12).
  bool scope = true;
  /// What each process of a command may use; at most 16. What cannot be set is a command that could not be started.
  std::vector<wire::resource_limit> limits;
  /// Whom commands run as; `wire::keep_id`: as the warden does.
  std::uint32_t uid = wire::keep_id;
  std::uint32_t gid = wire::keep_id;
  /// The wall clock may stop for the host, but not for longer than this: then the warden ends everything. Zero: no lease.
  std::chrono::milliseconds lease{0};
};

/// A command that has ended, and something that it has started goes on (`background_policy::keep`).
class background_command {
 public:
  background_command(std::uint32_t number, std::string program) : number_(number), program_(std::move(program)) {}
  /// Its number in its environment, not that of a process.
  std::uint32_t number() const noexcept { return number_; }
  /// The program, or the shell line, as far as one line shows it.
  const std::string& program() const noexcept { return program_; }

 private:
  std::uint32_t number_;
  std::string program_;
};

namespace detail {

/// Starts commands through a warden.
class warden_keeper final : public command_keeper, public link_listener, public frame_sink {
 public:
  warden_keeper(const asio::any_io_executor& executor, warden_settings settings, std::shared_ptr<warden_link> link)
      : command_keeper(executor, settings.commands),
        settings_(std::move(settings)),
        link_(std::move(link)),
        requests_(std::make_shared<file_requests>(executor)),
        greeted_(executor),
        lease_(executor) {
    if (link_->carries_descriptors())
      nothing_ = usable(unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), "/dev/null");
  }

  /// Waits for the warden's greeting and answers it. On failure the link is closed.
  static awaitable<void> greet(std::shared_ptr<warden_keeper> self) {
    self->link_->start(self);
    self->greeted_.expires_after(self->settings_.greeting_timeout);
    bool cancelled = false;
    while (!self->hello_ && !self->lost_ && !cancelled) {
      std::error_code woken;
      co_await self->greeted_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      cancelled = state.cancelled() != asio::cancellation_type::none;
      if (!woken) break;  // in all that time
    }
    if (self->hello_ && !cancelled) {
      wire::frame_writer frame(wire::frame_type::configure, 0);
      frame.number(std::uint32_t{0}).number(static_cast<std::uint32_t>(self->settings_.lease.count()));
      self->link_->send(frame.text(self->settings_.root).take(), {});
      self->renew_lease();
      if (!self->settings().walls) self->describe_walls();
      co_return;
    }
    const std::optional<error> reason = self->lost_;
    self->disconnect();
    if (cancelled) throw error(errc::cancelled, "open: cancelled while the warden was starting");
    if (reason)
      throw error(errc::provider_failed, std::string("the warden did not start: ") + reason->what(), reason->cause());
    throw error(errc::provider_failed, "the warden did not say a word within " +
                                           std::to_string(self->settings_.greeting_timeout.count()) + " ms");
  }

  const wire::hello& hello() const noexcept { return *hello_; }

  /// Everything is over for the warden too.
  void disconnect() noexcept {
    link_->close();
    lease_.cancel();
    lose(closed_);
  }

  /// The files beneath the root.
  /// \throws error{errc::environment_closed}.
  static warden_files files(const std::shared_ptr<warden_keeper>& self) {
    self->require_open();
    return warden_files(self, self->requests_, self->settings_.root);
  }

  void send(bytes frame) override { link_->send(std::move(frame), {}); }

  std::vector<background_command> background() const {
    std::vector<background_command> all;
    for (const auto& [number, one] : jobs_)
      if (one->finished()) all.emplace_back(number, one->title());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.number() < b.number(); });
    return all;
  }

  static awaitable<void> end_background(std::shared_ptr<warden_keeper> self, std::uint32_t number) {
    self->require_open();
    const auto found = self->jobs_.find(number);
    if (found == self->jobs_.end() || !found->second->finished())
      throw error(errc::not_found, "end_background: nothing is left of a command " + std::to_string(number));
    const std::shared_ptr<warden_command> one = found->second;
    one->end(end_reason::closed);
    co_await one->until_settled_shielded();
  }

 private:
  launched launch(command& c, spawn_request& request) override {
    if (lost_) throw *lost_;
    launched outcome;
    const std::uint32_t job = ++last_job_;
    const auto sink = std::static_pointer_cast<warden_keeper>(shared_from_this());
    const command_limits limits = limits_of(c);
    auto one = std::make_shared<warden_command>(executor(), registry(), limits, sink, job, shown_program(c));

    if (limits.keeps_background) one->title(c.is_shell() ? one_line(c.line()) : shown_program(c));

    wire::spawn_order order;
    if (limits.timeout) order.timeout_ms = static_cast<std::uint64_t>(limits.timeout->count());
    order.grace_ms = milliseconds(limits.grace);
    order.linger_ms = milliseconds(limits.linger);
    order.uid = settings_.uid;
    order.gid = settings_.gid;
    if (has_scope()) order.flags |= wire::spawn_scope;
    if (limits.keeps_background) order.flags |= wire::spawn_keep;
    order.limits = settings_.limits;
    order.directory = request.directory_path;
    if (c.terminal()) {
      order.flags |= wire::spawn_terminal;
      order.rows = c.terminal()->rows();
      order.columns = c.terminal()->columns();
    }

    std::optional<command_pipes> pipes;
    std::array<int, 4> descriptors{};
    std::size_t count = 0;
    const bool has_input = c.input() || c.has_open_input();
    if (link_->carries_descriptors()) {
      pipes.emplace(c, request, nothing_.get());
      one->connect_to(*pipes);
      order.flags |= wire::spawn_descriptors;
      descriptors = {request.input, request.output, request.error, request.directory};
      count = 3;
      if (request.directory >= 0) {
        order.flags |= wire::spawn_directory;
        count = 4;
      }
    } else {
      one->connect_frames(has_input || c.terminal());
      if (has_input) order.flags |= wire::spawn_open_input;
    }
    bytes frame = order.encode(job, request.candidates, request.words, request.variables);
    if (frame.empty()) {
      outcome.refusal =
          refuse_unstarted(shown_program(c), spawn_stage::exec, std::error_code(E2BIG, std::system_category()));
      return outcome;
    }
    jobs_.emplace(job, one);
    try {
      link_->send(std::move(frame), std::span<const int>(descriptors.data(), count));
    } catch (...) {  // the warden will never hear of it
      jobs_.erase(job);
      throw;
    }
    try {
      one->begin(c.take_input());
    } catch (...) {
      one->abandon();
      throw;
    }
    outcome.running = std::move(one);
    return outcome;
  }

  /// Says what the warden holds, where the backend has not said it.
  void describe_walls() {
    protections walls;
    const bool adopts = hello_->can(wire::capability_adopts);
    walls.set(protection::process_tree, adopts ? "everything the command started" : "process group");
    walls.set(protection::host_death, adopts ? "everything the command started" : "process group");
    if (has_scope()) walls.set(protection::signals, "Landlock: only what the command started");
    set_walls(std::make_shared<const protections>(std::move(walls)));
  }

  bool has_scope() const noexcept { return settings_.scope && hello_->can(wire::capability_scope); }

  static std::uint32_t milliseconds(std::chrono::milliseconds time) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(time.count(), 0, 24 * 3600 * 1000));
  }

  void frame_arrived(const wire::frame& arrived) override {
    if (!hello_) {
      hello_.emplace(arrived);
      greeted_.cancel();
      return;
    }
    wire::payload_reader values(arrived);
    if (arrived.type() == wire::frame_type::pong || requests_->arrived(arrived)) return;
    if (arrived.type() == wire::frame_type::protocol_error) {
      const unsigned fault = values.number<std::uint8_t>();
      const unsigned type = values.number<std::uint8_t>();
      throw error(errc::provider_lost, "the warden did not understand us (fault " + std::to_string(fault) +
                                           ", frame type " + std::to_string(type) + ") and has ended everything");
    }
    const auto found = jobs_.find(arrived.job());
    if (found == jobs_.end())
      throw wire::violation("a frame for job " + std::to_string(arrived.job()) + ", which is over");
    const std::shared_ptr<warden_command> one = found->second;
    switch (arrived.type()) {
      case wire::frame_type::output: one->on_output(0, arrived.payload()); break;
      case wire::frame_type::error_output: one->on_output(1, arrived.payload()); break;
      case wire::frame_type::input_credit: one->on_input_credit(values.number<std::uint32_t>()); break;
      case wire::frame_type::exited: one->on_exited(wire::exited(arrived)); break;
      case wire::frame_type::done:
        jobs_.erase(found);
        one->on_done();
        break;
      case wire::frame_type::failed: {
        const auto stage = static_cast<wire::fail_stage>(values.number<std::uint8_t>());
        const int number = values.number<std::int32_t>();
        jobs_.erase(found);
        one->on_failed(stage, number);
        break;
      }
      case wire::frame_type::stuck: break;
      default: throw wire::violation("a frame of type " + std::to_string(static_cast<unsigned>(arrived.type())));
    }
  }

  void link_lost(const error& reason) override {
    const auto kept = shared_from_this();  // closing the link lets go of us
    link_->close();
    lease_.cancel();
    lose(reason);
  }

  void lose(const error& reason) noexcept {
    if (lost_) return;
    lost_ = reason;
    greeted_.cancel();
    requests_->lose(reason);
    const auto jobs = std::move(jobs_);
    jobs_.clear();
    for (const auto& [job, one] : jobs) {
      try {
        one->on_lost(reason);
      } catch (const std::bad_alloc&) {  // what had arrived is lost too
        one->on_lost_quietly(reason);
      }
    }
  }

  void renew_lease() {
    if (settings_.lease.count() == 0) return;
    lease_.expires_after(settings_.lease / 3);
    lease_.async_wait([self = std::static_pointer_cast<warden_keeper>(shared_from_this())](std::error_code failure) {
      if (failure || self->lost_) return;
      self->link_->send(wire::frame_writer(wire::frame_type::ping, 0).take(), {});
      self->renew_lease();
    });
  }

  warden_settings settings_;
  std::shared_ptr<warden_link> link_;
  unique_fd nothing_;
  std::shared_ptr<file_requests> requests_;
  asio::steady_timer greeted_;
  asio::steady_timer lease_;
  std::optional<wire::hello> hello_;
  std::optional<error> lost_;
  const error closed_{errc::environment_closed, "the environment is closed"};  // made while there is memory
  std::uint32_t last_job_ = 0;
  std::unordered_map<std::uint32_t, std::shared_ptr<warden_command>> jobs_;
};

}  // namespace detail

/// The commands of an environment, run by a warden at the other end of a stream: the half of a backend that is the same
/// wherever the warden stands.
///
/// Output is drained within its cap, limits are held, the end is seen whether or not anybody awaits it. When a command
/// has ended, so has everything it had started, whatever that did to get away. Where the stream ends, every pending command
/// fails with error{errc::provider_lost} and what had arrived. Movable while idle. Destroyed without `close()`, it ends
/// the stream, upon which the warden ends everything.
/// \par Threads  one executor at a time.
class warden_session {
 public:
  /// Meets a warden over a stream: an asynchronous stream of Asio's, or any type that models its requirements and has
  /// `close()`. The stream carries nothing else.
  /// \throws error{errc::provider_failed} where no warden of our version answers; error{errc::cancelled}.
  template <class Stream>
  static awaitable<warden_session> open(Stream stream, warden_settings settings = warden_settings()) {
    asio::any_io_executor executor = stream.get_executor();
    std::shared_ptr<detail::warden_link> link = std::make_shared<detail::stream_link<Stream>>(std::move(stream));
    return meet(std::move(executor), std::move(link), std::move(settings));
  }

  /// The same over a connected Unix socket on this machine: then the commands' pipes are made here and passed on, and
  /// output takes no extra hop.
  static awaitable<warden_session> open(asio::any_io_executor executor, unique_fd socket,
                                        warden_settings settings = warden_settings()) {
    std::shared_ptr<detail::warden_link> link;
    try {
      link = std::make_shared<detail::socket_link>(executor, std::move(socket));
    } catch (const std::system_error& failure) {
      throw error(errc::provider_failed, std::string("the warden's stream cannot be watched: ") + failure.what(),
                  failure.code());
    }
    return meet(std::move(executor), std::move(link), std::move(settings));
  }

  warden_session(warden_session&&) noexcept = default;
  warden_session& operator=(warden_session&& other) noexcept {
    if (this != &other) {
      abandon();
      keeper_ = std::move(other.keeper_);
    }
    return *this;
  }
  ~warden_session() { abandon(); }

  /// Runs a command to its end: what `run_command` of an environment does.
  /// \param request  as `request_for` makes it; borrowed descriptors live until the awaitable completes.
  awaitable<command_result> run(command c, spawn_request request) {
    return detail::command_keeper::run(keeper_, std::move(c), std::move(request));
  }

  /// Starts a command: what `start` of an environment does.
  awaitable<process> start(command c, spawn_request request) {
    return detail::command_keeper::start(keeper_, std::move(c), std::move(request));
  }

  /// The commands of which something goes on, oldest first.
  std::vector<background_command> background() const { return keeper_->background(); }

  /// Ends what a command has left running: SIGTERM, the grace, SIGKILL, and waits for that. Not cancelled.
  /// \throws error{errc::not_found} where nothing is left of it; error{errc::environment_closed}.
  awaitable<void> end_background(std::uint32_t number) {
    return detail::warden_keeper::end_background(keeper_, number);
  }

  /// What `spawn_request::directory_path` is to be for a command's working directory: a path of the warden's own.
  /// \throws error{errc::outside_workspace, not_found, not_a_directory} as an environment does for it.
  awaitable<std::string> directory_path(std::string working_directory) {
    return detail::warden_files::directory_path(files(), std::move(working_directory));
  }

  // File operations beneath `warden_settings::root`, with the meaning and the errors that an environment's have. The
  // root stays where it is; nothing in it leads out of it.

  awaitable<bytes> read_file(std::string path, std::size_t most) {
    return detail::warden_files::read_file(files(), std::move(path), most);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return detail::warden_files::write_file(files(), std::move(path), content);
  }
  awaitable<entry> stat(std::string path) { return detail::warden_files::stat(files(), std::move(path)); }
  awaitable<std::vector<entry>> list(std::string path) { return detail::warden_files::list(files(), std::move(path)); }
  awaitable<void> make_directory(std::string path) {
    return detail::warden_files::make_directory(files(), std::move(path));
  }
  awaitable<void> remove(std::string path) { return detail::warden_files::remove(files(), std::move(path)); }
  awaitable<void> rename(std::string from, std::string to) {
    return detail::warden_files::rename(files(), std::move(from), std::move(to));
  }
  awaitable<transfer> put_files(file_source& source) { return detail::warden_files::put_files(files(), source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    co_return files().get_files(std::move(requests));
  }

  /// What the warden has said of itself and its place.
  const wire::hello& hello() const noexcept { return keeper_->hello(); }

  /// Ends every command, waits for that, and ends the stream; whoever awaits a command gets
  /// error{errc::environment_closed}. Not cancelled.
  awaitable<void> close() {
    return detail::shielded([keeper = keeper_] { return close_all(keeper); });
  }

  /// Ends the stream, upon which the warden kills everything, and waits for nothing; what the destructor does.
  void abandon() noexcept {
    if (!keeper_) return;
    keeper_->abandon();
    keeper_->disconnect();
  }

 private:
  explicit warden_session(std::shared_ptr<detail::warden_keeper> keeper) : keeper_(std::move(keeper)) {}

  detail::warden_files files() const { return detail::warden_keeper::files(keeper_); }

  static awaitable<warden_session> meet(asio::any_io_executor executor, std::shared_ptr<detail::warden_link> link,
                                        warden_settings settings) {
    warden_session session(std::make_shared<detail::warden_keeper>(executor, std::move(settings), std::move(link)));
    co_await detail::warden_keeper::greet(session.keeper_);
    co_return session;
  }

  static awaitable<void> close_all(std::shared_ptr<detail::warden_keeper> keeper) {
    co_await detail::command_keeper::close(keeper);
    keeper->disconnect();
  }

  std::shared_ptr<detail::warden_keeper> keeper_;
};

}  // namespace cofferdam::inline v0

// ---- cofferdam/warden/start_warden.hpp ----

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// A warden that is a child of this program.
class started_warden {
 public:
  /// Our end of its socket, non-blocking. When it is closed the warden kills everything it has started, and exits.
  unique_fd socket;
  /// The process, for whoever reaps it.
  unique_fd pidfd;
};

namespace detail {

inline error cannot_start(const std::string& what, int number) {
  const std::error_code cause(number, std::system_category());
  return error(errc::provider_failed, "the warden cannot be started: " + what + ": " + cause.message(), cause);
}

inline bool write_whole(const unique_fd& fd, std::span<const unsigned char> content) noexcept {
  while (!content.empty()) {
    const ssize_t written = ::write(fd.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content = content.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

/// The same open file under a number that `spawn` can keep.
inline unique_fd numbered_high(unique_fd fd) noexcept {
  if (!fd) return fd;
  return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 10));
}

/// The program as a sealed file in memory. Empty, with `errno` set, on failure.
inline unique_fd program_in_memory(std::span<const unsigned char> program) noexcept {
  constexpr unsigned executable = 0x10;  // MFD_EXEC, Linux 6.3; needed where vm.memfd_noexec is 1
  unique_fd file(::memfd_create("cofferdam-warden", MFD_CLOEXEC | MFD_ALLOW_SEALING | executable));
  if (!file && errno == EINVAL) file.reset(::memfd_create("cofferdam-warden", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || !write_whole(file, program)) return {};
  ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return numbered_high(std::move(file));
}

/// The program as a file that has no name any more. Empty, with `errno` set, on failure.
inline unique_fd program_in_file(std::span<const unsigned char> program, const std::filesystem::path& folder) noexcept {
  const std::string path = (folder / ".cofferdam-warden").string();
  unique_fd written(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700));
  if (!written) return {};
  const bool whole = write_whole(written, program);
  written.reset();  // a file that is open for writing cannot be executed
  unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  const int number = errno;
  ::unlink(path.c_str());
  errno = number;
  if (!whole) errno = ENOSPC;
  return whole ? numbered_high(std::move(file)) : unique_fd();
}

/// Executes an open program as a warden.
inline spawned spawn_warden(const unique_fd& program, const unique_fd& socket, const unique_fd& nothing) {
  spawn_request request;
  request.program = program.get();
  request.words = {"cofferdam-warden", "3"};
  request.input = request.output = request.error = nothing.get();
  request.control = socket.get();
  return spawn(request);
}

}  // namespace detail

/// Starts a warden as a child of this program, from memory; where files in memory may not be executed, from a file in
/// `folder`, which is removed at once.
/// \param program  an ELF file for this machine; see `native_warden_image`.
/// \param folder   an existing directory that nobody else can write to.
/// \throws error{errc::provider_failed} where neither may be executed, or the system lacks a descriptor or process.
inline started_warden start_warden(std::span<const unsigned char> program, const std::filesystem::path& folder) {
  if (program.empty())
    throw error(errc::provider_failed, "the warden cannot be started: there is none for this kind of machine");
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) throw detail::cannot_start("socketpair", errno);
  started_warden started;
  started.socket.reset(ends[0]);
  unique_fd theirs(ends[1]);
  started.socket = detail::usable(std::move(started.socket), "socketpair");
  theirs = detail::usable(std::move(theirs), "socketpair");
  detail::set_nonblocking(started.socket);
  const unique_fd nothing = detail::usable(unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC)), "/dev/null");

  unique_fd file = detail::program_in_memory(program);
  int number = errno;
  if (file) {
    spawned made = detail::spawn_warden(file, theirs, nothing);
    if (made.ok()) {
      started.pidfd = std::move(made.pidfd());
      return started;
    }
    if (made.stage() != spawn_stage::exec) throw detail::cannot_start("no process for it", made.cause().value());
    number = made.cause().value();
  }
  file = detail::program_in_file(program, folder);
  if (!file)
    throw detail::cannot_start(
        "neither from memory (" + std::generic_category().message(number) + ") nor from a file in " + folder.string(),
        errno);
  spawned made = detail::spawn_warden(file, theirs, nothing);
  if (!made.ok())
    throw detail::cannot_start(
        "neither from memory (" + std::generic_category().message(number) + ") nor from a file in " + folder.string(),
        made.cause().value());
  started.pidfd = std::move(made.pidfd());
  return started;
}

}  // namespace cofferdam::inline v0

// ---- cofferdam/backends/detail/local_commands.hpp ----

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// Who starts the commands of `local`.
enum class warden_policy {
  automatic,  ///< a warden; where none can be started this program itself, and the results' `walls()` say so
  require,    ///< a warden, or `open()` fails
  never,      ///< this program itself: what leaves its process group is not followed, and outlives a killed host
};

namespace detail {

/// A warden of ours, watched until it has ended.
class warden_child {
 public:
  explicit warden_child(unique_fd pidfd) : pidfd_(std::move(pidfd)) {}
  warden_child(warden_child&&) noexcept = default;
  warden_child& operator=(warden_child&&) noexcept = default;
  ~warden_child() {
    if (pidfd_) reaper::instance().adopt(std::move(pidfd_));  // its stream has ended: it goes when all else is gone
  }

  /// For one that has not started anything.
  void kill() noexcept {
    if (pidfd_) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  }

  /// Waits until it has ended. Its stream must have been closed.
  awaitable<void> ended() {
    if (!pidfd_) co_return;
    borrowed_descriptor watched(co_await asio::this_coro::executor);
    if (!watched.take(pidfd_.get())) co_return;  // the reaper has it
    for (;;) {
      if (reaped()) break;
      std::error_code woken;
      co_await watched.get().async_wait(asio::posix::stream_descriptor::wait_read,
                                        asio::redirect_error(asio::use_awaitable, woken));
      if (woken) co_return;  // the reaper has it
    }
    watched.give_back();
    pidfd_.reset();
  }

 private:
  /// Waits on a descriptor that is somebody else's, also where the waiting coroutine is thrown away.
  class borrowed_descriptor {
   public:
    explicit borrowed_descriptor(const asio::any_io_executor& executor) : descriptor_(executor) {}
    borrowed_descriptor(const borrowed_descriptor&) = delete;
    borrowed_descriptor& operator=(const borrowed_descriptor&) = delete;
    ~borrowed_descriptor() { give_back(); }
    bool take(int fd) {
      std::error_code failure;
      descriptor_.assign(fd, failure);
      return !failure;
    }
    asio::posix::stream_descriptor& get() noexcept { return descriptor_; }
    void give_back() {
      if (descriptor_.is_open()) descriptor_.release();
    }

   private:
    asio::posix::stream_descriptor descriptor_;
  };

  bool reaped() noexcept {
    siginfo_t info{};
    const int result =
        ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG);
    return result < 0 ? errno != EINTR : info.si_pid != 0;
  }

  unique_fd pidfd_;
};

/// The commands of a local environment: a warden's, or this program's own children.
class local_commands {
 public:
  /// \param folder  a private one.
  /// \param program  the path of a warden to use instead of the built-in one; empty: the built-in one.
  static awaitable<local_commands> open(asio::any_io_executor executor, command_settings settings, warden_policy policy,
                                        std::filesystem::path program, std::filesystem::path folder) {
    std::string why;
    if (policy != warden_policy::never) {
      reaper::instance().sweep();
      warden_child child{unique_fd()};
      std::exception_ptr failure;
      try {
        started_warden started = start(program, folder);
        child = warden_child(std::move(started.pidfd));
        warden_settings all;
        all.commands = settings;
        warden_session session = co_await warden_session::open(executor, std::move(started.socket), std::move(all));
        co_return local_commands(std::move(session), std::move(child));
      } catch (...) {
        failure = std::current_exception();
      }
      child.kill();
      const bool throws = co_await asio::this_coro::throw_if_cancelled();
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await shielded([&child] { return child.ended(); });
      co_await asio::this_coro::throw_if_cancelled(throws);
      why = reason_to_go_on(failure, policy);
    }
    protections walls;
    walls.set(protection::process_tree, why.empty() ? "process group" : "process group only, for " + why);
    settings.walls = std::make_shared<const protections>(std::move(walls));
    co_return local_commands(child_processes(std::move(executor), std::move(settings)));
  }

  awaitable<command_result> run(command c, spawn_request request) {
    if (auto* session = std::get_if<warden_session>(&commands_)) return session->run(std::move(c), std::move(request));
    return std::get<child_processes>(commands_).run(std::move(c), std::move(request));
  }

  awaitable<process> start(command c, spawn_request request) {
    if (auto* session = std::get_if<warden_session>(&commands_))
      return session->start(std::move(c), std::move(request));
    return std::get<child_processes>(commands_).start(std::move(c), std::move(request));
  }

  std::vector<background_command> background() const {
    if (const auto* session = std::get_if<warden_session>(&commands_)) return session->background();
    return {};
  }

  awaitable<void> end_background(std::uint32_t number) {
    if (auto* session = std::get_if<warden_session>(&commands_)) return session->end_background(number);
    throw error(errc::not_found, "end_background: nothing is left of a command " + std::to_string(number));
  }

  /// Ends everything and waits for that. This object stays until it is done.
  awaitable<void> close() {
    if (auto* session = std::get_if<warden_session>(&commands_)) {
      co_await session->close();
      co_await child_.ended();
    } else {
      co_await std::get<child_processes>(commands_).close();
    }
  }

  void abandon() noexcept {
    if (auto* session = std::get_if<warden_session>(&commands_))
      session->abandon();
    else
      std::get<child_processes>(commands_).abandon();
  }

 private:
  local_commands(warden_session session, warden_child child)
      : commands_(std::move(session)), child_(std::move(child)) {}
  explicit local_commands(child_processes children) : commands_(std::move(children)), child_(unique_fd()) {}

  /// Why there is no warden, where that is no reason to give up; else rethrows.
  static std::string reason_to_go_on(const std::exception_ptr& failure, warden_policy policy) {
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      if (policy == warden_policy::require || reason.code() != errc::provider_failed) throw;
      return reason.what();
    } catch (const std::system_error& reason) {
      rethrow_cancellation(reason, "open: cancelled while the warden was starting");
    }
  }

  static started_warden start(const std::filesystem::path& program, const std::filesystem::path& folder) {
    if (program.empty()) return start_warden(native_warden_image().program(), folder);
    const bytes content = file_reader::open_host(program.string()).read_rest(most_program);
    return start_warden({reinterpret_cast<const unsigned char*>(content.data()), content.size()}, folder);
  }

  static constexpr std::size_t most_program = 16 * 1024 * 1024;

  std::variant<child_processes, warden_session> commands_;
  warden_child child_;
};

}  // namespace detail
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
  command_settings commands;
  warden_policy policy = warden_policy::automatic;
  std::filesystem::path warden;
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
  static awaitable<std::shared_ptr<local_state>> open(asio::any_io_executor executor,
                                                      std::shared_ptr<const local_settings> settings) {
    std::string shell = find_shell(settings->shell);
    auto folders = std::make_shared<local_folders>(*settings);
    try {
      local_commands commands = co_await local_commands::open(executor, settings->commands, settings->policy,
                                                              settings->warden, folders->folder());
      co_return std::make_shared<local_state>(executor, settings, folders, std::move(commands), std::move(shell));
    } catch (...) {
      folders.reset();
      reaper::instance().sweep();  // nothing has run: the folder goes at once
      throw;
    }
  }

  local_state(asio::any_io_executor executor, std::shared_ptr<const local_settings> settings,
              std::shared_ptr<local_folders> folders, local_commands commands, std::string shell)
      : executor_(std::move(executor)),
        settings_(std::move(settings)),
        folders_(std::move(folders)),
        commands_(std::move(commands)),
        shell_(std::move(shell)) {
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
    commands_.abandon();
  }

  static awaitable<void> close(std::shared_ptr<local_state> self) {
    if (self->closing_) {
      while (!self->closed_) co_await short_pause(self->executor_);
      co_return;
    }
    self->closing_ = true;
    std::exception_ptr failure;
    try {
      co_await self->commands_.close();
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
    command_result result = co_await self->commands_.run(std::move(c), std::move(request));
    if (result.advice().empty() && !advice.empty()) result.advice(std::move(advice));
    co_return result;
  }

  std::vector<background_command> background() const {
    require_open();
    return commands_.background();
  }

  static awaitable<void> end_background(std::shared_ptr<local_state> self, std::uint32_t number) {
    self->require_open();
    co_await self->commands_.end_background(number);
  }

  static awaitable<process> start(std::shared_ptr<local_state> self, command c) {
    std::string advice;
    std::optional<command_result> refusal = self->judge(c, advice);
    if (refusal) co_return process::finished(std::move(*refusal));
    spawn_request request = request_for(c, self->shell_, self->variables_);
    const unique_fd directory = self->enter(c, request);
    process running = co_await self->commands_.start(std::move(c), std::move(request));
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
  std::shared_ptr<local_folders> folders_;
  local_commands commands_;
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
  /// \par Cancellation  terminal: SIGTERM, the grace, SIGKILL to all that the command has started; then error{errc::cancelled}.
  awaitable<command_result> run_command(command c) { return detail::local_state::run(get(), std::move(c)); }

  /// Starts a command. One that cannot be started yields a finished process with the result that says why.
  /// \throws as `run_command`.
  awaitable<process> start(command c) { return detail::local_state::start(get(), std::move(c)); }

  /// What commands with `background_policy::keep` have left running, oldest first.
  std::vector<background_command> background() const { return get()->background(); }
  /// Ends what such a command has left: SIGTERM, the grace, SIGKILL, and waits for that. Not cancelled.
  /// \throws error{errc::not_found} where nothing is left of it; error{errc::environment_closed}.
  awaitable<void> end_background(std::uint32_t number) { return detail::local_state::end_background(get(), number); }

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
  /// \throws error{errc::io_error} where the folder cannot be removed: something still writes there.
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
/// Commands are started by a warden, a small program of the library's own. The end of a command, its time limit,
/// cancellation, `close()` and the death of this program end everything that the command has started, whatever that did to
/// get away. Where the kernel has Landlock scopes (Linux 6.12) a command can signal only what it has started itself, and
/// can gain no privileges (no `sudo`); elsewhere one that runs as you may also kill you, the warden and other commands, and
/// all that is promised is this: everything a command started ends unless it kills you first. Results say in `walls()` what
/// stood. A program that forks without exec keeps the warden alive with it. A command's environment is built from nothing: PATH
/// (the system folders), HOME (the workspace), LANG, TERM, TMPDIR, and what the command adds; standard input is
/// /dev/null; descriptors, signal state and umask of the program do not leak into it.
///
/// A command is finished when it ends: what it has left behind delays the result by `output_grace`, and is killed then.
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
    return with([&](detail::local_settings& all) { all.commands.default_timeout = limit; });
  }
  /// From SIGTERM to SIGKILL. Default: 500 ms; zero or more.
  local&& kill_grace(std::chrono::milliseconds time) && {
    require_not_negative(time, "kill_grace");
    return with([&](detail::local_settings& all) { all.commands.kill_grace = time; });
  }
  /// How long a background child may go on writing once the command has ended. Default: 100 ms; zero or more.
  local&& output_grace(std::chrono::milliseconds time) && {
    require_not_negative(time, "output_grace");
    return with([&](detail::local_settings& all) { all.commands.output_grace = time; });
  }
  /// What to do with a shell line that seems to name files outside the workspace. Default: `path_policy::advise`. It
  /// is a guess about text, for the model's sake, and no wall.
  local&& paths(path_policy policy) && {
    return with([&](detail::local_settings& all) { all.paths = policy; });
  }
  /// Who starts the commands. Default: `warden_policy::automatic`.
  local&& warden(warden_policy policy) && {
    return with([&](detail::local_settings& all) { all.policy = policy; });
  }
  /// A warden of your own build instead of the one in the library: the path of its program.
  local&& warden_program(std::filesystem::path program) && {
    return with([&](detail::local_settings& all) { all.warden = std::move(program); });
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
    std::shared_ptr<detail::local_state> state =
        co_await detail::local_state::open(std::move(executor), std::move(settings));
    co_return local_environment(std::move(state));
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

  static std::shared_ptr<const detail::local_settings> defaults() { return std::make_shared<detail::local_settings>(); }

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
