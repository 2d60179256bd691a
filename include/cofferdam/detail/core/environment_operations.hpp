// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/environment_handle.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/homed_files.hpp>
#include <cofferdam/detail/core/homed_network.hpp>
#include <cofferdam/detail/core/homed_process.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/version.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

// The function bodies of environment_handle.
namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class State>
environment_handle<State>& environment_handle<State>::operator=(environment_handle&& other) noexcept {
  if (this != &other) {
    abandon();
    state_ = std::move(other.state_);
  }
  return *this;
}

template <class State>
environment_handle<State>::~environment_handle() {
  abandon();
}

template <class State>
void environment_handle<State>::abandon() noexcept {
  if (!state_) return;
  const home_strand home = state_->home();
  home.run_soon([state = std::move(state_)] { state->abandon(); });
}

template <class State>
const std::shared_ptr<State>& environment_handle<State>::get() const {
  if (!state_) throw error(exec_errc::environment_closed, State::nothing_open);
  return state_;
}

template <class State>
bool environment_handle<State>::is_lost() const noexcept {
  return !state_ || state_->is_lost();
}

template <class State>
awaitable<command_result> environment_handle<State>::run_command(command c) const {
  return get()->home().run(
      [state = get(), c = std::move(c)]() mutable { return State::run(std::move(state), std::move(c)); });
}

template <class State>
awaitable<process> environment_handle<State>::start(command c) const {
  return start_on(get()->home(),
                  [state = get(), c = std::move(c)]() mutable { return State::start(std::move(state), std::move(c)); });
}

template <class State>
awaitable<bytes> environment_handle<State>::read_file(std::string path, std::size_t max_bytes) const {
  return run_on_files(get(),
                      [path = std::move(path), max_bytes](auto& files) { return files.read_file(path, max_bytes); });
}

template <class State>
awaitable<void> environment_handle<State>::write_file(std::string path, bytes_view content) const {
  return run_on_files(get(),
                      [path = std::move(path), content](auto& files) { return files.write_file(path, content); });
}

template <class State>
file_system environment_handle<State>::files() const {
  const std::shared_ptr<State>& state = get();
  return state->kept().get([&state] { return std::make_shared<homed_files<State>>(state); });
}

template <class State>
guest_network environment_handle<State>::network() const {
  return guest_network(std::make_shared<homed_network<State>>(get()));
}

template <class State>
awaitable<void> environment_handle<State>::close() const {
  return shielded([state = get()] { return state->home().run([state] { return State::close(state); }); });
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
