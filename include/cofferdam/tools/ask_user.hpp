// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/detail/described_tool.hpp>
#include <cofferdam/tools/tool.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// A question of a model for the user.
class user_question {
 public:
  /// Describes a question. The other members describe the parameters.
  user_question(std::string text, std::vector<std::string> options)
      : text_(std::move(text)), options_(std::move(options)) {}
  /// Returns the question. A model has written it: use `printable_text` before you show it on a terminal.
  const std::string& text() const noexcept { return text_; }
  /// Returns the answers that the model suggests; empty if the user may answer anything. Written by the model, too.
  const std::vector<std::string>& options() const noexcept { return options_; }

 private:
  std::string text_;
  std::vector<std::string> options_;
};

/// The tool for questions to the user:
///
///     awaitable<std::string> answer(tools::user_question question);
///     helper.environment_tools().tool(tools::ask_user(answer).timeout(5min));
///
/// Its arguments are `question` and `options`. The answer for the model is the text that the callable returns, which
/// may be another text than one of the options. If the user does not answer in time, the callable throws, or there is
/// no user, the answer is an error, and the model has to decide itself.
///
/// A program without a user may add `tools::ask_user()`, which always gives this answer. The system message of an agent
/// describes whether there is a user.
/// \par Cancellation  terminal: the callable is cancelled. So it is when the time is up.
/// \par Source        Stirrup's `USER_INPUT_TOOL`.
class ask_user : public detail::described_tool<ask_user> {
 public:
  /// A callable that shows a question to the user, and returns the answer.
  using callback = std::function<awaitable<std::string>(user_question question)>;

  /// Makes a tool for a program without a user.
  ask_user() : ask_user(cofferdam::detail::callable_argument<awaitable<std::string>(user_question question)>()) {}
  /// \param ask  a callable for `callback`. g++ 12 does not compile a temporary lambda that captures by value: give the
  ///             lambda a name first.
  explicit ask_user(cofferdam::detail::callable_argument<awaitable<std::string>(user_question question)> ask);

  /// Sets the time that the user has for an answer. More than zero. Default: no limit.
  ask_user& timeout(std::chrono::milliseconds limit) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "ask_user: the time limit must be longer than zero");
    limit_ = limit;
    return *this;
  }

  /// Returns true if there is a user.
  bool asks_user() const noexcept { return ask_ != nullptr; }

  awaitable<tool_result> work(checked_arguments arguments);

 private:
  callback ask_;
  std::optional<std::chrono::milliseconds> limit_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/tools/impl/ask_user.ipp>
#endif
