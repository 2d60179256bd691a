// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/code_guest.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/detail/driver_core.hpp>
#include <cofferdam/code/detail/pyodide_settings.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/shielded.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

namespace detail {

using pyodide_core = driver_core<pyodide_settings>;

}  // namespace detail

/// Runs Python in Pyodide, by a Deno that stays warm. Models `context_runner`. What `pyodide()` opens.
///
/// Movable while nothing is awaited. Destroyed without `close()` it ends what runs.
/// \par Threads  the executor it was opened on.
class pyodide_runner {
 public:
  pyodide_runner(local_environment environment, std::shared_ptr<detail::pyodide_core> core)
      : environment_(std::make_unique<local_environment>(std::move(environment))), core_(std::move(core)) {}
  pyodide_runner(pyodide_runner&&) noexcept = default;
  pyodide_runner& operator=(pyodide_runner&& other) noexcept {
    if (this != &other) {
      abandon();
      core_ = std::move(other.core_);
      environment_ = std::move(other.environment_);
    }
    return *this;
  }
  ~pyodide_runner() { abandon(); }

  /// Runs a piece of code: with fresh globals, or in the context that the request names. Whatever the code does is a
  /// result. At its limit a run is ended with its interpreter, and another is started (half a second); a context is
  /// interrupted first, and is lost where that does not end the code within the grace. A process that has died is started
  /// anew first, and the result says so. What waits for an interpreter does not use up its time.
  ///
  /// The files that a result names are in the memory of the interpreter, and its own word.
  /// \throws error{errc::environment_closed}; error{errc::provider_failed} where Deno cannot be started again.
  /// \par Cancellation  terminal: the code is ended as at its limit, then error{errc::cancelled} with `partial()`.
  awaitable<code_result> run_code(code_request request) { return run(*this, std::move(request)); }

  /// The names of the contexts that live, in the order of their making.
  awaitable<std::vector<std::string>> contexts() { return detail::pyodide_core::contexts(require_core()); }

  /// Ends a context and what runs in it. False where there is none of that name.
  awaitable<bool> end_context(std::string name) {
    return detail::pyodide_core::end_context(require_core(), std::move(name));
  }

  /// Of Pyodide: "314.0.6"; empty after `close`.
  std::string version() const { return core_ && core_->link() ? core_->link()->version() : std::string(); }

  /// For guards around it: they read code by Pyodide's own Python, in a Deno that runs no code.
  code_guest guest() {
    code_guest there;
    there.python = detail::pyodide_settings::python_of(version());
    there.start_timeout = require_core()->settings->start_timeout;
    there.start = [core = require_core(), environment = environment_.get()](const python_reader& reader) {
      return environment->start(core->settings->reader_command(reader));
    };
    return there;
  }

  /// Ends Deno and all that runs. Not cancelled; a second call does nothing.
  awaitable<void> close() {
    require_core();
    return detail::shielded([this] { return close_all(*this); });
  }

 private:
  friend class pyodide;

  const std::shared_ptr<detail::pyodide_core>& require_core() const {
    if (!core_) throw error(errc::environment_closed, "pyodide: the runner was moved from");
    return core_;
  }

  void abandon() noexcept {
    try {
      if (core_) core_->abandon();
    } catch (const std::exception&) {  // no memory: the environment's own end, which follows, ends Deno too
    }
  }

  static awaitable<code_result> run(pyodide_runner& self, code_request request) {
    const std::shared_ptr<detail::pyodide_core> core = self.require_core();
    core->require_open();
    if (!core->works()) co_await detail::pyodide_core::ensure(core, *self.environment_);
    code_result result = co_await detail::pyodide_core::run(core, std::move(request));
    co_return result;
  }

  static awaitable<void> start(pyodide_runner& self) {
    co_await detail::pyodide_core::ensure(self.core_, *self.environment_);
  }

  static awaitable<void> close_all(pyodide_runner& self) {
    co_await detail::pyodide_core::close(self.core_);
    co_await self.environment_->close();
  }

  std::unique_ptr<local_environment> environment_;  // a folder for Deno's own files, and what ends its process
  std::shared_ptr<detail::pyodide_core> core_;
};

/// Python in WebAssembly, for code that needs no more than that: `pyodide()` is a recipe for a runner, as it is.
///
/// Deno (2.8 or newer) runs Pyodide (314) in workers, one for every context and some for all other runs. There are
/// three walls: the memory of WebAssembly; a JavaScript in which no text becomes code, and where Python's `js` is
/// empty; and Deno's permissions, which are none but for what the options name. Deno's process is that of the calling
/// user, and nothing of the operating system's stands around it: what breaks out of V8 is that user.
/// `code_result::walls()` says all of this. For a wall of the operating system's own run `python()` in a container.
/// There are no processes, threads, sockets or packages with native code; `time.sleep`, asyncio, and `urllib.request`
/// for permitted hosts work. What asyncio would do in a thread (`to_thread`, `run_in_executor(None, ...)`) is done at
/// once.
///
/// **Fresh globals are not a fresh interpreter.** A run without a context starts with what each module that was
/// loaded at the start had then: its names, those of its classes (of the standard library, written in Python), and no
/// module besides; with the first `sys.path`, `sys.argv`, `os.environ`, work directory, mask, streams and hooks; the
/// first warnings filters, loggers, locale, limits of recursion and of digits, settings of gc, csv, calendar and
/// reprlib, time limit of sockets; with newly seeded random numbers, nothing to do at the program's end, and no
/// context variables: the precision of decimal numbers is the default one. What stays until the interpreter is
/// replaced: files; attributes of functions, and of classes of other packages that are preloaded; what was registered
/// with abstract base classes, codecs and as csv dialects; caches. Runs that must know nothing of each other need
/// `isolate_runs()`.
///
/// Deno and Pyodide come from npm (`npm install deno@2.9.6 pyodide@314.0.6`) and are found by options, as COFFERDAM_DENO
/// and COFFERDAM_PYODIDE, or Deno by PATH and Pyodide beside it.
/// \par Source   DSPy's `PythonInterpreter`, without its defects; Deno's manual on permissions and workers; Pyodide's on `loadPyodide`.
class pyodide {
 public:
  /// Deno: a path, or a name to look for in PATH. Default: COFFERDAM_DENO, else "deno".
  pyodide&& deno(std::string program) && {
    return with([&](detail::pyodide_settings& all) { all.interpreter = std::move(program); });
  }
  /// The folder of Pyodide. Default: COFFERDAM_PYODIDE, else "pyodide" beside Deno or above.
  pyodide&& folder(std::string path) && {
    return with([&](detail::pyodide_settings& all) { all.folder = std::move(path); });
  }
  /// Shows the code a directory of the host, with all in it. Links out of it lead nowhere.
  /// \param guest  where it is seen; an absolute path. Default: beneath /mnt, by its last name.
  /// \throws error{errc::invalid_argument}; `open` throws error{errc::not_a_directory, collision}.
  pyodide&& allow_read(std::string host, std::string guest = {}) && {
    return mount(std::move(host), std::move(guest), false);
  }
  /// The same, and lets it write there, at once: what is written is in the directory when the call in Python returns. It is
  /// not among the files of a result, which are those of the work directory.
  pyodide&& allow_write(std::string host, std::string guest = {}) && {
    return mount(std::move(host), std::move(guest), true);
  }
  /// Lets `urllib.request` reach a host: "example.org", "127.0.0.1:8000". Answers up to 8 MiB.
  /// \throws error{errc::invalid_argument} for what is no such name.
  pyodide&& allow_network(std::string host) && {
    bool good = !host.empty();
    for (const char c : host)
      good = good && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                      c == '-' || c == ':' || c == '[' || c == ']');
    if (!good || host.front() == '-')
      throw error(errc::invalid_argument, "pyodide: allow_network takes one host, with a port or without");
    return with([&](detail::pyodide_settings& all) { all.network.push_back(std::move(host)); });
  }
  /// An environment variable of the code.
  pyodide&& variable(std::string name, std::string value) && {
    return with([&](detail::pyodide_settings& all) { all.variables.emplace_back(std::move(name), std::move(value)); });
  }
  /// Gives the code a variable of the host's own, where that is set now.
  pyodide&& allow_variable(std::string name) && {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::move(*this);
    return std::move(*this).variable(std::move(name), value);
  }
  /// Packages of Pyodide's own that every interpreter loads, with those they need. Nothing is fetched: the wheels that
  /// `pyodide-lock.json` names must lie in Pyodide's folder, where the package of npm has none of them; they are in Pyodide's
  /// full distribution. `open` says which are missing.
  template <std::convertible_to<std::string>... Names>
  pyodide&& packages(Names&&... names) && {
    return with([&](detail::pyodide_settings& all) { (all.packages.emplace_back(std::forward<Names>(names)), ...); });
  }
  /// Modules that every interpreter imports when it starts, and that runs share.
  template <std::convertible_to<std::string>... Names>
  pyodide&& preload(Names&&... names) && {
    return with([&](detail::pyodide_settings& all) { (all.preload.emplace_back(std::forward<Names>(names)), ...); });
  }
  /// Gives every run without a context an interpreter that nothing has run in; one is always made ahead.
  pyodide&& isolate_runs() && {
    return with([&](detail::pyodide_settings& all) { all.isolated = true; });
  }
  /// How many runs without a context there may be at once, each in some 150 MB; others wait. Default: 2.
  /// \throws error{errc::invalid_argument} unless 1 to 64.
  pyodide&& at_once(std::size_t runs) && {
    if (runs < 1 || runs > 64) throw error(errc::invalid_argument, "pyodide: at_once must be 1 to 64");
    return with([&](detail::pyodide_settings& all) { all.at_once = runs; });
  }
  /// The memory of each interpreter, in bytes: more is a MemoryError. Default: 512 MiB.
  /// \throws error{errc::invalid_argument} unless 64 MiB to 4 GiB.
  pyodide&& memory_limit(std::uint64_t size) && {
    if (size < detail::pyodide_settings::least_memory || size > detail::pyodide_settings::most_memory)
      throw error(errc::invalid_argument, "pyodide: memory_limit must be 64 MiB to 4 GiB");
    return with([&](detail::pyodide_settings& all) { all.memory = size; });
  }
  /// The time limit of requests that have none. Default: 30 seconds; more than zero, or `no_timeout`.
  pyodide&& timeout(std::chrono::milliseconds limit) && {
    require_positive(limit, "timeout");
    return with([&](detail::pyodide_settings& all) { all.timeout = limit; });
  }
  /// How long Deno and the first interpreter may take to start. Default: 2 minutes.
  pyodide&& start_timeout(std::chrono::milliseconds limit) && {
    require_positive(limit, "start_timeout");
    return with([&](detail::pyodide_settings& all) { all.start_timeout = limit; });
  }
  /// How long a context's code may take to end once it is interrupted. Default: 1 second; zero: ended at once.
  pyodide&& interrupt_grace(std::chrono::milliseconds time) && {
    if (time < std::chrono::milliseconds::zero() || time > std::chrono::hours(1))
      throw error(errc::invalid_argument, "pyodide: interrupt_grace must be between zero and an hour");
    return with([&](detail::pyodide_settings& all) { all.interrupt_grace = time; });
  }
  /// How many bytes of each output stream a result keeps, where the request does not say. Default: 1 MiB.
  pyodide&& keep_output(std::size_t bytes_per_stream) && {
    return with([&](detail::pyodide_settings& all) { all.kept_output = bytes_per_stream; });
  }
  /// Looks at so many files, at most, for what a run has made or changed. Default: 10,000; 0: does not look.
  pyodide&& track_files(std::size_t most) && {
    return with([&](detail::pyodide_settings& all) { all.most_files = most; });
  }
  /// Keeps the image of a started interpreter (30 MB) in this folder, which is there already: `open` takes a second
  /// instead of several. **Whoever can write there can be every guest**: a folder of your own.
  pyodide&& snapshots(std::string path) && {
    return with([&](detail::pyodide_settings& all) { all.snapshots = std::move(path); });
  }

  /// Finds the programs and starts the first interpreter.
  /// \throws error{errc::not_found} where Deno or Pyodide is not there, error{errc::unsupported} where one of them is
  ///         another version, or no Deno: the sentence says how to get them; error{errc::provider_failed} where Deno does
  ///         not start, or a package cannot be loaded; error{errc::not_a_directory, collision, invalid_argument} for
  ///         directories.
  awaitable<pyodide_runner> open() const { return open_with(settings_); }

 private:
  static awaitable<pyodide_runner> open_with(std::shared_ptr<const detail::pyodide_settings> settings) {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    auto found = std::make_shared<const detail::pyodide_settings>(settings->found());
    const auto core = std::make_shared<detail::pyodide_core>(std::move(executor), std::move(found));
    const local here = local().without_warning();
    local_environment environment = co_await here.open();
    pyodide_runner opened(std::move(environment), core);
    std::exception_ptr failure;
    try {
      co_await pyodide_runner::start(opened);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) {
      const bool throws = co_await asio::this_coro::throw_if_cancelled();
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await detail::shielded([&opened] { return pyodide_runner::close_all(opened); });
      co_await asio::this_coro::throw_if_cancelled(throws);
      std::rethrow_exception(failure);
    }
    co_return std::move(opened);
  }

  static void require_positive(std::chrono::milliseconds limit, const char* name) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, std::string("pyodide: ") + name + " must be longer than zero");
  }

  pyodide&& mount(std::string host, std::string guest, bool writable) {
    if (guest.empty()) guest = "/mnt/" + std::filesystem::path(host).lexically_normal().filename().string();
    const bool odd = guest.find("/../") != std::string::npos || guest.back() == '/';
    if (host.empty() || guest.front() != '/' || odd || guest == "/mnt/." || guest == "/mnt/..")
      throw error(errc::invalid_argument, "pyodide: a directory is shown at an absolute path with a name");
    for (const char* const own : {"/lib", "/tmp", "/dev", "/proc", "/code"})
      if (guest == own || guest.rfind(std::string(own) + "/lib", 0) == 0 || guest.rfind("/lib/", 0) == 0)
        throw error(errc::invalid_argument, "pyodide: there is something else at '" + guest + "'");
    return with([&](detail::pyodide_settings& all) { all.mounts.push_back({host, guest, writable}); });
  }

  template <class Change>
  pyodide&& with(Change change) {
    auto copy = std::make_shared<detail::pyodide_settings>(*settings_);
    change(*copy);
    settings_ = std::move(copy);
    return std::move(*this);
  }

  std::shared_ptr<const detail::pyodide_settings> settings_ = std::make_shared<detail::pyodide_settings>();
};

}  // namespace cofferdam::inline v0
