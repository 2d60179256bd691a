// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of behaviour that E2B's own daemon, edge and API show occasionally: lost connections, terminals that stay
// open, retries, and paused sandboxes. A scripted service reproduces it.

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/e2b/detail/api_error.hpp>
#include <cofferdam/backends/e2b/sandbox_list.hpp>

#include "backends/e2b/scripted_service.hpp"
#include "support/error_of.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/buffer.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace real_daemon_tests {

using namespace cofferdam;
using cofferdam::detail::connect_end;
using namespace std::chrono_literals;
using cofferdam_test::comes_about;
using cofferdam_test::scripted_service;
using cofferdam_test::seen_request;
using action = scripted_service::action;

const std::string not_found = R"({"sandboxId":"iabc","message":"The sandbox was not found","code":502})";
const std::string port_closed =
    R"({"sandboxId":"iabc","message":"The sandbox is running but port is not open","port":49983,"code":502})";

action answers(int status, std::string text, std::string name = "X-Nothing", std::string value = "") {
  return [=](http_call& call, const boost::json::object&) -> awaitable<void> {
    co_await call.reply(http_reply(status).content("application/json; charset=utf-8", text).field(name, value));
  };
}

awaitable<error> failure_of(e2b::environment& env) {
  std::optional<error> failure;
  try {
    co_await env.run_command(shell("x"));
  } catch (const error& reason) {
    failure = reason;
  }
  co_return failure.value_or(error(exec_errc::io_error, "nothing was thrown"));
}

awaitable<void> expect_that_it_goes_on(scripted_service& service, e2b::environment& env) {
  service.command = nullptr;
  command_result result = co_await env.run_command(shell("x"));
  EXPECT_EQ(result.exit_code(), 3);
  EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 0U);
}

// ---- failures between the client and the sandbox -------------------------------------------------------------------

TEST(E2bRealDaemon, a_port_that_is_not_open_for_a_moment_is_asked_again) {
  scripted_service service;
  int tries = 0;
  service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
    if (++tries < 3)
      co_await scripted_service::json(call, 502, port_closed);
    else
      co_await scripted_service::stream(call,
                                        scripted_service::whole(scripted_service::mark_of(body), "out", "err", 0));
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    command_result result = co_await env.run_command(shell("x"));
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(tries, 3);
    co_await expect_that_it_goes_on(service, env);
    co_await env.close();
  });
}

TEST(E2bRealDaemon, a_hiccup_on_the_way_is_an_error_to_try_again_after_and_loses_nothing) {
  for (const std::string& message : {port_closed, std::string("Failed to route request to sandbox")}) {
    scripted_service service;
    service.command = [&](http_call& call, const boost::json::object&) {
      return scripted_service::json(call, 502, message);
    };
    service.run([&]() -> awaitable<void> {
      e2b::environment env = co_await service.provider().open();
      const error failure = co_await failure_of(env);
      EXPECT_EQ(failure.code(), exec_errc::unavailable) << failure.what();
      EXPECT_EQ(failure.cause() == e2b::sandbox_errc::not_reached, message == port_closed) << failure.what();
      EXPECT_NE(std::string(failure.what()).find("try again"), std::string::npos) << failure.what();
      co_await expect_that_it_goes_on(service, env);
      co_await env.close();
    });
  }
}

TEST(E2bRealDaemon, a_broken_stream_and_a_closed_port_are_not_the_end_of_the_sandbox) {
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object& body) {
    return scripted_service::torn_stream(call, scripted_service::started() +
                                                   scripted_service::begun(scripted_service::mark_of(body)) +
                                                   scripted_service::data("stdout", "so far"));
  };
  service.instead["GET /health"] = {answers(502, port_closed)};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().kill_grace(0ms).open();
    const error failure = co_await failure_of(env);
    EXPECT_EQ(failure.code(), exec_errc::unavailable) << failure.what();
    EXPECT_NE(failure.partial(), nullptr);
    co_await expect_that_it_goes_on(service, env);
    co_await env.close();
  });
}

TEST(E2bRealDaemon, a_file_that_the_way_does_not_reach_is_no_lost_sandbox) {
  scripted_service service;
  service.instead["POST /files"] = {answers(502, port_closed)};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    std::optional<error> failure;
    try {
      co_await env.write_file("a", as_bytes("content"));
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_TRUE(failure && failure->code() == exec_errc::unavailable) << (failure ? failure->what() : "nothing");
    co_await expect_that_it_goes_on(service, env);
    co_await env.close();
  });
}

TEST(E2bRealDaemon, a_sandbox_that_nobody_knows_any_more_is_lost) {
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object&) {
    return scripted_service::json(call, 502, not_found);
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    const error failure = co_await failure_of(env);
    EXPECT_EQ(failure.code(), exec_errc::provider_lost) << failure.what();
    service.command = nullptr;
    const error again = co_await failure_of(env);
    EXPECT_EQ(again.code(), exec_errc::provider_lost);
    co_await env.close();
  });
}

TEST(E2bRealDaemon, one_that_the_service_says_runs_is_not_lost_where_a_proxy_does_not_find_it) {
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object&) {
    return scripted_service::json(call, 502, not_found);
  };
  service.instead["GET /sandboxes/iabc"] = {answers(200, R"({"sandboxID":"iabc","state":"running"})")};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    const error failure = co_await failure_of(env);
    EXPECT_EQ(failure.code(), exec_errc::unavailable) << failure.what();
    co_await expect_that_it_goes_on(service, env);
    co_await env.close();
  });
}

TEST(E2bRealDaemon, a_stream_that_ends_with_unavailable_is_a_broken_connection) {
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object& body) {
    return scripted_service::stream(
        call, scripted_service::started() + scripted_service::begun(scripted_service::mark_of(body)) +
                  scripted_service::data("stdout", "so far") +
                  connect_end(R"({"error":{"code":"unavailable","message":"upstream went away"}})"));
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().kill_grace(0ms).open();
    const error failure = co_await failure_of(env);
    EXPECT_EQ(failure.code(), exec_errc::provider_lost) << failure.what();
    EXPECT_NE(std::string(failure.what()).find("upstream went away"), std::string::npos) << failure.what();
    EXPECT_NE(std::string(failure.what()).find("the sandbox itself still exists"), std::string::npos) << failure.what();
    if (failure.partial() != nullptr) {
      EXPECT_EQ(failure.partial()->out().text(), "so far");
    }
    // The library kills the command, which may still run.
    EXPECT_GE(service.signals.size(), 1U);
    co_await expect_that_it_goes_on(service, env);
    co_await env.close();
  });
}

// ---- retries -------------------------------------------------------------------------------------------------------

/// Opens an environment, which must fail. Returns the exception, and the number of requests.
std::pair<error, std::size_t> opened(scripted_service& service) {
  std::optional<error> failure;
  service.run([&]() -> awaitable<void> {
    try {
      e2b::environment env = co_await service.provider().open();
      co_await env.close();
    } catch (const error& reason) {
      failure = reason;
    }
  });
  return {failure.value_or(error(exec_errc::io_error, "nothing was thrown")), service.count("POST", "/sandboxes")};
}

TEST(E2bRealDaemon, should_retry_false_is_not_asked_again_and_the_error_has_the_services_code) {
  const std::string busy = R"({"code":503,"message":"Failed to place sandbox","error_code":"sandbox_create_refused"})";
  scripted_service service;
  for (int i = 0; i < 5; ++i) service.instead["POST /sandboxes"].push_back(answers(503, busy, "Should-Retry", "false"));
  const auto [failure, tries] = opened(service);
  EXPECT_EQ(tries, 1U);
  EXPECT_NE(std::string(failure.what()).find("sandbox_create_refused: Failed to place sandbox"), std::string::npos)
      << failure.what();
  // Control: without the header `Should-Retry: false`, the client retries.
  scripted_service control;
  for (int i = 0; i < 5; ++i) control.instead["POST /sandboxes"].push_back(answers(503, busy));
  EXPECT_EQ(opened(control).second, 4U);
}

TEST(E2bRealDaemon, all_tries_of_one_create_have_one_key_and_another_create_has_another) {
  scripted_service service;
  const std::string broken = R"({"code":500,"message":"no","error_code":"sandbox_create_failed"})";
  service.instead["POST /sandboxes"] = {answers(500, broken, "Should-Retry", "true"), answers(503, broken)};
  EXPECT_EQ(opened(service).second, 3U);
  opened(service);
  std::vector<std::string> keys;
  for (const auto& received : service.seen)
    if (received.path == "/sandboxes") keys.emplace_back(received.fields.find("Idempotency-Key").value_or("none"));
  ASSERT_EQ(keys.size(), 4U);
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(keys[0], keys[2]);
  EXPECT_NE(keys[0], keys[3]);
  EXPECT_GE(keys[0].size(), 20U);
  EXPECT_EQ(keys[0].find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << keys[0];
}

TEST(E2bRealDaemon, a_create_that_may_have_been_done_by_an_earlier_try_is_looked_for) {
  scripted_service service;
  const std::string unknown = R"({"code":409,"message":"no","error_code":"idempotency_outcome_unknown"})";
  service.instead["POST /sandboxes"] = {answers(409, unknown)};
  opened(service);
  std::size_t looked = 0;
  for (const auto& received : service.seen)
    if (received.path.starts_with("/v2/sandboxes?") && received.path.find("metadata=") != std::string::npos) ++looked;
  EXPECT_EQ(looked, 1U);
}

TEST(E2bRealDaemon, the_daemons_word_on_retries_counts_too) {
  scripted_service service;
  int tries = 0;
  service.command = [&](http_call& call, const boost::json::object&) -> awaitable<void> {
    ++tries;
    co_await call.reply(http_reply(429).content("application/json", "{}").field("Should-Retry", "false"));
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    const error failure = co_await failure_of(env);
    EXPECT_EQ(failure.code(), exec_errc::unavailable) << failure.what();
    EXPECT_EQ(tries, 1);
    co_await env.close();
  });
}

// ---- the newest form of the API ------------------------------------------------------------------------------------

TEST(E2bRealDaemon, pauses_snapshots_rules_and_measurements_are_asked_for_as_the_api_defines_them) {
  scripted_service service;
  const std::string resumed = R"({"sandboxID":"iabc","envdVersion":"0.6.13","envdAccessToken":"token-0123456789"})";
  service.instead["POST /sandboxes/iabc/connect"] = {answers(201, resumed)};
  service.instead["POST /sandboxes/iabc/snapshots"] = {
      answers(201, R"({"snapshotID":"team/mine:default","names":[]})")};
  service.instead["PUT /sandboxes/iabc/network"] = {answers(204, "")};
  service.instead["GET /sandboxes/iabc/metrics"] = {answers(200, R"([{"timestampUnix":7,"cpuCount":2,"memUsed":5}])")};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    e2b::pause_options disk;
    disk.stored = e2b::stored_state::files;
    disk.strict = true;
    co_await env.pause(disk);
    co_await env.resume(e2b::stored_state::files);
    e2b::snapshot_options named;
    named.name = "mine";
    named.stored = e2b::stored_state::files;
    const std::string name = co_await env.snapshot(named);
    EXPECT_EQ(name, "team/mine:default");
    e2b::network_rules rules;
    rules.deny_out = {"8.8.8.8"};
    co_await env.update_network(rules, false);
    const std::vector<e2b::sandbox_metrics> load = co_await env.metrics(5, 10);
    EXPECT_EQ(load.size(), 1U);
    co_await env.close();
  });
  const auto body_of = [&](std::string_view method, std::string_view path) {
    for (const seen_request& each : service.seen)
      if (each.method == method && each.path == path) return each.body;
    return std::string("there is no such request");
  };
  EXPECT_EQ(body_of("POST", "/sandboxes/iabc/pause"), R"({"memory":false,"requireHealthyGuest":true})");
  EXPECT_EQ(body_of("POST", "/sandboxes/iabc/connect"), R"({"timeout":300,"memory":false})");
  EXPECT_EQ(body_of("POST", "/sandboxes/iabc/snapshots"), R"({"name":"mine","memory":false})");
  EXPECT_EQ(body_of("PUT", "/sandboxes/iabc/network"), R"({"denyOut":["8.8.8.8"],"allow_internet_access":false})");
  EXPECT_EQ(service.count("GET", "/sandboxes/iabc/metrics?start=5&end=10"), 1U);
}

TEST(E2bRealDaemon, each_copy_of_a_sandbox_succeeds_or_fails_by_itself) {
  scripted_service service;
  service.instead["POST /sandboxes/iabc/fork"] = {
      answers(201, R"([{"sandbox":{"sandboxID":"icopy","envdVersion":"0.6.13","envdAccessToken":"token-copy-012345"}},)"
                   R"({"error":{"code":429,"message":"no room for token-copy-012345"}},{},)"
                   R"({"sandbox":{"sandboxID":"../other","envdVersion":"0.6.13"}}])")};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    std::vector<e2b::forked> copies = co_await env.fork(4);
    EXPECT_EQ(copies.size(), 4U);
    EXPECT_TRUE(copies.at(0).ok());
    EXPECT_EQ(copies.at(0).copy().id(), "icopy");
    for (std::size_t i = 1; i < copies.size(); ++i) {
      EXPECT_FALSE(copies.at(i).ok());
      EXPECT_EQ(copies.at(i).failure()->code(), exec_errc::provider_failed);
      EXPECT_THROW(copies.at(i).copy(), error);
    }
    EXPECT_NE(std::string(copies.at(1).failure()->what()).find("429"), std::string::npos);
    co_await copies.at(0).copy().close();
    co_await env.close();
  });
  EXPECT_EQ(service.count("DELETE", "/sandboxes/icopy"), 1U);
}

TEST(E2bRealDaemon, copies_that_were_made_for_a_cancelled_call_are_ended) {
  scripted_service service;
  asio::cancellation_signal stop;
  service.instead["POST /sandboxes/iabc/fork"] = {[&](http_call& call, const boost::json::object&) {
    stop.emit(asio::cancellation_type::terminal);
    return scripted_service::json(
        call, 201,
        R"([{"sandbox":{"sandboxID":"ione","envdVersion":"0.6.13"}},{"sandbox":{"sandboxID":"itwo","envdVersion":"0.6.13"}}])");
  }};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::optional<error> failure;
    const auto forks = [&]() -> awaitable<void> {
      try {
        co_await env.fork(2);
      } catch (const error& reason) {
        failure = reason;
      }
    };
    co_await asio::co_spawn(executor, forks, asio::bind_cancellation_slot(stop.slot(), asio::use_awaitable));
    EXPECT_TRUE(failure.has_value());
    if (failure) {
      EXPECT_EQ(failure->code(), exec_errc::cancelled) << failure->what();
    }
    co_await env.close();
  });
  EXPECT_GE(service.count("DELETE", "/sandboxes/ione"), 1U);
  EXPECT_GE(service.count("DELETE", "/sandboxes/itwo"), 1U);
  EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 1U);
}

TEST(E2bRealDaemon, lists_are_filtered_and_read_page_by_page) {
  scripted_service service;
  service.instead["GET /v2/sandboxes"] = {
      answers(200, R"([{"sandboxID":"ione","state":"running"},{"sandboxID":"itwo","state":"running"}])", "X-Next-Token",
              "a/b"),
      answers(200, R"([{"sandboxID":"ithree","state":"running"},{"sandboxID":"ifour","state":"running"}])")};
  service.instead["GET /snapshots"] = {answers(200, R"([{"snapshotID":"s:default","names":["team/s:default"]}])")};
  service.instead["DELETE /templates/team%2Fs:default"] = {answers(204, "")};
  service.run([&]() -> awaitable<void> {
    e2b::account_options who;
    who.api_key = secret_string("e2b_canary0123456789");
    who.api_url = service.url();
    const e2b::sandbox_list all(who, e2b::surroundings());
    e2b::sandbox_filter filter;
    filter.states = e2b::sandbox_states::running;
    filter.max_count = 3;
    const std::vector<e2b::sandbox_info> found = co_await all.all(filter);
    EXPECT_EQ(found.size(), 3U);
    const std::vector<e2b::snapshot_info> snapshots = co_await all.snapshots("iabc");
    EXPECT_EQ(snapshots.size(), 1U);
    EXPECT_EQ(snapshots.at(0).id(), "s:default");
    EXPECT_EQ(snapshots.at(0).names(), std::vector<std::string>{"team/s:default"});
    const bool is_gone = co_await all.delete_snapshot("nothing");
    EXPECT_FALSE(is_gone);
  });
  EXPECT_EQ(service.count("GET", "/v2/sandboxes?state=running&limit=3"), 1U);
  EXPECT_EQ(service.count("GET", "/v2/sandboxes?state=running&limit=3&nextToken=a%2Fb"), 1U);
  EXPECT_EQ(service.count("GET", "/snapshots?limit=100&sandboxID=iabc"), 1U);
  EXPECT_EQ(service.count("DELETE", "/templates/nothing"), 1U);
}

// ---- paused sandboxes ----------------------------------------------------------------------------------------------

const std::string connected = R"({"sandboxID":"iabc","envdVersion":"0.6.13","envdAccessToken":"token-0123456789"})";
const std::string paused = R"({"sandboxID":"iabc","state":"paused"})";

TEST(E2bRealDaemon, a_sandbox_that_was_paused_says_so_and_goes_on_after_resume) {
  scripted_service service;
  bool is_paused = true;
  service.command = [&](http_call& call, const boost::json::object& body) {
    if (is_paused) return scripted_service::json(call, 502, not_found);
    return scripted_service::stream(call, scripted_service::whole(scripted_service::mark_of(body), "", "", 3));
  };
  service.instead["GET /sandboxes/iabc"] = {answers(200, paused), answers(200, paused)};
  service.instead["POST /sandboxes/iabc/connect"] = {[&](http_call& call, const boost::json::object&) {
    is_paused = false;
    return scripted_service::json(call, 201, connected);
  }};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().auto_pause().open();
    for (int i = 0; i < 2; ++i) {
      const error failure = co_await failure_of(env);
      EXPECT_EQ(failure.code(), exec_errc::unavailable) << failure.what();
      EXPECT_EQ(failure.cause(), e2b::sandbox_errc::paused);
      EXPECT_NE(std::string(failure.what()).find("is paused; call resume()"), std::string::npos) << failure.what();
    }
    co_await env.resume();
    command_result result = co_await env.run_command(shell("x"));
    EXPECT_EQ(result.exit_code(), 3);
    EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 0U);
    co_await env.close();
  });
  EXPECT_NE(service.seen.front().body.find("\"autoPause\":true"), std::string::npos) << service.seen.front().body;
  EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 1U);
}

TEST(E2bRealDaemon, a_refused_pause_succeeds_only_if_the_sandbox_is_paused) {
  scripted_service service;
  const auto refuses = answers(409, R"({"code":409,"message":"Error pausing sandbox"})");
  service.instead["POST /sandboxes/iabc/pause"] = {refuses, refuses};
  service.instead["GET /sandboxes/iabc"] = {answers(200, paused),
                                            answers(200, R"({"sandboxID":"iabc","state":"running"})")};
  service.instead["POST /sandboxes/iabc/connect"] = {answers(201, connected)};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    co_await env.pause();
    co_await env.resume();
    std::error_code caught;
    try {
      co_await env.pause();
    } catch (const error& failure) {
      caught = failure.code();
    }
    EXPECT_EQ(caught, exec_errc::provider_failed);
    command_result result = co_await env.run_command(shell("x"));
    EXPECT_EQ(result.exit_code(), 3) << "commands do not wait";
    co_await env.close();
  });
}

TEST(E2bRealDaemon, a_stream_that_breaks_because_the_sandbox_was_paused_says_so) {
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object& body) {
    service.sandbox_lives = false;
    return scripted_service::torn_stream(
        call, scripted_service::started() + scripted_service::begun(scripted_service::mark_of(body)));
  };
  service.instead["GET /sandboxes/iabc"] = {answers(200, paused)};
  service.instead["POST /sandboxes/iabc/connect"] = {answers(201, connected)};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().kill_grace(0ms).open();
    const error failure = co_await failure_of(env);
    EXPECT_EQ(failure.cause(), e2b::sandbox_errc::paused) << failure.what();
    service.sandbox_lives = true;
    co_await env.resume();
    co_await expect_that_it_goes_on(service, env);
    co_await env.close();
  });
}

TEST(E2bRealDaemon, a_life_that_cannot_be_prolonged_because_it_is_paused_is_not_over) {
  for (const int status : {404, 409}) {
    scripted_service service;
    const std::string no = R"({"code":404,"message":"Sandbox \"iabc\" is not running"})";
    service.instead["POST /sandboxes/iabc/timeout"] = {answers(status, no)};
    service.instead["GET /sandboxes/iabc"] = {answers(200, paused)};
    service.instead["POST /sandboxes/iabc/connect"] = {answers(201, connected)};
    service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
      const std::string mark = scripted_service::mark_of(body);
      co_await scripted_service::stream(call, scripted_service::started() + scripted_service::begun(mark));
      const std::function<bool()> is_asked = [&] { return service.count("GET", "/sandboxes/iabc") == 1; };
      co_await comes_about(is_asked);
      co_await cofferdam_test::pause(50ms);
      co_await call.write(scripted_service::ended(mark, "0,0,0") + scripted_service::over(0));
    };
    service.run([&]() -> awaitable<void> {
      e2b::environment env = co_await service.provider().lifetime(1s).open();
      command_result result = co_await env.run_command(shell("x"));
      EXPECT_TRUE(result.ok());
      co_await env.resume();
      co_await expect_that_it_goes_on(service, env);
      co_await env.close();
    });
  }
}

// ---- terminals -----------------------------------------------------------------------------------------------------

/// Runs a command on a terminal as E2B's daemon does. The stream ends only when no process has the terminal open.
awaitable<void> on_a_terminal(http_call& call, const boost::json::object& body) {
  std::vector<std::string> words = scripted_service::words_of(body);
  words.insert(words.begin(), "/bin/sh");
  // The workspace of the sandbox does not exist on this machine.
  words.at(5) = "/tmp";
  std::vector<std::string> variables{"PATH=/usr/bin:/bin"};
  for (const auto& [name, value] : body.at("process").at("envs").as_object())
    variables.push_back(std::string(name.data(), name.size()) + "=" + value.as_string().c_str());
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> addresses;
    for (std::string& text : texts) addresses.push_back(text.data());
    addresses.push_back(nullptr);
    return addresses;
  };
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) throw std::runtime_error("no terminal");
  std::array<char, 128> name{};
  if (::ptsname_r(master, name.data(), name.size()) != 0) throw std::runtime_error("no terminal");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setsid();
    const int terminal = ::open(name.data(), O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(terminal, fd);
    if (terminal > 2) ::close(terminal);
    ::execve("/bin/sh", argv.data(), environment.data());
    ::_exit(127);
  }
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::posix::stream_descriptor end(executor, master);
  co_await call.begin(http_reply(200).field("Content-Type", "application/connect+json"));
  co_await call.write(scripted_service::event("{\"start\":{\"pid\":" + std::to_string(pid) + "}}"));
  std::array<char, 4096> piece{};
  for (;;) {
    std::error_code failure;
    const std::size_t count = co_await end.async_read_some(asio::buffer(piece.data(), piece.size()),
                                                           asio::redirect_error(asio::use_awaitable, failure));
    if (failure) break;
    co_await call.write(scripted_service::data("pty", std::string_view(piece.data(), count)));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) {
    co_await call.write(scripted_service::event(R"({"end":{"exitCode":-1,"status":"signal: killed"}})") +
                        connect_end());
    co_return;
  }
  co_await call.write(scripted_service::over(WEXITSTATUS(status)));
}

/// Returns true if a process exists and is not a zombie.
bool is_running(long pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && text.size() > end + 2 && text[end + 2] != 'Z';
}

TEST(E2bRealDaemon, a_terminal_that_something_keeps_open_does_not_keep_the_result_and_nothing_is_left) {
  scripted_service service;
  service.command = &on_a_terminal;
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    command_result result =
        co_await env.run_command(shell("trap '' HUP; sleep 60 & echo pid:$!; echo done").terminal(24, 80).timeout(30s));
    const std::string out = result.out().text();
    EXPECT_TRUE(result.ok()) << result.reason() << out;
    EXPECT_NE(out.find("done\r\n"), std::string::npos) << out;
    EXPECT_LT(result.duration(), 10s);
    const std::size_t at = out.find("pid:");
    EXPECT_NE(at, std::string::npos);
    const long pid = at == std::string::npos ? 0 : std::atol(out.c_str() + at + 4);
    const std::function<bool()> is_over = [&] { return !is_running(pid); };
    const bool over = co_await comes_about(is_over);
    EXPECT_TRUE(pid > 0 && over) << pid;
    co_await env.close();
  });
}

TEST(E2bRealDaemon, on_a_terminal_a_status_is_told_from_a_signal) {
  const std::vector<std::tuple<std::string, int, int>> ends{
      {"test -t 0 && test -t 1 && test -t 2 && stty size", 0, 0},
      {"exit 3", 3, 0},
      {"exit 130", 130, 0},
      {"kill -INT 0; sleep 5", 0, 2},  // like ^C, for all processes in the foreground
      {"kill -KILL $$", 0, 9},
      {"kill -TERM $$", 0, 15}};
  scripted_service service;
  service.command = &on_a_terminal;
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    for (const auto& [line, code, number] : ends) {
      command_result result = co_await env.run_command(shell(line).terminal(24, 80).timeout(20s));
      EXPECT_EQ(result.term_signal(), number) << line << result.out().text();
      if (number == 0) {
        EXPECT_EQ(result.exit_code(), code) << line << result.out().text();
      }
      if (line.starts_with("test")) {
        EXPECT_EQ(result.out().text(), "24 80\r\n");
      }
    }
    co_await env.close();
  });
}

}  // namespace real_daemon_tests
