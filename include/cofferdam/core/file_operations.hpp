// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/command_files.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// File operations as free functions for any environment. `co_await list_directory(environment, ".")` does the same as
// `environment.files().list(".")`. If the environment has no `files()`, the functions run commands in it instead.

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Stops the compilation if an environment is a layer without files(). File operations that run commands would bypass
/// the layer's own `read_file` and `write_file`.
template <class E>
constexpr void refuse_layer() {
  static_assert(
      !is_layer<E>,
      "cofferdam: this layer has no files(). A layer that defines read_file or write_file must also define "
      "file_system files(). To wrap an environment without files(), write environment | layer, which adds files()");
}

/// Starts an operation on the files of an environment. The caller keeps the environment alive until the awaitable
/// completes.
/// \param operation  a callable that takes an object with the operations of a `file_system`, and returns an awaitable.
template <class E, class Operation>
auto with_files_of(E& environment, Operation operation) {
  if constexpr (file_environment<E>) {
    return on_kept(environment.files(), std::move(operation));
  } else {
    refuse_layer<E>();
    command_files<E> files(environment);
    return operation(files);
  }
}

/// Returns the files of an environment as a `file_system`, for functions that are no templates. If the environment has
/// no `files()`, the operations run commands in it, and the caller keeps the environment until they have completed.
template <class E>
file_system files_of(E& environment) {
  if constexpr (file_environment<E>) {
    return environment.files();
  } else {
    refuse_layer<E>();
    return file_system(std::make_shared<command_file_system<E>>(environment));
  }
}

/// A callable that returns the files of an environment. The transfer functions call it for each operation, so that they
/// notice when the environment is closed.
using files_getter = std::function<file_system()>;

}  // namespace detail

/// Returns the entry at `path`. If the entry is a symbolic link, returns the link, not its target.
/// \param environment  the environment; the caller keeps it alive until the awaitable completes.
/// \param path         a path relative to the workspace, without `..`.
/// \throws error{exec_errc::not_found} if the entry does not exist.
/// \throws error{exec_errc::outside_workspace} or error{exec_errc::invalid_argument} if the path is not allowed.
template <code_exec_environment E>
awaitable<directory_entry> stat(E& environment, std::string path) {
  return detail::with_files_of(environment, [path = std::move(path)](auto& files) { return files.stat(path); });
}

/// Returns true if an entry exists at `path`, even if it is a symbolic link without a target.
template <code_exec_environment E>
awaitable<bool> exists(E& environment, std::string path) {
  try {
    co_await stat(environment, std::move(path));
  } catch (const error& failure) {
    if (failure.code() == exec_errc::not_found || failure.code() == exec_errc::not_a_directory) co_return false;
    throw;
  }
  co_return true;
}

/// Returns true if `path` is a directory. Returns false if it is a symbolic link, even to a directory.
template <code_exec_environment E>
awaitable<bool> is_directory(E& environment, std::string path) {
  try {
    directory_entry found = co_await stat(environment, std::move(path));
    co_return found.is_directory();
  } catch (const error& failure) {
    if (failure.code() != exec_errc::not_found && failure.code() != exec_errc::not_a_directory) throw;
  }
  co_return false;
}

/// Lists everything beneath the directory `path`, at every depth unless the options limit it. The paths are relative to
/// `path` and sorted by bytes. The list contains symbolic links, but nothing from the directories that they point to.
/// \param environment  the caller keeps it alive until the awaitable completes.
/// \param path  the directory; "." is the whole workspace.
/// \param options  the depth and the maximum size of the list.
/// \throws error{exec_errc::not_found} or error{exec_errc::not_a_directory} if `path` is not a directory.
/// \throws error{exec_errc::too_large} if the list would exceed a limit of the options or of the environment. A list is
///     never incomplete.
template <code_exec_environment E>
awaitable<std::vector<directory_entry>> list_directory(E& environment, std::string path,
                                                       list_options options = list_options()) {
  return detail::with_files_of(environment,
                               [path = std::move(path), options](auto& files) { return files.list(path, options); });
}

/// Creates a directory and its missing parents. Does nothing if the directory exists.
template <code_exec_environment E>
awaitable<void> make_directory(E& environment, std::string path) {
  return detail::with_files_of(environment,
                               [path = std::move(path)](auto& files) { return files.make_directory(path); });
}

/// Removes a file, or a directory with its contents. Removes a symbolic link, and never its target.
/// \throws error{exec_errc::not_found} if the entry does not exist.
template <code_exec_environment E>
awaitable<void> remove(E& environment, std::string path) {
  return detail::with_files_of(environment, [path = std::move(path)](auto& files) { return files.remove(path); });
}

/// Renames a file or directory. If `to` is an existing file, replaces it.
template <code_exec_environment E>
awaitable<void> rename(E& environment, std::string from, std::string to) {
  return detail::with_files_of(
      environment, [from = std::move(from), to = std::move(to)](auto& files) { return files.rename(from, to); });
}

/// Writes all files of a source into an environment. If a file fails, the result contains the failure, and the other
/// files are still written. If the environment has its own file operations, they may transfer the files in one stream.
/// Otherwise the function writes one file at a time, of at most 256 MiB, and runs `chmod` for each file that has an
/// executable bit.
/// \param environment, source  the caller keeps both alive until the awaitable completes.
/// \throws error{exec_errc::cancelled}, error{exec_errc::environment_closed} or error{exec_errc::provider_lost}, each
///     of which ends the whole transfer.
template <code_exec_environment E>
awaitable<transfer_result> put_files(E& environment, file_source& source) {
  return detail::with_files_of(environment, [&source](auto& files) { return files.put_files(source); });
}

/// Returns the requested regular files of an environment as a source. The environment must outlive the source. If the
/// environment has its own file operations, they may transfer the files in one stream. Otherwise the source reads one
/// file at a time, of at most 256 MiB.
template <code_exec_environment E>
awaitable<std::unique_ptr<file_source>> get_files(E& environment, std::vector<file_request> requests) {
  return detail::with_files_of(environment,
                               [requests = std::move(requests)](auto& files) { return files.get_files(requests); });
}

/// Watches a directory. `file_system::watch` describes the watch, the options and the errors. If the environment has no
/// `files()`, the watch lists the directory by commands.
/// \param environment  the caller keeps it alive until the awaitable completes; without `files()`, also as long as the
///                     watch exists.
/// \param path  the directory; "." is the whole workspace.
/// \param options  the depth, and the interval of listings.
template <code_exec_environment E>
awaitable<directory_watch> watch_directory(E& environment, std::string path, watch_options options = watch_options()) {
  const file_system files = detail::files_of(environment);
  return files.watch(std::move(path), options);
}

/// Reads a text file. The function does not check that the text is valid UTF-8.
/// \param environment  the caller keeps it alive until the awaitable completes.
/// \param path  relative to the workspace.
/// \param max_bytes  the maximum size of the file in bytes; default 16 MiB. A larger file throws
///                   error{exec_errc::too_large}.
template <code_exec_environment E>
awaitable<std::string> read_text(E& environment, std::string path, std::size_t max_bytes = 16 * 1024 * 1024) {
  bytes content = co_await environment.read_file(std::move(path), max_bytes);
  co_return std::string(as_text(content));
}

/// Writes a text file, whole or not at all. The awaitable owns the text, so it can be stored and awaited later.
/// \param environment  the caller keeps it alive until the awaitable completes.
/// \param path  relative to the workspace.
/// \param text  the content, which replaces that of an existing file.
template <code_exec_environment E>
awaitable<void> write_text(E& environment, std::string path, std::string text) {
  co_await environment.write_file(std::move(path), as_bytes(text));
}

/// Writes a file, whole or not at all. The awaitable owns the content, so it can be stored and awaited later.
/// \param environment  the caller keeps it alive until the awaitable completes.
/// \param path  relative to the workspace.
/// \param content  the bytes, which replace those of an existing file.
template <code_exec_environment E>
awaitable<void> write_bytes(E& environment, std::string path, bytes content) {
  co_await environment.write_file(std::move(path), content);
}

}  // namespace cofferdam::inline COFFERDAM_ABI
