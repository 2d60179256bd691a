// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/middleware/detail/turn_queue.hpp>
#include <cofferdam/middleware/detail/wrapped_process.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

template <class = void>
class basic_counted_process;
using counted_process = basic_counted_process<>;

/// A process that returns its turn when its result is known, or when it is destroyed.
template <class Unused>
class basic_counted_process final : public wrapped_process {
 public:
  basic_counted_process(process inner, turn_queue::turn turn)
      : wrapped_process(std::move(inner)), turn_(std::move(turn)) {}

  awaitable<command_result> wait() override { return end(wrapped_process::wait(), turn_); }
  awaitable<command_result> take_result() override { return end(wrapped_process::take_result(), turn_); }

 private:
  /// \param turn  a member of the process, which exists until the awaitable completes.
  template <class = void>
  static awaitable<command_result> end(awaitable<command_result> waits, turn_queue::turn& turn) {
    const turn_queue::turn ending(std::move(turn));  // also if the wait fails: the command has ended then, too
    command_result result = co_await std::move(waits);
    co_return result;
  }

  turn_queue::turn turn_;
};

}  // namespace detail

/// The environment type that `provider | limit_concurrency(count)` opens.
template <code_exec_environment Inner>
class limit_concurrency_layer : public layer<limit_concurrency_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment. Operations throw `error{exec_errc::environment_closed}`.
  limit_concurrency_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns, and runs at most `count` commands at the same time.
  limit_concurrency_layer(Inner inner, std::size_t count)
      : layer<limit_concurrency_layer<Inner>, Inner>(std::move(inner)),
        turns_(std::make_shared<detail::turn_queue>(count)) {}

  awaitable<command_result> run_command(command c) { return run(turns(), this->inner(), std::move(c)); }
  awaitable<process> start(command c)
    requires streaming_environment<Inner>
  {
    return begin(turns(), this->inner(), std::move(c));
  }

 private:
  static constexpr const char* name = "limit_concurrency";

  std::shared_ptr<detail::turn_queue> turns() const {
    if (!turns_)
      throw error(exec_errc::environment_closed,
                  "limit_concurrency: not open (default-constructed or moved from); call open() on the provider first");
    return turns_;
  }

  static awaitable<command_result> run(std::shared_ptr<detail::turn_queue> turns, Inner& inner, command c) {
    const detail::turn_queue::turn mine = co_await detail::turn_queue::take(std::move(turns), name);
    command_result result = co_await inner.run_command(std::move(c));
    co_return result;
  }
  static awaitable<process> begin(std::shared_ptr<detail::turn_queue> turns, Inner& inner, command c) {
    detail::turn_queue::turn mine = co_await detail::turn_queue::take(std::move(turns), name);
    process started = co_await inner.start(std::move(c));
    co_return process(std::make_unique<detail::counted_process>(std::move(started), std::move(mine)));
  }

  std::shared_ptr<detail::turn_queue> turns_;
};

/// Runs at most `count` commands of each environment at the same time: `provider | limit_concurrency(4)`. Further
/// commands wait, and run in the order of their arrival.
///
/// A command that was started counts until `wait` of its process has returned or thrown, or until the process is
/// destroyed. So a program that starts `count` commands and waits for none of them waits forever at the next one.
/// Processes that commands have left running (`background_policy::keep`) do not count. The time limit of a command
/// begins when its turn comes.
///
/// File operations do not wait and do not count. In an environment that carries them out by commands, these commands do
/// not count either.
///
/// \throws            `error{exec_errc::invalid_argument}` from the constructor if `count` is 0.
/// \par Cancellation  terminal: a command that waits is not run, and `error{exec_errc::cancelled}` is thrown. The
///                    commands behind it do not lose their places.
/// \par Threads       any, if the wrapped environment allows it.
/// \par Cost          1 coroutine frame for a command that need not wait; 1 allocation for a process.
class limit_concurrency : public pipeable {
 public:
  /// Sets the maximum number of commands at the same time.
  explicit limit_concurrency(std::size_t count) : count_(count) {
    if (count == 0) throw error(exec_errc::invalid_argument, "limit_concurrency: the number must be at least 1");
  }

  template <code_exec_environment Inner>
  limit_concurrency_layer<Inner> attach(Inner inner) const {
    return limit_concurrency_layer<Inner>(std::move(inner), count_);
  }

 private:
  std::size_t count_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
