// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/os/child_process.hpp>
#include <cofferdam/os/spawn.hpp>

#include "support/census.hpp"
#include "support/pause.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using asio::awaitable;
using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::bytes;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::exec_errc;
using cofferdam::output_chunk;
using cofferdam::output_stream;
using cofferdam::to_bytes;
using cofferdam::detail::child_process;
using cofferdam::detail::command_limits;
using cofferdam::detail::command_registry;
using cofferdam::detail::end_reason;
using cofferdam::detail::make_command;
using cofferdam::detail::reaper;
using cofferdam::detail::running_command;
using cofferdam_test::eventually;
using cofferdam_test::is_alive;
using cofferdam_test::pause_for;
using cofferdam_test::run;
using cofferdam_test::temporary_folder;
using namespace std::chrono_literals;

using clock = std::chrono::steady_clock;

/// A shell line that a `child_process` runs in a new temporary folder.
class under_test {
 public:
  under_test(const asio::any_io_executor& executor, const std::string& line, command_limits limits = command_limits(),
             std::optional<std::string> input = std::nullopt,
             std::shared_ptr<command_registry> registry = std::make_shared<command_registry>()) {
    cofferdam::spawn_request request;
    const cofferdam::unique_fd directory(::open(folder.path().c_str(), O_PATH | O_CLOEXEC));
    const cofferdam::unique_fd null = cofferdam::unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    cofferdam::command with_input = cofferdam::shell(line);
    if (input || limits.open_input) with_input.open_input();
    cofferdam::detail::command_pipes pipes(with_input, request, null.get());
    request.directory = directory.get();
    request.candidates = {"/bin/bash"};
    request.words = {"bash", "-c", line};
    request.variables = {"PATH=/usr/bin:/bin", "HOME=" + folder.path().string()};
    cofferdam::spawned started = cofferdam::spawn(request);
    if (!started.ok()) throw std::system_error(started.cause());
    pid = started.pid();
    const auto process = make_command<child_process>(executor, std::move(registry), limits, clock::now(), executor, pid,
                                                     started.pidfd(), std::move(pipes));
    process->begin(to_bytes(input.value_or("")));
    child = process->command().kept();
  }

  awaitable<command_result> finish() {
    co_await running_command::complete(child, "test");
    co_return child->result();
  }

  /// Polls a condition about the host while the event loop continues. Returns false if the condition is still false
  /// after `limit`.
  template <class Condition>
  static awaitable<bool> until(Condition condition, std::chrono::milliseconds limit = 10s) {
    const auto end = clock::now() + limit;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (!condition()) {
      if (clock::now() > end) co_return false;
      timer.expires_after(2ms);
      co_await timer.async_wait(asio::use_awaitable);
    }
    co_return true;
  }

  temporary_folder folder;
  std::shared_ptr<running_command> child;
  pid_t pid = -1;
};

command_limits limited(std::chrono::milliseconds timeout, std::chrono::milliseconds grace = 5s) {
  command_limits limits;
  limits.timeout = timeout;
  limits.grace = grace;
  return limits;
}

command_limits lingering(std::chrono::milliseconds linger) {
  command_limits limits;
  limits.linger = linger;
  return limits;
}

/// Runs a shell line to its end, and returns the result.
command_result result_of(const std::string& line, command_limits limits = command_limits(),
                         std::optional<std::string> input = std::nullopt) {
  return run([&]() -> awaitable<command_result> {
    under_test subject(co_await asio::this_coro::executor, line, limits, input);
    command_result result = co_await subject.finish();
    co_return result;
  });
}

}  // namespace

TEST(ChildProcess, takes_the_status_both_outputs_and_what_it_cost) {
  const command_result result = result_of("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.exit_code(), 3);
  EXPECT_EQ(result.out().text(), "out\n");
  EXPECT_EQ(result.err().text(), "err\n");
  EXPECT_EQ(result.kind(), error_kind::none);
  EXPECT_GT(result.duration().count(), 0);
  ASSERT_TRUE(result.cpu_time());
  ASSERT_TRUE(result.peak_memory());
  EXPECT_GT(*result.peak_memory(), 100U * 1024U);
}

TEST(ChildProcess, its_limit_fires_although_nobody_reads_or_waits) {
  run([]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor, "yes", limited(100ms));
    const bool dead = co_await under_test::until([&] { return !is_alive(subject.pid); });
    EXPECT_TRUE(dead);
    command_result result = co_await subject.finish();
    EXPECT_EQ(result.kind(), error_kind::timeout);
    EXPECT_EQ(result.reason(), "Command timed out after 0.1 seconds");
    EXPECT_EQ(result.term_signal(), SIGTERM);
    EXPECT_GT(result.out().total(), 0U) << "what stood in the pipe";
  });
}

TEST(ChildProcess, a_limit_of_one_second_is_told_in_the_singular) {
  EXPECT_EQ(result_of("sleep 60", limited(1s)).reason(), "Command timed out after 1 second");
}

TEST(ChildProcess, ends_at_sigterm_without_waiting_for_the_grace) {
  const command_result result =
      result_of("trap 'echo bye; exit 4' TERM; while :; do sleep 0.01; done", limited(100ms, 30s));
  EXPECT_EQ(result.kind(), error_kind::timeout);
  EXPECT_EQ(result.exit_code(), 4);
  EXPECT_EQ(result.out().text(), "bye\n");
  EXPECT_LT(result.duration(), 15s);
}

TEST(ChildProcess, is_killed_after_the_grace_and_not_before) {
  const command_result result =
      result_of("trap 'echo term' TERM; while :; do sleep 0.01 || :; done", limited(100ms, 200ms));
  EXPECT_EQ(result.kind(), error_kind::timeout);
  EXPECT_EQ(result.term_signal(), SIGKILL);
  EXPECT_EQ(result.out().text(), "term\n");
  EXPECT_GE(result.duration(), 300ms);
}

TEST(ChildProcess, a_stopped_one_ends_at_sigterm) {
  const command_result result = result_of("kill -STOP $$", limited(100ms, 30s));
  EXPECT_EQ(result.term_signal(), SIGTERM);
  EXPECT_LT(result.duration(), 15s);
}

TEST(ChildProcess, the_rest_of_its_group_has_the_rest_of_the_grace) {
  run([]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor,
                       "(trap 'sleep 0.15; echo saved' TERM; echo up; while :; do sleep 0.01; done) & "
                       "trap 'exit 0' TERM; while :; do sleep 0.01; done",
                       limited(200ms, 600ms));
    command_result result = co_await subject.finish();
    EXPECT_EQ(result.kind(), error_kind::timeout);
    EXPECT_EQ(result.out().text(), "up\nsaved\n");
    EXPECT_GE(result.duration(), 800ms);
    const bool gone =
        co_await under_test::until([&] { return cofferdam_test::guests_of(subject.folder.path()).empty(); });
    EXPECT_TRUE(gone);
  });
}

TEST(ChildProcess, only_the_first_reason_to_end_it_counts) {
  run([]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor, "sleep 60", limited(1h));
    subject.child->end(end_reason::timeout);
    subject.child->end(end_reason::closed);
    EXPECT_EQ(subject.child->ended_by(), end_reason::timeout);
    subject.child->end(end_reason::cancelled);
    EXPECT_EQ(subject.child->ended_by(), end_reason::timeout);
    subject.child->drain();
    co_await subject.child->until_settled_shielded();
  });
}

TEST(ChildProcess, a_limit_that_comes_after_its_end_is_no_timeout) {
  run([]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor, "sleep 60 & exit 5",
                       lingering(300ms));  // without a limit: the test itself calls end()
    const bool dead = co_await under_test::until([&] { return !is_alive(subject.pid); });
    EXPECT_TRUE(dead);
    co_await pause_for(30ms);
    subject.child->end(end_reason::timeout);
    command_result result = co_await subject.finish();
    EXPECT_EQ(result.kind(), error_kind::none);
    EXPECT_EQ(result.exit_code(), 5);
  });
}

TEST(ChildProcess, a_background_child_that_holds_the_output_delays_the_end_by_the_linger_and_dies) {
  run([]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor, "sleep 60 & echo done", lingering(150ms));
    command_result result = co_await subject.finish();
    EXPECT_EQ(result.out().text(), "done\n");
    EXPECT_TRUE(result.ok());
    EXPECT_GE(result.duration(), 150ms);
    EXPECT_LT(result.duration(), 15s);
    const bool gone =
        co_await under_test::until([&] { return cofferdam_test::guests_of(subject.folder.path()).empty(); });
    EXPECT_TRUE(gone);
  });
}

TEST(ChildProcess, what_a_background_child_prints_within_the_linger_counts) {
  const command_result result = result_of("(sleep 0.1; echo late) & echo early", lingering(100s));
  EXPECT_EQ(result.out().text(), "early\nlate\n");
  EXPECT_LT(result.duration(), 60s) << "the output had ended: nothing was left to wait for";
}

TEST(ChildProcess, without_output_held_a_background_child_delays_nothing_and_dies) {
  run([]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor, "sleep 60 >/dev/null 2>&1 & echo done", lingering(30s));
    command_result result = co_await subject.finish();
    EXPECT_LT(result.duration(), 15s);
    const bool gone =
        co_await under_test::until([&] { return cofferdam_test::guests_of(subject.folder.path()).empty(); });
    EXPECT_TRUE(gone);
  });
}

TEST(ChildProcess, of_a_writer_that_left_the_group_only_what_stands_in_the_pipe_by_then_counts) {
  run([]() -> awaitable<void> {
    under_test subject(
        co_await asio::this_coro::executor,
        "setsid bash -c 'echo in time; while [ ! -e over ]; do sleep 0.01; done; echo too late; touch late' & "
        "while [ ! -e go ]; do sleep 0.01; done; echo end",
        lingering(100ms));
    subject.folder.write("go", "");
    const bool finished = co_await under_test::until([&] { return !is_alive(subject.pid); });
    EXPECT_TRUE(finished);
    // Nothing has been read so far. The late process writes after the linger time, and the test reads only after that.
    co_await pause_for(400ms);
    subject.folder.write("over", "");
    const bool wrote = co_await under_test::until([&] { return subject.folder.has("late"); });
    EXPECT_TRUE(wrote);
    std::string text;
    for (;;) {
      output_chunk piece = co_await subject.child->read();
      if (piece.end()) break;
      text += as_text(piece.data());
    }
    EXPECT_EQ(text.find("too late"), std::string::npos) << text;
    EXPECT_NE(text.find("in time\n"), std::string::npos) << text;
    EXPECT_NE(text.find("end\n"), std::string::npos) << text;
    cofferdam_test::kill_guests_of(subject.folder.path());
  });
}

TEST(ChildProcess, an_endless_writer_that_left_the_group_cannot_delay_the_end) {
  run([]() -> awaitable<void> {
    command_limits limits = lingering(100ms);
    limits.kept_output = 100;
    under_test subject(co_await asio::this_coro::executor, "setsid bash -c 'trap \"\" PIPE; yes; sleep 60' & exit 6",
                       limits);
    command_result result = co_await subject.finish();
    EXPECT_EQ(result.exit_code(), 6);
    EXPECT_LT(result.duration(), 15s);
    EXPECT_FALSE(cofferdam_test::guests_of(subject.folder.path()).empty())
        << "the control: it had really left the group";
    cofferdam_test::kill_guests_of(subject.folder.path());
  });
}

TEST(ChildProcess, what_was_not_read_before_its_end_can_be_read_after_it) {
  run([]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor, "printf tail");
    const bool dead = co_await under_test::until([&] { return !is_alive(subject.pid); });
    EXPECT_TRUE(dead);
    co_await pause_for(200ms);
    output_chunk piece = co_await subject.child->read();
    EXPECT_EQ(as_text(piece.data()), "tail");
    output_chunk end = co_await subject.child->read();
    EXPECT_TRUE(end.end());
    command_result result = co_await subject.finish();
    EXPECT_EQ(result.out().text(), "tail");
  });
}

TEST(ChildProcess, a_busy_stream_does_not_hide_the_other) {
  run([]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor, "yes >&2 & yes");
    int from_out = 0;
    int from_err = 0;
    while (from_out < 50 || from_err < 50) {
      output_chunk piece = co_await subject.child->read();
      ++(piece.stream() == output_stream::out ? from_out : from_err);
    }
    subject.child->abandon();
    co_await subject.child->until_settled_shielded();
  });
}

TEST(ChildProcess, partial_says_what_has_come_so_far) {
  run([]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor, "echo sofar; sleep 60");
    output_chunk piece = co_await subject.child->read();
    EXPECT_EQ(as_text(piece.data()), "sofar\n");
    const std::shared_ptr<const command_result> partial = subject.child->partial();
    EXPECT_EQ(partial->out().text(), "sofar\n");
    EXPECT_EQ(partial->exit_code(), -1);
    EXPECT_GT(partial->duration().count(), 0);
    subject.child->abandon();
    co_await subject.child->until_settled_shielded();
  });
}

TEST(ChildProcess, input_that_is_not_read_is_dropped) {
  const command_result result = result_of("head -c 3", command_limits(), std::string(1'000'000, 'x'));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.out().text(), "xxx");
}

TEST(ChildProcess, all_input_arrives) {
  const command_result result = result_of("wc -c", command_limits(), std::string(1'000'000, 'x'));
  EXPECT_EQ(result.out().text(), "1000000\n");
}

TEST(ChildProcess, abandoned_it_dies_at_once_with_its_group) {
  run([]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor,
                       "trap '' TERM; sleep 60 & echo up; while :; do sleep 0.01; done");
    output_chunk up = co_await subject.child->read();
    EXPECT_EQ(as_text(up.data()), "up\n");
    subject.child->abandon();
    const bool gone =
        co_await under_test::until([&] { return cofferdam_test::guests_of(subject.folder.path()).empty(); });
    EXPECT_TRUE(gone);
    co_await subject.child->until_settled_shielded();
    EXPECT_EQ(subject.child->result().term_signal(), SIGKILL);
  });
}

TEST(ChildProcess, whose_status_somebody_else_took_says_so) {
  run([]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor, "echo text; exit 3");
    int status = 0;
    while (::waitpid(-1, &status, 0) < 0) {
    }
    command_result result = co_await subject.finish();
    EXPECT_EQ(result.kind(), error_kind::execution_error);
    EXPECT_EQ(result.cause(), std::errc::no_child_process);
    EXPECT_EQ(result.exit_code(), -1);
    EXPECT_EQ(result.out().text(), "text\n");
    EXPECT_NE(result.advice().find("waitpid(-1)"), std::string::npos);
  });
}

TEST(ChildProcess, is_killed_and_left_to_the_reaper_when_its_loop_is_destroyed) {
  pid_t pid = -1;
  temporary_folder marker;
  {
    asio::io_context loop;
    auto subject =
        std::make_unique<under_test>(loop.get_executor(), "trap '' TERM; sleep 60 & while :; do sleep 1; done");
    pid = subject->pid;
    loop.poll();
    subject.reset();  // now only handlers in the loop own the object
    EXPECT_TRUE(is_alive(pid));
  }
  EXPECT_TRUE(eventually([&] { return !is_alive(pid); }));
  EXPECT_TRUE(eventually([&] {
    reaper::instance().sweep();
    return cofferdam_test::process_of(pid).pid == 0 && reaper::instance().pending() == 0;
  }));
}

TEST(ChildProcess, is_not_taken_for_dead_when_the_loop_wakes_for_an_old_descriptor) {
  run([]() -> awaitable<void> {
    for (int i = 0; i < 5; ++i) {
      command_limits limits = lingering(5ms);
      limits.open_input = true;
      under_test before(co_await asio::this_coro::executor, "read a; echo got $a; sleep 60 & echo err >&2", limits);
      co_await before.child->write_input(as_bytes("it\n"));
      for (;;) {
        output_chunk piece = co_await before.child->read();
        if (piece.end()) break;
      }
      co_await before.finish();
      under_test subject(co_await asio::this_coro::executor, "trap '' TERM; sleep 60", limited(5ms, 5ms));
      command_result result = co_await subject.finish();
      EXPECT_EQ(result.kind(), error_kind::timeout) << result.reason();
    }
  });
}

TEST(ChildProcess, registers_with_its_environment_while_it_lives) {
  const auto registry = std::make_shared<command_registry>();
  run([&]() -> awaitable<void> {
    under_test subject(co_await asio::this_coro::executor, "true", command_limits(), std::nullopt, registry);
    EXPECT_EQ(registry->commands().size(), 1U);
    co_await subject.finish();
  });
  EXPECT_TRUE(registry->commands().empty());
}
