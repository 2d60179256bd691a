// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/detail/e2b_interpreter_settings.hpp>
#include <cofferdam/core/asio.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

class e2b_kernels;

}  // namespace detail

/// A runner that runs Python by the code interpreter of an E2B sandbox: the result of
/// `(e2b::from_template("code-interpreter-v1") | e2b_interpreter()).open()`. Guards and `tools::run_python` fit around
/// it.
///
/// Code is a cell of a notebook, so `!command` and `%magic` are valid unless a guard refuses them. A request without a
/// context runs in a new kernel, which takes the service some tenths of a second; a named context keeps its kernel, and
/// its runs wait for each other.
/// \par Threads  not for use from several threads: all operations on one strand.
class e2b_interpreter_runner {
 public:
  /// Makes an object without a sandbox. Every operation throws `error{exec_errc::environment_closed}`.
  e2b_interpreter_runner() = default;

  /// Runs a piece of code. Every outcome of the code is a result, such as an exception, SystemExit and its time limit.
  ///
  /// The value of the last expression is exact as with `python()`. Variables and the prelude are set by a cell before
  /// the code, the value is read by a cell after it. `on_output` and `on_display` are called once the code has ended.
  /// `files()` of the result is empty and not complete, and its isolation is not known.
  /// \throws error{exec_errc::unsupported} if the request has functions or a final function: the service cannot call
  ///     this program.
  /// \throws the errors of `e2b::code_interpreter::run`.
  /// \par Cancellation  terminal. The code is interrupted, and `run_code` throws error{exec_errc::cancelled}.
  awaitable<code_result> run_code(code_request request);

  /// Returns the names of the contexts that this runner has created.
  awaitable<std::vector<std::string>> contexts();
  /// Removes a context and ends its code. Returns false if there is no context of this name.
  awaitable<bool> end_context(std::string name);

  /// Returns the sandbox in which the code runs, for example to copy files.
  e2b::environment& environment();
  /// Returns the version of the sandbox's Python, for example "3.12.1".
  std::string version() const;

  /// Closes the sandbox with everything in it. A second call does nothing.
  awaitable<void> close();

 private:
  friend class e2b_interpreter_provider;
  explicit e2b_interpreter_runner(std::shared_ptr<detail::e2b_kernels> kernels) : kernels_(std::move(kernels)) {}
  const std::shared_ptr<detail::e2b_kernels>& require_kernels() const;

  std::shared_ptr<detail::e2b_kernels> kernels_;
};

/// The type of the recipe `e2b::from_template(...) | e2b_interpreter()`.
class e2b_interpreter_provider {
 public:
  e2b_interpreter_provider(e2b::provider provider, detail::e2b_interpreter_settings settings)
      : provider_(std::move(provider)), settings_(settings) {}

  /// Opens the sandbox, and runs a first piece of code to prove that it has a code interpreter.
  /// \throws error{exec_errc::unsupported} if it has none.
  /// \throws the errors of `e2b::provider::open`.
  awaitable<e2b_interpreter_runner> open() const;

 private:
  static awaitable<e2b_interpreter_runner> open_with(e2b::provider provider, detail::e2b_interpreter_settings settings);

  e2b::provider provider_;
  detail::e2b_interpreter_settings settings_;
};

/// The recipe of a runner that uses E2B's own code interpreter, which knows notebooks and their charts:
///
///     auto recipe = e2b::from_template("code-interpreter-v1") | e2b_interpreter() | allow_imports("pandas");
///
/// `e2b::from_template("base") | python()` instead brings this library's interpreter into any sandbox: it can call
/// functions of the program, and is faster.
class e2b_interpreter {
 public:
  /// Sets the time limit of requests that have none. More than zero, or `no_timeout`. Default: 30 seconds.
  /// \throws error{exec_errc::invalid_argument} if `limit` is zero or less.
  e2b_interpreter& timeout(std::chrono::milliseconds limit);
  /// Sets the maximum number of bytes that a result keeps of each output stream, if the request does not set it.
  /// Default: 1 MiB.
  e2b_interpreter& keep_output(std::size_t bytes_per_stream) {
    settings_.kept_output = bytes_per_stream;
    return *this;
  }

  /// Makes the recipe of a runner in sandboxes of `provider`.
  friend e2b_interpreter_provider operator|(e2b::provider provider, const e2b_interpreter& recipe) {
    return e2b_interpreter_provider(std::move(provider), recipe.settings_);
  }

 private:
  detail::e2b_interpreter_settings settings_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/code/impl/e2b_interpreter.ipp>
#endif
