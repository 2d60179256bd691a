// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <asio/ip/address.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Resolves a name by the system's resolver. Returns its addresses in the system's order, each once.
/// \param host  a DNS name.
/// \param due   the time at which the attempt is given up.
/// \throws error{exec_errc::io_error} with the name if it cannot be resolved in time.
/// \par Cancellation  terminal. The caller does not wait for the end of the lookup, which the system cannot cancel.
awaitable<std::vector<asio::ip::address>> resolve_host(std::string host, std::chrono::steady_clock::time_point due);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/resolve_host.ipp>
#endif
