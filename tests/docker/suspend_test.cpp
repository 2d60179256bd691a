// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of pauses and snapshots of containers.

#include <cofferdam/backends/docker/detail/sandbox_settings.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/suspendable_environment.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>

#include "docker/docker_support.hpp"
#include "support/pause.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace suspend_tests {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::docker_says;
using cofferdam_test::in_time;
using cofferdam_test::our_containers;
using cofferdam_test::run;
using cofferdam_test::test_image;

static_assert(suspendable_environment<docker::environment>);

awaitable<void> sleep_for(std::chrono::milliseconds time) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

bool is_paused(const docker::environment& env) {
  return docker_says("inspect -f '{{.State.Paused}}' " + env.container_id()) == "true";
}

/// The results of commands that a test has begun and not awaited.
class begun_command {
 public:
  template <class E>
  static awaitable<std::shared_ptr<begun_command>> begin(E& env, command c) {
    const auto mine = std::make_shared<begun_command>();
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    cofferdam_test::spawn(executor, env.run_command(std::move(c)),
                          [mine](std::exception_ptr failed, command_result ended) {
                            mine->failure = failed;
                            mine->result = std::move(ended);
                            mine->has_ended = true;
                          });
    co_return mine;
  }
  static awaitable<void> wait(std::shared_ptr<begun_command> self) {
    while (!self->has_ended) co_await sleep_for(5ms);
    if (self->failure) std::rethrow_exception(self->failure);
  }

  command_result result;
  std::exception_ptr failure;
  bool has_ended = false;
};

/// Expects that an operation throws exec_errc::unsupported. Returns the sentence.
template <class Begin>
awaitable<std::string> refusal_of(Begin begin) {
  std::string sentence;
  try {
    static_cast<void>(co_await begin());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), exec_errc::unsupported) << failure.what();
    sentence = failure.what();
  }
  co_return sentence;
}

TEST(DockerPause, stops_what_runs_and_what_begins_until_the_container_is_resumed) {
  COFFERDAM_NEEDS_DOCKER();
  run(
      []() -> awaitable<void> {
        co_await with(any_provider(test_image("busybox")) | timeout(60s), [](auto& env) -> awaitable<void> {
          EXPECT_TRUE(env.can_pause());
          const auto count = [&env]() -> awaitable<std::size_t> {
            const bytes text = co_await env.read_file("ticks", 1 << 20);
            co_return text.size();
          };
          process ticks = co_await env.start("while :; do echo >> ticks; sleep 0.02; done");
          const auto early = co_await begun_command::begin(env, shell("sleep 0.3; echo early"));
          co_await sleep_for(200ms);
          const std::size_t before = co_await count();
          EXPECT_GT(before, 0U);
          co_await env.pause();
          co_await env.pause();  // does nothing
          const auto late = co_await begun_command::begin(env, shell("wc -l < ticks; echo late"));
          co_await sleep_for(2s);
          EXPECT_FALSE(early->has_ended) << "it would have ended within 0.3 s";
          EXPECT_FALSE(late->has_ended);
          co_await env.resume();
          co_await env.resume();
          co_await begun_command::wait(early);
          co_await begun_command::wait(late);
          EXPECT_EQ(early->result.out_text(), "early\n");
          EXPECT_LT(std::stoul(late->result.out_text()), before + 50) << "the loop would have made 100 in the pause";
          EXPECT_NE(late->result.out_text().find("late"), std::string::npos);
        });
      },
      120s);
}

TEST(DockerPause, is_seen_from_outside_and_a_paused_container_can_be_closed_or_dropped) {
  COFFERDAM_NEEDS_DOCKER();
  run(
      []() -> awaitable<void> {
        docker::environment env = co_await test_image("busybox").open();
        process running = co_await env.start("sleep 1000");
        EXPECT_FALSE(is_paused(env));
        co_await env.pause();
        EXPECT_TRUE(is_paused(env));
        const std::string id = env.container_id();
        co_await env.close();
        EXPECT_EQ(docker_says("ps -aq --no-trunc").find(id), std::string::npos);

        std::string dropped;
        {
          docker::environment other = co_await test_image("busybox").open();
          dropped = other.container_id();
          co_await other.pause();
        }
        bool is_gone = false;
        for (int i = 0; i < 400 && !is_gone; ++i) {
          co_await sleep_for(50ms);
          is_gone = docker_says("ps -aq --no-trunc").find(dropped) == std::string::npos;
        }
        EXPECT_TRUE(is_gone);
      },
      120s);
}

TEST(DockerPause, a_time_limit_that_passes_in_a_pause_ends_the_command_at_its_end) {
  COFFERDAM_NEEDS_DOCKER();
  run(
      []() -> awaitable<void> {
        docker::environment env = co_await test_image("busybox").kill_grace(0ms).open();
        const auto late = co_await begun_command::begin(env, shell("sleep 1000").timeout(1s));
        co_await sleep_for(200ms);
        co_await env.pause();
        co_await sleep_for(15s);  // longer than this program waits for a warden that does not end a command
        EXPECT_FALSE(late->has_ended);
        EXPECT_FALSE(env.is_lost());
        co_await env.resume();
        co_await begun_command::wait(late);
        EXPECT_EQ(late->result.kind(), error_kind::timeout) << late->result.summary();
        command_result next = co_await env.run_command("echo here");
        EXPECT_EQ(next.out_text(), "here\n");
        co_await env.close();
      },
      120s);
}

TEST(DockerPause, a_cancelled_command_ends_when_the_container_is_resumed) {
  COFFERDAM_NEEDS_DOCKER();
  run(
      []() -> awaitable<void> {
        docker::environment env = co_await test_image("busybox").kill_grace(0ms).open();
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        asio::cancellation_signal stop;
        std::exception_ptr failure;
        auto ended = [&failure](std::exception_ptr failed, command_result) { failure = failed; };
        cofferdam_test::spawn(executor, env.run_command("sleep 1000"), std::move(ended), stop.slot());
        co_await sleep_for(300ms);
        co_await env.pause();
        stop.emit(asio::cancellation_type::terminal);
        for (int i = 0; i < 1000 && !failure; ++i) co_await sleep_for(20ms);
        std::error_code code;
        try {
          if (failure) std::rethrow_exception(failure);
        } catch (const error& reason) {
          code = reason.code();
        }
        EXPECT_EQ(code, exec_errc::provider_lost);
        EXPECT_FALSE(env.is_lost());
        co_await env.resume();
        command_result left = co_await env.run_command("sleep 0.2; ps | grep -c '[s]leep 1000'");
        EXPECT_EQ(left.out_text(), "0\n");
        co_await env.close();
      },
      120s);
}

TEST(DockerPause, may_be_longer_than_the_warden_lives_without_contact) {
  COFFERDAM_NEEDS_DOCKER();
  run(
      []() -> awaitable<void> {
        auto settings = std::make_shared<docker::detail::sandbox_settings>();
        settings->name.emplace("cofferdam-test/busybox");
        settings->daemon = cofferdam_test::test_daemon();
        settings->lease = 1s;
        docker::environment env = co_await docker::provider(std::move(settings)).open();
        for (int i = 0; i < 3; ++i) {
          const auto under_way = co_await begun_command::begin(env, shell("sleep 0.5; echo on"));
          co_await sleep_for(100ms);
          co_await env.pause();
          co_await sleep_for(3s);
          co_await env.resume();
          co_await begun_command::wait(under_way);
          EXPECT_EQ(under_way->result.out_text(), "on\n") << under_way->result.summary();
        }
        co_await env.close();
      },
      120s);
}

TEST(DockerPause, is_refused_where_it_would_reach_others_or_could_not_be_undone) {
  COFFERDAM_NEEDS_DOCKER();
  const cofferdam_test::foreign_container foreign;
  run(
      [&]() -> awaitable<void> {
        docker::environment adopted =
            co_await docker::in_container(foreign.id()).daemon(cofferdam_test::test_daemon()).open();
        EXPECT_FALSE(adopted.can_pause() || adopted.can_snapshot() || can_suspend(adopted));
        const auto pauses = [&] { return adopted.pause(); };
        const std::string paused = co_await refusal_of(pauses);
        EXPECT_NE(paused.find("adopted"), std::string::npos) << paused;
        const auto saves = [&] { return adopted.snapshot(); };
        const std::string saved = co_await refusal_of(saves);
        EXPECT_NE(saved.find("docker commit"), std::string::npos) << saved;
        co_await adopted.close();

        docker::environment execs = co_await test_image("busybox").by(docker::command_transport::exec).open();
        EXPECT_FALSE(execs.can_pause());
        const auto pauses_execs = [&] { return execs.pause(); };
        co_await refusal_of(pauses_execs);
        co_await execs.close();
      },
      120s);
  EXPECT_TRUE(foreign.runs());
}

TEST(DockerSnapshot, opens_again_with_its_files_and_without_secrets) {
  COFFERDAM_NEEDS_DOCKER();
  std::string saved;
  run(
      [&]() -> awaitable<void> {
        const docker::container_options options =
            docker::container_options().writable_root().variable("API_KEY", "secret-0815").label("team", "x");
        docker::environment env = co_await test_image("user", options).open();
        EXPECT_TRUE(env.can_snapshot() && can_suspend(env));
        co_await write_text(env, "deep/a.txt", "kept");
        command_result owner = co_await env.run_command("echo more > b.txt; id -u; echo $API_KEY; touch /tmp/t");
        EXPECT_NE(owner.out_text().find("secret-0815"), std::string::npos);
        const auto under_way = co_await begun_command::begin(env, shell("sleep 0.5; echo on"));
        saved = co_await env.snapshot();
        EXPECT_EQ(saved.find("cofferdam-snapshot:"), 0U);
        co_await begun_command::wait(under_way);
        EXPECT_EQ(under_way->result.out_text(), "on\n") << "a snapshot ends nothing";
        EXPECT_FALSE(is_paused(env));
        co_await env.pause();
        const std::string of_paused = co_await env.snapshot();
        EXPECT_TRUE(is_paused(env)) << "a snapshot of a paused container leaves it paused";
        docker_says("rmi -f " + of_paused);
        co_await env.resume();
        co_await write_text(env, "later.txt", "not in the snapshot");
        co_await env.close();

        const auto later = docker::from_image(saved)
                               .options(docker::container_options().writable_root())
                               .daemon(cofferdam_test::test_daemon());
        docker::environment again = co_await later.open();
        command_result found =
            co_await again.run_command("id -u; cat deep/a.txt b.txt; echo; echo x > new.txt; ls; echo \"[$API_KEY]\"");
        EXPECT_EQ(found.out_text(),
                  owner.out_text().substr(0, owner.out_text().find('\n')) + "\nkeptmore\n\nb.txt\ndeep\nnew.txt\n[]\n")
            << found.err().text();
        co_await again.close();
      },
      240s);
  const std::string image = docker_says("image inspect " + saved);
  EXPECT_EQ(image.find("secret-0815"), std::string::npos);
  const std::string config = docker_says("image inspect -f '{{json .Config}}' " + saved);
  EXPECT_EQ(config.find("/.cofferdam/warden"), std::string::npos) << config;
  EXPECT_NE(config.find("\"team\":\"x\""), std::string::npos) << config;
  EXPECT_NE(config.find("\"cofferdam.owner\":\"\""), std::string::npos) << config;
  EXPECT_EQ(docker_says("run --rm --network none " + saved + " cat /workspace/b.txt"), "more");
  docker_says("rmi -f " + saved);
}

TEST(DockerSnapshot, a_workspace_that_is_not_on_the_disk_is_a_typed_error) {
  COFFERDAM_NEEDS_DOCKER();
  run(
      []() -> awaitable<void> {
        co_await with(any_provider(test_image("busybox")), [](any_environment& env) -> awaitable<void> {
          EXPECT_TRUE(env.can_pause());
          EXPECT_FALSE(env.can_snapshot());
          const auto saves = [&] { return env.snapshot(); };
          const std::string sentence = co_await refusal_of(saves);
          EXPECT_NE(sentence.find("writable_root()"), std::string::npos) << sentence;
        });
        docker::container_options mounted = docker::container_options().writable_root().tmpfs("/workspace");
        docker::environment env = co_await test_image("busybox", mounted).open();
        EXPECT_FALSE(env.can_snapshot());
        co_await env.close();
      },
      120s);
}

}  // namespace suspend_tests
