// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/tracked_script.hpp>

#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The first program of a container whose commands are Docker execs (processes that the daemon starts, as `docker exec`
/// does). It keeps the container running while its standard input is open. If this library's connection to that input
/// ends, the program ends, and the container ends with it. On the signal USR1, it kills all other processes of the
/// container, and then writes a line as a confirmation.
///
/// In some shells, a signal makes `read` fail. Therefore the program ends only after 50000 failures in a row, and each
/// line of input resets the count.
inline constexpr std::string_view lease_script =
    "n=0; trap 'kill -9 -1 2>/dev/null; echo' USR1; trap '' CHLD; "
    "while [ $n -lt 50000 ]; do if read -r x; then n=0; else n=$((n+1)); fi; done";

using cofferdam::detail::escaped_word;
using cofferdam::detail::exec_mark;
using cofferdam::detail::exec_order;
using cofferdam::detail::exec_script;
using cofferdam::detail::marked_output;
using cofferdam::detail::signal_script;

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
