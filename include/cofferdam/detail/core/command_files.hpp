// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

// File operations for an environment that has no `files()` of its own. They use `read_file`, `write_file` and commands
// in the environment: POSIX sh, mkdir, rm, mv, and the find and stat of coreutils or BusyBox. File names are passed as
// arguments with `./` before them, so that no program and no shell takes them for an option or a special name. The
// commands print names separated by NUL.
//
// The class `with_command_files` wraps the backend's environment directly, below all layers (middleware around the
// environment). So a layer that allows only certain commands does not see these commands and needs no patterns for
// them. A pattern such as `rm .*` would be dangerous, because a command of a model could match it too.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The base class that marks layers. If a layer has no `files()`, because it defines `read_file` or `write_file`
/// itself, using its file operations is a compile error. The library does not replace them by commands, because the
/// commands would bypass these two functions of the layer.
class layer_tag {};

template <class E>
inline constexpr bool is_layer = std::derived_from<E, layer_tag>;

/// The maximum output in bytes of a command that lists files; enough for about 200,000 names.
inline constexpr std::size_t max_listing = 16 * 1024 * 1024;

inline std::string below_workspace(std::string_view path) {
  const std::string inside = workspace_path_or_root(path);
  return inside == "." ? "./" : "./" + inside;
}

/// Texts that file commands of GNU and BusyBox print about a failure, and the code of the error. If several match, the
/// first counts.
inline constexpr std::pair<std::string_view, exec_errc> file_failures[] = {
    {"No such file", exec_errc::not_found},
    {"Permission denied", exec_errc::permission_denied},
    {"not permitted", exec_errc::permission_denied},
    {"with non-directory", exec_errc::not_a_file},
    {"s a directory", exec_errc::not_a_file},
    {"ot a directory", exec_errc::not_a_directory},
    {"overwrite non-directory", exec_errc::not_a_directory},
    {"has non-directory component", exec_errc::not_a_directory},
    {"File exists", exec_errc::already_exists},
    {"Directory not empty", exec_errc::not_empty},
    {"to a subdirectory of itself", exec_errc::invalid_argument},
    {": Invalid argument", exec_errc::invalid_argument},
};

/// Returns what a failed command has written to standard error, in one line; if that is nothing, how it has ended.
inline std::string complaint_of(const command_result& result) {
  std::string text = result.err().text();
  while (text.ends_with('\n')) text.pop_back();
  return one_line(text.empty() ? result.summary() : text);
}

/// Removes everything in quotes from a message: the names of files, which could contain any words.
inline std::string without_names(std::string_view message) {
  std::string rest;
  while (!message.empty()) {
    const std::size_t quote = std::min(message.find_first_of("'\"\\"), message.size());
    rest += message.substr(0, quote);
    message.remove_prefix(quote);
    if (message.empty()) break;
    const std::size_t end = message.front() == '\\' ? 1 : message.find(message.front(), 1);
    message.remove_prefix(end == std::string_view::npos ? 1 : std::min(end + 1, message.size()));
  }
  return rest;
}

/// Throws the error that corresponds to the failure of a file command.
/// \param doing  the name of the operation, for the error message.
/// \param taken  the code for an entry that exists at the path.
[[noreturn]] inline void throw_file_failure(const command_result& result, std::string_view doing, std::string_view path,
                                            exec_errc taken = exec_errc::already_exists) {
  const std::string sentence = std::string(doing) + " '" + one_line(path) + "': " + complaint_of(result);
  // Only standard error is searched. A reason of the library such as "no such file" is about the program.
  const std::string words_of_command = without_names(result.err().text());
  for (const auto& [words, code] : file_failures)
    if (words_of_command.find(words) != std::string::npos)
      throw error(code == exec_errc::already_exists ? taken : code, sentence);
  throw error(exec_errc::io_error, sentence, result.cause());
}

// Prints a record of two texts for each file: the facts with the path, and the target of a symbolic link. An "x" after
// the target protects line breaks at its end, which the shell would remove. `stat` prints UNKNOWN for an id that has no
// name. In a listing, `$0` is "list"; entries that another program has just removed are left out then, but an entry in
// a directory that cannot be searched is an error. In all these scripts, the message of `ls` has the reason why an
// entry is not found: it is missing, or a file is in the place of a directory above it. If `ls` finds the entry, it was
// created in this moment, or is a link without a target.
inline constexpr std::string_view describe_script =
    "for f do l=; if [ -L \"$f\" ]; then t=l; l=$(readlink -n \"$f\" && echo x); l=${l%x}; elif [ -d \"$f\" ]; then "
    "t=d; elif [ -f \"$f\" ]; then t=f; elif [ -e \"$f\" ]; then t=o; elif [ \"$0\" = list ] && [ -x \"${f%/*}\" ]; "
    "then "
    "continue; else "
    "ls -d \"$f\" >/dev/null && echo 'No such file' >&2; exit 1; fi; "
    "if s=$(stat -c '%s %a %Y %u %g %U %G' \"$f\"); then printf '%s %s %s\\0%s\\0' \"$t\" \"$s\" \"$f\" \"$l\"; "
    "elif [ \"$0\" != list ]; then exit 1; fi; done";

inline constexpr std::string_view list_script =
    "if [ ! -e \"$1\" ]; then ls -d \"$1\" >/dev/null && echo 'No such file' >&2; exit 1; fi; "
    "if [ ! -d \"$1\" ]; then echo 'Not a directory' >&2; exit 1; fi; "
    "exec find -H \"$1\" -mindepth 1 ${3:+-maxdepth \"$3\"} -exec sh -c \"$2\" list {} +";

inline constexpr std::string_view remove_script =
    "if [ ! -e \"$1\" ] && [ ! -L \"$1\" ]; then ls -d \"$1\" >/dev/null && echo 'No such file' >&2; exit 1; fi; "
    "exec rm -rf \"$1\"";

/// A reader for the fields of one record of `describe_script`, which are separated by blanks.
class description_fields {
 public:
  explicit description_fields(std::string_view record) noexcept : rest_(record) {}

  /// Returns the next field. Becomes invalid if there is none.
  std::string_view next() noexcept {
    const std::size_t end = rest_.find(' ');
    is_valid_ = is_valid_ && end != std::string_view::npos;
    if (!is_valid_) return {};
    const std::string_view field = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return field;
  }
  /// Returns the next field as a number. Becomes invalid if it is none.
  template <class Number>
  Number number(int base = 10) noexcept {
    const std::string_view field = next();
    Number value{};
    const std::from_chars_result parsed = std::from_chars(field.data(), field.data() + field.size(), value, base);
    is_valid_ = is_valid_ && parsed.ec == std::errc{} && parsed.ptr == field.data() + field.size();
    return value;
  }
  /// Returns the next field as the name of a user or a group; empty if there is no such name.
  std::string name() {
    const std::string_view field = next();
    return field == "UNKNOWN" ? std::string() : std::string(field);
  }
  /// Returns everything after the fields that were read.
  std::string_view rest() const noexcept { return rest_; }
  bool is_valid() const noexcept { return is_valid_; }

 private:
  std::string_view rest_;
  bool is_valid_ = true;
};

/// Parses the records that `describe_script` prints: "type size mode mtime uid gid user group path\0target\0".
/// \param prefix_length  the number of bytes to remove from the start of each path: the listed directory and a slash.
inline std::vector<directory_entry> parse_descriptions(std::string_view text, std::size_t prefix_length,
                                                       listing_room room) {
  std::vector<directory_entry> entries;
  const auto broken = [&] {
    return error(exec_errc::io_error, "list " + shown_path(room.path()) + ": the environment sent an invalid answer");
  };
  const auto next_text = [&] {
    const std::size_t end = text.find('\0');
    if (end == std::string_view::npos) throw broken();
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(end + 1);
    return part;
  };
  while (!text.empty()) {
    description_fields fields(next_text());
    const std::string_view target = next_text();
    const std::string_view letter = fields.next();
    const auto size = fields.number<std::uint64_t>();
    const auto mode = fields.number<unsigned>(8);
    const auto seconds = fields.number<std::int64_t>();
    const auto owner = fields.number<std::uint32_t>();
    const auto group = fields.number<std::uint32_t>();
    std::string owner_name = fields.name();
    std::string group_name = fields.name();
    const std::string_view name = fields.rest();
    if (!fields.is_valid() || name.size() < prefix_length) throw broken();
    file_type type = file_type::other;
    if (letter == "f") type = file_type::regular;
    if (letter == "d") type = file_type::directory;
    if (letter == "l") type = file_type::symlink;
    std::string shown(name.substr(prefix_length));
    if (shown.empty()) shown = ".";
    room.take_names(1);
    room.take_path(shown);
    room.take_path(target);
    directory_entry& entry =
        entries.emplace_back(std::move(shown), type, type == file_type::regular ? size : 0, mode & 0777U);
    entry.ids(owner, group).names(std::move(owner_name), std::move(group_name)).target(std::string(target));
    if (const auto when = file_time(seconds, 0)) entry.modified(*when);
  }
  std::sort(entries.begin(), entries.end(),
            [](const directory_entry& a, const directory_entry& b) { return a.path() < b.path(); });
  return entries;
}

inline command file_command(std::vector<std::string> words) { return argv(std::move(words)).keep_output(max_listing); }

// In the functions below, `place` is a path as commands receive it: an absolute path, or a path with `./` before it.

/// Returns the length of the part of a place that the path of an entry does not have.
inline std::size_t prefix_of(std::string_view place) noexcept { return place.starts_with("./") ? 2 : 0; }

/// Returns the path of a place for messages.
inline std::string path_of_place(std::string_view place) {
  place.remove_prefix(prefix_of(place));
  return std::string(place.empty() ? "." : place);
}

template <class E>
awaitable<directory_entry> stat_place(E& environment, std::string place) {
  std::vector<std::string> words{"sh", "-c", std::string(describe_script), "sh", place};
  command_result result = co_await environment.run_command(file_command(std::move(words)));
  const std::size_t prefix = prefix_of(place);
  const std::string path = path_of_place(place);
  if (!result.ok()) throw_file_failure(result, "stat", path);
  std::vector<directory_entry> found =
      parse_descriptions(as_text(result.out().head()), prefix, listing_room(list_options(), path));
  if (found.size() != 1)
    throw error(exec_errc::io_error, "stat '" + one_line(path) + "': the environment sent an invalid answer");
  co_return std::move(found.front());
}

template <class E>
awaitable<directory_entry> stat_by_command(E& environment, std::string path) {
  return stat_place(environment, below_workspace(path));
}

template <class E>
awaitable<std::vector<directory_entry>> list_place(E& environment, std::string place, list_options options) {
  const std::size_t prefix = place.ends_with('/') ? place.size() : place.size() + 1;
  const std::string path = path_of_place(place);
  std::vector<std::string> words{"sh", "-c", std::string(list_script), "sh", place, std::string(describe_script)};
  // A path of a million levels cannot exist, so a larger depth is no limit.
  if (options.depth() < 1'000'000) words.push_back(std::to_string(options.depth()));
  command_result result = co_await environment.run_command(file_command(std::move(words)));
  if (!result.ok()) throw_file_failure(result, "list", path);
  if (result.out().cut() != 0)
    throw error(exec_errc::too_large,
                "list '" + one_line(path) + "': more names than fit in 16 MiB; list a subdirectory");
  co_return parse_descriptions(as_text(result.out().head()), prefix, listing_room(options, path));
}

template <class E>
awaitable<std::vector<directory_entry>> list_by_command(E& environment, std::string path, list_options options) {
  return list_place(environment, below_workspace(path), options);
}

/// Runs a command that changes files. Ignores its output. Throws if it fails.
/// \param taken  the code for an entry that exists at the path.
template <class E>
awaitable<void> change_by_command(E& environment, std::vector<std::string> words, std::string doing, std::string path,
                                  exec_errc taken = exec_errc::already_exists) {
  command_result result = co_await environment.run_command(file_command(std::move(words)));
  if (!result.ok()) throw_file_failure(result, doing, path, taken);
}

template <class E>
awaitable<void> remove_place(E& environment, std::string place) {
  std::string path = path_of_place(place);
  std::vector<std::string> words{"sh", "-c", std::string(remove_script), "sh", std::move(place)};
  return change_by_command(environment, std::move(words), "remove", std::move(path));
}

template <class E>
awaitable<void> remove_by_command(E& environment, std::string path) {
  return remove_place(environment, below_workspace(path));
}

template <class E>
awaitable<void> make_directory_place(E& environment, std::string place) {
  std::string path = path_of_place(place);
  std::vector<std::string> words{"mkdir", "-p", std::move(place)};
  // With -p, a directory at the path is no failure.
  return change_by_command(environment, std::move(words), "make directory", std::move(path),
                           exec_errc::not_a_directory);
}

template <class E>
awaitable<void> make_directory_by_command(E& environment, std::string path) {
  return make_directory_place(environment, below_workspace(path));
}

template <class E>
awaitable<void> rename_place(E& environment, std::string from, std::string to) {
  std::string doing = "rename '" + one_line(path_of_place(from)) + "' to";
  std::string path = path_of_place(to);
  // mv fails if both paths are the same; rename(2) does nothing then, but the entry must exist.
  std::vector<std::string> words{"mv", "-f", "-T", from, to};
  if (from == to) words = {"ls", "-d", std::move(to)};
  return change_by_command(environment, std::move(words), std::move(doing), std::move(path));
}

// A transfer of single files uses the environment's own `stat` and `make_directory`, if it has these members, and
// commands otherwise.

template <class E>
awaitable<directory_entry> own_stat(E& environment, std::string path) {
  if constexpr (requires { environment.stat(path); }) {
    return environment.stat(std::move(path));
  } else {
    return stat_by_command(environment, std::move(path));
  }
}

template <class E>
awaitable<void> own_make_directory(E& environment, std::string path) {
  if constexpr (requires { environment.make_directory(path); }) {
    return environment.make_directory(std::move(path));
  } else {
    return make_directory_by_command(environment, std::move(path));
  }
}

/// The maximum size in bytes of a file in a transfer, if the environment reads and writes only whole files. The limit
/// exists because the whole file is in memory.
inline constexpr std::size_t max_whole_file = std::size_t{256} * 1024 * 1024;

/// Sets a mode with an executable bit by a command, because an environment has no operation for this.
template <class E>
awaitable<void> make_executable(E& environment, std::string path, unsigned mode) {
  std::string digits;
  for (int shift = 6; shift >= 0; shift -= 3) digits += static_cast<char>('0' + ((mode >> shift) & 7U));
  command change = argv("chmod", digits, "./" + path);
  command_result result = co_await environment.run_command(std::move(change));
  if (result.ok()) co_return;
  throw error(
      exec_errc::permission_denied,
      "put " + shown_path(path) + ": the file was written, but could not be made executable: " + complaint_of(result));
}

template <class E>
awaitable<transferred_file> put_whole(E& environment, file_source& source, const file_header& header) {
  const std::string path = workspace_path(header.destination());
  if (header.type() == file_type::directory) {
    co_await own_make_directory(environment, path);
    co_return transferred_file(header.source(), path, 0);
  }
  bytes content;
  for (;;) {
    const bytes piece = co_await source.read(file_piece);
    if (piece.empty()) break;
    if (piece.size() > max_whole_file - content.size())
      throw error(exec_errc::too_large,
                  "put " + shown_path(header.source()) + ": longer than " + std::to_string(max_whole_file) +
                      " bytes, the maximum for an environment that cannot receive a file in parts");
    content.insert(content.end(), piece.begin(), piece.end());
  }
  const bytes_view view(content);
  co_await environment.write_file(path, view);
  constexpr unsigned executable = 0111;
  if ((header.mode() & executable) != 0) co_await make_executable(environment, path, header.mode() & 0777U);
  co_return transferred_file(header.source(), path, content.size());
}

template <class E>
awaitable<transfer_result> put_one_by_one(E& environment, file_source& source) {
  return put_each(
      source, [&environment, &source](const file_header& header) { return put_whole(environment, source, header); });
}

/// A source of files from an environment that can only read whole files.
template <class E>
class whole_file_source final : public file_source {
 public:
  whole_file_source(E& environment, std::vector<file_request> requests)
      : environment_(environment), requests_(std::move(requests)) {}

  awaitable<std::optional<file_header>> next() override {
    content_.clear();
    sent_ = 0;
    if (at_ == requests_.size()) co_return std::nullopt;
    const file_request& request = requests_[at_++];
    std::optional<file_header> header;
    try {
      const directory_entry found = co_await own_stat(environment_, request.path());
      content_ = co_await environment_.read_file(request.path(), max_whole_file);
      // `stat` describes the link, whose permission bits are not those of the file that is read.
      const unsigned mode = found.type() == file_type::symlink ? 0644U : found.mode();
      header.emplace(request.path(), request.destination(), file_type::regular, content_.size(), mode);
    } catch (const error& failure) {
      if (ends_everything(failure)) throw;
      header.emplace(request.path(), failure);
    }
    co_return header;
  }

  awaitable<bytes> read(std::size_t max_bytes) override {
    const std::size_t count = std::min(max_bytes, content_.size() - sent_);
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

/// The operations of a `file_system`, implemented by the other operations of an environment. The object refers to the
/// environment, which must outlive it.
template <class E>
class command_files {
 public:
  /// Refers to an environment.
  /// \param root  the absolute path of the workspace inside the environment. Absolute paths beneath it are accepted. If
  ///              `root` is empty, no absolute path is accepted.
  explicit command_files(E& environment, std::string root = {}) : environment_(environment), root_(std::move(root)) {}

  awaitable<directory_entry> stat(std::string path) {
    return stat_by_command(environment_, workspace_path_or_root(path, root_));
  }
  awaitable<std::vector<directory_entry>> list(std::string path, list_options options) {
    return list_by_command(environment_, workspace_path_or_root(path, root_), options);
  }
  awaitable<void> make_directory(std::string path) {
    return make_directory_by_command(environment_, workspace_path_or_root(path, root_));
  }
  awaitable<void> remove(std::string path) { return remove_by_command(environment_, workspace_path(path, root_)); }
  awaitable<void> rename(std::string from, std::string to) {
    return rename_place(environment_, below_workspace(workspace_path(from, root_)),
                        below_workspace(workspace_path(to, root_)));
  }
  awaitable<transfer_result> put_files(file_source& source) { return put_one_by_one(environment_, source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return whole_files(environment_, std::move(requests));
  }

 private:
  static awaitable<std::unique_ptr<file_source>> whole_files(E& environment, std::vector<file_request> requests) {
    std::unique_ptr<file_source> source = std::make_unique<whole_file_source<E>>(environment, std::move(requests));
    co_return source;
  }

  E& environment_;
  std::string root_;
};

/// A base class that gives `Derived` the operations of a `file_system`. They use the members `run_command`,
/// `write_file` and `root()` of `Derived`; `root()` returns the absolute path of the workspace inside the environment.
template <class Derived>
class operations_by_command : public file_system_adaptor<Derived, no_interface> {
 public:
  template <class Operation>
  auto call(Operation operation) {
    command_files<Derived> files(this->derived(), this->derived().root());
    return operation(files);
  }
};

/// The state that a `with_command_files` shares with the `file_system` objects that it returned. It refers to the
/// environment, which may be moved or destroyed before them.
template <class E>
class command_file_system final : public file_system_adaptor<command_file_system<E>> {
 public:
  explicit command_file_system(E& environment) noexcept : environment_(&environment) {}

  /// Refers to the environment at its new address after a move. Does nothing after `end`.
  void move_to(E& environment) noexcept {
    if (environment_ != nullptr) environment_ = &environment;
  }
  void end() noexcept { environment_ = nullptr; }

  template <class Operation>
  auto call(Operation operation) {
    if (environment_ == nullptr)
      throw error(exec_errc::environment_closed, "files: the environment is closed; open another one");
    command_files<E> files(*environment_);
    return operation(files);
  }

 private:
  E* environment_;
};

/// An environment whose author wrote file operations as direct members. The library calls only the members of
/// `files()`, so it rejects such an environment at compile time.
template <class E>
concept has_file_members = requires(E& e, std::string path, list_options options) {
  { e.list(std::move(path), options) } -> awaitable_of<std::vector<directory_entry>>;
} || requires(E& e, std::string path) {
  { e.stat(std::move(path)) } -> awaitable_of<directory_entry>;
} || requires(E& e, file_source& source) {
  { e.put_files(source) } -> awaitable_of<transfer_result>;
};

/// An environment that had no `files()`, with a `files()` that runs commands. Everything else is inherited from that
/// environment.
template <class E>
class with_command_files : public E {
 public:
  static_assert(!std::is_final_v<E>,
                "cofferdam: this environment has no files(), and they cannot be added because its class is final: "
                "define file_system files(), or remove final");
  static_assert(!has_file_members<E>,
                "cofferdam: list, stat, put_files and the like are never called on an environment; define file_system "
                "files(), and put them into the file_system that files() returns");

  explicit with_command_files(E wrapped)
      : E(std::move(wrapped)), files_(std::make_shared<command_file_system<E>>(*this)) {}
  with_command_files(with_command_files&& other) noexcept(std::is_nothrow_move_constructible_v<E>)
      : E(static_cast<E&&>(other)), files_(std::exchange(other.files_, nullptr)) {
    if (files_) files_->move_to(*this);
  }
  with_command_files& operator=(with_command_files&& other) noexcept(std::is_nothrow_move_assignable_v<E>) {
    if (this == &other) return *this;
    end();
    E::operator=(static_cast<E&&>(other));
    files_ = std::exchange(other.files_, nullptr);
    if (files_) files_->move_to(*this);
    return *this;
  }
  ~with_command_files() { end(); }

  file_system files() { return file_system(files_); }

  awaitable<void> close() {
    end();
    return E::close();
  }

 private:
  void end() noexcept {
    if (files_) files_->end();
  }

  std::shared_ptr<command_file_system<E>> files_;
};

/// Adds `files()` to the type of an environment that has none. All other types stay unchanged. A layer without
/// `files()` stays unchanged too: the `files()` added here runs commands, which would bypass the layer's own
/// `read_file` and `write_file`.
template <class E>
struct completed {
  using type = E;
};
template <code_exec_environment E>
  requires(!file_environment<E> && !is_layer<E>)
struct completed<E> {
  using type = with_command_files<E>;
};

/// The type in which the library holds an opened `E`. If `E` is an environment, the type has `files()`.
template <class E>
using completed_t = typename completed<E>::type;

/// The type that `open()` of a provider yields, with `files()` added.
template <class P>
using opened_by = completed_t<environment_of<P>>;

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
