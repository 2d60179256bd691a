// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/allotment.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/sha256.hpp>
#include <cofferdam/serve/detail/tasks.hpp>
#include <cofferdam/serve/e2b_gateway/detail/opened.hpp>
#include <cofferdam/serve/e2b_gateway/detail/paths.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_process.hpp>
#include <cofferdam/serve/e2b_gateway/detail/watch.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>
#include <cofferdam/serve/e2b_gateway/port_service.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

using gateway_strings = std::vector<std::pair<std::string, std::string>>;

/// What a sandbox was asked for with, and what it was given.
struct gateway_sandbox_settings {
  std::string id;
  std::string template_name;
  sha256_digest owner{};
  std::optional<std::string> token;          ///< where it is secured
  std::optional<std::string> traffic_token;  ///< there, for its further ports
  gateway_strings metadata;
  gateway_strings variables;
  bool pauses_at_end = false;
  std::uint64_t number = 0;  ///< in the order in which they were made
};

/// A sandbox: an environment, its processes and watchers, and the time at which it ends.
class gateway_sandbox : public std::enable_shared_from_this<gateway_sandbox> {
 public:
  enum class state { running, paused, ended };

  gateway_sandbox(asio::any_io_executor executor, const e2b_gateway_options& options, gateway_sandbox_settings settings,
                  gateway_opened opened, std::shared_ptr<allotment> places, allotted place)
      : executor_(executor),
        options_(options),
        settings_(std::move(settings)),
        opened_(std::move(opened)),
        places_(std::move(places)),
        place_(std::move(place)),
        paths_(options.home(), opened_.workspace().empty() ? options.workspace() : opened_.workspace()),
        tasks_(std::make_shared<joined_tasks>(executor)),
        timer_(executor),
        changed_(executor),
        turn_(executor, 1),
        listings_(executor, 2),
        looks_(executor, 1),
        sweep_(executor) {}

  const gateway_sandbox_settings& settings() const noexcept { return settings_; }
  const e2b_gateway_options& options() const noexcept { return options_; }
  const asio::any_io_executor& executor() const noexcept { return executor_; }
  any_environment& environment() noexcept { return opened_.environment(); }
  const gateway_paths& paths() const noexcept { return paths_; }
  joined_tasks& tasks() noexcept { return *tasks_; }
  state now() const noexcept { return state_; }
  bool can_pause() const noexcept { return static_cast<bool>(opened_.pause()); }
  std::chrono::system_clock::time_point started() const noexcept { return started_; }
  std::chrono::system_clock::time_point ends() const noexcept { return ends_shown_; }
  std::chrono::milliseconds rest() const noexcept {
    return std::chrono::duration_cast<std::chrono::milliseconds>(ends_ - gateway_clock::now());
  }

  /// It ends so much later than now.
  void live(std::chrono::milliseconds time) {
    ends_ = gateway_clock::now() + time;
    ends_shown_ = std::chrono::system_clock::now() + time;
    wake();
  }

  /// Waits for the end of its time. \return false where it ended before.
  static awaitable<bool> until_end(std::shared_ptr<gateway_sandbox> self) {
    while (self->state_ != state::ended) {
      const bool counts = self->state_ == state::running;
      if (counts && gateway_clock::now() >= self->ends_) co_return true;
      self->timer_.expires_at(counts ? self->ends_ : gateway_clock::time_point::max());
      std::error_code woken;
      co_await self->timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
    co_return false;
  }

  /// One after another. Streams go on to be open, and silent.
  static awaitable<bool> pause(std::shared_ptr<gateway_sandbox> self) {
    co_await self->turn_.take(1, "pause");
    const allotted turn(self->turn_, 1);
    if (self->state_ != state::running) co_return false;
    const gateway_opened::action& action = self->opened_.pause();
    co_await action();
    if (self->state_ == state::running) self->state_ = state::paused;
    self->ends_shown_ = std::chrono::system_clock::now();
    self->wake();
    co_return true;
  }
  /// \param life  from then on.
  static awaitable<bool> resume(std::shared_ptr<gateway_sandbox> self, std::chrono::milliseconds life) {
    co_await self->turn_.take(1, "resume");
    const allotted turn(self->turn_, 1);
    if (self->state_ != state::paused) co_return false;
    const gateway_opened::action& action = self->opened_.resume();
    co_await action();
    if (self->state_ == state::paused) self->state_ = state::running;
    self->live(life);
    co_return true;
  }

  // ---- processes ----
  const std::map<std::uint32_t, std::shared_ptr<gateway_process>>& processes() const noexcept { return processes_; }
  /// The next number. They are no process ids of any system, and larger than Linux lets one be: nobody who kills by number
  /// in a command hits a process that is somebody else's.
  std::uint32_t next_pid() noexcept { return next_pid_++; }
  void add(const std::shared_ptr<gateway_process>& one) {
    forget_old();
    processes_.emplace(one->pid(), one);
    tasks_->spawn(pump(shared_from_this(), one));
  }
  /// One that runs; null where there is none.
  std::shared_ptr<gateway_process> find_process(std::uint32_t pid) const {
    const auto found = processes_.find(pid);
    return found == processes_.end() ? nullptr : found->second;
  }
  /// How long who comes late still hears how a process has ended.
  std::chrono::milliseconds ended_time{30'000};
  /// One that has ended less than `ended_time` ago.
  std::shared_ptr<gateway_process> find_ended(std::uint32_t pid) {
    forget_old();
    for (const auto& [when, one] : ended_)
      if (one->pid() == pid) return one;
    return nullptr;
  }
  std::shared_ptr<gateway_process> find_process(std::string_view tag) const {
    for (const auto& [pid, one] : processes_)
      if (!one->tag().empty() && one->tag() == tag) return one;
    return nullptr;
  }
  /// Processes that are being started.
  std::size_t starting = 0;
  /// Whether the environment has not yet said that it cannot keep what commands leave running.
  bool keeps_background = true;

  std::map<std::string, std::shared_ptr<gateway_watch>, std::less<>>& watchers() noexcept { return watchers_; }
  /// Bytes of input that wait for processes to read them.
  std::size_t waiting_input = 0;
  /// Whose answers are long take one, until the answer has gone: who does not read it keeps only this sandbox waiting.
  allotment& listings() noexcept { return listings_; }
  /// Who looks at a whole tree for a watch takes one, and gives it back when it has looked: never waits for a client.
  allotment& looks() noexcept { return looks_; }

  /// Streams that watch.
  std::size_t watching = 0;

  // ---- services on other ports ----
  /// Has the service of that port answer. \return false where there is none.
  static awaitable<bool> serve(std::shared_ptr<gateway_sandbox> self, std::uint16_t port, http_call& call) {
    const auto factory = self->options_.ports().find(port);
    if (factory == self->options_.ports().end() || self->state_ != state::running) co_return false;
    std::unique_ptr<e2b_port_service>& service = self->services_[port];
    if (!service) {
      e2b_sandbox_facts facts(self->settings_.id, self->settings_.template_name, self->paths_.home());
      facts.workspace(self->paths_.workspace()).variables(self->settings_.variables);
      service = factory->second(self->environment(), facts);
    }
    const counted mine(*self);
    auto served =
        asio::experimental::make_parallel_group(asio::co_spawn(self->executor_, service->serve(call), detail::deferred),
                                                asio::co_spawn(self->executor_, ended(self), detail::deferred));
    const auto result = co_await served.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    if (self->state_ == state::ended && !call.replied()) throw error(errc::environment_closed, "the sandbox has ended");
    if (const std::exception_ptr& failure = std::get<1>(result)) std::rethrow_exception(failure);
    co_return true;
  }

  /// Ends everything that it has, then its environment. Once; not to be cancelled.
  /// \throws what the environment's own `close` throws.
  static awaitable<void> close(std::shared_ptr<gateway_sandbox> self) {
    self->end();
    std::exception_ptr failure;
    while (self->serving_ != 0) co_await self->changed_.next();
    for (auto& [port, service] : self->services_) {
      try {
        if (service) co_await service->close();
      } catch (...) {
        failure = std::current_exception();
      }
    }
    self->services_.clear();
    try {
      co_await self->environment().close();
    } catch (...) {
      failure = std::current_exception();
    }
    self->tasks_->cancel();
    try {
      co_await joined_tasks::join(self->tasks_);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    self->watchers_.clear();
    self->processes_.clear();
    self->ended_.clear();
    self->place_.give_back();
    self->is_closed_ = true;
    self->changed_.happened();
    if (failure) std::rethrow_exception(failure);
  }
  /// Nobody finds it running any more.
  void end() noexcept {
    state_ = state::ended;
    wake();
  }
  static awaitable<void> until_closed(std::shared_ptr<gateway_sandbox> self) {
    while (!self->is_closed_) co_await self->changed_.next();
  }

 private:
  class counted {
   public:
    explicit counted(gateway_sandbox& of) noexcept : of_(of) { ++of_.serving_; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() {
      --of_.serving_;
      of_.changed_.happened();
    }

   private:
    gateway_sandbox& of_;
  };

  static awaitable<void> ended(std::shared_ptr<gateway_sandbox> self) {
    while (self->state_ != state::ended) co_await self->changed_.next();
    throw error(errc::environment_closed, "the sandbox has ended");
  }
  static awaitable<void> pump(std::shared_ptr<gateway_sandbox> self, std::shared_ptr<gateway_process> one) {
    co_await gateway_process::pump(one);
    self->processes_.erase(one->pid());
    one->forget_request();
    if (!one->end() || self->state_ == state::ended) co_return;
    self->ended_.emplace_back(gateway_clock::now(), one);
    self->forget_old();
    if (!std::exchange(self->is_sweeping_, true)) self->tasks_->spawn(sweep(self));
  }
  /// Forgets those that have ended when they are old, whether anybody asks or not.
  static awaitable<void> sweep(std::shared_ptr<gateway_sandbox> self) {
    while (!self->ended_.empty()) {
      self->sweep_.expires_at(self->ended_.front().first + self->ended_time);
      std::error_code woken;
      co_await self->sweep_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      self->forget_old();
    }
    self->is_sweeping_ = false;
  }
  void forget_old() {
    constexpr std::size_t most = 256;
    const gateway_clock::time_point old = gateway_clock::now() - ended_time;
    while (!ended_.empty() && (ended_.front().first <= old || ended_.size() > most)) ended_.pop_front();
  }
  void wake() noexcept {
    try {
      timer_.cancel();
    } catch (const std::system_error&) {  // then nobody waits
    }
    changed_.happened();
  }

  asio::any_io_executor executor_;
  const e2b_gateway_options& options_;
  gateway_sandbox_settings settings_;
  gateway_opened opened_;
  std::shared_ptr<allotment> places_;
  allotted place_;
  gateway_paths paths_;
  std::shared_ptr<joined_tasks> tasks_;
  asio::steady_timer timer_;
  recurring_event changed_;
  allotment turn_;
  allotment listings_;
  allotment looks_;
  asio::steady_timer sweep_;
  std::map<std::uint32_t, std::shared_ptr<gateway_process>> processes_;
  std::deque<std::pair<gateway_clock::time_point, std::shared_ptr<gateway_process>>> ended_;
  std::map<std::string, std::shared_ptr<gateway_watch>, std::less<>> watchers_;
  std::map<std::uint16_t, std::unique_ptr<e2b_port_service>> services_;
  std::size_t serving_ = 0;
  std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
  std::chrono::system_clock::time_point ends_shown_ = started_;
  gateway_clock::time_point ends_ = gateway_clock::time_point::max();
  std::uint32_t next_pid_ = std::uint32_t{1} << 30U;
  state state_ = state::running;
  bool is_sweeping_ = false;
  bool is_closed_ = false;
};

}  // namespace cofferdam::inline v0::detail
