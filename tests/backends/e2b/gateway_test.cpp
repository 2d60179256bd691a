// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the E2B backend against the library's E2B gateway over the local backend, in addition to the conformance
// suites.

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>

#include "net/http_server_support.hpp"
#include "support/error_of.hpp"
#include "support/gateway_thread.hpp"
#include "support/run.hpp"

#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::http_client;
using cofferdam::detail::tcp_connector;
using namespace std::chrono_literals;
using cofferdam_test::gateway_thread;

const std::string key = "e2b_0123456789";

gateway_thread& gateway() {
  static gateway_thread shared_gateway(local().without_warning(), e2b_gateway::options().api_key(key));
  return shared_gateway;
}

e2b::provider recipe() {
  return e2b::from_template("base")
      .variables_from(e2b::surroundings())
      .api_key(key)
      .api_url(gateway().url())
      .sandbox_url(gateway().url());
}

template <class Body>
void with(Body body, e2b::command_transport how = e2b::command_transport::warden) {
  const auto work = [&]() -> awaitable<void> { co_await cofferdam::with(recipe().by(how), std::ref(body)); };
  cofferdam_test::run(work);
}

TEST(E2bGateway, a_signed_url_gives_a_file_to_whoever_has_it_and_nothing_else) {
  with([](e2b::environment& env) -> awaitable<void> {
    co_await write_text(env, "a b.txt", "content");
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const e2b::detail::endpoint address = e2b::detail::endpoint::parse(gateway().url(), "x");
    http_client anybody(executor, tcp_connector(address.host(), address.port()));
    const std::string url = env.download_url("a b.txt").substr(gateway().url().size());
    http_request good("GET", url);
    good.field("E2b-Sandbox-Id", env.id()).field("E2b-Sandbox-Port", "49983");
    http_response got = co_await anybody.request(good);
    EXPECT_EQ(got.status(), 200);
    EXPECT_EQ(got.text(), "content");
    std::string other = url;
    other.replace(other.find("a%20b"), 5, "a%20c");
    http_request bad("GET", other);
    bad.field("E2b-Sandbox-Id", env.id()).field("E2b-Sandbox-Port", "49983");
    http_response refused = co_await anybody.request(bad);
    EXPECT_EQ(refused.status(), 401);
  });
}

TEST(E2bGateway, what_happens_in_a_folder_is_heard) {
  with([](e2b::environment& env) -> awaitable<void> {
    e2b::folder_watch watch = co_await env.watch(".");
    co_await write_text(env, "new.txt", "x");
    for (;;) {
      std::optional<e2b::folder_event> event = co_await watch.next();
      EXPECT_TRUE(event.has_value());
      if (!event || event->path() == "new.txt") break;
    }
  });
}

// The client uploads a file under another name, and moves it by a command.
TEST(E2bGateway, metadata_of_files_survive_the_client_s_own_upload_and_a_move_by_a_command) {
  for (const e2b::command_transport how : {e2b::command_transport::warden, e2b::command_transport::daemon}) {
    with(
        [](e2b::environment& env) -> awaitable<void> {
          e2b::file_metadata notes;
          notes.add("source", "https://example.org/data");
          co_await env.write_file("d/data.csv", as_bytes("a,b\n"), notes);
          e2b::file_metadata stored = co_await env.metadata_of("d/data.csv");
          EXPECT_EQ(stored.all(), notes.all());
          co_await env.run_command("mv d e; mv e/data.csv 'e/a\nb'; echo x > d.csv");
          stored = co_await env.metadata_of("e/a\nb");
          EXPECT_EQ(stored.all(), notes.all());
          stored = co_await env.metadata_of("d.csv");
          EXPECT_TRUE(stored.empty());
          const std::map<std::string, e2b::file_metadata> listed = co_await env.metadata_in("e");
          EXPECT_EQ(listed.size(), 1U);
          EXPECT_TRUE(listed.contains("a\nb"));
          // A new file has nothing of the earlier one, even if it gets its number on the device.
          co_await env.run_command("rm -r e; mkdir e; echo x > e/new");
          stored = co_await env.metadata_of("e/new");
          EXPECT_TRUE(stored.empty());
          co_await env.write_file("f", as_bytes("1"), notes);
          co_await write_text(env, "f", "2");
          stored = co_await env.metadata_of("f");
          EXPECT_TRUE(stored.empty());
        },
        how);
  }
}

// A command of a warden is no process of the daemon, which does not list the warden either.
TEST(E2bGateway, processes_are_listed_followed_and_ended) {
  with([](e2b::environment& env) -> awaitable<void> {
    process running = co_await env.start(shell("echo up; sleep 60"));
    co_await running.read();
    const std::vector<e2b::running_process> processes = co_await env.processes();
    EXPECT_EQ(processes.size(), 0U);
  });
  with(
      [](e2b::environment& env) -> awaitable<void> {
        process running = co_await env.start(shell("echo up; while :; do echo tick; sleep 0.05; done"));
        output_chunk up = co_await running.read();
        EXPECT_FALSE(up.end());
        std::vector<e2b::running_process> processes = co_await env.processes();
        EXPECT_EQ(processes.size(), 1U);
        e2b::process_follower follower = co_await env.follow(processes.front().pid());
        std::optional<e2b::process_event> heard = co_await follower.next();
        EXPECT_TRUE(heard && heard->what == e2b::process_event::kind::out);
        const bool was_there = co_await env.end_process(processes.front().pid());
        EXPECT_TRUE(was_there);
        command_result result = co_await running.wait();
        EXPECT_FALSE(result.ok());
        const bool is_there = co_await env.end_process(999999);
        EXPECT_FALSE(is_there);
      },
      e2b::command_transport::daemon);
}

TEST(E2bGateway, a_sandbox_is_found_again_by_its_id_and_by_the_list) {
  with([](e2b::environment& env) -> awaitable<void> {
    co_await write_text(env, "kept.txt", "kept");
    e2b::provider again = e2b::in_sandbox(env.id())
                              .variables_from(e2b::surroundings())
                              .api_key(key)
                              .api_url(gateway().url())
                              .sandbox_url(gateway().url());
    e2b::environment other = co_await again.open();
    std::string text = co_await read_text(other, "kept.txt");
    EXPECT_EQ(text, "kept");
    co_await other.close();
    std::string still = co_await read_text(env, "kept.txt");
    EXPECT_EQ(still, "kept");
    e2b::account_options who;
    who.api_key = secret_string(key);
    who.api_url = gateway().url();
    const e2b::sandbox_list list(who, e2b::surroundings());
    std::vector<e2b::sandbox_info> sandboxes = co_await list.all();
    bool found = false;
    for (const e2b::sandbox_info& info : sandboxes) found = found || info.id() == env.id();
    EXPECT_TRUE(found);
    co_await env.set_lifetime(60s);
    e2b::sandbox_info info = co_await list.look(env.id());
    EXPECT_EQ(info.state(), "running");
  });
}

// The address of the gateway is the same for all ports, so no URL leads to one of them.
TEST(E2bGateway, the_url_of_a_port_is_an_error_if_it_could_not_name_the_port) {
  with([](e2b::environment& env) -> awaitable<void> {
    EXPECT_EQ(cofferdam_test::code_of([&] { static_cast<void>(env.port_url(8000)); }), exec_errc::unsupported);
    co_return;
  });
}

TEST(E2bGateway, a_sandbox_that_cannot_be_paused_is_an_error_and_keeps_running) {
  with([](e2b::environment& env) -> awaitable<void> {
    std::string told;
    try {
      co_await env.pause();
    } catch (const error& failure) {
      told = failure.what();
      EXPECT_EQ(failure.code(), exec_errc::unsupported) << told;
    }
    EXPECT_NE(told.find("the backend of this gateway cannot be paused"), std::string::npos) << told;
    e2b::account_options who;
    who.api_key = secret_string(key);
    who.api_url = gateway().url();
    const e2b::sandbox_list list(who, e2b::surroundings());
    std::error_code caught;
    try {
      co_await list.pause(env.id());
    } catch (const error& failure) {
      caught = failure.code();
    }
    EXPECT_EQ(caught, exec_errc::unsupported);
    command_result result = co_await env.run_command("echo on");
    EXPECT_EQ(result.out_text(), "on\n");
  });
}

TEST(E2bGateway, a_sandbox_that_somebody_ends_is_a_lost_provider) {
  with([](e2b::environment& env) -> awaitable<void> {
    process running = co_await env.start(shell("echo up; sleep 60"));
    output_chunk up = co_await running.read();
    EXPECT_FALSE(up.end());
    e2b::account_options who;
    who.api_key = secret_string(key);
    who.api_url = gateway().url();
    const e2b::sandbox_list list(who, e2b::surroundings());
    const bool ended = co_await list.kill(env.id());
    EXPECT_TRUE(ended);
    std::error_code caught;
    std::string partial;
    try {
      co_await running.wait();
    } catch (const error& failure) {
      caught = failure.code();
      if (failure.partial() != nullptr) partial = failure.partial()->out().text();
    }
    EXPECT_EQ(caught, exec_errc::provider_lost);
    EXPECT_EQ(partial, "up\n");
  });
}

}  // namespace
