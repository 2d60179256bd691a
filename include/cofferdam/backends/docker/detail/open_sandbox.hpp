// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/container_adoption.hpp>
#include <cofferdam/backends/docker/detail/container_creation.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/sandbox.hpp>
#include <cofferdam/backends/docker/detail/sandbox_settings.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Opens a container for an environment: adopts the running container that the settings name, or makes a new one. After
/// a failure, nothing is left behind.
inline awaitable<std::shared_ptr<sandbox>> open_sandbox(asio::any_io_executor executor,
                                                        std::shared_ptr<const sandbox_settings> settings) {
  host_view host = host_view::of_this_process();
  std::shared_ptr<engine> api = co_await engine::connect(executor, settings->daemon, host);
  const auto opened = std::make_shared<sandbox>(std::move(api));
  const auto opens = [&] {
    const bool adopts = !settings->adopted.empty();
    return adopts ? adopt_container(opened, settings, host) : container_creation::run(opened, settings, host);
  };
  const auto discards = [&] { return opened->discard(); };
  co_await cofferdam::detail::with_cleanup_after_failure(opens, discards);
  co_return opened;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
