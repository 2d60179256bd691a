// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/process.hpp>

#include "session.hpp"

namespace program {

enum class relay_kind {
  pipes,     ///< standard input in; output and error out
  silent,    ///< the same, but the output is only kept in the result
  terminal,  ///< keys in, the screen out, and the size of the terminal
};

/// The end of a relayed command.
class relayed {
 public:
  cofferdam::command_result result;
  bool reader_gone = false;  ///< true if nothing reads this program's output any more; the command is then ended
};

/// Connects a running command with this program's standard streams until the command ends. The first SIGINT of the
/// session is sent to the command.
/// \param used, running  the caller keeps them until the awaitable completes. `running` is used up.
cofferdam::awaitable<relayed> relay(session& used, cofferdam::process& running, relay_kind kind);

}  // namespace program
