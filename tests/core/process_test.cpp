// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/process.hpp>

#include "support/run.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using asio::awaitable;
using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::bytes;
using cofferdam::bytes_view;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::exec_errc;
using cofferdam::output_chunk;
using cofferdam::output_stream;
using cofferdam::process;
using cofferdam::to_bytes;
using cofferdam_test::run;

static_assert(std::is_nothrow_move_constructible_v<process>);
static_assert(std::is_nothrow_move_assignable_v<process>);
static_assert(!std::is_copy_constructible_v<process>);
static_assert(std::is_default_constructible_v<process>, "co_spawn wants it");
static_assert(sizeof(process) == sizeof(void*));

/// An implementation of a process that records the calls of its members.
class recorder final : public process::implementation {
 public:
  recorder(std::string& log) : log_(log) {}
  ~recorder() override { log_ += "~"; }
  awaitable<output_chunk> read() override {
    log_ += "read ";
    co_return output_chunk(output_stream::err, to_bytes("x"));
  }
  awaitable<void> write_input(bytes_view data) override {
    log_ += "write:" + std::string(as_text(data)) + " ";
    co_return;
  }
  awaitable<void> close_input() override {
    log_ += "close ";
    co_return;
  }
  awaitable<void> signal(int number) override {
    log_ += "signal:" + std::to_string(number) + " ";
    co_return;
  }
  awaitable<command_result> wait() override {
    log_ += "wait ";
    co_return command_result::exited(4);
  }

 private:
  std::string& log_;
};

template <class Call>
void expect_no_process(Call call) {
  process none;
  try {
    call(none);
    ADD_FAILURE() << "no error";
  } catch (const cofferdam::error& failure) {
    EXPECT_EQ(failure.code(), exec_errc::invalid_argument);
  }
}

}  // namespace

TEST(Chunk, without_data_is_the_end) {
  EXPECT_TRUE(output_chunk().end());
  const output_chunk piece(output_stream::err, to_bytes("ab"));
  EXPECT_FALSE(piece.end());
  EXPECT_EQ(piece.stream(), output_stream::err);
  EXPECT_EQ(as_text(piece.data()), "ab");
}

TEST(Chunk, data_of_a_temporary_is_a_value) {
  static_assert(std::same_as<decltype(std::declval<output_chunk>().data()), cofferdam::bytes>);
  static_assert(std::same_as<decltype(std::declval<const output_chunk&>().data()), const cofferdam::bytes&>);
  const auto text = as_text(output_chunk(output_stream::out, to_bytes("ab")).data());
  EXPECT_EQ(text, "ab");
}

TEST(Process, input_from_a_temporary_text_lives_as_long_as_the_awaitable) {
  std::string log;
  run([&]() -> awaitable<void> {
    process running(std::make_unique<recorder>(log));
    awaitable<void> later = running.write_input(as_bytes(std::string(100, 'x')));
    // This string may reuse the memory of the destroyed temporary.
    const std::string other(100, 'y');
    co_await std::move(later);
  });
  EXPECT_EQ(log, "write:" + std::string(100, 'x') + " ~");
}

TEST(Process, passes_each_call_to_the_backend) {
  std::string log;
  run([&]() -> awaitable<void> {
    process running(std::make_unique<recorder>(log));
    output_chunk piece = co_await running.read();
    EXPECT_EQ(as_text(piece.data()), "x");
    co_await running.write_input(as_bytes("in"));
    co_await running.close_input();
    co_await running.signal(15);
    command_result result = co_await running.wait();
    EXPECT_EQ(result.exit_code(), 4);
  });
  EXPECT_EQ(log, "read write:in close signal:15 wait ~");
}

TEST(Process, ends_the_command_once_when_it_has_been_moved) {
  std::string log;
  {
    process running(std::make_unique<recorder>(log));
    process two(std::move(running));
    process three;
    three = std::move(two);
    EXPECT_EQ(log, "");
  }
  EXPECT_EQ(log, "~");
}

TEST(Process, ends_the_old_command_when_another_is_assigned) {
  std::string first;
  std::string second;
  process running(std::make_unique<recorder>(first));
  running = process(std::make_unique<recorder>(second));
  EXPECT_EQ(first, "~");
  EXPECT_EQ(second, "");
}

TEST(Process, that_is_none_says_so) {
  expect_no_process([](process& none) { static_cast<void>(none.read()); });
  expect_no_process([](process& none) { static_cast<void>(none.write_input(bytes_view())); });
  expect_no_process([](process& none) { static_cast<void>(none.close_input()); });
  expect_no_process([](process& none) { static_cast<void>(none.signal(15)); });
  expect_no_process([](process& none) { static_cast<void>(none.wait()); });
}

TEST(Process, finished_has_its_result_and_no_output) {
  run([]() -> awaitable<void> {
    process running = process::finished(command_result::refused(error_kind::command_not_allowed, "no", "do that"));
    output_chunk piece = co_await running.read();
    EXPECT_TRUE(piece.end());
    co_await running.close_input();
    co_await running.signal(9);
    command_result first = co_await running.wait();
    command_result second = co_await running.wait();
    EXPECT_EQ(first.kind(), error_kind::command_not_allowed);
    EXPECT_EQ(second.reason(), "no");
    EXPECT_EQ(second.advice(), "do that");
  });
}

TEST(Process, finished_takes_no_input) {
  run([]() -> awaitable<void> {
    process running = process::finished(command_result::exited(0));
    try {
      co_await running.write_input(as_bytes("x"));
      ADD_FAILURE() << "no error";
    } catch (const cofferdam::error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::io_error);
      EXPECT_EQ(failure.cause(), std::errc::broken_pipe);
    }
  });
}
