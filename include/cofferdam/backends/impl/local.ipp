// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/host_operations.hpp>
#include <cofferdam/backends/detail/host_path_option.hpp>
#include <cofferdam/backends/detail/local_state.hpp>
#include <cofferdam/backends/host_environment.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/warning.hpp>
#include <cofferdam/detail/core/home_strand.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

template <class Unused>
const std::filesystem::path& basic_local_environment<Unused>::workspace() const {
  return this->state().folders().workspace();
}

template <class Unused>
template <class Change>
basic_local<Unused>& basic_local<Unused>::with(Change change) {
  auto copy = std::make_shared<detail::local_settings>(*settings_);
  change(*copy);
  settings_ = std::move(copy);
  return *this;
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::temporary_base(std::filesystem::path folder) {
  detail::require_no_nul("local: temporary_base", folder.native());
  return with([&](detail::local_settings& all) { all.temporary_base = std::move(folder); });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::workspace(std::filesystem::path folder) {
  detail::require_no_nul("local: workspace", folder.native());
  return with([&](detail::local_settings& all) { all.workspace = std::move(folder); });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::shell(std::string path) {
  detail::require_no_nul("local: shell", path);
  return with([&](detail::local_settings& all) { all.shell = std::move(path); });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::default_timeout(std::chrono::milliseconds limit) {
  if (limit <= std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument,
                "local: the default timeout must be longer than zero (use no_timeout for no limit)");
  return with([&](detail::local_settings& all) { all.commands.default_timeout = limit; });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::kill_grace(std::chrono::milliseconds time) {
  require_not_negative(time, "kill_grace");
  return with([&](detail::local_settings& all) { all.commands.kill_grace = time; });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::output_grace(std::chrono::milliseconds time) {
  require_not_negative(time, "output_grace");
  return with([&](detail::local_settings& all) { all.commands.output_grace = time; });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::limits(process_limits most) {
  return with([&](detail::local_settings& all) {
    all.limits = most;
    all.limit = &detail::local_place::limit;
  });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::paths(path_policy policy) {
  return with([&](detail::local_settings& all) { all.paths = policy; });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::warden(warden_policy policy) {
  return with([&](detail::local_settings& all) { all.policy = policy; });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::warden_program(std::filesystem::path program) {
  detail::require_no_nul("local: warden_program", program.native());
  return with([&](detail::local_settings& all) { all.warden = std::move(program); });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::tracing(tracing_policy policy) {
  return with([&](detail::local_settings& all) { all.tracing = policy; });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::landlock(unsigned abi) {
  return with([&](detail::local_settings& all) { all.landlock = abi; });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::undumpable() {
  return with([](detail::local_settings& all) { all.dumpable = false; });
}

template <class Unused>
basic_local<Unused>& basic_local<Unused>::without_warning() {
  return with([](detail::local_settings& all) { all.warns = false; });
}

template <class Unused>
awaitable<local_environment> basic_local<Unused>::open() const {
  return open_with(settings_);
}

template <class Unused>
awaitable<local_environment> basic_local<Unused>::open_with(std::shared_ptr<const detail::local_settings> settings) {
  if (settings->warns) warn_once();
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  const detail::home_strand home(std::move(executor));
  const auto opens = [&home, &settings] { return detail::local_state::open(home.executor(), settings); };
  std::shared_ptr<detail::local_state> state = co_await home.run(opens);
  co_return local_environment(std::move(state));
}

template <class Unused>
void basic_local<Unused>::warn_once() {
  static std::atomic_flag warned;
  if (!warned.test_and_set())
    detail::warn(
        "local() does not isolate: commands run on this machine as your user. For untrusted code use another backend; "
        "local().without_warning() silences this warning");
}

template <class Unused>
void basic_local<Unused>::require_not_negative(std::chrono::milliseconds time, const char* name) {
  if (time < std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, std::string("local: ") + name + " must not be negative");
}

template <class Unused>
std::shared_ptr<const detail::local_settings> basic_local<Unused>::defaults() {
  return std::make_shared<detail::local_settings>();
}

COFFERDAM_INSTANTIATE(class host_environment<detail::local_place>)
COFFERDAM_INSTANTIATE(class basic_local_environment<void>)
COFFERDAM_INSTANTIATE(class basic_local<void>)

}  // namespace cofferdam::inline COFFERDAM_ABI
