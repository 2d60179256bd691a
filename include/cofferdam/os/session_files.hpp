// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/file_system.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The files in a sandbox that are reached only through a `command_session`, the object that runs the commands there.
/// The class has the file operations of an environment and of a `file_system`, with the same errors. After the session
/// has been closed, they throw `error{exec_errc::environment_closed}`.
/// \par Threads  the executor of the session.
class session_files : public file_system::implementation {
 public:
  /// Reads a whole file.
  /// \param path  relative to the workspace.
  /// \param max_bytes  the maximum size in bytes. A longer file throws error{exec_errc::too_large}.
  virtual awaitable<bytes> read_file(std::string path, std::size_t max_bytes) = 0;

  /// Writes a file, whole or not at all.
  /// \param path  relative to the workspace.
  /// \param content  kept by the caller until the awaitable completes.
  virtual awaitable<void> write_file(std::string path, bytes_view content) = 0;

  /// Checks a working directory, and returns its path for `spawn_request::directory_path`.
  /// \throws error{exec_errc::outside_workspace}, error{exec_errc::not_found}, error{exec_errc::not_a_directory}.
  virtual awaitable<std::string> directory_path(std::string working_directory) = 0;
};

namespace detail {

/// An implementation of `session_files` that passes each operation to `call`, a member of `Derived`. `call(operation)`
/// runs the operation on another object with the same operations, as `file_system_adaptor` describes.
template <class Derived>
class session_files_adaptor : public file_system_adaptor<Derived, cofferdam::session_files> {
 public:
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) override {
    return this->derived().call(
        [path = std::move(path), max_bytes](auto& files) { return files.read_file(path, max_bytes); });
  }
  awaitable<void> write_file(std::string path, bytes_view content) override {
    return this->derived().call(
        [path = std::move(path), content](auto& files) { return files.write_file(path, content); });
  }
  awaitable<std::string> directory_path(std::string working_directory) override {
    return this->derived().call(
        [path = std::move(working_directory)](auto& files) { return files.directory_path(path); });
  }
};

}  // namespace detail
}  // namespace cofferdam::inline COFFERDAM_ABI
