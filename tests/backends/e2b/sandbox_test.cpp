// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the E2B backend against a scripted service.

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/suspendable_environment.hpp>
#include <cofferdam/core/with.hpp>

#include "backends/e2b/scripted_service.hpp"
#include "support/error_of.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::connect_end;
using cofferdam::detail::connect_message;
using namespace std::chrono_literals;
using cofferdam_test::comes_about;
using cofferdam_test::scripted_service;
using cofferdam_test::seen_request;

static_assert(code_exec_provider<e2b::provider>);
static_assert(streaming_environment<e2b::environment>);
static_assert(file_environment<e2b::environment>);
static_assert(suspendable_environment<e2b::environment>);

using action = scripted_service::action;

action says(int status, std::string text) {
  return [status, text](http_call& call, const boost::json::object&) {
    return scripted_service::json(call, status, text);
  };
}

awaitable<void> throw_away(http_call&, const boost::json::object&) {
  throw std::runtime_error("torn");
  co_return;
}

/// Opens an environment and closes it. Returns the exception of the opening, if any.
awaitable<std::optional<error>> opening_error(e2b::provider recipe) {
  std::optional<error> failure;
  try {
    e2b::environment env = co_await recipe.open();
    co_await env.close();
  } catch (const error& reason) {
    failure = reason;
  }
  co_return failure;
}

/// Runs a command. Returns its exception, if any.
awaitable<std::optional<error>> running_error(e2b::environment& env, std::string line) {
  std::optional<error> failure;
  try {
    co_await env.run_command(shell(std::move(line)));
  } catch (const error& reason) {
    failure = reason;
  }
  co_return failure;
}

// Feature: A5
TEST(E2bSandbox, a_command_has_its_outputs_and_its_exit_code_and_the_sandbox_is_ended) {
  scripted_service service;
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    EXPECT_EQ(env.id(), "iabc");
    EXPECT_EQ(env.workspace(), "/home/user/workspace");
    command_result result = co_await env.run_command(shell("whatever").variable("A", "b").timeout(20s));
    EXPECT_EQ(result.exit_code(), 3);
    EXPECT_EQ(result.out().text(), "out");
    EXPECT_EQ(result.err().text(), "err");
    EXPECT_EQ(result.kind(), error_kind::none);
    EXPECT_NE(result.isolation().of(isolation_kind::process_tree), "none");
    co_await env.close();
    co_await env.close();
  });
  EXPECT_EQ(service.count("POST", "/sandboxes"), 1U);
  EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 1U);
  for (const auto& received : service.seen) {
    const bool is_api = received.path.starts_with("/sandboxes");
    EXPECT_EQ(received.fields.find("X-API-KEY").has_value(), is_api) << received.path;
    EXPECT_EQ(received.fields.find("X-Access-Token").has_value(), !is_api) << received.path;
    if (!is_api) {
      EXPECT_EQ(received.fields.find("E2b-Sandbox-Id"), "iabc");
    }
    EXPECT_FALSE(received.fields.find("Accept-Encoding").has_value());
  }
  const auto& start = service.seen.at(2);
  EXPECT_EQ(start.path, "/process.Process/Start");
  EXPECT_EQ(start.fields.find("Keepalive-Ping-Interval"), "50");
  EXPECT_EQ(start.fields.find("Transfer-Encoding"), "chunked");
  EXPECT_FALSE(start.fields.find("Content-Length").has_value());
  EXPECT_NE(start.fields.find("Connect-Timeout-Ms").value_or("0"), "0");
  EXPECT_NE(start.body.find("\"stdin\":false"), std::string::npos);
  EXPECT_NE(start.body.find("\"A\":\"b\""), std::string::npos);
  const auto& created = service.seen.front();
  EXPECT_NE(created.body.find("\"secure\":true"), std::string::npos);
  EXPECT_NE(created.body.find("\"timeout\":300"), std::string::npos);
}

TEST(E2bSandbox, a_stream_that_breaks_at_any_byte_is_a_lost_provider_or_the_whole_result) {
  scripted_service service;
  std::size_t cut = 0;
  bool torn = true;
  std::size_t length = 1;
  service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
    const std::string response = scripted_service::whole(scripted_service::mark_of(body), "out", "err", 3);
    length = response.size();
    if (torn)
      co_await scripted_service::torn_stream(call, response.substr(0, cut));
    else
      co_await scripted_service::stream(call, response.substr(0, cut));
  };
  int whole = 0;
  int lost = 0;
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().kill_grace(0ms).open();
    for (cut = 0; cut <= length; cut += 3) {
      torn = cut % 2 == 0;
      try {
        command_result result = co_await env.run_command(shell("x"));
        EXPECT_EQ(result.exit_code(), 3) << cut;
        EXPECT_EQ(result.out().text(), "out") << cut;
        ++whole;
      } catch (const error& reason) {
        EXPECT_EQ(reason.code(), exec_errc::provider_lost) << cut << reason.what();
        EXPECT_NE(reason.partial(), nullptr);
        ++lost;
      }
    }
    co_await env.close();
  });
  EXPECT_GT(whole, 1);
  EXPECT_GT(lost, 100);
  // After each lost command, the library kills the processes that may still run.
  EXPECT_GE(service.signals.size(), static_cast<std::size_t>(lost) - 1);
}

TEST(E2bSandbox, a_stream_that_ends_without_its_end_envelope_has_a_result_once_the_command_has_ended) {
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object& body) {
    const std::string mark = scripted_service::mark_of(body);
    return scripted_service::stream(call, scripted_service::started() + scripted_service::begun(mark) +
                                              scripted_service::data("stdout", "all") +
                                              scripted_service::ended(mark, "0,0,0"));
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    command_result result = co_await env.run_command(shell("x"));
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.out().text(), "all");
    co_await env.close();
  });
}

TEST(E2bSandbox, an_error_at_the_end_of_the_stream_is_one_and_nothing_is_repeated) {
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object&) {
    return scripted_service::stream(
        call, connect_end(R"({"error":{"code":"invalid_argument","message":"cwd '/nonexistent' does not exist"}})"));
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    const std::optional<error> failure = co_await running_error(env, "x");
    EXPECT_TRUE(failure && failure->code() == exec_errc::invalid_argument);
    if (failure) {
      EXPECT_NE(std::string(failure->what()).find("does not exist"), std::string::npos);
    }
    co_await env.close();
  });
  // The first of the two requests created the workspace.
  EXPECT_EQ(service.count("POST", "/process.Process/Start"), 2U);
}

TEST(E2bSandbox, a_message_larger_than_any_is_an_error_before_it_comes) {
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object&) {
    return scripted_service::torn_stream(call, std::string("\0\x7f\xff\xff\xff", 5));
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    const std::optional<error> failure = co_await running_error(env, "x");
    EXPECT_TRUE(failure && failure->code() == exec_errc::too_large);
    co_await env.close();
  });
}

TEST(E2bSandbox, garbage_instead_of_messages_is_an_error) {
  scripted_service service;
  std::string text;
  service.command = [&](http_call& call, const boost::json::object&) { return scripted_service::stream(call, text); };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    for (const std::string& each :
         {std::string("HTTP?"), std::string("\1\0\0\0\0", 5), connect_message("{"), connect_message("[]"),
          connect_message(R"({"event":{"data":{"stdout":"!!"}}})"), connect_end("x")}) {
      text = each;
      const std::optional<error> failure = co_await running_error(env, "x");
      EXPECT_TRUE(failure.has_value()) << each;
    }
    co_await env.close();
  });
}

TEST(E2bSandbox, a_sandbox_that_is_gone_is_told_apart_from_a_broken_connection_and_everybody_hears_of_it) {
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
    service.sandbox_lives = false;
    co_await scripted_service::torn_stream(call, scripted_service::started() +
                                                     scripted_service::begun(scripted_service::mark_of(body)) +
                                                     scripted_service::data("stdout", "so far"));
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    const std::optional<error> failure = co_await running_error(env, "x");
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_lost);
    if (failure) {
      EXPECT_NE(std::string(failure->what()).find("is gone"), std::string::npos) << failure->what();
      EXPECT_EQ(failure->partial()->out().text(), "so far");
    }
    const std::size_t before = service.seen.size();
    const std::optional<error> again = co_await running_error(env, "x");
    EXPECT_TRUE(again && again->code() == exec_errc::provider_lost);
    EXPECT_EQ(service.seen.size(), before);
    co_await env.close();
  });
}

TEST(E2bSandbox, a_command_whose_start_is_never_answered_is_lost_within_the_limit_of_a_request) {
  scripted_service service;
  service.command = [&](http_call&, const boost::json::object&) { return service.server.wait_for_ever(); };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().request_timeout(300ms).open();
    const std::optional<error> failure = co_await running_error(env, "x");
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_lost);
    co_await env.close();
  });
  // The command may still run, so the library sends a signal.
  EXPECT_EQ(service.signals.size(), 1U);
}

TEST(E2bSandbox, a_time_limit_is_sigterm_the_grace_and_sigkill_to_all_of_it) {
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
    const std::string mark = scripted_service::mark_of(body);
    co_await scripted_service::stream(
        call, scripted_service::started() + scripted_service::begun(mark) + scripted_service::data("stdout", "before"));
    const std::function<bool()> is_killed = [&] { return service.signals.size() >= 2; };
    co_await comes_about(is_killed);
    co_await call.write(scripted_service::event(R"({"end":{"exitCode":-1,"status":"signal: killed"}})") +
                        connect_end());
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().kill_grace(20ms).open();
    command_result result = co_await env.run_command(shell("x").timeout(100ms));
    EXPECT_EQ(result.kind(), error_kind::timeout);
    EXPECT_EQ(result.out().text(), "before");
    EXPECT_NE(result.reason().find("0.1"), std::string::npos);
    co_await env.close();
  });
  const std::vector<std::string> expected{"15 s", "9 a"};
  EXPECT_EQ(service.signals, expected);
}

TEST(E2bSandbox, cancelling_ends_the_command_and_the_environment_goes_on) {
  scripted_service service;
  bool runs = false;
  service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
    const std::string mark = scripted_service::mark_of(body);
    co_await scripted_service::stream(call, scripted_service::started() + scripted_service::begun(mark));
    runs = true;
    const std::function<bool()> is_killed = [&] { return service.signals.size() >= 2; };
    co_await comes_about(is_killed);
    co_await call.write(scripted_service::ended(mark, "137,1,0") + scripted_service::over(137));
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().kill_grace(0ms).open();
    asio::cancellation_signal cancel;
    std::optional<error> failure;
    bool done = false;
    const auto work = [&]() -> awaitable<void> {
      const std::optional<error> thrown = co_await running_error(env, "x");
      failure = thrown;
    };
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    cofferdam_test::spawn(
        executor, work, [&](std::exception_ptr) { done = true; }, cancel.slot());
    const std::function<bool()> is_running = [&] { return runs; };
    co_await comes_about(is_running);
    cancel.emit(asio::cancellation_type::terminal);
    const std::function<bool()> is_done = [&] { return done; };
    const bool over = co_await comes_about(is_done);
    EXPECT_TRUE(over);
    EXPECT_TRUE(failure && failure->code() == exec_errc::cancelled);
    service.command = nullptr;
    command_result next = co_await env.run_command(shell("x"));
    EXPECT_EQ(next.exit_code(), 3);
    co_await env.close();
  });
}

TEST(E2bSandbox, closing_ends_the_sandbox_and_tells_whoever_awaits_a_command) {
  scripted_service service;
  bool runs = false;
  service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
    co_await scripted_service::stream(call, scripted_service::started() +
                                                scripted_service::begun(scripted_service::mark_of(body)) +
                                                scripted_service::data("stdout", "before"));
    runs = true;
    co_await service.server.wait_for_ever();
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    std::optional<error> failure;
    bool done = false;
    const auto work = [&]() -> awaitable<void> {
      const std::optional<error> thrown = co_await running_error(env, "x");
      failure = thrown;
    };
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    cofferdam_test::spawn(executor, work, [&](std::exception_ptr) { done = true; });
    const std::function<bool()> is_running = [&] { return runs; };
    co_await comes_about(is_running);
    co_await cofferdam_test::pause(50ms);
    co_await env.close();
    const std::function<bool()> is_done = [&] { return done; };
    const bool over = co_await comes_about(is_done);
    EXPECT_TRUE(over);
    EXPECT_TRUE(failure && failure->code() == exec_errc::environment_closed);
    if (failure) {
      EXPECT_EQ(failure->partial()->out().text(), "before");
    }
  });
  EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 1U);
}

TEST(E2bSandbox, dropping_an_environment_ends_its_sandbox) {
  scripted_service service;
  service.run([&]() -> awaitable<void> {
    { e2b::environment env = co_await service.provider().open(); }
    const std::function<bool()> is_ended = [&] { return service.count("DELETE", "/sandboxes/iabc") == 1; };
    const bool ended = co_await comes_about(is_ended);
    EXPECT_TRUE(ended);
  });
}

TEST(E2bSandbox, a_service_without_the_first_form_is_asked_in_the_second) {
  for (const auto& [status, text] : std::vector<std::pair<int, std::string>>{
           {405, ""},
           {410, "{}"},
           {404, "404 page not found"},
           {400, R"({"code":400,"message":"validation error: method not allowed"})"},
           {404, R"({"code":404,"message":"validation error: no matching operation was found"})"}}) {
    scripted_service service;
    service.instead["POST /sandboxes"] = {says(status, text)};
    service.run([&]() -> awaitable<void> {
      e2b::environment env = co_await service.provider().open();
      co_await env.close();
    });
    EXPECT_EQ(service.count("POST", "/v2/sandboxes"), 1U) << status;
    EXPECT_EQ(service.seen.at(1).body.find("secure"), std::string::npos);
  }
}

TEST(E2bSandbox, its_log_is_read_oldest_line_first_where_the_service_keeps_one) {
  scripted_service service;
  const std::string path = "GET /v2/sandboxes/iabc/logs";
  const std::string lines =
      R"({"logs":[{"timestamp":"t2","level":"error","message":"second","fields":{}},7,{"timestamp":"t1","message":"first"}]})";
  for (const std::string& key : {path, path + "?limit=1000&direction=backward"})
    service.instead[key] = {says(200, lines), says(404, R"({"code":404,"message":"no logs here"})"), says(200, "{}")};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    std::vector<e2b::sandbox_log_line> log = co_await env.logs();
    EXPECT_EQ(log.size(), 2U);
    EXPECT_EQ(log.at(0).message, "first");
    EXPECT_EQ(log.at(1).level, "error");
    EXPECT_EQ(log.at(1).timestamp, "t2");
    for (const exec_errc expected : {exec_errc::not_found, exec_errc::provider_failed}) {
      std::optional<error> thrown;
      try {
        co_await env.logs();
      } catch (const error& failure) {
        thrown = failure;
      }
      EXPECT_TRUE(thrown && thrown->code() == expected) << (thrown ? thrown->what() : "nothing was thrown");
    }
    co_await env.close();
  });
}

TEST(E2bSandbox, what_the_service_refuses_is_an_error_with_its_words) {
  const auto opened = [](int status, std::string text) {
    scripted_service service;
    for (int i = 0; i < 5; ++i) service.instead["POST /sandboxes"].push_back(says(status, text));
    std::optional<error> failure;
    service.run([&]() -> awaitable<void> {
      const std::optional<error> thrown = co_await opening_error(service.provider());
      failure = thrown;
    });
    EXPECT_EQ(service.count("POST", "/v2/sandboxes"), 0U);
    return failure.value_or(error(exec_errc::io_error, "nothing was thrown"));
  };
  const error no_template = opened(404, R"({"code":404,"message":"template 'x' not found"})");
  EXPECT_EQ(no_template.code(), exec_errc::not_found);
  EXPECT_NE(std::string(no_template.what()).find("template 'x' not found"), std::string::npos) << no_template.what();
  EXPECT_EQ(opened(400, R"({"code":400,"message":"Timeout must be greater than 0"})").code(),
            exec_errc::invalid_argument);
  EXPECT_EQ(opened(403, R"({"code":403,"message":"team blocked"})").code(), exec_errc::permission_denied);
  EXPECT_EQ(opened(302, "").code(), exec_errc::provider_failed);
  EXPECT_EQ(opened(502, "<html><body>Bad gateway</body></html>").code(), exec_errc::provider_failed);
  EXPECT_EQ(opened(201, "<html>").code(), exec_errc::provider_failed);
  EXPECT_EQ(opened(201, "{}").code(), exec_errc::provider_failed);
  EXPECT_EQ(opened(201, R"({"sandboxID":"../../x"})").code(), exec_errc::invalid_argument);
}

TEST(E2bSandbox, a_sandbox_whose_workspace_cannot_be_made_is_ended) {
  scripted_service service;
  service.instead["POST /process.Process/Start"] = {says(500, "{}")};
  service.run([&]() -> awaitable<void> {
    const std::optional<error> failure = co_await opening_error(service.provider());
    EXPECT_TRUE(failure.has_value());
  });
  EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 1U);
}

// Feature: A16
TEST(E2bSandbox, life_is_prolonged_while_a_command_runs) {
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
    const std::string mark = scripted_service::mark_of(body);
    co_await scripted_service::stream(call, scripted_service::started() + scripted_service::begun(mark));
    const std::function<bool()> is_prolonged = [&] { return service.count("POST", "/sandboxes/iabc/timeout") >= 2; };
    co_await comes_about(is_prolonged);
    co_await call.write(scripted_service::ended(mark, "0,0,0") + scripted_service::over(0));
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().lifetime(1s).open();
    command_result result = co_await env.run_command(shell("x"));
    EXPECT_TRUE(result.ok());
    co_await env.close();
  });
  EXPECT_GE(service.count("POST", "/sandboxes/iabc/timeout"), 2U);
}

TEST(E2bSandbox, a_sandbox_that_the_service_no_longer_knows_loses_what_runs) {
  scripted_service service;
  for (int i = 0; i < 5; ++i)
    service.instead["POST /sandboxes/iabc/timeout"].push_back(
        says(404, R"({"code":404,"message":"Sandbox \"iabc\" doesn't exist"})"));
  service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
    co_await scripted_service::stream(
        call, scripted_service::started() + scripted_service::begun(scripted_service::mark_of(body)));
    co_await service.server.wait_for_ever();
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().lifetime(1s).open();
    const std::optional<error> failure = co_await running_error(env, "x");
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_lost);
    co_await env.close();
  });
}

TEST(E2bSandbox, metadata_of_a_file_travel_in_headers_and_a_daemon_that_would_drop_them_gets_nothing) {
  for (const std::string version : {"0.6.13", "0.6.2", "0.6.1", "unknown"}) {
    scripted_service service;
    service.envd_version = version;
    const bool stores = version == "0.6.13" || version == "0.6.2";
    service.run([&]() -> awaitable<void> {
      e2b::environment env = co_await service.provider().open();
      std::optional<error> failure;
      try {
        co_await env.write_file("a", as_bytes("content"), e2b::file_metadata().add("Author", "me"));
      } catch (const error& reason) {
        failure = reason;
      }
      EXPECT_EQ(failure.has_value(), !stores) << version;
      if (failure) {
        EXPECT_EQ(failure->code(), exec_errc::unsupported) << failure->what();
      }
      co_await env.close();
    });
    std::size_t uploads = 0;
    for (const auto& received : service.seen) {
      if (!received.path.starts_with("/files")) continue;
      ++uploads;
      EXPECT_EQ(received.fields.find("X-Metadata-author"), "me");
    }
    EXPECT_EQ(uploads, stores ? 1U : 0U) << version;
  }
}

TEST(E2bSandbox, the_user_of_a_command_is_in_its_call_and_in_no_other) {
  scripted_service service;
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    co_await env.run_command(shell("x").user("root"));
    co_await env.run_command(shell("x"));
    co_await env.close();
  });
  std::vector<std::string> users;
  for (const auto& received : service.seen)
    if (received.path == "/process.Process/Start")
      users.emplace_back(received.fields.find("Authorization").value_or("none"));
  const std::vector<std::string> expected{"none", "Basic cm9vdDo=", "none"};
  EXPECT_EQ(users, expected);
}

TEST(E2bSandbox, old_daemons_are_sent_forms_and_a_user) {
  for (const std::string version : {"0.3.5", "0.6.0"}) {
    scripted_service service;
    service.envd_version = version;
    service.run([&]() -> awaitable<void> {
      e2b::environment env = co_await service.provider().open();
      co_await env.write_file("a/b", as_bytes("content"));
      co_await env.close();
    });
    bool uploaded = false;
    for (const auto& received : service.seen) {
      if (!received.path.starts_with("/files")) continue;
      uploaded = true;
      const std::string type(received.fields.find("Content-Type").value_or(""));
      const bool is_old = version == "0.3.5";
      EXPECT_EQ(type.starts_with("multipart/form-data; boundary="), is_old) << type;
      EXPECT_EQ(received.path.find("&username=user") != std::string::npos, is_old) << received.path;
      EXPECT_NE(received.body.find("content"), std::string::npos);
      if (!is_old) {
        EXPECT_EQ(received.body, "content");
      }
    }
    EXPECT_TRUE(uploaded);
  }
}

TEST(E2bSandbox, a_create_whose_answer_is_lost_is_looked_for_and_ended) {
  scripted_service service;
  service.instead["POST /sandboxes"] = {&throw_away};
  service.instead["GET /v2/sandboxes"] = {[&](http_call& call, const boost::json::object&) {
    const boost::json::value body = boost::json::parse(service.seen.front().body);
    const std::string tag(body.at("metadata").at("cofferdam").as_string().c_str());
    return scripted_service::json(call, 200,
                                  R"([{"sandboxID":"iother","metadata":{"cofferdam":"no"}},)"
                                  R"({"sandboxID":"iabc","metadata":{"cofferdam":")" +
                                      tag + R"("}}])");
  }};
  service.run([&]() -> awaitable<void> {
    const std::optional<error> failure = co_await opening_error(service.provider());
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_failed);
  });
  EXPECT_EQ(service.count("POST", "/sandboxes"), 1U);
  EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 1U);
  EXPECT_EQ(service.count("DELETE", "/sandboxes/iother"), 0U);
}

TEST(E2bSandbox, opening_that_is_cancelled_at_any_step_leaves_no_sandbox) {
  for (std::size_t step = 0; step < 400; step += 7) {
    scripted_service service;
    bool ended = false;
    bool opened = false;
    service.run([&]() -> awaitable<void> {
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      asio::cancellation_signal cancel;
      const auto work = [&]() -> awaitable<void> {
        e2b::environment env = co_await service.provider().open();
        opened = true;
        co_await env.close();
      };
      cofferdam_test::spawn(
          executor, work, [&](std::exception_ptr) { ended = true; }, cancel.slot());
      for (std::size_t i = 0; i < step && !ended; ++i) co_await asio::post(executor, asio::use_awaitable);
      if (!ended) cancel.emit(asio::cancellation_type::terminal);
      const std::function<bool()> is_over = [&] { return ended; };
      const bool over = co_await comes_about(is_over);
      EXPECT_TRUE(over);
      // If the close was cancelled, the destructor deletes the sandbox.
      if (opened) {
        const std::function<bool()> is_gone = [&] { return service.count("DELETE", "/sandboxes/iabc") == 1; };
        co_await comes_about(is_gone);
      }
    });
    EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), service.count("POST", "/sandboxes")) << step;
  }
}

/// Responds to the start of a process with messages without an end, and a short pause after each.
awaitable<void> stream_for_ever(http_call& call, std::string message, std::chrono::milliseconds pause) {
  co_await scripted_service::stream(call, scripted_service::started());
  for (;;) {
    co_await call.write(message);
    co_await cofferdam_test::pause(pause);
  }
}
action never_ends() {
  return [](http_call& call, const boost::json::object&) {
    return stream_for_ever(call, scripted_service::event(R"({"keepalive":{}})"), 10ms);
  };
}

TEST(E2bSandbox, a_daemon_that_only_sends_keepalives_ends_the_opening_with_the_limit_of_a_call) {
  for (const auto by : {e2b::command_transport::daemon, e2b::command_transport::warden}) {
    scripted_service service;
    std::vector<action>& starts = service.instead["POST /process.Process/Start"];
    if (by == e2b::command_transport::warden)
      starts.push_back([](http_call& call, const boost::json::object&) {
        constexpr std::string_view facts("/home/user\0/home/user/workspace\0/bin/bash\0001000\0001000\0\0", 53);
        return scripted_service::stream(
            call, scripted_service::started() + scripted_service::data("stdout", facts) + scripted_service::over(0));
      });
    starts.push_back(never_ends());
    service.run([&]() -> awaitable<void> {
      const std::optional<error> failure = co_await opening_error(service.provider().by(by).request_timeout(500ms));
      if (failure) {
        EXPECT_EQ(failure->code(), exec_errc::provider_lost);
        EXPECT_EQ(failure->cause(), net_errc::timed_out);
        EXPECT_NE(std::string(failure->what()).find("not done within the time limit of a call, 500 ms"),
                  std::string::npos)
            << failure->what();
      } else {
        ADD_FAILURE() << "it was opened";
      }
    });
    EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 1U);
  }
}

TEST(E2bSandbox, a_script_of_a_file_operation_has_the_limit_of_a_call_and_is_ended) {
  scripted_service service;
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().request_timeout(500ms).open();
    service.instead["POST /process.Process/Start"] = {never_ends()};
    std::optional<error> failure;
    try {
      co_await remove(env, "x");
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_TRUE(failure && failure->cause() == net_errc::timed_out) << (failure ? failure->what() : "none");
    EXPECT_EQ(service.signals.size(), 1U);
    co_await env.close();
  });
}

TEST(E2bSandbox, a_script_whose_output_has_no_end_ends_the_opening) {
  scripted_service service;
  const std::string message = scripted_service::data("stdout", std::string(std::size_t{1024} * 1024, 'x'));
  service.instead["POST /process.Process/Start"] = {
      [&message](http_call& call, const boost::json::object&) { return stream_for_ever(call, message, 0ms); }};
  service.run([&]() -> awaitable<void> {
    const std::optional<error> failure = co_await opening_error(service.provider());
    EXPECT_TRUE(failure && failure->code() == exec_errc::too_large) << (failure ? failure->what() : "none");
  });
  EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 1U);
}

TEST(E2bSandbox, a_creation_that_fails_after_a_cancellation_was_cancelled) {
  for (const bool fails : {true, false}) {
    scripted_service service;
    bool is_cancelled = false;
    const std::function<bool()> may_answer = [&] { return is_cancelled; };
    const auto answers = [&](http_call& call) -> awaitable<void> {
      co_await comes_about(may_answer);
      if (fails) {
        co_await scripted_service::json(call, 500, "{}");
      } else {
        co_await scripted_service::json(call, 201, R"({"sandboxID":"iabc","envdVersion":"0.6.13"})");
      }
    };
    service.instead["POST /sandboxes"] = {[&](http_call& call, const boost::json::object&) { return answers(call); }};
    std::optional<error> failure;
    service.run([&]() -> awaitable<void> {
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      asio::cancellation_signal cancel;
      bool ended = false;
      const auto work = [&]() -> awaitable<void> {
        const std::optional<error> thrown = co_await opening_error(service.provider());
        failure = thrown;
      };
      cofferdam_test::spawn(
          executor, work, [&](std::exception_ptr) { ended = true; }, cancel.slot());
      const std::function<bool()> creates = [&] { return service.count("POST", "/sandboxes") == 1; };
      co_await comes_about(creates);
      cancel.emit(asio::cancellation_type::terminal);
      is_cancelled = true;
      const std::function<bool()> is_over = [&] { return ended; };
      co_await comes_about(is_over);
    });
    EXPECT_TRUE(failure && failure->code() == exec_errc::cancelled) << (failure ? failure->what() : "none");
    EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), fails ? 0U : 1U);
    const auto searches = [](const seen_request& received) { return received.path.starts_with("/v2/sandboxes?"); };
    EXPECT_EQ(std::count_if(service.seen.begin(), service.seen.end(), searches), fails ? 1 : 0)
        << "a sandbox that may exist is searched";
  }
}

TEST(E2bSandbox, a_first_script_that_prints_nothing_is_named) {
  scripted_service service;
  service.instead["POST /process.Process/Start"] = {[](http_call& call, const boost::json::object&) {
    return scripted_service::stream(call, scripted_service::started() + scripted_service::over(0));
  }};
  service.run([&]() -> awaitable<void> {
    const std::optional<error> failure = co_await opening_error(service.provider());
    EXPECT_TRUE(failure &&
                std::string(failure->what()).find("has printed nothing; check that /bin/sh") != std::string::npos)
        << (failure ? failure->what() : "none");
  });
}

TEST(E2bSandbox, one_that_was_there_is_connected_to_and_left) {
  scripted_service service;
  service.instead["POST /sandboxes/iabc/connect"] = {
      says(200, R"({"sandboxID":"iabc","envdVersion":"0.6.13","envdAccessToken":"tok-456789"})")};
  service.run([&]() -> awaitable<void> {
    e2b::provider recipe = e2b::in_sandbox("iabc")
                               .variables_from(e2b::surroundings())
                               .api_key("e2b_canary0123456789")
                               .api_url(service.url())
                               .sandbox_url(service.url());
    e2b::environment env = co_await recipe.open();
    command_result result = co_await env.run_command(shell("x"));
    EXPECT_EQ(result.exit_code(), 3);
    const std::string url = env.download_url("a b");
    EXPECT_NE(url.find("/files?path=workspace%2Fa%20b&signature=v1_"), std::string::npos) << url;
    co_await env.close();
  });
  EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 0U);
}

}  // namespace
