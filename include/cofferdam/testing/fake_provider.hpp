// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// A provider whose environments exist only in memory, with scripted commands, for unit tests of your own layers, tools
// and agents. It starts no process. It needs neither GoogleTest nor a compiled Boost library: link cofferdam::core. (To
// test a backend of your own, use the conformance suites in cofferdam::testing.)
//
//   using cofferdam::testing::fake_provider, cofferdam::testing::reply, cofferdam::testing::any_command;
//
//   fake_provider fake;
//   fake.file("a.txt", "contents").on("ls", reply("a.txt\n")).on(argv("make", "all"), reply("").exit_code(2));
//   fake.on(any_command, [](const command& asked) { return reply("").err("no " + asked.line()).exit_code(127); });
//   co_await with(fake | my_layer(), [](auto& env) -> awaitable<void> { ... });
//   EXPECT_EQ(fake.commands().front().line(), "ls");
//   EXPECT_EQ(fake.files().text("report.md"), "done");
//
// The first line of the example is needed in tests that write `using namespace cofferdam`: the name `testing` is then
// ambiguous, because GoogleTest has a namespace `::testing`.

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/environment_handle.hpp>
#include <cofferdam/testing/detail/fake_state.hpp>
#include <cofferdam/testing/fake_files.hpp>
#include <cofferdam/testing/fake_reply.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// An argument of `fake_provider::on` that stands for all commands without a reply of their own.
class any_command_t {};
/// Matches any command: `fake.on(any_command, reply("ok"))`.
inline constexpr any_command_t any_command{};

/// A scripted answer to a command: a `reply`, a text, or a function that returns one of these. The function takes the
/// command, or the command and the files of the environment.
template <class A>
concept fake_answer_like = std::convertible_to<A, reply> || requires(A& answer, const command& asked) {
  { answer(asked) } -> std::convertible_to<reply>;
} || requires(A& answer, const command& asked, fake_files& files) {
  { answer(asked, files) } -> std::convertible_to<reply>;
};

/// An open environment of a `fake_provider`. It behaves as the environments of the backends do.
/// \par Threads  the operations of one environment and its processes must not run at the same time on two threads.
///               Different environments may be used on different threads.
class fake_environment {
 public:
  /// Makes an object without an environment. Operations throw `error{exec_errc::environment_closed}`.
  fake_environment() = default;
  explicit fake_environment(std::shared_ptr<detail::fake_state> state) : handle_(std::move(state)) {}

  /// Runs a command and returns its scripted result after the scripted delay. If the command's time limit passes first,
  /// the result has `error_kind::timeout`.
  /// \throws error{exec_errc::unsupported} if no reply is scripted for the command;
  ///     error{exec_errc::environment_closed} if the environment is closed; the errors given to `fail_with`.
  /// \par Cancellation  terminal: throws error{exec_errc::cancelled} with the output so far.
  awaitable<command_result> run_command(command c) { return handle_.run_command(std::move(c)); }
  /// Starts a command. Its output can be read at the scripted times. Every signal ends the command. Input written to
  /// the command is recorded in `fake_provider::commands()`.
  awaitable<process> start(command c) { return handle_.start(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return handle_.read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return handle_.write_file(std::move(path), content);
  }
  /// Writes a file from temporary bytes. The awaitable owns the bytes, so it can be stored and awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }
  file_system files() { return handle_.files(); }
  /// Closes the environment. Commands that still run throw error{exec_errc::environment_closed}. A second call does
  /// nothing.
  awaitable<void> close() { return handle_.close(); }

 private:
  cofferdam::detail::environment_handle<detail::fake_state> handle_;
};

/// A provider of environments in memory with scripted commands and files; the top of this file has an example. Copies
/// share the script and the record of commands.
/// \par Threads  any.
class fake_provider {
 public:
  /// Makes a provider without replies and files.
  fake_provider() : script_(std::make_shared<detail::fake_script>()) {}

  /// Scripts the replies to one command, which is a line for the shell, or a program and its arguments. A command
  /// matches if it has the same line, or the same program and arguments; its other settings are ignored. If there are
  /// several answers, each is given once, in order, and the last one is then repeated. Replies to an exact command have
  /// priority over replies to a predicate, and these over replies to `any_command`. Among replies of the same kind, the
  /// newest has priority.
  template <fake_answer_like... Answers>
    requires(sizeof...(Answers) > 0)
  fake_provider& on(command asked, Answers... answers) {
    return add(
        detail::fake_rule::reach::exact,
        [asked = std::move(asked)](const command& c) {
          return c.is_shell() == asked.is_shell() && c.line() == asked.line() && c.words() == asked.words();
        },
        std::move(answers)...);
  }
  /// Scripts the replies to all commands for which a function returns true.
  template <std::predicate<const command&> Matches, fake_answer_like... Answers>
    requires(sizeof...(Answers) > 0)
  fake_provider& on(Matches matches, Answers... answers) {
    return add(detail::fake_rule::reach::predicate, std::move(matches), std::move(answers)...);
  }
  /// Scripts the replies to all other commands. Without such replies, a command that no other rule matches throws
  /// error{exec_errc::unsupported}; the message contains the command.
  template <fake_answer_like... Answers>
    requires(sizeof...(Answers) > 0)
  fake_provider& on(any_command_t, Answers... answers) {
    return add(
        detail::fake_rule::reach::everything, [](const command&) { return true; }, std::move(answers)...);
  }

  /// Adds a file to all environments that are opened later. Each environment has its own copy.
  fake_provider& file(std::string_view path, std::string_view content) {
    const std::lock_guard lock(script_->mutex);
    script_->first_files.write(path, content);
    return *this;
  }

  /// Returns the commands that were run or started in all environments, in order. Commands without a reply are
  /// included, but not commands that every backend refuses, such as an empty command.
  std::vector<command> commands() const {
    const std::lock_guard lock(script_->mutex);
    return script_->commands;
  }
  /// Returns the commands for which no reply was scripted. Test at the end that the list is empty: an agent may pass
  /// the error of such a command on to a model, so that the test does not fail by itself.
  std::vector<command> unscripted() const {
    const std::lock_guard lock(script_->mutex);
    return script_->unscripted;
  }
  /// Returns a copy of the files of the environment that was opened last, even if that environment is closed. If none
  /// was opened yet, returns the files that `file` added.
  fake_files files() const {
    const std::lock_guard lock(script_->mutex);
    return script_->newest_files ? *script_->newest_files : script_->first_files;
  }
  /// Returns the number of environments that were opened.
  std::size_t opened() const {
    const std::lock_guard lock(script_->mutex);
    return script_->opened;
  }
  /// Returns the number of environments that were closed or destroyed.
  std::size_t closed() const {
    const std::lock_guard lock(script_->mutex);
    return script_->closed;
  }

  /// Opens an environment with a copy of the files that `file` added.
  awaitable<fake_environment> open() const { return open_with(script_); }

 private:
  static awaitable<fake_environment> open_with(std::shared_ptr<detail::fake_script> script) {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    co_return fake_environment(std::make_shared<detail::fake_state>(std::move(executor), std::move(script)));
  }

  template <class Answer>
  static detail::fake_answer as_answer(Answer answer) {
    if constexpr (std::convertible_to<Answer, reply>) {
      return [fixed = reply(std::move(answer))](const command&, fake_files&) { return fixed; };
    } else if constexpr (requires(const command& asked) { answer(asked); }) {
      return [answer = std::move(answer)](const command& asked, fake_files&) mutable { return reply(answer(asked)); };
    } else {
      return detail::fake_answer(std::move(answer));
    }
  }

  template <class Matches, class... Answers>
  fake_provider& add(detail::fake_rule::reach rank, Matches matches, Answers... answers) {
    detail::fake_rule rule{rank, std::move(matches), {}};
    (rule.answers.push_back(as_answer(std::move(answers))), ...);
    const std::lock_guard lock(script_->mutex);
    script_->rules.push_back(std::move(rule));
    return *this;
  }

  std::shared_ptr<detail::fake_script> script_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
