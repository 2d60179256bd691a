// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/serve/mcp/detail/background.hpp>
#include <cofferdam/serve/mcp/detail/lazy.hpp>
#include <cofferdam/serve/mcp/detail/live_report.hpp>
#include <cofferdam/serve/mcp/detail/python_contexts.hpp>
#include <cofferdam/serve/mcp/detail/request.hpp>
#include <cofferdam/tools/tool.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// A runner, and the client's environment in which it runs. The environment is null if the runner does not use it.
class opened_runner {
 public:
  std::shared_ptr<any_environment> environment;
  any_runner runner;
};

/// The plan by which a server makes the workspace of each client: how the server opens the environment and the runner,
/// and the limits on commands and files.
class workspace_plan {
 public:
  lazy<any_environment>::open_action open_environment;
  /// Opens the runner. The argument is the client's open environment; null if clients have none.
  std::function<awaitable<std::shared_ptr<opened_runner>>(std::shared_ptr<any_environment>)> open_runner;
  /// True if a new environment contains files before any tool has used it.
  bool has_files = false;
  std::size_t at_once = 8;
  std::size_t waiting = 64;
};

/// The environment and the runner of one client, which are opened at their first use, and the work that runs in them.
class workspace : public std::enable_shared_from_this<workspace> {
 public:
  using tool_maker = std::function<tools::any_tool(any_environment&)>;

  /// The time that cancelled work has to end before the environment is closed.
  static constexpr std::chrono::milliseconds patience{1000};

  workspace(asio::any_io_executor executor, const workspace_plan& plan)
      : executor_(executor),
        work_(std::make_shared<tasks>(executor)),
        turns_(executor, plan.at_once),
        max_waiting_(plan.waiting),
        has_files_(plan.has_files),
        environment_(std::make_shared<lazy<any_environment>>(executor, work_, lazy_sentences, plan.open_environment,
                                                             close_environment)),
        runner_(std::make_shared<lazy<opened_runner>>(executor, work_, lazy_sentences, opener(plan, environment_),
                                                      close_runner)),
        face_(any_environment(lazy_environment(environment_))),
        commands_(executor) {}

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  bool has_environment() const noexcept { return environment_->can_open(); }
  /// Returns true if the workspace may contain files: if its environment is open, or if new environments contain files.
  bool may_have_files() const noexcept { return has_environment() && (environment_->now() || has_files_); }
  /// Returns true if the environment or the runner is open.
  bool is_open() const noexcept { return environment_->now() || runner_->now(); }

  awaitable<std::shared_ptr<any_environment>> environment() { return lazy<any_environment>::get(environment_); }
  awaitable<std::shared_ptr<opened_runner>> runner() { return lazy<opened_runner>::get(runner_); }
  /// Returns the client's environment, which is opened when it is first used.
  any_environment& face() noexcept { return face_; }
  background_commands& commands() noexcept { return commands_; }
  python_contexts& contexts() noexcept { return contexts_; }
  /// Returns the runner if it is open; otherwise null.
  std::shared_ptr<opened_runner> open_runner_now() const noexcept { return runner_->now(); }
  tasks& work() noexcept { return *work_; }

  tools::any_tool& tool(const std::string& name, const tool_maker& make) {
    const auto found = tools_.find(name);
    if (found != tools_.end()) return found->second;
    return tools_.emplace(name, make(face_)).first->second;
  }

  /// Returns an object that reports the work of a request to its client; null if the client wants no reports.
  std::shared_ptr<live_report> report(const std::shared_ptr<request>& of, const std::string& logger) {
    if (!live_report::is_wanted(*of)) return nullptr;
    auto reporter = std::make_shared<live_report>(of, logger);
    work_->spawn(live_report::run(reporter));
    return reporter;
  }

  /// Waits until another call may run. Afterwards the caller must hold the result of `turn` as long as its call runs.
  /// \throws error{exec_errc::too_large} if too many calls wait already.
  static awaitable<void> take_turn(std::shared_ptr<workspace> self) {
    if (self->turns_.try_acquire(1)) co_return;
    if (self->waiting_ >= self->max_waiting_)
      throw error(exec_errc::too_large, "busy: too many calls are waiting; wait for some to end, then try again");
    const counted mine(self->waiting_);
    co_await self->turns_.acquire(1, "call");
  }
  /// Returns the permit that `take_turn` has acquired. Its destructor lets the next call run.
  cofferdam::detail::held_permits turn() { return {turns_, 1}; }

  /// Returns the numbers of the environment and of the runner. Each opened object gets a new number. After a failure,
  /// `drop` finds the lost objects by these numbers.
  std::pair<std::uint64_t, std::uint64_t> generation() const noexcept {
    return {environment_->generation(), runner_->generation()};
  }
  /// Drops the environment and the runner with these numbers, because they are lost. The next use opens new ones.
  void drop(const std::pair<std::uint64_t, std::uint64_t>& generation) {
    runner_->drop(generation.second);
    environment_->drop(generation.first);
  }

  /// Ends all background work, and closes the runner and the environment. Cannot be cancelled.
  static awaitable<void> close(std::shared_ptr<workspace> self) {
    if (std::exchange(self->closed_, true)) co_return;
    self->environment_->refuse();
    self->runner_->refuse();
    self->work_->cancel();
    // Some work may end only when the environment is closed. So the wait for it is limited here, and continues below.
    const auto inside = std::make_shared<tasks>(self->executor_);
    inside->spawn(close_inside(self));
    co_await tasks::wait(inside, patience);
    std::exception_ptr failure;
    try {
      co_await lazy<any_environment>::close(self->environment_);
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      co_await tasks::join(inside);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  class counted {
   public:
    explicit counted(std::size_t& count) noexcept : count_(count) { ++count_; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --count_; }

   private:
    std::size_t& count_;
  };

  static awaitable<void> close_inside(std::shared_ptr<workspace> self) {
    co_await tasks::join(self->work_);
    self->commands_.clear();
    co_await lazy<opened_runner>::close(self->runner_);
  }
  static awaitable<void> close_environment(std::shared_ptr<any_environment> opened) { co_await opened->close(); }
  static awaitable<void> close_runner(std::shared_ptr<opened_runner> opened) { co_await opened->runner.close(); }

  static lazy<opened_runner>::open_action opener(const workspace_plan& plan,
                                                 const std::shared_ptr<lazy<any_environment>>& environment) {
    if (!plan.open_runner) return {};
    return [open = plan.open_runner, environment] { return open_runner(open, environment); };
  }
  static awaitable<std::shared_ptr<opened_runner>> open_runner(decltype(workspace_plan::open_runner) open,
                                                               std::shared_ptr<lazy<any_environment>> environment) {
    std::shared_ptr<any_environment> inside;
    if (environment->can_open()) inside = co_await lazy<any_environment>::get(environment);
    std::shared_ptr<opened_runner> opened = co_await open(inside);
    co_return opened;
  }

  asio::any_io_executor executor_;
  std::shared_ptr<tasks> work_;
  cofferdam::detail::async_semaphore turns_;
  std::size_t max_waiting_;
  std::size_t waiting_ = 0;
  bool has_files_;
  bool closed_ = false;
  std::shared_ptr<lazy<any_environment>> environment_;
  std::shared_ptr<lazy<opened_runner>> runner_;
  any_environment face_;
  std::map<std::string, tools::any_tool> tools_;
  background_commands commands_;
  python_contexts contexts_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
