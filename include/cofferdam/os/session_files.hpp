// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/workspace_path.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

template <class = void>
class basic_session_files;
/// The files in a sandbox that are reached only through a `command_session`.
using session_files = basic_session_files<>;

/// The files in a sandbox that are reached only through a `command_session`, the object that runs the commands there.
/// The class has the file operations of an environment and of a `file_system`, with the same errors. After the session
/// has been closed, they throw `error{exec_errc::environment_closed}`.
/// \par Threads  the executor of the session.
template <class Unused>
class basic_session_files : public file_system::basic_implementation<Unused> {
 public:
  /// Reads a whole file.
  /// \param path  relative to the workspace.
  /// \param max_bytes  the maximum size in bytes. A longer file throws error{exec_errc::too_large}.
  virtual awaitable<bytes> read_file(std::string path, std::size_t max_bytes) = 0;

  /// Writes a file, whole or not at all.
  /// \param path  relative to the workspace.
  /// \param content  kept by the caller until the awaitable completes.
  virtual awaitable<void> write_file(std::string path, bytes_view content) = 0;

  /// Moves a file of the sandbox that stands outside the workspace to a path in the workspace, in one step. Only a
  /// session with a warden (the helper program in a sandbox) can do this.
  /// \param path  relative to the workspace; a file that has this path is replaced.
  /// \param from  the absolute path of the file, on the same file system.
  /// \param size  the size that the file must have, in bytes.
  /// \param mode  the new permission bits; if empty, those of the replaced file, or 0644.
  /// \throws error{exec_errc::unsupported} if the session cannot do this; error{exec_errc::io_error} with the cause
  ///     ESTALE if there is no such file of this size, and EOPNOTSUPP if it is on another file system.
  virtual awaitable<void> adopt(std::string path, std::string from, std::uint64_t size,
                                std::optional<std::uint32_t> mode);

  /// Checks a working directory, and returns its path for `spawn_request::directory_path`.
  /// \throws error{exec_errc::outside_workspace}, error{exec_errc::not_found}, error{exec_errc::not_a_directory}.
  virtual awaitable<std::string> directory_path(std::string working_directory) = 0;
};

template <class Unused>
awaitable<void> basic_session_files<Unused>::adopt(std::string path, std::string, std::uint64_t,
                                                   std::optional<std::uint32_t>) {
  throw error(exec_errc::unsupported, "write " + detail::shown_path(path) + ": this session moves no files");
  co_return;
}

namespace detail {

/// An implementation of `session_files` that passes each operation to `call`, a member of `Derived`. `call(operation)`
/// runs the operation on another object with the same operations, as `file_system_adaptor` describes.
template <class Derived>
class session_files_adaptor : public file_system_adaptor<Derived, cofferdam::session_files> {
 public:
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) override {
    const auto begin = [max_bytes](auto& files, const auto& of) { return files.read_file(of.path(), max_bytes); };
    return this->derived().call(this->reading("read_file", begin, std::move(path)));
  }
  awaitable<void> write_file(std::string path, bytes_view content) override {
    const auto begin = [content](auto& files, const auto& of) { return files.write_file(of.path(), content); };
    return this->derived().call(this->changing("write_file", begin, std::move(path)));
  }
  awaitable<std::string> directory_path(std::string working_directory) override {
    const auto begin = [](auto& files, const auto& of) { return files.directory_path(of.path()); };
    return this->derived().call(this->reading("directory_path", begin, std::move(working_directory)));
  }
};

}  // namespace detail
}  // namespace cofferdam::inline COFFERDAM_ABI
