// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/detail/os/command_pipes.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/detail/os/running_command.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/warden/detail/link.hpp>
#include <cofferdam/warden/detail/protocol.hpp>
#include <cofferdam/warden/detail/warden_command.hpp>
#include <cofferdam/warden/detail/warden_connections.hpp>
#include <cofferdam/warden/detail/warden_files.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/prctl.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_warden_launcher;
using warden_launcher = basic_warden_launcher<>;

/// The part of `warden_session` that starts commands through a warden, the helper program in a sandbox. What files and
/// the network need is made by their first use, so that a program that uses neither does not compile them.
template <class Unused>
class basic_warden_launcher : public command_launcher, public link_listener, public frame_sink {
 public:
  basic_warden_launcher(const asio::any_io_executor& executor, warden_settings settings,
                        std::shared_ptr<warden_link> link)
      : command_launcher(executor, settings.commands),
        settings_(std::move(settings)),
        link_(std::move(link)),
        greeted_(executor),
        released_(executor),
        lease_(executor),
        heartbeat_(executor) {}

  /// Waits for the warden's first frame, `hello`, and sends the settings. Closes the link on failure.
  static awaitable<void> greet(std::shared_ptr<basic_warden_launcher> self) {
    self->link_->start(self);
    const auto limit = std::chrono::steady_clock::now() + self->settings_.greeting_timeout;
    wait_result woken = wait_result::notified;
    while (!self->hello_ && !self->lost_ && woken == wait_result::notified) woken = co_await self->greeted_.wait(limit);
    const bool cancelled = woken == wait_result::cancelled;
    if (self->hello_ && !cancelled) {
      wire::frame_writer frame(wire::frame_type::configure, 0);
      // Without rights, not even the own user and group can be set, because the other groups would have to go.
      if (self->settings_.uid == self->hello_->uid() && self->settings_.gid == self->hello_->gid())
        self->settings_.uid = self->settings_.gid = wire::keep_id;
      const bool as_another = self->settings_.uid != wire::keep_id || self->settings_.gid != wire::keep_id;
      frame.number(as_another ? std::uint32_t{wire::configure_identity} : std::uint32_t{0});
      frame.number(static_cast<std::uint32_t>(self->settings_.lease.count())).text(self->settings_.root);
      if (as_another) frame.number(self->settings_.uid).number(self->settings_.gid);
      self->link_->send(frame.take(), {});
      self->renew_lease();
      if (!self->settings().isolation) self->describe_isolation();
      co_return;
    }
    const std::optional<error> reason = self->lost_;
    self->disconnect();
    if (cancelled) throw error(exec_errc::cancelled, "open: cancelled while the warden was starting");
    if (reason)
      throw error(exec_errc::provider_failed, std::string("the warden did not start: ") + reason->what(),
                  reason->cause());
    throw error(exec_errc::provider_failed, "the warden sent no greeting within " +
                                                std::to_string(self->settings_.greeting_timeout.count()) + " ms");
  }

  const wire::hello& hello() const noexcept { return *hello_; }

  /// Closes the link (the connection to the warden). The warden then ends all commands and exits.
  void disconnect() noexcept { lose(closed_); }

  void lose(const error& reason) noexcept override {
    if (lost_) return;  // everything was released already, and this may be a destructor on another thread
    const auto kept = shared_from_this();  // closing the link may release the last other pointer to this object
    link_->close();
    lease_.cancel();
    heartbeat_.cancel();
    fail_all(reason);
  }

  void abandon() noexcept override {
    command_launcher::abandon();
    disconnect();
  }

  /// Returns the files beneath the root of the settings.
  /// \throws error{exec_errc::environment_closed} if the session is closed.
  static warden_files files(const std::shared_ptr<basic_warden_launcher>& self) {
    self->require_open();
    if (!self->requests_) self->requests_ = self->template receiver<file_requests>();
    return warden_files(self, self->requests_, self->settings_.root);
  }

  /// Returns the loopback network of the warden. Called where `network()` returns null.
  std::shared_ptr<guest_network::implementation> reached_network() {
    if (!connections_) connections_ = receiver<warden_connections>();
    return std::make_shared<warden_connections::network>(connections_, self_of(*this));
  }

  /// Ends every command, and waits for their ends.
  /// \throws error{exec_errc::provider_lost} if a command has not ended within the grace period and
  ///     `running_command::end_patience`. The link (the connection to the warden) is then closed.
  awaitable<void> close() override { return end_all(self_of(*this)); }

  void send(bytes frame) override {
    watch_heart();
    link_->send(std::move(frame), {});
  }

  bool rouse() override { return settings_.rouse && settings_.rouse(); }

  bool is_paused() override { return settings_.is_paused && settings_.is_paused(); }

  bool end_without_warden(const error& reason) override {
    if (!settings_.end_all) return false;
    settings_.end_all();
    lose(reason);
    return true;
  }

  std::vector<background_command> background() const override {
    std::vector<background_command> result;
    for (const auto& [number, running] : jobs_)
      if (running->command().finished() && !running->command().over()) result.emplace_back(number, running->title());
    std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.number() < b.number(); });
    return result;
  }

  awaitable<void> end_background(std::uint32_t number) override { return end_left(self_of(*this), number); }

  /// Ends the session and the warden, but not the processes that commands have left running. Waits at most `limit` for
  /// the end of the warden.
  static awaitable<void> release(std::shared_ptr<basic_warden_launcher> self, error reason,
                                 std::chrono::milliseconds limit) {
    if (self->lost_) co_return;
    self->link_->send(wire::frame_writer(wire::frame_type::release, 0).take(), {});
    const auto until = std::chrono::steady_clock::now() + limit;
    wait_result woken = wait_result::notified;
    while (!self->lost_ && woken == wait_result::notified) woken = co_await self->released_.wait(until);
    self->lose(reason);
  }

 private:
  /// Makes an object that receives frames from now on.
  template <class Receiver>
  std::shared_ptr<Receiver> receiver() {
    auto made = std::make_shared<Receiver>(executor());
    if (lost_) made->lose(*lost_);
    receivers_.push_back(made);
    return made;
  }

  static std::shared_ptr<basic_warden_launcher> self_of(basic_warden_launcher& launcher) {
    return std::static_pointer_cast<basic_warden_launcher>(launcher.shared_from_this());
  }

  static awaitable<void> end_all(std::shared_ptr<basic_warden_launcher> self) {
    const std::chrono::milliseconds max_wait = self->settings().kill_grace + running_command::end_patience;
    auto is_late = std::make_shared<bool>(false);
    asio::steady_timer limit(self->executor(), max_wait);
    on_expiry(limit, [self, is_late, max_wait](std::error_code cancelled) {
      if (cancelled) return;
      *is_late = true;
      self->lose(overdue(max_wait));
    });
    co_await command_launcher::end_commands(self);
    limit.cancel();
    self->disconnect();
    if (*is_late) throw overdue(max_wait);
  }

  static awaitable<void> end_left(std::shared_ptr<basic_warden_launcher> self, std::uint32_t number) {
    self->require_open();
    const auto found = self->jobs_.find(number);
    std::shared_ptr<running_command> kept;
    if (found != self->jobs_.end()) kept = found->second->command().kept();
    if (!kept || !kept->finished() || kept->over()) throw command_launcher::nothing_left_of(number);
    kept->end(end_reason::closed);
    co_await kept->settled_in_time();
    if (!kept->settled()) throw kept->unended("end_background: the processes were asked to end");
  }

  static error overdue(std::chrono::milliseconds limit) {
    return error(exec_errc::provider_lost, "close: the warden did not end every command within " +
                                               std::to_string(limit.count()) + " ms; the warden was abandoned");
  }

  launched launch(command& c, spawn_request& request) override {
    if (lost_) throw *lost_;
    launched outcome;
    const std::uint32_t job = ++last_job_;
    const auto sink = self_of(*this);
    const command_limits limits = limits_of(c);
    const auto new_command = make_command<warden_command>(
        executor(), registry(), limits, std::chrono::steady_clock::now(), executor(), sink, job, shown_program(c));
    if (settings_.memory_kills) new_command->kills_before(settings_.memory_kills());
    if (limits.keeps_background) new_command->title(c.is_shell() ? one_line(c.line()) : shown_program(c));

    wire::spawn_order order;
    if (limits.timeout) order.timeout_ms = static_cast<std::uint64_t>(limits.timeout->count());
    order.window = settings_.output_window;
    order.grace_ms = milliseconds(limits.grace);
    order.linger_ms = milliseconds(limits.linger);
    order.uid = settings_.uid;
    order.gid = settings_.gid;
    order.flags |= guard_flags();
    if (limits.keeps_background) order.flags |= wire::spawn_keep;
    order.limits = settings_.limits;
    order.directory = request.directory_path;
    if (c.terminal()) {
      order.flags |= wire::spawn_terminal;
      order.rows = c.terminal()->rows();
      order.columns = c.terminal()->columns();
    }

    std::optional<command_pipes> pipes;
    std::array<int, 4> descriptors{};
    std::size_t count = 0;
    const bool has_input = c.input() || c.has_open_input();
    if (has_input) order.flags |= wire::spawn_open_input;
    if (link_->carries_descriptors() && !c.terminal()) {  // a terminal is made in the sandbox, by the warden
      pipes.emplace(c, request, -1);
      if (settings_.commands_are_of_another_user) pipes->open_to_all();
      new_command->connect_to(*pipes);
      order.flags |= wire::spawn_descriptors;
      if (has_input) descriptors[count++] = request.input;
      descriptors[count++] = request.output;
      descriptors[count++] = request.error;
    } else {
      new_command->connect_frames(has_input || c.terminal(), settings_.output_window);
    }
    if (link_->carries_descriptors() && request.directory >= 0) {
      order.flags |= wire::spawn_directory;
      descriptors[count++] = request.directory;
    }
    bytes frame = order.encode(job, request.candidates, request.words, request.variables);
    if (frame.empty()) {
      outcome.refusal =
          refuse_unstarted(shown_program(c), spawn_stage::exec, std::error_code(E2BIG, std::system_category()));
      return outcome;
    }
    jobs_.emplace(job, new_command);
    watch_heart();
    try {
      link_->send(std::move(frame), std::span<const int>(descriptors.data(), count));
    } catch (...) {  // the frame was not sent
      jobs_.erase(job);
      throw;
    }
    try {
      new_command->watch_timeout(settings_.report_timeout);
      new_command->begin(c.take_input());
    } catch (...) {
      new_command->command().abandon();
      throw;
    }
    outcome.running = new_command->command().kept();
    return outcome;
  }

  /// Sets the isolation that the warden provides, unless the backend has described the isolation itself.
  void describe_isolation() {
    isolation_report isolation = settings_.added_isolation;
    const std::uint32_t guards = guard_flags();
    std::string held = "process group";
    if (hello_->can(wire::capability_adopts)) {
      held = "everything the command started";
      const bool as_warden = settings_.uid == wire::keep_id || settings_.uid == hello_->uid();
      if (as_warden && (guards & wire::spawn_scope) == 0) held += ", unless it stops or kills the warden";
    }
    isolation.set(isolation_kind::process_tree, held);
    isolation.set(isolation_kind::host_death, std::move(held));
    if ((guards & wire::spawn_scope) != 0)
      isolation.set(isolation_kind::signals, "Landlock: only what the command started");
    if ((guards & wire::spawn_filter) != 0) {
      const bool refuses = (guards & wire::spawn_refuse_tracing) != 0;
      isolation.set(isolation_kind::system_calls, refuses
                                                      ? "no change of other processes' limits or priority, no tracing"
                                                      : "no change of other processes' limits or priority");
    }
    // without descriptors, this program may run on another machine, where guests have no access to its memory
    if (link_->carries_descriptors()) isolation.set(isolation_kind::secrets, secrets(guards));
    set_isolation(std::make_shared<const isolation_report>(std::move(isolation)));
  }

  /// Describes the protection of this program's memory and environment from guests on the same machine.
  static std::string secrets(std::uint32_t guards) {
    const bool contained = (guards & (wire::spawn_scope | wire::spawn_domain)) != 0;
    // Since Linux 6.13, a process with CAP_PERFMON and CAP_SYS_ADMIN can read the environment and the memory map of
    // others in spite of Landlock.
    if (contained && ::geteuid() == 0) return "Landlock: the environment may be readable, because commands run as root";
    if (contained) return "Landlock: not readable";
    if (::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 && ::geteuid() != 0) return "not readable while not dumpable";
    return "readable";
  }

  /// Returns the `spawn` flags that protect the warden and its supervisors (the processes that start commands) from a
  /// guest (code in the sandbox).
  std::uint32_t guard_flags() const noexcept {
    std::uint32_t flags = 0;
    if (settings_.landlock >= 6 && hello_->can(wire::capability_scope))
      flags = wire::spawn_scope;
    else if (settings_.landlock >= 2 && hello_->can(wire::capability_domain))
      flags = wire::spawn_domain;
    if (!settings_.system_call_filter || !hello_->can(wire::capability_filter)) return flags;
    if (flags == 0 && settings_.tracing == tracing_policy::contained) flags |= wire::spawn_refuse_tracing;
    return flags | wire::spawn_filter;
  }

  static std::uint32_t milliseconds(std::chrono::milliseconds time) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(time.count(), 0, 24 * 3600 * 1000));
  }

  void frame_arrived(const wire::frame& arrived) override {
    if (!hello_) {
      hello_.emplace(arrived);
      greeted_.notify();
      return;
    }
    wire::payload_reader values(arrived);
    is_silent_ = false;
    if (arrived.type() == wire::frame_type::pong) return;
    for (const std::shared_ptr<frame_receiver>& each : receivers_)
      if (each->arrived(*this, arrived)) return;
    if (arrived.type() == wire::frame_type::worker_lost) return;  // it has had nothing to do
    if (arrived.type() == wire::frame_type::protocol_error) {
      const unsigned fault = values.number<std::uint8_t>();
      const unsigned type = values.number<std::uint8_t>();
      throw error(exec_errc::provider_lost, "the warden rejected a message of this library (fault " +
                                                std::to_string(fault) + ", frame type " + std::to_string(type) +
                                                ") and ended all commands");
    }
    const auto found = jobs_.find(arrived.job());
    if (found == jobs_.end())
      throw wire::violation("a frame for job " + std::to_string(arrived.job()) + ", which is over");
    const std::shared_ptr<warden_command> running = found->second;
    switch (arrived.type()) {
      case wire::frame_type::output: running->on_output(0, arrived.payload()); break;
      case wire::frame_type::error_output: running->on_output(1, arrived.payload()); break;
      case wire::frame_type::input_credit: running->on_input_credit(values.number<std::uint32_t>()); break;
      case wire::frame_type::exited: running->on_exited(wire::exited(arrived), settings_); break;
      case wire::frame_type::done:
        jobs_.erase(found);
        running->on_done();
        break;
      case wire::frame_type::failed: {
        const auto stage = static_cast<wire::fail_stage>(values.number<std::uint8_t>());
        const int number = values.number<std::int32_t>();
        jobs_.erase(found);
        running->on_failed(stage, number);
        break;
      }
      case wire::frame_type::stuck: running->on_stuck(); break;
      default: throw wire::violation("a frame of type " + std::to_string(static_cast<unsigned>(arrived.type())));
    }
  }

  void spawn_dropped(std::uint32_t job, std::error_code cause) override {
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) return;
    const std::shared_ptr<warden_command> running = std::move(found->second);
    jobs_.erase(found);
    running->on_dropped(cause);
  }

  void link_lost(const error& reason) override {
    const error explained = settings_.explain_loss ? settings_.explain_loss(reason) : reason;
    if (settings_.peer_name.empty()) return lose(explained);
    lose(error(exec_errc::provider_lost, "lost " + settings_.peer_name + ": " + explained.what(), explained.cause()));
  }

  void fail_all(const error& reason) noexcept {
    lost_ = reason;
    set_lost();
    greeted_.notify();
    released_.notify();
    for (const std::shared_ptr<frame_receiver>& each : receivers_) each->lose(reason);
    const auto jobs = std::move(jobs_);
    jobs_.clear();
    for (const auto& [job, running] : jobs) {
      try {
        running->command().lose(reason);
      } catch (const std::bad_alloc&) {  // no memory: the output so far is lost
        running->command().lose_quietly(reason);
      }
    }
  }

  void watch_heart() {
    if (settings_.heartbeat.count() == 0 || beats_ || lost_) return;
    beats_ = true;
    is_silent_ = true;
    link_->send(wire::frame_writer(wire::frame_type::ping, 0).take(), {});
    heartbeat_.expires_after(settings_.heartbeat);
    on_expiry(heartbeat_, [self = self_of(*this)](std::error_code failure) {
      self->beats_ = false;
      if (failure || self->lost_) return;
      if (self->is_silent_ && self->settings_.silent) self->settings_.silent();
      bool is_idle = self->jobs_.empty();
      for (const std::shared_ptr<frame_receiver>& each : self->receivers_) is_idle = is_idle && each->empty();
      if (!is_idle) self->watch_heart();
    });
  }

  void renew_lease() {
    if (settings_.lease.count() == 0 || lost_) return;
    lease_.expires_after(settings_.lease / 3);
    on_expiry(lease_, [self = self_of(*this)](std::error_code failure) {
      if (failure || self->lost_) return;
      self->link_->send(wire::frame_writer(wire::frame_type::ping, 0).take(), {});
      self->renew_lease();
    });
  }

  warden_settings settings_;
  std::shared_ptr<warden_link> link_;
  std::vector<std::shared_ptr<frame_receiver>> receivers_;
  std::shared_ptr<file_requests> requests_;          // null before the first use of files
  std::shared_ptr<warden_connections> connections_;  // null before the first use of the network
  async_event greeted_;                              // notified by the greeting, and by a loss
  async_event released_;                             // notified by a loss, which is also the end of a released warden
  asio::steady_timer lease_;
  asio::steady_timer heartbeat_;
  bool beats_ = false;      // true while `heartbeat_` waits for the time of the next ping
  bool is_silent_ = false;  // true if no frame has arrived since the last ping
  std::optional<wire::hello> hello_;
  std::optional<error> lost_;
  const error closed_{exec_errc::environment_closed,
                      "the environment is closed"};  // made now, because memory may be exhausted later
  std::uint32_t last_job_ = 0;
  std::unordered_map<std::uint32_t, std::shared_ptr<warden_command>> jobs_;
};

template <class = void>
class basic_networked_launcher;
using networked_launcher = basic_networked_launcher<>;

/// A launcher whose `network()` returns the network.
template <class Unused>
class basic_networked_launcher final : public basic_warden_launcher<Unused> {
 public:
  using basic_warden_launcher<Unused>::basic_warden_launcher;
  std::shared_ptr<guest_network::implementation> network() override { return this->reached_network(); }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
