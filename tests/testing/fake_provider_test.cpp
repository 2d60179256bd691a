// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/files/download.hpp>
#include <cofferdam/files/upload.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/testing/fake_provider.hpp>

#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam_test_fake {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::testing::any_command;
using cofferdam::testing::fail_with;
using cofferdam::testing::fake_environment;
using cofferdam::testing::fake_files;
using cofferdam::testing::fake_provider;
using cofferdam::testing::reply;
using cofferdam_test::run;

static_assert(code_exec_provider<fake_provider>);
static_assert(streaming_environment<fake_environment>);
static_assert(file_environment<fake_environment>);

// ---- a test as a user of the library writes it: of a layer that runs a failed command once more ---------------------

template <code_exec_environment Inner>
class retry_layer : public layer<retry_layer<Inner>, Inner> {
 public:
  using layer<retry_layer<Inner>, Inner>::layer;

  awaitable<command_result> run_command(command c) {
    command_result first = co_await this->inner().run_command(c);
    if (first.ok()) co_return first;
    command_result second = co_await this->inner().run_command(std::move(c));
    co_return second;
  }
};

class retry : public pipeable {
 public:
  template <code_exec_environment Inner>
  retry_layer<Inner> attach(Inner inner) const {
    return retry_layer<Inner>(std::move(inner));
  }
};

TEST(FakeProvider, shows_what_a_layer_under_test_asked) {
  fake_provider fake;
  fake.on("make", reply("").err("busy\n").exit_code(1), reply("built\n"));
  fake.on(any_command, [](const command& asked) { return reply("").err(asked.line() + "?").exit_code(127); });
  run([&]() -> awaitable<void> {
    co_await with(fake | retry() | timeout(1s), [](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command("make");
      EXPECT_EQ(result.out_text(), "built\n");
      command_result unknown = co_await env.run_command("mkae");
      EXPECT_EQ(unknown.exit_code(), 127);
      EXPECT_EQ(unknown.err_text(), "mkae?");
    });
  });
  const std::vector<command> asked = fake.commands();
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_EQ(asked[0].line(), "make");
  EXPECT_EQ(asked[1].line(), "make");
  EXPECT_EQ(asked[3].timeout(), 1s);
  EXPECT_EQ(fake.opened(), 1U);
  EXPECT_EQ(fake.closed(), 1U);
}

// ---- the fake itself ------------------------------------------------------------------------------------------------

template <class Work>
awaitable<std::optional<error>> failure_of(Work work) {
  try {
    co_await work();
  } catch (const error& failure) {
    co_return failure;
  }
  co_return std::nullopt;
}

TEST(FakeProvider, names_a_command_without_a_reply_and_how_to_script_it) {
  const fake_provider fake;
  run([&]() -> awaitable<void> {
    fake_environment env = co_await fake.open();
    const auto runs_line = [&]() -> awaitable<void> { co_await env.run_command("ls -l"); };
    const auto runs_words = [&]() -> awaitable<void> { co_await env.run_command(argv("ls", "-l")); };
    const std::optional<error> line = co_await failure_of(runs_line);
    const std::optional<error> words = co_await failure_of(runs_words);
    EXPECT_TRUE(line && line->code() == exec_errc::unsupported);
    EXPECT_NE(std::string(line->what()).find("fake.on(\"ls -l\", reply("), std::string::npos) << line->what();
    EXPECT_NE(std::string(words->what()).find("fake.on(argv(\"ls\", \"-l\"), reply("), std::string::npos)
        << words->what();
    co_await env.close();
  });
  EXPECT_EQ(fake.unscripted().size(), 2U);
  EXPECT_EQ(fake.commands().size(), 2U);
}

TEST(FakeProvider, takes_the_most_special_reply_and_the_newest_of_equals) {
  fake_provider fake;
  fake.on("ls", "old").on("ls", "exact");
  fake.on([](const command& asked) { return asked.line().starts_with("l"); }, "predicate");
  fake.on(any_command, "any").on(argv("ls"), "words");
  run([&]() -> awaitable<void> {
    fake_environment env = co_await fake.open();
    command_result exact = co_await env.run_command("ls");
    command_result predicate = co_await env.run_command("less");
    command_result any = co_await env.run_command("cat");
    command_result words = co_await env.run_command(argv("ls"));
    command_result empty = co_await env.run_command("");
    EXPECT_EQ(exact.out_text() + " " + predicate.out_text() + " " + any.out_text() + " " + words.out_text(),
              "exact predicate any words");
    EXPECT_EQ(empty.kind(), error_kind::invalid_argument);
  });
}

TEST(FakeProvider, keeps_no_more_output_than_was_asked_for) {
  fake_provider fake;
  fake.on("big", reply(std::string(200'000, 'x')));
  run([&]() -> awaitable<void> {
    fake_environment env = co_await fake.open();
    command_result big = co_await env.run_command(shell("big").keep_output(10));
    EXPECT_EQ(big.out().total(), 200'000U);
    EXPECT_EQ(big.out().head().size() + big.out().tail().size(), 10U);
  });
}

TEST(FakeProvider, ends_a_late_reply_at_the_time_limit_of_the_command) {
  fake_provider fake;
  fake.on("late", reply("never").after(1h)).on("half", reply("half").then(1h, "never"));
  fake.on("soon", reply("soon").after(20ms));
  run([&]() -> awaitable<void> {
    fake_environment env = co_await fake.open();
    command_result late = co_await env.run_command(shell("late").timeout(20ms));
    EXPECT_EQ(late.kind(), error_kind::timeout);
    EXPECT_EQ(late.reason(), "Command timed out after 0.02 seconds");
    EXPECT_EQ(late.duration(), 20ms);
    EXPECT_EQ(late.out_text(), "");
    command_result half = co_await env.run_command(shell("half").timeout(20ms));
    EXPECT_EQ(half.kind(), error_kind::timeout);
    EXPECT_EQ(half.out_text(), "half");
    const auto before = std::chrono::steady_clock::now();
    command_result soon = co_await env.run_command(shell("soon").timeout(21ms));
    EXPECT_GE(std::chrono::steady_clock::now() - before, 20ms);
    EXPECT_EQ(soon.out_text(), "soon");
    EXPECT_EQ(soon.duration(), 20ms);
  });
}

/// Runs the command `sleep`, calls `interrupts` meanwhile, and returns the error that ends the command.
template <class Interrupts>
error interrupted(Interrupts interrupts) {
  fake_provider fake;
  fake.on("sleep", reply("before\n").then(1h, "after\n"));
  std::optional<error> result;
  run([&]() -> awaitable<void> {
    fake_environment env = co_await fake.open();
    asio::cancellation_signal cancel;
    bool done = false;
    const auto sleeps = [&]() -> awaitable<void> {
      const auto work = [&]() -> awaitable<void> { co_await env.run_command("sleep"); };
      result = co_await failure_of(work);
    };
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    cofferdam_test::spawn(
        executor, sleeps, [&](std::exception_ptr) { done = true; }, cancel.slot());
    asio::steady_timer pause(executor, 20ms);
    co_await pause.async_wait(asio::use_awaitable);
    co_await interrupts(env, cancel);
    while (!done) co_await asio::post(executor, asio::use_awaitable);
    co_await env.close();
  });
  return result.value();
}

TEST(FakeProvider, honours_cancellation_and_close_while_a_command_runs) {
  const error cancelled = interrupted([](fake_environment&, asio::cancellation_signal& cancel) -> awaitable<void> {
    cancel.emit(asio::cancellation_type::terminal);
    co_return;
  });
  EXPECT_EQ(cancelled.code(), exec_errc::cancelled);
  ASSERT_NE(cancelled.partial(), nullptr);
  EXPECT_EQ(cancelled.partial()->out_text(), "before\n");
  const error closed =
      interrupted([](fake_environment& env, asio::cancellation_signal&) -> awaitable<void> { return env.close(); });
  EXPECT_EQ(closed.code(), exec_errc::environment_closed);
  ASSERT_NE(closed.partial(), nullptr);
  EXPECT_EQ(closed.partial()->out_text(), "before\n");
}

TEST(FakeProvider, throws_a_scripted_failure) {
  fake_provider fake;
  fake.on("lost", fail_with(error(exec_errc::provider_lost, "gone")).after(5ms));
  fake.on("oom", reply(command_result::refused(error_kind::out_of_memory, "too much")));
  run([&]() -> awaitable<void> {
    fake_environment env = co_await fake.open();
    const auto loses = [&]() -> awaitable<void> { co_await env.run_command("lost"); };
    const std::optional<error> lost = co_await failure_of(loses);
    EXPECT_TRUE(lost && lost->code() == exec_errc::provider_lost);
    command_result oom = co_await env.run_command("oom");
    EXPECT_EQ(oom.kind(), error_kind::out_of_memory);
    EXPECT_EQ(oom.reason(), "too much");
  });
}

TEST(FakeProvider, streams_output_and_takes_input_and_signals) {
  fake_provider fake;
  fake.on("steps", reply("one").err("two").then(5ms, "three").exit_code(3)).on("forever", reply("up").then(1h));
  run([&]() -> awaitable<void> {
    fake_environment env = co_await fake.open();
    std::string streamed;
    command_result steps = co_await stream_output(env, "steps", [&streamed](const output_chunk& piece) {
      streamed += std::string(as_text(piece.data())) + (piece.stream() == output_stream::err ? "! " : " ");
    });
    EXPECT_EQ(streamed, "one two! three ");
    EXPECT_EQ(steps.exit_code(), 3);
    EXPECT_EQ(steps.out_text(), "onethree");
    EXPECT_EQ(steps.err_text(), "two");
    process running = co_await env.start(shell("forever").open_input());
    co_await running.write_input(as_bytes("typed"));
    co_await running.signal(9);
    command_result ended = co_await running.wait();
    EXPECT_EQ(ended.term_signal(), 9);
    const auto writes = [&]() { return running.write_input(as_bytes("late")); };
    const std::optional<error> late = co_await failure_of(writes);
    EXPECT_TRUE(late && late->code() == exec_errc::io_error);
  });
  EXPECT_EQ(as_text(fake.commands().at(1).input().value()), "typed");
}

TEST(FakeProvider, gives_each_environment_files_of_its_own_and_shows_those_of_the_newest) {
  fake_provider fake;
  const fake_provider copy = fake;
  fake.file("in/a.txt", "contents");
  fake.on("work", [](const command&, fake_files& files) {
    files.write("out.txt", files.text("in/a.txt") + "!");
    return reply("");
  });
  run([&]() -> awaitable<void> {
    fake_environment first = co_await copy.open();
    co_await write_text(first, "mine", "x");
    fake_environment second = co_await copy.open();
    command_result worked = co_await second.run_command("work");
    EXPECT_TRUE(worked.ok());
    const bool found = co_await exists(second, "mine");
    EXPECT_FALSE(found);
    co_await second.close();
    const auto reads = [&]() -> awaitable<void> { co_await second.read_file("out.txt", 10); };
    const std::optional<error> closed = co_await failure_of(reads);
    EXPECT_TRUE(closed && closed->code() == exec_errc::environment_closed);
  });
  EXPECT_EQ(copy.files().text("out.txt"), "contents!");
  EXPECT_EQ(copy.opened(), 2U);
  EXPECT_EQ(copy.closed(), 2U);
}

TEST(FakeProvider, takes_uploads_and_gives_downloads) {
  const cofferdam_test::temporary_folder folder;
  std::ofstream(folder.path() / "tool.sh") << "#!/bin/sh\n";
  std::filesystem::permissions(folder.path() / "tool.sh", std::filesystem::perms(0755));
  fake_provider fake;
  fake.file("report.md", "done");
  run([&]() -> awaitable<void> {
    any_environment env = co_await any_provider(fake).open();
    transfer_result sent = co_await upload(env, files((folder.path() / "tool.sh").string()));
    sent.throw_if_failed("upload");
    transfer_result got = co_await download(env, files("report.md"), folder.path());
    got.throw_if_failed("download");
    const directory_entry tool = co_await stat(env, "tool.sh");
    EXPECT_EQ(tool.mode(), 0755U);
  });
  std::string text;
  std::getline(std::ifstream(folder.path() / "report.md"), text);
  EXPECT_EQ(text, "done");
}

}  // namespace cofferdam_test_fake
