// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/detail/e2b_kernels.hpp>
#include <cofferdam/code/e2b_interpreter.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

COFFERDAM_DECL const std::shared_ptr<detail::e2b_kernels>& e2b_interpreter_runner::require_kernels() const {
  if (!kernels_)
    throw error(exec_errc::environment_closed,
                "e2b_interpreter: not open (default-constructed or moved from); call open() on the recipe first");
  return kernels_;
}

COFFERDAM_DECL awaitable<code_result> e2b_interpreter_runner::run_code(code_request request) {
  return detail::e2b_kernels::run(require_kernels(), std::move(request));
}

COFFERDAM_DECL awaitable<std::vector<std::string>> e2b_interpreter_runner::contexts() {
  return [](std::shared_ptr<detail::e2b_kernels> kernels) -> awaitable<std::vector<std::string>> {
    co_return kernels->names();
  }(require_kernels());
}

COFFERDAM_DECL awaitable<bool> e2b_interpreter_runner::end_context(std::string name) {
  return detail::e2b_kernels::end(require_kernels(), std::move(name));
}

COFFERDAM_DECL e2b::environment& e2b_interpreter_runner::environment() { return require_kernels()->environment; }

COFFERDAM_DECL std::string e2b_interpreter_runner::version() const {
  return kernels_ ? kernels_->version : std::string();
}

COFFERDAM_DECL awaitable<void> e2b_interpreter_runner::close() { return require_kernels()->environment.close(); }

COFFERDAM_DECL awaitable<e2b_interpreter_runner> e2b_interpreter_provider::open() const {
  return open_with(provider_, settings_);
}

COFFERDAM_DECL awaitable<e2b_interpreter_runner> e2b_interpreter_provider::open_with(
    e2b::provider provider, detail::e2b_interpreter_settings settings) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  std::shared_ptr<detail::e2b_kernels> kernels;
  const auto opens = [&]() -> awaitable<void> {
    e2b::environment opened = co_await provider.open();
    kernels = std::make_shared<detail::e2b_kernels>(std::move(opened), executor, settings);
    co_await detail::e2b_kernels::greet(kernels);
  };
  const auto closes = [&]() -> awaitable<void> {
    if (!kernels) return {};
    return kernels->environment.close();
  };
  co_await detail::with_cleanup_after_failure(opens, closes);
  co_return e2b_interpreter_runner(std::move(kernels));
}

COFFERDAM_DECL e2b_interpreter& e2b_interpreter::timeout(std::chrono::milliseconds limit) {
  if (limit <= std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, "e2b_interpreter: the timeout must be longer than zero");
  settings_.timeout = limit;
  return *this;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
