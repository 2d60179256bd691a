// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/warning.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/files/download.hpp>
#include <cofferdam/files/upload.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/middleware/upload_files.hpp>

#include "docker/docker_support.hpp"
#include "support/paths.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/steady_timer.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::docker_says;
using cofferdam_test::in_time;
using cofferdam_test::our_containers;
using cofferdam_test::run;
using cofferdam_test::test_image;

// Feature: A3
TEST(Docker, the_quickstart_runs_in_a_container_with_one_line_changed) {
  COFFERDAM_NEEDS_DOCKER();
  const cofferdam_test::temporary_folder folder;
  ::setenv("DOCKER_HOST", cofferdam_test::docker_address().c_str(), 1);
  const std::string printed = cofferdam_test::output_of(std::string(COFFERDAM_DOCKER_QUICKSTART) + " " +
                                                        cofferdam_test::source_path("examples/data/mauna_loa_co2.csv") +
                                                        " " + (folder.path() / "out").string());
  ::unsetenv("DOCKER_HOST");
  EXPECT_NE(printed.find("1970  325.63 ppm"), std::string::npos) << printed;
  EXPECT_NE(printed.find("CO2 at Mauna Loa rose from"), std::string::npos) << printed;
  EXPECT_NE(printed.find("command_not_allowed"), std::string::npos) << printed;
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "out" / "report.md")) << printed;
}

// Feature: A4
TEST(Docker, an_image_is_built_from_a_dockerfile_with_arguments_and_variables_are_forwarded) {
  COFFERDAM_NEEDS_DOCKER();
  const cofferdam_test::temporary_folder folder;
  std::ofstream(folder.path() / "Dockerfile") << "FROM cofferdam-test/busybox AS base\n"
                                                 "ARG FLAVOUR=none\n"
                                                 "COPY wanted /\n"
                                                 "RUN echo \"made with $FLAVOUR\" > /flavour\n"
                                                 "FROM base AS second\n"
                                                 "RUN echo second > /stage\n";
  std::ofstream(folder.path() / "wanted") << "content";
  std::ofstream(folder.path() / "secret") << "not for the image";
  std::ofstream(folder.path() / ".dockerignore") << "secret\n";
  ::setenv("COFFERDAM_TEST_FORWARDED", "from the host", 1);
  std::string output;
  static std::vector<std::string> warnings;
  const warning_handler before =
      set_warning_handler([](std::string_view sentence) { warnings.emplace_back(sentence); });
  run(
      [&]() -> awaitable<void> {
        docker::build_request build(folder.path());
        build.argument("FLAVOUR", "two words").target("base").network("none");
        const docker::container_options options = docker::container_options()
                                                      .forward_variable("COFFERDAM_TEST_FORWARDED")
                                                      .forward_variable("COFFERDAM_TEST_NOT_SET")
                                                      .variable("GIVEN", "value");
        const auto provider = docker::from_dockerfile(build)
                                  .options(options)
                                  .daemon(cofferdam_test::test_daemon())
                                  .progress([&](const docker::progress_event& event) { output += event.text(); });
        // The second build is answered from the daemon's cache.
        for (int turn = 0; turn < 2; ++turn) {
          docker::environment env = co_await provider.open();
          command_result result = co_await env.run_command(
              shell("cat /flavour /wanted; ls / | grep -c -e secret -e stage; echo \"$COFFERDAM_TEST_FORWARDED|$GIVEN|"
                    "${COFFERDAM_TEST_NOT_SET-unset}\""));
          EXPECT_EQ(result.out().text(), "made with two words\ncontent0\nfrom the host|value|unset\n")
              << result.err().text();
          co_await env.close();
        }
      },
      300s);
  set_warning_handler(before);
  // The warning appears only once for both environments.
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("COFFERDAM_TEST_NOT_SET"), std::string::npos) << warnings[0];
  EXPECT_EQ(warnings[0].find("COFFERDAM_TEST_FORWARDED"), std::string::npos) << warnings[0];
  EXPECT_NE(output.find("RUN echo"), std::string::npos) << output;
  const std::string image_ids = docker_says("images -q cofferdam-build");
  EXPECT_FALSE(image_ids.empty());
  docker_says("rmi -f $(docker -H " + cofferdam_test::docker_address() + " images -q cofferdam-build)");
  docker_says("image prune -f");
}

TEST(Docker, a_line_of_the_dockerfile_that_fails_is_an_error_with_the_daemons_reason) {
  COFFERDAM_NEEDS_DOCKER();
  const cofferdam_test::temporary_folder folder;
  std::ofstream(folder.path() / "Dockerfile") << "FROM cofferdam-test/busybox\nRUN exit 42\n";
  run(
      [&]() -> awaitable<void> {
        const auto provider = docker::from_dockerfile(folder.path()).daemon(cofferdam_test::test_daemon());
        std::string message;
        try {
          co_await provider.open();
        } catch (const error& failure) {
          message = failure.what();
          EXPECT_EQ(failure.code(), exec_errc::provider_failed) << message;
        }
        EXPECT_NE(message.find("42"), std::string::npos) << message;
      },
      300s);
  docker_says("image prune -f");
}

TEST(Docker, a_container_is_removed_when_its_environment_is_closed_or_dropped) {
  COFFERDAM_NEEDS_DOCKER();
  run(
      []() -> awaitable<void> {
        docker::environment first = co_await test_image("busybox").open();
        EXPECT_NE(our_containers(), "");
        co_await first.close();
        EXPECT_EQ(our_containers(), "") << "close() waits for it";
        { docker::environment second = co_await test_image("busybox").open(); }
      },
      120s);
  EXPECT_TRUE(in_time([] { return our_containers().empty(); })) << our_containers();
}

// Feature: A11
TEST(Docker, an_open_that_is_cancelled_at_any_moment_leaves_no_container) {
  COFFERDAM_NEEDS_DOCKER();
  for (const auto delay : {0ms, 2ms, 5ms, 10ms, 15ms, 20ms, 40ms, 80ms, 160ms, 240ms, 320ms}) {
    asio::io_context loop;
    asio::cancellation_signal signal;
    bool ended = false;
    cofferdam_test::spawn(
        loop,
        []() -> awaitable<void> {
          docker::environment env = co_await test_image("busybox").open();
          co_await env.close();
        },
        [&](std::exception_ptr) { ended = true; }, signal.slot());
    asio::steady_timer timer(loop, delay);
    timer.async_wait([&](std::error_code) { signal.emit(asio::cancellation_type::terminal); });
    loop.run_for(60s);
    EXPECT_TRUE(ended) << delay.count();
    EXPECT_TRUE(in_time([] { return our_containers().empty(); })) << our_containers();
  }
}

TEST(Docker, files_belong_to_the_user_of_the_commands_and_both_can_write_them) {
  COFFERDAM_NEEDS_DOCKER();
  for (const char* image : {"busybox", "user", "entrypoint", "debian"}) {
    for (const bool writable : {false, true}) {
      docker::container_options options;
      if (writable) options.writable_root();
      run(
          [&]() -> awaitable<void> {
            co_await with(test_image(image, options), [&](docker::environment& env) -> awaitable<void> {
              co_await write_text(env, "from/host", "host");
              command_result owner = co_await env.run_command(
                  shell("test \"$(stat -c %u:%g from/host)\" = \"$(id -u):$(id -g)\" && echo more >> from/host && "
                        "echo guest > from/guest && id -u"));
              EXPECT_TRUE(owner.ok()) << image << owner.out().text() << owner.err().text();
              EXPECT_NE(owner.out().text(), "0\n");
              std::string text = co_await read_text(env, "from/guest");
              EXPECT_EQ(text, "guest\n");
              co_await write_text(env, "from/guest", "again");
              co_await cofferdam::remove(env, "from");
            });
          },
          120s);
    }
  }
}

TEST(Docker, users_by_name_by_number_and_with_a_group_are_who_commands_run_as) {
  COFFERDAM_NEEDS_DOCKER();
  const std::vector<std::pair<std::string, std::string>> cases{
      {"user", "1000:1000"}, {"1000", "1000:1000"}, {"4711", "4711:0"}, {"4711:42", "4711:42"}, {"user:0", "1000:0"}};
  for (const auto& [name, expected] : cases) {
    run(
        [&]() -> awaitable<void> {
          const docker::container_options options = docker::container_options().user(name);
          co_await with(test_image("busybox", options), [&](docker::environment& env) -> awaitable<void> {
            command_result result = co_await env.run_command(shell("echo $(id -u):$(id -g); touch mine"));
            EXPECT_EQ(result.out().text(), expected + "\n") << name << result.err().text();
            EXPECT_TRUE(result.ok());
          });
        },
        120s);
  }
  run(
      []() -> awaitable<void> {
        bool refused = false;
        try {
          co_await test_image("busybox", docker::container_options().user("nobody-here")).open();
        } catch (const error& failure) {
          refused = failure.code() == exec_errc::invalid_argument;
        }
        EXPECT_TRUE(refused);
      },
      60s);
}

TEST(Docker, an_image_without_a_shell_runs_words_and_says_of_lines_that_there_is_none) {
  COFFERDAM_NEEDS_DOCKER();
  run(
      []() -> awaitable<void> {
        co_await with(test_image("shell-less"), [](docker::environment& env) -> awaitable<void> {
          command_result words = co_await env.run_command(argv("/bin/busybox-tool", "echo", "hi"));
          EXPECT_EQ(words.out().text(), "hi\n");
          command_result line = co_await env.run_command(shell("echo hi"));
          EXPECT_EQ(line.kind(), error_kind::execution_error);
          EXPECT_NE(line.reason().find("shell"), std::string::npos) << line.reason();
          co_await write_text(env, "file", "content");
          std::string text = co_await read_text(env, "file");
          EXPECT_EQ(text, "content");
        });
      },
      120s);
}

TEST(Docker, PR_13_RS_01_a_memory_limit_a_signal_an_exit_code_and_a_time_limit_are_four_results) {
  COFFERDAM_NEEDS_DOCKER();
  run(
      []() -> awaitable<void> {
        const docker::container_options options = docker::container_options().memory(std::uint64_t{128} << 20);
        co_await with(test_image("debian", options), [](docker::environment& env) -> awaitable<void> {
          command_result memory = co_await env.run_command(argv("python3", "-c", "x = bytearray(300_000_000)"));
          EXPECT_EQ(memory.kind(), error_kind::out_of_memory) << memory.err().text();
          command_result behind = co_await env.run_command(shell("python3 -c 'x = bytearray(300_000_000)'; exit $?"));
          EXPECT_EQ(behind.kind(), error_kind::out_of_memory) << behind.exit_code();
          command_result killed = co_await env.run_command(shell("kill -9 $$"));
          EXPECT_EQ(killed.kind(), error_kind::none);
          EXPECT_EQ(killed.term_signal(), 9);
          command_result code = co_await env.run_command(shell("exit 137"));
          EXPECT_EQ(code.kind(), error_kind::none);
          EXPECT_EQ(code.exit_code(), 137);
          command_result late = co_await env.run_command(shell("sleep 100").timeout(300ms));
          EXPECT_EQ(late.kind(), error_kind::timeout);
        });
      },
      120s);
}

TEST(Docker, RS_02_the_workspace_is_as_large_as_the_options_say) {
  COFFERDAM_NEEDS_DOCKER();
  run(
      []() -> awaitable<void> {
        const docker::container_options options = docker::container_options().workspace_size(std::uint64_t{8} << 20);
        co_await with(test_image("busybox", options), [](docker::environment& env) -> awaitable<void> {
          command_result full = co_await env.run_command(shell("head -c 9000000 /dev/zero > large"));
          EXPECT_FALSE(full.ok());
          bool refused = false;
          const bytes large(9'000'000);
          try {
            co_await env.write_file("other", large);
          } catch (const error& failure) {
            refused = failure.cause() == std::error_code(ENOSPC, std::system_category());
          }
          EXPECT_TRUE(refused);
        });
      },
      120s);
}

TEST(Docker, trees_go_in_and_come_out_whole) {
  COFFERDAM_NEEDS_DOCKER();
  const cofferdam_test::temporary_folder folder;
  std::filesystem::create_directories(folder.path() / "in" / "a" / "b");
  std::ofstream(folder.path() / "in" / "a" / "b" / "large") << std::string(3'000'000, 'x');
  std::ofstream(folder.path() / "in" / "sp ace") << "1";
  for (int i = 0; i < 50; ++i) std::ofstream(folder.path() / "in" / "a" / ("f" + std::to_string(i))) << i;
  run(
      [&]() -> awaitable<void> {
        co_await with(test_image("busybox"), [&](docker::environment& env) -> awaitable<void> {
          transfer_result up = co_await upload(env, files((folder.path() / "in").string()).into("there/in"));
          EXPECT_TRUE(up.ok());
          command_result sum = co_await env.run_command(shell("find . -type f | wc -l; wc -c < there/in/a/b/large"));
          EXPECT_EQ(sum.out().text(), "52\n3000000\n") << sum.err().text();
          transfer_result down = co_await download(env, files("there"), (folder.path() / "out").string());
          EXPECT_TRUE(down.ok());
        });
      },
      120s);
  const std::string differences = cofferdam_test::output_of("diff -r " + (folder.path() / "in").string() + " " +
                                                            (folder.path() / "out" / "there" / "in").string());
  EXPECT_EQ(differences, "");
}

TEST(Docker, PR_23_timed_out_commands_with_children_in_sessions_of_their_own_leave_no_process) {
  COFFERDAM_NEEDS_DOCKER();
  const int rounds = std::getenv("COFFERDAM_SOAK") != nullptr ? 1000 : 60;
  run(
      [&]() -> awaitable<void> {
        const docker::provider provider = test_image("debian").kill_grace(20ms);
        co_await with(provider, [&](docker::environment& env) -> awaitable<void> {
          const std::string top = "top " + env.container_id() + " -eo pid,comm | wc -l";
          command_result first = co_await env.run_command(shell("true"));
          EXPECT_TRUE(first.ok());
          const std::string before = docker_says(top);
          int timeouts = 0;
          for (int i = 0; i < rounds; ++i) {
            command_result result = co_await env.run_command(
                shell("setsid sleep 1000 & (setsid sh -c 'trap \"\" TERM; sleep 1000' &) & env -i setsid sleep 1000 & "
                      "trap '' TERM; sleep 1000")
                    .timeout(30ms));
            if (result.kind() == error_kind::timeout) ++timeouts;
          }
          EXPECT_EQ(timeouts, rounds);
          // The warden may keep idle supervisors (processes that start commands), but no process of a command may be
          // left.
          EXPECT_EQ(docker_says("top " + env.container_id() + " -eo pid,comm | grep -c -e sleep -e sh || true"), "0");
          std::cout << rounds << " timed out; before: " << before << " lines, after: " << docker_says(top) << '\n';
        });
      },
      900s);
}

TEST(Docker, PR_08_a_host_that_is_killed_in_the_middle_of_a_command_leaves_nothing_and_strangers_stay) {
  COFFERDAM_NEEDS_DOCKER();
  const int rounds = std::getenv("COFFERDAM_SOAK") != nullptr ? 20 : 4;
  const cofferdam_test::foreign_container stranger;
  const cofferdam_test::foreign_container labelled(
      "--label cofferdam.owner=1:not-a-boot:1:1:1:x --name cofferdam-lookalike");
  for (int i = 0; i < rounds; ++i) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t host = ::fork();
    ASSERT_GE(host, 0);
    if (host == 0) {
      ::close(ends[0]);
      asio::io_context loop;
      cofferdam_test::spawn(
          loop,
          [&]() -> awaitable<void> {
            docker::environment env = co_await test_image("busybox").open();
            process running = co_await env.start(shell("setsid sleep 1000 & echo up; sleep 1000"));
            const output_chunk piece = co_await running.read();
            if (::write(ends[1], "u", piece.end() ? 0 : 1) < 0) ::_exit(3);
            co_await running.wait();
          },
          [](std::exception_ptr) { ::_exit(2); });
      loop.run();
      ::_exit(1);
    }
    ::close(ends[1]);
    char first_byte = 0;
    EXPECT_EQ(::read(ends[0], &first_byte, 1), 1);
    ::close(ends[0]);
    EXPECT_NE(docker_says("ps -q --filter label=cofferdam.version"), "");
    ::kill(host, SIGKILL);
    int status = 0;
    ::waitpid(host, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_TRUE(in_time([] { return docker_says("ps -aq --filter label=cofferdam.version").empty(); }));
  }
  EXPECT_TRUE(stranger.runs());
  EXPECT_TRUE(labelled.runs());
}

}  // namespace
