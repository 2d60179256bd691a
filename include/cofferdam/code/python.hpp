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

namespace detail {
class notebook_python;
}  // namespace detail

/// A runner that executes Python in an environment. A driver, one interpreter process that stays warm, starts all runs.
/// Models `context_runner`. This is the type that `open()` of `provider | python()` returns.
///
/// A runner may be moved only while no operation is under way. If `close()` was not called, the destructor ends all
/// runs. The destructor of the environment inside the runner ends them too.
/// \par Threads  may be used from several threads. Host functions and listeners of a request run on the executor of the
///               coroutine that calls `run_code`. If this executor is not a strand, they run on a strand over it.
template <streaming_environment E>
class python_runner {
 public:
  /// Makes an object that is not open. Every operation throws `error{exec_errc::environment_closed}`.
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

  /// Runs a piece of code. Without a context, the code runs in a fork of the warm interpreter, with fresh globals.
  /// Otherwise it runs in the context that the request names. Every outcome of the code is a result: an exception,
  /// SystemExit, the death of its process, its time limit. If the driver has died, it is restarted before the run, and
  /// `driver_restarted()` of the result is true.
  ///
  /// A run without a context ends when its code and its non-daemon threads have ended. Its remaining processes are
  /// ended then. A context continues after a run, and so do the processes and threads that were started in it. Output
  /// that they write during a run is part of the output of this run. Output that they write between two runs is put
  /// before the output of the next run, at most the last 64 KiB of each stream.
  ///
  /// At the time limit, a run without a context is killed. A run in a context is interrupted (KeyboardInterrupt). If
  /// its code does not end within the grace period, the context is killed.
  /// \throws error{exec_errc::deadlock} if a host function waits for itself (see `tools::function`).
  /// \throws error{exec_errc::environment_closed} after `close()`.
  /// \throws error{exec_errc::provider_lost} and other exceptions of the environment's `start`, if the environment
  ///     fails. Their `partial()` has the output so far.
  /// \throws error{exec_errc::provider_failed} if the driver cannot be restarted.
  /// \par Cancellation  terminal. The code is ended as at its time limit. Then `run_code` throws
  ///                    error{exec_errc::cancelled}, whose `partial()` has the output so far.
  awaitable<code_result> run_code(code_request request) {
    // Comes first: if there is no runner, it throws before the null pointer `environment_` is used.
    const auto core = require_core();
    return detail::run_by_driver(core, *environment_, std::move(request));
  }

  /// Returns the names of all contexts, in the order of their creation.
  awaitable<std::vector<std::string>> contexts() { return detail::contexts_of(require_core()); }

  /// Kills a context. A run that is under way in it has the result kind `execution_error`. Returns false if there is no
  /// context of this name.
  awaitable<bool> end_context(std::string name) { return detail::end_context_of(require_core(), std::move(name)); }

  /// Returns the environment in which the code runs, for example to copy files. The reference is valid until the runner
  /// is destroyed.
  /// \throws error{exec_errc::environment_closed} if the runner was default-constructed or moved from.
  E& environment() {
    require_core();
    return environment_->environment;
  }

  /// Returns the version of the interpreter, for example "3.12.1". The text is empty before the first start and after
  /// `close`.
  std::string version() const { return core_ ? detail::version_of(*core_) : std::string(); }

  /// Returns true if the environment is known to be lost, so that all further runs would fail. This member is present
  /// if the environment has it. A driver that has died is no loss, because the next run restarts it.
  bool is_lost() const noexcept
    requires requires(const E& environment) { environment.is_lost(); }
  {
    return !core_ || environment_->environment.is_lost();
  }

  /// Returns a description of the interpreter. Guards use it to start a process in the environment that parses code.
  interpreter_info guest() {
    interpreter_info there;
    there.python = version();
    there.start = [core = require_core(), place = environment_.get()](const python_reader& reader) {
      return place->start(detail::settings_of(*core).reader_command(reader));
    };
    return there;
  }

  /// Ends the driver, all runs and all contexts, and closes the environment. Cannot be cancelled. A second call does
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
      throw error(exec_errc::environment_closed,
                  "python: not open (default-constructed or moved from); call open() on the recipe first");
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

  std::unique_ptr<placed> environment_;  // on the heap, because the driver runs in it and it must not be moved
  std::shared_ptr<detail::python_core> core_;
};

/// The type of the recipe `provider | python()`.
template <code_exec_provider Provider>
class python_provider {
 public:
  /// The type of the runner that `open` returns.
  using runner = python_runner<environment_of<Provider>>;

  python_provider(Provider provider, std::shared_ptr<const detail::python_settings> settings)
      : provider_(std::move(provider)), settings_(std::move(settings)) {}

  /// Opens the environment, installs the packages, starts the driver and imports the modules of `preload`.
  /// \throws the exceptions of the provider's `open()` and of the environment's `start`.
  /// \throws error{exec_errc::provider_failed} if the interpreter is missing or too old, pip fails, or a module cannot
  ///     be imported. The message of the error quotes the original message.
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

  /// \param strand  the strand on which the runner and its environment work.
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

/// The recipe of a runner that executes Python in any environment that can `start` commands:
/// `local() | python().preload("json")`.
///
/// The interpreter (3.8 or newer, Linux) is started once for all runs. It is isolated (`-I`): it uses UTF-8 and ignores
/// PYTHON* variables and packages of the user. It reads the driver program from its standard input, so nothing is
/// written into the workspace. Every run without a context is a fork of this process. Therefore each module of
/// `preload` is imported only once.
///
/// The search order of modules is: helpers, the standard library, packages of `pip_packages`, packages of the
/// interpreter, and last the work directory. A file in the work directory is imported only if no other module has its
/// name. Therefore a run that writes `random.py` does not replace `random`, in this run or a later one. `.pth` files,
/// `sitecustomize` and `usercustomize` in the workspace have no effect.
///
/// Runs can change every file that they may write, and so affect later runs and later starts. This concerns modules of
/// the work directory and installed packages. It even concerns the interpreter, if the interpreter is in the workspace
/// or if runs are root in a container. With multiprocessing, child processes are forked by default, even in Python
/// 3.14. A spawned process cannot import the code of the run, because this code is not a file.
///
/// Runs share no memory and no descriptors with each other. Their only connections to the host are their output and one
/// channel for each run. **The environment provides the isolation**, around all runs of a runner, not between them: all
/// runs are processes of one user. They can end each other and the driver, and can read each other's memory if the
/// kernel allows this. Use separate runners for runs that must not trust each other.
/// \par Layers   a `timeout` or `allow_commands` layer (middleware) between provider and runner sees one command: the
/// interpreter, for the whole lifetime of the runner.
/// \par Source   Python's `os.fork`, prctl(2), unix(7).
class python {
 public:
  /// Sets the name or path of the interpreter. Default: "python3". Prefer the real binary to the shim of a version
  /// manager.
  python& interpreter(std::string program) {
    return with([&](detail::python_settings& settings) { settings.interpreter = std::move(program); });
  }
  /// Installs packages with pip when the runner opens, into a folder `.cofferdam` of the workspace. The packages take
  /// precedence over packages of the interpreter, but not over the standard library. The same list is installed only
  /// once in a workspace. Earlier runs in the same workspace could have created or changed this folder, or a
  /// configuration file of pip if HOME is the workspace.
  /// \throws error{exec_errc::invalid_argument} for a name that is empty or begins with '-'.
  template <std::convertible_to<std::string>... Names>
  python& pip_packages(Names&&... names) {
    return with(
        [&](detail::python_settings& settings) { (settings.packages.push_back(package(std::string(names))), ...); });
  }
  /// Adds options for pip, which are passed before the packages:
  /// `.pip_options("--no-index", "--find-links", "wheels")`. The options are not checked.
  template <std::convertible_to<std::string>... Words>
  python& pip_options(Words&&... words) {
    return with([&](detail::python_settings& settings) {
      (settings.pip_options.emplace_back(std::forward<Words>(words)), ...);
    });
  }
  /// Sets an environment variable of the interpreter, and so of all runs.
  python& variable(std::string name, std::string value) {
    return with(
        [&](detail::python_settings& settings) { settings.variables.emplace_back(std::move(name), std::move(value)); });
  }
  /// Imports modules once, before the first run. They are searched among the helpers, the installed packages and the
  /// modules of the interpreter, but not in the work directory, where earlier runs could have written a file of the
  /// same name.
  template <std::convertible_to<std::string>... Names>
  python& preload(Names&&... names) {
    return with(
        [&](detail::python_settings& settings) { (settings.preload.emplace_back(std::forward<Names>(names)), ...); });
  }
  /// Adds a module that the code can import.
  /// \param name    the name of the module.
  /// \param source  its source text.
  python& helper(std::string name, std::string source) {
    return with(
        [&](detail::python_settings& settings) { settings.helpers.emplace_back(std::move(name), std::move(source)); });
  }
  /// Sets the directory in which the code starts: an existing directory, relative to the workspace. Default: the
  /// workspace itself.
  python& working_directory(std::string path) {
    return with([&](detail::python_settings& settings) { settings.working_directory = std::move(path); });
  }
  /// Sets the time limit of requests that have none. More than zero, or `no_timeout`. Default: 30 seconds.
  python& timeout(std::chrono::milliseconds limit) {
    require_positive(limit, "timeout");
    return with([&](detail::python_settings& settings) { settings.timeout = limit; });
  }
  /// Sets the time limit for the start of the interpreter and the imports of `preload`. More than zero. Default: 60
  /// seconds.
  python& start_timeout(std::chrono::milliseconds limit) {
    require_positive(limit, "start_timeout");
    return with([&](detail::python_settings& settings) { settings.start_timeout = limit; });
  }
  /// Sets how long the code of a context may continue after it was interrupted at its time limit. The context is killed
  /// afterwards. From zero (killed at once) to an hour. Default: 1 second.
  python& interrupt_grace(std::chrono::milliseconds time) {
    if (time < std::chrono::milliseconds::zero() || time > std::chrono::hours(1))
      throw error(exec_errc::invalid_argument, "python: interrupt_grace must be between zero and an hour");
    return with([&](detail::python_settings& settings) { settings.interrupt_grace = time; });
  }
  /// Sets the maximum number of bytes that a result keeps of each output stream, if the request does not set it.
  /// Default: 1 MiB.
  python& keep_output(std::size_t bytes_per_stream) {
    return with([&](detail::python_settings& settings) { settings.kept_output = bytes_per_stream; });
  }
  /// Sets the maximum number of files that are checked for changes by a run. 0 means that no files are checked.
  /// Default: 10,000.
  /// \par Cost  one lstat call for every file beneath the work directory, before and after each run, for at most half a
  ///            second each. With few files, or with 0, short runs are faster.
  python& track_files(std::size_t max_files) {
    return with([&](detail::python_settings& settings) { settings.max_files = max_files; });
  }
  /// Limits the address space of each process of a run, in bytes (RLIMIT_AS). An allocation beyond the limit raises a
  /// MemoryError. Default: no limit.
  python& memory_limit(std::uint64_t size) { return limit("AS", size); }
  /// Limits the size of each file that a run writes, in bytes (RLIMIT_FSIZE). Default: no limit.
  python& file_size_limit(std::uint64_t size) { return limit("FSIZE", size); }

  /// Makes the recipe of a Python runner in the environments of `provider`.
  template <code_exec_provider Provider>
    requires streaming_environment<environment_of<Provider>>
  friend python_provider<Provider> operator|(Provider provider, const python& options) {
    return python_provider<Provider>(std::move(provider), options.settings_);
  }

  /// Stops the compilation, with an error message that names what the provider's environment lacks. Code that works
  /// with and without a runner tests `streaming_environment<environment_of<Provider>>`.
  template <class Provider>
    requires(detail::opens_part_of_environment<Provider> &&
             !(code_exec_provider<Provider> && streaming_environment<environment_of<Provider>>))
  friend const Provider& operator|(const Provider& provider, const python&) {
    if constexpr (code_exec_provider<Provider>)
      static_assert(streaming_environment<environment_of<Provider>>,
                    "cofferdam: python() needs an environment with awaitable<process> start(command). A layer with a "
                    "run_command of its own needs a start of its own too");
    else
      detail::explain_provider<Provider>();
    return provider;
  }

  /// Reports the right order of the operands in a compile error, if they are in the wrong order.
  template <code_exec_provider Provider>
  friend python_provider<Provider> operator|(const python& options, const Provider& provider) {
    static_assert(!code_exec_provider<Provider>,
                  "cofferdam: write the provider first and the code runner after it: local() | python()");
    return python_provider<Provider>(provider, options.settings_);
  }

 private:
  friend class detail::notebook_python;

  static void require_positive(std::chrono::milliseconds limit, const char* name) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, std::string("python: ") + name + " must be longer than zero");
  }
  static std::string package(std::string name) {
    if (name.empty() || name.front() == '-')
      throw error(exec_errc::invalid_argument, "python: the name of a package must not be empty or begin with '-'");
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
