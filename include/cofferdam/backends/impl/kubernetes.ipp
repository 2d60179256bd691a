// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/names.hpp>
#include <cofferdam/backends/kubernetes/detail/open_sandbox.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox_settings.hpp>
#include <cofferdam/backends/kubernetes/detail/unused_options.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/core/environment_operations.hpp>
#include <cofferdam/detail/core/home_strand.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes {

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

COFFERDAM_DECL std::vector<background_command> environment::background() const {
  return handle_.get()->home().look([this] { return handle_.get()->session().background(); });
}

COFFERDAM_DECL awaitable<void> environment::end_background(std::uint32_t number) {
  return handle_.get()->home().run(
      [inside = handle_.get(), number] { return inside->session().end_background(number); });
}

COFFERDAM_DECL const std::string& environment::pod_name() const { return handle_.get()->pod(); }

COFFERDAM_DECL const std::string& environment::pod_namespace() const { return handle_.get()->space(); }

COFFERDAM_DECL bool environment::is_lost() const noexcept { return handle_.is_lost(); }

COFFERDAM_DECL awaitable<void> environment::close() { return handle_.close(); }

template <class Change>
provider& provider::with(Change change) {
  auto copy = std::make_shared<detail::sandbox_settings>(*settings_);
  change(*copy);
  settings_ = std::move(copy);
  return *this;
}

COFFERDAM_DECL provider& provider::options(pod_options new_options) {
  return with([&](detail::sandbox_settings& to) { to.options = std::move(new_options); });
}

COFFERDAM_DECL provider& provider::shell(std::string path) {
  if (!path.starts_with('/') || path.find('\0') != std::string::npos)
    throw detail::bad_option("shell() needs an absolute path in the container");
  return with([&](detail::sandbox_settings& to) { to.shell = std::move(path); });
}

COFFERDAM_DECL provider& provider::open_timeout(std::chrono::milliseconds limit) {
  if (limit <= std::chrono::milliseconds::zero()) throw detail::bad_option("open_timeout must be longer than zero");
  return with([&](detail::sandbox_settings& to) { to.open_timeout = limit; });
}

COFFERDAM_DECL provider& provider::default_timeout(std::chrono::milliseconds limit) {
  if (limit <= std::chrono::milliseconds::zero())
    throw detail::bad_option("the default timeout must be longer than zero (use no_timeout for no limit)");
  return with([&](detail::sandbox_settings& to) { to.commands.default_timeout = limit; });
}

COFFERDAM_DECL provider& provider::kill_grace(std::chrono::milliseconds time) {
  if (time < std::chrono::milliseconds::zero()) throw detail::bad_option("kill_grace must not be negative");
  return with([&](detail::sandbox_settings& to) { to.commands.kill_grace = time; });
}

COFFERDAM_DECL provider& provider::output_grace(std::chrono::milliseconds time) {
  if (time < std::chrono::milliseconds::zero()) throw detail::bad_option("output_grace must not be negative");
  return with([&](detail::sandbox_settings& to) { to.commands.output_grace = time; });
}

COFFERDAM_DECL awaitable<environment> provider::open() const { return open_with(settings_); }

COFFERDAM_DECL awaitable<environment> provider::open_with(std::shared_ptr<const detail::sandbox_settings> settings) {
  detail::require_used_options(*settings);
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  const cofferdam::detail::home_strand home(std::move(executor));
  const auto opens = [&home, &settings] { return detail::open_sandbox(home.executor(), settings); };
  std::shared_ptr<detail::sandbox> inside = co_await home.run(opens);
  co_return environment(std::move(inside));
}

COFFERDAM_DECL provider from_image(std::string_view name) {
  if (name.empty() || name.find_first_of(std::string_view(" \t\r\n\0", 5)) != std::string_view::npos)
    throw detail::bad_option("invalid name of an image: " + detail::in_quotes(name));
  auto settings = std::make_shared<detail::sandbox_settings>();
  settings->image = std::string(name);
  return provider(std::move(settings));
}

COFFERDAM_DECL provider in_pod(std::string_view name, std::string_view container) {
  if (const std::string rule = detail::broken_rule(name); !rule.empty())
    throw detail::bad_option("invalid name of a pod: " + detail::in_quotes(name) + ": " + rule);
  if (!container.empty() && !detail::is_label(container))
    throw detail::bad_option("invalid name of a container: " + detail::in_quotes(container) +
                             ": a name has at most 63 lower-case letters, digits and '-', with no '-' at an end");
  auto settings = std::make_shared<detail::sandbox_settings>();
  settings->adopted_pod = std::string(name);
  settings->adopted_container = std::string(container);
  return provider(std::move(settings));
}

COFFERDAM_DECL provider from_template(std::string_view name) {
  if (const std::string rule = detail::broken_rule(name); !rule.empty())
    throw detail::bad_option("invalid name of a SandboxTemplate: " + detail::in_quotes(name) + ": " + rule);
  auto settings = std::make_shared<detail::sandbox_settings>();
  settings->sandbox_template = std::string(name);
  return provider(std::move(settings));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes
