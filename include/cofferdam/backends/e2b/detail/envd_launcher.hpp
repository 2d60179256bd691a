// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/tracked_script.hpp>
#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/detail/envd_command.hpp>
#include <cofferdam/backends/e2b/detail/sandbox_facts.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/detail/os/running_command.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/spawn.hpp>

#include <boost/json/object.hpp>

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// Starts commands as processes of envd, the daemon in a sandbox.
class envd_launcher final : public cofferdam::detail::command_launcher {
 public:
  /// \param setsid  the path of the program that starts each command in a session of its own. A process tree can be
  ///                ended reliably only by its session. Empty if the daemon makes a session or a process group, or if
  ///                there is no such program: then the environment variable COFFERDAM_COMMAND identifies the processes.
  /// \param used    a function that is called before each command.
  envd_launcher(std::shared_ptr<envd> daemon, command_settings settings, workspace_place where, std::string setsid,
                std::function<void()> used)
      : cofferdam::detail::command_launcher(daemon->executor(), std::move(settings)),
        daemon_(std::move(daemon)),
        where_(std::move(where)),
        setsid_(std::move(setsid)),
        used_(std::move(used)) {}

  /// Registers for the loss of the sandbox, after which all commands end with an error. It must be called once, before
  /// any other function.
  void watch() {
    daemon_->on_lost([weak = weak_from_this()](const error& reason) {
      const auto self = std::static_pointer_cast<envd_launcher>(weak.lock());
      if (self) self->lose_commands(reason);
    });
  }

  void lose(const error& reason) noexcept override {
    lose_commands(reason);
    abandon();
  }

  const std::shared_ptr<envd>& daemon() const noexcept { return daemon_; }
  const workspace_place& where() const noexcept { return where_; }
  void check_open() const {
    require_open();
    daemon_->require();
  }

 private:
  launched launch(command& c, spawn_request& request) override {
    check_open();
    if (c.background() == background_policy::keep)
      throw error(exec_errc::unsupported,
                  "e2b: background processes of a command cannot be kept; start them as separate commands");
    if (!cofferdam::detail::exec_order::can_set(request.variables))
      throw error(exec_errc::invalid_argument,
                  "e2b: a variable whose value is not UTF-8 needs a name of only letters, digits and '_'");
    const bool has_input = c.input() || c.has_open_input() || c.terminal().has_value();
    if (has_input && !c.terminal() && !daemon_->can().closes_input())
      throw error(
          exec_errc::unsupported,
          "e2b: the sandbox's daemon is older than 0.5.2 and cannot end a command's input; rebuild its template");
    if (used_) used_();
    const auto limits = limits_of(c);
    std::vector<std::string> words = request.words;
    if (c.is_shell()) words.front() = request.candidates.front();
    const std::string mark = "\x1e" + cofferdam::detail::random_digits(32);
    const std::string tag = "COFFERDAM_COMMAND=" + cofferdam::detail::random_digits();
    request.variables.push_back(tag);
    const cofferdam::detail::exec_order order(mark, request.directory_path, c.terminal(), limits.linger,
                                              request.variables, words, cofferdam::detail::terminal_end::marked);
    launched outcome;
    if (order.is_too_long()) {
      outcome.refusal =
          refuse_unstarted(shown_program(c), spawn_stage::exec, std::error_code(E2BIG, std::system_category()));
      return outcome;
    }
    const auto new_command = cofferdam::detail::make_command<envd_command>(
        executor(), registry(), limits, std::chrono::steady_clock::now(), executor(), daemon_,
        message_for(order, c, has_input), mark, tag, shown_program(c), c.user(), has_input);
    new_command->begin(c.take_input());
    outcome.running = new_command->command().kept();
    return outcome;
  }

  bool has_users() const noexcept override { return true; }

  boost::json::object message_for(const cofferdam::detail::exec_order& order, const command& c, bool has_input) const {
    // With a terminal, the daemon starts the process in its own session.
    const bool by_setsid = !c.terminal() && !setsid_.empty();
    const std::vector<std::string> words(order.words().begin() + (by_setsid ? 0 : 1), order.words().end());
    // Another user has another home, in which the workspace is not.
    const std::string& directory = c.user().empty() ? where_.from_home : where_.root;
    boost::json::object message = envd::start_message(by_setsid ? setsid_ : "/bin/sh", words, directory, has_input);
    message["process"].as_object()["envs"] = envd::variables(order.variables());
    if (c.terminal()) {
      boost::json::object dimensions;
      dimensions["cols"] = c.terminal()->columns();
      dimensions["rows"] = c.terminal()->rows();
      boost::json::object pty;
      pty["size"] = std::move(dimensions);
      message["pty"] = std::move(pty);
      message.erase("stdin");
    }
    return message;
  }

  std::shared_ptr<envd> daemon_;
  workspace_place where_;
  std::string setsid_;
  std::function<void()> used_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
