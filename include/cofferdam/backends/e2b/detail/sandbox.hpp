// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/environment_state.hpp>
#include <cofferdam/backends/e2b/command_transport.hpp>
#include <cofferdam/backends/e2b/create_options.hpp>
#include <cofferdam/backends/e2b/detail/account.hpp>
#include <cofferdam/backends/e2b/detail/api.hpp>
#include <cofferdam/backends/e2b/detail/api_error.hpp>
#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/detail/envd_script.hpp>
#include <cofferdam/backends/e2b/detail/envd_session.hpp>
#include <cofferdam/backends/e2b/detail/routed_files.hpp>
#include <cofferdam/backends/e2b/detail/sandbox_facts.hpp>
#include <cofferdam/backends/e2b/detail/sandbox_files.hpp>
#include <cofferdam/backends/e2b/detail/sandbox_settings.hpp>
#include <cofferdam/backends/e2b/detail/sandbox_warden.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/surroundings.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/warning.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/detail/os/path_error.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/command_session.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// The state of an environment in E2B. The environment and the coroutines of its operations share it.
class sandbox : public cofferdam::detail::environment_state<sandbox>, public std::enable_shared_from_this<sandbox> {
  using base = cofferdam::detail::environment_state<sandbox>;

 public:
  using clock = std::chrono::steady_clock;

  /// Opens an environment in a sandbox.
  static awaitable<std::shared_ptr<sandbox>> open(asio::any_io_executor executor,
                                                  std::shared_ptr<const sandbox_settings> settings) {
    surroundings around = settings->around.value_or(surroundings());
    if (!settings->around) around = surroundings::of_this_process();
    auto service = std::make_shared<api>(executor, account::resolve(settings->who, around));
    auto result = std::make_shared<sandbox>(std::move(executor), std::move(service), std::move(settings));
    co_await open(result, nullptr);
    co_return result;
  }

  /// Opens an environment in a sandbox.
  /// \param made  a sandbox that was created for this environment; null to obtain one. The caller keeps it until the
  ///              awaitable completes.
  static awaitable<void> open(std::shared_ptr<sandbox> self, const sandbox_info* made) {
    const auto makes = [self, made]() -> awaitable<void> {
      if (made == nullptr)
        co_await self->obtain();
      else
        self->take(*made);
      co_await self->prepare();
    };
    const auto discards = [self] { return self->discard(); };
    co_await cofferdam::detail::with_cleanup_after_failure(makes, discards);
  }

  sandbox(asio::any_io_executor executor, std::shared_ptr<api> service,
          std::shared_ptr<const sandbox_settings> settings)
      : base(executor),
        home_(executor),
        executor_(std::move(executor)),
        service_(std::move(service)),
        settings_(std::move(settings)),
        prolongs_(executor_) {}

  static constexpr const char* nothing_open =
      "e2b: not open (default-constructed or moved from); call open() on the provider first";

  const std::string& id() const noexcept { return info_.id(); }
  const sandbox_info& info() const noexcept { return info_; }
  const std::shared_ptr<api>& service() const noexcept { return service_; }
  const std::shared_ptr<envd>& daemon() const noexcept { return daemon_; }
  const workspace_place& where() const noexcept { return where_; }
  const asio::any_io_executor& executor() const noexcept { return executor_; }
  /// Returns the strand on which this object is used. Only data that `open` sets once may be read elsewhere.
  const cofferdam::detail::home_strand& home() const noexcept { return home_; }

  void require_open() const {
    if (closing_ || !session_)
      throw error(exec_errc::environment_closed, "e2b: the environment is closed; open another one");
    daemon_->require();
  }

  static awaitable<cofferdam::detail::prepared_command> prepare_command(std::shared_ptr<sandbox> self,
                                                                        const command& c) {
    co_await self->until_running();
    cofferdam::detail::prepared_command ready;
    ready.refusal = refuse_invalid(c);
    if (ready.refusal) co_return ready;
    const bool by_warden = co_await is_for_warden(self, c);
    ready.request = co_await self->request_of(c, by_warden);
    ready.session = &self->session(by_warden);
    co_return ready;
  }

  /// Returns the process id of the warden's shell at the daemon; 0 if there is none.
  std::int64_t warden_pid() const noexcept { return warden_ ? warden_->pid() : 0; }

  /// Returns the loopback network. A paused sandbox is waited for.
  static awaitable<guest_network> network(std::shared_ptr<sandbox> self) {
    co_await self->until_running();
    const bool by_warden = co_await has_warden(self);
    self->require_open();
    co_return self->session(by_warden).network();
  }

  /// Makes the commands that begin from now on use a proxy on 127.0.0.1, and sets more variables of theirs.
  void use_proxy(std::uint16_t port, const std::vector<std::string>& added) {
    base::use_proxy(port, added);
    for (const std::string& each : added) set_variable(own_variables_, each);
  }

  /// Runs an operation on the files. If the sandbox is paused by this client, the operation waits until `resume`.
  template <class Operation>
  static auto with_files(std::shared_ptr<sandbox> self, Operation operation) {
    using result = typename cofferdam::detail::awaited<std::invoke_result_t<Operation&, routed_files&>>::type;
    return on_files<result>(std::move(self), std::move(operation));
  }
  awaitable<void> until_running() {
    require_open();
    while (paused_) {
      const cofferdam::detail::wait_result how = co_await changed_.wait();
      require_not_cancelled(how);
      require_open();
    }
  }

  // ---- lifetime ----

  static awaitable<void> set_lifetime(std::shared_ptr<sandbox> self, std::chrono::milliseconds time) {
    self->require_open();
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(time);
    const clock::time_point now = clock::now();
    co_await self->service_->set_lifetime(self->id(), seconds.count());
    self->end_at_ = now + seconds;
    self->watch_life();
  }

  /// Ends the sandbox without waiting, after the environment was destroyed without `close`. If the program ends too
  /// early for this, the sandbox ends at the end of its lifetime.
  void abandon() noexcept {
    if (closing_) return;
    close_at_once();
    prolongs_.cancel();
    try {
      if (!is_ours_) {
        session_.abandon();
        if (warden_) warden_->abandon();
        return;
      }
      let_go();
      const auto self = shared_from_this();
      auto ended = [self](std::exception_ptr) {};  // a failure is ignored: the sandbox ends at the end of its lifetime
      cofferdam::detail::spawn_coroutine(executor_, discard_sandbox(self), std::move(ended));
    } catch (const std::exception&) {
    }
  }

  /// Ends all commands. Also ends the sandbox, unless the recipe has connected to an existing one.
  static awaitable<void> end(std::shared_ptr<sandbox> self) {
    self->prolongs_.cancel();
    std::exception_ptr failure;
    try {
      if (self->is_ours_) {
        // The sandbox is ended at once, so commands get no grace period.
        self->let_go();
        co_await self->service_->kill(self->id());
      } else {
        co_await end_commands(self);
        self->let_go();
      }
    } catch (const error& reason) {
      const error lost(exec_errc::provider_lost,
                       std::string(reason.what()) + "; the sandbox ends by itself when its lifetime expires",
                       reason.cause());
      failure = std::make_exception_ptr(lost);
    }
    while (self->prolonging_) co_await self->changed_.wait();
    co_await self->daemon_->close_connections();
    co_await self->service_->close();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  friend class suspension;

  template <class Result, class Operation>
  static awaitable<Result> on_files(std::shared_ptr<sandbox> self, Operation operation) {
    co_await self->until_running();
    const bool by_warden = co_await has_warden(self);
    if constexpr (std::is_void_v<Result>) {
      co_await cofferdam::detail::on_kept(self->files(by_warden), std::move(operation));
    } else {
      Result result = co_await cofferdam::detail::on_kept(self->files(by_warden), std::move(operation));
      co_return result;
    }
  }

  routed_files files(bool by_warden) {
    require_open();
    touch();
    sandbox_files far = session_.files(variables_);
    if (!by_warden) return routed_files(nullptr, std::move(far));
    auto runs = [warden = warden_](command c, spawn_request request) {
      return warden->session().run(std::move(c), std::move(request));
    };
    far.use_warden(std::move(runs), warden_->files(), own_variables_);
    return routed_files(warden_->files(), std::move(far));
  }

  // ---- the warden ----

  command_session& session(bool by_warden) { return by_warden ? warden_->session() : session_; }
  bool is_busy() const { return session_.is_busy() || (warden_ && warden_->session().is_busy()); }

  /// Returns true if a warden starts the command. The warden starts all commands as one user, so the daemon starts a
  /// command with a user of its own.
  static awaitable<bool> is_for_warden(std::shared_ptr<sandbox> self, const command& c) {
    if (!c.user().empty()) co_return false;
    const bool result = co_await has_warden(self);
    co_return result;
  }

  /// Throws error{exec_errc::cancelled} if a wait for the sandbox was cancelled.
  static void require_not_cancelled(cofferdam::detail::wait_result result) {
    if (result == cofferdam::detail::wait_result::cancelled)
      throw error(exec_errc::cancelled, "e2b: cancelled while the sandbox was not ready; nothing was done");
  }

  /// Returns true if a warden starts the commands. If the session of the last one is lost, starts another one.
  static awaitable<bool> has_warden(std::shared_ptr<sandbox> self) {
    while (self->starting_) {
      const cofferdam::detail::wait_result how = co_await self->changed_.wait();
      require_not_cancelled(how);
      self->require_open();
    }
    if (!self->warden_) co_return false;
    if (self->warden_->is_open()) co_return true;
    co_await start_warden(self);
    co_return static_cast<bool>(self->warden_);
  }

  /// Starts the warden. If it cannot run in the sandbox, and the settings do not require one, the daemon starts each
  /// command. After a broken connection, the next command tries again.
  static awaitable<void> start_warden(std::shared_ptr<sandbox> self) {
    const std::shared_ptr<sandbox_warden> warden = self->warden_;
    std::optional<error> failure;
    {
      const start_mark mark(*self);
      try {
        co_await sandbox_warden::open(warden);
      } catch (const error& reason) {
        failure = reason;
      }
    }
    if (self->closing_) {
      warden->abandon();
      self->require_open();
    }
    if (!failure) co_return;
    const bool cannot_run = failure->code() == exec_errc::unsupported ||
                            (failure->code() == exec_errc::provider_failed && !is_passing(failure->cause()));
    if (!cannot_run || self->settings_->by == command_transport::warden)
      throw self->is_ready_ ? as_unavailable(*failure) : *failure;
    self->warden_.reset();
  }

  /// Marks the time in which a warden is being started.
  class start_mark {
   public:
    explicit start_mark(sandbox& of) : of_(of) { of_.starting_ = true; }
    start_mark(const start_mark&) = delete;
    start_mark& operator=(const start_mark&) = delete;
    ~start_mark() {
      of_.starting_ = false;
      of_.changed_.notify();
    }

   private:
    sandbox& of_;
  };

  static awaitable<void> end_commands(std::shared_ptr<sandbox> self) {
    co_await self->session_.close();
    if (self->warden_ && self->warden_->is_open()) co_await self->warden_->session().close();
  }

  std::chrono::milliseconds life() const { return std::chrono::seconds(settings_->create.seconds()); }

  /// Creates a sandbox or connects to one.
  awaitable<void> obtain() {
    if (service_->who().is_debug()) {
      boost::json::object fields;
      fields["sandboxID"] = "debug_sandbox_id";
      fields["envdVersion"] = "99.99.99";
      info_ = sandbox_info(fields);
      end_at_ = clock::time_point::max();
      co_return;
    }
    const clock::time_point now = clock::now();
    if (!settings_->connect_to.empty()) {
      info_ = co_await service_->connect(settings_->connect_to, settings_->create.seconds());
    } else {
      tag_ = cofferdam::detail::random_digits();
      is_ours_ = true;
      // A creation is not cancelled, because the service might create the sandbox nevertheless, and its id would be
      // lost. Not even a search by the tag would find a sandbox that the service is still creating.
      const auto self = shared_from_this();
      const auto creates = [self] { return self->create(); };
      std::optional<error> failure;
      try {
        co_await cofferdam::detail::shielded(std::ref(creates));
      } catch (const error& reason) {
        failure = reason;
      }
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none)
        throw error(exec_errc::cancelled, "e2b: cancelled while a sandbox was created" +
                                              (failure ? std::string("; ") + failure->what() : ""));
      if (failure) throw *failure;
    }
    service_->hide(info_);
    end_at_ = now + life();
  }

  /// Uses a sandbox that was created for this environment.
  void take(const sandbox_info& made) {
    info_ = made;
    is_ours_ = true;
    service_->hide(info_);
    end_at_ = clock::now() + life();
  }

  awaitable<void> create() {
    in_doubt_ = false;
    try {
      info_ = co_await service_->create(settings_->create, tag_, &in_doubt_);
    } catch (const error& reason) {
      in_doubt_ = in_doubt_ || leaves_in_doubt(reason);  // an earlier attempt or the last one may have created it
      throw;
    }
    in_doubt_ = false;
  }

  awaitable<void> prepare() {
    auto daemon = std::make_shared<envd>(executor_, service_, info_, settings_->user);
    if (!daemon->can().is_usable())
      throw error(exec_errc::unsupported, "e2b: the template's daemon, " + one_line(info_.envd_version(), 40) +
                                              ", is older than 0.1.0; rebuild the template");
    daemon_ = daemon;
    where_.from_home = settings_->workspace;
    const std::string output = co_await ask_shell();
    const sandbox_facts facts(output, settings_->workspace);
    where_.home = facts.home();
    where_.root = facts.root();
    shell_ = facts.shell();
    variables_ = {"LANG=C.UTF-8", "TERM=dumb", "TMPDIR=/tmp", "HOME=" + where_.root};
    for (const auto& [name, value] : settings_->create.variables) set_variable(variables_, name + "=" + value);
    session_ = envd_session(daemon_, commands(), where_, facts.setsid(), [weak = weak_from_this()] {
      if (const std::shared_ptr<sandbox> self = weak.lock()) self->touch();
    });
    watch_life();
    if (settings_->by == command_transport::daemon || !facts.user()) co_return;
    own_variables_ = facts.with(variables_);
    warden_ =
        std::make_shared<sandbox_warden>(daemon_, settings_->commands, common_isolation(), where_.root, *facts.user());
    co_await start_warden(shared_from_this());
    is_ready_ = true;
  }

  /// Runs `facts_script`, and returns its output.
  awaitable<std::string> ask_shell() {
    std::vector<std::string> words{"-c", std::string(facts_script), "sh", settings_->workspace};
    boost::json::object message = envd::start_message("/bin/sh", words, ".", false);
    command_result result =
        co_await envd_script::read(daemon_, std::move(message), "create the workspace", max_said, nullptr);
    const std::string_view shown = as_text(result.out().head());
    if (shown.empty()) co_return daemon_->redact().clean(as_text(result.err().head()));
    co_return std::string(shown);
  }

  isolation_report common_isolation() const {
    isolation_report isolation;
    if (settings_->create.allow_internet == false && is_ours_)
      isolation.set(isolation_kind::network, "no internet, as requested from the service");
    return isolation;
  }

  command_settings commands() const {
    command_settings settings = settings_->commands;
    isolation_report isolation = common_isolation();
    envd_session::describe(isolation);
    settings.isolation = std::make_shared<const isolation_report>(std::move(isolation));
    return settings;
  }

  awaitable<spawn_request> request_of(const command& c, bool by_warden) {
    spawn_request request = request_for(c, shell_, by_warden ? own_variables_ : variables_, proxy_port_);
    routed_files workspace = files(by_warden);
    try {
      request.directory_path = co_await workspace.directory_path(c.working_directory());
    } catch (const error& failure) {
      cofferdam::detail::throw_working_directory_error(failure, c.working_directory());
    }
    co_return request;
  }

  // ---- remaining lifetime ----

  /// Extends the lifetime of the sandbox if less than half of it remains. It is called at each use of the environment.
  void touch() {
    if (paused_ || closing_ || end_at_ == clock::time_point::max()) return;
    if (end_at_ - clock::now() < life() / 2)
      prolong();
    else if (!watched_)
      watch_life();
  }

  void watch_life() {
    if (end_at_ == clock::time_point::max() || closing_) return;
    watched_ = true;
    prolongs_.expires_at(std::max(end_at_ - life() / 2, retry_at_));
    cofferdam::detail::on_expiry(prolongs_, [weak = weak_from_this()](std::error_code failure) {
      const std::shared_ptr<sandbox> self = weak.lock();
      if (failure || !self || self->closing_ || self->paused_) return;
      self->watched_ = false;
      if (self->is_busy()) self->prolong();
    });
  }

  void prolong() {
    if (prolonging_ || clock::now() < retry_at_) return;
    prolonging_ = true;
    const auto self = shared_from_this();
    auto done = [self](std::exception_ptr failure) {
      self->prolonging_ = false;
      self->changed_.notify();
      self->prolonged(failure);
    };
    cofferdam::detail::spawn_coroutine(executor_, extend(self), std::move(done));
  }

  static awaitable<void> extend(std::shared_ptr<sandbox> self) {
    const clock::time_point now = clock::now();
    std::optional<error> failure;
    try {
      co_await self->service_->set_lifetime(self->id(), self->settings_->create.seconds());
    } catch (const error& reason) {
      failure = reason;
    }
    if (!failure) {
      self->end_at_ = now + self->life();
      co_return;
    }
    const int status = failure->cause().category() == status_category() ? failure->cause().value() : 0;
    if (status != 404 && status != 409) throw *failure;
    // A paused sandbox has no end that could be postponed. `resume` sets a new end.
    const presence found = co_await self->service_->presence_of(self->id());
    if (found == presence::gone || (found == presence::unknown && status == 404)) throw *failure;
    if (found != presence::paused) throw error(exec_errc::unavailable, failure->what());
    self->end_at_ = clock::time_point::max();
  }

  void prolonged(const std::exception_ptr& failure) {
    if (closing_) return;
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const error& reason) {
      if (reason.code() == exec_errc::not_found) {
        daemon_->lose(error(exec_errc::provider_lost,
                            "e2b: the sandbox " + id() + " is gone: it was ended, or its lifetime expired",
                            reason.cause()));
        return;
      }
      retry_at_ = clock::now() +
                  std::clamp<clock::duration>(life() / 16, std::chrono::milliseconds(250), std::chrono::seconds(10));
      if (!std::exchange(warned_, true)) cofferdam::detail::warn(reason.what());
    } catch (const std::exception&) {
      retry_at_ = clock::now() + std::chrono::seconds(1);
    }
    watch_life();
  }

  // ---- end ----

  void let_go() {
    if (!daemon_) return;
    daemon_->close();
    const error reason(exec_errc::environment_closed, "e2b: the environment was closed; the command was ended");
    session_.lose(reason);
    if (warden_) warden_->lose(reason);
  }

  static awaitable<void> discard_sandbox(std::shared_ptr<sandbox> self) {
    co_await self->service_->kill(self->id());
    co_await self->service_->close();
    co_await self->daemon_->close_connections();
    self->closed_ = true;
    self->changed_.notify();
  }

  /// Releases everything that a failed `open` has created.
  awaitable<void> discard() {
    closing_ = closed_ = true;
    changed_.notify();
    try {
      let_go();
      if (is_ours_ && !id().empty())
        co_await service_->kill(id());
      else if (in_doubt_)
        co_await service_->end_strays(tag_);
      if (daemon_) co_await daemon_->close_connections();
      co_await service_->close();
    } catch (const error&) {  // `open` reports its own failure; a remaining sandbox ends at the end of its lifetime
    }
  }

  static constexpr std::size_t max_said = std::size_t{256} * 1024;

  cofferdam::detail::home_strand home_;
  asio::any_io_executor executor_;
  std::shared_ptr<api> service_;
  std::shared_ptr<const sandbox_settings> settings_;
  asio::steady_timer prolongs_;
  sandbox_info info_;
  std::shared_ptr<envd> daemon_;
  envd_session session_;                    // starts each command by the daemon
  std::shared_ptr<sandbox_warden> warden_;  // null if the daemon starts all commands
  workspace_place where_;
  std::vector<std::string> own_variables_;  // all variables of a command of the warden; the daemon adds `variables_`
  std::string tag_;
  clock::time_point end_at_ = clock::time_point::max();
  clock::time_point retry_at_{};
  bool is_ours_ = false;
  bool in_doubt_ = false;  // true if a failed call may have created the sandbox
  bool paused_ = false;
  bool watched_ = false;
  bool prolonging_ = false;
  bool is_ready_ = false;  // true after `open`
  bool starting_ = false;  // true while a warden is being started
  bool warned_ = false;
  // `changed_` is also notified when `paused_`, `prolonging_` or `starting_` changes.
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
