// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/files/file_set.hpp>

#include <filesystem>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Returns true if a directory's file system treats `a` and `A` as the same name. To find out, it makes a file in the
/// directory and removes it.
bool ignores_case(const std::filesystem::path& folder);

/// Copies files of an environment to the host; see `download_files`.
template <class = void>
awaitable<transfer_result> download_from(files_getter guest, file_set set, std::filesystem::path destination,
                                         bool (*folder_ignores_case)(const std::filesystem::path&));

/// Copies files of an environment to the host; see `download`.
/// \param folder_ignores_case  returns true if a folder of the host ignores the case of names. Tests replace it.
template <code_exec_environment E>
awaitable<transfer_result> download_files(E& environment, file_set set, std::filesystem::path destination,
                                          bool (*folder_ignores_case)(const std::filesystem::path&)) {
  return download_from([&environment] { return files_of(environment); }, std::move(set), std::move(destination),
                       folder_ignores_case);
}

}  // namespace detail

/// Copies files of an environment to the host: `co_await download(env, files("report.md", "plots/*.png"), "out")`.
///
/// Each file keeps its whole path in the workspace: `plots/a.png` becomes `out/plots/a.png`. The destination directory
/// is made if it is missing. It is kept open while files are written beneath it, so that no name and no symbolic link
/// in the workspace can lead to a place outside the destination. Each file is written whole or not at all, and replaces
/// a file of the same name. The permission bits 0777 are kept. A file that cannot be read or written is a failure in
/// the result, and the other files are still transferred.
///
/// \param  environment  the caller keeps it until the awaitable completes.
/// \param  set          selects files of the workspace. `file_set` documents names, links and limits.
/// \param  destination  a directory of the host, absolute or relative to the current directory.
/// \return              the transferred files, in the set's order, and the failures. Destinations are host paths.
/// \throws              error{exec_errc::collision} if two files would be written to one path, or to paths that differ
///                      only in case while the destination ignores case; error{exec_errc::too_large} if the set exceeds
///                      its limits. Both are thrown before anything is written. Errors of opening or making the
///                      destination directory. error{exec_errc::cancelled}, error{exec_errc::environment_closed},
///                      error{exec_errc::provider_lost}.
/// \par Cancellation    terminal: files that were written completely stay.
/// \par Lifetime        the set is moved in.
/// \par Source          Stirrup's `save_output_files`, without its defects.
/// \par Example         examples/quickstart.cpp
template <code_exec_environment E>
awaitable<transfer_result> download(E& environment, file_set set, std::filesystem::path destination) {
  return detail::download_files(environment, std::move(set), std::move(destination), detail::ignores_case);
}

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/files/impl/download.ipp>
#endif
