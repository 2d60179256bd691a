// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/in_time.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/ask_user.hpp>
#include <cofferdam/tools/tool.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::tools {

namespace detail {

inline tool_result no_answer(const std::string& why) {
  return tool_result("Error: " + why + " Decide yourself, and mention the decision in your result.", false);
}

/// \param ask  the caller keeps it until the awaitable completes.
inline awaitable<void> hear_user(const ask_user::callback& ask, user_question question, std::string& answer) {
  answer = co_await ask(std::move(question));
}

inline awaitable<tool_result> question_user(ask_user::callback ask, std::optional<std::chrono::milliseconds> limit,
                                            user_question question) {
  if (!ask) co_return no_answer("There is no user who could answer.");
  std::string answer;
  std::string failure;
  bool is_in_time = true;
  try {
    if (limit) {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      is_in_time =
          co_await cofferdam::detail::arrived_in_time(executor, *limit, hear_user(ask, std::move(question), answer));
    } else {
      co_await hear_user(ask, std::move(question), answer);
    }
  } catch (const std::exception& reason) {
    failure = one_line(reason.what(), 1000);
    const bool is_failed = failure.empty();
    if (is_failed) failure = "unknown";
  }
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none)
    throw error(exec_errc::cancelled, "ask_user: cancelled before the user has answered");
  if (!is_in_time) co_return no_answer("The user did not answer in time.");
  if (!failure.empty()) co_return no_answer("The user could not be asked: " + failure + ".");
  constexpr std::size_t max_answer = 100'000;
  std::string shown = printable_text(std::string_view(answer).substr(0, max_answer));
  if (answer.size() > max_answer) shown += " ...";
  co_return tool_result(shown.empty() ? "(The answer is empty.)" : std::move(shown), true);
}

}  // namespace detail

COFFERDAM_DECL ask_user::ask_user(
    cofferdam::detail::callable_argument<awaitable<std::string>(user_question question)> ask)
    : described_tool(
          "ask_user",
          "Ask the user a question and wait for the answer. Ask only if you can neither find the answer out nor decide "
          "it yourself, and ask everything at once.",
          argument_list(argument("question", text, "The question, complete in itself.").between(1, 10'000),
                        argument("options", list_of(text), "Answers to choose from. Leave it out for a free answer.")
                            .optional())),
      ask_(ask.take()) {}

COFFERDAM_DECL awaitable<tool_result> ask_user::work(checked_arguments arguments) {
  return detail::question_user(ask_, limit_, user_question(arguments.text("question"), arguments.texts("options")));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
