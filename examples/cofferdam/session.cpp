// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "session.hpp"

#include <cofferdam/core/asio.hpp>

#include "outcome.hpp"
#include "report.hpp"
#include "terminal.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

#include <signal.h>

namespace program {

namespace {

using namespace cofferdam;

/// The longest time between the signal that cancels and the end of the program.
constexpr std::chrono::seconds max_end{9};

/// Ends the program without destructors.
[[noreturn]] void give_up(const char* why, int status) {
  restore_terminal();
  complain(why);
  std::_Exit(status);
}

}  // namespace

helpers::helpers(const asio::any_io_executor& executor)
    : executor_(executor), ended_(executor, asio::steady_timer::time_point::max()) {}

void helpers::start(awaitable<void> work) {
  asio::cancellation_signal& signal = signals_.emplace_back();
  ++running_;
  auto done = [this](const std::exception_ptr&) {
    --running_;
    ended_.cancel();
  };
  asio::co_spawn(executor_, std::move(work), asio::bind_cancellation_slot(signal.slot(), std::move(done)));
}

awaitable<void> helpers::run_beside(awaitable<void> work) {
  std::exception_ptr failure;
  try {
    co_await std::move(work);
  } catch (...) {
    failure = std::current_exception();
  }
  // A cancelled coroutine would throw at the next co_await. The helpers are awaited nevertheless, in a coroutine of
  // their own that is not cancelled, and the caller finds its settings and its cancellation as they were.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  awaitable<void> ends = stop();
  co_await asio::co_spawn(executor_, std::move(ends),
                          asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
}

awaitable<void> helpers::join() {
  while (running_ != 0) {
    std::error_code ignored;
    co_await ended_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

awaitable<void> helpers::stop() {
  for (asio::cancellation_signal& each : signals_) each.emit(asio::cancellation_type::terminal);
  return join();
}

session::session() {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    // nohup and shells without job control start programs with signals ignored; that is left so.
    if (now.sa_handler != SIG_IGN) signals_.add(number);
  }
}

int session::run(awaitable<int> work) {
  int status = status_own_failure;
  std::exception_ptr failure;
  signals_.start([this](int number) { on_signal(number); });
  auto ended = [&](std::exception_ptr why, int value) {
    failure = std::move(why);
    status = value;
    signals_.stop();
    last_moment_.cancel();
  };
  asio::co_spawn(loop_, std::move(work), asio::bind_cancellation_slot(stop_.slot(), std::move(ended)));
  loop_.run();
  if (failure && !(cancelled_by_ != 0 && is_cancellation(failure))) std::rethrow_exception(failure);
  return cancelled_by_ == 0 ? status : status_of_signal + cancelled_by_;
}

void session::on_signal(int number) {
  if (cancelled_by_ != 0) give_up("ended by a second signal before all was closed", status_of_signal + number);
  if (number == SIGINT && has_command_) {
    has_command_ = false;
    interrupt_.cancel();
    return;
  }
  cancel(number);
}

void session::cancel(int number) {
  cancelled_by_ = number;
  last_moment_.expires_after(max_end);
  last_moment_.async_wait([this](const std::error_code& in_time) {
    if (!in_time) give_up("the environment did not close in time", status_of_signal + cancelled_by_);
  });
  stop_.emit(asio::cancellation_type::terminal);
}

awaitable<void> session::next_interrupt() {
  has_command_ = true;
  interrupt_.expires_at(asio::steady_timer::time_point::max());
  std::error_code ignored;
  co_await interrupt_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  has_command_ = false;
}

}  // namespace program
