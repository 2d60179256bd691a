// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/docker/detail/exec_script.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>

#include "docker/docker_support.hpp"
#include "support/spawn.hpp"

#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::docker_says;
using cofferdam_test::in_time;
using cofferdam_test::run;
using docker::container_options;
using docker::detail::exec_mark;
using docker::detail::marked_output;

docker::provider by_execs(const std::string& image, container_options options = container_options()) {
  return cofferdam_test::test_image(image, std::move(options)).by(docker::command_transport::exec);
}

/// Returns the processes of a container as the host sees them, one per line. The container's first program is
/// included.
std::string processes_of(const std::string& id) { return docker_says("top " + id + " -eo pid,args | tail -n +2"); }
std::size_t count_of(const std::string& id) {
  const std::string listing = processes_of(id);
  return listing.empty() ? 0 : static_cast<std::size_t>(std::count(listing.begin(), listing.end(), '\n')) + 1;
}

// ---- the marks in the output that report the status of a command ---------------------------------------------------

struct parsed {
  std::string own;
  std::vector<std::string> marks;
};

parsed parse(const std::vector<std::string_view>& pieces) {
  parsed result;
  marked_output filter(
      "\x1e"
      "0123");
  const auto own = [&](std::string_view text) { result.own += text; };
  for (const std::string_view piece : pieces)
    filter.feed(piece, own, [&](const exec_mark& mark) {
      result.marks.push_back(std::to_string(static_cast<int>(mark.what)) + " " + std::to_string(mark.number) + " " +
                             (mark.signaled ? "s" : "-") + (mark.out_of_memory ? "o" : "-") + mark.reason);
    });
  filter.finish(own);
  return result;
}

const std::string marked =
    "daemon\x1e"
    "0123b77;out\x1eput \x1e"
    "012 \x1e\x1e"
    "0123e137,1,0;late\x1e"
    "0123fdn;\x1e"
    "01";

TEST(ExecMarks, are_found_whole_byte_by_byte_and_cut_at_every_byte) {
  const parsed whole = parse({marked});
  EXPECT_EQ(whole.own,
            "daemonout\x1eput \x1e"
            "012 \x1elate\x1e"
            "01");
  const std::vector<std::string> expected{"0 77 --", "1 137 s-", "2 0 --dn"};
  EXPECT_EQ(whole.marks, expected);
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < marked.size(); ++i) bytes.push_back(std::string_view(marked).substr(i, 1));
  EXPECT_EQ(parse(bytes).own, whole.own);
  EXPECT_EQ(parse(bytes).marks, expected);
  for (std::size_t cut = 0; cut <= marked.size(); ++cut) {
    const parsed two = parse({std::string_view(marked).substr(0, cut), std::string_view(marked).substr(cut)});
    EXPECT_EQ(two.own, whole.own) << cut;
    EXPECT_EQ(two.marks, expected) << cut;
  }
}

TEST(ExecMarks, that_are_none_say_nothing) {
  for (const std::string text :
       {"", "x1", "b", "b1x", "e1", "e1,2", "e256,0,0", "e1,,0", "e1,0,0,0", "b99999999999999"})
    EXPECT_FALSE(exec_mark::parse(text)) << text;
  EXPECT_TRUE(parse({std::string("\x1e"
                                 "0123") +
                     std::string(100'000, '1')})
                  .marks.empty());
}

TEST(ExecMarks, words_of_any_bytes_are_plain_once_escaped) {
  EXPECT_EQ(docker::detail::escaped_word("a b\xff'\n"), "a\\0040b\\0377\\0047\\0012");
}

// ---- commands ------------------------------------------------------------------------------------------------------

TEST(DockerExec, results_say_which_walls_stand) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    docker::environment env = co_await by_execs("debian").open();
    command_result result = co_await env.run_command(shell("echo hi; id -u"));
    EXPECT_EQ(result.out().text(), "hi\n1000\n");
    EXPECT_NE(result.isolation().of(isolation_kind::process_tree).find("session"), std::string_view::npos);
    EXPECT_NE(result.isolation().of(isolation_kind::network), "none");
    EXPECT_EQ(docker_says("exec " + env.container_id() + " ls -d /.cofferdam 2>/dev/null | grep -c ^/"), "0");
    co_await env.close();
  });
}

// Feature: B8
TEST(DockerExec, PR_03_a_time_limit_ends_daemons_that_have_left_everything_behind) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    docker::environment env = co_await by_execs("debian").kill_grace(100ms).open();
    command_result result = co_await env.run_command(
        shell("trap '' TERM INT HUP; setsid sleep 1001 & setsid env -i /bin/sleep 1002 & (setsid sh -c 'sleep 1003 & "
              "exec >/dev/null 2>&1; sleep 1004' &) ; echo up; while :; do sleep 0.1; done")
            .timeout(1s));
    EXPECT_EQ(result.kind(), error_kind::timeout);
    EXPECT_EQ(result.out().text(), "up\n");
    EXPECT_TRUE(in_time([&] { return count_of(env.container_id()) == 1; })) << processes_of(env.container_id());
    command_result after = co_await env.run_command(shell("echo alive"));
    EXPECT_EQ(after.out().text(), "alive\n");
    co_await env.close();
  });
}

TEST(DockerExec, what_a_command_leaves_in_its_session_is_ended_and_what_has_left_it_is_not) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    docker::environment env = co_await by_execs("debian").open();
    command_result result =
        co_await env.run_command(shell("sleep 1005 & setsid sleep 1006 >/dev/null 2>&1 & sleep 0.3; exit 3"));
    EXPECT_EQ(result.exit_code(), 3);
    EXPECT_TRUE(in_time([&] { return count_of(env.container_id()) == 2; })) << processes_of(env.container_id());
    EXPECT_NE(processes_of(env.container_id()).find("sleep 1006"), std::string::npos);
    co_await env.close();
  });
}

TEST(DockerExec, the_end_of_one_command_ends_the_others_and_they_say_so) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    docker::environment env = co_await by_execs("debian").kill_grace(0ms).open();
    command_result other;
    bool done = false;
    cofferdam_test::spawn(
        co_await asio::this_coro::executor,
        [&]() -> awaitable<void> { other = co_await env.run_command(shell("echo other; touch up; sleep 1007")); },
        [&](std::exception_ptr failure) {
          EXPECT_FALSE(failure);
          done = true;
        });
    for (;;) {
      const bool up = co_await exists(env, "up");
      if (up) break;
    }
    command_result limited = co_await env.run_command(shell("sleep 1008").timeout(200ms));
    EXPECT_EQ(limited.kind(), error_kind::timeout);
    while (!done) co_await cofferdam_test::pause_for(1ms);
    EXPECT_EQ(other.kind(), error_kind::execution_error);
    EXPECT_EQ(other.cause(), std::errc::interrupted);
    EXPECT_EQ(other.out().text(), "other\n");
    co_await env.close();
  });
}

TEST(DockerExec, a_file_operation_outlives_the_end_of_a_command) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    docker::environment env = co_await by_execs("debian").kill_grace(0ms).open();
    bool done = false;
    cofferdam_test::spawn(
        co_await asio::this_coro::executor,
        [&]() -> awaitable<void> {
          for (int i = 0; i < 3; ++i) co_await env.run_command(shell("sleep 1009").timeout(50ms));
        },
        [&](std::exception_ptr failure) {
          EXPECT_FALSE(failure);
          done = true;
        });
    const std::string content(1'000'000, 'x');
    while (!done) {
      co_await write_text(env, "file", content);
      std::string back = co_await read_text(env, "file");
      EXPECT_EQ(back.size(), content.size());
    }
    std::vector<directory_entry> entries = co_await list_directory(env, ".");
    // The folder contains the file, and temporary files of the interrupted write.
    EXPECT_LE(entries.size(), 4U);
    co_await env.close();
  });
}

TEST(DockerExec, a_process_that_is_dropped_does_not_take_the_next_command_with_it) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    docker::environment env = co_await by_execs("busybox").open();
    for (int i = 0; i < 5; ++i) {
      {
        process running = co_await env.start(shell("sleep 1010"));
        if (i % 2 == 0) co_await cofferdam_test::pause_for(std::chrono::milliseconds(20 * i));
      }
      command_result next = co_await env.run_command(shell("sleep 0.2; echo whole"));
      EXPECT_EQ(next.out().text(), "whole\n") << next.reason();
    }
    EXPECT_TRUE(in_time([&] { return count_of(env.container_id()) == 1; })) << processes_of(env.container_id());
    co_await env.close();
  });
}

TEST(DockerExec, a_command_that_nobody_reads_from_stops_before_long) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    docker::environment env = co_await by_execs("busybox").open();
    process running =
        co_await env.start(shell("for i in $(seq 1 200); do head -c 65536 /dev/zero; echo $i >> progress; done"));
    std::string before;
    // The loop waits until the command makes no more progress.
    for (;;) {
      co_await cofferdam_test::pause_for(500ms);
      command_result progress = co_await env.run_command(shell("wc -l < progress"));
      if (progress.out().text() == before) break;
      before = progress.out().text();
    }
    EXPECT_LT(std::stoi(before), 100);
    command_result result = co_await running.wait();
    EXPECT_EQ(result.out().total(), 200U * 65536U);
    EXPECT_TRUE(result.ok());
    co_await env.close();
  });
}

TEST(DockerExec, words_and_variables_of_any_bytes_arrive) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    for (const std::string image : {"debian", "busybox"}) {
      docker::environment env = co_await by_execs(image).open();
      const std::string odd = "a\xff\xfe b\\n%s\n'\"$(id)";
      command given = argv("sh", "-c", "printf '%s|%s|%s' \"$1\" \"$2\" \"$VALUE\"", "sh", odd, "");
      given.variable("VALUE", odd);
      command_result result = co_await env.run_command(std::move(given));
      EXPECT_EQ(as_text(result.out().head()), odd + "||" + odd) << image;
      command_result marks = co_await env.run_command(shell("printf '\\036abc;\\036'; printf '\\036' >&2"));
      EXPECT_EQ(marks.out().text(),
                "\x1e"
                "abc;\x1e");
      EXPECT_EQ(marks.err().text(), "\x1e");
      co_await env.close();
    }
  });
}

TEST(DockerExec, too_much_memory_is_not_a_mere_signal) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    container_options small;
    small.memory(std::uint64_t{48} << 20U);
    docker::environment env = co_await by_execs("debian", small).open();
    command_result result = co_await env.run_command(shell("exec python3 -c 'x = bytearray(500_000_000)'"));
    EXPECT_EQ(result.kind(), error_kind::out_of_memory) << result.exit_code() << " " << result.err().text();
    command_result piped = co_await env.run_command(shell("python3 -c 'x = bytearray(500_000_000)' | cat"));
    EXPECT_TRUE(piped.ok()) << piped.summary();
    EXPECT_NE(piped.advice().find("the kernel killed a process"), std::string::npos) << piped.advice();
    command_result killed = co_await env.run_command(shell("kill -9 $$"));
    EXPECT_EQ(killed.kind(), error_kind::none);
    EXPECT_EQ(killed.term_signal(), 9);
    co_await env.close();
  });
}

TEST(DockerExec, what_cannot_be_is_said) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    std::error_code code;
    try {
      docker::environment env = co_await by_execs("shell-less").open();
    } catch (const error& failure) {
      code = failure.code();
      EXPECT_NE(std::string(failure.what()).find("/bin/sh"), std::string::npos) << failure.what();
    }
    EXPECT_EQ(code, exec_errc::unsupported);
    docker::environment env = co_await by_execs("busybox").open();
    code.clear();
    try {
      co_await env.run_command(shell("sleep 1 &").background(background_policy::keep));
    } catch (const error& failure) {
      code = failure.code();
    }
    EXPECT_EQ(code, exec_errc::unsupported);
    const std::vector<std::string> many(40, std::string(100'000, 'x'));
    command_result too_long = co_await env.run_command(argv(many));
    EXPECT_EQ(too_long.kind(), error_kind::invalid_argument);
    co_await env.close();
    docker::environment by_warden =
        co_await cofferdam_test::test_image("shell-less").by(docker::command_transport::warden).open();
    command_result result = co_await by_warden.run_command(argv("/bin/busybox-tool", "echo", "hi"));
    EXPECT_EQ(result.out().text(), "hi\n");
    co_await by_warden.close();
  });
}

TEST(DockerExec, a_container_that_is_killed_is_lost_and_keeps_what_had_arrived) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    docker::environment env = co_await by_execs("busybox").open();
    process running = co_await env.start(shell("echo before; sleep 1011"));
    output_chunk first = co_await running.read();
    EXPECT_EQ(as_text(first.data()), "before\n");
    docker_says("kill " + env.container_id());
    std::error_code code;
    try {
      co_await running.wait();
    } catch (const error& failure) {
      code = failure.code();
      EXPECT_NE(failure.partial(), nullptr);
      if (failure.partial() != nullptr) {
        EXPECT_EQ(failure.partial()->out().text(), "before\n");
      }
    }
    EXPECT_EQ(code, exec_errc::provider_lost);
    code.clear();
    try {
      co_await env.run_command(shell("true"));
    } catch (const error& failure) {
      code = failure.code();
    }
    EXPECT_EQ(code, exec_errc::provider_lost);
    co_await env.close();
  });
}

TEST(DockerExec, a_container_that_is_dropped_is_gone) {
  COFFERDAM_NEEDS_DOCKER();
  std::string id;
  run([&]() -> awaitable<void> {
    docker::environment env = co_await by_execs("debian").open();
    id = env.container_id();
    process running = co_await env.start(shell("setsid sleep 1012"));
  });
  EXPECT_FALSE(id.empty());
  EXPECT_TRUE(in_time([&] { return docker_says("ps -aq --no-trunc --filter id=" + id).empty(); }));
}

TEST(DockerExec, an_end_before_the_beginning_is_one) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    docker::environment env = co_await by_execs("busybox").kill_grace(0ms).open();
    for (const auto limit : {1ms, 5ms, 20ms, 40ms, 60ms}) {
      command_result result = co_await env.run_command(shell("sleep 1013").timeout(limit));
      EXPECT_EQ(result.kind(), error_kind::timeout);
    }
    EXPECT_TRUE(in_time([&] { return count_of(env.container_id()) == 1; })) << processes_of(env.container_id());
    co_await env.close();
  });
}

}  // namespace
