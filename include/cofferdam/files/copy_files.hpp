// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/detail/core/rethrow_cancellation.hpp>
#include <cofferdam/files/detail/file_sinks.hpp>
#include <cofferdam/files/detail/guest_files.hpp>
#include <cofferdam/files/file_set.hpp>

#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// Copies files from one environment into another: `co_await copy_files(from, to, files("plots/*.png").into("in"))`.
///
/// Destination names are as for `upload`: a file keeps its own name, not its folders. The rest is as for `upload` too.
/// The bytes pass through this program in pieces and are not stored on the host.
///
/// \param  from  the caller keeps it until the awaitable completes.
/// \param  to    likewise; may be the same environment.
/// \param  set   paths in the workspace of `from`.
/// \return       the transferred files, in the set's order, and the failures.
/// \throws       as `upload`. Errors in the set are thrown before anything is written.
/// \par Cancellation  terminal: files that were written completely stay.
/// \par Lifetime      the set is moved in.
/// \par Source        Stirrup's `upload_files` with a `source_env`.
template <code_exec_environment From, code_exec_environment To>
awaitable<transfer_result> copy_files(From& from, To& to, file_set set) {
  try {
    detail::guest_planner<From> planner(from, set, detail::kept_path::name);
    co_await planner.plan();
    detail::guest_source<From> source(from, planner.result());
    transfer_result report = co_await put_files(to, source);
    co_return report;
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    detail::rethrow_cancellation(failure, "copy_files: cancelled; what had arrived stays");
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI
