// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/rethrow_cancellation.hpp>
#include <cofferdam/files/detail/host_files.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/files/upload.hpp>
#include <cofferdam/os/directory.hpp>

#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Uploads the files that `plan` adds to a planner.
/// \param set  has the limits; the files to upload if `plan` reads them from it.
template <class Plan>
awaitable<transfer_result> upload_planned(files_getter guest, file_set set, Plan plan) {
  try {
    host_planner planner(set);
    co_await plan(planner);
    host_source source(planner.result());
    const file_system destination = guest();
    transfer_result report = co_await destination.put_files(source);
    co_return report;
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    rethrow_cancellation(failure, "upload: cancelled; files that were already uploaded remain");
  }
}

template <class>
awaitable<transfer_result> upload_to(files_getter guest, file_set set) {
  const auto plan = [](host_planner& planner) { return planner.plan(); };
  return upload_planned(std::move(guest), std::move(set), plan);
}

template <class>
awaitable<transfer_result> upload_tree_to(files_getter guest, std::shared_ptr<const directory> tree,
                                          std::string shown) {
  auto plan = [tree = std::move(tree), shown = std::move(shown)](host_planner& planner) {
    return planner.plan_tree(tree, shown);
  };
  return upload_planned(std::move(guest), file_set(), std::move(plan));
}

COFFERDAM_INSTANTIATE(awaitable<transfer_result> upload_to<void>(files_getter, file_set))
COFFERDAM_INSTANTIATE(awaitable<transfer_result> upload_tree_to<void>(files_getter, std::shared_ptr<const directory>,
                                                                      std::string))

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
