// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/shell_words.hpp>
#include <cofferdam/detail/core/sleep.hpp>
#include <cofferdam/middleware/detail/command_pattern.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The work that `retry` repeats.
enum class retried_work { opening, operation };

/// The settings of `retry`, which its environments share. The object is not changed while it is shared.
class retry_policy {
 public:
  std::size_t attempts = 3;
  std::chrono::milliseconds first_pause{200};
  std::chrono::milliseconds longest_pause{10'000};
  std::function<bool(const error&)> is_passing;       ///< empty: `passes_usually`
  std::function<bool(const command&)> is_idempotent;  ///< empty: no commands, except those of the patterns
  std::vector<command_pattern> patterns;              ///< the commands that are idempotent

  bool repeats(const error& failure, retried_work work) const {
    if (failure.code() == exec_errc::cancelled) return false;
    return is_passing ? is_passing(failure) : passes_usually(failure, work);
  }

  bool repeats(const command& c) const {
    if (is_idempotent && is_idempotent(c)) return true;
    if (patterns.empty()) return false;
    std::vector<std::string> split;
    if (c.is_shell()) {
      parsed_words parsed = split_shell_words(c.line());
      if (!parsed.ok()) return false;
      split = std::move(parsed).words();
    }
    const std::string text = join_shell_words(c.is_shell() ? split : c.words());
    return std::any_of(patterns.begin(), patterns.end(), [&text](const command_pattern& each) {
      std::size_t steps = max_steps;
      return each.match(text, false, steps) == match_state::complete;
    });
  }

  /// Returns a random time between the half and the whole of the pause after attempt `number`. Without the randomness,
  /// clients that have failed together would come back together.
  std::chrono::milliseconds pause_after(std::size_t number) const {
    std::chrono::milliseconds longest = first_pause;
    for (std::size_t i = 1; i < number && longest < longest_pause; ++i) longest *= 2;
    longest = std::min(longest, longest_pause);
    std::random_device source;
    std::uniform_int_distribution<std::chrono::milliseconds::rep> pick(longest.count() / 2, longest.count());
    return std::chrono::milliseconds(pick(source));
  }

 private:
  /// The maximum number of matching steps for one pattern and one command, about a millisecond.
  static constexpr std::size_t max_steps = 100'000;

  static bool passes_usually(const error& failure, retried_work work) {
    if (failure.code() == exec_errc::unavailable) return true;
    // An environment that was lost does not come back, but the service that opens environments may.
    if (failure.code() == exec_errc::provider_lost) return work == retried_work::opening;
    for (const std::errc passing : {std::errc::resource_unavailable_try_again, std::errc::connection_refused,
                                    std::errc::connection_reset, std::errc::connection_aborted, std::errc::timed_out,
                                    std::errc::host_unreachable, std::errc::network_unreachable})
      if (failure.cause() == passing) return true;
    return false;
  }
};

/// Returns the error with the number of attempts in its sentence.
inline error after_attempts(const error& failure, std::size_t attempts) {
  error counted(static_cast<exec_errc>(failure.code().value()),
                std::string(failure.what()) + " (after " + std::to_string(attempts) + " attempts)", failure.cause());
  if (failure.partial() == nullptr) return counted;
  return counted.with_partial(std::make_shared<const command_result>(*failure.partial()));
}

/// Waits after a failed attempt, if another attempt is to follow.
/// \throws the failure if no attempt is to follow; error{exec_errc::cancelled} if the pause was cancelled.
template <class = void>
awaitable<void> pause_before_retry(std::shared_ptr<const retry_policy> policy, retried_work work, error failure,
                                   std::size_t attempt) {
  if (attempt >= policy->attempts || !policy->repeats(failure, work)) {
    if (attempt == 1) throw failure;
    throw after_attempts(failure, attempt);
  }
  co_await sleep_for(policy->pause_after(attempt), "retry: cancelled in the pause after attempt " +
                                                       std::to_string(attempt) + ", which failed: " + failure.what());
}

/// Calls `attempt` and awaits the awaitable that it returns, again and again, until an attempt succeeds or the policy
/// admits no further one.
/// \param attempt  a callable without parameters; it is called for each attempt.
template <class Attempt>
auto repeated(std::shared_ptr<const retry_policy> policy, retried_work work, Attempt attempt)
    -> std::invoke_result_t<Attempt&> {
  using result = typename awaited<std::invoke_result_t<Attempt&>>::type;
  for (std::size_t number = 1;; ++number) {
    std::optional<error> failure;
    try {
      if constexpr (std::is_void_v<result>) {
        co_await attempt();
        co_return;
      } else {
        result value = co_await attempt();
        co_return value;
      }
    } catch (const error& reason) {
      failure = reason;
    }
    co_await pause_before_retry(policy, work, *failure, number);
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
