// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/protections.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/os/child_process.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/pipe.hpp>
#include <cofferdam/os/reaper.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>

namespace cofferdam::inline v0 {

/// How the children of an environment are held.
class child_settings {
 public:
  /// The limit of commands that have none of their own; `no_timeout` for none.
  std::chrono::milliseconds default_timeout{std::chrono::minutes(5)};
  /// From SIGTERM to SIGKILL.
  std::chrono::milliseconds kill_grace{500};
  /// How long a background child may go on writing once the command has ended.
  std::chrono::milliseconds output_grace{100};
  /// What every result says of the walls; may be null.
  std::shared_ptr<const protections> walls;
};

namespace detail {

class child_keeper {
 public:
  child_keeper(asio::any_io_executor executor, child_settings settings)
      : executor_(std::move(executor)), settings_(std::move(settings)), registry_(std::make_shared<child_registry>()) {
    reaper::instance().sweep();
    require_child_status();
    nothing_ = usable(unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), "/dev/null");
  }

  child_keeper(const child_keeper&) = delete;
  child_keeper& operator=(const child_keeper&) = delete;

  /// A started child, or the result that says why there is none.
  class launched {
   public:
    std::shared_ptr<child_process> child;
    command_result refusal;
  };

  launched launch(command& c, spawn_request& request) {
    if (closing_) throw error(errc::environment_closed, "the environment is closed; open another one");
    launched outcome;
    pipe_ends out = make_pipe();
    pipe_ends err = make_pipe();
    set_nonblocking(out.read_end);
    set_nonblocking(err.read_end);
    pipe_ends in;
    request.input = nothing_.get();
    if (c.input() || c.has_open_input()) {
      in = make_pipe();
      set_nonblocking(in.write_end);
      request.input = in.read_end.get();
    }
    request.output = out.write_end.get();
    request.error = err.write_end.get();

    const auto before = std::chrono::steady_clock::now();
    spawned started = spawn(request);
    if (!started.ok()) {
      outcome.refusal = refuse_unstarted(c, started);
      return outcome;
    }
    child_limits limits;
    limits.timeout = c.timeout().value_or(settings_.default_timeout);
    if (*limits.timeout == no_timeout) limits.timeout.reset();
    limits.grace = settings_.kill_grace;
    limits.linger = settings_.output_grace;
    limits.kept_output = c.kept_output().value_or(command::default_kept_output);
    limits.open_input = c.has_open_input();
    try {
      outcome.child =
          std::make_shared<child_process>(executor_, registry_, started.pid(), started.pidfd(), std::move(in.write_end),
                                          std::move(out.read_end), std::move(err.read_end), limits, before);
      outcome.child->begin(c.take_input());
    } catch (...) {  // it runs already, and nobody is going to know it
      if (outcome.child) {
        outcome.child->abandon();
      } else {
        ::kill(-started.pid(), SIGKILL);
        reaper::instance().adopt(std::move(started.pidfd()));
      }
      throw_translated();
    }
    return outcome;
  }

  static awaitable<command_result> run(std::shared_ptr<child_keeper> self, command c, spawn_request request) {
    if (c.has_open_input())
      throw error(errc::invalid_argument, "run_command: open_input() needs start(); give the whole input with input()");
    launched started = self->launch(c, request);
    if (!started.child) co_return std::move(started.refusal);
    const abandon_at_end guard(started.child);
    co_await child_process::complete(started.child, "run_command");
    command_result result = started.child->take_result();
    result.walls(self->settings_.walls);
    co_return result;
  }

  static awaitable<process> start(std::shared_ptr<child_keeper> self, command c, spawn_request request) {
    launched started = self->launch(c, request);
    if (!started.child) co_return process::finished(std::move(started.refusal));
    std::unique_ptr<handle> made;
    try {
      made = std::make_unique<handle>(std::move(self), started.child);
    } catch (...) {
      started.child->abandon();
      throw;
    }
    co_return process(std::move(made));
  }

  static awaitable<void> close(std::shared_ptr<child_keeper> self) {
    self->closing_ = true;
    const std::vector<std::shared_ptr<child_process>> running = self->living();
    for (const std::shared_ptr<child_process>& child : running) {
      child->end(end_reason::closed);
      child->drain();
    }
    for (const std::shared_ptr<child_process>& child : running) co_await child->until_finished_shielded();
    reaper::instance().sweep();
  }

  void abandon() noexcept {
    closing_ = true;
    const std::vector<child_process*>& all = registry_->children();
    for (std::size_t i = all.size(); i-- > 0;)  // backwards: one that goes takes itself out of the list
      if (const std::shared_ptr<child_process> kept = all[i]->weak_from_this().lock()) kept->abandon();
  }

 private:
  /// A coroutine that is thrown away while its command runs must not leave it running.
  class abandon_at_end {
   public:
    explicit abandon_at_end(std::shared_ptr<child_process> child) : child_(std::move(child)) {}
    abandon_at_end(const abandon_at_end&) = delete;
    abandon_at_end& operator=(const abandon_at_end&) = delete;
    ~abandon_at_end() { child_->abandon(); }

   private:
    std::shared_ptr<child_process> child_;
  };

  class handle final : public process::implementation {
   public:
    handle(std::shared_ptr<child_keeper> keeper, std::shared_ptr<child_process> child)
        : keeper_(std::move(keeper)), child_(std::move(child)) {}
    ~handle() override { child_->abandon(); }

    awaitable<chunk> read() override { return child_->read(); }
    awaitable<void> write_input(bytes_view data) override { return child_->write_input(data); }
    awaitable<void> close_input() override {
      child_->close_input();
      co_return;
    }
    awaitable<void> signal(int number) override {
      if (number < 1 || number > 64)
        throw error(errc::invalid_argument, "signal: " + std::to_string(number) + " is no signal; they are 1 to 64");
      child_->send(number);
      co_return;
    }
    awaitable<command_result> wait() override {
      co_await child_process::complete(child_, "wait");
      command_result result = child_->result();
      result.walls(keeper_->settings_.walls);
      co_return result;
    }

   private:
    std::shared_ptr<child_keeper> keeper_;
    std::shared_ptr<child_process> child_;
  };

  /// Rethrows what is being handled; what Asio threw as one of our errors.
  [[noreturn]] static void throw_translated() {
    try {
      throw;
    } catch (const error&) {
      throw;
    } catch (const std::system_error& failure) {
      throw error(errc::io_error, std::string("the command was ended: it cannot be watched: ") + failure.what(),
                  failure.code());
    }
  }

  /// Without a status to take, every result would be a guess.
  static void require_child_status() {
    struct sigaction action {};
    if (::sigaction(SIGCHLD, nullptr, &action) != 0) return;
    const bool ignored = (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
    if (ignored || (action.sa_flags & SA_NOCLDWAIT) != 0)
      throw error(errc::provider_failed,
                  "this program ignores SIGCHLD, so the kernel throws exit codes away; set it to SIG_DFL");
  }

  std::vector<std::shared_ptr<child_process>> living() const {
    std::vector<std::shared_ptr<child_process>> all;
    for (child_process* child : registry_->children())
      if (std::shared_ptr<child_process> kept = child->weak_from_this().lock()) all.push_back(std::move(kept));
    return all;
  }

  asio::any_io_executor executor_;
  child_settings settings_;
  std::shared_ptr<child_registry> registry_;
  unique_fd nothing_;
  bool closing_ = false;
};

}  // namespace detail

/// The running commands of one environment: the half of a backend that starts processes on this machine. See
/// examples/custom_backend.cpp for the other half.
///
/// Output is drained within its cap, limits are held, the end is seen whether or not anybody awaits it. Ending a command
/// ends its process group. Movable while idle. Destroyed without `close()`, it kills every child and waits for nothing.
/// \par Threads  one executor at a time.
class child_processes {
 public:
  /// \throws error{errc::provider_failed} where the program ignores SIGCHLD: then nobody can know how a command ended.
  explicit child_processes(asio::any_io_executor executor, child_settings settings = child_settings())
      : keeper_(std::make_shared<detail::child_keeper>(std::move(executor), std::move(settings))) {}

  child_processes(child_processes&&) noexcept = default;
  child_processes& operator=(child_processes&& other) noexcept {
    if (this != &other) {
      abandon();
      keeper_ = std::move(other.keeper_);
    }
    return *this;
  }
  ~child_processes() { abandon(); }

  /// Runs a command to its end: what `run_command` of an environment does.
  /// \param c        its limits, input and output settings count; `refuse_invalid` has let it through.
  /// \param request  as `request_for` makes it, with the directory; borrowed descriptors live until the awaitable completes.
  awaitable<command_result> run(command c, spawn_request request) {
    return detail::child_keeper::run(keeper_, std::move(c), std::move(request));
  }

  /// Starts a command: what `start` of an environment does.
  awaitable<process> start(command c, spawn_request request) {
    return detail::child_keeper::start(keeper_, std::move(c), std::move(request));
  }

  /// Ends every child and waits for that; whoever awaits one gets error{errc::environment_closed}. Not cancelled.
  awaitable<void> close() {
    return detail::shielded([keeper = keeper_] { return detail::child_keeper::close(keeper); });
  }

  /// Kills every child and waits for nothing; what the destructor does. Nothing can be started afterwards.
  void abandon() noexcept {
    if (keeper_) keeper_->abandon();
  }

 private:
  std::shared_ptr<detail::child_keeper> keeper_;
};

}  // namespace cofferdam::inline v0
