// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of options that the container shows inside and the daemon shows outside.

#include <cofferdam/core/with.hpp>

#include "docker/docker_support.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::docker_says;
using cofferdam_test::run;
using cofferdam_test::test_image;

/// Runs a shell line in a container with these options.
/// \param format  what docker inspect prints; the text is stored in `outside`.
std::string inside(docker::container_options options, const std::string& line, const std::string& format,
                   std::string& outside) {
  std::string text;
  run(
      [&]() -> awaitable<void> {
        docker::environment env = co_await test_image("busybox", options).open();
        command_result result = co_await env.run_command(line);
        text = result.out_text() + result.err().text();
        outside = docker_says("inspect -f '" + format + "' " + env.container_id());
        co_await env.close();
      },
      120s);
  return text;
}

TEST(DockerOptions, shared_memory_has_the_size_that_was_asked_for) {
  COFFERDAM_NEEDS_DOCKER();
  const std::string line = "df -k /dev/shm | tail -n 1 | awk '{print $2}'";
  std::string outside;
  EXPECT_EQ(inside(docker::container_options().shm_size(5 << 20), line, "{{.HostConfig.ShmSize}}", outside), "5120\n");
  EXPECT_EQ(outside, "5242880");
  EXPECT_EQ(inside({}, line, "{{.HostConfig.ShmSize}}", outside), "65536\n");
  EXPECT_EQ(outside, "67108864");
}

TEST(DockerOptions, extra_hosts_are_known_by_name) {
  COFFERDAM_NEEDS_DOCKER();
  const std::string line = "grep -E 'db|six' /etc/hosts";
  std::string outside;
  const docker::container_options options =
      docker::container_options().extra_host("db", "10.0.0.7").extra_host("six", "fd00::7");
  EXPECT_EQ(inside(options, line, "{{json .HostConfig.ExtraHosts}}", outside), "10.0.0.7\tdb\nfd00::7\tsix\n");
  EXPECT_EQ(outside, "[\"db:10.0.0.7\",\"six:fd00::7\"]");
  EXPECT_EQ(inside({}, line, "{{json .HostConfig.ExtraHosts}}", outside), "");
}

TEST(DockerOptions, name_servers_are_those_that_were_asked_for) {
  COFFERDAM_NEEDS_DOCKER();
  COFFERDAM_NEEDS("docker bridge", !docker_says("network ls -q --filter driver=bridge").empty(),
                  "the name servers of a container with a network");
  std::string outside;
  const docker::container_options options = docker::container_options().network("bridge").dns("192.0.2.53");
  EXPECT_EQ(inside(options, "grep nameserver /etc/resolv.conf", "{{json .HostConfig.Dns}}", outside),
            "nameserver 192.0.2.53\n");
  EXPECT_EQ(outside, "[\"192.0.2.53\"]");
}

TEST(DockerOptions, gpus_that_the_machine_cannot_give_are_a_readable_error_and_leave_nothing) {
  COFFERDAM_NEEDS_DOCKER();
  std::optional<error> failure;
  run(
      [&]() -> awaitable<void> {
        try {
          docker::environment env = co_await test_image("busybox", docker::container_options().gpus("all")).open();
          co_await env.close();
        } catch (const error& reason) {
          failure = reason;
        }
      },
      120s);
  if (!failure) GTEST_SKIP() << "this machine has GPUs";
  EXPECT_EQ(failure->code(), exec_errc::unsupported) << failure->what();
  const std::string sentence = failure->what();
  EXPECT_NE(sentence.find("could not select device driver"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("omit gpus()"), std::string::npos) << sentence;
  EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
}

}  // namespace
