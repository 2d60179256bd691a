// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/over_bootstrap.hpp>
#include <cofferdam/backends/detail/over_program.hpp>
#include <cofferdam/backends/detail/warden_delivery.hpp>
#include <cofferdam/backends/detail/warden_place.hpp>
#include <cofferdam/backends/over_words.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/command_settings.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/warden/session.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The settings of `over`, shared by its environments.
class over_settings {
 public:
  std::vector<std::string> words;
  place_words passing = place_words::automatic;
  std::string workspace;
  std::string folder;
  std::vector<std::string> variables;        ///< each as `NAME=value`
  std::vector<std::string> place_variables;  ///< names
  std::string shell;
  std::chrono::milliseconds connect_timeout{std::chrono::seconds(30)};
  std::chrono::milliseconds lease{std::chrono::minutes(5)};
  command_settings commands;
};

/// The state of an open `over_environment`, shared by the coroutines of its operations.
class over_state : public warden_place<over_state> {
 public:
  over_state(const asio::any_io_executor& executor, std::shared_ptr<const over_settings> settings)
      : warden_place(executor), home_(executor), executor_(executor), settings_(std::move(settings)) {}
  over_state(const over_state&) = delete;
  over_state& operator=(const over_state&) = delete;

  static constexpr const char* is_closed = "over: the environment is closed; open another one";
  static constexpr const char* nothing_open =
      "over: not open (default-constructed or moved from); call open() on the provider first";

  /// Starts the program, and a warden in the place.
  static awaitable<std::shared_ptr<over_state>> open(asio::any_io_executor executor,
                                                     std::shared_ptr<const over_settings> settings) {
    const auto opened = std::make_shared<over_state>(executor, std::move(settings));
    const auto opens = [&opened] { return connect(opened); };
    const auto discards = [&opened] { return discard(opened); };
    co_await with_cleanup_after_failure(opens, discards);
    co_return opened;
  }

  const home_strand& home() const noexcept { return home_; }
  const std::string& workspace() const noexcept { return workspace_; }

  /// Ends the connection without waiting. The warden then ends everything.
  void abandon() noexcept {
    close_at_once();
    session_.abandon();
    if (program_) program_->abandon();
  }

 private:
  friend warden_place<over_state>;

  static awaitable<void> end_commands(std::shared_ptr<over_state> self) {
    // A lost place has nothing to finish, and may not read the end of its input either.
    self->patience_ = std::chrono::seconds(self->is_lost() ? 1 : 10);
    co_await self->session_.close();
  }

  static awaitable<void> release(std::shared_ptr<over_state> self) {
    co_await over_program::end(self->program_, self->patience_);
  }

  static awaitable<void> connect(std::shared_ptr<over_state> self) {
    const over_settings& settings = *self->settings_;
    self->program_ =
        over_program::start(self->executor_, bootstrap_words(settings.words, settings.passing), settings.words.size());
    self->program_->limit(settings.connect_timeout);
    std::string first = co_await bring_warden(self);
    over_stream stream(self->program_, std::move(first));
    warden_settings for_warden;
    for_warden.commands = settings.commands;
    for_warden.greeting_timeout = settings.connect_timeout;
    for_warden.lease = settings.lease;
    for_warden.root = self->workspace_;
    for_warden.heartbeat = settings.lease / warden_silence::in_lease;
    // a weak pointer, because the state owns the session, and the session owns these settings
    for_warden.silent = [kept = std::weak_ptr<over_state>(self)] {
      if (const std::shared_ptr<over_state> state = kept.lock()) state->on_silent_warden();
    };
    warden_session session = co_await warden_session::open(self->executor_, std::move(stream), std::move(for_warden));
    self->program_->answered();
    self->files_ = session.files();
    self->session_ = std::move(session);
  }

  /// Brings a warden to the place, and starts it.
  /// \return  the first bytes of the warden that have already arrived.
  static awaitable<std::string> bring_warden(std::shared_ptr<over_state> self) {
    delivery_order order;
    order.speaker = "over";
    order.folder = self->settings_->folder;
    order.workspace = self->settings_->workspace;
    order.folder_advice = "; set one with warden_folder(\"/path\")";
    over_stream wire(self->program_, std::string());
    warden_delivery<over_stream> delivery(wire, std::move(order));
    std::string first = co_await delivery.run(self->reached_);
    self->take(delivery.place());
    co_return first;
  }

  /// Sets the workspace, the shell and the variables of commands.
  void take(const place_report& place) {
    workspace_ = place.workspace();
    shell_ = settings_->shell.empty() ? place.shell() : settings_->shell;
    variables_ = {"PATH=" + std::string(default_path), "HOME=" + workspace_, "SHELL=" + shell_, "LANG=C.UTF-8",
                  "TMPDIR=" + place.folder() + "/tmp", "TERM=dumb"};
    for (const char* const name : {"PATH", "USER", "LOGNAME", "TZ"}) set(place.variable(name));
    for (const std::string& name : settings_->place_variables) set(place.variable(name));
    for (const std::string& each : settings_->variables) set(each);
  }

  void set(const std::string& variable) {
    if (variable.empty()) return;
    set_variable(variables_, variable);
  }

  /// Called if the warden has not answered between two pings.
  void on_silent_warden() {
    if (!silence_.is_too_long(settings_->lease / warden_silence::in_lease)) return;
    session_.lose(error(exec_errc::provider_lost, "over: nothing has come from the place through " +
                                                      one_line(settings_->words.front()) + " for " +
                                                      time_text(settings_->lease) + " (lease())"));
  }

  /// Ends the program after a failure of `open`. If the script runs in the place, it gets some time to remove its
  /// folder.
  static awaitable<void> discard(std::shared_ptr<over_state> self) {
    self->closing_ = self->closed_ = true;
    self->session_.abandon();
    if (!self->program_) co_return;
    const std::chrono::milliseconds patience = self->reached_ ? std::chrono::seconds(2) : std::chrono::seconds(0);
    co_await over_program::end(self->program_, patience);
  }

  home_strand home_;
  asio::any_io_executor executor_;
  std::shared_ptr<const over_settings> settings_;
  std::shared_ptr<over_program> program_;
  std::string workspace_;
  std::chrono::seconds patience_{10};  // with the end of the program, once the commands have ended
  bool reached_ = false;               // the script runs in the place
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
