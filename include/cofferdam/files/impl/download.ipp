// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/rethrow_cancellation.hpp>
#include <cofferdam/detail/os/atomic_file.hpp>
#include <cofferdam/files/detail/file_sinks.hpp>
#include <cofferdam/files/detail/guest_files.hpp>
#include <cofferdam/files/download.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/os/directory.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL bool ignores_case(const std::filesystem::path& folder) {
  const directory there = directory::open(folder);
  const std::string lower = ".cofferdam-case-" + std::to_string(::getpid());
  atomic_file probe = there.create_file(lower);
  probe.commit(0600);
  bool found = true;
  try {
    static_cast<void>(there.stat(".COFFERDAM-CASE-" + std::to_string(::getpid())));
  } catch (const error&) {
    found = false;
  }
  there.remove(lower);
  return found;
}

template <class>
awaitable<transfer_result> download_from(files_getter guest, file_set set, std::filesystem::path destination,
                                         bool (*folder_ignores_case)(const std::filesystem::path&)) {
  try {
    guest_planner planner(guest, set, kept_path::whole);
    co_await planner.plan();
    if (std::optional<error> twins = planner.result().case_collision())
      if (folder_ignores_case(existing_above(destination))) throw std::move(*twins);
    std::error_code failure;
    std::filesystem::create_directories(destination, failure);
    if (failure && !std::filesystem::is_directory(destination))
      throw name_error(failure.value(), "make directory", destination.native());
    directory there = directory::open(destination);
    guest_source source(guest, planner.result());
    transfer_result report = co_await put_on_host(there, destination, source);
    co_return report;
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    rethrow_cancellation(failure, "download: cancelled; files that were already downloaded remain");
  }
}

COFFERDAM_INSTANTIATE(awaitable<transfer_result> download_from<void>(files_getter, file_set, std::filesystem::path,
                                                                     bool (*)(const std::filesystem::path&)))

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
