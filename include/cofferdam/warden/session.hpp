// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bulk_file_environment.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/listing_environment.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/protections.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/core/transfer.hpp>
#include <cofferdam/os/command_keeper.hpp>
#include <cofferdam/os/command_pipes.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/pipe.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/detail/link.hpp>
#include <cofferdam/warden/detail/warden_command.hpp>
#include <cofferdam/warden/detail/warden_files.hpp>
#include <cofferdam/warden/protocol.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// What a session tells its warden.
class warden_settings {
 public:
  command_settings commands;
  /// How long to wait for the greeting.
  std::chrono::milliseconds greeting_timeout{std::chrono::seconds(5)};
  /// The directory that file operations stay beneath, as the warden sees it; empty: there are none.
  std::string root;
  /// Keeps guests from signalling anyone but what they started themselves, where the kernel can (Landlock, Linux 6.12).
  bool scope = true;
  /// What each process of a command may use; at most 16. What cannot be set is a command that could not be started.
  std::vector<wire::resource_limit> limits;
  /// Whom commands and file operations run as; `wire::keep_id`: as the warden does.
  std::uint32_t uid = wire::keep_id;
  std::uint32_t gid = wire::keep_id;
  /// The wall clock may stop for the host, but not for longer than this: then the warden ends everything. Zero: no lease.
  std::chrono::milliseconds lease{0};
  /// Asks the warden for a sign of life this often while something is under way, and calls `silent` where none has come by
  /// the next time: it may be stopped, or its machine too busy. Zero: does not ask.
  std::chrono::milliseconds heartbeat{0};
  /// Where the warden is, for the sentence of an error: `the container x`. Empty where the stream's own errors say it.
  std::string place;
  /// Called on the session's executor. `warden_session::lose` then gives the warden up; else it is asked again.
  std::function<void()> silent;
};

/// A command that has ended, and something that it has started goes on (`background_policy::keep`).
class background_command {
 public:
  background_command(std::uint32_t number, std::string program) : number_(number), program_(std::move(program)) {}
  /// Its number in its environment, not that of a process.
  std::uint32_t number() const noexcept { return number_; }
  /// The program, or the shell line, as far as one line shows it.
  const std::string& program() const noexcept { return program_; }

 private:
  std::uint32_t number_;
  std::string program_;
};

namespace detail {

/// Starts commands through a warden.
class warden_keeper final : public command_keeper, public link_listener, public frame_sink {
 public:
  warden_keeper(const asio::any_io_executor& executor, warden_settings settings, std::shared_ptr<warden_link> link)
      : command_keeper(executor, settings.commands),
        settings_(std::move(settings)),
        link_(std::move(link)),
        requests_(std::make_shared<file_requests>(executor)),
        greeted_(executor),
        lease_(executor),
        heartbeat_(executor) {}

  /// Waits for the warden's greeting and answers it. On failure the link is closed.
  static awaitable<void> greet(std::shared_ptr<warden_keeper> self) {
    self->link_->start(self);
    self->greeted_.expires_after(self->settings_.greeting_timeout);
    bool cancelled = false;
    while (!self->hello_ && !self->lost_ && !cancelled) {
      std::error_code woken;
      co_await self->greeted_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      cancelled = state.cancelled() != asio::cancellation_type::none;
      if (!woken) break;  // in all that time
    }
    if (self->hello_ && !cancelled) {
      wire::frame_writer frame(wire::frame_type::configure, 0);
      const bool as_another = self->settings_.uid != wire::keep_id || self->settings_.gid != wire::keep_id;
      frame.number(as_another ? std::uint32_t{wire::configure_identity} : std::uint32_t{0});
      frame.number(static_cast<std::uint32_t>(self->settings_.lease.count())).text(self->settings_.root);
      if (as_another) frame.number(self->settings_.uid).number(self->settings_.gid);
      self->link_->send(frame.take(), {});
      self->renew_lease();
      if (!self->settings().walls) self->describe_walls();
      co_return;
    }
    const std::optional<error> reason = self->lost_;
    self->disconnect();
    if (cancelled) throw error(errc::cancelled, "open: cancelled while the warden was starting");
    if (reason)
      throw error(errc::provider_failed, std::string("the warden did not start: ") + reason->what(), reason->cause());
    throw error(errc::provider_failed, "the warden did not say a word within " +
                                           std::to_string(self->settings_.greeting_timeout.count()) + " ms");
  }

  const wire::hello& hello() const noexcept { return *hello_; }

  /// Everything is over for the warden too.
  void disconnect() noexcept { give_up(closed_); }

  /// The same, and whoever awaits something gets this.
  void give_up(const error& reason) noexcept {
    const auto kept = shared_from_this();  // closing the link lets go of us
    link_->close();
    lease_.cancel();
    heartbeat_.cancel();
    lose(reason);
  }

  /// The files beneath the root.
  /// \throws error{errc::environment_closed}.
  static warden_files files(const std::shared_ptr<warden_keeper>& self) {
    self->require_open();
    return warden_files(self, self->requests_, self->settings_.root);
  }

  void send(bytes frame) override {
    watch_heart();
    link_->send(std::move(frame), {});
  }

  std::vector<background_command> background() const {
    std::vector<background_command> all;
    for (const auto& [number, one] : jobs_)
      if (one->finished()) all.emplace_back(number, one->title());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.number() < b.number(); });
    return all;
  }

  static awaitable<void> end_background(std::shared_ptr<warden_keeper> self, std::uint32_t number) {
    self->require_open();
    const auto found = self->jobs_.find(number);
    if (found == self->jobs_.end() || !found->second->finished())
      throw error(errc::not_found, "end_background: nothing is left of a command " + std::to_string(number));
    const std::shared_ptr<warden_command> one = found->second;
    one->end(end_reason::closed);
    co_await one->until_settled_shielded();
  }

 private:
  launched launch(command& c, spawn_request& request) override {
    if (lost_) throw *lost_;
    launched outcome;
    const std::uint32_t job = ++last_job_;
    const auto sink = std::static_pointer_cast<warden_keeper>(shared_from_this());
    const command_limits limits = limits_of(c);
    auto one = std::make_shared<warden_command>(executor(), registry(), limits, sink, job, shown_program(c));

    if (limits.keeps_background) one->title(c.is_shell() ? one_line(c.line()) : shown_program(c));

    wire::spawn_order order;
    if (limits.timeout) order.timeout_ms = static_cast<std::uint64_t>(limits.timeout->count());
    order.grace_ms = milliseconds(limits.grace);
    order.linger_ms = milliseconds(limits.linger);
    order.uid = settings_.uid;
    order.gid = settings_.gid;
    if (has_scope()) order.flags |= wire::spawn_scope;
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
    if (link_->carries_descriptors() && !c.terminal()) {  // a terminal belongs to the place where the command is
      pipes.emplace(c, request, -1);
      one->connect_to(*pipes);
      order.flags |= wire::spawn_descriptors;
      if (has_input) descriptors[count++] = request.input;
      descriptors[count++] = request.output;
      descriptors[count++] = request.error;
    } else {
      one->connect_frames(has_input || c.terminal());
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
    jobs_.emplace(job, one);
    watch_heart();
    try {
      link_->send(std::move(frame), std::span<const int>(descriptors.data(), count));
    } catch (...) {  // the warden will never hear of it
      jobs_.erase(job);
      throw;
    }
    try {
      one->begin(c.take_input());
    } catch (...) {
      one->abandon();
      throw;
    }
    outcome.running = std::move(one);
    return outcome;
  }

  /// Says what the warden holds, where the backend has not said it.
  void describe_walls() {
    protections walls;
    const bool adopts = hello_->can(wire::capability_adopts);
    walls.set(protection::process_tree, adopts ? "everything the command started" : "process group");
    walls.set(protection::host_death, adopts ? "everything the command started" : "process group");
    if (has_scope()) walls.set(protection::signals, "Landlock: only what the command started");
    set_walls(std::make_shared<const protections>(std::move(walls)));
  }

  bool has_scope() const noexcept { return settings_.scope && hello_->can(wire::capability_scope); }

  static std::uint32_t milliseconds(std::chrono::milliseconds time) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(time.count(), 0, 24 * 3600 * 1000));
  }

  void frame_arrived(const wire::frame& arrived) override {
    if (!hello_) {
      hello_.emplace(arrived);
      greeted_.cancel();
      return;
    }
    wire::payload_reader values(arrived);
    is_silent_ = false;
    if (arrived.type() == wire::frame_type::pong || requests_->arrived(arrived)) return;
    if (arrived.type() == wire::frame_type::protocol_error) {
      const unsigned fault = values.number<std::uint8_t>();
      const unsigned type = values.number<std::uint8_t>();
      throw error(errc::provider_lost, "the warden did not understand us (fault " + std::to_string(fault) +
                                           ", frame type " + std::to_string(type) + ") and has ended everything");
    }
    const auto found = jobs_.find(arrived.job());
    if (found == jobs_.end())
      throw wire::violation("a frame for job " + std::to_string(arrived.job()) + ", which is over");
    const std::shared_ptr<warden_command> one = found->second;
    switch (arrived.type()) {
      case wire::frame_type::output: one->on_output(0, arrived.payload()); break;
      case wire::frame_type::error_output: one->on_output(1, arrived.payload()); break;
      case wire::frame_type::input_credit: one->on_input_credit(values.number<std::uint32_t>()); break;
      case wire::frame_type::exited: one->on_exited(wire::exited(arrived)); break;
      case wire::frame_type::done:
        jobs_.erase(found);
        one->on_done();
        break;
      case wire::frame_type::failed: {
        const auto stage = static_cast<wire::fail_stage>(values.number<std::uint8_t>());
        const int number = values.number<std::int32_t>();
        jobs_.erase(found);
        one->on_failed(stage, number);
        break;
      }
      case wire::frame_type::stuck: break;
      default: throw wire::violation("a frame of type " + std::to_string(static_cast<unsigned>(arrived.type())));
    }
  }

  void link_lost(const error& reason) override {
    if (settings_.place.empty()) return give_up(reason);
    give_up(error(errc::provider_lost, "lost " + settings_.place + ": " + reason.what(), reason.cause()));
  }

  void lose(const error& reason) noexcept {
    if (lost_) return;
    lost_ = reason;
    greeted_.cancel();
    requests_->lose(reason);
    const auto jobs = std::move(jobs_);
    jobs_.clear();
    for (const auto& [job, one] : jobs) {
      try {
        one->on_lost(reason);
      } catch (const std::bad_alloc&) {  // what had arrived is lost too
        one->on_lost_quietly(reason);
      }
    }
  }

  void watch_heart() {
    if (settings_.heartbeat.count() == 0 || beats_ || lost_) return;
    beats_ = true;
    is_silent_ = true;
    link_->send(wire::frame_writer(wire::frame_type::ping, 0).take(), {});
    heartbeat_.expires_after(settings_.heartbeat);
    heartbeat_.async_wait(
        [self = std::static_pointer_cast<warden_keeper>(shared_from_this())](std::error_code failure) {
          self->beats_ = false;
          if (failure || self->lost_) return;
          if (self->is_silent_ && self->settings_.silent) self->settings_.silent();
          if (!self->jobs_.empty() || !self->requests_->empty()) self->watch_heart();
        });
  }

  void renew_lease() {
    if (settings_.lease.count() == 0) return;
    lease_.expires_after(settings_.lease / 3);
    lease_.async_wait([self = std::static_pointer_cast<warden_keeper>(shared_from_this())](std::error_code failure) {
      if (failure || self->lost_) return;
      self->link_->send(wire::frame_writer(wire::frame_type::ping, 0).take(), {});
      self->renew_lease();
    });
  }

  warden_settings settings_;
  std::shared_ptr<warden_link> link_;
  std::shared_ptr<file_requests> requests_;
  asio::steady_timer greeted_;
  asio::steady_timer lease_;
  asio::steady_timer heartbeat_;
  bool beats_ = false;      // a heartbeat is under way
  bool is_silent_ = false;  // nothing has come since
  std::optional<wire::hello> hello_;
  std::optional<error> lost_;
  const error closed_{errc::environment_closed, "the environment is closed"};  // made while there is memory
  std::uint32_t last_job_ = 0;
  std::unordered_map<std::uint32_t, std::shared_ptr<warden_command>> jobs_;
};

}  // namespace detail

/// The commands of an environment, run by a warden at the other end of a stream: the half of a backend that is the same
/// wherever the warden stands.
///
/// Output is drained within its cap, limits are held, the end is seen whether or not anybody awaits it. When a command
/// has ended, so has everything it had started, whatever that did to get away. Where the stream ends, every pending command
/// fails with error{errc::provider_lost} and what had arrived. Movable while idle. Destroyed without `close()`, it ends
/// the stream, upon which the warden ends everything.
/// \par Threads  one executor at a time.
class warden_session {
 public:
  /// Meets a warden over a stream of coroutines. The stream carries nothing else.
  /// \throws as below.
  template <coroutine_stream Stream>
  static awaitable<warden_session> open(asio::any_io_executor executor, Stream stream,
                                        warden_settings settings = warden_settings()) {
    std::shared_ptr<detail::warden_link> link =
        std::make_shared<detail::coroutine_link<Stream>>(executor, std::move(stream));
    return meet(std::move(executor), std::move(link), std::move(settings));
  }

  /// Meets a warden over a stream: an asynchronous stream of Asio's, or any type that models its requirements and has
  /// `close()`. The stream carries nothing else.
  /// \throws error{errc::provider_failed} where no warden of our version answers; error{errc::cancelled}.
  template <class Stream>
  static awaitable<warden_session> open(Stream stream, warden_settings settings = warden_settings()) {
    asio::any_io_executor executor = stream.get_executor();
    std::shared_ptr<detail::warden_link> link = std::make_shared<detail::stream_link<Stream>>(std::move(stream));
    return meet(std::move(executor), std::move(link), std::move(settings));
  }

  /// The same over a connected Unix socket on this machine: then the commands' pipes are made here and passed on, and
  /// output takes no extra hop.
  static awaitable<warden_session> open(asio::any_io_executor executor, unique_fd socket,
                                        warden_settings settings = warden_settings()) {
    std::shared_ptr<detail::warden_link> link;
    try {
      link = std::make_shared<detail::socket_link>(executor, std::move(socket));
    } catch (const std::system_error& failure) {
      throw error(errc::provider_failed, std::string("the warden's stream cannot be watched: ") + failure.what(),
                  failure.code());
    }
    return meet(std::move(executor), std::move(link), std::move(settings));
  }

  warden_session(warden_session&&) noexcept = default;
  warden_session& operator=(warden_session&& other) noexcept {
    if (this != &other) {
      abandon();
      keeper_ = std::move(other.keeper_);
    }
    return *this;
  }
  ~warden_session() { abandon(); }

  /// Runs a command to its end: what `run_command` of an environment does.
  /// \param request  as `request_for` makes it; borrowed descriptors live until the awaitable completes.
  awaitable<command_result> run(command c, spawn_request request) {
    return detail::command_keeper::run(keeper_, std::move(c), std::move(request));
  }

  /// Starts a command: what `start` of an environment does.
  awaitable<process> start(command c, spawn_request request) {
    return detail::command_keeper::start(keeper_, std::move(c), std::move(request));
  }

  /// The commands of which something goes on, oldest first.
  std::vector<background_command> background() const { return keeper_->background(); }

  /// Ends what a command has left running: SIGTERM, the grace, SIGKILL, and waits for that. Not cancelled.
  /// \throws error{errc::not_found} where nothing is left of it; error{errc::environment_closed}.
  awaitable<void> end_background(std::uint32_t number) {
    return detail::warden_keeper::end_background(keeper_, number);
  }

  /// What `spawn_request::directory_path` is to be for a command's working directory: a path of the warden's own.
  /// \throws error{errc::outside_workspace, not_found, not_a_directory} as an environment does for it.
  awaitable<std::string> directory_path(std::string working_directory) {
    return detail::warden_files::directory_path(files(), std::move(working_directory));
  }

  // File operations beneath `warden_settings::root`, with the meaning and the errors that an environment's have. The
  // root stays where it is; nothing in it leads out of it.

  awaitable<bytes> read_file(std::string path, std::size_t most) {
    return detail::warden_files::read_file(files(), std::move(path), most);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return detail::warden_files::write_file(files(), std::move(path), content);
  }
  awaitable<entry> stat(std::string path) { return detail::warden_files::stat(files(), std::move(path)); }
  awaitable<std::vector<entry>> list(std::string path, list_options options = list_options()) {
    return detail::warden_files::list(files(), std::move(path), options);
  }
  awaitable<void> make_directory(std::string path) {
    return detail::warden_files::make_directory(files(), std::move(path));
  }
  awaitable<void> remove(std::string path) { return detail::warden_files::remove(files(), std::move(path)); }
  awaitable<void> rename(std::string from, std::string to) {
    return detail::warden_files::rename(files(), std::move(from), std::move(to));
  }
  awaitable<transfer> put_files(file_source& source) { return detail::warden_files::put_files(files(), source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    co_return files().get_files(std::move(requests));
  }

  /// What the warden has said of itself and its place.
  const wire::hello& hello() const noexcept { return keeper_->hello(); }

  /// Ends every command, waits for that, and ends the stream; whoever awaits a command gets
  /// error{errc::environment_closed}. Not cancelled.
  awaitable<void> close() {
    return detail::shielded([keeper = keeper_] { return close_all(keeper); });
  }

  /// Gives the warden up: whoever awaits something gets `reason`.
  void lose(const error& reason) noexcept {
    if (keeper_) keeper_->give_up(reason);
  }

  /// Ends the stream, upon which the warden kills everything, and waits for nothing; what the destructor does.
  void abandon() noexcept {
    if (!keeper_) return;
    keeper_->abandon();
    keeper_->disconnect();
  }

 private:
  explicit warden_session(std::shared_ptr<detail::warden_keeper> keeper) : keeper_(std::move(keeper)) {}

  detail::warden_files files() const { return detail::warden_keeper::files(keeper_); }

  static awaitable<warden_session> meet(asio::any_io_executor executor, std::shared_ptr<detail::warden_link> link,
                                        warden_settings settings) {
    warden_session session(std::make_shared<detail::warden_keeper>(executor, std::move(settings), std::move(link)));
    co_await detail::warden_keeper::greet(session.keeper_);
    co_return session;
  }

  static awaitable<void> close_all(std::shared_ptr<detail::warden_keeper> keeper) {
    co_await detail::command_keeper::close(keeper);
    keeper->disconnect();
  }

  std::shared_ptr<detail::warden_keeper> keeper_;
};

}  // namespace cofferdam::inline v0
