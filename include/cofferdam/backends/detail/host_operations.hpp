// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/host_state.hpp>
#include <cofferdam/backends/host_environment.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/core/environment_operations.hpp>
#include <cofferdam/detail/core/home_strand.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// The bodies of host_environment, which only local.ipp and jail.ipp include.

namespace cofferdam::inline COFFERDAM_ABI {

template <class Place>
host_environment<Place>::host_environment() = default;

template <class Place>
host_environment<Place>::host_environment(std::shared_ptr<detail::host_state<Place>> state)
    : handle_(std::move(state)) {}

template <class Place>
host_environment<Place>::host_environment(host_environment&&) noexcept = default;

template <class Place>
host_environment<Place>& host_environment<Place>::operator=(host_environment&&) noexcept = default;

template <class Place>
host_environment<Place>::~host_environment() = default;

template <class Place>
awaitable<command_result> host_environment<Place>::run_command(command c) {
  return handle_.run_command(std::move(c));
}

template <class Place>
awaitable<process> host_environment<Place>::start(command c) {
  return handle_.start(std::move(c));
}

template <class Place>
std::vector<background_command> host_environment<Place>::background() const {
  return handle_.get()->home().look([this] { return handle_.get()->background(); });
}

template <class Place>
awaitable<void> host_environment<Place>::end_background(std::uint32_t number) {
  return handle_.get()->home().run(
      [current = handle_.get(), number] { return detail::host_state<Place>::end_background(current, number); });
}

template <class Place>
awaitable<bytes> host_environment<Place>::read_file(std::string path, std::size_t most) {
  return handle_.read_file(std::move(path), most);
}

template <class Place>
awaitable<void> host_environment<Place>::write_file(std::string path, bytes_view content) {
  return handle_.write_file(std::move(path), content);
}

template <class Place>
file_system host_environment<Place>::files() {
  return handle_.files();
}

template <class Place>
bool host_environment<Place>::is_lost() const noexcept {
  return handle_.is_lost();
}

template <class Place>
awaitable<void> host_environment<Place>::close() {
  return handle_.close();
}

template <class Place>
guest_network host_environment<Place>::own_network() const {
  return handle_.network();
}

template <class Place>
const detail::host_state<Place>& host_environment<Place>::state() const {
  return *handle_.get();
}

}  // namespace cofferdam::inline COFFERDAM_ABI
