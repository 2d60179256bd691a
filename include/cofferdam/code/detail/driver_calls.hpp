// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/version.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

// Declares the functions by which runners use their drivers (the interpreter processes that execute code). The bodies
// are in driver_core.hpp, which only the files impl/*.ipp include. This keeps compile times short.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The environment in which a driver runs, as an interface that does not depend on the type of the environment.
class driver_place {
 public:
  driver_place() = default;
  driver_place(const driver_place&) = delete;
  driver_place& operator=(const driver_place&) = delete;
  virtual ~driver_place() = default;
  virtual awaitable<process> start(command c) = 0;
  virtual awaitable<command_result> run_command(command c) = 0;
};

/// An environment together with the driver that runs in it. The object must not be moved, because the driver refers to
/// it.
template <streaming_environment E>
class placed_environment final : public driver_place {
 public:
  explicit placed_environment(E opened) : environment(std::move(opened)) {}
  awaitable<process> start(command c) override { return environment.start(std::move(c)); }
  awaitable<command_result> run_command(command c) override { return environment.run_command(std::move(c)); }

  E environment;
};

template <class Settings>
class driver_core;

/// Makes the state of a runner, without starting a driver.
/// \param strand  the strand of the driver. It may also be the strand of the environment.
template <class Settings>
std::shared_ptr<driver_core<Settings>> make_core(asio::any_io_executor strand,
                                                 std::shared_ptr<const Settings> settings);

template <class Settings>
const home_strand& home_of(const driver_core<Settings>& core);

template <class Settings>
const Settings& settings_of(const driver_core<Settings>& core);

/// Returns the version of the interpreter; an empty text if no driver is running.
template <class Settings>
std::string version_of(const driver_core<Settings>& core);

/// Starts a driver unless one is already running. See `driver_core::ensure`.
template <class Settings>
awaitable<void> ensure_driver(std::shared_ptr<driver_core<Settings>> core, driver_place& place);

/// Runs a piece of code. See `driver_core::run_anywhere`.
template <class Settings>
awaitable<code_result> run_by_driver(std::shared_ptr<driver_core<Settings>> core, driver_place& place,
                                     code_request request);

template <class Settings>
awaitable<std::vector<std::string>> contexts_of(std::shared_ptr<driver_core<Settings>> core);

template <class Settings>
awaitable<bool> end_context_of(std::shared_ptr<driver_core<Settings>> core, std::string name);

/// Ends the driver and all runs. Must not be cancelled.
template <class Settings>
awaitable<void> close_driver(std::shared_ptr<driver_core<Settings>> core);

/// Ends the driver on its strand without waiting, for destructors. The environment is destroyed on this strand
/// afterwards.
template <class Settings>
void abandon_driver(std::shared_ptr<driver_core<Settings>> core, std::unique_ptr<driver_place> place) noexcept;

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
