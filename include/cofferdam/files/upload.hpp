// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/files/file_set.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

class directory;

namespace detail {

/// Copies files of the host into an environment; see `upload`.
template <class = void>
awaitable<transfer_result> upload_to(files_getter guest, file_set set);
/// Copies the contents of an open directory of the host into the workspace. Nothing outside of it is read, even if its
/// path changes or has links: links in it are failures of the result.
/// \param shown  the path of the directory in messages.
template <class = void>
awaitable<transfer_result> upload_tree_to(files_getter guest, std::shared_ptr<const directory> tree, std::string shown);

}  // namespace detail

/// Copies files of the host into an environment: `co_await upload(env, files("data.csv", "logs/**/*.txt").into("in"))`.
///
/// All files are looked up before the first file is written. Each file is written whole or not at all, and replaces an
/// existing file. The result contains a failure for each name without a file, each pattern without a match, and each
/// file that cannot be read or written; the other files are still transferred. A FIFO, a socket or a device is such a
/// failure, so that the transfer cannot block.
///
/// Large files are streamed in small pieces, and other work on the executor runs between the pieces. If the environment
/// has no `put_files` and can only write whole files, a file may have at most 256 MiB, and executable files get their
/// mode by a `chmod` command.
///
/// \param  environment  the caller keeps it until the awaitable completes.
/// \param  set          selects files of the host. `file_set` documents names, links and limits.
/// \return              the transferred files, in the set's order, and the failures.
/// \throws              error{exec_errc::collision} if two files would be written to one path;
///                      error{exec_errc::too_large} if the set exceeds its limits. Both are thrown before anything is
///                      written. error{exec_errc::permission_denied} if a layer such as `read_only` refuses all
///                      changes. error{exec_errc::cancelled}, error{exec_errc::environment_closed},
///                      error{exec_errc::provider_lost}.
/// \par Cancellation    terminal: files that were written completely stay.
/// \par Lifetime        the set is moved in.
/// \par Source          Stirrup's `upload_files`, without its defects.
/// \par Example         examples/quickstart.cpp
template <code_exec_environment E>
awaitable<transfer_result> upload(E& environment, file_set set) {
  return detail::upload_to([&environment] { return detail::files_of(environment); }, std::move(set));
}

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/files/impl/upload.ipp>
#endif
