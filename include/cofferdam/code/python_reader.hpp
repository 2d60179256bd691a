// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace cofferdam::inline v0 {

/// Where the Python is that reads code for the guards.
enum class reader_place {
  automatic,  ///< on the host; in the guest where the host has none, or one of another version that finds a mistake
  host,       ///< on the host
  guest,      ///< where the code runs. In an environment, code that has run there before could tamper with it.
};

/// How guards read Python code: `check_syntax().reader(python_reader().interpreter("/opt/python/bin/python3"))`. All
/// guards of a runner share one reader, a warm process that parses and never runs what it reads; the innermost guard's
/// settings hold. It is started with the first piece of code, again where it has died, and ends with `close()`.
///
/// **Versions.** What is Python depends on the version that runs it, which runners tell. A reader that is newer looks for
/// syntax that the guest has not got, as far as CPython's parser can (`feature_version`: `match`, `except*`, `type X = …`,
/// but not what 3.12 made of f-strings). Where the host's reader finds a mistake and is of another version, older or newer,
/// the guest's own Python reads the code once more, and its word counts; facts are then its own, too. With
/// `reader_place::host`, for who does not trust what has run in the guest, the refusal stands and names both versions.
///
/// Around `pyodide()` the guest's reader is Pyodide's Python in a Deno of its own, which runs no code, so that none can
/// tamper with it; it takes some seconds to start, 3 ms for 40 lines, and 170 MB.
class python_reader {
 public:
  /// The interpreter's name or path on the host, 3.8 or newer. Default: "python3". In the guest it is the one that runs the
  /// code, unless `place(reader_place::guest)` is said besides.
  python_reader&& interpreter(std::string program) && {
    interpreter_ = std::move(program);
    return std::move(*this);
  }
  const std::string& interpreter() const noexcept { return interpreter_; }

  python_reader&& place(reader_place where) && {
    place_ = where;
    return std::move(*this);
  }
  reader_place place() const noexcept { return place_; }

  /// How long reading one piece of code may take; longer is a refusal. Default: 2 seconds.
  python_reader&& time_limit(std::chrono::milliseconds limit) && {
    if (limit <= std::chrono::milliseconds::zero() || limit > std::chrono::hours(1))
      throw error(errc::invalid_argument, "python_reader: the time limit must be longer than zero and at most an hour");
    time_limit_ = limit;
    return std::move(*this);
  }
  std::chrono::milliseconds time_limit() const noexcept { return time_limit_; }

  /// The longest code that is read, in bytes; longer is a refusal. Default: 1 MiB, at most 64 MiB.
  python_reader&& longest(std::size_t size) && {
    if (size > 64U * 1024 * 1024) throw error(errc::invalid_argument, "python_reader: at most 64 MiB of code are read");
    longest_ = size;
    return std::move(*this);
  }
  std::size_t longest() const noexcept { return longest_; }

  /// The reader's address space in bytes (Pyodide's: its memory); code that needs more is refused. Default: 1 GiB.
  python_reader&& memory(std::size_t size) && {
    memory_ = size;
    return std::move(*this);
  }
  std::size_t memory() const noexcept { return memory_; }

 private:
  std::string interpreter_ = "python3";
  reader_place place_ = reader_place::automatic;
  std::chrono::milliseconds time_limit_{2000};
  std::size_t longest_ = 1024 * 1024;
  std::size_t memory_ = 1024UL * 1024 * 1024;
};

}  // namespace cofferdam::inline v0
