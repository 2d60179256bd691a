// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/core/allotment.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/serve/mcp/detail/background.hpp>
#include <cofferdam/serve/mcp/detail/lazy.hpp>
#include <cofferdam/serve/mcp/detail/live_report.hpp>
#include <cofferdam/serve/mcp/detail/python_contexts.hpp>
#include <cofferdam/serve/mcp/detail/request.hpp>
#include <cofferdam/tools/tool.hpp>

#include <asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline v0::mcp::detail {

/// A runner, and the environment that it may run in.
class opened_runner {
 public:
  std::shared_ptr<any_environment> environment;
  any_runner runner;
};

/// What a server gives each of its clients.
class workspace_plan {
 public:
  lazy<any_environment>::open_action open_environment;
  /// Is given the open environment where there is one.
  std::function<awaitable<std::shared_ptr<opened_runner>>(std::shared_ptr<any_environment>)> open_runner;
  /// Whether there are files in it before it is opened.
  bool has_files = false;
  std::size_t at_once = 8;
  std::size_t waiting = 64;
};

/// An environment and a runner, made when they are first used, and what runs in them: what a client session has for itself.
class workspace : public std::enable_shared_from_this<workspace> {
 public:
  using tool_maker = std::function<tools::any_tool(any_environment&)>;

  workspace(asio::any_io_executor executor, const workspace_plan& plan)
      : executor_(executor),
        work_(std::make_shared<tasks>(executor)),
        turns_(executor, plan.at_once),
        most_waiting_(plan.waiting),
        has_files_(plan.has_files),
        environment_(
            std::make_shared<lazy<any_environment>>(executor, work_, plan.open_environment, close_environment)),
        runner_(std::make_shared<lazy<opened_runner>>(executor, work_, opener(plan, environment_), close_runner)),
        face_(any_environment(lazy_environment(environment_))),
        commands_(executor) {}

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  bool has_environment() const noexcept { return environment_->can_open(); }
  /// Whether there may be files: it is open, or has some from before.
  bool may_have_files() const noexcept { return has_environment() && (environment_->now() || has_files_); }
  /// Whether anything was opened.
  bool is_open() const noexcept { return environment_->now() || runner_->now(); }

  awaitable<std::shared_ptr<any_environment>> environment() { return lazy<any_environment>::get(environment_); }
  awaitable<std::shared_ptr<opened_runner>> runner() { return lazy<opened_runner>::get(runner_); }
  /// The environment, opened by its first use.
  any_environment& face() noexcept { return face_; }
  background_commands& commands() noexcept { return commands_; }
  python_contexts& contexts() noexcept { return contexts_; }
  /// Null where none is open.
  std::shared_ptr<opened_runner> open_runner_now() const noexcept { return runner_->now(); }
  tasks& work() noexcept { return *work_; }

  tools::any_tool& tool(const std::string& name, const tool_maker& make) {
    const auto found = tools_.find(name);
    if (found != tools_.end()) return found->second;
    return tools_.emplace(name, make(face_)).first->second;
  }

  /// Tells what work comes to, where the client wants to know; null where not.
  std::shared_ptr<live_report> report(const std::shared_ptr<request>& of, const std::string& logger) {
    if (!live_report::is_wanted(*of)) return nullptr;
    auto made = std::make_shared<live_report>(of, logger);
    work_->spawn(live_report::run(made));
    return made;
  }

  /// One of the places for work that runs at once.
  /// \throws error{errc::too_large} where too many wait.
  static awaitable<void> take_turn(std::shared_ptr<workspace> self) {
    if (self->turns_.try_take(1)) co_return;
    if (self->waiting_ >= self->most_waiting_)
      throw error(errc::too_large, "busy: too many calls wait already; wait for some to end");
    const counted mine(self->waiting_);
    co_await self->turns_.take(1, "call");
  }
  cofferdam::detail::allotted turn() { return {turns_, 1}; }

  /// What a failure of the environment's says about it: how often it was opened until then.
  std::pair<std::uint64_t, std::uint64_t> generation() const noexcept {
    return {environment_->generation(), runner_->generation()};
  }
  /// What was open then is lost.
  void drop(const std::pair<std::uint64_t, std::uint64_t>& generation) {
    runner_->drop(generation.second);
    environment_->drop(generation.first);
  }

  /// Ends everything in it. Not cancelled; calls have ended before.
  static awaitable<void> close(std::shared_ptr<workspace> self) {
    if (std::exchange(self->closed_, true)) co_return;
    self->environment_->refuse();
    self->runner_->refuse();
    self->work_->cancel();
    co_await tasks::join(self->work_);
    self->commands_.clear();
    std::exception_ptr failure;
    try {
      co_await lazy<opened_runner>::close(self->runner_);
    } catch (...) {
      failure = std::current_exception();
    }
    co_await lazy<any_environment>::close(self->environment_);
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

  static awaitable<void> close_environment(std::shared_ptr<any_environment> one) { co_await one->close(); }
  static awaitable<void> close_runner(std::shared_ptr<opened_runner> one) { co_await one->runner.close(); }

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
  cofferdam::detail::allotment turns_;
  std::size_t most_waiting_;
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

}  // namespace cofferdam::inline v0::mcp::detail
