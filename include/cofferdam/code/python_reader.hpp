// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The place where the guards' Python reads code.
enum class analysis_place {
  automatic,  ///< on the host; in the guest if the host has none, or one of another version that finds a mistake
  host,       ///< on the host
  guest,      ///< in the guest. In an environment, code that has run there before could tamper with the reader.
};

/// The settings with which guards read Python code:
/// `check_syntax().reader(python_reader().interpreter("/opt/python/bin/python3"))`. All guards of a runner share one
/// reader, a warm process that parses code and never runs it. The settings of the innermost guard hold. The reader is
/// started with the first piece of code, restarted if it has died, and ended by `close()`.
///
/// **Versions.** The valid syntax depends on the version that runs the code, which the runner provides. A newer reader
/// finds syntax that the guest lacks, as far as CPython's parser can (`feature_version`: `match`, `except*`, `type X =
/// …`, but not what 3.12 made of f-strings). If the host's reader finds a mistake and has another version, older or
/// newer, the guest's own Python reads the code again, and its facts are used. With `analysis_place::host`, for guests
/// that are not trusted, the refusal is final and has both versions.
///
/// Around `pyodide()` the guest's reader is Pyodide's Python in a Deno of its own, which runs no code, so that no code
/// can tamper with it. It takes some seconds to start, 3 ms for 40 lines, and 170 MB.
class python_reader {
 public:
  python_reader() = default;
  /// Sets the name or path of the interpreter on the host, 3.8 or newer. Default: "python3". In the guest the
  /// interpreter that runs the code is used, unless `place(analysis_place::guest)` is set too.
  python_reader& interpreter(std::string program) {
    interpreter_ = std::move(program);
    return *this;
  }
  const std::string& interpreter() const noexcept { return interpreter_; }

  python_reader& place(analysis_place where) {
    place_ = where;
    return *this;
  }
  analysis_place place() const noexcept { return place_; }

  /// Sets the time limit for reading one piece of code; code that takes longer is refused. Default: 2 seconds.
  python_reader& timeout(std::chrono::milliseconds limit) {
    if (limit <= std::chrono::milliseconds::zero() || limit > std::chrono::hours(1))
      throw error(exec_errc::invalid_argument,
                  "python_reader: the time limit must be longer than zero and at most an hour");
    timeout_ = limit;
    return *this;
  }
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }

  /// Sets the maximum size of code, in bytes; longer code is refused. Default: 1 MiB, at most 64 MiB.
  python_reader& longest(std::size_t size) {
    if (size > 64U * 1024 * 1024)
      throw error(exec_errc::invalid_argument, "python_reader: at most 64 MiB of code are read");
    longest_ = size;
    return *this;
  }
  std::size_t longest() const noexcept { return longest_; }

  /// Limits the reader's address space in bytes (of Pyodide: its memory); code that needs more is refused. Default: 1
  /// GiB.
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
