// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/joined_tasks.hpp>

#include <asio/error.hpp>

#include <exception>
#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Selects the failure that a server reports at its end. The failure of closing is reported if there was no earlier
/// failure, or if the earlier failure was only a cancellation. Otherwise the earlier failure is reported.
inline std::exception_ptr failure_to_report(std::exception_ptr before, std::exception_ptr of_closing) {
  if (!before || !of_closing) return before ? before : of_closing;
  try {
    std::rethrow_exception(before);
  } catch (const error& failure) {
    return failure.code() == exec_errc::cancelled ? of_closing : before;
  } catch (const std::system_error& failure) {
    return failure.code() == asio::error::operation_aborted ? of_closing : before;
  } catch (...) {
    return before;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
