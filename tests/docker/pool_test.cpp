// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/pool.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>

#include "docker/docker_support.hpp"
#include "support/census.hpp"
#include "support/fault_proxy.hpp"
#include "support/pause.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace docker_pool_tests {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::direction;
using cofferdam_test::docker_says;
using cofferdam_test::fault;
using cofferdam_test::fault_proxy;
using cofferdam_test::in_time;
using cofferdam_test::pause_for;
using cofferdam_test::run;
using cofferdam_test::test_image;

/// Returns the options of containers of this program. Other programs use the same daemon meanwhile.
docker::container_options marked() {
  return docker::container_options().pull(docker::pull_policy::never).label("pool-test", std::to_string(::getpid()));
}

/// Returns the filter of `docker ps` for the containers of this program.
std::string only_marked() { return " --filter label=pool-test=" + std::to_string(::getpid()); }

std::string all_containers() { return docker_says("ps -aq --no-trunc" + only_marked() + " | sort"); }

/// Returns the ids of the running containers, separated by spaces.
std::string running_containers() { return docker_says("ps -q --no-trunc" + only_marked() + " | tr '\\n' ' '"); }

/// A provider whose traffic all goes through the proxy.
docker::provider through(const fault_proxy& proxy, const std::string& image = "busybox") {
  return docker::from_image("cofferdam-test/" + image)
      .options(marked())
      .daemon(docker::daemon_choice().address(proxy.address()))
      .by(docker::command_transport::attached);
}

template <class Pool>
awaitable<void> filled(Pool& pool, std::size_t size) {
  for (int i = 0; i < 60'000 && pool.counts().idle() < size; ++i) co_await pause_for(1ms);
  EXPECT_EQ(pool.counts().idle(), size);
}

/// Returns the error of `open()`, or nothing if it succeeds.
template <class Provider>
awaitable<std::optional<error>> failure_of(Provider provider) {
  std::optional<error> failure;
  try {
    auto opened = co_await provider.open();
    co_await opened.close();
  } catch (const error& reason) {
    failure = reason;
  }
  co_return failure;
}

std::chrono::steady_clock::duration since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::steady_clock::now() - begin;
}

TEST(DockerPool, each_container_is_handed_out_once_and_none_is_left) {
  COFFERDAM_NEEDS_DOCKER();
  const std::size_t rounds = cofferdam_test::is_soak() ? 500 : 4;  // two containers each
  const std::string before = all_containers();
  std::set<std::string> ids;
  run(
      [&]() -> awaitable<void> {
        co_await with(pool(test_image("busybox").options(marked()), 2), [&](auto& pool) -> awaitable<void> {
          for (std::size_t i = 0; i < rounds; ++i) {
            co_await with(pool.provider() | timeout(60s), [&](auto& env) -> awaitable<void> {
              command_result result =
                  co_await env.run_command("ls -A . /tmp /dev/shm; touch used /tmp/used /dev/shm/used");
              EXPECT_TRUE(result.ok()) << result.reason();
              EXPECT_EQ(result.out_text().find("used"), std::string::npos) << result.out_text();
            });
            docker::environment env = co_await pool.provider().open();
            EXPECT_TRUE(ids.insert(env.container_id()).second) << env.container_id();
            co_await env.close();
          }
          EXPECT_EQ(pool.counts().handed_out(), 2 * rounds);
          EXPECT_EQ(pool.counts().failed(), 0U);
          EXPECT_EQ(pool.counts().discarded(), 0U);
        });
      },
      3000s);
  EXPECT_EQ(ids.size(), rounds);
  EXPECT_TRUE(in_time([&] { return all_containers() == before; })) << all_containers();
}

TEST(DockerPool, a_container_that_was_killed_while_it_waited_is_not_handed_out_and_the_check_sends_nothing) {
  COFFERDAM_NEEDS_DOCKER();
  fault_proxy proxy(cofferdam_test::docker_address());
  const std::string before = all_containers();
  run(
      [&]() -> awaitable<void> {
        auto recipe = pool(any_provider(through(proxy)) | timeout(60s), 2);
        co_await with(std::move(recipe), [&](auto& pool) -> awaitable<void> {
          co_await filled(pool, 2);
          EXPECT_EQ(docker_says("kill " + running_containers()).find("Error"), std::string::npos);
          co_await pause_for(300ms);
          const auto begin = std::chrono::steady_clock::now();
          co_await with(pool.provider(), [](auto& env) -> awaitable<void> {
            command_result result = co_await env.run_command("echo fine");
            EXPECT_EQ(result.out_text(), "fine\n") << result.reason();
          });
          EXPECT_LT(since(begin), 30s);
          EXPECT_EQ(pool.counts().discarded(), 2U);

          co_await filled(pool, 2);
          const std::size_t requests = proxy.requests("");
          auto env = co_await pool.provider().open();
          EXPECT_EQ(proxy.requests(""), requests);
          co_await env.close();
        });
      },
      120s);
  EXPECT_TRUE(in_time([&] { return all_containers() == before; })) << all_containers();
}

TEST(DockerPool, a_runner_whose_container_was_killed_while_it_waited_is_not_handed_out) {
  COFFERDAM_NEEDS_DOCKER();
  const std::string before = all_containers();
  run(
      [&]() -> awaitable<void> {
        any_runner_provider recipe(test_image("debian").options(marked()) | python() | check_syntax());
        co_await with(pool(std::move(recipe), 1), [&](auto& pool) -> awaitable<void> {
          co_await filled(pool, 1);
          EXPECT_EQ(docker_says("kill " + running_containers()).find("Error"), std::string::npos);
          co_await pause_for(300ms);
          co_await with(pool.provider() | check_syntax(), [](auto& runner) -> awaitable<void> {
            code_result result = co_await runner.run_code(code_request("6 * 7"));
            EXPECT_EQ(result.value_text(), "42") << result.reason();
          });
          EXPECT_EQ(pool.counts().discarded(), 1U);
        });
      },
      120s);
  EXPECT_TRUE(in_time([&] { return all_containers() == before; })) << all_containers();
}

TEST(DockerPool, a_slow_daemon_is_an_error_within_the_limit_of_waiting_and_the_pool_closes) {
  COFFERDAM_NEEDS_DOCKER();
  fault_proxy proxy(cofferdam_test::docker_address());
  const std::string before = all_containers();
  run(
      [&]() -> awaitable<void> {
        co_await with(pool(through(proxy), 1).wait_limit(500ms), [&](auto& pool) -> awaitable<void> {
          proxy.delay(1500ms);
          auto first = co_await pool.provider().open();
          const auto begin = std::chrono::steady_clock::now();
          const std::optional<error> failure = co_await failure_of(pool.provider());
          EXPECT_LT(since(begin), 1400ms);
          EXPECT_TRUE(failure && failure->code() == exec_errc::unavailable);
          proxy.delay(0ms);
          co_await first.close();
        });
      },
      120s);
  EXPECT_TRUE(in_time([&] { return all_containers() == before; })) << all_containers();
}

TEST(DockerPool, after_the_daemon_has_died_hand_outs_fail_within_seconds) {
  COFFERDAM_NEEDS_DOCKER();
  fault_proxy proxy(cofferdam_test::docker_address());
  const std::string before = all_containers();
  run(
      [&]() -> awaitable<void> {
        co_await with(pool(through(proxy), 2), [&](auto& pool) -> awaitable<void> {
          co_await filled(pool, 2);
          proxy.arm(fault(fault::kind::cut, direction::up, 0).for_good());  // closes all connections
          co_await pause_for(100ms);
          for (int i = 0; i < 3; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            const std::optional<error> failure = co_await failure_of(pool.provider());
            EXPECT_TRUE(failure) << "attempt " << i;
            if (failure) {
              EXPECT_NE(failure->code(), exec_errc::unavailable) << failure->what();
            }
            EXPECT_LT(since(begin), 5s);
          }
          EXPECT_EQ(pool.counts().discarded(), 2U);
          proxy.arm(fault());
          auto env = co_await pool.provider().open();  // the daemon is back
          co_await env.close();
        });
      },
      120s);
  EXPECT_TRUE(in_time([&] { return all_containers() == before; })) << all_containers();
}

TEST(DockerPool, a_missing_image_fails_the_open_of_the_pool_or_the_first_hand_out) {
  COFFERDAM_NEEDS_DOCKER();
  docker::container_options options;
  options.pull(docker::pull_policy::never);
  const docker::provider missing = test_image("no-such-image", options);
  run(
      [&]() -> awaitable<void> {
        auto recipe = pool(missing, 4);
        const std::optional<error> failure = co_await failure_of(recipe);
        EXPECT_TRUE(failure && failure->code() == exec_errc::not_found);
        EXPECT_TRUE(failure && std::string(failure->what()).find("no-such-image") != std::string::npos);
        recipe.without_waiting();
        co_await with(recipe, [](auto& pool) -> awaitable<void> {
          const std::optional<error> late = co_await failure_of(pool.provider());
          EXPECT_TRUE(late && late->code() == exec_errc::not_found);
        });
      },
      60s);
}

}  // namespace

}  // namespace docker_pool_tests
