// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/command_files.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// File operations as functions that take any environment. `co_await list(environment, ".")` is
// `environment.files().list(".")`, and works also if the environment has no files().

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Begins an operation on an environment's files. The caller keeps the environment until the awaitable completes.
template <class E, class Operation>
auto with_files_of(E& environment, Operation operation) {
  if constexpr (file_environment<E>) {
    return on_kept(environment.files(), std::move(operation));
  } else {
    static_assert(!is_layer<E>,
                  "cofferdam: this layer has no files(). One that writes read_file or write_file loses them until it "
                  "writes file_system files() too. One that stands around an environment without files() is put there "
                  "by environment | layer, which adds them");
    command_files<E> files(environment);
    return operation(files);
  }
}

}  // namespace detail

/// Returns the entry at `path`. Does not follow a symbolic link at the end.
/// \param path  relative to the workspace, without `..`. The caller keeps `environment` until the awaitable completes.
/// \throws error{exec_errc::not_found} if there is none; error{exec_errc::outside_workspace},
/// error{exec_errc::invalid_argument}.
template <code_exec_environment E>
awaitable<directory_entry> stat(E& environment, std::string path) {
  return detail::with_files_of(environment, [path = std::move(path)](auto& files) { return files.stat(path); });
}

/// Returns true if an entry exists at `path`, including a dangling symbolic link.
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

/// Returns true if `path` is a directory, and false if it is a symbolic link to one.
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

/// Lists everything beneath the directory `path`, at every depth unless the options limit it, as paths relative to it,
/// in byte order. Symbolic links are listed and not entered.
/// \param path  "." lists the whole workspace.
/// \throws error{exec_errc::not_found}, error{exec_errc::not_a_directory}; error{exec_errc::too_large} instead of an
/// incomplete list.
template <code_exec_environment E>
awaitable<std::vector<directory_entry>> list_directory(E& environment, std::string path,
                                                       list_options options = list_options()) {
  return detail::with_files_of(environment,
                               [path = std::move(path), options](auto& files) { return files.list(path, options); });
}

/// Makes a directory and its parents; no error if it exists.
template <code_exec_environment E>
awaitable<void> make_directory(E& environment, std::string path) {
  return detail::with_files_of(environment,
                               [path = std::move(path)](auto& files) { return files.make_directory(path); });
}

/// Removes a file, or a directory and its contents. Symbolic links are removed, not followed.
/// \throws error{exec_errc::not_found} if there is no such entry.
template <code_exec_environment E>
awaitable<void> remove(E& environment, std::string path) {
  return detail::with_files_of(environment, [path = std::move(path)](auto& files) { return files.remove(path); });
}

/// Renames a file or directory; replaces a file that has the new name.
template <code_exec_environment E>
awaitable<void> rename(E& environment, std::string from, std::string to) {
  return detail::with_files_of(
      environment, [from = std::move(from), to = std::move(to)](auto& files) { return files.rename(from, to); });
}

/// Writes all files of a source into an environment. If the environment can, it streams them; otherwise it writes one
/// file of at most 256 MiB at a time, and sets modes with an x bit by `chmod`. Reports each failure and goes on.
/// \param environment, source  kept by the caller until the awaitable completes.
/// \throws error{exec_errc::cancelled}, error{exec_errc::environment_closed}, error{exec_errc::provider_lost}.
template <code_exec_environment E>
awaitable<transfer_result> put_files(E& environment, file_source& source) {
  return detail::with_files_of(environment, [&source](auto& files) { return files.put_files(source); });
}

/// Returns regular files of an environment as a source, which must not outlive the environment. If the environment can,
/// it streams them; otherwise it reads one file of at most 256 MiB at a time.
template <code_exec_environment E>
awaitable<std::unique_ptr<file_source>> get_files(E& environment, std::vector<file_request> requests) {
  return detail::with_files_of(environment,
                               [requests = std::move(requests)](auto& files) { return files.get_files(requests); });
}

/// Reads a text file. The text is not checked to be UTF-8.
/// \param max_bytes  maximum size in bytes; a longer file is error{exec_errc::too_large}.
template <code_exec_environment E>
awaitable<std::string> read_text(E& environment, std::string path, std::size_t max_bytes = 16 * 1024 * 1024) {
  bytes content = co_await environment.read_file(std::move(path), max_bytes);
  co_return std::string(as_text(content));
}

/// Writes a text file, whole or not at all. The awaitable owns the text, so it can be kept and awaited later.
/// \param environment  kept by the caller until the awaitable completes.
template <code_exec_environment E>
awaitable<void> write_text(E& environment, std::string path, std::string text) {
  co_await environment.write_file(std::move(path), as_bytes(text));
}

/// Writes a file, whole or not at all. The awaitable owns the content.
/// \param environment  kept by the caller until the awaitable completes.
template <code_exec_environment E>
awaitable<void> write_bytes(E& environment, std::string path, bytes content) {
  co_await environment.write_file(std::move(path), content);
}

}  // namespace cofferdam::inline COFFERDAM_ABI
