// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/e2b/code_interpreter.hpp>

#include "backends/e2b/scripted_service.hpp"
#include "support/error_of.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::code_of;
using cofferdam_test::comes_about;
using cofferdam_test::scripted_service;

const std::string lines = R"({"type":"number_of_executions","execution_count":4})"
                          "\n"
                          R"({"type":"stdout","text":"hi\n","timestamp":"2026-01-01T00:00:00Z"})"
                          "\n"
                          R"({"type":"stderr","text":"warn","timestamp":"2026-01-01T00:00:00Z"})"
                          "\n"
                          R"({"type":"keepalive"})"
                          "\n"
                          R"({"type":"result","png":"iVBO","extra":{},"html":null})"
                          "\n"
                          R"({"type":"result","text":"2","chart":{"type":"bar"},"is_main_result":true})"
                          "\n"
                          R"({"type":"error","name":"ValueError","value":"x","traceback":"Traceback"})"
                          "\n"
                          R"({"type":"something new"})"
                          "\n"
                          R"({"type":"end_of_execution"})"
                          "\n";

void check(const e2b::execution& done) {
  EXPECT_EQ(done.out().text(), "hi\n");
  EXPECT_EQ(done.err().text(), "warn");
  EXPECT_EQ(done.number(), 4);
  ASSERT_EQ(done.results().size(), 2U);
  EXPECT_EQ(done.results()[0].form("png"), "iVBO");
  EXPECT_EQ(done.results()[0].forms().size(), 1U);
  EXPECT_EQ(done.results()[1].form("chart"), R"({"type":"bar"})");
  EXPECT_EQ(done.value(), "2");
  ASSERT_TRUE(done.failure().has_value());
  EXPECT_EQ(done.failure()->name(), "ValueError");
  EXPECT_FALSE(done.ok());
}

TEST(E2bExecution, a_run_is_read_alike_wherever_its_lines_are_cut) {
  for (std::size_t cut = 0; cut <= lines.size(); ++cut) {
    e2b::execution_reader reader;
    reader.feed(std::string_view(lines).substr(0, cut));
    reader.feed(std::string_view(lines).substr(cut));
    EXPECT_TRUE(reader.ended());
    check(reader.take(1ms));
  }
  e2b::execution_reader reader;
  for (const char c : lines) reader.feed(std::string_view(&c, 1));
  check(reader.take(1ms));
}

TEST(E2bExecution, what_is_kept_is_bounded_and_what_is_not_is_counted) {
  e2b::execution_reader reader(e2b::execution_limits(10, 100));
  for (int i = 0; i < 10; ++i) {
    reader.feed(R"({"type":"stdout","text":"0123456789"})"
                "\n");
    reader.feed(R"({"type":"result","text":"0123456789"})"
                "\n");
  }
  EXPECT_EQ(code_of([&] { reader.feed(std::string(2 * 1024 * 1024, 'x')); }), exec_errc::too_large);
  const e2b::execution done = reader.take(1ms);
  EXPECT_EQ(done.out().total(), 100U);
  EXPECT_EQ(done.results().size() + done.dropped(), 10U);
  EXPECT_EQ(done.results().size(), 2U);
}

TEST(E2bExecution, a_line_that_is_no_object_is_an_error) {
  for (const std::string line : {"x\n", "[]\n", "{\n", "null\n"}) {
    e2b::execution_reader reader;
    EXPECT_EQ(code_of([&] { reader.feed(line); }), exec_errc::io_error) << line;
  }
}

scripted_service::action prints(std::string text) {
  return [text](http_call& call, const boost::json::object&) -> awaitable<void> {
    co_await call.begin(http_reply(200));
    co_await call.write(text);
  };
}

TEST(E2bCodeInterpreter, code_is_run_with_its_tokens_and_its_outputs_are_kept) {
  scripted_service service;
  service.instead["POST /execute"] = {prints(lines)};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    e2b::code_interpreter python(env);
    e2b::execution done = co_await python.run(e2b::code("1 + 1").language("python").variable("A", "b"));
    check(done);
    co_await env.close();
  });
  const auto& asked = service.seen.at(2);
  EXPECT_EQ(asked.path, "/execute");
  EXPECT_EQ(asked.body, R"({"code":"1 + 1","language":"python","env_vars":{"A":"b"}})");
  EXPECT_EQ(asked.fields.find("E2b-Sandbox-Port"), "49999");
  EXPECT_TRUE(asked.fields.find("X-Access-Token").has_value());
  EXPECT_FALSE(asked.fields.find("X-API-KEY").has_value());
}

TEST(E2bCodeInterpreter, code_with_a_context_and_a_language_is_refused_before_it_is_sent) {
  scripted_service service;
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    e2b::code_interpreter python(env);
    const std::size_t sent = service.seen.size();
    const e2b::code_context context("c1", "python", "/home/user");
    EXPECT_EQ(code_of([&] { static_cast<void>(python.run(e2b::code("1").in(context).language("r"))); }),
              exec_errc::invalid_argument);
    EXPECT_EQ(code_of([&] { static_cast<void>(python.run(e2b::code("1").language("r").in(context))); }),
              exec_errc::invalid_argument);
    EXPECT_EQ(service.seen.size(), sent);
    co_await env.close();
  });
}

TEST(E2bCodeInterpreter, an_answer_that_ends_before_the_code_does_is_a_lost_provider) {
  scripted_service service;
  service.instead["POST /execute"] = {prints(lines.substr(0, 100)), [](http_call& call, const boost::json::object&) {
                                        return scripted_service::torn_stream(call, lines.substr(0, 150));
                                      }};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    e2b::code_interpreter python(env);
    for (int i = 0; i < 2; ++i) {
      std::optional<error> failure;
      try {
        co_await python.run(e2b::code("x"));
      } catch (const error& reason) {
        failure = reason;
      }
      EXPECT_TRUE(failure && failure->code() == exec_errc::provider_lost);
    }
    co_await env.close();
  });
}

TEST(E2bCodeInterpreter, a_time_limit_interrupts_and_keeps_what_was_said) {
  scripted_service service;
  service.instead["POST /execute"] = {[&](http_call& call, const boost::json::object&) -> awaitable<void> {
    co_await call.begin(http_reply(200));
    co_await call.write(std::string_view(lines).substr(0, 130));
    co_await service.server.wait_for_ever();
  }};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    e2b::code_interpreter python(env);
    e2b::execution done = co_await python.run(e2b::code("x").timeout(200ms));
    EXPECT_TRUE(done.timed_out());
    EXPECT_FALSE(done.ok());
    EXPECT_EQ(done.out().text(), "hi\n");
    const std::function<bool()> is_interrupted = [&] { return service.server.cancelled == 1; };
    const bool interrupted = co_await comes_about(is_interrupted);
    EXPECT_TRUE(interrupted);
    co_await env.close();
  });
}

TEST(E2bCodeInterpreter, cancelling_interrupts_the_code) {
  scripted_service service;
  bool runs = false;
  service.instead["POST /execute"] = {[&](http_call& call, const boost::json::object&) -> awaitable<void> {
    co_await call.begin(http_reply(200));
    runs = true;
    co_await service.server.wait_for_ever();
  }};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    e2b::code_interpreter python(env);
    asio::cancellation_signal cancel;
    std::optional<error> failure;
    bool done = false;
    const auto work = [&]() -> awaitable<void> {
      try {
        co_await python.run(e2b::code("x"));
      } catch (const error& reason) {
        failure = reason;
      }
    };
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto ends = [&done](std::exception_ptr) { done = true; };
    cofferdam_test::spawn(executor, work, ends, cancel.slot());
    const std::function<bool()> is_running = [&] { return runs; };
    co_await comes_about(is_running);
    cancel.emit(asio::cancellation_type::terminal);
    const std::function<bool()> is_over = [&] { return done && service.server.cancelled == 1; };
    const bool over = co_await comes_about(is_over);
    EXPECT_TRUE(over);
    EXPECT_TRUE(failure && failure->code() == exec_errc::cancelled);
    co_await env.close();
  });
}

TEST(E2bCodeInterpreter, contexts_are_made_listed_and_removed) {
  scripted_service service;
  const auto says = [](int status, std::string text) -> scripted_service::action {
    return [status, text](http_call& call, const boost::json::object&) {
      return scripted_service::json(call, status, text);
    };
  };
  const std::string context_json = R"({"id":"c-1","language":"python","cwd":"/home/user/workspace"})";
  service.instead["POST /contexts"] = {says(200, context_json)};
  service.instead["GET /contexts"] = {says(200, "[" + context_json + "]")};
  service.instead["POST /contexts/c-1/restart"] = {says(200, "null")};
  service.instead["DELETE /contexts/c-1"] = {says(200, "null"), says(404, "Context c-1 not found")};
  service.instead["POST /execute"] = {says(
      502, R"({"sandboxId":"iabc","message":"The sandbox is running but port is not open","port":49999,"code":502})")};
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    e2b::code_interpreter python(env);
    e2b::code_context created = co_await python.make_context("python");
    EXPECT_EQ(created.id(), "c-1");
    std::vector<e2b::code_context> contexts = co_await python.contexts();
    EXPECT_EQ(contexts.size(), 1U);
    co_await python.restart(created);
    co_await python.remove(created);
    std::vector<std::error_code> failures;
    try {
      co_await python.remove(created);
    } catch (const error& reason) {
      failures.push_back(reason.code());
      EXPECT_EQ(std::string(reason.what()).find("template"), std::string::npos) << reason.what();
    }
    try {
      co_await python.run(e2b::code("x"));
    } catch (const error& reason) {
      failures.push_back(reason.code());
    }
    const std::vector<std::error_code> expected{make_error_code(exec_errc::not_found),
                                                make_error_code(exec_errc::unsupported)};
    EXPECT_EQ(failures, expected);
    co_await env.close();
  });
}

}  // namespace
