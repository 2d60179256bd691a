// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bulk_file_environment.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_transfer.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/suspendable_environment.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

/// An environment that has a second owner: it can be erased, and still be asked what erasing hides.
template <code_exec_environment E>
class gateway_shared_environment {
 public:
  explicit gateway_shared_environment(std::shared_ptr<E> inside) : inside_(std::move(inside)) {}

  bool can_start() const noexcept {
    if constexpr (requires(const E& e) {
                    { e.can_start() } -> std::same_as<bool>;
                  }) {
      return inside_->can_start();
    } else {
      return streaming_environment<E>;
    }
  }
  awaitable<command_result> run_command(command c) { return inside_->run_command(std::move(c)); }
  awaitable<process> start(command c)
    requires streaming_environment<E>
  {
    return inside_->start(std::move(c));
  }
  awaitable<bytes> read_file(std::string path, std::size_t most) { return inside_->read_file(std::move(path), most); }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inside_->write_file(std::move(path), content);
  }
  awaitable<entry> stat(std::string path) { return cofferdam::stat(*inside_, std::move(path)); }
  awaitable<std::vector<entry>> list(std::string path, list_options options = list_options()) {
    return cofferdam::list(*inside_, std::move(path), options);
  }
  awaitable<void> make_directory(std::string path) { return cofferdam::make_directory(*inside_, std::move(path)); }
  awaitable<void> remove(std::string path) { return cofferdam::remove(*inside_, std::move(path)); }
  awaitable<void> rename(std::string from, std::string to) {
    return cofferdam::rename(*inside_, std::move(from), std::move(to));
  }
  awaitable<transfer> put_files(file_source& source) { return cofferdam::put_files(*inside_, source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return cofferdam::get_files(*inside_, std::move(requests));
  }
  awaitable<void> close() { return inside_->close(); }

 private:
  std::shared_ptr<E> inside_;
};

/// What a provider has opened for a sandbox.
class gateway_opened {
 public:
  using action = std::function<awaitable<void>()>;

  gateway_opened() = default;
  template <code_exec_environment E>
  explicit gateway_opened(std::shared_ptr<E> inside)
      : environment_(any_environment(gateway_shared_environment<E>(inside))) {
    if constexpr (suspendable_environment<E>) {
      pause_ = [inside] { return inside->pause(); };
      resume_ = [inside] { return inside->resume(); };
    }
    if constexpr (requires(const E& e) { std::string(e.workspace()); }) workspace_ = std::string(inside->workspace());
  }

  any_environment& environment() noexcept { return environment_; }
  /// Empty where it cannot stand still.
  const action& pause() const noexcept { return pause_; }
  const action& resume() const noexcept { return resume_; }
  /// How its commands see the workspace; empty where that is not known.
  const std::string& workspace() const noexcept { return workspace_; }

 private:
  any_environment environment_;
  action pause_;
  action resume_;
  std::string workspace_;
};

using gateway_opener = std::function<awaitable<gateway_opened>()>;

template <code_exec_provider Provider>
awaitable<gateway_opened> gateway_open(Provider provider) {
  environment_of<Provider> environment = co_await provider.open();
  co_return gateway_opened(std::make_shared<environment_of<Provider>>(std::move(environment)));
}

}  // namespace cofferdam::inline v0::detail
