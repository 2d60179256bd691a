// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/tools/blocking.hpp>
#include <cofferdam/tools/function.hpp>

#include "support/error_of.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace blocking_test {

using namespace cofferdam;
using namespace std::chrono_literals;

std::string repeat(std::string text, int count) {
  if (count < 0) throw std::runtime_error("less than nothing");
  std::string result;
  while (count-- > 0) result += text;
  return result;
}

/// Runs a coroutine, cancels it after `delay`, and returns the code of its error.
template <class Start>
std::error_code cancelled_after(std::chrono::milliseconds delay, Start start) {
  std::exception_ptr failure;
  cofferdam_test::run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::cancellation_signal stop;
    asio::steady_timer ended(executor, 1h);
    const auto done = [&](const std::exception_ptr& why) {
      failure = why;
      ended.cancel();
    };
    cofferdam_test::spawn(executor, start(), done, stop.slot());
    asio::steady_timer soon(executor, delay);
    co_await soon.async_wait(asio::use_awaitable);
    stop.emit(asio::cancellation_type::terminal);
    try {
      co_await ended.async_wait(asio::use_awaitable);
    } catch (const std::exception&) {
    }
  });
  return cofferdam_test::code_of([&] {
    if (failure) std::rethrow_exception(failure);
  });
}

// Feature: H17
TEST(Blocking, a_function_of_a_tool_runs_on_the_pool_and_its_result_arrives_on_the_executor) {
  asio::thread_pool pool(2);
  const std::thread::id here = std::this_thread::get_id();
  std::thread::id there;
  const auto notes = [&there](double x, std::string word) -> std::string {
    there = std::this_thread::get_id();
    return word + std::to_string(static_cast<int>(x));
  };
  const tools::function tool("note", "Notes.", tools::argument("x"), tools::argument("word", tools::text),
                             tools::blocking(pool, notes));
  const tools::function other("repeat", "Repeats.", tools::argument("text"), tools::argument("count"),
                              tools::blocking(asio::any_io_executor(pool.get_executor()), repeat));
  cofferdam_test::run([&]() -> awaitable<void> {
    boost::json::value arguments = boost::json::parse(R"({"x":5,"word":"n"})");
    const tools::tool_result result = co_await tool.call(std::move(arguments));
    EXPECT_EQ(result.text(), "n5");
    EXPECT_EQ(std::this_thread::get_id(), here);
    boost::json::value wrong = boost::json::parse(R"({"text":"a","count":-1})");
    const tools::tool_result failed = co_await other.call(std::move(wrong));
    EXPECT_EQ(failed.text(), "Error: the tool failed: less than nothing");
  });
  EXPECT_NE(there, here);
  EXPECT_NE(there, std::thread::id());
}

TEST(Blocking, the_executor_is_free_while_functions_run_at_the_same_time) {
  asio::thread_pool pool(2);
  std::promise<void> first;
  std::promise<void> second;
  const auto meets = [&](bool is_first) {
    (is_first ? first : second).set_value();
    (is_first ? second : first).get_future().wait();
  };
  const auto handler = tools::blocking(pool, meets);
  int ended = 0;
  cofferdam_test::run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto done = [&](const std::exception_ptr&) { ++ended; };
    cofferdam_test::spawn(executor, handler(true), done);
    cofferdam_test::spawn(executor, handler(false), done);
    asio::steady_timer pause(executor);
    while (ended < 2) {
      pause.expires_after(1ms);
      co_await pause.async_wait(asio::use_awaitable);
    }
  });
  EXPECT_EQ(ended, 2);
}

TEST(Blocking, a_cancelled_call_waits_for_its_function_which_can_see_the_token) {
  asio::thread_pool pool(1);
  std::atomic<bool> has_ended = false;
  const auto waits = [&](std::stop_token stop, int) {
    while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);
    has_ended = true;
    return 1;
  };
  const auto handler = tools::blocking(pool, waits);
  bool had_ended = false;
  const auto calls = [&]() -> awaitable<void> {
    std::exception_ptr failure;
    try {
      co_await handler(5);
    } catch (...) {
      failure = std::current_exception();
    }
    had_ended = has_ended;
    std::rethrow_exception(failure);
  };
  EXPECT_EQ(cancelled_after(10ms, calls), exec_errc::cancelled);
  EXPECT_TRUE(had_ended);
}

TEST(Blocking, a_cancelled_call_that_waits_for_a_thread_never_begins) {
  asio::thread_pool pool(1);
  std::promise<void> go;
  std::atomic<int> calls = 0;
  asio::post(pool, [&] { go.get_future().wait(); });
  const auto counts = [&] { ++calls; };
  const auto handler = tools::blocking(pool, counts);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(cancelled_after(10ms, [&] { return handler(); }), exec_errc::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  go.set_value();
  pool.join();
  EXPECT_EQ(calls, 0);
}

TEST(Blocking, a_stopped_pool_is_an_error) {
  auto pool = std::make_unique<asio::thread_pool>(1);
  std::promise<void> go;
  asio::post(*pool, [&] { go.get_future().wait(); });
  const auto nothing = [] {};
  const auto handler = tools::blocking(*pool, nothing);
  std::error_code code;
  cofferdam_test::run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    bool has_ended = false;
    const auto done = [&](const std::exception_ptr& failure) {
      code = cofferdam_test::code_of([&] { std::rethrow_exception(failure); });
      has_ended = true;
    };
    cofferdam_test::spawn(executor, handler(), done);
    asio::steady_timer pause(executor, 5ms);
    co_await pause.async_wait(asio::use_awaitable);
    pool->stop();
    go.set_value();
    pool.reset();
    while (!has_ended) {
      pause.expires_after(1ms);
      co_await pause.async_wait(asio::use_awaitable);
    }
  });
  EXPECT_EQ(code, exec_errc::unavailable);
}

TEST(Blocking, an_empty_function_is_an_error) {
  asio::thread_pool pool(1);
  EXPECT_EQ(cofferdam_test::code_of([&] { tools::blocking(pool, std::function<void()>()); }),
            exec_errc::invalid_argument);
}

}  // namespace blocking_test
