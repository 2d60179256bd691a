// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/detail/os/terminal.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The pipes or the terminal between this program and a command that is about to start. The destructor closes all ends
/// that were not moved away.
class command_pipes {
 public:
  /// \param c        the command.
  /// \param request  receives the command's ends of the pipes or the terminal as descriptors that this object still
  ///                 owns.
  /// \param nothing  the descriptor that becomes the standard input of a command without input, usually /dev/null.
  command_pipes(const command& c, spawn_request& request, int nothing) {
    if (c.terminal()) {
      use_terminal(*c.terminal(), request);
      return;
    }
    pipe_ends out = make_pipe();
    pipe_ends err = make_pipe();
    set_nonblocking(out.read_end);
    set_nonblocking(err.read_end);
    request.input = nothing;
    if (c.input() || c.has_open_input()) {
      pipe_ends in = make_pipe();
      set_nonblocking(in.write_end);
      input = std::move(in.write_end);
      theirs_[0] = std::move(in.read_end);
      request.input = theirs_[0].get();
    }
    output = std::move(out.read_end);
    error = std::move(err.read_end);
    theirs_[1] = std::move(out.write_end);
    theirs_[2] = std::move(err.write_end);
    request.output = theirs_[1].get();
    request.error = theirs_[2].get();
  }

  /// Lets a command of another user open /dev/stdin, /dev/stdout and /dev/stderr. A pipe has no other name, and
  /// /proc/PID/fd only shows it to those that could take the process over.
  void open_to_all() noexcept {
    for (const unique_fd& each : theirs_)
      if (each) ::fchmod(each.get(), 0666);
  }

  /// This program's ends of the pipes or of the terminal. `input` is empty if the command has no input; `error` is
  /// empty if the command has a terminal.
  unique_fd input;
  unique_fd output;
  unique_fd error;
  /// The master side of the command's terminal, for changing its size; empty without a terminal.
  unique_fd terminal;

 private:
  void use_terminal(terminal_size size, spawn_request& request) {
    terminal_ends ends(size);
    input = usable(unique_fd(::fcntl(ends.ours.get(), F_DUPFD_CLOEXEC, 3)), "terminal");
    terminal = usable(unique_fd(::fcntl(ends.ours.get(), F_DUPFD_CLOEXEC, 3)), "terminal");
    output = std::move(ends.ours);
    theirs_[0] = std::move(ends.theirs);
    request.input = request.output = request.error = theirs_[0].get();
    request.is_terminal = true;
  }

  unique_fd theirs_[3];
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
