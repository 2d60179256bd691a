// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/run.hpp>
#include <cofferdam/detail/core/callbacks.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>

#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <errno.h>
#include <signal.h>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// The handling of SIGINT and SIGTERM while `run` works. The destructor restores the program's own handlers.
class ending_signals {
 public:
  /// Adds SIGINT and SIGTERM to a signal set, except a signal that the program ignores. When a signal arrives, the
  /// kernel resets the action of this signal to the default. So a second signal ends the program even if the event loop
  /// is blocked.
  void add_to(asio::signal_set& set) {
    for (each& entry : all_) {
      ::sigaction(entry.number, nullptr, &entry.before);
      if (is_handler(entry.before, SIG_IGN)) continue;
      set.add(entry.number);
      struct sigaction now {};
      ::sigaction(entry.number, nullptr, &now);
      // Asio's handler was installed before: another signal set of the program uses this signal, so the action is not
      // changed.
      if (is_handler(entry.before, now.sa_handler)) continue;
      entry.is_replaced = !is_handler(entry.before, SIG_DFL);
      now.sa_flags |= static_cast<int>(SA_RESETHAND);
      ::sigaction(entry.number, &now, nullptr);
    }
  }
  ending_signals() = default;
  ending_signals(const ending_signals&) = delete;
  ending_signals& operator=(const ending_signals&) = delete;
  ~ending_signals() {
    for (const each& entry : all_)
      if (entry.is_replaced) ::sigaction(entry.number, &entry.before, nullptr);
  }

 private:
  class each {
   public:
    int number = 0;
    bool is_replaced = false;
    struct sigaction before {};
  };

  static bool is_handler(const struct sigaction& action, void (*handler)(int)) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handler;
  }

  std::array<each, 2> all_{each{SIGINT}, each{SIGTERM}};
};

template <class>
run_outcome run_loop(awaitable<void> work) {
  run_outcome end;
  ending_signals actions;
  asio::cancellation_signal stop;
  asio::io_context loop(1);
  asio::signal_set signals(loop);
  actions.add_to(signals);
  signals.async_wait([&end, &signals, &stop](std::error_code cancelled, int number) {
    if (cancelled) return;
    end.signal = number;
    signals.clear();
    stop.emit(asio::cancellation_type::terminal);
  });
  auto ended = [&end, &signals](std::exception_ptr failure) {
    end.has_ended = true;
    if (!end.failure) end.failure = std::move(failure);
    signals.clear();
    signals.cancel();
  };
  spawn_coroutine(loop.get_executor(), std::move(work), std::move(ended), stop.slot());
  for (bool runs = true; runs;) {
    try {
      loop.run();
      runs = false;
    } catch (...) {  // a handler of the program threw: cancel the coroutine, and let it close its environments
      if (!end.failure) end.failure = std::current_exception();
      stop.emit(asio::cancellation_type::terminal);
    }
  }
  if (!end.has_ended && !end.failure)
    end.failure =
        std::make_exception_ptr(error(exec_errc::cancelled, "run: the loop was stopped before its coroutine ended"));
  return end;
}

/// Runs `work` as `run_loop` does. If `run_loop` throws, for example because no event loop can be created, returns the
/// exception as the failure.
template <class = void>
run_outcome outcome_of(awaitable<void> work) {
  run_outcome end;
  try {
    end = run_loop(std::move(work));
  } catch (const std::exception&) {
    end.failure = std::current_exception();
  }
  return end;
}

/// Returns true if the failure only reports that an operation was cancelled.
inline bool is_cancellation(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::system_error& thrown) {
    return thrown.code() == exec_errc::cancelled || thrown.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

COFFERDAM_INSTANTIATE(run_outcome run_loop<void>(awaitable<void>))

COFFERDAM_DECL int exit_status(const run_outcome& end, int value) noexcept {
  if (!end.failure) return value;
  const int status = end.signal == 0 ? 1 : 128 + end.signal;
  if (end.signal != 0 && is_cancellation(end.failure)) return status;
  try {
    std::rethrow_exception(end.failure);
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, thrown.what());
  } catch (...) {
    std::fprintf(stderr, "%s: an exception that is not a std::exception\n", program_invocation_short_name);
  }
  return status;
}

}  // namespace detail

template <class>
int run(awaitable<void> work) {
  return detail::exit_status(detail::outcome_of(std::move(work)), 0);
}

template <class>
int run(awaitable<int> work) {
  std::optional<int> value;
  const detail::run_outcome end = detail::outcome_of(detail::store<int>(std::move(work), value));
  return detail::exit_status(end, value.value_or(1));
}

COFFERDAM_INSTANTIATE(int run<void>(awaitable<void>))
COFFERDAM_INSTANTIATE(int run<void>(awaitable<int>))

}  // namespace cofferdam::inline COFFERDAM_ABI
