// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>
#include <cofferdam/serve/e2b_gateway/detail/interpreter_run.hpp>
#include <cofferdam/serve/e2b_gateway/detail/interpreter_service.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway {

COFFERDAM_DECL code_interpreter::code_interpreter(python runner)
    : settings_(std::make_shared<detail::interpreter_settings>()) {
  settings_->runner = std::move(runner);
}

COFFERDAM_DECL code_interpreter& code_interpreter::contexts(std::size_t count) {
  return limit(&detail::interpreter_settings::contexts, count);
}

COFFERDAM_DECL code_interpreter& code_interpreter::executions(std::size_t count) {
  return limit(&detail::interpreter_settings::runs, count);
}

COFFERDAM_DECL code_interpreter& code_interpreter::request(std::size_t max_bytes) {
  return limit(&detail::interpreter_settings::request, max_bytes);
}

COFFERDAM_DECL code_interpreter& code_interpreter::request_timeout(std::chrono::milliseconds duration) {
  return time(&detail::interpreter_settings::request_timeout, "the request time", duration);
}

COFFERDAM_DECL code_interpreter& code_interpreter::output(std::size_t max_bytes) {
  return limit(&detail::interpreter_settings::output, max_bytes);
}

COFFERDAM_DECL code_interpreter& code_interpreter::results(std::size_t max_bytes) {
  return limit(&detail::interpreter_settings::results, max_bytes);
}

COFFERDAM_DECL code_interpreter& code_interpreter::memory(std::size_t max_bytes) {
  auto changed = copy();
  changed->memory = std::make_shared<detail::interpreter_memory>(max_bytes);
  return with(std::move(changed));
}

COFFERDAM_DECL code_interpreter& code_interpreter::keepalive(std::chrono::milliseconds interval) {
  return time(&detail::interpreter_settings::keepalive, "keepalive", interval);
}

COFFERDAM_DECL std::unique_ptr<port_service> code_interpreter::operator()(any_environment& environment,
                                                                          const sandbox_facts& facts) const {
  return std::make_unique<detail::interpreter_service>(environment, facts, settings_);
}

COFFERDAM_DECL std::shared_ptr<detail::interpreter_settings> code_interpreter::copy() const {
  return std::make_shared<detail::interpreter_settings>(*settings_);
}

COFFERDAM_DECL code_interpreter& code_interpreter::with(std::shared_ptr<detail::interpreter_settings> changed) {
  settings_ = std::move(changed);
  return *this;
}

COFFERDAM_DECL code_interpreter& code_interpreter::limit(std::size_t detail::interpreter_settings::*which,
                                                         std::size_t maximum) {
  if (maximum == 0) throw error(exec_errc::invalid_argument, "code_interpreter: a limit must be at least 1");
  auto changed = copy();
  (*changed).*which = maximum;
  return with(std::move(changed));
}

COFFERDAM_DECL code_interpreter& code_interpreter::time(std::chrono::milliseconds detail::interpreter_settings::*which,
                                                        const char* name, std::chrono::milliseconds value) {
  if (value < std::chrono::milliseconds(10) || value > std::chrono::hours(1))
    throw error(exec_errc::invalid_argument,
                "code_interpreter: " + std::string(name) + " must be from 10 ms to an hour");
  auto changed = copy();
  (*changed).*which = value;
  return with(std::move(changed));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway
