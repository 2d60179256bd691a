// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>

#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

// Notes in a result that the kernel killed a process while the command ran, because a memory limit was reached. If the
// command itself was killed, the kind of the result becomes `out_of_memory`. Otherwise the result gets advice, because
// the process was perhaps a part of the command, such as the first one of a pipeline, whose status a shell ignores.
// \param was_killed  true if the command seems to have been killed.
// \param remedy      advice: how to use less memory.
inline void note_memory_kill(command_result& result, bool was_killed, std::string remedy) {
  if (was_killed) {
    result.kind(error_kind::out_of_memory);
    result.reason("The command was ended because it used more memory than its environment has");
    result.advice(std::move(remedy));
  } else {
    result.advice(
        "While the command ran, the kernel killed a process because the memory was used up, so the output may be "
        "incomplete. " +
        remedy);
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
