// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "relay.hpp"

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>

#include "host_io.hpp"
#include "session.hpp"
#include "terminal.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/signal_set.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <csignal>
#include <optional>
#include <utility>

#include <unistd.h>

namespace program {

namespace {

using namespace cofferdam;

/// Passes standard input on, until its end or until the command reads no more.
awaitable<void> pass_input(host_stream& in, process& running) {
  try {
    for (;;) {
      const bytes piece = co_await in.read();
      if (piece.empty()) break;
      co_await running.write_input(piece);
    }
    co_await running.close_input();
  } catch (const error& failure) {
    if (failure.code() != exec_errc::io_error) throw;
  }
}

awaitable<void> pass_interrupt(session& used, process& running) {
  co_await used.next_interrupt();
  co_await running.signal(SIGINT);
}

awaitable<void> follow_size(asio::signal_set& changes, process& running) {
  for (;;) {
    co_await changes.async_wait(asio::use_awaitable);
    const std::optional<window_size> size = size_of_terminal(STDIN_FILENO);
    if (size) co_await running.resize(size->rows, size->columns);
  }
}

/// Passes output on, until its end. Returns false if nothing reads it any more.
awaitable<bool> pass_output(process& running, relay_kind kind) {
  host_stream out(STDOUT_FILENO);
  host_stream err(STDERR_FILENO);
  for (;;) {
    const output_chunk piece = co_await running.read();
    if (piece.end()) co_return true;
    if (kind == relay_kind::silent) continue;
    host_stream& stream = piece.stream() == output_stream::err ? err : out;
    const bool is_read = co_await stream.write(piece.data());
    if (!is_read) co_return false;
  }
}

}  // namespace

awaitable<relayed> relay(session& used, process& running, relay_kind kind) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  host_stream in(STDIN_FILENO);
  asio::signal_set size_changes(executor, SIGWINCH);
  helpers beside(executor);
  beside.start(pass_input(in, running));
  beside.start(pass_interrupt(used, running));
  if (kind == relay_kind::terminal) beside.start(follow_size(size_changes, running));
  relayed end;
  auto work = [&]() -> awaitable<void> {
    const bool is_read = co_await pass_output(running, kind);
    end.reader_gone = !is_read;
  };
  co_await beside.run_beside(work());
  if (end.reader_gone) co_return end;
  // The command has closed its output. It may still run; a signal ends it.
  end.result = co_await std::move(running).wait();
  co_return end;
}

}  // namespace program
