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
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/middleware/detail/wrapped_process.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// The callbacks of `tap`, which its environments share. Either may be empty.
class tap_callbacks {
 public:
  std::function<void(const command&)> on_command;
  std::function<void(const command&, const command_result&)> on_result;
};

/// Awaits the result of a command, and reports it.
template <class = void>
awaitable<command_result> tapped_result(std::shared_ptr<const tap_callbacks> callbacks,
                                        std::shared_ptr<const command> c, awaitable<command_result> work) {
  command_result result = co_await std::move(work);
  callbacks->on_result(*c, result);
  co_return result;
}

template <class = void>
class basic_tapped_process;
using tapped_process = basic_tapped_process<>;

/// A process whose result is reported once.
template <class Unused>
class basic_tapped_process final : public wrapped_process {
 public:
  basic_tapped_process(process inner, std::shared_ptr<const tap_callbacks> callbacks, std::shared_ptr<const command> c)
      : wrapped_process(std::move(inner)), callbacks_(std::move(callbacks)), command_(std::move(c)) {}

  awaitable<command_result> wait() override { return reported(wrapped_process::wait()); }
  awaitable<command_result> take_result() override { return reported(wrapped_process::take_result()); }

 private:
  awaitable<command_result> reported(awaitable<command_result> waits) {
    if (!callbacks_) return waits;
    return report(std::move(waits), callbacks_, command_);
  }

  /// \param callbacks  a member of the process, which exists until the awaitable completes. Null after the report.
  template <class = void>
  static awaitable<command_result> report(awaitable<command_result> waits,
                                          std::shared_ptr<const tap_callbacks>& callbacks,
                                          std::shared_ptr<const command> c) {
    command_result result = co_await std::move(waits);
    const std::shared_ptr<const tap_callbacks> once = std::exchange(callbacks, nullptr);
    if (once) once->on_result(*c, result);
    co_return result;
  }

  std::shared_ptr<const tap_callbacks> callbacks_;
  std::shared_ptr<const command> command_;
};

}  // namespace detail

/// The environment type that `provider | tap(on_command, on_result)` opens.
template <code_exec_environment Inner>
class tap_layer : public layer<tap_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment. Operations throw `error{exec_errc::environment_closed}`.
  tap_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns.
  tap_layer(Inner inner, std::shared_ptr<const detail::tap_callbacks> callbacks)
      : layer<tap_layer<Inner>, Inner>(std::move(inner)), callbacks_(std::move(callbacks)) {}

  awaitable<command_result> run_command(command c) {
    const std::shared_ptr<const command> kept = report(c);
    awaitable<command_result> work = this->inner().run_command(std::move(c));
    if (!kept) return work;
    return detail::tapped_result(callbacks_, kept, std::move(work));
  }
  awaitable<process> start(command c)
    requires streaming_environment<Inner>
  {
    const std::shared_ptr<const command> kept = report(c);
    awaitable<process> work = this->inner().start(std::move(c));
    if (!kept) return work;
    return begin(callbacks_, kept, std::move(work));
  }

 private:
  /// Reports a command that is about to run. Returns a copy of it for the report of its result; null if there will be
  /// none.
  std::shared_ptr<const command> report(const command& c) const {
    if (!callbacks_)
      throw error(exec_errc::environment_closed,
                  "tap: not open (default-constructed or moved from); call open() on the provider first");
    if (callbacks_->on_command) callbacks_->on_command(c);
    return callbacks_->on_result ? std::make_shared<const command>(c) : nullptr;
  }

  static awaitable<process> begin(std::shared_ptr<const detail::tap_callbacks> callbacks,
                                  std::shared_ptr<const command> c, awaitable<process> work) {
    process started = co_await std::move(work);
    co_return process(std::make_unique<detail::tapped_process>(std::move(started), std::move(callbacks), std::move(c)));
  }

  std::shared_ptr<const detail::tap_callbacks> callbacks_;
};

/// Calls a function with each command before it runs, and another one with each result:
///
///     auto provider = sandbox() | tap([](const command& c) { log(c.line()); },
///                                     [](const command& c, const command_result& r) { log(r.summary()); });
///
/// The functions cannot change what they see. They see what reaches the layer: the changes of layers to the right, and
/// not the commands that these have refused. A result may be the refusal of a layer to the left. The result of a
/// command that was started is reported once, when `wait` of its process returns it. No result is reported for a
/// command that ends with an exception, or whose process is destroyed before `wait` returns.
///
/// An exception of the first function reaches the caller, and the command does not run. An exception of the second one
/// reaches the caller in place of the result of the command, which has run.
///
/// \par Threads  the functions are called on the executor of the caller's coroutine. If commands run on several
///               threads, the functions must allow concurrent calls.
/// \par Cost     without the second function, no coroutine frame and no allocation. With it, 1 coroutine frame, and a
///               copy of each command with its input.
class tap : public pipeable {
 public:
  /// Makes the recipe. Either function may be empty (`nullptr`).
  /// \param on_command  called with each command before it runs, also before `start`.
  /// \param on_result   called with each command and its result.
  explicit tap(detail::callable_argument<void(const command&)> on_command,
               detail::callable_argument<void(const command&, const command_result&)> on_result = {}) {
    auto callbacks = std::make_shared<detail::tap_callbacks>();
    callbacks->on_command = on_command.take();
    callbacks->on_result = on_result.take();
    callbacks_ = std::move(callbacks);
  }

  template <code_exec_environment Inner>
  tap_layer<Inner> attach(Inner inner) const {
    return tap_layer<Inner>(std::move(inner), callbacks_);
  }

 private:
  std::shared_ptr<const detail::tap_callbacks> callbacks_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
