// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Watches of directories in an environment with a warden (the helper program in a sandbox), up to `directory_watch`.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/middleware/read_only.hpp>
#include <cofferdam/middleware/trace.hpp>
#include <cofferdam/warden/detail/warden_watch.hpp>

#include "support/error_of.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using cofferdam::awaitable;
using cofferdam::change_kind;
using cofferdam::command_result;
using cofferdam::directory_watch;
using cofferdam::error;
using cofferdam::exec_errc;
using cofferdam::file_change;
using cofferdam::local_environment;
using cofferdam::shell;
using cofferdam::watch_options;
using namespace std::chrono_literals;

namespace local_watch_tests {

auto place() { return cofferdam::local().without_warning().warden(cofferdam::warden_policy::require); }

template <class Work>
awaitable<exec_errc> code_of(Work work) {
  try {
    co_await work();
  } catch (const error& failure) {
    co_return static_cast<exec_errc>(failure.code().value());
  }
  co_return exec_errc{};
}

awaitable<void> pause(std::chrono::milliseconds time) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

/// Returns all changes so far, with one character for the kind.
awaitable<std::vector<std::string>> taken(directory_watch& watch) {
  std::vector<std::string> texts;
  for (;;) {
    const std::vector<file_change> changes = co_await watch.next(0ms);
    if (changes.empty()) co_return texts;
    for (const file_change& change : changes) {
      const std::string kind = std::string("+*->@").substr(static_cast<std::size_t>(change.kind()), 1);
      texts.push_back(change.from() + kind + change.path());
    }
  }
}

TEST(LocalWatch, a_burst_of_a_command_comes_whole_and_in_order) {
  cofferdam_test::run([]() -> awaitable<void> {
    local_environment env = co_await place().open();
    co_await make_directory(env, "w");
    directory_watch watch = co_await env.files().watch("w");
    EXPECT_FALSE(watch.lists());
    constexpr int count = 2000;
    const command_result done = co_await env.run_command(
        shell("cd w; i=0; while [ $i -lt 2000 ]; do : > f$i; printf x >> f$i; i=$((i+1)); done;"
              "for f in *; do mv $f g$f; done; rm *"));
    EXPECT_TRUE(done.ok()) << done.err().text();
    const std::vector<std::string> seen = co_await taken(watch);
    std::vector<std::string> expected;
    for (int i = 0; i < count; ++i)
      for (const char* const kind : {"+f", "*f"}) expected.push_back(kind + std::to_string(i));
    EXPECT_EQ(seen.size(), 4U * count);
    if (seen.size() != 4U * count) co_return;
    EXPECT_EQ(std::vector<std::string>(seen.begin(), seen.begin() + 2 * count), expected);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& renamed = seen[2 * count + i];
      EXPECT_EQ(renamed.substr(0, renamed.find('>')), renamed.substr(renamed.find('>') + 2));
      EXPECT_EQ(seen[3 * count + i].substr(0, 2), "-g");
    }
    co_await env.close();
  });
}

TEST(LocalWatch, changes_that_nobody_reads_end_in_one_error_and_the_watch_continues) {
  cofferdam_test::run([]() -> awaitable<void> {
    local_environment env = co_await place().open();
    directory_watch watch = co_await env.files().watch(".", watch_options().recursive());
    const command_result done = co_await env.run_command(
        shell("i=0; while [ $i -lt 50000 ]; do : > f$i; : > f$((i+1)); i=$((i+2)); done; mkdir -p late/folder"));
    EXPECT_TRUE(done.ok());
    std::size_t seen = 0;
    int losses = 0;
    for (;;) {
      try {
        const std::vector<file_change> changes = co_await watch.next(0ms);
        if (changes.empty()) break;
        seen += changes.size();
      } catch (const error& failure) {
        EXPECT_EQ(failure.code(), exec_errc::too_large) << failure.what();
        ++losses;
      }
    }
    EXPECT_EQ(losses, 1);
    EXPECT_GT(seen, 1000U);
    EXPECT_LT(seen, 50'000U);
    co_await write_text(env, "late/folder/f", "x");
    const std::vector<std::string> after = co_await taken(watch);
    EXPECT_EQ(after, (std::vector<std::string>{"+late/folder/f", "*late/folder/f"}));
    co_await env.close();
  });
}

TEST(LocalWatch, losses_with_the_same_cause_become_one_error_until_it_is_read) {
  namespace wire = cofferdam::detail::wire;
  asio::io_context context;
  cofferdam::detail::warden_changes changes(context.get_executor(), "w");
  const auto arrive = [&](wire::change_kind kind, int number, const std::string& path) {
    wire::frame_writer writer(wire::frame_type::changes, 1);
    writer.number(static_cast<std::uint8_t>(kind)).number(std::uint8_t{1}).number(std::int32_t{number});
    const cofferdam::bytes whole = writer.text(path).text("").take();
    changes.take(wire::frame(wire::frame_type::changes, 1, cofferdam::bytes_view(whole).subspan(wire::header_size)));
  };
  for (int i = 0; i < 1000; ++i) {
    arrive(wire::change_kind::created, 0, "d" + std::to_string(i));
    arrive(wire::change_kind::lost, EFBIG, "d" + std::to_string(i));
  }
  arrive(wire::change_kind::lost, 0, "");
  arrive(wire::change_kind::lost, EFBIG, "d");
  const auto loss = [&] { return cofferdam_test::sentence_of([&] { changes.taken(); }); };
  EXPECT_EQ(changes.taken().size(), 1U) << "the error comes at the first place where changes are missing";
  EXPECT_NE(loss().find("watch 'w/d0': more than 16384 watched directories"), std::string::npos);
  EXPECT_EQ(changes.taken().size(), 999U);
  EXPECT_NE(loss().find("came faster than they were read"), std::string::npos) << "another cause is another error";
  EXPECT_FALSE(changes.has_some());
  arrive(wire::change_kind::lost, EFBIG, "later");
  EXPECT_NE(loss().find("watch 'w/later': "), std::string::npos) << "after the error was read, a loss is a new one";
}

TEST(LocalWatch, a_cancelled_wait_loses_nothing) {
  cofferdam_test::run([]() -> awaitable<void> {
    local_environment env = co_await place().open();
    directory_watch watch = co_await env.files().watch(".");
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::cancellation_signal stop;
    bool ended = false;
    exec_errc code{};
    cofferdam_test::spawn(
        executor, code_of([&watch]() -> awaitable<void> { co_await watch.next(); }),
        [&](std::exception_ptr failure, exec_errc thrown) {
          EXPECT_FALSE(failure);
          code = thrown;
          ended = true;
        },
        stop.slot());
    co_await pause(20ms);
    EXPECT_FALSE(ended);
    stop.emit(asio::cancellation_type::terminal);
    for (int i = 0; i < 500 && !ended; ++i) co_await pause(2ms);
    EXPECT_TRUE(ended);
    EXPECT_EQ(code, exec_errc::cancelled);
    co_await write_text(env, "f", "x");
    const std::vector<file_change> changes = co_await watch.next();
    EXPECT_EQ(changes.front().path(), "f");
    co_await env.close();
  });
}

TEST(LocalWatch, a_watch_ends_with_its_environment) {
  cofferdam_test::run([]() -> awaitable<void> {
    directory_watch left;
    {
      local_environment env = co_await place().open();
      left = co_await env.files().watch(".");
      directory_watch second = co_await env.files().watch(".");
      co_await env.close();
      const exec_errc code = co_await code_of([&second]() -> awaitable<void> { co_await second.next(); });
      EXPECT_EQ(code, exec_errc::environment_closed);
    }
    exec_errc code = co_await code_of([&left]() -> awaitable<void> { co_await left.next(); });
    EXPECT_EQ(code, exec_errc::environment_closed);
    code = co_await code_of([&left]() -> awaitable<void> { co_await left.next(0ms); });
    EXPECT_EQ(code, exec_errc::environment_closed);
  });
}

TEST(LocalWatch, a_destroyed_watch_gives_its_place_back) {
  cofferdam_test::run([]() -> awaitable<void> {
    local_environment env = co_await place().open();
    for (int i = 0; i < 200; ++i) {  // the warden has 64 places
      directory_watch watch = co_await env.files().watch(".");
      EXPECT_TRUE(watch);
    }
    std::vector<directory_watch> all;
    for (int i = 0; i < 64; ++i) {
      directory_watch watch = co_await env.files().watch(".");
      all.push_back(std::move(watch));
    }
    const exec_errc code = co_await code_of([&env]() -> awaitable<void> { co_await env.files().watch("."); });
    EXPECT_EQ(code, exec_errc::too_large);
    co_await env.close();
  });
}

TEST(LocalWatch, the_beginning_of_a_watch_can_be_cancelled_at_every_step) {
  const auto work = []() -> awaitable<void> {
    local_environment env = co_await place().open();
    directory_watch watch = co_await env.files().watch(".");
    co_await write_text(env, "f", "x");
    co_await watch.next();
    co_await env.close();
  };
  std::size_t steps = 0;
  std::exception_ptr failure;
  while (!cofferdam_test::cancel_after(steps, work, failure)) ASSERT_LT(++steps, 400U);
  EXPECT_FALSE(failure) << "the last one was not cancelled";
  EXPECT_GT(steps, 5U);
  steps = 0;
  while (!cofferdam_test::destroy_after(steps, work)) ASSERT_LT(++steps, 400U);
  EXPECT_GT(steps, 5U);
}

TEST(LocalWatch, without_a_warden_listings_are_compared) {
  cofferdam_test::run([]() -> awaitable<void> {
    local_environment env = co_await place().warden(cofferdam::warden_policy::never).open();
    co_await write_text(env, "w/old", "x");
    directory_watch watch = co_await env.files().watch("w", watch_options().interval(10ms).recursive());
    EXPECT_TRUE(watch.lists());
    const command_result done = co_await env.run_command(shell("cd w; mkdir a; : > a/f; mv old new"));
    EXPECT_TRUE(done.ok());
    const std::vector<std::string> seen = co_await taken(watch);
    EXPECT_EQ(seen, (std::vector<std::string>{"+a", "+a/f", "*a/f", "+new", "*new", "-old"}));
    co_await env.close();
    const exec_errc code = co_await code_of([&watch]() -> awaitable<void> { co_await watch.next(); });
    EXPECT_EQ(code, exec_errc::environment_closed);
  });
}

TEST(LocalWatch, an_exceeded_limit_of_the_kernel_is_named) {
  const auto text_of = [](int number) {
    return std::string(cofferdam::detail::watch_error(number, "watch", "d").what());
  };
  EXPECT_NE(text_of(EMFILE).find("fs.inotify.max_user_instances"), std::string::npos) << text_of(EMFILE);
  EXPECT_NE(text_of(ENOSPC).find("fs.inotify.max_user_watches"), std::string::npos) << text_of(ENOSPC);
  EXPECT_NE(text_of(EUSERS).find("64 watches"), std::string::npos) << text_of(EUSERS);
  EXPECT_NE(text_of(EFBIG).find("16384 watched directories"), std::string::npos) << text_of(EFBIG);
}

TEST(LocalWatch, layers_pass_a_watch_on) {
  cofferdam_test::run([]() -> awaitable<void> {
    const auto counts = std::make_shared<cofferdam::operation_counts>();
    cofferdam::any_provider layered(place() | cofferdam::trace(counts) | cofferdam::read_only());
    cofferdam::any_environment env = co_await layered.open();
    directory_watch watch = co_await env.files().watch(".", watch_options().recursive());
    EXPECT_FALSE(watch.lists());
    EXPECT_EQ(counts->file_operations(), 1U);
    const command_result done = co_await env.run_command(shell("mkdir -p a/b; : > a/b/f"));
    EXPECT_TRUE(done.ok());
    const std::vector<std::string> seen = co_await taken(watch);
    EXPECT_EQ(seen, (std::vector<std::string>{"+a", "+a/b", "+a/b/f"}));
    co_await env.close();
  });
}

}  // namespace local_watch_tests
