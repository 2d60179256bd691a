// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/net/sha256.hpp>
#include <cofferdam/serve/detail/tasks.hpp>
#include <cofferdam/serve/e2b_gateway/detail/file_metadata.hpp>
#include <cofferdam/serve/e2b_gateway/detail/guest_names.hpp>
#include <cofferdam/serve/e2b_gateway/detail/opened.hpp>
#include <cofferdam/serve/e2b_gateway/detail/paths.hpp>
#include <cofferdam/serve/e2b_gateway/detail/port_relay.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_process.hpp>
#include <cofferdam/serve/e2b_gateway/detail/watch.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
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
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

using string_pairs = std::vector<std::pair<std::string, std::string>>;

/// The settings of a sandbox, which the client has requested or the gateway has assigned.
struct sandbox_settings {
  std::string id;
  std::string template_name;
  cofferdam::detail::sha256_digest owner{};
  std::optional<std::string> token;  ///< the access token; absent if the sandbox is not secured
  std::optional<std::string>
      traffic_token;  ///< the token for the further ports; present if the sandbox is secured and has such ports
  string_pairs metadata;
  string_pairs variables;
  std::string domain;  ///< the domain of the sandbox's host names, as clients receive it
  bool pauses_at_end = false;
  bool resumes_on_request = false;  ///< true if a request to the paused sandbox resumes it
  bool is_private = false;          ///< true if the further ports need a token, even if the sandbox is not secured
  std::chrono::seconds life{};      ///< the requested lifetime
  std::uint64_t number = 0;         ///< counts the sandboxes in the order of their creation
};

/// One slot in the limit of all keys, and one slot in the share of one key. The destructor returns both.
class owner_slots {
 public:
  owner_slots(std::shared_ptr<cofferdam::detail::async_semaphore> total_slots,
              std::shared_ptr<cofferdam::detail::async_semaphore> part, cofferdam::detail::held_permits of_owner,
              cofferdam::detail::held_permits of_all) noexcept
      : all_(std::move(total_slots)),
        part_(std::move(part)),
        of_owner_(std::move(of_owner)),
        of_all_(std::move(of_all)) {}

 private:
  std::shared_ptr<cofferdam::detail::async_semaphore>
      all_;  // declared first, so that both semaphores outlive the permits
  std::shared_ptr<cofferdam::detail::async_semaphore> part_;
  cofferdam::detail::held_permits of_owner_;
  cofferdam::detail::held_permits of_all_;
};

/// A sandbox: an environment, its processes, watchers and services, and its lifetime.
class served_sandbox : public std::enable_shared_from_this<served_sandbox> {
 public:
  enum class state { running, paused, ended };

  served_sandbox(asio::any_io_executor executor, const e2b_gateway::options& options, sandbox_settings settings,
                 opened_environment opened, std::unique_ptr<owner_slots> slots)
      : executor_(executor),
        options_(options),
        settings_(std::move(settings)),
        opened_(std::move(opened)),
        slots_(std::move(slots)),
        paths_(options.home(), opened_.workspace().empty() ? options.workspace() : opened_.workspace()),
        tasks_(std::make_shared<cofferdam::detail::joined_tasks>(executor)),
        changed_(executor),
        turn_(executor, 1),
        listings_(executor, 2),
        looks_(executor, 1),
        sweep_(executor) {}

  const sandbox_settings& settings() const noexcept { return settings_; }
  const e2b_gateway::options& options() const noexcept { return options_; }
  const asio::any_io_executor& executor() const noexcept { return executor_; }
  any_environment& environment() noexcept { return opened_.environment(); }
  const guest_paths& paths() const noexcept { return paths_; }
  metadata_store& metadata() noexcept { return metadata_; }
  /// Describes a file as the message `EntryInfo` of envd, E2B's daemon in a sandbox, with its metadata. Facts that the
  /// environment does not report are left out.
  /// \param path  the path of the file, as `guest_paths::locate` returns it.
  boost::json::object describe(const directory_entry& found, const std::string& path,
                               const metadata_store::values& metadata) const {
    boost::json::object object = paths_.describe(found, path);
    std::string owner = found.owner();
    std::string group = found.group();
    if (owner.empty() && found.owner_id()) owner = names_.user(*found.owner_id());
    if (group.empty() && found.group_id()) group = names_.group(*found.group_id());
    if (!owner.empty()) object["owner"] = valid_json_text(owner);
    if (!group.empty()) object["group"] = valid_json_text(group);
    if (const auto when = found.modified()) object["modifiedTime"] = timestamp(*when);
    if (const std::string target = found.target(); !target.empty())
      object["symlinkTarget"] = valid_json_text(paths_.target_of(path, target));
    metadata_store::describe(object, metadata);
    return object;
  }
  /// Reads the names of the guest's users and groups by a command, at the first call, if the environment reports only
  /// their numbers. `describe` then uses the names.
  /// \param found  an entry that will be described.
  static awaitable<void> learn_names(served_sandbox& self, const directory_entry& found) {
    if (self.has_names_ || !found.owner_id() || !found.owner().empty()) co_return;
    self.has_names_ = true;
    command reader = argv("/bin/sh", "-c", std::string(guest_names::script));
    reader.keep_output(std::size_t{256} * 1024);
    const command_result result = co_await self.environment().run_command(std::move(reader));
    if (result.ok() && result.out().cut() == 0) self.names_.read(as_text(result.out().head()));
  }
  /// Returns the name of the user of the guest's commands; an empty text if it has none, or no command may tell it.
  static awaitable<std::string> user_name(served_sandbox& self) {
    if (!self.user_) {
      command reader = argv("/bin/sh", "-c", "id -un");
      const command_result result = co_await self.environment().run_command(std::move(reader));
      const std::string name = result.ok() ? result.out().text() : std::string();
      self.is_walled_ = self.is_walled_ || isolates_files(result);
      self.user_ = name.substr(0, name.find('\n'));
    }
    co_return *self.user_;
  }
  cofferdam::detail::joined_tasks& tasks() noexcept { return *tasks_; }
  state now() const noexcept { return state_; }
  /// Returns true if the environment can be paused and resumed.
  bool can_pause() const noexcept { return opened_.environment().can_suspend(); }
  /// Returns true if the environment can save its files in a snapshot.
  bool can_save() const noexcept { return opened_.environment().can_suspend(); }
  std::chrono::system_clock::time_point started() const noexcept { return started_; }
  std::chrono::system_clock::time_point ends() const noexcept { return ends_shown_; }
  std::chrono::milliseconds rest() const noexcept {
    return std::chrono::duration_cast<std::chrono::milliseconds>(ends_ - steady_clock::now());
  }

  /// Sets the remaining lifetime, counted from now.
  void live(std::chrono::milliseconds time) {
    is_kept_ = false;
    ends_ = steady_clock::now() + time;
    ends_shown_ = std::chrono::system_clock::now() + time;
    wake();
  }

  /// Keeps the sandbox running after the end of its lifetime, because it cannot be paused.
  /// \return  false if this time has passed, too.
  bool keep(std::chrono::milliseconds time) {
    if (is_kept_) return false;
    live(time);
    is_kept_ = true;
    return true;
  }
  /// Returns true between a call of `keep` and the next one of `live`.
  bool is_kept() const noexcept { return is_kept_; }

  /// Waits for the end of the lifetime, which cannot be reached while the sandbox is paused.
  /// \return false if the sandbox was ended before.
  static awaitable<bool> until_end(std::shared_ptr<served_sandbox> self) {
    while (self->state_ != state::ended) {
      const bool counts = self->state_ == state::running;
      if (counts && steady_clock::now() >= self->ends_) co_return true;
      const steady_clock::time_point due = counts ? self->ends_ : cofferdam::detail::async_event::never;
      co_await self->changed_.wait(due);
    }
    co_return false;
  }

  /// Pauses the environment, after earlier calls of `pause` and `resume`. The clients' streams stay open, but send
  /// nothing.
  /// \return false if the sandbox is not running.
  static awaitable<bool> pause(std::shared_ptr<served_sandbox> self) {
    co_await self->turn_.acquire(1, "pause");
    const cofferdam::detail::held_permits turn(self->turn_, 1);
    if (self->state_ != state::running) co_return false;
    co_await self->environment().pause();
    if (self->state_ == state::running) self->state_ = state::paused;
    self->ends_shown_ = std::chrono::system_clock::now();
    self->wake();
    co_return true;
  }
  /// Resumes the environment, after earlier calls of `pause` and `resume`.
  /// \param life  the remaining lifetime afterwards.
  /// \return      false if the sandbox is not paused.
  static awaitable<bool> resume(std::shared_ptr<served_sandbox> self, std::chrono::milliseconds life) {
    co_await self->turn_.acquire(1, "resume");
    const cofferdam::detail::held_permits turn(self->turn_, 1);
    if (self->state_ != state::paused) co_return false;
    co_await self->environment().resume();
    if (self->state_ == state::paused) self->state_ = state::running;
    self->live(life);
    co_return true;
  }

  /// Returns true if the environment reports that the files of the host are isolated from its commands. Runs a command
  /// to find out, at the first call.
  /// \throws error{exec_errc::permission_denied} if a layer (middleware of the provider) refuses this command.
  static awaitable<bool> is_walled(served_sandbox& self) {
    if (!self.is_walled_) {
      command probe = argv("/bin/sh", "-c", ":");
      const command_result result = co_await self.environment().run_command(std::move(probe));
      if (result.kind() != error_kind::none)
        throw error(exec_errc::permission_denied,
                    "files outside of the home need a shell in the sandbox, which was refused: " + result.reason());
      self.is_walled_ = isolates_files(result);
    }
    co_return self.is_walled_;
  }

  /// Returns true if `is_walled` would, as far as commands have reported it already.
  bool is_known_walled() const noexcept { return is_walled_; }
  /// Returns true if a result reports that the files of the host were isolated from the command.
  static bool isolates_files(const command_result& result) {
    return result.kind() == error_kind::none && result.isolation().of(isolation_kind::files) != "none";
  }

  // ---- the processes of the sandbox ----
  const std::map<std::uint32_t, std::shared_ptr<served_process>>& processes() const noexcept { return processes_; }
  /// Returns a number for a new process. The numbers are not process ids of the system, and are larger than the maximum
  /// of Linux. So a command that uses such a number with `kill` cannot hit another process.
  std::uint32_t next_pid() noexcept { return next_pid_++; }
  void add(const std::shared_ptr<served_process>& served) {
    forget_old();
    processes_.emplace(served->pid(), served);
    tasks_->spawn(pump(shared_from_this(), served));
  }
  /// Returns the running process with this number; null if there is none.
  std::shared_ptr<served_process> find_process(std::uint32_t pid) const {
    const auto found = processes_.find(pid);
    return found == processes_.end() ? nullptr : found->second;
  }
  /// The time for which listeners that connect late still receive the end of a process.
  std::chrono::milliseconds ended_time{30'000};
  /// Returns the process with this number if it has ended less than `ended_time` ago; otherwise null.
  std::shared_ptr<served_process> find_ended(std::uint32_t pid) {
    forget_old();
    for (const auto& [when, served] : ended_)
      if (served->pid() == pid) return served;
    return nullptr;
  }
  std::shared_ptr<served_process> find_process(std::string_view tag) const {
    for (const auto& [pid, served] : processes_)
      if (!served->tag().empty() && served->tag() == tag) return served;
    return nullptr;
  }
  /// The number of processes that are being started.
  std::size_t starting = 0;
  /// False after the environment has refused to keep background processes.
  bool keeps_background = true;

  std::map<std::string, std::shared_ptr<served_watch>, std::less<>>& watchers() noexcept { return watchers_; }
  /// The number of bytes of input that processes have not read yet.
  std::size_t waiting_input = 0;
  /// Returns the semaphore for long replies. A long reply holds a permit until it is sent. So a client that does not
  /// read delays only its own sandbox.
  cofferdam::detail::async_semaphore& listings() noexcept { return listings_; }
  /// Returns the semaphore for reading a whole directory tree for a watch, and for the events of a watcher. No permit
  /// is held while a client or an event is awaited.
  cofferdam::detail::async_semaphore& looks() noexcept { return looks_; }

  /// The number of streams that watch directories.
  std::size_t watching = 0;

  // ---- services on other ports ----
  /// Passes a request to the service on a port.
  /// \return false if the port has no service, or the sandbox does not run.
  static awaitable<bool> serve(std::shared_ptr<served_sandbox> self, std::uint16_t port, http_call& call) {
    const auto factory = self->options_.ports().find(port);
    if (factory == self->options_.ports().end() || self->state_ != state::running) co_return false;
    std::unique_ptr<e2b_gateway::port_service>& service = self->services_[port];
    if (!service) {
      e2b_gateway::sandbox_facts facts(self->settings_.id, self->settings_.template_name, self->paths_.home());
      facts.workspace(self->paths_.workspace()).variables(self->settings_.variables);
      service = factory->second(self->environment(), facts);
    }
    co_await until_ended(self, service->serve(call), call);
    co_return true;
  }

  /// Returns true if the gateway can connect to servers in the sandbox.
  bool can_tunnel() const noexcept { return opened_.environment().can_tunnel(); }

  /// Passes a request to a server in the sandbox.
  /// \return false if the sandbox does not run.
  static awaitable<bool> pass_on(std::shared_ptr<served_sandbox> self, std::uint16_t port, http_call& call) {
    if (self->state_ != state::running) co_return false;
    guest_network network = self->environment().network();
    awaitable<void> relayed = port_relay::serve(std::move(network), self->settings_.id, port, call);
    co_await until_ended(self, std::move(relayed), call);
    co_return true;
  }

  /// Awaits the work for a request, until the sandbox has ended.
  static awaitable<void> until_ended(std::shared_ptr<served_sandbox> self, awaitable<void> work, http_call& call) {
    const counted mine(*self);
    auto served = asio::experimental::make_parallel_group(
        asio::co_spawn(self->executor_, std::move(work), cofferdam::detail::deferred),
        asio::co_spawn(self->executor_, ended(self), cofferdam::detail::deferred));
    const auto result = co_await served.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    if (self->state_ == state::ended && !call.replied())
      throw error(exec_errc::environment_closed, "the sandbox has ended");
    if (const std::exception_ptr& failure = std::get<1>(result)) std::rethrow_exception(failure);
  }

  /// Closes the services, then the environment, and then everything else of the sandbox. Call it once, and do not
  /// cancel it.
  /// \throws the exceptions of closing the services and the environment.
  static awaitable<void> close(std::shared_ptr<served_sandbox> self) {
    self->end();
    const auto services = std::make_shared<cofferdam::detail::joined_tasks>(self->executor_);
    services->spawn(close_services(self, services));
    co_await cofferdam::detail::joined_tasks::wait(services, patience);
    services->cancel();
    // A service that ignores the cancellation may wait for the guest, for example in a paused environment. It ends only
    // when the environment is closed. So the wait is limited here too, and continues below.
    co_await cofferdam::detail::joined_tasks::wait(services, patience);
    std::exception_ptr failure;
    try {
      co_await self->environment().close();
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      co_await cofferdam::detail::joined_tasks::join(services);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    while (self->serving_ != 0) co_await self->changed_.wait();
    self->services_.clear();
    self->tasks_->cancel();
    try {
      co_await cofferdam::detail::joined_tasks::join(self->tasks_);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    self->watchers_.clear();
    self->processes_.clear();
    self->ended_.clear();
    self->slots_.reset();
    self->is_closed_ = true;
    self->changed_.notify();
    if (failure) std::rethrow_exception(failure);
  }
  /// Marks the sandbox as ended, and wakes all coroutines that wait for a change.
  void end() noexcept {
    state_ = state::ended;
    wake();
  }
  static awaitable<void> until_closed(std::shared_ptr<served_sandbox> self) {
    while (!self->is_closed_) co_await self->changed_.wait();
  }

 private:
  class counted {
   public:
    explicit counted(served_sandbox& of) noexcept : of_(of) { ++of_.serving_; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() {
      --of_.serving_;
      of_.changed_.notify();
    }

   private:
    served_sandbox& of_;
  };

  // The time that the services have to end before they are cancelled, and again before the environment is closed.
  static constexpr std::chrono::milliseconds patience{1000};

  /// Waits until no request is served, and then closes all services at the same time, each in a task of `closing`.
  static awaitable<void> close_services(std::shared_ptr<served_sandbox> self,
                                        std::shared_ptr<cofferdam::detail::joined_tasks> closing) {
    while (self->serving_ != 0) {
      const cofferdam::detail::wait_result result = co_await self->changed_.wait();
      if (result == cofferdam::detail::wait_result::cancelled) co_return;
    }
    for (const auto& [port, service] : self->services_)
      if (service) closing->spawn(service->close());
  }

  static awaitable<void> ended(std::shared_ptr<served_sandbox> self) {
    while (self->state_ != state::ended) co_await self->changed_.wait();
    throw error(exec_errc::environment_closed, "the sandbox has ended");
  }
  static awaitable<void> pump(std::shared_ptr<served_sandbox> self, std::shared_ptr<served_process> served) {
    co_await served_process::pump(served);
    self->processes_.erase(served->pid());
    served->forget_request();
    if (!served->end() || self->state_ == state::ended) co_return;
    self->ended_.emplace_back(steady_clock::now(), served);
    self->forget_old();
    if (!std::exchange(self->is_sweeping_, true)) self->tasks_->spawn(sweep(self));
  }
  /// Forgets ended processes after `ended_time`, even if no request arrives.
  static awaitable<void> sweep(std::shared_ptr<served_sandbox> self) {
    while (!self->ended_.empty()) {
      co_await self->sweep_.wait(self->ended_.front().first + self->ended_time);
      self->forget_old();
    }
    self->is_sweeping_ = false;
  }
  void forget_old() {
    constexpr std::size_t max_ended = 256;
    const steady_clock::time_point old = steady_clock::now() - ended_time;
    while (!ended_.empty() && (ended_.front().first <= old || ended_.size() > max_ended)) ended_.pop_front();
  }
  void wake() noexcept { changed_.notify(); }

  asio::any_io_executor executor_;
  const e2b_gateway::options& options_;
  sandbox_settings settings_;
  opened_environment opened_;
  std::unique_ptr<owner_slots> slots_;
  guest_paths paths_;
  metadata_store metadata_;
  std::shared_ptr<cofferdam::detail::joined_tasks> tasks_;
  cofferdam::detail::async_event changed_;
  cofferdam::detail::async_semaphore turn_;
  cofferdam::detail::async_semaphore listings_;
  cofferdam::detail::async_semaphore looks_;
  cofferdam::detail::async_event sweep_;
  std::map<std::uint32_t, std::shared_ptr<served_process>> processes_;
  std::deque<std::pair<steady_clock::time_point, std::shared_ptr<served_process>>> ended_;
  std::map<std::string, std::shared_ptr<served_watch>, std::less<>> watchers_;
  std::map<std::uint16_t, std::unique_ptr<e2b_gateway::port_service>> services_;
  std::size_t serving_ = 0;
  std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
  std::chrono::system_clock::time_point ends_shown_ = started_;
  steady_clock::time_point ends_ = steady_clock::time_point::max();
  std::uint32_t next_pid_ = std::uint32_t{1} << 30U;
  state state_ = state::running;
  guest_names names_;
  std::optional<std::string> user_;
  bool has_names_ = false;
  bool is_kept_ = false;
  bool is_walled_ = false;
  bool is_sweeping_ = false;
  bool is_closed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
