// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/core/async_event.hpp>

#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

namespace {

using namespace cofferdam;
using detail::async_event;
using detail::wait_result;
using clock = async_event::clock;

/// Starts a coroutine that waits for the event. `result` becomes the result of the wait.
void wait_for(asio::io_context& loop, async_event& event, std::optional<wait_result>& result,
              clock::time_point until = async_event::never, asio::cancellation_signal* signal = nullptr) {
  const auto work = [&event, &result, until]() -> awaitable<void> {
    const wait_result ended = co_await event.wait(until);
    result = ended;
  };
  if (signal != nullptr) {
    cofferdam_test::spawn(
        loop, work, [](std::exception_ptr) {}, signal->slot());
  } else {
    cofferdam_test::spawn(loop, work, [](std::exception_ptr) {});
  }
}

TEST(AsyncEvent, the_waits_end_in_the_order_in_which_they_began) {
  asio::io_context loop;
  async_event event(loop.get_executor());
  std::vector<int> order;
  const auto waits = [&](int number, clock::time_point until) -> awaitable<void> {
    co_await event.wait(until);
    order.push_back(number);
  };
  for (int number = 1; number <= 5; ++number) {
    // The second and the last wait end before the notification, so they leave the list.
    const bool is_short = number == 2 || number == 5;
    const clock::time_point until = is_short ? clock::now() + std::chrono::milliseconds(1) : async_event::never;
    cofferdam_test::spawn(loop, waits(number, until), [](std::exception_ptr) {});
  }
  while (order.size() < 2) loop.run_one();
  cofferdam_test::spawn(loop, waits(6, async_event::never), [](std::exception_ptr) {});
  loop.poll();
  event.notify();
  loop.poll();
  EXPECT_EQ(order, (std::vector<int>{2, 5, 1, 3, 4, 6}));
}

TEST(AsyncEvent, a_notification_ends_the_waits_under_way_and_no_later_one) {
  asio::io_context loop;
  async_event event(loop.get_executor());
  // No coroutine waits, so this notification has no effect.
  event.notify();
  std::optional<wait_result> first, second, later;
  wait_for(loop, event, first);
  wait_for(loop, event, second);
  loop.poll();
  EXPECT_FALSE(first || second);
  event.notify();
  EXPECT_FALSE(first || second) << "coroutines continue from the loop";
  wait_for(loop, event, later);
  loop.poll();
  EXPECT_EQ(first, wait_result::notified);
  EXPECT_EQ(second, wait_result::notified);
  EXPECT_FALSE(later);
  event.notify();
  loop.poll();
  EXPECT_EQ(later, wait_result::notified);
}

TEST(AsyncEvent, each_wait_has_its_own_deadline) {
  asio::io_context loop;
  async_event event(loop.get_executor());
  std::optional<wait_result> early, late;
  wait_for(loop, event, late);
  wait_for(loop, event, early, clock::now() + std::chrono::milliseconds(5));
  while (!early) loop.run_one();
  EXPECT_EQ(early, wait_result::timed_out);
  EXPECT_FALSE(late);
  event.notify();
  loop.poll();
  EXPECT_EQ(late, wait_result::notified);
}

TEST(AsyncEvent, a_deadline_in_the_past_ends_at_once) {
  asio::io_context loop;
  async_event event(loop.get_executor());
  std::optional<wait_result> result;
  wait_for(loop, event, result, clock::now() - std::chrono::seconds(1));
  loop.run();
  EXPECT_EQ(result, wait_result::timed_out);
}

TEST(AsyncEvent, a_notification_wins_over_a_deadline_that_passes_before_the_coroutine_continues) {
  asio::io_context loop;
  async_event event(loop.get_executor());
  std::optional<wait_result> result;
  const clock::time_point until = clock::now() + std::chrono::milliseconds(20);
  wait_for(loop, event, result, until);
  loop.poll();
  event.notify();
  while (clock::now() < until) continue;
  loop.run();
  EXPECT_EQ(result, wait_result::notified);
}

TEST(AsyncEvent, cancellation_ends_one_wait_and_leaves_the_others) {
  asio::io_context loop;
  async_event event(loop.get_executor());
  asio::cancellation_signal signal;
  std::optional<wait_result> first, second, third;
  wait_for(loop, event, first);
  wait_for(loop, event, second, async_event::never, &signal);
  wait_for(loop, event, third);
  loop.poll();
  signal.emit(asio::cancellation_type::terminal);
  loop.poll();
  EXPECT_FALSE(first || third);
  EXPECT_EQ(second, wait_result::cancelled);
  event.notify();
  loop.poll();
  EXPECT_EQ(first, wait_result::notified);
  EXPECT_EQ(third, wait_result::notified);
}

TEST(AsyncEvent, a_wait_that_was_notified_and_then_cancelled_was_cancelled) {
  asio::io_context loop;
  async_event event(loop.get_executor());
  asio::cancellation_signal signal;
  std::optional<wait_result> result;
  wait_for(loop, event, result, async_event::never, &signal);
  loop.poll();
  event.notify();
  signal.emit(asio::cancellation_type::terminal);
  loop.poll();
  EXPECT_EQ(result, wait_result::cancelled);
}

TEST(AsyncEvent, destroying_it_ends_its_waits_as_cancelled) {
  asio::io_context loop;
  std::optional<async_event> event(loop.get_executor());
  std::optional<wait_result> first, second;
  wait_for(loop, *event, first);
  wait_for(loop, *event, second);
  loop.poll();
  event.reset();
  loop.poll();
  EXPECT_EQ(first, wait_result::cancelled);
  EXPECT_EQ(second, wait_result::cancelled);
}

TEST(AsyncEvent, a_loop_that_ends_before_the_event_takes_the_waits_with_it) {
  std::optional<wait_result> result;
  std::optional<asio::io_context> loop(std::in_place);
  async_event event(loop->get_executor());
  wait_for(*loop, event, result);
  wait_for(*loop, event, result);
  loop->poll();
  // The coroutine frames are destroyed with the loop, and remove themselves from the event.
  loop.reset();
  event.notify();
  EXPECT_FALSE(result);
}

}  // namespace
