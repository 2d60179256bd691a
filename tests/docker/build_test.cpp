// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include "docker/docker_support.hpp"
#include "support/fault_proxy.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam::detail::is_valid_utf8;
using namespace std::chrono_literals;
using cofferdam_test::docker_says;
using cofferdam_test::output_of;
using cofferdam_test::run;
using cofferdam_test::test_daemon;

TEST(Docker, a_dockerfile_that_needs_buildkit_is_built_with_progress) {
  COFFERDAM_NEEDS_DOCKER();
  const cofferdam_test::temporary_folder folder;
  folder.write(
      "Dockerfile",
      "FROM cofferdam-test/busybox\nARG WORD\nCOPY wanted /\n"
      "RUN --mount=type=cache,target=/cache echo \"printed by $WORD\" && date > /cache/x && echo yes > /made\n");
  folder.write("wanted", "content");
  // Control: the classic builder rejects this Dockerfile.
  const std::string classic = output_of("tar -C " + folder.path().string() + " -c . | DOCKER_BUILDKIT=0 docker -H '" +
                                        cofferdam_test::docker_address() + "' build --network none - 2>&1");
  EXPECT_NE(classic.find("BuildKit"), std::string::npos) << classic;
  std::string output;
  run(
      [&]() -> awaitable<void> {
        docker::build_request build(folder.path());
        build.argument("WORD", "a step " + std::to_string(::getpid())).network("none");
        const auto provider =
            docker::from_dockerfile(build).daemon(test_daemon()).progress([&](const docker::progress_event& event) {
              output += event.text();
            });
        co_await with(provider, [&](docker::environment& env) -> awaitable<void> {
          command_result result = co_await env.run_command(shell("cat /made /wanted"));
          EXPECT_EQ(result.out().text(), "yes\ncontent") << result.err().text();
        });
      },
      300s);
  EXPECT_NE(output.find("RUN --mount=type=cache"), std::string::npos) << output;
  EXPECT_NE(output.find("\nprinted by a step"), std::string::npos) << output;
  EXPECT_TRUE(is_valid_utf8(output));
  docker_says("rmi -f $(docker -H " + cofferdam_test::docker_address() + " images -q cofferdam-build)");
}

TEST(Docker, a_line_that_fails_under_buildkit_is_an_error_with_its_exit_code_and_advice) {
  COFFERDAM_NEEDS_DOCKER();
  const auto sentence_for = [](const std::string& line) {
    const cofferdam_test::temporary_folder folder;
    folder.write("Dockerfile", "FROM cofferdam-test/busybox\n" + line + "\n");
    std::string message;
    run(
        [&]() -> awaitable<void> {
          const auto provider = docker::from_dockerfile(folder.path()).daemon(test_daemon());
          try {
            co_await provider.open();
          } catch (const error& failure) {
            message = failure.what();
          }
        },
        300s);
    return message;
  };
  const std::string failed = sentence_for("RUN --mount=type=tmpfs,target=/t exit 42");
  EXPECT_NE(failed.find("42"), std::string::npos) << failed;
  const std::string unknown = sentence_for("COPY --no-such-option a /b");
  EXPECT_NE(unknown.find("# syntax=docker/dockerfile:1"), std::string::npos) << unknown;
  const std::string secret = sentence_for("RUN --mount=type=secret,id=x,required=true cat /run/secrets/x");
  EXPECT_NE(secret.find("gives no secrets and ssh keys"), std::string::npos) << secret;
}

TEST(Docker, every_dockerfile_is_built_by_buildkit_where_the_ping_says_so) {
  COFFERDAM_NEEDS_DOCKER();
  const cofferdam_test::temporary_folder folder;
  folder.write("Dockerfile", "FROM cofferdam-test/busybox\nRUN echo made > /made\n");
  for (const bool is_preferred : {false, true}) {
    cofferdam_test::fault_proxy proxy(cofferdam_test::docker_address());
    const std::string usual = "Docker-Experimental: false";  // the header that Docker 20.10 sends
    if (is_preferred) proxy.replace_answers(usual, "Builder-Version:         2");
    if (!is_preferred) proxy.replace_answers("Builder-Version: 2", "Builder-Version: 1");
    run(
        [&]() -> awaitable<void> {
          const docker::daemon_choice daemon = docker::daemon_choice().address(proxy.address());
          const auto provider = docker::from_dockerfile(folder.path()).daemon(daemon);
          co_await with(provider, [](docker::environment& env) -> awaitable<void> {
            command_result result = co_await env.run_command(shell("cat /made"));
            EXPECT_EQ(result.out().text(), "made\n");
          });
        },
        300s);
    EXPECT_EQ(proxy.requests("/build?"), 1U);
    EXPECT_EQ(proxy.requests("&version=2"), is_preferred ? 1U : 0U);
  }
  docker_says("rmi -f $(docker -H " + cofferdam_test::docker_address() + " images -q cofferdam-build)");
}

TEST(Docker, from_dockerfile_takes_the_file_too) {
  COFFERDAM_NEEDS_DOCKER();
  const cofferdam_test::temporary_folder folder;
  folder.write("Sandboxfile", "FROM cofferdam-test/busybox\nCOPY beside /\n");
  folder.write("beside", "here");
  run(
      [&]() -> awaitable<void> {
        const auto provider = docker::from_dockerfile(folder.path() / "Sandboxfile").daemon(test_daemon());
        co_await with(provider, [](docker::environment& env) -> awaitable<void> {
          command_result result = co_await env.run_command(shell("cat /beside"));
          EXPECT_EQ(result.out().text(), "here");
        });
      },
      300s);
  docker_says("rmi -f $(docker -H " + cofferdam_test::docker_address() + " images -q cofferdam-build)");
}

}  // namespace
