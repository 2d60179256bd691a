// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/testing/detail/conformance_base.hpp>
#include <cofferdam/testing/detail/side_task.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The tests of `start`, for backends that support it.
template <class Backend>
class streaming_conformance : public detail::conformance<Backend> {};
TYPED_TEST_SUITE_P(streaming_conformance);

namespace detail {

/// Reads output until standard output contains `expected` or the output ends. Returns the text from standard output.
inline awaitable<std::string> read_until(process& running, std::string expected) {
  std::string seen;
  while (seen.find(expected) == std::string::npos) {
    output_chunk piece = co_await running.read();
    if (piece.end()) break;
    if (piece.stream() == output_stream::out) seen += as_text(piece.data());
  }
  co_return seen;
}

/// Starts a command whose process a check shares with a coroutine beside it.
template <class E>
awaitable<std::shared_ptr<process>> start_shared(E& env, command c) {
  process started = co_await env.start(std::move(c));
  co_return std::make_shared<process>(std::move(started));
}

}  // namespace detail

TYPED_TEST_P(streaming_conformance, output_comes_while_the_command_runs) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(shell("echo first; read answer; echo \"got $answer\"").open_input());
    std::string first = co_await detail::read_until(running, "first\n");
    EXPECT_EQ(first, "first\n");
    co_await running.write_input(as_bytes("yes\n"));
    std::string second = co_await detail::read_until(running, "got yes\n");
    EXPECT_EQ(second, "got yes\n");
    command_result result = co_await running.wait();
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.out().text(), "first\ngot yes\n");
  });
}

TYPED_TEST_P(streaming_conformance, both_streams_come_and_say_which_they_are) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(shell("printf out; printf err >&2"));
    std::string out;
    std::string err;
    for (;;) {
      output_chunk piece = co_await running.read();
      if (piece.end()) break;
      (piece.stream() == output_stream::out ? out : err) += as_text(piece.data());
    }
    EXPECT_EQ(out, "out");
    EXPECT_EQ(err, "err");
    output_chunk again = co_await running.read();
    EXPECT_TRUE(again.end());
  });
}

TYPED_TEST_P(streaming_conformance, closing_the_input_ends_it) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(shell("cat; echo end").open_input());
    co_await running.write_input(as_bytes("a"));
    co_await running.write_input(as_bytes("b"));
    co_await running.close_input();
    co_await running.close_input();
    command_result result = co_await running.wait();
    EXPECT_EQ(result.out().text(), "abend\n");
  });
}

TYPED_TEST_P(streaming_conformance, input_given_with_the_command_comes_before_input_written_later) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(shell("cat").input("1").open_input());
    co_await running.write_input(as_bytes("2"));
    co_await running.close_input();
    command_result result = co_await running.wait();
    EXPECT_EQ(result.out().text(), "12");
  });
}

TYPED_TEST_P(streaming_conformance, writing_without_an_open_input_is_unsupported) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(shell("cat"));
    co_await detail::expect_error([&running] { return running.write_input(as_bytes("x")); }, exec_errc::unsupported,
                                  "write");
    command_result result = co_await running.wait();
    EXPECT_TRUE(result.ok());
  });
}

TYPED_TEST_P(streaming_conformance, writing_to_a_command_that_has_ended_is_an_error) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(shell("exit 0").open_input());
    command_result result = co_await running.wait();
    EXPECT_TRUE(result.ok());
    co_await detail::expect_error([&running] { return running.write_input(as_bytes("x")); }, exec_errc::io_error,
                                  "write");
  });
}

TYPED_TEST_P(streaming_conformance, writing_more_than_an_ended_command_took_is_an_error_and_no_hang) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(shell("head -c 10 >/dev/null").open_input());
    const bytes much(8 * 1024 * 1024);
    const auto write = [&]() -> awaitable<void> {  // a busy place may report the end of the command late
      for (int i = 0; i < 100; ++i) co_await running.write_input(much);
    };
    co_await detail::expect_error(write, exec_errc::io_error, "write");
    command_result result = co_await running.wait();
    EXPECT_TRUE(result.ok());
  });
}

TYPED_TEST_P(streaming_conformance, megabytes_go_round_while_both_sides_work) {
  this->with([](auto& env) -> awaitable<void> {
    const auto running = co_await detail::start_shared(env, shell("cat").open_input().keep_output(0));
    bytes content(4 * 1024 * 1024);
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::byte>(i * 7 % 251);
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto work = [running, content]() -> awaitable<void> {
      co_await running->write_input(content);
      co_await running->close_input();
    };
    const detail::side_task task(executor, work);
    bytes back;
    for (;;) {
      output_chunk piece = co_await running->read();
      if (piece.end()) break;
      back.insert(back.end(), piece.data().begin(), piece.data().end());
    }
    EXPECT_TRUE(back == content);
    command_result result = co_await running->wait();
    EXPECT_EQ(result.out().total(), content.size());
    co_await task.end();
    EXPECT_FALSE(task.code()) << task.code().message();
  });
}

TYPED_TEST_P(streaming_conformance, a_command_nobody_reads_from_waits_and_loses_nothing) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(
        shell("for i in $(seq 1 20); do head -c 65536 /dev/zero; echo $i >> progress; done").keep_output(100));
    co_await detail::sleep_for(std::chrono::milliseconds(500));
    command_result progress = co_await env.run_command(shell("wc -l < progress"));
    EXPECT_LT(std::atoi(progress.out().text().c_str()), 20) << "it went on writing although nobody read";
    command_result result = co_await running.wait();
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.out().total(), 20U * 65536U);
  });
}

TYPED_TEST_P(streaming_conformance, output_that_is_left_when_the_command_has_ended_can_still_be_read) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(shell("printf tail; touch ended"));
    for (;;) {
      const bool ended = co_await exists(env, "ended");
      if (ended) break;
    }
    co_await detail::sleep_for(std::chrono::milliseconds(300));
    std::string seen = co_await detail::read_until(running, "tail");
    EXPECT_EQ(seen, "tail");
  });
}

TYPED_TEST_P(streaming_conformance, waiting_takes_what_was_not_read) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(shell("echo one; echo two; exit 3"));
    command_result result = co_await running.wait();
    EXPECT_EQ(result.exit_code(), 3);
    EXPECT_EQ(result.out().text(), "one\ntwo\n");
    command_result again = co_await running.wait();
    EXPECT_EQ(again.exit_code(), 3);
    EXPECT_EQ(again.out().text(), "one\ntwo\n");
    output_chunk after = co_await running.read();
    EXPECT_TRUE(after.end());
  });
}

TYPED_TEST_P(streaming_conformance, a_signal_reaches_the_command) {
  this->with([](auto& env) -> awaitable<void> {
    process running =
        co_await env.start(shell("trap 'echo caught; exit 9' USR1; echo ready; while :; do sleep 0.02; done"));
    std::string ready = co_await detail::read_until(running, "ready\n");
    EXPECT_EQ(ready, "ready\n");
    co_await running.signal(SIGUSR1);
    command_result result = co_await running.wait();
    EXPECT_EQ(result.exit_code(), 9);
    EXPECT_EQ(result.out().text(), "ready\ncaught\n");
    co_await running.signal(SIGUSR1);
    co_await detail::expect_error([&running] { return running.signal(0); }, exec_errc::invalid_argument, "signal 0");
    co_await detail::expect_error([&running] { return running.signal(99); }, exec_errc::invalid_argument, "signal 99");
  });
}

TYPED_TEST_P(streaming_conformance, a_time_limit_holds_although_nobody_reads_or_waits) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(
        shell("trap '' PIPE; while :; do echo x >> alive; sleep 0.05; done").timeout(std::chrono::milliseconds(300)));
    co_await detail::sleep_for(std::chrono::milliseconds(1500));
    command_result first = co_await env.run_command(shell("wc -l < alive"));
    co_await detail::sleep_for(std::chrono::milliseconds(300));
    command_result second = co_await env.run_command(shell("wc -l < alive"));
    EXPECT_EQ(first.out().text(), second.out().text()) << "it was still running";
    command_result result = co_await running.wait();
    EXPECT_EQ(result.kind(), error_kind::timeout);
  });
}

TYPED_TEST_P(streaming_conformance, a_process_that_is_dropped_is_ended) {
  this->with([](auto& env) -> awaitable<void> {
    {
      process running = co_await env.start(shell("echo up; while :; do echo x >> alive; sleep 0.02; done"));
      std::string up = co_await detail::read_until(running, "up\n");
      EXPECT_EQ(up, "up\n");
    }
    co_await detail::sleep_for(std::chrono::milliseconds(300));
    command_result first = co_await env.run_command(shell("wc -l < alive"));
    co_await detail::sleep_for(std::chrono::milliseconds(300));
    command_result second = co_await env.run_command(shell("wc -l < alive"));
    EXPECT_EQ(first.out().text(), second.out().text()) << "it was still running";
  });
}

TYPED_TEST_P(streaming_conformance, a_program_that_cannot_be_started_is_a_finished_process) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(argv("cofferdam-no-such-program"));
    output_chunk nothing = co_await running.read();
    EXPECT_TRUE(nothing.end());
    command_result result = co_await running.wait();
    EXPECT_EQ(result.kind(), error_kind::execution_error);
  });
}

TYPED_TEST_P(streaming_conformance, cancelling_a_read_loses_nothing_and_leaves_the_command_running) {
  this->with([](auto& env) -> awaitable<void> {
    const auto running = co_await detail::start_shared(env, shell("read go; echo went on").open_input());
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto work = [running]() -> awaitable<void> { co_await running->read(); };
    detail::side_task task(executor, work);
    co_await detail::sleep_for(std::chrono::milliseconds(50));
    task.cancel();
    co_await task.end();
    EXPECT_EQ(task.code(), exec_errc::cancelled);
    co_await running->write_input(as_bytes("\n"));
    std::string text = co_await detail::read_until(*running, "went on\n");
    EXPECT_EQ(text, "went on\n");
  });
}

TYPED_TEST_P(streaming_conformance, cancelling_a_wait_ends_the_command) {
  this->with([](auto& env) -> awaitable<void> {
    const auto running =
        co_await detail::start_shared(env, shell("echo up; while :; do echo x >> alive; sleep 0.02; done"));
    std::string up = co_await detail::read_until(*running, "up\n");
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto work = [running]() -> awaitable<void> { co_await running->wait(); };
    detail::side_task task(executor, work);
    co_await detail::sleep_for(std::chrono::milliseconds(50));
    task.cancel();
    co_await task.end();
    EXPECT_EQ(task.code(), exec_errc::cancelled);
    EXPECT_EQ(task.partial(), "up\n");
    command_result first = co_await env.run_command(shell("wc -l < alive"));
    co_await detail::sleep_for(std::chrono::milliseconds(200));
    command_result second = co_await env.run_command(shell("wc -l < alive"));
    EXPECT_EQ(first.out().text(), second.out().text()) << "it was still running";
  });
}

TYPED_TEST_P(streaming_conformance, stream_output_hands_over_everything_and_yields_the_result) {
  this->with([](auto& env) -> awaitable<void> {
    std::string seen;
    command_result result =
        co_await stream_output(env, shell("for i in 1 2 3; do echo $i; sleep 0.02; done; exit 4"),
                               [&seen](const output_chunk& piece) { seen += as_text(piece.data()); });
    EXPECT_EQ(seen, "1\n2\n3\n");
    EXPECT_EQ(result.exit_code(), 4);
    EXPECT_EQ(result.out().text(), seen);
  });
}

TYPED_TEST_P(streaming_conformance, a_callback_that_throws_ends_the_command_and_its_exception_arrives) {
  this->with([](auto& env) -> awaitable<void> {
    std::string caught;
    try {
      co_await stream_output(env, shell("while :; do echo x; echo x >> alive; sleep 0.02; done"),
                             [](const output_chunk&) { throw std::runtime_error("enough"); });
    } catch (const std::runtime_error& thrown) {
      caught = thrown.what();
    }
    EXPECT_EQ(caught, "enough");
    command_result first = co_await env.run_command(shell("cat alive 2>/dev/null | wc -l"));
    co_await detail::sleep_for(std::chrono::milliseconds(200));
    command_result second = co_await env.run_command(shell("cat alive 2>/dev/null | wc -l"));
    EXPECT_EQ(first.out().text(), second.out().text()) << "it was still running";
  });
}

REGISTER_TYPED_TEST_SUITE_P(
    streaming_conformance, output_comes_while_the_command_runs, both_streams_come_and_say_which_they_are,
    closing_the_input_ends_it, input_given_with_the_command_comes_before_input_written_later,
    writing_without_an_open_input_is_unsupported, writing_to_a_command_that_has_ended_is_an_error,
    writing_more_than_an_ended_command_took_is_an_error_and_no_hang, megabytes_go_round_while_both_sides_work,
    a_command_nobody_reads_from_waits_and_loses_nothing,
    output_that_is_left_when_the_command_has_ended_can_still_be_read, waiting_takes_what_was_not_read,
    a_signal_reaches_the_command, a_time_limit_holds_although_nobody_reads_or_waits, a_process_that_is_dropped_is_ended,
    a_program_that_cannot_be_started_is_a_finished_process,
    cancelling_a_read_loses_nothing_and_leaves_the_command_running, cancelling_a_wait_ends_the_command,
    stream_output_hands_over_everything_and_yields_the_result,
    a_callback_that_throws_ends_the_command_and_its_exception_arrives);

// Some test programs do not instantiate this suite, because their backend does not support `start`.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(streaming_conformance);

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
