// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The place of the Python process that parses code for guards: on the host, or in the guest (the environment in which
/// the code runs).
enum class analysis_place {
  automatic,  ///< on the host; in the guest if the host has no Python, or if its version differs and reports a
              ///< syntax error
  host,       ///< only on the host
  guest,      ///< only in the guest. Code that has run earlier in this environment could have tampered with the
              ///< process.
};

/// Settings of the reader, a warm Python process that parses code for guards and never runs it:
/// `check_syntax().reader(python_reader().interpreter("/opt/python/bin/python3"))`. All guards of a runner share one
/// reader. If several guards have settings, only those of the innermost guard are used. The reader is started with the
/// first piece of code, restarted if it has died, and ended by `close()`.
///
/// **Versions.** The Python version that runs the code decides which syntax is valid. The runner reports this version.
///
/// * If the reader has a newer version, it rejects most syntax that the older version lacks, because CPython's parser
///   has a `feature_version`. It rejects `match`, `except*` and `type X = …`, but not the f-strings that only 3.12
///   allows.
///   parses the code again. This second result is used.
/// * With `analysis_place::host`, for guests that are not trusted, the first refusal is final. Its reason names both
///   versions.
///
/// With `pyodide()` the reader in the guest is Pyodide's Python in a Deno process of its own. This process runs no
/// code, so code cannot tamper with it. It needs some seconds to start, 3 ms for 40 lines, and 170 MB of memory.
class python_reader {
 public:
  python_reader() = default;
  /// Sets the name or path of the interpreter on the host, Python 3.8 or newer. Default: "python3". A reader in the
  /// guest uses the interpreter that runs the code. Only with `place(analysis_place::guest)` does it use the
  /// interpreter that is set here.
  python_reader& interpreter(std::string program) {
    interpreter_ = std::move(program);
    return *this;
  }
  const std::string& interpreter() const noexcept { return interpreter_; }

  /// Sets where the reader is started. Default: `analysis_place::automatic`.
  python_reader& place(analysis_place where) {
    place_ = where;
    return *this;
  }
  analysis_place place() const noexcept { return place_; }

  /// Sets the time limit for parsing one piece of code. Code that takes longer is refused. More than zero and at most
  /// an hour. Default: 2 seconds.
  python_reader& timeout(std::chrono::milliseconds limit) {
    if (limit <= std::chrono::milliseconds::zero() || limit > std::chrono::hours(1))
      throw error(exec_errc::invalid_argument,
                  "python_reader: the time limit must be longer than zero and at most an hour");
    timeout_ = limit;
    return *this;
  }
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }

  /// Sets the maximum size of the code, in bytes. Longer code is refused. At most 64 MiB. Default: 1 MiB.
  python_reader& longest(std::size_t size) {
    if (size > 64U * 1024 * 1024)
      throw error(exec_errc::invalid_argument, "python_reader: the maximum size of the code must be at most 64 MiB");
    longest_ = size;
    return *this;
  }
  std::size_t longest() const noexcept { return longest_; }

  /// Sets the maximum address space of the reader, in bytes; with Pyodide, the maximum memory of WebAssembly. Code that
  /// needs more is refused. Default: 1 GiB.
  python_reader& memory(std::size_t size) {
    memory_ = size;
    return *this;
  }
  std::size_t memory() const noexcept { return memory_; }

 private:
  std::string interpreter_ = "python3";
  analysis_place place_ = analysis_place::automatic;
  std::chrono::milliseconds timeout_{2000};
  std::size_t longest_ = 1024 * 1024;
  std::size_t memory_ = 1024UL * 1024 * 1024;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
