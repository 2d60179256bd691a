// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/files/file_set.hpp>

#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Copies files from one environment into another; see `copy_files`.
template <class = void>
awaitable<transfer_result> copy_between(files_getter from, files_getter to, file_set set);

}  // namespace detail

/// Copies files from one environment into another: `co_await copy_files(from, to, files("plots/*.png").into("in"))`.
///
/// The destination path of a file is determined as for `upload`: it has the name of the file, but not its folders.
/// Replacing of existing files and handling of failures are also as for `upload`. The bytes pass through this program
/// in pieces and are not stored on the host.
///
/// \param  from  the source. The caller keeps it until the awaitable completes.
/// \param  to    the destination. The caller keeps it until the awaitable completes. May be the same environment.
/// \param  set   selects files of the workspace of `from`. `file_set` documents names, links and limits.
/// \return       the transferred files, in the set's order, and the failures.
/// \throws       the errors of `upload`. If the set is invalid, the error is thrown before anything is written.
/// \par Cancellation  terminal: files that were written completely stay.
/// \par Lifetime      the set is moved in.
/// \par Source        Stirrup's `upload_files` with a `source_env`.
template <code_exec_environment From, code_exec_environment To>
awaitable<transfer_result> copy_files(From& from, To& to, file_set set) {
  return detail::copy_between([&from] { return detail::files_of(from); }, [&to] { return detail::files_of(to); },
                              std::move(set));
}

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/files/impl/copy_files.ipp>
#endif
