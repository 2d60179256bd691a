// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/detail/core/pool_state.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// Numbers about an open pool, for logs and metrics.
class pool_counts {
 public:
  explicit pool_counts(detail::pool_numbers numbers) noexcept : numbers_(numbers) {}

  /// Returns the number of open environments that can be handed out.
  std::size_t idle() const noexcept { return numbers_.idle; }
  /// Returns the number of environments that are opening.
  std::size_t opening() const noexcept { return numbers_.opening; }
  /// Returns the number of callers that wait for an environment to open. If it is often above 0, raise `size` or
  /// `opens_at_once`: more environments are then ready. Environments in use are not counted and not limited.
  std::size_t waiting() const noexcept { return numbers_.waiting; }
  /// Returns the number of environments that were handed out.
  std::size_t handed_out() const noexcept { return numbers_.handed_out; }
  /// Returns the number of attempts to open or close an environment that failed.
  std::size_t failed() const noexcept { return numbers_.failed; }
  /// Returns the number of environments that were lost while they waited, such as a container that was killed, or that
  /// have waited longer than `max_idle`. They were closed and replaced.
  std::size_t discarded() const noexcept { return numbers_.discarded; }

 private:
  detail::pool_numbers numbers_;
};

/// A recipe whose `open()` takes an environment out of a pool. Layers to its right wrap the environment when it is
/// handed out: `pool.provider() | timeout(5s)`. Copies share the pool.
template <class Opened>
class pooled_provider {
 public:
  explicit pooled_provider(std::shared_ptr<detail::pool_state<Opened>> pool) noexcept : pool_(std::move(pool)) {}

  /// Takes an open environment, which then belongs to the caller, who closes it. It was never used before. If none is
  /// idle, waits for the next one, in the order of the calls.
  /// \throws error{exec_errc::environment_closed} if the pool is closed, also while this function waits;
  ///     error{exec_errc::unavailable} if the limit of `wait_limit` has passed; the exception of the provider if an
  ///     environment could not be opened and no other is opening.
  /// \par Cancellation  ends the wait with error{exec_errc::cancelled}; the pool keeps the environment.
  awaitable<Opened> open() const {
    return pool_->home().run([pool = pool_] { return detail::pool_state<Opened>::take(pool); });
  }

 private:
  std::shared_ptr<detail::pool_state<Opened>> pool_;
};

/// An open pool: environments that are open already, so that a program gets one in well under a millisecond. Each is
/// handed out once and never comes back. The pool opens the next ones in the background.
///
/// An environment that is known to be lost (`is_lost()`) is not handed out. This check sends nothing. An environment
/// without `is_lost()`, such as a sandbox of E2B, can end unnoticed; set `max_idle` for it.
///
/// The object may be moved. If it is destroyed without `close()`, it ends everything that it has opened and not handed
/// out, without waiting. It must not outlive its `io_context` or thread pool.
/// \par Threads  may be used from several threads, unless it was opened on a strand. Then it belongs to that strand.
template <class Opened>
class environment_pool {
 public:
  explicit environment_pool(std::shared_ptr<detail::pool_state<Opened>> state) noexcept : state_(std::move(state)) {}
  environment_pool(environment_pool&&) noexcept = default;
  environment_pool& operator=(environment_pool&& other) noexcept {
    if (this != &other) {
      abandon();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~environment_pool() { abandon(); }

  /// Returns the recipe that hands out the environments of this pool.
  pooled_provider<Opened> provider() const { return pooled_provider<Opened>(get()); }

  /// Returns the current numbers.
  pool_counts counts() const {
    const auto& state = get();
    return pool_counts(state->home().look([&state] { return state->numbers(); }));
  }

  /// Closes the pool: stops opening, closes all environments that were not handed out, and waits until this is done.
  /// Environments that were handed out stay open. Calls of `provider().open()` that wait throw
  /// error{exec_errc::environment_closed}. A cancellation does not stop this operation.
  /// \throws the first exception of closing an environment, after everything has ended.
  awaitable<void> close() {
    return detail::shielded(
        [state = get()] { return state->home().run([state] { return detail::pool_state<Opened>::close(state); }); });
  }

 private:
  const std::shared_ptr<detail::pool_state<Opened>>& get() const {
    if (!state_) throw error(exec_errc::environment_closed, "environment_pool: this object was moved from");
    return state_;
  }

  void abandon() noexcept {
    if (!state_) return;
    const detail::home_strand home = state_->home();
    home.run_soon([state = std::move(state_)] { state->abandon(); });
  }

  std::shared_ptr<detail::pool_state<Opened>> state_;
};

/// The recipe of a pool; see `pool`.
template <detail::opens_closable Provider>
class pool_recipe {
 public:
  /// Makes the recipe. `pool(provider, size)` calls this.
  pool_recipe(Provider provider, std::size_t size) : provider_(std::move(provider)) {
    if (size == 0 || size > 10'000)
      throw error(exec_errc::invalid_argument,
                  "pool: the size is " + std::to_string(size) + "; it must be from 1 to 10000");
    settings_.size = size;
  }

  /// Sets how many environments may be opening at the same time, at least 1. Default: 4.
  pool_recipe& opens_at_once(std::size_t count) {
    if (count == 0) throw error(exec_errc::invalid_argument, "pool: opens_at_once is 0; it must be at least 1");
    settings_.opens_at_once = count;
    return *this;
  }
  /// Sets the shortest time between the starts of two openings, as a limit of the rate. Default: none. At most a day.
  ///
  /// After a failure, the pool opens one environment at a time until that succeeds. It waits 100 ms before the next
  /// attempt, and twice as long after each further failure in a row, up to 30 s; up to 1 s while a caller waits.
  pool_recipe& open_interval(std::chrono::milliseconds interval) {
    if (interval.count() < 0 || interval > std::chrono::hours(24))
      throw error(exec_errc::invalid_argument,
                  "pool: open_interval is " + std::to_string(interval.count()) + " ms; it must be from 0 ms to 24 h");
    settings_.open_interval = interval;
    return *this;
  }
  /// Sets how long `provider().open()` waits for an environment. Default: 60 s. At most a day.
  pool_recipe& wait_limit(std::chrono::milliseconds limit) {
    if (limit.count() <= 0 || limit > std::chrono::hours(24))
      throw error(exec_errc::invalid_argument,
                  "pool: wait_limit is " + std::to_string(limit.count()) + " ms; it must be from 1 ms to 24 h");
    settings_.wait_limit = limit;
    return *this;
  }
  /// Sets how long an environment may wait in the pool. After this time it is closed, and another one is opened.
  /// Default: no limit. At most a day. Sandboxes of E2B need it, because they end by themselves: use half of their
  /// `lifetime`.
  pool_recipe& max_idle(std::chrono::milliseconds time) {
    if (time.count() <= 0 || time > std::chrono::hours(24))
      throw error(exec_errc::invalid_argument,
                  "pool: max_idle is " + std::to_string(time.count()) + " ms; it must be from 1 ms to 24 h");
    settings_.max_idle = time;
    return *this;
  }
  /// Lets `open()` return at once, for a server that should answer before its first environment is open. If none can be
  /// opened, `provider().open()` throws the exception of the provider, and the pool goes on trying.
  pool_recipe& without_waiting() {
    settings_.waits_for_first = false;
    return *this;
  }

  /// Opens the pool. Returns when the first environment is open; the others follow in the background. The time that
  /// this may take is that of the provider's own `open()`: `wait_limit` is for `provider().open()`.
  /// \throws the exception of the provider if the first environments cannot be opened.
  /// \par Cancellation  closes what was opened, then error{exec_errc::cancelled}.
  awaitable<environment_pool<environment_of<Provider>>> open() const { return open_with(provider_, settings_); }

 private:
  using opened = environment_of<Provider>;
  using state_type = detail::pool_state<opened>;

  static awaitable<environment_pool<opened>> open_with(Provider provider, detail::pool_settings settings) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto state = std::make_shared<state_type>(
        executor, [provider = std::move(provider)] { return provider.open(); }, settings);
    const auto begins = [&state] { return state->home().run([state] { return state_type::begin(state); }); };
    const auto closes = [&state] { return state->home().run([state] { return state_type::close(state); }); };
    co_await detail::with_cleanup_after_failure(begins, closes);
    co_return environment_pool<opened>(state);
  }

  Provider provider_;
  detail::pool_settings settings_;
};

/// Returns the recipe of a pool that keeps `size` environments open, so that each is ready when it is needed:
///
///     co_await with(pool(jail() | upload_files("data/"), 4), [](auto& pool) -> awaitable<void> {
///       co_await with(pool.provider() | timeout(5s), [](auto& env) -> awaitable<void> { ... });
///     });
///
/// Layers inside `pool(...)` do their work before an environment is needed; layers to the right of `pool.provider()`
/// do it when it is handed out. A pool does not limit how many environments are in use: 20 callers get 20, plus `size`
/// kept ready. To limit them, limit your callers. A pool of code runners, `pool(jail() | python(), 4)`, works in the
/// same way.
///
/// \param provider  a provider of environments or of runners.
/// \param size      how many environments are kept open and unused, from 1 to 10,000. Not a maximum of those in use.
/// \throws          error{exec_errc::invalid_argument} for another size.
template <detail::opens_closable Provider>
pool_recipe<Provider> pool(Provider provider, std::size_t size) {
  return pool_recipe<Provider>(std::move(provider), size);
}

}  // namespace cofferdam::inline COFFERDAM_ABI
