// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/tools/blocking.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>
#include <asio/this_coro.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::tools::detail {

/// A coroutine that waits for a call on a pool. It is used on the executor of the coroutine only.
class pool_waiter {
 public:
  explicit pool_waiter(const asio::any_io_executor& executor)
      : ended(executor), tracked(asio::prefer(executor, asio::execution::outstanding_work.tracked)) {}

  static awaitable<void> until_done(std::shared_ptr<pool_waiter> self) {
    while (!self->done) co_await self->ended.wait();
  }

  cofferdam::detail::async_event ended;
  asio::any_io_executor tracked;  // keeps the event loop running
  bool done = false;
  bool has_run = false;
};

/// A call that a pool executes. A thread of the pool and the waiting coroutine share it.
class pool_job {
 public:
  explicit pool_job(std::shared_ptr<pool_waiter> for_whom) : waiter_(std::move(for_whom)) {}

  std::stop_source stop;

  /// Returns the waiter to the first caller: to the thread that runs the work or gives it up, or to the coroutine that
  /// drops it. Later callers get null. The others then hold nothing of the coroutine's executor, which may end before
  /// them.
  std::shared_ptr<pool_waiter> claim() noexcept {
    if (claimed_.exchange(true)) return nullptr;
    return std::move(waiter_);
  }

 private:
  std::atomic<bool> claimed_ = false;
  std::shared_ptr<pool_waiter> waiter_;
};

/// The part of a call that a pool keeps: it runs the work, and reports the end to the coroutine. A pool that is stopped
/// destroys this object without calling it.
class pool_run {
 public:
  pool_run(std::shared_ptr<pool_job> job, std::function<void(std::stop_token stop)> work)
      : job_(std::move(job)), work_(std::move(work)) {}
  pool_run(pool_run&&) = default;
  pool_run& operator=(pool_run&&) = delete;
  ~pool_run() {
    if (job_) report(job_->claim(), false);
  }

  void operator()() {
    std::shared_ptr<pool_waiter> waiter = job_->claim();
    if (!waiter) return;
    work_(job_->stop.get_token());
    work_ = nullptr;  // the arguments end on this thread, before the caller continues
    report(std::move(waiter), true);
  }

 private:
  static void report(std::shared_ptr<pool_waiter> waiter, bool has_run) {
    if (!waiter) return;
    const asio::any_io_executor executor = waiter->tracked;
    asio::post(executor, [waiter = std::move(waiter), has_run] {
      waiter->done = true;
      waiter->has_run = has_run;
      waiter->ended.notify();
    });
  }

  std::shared_ptr<pool_job> job_;
  std::function<void(std::stop_token stop)> work_;
};

COFFERDAM_DECL awaitable<void> run_on_pool(asio::any_io_executor pool, std::function<void(std::stop_token stop)> work) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto waiter = std::make_shared<pool_waiter>(executor);
  const auto job = std::make_shared<pool_job>(waiter);
  bool is_posted = false;
  auto woken = cofferdam::detail::wait_result::notified;
  const auto waits = [&]() -> awaitable<void> {
    asio::post(pool, pool_run(job, std::move(work)));
    is_posted = true;
    while (!waiter->done && woken != cofferdam::detail::wait_result::cancelled) woken = co_await waiter->ended.wait();
  };
  const auto ends = [&]() -> awaitable<void> {
    if (waiter->done || !is_posted) return {};
    job->stop.request_stop();
    if (job->claim()) return {};  // it has not begun, and now it never begins
    return pool_waiter::until_done(waiter);
  };
  co_await cofferdam::detail::with_cleanup(waits, ends);
  if (woken == cofferdam::detail::wait_result::cancelled)
    throw error(exec_errc::cancelled, "tools::blocking: the call was cancelled");
  if (!waiter->has_run)
    throw error(exec_errc::unavailable, "tools::blocking: the pool was stopped before the call has begun");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::tools::detail
