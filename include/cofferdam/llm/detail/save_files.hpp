// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/files/download.hpp>
#include <cofferdam/files/file_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Copies files to the host one by one. If the names of several files differ only in upper and lower case, only the
/// first of them is copied, because they would be one file in a case-insensitive file system.
template <class = void>
awaitable<transfer_result> save_each_file(any_environment& environment, std::vector<std::string> paths,
                                          std::filesystem::path output, std::uint64_t max_bytes) {
  transfer_result saved;
  std::set<std::string> taken;
  for (const std::string& path : paths) {
    std::string folded = path;
    for (char& c : folded) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    std::optional<error> failure;
    if (!taken.insert(folded).second)
      failure = error(exec_errc::collision, one_line(path) + ": another file already has this name");
    if (!failure) {
      try {
        file_set files;
        files.exactly(path).at_most(max_bytes);
        const transfer_result report = co_await download(environment, std::move(files), output);
        for (const transferred_file& each : report.files()) {
          saved.add(each);
          max_bytes -= std::min(max_bytes, each.size());
        }
        for (const failed_file& each : report.failed()) saved.add(each);
      } catch (const error& reason) {
        if (ends_everything(reason)) throw;
        failure = reason;
      }
    }
    if (failure) saved.add(failed_file(path, *failure));
  }
  co_return saved;
}

/// Copies files of the workspace to a directory of the host. Failures of single files are in the result.
/// \throws error{exec_errc::cancelled}, error{exec_errc::provider_lost}, error{exec_errc::environment_closed}.
template <class = void>
awaitable<transfer_result> save_files(any_environment& environment, std::vector<std::string> paths,
                                      std::filesystem::path output, std::uint64_t max_bytes = file_set::default_bytes) {
  file_set files;
  for (const std::string& each : paths) files.exactly(each);
  files.at_most(max_bytes);
  try {
    transfer_result saved = co_await download(environment, std::move(files), output);
    co_return saved;
  } catch (const error& failure) {
    if (ends_everything(failure)) throw;
  }
  // The transfer has failed as a whole, for example because the host's file system treats two names as one. The files
  // are therefore copied one by one.
  transfer_result saved = co_await save_each_file(environment, std::move(paths), std::move(output), max_bytes);
  co_return saved;
}

/// Copies every regular file of the workspace to a directory of the host. Files and folders at the top of the workspace
/// are left out if their names begin with a dot, because they usually belong to programs: caches, settings, packages.
/// If there are more than `max_bytes` bytes or more than 100,000 files, no file is copied, and the result has a failure
/// for ".".
template <class = void>
awaitable<transfer_result> save_workspace(any_environment& environment, std::filesystem::path output,
                                          std::uint64_t max_bytes) {
  std::optional<error> failure;
  std::vector<std::string> paths;
  try {
    const std::vector<directory_entry> standing = co_await list_directory(environment, ".");
    std::uint64_t sum = 0;
    for (const directory_entry& each : standing) {
      if (!each.is_regular() || each.path().starts_with('.')) continue;
      paths.push_back(each.path());
      sum += std::min(each.size(), ~sum);  // a sparse file may report any size, so the sum must not overflow
    }
    constexpr std::size_t max_files = 100'000;
    if (sum > max_bytes || paths.size() > max_files)
      failure = error(exec_errc::too_large, "the workspace has " + std::to_string(sum) + " bytes in " +
                                                std::to_string(paths.size()) + " files; the limit for a copy is " +
                                                std::to_string(max_bytes) + " bytes in 100000 files");
  } catch (const error& reason) {
    if (ends_everything(reason)) throw;
    failure = reason;
  }
  transfer_result saved;
  if (failure) saved.add(failed_file(".", *failure));
  if (failure || paths.empty()) co_return saved;
  saved = co_await save_files(environment, std::move(paths), std::move(output), max_bytes);
  co_return saved;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
