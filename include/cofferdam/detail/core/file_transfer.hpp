// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The size in bytes of the pieces in which files are transferred.
inline constexpr std::size_t file_piece = 256 * 1024;

/// Transfers the files of a source one after another. If a file fails, adds the failure to the result and continues.
/// \param put  `awaitable<transferred_file>(const file_header&)`: writes one file, whose content it reads from the
///             source.
template <class Put>
awaitable<transfer_result> put_each(file_source& source, Put put) {
  transfer_result report;
  for (;;) {
    const std::optional<file_header> header = co_await source.next();
    if (!header) co_return report;
    std::optional<error> failure = header->failure();
    if (!failure) {
      try {
        transferred_file done = co_await put(*header);
        report.add(std::move(done));
      } catch (const error& reason) {
        if (ends_everything(reason)) throw;
        failure = reason;
      }
    }
    if (failure) report.add(failed_file(header->source(), std::move(*failure)));
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
