// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/detail/driver_calls.hpp>
#include <cofferdam/code/detail/python_core.hpp>
#include <cofferdam/code/detail/python_settings.hpp>
#include <cofferdam/code/interpreter_info.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// Runs Python in an environment, by a driver that stays warm. Models `context_runner`. The type that `provider |
/// python()` opens.
///
/// Movable while nothing is awaited. The destructor ends all runs if `close()` was not called, and so does its
/// environment's.
/// \par Threads  any, as for `local_environment`. Host functions and listeners of a request run on the executor of the
///               coroutine that calls `run_code`; if that is no strand, on a strand over it.
template <streaming_environment E>
class python_runner {
 public:
  /// Holds no runner: operations throw `error{exec_errc::environment_closed}`.
  python_runner() = default;
  python_runner(E environment, std::shared_ptr<detail::python_core> core)
      : environment_(std::make_unique<placed>(std::move(environment))), core_(std::move(core)) {}
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

  /// Runs a piece of code: in a fork of the warm interpreter with fresh globals, or in the context that the request
  /// names. Every outcome of the code is a result: exceptions, SystemExit, the death of its process, its time limit. A
  /// driver that has died is restarted before the run; the result has `driver_restarted()`.
  ///
  /// A run ends when its code and its non-daemon threads have ended; then its remaining processes are ended. A context
  /// continues after a run, and so do the processes and threads started in it. Their output between two runs is put
  /// before the output of the next run, at most the last 64 KiB of each stream; their output during a run is part of
  /// that run's output. At its time limit a fork is killed. A context is interrupted (KeyboardInterrupt), and killed if
  /// the code does not end within the grace period.
  /// \throws error{exec_errc::deadlock} from a host function that waits for itself: see `tools::function`;
  ///     error{exec_errc::environment_closed}; error{exec_errc::provider_lost} and other exceptions of `start` if the
  ///     environment
  ///     fails, with `partial()`; error{exec_errc::provider_failed} if a driver cannot be restarted.
  /// \par Cancellation  terminal: the code is ended as at its limit, then error{exec_errc::cancelled} with `partial()`.
  awaitable<code_result> run_code(code_request request) {
    const auto core = require_core();  // before the environment is used: without a core there is no environment
    return detail::run_by_driver(core, *environment_, std::move(request));
  }

  /// Returns the names of all contexts, in the order of their creation.
  awaitable<std::vector<std::string>> contexts() { return detail::contexts_of(require_core()); }

  /// Kills a context. The run in it then has an `execution_error`. Returns false if there is no context of this name.
  awaitable<bool> end_context(std::string name) { return detail::end_context_of(require_core(), std::move(name)); }

  /// Returns the environment in which the code runs, for example to copy files.
  /// \throws error{exec_errc::environment_closed} if the runner was moved from.
  E& environment() {
    require_core();
    return environment_->environment;
  }

  /// Returns the version of the interpreter: "3.12.1"; empty before the first start and after `close`.
  std::string version() const { return core_ ? detail::version_of(*core_) : std::string(); }

  /// Returns the interpreter's description, for guards around it. The interpreter can also read code in the
  /// environment.
  interpreter_info guest() {
    interpreter_info there;
    there.python = version();
    there.start = [core = require_core(), place = environment_.get()](const python_reader& reader) {
      return place->start(detail::settings_of(*core).reader_command(reader));
    };
    return there;
  }

  /// Ends the driver, all runs and contexts, and closes the environment. Cannot be cancelled. A second call does
  /// nothing.
  awaitable<void> close() {
    return detail::shielded(
        [this, home = detail::home_of(*require_core())] { return home.run([this] { return close_all(*this); }); });
  }

 private:
  template <code_exec_provider Provider>
  friend class python_provider;
  using placed = detail::placed_environment<E>;

  const std::shared_ptr<detail::python_core>& require_core() const {
    if (!core_)
      throw error(exec_errc::environment_closed, "python: there is no runner (default-constructed or moved from)");
    return core_;
  }

  void abandon() noexcept {
    if (core_) detail::abandon_driver(std::move(core_), std::move(environment_));
  }

  static awaitable<void> prepare(python_runner& self) {
    const std::shared_ptr<detail::python_core> core = self.core_;
    co_await detail::install_packages(core, self.environment_->environment);
    co_await detail::ensure_driver(core, *self.environment_);
  }

  static awaitable<void> close_all(python_runner& self) {
    co_await detail::close_driver(self.core_);
    co_await self.environment_->environment.close();
  }

  std::unique_ptr<placed> environment_;  // the driver runs in it, so it must not be moved
  std::shared_ptr<detail::python_core> core_;
};

/// The recipe type of `provider | python()`.
template <code_exec_provider Provider>
class python_provider {
 public:
  using runner = python_runner<environment_of<Provider>>;

  python_provider(Provider provider, std::shared_ptr<const detail::python_settings> settings)
      : provider_(std::move(provider)), settings_(std::move(settings)) {}

  /// Opens the environment, installs packages, starts the driver and preloads.
  /// \throws the exceptions of the provider's `open()` and of `start`; error{exec_errc::provider_failed} if the
  ///     interpreter is missing or too old, pip fails or a module cannot be preloaded: the sentence has the original
  ///     message.
  awaitable<runner> open() const { return open_with(provider_, settings_); }

 private:
  static awaitable<runner> open_with(Provider provider, std::shared_ptr<const detail::python_settings> settings) {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const detail::home_strand home(std::move(executor));
    const auto opens = [&home, &provider, &settings] {
      return open_at(home.executor(), std::move(provider), std::move(settings));
    };
    runner opened = co_await home.run(opens);
    co_return std::move(opened);
  }

  /// \param strand  the strand of the runner and of its environment.
  static awaitable<runner> open_at(asio::any_io_executor strand, Provider provider,
                                   std::shared_ptr<const detail::python_settings> settings) {
    const auto core = detail::make_core(std::move(strand), std::move(settings));
    std::optional<runner> opened;
    const auto opens = [&]() -> awaitable<void> {
      environment_of<Provider> environment = co_await provider.open();
      opened.emplace(std::move(environment), core);
      co_await runner::prepare(*opened);
    };
    const auto closes = [&opened]() -> awaitable<void> {
      if (!opened) return {};
      return runner::close_all(*opened);
    };
    co_await detail::with_cleanup_after_failure(opens, closes);
    co_return std::move(*opened);
  }

  Provider provider_;
  std::shared_ptr<const detail::python_settings> settings_;
};

/// Makes a Python runner from any environment that can `start` commands: `local() | python().preload("json")`.
///
/// The interpreter (3.8 or newer, Linux) is started once, isolated (`-I`: no PYTHON* variables, no user packages,
/// UTF-8), and reads a driver from its standard input; nothing is written into the workspace. Every run is a fork of
/// this process with the preloaded modules, so that each is imported only once.
///
/// The search order of modules is: helpers, the standard library, packages installed here, packages of the interpreter,
/// and last the work directory. A file there is imported only if no other module has its name, so a run that writes
/// `random.py` does not replace `random`, in this run or a later one. `.pth` files, `sitecustomize` and `usercustomize`
/// in the workspace have no effect. Runs can change every file that they may write, and so affect later runs and later
/// starts: modules of the work directory, installed packages, and even the interpreter if it is in the workspace or if
/// runs are root in a container. multiprocessing forks by default, with 3.14 too; spawned processes cannot import the
/// code, because it is not a file.
///
/// Runs share no memory and no descriptors. Their only connections to the host are their output and a channel for this
/// one run. **The environment provides the isolation**, around all runs of a runner, not between them: runs are
/// processes of one user. They can end each other and the driver, and can read each other's memory if the kernel allows
/// it. Use separate runners for runs that must not trust each other.
/// \par Layers   a `timeout` or `allow_commands` layer beneath sees one command, the interpreter, for the lifetime of
///               the runner.
/// \par Source   Python's `os.fork`, prctl(2), unix(7).
class python {
 public:
  /// Sets the name or path of the interpreter. Default: "python3". Prefer a real binary to a version manager's shim.
  python& interpreter(std::string program) {
    return with([&](detail::python_settings& settings) { settings.interpreter = std::move(program); });
  }
  /// Installs packages with pip when the runner opens, into a folder `.cofferdam` of the workspace. They take
  /// precedence over packages of the interpreter, but not over the standard library. The same list is not installed
  /// twice in one workspace. Earlier runs in the same workspace may have made this folder, or a configuration file of
  /// pip (if HOME is the workspace).
  /// \throws error{exec_errc::invalid_argument} for a name that begins with '-' or is empty.
  template <std::convertible_to<std::string>... Names>
  python& pip_packages(Names&&... names) {
    return with(
        [&](detail::python_settings& settings) { (settings.packages.push_back(package(std::string(names))), ...); });
  }
  /// Adds options of pip before the packages: `.pip_options("--no-index", "--find-links", "wheels")`. Not checked.
  template <std::convertible_to<std::string>... Words>
  python& pip_options(Words&&... words) {
    return with([&](detail::python_settings& settings) {
      (settings.pip_options.emplace_back(std::forward<Words>(words)), ...);
    });
  }
  /// Sets an environment variable of the code.
  python& variable(std::string name, std::string value) {
    return with(
        [&](detail::python_settings& settings) { settings.variables.emplace_back(std::move(name), std::move(value)); });
  }
  /// Imports modules once, before the first run. They are searched among the helpers, the installed packages and the
  /// interpreter's modules, but not in the workspace, where guests can write.
  template <std::convertible_to<std::string>... Names>
  python& preload(Names&&... names) {
    return with(
        [&](detail::python_settings& settings) { (settings.preload.emplace_back(std::forward<Names>(names)), ...); });
  }
  /// Adds a module that the code can import, as source text.
  python& helper(std::string name, std::string source) {
    return with(
        [&](detail::python_settings& settings) { settings.helpers.emplace_back(std::move(name), std::move(source)); });
  }
  /// Sets the directory in which the code starts: an existing directory inside the workspace. Default: the workspace.
  python& working_directory(std::string path) {
    return with([&](detail::python_settings& settings) { settings.working_directory = std::move(path); });
  }
  /// Sets the time limit of requests without one. Default: 30 seconds; more than zero, or `no_timeout`.
  python& timeout(std::chrono::milliseconds limit) {
    require_positive(limit, "timeout");
    return with([&](detail::python_settings& settings) { settings.timeout = limit; });
  }
  /// Sets the time limit for the start of the interpreter and the preloading. Default: 60 seconds.
  python& start_timeout(std::chrono::milliseconds limit) {
    require_positive(limit, "start_timeout");
    return with([&](detail::python_settings& settings) { settings.start_timeout = limit; });
  }
  /// Sets the time that a context's code has to end after it is interrupted. Default: 1 second; zero: killed at once.
  python& interrupt_grace(std::chrono::milliseconds time) {
    if (time < std::chrono::milliseconds::zero() || time > std::chrono::hours(1))
      throw error(exec_errc::invalid_argument, "python: interrupt_grace must be between zero and an hour");
    return with([&](detail::python_settings& settings) { settings.interrupt_grace = time; });
  }
  /// Sets the number of bytes that a result keeps of each output stream, if the request does not set it. Default: 1
  /// MiB.
  python& keep_output(std::size_t bytes_per_stream) {
    return with([&](detail::python_settings& settings) { settings.kept_output = bytes_per_stream; });
  }
  /// Sets the maximum number of files to check for changes by a run. Default: 10,000; 0: checks none.
  /// \par Cost  one lstat of every file beneath the work directory before and after each run, half a second each at
  ///            most. With few files, or with 0, short runs are faster.
  python& track_files(std::size_t max_files) {
    return with([&](detail::python_settings& settings) { settings.max_files = max_files; });
  }
  /// Limits the address space of each process of a run, in bytes (RLIMIT_AS): more is a MemoryError.
  python& memory_limit(std::uint64_t size) { return limit("AS", size); }
  /// Limits the size of each file that a run writes, in bytes (RLIMIT_FSIZE).
  python& file_size_limit(std::uint64_t size) { return limit("FSIZE", size); }

  /// Makes the recipe of a runner.
  template <code_exec_provider Provider>
    requires streaming_environment<environment_of<Provider>>
  friend python_provider<Provider> operator|(Provider provider, const python& options) {
    return python_provider<Provider>(std::move(provider), options.settings_);
  }

  /// Explains the right order, if the operands are exchanged.
  template <code_exec_provider Provider>
  friend python_provider<Provider> operator|(const python& options, const Provider& provider) {
    static_assert(!code_exec_provider<Provider>,
                  "cofferdam: the provider comes first, and the runner of code behind it: local() | python()");
    return python_provider<Provider>(provider, options.settings_);
  }

 private:
  static void require_positive(std::chrono::milliseconds limit, const char* name) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, std::string("python: ") + name + " must be longer than zero");
  }
  static std::string package(std::string name) {
    if (name.empty() || name.front() == '-')
      throw error(exec_errc::invalid_argument, "python: a package's name is not empty and does not begin with '-'");
    return name;
  }
  python& limit(const char* name, std::uint64_t size) {
    return with([&](detail::python_settings& settings) { settings.limits[name] = size; });
  }

  template <class Change>
  python& with(Change change) {
    auto copy = std::make_shared<detail::python_settings>(*settings_);
    change(*copy);
    settings_ = std::move(copy);
    return *this;
  }

  static std::shared_ptr<const detail::python_settings> defaults() {
    return std::make_shared<detail::python_settings>();
  }

  std::shared_ptr<const detail::python_settings> settings_ = defaults();
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/code/impl/python.ipp>
#endif
