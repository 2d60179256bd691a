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

/// The files of a place that only a session reaches: what an environment and its `file_system` need of them, with the
/// same errors. After the session has been closed, operations throw `error{exec_errc::environment_closed}`.
/// \par Threads  as the session.
class session_files : public file_system::implementation {
 public:
  /// Returns the content of a file.
  /// \param max_bytes  bytes; a longer file is error{exec_errc::too_large}.
  virtual awaitable<bytes> read_file(std::string path, std::size_t max_bytes) = 0;

  /// Writes a file, whole or not at all.
  /// \param content  kept by the caller until the awaitable completes.
  virtual awaitable<void> write_file(std::string path, bytes_view content) = 0;

  /// Returns what `spawn_request::directory_path` must be for a command's working directory.
  /// \throws error{exec_errc::outside_workspace}, error{exec_errc::not_found}, error{exec_errc::not_a_directory}.
  virtual awaitable<std::string> directory_path(std::string working_directory) = 0;
};

namespace detail {

/// Writes all operations of `session_files` by the hook of a `file_system_adaptor`.
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
