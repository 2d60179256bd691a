// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/command_files.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/file_metadata.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The files of a sandbox, as its clients name them: those in the workspace, by paths relative to it, and those
/// elsewhere in the guest, by absolute paths (`guest_paths::locate`).
///
/// Files in the workspace use the environment's own file operations. All others, and those to which a symbolic link
/// leads out of the workspace, use commands in the environment: they have the rights of the guest's user, and every
/// layer (middleware of the provider) sees them. So a client can do nothing that its commands could not do.
///
/// Files elsewhere are available only if the environment reports that the files of the host are isolated from its
/// commands. Otherwise these would be the files of the host.
class guest_files {
 public:
  explicit guest_files(served_sandbox& sandbox) noexcept : sandbox_(sandbox) {}

  awaitable<directory_entry> stat(std::string path) {
    directory_entry found;
    const auto looks = [&]() -> awaitable<void> { found = co_await environment().files().stat(path); };
    const bool is_done = co_await try_inside(path, looks);
    if (!is_done) found = co_await cofferdam::detail::stat_place(environment(), place(path));
    co_return found;
  }

  awaitable<std::vector<directory_entry>> list(std::string path, list_options options) {
    std::vector<directory_entry> found;
    const auto lists = [&]() -> awaitable<void> { found = co_await environment().files().list(path, options); };
    const bool is_done = co_await try_inside(path, lists);
    if (!is_done) found = co_await cofferdam::detail::list_place(environment(), place(path), options);
    co_return found;
  }

  awaitable<void> make_directory(std::string path) {
    const auto makes = [&] { return environment().files().make_directory(path); };
    const bool is_done = co_await try_inside(path, makes);
    if (!is_done) co_await cofferdam::detail::make_directory_place(environment(), place(path));
  }

  awaitable<void> remove(std::string path) {
    const auto removes = [&] { return environment().files().remove(path); };
    const bool is_done = co_await try_inside(path, removes);
    if (!is_done) co_await cofferdam::detail::remove_place(environment(), place(path));
  }

  /// Renames a file or directory, with the metadata of all files in it. One of the paths may be in the workspace, and
  /// the other elsewhere.
  awaitable<void> rename(std::string from, std::string to) {
    std::string outside = from;
    if (is_in_workspace(from)) outside = to;
    const auto renames = [&] { return environment().files().rename(from, to); };
    const bool is_done = co_await try_inside(outside, renames);
    if (is_done) co_return;
    // On another file system, the files get a new identity.
    const metadata_map metadata = co_await metadata_below(from, SIZE_MAX);
    co_await cofferdam::detail::rename_place(environment(), place(from), place(to));
    if (metadata.empty()) co_return;
    const std::map<std::string, std::string> moved = co_await identities(to, SIZE_MAX);
    for (const auto& each : moved) {
      const auto found = metadata.find(each.first);
      if (found == metadata.end()) continue;
      co_await assign(each.second, found->second);
    }
  }

  /// Returns the path of the directory to which a path leads by symbolic links, in the form of `guest_paths::locate`;
  /// no value if it leads to no directory.
  awaitable<std::optional<std::string>> directory_behind(std::string path) {
    command reader = argv("/bin/sh", "-c", "pwd -P; cd \"$1\" && pwd -P", "sh", place(std::move(path)));
    const command_result result = co_await environment().run_command(std::move(reader));
    const std::string_view output = as_text(result.out().head());
    const std::size_t line = output.find('\n');
    if (!result.ok() || line == std::string_view::npos || !output.ends_with('\n')) co_return std::nullopt;
    const std::string_view root = output.substr(0, line);
    std::string_view target = output.substr(line + 1);
    if (target.empty()) co_return std::nullopt;
    target.remove_suffix(1);
    if (target == root) co_return ".";
    if (target.size() > root.size() && target.starts_with(root) && target[root.size()] == '/')
      target.remove_prefix(root.size() + 1);
    co_return std::string(target);
  }

  /// Returns what each of these paths leads to by symbolic links: `d` for a directory, `f` for a regular file, `o` for
  /// another entry, and `-` for nothing. Returns an empty text if the command fails.
  awaitable<std::string> kinds_behind(std::vector<std::string> paths) {
    static constexpr std::size_t max_bytes = 64 * 1024;  // of the words of a command
    std::string kinds;
    for (auto next = paths.begin(); next != paths.end();) {
      std::vector<std::string> words{"/bin/sh", "-c", std::string(kinds_script), "sh"};
      const std::size_t first = words.size();
      for (std::size_t size = 0; next != paths.end() && size < max_bytes; ++next) {
        words.push_back(place(std::move(*next)));
        size += words.back().size() + 1;
      }
      const std::size_t count = words.size() - first;
      const command_result result = co_await environment().run_command(argv(std::move(words)));
      const std::string_view letters = as_text(result.out().head());
      if (!result.ok() || letters.size() != count) co_return std::string();
      kinds += letters;
    }
    co_return kinds;
  }

  // ---- metadata of files ----

  /// The metadata of files, by their paths relative to the listed directory; "" for the directory itself.
  using metadata_map = std::map<std::string, metadata_store::values>;

  /// Throws error{exec_errc::unsupported} if the gateway could not find a file again that a command has moved.
  awaitable<void> check_metadata() {
    const std::string home = co_await identity_of(".");
    if (home.empty())
      throw error(exec_errc::unsupported,
                  "file metadata: the gateway recognizes files by the program stat, which this sandbox does not have "
                  "or may not run; leave the metadata out");
  }
  /// Replaces the metadata of a file.
  /// \throws http_refusal 507 if the sandbox has too much metadata.
  awaitable<void> set_metadata(std::string path, metadata_store::values metadata) {
    if (metadata.empty() && store().empty()) co_return;
    const std::string identity = co_await identity_of(path);
    if (!identity.empty()) {
      co_await assign(identity, std::move(metadata));
    } else if (!metadata.empty()) {
      throw error(exec_errc::io_error, "file metadata: " + cofferdam::detail::shown_path(path) +
                                           " was removed before its metadata could be stored");
    }
  }
  /// Returns the metadata of a file; an empty map if it has none.
  awaitable<metadata_store::values> metadata_of(std::string path) {
    if (store().empty()) co_return metadata_store::values();
    const std::string identity = co_await identity_of(std::move(path));
    co_return store().find(identity);
  }
  /// Returns the metadata of the files that are in a directory and have some.
  /// \param depth  the maximum depth; 1 for the entries of the directory itself.
  awaitable<metadata_map> metadata_below(std::string path, std::size_t depth) {
    metadata_map result;
    if (store().empty()) co_return result;
    const std::map<std::string, std::string> found = co_await identities(std::move(path), depth);
    for (const auto& [name, identity] : found)
      if (metadata_store::values metadata = store().find(identity); !metadata.empty())
        result.emplace(name, std::move(metadata));
    co_return result;
  }

  /// Starts a command that prints the size of a regular file in a line, and then its content. Symbolic links are
  /// followed.
  /// \throws error{exec_errc::not_found}, error{exec_errc::not_a_file} or error{exec_errc::permission_denied} if the
  ///     file cannot be read.
  class reading {
   public:
    /// Returns the size of the file; no value for a file whose size the system does not know, such as those of /proc.
    const std::optional<std::uint64_t>& size() const noexcept { return size_; }
    /// Returns the next piece of the content; an empty piece at its end.
    awaitable<bytes> read() {
      if (!first_.empty()) co_return std::exchange(first_, bytes());
      for (;;) {
        const output_chunk piece = co_await running_.read();
        if (piece.data().empty() || piece.stream() == output_stream::out)
          co_return bytes(piece.data().begin(), piece.data().end());
      }
    }

   private:
    friend class guest_files;
    process running_;
    bytes first_;  // the part of the content that has arrived with the size
    std::optional<std::uint64_t> size_;
  };

  /// Opens a regular file that is not in the workspace, or to which a symbolic link in the workspace leads.
  awaitable<reading> open_outside(std::string path) {
    co_await check_walls(path);
    command reader = argv("/bin/sh", "-c", std::string(read_script), "sh", place(path));
    reader.timeout(no_timeout).keep_output(4096);
    reading opened;
    opened.running_ = co_await environment().start(std::move(reader));
    bytes head;
    std::size_t line = std::string_view::npos;
    while (line == std::string_view::npos && head.size() < max_piece) {
      const output_chunk piece = co_await opened.running_.read();
      if (piece.data().empty()) break;
      if (piece.stream() == output_stream::out) head.insert(head.end(), piece.data().begin(), piece.data().end());
      line = as_text(head).find('\n');
    }
    if (line == std::string_view::npos) {
      const command_result result = co_await opened.running_.wait();
      throw failure_of(result, "read", path);
    }
    const char* const text = as_text(head).data();
    const std::from_chars_result parsed = std::from_chars(text, text + line, opened.size_.emplace());
    if (parsed.ec != std::errc{} || parsed.ptr != text + line)
      throw error(exec_errc::io_error,
                  "read " + cofferdam::detail::shown_path(path) + ": the environment sent an invalid answer");
    head.erase(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(line + 1));
    opened.first_ = std::move(head);
    if (*opened.size_ != 0) co_return opened;
    // The system reports this size for an empty file, and for files whose content it makes during the reading.
    opened.first_ = co_await opened.read();
    if (!opened.first_.empty()) {
      opened.size_.reset();
      co_return opened;
    }
    const command_result result = co_await opened.running_.wait();
    if (!result.ok()) throw failure_of(result, "read", path);
    co_return opened;
  }

  /// Throws error{exec_errc::outside_workspace} if files outside of the workspace would be files of the host.
  awaitable<void> check_walls(std::string path) {
    const bool is_walled = co_await served_sandbox::is_walled(sandbox_);
    if (!is_walled)
      throw error(exec_errc::outside_workspace,
                  "path " + cofferdam::detail::shown_path(path) + " is outside " + sandbox_.paths().home() +
                      ", and the backend of this gateway does not isolate the files of its host; use a path in " +
                      sandbox_.paths().home() + ", or a backend with walls, such as jail or docker");
  }

  static constexpr int is_directory = 43;
  static constexpr int is_missing = 44;
  static constexpr int is_denied = 45;
  static constexpr int is_no_file = 46;
  static constexpr int leads_nowhere = 47;

  /// Returns the error for a directory in place of a file.
  static error directory_error(std::string_view doing, std::string_view path) {
    return {exec_errc::not_a_file,
            std::string(doing) + " " + cofferdam::detail::shown_path(path) + ": it is a directory",
            std::make_error_code(std::errc::is_a_directory)};
  }
  static error special_file_error(std::string_view doing, std::string_view path) {
    return {exec_errc::not_a_file, std::string(doing) + " " + cofferdam::detail::shown_path(path) +
                                       ": it is a FIFO, socket or device, and not a regular file"};
  }
  /// Converts the failure of a script, which has one of the exit codes above, to an error.
  static error failure_of(const command_result& result, std::string_view doing, std::string_view path) {
    const std::string what = std::string(doing) + " " + cofferdam::detail::shown_path(path) + ": ";
    const std::string told = one_line(result.err().text());
    if (result.exit_code() == is_missing) return {exec_errc::not_found, what + "no such file"};
    if (result.exit_code() == is_directory) return directory_error(doing, path);
    if (result.exit_code() == is_no_file) return special_file_error(doing, path);
    if (result.exit_code() == leads_nowhere || told.find("levels of symbolic links") != std::string::npos)
      return {exec_errc::invalid_argument,
              what + "it is a symbolic link whose target does not exist, or which leads back to itself"};
    if (told.find("No space left") != std::string::npos || told.find("quota exceeded") != std::string::npos)
      return {exec_errc::io_error, what + told, std::make_error_code(std::errc::no_space_on_device)};
    if (result.exit_code() == is_denied || told.find("ermission denied") != std::string::npos ||
        told.find("ead-only file system") != std::string::npos)
      return {exec_errc::permission_denied, what + "permission denied"};
    if (result.kind() != error_kind::none) return {exec_errc::permission_denied, what + result.reason()};
    return {exec_errc::io_error, what + (told.empty() ? result.reason() : told)};
  }

 private:
  // Prints the identity and the path of the regular files in a directory, or of one file, to which a symbolic link may
  // lead. No path contains "//".
  static constexpr std::string_view identity_script = R"sh(f='//%d:%i:%w//%n'
if [ "$2" = 0 ]; then exec stat -L -c "$f" -- "$1"; fi
exec find "$1" -maxdepth "$2" -type f -exec stat -c "$f" {} +)sh";

  /// Returns the identity of a file: its device, its number on the device, and the time of its creation, by which it
  /// differs from an earlier file with the same number. An empty text if there is no such file, or no program `stat`.
  awaitable<std::string> identity_of(std::string path) {
    std::map<std::string, std::string> found = co_await identities(std::move(path), 0);
    if (found.empty()) co_return std::string();
    co_return std::move(found.begin()->second);
  }
  /// Returns the identities of the files in a directory, by their paths relative to the directory.
  /// \param depth  the maximum depth; 0 for the path itself.
  awaitable<std::map<std::string, std::string>> identities(std::string path, std::size_t depth) {
    const std::string start = place(std::move(path));
    command reader = argv("/bin/sh", "-c", std::string(identity_script), "sh", start,
                          std::to_string(std::min<std::size_t>(depth, std::numeric_limits<int>::max())));
    reader.keep_output(max_identities);
    const command_result result = co_await environment().run_command(std::move(reader));
    if (result.out().cut() != 0)
      throw error(exec_errc::too_large, "file metadata: more than the limit of 64 MiB of paths in " +
                                            cofferdam::detail::shown_path(start) + "; use a smaller directory");
    std::map<std::string, std::string> found;
    std::string_view rest = as_text(result.out().head());
    while (rest.starts_with("//")) {
      rest.remove_prefix(2);
      const std::size_t middle = rest.find("//");
      if (middle == std::string_view::npos) break;
      const std::string_view identity = rest.substr(0, middle);
      rest.remove_prefix(middle + 2);
      std::string_view name = rest.substr(0, rest.find("\n//"));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      if (rest.empty() && name.ends_with('\n')) name.remove_suffix(1);
      if (name.starts_with(start)) name.remove_prefix(start.size());
      if (name.starts_with('/')) name.remove_prefix(1);
      found.emplace(std::string(name), std::string(identity));
    }
    co_return found;
  }
  /// Replaces the metadata of a file. If there is no more room, forgets the metadata of files that are not in the
  /// workspace any more.
  awaitable<void> assign(std::string identity, metadata_store::values metadata) {
    if (store().assign(identity, metadata)) co_return;
    const std::map<std::string, std::string> found = co_await identities(".", SIZE_MAX);
    std::set<std::string> living{identity};
    for (const auto& [path, each] : found) living.insert(each);
    store().keep_only(living);
    if (!store().assign(identity, metadata))
      throw http_refusal(507, "file metadata: the sandbox already has the maximum of 4 MiB");
  }
  metadata_store& store() noexcept { return sandbox_.metadata(); }

  static constexpr std::size_t max_identities = std::size_t{64} * 1024 * 1024;
  static constexpr std::size_t max_piece = std::size_t{64} * 1024;

  static constexpr std::string_view read_script = R"sh([ -e "$1" ] || exit 44
[ -d "$1" ] && exit 43
[ -f "$1" ] || exit 46
[ -r "$1" ] || exit 45
stat -L -c %s "$1" || exit 1
exec cat "$1")sh";

  static constexpr std::string_view kinds_script =
      R"sh(for path; do
  if [ -d "$path" ]; then printf d
  elif [ -f "$path" ]; then printf f
  elif [ -e "$path" ]; then printf o
  else printf %s -; fi
done)sh";

  static bool is_in_workspace(std::string_view path) noexcept { return !path.starts_with('/'); }
  static std::string place(std::string path) { return is_in_workspace(path) ? "./" + path : path; }
  /// Runs an operation of the environment, if the path is in the workspace.
  /// \return  false if commands must do it instead: the path is not in the workspace, or a symbolic link leads out of
  ///     it. The guest is then walled.
  template <class Operation>
  awaitable<bool> try_inside(const std::string& path, const Operation& operation) {
    bool is_inside = is_in_workspace(path);
    if (is_inside) {
      try {
        co_await operation();
      } catch (const error& failure) {
        if (failure.code() != exec_errc::outside_workspace) throw;
        is_inside = false;
      }
    }
    if (!is_inside) co_await check_walls(path);
    co_return is_inside;
  }
  any_environment& environment() noexcept { return sandbox_.environment(); }

  served_sandbox& sandbox_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
