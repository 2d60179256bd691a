// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// The parameter type of `argv`: a program and its arguments, from a vector or from a list in braces. The constructor
/// takes the strings of a list as separate parameters, because g++ before 13 cannot create a `std::initializer_list` of
/// strings inside an awaited expression.
class word_list {
 public:
  word_list(std::vector<std::string> words) : words_(std::move(words)) {}
  template <std::convertible_to<std::string>... Words>
  word_list(Words&&... words) {
    words_.reserve(sizeof...(Words));
    (words_.emplace_back(std::forward<Words>(words)), ...);
  }

  std::vector<std::string> take() noexcept { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

}  // namespace detail

/// A value for `command::timeout` that means no time limit. A command on which `timeout` was not called has the default
/// limit of its backend.
inline constexpr std::chrono::milliseconds no_timeout = std::chrono::milliseconds::max();

/// The size of a terminal, in rows and columns of characters.
class terminal_size {
 public:
  /// Sets the size in characters.
  terminal_size(std::uint16_t rows, std::uint16_t columns) noexcept : rows_(rows), columns_(columns) {}
  /// Returns the number of rows.
  std::uint16_t rows() const noexcept { return rows_; }
  /// Returns the number of columns.
  std::uint16_t columns() const noexcept { return columns_; }

 private:
  std::uint16_t rows_;
  std::uint16_t columns_;
};

/// The policy for processes that still run when the command that started them has ended.
enum class background_policy {
  kill,  ///< the processes are ended when the command ends
  keep,  ///< the processes continue until they exit, are ended, or the environment is closed
};

/// A command and its settings. The command is either a line for a shell, or a program and its arguments, which run
/// without a shell.
///
/// A string is a line for the shell: `run_command("ls | wc -l")`. Never put text from a model or a user into such a
/// line unquoted. Pass it as an argument, `run_command(argv("cat", name))`, or quote it with `shell_quote(name)`.
///
/// Setters can be chained: `shell("make").timeout(10s).working_directory("src")`. A command is a value that owns its
/// strings and can be copied. The backend checks the line, or the program and its arguments, when it runs the command.
/// If they are invalid, the result has `error_kind::invalid_argument`.
class command {
 public:
  /// One environment variable of the command.
  class variable_setting {
   public:
    /// Sets the name and the value without checking them; `command::variable` checks them.
    variable_setting(std::string name, std::string value) : name_(std::move(name)), value_(std::move(value)) {}
    /// Returns the name.
    const std::string& name() const noexcept { return name_; }
    /// Returns the value.
    const std::string& value() const noexcept { return value_; }

   private:
    std::string name_;
    std::string value_;
  };

  /// Makes an empty command. Every backend returns `error_kind::invalid_argument` for it.
  command() = default;

  /// Makes a command from a line for the shell, as `shell(line)` does. The constructor is a template, because otherwise
  /// two string literals in braces would be read as two iterators of one string.
  template <class Line>
    requires(!std::derived_from<std::remove_cvref_t<Line>, command> && std::convertible_to<Line, std::string_view>)
  command(Line&& line) : is_shell_(true), line_(std::string_view(std::forward<Line>(line))) {}
  command(std::nullptr_t) = delete;
  /// Deleted, so that a list of strings in braces does not compile as a shell line. Write `argv({"ls", "-l"})`.
  command(std::initializer_list<std::string_view>) = delete;  // write argv({"ls", "-l"})

  /// Returns true if the command is a line for the shell, and false if it is a program and its arguments.
  bool is_shell() const noexcept { return is_shell_; }
  /// Returns the line for the shell; empty if `is_shell()` is false.
  const std::string& line() const noexcept { return line_; }
  /// Returns the program and its arguments; empty if `is_shell()` is true.
  const std::vector<std::string>& words() const noexcept { return words_; }

  /// Replaces the shell line, or the program and its arguments, by `words`: a program and its arguments, which run
  /// without a shell. Keeps all other settings. This function is for layers (middleware).
  void become_argv(std::vector<std::string> words) {
    is_shell_ = false;
    line_.clear();
    words_ = std::move(words);
  }

  /// Sets the time limit, counted from the start of the command. When it expires, the command and all processes that it
  /// started are ended.
  /// \param limit  more than zero, or `no_timeout`.
  /// \throws error{exec_errc::invalid_argument} if `limit` is zero or less.
  command& timeout(std::chrono::milliseconds limit) & {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument,
                  "command: the timeout must be longer than zero (use no_timeout for no limit)");
    timeout_ = limit;
    return *this;
  }
  [[nodiscard]] command timeout(std::chrono::milliseconds limit) && { return std::move(timeout(limit)); }
  /// Returns the time limit; no value if none was set.
  std::optional<std::chrono::milliseconds> timeout() const noexcept { return timeout_; }
  /// Lowers the time limit to `limit` if the current limit is longer. Sets it to `limit` if none was set.
  void shorten_timeout(std::chrono::milliseconds limit) {
    if (!timeout_ || *timeout_ > limit) timeout(limit);
  }

  /// Sets the directory in which the command starts, as a path relative to the workspace. The default is the workspace
  /// itself.
  command& working_directory(std::string path) & {
    rare_.change().directory = std::move(path);
    return *this;
  }
  [[nodiscard]] command working_directory(std::string path) && { return std::move(working_directory(std::move(path))); }
  const std::string& working_directory() const noexcept { return rare_.get().directory; }

  /// Adds an environment variable, or replaces its value. The command gets its other environment variables from the
  /// sandbox it runs in, never from the host program.
  /// \throws error{exec_errc::invalid_argument} if the name is empty or contains `=`, NUL or a line break, or if the
  ///     value contains NUL.
  /// \throws error{exec_errc::too_large} if the name and the value together have more than 131071 bytes, the limit of
  ///     Linux.
  command& variable(std::string name, std::string value) & {
    if (name.empty() || name.find_first_of(std::string_view("=\0\n\r", 4)) != std::string::npos)
      throw error(exec_errc::invalid_argument,
                  "command: a variable's name must not be empty and must not contain '=', NUL or a line break");
    if (value.find('\0') != std::string::npos)
      throw error(exec_errc::invalid_argument, "command: a variable's value contains a NUL byte");
    if (name.size() + value.size() + 2 > max_string)
      throw error(exec_errc::too_large, "command: a variable of " + std::to_string(name.size() + value.size() + 1) +
                                            " bytes; Linux allows at most 131071 for name and value together");
    for (variable_setting& setting : variables_) {
      if (setting.name() == name) {
        setting = variable_setting(std::move(name), std::move(value));
        return *this;
      }
    }
    variables_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  [[nodiscard]] command variable(std::string name, std::string value) && {
    return std::move(variable(std::move(name), std::move(value)));
  }
  /// Returns the variables in the order in which they were added.
  const std::vector<variable_setting>& variables() const noexcept { return variables_; }

  /// Sets the user of the sandbox as whom the command runs, for example `root`. The default is the user of the
  /// environment. Backends that start all commands as one user refuse such a command: running it throws
  /// error{exec_errc::unsupported}. E2B supports it.
  /// \param name  the name of a user of the sandbox. The backend checks that the user exists.
  /// \throws error{exec_errc::invalid_argument} if the name is empty or contains `:` or a control character.
  command& user(std::string name) & {
    const auto is_wrong = [](char c) { return c == ':' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (name.empty() || std::any_of(name.begin(), name.end(), is_wrong))
      throw error(exec_errc::invalid_argument,
                  "command: a user's name must not be empty and must not contain ':' or a control character");
    rare_.change().user = std::move(name);
    return *this;
  }
  [[nodiscard]] command user(std::string name) && { return std::move(user(std::move(name))); }
  /// Returns the user that `user` has set; empty for the user of the environment.
  const std::string& user() const noexcept { return rare_.get().user; }

  /// Sets a label that names the command in the events of `trace` (`cofferdam.command.label`) and of `allow_hosts`
  /// (`network_event::label()`). The programs of the command can read it. The default is no label.
  /// \param text  1 to 64 characters, each a letter or digit of ASCII or one of `-`, `.`, `_` and `~`.
  /// \throws error{exec_errc::invalid_argument} for any other text.
  command& label(std::string text) & {
    const auto is_wrong = [](char c) {
      return !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && c != '-' && c != '.' &&
             c != '_' && c != '~';
    };
    if (text.empty() || text.size() > 64 || std::any_of(text.begin(), text.end(), is_wrong))
      throw error(exec_errc::invalid_argument,
                  "command: a label has 1 to 64 characters, each an ASCII letter, a digit, '-', '.', '_' or '~'");
    rare_.change().label = std::move(text);
    return *this;
  }
  [[nodiscard]] command label(std::string text) && { return std::move(label(std::move(text))); }
  /// Returns the label; empty if none was set.
  const std::string& label() const noexcept { return rare_.get().label; }

  /// Sets the content of standard input. If it is not set, standard input is `/dev/null`.
  command& input(bytes content) & {
    input_ = std::move(content);
    return *this;
  }
  [[nodiscard]] command input(bytes content) && { return std::move(input(std::move(content))); }
  command& input(std::string_view text) & { return input(to_bytes(text)); }
  [[nodiscard]] command input(std::string_view text) && { return std::move(input(to_bytes(text))); }
  const std::optional<bytes>& input() const noexcept { return input_; }
  /// Moves the content of standard input out of the command; empty if none was set. Backends use this function to avoid
  /// a copy.
  bytes take_input() { return input_ ? std::move(*input_) : bytes(); }

  /// Keeps standard input open for `process::write_input`. Only `start` supports this; `run_command` refuses such a
  /// command.
  command& open_input() & {
    has_open_input_ = true;
    return *this;
  }
  [[nodiscard]] command open_input() && { return std::move(open_input()); }
  /// Returns true if `open_input` was called.
  bool has_open_input() const noexcept { return has_open_input_; }

  /// Runs the command in a pseudo-terminal instead of with pipes. Line editing, ^C and the window size work as in a
  /// terminal. The command's standard output and standard error both arrive in `out()`. After the content that was set
  /// with `input()`, the terminal sends ^D, which ends the input; call `open_input()` to write more input while the
  /// command runs.
  /// \param rows, columns  the size of the terminal in characters, each 1 to 65535.
  /// \throws error{exec_errc::invalid_argument} if a number is zero.
  command& terminal(std::uint16_t rows, std::uint16_t columns) & {
    if (rows == 0 || columns == 0)
      throw error(exec_errc::invalid_argument, "command: a terminal must have at least one row and one column");
    terminal_ = terminal_size(rows, columns);
    return *this;
  }
  [[nodiscard]] command terminal(std::uint16_t rows, std::uint16_t columns) && {
    return std::move(terminal(rows, columns));
  }
  /// Returns the initial size of the terminal; no value if the command runs with pipes.
  const std::optional<terminal_size>& terminal() const noexcept { return terminal_; }

  /// Sets the policy for processes that still run when the command has ended, for example a server. The default is
  /// `background_policy::kill`. With `background_policy::keep`, `left_running()` of the result is true if such
  /// processes exist, and their later output is discarded. The environment can list and end them, for example with
  /// `local_environment::background`. If a backend cannot keep processes, running the command throws
  /// error{exec_errc::unsupported}.
  command& background(background_policy policy) & {
    background_ = policy;
    return *this;
  }
  [[nodiscard]] command background(background_policy policy) && { return std::move(background(policy)); }
  background_policy background() const noexcept { return background_; }

  /// Sets the maximum number of bytes that the result keeps of each output stream. If a stream is longer, half of the
  /// kept bytes come from its start and half from its end. The result counts all bytes, also those that it does not
  /// keep. 0 keeps nothing. The default is `default_kept_output`.
  command& keep_output(std::size_t bytes_per_stream) & {
    kept_output_ = bytes_per_stream;
    return *this;
  }
  [[nodiscard]] command keep_output(std::size_t bytes_per_stream) && {
    return std::move(keep_output(bytes_per_stream));
  }
  /// Returns the number of bytes that `keep_output` sets; no value if none was set.
  std::optional<std::size_t> kept_output() const noexcept { return kept_output_; }
  /// Lowers the maximum number of kept bytes to `max_bytes` if the current maximum is higher. Sets it if none was set.
  void reduce_kept_output(std::size_t max_bytes) {
    if (!kept_output_ || *kept_output_ > max_bytes) kept_output_ = max_bytes;
  }

  /// The maximum size in bytes of a single argument or environment variable in Linux, including its NUL
  /// (MAX_ARG_STRLEN, execve(2)).
  static constexpr std::size_t max_string = 128 * 1024;
  /// The default number of bytes that a result keeps of each output stream.
  static constexpr std::size_t default_kept_output = 1024 * 1024;

 private:
  friend command shell(std::string line);
  friend command argv(detail::word_list words);

  /// The settings that few commands have. They are stored apart, because each layer moves the command, and the move of
  /// each string needs time.
  class rare_settings {
   public:
    class values {
     public:
      std::string directory = ".";
      std::string user;
      std::string label;
    };

    rare_settings() = default;
    rare_settings(const rare_settings& other)
        : changed_(other.changed_ ? std::make_unique<values>(*other.changed_) : nullptr) {}
    rare_settings(rare_settings&&) noexcept = default;
    rare_settings& operator=(const rare_settings& other) { return *this = rare_settings(other); }
    rare_settings& operator=(rare_settings&&) noexcept = default;
    ~rare_settings() = default;

    const values& get() const noexcept {
      static const values defaults;
      return changed_ ? *changed_ : defaults;
    }
    values& change() {
      if (!changed_) changed_ = std::make_unique<values>();
      return *changed_;
    }

   private:
    std::unique_ptr<values> changed_;
  };

  bool is_shell_ = false;
  bool has_open_input_ = false;
  background_policy background_ = background_policy::kill;
  std::string line_;
  std::vector<std::string> words_;
  std::optional<std::chrono::milliseconds> timeout_;
  rare_settings rare_;
  std::vector<variable_setting> variables_;
  std::optional<bytes> input_;
  std::optional<std::size_t> kept_output_;
  std::optional<terminal_size> terminal_;
};

/// Makes a command from a line for the shell of the environment, which is bash if it is installed and sh otherwise:
/// `shell("ls | wc -l")`.
/// \param line  any text. If it contains a NUL byte, the backend returns `error_kind::invalid_argument`.
inline command shell(std::string line) {
  command result;
  result.is_shell_ = true;
  result.line_ = std::move(line);
  return result;
}

/// Quotes `text` so that the shell reads it as one word, whatever characters it contains: `shell("grep -c " +
/// shell_quote(word))`.
inline std::string shell_quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

/// Makes a command from a program and its arguments, given as a `std::vector<std::string>` or in braces: `argv({"ls",
/// "-l"})`. The command runs without a shell.
inline command argv(detail::word_list words) {
  command result;
  result.words_ = words.take();
  return result;
}

/// Makes a command from a program and its arguments: `argv("ls", "-l")`. The command runs without a shell.
template <std::convertible_to<std::string>... Words>
  requires(sizeof...(Words) > 0)
command argv(Words&&... words) {
  return argv(detail::word_list(std::forward<Words>(words)...));
}

}  // namespace cofferdam::inline COFFERDAM_ABI
