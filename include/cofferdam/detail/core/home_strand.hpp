// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/detail/core/strand_gate.hpp>
#include <cofferdam/version.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

// Support for an object that is used by coroutines on different executors. The object has its own strand, its home.
// Each operation of the object is a coroutine on that strand. The caller's coroutine waits for the operation and
// continues on its own executor.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The work that a caller's coroutine passes to another executor. The object is in the frame of the caller's coroutine,
/// which exists until the work has ended.
class remote_job {
 public:
  remote_job() = default;
  remote_job(const remote_job&) = delete;
  remote_job& operator=(const remote_job&) = delete;

  /// Runs the work and stores its result. Called on the other executor.
  virtual awaitable<void> work() = 0;
  /// Destroys the work. Called on the other executor.
  virtual void end_work() noexcept = 0;

 protected:
  ~remote_job() = default;
};

/// Runs `job` on the executor `to` and waits for its end. Called by a coroutine that runs on the executor `from`. This
/// function does not depend on the type of the work, so it is compiled once.
template <class = void>
awaitable<void> run_remotely(asio::any_io_executor from, asio::any_io_executor to, remote_job& job);

/// Awaits a coroutine and stores its result in `kept`.
template <class T>
awaitable<void> keep_result(awaitable<T> work, std::optional<T>& kept) {
  T value = co_await std::move(work);
  kept.emplace(std::move(value));
}

/// A job whose work is a function that returns `awaitable<T>`.
template <class T, class Work>
class remote_job_for final : public remote_job {
 public:
  explicit remote_job_for(Work work) : work_(std::move(work)) {}

  awaitable<void> work() override {
    if constexpr (std::is_void_v<T>) {
      return (*work_)();
    } else {
      return keep_result<T>((*work_)(), value);
    }
  }
  void end_work() noexcept override { work_.reset(); }

  std::conditional_t<std::is_void_v<T>, bool, std::optional<T>> value{};

 private:
  std::optional<Work> work_;
};

/// Runs a coroutine on a strand and waits for its end. The caller then continues on its own executor. If the caller is
/// on the strand already, the coroutine runs there directly.
/// \param to    the strand.
/// \param work  a callable that returns the coroutine; it is called and destroyed on the strand.
/// \par Errors        the exception of the coroutine; error{exec_errc::cancelled} if the caller was cancelled before
///     the coroutine began.
/// \par Cancellation  the cancellation types that the caller's filter (`asio::this_coro::reset_cancellation_state`)
///                    allows are passed on to the coroutine, on the strand.
template <class Work>
auto run_on(asio::any_io_executor to, Work work) -> std::invoke_result_t<Work&> {
  using result = typename awaited<std::invoke_result_t<Work&>>::type;
  asio::any_io_executor from = co_await asio::this_coro::executor;
  if (from == to) {
    if constexpr (std::is_void_v<result>) {
      co_await work();
      co_return;
    } else {
      result value = co_await work();
      co_return std::move(value);
    }
  }
  remote_job_for<result, Work> job(std::move(work));
  co_await run_remotely(std::move(from), std::move(to), job);
  if constexpr (!std::is_void_v<result>) co_return std::move(*job.value);
}

/// The strand on which an environment or a runner does all its work.
///
/// If the object was opened on a strand, it uses that strand. These types of strands are recognised: `asio::strand` of
/// `io_context::executor_type`, `thread_pool::executor_type` and `any_io_executor`, and the strand of another object of
/// this library. If the object was opened on another executor, it gets a `strand_gate`: a strand over that executor
/// with a lock, the gate, that a thread outside the event loop can take too. So the object's destructor may run on any
/// thread.
class home_strand {
 public:
  home_strand() = default;
  /// Selects or creates the strand.
  /// \param opened_on  the executor of the coroutine that opens the object.
  explicit home_strand(asio::any_io_executor opened_on);

  /// Returns the strand, for timers, sockets and other objects.
  const asio::any_io_executor& executor() const noexcept { return executor_; }

  /// Runs a coroutine on the strand, as `run_on` describes.
  template <class Work>
  std::invoke_result_t<Work&> run(Work work) const {
    return run_on(executor_, std::move(work));
  }

  /// Runs a job while no other thread runs a function of the strand; for destructors. If another thread holds the gate,
  /// that thread runs the job before it leaves the gate. Otherwise the job runs at once. A running event loop is not
  /// needed. If the object was opened on the user's own strand, there is no gate, and the job runs at once without a
  /// lock.
  template <class Job>
  void run_soon(Job job) const noexcept {
    if (!gate_) return job();
    if (!gate_->try_enter()) {
      std::unique_ptr<strand_gate::job> later = as_job(job);
      if (!later) {  // out of memory: wait for the gate, because the job cannot be passed to its holder
        gate_->enter();
      } else if (!handed_over(later)) {
        const gate_exit at_end(*gate_);
        return later->run();
      } else {
        return;
      }
    }
    const gate_exit at_end(*gate_);
    Job mine(std::move(job));
    mine();
  }

  /// Calls `look` while no other thread runs a function of the strand, and returns its result. Waits for a function
  /// that runs. If there is no gate, calls `look` without a lock.
  template <class Look>
  std::invoke_result_t<Look&> look(Look look) const {
    if (!gate_) return look();
    gate_->enter();
    const gate_exit at_end(*gate_);
    return look();
  }

  /// Returns true if there is a gate, and false on the user's own strand.
  bool has_gate() const noexcept { return static_cast<bool>(gate_); }

  /// Calls `look` and returns true, if no other thread is in the gate and no function waits for its turn on the strand.
  /// Otherwise, or if there is no gate, returns false at once.
  template <class Look>
  bool try_look(const Look& look) const {
    if (!gate_ || !gate_->try_enter_in_order()) return false;
    const gate_exit at_end(*gate_);
    look();
    return true;
  }

  /// Returns true if an executor is a strand of one of the recognised types.
  static bool is_strand(const asio::any_io_executor& executor) noexcept;

 private:
  template <class Job>
  class kept_job final : public strand_gate::job {
   public:
    explicit kept_job(Job work) : job_(std::move(work)) {}
    void run() override {
      Job mine(std::move(job_));
      mine();
    }

   private:
    Job job_;
  };

  template <class Job>
  static std::unique_ptr<strand_gate::job> as_job(Job& job) noexcept {
    void* const place = ::operator new(sizeof(kept_job<Job>), std::nothrow);
    if (place == nullptr) return nullptr;
    return std::unique_ptr<strand_gate::job>(::new (place) kept_job<Job>(std::move(job)));
  }

  bool handed_over(std::unique_ptr<strand_gate::job>& later) const noexcept {
    try {
      return !gate_->enter_or_hand_over(later);
    } catch (const std::bad_alloc&) {
      gate_->enter();
      return false;
    }
  }

  asio::any_io_executor executor_;
  std::shared_ptr<strand_gate> gate_;
};

/// Returns an executor on which work for the caller can be run from other threads. This is the caller's executor if it
/// is a strand, and otherwise a new strand over it.
asio::any_io_executor strand_of(asio::any_io_executor caller);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/core/impl/home_strand.ipp>
#endif
