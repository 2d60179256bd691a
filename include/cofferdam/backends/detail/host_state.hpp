// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/environment_state.hpp>
#include <cofferdam/backends/detail/host_folders.hpp>
#include <cofferdam/backends/detail/local_commands.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/homed_files.hpp>
#include <cofferdam/detail/core/short_pause.hpp>
#include <cofferdam/os/command_request.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The state of one open environment on this machine, shared by the coroutines of its commands. `Place` has what
/// differs:
///
/// * `settings_type`: the type of the settings;
/// * `static open(executor, settings)`: a coroutine that returns a `std::shared_ptr<host_state<Place>>`;
/// * `static constexpr const char* name`: the backend's, for errors; `nothing_open`: the error message if there is no
///   environment;
/// * `variables(folders, shell)`: the variables of every command;
/// * `judge(folders, c, advice)`: returns the result of a command that is refused, or sets the advice of the result;
/// * `enter(folders, c, request, opened)`: sets the directory in which a command starts, and returns true; `opened`
///   keeps it open. Returns false if `static resolve(self, c, request)`, a coroutine, must do so;
/// * `closed()`: called when all processes have ended; if it returns false, again after 5 ms, at most 100 times;
/// * `files(folders, commands)`: the operations on files. If callers on any executor may use them, `static
///   shared_files(folders)` returns the same object, which has the member `share` of `workspace_files`;
/// * `can_be_lost()`: returns false if `lost()` never returns an error;
/// * `lost()`: returns the error with which the environment must end; no value if it may be used.
template <class Place>
class host_state : public environment_state<host_state<Place>> {
  using base = environment_state<host_state<Place>>;

 public:
  using settings_type = typename Place::settings_type;

  static awaitable<std::shared_ptr<host_state>> open(asio::any_io_executor executor,
                                                     std::shared_ptr<const settings_type> wanted) {
    return Place::open(std::move(executor), std::move(wanted));
  }

  host_state(asio::any_io_executor executor, Place place, std::shared_ptr<host_folders> folders,
             local_commands commands, std::string shell)
      : base(executor),
        home_(executor),
        executor_(std::move(executor)),
        place_(std::move(place)),
        folders_(std::move(folders)),
        commands_(std::move(commands)) {
    this->variables_ = place_.variables(*folders_, shell);
    this->shell_ = std::move(shell);
    if constexpr (has_shared_files<host_state>)
      if (shares_files(*this)) shared_files().share(home_, [this] { require_usable(); });
  }

  static constexpr const char* nothing_open = Place::nothing_open;

  template <class Operation>
  static auto with_files(const std::shared_ptr<host_state>& self, Operation operation) {
    self->require_usable();
    return operation(self->place_.files(*self->folders_, self->commands_));
  }

  /// Returns the files, for `run_on_files`. Any thread may call this function.
  auto& shared_files() const noexcept
    requires requires(host_folders& folders) { Place::shared_files(folders); }
  {
    return Place::shared_files(*folders_);
  }

  /// Returns the strand. All non-const members are called on it, unless documented otherwise.
  const home_strand& home() const noexcept { return home_; }
  const Place& place() const noexcept { return place_; }
  Place& place() noexcept { return place_; }
  const host_folders& folders() const noexcept { return *folders_; }
  const local_commands& commands() const noexcept { return commands_; }
  local_commands& commands() noexcept { return commands_; }

  /// Returns true if the warden is lost. Any thread may call this function.
  bool is_lost() const noexcept { return commands_.session().is_lost(); }

  /// Kills everything at once and waits for nothing, for an environment that was destroyed without `close()`.
  void abandon() {
    this->close_at_once();
    commands_.abandon();
  }

  /// Ends everything at once, unless the environment closes. Operations fail with `reason`.
  void fail(const error& reason) noexcept {
    if (!this->closing_) commands_.lose(reason);
  }

  static awaitable<void> end(std::shared_ptr<host_state> self) {
    co_await self->commands_.close();
    // A killed process may need some time until it is gone. The next environment removes what is left after that.
    for (int attempt = 0; !self->place_.closed() && attempt < 100; ++attempt) co_await short_pause(self->executor_);
    co_await host_folders::remove(self->folders_, self->executor_);
  }

  static awaitable<guest_network> network(std::shared_ptr<host_state> self) {
    self->require_usable();
    co_return self->commands_.network();
  }

  static awaitable<prepared_command> prepare_command(std::shared_ptr<host_state> self, const command& c) {
    self->require_usable();
    prepared_command ready;
    ready.refusal = refuse_invalid(c);
    if (!ready.refusal) ready.refusal = self->place_.judge(*self->folders_, c, ready.advice);
    if (ready.refusal) co_return ready;
    ready.request = self->request_of(c);
    if (!self->place_.enter(*self->folders_, c, ready.request, ready.directory)) {
      co_await Place::resolve(self, c, ready.request);
      self->require_usable();
    }
    ready.session = &self->commands_.session();
    co_return ready;
  }

  static process started(const std::shared_ptr<host_state>& self, process running) {
    if (!self->place_.can_be_lost()) return running;
    return process(std::make_unique<checked_process>(self, std::move(running)));
  }

  std::vector<background_command> background() const {
    require_open();
    return commands_.session().background();
  }

  static awaitable<void> end_background(std::shared_ptr<host_state> self, std::uint32_t number) {
    self->require_open();
    co_await self->commands_.session().end_background(number);
  }

 private:
  /// A process that gets no further input if the environment must end.
  class checked_process final : public process::implementation {
   public:
    checked_process(std::weak_ptr<host_state> state, process running)
        : state_(std::move(state)), running_(std::move(running)) {}

    awaitable<output_chunk> read() override { return running_.read(); }
    awaitable<void> write_input(bytes_view data) override {
      if (const std::shared_ptr<host_state> state = state_.lock()) state->require_usable();
      return running_.write_input(data);
    }
    awaitable<void> close_input() override { return running_.close_input(); }
    awaitable<void> signal(int number) override { return running_.signal(number); }
    awaitable<void> resize(std::uint16_t rows, std::uint16_t columns) override {
      return running_.resize(rows, columns);
    }
    awaitable<command_result> wait() override { return running_.wait(); }
    awaitable<command_result> take_result() override { return std::move(running_).wait(); }
    std::shared_ptr<const isolation_report> isolation() const override { return running_.isolation(); }

   private:
    std::weak_ptr<host_state> state_;
    process running_;
  };

  void require_open() const {
    if (this->closing_)
      throw error(exec_errc::environment_closed,
                  std::string(Place::name) + ": the environment is closed; open another one");
  }

  void require_usable() {
    require_open();
    const std::optional<error> reason = place_.lost();
    if (!reason) return;
    fail(*reason);
    throw *reason;
  }

  home_strand home_;
  asio::any_io_executor executor_;
  Place place_;
  std::shared_ptr<host_folders> folders_;
  local_commands commands_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
