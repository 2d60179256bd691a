// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/over_bootstrap.hpp>
#include <cofferdam/backends/detail/over_program.hpp>
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
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/command_settings.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <asio/any_io_executor.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
    closing_ = true;
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
    self->program_ = over_program::start(self->executor_, bootstrap_words(settings.words, settings.passing));
    self->program_->limit(settings.connect_timeout);
    std::string first = co_await bring_warden(self);
    over_stream stream(self->program_, std::move(first));
    warden_settings for_warden;
    for_warden.commands = settings.commands;
    for_warden.greeting_timeout = settings.connect_timeout;
    for_warden.lease = settings.lease;
    for_warden.root = self->workspace_;
    for_warden.heartbeat = settings.lease / silent_beats;
    // a weak pointer, because the state owns the session, and the session owns these settings
    for_warden.silent = [kept = std::weak_ptr<over_state>(self)] {
      if (const std::shared_ptr<over_state> state = kept.lock()) state->on_silent_warden();
    };
    warden_session session = co_await warden_session::open(self->executor_, std::move(stream), std::move(for_warden));
    self->program_->answered();
    self->files_ = session.files();
    self->session_ = std::move(session);
  }

  /// Brings a warden to the place, and starts it, by the script `over_script`.
  /// \return  the bytes that have arrived after the last answer of the script.
  static awaitable<std::string> bring_warden(std::shared_ptr<over_state> self) {
    const over_settings& settings = *self->settings_;
    bootstrap_reader reader;
    bootstrap_answer answer = co_await next(self, reader);
    self->expect(answer, "ready");
    const warden_image image = warden_image_for(answer.value);
    if (image.program().empty())
      throw error(exec_errc::unsupported, "over: the place has a machine of the kind \"" + one_line(answer.value, 40) +
                                              "\", but wardens exist only for x86_64 and aarch64");
    self->reached_ = true;
    const std::string key = random_digits();
    const std::string order =
        key + "\n" + std::to_string(image.program().size()) + "\n" + settings.folder + "\n" + settings.workspace + "\n";
    co_await over_program::write(self->program_, as_bytes(std::string_view(order)));
    answer = co_await next(self, reader);
    if (answer.before.find(key) != std::string::npos) throw bootstrap_reader::terminal();  // it echoes its input
    self->expect(answer, "place");
    constexpr std::size_t most_variables = std::size_t{4} * 1024 * 1024;
    reader.longest(most_variables);
    answer = co_await next(self, reader);
    self->expect(answer, "send");
    self->take(place_report(answer.before));
    reader.longest(bootstrap_reader::max_skipped);
    const auto* const data = reinterpret_cast<const std::byte*>(image.program().data());
    co_await over_program::write(self->program_, bytes_view(data, image.program().size()));
    answer = co_await next(self, reader);
    self->expect(answer, "start");
    co_return reader.take_rest();
  }

  /// Returns the next answer of the script.
  static awaitable<bootstrap_answer> next(std::shared_ptr<over_state> self, bootstrap_reader& reader) {
    std::array<std::byte, 4096> piece;
    for (;;) {
      std::optional<bootstrap_answer> answer = reader.next();
      if (answer) co_return std::move(*answer);
      std::size_t got = 0;
      std::optional<error> failure;
      try {
        got = co_await over_program::read_some(self->program_, std::span(piece));
      } catch (const error& reason) {
        failure = reason;
      }
      if (failure) throw unanswered(*failure, reader);
      reader.arrived(bytes_view(piece.data(), got));
    }
  }

  /// Returns the error for a program that has ended, or whose time is over, before the next answer.
  static error unanswered(const error& reason, const bootstrap_reader& reader) {
    if (reason.code() == exec_errc::cancelled) return reason;
    std::string text = reason.what();
    const std::string printed = reader.shown();
    if (!printed.empty()) text += "; the program has printed \"" + printed + "\"";
    return error(exec_errc::provider_failed, std::move(text), reason.cause());
  }

  /// Throws the error for an answer that reports a failure.
  void expect(const bootstrap_answer& answer, std::string_view kind) const {
    if (answer.kind == kind) return;
    if (answer.kind == "terminal") throw bootstrap_reader::terminal();
    if (answer.kind == "folder") {
      std::string_view why(answer.value);
      if (why.ends_with(", ")) why.remove_suffix(2);
      throw error(exec_errc::unsupported, "over: the place has no folder that allows both writing and executing: " +
                                              one_line(why, 400) + "; set one with warden_folder(\"/path\")");
    }
    if (answer.kind == "workspace")
      throw error(exec_errc::provider_failed, "over: the workspace \"" + one_line(settings_->workspace) +
                                                  "\" does not exist in the place, and cannot be made");
    if (answer.kind == "short")
      throw error(exec_errc::provider_failed,
                  "over: the warden did not arrive whole in the place; its folder may be full: set another one with "
                  "warden_folder(\"/path\")");
    throw error(exec_errc::provider_failed, "over: the place answered \"" + one_line(answer.kind, 40) +
                                                "\" in place of \"" + std::string(kind) + "\"");
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
    const std::string start = variable.substr(0, variable.find('=') + 1);
    std::erase_if(variables_, [&start](const std::string& each) { return each.starts_with(start); });
    variables_.push_back(variable);
  }

  /// Called if the warden has not answered between two pings. Ends the session after the time of the lease, because the
  /// warden has then ended everything, too.
  void on_silent_warden() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::milliseconds beat = settings_->lease / silent_beats;
    silent_count_ = now - silent_at_ < beat + beat / 2 ? silent_count_ + 1 : 1;
    silent_at_ = now;
    if (silent_count_ < silent_beats) return;
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
  static constexpr int silent_beats = 3;
  std::chrono::steady_clock::time_point silent_at_;
  int silent_count_ = 0;               // the number of calls of `on_silent_warden` in a row
  std::chrono::seconds patience_{10};  // with the end of the program, once the commands have ended
  bool reached_ = false;               // the script runs in the place
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
