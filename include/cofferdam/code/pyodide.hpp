// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/detail/driver_calls.hpp>
#include <cofferdam/code/interpreter_info.hpp>
#include <cofferdam/core/asio.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

class pyodide_settings;
using pyodide_core = driver_core<pyodide_settings>;

}  // namespace detail

/// A runner that executes Python in Pyodide (CPython compiled to WebAssembly), by Deno processes that stay warm. Models
/// `context_runner`. This is the type that `pyodide().open()` returns.
///
/// A runner may be moved only while no operation is under way. The destructor ends all runs if `close()` was not
/// called.
/// \par Threads  may be used from several threads. Host functions and listeners of a request run on the executor of the
///               coroutine that calls `run_code`. If this executor is not a strand, they run on a strand over it.
class pyodide_runner {
 public:
  /// Makes an object without a runner. Every operation throws `error{exec_errc::environment_closed}`.
  pyodide_runner() noexcept;
  pyodide_runner(local_environment environment, std::shared_ptr<detail::pyodide_core> core);
  pyodide_runner(pyodide_runner&&) noexcept;
  pyodide_runner& operator=(pyodide_runner&& other) noexcept;
  ~pyodide_runner();

  /// Runs a piece of code with fresh globals, or in the context that the request names. Every outcome of the code is a
  /// result. At the time limit, a run without a context is ended together with its interpreter, and another interpreter
  /// is started, which takes half a second. A run in a context is interrupted first. If its code does not end within
  /// the grace period, the context is lost. If the Deno process has died, it is restarted before the run, and
  /// `driver_restarted()` of the result is true. The wait for a free interpreter does not count against the time limit.
  ///
  /// The files of a result exist only in the memory of the interpreter, and the interpreter itself reports them.
  /// `code_request::keep_files` adds their contents to the result.
  /// \throws error{exec_errc::environment_closed} after `close()`.
  /// \throws error{exec_errc::provider_failed} if Deno cannot be restarted.
  /// \throws error{exec_errc::deadlock} if a host function waits for itself (see `tools::function`).
  /// \par Cancellation  terminal. The code is ended as at its time limit. Then `run_code` throws
  ///                    error{exec_errc::cancelled}, whose `partial()` has the output so far.
  awaitable<code_result> run_code(code_request request);

  /// Returns the names of all contexts, in the order of their creation.
  awaitable<std::vector<std::string>> contexts();

  /// Ends a context and the run in it. Returns false if there is no context of this name.
  awaitable<bool> end_context(std::string name);

  /// Returns the version of Pyodide, for example "314.0.6". The text is empty after `close`.
  std::string version() const;

  /// Returns a description of the interpreter. Guards use it to start Pyodide's own Python in another Deno process,
  /// which parses code and never runs it.
  interpreter_info guest();

  /// Ends Deno, all runs and all contexts. Cannot be cancelled. A second call does nothing.
  awaitable<void> close();

 private:
  friend class pyodide;
  using placed = detail::placed_environment<local_environment>;

  const std::shared_ptr<detail::pyodide_core>& require_core() const;

  void abandon() noexcept;

  static awaitable<void> start(pyodide_runner& self);

  static awaitable<void> close_all(pyodide_runner& self);

  std::unique_ptr<placed> environment_;  // a folder for Deno's own files; the environment also ends Deno's process
  std::shared_ptr<detail::pyodide_core> core_;
};

/// The recipe of a runner for Python in WebAssembly, for code that needs no native packages and no processes:
/// `pyodide()`.
///
/// Deno (2.8 or newer) runs Pyodide (314) in processes: one process for each context, and some for all runs without a
/// context. The isolation has three parts. The first is the memory of WebAssembly. The second is a JavaScript engine
/// that cannot turn text into code, with an empty `js` module in Python. The third is Deno's permissions, which allow
/// only what the options of this recipe allow. The operating system does not isolate Deno, which runs as the calling
/// user. Code that breaks out of V8 has the rights of that user. `code_result::isolation()` reports this. If you need
/// isolation by the operating system, run `python()` in a container.
///
/// The code has no processes, threads, sockets or packages with native code. `time.sleep`, asyncio, and
/// `urllib.request` for permitted hosts work. Functions that asyncio would run in a thread (`to_thread`,
/// `run_in_executor(None, ...)`) run at once.
///
/// **Fresh globals are not a fresh interpreter.** Before each run without a context, this state of the interpreter is
/// reset:
///
/// * Modules that were loaded at the start get their initial names back, and so do classes of the standard library that
///   are written in Python. Other modules are removed.
/// * Settings of the process: `sys.path`, `sys.argv`, `os.environ`, work directory, umask, streams and hooks.
/// * Settings of modules: warnings filters, loggers, locale, limits of recursion and of digits, gc, csv, calendar,
///   reprlib, and the time limit of sockets.
/// * Random numbers are seeded again, functions registered with atexit are removed, and context variables are cleared,
///   so that decimal numbers have the default precision.
///
/// Other state remains until the interpreter is replaced: files, caches, attributes of functions and of classes of
/// other preloaded packages, csv dialects, and registrations with abstract base classes and codecs. Use
/// `isolate_runs()` if runs must not see anything of each other.
///
/// Deno and Pyodide come from npm (`npm install deno@2.9.6 pyodide@314.0.6`). They are found by the options `deno` and
/// `folder`, or by the environment variables COFFERDAM_DENO and COFFERDAM_PYODIDE. Otherwise Deno is searched in PATH,
/// and Pyodide next to Deno.
/// \par Source   DSPy's `PythonInterpreter`, without its defects; Deno's manual on permissions and workers; Pyodide's
///               documentation of `loadPyodide`.
class pyodide {
 public:
  /// Makes a recipe with the default settings.
  pyodide();

  /// Sets the Deno program: a path, or a name that is searched in PATH. Default: the value of COFFERDAM_DENO, otherwise
  /// "deno".
  pyodide& deno(std::string program);
  /// Sets the folder of Pyodide. Default: the value of COFFERDAM_PYODIDE, otherwise a folder "pyodide" next to Deno or
  /// in one of the parent folders.
  pyodide& folder(std::string path);
  /// Lets the code read a directory of the host with its contents, or a single file. Symbolic links that lead out of
  /// the directory do not work. A single file appears in the guest (the interpreter's file system) as a symbolic link,
  /// and the rest of its directory is not visible.
  /// \param host   the path of the directory or file on the host.
  /// \param guest  the absolute path in the guest. Default: a path beneath /mnt that ends with the last name of `host`.
  /// \throws error{exec_errc::invalid_argument} if a path is not acceptable. `open` throws
  ///     error{exec_errc::not_a_directory} if the host has no such directory or file, and error{exec_errc::collision}
  ///     if two directories or files have the same path in the guest.
  pyodide& allow_read(std::string host, std::string guest = {});
  /// Lets the code read and write a directory or a file of the host. The parameters are those of `allow_read`. A write
  /// has reached the directory when the call in Python returns. Results do not list these files: they only list files
  /// of the work directory. The code may also delete the contents of the directory, or the single file.
  pyodide& allow_write(std::string host, std::string guest = {});
  /// Lets `urllib.request` connect to a host. Responses may have at most 8 MiB.
  /// \param host  a name or address, with or without a port: "example.org", "127.0.0.1:8000".
  /// \throws error{exec_errc::invalid_argument} if `host` is not of this form.
  pyodide& allow_network(std::string host);
  /// Sets an environment variable of the code.
  pyodide& variable(std::string name, std::string value);
  /// Sets an environment variable of the code to the value that it has on the host at the time of this call. Does
  /// nothing if the host does not have the variable.
  pyodide& allow_variable(std::string name);
  /// Loads packages of Pyodide, and the packages that they depend on, in every interpreter. Nothing is downloaded. The
  /// wheels that `pyodide-lock.json` lists must be in Pyodide's folder, and `open` reports missing wheels. The npm
  /// package does not contain wheels; Pyodide's full distribution does.
  template <std::convertible_to<std::string>... Names>
  pyodide& packages(Names&&... names) {
    return add_packages({std::string(std::forward<Names>(names))...});
  }
  /// Imports modules when an interpreter starts. All runs of this interpreter share them.
  template <std::convertible_to<std::string>... Names>
  pyodide& preload(Names&&... names) {
    return add_modules({std::string(std::forward<Names>(names))...});
  }
  /// Gives every run without a context a fresh interpreter. One interpreter is always started in advance.
  pyodide& isolate_runs();
  /// Sets the maximum number of runs without a context at the same time. Each of these runs needs a process of some 200
  /// MB. Further runs wait. Default: 2.
  /// \throws error{exec_errc::invalid_argument} unless `runs` is from 1 to 64.
  pyodide& at_once(std::size_t runs);
  /// Sets the maximum number of contexts, each with its own interpreter. A run that would create another context is
  /// refused. Default: 16.
  /// \throws error{exec_errc::invalid_argument} unless `limit` is from 1 to 64.
  pyodide& contexts_at_once(std::size_t limit);
  /// Sets the maximum resident memory of each interpreter's process, in bytes. It includes WebAssembly and the
  /// JavaScript objects that Python makes. Code that needs more is ended with `error_kind::out_of_memory`; its context
  /// is lost.
  ///
  /// The process checks its size every 50 ms. A limit of the kernel (RLIMIT_DATA), which is 1.5 GiB higher because V8
  /// reserves about as much, stops faster growth. Against RLIMIT_DATA the kernel counts all memory that JavaScript can
  /// allocate, including the memory behind a SharedArrayBuffer and the shared memory of WebAssembly (Deno 2.9).
  /// Therefore a limit by a control group would count nothing more.
  ///
  /// Default: the value of `memory_limit` plus 320 MiB, or plus 640 MiB if there are `packages`.
  /// \throws error{exec_errc::invalid_argument} if `size` is below 384 MiB, with which no interpreter starts.
  pyodide& process_memory(std::uint64_t size);
  /// Sets the maximum memory of WebAssembly in each interpreter, in bytes. An allocation beyond the limit raises a
  /// MemoryError. JavaScript objects that Python makes do not count against this limit: see `process_memory`. Default:
  /// 512 MiB.
  /// \throws error{exec_errc::invalid_argument} unless `size` is from 64 MiB to 4 GiB.
  pyodide& memory_limit(std::uint64_t size);
  /// Sets the time limit of requests that have none. More than zero, or `no_timeout`. Default: 30 seconds.
  pyodide& timeout(std::chrono::milliseconds limit);
  /// Sets the time limit for the start of Deno and of the first interpreter. More than zero. Default: 2 minutes.
  pyodide& start_timeout(std::chrono::milliseconds limit);
  /// Sets how long the code of a context may continue after it was interrupted at its time limit. The context is ended
  /// afterwards. From zero (ended at once) to an hour. Default: 1 second.
  pyodide& interrupt_grace(std::chrono::milliseconds time);
  /// Sets the maximum number of bytes that a result keeps of each output stream, if the request does not set it.
  /// Default: 1 MiB.
  pyodide& keep_output(std::size_t bytes_per_stream);
  /// Sets the maximum number of files that are checked for changes by a run. 0 means that no files are checked.
  /// Default: 10,000.
  pyodide& track_files(std::size_t limit);
  /// Stores the image of a started interpreter (30 MB) in this existing folder. With an image, `open` takes a second
  /// instead of several, and so does the first decision of a guard that parses code with Pyodide's Python. **A process
  /// that can write to this folder can control every run and every such decision**, so use a private folder. `open`
  /// refuses `allow_write` of a directory that contains it.
  pyodide& snapshots(std::string path);

  /// Finds the programs and starts the first interpreter. If a program is missing or has the wrong version, the message
  /// of the error explains how to install it.
  /// \throws error{exec_errc::not_found} if Deno or Pyodide is not found.
  /// \throws error{exec_errc::unsupported} if one of them has the wrong version, or the program is not Deno.
  /// \throws error{exec_errc::provider_failed} if Deno does not start, or a package cannot be loaded.
  /// \throws error{exec_errc::not_a_directory, collision, invalid_argument} if a directory of `allow_read` or
  ///     `allow_write` is not acceptable.
  awaitable<pyodide_runner> open() const;

 private:
  static awaitable<pyodide_runner> open_with(std::shared_ptr<const detail::pyodide_settings> settings);

  /// \param strand  the strand on which the runner and its environment work.
  static awaitable<pyodide_runner> open_at(asio::any_io_executor strand,
                                           std::shared_ptr<const detail::pyodide_settings> settings);

  static void require_positive(std::chrono::milliseconds limit, const char* name);

  pyodide& mount(std::string host, std::string guest, bool writable);
  pyodide& add_packages(std::vector<std::string> names);
  pyodide& add_modules(std::vector<std::string> names);

  /// Replaces the settings by changed ones. Defined for `impl/pyodide.ipp` only.
  template <class Change>
  pyodide& with(Change change);

  std::shared_ptr<const detail::pyodide_settings> settings_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/code/impl/pyodide.ipp>
#endif
