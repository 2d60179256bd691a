// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/detail/driver_calls.hpp>
#include <cofferdam/code/detail/driver_core.hpp>
#include <cofferdam/code/detail/pyodide_settings.hpp>
#include <cofferdam/code/interpreter_info.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

// ---- pyodide_runner -------------------------------------------------------------------------------------------------

COFFERDAM_DECL pyodide_runner::pyodide_runner() noexcept = default;

COFFERDAM_DECL pyodide_runner::pyodide_runner(local_environment environment, std::shared_ptr<detail::pyodide_core> core)
    : environment_(std::make_unique<placed>(std::move(environment))), core_(std::move(core)) {}

COFFERDAM_DECL pyodide_runner::pyodide_runner(pyodide_runner&&) noexcept = default;

COFFERDAM_DECL pyodide_runner& pyodide_runner::operator=(pyodide_runner&& other) noexcept {
  if (this != &other) {
    abandon();
    core_ = std::move(other.core_);
    environment_ = std::move(other.environment_);
  }
  return *this;
}

COFFERDAM_DECL pyodide_runner::~pyodide_runner() { abandon(); }

COFFERDAM_DECL awaitable<code_result> pyodide_runner::run_code(code_request request) {
  // Comes first: if there is no runner, it throws before the null pointer `environment_` is used.
  const auto core = require_core();
  return detail::run_by_driver(core, *environment_, std::move(request));
}

COFFERDAM_DECL awaitable<std::vector<std::string>> pyodide_runner::contexts() {
  return detail::contexts_of(require_core());
}

COFFERDAM_DECL awaitable<bool> pyodide_runner::end_context(std::string name) {
  return detail::end_context_of(require_core(), std::move(name));
}

COFFERDAM_DECL std::string pyodide_runner::version() const {
  return core_ ? detail::version_of(*core_) : std::string();
}

COFFERDAM_DECL interpreter_info pyodide_runner::guest() {
  interpreter_info there;
  there.python = detail::pyodide_settings::python_of(version());
  there.start_timeout = detail::settings_of(*require_core()).start_timeout;
  there.start = [core = require_core(), place = environment_.get()](const python_reader& reader) {
    return place->start(detail::settings_of(*core).reader_command(reader));
  };
  return there;
}

COFFERDAM_DECL awaitable<void> pyodide_runner::close() {
  return detail::shielded(
      [this, home = detail::home_of(*require_core())] { return home.run([this] { return close_all(*this); }); });
}

COFFERDAM_DECL const std::shared_ptr<detail::pyodide_core>& pyodide_runner::require_core() const {
  if (!core_)
    throw error(exec_errc::environment_closed,
                "pyodide: not open (default-constructed or moved from); call open() on the recipe first");
  return core_;
}

COFFERDAM_DECL void pyodide_runner::abandon() noexcept {
  if (core_) detail::abandon_driver(std::move(core_), std::move(environment_));
}

COFFERDAM_DECL awaitable<void> pyodide_runner::start(pyodide_runner& self) {
  co_await detail::ensure_driver(self.core_, *self.environment_);
}

COFFERDAM_DECL awaitable<void> pyodide_runner::close_all(pyodide_runner& self) {
  co_await detail::close_driver(self.core_);
  co_await self.environment_->environment.close();
}

// ---- pyodide --------------------------------------------------------------------------------------------------------

template <class Change>
pyodide& pyodide::with(Change change) {
  auto copy = std::make_shared<detail::pyodide_settings>(*settings_);
  change(*copy);
  settings_ = std::move(copy);
  return *this;
}

COFFERDAM_DECL pyodide::pyodide() : settings_(std::make_shared<detail::pyodide_settings>()) {}

COFFERDAM_DECL pyodide& pyodide::deno(std::string program) {
  return with([&](detail::pyodide_settings& settings) { settings.interpreter = std::move(program); });
}

COFFERDAM_DECL pyodide& pyodide::folder(std::string path) {
  return with([&](detail::pyodide_settings& settings) { settings.folder = std::move(path); });
}

COFFERDAM_DECL pyodide& pyodide::allow_read(std::string host, std::string guest) {
  return mount(std::move(host), std::move(guest), false);
}

COFFERDAM_DECL pyodide& pyodide::allow_write(std::string host, std::string guest) {
  return mount(std::move(host), std::move(guest), true);
}

COFFERDAM_DECL pyodide& pyodide::allow_network(std::string host) {
  bool good = !host.empty();
  for (const char c : host)
    good = good && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                    c == '-' || c == ':' || c == '[' || c == ']');
  if (!good || host.front() == '-')
    throw error(exec_errc::invalid_argument, "pyodide: allow_network takes one host, with a port or without");
  return with([&](detail::pyodide_settings& settings) { settings.network.push_back(std::move(host)); });
}

COFFERDAM_DECL pyodide& pyodide::variable(std::string name, std::string value) {
  return with(
      [&](detail::pyodide_settings& settings) { settings.variables.emplace_back(std::move(name), std::move(value)); });
}

COFFERDAM_DECL pyodide& pyodide::allow_variable(std::string name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr) return *this;
  return variable(std::move(name), value);
}

COFFERDAM_DECL pyodide& pyodide::isolate_runs() {
  return with([&](detail::pyodide_settings& settings) { settings.isolated = true; });
}

COFFERDAM_DECL pyodide& pyodide::at_once(std::size_t runs) {
  if (runs < 1 || runs > 64) throw error(exec_errc::invalid_argument, "pyodide: at_once must be 1 to 64");
  return with([&](detail::pyodide_settings& settings) { settings.at_once = runs; });
}

COFFERDAM_DECL pyodide& pyodide::contexts_at_once(std::size_t limit) {
  if (limit < 1 || limit > 64) throw error(exec_errc::invalid_argument, "pyodide: contexts_at_once must be 1 to 64");
  return with([&](detail::pyodide_settings& settings) { settings.contexts = limit; });
}

COFFERDAM_DECL pyodide& pyodide::process_memory(std::uint64_t size) {
  if (size < detail::pyodide_settings::min_process_memory)
    throw error(exec_errc::invalid_argument, "pyodide: process_memory must be 384 MiB or more");
  return with([&](detail::pyodide_settings& settings) { settings.process_memory = size; });
}

COFFERDAM_DECL pyodide& pyodide::memory_limit(std::uint64_t size) {
  if (size < detail::pyodide_settings::min_memory || size > detail::pyodide_settings::max_memory)
    throw error(exec_errc::invalid_argument, "pyodide: memory_limit must be 64 MiB to 4 GiB");
  return with([&](detail::pyodide_settings& settings) { settings.memory = size; });
}

COFFERDAM_DECL pyodide& pyodide::timeout(std::chrono::milliseconds limit) {
  require_positive(limit, "timeout");
  return with([&](detail::pyodide_settings& settings) { settings.timeout = limit; });
}

COFFERDAM_DECL pyodide& pyodide::start_timeout(std::chrono::milliseconds limit) {
  require_positive(limit, "start_timeout");
  return with([&](detail::pyodide_settings& settings) { settings.start_timeout = limit; });
}

COFFERDAM_DECL pyodide& pyodide::interrupt_grace(std::chrono::milliseconds time) {
  if (time < std::chrono::milliseconds::zero() || time > std::chrono::hours(1))
    throw error(exec_errc::invalid_argument, "pyodide: interrupt_grace must be between zero and an hour");
  return with([&](detail::pyodide_settings& settings) { settings.interrupt_grace = time; });
}

COFFERDAM_DECL pyodide& pyodide::keep_output(std::size_t bytes_per_stream) {
  return with([&](detail::pyodide_settings& settings) { settings.kept_output = bytes_per_stream; });
}

COFFERDAM_DECL pyodide& pyodide::track_files(std::size_t limit) {
  return with([&](detail::pyodide_settings& settings) { settings.max_files = limit; });
}

COFFERDAM_DECL pyodide& pyodide::snapshots(std::string path) {
  return with([&](detail::pyodide_settings& settings) { settings.snapshots = std::move(path); });
}

COFFERDAM_DECL pyodide& pyodide::add_packages(std::vector<std::string> names) {
  return with([&](detail::pyodide_settings& settings) {
    for (std::string& each : names) settings.packages.push_back(std::move(each));
  });
}

COFFERDAM_DECL pyodide& pyodide::add_modules(std::vector<std::string> names) {
  return with([&](detail::pyodide_settings& settings) {
    for (std::string& each : names) settings.preload.push_back(std::move(each));
  });
}

COFFERDAM_DECL awaitable<pyodide_runner> pyodide::open() const { return open_with(settings_); }

COFFERDAM_DECL awaitable<pyodide_runner> pyodide::open_with(std::shared_ptr<const detail::pyodide_settings> settings) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  const detail::home_strand home(std::move(executor));
  const auto opens = [&home, &settings] { return open_at(home.executor(), std::move(settings)); };
  pyodide_runner opened = co_await home.run(opens);
  co_return std::move(opened);
}

COFFERDAM_DECL awaitable<pyodide_runner> pyodide::open_at(asio::any_io_executor strand,
                                                          std::shared_ptr<const detail::pyodide_settings> settings) {
  auto found = std::make_shared<const detail::pyodide_settings>(settings->found());
  const auto core = detail::make_core(std::move(strand), std::move(found));
  const local here = local().without_warning();
  std::optional<pyodide_runner> opened;
  const auto opens = [&]() -> awaitable<void> {
    local_environment environment = co_await here.open();
    opened.emplace(pyodide_runner(std::move(environment), core));
    co_await pyodide_runner::start(*opened);
  };
  const auto closes = [&opened]() -> awaitable<void> {
    if (!opened) return {};
    return pyodide_runner::close_all(*opened);
  };
  co_await detail::with_cleanup_after_failure(opens, closes);
  co_return std::move(*opened);
}

COFFERDAM_DECL void pyodide::require_positive(std::chrono::milliseconds limit, const char* name) {
  if (limit <= std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, std::string("pyodide: ") + name + " must be longer than zero");
}

COFFERDAM_DECL pyodide& pyodide::mount(std::string host, std::string guest, bool writable) {
  if (guest.empty()) guest = "/mnt/" + std::filesystem::path(host).lexically_normal().filename().string();
  const bool odd = guest.find("/../") != std::string::npos || guest.back() == '/';
  if (host.empty() || guest.front() != '/' || odd || guest == "/mnt/." || guest == "/mnt/..")
    throw error(exec_errc::invalid_argument,
                "pyodide: the guest path of a directory must be absolute and end in a name");
  for (const char* const own : {"/lib", "/tmp", "/dev", "/proc", "/code"})
    if (guest == own || guest.rfind(std::string(own) + "/lib", 0) == 0 || guest.rfind("/lib/", 0) == 0)
      throw error(exec_errc::invalid_argument,
                  "pyodide: the guest path '" + guest + "' is already used by Pyodide; choose another");
  return with([&](detail::pyodide_settings& settings) { settings.mounts.push_back({host, guest, writable}); });
}

}  // namespace cofferdam::inline COFFERDAM_ABI
