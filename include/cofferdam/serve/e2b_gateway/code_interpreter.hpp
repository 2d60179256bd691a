// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway {

namespace detail {
class interpreter_settings;
}  // namespace detail

/// E2B's code interpreter as a service of an `e2b_gateway`, implemented by the Python runner of this library. It serves
/// clients such as `@e2b/code-interpreter` and `e2b::code_interpreter`.
///
///     e2b_gateway::options().port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter())
///
/// Each sandbox has one runner. It is started in the sandbox's environment at the first execution, and closed with the
/// environment. The contexts of clients are contexts of this runner: they keep their definitions, and each runs one
/// execution at a time while others wait. Code without a context id runs in the sandbox's default context. Output and
/// displays are sent while the code runs. Of each output stream, only the first half of the bytes that `output` allows
/// is sent while the code runs; the rest follows at the end. If a client disconnects, its running code is interrupted,
/// and its waiting code is removed.
///
/// Python code is a cell of a notebook. Indented code, `!command`, `name = !command`, `name?` and IPython's usual
/// magics work, such as `%pip`, `%cd`, `%env`, `%time`, `%timeit`, `%who`, `%run`, `%%bash`, `%%capture` and
/// `%%writefile`. An unknown magic is an error with the name `UsageError`. Code that is valid Python runs exactly as
/// it is written, except that a cell may consist of one magic without its `%`, such as `pwd`. Commands are processes
/// of the context: its walls and limits apply to them. An interrupt ends the command of the cell, and the end of the
/// context ends all commands. `display` and the classes of `IPython.display` need no IPython in the sandbox. A
/// DataFrame of pandas has its `data`, and a figure of matplotlib has its `chart`, if the sandbox has these packages.
/// Code can import packages that pip has installed for the user, in the home folder.
///
/// A context of the language `bash` is one shell, which keeps its variables and its directory. If the last command of a
/// cell fails, the error has the exit code as its value, as at E2B. Other languages are refused with status 404,
/// whose text E2B's SDKs show.
///
/// \par Errors    500 if the environment has no Python; 501 if the environment cannot `start` commands; 408, 413, 429
///                and 503 if a limit that is set by the functions below is exceeded.
/// \par Security  the contexts of a sandbox are not isolated from each other: see `python`. No guard, such as
///                `allow_imports`, can stand before the code: guards read Python, but a magic is translated to Python
///                in the sandbox, after a guard would have read the code. Runners of other recipes than this class have
///                no magics, so a guarded `run_python` refuses them as invalid Python. If the sandbox is secured
///                (has an access token), a request needs its access token or its traffic token.
/// \par Lifetime  copies share one `memory` limit.
/// \par Threads   the gateway's executor.
/// \par Source    E2B's code interpreter SDK.
/// \par Example   examples/cofferdam/serve.cpp
class code_interpreter {
 public:
  /// The port on which E2B's clients expect the code interpreter.
  static constexpr std::uint16_t usual_port = 49999;

  /// \param runner  the interpreter, its preloaded modules and its limits: `python().preload("numpy")`. Its time limit,
  ///                work directory and file tracking are ignored.
  explicit code_interpreter(python runner = python());

  /// Sets the maximum number of contexts in a sandbox, including the default context. A request for more gets status
  /// 429. Default: 16; at least 1.
  code_interpreter& contexts(std::size_t count);
  /// Sets the maximum number of executions in a sandbox that run or wait, including requests that make a context. A
  /// request for more gets status 429. Default: 64; at least 1.
  code_interpreter& executions(std::size_t count);
  /// Sets the maximum size of one request in bytes. A larger request gets status 413. Default: 4 MiB; at least 1.
  code_interpreter& request(std::size_t max_bytes);
  /// Sets the time limit for the arrival of a request. A late request gets status 408. From 10 ms to one hour; default:
  /// one minute.
  code_interpreter& request_timeout(std::chrono::milliseconds duration);
  /// Sets the maximum bytes that are sent of each output stream of an execution. The middle of a longer stream is left
  /// out. Default: 4 MiB; at least 1.
  code_interpreter& output(std::size_t max_bytes);
  /// Sets the maximum bytes of all results of an execution, as sent. More results are left out, with a notice to the
  /// client. Default: 16 MiB; at least 1.
  code_interpreter& results(std::size_t max_bytes);
  /// Sets the maximum bytes that are in memory for all clients of all sandboxes: requests and unread data. When it is
  /// reached, a request gets status 503, and data is left out, with a notice to the client. One sandbox may use a
  /// quarter of it, but always enough for one request. Default: 256 MiB.
  code_interpreter& memory(std::size_t max_bytes);
  /// Sets the maximum time between two messages to a client: a keep-alive message ends a longer silence. From 10 ms to
  /// one hour; default: 5 seconds.
  code_interpreter& keepalive(std::chrono::milliseconds interval);

  /// Makes the service of a sandbox. The gateway calls it as an `e2b_gateway::port_factory`.
  std::unique_ptr<port_service> operator()(any_environment& environment, const sandbox_facts& facts) const;

 private:
  std::shared_ptr<detail::interpreter_settings> copy() const;
  code_interpreter& with(std::shared_ptr<detail::interpreter_settings> changed);
  code_interpreter& limit(std::size_t detail::interpreter_settings::*which, std::size_t maximum);
  code_interpreter& time(std::chrono::milliseconds detail::interpreter_settings::*which, const char* name,
                         std::chrono::milliseconds value);

  std::shared_ptr<detail::interpreter_settings> settings_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/serve/e2b_gateway/impl/code_interpreter.ipp>
#endif
