// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// A standard header must come before the first Asio header: Asio 1.22 tests macros of the standard library to choose
// how coroutine frames are allocated. core/asio.hpp explains this.
// clang-format off
#include <cstddef>

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
// clang-format on

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

// Functions that run coroutines in tests. They are plain functions, so a test may pass a lambda that captures: the
// lambda is called once, and it outlives the coroutine.

namespace cofferdam_test {

/// A time limit for a test. Ends the program with a message unless the watchdog is destroyed within the limit, so that
/// a hang does not look like a slow test.
class watchdog {
 public:
  explicit watchdog(std::chrono::seconds limit) : thread_([this, limit] { watch(limit); }) {}
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  ~watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  void watch(std::chrono::seconds limit) {
    std::unique_lock lock(mutex_);
    // Waits on the system clock, because some versions of ThreadSanitizer do not support a wait on the steady clock.
    if (wake_.wait_until(lock, std::chrono::system_clock::now() + limit, [this] { return done_; })) return;
    std::fprintf(stderr, "\ncofferdam test watchdog: a coroutine did not end within %lld s\n",
                 static_cast<long long>(limit.count()));
    std::fflush(stderr);
    std::abort();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

inline constexpr std::chrono::seconds default_limit{60};

namespace run_types {

template <class A>
struct value_of;
template <class T>
struct value_of<asio::awaitable<T>> {
  using type = T;
};

}  // namespace run_types

/// A callable without parameters that returns an `awaitable`.
template <class F>
concept coroutine_factory =
    std::invocable<F&> && requires { typename run_types::value_of<std::invoke_result_t<F&>>::type; };

/// The type of the value that the coroutine of `F` returns.
template <coroutine_factory F>
using yield_of = typename run_types::value_of<std::invoke_result_t<F&>>::type;

/// A coroutine on its own `io_context`; the test decides how many handlers run. `T` must be default-constructible,
/// because `co_spawn` requires it.
template <class T>
class driven {
 public:
  explicit driven(asio::awaitable<T> work) {
    if constexpr (std::is_void_v<T>) {
      asio::co_spawn(*context_, std::move(work),
                     asio::bind_cancellation_slot(signal_.slot(), [this](std::exception_ptr failure) {
                       failure_ = std::move(failure);
                       ended_ = true;
                     }));
    } else {
      asio::co_spawn(*context_, std::move(work),
                     asio::bind_cancellation_slot(signal_.slot(), [this](std::exception_ptr failure, T value) {
                       failure_ = std::move(failure);
                       if (!failure_) value_.emplace(std::move(value));
                       ended_ = true;
                     }));
    }
  }

  asio::io_context& context() noexcept { return *context_; }
  bool ended() const noexcept { return ended_; }
  /// Cancels the coroutine, as the cancellation of a parent coroutine does.
  void cancel() { signal_.emit(asio::cancellation_type::terminal); }
  /// Runs at most `limit` handlers. Stops earlier if the coroutine has ended or no handler is left.
  void run_handlers(std::size_t limit) {
    for (std::size_t i = 0; i < limit && !ended_; ++i)
      if (context_->run_one() == 0) break;
  }
  /// Runs until no handler is left.
  void run_to_end() { context_->run(); }
  /// Destroys the context and everything that waits in it, as a host does that drops its io_context.
  void destroy() { context_.reset(); }

  /// Returns the value of the coroutine, or throws the exception that ended it.
  T result() {
    if (!ended_) throw std::logic_error("test run: asked for the result of a coroutine that has not ended");
    if (failure_) std::rethrow_exception(failure_);
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }

 private:
  using stored = std::conditional_t<std::is_void_v<T>, char, T>;
  asio::cancellation_signal signal_;  // outlives the context, because coroutines in the context hold its slot
  std::optional<asio::io_context> context_{std::in_place, 1};
  std::exception_ptr failure_;
  std::optional<stored> value_;
  bool ended_ = false;
};

/// Runs `work` on a new `io_context` until no handler is left. Returns the value of `work`, or throws its exception.
/// Ends the program if this takes longer than `limit`.
template <class T>
T run(asio::awaitable<T> work, std::chrono::seconds limit = default_limit) {
  const watchdog guard(limit);
  driven<T> coroutine(std::move(work));
  coroutine.run_to_end();
  return coroutine.result();
}

/// Runs the coroutine that a lambda returns: `auto n = run([&]() -> awaitable<int> { … })`.
template <coroutine_factory F>
yield_of<F> run(F&& make, std::chrono::seconds limit = default_limit) {
  return run(make(), limit);
}

/// Runs `handlers` handlers, and then destroys the context with everything that waits in it. Returns true if the
/// coroutine had ended before the destruction. A loop that increases `handlers` until the result is true tests each
/// step.
template <coroutine_factory F>
bool destroy_after(std::size_t handlers, F&& make, std::chrono::seconds limit = default_limit) {
  const watchdog guard(limit);
  driven<yield_of<F>> coroutine(make());
  coroutine.run_handlers(handlers);
  const bool ended = coroutine.ended();
  coroutine.destroy();
  return ended;
}

/// Runs `handlers` handlers, cancels the coroutine, and runs until no handler is left. Returns true if the coroutine
/// had ended before the cancellation. Stores the exception of the coroutine in `failure`.
template <coroutine_factory F>
bool cancel_after(std::size_t handlers, F&& make, std::exception_ptr& failure,
                  std::chrono::seconds limit = default_limit) {
  const watchdog guard(limit);
  driven<yield_of<F>> coroutine(make());
  coroutine.run_handlers(handlers);
  const bool ended = coroutine.ended();
  if (!ended) coroutine.cancel();
  coroutine.run_to_end();
  failure = nullptr;
  try {
    static_cast<void>(coroutine.result());
  } catch (...) {
    failure = std::current_exception();
  }
  return ended;
}

}  // namespace cofferdam_test
