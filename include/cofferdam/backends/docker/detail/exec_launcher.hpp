// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/exec_command.hpp>
#include <cofferdam/backends/docker/detail/exec_place.hpp>
#include <cofferdam/backends/docker/detail/exec_script.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/detail/os/running_command.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/spawn.hpp>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// A launcher of commands that are Docker execs (processes that the daemon starts in a running container, as `docker
/// exec` does).
class exec_launcher final : public cofferdam::detail::command_launcher {
 public:
  exec_launcher(std::shared_ptr<exec_place> place, command_settings settings)
      : cofferdam::detail::command_launcher(place->api()->executor(), std::move(settings)), place_(std::move(place)) {}

  /// Makes all commands fail when the container is lost. Must be called once, directly after the construction; the
  /// constructor cannot do this, because `weak_from_this` does not work there.
  void watch() {
    place_->on_lost([weak = weak_from_this()](const error& reason) {
      const auto self = std::static_pointer_cast<exec_launcher>(weak.lock());
      if (self) self->lose_commands(reason);
    });
  }

  void lose(const error& reason) noexcept override {
    const auto kept = shared_from_this();
    if (!place_->has_lease())
      fail_unfinished(reason);  // an adopted container continues to run, so each command is ended separately
    basic_command_launcher::abandon();
    if (!place_->has_lease()) return;
    lose_commands(reason);
    place_->close();
  }
  void abandon() noexcept override {
    if (place_->has_lease()) return lose(closed_);
    basic_command_launcher::abandon();
  }

  const exec_place& place() const noexcept { return *place_; }
  void check_open() const {
    require_open();
    if (place_->lost()) throw *place_->lost();
  }

 private:
  launched launch(command& c, spawn_request& request) override {
    check_open();
    if (c.background() == background_policy::keep)
      throw error(exec_errc::unsupported,
                  "docker: without a warden, background processes of a command cannot be kept; start them as separate "
                  "commands, or use an image for amd64 or arm64");
    launched outcome;
    if (!exec_order::can_set(request.variables))
      throw error(
          exec_errc::invalid_argument,
          "docker: without a warden, a variable whose value is not UTF-8 needs a name of only letters, digits and '_'");
    const auto limits = limits_of(c);
    std::vector<std::string> words = request.words;
    if (c.is_shell()) words.front() = request.candidates.front();
    const std::string mark = "\x1e" + cofferdam::detail::random_digits(32);
    std::string tag;
    if (!place_->has_lease()) {
      tag = "COFFERDAM_COMMAND=" + cofferdam::detail::random_digits();
      request.variables.push_back(tag);
    }
    exec_order order(mark, request.directory_path, c.terminal(), limits.linger, request.variables, words);
    if (order.is_too_long()) {
      outcome.refusal =
          refuse_unstarted(shown_program(c), spawn_stage::exec, std::error_code(E2BIG, std::system_category()));
      return outcome;
    }
    const bool has_input = c.input() || c.has_open_input();
    const auto exec = cofferdam::detail::make_command<exec_command>(
        executor(), registry(), limits, std::chrono::steady_clock::now(), executor(), place_, std::move(order), mark,
        std::move(tag), shown_program(c), has_input);
    exec->begin(c.take_input());
    outcome.running = exec->command().kept();
    return outcome;
  }

  std::shared_ptr<exec_place> place_;
  // Made in advance, so that abandon() does not have to allocate memory.
  const error closed_{exec_errc::environment_closed, "the environment is closed"};
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
