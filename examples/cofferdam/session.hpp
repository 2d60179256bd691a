// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include "signals.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include <cstddef>
#include <exception>
#include <list>
#include <system_error>

namespace program {

/// Coroutines that run beside another one. `run_beside()` or `stop()` must be awaited before the object is destroyed.
class helpers {
 public:
  explicit helpers(const asio::any_io_executor& executor);

  /// Starts a coroutine.
  void start(cofferdam::awaitable<void> work);
  /// Runs `work`, and then stops all of them. Afterwards the caller can be cancelled as before.
  /// \throws the exception of `work`.
  /// \par Cancellation  terminal: ends `work`.
  cofferdam::awaitable<void> run_beside(cofferdam::awaitable<void> work);
  /// Waits until all of them have ended.
  /// \par Cancellation  terminal: ends the wait.
  cofferdam::awaitable<void> join();
  /// Cancels all of them, and waits for their ends. Their exceptions are dropped: a helper reports what matters itself.
  /// \par Cancellation  switched off by the caller.
  cofferdam::awaitable<void> stop();

 private:
  asio::any_io_executor executor_;
  asio::steady_timer ended_;
  std::list<asio::cancellation_signal> signals_;
  std::size_t running_ = 0;
};

/// The event loop of a subcommand, and the user's signals.
///
/// SIGINT is first offered to the command that runs (see `next_interrupt`). SIGINT without such a command, a second
/// SIGINT, SIGTERM and SIGHUP cancel the work, so that it closes its environment. A further signal, or 9 s without an
/// end, ends the program at once; the kernel then ends what is left.
class session {
 public:
  session();

  /// Runs the work as the whole program. Returns its value, or 128+N if signal N has cancelled it.
  /// \throws the exception of the work.
  int run(cofferdam::awaitable<int> work);

  /// Waits for a SIGINT that is meant for the command. While a coroutine waits, the first SIGINT does not cancel.
  cofferdam::awaitable<void> next_interrupt();

 private:
  void on_signal(int number);
  void cancel(int number);

  asio::io_context loop_{1};
  user_signals signals_{loop_};
  asio::steady_timer interrupt_{loop_};
  asio::steady_timer last_moment_{loop_};
  asio::cancellation_signal stop_;
  bool has_command_ = false;
  int cancelled_by_ = 0;
};

}  // namespace program
