// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/over_state.hpp>
#include <cofferdam/backends/over.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/printable_text.hpp>
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

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Throws error{exec_errc::invalid_argument} unless a setting of `over` is a path that fits into a line.
inline void require_path(std::string_view path, const char* name) {
  if (path.empty() || path.find('\n') != std::string_view::npos || path.find('\0') != std::string_view::npos)
    throw error(exec_errc::invalid_argument,
                std::string("over: ") + name + "() needs a path without line breaks and NUL bytes");
}

/// Throws error{exec_errc::invalid_argument} unless a text can be the name of an environment variable.
inline void require_variable(std::string_view name) {
  if (name.empty() || name.find('=') != std::string_view::npos || name.find('\0') != std::string_view::npos)
    throw error(exec_errc::invalid_argument, "over: the name of a variable must not be empty, or have '=' or NUL");
}

}  // namespace detail

COFFERDAM_DECL over_environment::over_environment() = default;
COFFERDAM_DECL over_environment::over_environment(std::shared_ptr<detail::over_state> state)
    : handle_(std::move(state)) {}
COFFERDAM_DECL over_environment::over_environment(over_environment&&) noexcept = default;
COFFERDAM_DECL over_environment& over_environment::operator=(over_environment&&) noexcept = default;
COFFERDAM_DECL over_environment::~over_environment() = default;

COFFERDAM_DECL awaitable<command_result> over_environment::run_command(command c) {
  return handle_.run_command(std::move(c));
}

COFFERDAM_DECL awaitable<process> over_environment::start(command c) { return handle_.start(std::move(c)); }

COFFERDAM_DECL awaitable<bytes> over_environment::read_file(std::string path, std::size_t max_bytes) {
  return handle_.read_file(std::move(path), max_bytes);
}

COFFERDAM_DECL awaitable<void> over_environment::write_file(std::string path, bytes_view content) {
  return handle_.write_file(std::move(path), content);
}

COFFERDAM_DECL file_system over_environment::files() { return handle_.files(); }

COFFERDAM_DECL guest_network over_environment::network() { return handle_.network(); }

COFFERDAM_DECL std::vector<background_command> over_environment::background() const {
  return handle_.get()->home().look([this] { return handle_.get()->session().background(); });
}

COFFERDAM_DECL awaitable<void> over_environment::end_background(std::uint32_t number) {
  return handle_.get()->home().run([state = handle_.get(), number] { return state->session().end_background(number); });
}

COFFERDAM_DECL const std::string& over_environment::workspace() const { return handle_.get()->workspace(); }

COFFERDAM_DECL bool over_environment::is_lost() const noexcept { return handle_.is_lost(); }

COFFERDAM_DECL awaitable<void> over_environment::close() { return handle_.close(); }

template <class Change>
over& over::with(Change change) {
  auto copy = std::make_shared<detail::over_settings>(*settings_);
  change(*copy);
  settings_ = std::move(copy);
  return *this;
}

COFFERDAM_DECL over::over(std::vector<std::string> words) : settings_(settings_of(std::move(words))) {}

COFFERDAM_DECL std::shared_ptr<const detail::over_settings> over::settings_of(std::vector<std::string> words) {
  if (words.empty() || words.front().empty())
    throw error(exec_errc::invalid_argument, "over: name a program, as in over(\"ssh\", \"host\")");
  for (const std::string& word : words)
    if (word.find('\0') != std::string::npos)
      throw error(exec_errc::invalid_argument, "over: a word of the program's command line has a NUL byte");
  auto settings = std::make_shared<detail::over_settings>();
  settings->words = std::move(words);
  return settings;
}

COFFERDAM_DECL over& over::words(place_words how) {
  return with([&](detail::over_settings& to) { to.passing = how; });
}

COFFERDAM_DECL over& over::workspace(std::string folder) {
  detail::require_path(folder, "workspace");
  return with([&](detail::over_settings& to) { to.workspace = std::move(folder); });
}

COFFERDAM_DECL over& over::warden_folder(std::string folder) {
  detail::require_path(folder, "warden_folder");
  if (!folder.starts_with('/'))
    throw error(exec_errc::invalid_argument, "over: warden_folder() needs an absolute path in the place");
  return with([&](detail::over_settings& to) { to.folder = std::move(folder); });
}

COFFERDAM_DECL over& over::variable(std::string name, std::string value) {
  detail::require_variable(name);
  if (value.find('\0') != std::string::npos)
    throw error(exec_errc::invalid_argument, "over: the value of a variable has a NUL byte");
  return with([&](detail::over_settings& to) { to.variables.push_back(name + "=" + value); });
}

COFFERDAM_DECL over& over::place_variable(std::string name) {
  detail::require_variable(name);
  return with([&](detail::over_settings& to) { to.place_variables.push_back(std::move(name)); });
}

COFFERDAM_DECL over& over::shell(std::string path) {
  detail::require_path(path, "shell");
  if (!path.starts_with('/'))
    throw error(exec_errc::invalid_argument, "over: shell() needs an absolute path in the place");
  return with([&](detail::over_settings& to) { to.shell = std::move(path); });
}

COFFERDAM_DECL over& over::connect_timeout(std::chrono::milliseconds limit) {
  if (limit <= std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, "over: the connect timeout must be longer than zero");
  return with([&](detail::over_settings& to) { to.connect_timeout = limit; });
}

COFFERDAM_DECL over& over::lease(std::chrono::milliseconds time) {
  const bool is_valid =
      time == std::chrono::milliseconds::zero() || (time >= std::chrono::seconds(1) && time <= std::chrono::hours(24));
  if (!is_valid) throw error(exec_errc::invalid_argument, "over: the lease must be zero, or 1 s to 24 h");
  return with([&](detail::over_settings& to) { to.lease = time; });
}

COFFERDAM_DECL over& over::default_timeout(std::chrono::milliseconds limit) {
  if (limit <= std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument,
                "over: the default timeout must be longer than zero (use no_timeout for no limit)");
  return with([&](detail::over_settings& to) { to.commands.default_timeout = limit; });
}

COFFERDAM_DECL over& over::kill_grace(std::chrono::milliseconds time) {
  if (time < std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, "over: kill_grace must not be negative");
  return with([&](detail::over_settings& to) { to.commands.kill_grace = time; });
}

COFFERDAM_DECL over& over::output_grace(std::chrono::milliseconds time) {
  if (time < std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, "over: output_grace must not be negative");
  return with([&](detail::over_settings& to) { to.commands.output_grace = time; });
}

COFFERDAM_DECL awaitable<over_environment> over::open() const { return open_with(settings_); }

COFFERDAM_DECL awaitable<over_environment> over::open_with(std::shared_ptr<const detail::over_settings> settings) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  const detail::home_strand home(std::move(executor));
  const auto opens = [&home, &settings] { return detail::over_state::open(home.executor(), settings); };
  std::shared_ptr<detail::over_state> state = co_await home.run(opens);
  co_return over_environment(std::move(state));
}

COFFERDAM_DECL over over_ssh(std::string host) {
  if (host.empty() || host.starts_with('-'))
    throw error(
        exec_errc::invalid_argument,
        "over_ssh: \"" + one_line(host, 60) + "\" is no name of a host; use a name that ssh knows, such as user@host");
  return over("ssh", "-o", "BatchMode=yes", "--", std::move(host));
}

}  // namespace cofferdam::inline COFFERDAM_ABI
