// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>

#include <asio/error.hpp>

#include <string>
#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Rethrows a failure. If it is the cancellation error of Asio, throws the library's error{exec_errc::cancelled}
/// instead.
/// \param sentence  the message of the library's error.
[[noreturn]] inline void rethrow_cancellation(const std::system_error& failure, const std::string& sentence) {
  if (failure.code() == asio::error::operation_aborted) throw error(exec_errc::cancelled, sentence, failure.code());
  throw failure;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
