// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>

#include <functional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The environment that a provider has opened for a sandbox.
class opened_environment {
 public:
  opened_environment() = default;
  template <code_exec_environment E>
  explicit opened_environment(E environment) {
    if constexpr (requires { std::string(environment.workspace()); }) workspace_ = std::string(environment.workspace());
    environment_ = any_environment(std::move(environment));
  }

  any_environment& environment() noexcept { return environment_; }
  const any_environment& environment() const noexcept { return environment_; }
  /// Returns the workspace's path inside commands; empty if the environment does not report it.
  const std::string& workspace() const noexcept { return workspace_; }

 private:
  any_environment environment_;
  std::string workspace_;
};

using environment_opener = std::function<awaitable<opened_environment>()>;

template <code_exec_provider Provider>
awaitable<opened_environment> open_environment(Provider provider) {
  environment_of<Provider> environment = co_await provider.open();
  co_return opened_environment(std::move(environment));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
