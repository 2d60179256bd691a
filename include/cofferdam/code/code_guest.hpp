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

namespace cofferdam::inline v0 {

/// Where code will run, for guards that read it there: what a runner's `guest()` tells, where it has that. It is used while
/// the runner lives and stays where it is.
class code_guest {
 public:
  /// The version of the Python that runs the code: "3.13.0"; empty where it is not known.
  std::string python;
  /// Starts that Python as a reader; empty where it cannot be started.
  std::function<awaitable<process>(const python_reader&)> start;
  /// How long that may take.
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
concept tells_guest = requires(R& runner) {
  { runner.guest() } -> std::same_as<code_guest>;
};

/// What is known of where a runner's code runs: its own word, or what its environment lets one do.
template <class R>
code_guest guest_of(R& runner) {
  code_guest there;
  if constexpr (tells_guest<R>) {
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

}  // namespace cofferdam::inline v0
