// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/tools/ask_user.hpp>

#include "support/error_of.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace ask_user_test {

using namespace cofferdam;
using namespace std::chrono_literals;

awaitable<std::string> echo(tools::user_question question) {
  std::string answer = question.text();
  for (const std::string& each : question.options()) answer += "|" + each;
  co_return answer;
}
awaitable<std::string> fail(tools::user_question) {
  throw std::runtime_error("no terminal");
  co_return "";
}
bool has_ended = false;
awaitable<std::string> sleep_long(tools::user_question) {
  asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
  try {
    co_await timer.async_wait(asio::use_awaitable);
  } catch (...) {
    has_ended = true;
    throw;
  }
  co_return "late";
}

tools::tool_result ask(tools::ask_user tool, const std::string& arguments) {
  tools::tool_result result;
  cofferdam_test::run([&]() -> awaitable<void> {
    boost::json::value parsed = boost::json::parse(arguments);
    result = co_await tool.call(std::move(parsed));
  });
  return result;
}

// Feature: H15
TEST(AskUser, the_answer_is_that_of_the_callable) {
  const tools::tool_result answer = ask(tools::ask_user(echo), R"({"question":"Which?","options":["a","b"]})");
  EXPECT_TRUE(answer.ok());
  EXPECT_EQ(answer.text(), "Which?|a|b");
  EXPECT_FALSE(ask(tools::ask_user(echo), R"({"question":""})").ok());
  const auto quiet = [](tools::user_question) -> awaitable<std::string> { co_return ""; };
  EXPECT_EQ(ask(tools::ask_user(quiet), R"({"question":"?"})").text(), "(The answer is empty.)");
  EXPECT_TRUE(tools::ask_user(echo).asks_user());
}

TEST(AskUser, without_an_answer_the_model_decides) {
  const std::string question = R"({"question":"Which?"})";
  EXPECT_EQ(ask(tools::ask_user(), question).text(),
            "Error: There is no user who could answer. Decide yourself, and mention the decision in your result.");
  EXPECT_FALSE(ask(tools::ask_user(), question).ok());
  EXPECT_FALSE(tools::ask_user().asks_user());
  EXPECT_TRUE(
      ask(tools::ask_user(fail), question).text().starts_with("Error: The user could not be asked: no terminal. "));
  has_ended = false;
  EXPECT_TRUE(ask(tools::ask_user(sleep_long).timeout(10ms), question)
                  .text()
                  .starts_with("Error: The user did not answer in time. "));
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(cofferdam_test::code_of([] { tools::ask_user().timeout(0ms); }), exec_errc::invalid_argument);
}

TEST(AskUser, a_cancellation_ends_the_question) {
  for (const bool has_limit : {false, true}) {
    has_ended = false;
    cofferdam_test::run([&]() -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      tools::ask_user tool(sleep_long);
      if (has_limit) tool.timeout(1h);
      asio::cancellation_signal stop;
      std::exception_ptr failure;
      asio::steady_timer ended(executor, 1h);
      const auto done = [&](const std::exception_ptr& why, const tools::tool_result&) {
        failure = why;
        ended.cancel();
      };
      cofferdam_test::spawn(executor, tool.call(boost::json::parse(R"({"question":"?"})")), done, stop.slot());
      asio::steady_timer soon(executor, 10ms);
      co_await soon.async_wait(asio::use_awaitable);
      stop.emit(asio::cancellation_type::terminal);
      try {
        co_await ended.async_wait(asio::use_awaitable);
      } catch (const std::exception&) {
      }
      EXPECT_EQ(cofferdam_test::code_of([&] { std::rethrow_exception(failure); }), exec_errc::cancelled);
    });
    EXPECT_TRUE(has_ended);
  }
}

}  // namespace ask_user_test
