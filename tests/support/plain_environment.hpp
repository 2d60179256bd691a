// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace cofferdam_test {

/// An environment that has only the four members that the concept `code_exec_environment` requires. The library must
/// perform every other operation by means of these four.
template <cofferdam::code_exec_environment Inner>
class plain_environment {
 public:
  explicit plain_environment(Inner inner) : inner_(std::move(inner)) {}

  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command c) {
    return inner_.run_command(std::move(c));
  }
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string path, std::size_t max_bytes) {
    return inner_.read_file(std::move(path), max_bytes);
  }
  cofferdam::awaitable<void> write_file(std::string path, cofferdam::bytes_view content) {
    return inner_.write_file(std::move(path), content);
  }
  cofferdam::awaitable<void> close() { return inner_.close(); }

 private:
  Inner inner_;
};

/// A provider whose environments are `plain_environment`s around the environments of another provider.
template <cofferdam::code_exec_provider Provider>
class plain_provider {
 public:
  explicit plain_provider(Provider provider) : provider_(std::move(provider)) {}

  cofferdam::awaitable<plain_environment<cofferdam::environment_of<Provider>>> open() const {
    cofferdam::environment_of<Provider> inner = co_await provider_.open();
    co_return plain_environment<cofferdam::environment_of<Provider>>(std::move(inner));
  }

 private:
  Provider provider_;
};

}  // namespace cofferdam_test
