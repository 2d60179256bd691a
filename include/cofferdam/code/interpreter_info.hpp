// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/detail/reader_command.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>

#include <chrono>
#include <concepts>
#include <functional>
#include <string>
#include <type_traits>

namespace cofferdam::inline COFFERDAM_ABI {

/// A description of the Python that will run the code: the result of a runner's `guest()`. Guards use it to parse code
/// with the right version. Valid until the runner is moved or destroyed.
class interpreter_info {
 public:
  /// The version of this Python, for example "3.13.0"; empty if the version is not known.
  std::string python;
  /// Starts a reader (a process that parses code for guards) with this Python; empty if that is not possible.
  std::function<awaitable<process>(const python_reader&)> start;
  /// The time limit for the start of the reader. Default: 30 seconds.
  std::chrono::milliseconds start_timeout{std::chrono::seconds(30)};
};

namespace detail {

template <class R>
bool has_environment_now(const R& runner) {
  if constexpr (requires {
                  { runner.has_environment() } -> std::same_as<bool>;
                }) {
    return runner.has_environment();
  } else {
    return true;
  }
}

template <class R>
concept starts_commands = requires(R& runner) {
  { runner.environment() };
  requires streaming_environment<std::remove_cvref_t<decltype(runner.environment())>>;
};

template <class R>
concept has_interpreter_info = requires(R& runner) {
  { runner.guest() } -> std::same_as<interpreter_info>;
};

/// Returns the description of a runner's interpreter. If the runner does not provide one, the description is made from
/// its version and its environment.
template <class R>
interpreter_info interpreter_of(R& runner) {
  interpreter_info there;
  if constexpr (has_interpreter_info<R>) {
    there = runner.guest();
  } else {
    if constexpr (requires {
                    { runner.version() } -> std::convertible_to<std::string>;
                  }) {
      there.python = runner.version();
    }
    if constexpr (starts_commands<R>) {
      if (has_environment_now(runner))
        there.start = [&runner](const python_reader& reader) {
          return runner.environment().start(reader_command(reader, reader.interpreter()));
        };
    }
  }
  return there;
}

}  // namespace detail

}  // namespace cofferdam::inline COFFERDAM_ABI
