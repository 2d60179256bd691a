// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

// Writes uploads into a sandbox as envd, E2B's daemon in a sandbox, does. An existing file keeps its mode, its owner
// and its hard links. For a symbolic link, the target is written. Only a program inside the sandbox can do that, so a
// shell in the sandbox writes such a file. A new file is written completely or not at all, and so is every file if
// there is no shell.

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// A file source that has only one file: the current file of the source `of`, which may have several files.
class single_file_source final : public file_source {
 public:
  single_file_source(file_source& of, file_header header) : of_(of), header_(std::move(header)) {}
  awaitable<std::optional<file_header>> next() override {
    if (std::exchange(is_given_, true)) co_return std::nullopt;
    co_return header_;
  }
  awaitable<bytes> read(std::size_t max_bytes) override { return of_.read(max_bytes); }

 private:
  file_source& of_;
  file_header header_;
  bool is_given_ = false;
};

/// The functions that write the files of an upload.
class in_place_writer {
 public:
  /// Writes all files of a source.
  /// \param environment, source  kept by the caller until the awaitable completes.
  static awaitable<transfer_result> all(any_environment& environment, file_source& source) {
    return cofferdam::detail::put_each(
        source, [&environment, &source](const file_header& header) { return put_one(environment, source, header); });
  }

 private:
  static constexpr int is_outside = 42;
  static constexpr int is_no_file = 43;
  static constexpr int is_denied = 45;

  // The shell script that writes its input to a file. It prints "go" when the file is open and empty.
  static constexpr std::string_view script = R"sh([ -d "$1" ] && exit 43
r=$(pwd -P) && t=$(readlink -f "$1") || exit 42
case $t in "${r%/}"/*) ;; *) exit 42 ;; esac
[ -e "$1" ] && [ ! -f "$1" ] && exit 43
[ -e "$1" ] && [ ! -w "$1" ] && exit 45
exec 3>"$1" || exit 45
echo go
exec cat >&3)sh";

  static awaitable<transferred_file> put_one(any_environment& environment, file_source& source,
                                             const file_header& header) {
    const std::string path = header.destination();
    std::optional<directory_entry> found;
    try {
      const directory_entry entry = co_await environment.files().stat(path);
      found = entry;
    } catch (const error& failure) {
      if (failure.code() != exec_errc::not_found) throw;
    }
    const bool is_link = found && found->type() == file_type::symlink;
    if (found && (is_link || found->type() == file_type::regular) && environment.can_start()) {
      std::optional<transferred_file> written = co_await write_in_place(environment, source, path);
      if (written) co_return std::move(*written);
    }
    if (is_link)
      throw error(exec_errc::permission_denied,
                  "write " + cofferdam::detail::shown_path(path) +
                      ": it is a symbolic link, and the backend of this gateway has no shell to write to its target");
    unsigned mode = header.mode();
    if (found) mode = found->mode();
    file_header whole(path, path, file_type::regular, header.size(), mode);
    transferred_file done = co_await put_whole(environment, source, std::move(whole));
    co_return done;
  }

  static awaitable<transferred_file> put_whole(any_environment& environment, file_source& source, file_header header) {
    single_file_source single_file(source, std::move(header));
    transfer_result report = co_await environment.files().put_files(single_file);
    if (!report.ok()) throw error(report.failed().front().reason());
    co_return report.files().front();
  }

  /// Writes a file with a shell in the sandbox.
  /// \return no value if no shell could be started, or if a layer (middleware of the provider) has refused it. Then
  ///     nothing has been read or written.
  static awaitable<std::optional<transferred_file>> write_in_place(any_environment& environment, file_source& source,
                                                                   std::string path) {
    command writer = argv("/bin/sh", "-c", std::string(script), "sh", "./" + path);
    writer.open_input().timeout(no_timeout).keep_output(4096);
    process running = co_await environment.start(std::move(writer));
    bool is_open = false;
    for (;;) {
      const output_chunk piece = co_await running.read();
      if (piece.data().empty()) break;
      is_open = piece.stream() == output_stream::out && as_text(piece.data()).starts_with("go");
      if (is_open) break;
    }
    std::uint64_t size = 0;
    if (is_open) size = co_await copy(source, running);
    const command_result result = co_await running.wait();
    if (!is_open && result.kind() != error_kind::none) co_return std::nullopt;
    if (!result.ok()) throw failure_of(result, path);
    co_return transferred_file(path, path, size);
  }

  /// Copies the current file of the source to the shell's input, and returns the number of bytes. Stops without an
  /// error if the shell has ended, because its result has the reason.
  static awaitable<std::uint64_t> copy(file_source& source, process& running) {
    std::uint64_t size = 0;
    for (;;) {
      const bytes piece = co_await source.read(cofferdam::detail::file_piece);
      if (piece.empty()) break;
      const bytes_view view(piece);
      size += view.size();
      try {
        co_await running.write_input(view);
      } catch (const error& failure) {
        if (failure.code() != exec_errc::io_error) throw;
        break;
      }
    }
    co_await running.close_input();
    co_return size;
  }

  static error failure_of(const command_result& result, std::string_view path) {
    const std::string what = "write " + cofferdam::detail::shown_path(path) + ": ";
    const std::string told = one_line(result.err().text());
    if (result.exit_code() == is_outside)
      return {exec_errc::outside_workspace, what + "it is a link that leads out of the home directory"};
    if (result.exit_code() == is_no_file) return {exec_errc::not_a_file, what + "not a regular file"};
    if (told.find("No space left") != std::string::npos || told.find("quota exceeded") != std::string::npos)
      return {exec_errc::io_error, what + told, std::make_error_code(std::errc::no_space_on_device)};
    if (result.exit_code() == is_denied || told.find("ermission denied") != std::string::npos)
      return {exec_errc::permission_denied, what + "permission denied"};
    return {exec_errc::io_error, what + (told.empty() ? result.reason() : told)};
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
