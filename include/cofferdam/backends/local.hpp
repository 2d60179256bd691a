// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bulk_file_environment.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/warning.hpp>
#include <cofferdam/os/child_process.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/core/path_advice.hpp>
#include <cofferdam/os/pipe.hpp>
#include <cofferdam/os/reaper.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/os/workspace_files.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// What `local` does with a shell line that seems to name files outside the workspace.
enum class path_policy {
  ignore,  ///< nothing
  advise,  ///< runs it, and adds advice to the result
  refuse,  ///< refuses it with error_kind::absolute_path_detected
};

namespace detail {

/// What `local` was told; shared by its environments.
class local_settings {
 public:
  std::filesystem::path temporary_base;
  std::filesystem::path workspace;
  std::string shell;
  std::chrono::milliseconds default_timeout{std::chrono::minutes(5)};
  std::chrono::milliseconds kill_grace{500};
  std::chrono::milliseconds output_grace{100};
  path_policy paths = path_policy::advise;
  bool warns = true;
};

/// One open local environment. The commands' coroutines and handles share it.
class local_state {
 public:
  local_state(asio::any_io_executor executor, std::shared_ptr<const local_settings> settings)
      : executor_(std::move(executor)), settings_(std::move(settings)), children_(std::make_shared<child_registry>()) {
    reaper::instance().sweep();
    make_folders();
    find_shell();
    nothing_ = usable(unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), "/dev/null");
    set_variables();
    walls_ = std::make_shared<const protections>(
        protections().set(protection::process_tree, "process group"));
  }

  local_state(const local_state&) = delete;
  local_state& operator=(const local_state&) = delete;

  ~local_state() {
    if (!folder_.empty()) reaper::instance().adopt(std::move(folder_));
  }

  workspace_files& files() {
    require_open();
    return *files_;
  }

  const std::filesystem::path& workspace() const noexcept { return workspace_; }

  void require_open() const {
    if (closing_) throw error(errc::environment_closed, "local: the environment is closed; open another one");
  }

  /// A started child, or the result that says why there is none.
  class launched {
   public:
    std::shared_ptr<child_process> child;
    command_result refusal;
    std::string advice;
  };

  launched launch(command c) {
    require_open();
    launched outcome;
    if (std::optional<command_result> refusal = judge(c, outcome.advice)) {
      outcome.refusal = std::move(*refusal);
      return outcome;
    }
    spawn_request request;
    unique_fd directory;
    if (!c.working_directory().empty()) {
      directory = files_->root().open_directory_fd(files_->beneath(c.working_directory()));
      request.directory = directory.get();
    } else {
      request.directory = workspace_fd_.get();
    }
    request.variables = variables_for(c);
    if (c.is_shell()) {
      request.candidates.push_back(shell_);
      request.words = {shell_name_, "-c", "--", c.line()};
    } else {
      request.candidates = program_candidates(c.words().front(), path_for(c));
      request.words = c.words();
    }
    pipe_ends out = make_pipe();
    pipe_ends err = make_pipe();
    set_nonblocking(out.read_end);
    set_nonblocking(err.read_end);
    pipe_ends in;
    request.input = nothing_.get();
    if (c.input() || c.has_open_input()) {
      in = make_pipe();
      set_nonblocking(in.write_end);
      request.input = in.read_end.get();
    }
    request.output = out.write_end.get();
    request.error = err.write_end.get();

    spawned started = spawn(request);
    if (!started.ok()) {
      outcome.refusal = cannot_start(c, started);
      return outcome;
    }
    child_limits limits;
    limits.timeout = c.timeout().value_or(settings_->default_timeout);
    if (*limits.timeout == no_timeout) limits.timeout.reset();
    limits.grace = settings_->kill_grace;
    limits.linger = settings_->output_grace;
    limits.kept_output = c.kept_output().value_or(command::default_kept_output);
    limits.open_input = c.has_open_input();
    outcome.child = std::make_shared<child_process>(executor_, children_, started.pid(), std::move(started.pidfd()),
                                                    std::move(in.write_end), std::move(out.read_end),
                                                    std::move(err.read_end), limits);
    outcome.child->begin(c.input() ? *c.input() : bytes());
    return outcome;
  }

  /// The result of a child that has finished, with what only the environment knows.
  command_result complete(command_result result, const std::string& advice) const {
    result.walls(walls_);
    if (result.advice().empty() && !advice.empty()) result.advice(advice);
    return result;
  }

  /// Kills everything at once and waits for nothing: the environment was dropped without `close()`.
  void abandon() {
    closing_ = true;
    const std::vector<child_process*> running = children_->children();
    for (child_process* child : running) {
      const std::shared_ptr<child_process> kept = child->weak_from_this().lock();
      if (kept) kept->abandon();
    }
  }

  static awaitable<void> close(std::shared_ptr<local_state> self) {
    if (self->closing_) {
      while (!self->closed_) co_await self->nap();
      co_return;
    }
    self->closing_ = true;
    std::vector<std::shared_ptr<child_process>> running;
    for (child_process* child : self->children_->children())
      if (std::shared_ptr<child_process> kept = child->weak_from_this().lock()) running.push_back(std::move(kept));
    for (const std::shared_ptr<child_process>& child : running) {
      child->end(end_reason::closed);
      child->drain();
    }
    for (const std::shared_ptr<child_process>& child : running) co_await child->until_finished_shielded();
    std::exception_ptr failure;
    try {
      co_await remove_folder(self);
    } catch (...) {
      failure = std::current_exception();
    }
    self->nothing_.reset();
    self->workspace_fd_.reset();
    self->files_.reset();
    self->closed_ = true;
    reaper::instance().sweep();
    if (failure) std::rethrow_exception(failure);
  }

  static awaitable<command_result> run(std::shared_ptr<local_state> self, command c) {
    if (c.has_open_input())
      throw error(errc::invalid_argument, "run_command: open_input() needs start(); give the whole input with input()");
    launched started = self->launch(std::move(c));
    if (!started.child) co_return std::move(started.refusal);
    const abandon_unless_finished guard(started.child);
    co_await child_process::complete(started.child, "run_command");
    co_return self->complete(started.child->take_result(), started.advice);
  }

  static awaitable<process> start(std::shared_ptr<local_state> self, command c) {
    launched started = self->launch(std::move(c));
    if (!started.child) co_return process::finished(std::move(started.refusal));
    co_return process(std::make_unique<handle>(std::move(self), std::move(started)));
  }

 private:
  /// A coroutine that is thrown away while its command runs must not leave it running.
  class abandon_unless_finished {
   public:
    explicit abandon_unless_finished(std::shared_ptr<child_process> child) : child_(std::move(child)) {}
    abandon_unless_finished(const abandon_unless_finished&) = delete;
    abandon_unless_finished& operator=(const abandon_unless_finished&) = delete;
    ~abandon_unless_finished() { child_->abandon(); }

   private:
    std::shared_ptr<child_process> child_;
  };

  class handle final : public process::implementation {
   public:
    handle(std::shared_ptr<local_state> environment, launched started)
        : environment_(std::move(environment)), child_(std::move(started.child)), advice_(std::move(started.advice)) {}
    ~handle() override { child_->abandon(); }

    awaitable<chunk> read() override { return child_->read(); }
    awaitable<void> write_input(bytes_view data) override { return child_->write_input(data); }
    awaitable<void> close_input() override {
      child_->close_input();
      co_return;
    }
    awaitable<void> signal(int number) override {
      if (number < 1 || number > 64)
        throw error(errc::invalid_argument, "signal: " + std::to_string(number) + " is no signal; they are 1 to 64");
      child_->send(number);
      co_return;
    }
    awaitable<command_result> wait() override {
      co_await child_process::complete(child_, "wait");
      co_return environment_->complete(child_->result(), advice_);
    }

   private:
    std::shared_ptr<local_state> environment_;
    std::shared_ptr<child_process> child_;
    std::string advice_;
  };

  static error system_failure(const std::string& what) {
    const std::error_code cause(errno, std::system_category());
    return {errc::provider_failed, "local: " + what + ": " + cause.message(), cause};
  }

  void make_folders() {
    require_child_status();
    if (!settings_->workspace.empty()) {
      std::error_code failure;
      workspace_ = std::filesystem::canonical(settings_->workspace, failure);
      if (failure)
        throw error(errc::provider_failed, "local: the workspace '" + settings_->workspace.string() + "' cannot be used: " + failure.message() + "; it must be an existing directory", failure);
    }
    std::error_code failure;
    const std::filesystem::path base =
        settings_->temporary_base.empty() ? std::filesystem::temp_directory_path(failure) : settings_->temporary_base;
    if (!failure) std::filesystem::create_directories(base, failure);
    if (failure)
      throw error(errc::provider_failed, "local: no folder for temporary files: " + failure.message() + "; name one with temporary_base()", failure);
    std::string pattern = (std::filesystem::absolute(base) / "cofferdam-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw system_failure("cannot make a folder in '" + base.string() + "'");
    folder_ = pattern;
    try {
      directory top = directory::open(folder_);
      top.make_directory("tmp");
      std::optional<directory> staging;
      if (workspace_.empty()) {
        top.make_directory("workspace");
        top.make_directory("unfinished");
        workspace_ = folder_ / "workspace";
        staging.emplace(top.subdirectory("unfinished"));
      }
      directory root = directory::open(workspace_);
      workspace_fd_ = root.open_directory_fd(".");
      files_.emplace(std::move(root), workspace_.string(), std::move(staging));
    } catch (...) {
      std::error_code ignored;  // the first failure is the one to report
      std::filesystem::remove_all(folder_, ignored);
      folder_.clear();
      throw;
    }
  }

  /// Without a status to take, every result would be a guess.
  static void require_child_status() {
    struct sigaction action {};
    if (::sigaction(SIGCHLD, nullptr, &action) != 0) return;
    const bool ignored = (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
    if (ignored || (action.sa_flags & SA_NOCLDWAIT) != 0)
      throw error(errc::provider_failed,
                  "local: this program ignores SIGCHLD, so the kernel throws exit codes away; set it to SIG_DFL");
  }

  void find_shell() {
    std::vector<std::string> choices{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"};
    if (!settings_->shell.empty()) choices = {settings_->shell};
    for (const std::string& choice : choices) {
      if (::access(choice.c_str(), X_OK) != 0) continue;
      shell_ = choice;
      shell_name_ = std::filesystem::path(choice).filename().string();
      return;
    }
    throw error(errc::provider_failed, "local: no shell at '" + choices.back() + "'; install one or name it with shell()");
  }

  void set_variables() {
    const auto add = [this](std::string name, std::string value) {
      variables_.push_back(std::move(name) + "=" + std::move(value));
    };
    add("PATH", std::string(default_path));
    add("HOME", workspace_.string());
    add("LANG", "C.UTF-8");
    add("TERM", "dumb");
    add("TMPDIR", (folder_ / "tmp").string());
  }

  std::vector<std::string> variables_for(const command& c) const {
    std::vector<std::string> all = variables_;
    for (const command::variable_setting& setting : c.variables()) {
      const std::string start = setting.name() + "=";
      std::erase_if(all, [&](const std::string& one) { return one.starts_with(start); });
      all.push_back(start + setting.value());
    }
    return all;
  }

  static std::string_view path_for(const command& c) {
    for (const command::variable_setting& setting : c.variables())
      if (setting.name() == "PATH") return setting.value();
    return default_path;
  }

  /// What can be said of a command before anything starts.
  std::optional<command_result> judge(const command& c, std::string& advice) const {
    const auto invalid = [](std::string reason, std::string what_to_do) {
      return command_result::refused(error_kind::invalid_argument, std::move(reason), std::move(what_to_do));
    };
    constexpr std::string_view nul_advice = "Remove the NUL byte; write binary data to a file instead.";
    if (c.is_shell()) {
      if (c.line().find('\0') != std::string::npos) return invalid("The command holds a NUL byte", std::string(nul_advice));
      if (c.line().find_first_not_of(" \t\n") == std::string::npos) return invalid("The command is empty", "");
      if (c.line().size() >= command::longest_string)
        return invalid("The command has " + std::to_string(c.line().size()) + " bytes; Linux takes at most " +
                           std::to_string(command::longest_string - 1) + " in one line",
                       "Write the text to a file first, and run a short command that uses the file.");
      if (settings_->paths == path_policy::ignore) return std::nullopt;
      const std::string found = outside_path(c.line(), workspace_.native(), folder_.native());
      if (found.empty()) return std::nullopt;
      std::string hint = "The command names '" + one_line(found) +
                         "', which seems to lie outside the working directory. Use relative paths (e.g. './output.txt').";
      if (settings_->paths == path_policy::refuse)
        return command_result::refused(error_kind::absolute_path_detected,
                                       "Command appears to use paths outside the working directory", std::move(hint));
      advice = std::move(hint);
      return std::nullopt;
    }
    if (c.words().empty() || c.words().front().empty()) return invalid("The command is empty", "");
    for (const std::string& word : c.words()) {
      if (word.find('\0') != std::string::npos) return invalid("A word of the command holds a NUL byte", std::string(nul_advice));
      if (word.size() >= command::longest_string)
        return invalid("A word of the command has " + std::to_string(word.size()) + " bytes; Linux takes at most " +
                           std::to_string(command::longest_string - 1),
                       "Write the text to a file first, and give the file's name.");
    }
    return std::nullopt;
  }

  static command_result cannot_start(const command& c, const spawned& failed) {
    const std::string program = one_line(c.is_shell() ? "the shell" : c.words().front());
    const int number = failed.cause().value();
    error_kind kind = error_kind::execution_error;
    std::string advice;
    switch (failed.stage()) {
      case spawn_stage::clone:
        if (number == EAGAIN) kind = error_kind::process_limit;
        if (number == ENOMEM) kind = error_kind::out_of_memory;
        advice = "The system cannot start another process now. Wait for other commands to end.";
        break;
      case spawn_stage::directory: advice = "The working directory cannot be entered."; break;
      case spawn_stage::exec:
        if (number == ENOENT)
          advice = "There is no such program on the PATH, or the interpreter that its first line names does not exist.";
        if (number == EACCES) advice = "It is a directory or not executable. Set its x bit, or run it by its interpreter.";
        if (number == ENOEXEC) advice = "It is not a program, and has no '#!' line. Run it by its interpreter.";
        if (number == ETXTBSY) advice = "Something has it open for writing. Close it first.";
        if (number == E2BIG) {
          kind = error_kind::invalid_argument;
          advice = "All words and variables together are too long for Linux. Put the text into a file.";
        }
        break;
      case spawn_stage::descriptors:
      case spawn_stage::none: break;
    }
    command_result result = command_result::refused(
        kind, "Cannot run '" + program + "': " + failed.cause().message(), std::move(advice));
    result.cause(failed.cause());
    return result;
  }

  /// A short sleep on the environment's own executor, whatever was cancelled.
  awaitable<void> nap() {
    asio::steady_timer timer(executor_, std::chrono::milliseconds(5));
    std::error_code ignored;  // woken early is fine: the caller looks again
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  /// Removes what is ours. What the killed still hold or make meanwhile is tried again for a while.
  static awaitable<void> remove_folder(std::shared_ptr<local_state> self) {
    const directory above = directory::open(self->folder_.parent_path());
    for (int attempt = 0;; ++attempt) {
      std::string why;
      try {
        tree_removal removal = above.removal(self->folder_.filename().native());
        for (;;) {
          const bool done = removal.step(names_a_turn);
          if (done) break;
          co_await yield_turn("close");
        }
        self->folder_.clear();
      } catch (const error& failure) {
        if (failure.code() == errc::not_found) self->folder_.clear();  // somebody else has removed it
        why = failure.what();
      }
      if (self->folder_.empty()) co_return;
      if (attempt == 100)
        throw error(errc::io_error, "close: the folder '" + self->folder_.string() + "' cannot be removed: " + why);
      co_await self->nap();
    }
  }

  static constexpr std::string_view default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

  asio::any_io_executor executor_;
  std::shared_ptr<const local_settings> settings_;
  std::shared_ptr<child_registry> children_;
  std::filesystem::path folder_;
  std::filesystem::path workspace_;
  unique_fd workspace_fd_;
  std::optional<workspace_files> files_;
  unique_fd nothing_;
  std::string shell_;
  std::string shell_name_;
  std::vector<std::string> variables_;
  std::shared_ptr<const protections> walls_;
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace detail

/// An open `local` environment. Models every refinement but `suspendable_environment`.
///
/// Movable while no operation is under way. Destroyed without `close()`, it kills what runs and leaves the folder to be
/// removed when the next environment opens, or the program ends.
/// \par Threads  the executor it was opened on.
class local_environment {
 public:
  explicit local_environment(std::shared_ptr<detail::local_state> state) : state_(std::move(state)) {}
  local_environment(local_environment&&) noexcept = default;
  local_environment& operator=(local_environment&& other) noexcept {
    if (this != &other) {
      if (state_) state_->abandon();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~local_environment() {
    if (state_) state_->abandon();
  }

  /// Runs a command to its end. What it does is the result, its time limit included.
  /// \throws error{errc::environment_closed}; error{errc::outside_workspace, not_found, not_a_directory} for its working
  ///         directory; error{errc::io_error} where the host has no descriptor left. `partial()` has what had arrived.
  /// \par Cancellation  terminal: SIGTERM, the grace, SIGKILL to the process group; then error{errc::cancelled}.
  awaitable<command_result> run_command(command c) { return detail::local_state::run(get(), std::move(c)); }

  /// Starts a command. One that cannot be started yields a finished process with the result that says why.
  /// \throws as `run_command`.
  awaitable<process> start(command c) { return detail::local_state::start(get(), std::move(c)); }

  awaitable<bytes> read_file(std::string path, std::size_t most) { return files().read_file(std::move(path), most); }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return files().write_file(std::move(path), content);
  }
  awaitable<entry> stat(std::string path) { return files().stat(std::move(path)); }
  awaitable<std::vector<entry>> list(std::string path) { return files().list(std::move(path)); }
  awaitable<void> make_directory(std::string path) { return files().make_directory(std::move(path)); }
  awaitable<void> remove(std::string path) { return files().remove(std::move(path)); }
  awaitable<void> rename(std::string from, std::string to) { return files().rename(std::move(from), std::move(to)); }
  awaitable<transfer> put_files(file_source& source) { return files().put_files(source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return files().get_files(std::move(requests));
  }

  /// Where the workspace lies on this machine.
  const std::filesystem::path& workspace() const { return get()->workspace(); }

  /// Ends every command (SIGTERM, the grace, SIGKILL), whose awaiters get error{errc::environment_closed}, and removes
  /// the folder. Not cancelled; a second call waits for the first.
  /// \throws error{errc::io_error} where the folder cannot be removed: something that left its process group still writes.
  awaitable<void> close() {
    const std::shared_ptr<detail::local_state> state = get();
    return detail::shielded([state] { return detail::local_state::close(state); });
  }

 private:
  const std::shared_ptr<detail::local_state>& get() const {
    if (!state_) throw error(errc::environment_closed, "local: the environment was moved from");
    return state_;
  }
  workspace_files& files() const { return get()->files(); }

  std::shared_ptr<detail::local_state> state_;
};

/// Runs commands on this machine, as the user who runs the program, in a private temporary folder. **No wall**: for
/// code you trust, or would run yourself. Warns so once a program.
///
/// A command has a process group and session of its own; its end, its time limit, cancellation and `close()` end the
/// group. (A process that leaves the group by `setsid` is not followed.) Its environment is built from nothing: PATH
/// (the system folders), HOME (the workspace), LANG, TERM, TMPDIR, and what the command adds; standard input is
/// /dev/null; descriptors, signal state and umask of the program do not leak into it.
///
/// A command is finished when it ends: a background child that holds the output delays the result by `output_grace`,
/// then what is left of the group is killed.
class local {
 public:
  /// Where the private folder is made. Default: TMPDIR, else /tmp. Made where it is missing.
  local&& temporary_base(std::filesystem::path folder) && {
    return with([&](detail::local_settings& all) { all.temporary_base = std::move(folder); });
  }
  /// Works in this existing directory instead of a new one, and leaves it there.
  local&& workspace(std::filesystem::path folder) && {
    return with([&](detail::local_settings& all) { all.workspace = std::move(folder); });
  }
  /// The shell for lines, as an absolute path; it must take `-c -- LINE`. Default: bash, else /bin/sh.
  local&& shell(std::string path) && {
    return with([&](detail::local_settings& all) { all.shell = std::move(path); });
  }
  /// The time limit of commands that have none of their own. Default: 5 minutes; `no_timeout` for none.
  local&& default_timeout(std::chrono::milliseconds limit) && {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, "local: the default timeout must be longer than zero (no_timeout says: none)");
    return with([&](detail::local_settings& all) { all.default_timeout = limit; });
  }
  /// From SIGTERM to SIGKILL. Default: 500 ms; zero or more.
  local&& kill_grace(std::chrono::milliseconds time) && {
    require_not_negative(time, "kill_grace");
    return with([&](detail::local_settings& all) { all.kill_grace = time; });
  }
  /// How long a background child may go on writing once the command has ended. Default: 100 ms; zero or more.
  local&& output_grace(std::chrono::milliseconds time) && {
    require_not_negative(time, "output_grace");
    return with([&](detail::local_settings& all) { all.output_grace = time; });
  }
  /// What to do with a shell line that seems to name files outside the workspace. Default: `path_policy::advise`. It
  /// is a guess about text, for the model's sake, and no wall.
  local&& paths(path_policy policy) && {
    return with([&](detail::local_settings& all) { all.paths = policy; });
  }
  /// Does not warn that it is no wall.
  local&& without_warning() && {
    return with([](detail::local_settings& all) { all.warns = false; });
  }

  /// \throws error{errc::provider_failed} where a folder cannot be made, there is no shell, or the program ignores
  ///         SIGCHLD (then nobody can know how a command ended).
  awaitable<local_environment> open() const { return open_with(settings_); }

 private:
  static awaitable<local_environment> open_with(std::shared_ptr<const detail::local_settings> settings) {
    if (settings->warns) warn_once();
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    co_return local_environment(std::make_shared<detail::local_state>(std::move(executor), std::move(settings)));
  }

  static void warn_once() {
    static std::atomic_flag warned;
    if (!warned.test_and_set())
      detail::warn("local() is no wall: commands run on this machine as you. For code you do not trust use another "
                   "backend; local().without_warning() silences this");
  }

  static void require_not_negative(std::chrono::milliseconds time, const char* name) {
    if (time < std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, std::string("local: ") + name + " must not be negative");
  }

  template <class Change>
  local&& with(Change change) {
    auto copy = std::make_shared<detail::local_settings>(*settings_);
    change(*copy);
    settings_ = std::move(copy);
    return std::move(*this);
  }

  std::shared_ptr<const detail::local_settings> settings_ = std::make_shared<const detail::local_settings>();
};

}  // namespace cofferdam::inline v0
