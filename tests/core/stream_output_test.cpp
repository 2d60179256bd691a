// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/stream_output.hpp>

#include "support/cancel_when_idle.hpp"
#include "support/run.hpp"

#include <asio/cancellation_state.hpp>
#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace stream_output_tests {

namespace {

using asio::awaitable;
using cofferdam::as_text;
using cofferdam::bytes;
using cofferdam::bytes_view;
using cofferdam::command;
using cofferdam::command_result;
using cofferdam::exec_errc;
using cofferdam::output_chunk;
using cofferdam::output_stream;
using cofferdam::process;
using cofferdam::shell;
using cofferdam::stream_output;
using cofferdam::to_bytes;
using cofferdam_test::cancel_after;
using cofferdam_test::cancel_when_idle;
using cofferdam_test::run;
using namespace std::chrono_literals;

awaitable<void> step() { co_await asio::post(asio::use_awaitable); }

/// The script of a command, and counts of the calls it received.
struct account {
  std::vector<std::string> pieces;
  bool read_fails = false;
  bool runs_until_signalled = false;
  int started = 0;
  int signalled = 0;
  int waited = 0;
  const std::byte* output = nullptr;  // output of the result from take_result()
  int dropped = 0;
};

class scripted_process final : public process::implementation {
 public:
  explicit scripted_process(account& record) : all_(record) {}
  ~scripted_process() override { ++all_.dropped; }
  awaitable<output_chunk> read() override {
    co_await step();
    if (all_.read_fails) throw cofferdam::error(exec_errc::provider_lost, "from read");
    if (next_ < all_.pieces.size()) {
      const std::string& text = all_.pieces[next_++];
      co_return output_chunk(output_stream::out, to_bytes(text));
    }
    if (!all_.runs_until_signalled) co_return output_chunk();
    asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
    co_await timer.async_wait(asio::use_awaitable);
    co_return output_chunk();
  }
  awaitable<void> write_input(bytes_view) override { co_return; }
  awaitable<void> close_input() override { co_return; }
  awaitable<void> signal(int number) override {
    EXPECT_EQ(number, SIGKILL);
    co_await step();
    ++all_.signalled;
  }
  awaitable<command_result> wait() override {
    co_await step();
    ++all_.waited;
    co_return command_result::exited(all_.signalled != 0 ? -1 : 5);
  }
  awaitable<command_result> take_result() override {
    command_result result = co_await wait();
    bytes printed = to_bytes("long enough for a block of its own");
    all_.output = printed.data();
    result.out(cofferdam::captured_output(std::move(printed), bytes(), 0));
    co_return result;
  }

 private:
  account& all_;
  std::size_t next_ = 0;
};

class scripted_environment {
 public:
  explicit scripted_environment(account& record) : all_(record) {}
  awaitable<process> start(command c) {
    co_await step();
    EXPECT_EQ(c.line(), "the line");
    ++all_.started;
    co_return process(std::make_unique<scripted_process>(all_));
  }
  awaitable<command_result> run_command(command) { co_return command_result(); }
  awaitable<bytes> read_file(std::string, std::size_t) { co_return bytes(); }
  awaitable<void> write_file(std::string, bytes_view) { co_return; }
  awaitable<void> close() { co_return; }

 private:
  account& all_;
};

static_assert(cofferdam::streaming_environment<scripted_environment>);

}  // namespace

TEST(StreamOutput, hands_over_each_piece_in_order_and_returns_the_result) {
  account record;
  record.pieces = {"a", "b", "c"};
  std::vector<std::string> received;
  const command_result result = run([&]() -> awaitable<command_result> {
    scripted_environment env(record);
    command_result ended = co_await stream_output(env, shell("the line"), [&](const output_chunk& piece) {
      EXPECT_FALSE(piece.end());
      received.emplace_back(as_text(piece.data()));
    });
    co_return ended;
  });
  EXPECT_EQ(received, record.pieces);
  EXPECT_EQ(result.exit_code(), 5);
  EXPECT_EQ(record.signalled, 0);
  EXPECT_EQ(record.dropped, 1);
}

TEST(StreamOutput, takes_the_result_without_a_copy_of_the_output) {
  account record;
  const command_result result = run([&]() -> awaitable<command_result> {
    scripted_environment env(record);
    command_result ended = co_await stream_output(env, shell("the line"), [](const output_chunk&) {});
    co_return ended;
  });
  EXPECT_EQ(result.out().text(), "long enough for a block of its own");
  EXPECT_EQ(result.out().head().data(), record.output);
}

TEST(StreamOutput, calls_nothing_for_a_command_without_output) {
  account record;
  run([&]() -> awaitable<void> {
    scripted_environment env(record);
    co_await stream_output(env, shell("the line"), [](const output_chunk&) { ADD_FAILURE() << "called"; });
  });
  EXPECT_EQ(record.waited, 1);
}

TEST(StreamOutput, kills_the_command_and_waits_for_it_before_the_callbacks_exception_arrives) {
  account record;
  record.pieces = {"a", "b", "c"};
  record.runs_until_signalled = true;
  int calls = 0;
  std::string caught;
  int signalled_by_then = 0;
  int waited_by_then = 0;
  run([&]() -> awaitable<void> {
    scripted_environment env(record);
    try {
      co_await stream_output(env, shell("the line"), [&](const output_chunk&) {
        if (++calls == 2) throw std::runtime_error("enough");
      });
    } catch (const std::runtime_error& thrown) {
      caught = thrown.what();
      signalled_by_then = record.signalled;
      waited_by_then = record.waited;
    }
  });
  EXPECT_EQ(caught, "enough");
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(signalled_by_then, 1);
  EXPECT_EQ(waited_by_then, 1);
  EXPECT_EQ(record.dropped, 1);
}

TEST(StreamOutput, passes_on_what_reading_throws) {
  account record;
  record.read_fails = true;
  std::error_code caught;
  run([&]() -> awaitable<void> {
    scripted_environment env(record);
    try {
      co_await stream_output(env, shell("the line"), [](const output_chunk&) {});
    } catch (const cofferdam::error& failure) {
      caught = failure.code();
    }
  });
  EXPECT_EQ(caught, exec_errc::provider_lost);
  EXPECT_EQ(record.signalled, 1);
}

TEST(StreamOutput, cancelled_at_any_step_ends_the_command) {
  bool ended = false;
  for (std::size_t handlers = 0; !ended; ++handlers) {
    ASSERT_LT(handlers, 100U);
    account record;
    record.pieces = {"a", "b", "c"};
    std::exception_ptr failure;
    ended = cancel_after(
        handlers,
        [&]() -> awaitable<void> {
          scripted_environment env(record);
          co_await stream_output(env, shell("the line"), [](const output_chunk&) {});
        },
        failure);
    EXPECT_EQ(record.started, record.dropped) << "after " << handlers << " handlers";
    if (record.started == 0 || !failure) continue;
    EXPECT_EQ(record.signalled, 1) << "after " << handlers << " handlers";
    EXPECT_GE(record.waited, 1) << "after " << handlers << " handlers";
    try {
      std::rethrow_exception(failure);
    } catch (const std::system_error& reason) {
      EXPECT_EQ(reason.code(), exec_errc::cancelled) << "after " << handlers << " handlers: " << reason.what();
    }
  }
}

TEST(StreamOutput, cancelled_while_it_waits_for_output_kills_the_command_first) {
  account record;
  record.runs_until_signalled = true;
  const std::exception_ptr failure = cancel_when_idle([&]() -> awaitable<void> {
    scripted_environment env(record);
    co_await stream_output(env, shell("the line"), [](const output_chunk&) {});
  });
  EXPECT_TRUE(failure);
  EXPECT_EQ(record.signalled, 1);
  EXPECT_EQ(record.waited, 1);
}

TEST(StreamOutput, leaves_the_callers_wish_for_exceptions_as_it_was) {
  account record;
  record.pieces = {"a"};
  bool after = false;
  run([&]() -> awaitable<void> {
    scripted_environment env(record);
    try {
      co_await stream_output(env, shell("the line"), [](const output_chunk&) { throw std::runtime_error("enough"); });
    } catch (const std::runtime_error&) {
    }
    after = co_await asio::this_coro::throw_if_cancelled();
  });
  EXPECT_TRUE(after);
}

}  // namespace stream_output_tests
