// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/rethrow_cancellation.hpp>
#include <cofferdam/files/copy_files.hpp>
#include <cofferdam/files/detail/guest_files.hpp>
#include <cofferdam/files/file_set.hpp>

#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class>
awaitable<transfer_result> copy_between(files_getter from, files_getter to, file_set set) {
  try {
    guest_planner planner(from, set, kept_path::name);
    co_await planner.plan();
    guest_source source(from, planner.result());
    const file_system destination = to();
    transfer_result report = co_await destination.put_files(source);
    co_return report;
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    rethrow_cancellation(failure, "copy_files: cancelled; files that were already copied remain");
  }
}

COFFERDAM_INSTANTIATE(awaitable<transfer_result> copy_between<void>(files_getter, files_getter, file_set))

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
