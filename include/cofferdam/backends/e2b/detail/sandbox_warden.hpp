// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/over_bootstrap.hpp>
#include <cofferdam/backends/detail/warden_delivery.hpp>
#include <cofferdam/backends/detail/warden_silence.hpp>
#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/detail/envd_wire.hpp>
#include <cofferdam/backends/e2b/detail/sandbox_facts.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/os/command_session.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/warden/session.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// The warden of a sandbox: the helper program that starts its commands. It is a process of envd, the daemon in the
/// sandbox. The daemon keeps the process when the connection breaks, so the warden has a lease: without contact, it
/// ends all commands and itself. When the connection is lost, the commands are lost, and `open` starts another warden.
/// \par Threads  the daemon's executor.
class sandbox_warden : public std::enable_shared_from_this<sandbox_warden> {
 public:
  /// The maximum time without contact after which the warden ends everything.
  static constexpr std::chrono::milliseconds lease{std::chrono::seconds(8)};

  /// \param commands   the limits of commands.
  /// \param isolation  the isolation that does not depend on the warden.
  /// \param root       the workspace.
  /// \param user       the user of commands.
  sandbox_warden(std::shared_ptr<envd> daemon, command_settings commands, isolation_report isolation, std::string root,
                 user_numbers user)
      : daemon_(std::move(daemon)), isolation_(std::move(isolation)) {
    settings_.commands = std::move(commands);
    settings_.root = std::move(root);
    settings_.uid = user.uid;
    settings_.gid = user.gid;
    settings_.output_window = output_window;
    settings_.lease = lease;
    settings_.heartbeat = beat;
    settings_.greeting_timeout = daemon_->request_timeout();
    // The walls are those of the sandbox, and commands may use sudo there, which these guards would forbid.
    settings_.landlock = 0;
    settings_.system_call_filter = false;
    isolation_.set(isolation_kind::host_death,
                   "all commands, after some seconds; everything, when the sandbox's lifetime expires");
    isolation_.set(isolation_kind::files, "the service's sandbox; file operations stay in the workspace");
  }
  sandbox_warden(const sandbox_warden&) = delete;
  sandbox_warden& operator=(const sandbox_warden&) = delete;

  /// Starts a warden, and begins a session with it. It runs as root, so that commands cannot end it. If the daemon does
  /// not allow this, it runs as the user of the commands.
  /// \throws error{exec_errc::unsupported} if the sandbox has no folder that allows both writing and executing, or an
  ///     architecture without a warden; error{exec_errc::provider_failed} if the warden does not start; and the errors
  ///     of calls of the daemon.
  static awaitable<void> open(std::shared_ptr<sandbox_warden> self) {
    if (!self->may_not_be_root_) {
      std::optional<error> failure;
      try {
        co_await start_in_time(self, "root");
      } catch (const error& reason) {
        failure = reason;
      }
      if (!failure) co_return;
      const bool is_refused =
          failure->code() == exec_errc::permission_denied || failure->code() == exec_errc::invalid_argument;
      if (!is_refused) throw *failure;
      self->may_not_be_root_ = true;
    }
    co_await start_in_time(self, std::string());
  }

  /// Returns true if there is a session that is not lost.
  bool is_open() const noexcept { return !session_.is_lost(); }
  /// Returns the process id of the warden's shell at the daemon; 0 if there is none.
  std::int64_t pid() const noexcept { return is_open() ? pid_ : 0; }

  command_session& session() noexcept { return session_; }
  const std::shared_ptr<session_files>& files() const noexcept { return files_; }

  /// Ends the warden, but not the processes that commands have left running (`background_policy::keep`).
  awaitable<void> release(error reason) { return session_.release(std::move(reason), release_time); }
  void lose(const error& reason) noexcept { session_.lose(reason); }
  void abandon() noexcept { session_.abandon(); }

 private:
  static awaitable<void> start_in_time(std::shared_ptr<sandbox_warden> self, std::string user) {
    const auto starts = [&] { return start(self, std::move(user)); };
    co_await envd::in_time(self->daemon_, std::ref(starts), "start the warden");
  }
  static awaitable<void> start(std::shared_ptr<sandbox_warden> self, std::string user) {
    const bool is_root = user == "root";
    std::vector<std::string> words{"/bin/sh", "-c", std::string(cofferdam::detail::over_script)};
    envd_wire wire = co_await envd_wire::start(self->daemon_, std::move(words), std::move(user));
    const std::int64_t pid = wire.pid();
    cofferdam::detail::delivery_order order;
    order.speaker = "e2b";
    order.workspace = self->settings_.root;
    cofferdam::detail::warden_delivery<envd_wire> delivery(wire, std::move(order));
    bool reached = false;
    const std::string first = co_await delivery.run(reached);
    wire.put_back(first);
    warden_settings settings = self->settings_;
    isolation_report isolation = self->isolation_;
    isolation.set(isolation_kind::process_tree, is_root && settings.uid != 0
                                                    ? "everything the command started, unless it becomes root"
                                                    : "everything the command started, unless it ends the warden");
    settings.commands.isolation = std::make_shared<const isolation_report>(std::move(isolation));
    settings.silent = [kept = self->weak_from_this()] {
      if (const std::shared_ptr<sandbox_warden> warden = kept.lock()) warden->on_silence();
    };
    warden_session session =
        co_await warden_session::open(self->daemon_->executor(), std::move(wire), std::move(settings));
    self->files_ = session.files();
    self->session_ = std::move(session);
    self->pid_ = pid;
  }

  /// Called if the warden has not answered between two pings. After a lease it has ended everything.
  void on_silence() {
    if (!silence_.is_too_long(beat)) return;
    session_.lose(
        error(exec_errc::provider_lost, "e2b: the sandbox " + daemon_->id() + " has not answered for more than " +
                                            std::to_string(lease.count()) + " ms, so its commands have ended"));
  }

  /// Larger than usual, because each piece of credit for more output is an HTTP request to the service.
  static constexpr std::uint32_t output_window = 1024 * 1024;
  /// The maximum time that a released warden has to end.
  static constexpr std::chrono::milliseconds release_time{std::chrono::seconds(2)};
  /// The time between two pings.
  static constexpr std::chrono::milliseconds beat = lease / cofferdam::detail::warden_silence::in_lease;

  std::shared_ptr<envd> daemon_;
  isolation_report isolation_;
  warden_settings settings_;
  warden_session session_;
  std::shared_ptr<session_files> files_;
  std::int64_t pid_ = 0;
  cofferdam::detail::warden_silence silence_;
  bool may_not_be_root_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
