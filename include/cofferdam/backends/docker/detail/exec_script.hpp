// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/tracked_script.hpp>

#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The first program of a container whose commands are execs. It reads its input, which is the lease: if the input
/// ends, the program ends, and the container with it. On USR1 it kills everything else, and confirms that by a line.
///
/// A signal makes `read` fail too in some shells, so only very many failures in a row are the end; each line that comes
/// begins the count again.
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
