// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>

#include "docker/docker_support.hpp"
#include "support/spawn.hpp"

#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
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
using cofferdam_test::foreign_container;
using cofferdam_test::in_time;
using cofferdam_test::run;
using docker::container_options;

docker::provider in(const std::string& id, docker::command_transport how = docker::command_transport::automatic,
                    container_options options = container_options()) {
  return docker::in_container(id).daemon(cofferdam_test::test_daemon()).by(how).options(std::move(options));
}

std::string programs_of(const std::string& id) {
  return docker_says("top " + id + " -eo pid,args | tail -n +2 | sed 's/^ *[0-9]* *//'");
}
/// Expects that the container runs a process with this text in its command line, within 10 seconds. The event loop
/// continues meanwhile.
awaitable<void> until_there_is(std::string id, std::string process) {
  bool is_there = false;
  for (int i = 0; i < 500 && !is_there; ++i) {
    co_await cofferdam_test::pause_for(20ms);
    is_there = programs_of(id).find(process) != std::string::npos;
  }
  EXPECT_TRUE(is_there) << programs_of(id);
}
/// Returns true if the container runs only its original program.
bool is_alone(const std::string& id) { return programs_of(id) == "sleep 1000000"; }
std::string traces_in(const std::string& id) {
  return docker_says("exec " + id + " find / -name '.cofferdam*' 2>/dev/null | grep /");
}

std::error_code code_of_open(const docker::provider& provider, std::string* sentence = nullptr) {
  std::error_code code;
  run([&]() -> awaitable<void> {
    try {
      docker::environment env = co_await provider.open();
      co_await env.close();
    } catch (const error& failure) {
      code = failure.code();
      if (sentence != nullptr) *sentence = failure.what();
    }
  });
  return code;
}

TEST(DockerAdopted, commands_and_files_work_and_nothing_is_left) {
  COFFERDAM_NEEDS_DOCKER();
  for (const docker::command_transport how : {docker::command_transport::warden, docker::command_transport::exec}) {
    const foreign_container container;
    run([&]() -> awaitable<void> {
      docker::environment env = co_await in(container.id(), how).open();
      EXPECT_EQ(env.container_id(), container.id());
      co_await write_text(env, "deep/file", "content");
      command_result result = co_await env.run_command(shell("cat deep/file; pwd; echo err >&2; exit 5"));
      EXPECT_EQ(result.out().text(), "content/workspace\n");
      EXPECT_EQ(result.err().text(), "err\n");
      EXPECT_EQ(result.exit_code(), 5);
      std::vector<directory_entry> entries = co_await list_directory(env, ".");
      EXPECT_EQ(entries.size(), 2U);
      EXPECT_EQ(traces_in(container.id()), "");
      process running = co_await env.start(shell("sleep 2001 & setsid sleep 2002 & exec sleep 2003"));
      co_await until_there_is(container.id(), "sleep 2003");
      co_await env.close();
    });
    EXPECT_TRUE(container.runs());
    EXPECT_TRUE(in_time([&] { return is_alone(container.id()); })) << programs_of(container.id());
    EXPECT_EQ(docker_says("exec " + container.id() + " cat /workspace/deep/file"), "content");
  }
}

TEST(DockerAdopted, a_time_limit_ends_ours_and_nobody_else) {
  COFFERDAM_NEEDS_DOCKER();
  for (const docker::command_transport how : {docker::command_transport::warden, docker::command_transport::exec}) {
    const foreign_container container;
    docker_says("exec -d " + container.id() + " sleep 2004");
    run([&]() -> awaitable<void> {
      docker::environment env = co_await in(container.id(), how).kill_grace(100ms).open();
      bool done = false;
      command_result other;
      cofferdam_test::spawn(
          co_await asio::this_coro::executor,
          [&]() -> awaitable<void> { other = co_await env.run_command(shell("sleep 4; echo whole")); },
          [&](std::exception_ptr) { done = true; });
      command_result result = co_await env.run_command(
          shell("trap '' TERM; sleep 2005 & setsid sleep 2006 & setsid sh -c 'trap \"\" TERM; sleep 2007' & sleep 2008")
              .timeout(700ms));
      EXPECT_EQ(result.kind(), error_kind::timeout);
      EXPECT_TRUE(in_time([&] {
        const std::string programs = programs_of(container.id());
        return programs.find("2005") == std::string::npos && programs.find("2006") == std::string::npos &&
               programs.find("2007") == std::string::npos && programs.find("2008") == std::string::npos;
      })) << programs_of(container.id());
      while (!done) co_await cofferdam_test::pause_for(1ms);
      EXPECT_EQ(other.out().text(), "whole\n") << other.reason();
      co_await env.close();
    });
    EXPECT_NE(programs_of(container.id()).find("sleep 2004"), std::string::npos);
    EXPECT_TRUE(container.runs());
  }
}

TEST(DockerAdopted, a_place_for_the_warden_is_found_or_execs_are_taken) {
  COFFERDAM_NEEDS_DOCKER();
  const foreign_container on_tmpfs("--tmpfs /tmp:exec,mode=1777");
  const foreign_container read_only("--read-only --tmpfs /workspace:exec,mode=1777");
  const foreign_container nowhere("--read-only --tmpfs /tmp --tmpfs /workspace:noexec,mode=1777");
  for (const foreign_container* each : {&on_tmpfs, &read_only}) {
    run([&]() -> awaitable<void> {
      docker::environment env = co_await in(each->id(), docker::command_transport::warden).open();
      command_result result = co_await env.run_command(shell("echo fine"));
      EXPECT_EQ(result.out().text(), "fine\n");
      co_await env.close();
    });
    EXPECT_EQ(traces_in(each->id()), "");
  }
  std::string sentence;
  EXPECT_EQ(code_of_open(in(nowhere.id(), docker::command_transport::warden), &sentence), exec_errc::unsupported)
      << sentence;
  run([&]() -> awaitable<void> {
    docker::environment env = co_await in(nowhere.id()).open();
    co_await write_text(env, "file", "x");
    command_result result = co_await env.run_command(shell("cat file"));
    EXPECT_EQ(result.out().text(), "x");
    EXPECT_NE(result.isolation().of(isolation_kind::process_tree).find("session"), std::string_view::npos);
    EXPECT_EQ(result.isolation().of(isolation_kind::network), "none");
    co_await env.close();
  });
  EXPECT_EQ(traces_in(nowhere.id()), "");
}

TEST(DockerAdopted, the_workspace_stays_as_it_is_and_two_can_be_open) {
  COFFERDAM_NEEDS_DOCKER();
  const foreign_container container("--user 1000:1000 --tmpfs /data:mode=1777,exec");
  docker_says("exec " + container.id() + " sh -c 'echo old > /data/kept'");
  container_options options;
  options.working_directory("/data").variable("GIVEN", "value");
  run([&]() -> awaitable<void> {
    docker::environment first = co_await in(container.id(), docker::command_transport::automatic, options).open();
    docker::environment second = co_await in(container.id(), docker::command_transport::exec, options).open();
    command_result result = co_await first.run_command(shell("cat kept; echo $GIVEN; id -u"));
    EXPECT_EQ(result.out().text(), "old\nvalue\n1000\n");
    co_await first.close();
    command_result still = co_await second.run_command(shell("cat kept; echo $GIVEN; id -u"));
    EXPECT_EQ(still.out().text(), "old\nvalue\n1000\n");
    co_await second.close();
  });
  EXPECT_EQ(docker_says("exec " + container.id() + " ls -A /data"), "kept");
}

TEST(DockerAdopted, a_container_without_a_shell_takes_a_warden) {
  COFFERDAM_NEEDS_DOCKER();
  const std::string id =
      docker_says("run -d --network none --entrypoint /bin/busybox-tool cofferdam-test/shell-less sleep 1000000");
  run([&]() -> awaitable<void> {
    docker::environment env = co_await in(id, docker::command_transport::warden).open();
    command_result result =
        co_await env.run_command(argv("/bin/busybox-tool", "find", "/tmp", "/workspace", "/var", "-name", ".cof*"));
    EXPECT_EQ(result.out().text(), "");
    EXPECT_EQ(result.kind(), error_kind::none) << result.reason();
    co_await env.close();
  });
  docker_says("rm -f " + id);
}

TEST(DockerAdopted, a_warden_that_somebody_kills_is_lost_and_the_container_goes_on) {
  COFFERDAM_NEEDS_DOCKER();
  const foreign_container container;
  run([&]() -> awaitable<void> {
    docker::environment env = co_await in(container.id(), docker::command_transport::warden).open();
    process running = co_await env.start(shell("echo before; exec sleep 2009"));
    output_chunk first = co_await running.read();
    EXPECT_EQ(as_text(first.data()), "before\n");
    docker_says("exec " + container.id() + " kill -9 -1");
    std::error_code code;
    try {
      co_await running.wait();
    } catch (const error& failure) {
      code = failure.code();
    }
    EXPECT_EQ(code, exec_errc::provider_lost);
    co_await env.close();
  });
  EXPECT_TRUE(container.runs());
}

TEST(DockerAdopted, dropped_without_close_ours_end_and_the_container_goes_on) {
  COFFERDAM_NEEDS_DOCKER();
  for (const docker::command_transport how : {docker::command_transport::warden, docker::command_transport::exec}) {
    const foreign_container container;
    run([&]() -> awaitable<void> {
      {
        docker::environment env = co_await in(container.id(), how).open();
        process running = co_await env.start(shell("setsid sleep 2010 & exec sleep 2011"));
        co_await until_there_is(container.id(), "sleep 2011");
        command_result idle = co_await env.run_command(shell("true"));
        EXPECT_TRUE(idle.ok());
      }
      for (int i = 0; i < 500 && !is_alone(container.id()); ++i) co_await cofferdam_test::pause_for(20ms);
    });
    EXPECT_TRUE(is_alone(container.id())) << programs_of(container.id());
    EXPECT_TRUE(container.runs());
  }
}

TEST(DockerAdopted, what_is_no_running_container_is_refused) {
  COFFERDAM_NEEDS_DOCKER();
  EXPECT_THROW(docker::in_container(""), error);
  EXPECT_THROW(docker::in_container("../json"), error);
  EXPECT_THROW(docker::in_container("a b"), error);
  EXPECT_EQ(code_of_open(in("cofferdam-no-such-container")), exec_errc::not_found);
  const std::string id = docker_says("create cofferdam-test/busybox true");
  EXPECT_EQ(code_of_open(in(id)), exec_errc::provider_failed);
  docker_says("rm -f " + id);
  const foreign_container container;
  container_options options;
  options.working_directory("/etc/passwd");
  EXPECT_EQ(code_of_open(in(container.id(), docker::command_transport::automatic, options)),
            exec_errc::not_a_directory);
}

}  // namespace
