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
#include <cofferdam/serve/e2b_gateway/detail/guest_files.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  /// \param sandbox, source  kept by the caller until the awaitable completes.
  static awaitable<transfer_result> all(served_sandbox& sandbox, file_source& source) {
    return cofferdam::detail::put_each(source, [&sandbox, &source](const file_header& header) {
      if (header.destination().starts_with('/')) return put_outside(sandbox, source, header.destination());
      return put_followed(sandbox, source, header);
    });
  }

 private:
  static constexpr int is_outside = 42;

  // The shell script that writes its input to a file. It prints "go" when the file is open and empty.
  static constexpr std::string_view script = R"sh([ -d "$1" ] && exit 43
r=$(pwd -P) || exit 42
t=$(readlink -f "$1") || exit 47
case $t in "${r%/}"/*) ;; *) exit 42 ;; esac
[ -e "$1" ] && [ ! -f "$1" ] && exit 46
[ -e "$1" ] && [ ! -w "$1" ] && exit 45
exec 3>"$1" || exit 45
echo go
exec cat >&3)sh";

  // The script for a file that is not in the workspace, or a device such as /dev/null.
  static constexpr std::string_view outside_script = R"sh([ -d "$1" ] && exit 43
[ -e "$1" ] && [ ! -f "$1" ] && [ ! -c "$1" ] && exit 46
mkdir -p "${1%/*}/" || exit 45
exec 3>"$1" || exit 45
echo go
exec cat >&3)sh";

  static awaitable<transferred_file> put_outside(served_sandbox& sandbox, file_source& source, std::string path) {
    guest_files files(sandbox);
    co_await files.check_walls(path);
    const std::string place = path.starts_with('/') ? path : "./" + path;
    command writer = argv("/bin/sh", "-c", std::string(outside_script), "sh", place);
    std::optional<transferred_file> written = co_await write_by(std::move(writer), sandbox.environment(), source, path);
    if (!written)
      throw error(exec_errc::permission_denied, "write " + cofferdam::detail::shown_path(path) +
                                                    ": this sandbox may not run the shell that writes it");
    co_return std::move(*written);
  }

  /// Writes a file in the workspace, or one to which a symbolic link in the workspace leads.
  static awaitable<transferred_file> put_followed(served_sandbox& sandbox, file_source& source,
                                                  const file_header& header) {
    try {
      transferred_file done = co_await put_one(sandbox.environment(), source, header);
      co_return done;
    } catch (const error& failure) {
      if (failure.code() != exec_errc::outside_workspace) throw;
    }
    transferred_file done = co_await put_outside(sandbox, source, header.destination());
    co_return done;
  }

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
    if (found && found->is_directory()) throw guest_files::directory_error("write", path);
    if (found && found->type() == file_type::other) throw guest_files::special_file_error("write", path);
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
    std::optional<transferred_file> written = co_await write_by(std::move(writer), environment, source, path);
    co_return written;
  }

  /// Runs a shell that prints "go" and then writes its input to a file.
  /// \return  as `write_in_place`.
  static awaitable<std::optional<transferred_file>> write_by(command writer, any_environment& environment,
                                                             file_source& source, std::string path) {
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
    if (result.exit_code() == is_outside)
      return {exec_errc::outside_workspace,
              "write " + cofferdam::detail::shown_path(path) + ": it is a link that leads out of the home directory"};
    return guest_files::failure_of(result, "write", path);
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
