// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_guest.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/detail/python_core.hpp>
#include <cofferdam/code/detail/python_settings.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/core/streaming_environment.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// Runs Python in an environment, by a driver that stays warm. Models `context_runner`. What `provider | python()` opens.
///
/// Movable while nothing is awaited. Destroyed without `close()` it ends what runs, as its environment does.
/// \par Threads  the executor it was opened on.
template <streaming_environment E>
class python_runner {
 public:
  python_runner(E environment, std::shared_ptr<detail::python_core> core)
      : environment_(std::make_unique<E>(std::move(environment))), core_(std::move(core)) {}
  python_runner(python_runner&&) noexcept = default;
  python_runner& operator=(python_runner&& other) noexcept {
    if (this != &other) {
      abandon();
      core_ = std::move(other.core_);
      environment_ = std::move(other.environment_);
    }
    return *this;
  }
  ~python_runner() { abandon(); }

  /// Runs a piece of code: by itself, in a fork of the warm interpreter with fresh globals, or in the context that the
  /// request names. Whatever the code does is a result: exceptions, SystemExit, its process's death, its time limit. A
  /// driver that has died is started anew first, and the result says so.
  ///
  /// A run is over when its code is, and its threads that are no daemons; what processes it has left are ended then. A
  /// context lives on, with what it has started: what that prints between two runs comes before the output of the next, at
  /// most the last 64 KiB of each stream, and what it prints during one is among that one's. At its limit a fork is killed;
  /// a context is interrupted (KeyboardInterrupt), and killed where that does not end the code within the grace.
  /// \throws error{errc::environment_closed}; error{errc::provider_lost} and what else `start` throws where the
  ///         environment fails, with `partial()`; error{errc::provider_failed} where a driver cannot be started again.
  /// \par Cancellation  terminal: the code is ended as at its limit, then error{errc::cancelled} with `partial()`.
  awaitable<code_result> run_code(code_request request) { return run(*this, std::move(request)); }

  /// The names of the contexts that live, in the order of their making.
  awaitable<std::vector<std::string>> contexts() { return detail::python_core::contexts(require_core()); }

  /// Kills a context and what runs in it, which is an `execution_error` then. False where there is none of that name.
  awaitable<bool> end_context(std::string name) {
    return detail::python_core::end_context(require_core(), std::move(name));
  }

  /// The environment that the code runs in: for files to and fro.
  /// \throws error{errc::environment_closed} where the runner was moved from.
  E& environment() {
    require_core();
    return *environment_;
  }

  /// Of the interpreter: "3.12.1"; empty before the first start and after `close`.
  std::string version() const { return core_ && core_->link() ? core_->link()->version() : std::string(); }

  /// For guards around it: the interpreter reads in the environment, too.
  code_guest guest() {
    code_guest there;
    there.python = version();
    there.start = [core = require_core(), environment = environment_.get()](const python_reader& reader) {
      return environment->start(core->settings->reader_command(reader));
    };
    return there;
  }

  /// Ends the driver, all runs and contexts, and closes the environment. Not cancelled; a second call does nothing.
  awaitable<void> close() {
    require_core();
    return detail::shielded([this] { return close_all(*this); });
  }

 private:
  template <code_exec_provider Provider>
  friend class python_provider;

  const std::shared_ptr<detail::python_core>& require_core() const {
    if (!core_) throw error(errc::environment_closed, "python: the runner was moved from");
    return core_;
  }

  void abandon() noexcept {
    try {
      if (core_) core_->abandon();
    } catch (const std::exception&) {  // no memory: the environment's own end, which follows, ends the driver too
    }
  }

  static awaitable<code_result> run(python_runner& self, code_request request) {
    const std::shared_ptr<detail::python_core> core = self.require_core();
    core->require_open();
    if (!core->works()) co_await detail::python_core::ensure(core, *self.environment_);
    code_result result = co_await detail::python_core::run(core, std::move(request));
    co_return result;
  }

  static awaitable<void> prepare(python_runner& self) {
    const std::shared_ptr<detail::python_core> core = self.core_;
    co_await detail::install_packages(core, *self.environment_);
    co_await detail::python_core::ensure(core, *self.environment_);
  }

  static awaitable<void> close_all(python_runner& self) {
    co_await detail::python_core::close(self.core_);
    co_await self.environment_->close();
  }

  std::unique_ptr<E> environment_;  // the driver runs in it, so it stays where it is
  std::shared_ptr<detail::python_core> core_;
};

/// What `provider | python()` makes: a recipe for a runner.
template <code_exec_provider Provider>
class python_provider {
 public:
  using runner = python_runner<environment_of<Provider>>;

  python_provider(Provider provider, std::shared_ptr<const detail::python_settings> settings)
      : provider_(std::move(provider)), settings_(std::move(settings)) {}

  /// Opens the environment, installs packages, starts the driver and preloads.
  /// \throws what the provider's `open()` and `start` throw; error{errc::provider_failed} where the interpreter is not there
  ///         or too old, pip fails or a module cannot be preloaded: the sentence has their own words.
  awaitable<runner> open() const { return open_with(provider_, settings_); }

 private:
  static awaitable<runner> open_with(Provider provider, std::shared_ptr<const detail::python_settings> settings) {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto core = std::make_shared<detail::python_core>(std::move(executor), std::move(settings));
    environment_of<Provider> environment = co_await provider.open();
    runner opened(std::move(environment), core);
    std::exception_ptr failure;
    try {
      co_await runner::prepare(opened);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) {
      const bool throws = co_await asio::this_coro::throw_if_cancelled();
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await detail::shielded([&opened] { return runner::close_all(opened); });
      co_await asio::this_coro::throw_if_cancelled(throws);
      std::rethrow_exception(failure);
    }
    co_return std::move(opened);
  }

  Provider provider_;
  std::shared_ptr<const detail::python_settings> settings_;
};

/// Makes a runner of Python code of any environment that can `start` commands: `local() | python().preload("json")`.
///
/// The interpreter (3.8 or newer, Linux) is started once, isolated (`-I`: no PYTHON* variables, no user packages, UTF-8),
/// and reads a driver from its standard input; nothing is written into the workspace. Every run is a fork of it with what
/// was preloaded, so that imports are paid once.
///
/// Modules are looked for among the helpers, then in the standard library, the packages that were installed here, those of
/// the interpreter, and in the work directory last: a file there is imported under its name only where nothing else has it,
/// so that a run that writes `random.py` changes no `random`, its own or a later run's. `.pth` files, `sitecustomize` and
/// `usercustomize` in the workspace do nothing. What stands where runs may write they may change, for later runs and later
/// starts: modules of the work directory, installed packages, and the interpreter itself where it stands in the workspace
/// or runs are root in a container. multiprocessing forks unless code says otherwise, with 3.14 too; processes that are
/// spawned cannot import the code, which is no file.
///
/// Runs share no memory and no descriptors, and reach the host by nothing but their own output and a channel that speaks of
/// this one run. **The wall is the environment's**, and it stands around all runs of a runner, not between them: they are
/// processes of one user, who can end each other and the driver, and read each other's memory where the kernel lets one
/// user's processes do that. Runs that must not trust each other get a runner each.
/// \par Layers   a `timeout` or `allow_commands` layer beneath sees one command, the interpreter, for the runner's life.
/// \par Source   Python's `os.fork`, prctl(2), unix(7).
class python {
 public:
  /// The interpreter's name or path. Default: "python3". Best a real binary, not a version manager's shim.
  python&& interpreter(std::string program) && {
    return with([&](detail::python_settings& all) { all.interpreter = std::move(program); });
  }
  /// Installs packages with pip when the runner opens, into a folder `.cofferdam` of the workspace. They go before those of
  /// the interpreter, and behind the standard library. The same list is not installed twice in one workspace. A workspace
  /// that earlier runs could write in may have the folder already, or pip's configuration (where HOME is the workspace).
  /// \throws error{errc::invalid_argument} for a name that begins with '-' or is empty.
  template <std::convertible_to<std::string>... Names>
  python&& pip_packages(Names&&... names) && {
    return with([&](detail::python_settings& all) { (all.packages.push_back(package(std::string(names))), ...); });
  }
  /// Words for pip before the packages: `.pip_options("--no-index", "--find-links", "wheels")`. Not checked.
  template <std::convertible_to<std::string>... Words>
  python&& pip_options(Words&&... words) && {
    return with([&](detail::python_settings& all) { (all.pip_options.emplace_back(std::forward<Words>(words)), ...); });
  }
  /// An environment variable of the code.
  python&& variable(std::string name, std::string value) && {
    return with([&](detail::python_settings& all) { all.variables.emplace_back(std::move(name), std::move(value)); });
  }
  /// Modules to import once, before anything runs. They are found where the interpreter finds modules, among the helpers
  /// and the installed packages; not in the workspace, where guests write.
  template <std::convertible_to<std::string>... Names>
  python&& preload(Names&&... names) && {
    return with([&](detail::python_settings& all) { (all.preload.emplace_back(std::forward<Names>(names)), ...); });
  }
  /// A module that the code can import, given as source.
  python&& helper(std::string name, std::string source) && {
    return with([&](detail::python_settings& all) { all.helpers.emplace_back(std::move(name), std::move(source)); });
  }
  /// Where the code starts: a directory inside the workspace, which is there already. Default: the workspace.
  python&& working_directory(std::string path) && {
    return with([&](detail::python_settings& all) { all.working_directory = std::move(path); });
  }
  /// The time limit of requests that have none. Default: 30 seconds; more than zero, or `no_timeout`.
  python&& timeout(std::chrono::milliseconds limit) && {
    require_positive(limit, "timeout");
    return with([&](detail::python_settings& all) { all.timeout = limit; });
  }
  /// How long the interpreter and the preloading may take. Default: 60 seconds.
  python&& start_timeout(std::chrono::milliseconds limit) && {
    require_positive(limit, "start_timeout");
    return with([&](detail::python_settings& all) { all.start_timeout = limit; });
  }
  /// How long a context's code may take to end once it is interrupted. Default: 1 second; zero: killed at once.
  python&& interrupt_grace(std::chrono::milliseconds time) && {
    if (time < std::chrono::milliseconds::zero() || time > std::chrono::hours(1))
      throw error(errc::invalid_argument, "python: interrupt_grace must be between zero and an hour");
    return with([&](detail::python_settings& all) { all.interrupt_grace = time; });
  }
  /// How many bytes of each output stream a result keeps, where the request does not say. Default: 1 MiB.
  python&& keep_output(std::size_t bytes_per_stream) && {
    return with([&](detail::python_settings& all) { all.kept_output = bytes_per_stream; });
  }
  /// Looks at so many files, at most, for what a run has made or changed. Default: 10,000; 0: does not look.
  /// \par Cost  a look at every file beneath the work directory (lstat) before each run and after it, half a second each at
  ///            most; the less there is, or with 0, the faster are short runs.
  python&& track_files(std::size_t most) && {
    return with([&](detail::python_settings& all) { all.most_files = most; });
  }
  /// The address space of each process of a run, in bytes (RLIMIT_AS): more is a MemoryError.
  python&& memory_limit(std::uint64_t size) && { return limit("AS", size); }
  /// The largest file that a run may write, in bytes (RLIMIT_FSIZE).
  python&& file_size_limit(std::uint64_t size) && { return limit("FSIZE", size); }

  /// Makes the recipe of a runner.
  template <code_exec_provider Provider>
    requires streaming_environment<environment_of<Provider>>
  friend python_provider<Provider> operator|(Provider provider, const python& options) {
    return python_provider<Provider>(std::move(provider), options.settings_);
  }

 private:
  static void require_positive(std::chrono::milliseconds limit, const char* name) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, std::string("python: ") + name + " must be longer than zero");
  }
  static std::string package(std::string name) {
    if (name.empty() || name.front() == '-')
      throw error(errc::invalid_argument, "python: a package's name is not empty and does not begin with '-'");
    return name;
  }
  python&& limit(const char* name, std::uint64_t size) {
    return with([&](detail::python_settings& all) { all.limits[name] = size; });
  }

  template <class Change>
  python&& with(Change change) {
    auto copy = std::make_shared<detail::python_settings>(*settings_);
    change(*copy);
    settings_ = std::move(copy);
    return std::move(*this);
  }

  static std::shared_ptr<const detail::python_settings> defaults() {
    return std::make_shared<detail::python_settings>();
  }

  std::shared_ptr<const detail::python_settings> settings_ = defaults();
};

}  // namespace cofferdam::inline v0
