// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/list_options.hpp>
#include <cofferdam/core/listing_environment.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/workspace_path.hpp>

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
    "exec find -H \"$1\" -mindepth 1 ${3:+-maxdepth \"$3\"} -exec sh -c \"$2\" sh {} +";

/// Reads the records that `describe_script` writes: "type size mode path\0".
inline std::vector<entry> parse_descriptions(std::string_view text, std::size_t prefix_length, listing_room room) {
  std::vector<entry> entries;
  const auto broken = [&] {
    return error(errc::io_error, "list " + shown_path(room.path()) + ": the environment's answer cannot be read");
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
    room.take_names(1);
    room.take_path(shown);
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
  std::vector<entry> found = parse_descriptions(as_text(result.out().head()), 2, listing_room(list_options(), path));
  if (found.size() != 1)
    throw error(errc::io_error, "stat '" + one_line(path) + "': the environment's answer cannot be read");
  co_return std::move(found.front());
}

template <class E>
awaitable<std::vector<entry>> list_by_command(E& environment, std::string path, list_options options) {
  const std::string start = below_workspace(path);
  const std::size_t prefix = start == "./" ? 2 : start.size() + 1;
  std::vector<std::string> words{"sh", "-c", std::string(list_script), "sh", start, std::string(describe_script)};
  if (options.depth() < 1'000'000) words.push_back(std::to_string(options.depth()));  // a deeper path is none
  command_result result = co_await environment.run_command(file_command(std::move(words)));
  if (!result.ok()) throw_file_failure(result, "list", path);
  if (result.out().cut() != 0)
    throw error(errc::too_large, "list '" + one_line(path) + "': more names than fit in 16 MiB; list a subdirectory");
  co_return parse_descriptions(as_text(result.out().head()), prefix, listing_room(options, path));
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

/// Everything beneath the directory `path`, at every depth unless the options say otherwise, as paths relative to it, in
/// byte order. Symbolic links are listed and not entered.
/// \param path  "." lists the whole workspace.
/// \throws error{errc::not_found}, error{errc::not_a_directory}; error{errc::too_large} rather than a list cut short.
template <code_exec_environment E>
awaitable<std::vector<entry>> list(E& environment, std::string path, list_options options = list_options()) {
  if constexpr (requires { environment.list(std::move(path), options); }) {
    return environment.list(std::move(path), options);
  } else {
    static_assert(!detail::is_layer<E>, "cofferdam: this layer lost list(): write it beside read_file");
    static_assert(
        !requires { environment.list(std::move(path)); },
        "cofferdam: an environment's list() takes list_options as well: list(std::string, list_options)");
    return detail::list_by_command(environment, std::move(path), options);
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
