// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>

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
