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
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The files of a sandbox, as its clients name them: those in the workspace, by paths relative to it, and those
/// elsewhere in the guest, by absolute paths (`guest_paths::locate`).
///
/// Files in the workspace use the environment's own file operations. All others use commands in the environment: they
/// have the rights of the guest's user, and every layer (middleware of the provider) sees them. So a client can do
/// nothing that its commands could not do.
///
/// Files elsewhere are available only if the environment reports that the files of the host are isolated from its
/// commands. Otherwise these would be the files of the host.
class guest_files {
 public:
  explicit guest_files(served_sandbox& sandbox) noexcept : sandbox_(sandbox) {}

  awaitable<directory_entry> stat(std::string path) {
    if (is_in_workspace(path)) {
      directory_entry found = co_await environment().files().stat(std::move(path));
      co_return found;
    }
    co_await check_walls(path);
    directory_entry found = co_await cofferdam::detail::stat_place(environment(), std::move(path));
    co_return found;
  }

  awaitable<std::vector<directory_entry>> list(std::string path, list_options options) {
    if (is_in_workspace(path)) {
      std::vector<directory_entry> found = co_await environment().files().list(std::move(path), options);
      co_return found;
    }
    co_await check_walls(path);
    std::vector<directory_entry> found =
        co_await cofferdam::detail::list_place(environment(), std::move(path), options);
    co_return found;
  }

  awaitable<void> make_directory(std::string path) {
    if (is_in_workspace(path)) {
      co_await environment().files().make_directory(std::move(path));
      co_return;
    }
    co_await check_walls(path);
    co_await cofferdam::detail::make_directory_place(environment(), std::move(path));
  }

  awaitable<void> remove(std::string path) {
    if (is_in_workspace(path)) {
      co_await environment().files().remove(std::move(path));
      co_return;
    }
    co_await check_walls(path);
    co_await cofferdam::detail::remove_place(environment(), std::move(path));
  }

  /// Renames a file or directory. One of the paths may be in the workspace, and the other elsewhere.
  awaitable<void> rename(std::string from, std::string to) {
    if (is_in_workspace(from) && is_in_workspace(to)) {
      co_await environment().files().rename(std::move(from), std::move(to));
      co_return;
    }
    std::string outside = from;
    if (is_in_workspace(from)) outside = to;
    co_await check_walls(std::move(outside));
    co_await cofferdam::detail::rename_place(environment(), place(std::move(from)), place(std::move(to)));
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

  /// Opens a regular file that is not in the workspace.
  awaitable<reading> open_outside(std::string path) {
    co_await check_walls(path);
    command reader = argv("/bin/sh", "-c", std::string(read_script), "sh", path);
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
  static constexpr std::size_t max_piece = std::size_t{64} * 1024;

  static constexpr std::string_view read_script = R"sh([ -e "$1" ] || exit 44
[ -d "$1" ] && exit 43
[ -f "$1" ] || exit 46
[ -r "$1" ] || exit 45
stat -L -c %s "$1" || exit 1
exec cat "$1")sh";

  static bool is_in_workspace(std::string_view path) noexcept { return !path.starts_with('/'); }
  static std::string place(std::string path) { return is_in_workspace(path) ? "./" + path : path; }
  any_environment& environment() noexcept { return sandbox_.environment(); }

  served_sandbox& sandbox_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
