// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/docker/build_request.hpp>
#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/find_daemon.hpp>
#include <cofferdam/backends/docker/detail/image_name.hpp>
#include <cofferdam/backends/docker/detail/open_sandbox.hpp>
#include <cofferdam/backends/docker/detail/progress_stream.hpp>
#include <cofferdam/backends/docker/detail/sandbox.hpp>
#include <cofferdam/backends/docker/detail/sandbox_settings.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/environment_operations.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/warden/session.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker {

COFFERDAM_DECL environment::environment() = default;

COFFERDAM_DECL environment::environment(std::shared_ptr<detail::sandbox> inside) : handle_(std::move(inside)) {}

COFFERDAM_DECL environment::environment(environment&&) noexcept = default;

COFFERDAM_DECL environment& environment::operator=(environment&&) noexcept = default;

COFFERDAM_DECL environment::~environment() = default;

COFFERDAM_DECL awaitable<command_result> environment::run_command(command c) {
  return handle_.run_command(std::move(c));
}

COFFERDAM_DECL awaitable<process> environment::start(command c) { return handle_.start(std::move(c)); }

COFFERDAM_DECL awaitable<bytes> environment::read_file(std::string path, std::size_t max_bytes) {
  return handle_.read_file(std::move(path), max_bytes);
}

COFFERDAM_DECL awaitable<void> environment::write_file(std::string path, bytes_view content) {
  return handle_.write_file(std::move(path), content);
}

COFFERDAM_DECL file_system environment::files() { return handle_.files(); }

COFFERDAM_DECL guest_network environment::network() { return handle_.network(); }
COFFERDAM_DECL bool environment::is_lost() const noexcept { return handle_.is_lost(); }

COFFERDAM_DECL std::vector<background_command> environment::background() const {
  return handle_.get()->home().look([this] { return handle_.get()->session().background(); });
}

COFFERDAM_DECL awaitable<void> environment::end_background(std::uint32_t number) {
  return handle_.get()->home().run(
      [inside = handle_.get(), number] { return inside->session().end_background(number); });
}

COFFERDAM_DECL awaitable<void> environment::pause() {
  return cofferdam::detail::shielded(
      [inside = handle_.get()] { return inside->home().run([inside] { return detail::sandbox::pause(inside); }); });
}

COFFERDAM_DECL awaitable<void> environment::resume() {
  return cofferdam::detail::shielded(
      [inside = handle_.get()] { return inside->home().run([inside] { return detail::sandbox::resume(inside); }); });
}

COFFERDAM_DECL awaitable<std::string> environment::snapshot() { return whole_snapshot(handle_.get()); }

COFFERDAM_DECL awaitable<std::string> environment::whole_snapshot(std::shared_ptr<detail::sandbox> inside) {
  std::string name;
  const auto saves = [&]() -> awaitable<void> {
    const auto begins = [&inside] { return detail::sandbox::snapshot(inside); };
    name = co_await inside->home().run(begins);
  };
  co_await cofferdam::detail::shielded(std::ref(saves));
  co_return name;
}

COFFERDAM_DECL bool environment::can_pause() const noexcept {
  return handle_ && handle_.get()->home().look([this] { return handle_.get()->can_pause(); });
}

COFFERDAM_DECL bool environment::can_snapshot() const noexcept {
  return handle_ && handle_.get()->home().look([this] { return handle_.get()->can_snapshot(); });
}

COFFERDAM_DECL const std::string& environment::container_name() const { return handle_.get()->name(); }

COFFERDAM_DECL const std::string& environment::container_id() const { return handle_.get()->id(); }

COFFERDAM_DECL awaitable<void> environment::close() { return handle_.close(); }

template <class Change>
provider& provider::with(Change change) {
  auto copy = std::make_shared<detail::sandbox_settings>(*settings_);
  change(*copy);
  settings_ = std::move(copy);
  return *this;
}

COFFERDAM_DECL provider& provider::options(container_options new_options) {
  return with([&](detail::sandbox_settings& to) { to.options = std::move(new_options); });
}

COFFERDAM_DECL provider& provider::daemon(daemon_choice choice) {
  return with([&](detail::sandbox_settings& to) { to.daemon = std::move(choice); });
}

COFFERDAM_DECL provider& provider::by(command_transport how) {
  return with([&](detail::sandbox_settings& to) { to.by = how; });
}

COFFERDAM_DECL provider& provider::progress(
    cofferdam::detail::callable_argument<void(const progress_event&)> listener) {
  return with([&](detail::sandbox_settings& to) { to.progress = listener.take(); });
}

COFFERDAM_DECL provider& provider::shell(std::string path) {
  if (!path.starts_with('/') || path.find('\0') != std::string::npos)
    throw error(exec_errc::invalid_argument, "docker: shell() needs an absolute path in the container");
  return with([&](detail::sandbox_settings& to) { to.shell = std::move(path); });
}

COFFERDAM_DECL provider& provider::default_timeout(std::chrono::milliseconds limit) {
  if (limit <= std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument,
                "docker: the default timeout must be longer than zero (use no_timeout for no limit)");
  return with([&](detail::sandbox_settings& to) { to.commands.default_timeout = limit; });
}

COFFERDAM_DECL provider& provider::kill_grace(std::chrono::milliseconds time) {
  require_not_negative(time, "kill_grace");
  return with([&](detail::sandbox_settings& to) { to.commands.kill_grace = time; });
}

COFFERDAM_DECL provider& provider::output_grace(std::chrono::milliseconds time) {
  require_not_negative(time, "output_grace");
  return with([&](detail::sandbox_settings& to) { to.commands.output_grace = time; });
}

COFFERDAM_DECL awaitable<environment> provider::open() const { return open_with(settings_); }

COFFERDAM_DECL awaitable<environment> provider::open_with(std::shared_ptr<const detail::sandbox_settings> settings) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  const cofferdam::detail::home_strand home(std::move(executor));
  const auto opens = [&home, &settings] { return detail::open_sandbox(home.executor(), settings); };
  std::shared_ptr<detail::sandbox> inside = co_await home.run(opens);
  co_return environment(std::move(inside));
}

COFFERDAM_DECL void provider::require_not_negative(std::chrono::milliseconds time, const char* name) {
  if (time < std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, std::string("docker: ") + name + " must not be negative");
}

COFFERDAM_DECL provider from_image(std::string_view name) {
  auto settings = std::make_shared<detail::sandbox_settings>();
  settings->name.emplace(name);
  return provider(std::move(settings));
}

COFFERDAM_DECL provider from_dockerfile(build_request build) {
  auto settings = std::make_shared<detail::sandbox_settings>();
  settings->build.emplace(std::move(build));
  return provider(std::move(settings));
}

COFFERDAM_DECL provider from_dockerfile(std::filesystem::path context) {
  return from_dockerfile(build_request(std::move(context)));
}

COFFERDAM_DECL provider in_container(std::string_view name_or_id) {
  if (!detail::is_engine_name(name_or_id))
    throw error(exec_errc::invalid_argument,
                "docker: " + detail::quoted(name_or_id) + " is not a valid name or id of a container");
  auto settings = std::make_shared<detail::sandbox_settings>();
  settings->adopted = std::string(name_or_id);
  return provider(std::move(settings));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker
