// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/strand_gate.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/dispatch.hpp>
#include <asio/execution/blocking.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/execution/relationship.hpp>
#include <asio/io_context.hpp>
#include <asio/prefer.hpp>
#include <asio/require.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The state of one piece of work on another executor, shared by the caller and that executor. It is created with all
/// the memory that it needs before the caller's coroutine is suspended. Allocating later would be unsafe: Asio
/// terminates the program if an exception is thrown while an operation is initiated.
class remote_run {
 public:
  remote_run(asio::any_io_executor where, const asio::any_io_executor& from, asio::cancellation_type cancelled,
             remote_job& what)
      : to(std::move(where)),
        back(asio::prefer(asio::require(from, asio::execution::blocking.never),
                          asio::execution::relationship.continuation, asio::execution::outstanding_work.tracked)),
        asked(static_cast<unsigned>(cancelled)),
        job(what) {}

  /// Records a cancellation, in case the work has not begun. May be called on any thread.
  void ask_to_cancel(asio::cancellation_type type) noexcept { asked |= static_cast<unsigned>(type); }
  /// Cancels the work if it is running. Called on the other executor only.
  void cancel(asio::cancellation_type type) {
    // A coroutine that has not begun is not cancelled, because Asio would destroy it, and with it the caller's
    // coroutine.
    if (begun && !over) signal.emit(type);
  }

  const asio::any_io_executor to;
  const asio::any_io_executor back;  // the caller's executor; keeps its context from running out of work
  asio::cancellation_signal signal;
  std::atomic<unsigned> asked;  // the requested types of cancellation
  remote_job& job;  // only for the coroutine on the other executor: it keeps alive the frame that contains the job
  bool begun = false;
  bool over = false;  // true if the work has ended, so that nothing can be cancelled
  std::exception_ptr failure;
};

/// Destroys the work at the end of a scope.
class end_of_work {
 public:
  explicit end_of_work(remote_job& job) noexcept : job_(job) {}
  end_of_work(const end_of_work&) = delete;
  end_of_work& operator=(const end_of_work&) = delete;
  ~end_of_work() { job_.end_work(); }

 private:
  remote_job& job_;
};

/// The coroutine that runs the work on the other executor.
/// \param throws  true if the caller's coroutine throws when it is cancelled.
/// \param back    the handler that continues the caller's coroutine.
template <class Handler>
awaitable<void> work_there(std::shared_ptr<remote_run> shared, bool throws, Handler back) {
  shared->begun = true;
  // All types of cancellation are enabled, because only types that the caller's own settings allow arrive in this
  // coroutine.
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation(),
                                                     asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(throws);
  try {
    const end_of_work at_end(shared->job);  // destroys the work on this executor, not on the caller's
    const auto asked = static_cast<asio::cancellation_type>(shared->asked.load());
    if (asked != asio::cancellation_type::none) {
      if (throws) throw error(exec_errc::cancelled, "cancelled before the operation began");
      shared->signal.emit(asked);
    }
    co_await shared->job.work();
  } catch (...) {
    shared->failure = std::current_exception();
  }
  shared->over = true;
  shared->back.execute(std::move(back));
}

/// The function that is spawned on the other executor. It owns the caller's coroutine through the handler `back_`. So
/// if the other context ends before the work, the caller's coroutine is destroyed.
template <class Back>
class spawned_function {
 public:
  template <class Handler>
  spawned_function(std::shared_ptr<remote_run> shared, bool throws, Handler&& back)
      : shared_(std::move(shared)), throws_(throws), back_(std::forward<Handler>(back)) {}
  awaitable<void> operator()() { return work_there(std::move(shared_), throws_, std::move(back_)); }

 private:
  std::shared_ptr<remote_run> shared_;
  bool throws_;
  Back back_;
};

/// The initiation function of the asynchronous operation. Asio calls it after it suspended the caller's coroutine; it
/// spawns the work on the other executor.
class remote_initiation {
 public:
  remote_initiation(std::shared_ptr<remote_run> shared, bool throws) : shared_(std::move(shared)), throws_(throws) {}

  template <class Handler>
  void operator()(Handler&& handler) {
    using back = std::decay_t<Handler>;
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) slot.assign(forwarded_cancellation(shared_));
    // The caller's coroutine may continue and destroy this object before co_spawn returns, so the state is kept in a
    // local variable.
    const std::shared_ptr<remote_run> shared = shared_;
    asio::co_spawn(shared->to, spawned_function<back>(shared, throws_, std::forward<Handler>(handler)),
                   asio::bind_cancellation_slot(shared->signal.slot(), completion(shared)));
  }

 private:
  /// The handler in the caller's cancellation slot. It passes a cancellation to the other executor, because only that
  /// executor may use the signal. Asio's own forwarding is not safe here: before 1.26 it emits on the thread of the
  /// cancelling caller, and before 1.28.2 it can use a destroyed frame. The handler holds a weak pointer, because the
  /// caller's slot may outlive both contexts.
  class forwarded_cancellation {
   public:
    explicit forwarded_cancellation(const std::shared_ptr<remote_run>& shared) : shared_(shared) {}
    void operator()(asio::cancellation_type type) {
      const std::shared_ptr<remote_run> shared = shared_.lock();
      if (!shared) return;
      shared->ask_to_cancel(type);
      asio::dispatch(shared->to, [shared, type] { shared->cancel(type); });
    }

   private:
    std::weak_ptr<remote_run> shared_;
  };

  /// The completion handler of the spawned coroutine. It keeps the signal alive as long as Asio may use its slot. It
  /// rethrows an exception that does not come from the work, for example a lack of memory when the caller is continued.
  /// The exception then leaves run() of the event loop.
  class completion {
   public:
    explicit completion(std::shared_ptr<remote_run> shared) : shared_(std::move(shared)) {}
    void operator()(const std::exception_ptr& failure) const {
      if (failure) std::rethrow_exception(failure);
    }

   private:
    std::shared_ptr<remote_run> shared_;
  };

  std::shared_ptr<remote_run> shared_;
  bool throws_;
};

template <class>
awaitable<void> run_remotely(asio::any_io_executor from, asio::any_io_executor to, remote_job& job) {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  const auto shared = std::make_shared<remote_run>(std::move(to), from, state.cancelled(), job);
  remote_initiation initiation(shared, throws);
  asio::use_awaitable_t<> token;
  co_await asio::async_initiate<asio::use_awaitable_t<>, void()>(std::move(initiation), token);
  if (shared->failure) std::rethrow_exception(std::exchange(shared->failure, nullptr));
}

/// Returns true if the executor contains an executor of exactly this type. Asio's target() does not check the type.
template <class Executor>
bool holds(const asio::any_io_executor& executor) noexcept {
  return executor.target_type() == typeid(Executor);
}

COFFERDAM_DECL home_strand::home_strand(asio::any_io_executor opened_on) {
  if (holds<gated_executor>(opened_on)) {
    gate_ = opened_on.target<gated_executor>()->gate();
    executor_ = gated_executor(gate_);
  } else if (is_strand(opened_on)) {
    executor_ = std::move(opened_on);
  } else {
    gate_ = std::make_shared<strand_gate>(std::move(opened_on));
    executor_ = gated_executor(gate_);
  }
}

COFFERDAM_DECL strand_gate::strand_gate(asio::any_io_executor inner)
    : inner_(std::move(inner)),
      later_(asio::require(inner_, asio::execution::blocking.never)),
      is_loop_(holds<asio::io_context::executor_type>(inner_)) {}

COFFERDAM_DECL bool strand_gate::is_in_loop() const noexcept {
  return is_loop_ && inner_.target<asio::io_context::executor_type>()->running_in_this_thread();
}

COFFERDAM_DECL void strand_gate::call_in_loop(void (*function)(void*), void* what) const {
  asio::dispatch(*inner_.target<asio::io_context::executor_type>(), [function, what] { function(what); });
}

COFFERDAM_DECL bool home_strand::is_strand(const asio::any_io_executor& executor) noexcept {
  return holds<asio::strand<asio::io_context::executor_type>>(executor) ||
         holds<asio::strand<asio::any_io_executor>>(executor) ||
         holds<asio::strand<asio::thread_pool::executor_type>>(executor) || holds<gated_executor>(executor);
}

COFFERDAM_DECL asio::any_io_executor strand_of(asio::any_io_executor caller) {
  if (home_strand::is_strand(caller)) return caller;
  return gated_executor(std::make_shared<strand_gate>(std::move(caller)));
}

COFFERDAM_INSTANTIATE(awaitable<void> run_remotely<void>(asio::any_io_executor, asio::any_io_executor, remote_job&))

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
